/* training.h - a training: its job, and the results of its steps so far */
#ifndef FASTCLUST_TRAIN_TRAINING_H
#define FASTCLUST_TRAIN_TRAINING_H

#include "datatype/timestamp.h"

#include "drift/counts.h"
#include "pg/operator/rows.h"
#include "pg/train/relation.h"
#include "rkhs/map.h"
#include "sketch/layout.h"

/*
 * Clusters of a group of the serving version. A cluster keeps its identity, a
 * number, from version to version.
 */
typedef struct serving_group
{
	char	   *group;
	fc_operator_header *op;		/* NULL: there is no such group, or its
								 * coordinates differ from the coordinates of
								 * this training */
	int64	   *identities;		/* identity of each cluster, by ascending
								 * number */
	scaling		scaling;
	fc_kernel_map_header *map;
	bool		cosine;
} serving_group;

/*
 * Candidates for the centroids of all rows or of one group: one or two scaled
 * operators. The scan of the training sums up the squared distances of rows
 * from each operator, and moves it by one step of Lloyd's algorithm.
 */
typedef struct candidates
{
	char	   *group;
	int			count;			/* number of operators in op */
	fc_operator_header *op[2];
	const fc_weighted_rows *sample; /* scaled rows from which the first
									 * operator was computed */
	double		n;				/* estimated number of rows of the group; 0 if
								 * there are no groups */
	double		objective;		/* mean squared distance of the sample from
								 * the first operator; `error` is its standard
								 * error */
	double		error;
	bool		heavy_tail;		/* result of has_heavy_tail for the sample;
								 * false if the training has a start */
} candidates;

typedef struct training
{
	/* fields of the job, set before the first step */
	int64		model_id;		/* 0 if no version is written */
	char	   *model;
	int32		version;
	train_source source;
	Size		k;				/* number of clusters, or of micro-clusters
								 * with method density; 0: to be chosen */
	train_method method;
	const train_options *options;
	fc_kmeans_effort effort;	/* effort of the next search by k-means. With
								 * option effort thorough, method kmeans first
								 * searches with effort balanced (train.c) */
	Jsonb	   *stored;			/* options as the version stores them */
	bool		frozen;			/* true: the serving clusters keep their
								 * centroids */
	bool		again;			/* true for a retrain, which does not repeat
								 * warnings about columns */

	/*
	 * imported clusters, not scaled, which no step moves; NULL: clusters are
	 * learned
	 */
	const fc_operator_header *imported;
	const int32
			   *numbers;		/* numbers of the imported clusters,
								 * ascending; NULL: each cluster has the
								 * number of the old cluster that it continues */
	const int64 *identities;	/* identities of the imported clusters,
								 * ascending by number; given if and only if
								 * `numbers` is */
	Datum		paths;			/* tree nodes above each cluster, an array as
								 * level_paths returns it; 0: it is computed
								 * from option levels */

	/* results of the steps so far */
	TimestampTz begun;
	char	   *note;
	const char *few_valued;		/* names of the features with few distinct
								 * values, if no number of clusters is clear
								 * and other features vary more; else NULL */
	double		estimate;		/* estimated number of rows */
	Size		dim;			/* dimension of a row, before any kernel map */
	double		groups;			/* estimated number of groups */
	scaling		scaling;		/* center and scale of rows */
	fc_kernel_map_header *map;	/* map from scaled rows to kernel features,
								 * which are clustered instead of the rows; or
								 * NULL */
	fc_codebook *start;			/* scaled centroids of an additional start of
								 * k-means, or NULL */
	fc_spec    *spec;
	bool		decodable;		/* true if the sketch may be decoded, for
								 * which it must contain all rows, not a share */
	fc_drift_spec *drift_spec;
	serving_group *serving;		/* groups of the serving version, sorted by
								 * group */
	int			serving_count;
	group_finder *serving_finder;	/* converts the text of a group to a
									 * value, and finds the serving group with
									 * an equal value; NULL: groups are
									 * matched by their texts */
	candidates *found;			/* candidates for the scan, sorted by group */
	int			found_count;
	double		recall;			/* recall of a search for nearest rows in the
								 * number of clusters given by option probes;
								 * NAN if it is not measured */
	fc_operator_header *micro;	/* scaled micro-clusters of method density
								 * without groups; else NULL */
} training;

/*
 * Clusters and sums of one group of a version, or of all rows if there are no
 * groups.
 */
typedef struct group_fit
{
	char	   *group;			/* "" if the version has no groups */
	int64		n;				/* number of rows */
	double		weight;			/* sum of the weights of the n rows; n without
								 * weights */
	int64		nulls;			/* number of rows with a NULL; -1 if they are
								 * not counted */
	const fc_weighted_rows *rows;	/* weighted sample of scaled rows */
	fc_operator_header *op;
	double		objective;		/* mean squared distance of all rows from op;
								 * NAN if it is not measured */
	bool		converged;		/* true: no scan moves the operator any more */
	fc_sketch  *sketch;
	fc_drift_counts *counts;
	bool		measured;		/* true: the objective is exact, from all rows */

	/*
	 * Candidates that the scan measured. For candidate i, sse[i] is the sum
	 * of squared distances before the Lloyd step, gain[i] is the decrease by
	 * the step, and next[i] is the operator after the step.
	 */
	candidates
				found;
	fc_operator_header *next[2];
	double		sse[2];
	double		gain[2];
	fc_operator_header *micro;	/* micro-clusters, which label rows with
								 * method density, while op has the means of
								 * the clusters; NULL with other methods */
	double	   *spreads;		/* k values with method density: root mean
								 * squared deviation of a coordinate in each
								 * cluster; else NULL */
	double	   *splits;			/* (k - 1) x 4 values: left, right, radius and
								 * rows of each split in the tree of density
								 * clusters; else NULL */
	double	   *squares;		/* mean squared distance of the rows of each
								 * micro-cluster from their mean; NULL if it
								 * is estimated from the sample */
} group_fit;

#endif							/* FASTCLUST_TRAIN_TRAINING_H */

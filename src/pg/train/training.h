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
 * A group of the serving version with its clusters; op is NULL if the version
 * has no such group.
 */
typedef struct serving_group
{
	char	   *group;
	fc_operator_header *op;		/* NULL if rows of the training have other
								 * coordinates */
	int64	   *identities;		/* identity of each cluster, by ascending
								 * number */
	scaling		scaling;
	fc_kernel_map_header *map;
	bool		cosine;
} serving_group;

/*
 * Scaled operators that the scan measures and moves by one step, for all rows
 * or for one group.
 */
typedef struct candidates
{
	char	   *group;
	int			count;
	fc_operator_header *op[2];
	const fc_weighted_rows *sample; /* scaled rows in which the first operator
									 * was found */
	double		n;				/* estimated number of rows of the group */
	double		objective;		/* mean squared distance of the sample from
								 * the first operator; `error` is its standard
								 * error */
	double		error;
	bool		heavy_tail;		/* true if has_heavy_tail of the sample; false
								 * if the training has a start */
} candidates;

typedef struct training
{
	/* fields of the job, set before the first step */
	int64		model_id;		/* 0 if no version is made and only a sample
								 * is drawn */
	char	   *model;
	int32		version;
	train_source source;
	Size		k;				/* number of clusters; 0: to be chosen */
	train_method method;
	const train_options *options;
	fc_kmeans_effort effort;	/* effort of searches; if option effort is
								 * thorough, method kmeans begins with
								 * balanced ones (train.c) */
	Jsonb	   *stored;			/* options as the version stores them */
	bool		frozen;			/* true: the serving clusters keep their
								 * centroids */
	bool		again;			/* true for a retrain, which does not repeat
								 * warnings about columns */

	/*
	 * given clusters, not scaled, which no step moves; NULL: clusters are
	 * learned
	 */
	const fc_operator_header *imported;
	const int32
			   *numbers;		/* numbers of the imported clusters,
								 * ascending; NULL: taken from the clusters
								 * that they continue */
	const int64 *identities;	/* identities of the imported clusters,
								 * ascending by number, given with `numbers` */
	Datum		paths;			/* numbers of the nodes above each cluster, as
								 * a version stores them; 0 if they are
								 * computed from option levels */

	/* results of the steps so far */
	TimestampTz begun;
	char	   *note;
	double		estimate;		/* estimated number of rows */
	Size		dim;			/* dimension of a row */
	double		groups;			/* estimated number of groups */
	scaling		scaling;		/* center and scale of rows */
	fc_kernel_map_header *map;	/* map to the kernel features that operators
								 * take in place of rows, or NULL */
	fc_codebook *start;			/* scaled centroids of an additional start of
								 * k-means, or NULL */
	fc_spec    *spec;
	bool		decodable;		/* true if the sketch may be decoded; it then
								 * contains all rows */
	fc_drift_spec *drift_spec;
	serving_group *serving;		/* groups of the serving version, sorted by
								 * group */
	int			serving_count;
	group_finder *serving_finder;	/* finder of these groups by the texts of
									 * equal values; NULL: by equal texts */
	candidates *found;			/* candidates for the scan, sorted by group */
	int			found_count;
	double		recall;			/* recall of a search with option probes; NAN
								 * if it is not measured */
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
	int64		nulls;			/* number of these rows with a NULL; -1 if
								 * they are not counted */
	const fc_weighted_rows *rows;	/* weighted sample of scaled rows */
	fc_operator_header *op;
	double		objective;		/* mean squared distance of all rows from op;
								 * NAN if it is not measured */
	bool		converged;		/* true: no scan moves the operator any more */
	fc_sketch  *sketch;
	fc_drift_counts *counts;
	bool		measured;		/* true: the objective is exact, from all rows */
	candidates
				found;			/* candidates that the scan measured: `sse`
								 * has their sums of squares before its Lloyd
								 * step, `gain` the decrease of each by the
								 * step, and `next` the operators after the
								 * step */
	fc_operator_header *next[2];
	double		sse[2];
	double		gain[2];
	fc_operator_header *micro;	/* micro-clusters that label rows of method
								 * density, while op has the means of
								 * clusters; else NULL */
	double	   *spreads;		/* standard deviation per dimension of each
								 * density cluster */
	double	   *splits;			/* tree of the density clusters: left, right,
								 * radius and rows of its k - 1 splits; else
								 * NULL */
	double	   *squares;		/* mean squared distance of the rows of each
								 * micro-cluster from their mean; NULL if it
								 * is estimated from the sample */
} group_fit;

#endif							/* FASTCLUST_TRAIN_TRAINING_H */

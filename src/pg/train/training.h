/* training.h - a training: its job, and the results of its steps so far */
#ifndef FASTCLUST_TRAIN_TRAINING_H
#define FASTCLUST_TRAIN_TRAINING_H

#include "datatype/timestamp.h"

#include "drift/spec.h"
#include "pg/operator/rows.h"
#include "pg/train/relation.h"
#include "sketch/spec.h"

/* The parts of the serving version for a group; operator NULL: none. */
typedef struct serving_part
{
	char	   *group;
	fc_operator_header *op;
	units units;
	struct varlena *map;
	bool		cosine;
} serving_part;

/*
 * Operators in units that the scan measures and moves, of all rows or of a
 * group.
 */
typedef struct candidates
{
	char	   *group;
	int			count;
	fc_operator_header *op[2];
	const fc_weighted_rows *sample; /* rows in units that the first was found
									 * in */
	double		n;				/* rows of the group, about */
	double		objective;		/* its mean squared distance there, and its
								 * error */
	double		error;
} candidates;

/* A cluster that somebody named. */
typedef struct named_cluster
{
	char	   *group;			/* '' without groups */
	int32		cluster;
} named_cluster;

typedef struct training
{
	/* the job */
	int64		model_id;		/* 0: a sample alone is requested */
	char	   *model;
	int32		version;
	train_source source;
	Size		k;				/* 0: to be chosen */
	train_method method;
	const train_options *options;
	Jsonb	   *stored;			/* options that the version stores */
	bool		frozen;			/* the clusters that serve keep their
								 * centroids */
	bool		again;			/* a retrain, whose columns were warned of */

	/*
	 * the clusters in the rows' own units, which no step moves; NULL: they
	 * are learned
	 */
	const fc_operator_header *imported;
	const int32
			   *numbers;		/* of these, ascending; NULL: those of the
								 * clusters that they continue */
	Datum		paths;			/* the numbers above each, as a version stores
								 * them; 0: by levels */

	/* results */
	TimestampTz begun;
	char	   *note;
	double		estimate;		/* of the number of rows */
	Size		dim;			/* of a row */
	double		groups;			/* about */
	units units;				/* of a row */
	struct varlena *map;		/* the features that operators take in place
								 * of rows; NULL: none */
	fc_codebook *start;			/* in units: where k-means goes on from as
								 * well; NULL: none */
	fc_spec    *spec;
	bool		decodable;		/* the sketch, which takes all rows then */
	fc_drift_spec *drift_spec;
	serving_part *serving;		/* of the version before, by group */
	int			serving_count;
	named_cluster *named;		/* names in all groups, ordered by group */
	int			named_count;
	candidates *found;			/* by group */
	int			found_count;
	double		recall;			/* NAN: not measured */
	fc_operator_header *micro;	/* in units: the micro-clusters of method
								 * density without groups; else NULL */
} training;

/* The rows of a group, or of all. */
typedef struct train_part
{
	char	   *group;			/* "" without groups */
	int64		n;				/* rows */
	int64		nulls;			/* of these with a NULL; -1: not counted */
	const fc_weighted_rows *rows;	/* the weighted sample, in units */
	fc_operator_header *op;
	double		objective;		/* mean squared distance of all rows to op;
								 * NAN: not measured */
	bool		settled;		/* no scan is to move it */
	struct varlena *sketch;
	struct varlena *counts;
	bool		measured;		/* the objective is that of all rows */
	candidates
				found;			/* that the scan measured: their sums of
								 * squares, where Lloyd's step moves them, and
								 * its gain */
	fc_operator_header *next[2];
	double		sse[2];
	double		gain[2];
	fc_operator_header *micro;	/* of method density: the micro-clusters that
								 * label rows, where op has the means of
								 * clusters; else NULL */
	double	   *spreads;		/* of op then */
	double	   *splits;			/* of its tree, 4 (k - 1): left, right,
								 * radius, rows; NULL: none */
	double	   *squares;		/* of the micro-clusters, the mean squared
								 * distance of rows to their mean; NULL: the
								 * sample tells */
} train_part;

#endif							/* FASTCLUST_TRAIN_TRAINING_H */

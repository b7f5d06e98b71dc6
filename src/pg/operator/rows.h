/*
 * rows.h - weighted rows in memory: their moments, their units, how well
 * operators fit them.
 *
 * Values are in the current context, and bytes are held of
 * fastclust.memory_budget while a function runs.
 */
#ifndef FASTCLUST_ROWS_H
#define FASTCLUST_ROWS_H

#include "operator/bytes.h"
#include "operator/fit.h"

/*
 * The centroids of an operator as rows, which stand for as many rows as their
 * clusters have: a view of a codebook, a copy of the rows of a product.
 */
extern fc_weighted_rows *rows_of_operator(const fc_operator_header *centroids);

/* The operator that rows_of_operator got: the rows as centroids. */
static inline fc_operator_header *
centroids_of_rows(const fc_weighted_rows *rows)
{
	return (fc_operator_header *) rows->storage;
}

/* Bytes of the rows in memory. */
static inline Size
bytes_of_rows(const fc_weighted_rows *rows)
{
	return rows->n * (rows->d * sizeof(float) + sizeof(double));
}

/* The rows (n x d), in double. */
extern double *numbers_of_rows(const fc_weighted_rows *rows);

/* The rows whose flag (n) is set, as centroids; NULL: none. */
extern fc_codebook *chosen_rows(const fc_weighted_rows *rows,
								const bool *chosen);

/*
 * Mean and standard deviation of each dimension (d each), by the rows'
 * weights.
 */
extern void moments_of_rows(const fc_weighted_rows *rows, double *mean,
							double *deviation);

/* Units of rows: (x - center) / scale; NULL is 0 or 1. */
typedef struct units
{
	const double *center;
	const double *scale;
} units;

/* Rows as they are. */
static const units own_units = {NULL, NULL};

/*
 * Rows moved from one set of units to another; where both are NULL, they are
 * themselves.  The same of centroids, which a codebook holds then.
 */
extern const fc_weighted_rows *rows_in_units(const fc_weighted_rows *rows,
											 units from, units to);
extern fc_operator_header *operator_in_units(const fc_operator_header *op,
											 units from, units to);

/*
 * The limit of ranks (coreset.h) below which a share in (0, 1) of rows like
 * these is expected; variance 0: uniform.
 */
extern double
			limit_of_ranks(const fc_weighted_rows *rows, const double *center,
						   double variance, double share);

/*
 * How well op fits the rows: the mean squared distance and its standard error,
 * quantiles of distances at `count` places, and the deviation per dimension of
 * each cluster.
 */
typedef struct fit_profile
{
	double		mean;
	double		error;
	double	   *quantiles;		/* count */
	double	   *spreads;		/* k, by row of the operator */
	double	   *weights;		/* k: of the rows of each cluster */
} fit_profile;

/* Where the quantiles of distances are taken: closer towards the far end. */
#define DISTANCE_QUANTILES	201

static inline void
quantile_places(double *places)
{
	for (int i = 0; i < DISTANCE_QUANTILES; i++)
		places[i] = 1 - (1 - i / 200.0) * (1 - i / 200.0);
}

extern fit_profile
			profile_of_fit(const fc_operator_header *op, const fc_weighted_rows *rows,
						   const double *places, Size count);

/*
 * The same clusters with other weights: those of the rows that they have now.
 */
extern fc_operator_header *with_weights(const fc_operator_header *op, const double *weights);

/*
 * With those that a scan has counted, which go with the clusters that it
 * moved.
 */
extern fc_operator_header *with_weights_of(const fc_operator_header *op,
										   const fc_operator_header *moved);

/*
 * The same centroids without regions or numbers: labels are the places of
 * rows.
 */
extern fc_operator_header *plain_operator(const fc_operator_header *op);

/*
 * Two operators on the same rows; both leave out the share `trim` of the
 * weight that is farthest from them.
 */
extern fc_comparison
			compare_fits(const fc_operator_header *a, const fc_operator_header *b,
						 const fc_weighted_rows *rows, double trim);

/*
 * sum_j w_j ||c_j - c'_j||^2, w_j of next, by which one step of Lloyd lowers
 * the sum of squares with the labels as they are. On the unit sphere it is so
 * many times less as the mean of the cluster is shorter than 1.
 */
extern double
			gain_of_step(const fc_operator_header *old, const fc_operator_header *next);

/*
 * Rows drawn from the clusters of an operator, round normal clouds of these
 * spreads (k), as a stand-in for rows that are not read.
 */
extern fc_weighted_rows *rows_drawn_from(const fc_operator_header *op,
										 const double *spreads, Size count,
										 int64 seed);

/*
 * Clusters of one number, from 0 on without gaps, joined: weighted means
 * (tree_fn.c).
 */
extern fc_codebook *joined_clusters(const fc_operator_header *op,
									const int32 *number, Size count);

/*
 * A search through so many buckets for the nearest of two rows or more, which
 * are a sample of n (tree_fn.c).
 */
extern fc_search_result
			recall_of_search(const fc_operator_header *op, const fc_weighted_rows *rows,
							 double n, int64 probes);

/* Two operators on the same rows, each with the rows in its own space. */
typedef struct two_labellings
{
	fc_fit		a;
	fc_fit		b;
} two_labellings;

extern two_labellings
			label_twice(const fc_operator_header *a, const fc_weighted_rows *rows_for_a,
						const fc_operator_header *b, const fc_weighted_rows *rows_for_b);

/* The share of the weight with another label. */
extern double changed_labels(const two_labellings *labels);

/*
 * The weight by label of a and label of b (k_a x k_b); NULL where that is more
 * than memory.
 */
extern double *counted_labels(const two_labellings *labels);

#endif							/* FASTCLUST_ROWS_H */

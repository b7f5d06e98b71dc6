/*
 * rows.h - weighted rows in memory: conversion from and to operators, changes
 * of their scaling, and the fit of operators to the rows.
 *
 * Results are allocated in the current context. Scratch space is charged to
 * fastclust.memory_budget while a function runs.
 */
#ifndef FASTCLUST_ROWS_H
#define FASTCLUST_ROWS_H

#include "operator/bytes.h"
#include "operator/fit.h"

/*
 * Returns the centroids of an operator as rows, whose weights are the weights
 * of the clusters. They are a view of a codebook, or a copy of the rows of a
 * product.
 */
extern fc_weighted_rows *rows_of_operator(const fc_operator_header *centroids);

/* Returns the operator from which rows_of_operator made these rows. */
static inline fc_operator_header *
centroids_of_rows(const fc_weighted_rows *rows)
{
	return (fc_operator_header *) rows->storage;
}

/* Returns the size of the rows in bytes. */
static inline Size
bytes_of_rows(const fc_weighted_rows *rows)
{
	return rows->n * (rows->d * sizeof(float) + sizeof(double));
}

/* Returns the n x d values of the rows in double precision. */
extern double *numbers_of_rows(const fc_weighted_rows *rows);

/*
 * Returns a codebook of the rows whose flag is set (n flags), or NULL if no
 * flag is set.
 */
extern fc_codebook *chosen_rows(const fc_weighted_rows *rows,
								const bool *chosen);

/*
 * Scaling of rows: (x - center) / scale. A NULL center counts as 0, a NULL
 * scale as 1.
 */
typedef struct scaling
{
	const double *center;
	const double *scale;
}			scaling;

/* Scaling that leaves rows unchanged. */
static const scaling no_scaling = {NULL, NULL};

/*
 * Convert rows or centroids from one scaling to another. rescaled_rows returns
 * the rows themselves if there is no scaling. rescaled_operator returns the
 * centroids of an operator as a codebook.
 */
extern const fc_weighted_rows *rescaled_rows(const fc_weighted_rows *rows,
											 scaling from, scaling to);
extern fc_operator_header *rescaled_operator(const fc_operator_header *op,
											 scaling from, scaling to);

/*
 * Returns the rows with each missing value replaced by the coordinate of the
 * row's nearest centroid, or the rows themselves if none is missing. A caller
 * that runs Lloyd's algorithm on the rows fills them again after each change
 * of the centroids (operator/partial.h).
 */
extern const fc_weighted_rows *rows_filled_by(const fc_operator_header *op,
											  const fc_weighted_rows *rows);

/*
 * Returns the importances of the rows, as defined in core/operator/coreset.h.
 */
extern double *importances_of_rows(const fc_weighted_rows *rows,
								   const double *center, double variance);

/*
 * Returns the rank (coreset.h) below which the given share (0 < share < 1) of
 * all rows of a table is expected. `rows` is a sample of the table. variance
 * 0: uniform sample.
 */
extern double limit_of_ranks(const fc_weighted_rows *rows, const double *center,
							 double variance, double share);

/*
 * Fit of an operator to rows: the mean squared distance and its standard
 * error, quantiles of the relative distances (operator/mixture.h), and the
 * standard deviation of each cluster.
 */
typedef struct fit_profile
{
	double		mean;
	double		error;
	double	   *quantiles;		/* `count` quantiles of the relative distances */
	double	   *spreads;		/* k values: standard deviation per dimension
								 * of each cluster */
	double	   *weights;		/* k values: total weight of the rows of each
								 * cluster */
} fit_profile;

/*
 * Number of stored quantiles of the relative distances. Their probabilities are closer
 * together towards 1. With more quantiles, the scores of rows are more exact,
 * and models are larger. A guess.
 */
#define DISTANCE_QUANTILES	201

static inline void
quantile_places(double *places)
{
	for (int i = 0; i < DISTANCE_QUANTILES; i++)
		places[i] = 1 - (1 - i / 200.0) * (1 - i / 200.0);
}

extern fit_profile profile_of_fit(const fc_operator_header *op, const fc_weighted_rows *rows,
								  const double *places, Size count);

/*
 * Returns the operator with other weights (k values): the number or the weight
 * of the rows of each cluster.
 */
extern fc_operator_header *with_weights(const fc_operator_header *op, const double *weights);

/* Returns the operator with all weights multiplied by a factor. */
extern fc_operator_header *with_weights_times(const fc_operator_header *op, double factor);

/*
 * Returns the operator with the weights of `moved`. `moved` has the same
 * clusters, and comes from a scan that counted their rows.
 */
extern fc_operator_header *with_weights_of(const fc_operator_header *op,
										   const fc_operator_header *moved);

/*
 * Returns the operator without regions and cluster numbers, so that labels are
 * indices of centroids.
 */
extern fc_operator_header *plain_operator(const fc_operator_header *op);

/*
 * Compares the distances of the same rows to the centroids of two operators.
 * For each operator, leaves out the farthest rows, with the share `trim` of
 * the total weight.
 */
extern fc_comparison compare_fits(const fc_operator_header *a, const fc_operator_header *b,
								  const fc_weighted_rows *rows, double trim);

/*
 * Returns sum_j w_j ||c_j - c'_j||^2, where c_j are the centroids of old, and
 * c'_j and w_j the centroids and weights of next. This is the amount by which
 * one Lloyd step reduces the sum of squares if no label changes. With the
 * cosine metric the reduction of cluster j is smaller by the factor ||m_j||,
 * where m_j is the mean of the cluster before it was scaled to length 1.
 */
extern double gain_of_step(const fc_operator_header *old, const fc_operator_header *next);

/*
 * Draws `count` rows from spherical normal distributions around the centroids,
 * with k standard deviations `spreads`. Used if the rows of the table cannot
 * be read.
 */
extern fc_weighted_rows *rows_drawn_from(const fc_operator_header *op,
										 const double *spreads, Size count,
										 int64 seed);

/*
 * Returns the weighted means of clusters with equal numbers. The numbers must
 * be 0 .. count - 1 without gaps (tree_fn.c).
 */
extern fc_codebook *joined_clusters(const fc_operator_header *op,
									const int32 *number, Size count);

/*
 * Measures the recall of a nearest-neighbour search in `probes` buckets.
 * `rows` has at least two rows, and is a sample of n rows (tree_fn.c).
 */
extern fc_search_result recall_of_search(const fc_operator_header *op, const fc_weighted_rows *rows,
										 double n, int64 probes);

/*
 * Labels of the same rows by two operators. Each operator has its own copy of
 * the rows, scaled and mapped to its input.
 */
typedef struct two_labellings
{
	fc_fit		a;
	fc_fit		b;
} two_labellings;

extern two_labellings label_twice(const fc_operator_header *a, const fc_weighted_rows *rows_for_a,
								  const fc_operator_header *b, const fc_weighted_rows *rows_for_b);

/* Returns the labels of the rows by one operator. */
static inline fc_fit
labelled_rows(const fc_operator_header *op, const fc_weighted_rows *rows)
{
	return label_twice(op, rows, op, rows).a;
}

/*
 * Returns the weighted share of the rows whose clusters differ. Label j of
 * operator a stands for cluster number_a[j], label j of operator b for cluster
 * number_b[j].
 */
extern double changed_labels(const two_labellings *labels,
							 const int32 *number_a, const int32 *number_b);

/*
 * Returns the contingency table of the labels (k_a x k_b weights), or NULL if
 * it is too large to allocate.
 */
extern double *counted_labels(const two_labellings *labels);

#endif							/* FASTCLUST_ROWS_H */

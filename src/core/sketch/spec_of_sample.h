/*
 * spec_of_sample.h - chooses a spec from a sample: a sketch's scale,
 * projection and size.
 *
 * The 5 % of the rows that are farthest from the median, in units of the
 * median absolute deviation, are trimmed, because outliers must not set the
 * scale. If d is large, rows are projected on the n leading principal axes of
 * the remaining rows; else n = d. The remaining rows, of total weight W, are
 * clustered by k-means with k clusters. The within-cluster standard deviation
 * per dimension is s_w = sqrt(inertia / (n (W - k))), where inertia is the
 * k-means objective; sigma = 1.2 s_w.
 *
 * Sample centroids are initial positions for a decoder. Far from all clusters
 * the sketch contains only noise, so a decoder cannot find clusters many sigma
 * apart by chance. The candidates are the k centroids of the rows left after
 * trimming, then the centroids of k-means of all rows with up to twice as many
 * clusters. A candidate becomes a sample centroid if it represents three rows
 * or more, and is not near an earlier sample centroid. The second set covers
 * small clusters that were trimmed, but not single rows.
 */
#ifndef FC_SKETCH_SPEC_OF_SAMPLE_H
#define FC_SKETCH_SPEC_OF_SAMPLE_H

#include "sketch/spec.h"

typedef enum fc_structure
{
	FC_STRUCTURE_AUTO,			/* structured if reduced dimensions >=
								 * FC_STRUCTURED_CROSSOVER */
	FC_STRUCTURE_ON,
	FC_STRUCTURE_OFF
} fc_structure;

typedef struct fc_spec_options
{
	size_t		clusters;		/* number of clusters k */
	size_t		frequencies;	/* number of frequencies; 0: 5 k n, but at
								 * least 128 */
	size_t		dimensions;		/* reduced dimensions; 0: d if d <= 24, else
								 * min(d, max(2k, 16)) */
	size_t		sample_rows;	/* maximum number of rows stored with the spec */
	double		sigma;			/* scale of the kernel; 0: estimated from the
								 * sample */
	const double *scales;		/* scale_count sigmas in units of the first
								 * sigma, or NULL */
	size_t		scale_count;
	fc_law		law;
	fc_structure structure;

	/*
	 * true: the center is 0, not the mean, so that zeros of sparse rows add
	 * nothing to the sums of a sketch
	 */
	bool		zero_center;
	bool		cosine;			/* true: the spec scales rows to length 1; the
								 * sample rows have this length already */
	uint64_t	seed;
} fc_spec_options;

typedef struct fc_sample_estimates
{
	double	   *center;			/* mean of the rows left after trimming, d
								 * values */
	float	   *basis;			/* orthonormal rows, n x d; unused if n == d */
	size_t		n;				/* number of reduced dimensions */
	double		within_deviation;	/* within-cluster standard deviation s_w;
									 * in units of x once
									 * fc_estimate_of_sample returns */
	double		sigma;			/* 1.2 s_w; > 0 even if all rows are equal */

	/*
	 * exponent e of the unit 2^e in which `reduced` and sample_centroids are
	 * stored; it is chosen so that floats can hold any data
	 */
	int			exponent;
	float	   *reduced;		/* basis (x - center) for every sample row,
								 * rows x n */
	float	   *sample_centroids;	/* centroids in the units of `reduced` */
	size_t		sample_centroid_count;
} fc_sample_estimates;

/*
 * Estimates scale, projection and sample centroids from x (rows x d). weight
 * holds the multiplicities of the rows, whose sum must be positive; NULL
 * means that all are 1. The estimates are scale equivariant: x times c gives
 * sigma times c. d may be up to FC_MAX_DIM: the principal axes come from
 * blocked subspace iterations with interrupt checks if min(rows, d) > 512.
 * The arrays of the result are in the arena `found`. Returns FC_EVALUE if
 * differences of rows or their spread overflow a double.
 */
fc_status	fc_estimate_of_sample(const double *x, const double *weight, size_t rows, size_t d,
								  const fc_spec_options *options, fc_arena *work,
								  fc_arena *found, fc_sample_estimates *result);

/* ---- the fields of a spec ---- */

/*
 * fc_spec_frequencies returns the number of frequencies of a spec and sets
 * *reduced to the number of reduced dimensions. fc_spec_operations returns the
 * approximate number of multiply-adds of fc_spec_choose.
 */
size_t		fc_spec_frequencies(size_t d, const fc_spec_options *options, size_t *reduced);
double		fc_spec_operations(size_t rows, size_t d, const fc_spec_options *options);

/*
 * Chooses the fields of a spec for rows with the distribution of the sample x
 * (rows x d). weight holds the multiplicities of the sample rows, which the
 * spec stores with the rows. The fields point into the arena `found` and to
 * weight. Returns the status of fc_estimate_of_sample.
 */
fc_status	fc_spec_choose(const double *x, const double *weight, size_t rows,
						   size_t d, const fc_spec_options *options,
						   fc_arena *work, fc_arena *found, fc_spec_fields *fields);

#endif							/* FC_SKETCH_SPEC_OF_SAMPLE_H */

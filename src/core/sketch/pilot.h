/*
 * pilot.h - choosing a spec by a sample: a sketch's scale, law, projection and
 * size from a sample.
 *
 * Trim the 5 % of rows farthest from the median in MAD units (outliers must
 * not set the scale); project on the leading principal axes when d is large;
 * k-means on the rest; s_w = sqrt(inertia / (n (rows - k))), the
 * within-cluster standard deviation per dimension; sigma = 1.2 s_w.
 *
 * Sample centroids are where a decoder may begin: far from all clusters the
 * sketch is silent, and clusters many sigma apart cannot be found by chance.
 * They are the k centroids of the trimmed rows and, of 2k centroids of all
 * rows, those of three rows or more that are not among them: small clusters
 * that were trimmed, but never a row.
 */
#ifndef FC_SKETCH_PILOT_H
#define FC_SKETCH_PILOT_H

#include "sketch/spec.h"

typedef enum fc_structure
{
	FC_STRUCTURE_AUTO,			/* from FC_STRUCTURED_CROSSOVER reduced
								 * dimensions on */
	FC_STRUCTURE_ON,
	FC_STRUCTURE_OFF
} fc_structure;

typedef struct fc_spec_options
{
	size_t		clusters;		/* k */
	size_t		frequencies;	/* 0: 5 k n, 128 at least */
	size_t		dimensions;		/* reduced; 0: d if d <= 24, else min(d,
								 * max(2k, 16)) */
	size_t		pilot_rows;		/* stored with the spec, at most */
	double		sigma;			/* 0: by the pilot */
	const double *scales;		/* scale_count sigmas in units of that one, or
								 * NULL */
	size_t		scale_count;
	fc_law		law;
	fc_structure structure;
	/* the center is 0, not the mean: zeros of sparse rows add nothing then */
	bool		zero_center;
	bool		cosine;			/* the rows given are of length 1 already */
	uint64_t	seed;
} fc_spec_options;

typedef struct fc_pilot_result
{
	double	   *center;			/* d, the mean of the trimmed rows */
	float	   *basis;			/* n x d with orthonormal rows; unused when n
								 * == d */
	size_t		n;				/* reduced dimension */
	double		within_deviation;	/* s_w, in units of x */
	double		sigma;			/* 1.2 s_w; > 0 even when all rows are equal */

	/*
	 * reduced and sample centroids are in units of 2^exponent: floats of any
	 * data
	 */
	int			exponent;
	float	   *reduced;		/* rows x n: basis (x - center), every sample
								 * row */
	float	   *sample_centroids;	/* centroids in the units of reduced */
	size_t		sample_centroid_count;
} fc_pilot_result;

/*
 * x is rows x d, double; weight (multiplicity) NULL means all 1. Scale
 * equivariant: x times c gives sigma times c. d up to FC_MAX_DIM: the
 * principal axes come from blocked subspace iterations with checks when
 * min(rows, d) > 512. The weights sum to more than 0. The arrays of the result
 * are in the arena `found`. FC_EVALUE: differences of rows or their spread are
 * beyond doubles.
 */
fc_status	fc_pilot(const double *x, const double *weight, size_t rows, size_t d,
					 const fc_spec_options *options, fc_arena *work,
					 fc_arena *found, fc_pilot_result *result);

/* ---- the parts of a spec ---- */

/*
 * How many frequencies and reduced dimensions a spec will have; about the
 * multiply-adds of fc_spec_choose.
 */
size_t
			fc_spec_frequencies(size_t d, const fc_spec_options *options, size_t *reduced);
double
			fc_spec_operations(size_t rows, size_t d, const fc_spec_options *options);

/*
 * The parts of a spec for rows like these (rows x d; weight: multiplicities,
 * also the pilot's). The parts point into the arena `found` and to weight.
 */
fc_status	fc_spec_choose(const double *x, const double *weight, size_t rows,
						   size_t d, const fc_spec_options *options,
						   fc_arena *work, fc_arena *found, fc_spec_parts *parts);

#endif							/* FC_SKETCH_PILOT_H */

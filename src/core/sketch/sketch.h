/*
 * sketch.h - adds rows to sketches, combines sketches, and reads their
 * statistics.
 *
 * Functions that add or subtract rows need unpacked sketches (layout.h);
 * functions that read a sketch need a folded one, which has no pending rows.
 */
#ifndef FC_SKETCH_SKETCH_H
#define FC_SKETCH_SKETCH_H

#include "sketch/prepared.h"

/*
 * fc_sketch_add adds one row to an unpacked sketch, and
 * fc_sketch_subtract_row subtracts one. row->weight is in units of 2^-40; it
 * must be 2^40 (one) unless the sketch is weighted. A row has prepared->d
 * elements, at any alignment, or is sparse. After an error the sketch must
 * not be used.
 */
fc_status	fc_sketch_add(const fc_prepared *prepared, const fc_row *row,
						  const fc_sketch_view *sketch);
fc_status	fc_sketch_subtract_row(const fc_prepared *prepared, const fc_row *row,
								   const fc_sketch_view *sketch);

/* Checks that the row could be added; returns FC_EVALUE or FC_EFAR if not. */
fc_status	fc_sketch_check_row(const fc_prepared *prepared, const fc_row *row);

/*
 * Sets prepared->phases (2 x moments) to the integers that a row adds to the
 * sums Z: rint(2^22 cos h) for the angle h of each moment, then rint(2^22 sin
 * h). The row must not be sparse. Returns FC_EVALUE or FC_EFAR if the row
 * could not be added.
 */
fc_status	fc_sketch_row_phases(const fc_prepared *prepared, const fc_row *row);

/*
 * Sets *grid to a weight in units of 2^-40, rounded. Returns FC_EWEIGHT if
 * the weight is neither 0 nor in [2^-40, 2^22].
 */
fc_status	fc_weight_on_grid(double weight, int64_t *grid);

/*
 * Folds the pending rows into the sums. Returns FC_EOVERFLOW if a sum no
 * longer fits.
 */
fc_status	fc_sketch_fold(const fc_prepared *prepared, const fc_sketch_view *sketch);

/*
 * Computes target += sign * source (sign 1 or -1). Both must be folded; a
 * weighted source needs a weighted target. Returns FC_EMISMATCH, with the
 * target unchanged, if their specs differ. Returns FC_ENEGATIVE or
 * FC_EOVERFLOW if the result is not a sketch.
 */
fc_status	fc_sketch_combine(const fc_sketch_view *target,
							  const fc_sketch_view *source, int sign);

/*
 * Adds the rows of source to target, each with the given weight in units of
 * 2^-40. The result has the same bits as if the rows were added one by one.
 * Both sketches must be folded. The target must be weighted, and the source
 * must not be weighted.
 */
fc_status	fc_sketch_combine_weighted(const fc_sketch_view *target,
									   const fc_sketch_view *source, int64_t weight);

/* Statistics of rows that were sketched elsewhere. Their spec has no basis. */
typedef struct fc_sketch_sums
{
	int64_t		rows;			/* number of rows, at least 1 */
	const double *moments;		/* means of cosines and sines, alternating, 2
								 * x moments; |z| <= 1 */
	const double *means;		/* d means in user units */
	const double *stddevs;		/* d standard deviations in user units */
	const double *lower;		/* d minima in user units */
	const double *upper;		/* d maxima in user units */
} fc_sketch_sums;

/*
 * Fills an empty packed sketch of unit weights from the sums. Returns FC_EFAR
 * if a mean is too far from the center of the spec, or a deviation too large,
 * for the sums of a sketch. Returns FC_EFORMAT if no rows could have such
 * sums.
 */
fc_status	fc_sketch_of_sums(const fc_sketch_sums *sums, const fc_sketch_view *sketch);

/* ---- reading (folded sketches) ---- */

/*
 * Validates `size` untrusted bytes, aligned to 8, as a packed sketch. Returns
 * FC_OK or FC_EFORMAT.
 */
fc_status	fc_sketch_check(const void *bytes, size_t size);

/*
 * Returns true if the fields and sums of a sketch are consistent, apart from
 * its pending rows. Functions that fold or combine sketches assert this.
 */
bool		fc_sketch_is_sound(const fc_sketch_view *sketch);

/*
 * Returns FC_OK if rows could have produced the sums of the sketch, else
 * FC_EFORMAT. For example, |Z| is at most W, and there are no sums without
 * rows.
 */
fc_status	fc_sketch_check_sums(const fc_sketch_view *sketch);

double		fc_sketch_total_weight(const fc_sketch_view *sketch);
double		fc_sketch_weight2(const fc_sketch_view *sketch);
double		fc_sketch_mean(const fc_sketch_view *sketch, size_t i);
double		fc_sketch_variance(const fc_sketch_view *sketch, size_t i);
void		fc_sketch_moments(const fc_sketch_view *sketch, double *re, double *im);

/*
 * Returns the similarity Re <z_a, z_b> of the moments z of two sketches, as a
 * mean over the moments. The sketches may have any flags, but no pending
 * rows.
 */
double		fc_sketch_similarity(const fc_sketch_view *a, const fc_sketch_view *b);

/*
 * Returns the unbiased estimate of MMD^2 (read.c); NaN if one of the sketches
 * has fewer than two rows.
 */
double		fc_sketch_distance(const fc_sketch_view *a, const fc_sketch_view *b);

/*
 * Computes the relative distance between the moments z of the sketch and the
 * moments of the mixture that the clusters describe:
 *
 *     *residual = ||z - sum_j w_j E phi(N(c_j, s_j^2 I))|| / ||z||
 *
 * w are the normalised weights. centroids are k x d in user units. spreads
 * are k standard deviations per dimension in units of x' (spec.h). Returns
 * FC_EEMPTY if the sketch has no rows.
 */
fc_status	fc_fit_residual(const fc_sketch_view *sketch, const double *centroids,
							const double *weights, const double *spreads,
							size_t k, fc_arena *arena, double *residual);

#endif							/* FC_SKETCH_SKETCH_H */

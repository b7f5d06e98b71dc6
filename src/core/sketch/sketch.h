/*
 * sketch.h - rows into sketches, sketches into one, and their statistics.
 *
 * Functions that take rows work on open sketches (layout.h); those that read,
 * on folded ones.
 */
#ifndef FC_SKETCH_SKETCH_H
#define FC_SKETCH_SKETCH_H

#include "sketch/prepared.h"

/*
 * Add (or, subtract = true, take away) one row to an open sketch. weight is in
 * units of 2^-40 when the sketch is weighted, else it must be 2^40 (one). A
 * row has prepared->d elements, on any byte, or is sparse. After an error the
 * sketch is not to be used.
 */
fc_status	fc_sketch_add(const fc_prepared *prepared, const fc_row *row,
						  const fc_sketch_view *sketch);
fc_status	fc_sketch_subtract_row(const fc_prepared *prepared, const fc_row *row,
								   const fc_sketch_view *sketch);

/* Could the row be added?  FC_EVALUE, FC_EFAR. */
fc_status	fc_sketch_check_row(const fc_prepared *prepared, const fc_row *row);

/* Double to the grid of weights: FC_EWEIGHT outside {0} and [2^-40, 2^22]. */
fc_status	fc_weight_on_grid(double weight, int64_t *grid);

/* Fold the waiting rows into the sums. */
fc_status
			fc_sketch_fold(const fc_prepared *prepared, const fc_sketch_view *sketch);

/*
 * target += sign * source (sign 1 or -1), both folded; a weighted source needs
 * a weighted target. FC_EMISMATCH, with the target unchanged, if their specs
 * differ.
 */
fc_status	fc_sketch_combine(const fc_sketch_view *target,
							  const fc_sketch_view *source, int sign);

/*
 * target += the rows of source, each of this weight, to the last bit as if
 * they had been added so. Both are folded, the target weighted, the source
 * not.
 */
fc_status
			fc_sketch_combine_weighted(const fc_sketch_view *target,
									   const fc_sketch_view *source, int64_t weight);

/* ---- reading (folded sketches) ---- */

/* Validate size untrusted bytes aligned to 8 as a stored (not open) sketch. */
fc_status	fc_sketch_check(const void *bytes, size_t size);

/*
 * The invariant of a sketch, waiting rows aside; asserted after each of them.
 */
bool		fc_sketch_is_sound(const fc_sketch_view *sketch);

/*
 * Could rows have made these sums? |Z| <= W; no rows, no sums. FC_EFORMAT if
 * not.
 */
fc_status	fc_sketch_check_sums(const fc_sketch_view *sketch);

double		fc_sketch_total_weight(const fc_sketch_view *sketch);
double		fc_sketch_weight2(const fc_sketch_view *sketch);
double		fc_sketch_mean(const fc_sketch_view *sketch, size_t i);
double		fc_sketch_variance(const fc_sketch_view *sketch, size_t i);
void		fc_sketch_moments(const fc_sketch_view *sketch, double *re, double *im);

/* Re <z_a, z_b>, the mean over the moments; any flags, nothing waiting. */
double		fc_sketch_similarity(const fc_sketch_view *a, const fc_sketch_view *b);

/* The unbiased MMD^2; NaN when a side has fewer than two rows. */
double		fc_sketch_distance(const fc_sketch_view *a, const fc_sketch_view *b);

/*
 * ||z - sum_j w_j E phi(N(c_j, s_j^2 I))|| / ||z||, w the weights normalised:
 * how far the sketch is from the mixture the clusters describe. centroids are
 * k x d in user units, spreads (k) deviations per dimension in units of the
 * spec's x'.
 */
fc_status	fc_fit_residual(const fc_sketch_view *sketch, const double *centroids,
							const double *weights, const double *spreads,
							size_t k, fc_arena *arena, double *residual);

#endif							/* FC_SKETCH_SKETCH_H */

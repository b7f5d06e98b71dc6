/*
 * drift.h - do two sketches come from one distribution?  Do centroids explain a sketch?
 *
 * For n1 and n2 rows of one distribution, with covariance S of a row's moments
 * phi(x) / sqrt(m) and c = 1/n1 + 1/n2,
 *     ||z1 - z2||^2 = c sum_i lambda_i chi^2_1,   lambda_i the eigenvalues of S:
 *     mean c tr S, variance 2 c^2 tr S^2, third central moment 8 c^3 tr S^3.
 * The unbiased MMD^2 is that minus its mean.  tr S comes from the sketches themselves;
 * tr S^2 and tr S^3 from sub-sketches of disjoint random parts of the training rows
 * (fc_null_moments).  The tail is that of the shifted gamma law with these three moments
 * (P. Hall 1983; M. Buckley, G. Eagleson 1988).
 */
#ifndef FC_SKETCH_DRIFT_H
#define FC_SKETCH_DRIFT_H

#include "sketch/sketch.h"

/* Moments of S; tr S = 1 - ||E phi||^2 / m. */
typedef struct fc_null
{
	double		square;			/* tr S^2 */
	double		cube;			/* tr S^3 */
} fc_null;

/*
 * tr S^2 and tr S^3 from `parts` folded sketches of disjoint random parts of the rows,
 * of one spec, at least 4 of them with rows: the unbiased estimates for Gaussian vectors
 * (z_b is a mean of many rows), held to tr^2(S^2) / tr S <= tr S^3 <= (tr S^2)^1.5.
 * FC_EEMPTY with fewer parts, FC_EMISMATCH when specs differ.
 */
#define FC_MIN_PARTS 4
size_t		fc_null_worksize(size_t parts, size_t moments);
fc_status	fc_null_moments(const fc_sketch *const *sketches, size_t parts, const fc_tick *tick,
							fc_arena *arena, fc_null *null);

typedef struct fc_drift
{
	double		mmd2;			/* unbiased squared MMD */
	double		null_sd;		/* its deviation when nothing has changed */
	double		p_value;		/* probability of mmd2 or more when nothing has changed; too small for fewer than FC_LEAST_ROWS rows */
	double		rows;			/* of the side that has fewer; weighted, W^2 / sum w^2 */
} fc_drift;

/* Both folded, of one spec; the first three fields are NaN when a side has fewer than two rows. */
fc_status	fc_drift_test(const fc_sketch *training, const fc_sketch *rows, const fc_null *null, const fc_tick *tick,
						  fc_drift *drift);

/* ---- how large the change is (fc_drift_effect.c) ---- */

typedef struct fc_effect
{
	double		size;			/* of the change: 0.1 is a tenth of a deviation, or a tenth of the rows; >= 0, may be infinite */
	double		hidden;			/* the size of a change that chance could hide: one of three null_sd */
} fc_effect;

/* Of the sketches that drift was measured on; NaN where its mmd2 is. */
size_t		fc_drift_effect_worksize(const fc_spec *spec);
fc_status	fc_drift_effect(const fc_sketch *training, const fc_sketch *rows, const fc_drift *drift, const fc_tick *tick,
							fc_arena *arena, fc_effect *effect);

/* The change of one column. */
typedef struct fc_column_change
{
	size_t		column;
	double		shift;			/* of the mean, in deviations of the training rows; where these are all equal, in
								 * those of the other columns */
	double		spread;			/* the deviation over that of the training rows; 1 when both are 0, infinite when one was */
} fc_column_change;

/* The `most` (>= 1) columns that changed most, by |shift| or |log spread|, largest first; none when a side has no rows. */
fc_status	fc_drift_columns(const fc_sketch *training, const fc_sketch *rows, size_t most, const fc_tick *tick,
							 fc_column_change *changes, size_t *count);

typedef enum fc_verdict
{
	FC_VERDICT_TOO_FEW,			/* no p-value, or fewer than FC_LEAST_ROWS rows; or the p-value is not below the
								 * threshold, but hidden is above FC_MOST_HIDDEN */
	FC_VERDICT_NONE,			/* the p-value is not below the threshold */
	FC_VERDICT_SLIGHT,			/* it is, but the size is below min_effect */
	FC_VERDICT_DRIFTED			/* it is, and the size is not */
} fc_verdict;

#define FC_LEAST_ROWS	10.0
#define FC_MOST_HIDDEN	0.5
fc_verdict	fc_drift_verdict(const fc_drift *drift, const fc_effect *effect, double threshold, double min_effect);

/*
 * ||z - sum_j w_j E phi(N(c_j, s_j^2 I))|| / ||z||, w the weights normalised: how far the
 * sketch is from the mixture the clusters describe.  centroids are k x d in user units, spreads
 * (k) deviations per dimension in units of the spec's x'.
 */
size_t		fc_fit_worksize(const fc_spec *spec);
fc_status	fc_fit_residual(const fc_sketch *sketch, const double *centroids, const double *weights,
							const double *spreads, size_t k, const fc_tick *tick, fc_arena *arena, double *residual);

#endif							/* FC_SKETCH_DRIFT_H */

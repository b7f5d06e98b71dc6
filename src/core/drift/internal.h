/*
 * internal.h - the inner loops of counting, tails of gamma and normal
 * distributions, and the exact test of two counts (R. A. Fisher 1935)
 */
#ifndef FC_DRIFT_INTERNAL_H
#define FC_DRIFT_INTERNAL_H

#include "base/fc.h"

/*
 * Number of columns whose thresholds are stored together, a vector of 16
 * floats.
 */
#define FC_DRIFT_TILE	16

/*
 * Sets out = (float) (x - origin) for d unaligned numbers; origin may be
 * NULL. Returns false if a number is not finite.
 */
bool		fc_drift_take_doubles(const double *x, const double *origin, size_t d,
								  float *out);
bool		fc_drift_take_floats(const float *x, const double *origin, size_t d,
								 float *out);

/*
 * Sets place[j], for each column j, to the number of its `count` thresholds
 * that are below x[j]. Thresholds are stored in tiles of 16 columns.
 */
void		fc_drift_places(const float *x, const float *threshold, size_t count,
							size_t tiles, int32_t *place);

/* Sets words |= mask where x <= lower or x > upper; n is a multiple of 16. */
void		fc_drift_set_bits(const float *x, const float *lower, const float *upper,
							  size_t n, uint32_t mask, uint32_t *words);

/*
 * Adds to both[j] the number of bits common to first and low[j], plus the
 * number of bits common to second and high[j].
 */
void		fc_drift_count_both(uint32_t first, uint32_t second, const uint32_t *low,
								const uint32_t *high, size_t n, uint32_t *both);

/*
 * Sets step = unit * (z - before), for differences below 2^31, and then before
 * = z.
 */
void		fc_drift_steps(const int64_t *z, size_t n, double unit, int64_t *before,
						   float *step);

/* ---- tails ---- */

/*
 * Returns Q(a, x), the upper regularised incomplete gamma function, for a >
 * 0 and x >= 0; relative error 1e-9 for a < 1e4.
 */
double		fc_gamma_upper(double a, double x);

/* Returns the logarithm of the two-sided p-value of a standard normal z >= 0. */
double		fc_normal_log_p(double z);

/* Returns the quantile of the standard normal distribution, for 0 < p < 1. */
double		fc_normal_quantile(double p);

/*
 * Returns the logarithm of the two-sided p-value of the exact test that c1 of
 * n1 rows and c2 of n2 rows are equal shares, for 0 <= c <= n <= 2^40. The
 * p-value is twice the hypergeometric tail of c2, given c1 + c2, on the side
 * away from its mean, and at most 1. Its relative error is about 1e-16 n log
 * n.
 */
double		fc_hypergeometric_log_p(double c1, double n1, double c2, double n2);

/*
 * Returns half the deviance of two counts: the log-likelihood with a share for
 * each side, minus the log-likelihood with a common share. It is >= 0 except
 * for rounding.
 */
double		fc_two_counts_deviance(double c1, double n1, double c2, double n2);

#endif							/* FC_DRIFT_INTERNAL_H */

/*
 * waves.h - tests whether two sketches come from one distribution.
 *
 * The mean waves of rows are the means of their m moments phi(x) / sqrt(m).
 * Let z1 and z2 be the mean waves of n1 and n2 rows of one distribution, and c
 * = 1/n1 + 1/n2. Let S be the covariance matrix of the moments of a row. With
 * the eigenvalues lambda_i of S,
 *     ||z1 - z2||^2 = c sum_i lambda_i chi^2_1
 * This squared distance has mean c tr S, variance 2 c^2 tr S^2 and third
 * central moment 8 c^3 tr S^3. The unbiased MMD^2 is the squared distance
 * minus its mean. The tail of the MMD^2 is approximated by the shifted gamma
 * distribution with these three moments (P. Hall 1983; M. Buckley, G. Eagleson
 * 1988). Specs with a basis are not compared: a basis that was fitted to the
 * training rows is closer to them than to other rows.
 */
#ifndef FC_DRIFT_WAVES_H
#define FC_DRIFT_WAVES_H

#include "drift/drift_spec_of_sample.h"
#include "sketch/sketch.h"

/*
 * Traces of powers of S, the covariance matrix of a row's moments under the
 * null hypothesis.
 */
typedef struct fc_wave_null
{
	double		square;			/* tr S^2 */
	double		cube;			/* tr S^3 */
} fc_wave_null;

/*
 * Limits estimates of traces of powers of a covariance matrix to the possible
 * range, and returns them. The range of tr S^2 is 1e-6 (tr S)^2 to (tr S)^2,
 * the range of tr S^3 is (tr S^2)^2 / tr S to (tr S^2)^1.5. `trace` is tr S.
 */
fc_wave_null fc_wave_possible(double trace, double square, double cube);

/*
 * Returns the effective number of rows of a sketch, W^2 / W2, where W is the
 * sum of the weights and W2 the sum of their squares.
 */
double		fc_effective_rows(const fc_sketch_view *sketch);

/*
 * Minimum effective number of sample rows, W^2 / sum w^2, from which the null
 * distribution is estimated. A guess.
 */
#define FC_WAVE_MIN_ROWS	10

/*
 * Estimates tr S^2 and tr S^3 for the rows of a prepared spec. Up to `max`
 * rows of the sample are used (512 suffice), drawn with the spec's seed. Let
 * K(x, y) be the centred kernel of two rows. The estimates are weighted means
 * over pairs and triples of distinct rows:
 *     tr S^2 = E K(x, y)^2,   tr S^3 = E K(x, y) K(y, z) K(z, x)
 * Centring removes one degree of freedom per index, which the divisors take
 * into account (G. Szekely, M. Rizzo 2014, unbiased distance covariance). Rows
 * sampled by importance may have weights. The weights of distinct rows are
 * uncorrelated in a priority sample (coreset.h), so that the estimates remain
 * unbiased for all rows. Returns FC_EEMPTY if there are fewer than
 * FC_WAVE_MIN_ROWS effective rows, and FC_EFAR or FC_EVALUE for a row that the
 * spec rejects.
 */
fc_status	fc_wave_null_moments(const fc_weighted_rows *sample, size_t max,
								 const fc_prepared *prepared, fc_arena *arena,
								 fc_wave_null *null);

typedef struct fc_wave_test
{
	double		mmd2;			/* unbiased squared MMD */
	double		null_sd;		/* standard deviation of mmd2 if nothing has
								 * changed */

	/*
	 * probability of this mmd2 or a larger one if nothing has changed; 1 if
	 * tr S is too small
	 */
	double		p_value;

	/*
	 * shift of a single column, in standard deviations, that would give the
	 * same mmd2
	 */
	double		size;
	double		hidden;			/* shift of a single column, in standard
								 * deviations, that would give an mmd2 of
								 * three null_sd; smaller shifts may go
								 * undetected */
	double		rows;			/* effective number of rows, W^2 / sum w^2, of
								 * the side on which it is smaller */
} fc_wave_test;

/*
 * Null distribution of the difference of the mean waves of two sides whose
 * rows are not independent.
 */
typedef struct fc_wave_law
{
	double		excess;			/* mean of the unbiased MMD^2, which is 0 for
								 * independent rows */
	fc_wave_null null;			/* traces of powers of the covariance matrix
								 * of the difference */
	double		freedom;		/* degrees of freedom from which `null` is
								 * estimated */
} fc_wave_law;

/*
 * Compares folded sketches of one spec without a basis. If a side has fewer
 * than two rows, the first five fields of *test are NaN. A shift of one column
 * by h standard deviations changes the sketch, on average over the columns, by
 *     MMD^2 = h^2 / d mean_j(a_j sum_i omega_ji^2 s_i^2)
 * where a_j is |z_j|^2 of the training rows, corrected for sampling noise, and
 * omega_j is the frequency of moment j. s_i is the scale of column i in the
 * spec or, if the spec has no scale, the standard deviation of the column in
 * the training rows. `law` is NULL if rows are independent; the null
 * distribution then follows from `null`, the traces for a single row.
 */
void		fc_wave_compare(const fc_sketch_view *training, const fc_sketch_view *rows,
							const fc_wave_null *null, const fc_wave_law *law, fc_arena *arena,
							fc_wave_test *test);

/*
 * Returns P(sum lambda_i chi^2_1 >= sum lambda_i + excess). The sum is
 * approximated by a shifted gamma distribution with the variance 2
 * null->square and the third central moment 8 null->cube.
 */
double		fc_wave_tail(double excess, const fc_wave_null *null);

/*
 * Returns the MMD^2 that a shift of one column by one standard deviation
 * causes, on average over the columns (see fc_wave_compare, h = 1). The spec
 * must have no basis.
 */
double		fc_wave_response(const fc_sketch_view *training, fc_arena *arena);

#endif							/* FC_DRIFT_WAVES_H */

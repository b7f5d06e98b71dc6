/*
 * waves.h - do two sketches come from one distribution?
 *
 * For n1 and n2 rows of one distribution, with covariance S of a row's moments
 * phi(x) / sqrt(m) and c = 1/n1 + 1/n2,
 *     ||z1 - z2||^2 = c sum_i lambda_i chi^2_1, lambda_i the eigenvalues of S:
 *     mean c tr S, variance 2 c^2 tr S^2, third central moment 8 c^3 tr S^3.
 * The unbiased MMD^2 is that minus its mean. Its tail is that of the shifted
 * gamma law with these three moments (P. Hall 1983; M. Buckley, G. Eagleson
 * 1988). A projection fitted to the training rows would make them differ from
 * any others: specs with a basis are not compared.
 */
#ifndef FC_DRIFT_WAVES_H
#define FC_DRIFT_WAVES_H

#include "drift/drift_spec_of_sample.h"
#include "sketch/sketch.h"

/* Moments of S. */
typedef struct fc_wave_null
{
	double		square;			/* tr S^2 */
	double		cube;			/* tr S^3 */
} fc_wave_null;

#define FC_WAVE_LEAST_ROWS	10	/* effective rows, W^2 / sum w^2: of fewer
								 * there are no estimates */

/*
 * tr S^2 and tr S^3 for the rows of a prepared spec, from `most` (512 will do)
 * of the sample chosen by the spec's seed. With K the centred kernel of two
 * rows, estimates are sums over distinct rows, each with its weight:
 *     tr S^2 = E K(x, y)^2,   tr S^3 = E K(x, y) K(y, z) K(z, x)
 * The centring takes a degree of freedom of each index (G. Szekely, M. Rizzo
 * 2014, unbiased distance covariance). Rows sampled by importance may have
 * weights: those of distinct rows are uncorrelated in a priority sample
 * (coreset.h), so that the estimates stay those of all rows. FC_EEMPTY: too
 * few rows; FC_EFAR, FC_EVALUE: a row that the spec does not take.
 */
fc_status	fc_wave_null_moments(const fc_weighted_rows *sample, size_t most,
								 const fc_prepared *prepared, fc_arena *arena,
								 fc_wave_null *null);

typedef struct fc_wave_test
{
	double		mmd2;			/* unbiased squared MMD */
	double		null_sd;		/* its deviation when nothing has changed */

	/*
	 * probability of mmd2 or more when nothing has changed; 1 where tr S is
	 * too small
	 */
	double		p_value;
	/* the shift, in deviations of one column, that moves the sketch as much */
	double		size;
	double		hidden;			/* the shift that chance could hide: one of
								 * three null_sd */
	double		rows;			/* of the side that has fewer; weighted, W^2 /
								 * sum w^2 */
} fc_wave_test;

/*
 * Of folded sketches of one spec without a basis; the first five fields are
 * NaN when a side has fewer than two rows. With a_j = |z_j|^2 of the training
 * rows, freed of their own noise, a shift of one column by h of its deviations
 * s moves the sketch, on average over the columns, by
 *     MMD^2 = h^2 / d mean_j(a_j sum_i omega_ji^2 s_i^2)
 * s_i is the spec's scale, or, where it has none, that of the training rows.
 */
void
			fc_wave_compare(const fc_sketch_view *training, const fc_sketch_view *rows,
							const fc_wave_null *null, fc_arena *arena, fc_wave_test *test);

/* P(sum lambda_i chi^2_1 >= mean + excess), by the three moments. */
double		fc_wave_tail(double excess, const fc_wave_null *null);

/*
 * mean_j(...) / d above: the MMD^2 of a shift of one column by one deviation;
 * of a spec without a basis.
 */
double		fc_wave_response(const fc_sketch_view *training, fc_arena *arena);

#endif							/* FC_DRIFT_WAVES_H */

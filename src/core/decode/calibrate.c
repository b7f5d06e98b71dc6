/*
 * calibrate.c - a sample of rows, reweighted until it matches the sketch.
 *
 *     min over p >= 0 of  mean_j | z_j - sum_i p_i A_ij |^2 + lambda R sum_rows (p_i / w_i)^2
 *
 * over the atoms of the fitted density (no penalty) and R sample rows of
 * multiplicity w_i (mean 1): a non-negative ridge.  The rows bring the shape of
 * the clusters, the sketch brings the counts of all rows; k-means on both then
 * sees a sample calibrated by the whole table.
 *
 * Rows beyond FARTHEST_DEVIATIONS deviations of every atom are left out: such a row is alone, so
 * its weight is the field f_r at it, which is noise of size sqrt(J0 / 2m), and a
 * handful of outliers with noise weights and huge squares would take centroids
 * away from the clusters.  Heavy tails reach 10 to 20 deviations and must stay in
 * (they carry SSE); with 1 % of rows at 50 times the spread 12 to 20 do equally
 * well and 40 does not.
 *
 * Cost: R^2 m for the Gram matrix in float (the ridge of lambda R dwarfs its
 * rounding), a few Cholesky factorisations of the positive part.
 * Survey statistics calls this calibration: Deville, Sarndal 1992.
 */
#include "decode/internal.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "numerics/dense.h"
#include "numerics/nnls.h"
#include "base/pieces.h"

#define ROW_PENALTY 1e-4
#define PANEL ((size_t) 256)		/* rows of the Gram matrix between two checks */
#define ATOM_PENALTY 1e-9
#define CERTIFIED_ROWS ((size_t) 256)	/* enough when the atoms leave nothing but noise ... */
#define MANY_TIMES_SAMPLE 20.0	/* ... and the table is this many times the sample */
#define FARTHEST_DEVIATIONS 20.0	/* deviations of the nearest atom, root mean square over dimensions */

void
fc_calibrate_take(fc_decoding *d, fc_arena *arena)
{
	fc_calibrate_work *w = &d->calibrate;
	size_t		columns;

	w->capacity = fc_calibrate_limit(d);
	columns = w->capacity == 0 ? 0 : w->capacity + d->atoms;
	w->row = FC_TAKE(arena, w->capacity, size_t);
	w->center = FC_TAKE(arena, columns * d->n, double);
	w->variance = FC_TAKE(arena, columns, double);
	w->penalty = FC_TAKE(arena, columns, double);
	w->rhs = FC_TAKE(arena, columns, double);
	w->weight = FC_TAKE(arena, columns, double);
	w->features = FC_TAKE(arena, columns * 2 * FC_FREQUENCY_BLOCK, float);
	w->gram_block = FC_TAKE(arena, columns * columns, float);
	w->gram = FC_TAKE(arena, columns * columns, double);
	w->cosine = FC_TAKE(arena, columns * FC_FREQUENCY_BLOCK, double);
	w->sine = FC_TAKE(arena, columns * FC_FREQUENCY_BLOCK, double);
}

/* Does the fitted density reach this row? */
static bool
within_reach(const fc_decoding *d, const fc_mixture *mixture, const double *row)
{
	double		common = fc_mixture_variance(mixture);

	for (size_t i = 0; i < mixture->count; i++)
	{
		const double *center = mixture->center + i * d->n;
		double		reach = FARTHEST_DEVIATIONS * FARTHEST_DEVIATIONS * (double) d->n * fmax(mixture->variance[i], common);
		double		distance = 0.0;

		for (size_t l = 0; l < d->n; l++)
			distance += (row[l] - center[l]) * (row[l] - center[l]);
		if (distance <= reach)
			return true;
	}
	return false;
}

/* Choose at most limit rows and lay out the columns: atoms first, then *rows rows. */
static void
lay_out(fc_decoding *d, const fc_mixture *mixture, size_t limit, size_t *rows)
{
	fc_calibrate_work *w = &d->calibrate;
	size_t		atoms = mixture->count;
	size_t		count = 0;
	size_t		done = 0;

	memcpy(w->center, mixture->center, atoms * d->n * sizeof(double));
	for (size_t i = 0; i < d->rows; i++)
		d->permutation[i] = i;
	for (size_t turn = 0; turn < d->rows && count < w->capacity && count < limit; turn++)
	{
		size_t		other = turn + fc_rng_below(&d->rng, d->rows - turn);
		size_t		chosen = d->permutation[other];
		const double *row = d->row + chosen * d->n;

		d->permutation[other] = d->permutation[turn];
		d->permutation[turn] = chosen;
		fc_check_every(&done, atoms * d->n);
		if (!within_reach(d, mixture, row))
			continue;
		memcpy(w->center + (atoms + count) * d->n, row, d->n * sizeof(double));
		w->row[count++] = chosen;
	}
	for (size_t i = 0; i < atoms + count; i++)
	{
		double		multiplicity = i < atoms ? 1.0 : d->row_weight[w->row[i - atoms]];

		w->variance[i] = i < atoms ? mixture->variance[i] : 0.0;
		w->penalty[i] = i < atoms ? ATOM_PENALTY : ROW_PENALTY * (double) count / (multiplicity * multiplicity);
	}
	*rows = count;
}

/* features (count x 2 width, float) of one block, and its share of rhs */
static fc_status
block_features(fc_decoding *d, size_t count, size_t first, size_t width)
{
	fc_calibrate_work *w = &d->calibrate;
	double		scale = 1.0 / (double) d->m;
	int			rows = (int) count;
	int			columns = (int) width;

	fc_status	status = fc_features(d, w->center, w->variance, count, first, width, w->cosine, w->sine);

	if (status != FC_OK)
		return status;
	cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, columns, scale, w->cosine, columns, d->z_re + first, 1, 1.0, w->rhs, 1);
	cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, columns, scale, w->sine, columns, d->z_im + first, 1, 1.0, w->rhs, 1);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < width; j++)
		{
			w->features[i * 2 * width + j] = (float) w->cosine[i * width + j];
			w->features[i * 2 * width + width + j] = (float) w->sine[i * width + j];
		}
	return FC_OK;
}

/* gram_block += F F' in float, the lower triangle and some of the upper one. */
static fc_status
add_features(fc_decoding *d, size_t count, size_t width)
{
	fc_calibrate_work *w = &d->calibrate;
	size_t		k = 2 * width;

	for (size_t row = 0; row < count; row += PANEL)
	{
		size_t		rows = count - row < PANEL ? count - row : PANEL;
		fc_product	p = {.transpose_b = true,.m = rows,.n = row + rows,.k = k,.alpha = 1.0,.beta = 1.0,
		.lda = k,.ldb = k,.ldc = count};
		fc_status	status = fc_multiply_float(&p, w->features + row * k, w->features, w->gram_block + row * count);

		if (status != FC_OK)
			return status;
	}
	return FC_OK;
}

static fc_status
ridge_gram(fc_decoding *d, size_t count)
{
	fc_calibrate_work *w = &d->calibrate;

	fc_status	status = FC_OK;

	fc_clear_pieces(w->gram_block, count * count * sizeof(float));
	memset(w->rhs, 0, count * sizeof(double));
	for (size_t first = 0; first < d->m && status == FC_OK; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);

		status = block_features(d, count, first, width);
		if (status == FC_OK)
			status = add_features(d, count, width);
	}
	for (size_t i = 0; i < count && status == FC_OK; i++)
	{
		if (i % PANEL == 0)
			fc_check();
		for (size_t j = 0; j <= i; j++)
		{
			double		entry = (double) w->gram_block[i * count + j] / (double) d->m;

			w->gram[i * count + j] = entry;
			w->gram[j * count + i] = entry;
		}
		w->gram[i * count + i] += w->penalty[i];
	}
	return status;
}

/*
 * points = the atoms' points with their calibrated weights, then the rows of
 * positive weight; *count is their number, 0 when nothing has weight.  certified:
 * the mixture already fits to the noise floor, so that few rows do.
 */
fc_status
fc_calibrated_points(fc_decoding *d, const fc_mixture *mixture, bool certified, size_t *count)
{
	fc_calibrate_work *w = &d->calibrate;
	fc_mixture	reweighted = *mixture;
	bool		many = d->problem->rows > MANY_TIMES_SAMPLE * (double) FC_CALIBRATE_ROWS;
	size_t		columns;
	fc_status	status = FC_OK;

	lay_out(d, mixture, certified && many ? CERTIFIED_ROWS : FC_CALIBRATE_ROWS, &columns);
	if (status != FC_OK)
		return status;
	columns += mixture->count;
	status = ridge_gram(d, columns);
	if (status == FC_OK)
		status = fc_nnls(w->gram, columns, w->rhs, columns, NULL, d->arena, w->weight);
	if (status != FC_OK)
		return status;
	reweighted.weight = w->weight;
	*count = 0;
	fc_density_points(d, &reweighted, count);
	if (status != FC_OK)
		return status;
	for (size_t i = mixture->count; i < columns; i++)
	{
		if (!(w->weight[i] > 0.0))
			continue;
		for (size_t l = 0; l < d->n; l++)
			d->points.x[*count * d->n + l] = (float) w->center[i * d->n + l];
		d->points.weight[(*count)++] = w->weight[i];
	}
	return FC_OK;
}

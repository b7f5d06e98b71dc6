/*
 * fc_palm.c - palm4MSA with sparse algebra throughout.
 *
 * Sweep q = Q .. 1, with L = S_1 .. S_(q-1), R = S_(q+1) .. S_Q and Y = U R', H = R R' grown
 * from the right:
 *     X = L (S_q H)                      k x columns of S_q, in tiles of columns
 *     G = L' W (lambda X - Y)
 *     S_q <- P(S_q - lambda / c G),      c = 1.001 lambda^2 ||W^(1/2) L||_2^2 ||R||_2^2
 * No product of two dense matrices appears: each tile of 32 columns passes the sparse factors
 * of L forth and back in cache.  A sweep costs about Q^2 nonzeros(S_q) min(k, d) multiply-adds.
 *
 * Objective: with D = S_q - lambda / c G a step onto any unit S with ||S - D|| <= ||S_q - D||
 * does not raise it (c bounds the curvature).  The projection on the union of rows and columns
 * may miss that; then D is projected on the old support, which never does.  Since the norms in
 * c are estimates, the objective is also computed after every sweep; a sweep that raised it
 * is undone and c doubled.
 */
#include "fc_palm_work.h"

#include <math.h>
#include <string.h>

#define MARGIN			1.001
#define MOST_MARGIN		1024.0
#define ROUNDING		1e-16	/* of the objective, relative to that of zero */

fc_palm_options
fc_palm_defaults(void)
{
	return (fc_palm_options) {.sweeps = 300,.tolerance = 1e-6,.pursuit = true};
}

static inline size_t
larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static inline size_t
smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t
widest_between(const fc_factors *factors)
{
	size_t		width = 0;

	for (size_t q = 1; q < factors->count; q++)
		width = larger(width, factors->factor[q].plain.rows);
	return width;
}

static size_t
most_cells(const fc_factors *factors)
{
	size_t		cells = 0;

	for (size_t q = 0; q < factors->count; q++)
		cells = larger(cells, factors->factor[q].plain.rows * factors->factor[q].plain.columns);
	return cells;
}

/* ---- memory ---- */

size_t
fc_palm_worksize(const fc_factors *factors)
{
	size_t		inner = widest_between(factors);
	size_t		side = fc_factors_longest(factors);
	size_t		k = factors->factor[0].plain.rows;
	size_t		size = sizeof(double) * (most_cells(factors) + k * inner + 2 * inner * inner +
										 2 * side * FC_TILE + 2 * side) + 8 * 64;

	for (size_t q = 0; q < factors->count; q++)
	{
		const fc_sparse *s = &factors->factor[q].plain;

		size += fc_sparse_worksize(s->rows, s->columns, s->capacity) + (s->rows + s->columns) * sizeof(double) + 2 * 64;
	}
	return size + fc_palm_ends_worksize(factors) + fc_constraint_worksize(side, most_cells(factors) / side + side);
}

static bool
take_vectors(fc_palm_work *w)
{
	size_t		side = fc_factors_longest(w->factors);

	for (int i = 0; i < 2; i++)
	{
		w->tile[i] = FC_TAKE(w->arena, side * FC_TILE, double);
		w->vector[i] = FC_TAKE(w->arena, side, double);
		if (w->tile[i] == NULL || w->vector[i] == NULL)
			return false;
	}
	for (size_t q = 0; q < w->factors->count; q++)
	{
		w->left[q] = FC_TAKE(w->arena, w->factors->factor[q].plain.rows, double);
		w->right[q] = FC_TAKE(w->arena, w->factors->factor[q].plain.columns, double);
		if (w->left[q] == NULL || w->right[q] == NULL)
			return false;
	}
	return true;
}

static fc_status
take_work(fc_palm_work *w)
{
	const fc_factors *factors = w->factors;

	w->inner = widest_between(factors);
	w->step = FC_TAKE(w->arena, most_cells(factors), double);
	w->y = FC_TAKE(w->arena, w->k * w->inner, double);
	w->h = FC_TAKE(w->arena, w->inner * w->inner, double);
	w->next_h = FC_TAKE(w->arena, w->inner * w->inner, double);
	if (w->step == NULL || w->y == NULL || w->h == NULL || w->next_h == NULL || !take_vectors(w))
		return FC_ENOMEMORY;
	for (size_t q = 0; q < factors->count; q++)
	{
		const fc_sparse *s = &factors->factor[q].plain;
		fc_status	status = fc_sparse_take(w->arena, s->rows, s->columns, s->capacity, &w->saved[q]);

		if (status != FC_OK)
			return status;
	}
	return FC_OK;
}

/* ---- objective and scale ---- */

/* Sums over columns first ..: ||U - lambda V||^2, <U - lambda V, V>, ||V||^2, all weighted. */
static void
residual_tile(fc_palm_work *w, size_t first, size_t count, double sums[3])
{
	const fc_factors *factors = w->factors;
	size_t		last = factors->count - 1;

	fc_tile_sparse(&factors->factor[last].transposed, first, count, w->tile[0]);
	fc_palm_up(w, last);
	for (size_t j = 0; j < w->k; j++)
	{
		const double *v = w->tile[0] + j * FC_TILE;
		const double *u = w->target->u + j * w->d + first;
		double		part[3] = {0};
		double		weight = w->target->weight != NULL ? w->target->weight[j] : 1.0;

		for (size_t i = 0; i < count; i++)
		{
			double		rest = u[i] - factors->lambda * v[i];

			part[0] += rest * rest;
			part[1] += rest * v[i];
			part[2] += v[i] * v[i];
		}
		for (int i = 0; i < 3; i++)
			sums[i] += weight * part[i];
	}
}

/* The best lambda for these factors and the objective with it. */
static fc_status
settle_scale(fc_palm_work *w, double *objective)
{
	double		sums[3] = {0};

	for (size_t first = 0; first < w->d; first += FC_TILE)
	{
		if (fc_ticked(w->tick))
			return FC_INTERRUPTED;
		residual_tile(w, first, smaller(FC_TILE, w->d - first), sums);
	}
	*objective = sums[0];
	if (sums[2] > 0.0)
	{
		w->factors->lambda += sums[1] / sums[2];
		*objective = fmax(sums[0] - sums[1] * sums[1] / sums[2], 0.0);
	}
	return FC_OK;
}

/* ---- one factor ---- */

/* Columns first .. of w->step = -lambda / c L' W (lambda L S_q H - Y). */
static void
gradient_tile(fc_palm_work *w, size_t q, double c, size_t first, size_t count)
{
	const fc_sparse_pair *s = &w->factors->factor[q];
	bool		last = q + 1 == w->factors->count;
	const double *y = last ? w->target->u : w->y;
	size_t		stride = last ? w->d : w->inner;
	double		lambda = w->factors->lambda;

	if (last)
		fc_tile_sparse(&s->transposed, first, count, w->tile[0]);
	else
	{
		fc_tile_columns(w->h, w->inner, s->plain.columns, first, count, w->tile[1]);
		fc_sparse_tile(&s->plain, w->tile[1], w->tile[0]);
	}
	fc_palm_up(w, q);
	for (size_t j = 0; j < w->k; j++)
	{
		double	   *row = w->tile[0] + j * FC_TILE;
		double		scale = -lambda / c * (w->target->weight != NULL ? w->target->weight[j] : 1.0);

		for (size_t i = 0; i < count; i++)
			row[i] = scale * (lambda * row[i] - y[j * stride + first + i]);
	}
	fc_palm_down(w, 0, q);
	fc_tile_to_columns(w->tile[0], s->plain.rows, first, count, w->step, s->plain.columns);
}

/* w->step = D; returns <S_q, D>. */
static fc_status
gradient_step(fc_palm_work *w, size_t q, double c, double *along)
{
	const fc_sparse *s = &w->factors->factor[q].plain;
	double		sum = 0.0;

	for (size_t first = 0; first < s->columns; first += FC_TILE)
	{
		if (fc_ticked(w->tick))
			return FC_INTERRUPTED;
		gradient_tile(w, q, c, first, smaller(FC_TILE, s->columns - first));
	}
	for (size_t r = 0; r < s->rows; r++)
		for (size_t p = s->row_start[r]; p < s->row_start[r + 1]; p++)
		{
			double	   *cell = &w->step[r * s->columns + s->column[p]];

			*cell += s->value[p];
			sum += *cell * s->value[p];
		}
	*along = sum;
	return FC_OK;
}

/* The factor before this sweep, or its support with the values of the step. */
static void
put_back(fc_palm_work *w, size_t q, bool stepped)
{
	fc_sparse_pair *s = &w->factors->factor[q];

	fc_sparse_copy(&w->saved[q], &s->plain);
	if (stepped)
		fc_support_project(w->step, &s->plain);
	fc_sparse_pair_changed(s);
}

/* held: the objective may not rise. */
static fc_status
update_factor(fc_palm_work *w, size_t q, bool held)
{
	fc_factors *factors = w->factors;
	fc_sparse_pair *s = &factors->factor[q];
	double		left = fc_palm_squared_norm(w, q, true);
	double		c = w->margin * factors->lambda * factors->lambda * left * fc_palm_squared_norm(w, q, false);
	double		along;
	double		norm;
	fc_status	status;

	if (!(c > 0.0))				/* another factor is zero: this one has no say */
		return FC_OK;
	status = gradient_step(w, q, c, &along);
	if (status != FC_OK)
		return status;
	status = fc_constraint_project(&factors->constraint[q], w->step, w->tick, w->arena, &s->plain, &norm);
	if (status != FC_OK)
		return status;
	fc_sparse_pair_changed(s);
	if (!(norm > 0.0) || (held && norm < along))
		put_back(w, q, norm > 0.0);
	return FC_OK;
}

/* ---- what grows from the right ---- */

/* y = (U or y) S_q', in blocks of rows. */
static fc_status
grow_y(fc_palm_work *w, size_t q)
{
	const fc_sparse *s = &w->factors->factor[q].plain;
	bool		last = q + 1 == w->factors->count;

	for (size_t first = 0; first < w->k; first += FC_TILE)
	{
		size_t		count = smaller(FC_TILE, w->k - first);

		if (fc_ticked(w->tick))
			return FC_INTERRUPTED;
		fc_tile_rows(last ? w->target->u : w->y, last ? w->d : w->inner, s->columns, first, count, w->tile[0]);
		fc_sparse_tile(s, w->tile[0], w->tile[1]);
		fc_tile_to_rows(w->tile[1], s->rows, first, count, w->y, w->inner);
	}
	return FC_OK;
}

/* w->tile[0] (columns of S_q x FC_TILE) = H S_q', rows first .. of S_q. */
static void
h_times_rows(fc_palm_work *w, size_t q, size_t first, size_t count)
{
	const fc_sparse *s = &w->factors->factor[q].plain;

	if (q + 1 == w->factors->count)
	{
		fc_tile_sparse(s, first, count, w->tile[0]);
		return;
	}
	memset(w->tile[0], 0, s->columns * FC_TILE * sizeof(double));
	for (size_t r = 0; r < count; r++)
	{
		double	   *sum = w->vector[0];

		memset(sum, 0, s->columns * sizeof(double));
		for (size_t p = s->row_start[first + r]; p < s->row_start[first + r + 1]; p++)
		{
			const double *row = w->h + s->column[p] * w->inner;

			for (size_t i = 0; i < s->columns; i++)
				sum[i] += s->value[p] * row[i];
		}
		for (size_t i = 0; i < s->columns; i++)
			w->tile[0][i * FC_TILE + r] = sum[i];
	}
}

/* h = S_q h S_q'. */
static fc_status
grow_h(fc_palm_work *w, size_t q)
{
	const fc_sparse *s = &w->factors->factor[q].plain;
	double	   *swap = w->h;

	for (size_t first = 0; first < s->rows; first += FC_TILE)
	{
		size_t		count = smaller(FC_TILE, s->rows - first);

		if (fc_ticked(w->tick))
			return FC_INTERRUPTED;
		h_times_rows(w, q, first, count);
		fc_sparse_tile(s, w->tile[0], w->tile[1]);
		fc_tile_to_columns(w->tile[1], s->rows, first, count, w->next_h, w->inner);
	}
	w->h = w->next_h;
	w->next_h = swap;
	return FC_OK;
}

static fc_status
sweep(fc_palm_work *w, bool held)
{
	for (size_t q = w->factors->count; q-- > 0;)
	{
		fc_status	status = fc_palm_pursued(w, q) ? fc_palm_pursue_end(w, q) : update_factor(w, q, held);

		if (status == FC_OK && q > 0)
			status = grow_y(w, q);
		if (status == FC_OK && q > 0)
			status = grow_h(w, q);
		if (status != FC_OK)
			return status;
	}
	w->power_warm = true;
	return FC_OK;
}

/* ---- the whole ---- */

static fc_status
start(fc_palm_work *w, const fc_palm_options *options)
{
	fc_status	status = take_work(w);

	if (status != FC_OK)
		return status;
	w->margin = MARGIN;
	fc_palm_start_vectors(w, options->seed);
	for (size_t j = 0; j < w->k; j++)
	{
		double		sum = 0.0;

		for (size_t i = 0; i < w->d; i++)
			sum += w->target->u[j * w->d + i] * w->target->u[j * w->d + i];
		w->square += sum * (w->target->weight != NULL ? w->target->weight[j] : 1.0);
	}
	return isfinite(w->square) ? FC_OK : FC_EVALUE;
}

/* Unit factors, the scale in lambda. */
static void
normalise_factors(fc_factors *factors)
{
	for (size_t q = 0; q < factors->count; q++)
	{
		double		norm = fc_sparse_norm(&factors->factor[q].plain);

		if (!(norm > 0.0))
			continue;
		fc_sparse_scale(&factors->factor[q].plain, 1.0 / norm);
		fc_sparse_pair_changed(&factors->factor[q]);
		factors->lambda *= norm;
	}
}

static void
remember(fc_palm_work *w)
{
	for (size_t q = 0; q < w->factors->count; q++)
		fc_sparse_copy(&w->factors->factor[q].plain, &w->saved[q]);
	w->saved_lambda = w->factors->lambda;
}

static void
restore(fc_palm_work *w)
{
	for (size_t q = 0; q < w->factors->count; q++)
	{
		fc_sparse_copy(&w->saved[q], &w->factors->factor[q].plain);
		fc_sparse_pair_changed(&w->factors->factor[q]);
	}
	w->factors->lambda = w->saved_lambda;
}

/* A sweep that raises the objective is undone; the next keep to supports that do not, with smaller steps. */
static fc_status
improve(fc_palm_work *w, const fc_palm_options *options, fc_palm_result *result)
{
	bool		known = options->warm;	/* the objective */
	bool		held = false;

	for (int i = 0; i < options->sweeps && !result->converged;)
	{
		double		objective;
		fc_status	status;

		remember(w);
		status = sweep(w, held);
		if (status == FC_OK)
			status = settle_scale(w, &objective);
		if (status != FC_OK)
			return status;
		if (known && objective > result->objective + ROUNDING * w->square)
		{
			restore(w);
			w->margin *= held ? 2.0 : 1.0;
			held = true;
			result->converged = w->margin > MOST_MARGIN;
			continue;
		}
		result->converged = known && result->objective - objective <= options->tolerance * result->objective;
		result->objective = objective;
		result->sweeps = ++i;
		known = true;
		if (options->progress != NULL)
			options->progress(options->progress_ctx, i, objective / w->square, fc_factors_nonzeros(w->factors));
	}
	return FC_OK;
}

fc_status
fc_palm(const fc_target *target, const fc_palm_options *options, const fc_tick *tick,
		fc_arena *arena, fc_factors *factors, fc_palm_result *result)
{
	fc_palm_work w = {.target = target,.options = options,.tick = tick,.factors = factors,.arena = arena,.k = target->k,.d = target->d};
	size_t		used = arena->used;
	fc_status	status = start(&w, options);

	*result = (fc_palm_result) {0};
	if (status == FC_OK && options->warm)
	{
		normalise_factors(factors);
		status = settle_scale(&w, &result->objective);
	}
	if (status == FC_OK && w.square > 0.0)
		status = improve(&w, options, result);
	result->relative = w.square > 0.0 ? result->objective / w.square : 0.0;
	arena->used = used;
	return status;
}

/*
 * palm.c - palm4MSA with sparse algebra throughout.
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
#include "factor/internal.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"

#define STEP_MARGIN		1.001
#define MOST_STEP_MARGIN	1024.0
#define OBJECTIVE_ROUNDING	1e-16	/* of the objective, relative to that of zero */

fc_palm_options
fc_palm_defaults(void)
{
	return (fc_palm_options) {.sweeps = 300,.tolerance = 1e-6,.pursuit = true};
}

static size_t
widest_between(const fc_factors *factors)
{
	size_t		width = 0;

	for (size_t q = 1; q < factors->count; q++)
		width = larger(width, factors->factor[q].plain.rows);
	return width;
}

/* ---- memory ---- */

/* Entries of a line up to FC_SHORT_LIST are listed; others take a dense matrix. */
static bool
is_listed(const fc_constraint *constraint)
{
	return constraint->kind == FC_LINES && constraint->per_row <= FC_SHORT_LIST && constraint->per_column <= FC_SHORT_LIST;
}

static bool
is_dense(const fc_constraint *constraint)
{
	return constraint->kind != FC_SUPPORT && !is_listed(constraint);
}

/* The greatest of what factors held to such a constraint need. */
static size_t
most_cells(const fc_factors *factors)
{
	size_t		cells = 0;

	for (size_t q = 0; q < factors->count; q++)
		if (is_dense(&factors->constraint[q]))
			cells = larger(cells, factors->factor[q].plain.rows * factors->factor[q].plain.columns);
	return cells;
}

static size_t
most_entries(const fc_factors *factors)
{
	size_t		entries = 0;

	for (size_t q = 0; q < factors->count; q++)
		entries = larger(entries, factors->factor[q].plain.capacity);
	return entries;
}

/* Numbers in the panels of the largest matrix between two factors: y, h or their product with one. */
static size_t
panels_size(const fc_factors *factors)
{
	size_t		inner = widest_between(factors);
	size_t		columns = larger(inner, factors->factor[0].plain.rows);

	return inner * ((columns + FC_TILE_COLUMNS - 1) / FC_TILE_COLUMNS * FC_TILE_COLUMNS);
}

size_t
fc_palm_worksize(const fc_factors *factors)
{
	size_t		side = fc_factors_longest(factors);
	size_t		cells = most_cells(factors);
	size_t		size = sizeof(double) * (cells + most_entries(factors) + 3 * panels_size(factors) +
										 2 * side * FC_TILE_COLUMNS + 2 * side) + (side + 2) * sizeof(uint32_t) + 10 * 64;

	for (size_t q = 0; q < factors->count; q++)
	{
		const fc_sparse *s = &factors->factor[q].plain;
		size_t		lines = s->rows + s->columns;

		size += fc_sparse_worksize(s->rows, s->columns, s->capacity) + lines * sizeof(double) + 2 * 64;
		size += 2 * lines * sizeof(uint32_t) + 2 * s->capacity * sizeof(fc_item) + 6 * 64;
	}
	return size + fc_palm_ends_worksize(factors) + fc_largest_worksize(side, side, FC_SHORT_LIST) +
		(cells > 0 ? fc_constraint_worksize(cells, 1) : 0);
}

static void
take_vectors(fc_palm_work *w)
{
	size_t		side = fc_factors_longest(w->factors);

	for (int i = 0; i < 2; i++)
	{
		w->tile[i] = FC_TAKE(w->arena, side * FC_TILE_COLUMNS, double);
		w->vector[i] = FC_TAKE(w->arena, side, double);
	}
	w->scratch = FC_TAKE(w->arena, side + 2, uint32_t);
	for (size_t q = 0; q < w->factors->count; q++)
	{
		w->left[q] = FC_TAKE(w->arena, w->factors->factor[q].plain.rows, double);
		w->right[q] = FC_TAKE(w->arena, w->factors->factor[q].plain.columns, double);
	}
}

static void
take_schedules(fc_palm_work *w, size_t q)
{
	const fc_sparse *s = &w->factors->factor[q].plain;

	for (int i = 0; i < 2; i++)
	{
		fc_schedule *schedule = &w->schedule[i][q];
		size_t		rows = i == 0 ? s->rows : s->columns;

		schedule->row = FC_TAKE(w->arena, rows, uint32_t);
		schedule->length = FC_TAKE(w->arena, rows, uint32_t);
		schedule->item = FC_TAKE(w->arena, s->capacity, fc_item);
	}
}

static void
take_work(fc_palm_work *w)
{
	const fc_factors *factors = w->factors;
	size_t		side = fc_factors_longest(factors);

	w->panel = widest_between(factors) * FC_TILE_COLUMNS;
	w->step = FC_TAKE(w->arena, most_cells(factors), double);
	w->stepped = FC_TAKE(w->arena, most_entries(factors), double);
	w->y = FC_TAKE(w->arena, panels_size(factors), double);
	w->h = FC_TAKE(w->arena, panels_size(factors), double);
	w->product = FC_TAKE(w->arena, panels_size(factors), double);
	take_vectors(w);
	for (size_t q = 0; q < factors->count; q++)
	{
		const fc_sparse *s = &factors->factor[q].plain;

		take_schedules(w, q);
		fc_sparse_take(w->arena, s->rows, s->columns, s->capacity, &w->saved[q]);
	}
	fc_largest_take(w->arena, side, side, FC_SHORT_LIST, &w->largest);
}

/* ---- objective and scale ---- */

/* Sums over columns first ..: ||U - lambda V||^2, <U - lambda V, V>, ||V||^2, all weighted. */
static void
residual_tile(fc_palm_work *w, size_t first, size_t count, double sums[3])
{
	const double *columns = fc_palm_product_columns(w, first, count);

	for (size_t j = 0; j < w->k; j++)
	{
		const double *v = columns + j * FC_TILE_COLUMNS;
		const double *u = w->target->u + j * w->d + first;
		double		part[3] = {0};
		double		weight = w->target->weight != NULL ? w->target->weight[j] : 1.0;

		for (size_t i = 0; i < count; i++)
		{
			double		rest = u[i] - w->factors->lambda * v[i];

			part[0] += rest * rest;
			part[1] += rest * v[i];
			part[2] += v[i] * v[i];
		}
		for (int i = 0; i < 3; i++)
			sums[i] += weight * part[i];
	}
}

/* The best lambda for these factors and the objective with it. */
static void
set_optimal_scale(fc_palm_work *w, double *objective)
{
	double		sums[3] = {0};

	for (size_t first = 0; first < w->d; first += FC_TILE_COLUMNS)
	{
		fc_check();
		residual_tile(w, first, smaller(FC_TILE_COLUMNS, w->d - first), sums);
	}
	*objective = sums[0];
	if (sums[2] > 0.0)
	{
		w->factors->lambda += sums[1] / sums[2];
		*objective = fmax(sums[0] - sums[1] * sums[1] / sums[2], 0.0);
	}
}

/* ---- one factor ---- */

/* D, as far as the constraint wants it; *along = <S_q, D>. */
static void
gradient_step(fc_palm_work *w, size_t q, double c, double *along)
{
	const fc_sparse *s = &w->factors->factor[q].plain;
	const fc_constraint *constraint = &w->factors->constraint[q];
	bool		listed = is_listed(constraint);

	fc_largest_start(&w->largest, s->rows, s->columns, listed ? constraint->per_row : 0, listed ? constraint->per_column : 0);
	*along = 0.0;
	for (size_t first = 0; first < s->columns; first += FC_TILE_COLUMNS)
	{
		fc_check();
		fc_palm_step(w, q, c, first, smaller(FC_TILE_COLUMNS, s->columns - first), along);
	}
}

/* The plain factor alone <- P(D); its norm before scaling. */
static void
project_step(fc_palm_work *w, size_t q, double *norm)
{
	const fc_constraint *constraint = &w->factors->constraint[q];
	fc_sparse  *s = &w->factors->factor[q].plain;

	if (is_dense(constraint))
	{
		fc_constraint_project(constraint, w->step, w->arena, s, norm);
		return;
	}
	if (is_listed(constraint))
		fc_largest_gather(&w->largest, s);
	else
	{
		memcpy(w->factors->factor[q].transposed.value, w->stepped, s->nonzeros * sizeof(double));
		fc_sparse_transpose(&w->factors->factor[q].transposed, s);
	}
	*norm = fc_sparse_norm(s);
	if (*norm > 0.0)
		fc_sparse_scale(s, 1.0 / *norm);
}

/* The factor before this sweep, or its support with the values of the step. */
static void
put_back(fc_palm_work *w, size_t q, bool stepped)
{
	fc_sparse_pair *s = &w->factors->factor[q];
	double		norm;

	fc_sparse_copy(&w->saved[q], &s->plain);
	if (stepped)
		fc_sparse_pair_changed(s);
	if (!stepped)
		return;
	memcpy(s->transposed.value, w->stepped, s->plain.nonzeros * sizeof(double));
	fc_sparse_transpose(&s->transposed, &s->plain);
	norm = fc_sparse_norm(&s->plain);
	if (norm > 0.0)
		fc_sparse_scale(&s->plain, 1.0 / norm);
}

/* held: the objective may not rise. */
static void
update_factor(fc_palm_work *w, size_t q, bool held)
{
	double		lambda = w->factors->lambda;
	double		left = fc_palm_squared_norm(w, q, true);
	double		c = w->margin * lambda * lambda * left * fc_palm_squared_norm(w, q, false);
	double		along;
	double		norm;

	if (!(c > 0.0))				/* another factor is zero: this one has no say */
		return;
	gradient_step(w, q, c, &along);
	project_step(w, q, &norm);
	if ((!(norm > 0.0) || (held && norm < along)))
		put_back(w, q, norm > 0.0);
	fc_palm_changed(w, q);
}

/* ---- what grows from the right ---- */

/* y and h with factor q. */
static fc_status
grow(fc_palm_work *w, size_t q)
{
	const fc_sparse *s = &w->factors->factor[q].plain;
	double	   *swap = w->y;

	for (size_t first = 0; first < w->k; first += FC_TILE_COLUMNS)
	{
		fc_check();
		fc_palm_multiply_y(w, q, first, smaller(FC_TILE_COLUMNS, w->k - first));
	}
	w->y = w->product;
	w->product = swap;
	for (size_t first = 0; q + 1 < w->factors->count && first < s->columns; first += FC_TILE_COLUMNS)
	{
		fc_check();
		fc_palm_multiply_h(w, q, first);
	}
	for (size_t first = 0; first < s->rows; first += FC_TILE_COLUMNS)
	{
		fc_check();
		fc_palm_grow_h(w, q, first, smaller(FC_TILE_COLUMNS, s->rows - first));
	}
	return FC_OK;
}

static fc_status
sweep(fc_palm_work *w, bool held)
{
	for (size_t q = w->factors->count; q-- > 0;)
	{
		fc_status	status = FC_OK;

		if (fc_palm_pursued(w, q))
			fc_palm_pursue_end(w, q);
		else
			update_factor(w, q, held);
		if (status == FC_OK && q > 0)
			status = grow(w, q);
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
	double	   *square;
	size_t		done = 0;

	take_work(w);
	w->margin = STEP_MARGIN;
	square = w->left[0];		/* until the power iterations start */
	for (size_t j = 0; j < w->k; j++)
	{
		square[j] = 0.0;
		fc_check_every(&done, w->d);
		for (size_t i = 0; i < w->d; i++)
			square[j] += w->target->u[j * w->d + i] * w->target->u[j * w->d + i];
		square[j] *= w->target->weight != NULL ? w->target->weight[j] : 1.0;
		w->square += square[j];
	}
	if (!options->warm && isfinite(w->square))
		fc_factors_start_rows(w->factors, square);
	fc_palm_start_vectors(w, options->seed);
	for (size_t q = 0; q < w->factors->count; q++)
		fc_palm_changed(w, q);
	if (!isfinite(w->square))
		return FC_EVALUE;
	return FC_OK;
}

/* Unit factors, the scale in lambda. */
static void
normalise_factors(fc_palm_work *w)
{
	for (size_t q = 0; q < w->factors->count; q++)
	{
		double		norm = fc_sparse_norm(&w->factors->factor[q].plain);

		if (!(norm > 0.0))
			continue;
		fc_sparse_scale(&w->factors->factor[q].plain, 1.0 / norm);
		fc_palm_changed(w, q);
		w->factors->lambda *= norm;
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
		fc_palm_changed(w, q);
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
		fc_status	status = FC_OK;

		remember(w);
		if (status == FC_OK)
			status = sweep(w, held);
		if (status == FC_OK)
			set_optimal_scale(w, &objective);
		if (status != FC_OK)
			return status;
		if (known && objective > result->objective + OBJECTIVE_ROUNDING * w->square)
		{
			restore(w);
			if (status != FC_OK)
				return status;
			w->margin *= held ? 2.0 : 1.0;
			held = true;
			result->converged = w->margin > MOST_STEP_MARGIN;
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
fc_palm(const fc_target *target, const fc_palm_options *options,
		fc_arena *arena, fc_factors *factors, fc_palm_result *result)
{
	fc_palm_work w = {.target = target,.options = options,.factors = factors,.arena = arena,.k = target->k,.d = target->d};
	fc_mark		used = fc_arena_mark(arena);
	fc_status	status = start(&w, options);

	*result = (fc_palm_result) {0};
	if (status == FC_OK && options->warm)
	{
		normalise_factors(&w);
		if (status == FC_OK)
			set_optimal_scale(&w, &result->objective);
	}
	if (status == FC_OK && w.square > 0.0)
		status = improve(&w, options, result);
	result->relative = w.square > 0.0 ? result->objective / w.square : 0.0;
	fc_arena_release(arena, used);
	return status;
}

/*
 * palm.c - palm4MSA with sparse algebra throughout. It lowers the objective
 *     || W^(1/2) (U - lambda S_1 S_2 .. S_Q) ||_F^2
 * for a k x d matrix U and the diagonal matrix W of the weights of its rows.
 * The factors S_q are sparse and have unit Frobenius norm; lambda is the scale
 * of the product.
 *
 * A sweep updates S_q for q = Q .. 1. Let L = S_1 .. S_(q-1) and R = S_(q+1)
 * .. S_Q. Y = U R' and H = R R' are extended by one factor after each update.
 * P keeps the largest entries of each row and column, and scales the result to
 * unit norm.
 *     X = L (S_q H)              k x columns of S_q, in tiles of columns
 *     G = L' W (lambda X - Y)    gradient for S_q, divided by 2 lambda
 *     S_q <- P(S_q - (lambda / c) G),
 *     c = 1.001 lambda^2 ||W^(1/2) L||_2^2 ||R||_2^2
 * No product of two dense matrices appears: each tile of 32 columns passes
 * through the sparse factors of L, forward and back, in cache. A sweep costs
 * about Q^2 nonzeros(S_q) min(k, d) multiply-adds.
 *
 * A simple condition ensures that the objective does not rise. Let D = S_q -
 * (lambda / c) * G. As c bounds the curvature, replacing S_q by any S of unit
 * norm with ||S - D|| <= ||S_q - D|| does not raise the objective. P may
 * violate this condition; the projection of D on the old support always meets
 * it. The objective is computed after every sweep, and a sweep that raised it
 * is undone. After the first such sweep, the old support is used wherever P
 * violates the condition. After each further such sweep, c is doubled, because
 * the norms in it are estimates.
 *
 * The norms come from power iterations: ||W^(1/2) L||_2^2 = lambda_max(L' W L)
 * and ||R||_2^2 = lambda_max(R R'). An iteration multiplies only a vector by
 * sparse factors. It starts from the vector with which it ended in the last
 * sweep.
 *
 * The first factor is solved row by row, the last factor column by column;
 * both are called lines. With the other factors fixed, the columns s of S_Q (R
 * = I) are separate problems with one Gram matrix. For a column u of U,
 *     min_s || W^(1/2) (u - L s) ||^2 = .. - 2 s' b + s' G s,
 *     G = L' W L, b = L' W u.
 * The rows of S_1 (L = I) are such problems with G = R R' and b = R u, where u
 * is a row of U. Each line becomes the best of orthogonal matching pursuit
 * (omp.c), least squares on its old support, and the old line, so that the
 * objective does not rise. Gradient steps change a support slowly; pursuit
 * replaces it in one step.
 */
#include "factor/internal.h"

#include "base/rng.h"

/*
 * Factor on the Lipschitz constant of a gradient step; above 1, the objective
 * falls (Le Magoarou and Gribonval 2016).
 */
#define STEP_MARGIN	1.001

/*
 * Maximum of the factor on the Lipschitz constant. The sweeps end if the
 * objective still rises with this factor. A guess.
 */
#define MAX_STEP_MARGIN	1024.0

/*
 * Number of power steps of the first estimate of a norm. With fewer steps, the
 * norm is underestimated, and sweeps must be repeated. A guess.
 */
#define POWER_STEPS	40

/*
 * Number of power steps of later estimates of a norm, which start from the
 * previous vector. Halving or doubling it changes neither the error nor the
 * time (bench/palm.c, bench/tuned.py).
 */
#define WARM_POWER_STEPS	8

/* Relative change of the norm that ends the power steps. A guess. */
#define POWER_TOLERANCE	1e-4

/*
 * Maximum number of entries per line (row of the first factor, column of the
 * last one) for pursuit. Pursuit comes closer to the target than gradient
 * steps, but takes time cubic in this number. A guess.
 */
#define MAX_PURSUED_ENTRIES	64

/* Rounding error of the objective, relative to ||W^(1/2) U||^2. */
#define OBJECTIVE_ROUNDING	1e-16

fc_palm_options
fc_palm_defaults(void)
{
	return (fc_palm_options)
	{
		.sweeps = 300,.tolerance = 1e-6,.pursuit = true
	};
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

/*
 * Returns true if rows and columns keep few enough entries for lists
 * (FC_SHORT_LIST). Otherwise the projection needs a dense matrix.
 */
static bool
is_listed(const fc_constraint *constraint)
{
	return larger(constraint->per_row, constraint->per_column) <= FC_SHORT_LIST;
}

/*
 * Returns the number of values (rows * columns) of the largest factor that
 * needs a dense matrix, or 0 if there is no such factor.
 */
static size_t
max_cells(const fc_factors *factors)
{
	size_t		cells = 0;

	for (size_t q = 0; q < factors->count; q++)
		if (!is_listed(&factors->constraint[q]))
			cells = larger(cells, factors->factor[q].plain.rows *
						   factors->factor[q].plain.columns);
	return cells;
}

/*
 * Returns the number of values in the panels of the largest intermediate
 * matrix: y, h, or the product of a factor and one of them.
 */
static size_t
panels_size(const fc_factors *factors)
{
	size_t		inner = widest_between(factors);
	size_t		columns = larger(inner, factors->factor[0].plain.rows);

	return inner * ((columns + FC_TILE_COLUMNS - 1) / FC_TILE_COLUMNS *
					FC_TILE_COLUMNS);
}

static void
take_work(fc_palm_work *w)
{
	const fc_factors *factors = w->factors;
	size_t		side = fc_factors_longest(factors);
	size_t		entries = 0;

	for (size_t q = 0; q < factors->count; q++)
	{
		const fc_sparse *s = &factors->factor[q].plain;

		entries = larger(entries, s->capacity);
		w->left[q] = FC_TAKE(w->arena, s->rows, double);
		w->right[q] = FC_TAKE(w->arena, s->columns, double);
		fc_sparse_take(w->arena, s->rows, s->columns, s->capacity,
					   &w->saved[q]);
	}
	w->panel = widest_between(factors) * FC_TILE_COLUMNS;
	w->step = FC_TAKE(w->arena, max_cells(factors), double);
	w->stepped = FC_TAKE(w->arena, entries, double);
	w->y = FC_TAKE(w->arena, panels_size(factors), double);
	w->h = FC_TAKE(w->arena, panels_size(factors), double);
	w->product = FC_TAKE(w->arena, panels_size(factors), double);
	for (int i = 0; i < 2; i++)
	{
		w->tile[i] = FC_TAKE(w->arena, side * FC_TILE_COLUMNS, double);
		w->vector[i] = FC_TAKE(w->arena, side, double);
	}
	fc_largest_take(w->arena, side, side, &w->largest);
}

/* ---- objective and scale ---- */

/*
 * Adds the weighted sums ||U - lambda V||^2, <U - lambda V, V> and ||V||^2
 * over columns first .. first + count - 1 to sums[0 .. 2].
 */
static void
residual_tile(fc_palm_work *w, size_t first, size_t count, double sums[3])
{
	const double *columns = fc_palm_product_columns(w, first, count);

	for (size_t j = 0; j < w->k; j++)
	{
		const double *v = columns + j * FC_TILE_COLUMNS;
		const double *u = w->target->u + j * w->d + first;
		double		partial[3] = {0};
		double		weight = (w->target->weight != NULL ? w->target->weight[j]
							  : 1.0);

		for (size_t i = 0; i < count; i++)
		{
			double		rest = u[i] - w->factors->lambda * v[i];

			partial[0] += rest * rest;
			partial[1] += rest * v[i];
			partial[2] += v[i] * v[i];
		}
		for (int i = 0; i < 3; i++)
			sums[i] += weight * partial[i];
	}
}

/*
 * Sets lambda of the factors to the value with the lowest objective. Returns
 * the objective.
 */
static double
set_optimal_scale(fc_palm_work *w)
{
	double		sums[3] = {0};

	for (size_t first = 0; first < w->d; first += FC_TILE_COLUMNS)
	{
		fc_check();
		residual_tile(w, first, smaller(FC_TILE_COLUMNS, w->d - first), sums);
	}
	if (!(sums[2] > 0.0))
		return sums[0];
	w->factors->lambda += sums[1] / sums[2];
	return fmax(sums[0] - sums[1] * sums[1] / sums[2], 0.0);
}

/* ---- norms ---- */

/*
 * Replaces the vector in w->vector[0] by its product with factor l, or with
 * the transpose of factor l if `transposed`.
 */
static void
vector_through(fc_palm_work *w, size_t l, bool transposed)
{
	const fc_sparse_pair *s = &w->factors->factor[l];
	double	   *swap = w->vector[0];

	fc_sparse_vector(transposed ? &s->transposed : &s->plain, w->vector[0],
					 w->vector[1]);
	w->vector[0] = w->vector[1];
	w->vector[1] = swap;
}

/*
 * Replaces x (n values) by M x / ||M x|| and returns ||M x||, a power step. M
 * belongs to factor q: L' W L if of_left is set, else R R' (see the top of
 * this file).
 */
static double
power_step(fc_palm_work *w, size_t q, bool of_left, size_t n, double *x)
{
	double		norm;

	memcpy(w->vector[0], x, n * sizeof(double));
	for (size_t l = q; of_left && l-- > 0;)
		vector_through(w, l, false);
	for (size_t j = 0; of_left && w->target->weight != NULL && j < w->k; j++)
		w->vector[0][j] *= w->target->weight[j];
	for (size_t l = of_left ? 0 : q + 1; l < (of_left ? q : w->factors->count);
		 l++)
		vector_through(w, l, true);
	for (size_t l = w->factors->count; !of_left && l-- > q + 1;)
		vector_through(w, l, false);
	norm = sqrt(fc_sum_of_squares(w->vector[0], n));
	for (size_t i = 0; i < n && norm > 0.0; i++)
		x[i] = w->vector[0][i] / norm;
	return norm;
}

static double
greatest_weight(const fc_palm_work *w)
{
	double		greatest = 0.0;

	for (size_t j = 0; w->target->weight != NULL && j < w->k; j++)
		greatest = fmax(greatest, w->target->weight[j]);
	return w->target->weight != NULL ? greatest : 1.0;
}

/*
 * Estimates ||W^(1/2) L||_2^2 of factor q if of_left, else ||R||_2^2. Starts
 * from the vector of the last estimate.
 */
static double
squared_norm(fc_palm_work *w, size_t q, bool of_left)
{
	const fc_sparse *s = &w->factors->factor[q].plain;
	double		norm = 0.0;
	int			steps = w->power_warm ? WARM_POWER_STEPS : POWER_STEPS;

	if (of_left && q == 0)
		return greatest_weight(w);
	if (!of_left && q + 1 == w->factors->count)
		return 1.0;
	for (int i = 0; i < steps; i++)
	{
		double		last = norm;

		fc_check();
		norm = power_step(w, q, of_left, of_left ? s->rows : s->columns,
						  of_left ? w->left[q] : w->right[q]);
		if (norm - last <= POWER_TOLERANCE * norm)
			break;
	}
	return norm;
}

/* ---- one factor ---- */

/*
 * Computes D = S_q - (lambda / c) G, the gradient step of factor q before its
 * projection. Stores the largest entries of D in w->largest, or all of D in
 * w->step if the constraint keeps too many entries for lists. Sets *along to
 * the inner product <S_q, D>.
 */
static void
gradient_step(fc_palm_work *w, size_t q, double c, double *along)
{
	const fc_sparse *s = &w->factors->factor[q].plain;
	const fc_constraint *constraint = &w->factors->constraint[q];
	bool		listed = is_listed(constraint);

	fc_largest_start(&w->largest, s->rows, s->columns,
					 listed ? constraint->per_row : 0,
					 listed ? constraint->per_column : 0);
	*along = 0.0;
	for (size_t first = 0; first < s->columns; first += FC_TILE_COLUMNS)
	{
		fc_check();
		fc_palm_step(w, q, c, first,
					 smaller(FC_TILE_COLUMNS, s->columns - first), along);
	}
}

/*
 * Scales a matrix to unit norm. Returns its norm before, 0 for a zero matrix.
 */
static double
normalise(fc_sparse *s)
{
	double		norm = fc_sparse_norm(s);

	if (norm > 0.0)
		fc_sparse_scale(s, 1.0 / norm);
	return norm;
}

/*
 * Updates factor q by a projected gradient step. If `monotone`, the objective
 * must not rise: a projection that may raise it is replaced by the step on the
 * old support.
 */
static void
update_factor(fc_palm_work *w, size_t q, bool monotone)
{
	fc_sparse_pair *s = &w->factors->factor[q];
	double		lambda = w->factors->lambda;
	double		left = squared_norm(w, q, true);
	double		c = (w->margin * lambda * lambda * left * squared_norm(w, q, false));
	double		along;
	double		norm;

	if (!(c > 0.0))				/* another factor is zero, so that the product
								 * is 0 for any S_q */
		return;
	gradient_step(w, q, c, &along);
	if (w->largest.per_row > 0)
		fc_largest_gather(&w->largest, &s->plain);
	else
		fc_constraint_project(&w->factors->constraint[q], w->step, w->arena,
							  &s->plain);
	norm = normalise(&s->plain);
	if (!(norm > 0.0) || (monotone && norm < along))
	{
		fc_sparse_copy(&w->saved[q], &s->plain);
		if (norm > 0.0)
		{
			fc_sparse_transpose(&s->plain, &s->transposed);
			memcpy(s->transposed.value, w->stepped,
				   s->plain.nonzeros * sizeof(double));
			fc_sparse_transpose(&s->transposed, &s->plain);
			normalise(&s->plain);
		}
	}
	fc_sparse_pair_changed(&w->factors->factor[q]);
}

/* ---- the first and the last factor, solved line by line ---- */

/*
 * Returns the maximum number of entries of a line, which is a row of the first
 * factor or a column of the last one. The constraint limits the lines, and
 * also the columns or rows across them. The maximum is the limit of the line,
 * plus the mean number of entries per line that the other limit can add.
 */
static size_t
entries_of(const fc_factors *factors, size_t q)
{
	const fc_constraint *constraint = &factors->constraint[q];
	bool		last = q + 1 == factors->count;
	size_t		own = last ? constraint->per_column : constraint->per_row;
	size_t		other = last ? constraint->per_row : constraint->per_column;
	const fc_sparse *s = &factors->factor[q].plain;

	/* number of columns of the last factor, or rows of the first */
	size_t		lines = last ? s->columns : s->rows;
	size_t		length = last ? s->rows : s->columns;

	return smaller(length, own + other * length / lines);
}

/* Returns true if factor q is solved line by line. */
static bool
is_pursued(const fc_palm_work *w, size_t q)
{
	return w->options->pursuit && !w->options->published &&
		w->factors->count > 1 &&
		(q == 0 || q + 1 == w->factors->count) &&
		entries_of(w->factors, q) <= MAX_PURSUED_ENTRIES;
}

/*
 * Solves for factor q line by line, and stores the lines as the rows of `out`.
 * The objective of each line is not above the objective of the same line in
 * `old`.
 */
static void
solve_lines(fc_palm_work *w, size_t q, const double *gram, const fc_sparse *old,
			fc_sparse *out)
{
	fc_omp		pursuit;
	size_t		entries = entries_of(w->factors, q);
	double	   *side = FC_TAKE(w->arena, FC_TILE_COLUMNS * old->columns, double);

	fc_omp_start(gram, old->columns, w->arena, &pursuit);
	out->nonzeros = 0;
	for (size_t first = 0; first < old->rows; first += FC_TILE_COLUMNS)
	{
		size_t		count = smaller(FC_TILE_COLUMNS, old->rows - first);

		fc_palm_right_sides(w, q, old->columns, first, count, side);
		for (size_t i = 0; i < count; i++)
		{
			size_t		start = old->row_start[first + i];
			fc_line		line = {
				old->column + start,
				old->value + start,
				w->factors->lambda,
				old->row_start[first + i + 1] - start
			};

			fc_check();
			out->row_start[first + i] = (uint32_t) out->nonzeros;
			out->nonzeros += fc_omp_line(&pursuit, side + i * old->columns,
										 entries, &line,
										 out->capacity - out->nonzeros,
										 out->column + out->nonzeros,
										 out->value + out->nonzeros);
		}
	}
	out->row_start[old->rows] = (uint32_t) out->nonzeros;
}

/* Solves the first or last factor line by line by matching pursuit. */
static void
pursue_end(fc_palm_work *w, size_t q)
{
	fc_sparse_pair *s = &w->factors->factor[q];
	fc_sparse  *old = q == 0 ? &s->plain : &s->transposed;
	fc_mark		used = fc_arena_mark(w->arena);
	size_t		n = old->columns;
	double	   *gram = FC_TAKE(w->arena, n * n, double);
	fc_sparse	out;
	double		norm;

	fc_sparse_take(w->arena, old->rows, n, old->capacity, &out);
	for (size_t first = 0; first < n; first += FC_TILE_COLUMNS)
	{
		fc_check();
		fc_palm_gram(w, q, n, first, smaller(FC_TILE_COLUMNS, n - first), gram);
	}
	solve_lines(w, q, gram, old, &out);
	norm = normalise(&out);
	if (norm > 0.0)
	{
		w->factors->lambda = norm;
		fc_sparse_copy(&out, old);
		if (q > 0)
			fc_sparse_transpose(old, &s->plain);
		fc_sparse_pair_changed(&w->factors->factor[q]);
	}
	fc_arena_release(w->arena, used);
}

/* ---- products grown from the right ---- */

/* Multiplies by factor q: y becomes S_q y, and h becomes S_q h S_q'. */
static void
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
	for (size_t first = 0; q + 1 < w->factors->count && first < s->columns;
		 first += FC_TILE_COLUMNS)
	{
		fc_check();
		fc_palm_multiply_h(w, q, first);
	}
	for (size_t first = 0; first < s->rows; first += FC_TILE_COLUMNS)
	{
		fc_check();
		fc_palm_grow_h(w, q, first, smaller(FC_TILE_COLUMNS, s->rows - first));
	}
}

static void
sweep(fc_palm_work *w, bool monotone)
{
	for (size_t q = w->factors->count; q-- > 0;)
	{
		if (is_pursued(w, q))
			pursue_end(w, q);
		else
			update_factor(w, q, monotone);
		if (q > 0)
			grow(w, q);
	}
	w->power_warm = true;
}

/* ---- entry point ---- */

static void
start(fc_palm_work *w, const fc_palm_options *options)
{
	double	   *square;
	fc_rng		rng;

	take_work(w);
	w->margin = STEP_MARGIN;
	square = w->left[0];		/* scratch until the power iterations start */
	for (size_t j = 0; j < w->k; j++)
	{
		square[j] = 0.0;
		fc_check();
		for (size_t i = 0; i < w->d; i++)
			square[j] += w->target->u[j * w->d + i] *
				w->target->u[j * w->d + i];
		square[j] *= w->target->weight != NULL ? w->target->weight[j] : 1.0;
		w->square += square[j];
	}
	if (!options->warm && !options->published)
		fc_factors_start_rows(w->factors, square);
	rng = fc_rng_start(options->seed, 0);
	for (size_t q = 0; q < w->factors->count; q++)
	{
		const fc_sparse *s = &w->factors->factor[q].plain;

		for (size_t i = 0; i < s->rows; i++)
			w->left[q][i] = fc_rng_normal(&rng);
		for (size_t i = 0; i < s->columns; i++)
			w->right[q][i] = fc_rng_normal(&rng);
	}
	for (size_t q = 0; q < w->factors->count; q++)
		fc_sparse_pair_changed(&w->factors->factor[q]);
}

/*
 * Runs the sweeps. Unless options->published, a sweep that raises the
 * objective is undone. After such a sweep, no update of a factor may raise the
 * objective. If it rises all the same, the steps become smaller.
 */
static void
improve(fc_palm_work *w, const fc_palm_options *options, fc_palm_result *result)
{
	bool		known = options->warm;	/* true once result->objective is
										 * valid */
	bool		monotone = false;

	for (int i = 0; i < options->sweeps && !result->converged;)
	{
		double		objective;
		double		fallen;

		for (size_t q = 0; q < w->factors->count; q++)
			fc_sparse_copy(&w->factors->factor[q].plain, &w->saved[q]);
		w->saved_lambda = w->factors->lambda;
		sweep(w, monotone);
		objective = set_optimal_scale(w);
		if (known && !options->published &&
			objective > result->objective + OBJECTIVE_ROUNDING * w->square)
		{
			for (size_t q = 0; q < w->factors->count; q++)
			{
				fc_sparse_copy(&w->saved[q], &w->factors->factor[q].plain);
				fc_sparse_pair_changed(&w->factors->factor[q]);
			}
			w->factors->lambda = w->saved_lambda;
			w->margin *= monotone ? 2.0 : 1.0;
			monotone = true;
			result->converged = w->margin > MAX_STEP_MARGIN;
			continue;
		}
		fallen = result->objective - objective;
		result->converged = known && (options->published ? fabs(fallen)
									  : fallen) <=
			options->tolerance * result->objective;
		result->objective = objective;
		result->sweeps = ++i;
		known = true;
		if (options->progress != NULL)
			options->progress(options->progress_ctx, i, objective / w->square,
							  fc_factors_nonzeros(w->factors));
	}
}

void
fc_palm(const fc_target *target, const fc_palm_options *options,
		fc_arena *arena, fc_factors *factors, fc_palm_result *result)
{
	fc_palm_work w = {
		.target = target,
		.options = options,
		.factors = factors,
		.arena = arena,
		.k = target->k,
		.d = target->d
	};
	fc_mark		used = fc_arena_mark(arena);

	*result = (fc_palm_result)
	{
		0
	};
	start(&w, options);
	if (options->warm)
	{
		/* Scale the factors to unit norm; lambda receives their scale. */
		for (size_t q = 0; q < w.factors->count; q++)
		{
			double		norm = normalise(&w.factors->factor[q].plain);

			if (!(norm > 0.0))
				continue;
			fc_sparse_pair_changed(&w.factors->factor[q]);
			w.factors->lambda *= norm;
		}
		result->objective = set_optimal_scale(&w);
	}
	if (w.square > 0.0)
	{
		improve(&w, options, result);
		result->relative = result->objective / w.square;
	}
	fc_arena_release(arena, used);
}

/*
 * factorize.c - approximates an operator's centroids by a product with fewer
 * parameters: runs the methods, measures their errors, and chooses a method
 * for auto; see factorize.h
 */
#include "factor/factorize.h"

#include "base/rng.h"
#include "factor/internal.h"
#include "operator/fit.h"

/*
 * Minimum weight of a centroid, relative to the mean weight. With a smaller
 * one, the centroids of small clusters can move far and attract rows of other
 * clusters. A guess.
 */
#define MIN_WEIGHT	0.01

/*
 * If centring lowers the sum of the squares of the centroids to at most this
 * fraction, what remains counts as rounding error, and is set to 0.
 */
#define SQUARES_ROUNDING	1e-24

/* Normal quantile of a one-sided confidence of 95 %. */
#define CONFIDENCE_SIGMAS	1.645

typedef struct fc_factorize_work
{
	const fc_operator *op;
	const fc_factorize_options *options;
	fc_arena   *arena;
	fc_target	target;
	double	   *offset;			/* offset of the result, d values */
	fc_scratch	scratch;
	size_t		factors;
	size_t		budget;
} fc_factorize_work;

fc_factorize_options
fc_factorize_defaults(void)
{
	fc_factorize_options options = {
		.centered = true,
		.palm = fc_palm_defaults()
	};

	options.palm.sweeps = 100;
	return options;
}

fc_factorize_options
fc_factorize_published(void)
{
	fc_factorize_options options = {
		.sparsity = 2,
		.palm = fc_palm_defaults()
	};

	options.palm.published = true;
	return options;
}

/* ---- budgets ---- */

static size_t
factors_of(const fc_operator *op, const fc_factorize_options *options)
{
	size_t		usual = fc_factor_count(op->k, op->d);

	if (options->factors > 0)
		return (size_t) options->factors;
	return options->method == FC_METHOD_PALM4MSA && !options->palm.published
		? smaller(usual, FC_PALM_FACTORS)
		: usual;
}

static size_t
budget_of(const fc_operator *op, const fc_factorize_options *options)
{
	size_t		cells = op->k * op->d;

	if (options->budget > 0.0)
		return options->budget < (double) cells ? (size_t) options->budget
			: cells;
	return smaller(cells,
				   fc_sparsity_budget(op->k, op->d, factors_of(op, options),
									  options->sparsity > 0
									  ? (size_t) options->sparsity
									  : FC_DEFAULT_SPARSITY));
}

size_t
fc_min_budget(size_t k, size_t d, size_t count, size_t sparsity)
{
	fc_constraint constraint[FC_MAX_FACTORS];
	size_t		sum = 0;

	fc_line_constraints(k, d, count, sparsity, 1.0, constraint);
	for (size_t q = 0; q < count; q++)
		sum += fc_constraint_capacity(&constraint[q], fc_factor_rows(k, d, q),
									  fc_factor_columns(k, d, count, q));
	return sum;
}

size_t
fc_factorize_min_budget(const fc_operator *op,
						const fc_factorize_options *options)
{
	if (options->method == FC_METHOD_SVD)
		return op->k + op->d;
	if (options->method == FC_METHOD_PALM4MSA ||
		options->method == FC_METHOD_HIERARCHICAL)
		return fc_min_budget(op->k, op->d, factors_of(op, options),
							 (size_t) options->sparsity);
	return 1;
}

/* ---- work ---- */

/*
 * Measured costs in multiply-adds, for estimates of the time
 * (bench/endless.py).
 *
 * TRIALS_COST is the total cost of the trials of method auto, in the units of
 * DENSE_SWEEP. LABELS_COST is the cost of labelling one row by the products of
 * all these trials, in units of k d.
 */
#define TRIALS_COST	160.0
#define LABELS_COST	10.0

double
fc_factorize_operations(const fc_operator *op,
						const fc_factorize_options *options)
{
	double		cells = (double) op->k * (double) op->d;
	double		inner = (double) smaller(op->k, op->d);
	double		factors = (double) factors_of(op, options);
	double		sweeps = options->palm.sweeps;
	double		trials;

	switch (options->method)
	{
		case FC_METHOD_PALM4MSA:
			return 2.0 * sweeps * factors * (double) budget_of(op, options) *
				inner;
		case FC_METHOD_HIERARCHICAL:
			return DENSE_SWEEP * sweeps * cells * inner;
		case FC_METHOD_AUTO:
			trials = cells * factors <= FC_AUTO_WORK ? TRIALS_COST
				: TRIALS_COST / 10.0;
			return cells *
				(LABELS_COST * (double) options->sample->n + trials * inner);
		default:
			return cells * inner;
	}
}

/* ---- the target matrix ---- */

/*
 * Sets w->offset to the weighted mean of the centroids if centered, else to
 * the operator's own offset.
 */
static void
set_offset(const fc_factorize_work *w, const double *u)
{
	double		sum = fc_weight_sum(w->target.weight, w->op->k);

	memset(w->offset, 0, w->op->d * sizeof(double));
	if (!w->options->centered && w->op->offset != NULL)
		memcpy(w->offset, w->op->offset, w->op->d * sizeof(double));
	if (!w->options->centered)
		return;
	for (size_t j = 0; j < w->op->k; j++)
	{
		fc_check();
		for (size_t i = 0; i < w->op->d; i++)
			w->offset[i] += w->target.weight[j] / sum * u[j * w->op->d + i];
	}
}

/*
 * Subtracts the offset from the matrix u. Sets u to 0 if only rounding errors
 * remain, as when all centroids are equal.
 */
static void
centre(const fc_factorize_work *w, double *u)
{
	size_t		d = w->op->d;
	double		before = 0.0;
	double		after = 0.0;

	for (size_t j = 0; j < w->op->k; j++)
	{
		double	   *row = u + j * d;

		fc_check();
		for (size_t i = 0; i < d; i++)
		{
			before += row[i] * row[i];
			row[i] -= w->offset[i];
			after += row[i] * row[i];
		}
	}
	if (after <= SQUARES_ROUNDING * before)
		memset(u, 0, w->op->k * d * sizeof(double));
}

/* Sets the other fields of w from op, options and arena. */
static void
prepare(fc_factorize_work *w)
{
	const fc_operator *op = w->op;
	double	   *u = FC_TAKE(w->arena, op->k * op->d, double);
	double	   *weight = FC_TAKE(w->arena, op->k, double);
	size_t		factors;
	double		mean = 0.0;

	w->factors = factors_of(op, w->options);
	w->budget = budget_of(op, w->options);
	/* a butterfly has up to one factor more than fc_factor_count */
	factors = larger(larger(w->factors, 2), fc_factor_count(op->k, op->d) + 1);
	w->offset = FC_TAKE(w->arena, op->d, double);
	w->scratch = fc_take_scratch(w->arena,
								 larger(fc_operator_scratch(op),
										fc_operator_scratch_bound(op->k, op->d,
																  factors)));
	for (size_t j = 0; j < op->k; j++)
	{
		fc_check();
		fc_operator_row(op, j, w->scratch, u + j * op->d);
	}

	/*
	 * Weights are divided by their mean, and lower weights are raised to
	 * MIN_WEIGHT. All are 1 if their sum is 0, and in the published
	 * algorithm.
	 */
	for (size_t j = 0; j < op->k; j++)
		mean += op->weights[j] / (double) op->k;
	for (size_t j = 0; j < op->k; j++)
		weight[j] = (mean > 0.0 && !w->options->palm.published
					 ? fmax(op->weights[j] / mean, MIN_WEIGHT)
					 : 1.0);
	w->target = (fc_target)
	{
		u, weight, op->k, op->d
	};
	set_offset(w, u);
	centre(w, u);
}

/* ---- factors as stored ---- */

/* Stores a factor times scale. A factor without zeros is stored dense. */
static void
store_factor(const fc_sparse *s, double scale, fc_arena *arena, fc_factor *out)
{
	bool		full = s->nonzeros == s->rows * s->columns;
	float	   *values = FC_TAKE(arena, s->nonzeros, float);
	uint32_t   *column = FC_TAKE(arena, s->nonzeros, uint32_t);
	uint32_t   *row_start = FC_TAKE(arena, s->rows + 1, uint32_t);

	for (size_t p = 0; p < s->nonzeros; p++)
		values[p] = (float) (s->value[p] * scale);
	memcpy(column, s->column, s->nonzeros * sizeof(uint32_t));
	memcpy(row_start, s->row_start, (s->rows + 1) * sizeof(uint32_t));
	*out = (fc_factor)
	{
		.rows = s->rows,
			.columns = s->columns,
			.nonzeros = s->nonzeros,
			.values = values,
			.row_start = full ? NULL : row_start,
			.column = full ? NULL : column
	};
}

void
fc_store_factors(const fc_factors *factors, fc_arena *arena, fc_operator *out)
{
	double		scale = log(fabs(factors->lambda));

	for (size_t q = 0; q < factors->count; q++)
		scale += log(fc_sparse_norm(&factors->factor[q].plain));
	scale = isfinite(scale) ? exp(scale / (double) factors->count) : 0.0;
	out->factors = factors->count;
	for (size_t q = 0; q < factors->count; q++)
	{
		double		norm = fc_sparse_norm(&factors->factor[q].plain);
		double		own = norm > 0.0 ? scale / norm : 0.0;

		store_factor(&factors->factor[q].plain,
					 q == 0 && factors->lambda < 0.0 ? -own : own, arena,
					 &out->factor[q]);
	}
}

double
fc_relative_error(const fc_target *target, const fc_operator *op,
				  fc_scratch scratch)
{
	double		rest = 0.0;
	double		whole = 0.0;

	FC_ASSERT(scratch.count >= fc_operator_scratch(op));
	for (size_t j = 0; j < target->k; j++)
	{
		const float *v = fc_operator_product_row(op, j, scratch.floats);
		const double *u = target->u + j * target->d;
		double		weight = target->weight != NULL ? target->weight[j] : 1.0;

		fc_check();
		for (size_t i = 0; i < target->d; i++)
		{
			rest += weight * (u[i] - (double) v[i]) * (u[i] - (double) v[i]);
			whole += weight * u[i] * u[i];
		}
	}
	return whole > 0.0 ? sqrt(rest / whole) : 0.0;
}

/* ---- methods ---- */

static bool
all_zero(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (x[i] != 0.0)
			return false;
	return true;
}

static void
run_sparse(const fc_factorize_work *w, fc_method method, size_t budget,
		   fc_operator *out)
{
	fc_factors	factors = {0};
	fc_palm_result result;
	fc_constraint constraint[FC_MAX_FACTORS];

	if (method == FC_METHOD_PRUNE)
		fc_prune(&w->target, budget, w->arena, &factors);
	else if (method == FC_METHOD_BUTTERFLY)
		fc_butterfly(&w->target, w->arena, &factors);
	else
	{
		if (w->options->palm.published && !(w->options->budget > 0.0))
			fc_published_constraints(w->op->k, w->op->d, w->factors,
									 (size_t) w->options->sparsity, constraint);
		else
			fc_line_constraints(w->op->k, w->op->d, w->factors,
								(size_t) w->options->sparsity,
								w->options->budget > 0.0 ? (double) budget
								: 0.0,
								constraint);
		fc_factors_take(w->arena, w->op->k, w->op->d, w->factors, constraint,
						&factors);
		if (method == FC_METHOD_HIERARCHICAL)
			fc_hierarchical(&w->target, &w->options->palm, w->arena, &factors,
							&result);
		else
			fc_palm(&w->target, &w->options->palm, w->arena, &factors, &result);
	}
	fc_store_factors(&factors, w->arena, out);
}

static void
run_svd(const fc_factorize_work *w, size_t budget, fc_operator *out)
{
	size_t		rank = fc_rank_within(w->op->k, w->op->d, budget);
	float	   *left = FC_TAKE(w->arena, w->op->k * rank, float);
	float	   *right = FC_TAKE(w->arena, rank * w->op->d, float);
	double		relative;

	out->factors = 2;
	out->factor[0] = fc_dense_factor(w->op->k, rank, left);
	out->factor[1] = fc_dense_factor(rank, w->op->d, right);
	fc_lowrank(&w->target, rank, w->options->palm.seed, w->arena, left, right,
			   &relative);
}

static void
run_dense(const fc_factorize_work *w, fc_operator *out)
{
	size_t		cells = w->op->k * w->op->d;
	float	   *values = FC_TAKE(w->arena, cells, float);

	fc_narrow(w->target.u, cells, values);
	out->factors = 1;
	out->factor[0] = fc_dense_factor(w->op->k, w->op->d, values);
}

static void
run(const fc_factorize_work *w, fc_method method, size_t budget,
	fc_operator *out)
{
	out->k = w->op->k;
	out->d = w->op->d;
	out->weights = w->op->weights;
	out->offset = all_zero(w->offset, w->op->d) ? NULL : w->offset;
	if (method == FC_METHOD_SVD)
		run_svd(w, budget, out);
	else if (method == FC_METHOD_DENSE)
		run_dense(w, out);
	else
		run_sparse(w, method, budget, out);
	fc_operator_measure(out, w->scratch, FC_TAKE(w->arena, w->op->k, float));
}

/* ---- the record of errors ---- */

static void
put_record(const fc_factorize_work *w, fc_method method, double agreement,
		   fc_operator *out, fc_factorization *from)
{
	*from = (fc_factorization)
	{
		.method = (uint32_t) method,
			.agreement = agreement
	};
	from->relative_error = fc_relative_error(&w->target, out, w->scratch);
	from->svd_error = fc_equal_svd(&w->target, fc_operator_values(out),
								   w->options->palm.seed, w->arena);

	/*
	 * the product of method svd is this SVD itself: the two errors differ
	 * only by rounding
	 */
	if (method == FC_METHOD_SVD)
		from->svd_error = from->relative_error;
	out->factorization = from;
}

/* ---- labels of a sample ---- */

/*
 * Rows of a sample, FC_JUDGED_ROWS or fewer, in random order, with their
 * labels and squared distances by the unfactored operator.
 */
typedef struct judged_rows
{
	fc_weighted_rows rows;
	int32_t    *labels;
	double	   *squares;
} judged_rows;

static void
fit_rows(const fc_operator *op, const fc_weighted_rows *rows, fc_arena *arena,
		 int32_t *labels, double *squares)
{
	fc_mark		used = fc_arena_mark(arena);

	fc_fit_rows(op, rows, fc_take_scratch(arena, fc_fit_scratch(op)),
				FC_TAKE(arena, FC_FIT_BATCH * op->d, double), labels, squares);
	fc_arena_release(arena, used);
}

/* Draws `count` rows without replacement (Fisher & Yates). */
static fc_weighted_rows
draw_rows(const fc_weighted_rows *rows, size_t count, uint64_t seed,
		  fc_arena *arena)
{
	fc_rng		rng = fc_rng_start(seed, 2);
	float	   *values = FC_TAKE(arena, count * rows->d, float);
	double	   *weights = FC_TAKE(arena, count, double);
	uint32_t   *row = FC_TAKE(arena, rows->n, uint32_t);
	fc_weighted_rows drawn = *rows;

	for (size_t i = 0; i < rows->n; i++)
		row[i] = (uint32_t) i;
	for (size_t i = 0; i < count; i++)
	{
		size_t		other = i + fc_rng_below(&rng, rows->n - i);
		uint32_t	chosen = row[other];

		row[other] = row[i];
		weights[i] = rows->weights[chosen];
		fc_check();
		memcpy(values + i * rows->d, rows->values + chosen * rows->d,
			   rows->d * sizeof(float));
	}
	drawn.n = count;
	drawn.values = values;
	drawn.weights = weights;
	return drawn;
}

static void
label_sample(const fc_operator *exact, const fc_weighted_rows *rows,
			 uint64_t seed, fc_arena *arena, judged_rows *judged)
{
	size_t		count = smaller(rows->n, FC_JUDGED_ROWS);

	*judged = (judged_rows)
	{
		draw_rows(rows, count, seed, arena),
			FC_TAKE(arena, count, int32_t),
			FC_TAKE(arena, count, double)
	};
	fit_rows(exact, &judged->rows, arena, judged->labels, judged->squares);
}

static double
lowest_share(double share, double n)
{
	double		z2 = CONFIDENCE_SIGMAS * CONFIDENCE_SIGMAS;

	return (share + z2 / (2.0 * n) -
			CONFIDENCE_SIGMAS *
			sqrt(share * (1.0 - share) / n + z2 / (4.0 * n * n))) /
		(1.0 + z2 / n);
}

/*
 * Assigns `count` judged rows, starting with row `first`, with the factored
 * operator `fast`, and compares their labels and squared distances with the
 * unfactored operator's. Stores the result in *trial.
 */
static void
judge(const judged_rows *judged, const fc_operator *fast, size_t first,
	  size_t count, fc_arena *arena, fc_factorize_trial *trial)
{
	fc_mark		used = fc_arena_mark(arena);
	int32_t    *labels = FC_TAKE(arena, count, int32_t);
	double	   *squared = FC_TAKE(arena, count, double);
	fc_weighted_rows rows = judged->rows;
	double		weight = 0.0;
	double		squares = 0.0;
	double		same = 0.0;
	double		sse = 0.0;
	double		exact_sse = 0.0;

	rows.n = count;
	rows.weights += first;
	rows.values += first * rows.d;
	fit_rows(fast, &rows, arena, labels, squared);
	for (size_t i = 0; i < count; i++)
	{
		double		own = rows.weights[i];

		sse += own * squared[i];
		exact_sse += own * judged->squares[first + i];
		weight += own;
		squares += own * own;
		same += labels[i] == judged->labels[first + i] ? own : 0.0;
	}
	fc_arena_release(arena, used);
	trial->rows = count;
	trial->agreement = trial->lowest = trial->sse_ratio = 0.0;
	if (!(weight > 0.0))
		return;
	trial->agreement = fmin(same / weight, 1.0);
	trial->sse_ratio = exact_sse > 0.0 ? sse / exact_sse
		: sse > 0.0 ? INFINITY
		: 1.0;
	trial->lowest = lowest_share(trial->agreement, weight * weight / squares);
}

/* ---- candidates ---- */

typedef struct tried_method
{
	fc_method	method;
	int			factors;		/* number of factors of palm4MSA */
	size_t		budget;
	fc_factorize_trial trial;
	double		cost;
} tried_method;

/*
 * Returns the sparsity of the longer of two factors. This factor receives half
 * of the budget, or more if the shorter factor has no zeros.
 */
static size_t
balanced_sparsity(size_t k, size_t d, size_t budget)
{
	size_t		inner = smaller(k, d);
	size_t		rest = budget > inner * inner ? budget - inner * inner : 0;

	return larger(1, larger(budget / 2, rest) / (k + d));
}

/* Returns the options that produce a candidate. */
static fc_factorize_options
candidate_options(const fc_operator *op, const fc_factorize_options *options,
				  const tried_method *c)
{
	fc_factorize_options own = *options;

	own.method = c->method;
	own.factors = c->factors;
	if (options->sparsity == 0 || options->budget > 0.0)
		own.budget = (double) c->budget;
	if (options->sparsity == 0 && c->factors == 2)
		own.sparsity = (int) balanced_sparsity(op->k, op->d, c->budget);
	return own;
}

/* Maximum number of methods, or numbers of factors, tried at a budget. */
#define MAX_CANDIDATES	5

/*
 * Lists the methods to try at a budget: methods whose minimum budget does not
 * exceed it, and which are not too expensive for this k and d. Returns their
 * number.
 */
static size_t
list_candidates(const fc_operator *op, const fc_factorize_options *options,
				size_t budget, tried_method *list)
{
	int			usual = (int) factors_of(op, options);
	size_t		size = op->k * op->d * (size_t) usual;
	tried_method all[MAX_CANDIDATES] = {
		{.method = FC_METHOD_PRUNE},
		{.method = FC_METHOD_SVD},
		{.method = FC_METHOD_PALM4MSA,.factors = usual},
		{.method = FC_METHOD_HIERARCHICAL,.factors = usual},
		{.method = FC_METHOD_PALM4MSA,.factors = 2}
	};
	size_t		count = 0;

	for (size_t i = 0; i < MAX_CANDIDATES; i++)
	{
		fc_factorize_options own;
		bool		possible = i < 4 || (options->factors == 0 && usual != 2);

		all[i].budget = budget;
		own = candidate_options(op, options, &all[i]);
		possible = possible && fc_factorize_min_budget(op, &own) <= budget;
		if (i >= 2 && possible && own.sparsity == 0)
			possible = fc_sparsity_budget(op->k, op->d, (size_t) own.factors,
										  2) <= budget;
		if (i >= 2 && possible)
			possible = size <= (all[i].method == FC_METHOD_HIERARCHICAL
								? FC_AUTO_HIERARCHICAL
								: FC_AUTO_WORK);
		if (possible)
			list[count++] = all[i];
	}
	return count;
}

/* ---- trials ---- */

static double
cost_of(const fc_operator *op)
{
	double		sum = 0.0;

	for (size_t q = 0; q < op->factors; q++)
		sum += (double) op->factor[q].nonzeros *
			(op->factor[q].row_start != NULL ? FC_SPARSE_COST : 1.0);
	return sum;
}

/*
 * Expands the product to a dense codebook, which gives equal labels and is
 * faster for batches of rows.
 */
static void
flatten(const fc_factorize_work *w, const fc_operator *op, fc_operator *flat)
{
	size_t		cells = op->k * op->d;
	float	   *values = FC_TAKE(w->arena, cells, float);
	float	   *half_norms = FC_TAKE(w->arena, op->k, float);
	fc_operator product = *op;

	fc_operator_expand(&product, w->scratch, values);
	*flat = (fc_operator)
	{
		.k = op->k,
			.d = op->d,
			.offset = op->offset,
			.weights = op->weights,
			.factors = 1
	};
	flat->factor[0] = fc_dense_factor(op->k, op->d, values);
	fc_operator_measure(flat, w->scratch, half_norms);
}

/*
 * Returns a copy of *w with the options of a candidate, which are stored in
 * *own.
 */
static fc_factorize_work
candidate_work(const fc_factorize_work *w, const tried_method *c,
			   fc_factorize_options *own)
{
	fc_factorize_work result = *w;

	*own = candidate_options(w->op, w->options, c);
	result.options = own;
	result.factors = factors_of(w->op, own);
	return result;
}

/*
 * Factors a candidate and judges it on the first half of the sample, or on the
 * second half if held_out. The product itself is discarded.
 */
static void
try_candidate(const fc_factorize_work *w, const judged_rows *sample,
			  bool held_out, tried_method *c)
{
	fc_factorize_options own;
	fc_factorize_work tried = candidate_work(w, c, &own);
	size_t		half = sample->rows.n / 2;
	fc_mark		used = fc_arena_mark(w->arena);
	fc_operator out = {0};
	fc_operator flat;

	run(&tried, c->method, c->budget, &out);
	flatten(w, &out, &flat);
	judge(sample, &flat, held_out ? half : 0,
		  held_out ? sample->rows.n - half : half, w->arena, &c->trial);
	c->cost = cost_of(&out);
	c->trial.method = c->method;
	c->trial.values = fc_operator_values(&out);
	fc_arena_release(w->arena, used);
}

/*
 * Returns true if the SSE of the product is within the limit of the options.
 */
static bool
close_enough(const fc_factorize_work *w, const tried_method *c)
{
	return !(w->options->sse_ratio > 0.0) ||
		c->trial.sse_ratio <= w->options->sse_ratio;
}

static bool
better(const fc_factorize_work *w, const tried_method *a, const tried_method *b)
{
	if (close_enough(w, a) != close_enough(w, b))
		return close_enough(w, a);
	if (fabs(a->trial.agreement - b->trial.agreement) > FC_AUTO_TIE)
		return a->trial.agreement > b->trial.agreement;
	return a->cost < b->cost;
}

/*
 * Finds the best method at one budget. If it keeps enough labels, it is judged
 * again on the half of the sample that had no part in the choice.
 */
static void
best_within(const fc_factorize_work *w, const judged_rows *sample,
			size_t budget, tried_method *best)
{
	tried_method list[MAX_CANDIDATES];
	size_t		count = list_candidates(w->op, w->options, budget, list);

	for (size_t i = 0; i < count; i++)
	{
		try_candidate(w, sample, false, &list[i]);
		if (i == 0 || better(w, &list[i], best))
			*best = list[i];
	}
	if (best->trial.agreement >= FC_AUTO_LABELS)
		try_candidate(w, sample, true, best);
	if (w->options->tried != NULL)
		w->options->tried(w->options->tried_ctx, &best->trial);
}

static void
search(const fc_factorize_work *w, const judged_rows *sample,
	   tried_method *best)
{
	size_t		cells = w->op->k * w->op->d;

	if (w->options->budget > 0.0 || w->options->sparsity > 0)
	{
		best_within(w, sample, w->budget, best);
		return;
	}
	for (size_t divisor = 16; divisor > 1; divisor /= 2)
	{
		best_within(w, sample, larger(cells / divisor, 1), best);
		if (close_enough(w, best) && best->trial.lowest >= FC_AUTO_LABELS &&
			best->cost < (double) cells)
			return;
	}
	*best = (tried_method)
	{
		.method = FC_METHOD_DENSE,
			.budget = cells,
			.trial =
		{
			.agreement = 1.0
		},
			.cost = (double) cells
	};
}

static void
run_auto(const fc_factorize_work *whole, fc_operator *out,
		 fc_factorization *from)
{
	fc_factorize_options limited = *whole->options;
	fc_factorize_work w = *whole;
	fc_factorize_options own;
	fc_factorize_work chosen;
	fc_operator exact = {0};
	judged_rows sample;
	tried_method best = {.method = FC_METHOD_DENSE};

	limited.palm.sweeps = limited.palm.sweeps < FC_AUTO_SWEEPS
		? limited.palm.sweeps
		: FC_AUTO_SWEEPS;
	w.options = &limited;
	run(&w, FC_METHOD_DENSE, 0, &exact);
	label_sample(&exact, limited.sample, limited.palm.seed, w.arena, &sample);
	search(&w, &sample, &best);
	chosen = candidate_work(&w, &best, &own);
	run(&chosen, best.method, best.budget, out);
	put_record(&w, best.method, best.trial.agreement, out, from);
}

/* ---- entry point ---- */

void
fc_factorize(const fc_operator *op, const fc_factorize_options *options,
			 fc_arena *arena, fc_operator *out, fc_factorization *from)
{
	fc_factorize_work w = {.op = op,.options = options,.arena = arena};

	prepare(&w);
	if (options->method == FC_METHOD_AUTO)
	{
		run_auto(&w, out, from);
		return;
	}
	run(&w, options->method, w.budget, out);
	put_record(&w, options->method, -1.0, out, from);
}

/*
 * test_factorize.c - all factorisation methods: their errors, budgets,
 * recorded figures and stored bytes
 */
#include "factor/factorize.h"
#include "factor/internal.h"
#include "operator/codebook.h"
#include "unit.h"

typedef struct codebook
{
	fc_operator op;
	float	   *values;
	double	   *weights;
	double	   *offset;
	float	   *half_norms;
} codebook;

/*
 * Makes k centroids about `distance` apart along `rank` directions; offset:
 * relative to an offset.
 */
static codebook
make_codebook(size_t k, size_t d, size_t rank, double distance, bool offset, uint64_t seed)
{
	codebook	c = {0};
	fc_rng		rng = fc_rng_start(seed, 0);
	double	   *axes = unit_alloc(rank * d, sizeof(double));
	fc_scratch	scratch;

	c.values = unit_alloc(k * d, sizeof(float));
	c.weights = unit_alloc(k, sizeof(double));
	c.offset = unit_alloc(d, sizeof(double));
	c.half_norms = unit_alloc(k, sizeof(float));
	for (size_t i = 0; i < rank * d; i++)
		axes[i] = fc_rng_normal(&rng) / sqrt((double) d);
	for (size_t j = 0; j < k; j++)
	{
		c.weights[j] = j % 7 == 3 ? 0 : 1 + (double) (j % 5);
		for (size_t r = 0; r < rank; r++)
		{
			double		along = distance * fc_rng_normal(&rng);

			for (size_t i = 0; i < d; i++)
				c.values[j * d + i] += (float) (along * axes[r * d + i]);
		}
	}
	for (size_t i = 0; i < d; i++)
		c.offset[i] = 3 + (double) i;
	c.op = (fc_operator) {.k = k,.d = d,.weights = c.weights,.half_norms = c.half_norms,.factors = 1};
	c.op.offset = offset ? c.offset : NULL;
	c.op.factor[0] = (fc_factor) {.rows = k,.columns = d,.nonzeros = k * d,.values = c.values};
	scratch = unit_scratch(fc_operator_scratch(&c.op));
	fc_operator_measure(&c.op, scratch, c.half_norms);
	return c;
}

/*
 * Returns ||rows(a) - rows(b)|| / ||rows(a) - their weighted mean||, with the
 * weights that factorize uses.
 */
static double
distance_of_rows(const fc_operator *a, const fc_operator *b)
{
	fc_scratch	scratch = unit_scratch(fc_operator_scratch(a) + fc_operator_scratch(b));
	double	   *row[2] = {unit_alloc(a->d, sizeof(double)), unit_alloc(a->d, sizeof(double))};
	double	   *mean = unit_alloc(a->d, sizeof(double));
	double		sums[3] = {0};
	double		average = 0;

	for (size_t j = 0; j < a->k; j++)
		average += a->weights[j] / (double) a->k;
	for (int pass = 0; pass < 2; pass++)
		for (size_t j = 0; j < a->k; j++)
		{
			double		w = fmax(a->weights[j] / average, 0.01);

			fc_operator_row(a, j, scratch, row[0]);
			fc_operator_row(b, j, scratch, row[1]);
			sums[2] += pass == 0 ? w : 0;
			for (size_t i = 0; i < a->d; i++)
				if (pass == 0)
					mean[i] += w * row[0][i];
				else
				{
					double		centred = row[0][i] - mean[i] / sums[2];

					sums[0] += w * (row[0][i] - row[1][i]) * (row[0][i] - row[1][i]);
					sums[1] += w * centred * centred;
				}
		}
	return sums[1] > 0 ? sqrt(sums[0] / sums[1]) : sqrt(sums[0]);
}

/*
 * The written bytes pass the checks and give the same operator and record; a
 * damaged record is refused.
 */
static void
check_bytes(const fc_operator *op)
{
	size_t		size = fc_operator_size(op);
	fc_operator_header *header = unit_alloc(size, 1);
	fc_operator view;
	fc_factorization *record;

	fc_operator_write(op, header);
	CHECK(fc_operator_check(header, size) == FC_OK, "bytes are not valid");
	fc_operator_view(header, &view);
	CHECK(view.factorization != NULL && memcmp(view.factorization, op->factorization, sizeof(fc_factorization)) == 0, "the record changes when stored");
	CHECK(view.factors == op->factors && view.factor[0].nonzeros == op->factor[0].nonzeros, "the factors change when stored");
	record = (fc_factorization *) view.factorization;
	record->relative_error = NAN;
	CHECK(fc_operator_check(header, size) == FC_EFORMAT, "a damaged record passed");
}

/*
 * Returns n rows of weight 1 around the centroids of c in turn, with noise of
 * `deviation` in every dimension.
 */
static codebook
rows_about(const codebook *c, size_t n, double deviation, uint64_t seed)
{
	codebook	rows = make_codebook(n, c->op.d, 1, 0, false, 1);
	fc_rng		rng = fc_rng_start(seed, 7);

	for (size_t i = 0; i < n; i++)
	{
		rows.weights[i] = 1;
		for (size_t l = 0; l < c->op.d; l++)
			rows.values[i * c->op.d + l] = (float) ((double) c->values[i % c->op.k * c->op.d + l] + deviation * fc_rng_normal(&rng));
	}
	return rows;
}

/*
 * A method reports its true error, to 1e-4, keeps its budget, and writes valid
 * bytes.
 */
static void
run(const codebook *c, fc_method method, double budget, const char *name)
{
	fc_factorize_options options = fc_factorize_defaults();
	fc_operator out = {0};
	fc_factorization from;
	codebook	sample = rows_about(c, 500, 0.5, 2);
	fc_weighted_rows rows = fc_rows_of_codebook(&sample.op);
	double		distance;
	size_t		values = 0;

	options.method = method;
	options.sample = &rows;
	options.budget = budget;
	options.palm.sweeps = 20;
	fc_factorize(&c->op, &options, unit_work(), &out, &from);
	distance = distance_of_rows(&c->op, &out);
	CHECK(fabs(distance - from.relative_error) < 1e-4 * distance + 1e-5, "%s: error %g is reported as %g", name, distance, from.relative_error);
	CHECK(distance <= 1 + 1e-6, "%s: error %g", name, distance);
	CHECK(method == FC_METHOD_AUTO || from.method == (uint32_t) method, "%s: method %u", name, from.method);
	for (size_t q = 0; q < out.factors; q++)
		values += out.factor[q].nonzeros;
	CHECK(budget <= 0 || method == FC_METHOD_BUTTERFLY || (double) values <= fmax(budget, (double) (c->op.k + c->op.d)),
		  "%s: %zu values, budget %g", name, values, budget);
	check_bytes(&out);
}

/* All methods work for all shapes of matrices. */
static void
test_methods(void)
{
	static const size_t shapes[][2] = {{1, 1}, {1, 6}, {6, 1}, {12, 30}, {30, 12}, {25, 25}};
	static const fc_method methods[] = {FC_METHOD_PALM4MSA, FC_METHOD_HIERARCHICAL, FC_METHOD_BUTTERFLY, FC_METHOD_SVD, FC_METHOD_PRUNE, FC_METHOD_AUTO};
	static const char *const names[] = {"palm4msa", "hierarchical", "butterfly", "svd", "prune", "auto"};

	for (size_t t = 0; t < sizeof(shapes) / sizeof(*shapes); t++)
		for (size_t m = 0; m < sizeof(methods) / sizeof(*methods); m++)
		{
			codebook	c = make_codebook(shapes[t][0], shapes[t][1], 3, 10, t % 2, t);

			run(&c, methods[m], 0, names[m]);
			if (t >= 3)
				run(&c, methods[m], 250, names[m]);
		}
}

/*
 * Centroids in 3 dimensions around a far offset: auto finds that an SVD is the
 * cheapest method, and an SVD of enough values is exact.
 */
static void
test_low_rank(void)
{
	codebook	c = make_codebook(60, 80, 3, 10, true, 4);
	codebook	sample = rows_about(&c, 6000, 0.1, 4);
	fc_weighted_rows rows = fc_rows_of_codebook(&sample.op);
	fc_factorize_options options = fc_factorize_defaults();
	fc_arena	arena;
	fc_operator out = {0};
	fc_factorization from;

	options.method = FC_METHOD_AUTO;
	options.sample = &rows;
	arena = unit_arena();
	fc_factorize(&c.op, &options, &arena, &out, &from);
	CHECK(from.method == FC_METHOD_SVD && from.agreement >= 0.98, "auto chose %u with agreement %g", from.method, from.agreement);
	CHECK(from.relative_error < 0.3, "relative error %g", from.relative_error);
	options.method = FC_METHOD_SVD;
	options.budget = 4 * (60 + 80);
	fc_factorize(&c.op, &options, &arena, &out, &from);
	CHECK(from.relative_error < 1e-4 && from.svd_error < 1e-3, "rank 4 of 4: errors %g, %g", from.relative_error, from.svd_error);
}

/* Returns the share of rows to which two operators give the same label. */
static double
share_alike(const fc_operator *a, const fc_operator *b, const codebook *rows)
{
	fc_scratch	scratch = unit_scratch(fc_operator_scratch(a) + fc_operator_scratch(b));
	double	   *x = unit_alloc(a->d, sizeof(double));
	size_t		same = 0;

	for (size_t r = 0; r < rows->op.k; r++)
	{
		for (size_t i = 0; i < a->d; i++)
			x[i] = rows->values[r * a->d + i];
		same += fc_operator_assign(a, x, scratch) == fc_operator_assign(b, x, scratch);
	}
	return (double) same / (double) rows->op.k;
}

typedef struct trial_log
{
	int			count;
	fc_factorize_trial last;
} trial_log;

static void
log_trial(void *ctx, const fc_factorize_trial *trial)
{
	trial_log  *log = ctx;

	log->count++;
	log->last = *trial;
}

/*
 * Factorises c by auto with a sample. Returns its record, and in *kept the
 * share of labels of other rows that do not change.
 */
static fc_factorization
auto_on(const codebook *c, const codebook *sample, const codebook *others, double budget, trial_log *log, double *kept)
{
	fc_factorize_options options = fc_factorize_defaults();
	fc_operator out = {0};
	fc_factorization from;

	fc_weighted_rows rows = fc_rows_of_codebook(&sample->op);

	options.method = FC_METHOD_AUTO;
	options.budget = budget;
	options.sample = &rows;
	options.tried = log_trial;
	options.tried_ctx = log;
	*log = (trial_log) {0};
	fc_factorize(&c->op, &options, unit_work(), &out, &from);
	*kept = share_alike(&c->op, &out, others);
	return from;
}

/*
 * Makes twenty clusters in 60 dimensions, mostly along four directions, that
 * overlap for rows of deviation 1.
 */
static codebook
overlapping_codebook(uint64_t seed)
{
	codebook	c = make_codebook(20, 60, 4, 2, false, seed + 20);
	fc_rng		rng = fc_rng_start(seed, 3);

	for (size_t i = 0; i < 20 * 60; i++)
		c.values[i] += (float) (0.05 * fc_rng_normal(&rng));
	fc_operator_measure(&c.op, unit_scratch(fc_operator_scratch(&c.op)), c.half_norms);
	return c;
}

/*
 * Overlapping clusters: the sample's estimate of unchanged labels holds for
 * other rows of the same law, 98 % if a product is chosen. If no product
 * reaches it, or the sample is too small, the operator stays dense.
 */
static void
test_sample_of_rows(void)
{
	for (uint64_t seed = 0; seed < 3; seed++)
	{
		codebook	c = overlapping_codebook(seed);
		codebook	sample = rows_about(&c, 6000, 1.0, seed);
		codebook	others = rows_about(&c, 8000, 1.0, seed + 50);
		codebook	few = rows_about(&c, 100, 1.0, seed);
		fc_factorization from;
		trial_log	log;
		double		kept;

		from = auto_on(&c, &sample, &others, 0, &log, &kept);
		CHECK(kept >= 0.98, "seed %d: %g of the labels stay, promised %g", (int) seed, kept, from.agreement);
		CHECK(log.last.rows == 3000 && fabs(from.agreement - kept) < 0.01, "%zu rows held out: %g and %g", log.last.rows, from.agreement, kept);
		from = auto_on(&c, &few, &others, 0, &log, &kept);
		CHECK(from.method == FC_METHOD_DENSE && kept == 1.0 && log.count == 4, "100 rows promised %g, method %u", from.agreement, from.method);
		from = auto_on(&c, &sample, &others, 80, &log, &kept);
		CHECK(log.count == 1 && fabs(from.agreement - kept) < 0.03 && kept < 0.98, "budget 80: %g and %g", from.agreement, kept);
	}
}

/*
 * Clusters along few directions of many dimensions keep their labels with few
 * values; if distances are to be kept as well, auto uses more.
 */
static void
test_distances_kept(void)
{
	codebook	c = make_codebook(12, 40, 8, 40, false, 3);
	codebook	sample = rows_about(&c, 2000, 1.0, 4);
	fc_weighted_rows rows = fc_rows_of_codebook(&sample.op);
	double		ratios[2];

	for (int requested = 0; requested < 2; requested++)
	{
		fc_factorize_options options = fc_factorize_defaults();
		fc_operator out = {0};
		fc_factorization from;
		trial_log	log = {0};

		options.method = FC_METHOD_AUTO;
		options.sample = &rows;
		options.sse_ratio = requested ? 1.1 : 0.0;
		options.tried = log_trial;
		options.tried_ctx = &log;
		fc_factorize(&c.op, &options, unit_work(), &out, &from);
		CHECK(from.agreement >= 0.98, "auto: %g", from.agreement);
		ratios[requested] = from.method == FC_METHOD_DENSE ? 1.0 : log.last.sse_ratio;
	}
	CHECK(ratios[0] > 1.5 && ratios[1] <= 1.1, "sums of squares %g and %g times as large", ratios[0], ratios[1]);
}

/*
 * Returns element i of the r-th cosine of length n. Cosines are orthonormal,
 * and orthogonal to the constant for r >= 1.
 */
static double
cosine(size_t n, size_t r, size_t i)
{
	return sqrt(2.0 / (double) n) * cos(M_PI * ((double) i + 0.5) * (double) r / (double) n);
}

/*
 * The error of a truncated SVD is the norm of the remaining planted singular
 * values, to 1e-6, weighted or not, at every rank and for equal values.
 */
static void
test_svd_error(double decay, bool weighted)
{
	const size_t k = 40;
	const size_t d = 56;
	double	   *u = unit_alloc(k * d, sizeof(double));
	double	   *weight = unit_alloc(k, sizeof(double));
	fc_target	target = {u, weighted ? weight : NULL, k, d};
	double		sigma[39];
	double		all = 0;
	double		rest = 0;

	for (size_t r = 0; r < 39; r++)
	{
		sigma[r] = r >= 10 && r < 14 ? pow(11, -decay) : pow((double) (r + 1), -decay);
		all += sigma[r] * sigma[r];
	}
	for (size_t j = 0; j < k; j++)
	{
		weight[j] = 0.5 + (double) (j % 4);
		for (size_t r = 0; r < 39; r++)
			for (size_t i = 0; i < d; i++)
				u[j * d + i] += sigma[r] * cosine(k, r + 1, j) * cosine(d, r + 1, i) / (weighted ? sqrt(weight[j]) : 1);
	}
	rest = all;
	for (size_t rank = 0; rank < 39; rank++)
	{
		double		expected = sqrt(fmax(rest, 0) / all);

		for (size_t more = 0; more < k + d; more += k + d - 1)
		{
			double		relative = fc_equal_svd(&target, rank * (k + d) + more, 1, unit_work());

			CHECK(fabs(relative - expected) < 1e-6, "decay %g, rank %zu: error %.9f, not %.9f", decay, rank, relative, expected);
		}
		rest -= sigma[rank] * sigma[rank];
	}
}

/*
 * The record of every method contains the error of an SVD with the same number
 * of values, to 1e-6.
 */
static void
test_recorded_svd_error(fc_method method, double budget)
{
	codebook	c = make_codebook(40, 56, 1, 0, true, 1);
	fc_factorize_options options = fc_factorize_defaults();
	fc_operator out = {0};
	fc_factorization from;
	double		sums[2] = {0};

	for (size_t j = 0; j < 40; j++)
	{
		c.weights[j] = 5;
		for (size_t r = 0; r < 20; r++)
			for (size_t i = 0; i < 56; i++)
				c.values[j * 56 + i] += (float) (cosine(40, r + 1, j) * cosine(56, r + 1, i) / (double) (r + 1));
	}
	options.method = method;
	options.budget = budget;
	fc_factorize(&c.op, &options, unit_work(), &out, &from);
	for (size_t r = 0; r < 20; r++)
		sums[r >= fc_operator_values(&out) / 96] += 1 / (double) ((r + 1) * (r + 1));
	CHECK(fabs(from.svd_error - sqrt(sums[1] / (sums[0] + sums[1]))) < 1e-6, "method %d, %zu values: %.9f, not %.9f", (int) method,
		  fc_operator_values(&out), from.svd_error, sqrt(sums[1] / (sums[0] + sums[1])));
	CHECK(method != FC_METHOD_SVD || from.relative_error == from.svd_error, "svd differs from itself");
}

/*
 * Images of a few of thirty shared spots: two sparse factors represent them
 * better than an SVD or the largest pixels, and auto chooses them.
 */
static void
test_hidden_factors(void)
{
	const size_t k = 60;
	const size_t d = 256;
	codebook	c = make_codebook(k, d, 1, 0, false, 1);
	codebook	sample;
	fc_weighted_rows rows;
	fc_factorize_options options = fc_factorize_defaults();
	fc_rng		rng = fc_rng_start(5, 0);
	fc_operator out = {0};
	fc_factorization from;

	for (size_t j = 0; j < k; j++)
	{
		c.weights[j] = 1;
		for (int spot = 0; spot < 4; spot++)
		{
			size_t		place = fc_rng_below(&rng, 30);
			double		x = 1.5 + (double) (place % 6) * 2.6;
			double		y = 1.5 + (double) (place / 6) * 3.2;
			double		bright = 1 + fc_rng_uniform(&rng);

			for (size_t i = 0; i < d; i++)
				c.values[j * d + i] += (float) (bright * exp(-0.5 * (pow((double) (i % 16) - x, 2) + pow((double) (i / 16) - y, 2))));
		}
	}
	sample = rows_about(&c, 2000, 0.6, 6);
	rows = fc_rows_of_codebook(&sample.op);
	options.method = FC_METHOD_AUTO;
	options.sample = &rows;
	options.budget = 1200;
	fc_factorize(&c.op, &options, unit_work(), &out, &from);
	CHECK(from.method == FC_METHOD_PALM4MSA && out.factors == 2, "auto chose method %u with %zu factors, agreement %g", from.method, out.factors, from.agreement);
	CHECK(from.relative_error < 0.8 * from.svd_error, "errors %g, of an SVD %g", from.relative_error, from.svd_error);
}

/*
 * The number of values never exceeds a budget at or above the reported
 * minimum.
 */
static void
test_min_budget(void)
{
	static const fc_method methods[] = {FC_METHOD_PALM4MSA, FC_METHOD_HIERARCHICAL, FC_METHOD_SVD, FC_METHOD_PRUNE, FC_METHOD_AUTO};
	codebook	c = make_codebook(12, 30, 6, 10, true, 3);
	codebook	sample = rows_about(&c, 300, 0.5, 3);
	fc_weighted_rows rows = fc_rows_of_codebook(&sample.op);

	for (size_t m = 0; m < sizeof(methods) / sizeof(*methods); m++)
		for (int factors = 1; factors < 4; factors++)
		{
			fc_factorize_options options = fc_factorize_defaults();
			fc_operator out = {0};
			fc_factorization from;
			size_t		min;

			options.method = methods[m];
			options.factors = factors;
			options.sample = &rows;
			options.sparsity = factors == 3 ? 2 : 0;
			min = fc_factorize_min_budget(&c.op, &options);
			CHECK(methods[m] != FC_METHOD_SVD || min == 42, "one rank takes %zu", min);
			for (size_t budget = min; budget < 360; budget += 1 + budget / 4)
			{
				options.budget = (double) budget;
				fc_factorize(&c.op, &options, unit_work(), &out, &from);
				CHECK(fc_operator_values(&out) <= budget,
					  "method %d, %d factors: %zu values for %zu", (int) methods[m], factors, fc_operator_values(&out), budget);
			}
		}
}

/*
 * If the first dimensions or centroids are zero, as in the corners of images,
 * the others are still found.
 */
static void
test_zero_corner(size_t k, size_t d, fc_method method)
{
	codebook	c = make_codebook(k, d, 5, 4, false, 3);
	size_t		inner = k < d ? k : d;
	fc_factorize_options options = fc_factorize_defaults();
	fc_operator out = {0};
	fc_factorization from;

	for (size_t j = 0; j < k; j++)
		for (size_t i = 0; i < d; i++)
			if ((d > k ? i : j) < inner)
				c.values[j * d + i] = 0;
	fc_operator_measure(&c.op, unit_scratch(fc_operator_scratch(&c.op)), c.half_norms);
	options.method = method;
	options.centered = false;
	options.factors = 2;
	fc_factorize(&c.op, &options, unit_work(), &out, &from);
	CHECK(from.relative_error < 0.7, "method %d, %zu x %zu: %g", (int) method, k, d, from.relative_error);
}

/*
 * Sparsities and ranks within a budget, and budgets of a sparsity, are
 * consistent.
 */
static void
test_budgets(void)
{
	for (size_t s = 1; s < 6; s++)
	{
		size_t		budget = fc_sparsity_budget(30, 784, 4, s);

		CHECK(fc_sparsity_within(30, 784, 4, budget) == s, "sparsity %zu", s);
		CHECK(s == 1 || fc_sparsity_within(30, 784, 4, budget - 1) == s - 1, "sparsity below %zu", s);
	}
	CHECK(fc_sparsity_budget(4, 4, 2, 100) == 32, "the budget of full factors is wrong");
	CHECK(fc_rank_within(10, 20, 95) == 3 && fc_rank_within(10, 20, 5) == 1 && fc_rank_within(10, 20, 9999) == 10, "the rank within a budget is wrong");
}

int
main(void)
{
	test_budgets();
	test_sample_of_rows();
	test_distances_kept();
	test_low_rank();
	test_methods();
	for (int i = 0; i < 4; i++)
		test_svd_error(i / 2 == 0 ? 1.0 : 0.5, i % 2 == 1);
	test_recorded_svd_error(FC_METHOD_PALM4MSA, 500);
	test_recorded_svd_error(FC_METHOD_BUTTERFLY, 0);
	test_recorded_svd_error(FC_METHOD_PRUNE, 90);
	test_recorded_svd_error(FC_METHOD_SVD, 500);
	test_min_budget();
	test_zero_corner(10, 60, FC_METHOD_HIERARCHICAL);
	test_zero_corner(60, 10, FC_METHOD_HIERARCHICAL);
	test_zero_corner(60, 10, FC_METHOD_PALM4MSA);
	test_hidden_factors();
	return unit_finish();
}

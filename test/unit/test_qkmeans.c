/*
 * test_qkmeans.c - QK-means on rows in memory: the objective never rises and
 * belongs to the operator returned (1e-9), empty clusters are filled or split
 * from others, and the sparsity is chosen from a sample
 */
#include "factor/qkmeans.h"
#include "unit.h"

#define N	600

typedef struct table
{
	size_t		n;
	size_t		d;
	double	   *x;
} table;

static double
nearest(const fc_operator *op, const double *x, fc_scratch scratch, size_t *cluster)
{
	*cluster = fc_operator_assign(op, x, scratch);
	return fc_operator_distance(op, *cluster, x, scratch);
}

static void
scan(void *ctx, const fc_operator *op, double *sse, double *weights, double *means)
{
	table	   *t = ctx;
	fc_scratch	scratch = unit_scratch(fc_operator_scratch(op));

	*sse = 0;
	memset(weights, 0, op->k * sizeof(double));
	memset(means, 0, op->k * op->d * sizeof(double));
	for (size_t r = 0; r < t->n; r++)
	{
		size_t		j;

		*sse += nearest(op, t->x + r * t->d, scratch, &j);
		weights[j]++;
		for (size_t i = 0; i < t->d; i++)
			means[j * t->d + i] += t->x[r * t->d + i];
	}
	for (size_t j = 0; j < op->k; j++)
		for (size_t i = 0; i < t->d && weights[j] > 0; i++)
			means[j * t->d + i] /= weights[j];
}

static void
farthest(void *ctx, const fc_operator *op, size_t count, double *rows, size_t *found)
{
	table	   *t = ctx;
	fc_scratch	scratch = unit_scratch(fc_operator_scratch(op));
	double	   *distance = unit_alloc(t->n, sizeof(double));

	for (size_t r = 0; r < t->n; r++)
	{
		size_t		j;

		distance[r] = nearest(op, t->x + r * t->d, scratch, &j);
	}
	for (*found = 0; *found < count && *found < t->n; ++*found)
	{
		size_t		max = 0;

		for (size_t r = 1; r < t->n; r++)
			max = distance[r] > distance[max] ? r : max;
		memcpy(rows + *found * t->d, t->x + max * t->d, t->d * sizeof(double));
		distance[max] = -1;
	}
}

typedef struct history
{
	fc_qkmeans_step step[64];
	int			steps;
} history;

static void
keep_step(void *ctx, const fc_qkmeans_step *step, const fc_operator *op)
{
	history    *h = ctx;
	size_t		nonzeros = 0;

	for (size_t q = 0; q < op->factors; q++)
		nonzeros += op->factor[q].nonzeros;
	CHECK(nonzeros == step->nonzeros, "the operator has %zu non-zeros, the step %zu", nonzeros, step->nonzeros);
	h->step[h->steps++] = *step;
}

static table
make_table(size_t d, uint64_t seed)
{
	table		t = {.n = N,.d = d,.x = unit_alloc(N * d, sizeof(double))};
	fc_rng		rng = fc_rng_start(seed, 0);

	for (size_t r = 0; r < N; r++)
		for (size_t i = 0; i < d; i++)
			t.x[r * d + i] = 20 + 8 * sin((double) ((r % 10 + 1) * (i + 1)) * 0.37) + fc_rng_normal(&rng);
	return t;
}

/*
 * The objective never rises, a budget is kept, and objective and sizes belong
 * to the operator returned.
 */
static void
check_run(size_t k, size_t d, int sparsity, double budget, bool same_start, bool split, uint64_t seed, const char *what)
{
	table		t = make_table(d, seed);
	fc_row_source source = {.ctx = &t,.scan = scan,.sample = t.x,.sample_rows = split ? N : 0,.farthest = farthest};
	fc_qkmeans_options options = fc_qkmeans_defaults();
	history		h = {0};
	double	   *start = unit_alloc(k * d, sizeof(double));
	double	   *offset = unit_alloc(d, sizeof(double));
	double	   *weights = unit_alloc(k, sizeof(double));
	double	   *means = unit_alloc(k * d, sizeof(double));
	double		sse;
	fc_operator op;
	fc_factorization from;
	fc_arena	arena;

	for (size_t i = 0; i < d; i++)
		offset[i] = 20;
	for (size_t j = 0; j < k; j++)
		memcpy(start + j * d, t.x + (same_start ? 0 : j) * d, d * sizeof(double));
	options.sparsity = sparsity;
	options.budget = budget;
	options.log = keep_step;
	options.log_ctx = &h;
	arena = unit_arena();
	fc_qkmeans(start, offset, k, d, &source, &options, &arena, &op, &from);
	CHECK(arena.allocated <= fc_qkmeans_worksize(k, d, &options) + (split ? fc_split_worksize(N, k, d) : 0) + 100000,
		  "%s: %zu bytes of %zu", what, arena.allocated, fc_qkmeans_worksize(k, d, &options));
	for (int i = 1; i < h.steps; i++)
		CHECK(h.step[i].objective <= h.step[i - 1].objective * (1 + 1e-6) + 1e-6, "%s: iteration %d rose from %g to %g", what, i,
			  h.step[i - 1].objective, h.step[i].objective);
	for (int i = 0; i < h.steps; i++)
		CHECK(h.step[i].wcss <= h.step[i].objective, "%s: means are worse than the product", what);
	CHECK(budget <= 0 || (double) h.step[h.steps - 1].nonzeros <= budget, "%s: %zu non-zeros", what, h.step[h.steps - 1].nonzeros);
	scan(&t, &op, &sse, weights, means);
	CHECK(fabs(sse - h.step[h.steps - 1].objective) <= 1e-9 * sse,
		  "%s: the operator's objective is %g, not %g", what, sse, h.step[h.steps - 1].objective);
	CHECK(memcmp(weights, op.weights, k * sizeof(double)) == 0, "%s: sizes do not belong to the labels", what);
	if (same_start)
	{
		CHECK(h.step[0].empty > k / 2, "%zu empty clusters at the start", h.step[0].empty);
		CHECK(h.step[h.steps - 1].empty < k / 2, "%zu empty clusters at the end", h.step[h.steps - 1].empty);
		CHECK(!split || !fc_count_small(weights, k).collapsed, "%s: %zu empty clusters after a split", what, h.step[h.steps - 1].empty);
	}
}

/*
 * Makes k x d centroids that are a product of two factors with `sparsity`
 * values per line (0: no structure), and rows around them.
 */
static table
make_clusters(size_t k, size_t d, int sparsity, uint64_t seed, double *centroid)
{
	table		t = {.n = N,.d = d,.x = unit_alloc(N * d, sizeof(double))};
	fc_rng		rng = fc_rng_start(seed, 1);

	memset(centroid, 0, k * d * sizeof(double));
	for (size_t j = 0; j < k; j++)
		for (size_t i = 0; i < d; i++)
			if (sparsity == 0 || (i + d - j % d) % d < (size_t) sparsity)
				centroid[j * d + i] = 6 * fc_rng_normal(&rng);
	for (size_t r = 0; r < N; r++)
		for (size_t i = 0; i < d; i++)
			t.x[r * d + i] = centroid[r % k * d + i] + fc_rng_normal(&rng);
	return t;
}

static void
count_trial(void *ctx, const fc_trial *trial)
{
	++*(int *) ctx;
	CHECK(trial->objective >= 1 - 1e-3, "a product is better than its target: %g", trial->objective);
}

typedef struct qkmeans_choice
{
	fc_qkmeans_options options;
	double		ratio;			/* objective of the factored start / objective of the start */
	size_t		nonzeros;
	int			trials;
} qkmeans_choice;

static qkmeans_choice
choose(size_t k, size_t d, int sparsity, int factors, size_t max_bytes)
{
	qkmeans_choice c = {.options = fc_qkmeans_defaults()};
	double	   *centroid = unit_alloc(k * d, sizeof(double));
	double	   *offset = unit_alloc(d, sizeof(double));
	table		t = make_clusters(k, d, sparsity, 7, centroid);
	fc_row_source source = {.ctx = &t,.scan = scan,.farthest = farthest};
	fc_measure	dense;
	fc_trials	trials = {&dense, max_bytes, count_trial, &c.trials};
	fc_qkmeans_step step;
	fc_arena	arena = unit_arena();

	fc_measure_start(centroid, offset, k, d, &source, &arena, &dense);
	CHECK(fabs(dense.objective / (double) (N * d) - 1) < 0.1 && dense.wcss <= dense.objective && dense.scatter >= dense.wcss,
		  "measure of unit noise: %g, %g, %g", dense.objective, dense.wcss, dense.scatter);
	c.options.factors = factors;
	arena = unit_arena();
	fc_qkmeans_choose(centroid, offset, k, d, &source, &trials, &arena, &c.options);
	/* the product that ended the search equals the one that its options make */
	for (int again = 0; again < 2; again++)
	{
		fc_factors	factors_of;

		fc_qkmeans_try(centroid, offset, k, d, &source, &c.options, unit_work(), &factors_of, &step);
		CHECK(again == 0 || fc_measure_ratio(step.objective, dense.objective, dense.scatter) == c.ratio, "warm_factors, then %g", c.ratio);
		c.ratio = fc_measure_ratio(step.objective, dense.objective, dense.scatter);
		c.nonzeros = step.nonzeros;
		c.options.warm_factors = NULL;
	}
	return c;
}

/*
 * The chosen factors and sparsity fit centroids with and without structure,
 * small ones, large ones, and no memory for a trial.
 */
static void
test_choice(void)
{
	qkmeans_choice c = choose(20, 30, 3, 0, SIZE_MAX);

	CHECK(c.options.factors == 2 && c.nonzeros <= 180 && c.ratio <= FC_CLOSE_SSE_RATIO, "three values a row: %zu values, %g", c.nonzeros, c.ratio);
	c = choose(20, 30, 0, 0, SIZE_MAX);
	CHECK(c.options.factors == 2 && c.nonzeros > 180 && c.nonzeros < 600 && c.ratio <= FC_CLOSE_SSE_RATIO, "no structure: %zu values, %g", c.nonzeros, c.ratio);
	c = choose(24, 24, 0, 4, SIZE_MAX);
	CHECK(c.options.factors == 4 && c.options.sparsity > 0 && c.nonzeros < 576, "four factors: %d", c.options.factors);
	c = choose(3, 4, 0, 0, SIZE_MAX);
	CHECK(c.trials == 0 && c.options.factors == 1 && c.nonzeros == 12 && c.ratio < 1 + 1e-6, "too small for a product: %zu values, %g", c.nonzeros, c.ratio);
	c = choose(8, 8192, 0, 0, SIZE_MAX);
	CHECK(c.trials > 1 && c.options.factors == 2 && c.options.sparsity == 2 && c.ratio > FC_NEAR_SSE_RATIO, "large, labels as good: sparsity %d, %g", c.options.sparsity, c.ratio);
	c = choose(20, 30, 0, 0, 1);
	CHECK(c.trials == 0 && c.options.factors == 1 && c.ratio < 1 + 1e-6, "no memory for a trial: %d trials", c.trials);
}

/* Ratios of objectives are 1 if both are zero up to rounding. */
static void
test_ratio(void)
{
	CHECK(fc_measure_ratio(3, 2, 1) == 1.5, "the ratio of two objectives is wrong");
	CHECK(fc_measure_ratio(0, 0, 0) == 1, "the ratio of zeros is not 1");
	CHECK(fc_measure_ratio(1e-9, 0, 1) == 1, "rounding changes a ratio of 1");
	CHECK(fc_measure_ratio(1e-2, 0, 1) > 1e3, "clusters of equal rows have a small ratio");
}

/* As published: log2(k) factors, and clusters without rows stay empty. */
static void
test_published(void)
{
	table		t = make_table(20, 5);
	fc_row_source source = {.ctx = &t,.scan = scan,.sample = t.x,.sample_rows = N,.farthest = farthest};
	fc_qkmeans_options options = fc_qkmeans_published();
	double	   *start = unit_alloc(16 * 20, sizeof(double));
	double	   *offset = unit_alloc(20, sizeof(double));
	history		h = {0};
	fc_operator op;
	fc_factorization from;
	fc_constraint constraint[5];

	for (size_t j = 0; j < 16; j++)
		memcpy(start + j * 20, t.x, 20 * sizeof(double));
	options.log = keep_step;
	options.log_ctx = &h;
	fc_qkmeans(start, offset, 16, 20, &source, &options, unit_work(), &op, &from);
	CHECK(op.factors == 4, "%zu factors", op.factors);
	CHECK(h.step[h.steps - 1].empty > 0, "empty clusters were filled");
	fc_published_constraints(32, 784, 5, 2, constraint);
	CHECK(constraint[0].per_row == 2 && constraint[0].per_column == 2 && constraint[4].per_row == 49 && constraint[4].per_column == 2,
		  "constraints of 32 x 784: %zu %zu", constraint[4].per_row, constraint[4].per_column);
	fc_published_constraints(784, 30, 4, 2, constraint);
	CHECK(constraint[0].per_row == 2 && constraint[0].per_column == 52 && constraint[3].per_row == 3 && constraint[3].per_column == 3,
		  "constraints of 784 x 30: %zu %zu", constraint[0].per_column, constraint[3].per_row);
}

int
main(void)
{
	check_run(10, 24, 3, 0, false, false, 34, "ten clusters");
	check_run(10, 24, 2, 150, false, false, 34, "a budget");
	check_run(30, 8, 2, 0, false, false, 38, "more clusters than dimensions");
	check_run(1, 5, 1, 0, false, false, 6, "one cluster");
	check_run(2, 1, 1, 0, false, false, 3, "one dimension");
	check_run(12, 20, 4, 0, true, false, 32, "equal starts");
	for (uint64_t seed = 1; seed <= 10; seed++)
	{
		check_run(2 + seed, 3 * seed, 1 + (int) seed % 3, 0, false, false, seed, "any seed");
		check_run(4 + 2 * seed, 30 - 2 * seed, 1 + (int) seed % 4, 0, true, false, seed, "any seed, empty clusters");
		check_run(4 + 2 * seed, 30 - 2 * seed, 1 + (int) seed % 4, 0, true, true, seed, "any seed, split clusters");
	}
	test_published();
	test_choice();
	test_ratio();
	return unit_finish();
}

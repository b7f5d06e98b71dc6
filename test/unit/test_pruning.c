/*
 * test_pruning.c - labels found with pruning bounds agree with all distances in
 * double, for hostile shapes of data; products of bytes are exact
 */
#include "numerics/pruning.h"
#include "random_operator.h"

enum shape
{
	GAUSSIAN, LOW_RANK, UNIFORM, DUPLICATES, CONSTANT_DIMENSIONS, GRID, FAR_OFFSET, HUGE_NORMS, TINY, STACKS, SHAPES
};

static const char *const shapes[] = {"Gaussian", "low rank", "uniform", "duplicates", "constant dimensions", "grid", "far offset", "huge norms", "tiny", "stacks"};

/* Returns a coordinate of a row or centroid. */
static double
coordinate(int shape, size_t i, const double *factor, fc_rng *rng)
{
	switch (shape)
	{
		case LOW_RANK:
			return factor[0] * sin((double) i) + factor[1] * cos((double) (3 * i)) + 1e-3 * fc_rng_normal(rng);
		case UNIFORM:
			return fc_rng_uniform(rng);
		case DUPLICATES:
			return floor(factor[2] * 3.0) * (double) (i % 7);
		case CONSTANT_DIMENSIONS:
			return i % 3 == 0 ? 5.0 : fc_rng_normal(rng);
		case GRID:
			return (double) fc_rng_below(rng, 2);
		case HUGE_NORMS:
			return fc_rng_normal(rng) * (factor[2] > 1.5 ? 1e15 : 1.0);
		case TINY:
			return 1e-12 * fc_rng_normal(rng);
		case STACKS:
			return (i < 20 && factor[i % 3] > 0.0 ? 16.0 : 0.0) + fc_rng_normal(rng);
		default:
			return fc_rng_normal(rng);
	}
}

static void
fill(int shape, size_t n, size_t d, fc_rng *rng, double *x)
{
	for (size_t r = 0; r < n; r++)
	{
		double		factor[3] = {fc_rng_normal(rng), fc_rng_normal(rng), fc_rng_normal(rng)};

		for (size_t i = 0; i < d; i++)
			x[r * d + i] = coordinate(shape, i, factor, rng);
	}
}

typedef struct pruning_case
{
	fc_operator op;
	size_t		n;
	double	   *x;
	float	   *values;
	float	   *half_norms;
	double	   *weights;
	double	   *offset;
	fc_arena	arena;
	fc_scratch	scratch;
	int32_t    *labels;
} pruning_case;

/* Makes rows, some of them at centroids, at midpoints of two, or far away. */
static void
make_rows(int shape, fc_rng *rng, pruning_case *c)
{
	size_t		d = c->op.d;

	fill(shape, c->n, d, rng, c->x);
	for (size_t r = 0; r < c->n; r++)
	{
		size_t		a = fc_rng_below(rng, c->op.k);
		size_t		b = fc_rng_below(rng, c->op.k);

		for (size_t i = 0; i < d && r % 4 < 2; i++)
			c->x[r * d + i] = 0.5 * ((double) c->values[a * d + i] + (double) c->values[(r % 4 == 0 ? a : b) * d + i]);
		for (size_t i = 0; i < d; i++)
			c->x[r * d + i] = (r % 31 == 30 ? 1e17 : 1.0) * c->x[r * d + i] + (c->op.offset != NULL ? c->offset[i] : 0.0);
	}
}

static void
make_case(int shape, size_t k, size_t d, size_t n, pruning_case *c)
{
	fc_rng		rng = fc_rng_start(k, d + (uint64_t) shape);
	double	   *centroids = unit_alloc(k * d, sizeof(double));

	*c = (pruning_case) {.op = {.k = k,.d = d,.factors = 1},.n = n};
	c->x = unit_alloc(n * d, sizeof(double));
	c->values = unit_alloc(k * d, sizeof(float));
	c->half_norms = unit_alloc(k, sizeof(float));
	c->weights = unit_alloc(k, sizeof(double));
	c->offset = unit_alloc(d, sizeof(double));
	c->labels = unit_alloc(n, sizeof(int32_t));
	fill(shape, k, d, &rng, centroids);
	for (size_t i = 0; i < k * d; i++)
		c->values[i] = (float) centroids[i];
	for (size_t i = 0; i < d; i++)
		c->offset[i] = 1e9 + (double) i;
	c->op.offset = shape == FAR_OFFSET ? c->offset : NULL;
	c->op.weights = c->weights;
	c->op.half_norms = c->half_norms;
	c->op.factor[0] = (fc_factor) {.rows = k,.columns = d,.nonzeros = k * d,.values = c->values};
	make_rows(shape, &rng, c);
	c->scratch = unit_scratch(fc_operator_batch_scratch(&c->op, n));
	fc_operator_measure(&c->op, c->scratch, c->half_norms);
	c->arena = unit_arena();
	if (fc_operator_prune_worksize(&c->op) > 0)
		fc_operator_prune(&c->op, &c->arena);
	CHECK(c->arena.allocated <= fc_operator_prune_worksize(&c->op) + 32768, "%zu bytes", c->arena.allocated);
	c->scratch = unit_scratch(fc_operator_batch_scratch(&c->op, n));
}

static double
distance_of(const void *context, size_t row, size_t j)
{
	const pruning_case *c = context;

	return fc_operator_distance(&c->op, j, c->x + row * c->op.d, c->scratch);
}

/* Each bound used alone gives the right label or no label. */
static void
check_path(pruning_case *c, int path, size_t *labelled)
{
	fc_pruned_rows rows = {.x = c->x,.distance = distance_of,.context = c};
	size_t		n = c->n < FC_PRUNING_ROWS ? c->n : FC_PRUNING_ROWS;

	fc_pruning_assign(c->op.pruning, path, &rows, n, unit_scratch(fc_pruning_scratch(c->op.pruning, n)), c->labels);
	for (size_t r = 0; r < n; r++)
	{
		if (c->labels[r] < 0)
			continue;
		++*labelled;
		CHECK((size_t) c->labels[r] == nearest_by_distance(&c->op, c->x + r * c->op.d, c->scratch), "bound %d labels row %zu wrongly", path, r);
	}
}

/* Labels of batches and of single rows are the nearest centroids. */
static void
check_shape(int shape, size_t k, size_t d, size_t n)
{
	pruning_case c;
	size_t		labelled = 0;

	make_case(shape, k, d, n, &c);
	for (int round = 0; round < 3; round++)
		fc_operator_assign_batch(&c.op, c.x, n, c.scratch, c.labels);
	for (size_t r = 0; r < n; r++)
	{
		size_t		expected = nearest_by_distance(&c.op, c.x + r * d, c.scratch);

		CHECK((size_t) c.labels[r] == expected, "%s, %zu in %zu: row %zu is in %d, not %zu", shapes[shape], k, d, r, c.labels[r], expected);
		CHECK(fc_operator_assign(&c.op, c.x + r * d, c.scratch) == expected, "%s, %zu in %zu: row %zu alone", shapes[shape], k, d, r);
	}
	for (int path = FC_PRUNING_LEADING; path <= FC_PRUNING_WHOLE && c.op.pruning != NULL; path++)
		if (c.op.pruning->codes[path].k > 0)
			check_path(&c, path, &labelled);
	CHECK(labelled > 0 || shape == DUPLICATES || !fc_codes_are_fast(), "%s: no bound labels rows", shapes[shape]);
}

/*
 * Labels are right for all shapes of data, with two numbers of clusters and of
 * dimensions.
 */
static void
test_labels(void)
{
	for (int shape = 0; shape < SHAPES; shape++)
	{
		check_shape(shape, 256, 64, 70);
		check_shape(shape, 323, 101, 45);
	}
	check_shape(GAUSSIAN, 1500, 70, 260);
}

/* Labels of single rows with packed centroids are the nearest centroids. */
static void
check_packed(int shape, size_t k, size_t d, size_t n)
{
	pruning_case c;

	make_case(shape, k, d, n, &c);
	fc_operator_pack(&c.op, &c.arena);
	for (size_t r = 0; r < n; r++)
		CHECK(fc_operator_assign(&c.op, c.x + r * d, c.scratch) == nearest_by_distance(&c.op, c.x + r * d, c.scratch), "%s, %zu in %zu: row %zu packed", shapes[shape], k, d, r);
}

/*
 * Labels are right for all shapes of data, from one centroid to several
 * blocks.
 */
static void
test_packed(void)
{
	for (int shape = 0; shape < SHAPES; shape++)
	{
		check_packed(shape, 1, 1, 5);
		check_packed(shape, 7, 3, 70);
		check_packed(shape, 64, 10, 70);
		check_packed(shape, 131, 33, 70);
		check_packed(shape, 323, 101, 45);
	}
}

/*
 * Low rank: the leading axes alone label most rows, and the record of the
 * bounds says so.
 */
static void
test_leading(void)
{
	pruning_case c;
	size_t		labelled = 0;

	make_case(LOW_RANK, 400, 90, 200, &c);
	CHECK(c.op.pruning != NULL && c.op.pruning->codes[FC_PRUNING_LEADING].k == 400, "there are no bounds on leading axes");
	check_path(&c, FC_PRUNING_LEADING, &labelled);
	CHECK(labelled > 150, "%zu labels", labelled);
	CHECK(c.op.pruning->record[FC_PRUNING_LEADING].given_up < 0.25, "given up %g", c.op.pruning->record[FC_PRUNING_LEADING].given_up);
}

/* Stacks that leading axes do not distinguish: most rows are given up. */
static void
test_given_up(void)
{
	pruning_case c;
	size_t		labelled = 0;

	make_case(STACKS, 1600, 128, 200, &c);
	CHECK(c.op.pruning != NULL && c.op.pruning->codes[FC_PRUNING_LEADING].k == 1600, "there are no bounds on leading axes");
	check_path(&c, FC_PRUNING_LEADING, &labelled);
	CHECK(c.op.pruning->record[FC_PRUNING_LEADING].given_up > 0.5, "given up %g", c.op.pruning->record[FC_PRUNING_LEADING].given_up);
}

/* Products of bytes equal products of integers, for both implementations. */
static void
test_products(void)
{
	enum {K = 130, N = 37, ROWS = 29};
	fc_rng		rng = fc_rng_start(5, 5);
	fc_codes	codes = {0};
	double		u[N];
	uint8_t		rows[ROWS * 40];
	int32_t    *dots = unit_alloc(ROWS * 192, sizeof(int32_t));
	float	   *work = unit_alloc(ROWS * 40, sizeof(float));
	int		   *code = unit_alloc(K * N, sizeof(int));

	fc_codes_take(unit_work(), K, N, &codes);
	CHECK(codes.width == 40 && codes.capacity == 192, "the codes have another width or capacity");
	for (size_t j = 0; j < K; j++)
	{
		for (size_t i = 0; i < N; i++)
			u[i] = (double) (code[j * N + i] = (int) fc_rng_below(&rng, 255) - 127);
		u[0] = code[j * N] = 127;		/* the maximum, so that codes equal the values */
		fc_codes_set(&codes, j, u, N, 0.0, 0.0, 1e4);
	}
	for (size_t i = 0; i < sizeof(rows); i++)
		rows[i] = (uint8_t) fc_rng_below(&rng, 256);
	fc_codes_multiply(&codes, rows, ROWS, 0, 192, work, dots);
	for (size_t r = 0; r < ROWS; r++)
		for (size_t j = 0; j < K; j++)
		{
			int32_t		sum = 0;

			for (size_t i = 0; i < N; i++)
				sum += (int32_t) rows[r * 40 + i] * code[j * N + i];
			CHECK(dots[r * 192 + j] == sum, "row %zu, vector %zu", r, j);
		}
}

int
main(void)
{
	test_products();
	test_labels();
	test_packed();
	test_leading();
	test_given_up();
	return unit_finish();
}

/*
 * test_operator_random.c - labels and projections of random operators are
 * right, to rounding, for long positive rows and for scores that overflow as
 * well
 */
#include "random_operator.h"

#define ROWS	40			/* rows to label */

/*
 * V x agrees with the exact product up to rounding, which is bounded by the
 * norms of the factors without any cancellation.
 */
static void
check_projection(const random_operator *o, uint64_t seed)
{
	const fc_operator *op = &o->op;
	fc_rng		rng = fc_rng_start(seed, 12);
	float	   *x = unit_alloc(op->d, sizeof(float));
	float	   *y = unit_alloc(op->k, sizeof(float));
	double		length = 0.0;
	double		gain = 1.0;

	for (size_t i = 0; i < op->d; i++)
	{
		x[i] = (float) fc_rng_normal(&rng);
		length += (double) x[i] * (double) x[i];
	}
	for (size_t f = 0; f < op->factors; f++)
	{
		double		square = 0.0;

		for (size_t p = 0; p < op->factor[f].nonzeros; p++)
			square += (double) op->factor[f].values[p] * (double) op->factor[f].values[p];
		gain *= sqrt(square);
	}
	fc_operator_project(op, x, o->scratch, y);
	for (size_t j = 0; j < op->k; j++)
	{
		double		dot = 0.0;

		for (size_t i = 0; i < op->d; i++)
			dot += o->product[j * op->d + i] * (double) x[i];
		CHECK(fabs((double) y[j] - dot) <= 1e-6 * gain * sqrt(length), "seed %zu: y_%zu is %g, exactly %g", (size_t) seed, j, (double) y[j], dot);
	}
}

/*
 * Rows between two rows of the product, half of them moved slightly: single
 * rows, batches and nearest agree on the lowest number at the smallest
 * distance.
 */
static void
check_midway(const random_operator *o, uint64_t seed)
{
	const fc_operator *op = &o->op;
	fc_rng		rng = fc_rng_start(seed, 13);
	double	   *x = unit_alloc(ROWS * op->d, sizeof(double));
	fc_operator expanded = *op;
	float	   *rows = unit_alloc(op->k * op->d, sizeof(float));
	char		what[30];

	fc_operator_expand(&expanded, o->scratch, rows);
	for (size_t i = 0; i < ROWS; i++)
	{
		const float *a = rows + fc_rng_below(&rng, op->k) * op->d;
		const float *b = rows + fc_rng_below(&rng, op->k) * op->d;

		for (size_t c = 0; c < op->d; c++)
			x[i * op->d + c] = 0.5 * ((double) a[c] + (double) b[c]) * (1.0 + (i % 2 == 0 ? 0.0 : 1e-7 * fc_rng_normal(&rng)));
	}
	snprintf(what, sizeof(what), "seed %zu", (size_t) seed);
	check_labels(op, o->scratch, x, ROWS, what);
}

/*
 * Labels and projections are right for random shapes and kinds of factors,
 * sliced or not.
 */
static void
test_shapes(void)
{
	static const size_t sizes[] = {1, 2, 5, 15, 16, 17, 40, 97, 300};

	for (uint64_t seed = 0; seed < 150; seed++)
	{
		fc_rng		rng = fc_rng_start(seed, 14);
		pattern		kinds[MAX_FACTORS];
		random_operator o;

		for (size_t f = 0; f < MAX_FACTORS; f++)
			kinds[f] = (pattern) fc_rng_below(&rng, PATTERNS);
		o = make_operator(sizes[fc_rng_below(&rng, 8)], sizes[fc_rng_below(&rng, 9)], 1 + fc_rng_below(&rng, 60), kinds,
						  1 + fc_rng_below(&rng, MAX_FACTORS), seed);
		check_midway(&o, seed);
		slice_operator(&o);
		check_projection(&o, seed);
		check_midway(&o, seed);
	}
}

/*
 * Sums of positive values along positive rows only grow, and so does their
 * rounding: labels stay right.
 */
static void
test_positive(void)
{
	static const pattern kinds[] = {HALF_EQUAL, HALF_EQUAL};

	for (uint64_t seed = 0; seed < 6; seed++)
	{
		random_operator o = make_operator(40, seed % 2 == 0 ? 8000 : 3000, 40, kinds, 1 + seed % 2, seed);

		check_midway(&o, seed);
		slice_operator(&o);
		check_midway(&o, seed);
	}
}

/*
 * Scores that are sums of both infinities: labels by all exact centroids still
 * have the smallest distance.
 */
static void
test_overflow(void)
{
	static const pattern kind[] = {HALF_EQUAL};
	random_operator o = make_operator(4, 400, 1, kind, 1, 0);
	fc_factor  *factor = &o.op.factor[0];
	float	   *values = unit_alloc(factor->nonzeros, sizeof(float));
	float	   *rows = unit_alloc(4 * 400, sizeof(float));
	fc_scratch	scratch;
	fc_operator codebook = {.k = 4,.d = 400,.factors = 1,.factor = {{.rows = 4,.columns = 400,.nonzeros = 1600,.values = rows}}};
	double		x[400] = {0};
	size_t		label;

	for (size_t p = 0; p < factor->nonzeros; p++)
		values[p] = 1.6e18f;
	factor->values = values;
	fc_operator_measure(&o.op, o.scratch, unit_alloc(4, sizeof(float)));
	for (size_t r = 0; r < 4; r++)
		for (size_t p = factor->row_start[r]; p < factor->row_start[r + 1]; p++)
			rows[r * 400 + fc_factor_column(factor, p)] = values[p];
	fc_operator_measure(&codebook, o.scratch, unit_alloc(4, sizeof(float)));
	fc_operator_attach_exact(&o.op, &codebook, 4, o.scratch, unit_alloc(4, sizeof(float)), unit_alloc(4, sizeof(float)));
	for (size_t p = 0; p < factor->row_start[1]; p++)
		x[fc_factor_column(factor, p)] = p % 2 == 0 ? 9e18 : -9e18;
	scratch = unit_scratch(fc_operator_scratch(&o.op));
	label = fc_operator_assign(&o.op, x, scratch);
	for (size_t j = 0; j < 4; j++)
		CHECK(label < 4 && fc_operator_distance(&o.op, label, x, scratch) <= fc_operator_distance(&o.op, j, x, scratch), "label %zu, nearer is %zu", label, j);
}

int
main(void)
{
	test_shapes();
	test_positive();
	test_overflow();
	return unit_finish();
}

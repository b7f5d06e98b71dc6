/*
 * test_metric.c - rows scaled to length 1 are exact to 4e-16, labels by cosine
 * and inner product are the greatest product, and operators store their metric
 */
#include "numerics/metric.h"
#include "operators.h"
#include "sketch/spec.h"

#define MAX_D	33

static void
draw_row(fc_rng *rng, size_t d, double *x)
{
	for (size_t i = 0; i < d; i++)
		x[i] = fc_rng_normal(rng);
}

/* Unit rows have length 1 to 4e-16 and do not depend on the row's scale. */
static void
test_unit_rows(void)
{
	static const int exponents[] = {-1060, -600, -30, 0, 1, 30, 600, 1000};
	fc_rng		rng = fc_rng_start(7, 0);
	double		x[MAX_D];
	double		unit[MAX_D];
	double		scaled[MAX_D];
	float		floats[MAX_D];

	for (size_t d = 1; d <= MAX_D; d++)
	{
		long double square = 0.0L;

		draw_row(&rng, d, x);
		for (size_t i = 0; i < d; i++)
			x[i] = (double) (floats[i] = (float) x[i]);
		CHECK(fc_unit_row(x, d, unit), "%zu: a direction", d);
		for (size_t i = 0; i < d; i++)
			square += (long double) unit[i] * (long double) unit[i];
		CHECK(fabsl(square - 1.0L) < 4e-16L, "%zu: length 1, off by %Lg", d, square - 1.0L);
		CHECK(fc_unit_float_row(floats, d, scaled) && memcmp(unit, scaled, d * sizeof(double)) == 0, "%zu: floats", d);
		for (size_t e = 0; e < sizeof(exponents) / sizeof(exponents[0]); e++)
		{
			/* coordinates this small lose bits */
			double		rounding = exponents[e] < -1000 ? 0x1p-12 : 0.0;
			double		worst = 0.0;

			for (size_t i = 0; i < d; i++)
				scaled[i] = ldexp(x[i], exponents[e]);
			CHECK(fc_unit_row(scaled, d, scaled), "%zu, 2^%d: a direction", d, exponents[e]);
			for (size_t i = 0; i < d; i++)
				worst = fmax(worst, fabs(scaled[i] - unit[i]));
			CHECK(worst <= rounding, "%zu, 2^%d: %g", d, exponents[e], worst);
		}
	}
}

/* Only a zero vector has no direction; values that are not finite stay so. */
static void
test_no_direction(void)
{
	double		zero[5] = {0.0, -0.0, 0.0, 0.0, 0.0};
	double		wrong[5] = {0.0, NAN, 0.0, 0.0, 0.0};
	double		unit[5];

	CHECK(!fc_unit_row(zero, 5, unit), "a zero vector has a direction");
	CHECK(fc_unit_row(wrong, 5, unit) && !fc_all_finite(unit, 5), "NaN is taken as a zero vector");
	wrong[1] = INFINITY;
	CHECK(fc_unit_row(wrong, 5, unit) && !fc_all_finite(unit, 5), "infinity is taken as a zero vector");
	zero[3] = 0x1p-1074;
	CHECK(fc_unit_row(zero, 5, unit) && unit[3] == 1.0, "the smallest number has no direction");
}

typedef struct book
{
	fc_arena	arena;
	fc_operator op;
	double	   *centroids;
} book;

static book
make_book(fc_metric metric, size_t k, size_t d, double far, uint64_t seed)
{
	book		b = {.arena = unit_arena()};
	fc_rng		rng = fc_rng_start(seed, 0);
	double	   *weights = FC_TAKE(&b.arena, k, double);
	double		max;

	b.centroids = unit_alloc(k * d, sizeof(double));
	for (size_t j = 0; j < k; j++)
	{
		double	   *c = b.centroids + j * d;

		weights[j] = 1.0;
		draw_row(&rng, d, c);
		c[0] += far;
		if (metric == FC_COSINE)
			CHECK(fc_unit_row(c, d, c), "a centroid has no direction");
	}
	view_codebook(metric, b.centroids, weights, k, d, &b.arena, &b.op, &max);
	return b;
}

static size_t
greatest_product(const fc_operator *op, const double *x)
{
	size_t		best = 0;
	double		max = -INFINITY;

	for (size_t j = 0; j < op->k; j++)
	{
		double		product = 0.0;

		for (size_t i = 0; i < op->d; i++)
			product += x[i] * ((double) op->factor[0].values[j * op->d + i] + (op->offset != NULL ? op->offset[i] : 0.0));
		if (product > max)
		{
			max = product;
			best = j;
		}
	}
	return best;
}

/*
 * Both metrics choose the greatest product with the row, for single rows and
 * for batches, near the offset or not.
 */
static void
test_labels(fc_metric metric, size_t k, size_t d, double far)
{
	enum {ROWS = 300};
	book		b = make_book(metric, k, d, far, k + d);
	fc_rng		rng = fc_rng_start(3, 1);
	fc_scratch	scratch = unit_scratch(fc_operator_batch_scratch(&b.op, ROWS));
	double	   *x = unit_alloc(ROWS * d, sizeof(double));
	int32_t	   *labels = unit_alloc(ROWS, sizeof(int32_t));
	int32_t		clusters[3];
	double		distances[3];

	CHECK((b.op.offset != NULL) == (far > 0.0 && metric == FC_COSINE), "the offset is missing or not wanted");
	for (size_t r = 0; r < ROWS; r++)
	{
		draw_row(&rng, d, x + r * d);
		x[r * d] += far;
		if (metric == FC_COSINE)
			(void) fc_unit_row(x + r * d, d, x + r * d);
	}
	fc_operator_assign_batch(&b.op, x, ROWS, scratch, labels);
	for (size_t r = 0; r < ROWS; r++)
	{
		size_t		best = greatest_product(&b.op, x + r * d);

		CHECK((size_t) labels[r] == best, "%s: row %zu of a batch", fc_metric_name(metric), r);
		CHECK(fc_operator_assign(&b.op, x + r * d, scratch) == best, "%s: row %zu", fc_metric_name(metric), r);
		fc_operator_nearest(&b.op, x + r * d, 3, scratch, clusters, distances);
		CHECK((size_t) clusters[0] == best && distances[0] <= distances[1] && distances[1] <= distances[2],
			  "%s: nearest of row %zu", fc_metric_name(metric), r);
	}
}

/* Among equal products the lowest number wins. */
static void
test_ties(void)
{
	double		centroids[4] = {0.0, 3.0, 0.0, 7.0};
	double		weights[2] = {1.0, 1.0};
	double		x[2] = {5.0, 0.0};
	fc_operator op;
	double		max;
	fc_scratch	scratch;

	view_codebook(FC_INNER_PRODUCT, centroids, weights, 2, 2, unit_work(), &op, &max);
	scratch = unit_scratch(fc_operator_scratch(&op));
	CHECK(fc_operator_assign(&op, x, scratch) == 0, "the lowest of equal centroids does not win");
}

/*
 * The metric survives storing; a metric that does not fit the other fields is
 * refused.
 */
static void
test_bytes(fc_metric metric)
{
	book		b = make_book(metric, 5, 7, metric == FC_COSINE ? 100.0 : 0.0, 11);
	size_t		size = fc_operator_size(&b.op);
	fc_operator_header *header = unit_alloc(size, 1);
	fc_operator view;
	uint8_t		flags;

	fc_operator_write(&b.op, header);
	CHECK(check_operator(header, size) == FC_OK, "the bytes are refused");
	fc_operator_view(header, &view);
	CHECK(view.metric == metric, "%s comes back", fc_metric_name(metric));
	flags = header->flags;
	header->flags = flags ^ FC_OPERATOR_COSINE;
	reseal_operator(header, size);
	CHECK(check_operator(header, size) == (metric == FC_COSINE ? FC_OK : FC_EFORMAT), "%s: cosine or not", fc_metric_name(metric));
	header->flags = flags ^ FC_OPERATOR_INNER_PRODUCT;
	reseal_operator(header, size);
	CHECK(check_operator(header, size) == FC_EFORMAT, "%s: inner products or not", fc_metric_name(metric));
	header->flags = flags | 0x80;
	reseal_operator(header, size);
	CHECK(check_operator(header, size) == FC_EFORMAT, "an unknown flag is accepted");
}

/*
 * Specs that differ only in the metric are not the same; their flags differ in
 * one bit, which the digest covers.
 */
static void
test_spec(void)
{
	double		sigma = 0.5;
	fc_spec_fields fields = {.dim = 3,.reduced = 3,.frequencies = 10,.scales = 1,.sigmas = &sigma};
	size_t		size = fc_spec_fields_size(&fields);
	fc_spec    *plain = unit_alloc(size, 1);
	fc_spec    *cosine = unit_alloc(size, 1);

	CHECK(fc_spec_build(&fields, plain) == FC_OK && fc_spec_metric(plain) == FC_EUCLIDEAN, "a plain spec cannot be built");
	fields.cosine = true;
	CHECK(fc_spec_build(&fields, cosine) == FC_OK && fc_spec_metric(cosine) == FC_COSINE, "a spec for cosines cannot be built");
	CHECK(!fc_spec_same(plain, cosine) && plain->flags == (cosine->flags & ~FC_SPEC_COSINE), "specs of different metrics are the same");
	CHECK(fc_spec_fields_of(cosine).cosine && !fc_spec_fields_of(plain).cosine, "the parts of a spec lose the metric");
	plain->flags |= FC_SPEC_COSINE;
	CHECK(fc_spec_check(plain, size) == FC_EFORMAT, "the digest does not cover the metric");
}

int
main(void)
{
	test_unit_rows();
	test_no_direction();
	test_labels(FC_COSINE, 40, 17, 0.0);
	test_labels(FC_COSINE, 40, 17, 200.0);
	test_labels(FC_COSINE, 300, 6, 0.0);
	test_labels(FC_INNER_PRODUCT, 40, 17, 0.0);
	test_labels(FC_INNER_PRODUCT, 300, 6, 50.0);
	test_ties();
	test_bytes(FC_EUCLIDEAN);
	test_bytes(FC_COSINE);
	test_bytes(FC_INNER_PRODUCT);
	test_spec();
	return unit_finish();
}

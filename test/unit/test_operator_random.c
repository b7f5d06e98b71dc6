/* test_operator_random.c - operators of random shape: hubs, empty rows and columns, duplicates, long positive rows */
#include <math.h>

#include "base/rng.h"
#include "operator/operator.h"
#include "unit.h"

#define MOST_FACTORS	4
#define ROWS	40			/* to be labelled */

typedef enum pattern
{
	DENSE,
	HUBS,						/* every thirteenth row full, the others with few entries or none */
	COLUMN_HUBS,				/* the same of columns */
	ONE_EACH,
	HALF_EQUAL,					/* half of the entries, all of one value */
	PATTERNS
} pattern;

typedef struct random_operator
{
	fc_operator op;
	double	   *product;		/* k x d */
	void	   *owned[5 * MOST_FACTORS + 8];
	size_t		owners;
	float	   *scratch;
} random_operator;

static void *
own(random_operator *o, size_t count, size_t item_size)
{
	return o->owned[o->owners++] = unit_alloc(count, item_size);
}

static void
free_operator(random_operator *o)
{
	while (o->owners > 0)
		free(o->owned[--o->owners]);
}

static bool
is_entry(pattern kind, size_t r, size_t c, size_t columns, fc_rng *rng)
{
	switch (kind)
	{
		case HUBS:
			return r % 13 == 5 || fc_rng_uniform(rng) < 1.5 / (double) columns;
		case COLUMN_HUBS:
			return c % 13 == 5 || fc_rng_uniform(rng) < 1.5 / (double) columns;
		case ONE_EACH:
			return c == r * 7 % columns;
		default:
			return fc_rng_uniform(rng) < 0.5;
	}
}

static fc_factor
make_factor(random_operator *o, size_t rows, size_t columns, pattern kind, fc_rng *rng)
{
	float	   *values = own(o, rows * columns, sizeof(float));
	uint32_t   *start = own(o, rows + 1, sizeof(uint32_t));
	uint16_t   *column = own(o, rows * columns, sizeof(uint16_t));
	size_t		used = 0;

	for (size_t r = 0; r < rows; r++)
	{
		for (size_t c = 0; c < columns; c++)
			if (kind == DENSE || is_entry(kind, r, c, columns, rng))
			{
				values[used] = kind == HALF_EQUAL ? 0.1f : (float) fc_rng_normal(rng);
				column[used++] = (uint16_t) c;
			}
		start[r + 1] = (uint32_t) used;
	}
	return (fc_factor) {.rows = rows,.columns = columns,.nonzeros = used,.values = values,
	.row_start = kind == DENSE ? NULL : start,.short_column = kind == DENSE ? NULL : column};
}

/* left (k x rows) times the factor. */
static double *
times(random_operator *o, const double *left, const fc_factor *factor)
{
	double	   *out = unit_alloc(o->op.k * factor->columns, sizeof(double));

	for (size_t r = 0; r < factor->rows; r++)
	{
		size_t		start = factor->row_start != NULL ? factor->row_start[r] : r * factor->columns;
		size_t		end = factor->row_start != NULL ? factor->row_start[r + 1] : start + factor->columns;

		for (size_t p = start; p < end; p++)
			for (size_t j = 0; j < o->op.k; j++)
				out[j * factor->columns + (factor->row_start != NULL ? fc_factor_column(factor, p) : p - start)] +=
					left[j * factor->rows + r] * (double) factor->values[p];
	}
	return out;
}

static void
multiply_out(random_operator *o)
{
	double	   *left = unit_alloc(o->op.k * o->op.k, sizeof(double));

	for (size_t j = 0; j < o->op.k; j++)
		left[j * o->op.k + j] = 1.0;
	for (size_t f = 0; f < o->op.factors; f++)
	{
		double	   *next = times(o, left, &o->op.factor[f]);

		free(left);
		left = next;
	}
	o->product = o->owned[o->owners++] = left;
}

/* kinds: one a factor, `inner` rows and columns between them. */
static random_operator
make_operator(size_t k, size_t d, size_t inner, const pattern *kinds, size_t factors, uint64_t seed)
{
	random_operator o = {.op = {.k = k,.d = d,.factors = factors}};
	fc_rng		rng = fc_rng_start(seed, 11);

	for (size_t f = 0; f < factors; f++)
		o.op.factor[f] = make_factor(&o, f == 0 ? k : inner, f + 1 == factors ? d : inner, kinds[f], &rng);
	o.scratch = own(&o, fc_operator_scratch(&o.op), sizeof(float));
	multiply_out(&o);
	fc_operator_half_norms(&o.op, o.scratch, own(&o, k, sizeof(float)));
	return o;
}

/* Slices in memory that ends where its size says, at an address no rounder than promised. */
static void
slice_factors(random_operator *o)
{
	size_t		size = fc_operator_sell_size(&o->op);

	if (size > 0)
		fc_operator_sell_build(&o->op, (char *) own(o, size + 8, 1) + 8);
}

/* V x is the exact product's but for rounding, told from what passes through the factors without cancelling. */
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
	free(x);
	free(y);
}

/* Rows between two of the product's, half of them moved a little: labels apart, together and by nearest are the lowest of the least distance. */
static void
check_midway(const random_operator *o, uint64_t seed)
{
	const fc_operator *op = &o->op;
	fc_rng		rng = fc_rng_start(seed, 13);
	double	   *x = unit_alloc(ROWS * op->d, sizeof(double));
	float	   *scratch = unit_alloc(fc_operator_batch_scratch(op, ROWS), sizeof(float));
	int32_t		labels[ROWS];
	fc_operator expanded = *op;
	float	   *rows = unit_alloc(op->k * op->d, sizeof(float));
	size_t		wrong[3] = {0};

	fc_operator_expand(&expanded, NULL, o->scratch, rows);
	for (size_t i = 0; i < ROWS; i++)
	{
		const float *a = rows + fc_rng_below(&rng, op->k) * op->d;
		const float *b = rows + fc_rng_below(&rng, op->k) * op->d;

		for (size_t c = 0; c < op->d; c++)
			x[i * op->d + c] = 0.5 * ((double) a[c] + (double) b[c]) * (1.0 + (i % 2 == 0 ? 0.0 : 1e-7 * fc_rng_normal(&rng)));
	}
	fc_operator_assign_batch(op, x, ROWS, scratch, labels);
	for (size_t i = 0; i < ROWS; i++)
	{
		size_t		expected = 0;
		double		least = INFINITY;
		int32_t		first;
		double		distance;

		for (size_t j = 0; j < op->k; j++)
		{
			distance = fc_operator_distance(&expanded, j, x + i * op->d, scratch);
			if (distance < least)
			{
				least = distance;
				expected = j;
			}
		}
		fc_operator_nearest(op, x + i * op->d, 1, scratch, &first, &distance);
		wrong[0] += fc_operator_assign(op, x + i * op->d, scratch) != expected;
		wrong[1] += (size_t) labels[i] != expected;
		wrong[2] += (size_t) first != expected;
	}
	CHECK(wrong[0] + wrong[1] + wrong[2] == 0, "seed %zu: %zu labels, %zu of a batch, %zu nearest wrong of %d",
		  (size_t) seed, wrong[0], wrong[1], wrong[2], ROWS);
	free(x);
	free(scratch);
	free(rows);
}

static void
test_shapes(void)
{
	static const size_t sizes[] = {1, 2, 5, 15, 16, 17, 40, 97, 300};

	for (uint64_t seed = 0; seed < 150; seed++)
	{
		fc_rng		rng = fc_rng_start(seed, 14);
		pattern		kinds[MOST_FACTORS];
		random_operator o;

		for (size_t f = 0; f < MOST_FACTORS; f++)
			kinds[f] = (pattern) fc_rng_below(&rng, PATTERNS);
		o = make_operator(sizes[fc_rng_below(&rng, 8)], sizes[fc_rng_below(&rng, 9)], 1 + fc_rng_below(&rng, 60), kinds,
						  1 + fc_rng_below(&rng, MOST_FACTORS), seed);
		check_midway(&o, seed);
		slice_factors(&o);
		check_projection(&o, seed);
		check_midway(&o, seed);
		free_operator(&o);
	}
}

/* Sums of positive values along positive rows only grow, and so does their rounding. */
static void
test_positive(void)
{
	static const pattern kinds[] = {HALF_EQUAL, HALF_EQUAL};

	for (uint64_t seed = 0; seed < 6; seed++)
	{
		random_operator o = make_operator(40, seed % 2 == 0 ? 8000 : 3000, 40, kinds, 1 + seed % 2, seed);

		check_midway(&o, seed);
		slice_factors(&o);
		check_midway(&o, seed);
		free_operator(&o);
	}
}

/* Scores that are sums of both infinities: labels by all exact centroids are still those of the least distance. */
static void
test_overflow(void)
{
	static const pattern kind[] = {HALF_EQUAL};
	random_operator o = make_operator(4, 400, 1, kind, 1, 0);
	fc_factor  *factor = &o.op.factor[0];
	float	   *values = own(&o, factor->nonzeros, sizeof(float));
	float	   *rows = own(&o, 4 * 400, sizeof(float));
	float	   *scratch;
	fc_operator codebook = {.k = 4,.d = 400,.factors = 1,.factor = {{.rows = 4,.columns = 400,.nonzeros = 1600,.values = rows}}};
	double		x[400] = {0};
	size_t		label;

	for (size_t p = 0; p < factor->nonzeros; p++)
		values[p] = 1.6e18f;
	factor->values = values;
	fc_operator_half_norms(&o.op, o.scratch, own(&o, 4, sizeof(float)));
	for (size_t r = 0; r < 4; r++)
		for (size_t p = factor->row_start[r]; p < factor->row_start[r + 1]; p++)
			rows[r * 400 + fc_factor_column(factor, p)] = values[p];
	fc_operator_half_norms(&codebook, o.scratch, own(&o, 4, sizeof(float)));
	CHECK(fc_operator_attach_exact(&o.op, &codebook, 4, NULL, o.scratch, own(&o, 4, sizeof(float)), own(&o, 4, sizeof(float))) == FC_OK, "kept");
	for (size_t p = 0; p < factor->row_start[1]; p++)
		x[fc_factor_column(factor, p)] = p % 2 == 0 ? 9e18 : -9e18;
	scratch = own(&o, fc_operator_scratch(&o.op), sizeof(float));
	label = fc_operator_assign(&o.op, x, scratch);
	for (size_t j = 0; j < 4; j++)
		CHECK(label < 4 && fc_operator_distance(&o.op, label, x, scratch) <= fc_operator_distance(&o.op, j, x, scratch), "label %zu, nearer is %zu", label, j);
	free_operator(&o);
}

int
main(void)
{
	test_shapes();
	test_positive();
	test_overflow();
	return unit_finish();
}

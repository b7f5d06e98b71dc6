/*
 * random_operator.h - operators with random factors, among them full and empty
 * rows and columns, and labels found by all distances as a reference
 */
#ifndef RANDOM_OPERATOR_H
#define RANDOM_OPERATOR_H

#include "operator/operator.h"
#include "unit.h"

#define MAX_FACTORS	4

typedef enum pattern
{
	DENSE,
	HUBS,						/* every thirteenth row is full, the others nearly empty */
	COLUMN_HUBS,				/* every thirteenth column is full */
	ONE_EACH,
	HALF_EQUAL,					/* half of the entries, all with the same value */
	PATTERNS
} pattern;

typedef struct random_operator
{
	fc_operator op;
	double	   *product;		/* k x d */
	fc_scratch	scratch;
	fc_arena	arena;			/* memory of the sliced factors */
} random_operator;

static inline void
slice_operator(random_operator *o)
{
	o->arena = unit_arena();
	fc_operator_slice(&o->op, &o->arena);
}

static inline bool
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

static inline fc_factor
make_factor(size_t rows, size_t columns, pattern kind, fc_rng *rng)
{
	float	   *values = unit_alloc(rows * columns, sizeof(float));
	uint32_t   *start = unit_alloc(rows + 1, sizeof(uint32_t));
	uint16_t   *column = unit_alloc(rows * columns, sizeof(uint16_t));
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

/* Returns left (k x rows) times the factor. */
static inline double *
times(const double *left, size_t k, const fc_factor *factor)
{
	double	   *out = unit_alloc(k * factor->columns, sizeof(double));

	for (size_t r = 0; r < factor->rows; r++)
	{
		size_t		start = factor->row_start != NULL ? factor->row_start[r] : r * factor->columns;
		size_t		end = factor->row_start != NULL ? factor->row_start[r + 1] : start + factor->columns;

		for (size_t p = start; p < end; p++)
			for (size_t j = 0; j < k; j++)
				out[j * factor->columns + (factor->row_start != NULL ? fc_factor_column(factor, p) : p - start)] +=
					left[j * factor->rows + r] * (double) factor->values[p];
	}
	return out;
}

/* Returns the product of the factors, k x d. */
static inline double *
multiply_out(const fc_operator *op)
{
	double	   *left = unit_alloc(op->k * op->k, sizeof(double));

	for (size_t j = 0; j < op->k; j++)
		left[j * op->k + j] = 1.0;
	for (size_t f = 0; f < op->factors; f++)
		left = times(left, op->k, &op->factor[f]);
	return left;
}

/*
 * Makes an operator with a factor for each of `kinds` and `inner` rows and
 * columns between neighbouring factors.
 */
static inline random_operator
make_operator(size_t k, size_t d, size_t inner, const pattern *kinds, size_t factors, uint64_t seed)
{
	random_operator o = {.op = {.k = k,.d = d,.factors = factors}};
	fc_rng		rng = fc_rng_start(seed, 11);

	for (size_t f = 0; f < factors; f++)
		o.op.factor[f] = make_factor(f == 0 ? k : inner, f + 1 == factors ? d : inner, kinds[f], &rng);
	o.scratch = unit_scratch(fc_operator_scratch(&o.op));
	o.product = multiply_out(&o.op);
	fc_operator_measure(&o.op, o.scratch, unit_alloc(k, sizeof(float)));
	return o;
}

/*
 * Returns the centroid with the smallest fc_operator_distance; ties go to the
 * lowest number.
 */
static inline size_t
nearest_by_distance(const fc_operator *op, const double *x, fc_scratch scratch)
{
	double		best = INFINITY;
	size_t		label = 0;

	for (size_t j = 0; j < op->k; j++)
	{
		double		distance = fc_operator_distance(op, j, x, scratch);

		if (distance < best)
		{
			best = distance;
			label = j;
		}
	}
	return label;
}

/*
 * Checks that all functions that label a row agree with nearest_by_distance
 * for each of n rows. own: scratch for one row.
 */
static inline void
check_labels(const fc_operator *op, fc_scratch own, const double *x, size_t n, const char *what)
{
	fc_operator expanded = *op;
	float	   *rows = unit_alloc(op->k * op->d, sizeof(float));
	int32_t    *labels = unit_alloc(n, sizeof(int32_t));
	fc_scratch	scratch = unit_scratch(fc_operator_batch_scratch(op, n));
	size_t		wrong[3] = {0};

	fc_operator_expand(&expanded, own, rows);
	fc_operator_assign_batch(op, x, n, scratch, labels);
	for (size_t i = 0; i < n; i++)
	{
		const double *row = x + i * op->d;
		size_t		expected = nearest_by_distance(&expanded, row, own);
		int32_t		first;
		double		distance;

		fc_operator_nearest(op, row, 1, own, &first, &distance);
		wrong[0] += fc_operator_assign(op, row, own) != expected;
		wrong[1] += (size_t) labels[i] != expected;
		wrong[2] += (size_t) first != expected || distance != fc_operator_distance(&expanded, expected, row, own);
	}
	CHECK(wrong[0] == 0, "%s: assign wrong in %zu of %zu", what, wrong[0], n);
	CHECK(wrong[1] == 0, "%s: a batch wrong in %zu of %zu", what, wrong[1], n);
	CHECK(wrong[2] == 0, "%s: nearest wrong in %zu of %zu", what, wrong[2], n);
}

#endif							/* RANDOM_OPERATOR_H */

/* random_operator.h - operators of random shape: hubs, empty rows and columns, duplicates */
#ifndef RANDOM_OPERATOR_H
#define RANDOM_OPERATOR_H

#include "operator/operator.h"
#include "unit.h"

#define MOST_FACTORS	4

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
	fc_scratch	scratch;
	fc_arena	arena;			/* of slices */
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

/* left (k x rows) times the factor. */
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

/* The product of the factors, k x d. */
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

/* kinds: one a factor, `inner` rows and columns between them. */
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

#endif							/* RANDOM_OPERATOR_H */

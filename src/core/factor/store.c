/* store.c - training products as operators of floats; see factorize.h */
#include "factor/factorize.h"

#include <math.h>
#include <string.h>

#include "base/pieces.h"

size_t
fc_stored_worksize(const fc_factors *factors)
{
	size_t		size = 0;

	for (size_t q = 0; q < factors->count; q++)
		size += factors->factor[q].plain.nonzeros * (sizeof(float) + sizeof(uint32_t)) +
			(factors->factor[q].plain.rows + 1) * sizeof(uint32_t) + 3 * 64;
	return size;
}

/* A factor without zeros is stored as a dense one. */
static void
store_factor(const fc_sparse *s, double scale, fc_arena *arena, fc_factor *out)
{
	bool		full = s->nonzeros == s->rows * s->columns;
	float	   *values = FC_TAKE(arena, s->nonzeros, float);
	uint32_t   *column = FC_TAKE(arena, s->nonzeros, uint32_t);
	uint32_t   *row_start = FC_TAKE(arena, s->rows + 1, uint32_t);

	for (size_t p = 0; p < s->nonzeros; p++)
	{
		if (p % FC_PACE == FC_PACE - 1)
			fc_check();
		values[p] = (float) (s->value[p] * scale);
	}
	fc_copy_pieces(column, s->column, s->nonzeros * sizeof(uint32_t));
	memcpy(row_start, s->row_start, (s->rows + 1) * sizeof(uint32_t));
	*out = (fc_factor) {.rows = s->rows,.columns = s->columns,.nonzeros = s->nonzeros,.values = values,
	.row_start = full ? NULL : row_start,.column = full ? NULL : column};
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

		store_factor(&factors->factor[q].plain, q == 0 && factors->lambda < 0.0 ? -own : own,
										  arena, &out->factor[q]);
	}
}

void
fc_relative_error(const fc_target *target, const fc_operator *op, fc_scratch scratch, double *relative)
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
	*relative = whole > 0.0 ? sqrt(rest / whole) : 0.0;
}

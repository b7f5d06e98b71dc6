/*
 * prepared.c - a codebook prepared once for many rows: packs, bounds for many
 * centroids, a k-d tree for very many, columns for sparse rows; see operator.h
 */
#include "operator/internal.h"

#include "numerics/kdtree.h"
#include "numerics/pruning.h"
#include "numerics/rows.h"

/*
 * Maximum size of a packed codebook in floats, 1 MB, which should stay in the
 * second-level cache. A guess.
 */
#define MAX_PACKED	((size_t) 1 << 18)

/*
 * Side of the square tiles in which rows are transposed: the number of floats
 * in a cache line.
 */
#define TURNED	16

static bool
is_boxed(const fc_operator *op)
{
	return fc_operator_is_plain(op) && op->metric != FC_INNER_PRODUCT &&
		fc_packed_kdtree_suits(op->k, op->d);
}

size_t
fc_operator_prune_worksize(const fc_operator *op)
{
	fc_arena	measure = fc_arena_measure();
	fc_packed_kdtree kdtree;

	if (is_boxed(op))
		fc_packed_kdtree_take(&measure, op->k, op->d, &kdtree);
	else if (fc_operator_is_plain(op) && op->metric != FC_INNER_PRODUCT &&
			 fc_pruning_suits(op->k, op->d))
		fc_arena_reserve(&measure, fc_pruning_worksize(op->k, op->d));
	else
		return 0;
	return fc_arena_measured(&measure);
}

void
fc_operator_prune(fc_operator *op, fc_arena *arena)
{
	fc_pruning *pruning;

	op->pruning = NULL;
	op->kdtree = NULL;
	if (is_boxed(op))
	{
		fc_packed_kdtree *kdtree = FC_TAKE(arena, 1, fc_packed_kdtree);

		fc_packed_kdtree_take(arena, op->k, op->d, kdtree);
		fc_packed_kdtree_build(kdtree, op->factor[0].values);
		op->kdtree = kdtree;
		return;
	}
	pruning = FC_TAKE(arena, 1, fc_pruning);

	if (fc_pruning_build(op->factor[0].values, op->offset, op->k, op->d, true,
						 arena, pruning))
		op->pruning = pruning;
}

void
fc_operator_pack(fc_operator *op, fc_arena *arena)
{
	float	   *packs;

	if (!fc_operator_is_plain(op) || is_boxed(op) ||
		op->k * op->d > MAX_PACKED)
		return;
	packs = FC_TAKE(arena, fc_packs_floats(op->k, op->d), float);
	fc_packs_build(op->factor[0].values, op->half_norms, op->k, op->d, packs);
	op->packs = packs;
}

/* ---- columns ---- */

size_t
fc_columns_worksize(const fc_operator *op)
{
	fc_operator book;

	return !fc_operator_is_plain(fc_operator_deciding(op, &book))
		? 0
		: op->k * (op->d * sizeof(float) + sizeof(double)) + 2 * 64;
}

void
fc_columns_make(const fc_operator *op, fc_arena *arena, fc_columns *columns)
{
	fc_operator book;
	const float *rows = fc_operator_deciding(op, &book)->factor[0].values;
	const double *offset = fc_operator_deciding(op, &book)->offset;
	double		longest = 0.0;
	float	   *values = FC_TAKE(arena, op->k * op->d, float);
	double	   *constants = FC_TAKE(arena, op->k, double);

	for (size_t j = 0; j < op->k; j += TURNED)
		for (size_t i = 0; i < op->d; i += TURNED)
		{
			for (size_t c = i; c < op->d && c < i + TURNED; c++)
				for (size_t r = j; r < op->k && r < j + TURNED; r++)
					values[c * op->k + r] = rows[r * op->d + c];
			fc_check();			/* each value may cost a cache miss */
		}
	for (size_t j = 0; j < op->k; j++)
	{
		const float *v = rows + j * op->d;

		double		square = fc_row_square(v, op->d);

		constants[j] = op->metric == FC_INNER_PRODUCT ? 0.0 : 0.5 * square;
		for (size_t i = 0;
			 op->metric != FC_INNER_PRODUCT && offset != NULL && i < op->d; i++)
			constants[j] += (double) v[i] * offset[i];
		longest = fmax(longest, sqrt(square));
		fc_check();
	}
	*columns = (fc_columns)
	{
		op->k, op->d, values, constants,
			longest + fc_offset_length(offset, op->d)
	};
}

double
fc_columns_score(const fc_columns *columns, const fc_sparse_row *x,
				 double *scores)
{
	double		square = 0.0;
	double		far;

	for (size_t j = 0; j < columns->k; j++)
		scores[j] = columns->constants[j];
	for (size_t p = 0; p < x->count; p++)
	{
		fc_axpy(-x->values[p], columns->values + x->indices[p] * columns->k,
				columns->k, scores);
		square += x->values[p] * x->values[p];
	}

	/*
	 * A score and half a distance in double are each sums of at most 2 * d +
	 * 8 terms, whose magnitudes add up to less than far^2.
	 */
	far = sqrt(square) + columns->reach;
	return 4.0 * ((double) columns->d + 16.0) * FC_EXP2_MINUS(53) * far * far +
		FC_EXP2_MINUS(1000);
}

/* lowrank.c - truncated SVD and pruning; see internal.h */
#include "factor/internal.h"

#include "numerics/principal.h"

/* Number of columns of a row's residual that are computed together. */
#define CHUNK	64

static double
weight_of(const fc_target *target, size_t j)
{
	return target->weight != NULL ? target->weight[j] : 1.0;
}

size_t
fc_rank_within(size_t k, size_t d, size_t budget)
{
	return larger(1, smaller(budget / (k + d), smaller(k, d)));
}

/*
 * Returns the squared length of u - left right. Sums the squares value by
 * value, because the difference of the squared lengths of u and left would
 * suffer from cancellation.
 */
static double
square_left(const double *u, const float *left, const float *right, size_t rank,
			size_t d)
{
	double		square = 0.0;

	for (size_t first = 0; first < d; first += CHUNK)
	{
		size_t		count = d - first < CHUNK ? d - first : CHUNK;
		double		rest[CHUNK];

		for (size_t i = 0; i < count; i++)
			rest[i] = u[first + i];
		for (size_t r = 0; r < rank; r++)
			for (size_t i = 0; i < count; i++)
				rest[i] -= (double) left[r] * (double) right[r * d + first + i];
		for (size_t i = 0; i < count; i++)
			square += rest[i] * rest[i];
	}
	return square;
}

/*
 * Computes left_j = right u_j for each row u_j of U. Adds the weighted squared
 * length of the residuals to sums[0], and the weighted squared length of the
 * rows of U to sums[1].
 */
static void
project_rows(const fc_target *target, size_t rank, const float *right,
			 float *left, double sums[2])
{
	for (size_t j = 0; j < target->k; j++)
	{
		const double *u = target->u + j * target->d;
		double		norm = fc_sum_of_squares(u, target->d);

		fc_check();
		for (size_t r = 0; r < rank; r++)
		{
			double		along = 0.0;

			for (size_t i = 0; i < target->d; i++)
				along += u[i] * (double) right[r * target->d + i];
			left[j * rank + r] = (float) along;
		}
		sums[0] += weight_of(target, j) *
			square_left(u, left + j * rank, right, rank, target->d);
		sums[1] += weight_of(target, j) * norm;
	}
}

void
fc_lowrank(const fc_target *target, size_t rank, uint64_t seed,
		   fc_arena *arena, float *left, float *right, double *relative)
{
	fc_mark		used = fc_arena_mark(arena);
	float	   *x = FC_TAKE(arena, target->k * target->d, float);
	double		sums[2] = {0};

	for (size_t j = 0; j < target->k; j++)
	{
		fc_check();
		for (size_t i = 0; i < target->d; i++)
			x[j * target->d + i] = (float) (sqrt(weight_of(target, j)) *
											target->u[j * target->d + i]);
	}
	fc_principal_axes(x, target->k, target->d, rank, seed, arena, right);
	fc_arena_release(arena, used);
	project_rows(target, rank, right, left, sums);
	*relative = sums[1] > 0.0 ? sqrt(sums[0] / sums[1]) : 0.0;
}

double
fc_equal_svd(const fc_target *target, size_t values, uint64_t seed,
			 fc_arena *arena)
{
	fc_mark		used = fc_arena_mark(arena);
	size_t		rank = fc_rank_within(target->k, target->d, values);
	float	   *left = FC_TAKE(arena, target->k * rank, float);
	float	   *right = FC_TAKE(arena, rank * target->d, float);
	double		relative;

	fc_lowrank(target, rank, seed, arena, left, right, &relative);
	if (values < target->k + target->d)
		relative = relative > 0.0 ? 1.0 : 0.0;
	fc_arena_release(arena, used);
	return relative;
}

void
fc_prune(const fc_target *target, size_t budget, fc_arena *arena,
		 fc_factors *factors)
{
	double	   *weighted = FC_TAKE(arena, target->k * target->d, double);
	fc_sparse_pair *a = &factors->factor[0];

	factors->count = 1;
	factors->lambda = 1.0;
	fc_sparse_pair_take(arena, target->k, target->d,
						smaller(budget, target->k * target->d), a);
	for (size_t j = 0; j < target->k; j++)
	{
		fc_check();
		for (size_t i = 0; i < target->d; i++)
			weighted[j * target->d + i] = sqrt(weight_of(target, j)) *
				target->u[j * target->d + i];
	}
	fc_largest_of_all(weighted, budget, arena, &a->plain);
	for (size_t j = 0; j < target->k; j++)
	{
		fc_check();
		for (size_t p = a->plain.row_start[j]; p < a->plain.row_start[j + 1];
			 p++)
			a->plain.value[p] = target->u[j * target->d + a->plain.column[p]];
	}
	fc_sparse_pair_changed(a);
}

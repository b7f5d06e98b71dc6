/*
 * butterfly.c - fixed supports and rank-1 approximations; see internal.h.
 *
 * The matrix is split level by level. At each level, there are 2^level blocks
 * of `height` rows over disjoint ranges of columns, stored side by side in one
 * height x columns matrix. A split cuts the columns of each block into two
 * halves, and reduces each half to half the rows. In each half of the columns,
 * rows a and b of the block, with indices i and i + half, form a piece. The
 * piece is replaced by its best approximation of rank 1,
 *     (x, y)' (x a + y b),
 * where (x, y) is the leading eigenvector of the 2 x 2 Gram matrix of a and b.
 */
#include "factor/internal.h"

typedef struct butterfly_work
{
	fc_arena   *arena;
	size_t		rows;
	size_t		columns;
	size_t		level;
	size_t		height;
	double	   *m;				/* height x columns: blocks side by side */
	fc_factors *factors;
} butterfly_work;

/*
 * Returns the index of the first column that belongs to block b of 2^level
 * blocks.
 */
static size_t
range_start(size_t columns, size_t level, size_t b)
{
	return (size_t) (((unsigned __int128) b * columns) >> level);
}

/*
 * Fits one piece, which has rows a and b and `count` columns. Replaces a by *x
 * * a + *y * b. If b is NULL, the piece has only row a, and *x = 1, *y = 0.
 */
static void
fit_piece(double *a, const double *b, size_t count, double *x, double *y)
{
	double		gram[3] = {0};
	double		angle;

	*x = 1.0;
	*y = 0.0;
	if (b == NULL)
		return;
	for (size_t i = 0; i < count; i++)
	{
		gram[0] += a[i] * a[i];
		gram[1] += a[i] * b[i];
		gram[2] += b[i] * b[i];
	}
	/* direction of the leading eigenvector */
	angle = 0.5 * atan2(2.0 * gram[1], gram[0] - gram[2]);
	*x = cos(angle);
	*y = sin(angle);
	for (size_t i = 0; i < count; i++)
		a[i] = *x * a[i] + *y * b[i];
}

/*
 * Splits every block, and adds the left factor of these splits to w->factors.
 * Rows i and i + half of block b (rows b * height + i and b * height + i +
 * half of the factor) have entries in columns (2 b + side) * half + i, where
 * side is 0 or 1.
 */
static void
split(butterfly_work *w)
{
	size_t		half = (w->height + 1) / 2;
	size_t		blocks = (size_t) 1 << w->level;
	fc_sparse_pair *s = &w->factors->factor[w->factors->count];

	fc_sparse_pair_take(w->arena, blocks * w->height, 2 * blocks * half,
						2 * blocks * w->height, s);
	for (size_t r = 0; r <= s->plain.rows; r++)
		s->plain.row_start[r] = (uint32_t) (2 * r);
	s->plain.nonzeros = 2 * s->plain.rows;
	for (size_t b = 0; b < blocks; b++)
	{
		fc_check();
		for (size_t side = 0; side < 2; side++)
		{
			size_t		first = range_start(w->columns, w->level + 1, 2 * b + side);
			size_t		count = (range_start(w->columns, w->level + 1,
											 2 * b + side + 1) -
								 first);

			for (size_t i = 0; i < half; i++)
			{
				double		pair[2];
				bool		two = i + half < w->height;
				size_t		column = (2 * b + side) * half + i;

				fc_check();
				fit_piece(w->m + i * w->columns + first,
						  two ? w->m + (i + half) * w->columns + first : NULL,
						  count, &pair[0], &pair[1]);
				for (size_t k = 0; k < (two ? 2 : 1); k++)
				{
					size_t		at = 2 * (b * w->height + i + k * half) + side;

					s->plain.column[at] = (uint32_t) column;
					s->plain.value[at] = pair[k];
				}
			}
		}
	}
	w->factors->count++;
	w->height = half;
	w->level++;
	fc_sparse_pair_changed(s);
}

/*
 * Adds the last factor to w->factors: the blocks that remain, `height` rows
 * each.
 */
static void
close_chain(butterfly_work *w)
{
	size_t		blocks = (size_t) 1 << w->level;
	fc_sparse_pair *s = &w->factors->factor[w->factors->count];
	size_t		count = 0;

	fc_sparse_pair_take(w->arena, blocks * w->height, w->columns,
						w->height * w->columns, s);
	for (size_t b = 0; b < blocks; b++)
		for (size_t r = 0; r < w->height; r++)
		{
			fc_check();
			for (size_t c = range_start(w->columns, w->level, b);
				 c < range_start(w->columns, w->level, b + 1); c++)
			{
				s->plain.column[count] = (uint32_t) c;
				s->plain.value[count++] = w->m[r * w->columns + c];
			}
			s->plain.row_start[b * w->height + r + 1] = (uint32_t) count;
		}
	s->plain.nonzeros = count;
	w->factors->count++;
	fc_sparse_pair_changed(s);
}

/*
 * Returns the square root of the weight of row j, or 1 if it has no weight.
 * Rows are multiplied by it before the fit and divided by it afterwards.
 */
static double
root_weight(const fc_target *target, size_t j)
{
	return target->weight != NULL && target->weight[j] > 0.0
		? sqrt(target->weight[j])
		: 1.0;
}

void
fc_butterfly(const fc_target *target, fc_arena *arena, fc_factors *factors)
{
	bool		transpose = target->k > target->d;
	butterfly_work w = {.arena = arena,.factors = factors};
	fc_sparse_pair *first = &factors->factor[0];

	w.rows = transpose ? target->d : target->k;
	w.columns = transpose ? target->k : target->d;
	w.height = w.rows;
	w.m = FC_TAKE(arena, w.rows * w.columns, double);
	for (size_t j = 0; j < target->k; j++)
	{
		fc_check();
		for (size_t i = 0; i < target->d; i++)
			w.m[transpose ? i * target->k + j
				: j * target->d + i] = root_weight(target, j) *
				target->u[j * target->d + i];
	}
	factors->count = 0;
	factors->lambda = 1.0;
	while (w.height > 2)
		split(&w);
	close_chain(&w);
	if (transpose)
		fc_factors_transpose(factors);
	for (size_t j = 0; j < target->k; j++)
		for (size_t p = first->plain.row_start[j];
			 p < first->plain.row_start[j + 1]; p++)
			first->plain.value[p] /= root_weight(target, j);
	fc_sparse_pair_changed(first);
}

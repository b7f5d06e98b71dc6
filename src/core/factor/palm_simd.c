/*
 * palm_simd.c - the passes of palm4MSA over its dense matrices, and the search
 * of matching pursuit.
 *
 * The dense matrices are stored as panels. A panel is a tile (rows x
 * FC_TILE_COLUMNS, row by row) of successive columns; panels start w->panel
 * values apart. When a sparse matrix is multiplied by a panel, the rows that
 * it reads are thus contiguous. inner is the dimension between two factors.
 *     y: R U' (inner x k), the transpose of Y;
 *     h: H = R R';
 *     product: S_q H or S_q R U'.
 */
#include "factor/internal.h"

#include "base/simd.h"

typedef double vdouble
			__attribute__((vector_size(FC_WIDE_VECTOR_BYTES), aligned(8), may_alias));

#define LANES	(FC_WIDE_VECTOR_BYTES / 8)
#define PARTS	(FC_TILE_COLUMNS / LANES)

/*
 * Computes y = a x, where x and y are tiles. The FC_TILE_COLUMNS sums of a row
 * stay in registers.
 */
FC_CLONES
static void
times(const fc_sparse *a, const double *x, double *y)
{
	size_t		p = 0;

	for (size_t r = 0; r < a->rows; r++)
	{
		vdouble		sum[PARTS] = {{0}};

		for (; p < a->row_start[r + 1]; p++)
			for (size_t v = 0; v < PARTS; v++)
				sum[v] += *(const vdouble *) (x +
											  (size_t) a->column[p] *
											  FC_TILE_COLUMNS +
											  LANES * v) *
					a->value[p];
		for (size_t v = 0; v < PARTS; v++)
			*(vdouble *) (y + r * FC_TILE_COLUMNS + LANES * v) = sum[v];
	}
}

/* ---- transposition ---- */

/*
 * Stores the transpose of `count` rows of a tile in the first columns of `to`
 * (FC_TILE_COLUMNS x FC_TILE_COLUMNS). Sets the other columns of `to` to zero.
 */
static void
transpose_tile(const double *from, size_t count, double *to)
{
	for (size_t c = 0; c < FC_TILE_COLUMNS; c++)
	{
		for (size_t i = 0; i < count; i++)
			to[c * FC_TILE_COLUMNS + i] = from[i * FC_TILE_COLUMNS + c];
		for (size_t i = count; i < FC_TILE_COLUMNS; i++)
			to[c * FC_TILE_COLUMNS + i] = 0.0;
	}
}

/*
 * Fills a tile (columns x FC_TILE_COLUMNS) with the transpose of rows first ..
 * first + count - 1 of a matrix whose panels are `stride` values apart.
 */
static void
transpose_tile_rows(const double *panels, size_t stride, size_t columns, size_t first,
					size_t count, double *tile)
{
	for (size_t c = 0; c < columns; c += FC_TILE_COLUMNS)
	{
		double		block[FC_TILE_COLUMNS * FC_TILE_COLUMNS];
		bool		whole = c + FC_TILE_COLUMNS <= columns;

		transpose_tile(panels + c / FC_TILE_COLUMNS * stride + first * FC_TILE_COLUMNS,
					   count, whole ? tile + c * FC_TILE_COLUMNS : block);
		if (!whole)
			memcpy(tile + c * FC_TILE_COLUMNS, block,
				   (columns - c) * FC_TILE_COLUMNS * sizeof(double));
	}
}

/* ---- chains of factors ---- */

static inline double *
other_tile(const fc_palm_work *w, const double *tile)
{
	return tile == (const double *) w->tile[0] ? w->tile[1] : w->tile[0];
}

/*
 * up multiplies the tile x by the product of factors 0 .. q - 1, down by the
 * transpose of this product. Both return the tile with the result.
 */
static double *
up(fc_palm_work *w, size_t q, double *x)
{
	for (size_t l = q; l-- > 0;)
	{
		double	   *y = other_tile(w, x);

		times(&w->factors->factor[l].plain, x, y);
		x = y;
	}
	return x;
}

static double *
down(fc_palm_work *w, size_t q, double *x)
{
	for (size_t l = 0; l < q; l++)
	{
		double	   *y = other_tile(w, x);

		times(&w->factors->factor[l].transposed, x, y);
		x = y;
	}
	return x;
}

/*
 * Fills a tile with columns first .. first + count - 1 of a factor, given its
 * transpose.
 */
static void
sparse_columns(const fc_sparse *transposed, size_t first, size_t count,
			   double *tile)
{
	memset(tile, 0, transposed->columns * FC_TILE_COLUMNS * sizeof(double));
	for (size_t c = 0; c < count; c++)
		for (size_t p = transposed->row_start[first + c];
			 p < transposed->row_start[first + c + 1]; p++)
			tile[transposed->column[p] * FC_TILE_COLUMNS + c] = transposed->value[p];
}

/* ---- the gradient of a factor ---- */

/*
 * Replaces each row j < count of the tile x by scale * weight[j] * (lambda * x
 * - y), where y is a tile of the same shape. All weights are 1 if weight is
 * NULL.
 */
FC_CLONES
static void
scaled_residual(double *x, const double *y, size_t count, double lambda,
				const double *weight, double scale)
{
	for (size_t j = 0; j < count; j++)
	{
		double		factor = weight != NULL ? weight[j] * scale : scale;

		for (size_t i = 0; i < FC_TILE_COLUMNS; i++)
			x[j * FC_TILE_COLUMNS + i] = factor *
				(lambda * x[j * FC_TILE_COLUMNS + i] -
				 y[j * FC_TILE_COLUMNS + i]);
	}
}

/*
 * Computes columns first .. first + count - 1 of -(lambda / c) * L' W (lambda
 * L S_q H - Y), the change of S_q by the gradient step (palm.c). Returns their
 * tile, which has as many rows as S_q.
 */
static double *
gradient(fc_palm_work *w, size_t q, double c, size_t first, size_t count)
{
	const fc_sparse_pair *s = &w->factors->factor[q];
	bool		last = q + 1 == w->factors->count;
	double		lambda = w->factors->lambda;
	const double *weight = w->target->weight;
	double	   *x = w->tile[0];

	if (last)
		sparse_columns(&s->transposed, first, count, x);
	else
		times(&w->factors->factor[q].plain,
			  w->h + first / FC_TILE_COLUMNS * w->panel, x);
	x = up(w, q, x);
	for (size_t j = 0; j < w->k; j += FC_TILE_COLUMNS)
	{
		double		y[FC_TILE_COLUMNS * FC_TILE_COLUMNS];
		size_t		rows = smaller(FC_TILE_COLUMNS, w->k - j);

		fc_check();
		if (last)
			fc_tile_columns(w->target->u + j * w->d, w->d, rows, first, count,
							y);
		else
			transpose_tile(w->y + j / FC_TILE_COLUMNS * w->panel +
						   first * FC_TILE_COLUMNS,
						   count, y);
		scaled_residual(x + j * FC_TILE_COLUMNS, y, rows, lambda,
						weight != NULL ? weight + j : NULL, -lambda / c);
	}
	return down(w, q, x);
}

/*
 * ---- the largest entries ----
 *
 * Few values enter a list. All values of a row of the tile are therefore first
 * compared with the smallest entry of the row's list, and with the smallest
 * entries of the columns' lists. The values are examined one by one only if at
 * least one of them is greater in magnitude.
 */

/*
 * Inserts an entry into a list in descending order of magnitude, behind equal
 * ones. Returns the magnitude of the last entry.
 */
static inline double
keep(fc_entry *list, size_t capacity, double value, size_t place)
{
	size_t		at = capacity - 1;
	double		size = fabs(value);

	for (; at > 0 && fabs(list[at - 1].value) < size; at--)
		list[at] = list[at - 1];
	list[at] = (fc_entry)
	{
		value, (uint32_t) place
	};
	return fabs(list[capacity - 1].value);
}

FC_CLONES
void
fc_largest_offer(const fc_largest *lists, const double *tile, size_t rows,
				 size_t first, size_t count)
{
	double		min[FC_TILE_COLUMNS] = {0}; /* smallest magnitude in each
											 * column's list */

	for (size_t r = 0; r < rows; r++)
	{
		const double *row = tile + r * FC_TILE_COLUMNS;
		double		in_row = lists->min[r];
		int			any = 0;

		for (size_t i = 0; i < FC_TILE_COLUMNS; i++)
			any |= (row[i] > min[i]) | (row[i] < -min[i]) |
				(row[i] > in_row) | (row[i] < -in_row);
		for (size_t i = 0; any && i < count; i++)
		{
			double		size = fabs(row[i]);

			if (size > in_row)
				in_row = keep(lists->in_row + r * lists->per_row,
							  lists->per_row, row[i], first + i);
			if (size > min[i])
				min[i] = keep(lists->in_column +
							  (first + i) * lists->per_column,
							  lists->per_column, row[i], r);
		}
		lists->min[r] = in_row;
	}
}

/*
 * Computes columns first .. first + count - 1 of D, the gradient step of S_q.
 * internal.h describes where they are stored.
 */
void
fc_palm_step(fc_palm_work *w, size_t q, double c, size_t first, size_t count,
			 double *along)
{
	const fc_sparse *s = &w->factors->factor[q].transposed;
	double	   *x = gradient(w, q, c, first, count);

	for (size_t i = 0; i < count; i++)
		for (size_t p = s->row_start[first + i];
			 p < s->row_start[first + i + 1]; p++)
		{
			double	   *cell = &x[(size_t) s->column[p] * FC_TILE_COLUMNS + i];

			*cell += s->value[p];
			w->stepped[p] = *cell;
			*along += *cell * s->value[p];
		}
	if (w->largest.per_row > 0)
		fc_largest_offer(&w->largest, x, s->columns, first, count);
	else
		fc_tile_to_columns(x, s->columns, first, count, w->step, s->rows);
}

/* ---- products of U and the factors to the right: y = R U', h = R R' ---- */

/*
 * Computes the panel of product = S_q y (S_q U' for the last factor) that
 * starts at column `first`.
 */
void
fc_palm_multiply_y(fc_palm_work *w, size_t q, size_t first, size_t count)
{
	size_t		panel = first / FC_TILE_COLUMNS * w->panel;
	const double *x = w->y + panel;

	if (q + 1 == w->factors->count)
	{
		fc_tile_rows(w->target->u, w->d, w->d, first, count, w->tile[0]);
		x = w->tile[0];
	}
	times(&w->factors->factor[q].plain, x, w->product + panel);
}

/* Computes the panel of product = S_q h that starts at column `first`. */
void
fc_palm_multiply_h(fc_palm_work *w, size_t q, size_t first)
{
	size_t		panel = first / FC_TILE_COLUMNS * w->panel;

	times(&w->factors->factor[q].plain, w->h + panel, w->product + panel);
}

/*
 * Computes the panel of h = S_q (S_q h)' (S_q S_q' for the last factor) that
 * starts at column `first`.
 */
void
fc_palm_grow_h(fc_palm_work *w, size_t q, size_t first, size_t count)
{
	const fc_sparse *s = &w->factors->factor[q].plain;

	if (q + 1 == w->factors->count)
		sparse_columns(s, first, count, w->tile[0]);
	else
		transpose_tile_rows(w->product, w->panel, s->columns, first, count, w->tile[0]);
	times(&w->factors->factor[q].plain, w->tile[0],
		  w->h + first / FC_TILE_COLUMNS * w->panel);
}

/* ---- the ends ---- */

/* Multiplies the rows of a tile by their weights. */
static void
weigh(const fc_palm_work *w, double *tile)
{
	for (size_t j = 0; w->target->weight != NULL && j < w->k; j++)
		for (size_t i = 0; i < FC_TILE_COLUMNS; i++)
			tile[j * FC_TILE_COLUMNS + i] *= w->target->weight[j];
}

/*
 * Computes columns first .. first + count - 1 of the n x n Gram matrix,
 * row-major: H for the first factor, L' W L for the last one.
 */
void
fc_palm_gram(fc_palm_work *w, size_t q, size_t n, size_t first, size_t count,
			 double *gram)
{
	double	   *x = w->tile[0];

	if (q == 0)
		x = w->h + first / FC_TILE_COLUMNS * w->panel;
	else
	{
		memset(x, 0, n * FC_TILE_COLUMNS * sizeof(double));
		for (size_t i = 0; i < count; i++)
			x[(first + i) * FC_TILE_COLUMNS + i] = 1;
		x = up(w, q, x);
		weigh(w, x);
		x = down(w, q, x);
	}
	fc_tile_to_columns(x, n, first, count, gram, n);
}

/*
 * Computes the right-hand sides of lines first .. first + count - 1, n values
 * each: rows of Y for the first factor, columns of L' W U for the last one.
 */
void
fc_palm_right_sides(fc_palm_work *w, size_t q, size_t n, size_t first,
					size_t count, double *side)
{
	double	   *x = w->tile[0];

	if (q == 0)
		x = w->y + first / FC_TILE_COLUMNS * w->panel;
	else
	{
		fc_tile_columns(w->target->u, w->d, w->k, first, count, x);
		weigh(w, x);
		x = down(w, q, x);
	}
	fc_tile_to_rows(x, n, count, side, n);
}

/* ---- the product ---- */

/*
 * Computes columns first .. first + count - 1 of the product of all factors.
 * Returns their tile, k x FC_TILE_COLUMNS.
 */
const double *
fc_palm_product_columns(fc_palm_work *w, size_t first, size_t count)
{
	size_t		last = w->factors->count - 1;

	sparse_columns(&w->factors->factor[last].transposed, first, count,
				   w->tile[0]);
	return up(w, last, w->tile[0]);
}

/* ---- matching pursuit ---- */

/*
 * Number of atoms per block; the correlations of a block stay in the cache. A
 * guess.
 */
#define PURSUED	64

/* Number of lanes in the search for the greatest correlation. */
#define PURSUED_LANES	8

/*
 * Rounding error of a correlation, relative to the greatest correlation at the
 * start.
 */
#define CORRELATION_NOISE	1e-12

FC_CLONES
void
fc_omp_begin(fc_omp *p, const double *b)
{
	size_t		best;

	for (size_t i = 0; i < p->n; i++)
	{
		p->rest[i] = b[i];
		p->left[i] = 1.0;
		p->size[i] = fabs(b[i]) * p->root[i];
	}
	best = fc_omp_best(p);
	p->noise = best < p->n ? CORRELATION_NOISE * p->size[best] : 0.0;
}

FC_CLONES
void
fc_omp_extend(fc_omp *p, size_t atom, const double *cholesky, size_t count)
{
	double		scale = 1.0 / cholesky[count];
	double		z = p->rest[atom] * scale;
	double		noise = p->noise;

	for (size_t first = 0; first < p->n; first += PURSUED)
	{
		size_t		width = p->n - first < PURSUED ? p->n - first : PURSUED;
		const double *gram = p->gram + atom * p->n + first;
		const double *root = p->root + first;
		double	   *rest = p->rest + first;
		double	   *left = p->left + first;
		double	   *size = p->size + first;
		double		row[PURSUED];

		for (size_t i = 0; i < width; i++)
			row[i] = gram[i];
		for (size_t r = 0; r < count; r++)
		{
			const double *other = p->rows + r * p->n + first;

			for (size_t i = 0; i < width; i++)
				row[i] -= cholesky[r] * other[i];
		}
		for (size_t i = 0; i < width; i++)
		{
			double		k = row[i] * scale;

			p->rows[count * p->n + first + i] = k;
			rest[i] -= z * k;
			left[i] -= k * root[i] * k * root[i];
			size[i] = fabs(rest[i]) * root[i];
			size[i] = left[i] > FC_DEPENDENT_SHARE && size[i] > noise ? size[i]
				: 0.0;
		}
	}
	p->size[atom] = 0.0;
	p->left[atom] = 0.0;
}

FC_CLONES
size_t
fc_omp_best(const fc_omp *p)
{
	double		best = 0.0;
	size_t		at = p->n;

	for (size_t first = 0; first < p->n; first += PURSUED)
	{
		size_t		width = p->n - first < PURSUED ? p->n - first : PURSUED;
		const double *size = p->size + first;
		double		max[PURSUED_LANES] = {0};
		double		top = 0.0;
		size_t		i = 0;

		for (; FC_GREATER_NEEDS_LANES && i + PURSUED_LANES <= width;
			 i += PURSUED_LANES)
			for (size_t l = 0; l < PURSUED_LANES; l++)
				max[l] = FC_GREATER(size[i + l], max[l]);
		for (; i < width; i++)
			top = FC_GREATER(size[i], top);
		for (size_t l = 0; l < PURSUED_LANES; l++)
			top = FC_GREATER(max[l], top);
		if (!(top > best))
			continue;
		best = top;
		for (at = first; p->size[at] != top;)
			at++;
	}
	return at;
}

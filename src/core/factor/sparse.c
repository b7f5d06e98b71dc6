/* sparse.c - sparse matrices in double; see palm.h */
#include "factor/palm.h"

void
fc_sparse_take(fc_arena *arena, size_t rows, size_t columns, size_t capacity,
			   fc_sparse *a)
{
	*a = (fc_sparse)
	{
		.rows = rows,.columns = columns,.capacity = capacity
	};
	a->row_start = FC_TAKE_ZEROED(arena, rows + 1, uint32_t);
	a->column = FC_TAKE(arena, capacity, uint32_t);
	a->value = FC_TAKE(arena, capacity, double);
}

void
fc_sparse_pair_take(fc_arena *arena, size_t rows, size_t columns,
					size_t capacity, fc_sparse_pair *a)
{
	fc_sparse_take(arena, rows, columns, capacity, &a->plain);
	fc_sparse_take(arena, columns, rows, capacity, &a->transposed);
}

void
fc_sparse_copy(const fc_sparse *from, fc_sparse *to)
{
	memcpy(to->row_start, from->row_start, (from->rows + 1) * sizeof(uint32_t));
	to->nonzeros = from->nonzeros;
	memcpy(to->column, from->column, from->nonzeros * sizeof(uint32_t));
	memcpy(to->value, from->value, from->nonzeros * sizeof(double));
}

/*
 * Counting sort by column: entries of a column keep the order of their rows.
 */
void
fc_sparse_transpose(const fc_sparse *from, fc_sparse *to)
{
	uint32_t   *next = to->row_start;

	to->nonzeros = from->nonzeros;
	memset(next, 0, (to->rows + 1) * sizeof(uint32_t));
	for (size_t p = 0; p < from->nonzeros; p++)
		next[from->column[p]]++;
	for (size_t r = 0, sum = 0; r <= to->rows; r++)
	{
		size_t		count = next[r];

		next[r] = (uint32_t) sum;
		sum += count;
	}
	for (size_t r = 0; r < from->rows; r++)
	{
		fc_check();
		for (size_t p = from->row_start[r]; p < from->row_start[r + 1]; p++)
		{
			size_t		at = next[from->column[p]]++;

			to->column[at] = (uint32_t) r;
			to->value[at] = from->value[p];
		}
	}
	memmove(next + 1, next, to->rows * sizeof(uint32_t));
	next[0] = 0;
}

void
fc_sparse_pair_changed(fc_sparse_pair *a)
{
	fc_sparse_transpose(&a->plain, &a->transposed);
}

void
fc_sparse_identity(fc_sparse *a)
{
	size_t		order = a->rows < a->columns ? a->rows : a->columns;

	a->nonzeros = order;
	for (size_t r = 0; r <= a->rows; r++)
		a->row_start[r] = (uint32_t) (r < order ? r : order);
	for (size_t p = 0; p < order; p++)
	{
		a->column[p] = (uint32_t) p;
		a->value[p] = 1.0;
	}
}

void
fc_sparse_scale(fc_sparse *a, double scale)
{
	for (size_t p = 0; p < a->nonzeros; p++)
		a->value[p] *= scale;
}

double
fc_sparse_norm(const fc_sparse *a)
{
	return sqrt(fc_sum_of_squares(a->value, a->nonzeros));
}

void
fc_sparse_vector(const fc_sparse *a, const double *x, double *y)
{
	for (size_t r = 0; r < a->rows; r++)
	{
		double		sum = 0.0;

		for (size_t p = a->row_start[r]; p < a->row_start[r + 1]; p++)
			sum += a->value[p] * x[a->column[p]];
		y[r] = sum;
	}
}

/* ---- tiles ---- */

void
fc_tile_columns(const double *matrix, size_t stride, size_t rows, size_t first,
				size_t count, double *tile)
{
	for (size_t r = 0; r < rows; r++)
	{
		memcpy(tile + r * FC_TILE_COLUMNS, matrix + r * stride + first,
			   count * sizeof(double));
		if (count < FC_TILE_COLUMNS)
			memset(tile + r * FC_TILE_COLUMNS + count, 0,
				   (FC_TILE_COLUMNS - count) * sizeof(double));
	}
}

void
fc_tile_to_columns(const double *tile, size_t rows, size_t first, size_t count,
				   double *matrix, size_t stride)
{
	for (size_t r = 0; r < rows; r++)
		memcpy(matrix + r * stride + first, tile + r * FC_TILE_COLUMNS,
			   count * sizeof(double));
}

void
fc_tile_rows(const double *matrix, size_t stride, size_t columns, size_t first,
			 size_t count, double *tile)
{
	if (count < FC_TILE_COLUMNS)
		memset(tile, 0, columns * FC_TILE_COLUMNS * sizeof(double));
	for (size_t block = 0; block < columns; block += FC_TILE_COLUMNS)
		for (size_t r = 0; r < count; r++)
			for (size_t c = block; c < columns && c < block + FC_TILE_COLUMNS;
				 c++)
				tile[c * FC_TILE_COLUMNS + r] = matrix[(first + r) * stride + c];
}

void
fc_tile_to_rows(const double *tile, size_t columns, size_t count,
				double *matrix, size_t stride)
{
	for (size_t block = 0; block < columns; block += FC_TILE_COLUMNS)
		for (size_t r = 0; r < count; r++)
			for (size_t c = block; c < columns && c < block + FC_TILE_COLUMNS;
				 c++)
				matrix[r * stride + c] = tile[c * FC_TILE_COLUMNS + r];
}

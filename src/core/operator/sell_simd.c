/*
 * sell_simd.c - multiplies sparse factors by one vector or by a block of
 * vectors in float, and any factor by one vector or by FC_BLOCK8 vectors in
 * double; see internal.h
 *
 * In a slice, a 64-bit word holds four column indices. The elements of the
 * vector at these indices are loaded one by one: a gather instruction was not
 * faster. A block has FC_BLOCK_ROWS lanes per coordinate. Each function is
 * built for several instruction sets, and the loader picks one.
 */
#include "operator/internal.h"

#include "base/lanes.h"
#include "numerics/rows.h"

#define VECTORS		(FC_BLOCK_ROWS / VECTOR_LANES)

/*
 * Number of rows of a dense factor that are multiplied together and share each
 * read of the vector. A guess.
 */
#define GROUP_ROWS	4

/*
 * Number of vector registers, with 16 lanes in all, that are computed
 * together. A guess.
 */
#define GROUP_VECTORS	(16 / VECTOR_LANES)

/* ---- one row ---- */

/*
 * Computes y = A x row by row; four running sums per row hide the latency of
 * additions.
 */
INLINE void
sparse_rows(const fc_factor *a, const float *x, float *y)
{
	for (size_t r = 0; r < a->rows; r++)
	{
		size_t		p = a->row_start[r];
		size_t		end = a->row_start[r + 1];
		float		sum[4] = {0};

		for (; p + 4 <= end; p += 4)
			for (size_t lane = 0; lane <4; lane ++)
				sum[lane] += a->values[p + lane] *
					x[fc_factor_column(a, p + lane)];
		for (; p < end; p++)
			sum[0] += a->values[p] * x[fc_factor_column(a, p)];
		y[r] = (sum[0] + sum[2]) + (sum[1] + sum[3]);
	}
}

FC_CLONES
void
fc_sparse_apply(const fc_factor *a, const float *x, float *y)
{
	sparse_rows(a, x, y);
}

INLINE vfloat4
pick(const float *x, uint64_t columns)
{
	uint32_t	low = (uint32_t) columns;
	uint32_t	high = (uint32_t) (columns >> 32);

	return (vfloat4)
	{
		x[low & 0xffff], x[low >> 16], x[high & 0xffff],
			x[high >> 16]
	};
}

/*
 * Computes the sum of each lane into scratch; returns the sum of the squares
 * of these sums.
 */
INLINE float
sum_lanes	(const fc_sell *a, const float *x, float *scratch)
{
	vfloat4		square[4] = {{0}};
	size_t		lanes = a->rows + a->added;

	for (size_t lane = 0, s = 0; lane <lanes; lane +=FC_SLICE, s++)
	{
		vfloat4		sum[4] = {{0}};

		for (size_t t = a->start[s]; t < a->start[s + 1]; t++)
			for (size_t q = 0; q < 4; q++)
				sum[q] += *(const vfloat4 *) (a->values + t * FC_SLICE +
											  4 * q) *
					pick(x, a->columns[4 * t + q]);
		for (size_t q = 0; q < 4; q++)
			square[q] += sum[q] * sum[q];
		if (lanes - lane >=FC_SLICE)
			memcpy(scratch + lane, sum, sizeof(sum));
		else
			memcpy(scratch + lane, sum, (lanes - lane) *sizeof(float));
	}
	square[0] = (square[0] + square[1]) + (square[2] + square[3]);
	return (square[0][0] + square[0][2]) + (square[0][1] + square[0][3]);
}

FC_CLONES
float
fc_sell_apply(const fc_sell *a, const float *x, float *y, float *scratch)
{
	float		square = sum_lanes (a, x, scratch);

	for (size_t i = 0; i < a->added; i++)
		scratch[a->target[i]] += scratch[a->rows + i];
	for (size_t i = 0; a->order != NULL && i < a->rows; i++)
		y[a->order[i]] = scratch[i];
	return a->added > 0 ? fc_float_square(scratch, a->rows) : square;
}

/* ---- blocks ---- */

/*
 * Lane indices for shuffles that interleave the first halves of two vectors,
 * and their second halves.
 */
#if FC_VECTOR_BYTES == 16
#define FIRST_IN_TURN	0, 4, 1, 5
#define SECOND_IN_TURN	2, 6, 3, 7
#else
#define FIRST_IN_TURN	0, 8, 1, 9, 2, 10, 3, 11
#define SECOND_IN_TURN	4, 12, 5, 13, 6, 14, 7, 15
#endif

/* Transposes a square matrix, of which each vector holds a row. */
INLINE void
transpose(vfloat v[VECTOR_LANES])
{
	for (int width = 1; width < VECTOR_LANES; width *= 2)
	{
		vfloat		from[VECTOR_LANES];

		memcpy(from, v, sizeof(from));
		for (int i = 0; i < VECTOR_LANES / 2; i++)
		{
			v[2 * i] = FC_SHUFFLE(vint, from[i], from[i + VECTOR_LANES / 2],
								  FIRST_IN_TURN);
			v[2 * i + 1] = FC_SHUFFLE(vint, from[i], from[i + VECTOR_LANES / 2],
									  SECOND_IN_TURN);
		}
	}
}

/*
 * Transposes VECTOR_LANES rows into lanes 0 .. VECTOR_LANES - 1 of each
 * coordinate of a block: out[c * FC_BLOCK_ROWS + r] = rows[r * columns + c].
 */
INLINE void
fill_lanes(const float *rows, size_t columns, float *out)
{
	vfloat		v[VECTOR_LANES];
	size_t		c = 0;

	for (; c + VECTOR_LANES <= columns; c += VECTOR_LANES)
	{
		for (size_t r = 0; r < VECTOR_LANES; r++)
			v[r] = *(const vfloat *) (rows + r * columns + c);
		transpose(v);
		for (size_t r = 0; r < VECTOR_LANES; r++)
			*(vfloat *) (out + (c + r) * FC_BLOCK_ROWS) = v[r];
	}
	for (; c < columns; c++)
		for (size_t r = 0; r < VECTOR_LANES; r++)
			out[c * FC_BLOCK_ROWS + r] = rows[r * columns + c];
}

FC_CLONES
void
fc_block_fill(const float *rows, size_t columns, size_t first, float *out)
{
	for (size_t r = 0; r < 8; r += VECTOR_LANES)
		fill_lanes(rows + r * columns, columns, out + first + r);
}

void
fc_block_empty(const float *block, size_t rows, float *out)
{
	for (size_t lane = 0; lane <FC_BLOCK_ROWS; lane ++)
		for (size_t c = 0; c < rows; c++)
			out[lane *rows + c] = block[c * FC_BLOCK_ROWS + lane];
}

/* Computes y, the product of row r of a sparse factor and the block x. */
INLINE void
sparse_row(const fc_factor *a, size_t r, bool narrow, const float *x, float *y)
{
	vfloat		sum[VECTORS] = {{0}};

	for (size_t p = a->row_start[r]; p < a->row_start[r + 1]; p++)
	{
		const float *run = (x + (narrow ? a->short_column[p] : a->column[p]) *
							FC_BLOCK_ROWS);

		for (size_t i = 0; i < VECTORS; i++)
			sum[i] += a->values[p] * *(const vfloat *) (run + i * VECTOR_LANES);
	}
	for (size_t i = 0; i < VECTORS; i++)
		*(vfloat *) (y + i * VECTOR_LANES) = sum[i];
}

/*
 * Computes y, the product of rows r .. r + count - 1 of a dense factor and the
 * block x, 16 lanes at a time.
 */
INLINE void
dense_rows(const fc_factor *a, size_t r, size_t count, const float *x, float *y)
{
	const float *values = a->values + r * a->columns;

	for (size_t lane = 0; lane <FC_BLOCK_ROWS;
		 lane +=GROUP_VECTORS * VECTOR_LANES)
	{
		vfloat		sum[GROUP_ROWS][GROUP_VECTORS] = {{{0}}};

		for (size_t c = 0; c < a->columns; c++)
			for (size_t i = 0; i < GROUP_VECTORS; i++)
			{
				vfloat		run = (*(const vfloat *) (x + c * FC_BLOCK_ROWS + lane +
													  i * VECTOR_LANES));

				for (size_t j = 0; j < count; j++)
					sum[j][i] += values[j * a->columns + c] * run;
			}
		for (size_t j = 0; j < count; j++)
			for (size_t i = 0; i < GROUP_VECTORS; i++)
				*(vfloat *) (y + j * FC_BLOCK_ROWS + lane +
							 i * VECTOR_LANES) = sum[j][i];
	}
}

/*
 * Computes y, the product of one or more rows of `a`, from row r on, and the
 * block x. Returns the number of these rows, 1 or GROUP_ROWS.
 */
INLINE size_t
some_rows(const fc_factor *a, size_t r, const float *x, float *y)
{
	if (a->short_column != NULL)
		sparse_row(a, r, true, x, y);
	else if (a->row_start != NULL)
		sparse_row(a, r, false, x, y);
	else if (r + GROUP_ROWS <= a->rows)
	{
		dense_rows(a, r, GROUP_ROWS, x, y);
		return GROUP_ROWS;
	}
	else
		dense_rows(a, r, 1, x, y);
	return 1;
}

FC_CLONES
void
fc_block_apply(const fc_factor *a, const float *x, float *y, float *squares)
{
	for (size_t i = 0; squares != NULL && i < FC_BLOCK_ROWS; i++)
		squares[i] = 0.0f;
	for (size_t r = 0; r < a->rows;)
	{
		size_t		end = r + some_rows(a, r, x, y + r * FC_BLOCK_ROWS);

		for (; r < end; r++)
			for (size_t i = 0; squares != NULL && i < FC_BLOCK_ROWS;
				 i += VECTOR_LANES)
				*(vfloat *) (squares +
							 i) += *(const vfloat *) (y + r * FC_BLOCK_ROWS +
													  i) *
					*(const vfloat *) (y + r * FC_BLOCK_ROWS +
									   i);
	}
}

FC_CLONES
void
fc_block_lowest(const fc_factor *a, const float *half_norms, const float *x,
				float *lowest, float *second, int32_t *label)
{
	float		y[GROUP_ROWS * FC_BLOCK_ROWS];

	for (size_t i = 0; i < FC_BLOCK_ROWS; i++)
	{
		lowest[i] = INFINITY;
		second[i] = INFINITY;
		label[i] = 0;
	}
	for (size_t r = 0; r < a->rows;)
	{
		size_t		count = some_rows(a, r, x, y);

		for (size_t j = 0; j < count; j++)
			for (size_t i = 0; i < FC_BLOCK_ROWS; i += VECTOR_LANES)
			{
				vint		number = (vint) {0} +(int32_t) (r + j);

				enter(half_norms[r + j] -
					  *(const vfloat *) (y + j * FC_BLOCK_ROWS + i),
					  number, (vfloat *) (lowest + i), (vfloat *) (second + i),
					  (vint *) (label + i));
			}
		r += count;
	}
}

/* ---- products in double ---- */

/* Adds value * x to one coordinate y of a block, or of a single vector. */
INLINE void
add_multiple(double value, const double *x, double *y, bool block8)
{
	if (!block8)
		*y += value * *x;
	for (size_t i = 0; block8 && i < FC_BLOCK8; i += DOUBLES)
		*(vdouble *) (y + i) += value * *(const vdouble *) (x + i);
}

INLINE bool
all_zero(const double *x, size_t lanes)
{
	for (size_t i = 0; i < lanes; i++)
		if (x[i] != 0.0)
			return false;
	return true;
}

INLINE void
apply(const fc_factor *factor, const double *x, double *y, bool block8)
{
	const size_t lanes = block8 ? FC_BLOCK8 : 1;

	for (size_t r = 0; r < factor->rows; r++)
	{
		const float *row = factor->values + r * factor->columns;
		double		sum[FC_BLOCK8] = {0};

		if (factor->row_start == NULL)
			for (size_t c = 0; c < factor->columns; c++)
				add_multiple((double) row[c], x + c * lanes, sum, block8);
		else
			for (size_t p = factor->row_start[r]; p < factor->row_start[r + 1];
				 p++)
				add_multiple((double) factor->values[p],
							 x + fc_factor_column(factor, p) * lanes, sum,
							 block8);
		memcpy(y + r * lanes, sum, lanes * sizeof(double));
	}
}

INLINE void
apply_left(const fc_factor *factor, const double *x, double *y, bool block8)
{
	const size_t lanes = block8 ? FC_BLOCK8 : 1;

	memset(y, 0, factor->columns * lanes * sizeof(double));
	for (size_t r = 0; r < factor->rows; r++)
	{
		const float *row = factor->values + r * factor->columns;

		if (all_zero(x + r * lanes, lanes))
			continue;
		if (factor->row_start == NULL)
			for (size_t c = 0; c < factor->columns; c++)
				add_multiple((double) row[c], x + r * lanes, y + c * lanes,
							 block8);
		else
			for (size_t p = factor->row_start[r]; p < factor->row_start[r + 1];
				 p++)
				add_multiple((double) factor->values[p], x + r * lanes,
							 y + fc_factor_column(factor, p) * lanes, block8);
	}
}

FC_CLONES
void
fc_block8_apply(const fc_factor *factor, const double *x, double *y)
{
	apply(factor, x, y, true);
}

FC_CLONES
void
fc_block8_apply_left(const fc_factor *factor, const double *x, double *y)
{
	apply_left(factor, x, y, true);
}

FC_CLONES
void
fc_single_apply(const fc_factor *factor, const double *x, double *y)
{
	apply(factor, x, y, false);
}

FC_CLONES
void
fc_single_apply_left(const fc_factor *factor, const double *x, double *y)
{
	apply_left(factor, x, y, false);
}

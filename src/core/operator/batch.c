/*
 * batch.c - labels of many rows at once, and of sparse rows, equal to one row at a time.
 *
 * Scores of a codebook against rows are one matrix product, unless bounds tell most of many centroids apart
 * (screened.c).  Products of several factors, and small codebooks,
 * take FC_BLOCK_ROWS rows through all factors, coordinate by coordinate, and the last factor's
 * results go straight into the two lowest scores of each row.  When those are farther apart
 * than twice the rounding bound (rounding_bounds.c), the lower one is the nearest row; else,
 * and always with exact centroids, the row needs all its scores: they are turned back to rows.
 *
 * Cost: n k d multiply-adds for a codebook, n non-zeros else.
 */
#include "operator/internal.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "base/sizes.h"
#include "numerics/rows.h"
#include "numerics/screen.h"

#define TILE		((size_t) 256)	/* rows, and centroids, of one matrix product */
#define MOST_FLOATS	((size_t) 1 << 25)	/* of blocks; beyond, rows go one by one */
#define ALIGNMENT	((size_t) 64)	/* of blocks, in bytes: a run then fills whole cache lines */
#define FEW_ROWS	8			/* fewer do not fill a block */
#define SMALL_CODEBOOK	((size_t) 1 << 15)	/* numbers, which stay in the cache beside a block: faster than a matrix product */
#define TURNED		16			/* centroids and dimensions of a codebook turned together */

typedef struct tile
{
	float	   *x;				/* rows x d: x - o */
	float	   *dots;			/* rows x TILE */
	float	   *lowest;			/* rows */
	float	   *second;			/* rows */
	float	   *length;			/* rows: ||x - o|| */
	int32_t    *label;			/* rows */
	fc_scratch	single;			/* of one row */
} tile;

typedef struct block
{
	float	   *eight;			/* 8 x d: x - o */
	float	   *x;				/* d x FC_BLOCK_ROWS */
	float	   *work[2];		/* widest inner product x FC_BLOCK_ROWS */
	float	   *dots;			/* k x FC_BLOCK_ROWS */
	float	   *rows;			/* FC_BLOCK_ROWS x k */
	fc_scratch	single;			/* of one row */
	fc_scored	scored[FC_BLOCK_ROWS];
} block;

/* The longest vector between two factors. */
static size_t
inner_width(const fc_operator *op)
{
	size_t		width = 0;

	for (size_t f = 1; f < op->factors; f++)
		width = op->factor[f].rows > width ? op->factor[f].rows : width;
	return width;
}

/* 0: no blocks. */
static size_t
block_floats(const fc_operator *op, size_t n)
{
	size_t		floats = FC_BLOCK_ROWS * (op->d + 2 * inner_width(op) + 2 * op->k) + 8 * op->d;

	return n < FEW_ROWS || floats > MOST_FLOATS ? 0 : floats + ALIGNMENT / sizeof(float);
}

/* Is it labelled by blocks, if these are not too large? */
static inline bool
takes_blocks(const fc_operator *op)
{
	return !fc_operator_is_plain(op) || (op->k * op->d < SMALL_CODEBOOK && op->screen == NULL && op->boxes == NULL);
}

size_t
fc_operator_batch_scratch(const fc_operator *op, size_t n)
{
	size_t		rows = n < TILE ? n : TILE;

	if (takes_blocks(op))
		return fc_operator_scratch(op) + block_floats(op, n);
	return fc_operator_scratch(op) + larger(rows * (op->d + TILE + 4), fc_operator_screened_scratch(op, n));
}

/* ---- codebooks ---- */

/* Labels and the two lowest scores of a tile of rows. */
static void
score_tile(const fc_operator *op, const tile *b, size_t rows, int32_t *labels)
{
	const fc_factor *codebook = &op->factor[0];

	for (size_t r = 0; r < rows; r++)
	{
		b->lowest[r] = INFINITY;
		b->second[r] = INFINITY;
		labels[r] = 0;
	}
	for (size_t first = 0; first < op->k; first += TILE)
	{
		size_t		count = op->k - first < TILE ? op->k - first : TILE;

		fc_operator_pause(rows * count * op->d);
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) rows, (int) count, (int) op->d,
					1.0f, b->x, (int) op->d, codebook->values + first * op->d, (int) op->d,
					0.0f, b->dots, (int) TILE);
		for (size_t r = 0; r < rows; r++)
			fc_two_lowest(b->dots + r * TILE, op->half_norms + first, count, first,
						  b->lowest + r, b->second + r, labels + r);
	}
}

/* Rows without a label, those where it is negative. */
static size_t
count_unlabelled(const int32_t *labels, size_t rows)
{
	size_t		count = 0;

	for (size_t r = 0; r < rows; r++)
		count += labels[r] < 0;
	return count;
}

/* The rows without a label. */
static void
assign_tile(const fc_operator *op, const double *x, size_t rows, const tile *b, int32_t *labels)
{
	size_t		done = 0;
	size_t		next = 0;

	for (size_t r = 0; r < rows; r++)
		if (labels[r] < 0)
		{
			b->length[next] = (float) sqrt(fc_shift_row(x + r * op->d, op->offset, op->d, b->x + next * op->d));
			next++;
		}
	score_tile(op, b, next, b->label);
	next = 0;
	for (size_t at = 0; at < rows; at++)
	{
		size_t		r = next;

		double		length;
		fc_scored	scored;
		double		bound;

		if (labels[at] >= 0)
			continue;
		next++;
		labels[at] = b->label[r];
		length = (double) b->length[r] * (1.0 + 0x1p-23);
		scored = (fc_scored) {.square = length * length};
		bound = 2.0 * (fc_codebook_rounding(op->d, op->max_row_norm, length) + fc_operator_rounding(op, scored));
		/* written so that a NaN takes the single path too */
		if ((double) b->second[r] - (double) b->lowest[r] > bound)
			continue;
		fc_check_every(&done, op->k * op->d);
		labels[at] = (int32_t) fc_operator_assign(op, x + at * op->d, b->single);
	}
}

static void
assign_tiles(const fc_operator *op, const double *x, size_t n, fc_scratch scratch, int32_t *labels)
{
	size_t		rows = n < TILE ? n : TILE;
	size_t		step = op->screen != NULL ? smaller(rows, FC_SCREEN_ROWS) : rows;
	tile		b = {.single = {scratch.floats, fc_operator_scratch(op)}};
	fc_scratch	rest = {scratch.floats + b.single.count, scratch.count - b.single.count};

	b.x = rest.floats;
	b.dots = b.x + rows * op->d;
	b.lowest = b.dots + rows * TILE;
	b.second = b.lowest + rows;
	b.length = b.second + rows;
	b.label = (int32_t *) (b.length + rows);
	for (size_t start = 0; start < n; start += step)
	{
		size_t		count = smaller(step, n - start);
		const double *first = x + start * op->d;

		fc_operator_assign_screened(op, first, count, rest, labels + start);
		if (count_unlabelled(labels + start, count) > 0)
			assign_tile(op, first, count, &b, labels + start);
	}
}

/* Rows one by one. */
static void
assign_each(const fc_operator *op, const double *x, size_t n, fc_scratch scratch, int32_t *labels)
{
	size_t		work = op->k + fc_operator_values(op);
	size_t		done = 0;

	for (size_t r = 0; r < n; r++)
	{
		fc_check_every(&done, work);
		labels[r] = (int32_t) fc_operator_assign(op, x + r * op->d, scratch);
	}
}

/* ---- products ---- */

/* x (d x FC_BLOCK_ROWS) = the rows about the offset; lanes beyond them are zero. */
static void
fill_block(const fc_operator *op, const double *x, size_t rows, block *b)
{
	for (size_t first = 0; first < FC_BLOCK_ROWS; first += 8)
	{
		for (size_t r = 0; r < 8; r++)
			if (first + r < rows)
				b->scored[first + r].square = fc_shift_row(x + (first + r) * op->d, op->offset, op->d, b->eight + r * op->d);
			else
				memset(b->eight + r * op->d, 0, op->d * sizeof(float));
		fc_block_fill(b->eight, op->d, first, b->x);
	}
}

static inline double
squared(double x)
{
	return x * x;
}

/* Everything but the first factor; returns the input of the first. */
static const float *
apply_inner(const fc_operator *op, block *b)
{
	const float *input = b->x;
	float		squares[FC_BLOCK_ROWS];

	for (size_t r = 0; r < FC_BLOCK_ROWS; r++)
		b->scored[r].variance = squared(op->factor[op->factors - 1].error) * b->scored[r].square;
	for (size_t f = op->factors; f-- > 1;)
	{
		fc_operator_pause(FC_BLOCK_ROWS * op->factor[f].nonzeros);
		fc_block_apply(&op->factor[f], input, b->work[f % 2], squares);
		for (size_t r = 0; r < FC_BLOCK_ROWS; r++)
		{
			b->scored[r].variance += squared(op->factor[f - 1].error) * (double) squares[r];
			if (f + 1 == op->factors)
				b->scored[r].inner = (double) squares[r];
		}
		input = b->work[f % 2];
	}
	return input;
}

/* Labels of the rows of a block that are marked, from all their scores. */
static void
choose_marked(const fc_operator *op, const double *x, const bool *marked, size_t rows, const float *input, block *b, int32_t *labels)
{
	size_t		done = 0;

	fc_operator_pause(FC_BLOCK_ROWS * op->factor[0].nonzeros);
	fc_block_apply(&op->factor[0], input, b->dots, NULL);
	fc_block_empty(b->dots, op->k, b->rows);
	for (size_t r = 0; r < rows; r++)
	{
		fc_check_every(&done, op->k);
		if (marked[r])
			labels[r] = (int32_t) fc_operator_choose(op, x + r * op->d, b->scored[r], b->rows + r * op->k, b->single);
	}
}

/* A bound for all rows of a block. */
static double
common_rounding(const fc_operator *op, const block *b, size_t rows)
{
	fc_scored	most = b->scored[0];

	for (size_t r = 1; r < rows; r++)
	{
		most.square = fmax(most.square, b->scored[r].square);
		most.variance = fmax(most.variance, b->scored[r].variance);
	}
	return fc_operator_rounding(op, most);
}

/* The last factor goes straight into the lowest scores; where two are too close, all are needed, as with exact centroids. */
static void
assign_block(const fc_operator *op, const double *x, size_t rows, block *b, int32_t *labels)
{
	float		lowest[FC_BLOCK_ROWS];
	float		second[FC_BLOCK_ROWS];
	int32_t		label[FC_BLOCK_ROWS];
	bool		marked[FC_BLOCK_ROWS];
	bool		any = op->exact.values != NULL;
	double		common;
	const float *input;

	fill_block(op, x, rows, b);
	input = apply_inner(op, b);
	fc_operator_pause(FC_BLOCK_ROWS * op->factor[0].nonzeros);
	if (!any)
		fc_block_lowest(&op->factor[0], op->half_norms, input, lowest, second, label);
	common = any ? 0.0 : common_rounding(op, b, rows);
	for (size_t r = 0; r < rows; r++)
	{
		double		gap = op->exact.values != NULL ? 0.0 : (double) second[r] - (double) lowest[r];

		marked[r] = op->exact.values != NULL || (!(gap > 2.0 * common) && !(gap > 2.0 * fc_operator_rounding(op, b->scored[r])));
		any |= marked[r];
		if (!marked[r])
			labels[r] = label[r];
	}
	if (any)
		choose_marked(op, x, marked, rows, input, b, labels);
}

static void
assign_blocks(const fc_operator *op, const double *x, size_t n, fc_scratch scratch, int32_t *labels)
{
	block		b = {.single = {scratch.floats, fc_operator_scratch(op)}};

	b.x = (float *) (((uintptr_t) (scratch.floats + b.single.count) + ALIGNMENT - 1) & ~(uintptr_t) (ALIGNMENT - 1));
	b.work[0] = b.x + FC_BLOCK_ROWS * op->d;
	b.work[1] = b.work[0] + FC_BLOCK_ROWS * inner_width(op);
	b.eight = b.work[1] + FC_BLOCK_ROWS * inner_width(op);
	b.dots = b.eight + 8 * op->d;
	b.rows = b.dots + FC_BLOCK_ROWS * op->k;
	for (size_t start = 0; start < n; start += FC_BLOCK_ROWS)
	{
		size_t		rows = n - start < FC_BLOCK_ROWS ? n - start : FC_BLOCK_ROWS;

		if (rows < FEW_ROWS)
			assign_each(op, x + start * op->d, n - start, b.single, labels + start);
		else
			assign_block(op, x + start * op->d, rows, &b, labels + start);
	}
}

void
fc_operator_assign_batch(const fc_operator *op, const double *x, size_t n, fc_scratch scratch, int32_t *labels)
{
	FC_ASSERT(scratch.count >= fc_operator_batch_scratch(op, n));
	if (!takes_blocks(op))
		assign_tiles(op, x, n, scratch, labels);
	else if (block_floats(op, n) > 0)
		assign_blocks(op, x, n, scratch, labels);
	else
		assign_each(op, x, n, scratch, labels);
}

/* ---- sparse rows ---- */

/* The codebook that labels come from: op's own, or the exact centroids that decide. */
static const float *
deciding_rows(const fc_operator *op)
{
	if (op->exact.values != NULL)
		return op->exact.rerank == FC_RERANK_EXACT ? op->exact.values : NULL;
	return fc_operator_is_codebook(op) ? op->factor[0].values : NULL;
}

static const double *
deciding_offset(const fc_operator *op)
{
	return op->exact.values != NULL ? op->exact.offset : op->offset;
}

size_t
fc_columns_worksize(const fc_operator *op)
{
	return deciding_rows(op) == NULL ? 0 : op->k * (op->d * sizeof(float) + sizeof(double)) + 2 * 64;
}

static void
transpose_block(const float *rows, size_t k, size_t d, size_t first, size_t i, float *values)
{
	for (size_t c = i; c < d && c < i + TURNED; c++)
		for (size_t j = first; j < k && j < first + TURNED; j++)
			values[c * k + j] = rows[j * d + c];
}

/* ||v||^2 / 2 + v . o; NULL o is 0 */
static double
constant_of(const float *v, const double *offset, size_t d)
{
	double		sum = 0.5 * fc_row_square(v, d);

	for (size_t i = 0; offset != NULL && i < d; i++)
		sum += (double) v[i] * offset[i];
	return sum;
}

void
fc_columns_make(const fc_operator *op, fc_arena *arena, fc_columns *columns)
{
	const float *rows = deciding_rows(op);
	const double *offset = deciding_offset(op);
	double		longest = 0.0;
	float	   *values = FC_TAKE(arena, op->k * op->d, float);
	double	   *constants = FC_TAKE(arena, op->k, double);
	size_t		done = 0;

	for (size_t j = 0; j < op->k; j += TURNED)
		for (size_t i = 0; i < op->d; i += TURNED)
		{
			transpose_block(rows, op->k, op->d, j, i, values);
			fc_check_every(&done, 8 * TURNED * TURNED);	/* a line of the cache for each few values */
		}
	for (size_t j = 0; j < op->k; j++)
	{
		const float *v = rows + j * op->d;

		constants[j] = op->metric == FC_INNER_PRODUCT ? 0.0 : constant_of(v, offset, op->d);
		longest = fmax(longest, sqrt(fc_row_square(v, op->d)));
		fc_check_every(&done, 2 * op->d);
	}
	*columns = (fc_columns) {op->k, op->d, values, constants, longest + fc_offset_length(offset, op->d)};
}

/*
 * Bound of the error of a score and of half a distance in double together: each is summed from at most 2 d + 8 terms,
 * whose magnitudes sum to less than far^2.
 */
static double
columns_rounding(const fc_columns *columns, double length)
{
	double		far = length + columns->reach;

	return 4.0 * ((double) columns->d + 16.0) * 0x1p-53 * far * far + 0x1p-1000;
}

double
fc_columns_score(const fc_columns *columns, const fc_sparse_row *x, double *scores)
{
	double		square = 0.0;

	for (size_t j = 0; j < columns->k; j++)
		scores[j] = columns->constants[j];
	for (size_t p = 0; p < x->count; p++)
	{
		fc_axpy(-x->values[p], columns->values + x->indices[p] * columns->k, columns->k, scores);
		square += x->values[p] * x->values[p];
	}
	return columns_rounding(columns, sqrt(square));
}

bool
fc_columns_assign(const fc_columns *columns, const fc_sparse_row *x, double *scores, size_t *label)
{
	double		bound = fc_columns_score(columns, x, scores);
	double		lowest = INFINITY;
	double		threshold;
	size_t		near = 0;

	for (size_t j = 0; j < columns->k; j++)
		if (scores[j] < lowest)
		{
			lowest = scores[j];
			*label = j;
		}
	threshold = lowest + 2.0 * bound;
	for (size_t j = 0; j < columns->k; j++)
		near += scores[j] <= threshold;
	return near == 1;
}

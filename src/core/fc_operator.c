/*
 * fc_operator.c - what an operator V = F_1 F_2 ... F_Q does to one row.
 *
 *     project:  y = F_1 (F_2 ( ... (F_Q x)))
 *     assign:   argmin_j ||v_j||^2 / 2 - v_j . (x - o)      = argmin_j ||x - (o + v_j)||
 *
 * Scratch of a row: the shifted row (d), the scores (k), and two intermediate products.
 * Cost: the non-zeros of the factors, one multiply-add each.
 */
#include "fc_operator.h"

#include <math.h>
#include <string.h>

#include "fc_kmeans_kernel.h"
#include "fc_operator_kernel.h"

/* The longest vector between two factors, or at either end of a product. */
static size_t
widest(const fc_operator *op)
{
	size_t		width = op->d;

	for (size_t f = 0; f < op->factors; f++)
		if (op->factor[f].columns > width)
			width = op->factor[f].columns;
	return width;
}

size_t
fc_operator_scratch(const fc_operator *op)
{
	bool		codebook = op->factors == 1 && op->factor[0].row_start == NULL;

	return op->d + op->k + (codebook ? 0 : 2 * widest(op));
}

static void
apply(const fc_factor *factor, const float *x, float *y)
{
	if (factor->row_start == NULL)
		fc_dense_apply(factor->values, factor->rows, factor->columns, x, y);
	else
		fc_sparse_apply(factor, x, y);
}

/* work holds the two intermediate products. */
static void
apply_all(const fc_operator *op, const float *x, float *work, float *y)
{
	size_t		width = op->factors > 1 ? widest(op) : 0;
	const float *input = x;

	for (size_t f = op->factors; f-- > 0;)
	{
		float	   *output = f == 0 ? y : work + (f % 2) * width;

		apply(&op->factor[f], input, output);
		input = output;
	}
}

void
fc_operator_project(const fc_operator *op, const float *x, float *scratch, float *y)
{
	apply_all(op, x, scratch + op->d + op->k, y);
}

/* V (x - o) in the scores' part of the scratch; returns ||x - o||^2. */
static double
score_row(const fc_operator *op, const double *x, float *scratch)
{
	double		square = fc_shift_row(x, op->offset, op->d, scratch);

	apply_all(op, scratch, scratch + op->d + op->k, scratch + op->d);
	return square;
}

size_t
fc_operator_assign(const fc_operator *op, const double *x, float *scratch)
{
	float		best = INFINITY;
	int32_t		label = 0;

	(void) score_row(op, x, scratch);
	fc_kmeans_tile_nearest(scratch + op->d, 1, op->k, op->half_norms, 0, &best, &label);
	return (size_t) label;
}

/* out = input F, a row vector times a factor. */
static void
apply_left(const fc_factor *factor, const float *input, float *out)
{
	memset(out, 0, factor->columns * sizeof(float));
	for (size_t r = 0; r < factor->rows; r++)
	{
		float		scale = input[r];

		if (scale == 0.0f)
			continue;
		if (factor->row_start == NULL)
			fc_axpy(scale, factor->values + r * factor->columns, factor->columns, out);
		else
			for (size_t p = factor->row_start[r]; p < factor->row_start[r + 1]; p++)
				out[factor->column[p]] += scale * factor->values[p];
	}
}

const float *
fc_operator_product_row(const fc_operator *op, size_t j, float *scratch)
{
	const fc_factor *head = &op->factor[0];
	size_t		width = widest(op);
	float	   *work = scratch + op->d + op->k;
	const float *row;

	if (head->row_start == NULL)
		row = head->values + j * head->columns;
	else
	{
		memset(work, 0, head->columns * sizeof(float));
		for (size_t p = head->row_start[j]; p < head->row_start[j + 1]; p++)
			work[head->column[p]] += head->values[p];
		row = work;
	}
	for (size_t f = 1; f < op->factors; f++)
	{
		float	   *out = work + (f % 2) * width;

		apply_left(&op->factor[f], row, out);
		row = out;
	}
	return row;
}

void
fc_operator_row(const fc_operator *op, size_t j, float *scratch, double *row)
{
	const float *v = fc_operator_product_row(op, j, scratch);

	for (size_t c = 0; c < op->d; c++)
		row[c] = (double) v[c] + (op->offset != NULL ? op->offset[c] : 0.0);
}

double
fc_operator_distance(const fc_operator *op, size_t j, const double *x, float *scratch)
{
	return fc_row_distance(x, op->offset, fc_operator_product_row(op, j, scratch), op->d);
}

/* ---- nearest ---- */

/* Does (distance, cluster) a come after b? */
static inline bool
after(double distance_a, int32_t a, double distance_b, int32_t b)
{
	return distance_a > distance_b || (distance_a == distance_b && a > b);
}

/* Replace the entry at `place` of a heap with the farthest on top. */
static void
sift_down(int32_t *clusters, double *distances, size_t size, size_t place, int32_t cluster, double distance)
{
	for (size_t child = 2 * place + 1; child < size; child = 2 * place + 1)
	{
		if (child + 1 < size && after(distances[child + 1], clusters[child + 1], distances[child], clusters[child]))
			child++;
		if (!after(distances[child], clusters[child], distance, cluster))
			break;
		clusters[place] = clusters[child];
		distances[place] = distances[child];
		place = child;
	}
	clusters[place] = cluster;
	distances[place] = distance;
}

static void
clear_heap(int32_t *clusters, double *distances, size_t size)
{
	for (size_t i = 0; i < size; i++)
	{
		clusters[i] = INT32_MAX;
		distances[i] = INFINITY;
	}
}

static void
offer(int32_t *clusters, double *distances, size_t size, size_t cluster, double distance)
{
	if (after(distances[0], clusters[0], distance, (int32_t) cluster))
		sift_down(clusters, distances, size, 0, (int32_t) cluster, distance);
}

/*
 * Rounded scores choose the candidates: with every score within e of the exact one, the
 * count nearest are among those at most 2 e above the count-th lowest.  Candidates are
 * then measured in double.
 */
void
fc_operator_nearest(const fc_operator *op, const double *x, size_t count, float *scratch,
					int32_t *clusters, double *distances)
{
	size_t		size = count < op->k ? count : op->k;
	const float *dots = scratch + op->d;
	double		threshold = INFINITY;

	if (size == 0)
		return;
	if (size < op->k)
	{
		double		square = score_row(op, x, scratch);

		clear_heap(clusters, distances, size);
		for (size_t j = 0; j < op->k; j++)
			offer(clusters, distances, size, j, (double) (op->half_norms[j] - dots[j]));
		threshold = distances[0] + 2.0 * fc_operator_rounding(op, fc_operator_reach(op), sqrt(square));
	}
	clear_heap(clusters, distances, size);
	for (size_t j = 0; j < op->k; j++)
		if (threshold == INFINITY || !((double) (op->half_norms[j] - dots[j]) > threshold))
			offer(clusters, distances, size, j,
				  fc_row_distance(x, op->offset, fc_operator_product_row(op, j, scratch), op->d));
	for (size_t last = size; last-- > 1;)
	{
		int32_t		cluster = clusters[last];
		double		distance = distances[last];

		clusters[last] = clusters[0];
		distances[last] = distances[0];
		sift_down(clusters, distances, last, 0, cluster, distance);
	}
}

/*
 * fc_operator.c - what an operator V = F_1 F_2 ... F_Q does to one row.
 *
 *     project:  y = F_1 (F_2 ( ... (F_Q x)))
 *     assign:   argmin_j ||v_j||^2 / 2 - v_j . (x - o)      = argmin_j ||x - (o + v_j)||
 *
 * Scratch of a row: the shifted row (d), the dot products (k), and two intermediate products.
 * Cost: the non-zeros of the factors, one multiply-add each.
 *
 * With every rounded score within e of the exact one (fc_operator_build.c), the nearest
 * rows are among those at most 2 e above the lowest score.  When that is one row it is the
 * answer; else they are measured in double.
 */
#include "fc_operator.h"

#include <math.h>
#include <string.h>

#include "fc_operator_kernel.h"

size_t
fc_operator_widest(const fc_operator *op)
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
	return op->d + op->k + (fc_operator_is_codebook(op) ? 0 : 2 * fc_operator_widest(op));
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
	size_t		width = op->factors > 1 ? fc_operator_widest(op) : 0;
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

/* out = input F, a row vector times a factor, or times its magnitudes. */
static void
apply_left(const fc_factor *factor, bool magnitude, const float *input, float *out)
{
	memset(out, 0, factor->columns * sizeof(float));
	for (size_t r = 0; r < factor->rows; r++)
	{
		const float *values = factor->values + r * factor->columns;
		float		scale = input[r];

		if (scale == 0.0f)
			continue;
		if (factor->row_start != NULL)
			for (size_t p = factor->row_start[r]; p < factor->row_start[r + 1]; p++)
				out[factor->column[p]] += scale * (magnitude ? fabsf(factor->values[p]) : factor->values[p]);
		else if (magnitude)
			for (size_t c = 0; c < factor->columns; c++)
				out[c] += scale * fabsf(values[c]);
		else
			fc_axpy(scale, values, factor->columns, out);
	}
}

/* Row j of a product of several factors, or of their magnitudes: the unit vector j through all of them. */
static const float *
product_row(const fc_operator *op, size_t j, bool magnitude, float *scratch)
{
	const fc_factor *head = &op->factor[0];
	size_t		width = fc_operator_widest(op);
	float	   *work = scratch + op->d + op->k;
	const float *row = work;

	memset(work, 0, head->columns * sizeof(float));
	if (head->row_start == NULL)
		memcpy(work, head->values + j * head->columns, head->columns * sizeof(float));
	else
		for (size_t p = head->row_start[j]; p < head->row_start[j + 1]; p++)
			work[head->column[p]] = head->values[p];
	for (size_t c = 0; magnitude && c < head->columns; c++)
		work[c] = fabsf(work[c]);
	for (size_t f = 1; f < op->factors; f++)
	{
		float	   *out = work + (f % 2) * width;

		apply_left(&op->factor[f], magnitude, row, out);
		row = out;
	}
	return row;
}

const float *
fc_operator_product_row(const fc_operator *op, size_t j, float *scratch)
{
	if (fc_operator_is_codebook(op))
		return op->factor[0].values + j * op->d;
	return product_row(op, j, false, scratch);
}

double
fc_operator_magnitude(const fc_operator *op, size_t j, float *scratch)
{
	const float *row = product_row(op, j, true, scratch);
	double		sum = 0.0;

	for (size_t c = 0; c < op->d; c++)
		sum += (double) row[c] * (double) row[c];
	return sum;
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

/* Is row j, by its rounded score, possibly at most threshold?  NaN everywhere counts as yes. */
static inline bool
possible(const fc_operator *op, const float *dots, size_t j, double threshold)
{
	return threshold == INFINITY || !((double) (op->half_norms[j] - dots[j]) > threshold);
}

/* The nearest of the possible rows, in double. */
static size_t
settle(const fc_operator *op, const double *x, double threshold, float *scratch)
{
	double		best = INFINITY;
	size_t		label = 0;

	for (size_t j = 0; j < op->k; j++)
	{
		double		distance;

		if (!possible(op, scratch + op->d, j, threshold))
			continue;
		distance = fc_operator_distance(op, j, x, scratch);
		if (distance < best)
		{
			best = distance;
			label = j;
		}
	}
	return label;
}

size_t
fc_operator_assign(const fc_operator *op, const double *x, float *scratch)
{
	double		bound = 2.0 * fc_operator_rounding(op, sqrt(score_row(op, x, scratch)));
	float		lowest;
	int32_t		label;

	if (fc_count_lowest(scratch + op->d, op->half_norms, op->k, bound, &lowest, &label) == 1)
		return (size_t) label;
	return settle(op, x, (double) lowest + bound, scratch);
}

/* The candidates are those at most 2 e above the count-th lowest score. */
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
		double		bound = 2.0 * fc_operator_rounding(op, sqrt(score_row(op, x, scratch)));

		clear_heap(clusters, distances, size);
		for (size_t j = 0; j < op->k; j++)
			offer(clusters, distances, size, j, (double) (op->half_norms[j] - dots[j]));
		threshold = distances[0] + bound;
	}
	clear_heap(clusters, distances, size);
	for (size_t j = 0; j < op->k; j++)
		if (possible(op, dots, j, threshold))
			offer(clusters, distances, size, j, fc_operator_distance(op, j, x, scratch));
	for (size_t last = size; last-- > 1;)
	{
		int32_t		cluster = clusters[last];
		double		distance = distances[last];

		clusters[last] = clusters[0];
		distances[last] = distances[0];
		sift_down(clusters, distances, last, 0, cluster, distance);
	}
}

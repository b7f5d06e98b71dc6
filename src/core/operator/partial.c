/*
 * partial.c - rows with missing coordinates; see partial.h
 *
 * Squared distances are computed in float. Where rounding could change the
 * nearest centroid, the candidates are compared again in double.
 */
#include "operator/partial.h"

#include "numerics/kdtree.h"
#include "numerics/rows.h"
#include "operator/internal.h"
#include "operator/nearest_heap.h"

/*
 * The second nearest point in a k-d tree is searched up to the squared
 * distance REACH * f + MARGIN * (moved^2 + SMALLEST_SQUARE), where f is the
 * squared distance of the nearest point, and moved the rounding error of the
 * row. This is more than highest_near(f), because 4 moved sqrt(f) <= f / 32 +
 * 128 moved^2.
 */
#define REACH	1.0625f
#define MARGIN	256.0

bool
fc_partial_suits(const fc_operator *op)
{
	return fc_operator_is_plain(op) && op->metric == FC_EUCLIDEAN &&
		op->regions.clusters == 0;
}

size_t
fc_partial_observed(const double *x, size_t d)
{
	size_t		observed = 0;

	for (size_t i = 0; i < d; i++)
		observed += isnan(x[i]) ? 0 : 1;
	return observed;
}

size_t
fc_partial_scratch(const fc_operator *op)
{
	return 3 * op->d + op->k;
}

double
fc_partial_distance(const fc_operator *op, size_t j, const double *x)
{
	const float *v = op->factor[0].values + j * op->d;
	double		sum = 0.0;

	for (size_t i = 0; i < op->d; i++)
	{
		double		gap = x[i] - (op->offset != NULL ? op->offset[i] : 0.0) - (double) v[i];

		sum += isnan(gap) ? 0.0 : gap * gap;
	}
	return sum;
}

/*
 * Returns an upper bound on the squared distances in float of the centroids
 * that may be nearest, given the lowest one. The relative error of a squared
 * distance in float is at most (d + 4) 2^-23, and rounding changes the row by
 * at most `moved`.
 */
static double
highest_near(double lowest, size_t d, double moved)
{
	double		share = ((double) d + 4.0) * FC_EXP2_MINUS(23);
	double		far = sqrt(lowest * (1.0 + share) + SMALLEST_SQUARE) + 2.0 * moved;

	return far * far / (1.0 - share) + SMALLEST_SQUARE;
}

/* A row minus the offset, in float, and its observed coordinates. */
typedef struct partial_row
{
	float	   *shifted;		/* d values of the row minus the offset; NaN
								 * where missing */
	float	   *known;			/* the observed coordinates, without gaps */
	uint32_t   *observed;		/* indices of the observed coordinates */
	size_t		count;			/* number of observed coordinates */
	double		length;			/* length of the observed part */
} partial_row;

static partial_row
shift_row(const fc_operator *op, const double *x, fc_scratch scratch)
{
	partial_row row = {
		.shifted = scratch.floats,
		.known = scratch.floats + op->d,
		.observed = (uint32_t *) (scratch.floats + 2 * op->d)
	};

	fc_shift_row(x, op->offset, op->d, row.shifted);
	for (size_t i = 0; i < op->d; i++)
	{
		row.known[row.count] = row.shifted[i];
		row.observed[row.count] = (uint32_t) i;
		row.count += isnan(row.shifted[i]) ? 0 : 1;
	}
	row.length = fc_row_square(row.known, row.count);
	row.length = sqrt(row.length) * (1.0 + FC_EXP2_MINUS(20));
	return row;
}

/*
 * Returns the nearest centroid by the packs or the k-d tree, or op->k if there
 * is neither, or if rounding might change the result.
 */
static size_t
label_by_search(const fc_operator *op, const partial_row *row, double moved)
{
	float		squared[2];
	float		margin = (float) (MARGIN * moved * moved + MARGIN * SMALLEST_SQUARE);
	size_t		label;

	if (op->kdtree != NULL)
		label = fc_packed_kdtree_nearest_two(op->kdtree, row->shifted, REACH, margin, squared);
	else if (op->packs != NULL)
		label = (size_t) fc_packs_nearest(op->packs, op->k, op->d, row->known, row->observed,
										  row->count, &squared[0], &squared[1]);
	else
		return op->k;
	return isfinite(squared[0]) &&
		(double) squared[1] > highest_near((double) squared[0], op->d, moved)
		? label
		: op->k;
}

size_t
fc_partial_assign(const fc_operator *op, const double *x, fc_scratch scratch)
{
	partial_row row = shift_row(op, x, scratch);
	float	   *squared = scratch.floats + 3 * op->d;
	double		moved = FC_EXP2_MINUS(23) * row.length;
	size_t		label = label_by_search(op, &row, moved);
	float		lowest = INFINITY;
	double		limit;
	double		nearest = INFINITY;

	FC_ASSERT(scratch.count >= fc_partial_scratch(op));
	fc_check();
	if (label < op->k)
		return label;
	fc_partial_gaps(op->factor[0].values, op->k, op->d, row.shifted, squared);
	for (size_t j = 0; j < op->k; j++)
		lowest = squared[j] < lowest ? squared[j] : lowest;
	limit = highest_near((double) lowest, op->d, moved);
	label = 0;
	for (size_t j = 0; j < op->k; j++)
		if (!((double) squared[j] > limit))
		{
			double		distance = fc_partial_distance(op, j, x);

			label = distance < nearest ? j : label;
			nearest = distance < nearest ? distance : nearest;
		}
	return label;
}

void
fc_partial_nearest(const fc_operator *op, const double *x, size_t count,
				   int32_t *clusters, double *distances)
{
	size_t		size = count < op->k ? count : op->k;

	clear_heap(clusters, distances, size);
	for (size_t j = 0; j < op->k; j++)
	{
		fc_check();
		offer(clusters, distances, size, j, fc_partial_distance(op, j, x));
	}
	sort_heap(clusters, distances, size);
}

void
fc_partial_fill(const fc_operator *op, size_t j, double *x)
{
	const float *v = op->factor[0].values + j * op->d;

	for (size_t i = 0; i < op->d; i++)
	{
		double		own = (op->offset != NULL ? op->offset[i] : 0.0) + (double) v[i];

		x[i] = isnan(x[i]) ? own : x[i];
	}
}

/* weighted_rows.c - moments and columns of weighted samples; see weighted_rows.h */
#include "numerics/weighted_rows.h"

#include "base/simd.h"

/*
 * Number of columns whose moments are updated together, while they are in the
 * first-level cache. A guess.
 */
#define TILE	512

/*
 * Adds a row of weight `weight` to the running moments of `count` columns;
 * `total` is the weight of all rows so far, including this one (Welford 1962,
 * West 1979).
 */
FC_CLONES
static void
add_moments(const float *value, const double *offset, size_t count, double weight,
			double total, double *restrict mean, double *restrict square)
{
	for (size_t i = 0; i < count; i++)
	{
		double		x = (double) value[i] + (offset != NULL ? offset[i] : 0.0);
		double		change = x - mean[i];

		mean[i] += change * weight / total;
		square[i] += weight * change * (x - mean[i]);
	}
}

void
fc_weighted_moments(const fc_weighted_rows *rows, double *mean, double *deviation)
{
	memset(mean, 0, rows->d * sizeof(double));
	memset(deviation, 0, rows->d * sizeof(double));
	for (size_t first = 0; first < rows->d; first += TILE)
	{
		size_t		count = rows->d - first < TILE ? rows->d - first : TILE;
		const double *offset = rows->offset != NULL ? rows->offset + first : NULL;
		double		total = 0.0;

		for (size_t r = 0; r < rows->n; r++)
		{
			fc_check();
			total += rows->weights[r];
			if (rows->weights[r] > 0.0)
				add_moments(rows->values + r * rows->d + first, offset, count,
							rows->weights[r], total, mean + first, deviation + first);
		}
		for (size_t i = first; i < first + count; i++)
			deviation[i] = total > 0.0 ? sqrt(deviation[i] / total) : 0.0;
	}
}

size_t
fc_weighted_columns(const fc_weighted_rows *rows, const double *centroids, size_t k,
					uint32_t *columns)
{
	size_t		count = 0;

	for (size_t c = 0; c < rows->d; c++)
		columns[c] = rows->offset != NULL && rows->offset[c] != 0.0;
	for (size_t r = 0; r < rows->n; r++)
	{
		fc_check();
		for (size_t c = 0; c < rows->d; c++)
			columns[c] |= rows->values[r * rows->d + c] != 0.0f;
	}
	for (size_t j = 0; j < k; j++)
		for (size_t c = 0; c < rows->d; c++)
			columns[c] |= centroids[j * rows->d + c] != 0.0;
	for (size_t c = 0; c < rows->d; c++)
		if (columns[c])
			columns[count++] = (uint32_t) c;
	return count;
}

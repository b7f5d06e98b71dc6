/*
 * nearest_simd.c - the inner loops of k-means; see internal.h
 *
 * argmin_j ||x - c_j||^2 = argmin_j (||c_j||^2 / 2 - x . c_j): one fused
 * multiply-add per coordinate. Each function is built for several instruction
 * sets, and the loader picks one.
 */
#include "kmeans/internal.h"

#include "base/lanes.h"

typedef int32_t vhalf_int
			__attribute__((vector_size(FC_VECTOR_BYTES / 2), aligned(4), may_alias));

#define VECTORS		(FC_PACK / VECTOR_LANES)

/*
 * Number of centroids whose scores with a pack are kept in registers together.
 * A guess.
 */
#define GROUP_CENTROIDS	2

void
fc_kmeans_pack(const float *x, size_t rows, size_t d, float *packed)
{
	if (rows < FC_PACK)
		memset(packed, 0, FC_PACK * d * sizeof(float));
	for (size_t r = 0; r < rows; r++)
		for (size_t c = 0; c < d; c++)
			packed[c * FC_PACK + r] = x[r * d + c];
}

/*
 * Updates the lowest scores (low) and their indices (argument), lane by lane,
 * with the scores of candidate j.
 */
INLINE void
keep_lower(vfloat score, size_t j, vfloat *low, vint *argument)
{
	vint		better = score < *low;
	vint		number = (vint) {0} +(int32_t) j;

	*low = (vfloat) choose(better, (vint) score, (vint) *low);
	*argument = choose(better, number, *argument);
}

/*
 * Computes the scores of a pack against `count` <= GROUP_CENTROIDS centroids,
 * all in registers, and merges them into low and argument.
 */
INLINE void
group_nearest(const float *packed, size_t d, const float *c,
			  const float *half_norms, size_t first, size_t count,
			  vfloat low[VECTORS], vint argument[VECTORS])
{
	vfloat		score[GROUP_CENTROIDS][VECTORS];

	for (size_t j = 0; j < count; j++)
		for (int v = 0; v < VECTORS; v++)
			score[j][v] = (vfloat)
		{
			0
		} +half_norms[first + j];
	for (size_t i = 0; i < d; i++)
		for (int v = 0; v < VECTORS; v++)
		{
			vfloat		x = (*(const vfloat *) (packed + i * FC_PACK +
												v * VECTOR_LANES));

			for (size_t j = 0; j < count; j++)
				score[j][v] -= x * c[(first + j) * d + i];
		}
	for (size_t j = 0; j < count; j++)
		for (int v = 0; v < VECTORS; v++)
			keep_lower(score[j][v], first + j, low + v, argument + v);
}

FC_CLONES
void
fc_kmeans_pack_nearest(const float *packed, size_t d, const float *centroids,
					   const float *half_norms, size_t k, float *best,
					   int32_t *label)
{
	vfloat		low[VECTORS];
	vint		argument[VECTORS];
	size_t		j = 0;

	for (int v = 0; v < VECTORS; v++)
	{
		low[v] = (vfloat)
		{
			0
		} +INFINITY;
		argument[v] = (vint)
		{
			0
		};
	}
	for (; j + GROUP_CENTROIDS <= k; j += GROUP_CENTROIDS)
		group_nearest(packed, d, centroids, half_norms, j, GROUP_CENTROIDS, low,
					  argument);
	for (; j < k; j++)
		group_nearest(packed, d, centroids, half_norms, j, 1, low, argument);
	memcpy(best, low, sizeof(low));
	memcpy(label, argument, sizeof(argument));
}

INLINE void
pack_distance(const float *packed, size_t d, const float *c,
			  vfloat sum[VECTORS])
{
	for (int v = 0; v < VECTORS; v++)
		sum[v] = (vfloat)
	{
		0
	};
	for (size_t i = 0; i < d; i++)
		for (int v = 0; v < VECTORS; v++)
		{
			vfloat		difference = (*(const vfloat *) (packed + i * FC_PACK +
														 v * VECTOR_LANES) -
									  c[i]);

			sum[v] += difference * difference;
		}
}

FC_CLONES
void
fc_kmeans_pack_distance(const float *packed, size_t d, const float *c,
						float *distance)
{
	vfloat		sum[VECTORS];

	pack_distance(packed, d, c, sum);
	memcpy(distance, sum, sizeof(sum));
}

FC_CLONES
void
fc_kmeans_pack_closest(const float *packed, size_t d, const float *centroids,
					   size_t k, float *best, int32_t *label)
{
	vfloat		low[VECTORS];
	vfloat		sum[VECTORS];
	vint		argument[VECTORS];

	for (int v = 0; v < VECTORS; v++)
	{
		low[v] = (vfloat)
		{
			0
		} +INFINITY;
		argument[v] = (vint)
		{
			0
		};
	}
	for (size_t j = 0; j < k; j++)
	{
		pack_distance(packed, d, centroids + j * d, sum);
		for (int v = 0; v < VECTORS; v++)
			keep_lower(sum[v], j, low + v, argument + v);
	}
	memcpy(best, low, sizeof(low));
	memcpy(label, argument, sizeof(argument));
}

/*
 * Updates *best and *label of one row with its scores in a tile. Each lane
 * keeps its minimum and the index of this minimum; the lanes are then compared
 * in order.
 */
FC_CLONES
static void
row_nearest(const float *dots, size_t count, const float *half_norms,
			size_t first, float *best, int32_t *label)
{
	vfloat		low = (vfloat) {0} +INFINITY;
	vint		argument = (vint) {0};
	vint		here = FC_LANE_NUMBERS;
	float		smallest = *best;
	int32_t		where = *label;
	size_t		j = 0;

	for (; j + VECTOR_LANES <= count; j += VECTOR_LANES, here += VECTOR_LANES)
	{
		vfloat		score = (*(const vfloat *) (half_norms + first + j) -
							 *(const vfloat *) (dots + j));
		vint		better = score < low;

		low = (vfloat) choose(better, (vint) score, (vint) low);
		argument = choose(better, here, argument);
	}
	for (int lane = 0; lane <VECTOR_LANES && count >= VECTOR_LANES; lane ++)
	{
		int32_t		candidate = argument[lane] + (int32_t) first;

		if (low[lane] < smallest ||
			(low[lane] == smallest && candidate < where))
		{
			smallest = low[lane];
			where = candidate;
		}
	}
	for (; j < count; j++)
		if (half_norms[first + j] - dots[j] < smallest)
		{
			smallest = half_norms[first + j] - dots[j];
			where = (int32_t) (first + j);
		}
	*best = smallest;
	*label = where;
}

void
fc_kmeans_tile_nearest(const float *dots, size_t rows, size_t count,
					   const float *half_norms, size_t first, float *best,
					   int32_t *label)
{
	for (size_t r = 0; r < rows; r++)
		row_nearest(dots + r * FC_TILE_CENTROIDS, count, half_norms, first,
					best + r, label + r);
}

INLINE void
move_to_cluster(fc_kmeans_work *w, size_t i, size_t j, double weight)
{
	size_t		d = w->rows.d;
	const float *row = w->rows.x + i * d;
	double	   *sum = w->sum + j * d;

	for (size_t c = 0; c < d; c++)
		sum[c] += weight * (double) row[c];
	w->weight[j] += weight;
}

FC_CLONES
void
fc_kmeans_sum(fc_kmeans_work *w, size_t first, size_t last)
{
	for (size_t i = first; i < last; i++)
	{
		int32_t		label = w->label[i];
		int32_t		before = w->summed_in[i];
		double		weight = w->rows.weight[i];

		if (label == before || weight <= 0.0)
			continue;
		move_to_cluster(w, i, (size_t) label, weight);
		w->count[label]++;
		if (before >= 0)
		{
			move_to_cluster(w, i, (size_t) before, -weight);
			w->count[before]--;
		}
		w->summed_in[i] = label;
	}
}

/*
 * Adds weight * min(distance, near) of a vector of rows to sum. If `update`,
 * stores the minimum in near.
 */
INLINE void
add_potential(const float *distance, float *near, const double *weight,
			  bool update, vdouble *sum)
{
	vhalf		low = *(const vhalf *) near;
	vhalf		here = *(const vhalf *) distance;

	low = (vhalf) choose(here < low, (vhalf_int) here, (vhalf_int) low);
	if (update)
		*(vhalf *) near = low;
	*sum += FC_WIDEN(vdouble, low) * *(const vdouble *) weight;
}

FC_CLONES
double
fc_kmeans_potential(const fc_kmeans_work *w, const float *distance,
					size_t first, size_t last, bool update)
{
	float	   *near = w->near + first;
	const double *weight = w->rows.weight + first;
	size_t		rows = last - first;
	vdouble		sums[QUAD] = {{0}};
	double		sum = 0.0;
	size_t		i = 0;

	for (; i + 4 <= rows; i += 4)
		for (size_t q = 0; q < QUAD; q++)
			add_potential(distance + i + q * DOUBLES, near + i + q * DOUBLES,
						  weight + i + q * DOUBLES, update, &sums[q]);
	for (; i < rows; i++)
	{
		float		low = distance[i] < near[i] ? distance[i] : near[i];

		if (update)
			near[i] = low;
		sum += (double) low * weight[i];
	}
	for (int lane = 0; lane <4; lane ++)
		sum += FC_LANE(sums, DOUBLES, lane);
	return sum;
}

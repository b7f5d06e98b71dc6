/*
 * nearest_heap.h - the nearest of many clusters, in a heap whose top is the
 * farthest one kept
 */
#ifndef FC_OPERATOR_NEAREST_HEAP_H
#define FC_OPERATOR_NEAREST_HEAP_H

#include "base/fc.h"

/*
 * Returns true if cluster a at distance_a is farther than cluster b at
 * distance_b. Of equal distances, the higher cluster index counts as farther.
 */
static inline bool
after(double distance_a, int32_t a, double distance_b, int32_t b)
{
	return distance_a > distance_b || (distance_a == distance_b && a > b);
}

/* Puts an entry into a heap with the farthest on top, at `place` or below. */
static inline void
sift_down(int32_t *clusters, double *distances, size_t size, size_t place,
		  int32_t cluster, double distance)
{
	for (size_t child = 2 * place + 1; child < size; child = 2 * place + 1)
	{
		if (child + 1 < size && after(distances[child + 1], clusters[child + 1],
									  distances[child], clusters[child]))
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

static inline void
clear_heap(int32_t *clusters, double *distances, size_t size)
{
	for (size_t i = 0; i < size; i++)
	{
		clusters[i] = INT32_MAX;
		distances[i] = INFINITY;
	}
}

static inline void
offer(int32_t *clusters, double *distances, size_t size, size_t cluster,
	  double distance)
{
	if (after(distances[0], clusters[0], distance, (int32_t) cluster))
		sift_down(clusters, distances, size, 0, (int32_t) cluster, distance);
}

/* Sorts a heap, nearest first. */
static inline void
sort_heap(int32_t *clusters, double *distances, size_t size)
{
	for (size_t last = size; last-- > 1;)
	{
		int32_t		cluster = clusters[last];
		double		distance = distances[last];

		clusters[last] = clusters[0];
		distances[last] = distances[0];
		sift_down(clusters, distances, last, 0, cluster, distance);
	}
}

/* Collects the `size` lowest of k scores in a heap. */
static inline void
offer_all(const double *scores, size_t k, size_t size, int32_t *clusters,
		  double *distances)
{
	clear_heap(clusters, distances, size);
	for (size_t j = 0; j < k; j++)
		offer(clusters, distances, size, j, scores[j]);
}

#endif							/* FC_OPERATOR_NEAREST_HEAP_H */

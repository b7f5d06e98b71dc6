/*
 * nearest.h - the inner loops of k-means over one block of rows.
 *
 * Small dimensions (d <= FC_PACK_DIMENSIONS) work on packs: FC_PACK rows stored
 * dimension by dimension, so that a vector lane is a row.  Large dimensions take
 * their dot products from BLAS and scan tiles of them here.
 */
#ifndef FC_KMEANS_NEAREST_H
#define FC_KMEANS_NEAREST_H

#include "base/fc.h"

#define FC_PACK				32	/* rows of a pack */
#define FC_PACK_DIMENSIONS	32	/* packs beat BLAS up to here */
#define FC_TILE_ROWS		256	/* rows x centroids of one matrix product */
#define FC_TILE_CENTROIDS	256

/* packed[c * FC_PACK + r] = x[r][c]; rows beyond `rows` are zero. */
void		fc_kmeans_pack(const float *x, size_t rows, size_t d, float *packed);

/* The same of rows anywhere: x[chosen[r]]. */
void		fc_kmeans_pack_chosen(const float *x, const uint32_t *chosen, size_t rows, size_t d, float *packed);

/* best[r], label[r] = min and argmin over j of half_norms[j] - x_r . c_j; FC_PACK rows. */
void		fc_kmeans_pack_nearest(const float *packed, size_t d, const float *centroids,
								   const float *half_norms, size_t k, float *best, int32_t *label);

/* distance[r] = ||x_r - c||^2; FC_PACK rows. */
void		fc_kmeans_pack_distance(const float *packed, size_t d, const float *c, float *distance);

/*
 * Continue best and label of `rows` rows with the centroids first .. first + count:
 * score = half_norms[first + j] - dots[r * FC_TILE_CENTROIDS + j].  Ties keep the lower one.
 */
void		fc_kmeans_tile_nearest(const float *dots, size_t rows, size_t count, const float *half_norms,
								   size_t first, float *best, int32_t *label);

/* sum += weight * x, d dimensions. */
void		fc_kmeans_accumulate(const float *x, size_t d, double weight, double *sum);

/* Of each cluster: the sum of w x (d each), the sum of w, rows of positive weight. */
typedef struct fc_cluster_sums
{
	double	   *sum;
	double	   *weight;
	size_t	   *count;
} fc_cluster_sums;

/*
 * Rows x[chosen[r]], or x[r] where chosen is NULL, to the sums of their clusters label[r], and out of those of
 * before[r] unless it is -1; before = label then.  weight NULL means all 1.
 */
void		fc_kmeans_sum(const float *x, size_t d, const uint32_t *chosen, const int32_t *label, const double *weight,
						  size_t rows, int32_t *before, fc_cluster_sums *sums);

/* best[r], label[r] = min and argmin over j of ||x_r - c_j||^2; FC_PACK rows. */
void		fc_kmeans_pack_closest(const float *packed, size_t d, const float *centroids, size_t k,
								   float *best, int32_t *label);

/* sum of (x - c)^2 in double. */
double		fc_kmeans_distance(const float *x, const double *c, size_t d);

/* sum of w min(near, distance); with update, near takes that minimum.  weight NULL means all 1. */
double		fc_kmeans_potential(const float *distance, float *near, const double *weight, size_t rows, bool update);

#endif							/* FC_KMEANS_NEAREST_H */

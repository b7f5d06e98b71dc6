/*
 * codebook.h - operators out of centroids, and centroids out of operators.
 *
 * Scores ||v||^2/2 - v.x are computed in float.  When the centroids' common mean is far from the origin compared
 * with their spread, the differences between scores would drown in rounding, so the mean becomes the offset.
 */
#ifndef FC_OPERATOR_CODEBOOK_H
#define FC_OPERATOR_CODEBOOK_H

#include "operator/operator.h"

/* Bytes of the stored operator, at most. */
size_t		fc_codebook_size(size_t k, size_t d);

/*
 * An operator of one dense factor from k x d centroids, whose arrays lie in the arena; weights (k) are pointed to.  Centroids of
 * cosines are unit vectors (fc_unit_row) already; inner products take no offset.
 * *most: the greatest magnitude of a coordinate around the offset, which floats may lose.
 */
void		fc_codebook_make(fc_metric metric, const double *centroids, const double *weights, size_t k, size_t d,
							 fc_arena *arena, fc_operator *op, double *most);

/* fc_operator_attach_exact of the centroids that any source stands for; arrays lie in the arena. */
void		fc_operator_keep_exact(fc_operator *op, const fc_operator *source, uint32_t rerank, fc_arena *arena);

/* centroids (k x d) = scale rows + center, each d or NULL (1, 0); scratch: fc_operator_scratch. */
void		fc_operator_centroids(const fc_operator *op, const double *center, const double *scale,
								  fc_scratch scratch, double *centroids);

/* Cluster j of source is cluster place[j] of op, whose arrays lie in the arena.  FC_EFORMAT when place is no permutation. */
fc_status	fc_operator_renumber(const fc_operator *source, const int32_t *place, fc_arena *arena, fc_operator *op);

/*
 * The centroids on a plane, for pictures:
 *     m = sum w_j c_j / W,   p_j = (a . (c_j - m), b . (c_j - m))
 * a and b are the principal axes of the centroids, each counted w_j times: no other plane shows a larger share
 *     sum w_j ||p_j||^2 / sum w_j ||c_j - m||^2
 * of what separates the clusters.
 * places (k x 2) = p_j, to the rounding of float products; shown: the share of each axis, both 0 where all
 * centroids are one point.  In one dimension there is no b: the second coordinates are 0.  Weights that add up to 0 or
 * to no finite number count as equal.  FC_ENUMERIC.
 */
fc_status	fc_operator_plane(const fc_operator *op, fc_arena *arena, double *places, double shown[2]);

#endif							/* FC_OPERATOR_CODEBOOK_H */

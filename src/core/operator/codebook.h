/*
 * codebook.h - operators out of centroids, and centroids out of operators.
 *
 * Scores ||v||^2/2 - v.x are computed in float.  When the centroids' common mean is far from the origin compared
 * with their spread, the differences between scores would drown in rounding, so the mean becomes the offset.
 */
#ifndef FC_OPERATOR_CODEBOOK_H
#define FC_OPERATOR_CODEBOOK_H

#include "operator/operator.h"

/* Bytes fc_codebook_make takes from its arena, and those of the stored operator, at most. */
size_t		fc_codebook_size(size_t k, size_t d);

/*
 * An operator of one dense factor from k x d centroids, whose arrays lie in the arena; weights (k) are pointed to.
 * *most: the greatest magnitude of a coordinate around the offset, which floats may lose.
 */
void		fc_codebook_make(const double *centroids, const double *weights, size_t k, size_t d,
							 fc_arena *arena, fc_operator *op, double *most);

/* The same of any metric; those of cosines are unit vectors (fc_unit_row) already.  Inner products take no offset. */
void		fc_codebook_make_for(fc_metric metric, const double *centroids, const double *weights, size_t k, size_t d,
								 fc_arena *arena, fc_operator *op, double *most);

/* Bytes fc_operator_keep_exact takes from its arena. */

/* fc_operator_attach_exact of the centroids that any source stands for; arrays lie in the arena. */
void		fc_operator_keep_exact(fc_operator *op, const fc_operator *source, uint32_t rerank, fc_arena *arena);

/* centroids (k x d) = scale rows + center, each d or NULL (1, 0); scratch: fc_operator_scratch. */
void		fc_operator_centroids(const fc_operator *op, const double *center, const double *scale,
								  fc_scratch scratch, double *centroids);

/* Bytes fc_operator_renumber takes from its arena. */

/* Cluster j of source is cluster place[j] of op, whose arrays lie in the arena.  FC_EFORMAT when place is no permutation. */
fc_status	fc_operator_renumber(const fc_operator *source, const int32_t *place, fc_arena *arena, fc_operator *op);

#endif							/* FC_OPERATOR_CODEBOOK_H */

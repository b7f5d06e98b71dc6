/*
 * codebook.h - operators out of centroids, and centroids out of operators.
 *
 * Scores ||v||^2/2 - v.x are computed in float. When the centroids' common
 * mean is far from the origin compared with their spread, the differences
 * between scores would drown in rounding, so the mean becomes the offset.
 */
#ifndef FC_OPERATOR_CODEBOOK_H
#define FC_OPERATOR_CODEBOOK_H

#include "numerics/weighted_rows.h"
#include "operator/bytes.h"

/* Bytes of the stored operator, at most. */
size_t		fc_codebook_size(size_t k, size_t d);

/*
 * k rows of d numbers: one after the other at x, or where a function says,
 * until it is asked for another.
 */
typedef struct fc_centroid_source
{
	size_t		k;
	size_t		d;
	const double *x;
	const double *(*row) (void *place, size_t j);	/* NULL: x */
	void	   *place;
} fc_centroid_source;

/* The centroids of a codebook as rows, which stand for as many rows as a cluster has. */
static inline fc_weighted_rows
fc_rows_of_codebook(const fc_operator *op)
{
	return (fc_weighted_rows)
	{
		.n = op->k,
			.d = op->d,
			.metric = op->metric,
			.values = op->factor[0].values,
			.offset = op->offset,
			.weights = op->weights
	};
}

/*
 * An operator of one dense factor from centroids and weights (k), into
 * fc_codebook_size bytes; how many it takes. Each row is asked for three
 * times. Centroids of cosines are unit vectors (fc_unit_row) already; inner
 * products take no offset. *most: the greatest magnitude of a coordinate
 * around the offset, which floats may lose.
 */
size_t		fc_codebook_write(fc_metric metric, const fc_centroid_source *centroids,
							  const double *weights, fc_arena *arena,
							  fc_operator_header *header, double *most);

/*
 * fc_operator_attach_exact of the centroids that any source stands for; arrays
 * are in the arena.
 */
void		fc_operator_keep_exact(fc_operator *op, const fc_operator *source,
								   uint32_t rerank, fc_arena *arena);

/*
 * centroids (k x d) = scale rows + center, each d or NULL (1, 0); scratch:
 * fc_operator_scratch.
 */
void		fc_operator_centroids(const fc_operator *op, const double *center,
								  const double *scale, fc_scratch scratch,
								  double *centroids);

/*
 * Row j of source is the cluster numbers[j] of op, whose rows are in the order
 * of their numbers and whose arrays are in the arena.  FC_EFORMAT where two
 * numbers are equal, or one is not from 0 to FC_MAX_NUMBERS - 1.
 */
fc_status
			fc_operator_renumber(const fc_operator *source, const int32_t *numbers,
								 fc_arena *arena, fc_operator *op);

/*
 * place[j] = how many of the k numbers are below numbers[j]; errors as above.
 */
fc_status	fc_places_of_numbers(const int32_t *numbers, size_t k,
								 fc_arena *arena, int32_t *place);

/*
 * The centroids on a plane, for pictures:
 *     m = sum w_j c_j / W,   p_j = (a . (c_j - m), b . (c_j - m))
 * a and b are the principal axes of the centroids, each counted w_j times: no
 * other plane shows a larger share
 *     sum w_j ||p_j||^2 / sum w_j ||c_j - m||^2
 * of the distances between the clusters. places (k x 2) = p_j, to the rounding
 * of float products; shown: the share of each axis, both 0 where all centroids
 * are one point. In one dimension there is no b: the second coordinates are 0.
 * Weights that add up to 0 or to no finite number count as equal.
 */
void		fc_operator_plane(const fc_operator *op, fc_arena *arena, double *places,
							  double shown[2]);

/* ---- the dendrogram (dendrogram.c) ---- */

/*
 * The clusters of an operator joined two by two, by Ward's criterion.
 *
 * Joining a and b, of n_a and n_b rows with the means c_a and c_b, adds
 *     D(a, b) = n_a n_b / (n_a + n_b) ||c_a - c_b||^2
 * to the sum of squares. The least D comes first. Chains of nearest neighbours
 * find the same joins (F. Murtagh 1983; Ward's criterion is reducible): time
 * k^2 (d + 1), memory 4 k^2 bytes.
 */
/*
 * A join. 0 .. k - 1 are the clusters; k + i is the node of join i. left <
 * right.
 */
typedef struct fc_join
{
	int32_t		left;
	int32_t		right;
	/* sqrt(2 D): the distance of two single rows; rises from join to join */
	double		height;
	double		weight;			/* of all rows below */
} fc_join;

/* Bytes fc_cluster_tree takes from its arena. */

/*
 * joins (k - 1) in the order of their heights. Weights are those of the
 * operator; clusters count as equal where these add up to 0 or to no finite
 * number.
 */
void		fc_cluster_tree(const fc_operator *op, fc_arena *arena, fc_join *joins);

/*
 * The clusters of one number joined: centroids (count x d) become their
 * weighted means, weights (count) the sums. number[j] is below count; a number
 * that no cluster has gets zeros. Clusters of no weight at all count as equal.
 * Scratch: fc_operator_scratch floats and d doubles in row.
 */
void		fc_join_clusters(const fc_operator *op, const int32_t *number,
							 size_t count, fc_scratch scratch, double *row,
							 double *centroids, double *weights);

#endif							/* FC_OPERATOR_CODEBOOK_H */

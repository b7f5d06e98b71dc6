/*
 * codebook.h - operators made from centroids, and centroids from operators.
 *
 * Scores ||v||^2/2 - v.x are computed in float. When the centroids' common
 * mean is far from the origin compared with their spread, rounding errors
 * could exceed the differences between scores, so the mean becomes the offset.
 */
#ifndef FC_OPERATOR_CODEBOOK_H
#define FC_OPERATOR_CODEBOOK_H

#include "numerics/weighted_rows.h"
#include "operator/bytes.h"

/* Returns the maximum size in bytes of a stored codebook. */
size_t		fc_codebook_size(size_t k, size_t d);

/*
 * A source of k centroids with d values each: an array x (k x d), or a
 * function `row` that returns the values of centroid j, valid until the next
 * call.
 *
 * For sparse centroids there is also a function `elements`. It returns the
 * number of elements of centroid j, and sets their ascending indices and their
 * values. All other values are +0.
 */
typedef struct fc_centroid_source
{
	size_t		k;
	size_t		d;
	const double *x;
	const double *(*row) (void *place, size_t j);	/* NULL: the centroids are
													 * at x */
	size_t		(*elements) (void *place, size_t j, const uint32_t **index,
							 const double **value); /* NULL: the centroids are
													 * not sparse */
	void	   *place;			/* first argument of the two functions */
} fc_centroid_source;

/*
 * Returns the centroids of a codebook as rows. The weight of a row is the
 * weight of its cluster.
 */
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
 * Writes a codebook of centroids, with k weights, to header, which has space
 * for fc_codebook_size bytes. Returns the number of bytes used. Reads each
 * centroid three times. For the metric cosine, centroids must be unit vectors
 * (fc_unit_row). A codebook for inner products has no offset. *max receives
 * the greatest absolute coordinate after the offset is subtracted, which may
 * be too large for a float.
 */
size_t		fc_codebook_write(fc_metric metric, const fc_centroid_source *centroids,
							  const double *weights, fc_arena *arena,
							  fc_operator_header *header, double *max);

/*
 * fc_codebook_write_rows writes a codebook of rows that may never be used as
 * an operator. It does not measure rounding, and writes a digest of 0.
 * fc_codebook_measure completes the bytes in place. They then equal the result
 * of fc_codebook_write. fc_codebook_is_measured returns true for completed
 * bytes.
 */
static inline bool
fc_codebook_is_measured(const fc_operator_header *header)
{
	return header->digest[0] != 0 || header->digest[1] != 0;
}

size_t		fc_codebook_write_rows(fc_metric metric, const fc_centroid_source *rows,
								   const double *weights, fc_arena *arena,
								   fc_operator_header *header, double *max);
void		fc_codebook_measure(fc_arena *arena, fc_operator_header *header);

/*
 * Attaches the centroids of `source`, an operator of any kind, to op as its
 * exact centroids (fc_operator_attach_exact). New arrays are in the arena.
 */
void		fc_operator_keep_exact(fc_operator *op, const fc_operator *source,
								   uint32_t rerank, fc_arena *arena);

/*
 * Sets centroids (k x d) to scale * centroid + center for each centroid of op.
 * scale and center have d values, or are NULL for 1 and 0. Scratch:
 * fc_operator_scratch.
 */
void		fc_operator_centroids(const fc_operator *op, const double *center,
								  const double *scale, fc_scratch scratch,
								  double *centroids);

/*
 * Makes op a copy of source without regions, in which centroid j of source has
 * cluster number numbers[j]. The centroids of op are sorted by number. Arrays
 * are in the arena. Returns FC_EFORMAT if two numbers are equal or one is
 * outside 0 .. FC_MAX_NUMBERS - 1.
 */
fc_status	fc_operator_renumber(const fc_operator *source, const int32_t *numbers,
								 fc_arena *arena, fc_operator *op);

/*
 * Sets place[j] to the rank of numbers[j]: how many of the k numbers are
 * smaller. Returns FC_EFORMAT if two numbers are equal or one is outside 0 ..
 * FC_MAX_NUMBERS - 1.
 */
fc_status	fc_places_of_numbers(const int32_t *numbers, size_t k,
								 fc_arena *arena, int32_t *place);

/*
 * Projects the centroids onto a plane, for pictures:
 *     m = sum w_j c_j / W,   p_j = (a . (c_j - m), b . (c_j - m))
 * a and b are the leading principal axes of the centroids with weights w_j: no
 * other plane shows a larger share
 *     sum w_j ||p_j||^2 / sum w_j ||c_j - m||^2
 * of the squared distances from m. places (k x 2) receives p_j, up to the
 * rounding of float products. shown receives the share of each axis, or two
 * zeros if all centroids are equal. In one dimension there is no b, and the
 * second coordinates are 0. Weights whose sum is 0 or not finite count as
 * equal.
 */
void		fc_operator_plane(const fc_operator *op, fc_arena *arena, double *places,
							  double shown[2]);

/* ---- the dendrogram (dendrogram.c) ---- */

/*
 * The hierarchy of the clusters of an operator by Ward's criterion, which
 * joins them two by two.
 *
 * Joining a and b, of n_a and n_b rows with the means c_a and c_b, adds
 *     D(a, b) = n_a n_b / (n_a + n_b) ||c_a - c_b||^2
 * to the sum of squares. The pair with the smallest D is joined first. Chains
 * of nearest neighbours find the same joins, because Ward's criterion is
 * reducible (F. Murtagh 1983). Time k^2 (d + 1), memory 4 k^2 bytes.
 */
/*
 * A join of two nodes, left < right. Nodes 0 .. k - 1 are the clusters, and
 * node k + i is made by join i.
 */
typedef struct fc_join
{
	int32_t		left;
	int32_t		right;
	/* sqrt(2 D): the distance of the nodes if both were single rows */
	double		height;
	double		weight;			/* sum of the weights of the clusters below
								 * the node */
} fc_join;


/*
 * Computes k - 1 joins in ascending order of height. Clusters have the weights
 * of the operator, or equal weights if their sum is 0 or not finite.
 */
void		fc_cluster_tree(const fc_operator *op, fc_arena *arena, fc_join *joins);

/*
 * Merges the clusters with equal numbers. Sets centroids (count x d) to the
 * weighted means of their centroids, and weights (count) to the sums of their
 * weights. number[j] is below count. A number without clusters has weight 0,
 * and a centroid of zeros. If all clusters of a number have weight 0, they
 * count equally. Scratch space: fc_operator_scratch floats, and d doubles in
 * row.
 */
void		fc_join_clusters(const fc_operator *op, const int32_t *number,
							 size_t count, fc_scratch scratch, double *row,
							 double *centroids, double *weights);

#endif							/* FC_OPERATOR_CODEBOOK_H */

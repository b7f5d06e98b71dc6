/*
 * operator.h - a stored operator: k centroids in d dimensions. They are the
 * rows of a matrix V (k x d) plus an offset o. V is a product of factors F_1
 * F_2 ... F_Q. An operator computes the projection V x of a row x, and assigns
 * x to its nearest centroid, argmin_j ||v_j||^2/2 - v_j.(x - o).
 *
 * An fc_operator is a view of bytes that the caller owns. Factors are dense or
 * sparse (compressed rows). An operator of one dense factor is a codebook.
 *
 * Scores ||v_j||^2/2 - v_j.(x - o) are floats. Where rounding could change
 * their order, the candidate centroids are compared by fc_operator_distance,
 * so that a label is the lowest j with the minimum distance. This holds for
 * single rows and for batches, for rows at any distance and for data of any
 * magnitude. The rounding bound of a codebook is proven. The bound through
 * several factors is four standard deviations of independent roundings
 * (rounding_bounds.c): a label is then this j, or another j whose distance is
 * equal up to float rounding.
 *
 * With the metric cosine all rows have length 1: the caller normalises them
 * (fc_unit_row), and the rows of a codebook are unit vectors. With
 * inner_product the distance is -x . c, which is not a squared distance, so
 * bounds by the triangle inequality do not hold.
 */
#ifndef FC_OPERATOR_OPERATOR_H
#define FC_OPERATOR_OPERATOR_H

#include "numerics/metric.h"

typedef struct fc_factor
{
	size_t		rows;
	size_t		columns;
	size_t		nonzeros;
	const float *values;		/* rows x columns values, or `nonzeros` values
								 * if sparse */
	const uint32_t *row_start;	/* rows + 1 values: index of the first entry
								 * of each row, followed by the number of all
								 * entries; NULL if dense */
	const uint32_t *column;		/* column index of each entry; NULL if dense
								 * or if short_column is used */
	const uint16_t *short_column;	/* column index of each entry, in stored
									 * factors of 65536 columns or fewer */

	/*
	 * rounding in this factor changes a score by at most error * ||input of
	 * the factor||: a proven bound for a codebook, a statistical one
	 * otherwise
	 */
	double		error;
} fc_factor;

static inline fc_factor
fc_dense_factor(size_t rows, size_t columns, const float *values)
{
	return (fc_factor)
	{
		.rows = rows,.columns = columns,.nonzeros = rows * columns,.values = values
	};
}

/* Returns the column of entry p of a sparse factor. */
static inline size_t
fc_factor_column(const fc_factor *factor, size_t p)
{
	return factor->column != NULL ? factor->column[p] : factor->short_column[p];
}

/* Maximum number of factors, a limit of the stored format. */
#define FC_MAX_FACTORS	32

/* Upper limit of cluster numbers, exclusive. */
#define FC_MAX_NUMBERS	(2 * FC_MAX_CLUSTERS)

/*
 * Value of `rerank` that makes labels exact, by comparing all exact centroids
 * that may be the nearest one.
 */
#define FC_RERANK_EXACT	UINT32_MAX

/*
 * Exact centroids: the centroids that the product of the factors approximates,
 * stored with it. Exact centroid j is offset + row j of values. Its distance
 * from centroid j of the product is at most residual[j]. The `rerank` nearest
 * centroids of the product are found first, and then ordered by the distances
 * to their exact centroids. FC_RERANK_EXACT compares all exact centroids that
 * the residuals do not exclude: labels are then equal to the labels of a
 * codebook of the exact centroids.
 */
typedef struct fc_exact_centroids
{
	uint32_t	rerank;			/* number of centroids of the product to order
								 * by exact distances, or FC_RERANK_EXACT */
	const float *values;		/* k x d; NULL if there are no exact centroids */
	const double *offset;		/* d values; NULL means a zero offset */
	const float *half_norms;	/* k: half the squared lengths of the rows of
								 * values */
	const float *residual;		/* k upper bounds on ||exact centroid - row of
								 * the product|| */
	double		max_row_norm;	/* maximum length of the rows of values */
	double		offset_length;	/* ||offset|| */

	/*
	 * upper bound on || R R^T - I || for the last factor R. Below 1/2, the
	 * rows of R are nearly orthonormal. 1: not known
	 */
	double		orthogonality_defect;
	double		residual_leakage;	/* max over j of ||R e_j||, where e_j is
									 * exact centroid j minus row j of the
									 * product; 0 if orthogonality_defect is 1 */
} fc_exact_centroids;

/*
 * Clusters that are dense regions of many centroids each (density/density.h),
 * stored with the operator. A row belongs to the cluster of its nearest
 * centroid. A row belongs to no cluster if its nearest centroid is noise, or
 * is farther away than the reach of that centroid.
 */
typedef struct fc_regions
{
	size_t		clusters;		/* number of clusters; 0: no regions, each
								 * centroid is a cluster */
	const int32_t *cluster;		/* k: cluster of each centroid; -1: the
								 * centroid is noise */
	const int32_t *peak_cluster;	/* k: cluster of each centroid; for noise,
									 * the cluster to which it would belong */
	const float *radius;		/* k: radius of the ball around each centroid
								 * that measures the density there; a small
								 * ball means dense rows */
	const float *reach;			/* k: maximum distance from the centroid for a
								 * row to belong to its cluster */
	const float *peak;			/* k: smallest radius of a centroid in
								 * peak_cluster[j], for each centroid j */
} fc_regions;

typedef struct fc_operator_sell fc_operator_sell;
struct fc_pruning;
struct fc_packed_kdtree;

/* Method that made the factors; stored with them. */
typedef enum fc_method
{
	FC_METHOD_PALM4MSA = 1,
	FC_METHOD_HIERARCHICAL = 2,
	FC_METHOD_BUTTERFLY = 3,
	FC_METHOD_SVD = 4,
	FC_METHOD_PRUNE = 5,
	FC_METHOD_DENSE = 6,		/* no factorisation was worthwhile */
	FC_METHOD_QKMEANS = 7,		/* learned together with the labels of rows */
	FC_METHOD_AUTO = 8			/* chooses a method; never stored */
} fc_method;

typedef struct fc_factorization
{
	uint32_t	method;			/* fc_method that made the factors */
	uint32_t	padding;		/* always 0 */

	/*
	 * ||U - V|| / ||U||, where U are the centroids that were factored, and V
	 * is the product of the factors. The rows are weighted, and the offset is
	 * subtracted.
	 */
	double		relative_error;
	double		svd_error;		/* relative error of an SVD with the same
								 * number of stored values */

	/*
	 * fraction, 0 .. 1, of test points around the centroids to which U and V
	 * give the same label; -1 if not measured
	 */
	double		agreement;
} fc_factorization;

typedef struct fc_operator
{
	size_t		k;
	size_t		d;

	/*
	 * FC_COSINE: rows have length 1, from fc_unit_row. FC_INNER_PRODUCT: the
	 * operator is a codebook without offset, and its half norms are 0
	 */
	fc_metric	metric;
	const double *offset;		/* d values; NULL means a zero offset */
	double		offset_length;	/* ||offset||, set by fc_operator_measure and
								 * fc_operator_view */
	const float *half_norms;	/* k: ||v_j||^2 / 2, or 0 for inner products */
	const double *weights;		/* k: number of rows, or their weight, per
								 * cluster */
	const fc_factorization *factorization;	/* NULL if not factorised */

	/*
	 * max ||v_j||; set by fc_operator_measure, like error_relative,
	 * error_absolute, max_growth and the errors of the factors
	 */
	double		max_row_norm;

	/*
	 * The roundings of x - o, v_j, the half norm and the score change a score
	 * by at most error_relative * ||x - o|| + error_absolute.
	 */
	double		error_relative;
	double		error_absolute;
	double		max_growth;		/* max_growth * ||x - o|| bounds every partial
								 * sum in float; the rounding bounds hold
								 * unless this product overflows */
	fc_exact_centroids exact;
	fc_regions	regions;

	/*
	 * k ascending cluster numbers, one for each centroid; NULL: the numbers
	 * are 0 .. k - 1, or there are regions
	 */
	const int32_t *number;
	/* sparse factors in slices (internal.h); NULL until fc_operator_slice */
	const struct fc_operator_sell *sell;
	const float *rows;			/* k x d rows of the product; NULL until
								 * fc_operator_expand */
	struct fc_pruning *pruning; /* pruning bounds for the centroids of a
								 * codebook; NULL until fc_operator_prune */
	struct fc_packed_kdtree *kdtree;	/* k-d tree of very many centroids in
										 * few dimensions; NULL until
										 * fc_operator_prune */
	const float *packs;			/* centroids of a codebook in packs
								 * (numerics/rows.h); NULL until
								 * fc_operator_pack */
	size_t		factors;
	fc_factor	factor[FC_MAX_FACTORS];
} fc_operator;

static inline bool
fc_operator_is_codebook(const fc_operator *op)
{
	return op->factors == 1 && op->factor[0].row_start == NULL;
}

/*
 * Returns the distance within which a row counts as equal to centroid j. The
 * distance bounds the rounding of the centroid to floats, and the rounding of
 * the rows from which the centroid was computed. These rows may have been
 * floats relative to another origin.
 */
double		fc_operator_centroid_rounding(const fc_operator *op, size_t j);

/* Returns the cluster number of centroid j of an operator without regions. */
static inline int32_t
fc_operator_number(const fc_operator *op, size_t j)
{
	return op->number != NULL ? op->number[j] : (int32_t) j;
}

/*
 * Returns the greatest possible label plus 1. Labels start at 0; some may be
 * unused.
 */
static inline size_t
fc_operator_labels(const fc_operator *op)
{
	if (op->regions.clusters > 0)
		return op->regions.clusters;
	return (size_t) fc_operator_number(op, op->k - 1) + 1;
}

/*
 * Returns the label of a row, given its nearest centroid j and the squared
 * distance to that centroid; -1 if the row belongs to no cluster.
 */
static inline int32_t
fc_operator_label(const fc_operator *op, size_t j, double squared)
{
	double		reach;

	if (op->regions.clusters == 0)
		return fc_operator_number(op, j);
	reach = fmax((double) op->regions.reach[j],
				 fc_operator_centroid_rounding(op, j));
	return squared <= reach * reach ? op->regions.cluster[j] : -1;
}

/*
 * Rearranges sparse factors in slices (internal.h), which multiply a single
 * row three times faster than factors in stored order. Memory comes from the
 * arena. An operator without sparse factors is not changed.
 */
void		fc_operator_slice(fc_operator *op, fc_arena *arena);

/*
 * Stores the centroids of a codebook in packs (numerics/rows.h), in memory
 * from the arena. A single row is then assigned three to six times faster than
 * with the stored order. Does nothing for other operators, for a codebook that
 * is too large, and for one that a k-d tree suits better.
 */
void		fc_operator_pack(fc_operator *op, fc_arena *arena);

/*
 * Computes the k x d centroids of the product for callers that need many
 * distances, and sets op->rows to them.
 */
void		fc_operator_expand(fc_operator *op, fc_scratch scratch, float *rows);

/*
 * fc_operator_prune prepares bounds for many centroids of a codebook
 * (numerics/pruning.h): sets op->pruning to bounds in the arena, or to NULL
 * where floats do not distinguish the centroids. In few dimensions, it sets
 * op->kdtree (numerics/kdtree.h) instead. fc_operator_prune_worksize returns
 * about the number of bytes that fc_operator_prune takes from its arena; 0 if
 * neither would save time.
 */
size_t		fc_operator_prune_worksize(const fc_operator *op);
void		fc_operator_prune(fc_operator *op, fc_arena *arena);

/*
 * Returns the number of floats of scratch space that suffices for every
 * function of this header except fc_operator_assign_batch. The number grows
 * when exact centroids are attached.
 */
size_t		fc_operator_scratch(const fc_operator *op);

/*
 * Returns an upper bound on fc_operator_scratch for k x d operators with
 * `factors` factors. Intermediate vectors must have at most k + d elements,
 * and there must be no exact centroids.
 */
static inline size_t
fc_operator_scratch_bound(size_t k, size_t d, size_t factors)
{
	return (46 + 2 * factors) * (k + d) + 6;
}

/* Computes y (k) = V x; x has d floats. */
void		fc_operator_project(const fc_operator *op, const float *x,
								fc_scratch scratch, float *y);

/*
 * Returns the index of the centroid nearest to x: the lowest j with the
 * minimum of fc_operator_distance, up to the rounding described at the top of
 * this file. x has d doubles, below 2^63 in magnitude. The offset is
 * subtracted in double. Cost: one multiply-add for each non-zero of the
 * factors, and a distance in double for each centroid whose score is within
 * the rounding bound of the lowest score. If a product has many such
 * centroids, the scores are first computed again in double, which leaves few.
 */
size_t		fc_operator_assign(const fc_operator *op, const double *x, fc_scratch scratch);

/*
 * Finds the `count` nearest centroids, or all if count is above k, in
 * ascending order of distance. clusters receives their indices, distances
 * their squared distances.
 */
void		fc_operator_nearest(const fc_operator *op, const double *x, size_t count,
								fc_scratch scratch, int32_t *clusters, double *distances);

/*
 * Finds the `count` nearest centroids, count >= 1, as fc_operator_nearest
 * does, but from given scores (k): ||x - centroid j||^2 / 2 minus a number
 * that is the same for all j. bound must be at least the error of a score plus
 * the error of half a distance. Distances are computed only for the centroids
 * that may be among the nearest. The operator must not have exact centroids
 * that re-rank only the best few.
 */
void		fc_operator_nearest_scored(const fc_operator *op, const double *x,
									   const double *scores, double bound,
									   size_t count, fc_scratch scratch,
									   int32_t *clusters, double *distances);

/*
 * Computes half_norms (k values, ||v_j||^2 / 2 for row j of the product) and
 * sets op->half_norms to them. Also sets the rounding bounds of op. Must be
 * called once the factors are known, before any other function.
 */
void		fc_operator_measure(fc_operator *op, fc_scratch scratch, float *half_norms);

/*
 * Checks that the half norms and bounds of untrusted bytes agree with the
 * factors, up to rounding. Checks centroids at regular intervals, as many as
 * about 2^26 multiply-adds allow. Returns FC_OK or FC_EFORMAT.
 */
fc_status	fc_operator_verify(const fc_operator *op, fc_scratch scratch);

/*
 * Attaches the centroids of `source`, a codebook, to op as its exact
 * centroids. The half norms of op must be known. Fills residual and half_norms
 * (k values each); op then points to these two and to the arrays of source.
 * rerank: 1 .. k or FC_RERANK_EXACT.
 */
void		fc_operator_attach_exact(fc_operator *op, const fc_operator *source,
									 uint32_t rerank, fc_scratch scratch,
									 float *residual, float *half_norms);

/* Returns the number of values stored in all factors together. */
size_t		fc_operator_values(const fc_operator *op);

/*
 * Returns the address of v_j, d floats. They are in the operator if it is a
 * codebook or has been expanded, otherwise in the scratch space.
 */
const float *fc_operator_product_row(const fc_operator *op, size_t j, float *scratch);

/* Computes row j of the product plus the offset, in double. */
void		fc_operator_row(const fc_operator *op, size_t j, fc_scratch scratch,
							double *row);

/*
 * Returns ||x - c_j||^2 in double, or -x . c_j for inner products. c_j is
 * exact centroid j if there are exact centroids, else row j of the product
 * plus the offset.
 */
double		fc_operator_distance(const fc_operator *op, size_t j, const double *x,
								 fc_scratch scratch);

/*
 * Returns the label of row x (d values), given its nearest centroid j; -1 if
 * the row belongs to no cluster. Computes the distance only if there are
 * regions.
 */
int32_t		fc_operator_label_of(const fc_operator *op, size_t j, const double *x,
								 fc_scratch scratch);

/*
 * Returns the outlier score of a row at squared distance `squared` from its
 * nearest centroid j, for an operator with regions: 0 at the peak of a
 * cluster, rising towards 1 as rows become sparser (Campello, Moulavi, Zimek,
 * Sander 2015). r(peak) is peak[j] and r(centroid) is radius[j] of fc_regions.
 *
 *     1 - min(1, r(peak) / max(r(centroid), |x - centroid|))
 *
 * Radii and distances are raised to fc_operator_centroid_rounding if they are
 * smaller: the ball of equal rows has radius 0, and rounding must not put a
 * row outside.
 */
double		fc_operator_outlier(const fc_operator *op, size_t j, double squared);

/*
 * fc_operator_assign_batch labels rows (n x d doubles) exactly as
 * fc_operator_assign does, but many rows at a time. labels has n elements, and
 * scratch has fc_operator_batch_scratch(op, n) floats. This number grows with
 * n, and is never less than fc_operator_scratch(op).
 */
size_t		fc_operator_batch_scratch(const fc_operator *op, size_t n);
void		fc_operator_assign_batch(const fc_operator *op, const double *x, size_t n,
									 fc_scratch scratch, int32_t *labels);

/* ---- labels of sparse rows, by the columns of a codebook ---- */

/*
 * A codebook stored by columns, for the scores of sparse rows in double:
 *
 *     score_j = ||v_j||^2 / 2 + v_j . o - sum over the elements of x_i v_ji
 *
 * Cost: k multiply-adds per element, and no pass over d. The error of a score
 * is below the error of a distance in double. If the lowest score differs from
 * all others by more than twice the bound that fc_columns_score returns, it
 * gives the label of fc_operator_assign. Other rows must be assigned by
 * fc_operator_assign.
 */
typedef struct fc_columns
{
	size_t		k;
	size_t		d;
	const float *values;		/* d x k: transposed rows */
	const double *constants;	/* k: scores of an all-zero row; 0 for inner
								 * products */
	double		reach;			/* max ||v_j|| + ||o|| */
} fc_columns;

/*
 * Returns the number of bytes that fc_columns_make takes from its arena.
 * Returns 0 if the labels are not the labels of a single codebook.
 */
size_t		fc_columns_worksize(const fc_operator *op);

void		fc_columns_make(const fc_operator *op, fc_arena *arena, fc_columns *columns);

/*
 * Computes the scores (k) of a row, which must have length 1 for the metric
 * cosine. Returns an upper bound on the error of a score plus the error of
 * half a distance.
 */
double		fc_columns_score(const fc_columns *columns, const fc_sparse_row *x,
							 double *scores);

/*
 * Sets *label to the index of the nearest centroid of a row, which must have
 * length 1 for the metric cosine. Returns false if rounding could change the
 * label. scores is scratch space for k values.
 */
bool		fc_columns_assign(const fc_columns *columns, const fc_sparse_row *x,
							  double *scores, size_t *label);

/*
 * Returns the squared distance of a row to centroid j of a codebook, from the
 * scores of the row; its relative error is below 1e-9. Returns NaN if more
 * than three digits cancel. Returns NaN for any operator other than a plain
 * codebook without offset, and for inner products.
 */
double		fc_columns_distance(const fc_operator *op, const fc_sparse_row *x,
								const double *scores, size_t j);

#endif							/* FC_OPERATOR_OPERATOR_H */

/*
 * operator.h - a stored factored operator V = F_1 F_2 ... F_Q (k x d), and its
 * work on rows: project (V x), assign (argmin_j ||v_j||^2/2 - v_j.(x - o)).
 *
 * The view points into bytes the caller owns. Here factors are dense or sparse
 * (compressed rows); a plain codebook is one dense factor.
 *
 * Scores ||v_j||^2/2 - v_j.(x - o) are floats. Where rounding could change
 * their order, the rows concerned are compared by fc_operator_distance, so
 * that a label is the lowest j that minimises it, for one row and in batches,
 * near and far, for tiny and huge data. The bound of rounding is proven for a
 * codebook. Through several factors it is four standard deviations of
 * independent roundings (rounding_bounds.c): a label is then that j, or one
 * whose distance is equal to rounding in float.
 *
 * With the metric cosine all of this is about rows of length 1: the caller
 * brings them there (fc_unit_row) and the rows of a codebook are unit vectors.
 * With inner_product the distance is -x . c, which squares no distance: bounds
 * by the triangle inequality do not hold for it.
 */
#ifndef FC_OPERATOR_OPERATOR_H
#define FC_OPERATOR_OPERATOR_H

#include "numerics/metric.h"

typedef struct fc_factor
{
	size_t		rows;
	size_t		columns;
	size_t		nonzeros;
	const float *values;		/* rows x columns, or nonzeros when sparse */
	const uint32_t *row_start;	/* rows + 1, NULL when dense */
	const uint32_t *column;		/* nonzeros, or NULL: short_column holds them */
	const uint16_t *short_column;	/* nonzeros; stored factors of at most
									 * 65536 columns */

	/*
	 * rounding in this factor moves a score by at most error ||input||: a
	 * proven bound in a codebook, else a statistical one
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

/* Column of entry p of a sparse factor. */
static inline size_t
fc_factor_column(const fc_factor *factor, size_t p)
{
	return factor->column != NULL ? factor->column[p] : factor->short_column[p];
}

#define FC_MAX_FACTORS	32
#define FC_MAX_NUMBERS	(2 * FC_MAX_CLUSTERS)	/* numbers of clusters are
												 * below it */
#define FC_RERANK_EXACT	UINT32_MAX

/*
 * The centroids an operator stands for, kept beside it: cluster j is offset +
 * row j, and within residual[j] of row j of the product. The rerank best rows
 * of the product are compared by their exact centroids; FC_RERANK_EXACT
 * compares all that the residuals do not rule out, so that labels are those of
 * the plain codebook of these centroids.
 */
typedef struct fc_exact_centroids
{
	uint32_t	rerank;
	const float *values;		/* k x d, NULL: none are kept */
	const double *offset;		/* d, or NULL */
	const float *half_norms;	/* k: half the squared lengths of the rows of
								 * values */
	const float *residual;		/* k */
	double		max_row_norm;	/* the greatest of those lengths */
	double		offset_length;	/* ||offset|| */

	/*
	 * || R R^T - I ||, R the last factor: below 1/2 its rows are all but
	 * orthonormal,
	 */
	double		orthogonality_defect;
	double		residual_leakage;	/* and then max ||R e_j||, e_j the
									 * residuals; else 1 and 0 */
} fc_exact_centroids;

/*
 * The clusters that centroids are parts of, where these are many small ones of
 * dense regions (density/density.h); stored with the operator. A row is of the
 * cluster of its nearest centroid, or of none: where that is noise, or farther
 * away than the cluster reaches.
 */
typedef struct fc_regions
{
	size_t		clusters;		/* 0: each centroid is a cluster */
	const int32_t *cluster;		/* k: of a centroid, -1: noise */
	const int32_t *home;		/* k: the cluster whose peak it is measured
								 * against, noise or not */
	const float *radius;		/* k: of the ball of rows about the centroid */
	const float *reach;			/* k: of its cluster */
	const float *peak;			/* k: the radius at the peak of its home */
} fc_regions;

typedef struct fc_operator_sell fc_operator_sell;
struct fc_screen;
struct fc_boxes;

/* Where the factors came from; stored with them. */
typedef enum fc_method
{
	FC_METHOD_PALM4MSA = 1,
	FC_METHOD_HIERARCHICAL = 2,
	FC_METHOD_BUTTERFLY = 3,
	FC_METHOD_SVD = 4,
	FC_METHOD_PRUNE = 5,
	FC_METHOD_DENSE = 6,		/* no factorisation was worth it */
	FC_METHOD_QKMEANS = 7,		/* learned with the rows */
	FC_METHOD_AUTO = 8			/* a choice, never stored */
} fc_method;

typedef struct fc_factorization
{
	uint32_t	method;
	uint32_t	padding;		/* 0 */

	/*
	 * ||U - V|| / ||U||, rows weighted, around the offset; U the centroids
	 * factored
	 */
	double		relative_error;
	double		svd_error;		/* the same of the SVD with as many values */

	/*
	 * labels of points about the centroids that U and V agree on; -1: not
	 * measured
	 */
	double		agreement;
} fc_factorization;

typedef struct fc_operator
{
	size_t		k;
	size_t		d;

	/*
	 * cosine: rows come from fc_unit_row; inner_product: a codebook without
	 * offset, whose half norms are 0
	 */
	fc_metric	metric;
	const double *offset;		/* d, or NULL */
	double		offset_length;	/* ||offset||, by fc_operator_measure and
								 * fc_operator_view */
	const float *half_norms;	/* k: ||v_j||^2 / 2, or 0 for inner products */
	const double *weights;		/* k */
	const fc_factorization *factorization;	/* or NULL */

	/*
	 * max ||v_j||; this, the next three and the factors' error by
	 * fc_operator_measure
	 */
	double		max_row_norm;

	/*
	 * rounding outside the factors moves a score by error_relative ||x - o||
	 * + error_absolute,
	 */
	double		error_relative;
	double		error_absolute;
	double		max_growth;		/* while max_growth ||x - o|| does not
								 * overflow a float */
	fc_exact_centroids exact;
	fc_regions	regions;
	/* k, ascending: the cluster of each row; NULL: 0 .. k - 1, or of regions */
	const int32_t *number;
	const struct fc_operator_sell *sell;	/* NULL, or by fc_operator_slice */
	const float *rows;			/* NULL, or the k x d rows of the product, by
								 * fc_operator_expand */
	struct fc_screen *screen;	/* NULL, or of a codebook's rows, by
								 * fc_operator_screen */
	struct fc_boxes *boxes;		/* the same of very many rows in few
								 * dimensions */
	const float *packs;			/* NULL, or a codebook's rows side by side, by
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
 * The distance from centroid j below which a row is at it: a bound of the
 * rounding of its coordinates to floats, and of the rounding of the rows that
 * it is the mean of, which may have been floats about another origin.
 */
double		fc_operator_centroid_rounding(const fc_operator *op, size_t j);

/* The number of the cluster of centroid j, where there are no regions. */
static inline int32_t
fc_operator_number(const fc_operator *op, size_t j)
{
	return op->number != NULL ? op->number[j] : (int32_t) j;
}

/* How many labels there are, from 0 on; some numbers may be of no centroid. */
static inline size_t
fc_operator_labels(const fc_operator *op)
{
	if (op->regions.clusters > 0)
		return op->regions.clusters;
	return (size_t) fc_operator_number(op, op->k - 1) + 1;
}

/*
 * The label of a row whose nearest centroid is j, at this squared distance;
 * -1: of no cluster.
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
 * Sparse factors rearranged for one row at a time, three times faster than as
 * they are; in the arena, which may be left as it is.
 */
void		fc_operator_slice(fc_operator *op, fc_arena *arena);

/*
 * The rows of a codebook that is not too large for one row at a time, three to
 * six times faster than as they are; in the arena.
 */
void		fc_operator_pack(fc_operator *op, fc_arena *arena);

/*
 * rows (k x d) = the product, for callers who need many distances; op->rows is
 * set to it.
 */
void		fc_operator_expand(fc_operator *op, fc_scratch scratch, float *rows);

/*
 * Many centroids of a codebook screened for those that may be nearest
 * (numerics/screen.h): bytes of memory that it takes while it is made; 0 when
 * there is nothing to gain. op->screen is set to one that lies in the arena,
 * or to NULL where floats do not distinguish the centroids. In few dimensions
 * op->boxes is set (numerics/kdtree.h).
 */
size_t		fc_operator_screen_worksize(const fc_operator *op);
void		fc_operator_screen(fc_operator *op, fc_arena *arena);

/*
 * Floats of scratch that all functions here need, but
 * fc_operator_assign_batch; fewer before centroids are kept.
 */
size_t		fc_operator_scratch(const fc_operator *op);

/*
 * The most of it for k x d operators of so many factors, no vector between
 * them longer than k + d, without exact centroids.
 */
static inline size_t
fc_operator_scratch_bound(size_t k, size_t d, size_t factors)
{
	return (46 + 2 * factors) * (k + d) + 6;
}

/* y (k) = V x; x is d floats. */
void		fc_operator_project(const fc_operator *op, const float *x,
								fc_scratch scratch, float *y);

/*
 * Nearest row of offset + V: the lowest j of least fc_operator_distance, as
 * said above. x is d doubles, below 2^63 in magnitude (the offset is
 * subtracted in double). Cost: the non-zeros, and for each row of V within the
 * rounding bound of the nearest the making of that row; when these are many,
 * the scores again in double, which leave few.
 */
size_t
			fc_operator_assign(const fc_operator *op, const double *x, fc_scratch scratch);

/*
 * The count nearest clusters in order of distance, squared distances beside.
 */
void
			fc_operator_nearest(const fc_operator *op, const double *x, size_t count,
								fc_scratch scratch, int32_t *clusters, double *distances);

/*
 * The same from scores (k) by ||x - row j||^2 / 2 minus a constant of the row,
 * where bound bounds the errors of a score and of half a distance together:
 * only those possible are measured. Not for operators whose exact centroids
 * re-rank a few. count at least 1.
 */
void		fc_operator_nearest_scored(const fc_operator *op, const double *x,
									   const double *scores, double bound,
									   size_t count, fc_scratch scratch,
									   int32_t *clusters, double *distances);

/*
 * half_norms (k) = ||v_j||^2 / 2 of the rows of the product; sets
 * op->half_norms to them and op's rounding bounds. To be called once the
 * factors are known, before anything else.
 */
void
			fc_operator_measure(fc_operator *op, fc_scratch scratch, float *half_norms);

/*
 * Do the half norms and bounds of untrusted bytes agree with the factors, to
 * rounding? Looks at rows spread evenly over V for at most about 2^26
 * multiply-adds: FC_OK or FC_EFORMAT.
 */
fc_status	fc_operator_verify(const fc_operator *op, fc_scratch scratch);

/*
 * Keep the k x d centroids of a codebook (one dense factor) beside op, whose
 * half norms are known: op then points to source's arrays and to residual and
 * half_norms (k each, filled). rerank: 1 .. k or FC_RERANK_EXACT.
 */
void		fc_operator_attach_exact(fc_operator *op, const fc_operator *source,
									 uint32_t rerank, fc_scratch scratch,
									 float *residual, float *half_norms);

/* Values stored by all factors together. */
size_t		fc_operator_values(const fc_operator *op);

/*
 * v_j, d floats: in the operator itself when it has one dense factor, else at
 * the scratch's end.
 */
const float *fc_operator_product_row(const fc_operator *op, size_t j, float *scratch);

/* Row j of the product plus the offset, in double. */
void		fc_operator_row(const fc_operator *op, size_t j, fc_scratch scratch,
							double *row);

/*
 * ||x - c_j||^2 in double, c_j the exact centroid, else row j of the product
 * plus the offset; -x . c_j for inner products.
 */
double		fc_operator_distance(const fc_operator *op, size_t j, const double *x,
								 fc_scratch scratch);

/*
 * fc_operator_label of row x (d), which measures its distance only where
 * regions ask for it.
 */
int32_t		fc_operator_label_of(const fc_operator *op, size_t j, const double *x,
								 fc_scratch scratch);

/*
 * An outlier score of regions: 0 at the peak of a cluster, towards 1 where
 * rows are ever sparser than there. (Campello, Moulavi, Zimek, Sander 2015,
 * with the peak of the cluster that the row is nearest to along the tree.)
 *
 *     1 - min(1, r(peak) / max(r(centroid), |x - centroid|))
 *
 * Radii and distances count as at least fc_operator_centroid_rounding: rows
 * that are equal have a ball of radius 0, and no rounding is outside it.
 */
double		fc_operator_outlier(const fc_operator *op, size_t j, double squared);

/*
 * Labels of a batch of rows (n x d double), those of fc_operator_assign: a
 * codebook by BLAS, products by blocks of rows. Scratch:
 * fc_operator_batch_scratch(op, n) floats, which grow with n and are enough
 * for fc_operator_scratch too.
 */
size_t		fc_operator_batch_scratch(const fc_operator *op, size_t n);
void		fc_operator_assign_batch(const fc_operator *op, const double *x, size_t n,
									 fc_scratch scratch, int32_t *labels);

/* ---- labels of sparse rows, by the columns of a codebook ---- */

/*
 *     score_j = ||v_j||^2 / 2 + v_j . o - sum over the row's elements of x_i v_ji,      in double
 *
 * Cost: k multiply-adds an element, and no pass over d. The error of a score
 * is below that of a distance in double, so that a lowest score that stands
 * clear of both is the label of fc_operator_assign; others have to be compared
 * there.
 */
typedef struct fc_columns
{
	size_t		k;
	size_t		d;
	const float *values;		/* d x k */
	const double *constants;	/* k: the scores of a row 0; 0 for inner
								 * products */
	double		reach;			/* max ||v_j|| + ||o|| */
} fc_columns;

/*
 * Bytes that fc_columns_make takes from its arena; 0 where labels do not come
 * from one dense codebook alone.
 */
size_t		fc_columns_worksize(const fc_operator *op);

void
			fc_columns_make(const fc_operator *op, fc_arena *arena, fc_columns *columns);

/*
 * The scores (k) of a row as the operator's metric takes it; returns a bound
 * of the errors of a score and of half a distance together.
 */
double		fc_columns_score(const fc_columns *columns, const fc_sparse_row *x,
							 double *scores);

/*
 * The label of a row as the operator's metric takes it; false, and no label,
 * where others are too near. scores: k.
 */
bool		fc_columns_assign(const fc_columns *columns, const fc_sparse_row *x,
							  double *scores, size_t *label);

#endif							/* FC_OPERATOR_OPERATOR_H */

/*
 * assign.c - the nearest centroids of an operator: for one row, for many rows,
 * for sparse rows. Row j of the product is v_j, o is the offset, and k, d and
 * n are the numbers of centroids, dimensions and rows.
 *
 *     assign:   argmin_j ||v_j||^2 / 2 - v_j . (x - o)
 *             = argmin_j ||x - (o + v_j)||
 *
 * One row: a codebook of many centroids is searched with bounds
 * (numerics/pruning.c), and a codebook of very many centroids with a k-d tree
 * (numerics/kdtree_simd.c). If neither decides the label, all scores are
 * computed, for a pack of several centroids at a time (numerics/rows_simd.c).
 *
 * Many rows: the scores of a codebook are a matrix product, unless bounds
 * exclude most centroids. Small codebooks and products of several factors are
 * multiplied with FC_BLOCK_ROWS rows at a time, coordinate by coordinate. The
 * scores are not stored; only the two lowest scores of each row are kept.
 *
 * Let every rounded score be within eps of the exact score
 * (rounding_bounds.c). Then the n nearest centroids have rounded scores at
 * most 2 eps above the n-th lowest one. If exactly n centroids have such
 * scores, these are the result; otherwise their distances are computed in
 * double. Rows of a product are expensive to compute: if there are more than a
 * few candidates, the scores are computed again in double, and then the
 * distances of the remaining candidates.
 *
 * With exact centroids c_j, where ||c_j - (o + v_j)|| <= r_j, exact distances
 * are computed for the best few candidates, or for every candidate that the
 * bound r_j does not exclude. Centroid j is not nearest if its approximate
 * distance exceeds r_j plus the distance of some centroid i,
 *
 *     ||x - o||^2 + 2 (score_j - eps) > (||x - c_i|| + r_j)^2
 *
 * A sharper bound holds for an SVD: the last factor R is dense and nearly
 * orthonormal, and the residuals e_j = c_j - (o + v_j) are nearly orthogonal
 * to it. Let r_j be ||e_j||, up to rounding. Let rho be the length of the
 * component of x - o orthogonal to R, ||(x - o) - R^T R (x - o)||. By
 * Pythagoras, centroid j is not nearest if, for some centroid i,
 *
 *     ||x - o||^2 + 2 (score_j - eps) - 2 rho r_j + r_j^2 > ||x - c_i||^2.
 *
 * Cost: n k d multiply-adds for a codebook, n times the number of non-zeros
 * otherwise.
 */

#include "numerics/dense.h"
#include "numerics/kdtree.h"
#include "numerics/pruning.h"
#include "numerics/rows.h"
#include "operator/internal.h"
#include "operator/nearest_heap.h"

/*
 * Number of candidates, beyond the requested number of clusters, up to which
 * their distances are computed. With more candidates, computing all scores in
 * double first is faster. A guess.
 */
#define FEW_PRODUCT_ROWS	((size_t) 3)
#define TILE	((size_t) 256)	/* number of rows, and of centroids, in one
								 * matrix product; a guess */
/*
 * Maximum scratch space of a block of rows, in floats. If more is needed, rows
 * are assigned one by one. A guess.
 */
#define MAX_FLOATS	((size_t) 1 << 25)
#define ALIGNMENT	((size_t) 64)	/* alignment of a block in bytes, the size
									 * of a cache line */
/*
 * Minimum number of rows for assignment in blocks; fewer do not repay the
 * preparation of a block. A guess.
 */
#define MIN_BLOCK_ROWS	8
/*
 * Number of values of a codebook, k * d, from which many rows are assigned by
 * matrix products instead of in blocks. A guess.
 */
#define SMALL_CODEBOOK	((size_t) 1 << 15)

/* A row and its scores. */
typedef struct ranking
{
	const fc_operator *op;
	const double *x;
	fc_scored	scored;
	double		bound;			/* e: maximum error of a score */
	const float *dots;			/* k dot products v_j . (x - o) */
	fc_scratch	scratch;		/* scratch space of fc_operator_scratch floats */
} ranking;

static inline double
score_of(const ranking *r, size_t j)
{
	return (double) (r->op->half_norms[j] - r->dots[j]);
}

/* ---- near ties ---- */

static double
product_distance(const ranking *r, size_t j)
{
	if (r->op->metric == FC_INNER_PRODUCT)
		return fc_operator_distance(r->op, j, r->x, r->scratch);
	return fc_row_distance(r->x, r->op->offset,
						   fc_operator_product_row(r->op, j, r->scratch.floats),
						   r->op->d);
}

/*
 * Returns an upper bound on |score in double - exact score|. The exact score
 * is computed without error from v_j rounded to float, because distances are
 * computed from the rounded v_j. The rounding errors in the factors are 2^-29
 * of r->bound, which is for scores in float. The bound adds the errors of
 * rounding v_j and its half norm to float once each, possibly to a subnormal
 * number.
 */
static double
double_bound(const ranking *r)
{
	double		far = sqrt(r->scored.square) + r->op->max_row_norm;
	double		d = (double) r->op->d;

	return r->bound * FC_EXP2_MINUS(28) +
		FC_EXP2_MINUS(23) * r->op->max_row_norm * far +
		(d + 8.0) * FC_EXP2_MINUS(53) * far * far +
		FC_EXP2_MINUS(148) * (1.0 + sqrt(d) * far);
}

/*
 * Returns true if the rounded score of row j of the product is at most
 * threshold, or NaN.
 */
static inline bool
possible(const ranking *r, size_t j, double threshold)
{
	return threshold == INFINITY || !(score_of(r, j) > threshold);
}

/*
 * Returns the number of rows of the product whose rounded score is at most
 * threshold, or NaN. Returns 0 if there is no rounding bound, or for a
 * codebook, whose rows need not be computed.
 */
static size_t
close_ones(const ranking *r, double threshold)
{
	size_t		close = 0;

	if (threshold == INFINITY || !(r->bound < INFINITY) ||
		fc_operator_is_codebook(r->op))
		return 0;
	for (size_t j = 0; j < r->op->k; j++)
		close += possible(r, j, threshold);
	return close;
}

/* Collects the clusters with the `count` lowest scores in a heap. */
static void
offer_scores(const ranking *r, size_t count, int32_t *clusters,
			 double *distances)
{
	clear_heap(clusters, distances, count);
	for (size_t j = 0; j < r->op->k; j++)
		offer(clusters, distances, count, j, score_of(r, j));
}

/*
 * Finds the `count` nearest rows of the product, in ascending order of
 * distance.
 */
static void
nearest_products(const ranking *r, size_t count, int32_t *clusters,
				 double *distances)
{
	double		threshold = INFINITY;
	double		limit = INFINITY;
	const double *scores = NULL;

	if (count < r->op->k)
	{
		offer_scores(r, count, clusters, distances);
		threshold = distances[0] + 2.0 * r->bound;
	}
	if (close_ones(r, threshold) >
		count + FEW_PRODUCT_ROWS +
		(r->op->rows != NULL ? fc_operator_values(r->op) / r->op->d : 0))
	{
		/*
		 * Computing the scores in double costs less than computing all these
		 * rows of the product and their distances.
		 */
		scores = fc_operator_score_double(r->op, r->x, r->scratch.floats);
		offer_all(scores, r->op->k, count, clusters, distances);
		limit = distances[0] + 2.0 * double_bound(r);
	}
	clear_heap(clusters, distances, count);
	for (size_t j = 0; j < r->op->k; j++)
		if (possible(r, j, threshold) && !(scores != NULL && scores[j] > limit))
		{
			fc_check();
			offer(clusters, distances, count, j, product_distance(r, j));
		}
	sort_heap(clusters, distances, count);
}

static size_t
lowest_of(const ranking *r)
{
	float		lowest = INFINITY;
	float		second = INFINITY;
	double		distance;
	int32_t		label = 0;

	fc_two_lowest(r->dots, r->op->half_norms, r->op->k, 0, &lowest, &second,
				  &label);
	if (!((double) second - (double) lowest > 2.0 * r->bound))
		nearest_products(r, 1, &label, &distance);
	return (size_t) label;
}

/*
 * Finds the `count` nearest rows of the product, unordered. Compares only
 * their scores, unless rounding could change the result.
 */
static void
best_products(const ranking *r, size_t count, int32_t *clusters,
			  double *distances)
{
	size_t		close = 0;
	double		threshold;

	offer_scores(r, count, clusters, distances);
	threshold = distances[0] + 2.0 * r->bound;
	for (size_t j = 0; j < r->op->k; j++)
		close += possible(r, j, threshold);
	/* Overflowed scores may be NaN, which a heap cannot order. */
	if (close != count || !(r->bound < INFINITY))
		nearest_products(r, count, clusters, distances);
}

static ranking
ranking_of(const fc_operator *op, const double *x, fc_scored scored,
		   const float *dots, fc_scratch scratch)
{
	FC_ASSERT(scratch.count >= fc_operator_scratch(op));
	return (ranking)
	{
		op, x, scored, fc_operator_rounding(op, scored),
			dots, scratch
	};
}

/* ---- exact centroids ---- */

/*
 * Numbers from which excluded() proves that a centroid is farther from a row
 * than a given distance. The top of this file defines the symbols.
 */
typedef struct residual_test
{
	const float *residual;		/* k upper bounds r_j on the residuals */
	double		square;			/* ||x - o||^2 */
	double		bound;
	bool		orthogonal;		/* true if the sharper bound holds */
	double		rho;			/* upper bound on rho */
	/* allowance for residuals e_j that are not exactly orthogonal to R */
	double		slack;
} residual_test;

static residual_test
make_test(const ranking *r)
{
	const fc_exact_centroids *exact = &r->op->exact;
	residual_test test = {
		.residual = exact->residual,
		.square = r->scored.square,
		.bound = r->bound,
		.orthogonal = exact->orthogonality_defect < 0.5
	};

	/* generous bound on the relative rounding error of ||R (x - o)||^2 */
	double		rounding = ((double) r->op->d + 16.0) * FC_EXP2_MINUS(22);

	if (test.orthogonal)
	{
		test.rho = sqrt(fmax(0.0, r->scored.square - r->scored.inner) +
						(exact->orthogonality_defect + rounding) *
						r->scored.square);
		test.slack = 2.0 * (sqrt(r->scored.square) + r->op->max_row_norm) *
			exact->residual_leakage;
	}
	return test;
}

/*
 * Returns true if the score of centroid j proves that its distance exceeds
 * `upper`.
 */
static inline bool
excluded(const residual_test *test, size_t j, double score, double upper)
{
	double		residual = (double) test->residual[j];
	double		radius = upper + residual;

	if (test->orthogonal)
		return score - test->bound >
			0.5 * (upper * upper - test->square - residual * residual) +
			test->rho * residual + test->slack;
	return score - test->bound > 0.5 * (radius * radius - test->square);
}

/*
 * Computes dots[j], the dot product of x and exact centroid j; returns an
 * upper bound on the distance between them.
 */
static double
measure_exact(const ranking *exact, const float *x, float *dots, size_t j)
{
	fc_dense_apply(exact->op->factor[0].values + j * exact->op->d, 1,
				   exact->op->d, x, dots + j);
	return sqrt(fmax(0.0, exact->scored.square +
					 2.0 * (score_of(exact, j) + exact->bound)));
}

/*
 * Returns the index of the nearest exact centroid; computes scores only of
 * centroids that cannot be excluded.
 */
static size_t
exact_label(const ranking *r)
{
	size_t		k = r->op->k;
	float	   *x = (r->scratch.floats +
					 (fc_operator_scratch(r->op) - r->op->d - 4 * k - 2));
	float	   *dots = x + r->op->d;
	residual_test test = make_test(r);
	float		lowest = INFINITY;
	float		second = INFINITY;
	int32_t		first = 0;
	fc_operator book;
	fc_scored	unscored = {0};
	ranking		exact = ranking_of(fc_operator_deciding(r->op, &book), r->x,
								   unscored, dots, r->scratch);
	double		upper;

	exact.scored.square = fc_shift_row(r->x, book.offset, book.d, x);
	exact.bound = fc_codebook_rounding(book.d, book.max_row_norm,
									   sqrt(exact.scored.square)) +
		fc_operator_rounding(&book, exact.scored);
	for (size_t j = 0; j < k; j++)
		dots[j] = -INFINITY;
	if (!(r->bound < INFINITY) || !(exact.bound < INFINITY))
		return lowest_of(&exact);
	fc_two_lowest(r->dots, r->op->half_norms, k, 0, &lowest, &second, &first);
	upper = measure_exact(&exact, x, dots, (size_t) first);
	for (size_t j = 0; j < k; j++)
	{
		if (excluded(&test, j, score_of(r, j), upper) || j == (size_t) first)
			continue;
		fc_check();
		upper = fmin(upper, measure_exact(&exact, x, dots, j));
	}
	return lowest_of(&exact);
}

/*
 * Finds the `count` nearest clusters. The clusters of the `rerank` nearest
 * rows of the product come first, in the order of the distances to their exact
 * centroids. The other clusters follow, in the order of the distances to their
 * rows of the product. All distances returned are to exact centroids.
 */
static void
reranked_nearest(const ranking *r, size_t count, int32_t *clusters,
				 double *distances)
{
	size_t		few = smaller(r->op->exact.rerank, r->op->k);
	size_t		listed = larger(few, count);
	double	   *measured = fc_aligned(r->scratch.floats +
									  fc_operator_scratch(r->op) - 3 * r->op->k - 2,
									  8);
	int32_t    *found = (int32_t *) (measured + r->op->k);

	if (count > few)
		nearest_products(r, count, found, measured);
	else
		best_products(r, few, found, measured);
	for (size_t i = 0; i < listed; i++)
	{
		fc_check();
		measured[i] = fc_operator_distance(r->op, (size_t) found[i], r->x,
										   r->scratch);
	}
	for (size_t place = few / 2; place-- > 0;)
		sift_down(found, measured, few, place, found[place], measured[place]);
	sort_heap(found, measured, few);
	memcpy(clusters, found, count * sizeof(int32_t));
	memcpy(distances, measured, count * sizeof(double));
}

/*
 * Returns the label of a row from its rounded products dots = V (x - o), which
 * may be stored in the scratch space.
 */
static size_t
choose(const fc_operator *op, const double *x, fc_scored scored,
	   const float *dots, fc_scratch scratch)
{
	ranking		r = ranking_of(op, x, scored, dots, scratch);
	int32_t		label;
	double		distance;

	if (op->exact.values == NULL)
		return lowest_of(&r);
	if (op->exact.rerank == FC_RERANK_EXACT)
		return exact_label(&r);
	reranked_nearest(&r, 1, &label, &distance);
	return (size_t) label;
}

/* ---- a codebook and many rows, by bounds or a k-d tree ---- */

typedef struct measured_rows
{
	const fc_operator *op;
	const double *x;
} measured_rows;

static double
distance_of(const void *context, size_t row, size_t j)
{
	const measured_rows *rows = context;

	return fc_row_distance(rows->x + row * rows->op->d, rows->op->offset,
						   rows->op->factor[0].values + j * rows->op->d,
						   rows->op->d);
}

/*
 * Returns the nearest centroid, or -1 where rounding might change the result.
 * The relative error of a squared distance in float is at most (d + 4) 2^-23,
 * and rounding changes the row by at most 2^-23 of its length.
 */
static int32_t
label_by_kdtree(const fc_operator *op, const double *x)
{
	float		shifted[FC_PACKED_DIMENSIONS];
	float		squared[2];
	double		moved = (FC_EXP2_MINUS(23) *
						 sqrt(fc_shift_row(x, op->offset, op->d, shifted)));
	double		share = ((double) op->d + 4.0) * FC_EXP2_MINUS(23);
	float		margin = (float) (64.0 * moved * moved + 8.0 * SMALLEST_SQUARE);
	size_t		label = fc_packed_kdtree_nearest_two(op->kdtree, shifted, FC_PACKED_REACH,
													 margin, squared);
	bool		sure = ((double) squared[1] > SMALLEST_SQUARE && isfinite(squared[1]) &&
						sqrt((double) squared[1] * (1.0 - share)) - moved >
						sqrt((double) squared[0] * (1.0 + share) + SMALLEST_SQUARE) +
						moved);

	return sure ? (int32_t) label : -1;
}

/*
 * Labels n <= FC_PRUNING_ROWS rows (n x d) by op->pruning or op->kdtree; sets
 * -1 for rows that need another method.
 */
static void
assign_pruned(const fc_operator *op, const double *x, size_t n,
			  fc_scratch scratch, int32_t *labels)
{
	int			path = (op->pruning !=NULL ? fc_pruning_choose(op->pruning)
						: FC_PRUNING_NONE);
	measured_rows measured = {op, x};
	fc_pruned_rows rows = {.x = x,.distance = distance_of,.context = &measured};

	for (size_t r = 0; r < n; r++)
	{
		labels[r] = op->kdtree != NULL ? label_by_kdtree(op, x + r * op->d) : -1;
		if (op->kdtree != NULL)
			fc_check();
	}
	if (path != FC_PRUNING_NONE)
		fc_pruning_assign(op->pruning, path, &rows, n, scratch, labels);
}

/* ---- one row ---- */

/*
 * Returns the label of a row, found by packs; -1 if rounding might change it.
 * `shifted` is the row minus the offset, and `square` the squared length of
 * `shifted`.
 */
static int32_t
packed_label(const fc_operator *op, double square, const float *shifted)
{
	double		length = sqrt(square);
	fc_scored	scored = {.square = square};
	float		lowest;
	float		second;
	int32_t		label = fc_packs_lowest(op->packs, op->k, op->d, shifted, &lowest,
										&second);
	double		bound = (fc_codebook_rounding(op->d, op->max_row_norm, length) +
						 fc_operator_rounding(op, scored));

	return (double) second - (double) lowest > 2.0 * bound ? label : -1;
}

size_t
fc_operator_assign(const fc_operator *op, const double *x, fc_scratch scratch)
{
	int32_t		label = -1;
	fc_scored	scored;

	FC_ASSERT(scratch.count >= fc_operator_scratch(op));
	if (op->pruning !=NULL || op->kdtree != NULL)
		assign_pruned(op, x, 1, scratch, &label);
	if (label < 0 && op->packs != NULL)
		label = packed_label(op,
							 fc_shift_row(x, op->offset, op->d, scratch.floats),
							 scratch.floats);
	if (label >= 0)
		return (size_t) label;
	scored = fc_operator_score(op, x, scratch.floats);
	return choose(op, x, scored, scratch.floats + op->d, scratch);
}

void
fc_operator_nearest(const fc_operator *op, const double *x, size_t count,
					fc_scratch scratch, int32_t *clusters, double *distances)
{
	fc_operator book;
	size_t		size = smaller(count, op->k);
	ranking		r;

	FC_ASSERT(scratch.count >= fc_operator_scratch(op));
	if (size == 0)
		return;
	op = fc_operator_deciding(op, &book);
	r = ranking_of(op, x, fc_operator_score(op, x, scratch.floats),
				   scratch.floats + op->d, scratch);
	if (op->exact.values == NULL)
		nearest_products(&r, size, clusters, distances);
	else
		reranked_nearest(&r, size, clusters, distances);
}

void
fc_operator_nearest_scored(const fc_operator *op, const double *x,
						   const double *scores, double bound, size_t count,
						   fc_scratch scratch, int32_t *clusters,
						   double *distances)
{
	size_t		size = count < op->k ? count : op->k;
	double		threshold;

	offer_all(scores, op->k, size, clusters, distances);
	threshold = distances[0] + 2.0 * bound;
	clear_heap(clusters, distances, size);
	for (size_t j = 0; j < op->k; j++)
		if (scores[j] <= threshold)
		{
			fc_check();
			offer(clusters, distances, size, j,
				  fc_operator_distance(op, j, x, scratch));
		}
	sort_heap(clusters, distances, size);
}

/* ---- many rows ---- */

typedef struct centroid_tile
{
	float	   *x;				/* rows x d: rows minus the offset */
	float	   *dots;			/* rows x TILE dot products */
	float	   *lowest;			/* lowest score per row */
	float	   *second;			/* second lowest score per row */
	float	   *length;			/* ||x - o|| per row */
	int32_t    *label;			/* cluster of the lowest score per row */
	fc_scratch	single;			/* scratch space for a row that is assigned
								 * alone */
} centroid_tile;

typedef struct row_block
{
	float	   *eight;			/* 8 x d: eight rows minus the offset */
	float	   *x;				/* d x FC_BLOCK_ROWS: rows minus the offset,
								 * stored coordinate by coordinate */
	float	   *work[2];		/* inner_width x FC_BLOCK_ROWS each: outputs
								 * of all factors but the first */
	float	   *dots;			/* k x FC_BLOCK_ROWS dot products */
	float	   *rows;			/* FC_BLOCK_ROWS x k: transpose of dots */
	fc_scratch	single;			/* scratch space for a row that is assigned
								 * alone */
	fc_scored	scored[FC_BLOCK_ROWS];
} row_block;

/* Returns the length of the longest vector between two factors. */
static size_t
inner_width(const fc_operator *op)
{
	size_t		width = 0;

	for (size_t f = 1; f < op->factors; f++)
		width = op->factor[f].rows > width ? op->factor[f].rows : width;
	return width;
}

/*
 * Returns the number of floats of scratch space for blocks; 0 if n rows are
 * not labelled in blocks.
 */
static size_t
block_floats(const fc_operator *op, size_t n)
{
	size_t		floats = (FC_BLOCK_ROWS * (op->d + 2 * inner_width(op) + 2 * op->k) +
						  8 * op->d);

	return n < MIN_BLOCK_ROWS || floats > MAX_FLOATS
		? 0
		: floats + ALIGNMENT / sizeof(float);
}

/*
 * Returns true if op labels rows in blocks, if block_floats allows blocks.
 * Other operators label rows in tiles, by bounds or with a k-d tree.
 */
static inline bool
takes_blocks(const fc_operator *op)
{
	return !fc_operator_is_plain(op) ||
		(op->k * op->d < SMALL_CODEBOOK && op->pruning == NULL &&
		 op->kdtree == NULL);
}

size_t
fc_operator_batch_scratch(const fc_operator *op, size_t n)
{
	size_t		own = fc_operator_scratch(op);
	size_t		rows = smaller(n, TILE);

	if (takes_blocks(op))
		return own + block_floats(op, n);
	return own + larger(rows * (op->d + TILE + 4),
						fc_operator_pruned_scratch(op, n));
}

/* ---- codebooks ---- */

/* Sets the labels and the two lowest scores of the rows of a tile, b->x. */
static void
score_tile(const fc_operator *op, const centroid_tile *b, size_t rows,
		   int32_t *labels)
{
	const fc_factor *codebook = &op->factor[0];

	for (size_t r = 0; r < rows; r++)
	{
		b->lowest[r] = INFINITY;
		b->second[r] = INFINITY;
		labels[r] = 0;
	}
	for (size_t first = 0; first < op->k; first += TILE)
	{
		size_t		count = op->k - first < TILE ? op->k - first : TILE;

		fc_check();
		fc_dots(b->x, rows, codebook->values + first * op->d, count, op->d, b->dots,
				TILE);
		for (size_t r = 0; r < rows; r++)
			fc_two_lowest(b->dots + r * TILE, op->half_norms + first, count,
						  first, b->lowest + r, b->second + r, labels + r);
	}
}

/*
 * Returns the number of rows with a negative label, which have no label yet.
 */
static size_t
count_unlabelled(const int32_t *labels, size_t rows)
{
	size_t		count = 0;

	for (size_t r = 0; r < rows; r++)
		count += labels[r] < 0;
	return count;
}

/* Labels the rows of a tile that have no label yet. */
static void
assign_tile(const fc_operator *op, const double *x, size_t rows,
			const centroid_tile *b, int32_t *labels)
{
	size_t		next = 0;

	for (size_t r = 0; r < rows; r++)
		if (labels[r] < 0)
		{
			b->length[next] = (float) sqrt(fc_shift_row(x + r * op->d,
														op->offset, op->d,
														b->x + next * op->d));
			next++;
		}
	score_tile(op, b, next, b->label);
	next = 0;
	for (size_t at = 0; at < rows; at++)
	{
		size_t		r = next;

		double		length;
		fc_scored	scored;
		double		bound;

		if (labels[at] >= 0)
			continue;
		next++;
		labels[at] = b->label[r];
		length = (double) b->length[r] * (1.0 + FC_EXP2_MINUS(23));
		scored = (fc_scored)
		{
			.square = length * length
		};
		bound = 2.0 * (fc_codebook_rounding(op->d, op->max_row_norm, length) +
					   fc_operator_rounding(op, scored));

		/*
		 * A NaN must fail this comparison, so that the row is assigned alone.
		 */
		if ((double) b->second[r] - (double) b->lowest[r] > bound)
			continue;
		fc_check();
		labels[at] = (int32_t) fc_operator_assign(op, x + at * op->d,
												  b->single);
	}
}

static void
assign_tiles(const fc_operator *op, const double *x, size_t n,
			 fc_scratch scratch, int32_t *labels)
{
	size_t		rows = n < TILE ? n : TILE;
	size_t		step = (op->pruning !=NULL ? smaller(rows, FC_PRUNING_ROWS) : rows);
	centroid_tile b = {.single = {scratch.floats, fc_operator_scratch(op)}};
	fc_scratch	rest = {
		scratch.floats + b.single.count,
		scratch.count - b.single.count
	};

	b.x = rest.floats;
	b.dots = b.x + rows * op->d;
	b.lowest = b.dots + rows * TILE;
	b.second = b.lowest + rows;
	b.length = b.second + rows;
	b.label = (int32_t *) (b.length + rows);
	for (size_t start = 0; start < n; start += step)
	{
		size_t		count = smaller(step, n - start);
		const double *first = x + start * op->d;

		assign_pruned(op, first, count, rest, labels + start);
		if (count_unlabelled(labels + start, count) > 0)
			assign_tile(op, first, count, &b, labels + start);
	}
}

/* Labels rows one by one. */
static void
assign_each(const fc_operator *op, const double *x, size_t n,
			fc_scratch scratch, int32_t *labels)
{
	for (size_t r = 0; r < n; r++)
	{
		fc_check();
		labels[r] = (int32_t) fc_operator_assign(op, x + r * op->d, scratch);
	}
}

/* ---- products ---- */

/*
 * Sets b->x (d x FC_BLOCK_ROWS) to the rows minus the offset, and
 * b->scored[r].square to the squared length of row r. Unused lanes become
 * zero.
 */
static void
fill_block(const fc_operator *op, const double *x, size_t rows, row_block *b)
{
	for (size_t first = 0; first < FC_BLOCK_ROWS; first += 8)
	{
		for (size_t r = 0; r < 8; r++)
			if (first + r < rows)
				b->scored[first + r].square = fc_shift_row(x + (first + r) *
														   op->d,
														   op->offset, op->d,
														   b->eight +
														   r * op->d);
			else
				memset(b->eight + r * op->d, 0, op->d * sizeof(float));
		fc_block_fill(b->eight, op->d, first, b->x);
	}
}

static inline double
squared(double x)
{
	return x * x;
}

/* Applies all factors but the first; returns the input of the first factor. */
static const float *
apply_inner(const fc_operator *op, row_block *b)
{
	const float *input = b->x;
	float		squares[FC_BLOCK_ROWS];

	for (size_t r = 0; r < FC_BLOCK_ROWS; r++)
		b->scored[r].variance = squared(op->factor[op->factors - 1].error) *
			b->scored[r].square;
	for (size_t f = op->factors; f-- > 1;)
	{
		fc_check();
		fc_block_apply(&op->factor[f], input, b->work[f % 2], squares);
		for (size_t r = 0; r < FC_BLOCK_ROWS; r++)
		{
			b->scored[r].variance += squared(op->factor[f - 1].error) *
				(double) squares[r];
			if (f + 1 == op->factors)
				b->scored[r].inner = (double) squares[r];
		}
		input = b->work[f % 2];
	}
	return input;
}

/*
 * Labels the marked rows of a block from the scores of all centroids. `input`
 * is the input of the first factor.
 */
static void
choose_marked(const fc_operator *op, const double *x, const bool *marked,
			  size_t rows, const float *input, row_block *b, int32_t *labels)
{
	fc_check();
	fc_block_apply(&op->factor[0], input, b->dots, NULL);
	fc_block_empty(b->dots, op->k, b->rows);
	for (size_t r = 0; r < rows; r++)
	{
		fc_check();
		if (marked[r])
			labels[r] = (int32_t) choose(op, x + r * op->d, b->scored[r],
										 b->rows + r * op->k, b->single);
	}
}

/*
 * Returns a rounding bound (fc_operator_rounding) that holds for all rows of a
 * block.
 */
static double
common_rounding(const fc_operator *op, const row_block *b, size_t rows)
{
	fc_scored	max = b->scored[0];

	for (size_t r = 1; r < rows; r++)
	{
		max.square = fc_greater(max.square, b->scored[r].square);
		max.variance = fc_greater(max.variance, b->scored[r].variance);
	}
	return fc_operator_rounding(op, max);
}

/*
 * Labels the rows of a block. Only the two lowest scores of each row are
 * computed at first. All scores are needed only if these two are too close, or
 * if exact centroids are compared.
 */
static void
assign_block(const fc_operator *op, const double *x, size_t rows, row_block *b,
			 int32_t *labels)
{
	float		lowest[FC_BLOCK_ROWS];
	float		second[FC_BLOCK_ROWS];
	bool		marked[FC_BLOCK_ROWS];
	int32_t		label[FC_BLOCK_ROWS];
	bool		reranks = op->exact.values != NULL;
	bool		any = false;
	double		common;
	const float *input;

	fill_block(op, x, rows, b);
	input = apply_inner(op, b);
	fc_check();
	if (!reranks)
		fc_block_lowest(&op->factor[0], op->half_norms, input, lowest, second,
						label);
	common = common_rounding(op, b, rows);
	for (size_t r = 0; r < rows; r++)
	{
		double		gap = (reranks ? 0.0 : (double) second[r] - (double) lowest[r]);

		marked[r] = !(gap > 2.0 * common) &&
			!(gap > 2.0 * fc_operator_rounding(op, b->scored[r]));
		any |= marked[r];
		if (!marked[r])
			labels[r] = label[r];
	}
	if (any)
		choose_marked(op, x, marked, rows, input, b, labels);
}

static void
assign_blocks(const fc_operator *op, const double *x, size_t n,
			  fc_scratch scratch, int32_t *labels)
{
	row_block	b = {.single = {scratch.floats, fc_operator_scratch(op)}};

	b.x = fc_aligned(scratch.floats + b.single.count, ALIGNMENT);
	b.work[0] = b.x + FC_BLOCK_ROWS * op->d;
	b.work[1] = b.work[0] + FC_BLOCK_ROWS * inner_width(op);
	b.eight = b.work[1] + FC_BLOCK_ROWS * inner_width(op);
	b.dots = b.eight + 8 * op->d;
	b.rows = b.dots + FC_BLOCK_ROWS * op->k;
	for (size_t start = 0; start < n; start += FC_BLOCK_ROWS)
	{
		size_t		rows = (n - start < FC_BLOCK_ROWS ? n - start : FC_BLOCK_ROWS);

		if (rows < MIN_BLOCK_ROWS)
			assign_each(op, x + start * op->d, n - start, b.single,
						labels + start);
		else
			assign_block(op, x + start * op->d, rows, &b, labels + start);
	}
}

void
fc_operator_assign_batch(const fc_operator *op, const double *x, size_t n,
						 fc_scratch scratch, int32_t *labels)
{
	FC_ASSERT(scratch.count >= fc_operator_batch_scratch(op, n));
	if (!takes_blocks(op))
		assign_tiles(op, x, n, scratch, labels);
	else if (block_floats(op, n) > 0)
		assign_blocks(op, x, n, scratch, labels);
	else
		assign_each(op, x, n, scratch, labels);
}

/* ---- sparse rows ---- */

/*
 * Minimum ratio of a squared distance to the squared length of the row, for a
 * distance that is computed from a score. Below it, more than three of 16
 * digits cancel. With a smaller ratio, fewer distances are computed from the
 * coordinates, and more digits are lost. A guess.
 */
#define MIN_DISTANCE_OF_SCORES	1e-3

double
fc_columns_distance(const fc_operator *op, const fc_sparse_row *x,
					const double *scores, size_t j)
{
	double		square = 0.0;
	double		distance;

	for (size_t e = 0; e < x->count; e++)
		square += x->values[e] * x->values[e];
	distance = square + 2.0 * scores[j];
	return op->offset == NULL && op->metric != FC_INNER_PRODUCT &&
		fc_operator_is_codebook(op) && op->exact.values == NULL &&
		distance > MIN_DISTANCE_OF_SCORES * square
		? distance
		: NAN;
}

bool
fc_columns_assign(const fc_columns *columns, const fc_sparse_row *x,
				  double *scores, size_t *label)
{
	double		bound = fc_columns_score(columns, x, scores);
	double		lowest = INFINITY;
	double		threshold;
	size_t		near = 0;

	for (size_t j = 0; j < columns->k; j++)
		if (scores[j] < lowest)
		{
			lowest = scores[j];
			*label = j;
		}
	threshold = lowest + 2.0 * bound;
	for (size_t j = 0; j < columns->k; j++)
		near += scores[j] <= threshold;
	return near == 1;
}

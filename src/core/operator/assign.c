/*
 * assign.c - which rows of an operator are nearest, from rounded scores.
 *
 *     assign:   argmin_j ||v_j||^2 / 2 - v_j . (x - o)      = argmin_j ||x - (o + v_j)||
 *
 * With every rounded score within e of the exact one (rounding_bounds.c), the n nearest
 * rows are among those at most 2 e above the n-th lowest score.  When those are n rows they
 * are the answer; else they are measured in double.  Rows of a product are dear to make: of
 * more than a few, those are measured that scores through the factors in double leave.
 *
 * With exact centroids c_j, ||c_j - (o + v_j)|| <= r_j, cluster j cannot be nearest when its
 * approximate distance exceeds r_j plus the distance of some centroid:
 *
 *     ||x - o||^2 + 2 (score_j - e) > (||x - c_i|| + r_j)^2
 *
 * or, where the last factor R is dense and all but orthonormal and the residuals e_j all but
 * orthogonal to it (an SVD), with rho = ||(x - o) - R^T R (x - o)|| by Pythagoras, when
 *
 *     ||x - o||^2 + 2 (score_j - e) - 2 rho r_j + r_j^2 > ||x - c_i||^2.
 *
 * Those left are compared by their own scores, rounded alike, and near ties in double.
 */
#include "operator/operator.h"

#include <math.h>

#include "numerics/rows.h"
#include "operator/internal.h"

#define FEW_PRODUCT_ROWS	((size_t) 3)	/* rows of a product to make, about the cost of all scores in double */
#define CHECKED_ENTRIES	((size_t) 1 << 14)	/* of a heap between two checks */

typedef struct ranking
{
	const fc_operator *op;
	const double *x;
	fc_scored	scored;
	double		square;			/* ||x - o||^2 */
	double		bound;			/* e */
	const float *dots;			/* k */
	fc_scratch	scratch;		/* fc_operator_scratch floats */
} ranking;

static inline double
score_of(const ranking *r, size_t j)
{
	return (double) (r->op->half_norms[j] - r->dots[j]);
}

static double
product_distance(const ranking *r, size_t j)
{
	if (r->op->metric == FC_INNER_PRODUCT)
		return fc_operator_distance(r->op, j, r->x, r->scratch);
	return fc_row_distance(r->x, r->op->offset, fc_operator_product_row(r->op, j, r->scratch.floats), r->op->d);
}

/* ---- the smallest of many, in a heap with the largest of them on top ---- */

/* Does (distance, cluster) a come after b? */
static inline bool
after(double distance_a, int32_t a, double distance_b, int32_t b)
{
	return distance_a > distance_b || (distance_a == distance_b && a > b);
}

/* Replace the entry at `place` of a heap with the farthest on top. */
static void
sift_down(int32_t *clusters, double *distances, size_t size, size_t place, int32_t cluster, double distance)
{
	for (size_t child = 2 * place + 1; child < size; child = 2 * place + 1)
	{
		if (child + 1 < size && after(distances[child + 1], clusters[child + 1], distances[child], clusters[child]))
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

static void
clear_heap(int32_t *clusters, double *distances, size_t size)
{
	for (size_t i = 0; i < size; i++)
	{
		clusters[i] = INT32_MAX;
		distances[i] = INFINITY;
	}
}

static void
offer(int32_t *clusters, double *distances, size_t size, size_t cluster, double distance)
{
	if (after(distances[0], clusters[0], distance, (int32_t) cluster))
		sift_down(clusters, distances, size, 0, (int32_t) cluster, distance);
}

static inline void
pause_in_heap(size_t i)
{
	if (i % CHECKED_ENTRIES == CHECKED_ENTRIES - 1)
		fc_check();
}

/* Any entries become a heap. */
static void
make_heap(int32_t *clusters, double *distances, size_t size)
{
	for (size_t place = size / 2; place-- > 0;)
	{
		pause_in_heap(place);
		sift_down(clusters, distances, size, place, clusters[place], distances[place]);
	}
}

/* Order a heap: nearest first. */
static void
sort_heap(int32_t *clusters, double *distances, size_t size)
{
	for (size_t last = size; last-- > 1;)
	{
		int32_t		cluster = clusters[last];
		double		distance = distances[last];

		pause_in_heap(last);
		clusters[last] = clusters[0];
		distances[last] = distances[0];
		sift_down(clusters, distances, last, 0, cluster, distance);
	}
}

/* The `size` lowest of k scores in a heap. */
static void
offer_all(const double *scores, size_t k, size_t size, int32_t *clusters, double *distances)
{
	clear_heap(clusters, distances, size);
	for (size_t j = 0; j < k; j++)
	{
		pause_in_heap(j);
		offer(clusters, distances, size, j, scores[j]);
	}
}

/* ---- rows of the product ---- */

/*
 * Bound of |score in double - exact score of the row of the product as it is measured|: the
 * roundings of the factors are 2^-29 of those in float; the row and half its square are
 * rounded to float once, perhaps below the smallest normal one.
 */
static double
double_bound(const ranking *r)
{
	double		far = sqrt(r->square) + r->op->max_row_norm;
	double		d = (double) r->op->d;

	return r->bound * 0x1p-28 + 0x1p-23 * r->op->max_row_norm * far + (d + 8.0) * 0x1p-53 * far * far +
		0x1p-148 * (1.0 + sqrt(d) * far);
}

/* Is row j, by its rounded score, possibly at most threshold?  NaN everywhere counts as yes. */
static inline bool
possible(const ranking *r, size_t j, double threshold)
{
	return threshold == INFINITY || !(score_of(r, j) > threshold);
}

/* How many rows are possible and would have to be made; 0 when they need not, or nothing is bounded. */
static size_t
close_ones(const ranking *r, double threshold)
{
	size_t		close = 0;

	if (threshold == INFINITY || !(r->bound < INFINITY) || fc_operator_is_codebook(r->op))
		return 0;
	for (size_t j = 0; j < r->op->k; j++)
		close += possible(r, j, threshold);
	return close;
}

/* How many rows of the product are measured at the cost of all scores in double. */
static size_t
few_rows(const fc_operator *op)
{
	return op->rows == NULL ? FEW_PRODUCT_ROWS : FEW_PRODUCT_ROWS + fc_operator_values(op) / op->d;
}

/* Multiply-adds of one distance. */
static size_t
distance_work(const fc_operator *op)
{
	bool		made = op->exact.values == NULL && op->rows == NULL && !fc_operator_is_codebook(op);

	return op->d + (made ? fc_operator_values(op) : 0);
}

/* All clusters by scores, the `count` lowest in a heap. */
static void
offer_scores(const ranking *r, size_t count, int32_t *clusters, double *distances)
{
	clear_heap(clusters, distances, count);
	for (size_t j = 0; j < r->op->k; j++)
	{
		pause_in_heap(j);
		offer(clusters, distances, count, j, score_of(r, j));
	}
}

/* The count nearest rows of the product, sorted. */
static void
nearest_products(const ranking *r, size_t count, int32_t *clusters, double *distances)
{
	double		threshold = INFINITY;
	double		limit = INFINITY;
	const double *scores = NULL;
	size_t		work = distance_work(r->op);
	size_t		done = 0;

	if (count < r->op->k)
	{
		offer_scores(r, count, clusters, distances);
		threshold = distances[0] + 2.0 * r->bound;
	}
	if (close_ones(r, threshold) > count + few_rows(r->op))
	{
		scores = fc_operator_score_double(r->op, r->x, r->scratch.floats);
		offer_all(scores, r->op->k, count, clusters, distances);
		limit = distances[0] + 2.0 * double_bound(r);
	}
	clear_heap(clusters, distances, count);
	for (size_t j = 0; j < r->op->k; j++)
		if (possible(r, j, threshold) && !(scores != NULL && scores[j] > limit))
		{
			fc_check_every(&done, work);
			offer(clusters, distances, count, j, product_distance(r, j));
		}
	sort_heap(clusters, distances, count);
}

/* The nearest, by fc_operator_distance, of the rows whose score half_norms[j] - dots[j] is at most threshold. */
static size_t
resolve_ties(const ranking *r, const float *half_norms, const float *dots, double threshold)
{
	const double *scores = NULL;
	double		limit = INFINITY;
	double		best = INFINITY;
	size_t		label = 0;
	size_t		work = distance_work(r->op);
	size_t		done = 0;

	if (r->op->exact.values == NULL && close_ones(r, threshold) > few_rows(r->op))
	{
		scores = fc_operator_score_double(r->op, r->x, r->scratch.floats);
		for (size_t j = 0; j < r->op->k; j++)
			limit = fmin(limit, scores[j]);
		limit += 2.0 * double_bound(r);
	}
	for (size_t j = 0; j < r->op->k; j++)
	{
		double		distance;

		if (threshold != INFINITY && (double) (half_norms[j] - dots[j]) > threshold)
			continue;
		if (scores != NULL && scores[j] > limit)
			continue;
		fc_check_every(&done, work);
		distance = fc_operator_distance(r->op, j, r->x, r->scratch);
		if (distance < best)
		{
			best = distance;
			label = j;
		}
	}
	return label;
}

static size_t
lowest_of(const ranking *r, const float *half_norms, const float *dots, double bound)
{
	float		lowest;
	int32_t		label;

	if (fc_count_lowest(dots, half_norms, r->op->k, 2.0 * bound, &lowest, &label) == 1)
		return (size_t) label;
	return resolve_ties(r, half_norms, dots, (double) lowest + 2.0 * bound);
}

void
fc_operator_nearest_scored(const fc_operator *op, const double *x, const double *scores, double bound, size_t count, fc_scratch scratch,
						   int32_t *clusters, double *distances)
{
	size_t		size = count < op->k ? count : op->k;
	size_t		done = 0;
	double		threshold;

	offer_all(scores, op->k, size, clusters, distances);
	threshold = distances[0] + 2.0 * bound;
	clear_heap(clusters, distances, size);
	for (size_t j = 0; j < op->k; j++)
		if (scores[j] <= threshold)
		{
			fc_check_every(&done, distance_work(op));
			offer(clusters, distances, size, j, fc_operator_distance(op, j, x, scratch));
		}
	sort_heap(clusters, distances, size);
}

/* ---- exact centroids ---- */

typedef struct exact_row
{
	const fc_exact_centroids *exact;
	float	   *x;				/* about the exact offset */
	float	   *dots;			/* k; -INFINITY where not computed */
	int32_t    *clusters;		/* k */
	double	   *distances;		/* k */
	double		square;			/* ||x||^2 of it */
	double		bound;			/* rounding of half_norms - dots */
} exact_row;

static exact_row
open_exact(const ranking *r)
{
	const fc_operator *op = r->op;
	exact_row	row = {.exact = &op->exact};
	double		length;

	row.x = r->scratch.floats + (fc_operator_scratch(op) - op->d - 4 * op->k - 2);
	row.dots = row.x + op->d;
	row.clusters = (int32_t *) (row.dots + op->k);
	row.distances = (double *) (((uintptr_t) (row.clusters + op->k) + 7) & ~(uintptr_t) 7);
	row.square = fc_shift_row(r->x, op->exact.offset, op->d, row.x);
	length = sqrt(row.square);
	row.bound = fc_codebook_rounding(op->d, op->exact.max_row_norm, length) +
		0x1p-51 * op->exact.offset_length * (length + op->exact.max_row_norm);
	for (size_t j = 0; j < op->k; j++)
		row.dots[j] = -INFINITY;
	return row;
}

/* The score of centroid j. */
static double
measure_exact(const ranking *r, const exact_row *row, size_t j)
{
	fc_dense_apply(row->exact->values + j * r->op->d, 1, r->op->d, row->x, row->dots + j);
	return (double) (row->exact->half_norms[j] - row->dots[j]);
}

/* Bound of the distance of a centroid with this score. */
static double
upper_distance(const exact_row *row, double score)
{
	return sqrt(fmax(0.0, row->square + 2.0 * (score + row->bound)));
}

/* Bounds by which centroids are ruled out beyond some distance. */
typedef struct residual_test
{
	const float *residual;
	double		square;
	double		bound;
	bool		orthogonal;
	double		rho;
	double		slack;
} residual_test;

static residual_test
make_test(const ranking *r, double bound)
{
	const fc_exact_centroids *exact = &r->op->exact;
	residual_test test = {.residual = exact->residual,.square = r->square,.bound = bound,.orthogonal = exact->orthogonality_defect < 0.5};
	double		rounding = ((double) r->op->d + 16.0) * 0x1p-22;	/* of ||R (x - o)||^2, generously */

	if (test.orthogonal)
	{
		test.rho = sqrt(fmax(0.0, r->square - r->scored.inner) + (exact->orthogonality_defect + rounding) * r->square);
		test.slack = 2.0 * (sqrt(r->square) + r->op->max_row_norm) * exact->residual_leakage;
	}
	return test;
}

/* Is centroid j, by its score, farther than `upper`? */
static inline bool
excluded(const residual_test *test, size_t j, double score, double upper)
{
	double		residual = (double) test->residual[j];
	double		radius = upper + residual;

	if (test->orthogonal)
		return score - test->bound > 0.5 * (upper * upper - test->square - residual * residual) + test->rho * residual + test->slack;
	return score - test->bound > 0.5 * (radius * radius - test->square);
}

static size_t
exact_label(const ranking *r)
{
	exact_row	row = open_exact(r);
	residual_test test = make_test(r, r->bound);
	float		lowest = INFINITY;
	float		second = INFINITY;
	int32_t		first = 0;
	double		upper;
	size_t		done = 0;

	if (!(r->bound < INFINITY) || !(row.bound < INFINITY))
		return resolve_ties(r, row.exact->half_norms, row.dots, INFINITY);
	fc_two_lowest(r->dots, r->op->half_norms, r->op->k, 0, &lowest, &second, &first);
	upper = upper_distance(&row, measure_exact(r, &row, (size_t) first));
	for (size_t j = 0; j < r->op->k; j++)
	{
		if (excluded(&test, j, score_of(r, j), upper) || j == (size_t) first)
			continue;
		fc_check_every(&done, r->op->d);
		upper = fmin(upper, upper_distance(&row, measure_exact(r, &row, j)));
	}
	return lowest_of(r, row.exact->half_norms, row.dots, row.bound);
}

/* The count best rows of the product, in any order: by scores, unless rounding could change which. */
static void
best_products(const ranking *r, size_t count, int32_t *clusters, double *distances)
{
	size_t		close = 0;
	double		threshold;

	offer_scores(r, count, clusters, distances);
	threshold = distances[0] + 2.0 * r->bound;
	for (size_t j = 0; j < r->op->k; j++)
		close += possible(r, j, threshold);
	if (close != count || !(r->bound < INFINITY))	/* scores that overflow may be NaN, which no heap takes */
		nearest_products(r, count, clusters, distances);
}

static size_t
reranked_label(const ranking *r)
{
	exact_row	row = open_exact(r);
	size_t		count = row.exact->rerank < r->op->k ? row.exact->rerank : r->op->k;
	double		best = INFINITY;
	int32_t		label = INT32_MAX;

	best_products(r, count, row.clusters, row.distances);
	if (row.bound < INFINITY && count > 2)
	{
		for (size_t i = 0; i < count; i++)
			(void) measure_exact(r, &row, (size_t) row.clusters[i]);
		return lowest_of(r, row.exact->half_norms, row.dots, row.bound);
	}
	for (size_t i = 0; i < count; i++)
	{
		double		distance = fc_operator_distance(r->op, (size_t) row.clusters[i], r->x, r->scratch);

		if (after(best, label, distance, row.clusters[i]))
		{
			best = distance;
			label = row.clusters[i];
		}
	}
	return (size_t) label;
}

/* The count nearest exact centroids, sorted. */
static void
exact_nearest(const ranking *r, size_t count, int32_t *clusters, double *distances)
{
	exact_row	row = open_exact(r);
	residual_test test = make_test(r, r->bound + row.bound);
	size_t		done = 0;

	offer_scores(r, count, row.clusters, row.distances);
	clear_heap(clusters, distances, count);
	for (size_t i = 0; i < count && row.clusters[i] != INT32_MAX; i++)
	{
		size_t		j = (size_t) row.clusters[i];

		row.dots[j] = 0.0f;		/* measured */
		fc_check_every(&done, r->op->d);
		offer(clusters, distances, count, j, fc_operator_distance(r->op, j, r->x, r->scratch));
	}
	for (size_t j = 0; j < r->op->k; j++)
		if (row.dots[j] != 0.0f && !excluded(&test, j, score_of(r, j), sqrt(distances[0])))
		{
			fc_check_every(&done, r->op->d);
			offer(clusters, distances, count, j, fc_operator_distance(r->op, j, r->x, r->scratch));
		}
	sort_heap(clusters, distances, count);
}

/* The rerank best by their exact centroids, then those that follow in the order of the product. */
static void
reranked_nearest(const ranking *r, size_t count, int32_t *clusters, double *distances)
{
	exact_row	row = open_exact(r);
	size_t		few = row.exact->rerank < r->op->k ? row.exact->rerank : r->op->k;
	size_t		done = 0;

	nearest_products(r, few > count ? few : count, row.clusters, row.distances);
	for (size_t i = 0; i < (few > count ? few : count); i++)
	{
		fc_check_every(&done, r->op->d);
		row.distances[i] = fc_operator_distance(r->op, (size_t) row.clusters[i], r->x, r->scratch);
	}
	make_heap(row.clusters, row.distances, few);
	sort_heap(row.clusters, row.distances, few);
	for (size_t i = 0; i < count; i++)
	{
		clusters[i] = row.clusters[i];
		distances[i] = row.distances[i];
	}
}

/* ---- entry ---- */

static ranking
ranking_of(const fc_operator *op, const double *x, fc_scored scored, const float *dots, fc_scratch scratch)
{
	FC_ASSERT(scratch.count >= fc_operator_scratch(op));
	return (ranking) {op, x, scored, scored.square, fc_operator_rounding(op, scored), dots, scratch};
}

size_t
fc_operator_choose(const fc_operator *op, const double *x, fc_scored scored, const float *dots, fc_scratch scratch)
{
	ranking		r = ranking_of(op, x, scored, dots, scratch);

	if (op->exact.values == NULL)
		return lowest_of(&r, op->half_norms, dots, r.bound);
	return op->exact.rerank == FC_RERANK_EXACT ? exact_label(&r) : reranked_label(&r);
}

/* The label of a row by op->packs; -1 where rounding might change it. */
static int32_t
packed_label(const fc_operator *op, const double *x, float *shifted)
{
	double		length = sqrt(fc_shift_row(x, op->offset, op->d, shifted));
	float		lowest;
	float		second;
	int32_t		label = fc_packs_lowest(op->packs, op->k, op->d, shifted, &lowest, &second);
	double		bound = fc_codebook_rounding(op->d, op->max_row_norm, length) + fc_operator_rounding(op, (fc_scored) {.square = length * length});

	return (double) second - (double) lowest > 2.0 * bound ? label : -1;
}

size_t
fc_operator_assign(const fc_operator *op, const double *x, fc_scratch scratch)
{
	int32_t		label = -1;
	fc_scored	scored;

	FC_ASSERT(scratch.count >= fc_operator_scratch(op));
	if (op->packs != NULL)
		label = packed_label(op, x, scratch.floats);
	else if (op->screen != NULL || op->boxes != NULL)
		fc_operator_assign_screened(op, x, 1, scratch, &label);
	if (label >= 0)
		return (size_t) label;
	scored = fc_operator_score(op, x, scratch.floats);
	return fc_operator_choose(op, x, scored, scratch.floats + op->d, scratch);
}

void
fc_operator_nearest(const fc_operator *op, const double *x, size_t count, fc_scratch scratch,
					int32_t *clusters, double *distances)
{
	size_t		size = count < op->k ? count : op->k;
	fc_scored	scored = fc_operator_score(op, x, scratch.floats);
	ranking		r = ranking_of(op, x, scored, scratch.floats + op->d, scratch);

	if (size == 0)
		return;
	if (op->exact.values == NULL)
		nearest_products(&r, size, clusters, distances);
	else if (op->exact.rerank == FC_RERANK_EXACT)
		exact_nearest(&r, size, clusters, distances);
	else
		reranked_nearest(&r, size, clusters, distances);
}

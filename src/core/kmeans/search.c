/*
 * search.c - the nearest centroid of every row, by one of four methods.
 *
 *     kdtree    many clusters in few dimensions: lists of candidate centroids
 *               are filtered at the nodes of a k-d tree of the rows
 *     bounds    many clusters in many dimensions: bounds exclude most
 *               centroids without measuring distances (numerics/pruning.h)
 *     packs     few dimensions: all scores of FC_PACK rows together
 *     tiles     all scores by BLAS, in tiles of fixed shape
 *
 * Scores ||c||^2/2 - x . c cancel when clusters are close compared with their
 * distance from the origin. In that case (work.careful) distances are compared
 * instead: packs compute ||x - c||^2 itself, and the other methods compute
 * distances in double for rows whose two best scores differ by no more than
 * rounding.
 *
 * Leaves of the k-d tree are blocks of FC_TILE_ROWS rows near each other,
 * consecutive in the order of the tree; every node has the bounding box of its
 * rows. All centroids are candidates at the root, and each node drops
 * candidates that are not nearest to any point of its box. The candidates of a
 * leaf are compared row by row. The labels are the same as in an exhaustive
 * search, up to ties within rounding. A centroid c is farther than c' from
 * every point of a box when it is farther from the corner v that is farthest
 * along c - c':
 *     ||v - c||^2 - ||v - c'||^2 = sum_i (c'_i - c_i) (2 v_i - c_i - c'_i) > 0
 *
 * Cost: at most n k d multiply-adds in float.
 *
 * Kanungo, Mount, Netanyahu, Piatko, Silverman, Wu 2002 (the filtering
 * algorithm), on blocks of rows.
 */
#include "kmeans/internal.h"

#include "numerics/dense.h"
#include "numerics/kdtree.h"
#include "numerics/pruning.h"
#include "numerics/rows.h"

/*
 * Minimum number of clusters per dimension for a tree to save more than its
 * construction costs (bench/tuned.py).
 */
#define TREE_CLUSTERS	24

/*
 * Minimum number of blocks of FC_TILE_ROWS rows for a tree. With fewer rows, a
 * tree saves less than its construction costs. A guess.
 */
#define TREE_BLOCKS	8

/*
 * Capacity for the candidate lists along a path of the tree, in units of k.
 * The sum of their lengths is less than 1 + 1 + 3/4 + 9/16 + .. = 5.
 */
#define LISTS	5

/*
 * Maximum length of a shortened list, relative to its parent's list. A larger
 * share saves more comparisons and copies more lists. LISTS depends on it. A
 * guess.
 */
#define SHORTER_SHARE	0.75

/*
 * Number of nodes of a level of the tree that are tested before the rest of
 * the level may be skipped. It is skipped if fewer than 1 / LEVEL_TRIALS of
 * the tests shortened a list of candidates. A larger one wastes tests where
 * boxes overlap. A guess.
 */
#define LEVEL_TRIALS	8

/* ---- packs ---- */

/*
 * Labels the block of rows that begins at `start` with the nearest of `count`
 * centroids.
 */
static void
label_block(fc_kmeans_work *w, size_t start, const float *centroids,
			const float *half, size_t count)
{
	size_t		rows = smaller(FC_TILE_ROWS, w->rows.n - start);
	size_t		d = w->rows.d;

	w->compared += rows * count;
	for (size_t i = start; i < start + rows; i += FC_PACK)
		if (w->careful)
			fc_kmeans_pack_closest(w->rows.packs + i * d, d, centroids, count,
								   w->near + i, w->label + i);
		else
			fc_kmeans_pack_nearest(w->rows.packs + i * d, d, centroids, half,
								   count, w->near + i, w->label + i);
	fc_check();
}

static void
label_by_packs(fc_kmeans_work *w)
{
	for (size_t start = 0; start < w->rows.n; start += FC_TILE_ROWS)
		label_block(w, start, w->rounded, w->half, w->k);
}

static const fc_kmeans_search packs = {false, NULL, label_by_packs};

/* ---- k-d tree ---- */

typedef struct kdtree_search
{
	fc_kdtree	rows;			/* tree of the rows, whose leaves are blocks */
	uint32_t   *list;			/* LISTS * k: candidate lists along the
								 * current path in the tree */
	float	   *centroids;		/* k x d: candidates of a leaf */
	float	   *half;			/* k: half the squared norms of the candidates
								 * of a leaf */

	/* number of nodes of each level whose boxes were tested */
	size_t		tested[64];
	size_t		shortened[64];	/* number of nodes of each level whose boxes
								 * shortened their lists; a level with few
								 * such nodes is no longer tested */
} kdtree_search;

/* Builds the tree, and copies the rows and their weights in its order. */
static void
arrange_by_tree(fc_kmeans_work *w)
{
	fc_kmeans_rows *rows = &w->rows;
	size_t		d = rows->d;
	size_t		k = w->k + w->breath;
	float	   *x = FC_TAKE(w->arena, rows->n * d, float);
	double	   *weight = FC_TAKE(w->arena, rows->n, double);
	kdtree_search *t = FC_TAKE(w->arena, 1, kdtree_search);

	fc_kdtree_take(w->arena, rows->n, d, FC_TILE_ROWS, d, &t->rows);
	t->list = FC_TAKE(w->arena, LISTS * k, uint32_t);
	t->centroids = FC_TAKE(w->arena, k * d, float);
	t->half = FC_TAKE(w->arena, k, float);
	fc_kdtree_build(&t->rows, rows->x);
	for (size_t i = 0; i < rows->n; i++)
	{
		fc_check();
		memcpy(x + i * d, rows->x + t->rows.order[i] * d, d * sizeof(float));
		weight[i] = rows->weight != NULL ? rows->weight[t->rows.order[i]] : 1.0;
	}
	rows->x = x;
	rows->weight = weight;
	rows->order = t->rows.order;
	w->searched = t;
}

/* Centroids that may be nearest to a row of a node. */
typedef struct candidate_list
{
	const uint32_t *list;		/* indices of the centroids, ascending */
	size_t		count;
	uint32_t   *free;			/* space for shorter lists */
} candidate_list;

/* Returns the candidate nearest to the middle of a box. */
static const float *
nearest_to_middle(const fc_kmeans_work *w, const float *box,
				  const candidate_list *c)
{
	float		middle[FC_PACK_DIMENSIONS];
	const float *nearest = NULL;
	float		min = INFINITY;
	size_t		d = w->rows.d;

	for (size_t i = 0; i < d; i++)
		middle[i] = 0.5f * box[i] + 0.5f * box[d + i];
	for (size_t p = 0; p < c->count; p++)
	{
		const float *centroid = w->rounded + c->list[p] * d;
		float		square = 0.0f;

		for (size_t i = 0; i < d; i++)
			square += (centroid[i] - middle[i]) * (centroid[i] - middle[i]);
		if (square < min || nearest == NULL)
		{
			min = square;
			nearest = centroid;
		}
	}
	return nearest;
}

/* Returns true if c is farther than `near` from every point of the box. */
static inline bool
is_farther(const float *c, const float *near, const float *box, size_t d)
{
	double		sum = 0.0;

	for (size_t i = 0; i < d; i++)
	{
		double		corner = (double) (c[i] > near[i] ? box[d + i] : box[i]);

		sum += ((double) near[i] - (double) c[i]) *
			((corner - (double) c[i]) + (corner - (double) near[i]));
	}
	return sum > 0.0;
}

/*
 * Returns the candidates that are nearest to some point of the box, and
 * perhaps others.
 */
static candidate_list
filter(const fc_kmeans_work *w, kdtree_search *t, fc_node a, candidate_list c)
{
	const float *box = fc_kdtree_box(&t->rows, a);
	const float *near;
	candidate_list left = {c.free, 0, NULL};

	if (c.count == 1 || (t->tested[a.depth] >= LEVEL_TRIALS &&
						 t->shortened[a.depth] * LEVEL_TRIALS < t->tested[a.depth]))
		return c;
	near = nearest_to_middle(w, box, &c);
	for (size_t p = 0; p < c.count; p++)
		if (!is_farther(w->rounded + c.list[p] * w->rows.d, near, box,
						w->rows.d))
			c.free[left.count++] = c.list[p];
	t->tested[a.depth]++;
	if ((double) left.count > SHORTER_SHARE * (double) c.count)
		return c;
	t->shortened[a.depth]++;
	left.free = c.free + left.count;
	return left;
}

/* Labels the rows of a leaf with the nearest of its candidates. */
static void
label_leaf(fc_kmeans_work *w, kdtree_search *t, size_t start,
		   const candidate_list *c)
{
	size_t		d = w->rows.d;

	if (c->count == w->k)
	{
		label_block(w, start, w->rounded, w->half, w->k);
		return;
	}
	for (size_t p = 0; p < c->count; p++)
	{
		memcpy(t->centroids + p * d, w->rounded + c->list[p] * d,
			   d * sizeof(float));
		t->half[p] = w->half[c->list[p]];
	}
	label_block(w, start, t->centroids, t->half, c->count);
	for (size_t r = start; r < smaller(start + FC_TILE_ROWS, w->rows.n); r++)
		w->label[r] = (int32_t) c->list[w->label[r]];
}

static void
label_node(fc_kmeans_work *w, kdtree_search *t, fc_node a, candidate_list c)
{
	candidate_list left = filter(w, t, a, c);

	fc_check();
	if (fc_node_is_leaf(a))
	{
		label_leaf(w, t, a.first * FC_TILE_ROWS, &left);
		return;
	}
	label_node(w, t, fc_node_left(a), left);
	label_node(w, t, fc_node_right(a), left);
}

static void
label_by_tree(fc_kmeans_work *w)
{
	kdtree_search *t = w->searched;
	candidate_list all = {t->list, w->k, t->list + w->k};

	memset(t->tested, 0, sizeof(t->tested));
	memset(t->shortened, 0, sizeof(t->shortened));
	for (size_t j = 0; j < w->k; j++)
		t->list[j] = (uint32_t) j;
	label_node(w, t, fc_kdtree_root(&t->rows), all);
}

static const fc_kmeans_search tree = {false, arrange_by_tree, label_by_tree};

/* ---- tiles ---- */

static double
square_gap(const fc_kmeans_work *w, size_t i, size_t j)
{
	return fc_row_gap(w->rows.x + i * w->rows.d, w->rounded + j * w->rows.d,
					  w->rows.d);
}

/*
 * Recomputes label and near of row i by distances in double. On entry, near is
 * the lowest score of the row. If `apart`, the other scores exceed the lowest
 * one by more than `bound`, and the label is right. Otherwise, measures the
 * distances to all centroids whose scores are within `bound` of the lowest
 * one. dots are the k dot products; NULL: they were overwritten, and all
 * distances are measured.
 */
static void
resolve_ties(fc_kmeans_work *w, size_t i, const float *dots, bool apart,
			 double bound)
{
	double		limit = (double) w->near[i] + bound;
	double		best = square_gap(w, i, (size_t) w->label[i]);

	for (size_t j = 0; !apart && j < w->k; j++)
	{
		double		distance;

		if (dots != NULL && (double) (w->half[j] - dots[j]) > limit)
			continue;
		distance = square_gap(w, i, j);
		if (distance < best || (distance == best && j < (size_t) w->label[i]))
		{
			best = distance;
			w->label[i] = (int32_t) j;
		}
	}
	w->near[i] = (float) best;
	if (!apart)
		fc_check();
}

static void
label_tile(fc_kmeans_work *w, size_t start, size_t rows)
{
	float		second[FC_TILE_ROWS];
	double		bound = 2.0 * w->score_rounding;
	size_t		d = w->rows.d;

	w->compared += rows * w->k;
	for (size_t r = 0; r < rows; r++)
	{
		w->near[start + r] = second[r] = INFINITY;
		w->label[start + r] = 0;
	}
	for (size_t first = 0; first < w->k; first += FC_TILE_CENTROIDS)
	{
		size_t		count = (w->k - first < FC_TILE_CENTROIDS ? w->k - first
							 : FC_TILE_CENTROIDS);

		fc_check();
		fc_dots(w->rows.x + start * d, rows, w->rounded + first * d, count, d,
				w->tile, FC_TILE_CENTROIDS);
		for (size_t r = 0; w->careful && r < rows; r++)
			fc_two_lowest(w->tile + r * FC_TILE_CENTROIDS, w->half + first,
						  count, first, w->near + start + r, second + r,
						  w->label + start + r);
		if (!w->careful)
			fc_kmeans_tile_nearest(w->tile, rows, count, w->half, first,
								   w->near + start, w->label + start);
	}
	for (size_t r = 0; w->careful && r < rows; r++)
		resolve_ties(w, start + r,
					 w->k <= FC_TILE_CENTROIDS ? w->tile + r * FC_TILE_CENTROIDS
					 : NULL,
					 second[r] - w->near[start + r] > bound, bound);
}

static void
label_by_tiles(fc_kmeans_work *w)
{
	for (size_t start = 0; start < w->rows.n; start += FC_TILE_ROWS)
		label_tile(w, start, smaller(FC_TILE_ROWS, w->rows.n - start));
}

static const fc_kmeans_search tiles = {false, NULL, label_by_tiles};

/* ---- bounds ---- */

/*
 * Allocates the bounds. Each step rebuilds them, but keeps the measurements of
 * earlier steps (bounds->record), by which the method is chosen.
 */
static void
keep_bounds(fc_kmeans_work *w)
{
	fc_pruning *bounds = FC_TAKE(w->arena, 1, fc_pruning);

	*bounds = (fc_pruning)
	{
		0
	};
	w->searched = bounds;
}

/* Rows of a search, from index `first` on. */
typedef struct bounded_rows
{
	const fc_kmeans_work *w;
	size_t		first;
} bounded_rows;

static double
distance_of(const void *context, size_t row, size_t j)
{
	const bounded_rows *rows = context;

	return square_gap(rows->w, rows->first + row, j);
}

/*
 * Labels `count` rows from `start` on by bounds. Returns false if comparing
 * all centroids is cheaper, or if a row was not labelled; the caller must then
 * label these rows.
 */
static bool
label_bounded(fc_kmeans_work *w, fc_pruning *bounds, fc_scratch scratch,
			  size_t start, size_t count)
{
	bounded_rows context = {w, start};
	fc_pruned_rows rows = {
		.x_float = w->rows.x + start * w->rows.d,
		.distance = distance_of,
		.context = &context
	};
	int			path = fc_pruning_choose(bounds);

	if (path == FC_PRUNING_NONE)
		return false;
	fc_pruning_assign(bounds, path, &rows, count, scratch, w->label + start);
	for (size_t i = start; i < start + count; i++)
	{
		double		square;

		if (w->label[i] < 0)
			return false;
		square = square_gap(w, i, (size_t) w->label[i]);
		w->near[i] = (float) (w->careful
							  ? square
							  : 0.5 * (square - (double) w->rows.norm[i]));
	}
	w->compared += count * w->k;
	return true;
}

static void
label_by_bounds(fc_kmeans_work *w)
{
	fc_mark		mark = fc_arena_mark(w->arena);
	fc_pruning *bounds = w->searched;
	fc_pruning	before = *bounds;
	fc_scratch	scratch = {0};
	bool		built = fc_pruning_build(w->rounded, NULL, w->k, w->rows.d,
										 before.k == 0 || before.lead > 0, w->arena,
										 bounds);

	memcpy(bounds->record, before.record, sizeof(before.record));
	if (built)
		scratch = fc_take_scratch(w->arena,
								  fc_pruning_scratch(bounds, FC_PRUNING_ROWS));
	for (size_t start = 0; start < w->rows.n; start += FC_PRUNING_ROWS)
	{
		size_t		count = (w->rows.n - start < FC_PRUNING_ROWS ? w->rows.n - start
							 : FC_PRUNING_ROWS);

		if (!built || !label_bounded(w, bounds, scratch, start, count))
			label_tile(w, start, count);
	}
	fc_arena_release(w->arena, mark);
}

static const fc_kmeans_search bounded = {true, keep_bounds, label_by_bounds};

/* ---- choice of the method ---- */

const fc_kmeans_search *
fc_kmeans_choose_search(const fc_kmeans_rows *rows, size_t k)
{
	if (rows->d > FC_PACK_DIMENSIONS)
		return fc_pruning_suits(k, rows->d) ? &bounded : &tiles;
	return k >= TREE_CLUSTERS * rows->d &&
		rows->n >= TREE_BLOCKS * FC_TILE_ROWS &&
		rows->n <= UINT32_MAX
		? &tree
		: &packs;
}

/*
 * tree.c - rows in a k-d tree: few centroids meet few rows.
 *
 * With many clusters in few dimensions nearly all distances are of rows and centroids far apart.  The tree's leaves are blocks of
 * FC_TILE_ROWS rows near each other, consecutive in the order of the tree; every node has the box of its rows (numerics/kdtree.h).
 * A set of centroids goes down from the root and loses at each node those that are not nearest to any point of its box.  The others
 * are compared row by row: the labels are those of all distances, up to ties within rounding.
 *
 * A centroid c is farther than c' from all of a box when it is from the corner v that lies farthest along c - c':
 *     ||v - c||^2 - ||v - c'||^2 = sum_i (c'_i - c_i) (2 v_i - c_i - c'_i) > 0
 *
 * Kanungo, Mount, Netanyahu, Piatko, Silverman, Wu 2002 (the filtering algorithm), on blocks of rows.
 */
#include "kmeans/internal.h"

#include <math.h>
#include <string.h>

#define LEAST_CLUSTERS	24		/* a dimension: with fewer the making of a tree shows where boxes tell nothing */
#define LEAST_BLOCKS	8
#define LISTS			5		/* times k: 1 + 1 + 3/4 + 9/16 + .. */
#define WORTH_IT		0.75	/* a shorter list is written when it has lost a quarter: the lists of a path have LISTS k */
#define TRIALS			8		/* nodes of a level that may fail to tell anything before it is given up */

/* How well boxes have done at each level: where few of them told anything, they are not asked again. */
typedef struct levels
{
	size_t		asked[64];
	size_t		told[64];
} levels;

static inline bool
is_useful(const levels *seen, size_t depth)
{
	return seen->asked[depth] < TRIALS || seen->told[depth] * TRIALS >= seen->asked[depth];
}

bool
fc_kmeans_wants_tree(size_t n, size_t d, size_t k)
{
	return d <= FC_PACK_DIMENSIONS && k >= LEAST_CLUSTERS * d && n >= LEAST_BLOCKS * FC_TILE_ROWS && n <= UINT32_MAX;
}

void
fc_kmeans_tree_take(fc_arena *arena, size_t n, size_t d, size_t k, fc_kmeans_tree *tree)
{
	fc_kdtree_take(arena, n, d, FC_TILE_ROWS, d, &tree->rows);
	tree->list = FC_TAKE(arena, LISTS * k, uint32_t);
	tree->centroids = FC_TAKE(arena, k * d, float);
	tree->half = FC_TAKE(arena, k, float);
}

/* Some of the centroids. */
typedef struct candidates
{
	const uint32_t *list;		/* ascending */
	size_t		count;
	uint32_t   *free;			/* room for shorter lists */
} candidates;

/* The candidate nearest to the middle of a box. */
static size_t
nearest_to_middle(const fc_kmeans_work *w, const float *box, const candidates *c)
{
	float		middle[FC_PACK_DIMENSIONS];
	size_t		nearest = c->list[0];
	float		least = INFINITY;

	for (size_t i = 0; i < w->d; i++)
		middle[i] = 0.5f * box[i] + 0.5f * box[w->d + i];
	for (size_t p = 0; p < c->count; p++)
	{
		const float *centroid = w->rounded + c->list[p] * w->d;
		float		square = 0.0f;

		for (size_t i = 0; i < w->d; i++)
			square += (centroid[i] - middle[i]) * (centroid[i] - middle[i]);
		if (square < least)
		{
			least = square;
			nearest = c->list[p];
		}
	}
	return nearest;
}

/* Is c farther than `near` from every point of the box? */
static inline bool
is_farther(const float *c, const float *near, const float *box, size_t d)
{
	double		sum = 0.0;

	for (size_t i = 0; i < d; i++)
	{
		double		corner = (double) (c[i] > near[i] ? box[d + i] : box[i]);

		sum += ((double) near[i] - (double) c[i]) * ((corner - (double) c[i]) + (corner - (double) near[i]));
	}
	return sum > 0.0;
}

/* The candidates that are nearest to some point of the box, and perhaps others. */
static candidates
filter(const fc_kmeans_work *w, fc_node a, candidates c, levels *seen)
{
	const float *box = fc_kdtree_box(&w->tree.rows, a);
	const float *near;
	candidates	left = {c.free, 0, NULL};

	if (c.count == 1 || !is_useful(seen, a.depth))
		return c;
	near = w->rounded + nearest_to_middle(w, box, &c) * w->d;
	for (size_t p = 0; p < c.count; p++)
		if (!is_farther(w->rounded + c.list[p] * w->d, near, box, w->d))
			c.free[left.count++] = c.list[p];
	seen->asked[a.depth]++;
	if ((double) left.count > WORTH_IT * (double) c.count)
		return c;
	seen->told[a.depth]++;
	left.free = c.free + left.count;
	return left;
}

/* The rows of a leaf against the candidates. */
static void
assign_leaf(fc_kmeans_work *w, size_t block, const candidates *c)
{
	size_t		first = block * FC_TILE_ROWS;
	bool		all = c->count == w->k;
	const float *centroids = all ? w->rounded : w->tree.centroids;
	const float *half = all ? w->half : w->tree.half;

	w->compared += fc_kmeans_block(w, first) * c->count;
	for (size_t p = 0; !all && p < c->count; p++)
	{
		memcpy(w->tree.centroids + p * w->d, w->rounded + c->list[p] * w->d, w->d * sizeof(float));
		w->tree.half[p] = w->half[c->list[p]];
	}
	for (size_t i = first; i < first + fc_kmeans_block(w, first); i += FC_PACK)
	{
		if (w->careful)
			fc_kmeans_pack_closest(w->packs + i * w->d, w->d, centroids, c->count, w->near + i, w->label + i);
		else
			fc_kmeans_pack_nearest(w->packs + i * w->d, w->d, centroids, half, c->count, w->near + i, w->label + i);
		for (size_t r = i; !all && r < i + FC_PACK; r++)
			w->label[r] = (int32_t) c->list[w->label[r]];
	}
}

static void
assign(fc_kmeans_work *w, fc_node a, candidates c, levels *seen)
{
	candidates	left = filter(w, a, c, seen);

	fc_check_every(&w->done, 4 * c.count * w->d + (fc_node_is_leaf(a) ? left.count * w->d * FC_TILE_ROWS / 8 : 0));
	if (fc_node_is_leaf(a))
	{
		assign_leaf(w, a.first, &left);
		return;
	}
	assign(w, fc_node_left(a), left, seen);
	assign(w, fc_node_right(a), left, seen);
}

void
fc_kmeans_tree_assign(fc_kmeans_work *w)
{
	levels		seen = {{0}, {0}};
	candidates	all = {w->tree.list, w->k, w->tree.list + w->k};

	for (size_t j = 0; j < w->k; j++)
		w->tree.list[j] = (uint32_t) j;
	assign(w, fc_kdtree_root(&w->tree.rows), all, &seen);
}

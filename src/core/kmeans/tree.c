/*
 * tree.c - rows ordered into a tree of boxes; see tree.h
 *
 * The rows of a node are split by selection along the longest side of their box.
 */
#include "kmeans/tree.h"

#include <math.h>

#include "base/sizes.h"
#include "kmeans/nodes.h"
#include "numerics/selection.h"

#define LEAST_CLUSTERS	24		/* a dimension: with fewer the making of a tree shows where boxes tell nothing */
#define LEAST_BLOCKS	8
#define SAMPLE			512		/* rows that tell which side of a box is the longest */
#define VISIT			8		/* multiplications that fetching a row costs, about */

bool
fc_kmeans_wants_tree(size_t n, size_t d, size_t k)
{
	return d <= FC_PACK_DIMENSIONS && k >= LEAST_CLUSTERS * d && n >= LEAST_BLOCKS * FC_TILE_ROWS && n <= UINT32_MAX;
}

static size_t
blocks_of(size_t n)
{
	return (n + FC_TILE_ROWS - 1) / FC_TILE_ROWS;
}

void
fc_kmeans_tree_take(fc_arena *arena, size_t n, size_t d, size_t k, fc_kmeans_tree *tree)
{
	size_t		nodes = 2 * blocks_of(n) - 1;

	tree->blocks = blocks_of(n);
	tree->box = FC_TAKE(arena, nodes * 2 * d, float);
	tree->mass = FC_TAKE(arena, nodes, double);
	tree->farthest = FC_TAKE(arena, nodes, float);
	tree->list = FC_TAKE(arena, (FC_TREE_LISTS) * k, uint32_t);
	tree->centroids = FC_TAKE(arena, k * d, float);
	tree->half = FC_TAKE(arena, k, float);
}

/* The box of every step-th row: least and greatest (d each). */
static void
measure_box(fc_kmeans_work *w, size_t first, size_t last, size_t step, float *box)
{
	for (size_t c = 0; c < w->d; c++)
	{
		box[c] = INFINITY;
		box[w->d + c] = -INFINITY;
	}
	for (size_t i = first; i < last; i += step)
	{
		const float *x = w->rows->x + (size_t) w->order[i] * w->d;

		fc_check_every(&w->done, w->d + VISIT);
		for (size_t c = 0; c < w->d; c++)
		{
			box[c] = x[c] < box[c] ? x[c] : box[c];
			box[w->d + c] = x[c] > box[w->d + c] ? x[c] : box[w->d + c];
		}
	}
}

static size_t
longest_side(const float *box, size_t d)
{
	size_t		longest = 0;

	for (size_t c = 1; c < d; c++)
		if (box[d + c] - box[c] > box[d + longest] - box[longest])
			longest = c;
	return longest;
}

/* The box around two. */
static void
join_boxes(const float *left, const float *right, size_t d, float *box)
{
	for (size_t c = 0; c < d; c++)
	{
		box[c] = fminf(left[c], right[c]);
		box[d + c] = fmaxf(left[d + c], right[d + c]);
	}
}

/* Split along the longest side of some rows' box; the boxes of all rows come from the leaves. */
static fc_status
build(fc_kmeans_work *w, fc_node a)
{
	size_t		width = 2 * w->d;
	float	   *box = w->tree.box + fc_node_number(a) * width;
	size_t		first = a.first * FC_TILE_ROWS;
	size_t		last = smaller(a.last * FC_TILE_ROWS, w->n);
	size_t		step = fc_node_is_leaf(a) ? 1 : larger(1, (last - first) / SAMPLE);
	fc_status	status = FC_OK;

	measure_box(w, first, last, step, box);
	if (status == FC_OK && !fc_node_is_leaf(a))
	{
		fc_coordinate c = {w->rows->x + longest_side(box, w->d), w->d};

		fc_part_rows(c, w->order, first, last, fc_node_middle(a) * FC_TILE_ROWS, &w->done);
		if (status == FC_OK)
			status = build(w, fc_node_left(a));
		if (status == FC_OK)
			status = build(w, fc_node_right(a));
		if (status == FC_OK)
			join_boxes(w->tree.box + fc_node_number(fc_node_left(a)) * width, w->tree.box + fc_node_number(fc_node_right(a)) * width, w->d, box);
	}
	return status;
}

fc_status
fc_kmeans_tree_build(fc_kmeans_work *w)
{
	for (size_t i = 0; i < w->n; i++)
	{
		fc_check_every(&w->done, 1);
		w->order[i] = (uint32_t) i;
	}
	return build(w, fc_node_root(w));
}

/* kdtree_simd.c - a balanced tree of bounding boxes; see kdtree.h */
#include "numerics/kdtree.h"

#include "base/simd.h"
#include "numerics/selection.h"

/*
 * Approximate number of points that determine the longest side of a box. A
 * larger sample finds it more exactly, and construction takes longer. A guess.
 */
#define SAMPLE	512

/*
 * Minimum number of points for a packed k-d tree. With fewer points, packs
 * without a tree (rows.h) were measured to be faster in 4 to 32 dimensions.
 * Halving or doubling the minimum changes nothing (bench/tuned.py).
 */
#define MIN_POINTS	8192

/*
 * Factor by which limits are raised; the increase exceeds the rounding error
 * of a distance in float.
 */
#define SLACK	(1.0f + 0x1p-16f)

void
fc_kdtree_take(fc_arena *arena, size_t n, size_t d, size_t leaf, size_t width,
			   fc_kdtree *tree)
{
	*tree = (fc_kdtree)
	{
		.n = n,
			.d = d,
			.leaf = leaf,
			.leaves = (n + leaf - 1) / leaf,
			.width = width
	};
	tree->order = FC_TAKE(arena, n, uint32_t);
	tree->box = FC_TAKE(arena, (2 * tree->leaves - 1) * 2 * width, float);
}

/*
 * Computes the bounding box of every step-th of the points first .. last - 1.
 * Returns the dimension in which the box is longest.
 */
static size_t
measure_box(const fc_kdtree *t, const float *points, size_t first, size_t last,
			size_t step, float *box)
{
	size_t		d = t->d;
	float	   *high = box + t->width;
	size_t		longest = 0;

	for (size_t c = 0; c < t->width; c++)
	{
		box[c] = c < d ? INFINITY : -INFINITY;
		high[c] = -box[c];
	}
	for (size_t p = first; p < last; p += step)
	{
		const float *x = points + (size_t) t->order[p] * d;

		for (size_t c = 0; c < d; c++)
		{
			box[c] = x[c] < box[c] ? x[c] : box[c];
			high[c] = x[c] > high[c] ? x[c] : high[c];
		}
	}
	for (size_t c = 1; c < d; c++)
		if (high[c] - box[c] > high[longest] - box[longest])
			longest = c;
	return longest;
}

/*
 * Builds the subtree of node a. The split is along the longest side of the
 * bounding box of a sample of its points. The exact box is then computed from
 * the boxes of the children.
 */
static void
build(const fc_kdtree *t, const float *points, fc_node a)
{
	float	   *box = fc_kdtree_box(t, a);
	const float *left;
	const float *right;
	size_t		first = a.first * t->leaf;
	size_t		last = smaller(a.last * t->leaf, t->n);
	fc_coordinate along = {.d = t->d};
	size_t		longest = measure_box(t, points, first, last,
									  fc_node_is_leaf(a)
									  ? 1
									  : larger(1, (last - first) / SAMPLE),
									  box);

	fc_check();
	if (fc_node_is_leaf(a))
		return;
	along.x = points + longest;
	fc_partition_rows(along, t->order, first, last, fc_node_middle(a) * t->leaf);
	build(t, points, fc_node_left(a));
	build(t, points, fc_node_right(a));
	left = fc_kdtree_box(t, fc_node_left(a));
	right = fc_kdtree_box(t, fc_node_right(a));
	for (size_t c = 0; c < t->d; c++)
	{
		box[c] = fminf(left[c], right[c]);
		box[t->width + c] = fmaxf(left[t->width + c], right[t->width + c]);
	}
}

void
fc_kdtree_build(fc_kdtree *tree, const float *points)
{
	for (size_t i = 0; i < tree->n; i++)
		tree->order[i] = (uint32_t) i;
	build(tree, points, fc_kdtree_root(tree));
}

/* ---- the nearest ---- */

bool
fc_packed_kdtree_suits(size_t k, size_t d)
{
	return d <= FC_PACKED_DIMENSIONS && k >= MIN_POINTS && k <= UINT32_MAX;
}

void
fc_packed_kdtree_take(fc_arena *arena, size_t k, size_t d, fc_packed_kdtree *kdtree)
{
	fc_kdtree_take(arena, k, d, FC_PACKED_LEAF,
				   (d + FC_PACKED_LANES - 1) / FC_PACKED_LANES * FC_PACKED_LANES,
				   &kdtree->tree);
	kdtree->packs = FC_TAKE(arena, kdtree->tree.leaves * d * FC_PACKED_LEAF,
							float);
}

/*
 * Builds the tree, and copies the points of its leaves coordinate by
 * coordinate; unused lanes of the last leaf repeat the last point.
 */
void
fc_packed_kdtree_build(fc_packed_kdtree *kdtree, const float *points)
{
	const fc_kdtree *t = &kdtree->tree;

	fc_kdtree_build(&kdtree->tree, points);
	for (size_t p = 0; p < t->leaves * FC_PACKED_LEAF; p++)
	{
		const float *x = points + t->order[smaller(p, t->n - 1)] * t->d;

		for (size_t c = 0; c < t->d; c++)
			kdtree->packs[(p / FC_PACKED_LEAF * t->d + c) * FC_PACKED_LEAF +
						  p % FC_PACKED_LEAF] = x[c];
	}
}

/*
 * Computes the squared distances from x to the points of a leaf, over the
 * coordinates of x that are not NaN, and returns the lowest.
 */
FC_CLONES
static float
leaf_distances(const float *pack, size_t d, const float *x, float *squared)
{
	float		sum[FC_PACKED_LEAF] = {0.0f};
	float		min[FC_PACKED_LANES];

	for (size_t c = 0; c < d; c++)
	{
		if (isnan(x[c]))
			continue;
		for (size_t r = 0; r < FC_PACKED_LEAF; r++)
		{
			float		gap = pack[c * FC_PACKED_LEAF + r] - x[c];

			sum[r] += gap * gap;
		}
	}
	for (size_t lane = 0; lane <FC_PACKED_LANES; lane ++)
		min[lane] = sum[lane];
	for (size_t r = 0; r < FC_PACKED_LEAF; r += FC_PACKED_LANES)
		for (size_t lane = 0; lane <FC_PACKED_LANES; lane ++)
		{
			squared[r + lane] = sum[r + lane];
			min[lane] = sum[r + lane] < min[lane] ? sum[r + lane]
				: min[lane];
		}
	for (size_t lane = 1; lane <FC_PACKED_LANES; lane ++)
		min[0] = min[lane] < min[0] ? min[lane] : min[0];
	return min[0];
}

/*
 * Computes the squared distances from x to two boxes: sums of max(low - x, x -
 * high, 0)^2 in FC_PACKED_LANES lanes. The distances are never NaN: corners of
 * a box may be infinite, but x is not, and a coordinate that is NaN adds 0.
 */
FC_CLONES
static void
box_distances(const float *const box[2], size_t width, const float *x,
			  float squared[2])
{
	for (int b = 0; b < 2; b++)
	{
		const float *low = box[b];
		const float *high = box[b] + width;
		float		sum[FC_PACKED_LANES] = {0.0f};
		float		all = 0.0f;

		for (size_t first = 0; first < width; first += FC_PACKED_LANES)
			for (size_t lane = 0; lane <FC_PACKED_LANES; lane ++)
			{
				float		below = low[first + lane] - x[first + lane];
				float		above = x[first + lane] - high[first + lane];
				float		outside = below > above ? below : above;

				outside = outside > 0.0f ? outside : 0.0f;
				sum[lane] += outside * outside;
			}
		for (size_t lane = 0; lane <FC_PACKED_LANES; lane ++)
			all += sum[lane];
		squared[b] = all;
	}
}

typedef struct kdtree_walk
{
	const fc_packed_kdtree *b;
	const float *x;
	size_t		nearest;
	float		squared;
	float		second;			/* squared distance to the second nearest
								 * point */
	float		reach;			/* limit on `second`: reach * squared + margin */
	float		margin;
} kdtree_walk;

/*
 * Returns the squared distance to the second nearest point, or its limit if
 * that is less.
 */
static inline float
second_of(const kdtree_walk *s)
{
	return fminf(s->second, s->reach * s->squared + s->margin);
}

/* Returns the squared distance beyond which points are not searched. */
static inline float
limit_of(const kdtree_walk *s)
{
	return SLACK * second_of(s);
}

static void
scan_leaf(kdtree_walk *s, size_t leaf)
{
	const uint32_t *number = s->b->tree.order + leaf * FC_PACKED_LEAF;
	size_t		count = smaller(FC_PACKED_LEAF, s->b->tree.n - leaf * FC_PACKED_LEAF);
	float		squared[FC_PACKED_LEAF];
	float		min = leaf_distances(s->b->packs +
									 leaf * s->b->tree.d * FC_PACKED_LEAF,
									 s->b->tree.d, s->x, squared);

	for (size_t r = 0; r < count && !(min > limit_of(s)); r++)
	{
		bool		nearer = (squared[r] < s->squared ||
							  (squared[r] == s->squared && number[r] < s->nearest));

		if (nearer || squared[r] < s->second)
			s->second = nearer ? s->squared : squared[r];
		if (!nearer)
			continue;
		s->squared = squared[r];
		s->nearest = number[r];
	}
}

static void
visit(kdtree_walk *s, fc_node a)
{
	const fc_kdtree *t = &s->b->tree;
	fc_node		child[2] = {fc_node_left(a), fc_node_right(a)};
	const float *kdtree[2];
	float		gap[2];
	size_t		nearer;

	if (fc_node_is_leaf(a))
	{
		scan_leaf(s, a.first);
		return;
	}
	kdtree[0] = fc_kdtree_box(t, child[0]);
	kdtree[1] = fc_kdtree_box(t, child[1]);
	box_distances(kdtree, t->width, s->x, gap);
	nearer = gap[1] < gap[0];
	if (gap[nearer] <= limit_of(s))
		visit(s, child[nearer]);
	if (gap[1 - nearer] <= limit_of(s))
		visit(s, child[1 - nearer]);
}

size_t
fc_packed_kdtree_nearest_two(const fc_packed_kdtree *kdtree, const float *x, float reach,
							 float margin, float squared[2])
{
	float		padded[FC_PACKED_DIMENSIONS] = {0.0f};
	kdtree_walk s = {
		.b = kdtree,
		.x = padded,
		.nearest = SIZE_MAX,
		.squared = INFINITY,
		.second = INFINITY,
		.reach = reach,
		.margin = margin
	};

	memcpy(padded, x, kdtree->tree.d * sizeof(float));
	visit(&s, fc_kdtree_root(&kdtree->tree));
	squared[0] = s.squared;
	squared[1] = second_of(&s);
	return s.nearest;
}

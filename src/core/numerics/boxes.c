/*
 * boxes.c - the nearest of very many points in few dimensions; see boxes.h
 *
 * The tree is implicit: leaves first .. last - 1 of a node are halved; leaf i is node 2 i, the node that parts before leaf i is 2 i - 1.
 * Points are parted by selection along the longest side of their box.
 */
#include "numerics/boxes.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "numerics/selection.h"

#define LEAST_POINTS	4096	/* fewer are met by a matrix product */
#define REACH			4.0f	/* as boxes.h says */
#define SLACK			(1.0f + 0x1p-16f)	/* beyond the rounding of a distance in float */

bool
fc_boxes_suit(size_t k, size_t d)
{
	return d <= FC_BOXES_DIMENSIONS && k >= LEAST_POINTS && k <= UINT32_MAX;
}

void
fc_boxes_take(fc_arena *arena, size_t k, size_t d, fc_boxes *boxes)
{
	boxes->k = k;
	boxes->d = d;
	boxes->width = (d + FC_BOXES_LANES - 1) / FC_BOXES_LANES * FC_BOXES_LANES;
	boxes->leaves = (k + FC_BOXES_LEAF - 1) / FC_BOXES_LEAF;
	boxes->order = FC_TAKE(arena, k, uint32_t);
	boxes->box = FC_TAKE(arena, (2 * boxes->leaves - 1) * 2 * boxes->width, float);
	boxes->packs = FC_TAKE(arena, boxes->leaves * d * FC_BOXES_LEAF, float);
}

/* Leaves first .. last - 1. */
typedef struct node
{
	size_t		first;
	size_t		last;
} node;

static inline bool
is_leaf(node a)
{
	return a.last - a.first == 1;
}

static inline size_t
middle_of(node a)
{
	return (a.first + a.last) / 2;
}

static inline float *
box_of(const fc_boxes *b, node a)
{
	return b->box + (is_leaf(a) ? 2 * a.first : 2 * middle_of(a) - 1) * 2 * b->width;
}

/* ---- making ---- */

typedef struct builder
{
	fc_boxes   *b;
	const float *points;
	size_t		done;
} builder;

static float
value_at(const builder *w, size_t place, size_t c)
{
	return w->points[(size_t) w->b->order[place] * w->b->d + c];
}

/* Least and greatest coordinates of points first .. last - 1; the longest side. */
static size_t
measure_box(const builder *w, size_t first, size_t last, float *box)
{
	size_t		d = w->b->d;
	size_t		longest = 0;
	float	   *high = box + w->b->width;

	for (size_t c = 0; c < w->b->width; c++)
	{
		box[c] = c < d ? INFINITY : -INFINITY;
		high[c] = -box[c];
	}
	for (size_t p = first; p < last; p++)
		for (size_t c = 0; c < d; c++)
		{
			float		value = value_at(w, p, c);

			box[c] = value < box[c] ? value : box[c];
			high[c] = value > high[c] ? value : high[c];
		}
	for (size_t c = 1; c < d; c++)
		if (high[c] - box[c] > high[longest] - box[longest])
			longest = c;
	return longest;
}

/* The points of a leaf coordinate by coordinate; lanes beyond them repeat the last. */
static void
pack_leaf(const builder *w, size_t leaf, size_t first, size_t last)
{
	float	   *pack = w->b->packs + leaf * w->b->d * FC_BOXES_LEAF;

	for (size_t c = 0; c < w->b->d; c++)
		for (size_t r = 0; r < FC_BOXES_LEAF; r++)
			pack[c * FC_BOXES_LEAF + r] = value_at(w, smaller(first + r, last - 1), c);
}

static void
build(builder *w, node a)
{
	size_t		first = a.first * FC_BOXES_LEAF;
	size_t		last = smaller(a.last * FC_BOXES_LEAF, w->b->k);
	size_t		longest = measure_box(w, first, last, box_of(w->b, a));
	size_t		middle = middle_of(a);

	fc_check_every(&w->done, 2 * (last - first) * w->b->d);
	if (is_leaf(a))
	{
		pack_leaf(w, a.first, first, last);
		return;
	}
	fc_part_rows((fc_coordinate) {w->points + longest, w->b->d}, w->b->order, first, last, middle * FC_BOXES_LEAF, &w->done);
	build(w, (node) {a.first, middle});
	build(w, (node) {middle, a.last});
}

void
fc_boxes_build(fc_boxes *boxes, const float *points)
{
	builder		w = {.b = boxes,.points = points};

	for (size_t j = 0; j < boxes->k; j++)
		boxes->order[j] = (uint32_t) j;
	build(&w, (node) {0, boxes->leaves});
}

/* ---- the nearest ---- */

typedef struct box_search
{
	const fc_boxes *b;
	const float *x;
	size_t		nearest;
	float		squared;
	float		second;			/* of the next point, */
	float		margin;			/* up to so much beyond REACH times the first */
} box_search;

/* The second distance, as far as it is wanted. */
static inline float
second_of(const box_search *s)
{
	return fminf(s->second, REACH * s->squared + s->margin);
}

/* What is farther is of no interest. */
static inline float
limit_of(const box_search *s)
{
	return SLACK * second_of(s);
}

static void
scan_leaf(box_search *s, size_t leaf)
{
	const uint32_t *number = s->b->order + leaf * FC_BOXES_LEAF;
	size_t		count = smaller(FC_BOXES_LEAF, s->b->k - leaf * FC_BOXES_LEAF);
	float		squared[FC_BOXES_LEAF];
	float		least = fc_boxes_leaf_distances(s->b->packs + leaf * s->b->d * FC_BOXES_LEAF, s->b->d, s->x, squared);

	for (size_t r = 0; r < count && !(least > limit_of(s)); r++)
	{
		bool		nearer = squared[r] < s->squared || (squared[r] == s->squared && number[r] < s->nearest);

		if (nearer || squared[r] < s->second)
			s->second = nearer ? s->squared : squared[r];
		if (!nearer)
			continue;
		s->squared = squared[r];
		s->nearest = number[r];
	}
}

static void
visit(box_search *s, node a)
{
	node		child[2] = {{a.first, middle_of(a)}, {middle_of(a), a.last}};
	float		gap[2];
	size_t		nearer;

	if (is_leaf(a))
	{
		scan_leaf(s, a.first);
		return;
	}
	fc_boxes_distances((const float *const[2]) {box_of(s->b, child[0]), box_of(s->b, child[1])}, s->b->width, s->x, gap);
	nearer = gap[1] < gap[0];
	if (gap[nearer] <= limit_of(s))
		visit(s, child[nearer]);
	if (gap[1 - nearer] <= limit_of(s))
		visit(s, child[1 - nearer]);
}

size_t
fc_boxes_nearest_two(const fc_boxes *boxes, const float *x, float margin, float squared[2])
{
	float		padded[FC_BOXES_DIMENSIONS] = {0.0f};
	box_search	s = {.b = boxes,.x = padded,.nearest = SIZE_MAX,.squared = INFINITY,.second = INFINITY,.margin = margin};

	memcpy(padded, x, boxes->d * sizeof(float));
	visit(&s, (node) {0, boxes->leaves});
	squared[0] = s.squared;
	squared[1] = second_of(&s);
	return s.nearest;
}

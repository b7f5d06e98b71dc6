/*
 * fc_kmeans_tree.c - k-means on a tree of boxes; see fc_kmeans_tree.h
 *
 * The tree is implicit: blocks first .. last of a node are halved, the rows split by selection along
 * the longest side of their box.  A leaf is node 2 block, the node that splits before a block
 * is 2 block - 1.  A centroid c is farther than c' from all of a box when it is from the corner
 * v that lies farthest along c - c':
 *     ||v - c||^2 - ||v - c'||^2 = sum_i (c'_i - c_i) (2 v_i - c_i - c'_i) > 0
 */
#include "fc_kmeans_tree.h"

#include <math.h>
#include <string.h>

#include "fc_sizes.h"

#define LEAST_CLUSTERS	24		/* a dimension: with fewer the making of a tree shows where boxes tell nothing */
#define LEAST_BLOCKS	8
#define WORTH_IT		0.75	/* a shorter list is written when it has lost a quarter */
#define LISTS			4		/* times k: 1 + 3/4 + 9/16 + .. */
#define TRIALS			8		/* nodes of a level that may fail to lose any before it is given up */
#define SAMPLE			512		/* rows that tell which side of a box is the longest */
#define SWAP			8		/* multiplications that a comparison in selection costs, about */
#define SLACK			(1.0f + 0x1p-16f)	/* beyond the rounding of a distance in float */

/* ---- shape ---- */

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

fc_status
fc_kmeans_tree_take(fc_arena *arena, size_t n, size_t d, size_t k, fc_kmeans_tree *tree)
{
	size_t		nodes = 2 * blocks_of(n) - 1;

	tree->blocks = blocks_of(n);
	tree->box = FC_TAKE(arena, nodes * 2 * d, float);
	tree->mass = FC_TAKE(arena, nodes, double);
	tree->farthest = FC_TAKE(arena, nodes, float);
	tree->list = FC_TAKE(arena, (LISTS + 1) * k, uint32_t);
	tree->centroids = FC_TAKE(arena, k * d, float);
	tree->half = FC_TAKE(arena, k, float);
	return tree->box != NULL && tree->mass != NULL && tree->farthest != NULL && tree->list != NULL &&
		tree->centroids != NULL && tree->half != NULL ? FC_OK : FC_ENOMEMORY;
}

/* Blocks first .. last - 1 below a node. */
typedef struct node
{
	size_t		first;
	size_t		last;
	size_t		depth;
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

static inline size_t
number_of(node a)
{
	return is_leaf(a) ? 2 * a.first : 2 * middle_of(a) - 1;
}

static inline node
left_of(node a)
{
	return (node) {a.first, middle_of(a), a.depth + 1};
}

static inline node
right_of(node a)
{
	return (node) {middle_of(a), a.last, a.depth + 1};
}

static inline node
root_of(const fc_kmeans_work *w)
{
	return (node) {0, w->tree.blocks, 0};
}

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

/* ---- building ---- */

/* One coordinate of rows by their place in the order. */
typedef struct coordinates
{
	const float *x;
	size_t		d;
	uint32_t   *order;
} coordinates;

static inline float
value_at(const coordinates *c, size_t i)
{
	return c->x[(size_t) c->order[i] * c->d];
}

static inline void
swap(uint32_t *a, uint32_t *b)
{
	uint32_t	t = *a;

	*a = *b;
	*b = t;
}

static float
median_of_three(float a, float b, float c)
{
	return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}

/* Rows first .. last - 1 in such an order that none before `place` is greater than any from there on. */
static fc_status
select_place(fc_kmeans_work *w, const coordinates *c, size_t first, size_t last, size_t place)
{
	while (last - first > 1)
	{
		float		pivot = median_of_three(value_at(c, first), value_at(c, first + (last - first) / 2), value_at(c, last - 1));
		size_t		low = first;
		size_t		middle = first;
		size_t		high = last;

		while (middle < high)	/* less | equal | unseen | greater */
		{
			float		value = value_at(c, middle);

			if (fc_paced(w->tick, &w->done, SWAP))
				return FC_INTERRUPTED;
			if (value < pivot)
				swap(&c->order[low++], &c->order[middle++]);
			else if (value > pivot)
				swap(&c->order[middle], &c->order[--high]);
			else
				middle++;
		}
		if (place < low)
			last = low;
		else if (place < high)
			break;
		else
			first = high;
	}
	return FC_OK;
}

/* The box of every step-th row: least and greatest (d each). */
static fc_status
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

		if (fc_paced(w->tick, &w->done, w->d + SWAP))
			return FC_INTERRUPTED;
		for (size_t c = 0; c < w->d; c++)
		{
			box[c] = x[c] < box[c] ? x[c] : box[c];
			box[w->d + c] = x[c] > box[w->d + c] ? x[c] : box[w->d + c];
		}
	}
	return FC_OK;
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
build(fc_kmeans_work *w, node a)
{
	size_t		width = 2 * w->d;
	float	   *box = w->tree.box + number_of(a) * width;
	size_t		first = a.first * FC_TILE_ROWS;
	size_t		last = smaller(a.last * FC_TILE_ROWS, w->n);
	size_t		step = is_leaf(a) ? 1 : larger(1, (last - first) / SAMPLE);
	fc_status	status = measure_box(w, first, last, step, box);

	if (status == FC_OK && !is_leaf(a))
	{
		coordinates c = {w->rows->x + longest_side(box, w->d), w->d, w->order};

		status = select_place(w, &c, first, last, middle_of(a) * FC_TILE_ROWS);
		if (status == FC_OK)
			status = build(w, left_of(a));
		if (status == FC_OK)
			status = build(w, right_of(a));
		if (status == FC_OK)
			join_boxes(w->tree.box + number_of(left_of(a)) * width, w->tree.box + number_of(right_of(a)) * width, w->d, box);
	}
	return status;
}

fc_status
fc_kmeans_tree_build(fc_kmeans_work *w)
{

	for (size_t i = 0; i < w->n; i++)
	{
		if (fc_paced(w->tick, &w->done, 1))
			return FC_INTERRUPTED;
		w->order[i] = (uint32_t) i;
	}
	return build(w, root_of(w));
}

/* ---- the nearest of many ---- */

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
filter(const fc_kmeans_work *w, node a, candidates c, levels *seen)
{
	const float *box = w->tree.box + number_of(a) * 2 * w->d;
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

static fc_status
assign(fc_kmeans_work *w, node a, candidates c, levels *seen)
{
	candidates	left = filter(w, a, c, seen);
	fc_status	status;

	if (fc_paced(w->tick, &w->done, 4 * c.count * w->d + (is_leaf(a) ? left.count * w->d * FC_TILE_ROWS / 8 : 0)))
		return FC_INTERRUPTED;
	if (is_leaf(a))
	{
		assign_leaf(w, a.first, &left);
		return FC_OK;
	}
	status = assign(w, left_of(a), left, seen);
	return status == FC_OK ? assign(w, right_of(a), left, seen) : status;
}

fc_status
fc_kmeans_tree_assign(fc_kmeans_work *w)
{
	levels		seen = {{0}, {0}};
	candidates	all = {w->tree.list, w->k, w->tree.list + w->k};

	for (size_t j = 0; j < w->k; j++)
		w->tree.list[j] = (uint32_t) j;
	return assign(w, root_of(w), all, &seen);
}

/* ---- seeding ---- */

static inline const double *
block_weights(const fc_kmeans_work *w, size_t first)
{
	return w->weight_in_order == NULL ? NULL : w->weight_in_order + first;
}

static float
greatest(const float *x, size_t n)
{
	float		most = 0.0f;

	for (size_t i = 0; i < n; i++)
		most = x[i] > most ? x[i] : most;
	return most;
}

static fc_status
level(fc_kmeans_work *w, node a, float value)
{
	size_t		number = number_of(a);
	fc_status	status;

	w->tree.farthest[number] = value;
	if (is_leaf(a))
	{
		size_t		first = a.first * FC_TILE_ROWS;
		double		sum = 0.0;

		if (fc_paced(w->tick, &w->done, FC_TILE_ROWS))
			return FC_INTERRUPTED;
		for (size_t i = first; i < first + fc_kmeans_block(w, first); i++)
		{
			w->near[i] = value;
			sum += fc_kmeans_weight(w, i);
		}
		w->tree.mass[number] = sum;
		return FC_OK;
	}
	status = level(w, left_of(a), value);
	if (status == FC_OK)
		status = level(w, right_of(a), value);
	w->tree.mass[number] = w->tree.mass[number_of(left_of(a))] + w->tree.mass[number_of(right_of(a))];
	return status;
}

fc_status
fc_kmeans_tree_level(fc_kmeans_work *w, float value, double *total)
{
	fc_status	status = level(w, root_of(w), value);

	*total = w->tree.mass[number_of(root_of(w))];
	return status;
}

/* Squared distance of a point to a box; 0 inside. */
static float
distance_to_box(const float *x, const float *box, size_t d)
{
	float		sum = 0.0f;

	for (size_t i = 0; i < d; i++)
	{
		float		below = box[i] - x[i];
		float		above = x[i] - box[d + i];
		float		outside = below > above ? below : above;

		sum += outside > 0.0f ? outside * outside : 0.0f;
	}
	return sum;
}

/* Squared distances of a leaf's rows to a candidate, in w->tile. */
static void
measure_leaf(fc_kmeans_work *w, size_t first, size_t rows, const float *candidate)
{
	w->compared += rows;
	for (size_t i = 0; i < rows; i += FC_PACK)
		fc_kmeans_pack_distance(w->packs + (first + i) * w->d, w->d, candidate, w->tile + i);
}

/* Can a row of the node come nearer? */
static inline bool
may_come_nearer(const fc_kmeans_work *w, size_t number, const float *candidate)
{
	return distance_to_box(candidate, w->tree.box + number * 2 * w->d, w->d) < w->tree.farthest[number] * SLACK;
}

/* Candidates under trial: numbers of those that may still lower something below a node. */
typedef struct trial
{
	size_t		count;
	uint8_t		number[MAX_DRAWS];
} trial;

static void
try_leaf(fc_kmeans_work *w, size_t block, const trial *active, double *total)
{
	size_t		first = block * FC_TILE_ROWS;
	size_t		rows = fc_kmeans_block(w, first);

	for (size_t q = 0; q < active->count; q++)
	{
		measure_leaf(w, first, rows, w->candidate + active->number[q] * w->d);
		total[active->number[q]] += fc_kmeans_potential(w->tile, w->near + first, block_weights(w, first), rows, false);
	}
}

/* Those of the trial that may lower something in a node; the others leave it as it is. */
static trial
still_active(const fc_kmeans_work *w, node a, const trial *above, levels *seen, double *total)
{
	size_t		number = number_of(a);
	trial		active = {.count = 0};

	if (!is_useful(seen, a.depth))
		return *above;
	for (size_t q = 0; q < above->count; q++)
		if (may_come_nearer(w, number, w->candidate + above->number[q] * w->d))
			active.number[active.count++] = above->number[q];
		else
			total[above->number[q]] += w->tree.mass[number];
	seen->asked[a.depth]++;
	seen->told[a.depth] += active.count < above->count;
	return active;
}

static fc_status
try_below(fc_kmeans_work *w, node a, const trial *above, levels *seen, double *total)
{
	trial		active = still_active(w, a, above, seen, total);
	fc_status	status;

	if (fc_paced(w->tick, &w->done, (above->count + (is_leaf(a) ? active.count * FC_TILE_ROWS / 8 : 0)) * w->d))
		return FC_INTERRUPTED;
	if (active.count == 0)
		return FC_OK;
	if (is_leaf(a))
	{
		try_leaf(w, a.first, &active, total);
		return FC_OK;
	}
	status = try_below(w, left_of(a), &active, seen, total);
	return status == FC_OK ? try_below(w, right_of(a), &active, seen, total) : status;
}

fc_status
fc_kmeans_tree_try(fc_kmeans_work *w, size_t count, double *total)
{
	trial		all = {.count = count};
	levels		seen = {{0}, {0}};

	for (size_t q = 0; q < count; q++)
	{
		all.number[q] = (uint8_t) q;
		total[q] = 0.0;
	}
	return try_below(w, root_of(w), &all, &seen, total);
}

static fc_status
keep_below(fc_kmeans_work *w, node a, const float *candidate)
{
	size_t		number = number_of(a);
	size_t		first = a.first * FC_TILE_ROWS;
	fc_status	status;

	if (fc_paced(w->tick, &w->done, (is_leaf(a) ? FC_TILE_ROWS / 8 : 1) * w->d))
		return FC_INTERRUPTED;
	if (!may_come_nearer(w, number, candidate))
		return FC_OK;
	if (is_leaf(a))
	{
		size_t		rows = fc_kmeans_block(w, first);

		measure_leaf(w, first, rows, candidate);
		w->tree.mass[number] = fc_kmeans_potential(w->tile, w->near + first, block_weights(w, first), rows, true);
		w->tree.farthest[number] = greatest(w->near + first, rows);
		return FC_OK;
	}
	status = keep_below(w, left_of(a), candidate);
	if (status == FC_OK)
		status = keep_below(w, right_of(a), candidate);
	w->tree.mass[number] = w->tree.mass[number_of(left_of(a))] + w->tree.mass[number_of(right_of(a))];
	w->tree.farthest[number] = fmaxf(w->tree.farthest[number_of(left_of(a))], w->tree.farthest[number_of(right_of(a))]);
	return status;
}

fc_status
fc_kmeans_tree_keep(fc_kmeans_work *w, const float *candidate, double *total)
{
	fc_status	status = keep_below(w, root_of(w), candidate);

	*total = w->tree.mass[number_of(root_of(w))];
	return status;
}

size_t
fc_kmeans_tree_draw(const fc_kmeans_work *w, double rest)
{
	node		a = root_of(w);
	size_t		first;
	size_t		chosen;

	while (!is_leaf(a))
	{
		double		left = w->tree.mass[number_of(left_of(a))];

		/* the last part with mass, if rounding overshoots */
		if (left > 0.0 && (rest < left || !(w->tree.mass[number_of(right_of(a))] > 0.0)))
			a = left_of(a);
		else
		{
			rest -= left;
			a = right_of(a);
		}
	}
	first = a.first * FC_TILE_ROWS;
	chosen = first;
	for (size_t i = first; i < first + fc_kmeans_block(w, first); i++)
	{
		double		mass = fc_kmeans_weight(w, i) * (double) w->near[i];

		if (mass <= 0.0)
			continue;
		chosen = i;
		if (rest < mass)
			break;
		rest -= mass;
	}
	return chosen;
}

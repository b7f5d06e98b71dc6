/*
 * tree_seed.c - seeds of k-means by way of boxes: few rows come nearer to a new seed; see tree.h
 */
#include "kmeans/tree.h"

#include <math.h>

#include "kmeans/nodes.h"

#define SLACK			(1.0f + 0x1p-16f)	/* beyond the rounding of a distance in float */

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
level(fc_kmeans_work *w, fc_node a, float value)
{
	size_t		number = fc_node_number(a);
	fc_status	status;

	w->tree.farthest[number] = value;
	if (fc_node_is_leaf(a))
	{
		size_t		first = a.first * FC_TILE_ROWS;
		double		sum = 0.0;

		fc_check_every(&w->done, FC_TILE_ROWS);
		for (size_t i = first; i < first + fc_kmeans_block(w, first); i++)
		{
			w->near[i] = value;
			sum += fc_kmeans_weight(w, i);
		}
		w->tree.mass[number] = sum;
		return FC_OK;
	}
	status = level(w, fc_node_left(a), value);
	if (status == FC_OK)
		status = level(w, fc_node_right(a), value);
	w->tree.mass[number] = w->tree.mass[fc_node_number(fc_node_left(a))] + w->tree.mass[fc_node_number(fc_node_right(a))];
	return status;
}

fc_status
fc_kmeans_tree_level(fc_kmeans_work *w, float value, double *total)
{
	fc_status	status = level(w, fc_node_root(w), value);

	*total = w->tree.mass[fc_node_number(fc_node_root(w))];
	return status;
}

/* mass and farthest of a node from its two children. */
static void
join_children(fc_kmeans_work *w, fc_node a)
{
	size_t		number = fc_node_number(a);
	size_t		left = fc_node_number(fc_node_left(a));
	size_t		right = fc_node_number(fc_node_right(a));

	w->tree.mass[number] = w->tree.mass[left] + w->tree.mass[right];
	w->tree.farthest[number] = fmaxf(w->tree.farthest[left], w->tree.farthest[right]);
}

static void
sum_below(fc_kmeans_work *w, fc_node a)
{
	size_t		first = a.first * FC_TILE_ROWS;
	size_t		rows = fc_kmeans_block(w, first);

	if (!fc_node_is_leaf(a))
	{
		sum_below(w, fc_node_left(a));
		sum_below(w, fc_node_right(a));
		join_children(w, a);
		return;
	}
	fc_check_every(&w->done, FC_TILE_ROWS);
	w->tree.mass[fc_node_number(a)] = fc_kmeans_potential(w->near + first, w->near + first, block_weights(w, first), rows, false);
	w->tree.farthest[fc_node_number(a)] = greatest(w->near + first, rows);
}

void
fc_kmeans_tree_sum(fc_kmeans_work *w, double *total)
{
	sum_below(w, fc_node_root(w));
	*total = w->tree.mass[fc_node_number(fc_node_root(w))];
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
still_active(const fc_kmeans_work *w, fc_node a, const trial *above, fc_levels *seen, double *total)
{
	size_t		number = fc_node_number(a);
	trial		active = {.count = 0};

	if (!fc_levels_useful(seen, a.depth))
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

static void
try_below(fc_kmeans_work *w, fc_node a, const trial *above, fc_levels *seen, double *total)
{
	trial		active = still_active(w, a, above, seen, total);

	fc_check_every(&w->done, (above->count + (fc_node_is_leaf(a) ? active.count * FC_TILE_ROWS / 8 : 0)) * w->d);
	if (active.count == 0)
		return;
	if (fc_node_is_leaf(a))
	{
		try_leaf(w, a.first, &active, total);
		return;
	}
	try_below(w, fc_node_left(a), &active, seen, total);
	try_below(w, fc_node_right(a), &active, seen, total);
}

void
fc_kmeans_tree_try(fc_kmeans_work *w, size_t count, double *total)
{
	trial		all = {.count = count};
	fc_levels	seen = {{0}, {0}};

	for (size_t q = 0; q < count; q++)
	{
		all.number[q] = (uint8_t) q;
		total[q] = 0.0;
	}
	try_below(w, fc_node_root(w), &all, &seen, total);
}

static void
keep_below(fc_kmeans_work *w, fc_node a, const float *candidate)
{
	size_t		number = fc_node_number(a);
	size_t		first = a.first * FC_TILE_ROWS;

	fc_check_every(&w->done, (fc_node_is_leaf(a) ? FC_TILE_ROWS / 8 : 1) * w->d);
	if (!may_come_nearer(w, number, candidate))
		return;
	if (fc_node_is_leaf(a))
	{
		size_t		rows = fc_kmeans_block(w, first);

		measure_leaf(w, first, rows, candidate);
		w->tree.mass[number] = fc_kmeans_potential(w->tile, w->near + first, block_weights(w, first), rows, true);
		w->tree.farthest[number] = greatest(w->near + first, rows);
		return;
	}
	keep_below(w, fc_node_left(a), candidate);
	keep_below(w, fc_node_right(a), candidate);
	join_children(w, a);
}

void
fc_kmeans_tree_keep(fc_kmeans_work *w, const float *candidate, double *total)
{
	keep_below(w, fc_node_root(w), candidate);
	*total = w->tree.mass[fc_node_number(fc_node_root(w))];
}

size_t
fc_kmeans_tree_draw(const fc_kmeans_work *w, double rest)
{
	fc_node		a = fc_node_root(w);

	while (!fc_node_is_leaf(a))
	{
		double		left = w->tree.mass[fc_node_number(fc_node_left(a))];

		/* the last part with mass, if rounding overshoots */
		if (left > 0.0 && (rest < left || !(w->tree.mass[fc_node_number(fc_node_right(a))] > 0.0)))
			a = fc_node_left(a);
		else
		{
			rest -= left;
			a = fc_node_right(a);
		}
	}
	return fc_kmeans_draw_in_block(w, a.first * FC_TILE_ROWS, rest);
}

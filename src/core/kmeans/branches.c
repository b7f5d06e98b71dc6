/*
 * branches.c - a start for many clusters: a tree of k-means.
 *
 * A node's rows are clustered into some branches, and each branch gets a number of leaves in proportion to its SSE, a cluster
 * a leaf.  With b branches a node costs n d b multiply-adds a step, a level n d b, where all k at once cost n d k.
 */
#include "kmeans/internal.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"

#define STEPS			8			/* Lloyd steps of a node, */
#define TOLERANCE		3e-3		/* fewer when they gain less; */
#define FEW_STEPS		2			/* and so many with all its rows, after those with some: */
#define FEW_ROWS		((size_t) 100)	/* a branch */

/* Rows first .. first + n become k clusters, from centroid number `out` on. */
typedef struct branch
{
	size_t		first;
	size_t		n;
	size_t		k;
	size_t		out;
} branch;

typedef struct branch_work
{
	size_t		d;
	uint64_t	seed;
	fc_kmeans_method *cluster;
	size_t		done;
	float	   *x;				/* n x d, in the order of the tree */
	double	   *weight;			/* n */
	int32_t    *label;			/* n */
	float	   *swapped;		/* d */
	branch	   *waiting;		/* nodes that are still to be split: depth x FC_BRANCHES_MOST */
	size_t		waits;
	double	   *centroid;		/* FC_BRANCHES_MOST x d */
	double	   *begun;			/* FC_BRANCHES_MOST x d */
	double	   *weights;		/* FC_BRANCHES_MOST: of branches */
	size_t		count[FC_BRANCHES_MOST];
	double		sse[FC_BRANCHES_MOST];
	size_t		quota[FC_BRANCHES_MOST];
	fc_arena   *arena;			/* of the nodes' k-means */
} branch_work;

static size_t
levels_of(size_t k)
{
	size_t		levels = 1;

	for (size_t most = FC_BRANCHES_MOST; most < k; most *= FC_BRANCHES_MOST)
		levels++;
	return levels;
}

/* Branches of a node: all its clusters, or as many at each of its levels. */
static size_t
branches_of(size_t k)
{
	return k <= FC_BRANCHES_MOST ? k : smaller(FC_BRANCHES_MOST, (size_t) ceil(pow((double) k, 1.0 / (double) levels_of(k))));
}

static void
take_work(fc_arena *arena, size_t n, size_t d, size_t k, branch_work *w)
{
	w->x = FC_TAKE(arena, n * d, float);
	w->weight = FC_TAKE(arena, n, double);
	w->label = FC_TAKE(arena, n, int32_t);
	w->swapped = FC_TAKE(arena, d, float);
	w->waiting = FC_TAKE(arena, (levels_of(k) + 64) * FC_BRANCHES_MOST, branch);
	w->centroid = FC_TAKE(arena, FC_BRANCHES_MOST * d, double);
	w->begun = FC_TAKE(arena, FC_BRANCHES_MOST * d, double);
	w->weights = FC_TAKE(arena, FC_BRANCHES_MOST, double);
}

size_t
fc_kmeans_branch_worksize(size_t n, size_t d, size_t k, size_t method_worksize)
{
	fc_arena	measure = fc_arena_measure();
	branch_work w;

	take_work(&measure, n, d, k, &w);
	fc_arena_reserve(&measure, method_worksize);
	return fc_arena_measured(&measure);
}

/* Each of few rows is a cluster; the others are copies. */
static void
place_rows(const branch_work *w, const branch *node, double *centroids)
{
	for (size_t j = 0; j < node->k; j++)
		for (size_t i = 0; i < w->d; i++)
			centroids[(node->out + j) * w->d + i] = (double) w->x[(node->first + j % node->n) * w->d + i];
}

/* Rows and SSE of each branch. */
static void
measure_branches(branch_work *w, const branch *node, size_t branches)
{
	memset(w->count, 0, sizeof(w->count));
	memset(w->sse, 0, sizeof(w->sse));
	for (size_t r = node->first; r < node->first + node->n; r++)
	{
		size_t		j = (size_t) w->label[r];

		FC_ASSERT(j < branches);
		fc_check_every(&w->done, w->d);
		w->count[j]++;
		w->sse[j] += w->weight[r] * fc_kmeans_distance(w->x + r * w->d, w->centroid + j * w->d, w->d);
	}
}

/* Leaves for each branch, by its share of the SSE: one at least where it has rows, no more than it has rows. */
static void
share_leaves(branch_work *w, size_t branches, size_t k)
{
	double		total = 0.0;
	size_t		given = 0;

	for (size_t j = 0; j < branches; j++)
		total += w->sse[j];
	for (size_t j = 0; j < branches; j++)
	{
		double		share = total > 0.0 ? w->sse[j] / total : 1.0 / (double) branches;

		w->quota[j] = w->count[j] == 0 ? 0 : larger(1, smaller(w->count[j], (size_t) (share * (double) k)));
		given += w->quota[j];
	}
	while (given != k)			/* the branch whose leaves have the most SSE gets one, that where they have the least gives one */
	{
		size_t		best = branches;
		double		best_gain = 0.0;

		for (size_t j = 0; j < branches; j++)
		{
			double		gain = given < k ? w->sse[j] / (double) (w->quota[j] + 1) : -w->sse[j] / (double) w->quota[j];

			if (w->count[j] == 0 || (given < k ? w->quota[j] >= w->count[j] : w->quota[j] <= 1))
				continue;
			if (best == branches || gain > best_gain)
			{
				best = j;
				best_gain = gain;
			}
		}
		FC_ASSERT(best < branches);
		w->quota[best] = given < k ? w->quota[best] + 1 : w->quota[best] - 1;
		given = given < k ? given + 1 : given - 1;
	}
}

static void
swap_rows(const branch_work *w, size_t a, size_t b)
{
	size_t		bytes = w->d * sizeof(float);
	double		weight = w->weight[a];
	int32_t		label = w->label[a];

	memcpy(w->swapped, w->x + a * w->d, bytes);
	memcpy(w->x + a * w->d, w->x + b * w->d, bytes);
	memcpy(w->x + b * w->d, w->swapped, bytes);
	w->weight[a] = w->weight[b];
	w->weight[b] = weight;
	w->label[a] = w->label[b];
	w->label[b] = label;
}

/* Rows of a node by their labels. */
static void
gather_branches(branch_work *w, const branch *node, size_t branches)
{
	size_t		next[FC_BRANCHES_MOST];
	size_t		end[FC_BRANCHES_MOST];
	size_t		place = node->first;

	for (size_t j = 0; j < branches; j++)
	{
		next[j] = place;
		end[j] = place += w->count[j];
	}
	for (size_t j = 0; j < branches; j++)
		while (next[j] < end[j])
		{
			size_t		label = (size_t) w->label[next[j]];

			fc_check_every(&w->done, w->d);
			if (label != j)
				swap_rows(w, next[j], next[label]);
			next[label]++;
		}
}

/* The node's branches wait, the last one to be split next. */
static void
push_branches(branch_work *w, const branch *node, size_t branches)
{
	size_t		first = node->first;
	size_t		out = node->out;

	for (size_t j = 0; j < branches; j++)
	{
		if (w->quota[j] > 0)
			w->waiting[w->waits++] = (branch) {first, w->count[j], w->quota[j], out};
		first += w->count[j];
		out += w->quota[j];
	}
}

/* Branches of a node's first rows, which are any, go on with all of them: a seed looks at every row. */
static void
cluster_node(branch_work *w, const branch *node, size_t branches)
{
	fc_rows		rows = {.x = w->x + node->first * w->d,.weight = w->weight + node->first,.n = smaller(node->n, FEW_ROWS * branches),.d = w->d};
	fc_kmeans_options options = {.n_init = 1,.iterations = STEPS,.tolerance = TOLERANCE,.seed = w->seed + node->out};
	fc_kmeans_result result = {.centroids = w->centroid,.weights = w->weights,.labels = w->label + node->first};

	(void) w->cluster(&rows, branches, NULL, &options, w->arena, &result);
	if (rows.n == node->n)
		return;
	memcpy(w->begun, w->centroid, branches * w->d * sizeof(double));
	rows.n = node->n;
	options.n_init = 0;
	options.iterations = FEW_STEPS;
	(void) w->cluster(&rows, branches, w->begun, &options, w->arena, &result);
}

/* A node's clusters, or its branches. */
static void
split(branch_work *w, const branch *node, double *centroids)
{
	size_t		branches = branches_of(node->k);

	if (node->n <= node->k)
	{
		place_rows(w, node, centroids);
		return;
	}
	cluster_node(w, node, branches);
	if (branches == node->k)
	{
		memcpy(centroids + node->out * w->d, w->centroid, branches * w->d * sizeof(double));
		return;
	}
	measure_branches(w, node, branches);
	share_leaves(w, branches, node->k);
	gather_branches(w, node, branches);
	push_branches(w, node, branches);
}

/* Rows of positive weight, for k-means asks for some in each node; how many. */
static size_t
copy_rows(const fc_rows *rows, branch_work *w)
{
	size_t		n = 0;

	for (size_t r = 0; r < rows->n; r++)
	{
		double		weight = rows->weight == NULL ? 1.0 : rows->weight[r];

		fc_check_every(&w->done, w->d);
		if (!(weight > 0.0))
			continue;
		memcpy(w->x + n * w->d, rows->x + r * w->d, w->d * sizeof(float));
		w->weight[n++] = weight;
	}
	return n;
}

void
fc_kmeans_branch(const fc_rows *rows, size_t k, uint64_t seed, fc_kmeans_method *cluster, fc_arena *arena, double *centroids)
{
	branch_work w = {.arena = arena,.d = rows->d,.seed = seed,.cluster = cluster};
	fc_mark		used = fc_arena_mark(arena);

	take_work(arena, rows->n, rows->d, k, &w);
	w.waiting[w.waits++] = (branch) {0, copy_rows(rows, &w), k, 0};
	while (w.waits > 0)
	{
		branch		node = w.waiting[--w.waits];

		split(&w, &node, centroids);
	}
	fc_arena_release(arena, used);
}

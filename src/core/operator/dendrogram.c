/*
 * dendrogram.c - Ward's tree of the clusters, by chains of nearest neighbours;
 * see codebook.h
 */
#include "operator/codebook.h"

#include "base/sort.h"

typedef struct tree_work
{
	size_t		k;
	double	   *row;			/* k x d: centroids */
	double	   *weight;			/* k: weight of each node */
	double	   *distance;		/* k (k - 1) / 2: D (codebook.h) of nodes a
								 * and b, at pair(a, b) */
	bool	   *joined;			/* k: true if the node was merged into another */
	size_t	   *chain;			/* k: nodes of the current chain */

	/* k - 1 joins in the order found; a node is named by its lowest cluster */
	fc_join    *found;
	int32_t    *parent;			/* 2 k - 1: node into which each node was
								 * merged; -1 if not yet merged */
	fc_keyed   *order;			/* 2 k: scratch space to sort the joins */
	fc_scratch	scratch;
} tree_work;

/* ---- distances ---- */

static double *
pair(const tree_work *w, size_t a, size_t b)
{
	size_t		high = a > b ? a : b;
	size_t		low = a > b ? b : a;

	return w->distance + high * (high - 1) / 2 + low;
}

static void
measure_pairs(size_t d, tree_work *w)
{
	for (size_t a = 1; a < w->k; a++)
		for (size_t b = 0; b < a; b++)
		{
			double		both = w->weight[a] + w->weight[b];

			fc_check();
			*pair(w, a, b) = both > 0 ? w->weight[a] / both * w->weight[b] *
				fc_square_between(w->row + a * d,
								  w->row + b * d, d)
				: 0.0;
		}
}

/* ---- chains ---- */

/*
 * Returns the remaining node nearest to a; ties go to `before`, then to the
 * lowest number.
 */
static size_t
nearest_node(const tree_work *w, size_t a, size_t before)
{
	size_t		nearest = before;
	double		min = before < w->k ? *pair(w, a, before) : INFINITY;

	for (size_t b = 0; b < w->k; b++)
		if (b != a && !w->joined[b] &&
			(nearest == w->k || *pair(w, a, b) < min))
		{
			min = *pair(w, a, b);
			nearest = b;
		}
	return nearest;
}

/*
 * Merges b into a and updates the distances by the formula of G. Lance and W.
 * Williams 1967.
 */
static void
join_nodes(tree_work *w, size_t a, size_t b)
{
	double		between = *pair(w, a, b);

	for (size_t c = 0; c < w->k; c++)
	{
		double	   *kept = pair(w, a, c == a ? b : c);
		double		all = w->weight[a] + w->weight[b] + w->weight[c];

		if (c == a || c == b || w->joined[c])
			continue;
		*kept = all > 0
			? fmax(0, ((w->weight[a] + w->weight[c]) * *kept +
					   (w->weight[b] + w->weight[c]) * *pair(w, b, c) -
					   w->weight[c] * between) /
				   all)
			: 0.0;
	}
	w->weight[a] += w->weight[b];
	w->joined[b] = true;
}

static void
find_joins(tree_work *w)
{
	size_t		length = 0;
	size_t		first = 0;

	for (size_t found = 0; found + 1 < w->k;)
	{
		size_t		last;
		size_t		next;

		fc_check();
		while (length == 0 && w->joined[first])
			first++;
		if (length == 0)
			w->chain[length++] = first;
		last = w->chain[length - 1];
		next = nearest_node(w, last, length > 1 ? w->chain[length - 2] : w->k);
		if (length < 2 || next != w->chain[length - 2])
		{
			w->chain[length++] = next;
			continue;
		}
		w->found[found++] = (fc_join)
		{
			(int32_t) (last < next ? last : next),
				(int32_t) (last < next ? next : last),
				sqrt(2.0 * *pair(w, last, next)),
				w->weight[last] + w->weight[next]
		};
		join_nodes(w, last < next ? last : next, last < next ? next : last);
		length -= 2;
	}
}

/* ---- the tree ---- */

static int32_t
top_of(int32_t *parent, int32_t node)
{
	while (parent[node] >= 0)
	{
		if (parent[parent[node]] >= 0)
			parent[node] = parent[parent[node]];
		node = parent[node];
	}
	return node;
}

/*
 * Sorts the joins by height, and renumbers their nodes: the node made by join
 * i gets number k + i.
 */
static void
order_joins(tree_work *w, fc_join *joins)
{
	size_t		count = w->k - 1;

	for (size_t i = 0; i < count; i++)
		w->order[i] = (fc_keyed)
	{
		fc_number_key(w->found[i].height), i
	};
	fc_sort(w->order, count, w->order + w->k);
	for (size_t i = 0; i < 2 * w->k; i++)
		w->parent[i] = -1;
	for (size_t i = 0; i < count; i++)
	{
		fc_join		join = w->found[w->order[i].value];
		int32_t		a = top_of(w->parent, join.left);
		int32_t		b = top_of(w->parent, join.right);

		join.left = a < b ? a : b;
		join.right = a < b ? b : a;
		w->parent[a] = w->parent[b] = (int32_t) (w->k + i);
		joins[i] = join;
	}
}

void
fc_cluster_tree(const fc_operator *op, fc_arena *arena, fc_join *joins)
{
	fc_mark		used = fc_arena_mark(arena);
	tree_work	w;
	double		total;

	w.k = op->k;
	w.row = FC_TAKE(arena, op->k * op->d, double);
	w.weight = FC_TAKE(arena, op->k, double);
	w.distance = FC_TAKE(arena, op->k * (op->k - 1) / 2, double);
	w.joined = FC_TAKE(arena, op->k, bool);
	w.chain = FC_TAKE(arena, op->k, size_t);
	w.found = FC_TAKE(arena, op->k, fc_join);
	w.parent = FC_TAKE(arena, 2 * op->k, int32_t);
	w.order = FC_TAKE(arena, 2 * op->k, fc_keyed);
	w.scratch = fc_take_scratch(arena, fc_operator_scratch(op));
	total = 0;
	for (size_t j = 0; j < op->k; j++)
	{
		fc_check();
		fc_operator_row(op, j, w.scratch, w.row + j * op->d);
		total += op->weights[j];
		w.joined[j] = false;
	}
	for (size_t j = 0; j < op->k; j++)
		w.weight[j] = total > 0 && isfinite(total) ? op->weights[j] : 1.0;
	measure_pairs(op->d, &w);
	find_joins(&w);
	order_joins(&w, joins);
	fc_arena_release(arena, used);
}

/* ---- merging clusters by number ---- */

void
fc_join_clusters(const fc_operator *op, const int32_t *number, size_t count,
				 fc_scratch scratch, double *row, double *centroids,
				 double *weights)
{
	for (size_t i = 0; i < count; i++)
		weights[i] = 0;
	for (size_t i = 0; i < count * op->d; i++)
		centroids[i] = 0;
	for (size_t j = 0; j < op->k; j++)
		weights[number[j]] += op->weights[j];
	for (size_t j = 0; j < op->k; j++)
	{
		size_t		node = (size_t) number[j];
		double		members = 0;
		double		share;

		fc_check();
		for (size_t i = 0; i < op->k && !(weights[node] > 0); i++)
			members += number[i] == number[j];
		share = weights[node] > 0 ? op->weights[j] / weights[node]
			: 1.0 / members;
		fc_operator_row(op, j, scratch, row);
		for (size_t i = 0; i < op->d; i++)
			centroids[node * op->d + i] += share * row[i];
	}
}

/*
 * tree.c - the minimum spanning tree of micro-clusters, by Prim's algorithm
 * over all pairs, and disjoint sets to join along it
 */
#include "density/internal.h"

#include "base/sort.h"

/*
 * Micro-clusters outside the tree, stored without gaps.
 */
typedef struct outside_tree
{
	fc_point_tiles points;
	uint32_t   *micro_cluster;
	fc_edge    *edge;			/* shortest edge that joins each
								 * micro-cluster, the b of the edge, to the
								 * tree */
	double	   *squared;		/* squared distances to the micro-cluster that
								 * joined the tree last */
} outside_tree;

static inline bool
is_shorter(const fc_edge *a, const fc_edge *b)
{
	return a->reach < b->reach ||
		(a->reach == b->reach &&
		 (a->length < b->length || (a->length == b->length && a->b < b->b)));
}

/* Removes entry i; the last entry takes its place. */
static void
remove_micro_cluster(outside_tree *o, size_t i)
{
	size_t		last = --o->points.n;

	for (size_t c = 0; c < o->points.d; c++)
		*fc_point_coordinate(&o->points, i, c) =
			*fc_point_coordinate(&o->points, last, c);
	o->micro_cluster[i] = o->micro_cluster[last];
	o->edge[i] = o->edge[last];
}

/*
 * Updates the shortest edges after v has joined the tree. Returns the entry
 * with the shortest edge of all.
 */
static size_t
offer_edges(outside_tree *o, const double *core, uint32_t v)
{
	size_t		best = 0;

	for (size_t i = 0; i < o->points.n; i++)
	{
		uint32_t	b = o->micro_cluster[i];
		fc_edge		edge = {
			fmax(fmax(core[v], core[b]), o->squared[i]),
			o->squared[i],
			v,
			b
		};

		if (is_shorter(&edge, &o->edge[i]))
			o->edge[i] = edge;
		if (is_shorter(&o->edge[i], &o->edge[best]))
			best = i;
	}
	return best;
}

/*
 * Sorts edges by reach, ties by length. Edges that are equal in both keep
 * their order.
 */
static void
sort_edges(fc_edge *edges, size_t n, fc_arena *arena)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_keyed   *items = FC_TAKE(arena, 2 * n, fc_keyed);
	fc_edge    *sorted = FC_TAKE(arena, n, fc_edge);

	for (size_t i = 0; i < n; i++)
	{
		items[i].value = i;
		memcpy(&items[i].key, &edges[i].length, sizeof(double));
	}
	fc_sort(items, n, items + n);
	for (size_t i = 0; i < n; i++)
		memcpy(&items[i].key, &edges[items[i].value].reach, sizeof(double));
	fc_sort(items, n, items + n);
	for (size_t i = 0; i < n; i++)
		sorted[i] = edges[items[i].value];
	memcpy(edges, sorted, n * sizeof(fc_edge));
	fc_arena_release(arena, mark);
}

void
fc_spanning_tree(const fc_micro_clusters *micro_clusters, const double *core, fc_arena *arena,
				 fc_edge *edges)
{
	fc_mark		mark = fc_arena_mark(arena);
	size_t		m = micro_clusters->m;
	outside_tree o = {
		fc_point_tiles_of(micro_clusters, arena),
		FC_TAKE(arena, m, uint32_t),
		FC_TAKE(arena, m, fc_edge),
		FC_TAKE(arena, fc_point_lanes(m), double)
	};
	uint32_t	v = 0;

	for (size_t i = 0; i < m; i++)
	{
		o.micro_cluster[i] = (uint32_t) i;
		o.edge[i] = (fc_edge)
		{
			INFINITY, INFINITY, 0, (uint32_t) i
		};
	}
	remove_micro_cluster(&o, 0);
	for (size_t i = 0; i + 1 < m; i++)
	{
		size_t		best;

		fc_check();
		fc_point_distances(&o.points, micro_clusters->mean + v * micro_clusters->d, 1,
						   o.squared);
		best = offer_edges(&o, core, v);
		edges[i] = o.edge[best];
		v = edges[i].b;
		remove_micro_cluster(&o, best);
	}
	sort_edges(edges, m - 1, arena);
	fc_arena_release(arena, mark);
}

/* ---- disjoint sets ---- */

fc_disjoint_sets
fc_new_sets(size_t n, fc_arena *arena)
{
	fc_disjoint_sets sets = {
		FC_TAKE(arena, n, uint32_t),
		FC_TAKE(arena, n, uint32_t),
		FC_TAKE(arena, n, uint32_t),
		FC_TAKE(arena, n, uint32_t)
	};

	for (size_t v = 0; v < n; v++)
	{
		sets.up[v] = sets.first[v] = sets.last[v] = (uint32_t) v;
		sets.next[v] = FC_NONE;
	}
	return sets;
}

uint32_t
fc_set_of(fc_disjoint_sets *sets, uint32_t v)
{
	while (sets->up[v] != v)
		v = sets->up[v] = sets->up[sets->up[v]];
	return v;
}

void
fc_join_sets(fc_disjoint_sets *sets, uint32_t x, uint32_t y)
{
	sets->up[y] = x;
	if (sets->first[y] == FC_NONE)
		return;
	if (sets->first[x] == FC_NONE)
		sets->first[x] = sets->first[y];
	else
		sets->next[sets->last[x]] = sets->first[y];
	sets->last[x] = sets->last[y];
}

void
fc_label_set(fc_disjoint_sets *sets, uint32_t set, int32_t c, int32_t *label)
{
	for (uint32_t v = sets->first[set]; v != FC_NONE; v = sets->next[v])
		label[v] = c;
	sets->first[set] = FC_NONE;
}

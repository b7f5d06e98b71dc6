/*
 * assignment.c - the assignment problem by shortest augmenting paths.
 *
 * Rows are added one by one. Potentials u and v keep cost - u - v >= 0, with
 * equality for pairs of the assignment so far. A Dijkstra search from the new
 * row finds the cheapest path to a free column; pairs along the path are
 * swapped. The potentials are then updated, so that they stay feasible.
 */
#include "numerics/assignment.h"

#include "numerics/rows.h"

#define NONE SIZE_MAX

/*
 * Maximum number of rounds of pairing mutual nearest neighbours; clusters
 * without a pair after them count as new. With more rounds, more clusters keep
 * their numbers, in more time. A guess.
 */
#define MAX_ROUNDS	10

/* A view of the costs that always has rows <= columns. */
typedef struct cost_matrix
{
	const double *cost;
	size_t		rows;
	size_t		columns;
	size_t		row_stride;
	size_t		column_stride;
} cost_matrix;

typedef struct path_search
{
	double	   *u;				/* dual potential of each row */
	double	   *v;				/* dual potential of each column */
	double	   *shortest;		/* length of the shortest path so far to each
								 * column */
	size_t	   *from;			/* row before each column on its shortest path */
	size_t	   *row_of;			/* row paired with each column, or NONE */
	size_t	   *column_of;		/* column paired with each row, or NONE */
	unsigned char *done;		/* flag of each column: 1 once its shortest
								 * path is final */
	size_t	   *path_rows;		/* rows reached by the search, in order */
} path_search;

/*
 * Updates the shortest paths to all columns with paths through `row`, which is
 * at distance `length`. Returns the nearest column that is not done.
 */
static size_t
relax(const cost_matrix *m, path_search *s, size_t row, double length)
{
	size_t		best = NONE;
	const double *cost = m->cost + row * m->row_stride;

	for (size_t j = 0; j < m->columns; j++)
	{
		double		reach;

		if (s->done[j])
			continue;
		reach = length + cost[j * m->column_stride] - s->u[row] - s->v[j];
		if (reach < s->shortest[j])
		{
			s->shortest[j] = reach;
			s->from[j] = row;
		}
		if (best == NONE || s->shortest[j] < s->shortest[best] ||
			(s->shortest[j] == s->shortest[best] && s->row_of[j] == NONE &&
			 s->row_of[best] != NONE))
			best = j;
	}
	return best;
}

/* Pairs row `start` with a column, along a shortest augmenting path. */
static void
augment(const cost_matrix *m, path_search *s, size_t start)
{
	size_t		reached = 0;
	size_t		row = start;
	size_t		sink = NONE;
	double		length = 0;

	for (size_t j = 0; j < m->columns; j++)
	{
		s->shortest[j] = INFINITY;
		s->done[j] = 0;
	}
	while (sink == NONE)
	{
		size_t		j;

		fc_check();
		s->path_rows[reached++] = row;
		j = relax(m, s, row, length);
		length = s->shortest[j];
		s->done[j] = 1;
		if (s->row_of[j] == NONE)
			sink = j;
		else
			row = s->row_of[j];
	}
	s->u[start] += length;
	for (size_t p = 1; p < reached; p++)
		s->u[s->path_rows[p]] += length -
			s->shortest[s->column_of[s->path_rows[p]]];
	for (size_t j = 0; j < m->columns; j++)
		if (s->done[j])
			s->v[j] -= length - s->shortest[j];
	for (size_t j = sink;;)
	{
		size_t		i = s->from[j];
		size_t		next = s->column_of[i];

		s->row_of[j] = i;
		s->column_of[i] = j;
		if (i == start)
			break;
		j = next;
	}
}

void
fc_assignment(const double *cost, size_t rows, size_t columns, fc_arena *arena,
			  int32_t *column_of_row)
{
	bool		turned = rows > columns;
	cost_matrix m = {cost, rows, columns, columns, 1};
	fc_mark		used = fc_arena_mark(arena);
	path_search s;

	if (turned)
		m = (cost_matrix)
	{
		cost, columns, rows, 1, columns
	};
	s.u = FC_TAKE(arena, m.rows, double);
	s.v = FC_TAKE(arena, m.columns, double);
	s.shortest = FC_TAKE(arena, m.columns, double);
	s.from = FC_TAKE(arena, m.columns, size_t);
	s.row_of = FC_TAKE(arena, m.columns, size_t);
	s.column_of = FC_TAKE(arena, m.rows, size_t);
	s.done = FC_TAKE(arena, m.columns, unsigned char);
	s.path_rows = FC_TAKE(arena, m.rows, size_t);
	for (size_t i = 0; i < m.rows; i++)
	{
		s.u[i] = 0;
		s.column_of[i] = NONE;
	}
	for (size_t j = 0; j < m.columns; j++)
	{
		s.v[j] = 0;
		s.row_of[j] = NONE;
	}
	for (size_t i = 0; i < m.rows; i++)
		augment(&m, &s, i);
	for (size_t i = 0; i < rows; i++)
	{
		size_t		j = turned ? s.row_of[i] : s.column_of[i];

		column_of_row[i] = j == NONE ? -1 : (int32_t) j;
	}
	fc_arena_release(arena, used);
}

/* ---- clusters ---- */

static double
squared_distance(const double *a, const double *b, size_t d)
{
	double		length = fc_length_between(a, b, d);

	return length * length;
}

/*
 * Returns the squared distance from old cluster i to the nearest old cluster
 * at a different place, or 1 if all are at the same place.
 */
static double
squared_separation(const double *old, size_t k, size_t d, size_t i)
{
	double		nearest = INFINITY;

	for (size_t j = 0; j < k; j++)
	{
		double		distance = squared_distance(old + i * d, old + j * d, d);

		fc_check();
		if (distance > 0 && distance < nearest)
			nearest = distance;
	}
	return nearest < INFINITY ? nearest : 1.0;
}

void
fc_complete_numbers(int32_t *number, size_t k, fc_arena *arena)
{
	unsigned char *taken = FC_TAKE(arena, k, unsigned char);
	size_t		next = 0;

	for (size_t j = 0; j < k; j++)
		taken[j] = 0;
	for (size_t j = 0; j < k; j++)
	{
		if (number[j] >= (int32_t) k)
			number[j] = -1;
		if (number[j] >= 0)
			taken[number[j]] = 1;
	}
	for (size_t j = 0; j < k; j++)
	{
		if (number[j] >= 0)
			continue;
		while (taken[next])
			next++;
		taken[next] = 1;
		number[j] = (int32_t) next;
	}
}

static inline bool
are_many(size_t k_old, size_t k_new)
{
	return k_old > FC_MAX_EXACT_PAIRS && k_new > FC_MAX_EXACT_PAIRS;
}

size_t
fc_pair_clusters_worksize(size_t k_old, size_t k_new)
{
	size_t		lists = (k_old + k_new) * (8 * sizeof(double)) + 32 * 64;

	return lists +
		(are_many(k_old, k_new) ? 0 : k_old * k_new * sizeof(double));
}

/* Computes the matrix of costs (k_new x k_old) of all pairs of clusters. */
static void
cost_pairs(const double *old, size_t k_old, const double *new, size_t k_new,
		   size_t d, double *cost)
{
	for (size_t i = 0; i < k_old; i++)
	{
		double		separation = squared_separation(old, k_old, d, i);

		for (size_t j = 0; j < k_new; j++)
		{
			double		ratio = (4.0 * squared_distance(new + j * d, old + i * d, d) /
								 separation);

			fc_check();
			cost[j * k_old + i] = ratio < 1e12 ? ratio / (1.0 + ratio) : 1.0;
		}
	}
}

/*
 * Returns the index of the centroid (of k) nearest to x; ties go to the lowest
 * index.
 */
static size_t
nearest_centroid(const double *centroids, size_t k, size_t d, const double *x)
{
	size_t		nearest = 0;
	double		min = INFINITY;

	for (size_t i = 0; i < k; i++)
	{
		double		square = squared_distance(centroids + i * d, x, d);

		fc_check();
		if (square < min)
		{
			min = square;
			nearest = i;
		}
	}
	return nearest;
}

void
fc_part_far_pairs(const double *old, size_t k_old, const double *new, size_t k_new,
				  size_t d, int32_t *number)
{
	for (size_t j = 0; j < k_new; j++)
	{
		size_t		i = (size_t) number[j];

		if (number[j] >= 0 && nearest_centroid(old, k_old, d, new + j * d) != i &&
			nearest_centroid(new, k_new, d, old + i * d) != j)
			number[j] = -1;
	}
}

/*
 * ---- many clusters ----
 *
 * An old and a new cluster that are each other's nearest neighbours are
 * paired; the search is repeated among the remaining clusters.
 */

typedef struct unmatched
{
	int32_t    *number;			/* indices of the clusters without a partner */
	size_t		count;
	int32_t    *nearest;		/* index, in the other list, of the nearest
								 * cluster; ties go to the lowest index */
	double	   *min;			/* distance to the nearest cluster */
} unmatched;

static unmatched
take_left(size_t k, fc_arena *arena)
{
	unmatched	all = {
		FC_TAKE(arena, k, int32_t),
		k,
		FC_TAKE(arena, k, int32_t),
		FC_TAKE(arena, k, double)
	};

	for (size_t j = 0; j < k; j++)
		all.number[j] = (int32_t) j;
	return all;
}

static void
find_nearest(const unmatched *a, const double *of_a, const unmatched *b,
			 const double *of_b, size_t d)
{
	for (size_t i = 0; i < a->count; i++)
		a->min[i] = INFINITY;
	for (size_t j = 0; j < b->count; j++)
	{
		b->min[j] = INFINITY;
		for (size_t i = 0; i < a->count; i++)
		{
			double		length = fc_length_between(of_a + (size_t) a->number[i] * d,
												   of_b + (size_t) b->number[j] * d,
												   d);

			fc_check();
			if (length < b->min[j])
			{
				b->min[j] = length;
				b->nearest[j] = (int32_t) i;
			}
			if (length < a->min[i])
			{
				a->min[i] = length;
				a->nearest[i] = (int32_t) j;
			}
		}
	}
}

/*
 * Writes to `kept` the numbers of the clusters of a that have no mutual
 * nearest neighbour in b, and returns their count. Unless `number` is NULL,
 * sets number[i] for each other cluster i of a to the number of its neighbour
 * in b.
 */
static size_t
leave_mutual(const unmatched *a, const unmatched *b, int32_t *number,
			 int32_t *kept)
{
	size_t		count = 0;

	for (size_t i = 0; i < a->count; i++)
	{
		int32_t		other = a->nearest[i];

		if (b->nearest[other] != (int32_t) i)
			kept[count++] = a->number[i];
		else if (number != NULL)
			number[a->number[i]] = b->number[other];
	}
	return count;
}

static void
pair_many(const double *old, size_t k_old, const double *new, size_t k_new,
		  size_t d, fc_arena *arena, int32_t *number)
{
	unmatched	a = take_left(k_old, arena);
	unmatched	b = take_left(k_new, arena);
	int32_t    *kept[2] = {
		FC_TAKE(arena, k_old, int32_t),
		FC_TAKE(arena, k_new, int32_t)
	};

	for (size_t j = 0; j < k_new; j++)
		number[j] = -1;
	for (int round = 0; round < MAX_ROUNDS && a.count > 0 && b.count > 0;
		 round++)
	{
		size_t		count;

		find_nearest(&a, old, &b, new, d);
		count = leave_mutual(&a, &b, NULL, kept[0]);
		b.count = leave_mutual(&b, &a, number, kept[1]);
		a.count = count;
		memcpy(a.number, kept[0], a.count * sizeof(int32_t));
		memcpy(b.number, kept[1], b.count * sizeof(int32_t));
	}
}

void
fc_pair_clusters(const double *old, size_t k_old, const double *new,
				 size_t k_new, size_t d, fc_arena *arena, int32_t *number)
{
	double	   *cost;

	if (are_many(k_old, k_new))
	{
		pair_many(old, k_old, new, k_new, d, arena, number);
		return;
	}
	cost = FC_TAKE(arena, k_old * k_new, double);
	cost_pairs(old, k_old, new, k_new, d, cost);
	fc_assignment(cost, k_new, k_old, arena, number);
}

void
fc_pair_labels(const double *counts, size_t k_old, size_t k_new,
			   fc_arena *arena, int32_t *number)
{
	double	   *cost = FC_TAKE(arena, k_old * k_new, double);

	for (size_t i = 0; i < k_old * k_new; i++)
		cost[i] = -counts[i];
	fc_assignment(cost, k_new, k_old, arena, number);
}

void
fc_nearest_others(const double *centroids, size_t k, size_t d, int32_t *nearest,
				  double *distance)
{
	for (size_t i = 0; i < k; i++)
	{
		double		best = INFINITY;

		nearest[i] = -1;
		for (size_t j = 0; j < k; j++)
		{
			double		square = (j == i ? INFINITY
								  : squared_distance(centroids + i * d,
													 centroids + j * d, d));

			fc_check();
			if (square < best)
			{
				best = square;
				nearest[i] = (int32_t) j;
			}
		}
		distance[i] = nearest[i] < 0 ? NAN : sqrt(best);
	}
}

/*
 * radii.c - radii of balls that hold a given number of rows; density.h has the
 * formula.
 *
 * The root mean squared distance from a point to the rows of a micro-cluster
 * is a Euclidean distance in d + 1 dimensions, where the spread of the rows is
 * the additional coordinate. It obeys the triangle inequality, so r_M(a) <=
 * r_M(b) + |mean_a - mean_b| for any b. With b the nearest micro-cluster whose
 * radius is known, micro-clusters farther from a than this bound need not be
 * sorted.
 */
#include "density/internal.h"

#include "base/sort.h"

/*
 * Number of micro-clusters whose distances to all others are computed
 * together, so that each tile is read only once for them. A guess.
 */
#define BATCH	32

fc_point_tiles
fc_point_tiles_of(const fc_micro_clusters *micro_clusters, fc_arena *arena)
{
	size_t		d = micro_clusters->d;
	fc_point_tiles points = {
		micro_clusters->m,
		d,
		FC_TAKE_ZEROED(arena, fc_point_lanes(micro_clusters->m) * d, double)
	};

	for (size_t a = 0; a < micro_clusters->m; a++)
		for (size_t c = 0; c < d; c++)
			*fc_point_coordinate(&points, a, c) = micro_clusters->mean[a * d + c];
	return points;
}

/*
 * Returns the squared radius of the ball that holds `mass` rows. near: the
 * `count` nearest micro-clusters, sorted by distance; squared: squared
 * distances of all micro-clusters.
 */
static double
squared_radius(const fc_micro_clusters *b, const fc_keyed *near, size_t count,
			   const double *squared, double mass)
{
	double		before = 0.0;	/* number of rows in the micro-clusters before
								 * entry i */
	double		inside = 0.0;	/* number of rows in the ball of squared
								 * radius `last`, which extends to the entry
								 * before i */
	double		last = 0.0;

	for (size_t i = 0;; i++)
	{
		double		n = b->n[near[i].value];
		double		next = before + n / 2.0;

		if (next >= mass || i + 1 == count)
			return last +
				fmin(fmax((mass - inside) / (next - inside), 0.0), 1.0) *
				(squared[near[i].value] - last);
		before += n;
		inside = next;
		last = squared[near[i].value];
	}
}

/*
 * Lists the micro-clusters within a squared distance of `max` in `near`,
 * sorted by distance. Increases the distance until they hold `rows` rows.
 * Returns their number.
 */
static size_t
find_near(const fc_micro_clusters *b, const double *squared, double max, double rows,
		  fc_keyed *near)
{
	size_t		count;
	double		rows_near;
	double		heaviest;

	do
	{
		count = 0;
		rows_near = heaviest = 0.0;
		for (size_t i = 0; i < b->m; i++)
			if (squared[i] <= max)
			{
				near[count++] = (fc_keyed)
				{
					fc_number_key(squared[i]), i
				};
				rows_near += b->n[i];
				heaviest = fmax(heaviest, b->n[i]);
			}
		max = max > 0.0 ? 4.0 * max : INFINITY;
	} while (count < b->m && rows_near - heaviest / 2.0 < rows);
	fc_sort(near, count, near + count);
	return count;
}

/*
 * Returns the squared radius of the ball around micro-cluster a that contains
 * all known balls around its nearest neighbour among the micro-clusters with a
 * lower index. Returns INFINITY for the first micro-cluster.
 */
static double
bound_of_radius(const fc_micro_clusters *b, size_t a, const double *distance,
				const double *squared, size_t masses)
{
	size_t		nearest = 0;
	double		radius = 0.0;

	if (a == 0)
		return INFINITY;
	for (size_t i = 1; i < a; i++)
		if (distance[i] < distance[nearest])
			nearest = i;
	for (size_t t = 0; t < masses; t++)
		radius = fmax(radius, squared[t * b->m + nearest]);
	radius = sqrt(radius) + sqrt(distance[nearest]);
	return radius * radius;
}

/*
 * Sets squared[t * m + a] to the squared radii of micro-cluster a for all t <
 * masses. distance: squared distances from mean_a to all means; overwritten.
 * near: scratch space for 2 m entries.
 */
static void
radii_of(const fc_micro_clusters *b, size_t a, const double *mass, size_t masses,
		 double *distance, fc_keyed *near, double *squared)
{
	double		rows = 0.0;
	double		max = bound_of_radius(b, a, distance, squared, masses);
	size_t		count;

	for (size_t t = 0; t < masses; t++)
		rows = fmax(rows, mass[t * b->m + a]);
	for (size_t i = 0; i < b->m; i++)
		distance[i] += b->square[i];
	count = find_near(b, distance, max, rows, near);
	for (size_t t = 0; t < masses; t++)
		squared[t * b->m + a] = squared_radius(b, near, count, distance,
											   mass[t * b->m + a]);
}

void
fc_squared_radii(const fc_micro_clusters *b, const double *mass, size_t masses,
				 fc_arena *arena, double *squared)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_point_tiles points = fc_point_tiles_of(b, arena);
	size_t		lanes = fc_point_lanes(b->m);
	size_t		batch = b->m < BATCH ? b->m : BATCH;
	double	   *distance = FC_TAKE(arena, batch * lanes, double);
	fc_keyed   *near = FC_TAKE(arena, 2 * b->m, fc_keyed);

	for (size_t first = 0; first < b->m; first += batch)
	{
		size_t		count = b->m - first < batch ? b->m - first : batch;

		fc_check();
		fc_point_distances(&points, b->mean + first * b->d, count, distance);
		for (size_t i = 0; i < count; i++)
			radii_of(b, first + i, mass, masses, distance + i * lanes, near, squared);
	}
	fc_arena_release(arena, mark);
}

/*
 * clusters.c - the condensed tree of micro-clusters, its leaves as clusters,
 * and noise; density.h defines the thresholds.
 *
 * Components of micro-clusters are joined along the edges of the spanning
 * tree, the shortest edge first; e is the length of the present edge. The peak
 * of a component is its micro-cluster with the smallest r_K. A component is
 * real if it already contains a split, or if it has R rows and e > r_K'(peak).
 * In the second case, a ball of radius e holds more than K' rows around the
 * peak, but only about K rows in the valley. Two real components make a split;
 * each of them that contains no split yet becomes a cluster, made of its
 * present micro-clusters. Otherwise the two components are joined without a
 * split.
 *
 *     first   = e of the last split, the sparsest valley; 0 if there is only
 *             one cluster and hence no split
 *     reach_c = the radius beyond which rows of cluster c are noise (noise.c)
 *
 * A second pass over the edges labels every component that has no label: the
 * component takes the label of the micro-cluster through which it joins, while
 * e <= reach_c. Micro-clusters without a label are noise, and so are
 * micro-clusters with r_K" > reach_c. All radii in this file are squared.
 */
#include "density/internal.h"

#include <math.h>
#include <string.h>

#include "base/sort.h"

/*
 * Z of density.h is this factor times ln(N / K), because N / K is the number
 * of places where chance can make a valley. Z is 12 if K is 0.35 % of the
 * rows. A larger one splits evenly distributed rows less often, and merges
 * clusters with a shallow valley (bench/density.py, bench/tuned.py).
 */
#define CHANCE	2.1

/*
 * Z on a line, where no path leads around a valley made by chance. A larger
 * one splits evenly distributed rows less often, and merges clusters with a
 * shallow valley (bench/density.py).
 */
#define CHANCE_ON_LINE	60.0

/*
 * Z on a narrow band in several dimensions, where few paths lead around a
 * valley made by chance. A larger one splits bands of even density less often,
 * and merges clusters that lie along a line (bench/density.py,
 * bench/tuned.py).
 */
#define CHANCE_ON_BAND	36.0

/*
 * The dimension that widen_on_line uses is at most 2 plus this value, or less
 * for micro-clusters of many rows. In more than two dimensions, r_K' is lower,
 * because more paths lead around a valley made by chance. A larger one finds
 * more clusters in many dimensions, and splits evenly distributed rows more
 * often (bench/density.py).
 */
#define MAX_MORE_DIMENSIONS	0.25

/* Value of the option noise that makes K" equal to K. */
#define UNBIASED_NOISE	0.5

/*
 * Number of rows in the ball that measures density, as a fraction of min_rows
 * (K / R). With a smaller ball, narrower gaps are found, but density varies
 * more by chance (bench/density.py, bench/tuned.py).
 */
#define BALL_SHARE	0.35

/*
 * Minimum number of rows in a ball. With fewer rows, density is not measured
 * precisely enough. A guess.
 */
#define MIN_BALL_ROWS	5.0

/*
 * A ball of K rows holds at least this number of micro-clusters of average
 * size, and at least this number of places of `copies` equal rows each. A
 * smaller number splits evenly distributed rows, a larger one merges clusters
 * across narrow gaps (bench/density.py, bench/tuned.py).
 */
#define MIN_BALL_MICRO_CLUSTERS	5.0

/*
 * Fraction of the rows at a point that takes the place of n_a in K' if the
 * density of a lattice is smoothed. A smaller one makes false splits, a larger
 * one merges clusters in tables of ratings. A guess that keeps planted
 * clusters apart without false splits.
 */
#define LATTICE_GRAIN	0.1

/*
 * Number of distinct values per column above which the Gaussian of
 * smooth_lattice is wider than a step of the lattice, so that heaping at
 * multiples of 5 does not make clusters. A larger one smooths less. A guess.
 */
#define LATTICE_VALUES	9.0

/*
 * Relative tolerance for rounding errors, because means of micro-clusters are
 * rounded to floats. Values of a column whose gap is at most ROUNDING times
 * the mean gap (range / m) count as equal. The radii of the points of a
 * lattice are enlarged by this fraction, so that an edge of one step, which
 * may be rounded up, splits no cluster.
 */
#define ROUNDING	1e-3

/*
 * Maximum ratio of the median gap between the values of a column to the
 * smallest gap, for both to count as one step of a lattice. The ratio is 1 if
 * both are one step, and 2 if the median gap is two steps.
 */
#define STEP_TOLERANCE	1.5

/*
 * Rows of a micro-cluster count as equal if their mean squared distance from
 * their mean is at most the sum of two terms. One is EQUAL_SPREAD times the
 * average of this distance over all micro-clusters. The other is EQUAL_MEAN
 * times the mean squared coordinate; it allows for the rounding error of the
 * coordinates. With larger ones, rows that are only close count as equal.
 * Guesses.
 */
#define EQUAL_SPREAD	1e-9
#define EQUAL_MEAN	1e-12

/*
 * Sets number[c] to the rank of cluster c by its number of rows, 0 for the
 * largest.
 */
static void
number_by_rows(const double *rows, size_t k, fc_arena *arena, int32_t *number)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_keyed   *items = FC_TAKE(arena, 2 * k, fc_keyed);

	for (size_t c = 0; c < k; c++)
		items[c] = (fc_keyed)
	{
		~fc_number_key(rows[c]), c
	};
	fc_sort(items, k, items + k);
	for (size_t i = 0; i < k; i++)
		number[items[i].value] = (int32_t) i;
	fc_arena_release(arena, mark);
}

/* ---- thresholds ---- */

/*
 * Adapts *sure, the r_K'^2 of a micro-cluster, to the dimension of the rows
 * around it. Interpolates between `on_line`, the value on a line (dimension
 * 1), and *sure, the value on a plane (2). On a line or a narrow band, no path
 * leads around a valley made by chance; more dimensions offer more paths.
 * core: r_K^2; tail: r_{K / tau}^2; max: maximum dimension to use.
 */
static void
widen_on_line(size_t d, double max, double core, double tail, double on_line,
			  double *sure)
{
	double		dimension = (d == 1
							 ? 1.0
							 : fmin(fc_dimension(d, fc_log_growth(core, tail)),
									max));

	if (*sure > 0.0)
		*sure *= pow(on_line / *sure, 2.0 - dimension);
	else if (dimension < 2.0)
		*sure = on_line;
}

static double *
radii_of_micro_clusters(const fc_micro_clusters *b, const fc_density_options *options,
						double rows, double K, double step, const double *near,
						fc_arena *arena)
{
	double		copies = near != NULL ? 1.0 : options->copies;
	double		chance = CHANCE * log(fmax(rows / K, 1.0));
	double	   *radius = FC_TAKE(arena, THRESHOLDS * b->m, double);
	fc_mark		mark = fc_arena_mark(arena);
	double	   *mass = FC_TAKE(arena, THRESHOLDS * b->m, double);

	for (size_t a = 0; a < b->m; a++)
	{
		double		grain = b->n[a] * (near != NULL ? LATTICE_GRAIN : 1.0);
		double		above = sqrt(K * (copies * chance + grain));

		mass[CORE * b->m + a] = K;
		mass[SURE * b->m + a] = K + above;
		mass[SURE_ON_LINE * b->m + a] = K +
			sqrt(K * (copies * (b->d == 1 ? CHANCE_ON_LINE
								: CHANCE_ON_BAND) +
					  grain));
		mass[TAIL * b->m + a] = K / FC_GROWTH_SHARE;
		mass[ABOVE * b->m + a] = K + (options->noise - UNBIASED_NOISE) * above;
	}
	if (near == NULL)
		fc_squared_radii(b, mass, THRESHOLDS, arena, radius);
	for (size_t i = 0; near != NULL && i < THRESHOLDS * b->m; i++)
		radius[i] = step * pow(fmax(mass[i], 0.0) / near[i % b->m],
							   2.0 / (double) b->d);
	fc_arena_release(arena, mark);
	for (size_t a = 0; a < b->m; a++)
		widen_on_line(b->d,
					  2.0 + MAX_MORE_DIMENSIONS * chance / (chance + b->n[a]),
					  radius[CORE * b->m + a], radius[TAIL * b->m + a],
					  radius[SURE_ON_LINE * b->m + a],
					  &radius[SURE * b->m + a]);
	return radius;
}

/*
 * Returns the maximum mean squared distance from the mean for the rows of a
 * micro-cluster to count as equal, apart from rounding.
 */
static double
square_of_equal_rows(const fc_micro_clusters *b)
{
	double		square = 0.0;
	double		mean = 0.0;

	for (size_t a = 0; a < b->m; a++)
	{
		square += b->square[a] / (double) b->m;
		for (size_t c = 0; c < b->d; c++)
			mean += b->mean[a * b->d + c] * b->mean[a * b->d + c] /
				(double) (b->m * b->d);
	}
	return EQUAL_SPREAD * square + EQUAL_MEAN * mean;
}

/*
 * Returns the mean number of rows of a micro-cluster, without micro-clusters of
 * equal rows that have at least the share FC_HEAVY_PLACE of all rows. Returns 0
 * if no other micro-cluster remains.
 */
static double
light_micro_cluster(const fc_micro_clusters *b, double rows)
{
	double		equal = square_of_equal_rows(b);
	double		light = 0.0;
	double		count = 0.0;

	for (size_t a = 0; a < b->m; a++)
		if (b->square[a] > equal || b->n[a] < FC_HEAVY_PLACE * rows)
		{
			light += b->n[a];
			count += 1.0;
		}
	return count > 0.0 ? light / count : 0.0;
}

/* Returns true if most rows are in micro-clusters of several equal rows. */
static bool
is_repeated(const fc_micro_clusters *b)
{
	double		equal = square_of_equal_rows(b);
	double		more = 0.0;		/* number of rows in micro-clusters of equal
								 * rows, minus the number of all others */

	for (size_t a = 0; a < b->m; a++)
		more += b->n[a] > 1.0 && b->square[a] <= equal ? b->n[a] : -b->n[a];
	return b->m > 1 && more > 0.0;
}

static void
sort_numbers(double *x, size_t n, fc_arena *arena)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_keyed   *items = FC_TAKE(arena, 2 * n, fc_keyed);

	for (size_t i = 0; i < n; i++)
	{
		items[i].key = fc_number_key(x[i]);
		memcpy(&items[i].value, &x[i], sizeof(double));
	}
	fc_sort(items, n, items + n);
	for (size_t i = 0; i < n; i++)
		memcpy(&x[i], &items[i].value, sizeof(double));
	fc_arena_release(arena, mark);
}

/*
 * Stores the gaps between the distinct values of a column in `gap`, sorted,
 * and returns their number, at most m - 1. Values that differ only by the
 * rounding of their micro-clusters to floats count as equal.
 */
static size_t
column_gaps(const fc_micro_clusters *b, size_t column, double *gap, fc_arena *arena)
{
	fc_mark		mark = fc_arena_mark(arena);
	double	   *x = FC_TAKE(arena, b->m, double);
	size_t		count = 0;
	double		range;

	for (size_t a = 0; a < b->m; a++)
		x[a] = b->mean[a * b->d + column];
	sort_numbers(x, b->m, arena);
	range = x[b->m - 1] - x[0];
	for (size_t a = 0; a + 1 < b->m; a++)
		if (x[a + 1] - x[a] > ROUNDING * range / (double) b->m)
			gap[count++] = x[a + 1] - x[a];
	sort_numbers(gap, count, arena);
	fc_arena_release(arena, mark);
	return count;
}

/*
 * Returns true if the rows are a lattice, such as integers or ages. Most rows
 * of a lattice are repeated. Each of its columns has a single value, or at
 * least two gaps between values, most of which are equal. The step between
 * points of a lattice is not a gap between clusters. Other repeated rows, such
 * as the coordinates of addresses, are no lattice.
 */
static bool
is_lattice(const fc_micro_clusters *b, fc_arena *arena)
{
	fc_mark		mark = fc_arena_mark(arena);
	double	   *gap = FC_TAKE(arena, b->m, double);
	bool		even = is_repeated(b);

	for (size_t c = 0; even && c < b->d; c++)
	{
		size_t		count = column_gaps(b, c, gap, arena);

		even = count == 0 ||
			(count > 1 && gap[count / 2] < STEP_TOLERANCE * gap[0]);
	}
	fc_arena_release(arena, mark);
	return even;
}

/*
 * Stretches the columns of a lattice until their steps, the median gaps
 * between values, all equal the widest one. A step then counts equally in
 * every column.
 */
static void
stretch_columns(fc_micro_clusters *b, fc_arena *arena)
{
	double	   *mean = FC_TAKE(arena, b->m * b->d, double);
	double	   *step = FC_TAKE(arena, b->d, double);
	double	   *gap = FC_TAKE(arena, b->m, double);
	double		widest = 0.0;

	for (size_t c = 0; c < b->d; c++)
	{
		size_t		count = column_gaps(b, c, gap, arena);

		step[c] = count > 0 ? gap[(count - 1) / 2] : 0.0;
		widest = fmax(widest, step[c]);
	}
	for (size_t i = 0; i < b->m * b->d; i++)
		mean[i] = b->mean[i] *
			(step[i % b->d] > 0.0 ? widest / step[i % b->d] : 1.0);
	b->mean = mean;
}

/*
 * Returns the squared step of a lattice, the median edge length of its
 * minimum spanning tree.
 */
static double
squared_step(const density_walk *w, fc_arena *arena)
{
	double	   *core = FC_TAKE_ZEROED(arena, w->b->m, double);

	fc_spanning_tree(w->b, core, arena, w->edges);
	return w->edges[(w->b->m - 2) / 2].length;
}

/*
 * Smooths the density of a lattice, and returns its maximum, which becomes K.
 * If points have more than K rows each, a ball of K rows contains only one
 * point. The density is therefore a sum of Gaussians, near[a] = sum over b of
 * n_b exp(-|mean_a - mean_b|^2 / width), where `width` is the squared step of
 * the lattice, or more if the columns have many values.
 */
static double
smooth_lattice(const fc_micro_clusters *b, double step, fc_arena *arena, double *near)
{
	/* estimated number of values per column */
	double		values = pow((double) b->m, 1.0 / (double) b->d);

	/* squared width of the Gaussian; `step` is squared, too */
	double		width = step * fmax(values / LATTICE_VALUES, 1.0);
	double		max = 0.0;
	fc_point_tiles points = fc_point_tiles_of(b, arena);
	double	   *squared = FC_TAKE(arena, fc_point_lanes(b->m), double);

	for (size_t a = 0; a < b->m; a++)
	{
		fc_check();
		fc_point_distances(&points, b->mean + a * b->d, 1, squared);
		near[a] = 0.0;
		for (size_t i = 0; i < b->m; i++)
			near[a] += b->n[i] * exp(-squared[i] / width);
		max = fmax(max, near[a]);
	}
	return max;
}

/* ---- splits ---- */

static bool
is_real(const density_walk *w, uint32_t set, double reach)
{
	return w->node[set] >= 0 || (w->rows[set] >= w->min_rows &&
								 reach > w->radius[SURE][w->peak[set]]);
}

/*
 * Makes a cluster of the present micro-clusters of a component. Returns the
 * index of the cluster.
 */
static int32_t
new_cluster(density_walk *w, uint32_t set)
{
	int32_t		c = (int32_t) w->found->k++;

	w->found->cluster[c] = (fc_density_cluster)
	{
		w->peak[set], w->rows[set],
			0.0
	};
	fc_label_set(&w->sets, set, c, w->found->label);
	return c;
}

static void
split_sets(density_walk *w, uint32_t x, uint32_t y, double reach)
{
	if (w->node[x] < 0)
		w->node[x] = new_cluster(w, x);
	if (w->node[y] < 0)
		w->node[y] = new_cluster(w, y);
	w->found->split[w->splits] = (fc_density_split)
	{
		w->node[x], w->node[y],
			sqrt(reach),
			w->rows[x] + w->rows[y]
	};
	w->node[x] = (int32_t) (w->b->m + w->splits++);
	w->first = reach;
}

static void
find_splits(density_walk *w)
{
	const double *core = w->radius[CORE];

	for (size_t i = 0; i + 1 < w->b->m; i++)
	{
		uint32_t	x = fc_set_of(&w->sets, w->edges[i].a);
		uint32_t	y = fc_set_of(&w->sets, w->edges[i].b);

		if (core[w->peak[x]] > core[w->peak[y]])
		{
			uint32_t	swapped = x;

			x = y;
			y = swapped;
		}
		if (is_real(w, x, w->edges[i].reach) &&
			is_real(w, y, w->edges[i].reach))
			split_sets(w, x, y, w->edges[i].reach);
		else if (w->node[x] < 0)
			w->node[x] = w->node[y];
		w->rows[x] += w->rows[y];
		fc_join_sets(&w->sets, x, y);
	}
	if (w->found->k == 0)
		(void) new_cluster(w, fc_set_of(&w->sets, 0));
}

/*
 * Numbers the clusters by their rows, the largest first, and renumbers the
 * nodes of the splits to match.
 */
static void
number_clusters(density_walk *w, fc_arena *arena)
{
	fc_density *f = w->found;
	fc_mark		mark = fc_arena_mark(arena);
	int32_t    *number = FC_TAKE(arena, f->k, int32_t);
	double	   *rows = FC_TAKE(arena, f->k, double);
	fc_density_cluster *cluster = FC_TAKE(arena, f->k, fc_density_cluster);

	for (size_t c = 0; c < f->k; c++)
	{
		rows[c] = f->cluster[c].rows;
		cluster[c] = f->cluster[c];
	}
	number_by_rows(rows, f->k, arena, number);
	for (size_t c = 0; c < f->k; c++)
		f->cluster[number[c]] = cluster[c];
	for (size_t a = 0; a < w->b->m; a++)
		f->label[a] = f->label[a] < 0 ? -1 : number[f->label[a]];
	for (size_t i = 0; i < w->splits; i++)
	{
		int32_t    *node[2] = {&f->split[i].left, &f->split[i].right};

		for (int side = 0; side < 2; side++)
			*node[side] = (size_t) *node[side] < w->b->m
				? number[*node[side]]
				: *node[side] - (int32_t) w->b->m +
				(int32_t) f->k;
	}
	fc_arena_release(arena, mark);
}

/* ---- labels ---- */

/*
 * Spreads labels along the edges, the shortest first. When an edge leads from
 * a micro-cluster with a label to one without, all unlabelled micro-clusters
 * in the component of the second one take this label. The reach of the edge
 * (fc_edge) must be at most limit[label]. limit: k values.
 */
static void
spread_labels(const density_walk *w, const double *limit, int32_t *label,
			  fc_arena *arena)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_disjoint_sets sets = fc_new_sets(w->b->m, arena);

	for (size_t a = 0; a < w->b->m; a++)
		if (label[a] >= 0)
			sets.first[a] = FC_NONE;
	for (size_t i = 0; i + 1 < w->b->m; i++)
	{
		uint32_t	end[2] = {w->edges[i].a, w->edges[i].b};
		uint32_t	set[2] = {
			fc_set_of(&sets, end[0]),
			fc_set_of(&sets, end[1])
		};

		for (int side = 0; side < 2; side++)
			if (label[end[side]] >= 0 && label[end[1 - side]] < 0 &&
				w->edges[i].reach <= limit[label[end[side]]])
				fc_label_set(&sets, set[1 - side], label[end[side]], label);
		fc_join_sets(&sets, set[0], set[1]);
	}
	fc_arena_release(arena, mark);
}

/* Labels the micro-clusters, and sets the reach of each cluster. */
static void
label_micro_clusters(density_walk *w, fc_arena *arena)
{
	fc_density *f = w->found;
	fc_mark		mark = fc_arena_mark(arena);
	double	   *limit = FC_TAKE(arena, f->k, double);

	for (size_t c = 0; c < f->k; c++)
		limit[c] = INFINITY;
	memcpy(f->peak_cluster, f->label, w->b->m * sizeof(int32_t));
	spread_labels(w, limit, f->peak_cluster, arena);
	fc_density_limits(w, arena, limit);
	spread_labels(w, limit, f->label, arena);
	for (size_t c = 0; c < f->k; c++)
		f->cluster[c].reach = sqrt(limit[c]);
	for (size_t a = 0; a < w->b->m; a++)
	{
		f->radius[a] = sqrt(w->radius[CORE][a]);
		if (f->label[a] >= 0)
			f->peak_cluster[a] = f->label[a];
		if (w->radius[ABOVE][a] > limit[f->peak_cluster[a]])
			f->label[a] = -1;
	}
	fc_arena_release(arena, mark);
}

/* ---- the walk along the tree ---- */

/*
 * Sets lattice, K, radius and edges of the walk. `b` holds the micro-clusters
 * of the walk; if they are a lattice, stretches their columns.
 */
static void
measure_densities(density_walk *w, fc_micro_clusters *b, const fc_density_options *options,
				  fc_arena *arena)
{
	double	   *radius;
	double	   *near = NULL;	/* density at each lattice point: the numbers
								 * of rows at all points, summed with Gaussian
								 * weights (smooth_lattice); NULL: the density
								 * is not smoothed */
	double		step = 0.0;		/* squared step of a lattice */
	double		rows = 0.0;
	double		squares = 0.0;

	for (size_t a = 0; a < b->m; a++)
	{
		rows += b->n[a];
		squares += b->n[a] * b->n[a];
	}
	w->lattice = is_lattice(b, arena);

	/*
	 * A ball of K rows must span several micro-clusters, or the density would
	 * depend on how the rows were summarized. It must also span several
	 * places. A lattice needs no such minimum: its points are not summaries
	 * of different rows, and are smoothed below if they have many rows.
	 */
	w->K = fmax(fmax(MIN_BALL_ROWS, BALL_SHARE * options->min_rows),
				w->lattice ? 0.0 : MIN_BALL_MICRO_CLUSTERS *
				fmax(light_micro_cluster(b, rows), options->copies));
	w->edges = FC_TAKE(arena, b->m, fc_edge);
	if (w->lattice)
	{
		stretch_columns(b, arena);
		step = squared_step(w, arena);
		near = squares > w->K * rows ? FC_TAKE(arena, b->m, double) : NULL;
	}
	if (near != NULL)
		w->K = smooth_lattice(b, step, arena, near);
	radius = radii_of_micro_clusters(b, options, rows, w->K, step, near, arena);
	fc_spanning_tree(b, radius, arena, w->edges);

	/*
	 * An edge of one step must not split clusters. Raise r_K' to one step
	 * where it is less.
	 */
	for (size_t a = SURE * b->m; w->lattice && a < (SURE + 1) * b->m; a++)
		radius[a] = fmax(radius[a], step) * (1.0 + ROUNDING);
	for (size_t t = 0; t < THRESHOLDS; t++)
		w->radius[t] = radius + t * b->m;
}

/*
 * Allocates the disjoint sets of the walk, one for each micro-cluster, and
 * sets all labels to -1 (none).
 */
static void
start_sets(density_walk *w, fc_arena *arena)
{
	size_t		m = w->b->m;

	w->sets = fc_new_sets(m, arena);
	w->rows = FC_TAKE(arena, m, double);
	w->peak = FC_TAKE(arena, m, uint32_t);
	w->node = FC_TAKE(arena, m, int32_t);
	memcpy(w->rows, w->b->n, m * sizeof(double));
	for (size_t a = 0; a < m; a++)
	{
		w->peak[a] = (uint32_t) a;
		w->node[a] = w->found->label[a] = -1;
	}
}

void
fc_density_clusters(const fc_micro_clusters *micro_clusters, const fc_density_options *options,
					fc_arena *arena, fc_density *found)
{
	fc_micro_clusters b = *micro_clusters;
	density_walk w = {
		.b = &b,
		.min_rows = options->min_rows,
		.found = found
	};
	fc_mark		mark;

	*found = (fc_density)
	{
		0,
			FC_TAKE(arena, b.m, fc_density_cluster),
			FC_TAKE(arena, b.m, fc_density_split),
			FC_TAKE(arena, b.m, int32_t),
			FC_TAKE(arena, b.m, int32_t),
			FC_TAKE(arena, b.m, double)
	};
	mark = fc_arena_mark(arena);
	measure_densities(&w, &b, options, arena);
	start_sets(&w, arena);
	find_splits(&w);
	number_clusters(&w, arena);
	label_micro_clusters(&w, arena);
	fc_arena_release(arena, mark);
}

/* ---- clusters at a single density ---- */

/*
 * core[a] is the squared radius of the ball around micro-cluster a that
 * measures its density, one of m. Micro-cluster a is dense if core[a] <= max.
 * `sets` has the connected components of the dense micro-clusters. Sets
 * label[a] of a dense micro-cluster to the rank of its component by number of
 * rows, 0 for the largest, and label[a] of any other to -1. Returns the number
 * of components.
 */
static size_t
number_sets(const fc_micro_clusters *b, fc_disjoint_sets *sets, const double *core,
			double max, fc_arena *arena, int32_t *label)
{
	double	   *rows = FC_TAKE(arena, b->m, double);
	int32_t    *number = FC_TAKE(arena, b->m, int32_t);
	size_t		k = 0;

	for (size_t a = 0; a < b->m; a++)
		if (core[a] <= max && fc_set_of(sets, (uint32_t) a) == a)
		{
			number[a] = (int32_t) k;
			rows[k++] = 0.0;
		}
	for (size_t a = 0; a < b->m; a++)
	{
		label[a] = core[a] <= max ? number[fc_set_of(sets, (uint32_t) a)]
			: -1;
		if (label[a] >= 0)
			rows[label[a]] += b->n[a];
	}
	number_by_rows(rows, k, arena, number);
	for (size_t a = 0; a < b->m; a++)
		label[a] = label[a] < 0 ? -1 : number[label[a]];
	return k;
}

/*
 * Returns true if a row of micro-cluster a is probably within `scale` of a row
 * of i. squared: squared distance of their means; dimension: dimension of
 * their rows. Two conditions must hold:
 *
 *     The distance of the means, minus the radii of both micro-clusters, is
 *     at most `scale`. The radius is the square root of `square`.
 *
 *     The expected distance of the nearest of n_a n_i pairs of rows is at most
 *     `scale`. The squared distance of a pair is assumed to be normal, with
 *     the variance of normal rows in `dimension` dimensions.
 *
 * The second condition decides in many dimensions, where hardly any row lies
 * between the two means.
 */
static bool
are_near(const fc_micro_clusters *b, size_t a, size_t i, double squared, double dimension,
		 double scale)
{
	double		spread = b->square[a] + b->square[i];
	double		deviation = sqrt((2.0 * spread + 4.0 * squared) * spread / dimension);
	double		pairs = sqrt(2.0 * log(fmax(b->n[a] * b->n[i], 1.0)));
	double		limit = scale + sqrt(b->square[a]) + sqrt(b->square[i]);

	return squared <= limit * limit &&
		squared + spread - pairs * deviation <= scale * scale;
}

size_t
fc_density_at_scale(const fc_micro_clusters *b, double min_rows, double scale,
					fc_arena *arena, int32_t *label, double *radius)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_point_tiles points = fc_point_tiles_of(b, arena);
	fc_disjoint_sets sets = fc_new_sets(b->m, arena);
	double	   *mass = FC_TAKE(arena, 2 * b->m, double);
	double	   *core = FC_TAKE(arena, 2 * b->m, double);
	double	   *tail = core + b->m;
	double	   *squared = FC_TAKE(arena, fc_point_lanes(b->m), double);
	size_t		k;

	for (size_t a = 0; a < b->m; a++)
	{
		mass[a] = min_rows;
		mass[b->m + a] = min_rows / FC_GROWTH_SHARE;
	}
	fc_squared_radii(b, mass, 2, arena, core);
	for (size_t a = 0; a < b->m; a++)
		tail[a] = fc_dimension(b->d, fc_log_growth(core[a], tail[a]));
	for (size_t a = 0; a < b->m; a++)
	{
		if (core[a] > scale * scale)
			continue;
		fc_check();
		points.n = a;
		fc_point_distances(&points, b->mean + a * b->d, 1, squared);
		for (size_t i = 0; i < a; i++)
			if (core[i] <= scale * scale &&
				are_near(b, a, i, squared[i], 0.5 * (tail[a] + tail[i]), scale))
			{
				uint32_t	x = fc_set_of(&sets, (uint32_t) i);
				uint32_t	y = fc_set_of(&sets, (uint32_t) a);

				if (x != y)
					fc_join_sets(&sets, x, y);
			}
	}
	k = number_sets(b, &sets, core, scale * scale, arena, label);
	for (size_t a = 0; a < b->m; a++)
		radius[a] = sqrt(core[a]);
	fc_arena_release(arena, mark);
	return k;
}

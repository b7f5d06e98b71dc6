/*
 * noise.c - the density below which rows are noise.
 *
 * Noise of even density is a mode of the distribution of ln r_K, above the
 * modes of the clusters; the tail of a cluster is no mode. To find such a
 * mode, a window of 6 K rows moves from the sparsest rows to denser ones, and
 * its width in ln r_K is measured. If the width rises to three times the
 * smallest width so far, and then falls to a third of the greatest width, rows
 * sparser than the middle of the widest window are noise. There are two
 * exceptions:
 *
 *     Noise must be less than half of the rows of every cluster, because a
 *     sparse cluster is not noise.
 *
 *     The density at the widest window must be less than half the median
 *     density. A ball around a row at the boundary of an evenly filled cluster
 *     holds half as many rows, and on a grid the rows at the boundary are a
 *     mode, too.
 *
 * If no mode is found, a window of twice the rows, whose width varies less by
 * chance, is tried with a smaller contrast (MIN_CONTRAST).
 *
 * Without such a mode, rows are noise where a Gaussian cluster of D dimensions
 * has hardly any rows. There, D ln r_K grows by half the squared distance from
 * the center in standard deviations, which has a chi-squared distribution with
 * D degrees of freedom. With the quantiles of Wilson and Hilferty, 95 % of the
 * rows of the cluster satisfy
 *
 *     ln r_K <= ln median(r_K) + (chi^2(0.95) - chi^2(0.5)) / 2 D,
 *         chi^2(q) / D = (1 - 2 / 9 D + z_q sqrt(2 / 9 D))^3
 *
 * where D is estimated from the mean growth of the radius from K to K / tau
 * rows (tau = FC_GROWTH_SHARE).
 */
#include "density/internal.h"

#include "base/sort.h"

/*
 * Number of rows in a window, in units of K, the number of rows in a ball that
 * measures density (density.h). With more rows, the width of a window varies
 * less by chance, but noise of few rows is not found (bench/density.py,
 * bench/tuned.py).
 */
#define WINDOW_BALLS	6.0

/*
 * Maximum factor on the number of rows in a window, which is doubled while no
 * noise is found. Windows of more rows need less contrast, so that a larger
 * factor finds noise more often. A guess.
 */
#define WIDE_WINDOWS	2.0

/*
 * Minimum number of micro-clusters in a window, whose width varies by chance
 * if it has fewer. A guess.
 */
#define MIN_MICRO_CLUSTERS	20

/*
 * Minimum ratio of the greatest width of a window, in ln r_K, to the smallest
 * width before it. A larger ratio leaves faint noise in clusters
 * (bench/density.py, bench/tuned.py).
 */
#define MIN_CONTRAST	3.0

/* Quantile 0.95 of the normal distribution. */
#define NORMAL_QUANTILE	1.645

/*
 * Lists the micro-clusters with r_K > 0 in `order`, sorted by r_K, and returns
 * their number.
 */
static size_t
sort_by_radius(const density_walk *w, fc_arena *arena, uint32_t *order)
{
	fc_keyed   *items = FC_TAKE(arena, 2 * w->b->m, fc_keyed);
	size_t		n = 0;

	for (size_t a = 0; a < w->b->m; a++)
		if (w->radius[CORE][a] > 0.0)
			items[n++] = (fc_keyed)
		{
			fc_number_key(w->radius[CORE][a]), a
		};
	fc_sort(items, n, items + n);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t) items[i].value;
	return n;
}

/*
 * Returns r_K^2 at half the median density; `half` is half the number of rows.
 */
static double
radius_of_half_density(const density_walk *w, const uint32_t *order, size_t n, double half)
{
	size_t		middle = 0;

	if (n == 0)
		return 0.0;
	for (double below = 0.0;
		 middle + 1 < n && (below += w->b->n[order[middle]]) < half;)
		middle++;
	return w->radius[CORE][order[middle]] * pow(2.0, 2.0 / (double) w->b->d);
}

/*
 * Returns the value of r_K^2 that separates the clusters from a mode of noise,
 * or INFINITY if there is no such mode. window: minimum number of rows in a
 * window; contrast: minimum ratio of the widest window to the narrowest one
 * before it; half: scratch space, one number per cluster.
 */
static double
antimode(const density_walk *w, const uint32_t *order, size_t n, double window,
		 double contrast, double *half)
{
	double		mode = INFINITY;	/* smallest width of a window so far: the
									 * range of ln r_K^2 in the window,
									 * divided by the number of its rows */
	double		widest = 0.0;	/* greatest width of a window after the one of
								 * width `mode` */
	double		between = INFINITY; /* r_K^2 in the middle of the widest
									 * window */
	double		rows = 0.0;		/* number of rows in the window; its first and
								 * its last micro-cluster contribute half of
								 * their rows */
	bool		minority = true;	/* true until the micro-clusters visited
									 * so far contain more than half the rows
									 * of a cluster */
	double		half_rows = 0.0;	/* half the number of all rows */
	double		min;			/* r_K^2 at half the median density */

	for (size_t c = 0; c < w->found->k; c++)
		half[c] = 0.0;
	for (size_t i = 0; i < n; i++)
	{
		half[w->found->peak_cluster[order[i]]] += w->b->n[order[i]] / 2.0;
		half_rows += w->b->n[order[i]] / 2.0;
	}
	min = radius_of_half_density(w, order, n, half_rows);
	for (size_t high = n, low = n - 1; high-- > 1;)
	{
		double		top = w->radius[CORE][order[high]];
		double		bottom;
		double		width;

		for (; low > 0 && (rows < window || high - low < MIN_MICRO_CLUSTERS); low--)
			rows += (w->b->n[order[low]] + w->b->n[order[low - 1]]) / 2.0;
		if (low == 0)
			break;
		bottom = w->radius[CORE][order[low]];
		width = log(top / bottom) / rows;
		half[w->found->peak_cluster[order[high]]] -= w->b->n[order[high]];
		minority = minority && half[w->found->peak_cluster[order[high]]] >= 0.0;
		rows -= (w->b->n[order[high]] + w->b->n[order[high - 1]]) / 2.0;
		if (widest > 0.0 && contrast * width <= widest)
			return between;
		if (widest == 0.0 && width < mode)
			mode = width;
		else if (width > widest && width >= contrast * mode && minority &&
				 sqrt(top * bottom) > min)
		{
			widest = width;
			between = sqrt(top * bottom);
		}
	}
	return INFINITY;
}

/*
 * Sets tail[c] to the value of r_K^2 below which 95 % of the rows of cluster c
 * would be if the cluster were Gaussian.
 */
static void
gaussian_tails(const density_walk *w, const uint32_t *order, size_t n,
			   fc_arena *arena, double *tail)
{
	size_t		k = w->found->k;
	double	   *rows = FC_TAKE(arena, k, double);
	double	   *growth = FC_TAKE(arena, k, double);

	for (size_t c = 0; c < k; c++)
		rows[c] = growth[c] = tail[c] = 0.0;
	for (size_t i = 0; i < n; i++)
	{
		int32_t		c = w->found->peak_cluster[order[i]];

		rows[c] += w->b->n[order[i]];
		growth[c] += w->b->n[order[i]] *
			fc_log_growth(w->radius[CORE][order[i]],
						  w->radius[TAIL][order[i]]);
	}
	for (size_t c = 0; c < k; c++)
	{
		growth[c] /= rows[c];
		rows[c] /= 2.0;
	}
	for (size_t i = 0; i < n; i++)
	{
		int32_t		c = w->found->peak_cluster[order[i]];

		if (rows[c] > 0.0)
			tail[c] = w->radius[CORE][order[i]];	/* the last value set is
													 * the median of r_K^2
													 * over the rows of c */
		rows[c] -= w->b->n[order[i]];
	}
	for (size_t c = 0; c < k; c++)
	{
		double		curve = 2.0 / (9.0 * fc_dimension(w->b->d, growth[c]));

		tail[c] *= exp(pow(1.0 - curve + NORMAL_QUANTILE * sqrt(curve), 3.0) -
					   pow(1.0 - curve, 3.0));
	}
}

void
fc_density_limits(const density_walk *w, fc_arena *arena, double *limit)
{
	fc_mark		mark = fc_arena_mark(arena);
	uint32_t   *order = FC_TAKE(arena, w->b->m, uint32_t);
	size_t		n = sort_by_radius(w, arena, order);
	double		noise = INFINITY;

	for (double scale = 1.0;
		 !w->lattice && isinf(noise) && scale <= WIDE_WINDOWS; scale *= 2.0)
		noise = antimode(w, order, n, scale * WINDOW_BALLS * w->K,
						 1.0 + (MIN_CONTRAST - 1.0) / sqrt(scale), limit);
	gaussian_tails(w, order, n, arena, limit);
	for (size_t c = 0; c < w->found->k; c++)
		limit[c] = fmax(w->radius[SURE][w->found->cluster[c].peak],
						isfinite(noise) ? noise : fmax(w->first, limit[c]));
	fc_arena_release(arena, mark);
}

/*
 * noise.c - from which density on rows are noise.
 *
 * Noise of even density is a mode of its own among the values of ln r_K, right
 * of those of the clusters; the tail of a cluster is none. So a window of 6 K
 * rows in order of r_K comes down from the sparsest rows. Where it has widened
 * to three times its narrowest width so far, and narrows to a third again,
 * rows beyond the widest window are noise, if they are fewer than half of each
 * cluster: a sparse cluster is no noise. At the widest window rows are less
 * than half as dense as at the median: a ball about a row on the side of an
 * even cluster holds half as many, and on a grid the sides are a mode. Twice
 * the rows, of which chance changes the width less, need a smaller contrast.
 *
 * Without such a mode, rows are noise where a Gaussian cluster has hardly any:
 * D ln r_K grows by half the square of the distance from its center, a
 * chi-square variable of D degrees of freedom. So 95 % of its rows have, with
 * the quantiles by Wilson and Hilferty,
 *
 *     ln r_K <= ln median(r_K) + (chi^2(0.95) - chi^2(0.5)) / 2 D,
 *         chi^2(q) / D = (1 - 2 / 9 D + z_q sqrt(2 / 9 D))^3
 *
 * where D follows from the mean growth of the radius from K to K / tau rows.
 */
#include "density/internal.h"

#include "base/sort.h"

#define WINDOW_BALLS			6.0 /* rows of a window, in balls of K rows */
#define WIDE_WINDOWS			2.0 /* windows of the wider search, which
									 * needs less contrast */
#define MIN_BUBBLES				20	/* micro-clusters in a window at least */

/* width of the window at a gap over the narrowest before it */
#define MIN_CONTRAST			3.0

#define NORMAL_QUANTILE	1.645	/* of 0.95 */

/*
 * Bubbles in order of r_K, those of points without extent left out; returns
 * how many.
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
 * The squared r_K between clusters and a mode of noise; INFINITY: there is
 * none.
 */
static double
antimode(const density_walk *w, const uint32_t *order, size_t n, double window,
		 double contrast, double *half)
{
	double		mode = INFINITY;	/* narrowest and widest window, a row */
	double		widest = 0.0;
	double		between = INFINITY;
	double		rows = 0.0;		/* in the window, half of its first and last
								 * bubble */
	bool		minority = true;	/* of each cluster */
	double		most = 0.0;		/* half of all rows */
	double		least;			/* squared r_K of half the median density */
	size_t		middle = 0;

	for (size_t c = 0; c < w->found->k; c++)
		half[c] = 0.0;
	for (size_t i = 0; i < n; i++)
	{
		half[w->found->home[order[i]]] += w->b->n[order[i]] / 2.0;
		most += w->b->n[order[i]] / 2.0;
	}
	for (double below = 0.0;
		 middle + 1 < n && (below += w->b->n[order[middle]]) < most;)
		middle++;
	least = n > 0 ? w->radius[CORE][order[middle]] *
		pow(2.0, 2.0 / (double) w->b->d)
		: 0.0;
	for (size_t high = n, low = n - 1; high-- > 1;)
	{
		double		top = w->radius[CORE][order[high]];
		double		bottom;
		double		width;

		for (; low > 0 && (rows < window || high - low < MIN_BUBBLES); low--)
			rows += (w->b->n[order[low]] + w->b->n[order[low - 1]]) / 2.0;
		if (low == 0)
			break;
		bottom = w->radius[CORE][order[low]];
		width = log(top / bottom) / rows;
		half[w->found->home[order[high]]] -= w->b->n[order[high]];
		minority = minority && half[w->found->home[order[high]]] >= 0.0;
		rows -= (w->b->n[order[high]] + w->b->n[order[high - 1]]) / 2.0;
		if (widest > 0.0 && contrast * width <= widest)
			return between;
		if (widest == 0.0 && width < mode)
			mode = width;
		else if (width > widest && width >= contrast * mode && minority &&
				 sqrt(top * bottom) > least)
		{
			widest = width;
			between = sqrt(top * bottom);
		}
	}
	return INFINITY;
}

/*
 * The squared r_K within which a Gaussian cluster has 95 % of its rows, of
 * each cluster.
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
		int32_t		c = w->found->home[order[i]];

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
		int32_t		c = w->found->home[order[i]];

		if (rows[c] > 0.0)
			tail[c] = w->radius[CORE][order[i]];	/* the median at last */
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

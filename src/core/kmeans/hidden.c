/*
 * hidden.c - counts the clusters that contain several groups of rows which
 * k-means did not separate. Such groups show as valleys of the density when
 * the rows of a cluster are projected onto a coordinate or a principal axis;
 * see evidence.h.
 */
#include "kmeans/evidence.h"

#include "numerics/assignment.h"
#include "numerics/principal.h"
#include "numerics/rows.h"

/*
 * Number of bins per standard deviation along a line. More bins give more
 * positions of the windows, and take more memory and time (bench/number.py).
 */
#define BINS_PER_DEVIATION	16

/*
 * Number of standard deviations on either side of the mean that the bins
 * cover; rows farther out are counted in the outermost bins. A guess.
 */
#define REACH	10

/* Number of bins along a line. */
#define BINS	(2 * REACH * BINS_PER_DEVIATION)

/*
 * Number of bins in the narrowest window, a quarter of a deviation. Narrower
 * windows find narrower valleys, but also more valleys by chance
 * (bench/number.py).
 */
#define MIN_WINDOW	4

/*
 * Minimum number of rows of a cluster that is searched; with fewer rows, no
 * valley is significant (bench/number.py).
 */
#define MIN_SEARCHED_ROWS	40

/*
 * Computes mean and standard deviation of the values, leaving out values more
 * than three deviations from the mean.
 */
static void
measure_values(const double *values, size_t n, double *mean, double *deviation)
{
	double		limit = INFINITY;
	double		center = 0.0;

	for (int pass = 0; pass < 2; pass++)
	{
		double		sum = 0.0;
		double		square = 0.0;
		double		count = 0.0;

		for (size_t i = 0; i < n; i++)
			if (fabs(values[i] - center) <= limit)
			{
				sum += values[i] - center;
				square += (values[i] - center) * (values[i] - center);
				count++;
			}
		*mean = center + sum / fmax(count, 1.0);
		*deviation = sqrt(fmax(square / fmax(count, 1.0) -
							   (*mean - center) * (*mean - center),
							   0.0));
		center = *mean;
		limit = 3.0 * *deviation;
	}
}

static bool
is_valley(double count, double peak)
{
	return count <= FC_HIDDEN_DEPTH * peak &&
		peak - count >= FC_HIDDEN_ERRORS * sqrt(peak + count);
}

/*
 * Walks from a valley at window v downwards (step -1) or upwards (step 1) to
 * the first peak. Returns the index of the window with this peak.
 */
static size_t
first_peak(const double *window, size_t places, size_t v, int step)
{
	size_t		best = v;

	/* Stepping below 0 wraps u to a huge value, which ends the loop. */
	for (size_t u = v; u < places; u += (size_t) (ptrdiff_t) step)
	{
		if (window[u] > window[best])
			best = u;
		if (is_valley(window[v], window[best]) &&
			is_valley(window[u], window[best]))
			break;
	}
	return best;
}

/*
 * Counts rows in windows of `width` bins. Returns the greatest distance, in
 * bins, between the peaks on both sides of a valley; 0 if there is no valley.
 */
static size_t
widest_gap(const double *bins, size_t width)
{
	double		window[BINS];
	double		right[BINS + 1];	/* greatest count in windows v and above */
	size_t		places = BINS - width + 1;
	double		left = 0.0;
	size_t		widest = 0;

	for (size_t v = 0; v < places; v++)
	{
		window[v] = 0.0;
		for (size_t b = v; b < v + width; b++)
			window[v] += bins[b];
	}
	right[places] = 0.0;
	for (size_t v = places; v-- > 0;)
		right[v] = fmax(right[v + 1], window[v]);
	for (size_t v = 0; v < places; v++)
	{
		double		peak = fmin(left, right[v + 1]);

		if (peak > 0.0 && is_valley(window[v], peak))
		{
			size_t		gap = (first_peak(window, places, v, 1) -
							   first_peak(window, places, v, -1));

			widest = gap > widest ? gap : widest;
		}
		left = fmax(left, window[v]);
	}
	return widest;
}

/*
 * Returns the width of the widest gap in n values, or 0 if there is no gap.
 * Sets *deviation to the standard deviation of the values.
 */
static double
gap_of(const double *values, size_t n, double *deviation)
{
	double		bins[BINS] = {0.0};
	double		mean;
	size_t		widest = 0;

	measure_values(values, n, &mean, deviation);
	if (!(*deviation > 0.0))
		return 0.0;
	for (size_t i = 0; i < n; i++)
	{
		double		place = (((values[i] - mean) / *deviation + REACH) *
							 BINS_PER_DEVIATION);

		bins[(size_t) fmin(fmax(place, 0.0), BINS - 1.0)]++;
	}
	for (size_t width = MIN_WINDOW; width <= BINS_PER_DEVIATION && widest == 0;
		 width *= 2)
		widest = widest_gap(bins, width);
	return (double) widest * *deviation / BINS_PER_DEVIATION;
}

/* ---- hidden clusters ---- */

typedef struct hidden_search
{
	const float *y;				/* n x d: rows in which gaps are sought */
	size_t		n;
	size_t		d;
	size_t		k;
	const double *centroids;	/* k x d */
	int32_t    *label;			/* n: nearest centroid of each row */
	float	   *centred;		/* n x d: rows of one cluster minus their mean */
	double	   *values;			/* n: values along a line */
} hidden_search;

/*
 * Returns the width of the widest gap in the rows of clusters a and b along
 * the line from centroid a to centroid b; 0 if the centroids are equal.
 */
static double
gap_between(hidden_search *c, size_t a, size_t b)
{
	size_t		count = 0;
	double		length = fc_square_between(c->centroids + a * c->d,
										   c->centroids + b * c->d, c->d);
	double		deviation;

	for (size_t r = 0; r < c->n; r++)
	{
		double		along = 0.0;

		if ((size_t) c->label[r] != a && (size_t) c->label[r] != b)
			continue;
		for (size_t i = 0; i < c->d; i++)
			along += (double) c->y[r * c->d + i] *
				(c->centroids[b * c->d + i] - c->centroids[a * c->d + i]);
		c->values[count++] = along / sqrt(length);
	}
	return length > 0.0 ? gap_of(c->values, count, &deviation) : 0.0;
}

/*
 * Returns the width of the widest gap in the first coordinate of `count` rows,
 * which are d values apart; 0 if there is no gap. Sets *deviation to the
 * standard deviation of the coordinate.
 */
static double
gap_along(hidden_search *c, const float *x, size_t count, size_t d,
		  double *deviation)
{
	for (size_t r = 0; r < count; r++)
		c->values[r] = (double) x[r * d];
	return gap_of(c->values, count, deviation);
}

static void
gap_within(hidden_search *c, size_t a, fc_arena *arena, double *gap)
{
	fc_mark		mark = fc_arena_mark(arena);
	size_t		axes = smaller(FC_HIDDEN_AXES, c->d);
	float	   *basis = FC_TAKE(arena, axes * c->d, float);
	float	   *y = FC_TAKE(arena, c->n * axes, float);
	double	   *deviation = FC_TAKE(arena, c->d, double);
	size_t		count = 0;

	*gap = 0.0;
	for (size_t r = 0; r < c->n; r++)
		if ((size_t) c->label[r] == a)
			memcpy(c->centred + count++ * c->d, c->y + r * c->d,
				   c->d * sizeof(float));
	if (count >= MIN_SEARCHED_ROWS)
	{
		fc_center_rows(c->centred, count, c->d);
		for (size_t i = 0; i < c->d; i++)
			*gap = fmax(*gap,
						gap_along(c, c->centred + i, count, c->d, &deviation[i]));
		for (size_t i = 0; i < count * c->d; i++)
			c->centred[i] /= deviation[i % c->d] > 0.0
				? (float) deviation[i % c->d]
				: 1.0f;
		fc_principal_axes(c->centred, count, c->d, axes, 0, arena, basis);
		for (size_t r = 0; r < count; r++)
			fc_dense_apply(basis, axes, c->d, c->centred + r * c->d, y + r * axes);
		for (size_t i = 0; i < axes; i++)
		{
			double		square = 0.0;	/* squared length of a unit step along
										 * the axis, in the coordinates of
										 * c->y */
			double		unused;

			for (size_t j = 0; j < c->d; j++)
				square += deviation[j] * deviation[j] *
					(double) basis[i * c->d + j] *
					(double) basis[i * c->d + j];
			*gap = fmax(*gap, sqrt(square) *
						gap_along(c, y + i, count, axes, &unused));
		}
	}
	fc_arena_release(arena, mark);
}

static void
find_hidden(hidden_search *c, const int32_t *nearest, fc_arena *arena,
			uint8_t *hides)
{
	for (size_t a = 0; a < c->k; a++)
	{
		double		gap;

		fc_check();
		gap_within(c, a, arena, &gap);
		hides[a] |= gap > 0.0 && nearest[a] >= 0 &&
			gap >= FC_HIDDEN_SHARE *
			gap_between(c, a, (size_t) nearest[a]);
	}
}

/* Sets c->label of each row to its nearest centroid. */
static void
label_rows(hidden_search *c, const fc_halves *halves, fc_arena *arena)
{
	fc_rows		rows = {.x = halves->x,.n = halves->n,.d = halves->d};
	fc_kmeans_options options = {0};	/* no starts and no steps: rows are
										 * labelled by the given centroids */
	fc_kmeans_result result = {
		.centroids = FC_TAKE(arena, c->k * c->d, double),
		.weights = FC_TAKE(arena, c->k, double),
		.labels = c->label
	};

	fc_kmeans(&rows, c->k, c->centroids, &options, arena, &result);
}

void
fc_count_hidden(const fc_halves *rows, const double *centroids, size_t k,
				fc_arena *arena, size_t *hidden)
{
	fc_mark		mark = fc_arena_mark(arena);
	size_t		n = rows->n;
	size_t		d = rows->d;
	hidden_search c = {.y = rows->y,.n = n,.d = d,.k = k,.centroids = centroids};
	int32_t    *nearest = FC_TAKE(arena, k, int32_t);
	double	   *distance = FC_TAKE(arena, k, double);
	uint8_t    *hides = FC_TAKE_ZEROED(arena, k, uint8_t);

	c.label = FC_TAKE(arena, n, int32_t);
	c.centred = FC_TAKE(arena, n * d, float);
	c.values = FC_TAKE(arena, n, double);
	label_rows(&c, rows, arena);
	fc_nearest_others(centroids, k, d, nearest, distance);
	find_hidden(&c, nearest, arena, hides);
	if (rows->y != rows->x)
	{
		/*
		 * Repeat the search without the coordinates to which fc_halves_deal
		 * added random offsets: set these coordinates to 0.
		 */
		float	   *others = FC_TAKE(arena, n * d, float);

		for (size_t i = 0; i < n * d; i++)
			others[i] = rows->y[i % d] != rows->x[i % d] ? 0.0f : rows->x[i];
		c.y = others;
		find_hidden(&c, nearest, arena, hides);
	}
	*hidden = 0;
	for (size_t a = 0; a < k; a++)
		*hidden += hides[a];
	fc_arena_release(arena, mark);
}

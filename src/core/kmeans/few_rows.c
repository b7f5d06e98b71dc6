/*
 * few_rows.c - the choice of the number of clusters of few rows; see choose.h
 */
#include "kmeans/choose.h"

#include "base/rng.h"
#include "kmeans/ordered.h"
#include "numerics/rows.h"

/*
 * Minimum number of dimensions of wide rows, whose silhouettes are measured on
 * their leading principal axes. The silhouettes of rows with fewer dimensions
 * are measured in all dimensions. In 10 to 60 dimensions these are small even
 * if the clusters are separated. A guess.
 */
#define WIDE_DIMENSIONS	11

/*
 * Number of resamples. More resamples measure stability more precisely, and
 * take proportionally longer. A guess.
 */
#define RESAMPLES	20

/*
 * Numbers of k-means++ starts for all rows, and for a resample. More starts
 * find a lower SSE and take longer. Guesses.
 */
#define STARTS	5
#define RESAMPLE_STARTS	2

typedef struct few_search
{
	const fc_rows *rows;
	fc_kmeans_options options;
	fc_arena   *arena;
	float	   *projected;		/* n x axes: rows on their leading principal
								 * axes */
	size_t		axes;			/* number of leading principal axes that are
								 * stored; 0 if rows are not wide */
	double	   *distance;		/* n x n: distances between the rows; for wide
								 * rows, on leading principal axes */
} few_search;

static void
run_kmeans(few_search *w, const fc_rows *rows, int starts, uint64_t seed,
		   fc_kmeans_result *result, size_t k)
{
	w->options.n_init = starts;
	w->options.seed = seed;
	fc_kmeans(rows, k, NULL, &w->options, w->arena, result);
}

static fc_kmeans_result
new_result(size_t n, size_t d, size_t k, fc_arena *arena)
{
	return (fc_kmeans_result)
	{
		.centroids = FC_TAKE(arena, k * d, double),
			.weights = FC_TAKE(arena, k, double),
			.labels = FC_TAKE(arena, n, int32_t)
	};
}

/*
 * Returns the mean silhouette of the rows (P. Rousseeuw 1987). The silhouette
 * of a row is (b - a) / max(a, b), where a is the mean distance to the other
 * rows of its cluster, and b is the mean distance to the rows of another
 * cluster, the one for which this mean is smallest. It is 0 for a row that is
 * a cluster by itself.
 */
static double
silhouette(const few_search *w, const int32_t *label, size_t k)
{
	size_t		n = w->rows->n;
	fc_mark		mark = fc_arena_mark(w->arena);
	double	   *sum = FC_TAKE(w->arena, k, double);
	size_t	   *count = FC_TAKE_ZEROED(w->arena, k, size_t);
	double		total = 0.0;

	for (size_t i = 0; i < n; i++)
		count[label[i]]++;
	for (size_t i = 0; i < n; i++)
	{
		size_t		own = (size_t) label[i];
		double		other = INFINITY;

		if (count[own] < 2)
			continue;
		memset(sum, 0, k * sizeof(double));
		for (size_t r = 0; r < n; r++)
			sum[label[r]] += w->distance[i * n + r];
		for (size_t j = 0; j < k; j++)
			if (j != own && count[j] > 0)
				other = fmin(other, sum[j] / (double) count[j]);
		sum[own] /= (double) (count[own] - 1);
		if (isfinite(other) && fmax(sum[own], other) > 0.0)
			total += (other - sum[own]) / fmax(sum[own], other);
	}
	fc_arena_release(w->arena, mark);
	return total / (double) n;
}

/*
 * Sets w->distance to the distances between the n rows of x in the first d
 * dimensions. Each row of x has `stride` values.
 */
static void
measure_distances(few_search *w, const float *x, size_t stride, size_t d)
{
	size_t		n = w->rows->n;

	for (size_t i = 0; i < n; i++)
		for (size_t r = 0; r < n; r++)
			w->distance[i * n + r] = sqrt(fc_row_gap(x + i * stride, x + r * stride, d));
}

/*
 * Returns the mean silhouette on the leading `axes` axes of wide rows, or in
 * all dimensions of narrow ones.
 */
static double
silhouette_of(few_search *w, const int32_t *label, size_t k, size_t axes)
{
	if (w->axes > 0)
		measure_distances(w, w->projected, w->axes, axes);
	return silhouette(w, label, k);
}

static double
pairs(double count)
{
	return count * (count - 1.0) / 2.0;
}

/*
 * Returns the adjusted Rand index of two labellings with k labels each (L.
 * Hubert, P. Arabie 1985); 1 if both have a single cluster, or if every row is
 * a cluster by itself in both.
 */
static double
adjusted_rand(const int32_t *a, const int32_t *b, size_t n, size_t k, fc_arena *arena)
{
	fc_mark		mark = fc_arena_mark(arena);
	double	   *both = FC_TAKE_ZEROED(arena, k * k, double);
	double		together = 0.0;
	double		in_a = 0.0;
	double		in_b = 0.0;
	double		expected;

	for (size_t i = 0; i < n; i++)
		both[(size_t) a[i] * k + (size_t) b[i]] += 1.0;
	for (size_t i = 0; i < k; i++)
	{
		double		row = 0.0;
		double		column = 0.0;

		for (size_t j = 0; j < k; j++)
		{
			row += both[i * k + j];
			column += both[j * k + i];
			together += pairs(both[i * k + j]);
		}
		in_a += pairs(row);
		in_b += pairs(column);
	}
	fc_arena_release(arena, mark);
	expected = in_a * in_b / pairs((double) n);
	return in_a + in_b == 2.0 * expected ? 1.0
		: (together - expected) / ((in_a + in_b) / 2.0 - expected);
}

/* Sets label[i] to the index of the centroid that is nearest to row i. */
static void
label_rows(const fc_rows *rows, const double *centroids, size_t k, int32_t *label)
{
	for (size_t i = 0; i < rows->n; i++)
	{
		double		min = INFINITY;

		for (size_t j = 0; j < k; j++)
		{
			double		square = 0.0;

			for (size_t c = 0; c < rows->d; c++)
			{
				double		difference = ((double) rows->x[i * rows->d + c] -
										  centroids[j * rows->d + c]);

				square += difference * difference;
			}
			if (square < min)
			{
				min = square;
				label[i] = (int32_t) j;
			}
		}
	}
}

/*
 * Returns the mean adjusted Rand index between `label` and the labels of all
 * rows by the centroids of resamples. A resample has n rows, drawn from all n
 * rows with replacement. w->options.seed must be the seed with which `label`
 * was found.
 */
static double
resampled_agreement(few_search *w, const int32_t *label, size_t k)
{
	size_t		n = w->rows->n;
	size_t		d = w->rows->d;
	fc_mark		mark = fc_arena_mark(w->arena);
	fc_rng		rng = fc_rng_start(w->options.seed, k);
	float	   *x = FC_TAKE(w->arena, n * d, float);
	int32_t    *again = FC_TAKE(w->arena, n, int32_t);
	fc_kmeans_result result = new_result(n, d, k, w->arena);
	fc_rows		drawn = {.x = x,.n = n,.d = d};
	double		sum = 0.0;

	for (uint64_t sample = 0; sample < RESAMPLES; sample++)
	{
		fc_check();
		for (size_t i = 0; i < n; i++)
			memcpy(x + i * d, w->rows->x + fc_rng_below(&rng, n) * d, d * sizeof(float));
		run_kmeans(w, &drawn, RESAMPLE_STARTS, sample, &result, k);
		label_rows(w->rows, result.centroids, k, again);
		sum += adjusted_rand(label, again, n, k, w->arena);
	}
	fc_arena_release(w->arena, mark);
	return sum / RESAMPLES;
}

static bool
has_small_cluster(const fc_kmeans_result *result, size_t k)
{
	for (size_t j = 0; j < k; j++)
		if (result->weights[j] < FC_FEW_PER_CLUSTER)
			return true;
	return false;
}

/*
 * Clusters the rows into k clusters and sets *tried. Returns the mean
 * silhouette of the clusters, which for wide rows is measured on the leading k
 * principal axes. For wide rows, sets *between to the mean silhouette on the
 * leading k - 1 axes, which the centroids of separated clusters span. For
 * other rows, *between is the silhouette that is returned. Both are 0 if k is
 * 1 or a cluster has fewer than FC_FEW_PER_CLUSTER rows, such as a few
 * outliers.
 */
static double
try_few(few_search *w, size_t k, uint64_t seed, fc_tried *tried, double *between)
{
	fc_mark		mark = fc_arena_mark(w->arena);
	fc_kmeans_result result = new_result(w->rows->n, w->rows->d, k, w->arena);
	double		width = 0.0;

	*between = 0.0;
	run_kmeans(w, w->rows, STARTS, seed, &result, k);
	*tried = (fc_tried)
	{
		.k = k,
			.evidence =
		{
			.cost = result.sse / (double) w->rows->n,
				.separated = (double) k,
				.found = (double) k
		},
			.stability = NAN
	};
	if (k > 1)
	{
		if (!has_small_cluster(&result, k))
			width = *between = silhouette_of(w, result.labels, k, k);
		if (width > 0.0 && w->axes > 0)
			*between = silhouette_of(w, result.labels, k, k - 1);
		tried->evidence.agreement = tried->stability =
			resampled_agreement(w, result.labels, k);
	}
	fc_arena_release(w->arena, mark);
	return width;
}

/*
 * Returns the minimum silhouette of k clear clusters. The minimum is higher
 * along one axis, where silhouettes are large even without clusters.
 */
static double
min_silhouette(const few_search *w, size_t k)
{
	bool		line = w->rows->d == 1 || (w->axes > 0 && k == 2);

	return line ? FC_FEW_LINE_SILHOUETTE : FC_FEW_SILHOUETTE;
}

void
fc_choose_of_few(const fc_rows *rows, size_t max_k, const fc_kmeans_options *options,
				 fc_arena *arena, fc_choice *choice)
{
	fc_mark		mark = fc_arena_mark(arena);
	few_search	w = {.rows = rows,.options = fc_kmeans_defaults(),.arena = arena};
	size_t		max = rows->n / FC_FEW_PER_CLUSTER;
	double		widest = -INFINITY;
	const fc_tried *chosen;

	max = max < max_k ? max : max_k;
	max = max < FC_FEW_CLUSTERS ? max : FC_FEW_CLUSTERS;
	*choice = (fc_choice)
	{
		.few = true
	};
	w.options.sphere = options->sphere;
	w.options.rounds = 0;
	w.distance = FC_TAKE(arena, rows->n * rows->n, double);
	if (rows->d < WIDE_DIMENSIONS)
		measure_distances(&w, rows->x, rows->d, rows->d);
	else
	{
		double		lost;

		w.axes = FC_FEW_CLUSTERS;
		w.projected = FC_TAKE(arena, rows->n * w.axes, float);
		fc_rows_on_axes(rows, w.axes, NULL, arena, w.projected, &lost);
	}
	for (size_t k = 1; k <= (max < 1 ? 1 : max); k++)
	{
		fc_tried   *tried = &choice->tried[choice->count];
		double		between;
		double		width = try_few(&w, k, options->seed, tried, &between);

		if (k > 1 && width > widest)
		{
			widest = width;
			choice->apart = between > min_silhouette(&w, k);
			choice->chosen = choice->count;
		}
		choice->count++;
		if (choice->tried[0].evidence.cost <= 0.0)
			break;				/* all rows are equal */
	}
	chosen = &choice->tried[choice->chosen];
	if (chosen->k > 1 && choice->apart && chosen->stability > FC_FEW_STABILITY &&
		chosen->evidence.cost > FC_NO_SPREAD * choice->tried[0].evidence.cost)
		choice->verdict = chosen->k == FC_FEW_CLUSTERS || chosen->k == max_k
			? FC_K_LIMIT : FC_K_CLEAR;
	fc_arena_release(arena, mark);
}

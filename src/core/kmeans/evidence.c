/*
 * evidence.c - how well k clusters describe rows; see evidence.h
 *
 * Cost: two searches of k-means on n / 2 rows, and 2 n k d multiply-adds.
 */
#include "kmeans/evidence.h"

#include "base/rng.h"
#include "numerics/assignment.h"
#include "numerics/rows.h"

/* Random stream that draws the halves. */
#define STREAM_HALVES	7

/*
 * Random stream of the seeds; a search for k clusters uses stream STREAM_SEEDS
 * + k.
 */
#define STREAM_SEEDS	8

/* Number of windows along the line between two centroids. */
#define PLACES	(2 * FC_VALLEY_BINS - FC_VALLEY_WINDOW + 1)

/* ---- valleys ---- */

fc_valleys
fc_valleys_start(const double *centroids, size_t k, size_t d, fc_arena *arena)
{
	fc_valleys	valleys = {
		.k = k,
		.slope = FC_TAKE(arena, k * k, double),
		.counts = FC_TAKE_ZEROED(arena, k * k * FC_VALLEY_BINS, uint32_t),
		.rows = FC_TAKE_ZEROED(arena, k, size_t)
	};

	for (size_t i = 0; i < k; i++)
		for (size_t j = 0; j <= i; j++)
		{
			double		square = fc_square_between(centroids + i * d,
												   centroids + j * d, d);
			double		slope = square > 0.0 ? 0.5 / square : 0.0;

			valleys.slope[i * k + j] = slope;
			valleys.slope[j * k + i] = slope;
		}
	return valleys;
}

void
fc_valleys_add(fc_valleys *valleys, const double *squares, size_t label)
{
	const double *slope = valleys->slope + label * valleys->k;
	uint32_t   *counts = valleys->counts + label * valleys->k * FC_VALLEY_BINS;

	valleys->rows[label]++;
	for (size_t j = 0; j < valleys->k; j++)
	{
		/* distance of the row from the border to cluster j, in bins */
		double		bins = ((squares[j] - squares[label]) * slope[j] /
							FC_VALLEY_WIDTH);

		if (j != label && bins < FC_VALLEY_BINS)
			counts[j * FC_VALLEY_BINS + (bins > 0.0 ? (size_t) bins : 0)]++;
	}
}

/*
 * Counts rows in windows along the line from the centroid of cluster i to the
 * centroid of cluster j.
 */
static void
window_counts(const fc_valleys *valleys, size_t i, size_t j, double *window)
{
	const uint32_t *near = (valleys->counts +
							(i * valleys->k + j) * FC_VALLEY_BINS);
	const uint32_t *far = (valleys->counts +
						   (j * valleys->k + i) * FC_VALLEY_BINS);

	for (size_t v = 0; v < PLACES; v++)
	{
		window[v] = 0.0;
		for (size_t b = v; b < v + FC_VALLEY_WINDOW; b++)
			window[v] += b < FC_VALLEY_BINS ? near[FC_VALLEY_BINS - 1 - b]
				: far[b - FC_VALLEY_BINS];
	}
}

/*
 * Returns true if clusters i and j have a valley between them: a window of
 * bins with far fewer rows than a window before it and a window after it
 * (evidence.h). Also returns true if no window has rows both in the windows
 * before it and in the windows after it.
 */
static bool
has_valley(const fc_valleys *valleys, size_t i, size_t j)
{
	double		window[PLACES];
	double		greatest_from[PLACES + 1];	/* greatest count in windows v and
											 * above */
	double		greatest = 0.0; /* greatest count in windows below v */
	bool		meets = false;	/* true if a window had rows in windows before
								 * it and after it */

	window_counts(valleys, i, j, window);
	greatest_from[PLACES] = 0.0;
	for (size_t v = PLACES; v-- > 0;)
		greatest_from[v] = fmax(greatest_from[v + 1], window[v]);
	for (size_t v = 0; v < PLACES; v++)
	{
		double		peak = fmin(greatest, greatest_from[v + 1]);

		meets = meets || peak > 0.0;
		if (peak > 0.0 && window[v] <= FC_VALLEY_DEPTH * peak &&
			peak - window[v] >= FC_VALLEY_ERRORS * sqrt(peak + window[v]))
			return true;
		greatest = fmax(greatest, window[v]);
	}
	return !meets;
}

static size_t
root_of(size_t *parent, size_t i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

void
fc_valleys_count(const fc_valleys *valleys, fc_arena *arena, size_t *separated)
{
	fc_mark		mark = fc_arena_mark(arena);
	size_t	   *parent = FC_TAKE(arena, valleys->k, size_t);

	*separated = 0;
	for (size_t i = 0; i < valleys->k; i++)
	{
		parent[i] = i;
		if (valleys->rows[i] < FC_VALLEY_ROWS)
			continue;
		++*separated;
		for (size_t j = 0; j < i; j++)
		{
			fc_check();
			if (valleys->rows[j] < FC_VALLEY_ROWS ||
				root_of(parent, i) == root_of(parent, j) ||
				has_valley(valleys, i, j))
				continue;
			parent[root_of(parent, i)] = root_of(parent, j);
			--*separated;
		}
	}
	fc_arena_release(arena, mark);
}

/* ---- evidence from two halves of the rows ---- */

typedef struct evidence_half
{
	fc_rows		rows;
	double	   *centroids;		/* k x d */
	int32_t    *labels;			/* n: labels of all rows, by `centroids` */
	fc_valleys	valleys;
	double		cost;			/* sum of squared distances over the rows of
								 * the other half */
} evidence_half;

typedef struct comparison
{
	const fc_halves *all;
	size_t		k;
	float	   *rounded;		/* k x d: the centroids of one half in float */
	double	   *squares;		/* k: squared distances of one row to the
								 * centroids */
	double	   *counts;			/* k x k contingency table: number of rows
								 * with each pair of labels */
	int32_t    *number;			/* k: cluster of the second half that matches
								 * each cluster of the first */
	evidence_half half[2];
} comparison;

size_t
fc_few_values(const float *x, size_t n, size_t d, size_t c, float values[FC_FEW_VALUES])
{
	size_t		count = 0;

	for (size_t i = 0; i < n; i++)
	{
		float		value = x[i * d + c];
		size_t		place = 0;

		while (place < count && values[place] != value)
			place++;
		if (place == FC_FEW_VALUES)
			return 0;
		values[place] = value;
		count = larger(count, place + 1);
	}
	return count;
}

/*
 * Returns the mean step between the distinct values of a coordinate, or 0 if
 * it has only one value or more than FC_FEW_VALUES.
 */
static double
step_of(const fc_halves *h, size_t c)
{
	float		values[FC_FEW_VALUES];
	size_t		count = fc_few_values(h->x, h->n, h->d, c, values);
	double		min = INFINITY;
	double		max = -INFINITY;

	for (size_t i = 0; i < count; i++)
	{
		min = fmin(min, (double) values[i]);
		max = fmax(max, (double) values[i]);
	}
	return count > 1 ? (max - min) / (double) (count - 1)
		: 0.0;
}

/*
 * Sets h->y to the rows with random offsets added to coordinates of few
 * distinct values: a uniform draw of up to one step in either direction. Adds
 * none to coordinates marked in `apart`. h->y is h->x if no coordinate
 * changes.
 */
static void
spread_values(fc_halves *h, const bool *apart, fc_rng *rng, fc_arena *arena)
{
	h->y = h->x;
	for (size_t c = 0; c < h->d; c++)
	{
		double		step = apart != NULL && apart[c] ? 0.0 : step_of(h, c);

		if (step == 0.0)
			continue;
		if (h->y == h->x)
		{
			h->y = FC_TAKE(arena, h->n * h->d, float);
			memcpy(h->y, h->x, h->n * h->d * sizeof(float));
		}
		for (size_t i = 0; i < h->n; i++)
			h->y[i * h->d + c] += (float) ((2.0 * fc_rng_uniform(rng) - 1.0) *
										   step);
	}
}

fc_halves
fc_halves_deal(const fc_rows *rows, bool halved, const bool *apart, uint64_t seed,
			   fc_arena *arena)
{
	fc_halves	h = {
		.x = FC_TAKE(arena, rows->n * rows->d, float),
		.n = rows->n,
		.d = rows->d
	};
	fc_rng		rng = fc_rng_start(seed, STREAM_HALVES);
	size_t		row_size = h.d * sizeof(float);

	FC_ASSERT(rows->n >= 2);
	for (size_t i = 0; i < h.n; i++)	/* inside-out shuffle of Fisher and
										 * Yates */
	{
		size_t		first = halved && i >= h.n / 2 ? h.n / 2 : 0;
		size_t		j = first + fc_rng_below(&rng, i - first + 1);

		if (j < i)
			memcpy(h.x + i * h.d, h.x + j * h.d, row_size);
		memcpy(h.x + j * h.d, rows->x + i * h.d, row_size);
	}
	spread_values(&h, apart, &rng, arena);
	return h;
}

/* Allocates all arrays of a comparison. */
static comparison
take_comparison(const fc_halves *all, const fc_half_centroids *found,
				fc_arena *arena)
{
	comparison	h = {.all = all,.k = found->k};
	size_t		n = all->n;

	h.rounded = FC_TAKE(arena, h.k * all->d, float);
	h.squares = FC_TAKE(arena, h.k, double);
	h.counts = FC_TAKE(arena, h.k * h.k, double);
	h.number = FC_TAKE(arena, h.k, int32_t);
	for (size_t side = 0; side < 2; side++)
	{
		evidence_half *half = &h.half[side];

		half->centroids = found->of[side];
		half->labels = FC_TAKE(arena, n, int32_t);
		half->rows = (fc_rows)
		{
			.x = all->x + side * (n / 2) * all->d,
				.d = all->d
		};
		half->rows.n = side == 0 ? n / 2 : n - n / 2;
	}
	return h;
}

/*
 * Sets centroids first .. k - 1 to rows. The probability of a row is
 * proportional to its squared distance from the nearest centroid so far
 * (k-means++).
 */
static void
add_seeds(const fc_rows *rows, size_t first, size_t k, uint64_t seed,
		  fc_arena *arena, double *centroids)
{
	fc_rng		rng = fc_rng_start(seed, STREAM_SEEDS + k);
	double	   *near = FC_TAKE(arena, rows->n, double);
	float	   *rounded = FC_TAKE(arena, rows->d, float);

	for (size_t i = 0; i < rows->n; i++)
		near[i] = INFINITY;
	for (size_t j = 0; j < k; j++)
	{
		double		total = 0.0;

		if (j >= first)
		{
			size_t		drawn = 0;
			double		place;

			for (size_t i = 0; i < rows->n; i++)
				total += near[i];
			place = fc_rng_uniform(&rng) * total;
			while (drawn + 1 < rows->n && (place -= near[drawn]) > 0.0)
				drawn++;
			fc_widen(rows->x + drawn * rows->d, rows->d,
					 centroids + j * rows->d);
		}
		fc_narrow(centroids + j * rows->d, rows->d, rounded);
		for (size_t i = 0; i < rows->n; i++)
		{
			fc_check();
			near[i] = fmin(near[i],
						   fc_row_gap(rows->x + i * rows->d, rounded, rows->d));
		}
	}
}

static void
fit_half(comparison *h, size_t side, const fc_half_centroids *fewer,
		 const fc_kmeans_options *options, fc_arena *arena)
{
	evidence_half *half = &h->half[side];
	fc_mark		mark = fc_arena_mark(arena);
	size_t		d = half->rows.d;
	double	   *initial = NULL;
	fc_kmeans_result result = {.centroids = half->centroids};
	fc_kmeans_options go_on = *options;

	result.weights = FC_TAKE(arena, h->k, double);
	if (fewer != NULL)
	{
		initial = FC_TAKE(arena, h->k * d, double);
		go_on.n_init = 0;
		memcpy(initial, fewer->of[side], fewer->k * d * sizeof(double));
		add_seeds(&half->rows, fewer->k, h->k, options->seed, arena, initial);
	}
	fc_kmeans(&half->rows, h->k, initial, &go_on, arena, &result);
	fc_arena_release(arena, mark);
	half->cost = 0.0;
	half->valleys = fc_valleys_start(half->centroids, h->k, d, arena);
}

/*
 * Returns the index of the centroid nearest to a row, and stores the squared
 * distances to all centroids in h->squares.
 */
static size_t
nearest(comparison *h, const float *x)
{
	size_t		label = 0;

	for (size_t j = 0; j < h->k; j++)
	{
		h->squares[j] = fc_row_gap(x, h->rounded + j * h->all->d, h->all->d);
		label = h->squares[j] < h->squares[label] ? j : label;
	}
	return label;
}

/*
 * Labels all rows by the centroids of one half, and counts them for the
 * valleys of this half. Sets half->cost to the sum of the squared distances of
 * the other half's rows to their nearest centroids.
 */
static void
judge_rows(comparison *h, evidence_half *half, size_t side)
{
	const fc_halves *all = h->all;

	fc_narrow(half->centroids, h->k * all->d, h->rounded);
	for (size_t i = 0; i < all->n; i++)
	{
		size_t		label = nearest(h, all->x + i * all->d);

		fc_check();
		half->labels[i] = (int32_t) label;
		if ((i < all->n / 2) != (side == 0))
			half->cost += h->squares[label];
		if (all->y != all->x)
			label = nearest(h, all->y + i * all->d);
		fc_valleys_add(&half->valleys, h->squares, label);
	}
}

/*
 * Sets *agreement to the fraction of the rows to which both halves give
 * matching clusters, and *returning to the number of clusters that both halves
 * reproduce.
 */
static void
measure_agreement(comparison *h, fc_arena *arena, double *agreement,
				  size_t *returning)
{
	memset(h->counts, 0, h->k * h->k * sizeof(double));
	for (size_t i = 0; i < h->all->n; i++)
		h->counts[(size_t) h->half[0].labels[i] * h->k +
				  (size_t) h->half[1].labels[i]]++;
	fc_pair_labels(h->counts, h->k, h->k, arena, h->number);
	*agreement = 0.0;
	*returning = 0;
	for (size_t j = 0; j < h->k; j++)
	{
		double		common = h->counts[j * h->k + (size_t) h->number[j]];
		double		either = ((double) (h->half[0].valleys.rows[j] +
										h->half[1].valleys.rows[h->number[j]]) -
							  common);

		*agreement += common / (double) h->all->n;
		*returning += common >= FC_EVIDENCE_OVERLAP * either && common > 0.0;
	}
}

void
fc_kmeans_evidence(const fc_halves *halves, const fc_half_centroids *fewer,
				   const fc_kmeans_options *options, fc_arena *arena,
				   const fc_half_centroids *found, fc_evidence *evidence)
{
	comparison	h = take_comparison(halves, found, arena);
	size_t		returning;

	evidence->cost = evidence->separated = 0.0;
	for (size_t side = 0; side < 2; side++)
	{
		size_t		separated;

		fit_half(&h, side, fewer, options, arena);
		judge_rows(&h, &h.half[side], side);
		fc_valleys_count(&h.half[side].valleys, arena, &separated);
		evidence->cost += h.half[side].cost / (double) halves->n;
		evidence->separated += 0.5 * (double) separated;
	}
	measure_agreement(&h, arena, &evidence->agreement, &returning);
	evidence->found = (double) returning < evidence->separated
		? (double) returning
		: evidence->separated;
}

/*
 * lloyd.c - one start: measures the rows, draws seeds by greedy k-means++, and
 * takes Lloyd's steps.
 *
 * k-means++: centroid j + 1 is the best of 2 + log k rows drawn with
 * probability w_i D_i^2, where D_i is the distance to the nearest centroid so
 * far. The best row is the one after which sum_i w_i D_i^2, the potential, is
 * lowest. Squared distances are computed directly for small d. For large d,
 * they are computed as ||x||^2 + ||c||^2 - 2 x . c, unless the terms cancel.
 * Cost: n k d (3 + log k) multiply-adds. If a tree or bounds make Lloyd's
 * steps cheap, the seeds are drawn from a random sample of the rows: steps
 * from these seeds, with rounds of splits and merges, reach the same SSE.
 *
 * Lloyd's steps: let W_j and S_j be the weight and sum of cluster j. The
 * objective after an update is sum w ||x||^2 - sum_j ||S_j||^2 / W_j, which
 * needs no extra pass over the rows. Sums are double. On a sphere, the point
 * that fits the rows of a cluster best is in the direction of their mean
 * (Dhillon & Modha 2001). Once the rounding bound of scores exceeds
 * VISIBLE_SSE_SHARE of the mean squared distance, rows are assigned by careful
 * distances (search.c).
 *
 * Lloyd 1982; Arthur, Vassilvitskii 2007, section 5 (greedy variant).
 */
#include "kmeans/internal.h"

#include <float.h>

#include "numerics/dense.h"
#include "numerics/rows.h"

/*
 * Maximum number of candidates for a centroid, the size of an array; 2 + log k
 * stays below.
 */
#define MAX_DRAWS	64

/*
 * Minimum number of rows per cluster in the sample from which seeds are drawn
 * if there is a k-d tree. More rows give better seeds, but cost more
 * distances. Halving or doubling it changes neither the SSE nor the time
 * (bench/tuned.py).
 */
#define SEED_ROWS	8

/*
 * Minimum number of rows per cluster in the sample from which seeds are drawn
 * in many dimensions, where a candidate costs more. A guess.
 */
#define WIDE_SEED_ROWS	4

/*
 * The sample from which seeds are drawn has at least 1 / SEED_SHARE of all
 * rows. With a larger SEED_SHARE, the sample has fewer rows, and the seeds are
 * worse but take less time. A guess.
 */
#define SEED_SHARE	16

/*
 * Number of candidates per centroid that are drawn from a sample of the rows.
 * More candidates give better seeds, but cost proportionally more distances. A
 * guess.
 */
#define SEED_DRAWS	2

/*
 * Fraction of ||x||^2 + ||c||^2 below which a squared distance is computed
 * directly, because cancellation leaves only four of seven digits. A larger
 * share is safer and slower. A guess.
 */
#define CANCELLED_SHARE	1e-3f

/*
 * Rounding error of a squared distance in float, relative to ||x||^2: 67 units
 * of 2^-24. Rows at a smaller distance from their centroid are not moved into
 * empty clusters. With a larger one, fewer rows can be moved; with a smaller
 * one, rows are moved that only seem to be far. A guess.
 */
#define DISTANCE_ROUNDING	4e-6

/*
 * Number of Lloyd steps after which all rows are summed again. With fewer
 * steps, the rounding errors of moved rows are smaller; summing all rows costs
 * n d additions. A guess.
 */
#define STEPS_OF_SUMS	16

/*
 * Maximum length of a row, relative to the root mean square length of all
 * rows, for sums that are updated from step to step. If the longest row
 * exceeds it, each step sums all rows again, because the rounding error of
 * moving this row would remain in the sums. A smaller one makes such steps
 * more frequent. A guess.
 */
#define FAR_OUT	1e6

/*
 * Maximum difference between the SSE and the SSE to beat, relative to the fall
 * of the SSE in the last step. If the difference is greater, the steps end. A
 * larger one wastes steps, a smaller one ends steps that would succeed. A
 * guess.
 */
#define MAX_FALLS_TO_BEAT	20.0

/*
 * Maximum rounding error of scores, as a fraction of the SSE. If the bound on
 * the error exceeds it, rows are assigned by distances instead of scores,
 * which takes longer. A guess.
 */
#define VISIBLE_SSE_SHARE	1e-2

/* ---- rows ---- */

void
fc_kmeans_measure_rows(fc_kmeans_work *w)
{
	fc_kmeans_rows *rows = &w->rows;
	size_t		d = rows->d;
	double	   *ones = NULL;

	rows->norm = FC_TAKE(w->arena, rows->n, float);
	rows->packs = d <= FC_PACK_DIMENSIONS
		? FC_TAKE(w->arena, (rows->n + FC_PACK) * d, float)
		: NULL;
	if (rows->weight == NULL)
		rows->weight = ones = FC_TAKE(w->arena, rows->n, double);
	for (size_t i = 0; ones != NULL && i < rows->n; i++)
		ones[i] = 1.0;
	for (size_t i = 0; i < rows->n; i++)
	{
		double		weight = rows->weight[i];
		double		square = fc_row_square(rows->x + i * d, d);

		if (i % FC_PACK == 0)
		{
			fc_check();
			if (rows->packs != NULL)
				fc_kmeans_pack(rows->x + i * d,
							   rows->n - i < FC_PACK ? rows->n - i : FC_PACK, d,
							   rows->packs + i * d);
		}
		rows->norm[i] = (float) square;
		rows->total += weight;
		rows->spread += weight * square;
		rows->length = fc_greater(rows->length, sqrt(square));
		if (weight > rows->weight[rows->heaviest])
			rows->heaviest = i;
	}
}

/* ---- k-means++ ---- */

/*
 * Sets out[q * stride + r] to the squared distance between row start + r and
 * candidate first + q, for all rows r of a block and q < count.
 */
static void
candidate_distances(fc_kmeans_work *w, size_t start, size_t first, size_t count,
					float *out, size_t stride)
{
	size_t		rows = smaller(start + FC_TILE_ROWS, w->rows.n) - start;
	size_t		d = w->rows.d;
	const float *candidates = w->seeding.candidate + first * d;

	w->compared += count * rows;
	w->visited += count * rows / 4;
	fc_check();
	if (w->rows.packs == NULL)
		fc_dots(candidates, count, w->rows.x + start * d, rows, d, w->tile,
				FC_TILE_ROWS);
	for (size_t q = 0; q < count; q++)
	{
		const float *c = candidates +q * d;
		float		norm;

		for (size_t i = 0; w->rows.packs != NULL && i < rows; i += FC_PACK)
			fc_kmeans_pack_distance(w->rows.packs + (start + i) * d, d, c,
									out + q * stride + i);
		if (w->rows.packs != NULL)
			continue;
		norm = (float) fc_row_square(c, d);
		for (size_t r = 0; r < rows; r++)
		{
			float		both = w->rows.norm[start + r] + norm;
			float		square = both - 2.0f * w->tile[q * FC_TILE_ROWS + r];

			if (square < CANCELLED_SHARE * both)
				square = (float) fc_row_gap(w->rows.x + (start + r) * d, c, d);
			out[q * stride + r] = square;
		}
	}
}

/* Returns the index of the candidate with which the potential is lowest. */
static size_t
best_candidate(fc_kmeans_work *w, size_t count)
{
	double		total[MAX_DRAWS] = {0.0};
	size_t		best = 0;

	for (size_t start = 0; start < w->rows.n; start += FC_TILE_ROWS)
	{
		float	   *out = (w->rows.packs != NULL ? w->seeding.distance
						   : w->seeding.distance + start);
		size_t		stride = w->rows.packs != NULL ? FC_TILE_ROWS : w->rows.n;

		candidate_distances(w, start, 0, count, out, stride);
		for (size_t q = 0; q < count; q++)
			total[q] += fc_kmeans_potential(w, out + q * stride, start,
											smaller(start + FC_TILE_ROWS,
													w->rows.n),
											false);
	}
	for (size_t q = 1; q < count; q++)
		if (total[q] < total[best])
			best = q;
	return best;
}

/*
 * Lowers w->near to the squared distances to candidate q where these are less,
 * and recomputes the potential. If q is SIZE_MAX, w->near is unchanged.
 */
static void
keep_candidate(fc_kmeans_work *w, size_t q)
{
	w->seeding.total = 0.0;
	for (size_t start = 0; start < w->rows.n; start += FC_TILE_ROWS)
	{
		const float *measured = w->near + start;
		double		potential;

		if (q != SIZE_MAX)
			measured = w->rows.packs != NULL
				? w->seeding.distance
				: w->seeding.distance + q * w->rows.n + start;
		if (q != SIZE_MAX && w->rows.packs != NULL) /* distances are cheaper
													 * to compute again than
													 * to store */
			candidate_distances(w, start, q, 1, w->seeding.distance,
								FC_TILE_ROWS);
		potential = fc_kmeans_potential(w, measured, start,
										smaller(start + FC_TILE_ROWS,
												w->rows.n),
										true);
		w->seeding.potential[start / FC_TILE_ROWS] = potential;
		w->seeding.total += potential;
	}
}

/*
 * Sets w->near of every row to 1, as if there were no seeds, so that rows are
 * drawn by weight alone.
 */
static void
level_potential(fc_kmeans_work *w)
{
	for (size_t i = 0; i < w->rows.n; i++)
		w->near[i] = 1.0f;
	keep_candidate(w, SIZE_MAX);
}

/*
 * Returns a row drawn with probability weight[i] * near[i] / total. First
 * draws a block of rows, then a row of the block. If the draw exceeds the sum
 * by rounding, returns the last row of positive probability.
 */
static const float *
draw_row(fc_kmeans_work *w)
{
	double		rest = fc_rng_uniform(&w->rng) * w->seeding.total;
	size_t		start = 0;
	size_t		chosen;

	for (size_t b = 0; b < w->rows.n; b += FC_TILE_ROWS)
	{
		double		mass = w->seeding.potential[b / FC_TILE_ROWS];

		if (mass <= 0.0)
			continue;
		start = b;
		if (rest < mass)
			break;
		rest -= mass;
	}
	chosen = start;
	for (size_t i = start; i < smaller(start + FC_TILE_ROWS, w->rows.n); i++)
	{
		double		mass = w->rows.weight[i] * (double) w->near[i];

		if (mass <= 0.0)
			continue;
		chosen = i;
		if (rest < mass)
			break;
		rest -= mass;
	}
	return w->rows.x + chosen * w->rows.d;
}

/* Draws candidates for centroid j and keeps the best. */
static void
seed_one(fc_kmeans_work *w, size_t j)
{
	size_t		d = w->rows.d;
	size_t		draws = j == 0 ? 1 : w->seeding.draws;
	size_t		best;

	if (!(w->seeding.total > 0.0))	/* every row is a seed already: repeat
									 * some */
		level_potential(w);
	for (size_t q = 0; q < draws; q++)
		memcpy(w->seeding.candidate + q * d, draw_row(w), d * sizeof(float));
	for (size_t i = 0; j == 0 && i < w->rows.n; i++)
		w->near[i] = INFINITY;
	best = best_candidate(w, draws);
	keep_candidate(w, best);
	fc_widen(w->seeding.candidate + best * d, d, w->centroid + j * d);
}

/*
 * Divides w->rows into `max` consecutive shares of equal weight, and draws one
 * row from each. The drawn rows have no weights.
 */
static fc_kmeans_rows
draw_subset(fc_kmeans_work *w, size_t max)
{
	size_t		d = w->rows.d;
	float	   *x = FC_TAKE(w->arena, max * d, float);
	double		share = w->rows.total / (double) max;
	double		next = share * fc_rng_uniform(&w->rng);
	double		passed = 0.0;
	size_t		taken = 0;

	for (size_t i = 0; i < w->rows.n; i++)
		for (passed += w->rows.weight[i]; taken < max && next < passed;
			 next = share * ((double) taken + fc_rng_uniform(&w->rng)))
			memcpy(x + taken++ * d, w->rows.x + i * d, d * sizeof(float));
	return (fc_kmeans_rows)
	{
		.x = x,.n = taken,.d = d
	};
}

void
fc_kmeans_seed(fc_kmeans_work *w)
{
	const fc_kmeans_rows *rows = &w->rows;
	size_t		drawn = larger(rows->n / SEED_SHARE,
							   (w->wide ? WIDE_SEED_ROWS : SEED_ROWS) * w->k);
	fc_kmeans_work some = *w;

	if ((rows->order != NULL || w->wide) && drawn < rows->n)
	{
		some.rows = draw_subset(&some, drawn);
		some.seeding.draws = SEED_DRAWS;
		fc_kmeans_measure_rows(&some);
	}
	level_potential(&some);
	for (size_t j = 0; j < w->k; j++)
		seed_one(&some, j);
	w->rng = some.rng;
	w->compared = some.compared;
}

void
fc_kmeans_add(fc_kmeans_work *w, size_t count)
{
	keep_candidate(w, SIZE_MAX);
	for (size_t j = 0; j < count; j++)
		seed_one(w, w->k++);
}

/* ---- the nearest centroids ---- */

void
fc_kmeans_round(fc_kmeans_work *w)
{
	size_t		d = w->rows.d;
	double		longest = 0.0;

	for (size_t j = 0; j < w->k; j++)
	{
		double		square = 0.0;

		for (size_t c = j * d; c < (j + 1) * d; c++)
		{
			w->rounded[c] = (float) w->centroid[c];
			square += (double) w->rounded[c] * (double) w->rounded[c];
		}
		w->half[j] = (float) (0.5 * square);
		longest = fc_greater(longest, sqrt(square));
		fc_check();
	}
	w->score_rounding = ((double) d + 4.0) * FC_EXP2_MINUS(24) *
		(w->rows.length + 0.5 * longest) * longest;
}

void
fc_kmeans_assign(fc_kmeans_work *w)
{
	fc_kmeans_round(w);
	w->search->nearest_of_rows(w);
	w->sse = DBL_MAX;
}

/* ---- Lloyd's steps ---- */

/*
 * Computes sums, weights and counts of the clusters of w->label. Usually
 * updates them only for rows that changed their cluster. As this accumulates
 * rounding errors, all rows are summed again every STEPS_OF_SUMS steps, or in
 * every step if a row is too far out.
 */
static void
sum_clusters(fc_kmeans_work *w, int step)
{
	const fc_kmeans_rows *rows = &w->rows;

	if (step % STEPS_OF_SUMS == 0 || rows->length * rows->length * rows->total >
		FAR_OUT * FAR_OUT * rows->spread)
	{
		memset(w->sum, 0, w->k * rows->d * sizeof(double));
		memset(w->weight, 0, w->k * sizeof(double));
		memset(w->count, 0, w->k * sizeof(size_t));
		memset(w->summed_in, 0xff, rows->n * sizeof(int32_t));
	}
	w->visited += rows->n;
	for (size_t start = 0, end; start < rows->n; start = end)
	{
		end = start + FC_TILE_ROWS < rows->n ? start + FC_TILE_ROWS : rows->n;
		if (memcmp(w->label + start, w->summed_in + start,
				   (end - start) * sizeof(int32_t)) != 0)
			fc_kmeans_sum(w, start, end);
		fc_check();
	}
}

/*
 * Lists the rows in w->far by falling distance from their centroids, and
 * returns their number. Leaves out rows whose distance is within the rounding
 * of ||x||^2, because moving them gains nothing.
 */
static size_t
rank_far_rows(fc_kmeans_work *w)
{
	size_t		count = 0;

	if (w->far == NULL)
		w->far = FC_TAKE(w->arena, 2 * w->rows.n, fc_keyed);
	for (size_t i = 0; i < w->rows.n; i++)
	{
		double		distance = fc_row_distance(w->centroid +
											   (size_t) w->label[i] * w->rows.d,
											   NULL, w->rows.x + i * w->rows.d,
											   w->rows.d);
		double		rounding = (w->careful
								? 0.0
								: DISTANCE_ROUNDING * (double) w->rows.norm[i]);

		fc_check();
		if (distance > 0.0 && distance > rounding && w->rows.weight[i] > 0.0)
			w->far[count++] = (fc_keyed)
		{
			~fc_number_key(distance), i
		};
	}
	fc_sort(w->far, count, w->far + w->rows.n);
	return count;
}

/*
 * Makes the row the only one of empty cluster j, unless that empties another
 * cluster.
 */
static void
move_row(fc_kmeans_work *w, size_t j, size_t row)
{
	size_t		d = w->rows.d;
	size_t		donor = (size_t) w->label[row];
	double		weight = w->rows.weight[row];

	if (w->count[donor] < 2)
		return;
	fc_axpy(-weight, w->rows.x + row * d, d, w->sum + donor * d);
	fc_axpy(weight, w->rows.x + row * d, d, w->sum + j * d);
	w->weight[donor] -= weight;
	w->weight[j] = weight;
	w->count[donor]--;
	w->count[j]++;
	w->label[row] = (int32_t) j;
	w->summed_in[row] = (int32_t) j;
}

/*
 * Moves the rows farthest from their centroids into the empty clusters, one
 * each. If no row can be moved into an empty cluster, its centroid becomes a
 * copy of the heaviest row.
 */
static void
fill_empty(fc_kmeans_work *w)
{
	size_t		d = w->rows.d;
	size_t		far = SIZE_MAX;
	size_t		next = 0;

	for (size_t j = 0; j < w->k; j++)
	{
		if (w->count[j] > 0)
			continue;
		if (far == SIZE_MAX)
			far = rank_far_rows(w);
		if (next < far)
			move_row(w, j, w->far[next++].value);
		if (w->count[j] == 0)
			fc_widen(w->rows.x + w->rows.heaviest * d, d, w->centroid + j * d);
	}
}

/*
 * Moves centroid j, a mean, onto the sphere, in its direction from the center;
 * a mean at the center is not moved. Returns the squared distance of the move.
 * The SSE rises by W_j times this value.
 */
static double
to_sphere(const fc_kmeans_work *w, size_t j)
{
	double	   *centroid = w->centroid + j * w->rows.d;
	const double *center = w->options.sphere->center;
	double		square = 0.0;
	double		length;

	for (size_t c = 0; c < w->rows.d; c++)
	{
		double		gap = centroid[c] - (center != NULL ? center[c] : 0.0);

		square += gap * gap;
	}
	length = sqrt(square);
	for (size_t c = 0; c < w->rows.d && length > 0.0; c++)
	{
		double		at = center != NULL ? center[c] : 0.0;

		centroid[c] = at +
			(centroid[c] - at) * (w->options.sphere->radius / length);
	}
	return length > 0.0 ? (length - w->options.sphere->radius) *
		(length - w->options.sphere->radius)
		: 0.0;
}

/*
 * Sets the centroids to the means of the clusters of w->label, and computes
 * w->sse by the formula at the top of this file.
 */
static void
update(fc_kmeans_work *w, int step)
{
	size_t		d = w->rows.d;

	sum_clusters(w, step);
	fill_empty(w);
	w->sse = w->rows.spread;
	for (size_t j = 0; j < w->k; j++)
	{
		double		square = 0.0;

		fc_check();
		if (w->count[j] == 0)
			continue;
		for (size_t c = j * d; c < (j + 1) * d; c++)
		{
			w->centroid[c] = w->sum[c] / w->weight[j];
			square += w->sum[c] * w->centroid[c];
		}
		w->sse -= square;
		if (w->options.sphere != NULL)
			w->sse += w->weight[j] * to_sphere(w, j);
	}
}

int
fc_kmeans_descend(fc_kmeans_work *w, int steps, double tolerance, double beat)
{
	double		previous = w->sse;
	bool		falling = true;
	int			step = 0;

	for (; step < steps && falling; step++)
	{
		double		sse;

		update(w, step);
		sse = w->sse;
		falling = previous - sse > tolerance * previous &&
			sse - beat < MAX_FALLS_TO_BEAT * (previous - sse);
		if (!w->careful &&
			4.0 * w->score_rounding * w->rows.total > VISIBLE_SSE_SHARE * sse)
			falling = w->careful = true;
		fc_kmeans_assign(w);
		w->sse = previous = sse;
	}
	return step;
}

void
fc_kmeans_measure(fc_kmeans_work *w)
{
	size_t		d = w->rows.d;

	w->sse = 0.0;
	memset(w->weight, 0, w->k * sizeof(double));
	for (size_t i = 0; i < w->rows.n; i++)
	{
		size_t		j = (size_t) w->label[i];
		double		weight = w->rows.weight[i];
		double		distance = fc_row_distance(w->centroid + j * d, NULL,
											   w->rows.x + i * d, d);

		fc_check();
		w->weight[j] += weight;
		w->sse += weight * distance;
		w->near[i] = (float) distance;
	}
	w->spent = (double) w->compared * (double) d +
		STEP_OVERHEAD * (double) w->visited;
}

void
fc_kmeans_converge(fc_kmeans_work *w)
{
	for (size_t j = 0; w->options.sphere != NULL && j < w->k; j++)
		(void) to_sphere(w, j);
	fc_kmeans_assign(w);
	fc_kmeans_measure(w);
}

/*
 * modes.c - draws starts, and climbs from them to modes of the field f_r
 * (internal.h).
 *
 * Starts for each value of option init:
 *     range      Uniform points in the box that contains the centers of all
 *                atoms (setup.c).
 *     sample     Sample rows, without repetition until all were drawn.
 *     kmeans++   Sample rows, drawn with probability in proportion to w_i
 *                min_j |x_i - c_j|^2, where w_i is the weight of row x_i and
 *                c_j are the present atoms.
 *     default    First the sample centroids, if there are fewer of them than
 *                starts. Then sample rows, and random points in every fourth
 *                place, because rows may have moved since the sample was
 *                taken. Without sample rows, random points only. Random points
 *                are uniform in the box for discretized, and for
 *                sketch-and-shift without polish. Otherwise they are normal,
 *                with the mean and deviation of the rows.
 *
 * Keriven, Tremblay, Traonmilin, Gribonval 2017 (compressive K-means),
 * section 3.2 (range, sample, kmeans++).
 */
#include "decode/internal.h"

#include "base/blas.h"
#include "numerics/dense.h"

/*
 * Period of random starts with init default: start i is random if i is a
 * multiple of it. The other starts are sample rows, which are nearer to
 * modes, but miss clusters that the sample lacks. A guess.
 */
#define RANDOM_START_PERIOD	4

/*
 * Step factor of a climb; 1 is a plain mean-shift step. A step that lowers
 * f_r multiplies the factor by STEP_SHRINK, which is also its minimum. Any
 * other step multiplies it by STEP_GROWTH, up to MAX_STEP. Faster growth
 * needs fewer steps, but overshoots more often. Guesses.
 */
#define STEP_GROWTH	1.6f
#define MAX_STEP	16.0f
#define STEP_SHRINK	0.25f

/*
 * Maximum number of steps of a climb. With more steps, modes are reached more
 * exactly; doubling the number takes 5 % more time (bench/tuned.py).
 */
#define MODE_ITERATIONS	30

/*
 * Length of a step below which a climb ends, in bandwidths sqrt(eta) (see
 * below). A refinement follows, so a smaller one costs time. A guess.
 */
#define MODE_TOLERANCE	1e-2

/*
 * Distance below which two modes count as one, in bandwidths sqrt(eta). A
 * larger one merges modes of close clusters, a smaller one leaves atoms that
 * coincide. A guess.
 */
#define MODE_RADIUS	0.5

size_t
fc_draw_row(fc_decoding *d, size_t index)
{
	size_t		place = index % d->rows;
	size_t		other = place + fc_rng_below(&d->rng, d->rows - place);
	size_t		chosen = d->permutation[other];

	d->permutation[other] = d->permutation[place];
	d->permutation[place] = chosen;
	return chosen;
}

/*
 * Sets row_distance[i] to w_i min_j |x_i - c_j|^2 for sample row x_i of
 * weight w_i and the atoms c_j of `chosen`, or to w_i if there are no atoms.
 * Returns the sum.
 */
static double
measure_rows(fc_decoding *d, const fc_mixture *chosen)
{
	double		total = 0.0;

	for (size_t i = 0; i < d->rows; i++)
	{
		double		nearest = chosen->count > 0 ? INFINITY : 1.0;

		fc_check();
		for (size_t c = 0; c < chosen->count; c++)
			nearest = fmin(nearest,
						   fc_square_between(d->row + i * d->n,
											 chosen->center + c * d->n, d->n));
		d->row_distance[i] = d->row_weight[i] * nearest;
		total += d->row_distance[i];
	}
	return total;
}

static const double *
draw_far_row(fc_decoding *d, double total)
{
	double		target = total * fc_rng_uniform(&d->rng);
	size_t		i = 0;

	while (i + 1 < d->rows && target > d->row_distance[i])
		target -= d->row_distance[i++];
	return d->row + i * d->n;
}

/*
 * Draws `count` starts, moves them into the box of the atoms' centers, and
 * stores them in `start` (count x n). `chosen` holds the present atoms.
 */
void
fc_draw_starts(fc_decoding *d, const fc_mixture *chosen, size_t count,
			   double *start)
{
	fc_init		init = d->options.init;
	size_t		sample_centroids = (init == FC_INIT_DEFAULT &&
									d->sample_centroids < count
									? d->sample_centroids
									: 0);
	bool		rows = d->rows > 0 && init != FC_INIT_RANGE;
	bool		uniform = init == FC_INIT_RANGE || d->uniform_starts;
	double		total = 0.0;

	if (rows && init == FC_INIT_KMEANSPP)
		total = measure_rows(d, chosen);
	for (size_t i = 0; i < d->rows; i++)
		d->permutation[i] = i;
	for (size_t i = 0; i < count; i++)
	{
		double	   *point = start + i * d->n;

		fc_check();
		if (i < sample_centroids)
			memcpy(point, d->sample_centroid + i * d->n, d->n * sizeof(double));
		else if (total > 0.0)
			memcpy(point, draw_far_row(d, total), d->n * sizeof(double));
		else if (rows &&
				 (init != FC_INIT_DEFAULT || i % RANDOM_START_PERIOD != 0))
			memcpy(point, d->row + fc_draw_row(d, i - sample_centroids) * d->n,
				   d->n * sizeof(double));
		else
			for (size_t l = 0; l < d->n; l++)
				point[l] = uniform ? d->lower[l] + (d->upper[l] - d->lower[l]) *
					fc_rng_uniform(&d->rng)
					: d->middle[l] +
					d->stddev[l] * fc_rng_normal(&d->rng);
		for (size_t l = 0; l < d->n; l++)
			point[l] = fc_clip(point[l], d->lower[l], d->upper[l]);
	}
}

/* ---- climbs to modes ---- */

/*
 * Batched mean shift finds the modes of the field f_r, the inner product of
 * the residual r with the moments of an atom of variance v at the point c.
 *
 *     f_r(c)  = mean_j e_j Re( conj(r_j) exp(i omega_j . c) ),
 *               e_j = exp(-v |omega_j|^2 / 2)
 *     c      <- clip( c + g eta grad f_r(c) / |f_r(c)| ),
 *               eta = n sum e_j / sum e_j |omega_j|^2
 *
 * eta is the squared bandwidth of f_r, and clip moves a point into the box.
 * All starts climb together: an iteration is two GEMMs and one sincos per
 * block of frequencies. They are computed in float, which suffices because
 * the modes are later refined in double. The step factor g of a start grows
 * 1.6 times on success and shrinks four times on failure. Starts that no
 * longer move are removed from the batch.
 *
 * Cost: starts x m x n per step. Belhadji, Gribonval 2022 (sketch and shift),
 * section 4.
 */

/* Allocates the arrays of d->shift. */
void
fc_shift_take(fc_decoding *d, fc_arena *arena)
{
	fc_shift_work *w = &d->shift;
	size_t		coordinates = d->starts * d->n;

	w->re = FC_TAKE(arena, d->m, float);
	w->im = FC_TAKE(arena, d->m, float);
	w->center = FC_TAKE(arena, coordinates, float);
	w->gradient = FC_TAKE(arena, coordinates, float);
	w->direction = FC_TAKE(arena, coordinates, float);
	w->best = FC_TAKE(arena, coordinates, float);
	w->value = FC_TAKE(arena, d->starts, float);
	w->best_value = FC_TAKE(arena, d->starts, float);
	w->step = FC_TAKE(arena, d->starts, float);
	w->active = FC_TAKE(arena, d->starts, size_t);
	w->cosine = FC_TAKE(arena, d->starts * FC_FREQUENCY_BLOCK, float);
	w->sine = FC_TAKE(arena, d->starts * FC_FREQUENCY_BLOCK, float);
	w->envelope = FC_TAKE(arena, d->m, double);
	w->modes = FC_TAKE(arena, coordinates, double);
	w->order = FC_TAKE(arena, d->starts, size_t);
}

/*
 * Returns eta, the squared bandwidth of the field f_r (see above) for atoms of
 * the given variance. Stores the factors e_j in shift.envelope (m values).
 */
static double
bandwidth(fc_decoding *d, double variance)
{
	double	   *envelope = d->shift.envelope;
	double		sum = 0.0;
	double		curvature = 0.0;

	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);

		fc_check();
		fc_envelope_double(width, variance, d->half_norm + first,
						   envelope + first);
		for (size_t j = first; j < first + width; j++)
		{
			sum += envelope[j];
			curvature += envelope[j] * 2.0 * d->half_norm[j];
		}
	}
	return curvature > 0.0 ? (double) d->n * sum / curvature : 1.0;
}

/*
 * Computes the field f_r (see above) and its gradient at the first `count`
 * points of shift.center. Stores them in shift.value and shift.gradient.
 */
static void
evaluate_field(fc_decoding *d, size_t count)
{
	fc_shift_work *w = &d->shift;
	int			rows = (int) count;
	fc_product	angles = {
		.transpose_b = true,
		.m = count,
		.k = d->n,
		.alpha = 1.0
	};
	fc_product	sums = {
		.m = count,
		.n = d->n,
		.alpha = FC_PI,
		.beta = 1.0
	};

	memset(w->value, 0, count * sizeof(float));
	memset(w->gradient, 0, count * d->n * sizeof(float));
	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);
		int			columns = (int) width;
		const float *omega = d->omega_float + first * d->n;

		angles.n = sums.k = width;
		fc_multiply_float(&angles, w->center, omega, w->cosine);
		fc_sincos_float(count * width, w->cosine, w->sine);
		cblas_sgemv(CblasRowMajor, CblasNoTrans, rows, columns, 1.0f, w->cosine,
					columns, w->re + first, 1, 1.0f, w->value, 1);
		cblas_sgemv(CblasRowMajor, CblasNoTrans, rows, columns, 1.0f, w->sine,
					columns, w->im + first, 1, 1.0f, w->value, 1);
		for (size_t i = 0; i < count; i++)
			for (size_t j = 0; j < width; j++)
				w->cosine[i * width + j] = w->cosine[i * width + j] *
					w->im[first + j] -
					w->sine[i * width + j] *
					w->re[first + j];
		fc_multiply_float(&sums, w->cosine, omega, w->gradient);
	}
	d->evaluations++;
}

/*
 * Makes one step of the climb from start number `start`. Point i of
 * shift.center is the latest point of this climb, and evaluate_field has just
 * computed its value of the field f_r. If f_r has not fallen, or if the step
 * is fixed, the point becomes the best point of the climb. Writes the next
 * point in place of point i, and returns its distance from the best point. A
 * step factor above 1 divides this distance by its square root.
 */
static double
advance(fc_decoding *d, size_t i, size_t start, double eta)
{
	fc_shift_work *w = &d->shift;
	float	   *center = w->center + i * d->n;
	float	   *best = w->best + start * d->n;
	float	   *direction = w->direction + start * d->n;
	double		moved = 0.0;
	bool		fixed = d->options.step > 0.0;

	if (fixed || w->value[i] >= w->best_value[start])
	{
		float		height = fmaxf(fabsf(w->value[i]), 1e-12f);

		w->best_value[start] = w->value[i];
		memcpy(best, center, d->n * sizeof(float));
		for (size_t l = 0; l < d->n; l++)
			direction[l] = w->gradient[i * d->n + l] / height;
		if (!fixed)
			w->step[start] = fminf(w->step[start] * STEP_GROWTH, MAX_STEP);
	}
	else if (!fixed)
		w->step[start] = fmaxf(w->step[start] * STEP_SHRINK, STEP_SHRINK);
	for (size_t l = 0; l < d->n; l++)
	{
		double		next = ((double) best[l] +
							eta * (double) w->step[start] * (double) direction[l]);

		center[l] = (float) fc_clip(next, d->lower[l], d->upper[l]);
		moved += ((double) center[l] - (double) best[l]) *
			((double) center[l] - (double) best[l]);
	}
	return sqrt(moved / fmax((double) w->step[start], 1.0));
}

/*
 * Climbs the field f_r (see above), with the residual r in d->r_re and
 * d->r_im, from all starts, which are passed in `center` (starts x n).
 * Replaces each start by the highest point of its climb, and stores f_r at
 * this point in `value`. A climb ends when a step is at most `tolerance`
 * bandwidths long.
 */
static void
mean_shift(fc_decoding *d, double variance, int iterations, double tolerance,
		   double *center, double *value)
{
	fc_shift_work *w = &d->shift;
	size_t		count = d->starts;
	double		eta = bandwidth(d, variance);

	for (size_t j = 0; j < d->m; j++)
	{
		w->re[j] = (float) (d->r_re[j] * w->envelope[j] / (double) d->m);
		w->im[j] = (float) (d->r_im[j] * w->envelope[j] / (double) d->m);
	}
	for (size_t i = 0; i < d->starts; i++)
	{
		w->active[i] = i;
		w->step[i] = d->options.step > 0.0 ? (float) d->options.step : 1.0f;
		w->best_value[i] = -INFINITY;
	}
	for (size_t i = 0; i < d->starts * d->n; i++)
		w->center[i] = (float) center[i];
	for (int iteration = 0; iteration < iterations && count > 0; iteration++)
	{
		size_t		kept = 0;

		evaluate_field(d, count);
		for (size_t i = 0; i < count; i++)
		{
			size_t		start = w->active[i];

			if (advance(d, i, start, eta) <= tolerance * sqrt(eta))
				continue;
			memmove(w->center + kept * d->n, w->center + i * d->n,
					d->n * sizeof(float));
			w->active[kept++] = start;
		}
		count = kept;
	}
	fc_widen(w->best, d->starts * d->n, center);
	fc_widen(w->best_value, d->starts, value);
}

/*
 * Sets shift.order to the starts by descending value, ties by index.
 * Insertion sort suffices, because starts are few.
 */
static void
sort_starts(fc_decoding *d, const double *value)
{
	size_t	   *order = d->shift.order;

	for (size_t i = 0; i < d->starts; i++)
	{
		size_t		place = i;

		for (; place > 0 && value[order[place - 1]] < value[i]; place--)
			order[place] = order[place - 1];
		order[place] = i;
	}
}

/*
 * Finds up to `limit` distinct modes at which the field f_r (see above) is
 * positive, for the residual r in d->r_re and d->r_im. Stores the modes in
 * shift.modes, highest first, and returns their number.
 */
size_t
fc_find_modes(fc_decoding *d, const fc_mixture *mixture, size_t limit)
{
	fc_shift_work *w = &d->shift;
	double		variance = fc_mixture_variance(mixture);
	size_t		found = 0;
	double		radius;

	fc_draw_starts(d, mixture, d->starts, d->start);
	mean_shift(d, variance, MODE_ITERATIONS, MODE_TOLERANCE, d->start,
			   d->start_value);
	radius = MODE_RADIUS * MODE_RADIUS * bandwidth(d, variance);
	sort_starts(d, d->start_value);
	for (size_t i = 0; i < d->starts && found < limit; i++)
	{
		const double *candidate = d->start + w->order[i] * d->n;
		size_t		other = 0;

		if (!(d->start_value[w->order[i]] > 0.0))
			break;
		fc_check();
		while (other < found &&
			   fc_square_between(candidate, w->modes + other * d->n, d->n) >
			   radius)
			other++;
		if (other < found)
			continue;
		memcpy(w->modes + found * d->n, candidate, d->n * sizeof(double));
		found++;
	}
	return found;
}

size_t
fc_highest_start(fc_decoding *d, int iterations, double tolerance)
{
	size_t		best = 0;

	mean_shift(d, 0.0, iterations, tolerance, d->start, d->start_value);
	for (size_t i = 1; i < d->starts; i++)
		if (d->start_value[i] > d->start_value[best])
			best = i;
	return best;
}

/*
 * fc_pilot.c - scale, center and projection of a sketch from a sample; see fc_pilot.h
 *
 *     trim      drop the 5 % of weight with the largest sum_i ((x_i - median_i) / MAD_i)^2
 *     project   leading principal axes of the kept rows, by subspace iteration
 *     scale     s_w^2 = inertia / (n (weight - k)) of a k-means of the kept rows
 *
 * The axes: Q <- orth(C Q) on a block of n + 10 columns (Halko, Martinsson, Tropp 2011,
 * algorithm 4.4), C applied as X' (w X Q) and never formed, then a Rayleigh-Ritz step;
 * a block of min(d, n + 10) columns, so small problems are solved exactly.
 * Cost: rows d (1 + iterations n) and one k-means.
 */
#include "fc_pilot.h"

#include <math.h>
#include <string.h>

#include "fc_blas.h"
#include "fc_kmeans.h"
#include "fc_rng.h"

#define KEPT_SHARE			0.95
#define MAD_TO_DEVIATION	1.4826
#define SIGMA_PER_WITHIN	1.2
#define DIRECT_DIMENSIONS	24	/* up to here nothing is projected */
#define OVERSAMPLING		10
#define SUBSPACE_ITERATIONS 12
#define STARTS				3
#define ROWS_PER_CLUSTER	5

typedef struct weighted
{
	double		value;
	double		weight;
} weighted;

size_t
fc_pilot_dimensions(size_t d, const fc_pilot_options *options)
{
	size_t		wanted = options->dimensions;

	if (wanted == 0)
		wanted = d <= DIRECT_DIMENSIONS ? d : 2 * options->clusters > 16 ? 2 * options->clusters : 16;
	return wanted < d ? wanted : d;
}

static size_t
block_columns(size_t d, size_t n)
{
	return n + OVERSAMPLING < d ? n + OVERSAMPLING : d;
}

size_t
fc_pilot_worksize(size_t rows, size_t d, const fc_pilot_options *options)
{
	size_t		n = fc_pilot_dimensions(d, options);
	size_t		b = block_columns(d, n);
	size_t		trimming = rows * sizeof(weighted) + (2 * d + 2 * rows) * sizeof(double);
	size_t		axes = (rows * d + 2 * d * b + rows * b + 4 * b * b + 70 * b + 1) * sizeof(double) +
		(5 * b + 3) * sizeof(int);
	size_t		clustering = rows * n * sizeof(float) + (rows + options->clusters * (n + 1)) * sizeof(double) +
		fc_kmeans_worksize(rows, n, options->clusters);

	return trimming + (n < d ? axes : 0) + clustering + 32 * 64;
}

/* ---- trimming ---- */

/* The smallest value v such that the weight of values <= v reaches `target`; reorders items. */
static double
weighted_quantile(weighted *items, size_t count, double target)
{
	size_t		low = 0;
	size_t		high = count;

	while (high - low > 1)
	{
		double		pivot = items[low + (high - low) / 2].value;
		double		below = 0;
		double		equal = 0;
		size_t		less = low;
		size_t		same;

		for (size_t i = low; i < high; i++)
			if (items[i].value < pivot)
			{
				weighted	swap = items[i];

				below += swap.weight;
				items[i] = items[less];
				items[less++] = swap;
			}
		same = less;
		for (size_t i = less; i < high; i++)
			if (items[i].value == pivot)
			{
				weighted	swap = items[i];

				equal += swap.weight;
				items[i] = items[same];
				items[same++] = swap;
			}
		if (target <= below)
			high = less;
		else if (target <= below + equal || same == high)
			return pivot;
		else
		{
			target -= below + equal;
			low = same;
		}
	}
	return items[low].value;
}

static double
total_of(const double *weight, size_t rows)
{
	double		total = 0;

	for (size_t r = 0; r < rows; r++)
		total += weight ? weight[r] : 1.0;
	return total;
}

/* Median and MAD (as a deviation) of dimension i; a MAD of 0 falls back to the deviation, which may be 0. */
static void
robust_scale(const double *x, const double *weight, size_t rows, size_t d, size_t i, double total,
			 weighted *items, double *median, double *deviation)
{
	double		mean = 0;
	double		variance = 0;

	for (size_t r = 0; r < rows; r++)
		items[r] = (weighted) {x[r * d + i], weight ? weight[r] : 1.0};
	*median = weighted_quantile(items, rows, total / 2);
	for (size_t r = 0; r < rows; r++)
		items[r] = (weighted) {fabs(x[r * d + i] - *median), weight ? weight[r] : 1.0};
	*deviation = MAD_TO_DEVIATION * weighted_quantile(items, rows, total / 2);
	if (*deviation > 0)
		return;
	for (size_t r = 0; r < rows; r++)
		mean += (weight ? weight[r] : 1.0) * (x[r * d + i] - *median) / total;
	for (size_t r = 0; r < rows; r++)
		variance += (weight ? weight[r] : 1.0) * (x[r * d + i] - *median - mean) * (x[r * d + i] - *median - mean) / total;
	*deviation = sqrt(variance);
}

/* kept[r] = the row's weight, or 0 for the far 5 %. */
static fc_status
trim(const double *x, const double *weight, size_t rows, size_t d, const fc_tick *tick, fc_arena *arena, double *kept)
{
	size_t		mark = arena->used;
	weighted   *items = FC_TAKE(arena, rows, weighted);
	double	   *distance = FC_TAKE(arena, rows, double);
	double		total = total_of(weight, rows);
	double		limit;

	if (items == NULL || distance == NULL)
		return FC_ENOMEMORY;
	memset(distance, 0, rows * sizeof(double));
	for (size_t i = 0; i < d; i++)
	{
		double		median;
		double		deviation;

		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		robust_scale(x, weight, rows, d, i, total, items, &median, &deviation);
		for (size_t r = 0; deviation > 0 && r < rows; r++)
			distance[r] += (x[r * d + i] - median) / deviation * ((x[r * d + i] - median) / deviation);
	}
	for (size_t r = 0; r < rows; r++)
		items[r] = (weighted) {distance[r], weight ? weight[r] : 1.0};
	limit = weighted_quantile(items, rows, KEPT_SHARE * total);
	for (size_t r = 0; r < rows; r++)
		kept[r] = distance[r] <= limit ? (weight ? weight[r] : 1.0) : 0.0;
	arena->used = mark;
	return FC_OK;
}

static void
mean_of_kept(const double *x, const double *kept, size_t rows, size_t d, double *center)
{
	double		total = total_of(kept, rows);

	memset(center, 0, d * sizeof(double));
	for (size_t r = 0; r < rows; r++)
		for (size_t i = 0; kept[r] > 0 && i < d; i++)
			center[i] += kept[r] / total * x[r * d + i];
}

/* ---- principal axes ---- */

typedef struct subspace
{
	size_t		rows;
	size_t		d;
	size_t		b;				/* columns of the block */
	double	   *x;				/* rows x d: sqrt(weight) (x - center) */
	double	   *q;				/* d x b column-major, orthonormal columns */
	double	   *projected;		/* rows x b: X Q */
	double	   *tau;			/* b */
	double	   *work;			/* 64 b */
} subspace;

/* Q <- an orthonormal basis of its columns (Householder). */
static fc_status
orthonormalise(subspace *s)
{
	int			d = (int) s->d;
	int			b = (int) s->b;
	int			size = 64 * b;
	int			info;

	dgeqrf_(&d, &b, s->q, &d, s->tau, s->work, &size, &info);
	if (info == 0)
		dorgqr_(&d, &b, &b, s->q, &d, s->tau, s->work, &size, &info);
	return info == 0 ? FC_OK : FC_ENUMERIC;
}

/* projected = X Q; Q column-major d x b is the row-major b x d of its transpose. */
static void
project_block(const subspace *s)
{
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) s->rows, (int) s->b, (int) s->d, 1.0,
				s->x, (int) s->d, s->q, (int) s->d, 0.0, s->projected, (int) s->b);
}

static fc_status
iterate(subspace *s, const fc_tick *tick)
{
	int			iterations = s->b == s->d ? 0 : SUBSPACE_ITERATIONS;
	fc_status	status = orthonormalise(s);

	for (int i = 0; i < iterations && status == FC_OK; i++)
	{
		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		project_block(s);
		cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int) s->b, (int) s->d, (int) s->rows, 1.0,
					s->projected, (int) s->b, s->x, (int) s->d, 0.0, s->q, (int) s->d);
		status = orthonormalise(s);
	}
	return status;
}

/* Rayleigh-Ritz: eigenvectors (b x b, ascending) of Q' C Q. */
static fc_status
rotate(const subspace *s, fc_arena *arena, double *small)
{
	int			b = (int) s->b;
	int			work_size = 1 + 6 * b + 2 * b * b;
	int			int_size = 3 + 5 * b;
	double	   *values = FC_TAKE(arena, s->b, double);
	double	   *work = FC_TAKE(arena, (size_t) work_size, double);
	int		   *int_work = FC_TAKE(arena, (size_t) int_size, int);
	int			info;

	if (values == NULL || work == NULL || int_work == NULL)
		return FC_ENOMEMORY;
	project_block(s);
	cblas_dsyrk(CblasColMajor, CblasUpper, CblasNoTrans, b, (int) s->rows, 1.0, s->projected, b, 0.0, small, b);
	dsyevd_("V", "U", &b, small, &b, values, work, &work_size, int_work, &int_size, &info);
	return info == 0 ? FC_OK : FC_ENUMERIC;
}

/* basis row r = Q times the eigenvector of the r-th largest eigenvalue, its largest entry positive. */
static void
write_axes(const subspace *s, const double *small, size_t n, float *basis)
{
	for (size_t r = 0; r < n; r++)
	{
		const double *v = small + (s->b - 1 - r) * s->b;
		double		largest = 0;

		for (size_t i = 0; i < s->d; i++)
		{
			double		sum = 0;

			for (size_t c = 0; c < s->b; c++)
				sum += s->q[c * s->d + i] * v[c];
			basis[r * s->d + i] = (float) sum;
			if (fabs(sum) > fabs(largest))
				largest = sum;
		}
		for (size_t i = 0; largest < 0 && i < s->d; i++)
			basis[r * s->d + i] = -basis[r * s->d + i];
	}
}

static fc_status
principal_axes(const double *x, const double *kept, const double *center, size_t rows, size_t d, size_t n,
			   uint64_t seed, const fc_tick *tick, fc_arena *arena, float *basis)
{
	size_t		mark = arena->used;
	fc_rng		rng = fc_rng_start(seed, 3);
	subspace	s = {.rows = rows, .d = d, .b = block_columns(d, n)};
	double	   *small;
	fc_status	status;

	s.x = FC_TAKE(arena, rows * d, double);
	s.q = FC_TAKE(arena, d * s.b, double);
	s.projected = FC_TAKE(arena, rows * s.b, double);
	s.tau = FC_TAKE(arena, s.b, double);
	s.work = FC_TAKE(arena, 64 * s.b, double);
	small = FC_TAKE(arena, s.b * s.b, double);
	if (s.x == NULL || s.q == NULL || s.projected == NULL || s.tau == NULL || s.work == NULL || small == NULL)
		return FC_ENOMEMORY;
	for (size_t r = 0; r < rows; r++)
		for (size_t i = 0; i < d; i++)
			s.x[r * d + i] = sqrt(kept[r]) * (x[r * d + i] - center[i]);
	for (size_t i = 0; i < d * s.b; i++)
		s.q[i] = fc_rng_normal(&rng);
	status = iterate(&s, tick);
	if (status == FC_OK)
		status = rotate(&s, arena, small);
	if (status == FC_OK)
		write_axes(&s, small, n, basis);
	arena->used = mark;
	return status;
}

/* ---- scale ---- */

static void
reduce_rows(const double *x, const double *center, const float *basis, size_t rows, size_t d, size_t n, float *reduced)
{
	for (size_t r = 0; r < rows; r++)
		for (size_t j = 0; j < n; j++)
		{
			double		sum = 0;

			if (basis == NULL)
				sum = x[r * d + j] - center[j];
			for (size_t i = 0; basis != NULL && i < d; i++)
				sum += (double) basis[j * d + i] * (x[r * d + i] - center[i]);
			reduced[r * n + j] = (float) sum;
		}
}

/* Root mean square of the kept rows around their mean, per dimension. */
static double
total_deviation(const float *rows, const double *weight, size_t count, size_t n)
{
	double		sum = 0;

	for (size_t r = 0; r < count; r++)
		for (size_t i = 0; i < n; i++)
			sum += weight[r] * (double) rows[r * n + i] * (double) rows[r * n + i];
	return sqrt(sum / ((double) n * total_of(weight, count)));
}

/* s_w of the kept rows; when k-means explains everything, their total deviation; when that is 0 too, 1. */
static fc_status
within_deviation(const float *reduced, const double *kept, size_t rows, size_t n, const fc_pilot_options *options,
				 const fc_tick *tick, fc_arena *arena, double *within)
{
	fc_kmeans_options choices = fc_kmeans_defaults();
	fc_kmeans_result result = {0};
	float	   *x = FC_TAKE(arena, rows * n, float);
	double	   *weight = FC_TAKE(arena, rows, double);
	size_t		count = 0;
	size_t		k;
	double		total;
	fc_status	status;

	if (x == NULL || weight == NULL)
		return FC_ENOMEMORY;
	for (size_t r = 0; r < rows; r++)
		if (kept[r] > 0)
		{
			memcpy(x + count * n, reduced + r * n, n * sizeof(float));
			weight[count++] = kept[r];
		}
	k = count / ROWS_PER_CLUSTER > 2 ? count / ROWS_PER_CLUSTER : count < 2 ? count : 2;
	k = options->clusters < k ? options->clusters : k;
	result.centroids = FC_TAKE(arena, k * n, double);
	result.weights = FC_TAKE(arena, k, double);
	if (result.centroids == NULL || result.weights == NULL)
		return FC_ENOMEMORY;
	choices.n_init = STARTS;
	choices.seed = options->seed;
	status = fc_kmeans(&(fc_rows) {x, weight, count, n}, k, NULL, &choices, tick, arena, &result);
	if (status != FC_OK)
		return status;
	total = total_of(weight, count);
	*within = total > (double) k ? sqrt(result.sse / ((double) n * (total - (double) k))) : 0;
	if (!(*within > 1e-6 * total_deviation(x, weight, count, n)))
		*within = total_deviation(x, weight, count, n);
	if (!(*within > 0))
		*within = 1.0;
	return FC_OK;
}

fc_status
fc_pilot(const double *x, const double *weight, size_t rows, size_t d, const fc_pilot_options *options,
		 const fc_tick *tick, fc_arena *arena, fc_pilot_result *result)
{
	size_t		mark = arena->used;
	size_t		n = fc_pilot_dimensions(d, options);
	double	   *kept = FC_TAKE(arena, rows, double);
	fc_status	status;

	if (rows == 0)
		return FC_EEMPTY;
	if (kept == NULL)
		return FC_ENOMEMORY;
	status = trim(x, weight, rows, d, tick, arena, kept);
	if (status != FC_OK)
		return status;
	mean_of_kept(x, kept, rows, d, result->center);
	if (n < d)
		status = principal_axes(x, kept, result->center, rows, d, n, options->seed, tick, arena, result->basis);
	if (status != FC_OK)
		return status;
	reduce_rows(x, result->center, n < d ? result->basis : NULL, rows, d, n, result->reduced);
	status = within_deviation(result->reduced, kept, rows, n, options, tick, arena, &result->within);
	result->n = n;
	result->sigma = SIGMA_PER_WITHIN * result->within;
	arena->used = mark;
	return status;
}

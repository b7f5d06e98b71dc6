/*
 * planted.h - decoding problems with a known solution. The moments are
 * computed exactly from a Gaussian mixture, so no rows are needed.
 */
#ifndef PLANTED_H
#define PLANTED_H

#include "decode/decode.h"
#include "unit.h"

typedef struct planted
{
	fc_problem	problem;
	float	   *omega;
	double	   *z_re;
	double	   *z_im;
	double	   *lower;
	double	   *upper;
	double	   *mean;
	double	   *stddev;
	float	   *sample;
	double	   *truth;			/* k x n: centers of the mixture */
	size_t		k;
} planted;

static inline void
plant_frequencies(planted *p, bool gaussian, fc_rng *rng)
{
	for (size_t j = 0; j < p->problem.m; j++)
	{
		float	   *omega = p->omega + j * p->problem.n;
		double		radius = sqrt(-2.0 * log(fc_rng_uniform(rng)));
		double		norm = 0.0;

		for (size_t l = 0; l < p->problem.n; l++)
		{
			omega[l] = (float) fc_rng_normal(rng);
			norm += (double) omega[l] * (double) omega[l];
		}
		for (size_t l = 0; l < p->problem.n; l++)
			omega[l] = (float) ((gaussian ? 1.0 : radius / sqrt(norm)) * (double) omega[l]);
	}
}

/*
 * Computes z of sum_c N(truth_c, width^2) / k, its bounding box (4 widths
 * around the centers), mean and deviations.
 */
static inline void
plant_moments(planted *p, double width)
{
	size_t		n = p->problem.n;

	for (size_t j = 0; j < p->problem.m; j++)
	{
		const float *omega = p->omega + j * n;
		double		norm = 0.0;

		for (size_t l = 0; l < n; l++)
			norm += (double) omega[l] * (double) omega[l];
		for (size_t c = 0; c < p->k; c++)
		{
			double		angle = 0.0;
			double		share = exp(-width * width * norm / 2.0) / (double) p->k;

			for (size_t l = 0; l < n; l++)
				angle += (double) omega[l] * p->truth[c * n + l];
			p->z_re[j] += share * cos(angle);
			p->z_im[j] += share * sin(angle);
		}
	}
	for (size_t l = 0; l < n; l++)
	{
		double		square = width * width;

		p->lower[l] = INFINITY;
		p->upper[l] = -INFINITY;
		for (size_t c = 0; c < p->k; c++)
		{
			p->mean[l] += p->truth[c * n + l] / (double) p->k;
			p->lower[l] = fmin(p->lower[l], p->truth[c * n + l] - 4.0 * width);
			p->upper[l] = fmax(p->upper[l], p->truth[c * n + l] + 4.0 * width);
		}
		for (size_t c = 0; c < p->k; c++)
			square += pow(p->truth[c * n + l] - p->mean[l], 2.0) / (double) p->k;
		p->stddev[l] = sqrt(square);
	}
}

/*
 * Makes a problem with frequencies of law gaussian or adapted_radius_kmeans.
 */
static inline planted
plant_law(bool gaussian, size_t k, size_t n, size_t m, double width, double separation, double rows, size_t sample_rows, uint64_t seed)
{
	planted		p = {.k = k};
	fc_rng		rng = fc_rng_start(seed, 99);

	p.omega = unit_alloc(m * n, sizeof(float));
	p.z_re = unit_alloc(m, sizeof(double));
	p.z_im = unit_alloc(m, sizeof(double));
	p.lower = unit_alloc(n, sizeof(double));
	p.upper = unit_alloc(n, sizeof(double));
	p.mean = unit_alloc(n, sizeof(double));
	p.stddev = unit_alloc(n, sizeof(double));
	p.truth = unit_alloc(k * n, sizeof(double));
	p.sample = unit_alloc(sample_rows * n, sizeof(float));
	p.problem = (fc_problem) {.n = n, .m = m, .omega = p.omega, .z_re = p.z_re, .z_im = p.z_im,
		.lower = p.lower, .upper = p.upper, .mean = p.mean, .stddev = p.stddev, .rows = rows,
		.sample = sample_rows > 0 ? p.sample : NULL, .sample_rows = sample_rows};
	for (size_t i = 0; i < k * n; i++)
		p.truth[i] = separation * fc_rng_normal(&rng) + 3.0;
	plant_frequencies(&p, gaussian, &rng);
	plant_moments(&p, width);
	for (size_t i = 0; i < sample_rows; i++)
		for (size_t l = 0; l < n; l++)
			p.sample[i * n + l] = (float) (p.truth[i % k * n + l] + width * fc_rng_normal(&rng));
	return p;
}

static inline planted
plant(size_t k, size_t n, size_t m, double width, double separation, double rows, size_t sample_rows, uint64_t seed)
{
	return plant_law(false, k, n, m, width, separation, rows, sample_rows, seed);
}

typedef struct answer
{
	fc_status	status;
	fc_decode_result result;
} answer;

static inline answer
solve(const planted *p, size_t k, fc_decoder decoder, const fc_decode_options *options)
{
	answer		a;
	fc_arena	arena = unit_arena();

	a.result.centroids = unit_alloc(k * p->problem.n, sizeof(double));
	a.result.weights = unit_alloc(k, sizeof(double));
	a.result.spreads = unit_alloc(k, sizeof(double));
	a.result.covariances = unit_alloc(k * p->problem.n * p->problem.n, sizeof(double));
	a.status = fc_decode(&p->problem, k, decoder, options, &arena, &a.result);
	CHECK(arena.allocated == 0, "arena not released: %zu", arena.allocated);
	return a;
}

/*
 * Checks the status, that centroids are finite and inside the box, that
 * weights are >= 0 with sum 1, and that spreads are >= 0.
 */
static inline void
check_valid(const planted *p, size_t k, const answer *a, const char *what)
{
	double		sum = 0.0;

	CHECK(a->status == FC_OK, "%s: status %d", what, (int) a->status);
	if (a->status != FC_OK)
		return;
	for (size_t c = 0; c < k; c++)
	{
		for (size_t l = 0; l < p->problem.n; l++)
		{
			double		x = a->result.centroids[c * p->problem.n + l];

			CHECK(isfinite(x) && x >= p->lower[l] - 1e-9 && x <= p->upper[l] + 1e-9,
				  "%s: centroid %zu, %zu = %g outside [%g, %g]", what, c, l, x, p->lower[l], p->upper[l]);
		}
		CHECK(a->result.weights[c] >= 0.0, "%s: weight %g", what, a->result.weights[c]);
		CHECK(a->result.spreads[c] >= 0.0, "%s: spread %g", what, a->result.spreads[c]);
		sum += a->result.weights[c];
	}
	CHECK(fabs(sum - 1.0) < 1e-12, "%s: weights sum to %.17g", what, sum);
	CHECK(isfinite(a->result.cost) && a->result.cost >= 0.0, "%s: cost %g", what, a->result.cost);
}

/*
 * Returns the largest distance of a planted center to its nearest centroid,
 * divided by the square root of the dimension.
 */
static inline double
worst_miss(const planted *p, size_t k, const answer *a)
{
	size_t		n = p->problem.n;
	double		worst = 0.0;

	for (size_t t = 0; t < p->k; t++)
		worst = fmax(worst, sqrt(unit_min_square(p->truth + t * n, a->result.centroids, k, n) / (double) n));
	return worst;
}

#endif							/* PLANTED_H */

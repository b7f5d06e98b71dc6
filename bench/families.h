/*
 * families.h - families of generated rows for the benchmarks in C.
 *
 * Families: groups    k groups far apart, of equal size
 *           finer     4 k groups far apart
 *           power     k groups far apart, with power-law sizes
 *           overlap   k groups that overlap, with power-law sizes
 *           uniform   the unit cube
 *           manifold  a curved surface of 3 dimensions, with little noise
 *           images    64 sparse patterns, shifted and scaled like digits
 */
#ifndef BENCH_FAMILIES_H
#define BENCH_FAMILIES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

static inline void
make_groups(fc_rng *rng, size_t n, size_t d, size_t groups, bool power, double width, float *x)
{
	float	   *center = malloc(groups * d * sizeof(float));

	for (size_t i = 0; i < groups * d; i++)
		center[i] = (float) fc_rng_normal(rng);
	for (size_t r = 0; r < n; r++)
	{
		double		u = fc_rng_uniform(rng);
		double		place = power ? pow((double) groups, u) - 1.0 : u * (double) groups;
		size_t		g = r < groups ? r : (size_t) place;

		for (size_t c = 0; c < d; c++)
			x[r * d + c] = center[g % groups * d + c] + (float) (width * fc_rng_normal(rng));
	}
	free(center);
}

static inline void
make_uniform(fc_rng *rng, size_t n, size_t d, float *x)
{
	for (size_t i = 0; i < n * d; i++)
		x[i] = (float) fc_rng_uniform(rng);
}

static inline void
make_manifold(fc_rng *rng, size_t n, size_t d, float *x)
{
	double	   *wave = malloc(4 * d * sizeof(double));

	for (size_t i = 0; i < 4 * d; i++)
		wave[i] = 2.0 * fc_rng_normal(rng);
	for (size_t r = 0; r < n; r++)
	{
		double		at[3] = {fc_rng_uniform(rng), fc_rng_uniform(rng), fc_rng_uniform(rng)};

		for (size_t c = 0; c < d; c++)
		{
			const double *w = wave + 4 * c;
			double		phase = w[0] * at[0] + w[1] * at[1] + w[2] * at[2] + w[3];

			x[r * d + c] = (float) (sin(phase) + 0.01 * fc_rng_normal(rng));
		}
	}
	free(wave);
}

static inline void
make_images(fc_rng *rng, size_t n, size_t d, float *x)
{
	enum
	{
		PATTERNS = 64
	};
	float	   *pattern = malloc(PATTERNS * d * sizeof(float));

	for (size_t i = 0; i < PATTERNS * d; i++)
		pattern[i] = fc_rng_uniform(rng) < 0.2 ? (float) fc_rng_uniform(rng) : 0.0f;
	for (size_t r = 0; r < n; r++)
	{
		const float *p = pattern + (size_t) (fc_rng_uniform(rng) * PATTERNS) * d;
		size_t		shift = (size_t) (fc_rng_uniform(rng) * 5);
		double		scale = 0.7 + 0.6 * fc_rng_uniform(rng);

		for (size_t c = 0; c < d; c++)
		{
			double		noise = p[c] > 0.0f ? 0.1 * fc_rng_normal(rng) : 0.0;

			x[r * d + c] = (float) fmax(0.0, scale * (double) p[(c + shift) % d] + noise);
		}
	}
	free(pattern);
}

/* Makes n x d rows of a family; returns false if there is no such family. */
static inline bool
make_rows(const char *family, fc_rng *rng, size_t n, size_t d, size_t k, float *x)
{
	if (strcmp(family, "groups") == 0)
		make_groups(rng, n, d, k, false, 0.05, x);
	else if (strcmp(family, "finer") == 0)
		make_groups(rng, n, d, 4 * k, false, 0.05, x);
	else if (strcmp(family, "power") == 0)
		make_groups(rng, n, d, k, true, 0.05, x);
	else if (strcmp(family, "overlap") == 0)
		make_groups(rng, n, d, k, true, 0.7, x);
	else if (strcmp(family, "uniform") == 0)
		make_uniform(rng, n, d, x);
	else if (strcmp(family, "manifold") == 0)
		make_manifold(rng, n, d, x);
	else if (strcmp(family, "images") == 0)
		make_images(rng, n, d, x);
	else
		return false;
	return true;
}

#endif							/* BENCH_FAMILIES_H */

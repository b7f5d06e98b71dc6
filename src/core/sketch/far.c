/*
 * far.c - phases of a row too far out for angles in float.
 *
 * The angles h = omega . y / pi are summed in double and reduced to [-1, 1] half-turns
 * before the sincos of isa_rows.h.
 */
#include "sketch/sketch.h"

#include <math.h>

#include "sketch/isa.h"

/* Angles of one row in double, reduced to [-1, 1] half-turns: h (m) of scale 1 in double first. */
static void
far_angles(const fc_prepared *prepared, const double *y, double *transform, double *h)
{
	size_t		n = prepared->n;
	size_t		p = prepared->padded;

	for (size_t j = 0; prepared->omega != NULL && j < prepared->m; j++)
	{
		const float *tile = prepared->omega + j / FC_FREQUENCY_TILE * FC_FREQUENCY_TILE * n + j % FC_FREQUENCY_TILE;

		h[j] = 0;
		for (size_t i = 0; i < n; i++)
			h[j] += y[i] * (double) tile[i * FC_FREQUENCY_TILE];
	}
	for (size_t start = 0; prepared->omega == NULL && start < prepared->m; start += p)
	{
		for (size_t i = 0; i < p; i++)
			transform[i] = i < n ? y[i] : 0.0;
		for (int round = 2; round >= 0; round--)
		{
			const float *signs = prepared->signs + 3 * start + (size_t) round * p;

			for (size_t i = 0; i < p; i++)
				transform[i] *= (double) signs[i];
			for (size_t half = 1; half < p; half *= 2)
				for (size_t i = 0; i < p; i++)
					if ((i & half) == 0)
					{
						double		a = transform[i];

						transform[i] = a + transform[i + half];
						transform[i + half] = a - transform[i + half];
					}
		}
		for (size_t j = 0; j < p && start + j < prepared->m; j++)
			h[start + j] = transform[j] * (double) prepared->factors[start + j];
	}
}

void
fc_sketch_add_far_phase(const fc_prepared *prepared, const fc_sketch_parts *parts, int64_t weight)
{
	double	   *y = prepared->angles;
	double	   *transform = y + fc_padded(prepared->n);
	double	   *h = transform + prepared->padded;
	int32_t    *cosine = (int32_t *) prepared->limbs;
	int32_t    *sine = cosine + prepared->m;
	float	   *reduced = (float *) (sine + prepared->m);

	prepared->isa->reduce(prepared, y);
	far_angles(prepared, y, transform, h);
	for (size_t s = 0; s < prepared->scales; s++)
	{
		for (size_t j = 0; j < prepared->m; j++)
		{
			double		angle = h[j] * (double) prepared->ratios[s];

			reduced[j] = (float) (angle - 2.0 * rint(0.5 * angle));
		}
		prepared->isa->quantise(reduced, prepared->m, cosine, sine);
		for (size_t j = 0; j < prepared->m; j++)
		{
			size_t		at = s * prepared->m + j;

			if (parts->z != NULL)
			{
				parts->z[at] += weight * cosine[j];
				parts->z[prepared->moments + at] += weight * sine[j];
			}
			else
			{
				parts->wide_z[at] += (fc_wide) weight * cosine[j];
				parts->wide_z[prepared->moments + at] += (fc_wide) weight * sine[j];
			}
		}
	}
}

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
far_angles(const fc_plan *plan, const double *y, double *transform, double *h)
{
	size_t		n = plan->n;
	size_t		p = plan->padded;

	for (size_t j = 0; plan->omega != NULL && j < plan->m; j++)
	{
		const float *tile = plan->omega + j / FC_FREQUENCY_TILE * FC_FREQUENCY_TILE * n + j % FC_FREQUENCY_TILE;

		h[j] = 0;
		for (size_t i = 0; i < n; i++)
			h[j] += y[i] * (double) tile[i * FC_FREQUENCY_TILE];
	}
	for (size_t start = 0; plan->omega == NULL && start < plan->m; start += p)
	{
		for (size_t i = 0; i < p; i++)
			transform[i] = i < n ? y[i] : 0.0;
		for (int round = 2; round >= 0; round--)
		{
			const float *signs = plan->signs + 3 * start + (size_t) round * p;

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
		for (size_t j = 0; j < p && start + j < plan->m; j++)
			h[start + j] = transform[j] * (double) plan->factors[start + j];
	}
}

void
fc_sketch_add_far_phase(const fc_plan *plan, const fc_sketch_parts *parts, int64_t weight)
{
	double	   *y = plan->angles;
	double	   *transform = y + fc_padded(plan->n);
	double	   *h = transform + plan->padded;
	int32_t    *cosine = (int32_t *) plan->limbs;
	int32_t    *sine = cosine + plan->m;
	float	   *reduced = (float *) (sine + plan->m);

	plan->isa->reduce(plan, y);
	far_angles(plan, y, transform, h);
	for (size_t s = 0; s < plan->scales; s++)
	{
		for (size_t j = 0; j < plan->m; j++)
		{
			double		angle = h[j] * (double) plan->ratios[s];

			reduced[j] = (float) (angle - 2.0 * rint(0.5 * angle));
		}
		plan->isa->quantise(reduced, plan->m, cosine, sine);
		for (size_t j = 0; j < plan->m; j++)
		{
			size_t		at = s * plan->m + j;

			if (parts->z != NULL)
			{
				parts->z[at] += weight * cosine[j];
				parts->z[plan->moments + at] += weight * sine[j];
			}
			else
			{
				parts->wide_z[at] += (fc_wide) weight * cosine[j];
				parts->wide_z[plan->moments + at] += (fc_wide) weight * sine[j];
			}
		}
	}
}

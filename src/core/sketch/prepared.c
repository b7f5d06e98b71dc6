/* prepared.c - a spec made ready to run; see prepared.h */
#include "sketch/prepared.h"

#include <math.h>
#include <string.h>

#include "sketch/isa.h"
#include "sketch/sketch.h"

#define PI 3.14159265358979323846

static bool
is_structured(const fc_spec *spec)
{
	return (spec->flags & FC_SPEC_STRUCTURED) != 0;
}

static void
set_sizes(const fc_spec *spec, fc_plan *plan)
{
	double		work_per_row;

	plan->spec = spec;
	plan->d = spec->dim;
	plan->n = spec->reduced;
	plan->m = spec->frequencies;
	plan->scales = spec->scales;
	plan->moments = fc_spec_moments(spec);
	plan->tracked = plan->d + ((spec->flags & FC_SPEC_PROJECTED) ? plan->n : 0);
	plan->row = fc_row_length(plan->d, plan->tracked);
	plan->padded = is_structured(spec) ? fc_padded_dim(plan->n) : (plan->m + FC_FREQUENCY_TILE - 1) / FC_FREQUENCY_TILE * FC_FREQUENCY_TILE;
	plan->kept = fc_rows_kept(spec);
	plan->waiting_row = fc_waiting_row(spec);
	plan->waiting_at[0] = fc_sketch_size(spec, 0, 0);
	plan->waiting_at[1] = fc_sketch_size(spec, FC_SKETCH_WEIGHTED, 0);
	work_per_row = (double) plan->moments * (double) (plan->n + 16);
	plan->batch = FC_BATCH_BYTES / (plan->n * sizeof(float)) / 16 * 16;
	if (plan->batch > FC_MAX_BATCH)
		plan->batch = FC_MAX_BATCH;
	if (plan->batch < 16)
		plan->batch = 16;
	while (plan->batch > 1 && (double) plan->batch * work_per_row > FC_BATCH_WORK)
		plan->batch /= 2;
	plan->weighted_batch = plan->batch;
	while (plan->weighted_batch > 1 && (double) plan->weighted_batch * work_per_row > FC_WEIGHTED_WORK)
		plan->weighted_batch /= 2;
}

static size_t
angles_size(const fc_plan *plan)
{
	return fc_padded(plan->n) + plan->padded + plan->moments;
}

static size_t
coordinates_size(const fc_plan *plan)
{
	return plan->kept ? FC_MAX_BATCH * plan->n + FC_PAD : FC_PAD;
}

static size_t
limbs_size(const fc_plan *plan)
{
	return FC_LIMBS * 2 * plan->moments;
}

size_t
fc_plan_size(const fc_spec *spec)
{
	fc_plan		plan;
	size_t		doubles;
	size_t		floats;

	set_sizes(spec, &plan);
	doubles = 6 * plan.row + 2 * fc_padded(plan.d) + angles_size(&plan) + limbs_size(&plan) +
		(plan.tracked > plan.d ? plan.d * fc_padded(plan.n) : 0);
	if (is_structured(spec))
		floats = (plan.m + plan.padded - 1) / plan.padded * 3 * plan.padded + plan.m;
	else
		floats = plan.padded * plan.n + plan.m * plan.n;	/* tiles, and the frequencies they are made of */
	return doubles * sizeof(double) + (floats + plan.scales + coordinates_size(&plan)) * sizeof(float) +
		fc_frequency_worksize(spec) + fc_sketch_isa_scratch(&plan) + 24 * 64;
}

void
fc_plan_grid(const fc_spec *spec, size_t i, double *inverse_unit, double *shift)
{
	const double *scale = fc_spec_scale(spec);
	bool		reduced = i >= spec->dim;
	double		width = reduced ? 1.0 : spec->sigma * (scale ? scale[i] : 1.0);

	*inverse_unit = ldexp(1.0, FC_GRID_BITS - ilogb(width));
	*shift = reduced ? 0.0 : rint(fc_spec_center(spec)[i] * *inverse_unit);
}

static void
set_grids(const fc_spec *spec, fc_plan *plan)
{
	const double *scale = fc_spec_scale(spec);
	bool		projected = plan->tracked > plan->d;

	for (size_t i = 0; i < plan->tracked; i++)
	{
		size_t		at = fc_row_place(plan->d, i);

		fc_plan_grid(spec, i, &plan->inverse_unit[at], &plan->shift[at]);
	}
	memcpy(plan->center, fc_spec_center(spec), plan->d * sizeof(double));
	for (size_t i = 0; i < plan->d; i++)
		plan->inverse_scale[i] = 1.0 / ((scale ? scale[i] : 1.0) * (projected ? 1.0 : spec->sigma));
	plan->near_y = FC_NEAR_Y;
	for (size_t s = 0; s < plan->scales; s++)
	{
		double		ratio = spec->sigma / fc_spec_sigmas(spec)[s];

		plan->ratios[s] = (float) ratio;
		plan->near_y = fmin(plan->near_y, FC_NEAR_Y / ratio);
	}
}

/* Is x near in dimension i, by the formulas of isa_rows.h?  Monotone: what lies between near values is near. */
static bool
is_near(const fc_plan *plan, size_t i, double x)
{
	return fabs(rint(x * plan->inverse_unit[i]) - plan->shift[i]) <= FC_NEAR_Q &&
		fabs((x - plan->center[i]) * plan->inverse_scale[i]) <= plan->near_y;
}

/* A hair within the limits, which are for isa_rows.h to tell; nothing where rounding leaves no such values. */
static void
set_near_values(fc_plan *plan)
{
	for (size_t i = 0; i < plan->d; i++)
	{
		double		width = 0.99 * fmin(FC_NEAR_Q / plan->inverse_unit[i], plan->near_y / plan->inverse_scale[i]);
		double		lowest = plan->center[i] - width;
		double		highest = plan->center[i] + width;
		bool		near = is_near(plan, i, lowest) && is_near(plan, i, highest);

		plan->lowest[i] = near ? lowest : INFINITY;
		plan->highest[i] = near ? highest : -INFINITY;
	}
}

static fc_status
set_basis(const fc_spec *spec, const fc_tick *tick, fc_plan *plan)
{
	const float *basis = fc_spec_basis(spec);

	for (size_t i = 0; i < plan->d; i++)
	{
		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		for (size_t r = 0; r < plan->n; r++)
			plan->basis[i * fc_padded(plan->n) + r] = (double) basis[r * plan->d + i] / spec->sigma;
	}
	return FC_OK;
}

/* Half-turns, in tiles of FC_FREQUENCY_TILE frequencies with the dimension outermost. */
static fc_status
set_dense(const fc_spec *spec, const fc_tick *tick, fc_arena *arena, fc_plan *plan)
{
	size_t		n = plan->n;
	size_t		mark = arena->used;
	float	   *omega = FC_TAKE(arena, plan->m * n, float);
	fc_status	status;

	if (omega == NULL)
		return FC_ENOMEMORY;
	status = fc_frequencies(spec, arena, tick, omega);
	for (size_t j = 0; status == FC_OK && j < plan->padded; j++)
	{
		float	   *tile = plan->omega + j / FC_FREQUENCY_TILE * FC_FREQUENCY_TILE * n + j % FC_FREQUENCY_TILE;

		if (j % FC_FREQUENCY_TILE == 0 && fc_ticked(tick))
			return FC_INTERRUPTED;
		for (size_t i = 0; i < n; i++)
			tile[i * FC_FREQUENCY_TILE] = j < plan->m ? (float) ((double) omega[j * n + i] / PI) : 0.0f;
	}
	arena->used = mark;
	return status;
}

static fc_status
set_structured(const fc_spec *spec, const fc_tick *tick, fc_arena *arena, fc_plan *plan)
{
	size_t		blocks = (plan->m + plan->padded - 1) / plan->padded;

	for (size_t b = 0; b < blocks; b++)
	{
		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		for (uint32_t round = 0; round < 3; round++)
			fc_block_signs(spec, (uint32_t) b, round, plan->padded,
						   plan->signs + (3 * b + round) * plan->padded);
	}
	return fc_structured_factors(spec, arena, tick, plan->factors);
}

static double *
take_zeroed(fc_arena *arena, size_t count)
{
	double	   *taken = FC_TAKE(arena, count, double);

	if (taken != NULL)
		memset(taken, 0, count * sizeof(double));
	return taken;
}

fc_status
fc_plan_build(const fc_spec *spec, const fc_tick *tick, fc_arena *arena, fc_plan *plan)
{
	bool		structured = is_structured(spec);
	size_t		blocks;
	fc_status	status;

	*plan = (fc_plan) {.tick = tick};
	set_sizes(spec, plan);
	blocks = (plan->m + plan->padded - 1) / plan->padded;
	plan->isa = fc_sketch_isa_select();
	plan->inverse_unit = take_zeroed(arena, plan->row);
	plan->shift = take_zeroed(arena, plan->row);
	plan->value = take_zeroed(arena, plan->row);
	plan->q = take_zeroed(arena, plan->row);
	plan->center = take_zeroed(arena, fc_padded(plan->d));
	plan->inverse_scale = take_zeroed(arena, fc_padded(plan->d));
	plan->lowest = take_zeroed(arena, plan->row);
	plan->highest = take_zeroed(arena, plan->row);
	plan->y = FC_TAKE(arena, coordinates_size(plan), float);
	plan->angles = FC_TAKE(arena, angles_size(plan), double);
	plan->ratios = FC_TAKE(arena, plan->scales, float);
	plan->limbs = FC_TAKE(arena, limbs_size(plan), int64_t);
	plan->scratch = fc_arena_take(arena, fc_sketch_isa_scratch(plan), 1);
	if (plan->tracked > plan->d)
		plan->basis = take_zeroed(arena, plan->d * fc_padded(plan->n));
	if (structured)
	{
		plan->signs = FC_TAKE(arena, blocks * 3 * plan->padded, float);
		plan->factors = FC_TAKE(arena, plan->m, float);
	}
	else
		plan->omega = FC_TAKE(arena, plan->padded * plan->n, float);
	if (plan->inverse_unit == NULL || plan->shift == NULL || plan->value == NULL || plan->q == NULL ||
		plan->lowest == NULL || plan->highest == NULL || plan->y == NULL || plan->center == NULL || plan->inverse_scale == NULL || plan->angles == NULL ||
		plan->ratios == NULL || plan->limbs == NULL || plan->scratch == NULL ||
		(plan->tracked > plan->d && plan->basis == NULL) ||
		(structured ? plan->signs == NULL || plan->factors == NULL : plan->omega == NULL))
		return FC_ENOMEMORY;
	set_grids(spec, plan);
	set_near_values(plan);
	if (plan->basis != NULL && (status = set_basis(spec, tick, plan)) != FC_OK)
		return status;
	return structured ? set_structured(spec, tick, arena, plan) : set_dense(spec, tick, arena, plan);
}

/* prepared.c - prepares a spec for use; see prepared.h */
#include "sketch/prepared.h"

#include "sketch/isa.h"

/*
 * Structured frequencies need space for one transform, and for p sums of
 * cosines and p of sines per sigma. Dense frequencies need the indices and
 * values of a few nonzero coordinates.
 */
size_t
fc_sketch_isa_scratch(const fc_prepared *prepared)
{
	if ((prepared->spec->flags & FC_SPEC_STRUCTURED) == 0)
		return fc_few_coordinates(prepared->n) *
			(sizeof(uint32_t) + sizeof(float));
	return (1 + 2 * prepared->scales) * prepared->padded * sizeof(float);
}

#define PI 3.14159265358979323846

static bool
is_structured(const fc_spec *spec)
{
	return (spec->flags & FC_SPEC_STRUCTURED) != 0;
}

static void
set_sizes(const fc_spec *spec, fc_prepared *prepared)
{
	double		work_per_row;

	prepared->spec = spec;
	prepared->d = spec->dim;
	prepared->n = spec->reduced;
	prepared->m = spec->frequencies;
	prepared->scales = spec->scales;
	prepared->moments = fc_spec_moments(spec);
	prepared->tracked = prepared->d +
		((spec->flags & FC_SPEC_PROJECTED) ? prepared->n : 0);
	prepared->row = fc_row_length(prepared->d, prepared->tracked);
	prepared->padded = is_structured(spec)
		? fc_padded_dim(prepared->n)
		: (prepared->m + FC_FREQUENCY_TILE - 1) /
		FC_FREQUENCY_TILE * FC_FREQUENCY_TILE;
	prepared->raw_rows = fc_rows_raw(spec);
	prepared->pending_row = fc_pending_row(spec);
	work_per_row = (double) prepared->moments * (double) (prepared->n + 16);
	prepared->batch = FC_BATCH_BYTES / prepared->pending_row / 16 * 16;
	if (prepared->batch > FC_MAX_BATCH)
		prepared->batch = FC_MAX_BATCH;
	if (prepared->batch < 16)
		prepared->batch = 16;
	while (prepared->batch > 1 &&
		   (double) prepared->batch * work_per_row > FC_BATCH_WORK)
		prepared->batch /= 2;
}

void
fc_spec_grid(const fc_spec *spec, size_t i, double *inverse_unit, double *shift)
{
	const double *scale = fc_spec_scale(spec);
	bool		reduced = i >= spec->dim;
	double		width = reduced ? 1.0 : spec->sigma * (scale ? scale[i] : 1.0);

	*inverse_unit = ldexp(1.0, FC_GRID_BITS - ilogb(width));
	*shift = reduced ? 0.0 : rint(fc_spec_center(spec)[i] * *inverse_unit);
}

static void
set_grids(const fc_spec *spec, fc_prepared *prepared)
{
	const double *scale = fc_spec_scale(spec);
	bool		projected = prepared->tracked > prepared->d;

	for (size_t i = 0; i < prepared->tracked; i++)
	{
		size_t		at = fc_row_place(prepared->d, i);

		fc_spec_grid(spec, i, &prepared->inverse_unit[at],
					 &prepared->shift[at]);
	}
	memcpy(prepared->center, fc_spec_center(spec),
		   prepared->d * sizeof(double));
	for (size_t i = 0; i < prepared->d; i++)
		prepared->inverse_scale[i] = 1.0 / ((scale ? scale[i] : 1.0) *
											(projected ? 1.0 : spec->sigma));
	prepared->zeros_vanish = !prepared->raw_rows;
	for (size_t i = 0; i < prepared->d; i++)
		prepared->zeros_vanish &= prepared->center[i] == 0.0;
	prepared->near_y = FC_NEAR_Y;
	for (size_t s = 0; s < prepared->scales; s++)
	{
		double		ratio = spec->sigma / fc_spec_sigmas(spec)[s];

		prepared->ratios[s] = (float) ratio;
		prepared->near_y = fmin(prepared->near_y, FC_NEAR_Y / ratio);
	}
}

/*
 * Returns true if the value x is near (isa.h) in dimension i, by the formulas
 * of isa_rows.h. The test is monotone: values between near ones are near.
 * With a basis near_y is infinite, because it limits reduced coordinates
 * only.
 */
static bool
is_near(const fc_prepared *prepared, size_t i, double x, double near_y)
{
	return fabs(rint(x * prepared->inverse_unit[i]) - prepared->shift[i]) <=
		FC_NEAR_Q &&
		fabs((x - prepared->center[i]) * prepared->inverse_scale[i]) <=
		near_y;
}

/*
 * Sets lowest and highest to 99 % of the limits, because rounding in
 * isa_rows.h decides whether a value at a limit is near. If rounding leaves
 * no near values, the range is empty (INFINITY .. -INFINITY).
 */
static void
set_near_values(fc_prepared *prepared)
{
	double		near_y = prepared->basis == NULL ? prepared->near_y : INFINITY;

	for (size_t i = 0; i < prepared->d; i++)
	{
		double		width = (0.99 * fmin(FC_NEAR_Q / prepared->inverse_unit[i],
										 near_y / prepared->inverse_scale[i]));
		double		lowest = prepared->center[i] - width;
		double		highest = prepared->center[i] + width;
		bool		near = (is_near(prepared, i, lowest, near_y) &&
							is_near(prepared, i, highest, near_y));

		prepared->lowest[i] = near ? lowest : INFINITY;
		prepared->highest[i] = near ? highest : -INFINITY;
	}
}

static void
set_basis(const fc_spec *spec, fc_prepared *prepared)
{
	const float *basis = fc_spec_basis(spec);
	double	   *norm2 = prepared->projected;	/* squared norms of the
												 * columns of the basis,
												 * stored in a work space */
	double		longest2 = 0;
	double		limit;
	size_t		rows = prepared->raw_rows ? FC_PROJECTED_ROWS : 1;

	memset(prepared->basis, 0,
		   prepared->d * fc_padded(prepared->n) * sizeof(double));
	memset(prepared->centered, 0,
		   rows * fc_padded(prepared->d) * sizeof(double));
	memset(prepared->projected, 0,
		   rows * fc_padded(prepared->n) * sizeof(double));
	for (size_t i = 0; i < prepared->d; i++)
	{
		fc_check();
		for (size_t r = 0; r < prepared->n; r++)
		{
			size_t		c = r / FC_BASIS_TILE * FC_BASIS_TILE;
			double	   *tile = prepared->basis + c * prepared->d;
			double		b = (double) basis[r * prepared->d + i] / spec->sigma;

			tile[i * fc_basis_tile(prepared, c) + r - c] = b;
			norm2[r] += b * b;
		}
	}
	for (size_t r = 0; r < prepared->n; r++)
		longest2 = fmax(longest2, norm2[r]);

	/*
	 * A reduced coordinate is at most the norm of the centered row times the
	 * norm of the longest column of the basis. The limit is 99 % of the
	 * limits of a reduced coordinate.
	 */
	limit = 0.99 *
		fmin(prepared->near_y,
			 FC_NEAR_Q / prepared->inverse_unit[fc_padded(prepared->d)]);
	prepared->near_norm2 = limit * limit / longest2;
}

/*
 * Sets the frequencies in half-turns, in tiles of FC_FREQUENCY_TILE
 * frequencies. In a tile, the values of one dimension are adjacent.
 */
static void
set_dense(const fc_spec *spec, fc_arena *arena, fc_prepared *prepared)
{
	size_t		n = prepared->n;
	fc_mark		mark = fc_arena_mark(arena);
	float	   *omega = FC_TAKE(arena, prepared->m * n, float);

	fc_frequencies(spec, arena, omega);
	for (size_t j = 0; j < prepared->padded; j++)
	{
		float	   *tile = (prepared->omega +
							j / FC_FREQUENCY_TILE * FC_FREQUENCY_TILE * n +
							j % FC_FREQUENCY_TILE);

		fc_check();
		for (size_t i = 0; i < n; i++)
			tile[i * FC_FREQUENCY_TILE] = j < prepared->m
				? (float) ((double)
						   omega[j * n + i] /
						   PI)
				: 0.0f;
	}
	fc_arena_release(arena, mark);
}

/* Returns the number of blocks of structured frequencies. */
static size_t
blocks_of(const fc_prepared *prepared)
{
	return (prepared->m + prepared->padded - 1) / prepared->padded;
}

static void
set_structured(const fc_spec *spec, fc_arena *arena, fc_prepared *prepared)
{
	for (size_t b = 0; b < blocks_of(prepared); b++)
	{
		fc_check();
		for (uint32_t round = 0; round < 3; round++)
			fc_block_signs(spec, (uint32_t) b, round, prepared->padded,
						   prepared->signs +
						   (3 * b + round) * prepared->padded);
	}
	memset(prepared->factors, 0, blocks_of(prepared) * prepared->padded * sizeof(float));
	fc_structured_frequencies(spec, arena, NULL, prepared->factors);
}

static void
take_arrays(fc_arena *arena, fc_prepared *prepared)
{
	size_t		d = fc_padded(prepared->d);
	size_t		n = fc_padded(prepared->n);

	/* number of rows that are projected together */
	size_t		rows = prepared->raw_rows ? FC_PROJECTED_ROWS : 1;

	prepared->inverse_unit = FC_TAKE(arena, prepared->row, double);
	prepared->shift = FC_TAKE(arena, prepared->row, double);
	prepared->value = FC_TAKE(arena, prepared->row, double);
	prepared->q = FC_TAKE(arena, prepared->row, double);
	prepared->center = FC_TAKE(arena, d, double);
	prepared->inverse_scale = FC_TAKE(arena, d, double);
	prepared->lowest = FC_TAKE(arena, prepared->row, double);
	prepared->highest = FC_TAKE(arena, prepared->row, double);
	prepared->dense = FC_TAKE(arena, prepared->d, double);
	prepared->y = FC_TAKE(arena,
						  (prepared->raw_rows ? FC_MAX_BATCH : 1) *
						  prepared->n +
						  FC_PAD,
						  float);
	prepared->angles = FC_TAKE(arena, n + prepared->padded + prepared->moments,
							   double);
	prepared->ratios = FC_TAKE(arena, prepared->scales, float);
	prepared->limbs = FC_TAKE(arena, 4 * prepared->moments, int64_t);
	prepared->phases = FC_TAKE(arena, 2 * prepared->moments, int64_t);
	prepared->scratch = fc_arena_take(arena, fc_sketch_isa_scratch(prepared),
									  1);
	if (prepared->tracked > prepared->d)
	{
		prepared->basis = FC_TAKE(arena, prepared->d * n, double);
		prepared->centered = FC_TAKE(arena, rows * d, double);
		prepared->projected = FC_TAKE(arena, rows * n, double);
	}
	if (is_structured(prepared->spec))
	{
		prepared->signs = FC_TAKE(arena,
								  blocks_of(prepared) * 3 * prepared->padded,
								  float);
		prepared->factors = FC_TAKE(arena, blocks_of(prepared) * prepared->padded, float);
	}
	else
		prepared->omega = FC_TAKE(arena, prepared->padded * prepared->n, float);
}

size_t
fc_prepared_size(const fc_spec *spec)
{
	fc_arena	measure = fc_arena_measure();
	fc_prepared prepared = {0};

	set_sizes(spec, &prepared);
	take_arrays(&measure, &prepared);
	/* frequencies before they are tiled, which set_dense takes and releases */
	fc_arena_reserve(&measure, is_structured(spec)
					 ? 0
					 : prepared.m * prepared.n * sizeof(float));
	return fc_arena_measured(&measure);
}

void
fc_spec_prepare(const fc_spec *spec, fc_arena *arena, fc_prepared *prepared)
{
	FC_ASSERT(fc_spec_check(spec, fc_spec_size(spec)) == FC_OK);
	*prepared = (fc_prepared)
	{
		0
	};
	set_sizes(spec, prepared);
	prepared->isa = fc_sketch_isa_select();
	take_arrays(arena, prepared);
	memset(prepared->inverse_unit, 0, prepared->row * sizeof(double));
	memset(prepared->shift, 0, prepared->row * sizeof(double));
	memset(prepared->value, 0, prepared->row * sizeof(double));
	memset(prepared->q, 0, prepared->row * sizeof(double));
	memset(prepared->lowest, 0, prepared->row * sizeof(double));
	memset(prepared->highest, 0, prepared->row * sizeof(double));
	memset(prepared->center, 0, fc_padded(prepared->d) * sizeof(double));
	memset(prepared->inverse_scale, 0, fc_padded(prepared->d) * sizeof(double));
	set_grids(spec, prepared);
	set_near_values(prepared);
	if (prepared->basis != NULL)
		set_basis(spec, prepared);
	if (is_structured(spec))
		set_structured(spec, arena, prepared);
	else
		set_dense(spec, arena, prepared);
}

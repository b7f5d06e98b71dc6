/* units.c - variances between units, and design effects; see units.h */
#include "drift/units.h"

#include <float.h>

#include "drift/internal.h"

/* Mean size of units, less 1, that counts as 0. */
#define ROUNDING	1e-9

/* ---- variances between units ---- */

/* A count of each part, to be compared between parts. */
typedef struct part_counts
{
	size_t		parts;
	double		correction;		/* factor from sums of squares to v */
	double	   *count;			/* c_p */
	double	   *rows;			/* m_p */
} part_counts;

/*
 * Returns the two sides of a test that are both part p, or all parts if p is
 * the number of parts.
 */
static fc_drift_sides
sides_of_part(const fc_drift_parts *parts, size_t p)
{
	const fc_drift_counts *counts = p < parts->count ? parts->counts[p] : parts->all;

	return (fc_drift_sides)
	{
		.spec = parts->spec,
			.fill = parts->fill,
			.counts =
		{
			counts, counts
		}
	};
}

/* Returns v of the counts. */
static float
variance_between(const part_counts *c)
{
	double		count = 0;
	double		rows = 0;
	double		square = 0;

	for (size_t p = 0; p < c->parts; p++)
	{
		count += c->count[p];
		rows += c->rows[p];
	}
	for (size_t p = 0; p < c->parts && rows > 0; p++)
	{
		double		excess = c->count[p] - count / rows * c->rows[p];

		square += excess * excess;
	}
	return rows > 0 ? (float) fmin(c->correction * square / rows, FLT_MAX) : 0.0f;
}

/*
 * Sets v of the cumulative cells of column j, and of its normal scores if their
 * ranks are taken in the rows of all parts.
 */
static void
count_column(const fc_drift_sides *side, size_t j,
			 part_counts *c, float *between, float *ranks)
{
	double		score[FC_DRIFT_CELLS];
	double		variance = fc_drift_normal_scores(&side[c->parts], j, score);

	memset(c->count, 0, c->parts * sizeof(double));
	for (size_t p = 0; p < c->parts; p++)
		c->rows[p] = fc_drift_rows_of_column(&side[p], 0, j);
	for (size_t cell = 0; cell < FC_DRIFT_CELLS; cell++)
	{
		for (size_t p = 0; p < c->parts; p++)
			c->count[p] += fc_drift_rows_of_cell(&side[p], 0, j, cell);
		between[j * FC_DRIFT_CELLS + cell] = variance_between(c);
	}
	memset(c->count, 0, c->parts * sizeof(double));
	for (size_t cell = 0; cell < FC_DRIFT_CELLS; cell++)
		for (size_t p = 0; p < c->parts && variance > 0; p++)
			c->count[p] += fc_drift_rows_of_cell(&side[p], 0, j, cell) *
				score[cell] / sqrt(variance);
	ranks[j] = variance_between(c);
}

/*
 * Sets v of rows with both bits of each pair, and of rows with one of them. one:
 * for each part the number of rows with each bit.
 */
static void
count_pairs(const fc_drift_parts *parts, const double *one, part_counts *c,
			float *both, float *alone)
{
	size_t		bits = fc_drift_spec_bits(parts->spec);
	size_t		place = (size_t) parts->spec->dim * FC_DRIFT_CELLS;

	for (size_t p = 0; p < c->parts; p++)
		c->rows[p] = (double) parts->counts[p]->rows;
	for (size_t a = 0; a < bits; a++)
	{
		fc_check();
		for (size_t b = a + 1; b < bits; b++, place++)
		{
			for (size_t p = 0; p < c->parts; p++)
				c->count[p] = (double) fc_drift_number(parts->counts[p], place);
			*both++ = variance_between(c);
			for (size_t p = 0; p < c->parts; p++)
				c->count[p] = one[p * bits + a] + one[p * bits + b] - 2.0 * c->count[p];
			*alone++ = variance_between(c);
		}
	}
}

/*
 * Sets v of the mean of column j, in units of the variance of its rows; 0 if
 * the column is constant.
 */
static void
count_mean(const fc_drift_parts *parts, size_t j, part_counts *c, float *means)
{
	double		deviation = sqrt(fc_sketch_variance(parts->all_sketch, j));
	double		mean = fc_sketch_mean(parts->all_sketch, j);

	for (size_t p = 0; p < c->parts; p++)
	{
		const fc_sketch_view *sketch = &parts->sketch[p];

		c->rows[p] = sketch->head->weight > 0 ? fc_sketch_total_weight(sketch) : 0.0;
		c->count[p] = c->rows[p] > 0 && deviation > 0
			? c->rows[p] * ((fc_sketch_mean(sketch, j) - mean) / deviation)
			: 0.0;
	}
	means[j] = variance_between(c);
}

/*
 * Sets traces of powers of V, the covariance matrix of the mean waves. With
 * K_pq = h_p h_q <z_p - z, z_q - z>, they are sums over distinct parts:
 *     tr V = sum K_pp, tr V^2 = sum K_pq^2, tr V^3 = sum K_pq K_qr K_rp,
 * each divided by the share of tuples of distinct parts among all tuples.
 */
static void
count_waves(const fc_drift_parts *parts, fc_arena *arena, fc_drift_units *units)
{
	size_t		n = parts->count;
	double		w = fc_sketch_total_weight(parts->all_sketch);
	double		w2 = fc_sketch_weight2(parts->all_sketch);
	double		own = fc_sketch_similarity(parts->all_sketch, parts->all_sketch);
	double		pairs = 1.0 - 1.0 / units->parts;
	double		triples = pairs * (1.0 - 2.0 / units->parts);
	double	   *share = FC_TAKE(arena, n, double);
	double	   *mean = FC_TAKE(arena, n, double);
	double	   *k = FC_TAKE(arena, n * n, double);
	double		trace = 0;
	double		square = 0;
	double		cube = 0;

	for (size_t p = 0; p < n; p++)
	{
		bool		empty = parts->sketch[p].head->weight <= 0;

		share[p] = empty ? 0.0 : fc_sketch_total_weight(&parts->sketch[p]) / w;
		mean[p] = empty ? 0.0 : fc_sketch_similarity(&parts->sketch[p], parts->all_sketch);
	}
	for (size_t p = 0; p < n; p++)
	{
		fc_check();
		for (size_t q = 0; q <= p; q++)
			k[p * n + q] = k[q * n + p] = share[p] == 0 || share[q] == 0 ? 0.0
				: share[p] * share[q] *
				(fc_sketch_similarity(&parts->sketch[p], &parts->sketch[q]) -
				 mean[p] - mean[q] + own);
	}
	for (size_t p = 0; p < n; p++)
	{
		trace += k[p * n + p];
		for (size_t q = 0; q < p; q++)
		{
			square += 2.0 * k[p * n + q] * k[p * n + q];
			for (size_t r = 0; r < q; r++)
				cube += 6.0 * k[p * n + q] * k[q * n + r] * k[r * n + p];
		}
	}
	trace /= pairs;
	square = fmin(square / pairs, trace * trace);
	units->wave_excess = trace - (1.0 - own) * w2 / (w * w - w2);
	units->wave_square = square;
	units->wave_cube = square > 0
		? fmin(fmax(cube / triples, square * square / trace), pow(square, 1.5))
		: 0.0;
}

void
fc_drift_count_units(const fc_drift_parts *parts, fc_arena *arena, fc_drift_counts *target)
{
	const fc_drift_spec *spec = parts->spec;
	size_t		bits = fc_drift_spec_bits(spec);
	size_t		pairs = fc_drift_pairs(bits);
	size_t		values = fc_drift_values(target);
	fc_drift_units *units = fc_drift_units_of(target);
	float	   *between = fc_drift_between(units);
	float	   *alone = between + fc_drift_numbers(target);
	double	   *one = FC_TAKE(arena, parts->count * bits, double);
	fc_drift_sides *side = FC_TAKE(arena, parts->count + 1, fc_drift_sides);
	part_counts c = {
		.parts = parts->count,
		.count = FC_TAKE(arena, parts->count, double),
		.rows = FC_TAKE(arena, parts->count, double)
	};
	double		all = (double) parts->all->rows;
	double		squares = 0;

	for (size_t p = 0; p <= parts->count; p++)
		side[p] = sides_of_part(parts, p);
	for (size_t p = 0; p < parts->count; p++)
	{
		squares += (double) parts->counts[p]->rows * (double) parts->counts[p]->rows;
		for (size_t b = 0; b < bits; b++)
			one[p * bits + b] = fc_drift_rows_with_bit(&side[p], 0, b);
	}
	*units = (fc_drift_units)
	{
		.units = parts->units,
			.rows = parts->rows,
			.square = parts->square,
			.parts = all * all / squares
	};
	if (units->parts < 2.0)
		return;
	c.correction = parts->rows / all / (1.0 - 1.0 / units->parts);
	for (size_t j = 0; j < spec->dim; j++)
	{
		fc_check();
		count_column(side, j, &c, between, alone + pairs);
	}
	count_pairs(parts, one, &c, between + (size_t) spec->dim * FC_DRIFT_CELLS, alone);
	for (size_t p = 0; p < parts->count; p++)
		c.rows[p] = (double) parts->counts[p]->rows;
	for (size_t j = 0; j < spec->dim; j++)
	{
		for (size_t p = 0; p < parts->count; p++)
			c.count[p] = (double) fc_drift_number(parts->counts[p], values + j);
		between[values + j] = variance_between(&c);
	}
	if (!(parts->all_sketch->head->weight > 0))
		return;
	c.correction *= all / fc_sketch_total_weight(parts->all_sketch);
	for (size_t j = 0; j < spec->dim; j++)
		count_mean(parts, j, &c, alone + pairs + spec->dim);
	if (fc_spec_basis(parts->all_sketch->spec) == NULL)
		count_waves(parts, arena, units);
}

/* ---- the test ---- */

bool
fc_drift_too_few_units(const fc_drift_sides *sides)
{
	bool		few = false;

	for (int side = 0; side < 2 && fc_drift_has_units(sides); side++)
		few |= fc_drift_units_of(sides->counts[side])->parts < FC_DRIFT_MIN_PARTS;
	return few;
}

/*
 * Returns b - 1, by how much the mean size of the unit of a row exceeds 1; 0
 * for a difference that is rounding.
 */
static double
excess_size(const fc_drift_units *units)
{
	double		excess = units->rows * units->square - 1.0;

	return excess > ROUNDING ? excess : 0.0;
}

fc_drift_design
fc_drift_design_of(const fc_drift_sides *sides, size_t place, const double rows[2],
				   double variance)
{
	fc_drift_design design = {{1.0, 1.0}, INFINITY};
	double		excess = 0;
	double		scale = 0;
	double		sum = 0;
	double		squares = 0;

	if (!fc_drift_has_units(sides) || !(variance > 0))
		return design;
	for (int side = 0; side < 2; side++)
	{
		const fc_drift_units *units = fc_drift_units_of(sides->counts[side]);

		excess += rows[side] * ((double) fc_drift_between(units)[place] - variance);
		scale += rows[side] * excess_size(units) * variance;
	}
	if (!(scale > 0))
		return design;
	for (int side = 0; side < 2; side++)
	{
		const fc_drift_units *units = fc_drift_units_of(sides->counts[side]);
		double		part;

		design.effect[side] = 1.0 + fmax(0.0, excess / scale) * excess_size(units);
		part = rows[side] * design.effect[side];
		sum += part;
		squares += part * part / (units->parts - 1.0);
	}
	design.freedom = sum * sum / squares;
	return design;
}

bool
fc_drift_law_of_units(const fc_drift_sides *sides, fc_wave_law *law)
{
	double		excess = 0;
	double		root = 0;
	double		third = 0;
	double		sum = 0;
	bool		larger = false;

	for (int side = 0; side < 2 && fc_drift_has_units(sides); side++)
	{
		const fc_drift_units *units = fc_drift_units_of(sides->counts[side]);

		excess += units->wave_excess;

		root += sqrt(units->wave_square);
		third += cbrt(units->wave_cube);
		sum += units->wave_square / (units->parts - 1.0);
		larger |= excess_size(units) > 0;
	}
	*law = (fc_wave_law)
	{
		excess,
		{
			root	   *root,
						third * third * third
		}		   ,
					sum > 0 ? root * root / sum : INFINITY
	};
	return larger;
}

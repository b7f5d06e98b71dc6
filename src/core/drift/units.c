/* units.c - variances between units, and design effects; see units.h */
#include "drift/units.h"

#include <float.h>

#include "drift/internal.h"

/*
 * Value of b_i - 1 up to which rows count as independent, because it may be a
 * rounding error. b_i is the mean size of the unit of a row (units.h).
 */
#define ROUNDING	1e-9

/* ---- variances between units ---- */

/*
 * One statistic, such as the number of rows up to an edge, in each part of the
 * rows. A hash of the units, such as customers, divides the rows into parts.
 * The variance v between units is computed from the differences between parts
 * (units.h).
 */
typedef struct part_counts
{
	const fc_drift_parts *parts;
	double		correction;		/* factor that converts the sum of squares per
								 * row to v */
	double	   *count;			/* c_p: the statistic of each part */
	double	   *rows;			/* m_p: number of rows of each part */
} part_counts;

/*
 * Returns the variance v between units, computed from the counts and rows of
 * all parts; 0 without rows.
 */
static float
variance_between(const part_counts *c)
{
	double		count = 0;
	double		rows = 0;
	double		square = 0;

	for (size_t p = 0; p < c->parts->count; p++)
	{
		count += c->count[p];
		rows += c->rows[p];
	}
	for (size_t p = 0; p < c->parts->count && rows > 0; p++)
	{
		double		excess = c->count[p] - count / rows * c->rows[p];

		square += excess * excess;
	}
	return rows > 0 ? (float) fmin(c->correction * square / rows, FLT_MAX) : 0.0f;
}

/* Sets c->count to count i of each part, and returns v of these counts. */
static float
variance_of_number(part_counts *c, size_t i)
{
	for (size_t p = 0; p < c->parts->count; p++)
		c->count[p] = (double) fc_drift_number(c->parts->part[p].counts[0], i);
	return variance_between(c);
}

/*
 * Sets between[cell], for each cell of column j, to v of the rows in this cell
 * or below. Returns v of the normal scores of the column. The scores are
 * computed from the ranks of the rows of all parts together.
 */
static float
count_column(part_counts *c, size_t j, float *between)
{
	const fc_drift_sides *part = c->parts->part;
	size_t		parts = c->parts->count;
	double		score[FC_DRIFT_CELLS];
	double		variance = fc_drift_normal_scores(&c->parts->all, j, score);

	for (size_t p = 0; p < parts; p++)
	{
		c->rows[p] = fc_drift_rows_of_column(&part[p], 0, j);
		c->count[p] = 0;
	}
	for (size_t cell = 0; cell < FC_DRIFT_CELLS; cell++)
	{
		for (size_t p = 0; p < parts; p++)
			c->count[p] += fc_drift_rows_of_cell(&part[p], 0, j, cell);
		between[cell] = variance_between(c);
	}
	for (size_t p = 0; p < parts; p++)
	{
		c->count[p] = 0;
		for (size_t cell = 0; cell < FC_DRIFT_CELLS && variance > 0; cell++)
			c->count[p] += fc_drift_rows_of_cell(&part[p], 0, j, cell) *
				score[cell] / sqrt(variance);
	}
	return variance_between(c);
}

/*
 * Computes v for each pair of bits, in the order of counts.h. `both` receives
 * v of the rows with both bits, and `alone` v of the rows with exactly one of
 * the two bits. one[p * bits + b] is the number of rows of part p with bit b.
 */
static void
count_pairs(part_counts *c, const double *one, float *both, float *alone)
{
	const fc_drift_spec *spec = c->parts->all.spec;
	size_t		bits = fc_drift_spec_bits(spec);
	size_t		place = (size_t) spec->dim * FC_DRIFT_CELLS;

	for (size_t a = 0; a < bits; a++)
	{
		fc_check();
		for (size_t b = a + 1; b < bits; b++, place++)
		{
			*both++ = variance_of_number(c, place);
			for (size_t p = 0; p < c->parts->count; p++)
				c->count[p] = one[p * bits + a] + one[p * bits + b] - 2.0 * c->count[p];
			*alone++ = variance_between(c);
		}
	}
}

/*
 * Returns v of the mean of column j, in units of the variance of its rows; 0 if
 * the column is constant.
 */
static float
count_mean(part_counts *c, size_t j)
{
	const fc_sketch_view *all = c->parts->all.sketch[0];
	double		deviation = sqrt(fc_sketch_variance(all, j));

	for (size_t p = 0; p < c->parts->count; p++)
	{
		const fc_sketch_view *sketch = c->parts->part[p].sketch[0];

		c->rows[p] = sketch->head->weight > 0 ? fc_sketch_total_weight(sketch) : 0.0;
		c->count[p] = c->rows[p] > 0 && deviation > 0
			? c->rows[p] * ((fc_sketch_mean(sketch, j) - fc_sketch_mean(all, j)) / deviation)
			: 0.0;
	}
	return variance_between(c);
}

/*
 * Sets wave_excess, wave_square and wave_cube of the units. V is the
 * covariance matrix of the mean waves z, and z_p are the mean waves of part p.
 * With K_pq = h_p h_q <z_p - z, z_q - z>, the traces of powers of V are
 * estimated by
 *     tr V = sum K_pp, tr V^2 = sum K_pq^2, tr V^3 = sum K_pq K_qr K_rp,
 * where p, q and r are distinct parts. With P effective parts, the first two
 * sums are divided by 1 - 1/P, and the third by (1 - 1/P) (1 - 2/P). c->rows
 * has the sum of the weights of each part.
 */
static void
count_waves(const part_counts *c, fc_arena *arena, fc_drift_units *units)
{
	size_t		n = c->parts->count;
	const fc_sketch_view *all = c->parts->all.sketch[0];
	double		w = fc_sketch_total_weight(all);
	double		w2 = fc_sketch_weight2(all);
	double		own = fc_sketch_similarity(all, all);
	double		pairs = 1.0 - 1.0 / units->parts;
	double		triples = pairs * (1.0 - 2.0 / units->parts);
	double	   *mean = FC_TAKE(arena, n, double);
	double	   *k = FC_TAKE(arena, n * n, double);
	double		trace = 0;
	double		square = 0;
	double		cube = 0;
	fc_wave_null null;

	for (size_t p = 0; p < n; p++)
	{
		const fc_sketch_view *sketch = c->parts->part[p].sketch[0];

		fc_check();
		mean[p] = c->rows[p] > 0 ? fc_sketch_similarity(sketch, all) : 0.0;
		for (size_t q = 0; q <= p; q++)
			k[p * n + q] = k[q * n + p] = !(c->rows[p] > 0 && c->rows[q] > 0) ? 0.0
				: c->rows[p] / w * (c->rows[q] / w) *
				(fc_sketch_similarity(sketch, c->parts->part[q].sketch[0]) -
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
	null = fc_wave_possible(trace, square / pairs, cube / triples);
	units->wave_excess = trace - (1.0 - own) * w2 / (w * w - w2);
	units->wave_square = null.square;
	units->wave_cube = null.cube;
}

void
fc_drift_count_units(const fc_drift_parts *parts, fc_arena *arena, fc_drift_counts *target)
{
	const fc_drift_spec *spec = parts->all.spec;
	const fc_sketch_view *sketch = parts->all.sketch[0];
	size_t		bits = fc_drift_spec_bits(spec);
	size_t		values = fc_drift_values(target);
	fc_drift_units *units = fc_drift_units_of(target);
	float	   *between = fc_drift_between(units);
	float	   *alone = between + fc_drift_numbers(target);
	float	   *ranks = alone + fc_drift_pairs(bits);
	double	   *one = FC_TAKE(arena, parts->count * bits, double);
	part_counts c = {
		.parts = parts,
		.count = FC_TAKE(arena, parts->count, double),
		.rows = FC_TAKE(arena, parts->count, double)
	};
	double		all = fc_drift_rows_of_side(&parts->all, 0);
	double		squares = 0;

	for (size_t p = 0; p < parts->count; p++)
	{
		double		rows = fc_drift_rows_of_side(&parts->part[p], 0);

		squares += rows * rows;
		for (size_t b = 0; b < bits; b++)
			one[p * bits + b] = fc_drift_rows_with_bit(&parts->part[p], 0, b);
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
		ranks[j] = count_column(&c, j, between + j * FC_DRIFT_CELLS);
	}
	for (size_t p = 0; p < parts->count; p++)
		c.rows[p] = fc_drift_rows_of_side(&parts->part[p], 0);
	count_pairs(&c, one, between + (size_t) spec->dim * FC_DRIFT_CELLS, alone);
	for (size_t j = 0; j < spec->dim; j++)
		between[values + j] = variance_of_number(&c, values + j);
	if (!(sketch->head->weight > 0))
		return;
	c.correction *= all / fc_sketch_total_weight(sketch);
	for (size_t j = 0; j < spec->dim; j++)
		ranks[spec->dim + j] = count_mean(&c, j);
	if (fc_spec_basis(sketch->spec) == NULL)
		count_waves(&c, arena, units);
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
 * Returns b - 1, the mean size of the unit of a row minus 1 (units.h). Returns
 * 0 if the difference is only rounding error.
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

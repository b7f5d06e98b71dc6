/* sides.c - the counts of the two sides of a test; see test.h */
#include "drift/internal.h"
#include "drift/units.h"

/* Returns the units of a side if both sides have units, else NULL. */
static inline const fc_drift_units *
units_of_side(const fc_drift_sides *sides, int side)
{
	return fc_drift_has_units(sides) ? fc_drift_units_of(sides->counts[side]) : NULL;
}

double
fc_drift_rows_of_side(const fc_drift_sides *sides, int side)
{
	const fc_drift_units *units = units_of_side(sides, side);

	return units != NULL ? units->rows
		: fc_drift_has_counts(sides) ? (double) sides->counts[side]->rows
		: fc_effective_rows(sides->sketch[side]);
}

bool
fc_drift_has_rows(const fc_drift_sides *sides)
{
	return fmin(fc_drift_rows_of_side(sides, 0), fc_drift_rows_of_side(sides, 1)) >=
		FC_DRIFT_MIN_ROWS;
}

double
fc_drift_number_of_side(const fc_drift_sides *sides, int side, size_t i)
{
	const fc_drift_counts *counts = sides->counts[side];
	const fc_drift_units *units = units_of_side(sides, side);
	double		number = (double) fc_drift_number(counts, i);

	return units != NULL ? number * (units->rows / (double) counts->rows) : number;
}

/* ---- NULLs ---- */

/*
 * Returns the number of NULLs that a side counted in the column of the table
 * whose last dimension is j.
 */
static double
nulls_of_side(const fc_drift_sides *sides, int side, size_t j)
{
	return fc_drift_number_of_side(sides, side, fc_drift_values(sides->counts[side]) + j);
}

static bool
nulls_known(const fc_drift_sides *sides)
{
	return fc_drift_has_counts(sides) &&
		(sides->counts[0]->flags & sides->counts[1]->flags & FC_DRIFT_NULLS);
}

double
fc_drift_imputed_rows(const fc_drift_sides *sides, int side, size_t j)
{
	return sides->fill != NULL && sides->fill[j].cell >= 0 && nulls_known(sides)
		? nulls_of_side(sides, side, sides->fill[j].nulls)
		: 0.0;
}

double
fc_drift_rows_of_column(const fc_drift_sides *sides, int side, size_t j)
{
	return fc_drift_rows_of_side(sides, side) - fc_drift_imputed_rows(sides, side, j);
}

double
fc_drift_rows_of_cell(const fc_drift_sides *sides, int side, size_t j, size_t cell)
{
	double		rows = fc_drift_number_of_side(sides, side, j * FC_DRIFT_CELLS + cell);

	return sides->fill != NULL && sides->fill[j].cell == (int32_t) cell
		? fmax(0.0, rows - fc_drift_imputed_rows(sides, side, j))
		: rows;
}

bool
fc_drift_null_table(const fc_drift_sides *sides, size_t j, fc_two_by_two *table)
{
	if (!nulls_known(sides))
		return false;
	*table = (fc_two_by_two)
	{
		.column = j,.other = j,.nulls = true,.place = fc_drift_values(sides->counts[0]) + j
	};
	for (int side = 0; side < 2; side++)
	{
		table->count[side] = nulls_of_side(sides, side, j);
		table->rows[side] = fc_drift_rows_of_side(sides, side);
	}
	return table->count[0] + table->count[1] > 0;
}

int32_t
fc_drift_cell(const fc_drift_spec *spec, size_t j, double value)
{
	const double *origin = fc_drift_origin(spec);
	float		x = (float) (value - (origin != NULL ? origin[j] : 0.0));
	const float *edge = fc_drift_edges(spec) + j * FC_DRIFT_EDGES;
	int32_t		cell = x >= fc_drift_minima(spec)[j];

	for (size_t k = 0; k < FC_DRIFT_EDGES; k++)
		cell += x > edge[k];
	return cell;
}

/* ---- bits and ranks ---- */

double
fc_drift_rows_with_bit(const fc_drift_sides *sides, int side, size_t b)
{
	const fc_drift_spec *spec = sides->spec;
	size_t		j = fc_drift_bit_columns(spec)[b];
	const uint8_t *third = fc_drift_thirds(spec) + 3 * j;
	bool		far = b >= spec->plain;
	double		rows = 0;

	for (size_t cell = 0; cell < FC_DRIFT_CELLS; cell++)
		if (cell > (size_t) third[far ? FC_DRIFT_UPPER : FC_DRIFT_MIDDLE] + 1 ||
			(far && cell <= (size_t) third[FC_DRIFT_LOWER] + 1))
			rows += fc_drift_number_of_side(sides, side, j * FC_DRIFT_CELLS + cell);
	return rows;
}

double
fc_drift_normal_scores(const fc_drift_sides *sides, size_t j, double *score)
{
	double		n = fc_drift_rows_of_column(sides, 0, j) + fc_drift_rows_of_column(sides, 1, j);
	double		below = 0;
	double		mean = 0;
	double		variance = 0;

	for (size_t cell = 0; cell < FC_DRIFT_CELLS; cell++)
	{
		double		rows = (fc_drift_rows_of_cell(sides, 0, j, cell) +
							fc_drift_rows_of_cell(sides, 1, j, cell));

		score[cell] = rows > 0 ? fc_normal_quantile((below + 0.5 * rows) / n) : 0.0;
		below += rows;
		mean += rows * score[cell] / n;
	}
	for (size_t cell = 0; cell < FC_DRIFT_CELLS; cell++)
	{
		score[cell] -= mean;
		variance += (fc_drift_rows_of_cell(sides, 0, j, cell) +
					 fc_drift_rows_of_cell(sides, 1, j, cell)) * score[cell] * score[cell] / n;
	}
	return variance;
}

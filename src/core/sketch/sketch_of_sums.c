/* sketch_of_sums.c - a sketch of rows that were sketched elsewhere; see sketch.h */
#include "sketch/sketch.h"

#include "sketch/isa.h"

/* Maximum magnitude of a sum, so that it fits in 128 bits with its sign. */
#define MAX_SUM	0x1p126

/*
 * Sets the sums and bounds of dimension i. The sum of squares is stored in
 * `high` and `low` alone; `cross` stays 0 (layout.h). Returns FC_EFAR if a
 * sum does not fit.
 */
static fc_status
set_dimension(const fc_sketch_sums *sums, size_t i, const fc_sketch_view *sketch)
{
	fc_quad		rows = (fc_quad) sums->rows;
	double		inverse_unit;
	double		shift;
	fc_quad		mean;
	fc_quad		deviation;
	fc_quad		square;

	fc_spec_grid(sketch->spec, i, &inverse_unit, &shift);
	mean = (fc_quad) sums->means[i] * inverse_unit - shift;
	deviation = (fc_quad) sums->stddevs[i] * inverse_unit;
	square = rows * (mean * mean + deviation * deviation);
	if (!(fabs((double) mean) <= FC_FAR_Q &&
		  (double) square <= MAX_SUM * FC_EXP2(48)))
		return FC_EFAR;
	sketch->sum[i] = (fc_wide) (rows * mean);
	sketch->high[i] = (fc_wide) (square / FC_EXP2(48));
	sketch->low[i] = (fc_wide) (square - (fc_quad) sketch->high[i] * FC_EXP2(48));
	sketch->lower[i] = sums->lower[i];
	sketch->upper[i] = sums->upper[i];
	return FC_OK;
}

fc_status
fc_sketch_of_sums(const fc_sketch_sums *sums, const fc_sketch_view *sketch)
{
	double		one = (double) (sums->rows << FC_COSINE_BITS);

	FC_ASSERT(sketch->z != NULL && sketch->tracked == sketch->spec->dim);
	sketch->head->count = sums->rows;
	sketch->head->weight = sketch->head->weight2 = sums->rows;
	for (size_t i = 0; i < sketch->tracked; i++)
	{
		fc_status	status = set_dimension(sums, i, sketch);

		if (status != FC_OK)
			return status;
	}
	for (size_t j = 0; j < sketch->moments; j++)
	{
		sketch->z[j] = llrint(one * sums->moments[2 * j]);
		sketch->z[sketch->moments + j] = llrint(one * sums->moments[2 * j + 1]);
	}
	return fc_sketch_check_sums(sketch);
}

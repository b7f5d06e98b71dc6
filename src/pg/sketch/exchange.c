/*
 * exchange.c - exchange of frequencies and moments with other programs, which
 * sketch rows by the formula z_j = mean of exp(i omega_j . x)
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "pg/base/memory.h"
#include "pg/base/vectors.h"
#include "pg/sketch/sketch_value.h"
#include "sketch/sketch.h"

/*
 * Maximum magnitude of a moment from another program, whose rounding may have
 * made it exceed 1. A larger maximum would accept moments that no set of rows
 * can have. A guess.
 */
#define MAX_MOMENT	1.000001

/*
 * Reads a two-dimensional array of m frequencies with d elements each, in
 * radians per unit of x. Returns the m x d elements in units of 1 / sigma.
 * Sets fields->frequencies to m, and fields->dim and fields->reduced to d.
 */
static float *
read_frequencies(ArrayType *array, double sigma, fc_spec_fields *fields)
{
	const double *values = (const double *) ARR_DATA_PTR(array);
	float	   *given;
	Size		d;

	if (ARR_NDIM(array) != 2)
		ereport(ERROR, errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				errmsg("frequencies must have two dimensions, not %d", ARR_NDIM(array)),
				errhint("Pass an array with a row for each frequency, such as '{{0.5,1},{-2,0.1}}' for two frequencies of two dimensions."));
	if (ARR_HASNULL(array))
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				errmsg("frequencies must not contain NULL"));
	check_count("the number of frequencies", ARR_DIMS(array)[0], 1, FC_MAX_MOMENTS);
	check_count("the number of dimensions", ARR_DIMS(array)[1], 1, FC_MAX_DIM);
	fields->frequencies = (Size) ARR_DIMS(array)[0];
	fields->dim = fields->reduced = d = (Size) ARR_DIMS(array)[1];
	check_budget(fields->frequencies * d * sizeof(float), "frequencies");
	given = alloc_large(fields->frequencies * d * sizeof(float));
	for (Size j = 0; j < fields->frequencies; j++)
	{
		double		norm2 = 0.0;

		CHECK_FOR_INTERRUPTS();
		for (Size i = 0; i < d; i++)
		{
			double		value = values[j * d + i] * sigma;

			norm2 += value * value;
			given[j * d + i] = (float) value;
		}
		if (!isfinite(norm2))
			ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					errmsg("frequency %zu is not finite", j + 1));
		if (!(norm2 <= 0.99 * FC_MAX_FREQUENCY * FC_MAX_FREQUENCY))
			ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					errmsg("frequency %zu has length %g, too large for sigma %g",
						   j + 1, sqrt(norm2) / sigma, sigma),
					errdetail("A frequency times sigma may have a length of up to %g.",
							  0.995 * FC_MAX_FREQUENCY),
					errhint("Pass the sigma of the law of the frequencies, which is about the width of a cluster."));
	}
	return given;
}

/*
 * Takes (frequencies, sigma, law). Returns the spec with these frequencies.
 */
PG_FUNCTION_INFO_V1(fastclust_spec_of_frequencies);
Datum
fastclust_spec_of_frequencies(PG_FUNCTION_ARGS)
{
	fc_spec_fields fields = {0};
	double		sigma = PG_GETARG_FLOAT8(1);

	check_positive("sigma", sigma);
	fields.law = law_of_name(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	fields.sigmas = &sigma;
	fields.scales = 1;
	fields.given = read_frequencies(PG_GETARG_ARRAYTYPE_P(0), sigma, &fields);
	PG_RETURN_POINTER(build_spec(&fields));
}

/*
 * Returns a row (omega, phase) for each moment of the spec, in the order of
 * fastclust.moments.
 */
PG_FUNCTION_INFO_V1(fastclust_spec_frequencies);
Datum
fastclust_spec_frequencies(PG_FUNCTION_ARGS)
{
	const fc_spec *spec = SPEC_ARG(0);
	const double *scale = fc_spec_scale(spec);
	Size		d = spec->dim;
	float	   *omega;
	fc_arena	arena;

	fastclust_begin_rows(fcinfo);
	if (spec->flags & (FC_SPEC_PROJECTED | FC_SPEC_STRUCTURED))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("the frequencies of a %s sketch_spec cannot be listed",
					   spec->flags & FC_SPEC_PROJECTED ? "projected" : "structured"),
				errhint(spec->flags & FC_SPEC_PROJECTED
						? "Make the spec by sketch_spec_agg with option \"dimensions\" equal to the number of dimensions, and \"structured\" off."
						: "Make the spec by sketch_spec_agg with option \"structured\" off, or by sketch_spec with option \"structured\" false."));
	arena = make_arena("frequencies");
	omega = FC_TAKE(&arena, (Size) spec->frequencies * d, float);
	fc_frequencies(spec, &arena, omega);
	for (Size s = 0; s < spec->scales; s++)
		for (Size j = 0; j < spec->frequencies; j++)
		{
			double	   *elements;
			double		phase = 0.0;
			Datum		values[2];

			CHECK_FOR_INTERRUPTS();
			values[0] = empty_float8_array((int) d, &elements);
			for (Size i = 0; i < d; i++)
			{
				elements[i] = ((double) omega[j * d + i] / fc_spec_sigmas(spec)[s] /
							   (scale != NULL ? scale[i] : 1.0));
				phase -= elements[i] * fc_spec_center(spec)[i];
			}
			values[1] = Float8GetDatum(phase);
			put_row(fcinfo, values, NULL);
			pfree(DatumGetPointer(values[0]));
		}
	release_arena(&arena);
	return (Datum) 0;
}

/*
 * Limits moments to the range from -1 to 1. Raises an error if the magnitude
 * of a moment exceeds MAX_MOMENT.
 */
static void
limit_moments(double *moments, Size count)
{
	for (Size j = 0; j < count; j++)
	{
		if (!(fabs(moments[j]) <= MAX_MOMENT))
			ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					errmsg("moment %zu is %g", j + 1, moments[j]),
					errdetail("Moments are means of cosines and sines, from -1 to 1."),
					errhint("Divide sums over the rows by the number of rows."));
		moments[j] = fmax(-1.0, fmin(1.0, moments[j]));
	}
}

/*
 * Takes (spec, moments, row_count, lower, upper, means, stddevs). Returns a
 * sketch with these statistics.
 */
PG_FUNCTION_INFO_V1(fastclust_sketch_of_moments);
Datum
fastclust_sketch_of_moments(PG_FUNCTION_ARGS)
{
	fc_spec    *spec = SPEC_ARG(0);
	Size		d = spec->dim;
	Size		moment_count = 2 * fc_spec_moments(spec);
	double	   *moments;
	fc_sketch_sums sums;
	fc_sketch_view view;
	fc_status	status;

	if (spec->flags & FC_SPEC_PROJECTED)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("a sketch cannot be made from the moments of a projected sketch_spec"),
				errhint("Make the spec by sketch_spec_agg with option \"dimensions\" equal to the number of dimensions."));
	moments = numbers_argument(fcinfo, 1, moment_count, "moments");
	sums = (fc_sketch_sums)
	{
		.rows = PG_GETARG_INT64(2),
			.moments = moments,
			.lower = numbers_argument(fcinfo, 3, d, "lower_bounds"),
			.upper = numbers_argument(fcinfo, 4, d, "upper_bounds"),
			.means = numbers_argument(fcinfo, 5, d, "means"),
			.stddevs = numbers_argument(fcinfo, 6, d, "stddevs")
	};
	check_count("row_count", sums.rows, 1, FC_MAX_ROWS);
	limit_moments(moments, moment_count);
	check_not_negative("stddevs", sums.stddevs, d);
	for (Size i = 0; i < d; i++)
		if (!(sums.lower[i] <= sums.means[i] && sums.means[i] <= sums.upper[i]))
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("mean %zu is %g, outside its bounds from %g to %g",
						   i + 1, sums.means[i], sums.lower[i], sums.upper[i]));
	view = fc_sketch_view_of(empty_sketch(spec, 0, 0));
	status = fc_sketch_of_sums(&sums, &view);
	if (status == FC_EFAR)
		report_row(status, sums.means, NULL, d);
	check_status(status);
	PG_RETURN_POINTER(view.head);
}

/*
 * decode_fn.c - decode and decode_fit: centroids from a sketch.
 *
 * The sketch becomes a problem in reduced coordinates, the core decodes it, and
 * centroids are lifted back:
 *     x = center + scale (basis' sigma y + what the basis leaves of the mean)
 */
#include "fastclust.h"

#include <limits.h>
#include <math.h>

#include "access/htup_details.h"
#include "fc_decode.h"
#include "funcapi.h"
#include "portability/instr_time.h"
#include "spec_build.h"

typedef struct decode_call
{
	fc_sketch  *sketch;
	fc_spec    *spec;
	int32		k;
	fc_decoder	decoder;
	fc_decode_options options;
	fc_problem	problem;
	fc_decode_result result;
	double		seconds;
} decode_call;

/* ---- arguments ---- */

static fc_decoder
decoder_of_name(const char *name)
{
	if (strcmp(name, "auto") == 0)
		return FC_DECODE_AUTO;
	if (strcmp(name, "shift") == 0)
		return FC_DECODE_SHIFT;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("decoder \"%s\" is not known", name),
			 errhint("Decoders are auto, shift.")));
	return FC_DECODE_AUTO;
}

static fc_decode_options
decode_options(Jsonb *json)
{
	fc_decode_options options = fc_decode_defaults();
	const option known[] = {
		{"starts", OPTION_INT, &options.starts, 1, 100000},
		{"rounds", OPTION_INT, &options.rounds, 1, 100000},
		{"replicates", OPTION_INT, &options.replicates, 1, 1000},
		{"seed", OPTION_SEED, &options.seed, 0, 0},
		{"tolerance", OPTION_FLOAT, &options.tolerance, 1e-12, 1}
	};

	read_options(json, known, lengthof(known));
	return options;
}

static void
read_arguments(FunctionCallInfo fcinfo, decode_call *call)
{
	static const char *const names[] = {"sketch", "k", "decoder", "options"};

	for (int i = 1; i < 4; i++)
		require_argument(fcinfo, i, names[i]);
	call->sketch = sketch_closed(SKETCH_ARG(0));
	call->spec = fc_sketch_spec(call->sketch);
	call->k = PG_GETARG_INT32(1);
	call->decoder = decoder_of_name(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	call->options = decode_options(PG_GETARG_JSONB_P(3));
	check_count("k", call->k, 1, FC_MAX_CLUSTERS);
	if (call->sketch->weight <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("cannot decode a sketch without rows")));
	if (call->k > call->sketch->count)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k is %d, but the sketch holds only %lld rows",
						call->k, (long long) call->sketch->count)));
}

/* ---- the problem ---- */

static void
set_moments(decode_call *call)
{
	Size		m = call->spec->frequencies;
	Size		n = call->spec->reduced;
	Size		all = fc_spec_moments(call->spec);
	double	   *re = palloc_extended(2 * all * sizeof(double), MCXT_ALLOC_HUGE);
	fc_arena	arena = make_arena(m * n * sizeof(float) + fc_frequency_worksize(call->spec) + 256,
								   "drawing the frequencies of the sketch");
	float	   *omega = FC_TAKE(&arena, m * n, float);

	fc_sketch_moments(call->sketch, re, re + all);
	check_status(fc_frequencies(call->spec, &arena, &server_tick, omega), &arena);
	call->problem.n = n;
	call->problem.m = m;
	call->problem.omega = omega;
	call->problem.z_re = re;
	call->problem.z_im = re + all;
	call->problem.sigma = call->spec->sigma;
}

/* Mean, deviation and box of the rows in reduced coordinates. */
static void
set_statistics(decode_call *call)
{
	const fc_spec *spec = call->spec;
	const double *scale = fc_spec_scale(spec);
	const double *center = fc_spec_center(spec);
	fc_sketch_parts parts = fc_sketch_open_parts(call->sketch);
	Size		n = spec->reduced;
	Size		first = parts.tracked - n;	/* projected: the reduced dimensions come last */
	bool		reduced = first > 0;
	double	   *mean = palloc(4 * n * sizeof(double));
	double	   *stddev = mean + n;
	double	   *lower = stddev + n;
	double	   *upper = lower + n;

	for (Size i = 0; i < n; i++)
	{
		double		unit = reduced ? 1.0 : spec->sigma * (scale ? scale[i] : 1.0);
		double		origin = reduced ? 0.0 : center[i];

		mean[i] = (fc_sketch_mean(call->sketch, first + i) - origin) / unit;
		stddev[i] = sqrt(fc_sketch_variance(call->sketch, first + i)) / unit;
		lower[i] = -INFINITY;
		upper[i] = INFINITY;
		if (call->sketch->flags & FC_SKETCH_BOUNDS)
		{
			lower[i] = (parts.lower[first + i] - origin) / unit;
			upper[i] = (parts.upper[first + i] - origin) / unit;
		}
	}
	call->problem.mean = mean;
	call->problem.stddev = stddev;
	call->problem.lower = lower;
	call->problem.upper = upper;
	call->problem.rows = fc_sketch_total_weight(call->sketch) * fc_sketch_total_weight(call->sketch) /
		fc_sketch_weight2(call->sketch);
}

/* count points of the spec (lengths in units of x') in the decoder's coordinates. */
static const float *
in_sigmas(const fc_spec *spec, const float *points, Size count)
{
	Size		coordinates = count * spec->reduced;
	float	   *reduced = palloc_extended(coordinates * sizeof(float), MCXT_ALLOC_HUGE);

	for (Size i = 0; i < coordinates; i++)
		reduced[i] = (float) ((double) points[i] / spec->sigma);
	return reduced;
}

static void
set_anchors(decode_call *call)
{
	call->problem.anchors = in_sigmas(call->spec, fc_spec_anchors(call->spec), call->spec->anchors);
	call->problem.anchor_count = call->spec->anchors;
}

static void
set_pilot(decode_call *call, const fc_spec *pilot)
{
	if (!fc_spec_same(pilot, call->spec))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("pilot is not the sketch_spec the sketch was made with"),
				 errhint("Give the very value that sketch_agg got, or leave pilot out.")));
	if (pilot->pilot_rows == 0)
		return;
	call->problem.pilot = in_sigmas(pilot, fc_spec_pilot(pilot), pilot->pilot_rows);
	call->problem.pilot_weight = fc_spec_pilot_weight(pilot);
	call->problem.pilot_rows = pilot->pilot_rows;
}

static void
run(FunctionCallInfo fcinfo, decode_call *call)
{
	Size		work;
	fc_arena	arena;
	instr_time	start;
	instr_time	stop;
	Size		k;
	Size		n;

	read_arguments(fcinfo, call);
	k = (Size) call->k;
	n = call->spec->reduced;
	INSTR_TIME_SET_CURRENT(start);
	set_moments(call);
	set_statistics(call);
	set_anchors(call);
	if (!PG_ARGISNULL(4))
		set_pilot(call, SPEC_ARG(4));
	work = fc_decode_worksize(&call->problem, k, call->decoder, &call->options);
	arena = make_arena(work, "decode");
	call->result.centroids = palloc_extended(k * n * sizeof(double), MCXT_ALLOC_HUGE);
	call->result.weights = palloc(k * sizeof(double));
	call->result.spreads = palloc(k * sizeof(double));
	check_status(fc_decode(&call->problem, k, call->decoder, &call->options, &server_tick, &arena,
						   &call->result), &arena);
	INSTR_TIME_SET_CURRENT(stop);
	INSTR_TIME_SUBTRACT(stop, start);
	call->seconds = INSTR_TIME_GET_DOUBLE(stop);
	pfree(arena.base);
}

/* ---- back to the user's coordinates ---- */

/* rest (d): the part of the scaled, centred mean that the basis does not see; 0 when outliers set the mean. */
static double *
mean_outside_basis(const decode_call *call)
{
	const fc_spec *spec = call->spec;
	const double *center = fc_spec_center(spec);
	const double *scale = fc_spec_scale(spec);
	const float *basis = fc_spec_basis(spec);
	Size		d = spec->dim;
	double	   *mean = palloc(2 * d * sizeof(double));
	double	   *rest = mean + d;

	if (call->result.outliers)
	{
		memset(rest, 0, d * sizeof(double));
		return rest;
	}
	for (Size i = 0; i < d; i++)
		rest[i] = mean[i] = (fc_sketch_mean(call->sketch, i) - center[i]) / (scale ? scale[i] : 1.0);
	for (Size r = 0; r < spec->reduced; r++)
	{
		double		along = 0;

		for (Size i = 0; i < d; i++)
			along += (double) basis[r * d + i] * mean[i];
		for (Size i = 0; i < d; i++)
			rest[i] -= (double) basis[r * d + i] * along;
	}
	return rest;
}

static void
lift(const decode_call *call, const double *rest, const double *y, double *x)
{
	const fc_spec *spec = call->spec;
	const double *center = fc_spec_center(spec);
	const double *scale = fc_spec_scale(spec);
	const float *basis = fc_spec_basis(spec);
	Size		d = spec->dim;

	for (Size i = 0; i < d; i++)
	{
		double		scaled = basis ? rest[i] : y[i] * spec->sigma;

		for (Size r = 0; basis != NULL && r < spec->reduced; r++)
			scaled += (double) basis[r * d + i] * y[r] * spec->sigma;
		x[i] = center[i] + (scale ? scale[i] : 1.0) * scaled;
	}
}

/* Units of x per sigma: the root mean square of the scales. */
static double
spread_unit(const fc_spec *spec)
{
	const double *scale = fc_spec_scale(spec);
	double		sum = 0;

	for (Size i = 0; i < spec->dim; i++)
		sum += scale ? scale[i] * scale[i] : 1.0;
	return spec->sigma * sqrt(sum / spec->dim);
}

PG_FUNCTION_INFO_V1(fastclust_decode);
Datum
fastclust_decode(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	decode_call call = {0};
	double	   *rest = NULL;
	double	   *x;

	fastclust_begin_rows(fcinfo);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	run(fcinfo, &call);
	x = palloc(call.spec->dim * sizeof(double));
	if (fc_spec_basis(call.spec) != NULL)
		rest = mean_outside_basis(&call);
	for (int32 j = 0; j < call.k; j++)
	{
		Datum		values[4];
		bool		nulls[4] = {false};

		lift(&call, rest, call.result.centroids + (Size) j * call.spec->reduced, x);
		values[0] = Int32GetDatum(j);
		values[1] = make_float8_array(x, (int) call.spec->dim);
		values[2] = Float8GetDatum(call.result.weights[j]);
		values[3] = Float8GetDatum(call.result.spreads[j] * spread_unit(call.spec));
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(fastclust_decode_fit);
Datum
fastclust_decode_fit(PG_FUNCTION_ARGS)
{
	decode_call call = {0};
	TupleDesc	descriptor;
	Datum		values[5];
	bool		nulls[5] = {false};

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	run(fcinfo, &call);
	values[0] = Int32GetDatum(call.k);
	values[1] = Float8GetDatum(call.result.cost);
	values[2] = Float8GetDatum(call.result.relative_residual);
	values[3] = Int32GetDatum(call.result.iterations);
	values[4] = Float8GetDatum(call.seconds);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}

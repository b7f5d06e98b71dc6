/* drift_fn.c - drift: have rows changed since training, by how much, and in which columns? */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "pg/base/arguments.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/base/values.h"
#include "pg/base/rows.h"
#include "pg/base/vectors.h"
#include "pg/sketch/sketch_value.h"
#include "sketch/drift.h"
#include "sketch/layout.h"
#include "sketch/spec.h"

/* (sketch[]): {tr S^2, tr S^3} from sketches of disjoint random parts; NULL with too few rows. */
PG_FUNCTION_INFO_V1(fastclust_null_moments);
Datum
fastclust_null_moments(PG_FUNCTION_ARGS)
{
	int			count;
	Datum	   *elements = numbered_values(fcinfo, &count);
	const fc_sketch **sketches;
	fc_arena	arena;
	fc_null		null;
	fc_status	status;

	if (count < FC_MIN_PARTS)
		PG_RETURN_NULL();
	sketches = palloc((Size) count * sizeof(fc_sketch *));
	for (int i = 0; i < count; i++)
		sketches[i] = sketch_closed(sketch_of_datum(elements[i]));
	arena = make_arena(fc_null_worksize((Size) count, fc_spec_moments(fc_sketch_spec(sketches[0]))), "the null law of drift");
	status = fc_null_moments(sketches, (Size) count, &server_tick, &arena, &null);
	if (status == FC_EEMPTY)
		PG_RETURN_NULL();
	check_status(status, &arena);
	return make_float8_array((double[]) {null.square, null.cube}, 2);
}

/* A sketch to compare with the one of the training rows. */
static fc_sketch *
rows_argument(FunctionCallInfo fcinfo, int n, const fc_sketch *training)
{
	fc_sketch  *rows = sketch_closed(SKETCH_ARG(n));

	if (!fc_spec_same(fc_sketch_spec(training), fc_sketch_spec(rows)))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("the sketch was not made with the model's sketch_spec"),
				 errhint("Use sketch_agg(x, (SELECT model_spec(model))).")));
	return rows;
}

static fc_null
null_argument(FunctionCallInfo fcinfo, int n)
{
	double	   *moments = read_float8_array(PG_GETARG_DATUM(n), 2, "null_moments");

	check_not_negative("null_moments", moments, 2);
	return (fc_null) {moments[0], moments[1]};
}

static const char *
verdict_name(fc_verdict verdict)
{
	switch (verdict)
	{
		case FC_VERDICT_TOO_FEW:
			return "too few rows";
		case FC_VERDICT_NONE:
			return "none";
		case FC_VERDICT_SLIGHT:
			return "slight";
		case FC_VERDICT_DRIFTED:
			break;
	}
	return "drifted";
}

/* (training sketch, sketch, null moments, threshold, min_effect): (mmd2, null_sd, p_value, effect, verdict). */
PG_FUNCTION_INFO_V1(fastclust_drift_test);
Datum
fastclust_drift_test(PG_FUNCTION_ARGS)
{
	fc_sketch  *training = sketch_closed(SKETCH_ARG(0));
	fc_sketch  *rows = rows_argument(fcinfo, 1, training);
	fc_null		null = null_argument(fcinfo, 2);
	fc_arena	arena = make_arena(fc_drift_effect_worksize(fc_sketch_spec(training)), "the effect of drift");
	TupleDesc	descriptor;
	fc_drift	drift;
	fc_effect	effect;
	Datum		values[5];
	bool		nulls[5] = {false};

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	check_status(fc_drift_test(training, rows, &null, &server_tick, &drift), NULL);
	check_status(fc_drift_effect(training, rows, &drift, &server_tick, &arena, &effect), &arena);
	values[0] = Float8GetDatum(drift.mmd2);
	values[1] = Float8GetDatum(drift.null_sd);
	values[2] = Float8GetDatum(drift.p_value);
	values[3] = Float8GetDatum(effect.size);
	values[4] = CStringGetTextDatum(verdict_name(fc_drift_verdict(&drift, &effect, PG_GETARG_FLOAT8(3), PG_GETARG_FLOAT8(4))));
	memset(nulls, isnan(drift.p_value), 4 * sizeof(bool));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}

/* To a thousandth: what people read. */
static double
rounded(double value)
{
	return rint(value * 1000.0) / 1000.0 + 0.0;	/* + 0: no -0 */
}

/* (training sketch, sketch, most): rows (dimension from 1, shift, spread) of the columns that changed most. */
PG_FUNCTION_INFO_V1(fastclust_changed_columns);
Datum
fastclust_changed_columns(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	fc_sketch  *training = sketch_closed(SKETCH_ARG(0));
	fc_sketch  *rows = rows_argument(fcinfo, 1, training);
	int32		most = PG_GETARG_INT32(2);
	fc_column_change *changes;
	Size		count;

	check_count("most", most, 1, FC_MAX_DIM);
	changes = palloc(most * sizeof(fc_column_change));
	fastclust_begin_rows(fcinfo);
	check_status(fc_drift_columns(training, rows, (Size) most, &server_tick, changes, &count), NULL);
	for (Size i = 0; i < count; i++)
	{
		Datum		values[3] = {Int32GetDatum((int32) changes[i].column + 1), Float8GetDatum(rounded(changes[i].shift)),
		Float8GetDatum(rounded(changes[i].spread))};
		bool		nulls[3] = {false};

		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

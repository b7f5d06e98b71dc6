/*
 * drift_compare_fn.c - chooses the specs of drift tests from a sample; tests
 * if rows changed since training, by how much, and in which columns; finds
 * change points in a series of sketches
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "drift/changes.h"
#include "drift/drift_spec_of_sample.h"
#include "drift/test.h"
#include "pg/base/memory.h"
#include "pg/drift/drift_value.h"
#include "pg/encode/encode.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/rows.h"
#include "pg/sketch/sketch_value.h"

/* ---- specs of a sample ---- */

/*
 * Returns the rows in argument 0, an operator. Raises an error unless it is a
 * codebook with the metric euclidean or cosine.
 */
static const fc_weighted_rows *
sample_argument(FunctionCallInfo fcinfo)
{
	const fc_operator_header *header = OPERATOR_ARG(0);
	fc_operator op;

	open_operator(header, &op);
	if (!fc_operator_is_codebook(&op) || op.metric == FC_INNER_PRODUCT)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("sample must be an operator of rows with the metric euclidean or cosine"));
	return rows_of_operator(header);
}

fc_drift_spec *
drift_spec_of_rows(const fc_weighted_rows *sample, int64 seed)
{
	memory_account memory = {"preparing a model for drift"};
	fc_drift_spec *spec;
	fc_arena	arena;

	charge_memory(&memory, fc_drift_spec_bound(sample));
	arena = charged_arena(&memory);
	spec = palloc(fc_drift_spec_bound(sample));
	fc_drift_choose(sample, (uint64) seed, &arena, spec);
	release_arena(&arena);
	SET_VARSIZE(spec, fc_drift_spec_size(spec));
	return spec;
}

/* Takes (sample, seed). Returns a drift_spec chosen from the sample. */
PG_FUNCTION_INFO_V1(fastclust_drift_spec_of_sample);
Datum
fastclust_drift_spec_of_sample(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(drift_spec_of_rows(sample_argument(fcinfo),
										 PG_GETARG_INT64(1)));
}

fc_spec *
wave_spec_of_rows(const fc_weighted_rows *sample, bool sparse, int64 seed)
{
	fc_arena	arena = make_arena("preparing a model for drift");
	double	   *center = palloc(2 * sample->d * sizeof(double));
	double		sigmas[FC_WAVE_SCALES];
	fc_spec_fields fields;
	fc_spec    *spec;

	fc_wave_spec(sample, sparse, (uint64) seed, &arena, center,
				 center + sample->d, sigmas, &fields);
	spec = build_spec(&fields);
	release_arena(&arena);
	pfree(center);
	return spec;
}

bool
null_moments_of_rows(const fc_weighted_rows *sample, const fc_spec *spec,
					 int max, double moments[2])
{
	fc_wave_null null;
	fc_status	status;
	fc_arena	arena;

	check_same_dim((int32) spec->dim, (int32) sample->d);
	if (fc_spec_basis(spec) != NULL)
		return false;
	arena = make_arena("preparing a model for drift");
	status = fc_wave_null_moments(sample, (size_t) max,
								  prepared_of_spec(spec), &arena, &null);
	release_arena(&arena);
	if (status == FC_EEMPTY)
		return false;
	check_status(status);
	moments[0] = null.square;
	moments[1] = null.cube;
	return true;
}

/*
 * Takes (sample, sketch_spec, max_count). Returns tr S^2 and tr S^3 of the
 * null distribution (drift/waves.h), estimated from up to max_count rows.
 * Returns NULL if there are too few rows or the spec projects rows.
 */
PG_FUNCTION_INFO_V1(fastclust_sample_null_moments);
Datum
fastclust_sample_null_moments(PG_FUNCTION_ARGS)
{
	double		moments[2];

	check_count("max_count", PG_GETARG_INT32(2), 1, 4096);
	if (!null_moments_of_rows(sample_argument(fcinfo), SPEC_ARG(1),
							  PG_GETARG_INT32(2), moments))
		PG_RETURN_NULL();
	return make_float8_array(moments, 2);
}

/* ---- the test ---- */

fc_drift_fill *
fill_of_encoder(const fc_encoder_header *encoder, const fc_drift_spec *spec)
{
	fc_encoder	view;
	fc_drift_fill *fill;

	check_same_dim((int32) spec->dim, (int32) encoder->dim);
	fc_encoder_view(encoder, &view);
	fill = palloc(view.dim * sizeof(fc_drift_fill));
	for (Size i = 0; i < view.features; i++)
	{
		const fc_encoder_feature *feature = &view.feature[i];
		bool		imputed = feature->kind != FC_FEATURE_CATEGORY;

		for (Size j = feature->first; j < feature->first + feature->width; j++)
			fill[j] = (fc_drift_fill)
		{
			feature->first + feature->width - 1,
				imputed && j < feature->first + fc_feature_values(feature)
				? fc_drift_cell(spec, j, view.fill[j])
				: -1,
				view.fill[j]
		};
	}
	return fill;
}

/*
 * Reads arguments 0 to 4 (drift_spec, training counts, counts, training
 * sketch, sketch) and argument 8, the encoder of the rows. Each of them may be
 * NULL. Side 0 of the result is the training rows, side 1 the new rows.
 */
static fc_drift_sides
sides_argument(FunctionCallInfo fcinfo)
{
	fc_drift_sides sides = {0};

	for (int side = 0; side < 2; side++)
	{
		if (!PG_ARGISNULL(1 + side))
			sides.counts[side] = drift_counts_pack(DRIFT_COUNTS_ARG(1 + side));
		if (!PG_ARGISNULL(3 + side))
		{
			fc_sketch_view *view = palloc(sizeof(fc_sketch_view));

			*view = fc_sketch_view_of(sketch_pack(SKETCH_ARG(3 + side)));
			sides.sketch[side] = view;
		}
	}
	sides.spec = PG_ARGISNULL(0) ? NULL : DRIFT_SPEC_ARG(0);
	if (sides.sketch[0] != NULL && sides.sketch[1] != NULL &&
		!fc_spec_same(sides.sketch[0]->spec, sides.sketch[1]->spec))
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("the sketch was not made with the model's sketch_spec"),
				errhint("Use sketch_agg(x, (SELECT model_spec(model))); for the spec of an"
						" older version, add version => n."));
	for (int side = 0; side < 2; side++)
		if (sides.counts[side] != NULL &&
			(sides.spec == NULL ||
			 !fc_drift_counts_of_spec(sides.counts[side], sides.spec)))
			ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
					errmsg("the drift_counts were not made with the drift_spec"));
	if (sides.counts[0] != NULL && sides.counts[1] != NULL &&
		((sides.counts[0]->flags ^ sides.counts[1]->flags) & FC_DRIFT_UNITS))
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				errmsg("the training rows and the new rows were not both counted in units or with weights"),
				errhint("Retrain the model on rows."));
	if (sides.spec != NULL && !PG_ARGISNULL(8))
		sides.fill = fill_of_encoder(ENCODER_ARG(8), sides.spec);
	return sides;
}

static double
threshold_argument(FunctionCallInfo fcinfo, int n)
{
	double		threshold;

	require_argument(fcinfo, n, "threshold");
	threshold = PG_GETARG_FLOAT8(n);
	if (!(threshold > 0 && threshold < 1))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("threshold must be between 0 and 1, not %g", threshold));
	return threshold;
}

static const char *const verdicts[] = {
	[FC_VERDICT_TOO_FEW_UNITS] = "too few units",
	[FC_VERDICT_TOO_FEW] = "too few rows",
	[FC_VERDICT_NONE] = "none",
	[FC_VERDICT_SLIGHT] = "slight",
	[FC_VERDICT_DRIFTED] = "drifted"
};

/*
 * Takes (drift_spec, training counts, counts, training sketch, sketch, null
 * moments, threshold, min_effect, encoder). Returns (mmd2, null_sd, p_value,
 * effect, verdict).
 */
PG_FUNCTION_INFO_V1(fastclust_drift_compare);
Datum
fastclust_drift_compare(PG_FUNCTION_ARGS)
{
	fc_drift_sides sides = sides_argument(fcinfo);
	double		threshold = threshold_argument(fcinfo, 6);
	fc_wave_null null;
	fc_drift_result result;
	fc_arena	arena;
	Datum		values[5];
	bool		nulls[5] = {false};

	require_argument(fcinfo, 7, "min_effect");
	if (!PG_ARGISNULL(5))
	{
		double	   *moments = read_float8_array(PG_GETARG_DATUM(5), 2,
												"null_moments");

		check_not_negative("null_moments", moments, 2);
		null.square = moments[0];
		null.cube = moments[1];
		sides.null = &null;
	}
	arena = make_arena("drift");
	fc_drift_test_sides(&sides, threshold, PG_GETARG_FLOAT8(7), &arena,
						&result);
	values[0] = Float8GetDatum(result.mmd2);
	values[1] = Float8GetDatum(result.null_sd);
	values[2] = Float8GetDatum(result.p_value);
	values[3] = Float8GetDatum(result.effect);
	values[4] = CStringGetTextDatum(verdicts[result.verdict]);
	nulls[0] = nulls[1] = isnan(result.mmd2);
	nulls[2] = nulls[3] = isnan(result.p_value);
	return row_result(fcinfo, values, nulls);
}

/* Rounds to 1/1000, for display. */
static double
rounded(double value)
{
	return rint(value * 1000.0) / 1000.0 + 0.0; /* + 0.0 turns -0 into 0 */
}

/*
 * Takes (drift_spec, training counts, counts, training sketch, sketch,
 * threshold, max_count, drifted, encoder). Returns up to max_count rows
 * (dimension from 1, other dimension of a pair, p_value, shift, spread, share
 * of NULLs before, share of NULLs after). If `drifted` is true but no change
 * is significant, returns the columns with the smallest p-values
 * (fc_drift_moved).
 */
PG_FUNCTION_INFO_V1(fastclust_moved_columns);
Datum
fastclust_moved_columns(PG_FUNCTION_ARGS)
{
	fc_drift_sides sides = sides_argument(fcinfo);
	double		threshold = threshold_argument(fcinfo, 5);
	fc_drift_move *moves;
	fc_arena	arena;
	int32		max;
	Size		count;

	require_argument(fcinfo, 6, "max_count");
	max = PG_GETARG_INT32(6);
	check_count("max_count", max, 1, FC_MAX_DIM);
	require_argument(fcinfo, 7, "drifted");
	moves = palloc(max * sizeof(fc_drift_move));
	fastclust_begin_rows(fcinfo);
	arena = make_arena("finding the shifted columns");
	fc_drift_moved(&sides, threshold, (Size) max, PG_GETARG_BOOL(7), &arena,
				   moves, &count);
	for (Size i = 0; i < count; i++)
	{
		Datum		values[7] = {
			Int32GetDatum((int32) moves[i].column + 1),
			Int32GetDatum((int32) moves[i].other + 1),
			Float8GetDatum(exp(Min(moves[i].log_p, 0.0))),
			Float8GetDatum(rounded(moves[i].shift)),
			Float8GetDatum(rounded(moves[i].spread)),
			Float8GetDatum(moves[i].share[0]),
			Float8GetDatum(moves[i].share[1])
		};
		bool		nulls[7] = {
			false,
			moves[i].other == moves[i].column,
			false,
			isnan(moves[i].shift),
			isnan(moves[i].spread),
			!moves[i].nulls,
			!moves[i].nulls
		};

		put_row(fcinfo, values, nulls);
	}
	return (Datum) 0;
}

/*
 * Returns the share of the rows of a sketch in which a feature is NULL. It is
 * taken from the counts or, if counts is NULL, from the encoder's sample. A
 * feature that is not imputed is never NULL, because such rows are left out.
 */
static double
share_of_nulls(const fc_drift_counts *counts, const fc_encoder *encoder,
			   const fc_encoder_feature *feature)
{
	Size		last = feature->first + feature->width - 1;

	if (feature->nulls != FC_NULLS_IMPUTE)
		return 0.0;
	if (counts != NULL)
		return ((double) fc_drift_number(counts, fc_drift_values(counts) + last) /
				(double) counts->rows);
	return (double) feature->nulls_seen / (double) (encoder->rows - encoder->skipped);
}

/*
 * Takes (sketch, counts, encoder). Returns arrays (means, deviations) of the
 * sketch's dimensions: the moments of the rows without a NULL in the column of
 * a number, a boolean or a time. The shares of NULLs are taken from the counts
 * or, if counts is NULL or has no NULLs, from the encoder's sample. If the
 * encoder is NULL, returns the moments of the sketch. Returns NULL without a
 * sketch.
 */
PG_FUNCTION_INFO_V1(fastclust_present_moments);
Datum
fastclust_present_moments(PG_FUNCTION_ARGS)
{
	fc_sketch_view sketch;
	const fc_drift_counts *counts = NULL;
	fc_encoder	encoder = {0};
	double	   *moments[2];
	Datum		values[2];
	bool		nulls[2] = {false};
	Size		d;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	sketch = fc_sketch_view_of(sketch_pack(SKETCH_ARG(0)));
	d = sketch.spec->dim;
	if (!PG_ARGISNULL(2))
	{
		fc_encoder_view(ENCODER_ARG(2), &encoder);
		check_same_dim((int32) d, (int32) encoder.dim);
	}
	if (!PG_ARGISNULL(1))
	{
		counts = drift_counts_pack(DRIFT_COUNTS_ARG(1));
		check_same_dim((int32) d, (int32) counts->dim);
		if (!(counts->flags & FC_DRIFT_NULLS))
			counts = NULL;
	}
	for (int i = 0; i < 2; i++)
		moments[i] = palloc(d * sizeof(double));
	for (Size j = 0; j < d; j++)
		fc_present_moments(&sketch, j, 0.0, 0.0, &moments[0][j], &moments[1][j]);
	for (Size i = 0; i < encoder.features; i++)
	{
		const fc_encoder_feature *feature = &encoder.feature[i];
		double		share = share_of_nulls(counts, &encoder, feature);

		if (feature->kind == FC_FEATURE_CATEGORY)
			continue;
		for (Size j = feature->first; j < feature->first + fc_feature_values(feature); j++)
			fc_present_moments(&sketch, j, share, encoder.fill[j], &moments[0][j], &moments[1][j]);
	}
	for (int i = 0; i < 2; i++)
		values[i] = make_float8_array(moments[i], (int) d);
	return row_result(fcinfo, values, nulls);
}

/* ---- change points ---- */

#define QUERY_HINT \
	"The query must be one SELECT of a time and a sketch, such as 'SELECT day, s FROM daily'."

/*
 * Error callback that adds QUERY_HINT. PostgreSQL's own errors about a query
 * with wrong columns have no hint.
 */
static void
hint_query(void *unused)
{
	switch (geterrcode())
	{
		case ERRCODE_SYNTAX_ERROR:
		case ERRCODE_INVALID_COLUMN_REFERENCE:
		case ERRCODE_CANNOT_COERCE:
			errhint(QUERY_HINT);
	}
}

/*
 * Runs the query and reads its dates and sketches, in the order of dates.
 * Skips NULLs and sketches with fewer than two rows. Returns the number of
 * sketches.
 */
static Size
read_dated_sketches(const char *query, Oid sketch_type, TimestampTz **dates,
					fc_sketch_view **days)
{
	Size		count = 0;
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = hint_query
	};
	SPIPlanPtr	plan;

	error_context_stack = &callback;
	/* runs with the caller's privileges and search_path */
	plan = SPI_prepare_cursor(psprintf("SELECT q.at::pg_catalog.timestamptz,"
									   " q.s::fastclust.sketch FROM (%s\n) q(at, s) ORDER BY 1",
									   query),
							  0, NULL, 0);
	error_context_stack = callback.previous;
	if (plan == NULL || !SPI_is_cursor_plan(plan) ||
		SPI_execute_plan(plan, NULL, NULL, true, 0) != SPI_OK_SELECT ||
		SPI_gettypeid(SPI_tuptable->tupdesc, 1) != TIMESTAMPTZOID ||
		SPI_gettypeid(SPI_tuptable->tupdesc, 2) != sketch_type)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("query must be one SELECT of dates and sketches"),
				errhint(QUERY_HINT));
	*dates = palloc(Max(1, SPI_processed) * sizeof(TimestampTz));
	*days = palloc(Max(1, SPI_processed) * sizeof(fc_sketch_view));
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		bool		null[2];
		Datum		date = SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc,
										 1, &null[0]);
		Datum		value = SPI_getbinval(SPI_tuptable->vals[i],
										  SPI_tuptable->tupdesc, 2, &null[1]);
		fc_sketch_view sketch;

		CHECK_FOR_INTERRUPTS();
		if (null[0] || null[1])
			continue;
		sketch = fc_sketch_view_of(sketch_pack((fc_sketch *)
											   aligned_value(value)));
		if (sketch.head->count < 2 || sketch.head->weight == 0)
			continue;
		if (count > 0 && !fc_spec_same((*days)[0].spec, sketch.spec))
			ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
					errmsg("the sketches were not made with the same sketch_spec"),
					errhint("Use sketch_agg(x, (SELECT model_spec(model))) for all of them."));
		(*dates)[count] = DatumGetTimestampTz(date);
		(*days)[count++] = sketch;
	}
	return count;
}

/*
 * Takes (query). Returns rows (changed_at, found_at, p_value, effect,
 * dimension, shift).
 */
PG_FUNCTION_INFO_V1(fastclust_change_points);
Datum
fastclust_change_points(PG_FUNCTION_ARGS)
{
	TimestampTz *dates;
	fc_sketch_view *days;
	fc_change  *changes;
	fc_arena	arena;
	Size		count;
	Size		found;

	require_argument(fcinfo, 0, "query");
	fastclust_begin_rows(fcinfo);
	SPI_connect();
	count = read_dated_sketches(text_to_cstring(PG_GETARG_TEXT_PP(0)),
								GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
												CStringGetDatum("sketch"),
												ObjectIdGetDatum(get_func_namespace(fcinfo->flinfo
																					->fn_oid))),
								&dates, &days);
	if (count <= FC_CHANGE_HISTORY)
		ereport(NOTICE,
				errmsg("%zu sketches of two rows or more are too few: the first that can be tested is number %d",
					   count, FC_CHANGE_HISTORY + 1));
	changes = palloc(Max(1, count) * sizeof(fc_change));
	arena = make_arena("change_points");
	fc_find_changes(days, count, &arena, changes, &found);
	for (Size i = 0; i < found; i++)
	{
		const fc_change *change = &changes[i];
		Datum		values[6] = {
			TimestampTzGetDatum(dates[change->first]),
			TimestampTzGetDatum(dates[change->found]),
			Float8GetDatum(change->p_value),
			Float8GetDatum(change->effect),
			Int32GetDatum((int32) change->column + 1),
			Float8GetDatum(change->shift)
		};
		bool		nulls[6] = {[3] = isnan(change->effect)};

		put_row(fcinfo, values, nulls);
	}
	release_arena(&arena);
	SPI_finish();
	return (Datum) 0;
}

/*
 * command.c - the SQL functions train, import_model, retrain,
 * retrain_if_drifted and choose_k.
 *
 * Each function reads and checks its arguments in the order in which its
 * errors are documented, then passes a job to job.c or a sketch to decoded.c.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "pg/base/options.h"
#include "pg/base/progress.h"
#include "pg/operator/operator_value.h"
#include "pg/sketch/sketch_value.h"
#include "pg/train/checks.h"
#include "pg/train/decoded.h"
#include "pg/train/job.h"
#include "pg/train/options.h"
#include "pg/train/query.h"
#include "pg/train/relation.h"
#include "pg/train/source.h"
#include "pg/train/train.h"

/*
 * Maximum number of clusters that choose_k tries; equal to
 * FC_EVIDENCE_CLUSTERS.
 */
#define MAX_CHOSEN_K	1024

/* ---- train ---- */

/*
 * Returns the column names in the argument features, or NULL if it is NULL.
 * The argument is an array, or a text that holds an array or one name. Sets
 * *vector to true if a text names a single column of vectors.
 */
static ArrayType *
features_argument(FunctionCallInfo fcinfo, int argument, Oid relation,
				  bool *vector)
{
	Oid		   *types;
	int			count;

	*vector = false;
	if (PG_ARGISNULL(argument))
		return NULL;
	(void) get_func_signature(fcinfo->flinfo->fn_oid, &types, &count);
	return types[argument] == TEXTOID
		? columns_of_text(relation,
						  text_to_cstring(PG_GETARG_TEXT_PP(argument)),
						  vector)
		: PG_GETARG_ARRAYTYPE_P(argument);
}

/*
 * Takes (model, relation, features, k, method, options) and returns the number
 * of the new version.
 */
PG_FUNCTION_INFO_V1(fastclust_train);
Datum
fastclust_train(PG_FUNCTION_ARGS)
{
	Oid			relation = PG_ARGISNULL(1) ? InvalidOid : PG_GETARG_OID(1);
	int64		k = PG_ARGISNULL(3) ? 0 : PG_GETARG_INT32(3);
	train_method method;
	const train_options *options;
	feature_list features;
	bool vector;
	locked_model locked;
	train_source source;
	int32		version;
	int			level;

	SPI_connect();
	level = fix_settings(FIX_SCAN);
	require_argument(fcinfo, 5, "options");
	options = read_train_options(PG_GETARG_JSONB_P(5), FOR_TRAIN);
	if (!PG_ARGISNULL(3) && (k < 1 || k > FC_MAX_CLUSTERS))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("k is %lld, out of range", (long long) k),
				errdetail("Valid values are from 1 to %d, or NULL to let train choose k.",
						  FC_MAX_CLUSTERS));
	k = clusters_of_levels(options, k);
	require_argument(fcinfo, 1, "relation");
	require_argument(fcinfo, 4, "method");
	features = read_features(features_argument(fcinfo, 2, relation, &vector));
	warn_foreign_code(relation, &features, options);
	locked = lock_model(fcinfo, !options->nowait, true);
	open_source(&source, relation, &features, vector, options->group_by);
	method = train_method_of(text_to_cstring(PG_GETARG_TEXT_PP(4)));
	if (k == 0 && method != METHOD_DENSITY && (options->group_by != NULL ||
											   method == METHOD_KERNEL))
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				errmsg("k must not be NULL %s", method == METHOD_KERNEL
					   ? "for method \"kernel\""
					   : "with option \"group_by\""),
				method == METHOD_KERNEL
				? errhint("Pass the number of clusters. Method \"density\" finds it itself, also for clusters that are not round.")
				: errhint("Call choose_k with the option where for some of the groups, and pass the number that it returns."));
	warn_ineffective_options(method, options, options);
	version = run_training(fcinfo,
						   begin_training(&locked, &source, k, method, options));
	AtEOXact_GUC(true, level);
	SPI_finish();
	return Int32GetDatum(version);
}

/* ---- import_model ---- */

/*
 * Returns the centroids in an argument: the rows of an array, each of weight
 * 1, or an operator.
 */
static fc_operator_header *
centroids_argument(FunctionCallInfo fcinfo, int argument, fc_metric metric)
{
	Oid		   *types;
	int			count;
	ArrayType  *array;
	double	   *weights;

	require_argument(fcinfo, argument, "centroids");
	(void) get_func_signature(fcinfo->flinfo->fn_oid, &types, &count);
	if (types[argument] != FLOAT8ARRAYOID)
		return with_metric(OPERATOR_ARG(argument), metric);
	array = PG_GETARG_ARRAYTYPE_P(argument);
	if (ARR_NDIM(array) != 2 || ARR_HASNULL(array) ||
		ARR_DIMS(array)[0] > FC_MAX_CLUSTERS ||
		ARR_DIMS(array)[1] > FC_MAX_DIM ||
		!fc_all_finite((const double *) ARR_DATA_PTR(array),
					   (Size) ARR_DIMS(array)[0] * (Size) ARR_DIMS(array)[1]))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("centroids must be a list of lists of finite numbers, a list for each cluster"),
				errhint("For example '{{1, 2}, {3, 4}}'::real[], or (SELECT array_agg(centroid"
						" ORDER BY cluster) FROM ...)."));
	weights = palloc((Size) ARR_DIMS(array)[0] * sizeof(double));
	for (int i = 0; i < ARR_DIMS(array)[0]; i++)
		weights[i] = 1;
	return with_metric(make_codebook((const double *) ARR_DATA_PTR(array),
									 weights, (Size) ARR_DIMS(array)[0],
									 (Size) ARR_DIMS(array)[1]),
					   metric);
}

/*
 * Takes (model, relation, features, centroids, options). Returns the number of
 * a new version with the given clusters, whose sizes and spreads are computed
 * from the rows.
 */
PG_FUNCTION_INFO_V1(fastclust_import_model);
Datum
fastclust_import_model(PG_FUNCTION_ARGS)
{
	const train_options *options;
	const char *other;
	feature_list features;
	bool vector;
	locked_model locked;
	train_source source;
	training   *t;
	fc_operator_header *centroids;
	int32		version;
	int			level;

	SPI_connect();
	level = fix_settings(FIX_SCAN);
	require_argument(fcinfo, 4, "options");
	options = read_train_options(PG_GETARG_JSONB_P(4), FOR_TRAIN);
	other = unknown_option(options, FOR_IMPORT);
	require_argument(fcinfo, 1, "relation");
	if (other != NULL)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("import_model has no option \"%s\"", other),
				errhint("The option belongs to train, which finds the clusters; import_model gets them."));
	features = read_features(features_argument(fcinfo, 2, PG_GETARG_OID(1),
											   &vector));
	centroids = centroids_argument(fcinfo, 3, options->metric);
	warn_foreign_code(PG_GETARG_OID(1), &features, options);
	locked = lock_model(fcinfo, !options->nowait, true);
	open_source(&source, PG_GETARG_OID(1), &features, vector, NULL);
	warn_ineffective_options(METHOD_KMEANS, options, options);
	t = begin_training(&locked, &source, (int64) centroids->k, METHOD_KMEANS,
					   options);
	t->imported = centroids;
	t->note = "imported";
	version = run_training(fcinfo, t);
	AtEOXact_GUC(true, level);
	SPI_finish();
	return Int32GetDatum(version);
}

/* ---- retrain ---- */

/*
 * Returns the options of the version, updated by the given options. Objects
 * are merged key by key, the value true leaves an object unchanged, and null
 * removes an option.
 */
static train_options *
merged_options(const stored_version *version, const train_options *options)
{
	query_argument arguments[] = {
		{"jsonb", JsonbPGetDatum(version->options->json)},
		{"jsonb", JsonbPGetDatum(options->json)}
	};
	Datum		merged = query_datum("SELECT jsonb_strip_nulls($1 ||"
									 " COALESCE(jsonb_object_agg(g.key,"
									 " CASE WHEN jsonb_typeof($1 -> g.key) IS DISTINCT FROM"
									 " 'object' THEN g.value"
									 "      WHEN jsonb_typeof(g.value) = 'object' THEN ($1 -> g.key) || g.value"
									 "      WHEN g.value = 'true' THEN $1 -> g.key ELSE g.value END), '{}'))"
									 " - '{nowait,k,method,relation,replace,frozen}'::text[]"
									 " FROM jsonb_each($2) g",
									 2, arguments, 0, NULL);

	return read_train_options(DatumGetJsonbP(merged), FOR_TRAIN);
}

/*
 * Returns the named relation, or else the relation of the version. Raises an
 * error if the relation or one of its columns does not exist.
 */
static Oid
scanned_relation(const locked_model *locked, const stored_version *version,
				 const char *named, const train_options *settings)
{
	record_builder row = begin_record("stored_versions", version->record);
	query_argument arguments[] = {
		{"stored_models", locked->record},
		{"stored_versions"},
		text_argument(named),
		text_argument(settings->group_by)
	};
	bool		none = false;

	if (named != NULL)
		(void) query_datum("SELECT to_regclass($3)", 3, arguments, 0, &none);
	if (none)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE),
				errmsg("relation \"%s\" does not exist", named),
				errhint("Qualify the name with its schema."));
	set_column(&row, "options", JsonbPGetDatum(settings->json));
	arguments[1].value = end_record(&row);
	return DatumGetObjectId(query_datum("SELECT scanned_relation($1, $2, to_regclass($3),"
										" $4::name)",
										lengthof(arguments), arguments, 0, NULL));
}

/*
 * Freezes the serving clusters in this retrain only; the option is not stored.
 * Raises an error if the method cannot freeze clusters, or if k is smaller
 * than the number of serving clusters.
 */
static void
freeze(training *t, const stored_version *version)
{
	if (version->method == METHOD_DENSITY)
		reject_with_method(version->method,
						   "has no centroids that could be frozen",
						   "Retrain without the option frozen.");
	if (t->method != METHOD_KMEANS)
		reject_with_method(t->method,
						   "moves all clusters: it takes no option \"frozen\"",
						   "Methods with frozen clusters are auto, kmeans.");
	if (t->k < version->k)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("k is %zu, less than the %zu clusters that are frozen",
					   t->k, version->k),
				errhint("Leave out k, or increase it."));
	t->frozen = true;
}

training *
begin_retraining(const locked_model *locked, const stored_version *version,
				 const train_options *options)
{
	const train_options *settings = merged_options(version, options);
	train_method method = (options->method != METHOD_NONE ? options->method
						   : version->method);
	train_source source;
	training   *t;
	Oid			relation;

	if (version->encoder != NULL &&
		other_dimensions(version->options, settings))
		ereport(WARNING,
				errmsg("the categories and paths of model \"%s\" stay as they are: a retrain keeps its dimensions",
					   locked->model),
				errhint("To learn other categories or paths, train a model under another name."));
	relation = scanned_relation(locked, version, options->relation, settings);
	open_source(&source, relation, &version->features, version->is_vector,
				settings->group_by);
	source.encoder = version->encoder;
	warn_ineffective_options(method, options, settings);
	t = begin_training(locked, &source,
					   clusters_of_retraining(version, options, settings),
					   method, settings);
	t->again = true;
	if (options->frozen)
		freeze(t, version);
	return t;
}

/*
 * Returns the live sketch from which the next version can be decoded, or 0 if
 * the rows must be read.
 */
static Datum
live_for_retraining(const locked_model *locked, const stored_version *version,
					const train_options *options)
{
	query_argument arguments[] = {
		{"stored_models", locked->record},
		{"stored_versions", version->record},
		{"jsonb", JsonbPGetDatum(options->json)}
	};

	if (unknown_option(options, FOR_LIVE) != NULL)
		return 0;
	return query_datum("SELECT live_for_retraining($1, $2, $3)",
					   lengthof(arguments), arguments, 0, NULL);
}

/*
 * Reads the options of the call, and resolves option relation by the caller's
 * search_path. Then sets the GUCs of a scan; AtEOXact_GUC with *level restores
 * the caller's settings.
 */
static train_options *
options_of_caller(FunctionCallInfo fcinfo, int argument, int *level)
{
	train_options *options;
	query_argument name = {"text"};
	bool		none = true;
	Datum		relation = (Datum) 0;

	require_argument(fcinfo, argument, "options");
	options = read_train_options(PG_GETARG_JSONB_P(argument), FOR_RETRAIN);
	if (options->relation != NULL)
	{
		name.value = CStringGetTextDatum(options->relation);
		relation = query_datum("SELECT pg_catalog.to_regclass($1)", 1, &name, 0,
							   &none);
	}
	*level = fix_settings(FIX_SCAN);
	if (!none)
		options->relation = relation_name(DatumGetObjectId(relation));
	return options;
}

/* Takes (model, options, sketch) and returns the number of the new version. */
PG_FUNCTION_INFO_V1(fastclust_retrain);
Datum
fastclust_retrain(PG_FUNCTION_ARGS)
{
	const train_options *options;
	locked_model locked;
	stored_version version;
	Datum		live;
	int32		made;
	int			level;

	reject_null_sketch(fcinfo, 2);
	SPI_connect();
	options = options_of_caller(fcinfo, 1, &level);
	locked = lock_model(fcinfo, !options->nowait, false);
	if (PG_ARGISNULL(2) && options->replace)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"replace\" needs the argument sketch"),
				errhint("Use retrain(model, options, sketch => s)."));
	version = largest_group(&locked, PG_ARGISNULL(2));
	if (!PG_ARGISNULL(2))
		made = retrain_from_sketch(&locked, &version,
								   sketch_pack(SKETCH_ARG(2)),
								   options);
	else if ((live = live_for_retraining(&locked, &version, options)) != 0)
		made = retrain_live(&locked, &version, live, options);
	else
		made = run_training(fcinfo, begin_retraining(&locked, &version, options));
	AtEOXact_GUC(true, level);
	SPI_finish();
	return Int32GetDatum(made);
}

/* ---- retrain_if_drifted ---- */

/* Returns a float8 argument as text for an error message. */
static char *
shown_argument(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? "NULL"
		: DatumGetCString(DirectFunctionCall1(float8out, PG_GETARG_DATUM(argument)));
}

/*
 * Raises an error if one of the arguments threshold and min_effect is out of
 * range. The threshold is a p-value.
 */
static void
check_limits(FunctionCallInfo fcinfo)
{
	if (PG_ARGISNULL(1) ||
		!(PG_GETARG_FLOAT8(1) > 0 && PG_GETARG_FLOAT8(1) < 1))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("threshold is %s, out of range",
					   shown_argument(fcinfo, 1)),
				errdetail("It must be a p-value, above 0 and below 1."));
	if (PG_ARGISNULL(2) || !(PG_GETARG_FLOAT8(2) >= 0))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("min_effect is %s, out of range",
					   shown_argument(fcinfo, 2)),
				errdetail("It must be a shift in standard deviations, 0 or more."));
}

/* Returns a number with six significant digits, or "" if it is NULL. */
static char *
shown_number(Datum value, bool null)
{
	return null ? "" : psprintf("%.6g", DatumGetFloat8(value));
}

/*
 * Tests the current rows for drift, from the live sketch if `live` is not 0.
 * Stores the result in `check`, a record of type drift_checks. Returns the
 * verdict.
 */
static char *
check_drift(FunctionCallInfo fcinfo, const stored_version *version,
			const char *relation, Datum live, const train_options *options,
			bool quiet, record_builder *check)
{
	Jsonb	   *since = since_of_retraining(version, options);
	static const char *const columns[] = {
		"verdict",
		"n",
		"mmd2",
		"null_sd",
		"p_value",
		"fit_residual",
		"effect",
		"columns"
	};
	query_argument arguments[] = {
		{"stored_versions", version->record},
		{"kept_sketches", live, live == 0},
		{"text", CStringGetTextDatum(relation)},
		{"float8", PG_GETARG_DATUM(1)},
		{"float8", PG_GETARG_DATUM(2)},
		{"jsonb", since != NULL ? JsonbPGetDatum(since) : (Datum) 0, since == NULL}
	};
	Datum		value[lengthof(columns)];
	bool		null[lengthof(columns)];
	char	   *verdict;

	run_query(psprintf("SELECT d.verdict, d.n, d.mmd2, d.null_sd, d.p_value, d.fit_residual,"
					   " d.effect, %s FROM (%s) r,"
					   " version_drift(r.v, r.s, r.counts, $4, $5, r.n) d",
					   live != 0
					   ? "d.columns"
					   : "with_new_values(r.v, $3::regclass, d.columns, NULL, NULL)",
					   live != 0
					   ? "SELECT $1 AS v, m.s, m.counts, row_count(m.s) AS n FROM"
					   " model_rows($2, $6) m"
					   : "SELECT v, q.s, q.counts, q.n FROM version_since($1, $3::regclass,"
					   " $6) v, sketch_rows(v, $3::regclass, NULL) q"),
			  lengthof(arguments), arguments, 0);
	for (int i = 0; i < lengthof(columns); i++)
	{
		value[i] = query_value(0, i + 1, &null[i]);
		if (null[i])
			continue;
		if (i == 0 || i == lengthof(columns) - 1)
			value[i] = PointerGetDatum(PG_DETOAST_DATUM_COPY(value[i]));
		set_column(check, columns[i], value[i]);
	}
	verdict = TextDatumGetCString(value[0]);
	if (strcmp(verdict, "too few rows") == 0)
		ereport(WARNING,
				errmsg("too few rows to detect drift of model \"%s\": %lld of %s, %lld of the training",
					   version->model, (long long) DatumGetInt64(value[1]), relation,
					   version->sketch != NULL
					   ? (long long) version->sketch->count
					   : 0));
	else if (strcmp(verdict, "too few units") == 0)
		ereport(WARNING,
				errmsg("too few units to detect drift of model \"%s\"", version->model),
				errdetail("There should be 30 units or more in the training and in %s, without one that has most rows.",
						  relation));
	else if (!quiet)
		ereport(NOTICE,
				errmsg("model \"%s\" version %d: drift %s, effect %s, p = %s for %lld rows",
					   version->model, version->version, verdict,
					   shown_number(value[6], null[6]),
					   shown_number(value[4], null[4]),
					   (long long) DatumGetInt64(value[1])));
	return verdict;
}

/*
 * Takes (model, threshold, min_effect, options). Returns the number of the new
 * version, or NULL if the rows have not drifted. Invalid options are an error
 * even if the rows have not drifted.
 */
PG_FUNCTION_INFO_V1(fastclust_retrain_if_drifted);
Datum
fastclust_retrain_if_drifted(PG_FUNCTION_ARGS)
{
	const train_options *options;
	locked_model locked;
	stored_version version;
	Datum		live;
	training   *t = NULL;
	const char *relation;
	bool		quiet;
	record_builder check;
	int32		made = 0;
	query_argument written = {"drift_checks"};
	int			level;

	SPI_connect();
	options = options_of_caller(fcinfo, 3, &level);
	check_limits(fcinfo);
	locked = lock_model(fcinfo, !options->nowait, false);
	version = largest_group(&locked, false);
	live = live_for_retraining(&locked, &version, options);
	if (live == 0)
		t = begin_retraining(&locked, &version, options);
	relation = t != NULL ? t->source.relation : version.relation;
	check = begin_record("drift_checks", (Datum) 0);
	set_text(&check, "relation", relation);
	quiet = t != NULL
		? t->options->quiet
		: read_train_options(next_options(&version, options), FOR_TRAIN)->quiet;
	if (strcmp(check_drift(fcinfo, &version, relation, live, options, quiet, &check),
			   "drifted") == 0)
	{
		made = live != 0 ? retrain_live(&locked, &version, live, options)
			: run_training(fcinfo, t);
		set_column(&check, "new_version", Int32GetDatum(made));
	}
	set_column(&check, "model_id", Int64GetDatum(locked.id));
	set_column(&check, "version", Int32GetDatum(locked.version));
	set_column(&check, "threshold", PG_GETARG_DATUM(1));
	set_column(&check, "min_effect", PG_GETARG_DATUM(2));
	written.value = end_record(&check);
	run_query("SELECT write_drift($1)", 1, &written, 0);
	AtEOXact_GUC(true, level);
	SPI_finish();
	fcinfo->isnull = made == 0;
	return Int32GetDatum(made);
}

/* ---- choose_k ---- */

static Datum
number_or_null(double x, bool *null)
{
	*null = isnan(x);
	return Float8GetDatum(x);
}

/*
 * Implements choose_k for a live sketch: puts the rows computed by
 * choose_k_live (sql/training/live_choice.sql) into the result set.
 */
static void
choose_k_live(FunctionCallInfo fcinfo, ArrayType *columns, bool vector)
{
	query_argument arguments[] = {
		{"regclass", PG_GETARG_DATUM(0)},
		{"_name", PointerGetDatum(columns)},
		{"bool", BoolGetDatum(vector)},
		{"int4", PG_GETARG_DATUM(2)},
		{"jsonb", PG_GETARG_DATUM(3)}
	};

	run_query("SELECT c.*, NULL::integer, NULL::text FROM choose_k_live($1, $2, $3, $4, $5) c",
			  lengthof(arguments), arguments, 0);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		Datum		values[7];
		bool		nulls[7];

		for (int j = 0; j < lengthof(values); j++)
			values[j] = query_value(i, j + 1, &nulls[j]);
		put_row(fcinfo, values, nulls);
	}
}

/*
 * Runs k-means on a sample and on the halves of the sample. Puts a row for
 * each tried number of clusters into the result set.
 */
static void
choose_k_of_rows(FunctionCallInfo fcinfo, const feature_list *features,
				 bool vector, const train_options *options)
{
	training   *t = palloc0(sizeof(training));
	const fc_choice *choice;
	const char *reason;

	t->k = (Size) PG_GETARG_INT32(2);
	t->options = options;
	t->stored = options->json;
	t->method = METHOD_KMEANS;
	open_source(&t->source, PG_GETARG_OID(0), features, vector, NULL);
	add_options(&t->source, t->options);
	t->estimate = rows_to_sample(&t->source, options->sample, false);
	announce_step(psprintf("number of clusters of %s", t->source.relation), 0,
				  "", "number of clusters", 0, GetCurrentTimestamp());
	choice = try_clusters(t);
	end_step();
	reason = reason_of(t, choice);
	for (Size i = 0; i < choice->count; i++)
	{
		const fc_tried *tried = &choice->tried[i];
		bool		other = i != choice->chosen;
		bool		nulls[7] = {
			false,
			false,
			false,
			false,
			other,
			other || choice->second == 0,
			other || reason == NULL
		};
		Datum		values[7] = {
			Int32GetDatum((int32) tried->k),
			Float8GetDatum(tried->evidence.cost),
			number_or_null(tried->gain, &nulls[2]),
			number_or_null(tried->stability, &nulls[3]),
			CStringGetTextDatum(verdict_of(choice)),
			Int32GetDatum((int32) choice->second)
		};

		if (!nulls[6])
			values[6] = CStringGetTextDatum(reason);
		put_row(fcinfo, values, nulls);
	}
}

/*
 * Takes (relation, features, max_k, options) and returns rows (k, cost, gain,
 * stability, verdict, within, reason).
 */
PG_FUNCTION_INFO_V1(fastclust_choose_k);
Datum
fastclust_choose_k(PG_FUNCTION_ARGS)
{
	const train_options *options;
	ArrayType  *columns;
	bool vector;
	feature_list features;
	int			level;

	fastclust_begin_rows(fcinfo);
	require_argument(fcinfo, 3, "options");
	SPI_connect();
	level = fix_settings(FIX_SCAN);
	options = read_train_options(PG_GETARG_JSONB_P(3), FOR_CHOOSE_K);
	require_argument(fcinfo, 0, "relation");
	require_argument(fcinfo, 2, "max_k");
	if (PG_GETARG_INT32(2) < 2 || PG_GETARG_INT32(2) > MAX_CHOSEN_K)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("max_k is %d, out of range", PG_GETARG_INT32(2)),
				errdetail("Valid values are from 2 to %d.", MAX_CHOSEN_K));
	columns = features_argument(fcinfo, 1, PG_GETARG_OID(0), &vector);
	features = read_features(columns);
	if (options->live.follow == LIVE_ON)
		choose_k_live(fcinfo, columns, vector);
	else
		choose_k_of_rows(fcinfo, &features, vector, options);
	AtEOXact_GUC(true, level);
	SPI_finish();
	return (Datum) 0;
}

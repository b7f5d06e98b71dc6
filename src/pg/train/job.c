/*
 * job.c - the job of a training: locks the model, checks the options, runs the
 * steps, and makes the version the serving one.
 *
 * train and retrain call lock_model, which locks the model; begin_training,
 * which checks the options against the method and the relation before any row
 * is read; and run_training, which calls train_rows (train.c), start_serving,
 * and keep_live for a live sketch. The model tables are read and written by
 * SECURITY DEFINER functions in SQL (sql/models/writers.sql); everything else
 * runs with the caller's rights.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"
#include "utils/timestamp.h"

#include "pg/base/options.h"
#include "pg/base/values.h"
#include "pg/train/checks.h"
#include "pg/train/decoded.h"
#include "pg/train/density.h"
#include "pg/train/job.h"
#include "pg/train/log.h"
#include "pg/train/options.h"
#include "pg/train/query.h"
#include "pg/train/relation.h"
#include "pg/train/serving.h"
#include "pg/train/source.h"
#include "pg/train/spec.h"
#include "pg/train/train.h"
#include "pg/train/version.h"

/* ---- checks ---- */

/*
 * Raises a NOTICE for a superuser if a scan of these columns may run code of
 * other roles. It is raised at the first training, because nobody watches a
 * scheduled retrain.
 */
void
warn_foreign_code(Oid relation, const feature_list *features,
				  const train_options *options)
{
	char	  **columns = palloc((Size) (features->count + 2) * sizeof(char *));
	query_argument arguments[] = {
		{"regclass", ObjectIdGetDatum(relation)},
		{"_name"}
	};
	int			count;
	bool		none;
	Datum		problem;
	Datum		shown;
	StringInfoData name;

	if (!superuser())
		return;
	memcpy(columns, features->names, (Size) features->count * sizeof(char *));
	count = features->count;
	if (options->group_by != NULL)
		columns[count++] = options->group_by;
	if (options->row_weight != NULL)
		columns[count++] = options->row_weight;
	arguments[1].value = PointerGetDatum(array_of_names(columns, count));
	problem = query_datum("SELECT scan_problem($1, $2)", 2, arguments, 0,
						  &none);
	if (none || options->quiet)
		return;
	initStringInfo(&name);
	shown = DirectFunctionCall1(regclassout, ObjectIdGetDatum(relation));
	escape_json(&name, DatumGetCString(shown));
	ereport(NOTICE,
			errmsg("%s, whose code a scan may run with the rights of a superuser",
				   TextDatumGetCString(problem)),
			errhint("Train as the owner of the table, or name the table in each retrain: '{\"relation\": %s}'.",
					name.data));
}

/*
 * Raises an error if a model with a half-life uses a method or an option that
 * needs rows. Such a model is decoded from its sketch, because methods that
 * read rows cannot weight them by age.
 */
static void
check_half_life(const training *t)
{
	const char *of_rows = unknown_option(t->options, FOR_HALF_LIFE);

	if (t->options->live.half_life == NULL)
		return;
	if (t->method == METHOD_KERNEL || t->method == METHOD_QKMEANS)
		reject_with_method(t->method, "has no half-life",
						   "Use method \"compressive\".");
	if (of_rows != NULL)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("option \"%s\" applies to rows, but a recency-weighted model is decoded from a sketch",
					   of_rows),
				errhint("Leave out the option, or the key half_life of option \"live\"."));
}

/*
 * Raises an error if the training cannot make a live sketch. Called before any
 * row is read.
 */
static void
check_live(const training *t)
{
	const train_source *source = &t->source;
	query_argument arguments[] = {
		{"text", CStringGetTextDatum(t->model)},
		{"regclass", ObjectIdGetDatum(source->id)},
		{"_name", PointerGetDatum(array_of_names(source->features, source->feature_count))},
		{"jsonb", JsonbPGetDatum(t->stored)}
	};

	if (t->options->live.follow != LIVE_ON)
		return;
	if (t->options->unit != NULL)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("option \"unit\" cannot be used with a live sketch, which adds rows one by one"),
				errhint("Train without option \"live\"."));
	if (t->method == METHOD_DENSITY && source->group_by != NULL)
		reject_with_method(t->method,
						   "cannot be live with groups: a live sketch keeps its micro-clusters as groups",
						   "Train a model for each group with the option where.");
	if (t->method == METHOD_DENSITY && t->options->live.timed)
		reject_with_method(t->method,
						   "gives all rows the same weight: its live sketch has no time buckets",
						   "Train with {\"live\": true}, or retrain with {\"live\": false}.");
	check_half_life(t);
	if (!t->options->activate)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("option \"activate\" is false, but a live sketch follows the version that is trained on rows"),
				errhint("Retrain model \"%s\" from its live sketch, or train without option \"live\".",
						t->model));
	run_query("SELECT check_live_training($1, $2, $3, $4)", lengthof(arguments),
			  arguments, 0);
}

/*
 * Raises an error if option balance does not apply. Only Lloyd's algorithm on
 * all rows of a model without groups can count and move the rows of a cluster.
 */
static void
check_balance(const training *t)
{
	const char *problem = NULL;

	if (t->method != METHOD_KMEANS)
		problem = psprintf("method \"%s\"", train_method_name(t->method));
	else if (t->source.group_by != NULL)
		problem = "groups";
	else if (t->options->trim > 0)
		problem = "option \"trim\"";
	if (!isnan(t->options->balance) && problem != NULL)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("option \"balance\" cannot be used with %s", problem),
				errhint("Use method auto or kmeans, without options \"group_by\" and \"trim\"."));
}

/* Raises an error if the method or a live sketch cannot weight rows. */
static void
check_row_weight(const training *t)
{
	if (t->source.weight == NULL)
		return;
	if (t->method & (METHOD_QKMEANS | METHOD_KERNEL))
		reject_with_method(t->method, "does not weight rows",
						   "Methods with the option row_weight are auto, compressive, kmeans, density.");
	if (stays_live(t))
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("option \"row_weight\" cannot be used with a live sketch, which gives each row the same weight"),
				errhint("Leave out option \"row_weight\" or option \"live\"."));
}

/* ---- models ---- */

locked_model
lock_model(FunctionCallInfo fcinfo, bool wait, bool make)
{
	Datum		model = PG_ARGISNULL(0) ? (Datum) 0 : PG_GETARG_DATUM(0);
	query_argument arguments[] = {
		{"text", model, PG_ARGISNULL(0)},
		{"bool", BoolGetDatum(wait)},
		{"bool", BoolGetDatum(make)}
	};
	locked_model locked = {
		query_datum("SELECT locked_model($1, $2, $3)", lengthof(arguments), arguments, 0, NULL)
	};
	HeapTupleHeader record = DatumGetHeapTupleHeader(locked.record);
	bool		null;

	locked.id = DatumGetInt64(GetAttributeByName(record, "id", &null));
	locked.model = TextDatumGetCString(GetAttributeByName(record, "model",
														  &null));
	locked.version = DatumGetInt32(GetAttributeByName(record, "version", &null));
	return locked;
}

/*
 * Starts, keeps or ends the live sketch of the model (follow_model in
 * sql/training/live_models.sql). Does nothing if the version does not serve,
 * or if the model has no live sketch and the options request none.
 */
static void
keep_live(const training *t)
{
	query_argument arguments[] = {
		{"int8", Int64GetDatum(t->model_id)},
		{"int4", Int32GetDatum(t->version)},
		{"fastop", PointerGetDatum(t->micro), t->micro == NULL}
	};
	TimestampTz begun;
	bool		null;
	Datum		note;

	if (!t->options->activate ||
		!(t->options->live.follow == LIVE_ON || is_followed(t)))
		return;
	begun = begin_step(t, "live sketch");
	note = query_datum("SELECT follow_model($1, $2, $3)", lengthof(arguments),
					   arguments, 0, &null);
	if (!null)
		log_step(t, "live sketch", begun, NAN, TextDatumGetCString(note));
}

/* ---- versions ---- */

/*
 * Returns the current version of the locked model. If the version has groups,
 * returns the group with the most clusters, which represents the version,
 * because all groups share features and options.
 */
stored_version
largest_group(const locked_model *locked, bool groups)
{
	query_argument arguments[] = {
		{"stored_models", locked->record},
		{"bool", BoolGetDatum(groups)}
	};

	return open_version(query_datum("SELECT largest_group($1, $2)", 2, arguments,
									0, NULL));
}

training *
begin_training(const locked_model *locked, const train_source *source, int64 k,
			   train_method method, const train_options *options)
{
	training   *t = palloc0(sizeof(training));

	if (source->group_by != NULL && (method & (METHOD_QKMEANS | METHOD_KERNEL)))
		reject_with_method(method, "does not train groups",
						   "Methods for groups are auto, compressive, kmeans, density.");
	t->model_id = locked->id;
	t->model = locked->model;
	t->version = next_version(locked->id);
	t->source = *source;
	t->k = (Size) k;
	t->options = options;
	t->effort = options->effort;
	t->recall = NAN;
	add_options(&t->source, options);

	/*
	 * names are resolved, because sessions with another search_path read the
	 * stored options again
	 */
	t->stored = options_to_store(options, t->source.condition);

	/*
	 * The number of micro-clusters depends on the number of rows, which the
	 * planner may underestimate a hundred times with a condition or a view.
	 */
	t->estimate = rows_to_sample(&t->source, options->sample,
								 method == METHOD_DENSITY &&
								 (t->source.condition != NULL || !t->source.heap));
	if (method == METHOD_KERNEL && t->source.cosine)
		reject_with_method(method, "has no metric other than its kernel",
						   "For cosines, use the option kernel: '{\"kernel\": \"cosine()\"}'.");
	if (options->pinned.count > 0 &&
		!(method & (METHOD_AUTO | METHOD_KMEANS)))
		reject_with_method(method, "moves all clusters: none can be pinned",
						   "Methods with pinned clusters are auto, kmeans.");
	t->begun = GetCurrentTimestamp();
	t->method = method == METHOD_AUTO ? METHOD_KMEANS : method;
	if (method == METHOD_AUTO)
		t->note = "kmeans: smallest sum of squares over all rows";
	check_row_weight(t);
	check_live(t);
	check_balance(t);
	check_density(t, k);
	return t;
}

/*
 * Runs a job and returns the number of the version. The training itself
 * ignores a half-life. If there is one, a second version is decoded from the
 * live sketch, in which recent rows have larger weights. The result is then
 * the number of the second version.
 */
int32
run_training(FunctionCallInfo fcinfo, training *t)
{
	locked_model locked;
	stored_version trained;
	query_argument role = {"oid"};
	query_argument arguments[] = {{"int8"}};
	Datum		live;

	role.value = ObjectIdGetDatum(GetUserId());

	/*
	 * Check the privilege here, because retrain also calls this function: a
	 * retrain requires the privilege to execute train, too.
	 */
	run_query("SELECT check_execute($1, 'train')", 1, &role, 0);
	train_rows(t);
	start_serving(t);
	keep_live(t);
	if (t->options->live.half_life == NULL)
		return t->version;
	locked = lock_model(fcinfo, true, false);
	trained = largest_group(&locked, true);
	arguments[0].value = Int64GetDatum(locked.id);
	live = query_datum("SELECT model_live($1)", 1, arguments, 0, NULL);
	return retrain_live(&locked, &trained, live, options_of_text("{}"));
}

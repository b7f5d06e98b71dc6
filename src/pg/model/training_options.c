/* training_options.c - the options of train, retrain, choose_k, write_labels and keep_sketch: names, types, ranges, defaults, meanings */
#include "postgres.h"

#include "utils/builtins.h"

#include "pg/base/arguments.h"
#include "pg/base/options.h"
#include "pg/model/training_options.h"

enum
{
	TRAIN = 1,
	RETRAIN = 2,
	CHOOSE_K = 4,
	WRITE_LABELS = 8,
	KEEP_SKETCH = 16
};

static const choice functions[] = {
	{"train", TRAIN},
	{"retrain", RETRAIN},
	{"choose_k", CHOOSE_K},
	{"write_labels", WRITE_LABELS},
	{"keep_sketch", KEEP_SKETCH}
};

/* An option, the object that holds it or NULL, and which functions know it.  The values are read where they are used. */
typedef struct training_option
{
	int			functions;
	option		option;
	const char *within;
} training_option;

#define ANY_TRAINING	(TRAIN | RETRAIN)
#define ANY_FUNCTION	(TRAIN | RETRAIN | CHOOSE_K)

static const training_option training_options[] = {
	{RETRAIN, {"k", OPTION_INT, NULL, 1, FC_MAX_CLUSTERS, "as before", "number of clusters"}},
	{RETRAIN, {"method", OPTION_TEXT, NULL, 0, 0, "as before", "method of the training"}},
	{RETRAIN, {"relation", OPTION_TEXT, NULL, 0, 0, "as before", "the table to read"}},
	{RETRAIN, {"replace", OPTION_BOOL, NULL, 0, 0, "false", "the argument sketch is of all rows, not only of new ones"}},
	{RETRAIN, {"frozen", OPTION_BOOL, NULL, 0, 0, "false", "clusters keep their centroids; a larger k adds clusters behind them"}},
	{ANY_TRAINING, {"group_by", OPTION_TEXT, NULL, 0, 0, NULL, "a column; each of its values gets its own clusters"}},
	{ANY_FUNCTION, {"where", OPTION_TEXT, NULL, 0, 0, NULL, "a condition: only rows for which it is true belong to the model, also when it is retrained or watched"}},
	{ANY_FUNCTION, {"since", OPTION_OBJECT, NULL, 0, 0, NULL, "the recent rows of a table that grows: {\"column\": \"at\", \"interval\": \"20 days\"}, {\"partition\": \"last\"} or {\"where\": \"...\"}"}},
	{ANY_FUNCTION, {"column", OPTION_TEXT, NULL, 0, 0, NULL, "a column of times"}, "since"},
	{ANY_FUNCTION, {"interval", OPTION_TEXT, NULL, 0, 0, NULL, "length of time up to its newest value"}, "since"},
	{ANY_FUNCTION, {"partition", OPTION_TEXT, NULL, 0, 0, NULL, "\"last\": the last partition that has rows"}, "since"},
	{ANY_FUNCTION, {"where", OPTION_TEXT, NULL, 0, 0, NULL, "a condition that recent rows fulfil"}, "since"},
	{ANY_FUNCTION, {"baseline", OPTION_OBJECT, NULL, 0, 0, "the training rows", "another window, with which drift compares the recent rows"}, "since"},
	{ANY_FUNCTION, {"except", OPTION_OBJECT, NULL, 0, 0, NULL, "another window, whose rows are left out"}, "since"},
	{ANY_FUNCTION, {"standardize", OPTION_BOOL, NULL, 0, 0, "true for a list of columns", "divide each dimension by its standard deviation"}},
	{ANY_FUNCTION, {"metric", OPTION_TEXT, NULL, 0, 0, "euclidean", "\"cosine\" clusters vectors by direction"}},
	{ANY_FUNCTION, {"encoder", OPTION_OBJECT, NULL, 0, 0, "{}", "how columns become coordinates"}},
	{ANY_FUNCTION, {"transform", OPTION_TEXT_OR_OBJECT, NULL, 0, 0, "standard", "\"standard\", \"robust\", \"log\" or \"none\"; for one column: {\"column\": \"log\"}"}, "encoder"},
	{ANY_FUNCTION, {"weight", OPTION_OBJECT, NULL, 0, 0, "1", "factors of the distance by column: {\"column\": 2}"}, "encoder"},
	{ANY_FUNCTION, {"nulls", OPTION_TEXT_OR_OBJECT, NULL, 0, 0, "impute", "\"impute\", \"skip\" or \"error\"; for one column: {\"column\": \"skip\"}"}, "encoder"},
	{ANY_FUNCTION, {"categories", OPTION_INT, NULL, 1, FC_MAX_ENCODED, "32", "categories of a column that have a dimension; the rest are \"other\""}, "encoder"},
	{ANY_FUNCTION, {"paths", OPTION_OBJECT, NULL, 0, 0, "{}", "paths of a jsonb column to read: {\"column\": [\"a.b\"]}"}, "encoder"},
	{ANY_FUNCTION, {"trim", OPTION_FLOAT, NULL, 0, 0.5, "0", "share of the rows, farthest from all clusters, that no centroid counts (kmeans, kernel)"}},
	{ANY_TRAINING, {"iterations", OPTION_INT, NULL, 0, 1000, "10; compressive 0, with groups 1; qkmeans 3", "scans of Lloyd's algorithm at most"}},
	{ANY_TRAINING, {"tolerance", OPTION_FLOAT, NULL, 0, 1, "0.001", "stop when a scan improves the objective by a smaller part"}},
	{ANY_TRAINING, {"effort", OPTION_TEXT, NULL, 0, 0, "balanced", "\"fast\", \"balanced\" or \"thorough\": how large the sample of many clusters is, and how long k-means searches it"}},
	{ANY_TRAINING, {"levels", OPTION_FLOATS, NULL, 1, FC_MAX_CLUSTERS, NULL, "numbers of nodes on each level, the top first: [8, 8] is a tree of 64 clusters"}},
	{ANY_TRAINING, {"balance", OPTION_FLOAT, NULL, 1, 1e6, NULL, "the largest cluster may have this many times the mean number of rows"}},
	{ANY_TRAINING, {"align", OPTION_BOOL, NULL, 0, 0, "true", "similar clusters of different groups get the same number"}},
	{ANY_TRAINING, {"pinned", OPTION_FLOATS, NULL, 0, FC_MAX_CLUSTERS, NULL, "clusters whose centroids stay in a retrain: see pin_cluster"}},
	{ANY_TRAINING, {"contamination", OPTION_FLOAT, NULL, 1e-9, 0.999, "0.01", "share of the training rows that anomaly calls anomalies"}},
	{ANY_TRAINING, {"probes", OPTION_INT, NULL, 1, FC_MAX_CLUSTERS, NULL, "measure the recall of a search through this many clusters, for index_health"}},
	{ANY_TRAINING, {"frequencies", OPTION_INT, NULL, 1, 4194304, "from k and the dimension", "frequencies of a sketch that is decoded (compressive, live)"}},
	{ANY_TRAINING, {"kernel", OPTION_TEXT, NULL, 0, 0, "chosen from a sample", "the kernel, such as \"rbf(0.5)\""}},
	{ANY_TRAINING, {"landmarks", OPTION_INT, NULL, 1, 10000, "200 to 500, from k", "landmarks of the kernel features"}},
	{ANY_TRAINING, {"rank", OPTION_INT, NULL, 1, 502, "max(10, 3 k)", "dimensions of the kernel features"}},
	{ANY_TRAINING, {"factors", OPTION_OBJECT, NULL, 0, 0, "{}", "options of qkmeans; with \"method\", a method of factorize and its options, used in each scan"}},
	{ANY_TRAINING, {"min_cluster_rows", OPTION_INT, NULL, 1, 1e12, "1 % of the rows, 10 at least", "the smallest number of rows of a cluster (density)"}},
	{ANY_TRAINING, {"noise", OPTION_FLOAT, NULL, 0, 2, "0.5", "a larger value labels more rows as noise (density)"}},
	{ANY_TRAINING, {"scale", OPTION_FLOAT, NULL, 0, 1e300, NULL, "a distance: rows with min_cluster_rows rows within it are dense, as in DBSCAN (density)"}},
	{ANY_TRAINING, {"micro_clusters", OPTION_INT, NULL, 1, 20000, "2000; 20 n / min_cluster_rows", "number of small clusters of k-means, which are joined to clusters (density)"}},
	{ANY_FUNCTION, {"live", OPTION_BOOL_OR_OBJECT, NULL, 0, 0, "false", "follow the table with a live sketch, from which drift and retrain need no scan"}},
	{ANY_TRAINING, {"bucket", OPTION_TEXT, NULL, 0, 0, NULL, "a column of times by which rows are kept apart"}, "live"},
	{ANY_TRAINING, {"bucket_width", OPTION_TEXT, NULL, 0, 0, "1 day", "length of time of a bucket"}, "live"},
	{ANY_TRAINING, {"half_life", OPTION_TEXT, NULL, 0, 0, NULL, "age at which a row counts half"}, "live"},
	{ANY_FUNCTION, {"sample_rows", OPTION_INT, NULL, 100, 1e9, "max(20000, 50 k), weighted max(30000, 200 k); fast: 20 k for both", "rows of the samples, as far as memory allows"}},
	{ANY_FUNCTION, {"sample", OPTION_TEXT, NULL, 0, 0, "auto", "\"hash\" samples by a hash of the rows, so that the model does not depend on where they are stored"}},
	{ANY_FUNCTION, {"seed", OPTION_SEED, NULL, 0, 0, "0", "seed of every random choice"}},
	{ANY_TRAINING, {"fresh", OPTION_BOOL, NULL, 0, 0, "false", "use nothing of the version before"}},
	{ANY_TRAINING, {"keep", OPTION_INT, NULL, 0, 1e6, "5", "old versions to keep"}},
	{ANY_TRAINING, {"activate", OPTION_BOOL, NULL, 0, 0, "true", "predict uses the version from the commit on; false: from use_version on"}},
	{ANY_TRAINING, {"nowait", OPTION_BOOL, NULL, 0, 0, "false", "fail at once when another session trains the model"}},
	{ANY_TRAINING, {"quiet", OPTION_BOOL, NULL, 0, 0, "false", "no notices, but warnings; training_log has the steps all the same"}},
	{WRITE_LABELS, {"key", OPTION_NAMES, NULL, 0, 0, "the primary key", "columns of the relation that identify its rows, written next to the cluster"}},
	{WRITE_LABELS, {"where", OPTION_TEXT, NULL, 0, 0, "that of the model", "a condition: only rows for which it is true are written"}},
	{WRITE_LABELS, {"name", OPTION_BOOL, NULL, 0, 0, "false", "a column cluster_name, as model_clusters shows it"}},
	{WRITE_LABELS, {"distance", OPTION_BOOL, NULL, 0, 0, "false", "a column distance, as of predict_distance"}},
	{WRITE_LABELS, {"append", OPTION_BOOL, NULL, 0, 0, "false", "add the rows to a table that exists"}},
	{WRITE_LABELS, {"replace", OPTION_BOOL, NULL, 0, 0, "false", "empty a table that exists, then write"}},
	{WRITE_LABELS, {"follow", OPTION_BOOL, NULL, 0, 0, "as before", "each new version of the model updates the labels that it changes"}},
	{KEEP_SKETCH, {"group_by", OPTION_TEXT, NULL, 0, 0, NULL, "a column; each of its values gets a sketch"}},
	{KEEP_SKETCH, {"bucket", OPTION_TEXT, NULL, 0, 0, NULL, "a column of times by which rows are kept apart"}},
	{KEEP_SKETCH, {"bucket_width", OPTION_TEXT, NULL, 0, 0, "1 day", "length of time of a bucket"}},
	{KEEP_SKETCH, {"half_life", OPTION_TEXT, NULL, 0, 0, NULL, "age at which a row of a model counts half"}},
	{KEEP_SKETCH, {"where", OPTION_TEXT, NULL, 0, 0, NULL, "a condition: only rows for which it is true are counted"}},
	{KEEP_SKETCH, {"encoder", OPTION_TEXT, NULL, 0, 0, NULL, "an encoder of the columns, as text"}},
	{KEEP_SKETCH, {"concurrently", OPTION_BOOL, NULL, 0, 0, "false", "only make the triggers; rebuild_sketch counts the rows while others write"}}
};

/* Does the function know an option of this name outside of all objects? */
static bool
is_known(const char *name, int function)
{
	for (int i = 0; i < lengthof(training_options); i++)
		if ((training_options[i].functions & function) && training_options[i].within == NULL && strcmp(training_options[i].option.name, name) == 0)
			return true;
	return false;
}

/* Returns true if an option of retrain is an argument of train. */
static bool
is_argument_of_train(const char *name)
{
	static const char *const arguments[] = {"k", "method", "relation"};

	for (int i = 0; i < lengthof(arguments); i++)
		if (strcmp(arguments[i], name) == 0)
			return true;
	return false;
}

/* One that only another function knows, or that an object holds. */
static void
reject_elsewhere(Jsonb *options, const training_option *known, int function, const char *name)
{
	const char *place = known->within;

	if (value_of_key(options, known->option.name) == NULL || is_known(known->option.name, function))
		return;
	for (int i = 0; place == NULL; i++)
		if (known->functions & functions[i].value)
			place = functions[i].name;
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("option \"%s\" is not one of %s", known->option.name, name),
			known->within != NULL ? errhint("It is a key of option \"%s\": {\"%s\": {\"%s\": ...}}.", place, place, known->option.name)
			: function == TRAIN && known->functions == RETRAIN && is_argument_of_train(known->option.name) ?
			errhint("It is an argument of train: %s => ...", known->option.name)
			: errhint("It is one of %s.", place));
}

/* The options of a function in an object, or outside of all where within is NULL; their number. */
static int
options_within(const char *within, int function, option *known)
{
	int			count = 0;

	for (int i = 0; i < lengthof(training_options); i++)
	{
		const training_option *candidate = &training_options[i];

		if ((candidate->functions & function) &&
			(within == NULL ? candidate->within == NULL : candidate->within != NULL && strcmp(candidate->within, within) == 0))
			known[count++] = candidate->option;
	}
	return count;
}

void
check_training_options(Jsonb *options, const char *name)
{
	static const char *const objects[] = {"encoder", "live", "since"};
	option		known[lengthof(training_options)];
	int			function = choice_of_name("function", name, functions, lengthof(functions));

	for (int i = 0; i < lengthof(training_options); i++)
		reject_elsewhere(options, &training_options[i], function, name);
	read_options(options, known, options_within(NULL, function, known));
	for (int i = 0; i < lengthof(objects); i++)
	{
		JsonbValue *object = value_of_key(options, objects[i]);

		if (object != NULL && object->type == jbvBinary && value_of_key(JsonbValueToJsonb(object), "concurrently") != NULL)
			ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("a training has no option \"concurrently\""),
					errhint("keep_sketch with this option and then rebuild_sketch first: option \"live\" takes a live sketch of the same rows that is ready."));
		if (object != NULL && object->type == jbvBinary)
			read_options(JsonbValueToJsonb(object), known, options_within(objects[i], function, known));
	}
}

/* (options, function) */
PG_FUNCTION_INFO_V1(fastclust_check_training_options);
Datum
fastclust_check_training_options(PG_FUNCTION_ARGS)
{
	require_argument(fcinfo, 0, "options");
	require_argument(fcinfo, 1, "function");
	check_training_options(PG_GETARG_JSONB_P(0), text_to_cstring(PG_GETARG_TEXT_PP(1)));
	PG_RETURN_VOID();
}

/* Settings that bound a training. */
static const option settings[] = {
	{"memory_budget", OPTION_TEXT, NULL, 0, 0, "512 MB", "memory of the call, by SET, not an option: the samples are made to fit"},
	{"memory_budget_limit", OPTION_TEXT, NULL, 0, 0, "none", "most that fastclust.memory_budget may be, by a superuser's SET"},
	{"time_budget", OPTION_TEXT, NULL, 0, 0, "1 h", "time that one step may take, by SET: one whose estimate is longer is an error before it begins"}
};

/* (function) -> setof (option, type, range, default, meaning), in the order of the tables above. */
PG_FUNCTION_INFO_V1(fastclust_option_help);
Datum
fastclust_option_help(PG_FUNCTION_ARGS)
{
	int			function;

	require_argument(fcinfo, 0, "function");
	function = choice_of_name("function", text_to_cstring(PG_GETARG_TEXT_PP(0)), functions, lengthof(functions));
	fastclust_begin_rows(fcinfo);
	for (int i = 0; i < lengthof(training_options); i++)
		if (training_options[i].functions & function)
			put_option_help(fcinfo, &training_options[i].option, training_options[i].within);
	for (int i = 0; i < lengthof(settings) && (function & ANY_FUNCTION); i++)
		put_option_help(fcinfo, &settings[i], "fastclust");
	return (Datum) 0;
}

fc_metric
metric_of_training(const char *name)
{
	fc_metric	metric = metric_of_options(name);

	check_metric_has_means(metric);
	return metric;
}

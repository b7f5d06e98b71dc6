/*
 * options.c - the options of train, retrain, choose_k, write_labels and
 * keep_sketch: their names, types, ranges, defaults and meanings, and the
 * fields of train_options that they set
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"

#include "pg/base/arguments.h"
#include "pg/kmeans/collection.h"
#include "pg/train/options.h"
#include "pg/train/options_json.h"

static const named_value functions[] = {
	{"train", FOR_TRAIN},
	{"retrain", FOR_RETRAIN},
	{"choose_k", FOR_CHOOSE_K},
	{"write_labels", FOR_WRITE_LABELS},
	{"keep_sketch", FOR_KEEP_SKETCH}
};

static const named_value samples[] = {
	{"auto", SAMPLE_AUTO},
	{"hash", SAMPLE_HASH}
};

/* methods in the order in which messages list them */
static const named_value methods[] = {
	{"auto", METHOD_AUTO},
	{"compressive", METHOD_COMPRESSIVE},
	{"kmeans", METHOD_KMEANS},
	{"qkmeans", METHOD_QKMEANS},
	{"kernel", METHOD_KERNEL},
	{"density", METHOD_DENSITY}
};

/*
 * Options as they are read from jsonb; names such as the method become enums
 * afterwards.
 */
typedef struct given_options
{
	train_options fields;		/* first member, so that both structs have the
								 * same address */
	char	   *metric;
	char	   *effort;
	char	   *sample;
	char	   *method;
	row_window	window;			/* fields of option "since", set by
								 * read_window */
} given_options;

typedef struct training_option
{
	const char *name;
	option_kind kind;
	int			users;			/* bits of option_user: functions that accept
								 * the option */
	Size		place;			/* offset of the option's value in
								 * given_options; 0: the option is checked,
								 * but not read here */
	const char *initial;		/* default as text, or NULL */
	const char *meaning;
	double		lower;			/* allowed range of a number; both are 0 for
								 * other types */
	double		upper;
	const char *within;			/* name of the object that contains the
								 * option; NULL: top level */
	int			methods;		/* bits of train_method: methods that have the
								 * option; 0: all methods */
} training_option;

#define ARGUMENT_OF_TRAIN	1024	/* bit in users for options that are
									 * arguments of train */
#define FOR_BOTH		(FOR_TRAIN | FOR_RETRAIN)
#define ANY_TRAINING	(FOR_BOTH | FOR_HALF_LIFE)
#define ANY_FUNCTION	(ANY_TRAINING | FOR_CHOOSE_K | FOR_IMPORT)
#define NOT_FOR_HALF_LIFE	(ANY_FUNCTION & ~FOR_HALF_LIFE)
#define METHODS_OF_MEANS	(METHOD_COMPRESSIVE | METHOD_KMEANS | METHOD_QKMEANS | METHOD_KERNEL)
#define AT(field)		offsetof(given_options, fields.field)
#define WORD(field)		offsetof(given_options, field)
#define OF_WINDOW(field)	offsetof(given_options, window.field)

static const training_option training_options[] = {
	{
		"k", OPTION_WHOLE, FOR_RETRAIN | FOR_SKETCH | ARGUMENT_OF_TRAIN | FOR_LIVE, AT(k),
		"as before", "number of clusters", 1, FC_MAX_CLUSTERS
	},
	{
		"method", OPTION_TEXT, FOR_RETRAIN | ARGUMENT_OF_TRAIN, WORD(method), "as before",
		"method of the training"
	},
	{
		"relation", OPTION_TEXT, FOR_RETRAIN | ARGUMENT_OF_TRAIN, AT(relation), "as before",
		"the table to read"
	},
	{
		"replace", OPTION_BOOL, FOR_RETRAIN | FOR_SKETCH, AT(replace), "false",
		"the argument sketch is of all rows, not only of new ones"
	},
	{
		"frozen", OPTION_BOOL, FOR_RETRAIN, AT(frozen), "false",
		"clusters keep their centroids; a larger k adds clusters"
	},
	{
		"group_by", OPTION_TEXT, ANY_TRAINING, AT(group_by), NULL,
		"a column; each of its values gets its own clusters"
	},
	{
		"unit", OPTION_TEXT, FOR_BOTH | FOR_CHOOSE_K, AT(unit), NULL,
		"a column, such as the customer: rows with one value of it are not independent"
	},
	{
		"where", OPTION_TEXT, ANY_FUNCTION, AT(where), NULL,
		"a condition: only rows for which it is true are used, also by retrain and drift"
	},
	{
		"since", OPTION_OBJECT, NOT_FOR_HALF_LIFE | FOR_LIVE, 0, NULL,
		"the recent rows of a table that grows: {\"column\": \"at\", \"interval\": \"20 days\"}, "
		"{\"partition\": \"last\"} or {\"where\": \"...\"}"
	},
	{
		"column", OPTION_TEXT, NOT_FOR_HALF_LIFE, OF_WINDOW(column), NULL,
		"a column of times",.within = "since"
	},
	{
		"interval", OPTION_TEXT, NOT_FOR_HALF_LIFE, OF_WINDOW(interval), NULL,
		"length of the window, which ends at the newest time of the column",
		.within = "since"
	},
	{
		"partition", OPTION_TEXT, NOT_FOR_HALF_LIFE, OF_WINDOW(partition), NULL,
		"\"last\": the last partition that has rows",.within = "since"
	},
	{
		"where", OPTION_TEXT, NOT_FOR_HALF_LIFE, OF_WINDOW(where), NULL,
		"a condition that recent rows fulfil",.within = "since"
	},
	{
		"baseline", OPTION_OBJECT, FOR_BOTH, 0, "the training rows",
		"another window, with which drift compares the recent rows",.within = "since"
	},
	{
		"except", OPTION_OBJECT, NOT_FOR_HALF_LIFE, 0, NULL,
		"another window, whose rows are left out",.within = "since"
	},
	{
		"row_weight", OPTION_TEXT, FOR_BOTH | FOR_CHOOSE_K, AT(row_weight), NULL,
		"a column of numbers: weights of rows"
	},
	{
		"standardize", OPTION_BOOL, ANY_FUNCTION, AT(standardize),
		"true for a list of columns", "divide each dimension by its standard deviation"
	},
	{
		"metric", OPTION_TEXT, FOR_BOTH | FOR_CHOOSE_K | FOR_IMPORT, WORD(metric),
		"euclidean", "\"cosine\" clusters vectors by direction"
	},
	{"encoder", OPTION_OBJECT, ANY_FUNCTION, 0, "{}", "how columns become coordinates"},
	{
		"transform", OPTION_TEXT_OR_OBJECT, ANY_FUNCTION, 0, "standard",
		"\"standard\", \"robust\", \"log\" or \"none\"; for one column also \"cyclic\": {\"column\": \"log\"}",
		.within = "encoder"
	},
	{
		"period", OPTION_OBJECT, ANY_FUNCTION, 0, "24 hours for times",
		"periods of numbers that go round: {\"hour\": 24}",.within = "encoder"
	},
	{
		"cyclic", OPTION_OBJECT, ANY_FUNCTION, 0, "{}",
		"the part of dates and times that goes round: {\"column\": \"day\"}, \"week\" or \"year\"",
		.within = "encoder"
	},
	{
		"zone", OPTION_TEXT, ANY_FUNCTION, 0, "TimeZone of the first training",
		"time zone of the parts of dates and times that go round",.within = "encoder"
	},
	{
		"weight", OPTION_OBJECT, ANY_FUNCTION, 0, "1",
		"weights of columns in the distance: {\"column\": 2}",.within = "encoder"
	},
	{
		"nulls", OPTION_TEXT_OR_OBJECT, ANY_FUNCTION, 0, "impute",
		"\"impute\", \"skip\" or \"error\"; for one column: {\"column\": \"skip\"}",
		.within = "encoder"
	},
	{
		"categories", OPTION_WHOLE, ANY_FUNCTION, AT(categories), "32",
		"maximum number of categories per column with a dimension each; the rest are \"other\"",
		1, FC_MAX_ENCODED,.within = "encoder"
	},
	{
		"paths", OPTION_OBJECT, ANY_FUNCTION, 0, "{}",
		"paths of a jsonb column to read: {\"column\": [\"a.b\"]}",.within = "encoder"
	},
	{
		"trim", OPTION_FLOAT, FOR_BOTH | FOR_CHOOSE_K, AT(trim), "0",
		"share of the rows, the farthest from all clusters, that centroids ignore (kmeans, "
		"kernel)", 0, 0.5,.methods = METHOD_KMEANS | METHOD_KERNEL
	},
	{
		"iterations", OPTION_WHOLE, FOR_BOTH | FOR_IMPORT, AT(iterations),
		"10; compressive 0, with groups 1; qkmeans 3",
		"maximum number of scans of Lloyd's algorithm", 0, 1000,.methods = METHODS_OF_MEANS
	},
	{
		"tolerance", OPTION_FLOAT, ANY_TRAINING, AT(tolerance), "0.001",
		"stop when a scan improves the objective by less than this share", 0, 1,
		.methods = METHODS_OF_MEANS
	},
	{
		"effort", OPTION_TEXT, ANY_TRAINING, WORD(effort), "balanced",
		"\"fast\", \"balanced\" or \"thorough\": how long k-means searches, and in how "
		"large a sample if there are many clusters; \"thorough\" includes the search of "
		"\"balanced\"",.methods = METHOD_KMEANS | METHOD_KERNEL
	},
	{
		"levels", OPTION_FLOATS, ANY_TRAINING, AT(levels), NULL,
		"numbers of branches, from the top level down: [8, 8] is a tree of 64 clusters", 1,
		FC_MAX_CLUSTERS
	},
	{
		"balance", OPTION_FLOAT, FOR_BOTH, AT(balance), NULL,
		"maximum number of rows of a cluster, as a multiple of the mean", 1, 1e6
	},
	{
		"align", OPTION_BOOL, ANY_TRAINING, AT(align), "true",
		"similar clusters of different groups get the same number"
	},
	{
		"pinned", OPTION_FLOATS, ANY_TRAINING, AT(pinned), NULL,
		"clusters whose centroids stay in a retrain: see pin_cluster", 0, FC_MAX_CLUSTERS
	},
	{
		"contamination", OPTION_FLOAT, ANY_TRAINING | FOR_IMPORT, 0, "0.01",
		"share of the training rows for which anomaly returns true", 1e-9, 0.999
	},
	{
		"probes", OPTION_WHOLE, FOR_BOTH | FOR_IMPORT, AT(probes), NULL,
		"measure the recall of a search through this many clusters, for index_health", 1,
		FC_MAX_CLUSTERS
	},
	{
		"frequencies", OPTION_WHOLE, ANY_TRAINING | FOR_IMPORT, AT(frequencies),
		"from k and the dimension",
		"number of frequencies of a sketch that is decoded (compressive, live)", 1, 4194304,
		.methods = METHOD_COMPRESSIVE
	},
	{
		"kernel", OPTION_TEXT, ANY_TRAINING, AT(kernel), "chosen from a sample",
		"the kernel, such as \"rbf(0.5)\"",.methods = METHOD_KERNEL
	},
	{
		"landmarks", OPTION_WHOLE, ANY_TRAINING, AT(landmarks), "200 to 500, from k",
		"number of landmarks of the kernel features", 1, 10000,.methods = METHOD_KERNEL
	},
	{
		"rank", OPTION_WHOLE, ANY_TRAINING, AT(rank), "max(10, 3 k)",
		"number of dimensions of the kernel features", 1, 502,.methods = METHOD_KERNEL
	},
	{
		"factors", OPTION_OBJECT, FOR_BOTH, 0, "{}",
		"options of qkmeans; with \"method\", a method of factorize and its options, used in each "
		"scan",.methods = METHOD_QKMEANS
	},
	{
		"min_cluster_rows", OPTION_WHOLE, ANY_TRAINING, AT(min_cluster_rows),
		"1 % of the rows, but at least 10", "minimum number of rows of a cluster (density)",
		1, 1e12,.methods = METHOD_DENSITY
	},
	{
		"noise", OPTION_FLOAT, ANY_TRAINING | FOR_LIVE, AT(noise), "0.5",
		"a larger value labels more rows as noise (density)", 0, 2,
		.methods = METHOD_DENSITY
	},
	{
		"scale", OPTION_FLOAT, ANY_TRAINING, AT(scale), NULL,
		"a radius: rows with min_cluster_rows rows within it are dense, as in DBSCAN (density)",
		0, 1e300,.methods = METHOD_DENSITY
	},
	{
		"micro_clusters", OPTION_WHOLE, ANY_TRAINING, AT(micro_clusters),
		"min(2000, 20 n / min_cluster_rows)",
		"number of small k-means clusters, which are joined to the clusters (density)", 1,
		20000,.methods = METHOD_DENSITY
	},
	{
		"live", OPTION_BOOL_OR_OBJECT, ANY_FUNCTION | FOR_LIVE, 0, "false",
		"follow the table with a live sketch, so that drift and retrain need no scan"
	},
	{
		"bucket", OPTION_TEXT, ANY_TRAINING, 0, NULL,
		"a column of times: the rows of each bucket of time get a sketch",.within = "live"
	},
	{
		"bucket_width", OPTION_TEXT, ANY_TRAINING, 0, "1 day", "length of a bucket of time",
		.within = "live"
	},
	{
		"half_life", OPTION_TEXT, ANY_TRAINING, AT(live.half_life), NULL,
		"age at which a row counts half",.within = "live"
	},
	{
		"sample_rows", OPTION_WHOLE, ANY_FUNCTION, AT(sample_rows),
		"max(20000, 50 k), weighted max(30000, 200 k); fast: 20 k for both",
		"number of rows of the samples, fewer if memory does not suffice", 100, 1e9
	},
	{
		"sample", OPTION_TEXT, ANY_FUNCTION, WORD(sample), "auto",
		"\"hash\" samples by a hash of the rows, so that the model does not depend on where they "
		"are stored"
	},
	{
		"seed", OPTION_SEED, ANY_FUNCTION | FOR_LIVE, AT(seed), "0",
		"seed of every random choice"
	},
	{
		"fresh", OPTION_BOOL, ANY_TRAINING | FOR_SKETCH | FOR_LIVE, AT(fresh), "false",
		"start afresh, with nothing of the previous version"
	},
	{
		"keep", OPTION_WHOLE, ANY_TRAINING | FOR_IMPORT | FOR_SKETCH | FOR_LIVE, AT(keep),
		"5", "number of old versions to keep, now and after later retrainings", 0, 1e6
	},
	{
		"activate", OPTION_BOOL, ANY_TRAINING | FOR_IMPORT | FOR_SKETCH | FOR_LIVE,
		AT(activate), "true",
		"predict uses the new version after the commit; false: only after use_version"
	},
	{
		"nowait", OPTION_BOOL, ANY_TRAINING | FOR_IMPORT | FOR_SKETCH | FOR_LIVE,
		AT(nowait), "false", "fail at once when another session trains the model"
	},
	{
		"quiet", OPTION_BOOL, ANY_TRAINING | FOR_IMPORT | FOR_SKETCH | FOR_LIVE, AT(quiet),
		"false", "no notices, only warnings; training_log still shows the steps"
	},
	{
		"key", OPTION_NAMES, FOR_WRITE_LABELS, 0, "the primary key",
		"columns of the relation that identify its rows, written next to the cluster"
	},
	{
		"where", OPTION_TEXT, FOR_WRITE_LABELS, AT(where), "as in the model",
		"a condition: only rows for which it is true are written"
	},
	{
		"name", OPTION_BOOL, FOR_WRITE_LABELS, AT(name), "as the table, or false",
		"add a column cluster_name with the names of model_clusters"
	},
	{
		"distance", OPTION_BOOL, FOR_WRITE_LABELS, AT(distance), "as the table, or false",
		"add a column distance with the values of predict_distance"
	},
	{
		"append", OPTION_BOOL, FOR_WRITE_LABELS, 0, "false",
		"add the rows to an existing table"
	},
	{
		"replace", OPTION_BOOL, FOR_WRITE_LABELS, 0, "false",
		"empty an existing table, then write"
	},
	{
		"follow", OPTION_BOOL, FOR_WRITE_LABELS, 0, "as before",
		"each new version of the model updates the labels that it changes"
	},
	{
		"group_by", OPTION_TEXT, FOR_KEEP_SKETCH, 0, NULL,
		"a column; each of its values gets a sketch"
	},
	{
		"bucket", OPTION_TEXT, FOR_KEEP_SKETCH, 0, NULL,
		"a column of times: the rows of each bucket of time get a sketch"
	},
	{"bucket_width", OPTION_TEXT, FOR_KEEP_SKETCH, 0, "1 day", "length of a bucket of time"},
	{
		"half_life", OPTION_TEXT, FOR_KEEP_SKETCH, 0, NULL,
		"age at which a row counts half in a model of the live sketch"
	},
	{
		"where", OPTION_TEXT, FOR_KEEP_SKETCH, 0, NULL,
		"a condition: only rows for which it is true are counted"
	},
	{"encoder", OPTION_TEXT, FOR_KEEP_SKETCH, 0, NULL, "an encoder of the columns, as text"},
	{
		"concurrently", OPTION_BOOL, FOR_KEEP_SKETCH, 0, "false",
		"only make the triggers; rebuild_sketch then counts the rows while others write"
	}
};

static const train_options defaults = {
	.categories = NAN,
	.metric = FC_EUCLIDEAN,
	.sample_rows = NAN,
	.k = NAN,
	.iterations = NAN,
	.tolerance = NAN,
	.balance = NAN,
	.align = true,
	.probes = NAN,
	.frequencies = NAN,
	.landmarks = NAN,
	.rank = NAN,
	.min_cluster_rows = NAN,
	.noise = NAN,
	.scale = NAN,
	.micro_clusters = NAN,
	.keep = NAN,
	.activate = true
};

/* ---- objects of jsonb ---- */

/*
 * Returns the value of a key, or NULL if the key is missing or its value is
 * null.
 */
static JsonbValue *
value_of(const Jsonb *json, const char *name)
{
	JsonbValue *value = json == NULL ? NULL : value_of_key(json, name);

	return value != NULL && value->type != jbvNull ? value : NULL;
}

static Jsonb *
object_of(const Jsonb *json, const char *name)
{
	JsonbValue *value = value_of(json, name);

	return value != NULL && value->type == jbvBinary ? JsonbValueToJsonb(value)
		: NULL;
}

/*
 * Converts an entry of the table of options to the form that read_options and
 * put_option_help take. read_options stores the value of the option in
 * `fields`. It stores nothing if `fields` is NULL, or if the option is not
 * read here.
 */
static option
option_of(const training_option *row, void *fields)
{
	return (option)
	{
		row->name, row->kind,
			fields == NULL || row->place == 0 ? NULL : (char *) fields + row->place,
			row->lower, row->upper, row->initial, row->meaning
	};
}

/* ---- checks ---- */

/* Returns true if the function accepts a top-level option of this name. */
static bool
is_known(const char *name, int function)
{
	for (int i = 0; i < lengthof(training_options); i++)
		if ((training_options[i].users & function) &&
			training_options[i].within == NULL &&
			strcmp(training_options[i].name, name) == 0)
			return true;
	return false;
}

/*
 * Raises an error if the option `known` is given at the top level, but belongs
 * to another function or to an object.
 */
static void
reject_misplaced(Jsonb *json, const training_option *known, int function)
{
	const char *place = known->within;
	const char *name = known->name;

	if (value_of_key(json, name) == NULL || is_known(name, function))
		return;
	for (int i = 0; place == NULL; i++)
		if (known->users & functions[i].value)
			place = functions[i].name;
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("option \"%s\" is not an option of %s", name,
				   name_of_choice(function, functions, lengthof(functions))),
			known->within != NULL
			? errhint("Put it inside option \"%s\": {\"%s\": {\"%s\": ...}}.",
					  place, place, name)
			: function == FOR_TRAIN && (known->users & ARGUMENT_OF_TRAIN)
			? errhint("Pass it as an argument of train: %s => ...", name)
			: errhint("It is an option of %s.", place));
}

/*
 * Raises an error if weights are given under a name that other programs use,
 * such as "sample_weight". A text is taken for the column with the weights of
 * rows, an object for the weights of columns. The hint names the option for
 * these weights.
 */
static void
reject_other_weights(Jsonb *json, int function)
{
	static const char *const names[] = {
		"weight",
		"weights",
		"sample_weight",
		"sample_weights",
		"row_weights"
	};

	if (!is_known("row_weight", function))
		return;
	for (int i = 0; i < lengthof(names); i++)
	{
		JsonbValue *value = value_of_key(json, names[i]);

		if (value != NULL && value->type == jbvString)
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("option \"%s\" is not an option of %s", names[i],
						   name_of_choice(function, functions, lengthof(functions))),
					errhint("For weights of rows, use option \"row_weight\": {\"row_weight\": \"%.*s\"}.",
							value->val.string.len, value->val.string.val));
		if (value != NULL && value->type == jbvBinary)
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("option \"%s\" is not an option of %s", names[i],
						   name_of_choice(function, functions, lengthof(functions))),
					errhint("For weights of columns, use option \"encoder\": {\"encoder\": {\"weight\": ...}}. For weights of rows, name a column in option \"row_weight\"."));
	}
}

/*
 * Raises an error if an option of the factors of method qkmeans is given at
 * the top level, or if a number is given in the place of these options.
 */
static void
reject_misplaced_factors(Jsonb *json, int function)
{
	static const char *const names[] = {
		"sparsity",
		"budget",
		"sweeps",
		"published",
		"pursuit",
		"sse_ratio",
		"centered"
	};
	JsonbValue *factors = value_of(json, "factors");

	if (!is_known("factors", function))
		return;
	for (int i = 0; i < lengthof(names); i++)
		if (value_of_key(json, names[i]) != NULL)
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("option \"%s\" is not an option of %s", names[i],
						   name_of_choice(function, functions, lengthof(functions))),
					errhint("Put it inside option \"factors\": {\"factors\": {\"%s\": ...}}.",
							names[i]));
	if (factors != NULL && factors->type == jbvNumeric)
	{
		Datum		value = NumericGetDatum(factors->val.numeric);
		char	   *number = DatumGetCString(DirectFunctionCall1(numeric_out, value));

		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"factors\" must be an object, not %s", number),
				errhint("For the number of factors, use {\"factors\": {\"factors\": %s}}.",
						number));
	}
}

/*
 * Reads the options of the object `within`, or the top-level options if
 * `within` is NULL. Stores the value of each option in `fields`, at the offset
 * of the option.
 */
static void
read_within(Jsonb *json, const char *within, int function, void *fields)
{
	option		known[lengthof(training_options)];
	int			count = 0;

	for (int i = 0; i < lengthof(training_options); i++)
	{
		const training_option *row = &training_options[i];

		if ((row->users & function) &&
			(row->within == NULL || within == NULL ? row->within == within
			 : strcmp(row->within, within) == 0))
			known[count++] = option_of(row, fields);
	}
	read_options(json, known, count);
}

/*
 * Reads an option that is an object of further options. Returns the object, or
 * NULL if the option is not given as an object.
 */
static Jsonb *
read_object(Jsonb *json, const char *name, int function, void *fields)
{
	Jsonb	   *object = object_of(json, name);

	if (object == NULL)
		return NULL;
	if (value_of_key(object, "concurrently") != NULL)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("a training has no option \"concurrently\""),
				errhint("Before the training, call keep_sketch with this option, then rebuild_sketch: option \"live\" uses a live sketch of the same rows."));
	read_within(object, name, function, fields);
	return object;
}

/* ---- reading ---- */

static row_window *
read_window(Jsonb *json, int function)
{
	given_options *given = palloc0(sizeof(given_options));
	Jsonb	   *except = object_of(json, "except");

	read_within(json, "since", function, given);
	if (except != NULL)
		given->window.except = read_window(except, function);
	return &given->window;
}

/*
 * Reads option "factors". If its method is auto, sets a default for sse_ratio,
 * so that auto compares the distances of the training rows as well as their
 * labels.
 */
static factor_options
read_factors(Jsonb *json)
{
	factor_options factors = {.settings = json == NULL ? NULL : without_nulls(json)};
	JsonbValue *method = value_of(json, "method");

	if (method == NULL)
		return factors;
	factors.method = (method->type != jbvString ? ""
					  : pnstrdup(method->val.string.val, (Size) method->val.string.len));
	factors.settings = without_key(factors.settings, "method");
	if (strcmp(factors.method, "auto") == 0)
		factors.settings = joined(json_of_text("{\"sse_ratio\": 1.1}"),
								  factors.settings);
	return factors;
}

train_options *
read_train_options(Jsonb *json, option_user function)
{
	given_options *given = palloc0(sizeof(given_options));
	train_options *o = &given->fields;
	JsonbValue *live;

	*o = defaults;
	given->sample = "auto";
	reject_other_weights(json, (int) function);
	reject_misplaced_factors(json, (int) function);
	for (int i = 0; i < lengthof(training_options); i++)
		reject_misplaced(json, &training_options[i], function);
	read_within(json, NULL, function, given);
	o->json = json;
	o->encoder = read_object(json, "encoder", function, given);
	o->live.timed = read_object(json, "live", function, given) != NULL;
	live = value_of(json, "live");
	if (live != NULL)
		o->live.follow = o->live.timed || live->val.boolean ? LIVE_ON
			: LIVE_OFF;
	o->since_given = json != NULL && value_of_key(json, "since") != NULL;
	o->since_json = object_of(json, "since");
	if (o->since_json != NULL)
		o->since = read_window(o->since_json, function);
	o->factors = read_factors(object_of(json, "factors"));
	o->metric = metric_with_means(given->metric);
	o->effort = effort_of_options(given->effort);
	o->sample = (row_sampling) choice_of_name("sample", given->sample, samples, lengthof(samples));
	o->method = given->method == NULL ? METHOD_NONE
		: train_method_of(given->method);
	return o;
}

train_options *
options_of_text(const char *text)
{
	return read_train_options(json_of_text(text), FOR_TRAIN);
}

/* Reads an argument that is the name of a function with options. */
static option_user
function_argument(FunctionCallInfo fcinfo, int n)
{
	require_argument(fcinfo, n, "function");
	return (option_user) choice_of_name("function", text_to_cstring(PG_GETARG_TEXT_PP(n)),
										functions, lengthof(functions));
}

/*
 * Takes (options, function). Raises an error for options that the function
 * does not accept.
 */
PG_FUNCTION_INFO_V1(fastclust_check_training_options);
Datum
fastclust_check_training_options(PG_FUNCTION_ARGS)
{
	require_argument(fcinfo, 0, "options");
	(void) read_train_options(PG_GETARG_JSONB_P(0), function_argument(fcinfo, 1));
	PG_RETURN_VOID();
}

/* ---- methods ---- */

train_method
train_method_of(const char *name)
{
	const char *names[lengthof(methods)];

	if (name[strspn(name, " \t\n\v\f\r")] == '{')
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("method is %s, which looks like options", name),
				errhint("Name the argument: options => %s.",
						quote_literal_cstr(name)));
	if (strcmp(name, "euclidean") == 0 || strcmp(name, "cosine") == 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("method \"%s\" is not known", name),
				errhint("It is a metric: options => '{\"metric\": \"%s\"}'.", name));
	for (int i = 0; i < lengthof(methods); i++)
	{
		if (strcmp(methods[i].name, name) == 0)
			return (train_method) methods[i].value;
		names[i] = methods[i].name;
	}
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("method \"%s\" is not known", name),
			errhint("%s", name_hint(name, (int) strlen(name), names,
									lengthof(names), "Methods are")));
	return METHOD_NONE;
}

const char *
train_method_name(train_method method)
{
	return name_of_choice(method, methods, lengthof(methods));
}

/* ---- options that a mode does not take ---- */

const char *
unknown_option(const train_options *options, option_user user)
{
	bool		retrains = (user & (FOR_SKETCH | FOR_LIVE)) != 0;

	for (int i = 0; i < lengthof(training_options); i++)
	{
		const training_option *row = &training_options[i];

		if ((row->users & FOR_BOTH) && row->within == NULL &&
			!(row->users & user) &&
			(retrains ? value_of_key(options->json, row->name)
			 : value_of(options->json, row->name)) != NULL)
			return row->name;
	}
	return NULL;
}

/*
 * Returns true if an option needs no warning although the method does not have
 * it: either other options make it effective, or it is trim with value 0.
 */
static bool
needs_no_warning(const char *name, train_method method,
				 const train_options *all)
{
	if (strcmp(name, "trim") == 0)
		return all->trim == 0;
	if (strcmp(name, "frequencies") == 0)
		return all->live.follow == LIVE_ON;
	if (strcmp(name, "effort") == 0)
		return method == METHOD_COMPRESSIVE ? all->group_by != NULL
			: all->factors.method != NULL;
	return false;
}

static void
warn_no_effect(const char *name, train_method method, int having)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < lengthof(methods); i++)
		if (methods[i].value & having)
			appendStringInfo(&names, "%s%s", names.len > 0 ? ", " : "",
							 methods[i].name);
	ereport(WARNING,
			errmsg("option \"%s\" has no effect with method \"%s\"", name,
				   train_method_name(method)),
			errhint("Methods that have it: %s.", names.data));
}

void
warn_ineffective_options(train_method method, const train_options *given,
						 const train_options *all)
{
	train_method effective = method == METHOD_AUTO ? METHOD_KMEANS : method;

	for (int i = 0; i < lengthof(training_options); i++)
	{
		const training_option *row = &training_options[i];

		if (row->methods != 0 && !(row->methods & effective) &&
			value_of(given->json, row->name) != NULL &&
			!needs_no_warning(row->name, effective, all))
			warn_no_effect(row->name, method, row->methods);
	}
	if (all->group_by == NULL && value_of(given->json, "align") != NULL)
		ereport(WARNING,
				errmsg("option \"align\" has no effect without option \"group_by\""));
	if (all->group_by != NULL && !isnan(given->probes))
		ereport(WARNING,
				errmsg("option \"probes\" has no effect with option \"group_by\""));
}

/* ---- the encoder ---- */

bool
names_feature(const train_options *options, const char *option,
			  const char *feature)
{
	const Jsonb *named = object_of(options->encoder, option);

	if (named == NULL)
		return value_of(options->encoder, option) != NULL;
	for (const char *end = feature; (end = strstr(end, " -> ")) != NULL; end++)
		if (value_of(named, pnstrdup(feature, (Size) (end - feature))) != NULL)
			return true;
	return value_of(named, feature) != NULL;
}

/* ---- options as jsonb ---- */

/*
 * RETRAIN_CATEGORIES_FACTOR: factor by which a retrain raises the requested
 * number of categories, so that the existing categories are found among them.
 * MAX_CATEGORIES: maximum of the raised number. Guesses.
 */
#define RETRAIN_CATEGORIES_FACTOR	4.0
#define MAX_CATEGORIES	10000.0

#define DEFAULT_CATEGORIES	32.0	/* same value as in encoder_options.c */

Jsonb *
encoder_settings(const train_options *options, bool again)
{
	Jsonb	   *settings = json_of_text("{}");
	double		more = (RETRAIN_CATEGORIES_FACTOR *
						given_or(options->categories, DEFAULT_CATEGORIES));

	if (value_of(options->json, "standardize") != NULL)
		settings = json_of_text(options->standardize
								? "{\"standardize\": true}"
								: "{\"standardize\": false}");
	if (options->encoder != NULL)
		settings = joined(settings, options->encoder);
	if (!again)
		return settings;
	return joined(settings, json_of_text(psprintf("{\"categories\": %.0f}",
												  Min(MAX_CATEGORIES, more))));
}

bool
other_dimensions(const train_options *a, const train_options *b)
{
	Jsonb	   *paths_a = object_of(a->encoder, "paths");
	Jsonb	   *paths_b = object_of(b->encoder, "paths");

	if (given_or(a->categories, 0) != given_or(b->categories, 0) ||
		(paths_a == NULL) != (paths_b == NULL))
		return true;
	return paths_a != NULL &&
		compareJsonbContainers(&paths_a->root, &paths_b->root) != 0;
}

Jsonb *
product_settings(const train_options *options)
{
	StringInfoData text;
	Jsonb	   *settings;

	initStringInfo(&text);
	appendStringInfo(&text, "{\"seed\": " INT64_FORMAT, options->seed);
	if (!isnan(options->iterations))
		appendStringInfo(&text, ", \"iterations\": %.0f", options->iterations);
	if (!isnan(options->tolerance))
		appendStringInfo(&text, ", \"tolerance\": %.17g", options->tolerance);
	appendStringInfoChar(&text, '}');
	settings = json_of_text(text.data);
	if (options->factors.settings != NULL)
		settings = joined(settings, options->factors.settings);
	return settings;
}

Jsonb *
with_text_option(Jsonb *json, const char *name, const char *text)
{
	StringInfoData object;

	initStringInfo(&object);
	appendStringInfo(&object, "{\"%s\": ", name);
	escape_json(&object, text);
	appendStringInfoChar(&object, '}');
	return joined(json, json_of_text(object.data));
}

Jsonb *
options_to_store(const train_options *options, const char *condition)
{
	Jsonb	   *json = without_key(without_nulls(options->json), "nowait");

	return condition == NULL ? json : with_text_option(json, "where", condition);
}

/* ---- help ---- */

/* Settings that limit a training, which option_help also lists. */
static const training_option settings[] = {
	{
		"memory_budget", OPTION_TEXT, FOR_BOTH | FOR_CHOOSE_K, 0, "512 MB",
		"maximum memory of the call, a setting (SET): samples are made small enough to fit",
		.within = "fastclust"
	},
	{
		"memory_budget_limit", OPTION_TEXT, FOR_BOTH | FOR_CHOOSE_K, 0, "none",
		"maximum of fastclust.memory_budget, which only a superuser sets",.within = "fastclust"
	},
	{
		"time_budget", OPTION_TEXT, FOR_BOTH | FOR_CHOOSE_K, 0, "1 h",
		"maximum time of one step, a setting (SET): a step with a longer estimate fails before it "
		"begins",
		.within = "fastclust"
	}
};

static void
put_help(FunctionCallInfo fcinfo, const training_option *rows, int count, int function)
{
	for (int i = 0; i < count; i++)
		if (rows[i].users & function)
		{
			option		known = option_of(&rows[i], NULL);

			put_option_help(fcinfo, &known, rows[i].within);
		}
}

/*
 * Takes (function). Returns the rows of option_help: the options of the
 * function in the order of the table, then the settings.
 */
PG_FUNCTION_INFO_V1(fastclust_option_help);
Datum
fastclust_option_help(PG_FUNCTION_ARGS)
{
	option_user function = function_argument(fcinfo, 0);

	fastclust_begin_rows(fcinfo);
	put_help(fcinfo, training_options, lengthof(training_options), function);
	put_help(fcinfo, settings, lengthof(settings), function);
	return (Datum) 0;
}

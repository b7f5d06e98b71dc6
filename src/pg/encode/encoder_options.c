/*
 * encoder_options.c - the options of encoder_agg, for all columns or for each
 * column by its name
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "pg/encode/encode.h"

/*
 * Default for the number of categories of a column. With more categories,
 * rarer values are distinguished, in more dimensions. A guess.
 */
#define DEFAULT_CATEGORIES	32

#define EXAMPLE_PATHS	"[\"key\", \"key.of.an.object\"]"

typedef enum transform_kind
{
	TRANSFORM_STANDARD,
	TRANSFORM_ROBUST,
	TRANSFORM_LOG,
	TRANSFORM_NONE,
	TRANSFORM_CYCLIC
} transform_kind;

static const named_value transforms[] = {
	{"standard", TRANSFORM_STANDARD},
	{"robust", TRANSFORM_ROBUST},
	{"log", TRANSFORM_LOG},
	{"none", TRANSFORM_NONE},
	{"cyclic", TRANSFORM_CYCLIC}
};
static const named_value cycles[] = {
	{"day", FC_CYCLE_DAY},
	{"week", FC_CYCLE_WEEK},
	{"year", FC_CYCLE_YEAR}
};
const named_value null_policies[FC_NULLS_POLICIES] = {
	{"impute", FC_NULLS_IMPUTE},
	{"skip", FC_NULLS_SKIP},
	{"error", FC_NULLS_ERROR}
};

/*
 * An option that may be an object with a value for each column. `set` stores a
 * value in the features first .. last - 1 of its column. If `set` is NULL,
 * only the names of the columns are checked.
 */
typedef struct named_option
{
	const char *option;
	void		(*set) (encoder_options *options, Size first, Size last,
						const JsonbValue *value);
} named_option;

static const char *
word_of(const char *option, const JsonbValue *value)
{
	if (value->type != jbvString)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"%s\" must have a string for each column",
					   option));
	return pnstrdup(value->val.string.val, (Size) value->val.string.len);
}

/* ---- values for one column ---- */

static void
set_transform(feature_options *feature, transform_kind wanted, bool by_name)
{
	feature->log = wanted == TRANSFORM_LOG;
	feature->log_by_name = by_name && wanted == TRANSFORM_LOG;
	feature->robust_by_name = by_name && wanted == TRANSFORM_ROBUST;
	feature->cyclic = wanted == TRANSFORM_CYCLIC;
	if (wanted == TRANSFORM_STANDARD || wanted == TRANSFORM_CYCLIC)
		feature->scaling = FC_SCALING_STANDARD;
	else if (wanted == TRANSFORM_ROBUST)
		feature->scaling = FC_SCALING_ROBUST;
	else if (wanted == TRANSFORM_NONE)
		feature->scaling = FC_SCALING_NONE;
}

static void
set_transform_of(encoder_options *options, Size first, Size last,
				 const JsonbValue *value)
{
	int			wanted = choice_of_name("option \"transform\":",
										word_of("transform", value), transforms,
										lengthof(transforms));

	for (Size i = first; i < last; i++)
		set_transform(&options->feature[i], (transform_kind) wanted, true);
}

/* Sets the cycle of a column, and its period unless its cycle has one. */
static void
set_cycle(encoder_options *options, Size first, Size last, fc_cycle cycle, double period)
{
	const char *option = cycle == FC_CYCLE_PERIOD ? "period" : "cyclic";

	for (Size i = first; i < last; i++)
	{
		feature_options *feature = &options->feature[i];

		if (feature->cycle != FC_CYCLE_NONE || feature->log_by_name || feature->robust_by_name)
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("option \"%s\" and option \"%s\" exclude each other for column \"%s\"",
						   option, feature->cycle != FC_CYCLE_NONE ? "cyclic" : "transform",
						   feature->name),
					errhint("Leave one out. A model keeps its options when it is retrained; null"
							" removes one: %s.",
							options_for_both(column_option(option, feature->name, "null"))));
		set_transform(feature, TRANSFORM_CYCLIC, true);
		feature->cycle = cycle;
		feature->period = period;
	}
}

static void
set_cyclic_of(encoder_options *options, Size first, Size last,
			  const JsonbValue *value)
{
	int			cycle = choice_of_name("option \"cyclic\":", word_of("cyclic", value),
									   cycles, lengthof(cycles));

	set_cycle(options, first, last, (fc_cycle) cycle, 0);
}

/* Returns the number that an option has for a column. */
static double
number_of_option(const char *option, const char *column, const JsonbValue *value)
{
	if (value->type != jbvNumeric)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"%s\" must have a number for column \"%s\"",
					   option, column));
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
											  NumericGetDatum(value->val.numeric)));
}

static void
set_period_of(encoder_options *options, Size first, Size last,
			  const JsonbValue *value)
{
	const char *column = options->feature[first].name;
	double		period = number_of_option("period", column, value);

	if (!(period > 0 && isfinite(period)))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"period\" is %.15g for column \"%s\", out of range",
					   period, column),
				errdetail("A period is positive and finite."));
	set_cycle(options, first, last, FC_CYCLE_PERIOD, period);
}

static void
set_nulls_of(encoder_options *options, Size first, Size last,
			 const JsonbValue *value)
{
	int			wanted = choice_of_name("option \"nulls\":", word_of("nulls", value),
										null_policies, FC_NULLS_POLICIES);

	for (Size i = first; i < last; i++)
		options->feature[i].nulls = (fc_nulls) wanted;
}

static void
set_weight_of(encoder_options *options, Size first, Size last,
			  const JsonbValue *value)
{
	double		weight = number_of_option("weight", options->feature[first].name, value);

	if (!(weight >= FC_MIN_COLUMN_WEIGHT && weight <= FC_MAX_COLUMN_WEIGHT))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"weight\" is %.15g for column \"%s\", out of range",
					   weight, options->feature[first].name),
				errdetail("Valid values are from %g to %g.", FC_MIN_COLUMN_WEIGHT,
						  FC_MAX_COLUMN_WEIGHT));
	for (Size i = first; i < last; i++)
		options->feature[i].weight = weight;
}

static const named_option by_name[] = {
	{"transform", set_transform_of},
	{"cyclic", set_cyclic_of},
	{"period", set_period_of},
	{"nulls", set_nulls_of},
	{"weight", set_weight_of}
};

/* ---- columns named in options ---- */

/* Returns the index of the column that a key names, or raises an error. */
static int
column_of_key(const char *option, const JsonbValue *key,
			  const char *const *names, int count)
{
	const char *given = key->val.string.val;
	int			length = key->val.string.len;

	for (int i = 0; i < count; i++)
		if (strlen(names[i]) == (Size) length &&
			memcmp(names[i], given, (Size) length) == 0)
			return i;
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("option \"%s\" names \"%.*s\", which is not among the columns",
				   option, pg_mbcliplen(given, length, NAMEDATALEN), given),
			errhint("%s", name_hint(given, length, names, count, "Columns are")));
	return -1;
}

/* Returns the value of an option if it is an object, else NULL. */
static JsonbContainer *
object_of(Jsonb *options, const char *option)
{
	JsonbValue *found = options != NULL ? value_of_key(options, option) : NULL;

	return found != NULL && found->type == jbvBinary &&
		JsonContainerIsObject(found->val.binary.data)
		? found->val.binary.data
		: NULL;
}

static void
set_by_name(encoder_options *options, const named_option *named, Jsonb *given,
			const char *const *names, int count, const Size *first)
{
	JsonbContainer *object = object_of(given, named->option);
	JsonbIterator *iterator = object != NULL ? JsonbIteratorInit(object) : NULL;
	JsonbValue	key;
	JsonbValue	value;
	JsonbIteratorToken token;

	if (iterator == NULL)
		return;
	(void) JsonbIteratorNext(&iterator, &key, true);
	while ((token = JsonbIteratorNext(&iterator, &key, true)) == WJB_KEY)
	{
		int			column = column_of_key(named->option, &key, names, count);

		(void) JsonbIteratorNext(&iterator, &value, true);
		if (named->set != NULL && value.type != jbvNull)
			named->set(options, first[column], first[column + 1], &value);
	}
}

/* ---- paths ---- */

/*
 * Returns the list of paths of a column, or NULL if there is none. set_by_name
 * has checked the names of the columns.
 */
static JsonbContainer *
paths_of(JsonbContainer *object, const char *name)
{
	JsonbValue	found;

	if (object == NULL ||
		getKeyJsonValueFromContainer(object, name, (int) strlen(name),
									 &found) == NULL)
		return NULL;
	if (found.type != jbvBinary ||
		!JsonContainerIsArray(found.val.binary.data) ||
		JsonContainerSize(found.val.binary.data) == 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"paths\" must have a list of paths for column \"%s\"",
					   name),
				errhint("For example: %s.",
						options_for_both(column_option("paths", name,
													   EXAMPLE_PATHS))));
	return found.val.binary.data;
}

static char *
path_at(const char *name, JsonbContainer *paths, uint32 i)
{
	JsonbValue *value = getIthJsonbValueFromContainer(paths, i);

	if (value->type != jbvString || value->val.string.len == 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("a path of column \"%s\" is not a string, or is empty",
					   name));
	return pnstrdup(value->val.string.val, (Size) value->val.string.len);
}

/*
 * Makes a feature for each path of a column with paths, and one feature for
 * every other column. first (count + 1 values) receives the index of the first
 * feature of each column, then the number of features.
 */
static void
list_features(encoder_options *options, Jsonb *given, const char *const *names,
			  int count, Size *first)
{
	static const named_option paths_option = {"paths"};
	JsonbContainer *object = object_of(given, "paths");
	Size		n = 0;

	set_by_name(options, &paths_option, given, names, count, first);
	for (int i = 0; i < count; i++)
	{
		JsonbContainer *paths = paths_of(object, names[i]);

		first[i] = n;
		n += paths == NULL ? 1 : JsonContainerSize(paths);
	}
	first[count] = options->features = n;
	if (n > FC_MAX_FEATURES)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("there are %zu features, but an encoder can have at most %d",
					   n, FC_MAX_FEATURES));
	options->feature = palloc0(n * sizeof(feature_options));
	for (int i = 0; i < count; i++)
		for (Size j = first[i]; j < first[i + 1]; j++)
		{
			JsonbContainer *paths = paths_of(object, names[i]);

			options->feature[j].name = names[i];
			options->feature[j].path = paths == NULL
				? NULL
				: path_at(names[i], paths,
						  (uint32) (j - first[i]));
		}
	for (Size i = 1; i < options->features; i++)
		for (Size j = i;
			 j-- > 0 && options->feature[j].name == options->feature[i].name;)
			if (strcmp(options->feature[j].path, options->feature[i].path) == 0)
				ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("path \"%s\" of column \"%s\" is named twice",
							   options->feature[i].path,
							   options->feature[i].name));
}

encoder_options
read_encoder_options(const char *const *names, int count, Jsonb *given)
{
	encoder_options options = {.max_categories = DEFAULT_CATEGORIES};
	int			standardize = -1;
	bool		standard = false;
	char	   *all_transform = NULL;
	char	   *all_nulls = "impute";
	const option known[] = {
		{"categories", OPTION_INT, &options.max_categories, 1, FC_MAX_ENCODED},
		{"cyclic", OPTION_OBJECT, NULL, 0, 0},
		{"nulls", OPTION_TEXT_OR_OBJECT, &all_nulls, 0, 0},
		{"paths", OPTION_OBJECT, NULL, 0, 0},
		{"period", OPTION_OBJECT, NULL, 0, 0},
		{"standardize", OPTION_BOOL, &standard, 0, 0},
		{"transform", OPTION_TEXT_OR_OBJECT, &all_transform, 0, 0},
		{"weight", OPTION_OBJECT, NULL, 0, 0},
		{"zone", OPTION_TEXT, &options.zone, 0, 0}
	};
	Size	   *first = palloc(((Size) count + 1) * sizeof(Size));
	JsonbValue *found;
	int			nulls;

	if (given != NULL)
	{
		read_options(given, known, lengthof(known));
		found = value_of_key(given, "standardize");
		if (found != NULL && found->type == jbvBool)
			standardize = standard;
	}
	nulls = choice_of_name("option \"nulls\":", all_nulls, null_policies,
						   FC_NULLS_POLICIES);
	if (all_transform != NULL && strcmp(all_transform, "cyclic") == 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"transform\": \"cyclic\" is for single columns"),
				errhint("Name them: %s.",
						options_for_both(column_option("transform", names[0], "\"cyclic\""))));
	if (options.zone != NULL && object_of(given, "cyclic") == NULL)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"zone\" needs option \"cyclic\""));
	if (options.zone != NULL)
		(void) named_zone(options.zone, NULL);
	list_features(&options, given, names, count, first);
	for (Size i = 0; i < options.features; i++)
	{
		feature_options *feature = &options.feature[i];

		feature->scaling = standardize < 0 ? FC_SCALING_DEFAULT
			: standardize ? FC_SCALING_STANDARD
			: FC_SCALING_NONE;
		feature->weight = 1.0;
		feature->nulls = (fc_nulls) nulls;
		if (all_transform != NULL)
			set_transform(feature,
						  (transform_kind)
						  choice_of_name("option \"transform\":",
										 all_transform, transforms,
										 lengthof(transforms)),
						  false);
	}
	for (Size i = 0; given != NULL && i < lengthof(by_name); i++)
		set_by_name(&options, &by_name[i], given, names, count, first);
	return options;
}

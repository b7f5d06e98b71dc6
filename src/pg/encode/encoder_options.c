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
 * value in a feature of the column. If `set` is NULL, only the names of the
 * columns are checked.
 */
typedef struct named_option
{
	const char *option;
	void		(*set) (feature_options *feature, const JsonbValue *value);
} named_option;

/* Returns the value of the choice that an option names for a column. */
static int
choice_of_option(const char *option, const JsonbValue *value,
				 const named_value *choices, int count)
{
	if (value->type != jbvString)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"%s\" must have a string for each column",
					   option));
	return choice_of_name(psprintf("option \"%s\":", option),
						  pnstrdup(value->val.string.val, (Size) value->val.string.len),
						  choices, count);
}

/* ---- values for one column ---- */

static void
set_transform(feature_options *feature, transform_kind wanted, bool by_name)
{
	feature->transform = wanted;
	feature->by_name = by_name;
	if (wanted == TRANSFORM_STANDARD || wanted == TRANSFORM_CYCLIC)
		feature->scaling = FC_SCALING_STANDARD;
	else if (wanted == TRANSFORM_ROBUST)
		feature->scaling = FC_SCALING_ROBUST;
	else if (wanted == TRANSFORM_NONE)
		feature->scaling = FC_SCALING_NONE;
}

static void
set_transform_of(feature_options *feature, const JsonbValue *value)
{
	set_transform(feature,
				  (transform_kind) choice_of_option("transform", value, transforms,
													lengthof(transforms)),
				  true);
}

/* Sets the cycle of a feature. `period` is used only with FC_CYCLE_PERIOD. */
static void
set_cycle(feature_options *feature, fc_cycle cycle, double period)
{
	const char *option = cycle == FC_CYCLE_PERIOD ? "period" : "cyclic";

	if (feature->cycle != FC_CYCLE_NONE ||
		(feature->by_name &&
		 (feature->transform == TRANSFORM_LOG || feature->transform == TRANSFORM_ROBUST)))
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

static void
set_cyclic_of(feature_options *feature, const JsonbValue *value)
{
	set_cycle(feature, (fc_cycle) choice_of_option("cyclic", value, cycles, lengthof(cycles)), 0);
}

/* Returns the number that an option gives for a column. */
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
set_period_of(feature_options *feature, const JsonbValue *value)
{
	double		period = number_of_option("period", feature->name, value);

	if (!(period > 0 && isfinite(period)))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"period\" is %.15g for column \"%s\", out of range",
					   period, feature->name),
				errdetail("A period is positive and finite."));
	set_cycle(feature, FC_CYCLE_PERIOD, period);
}

static void
set_nulls_of(feature_options *feature, const JsonbValue *value)
{
	feature->nulls = (fc_nulls) choice_of_option("nulls", value, null_policies, FC_NULLS_POLICIES);
}

static void
set_weight_of(feature_options *feature, const JsonbValue *value)
{
	feature->weight = number_of_option("weight", feature->name, value);
	if (!(feature->weight >= FC_MIN_COLUMN_WEIGHT && feature->weight <= FC_MAX_COLUMN_WEIGHT))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"weight\" is %.15g for column \"%s\", out of range",
					   feature->weight, feature->name),
				errdetail("Valid values are from %g to %g.", FC_MIN_COLUMN_WEIGHT,
						  FC_MAX_COLUMN_WEIGHT));
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
			const char *const *names, int count)
{
	JsonbContainer *object = object_of(given, named->option);
	JsonbIterator *iterator;
	JsonbValue	key;
	JsonbValue	value;

	if (object == NULL)
		return;
	iterator = JsonbIteratorInit(object);
	(void) JsonbIteratorNext(&iterator, &key, true);
	while (JsonbIteratorNext(&iterator, &key, true) == WJB_KEY)
	{
		int			column = column_of_key(named->option, &key, names, count);

		(void) JsonbIteratorNext(&iterator, &value, true);
		for (Size i = 0; named->set != NULL && i < options->features; i++)
			if (options->feature[i].column == column && value.type != jbvNull)
				named->set(&options->feature[i], &value);
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
 * every other column.
 */
static void
list_features(encoder_options *options, Jsonb *given, const char *const *names,
			  int count)
{
	static const named_option paths_option = {"paths"};
	JsonbContainer *object = object_of(given, "paths");
	feature_options *feature;

	set_by_name(options, &paths_option, given, names, count);
	for (int i = 0; i < count; i++)
	{
		JsonbContainer *paths = paths_of(object, names[i]);

		options->features += paths == NULL ? 1 : JsonContainerSize(paths);
	}
	if (options->features > FC_MAX_FEATURES)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("there are %zu features, but an encoder can have at most %d",
					   options->features, FC_MAX_FEATURES));
	feature = options->feature = palloc0(options->features * sizeof(feature_options));
	for (int i = 0; i < count; i++)
	{
		JsonbContainer *paths = paths_of(object, names[i]);
		feature_options *first = feature;

		do
		{
			feature->column = i;
			feature->name = names[i];
			if (paths != NULL)
				feature->path = path_at(names[i], paths, (uint32) (feature - first));
			for (feature_options *other = first; other < feature; other++)
				if (strcmp(other->path, feature->path) == 0)
					ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("path \"%s\" of column \"%s\" is named twice",
								   feature->path, feature->name));
			feature++;
		} while (paths != NULL && feature - first < JsonContainerSize(paths));
	}
}

encoder_options
read_encoder_options(const char *const *names, int count, Jsonb *given)
{
	encoder_options options = {.max_categories = DEFAULT_CATEGORIES};
	bool		standard = false;
	char	   *all_transform = NULL;
	char	   *all_nulls = "impute";
	const option known[] = {
		{"categories", OPTION_INT, &options.max_categories, 1, FC_MAX_ENCODED},
		{"cyclic", OPTION_OBJECT},
		{"nulls", OPTION_TEXT_OR_OBJECT, &all_nulls},
		{"paths", OPTION_OBJECT},
		{"period", OPTION_OBJECT},
		{"standardize", OPTION_BOOL, &standard},
		{"transform", OPTION_TEXT_OR_OBJECT, &all_transform},
		{"weight", OPTION_OBJECT},
		{"zone", OPTION_TEXT, &options.zone}
	};
	fc_scaling	scaling = FC_SCALING_DEFAULT;
	JsonbValue *found;
	int			nulls;

	if (given != NULL)
	{
		read_options(given, known, lengthof(known));
		found = value_of_key(given, "standardize");
		if (found != NULL && found->type == jbvBool)
			scaling = standard ? FC_SCALING_STANDARD : FC_SCALING_NONE;
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
	list_features(&options, given, names, count);
	for (Size i = 0; i < options.features; i++)
	{
		feature_options *feature = &options.feature[i];

		feature->scaling = scaling;
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
	for (Size i = 0; i < lengthof(by_name); i++)
		set_by_name(&options, &by_name[i], given, names, count);
	return options;
}

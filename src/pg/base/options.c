/* options.c - reads options that are given as a jsonb object; see options.h */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/json.h"
#include "utils/numeric.h"
#include "utils/varlena.h"

#include "pg/base/arguments.h"
#include "pg/base/memory.h"
#include "pg/base/options.h"

/* ---- errors ---- */

/*
 * Maximum number of letters in which a given name may differ from the name
 * that a hint proposes.
 */
#define MAX_WRONG(length)	(1 + (length) / 4)

/*
 * Maximum number of names in a hint: enough for all options of a function, not
 * for all columns of a wide table. A guess.
 */
#define MAX_HINT_NAMES	80

/*
 * Names of options and methods in other libraries, each followed by
 * fastclust's name for the same thing.
 */
static const char *const other_names[][2] = {
	{"eps", "scale"},
	{"min_samples", "min_cluster_rows"},
	{"min_cluster_size", "min_cluster_rows"},
	{"dbscan", "density"},
	{"hdbscan", "density"}
};

/*
 * Returns fastclust's name for `given`, a name in another library. Returns
 * NULL if no such name is known, or if it is not one of `names`.
 */
static const char *
name_of_other_library(const char *given, int length, const char *const *names, int count)
{
	for (Size i = 0; i < lengthof(other_names); i++)
		if (strlen(other_names[i][0]) == (Size) length &&
			pg_strncasecmp(other_names[i][0], given, (Size) length) == 0)
			for (int j = 0; j < count; j++)
				if (strcmp(names[j], other_names[i][1]) == 0)
					return names[j];
	return NULL;
}

char *
name_hint(const char *given, int length, const char *const *names, int count,
		  const char *what)
{
	StringInfoData hint;
	const char *meant = name_of_other_library(given, length, names, count);
	int			min = meant != NULL ? 0 : MAX_WRONG(length) + 1;

	initStringInfo(&hint);
	for (int i = 0; min > 0 && i < count && length <= NAMEDATALEN; i++)
	{
		int			wrong = varstr_levenshtein_less_equal(given, length, names[i],
														  (int) strlen(names[i]), 1, 1,
														  1, min - 1, true);

		if (wrong < min && wrong < length)
		{
			meant = names[i];
			min = wrong;
		}
	}
	if (meant != NULL)
		appendStringInfo(&hint, "Perhaps you meant \"%s\". ", meant);
	appendStringInfo(&hint, "%s ", what);
	for (int i = 0; i < count && i < MAX_HINT_NAMES; i++)
		appendStringInfo(&hint, "%s%s", i > 0 ? ", " : "", names[i]);
	if (count > MAX_HINT_NAMES)
		appendStringInfo(&hint, " and %d more", count - MAX_HINT_NAMES);
	appendStringInfoChar(&hint, '.');
	return hint.data;
}

static double
float_of(const JsonbValue *value)
{
	return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
											  NumericGetDatum(value->val.numeric)));
}

/*
 * Returns a value as text for an error message. A string is cut to NAMEDATALEN
 * bytes.
 */
static const char *
value_text(const JsonbValue *value)
{
	switch (value->type)
	{
		case jbvString:
			return psprintf("\"%.*s\"",
							pg_mbcliplen(value->val.string.val,
										 value->val.string.len, NAMEDATALEN),
							value->val.string.val);
		case jbvNumeric:
			return psprintf("%.15g", float_of(value));
		case jbvBool:
			return value->val.boolean ? "true" : "false";
		default:
			return "a list or an object";
	}
}

static const char *const wanted[] = {
	[OPTION_INT] = "a whole number",
	[OPTION_WHOLE] = "a whole number",
	[OPTION_FLOAT] = "a number",
	[OPTION_SEED] = "a whole number",
	[OPTION_BOOL] = "true or false",
	[OPTION_TEXT] = "a string",
	[OPTION_FLOATS] = "a list of numbers",
	[OPTION_NAMES] = "a name or a list of names",
	[OPTION_COUNT_OR_EXACT] = "a whole number or \"exact\"",
	[OPTION_TEXT_OR_ROWS] = "a string or a list of lists of numbers",
	[OPTION_TEXT_OR_OBJECT] = "a string or an object",
	[OPTION_BOOL_OR_OBJECT] = "true, false or an object",
	[OPTION_OBJECT] = "an object"
};

static void
reject(const option *opt, const char *found)
{
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("option \"%s\" must be %s, not %s", opt->name,
				   wanted[opt->kind], found));
}

static void
require_type(const option *opt, const JsonbValue *value, enum jbvType type)
{
	if (value->type != type)
		reject(opt, value_text(value));
}

static void
reject_rows(const option *opt, const char *rows)
{
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("option \"%s\" must be a list of lists of numbers%s",
				   opt->name, rows));
}

/* ---- named values ---- */

int
choice_of_name(const char *what, const char *name, const named_value *choices,
			   int count)
{
	const char **names = palloc((Size) Max(count, 1) * sizeof(char *));

	for (int i = 0; i < count; i++)
	{
		if (strcmp(choices[i].name, name) == 0)
			return choices[i].value;
		names[i] = choices[i].name;
	}
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("%s \"%s\" is not known", what, name),
			errhint("%s", name_hint(name, (int) strlen(name), names, count,
									"Valid values are")));
	return 0;
}

const char *
name_of_choice(int value, const named_value *choices, int count)
{
	for (int i = 0; i < count; i++)
		if (choices[i].value == value)
			return choices[i].name;
	return "unknown";
}

/* ---- values ---- */

static double
number_of(const option *opt, const JsonbValue *value)
{
	double		number;

	require_type(opt, value, jbvNumeric);
	number = float_of(value);
	if (!(number >= opt->lower && number <= opt->upper))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"%s\" is %.15g, out of range", opt->name,
					   number),
				errdetail("Valid values are from %.15g to %.15g.", opt->lower,
						  opt->upper));
	return number;
}

static double
whole_number_of(const option *opt, const JsonbValue *value)
{
	double		number = number_of(opt, value);

	if (number != floor(number))
		reject(opt, value_text(value));
	return number;
}

/* Returns a seed, which may be any integer of 64 bits. */
static uint64
seed_of(const option *opt, const JsonbValue *value)
{
	Datum		exact;
	Datum		lowest;
	Datum		highest;
	double		number;

	require_type(opt, value, jbvNumeric);
	number = float_of(value);
	if (number != floor(number))
		reject(opt, value_text(value));
	exact = NumericGetDatum(value->val.numeric);
	lowest = DirectFunctionCall1(int8_numeric, Int64GetDatum(PG_INT64_MIN));
	highest = DirectFunctionCall1(int8_numeric, Int64GetDatum(PG_INT64_MAX));
	if (DatumGetBool(DirectFunctionCall2(numeric_gt, exact, highest)) ||
		DatumGetBool(DirectFunctionCall2(numeric_lt, exact, lowest)))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"%s\" is %.15g, out of range", opt->name,
					   number),
				errdetail("Valid values are from -2^63 to 2^63 - 1."));
	return (uint64) DatumGetInt64(DirectFunctionCall1(numeric_int8, exact));
}

static char *
string_of(const option *opt, const JsonbValue *value)
{
	require_type(opt, value, jbvString);
	return pnstrdup(value->val.string.val, (Size) value->val.string.len);
}

/* Sets an option to a scalar. */
static void
set_option(const option *opt, const JsonbValue *value)
{
	switch (opt->kind)
	{
		case OPTION_INT:
			*(int *) opt->value = (int) whole_number_of(opt, value);
			break;
		case OPTION_WHOLE:
			*(double *) opt->value = whole_number_of(opt, value);
			break;
		case OPTION_FLOAT:
			*(double *) opt->value = number_of(opt, value);
			break;
		case OPTION_SEED:
			*(uint64 *) opt->value = seed_of(opt, value);
			break;
		case OPTION_BOOL:
			require_type(opt, value, jbvBool);
			*(bool *) opt->value = value->val.boolean;
			break;
		case OPTION_TEXT:
		case OPTION_TEXT_OR_OBJECT:
			*(char **) opt->value = string_of(opt, value);
			break;
		case OPTION_COUNT_OR_EXACT:
			*(uint32 *) opt->value = value->type == jbvString &&
				strcmp(string_of(opt, value),
					   "exact") == 0
				? OPTION_EXACT
				: (uint32) whole_number_of(opt, value);
			break;
		case OPTION_TEXT_OR_ROWS:
			((text_or_rows *) opt->value)->text = string_of(opt, value);
			break;
		case OPTION_NAMES:
			require_type(opt, value, jbvString);
			break;
		case OPTION_BOOL_OR_OBJECT:
			require_type(opt, value, jbvBool);
			break;
		case OPTION_FLOATS:
		case OPTION_OBJECT:
			reject(opt, value_text(value));
			break;
	}
}

/*
 * Reads a list of `count` lists of numbers, all of the same length. The
 * iterator must be just after the outer WJB_BEGIN_ARRAY.
 */
static void
set_rows(const option *opt, JsonbIterator **iterator, int count)
{
	text_or_rows *matrix = opt->value;
	JsonbValue	value;

	matrix->rows = 0;
	while (JsonbIteratorNext(iterator, &value, false) == WJB_BEGIN_ARRAY)
	{
		int			columns = value.val.array.nElems;

		if (value.val.array.rawScalar || columns == 0 ||
			(matrix->rows > 0 && columns != matrix->columns))
			reject_rows(opt, ", all of one length");
		if (matrix->rows == 0)
			matrix->values = alloc_large((Size) count * (Size) columns *
										 sizeof(double));
		matrix->columns = columns;
		for (int i = 0; i < columns; i++)
		{
			if (JsonbIteratorNext(iterator, &value, true) != WJB_ELEM)
				reject_rows(opt, "");
			matrix->values[(Size) matrix->rows * (Size) columns +
						   (Size) i] = number_of(opt, &value);
		}
		if (JsonbIteratorNext(iterator, &value, true) != WJB_END_ARRAY)
			reject_rows(opt, "");
		matrix->rows++;
	}
	if (matrix->rows != count || count == 0)
		reject(opt, "another list");
}

/*
 * Reads a list of `count` elements. The iterator must be just after
 * WJB_BEGIN_ARRAY.
 */
static void
set_list(const option *opt, JsonbIterator **iterator, int count)
{
	float_list	checked;		/* result for an option that is checked here
								 * but read by SQL */
	float_list *list = opt->value != NULL ? opt->value : &checked;
	JsonbValue	value;

	if (opt->kind == OPTION_TEXT_OR_ROWS)
	{
		set_rows(opt, iterator, count);
		return;
	}
	if (opt->kind == OPTION_NAMES)
	{
		while (JsonbIteratorNext(iterator, &value, true) == WJB_ELEM)
			require_type(opt, &value, jbvString);
		return;
	}
	if (opt->kind != OPTION_FLOATS)
		reject(opt, "a list");
	list->values = palloc((Size) Max(count, 1) * sizeof(double));
	list->count = 0;
	while (JsonbIteratorNext(iterator, &value, true) == WJB_ELEM)
		list->values[list->count++] = number_of(opt, &value);
}

/* Skips an object. The iterator must be just after WJB_BEGIN_OBJECT. */
static void
skip_object(const option *opt, JsonbIterator **iterator)
{
	JsonbIteratorToken token;
	JsonbValue	value;

	if (opt->kind != OPTION_OBJECT && opt->kind != OPTION_TEXT_OR_OBJECT &&
		opt->kind != OPTION_BOOL_OR_OBJECT)
		reject(opt, "an object");
	do
		token = JsonbIteratorNext(iterator, &value, true);
	while (token != WJB_END_OBJECT);
}

static const option *
option_of_key(const JsonbValue *key, const option *known, int count)
{
	const char **names;

	for (int i = 0; i < count; i++)
		if (strlen(known[i].name) == (Size) key->val.string.len &&
			memcmp(known[i].name, key->val.string.val,
				   (Size) key->val.string.len) == 0)
			return &known[i];
	names = palloc((Size) Max(count, 1) * sizeof(char *));
	for (int i = 0; i < count; i++)
		names[i] = known[i].name;
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("option \"%.*s\" is not known", key->val.string.len,
				   key->val.string.val),
			errhint("%s", name_hint(key->val.string.val, key->val.string.len,
									names, count, "Options are")));
	return NULL;
}

JsonbValue *
value_of_key(const Jsonb *options, const char *name)
{
	JsonbValue	key = {
		.type = jbvString,
		.val.string = {(int) strlen(name), (char *) name}
	};

	if (!JB_ROOT_IS_OBJECT(options))
		return NULL;
	return findJsonbValueFromContainer((JsonbContainer *) &options->root,
									   JB_FOBJECT, &key);
}

void
read_options(Jsonb *options, const option *known, int count)
{
	JsonbIterator *iterator;
	JsonbValue	value;
	JsonbIteratorToken token;
	option		current = {0};
	union
	{
		float_list	list;
		text_or_rows matrix;
		uint64		scalar;
	}			unused;

	if (!JB_ROOT_IS_OBJECT(options))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("options must be a JSON object"));
	iterator = JsonbIteratorInit(&options->root);
	(void) JsonbIteratorNext(&iterator, &value, false);
	while ((token = JsonbIteratorNext(&iterator, &value, false)) !=
		   WJB_END_OBJECT)
	{
		if (token == WJB_KEY)
		{
			current = *option_of_key(&value, known, count);
			if (current.value == NULL)
				current.value = &unused;
		}
		else if (token == WJB_VALUE && value.type != jbvNull)
			set_option(&current, &value);
		else if (token == WJB_BEGIN_ARRAY)
			set_list(&current, &iterator, value.val.array.nElems);
		else if (token == WJB_BEGIN_OBJECT)
			skip_object(&current, &iterator);
	}
}

void
put_option_help(FunctionCallInfo fcinfo, const option *known,
				const char *within)
{
	static const char *const types[] = {
		[OPTION_INT] = "whole number",
		[OPTION_WHOLE] = "whole number",
		[OPTION_FLOAT] = "number",
		[OPTION_SEED] = "whole number",
		[OPTION_BOOL] = "true or false",
		[OPTION_TEXT] = "text",
		[OPTION_FLOATS] = "list of numbers",
		[OPTION_NAMES] = "name or list of names",
		[OPTION_COUNT_OR_EXACT] = "whole number or \"exact\"",
		[OPTION_TEXT_OR_ROWS] = "text or list of lists",
		[OPTION_TEXT_OR_OBJECT] = "text or object",
		[OPTION_BOOL_OR_OBJECT] = "true, false or object",
		[OPTION_OBJECT] = "object"
	};
	bool		bounded = known->lower < known->upper;
	char	   *range = psprintf("%.15g to %.15g", known->lower, known->upper);
	Datum		values[5] = {
		CStringGetTextDatum(within == NULL ? known->name : psprintf("%s.%s", within, known->name)),
		CStringGetTextDatum(types[known->kind]),
		bounded ? CStringGetTextDatum(range) : (Datum) 0,
		known->initial != NULL ? CStringGetTextDatum(known->initial) : (Datum) 0,
		CStringGetTextDatum(known->meaning)
	};
	bool		nulls[5] = {false, false, !bounded, known->initial == NULL, false};

	put_row(fcinfo, values, nulls);
}

/*
 * Takes (given, names, what). Returns a hint about an unknown name: the most
 * similar name, if one is similar, then `what` and the list of all names.
 */
PG_FUNCTION_INFO_V1(fastclust_name_hint);
Datum
fastclust_name_hint(PG_FUNCTION_ARGS)
{
	char	   *given = text_to_cstring(PG_GETARG_TEXT_PP(0));
	Datum	   *elements;
	bool	   *nulls;
	int			count;
	const char **names;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false,
					  TYPALIGN_INT, &elements, &nulls, &count);
	names = palloc((Size) Max(count, 1) * sizeof(char *));
	for (int i = 0; i < count; i++)
		names[i] = nulls[i] ? "" : TextDatumGetCString(elements[i]);
	return CStringGetTextDatum(name_hint(given, (int) strlen(given), names, count,
										 text_to_cstring(PG_GETARG_TEXT_PP(2))));
}

char *
column_option(const char *option, const char *column, const char *value)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfo(&json, "{\"encoder\": {\"%s\": {", option);
	escape_json(&json, column);
	appendStringInfo(&json, ": %s}}}", value);
	return quote_literal_cstr(json.data);
}

char *
where_option(const char *given, const char *condition)
{
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfoString(&json, "{\"where\": ");
	escape_json(&json, given == NULL ? condition
				: psprintf("(%s) AND %s", given, condition));
	appendStringInfoChar(&json, '}');
	return quote_literal_cstr(json.data);
}

char *
options_for_both(const char *literal)
{
	return psprintf("%s; for encoder_agg, pass only the value of \"encoder\"",
					literal);
}

/* ---- the metric in arguments and options ---- */

/*
 * Returns the metric with this name among the first `count` metrics; FC_EUCLIDEAN
 * for NULL. Raises an error for any other name.
 */
static fc_metric
metric_among(const char *name, int count)
{
	named_value metrics[FC_METRICS];

	for (int metric = 0; metric < count; metric++)
		metrics[metric] = (named_value)
	{
		fc_metric_name((fc_metric) metric),
			metric
	};
	return name != NULL ? (fc_metric) choice_of_name("option \"metric\":", name,
													 metrics, count)
		: FC_EUCLIDEAN;
}

fc_metric
metric_of_options(const char *name)
{
	return metric_among(name, FC_METRICS);
}

fc_metric
metric_with_means(const char *name)
{
	StaticAssertDecl(FC_INNER_PRODUCT == FC_METRICS - 1, "all other metrics have means");
	if (name != NULL && strcmp(name, fc_metric_name(FC_INNER_PRODUCT)) == 0)
		check_metric_has_means(FC_INNER_PRODUCT);
	return metric_among(name, FC_INNER_PRODUCT);
}

fc_metric
metric_among_options(const Jsonb *options)
{
	JsonbValue *metric = (options != NULL ? value_of_key(options, "metric")
						  : NULL);

	return metric_with_means(metric != NULL && metric->type == jbvString
							 ? pnstrdup(metric->val.string.val,
										(Size) metric->val.string.len)
							 : NULL);
}

const double *
metric_row(fc_metric metric, const vector *v, double *scratch)
{
	size_t		d = (size_t) v->d;
	bool		directed;

	if (metric != FC_COSINE)
		return vector_doubles(v, scratch);
	directed = v->floats != NULL ? fc_unit_float_row(v->floats, d, scratch)
		: fc_unit_row(v->doubles, d, scratch);
	return directed ? scratch : NULL;
}

void
check_metric_has_means(fc_metric metric)
{
	if (metric == FC_INNER_PRODUCT)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("metric inner_product can assign rows to clusters, but not find clusters"),
				errdetail("By inner product, the longest centroid would attract all rows."),
				errhint("Find clusters with metric cosine or euclidean, then make an operator of their centroids: fastop_agg(centroid, weight, '{\"metric\": \"inner_product\"}')."));
}

/* options.c - jsonb options: every known option once, every other an error */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "pg/base/options.h"

int
choice_of_name(const char *what, const char *name, const choice *choices, int count)
{
	StringInfoData list;

	for (int i = 0; i < count; i++)
		if (strcmp(choices[i].name, name) == 0)
			return choices[i].value;
	initStringInfo(&list);
	for (int i = 0; i < count; i++)
		appendStringInfo(&list, "%s%s", i > 0 ? ", " : "", choices[i].name);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s \"%s\" is not known", what, name),
			 errhint("It may be one of %s.", list.data)));
	return 0;
}

const char *
name_of_choice(int value, const choice *choices, int count)
{
	for (int i = 0; i < count; i++)
		if (choices[i].value == value)
			return choices[i].name;
	return "unknown";
}

static void
reject_unknown(const JsonbValue *key, const option *known, int count)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < count; i++)
		appendStringInfo(&list, "%s%s", i > 0 ? ", " : "", known[i].name);
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"%.*s\" is not known", key->val.string.len, key->val.string.val),
			 errhint("Options are %s.", list.data)));
}

static void
reject_type(const option *opt, const char *wanted)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("option \"%s\" must be %s", opt->name, wanted)));
}

static double
number_of(const option *opt, const JsonbValue *value)
{
	double		number;

	if (value->type != jbvNumeric)
		reject_type(opt, opt->kind == OPTION_FLOATS ? "a list of numbers" :
					opt->kind == OPTION_TEXT_OR_ROWS ? "a string or a list of lists of numbers" : "a number");
	number = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(value->val.numeric)));
	if (!(number >= opt->lower && number <= opt->upper))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("option \"%s\" is %.15g, out of range", opt->name, number),
				 errdetail("It may be from %.15g to %.15g.", opt->lower, opt->upper)));
	return number;
}

static void
set_option(const option *opt, const JsonbValue *value)
{
	double		number;

	switch (opt->kind)
	{
		case OPTION_INT:
			number = number_of(opt, value);
			if (number != (int) number)
				reject_type(opt, "a whole number");
			*(int *) opt->value = (int) number;
			break;
		case OPTION_FLOAT:
			*(double *) opt->value = number_of(opt, value);
			break;
		case OPTION_SEED:
			if (value->type != jbvNumeric)
				reject_type(opt, "a whole number");
			number = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(value->val.numeric)));
			if (number != floor(number))
				reject_type(opt, "a whole number");
			if (!(fabs(number) <= 0x1p63))
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("option \"%s\" is %.15g, out of range", opt->name, number),
						 errdetail("It may be from -2^63 to 2^63 - 1.")));
			*(uint64 *) opt->value = (uint64) DatumGetInt64(DirectFunctionCall1(numeric_int8,
																				NumericGetDatum(value->val.numeric)));
			break;
		case OPTION_BOOL:
			if (value->type != jbvBool)
				reject_type(opt, "true or false");
			*(bool *) opt->value = value->val.boolean;
			break;
		case OPTION_TEXT:
			if (value->type != jbvString)
				reject_type(opt, "a string");
			*(char **) opt->value = pnstrdup(value->val.string.val, (Size) value->val.string.len);
			break;
		case OPTION_COUNT_OR_EXACT:
			if (value->type == jbvString && value->val.string.len == 5 && memcmp(value->val.string.val, "exact", 5) == 0)
			{
				*(uint32 *) opt->value = OPTION_EXACT;
				break;
			}
			if (value->type != jbvNumeric)
				reject_type(opt, "a whole number or \"exact\"");
			number = number_of(opt, value);
			if (number != floor(number))
				reject_type(opt, "a whole number or \"exact\"");
			*(uint32 *) opt->value = (uint32) number;
			break;
		case OPTION_TEXT_OR_ROWS:
			if (value->type != jbvString)
				reject_type(opt, "a string or a list of lists of numbers");
			((text_or_rows *) opt->value)->text = pnstrdup(value->val.string.val, (Size) value->val.string.len);
			break;
		case OPTION_FLOATS:
			reject_type(opt, "a list of numbers");
	}
}

/* A list of lists of numbers, all of one length: the iterator stands behind the outer WJB_BEGIN_ARRAY. */
static void
set_rows(const option *opt, JsonbIterator **iterator, int count)
{
	text_or_rows *matrix = opt->value;
	JsonbValue	value;

	matrix->rows = 0;
	while (JsonbIteratorNext(iterator, &value, false) == WJB_BEGIN_ARRAY)
	{
		int			columns = value.val.array.nElems;

		if (value.val.array.rawScalar || columns == 0 || (matrix->rows > 0 && columns != matrix->columns))
			reject_type(opt, "a list of lists of numbers, all of one length");
		if (matrix->rows == 0)
			matrix->values = palloc_extended((Size) count * (Size) columns * sizeof(double), MCXT_ALLOC_HUGE);
		matrix->columns = columns;
		for (int i = 0; i < columns; i++)
		{
			if (JsonbIteratorNext(iterator, &value, true) != WJB_ELEM)
				reject_type(opt, "a list of lists of numbers");
			matrix->values[(Size) matrix->rows * (Size) columns + (Size) i] = number_of(opt, &value);
		}
		if (JsonbIteratorNext(iterator, &value, true) != WJB_END_ARRAY)
			reject_type(opt, "a list of lists of numbers");
		matrix->rows++;
	}
	if (matrix->rows != count || count == 0)
		reject_type(opt, "a string or a list of lists of numbers");
}

/* A list of numbers: the iterator stands behind WJB_BEGIN_ARRAY. */
static void
set_list(const option *opt, JsonbIterator **iterator, int count)
{
	float_list *list = opt->value;
	JsonbValue	value;

	if (opt->kind == OPTION_TEXT_OR_ROWS)
	{
		set_rows(opt, iterator, count);
		return;
	}
	if (opt->kind != OPTION_FLOATS)
		reject_type(opt, "a single value, not a list");
	list->values = palloc((Size) Max(count, 1) * sizeof(double));
	list->count = 0;
	while (JsonbIteratorNext(iterator, &value, true) == WJB_ELEM)
		list->values[list->count++] = number_of(opt, &value);
}

void
read_options(Jsonb *options, const option *known, int count)
{
	JsonbIterator *iterator = JsonbIteratorInit(&options->root);
	JsonbValue	value;
	JsonbIteratorToken token;
	const option *current = NULL;

	if (!JB_ROOT_IS_OBJECT(options))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("options must be a JSON object")));
	while ((token = JsonbIteratorNext(&iterator, &value, false)) != WJB_DONE)
	{
		if (token == WJB_KEY)
		{
			current = NULL;
			for (int i = 0; i < count; i++)
				if (strlen(known[i].name) == (Size) value.val.string.len &&
					memcmp(known[i].name, value.val.string.val, (Size) value.val.string.len) == 0)
					current = &known[i];
			if (current == NULL)
				reject_unknown(&value, known, count);
		}
		else if (token == WJB_VALUE && value.type != jbvNull)
			set_option(current, &value);
		else if (token == WJB_BEGIN_ARRAY)
			set_list(current, &iterator, value.val.array.nElems);
		else if (token == WJB_BEGIN_OBJECT && current != NULL)
			reject_type(current, "a single value, not an object");
	}
}

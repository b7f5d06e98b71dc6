/*
 * read_value.c - reads the value of a column of any type into a cell of an
 * encoder; see encode.h
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "parser/parse_coerce.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "pg/encode/encode.h"
#include "pg/encode/installed.h"

/* Number of slots in the cache of labels, a power of two. A guess. */
#define ENUM_LABELS	64

#define SECONDS(time)	((double) (time) / USECS_PER_SEC)

/* ---- types ---- */

typedef struct typed_source
{
	Oid			type;
	value_source source;
	fc_feature_kind kind;
} typed_source;

static const typed_source sources[] = {
	{INT2OID, SOURCE_INT2, FC_FEATURE_NUMBER},
	{INT4OID, SOURCE_INT4, FC_FEATURE_NUMBER},
	{INT8OID, SOURCE_INT8, FC_FEATURE_NUMBER},
	{FLOAT4OID, SOURCE_FLOAT4, FC_FEATURE_NUMBER},
	{FLOAT8OID, SOURCE_FLOAT8, FC_FEATURE_NUMBER},
	{NUMERICOID, SOURCE_NUMERIC, FC_FEATURE_NUMBER},
	{BOOLOID, SOURCE_BOOL, FC_FEATURE_BOOLEAN},
	{DATEOID, SOURCE_DATE, FC_FEATURE_DATE},
	{TIMESTAMPOID, SOURCE_TIMESTAMP, FC_FEATURE_TIMESTAMP},
	{TIMESTAMPTZOID, SOURCE_TIMESTAMPTZ, FC_FEATURE_TIMESTAMP},
	{TIMEOID, SOURCE_TIME, FC_FEATURE_INTERVAL},
	{TIMETZOID, SOURCE_TIMETZ, FC_FEATURE_INTERVAL},
	{INTERVALOID, SOURCE_INTERVAL, FC_FEATURE_INTERVAL},
	{TEXTOID, SOURCE_TEXT, FC_FEATURE_CATEGORY},
	{VARCHAROID, SOURCE_TEXT, FC_FEATURE_CATEGORY},
	{BPCHAROID, SOURCE_BPCHAR, FC_FEATURE_CATEGORY},
	{NAMEOID, SOURCE_NAME, FC_FEATURE_CATEGORY},
	{UNKNOWNOID, SOURCE_LITERAL, FC_FEATURE_CATEGORY},
	{JSONBOID, SOURCE_JSONB, FC_FEATURE_ANY}
};

/*
 * Finds the function that casts one type to another. Returns false if there is
 * no such function, or if the user may not call it.
 */
static bool
has_cast(Oid from, Oid to, CoercionContext context, value_reader *reader)
{
	Oid			function;
	Oid			owner;

	if (find_coercion_pathway(to, from, context, &function) !=
		COERCION_PATH_FUNC ||
		pg_proc_aclcheck(function, GetUserId(), ACL_EXECUTE) != ACLCHECK_OK)
		return false;

	/*
	 * The columns come from an encoder, which may belong to another role. The
	 * user did not write this cast, so it may run only code of the user and
	 * of superusers.
	 */
	owner = function_owner(function);
	if (owner != GetUserId() && !superuser_arg(owner))
		ereport(ERROR, errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				errmsg("%s is of type %s, whose cast belongs to another role",
					   reader->label, format_type_be(reader->type)),
				errhint("Cast the column in a view that you own, or leave out the column."));
	fmgr_info_cxt(function, &reader->cast, reader->context);
	return true;
}

/* Sets the source and the kind of a reader. Returns true. */
static bool
reads(value_reader *reader, value_source source, fc_feature_kind kind)
{
	reader->source = source;
	reader->kind = kind;
	return true;
}

static bool
find_source(Oid type, value_reader *reader)
{
	Oid			unused;

	for (Size i = 0; i < lengthof(sources); i++)
		if (sources[i].type == type)
			return reads(reader, sources[i].source, sources[i].kind);
	if (type_is_enum(type))
	{
		reader->labels = MemoryContextAllocZero(reader->context,
												ENUM_LABELS *
												sizeof(enum_label));
		return reads(reader, SOURCE_ENUM, FC_FEATURE_CATEGORY);
	}
	if (get_typtype(type) == TYPTYPE_BASE &&
		find_coercion_pathway(TEXTOID, type, COERCION_IMPLICIT, &unused) ==
		COERCION_PATH_RELABELTYPE)
		return reads(reader, SOURCE_TEXT, FC_FEATURE_CATEGORY);
	if (is_vector_type(type))
	{
		reader->vectors.form = form_of_type(type);
		return reads(reader, SOURCE_ARRAY, FC_FEATURE_VECTOR);
	}
	if (has_cast(type, FLOAT4ARRAYOID, COERCION_ASSIGNMENT, reader))
		return reads(reader, SOURCE_ARRAY_BY_CAST, FC_FEATURE_VECTOR);
	return has_cast(type, FLOAT8OID, COERCION_ASSIGNMENT, reader) &&
		reads(reader, SOURCE_NUMBER_BY_CAST, FC_FEATURE_NUMBER);
}

/*
 * Types for which no hint proposes a cast to text, because their values hardly
 * ever repeat and so form no categories.
 */
static const Oid without_categories[] = {
	BYTEAOID,
	JSONPATHOID,
	LINEOID,
	LSEGOID,
	OIDVECTOROID,
	INT2VECTOROID,
	PATHOID,
	TSQUERYOID,
	TSVECTOROID,
	XMLOID
};

/*
 * Types of object names, with the catalog of their objects. No hint proposes a
 * cast to text, because the text has a schema only if search_path does not
 * find the object, so that training and prediction could read different texts.
 */
static const struct
{
	Oid			type;
	const char *catalog;
}			object_types[] = {
	{REGCLASSOID, "pg_class"},
	{REGTYPEOID, "pg_type"},
	{REGPROCOID, "pg_proc"},
	{REGPROCEDUREOID, "pg_proc"},
	{REGOPEROID, "pg_operator"},
	{REGOPERATOROID, "pg_operator"},
	{REGCONFIGOID, "pg_ts_config"},
	{REGDICTIONARYOID, "pg_ts_dict"},
	{REGCOLLATIONOID, "pg_collation"}
};

/*
 * Returns true if a function casts one type to the other. For arrays, it may
 * cast each element.
 */
static bool
casts_to(Oid from, Oid to)
{
	Oid			function;
	CoercionPathType path = find_coercion_pathway(to, from, COERCION_EXPLICIT,
												  &function);

	return path == COERCION_PATH_FUNC || path == COERCION_PATH_ARRAYCOERCE;
}

/*
 * Returns the hint about a column whose arrays cannot be read as vectors. The
 * hint is a format for the name of the column.
 */
static const char *
advice_on_array(Oid type)
{
	Oid			element = get_base_element_type(type);

	if (TypeCategory(element) == TYPCATEGORY_STRING)
		return "Cluster a view with (%1$s)::real[] if its texts are numbers, else with columns such as 'some text' = ANY (%1$s), or leave out the column.";
	if (element == BOOLOID)
		return "Cluster a view with (%1$s)::integer[], or leave out the column.";
	if (casts_to(element, NUMERICOID) && element != JSONBOID)
		return "Cluster a view with (%1$s)::numeric[], or leave out the column.";
	return "Cluster a view with a column for each element, such as (%1$s)[1], or leave out the column.";
}

/*
 * Returns the hint about a column of a composite type, with its first field as
 * the example.
 */
static const char *
advice_on_row(Oid type, const char *column)
{
	TupleDesc	fields = lookup_rowtype_tupdesc_copy(type, -1);
	const char *first = NULL;

	for (int i = fields->natts; i-- > 0;)
		if (!TupleDescAttr(fields, i)->attisdropped)
			first = NameStr(TupleDescAttr(fields, i)->attname);
	if (first == NULL)
		return "Leave out the column.";
	return psprintf("Cluster a view with a column for each of its columns, such as (%s).%s, or leave out the column.",
					column, quote_identifier(first));
}

/*
 * Returns the hint about a column of any other type that cannot be a feature,
 * as a format for the name of the column. The casts of the type decide which
 * expressions the hint proposes.
 */
static const char *
advice_on_type(Oid type)
{
	if (type_is_array(type) && OidIsValid(get_base_element_type(type)) &&
		type != OIDVECTOROID && type != INT2VECTOROID)
		return advice_on_array(type);
	if (type_is_range(type))
		return "Cluster a view with lower(%1$s) and upper(%1$s), or leave out the column.";
	if (type == BITOID || type == VARBITOID)
		return "Cluster a view with a column for each bit, such as get_bit(%1$s, 0), or with (%1$s)::text as categories, or leave out the column.";
	if (type == POINTOID)
		return "Cluster a view with (%1$s)[0] and (%1$s)[1], or leave out the column.";
	if (casts_to(type, POINTOID))
		return "Cluster a view with (%1$s::point)[0] and (%1$s::point)[1], or leave out the column.";
	if (casts_to(type, TIMEOID))
		return "Cluster a view with (%1$s)::time, or leave out the column.";
	if (type == JSONOID || casts_to(type, JSONBOID))
		return "Cluster a view with (%1$s)::jsonb, and name paths into it, or leave out the column.";
	if (casts_to(type, NUMERICOID))
		return "Cluster a view with (%1$s)::numeric, or leave out the column.";
	for (Size i = 0; i < lengthof(without_categories); i++)
		if (type == without_categories[i])
			return "Leave out the column.";
	for (Size i = 0; i < lengthof(object_types); i++)
		if (type == object_types[i].type)
			return psprintf("Cluster a view with (pg_identify_object('%s'::regclass, %%1$s, 0)).identity as categories if it has few distinct values, or leave out the column.",
							object_types[i].catalog);
	return "Cluster a view with (%1$s)::text as categories if it has few distinct values, or leave out the column.";
}

/* Returns true if the type is fastclust's type of sketches. */
static bool
is_sketch(Oid type)
{
	HeapTuple	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	Form_pg_type form = (Form_pg_type) GETSTRUCT(tuple);
	char	   *schema = get_namespace_name(form->typnamespace);
	bool		found = strcmp(NameStr(form->typname), "sketch") == 0 &&
	schema != NULL && strcmp(schema, "fastclust") == 0;

	ReleaseSysCache(tuple);
	return found;
}

static void
reject_type(Oid type, const char *name)
{
	Oid			base = getBaseType(type);
	const char *column = quote_identifier(name);

	ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			errmsg("column \"%s\" is of type %s, which has no meaning as a feature",
				   name, format_type_be(type)),
			errdetail("Features are numbers, booleans, dates, times, intervals, enums, texts, arrays of numbers, and jsonb by paths."),
			get_typtype(base) == TYPTYPE_COMPOSITE
			? errhint("%s", advice_on_row(base, column))
			: is_sketch(base)
			? errhint("A sketch summarises many rows. Add the sketches and compute the clusters of all their rows: SELECT d.* FROM (SELECT merge_agg(%s) AS s FROM ...) m, decode(m.s, k) d.",
					  column)
			: errhint(advice_on_type(base), column));
}

bool
text_has_settings(Oid type)
{
	static const Oid plain[] = {INT2OID, INT4OID, INT8OID, NUMERICOID, UUIDOID};
	Oid			base = getBaseType(type);
	Oid			function;

	if (find_coercion_pathway(TEXTOID, type, COERCION_EXPLICIT, &function) !=
		COERCION_PATH_COERCEVIAIO)
		return false;
	for (Size i = 0; i < lengthof(plain); i++)
		if (base == plain[i])
			return false;
	return !type_is_enum(base);
}

/*
 * Sets the source of a reader for text. The reader does what an explicit cast
 * to text does: it relabels the value, calls a cast function or calls the
 * output function.
 */
static void
find_text_source(Oid type, value_reader *reader)
{
	Oid			function;
	bool		varlena;
	CoercionPathType path = find_coercion_pathway(TEXTOID, type,
												  COERCION_EXPLICIT, &function);

	reader->source = SOURCE_TEXT;
	if (type == TEXTOID || path == COERCION_PATH_RELABELTYPE)
		return;
	if (path == COERCION_PATH_FUNC)
	{
		reader->source = SOURCE_TEXT_BY_CAST;
		if (!has_cast(type, TEXTOID, COERCION_EXPLICIT, reader))
			aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION,
						   get_func_name(function));
		return;
	}
	reader->source = SOURCE_TEXT_BY_OUTPUT;
	reader->settings = !text_has_settings(type) ? 0
		: reads_same_value(type) ? FIX_OUTPUT : FIX_ALL;
	reader->date = getBaseType(type) == DATEOID ||
		getBaseType(type) == TIMESTAMPOID;
	getTypeOutputInfo(type, &function, &varlena);
	fmgr_info_cxt(function, &reader->cast, reader->context);
}

void
make_value_reader(Oid type, const char *name, bool as_text,
				  MemoryContext context, value_reader *reader)
{
	MemoryContext old = MemoryContextSwitchTo(context);

	memset(reader, 0, sizeof(*reader));
	reader->context = context;
	reader->type = type;
	reader->label = psprintf("column \"%s\"", name);
	reader->vectors.context = context;
	if (as_text)
		find_text_source(getBaseType(type), reader);
	else if (!find_source(getBaseType(type), reader))
		reject_type(type, name);
	MemoryContextSwitchTo(old);
}

/* ---- numbers ---- */

static double
reject_number(const char *label, double x)
{
	ereport(ERROR,
			errcode(isnan(x) ? ERRCODE_DATA_EXCEPTION
					: ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			errmsg("%s is %s", label,
				   isnan(x) ? "NaN"
				   : x > 0 ? "Infinity"
				   : "-Infinity"),
			errdetail("Features are finite numbers, or NULL."),
			errhint("Make such values NULL, or leave out their rows."));
	return 0;
}

static inline double
checked_number(const char *label, double x)
{
	return likely(isfinite(x)) ? x : reject_number(label, x);
}

/*
 * Converts a numeric to double. Raises an error for NaN, for infinity, and for
 * a finite numeric that is too large.
 */
static double
number_of_numeric(const char *label, Datum numeric)
{
	double		x = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow,
													   numeric));

	if (unlikely(isinf(x)) &&
		strstr(DatumGetCString(DirectFunctionCall1(numeric_out, numeric)),
			   "Inf") == NULL)
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("%s is out of range for double precision", label),
				errdetail("The value has %zu digits.",
						  strlen(DatumGetCString(DirectFunctionCall1(numeric_out, numeric)))),
				errhint("Scale the column down."));
	return checked_number(label, x);
}

static void
reject_infinity(const value_reader *reader, Datum value)
{
	Oid			output;
	bool		varlena;

	getTypeOutputInfo(getBaseType(reader->type), &output, &varlena);
	ereport(ERROR, errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
			errmsg("%s is %s", reader->label,
				   OidOutputFunctionCall(output, value)),
			errdetail("Features are finite dates and times, or NULL."),
			errhint("Make such values NULL, or leave out their rows."));
}

/*
 * Returns the length of an interval in seconds, as extract(epoch from value)
 * does.
 */
static double
length_of(const value_reader *reader, Datum value)
{
	const Interval *interval = DatumGetIntervalP(value);

	if (INTERVAL_NOT_FINITE(interval))
		reject_infinity(reader, value);
	return SECONDS(interval->time) + (double) interval->day * SECS_PER_DAY +
		(double) (interval->month / MONTHS_PER_YEAR) * DAYS_PER_YEAR *
		SECS_PER_DAY +
		(double) (interval->month % MONTHS_PER_YEAR) * DAYS_PER_MONTH *
		SECS_PER_DAY;
}

/*
 * Calls the function of a cast. Some of these functions have two more
 * parameters: the type modifier, and whether the cast is explicit.
 */
static Datum
cast_value(value_reader *reader, Datum value)
{
	LOCAL_FCINFO(call, 3);
	Datum		result;

	InitFunctionCallInfoData(*call, &reader->cast, reader->cast.fn_nargs,
							 DEFAULT_COLLATION_OID, NULL, NULL);
	call->args[0] = (NullableDatum)
	{
		value, false
	};
	call->args[1] = (NullableDatum)
	{
		Int32GetDatum(-1), false
	};
	call->args[2] = (NullableDatum)
	{
		BoolGetDatum(true), false
	};
	result = FunctionCallInvoke(call);
	if (call->isnull)
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				errmsg("the cast of %s returns NULL for a value that is not NULL", reader->label));
	return result;
}

static inline double
number_of(value_reader *reader, Datum value)
{
	switch (reader->source)
	{
		case SOURCE_NUMERIC:
			return number_of_numeric(reader->label, value);
		case SOURCE_NUMBER_BY_CAST:
			return checked_number(reader->label,
								  DatumGetFloat8(cast_value(reader, value)));
		case SOURCE_BOOL:
			return DatumGetBool(value) ? 1.0 : 0.0;
		case SOURCE_DATE:
			if (DATE_NOT_FINITE(DatumGetDateADT(value)))
				reject_infinity(reader, value);
			return (double) DatumGetDateADT(value);
		case SOURCE_TIMESTAMP:
		case SOURCE_TIMESTAMPTZ:
			if (TIMESTAMP_NOT_FINITE(DatumGetTimestamp(value)))
				reject_infinity(reader, value);
			return SECONDS(DatumGetTimestamp(value));
		case SOURCE_TIME:
			return SECONDS(DatumGetTimeADT(value));
		case SOURCE_TIMETZ:
			return SECONDS(DatumGetTimeTzADTP(value)->time);
		case SOURCE_INTERVAL:
			return length_of(reader, value);
		default:
			elog(ERROR, "unexpected source %d", (int) reader->source);
	}
	return 0;
}

/* ---- texts ---- */

const text *
value_as_text(value_reader *reader, Datum value)
{
	if (reader->source == SOURCE_TEXT_BY_OUTPUT)
	{
		/*
		 * fixing the settings takes a microsecond, so it is done only if they
		 * affect the text
		 */
		bool		fix = (reader->settings != 0 &&
						   !(reader->date && DateStyle == USE_ISO_DATES));
		int			level = fix ? fix_settings(reader->settings) : 0;
		const text *result = cstring_to_text(OutputFunctionCall(&reader->cast,
																value));

		if (fix)
			AtEOXact_GUC(true, level);
		return result;
	}
	return DatumGetTextPP(reader->source == SOURCE_TEXT_BY_CAST
						  ? cast_value(reader, value)
						  : value);
}

static inline void
set_text(fc_feature_cell *cell, const char *text, Size length)
{
	cell->kind = FC_CELL_TEXT;
	cell->text = text;

	cell->length = (uint32_t) length;
}

static void
set_string(fc_feature_cell *cell, const char *string)
{
	set_text(cell, string, strlen(string));
}

static void
set_number(fc_feature_cell *cell, double number)
{
	cell->kind = FC_CELL_NUMBER;
	cell->number = number;
}

/*
 * Reads the label of an enum value. Labels are in the catalog, so recent ones
 * are cached.
 */
static void
read_enum(value_reader *reader, Oid value, fc_feature_cell *cell)
{
	enum_label *label = &reader->labels[value & (ENUM_LABELS - 1)];

	if (label->value != value)
	{
		MemoryContext old = MemoryContextSwitchTo(reader->context);

		label->value = InvalidOid;
		if (label->text)
			pfree(label->text);
		label->text = NULL;
		label->text = DatumGetCString(DirectFunctionCall1(enum_out, ObjectIdGetDatum(value)));
		label->length = (uint32) strlen(label->text);
		label->value = value;
		MemoryContextSwitchTo(old);
	}
	set_text(cell, label->text, label->length);
}

static void
read_text(value_reader *reader, Datum value, fc_feature_cell *cell)
{
	const struct varlena *text;
	int			length;

	/* names and literals are NUL-terminated */
	if (reader->source == SOURCE_NAME || reader->source == SOURCE_LITERAL)
	{
		set_string(cell, DatumGetCString(value));
		return;
	}
	text = PG_DETOAST_DATUM_PACKED(value);

	length = (int) VARSIZE_ANY_EXHDR(text);
	set_text(cell, VARDATA_ANY(text),
			 (Size) (reader->source == SOURCE_BPCHAR
					 ? bpchartruelen(VARDATA_ANY(text), length)
					 : length));
}

/* ---- values ---- */

static void
read_array(value_reader *reader, Datum value, fc_feature_cell *cell)
{
	vector		v = read_vector(&reader->vectors, value, reader->label);

	for (int i = 0; i < v.d; i++)
		(void) checked_number(reader->label, v.floats != NULL
							  ? (double) v.floats[i]
							  : v.doubles[i]);
	cell->kind = v.floats != NULL ? FC_CELL_FLOATS : FC_CELL_DOUBLES;
	cell->length = (uint32_t) v.d;
	if (v.floats != NULL)
		cell->floats = v.floats;
	else
		cell->doubles = v.doubles;
}

void
read_value(value_reader *reader, Datum value, fc_feature_cell *cell)
{
	switch (reader->source)
	{
		case SOURCE_TEXT:
		case SOURCE_BPCHAR:
		case SOURCE_NAME:
		case SOURCE_LITERAL:
			read_text(reader, value, cell);
			break;
		case SOURCE_ENUM:
			read_enum(reader, DatumGetObjectId(value), cell);
			break;
		case SOURCE_ARRAY:
			read_array(reader, value, cell);
			break;
		case SOURCE_ARRAY_BY_CAST:
			read_array(reader, cast_value(reader, value), cell);
			break;
		default:
			if (read_plain_number(reader, value, cell))
				return;
			if (reader->source == SOURCE_FLOAT4 || reader->source == SOURCE_FLOAT8)
				reject_number(reader->label, cell->number);
			set_number(cell, number_of(reader, value));
	}
}

/* ---- jsonb ---- */

/* Finds the value at a path of keys; returns false if there is none. */
static bool
find_json(const Jsonb *jsonb, const json_path *path, JsonbValue *value)
{
	JsonbContainer *at = (JsonbContainer *) &jsonb->root;
	const char *key = path->text;
	const char *end = path->text +path->length;

	for (;;)
	{
		const char *dot = memchr(key, '.', (Size) (end - key));

		if (!JsonContainerIsObject(at) ||
			getKeyJsonValueFromContainer(at, key,
										 (int) ((dot != NULL ? dot : end) -
												key),
										 value) == NULL)
			return false;
		if (dot == NULL)
			return true;
		if (value->type != jbvBinary)
			return false;
		at = value->val.binary.data;
		key = dot + 1;
	}
}

fc_feature_kind
read_json(const Jsonb *jsonb, const json_path *path, bool as_text,
		  fc_feature_cell *cell)
{
	JsonbValue	value;

	cell->kind = FC_CELL_NULL;
	if (!find_json(jsonb, path, &value))
		return FC_FEATURE_ANY;
	switch (value.type)
	{
		case jbvNumeric:
			if (as_text)
			{
				Datum		number = NumericGetDatum(value.val.numeric);

				set_string(cell,
						   DatumGetCString(DirectFunctionCall1(numeric_out,
															   number)));
			}
			else
				set_number(cell,
						   number_of_numeric(path->label,
											 NumericGetDatum(value.val.numeric)));
			return FC_FEATURE_NUMBER;
		case jbvBool:
			if (as_text)
				set_string(cell, value.val.boolean ? "true" : "false");
			else
				set_number(cell, value.val.boolean ? 1.0 : 0.0);
			return FC_FEATURE_BOOLEAN;
		case jbvString:
			set_text(cell, value.val.string.val, (Size) value.val.string.len);
			return FC_FEATURE_CATEGORY;
		default:
			return FC_FEATURE_ANY;
	}
}

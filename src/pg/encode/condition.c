/*
 * condition.c - writes ranges of an encoder's coordinates as an SQL condition
 * on their column, which can be pasted after WHERE. The encoder imputes
 * coordinates for a NULL; if they are in the ranges, the condition accepts
 * NULL.
 */
#include "postgres.h"

#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "pg/encode/category.h"
#include "pg/encode/encode.h"

/*
 * Ranges of coordinates of one feature, from which a condition is made. A
 * range is lower < x <= upper. For a cyclic feature, it is an arc lower <= x <
 * upper, whose upper end may be beyond the end of the period.
 */
typedef struct ranges
{
	const fc_encoder *view;
	const fc_encoder_feature *feature;
	Oid			relation;		/* table that has the column */
	Size		count;
	Size	   *place;			/* index of each range's coordinate within the
								 * feature, from 0 */
	const double *lower;
	const double *upper;
	Datum	   *lower_shown;	/* lower bounds as text; used for dates and
								 * timestamps */
	Datum	   *upper_shown;
	bool		null;			/* true if all ranges hold for a NULL */
	group_type	type;			/* type whose equality finds categories */
} ranges;

static bool
is_in_range(const ranges *r, Size i, double x)
{
	return r->lower[i] < x && x <= r->upper[i];
}

/*
 * Returns true if all ranges hold for a row whose coordinate `place` of the
 * feature is 1 and whose other coordinates of the feature are 0.
 */
static bool
holds_at(const ranges *r, Size place)
{
	for (Size i = 0; i < r->count; i++)
		if (!is_in_range(r, i, r->place[i] == place))
			return false;
	return true;
}

/*
 * Returns true if all ranges hold for the coordinates of a NULL. Returns false
 * if the encoder has a single feature, because a row of NULLs alone has no
 * label.
 */
static bool
holds_at_null(const ranges *r)
{
	const fc_encoder_feature *feature = r->feature;
	const double *fill = r->view->fill + feature->first;
	bool		holds = feature->nulls == FC_NULLS_IMPUTE && r->view->features > 1;

	for (Size i = 0; i < r->count && holds; i++)
	{
		double		x = fill[r->place[i]];

		if (r->place[i] == fc_feature_values(feature))	/* the indicator of NULL */
			holds = is_in_range(r, i, 1);
		else if (feature->cycle != FC_CYCLE_NONE)
			holds = fc_in_period(fc_value_of_angle(feature, fill) - r->lower[i],
								 feature->period) < r->upper[i] - r->lower[i];
		else
			holds = is_in_range(r, i, feature->log ? copysign(expm1(fabs(x)), x) : x);
	}
	return holds;
}

/* ---- the column ---- */

/*
 * Returns the SQL text of an array of the keys in a path: ARRAY['a', 'b'] for
 * a.b. Overwrites the dots in the path.
 */
static char *
path_array(char *path)
{
	StringInfoData array;
	char	   *rest = path;

	initStringInfo(&array);
	while (rest != NULL)
	{
		char	   *key = rest;

		rest = strchr(key, '.');
		if (rest != NULL)
			*rest++ = '\0';
		appendStringInfo(&array, "%s%s", array.len > 0 ? ", " : "",
						 quote_literal_cstr(key));
	}
	return psprintf("ARRAY[%s]", array.data);
}

/*
 * Returns the name of a type with its schema; char without a length is bpchar.
 */
static char *
name_of_type(Oid type)
{
	return format_type_extended(type, -1, FORMAT_TYPE_TYPEMOD_GIVEN |
								FORMAT_TYPE_FORCE_QUALIFY);
}

/*
 * Returns the name of the type's collation with its schema, quoted if
 * necessary. The name that the encoder stores is not used: any role can make
 * an encoder, and could store SQL code as the name.
 */
static char *
name_of_collation(const group_type *type)
{
	int			count;

	return TextDatumGetCString(read_text_array(names_of_group_type(type), &count)[1]);
}

/*
 * Returns an SQL expression for a column whose categories are compared by the
 * equality of r->type. This is the column itself if its own type has the same
 * equality, else the column cast to the type.
 */
static char *
typed_value(const ranges *r, const char *name)
{
	const char *quoted = quote_identifier(name);
	AttrNumber	number = get_attnum(r->relation, name);
	group_type	own = {InvalidOid};
	StringInfoData value;
	Oid			type;
	int32		typmod;
	Oid			collation;

	if (number != InvalidAttrNumber)
	{
		get_atttypetypmodcoll(r->relation, number, &type, &typmod, &collation);
		own = category_type(type, collation);
	}
	if (own.type == r->type.type && own.collation == r->type.collation)
		return pstrdup(quoted);
	initStringInfo(&value);
	appendStringInfo(&value, "%s::%s", quoted,
					 name_of_type(r->type.type));
	if (r->type.collation != get_typcollation(r->type.type))
		appendStringInfo(&value, " COLLATE %s", name_of_collation(&r->type));
	return value.data;
}

/*
 * Returns an SQL expression for the part of a date or time that repeats.
 * `type` is the type of the column. The expression can be compared with the
 * literals of text_of_cyclic_value.
 */
static char *
cyclic_part(const ranges *r, Oid type, const char *quoted)
{
	const fc_encoder_feature *feature = r->feature;
	const char *local = quoted;

	if (feature->type.length > 0 && type != TIMESTAMPOID)
		local = psprintf("(%s AT TIME ZONE %s)", quoted,
						 quote_literal_cstr(encoder_text(r->view, feature->type)));

	if (feature->cycle == FC_CYCLE_DAY)
		return psprintf(type == TIMEOID ? "%s" : "%s::time", local);
	if (feature->cycle == FC_CYCLE_YEAR)
		return psprintf("to_char(%s%s, 'MM-DD')", local,
						feature->kind == FC_FEATURE_DATE ? "::timestamp" : "");
	return psprintf(feature->kind == FC_FEATURE_DATE
					? "extract(isodow FROM %s)"
					: "(%s - date_trunc('week', %s))",
					local, local);
}

/*
 * Returns an SQL expression for the value of a feature as the encoder reads
 * it; for a vector, the expression is for its element with index `place`, from
 * 0.
 */
static char *
value_of(const ranges *r, Size place)
{
	const fc_encoder_feature *feature = r->feature;
	char	   *name = column_of_feature(r->view, feature);
	const char *quoted = quote_identifier(name);
	AttrNumber	number;
	Oid			type;

	if (feature->path.length > 0)
	{
		char	   *path = path_array(encoder_text(r->view, feature->path));

		if (feature->kind == FC_FEATURE_CATEGORY)
			return psprintf("CASE WHEN jsonb_typeof(%s #> %s) NOT IN ('object', 'array') THEN"
							" %s #>> %s END",
							quoted, path, quoted, path);
		return psprintf("CASE WHEN jsonb_typeof(%s #> %s) = '%s' THEN (%s #>> %s)::%s END",
						quoted, path, feature_kind_name(feature->kind), quoted, path,
						feature->kind == FC_FEATURE_BOOLEAN ? "boolean" : "float8");
	}
	if (feature->kind == FC_FEATURE_CATEGORY)
		return OidIsValid(r->type.type)
			? typed_value(r, name)
			: psprintf("%s::text", quoted);
	number = get_attnum(r->relation, name);
	type = (number == InvalidAttrNumber
			? InvalidOid
			: getBaseType(get_atttype(r->relation, number)));
	if (feature->cycle > FC_CYCLE_PERIOD)
		return cyclic_part(r, type, quoted);
	if (feature->kind == FC_FEATURE_INTERVAL)
		return psprintf("extract(epoch FROM %s%s)", quoted, type == TIMETZOID ? "::time" : "");
	if (feature->kind == FC_FEATURE_VECTOR)
		return psprintf(OidIsValid(get_element_type(type)) ? "%s[%zu]"
						: "(%s::real[])[%zu]",
						quoted, place + 1);
	return pstrdup(quoted);
}

/* ---- conditions ---- */

/*
 * Returns the condition, extended by OR value IS NULL if `null` is true.
 * Without a condition, returns value IS NULL if `null` is true, else value IS
 * NOT NULL.
 */
static char *
with_null(const char *condition, const char *value, bool null)
{
	if (condition == NULL)
		return psprintf("%s IS %sNULL", value, null ? "" : "NOT ");
	return null ? psprintf("(%s OR %s IS NULL)", condition, value)
		: pstrdup(condition);
}

/*
 * Returns a condition that holds for all values if `all` is true, else for no
 * value. It holds for NULL if r->null is true.
 */
static char *
unconditional(const ranges *r, const char *value, bool all)
{
	return all == r->null ? pstrdup(all ? "true" : "false") : with_null(NULL, value, r->null);
}

static char *
boolean_condition(const ranges *r, const char *value, bool yes, bool no)
{
	if (yes != no)
		return psprintf("%s IS %s%s", value, r->null ? "NOT " : "",
						yes == r->null ? "FALSE" : "TRUE");
	return unconditional(r, value, yes);
}

/*
 * Returns the equality of the type as OPERATOR(schema.=), because the schema
 * may not be in the search_path. Returns NULL if the operator is in
 * pg_catalog, which is always searched, or if `type` is InvalidOid.
 */
static char *
qualified_equality(Oid type)
{
	Oid			operator;
	HeapTuple	tuple;
	Form_pg_operator form;
	char	   *name = NULL;

	if (!OidIsValid(type))
		return NULL;
	operator = lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr;
	tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(operator));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", operator);
	form = (Form_pg_operator) GETSTRUCT(tuple);
	if (form->oprnamespace != PG_CATALOG_NAMESPACE)
		name = psprintf("OPERATOR(%s.%s)",
						quote_identifier(get_namespace_name(form->oprnamespace)),
						NameStr(form->oprname));
	ReleaseSysCache(tuple);
	return name;
}

/*
 * Returns the condition that the value is one of the literals or, if `others`
 * is true, that it is not.
 */
static char *
list_condition(const ranges *r, const char *value, const char *literals,
			   Size count, bool others)
{
	const char *equality = qualified_equality(r->type.type);

	if (equality == NULL)
		return count == 1
			? psprintf("%s %s %s", value, others ? "<>" : "=", literals)
			: psprintf("%s %sIN (%s)", value, others ? "NOT " : "", literals);
	return count == 1
		? psprintf("%s%s %s %s", others ? "NOT " : "", value, equality, literals)
		: psprintf("%s%s %s ANY (ARRAY[%s]::%s[])", others ? "NOT " : "", value,
				   equality, literals, name_of_type(r->type.type));
}

/*
 * Returns a condition that lists the categories in the ranges. If the ranges
 * also contain categories that the encoder does not list, the condition
 * instead excludes the listed categories that are outside of the ranges.
 */
static char *
category_condition(const ranges *r, const char *value)
{
	const fc_encoder_feature *feature = r->feature;
	bool		others = holds_at(r, feature->other ? feature->categories
								  : feature->width);
	StringInfoData list;
	Size		listed = 0;

	initStringInfo(&list);
	for (Size place = 0; place < feature->categories; place++)
		if (holds_at(r, place) != others)
			appendStringInfo(&list, "%s%s", listed++ > 0 ? ", " : "",
							 quote_literal_cstr(category_text(r->view, feature, place)));
	return listed == 0 ? unconditional(r, value, others)
		: with_null(list_condition(r, value, list.data, listed, others), value, r->null);
}

static char *
bound(const ranges *r, Size i, bool upper)
{
	Datum	   *shown = upper ? r->upper_shown : r->lower_shown;

	if (r->feature->kind == FC_FEATURE_DATE)
		return psprintf("'%s'", TextDatumGetCString(shown[i]));
	if (r->feature->kind == FC_FEATURE_TIMESTAMP)	/* PostgreSQL ignores +00
													 * if the column has no
													 * time zone */
		return psprintf("'%s+00'", TextDatumGetCString(shown[i]));
	return DatumGetCString(DirectFunctionCall1(float8out,
											   Float8GetDatum(upper
															  ? r->upper[i]
															  : r->lower[i])));
}

/*
 * Returns the condition that a value is in the arc lower <= x < upper, as
 * words or as SQL. If values may be outside of one period (feature->turns),
 * the condition is on the value modulo the period.
 */
static char *
arc_condition(const fc_encoder_feature *feature, const char *value, double lower,
			  double upper, bool words)
{
	const cyclic_kind *kind = cyclic_kind_of(feature);
	double		period = feature->period;
	double		low = feature->lowest;
	char	   *from;
	char	   *to;

	if (feature->turns)
		value = psprintf(words ? "%s modulo %.12g"
						 : "(%1$s - %2$.12g * floor(%1$s / %2$.12g::float8))",
						 value, period);
	lower -= period * floor((lower - low) / period);
	upper -= period * floor((upper - low) / period);
	from = psprintf("%s >= %s", value, text_of_cyclic_value(kind, lower, true, !words));
	to = psprintf("%s < %s", value, text_of_cyclic_value(kind, upper, true, !words));
	if (upper == low)
		return from;
	if (lower == low)
		return to;
	return lower < upper ? psprintf(words ? "%s and %s" : "%s AND %s", from, to)
		: psprintf(words ? "(%s or %s)" : "(%s OR %s)", from, to);
}

/*
 * Takes (encoder, dimension from 1, lower, upper). Returns the range of a
 * cyclic column in words, or NULL if the dimension belongs to a column that is
 * not cyclic.
 */
PG_FUNCTION_INFO_V1(fastclust_arc_in_words);
Datum
fastclust_arc_in_words(PG_FUNCTION_ARGS)
{
	fc_encoder	view;
	const fc_encoder_feature *feature = feature_argument(fcinfo, &view);
	char	   *words;

	if (feature->cycle == FC_CYCLE_NONE)
		PG_RETURN_NULL();
	words = arc_condition(feature, feature_name(&view, feature), PG_GETARG_FLOAT8(2),
						  PG_GETARG_FLOAT8(3), true);
	PG_RETURN_TEXT_P(cstring_to_text(words));
}

static void
append_conjunct(StringInfo list, const char *condition)
{
	appendStringInfo(list, "%s%s", list->len > 0 ? " AND " : "", condition);
}

/*
 * Returns the condition on a feature of numbers, times or vectors. A range of
 * the indicator of NULL, a coordinate that is 0 or 1, becomes IS NULL or IS
 * NOT NULL.
 */
static char *
number_condition(const ranges *r)
{
	const fc_encoder_feature *feature = r->feature;
	bool		cyclic = feature->cycle != FC_CYCLE_NONE;
	StringInfoData bounds;
	bool		known = true;

	initStringInfo(&bounds);
	for (Size i = 0; i < r->count; i++)
	{
		char	   *value;

		if (r->place[i] == fc_feature_values(feature))
		{
			known = r->lower[i] < 0;
			continue;
		}
		value = value_of(r, r->place[i]);
		if (cyclic)
			append_conjunct(&bounds, arc_condition(feature, value, r->lower[i], r->upper[i],
												   false));
		else if (r->lower[i] > -INFINITY)
			append_conjunct(&bounds, psprintf("%s > %s", value, bound(r, i, false)));
		if (!cyclic && r->upper[i] < INFINITY)
			append_conjunct(&bounds, psprintf("%s <= %s", value, bound(r, i, true)));
	}
	if (!known && !r->null)
		return pstrdup("false");
	return with_null(known && bounds.len > 0 ? bounds.data : NULL,
					 cyclic && feature->path.length == 0
					 ? quote_identifier(column_of_feature(r->view, feature))
					 : value_of(r, 0), r->null);
}

/*
 * Returns the elements of an array argument, which must have `expected`
 * elements.
 */
static Datum *
read_elements(FunctionCallInfo fcinfo, int argument, const char *name, Oid type,
			  Size expected)
{
	int16		length;
	bool		by_value;
	char		align;
	Datum	   *elements;
	int			count;

	get_typlenbyvalalign(type, &length, &by_value, &align);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(argument), type, length, by_value,
					  align, &elements, NULL, &count);
	check_count(psprintf("number of elements of %s", name), count,
				(int64) expected, (int64) expected);
	return elements;
}

/* Returns the `count` numbers of an array argument; they may be infinite. */
static double *
read_bounds(FunctionCallInfo fcinfo, int argument, const char *name, Size count)
{
	Datum	   *elements = read_elements(fcinfo, argument, name, FLOAT8OID, count);
	double	   *bounds = palloc(count * sizeof(double));

	for (Size i = 0; i < count; i++)
		bounds[i] = DatumGetFloat8(elements[i]);
	return bounds;
}

/*
 * Takes (encoder, relation, dimensions, lower, upper, lower_shown,
 * upper_shown). Returns the condition on one feature; all dimensions must
 * belong to it.
 */
PG_FUNCTION_INFO_V1(fastclust_feature_condition);
Datum
fastclust_feature_condition(PG_FUNCTION_ARGS)
{
	fc_encoder	view;
	ArrayType  *given = PG_GETARG_ARRAYTYPE_P(2);
	int			count = ArrayGetNItems(ARR_NDIM(given), ARR_DIMS(given));
	double	   *dimension = read_float8_array(PG_GETARG_DATUM(2), count, "dimensions");
	ranges		r = {.view = &view,.relation = PG_GETARG_OID(1),.count = (Size) count};
	char	   *condition;

	fc_encoder_view(ENCODER_ARG(0), &view);
	check_count("dimension", (int64) dimension[0], 1, (int64) view.dim);
	r.feature = feature_of_dimension(&view, (Size) dimension[0]);
	r.place = palloc(r.count * sizeof(Size));
	for (Size i = 0; i < r.count; i++)
	{
		check_count("dimension", (int64) dimension[i], (int64) r.feature->first + 1,
					(int64) r.feature->first + (int64) r.feature->width);
		r.place[i] = (Size) dimension[i] - 1 - r.feature->first;
	}
	r.lower = read_bounds(fcinfo, 3, "lower", r.count);
	r.upper = read_bounds(fcinfo, 4, "upper", r.count);
	r.lower_shown = read_elements(fcinfo, 5, "lower_shown", TEXTOID, r.count);
	r.upper_shown = read_elements(fcinfo, 6, "upper_shown", TEXTOID, r.count);
	r.null = holds_at_null(&r);
	if (r.feature->kind == FC_FEATURE_CATEGORY)
	{
		r.type = type_of_feature(&view, r.feature);
		condition = category_condition(&r, value_of(&r, 0));
	}
	else if (r.feature->kind == FC_FEATURE_BOOLEAN)
		condition = boolean_condition(&r, value_of(&r, 0), holds_at(&r, 0),
									  holds_at(&r, r.feature->width));
	else
		condition = number_condition(&r);
	PG_RETURN_TEXT_P(cstring_to_text(condition));
}

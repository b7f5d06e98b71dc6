/*
 * columns.c - the columns of a relation: names, types, and hints about
 * misspelled names
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pg/base/arguments.h"
#include "pg/base/options.h"
#include "pg/encode/group_value.h"
#include "pg/train/columns.h"
#include "pg/train/relation.h"

/* Maximum number of columns in a hint. */
#define MAX_HINT_COLUMNS	20

FormData_pg_attribute *
relation_columns(Oid relation, int *count)
{
	HeapTuple	class = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	int			natts = (HeapTupleIsValid(class)
						 ? ((Form_pg_class) GETSTRUCT(class))->relnatts
						 : 0);
	FormData_pg_attribute *columns = palloc(Max(1, natts) *
											sizeof(FormData_pg_attribute));

	if (HeapTupleIsValid(class))
		ReleaseSysCache(class);
	*count = 0;
	for (int i = 1; i <= natts; i++)
	{
		HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation),
											Int16GetDatum((int16) i));

		if (!HeapTupleIsValid(tuple))
			continue;
		memcpy(&columns[*count], GETSTRUCT(tuple), ATTRIBUTE_FIXED_PART_SIZE);
		*count += !columns[*count].attisdropped;
		ReleaseSysCache(tuple);
	}
	return columns;
}

bool
is_among(const char *name, const char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/*
 * Returns the text "ARRAY['a', 'b']" if the name is a list "a, b" of existing
 * columns, else NULL.
 */
static char *
listed_columns(const char *name, const char *const *names, int count)
{
	StringInfoData list;

	if (strchr(name, ',') == NULL)
		return NULL;
	initStringInfo(&list);
	for (const char *begin = name;;)
	{
		const char *end = strchr(begin, ',');
		Size		length = end != NULL ? (Size) (end - begin) : strlen(begin);
		text	   *piece = cstring_to_text_with_len(begin, (int) length);
		char	   *one = TextDatumGetCString(DirectFunctionCall1(btrim1, PointerGetDatum(piece)));

		if (!is_among(one, names, count))
			return NULL;
		appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "",
						 quote_literal_cstr(one));
		if (end == NULL)
			return psprintf("ARRAY[%s]", list.data);
		begin = end + 1;
	}
}

/* Returns the hint for a column that does not exist. */
static char *
column_hint(Oid relation, const char *name)
{
	int			count;
	FormData_pg_attribute *columns = relation_columns(relation, &count);
	const char **names = palloc(Max(1, count) * sizeof(char *));
	Datum		lowered = DirectFunctionCall1Coll(lower, DEFAULT_COLLATION_OID,
												  CStringGetTextDatum(name));
	char	   *low = TextDatumGetCString(lowered);
	char	   *list;
	char	   *hint;
	char	   *meant;

	for (int i = 0; i < count; i++)
		names[i] = NameStr(columns[i].attname);
	list = listed_columns(name, names, count);
	if (list != NULL)
		return psprintf("Pass the columns as a list: %s.", list);
	if (is_among(low, names, count))
		return psprintf("Perhaps you meant \"%s\".", low);
	hint = name_hint(name, (int) strlen(name), names, count, "Columns are");
	if (count <= MAX_HINT_COLUMNS)
		return hint;
	meant = strncmp(hint, "Perhaps", strlen("Perhaps")) == 0
		? strstr(hint, "\". ")
		: NULL;
	return meant != NULL ? pnstrdup(hint, (Size) (meant + 2 - hint))
		: psprintf("The table has %d columns.", count);
}

char *
shown_relation(Oid relation)
{
	return DatumGetCString(DirectFunctionCall1(regclassout,
											   ObjectIdGetDatum(relation)));
}

Oid
column_type(Oid relation, const char *name)
{
	AttrNumber	number = get_attnum(relation, name);

	if (number <= 0)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_COLUMN),
				errmsg("column \"%s\" of %s does not exist", name,
					   shown_relation(relation)),
				errhint("%s", column_hint(relation, name)));
	return get_atttype(relation, number);
}

char *
row_column(const char *name)
{
	return psprintf("t.%s", quote_identifier(name));
}

group_type
column_group_type(Oid relation, const char *name)
{
	Oid			type = column_type(relation, name);
	int32		typmod;
	Oid			collation;

	get_atttypetypmodcoll(relation, get_attnum(relation, name), &type, &typmod,
						  &collation);
	return group_type_of(type, collation);
}

/*
 * Takes (relation, column). Returns the type of the column. Raises an error if
 * the column does not exist.
 */
PG_FUNCTION_INFO_V1(fastclust_feature_type);
Datum
fastclust_feature_type(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	PG_RETURN_OID(column_type(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1))));
}

/* ---- texts of groups ---- */

/*
 * Takes (relation, column, texts). The texts are texts of values of the
 * column, sorted by bytes. Returns an array of the same length. Each element
 * is the first of the texts that stand for the same value. Returns NULL if
 * equal values of the column always have equal texts.
 */
PG_FUNCTION_INFO_V1(fastclust_least_groups);
Datum
fastclust_least_groups(PG_FUNCTION_ARGS)
{
	char	   *column = NameStr(*PG_GETARG_NAME(1));
	ArrayType  *groups = PG_GETARG_ARRAYTYPE_P(2);
	group_type	type = column_group_type(PG_GETARG_OID(0), column);
	group_finder *finder;
	Datum	   *texts;
	int			count;

	if (!OidIsValid(type.type) || type.strict)
		PG_RETURN_NULL();
	finder = make_group_finder(&type, TEXTOID, column, CurrentMemoryContext);
	set_groups(finder, groups);
	deconstruct_array(groups, TEXTOID, -1, false, TYPALIGN_INT, &texts, NULL,
					  &count);
	for (int i = 0; i < count; i++)
		texts[i] = PointerGetDatum(text_of_group(finder, texts[i]));
	PG_RETURN_ARRAYTYPE_P(construct_array(texts, count, TEXTOID, -1, false,
										  TYPALIGN_INT));
}

/*
 * Takes (relation, column, texts, given). The texts are the groups of a model.
 * Returns the group whose value equals the value of the text `given`, or
 * `given` itself if there is no such group. `texts` may be NULL if equal
 * values of the column always have equal texts.
 */
PG_FUNCTION_INFO_V1(fastclust_named_group);
Datum
fastclust_named_group(PG_FUNCTION_ARGS)
{
	char	   *column = NameStr(*PG_GETARG_NAME(1));
	group_type	type = column_group_type(PG_GETARG_OID(0), column);
	group_finder *finder = make_group_finder(&type, TEXTOID, column,
											 CurrentMemoryContext);
	const text *found;

	if (needs_groups(finder))
		set_groups(finder, PG_GETARG_ARRAYTYPE_P(2));
	found = text_of_group(finder, PG_GETARG_DATUM(3));
	PG_RETURN_TEXT_P((text *) (found != NULL ? found
							   : PG_GETARG_TEXT_PP(3)));
}

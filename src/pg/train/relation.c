/*
 * relation.c - a relation as the source of a training's rows: checks its
 * columns, and writes the SQL expressions that queries use for a row
 *
 * open_source makes a train_source from a relation and columns: it raises the
 * errors about names and types, and writes the expressions that all queries of
 * a training share. add_options restricts the rows by option "where" and the
 * window, and use_encoder adds the calls that encode a row. Columns are
 * written as quoted names, and all expressions refer to the relation by the
 * alias t. The catalogs are read through the server's caches, without a query;
 * types are compared by OID.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/float.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "pg/encode/encode.h"
#include "pg/kmeans/collection.h"
#include "pg/model/row_condition.h"
#include "pg/train/columns.h"
#include "pg/train/query.h"
#include "pg/train/relation.h"
#include "pg/train/window.h"

extern Datum fastclust_encoder_columns(PG_FUNCTION_ARGS);

/*
 * Maximum number of columns in a call that encodes a row, besides the encoder
 * and a flag: a function takes up to 100 arguments.
 */
#define MAX_ENCODED_COLUMNS	97

/*
 * Number of columns that the hash of a row includes besides the features, to
 * distinguish rows with equal features. With more columns, more rows are
 * distinguished, in more time. A guess.
 */
#define OTHERS_HASHED	8

/*
 * Range of the weights of rows. Products of a weight with squares of
 * coordinates, and sums of these products, are thus finite.
 */
#define MIN_ROW_WEIGHT	1e-100
#define MAX_ROW_WEIGHT	1e100

/* Returns true if the type is a vector type or has a cast to real[]. */
static bool
becomes_vector(Oid type)
{
	return is_vector_type(type) ||
		SearchSysCacheExists2(CASTSOURCETARGET,
							  ObjectIdGetDatum(getBaseType(type)),
							  ObjectIdGetDatum(FLOAT4ARRAYOID));
}

/*
 * Returns true if a column contains vectors or does not exist. In the second
 * case, a later check reports that the column of vectors is missing.
 */
static bool
has_vectors(Oid relation, const char *name)
{
	return get_attnum(relation, name) <= 0 ||
		becomes_vector(get_atttype(relation, get_attnum(relation, name)));
}

/* ---- features ---- */

feature_list
read_features(ArrayType *array)
{
	feature_list list = {0};
	Datum	   *elements = NULL;

	if (array != NULL && ARR_NDIM(array) > 1)
		ereport(ERROR, errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				errmsg("features must be a one-dimensional array, not one of %d dimensions",
					   ARR_NDIM(array)));
	if (array == NULL || ARR_NDIM(array) == 0 || array_contains_nulls(array))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("features must name at least one column and contain no NULL"));
	deconstruct_array(array, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR,
					  &elements, NULL, &list.count);
	list.names = palloc((Size) list.count * sizeof(char *));
	for (int i = 0; i < list.count; i++)
		list.names[i] = pstrdup(NameStr(*DatumGetName(elements[i])));
	return list;
}

ArrayType *
array_of_names(char *const *names, int count)
{
	Datum	   *elements = palloc((Size) Max(1, count) * sizeof(Datum));

	for (int i = 0; i < count; i++)
		elements[i] = DirectFunctionCall1(namein, CStringGetDatum(names[i]));
	return construct_array(elements, count, NAMEOID, NAMEDATALEN, false,
						   TYPALIGN_CHAR);
}

ArrayType *
columns_of_text(Oid relation, const char *given, bool *vector)
{
	char	   *name = NameStr(*DatumGetName(DirectFunctionCall1(namein, CStringGetDatum(given))));

	*vector = given[0] != '{' && has_vectors(relation, name);
	if (given[0] == '{')
		return DatumGetArrayTypeP(OidFunctionCall3(F_ARRAY_IN,
												   CStringGetDatum(given),
												   ObjectIdGetDatum(NAMEOID),
												   Int32GetDatum(-1)));
	return array_of_names(&name, 1);
}

/* ---- a hash of a row ---- */

/*
 * Returns a format string for the call of a hash function on a column, or NULL
 * if the type has no such function. These functions give the same results on
 * every server, and postgres_fdw and Citus push them down.
 */
static const char *
hash_call(Oid type)
{
	switch (type)
	{
		case INT2OID:
			return "hashint2extended(t.%s, 0)";
		case INT4OID:
			return "hashint4extended(t.%s, 0)";
		case INT8OID:
			return "hashint8extended(t.%s, 0)";
		case FLOAT4OID:
			return "hashfloat4extended(t.%s, 0)";
		case FLOAT8OID:
			return "hashfloat8extended(t.%s, 0)";
		case NUMERICOID:
			return "hash_numeric_extended(t.%s, 0)";
		case UUIDOID:
			return "uuid_hash_extended(t.%s, 0)";
		case TIMESTAMPOID:
			return "timestamp_hash_extended(t.%s, 0)";
		case BOOLOID:
			return "hashint4extended(t.%s::integer, 0)";
		case DATEOID:
			return "hashint4extended(t.%s - '2000-01-01'::date, 0)";
		case TEXTOID:
		case VARCHAROID:
			return "hashtextextended(t.%s, 0)";
		case INT2ARRAYOID:
		case INT4ARRAYOID:
		case INT8ARRAYOID:
		case FLOAT4ARRAYOID:
		case FLOAT8ARRAYOID:
		case NUMERICARRAYOID:
			return "hash_array_extended(t.%s, 0)";
		default:
			return NULL;
	}
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(NameStr(((const FormData_pg_attribute *) a)->attname),
				  NameStr(((const FormData_pg_attribute *) b)->attname));
}

/*
 * Returns true if values of the type are neither arrays nor texts, so that
 * their hash is cheap.
 */
static bool
is_short(Oid type)
{
	char		category;
	bool		preferred;

	get_type_category_preferred(type, &category, &preferred);
	return category != TYPCATEGORY_ARRAY && category != TYPCATEGORY_STRING;
}

/*
 * Appends the hashes of up to `max` columns, and returns their number. The
 * columns are features or, if `features` is false, other columns of short
 * values.
 */
static int
append_hashes(StringInfo calls, const train_source *source, bool features,
			  int max)
{
	int			count;
	FormData_pg_attribute *columns = relation_columns(source->id, &count);
	int			found = 0;

	qsort(columns, (Size) count, sizeof(FormData_pg_attribute), by_name);
	for (int i = 0; i < count && found < max; i++)
	{
		char	   *name = NameStr(columns[i].attname);
		const char *call = hash_call(columns[i].atttypid);

		if (call == NULL ||
			is_among(name, (const char *const *) source->features,
					 source->feature_count) != features ||
			(!features && !is_short(columns[i].atttypid)))
			continue;
		appendStringInfoString(calls, calls->len > 0 ? ", " : "");
		appendStringInfo(calls, call, quote_identifier(name));
		found++;
	}
	return found;
}

/*
 * Returns an SQL expression for the hash of a row, which does not depend on
 * where the row is stored. The hash covers the features, and some other
 * columns of short values that distinguish rows with equal features. If no
 * column can be hashed, it covers the text of the row.
 */
static char *
row_hash(const train_source *source)
{
	StringInfoData calls;
	int			features;

	initStringInfo(&calls);
	features = append_hashes(&calls, source, true, source->feature_count);
	(void) append_hashes(&calls, source, false,
						 source->feature_count + OTHERS_HASHED - features);
	if (features == 0 && source->is_vector)
		appendStringInfo(&calls,
						 source->cast
						 ? "%shash_array_extended(%s, 0)"
						 : "%shash_array_extended(scaled_vector(NULL, NULL, %s), 0)",
						 calls.len > 0 ? ", " : "", source->raw);
	return calls.len == 0
		? "hashtextextended((t.*)::text, 0)"
		: psprintf("hash_array_extended(ARRAY[%s], 0)", calls.data);
}

/* ---- storage of the rows ---- */

static int
by_oid(const ListCell *a, const ListCell *b)
{
	return lfirst_oid(a) < lfirst_oid(b) ? -1 : lfirst_oid(a) > lfirst_oid(b);
}

char *
leaf_name(Oid leaf)
{
	return psprintf("%s%s", get_rel_relkind(leaf) == RELKIND_FOREIGN_TABLE ? "" : "ONLY ",
					relation_name(leaf));
}

/*
 * Sets heap, leaves and leaf_count of the source.
 *
 * heap: true if the relation, its partitions and children are stored in heap
 * blocks. Chunks of TimescaleDB are excluded, because the blocks of compressed
 * chunks hold other rows.
 *
 * leaves: the tables with the rows, if one of them is foreign, because
 * postgres_fdw pushes down an aggregate over one foreign table, but never the
 * partial aggregates of several tables. Other relations have no leaves: the
 * server or Citus aggregates their rows in place.
 */
static void
find_tables(train_source *source)
{
	List	   *tables = find_all_inheritors(source->id, NoLock, NULL);
	bool		foreign = false;
	ListCell   *cell;

	list_sort(tables, by_oid);
	source->heap = true;
	source->leaves = palloc((Size) list_length(tables) * sizeof(Oid));
	foreach(cell, tables)
	{
		HeapTuple	tuple = SearchSysCache1(RELOID,
											ObjectIdGetDatum(lfirst_oid(cell)));
		Form_pg_class class;

		if (!HeapTupleIsValid(tuple))
			continue;
		class = (Form_pg_class) GETSTRUCT(tuple);
		source->heap = source->heap &&
			(class->relkind == RELKIND_PARTITIONED_TABLE ||
			 ((class->relkind == RELKIND_RELATION ||
			   class->relkind == RELKIND_MATVIEW) &&
			  class->relam == HEAP_TABLE_AM_OID &&
			  strcmp(get_namespace_name(class->relnamespace),
					 "_timescaledb_internal") != 0));
		foreign = foreign || class->relkind == RELKIND_FOREIGN_TABLE;
		if (class->relkind != RELKIND_PARTITIONED_TABLE)
			source->leaves[source->leaf_count++] = lfirst_oid(cell);
		ReleaseSysCache(tuple);
	}
	if (!foreign || list_length(tables) == 1)
		source->leaf_count = 0;
}

bool
has_citus(void)
{
	return OidIsValid(get_relname_relid("pg_dist_partition",
										PG_CATALOG_NAMESPACE));
}

/*
 * Returns true if rows of the relation, or of a table that it reads as a view,
 * are on shards of Citus.
 */
static bool
is_sharded(Oid relation)
{
	query_argument argument = {"oid", ObjectIdGetDatum(relation)};

	if (!has_citus())
		return false;
	return DatumGetBool(query_datum("WITH RECURSIVE tree(id) AS ("
									"    SELECT $1"
									"    UNION"
									"    SELECT part.id FROM tree, LATERAL ("
									"        SELECT i.inhrelid FROM pg_inherits i WHERE"
									" i.inhparent = tree.id"
									"        UNION ALL"
									"        SELECT d.refobjid FROM pg_rewrite r JOIN"
									" pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid"
									"         WHERE r.ev_class = tree.id AND d.refclassid ="
									" 'pg_class'::regclass) part(id))"
									" SELECT EXISTS (SELECT FROM tree JOIN pg_dist_partition p"
									" ON p.logicalrelid = tree.id WHERE p.partmethod <> 'n')",
									1, &argument, 0, NULL));
}

/*
 * Citus adds up the states of the shards by the first aggregate that is named
 * sum and takes one argument of their type. It may be in any schema and runs
 * with the caller's rights. Another role may have created one to run code with
 * these rights, so the extension's own must be the only one. The catalog is
 * read in its current state, regardless of the snapshot, as Citus reads it.
 */
bool
sums_on_shards(const train_source *source)
{
	Oid			type = type_of_name("aggregate_state");
	Oid			own = get_namespace_oid("fastclust_internal", false);
	CatCList   *sums;
	bool		only = true;

	if (!source->sharded)
		return false;
	sums = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum("sum"));
	for (int i = 0; i < sums->n_members; i++)
	{
		Form_pg_proc function = ((Form_pg_proc)
								 GETSTRUCT(&sums->members[i]->tuple));
		Oid			argument = (function->pronargs == 1
								? function->proargtypes.values[0]
								: InvalidOid);

		only = only && (function->pronamespace == own ||
						(argument != type && argument != ANYELEMENTOID));
	}
	ReleaseSysCacheList(sums);
	return only;
}

/* ---- the source ---- */

/*
 * Raises an error if the relation does not exist, or is not a table or view.
 * If its OID is small, a hint shows how to name a version, because the number
 * of a version may have been meant.
 */
static void
check_relation(Oid relation)
{
	char		kind = get_rel_relkind(relation);

	if (kind == '\0')
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_TABLE),
				errmsg("there is no relation with OID %u", relation),
				OidIsValid(relation) && relation < FirstNormalObjectId
				? errhint("If %u is the number of a version, write version => %u.",
						  relation, relation)
				: 0);
	if (strchr("rmpvf", kind) == NULL)
		ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
				errmsg("%s is not a table or view", shown_relation(relation)));
}

bool
has_loose_groups(const train_source *source)
{
	return OidIsValid(source->grouping.type) && !source->grouping.strict;
}

char *
group_place_text(const train_source *source, const char *groups)
{
	return psprintf("fastclust_internal.group_place(%s, t.%s)", groups,
					quote_identifier(source->group_by));
}

/*
 * Sets the type of the grouping column and whether rows are grouped by value.
 * Raises an error if the column does not exist.
 */
static void
find_group_type(train_source *source)
{
	source->grouping = column_group_type(source->id, source->group_by);
	source->by_value = has_loose_groups(source);
}

/*
 * Raises an error if a column does not exist, or if it should contain vectors
 * but does not. Sets the type of the grouping column.
 */
static void
check_columns(train_source *source)
{
	for (int i = 0; i < source->feature_count; i++)
	{
		Oid			type = column_type(source->id, source->features[i]);

		if (source->is_vector && !becomes_vector(type))
			ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
					errmsg("column \"%s\" of %s is of type %s, not a vector",
						   source->features[i], shown_relation(source->id),
						   format_type_be(type)),
					errhint("Vectors are arrays of numbers, types of pgvector, or types with a cast to real[]. Train on other columns as a list: ARRAY[%s].",
							quote_literal_cstr(source->features[i])));
	}
	if (source->group_by != NULL)
		find_group_type(source);
}

/* Sets the expression and the type of the vector column. */
static void
find_vector(train_source *source)
{
	Oid			type = get_atttype(source->id,
								   get_attnum(source->id, source->features[0]));
	HeapTuple	base = SearchSysCache1(TYPEOID,
									   ObjectIdGetDatum(getBaseType(type)));
	Form_pg_type form = (Form_pg_type) GETSTRUCT(base);

	source->cast = !is_vector_type(type);
	source->raw = psprintf("t.%s%s", quote_identifier(source->features[0]),
						   source->cast ? "::real[]" : "");
	source->sparse = !source->cast &&
		strcmp(NameStr(form->typname), "sparsevec") == 0;
	source->array = form->typcategory == TYPCATEGORY_ARRAY;
	source->takes_where = type < FirstNormalObjectId;
	ReleaseSysCache(base);
}

/*
 * Returns an SQL expression for the vector as an array. Citus passes arrays to
 * every aggregate, but other types only to fastclust_internal.sum.
 */
static char *
array_text(const train_source *source)
{
	return psprintf("scaled_vector(NULL, NULL, %s)", source->raw);
}

char *
group_text(const train_source *source, const char *value)
{
	if (source->model != NULL)
		return psprintf("fastclust_internal.group_of(%s, %d, %s) COLLATE \"C\"",
						quote_literal_cstr(source->model), source->version, value);
	return psprintf(text_has_settings(column_type(source->id, source->group_by))
					? "fastclust_internal.group_text(%s) COLLATE \"C\""
					: "%s::text COLLATE \"C\"",
					value);
}

void
name_groups_of(train_source *source, const char *model, int32 version)
{
	source->model = model;
	source->version = version;
	source->grouping = (group_type)
	{
		InvalidOid
	};
	source->by_value = false;
	source->group_value = group_text(source, row_column(source->group_by));
}

char *
present_name(Oid relation)
{
	if (get_rel_persistence(relation) == RELPERSISTENCE_TEMP)
		return quote_qualified_identifier("pg_temp", get_rel_name(relation));
	return relation_name(relation);
}

static char *
both(const char *filter, const char *condition)
{
	return psprintf("%s AND %s", filter, condition);
}

/*
 * Restricts the source to rows without a NULL in a column. IS NOT NULL would be
 * false for a composite value with a NULL in it.
 */
static void
skip_nulls(train_source *source, const char *column)
{
	source->filter = both(source->filter,
						  psprintf("%s IS DISTINCT FROM NULL", row_column(column)));
}

void
open_source(train_source *source, Oid relation, const feature_list *features,
			bool vector, char *group_by)
{
	*source = (train_source)
	{
		.id = relation,
			.features = features->names,
			.feature_count = features->count,
			.group_by = group_by
	};
	source->is_vector = vector;

	check_relation(relation);
	check_columns(source);
	source->relation = present_name(relation);
	source->owner = role_name_of(relation_owner(relation));
	source->group_value = group_by == NULL
		? "''"
		: group_text(source, row_column(group_by));
	source->filter = "true";
	if (vector)
		skip_nulls(source, features->names[0]);
	if (group_by != NULL)
		skip_nulls(source, group_by);
	find_tables(source);
	if (vector)
		find_vector(source);
	source->sharded = is_sharded(relation);
	if (vector &&source->sharded && !source->array && !sums_on_shards(source))
		source->raw = array_text(source);
}

const char *
row_key(const train_source *source)
{
	return source->heap ? "place_key(t.ctid)" : row_hash(source);
}

/* ---- conditions, metric and encoder ---- */

/*
 * Makes a column the weight of the rows, and restricts the source to rows with
 * a weight other than 0. The SQL function row_weight, which checks the value,
 * is not part of the filter, so that it does not check rows that another
 * condition excludes.
 */
static void
add_weight(train_source *source, const char *column)
{
	Oid			type = column_type(source->id, column);
	Oid			number = FLOAT8OID;
	const char *name = quote_identifier(column);

	if (!can_coerce_type(1, &type, &number, COERCION_ASSIGNMENT))
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
				errmsg("option \"row_weight\": column \"%s\" of %s is of type %s, not a number",
					   column, shown_relation(source->id), format_type_be(type)));
	source->weight = psprintf("row_weight(t.%s::double precision, %s)", name,
							  quote_literal_cstr(column));
	source->weight_factor = source->count_factor = 1;	/* replaced by
														 * measure_weights */
	source->filter = both(source->filter, psprintf("t.%s IS DISTINCT FROM 0", name));
}

/*
 * Takes (weight, column). Returns the weight of a row as given. Raises an
 * error if it is NULL, or not from MIN_ROW_WEIGHT to MAX_ROW_WEIGHT.
 */
PG_FUNCTION_INFO_V1(fastclust_row_weight);
Datum
fastclust_row_weight(PG_FUNCTION_ARGS)
{
	bool		null = PG_ARGISNULL(0);
	double		weight = null ? NAN : PG_GETARG_FLOAT8(0);

	require_argument(fcinfo, 1, "name");
	if (!(weight >= MIN_ROW_WEIGHT && weight <= MAX_ROW_WEIGHT))
		ereport(ERROR, errcode(null ? ERRCODE_NULL_VALUE_NOT_ALLOWED
							   : ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"row_weight\": column \"%s\" is %s in a row",
					   text_to_cstring(PG_GETARG_TEXT_PP(1)),
					   null ? "NULL" : float8out_internal(weight)),
				errdetail("A weight must be from %g to %g, or 0, which leaves the row out.",
						  MIN_ROW_WEIGHT, MAX_ROW_WEIGHT));
	PG_RETURN_FLOAT8(weight);
}

/* Raises an error if values of the unit's column cannot be hashed. */
static void
check_unit(const train_source *source)
{
	Oid			type = column_type(source->id, source->unit);

	if (!OidIsValid(lookup_type_cache(type, TYPECACHE_HASH_EXTENDED_PROC)->hash_extended_proc))
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_FUNCTION),
				errmsg("column \"%s\" of type %s cannot be a unit", source->unit,
					   format_type_be(type)),
				errdetail("The type has no hash function."),
				errhint("Train on a view with a column of another type, such as %s::text.",
						quote_identifier(source->unit)));
}

void
add_options(train_source *source, const train_options *options)
{
	if (options->row_weight != NULL)
		add_weight(source, options->row_weight);
	if (options->where != NULL)
	{
		source->condition = resolved_condition(source->id, options->where,
											   NULL);
		source->filter = both(source->filter, source->condition);
	}
	if (options->since != NULL)
		source->filter = both(source->filter,
							  window_condition(source->id, source->relation,
											   options->since));
	source->unit = options->unit;
	if (source->unit != NULL)
		check_unit(source);
	if (source->is_vector && options->encoder != NULL)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"encoder\" is for a list of columns, not for the vectors of column \"%s\"",
					   source->features[0]),
				errhint("Leave out the option, or train on a list of columns."));
	if (options->metric == FC_EUCLIDEAN)
		return;
	if (!source->is_vector)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("metric cosine needs a column of vectors"),
				errhint("Columns of numbers are compared in standard deviations; leave option \"metric\" out, or make a column of vectors of them. Of texts, make embeddings or tf-idf vectors."));
	if (options->standardize)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"standardize\" cannot be used with metric cosine"),
				errdetail("This metric scales each row to length 1 instead."));
	source->cosine = true;
}

/*
 * Returns true if no setting of a session changes the meaning of the features,
 * so that postgres_fdw may push down the call that encodes them.
 */
static bool
is_constant(const train_source *source)
{
	static const Oid types[] = {
		INT2OID,
		INT4OID,
		INT8OID,
		FLOAT4OID,
		FLOAT8OID,
		NUMERICOID,
		BOOLOID,
		DATEOID,
		TIMEOID,
		TIMESTAMPOID,
		TIMESTAMPTZOID,
		INTERVALOID,
		TEXTOID,
		VARCHAROID,
		BPCHAROID,
		FLOAT4ARRAYOID,
		FLOAT8ARRAYOID,
		INT4ARRAYOID,
		NUMERICARRAYOID
	};

	for (int i = 0; i < source->feature_count; i++)
	{
		Oid			type = get_atttype(source->id,
									   get_attnum(source->id, source->features[i]));
		bool		found = false;

		for (int j = 0; j < lengthof(types); j++)
			found = found || types[j] == type;
		if (!found)
			return false;
	}
	return true;
}

char *
listed(const char *alias, char *const *names, int count)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < count; i++)
		appendStringInfo(&list, "%s%s.%s", i > 0 ? ", " : "", alias,
						 quote_identifier(names[i]));
	return list.data;
}

/*
 * Returns the call that encodes a row. Its arguments are the columns in the
 * encoder's order, or the whole row if there are too many columns for a call.
 * The encoder is a constant.
 */
static char *
encoding(const train_source *source, bool scaled)
{
	bool		fits = source->feature_count <= MAX_ENCODED_COLUMNS;

	return psprintf("%s(%s, '%s', %s)",
					!fits ? "encode_record"
					: is_constant(source) ? "encode_constant"
					: "encode_listed",
					quote_literal_cstr(value_text(source->encoder)),
					scaled ? "t" : "f",
					fits ? listed("t", source->features, source->feature_count)
					: "t.*");
}

static char *
cells_of(const train_source *source, const char *row)
{
	return source->feature_count <= MAX_ENCODED_COLUMNS
		? listed(row, source->features, source->feature_count)
		: psprintf("%s.*", row);
}

char *
observed_cells(const train_source *source)
{
	return cells_of(source, "t");
}

char *
observed_row(const train_source *source, const char *op, const char *row)
{
	return psprintf("encode_observed(%s, %s, %s)",
					quote_literal_cstr(value_text(source->encoder)), op,
					cells_of(source, row));
}

/*
 * Makes the source encode its columns. If the encoder skips rows with a NULL
 * in some column, leaves out these rows.
 */
void
use_encoder(train_source *source, const fc_encoder_header *header)
{
	fc_encoder	encoder;
	bool		skips = false;

	source->encoder = (fc_encoder_header *) header;
	source->raw = encoding(source, false);
	source->encoded = encoding(source, true);
	fc_encoder_view(header, &encoder);
	for (Size i = 0; i < encoder.features; i++)
		skips = skips || encoder.feature[i].nulls == FC_NULLS_SKIP;
	if (skips)
		source->filter = both(source->filter,
							  psprintf("%s IS NOT NULL", source->raw));
}

/* ---- expressions of a row ---- */

bool
has_numbers(const train_source *source)
{
	for (int i = 0; i < source->feature_count; i++)
	{
		Oid			type = get_atttype(source->id,
									   get_attnum(source->id, source->features[i]));

		if (type != getBaseType(type) || !is_column_type(type))
			return false;
	}
	return true;
}

/*
 * Takes (relation, features, vector, group_by, encoder, condition). Returns
 * (relation, vector, listed, group_value, dimensions, sharded, condition,
 * columns), which describe a row t of the relation.
 *
 * vector: true if the feature is a column of vectors. If the argument is NULL,
 * the type of the column decides.
 *
 * listed: SQL expression for the unscaled row as an array; NULL for columns
 * without an encoder. group_value: SQL expression for the group as text.
 * dimensions: number of dimensions; NULL for vectors, and for columns that
 * have no encoder and are not all numbers. sharded: true if the rows are on
 * shards of Citus.
 *
 * condition: the given condition with resolved names. columns: names of the
 * columns that it reads. Both results are NULL if no condition is given.
 */
PG_FUNCTION_INFO_V1(fastclust_row_expressions);
Datum
fastclust_row_expressions(PG_FUNCTION_ARGS)
{
	MemoryContext context = CurrentMemoryContext;
	feature_list features = read_features(PG_ARGISNULL(1)
										  ? NULL
										  : PG_GETARG_ARRAYTYPE_P(1));
	train_source source;
	ArrayType  *columns;
	Datum		values[8] = {0};
	bool		nulls[8] = {false};

	require_argument(fcinfo, 0, "relation");
	SPI_connect();
	MemoryContextSwitchTo(context);
	open_source(&source, PG_GETARG_OID(0), &features,
				PG_ARGISNULL(2)
				? has_vectors(PG_GETARG_OID(0), features.names[0])
				: PG_GETARG_BOOL(2),
				PG_ARGISNULL(3) ? NULL : NameStr(*PG_GETARG_NAME(3)));
	SPI_finish();
	if (!PG_ARGISNULL(4) && !source.is_vector)
	{
		Datum		encoded = DirectFunctionCall1(fastclust_encoder_columns,
												  PG_GETARG_DATUM(4));

		if (!DatumGetBool(OidFunctionCall2Coll(F_ARRAY_EQ, C_COLLATION_OID,
											   encoded, PG_GETARG_DATUM(1))))
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("the encoder is not one of the features"),
					errdetail("It encodes %s.",
							  OidOutputFunctionCall(F_ARRAY_OUT, encoded)));
		use_encoder(&source, ENCODER_ARG(4));
	}
	values[0] = CStringGetTextDatum(source.relation);
	values[1] = BoolGetDatum(source.is_vector);
	nulls[2] = source.raw == NULL;
	if (!nulls[2])
		values[2] = CStringGetTextDatum(!source.is_vector || source.cast ||
										source.array
										? source.raw
										: array_text(&source));
	values[3] = CStringGetTextDatum(source.group_value);
	nulls[4] = source.encoder == NULL &&
		(source.is_vector || !has_numbers(&source));
	values[4] = Int32GetDatum(source.encoder != NULL
							  ? (int32) source.encoder->dim
							  : source.feature_count);
	values[5] = BoolGetDatum(source.sharded);
	nulls[6] = nulls[7] = PG_ARGISNULL(5);
	if (!nulls[6])
	{
		char	   *given = text_to_cstring(PG_GETARG_TEXT_PP(5));

		values[6] = CStringGetTextDatum(resolved_condition(source.id, given,
														   &columns));
		values[7] = PointerGetDatum(columns);
	}
	return row_result(fcinfo, values, nulls);
}

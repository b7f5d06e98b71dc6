/*
 * group_value.c - finds the group that a value names, by the equality of the
 * grouping column's type; see group_value.h
 *
 * A version of a model stores a group as the text of its value. Equal values
 * of a strict type have one text, so a value of that type is found by its
 * text. Values of other types are compared: the texts of all groups are read
 * as values, into a hash table if the type can be hashed.
 *
 * A text is read by the input function of the column's type. A value of
 * another type is compared with the groups by the operator = of pg_catalog
 * that the parser finds for both types. If there is none, the value is
 * converted by the assignment cast, provided that a cast back returns it
 * unchanged.
 *
 * A model may belong to another role than the user of predict, and some
 * functions run as the extension's owner. Therefore comparisons run only code
 * of PostgreSQL and of installed extensions: values of types that users made,
 * and of arrays and ranges of them, are compared as texts. An enum needs no
 * comparison, because its labels are its texts. Domains count as their base
 * types, whose equality they have; therefore their checks never run.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parse_node.h"
#include "parser/parse_oper.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
#include "utils/varlena.h"

#include "base/rng.h"
#include "pg/base/arguments.h"
#include "pg/encode/group_value.h"
#include "pg/encode/installed.h"

#define MAX_KNOWN	4096		/* maximum number of given values whose groups
								 * are cached; a guess */
#define MAX_KNOWN_BYTES	1024	/* maximum size of a cached value; a guess */

/* ---- types ---- */

/*
 * Can the texts of groups be read as values of the type, and can these values
 * be compared?
 */
static bool
compares_groups(Oid type)
{
	TypeCacheEntry *entry;

	if (!reads_same_value(type))
		return false;
	entry = lookup_type_cache(type, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR);
	return OidIsValid(entry->eq_opr) && OidIsValid(entry->lt_opr);
}

/* Do equal values of a base type always have the same text? */
static bool
is_strict(Oid type, Oid collation)
{
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case NAMEOID:
		case CHAROID:
		case DATEOID:
		case TIMEOID:
		case TIMETZOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
		case BYTEAOID:
		case BITOID:
		case VARBITOID:
		case MACADDROID:
		case MACADDR8OID:
		case INETOID:
		case CIDROID:
			return true;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			return !OidIsValid(collation) ||
				get_collation_isdeterministic(collation);
		default:
			return type_is_enum(type);
	}
}

/*
 * Is the cast of the type to text a function that is not built in? The type's
 * input function might not read the text that it returns.
 */
static bool
has_text_function(Oid type)
{
	Oid			function;

	return find_coercion_pathway(TEXTOID, type, COERCION_EXPLICIT, &function) ==
		COERCION_PATH_FUNC &&
		get_func_namespace(function) != PG_CATALOG_NAMESPACE;
}

group_type
group_type_of(Oid type, Oid collation)
{
	group_type	found = {getBaseType(type), collation};

	found.strict = is_strict(found.type, collation);
	if (has_text_function(found.type) ||
		(!found.strict && !compares_groups(found.type)))
		found.type = InvalidOid;
	return found;
}

bool
same_group_type(const group_type *a, const group_type *b)
{
	return a->type == b->type &&
		(!OidIsValid(a->type) ||
		 (a->strict == b->strict && (a->strict || a->collation == b->collation)));
}

static Datum
qualified_name(Oid schema, const NameData * name)
{
	return CStringGetTextDatum(quote_qualified_identifier(get_namespace_name(schema),
														  NameStr(*name)));
}

ArrayType *
names_of_group_type(const group_type *type)
{
	Datum		names[2];
	int			count = 1;
	HeapTuple	tuple;

	if (!OidIsValid(type->type))
		return NULL;
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type->type));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for type %u", type->type);
	names[0] = qualified_name(((Form_pg_type) GETSTRUCT(tuple))->typnamespace,
							  &((Form_pg_type) GETSTRUCT(tuple))->typname);
	ReleaseSysCache(tuple);
	tuple = type->strict
		? NULL
		: SearchSysCache1(COLLOID, ObjectIdGetDatum(type->collation));
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_collation form = (Form_pg_collation) GETSTRUCT(tuple);

		names[count++] = qualified_name(form->collnamespace, &form->collname);
		ReleaseSysCache(tuple);
	}
	return make_text_array(names, (Size) count);
}

/*
 * Splits a qualified name. Sets *name to the part after the schema. Returns
 * the OID of the schema, or InvalidOid if there is no such schema. Does not
 * check privileges on the schema, because a role that uses a model need not
 * have any.
 */
static Oid
schema_of_name(Datum qualified, Datum *name)
{
	List	   *parts;

	if (!SplitIdentifierString(TextDatumGetCString(qualified), '.', &parts) ||
		list_length(parts) != 2)
		return InvalidOid;
	*name = CStringGetDatum(lsecond(parts));
	return get_namespace_oid(linitial(parts), true);
}

static Oid
type_of_qualified_name(Datum qualified)
{
	Datum		name;
	Oid			schema = schema_of_name(qualified, &name);

	return OidIsValid(schema)
		? GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, name, ObjectIdGetDatum(schema))
		: InvalidOid;
}

static Oid
collation_of_qualified_name(Datum qualified)
{
	Datum		name;
	Oid			schema = schema_of_name(qualified, &name);
	Oid			found;

	if (!OidIsValid(schema))
		return InvalidOid;
	found = GetSysCacheOid3(COLLNAMEENCNSP, Anum_pg_collation_oid, name,
							Int32GetDatum(GetDatabaseEncoding()), ObjectIdGetDatum(schema));
	return OidIsValid(found) ? found
		: GetSysCacheOid3(COLLNAMEENCNSP, Anum_pg_collation_oid, name, Int32GetDatum(-1),
						  ObjectIdGetDatum(schema));
}

group_type
group_type_of_names(ArrayType *names)
{
	group_type	none = {InvalidOid};
	Datum	   *elements;
	int			count;
	Oid			type;
	Oid			collation;

	if (names == NULL)
		return none;
	elements = read_text_array(names, &count);
	if (count < 1)
		return none;
	type = type_of_qualified_name(elements[0]);
	collation = OidIsValid(type) ? get_typcollation(type) : InvalidOid;
	if (count > 1)
		collation = collation_of_qualified_name(elements[1]);
	if (!OidIsValid(type) || (count > 1 && !OidIsValid(collation)))
		return none;
	return group_type_of(type, collation);
}

/* ---- finders ---- */

typedef enum given_form
{
	GIVEN_TEXT,					/* a value whose text is the text of its group */
	GIVEN_LABEL,				/* a text that must be a group or a label of
								 * the column's enum */
	GIVEN_INPUT,				/* a value whose text is read by the input
								 * function of the column's type */
	GIVEN_VALUE,				/* a value of the column's type */
	GIVEN_COMPARABLE,			/* a value that is compared by = */
	GIVEN_CAST					/* a value that is cast to the column's type */
} given_form;

/* A prepared expression with one parameter, the value to be converted. */
typedef struct prepared_conversion
{
	ExprState  *state;			/* NULL if the value needs no conversion */
	ExprContext *context;
	ParamListInfo parameter;
} prepared_conversion;

/* A given value and its group. */
typedef struct known_value
{
	Datum		value;
	const text *group;			/* NULL if there is no such group */
	int			place;
	uint32		hash;
	char		status;			/* used by simplehash.h */
} known_value;

struct group_finder
{
	MemoryContext context;
	group_type	type;
	Oid			declared;		/* type of the given values */
	Oid			given;			/* base type of the given values */
	const char *column;
	bool		of_categories;	/* true if the finder is for categories, false
								 * if it is for groups */
	bool		settings;		/* true if settings affect the texts of the
								 * column's type */
	given_form	form;
	bool		compares;		/* true if values are compared, false if only
								 * their texts are */
	value_reader as_given;		/* reads the text of a given value */
	value_reader as_group;		/* reads the text of a value of the column's
								 * type */

	FmgrInfo	input;
	Oid			input_parameter;
	prepared_conversion side;	/* conversion of a given value to the type of
								 * the left operand of =, or to the column's
								 * type */
	prepared_conversion group_side; /* conversion of a group's value to the
									 * type of the right operand of = */
	prepared_conversion back;	/* conversion of a value of the column's type
								 * to the given type */
	Oid			collation;
	FmgrInfo	equal;
	FmgrInfo	hash;			/* hash functions of both sides of the
								 * comparison */
	FmgrInfo	group_hash;
	bool		hashed;
	FmgrInfo	same;			/* equality of the given type, for lookups in
								 * `known` */

	int			count;			/* number of groups */
	text	  **groups;
	Datum	   *values;			/* values of the groups, in the type of the
								 * right operand of = */
	int		   *next;			/* next group in the same hash bucket, or -1 */
	int		   *first;			/* first group of each bucket, or -1 */
	uint32		mask;			/* number of buckets - 1 */
	uint32	   *hashes;

	MemoryContext known_context;
	struct known_hash *known;	/* cache of given values and their groups */
	int16		length;			/* typlen of the given type */
	bool		by_value;
};

#define SH_PREFIX known
#define SH_ELEMENT_TYPE known_value
#define SH_KEY_TYPE Datum
#define SH_KEY value
#define SH_HASH_KEY(table, key) \
	hash_given((table)->private_data, key)
#define SH_EQUAL(table, a, b) same_given((table)->private_data, a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) (entry)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE

static uint32
hash_given(const group_finder *finder, Datum value)
{
	if (finder->by_value)
		return (uint32) fc_hash_bytes(0, &value, sizeof(value));
	return (uint32) fc_hash_bytes(0, DatumGetPointer(value),
								  datumGetSize(value, false, finder->length));
}

static bool
same_given(const group_finder *finder, Datum a, Datum b)
{
	return a == b || datumIsEqual(a, b, finder->by_value, finder->length);
}

#include "lib/simplehash.h"

/* ---- making a finder ---- */

static bool
is_other_function(Oid function, void *context)
{
	return !is_installed_function(function);
}

/* Does the expression call a function that is not installed? */
static bool
has_other_function(Node *node, void *context)
{
	return node != NULL &&
		(check_functions_in_node(node, is_other_function, NULL) ||
		 expression_tree_walker(node, has_other_function, context));
}

static Param *
parameter_of_type(Oid type, Oid collation)
{
	Param	   *parameter = makeNode(Param);

	parameter->paramkind = PARAM_EXTERN;
	parameter->paramid = 1;
	parameter->paramtype = type;
	parameter->paramtypmod = -1;
	parameter->paramcollid = collation;
	parameter->location = -1;
	return parameter;
}

/* Prepares an expression whose parameter has the given type. */
static prepared_conversion
prepare_conversion(Node *expression, Oid type)
{
	prepared_conversion made = {NULL};
	EState	   *estate;

	if (IsA(expression, Param))
		return made;
	made.parameter = makeParamList(1);
	made.parameter->params[0].ptype = type;
	made.parameter->params[0].pflags = 0;
	estate = CreateExecutorState();
	estate->es_param_list_info = made.parameter;
	made.state = ExecPrepareExpr((Expr *) expression, estate);
	made.context = CreateStandaloneExprContext();
	made.context->ecxt_param_list_info = made.parameter;
	return made;
}

/* Returns the converted value, in the current context. */
static Datum
converted(const prepared_conversion *conversion, Datum value, bool *null)
{
	*null = false;
	if (conversion->state == NULL)
		return value;
	conversion->parameter->params[0].value = value;
	conversion->parameter->params[0].isnull = false;
	return ExecEvalExpr(conversion->state, conversion->context, null);
}

/*
 * Sets the hash functions of both sides of the comparison. If `hash` is
 * invalid, a value will be compared with every group.
 */
static void
set_hash_functions(group_finder *finder, Oid hash, Oid group_hash)
{
	finder->hashed = OidIsValid(hash);
	if (!finder->hashed)
		return;
	fmgr_info_cxt(hash, &finder->hash, finder->context);
	fmgr_info_cxt(group_hash, &finder->group_hash, finder->context);
}

/*
 * Makes the finder compare values by the operator that GROUP BY uses for a
 * type.
 */
static void
compare_values(group_finder *finder, Oid type, Oid collation)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_EQ_OPR_FINFO |
											  TYPECACHE_HASH_PROC_FINFO);

	finder->compares = true;
	finder->collation = collation;
	fmgr_info_cxt(entry->eq_opr_finfo.fn_oid, &finder->equal, finder->context);
	set_hash_functions(finder, entry->hash_proc, entry->hash_proc);
}

/*
 * Sets hash functions that give equal hashes for equal values of both types,
 * if the operator has such functions.
 */
static void
find_hash_functions(group_finder *finder, Oid operator, Oid left, Oid right)
{
	Oid			hash;
	Oid			group_hash;

	if (op_hashjoinable(operator, left) &&
		(left != right ||
		 OidIsValid(lookup_type_cache(left, TYPECACHE_HASH_PROC)->hash_proc)) &&
		get_op_hash_functions(operator, &hash, &group_hash))
		set_hash_functions(finder, hash, group_hash);
}

/*
 * Looks for the operator = of pg_catalog for the given type and the column's
 * type. Returns false if the parser finds no such operator, or if the
 * comparison would call a function that is not installed.
 */
static bool
compares_types(group_finder *finder)
{
	List	   *name = list_make2(makeString(pstrdup("pg_catalog")),
								  makeString(pstrdup("=")));
	Operator	found = oper(NULL, name, finder->given, finder->type.type, true, -1);
	OpExpr	   *equal;
	Node	   *left;
	Node	   *right;

	if (found == NULL)
		return false;
	ReleaseSysCache(found);
	equal = (OpExpr *) make_op(make_parsestate(NULL), name,
							   (Node *) parameter_of_type(finder->given,
														  get_typcollation(finder->given)),
							   (Node *) parameter_of_type(finder->type.type,
														  finder->type.collation),
							   NULL, -1);
	if (!IsA(equal, OpExpr) || equal->opresulttype != BOOLOID ||
		has_other_function((Node *) equal, NULL))
		return false;
	left = linitial(equal->args);
	right = lsecond(equal->args);
	finder->side = prepare_conversion(left, finder->given);
	finder->group_side = prepare_conversion(right, finder->type.type);
	finder->collation = OidIsValid(finder->type.collation)
		? finder->type.collation
		: get_typcollation(exprType(left));
	set_opfuncid(equal);
	fmgr_info_cxt(equal->opfuncid, &finder->equal, finder->context);
	find_hash_functions(finder, equal->opno, exprType(left), exprType(right));
	finder->compares = true;
	return true;
}

/*
 * Prepares the cast of one type to another. Returns false if there is no cast,
 * or if it calls a function that is not installed.
 */
static bool
casts_type(Oid from, Oid to, CoercionContext context,
		   prepared_conversion *conversion)
{
	Node	   *value = (Node *) parameter_of_type(from, get_typcollation(from));
	Node	   *cast = (can_coerce_type(1, &from, &to, context)
						? coerce_to_target_type(make_parsestate(NULL), value, from,
												to, -1, context,
												COERCE_IMPLICIT_CAST, -1)
						: NULL);

	if (cast == NULL || has_other_function(cast, NULL))
		return false;
	*conversion = prepare_conversion(cast, from);
	return true;
}

/*
 * Looks for casts to the column's type and back. Returns false if one of them
 * is missing, or if values of the given type cannot be compared.
 */
static bool
casts_types(group_finder *finder)
{
	TypeCacheEntry *entry = lookup_type_cache(finder->given, TYPECACHE_EQ_OPR_FINFO);

	if (!OidIsValid(entry->eq_opr) ||
		!casts_type(finder->given, finder->type.type, COERCION_ASSIGNMENT,
					&finder->side) ||
		!casts_type(finder->type.type, finder->given, COERCION_EXPLICIT,
					&finder->back))
		return false;
	fmgr_info_cxt(entry->eq_opr_finfo.fn_oid, &finder->same, finder->context);
	if (!finder->type.strict)
		compare_values(finder, finder->type.type, finder->type.collation);
	return true;
}

/* Is it a type of pg_catalog whose values are texts? */
static bool
is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID ||
		type == NAMEOID || type == UNKNOWNOID;
}

static bool
is_text_or_char(Oid type)
{
	return is_text(type) || type == CHAROID;
}

/* Returns 'column "name"', or 'the groups'. */
static const char *
shown_column(const group_finder *finder)
{
	return finder->column != NULL
		? psprintf("column \"%s\"", finder->column)
		: "the groups";
}

static void
find_form(group_finder *finder)
{
	Oid			type = finder->type.type;
	bool		strict = finder->type.strict;
	bool		installed = (OidIsValid(installed_base(finder->given)) &&
							 OidIsValid(installed_base(type)));
	Oid			function;

	finder->form = GIVEN_TEXT;
	if (!OidIsValid(type) ||
		(strict && (finder->given == type ||
					(type != BPCHAROID && is_text_or_char(type)))))
		return;					/* values of any type are found by their texts */
	if (is_text(finder->given) || is_text(type))
	{
		finder->form = type_is_enum(type) ? GIVEN_LABEL : GIVEN_INPUT;
		getTypeInputInfo(type, &function, &finder->input_parameter);
		fmgr_info_cxt(function, &finder->input, finder->context);
		if (finder->form == GIVEN_LABEL)
			compare_values(finder, TEXTOID, C_COLLATION_OID);
		else if (!strict)
			compare_values(finder, type, finder->type.collation);
	}
	else if (finder->given == type)
	{
		finder->form = GIVEN_VALUE;
		compare_values(finder, type, finder->type.collation);
	}
	else if (installed && compares_types(finder))
		finder->form = GIVEN_COMPARABLE;
	else if (installed && casts_types(finder))
		finder->form = GIVEN_CAST;
	else
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
				errmsg("group_value is of type %s, but %s of type %s",
					   format_type_be(finder->given), shown_column(finder),
					   format_type_be(type)),
				errdetail("Values of these types can neither be compared nor converted."),
				errhint("Pass a value of type %s, or its text.", format_type_be(type)));
}

/* Makes a finder in a child of the current context. */
static group_finder *
new_finder(const group_type *type, Oid given, const char *column)
{
	MemoryContext own = AllocSetContextCreate(CurrentMemoryContext,
											  "fastclust groups",
											  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(own);
	group_finder *finder = palloc0(sizeof(group_finder));

	finder->context = own;
	finder->type = *type;
	finder->declared = given;
	finder->given = getBaseType(given);
	finder->column = column != NULL ? pstrdup(column) : NULL;
	finder->settings = OidIsValid(type->type) && text_has_settings(type->type);
	find_form(finder);
	if (column == NULL)
		column = "group_value";
	make_value_reader(finder->given, column, true, own, &finder->as_given);
	if (OidIsValid(type->type) && !finder->compares)
		make_value_reader(type->type, column, true, own, &finder->as_group);
	get_typlenbyval(finder->given, &finder->length, &finder->by_value);
	MemoryContextSwitchTo(old);
	return finder;
}

group_finder *
make_group_finder(const group_type *type, Oid given, const char *column,
				  MemoryContext context)
{
	group_finder *finder = new_finder(type, given, column);

	MemoryContextSetParent(finder->context, context);
	return finder;
}

bool
finds_type(const group_finder *finder, Oid given)
{
	return finder->declared == given;
}

bool
needs_groups(const group_finder *finder)
{
	return finder->compares;
}

/* ---- reading texts ---- */

typedef struct text_reading
{
	const group_finder *finder;
	const char *string;
	bool		is_group;
} text_reading;

/* Error context callback that names the text which an input function reads. */
static void
explain_reading(void *argument)
{
	const text_reading *now = argument;
	bool		category = now->finder->of_categories;

	if (now->is_group)
		errcontext("%s \"%s\" of %s, of type %s",
				   category ? "category" : "group", now->string,
				   shown_column(now->finder),
				   format_type_be(now->finder->type.type));
	else if (category)
		errcontext("text to find among the categories of %s, of type %s",
				   shown_column(now->finder),
				   format_type_be(now->finder->type.type));
	else
		errcontext("group_value of type %s for %s of type %s",
				   format_type_be(now->finder->given),
				   shown_column(now->finder),
				   format_type_be(now->finder->type.type));
}

/*
 * Reads a text as a value of the column's type. Times without a zone are in
 * UTC, as in the texts of groups.
 */
static Datum
read_text(group_finder *finder, FmgrInfo *input, Oid parameter,
		  const char *string, bool is_group)
{
	text_reading now = {finder, string, is_group};
	ErrorContextCallback callback = {error_context_stack, explain_reading, &now};
	int			level = finder->settings ? fix_settings(FIX_OUTPUT) : 0;
	Datum		value;

	error_context_stack = &callback;
	value = InputFunctionCall(input, pstrdup(string), parameter, -1);
	error_context_stack = callback.previous;
	if (finder->settings)
		AtEOXact_GUC(true, level);
	return value;
}

/* ---- the groups ---- */

static uint32
hash_of(FmgrInfo *function, Oid collation, Datum value)
{
	uint32		hash = DatumGetUInt32(FunctionCall1Coll(function, collation,
														value));

	return hash ^ (hash >> 16);
}

void
set_groups(group_finder *finder, ArrayType *groups)
{
	MemoryContext old = MemoryContextSwitchTo(finder->context);
	FmgrInfo	input;
	Oid			function;
	Oid			parameter;
	int16		length;
	bool		by_value;
	uint32		buckets = 16;

	getTypeInputInfo(finder->type.type, &function, &parameter);
	fmgr_info(function, &input);
	finder->groups = (text **) read_text_array(DatumGetArrayTypePCopy(PointerGetDatum(groups)),
											   &finder->count);
	finder->values = palloc(Max(1, finder->count) * sizeof(Datum));
	while (buckets < 2 * (uint32) finder->count)
		buckets *= 2;
	finder->mask = buckets - 1;
	if (finder->hashed)
	{
		finder->hashes = palloc(Max(1, finder->count) * sizeof(uint32));
		finder->next = palloc(Max(1, finder->count) * sizeof(int));
		finder->first = palloc(buckets * sizeof(int));
		memset(finder->first, -1, buckets * sizeof(int));
	}
	get_typlenbyval(finder->type.type, &length, &by_value);
	for (int i = finder->count; i-- > 0;)
	{
		bool		null;
		Datum		value = PointerGetDatum(finder->groups[i]);

		if (finder->form != GIVEN_LABEL)
			value = read_text(finder, &input, parameter, text_to_cstring(finder->groups[i]), true);
		value = converted(&finder->group_side, value, &null);
		if (null)
			elog(ERROR, "the cast of group \"%s\" returned NULL",
				 text_to_cstring(finder->groups[i]));
		finder->values[i] = value;
		if (!finder->hashed)
			continue;
		finder->hashes[i] = hash_of(&finder->group_hash, finder->collation, value);
		finder->next[i] = finder->first[finder->hashes[i] & finder->mask];
		finder->first[finder->hashes[i] & finder->mask] = i;
	}
	MemoryContextSwitchTo(old);
}

group_finder *
make_category_finder(const group_type *type, const char *column,
					 ArrayType *categories, MemoryContext context)
{
	group_finder *finder = new_finder(type, TEXTOID, column);

	finder->of_categories = true;
	set_groups(finder, categories);
	MemoryContextSetParent(finder->context, context);
	return finder;
}

static bool
equals_group(group_finder *finder, Datum value, int i)
{
	return DatumGetBool(FunctionCall2Coll(&finder->equal, finder->collation,
										  value, finder->values[i]));
}

/* Returns the index of the group that equals a converted value, or -1. */
static int
place_of_value(group_finder *finder, Datum value)
{
	uint32		hash;

	if (!finder->hashed)
	{
		for (int i = 0; i < finder->count; i++)
			if (equals_group(finder, value, i))
				return i;
		return -1;
	}
	hash = hash_of(&finder->hash, finder->collation, value);
	for (int i = finder->first[hash & finder->mask]; i >= 0; i = finder->next[i])
		if (finder->hashes[i] == hash && equals_group(finder, value, i))
			return i;
	return -1;
}

/* ---- a given value ---- */

/* Reads the text of a given value as a value of the column's type. */
static Datum
read_given(group_finder *finder, Datum given)
{
	return read_text(finder, &finder->input, finder->input_parameter,
					 text_to_cstring(value_as_text(&finder->as_given, given)), false);
}

/*
 * Converts a given value to the type of the left operand of =, to the column's
 * type or, for an enum column, to text. Returns false if no group can equal
 * the value: if the conversion returns NULL, or if the cast back does not
 * return the given value.
 */
static bool
convert_given(group_finder *finder, Datum given, Datum *value)
{
	bool		null = false;

	if (finder->form == GIVEN_LABEL)
		*value = PointerGetDatum(value_as_text(&finder->as_given, given));
	else if (finder->form == GIVEN_INPUT)
		*value = read_given(finder, given);
	else
		*value = converted(&finder->side, given, &null);
	if (!null && finder->form == GIVEN_CAST)
	{
		Datum		back = converted(&finder->back, *value, &null);

		return !null &&
			DatumGetBool(FunctionCall2Coll(&finder->same,
										   get_typcollation(finder->given),
										   given, back));
	}
	return !null;
}

static void
find_given(group_finder *finder, known_value *known)
{
	Datum		value;

	known->place = -1;
	known->group = NULL;
	if (!convert_given(finder, known->value, &value))
		return;
	if (finder->compares)
	{
		known->place = place_of_value(finder, value);
		if (known->place >= 0)
			known->group = finder->groups[known->place];
		else if (finder->form == GIVEN_LABEL)
			(void) read_given(finder, known->value);	/* raises an error
														 * unless it is a label */
	}
	else
	{
		const text *group = value_as_text(&finder->as_group, value);

		known->group = memcpy(MemoryContextAlloc(finder->known_context,
												 VARSIZE_ANY(group)),
							  group, VARSIZE_ANY(group));
	}
}

static void
forget_known(group_finder *finder)
{
	if (finder->known_context == NULL)
		finder->known_context = AllocSetContextCreate(finder->context,
													  "fastclust values of groups",
													  ALLOCSET_SMALL_SIZES);
	MemoryContextReset(finder->known_context);
	finder->known = known_create(finder->known_context, 64, finder);
}

/* Returns the group of a given value, from the cache if it was given before. */
static known_value
group_of_given(group_finder *finder, Datum given)
{
	known_value *entry;
	known_value made = {0};
	bool		large;
	bool		found;
	MemoryContext old;

	if (finder->length == -1)
		given = PointerGetDatum(PG_DETOAST_DATUM_PACKED(given));
	large = finder->compares && finder->length == -1 &&
		VARSIZE_ANY(DatumGetPointer(given)) > MAX_KNOWN_BYTES;
	if (!large && (finder->known == NULL || finder->known->members >= MAX_KNOWN))
		forget_known(finder);
	entry = large ? NULL : known_lookup(finder->known, given);
	if (entry != NULL)
		return *entry;
	made.value = given;
	find_given(finder, &made);
	if (large)
		return made;
	old = MemoryContextSwitchTo(finder->known_context);
	given = datumCopy(given, finder->by_value, finder->length);
	MemoryContextSwitchTo(old);
	entry = known_insert(finder->known, given, &found);
	entry->group = made.group;
	entry->place = made.place;
	return *entry;
}

int
place_of_group(group_finder *finder, Datum value)
{
	return group_of_given(finder, value).place;
}

const text *
text_of_group(group_finder *finder, Datum value)
{
	return finder->form == GIVEN_TEXT ? text_as_given(finder, value)
		: group_of_given(finder, value).group;
}

const text *
text_as_given(group_finder *finder, Datum value)
{
	return value_as_text(&finder->as_given, value);
}

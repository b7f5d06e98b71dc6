/*
 * row_condition.c - the option "where", a condition on the rows of a relation
 *
 * A condition is stored with a model and runs later with the rights of every
 * role that scans the table for the model. It may therefore use only elements
 * that no role can misuse: columns of the relation, constants, and immutable
 * functions and operators of pg_catalog. A condition is checked in three
 * steps:
 *     grammar      the text is one expression, has only the kinds of nodes
 *                  listed below, and names no schema but pg_catalog
 *     analysis     the server's parser resolves types and functions. It may
 *                  call input functions for constants, but only of types that
 *                  the first step accepted.
 *     functions    each function in the result is built in and immutable
 * The result is written as text again, with every name as analysis resolved
 * it. This text is checked again wherever it is used.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/namespace.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "parser/parse_type.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/model/row_condition.h"

#define SELECT_WORD	"SELECT "	/* prefix that makes the condition a query,
								 * which the grammar requires */
#define ALIAS		"t"

/* Maximum length of a condition in bytes. A guess. */
#define MAX_CONDITION_BYTES	10000

/* Maximum number of bytes of the condition that a message shows. */
#define MAX_SHOWN_BYTES	200

/* A condition that is being read. */
typedef struct read_condition
{
	const char *given;			/* the condition as it was given */
	const char *query;			/* SELECT_WORD followed by the condition */
	Relation	relation;
	List	   *columns;		/* attribute numbers of the columns that the
								 * condition reads, without duplicates */
	bool		in_server;		/* true while the server's parser runs: an
								 * error then comes from the parser, not from
								 * the checks here */
} read_condition;

/* ---- errors ---- */

/*
 * Returns the position in the condition, in characters from 1, of a byte of
 * the query; 0 if it is outside of the condition.
 */
static int
character_at(const read_condition *c, int location)
{
	int			offset = location - (int) strlen(SELECT_WORD);

	return offset < 0 || offset > (int) strlen(c->given)
		? 0
		: pg_mbstrlen_with_len(c->given, offset) + 1;
}

static int
errplace(const read_condition *c, int character)
{
	int			shown = pg_mbcliplen(c->given, (int) strlen(c->given), MAX_SHOWN_BYTES);
	const char *more = c->given[shown] == '\0' ? "" : " ...";

	return character > 0 ? errdetail("At character %d of: %.*s%s", character,
									 shown, c->given, more)
		: errdetail("In: %.*s%s", shown, c->given, more);
}

static void
reject(const read_condition *c, const char *what, int location)
{
	ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("option \"where\" cannot use %s", what),
			errplace(c, character_at(c, location)),
			errhint("A condition may use columns of the table, constants, and immutable functions and operators of PostgreSQL. For other conditions, train on a view."));
}

/*
 * Rethrows an error of the server's grammar or analysis. Adds a detail with
 * the position in the condition, because the position in the original error
 * refers to the query that was built here.
 */
static void
rethrow_with_place(const read_condition *c, MemoryContext context)
{
	ErrorData  *error;
	int			place;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	if (ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_INTERNAL_ERROR ||
		ERRCODE_TO_CATEGORY(error->sqlerrcode) == ERRCODE_OPERATOR_INTERVENTION)
		PG_RE_THROW();
	FlushErrorState();
	/* a query of PL/pgSQL moves the position from cursorpos to internalpos */
	place = error->cursorpos > 0 ? error->cursorpos : error->internalpos;
	ereport(ERROR, errcode(error->sqlerrcode),
			errmsg("option \"where\": %s", error->message),
			errplace(c, place - (int) strlen(SELECT_WORD)),
			error->hint != NULL ? errhint("%s", error->hint) : 0);
}

/* ---- grammar ---- */

static bool
is_plain_select(const SelectStmt *s)
{
	return s->op == SETOP_NONE && list_length(s->targetList) == 1 &&
		s->distinctClause == NIL && s->intoClause == NULL &&
		s->fromClause == NIL && s->whereClause == NULL &&
		s->groupClause == NIL && s->havingClause == NULL &&
		s->windowClause == NIL && s->valuesLists == NIL &&
		s->sortClause == NIL && s->limitOffset == NULL &&
		s->limitCount == NULL && s->lockingClause == NIL &&
		s->withClause == NULL;
}

/* Returns the only expression of the text, or raises an error. */
static Node *
only_expression(const read_condition *c, List *statements)
{
	Node	   *statement = (list_length(statements) == 1
							 ? (linitial_node(RawStmt, statements))->stmt
							 : NULL);
	ResTarget  *target = NULL;

	if (statement != NULL && IsA(statement, SelectStmt) &&
		is_plain_select((SelectStmt *) statement))
		target = linitial_node(ResTarget,
							   ((SelectStmt *) statement)->targetList);
	if (target == NULL || target->name != NULL || target->indirection != NIL)
		ereport(ERROR, errcode(ERRCODE_SYNTAX_ERROR),
				errmsg("option \"where\" must be one condition"),
				errplace(c, 0));
	return target->val;
}

/*
 * Rejects a name in a schema other than pg_catalog, because any role may have
 * created the object.
 */
static void
check_name(const read_condition *c, List *name, const char *what, int location)
{
	if (list_length(name) > 2 ||
		(list_length(name) == 2 &&
		 strcmp(strVal(linitial(name)), "pg_catalog") != 0))
		reject(c, psprintf("%s %s", what, NameListToString(name)), location);
}

/*
 * Returns true if the type's input function runs no user-defined code. This
 * holds for built-in types, enums, and arrays of these, but not for domains,
 * which have checks.
 */
static bool
is_harmless_type(Oid type)
{
	Oid			element = get_element_type(type);
	char		kind = get_typtype(type);

	if (OidIsValid(element) && type >= FirstNormalObjectId)
		return is_harmless_type(element);
	return kind == TYPTYPE_ENUM ||
		(type < FirstNormalObjectId && kind != TYPTYPE_COMPOSITE &&
		 kind != TYPTYPE_DOMAIN && kind != TYPTYPE_PSEUDO);
}

static void
check_column(read_condition *c, const ColumnRef *ref)
{
	Node	   *last = llast(ref->fields);
	const char *name = IsA(last, String) ? strVal(last) : NULL;
	AttrNumber	number = (name == NULL
						  ? InvalidAttrNumber
						  : get_attnum(RelationGetRelid(c->relation), name));

	if (name == NULL || list_length(ref->fields) > 2)
		reject(c, NameListToString(ref->fields), ref->location);
	if (list_length(ref->fields) == 2 &&
		strcmp(strVal(linitial(ref->fields)), ALIAS) != 0)
		reject(c,
			   psprintf("%s: write the name of the column alone",
						NameListToString(ref->fields)),
			   ref->location);
	if (number < 0)
		reject(c, psprintf("the system column %s", name), ref->location);
	if (number == InvalidAttrNumber)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_COLUMN),
				errmsg("option \"where\": column \"%s\" of %s does not exist",
					   name, RelationGetRelationName(c->relation)),
				errplace(c, character_at(c, ref->location)));
	if (!is_harmless_type(TupleDescAttr(RelationGetDescr(c->relation),
										number - 1)->atttypid))
		reject(c,
			   psprintf("column \"%s\", of a type that is not built in", name),
			   ref->location);
	c->columns = list_append_unique_int(c->columns, number);
}

static void
check_cast(const read_condition *c, const TypeCast *cast)
{
	Type		type = (cast->typeName->pct_type
						? NULL
						: LookupTypeName(NULL, cast->typeName, NULL, true));
	bool		harmless = type == NULL || is_harmless_type(typeTypeId(type));

	if (type != NULL)
		ReleaseSysCache(type);
	if (!harmless || cast->typeName->pct_type)
		reject(c, psprintf("type %s", TypeNameToString(cast->typeName)),
			   cast->location);
}

/*
 * Raises an error if the raw parse tree has a node of a kind not listed here,
 * or a name or type that is not accepted. Always returns false.
 */
static bool
check_grammar(Node *node, void *context)
{
	read_condition *c = context;
	FuncCall   *call;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_A_Const:
			return false;
		case T_ColumnRef:
			check_column(c, (ColumnRef *) node);
			return false;
		case T_TypeCast:
			check_cast(c, (TypeCast *) node);
			return check_grammar(((TypeCast *) node)->arg, context);
		case T_FuncCall:
			call = (FuncCall *) node;
			check_name(c, call->funcname, "function", call->location);
			if (call->agg_order != NIL || call->agg_filter != NULL ||
				call->over != NULL || call->agg_within_group ||
				call->agg_distinct || call->agg_star)
				reject(c,
					   psprintf("the aggregate or window function %s",
								NameListToString(call->funcname)),
					   call->location);
			break;
		case T_A_Expr:
			check_name(c, ((A_Expr *) node)->name, "operator",
					   ((A_Expr *) node)->location);
			break;
		case T_List:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_A_ArrayExpr:
		case T_A_Indirection:
		case T_A_Indices:
		case T_NamedArgExpr:
			break;
		case T_SubLink:
			reject(c, "a subquery", exprLocation(node));
			break;
		case T_ParamRef:
			reject(c, "a parameter", exprLocation(node));
			break;
		case T_SQLValueFunction:
			reject(c, "the current date, time or user: they change",
				   exprLocation(node));
			break;
		default:
			reject(c, "this kind of expression", exprLocation(node));
	}
	return raw_expression_tree_walker(node, check_grammar, context);
}

/* ---- analysis ---- */

static Node *
analyse(const read_condition *c, Node *raw)
{
	ParseState *state = make_parsestate(NULL);
	ParseNamespaceItem *item;
	Node	   *expression;

	state->p_sourcetext = c->query;
	item = addRangeTableEntryForRelation(state, c->relation, AccessShareLock,
										 makeAlias(ALIAS, NIL), false, true);
	addNSItemToQuery(state, item, true, true, true);
	expression = transformExpr(state, raw, EXPR_KIND_WHERE);
	expression = coerce_to_boolean(state, expression, "where");
	assign_expr_collations(state, expression);
	return expression;
}

/* ---- functions ---- */

static bool
is_forbidden_function(Oid function, void *context)
{
	return function >= FirstNormalObjectId ||
		get_func_namespace(function) != PG_CATALOG_NAMESPACE ||
		func_volatile(function) != PROVOLATILE_IMMUTABLE;
}

static const char *
function_problem(Node *node)
{
	Oid			function = (IsA(node, FuncExpr) ? ((FuncExpr *) node)->funcid
							: IsA(node, OpExpr) ? ((OpExpr *) node)->opfuncid
							: InvalidOid);

	if (!OidIsValid(function))
		return "a function or operator that is volatile, stable or user-defined";
	if (get_func_namespace(function) != PG_CATALOG_NAMESPACE ||
		function >= FirstNormalObjectId)
		return psprintf("function %s, which is not built in",
						get_func_name(function));
	if (IsA(node, OpExpr))
		return psprintf("operator %s between these types: its result depends on settings",
						get_opname(((OpExpr *) node)->opno));
	return psprintf("function %s, whose result is not the same every time",
					get_func_name(function));
}

/*
 * Raises an error if the analyzed expression has a node of a kind not listed
 * here, or calls a forbidden function. Always returns false.
 */
static bool
check_functions(Node *node, void *context)
{
	const read_condition *c = context;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
		case T_Const:
		case T_List:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_FuncExpr:
		case T_NamedArgExpr:
		case T_BoolExpr:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_RelabelType:
		case T_CoerceViaIO:
		case T_ArrayCoerceExpr:
		case T_ArrayExpr:
		case T_SubscriptingRef:
			break;
		default:
			reject(c, "this kind of expression", exprLocation(node));
	}
	(void) expression_tree_walker(node, check_functions, context);
	if (check_functions_in_node(node, is_forbidden_function, NULL))
		reject(c, function_problem(node), exprLocation(node));
	return false;
}

/* ---- the condition ---- */

static Node *
checked(read_condition *c)
{
	MemoryContext context = CurrentMemoryContext;
	Node	   *raw;
	Node	   *volatile expression = NULL;

	PG_TRY();
	{
		List	   *statements;

		c->in_server = true;
		statements = parse_statements(c->query);
		c->in_server = false;
		raw = only_expression(c, statements);
		(void) check_grammar(raw, c);
		c->in_server = true;
		expression = analyse(c, raw);
		c->in_server = false;
		(void) check_functions(expression, c);
	}
	PG_CATCH();
	{
		if (!c->in_server)
			PG_RE_THROW();
		rethrow_with_place(c, context);
	}
	PG_END_TRY();
	return expression;
}

static ArrayType *
column_names(const read_condition *c)
{
	TupleDesc	descriptor = RelationGetDescr(c->relation);
	Datum	   *names = palloc((Size) Max(list_length(c->columns), 1) *
							   sizeof(Datum));
	int			count = 0;
	ListCell   *cell;

	foreach(cell, c->columns)
		names[count++] = NameGetDatum(&TupleDescAttr(descriptor,
													 lfirst_int(cell) - 1)->attname);
	return construct_array(names, count, NAMEOID, NAMEDATALEN, false,
						   TYPALIGN_CHAR);
}

/*
 * Reads the condition under fixed settings, except that times without a zone
 * are in the session's time zone. In the result, times are in UTC and have a
 * zone.
 */
char *
resolved_condition(Oid relation, const char *text, ArrayType **columns)
{
	read_condition c = {0};
	Node	   *expression;
	char	   *resolved;
	int			level = fix_settings(FIX_READING | FIX_CONDITION);

	c.given = text;

	if (strlen(c.given) > MAX_CONDITION_BYTES)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("option \"where\" has %zu bytes, but may have at most %d",
					   strlen(c.given), MAX_CONDITION_BYTES));
	c.query = psprintf("%s%s", SELECT_WORD, c.given);
	c.relation = existing_relation(relation, AccessShareLock);
	expression = checked(&c);
	(void) fix_settings(FIX_ALL);
	resolved = deparse_expression(expression,
								  deparse_context_for(ALIAS, relation), true,
								  false);
	if (columns != NULL)
		*columns = column_names(&c);

	/*
	 * the lock is released, because the caller may have no right to the
	 * relation
	 */
	table_close(c.relation, AccessShareLock);
	AtEOXact_GUC(true, level);
	return resolved;
}

/*
 * Takes (relation, condition). Returns the condition as it is stored, with
 * names resolved and the alias t, and the columns that it reads.
 */
PG_FUNCTION_INFO_V1(fastclust_row_condition);
Datum
fastclust_row_condition(PG_FUNCTION_ARGS)
{
	ArrayType  *columns;
	char	   *given;
	Datum		values[2];

	given = text_to_cstring(PG_GETARG_TEXT_PP(1));
	values[0] = CStringGetTextDatum(resolved_condition(PG_GETARG_OID(0), given,
													   &columns));
	values[1] = PointerGetDatum(columns);
	return row_result(fcinfo, values, NULL);
}

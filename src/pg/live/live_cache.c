/*
 * live_cache.c - cache of the live sketches that the triggers of this process
 * need; each is read once
 *
 * A live sketch with a given id always counts the same rows and columns.
 * Therefore an entry is valid until the server invalidates the relation
 * because the table changes. An entry is read under the latest snapshot: a
 * transaction that began before keep_sketch must count the rows that it writes
 * afterwards.
 *
 * Expressions are also initialized only once. The first statement of a session
 * prepares an encoder and looks up the types of its columns; later statements
 * use the result. The expressions are initialized again after a change of any
 * function, type, cast, enum or role, and for another user. The reason is that
 * an encoder looks up the casts of columns, and runs only code that belongs to
 * the user or to superusers.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pg_list.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_node.h"
#include "parser/parse_relation.h"
#include "parser/parser.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "pg/base/memory.h"
#include "pg/live/live.h"
#include "pg/sketch/sketch_value.h"

/*
 * Key of an entry. It includes the OID of the trigger function, because an
 * extension that is created again after DROP EXTENSION may use the same id.
 */
typedef struct live_key
{
	int64		id;
	Oid			relation;		/* table with the trigger */
	Oid			function;
} live_key;

typedef struct live_entry
{
	live_key	key;
	bool		valid;
	int			name_length;	/* length of `name` in bytes */
	char		name[NAMEDATALEN];	/* common prefix of the names of the live
									 * sketch's triggers */
	MemoryContext context;		/* owns everything that was read for this
								 * entry */
	live_sketch *live;			/* NULL if the table is no leaf of this live
								 * sketch */
} live_entry;

static HTAB *entries = NULL;
static List *retired = NIL;		/* contexts of replaced entries that this
								 * transaction may still read */
static uint64 generation = 0;	/* number of changes of functions, types,
								 * casts, enums and roles seen so far */

/* ---- life ---- */

static void
forget_relation(Datum argument, Oid relation)
{
	HASH_SEQ_STATUS scan;
	live_entry *entry;

	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
		if (relation == InvalidOid || entry->key.relation == relation ||
			(entry->live != NULL && entry->live->deltas == relation))
			entry->valid = false;
}

static void
count_change_of_catalog(Datum argument, int cache, uint32 hash)
{
	generation++;
}

void
live_free_retired(void)
{
	ListCell   *cell;

	foreach(cell, retired)
		MemoryContextDelete(lfirst(cell));
	list_free(retired);
	retired = NIL;
}

static live_entry *
entry_of(const live_key *key)
{
	live_entry *entry;
	bool		found;

	if (entries == NULL)
	{
		entries = make_table("fastclust live sketches", sizeof(live_key),
							 sizeof(live_entry), CacheMemoryContext);
		CacheRegisterRelcacheCallback(forget_relation, (Datum) 0);
		CacheRegisterSyscacheCallback(PROCOID, count_change_of_catalog,
									  (Datum) 0);
		CacheRegisterSyscacheCallback(TYPEOID, count_change_of_catalog,
									  (Datum) 0);
		CacheRegisterSyscacheCallback(CASTSOURCETARGET, count_change_of_catalog,
									  (Datum) 0);
		CacheRegisterSyscacheCallback(ENUMOID, count_change_of_catalog,
									  (Datum) 0);
		CacheRegisterSyscacheCallback(AUTHOID, count_change_of_catalog,
									  (Datum) 0);
	}
	entry = hash_search(entries, key, HASH_ENTER, &found);
	if (!found)
	{
		entry->valid = false;
		entry->name_length = snprintf(entry->name, NAMEDATALEN,
									  "fastclust_live_" INT64_FORMAT "_",
									  key->id);
		entry->context = NULL;
		entry->live = NULL;
	}
	return entry;
}

/* ---- reading ---- */

/*
 * Query for a live sketch ($1) and a leaf ($2). The expressions are NULL if
 * column_problem reports that a column of the leaf was dropped, was renamed or
 * has another type.
 */
static const char live_query[] = "SELECT l.name, p.problem, l.spec, l.drift_spec, v.columns,"
" x.vector, x.group_value, x.bucket, x.filter"
" FROM kept_sketches l JOIN live_leaves v ON v.live_id = l.id, LATERAL (SELECT"
" column_problem(v) AS problem) p"
" LEFT JOIN LATERAL (SELECT e.* FROM live_expressions(l, v.leaf) e WHERE p.problem IS NULL"
" OFFSET 0) x ON true WHERE l.id = $1 AND v.leaf = $2";

enum
{
	COLUMN_NAME = 1,
	COLUMN_PROBLEM,
	COLUMN_SPEC,
	COLUMN_DRIFT_SPEC,
	COLUMN_NUMBERS,
	COLUMN_EXPRESSIONS			/* first of LIVE_EXPRESSIONS columns, which
								 * are the texts of the expressions */
};

void
live_execute(const char *query, int64 id, Oid leaf, bool read_only)
{
	Oid			types[] = {INT8OID, REGCLASSOID};
	Datum		values[] = {Int64GetDatum(id), ObjectIdGetDatum(leaf)};
	MemoryContext context = CurrentMemoryContext;
	SPIPlanPtr	plan = SPI_prepare(query, 2, types);

	if (plan == NULL ||
		SPI_execute_snapshot(plan, values, NULL, GetLatestSnapshot(),
							 InvalidSnapshot, read_only, false, 0) < 0)
		elog(ERROR, "a query of a live sketch failed: %s",
			 SPI_result_code_string(SPI_result));
	MemoryContextSwitchTo(context);
}

static Datum
column(int number, bool *null)
{
	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, number,
						 null);
}

/*
 * Returns the expression after parse analysis. The text refers to a row of the
 * table as t.
 */
static Node *
parsed_expression(Relation table, const char *text)
{
	ParseState *state = make_parsestate(NULL);
	char	   *query = psprintf("SELECT %s", text);
	SelectStmt *select = ((SelectStmt *) linitial_node(RawStmt,
													   parse_statements(query))->stmt);
	ParseNamespaceItem *item;
	Node	   *expression;

	state->p_sourcetext = query;
	item = addRangeTableEntryForRelation(state, table, AccessShareLock,
										 makeAlias("t", NIL), false, true);
	addNSItemToQuery(state, item, true, true, true);
	expression = transformExpr(state,
							   linitial_node(ResTarget, select->targetList)->val,
							   EXPR_KIND_WHERE);
	assign_expr_collations(state, expression);
	free_parsestate(state);
	return expression;
}

static void
note_columns(live_sketch *live, Relation table, Node *expression)
{
	Bitmapset  *numbers = NULL;
	int			number = -1;

	pull_varattnos(expression, 1, &numbers);
	while ((number = bms_next_member(numbers, number)) >= 0)
	{
		int			attribute = number + FirstLowInvalidHeapAttributeNumber;

		if (attribute > 0)
			live->columns = bms_add_member(live->columns, attribute);
		/* a whole-row reference reads every column */
		for (int i = 0; attribute == InvalidAttrNumber &&
			 i < RelationGetDescr(table)->natts;
			 i++)
			if (!TupleDescAttr(RelationGetDescr(table), i)->attisdropped)
				live->columns = bms_add_member(live->columns, i + 1);
	}
}

static void
read_expressions(live_sketch *live, Relation table)
{
	bool		there[LIVE_EXPRESSIONS];

	for (int i = 0; i < LIVE_EXPRESSIONS; i++)
	{
		bool		null;
		Datum		value = column(COLUMN_EXPRESSIONS + i, &null);

		there[i] = !null;
		live->expressions[i] = null ? NULL
			: parsed_expression(table, TextDatumGetCString(value));
	}
	live->grouped = there[LIVE_GROUP];
	live->bucketed = there[LIVE_BUCKET];
	live->filtered = there[LIVE_FILTER];
}

/*
 * Returns true if a function belongs neither to the server nor to the
 * extension.
 */
static bool
is_foreign(Oid function, void *live)
{
	return get_func_namespace(function) != PG_CATALOG_NAMESPACE &&
		getExtensionOfObject(ProcedureRelationId, function) !=
		getExtensionOfObject(ProcedureRelationId,
							 ((const live_sketch *) live)->function);
}

/*
 * Returns true if the node calls a function for which is_foreign is true. Must
 * be called before planning, which inlines the bodies of functions.
 */
static bool
calls_foreign(Node *node, void *live)
{
	return node != NULL && (check_functions_in_node(node, is_foreign, live) ||
							expression_tree_walker(node, calls_foreign, live));
}

/*
 * Returns true if an expression converts to a domain. Its initialization reads
 * the constraints of the domain, which ALTER DOMAIN may change later.
 */
static bool
checks_domain(Node *node, void *unused)
{
	return node != NULL && (IsA(node, CoerceToDomain) ||
							expression_tree_walker(node, checks_domain, NULL));
}

/*
 * Plans the expressions, and sets the fields of the live sketch that depend on
 * the plans: foreign, settings, plain, lasting and columns. Planning evaluates
 * immutable functions, possibly a cast written by the table's owner, so it
 * runs with the rights of the current writer only.
 */
static void
plan_expressions(live_sketch *live, Relation table)
{
	live->lasting = true;
	for (int i = 0; i < LIVE_EXPRESSIONS; i++)
	{
		Node	   *expression = live->expressions[i];

		if (expression == NULL)
			continue;
		live->foreign[i] = calls_foreign(expression, live);
		expression = (Node *) expression_planner((Expr *) expression);
		live->lasting = live->lasting && !live->foreign[i] &&
			!checks_domain(expression, NULL);
		note_columns(live, table, expression);
		if (IsA(expression, Var) && ((Var *) expression)->varattno > 0)
			live->plain[i] = ((Var *) expression)->varattno;
		live->settings = live->settings || live->plain[i] == 0;
		live->expressions[i] = live->plain[i] != 0 ? NULL : expression;
	}
}

/*
 * Adds to live->columns the attribute numbers that were recorded when the leaf
 * was counted. Renaming a column does not change its number.
 */
static void
read_numbers(live_sketch *live, const ArrayType *numbers)
{
	const int16 *number = (const int16 *) ARR_DATA_PTR(numbers);

	for (int i = 0; i < ArrayGetNItems(ARR_NDIM(numbers), ARR_DIMS(numbers));
		 i++)
		if (number[i] > 0)
			live->columns = bms_add_member(live->columns, number[i]);
}

/* Returns the live sketch in the result row of live_query. */
static live_sketch *
read_live_sketch(const live_key *key, Relation table)
{
	live_sketch *live = palloc0(sizeof(live_sketch));
	Datum		value;
	bool		null;

	live->id = key->id;
	live->function = key->function;
	live->leaf = RelationGetRelid(table);
	live->leaf_name = pstrdup(RelationGetRelationName(table));
	live->deltas = live_deltas_id();
	live->name = TextDatumGetCString(column(COLUMN_NAME, &null));
	live->spec = spec_without_sample(aligned_value(column(COLUMN_SPEC, &null)));
	value = column(COLUMN_DRIFT_SPEC, &null);
	live->drift_spec = null ? NULL
		: (fc_drift_spec *) PG_DETOAST_DATUM_COPY(value);
	value = column(COLUMN_PROBLEM, &null);
	live->lost = null ? NULL : TextDatumGetCString(value);
	read_numbers(live, DatumGetArrayTypeP(column(COLUMN_NUMBERS, &null)));
	if (live->lost == NULL)
		read_expressions(live, table);
	return live;
}

/*
 * Returns the live sketch of a key in the current memory context, or NULL if
 * there is none. Reads it with the rights of the extension's owner, and plans
 * its expressions with the caller's rights.
 */
static live_sketch *
find_live_sketch(const live_key *key, Relation table)
{
	MemoryContext caller_context = CurrentMemoryContext;
	live_sketch *live = NULL;
	Oid			caller;
	int			context;
	int			level;

	SPI_connect();
	GetUserIdAndSecContext(&caller, &context);
	SetUserIdAndSecContext(function_owner(key->function),
						   context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
	level = fix_settings(FIX_ALL);
	MemoryContextSwitchTo(caller_context);
	live_execute(live_query, key->id, RelationGetRelid(table), true);
	if (SPI_processed > 0)
		live = read_live_sketch(key, table);
	SetUserIdAndSecContext(caller, context);
	if (live != NULL)
		plan_expressions(live, table);
	AtEOXact_GUC(true, level);
	SPI_finish();
	MemoryContextSwitchTo(caller_context);
	return live;
}

static void
fill(live_entry *entry, Relation table)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "fastclust live sketch",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	live_key	key = entry->key;
	live_sketch *live = find_live_sketch(&key, table);

	MemoryContextSwitchTo(CacheMemoryContext);
	entry = entry_of(&key);		/* Look the entry up again: reading may have
								 * moved it in the hash table. */
	if (entry->context != NULL)
		retired = lappend(retired, entry->context);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, CacheMemoryContext);
	entry->context = context;
	entry->live = live;
	entry->valid = true;
}

/*
 * Returns true if the trigger has the name that keep_sketch gives to the
 * trigger of this event. A trigger that a user made under another name is
 * ignored, because it could count a row twice.
 */
static bool
is_own_trigger(const TriggerData *trigger, const live_entry *entry)
{
	const char *event = (TRIGGER_FIRED_BY_TRUNCATE(trigger->tg_event)
						 ? "truncate"
						 : "rows");
	const char *name = trigger->tg_trigger->tgname;

	return strncmp(name, entry->name, (size_t) entry->name_length) == 0 &&
		strcmp(name + entry->name_length, event) == 0;
}

static live_entry *
filled_entry(const live_key *key, Relation table)
{
	live_entry *entry = entry_of(key);

	if (entry->valid)
		return entry;
	fill(entry, table);
	return entry_of(key);
}

static live_key
key_of(int64 id, Relation table, Oid function)
{
	live_key	key;

	memset(&key, 0, sizeof(key));
	key.id = id;
	key.relation = RelationGetRelid(table);
	key.function = function;
	return key;
}

live_sketch *
live_sketch_of(int64 id, Relation leaf, Oid function)
{
	live_key	key = key_of(id, leaf, function);

	return filled_entry(&key, leaf)->live;
}

live_sketch *
live_sketch_of_trigger(TriggerData *trigger, Oid function)
{
	live_key	key = key_of(strtoll(trigger->tg_trigger->tgargs[0], NULL, 10),
							 trigger->tg_relation, function);

	return is_own_trigger(trigger, entry_of(&key))
		? filled_entry(&key, trigger->tg_relation)->live
		: NULL;
}

/* ---- evaluation ---- */

/*
 * Returns an expression initialized for evaluation. Initialization checks the
 * right to execute each function. A writer need not have that right for
 * functions of this extension, so initialization runs with the rights of the
 * extension's owner. An expression with foreign functions is initialized with
 * the writer's rights, because initialization evaluates constants in the
 * constraints of domains.
 */
static ExprState *
ready_expression(const live_sketch *live, int expression)
{
	Oid			caller;
	int			context;
	ExprState  *state;

	GetUserIdAndSecContext(&caller, &context);
	if (!live->foreign[expression])
		SetUserIdAndSecContext(function_owner(live->function),
							   context | SECURITY_LOCAL_USERID_CHANGE);
	state = ExecInitExpr((Expr *) live->expressions[expression], NULL);
	SetUserIdAndSecContext(caller, context);
	return state;
}

static live_evaluation *
make_evaluation(const live_sketch *live, MemoryContext parent)
{
	MemoryContext context = AllocSetContextCreate(parent,
												  "fastclust live evaluation",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	live_evaluation *evaluation = palloc0(sizeof(live_evaluation));

	evaluation->context = context;
	evaluation->generation = generation;
	evaluation->user = GetUserId();
	for (int i = 0; i < LIVE_EXPRESSIONS; i++)
		if (live->expressions[i] != NULL)
			evaluation->states[i] = ready_expression(live, i);
	MemoryContextSwitchTo(old);
	return evaluation;
}

live_evaluation *
live_begin_evaluation(live_sketch *live, MemoryContext context)
{
	live_evaluation *kept = live->evaluation;
	bool		needed = false;

	live->evaluation = NULL;
	if (kept != NULL && kept->generation == generation &&
		kept->user == GetUserId())
	{
		MemoryContextSetParent(kept->context, context);
		return kept;
	}
	if (kept != NULL)
		MemoryContextDelete(kept->context);
	for (int i = 0; i < LIVE_EXPRESSIONS; i++)
		needed |= live->expressions[i] != NULL;
	return needed ? make_evaluation(live, context) : NULL;
}

/*
 * Number of bytes by which an evaluation may grow, in addition to doubling,
 * before it is dropped. With a larger number, expressions that leak hold more
 * memory; with a smaller one, expressions are initialized more often. A guess.
 */
#define MAX_GROWTH_BYTES	65536

/*
 * Keeps the evaluation for the next statement. Drops it instead if later
 * statements may not use it, if another one is already kept, or if its memory
 * has grown: some functions, such as SQL functions, leave memory behind in
 * each transaction.
 */
void
live_end_evaluation(live_sketch *live, live_evaluation *evaluation)
{
	Size		bytes;

	if (evaluation == NULL)
		return;
	bytes = MemoryContextMemAllocated(evaluation->context, true);
	if (evaluation->bytes == 0)
		evaluation->bytes = bytes;
	if (!live->lasting || live->evaluation != NULL ||
		bytes > 2 * evaluation->bytes + MAX_GROWTH_BYTES)
		MemoryContextDelete(evaluation->context);
	else
	{
		MemoryContextSetParent(evaluation->context,
							   GetMemoryChunkContext(live));
		live->evaluation = evaluation;
	}
}

/*
 * live_cache.c - live sketches as the triggers of a table know them, read once per process.
 *
 * A live sketch never changes what it counts while it has its id, so what is read stays until the table changes: the
 * server then says so for the table.  It is read under the latest snapshot: a transaction that began before
 * keep_sketch must count what it writes after.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
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

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/base/memory.h"
#include "pg/live/live.h"
#include "pg/sketch/sketch_value.h"

/* The same id may be another's after DROP EXTENSION, whose functions are others then. */
typedef struct live_key
{
	int64		id;
	Oid			relation;		/* that has the trigger */
	Oid			function;
} live_key;

typedef struct live_entry
{
	live_key	key;
	bool		valid;
	int			name_length;	/* of `name` */
	char		name[NAMEDATALEN];	/* of its triggers, up to the event */
	MemoryContext context;		/* of all that was read */
	live_sketch *live;			/* NULL: the table is no part of one of this id */
} live_entry;

static HTAB *entries = NULL;
static List *retired = NIL;		/* contexts that a trigger may still read */
static int	depth = 0;			/* of triggers */

/* ---- life ---- */

static void
forget_relation(Datum argument, Oid relation)
{
	HASH_SEQ_STATUS scan;
	live_entry *entry;

	hash_seq_init(&scan, entries);
	while ((entry = hash_seq_search(&scan)) != NULL)
		if (relation == InvalidOid || entry->key.relation == relation || (entry->live != NULL && entry->live->deltas == relation))
			entry->valid = false;
}

void
live_enter(void)
{
	ListCell   *cell;

	if (depth++ > 0 || retired == NIL)
		return;
	foreach(cell, retired)
		MemoryContextDelete(lfirst(cell));
	list_free(retired);
	retired = NIL;
}

void
live_leave(void)
{
	depth--;
}

static live_entry *
entry_of(const live_key *key)
{
	live_entry *entry;
	bool		found;

	if (entries == NULL)
	{
		entries = make_table("fastclust live sketches", sizeof(live_key), sizeof(live_entry), CacheMemoryContext);
		CacheRegisterRelcacheCallback(forget_relation, (Datum) 0);
	}
	entry = hash_search(entries, key, HASH_ENTER, &found);
	if (!found)
	{
		entry->valid = false;
		entry->name_length = snprintf(entry->name, NAMEDATALEN, "fastclust_live_" INT64_FORMAT "_", key->id);
		entry->context = NULL;
		entry->live = NULL;
	}
	return entry;
}

int
live_fix_settings(void)
{
	static const char *const settings[][2] = {
		{"search_path", "pg_catalog, fastclust, fastclust_internal, pg_temp"},
		{"datestyle", "ISO, MDY"}, {"intervalstyle", "postgres"}, {"extra_float_digits", "1"}, {"timezone", "UTC"}
	};
	int			level = NewGUCNestLevel();

	for (int i = 0; i < lengthof(settings); i++)
		(void) set_config_option(settings[i][0], settings[i][1], PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	return level;
}

/* ---- reading ---- */

static const char live_query[] =
	"SELECT l.name, l.relation::pg_catalog.oid, l.columns, l.types, l.spec, l.drift_spec"
	" FROM fastclust_internal.kept_sketches l WHERE l.id OPERATOR(pg_catalog.=) $1";

enum
{
	COLUMN_NAME = 1,
	COLUMN_RELATION,
	COLUMN_COLUMNS,
	COLUMN_TYPES,
	COLUMN_SPEC,
	COLUMN_DRIFT_SPEC
};

/* In the order of `expressions`. */
static const char expressions_query[] =
	"SELECT x.vector, x.group_value, x.bucket, x.filter"
	" FROM fastclust_internal.kept_sketches l, fastclust_internal.live_expressions(l) x WHERE l.id OPERATOR(pg_catalog.=) $1";

/* A row of a query for an id, under the latest snapshot; false when there is none. */
static bool
query_row(const char *query, int64 id)
{
	Oid			type = INT8OID;
	Datum		value = Int64GetDatum(id);
	MemoryContext context = CurrentMemoryContext;
	SPIPlanPtr	plan = SPI_prepare(query, 1, &type);

	if (plan == NULL)
		elog(ERROR, "SPI_prepare failed: %s", SPI_result_code_string(SPI_result));
	if (SPI_execute_snapshot(plan, &value, NULL, GetLatestSnapshot(), InvalidSnapshot, true, false, 1) != SPI_OK_SELECT)
		elog(ERROR, "SPI_execute_snapshot failed");
	MemoryContextSwitchTo(context);
	return SPI_processed == 1;
}

static Datum
column(int number, bool *null)
{
	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, number, null);
}

/* Is a table the relation of a live sketch, or a part of it? */
static bool
is_part(Oid relation, Oid table, bool *whole)
{
	List	   *parts = get_rel_relkind(relation) == '\0' ? NIL : find_all_inheritors(relation, NoLock, NULL);

	*whole = relation == table && list_length(parts) == 1;
	return list_member_oid(parts, table);
}

/* The first column that is not as it was, in words; NULL when all are. */
static char *
changed_column(Relation table, Datum columns, Datum types)
{
	Datum	   *names;
	Datum	   *kinds;
	int			count;
	int			kinds_count;

	deconstruct_array(DatumGetArrayTypeP(columns), NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR, &names, NULL, &count);
	deconstruct_array(DatumGetArrayTypeP(types), TEXTOID, -1, false, TYPALIGN_INT, &kinds, NULL, &kinds_count);
	for (int i = 0; i < Min(count, kinds_count); i++)
	{
		const char *name = NameStr(*DatumGetName(names[i]));
		char	   *kind = TextDatumGetCString(kinds[i]);
		AttrNumber	number = get_attnum(RelationGetRelid(table), name);
		Form_pg_attribute attribute;

		if (number <= 0)
			return psprintf("column \"%s\" of %s is no more", name, RelationGetRelationName(table));
		attribute = TupleDescAttr(RelationGetDescr(table), number - 1);
		if (strcmp(format_type_with_typemod(attribute->atttypid, attribute->atttypmod), kind) != 0)
			return psprintf("column \"%s\" of %s was of type %s", name, RelationGetRelationName(table), kind);
	}
	return NULL;
}

/* An expression of a row of the table, every name resolved. */
static Node *
parsed_expression(Relation table, const char *text)
{
	ParseState *state = make_parsestate(NULL);
	char	   *query = psprintf("SELECT %s", text);
	SelectStmt *select = (SelectStmt *) linitial_node(RawStmt, parse_statements(query))->stmt;
	ParseNamespaceItem *item;
	Node	   *expression;

	state->p_sourcetext = query;
	item = addRangeTableEntryForRelation(state, table, AccessShareLock, makeAlias("t", NIL), false, true);
	addNSItemToQuery(state, item, true, true, true);
	expression = transformExpr(state, linitial_node(ResTarget, select->targetList)->val, EXPR_KIND_WHERE);
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
		for (int i = 0; attribute == InvalidAttrNumber && i < RelationGetDescr(table)->natts; i++)	/* the whole row */
			if (!TupleDescAttr(RelationGetDescr(table), i)->attisdropped)
				live->columns = bms_add_member(live->columns, i + 1);
	}
}

/* The query that sketches the table's own rows. */
static char *
scan_query(Relation table, char *const *texts, bool counted)
{
	return psprintf("SELECT %s, %s, sketch_agg(%s, $1), %s FROM ONLY %s t WHERE %s GROUP BY 1, 2",
					texts[LIVE_GROUP] ? texts[LIVE_GROUP] : "NULL::text", texts[LIVE_BUCKET] ? texts[LIVE_BUCKET] : "NULL::timestamptz",
					texts[LIVE_VECTOR], counted ? psprintf("drift_counts_agg(%s, $2)", texts[LIVE_VECTOR]) : "NULL::drift_counts", relation_name(RelationGetRelid(table)),
					texts[LIVE_FILTER] ? texts[LIVE_FILTER] : "true");
}

static void
read_expressions(live_sketch *live, Relation table)
{
	char	   *texts[LIVE_EXPRESSIONS] = {NULL};

	if (!query_row(expressions_query, live->id))
		elog(ERROR, "live sketch %lld is no more", (long long) live->id);
	for (int i = 0; i < LIVE_EXPRESSIONS; i++)
	{
		bool		null;
		Datum		value = column(i + 1, &null);

		texts[i] = null ? NULL : TextDatumGetCString(value);
		live->expressions[i] = null ? NULL : parsed_expression(table, texts[i]);
	}
	live->grouped = texts[LIVE_GROUP] != NULL;
	live->bucketed = texts[LIVE_BUCKET] != NULL;
	live->filtered = texts[LIVE_FILTER] != NULL;
	live->scan = scan_query(table, texts, live->drift_spec != NULL);
}

/* Planning evaluates immutable functions, a cast of the table's owner among them: never with more rights than the writer's. */
static void
plan_expressions(live_sketch *live, Relation table)
{
	for (int i = 0; i < LIVE_EXPRESSIONS; i++)
	{
		Node	   *expression = live->expressions[i];

		if (expression == NULL)
			continue;
		expression = (Node *) expression_planner((Expr *) expression);
		note_columns(live, table, expression);
		live->settings = live->settings || contain_mutable_functions(expression);
		if (IsA(expression, Var) && ((Var *) expression)->varattno > 0)
			live->plain[i] = ((Var *) expression)->varattno;
		live->expressions[i] = live->plain[i] != 0 ? NULL : expression;
	}
}

/* What the row that was found says of a table; NULL where that is no part of it. */
static live_sketch *
read_live_sketch(int64 id, Relation table)
{
	live_sketch *live;
	Datum		value;
	bool		whole;
	bool		null;

	if (!is_part(DatumGetObjectId(column(COLUMN_RELATION, &null)), RelationGetRelid(table), &whole))
		return NULL;
	live = palloc0(sizeof(live_sketch));
	live->id = id;
	live->whole = whole;
	live->deltas = live_deltas_id();
	live->name = TextDatumGetCString(column(COLUMN_NAME, &null));
	live->spec = spec_without_pilot(aligned_value(column(COLUMN_SPEC, &null)));
	value = column(COLUMN_DRIFT_SPEC, &null);
	live->drift_spec = null ? NULL : (fc_drift_spec *) PG_DETOAST_DATUM_COPY(value);
	live->spec_types[0] = SPI_gettypeid(SPI_tuptable->tupdesc, COLUMN_SPEC);
	live->spec_types[1] = SPI_gettypeid(SPI_tuptable->tupdesc, COLUMN_DRIFT_SPEC);
	live->lost = changed_column(table, column(COLUMN_COLUMNS, &null), column(COLUMN_TYPES, &null));
	if (live->lost == NULL)
		read_expressions(live, table);
	return live;
}

/* The same, read with the rights of the owner of the extension and planned with the caller's; all of it in the current context. */
static live_sketch *
find_live_sketch(int64 id, Relation table, Oid owner)
{
	MemoryContext home = CurrentMemoryContext;
	live_sketch *live = NULL;
	Oid			caller;
	int			context;
	int			level;

	SPI_connect();
	GetUserIdAndSecContext(&caller, &context);
	SetUserIdAndSecContext(owner, context | SECURITY_LOCAL_USERID_CHANGE | SECURITY_RESTRICTED_OPERATION);
	level = live_fix_settings();
	MemoryContextSwitchTo(home);
	if (query_row(live_query, id))
		live = read_live_sketch(id, table);
	SetUserIdAndSecContext(caller, context);
	if (live != NULL)
		plan_expressions(live, table);
	AtEOXact_GUC(true, level);
	SPI_finish();
	MemoryContextSwitchTo(home);
	return live;
}

static void
fill(live_entry *entry, Relation table, Oid owner)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "fastclust live sketch", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	live_key	key = entry->key;
	live_sketch *live = find_live_sketch(key.id, table, owner);

	MemoryContextSwitchTo(CacheMemoryContext);
	entry = entry_of(&key);		/* whatever reading brought along */
	if (entry->context != NULL)
		retired = lappend(retired, entry->context);
	MemoryContextSwitchTo(old);
	MemoryContextSetParent(context, CacheMemoryContext);
	entry->context = context;
	entry->live = live;
	entry->valid = true;
}

/* Is it the trigger that keep_sketch makes for this event?  Another could count a statement twice. */
static bool
is_own_trigger(const TriggerData *trigger, const live_entry *entry)
{
	const char *event = TRIGGER_FIRED_BY_INSERT(trigger->tg_event) ? "insert" :
		TRIGGER_FIRED_BY_UPDATE(trigger->tg_event) ? "update" : TRIGGER_FIRED_BY_DELETE(trigger->tg_event) ? "delete" : "truncate";
	const char *name = trigger->tg_trigger->tgname;

	return strncmp(name, entry->name, (size_t) entry->name_length) == 0 && strcmp(name + entry->name_length, event) == 0;
}

live_sketch *
live_sketch_of_trigger(TriggerData *trigger, Oid function)
{
	live_key	key;
	live_entry *entry;

	memset(&key, 0, sizeof(key));
	key.id = strtoll(trigger->tg_trigger->tgargs[0], NULL, 10);
	key.relation = RelationGetRelid(trigger->tg_relation);
	key.function = function;
	entry = entry_of(&key);
	if (!is_own_trigger(trigger, entry))
		return NULL;
	if (!entry->valid)
	{
		fill(entry, trigger->tg_relation, function_owner(function));
		entry = entry_of(&key);
	}
	return entry->live;
}

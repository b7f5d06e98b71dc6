/*
 * labels.c - write_labels: makes the query that labels rows, and writes its
 * result to a table in batches.
 *
 * CREATE TABLE AS and INSERT write row by row, in one process, and log each
 * row. Here a thousand rows are gathered and written together, with one WAL
 * record per page, as COPY does. If labelling is cheap, the query returns
 * vectors, which the leader labels in batches, because parallel workers would
 * take longer to send rows. Otherwise workers may read and predict, while only
 * the leader writes.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_func.h"
#include "storage/lmgr.h"
#include "tcop/dest.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/plancache.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
#include "utils/varlena.h"

#include "pg/base/memory.h"
#include "pg/base/progress.h"
#include "pg/encode/encode.h"
#include "pg/model/model.h"
#include "pg/model/row_condition.h"
#include "pg/train/columns.h"
#include "pg/train/options.h"
#include "pg/train/query.h"
#include "pg/train/relation.h"
#include "pg/train/source.h"
#include "pg/train/version.h"

/*
 * Maximum number of rows in a batch that is labelled and inserted together.
 * Larger batches are hardly faster. A guess.
 */
#define MAX_BATCH_ROWS	1000

/*
 * Maximum number of coordinates in a batch, so that they stay in the cache. A
 * guess.
 */
#define MAX_BATCH_NUMBERS	(1 << 17)

/*
 * Maximum k * d of a model whose rows the leader labels itself. Workers label
 * the rows of larger models; for smaller models, starting them takes longer
 * than they save. A guess.
 */
#define MAX_LEADER_WORK	2048

/*
 * Vectors and labels of a batch. Vectors are transformed as the operator of
 * the model needs them.
 */
typedef struct row_labels
{
	FunctionCallInfo fcinfo;
	model_call_state *call;
	const served_model *model;
	fc_scratch	scratch;
	int			count;
	double	   *x;				/* row_writer.max x d coordinates */
	int32		label[MAX_BATCH_ROWS];
} row_labels;

typedef struct row_writer
{
	DestReceiver receiver;		/* must be first: the executor has a pointer
								 * to it */
	Relation	relation;
	CommandId	command;
	BulkInsertState bulk;

	/*
	 * TABLE_INSERT_SKIP_FSM for a table made in this transaction, which has
	 * no free space in older pages; else 0
	 */
	int			flags;
	MemoryContext context;		/* memory of a batch, reset after it */

	/*
	 * labels of a batch, which replace the vectors in the last column; NULL
	 * if rows are written as the query returns them
	 */
	row_labels *labels;
	int			count;
	int			max;			/* maximum number of rows in a batch */
	TupleTableSlot *rows[MAX_BATCH_ROWS];
} row_writer;

/* ---- the query ---- */

/*
 * Maximum number of columns in a call of num_nulls: a function takes up to 100
 * arguments.
 */
#define MAX_NULL_COLUMNS	99

/*
 * Maximum length of a list of numbers for predict: a function takes up to 100
 * arguments.
 */
#define MAX_LIST_ARGUMENTS	98

/*
 * Returns an SQL condition that is true if a feature of row t is NULL. Checks
 * at most MAX_NULL_COLUMNS of the features that can be NULL.
 */
static char *
missing_text(const train_source *source)
{
	StringInfoData columns;
	int			count = 0;

	initStringInfo(&columns);
	for (int i = 0; i < source->feature_count && count < MAX_NULL_COLUMNS; i++)
	{
		HeapTuple	tuple = SearchSysCacheAttName(source->id,
												  source->features[i]);

		if (!HeapTupleIsValid(tuple))
			continue;
		if (!((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull)
			appendStringInfo(&columns, "%st.%s", count++ > 0 ? ", " : "",
							 quote_identifier(source->features[i]));
		ReleaseSysCache(tuple);
	}
	return count > 0 ? psprintf("num_nulls(%s) > 0", columns.data) : "false";
}

/*
 * Returns true if predict can take the columns as a list of numbers. This is
 * twice as fast as a whole row, but does not allow NULLs.
 */
static bool
takes_list(const train_source *source, const stored_version *version)
{
	fc_encoder	encoder;
	bool		numbers = (source->group_by == NULL &&
						   source->feature_count <= MAX_LIST_ARGUMENTS &&
						   has_numbers(source));

	fc_encoder_view(version->encoder, &encoder);
	for (Size i = 0; i < encoder.features; i++)
		numbers = numbers && encoder.feature[i].kind == FC_FEATURE_NUMBER;
	return numbers;
}

static char *
call_of(const char *function, const train_source *source,
		const stored_version *version)
{
	const char *model = quote_literal_cstr(version->model);

	if (source->is_vector)
		return psprintf("%s(%s, %s%s)", function, model, source->raw,
						source->group_by != NULL
						? psprintf(", %s", row_column(source->group_by))
						: "");
	if (!takes_list(source, version))
		return psprintf("%s(%s, t.*)", function, model);
	return psprintf("CASE WHEN %s THEN %s(%s, t.*) ELSE %s(%s, %s) END",
					missing_text(source), function, model, function, model,
					listed("t", version->features.names,
						   version->features.count));
}

/*
 * Returns an SQL expression for the text of the model's group to which a row
 * belongs.
 */
static char *
group_name(const train_source *source, const stored_version *version)
{
	return source->group_by == NULL ? source->group_value
		: psprintf("fastclust_internal.group_of(%s, -1, t.%s)",
				   quote_literal_cstr(version->model),
				   quote_identifier(source->group_by));
}

/* Returns a column name that no key column has. */
static const char *
unused_name(const feature_list *keys)
{
	const char *name = "of_group";

	while (is_among(name, (const char *const *) keys->names, keys->count))
		name = psprintf("%s_", name);
	return name;
}

/*
 * Takes (version, relation, keys, options) and returns (query, vectors). The
 * query returns the key and the cluster of each row of the relation, and the
 * cluster's name and the distance if the options request them. `vectors` is
 * the same query with vectors in place of clusters, to be labelled in batches,
 * or NULL if that is impossible.
 */
PG_FUNCTION_INFO_V1(fastclust_label_query);
Datum
fastclust_label_query(PG_FUNCTION_ARGS)
{
	stored_version version = open_version(PG_GETARG_DATUM(0));
	Oid			relation = PG_GETARG_OID(1);
	feature_list keys = read_features(PG_GETARG_ARRAYTYPE_P(2));
	const train_options *options = read_train_options(PG_GETARG_JSONB_P(3),
													  FOR_WRITE_LABELS);
	bool		named = options->name;
	bool		distance = options->distance;
	char	   *where = (options->where != NULL ? options->where
						 : version.options->where);
	query_argument model = text_argument(version.model);
	train_source source;
	const char *group = unused_name(&keys);
	char	   *columns;
	char	   *rows;
	Datum		values[2];
	bool		nulls[2] = {false};

	if (version.model == NULL)
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				errmsg("model of the version must not be NULL"));
	for (int i = 0; i < keys.count; i++)
		(void) column_type(relation, keys.names[i]);
	SPI_connect();
	open_source(&source, relation, &version.features, version.is_vector,
				version.options->group_by);
	columns = psprintf("%s, %s AS cluster%s", listed("t", keys.names, keys.count),
					   call_of("predict", &source, &version),
					   distance
					   ? psprintf(", %s AS distance",
								  call_of("predict_distance", &source, &version))
					   : "");
	rows = psprintf("FROM %s t WHERE %s", source.relation,
					where == NULL ? "true"
					: resolved_condition(relation, where, NULL));
	if (named)
		columns = psprintf("%s, q.cluster, c.name AS cluster_name%s FROM (SELECT %s, %s AS"
						   " %s %s OFFSET 0) q LEFT JOIN %s c(group_value, cluster, name)"
						   " ON c.cluster = q.cluster AND c.group_value = q.%s COLLATE \"C\"",
						   listed("q", keys.names, keys.count), distance ? ", q.distance" : "",
						   columns, group_name(&source, &version), group, rows,
						   TextDatumGetCString(query_datum("SELECT format('unnest(%L::text[],"
														   " %L::integer[], %L::text[])', array_agg(COALESCE(m.group_value, '')), array_agg(m.cluster), array_agg(m.name))"
														   "  FROM model_clusters m WHERE"
														   " m.model = $1",
														   1, &model, 0, NULL)),
						   group);
	nulls[1] = !version.is_vector || source.group_by != NULL || source.sparse ||
		named || distance;
	values[0] = SPI_datumTransfer(CStringGetTextDatum(psprintf("SELECT %s %s",
															   columns,
															   named ? ""
															   : rows)),
								  false, -1);
	if (!nulls[1])
	{
		char	   *query = psprintf("SELECT %s, %s AS cluster %s",
									 listed("t", keys.names, keys.count), source.raw,
									 rows);

		values[1] = SPI_datumTransfer(CStringGetTextDatum(query), false, -1);
	}
	SPI_finish();
	return row_result(fcinfo, values, nulls);
}

/* ---- rows received from the executor ---- */

/*
 * Assigns a transaction ID before the plan runs, because it cannot be assigned
 * in parallel mode.
 */
static void
begin_rows(DestReceiver *receiver, int operation, TupleDesc row)
{
	(void) GetCurrentTransactionId();
	((row_writer *) receiver)->command = GetCurrentCommandId(true);
}

/* Replaces the vectors in the last column by their clusters. */
static void
label_batch(row_labels *labels, TupleTableSlot **rows, int count)
{
	const int32 *label = labels->label;

	fc_operator_assign_batch(&labels->model->view, labels->x,
							 (size_t) labels->count, labels->scratch,
							 labels->label);
	for (int i = 0; i < labels->count; i++)
		labels->label[i] = fc_operator_number(&labels->model->view,
											  (size_t) labels->label[i]);
	for (int i = 0; i < count; i++)
	{
		int			last = rows[i]->tts_nvalid - 1;

		if (!rows[i]->tts_isnull[last])
			rows[i]->tts_values[last] = Int32GetDatum(*label++);
	}
	labels->count = 0;
}

/* Raises an error if a column that is declared NOT NULL is NULL in the row. */
static void
check_not_null(Relation relation, const TupleTableSlot *row)
{
	TupleDesc	columns = RelationGetDescr(relation);

	for (int i = 0; i < columns->natts; i++)
		if (row->tts_isnull[i] && TupleDescAttr(columns, i)->attnotnull)
			ereport(ERROR, errcode(ERRCODE_NOT_NULL_VIOLATION),
					errmsg("null value in column \"%s\" of relation \"%s\" violates not-null constraint",
						   NameStr(TupleDescAttr(columns, i)->attname),
						   RelationGetRelationName(relation)));
}

static void
write_batch(row_writer *writer)
{
	MemoryContext old = MemoryContextSwitchTo(writer->context);

	if (writer->labels != NULL)
		label_batch(writer->labels, writer->rows, writer->count);
	if (RelationGetDescr(writer->relation)->constr != NULL)
		for (int i = 0; i < writer->count; i++)
			check_not_null(writer->relation, writer->rows[i]);
	table_multi_insert(writer->relation, writer->rows, writer->count,
					   writer->command, writer->flags, writer->bulk);
	MemoryContextSwitchTo(old);
	MemoryContextReset(writer->context);
	writer->count = 0;
}

/*
 * Adds the vector in the last column to the batch that is to be labelled. Sets
 * the column to NULL if predict would return NULL.
 */
static void
note_vector(row_labels *labels, TupleTableSlot *row)
{
	int			last = row->tts_nvalid - 1;
	size_t		d = labels->model->view.d;
	const double *x = (row->tts_isnull[last]
					   ? NULL
					   : vector_in_model(labels->fcinfo, labels->call,
										 labels->model,
										 row->tts_values[last]));

	row->tts_isnull[last] = x == NULL;
	if (x != NULL)
		memcpy(labels->x + labels->count++ * d, x, d * sizeof(double));
}

static bool
receive_row(TupleTableSlot *slot, DestReceiver *receiver)
{
	row_writer *writer = (row_writer *) receiver;
	TupleTableSlot *row = ExecCopySlot(writer->rows[writer->count++], slot);
	MemoryContext old = MemoryContextSwitchTo(writer->context);

	if (writer->labels != NULL)
		note_vector(writer->labels, row);
	MemoryContextSwitchTo(old);
	if (writer->count == writer->max)
		write_batch(writer);
	report_progress_of_rows();
	return true;
}

static void
end_rows(DestReceiver *receiver)
{
	row_writer *writer = (row_writer *) receiver;

	if (writer->count > 0)
		write_batch(writer);
}

static void
no_more_rows(DestReceiver *receiver)
{
}

static TupleDesc
row_of_plan(SPIPlanPtr plan)
{
	return ((CachedPlanSource *) linitial(SPI_plan_get_plan_sources(plan)))->resultDesc;
}

/*
 * Returns the state for labelling in batches by the model in argument 0.
 * Returns NULL if predict has to label the rows: the model has no operator, is
 * too large for the leader, or has regions.
 */
static row_labels *
make_labels(FunctionCallInfo fcinfo)
{
	model_call_state *call = model_call_state_of(fcinfo);
	const served_model *model;
	row_labels *labels;

	call->version = CURRENT_VERSION;
	model = served_model_of(fcinfo, call, NULL);
	if (model->header == NULL || model->view.k * model->view.d > MAX_LEADER_WORK ||
		model->view.regions.clusters > 0)
		return NULL;
	labels = palloc0(sizeof(row_labels));
	labels->fcinfo = fcinfo;
	labels->call = call;
	labels->model = model;
	return labels;
}

/* Prepares the labelling of rows whose last column is a vector. */
static void
begin_labels(row_writer *writer, TupleDesc row)
{
	row_labels *labels = writer->labels;
	const fc_operator *op = &labels->model->view;

	writer->max = (int) Min(MAX_BATCH_ROWS, MAX_BATCH_NUMBERS / op->d);
	labels->call->reader
		.form = form_of_type(TupleDescAttr(row, row->natts - 1)->atttypid);
	labels->call->reader.formed = true;
	labels->scratch = make_scratch(fc_operator_batch_scratch(op, (size_t) writer->max));
	labels->x = palloc(writer->max * op->d * sizeof(double));
}

static void
write_many(Relation relation, SPIPlanPtr plan, row_labels *labels)
{
	row_writer *writer = palloc0(sizeof(row_writer));

	writer->labels = labels;
	writer->max = MAX_BATCH_ROWS;
	if (labels != NULL)
		begin_labels(writer, row_of_plan(plan));
	writer->receiver = (DestReceiver)
	{
		receive_row, begin_rows, end_rows,
			no_more_rows, DestIntoRel
	};
	writer->relation = relation;
	writer->bulk = GetBulkInsertState();
	writer->flags = relation->rd_createSubid != InvalidSubTransactionId
		? TABLE_INSERT_SKIP_FSM
		: 0;
	writer->context = AllocSetContextCreate(CurrentMemoryContext,
											"fastclust rows",
											ALLOCSET_DEFAULT_SIZES);
	for (int i = 0; i < MAX_BATCH_ROWS; i++)
		writer->rows[i] = MakeSingleTupleTableSlot(RelationGetDescr(relation),
												   &TTSOpsVirtual);
	execute_into(plan, &writer->receiver);
	for (int i = 0; i < MAX_BATCH_ROWS; i++)
		ExecDropSingleTupleTableSlot(writer->rows[i]);
	FreeBulkInsertState(writer->bulk);
	table_finish_bulk_insert(relation, writer->flags);
}

/* ---- choice between batches and INSERT ---- */

/*
 * Returns true if the table has indexes, and a REINDEX after writing is no
 * more work than adding entries: the table was created or emptied in this
 * transaction. Only an owner may build indexes.
 */
static bool
builds_indexes(Relation relation)
{
	return relation->rd_rel->relhasindex &&
		(relation->rd_createSubid != InvalidSubTransactionId ||
		 relation_has_new_file(relation)) &&
		has_privs_of_role(GetUserId(), relation->rd_rel->relowner);
}

/*
 * Returns true if rows can be added without index entries, triggers, rules,
 * constraints other than NOT NULL, policies or partition checks, and the user
 * may insert.
 */
static bool
is_plain(Relation relation)
{
	const		TupleConstr *constraints = RelationGetDescr(relation)->constr;

	return relation->rd_rel->relkind == RELKIND_RELATION &&
		!RELATION_IS_OTHER_TEMP(relation) &&
		(!relation->rd_rel->relhasindex || builds_indexes(relation)) &&
		!relation->rd_rel->relispartition &&
		!relation->rd_rel->relrowsecurity && relation->trigdesc == NULL &&
		relation->rd_rules == NULL &&
		(constraints == NULL ||
		 (constraints->num_defval == 0 && constraints->num_check == 0 &&
		  constraints->missing == NULL)) &&
		pg_class_aclcheck(RelationGetRelid(relation), GetUserId(),
						  ACL_INSERT) == ACLCHECK_OK;
}

/*
 * Returns true if the table has exactly the columns of the query. If
 * `labelled` is true, the last one must be an integer in the table and a
 * vector in the query.
 */
static bool
has_columns_of(TupleDesc table, TupleDesc query, bool labelled)
{
	bool		same = table->natts == query->natts;

	if (same && labelled)
		same = TupleDescAttr(table, table->natts - 1)->atttypid == INT4OID &&
			is_vector_type(TupleDescAttr(query, query->natts - 1)->atttypid);
	for (int i = 0; same && i < table->natts - labelled; i++)
	{
		Form_pg_attribute ours = TupleDescAttr(table, i);
		Form_pg_attribute theirs = TupleDescAttr(query, i);

		same = !ours->attisdropped && ours->atttypid == theirs->atttypid &&
			ours->atttypmod == theirs->atttypmod &&
			strcmp(NameStr(ours->attname), NameStr(theirs->attname)) == 0;
	}
	return same;
}

/*
 * Inserts the rows of the query by column names, with all triggers, checks and
 * defaults of the table.
 */
static void
write_each(Relation relation, TupleDesc row, const char *query)
{
	StringInfoData insert;

	initStringInfo(&insert);
	appendStringInfo(&insert, "INSERT INTO %s (",
					 relation_name(RelationGetRelid(relation)));
	for (int i = 0; i < row->natts; i++)
		appendStringInfo(&insert, "%s%s", i > 0 ? ", " : "",
						 quote_identifier(NameStr(TupleDescAttr(row, i)->attname)));
	appendStringInfo(&insert, ") %s", query);
	SPI_execute(insert.data, false, 0);
}

/*
 * Raises an error unless the user may insert into the table or some of its
 * columns. Called before the table is locked, so that users cannot lock a
 * table without that privilege.
 */
static void
check_insert(Oid relation)
{
	if (pg_class_aclcheck(relation, GetUserId(), ACL_INSERT) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(relation, GetUserId(), ACL_INSERT,
								  ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV,
					   get_relkind_objtype(get_rel_relkind(relation)),
					   get_rel_name(relation));
}

static SPIPlanPtr
plan_of_rows(const char *query, int flags)
{
	SPIPlanPtr	plan = SPI_prepare_cursor(query, 0, NULL, flags);

	if (plan == NULL || !SPI_is_cursor_plan(plan))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("query gives no rows"));
	return plan;
}

/*
 * Takes (model, target, query, vectors, model_id, relation) and returns the
 * number of rows written. `vectors` is the query with vectors in place of
 * clusters in the last column, or NULL; `relation` is the table that the query
 * reads.
 */
PG_FUNCTION_INFO_V1(fastclust_write_rows);
Datum
fastclust_write_rows(PG_FUNCTION_ARGS)
{
	char	   *query;
	train_source scanned = {.filter = "true"};
	Relation	relation;
	SPIPlanPtr	plan;
	uint64		written;
	bool		indexed = false;

	for (int i = 0; i < 6; i++)
		if (PG_ARGISNULL(i) && i != 3)
			PG_RETURN_NULL();
	PreventCommandIfReadOnly("INSERT");
	check_insert(PG_GETARG_OID(1));
	query = text_to_cstring(PG_GETARG_TEXT_PP(2));
	LockRelationOid(PG_GETARG_OID(1), RowExclusiveLock);
	check_insert(PG_GETARG_OID(1)); /* the privilege may have been revoked
									 * during the wait */
	relation = table_open(PG_GETARG_OID(1), NoLock);
	SPI_connect();
	scanned.id = PG_GETARG_OID(5);
	scanned.relation = relation_name(scanned.id);
	announce_step(psprintf("model \"%s\": labels of %s",
						   TextDatumGetCString(PG_GETARG_DATUM(0)),
						   scanned.relation),
				  PG_GETARG_INT64(4), TextDatumGetCString(PG_GETARG_DATUM(0)),
				  "labels", estimated_rows(&scanned), GetCurrentTimestamp());
	plan = plan_of_rows(query, CURSOR_OPT_PARALLEL_OK);
	if (SPI_HAS_RECEIVERS && is_plain(relation) &&
		has_columns_of(RelationGetDescr(relation), row_of_plan(plan), false))
	{
		row_labels *labels = PG_ARGISNULL(3) ? NULL : make_labels(fcinfo);
		SPIPlanPtr
					vectors = (labels == NULL
							   ? NULL
							   : plan_of_rows(text_to_cstring(PG_GETARG_TEXT_PP(3)),
											  0));

		if (vectors != NULL && has_columns_of(RelationGetDescr(relation),
											  row_of_plan(vectors), true))
			write_many(relation, vectors, labels);
		else
			write_many(relation, plan, NULL);
		indexed = relation->rd_rel->relhasindex;
	}
	else
		write_each(relation, row_of_plan(plan), query);
	written = SPI_processed;
	table_close(relation, NoLock);
	if (indexed)
		SPI_execute(psprintf("REINDEX TABLE %s", relation_name(PG_GETARG_OID(1))), false, 0);
	end_step();
	SPI_finish();
	PG_RETURN_INT64((int64) written);
}

/* ---- write_labels ---- */

/* Raises an error with a hint unless the target can be a name of a table. */
static void
check_name(const char *target)
{
	const char *table = strchr(target, '.');
	const char *quoted;
	List	   *names;

	if (SplitIdentifierString(pstrdup(target), '.', &names) && names != NIL)
		return;
	if (target[0] == '\0')
		ereport(ERROR, errcode(ERRCODE_INVALID_NAME), errmsg("target is empty"),
				errhint("Pass the name of a table, such as 'labels'."));
	quoted = table == NULL ? quote_identifier(target)
		: quote_qualified_identifier(pnstrdup(target, (Size) (table - target)), table + 1);
	ereport(ERROR, errcode(ERRCODE_INVALID_NAME),
			errmsg("target is %s, which is not the name of a table", target),
			strchr(target, '"') != NULL
			? errhint("Close each double quote, and separate the schema and the table by a dot.")
			: errhint("Write names with spaces or other signs in double quotes: %s.",
					  quote_literal_cstr(quoted)));
}

/*
 * Takes (model, relation, target, options) and returns the number of rows
 * written. The name of the target is resolved here, by the caller's
 * search_path, because label_rows, which does the rest, sets its own
 * search_path.
 */
PG_FUNCTION_INFO_V1(fastclust_write_labels);
Datum
fastclust_write_labels(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {
		"model",
		"relation",
		"target",
		"options"
	};
	Oid			types[] = {TEXTOID, REGCLASSOID, TEXTOID, JSONBOID};
	char	   *name;
	RangeVar   *target;
	Oid			relation;
	Oid			schema;
	Oid			function;

	for (int i = 0; i < lengthof(names); i++)
		require_argument(fcinfo, i, names[i]);
	check_name(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	target = makeRangeVarFromNameList(textToQualifiedNameList(PG_GETARG_TEXT_PP(2)));
	relation = RangeVarGetRelid(target, NoLock, true);
	schema = OidIsValid(relation) ? get_rel_namespace(relation)
		: RangeVarGetCreationNamespace(target);
	function = LookupFuncName(list_make2(makeString(pstrdup("fastclust_internal")),
										 makeString(pstrdup("label_rows"))),
							  lengthof(types), types, false);
	name = quote_qualified_identifier(get_namespace_name_or_temp(schema),
									  target->relname);
	return OidFunctionCall4(function, PG_GETARG_DATUM(0), PG_GETARG_DATUM(1),
							CStringGetTextDatum(name), PG_GETARG_DATUM(3));
}

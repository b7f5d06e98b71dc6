/*
 * model_cache.c - reading a named model once per query, not per row
 *
 * A call site keeps the models that it has read. They are valid for one user
 * and one snapshot, and are read again for another role or a later command. A
 * call site of a plpgsql expression, for example, is used by several commands.
 * Models are read through views of the rows that the caller may read.
 *
 * A snapshot is identified by its bounds, its command number and an epoch. The
 * epoch counts the transactions that ended and the subtransactions that were
 * rolled back. It is needed because bounds and command numbers may repeat after
 * the rollback of a subtransaction, and a model that was read in the
 * subtransaction must not be used any more.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "base/rng.h"
#include "operator/partial.h"
#include "operator/mixture.h"
#include "pg/base/memory.h"
#include "pg/encode/encode.h"
#include "pg/encode/group_value.h"
#include "pg/model/model.h"
#include "pg/operator/operator_value.h"

/*
 * Columns of a version. Micro-clusters, if there are any, label the rows in
 * place of the operator.
 */
#define GROUP_COLUMNS \
	"COALESCE(v.micro_clusters, v.operator), v.center, v.scale, v.distance_quantiles, v.map," \
	" v.spreads, v.encoder, v.paths," \
	" CASE WHEN v.vector THEN v.features[1]::pg_catalog.text END," \
	" (v.options OPERATOR(pg_catalog.->>) 'contamination')::pg_catalog.float8," \
	" v.method OPERATOR(pg_catalog.=) 'kmeans'"

/* Query with the parameters model, group and version. */
typedef struct model_query
{
	const char *text;
	SPIPlanPtr	plan;			/* NULL until the first use */
} model_query;

#define QUERY_OF(models) \
	"SELECT m.group_by::pg_catalog.text, m.version, " GROUP_COLUMNS \
	" FROM " models " m LEFT JOIN LATERAL" \
	" (SELECT * FROM fastclust_internal.readable_versions v WHERE v.model_id OPERATOR(pg_catalog.=) m.id" \
	" AND v.version OPERATOR(pg_catalog.=) m.version AND v.group_value OPERATOR(pg_catalog.=) $2 OFFSET 0) v ON true" \
	" WHERE m.model OPERATOR(pg_catalog.=) $1"

static model_query served_query = {
	QUERY_OF("fastclust_internal.readable_models")
};
static model_query version_query = {
	QUERY_OF("(SELECT r.id, r.model, o.version, (o.options"
			 " OPERATOR(pg_catalog.->>) 'group_by')::pg_catalog.name AS group_by"
			 " FROM fastclust_internal.readable_models r LEFT"
			 " JOIN LATERAL (SELECT * FROM fastclust_internal.readable_versions v"
			 " WHERE v.model_id OPERATOR(pg_catalog.=) r.id"
			 " AND v.version OPERATOR(pg_catalog.=) $3 LIMIT 1) o ON true)")
};

enum
{
	COLUMN_GROUP_BY = 1,
	COLUMN_VERSION,
	COLUMN_OPERATOR,
	COLUMN_CENTER,
	COLUMN_SCALE,
	COLUMN_QUANTILES,
	COLUMN_MAP,
	COLUMN_SPREADS,
	COLUMN_ENCODER,
	COLUMN_PATHS,
	COLUMN_VECTOR,
	COLUMN_CONTAMINATION,
	COLUMN_MEANS
};

/* Query for a worker of Citus, where the tables of models are empty. */
static model_query shared_query = {
	"SELECT v.group_by::pg_catalog.text, 1, " GROUP_COLUMNS
	" FROM fastclust_internal.shared_model($1, $2) v"
};

static model_query names_query = {
	"SELECT fastclust_internal.names_by_number(ROW(v.*)::fastclust_internal.stored_versions)"
	" FROM fastclust_internal.readable_models m"
	" JOIN fastclust_internal.readable_versions v ON v.model_id OPERATOR(pg_catalog.=) m.id"
	" AND v.group_value OPERATOR(pg_catalog.=) $2"
	" AND v.version OPERATOR(pg_catalog.=) CASE WHEN $3 OPERATOR(pg_catalog.<) 0 THEN m.version"
	" ELSE $3 END WHERE m.model OPERATOR(pg_catalog.=) $1"
};

/*
 * Queries for the type of the groups and for the texts of the groups, with the
 * parameters of model_query.
 */
#define GROUPS_OF_VERSION \
	" FROM fastclust_internal.readable_models m JOIN LATERAL" \
	" (SELECT * FROM fastclust_internal.readable_versions v" \
	" WHERE v.model_id OPERATOR(pg_catalog.=) m.id" \
	" AND v.version OPERATOR(pg_catalog.=) CASE WHEN $3 OPERATOR(pg_catalog.<) 0 THEN m.version" \
	" ELSE $3 END OFFSET 0) v ON true WHERE m.model OPERATOR(pg_catalog.=) $1"
static model_query type_query = {
	"SELECT v.group_type" GROUPS_OF_VERSION " LIMIT 1"
};
static model_query groups_query = {
	"SELECT pg_catalog.array_agg(v.group_value)" GROUPS_OF_VERSION
};
static model_query shared_type_query = {
	"SELECT g.group_type FROM fastclust_internal.shared_groups($1) g LIMIT 1"
};
static model_query shared_groups_query = {
	"SELECT pg_catalog.array_agg(g.group_value) FROM fastclust_internal.shared_groups($1) g"
};

typedef struct model_key
{
	const text *name;
	const text *group;
	int32		version;
} model_key;

typedef struct model_slot
{
	model_key	key;
	served_model *model;
	char		status;			/* used by simplehash.h */
} model_slot;

static uint64 epoch = 0;

/* ---- reading ---- */

static Datum
column(int number, bool *null)
{
	return SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, number,
						 null);
}

/*
 * Copies a float8[] column to the model's context, and sets *count to its
 * length. Returns NULL, and sets *count to 0, if the column is NULL.
 */
static double *
read_numbers(served_model *model, int number, const char *name, int *count)
{
	bool		null;
	Datum		value = column(number, &null);
	ArrayType  *array;
	Size		bytes;

	*count = 0;
	if (null)
		return NULL;
	array = DatumGetArrayTypeP(value);
	*count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	bytes = (Size) *count * sizeof(double);
	model->bytes += bytes;
	return memcpy(MemoryContextAlloc(model->context, Max(1, bytes)),
				  read_float8_array(PointerGetDatum(array), *count, name),
				  bytes);
}

static void
read_map(served_model *model)
{
	bool		null;
	Datum		map = column(COLUMN_MAP, &null);
	MemoryContext old;

	model->d = model->view.d;
	if (null)
		return;
	old = MemoryContextSwitchTo(model->context);
	model->map_header = (fc_kernel_map_header *) PG_DETOAST_DATUM_COPY(map);
	MemoryContextSwitchTo(old);
	model->bytes += VARSIZE(model->map_header);
	fc_kernel_map_view(model->map_header, &model->map);
	model->d = model->map.op.d;
}

/*
 * Reads the encoder of the columns or, without one, the name of the vector
 * column.
 */
static void
read_encoder(served_model *model)
{
	bool		null;
	Datum		encoder = column(COLUMN_ENCODER, &null);
	MemoryContext old = MemoryContextSwitchTo(model->context);

	if (null)
	{
		Datum		name = column(COLUMN_VECTOR, &null);

		model->vector_column = null ? "" : TextDatumGetCString(name);
	}
	else
	{
		fc_encoder_header *header = ((fc_encoder_header *)
									 PG_DETOAST_DATUM_COPY(encoder));

		model->encoder = prepare_encoder(header, model->context);
		model->observed = DatumGetBool(column(COLUMN_MEANS, &null)) &&
			model->map_header == NULL && fc_partial_suits(&model->view);
		if (model->observed)
			keep_missing(model->encoder);
		model->bytes += VARSIZE(header) +
			fc_encoder_prepared_size(&model->encoder->view);
		model->takes_numbers = true;
		for (Size i = 0; i < model->encoder->view.features; i++)
		{
			model->takes_numbers = model->takes_numbers &&
				model->encoder->view.feature[i].kind ==
				FC_FEATURE_NUMBER;
			model->encodes_numbers = model->encodes_numbers ||
				model->encoder->view.feature[i].log ||
				model->encoder->view.feature[i].cycle != FC_CYCLE_NONE ||
				model->encoder->view.feature[i].missing;
		}
	}
	model->values = model->takes_numbers ? model->encoder->view.features
		: model->d;
	MemoryContextSwitchTo(old);
}

/* Reads the paths: k x levels numbers of the nodes above each cluster. */
static void
read_paths(served_model *model)
{
	bool		null;
	Datum		value = column(COLUMN_PATHS, &null);
	ArrayType  *array;
	Size		bytes;

	if (null)
		return;
	array = DatumGetArrayTypeP(value);
	model->levels = ARR_DIMS(array)[1];
	bytes = (Size) ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) *
		sizeof(int32);
	model->paths = memcpy(MemoryContextAlloc(model->context, bytes),
						  ARR_DATA_PTR(array), bytes);
	model->bytes += bytes;
}

/*
 * Returns the text of an error hint, the result of
 * fastclust_internal.<function>(model).
 */
static char *
hint_of(const char *function, const served_model *model)
{
	Oid			type = TEXTOID;
	List	   *name = list_make2(makeString(pstrdup("fastclust_internal")),
								  makeString(pstrdup(function)));

	return TextDatumGetCString(OidFunctionCall1(LookupFuncName(name, 1, &type,
															   false),
												PointerGetDatum(model->name)));
}

/* Raises an error if the model or its version does not exist. */
static void
check_found(const served_model *model)
{
	bool		null;

	if (SPI_processed == 0)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT),
				errmsg("model \"%s\" does not exist",
					   text_to_cstring(model->name)),
				errhint("%s", hint_of("model_hint", model)));
	(void) column(COLUMN_VERSION, &null);
	if (null)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT),
				errmsg("model \"%s\" has no %s", text_to_cstring(model->name),
					   model->version == CURRENT_VERSION ? "current version"
					   : model->version == NULL_VERSION
					   ? "version NULL"
					   : psprintf("version %d", model->version)),
				errhint("%s", hint_of("version_hint", model)));
}

/*
 * Rearranges the sparse factors of the operator and the map once for all rows
 * of a query.
 */
static void
prepare_rows(served_model *model)
{
	fc_arena	arena = make_arena_in(model->context,
									  "a model prepared for its rows");

	fc_operator_slice(&model->view, &arena);
	if (model->map_header != NULL)
		fc_kernel_map_prepare(&model->map, &arena);
	model->bytes += arena.allocated;
}

/*
 * Reads the result row of a query into the model. The columns of the version
 * are consistent: version_fits.c checked them.
 */
static void
read_row(served_model *model)
{
	int			count;
	bool		null;
	Datum		group_by = column(COLUMN_GROUP_BY, &null);
	Datum		operator;
	Datum		contamination;
	MemoryContext old;

	if (!null)
		model->group_by = MemoryContextStrdup(model->context,
											  TextDatumGetCString(group_by));
	operator = column(COLUMN_OPERATOR, &null);
	if (null)
		return;					/* the group does not exist */
	old = MemoryContextSwitchTo(model->context);
	model->header = (fc_operator_header *) PG_DETOAST_DATUM_COPY(operator);
	MemoryContextSwitchTo(old);
	model->bytes += VARSIZE(model->header);
	open_operator(model->header, &model->view);
	read_map(model);
	model->center = read_numbers(model, COLUMN_CENTER, "center", &count);
	model->scale = read_numbers(model, COLUMN_SCALE, "scale", &count);
	prepare_rows(model);
	model->quantiles = read_numbers(model, COLUMN_QUANTILES,
									"distance_quantiles",
									&model->quantile_count);
	model->spreads = read_numbers(model, COLUMN_SPREADS, "spreads", &count);
	if (model->spreads != NULL && model->view.regions.clusters == 0)
		model->common_square = fc_common_square(model->view.weights, model->spreads,
												model->view.k);
	read_encoder(model);
	read_paths(model);
	contamination = column(COLUMN_CONTAMINATION, &null);
	model->contamination = null ? 0.01 : DatumGetFloat8(contamination);
}

/* Returns true in a worker of Citus that shares the coordinator's models. */
static bool
models_are_shared(void)
{
	bool		null;
	Datum		node;

	if (!OidIsValid(get_extension_oid("citus", true)))
		return false;
	if (SPI_execute("SELECT fastclust_internal.sharing_node()", true, 1) !=
		SPI_OK_SELECT ||
		SPI_processed != 1)
		elog(ERROR, "could not ask where models are");
	node = column(1, &null);
	return !null && DatumGetInt32(node) > 0;
}

static model_query *
query_for(const served_model *model)
{
	bool		shared = models_are_shared();

	if (model->version == CURRENT_VERSION)
		return shared ? &shared_query : &served_query;
	if (shared)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("version %d of model \"%s\" is not available on a worker of Citus",
					   model->version, text_to_cstring(model->name)),
				errdetail("Workers have only the current version of each model."),
				errhint("Make the version current with use_version, or call the function on the"
						" coordinator: ... FROM (SELECT * FROM some_table OFFSET 0) t."));
	return &version_query;
}

/* Runs a query of a model with the caller's snapshot and rights. */
static void
run_model_query(const served_model *model, model_query *query)
{
	Oid			types[] = {TEXTOID, TEXTOID, INT4OID};
	Datum		values[] = {
		PointerGetDatum(model->name),
		PointerGetDatum(model->group),
		Int32GetDatum(model->version)
	};

	if (query->plan == NULL)
	{
		SPIPlanPtr	made = SPI_prepare(query->text, lengthof(types), types);

		(void) SPI_keepplan(made);
		query->plan = made;
	}
	if (SPI_execute_plan(query->plan, values, NULL, true, 2) != SPI_OK_SELECT)
		elog(ERROR, "could not read a model");
}

static void
read_model(served_model *model)
{
	SPI_connect();
	run_model_query(model, query_for(model));
	check_found(model);
	read_row(model);
	SPI_finish();
}

/* ---- groups ---- */

/*
 * Runs `query` or, in a worker of Citus, `shared`, and returns its result: an
 * array of texts, copied to the model's context. Returns NULL if the query
 * returns NULL or no row.
 */
static ArrayType *
read_texts(const served_model *model, model_query *query, model_query *shared)
{
	bool		null = true;
	ArrayType  *texts = NULL;

	SPI_connect();
	run_model_query(model, models_are_shared() ? shared : query);
	if (SPI_processed > 0)
	{
		Datum		array = column(1, &null);
		MemoryContext old = MemoryContextSwitchTo(model->context);

		if (!null)
			texts = DatumGetArrayTypePCopy(array);
		MemoryContextSwitchTo(old);
	}
	SPI_finish();
	return texts;
}

static void
read_group_type(served_model *model)
{
	group_type	type = group_type_of_names(read_texts(model, &type_query, &shared_type_query));

	model->grouping = memcpy(MemoryContextAlloc(model->context, sizeof(type)),
							 &type, sizeof(type));
}

/*
 * Reads the texts of the model's groups and passes them to the finder. A model
 * without groups has an empty array.
 */
static void
read_groups(model_call_state *call, served_model *model, group_finder *finder)
{
	ArrayType  *groups = read_texts(model, &groups_query, &shared_groups_query);

	if (groups == NULL)
		groups = construct_empty_array(TEXTOID);
	set_groups(finder, groups);
	model->bytes += 3 * VARSIZE(groups);
	call->bytes += 3 * VARSIZE(groups);
	pfree(groups);
}

/* Returns the model's finder for values of a type, which is made if needed. */
static group_finder *
finder_of_type(model_call_state *call, served_model *base, Oid type)
{
	group_finder *finder;
	ListCell   *cell;
	MemoryContext old;

	foreach(cell, base->finders)
		if (finds_type(lfirst(cell), type))
		return lfirst(cell);
	if (base->grouping == NULL)
		read_group_type(base);
	finder = make_group_finder(base->grouping, type, base->group_by, base->context);
	if (needs_groups(finder))
		read_groups(call, base, finder);
	old = MemoryContextSwitchTo(base->context);
	base->finders = lappend(base->finders, finder);
	MemoryContextSwitchTo(old);
	return finder;
}

const text *
group_of_value(model_call_state *call, served_model *base, Oid type, Datum value,
			   bool or_given)
{
	group_finder *finder = finder_of_type(call, base, type);
	const text *group = text_of_group(finder, value);

	return group == NULL && or_given ? text_as_given(finder, value) : group;
}

/* ---- the cache of a call site ---- */

model_call_state *
model_call_state_of(FunctionCallInfo fcinfo)
{
	model_call_state *call = fcinfo->flinfo->fn_extra;

	if (call == NULL)
	{
		call = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt,
									  sizeof(model_call_state));
		call->reader.context = fcinfo->flinfo->fn_mcxt;
		fcinfo->flinfo->fn_extra = call;
	}
	return call;
}

static bool
same_text(const text *a, const text *b)
{
	Size		size = VARSIZE_ANY_EXHDR(a);

	return size == VARSIZE_ANY_EXHDR(b) &&
		memcmp(VARDATA_ANY(a), VARDATA_ANY(b), size) == 0;
}

static uint32
hash_text(uint64 seed, const text *value)
{
	return (uint32) fc_hash_bytes(seed, VARDATA_ANY(value),
								  VARSIZE_ANY_EXHDR(value));
}

/* Hash table of models by name, group and version. */
#define SH_PREFIX models
#define SH_ELEMENT_TYPE model_slot
#define SH_KEY_TYPE model_key
#define SH_KEY key
#define SH_HASH_KEY(table, key) \
	hash_text(hash_text((uint32) (key).version, (key).name), (key).group)
#define SH_EQUAL(table, a, b) \
	(same_text((a).name, (b).name) && same_text((a).group, (b).group) && \
	 (a).version == (b).version)
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static void
forget_models(FunctionCallInfo fcinfo, model_call_state *call)
{
	call->last = NULL;
	call->base = NULL;
	call->ready = NULL;
	call->record_model = NULL;
	call->bytes = 0;
	if (call->context != NULL)
		MemoryContextReset(call->context);
	else
		call->context = AllocSetContextCreate(fcinfo->flinfo->fn_mcxt,
											  "fastclust models",
											  ALLOCSET_DEFAULT_SIZES);
	call->models = models_create(call->context, 16, NULL);
}

static void
end_epoch(XactEvent event, void *arg)
{
	epoch++;
}

static void
end_sub_epoch(SubXactEvent event, SubTransactionId mine,
			  SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		epoch++;
}

/*
 * Returns the user, snapshot and epoch for which a model that is read now is
 * valid.
 */
model_validity
model_validity_now(void)
{
	Snapshot	snapshot = GetActiveSnapshot();

	if (epoch == 0)
	{
		RegisterXactCallback(end_epoch, NULL);
		RegisterSubXactCallback(end_sub_epoch, NULL);
		epoch = 1;
	}
	return (model_validity)
	{
		.epoch = epoch,
			.user = GetUserId(),
			.xmin = snapshot->xmin,
			.xmax = snapshot->xmax,
			.xcnt = snapshot->xcnt,
			.subxcnt = snapshot->subxcnt,
			.curcid = snapshot->curcid
	};
}

bool
model_validity_holds(const model_validity *valid)
{
	model_validity now = model_validity_now();

	return memcmp(valid, &now, sizeof(now)) == 0;
}

static text *
copy_text(MemoryContext context, const text *source)
{
	return memcpy(MemoryContextAlloc(context, VARSIZE_ANY(source)), source,
				  VARSIZE_ANY(source));
}

static served_model *
add_model(FunctionCallInfo fcinfo, model_call_state *call, const text *name,
		  const text *group)
{
	MemoryContext context;
	served_model *model;
	model_key	key;
	bool		found;

	context = AllocSetContextCreate(CurrentMemoryContext, "fastclust model",
									ALLOCSET_SMALL_SIZES);
	model = MemoryContextAllocZero(context, sizeof(served_model));
	model->context = context;
	model->name = copy_text(context, name);
	model->group = copy_text(context, group);	/* copied, because
												 * forget_models may free the
												 * original */
	if (call->bytes / 1024 > (Size) fastclust_memory_budget)
		forget_models(fcinfo, call);
	model->version = call->version;
	model->bytes = ALLOCSET_SMALL_INITSIZE + VARSIZE_ANY(name) +
		VARSIZE_ANY(group);
	read_model(model);
	MemoryContextSetParent(context, call->context);
	key.name = model->name;
	key.group = model->group;
	key.version = model->version;
	models_insert(call->models, key, &found)->model = model;
	call->bytes += model->bytes;
	return model;
}

/*
 * Counts a use of the model. After many uses, prepare_operator computes bounds
 * on the distances, which need larger buffers.
 */
static const served_model *
count_use(model_call_state *call, served_model *model)
{
	Size		bytes;

	model->uses++;
	if (model->header != NULL &&
		(bytes = prepare_operator(&model->view, model->uses, model->context)) >
		0)
	{
		model->bytes += bytes;
		call->bytes += bytes;
		call->ready = NULL;
	}
	return model;
}

const fc_columns *
columns_of_model(model_call_state *call)
{
	served_model *model = call->last;
	Size		allocated = model->bytes;

	if (model->center != NULL || model->map_header != NULL ||
		model->encoder != NULL)
		return NULL;
	(void) columns_of(&model->columns, &model->view, model->uses,
					  model->context, &allocated);
	call->bytes += allocated - model->bytes;
	model->bytes = allocated;
	return model->columns;
}

text *
shown_name_of(model_call_state *call, int32 cluster)
{
	served_model *model = call->last;
	ArrayType  *names;

	if (cluster < model->name_count)
		return DatumGetTextPP(model->names[cluster]);
	names = read_texts(model, &names_query, &names_query);
	if (names != NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(model->context);

		deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &model->names, NULL,
						  &model->name_count);
		MemoryContextSwitchTo(old);
	}
	if (cluster >= model->name_count)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("the cluster names of model \"%s\" are not available on a worker of Citus",
					   text_to_cstring(model->name)),
				errhint("Call the function on the coordinator: ... FROM"
						" (SELECT * FROM some_table OFFSET 0) t."));
	return DatumGetTextPP(model->names[cluster]);
}

/* Returns true if the call site used this model last. */
static bool
is_last(const model_call_state *call, const text *name, const text *group)
{
	return call->last != NULL && same_text(call->last->name, name) &&
		same_text(call->last->group, group) &&
		call->last->version == call->version;
}

/* Finds a model in the cache of the call site, or reads it. */
static const served_model *
find_model(FunctionCallInfo fcinfo, model_call_state *call, const text *name,
		   const text *group)
{
	model_key	key = {name, group, call->version};
	model_slot *slot = models_lookup(call->models, key);

	call->last = slot != NULL ? slot->model
		: add_model(fcinfo, call, name, group);
	return count_use(call, call->last);
}

const served_model *
served_model_of(FunctionCallInfo fcinfo, model_call_state *call, const text *group)
{
	static union
	{
		int32		header;
		char		scratch[16];
	}			empty;
	const text *name = PG_GETARG_TEXT_PP(0);

	SET_VARSIZE(&empty, VARHDRSZ);
	if (group == NULL)
		group = (const text *) &empty;
	if (call->context == NULL || !model_validity_holds(&call->valid))
	{
		forget_models(fcinfo, call);
		call->valid = model_validity_now();
	}
	else if (is_last(call, name, group))
		return count_use(call, call->last);
	return find_model(fcinfo, call, name, group);
}

const served_model *
served_group_of(FunctionCallInfo fcinfo, model_call_state *call,
				const served_model *base, const text *group)
{
	if (is_last(call, base->name, group))
		return count_use(call, call->last);
	return find_model(fcinfo, call, base->name, group);
}

served_model *
model_of_all_groups(FunctionCallInfo fcinfo, model_call_state *call)
{
	if (call->base == NULL || !model_validity_holds(&call->valid) ||
		call->base->version != call->version ||
		!same_text(call->base->name, PG_GETARG_TEXT_PP(0)))
	{
		(void) served_model_of(fcinfo, call, NULL);
		call->base = call->last->group_by != NULL ? call->last : NULL;
		return call->last;
	}
	return call->base;
}

/*
 * encoder_agg.c - encoder_agg: an encoder learned from rows.
 *
 * The state consists of counts and exact sums, so that the order of the rows
 * does not matter (encode/learn.h); its memory is charged to the memory
 * budget. The rows are usually a sample, so there is no combine function:
 * parallel workers only read rows.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "encode/learn.h"
#include "pg/base/memory.h"
#include "pg/base/progress.h"
#include "pg/encode/category.h"
#include "pg/encode/encode.h"

enum
{
	ARGUMENT_ROW = 1,
	ARGUMENT_COLUMNS,
	ARGUMENT_OPTIONS,
	ARGUMENT_COUNT
};

typedef struct encoder_state
{
	MemoryContext context;
	memory_account memory;
	int64		rows;			/* number of rows, including skipped ones */
	int64		skipped;
	uint64		generation;		/* generation of the call state at the last
								 * check that its columns and options fit
								 * `learners` */
	Size		features;
	fc_learner *learners;
	fc_feature_name *names;
} encoder_state;

/* ---- state shared by rows of the same arguments ---- */

/*
 * State of a call site, made from the arguments again when columns or options
 * change. An encoder_state has no pointer into it.
 */
typedef struct learning_call_state
{
	MemoryContext context;		/* owns the fields below */
	uint64		generation;		/* number of changes of the arguments or of
								 * the row type */
	pg_tz	   *session_zone;	/* time zone of the session */
	pg_tz	   *zone;			/* time zone of cyclic columns */
	ArrayType  *columns;		/* copy of the argument; NULL until the
								 * arguments are read */
	Jsonb	   *options;
	int			count;			/* number of columns */
	const char **names;
	encoder_options requested;
	json_path  *paths;			/* paths of the features */
	record_reader record;
	category_key *keys;			/* one per feature: computes keys of values
								 * that are counted by their equality;
								 * allocated in record.context */
	fc_feature_cell *cells;		/* cells of the current row, one per feature */
	fc_feature_kind *kinds;		/* kind of the current row's value for each
								 * feature with a JSON path */
} learning_call_state;

static void
read_names(learning_call_state *call, ArrayType *columns)
{
	Datum	   *names;
	bool	   *nulls;

	deconstruct_array(columns, TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls,
					  &call->count);
	call->names = palloc((Size) Max(call->count, 1) * sizeof(char *));
	for (int i = 0; i < call->count; i++)
	{
		if (nulls[i])
			call->count = 0;
		else
			call->names[i] = TextDatumGetCString(names[i]);
		for (int j = 0; j < i && i < call->count; j++)
			if (strcmp(call->names[i], call->names[j]) == 0)
				ereport(ERROR, errcode(ERRCODE_DUPLICATE_COLUMN),
						errmsg("column \"%s\" is named twice", call->names[i]));
	}
	if (call->count == 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("columns must name at least one column and contain no NULL"));
}

static void
label_features(learning_call_state *call)
{
	Size		count = call->requested.features;

	call->paths = palloc(count * sizeof(json_path));
	call->cells = palloc0(count * sizeof(fc_feature_cell));
	call->kinds = palloc0(count * sizeof(fc_feature_kind));
	call->keys = palloc0(count * sizeof(category_key));
	for (Size i = 0; i < count; i++)
		call->paths[i] = path_of_feature(call->requested.feature[i].name,
										 call->requested.feature[i].path);
}

static bool
has_arguments(FunctionCallInfo fcinfo, const learning_call_state *call)
{
	return call->columns != NULL && call->session_zone == session_timezone &&
		same_bytes(PG_GETARG_ARRAYTYPE_P(ARGUMENT_COLUMNS), call->columns) &&
		(PG_NARGS() <= ARGUMENT_OPTIONS ||
		 same_bytes(PG_GETARG_JSONB_P(ARGUMENT_OPTIONS), call->options));
}

static void
read_arguments(FunctionCallInfo fcinfo, learning_call_state *call)
{
	MemoryContext old;
	ArrayType  *columns;

	call->columns = NULL;		/* stays NULL if reading raises an error */
	MemoryContextReset(call->context);
	old = MemoryContextSwitchTo(call->context);
	columns = PG_GETARG_ARRAYTYPE_P_COPY(ARGUMENT_COLUMNS);
	call->options = PG_NARGS() > ARGUMENT_OPTIONS
		? PG_GETARG_JSONB_P_COPY(ARGUMENT_OPTIONS)
		: NULL;
	read_names(call, columns);
	call->requested = read_encoder_options(call->names, call->count, call->options);
	call->session_zone = session_timezone;
	call->zone = call->requested.zone != NULL ? named_zone(call->requested.zone, NULL)
		: session_timezone;
	label_features(call);
	call->record = (record_reader)
	{
		.context = AllocSetContextCreate(call->context, "fastclust columns",
										 ALLOCSET_SMALL_SIZES)
	};
	MemoryContextSwitchTo(old);
	call->generation++;
	call->columns = columns;
}

static learning_call_state *
learning_call_state_of(FunctionCallInfo fcinfo)
{
	learning_call_state *call = fcinfo->flinfo->fn_extra;

	if (call == NULL)
	{
		call = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt,
									  sizeof(learning_call_state));
		call->context = AllocSetContextCreate(fcinfo->flinfo->fn_mcxt,
											  "fastclust encoder_agg",
											  ALLOCSET_SMALL_SIZES);
		fcinfo->flinfo->fn_extra = call;
	}
	if (!has_arguments(fcinfo, call))
		read_arguments(fcinfo, call);
	return call;
}

/* ---- kinds of columns ---- */

/*
 * Hint for cyclic columns of one kind: the option and the value that it
 * proposes.
 */
typedef struct cycle_advice
{
	const char *hint;
	const char *option;
	const char *value;
} cycle_advice;

/*
 * Returns the kind of a column; a jsonb column counts as a column of numbers.
 */
static fc_feature_kind
transformed_kind(const value_reader *reader)
{
	return reader->kind == FC_FEATURE_ANY ? FC_FEATURE_NUMBER : reader->kind;
}

/*
 * Returns the cycle of a feature. Raises an error if a column of this type has
 * no such cycle.
 */
static fc_cycle
cycle_of_feature(const feature_options *feature, const value_reader *reader)
{
	static const cycle_advice advice[FC_FEATURE_ANY] = {
		[FC_FEATURE_NUMBER] = {"State its period: %s.", "period", "24"},
		[FC_FEATURE_INTERVAL] = {"State its period: %s.", "period", "86400"},
		[FC_FEATURE_DATE] = {"Name week or year: %s.", "cyclic", "\"week\""},
		[FC_FEATURE_TIMESTAMP] = {"Name day, week or year: %s.", "cyclic", "\"day\""}
	};
	fc_feature_kind kind = transformed_kind(reader);
	fc_cycle	cycle = feature->cycle;

	if (feature->transform != TRANSFORM_CYCLIC)
		return FC_CYCLE_NONE;
	if (cycle == FC_CYCLE_NONE &&
		(reader->source == SOURCE_TIME || reader->source == SOURCE_TIMETZ))
		cycle = FC_CYCLE_DAY;
	if (fc_has_cycle(kind, cycle))
		return cycle;
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			cycle == FC_CYCLE_NONE
			? errmsg("column \"%s\" (%s) has no period of its own", feature->name,
					 feature_kind_name((int) kind))
			: errmsg("option \"%s\" does not fit column \"%s\" (%s)",
					 cycle == FC_CYCLE_PERIOD ? "period" : "cyclic", feature->name,
					 feature_kind_name((int) kind)),
			advice[kind].hint != NULL
			? errhint(advice[kind].hint,
					  options_for_both(column_option(advice[kind].option, feature->name,
													 advice[kind].value)))
			: errhint("Numbers, dates, times and intervals can be cyclic."));
	return FC_CYCLE_NONE;
}

/* Raises an error if the type of a column does not fit its options. */
static void
check_column(const feature_options *feature, const value_reader *reader)
{
	fc_feature_kind kind = reader->kind;
	bool		log = feature->transform == TRANSFORM_LOG;
	bool		robust = feature->transform == TRANSFORM_ROBUST;

	if ((kind == FC_FEATURE_ANY) != (feature->path != NULL))
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
				feature->path != NULL
				? errmsg("option \"paths\" names column \"%s\", which is not jsonb",
						 feature->name)
				: errmsg("column \"%s\" is jsonb, but no paths into it are named",
						 feature->name),
				feature->path != NULL
				? 0
				: errhint("Name the paths in the options: %s.",
						  options_for_both(column_option("paths", feature->name,
														 "[\"key\", \"key.of.an.object\"]"))));
	if (feature->by_name &&
		((log && !fc_has_log(transformed_kind(reader))) ||
		 (robust && (kind == FC_FEATURE_CATEGORY || kind == FC_FEATURE_VECTOR))))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"transform\" is \"%s\" for column \"%s\", a %s",
					   log ? "log" : "robust", feature->name, feature_kind_name((int) kind)),
				errdetail("%s", log ? "Numbers and intervals have logarithms."
						  : "Numbers, dates and times have quartiles."));
}

/*
 * Looks up the columns by name if the type of the row is not the type of the
 * previous row.
 */
static void
find_record(learning_call_state *call, HeapTupleHeader row)
{
	record_reader *record = &call->record;
	uint64		shape;

	if (has_row_type(record, row))
		return;
	find_columns(record, row, call->names, NULL, (Size) call->count, false);
	shape = record->shape;
	record->shape = 0;			/* stays 0 after an error, so that the next
								 * row looks up the columns again */
	memset(call->keys, 0, call->requested.features * sizeof(category_key));
	for (Size i = 0; i < call->requested.features; i++)
	{
		const feature_options *feature = &call->requested.feature[i];
		const value_reader *reader = &record->readers[feature->column];
		Form_pg_attribute attribute = TupleDescAttr(record->desc,
													record->attribute[feature->column]);

		check_column(feature, reader);
		if (reader->kind == FC_FEATURE_CATEGORY)
			call->keys[i] = make_category_key(attribute->atttypid,
											  attribute->attcollation,
											  record->context);
	}
	record->shape = shape;
	call->generation++;
}

/* ---- the state ---- */

static void *
take_cleared(encoder_state *state, Size bytes)
{
	charge_memory(&state->memory, bytes);
	return MemoryContextAllocExtended(state->context, bytes,
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

static void
take_sums(encoder_state *state, fc_learner *learner, Size width)
{
	learner->sums = take_cleared(state, width * sizeof(fc_exact_sum));
	learner->squares = take_cleared(state, width * sizeof(fc_exact_sum));
	learner->width = width;
}

static void
free_frequent(encoder_state *state, fc_frequent_items *frequent)
{
	if (frequent->entry != NULL)
	{
		pfree(frequent->entry);
		state->memory.charged -= frequent->slots * sizeof(fc_frequent_item) +
			frequent->text_capacity;
	}
	if (frequent->sketch != NULL)
	{
		pfree(frequent->sketch);
		state->memory.charged -= FC_FREQUENT_SKETCH_BYTES;
	}
}

static void
move_frequent(encoder_state *state, fc_frequent_items *frequent, Size length)
{
	Size		bytes = fc_frequent_next_bytes(frequent, length);
	fc_frequent_items old = *frequent;

	CHECK_FOR_INTERRUPTS();
	if (fc_frequent_wants_sketch(frequent))
		fc_frequent_attach(frequent,
						   take_cleared(state, FC_FREQUENT_SKETCH_BYTES));
	charge_memory(&state->memory, bytes);
	fc_frequent_move(frequent, length, alloc_large_in(state->context, bytes));
	old.sketch = NULL;			/* the moved counter owns it now */
	free_frequent(state, &old);
}

/* Returns a new learner for a feature, with the requested options. */
static fc_learner
learner_of_options(const learning_call_state *call, Size i)
{
	const feature_options *requested = &call->requested.feature[i];
	const value_reader *reader = &call->record.readers[requested->column];
	fc_learner	learner;

	learner = fc_learner_start(reader->kind,
							   requested->transform == TRANSFORM_LOG &&
							   fc_has_log(transformed_kind(reader)),
							   requested->scaling, requested->nulls,
							   requested->weight,
							   (uint32_t) call->requested.max_categories);
	learner.cycle = cycle_of_feature(requested, reader);
	learner.period = learner.cycle > FC_CYCLE_PERIOD ? period_of_cycle(learner.cycle, reader->kind)
		: requested->period;
	learner.categories.keyed = call->keys[i].type != NULL;
	return learner;
}

static fc_feature_name
names_of_feature(const learning_call_state *call, Size i)
{
	const feature_options *feature = &call->requested.feature[i];
	bool		zoned = (feature->transform == TRANSFORM_CYCLIC &&
						 call->record.readers[feature->column].source == SOURCE_TIMESTAMPTZ);

	return (fc_feature_name)
	{
		feature->name, feature->path,
			zoned ? name_of_zone(call->zone) : call->keys[i].type,
			call->keys[i].name_of_collation
	};
}

static const char *
keep_name(encoder_state *state, const char *name)
{
	return name != NULL ? strcpy(take_cleared(state, strlen(name) + 1), name) : NULL;
}

static encoder_state *
start_state(const learning_call_state *call, MemoryContext context)
{
	encoder_state *state = MemoryContextAllocZero(context,
												  sizeof(encoder_state));

	state->context = context;
	state->memory.what = "encoder_agg";
	state->features = call->requested.features;
	state->learners = take_cleared(state, state->features * sizeof(fc_learner));
	state->names = take_cleared(state,
								state->features * sizeof(fc_feature_name));
	state->generation = call->generation;
	for (Size i = 0; i < state->features; i++)
	{
		fc_learner *learner = &state->learners[i];
		fc_feature_name name = names_of_feature(call, i);

		*learner = learner_of_options(call, i);
		if (learner->kind != FC_FEATURE_VECTOR &&
			learner->kind != FC_FEATURE_CATEGORY)
			take_sums(state, learner, learner->cycle != FC_CYCLE_NONE ? 2 : 1);
		state->names[i] = (fc_feature_name)
		{
			keep_name(state, name.name), keep_name(state, name.path),
				keep_name(state, name.type), keep_name(state, name.collation)
		};
	}
	return state;
}

static bool
same_name(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/*
 * Returns true if two learners have the same column, path, kind, type of
 * categories and options.
 */
static bool
same_learner(const fc_learner *a, const fc_feature_name *a_name,
			 const fc_learner *b, const fc_feature_name *b_name)
{
	return a->kind == b->kind && a->log == b->log && a->cycle == b->cycle &&
		a->period == b->period && a->scaling == b->scaling &&
		a->nulls == b->nulls && a->weight == b->weight &&
		a->max_categories == b->max_categories &&
		same_name(a_name->name, b_name->name) && same_name(a_name->path, b_name->path) &&
		same_name(a_name->type, b_name->type) && same_name(a_name->collation, b_name->collation);
}

/*
 * Checks that a row has the same columns, kinds and options as the rows of the
 * state.
 */
static void
check_same_rows(encoder_state *state, const learning_call_state *call)
{
	bool		same = state->features == call->requested.features;

	for (Size i = 0; i < state->features && same; i++)
	{
		fc_learner	requested = learner_of_options(call, i);
		fc_feature_name name = names_of_feature(call, i);

		same = same_learner(&state->learners[i], &state->names[i], &requested, &name);
	}
	if (!same)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("columns, their types and options must be the same for all rows"));
	state->generation = call->generation;
}

/* ---- a row ---- */

static void
read_cells(learning_call_state *call)
{
	record_reader *record = &call->record;

	for (Size i = 0; i < call->requested.features; i++)
	{
		const feature_options *feature = &call->requested.feature[i];
		value_reader *reader = &record->readers[feature->column];
		int			attribute = record->attribute[feature->column];
		Datum	   *value = &record->values[attribute];
		fc_feature_cell *cell = &call->cells[i];

		cell->kind = FC_CELL_NULL;
		if (record->nulls[attribute])
			continue;
		if (reader->kind == FC_FEATURE_ANY)
		{
			*value = JsonbPGetDatum(DatumGetJsonbP(*value));	/* detoasted for all
																 * paths */
			call->kinds[i] = read_json(DatumGetJsonbP(*value), &call->paths[i], false, cell);
			continue;
		}
		read_value(reader, *value, cell);
		if (feature->transform == TRANSFORM_CYCLIC)
			make_cyclic(reader, feature->cycle, call->zone, cell);
	}
}

/*
 * Counts the NULLs that cause a row to be skipped. Returns false if there is
 * such a NULL. Raises an error for a NULL in a feature with option nulls =
 * "error".
 */
static bool
pass_nulls(encoder_state *state, const learning_call_state *call)
{
	bool		pass = true;

	for (Size i = 0; i < state->features; i++)
	{
		if (call->cells[i].kind != FC_CELL_NULL)
			continue;
		if (state->learners[i].nulls == FC_NULLS_ERROR)
			ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
					errmsg("%s is NULL", call->paths[i].label),
					errhint("Leave such rows out, or write \"impute\" in place of \"skip\" to replace each NULL by a value: %s.",
							options_for_both(column_option("nulls",
														   call->requested.feature[i].name,
														   "\"skip\""))));
		if (state->learners[i].nulls == FC_NULLS_SKIP)
		{
			state->learners[i].nulls_seen += state->learners[i].count;
			pass = false;
		}
	}
	return pass;
}

/*
 * Raises an error if a number of feature i is too large. The hint proposes to
 * scale vectors, and to take the logarithm of other columns.
 */
static void
check_size(const learning_call_state *call, Size i, double x)
{
	if (fabs(x) > FC_LARGEST_NUMBER)
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("%s is %g, too large", call->paths[i].label, x),
				errdetail("The magnitude of a number must not exceed %g, except with a logarithm.",
						  FC_LARGEST_NUMBER),
				call->cells[i].kind == FC_CELL_DOUBLES
				? errhint("Scale the data down.")
				: errhint("Take its logarithm: %s.",
						  options_for_both(column_option("transform",
														 call->requested.feature[i].name,
														 "\"log\""))));
}

/*
 * Makes room in a counter for a text of this length, or for a number (length
 * 0). If the counter is full afterwards, grow_frequent enlarges it.
 */
static void
make_capacity(encoder_state *state, fc_frequent_items *frequent, Size length)
{
	while (!fc_frequent_has_capacity(frequent, length))
		move_frequent(state, frequent, length);
}

static void
grow_frequent(encoder_state *state, fc_frequent_items *frequent)
{
	while (fc_frequent_exceeds_limit(frequent))
		move_frequent(state, frequent, 0);
}

static void
learn_vector(encoder_state *state, const learning_call_state *call, Size i)
{
	fc_learner *learner = &state->learners[i];
	const fc_feature_cell *cell = &call->cells[i];
	const char *label = call->paths[i].label;

	if (learner->width == 0)
	{
		check_count(psprintf("the dimension of %s", label), cell->length, 1,
					FC_MAX_DIM);
		take_sums(state, learner, cell->length);
	}
	if (learner->width != cell->length)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("%s has %u dimensions, but %zu in earlier rows",
					   label, cell->length, learner->width));
	for (uint32 j = 0; cell->kind == FC_CELL_DOUBLES && j < cell->length; j++)
		check_size(call, i, cell->doubles[j]);
	fc_learn_vector(learner, cell);
}

static void
learn_text(encoder_state *state, learning_call_state *call, Size i, Datum value)
{
	fc_learner *learner = &state->learners[i];
	const fc_feature_cell *cell = &call->cells[i];
	bool		keyed = learner->categories.keyed;
	uint64		key = keyed ? key_of_category(&call->keys[i], value) : 0;

	make_capacity(state, &learner->categories, cell->length);
	fc_learn_text(learner, keyed ? &key : NULL, cell->text, cell->length);
}

/*
 * Learns the jsonb value at a path, both by its kind and as text, because the
 * kind of the feature is not known yet.
 */
static void
learn_any(encoder_state *state, const learning_call_state *call, Size i, const Jsonb *jsonb)
{
	fc_learner *learner = &state->learners[i];
	fc_feature_cell text;

	(void) read_json(jsonb, &call->paths[i], true, &text);
	make_capacity(state, &learner->categories, text.length);
	fc_learn_any(learner, call->kinds[i], call->cells[i].number, text.text,
				 text.length);
}

static void
learn_feature(encoder_state *state, learning_call_state *call, Size i)
{
	int			column = call->requested.feature[i].column;
	Datum		value = call->record.values[call->record.attribute[column]];
	fc_learner *learner = &state->learners[i];
	const fc_feature_cell *cell = &call->cells[i];

	if (cell->kind == FC_CELL_NULL)
	{
		learner->nulls_seen += learner->count;
		return;
	}
	if (cell->kind == FC_CELL_NUMBER && !learner->log)
		check_size(call, i, cell->number);
	if (cell->kind == FC_CELL_NUMBER && learner->scaling == FC_SCALING_ROBUST)
		make_capacity(state, &learner->values, 0);
	if (learner->kind == FC_FEATURE_ANY)
		learn_any(state, call, i, DatumGetJsonbP(value));
	else if (cell->kind == FC_CELL_TEXT)
		learn_text(state, call, i, value);
	else if (cell->kind == FC_CELL_NUMBER)
		fc_learn_number(learner, cell->number);
	else
		learn_vector(state, call, i);
	grow_frequent(state, &learner->values);
	grow_frequent(state, &learner->categories);
}

/* Learns a row that counts as `count` rows. */
static void
learn_row(encoder_state *state, learning_call_state *call, int64 count)
{
	read_cells(call);
	state->rows += count;
	for (Size i = 0; i < state->features; i++)
		state->learners[i].count = count;
	if (!pass_nulls(state, call))
	{
		state->skipped += count;
		return;
	}
	for (Size i = 0; i < state->features; i++)
		learn_feature(state, call, i);
}

/*
 * Transition function. Takes (state, row record, columns text[] [, options
 * jsonb [, count bigint]]). Learns a row; a NULL row, or one that counts 0
 * times, changes nothing.
 */
PG_FUNCTION_INFO_V1(fastclust_encoder_accum);
Datum
fastclust_encoder_accum(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {
		[ARGUMENT_COLUMNS] = "columns",
		[ARGUMENT_OPTIONS] = "options",
		[ARGUMENT_COUNT] = "count"
	};
	MemoryContext context = aggregate_context(fcinfo);
	encoder_state *state = internal_state(fcinfo);
	learning_call_state *call;
	HeapTupleHeader row;
	int64		count = PG_NARGS() > ARGUMENT_COUNT ? PG_GETARG_INT64(ARGUMENT_COUNT) : 1;

	for (int i = ARGUMENT_COLUMNS; i < PG_NARGS(); i++)
		require_argument(fcinfo, i, names[i]);
	call = learning_call_state_of(fcinfo);
	if (PG_ARGISNULL(ARGUMENT_ROW) || count == 0)
		return unchanged_state(fcinfo);
	row = PG_GETARG_HEAPTUPLEHEADER(ARGUMENT_ROW);
	find_record(call, row);
	if (state == NULL)
		state = start_state(call, context);
	else if (state->generation != call->generation)
		check_same_rows(state, call);
	read_record(&call->record, row);
	learn_row(state, call, count);
	report_progress_of_rows();
	PG_RETURN_POINTER(state);
}

/* ---- the encoder ---- */

static void
check_choice(fc_status status, const fc_sample *sample,
			 const fc_encoder_choice *choice, size_t bad)
{
	if (status == FC_EEMPTY)
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				errmsg("column \"%s\" is NULL in all rows", sample->names[bad].name),
				errhint("Leave out the column."));
	check_status(status);
	if (choice->dim > FC_MAX_ENCODED)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("the columns would be encoded in %zu dimensions",
					   choice->dim),
				errdetail("The maximum is %d.", FC_MAX_ENCODED),
				errhint("Use fewer columns, or fewer categories of each: %s.",
						options_for_both("'{\"encoder\": {\"categories\": 8}}'")));
}

PG_FUNCTION_INFO_V1(fastclust_encoder_final);
Datum
fastclust_encoder_final(PG_FUNCTION_ARGS)
{
	const encoder_state *state = internal_state(fcinfo);
	memory_account memory = {"encoder_agg"};
	fc_sample	sample;
	fc_encoder_choice choice;
	fc_encoder_header *header;
	fc_arena	arena;
	size_t		bad = 0;

	aggregate_context(fcinfo);
	if (state == NULL || state->rows == state->skipped)
		PG_RETURN_NULL();
	sample = (fc_sample)
	{
		state->learners, state->names, state->features,
			state->rows, state->skipped
	};
	charge_memory(&memory, state->memory.charged);
	arena = charged_arena(&memory);
	check_choice(fc_encoder_choose(&sample, &arena, &choice, &bad), &sample,
				 &choice, bad);
	charge_memory(&memory, choice.size);
	header = palloc(choice.size);
	fc_encoder_write(&sample, &choice, &arena, header);
	SET_VARSIZE(header, choice.size);
	Assert(fc_encoder_check(header, choice.size) == FC_OK);
	PG_RETURN_POINTER(header);
}

/*
 * scan_state.c - merges and packs states of scan_agg; the type
 * aggregate_state, which holds packed states of this and of other kinds
 *
 * A packed state is a packed_scan, followed by the sections that exist. Each
 * section is a value of its own type, at an offset that is a multiple of 8.
 */
#include "postgres.h"

#include "funcapi.h"
#include "libpq/pqformat.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "pg/drift/drift_value.h"
#include "pg/kmeans/collection.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/rows.h"
#include "pg/rkhs/kernel.h"
#include "pg/sketch/sketch_value.h"
#include "pg/train/scan_state.h"
#include "sketch/sketch.h"

enum
{
	SECTION_SKETCH,
	SECTION_COUNTS,
	SECTION_SAMPLE,
	SECTION_STEP,
	SECTIONS = SECTION_STEP + SCAN_STEPS
};

typedef struct packed_scan
{
	uint32		container;		/* varlena header */
	uint16		version;		/* layout version, FC_STEP_VERSION */
	uint8		kind;			/* kind of state, FC_STEP_SCAN */
	uint8		padding;		/* always 0 */
	int64		n;
	int64		nulls;
	uint64		size[SECTIONS]; /* bytes of each section, a multiple of 8; 0:
								 * no such section */
} packed_scan;

/* ---- packing ---- */

/*
 * Sets `sections` to the packed sections and `size` to their sizes in bytes.
 * The sample is packed later, into its final place, so that its rows are
 * copied once.
 */
static void
pack_sections(const scan_state *state, void *sections[SECTIONS], uint64 size[SECTIONS])
{
	fc_sketch  *sketch = (state->sketch != NULL ? sketch_pack(state->sketch)
						  : NULL);

	sections[SECTION_SKETCH] = sketch != NULL && sketch->count > 0 ? sketch : NULL;
	sections[SECTION_COUNTS] = state->counts != NULL && state->counts->rows > 0
		? drift_counts_pack(state->counts)
		: NULL;
	sections[SECTION_SAMPLE] = state->sample;
	memcpy(sections + SECTION_STEP, state->step, sizeof(state->step));
	for (int section = 0; section < SECTIONS; section++)
		size[section] = sections[section] != NULL ? VARSIZE(sections[section]) : 0;
	if (state->sample != NULL)
		size[SECTION_SAMPLE] = fc_coreset_bytes(state->sample->dim, state->sample->elements,
												packed_coreset(state->sample));
}

static struct varlena *
pack_scan(FunctionCallInfo fcinfo, scan_state *state)
{
	packed_scan head = {.version = FC_STEP_VERSION,.kind = FC_STEP_SCAN};
	Size		bytes = sizeof(head);
	void	   *sections[SECTIONS];
	char	   *packed;
	char	   *at;

	fold_scan(fcinfo, state);
	head.n = state->n;
	head.nulls = state->nulls;
	pack_sections(state, sections, head.size);
	for (int section = 0; section < SECTIONS; section++)
		bytes += head.size[section];
	check_budget(2 * bytes, aggregate_name(fcinfo));
	if (bytes > MaxAllocSize)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("the scan's state of %zu bytes is too large", bytes),
				errhint("Use fewer clusters or sample rows."));
	packed = alloc_large(bytes);
	memcpy(packed, &head, sizeof(head));
	SET_VARSIZE(packed, bytes);
	at = packed + sizeof(head);
	for (int section = 0; section < SECTIONS; at += head.size[section++])
	{
		if (section == SECTION_SAMPLE && state->sample != NULL)
			fc_coreset_move(state->sample, state->sample->elements,
							packed_coreset(state->sample), (fc_coreset *) at);
		else if (sections[section] != NULL)
			memcpy(at, sections[section], head.size[section]);
		if (sections[section] != NULL)
			SET_VARSIZE(at, head.size[section]);
	}
	return (struct varlena *) packed;
}

/* Makes a state whose sections point into the packed one. */
static void
open_scan(const packed_scan *packed, scan_state *state)
{
	char	   *at = (char *) (packed + 1);
	void	   *sections[SECTIONS];

	for (int section = 0; section < SECTIONS; at += packed->size[section++])
		sections[section] = packed->size[section] > 0 ? at : NULL;
	*state = (scan_state)
	{
		.kind = &scan_state_kind,
			.n = packed->n,
			.nulls = packed->nulls,
			.sketch = sections[SECTION_SKETCH],
			.counts = sections[SECTION_COUNTS],
			.sample = sections[SECTION_SAMPLE]
	};
	memcpy(state->step, sections + SECTION_STEP, sizeof(state->step));
}

void
read_scan(Datum packed, scan_result *result)
{
	scan_state	state;

	open_scan(state_of_datum(packed, FC_STEP_SCAN), &state);
	*result = (scan_result)
	{
		.n = state.n,
			.nulls = state.nulls,
			.weight = state.sample != NULL && state.sample->weighted
			? fc_pair_value(state.sample->weight) : (double) state.n,
			.sketch = state.sketch,
			.counts = state.counts,
			.sample = state.sample
	};
	for (int i = 0; i < SCAN_STEPS && state.step[i] != NULL; i++)
	{
		fc_step_result sums;
		scan_step  *step = &result->step[result->steps++];

		step->next = finish_lloyd(state.step[i], &sums);
		step->n = sums.count;
		step->sse = sums.total;
		step->counts = sums.counts;
	}
}

/* Returns the steps as an array of lloyd_step. */
static Datum
array_of_steps(const scan_result *result, Oid type)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(type, -1);
	Datum		steps[SCAN_STEPS];

	for (int i = 0; i < result->steps; i++)
	{
		const scan_step *step = &result->step[i];
		Datum		values[4] = {
			PointerGetDatum(step->next),
			Int64GetDatum(step->n),
			Float8GetDatum(step->sse),
			make_int8_array(step->counts, (int) step->next->k)
		};
		bool		nulls[4] = {false};

		steps[i] = HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
	}
	ReleaseTupleDesc(desc);
	return PointerGetDatum(construct_array(steps, result->steps, type, -1,
										   false, TYPALIGN_DOUBLE));
}

/*
 * Takes (scan), a packed state. Returns (n, nulls, sketch, counts, sample,
 * steps).
 */
PG_FUNCTION_INFO_V1(fastclust_scan_result);
Datum
fastclust_scan_result(PG_FUNCTION_ARGS)
{
	scan_result result;
	memory_account memory = {"the sample"};
	TupleDesc	desc;
	Datum		values[6];
	bool		nulls[6] = {false};

	read_scan(PG_GETARG_DATUM(0), &result);
	(void) get_call_result_type(fcinfo, NULL, &desc);
	values[0] = Int64GetDatum(result.n);
	values[1] = Int64GetDatum(result.nulls);
	values[2] = PointerGetDatum(result.sketch);
	values[3] = PointerGetDatum(result.counts);
	values[4] = PointerGetDatum(result.sample != NULL
								? operator_of_rows(rows_of_coreset(result.sample, NULL, &memory))
								: NULL);
	for (int i = 2; i < 5; i++)
		nulls[i] = DatumGetPointer(values[i]) == NULL;
	values[5] = array_of_steps(&result, get_element_type(TupleDescAttr(desc, 5)->atttypid));
	return row_result(fcinfo, values, nulls);
}

/* ---- merging ---- */

/*
 * Adds the sums of right to left. Sums that left lacks are copied into the
 * current context.
 */
static void
add_scan(FunctionCallInfo fcinfo, scan_state *left, scan_state *right)
{
	fold_scan(fcinfo, left);
	fold_scan(fcinfo, right);
	if (right->n > FC_MAX_ROWS - left->n)
		check_status(FC_EOVERFLOW);
	left->n += right->n;
	left->nulls += right->nulls;
	if (left->sketch == NULL && right->sketch != NULL)
		left->sketch = copied_value(right->sketch);
	else if (right->sketch != NULL)
		left->sketch = sketch_combined(left->sketch, sketch_pack(right->sketch),
									   1);
	if (left->counts == NULL && right->counts != NULL)
		left->counts = copied_value(right->counts);
	else if (right->counts != NULL)
		left->counts = drift_counts_combined(left->counts,
											 drift_counts_pack(right->counts),
											 1);
	if (left->sample == NULL && right->sample != NULL)
	{
		Size		elements = right->sample->elements;
		Size		capacity = capacity_of_sample(right->sample, elements,
												  packed_coreset(right->sample));

		left->sample = coreset_with_capacity(fcinfo, right->sample, elements, capacity);
	}
	else if (right->sample != NULL)
		left->sample = combined_coresets(fcinfo, left->sample, right->sample);
	for (int i = 0; i < SCAN_STEPS; i++)
		if (left->step[i] == NULL && right->step[i] != NULL)
			left->step[i] = copied_value(right->step[i]);
		else if (right->step[i] != NULL)
			add_step(left->step[i], right->step[i]);
}

static void *
combine(FunctionCallInfo fcinfo, void *left_state, void *right)
{
	scan_state *left = (left_state != NULL ? left_state
						: palloc0(sizeof(scan_state)));

	left->kind = &scan_state_kind;
	add_scan(fcinfo, left, right);
	return left;
}

/* Packs a state that is not needed afterwards, and frees its sections. */
static struct varlena *
pack_and_free(FunctionCallInfo fcinfo, scan_state *state)
{
	struct varlena *packed = pack_scan(fcinfo, state);
	void	   *sections[] = {state->sample, state->sketch, state->counts, state->rows};

	/* a merged state may share its sections, except the sample, with others */
	for (Size i = 0; i < (state->call != NULL ? lengthof(sections) : 1); i++)
		if (sections[i] != NULL)
			pfree(sections[i]);
	*state = (scan_state)
	{
		.kind = state->kind,
			.n = state->n,
			.nulls = state->nulls
	};
	return packed;
}

static void
serialize(FunctionCallInfo fcinfo, void *state, StringInfo message)
{
	struct varlena *packed = pack_and_free(fcinfo, state);

	check_state_size(VARSIZE(packed) + 64);
	pq_sendbytes(message, (const char *) packed, (int) VARSIZE(packed));
	pfree(packed);
}

static void *
deserialize(FunctionCallInfo fcinfo, StringInfo message)
{
	int			size = message->len - message->cursor;
	packed_scan *packed = palloc((Size) size);
	scan_state *state = palloc(sizeof(scan_state));

	pq_copymsgbytes(message, (char *) packed, size);
	open_scan(packed, state);
	return state;
}

const state_kind scan_state_kind = {combine, serialize, deserialize};

PG_FUNCTION_INFO_V1(fastclust_scan_final);
Datum
fastclust_scan_final(PG_FUNCTION_ARGS)
{
	aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(pack_and_free(fcinfo,
									(scan_state *) PG_GETARG_POINTER(0)));
}

/* ---- states of workers, for all aggregates that collect or scan rows ---- */

/*
 * Kinds of states. A serialized state begins with the index of its kind in
 * this array.
 */
static const state_kind *const kinds[] = {
	&scan_state_kind,
	&spec_state_kind,
	&kmeans_state_kind,
	&kernel_state_kind
};

PG_FUNCTION_INFO_V1(fastclust_internal_combine);
Datum
fastclust_internal_combine(PG_FUNCTION_ARGS)
{
	MemoryContext context = aggregate_context(fcinfo);
	MemoryContext old;
	void	   *left = PG_ARGISNULL(0) ? NULL : PG_GETARG_POINTER(0);
	void	   *right;

	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	right = PG_GETARG_POINTER(1);
	old = MemoryContextSwitchTo(context);
	left = (*(const state_kind **) right)->combine(fcinfo, left, right);
	MemoryContextSwitchTo(old);
	PG_RETURN_POINTER(left);
}

PG_FUNCTION_INFO_V1(fastclust_internal_serialize);
Datum
fastclust_internal_serialize(PG_FUNCTION_ARGS)
{
	void	   *state = PG_GETARG_POINTER(0);
	uint8		kind = 0;
	StringInfoData message;

	aggregate_context(fcinfo);
	while (kinds[kind] != *(const state_kind **) state)
		kind++;
	pq_begintypsend(&message);
	pq_sendbyte(&message, kind);
	kinds[kind]->serialize(fcinfo, state, &message);
	PG_RETURN_BYTEA_P(pq_endtypsend(&message));
}

PG_FUNCTION_INFO_V1(fastclust_internal_deserialize);
Datum
fastclust_internal_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	StringInfoData message = {
		.data = VARDATA_ANY(bytes),
		.len = (int) VARSIZE_ANY_EXHDR(bytes)
	};

	aggregate_context(fcinfo);
	PG_RETURN_POINTER(kinds[pq_getmsgbyte(&message)]->deserialize(fcinfo,
																  &message));
}

/* Merges two packed states into one; either may be NULL. */
static Datum
combine_packed(FunctionCallInfo fcinfo)
{
	scan_state	left;
	scan_state	right;
	struct varlena *copy;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_DATUM(PG_GETARG_DATUM(PG_ARGISNULL(0) ? 1 : 0));
	copy = copied_value(state_argument(fcinfo, 0,
									   FC_STEP_SCAN));
	open_scan((const packed_scan *) copy, &left);
	open_scan(state_argument(fcinfo, 1, FC_STEP_SCAN), &right);
	add_scan(fcinfo, &left, &right);
	PG_RETURN_POINTER(pack_scan(fcinfo, &left));
}

/* ---- the type aggregate_state ---- */

static fc_status
check_section(int section, const void *bytes, Size size)
{
	if (size < sizeof(uint64) || VARSIZE(bytes) != size)
		return FC_EFORMAT;
	switch (section)
	{
		case SECTION_SKETCH:
			return fc_sketch_check(bytes, size);
		case SECTION_COUNTS:
			return fc_drift_counts_check(bytes, size);
		case SECTION_SAMPLE:
			return fc_coreset_check(bytes, size);
		default:
			return fc_step_check(bytes, size) == FC_OK &&
				((const fc_step *) bytes)->kind == FC_STEP_LLOYD
				? FC_OK
				: FC_EFORMAT;
	}
}

static fc_status
check_scan(const packed_scan *packed, Size size)
{
	const char *at = (const char *) (packed + 1);
	Size		left = size - sizeof(packed_scan);

	if (size < sizeof(packed_scan) || packed->version != FC_STEP_VERSION ||
		packed->padding != 0 || packed->n < 0 || packed->n > FC_MAX_ROWS ||
		packed->nulls < 0 || packed->nulls > FC_MAX_ROWS)
		return FC_EFORMAT;
	for (int section = 0; section < SECTIONS; section++)
	{
		Size		bytes = packed->size[section];

		if (bytes == 0)
			continue;
		if (bytes > left || bytes % 8 != 0 ||
			check_section(section, at, bytes) != FC_OK)
			return FC_EFORMAT;
		at += bytes;
		left -= bytes;
	}
	return left == 0 ? FC_OK : FC_EFORMAT;
}

static fc_status
check_state(const void *bytes, size_t size)
{
	const fc_step *step = bytes;

	if (size < offsetof(fc_step, kind) + sizeof(step->kind))
		return FC_EFORMAT;
	return step->kind == FC_STEP_SCAN ? check_scan(bytes, size) : fc_step_check(bytes, size);
}

static const value_type state_type = {"aggregate_state", check_state};

PG_FUNCTION_INFO_V1(fastclust_aggregate_state_in);
Datum
fastclust_aggregate_state_in(PG_FUNCTION_ARGS)
{
	return value_in(fcinfo, &state_type);
}

PG_FUNCTION_INFO_V1(fastclust_aggregate_state_recv);
Datum
fastclust_aggregate_state_recv(PG_FUNCTION_ARGS)
{
	return value_recv(fcinfo, &state_type);
}

/* Combine function of aggregate_state, for all kinds of states. */
PG_FUNCTION_INFO_V1(fastclust_state_combine);
Datum
fastclust_state_combine(PG_FUNCTION_ARGS)
{
	int			n = PG_ARGISNULL(1) ? 0 : 1;
	fc_step    *step = (PG_ARGISNULL(n) ? NULL
						: state_argument(fcinfo, n, ANY_STATE));

	aggregate_context(fcinfo);
	if (step != NULL && step->kind == FC_STEP_SCAN)
		return combine_packed(fcinfo);
	return fastclust_step_combine(fcinfo);
}

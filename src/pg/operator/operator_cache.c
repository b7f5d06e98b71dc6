/*
 * operator_cache.c - operators, kernel maps and other values that a call site
 * prepares once and reuses for every row
 *
 * A value stored inline and uncompressed is used in place. A TOASTed value is
 * fetched once per call site and recognised afterwards by its TOAST pointer,
 * so that a model is never detoasted twice. The prepared forms of an operator
 * (view, sliced factors, expanded rows, pruning bounds) are found by its
 * digest. A call site may have many operators, because each group of rows may
 * have another one.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "utils/memutils.h"

#include "pg/base/memory.h"
#include "pg/base/call_cache.h"
#include "pg/operator/operator_cache.h"
#include "pg/operator/operator_value.h"

/* ---- labels of sparsevecs by centroids stored by column ---- */

const fc_columns *
columns_of(fc_columns **columns, const fc_operator *op, Size uses,
		   MemoryContext context, Size *charged)
{
	Size		size = (*columns == NULL && uses >= MIN_ROWS_FOR_COLUMNS
						? fc_columns_worksize(op)
						: 0);
	fc_arena	arena;

	if (size == 0 || *charged + size > (Size) fastclust_memory_budget * 1024 / 4)
		return *columns;
	arena = make_arena_in(context, "the transposed operator");
	*columns = MemoryContextAlloc(context, sizeof(fc_columns));
	fc_columns_make(op, &arena, *columns);
	*charged += arena.allocated + sizeof(fc_columns);
	return *columns;
}

static void
reserve(sparse_scratch *scratch, MemoryContext context, Size elements, Size k)
{
	Size		capacity = scratch->capacity;

	if (capacity < elements || scratch->values == NULL)
	{
		elements += elements / 2 + 1;
		scratch->indices = grown(context, scratch->indices, &capacity, elements,
								 sizeof(uint32));
		scratch->values = grown(context, scratch->values, &scratch->capacity, elements,
								sizeof(double));
	}
	scratch->scores = grown(context, scratch->scores, &scratch->k, k, sizeof(double));
}

sparse_outcome
take_sparse_row(sparse_scratch *scratch, vector_reader *reader, Datum datum,
				fc_metric metric, Size d, Size k)
{
	pgvector_value value = read_pgvector_in_place(reader, datum, "x");
	Size		count = (Size) value.nonzeros;

	if ((Size) value.d != d || count > d / 4 ||
		!fc_all_moderate_float((const float *) value.elements, count))
		return SPARSE_UNKNOWN;
	reserve(scratch, reader->context, count, k);
	memcpy(scratch->indices, value.indices, count * sizeof(uint32));
	fc_widen((const float *) value.elements, count, scratch->values);
	scratch->row = (fc_sparse_row)
	{
		scratch->indices, scratch->values, count
	};
	return metric == FC_COSINE &&
		!fc_unit_sparse_row(scratch->indices, count, scratch->values)
		? SPARSE_NONE
		: SPARSE_KNOWN;
}

sparse_outcome
label_sparse_row(sparse_scratch *scratch, vector_reader *reader, Datum datum,
				 const fc_operator *op, const fc_columns *columns,
				 size_t *label)
{
	sparse_outcome outcome = (columns == NULL
							  ? SPARSE_UNKNOWN
							  : take_sparse_row(scratch, reader, datum,
												op->metric, op->d, op->k));

	if (outcome == SPARSE_KNOWN &&
		!fc_columns_assign(columns, &scratch->row, scratch->scores, label))
		return SPARSE_UNKNOWN;
	return outcome;
}

const double *
dense_sparse_row(sparse_scratch *scratch, MemoryContext context, Size d)
{
	/* if the dimension is new, allocate d zeros */
	if (scratch->d != d)
	{
		Size		capacity[2] = {0, 0};

		scratch->d = scratch->written = 0;
		scratch->dense = grown(context, scratch->dense, &capacity[0], d, sizeof(double));
		scratch->places = grown(context, scratch->places, &capacity[1], d / 4 + 1,
								sizeof(uint32));
		memset(scratch->dense, 0, d * sizeof(double));
		scratch->d = d;
	}
	for (Size p = 0; p < scratch->written; p++)
		scratch->dense[scratch->places[p]] = 0.0;
	for (Size p = 0; p < scratch->row.count; p++)
		scratch->dense[scratch->indices[p]] = scratch->values[p];
	memcpy(scratch->places, scratch->indices, scratch->row.count * sizeof(uint32));
	scratch->written = scratch->row.count;
	return scratch->dense;
}

/* ---- the cache of a call site ---- */

/* A value, its view, and how many rows have used it. */
typedef struct cached_value
{
	uint64		digest[2];
	struct varatt_external pointer; /* TOAST pointer of the first fetch; zero
									 * if the value was not fetched */
	void	   *bytes;			/* detoasted or copied bytes; NULL if the
								 * value is used in place */
	const void *seen;			/* address of the bytes when the view was made */
	void	   *view;
	Size		uses;			/* number of rows that have used the operator */
	fc_columns *columns;
} cached_value;

/*
 * Entry of the hash table that finds values by digest. Most call sites have
 * one value, others one for each group.
 */
typedef struct value_slot
{
	const uint64 *digest;		/* digest of the value */
	cached_value *value;
	char		status;			/* status of the entry, for simplehash.h */
} value_slot;

#define SH_PREFIX values
#define SH_ELEMENT_TYPE value_slot
#define SH_KEY_TYPE const uint64 *
#define SH_KEY digest
#define SH_HASH_KEY(table, key) ((uint32) (key)[0])
#define SH_EQUAL(table, a, b) ((a)[0] == (b)[0] && (a)[1] == (b)[1])
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct fetched_value
{
	struct varatt_external pointer; /* hash key */
	cached_value *value;
} fetched_value;

typedef struct operator_cache
{
	MemoryContext call_context; /* memory of the cache and its buffers */
	bool		moving;			/* true if the caller copies an inline value
								 * for every row, so that its address changes */
	MemoryContext context;		/* memory of the values, reset when they take
								 * too much */
	cached_value *last;			/* value of the previous row, or NULL */
	values_hash *values;		/* all values by digest */
	HTAB	   *fetched;		/* values by TOAST pointer; NULL until a
								 * TOASTed value is fetched */
	Size		size;			/* bytes of the values and their prepared
								 * forms */
	vector_reader reader;
	sparse_scratch sparse;
	fc_scratch	scratch;
	double	   *doubles;
	Size		doubles_count;
} operator_cache;

/* ---- the values of a call site ---- */

static void
forget_values(operator_cache *cache)
{
	MemoryContextReset(cache->context);
	cache->last = NULL;
	cache->size = 0;
	cache->values = values_create(cache->context, 4, NULL);
	cache->fetched = NULL;
}

static operator_cache *
cache_of_call(FunctionCallInfo fcinfo)
{
	operator_cache *cache = fcinfo->flinfo->fn_extra;

	MemoryContext call_context;

	if (cache != NULL)
		return cache;
	cache = call_memory(fcinfo, sizeof(operator_cache), &call_context);
	if (cache->call_context == NULL)
	{
		cache->call_context = cache->reader.context = call_context;
		cache->moving = call_context != fcinfo->flinfo->fn_mcxt;
		cache->context = AllocSetContextCreate(call_context, "fastclust operators",
											   ALLOCSET_SMALL_SIZES);
		forget_values(cache);
	}
	return cache;
}

/* Forgets all values if they take more than a quarter of the memory budget. */
static void
make_capacity(operator_cache *cache)
{
	if (cache->size / 1024 > (Size) fastclust_memory_budget / 4)
		forget_values(cache);
}

/*
 * Returns the value with this digest, after adding an empty one if it is new.
 * The caller must have called make_capacity.
 */
static cached_value *
value_of_digest(operator_cache *cache, const uint64 *digest)
{
	value_slot *slot = values_lookup(cache->values, digest);
	cached_value *value;
	bool		found;

	if (slot != NULL)
		return slot->value;
	value = MemoryContextAllocZero(cache->context, sizeof(cached_value));
	memcpy(value->digest, digest, sizeof(value->digest));
	values_insert(cache->values, value->digest, &found)->value = value;
	cache->size += sizeof(cached_value);
	return value;
}

/* ---- values that are not stored inline and uncompressed ---- */

/*
 * Returns the digest of an uncompressed value. The pointer is unaligned if the
 * value has a short header.
 */
static const void *
digest_of(const void *value)
{
	return VARDATA_ANY(value) + offsetof(fc_operator_header, digest) - VARHDRSZ;
}

/*
 * Returns true if the value is equal to the value of the previous row. A value
 * with a short header is unaligned, so for such a value the cache must have a
 * copy.
 */
static bool
is_last(const operator_cache *cache, const struct varlena *stored)
{
	return cache->last != NULL &&
		(VARATT_IS_4B_U(stored) ||
		 (VARATT_IS_SHORT(stored) && cache->last->bytes != NULL)) &&
		memcmp(cache->last->digest, digest_of(stored),
			   sizeof(cache->last->digest)) == 0;
}

/*
 * Detoasts a value and returns its cache entry. A compressed value is
 * detoasted at every row. A value with a short header is detoasted whenever it
 * differs from the value of the previous row.
 */
static cached_value *
read_value(operator_cache *cache, struct varlena *stored)
{
	MemoryContext old;
	struct varlena *flat;
	cached_value *value;

	make_capacity(cache);
	old = MemoryContextSwitchTo(cache->context);
	flat = detoast_attr(stored);
	MemoryContextSwitchTo(old);
	value = value_of_digest(cache, digest_of(flat));
	if (value->bytes == NULL)
	{
		value->bytes = flat;
		cache->size += VARSIZE(flat);
	}
	else
		pfree(flat);
	return value;
}

static cached_value *
fetched(operator_cache *cache, struct varlena *stored)
{
	struct varatt_external pointer;
	fetched_value *known;
	cached_value *value;

	if (!VARATT_IS_EXTERNAL_ONDISK(stored))
		return read_value(cache, stored);
	VARATT_EXTERNAL_GET_POINTER(pointer, stored);
	if (cache->last != NULL &&
		memcmp(&cache->last->pointer, &pointer, sizeof(pointer)) == 0)
		return cache->last;
	known = cache->fetched != NULL
		? hash_search(cache->fetched, &pointer, HASH_FIND, NULL)
		: NULL;
	if (known != NULL)
		return known->value;
	value = read_value(cache, stored);
	if (cache->fetched == NULL)
		cache->fetched = make_table("fastclust operators", sizeof(pointer),
									sizeof(fetched_value), cache->context);
	known = hash_search(cache->fetched, &pointer, HASH_ENTER, NULL);
	known->value = value;
	value->pointer = pointer;
	cache->size += sizeof(fetched_value);
	return value;
}

/* ---- cached values for functions ---- */

const void *
cached_view(FunctionCallInfo fcinfo, int argument, Size view_size,
			void (*make_view) (const void *bytes, void *view),
			const void **bytes)
{
	operator_cache *cache = cache_of_call(fcinfo);
	struct varlena *stored = (struct varlena *) DatumGetPointer(PG_GETARG_DATUM(argument));
	const void *flat = stored;
	cached_value *value;

	if (is_last(cache, stored))
		value = cache->last;
	else if (!VARATT_IS_4B_U(stored))
		value = fetched(cache, stored);
	else
	{
		make_capacity(cache);
		value = value_of_digest(cache, digest_of(flat));
		if (cache->moving && value->bytes == NULL)
		{						/* the bytes have another address at every row */
			value->bytes = memcpy(alloc_large_in(cache->context, VARSIZE(flat)),
								  flat, VARSIZE(flat));
			cache->size += VARSIZE(flat);
		}
	}
	if (value->bytes != NULL)
		flat = value->bytes;
	if (value->view == NULL)
		value->view = MemoryContextAllocZero(cache->context, view_size);
	if (flat != value->seen)
	{
		make_view(flat, value->view);
		value->seen = flat;
	}
	cache->last = value;
	*bytes = flat;
	return value->view;
}

/*
 * Updates the view of an operator whose bytes have moved, and keeps its
 * prepared forms.
 */
static void
view_operator(const void *bytes, void *view)
{
	fc_operator *op = view;
	const struct fc_operator_sell *sell = op->sell;
	const float *rows = op->rows;
	const float *packs = op->packs;
	struct fc_pruning *pruning = op->pruning;
	struct fc_packed_kdtree *kdtree = op->kdtree;

	open_operator(bytes, op);
	op->sell = sell;
	op->rows = rows;
	op->pruning = pruning;

	op->packs = packs;
	op->kdtree = kdtree;
}

Size
slice_operator(fc_operator *op, MemoryContext context)
{
	fc_arena	arena = make_arena_in(context, "the sliced operator");

	fc_operator_slice(op, &arena);
	return arena.allocated;
}

Size
expand_operator(fc_operator *op, fc_scratch scratch, MemoryContext context)
{
	Size		size = op->k * op->d * sizeof(float);

	if (op->factors == 1 || op->exact.values != NULL ||
		size > (Size) fastclust_memory_budget * 1024 / 4)
		return 0;
	fc_operator_expand(op, scratch, alloc_large_in(context, size));
	return size;
}

const fc_operator *
cached_operator(FunctionCallInfo fcinfo, int argument,
				const fc_operator_header **header)
{
	const void *bytes;
	operator_cache *cache;
	fc_operator *op;

	(void) cached_view(fcinfo, argument, sizeof(fc_operator), view_operator,
					   &bytes);
	cache = cache_of_call(fcinfo);
	op = cache->last->view;
	if (cache->last->uses++ == 0)
		cache->size += slice_operator(op, cache->context);
	cache->size += prepare_operator(op, cache->last->uses, cache->context);
	if (header != NULL)
		*header = bytes;
	return op;
}

/*
 * Returns the centroids of the last used operator, stored by column. Returns
 * NULL until they are built (columns_of).
 */
static const fc_columns *
cached_columns(operator_cache *cache)
{
	return columns_of(&cache->last->columns, cache->last->view,
					  cache->last->uses, cache->context, &cache->size);
}

sparse_outcome
cached_sparse_label(FunctionCallInfo fcinfo, int argument, size_t *label)
{
	operator_cache *cache = cache_of_call(fcinfo);

	if (argument_form(fcinfo, &cache->reader, argument) != VECTOR_SPARSE)
		return SPARSE_UNKNOWN;
	return label_sparse_row(&cache->sparse, &cache->reader,
							PG_GETARG_DATUM(argument), cache->last->view,
							cached_columns(cache), label);
}

sparse_outcome
cached_sparse_scores(FunctionCallInfo fcinfo, int argument,
					 const sparse_scratch **scratch)
{
	operator_cache *cache = cache_of_call(fcinfo);
	const fc_operator *op = cache->last->view;
	const fc_columns *columns = NULL;
	sparse_outcome outcome = SPARSE_UNKNOWN;

	*scratch = &cache->sparse;
	if (argument_form(fcinfo, &cache->reader, argument) == VECTOR_SPARSE &&
		(columns = cached_columns(cache)) != NULL)
		outcome = take_sparse_row(&cache->sparse, &cache->reader,
								  PG_GETARG_DATUM(argument), op->metric, op->d,
								  op->k);
	if (outcome == SPARSE_KNOWN)
		cache->sparse.bound = fc_columns_score(columns, &cache->sparse.row,
											   cache->sparse.scores);
	return outcome;
}

const double *
cached_sparse_row(FunctionCallInfo fcinfo, const fc_sparse_row **elements)
{
	operator_cache *cache = cache_of_call(fcinfo);

	if (elements != NULL)
		*elements = &cache->sparse.row;
	return dense_sparse_row(&cache->sparse, cache->call_context,
							((const fc_operator *) cache->last->view)->d);
}

Size
cached_bytes(FunctionCallInfo fcinfo)
{
	const operator_cache *cache = cache_of_call(fcinfo);
	const sparse_scratch *sparse = &cache->sparse;

	return cache->size +
		(cache->doubles_count + sparse->d + sparse->capacity + sparse->k) *
		sizeof(double) +
		cache->reader.buffer_size +
		(sparse->d / 4 + sparse->capacity) * sizeof(uint32);
}

const fc_operator *
cached_expanded_operator(FunctionCallInfo fcinfo, int argument,
						 const fc_operator_header **header)
{
	const fc_operator *op = cached_operator(fcinfo, argument, header);
	operator_cache *cache = cache_of_call(fcinfo);

	if (op->rows == NULL && op->factors > 1)
		cache->size += expand_operator(cache->last->view,
									   cached_scratch(fcinfo,
													  fc_operator_scratch(op)),
									   cache->context);
	return op;
}

vector_reader *
cached_reader(FunctionCallInfo fcinfo)
{
	return &cache_of_call(fcinfo)->reader;
}

fc_scratch
cached_scratch(FunctionCallInfo fcinfo, Size floats)
{
	operator_cache *cache = cache_of_call(fcinfo);

	cache->scratch.floats = grown(cache->call_context, cache->scratch.floats,
								  &cache->scratch.count, floats, sizeof(float));
	return cache->scratch;
}

double *
cached_doubles(FunctionCallInfo fcinfo, Size count)
{
	operator_cache *cache = cache_of_call(fcinfo);

	cache->doubles = grown(cache->call_context, cache->doubles, &cache->doubles_count,
						   count, sizeof(double));
	return cache->doubles;
}

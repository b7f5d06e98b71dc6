/*
 * operator_cache.c - a per-row function meets the same operators (or kernel maps) again and again.
 *
 * A value stored inline and uncompressed is used where it lies.  One that is
 * TOASTed is fetched once per call site and recognised afterwards by its 16-byte
 * pointer, a packed one by its few bytes: a model is never detoasted twice.  What is
 * prepared for an operator (its view, its sparse factors rearranged, its rows, its screen) is found by
 * the digest, so that rows of many groups may bring an operator each.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "fmgr.h"
#include "utils/memutils.h"

#include "base/rng.h"
#include "operator/bytes.h"
#include "operator/operator.h"
#include "pg/base/compat.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/base/site.h"
#include "pg/base/vectors.h"
#include "pg/operator/operator_cache.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/sparse_row.h"

#define FIRST_SLOTS 4
#define KEY_SIZE	128

/* One value and what was made of it. */
typedef struct cached_value
{
	uint64		digest[2];
	Size		key_size;		/* bytes that identify the value behind `bytes`, 0: none */
	char		key[KEY_SIZE];
	void	   *bytes;			/* fetched copy, or NULL: the value lies in the row */
	const void *seen;			/* the view belongs to these bytes */
	void	   *view;
	bool		sliced;
	void	   *sell;
	float	   *rows;
	Size		asked;			/* how often */
	struct fc_screen *screen;
	struct fc_boxes *boxes;
	fc_columns *columns;
} cached_value;

typedef struct operator_cache
{
	MemoryContext home;			/* of the cache */
	bool		moving;			/* the caller copies an inline value for every row */
	MemoryContext context;		/* of the values */
	cached_value *last;
	cached_value **values;		/* open addressing by digest */
	cached_value **keyed;		/* the same by key, those that have one */
	Size		slots;			/* of each */
	Size		used;
	Size		size;			/* bytes of the values */
	vector_reader reader;
	sparse_site sparse;
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
	cache->used = cache->size = 0;
	cache->slots = FIRST_SLOTS;
	cache->values = MemoryContextAllocZero(cache->context, cache->slots * sizeof(cached_value *));
	cache->keyed = MemoryContextAllocZero(cache->context, cache->slots * sizeof(cached_value *));
}

static operator_cache *
site_cache(FunctionCallInfo fcinfo)
{
	operator_cache *cache = fcinfo->flinfo->fn_extra;

	MemoryContext home;

	if (cache != NULL)
		return cache;
	cache = site_memory(fcinfo, sizeof(operator_cache), &home);
	if (cache->home == NULL)
	{
		cache->home = cache->reader.context = home;
		cache->moving = home != fcinfo->flinfo->fn_mcxt;
		cache->context = AllocSetContextCreate(home, "fastclust operators", ALLOCSET_SMALL_SIZES);
		forget_values(cache);
	}
	return cache;
}

static bool
has_digest(const cached_value *value, const uint64 *digest)
{
	return value->digest[0] == digest[0] && value->digest[1] == digest[1];
}

/* The slot of a digest: its value, or the empty slot where it belongs. */
static cached_value **
find_slot(operator_cache *cache, const uint64 *digest)
{
	Size		i = digest[0] & (cache->slots - 1);

	while (cache->values[i] != NULL && !has_digest(cache->values[i], digest))
		i = (i + 1) & (cache->slots - 1);
	return &cache->values[i];
}

static bool
has_key(const cached_value *value, const void *key, Size size)
{
	return size > 0 && value->key_size == size && memcmp(value->key, key, size) == 0;
}

/* The slot of a key: its value, or an empty slot. */
static cached_value **
find_key(const operator_cache *cache, const void *key, Size size)
{
	Size		i = fc_hash_bytes(0, key, size) & (cache->slots - 1);

	while (cache->keyed[i] != NULL && !has_key(cache->keyed[i], key, size))
		i = (i + 1) & (cache->slots - 1);
	return &cache->keyed[i];
}

static void
grow_slots(operator_cache *cache)
{
	cached_value **old = cache->values;
	Size		slots = cache->slots;

	cache->slots *= 2;
	cache->values = MemoryContextAllocZero(cache->context, cache->slots * sizeof(cached_value *));
	pfree(cache->keyed);
	cache->keyed = MemoryContextAllocZero(cache->context, cache->slots * sizeof(cached_value *));
	for (Size i = 0; i < slots; i++)
	{
		if (old[i] == NULL)
			continue;
		*find_slot(cache, old[i]->digest) = old[i];
		if (old[i]->key_size > 0)
			*find_key(cache, old[i]->key, old[i]->key_size) = old[i];
	}
	pfree(old);
}

/* Forget all when the values take too much; what lies in their context is gone then. */
static void
make_room(operator_cache *cache)
{
	if (cache->size / 1024 > (Size) fastclust_memory_budget / 4)
		forget_values(cache);
}

/* The value of a digest, new ones empty.  There is room (make_room). */
static cached_value *
value_of_digest(operator_cache *cache, const uint64 *digest)
{
	cached_value **slot = find_slot(cache, digest);
	cached_value *value = *slot;

	if (value != NULL)
		return value;
	if (2 * cache->used >= cache->slots)
		grow_slots(cache);
	value = MemoryContextAllocZero(cache->context, sizeof(cached_value));
	memcpy(value->digest, digest, sizeof(value->digest));
	*find_slot(cache, digest) = value;
	cache->used++;
	cache->size += sizeof(cached_value);
	return value;
}

/* ---- values that do not lie flat in the row ---- */

/* The bytes that tell one not-inline value from another; 0 when they would be too many. */
static Size
key_size_of(const struct varlena *value)
{
	Size		size = VARATT_IS_EXTERNAL(value) ? VARSIZE_EXTERNAL(value) : VARSIZE_ANY(value);

	if (VARATT_IS_EXTERNAL(value) && !VARATT_IS_EXTERNAL_ONDISK(value))
		return 0;
	return size <= KEY_SIZE ? size : 0;
}

static const uint64 *
digest_of(const void *flat)
{
	return (const uint64 *) ((const char *) flat + offsetof(fc_operator_header, digest));
}

/* Give a value the key by which it came; it keeps the first. */
static void
set_key(operator_cache *cache, cached_value *value, const void *key, Size size)
{
	if (size == 0 || value->key_size > 0)
		return;
	memcpy(value->key, key, size);
	value->key_size = size;
	*find_key(cache, key, size) = value;
}

static cached_value *
fetched(operator_cache *cache, struct varlena *stored)
{
	Size		size = key_size_of(stored);
	cached_value *value = cache->last != NULL && has_key(cache->last, stored, size) ? cache->last :
		size > 0 ? *find_key(cache, stored, size) : NULL;
	struct varlena *flat;
	MemoryContext old;

	if (value != NULL)
		return value;
	make_room(cache);
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
	set_key(cache, value, stored, size);
	return value;
}

/* A value whose bytes lie elsewhere at every row. */
static void
keep_copy(operator_cache *cache, cached_value *value, const void *flat)
{
	value->bytes = MemoryContextAllocHuge(cache->context, VARSIZE(flat));
	copy_bytes(value->bytes, flat, VARSIZE(flat));
	cache->size += VARSIZE(flat);
}

/* ---- what functions ask for ---- */

const void *
cached_view(FunctionCallInfo fcinfo, int argument, Size view_size, void (*make_view) (const void *bytes, void *view),
			const void **bytes)
{
	operator_cache *cache = site_cache(fcinfo);
	struct varlena *stored = (struct varlena *) DatumGetPointer(PG_GETARG_DATUM(argument));
	const void *flat = stored;
	cached_value *value;

	if (!VARATT_IS_4B_U(stored))
		value = fetched(cache, stored);
	else if (cache->last != NULL && has_digest(cache->last, digest_of(flat)))
		value = cache->last;
	else
	{
		make_room(cache);
		value = value_of_digest(cache, digest_of(flat));
		if (cache->moving && value->bytes == NULL)
			keep_copy(cache, value, flat);
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

static void
view_operator(const void *bytes, void *view)
{
	open_operator(bytes, view);
}

/* Sparse factors rearranged once, for as long as the same operator comes. */
static void
slice_factors(operator_cache *cache, cached_value *value)
{
	Size		size = fc_operator_sell_size(value->view);

	if (size == 0)
		return;
	check_budget(size, "the operator's slices");
	value->sell = MemoryContextAllocHuge(cache->context, size);
	cache->size += size;
	fc_operator_sell_build(value->view, value->sell);
}

const fc_operator *
cached_operator(FunctionCallInfo fcinfo, int argument, const fc_operator_header **header)
{
	const void *bytes;
	operator_cache *cache;
	fc_operator *op;

	(void) cached_view(fcinfo, argument, sizeof(fc_operator), view_operator, &bytes);
	cache = site_cache(fcinfo);
	op = cache->last->view;
	if (!cache->last->sliced)
		slice_factors(cache, cache->last);
	cache->last->sliced = true;
	if (++cache->last->asked == screened_from(op->k))
	{
		cache->size += screen_operator(op, cache->context);
		cache->last->screen = op->screen;
		cache->last->boxes = op->boxes;
	}
	op->sell = cache->last->sell;
	op->rows = cache->last->rows;
	op->screen = cache->last->screen;
	op->boxes = cache->last->boxes;
	if (header != NULL)
		*header = bytes;
	return op;
}

/* The columns of the operator that came last; NULL where there are none, or not yet. */
static const fc_columns *
cached_columns(operator_cache *cache)
{
	cached_value *value = cache->last;
	Size		limit = (Size) fastclust_memory_budget * 1024 / 4;
	Size		bytes;

	if (value->columns == NULL && value->asked >= COLUMNS_FROM && cache->size < limit)
	{
		value->columns = make_columns(value->view, cache->context, limit - cache->size, &bytes);
		cache->size += bytes;
	}
	return value->columns;
}

sparse_outcome
cached_sparse_label(FunctionCallInfo fcinfo, int argument, size_t *label)
{
	operator_cache *cache = site_cache(fcinfo);

	if (argument_form(fcinfo, &cache->reader, argument) != VECTOR_SPARSE)
		return SPARSE_UNKNOWN;
	return label_sparse_row(&cache->sparse, &cache->reader, PG_GETARG_DATUM(argument), cache->last->view, cached_columns(cache), label);
}

sparse_outcome
cached_sparse_scores(FunctionCallInfo fcinfo, int argument, const sparse_site **site)
{
	operator_cache *cache = site_cache(fcinfo);

	*site = &cache->sparse;
	if (argument_form(fcinfo, &cache->reader, argument) != VECTOR_SPARSE)
		return SPARSE_UNKNOWN;
	return score_sparse_row(&cache->sparse, &cache->reader, PG_GETARG_DATUM(argument), cache->last->view, cached_columns(cache));
}

const double *
cached_sparse_row(FunctionCallInfo fcinfo, const fc_sparse_row **elements)
{
	operator_cache *cache = site_cache(fcinfo);

	if (elements != NULL)
		*elements = &cache->sparse.row;
	return dense_sparse_row(&cache->sparse, cache->home, ((const fc_operator *) cache->last->view)->d);
}

Size
cached_bytes(FunctionCallInfo fcinfo)
{
	operator_cache *cache = site_cache(fcinfo);

	return cache->size + cache->doubles_count * sizeof(double) + cache->reader.buffer_size + sparse_bytes(&cache->sparse);
}

const fc_operator *
cached_expanded_operator(FunctionCallInfo fcinfo, int argument, const fc_operator_header **header)
{
	const fc_operator *op = cached_operator(fcinfo, argument, header);
	operator_cache *cache = site_cache(fcinfo);
	Size		size = op->k * op->d * sizeof(float);
	float	   *rows;

	if (cache->last->rows != NULL || op->factors == 1 || op->exact.values != NULL ||
		size > (Size) fastclust_memory_budget * 1024 / 4)
		return op;
	rows = MemoryContextAllocHuge(cache->context, size);
	(void) fc_operator_expand(cache->last->view, cached_scratch(fcinfo, fc_operator_scratch(op)), rows);
	cache->last->rows = rows;
	cache->size += size;
	return op;
}

vector_reader *
cached_reader(FunctionCallInfo fcinfo)
{
	return &site_cache(fcinfo)->reader;
}

fc_scratch
cached_scratch(FunctionCallInfo fcinfo, Size floats)
{
	operator_cache *cache = site_cache(fcinfo);

	if (cache->scratch.count < floats)
	{
		if (cache->scratch.floats != NULL)
			pfree(cache->scratch.floats);
		cache->scratch = (fc_scratch) {NULL, 0};
		cache->scratch.floats = MemoryContextAllocHuge(cache->home, floats * sizeof(float));
		cache->scratch.count = floats;
	}
	return cache->scratch;
}

double *
cached_doubles(FunctionCallInfo fcinfo, Size count)
{
	operator_cache *cache = site_cache(fcinfo);

	if (cache->doubles_count < count)
	{
		if (cache->doubles != NULL)
			pfree(cache->doubles);
		cache->doubles_count = 0;
		cache->doubles = MemoryContextAllocHuge(cache->home, count * sizeof(double));
		cache->doubles_count = count;
	}
	return cache->doubles;
}

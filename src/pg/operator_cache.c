/*
 * operator_cache.c - a per-row function meets the same operator (or kernel map) at every call.
 *
 * A value stored inline and uncompressed is used where it lies.  One that is
 * TOASTed is fetched once per call site and recognised afterwards by its 16-byte
 * pointer, a packed one by its few bytes: a model is never detoasted twice.
 */
#include "fastclust.h"

#include "access/detoast.h"

typedef struct operator_cache
{
	Size		key_size;		/* bytes that identify the value behind `bytes` */
	char		key[128];
	void	   *bytes;			/* fetched copy */
	const void *seen;			/* the view belongs to these bytes */
	uint64		digest[2];
	void	   *view;
	uint64		plan_digest[2]; /* whose plan and rows these are */
	void	   *plan;
	float	   *rows;
	vector_reader reader;
	float	   *scratch;
	Size		scratch_floats;
	double	   *doubles;
	Size		doubles_count;
} operator_cache;

static operator_cache *
site_cache(FunctionCallInfo fcinfo)
{
	operator_cache *cache = fcinfo->flinfo->fn_extra;

	if (cache == NULL)
	{
		cache = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(operator_cache));
		cache->reader.context = fcinfo->flinfo->fn_mcxt;
		fcinfo->flinfo->fn_extra = cache;
	}
	return cache;
}

/* The bytes that tell one not-inline value from another; 0 when they would be too many. */
static Size
key_size_of(const struct varlena *value)
{
	Size		size = VARATT_IS_EXTERNAL(value) ? VARSIZE_EXTERNAL(value) : VARSIZE_ANY(value);

	if (VARATT_IS_EXTERNAL(value) && !VARATT_IS_EXTERNAL_ONDISK(value))
		return 0;
	return size <= sizeof(((operator_cache *) 0)->key) ? size : 0;
}

static const void *
fetched(operator_cache *cache, MemoryContext context, struct varlena *value)
{
	Size		key_size = key_size_of(value);
	MemoryContext old;

	if (key_size > 0 && key_size == cache->key_size && memcmp(cache->key, value, key_size) == 0)
		return cache->bytes;
	if (cache->bytes != NULL)
		pfree(cache->bytes);
	cache->bytes = NULL;
	cache->seen = NULL;
	cache->key_size = 0;
	old = MemoryContextSwitchTo(context);
	cache->bytes = detoast_attr(value);
	MemoryContextSwitchTo(old);
	memcpy(cache->key, value, key_size);
	cache->key_size = key_size;
	return cache->bytes;
}

const void *
cached_view(FunctionCallInfo fcinfo, int argument, Size view_size, void (*make_view) (const void *bytes, void *view),
			const void **bytes)
{
	operator_cache *cache = site_cache(fcinfo);
	MemoryContext context = fcinfo->flinfo->fn_mcxt;
	struct varlena *value = (struct varlena *) DatumGetPointer(PG_GETARG_DATUM(argument));
	const void *flat = VARATT_IS_4B_U(value) ? value : fetched(cache, context, value);
	const uint64 *digest = (const uint64 *) ((const char *) flat + offsetof(fc_operator_header, digest));

	if (cache->view == NULL)
		cache->view = MemoryContextAllocZero(context, view_size);
	if (flat != cache->seen || digest[0] != cache->digest[0] || digest[1] != cache->digest[1])
	{
		make_view(flat, cache->view);
		memcpy(cache->digest, digest, sizeof(cache->digest));
		cache->seen = flat;
	}
	*bytes = flat;
	return cache->view;
}

static void
view_operator(const void *bytes, void *view)
{
	open_operator(bytes, view);
}

/* Sparse factors rearranged once, for as long as the same operator comes. */
static void
make_plan(operator_cache *cache, fc_operator *op, MemoryContext context)
{
	Size		size = fc_operator_plan_size(op);

	if (cache->plan != NULL)
		pfree(cache->plan);
	if (cache->rows != NULL)
		pfree(cache->rows);
	cache->plan = NULL;
	cache->rows = NULL;
	memset(cache->plan_digest, 0, sizeof(cache->plan_digest));	/* until it is there: a cancel may come between */
	if (size > 0)
	{
		check_budget(size, "the operator's plan");
		cache->plan = MemoryContextAllocHuge(context, size);
		fc_operator_plan_build(op, cache->plan);
	}
	memcpy(cache->plan_digest, cache->digest, sizeof(cache->digest));
}

const fc_operator *
cached_operator(FunctionCallInfo fcinfo, int argument, const fc_operator_header **header)
{
	operator_cache *cache = site_cache(fcinfo);
	const void *bytes;
	fc_operator *op;

	(void) cached_view(fcinfo, argument, sizeof(fc_operator), view_operator, &bytes);
	op = cache->view;
	if (cache->plan_digest[0] != cache->digest[0] || cache->plan_digest[1] != cache->digest[1])
		make_plan(cache, op, fcinfo->flinfo->fn_mcxt);
	op->plan = cache->plan;
	op->rows = cache->rows;
	if (header != NULL)
		*header = bytes;
	return op;
}

const fc_operator *
cached_expanded_operator(FunctionCallInfo fcinfo, int argument, const fc_operator_header **header)
{
	const fc_operator *op = cached_operator(fcinfo, argument, header);
	operator_cache *cache = site_cache(fcinfo);
	Size		size = op->k * op->d * sizeof(float);
	float	   *rows;

	if (cache->rows != NULL || op->factors == 1 || op->kept.values != NULL ||
		size > (Size) fastclust_memory_budget * 1024 / 4)
		return op;
	rows = MemoryContextAllocHuge(fcinfo->flinfo->fn_mcxt, size);
	(void) fc_operator_expand(cache->view, &server_tick, cached_scratch(fcinfo, fc_operator_scratch(op)), rows);
	cache->rows = rows;
	return op;
}

vector_reader *
cached_reader(FunctionCallInfo fcinfo)
{
	return &site_cache(fcinfo)->reader;
}

float *
cached_scratch(FunctionCallInfo fcinfo, Size floats)
{
	operator_cache *cache = site_cache(fcinfo);

	if (cache->scratch_floats < floats)
	{
		if (cache->scratch != NULL)
			pfree(cache->scratch);
		cache->scratch_floats = 0;
		cache->scratch = MemoryContextAllocHuge(fcinfo->flinfo->fn_mcxt, floats * sizeof(float));
		cache->scratch_floats = floats;
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
		cache->doubles = MemoryContextAllocHuge(fcinfo->flinfo->fn_mcxt, count * sizeof(double));
		cache->doubles_count = count;
	}
	return cache->doubles;
}

/*
 * kernel_fn.c - accessors of kernel_projection values; kernel_map: features of
 * new rows
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "pg/base/memory.h"
#include "pg/base/progress.h"
#include "pg/operator/operator_cache.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/rows.h"
#include "pg/rkhs/kernel.h"

/* ---- kernel_projection ---- */

static const fc_kernel_projection_header *
projection_argument(FunctionCallInfo fcinfo, int argument)
{
	return aligned_value(PG_GETARG_DATUM(argument));
}

PG_FUNCTION_INFO_V1(fastclust_embedding_of);
Datum
fastclust_embedding_of(PG_FUNCTION_ARGS)
{
	const fc_kernel_projection_header *header = projection_argument(fcinfo, 0);
	const int64_t *ids = fc_kernel_projection_ids(header);
	const float *y = fc_kernel_projection_rows(header);

	fastclust_begin_rows(fcinfo);
	for (Size i = 0; i < header->n; i++)
	{
		Datum		values[2] = {
			Int64GetDatum(ids[i]),
			make_float4_array(y + i * header->rank, (int) header->rank)
		};

		CHECK_FOR_INTERRUPTS();
		put_row(fcinfo, values, NULL);
		pfree(DatumGetPointer(values[1]));
	}
	return (Datum) 0;
}

PG_FUNCTION_INFO_V1(fastclust_projection_describe);
Datum
fastclust_projection_describe(PG_FUNCTION_ARGS)
{
	const fc_kernel_projection_header *header = projection_argument(fcinfo, 0);
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfo(&json,
					 "{\"method\": \"%s\", \"kernel\": \"%s\", \"rows\": %llu, \"dim\": %u, \"rank\": %u, ",
					 kernel_method_name(header->method), kernel_text(&header->kernel),
					 (unsigned long long) header->n, header->d, header->rank);
	if (header->method == FC_KERNEL_ONE_PASS)
		appendStringInfo(&json, "\"oversampling\": %u, \"probes\": %u, ",
						 header->oversampling, header->probes);
	if (header->method != FC_KERNEL_EXACT)
		appendStringInfo(&json, "\"columns\": %u, \"seed\": %lld, ",
						 header->columns, (long long) header->seed);
	if (header->relative_error >= 0)
		appendStringInfo(&json, "\"relative_error\": %.6g, \"error_deviation\": %.2g, ",
						 header->relative_error, header->error_deviation);
	else
		appendStringInfoString(&json, "\"relative_error\": null, ");
	appendStringInfo(&json, "\"bytes\": %zu, \"workspace_bytes\": %llu",
					 (Size) VARSIZE(header),
					 (unsigned long long) header->workspace);
	append_json_list(&json, ", \"eigenvalues\": ",
					 fc_kernel_projection_eigenvalues(header), header->rank);
	appendStringInfoChar(&json, '}');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

/* ---- making maps ---- */

/*
 * Serializes a kernel map. Its landmarks are the centroids of op; norms and t
 * are defined in rkhs/map.h.
 */
static fc_kernel_map_header *
store_map(memory_account *memory, const fc_kernel *kernel, Size rank, bool unit,
		  const double *norms, const double *t, const fc_operator_header *op)
{
	Size		size = fc_kernel_map_size(op->k, rank, VARSIZE(op));
	fc_kernel_map_header *header;

	charge_memory(memory, size);
	header = alloc_large(size);
	fc_kernel_map_write(kernel, rank, unit, norms, t, op, VARSIZE(op), header);
	if (size > (Size) MaxAllocSize ||
		fc_kernel_map_check(header, size) != FC_OK)
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("the landmarks and kernel %s do not give a valid map",
					   kernel_text(kernel)),
				errhint("Scale the landmarks, or use fewer."));
	SET_VARSIZE(header, size);
	return header;
}

PG_FUNCTION_INFO_V1(fastclust_nystroem);
Datum
fastclust_nystroem(PG_FUNCTION_ARGS)
{
	const fc_operator_header *bytes;
	const fc_kernel *kernel;
	Size		rank = 0;
	Size		pairs;
	Size		found;
	fc_operator op;
	memory_account memory = {"nystroem"};
	fc_arena	arena;
	double	   *norms;
	double	   *t;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	bytes = OPERATOR_ARG(0);
	kernel = (const fc_kernel *) PG_GETARG_POINTER(1);
	reject_precomputed(kernel, "nystroem");
	open_operator(bytes, &op);
	if (!PG_ARGISNULL(2))
	{
		check_count("rank", PG_GETARG_INT32(2), 1,
					(int64) fc_kernel_map_pairs(op.k, 0));
		rank = (Size) PG_GETARG_INT32(2);
	}
	pairs = fc_kernel_map_pairs(op.k, rank);
	announce_work(psprintf("nystroem of %zu landmarks takes", op.k),
				  fc_kernel_operations(FC_KERNEL_NYSTROEM, op.k, op.d, op.k) /
				  2,
				  false, "Use fewer landmarks");
	charge_memory(&memory, (1 + pairs) * op.k * sizeof(double));
	arena = charged_arena(&memory);
	norms = alloc_large(op.k * sizeof(double));
	t = alloc_large(pairs * op.k * sizeof(double));
	check_kernel_status(fc_kernel_map_solve(&op, kernel, rank, &arena, norms, t,
											&found),
						kernel);
	release_arena(&arena);
	PG_RETURN_POINTER(store_map(&memory, kernel,
								rank > 0 ? rank : Max(found, 1), false, norms,
								t, bytes));
}

/*
 * Serializes the chosen kernel map. x contains the n x d values of the rows
 * from which its landmarks are taken.
 */
static fc_kernel_map_header *
write_map(memory_account *memory, const fc_spectral *chosen, const double *x,
		  Size d)
{
	Size		m = chosen->landmarks;
	fc_operator_header *op;
	double	   *landmarks;
	double	   *norms;			/* m squared norms, then m weights */

	charge_memory(memory, m * (d + 2) * sizeof(double) + codebook_bytes(m, d));
	landmarks = alloc_large(m * d * sizeof(double));
	norms = alloc_large(2 * m * sizeof(double));
	for (Size j = 0; j < m; j++)
	{
		const double *row = x + chosen->landmark[j] * d;

		CHECK_FOR_INTERRUPTS();
		memcpy(landmarks + j * d, row, d * sizeof(double));
		norms[m + j] = 1.0;
		norms[j] = 0.0;
		for (Size c = 0; c < d; c++)
			norms[j] += row[c] * row[c];
	}
	op = make_codebook(landmarks, norms + m, m, d);
	return store_map(memory, &chosen->kernel, chosen->rank, chosen->unit, norms,
					 chosen->t, op);
}

fc_kernel_map_header *
spectral_map(const fc_weighted_rows *rows, Size k, Size landmarks, int64 seed)
{
	memory_account memory = {"the spectral features of a kernel"};
	fc_spectral chosen = {0};
	fc_arena	arena;
	double	   *x;
	Size		max;
	Size		rank;

	max = Min(landmarks, rows->n);
	rank = fc_spectral_rank(k, max);
	announce_work(psprintf("the choice of a kernel on %zu rows takes", rows->n),
				  fc_spectral_operations(rows->n, rows->d, k, max), false,
				  "Lower k or option landmarks");
	charge_memory(&memory, rows->n * rows->d * sizeof(double) +
				  max * (sizeof(size_t) + rank * sizeof(double)));
	x = numbers_of_rows(rows);
	chosen.landmark = alloc_large(max * sizeof(size_t));
	chosen.t = alloc_large(rank * max * sizeof(double));
	arena = charged_arena(&memory);
	fc_spectral_choose(x, rows->n, rows->d, k, max, (uint64) seed, &arena, &chosen);
	release_arena(&arena);
	return write_map(&memory, &chosen, x, rows->d);
}

/* ---- features ---- */

_Static_assert(offsetof(fc_kernel_map_header, digest) ==
			   offsetof(fc_operator_header, digest),
			   "cached_view finds the digest of both in one place");

/*
 * Prepared map in the call state, kept until the call site uses another map.
 */
typedef struct map_call_state
{
	fc_kernel_map map;
	uint64		digest[2];		/* digest of the map prepared last; 0 if there
								 * is none */
	fc_arena	arena;			/* memory of the prepared map */
	const struct fc_operator_sell *sell;	/* map.op.sell of the prepared map */
	const float *single;		/* map.single of the prepared map */
} map_call_state;

static void
view_map(const void *bytes, void *view)
{
	fc_kernel_map_view(bytes, &((map_call_state *) view)->map);
}

static const fc_kernel_map *
cached_map(FunctionCallInfo fcinfo)
{
	const void *bytes;
	map_call_state *call = ((map_call_state *) cached_view(fcinfo, 0, sizeof(map_call_state),
														   view_map, &bytes));
	const fc_kernel_map_header *header = bytes;

	if (memcmp(call->digest, header->digest, sizeof(call->digest)) != 0)
	{
		memset(call->digest, 0, sizeof(call->digest));
		if (call->arena.host == NULL)
			call->arena = make_arena_in(fcinfo->flinfo->fn_mcxt,
										"the prepared kernel_map");
		release_arena(&call->arena);
		fc_kernel_map_prepare(&call->map, &call->arena);
		call->sell = call->map.op.sell;
		call->single = call->map.single;
		memcpy(call->digest, header->digest, sizeof(call->digest));
	}
	call->map.op.sell = call->sell;
	call->map.single = call->single;
	return &call->map;
}

PG_FUNCTION_INFO_V1(fastclust_kernel_features);
Datum
fastclust_kernel_features(PG_FUNCTION_ARGS)
{
	const fc_kernel_map *map = cached_map(fcinfo);
	vector		v = read_vector_argument(fcinfo, cached_reader(fcinfo), 1, "x");
	Size		d = map->op.d;
	const double *x;
	float	   *y = palloc(map->rank * sizeof(float));

	check_vector_dim(&v, d, "the kernel_map");
	check_single_precision(&v);
	x = vector_doubles(&v, cached_doubles(fcinfo, d));
	fc_kernel_map_features(map, x,
						   cached_scratch(fcinfo, fc_kernel_map_scratch(map)),
						   y);
	if (!fc_all_finite_float(y, map->rank))
		check_kernel_status(FC_EFAR, &map->kernel);
	return make_float4_array(y, (int) map->rank);
}

PG_FUNCTION_INFO_V1(fastclust_map_describe);
Datum
fastclust_map_describe(PG_FUNCTION_ARGS)
{
	const void *bytes;
	const map_call_state *call = cached_view(fcinfo, 0, sizeof(map_call_state), view_map,
											 &bytes);
	const fc_kernel_map *map = &call->map;
	StringInfoData json;

	initStringInfo(&json);
	appendStringInfo(&json,
					 "{\"kernel\": \"%s\", \"landmarks\": %zu, \"dim\": %zu, \"rank\": %zu, \"factors\": %zu, \"bytes\": %zu}",
					 kernel_text(&map->kernel), map->op.k, map->op.d, map->rank,
					 map->op.factors, (Size) VARSIZE(bytes));
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

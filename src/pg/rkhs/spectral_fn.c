/* spectral_fn.c - spectral_map: kernel features by which clusters of any shape are clear */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "operator/codebook.h"
#include "operator/operator.h"
#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/operator/operator_value.h"
#include "pg/rkhs/kernel.h"
#include "rkhs/map.h"
#include "rkhs/spectral.h"

/* The map of what was chosen; rows x are n x d. */
static fc_kernel_map_header *
write_map(account *memory, const fc_spectral *chosen, const double *x, Size d)
{
	Size		m = chosen->landmarks;
	fc_operator_header *op;
	fc_kernel_map_header *header;
	double	   *landmarks;
	double	   *norms;			/* then weights */
	Size		size;

	hold(memory, m * (d + 2) * sizeof(double) + codebook_bytes(m, d));
	landmarks = palloc_extended(m * d * sizeof(double), MCXT_ALLOC_HUGE);
	norms = palloc_extended(2 * m * sizeof(double), MCXT_ALLOC_HUGE);
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
	size = fc_kernel_map_size(m, chosen->rank, VARSIZE(op));
	hold(memory, size);
	header = palloc_extended(size, MCXT_ALLOC_HUGE);
	fc_kernel_map_write(&chosen->kernel, chosen->rank, chosen->unit, norms, chosen->t, op, VARSIZE(op), header);
	if (size > (Size) MaxAllocSize || fc_kernel_map_check(header, size) != FC_OK)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("rows and kernel %s make no valid map", kernel_text(&chosen->kernel)),
				 errhint("Scale the rows, or use fewer landmarks.")));
	SET_VARSIZE(header, size);
	return header;
}

/* (rows, k, landmarks, seed): the map that the centroids of rows suggest for k clusters. */
PG_FUNCTION_INFO_V1(fastclust_spectral_map);
Datum
fastclust_spectral_map(PG_FUNCTION_ARGS)
{
	account		memory = {"spectral_map"};
	fc_operator op;
	fc_spectral chosen = {0};
	fc_scratch	scratch;
	fc_arena	arena;
	double	   *x;
	Size		k;
	Size		most;
	Size		rank;

	open_operator(OPERATOR_ARG(0), &op);
	check_count("k", PG_GETARG_INT32(1), 1, FC_MAX_CLUSTERS);
	check_count("landmarks", PG_GETARG_INT32(2), 1, FC_MAX_CLUSTERS);
	k = (Size) PG_GETARG_INT32(1);
	most = Min((Size) PG_GETARG_INT32(2), op.k);
	rank = fc_spectral_rank(k, most);
	hold(&memory, op.k * op.d * sizeof(double) + most * (sizeof(size_t) + rank * sizeof(double)));
	x = palloc_extended(op.k * op.d * sizeof(double), MCXT_ALLOC_HUGE);
	scratch = make_scratch(fc_operator_scratch(&op));
	fc_operator_centroids(&op, NULL, NULL, scratch, x);
	chosen.landmark = palloc_extended(most * sizeof(size_t), MCXT_ALLOC_HUGE);
	chosen.t = palloc_extended(rank * most * sizeof(double), MCXT_ALLOC_HUGE);
	arena = hold_arena(&memory);
	check_kernel_status(fc_spectral_choose(x, op.k, op.d, k, most, (uint64) PG_GETARG_INT64(3), &arena, &chosen),
						&chosen.kernel);
	release_arena(&arena);
	PG_RETURN_POINTER(write_map(&memory, &chosen, x, op.d));
}

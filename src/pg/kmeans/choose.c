/* choose.c - the numbers of clusters tried on rows that are an operator's centroids, and the one chosen */
#include "postgres.h"

#include "miscadmin.h"

#include "operator/operator.h"
#include "pg/base/arguments.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/base/progress.h"
#include "pg/kmeans/collection.h"
#include "pg/operator/operator_value.h"

/* Rows about the offset of op come to be about 0. */
static void
move_to_origin(const fc_operator *op, float *x)
{
	for (Size j = 0; op->offset != NULL && j < op->k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		for (Size i = 0; i < op->d; i++)
			x[j * op->d + i] = (float) ((double) x[j * op->d + i] + op->offset[i]);
	}
}

fc_choice *
choose_clusters(const fc_operator_header *header, Size max_k, int64 seed, double trim, const bool *apart)
{
	account		memory = {"choose_k"};
	fc_choice  *choice = palloc(sizeof(fc_choice));
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_operator op;
	fc_arena	arena;
	fc_rows		rows;
	float	   *x;
	fc_sphere	sphere;
	double		unit;

	check_count("max_k", (int64) max_k, 1, FC_EVIDENCE_CLUSTERS);
	open_operator(header, &op);
	announce_work(psprintf("trying numbers of clusters on %zu rows takes", op.k), fc_choose_k_operations(op.k, op.d, max_k), false, "Lower max_k or option sample_rows");
	hold(&memory, op.k * op.d * sizeof(float));
	x = expanded_rows(&op);
	if (op.metric == FC_COSINE)
		move_to_origin(&op, x);
	unit = fc_scale_rows(x, op.k * op.d);
	sphere = (fc_sphere) {NULL, unit};
	rows = (fc_rows) {.x = x,.n = op.k,.d = op.d};
	options.seed = (uint64) seed;
	options.sphere = op.metric == FC_COSINE ? &sphere : NULL;
	arena = hold_arena(&memory);
	fc_choose_k(&rows, max_k, trim_argument(trim), apart, &options, &arena, choice);
	release_arena(&arena);
	for (Size i = 0; i < choice->count; i++)
		choice->tried[i].evidence.cost = choice->tried[i].evidence.cost / unit / unit;
	return choice;
}

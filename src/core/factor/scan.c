/* scan.c - one scan of QK-means over rows in memory; see scan.h */
#include "factor/scan.h"

#include <string.h>

#include "base/sizes.h"
#include "base/sort.h"
#include "operator/bytes.h"
#include "operator/step.h"

/* An operator as it is stored, with the rows of its product for distances, and scratch. */
typedef struct stored_operator
{
	fc_operator_header *header;
	fc_operator op;
	float	   *rows;			/* k x d, for a product */
	fc_scratch	scratch;		/* of fc_step_add and fc_operator_assign_batch with `batch` rows, and of one row */
	size_t		batch;
} stored_operator;

static void
take_operator(fc_arena *arena, const fc_operator *op, stored_operator *stored)
{
	stored->batch = fc_step_capacity(op);
	stored->header = (fc_operator_header *) FC_TAKE(arena, fc_operator_size(op), char);
	stored->rows = FC_TAKE(arena, op->factors > 1 ? op->k * op->d : 0, float);
	stored->scratch = fc_take_scratch(arena, larger(fc_step_scratch(op, stored->batch), fc_operator_batch_scratch(op, stored->batch)));
}

static fc_status
store_operator(const fc_operator *op, stored_operator *stored)
{
	fc_status	status;

	fc_operator_write(op, stored->header);
	status = fc_operator_check(stored->header, fc_operator_size(op));
	if (status != FC_OK)
		return status;
	fc_operator_view(stored->header, &stored->op);
	if (op->factors > 1)
	{
		fc_operator_expand(&stored->op, stored->scratch, stored->rows);
		return FC_OK;
	}
	return FC_OK;
}

typedef struct scan_work
{
	stored_operator stored;
	fc_step    *step;
	int64_t    *counts;			/* k */
} scan_work;

static size_t
step_size(const fc_operator *op)
{
	const fc_operator_header shape = {.k = (uint32_t) op->k,.d = (uint32_t) op->d};

	return fc_step_size(FC_STEP_LLOYD, &shape, fc_operator_size(op), fc_step_capacity(op));
}

static void
take_scan(fc_arena *arena, const fc_operator *op, scan_work *w)
{
	take_operator(arena, op, &w->stored);
	w->step = (fc_step *) FC_TAKE(arena, step_size(op), char);
	w->counts = FC_TAKE(arena, op->k, int64_t);
}

fc_status
fc_scan_rows(const fc_operator *op, const double *x, size_t n, fc_arena *arena,
			 double *sse, double *weights, double *means)
{
	scan_work	w;
	fc_step_result result = {.weights = weights,.sums = means};
	fc_status	status;

	take_scan(arena, op, &w);
	status = store_operator(op, &w.stored);
	if (status == FC_OK)
		fc_step_init(FC_STEP_LLOYD, w.stored.header, fc_operator_size(op), w.stored.batch, w.step);
	for (size_t r = 0; status == FC_OK && r < n; r++)
	{
		fc_check();
		fc_step_add(w.step, &w.stored.op, x + r * op->d, 1.0, w.stored.scratch);
	}
	if (status != FC_OK)
		return status;
	fc_step_fold(w.step, &w.stored.op, w.stored.scratch);
	result.counts = w.counts;
	fc_step_finish(w.step, w.stored.scratch, &result);
	*sse = result.total;
	if (status == FC_OK)
		fc_step_means(op->k, op->d, weights, means);
	return status;
}

/* ---- the farthest rows ---- */

typedef struct farthest_work
{
	stored_operator stored;
	fc_keyed   *order;			/* 2 n */
	double	   *distances;		/* n */
	int32_t    *labels;			/* of a batch */
} farthest_work;

static void
take_farthest(fc_arena *arena, const fc_operator *op, size_t n, farthest_work *w)
{
	take_operator(arena, op, &w->stored);
	w->order = FC_TAKE(arena, 2 * n, fc_keyed);
	w->distances = FC_TAKE(arena, n, double);
	w->labels = FC_TAKE(arena, w->stored.batch, int32_t);
}

/* Distances that are never negative sort as their bits: the farthest has the least key. */
static uint64_t
farness_key(double distance)
{
	uint64_t	bits;

	memcpy(&bits, &distance, sizeof(bits));
	return UINT64_MAX - bits;
}

static void
measure_rows(const farthest_work *w, const double *x, size_t n)
{
	const fc_operator *op = &w->stored.op;

	for (size_t first = 0; first < n; first += w->stored.batch)
	{
		size_t		some = smaller(w->stored.batch, n - first);
		const double *rows = x + first * op->d;

		fc_check();
		fc_operator_assign_batch(op, rows, some, w->stored.scratch, w->labels);
		for (size_t r = 0; r < some; r++)
			w->distances[first + r] = fc_operator_distance(op, (size_t) w->labels[r], rows + r * op->d, w->stored.scratch);
	}
}

/* By distance, and equal ones by a hash of the rows' values. */
static void
order_rows(const farthest_work *w, const double *x, size_t n, size_t d)
{
	fc_sort_rows(x, n, d * sizeof(double), w->order);
	for (size_t r = 0; r < n; r++)
		w->order[r].key = farness_key(w->distances[w->order[r].value]);
	fc_sort(w->order, n, w->order + n);
}

fc_status
fc_farthest_rows(const fc_operator *op, const double *x, size_t n, size_t count, fc_arena *arena,
				 double *rows, size_t *found)
{
	farthest_work w;
	size_t		d = op->d;
	fc_status	status;

	take_farthest(arena, op, n, &w);
	status = store_operator(op, &w.stored);
	if (status == FC_OK)
		measure_rows(&w, x, n);
	if (status == FC_OK)
		order_rows(&w, x, n, d);
	*found = smaller(count, n);
	for (size_t i = 0; status == FC_OK && i < *found; i++)
		memcpy(rows + i * d, x + w.order[i].value * d, d * sizeof(double));
	return status;
}

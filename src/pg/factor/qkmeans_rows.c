/* qkmeans_rows.c - rows in memory, for the scans of QK-means: an iteration takes them through a step of Lloyd once */
#include "postgres.h"

#include "miscadmin.h"

#include "base/rng.h"
#include "base/sort.h"
#include "factor/qkmeans.h"
#include "operator/bytes.h"
#include "operator/operator.h"
#include "operator/step.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/factor/qkmeans.h"
#include "pg/kmeans/collection.h"
#include "pg/operator/operator_value.h"

/* An operator with its bytes, the rows of its product for distances, and scratch. */
typedef struct placed_operator
{
	fc_operator_header *header;
	fc_operator op;
	float	   *rows;
	fc_scratch	scratch;		/* of fc_step_add and fc_operator_assign_batch with `capacity` rows, and of one row */
} placed_operator;

/* Bytes of an operator in place. */
static Size
placed_bytes(const fc_operator *op, Size capacity)
{
	Size		scratch = Max(fc_step_scratch(op, capacity), fc_operator_batch_scratch(op, capacity));

	return fc_operator_size(op) + scratch * sizeof(float) + (op->factors > 1 ? op->k * op->d * sizeof(float) : 0);
}

static placed_operator
place_operator(const fc_operator *op, Size capacity)
{
	placed_operator placed;

	placed.header = store_operator(op);
	open_operator(placed.header, &placed.op);
	placed.scratch = make_scratch(Max(fc_step_scratch(&placed.op, capacity), fc_operator_batch_scratch(&placed.op, capacity)));
	placed.rows = NULL;
	if (op->factors == 1)
		return placed;
	placed.rows = palloc_extended(op->k * op->d * sizeof(float), MCXT_ALLOC_HUGE);
	(void) fc_operator_expand(&placed.op, &server_tick, placed.scratch, placed.rows);
	return placed;
}

static void
release_operator(placed_operator *placed)
{
	pfree(placed->header);
	pfree(placed->scratch.floats);
	if (placed->rows != NULL)
		pfree(placed->rows);
}

static fc_status
scan_collection(void *ctx, const fc_operator *op, double *sse, double *weights, double *means)
{
	const collection *rows = ctx;
	Size		capacity = fc_step_capacity(op);
	Size		operator_size = fc_operator_size(op);
	const fc_operator_header shape = {.k = (uint32) op->k,.d = (uint32) op->d};
	Size		size = fc_step_size(FC_STEP_LLOYD, &shape, operator_size, capacity);
	fc_step_result result = {.weights = weights,.sums = means};
	placed_operator placed;
	fc_step    *step;

	check_budget(rows->account->held + size + placed_bytes(op, capacity) + op->k * sizeof(int64), rows->account->what);
	placed = place_operator(op, capacity);
	result.counts = palloc_extended(op->k * sizeof(int64), MCXT_ALLOC_HUGE);
	step = palloc_extended(size, MCXT_ALLOC_HUGE);
	check_status(fc_step_init(FC_STEP_LLOYD, placed.header, operator_size, capacity, &server_tick, step), NULL);
	for (Size r = 0; r < rows->n; r++)
	{
		CHECK_FOR_INTERRUPTS();
		fc_step_add(step, &placed.op, rows->x + r * op->d, 1.0, placed.scratch);
	}
	fc_step_fold(step, &placed.op, placed.scratch);
	check_status(fc_step_finish(step, &server_tick, placed.scratch, &result), NULL);
	*sse = result.total;
	for (Size j = 0; j < op->k; j++)
	{
		CHECK_FOR_INTERRUPTS();
		for (Size i = 0; weights[j] > 0 && i < op->d; i++)
			means[j * op->d + i] /= weights[j];
	}
	pfree(result.counts);
	pfree(step);
	release_operator(&placed);
	return FC_OK;
}

/* Distances that are never negative sort as their bits: the farthest has the least key. */
static uint64
farness_key(double distance)
{
	uint64		bits;

	memcpy(&bits, &distance, sizeof(bits));
	return ~bits;
}

/* Rows by the hash of their values, so that their order on arrival does not count. */
static fc_status
order_rows(const collection *rows, fc_keyed *order)
{
	Size		size = (Size) rows->d * sizeof(double);

	for (Size r = 0; r < rows->n; r++)
	{
		CHECK_FOR_INTERRUPTS();
		order[r] = (fc_keyed) {fc_hash_bytes(0, rows->x + r * (Size) rows->d, size), r};
	}
	return fc_sort(order, rows->n, order + rows->n, &server_tick);
}

/* The distances of all rows from their centroids, in their order. */
static void
measure_rows(const collection *rows, const fc_operator *op, double *distances)
{
	Size		batch = fc_step_capacity(op);
	placed_operator placed = place_operator(op, batch);
	int32	   *labels = palloc(batch * sizeof(int32));

	for (Size first = 0; first < rows->n; first += batch)
	{
		Size		some = Min(batch, rows->n - first);
		const double *x = rows->x + first * op->d;

		CHECK_FOR_INTERRUPTS();
		fc_operator_assign_batch(&placed.op, x, some, placed.scratch, labels);
		for (Size r = 0; r < some; r++)
			distances[first + r] = fc_operator_distance(&placed.op, (size_t) labels[r], x + r * op->d, placed.scratch);
	}
	pfree(labels);
	release_operator(&placed);
}

static fc_status
farthest_collected(void *ctx, const fc_operator *op, size_t count, double *found_rows, size_t *found)
{
	const collection *rows = ctx;
	Size		size = order_bytes(rows->n) + rows->n * sizeof(double);
	fc_keyed   *order;
	double	   *distances;
	fc_status	status;

	check_budget(rows->account->held + size + placed_bytes(op, fc_step_capacity(op)), rows->account->what);
	order = palloc_extended(size, MCXT_ALLOC_HUGE);
	distances = (double *) (order + 2 * rows->n);
	measure_rows(rows, op, distances);
	status = order_rows(rows, order);
	for (Size r = 0; r < rows->n; r++)
		order[r].key = farness_key(distances[order[r].value]);
	if (status == FC_OK)
		status = fc_sort(order, rows->n, order + rows->n, &server_tick);
	*found = Min(count, rows->n);
	for (Size i = 0; status == FC_OK && i < *found; i++)
		memcpy(found_rows + i * op->d, rows->x + order[i].value * op->d, op->d * sizeof(double));
	pfree(order);
	return status;
}

fc_row_source
collected_rows(const collection *rows)
{
	return (fc_row_source) {(void *) rows, scan_collection, farthest_collected};
}

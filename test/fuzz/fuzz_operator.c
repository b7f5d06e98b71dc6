/* fuzz_operator.c - fuzzes the check and the readers of fastop */
#include "fuzz.h"
#include "fuzz_operator_value.h"

static size_t
make_value(uint8_t *bytes, size_t capacity, unsigned int seed)
{
	return write_operator(bytes, capacity, seed);
}

static void
reseal(uint8_t *bytes, size_t size)
{
	reseal_operator((fc_operator_header *) bytes, size);
}

static fc_status
check(const void *bytes, size_t size)
{
	return check_operator(bytes, size);
}

#define BATCH	9			/* rows of a batch, more than one block */

static void
assign_rows(const fc_operator *op, fc_scratch scratch, double *rows)
{
	int32_t		nearest[2];
	int32_t		labels[BATCH];
	double		distances[2];

	for (size_t i = 0; i < BATCH * op->d; i++)
		rows[i] = (double) (i % 7) - (double) (i / op->d);
	fc_operator_assign_batch(op, rows, BATCH, scratch, labels);
	for (size_t i = 0; i < BATCH; i++)
		if (labels[i] < 0 || (size_t) labels[i] >= op->k || fc_operator_assign(op, rows + i * op->d, scratch) >= op->k)
			abort();
	fc_operator_nearest(op, rows, op->k < 2 ? op->k : 2, scratch, nearest, distances);
	if (nearest[0] < 0 || (size_t) nearest[0] >= op->k)
		abort();
	for (size_t j = 0; j < op->k && j < 8; j++)
	{
		fc_operator_row(op, j, scratch, rows);
		fuzz_sink += rows[0] + fc_operator_distance(op, j, rows, scratch);
	}
}

static void
use(const void *bytes, size_t size)
{
	fc_operator op;
	fc_scratch	scratch;
	double	   *rows;

	fc_operator_view(bytes, &op);
	if (fc_operator_size(&op) != size)
		abort();
	if (op.k > 4096 || op.d > 4096)
		return;
	scratch = unit_scratch(fc_operator_batch_scratch(&op, BATCH));
	rows = unit_uncleared(BATCH * op.d * sizeof(double));
	assign_rows(&op, scratch, rows);
	fc_operator_slice(&op, unit_work());
	assign_rows(&op, scratch, rows);
}

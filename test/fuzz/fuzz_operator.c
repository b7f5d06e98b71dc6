/* fuzz_operator.c - can any bytes pass for a fastop and then lead its readers astray? */
#include "fuzz.h"
#include "base/rng.h"
#include "operator/bytes.h"

#define CLUSTERS 4			/* of the values made here */

/* Two factors, one sparse, or a plain codebook; with an offset or without; beside the centroids of the codebook or alone. */
static size_t
make_value(uint8_t *bytes, size_t room, unsigned int seed)
{
	static const double numbers[4] = {0.25, 0.5, 0, 1};
	static const float dense[12] = {1, 0, 2, 0, 1, 0, -1, 0.5f, 3, 0, 0, 1};
	static const float diagonal[3] = {1, -2, 0.5f};
	static const uint32_t column[3] = {0, 1, 2};
	static const uint32_t row_start[4] = {0, 1, 2, 3};
	float		half_norms[2][CLUSTERS];
	float		kept[2][CLUSTERS];
	fc_scratch	scratch;
	fc_operator codebook = {
		.k = CLUSTERS, .d = 3, .offset = (seed & 1) ? numbers : NULL, .weights = numbers, .factors = 1,
		.factor = {{.rows = CLUSTERS, .columns = 3, .nonzeros = 12, .values = dense}}
	};
	fc_operator op = codebook;

	if (seed & 2)
	{
		op.factors = 2;
		op.factor[1] = (fc_factor) {.rows = 3,.columns = 3,.nonzeros = 3,.values = diagonal,.row_start = row_start,.column = column};
	}
	scratch = fuzz_scratch(fc_operator_scratch(&op) + fc_operator_scratch(&codebook));
	fc_operator_half_norms(&codebook, scratch, half_norms[0]);
	fc_operator_half_norms(&op, scratch, half_norms[1]);
	if ((seed & 6) == 6 &&
		fc_operator_attach_exact(&op, &codebook, (seed & 8) ? FC_RERANK_EXACT : 2, NULL, scratch, kept[0], kept[1]) != FC_OK)
		abort();
	free(scratch.floats);
	if (fc_operator_size(&op) > room)
		return 0;
	fc_operator_write(&op, NULL, (fc_operator_header *) bytes);
	return fc_operator_size(&op);
}

/* As fc_operator_write does; the fuzzer stops at once should they ever differ. */
static void
reseal(uint8_t *bytes, size_t size)
{
	fc_operator_header *header = (fc_operator_header *) bytes;
	size_t		front = offsetof(fc_operator_header, k);

	if (size < sizeof(fc_operator_header))
		return;
	for (uint64_t i = 0; i < 2; i++)
		header->digest[i] = fc_hash_bytes((i + 1) ^ (uint64_t) header->flags << 8, bytes + front, size - front);
}

static fc_status
check(const void *bytes, size_t size)
{
	fc_status	status = fc_operator_check(bytes, size, NULL);
	fc_operator op;
	fc_scratch	scratch;

	if (status != FC_OK)
		return status;
	fc_operator_view(bytes, &op);
	scratch = fuzz_scratch(fc_operator_scratch(&op));
	status = fc_operator_verify(&op, scratch);
	free(scratch.floats);
	return status;
}

#define BATCH	9			/* rows: a block and more */

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
	void	   *sell;

	fc_operator_view(bytes, &op);
	if (fc_operator_size(&op) != size)
		abort();
	if (op.k > 4096 || op.d > 4096)
		return;
	scratch = fuzz_scratch(fc_operator_batch_scratch(&op, BATCH));
	rows = take_or_abort(BATCH * op.d * sizeof(double));
	sell = take_or_abort(fc_operator_sell_size(&op));
	assign_rows(&op, scratch, rows);
	if (fc_operator_sell_size(&op) > 0)
		fc_operator_sell_build(&op, sell);
	assign_rows(&op, scratch, rows);
	free(sell);
	free(rows);
	free(scratch.floats);
}

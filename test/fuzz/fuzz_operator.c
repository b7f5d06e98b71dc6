/* fuzz_operator.c - can any bytes pass for a fastop and then lead its readers astray? */
#include "fuzz.h"
#include "fc_operator_bytes.h"
#include "fc_rng.h"

/* Two factors, one sparse, or a plain codebook; with an offset or without. */
static size_t
make_value(uint8_t *bytes, size_t room, unsigned int seed)
{
	static const double numbers[4] = {0.25, 0.5, 0, 1};
	static const float dense[12] = {1, 0, 2, 0, 1, 0, -1, 0.5f, 3, 0, 0, 1};
	float		half_norms[4];
	float	   *scratch;
	static const float diagonal[3] = {1, -2, 0.5f};
	static const uint32_t column[3] = {0, 1, 2};
	static const uint32_t row_start[4] = {0, 1, 2, 3};
	fc_operator op = {
		.k = 4, .d = 3, .offset = (seed & 1) ? numbers : NULL,
		.weights = numbers, .factors = (seed & 2) ? 2 : 1,
		.factor = {
			{.rows = 4, .columns = 3, .nonzeros = 12, .values = dense},
			{.rows = 3, .columns = 3, .nonzeros = 3, .values = diagonal, .row_start = row_start, .column = column}
		}
	};

	if (fc_operator_size(&op) > room)
		return 0;
	scratch = take_or_abort(fc_operator_scratch(&op) * sizeof(float));
	fc_operator_half_norms(&op, scratch, half_norms);
	free(scratch);
	fc_operator_write(&op, (fc_operator_header *) bytes);
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
	fc_status	status = fc_operator_check(bytes, size);
	fc_operator op;
	float	   *scratch;

	if (status != FC_OK)
		return status;
	fc_operator_view(bytes, &op);
	scratch = take_or_abort(fc_operator_scratch(&op) * sizeof(float));
	status = fc_operator_verify(&op, scratch);
	free(scratch);
	return status;
}

static void
assign_rows(const fc_operator *op, float *scratch, double *row)
{
	int32_t		nearest[2];
	double		distances[2];

	for (size_t i = 0; i < op->d; i++)
		row[i] = (double) i;
	if (fc_operator_assign(op, row, scratch) >= op->k)
		abort();
	fc_operator_nearest(op, row, op->k < 2 ? op->k : 2, scratch, nearest, distances);
	if (nearest[0] < 0 || (size_t) nearest[0] >= op->k)
		abort();
	for (size_t j = 0; j < op->k && j < 8; j++)
	{
		fc_operator_row(op, j, scratch, row);
		fuzz_sink += row[0] + fc_operator_distance(op, j, row, scratch);
	}
}

static void
use(const void *bytes, size_t size)
{
	fc_operator op;
	float	   *scratch;
	double	   *row;

	fc_operator_view(bytes, &op);
	if (fc_operator_size(&op) != size)
		abort();
	if (op.k > 4096 || op.d > 4096)
		return;
	scratch = take_or_abort(fc_operator_scratch(&op) * sizeof(float));
	row = take_or_abort(op.d * sizeof(double));
	assign_rows(&op, scratch, row);
	free(row);
	free(scratch);
}

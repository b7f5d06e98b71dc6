/*
 * fuzz_state.c - fuzzes the checks, transition and final functions of
 * serialized aggregate states
 */
#include <math.h>

#include "base/sort.h"
#include "fuzz.h"
#include "fuzz_operator_value.h"
#include "operator/coreset.h"
#include "operator/step.h"

#define DIM			3			/* dimensions of each state that make_value writes */
#define ROWS		9			/* rows added to a state, more than it can have pending */
#define LARGEST		4096		/* maximum clusters, dimensions and rows of a state to use */

static uint8_t
kind_of(const void *bytes)
{
	return ((const fc_step *) bytes)->kind;
}

static size_t
make_step(uint8_t *bytes, size_t space_left, unsigned int seed)
{
	static const double row[DIM] = {1, -2, 0.5};
	fc_step    *step = (fc_step *) bytes;
	double		space[512];
	fc_operator_header *header = (fc_operator_header *) space;
	int			kind = FC_STEP_LLOYD + (int) (seed % 4);
	size_t		capacity = seed / 4 % 8;
	size_t		operator_size = write_operator((uint8_t *) space, sizeof(space), seed / 32);
	size_t		size = fc_step_size(kind, header, operator_size, capacity);
	fc_scratch	scratch;
	fc_operator op;

	if (size > space_left)
		return 0;
	fc_step_init(kind, header, operator_size, capacity, step);
	fc_operator_view(header, &op);
	scratch = unit_scratch(fc_step_scratch(&op, capacity));
	for (unsigned int i = 0; i < seed % 5; i++)
		fc_step_add(step, NULL, row, 0.5, scratch);
	return size;
}

static double
rank_of(const fc_coreset *state, uint64_t key, const double *x)
{
	double		rank;

	fc_coreset_hash(state->seed, x, 1, state->dim, &key);
	fc_coreset_ranks(state, &key, x, 1, &rank);
	return rank;
}

static size_t
make_coreset(uint8_t *bytes, size_t space_left, unsigned int seed)
{
	static const double row[DIM] = {1, -2, 0.5};
	static const double center[DIM] = {0, 0, 1};
	fc_coreset *state = (fc_coreset *) bytes;
	size_t		capacity = 2 + 2 * (seed % 3);

	if (fc_coreset_bytes(DIM, 0, capacity) > space_left)
		return 0;
	fc_coreset_init(DIM, capacity - 1, capacity, seed, center, (double) (seed % 2), INFINITY, FC_EUCLIDEAN, false, state);
	for (uint64_t key = 0; key < seed % 2 + 1; key++, state->count++)
		fc_coreset_take(state, rank_of(state, key, row), row);
	return fc_coreset_bytes(DIM, 0, capacity);
}

static size_t
make_value(uint8_t *bytes, size_t space_left, unsigned int seed)
{
	return seed % 4 == 1 ? make_coreset(bytes, space_left, seed / 4)
		: make_step(bytes, space_left, seed / 4);
}

/*
 * Recomputes the digest of the operator in a step.  The other states have no
 * digest.
 */
static void
reseal(uint8_t *bytes, size_t size)
{
	const fc_step *step = (const fc_step *) bytes;

	if (size > sizeof(fc_step) && fc_step_is_kind(kind_of(bytes)) && step->operator_size <= size - sizeof(fc_step))
		reseal_operator((fc_operator_header *) (bytes + sizeof(fc_step)), (size_t) step->operator_size);
}

static fc_status
check(const void *bytes, size_t size)
{
	if (size < offsetof(fc_step, kind) + sizeof(uint8_t))
		return FC_EFORMAT;
	switch (kind_of(bytes))
	{
		case FC_STEP_CORESET:
			return fc_coreset_check(bytes, size);
		default:
			return fc_step_check(bytes, size);
	}
}

static void
finish_step(const fc_step *step, const fc_operator *op, fc_scratch scratch)
{
	fc_step_result result = {
		.counts = unit_uncleared(op->k * sizeof(int64_t)),
		.weights = unit_uncleared(op->k * sizeof(double)),
		.sums = unit_uncleared(op->k * op->d * sizeof(double))
	};

	fc_step_finish(step, scratch, &result);
	fuzz_sink += result.total + result.weights[0];
}

/*
 * Computes the result of the step, before and after it adds rows and combines
 * it with itself.
 */
static void
use_step(const fc_step *bytes, size_t size)
{
	fc_step    *step = unit_uncleared(size);
	fc_operator op;
	fc_scratch	scratch;
	double	   *row;

	memcpy(step, bytes, size);
	fc_operator_view((const fc_operator_header *) (step + 1), &op);
	if (op.k <= LARGEST && op.d <= LARGEST)
	{
		scratch = unit_scratch(fc_step_scratch(&op, step->capacity));
		row = unit_uncleared(op.d * sizeof(double));
		for (size_t i = 0; i < op.d; i++)
			row[i] = (double) (i % 3) - 1;
		finish_step(step, &op, scratch);
		for (size_t r = 0; r < ROWS && step->count < FC_MAX_ROWS - ROWS; r++)
			fc_step_add(step, NULL, row, 0.25, scratch);
		if (fc_step_combine(step, bytes, scratch) == FC_OK)
			finish_step(step, &op, scratch);
	}
}

/*
 * Moves the coreset to a larger state, adds rows to it as the aggregate does,
 * and draws a sample.
 */
static void
use_coreset(const fc_coreset *bytes)
{
	size_t		capacity = (size_t) bytes->capacity + 2 * ROWS;
	fc_coreset *state;
	double	   *x;
	uint32_t   *slots;
	double	   *weights;

	if (bytes->dim > LARGEST || bytes->capacity > LARGEST)
		return;
	state = unit_uncleared(fc_coreset_bytes(bytes->dim, bytes->elements, capacity));
	fc_coreset_move(bytes, bytes->elements, capacity, state);
	x = unit_uncleared((state->dim + 1) * sizeof(double));
	for (size_t i = 0; i < state->dim; i++)
		x[i] = (double) (i % 3) - 1;
	for (uint64_t key = 0; key < ROWS; key++)
	{
		double		rank = rank_of(state, key, x);

		if (fc_coreset_takes(state, rank) && !fc_coreset_is_full(state) &&
			fc_coreset_elements(state, x) == state->elements)
			fc_coreset_take(state, rank, x);
	}
	weights = unit_uncleared(capacity * sizeof(double));
	slots = unit_uncleared(capacity * sizeof(uint32_t));
	fc_coreset_sample(state, unit_work(), slots, weights);
	if (fc_coreset_rows(state) > 0)
		fuzz_sink += fc_coreset_row(state, slots[0], x)[0] + weights[0];
}

static void
use(const void *bytes, size_t size)
{
	switch (kind_of(bytes))
	{
		case FC_STEP_CORESET:
			use_coreset(bytes);
			break;
		default:
			use_step(bytes, size);
	}
}

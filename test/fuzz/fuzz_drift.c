/*
 * fuzz_drift.c - fuzzes the checks and the readers of drift_spec and
 * drift_counts
 */
#include <math.h>

#include "fuzz.h"
#include "drift/drift_spec_of_sample.h"
#include "drift/counts.h"
#include "drift/test.h"

#define DIM			6
#define ROWS		40

/*
 * Writes rows, one column of which has only three different values, and the
 * spec that fc_drift_choose makes of them.
 */
static void
write_spec(fc_drift_spec *spec, unsigned int seed, float rows[ROWS * DIM])
{
	double		origin[DIM] = {1, 2, 3, 4, 5, 6};
	fc_weighted_rows sample = {.values = rows,.offset = (seed & 1) ? origin : NULL,.n = ROWS,.d = 1 + (seed >> 1) % DIM,
	.metric = (seed >> 4 & 1) ? FC_COSINE : FC_EUCLIDEAN};

	for (size_t i = 0; i < ROWS * DIM; i++)
		rows[i] = (float) ((i * 7919 + seed) % (i % DIM == 2 ? 3 : 1009)) / 64.0f;
	fc_drift_choose(&sample, seed, unit_work(), spec);
}

/* Writes counts if bit 5 of the seed is set, and a spec otherwise. */
static size_t
make_value(uint8_t *bytes, size_t capacity, unsigned int seed)
{
	float		rows[ROWS * DIM];
	double		space[1024];
	fc_drift_spec *spec = (fc_drift_spec *) space;

	if (capacity < sizeof(space))
		return 0;
	write_spec(spec, seed, rows);
	if (!(seed >> 5 & 1))
	{
		memcpy(bytes, spec, fc_drift_spec_size(spec));
		return fc_drift_spec_size(spec);
	}
	{
		fc_drift_counts *open = unit_uncleared(fc_drift_size_of_spec(spec, FC_DRIFT_UNPACKED));
		fc_drift_prepared prepared;
		size_t		size = fc_drift_size_of_spec(spec, 0);

		fc_drift_prepare(spec, unit_work(), &prepared);
		fc_drift_counts_init(spec, FC_DRIFT_UNPACKED | ((seed >> 6 & 1) ? FC_DRIFT_NULLS : 0), open);
		if (seed >> 6 & 1)
			fc_drift_count_null(open, seed % spec->dim, 1);
		for (size_t i = 0; i < ROWS; i++)
			(void) fc_drift_count_row(&prepared, NULL, rows + i * spec->dim, (uint32_t) (1 + i % 3 * 2047), open);
		fc_drift_fold(open);
		if (fc_drift_convert(open, 0, (fc_drift_counts *) bytes) != FC_OK)
			abort();
		return size;
	}
}

static bool
is_spec(const void *bytes, size_t size)
{
	return fc_drift_spec_check(bytes, size) == FC_OK;
}

static void
reseal(uint8_t *bytes, size_t size)
{
	fc_drift_spec *spec = (fc_drift_spec *) bytes;

	if (size >= sizeof(fc_drift_spec) && spec->dim <= FC_MAX_DIM && spec->plain <= FC_DRIFT_PLAIN && spec->far <= FC_DRIFT_FAR &&
		spec->padding == 0 && fc_drift_spec_size(spec) == size)
		fc_drift_spec_seal(spec);
}

static fc_status
check(const void *bytes, size_t size)
{
	return is_spec(bytes, size) ? FC_OK : fc_drift_counts_check(bytes, size);
}

/*
 * Counts rows by the spec, and checks that the counts do not differ from
 * themselves.
 */
static void
use_spec(const fc_drift_spec *spec)
{
	fc_arena	arena = unit_arena();
	fc_drift_counts *open = unit_uncleared(fc_drift_size_of_spec(spec, FC_DRIFT_UNPACKED));
	fc_drift_counts *counts = unit_uncleared(fc_drift_size_of_spec(spec, 0));
	double	   *row = unit_uncleared(spec->dim * sizeof(double));
	fc_drift_sides sides = {.spec = spec,.counts = {counts, counts}};
	fc_drift_prepared prepared;
	fc_drift_result result;
	fc_drift_move moves[3];
	size_t		moved;

	fc_drift_prepare(spec, &arena, &prepared);
	fc_drift_counts_init(spec, FC_DRIFT_UNPACKED, open);
	for (size_t i = 0; i < 70; i++)
	{
		for (size_t j = 0; j < spec->dim; j++)
			row[j] = (double) ((i * 31 + j * 7) % 23) - 4;
		if (fc_drift_count_row(&prepared, row, NULL, (uint32_t) (1 + i % 3 * 2047), open) == FC_EVALUE)
			abort();
	}
	fc_drift_fold(open);
	if (fc_drift_convert(open, 0, counts) != FC_OK || fc_drift_counts_check(counts, fc_drift_counts_size(counts, 0)) != FC_OK)
		abort();
	fc_drift_test_sides(&sides, 0.01, 0.1, &arena, &result);
	fc_drift_moved(&sides, 0.01, 3, false, &arena, moves, &moved);
	if (result.p_value != 1 || result.effect != 0 || moved != 0)
		abort();
	fuzz_sink += result.hidden;
}

/*
 * Adds the counts to themselves and subtracts them again, which must leave no
 * rows in the end.
 */
static void
use_counts(const fc_drift_counts *counts, size_t size)
{
	fc_drift_counts *twice = unit_uncleared(fc_drift_counts_size(counts, FC_DRIFT_WIDE));

	if (fc_drift_counts_size(counts, counts->flags) != size || fc_drift_convert(counts, FC_DRIFT_WIDE, twice) != FC_OK)
		abort();
	if (fc_drift_combine(twice, counts, 1) == FC_OK && fc_drift_combine(twice, counts, -1) != FC_OK)
		abort();
	for (size_t i = 0; i < fc_drift_numbers(counts); i++)
		if (fc_drift_number(twice, i) != fc_drift_number(counts, i))
			abort();
	if (fc_drift_combine(twice, counts, -1) != FC_OK || twice->rows != 0)
		abort();
}

static void
use(const void *bytes, size_t size)
{
	if (is_spec(bytes, size))
		use_spec(bytes);
	else
		use_counts(bytes, size);
}

/*
 * drifts.h - helpers of the drift tests: specs, counts and sketches of random
 * rows
 */
#ifndef DRIFTS_H
#define DRIFTS_H

#include "drift/test.h"
#include "specs.h"

/*
 * Data that a training derives from a sample for drift: both specs, prepared,
 * and the moments of the null law.
 */
typedef struct drift_model
{
	fc_drift_spec *spec;
	fc_drift_prepared prepared;
	fc_arena	prepared_arena;
	fc_spec    *waves;
	ready		sketching;
	fc_wave_null null;
} drift_model;

static inline fc_drift_spec *
chosen_spec(const fc_weighted_rows *sample, uint64_t seed)
{
	fc_drift_spec *spec = unit_alloc(fc_drift_spec_bound(sample), 1);

	fc_drift_choose(sample, seed, unit_work(), spec);
	CHECK(fc_drift_spec_check(spec, fc_drift_spec_size(spec)) == FC_OK, "a chosen spec is refused");
	return spec;
}

static inline fc_spec *
wave_spec_of(const fc_weighted_rows *sample, uint64_t seed)
{
	double	   *center = unit_alloc(2 * sample->d, sizeof(double));
	double		sigmas[FC_WAVE_SCALES];
	fc_spec_fields fields;
	fc_spec    *spec;

	fc_wave_spec(sample, false, seed, unit_work(), center, center + sample->d, sigmas, &fields);
	spec = unit_alloc(fc_spec_fields_size(&fields), 1);
	CHECK(fc_spec_build(&fields, spec) == FC_OK, "the spec of the waves is refused");
	return spec;
}

static inline fc_wave_null
null_of_sample(const fc_weighted_rows *sample, const fc_prepared *prepared)
{
	fc_wave_null null = {0, 0};

	CHECK(fc_wave_null_moments(sample, 512, prepared, unit_work(), &null) == FC_OK, "null moments fail");
	return null;
}

static inline drift_model
make_model(const fc_weighted_rows *sample, uint64_t seed)
{
	drift_model model = {.spec = chosen_spec(sample, seed),.waves = wave_spec_of(sample, seed)};

	model.prepared_arena = unit_arena();
	fc_drift_prepare(model.spec, &model.prepared_arena, &model.prepared);
	model.sketching = make_ready(model.waves);
	model.null = null_of_sample(sample, &model.sketching.prepared);
	return model;
}

static inline fc_drift_counts *
new_counts(const fc_drift_spec *spec, uint8_t flags)
{
	fc_drift_counts *counts = unit_alloc(fc_drift_size_of_spec(spec, flags), 1);

	fc_drift_counts_init(spec, flags, counts);
	return counts;
}

/* Returns folded counts converted to another layout. */
static inline fc_drift_counts *
converted_counts(fc_drift_counts *counts, uint8_t flags)
{
	fc_drift_counts *copy = unit_alloc(fc_drift_counts_size(counts, flags), 1);

	CHECK(fc_drift_convert(counts, flags, copy) == FC_OK, "counts cannot be converted");
	return copy;
}

/* Returns the closed counts of n rows of floats. */
static inline fc_drift_counts *
counts_of(const drift_model *model, const float *rows, size_t n)
{
	fc_drift_counts *counts = new_counts(model->spec, FC_DRIFT_UNPACKED);

	for (size_t i = 0; i < n; i++)
		CHECK(fc_drift_count_row(&model->prepared, NULL, rows + i * model->spec->dim, 1, counts) == FC_OK, "a row is refused by the counts");
	fc_drift_fold(counts);
	counts = converted_counts(counts, 0);
	CHECK(fc_drift_counts_check(counts, fc_drift_counts_size(counts, 0)) == FC_OK, "counts are refused");
	return counts;
}

static inline fc_sketch_view *
waves_of(const drift_model *model, const float *rows, size_t n)
{
	const fc_prepared *prepared = &model->sketching.prepared;
	fc_sketch  *sketch = new_sketch(prepared->spec, FC_SKETCH_UNPACKED, prepared->batch);
	fc_sketch_view *closed = unit_uncleared(sizeof(fc_sketch_view));

	for (size_t i = 0; i < n; i++)
	{
		fc_row		row = {.floats = rows + i * model->spec->dim,.weight = FC_ONE_WEIGHT};

		CHECK(fc_sketch_add(prepared, &row, VIEW(sketch)) == FC_OK, "a row is refused by the sketch");
	}
	*closed = fc_sketch_view_of(close_sketch(prepared, sketch));
	return closed;
}

static inline fc_drift_result
compare(const fc_drift_sides *sides, double threshold, double min_effect)
{
	fc_drift_result result;

	fc_drift_test_sides(sides, threshold, min_effect, unit_work(), &result);
	return result;
}

/* Returns n x d standard normal numbers. */
static inline float *
normal_table(size_t n, size_t d, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 11);
	float	   *rows = unit_alloc(n * d, sizeof(float));

	for (size_t i = 0; i < n * d; i++)
		rows[i] = (float) fc_rng_normal(&rng);
	return rows;
}

#endif							/* DRIFTS_H */

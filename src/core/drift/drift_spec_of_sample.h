/*
 * drift_spec_of_sample.h - computes the specs for drift tests from a sample of
 * the training rows.
 *
 * A drift_spec has edges, at which the distribution of each column is counted,
 * and bits for counting pairs of columns (spec.h). A wave_spec is a sketch_spec
 * whose moments, the waves, are compared between samples (waves.h).
 */
#ifndef FC_DRIFT_SPEC_OF_SAMPLE_H
#define FC_DRIFT_SPEC_OF_SAMPLE_H

#include "drift/spec.h"
#include "numerics/weighted_rows.h"
#include "sketch/spec.h"

/*
 * Maximum number of rows that are used, from the start of the sample. With
 * more rows, edges are placed more precisely, but this takes longer. A guess.
 */
#define FC_DRIFT_SAMPLE	5000

/*
 * Returns an upper bound on the size in bytes of a spec with the sample's
 * dimensions.
 */
size_t		fc_drift_spec_bound(const fc_weighted_rows *sample);

/*
 * Chooses a spec, and writes it into fc_drift_spec_bound(sample) bytes. If a
 * column has at most FC_DRIFT_EDGES distinct values, all of them are edges.
 * Otherwise its edges are the distinct quantiles. If many rows have the value
 * of an edge, the next smaller sample value is an edge, too, while there is
 * room. Weights are ignored.
 */
void		fc_drift_choose(const fc_weighted_rows *sample, uint64_t seed,
							fc_arena *work, fc_drift_spec *spec);

/* ---- the waves ---- */

/*
 * Number of frequencies of a wave_spec. With more frequencies, more changes
 * are found, and sketches are proportionally larger and slower
 * (bench/drift.py, bench/tuned.py).
 */
#define FC_WAVES	128

/*
 * Number of kernel widths that share the frequencies: a narrow one and a wide
 * one.
 */
#define FC_WAVE_SCALES	2

/*
 * Sets the fields of a sketch_spec that uses all dimensions. The fields point
 * to center, scale (d values each) and sigmas.
 *
 * The frequencies are omega ~ N(0, I / d) / t for each kernel width t. They
 * are applied to (x - center) / scale. center is the median of a column, or 0
 * with zero_center. scale is the interquartile range / 1.349.
 *
 * If this range is 0, let n be the number of values that differ from the
 * median. Let `own` be the median distance of these values from the median.
 * Then
 *     log scale = (n log own + 100 pool) / (n + 100)
 * where pool is the mean of log own over all such columns, weighted by n / (n
 * + 100). Without the pool, the scale of a sparse column would depend on a few
 * rows. The waves of many such columns would then fit these rows better than
 * any others. If two or more values differ from the median, all by the same
 * distance, the column keeps its own scale and does not enter the pool.
 */
void		fc_wave_spec(const fc_weighted_rows *sample, bool zero_center,
						 uint64_t seed, fc_arena *work, double *center, double *scale,
						 double sigmas[FC_WAVE_SCALES], fc_spec_fields *fields);

#endif							/* FC_DRIFT_SPEC_OF_SAMPLE_H */

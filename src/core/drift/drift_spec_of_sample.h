/*
 * drift_spec_of_sample.h - the edges, bits and waves of drift, chosen from a
 * sample of the training rows
 */
#ifndef FC_DRIFT_SPEC_OF_SAMPLE_H
#define FC_DRIFT_SPEC_OF_SAMPLE_H

#include "drift/spec.h"
#include "numerics/weighted_rows.h"
#include "sketch/spec.h"

#define FC_DRIFT_SAMPLE		5000	/* rows of a sample that are looked at:
									 * the first */

/*
 * Bytes of a spec of d dimensions at most, and of the work of both functions
 * below.
 */
size_t		fc_drift_spec_bound(const fc_weighted_rows *sample);

/*
 * Edges of a column: every value when at most FC_DRIFT_EDGES differ, else
 * quantiles without repeats and, of values that many rows share, the largest
 * value below. Weights are not looked at.
 */
void		fc_drift_choose(const fc_weighted_rows *sample, uint64_t seed,
							fc_arena *work, fc_drift_spec *spec);

/* ---- the waves ---- */

#define FC_WAVES				128 /* frequencies of a wave_spec */
#define FC_WAVE_SCALES			2	/* widths of kernels that share the
									 * frequencies */

/*
 * The parts of a sketch_spec of all dimensions: omega ~ N(0, I / d) over t,
 * for the t of fc_wave_lengths, of (x - center) / scale; center the median (0
 * with zero_center), scale the interquartile range over 1.349, or where that
 * is 0 the median distance from the median among the values not on it. The
 * parts point to center, scale (d each) and sigmas.
 */
void		fc_wave_parts(const fc_weighted_rows *sample, bool zero_center,
						  uint64_t seed, fc_arena *work, double *center, double *scale,
						  double sigmas[FC_WAVE_SCALES], fc_spec_parts *parts);

#endif							/* FC_DRIFT_SPEC_OF_SAMPLE_H */

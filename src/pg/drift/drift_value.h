/* drift_value.h - the types drift_spec and drift_counts */
#ifndef FASTCLUST_DRIFT_VALUE_H
#define FASTCLUST_DRIFT_VALUE_H

#include "drift/units.h"
#include "encode/encoder.h"
#include "numerics/weighted_rows.h"
#include "pg/base/values.h"
#include "sketch/spec.h"

#define DRIFT_SPEC_ARG(n)	((fc_drift_spec *) aligned_value(PG_GETARG_DATUM(n)))
#define DRIFT_COUNTS_ARG(n)	((fc_drift_counts *) aligned_value(PG_GETARG_DATUM(n)))

/*
 * ---- specs chosen from a sample of unscaled rows (drift_compare_fn.c) ----
 */

/*
 * drift_spec_of_rows chooses the drift_spec by which rows are counted.
 * wave_spec_of_rows chooses the sketch_spec for the comparison of sketches
 * (drift/waves.h). The center of this sketch_spec is 0 if `sparse` is true.
 */
extern fc_drift_spec *drift_spec_of_rows(const fc_weighted_rows *sample, int64 seed);
extern fc_spec *wave_spec_of_rows(const fc_weighted_rows *sample, bool sparse, int64 seed);

/*
 * Estimates tr S^2 and tr S^3, the moments of the null distribution of drift
 * for sketches of a spec (drift/waves.h), from up to `max` rows. Returns false
 * if the spec projects rows or there are too few rows.
 */
extern bool null_moments_of_rows(const fc_weighted_rows *sample, const fc_spec *spec,
								 int max, double moments[2]);

/* ---- specs ---- */

/*
 * Returns the spec prepared for counting. Only one prepared spec is cached;
 * the result is valid until another spec is requested.
 */
extern const fc_drift_prepared *drift_prepared_of_spec(const fc_drift_spec *spec);

/* ---- counts, in the current context ---- */

/*
 * Creates unpacked counts without rows. nulls is FC_DRIFT_NULLS if NULLs will
 * be counted, else 0.
 */
extern fc_drift_counts *new_drift_counts(const fc_drift_spec *spec, uint8 nulls);

/*
 * Returns the counts in the unpacked layout, with space for pending rows: the
 * counts themselves if they are unpacked, else a copy.
 */
extern fc_drift_counts *drift_counts_unpack(fc_drift_counts *counts);

/*
 * Adds a row, `weight` times, to unpacked counts of the prepared spec. The row
 * is `doubles` or `floats`, d values at any alignment; the other pointer is
 * NULL. If the metric is cosine, the row must have length 1. Returns the
 * counts or, once they count 2^32 rows or more, a larger copy. Raises an error
 * for a value that is not finite.
 */
extern fc_drift_counts *drift_counts_add_row(const fc_drift_prepared *prepared,
											 const double *doubles,
											 const float *floats, uint32 weight,
											 fc_drift_counts *counts);

/*
 * Adds a sparse row, whose elements must be finite, in the same way as
 * drift_counts_add_row.
 */
extern fc_drift_counts *drift_counts_add_sparse_row(const fc_drift_prepared *prepared,
													const fc_sparse_row *row, uint32 weight,
													fc_drift_counts *counts);

/*
 * Computes target += sign * source (sign 1 or -1). Returns the target, or a
 * larger copy. Raises an error if the specs differ or the row count would
 * become negative.
 */
extern fc_drift_counts *drift_counts_combined(fc_drift_counts *target,
											  const fc_drift_counts *source,
											  int sign);

/*
 * Returns an array with an element for each dimension of an encoder. An
 * element has the value that replaces a NULL of the dimension, the cell in
 * which this value is counted, and the dimension in which the NULLs of the
 * column are counted.
 */
extern fc_drift_fill *fill_of_encoder(const fc_encoder_header *encoder,
									  const fc_drift_spec *spec);

/*
 * Returns the packed counts of all rows, the sums over the parts into which a
 * hash of their units divides the rows. The counts include the variances
 * between parts, which estimate the variance between units (drift/units.h).
 */
extern fc_drift_counts *counts_with_units(const fc_drift_parts *parts);

/* Raises the error for counts that would become negative. */
extern void reject_negative_counts(void) __attribute__((noreturn));

/*
 * Returns the counts in the packed layout, in which they are stored: the
 * counts themselves if they are packed, else a copy. Pending rows are counted
 * in the copy.
 */
extern fc_drift_counts *drift_counts_pack(const fc_drift_counts *counts);

#endif							/* FASTCLUST_DRIFT_VALUE_H */

/* drift_value.h - the types drift_spec and drift_counts */
#ifndef FASTCLUST_DRIFT_VALUE_H
#define FASTCLUST_DRIFT_VALUE_H

#include "drift/counts.h"
#include "numerics/weighted_rows.h"
#include "pg/base/values.h"
#include "sketch/spec.h"

#define DRIFT_SPEC_ARG(n)	((fc_drift_spec *) aligned_value(PG_GETARG_DATUM(n)))
#define DRIFT_COUNTS_ARG(n)	((fc_drift_counts *) aligned_value(PG_GETARG_DATUM(n)))

/* ---- of a sample in its own units (drift_compare_fn.c) ---- */

/*
 * The spec of the counts, and that of the waves beside it; sparse: its center
 * is 0.
 */
extern fc_drift_spec *drift_spec_of_rows(const fc_weighted_rows *sample, int64 seed);
extern fc_spec *wave_spec_of_rows(const fc_weighted_rows *sample, bool sparse, int64 seed);

/*
 * tr S^2 and tr S^3 of the sketches of a spec, by so many rows at most; false
 * where the spec projects rows, or of too few rows.
 */
extern bool
			null_moments_of_rows(const fc_weighted_rows *sample, const fc_spec *spec,
								 int most, double moments[2]);

/* ---- specs ---- */

/* The spec prepared; the last one stays, until another is requested. */
extern const fc_drift_prepared *drift_prepared_of_spec(const fc_drift_spec *spec);

/* ---- counts, in the current context ---- */

/* Without rows, open. */
extern fc_drift_counts *drift_counts_opened(const fc_drift_spec *spec);

/* Open counts, or an open copy. */
extern fc_drift_counts *drift_counts_open(fc_drift_counts *counts);

/*
 * One row more, of doubles or floats (the other NULL; d of them on any byte),
 * in open counts of the spec that was prepared; by cosine of length 1. Returns
 * the counts, or a larger copy once they pass 2^32 rows. Not finite: an error.
 */
extern fc_drift_counts *drift_counts_add_row(const fc_drift_prepared *prepared,
											 const double *doubles,
											 const float *floats, fc_drift_counts *counts);

/*
 * target += sign * source (sign 1 or -1): the target, or a larger copy. An
 * error when they are of different specs or rows would be fewer than 0.
 */
extern fc_drift_counts *drift_counts_combined(fc_drift_counts *target,
											  const fc_drift_counts *source,
											  int sign);

/* The error of rows that would be fewer than 0. */
extern void reject_negative_counts(void) __attribute__((noreturn));

/* Stored counts (folded, canonical) out of any. */
extern fc_drift_counts *drift_counts_closed(const fc_drift_counts *counts);

#endif							/* FASTCLUST_DRIFT_VALUE_H */

/* drift_value.h - the types drift_spec and drift_counts */
#ifndef FASTCLUST_DRIFT_VALUE_H
#define FASTCLUST_DRIFT_VALUE_H

#include "postgres.h"

#include "fmgr.h"

#include "drift/counts.h"
#include "drift/spec.h"

extern fc_drift_spec *drift_spec_of_datum(Datum datum);
extern fc_drift_counts *drift_counts_of_datum(Datum datum);

#define DRIFT_SPEC_ARG(n)	drift_spec_of_datum(PG_GETARG_DATUM(n))
#define DRIFT_COUNTS_ARG(n)	drift_counts_of_datum(PG_GETARG_DATUM(n))

/* A spec prepared once per process; valid while drift_generation stays. */
extern const fc_drift_prepared *drift_prepared_of_spec(const fc_drift_spec *spec);
extern uint64 drift_generation;

/* ---- counts, in the current context ---- */

/* Without rows, open. */
extern fc_drift_counts *drift_counts_opened(const fc_drift_spec *spec);

/* Open counts, or an open copy. */
extern fc_drift_counts *drift_counts_open(fc_drift_counts *counts);

/*
 * One row more, of doubles or floats (the other NULL; d of them on any byte), in open counts of the spec that was prepared; one without a
 * direction is not counted by angle.  Returns the counts, or a larger copy once they pass 2^32 rows.  Not finite: an error.
 */
extern fc_drift_counts *drift_counts_add_row(const fc_drift_prepared *prepared, const double *doubles, const float *floats, fc_drift_counts *counts);

/* target += sign * source (sign 1 or -1): the target, or a larger copy.  An error when they are of different specs or rows would be fewer than 0. */
extern fc_drift_counts *drift_counts_combined(fc_drift_counts *target, const fc_drift_counts *source, int sign);

/* Stored counts (folded, canonical) out of any. */
extern fc_drift_counts *drift_counts_closed(const fc_drift_counts *counts);

#endif							/* FASTCLUST_DRIFT_VALUE_H */

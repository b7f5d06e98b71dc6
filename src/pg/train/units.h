/*
 * units.h - drift counts of rows that have weights, or belong to units such as
 * customers (core/drift/units.h)
 */
#ifndef FASTCLUST_TRAIN_UNITS_H
#define FASTCLUST_TRAIN_UNITS_H

#include "pg/train/sample.h"
#include "pg/train/scan_result.h"

/*
 * Returns true if rows have weights, or belong to units, which option unit
 * gives. Their drift counts are then computed from FC_DRIFT_PARTS parts, into
 * which a hash divides the units.
 */
static inline bool
has_parts(const train_source *source)
{
	return source->unit != NULL || source->weight != NULL;
}

/*
 * Runs the query of a scan: a query of unit_scan_text if rows have units or
 * weights, else of bucket_scan_text. GROUP BY is hashed in the first case.
 */
extern void scan_sums(const training *t, const scan_request *request, const char *query,
					  int flags);

/*
 * Returns the sums in a row of the result of scan_sums; all are zero if the
 * row has no state. The drift counts of rows that have weights or belong to
 * units include the variances between units.
 */
extern scan_result read_sums(const training *t, const scan_request *request, uint64 row);

/*
 * Scans the rows and replaces the drift counts of each group by counts with
 * the variances between units. Does nothing if rows have neither units nor
 * weights.
 */
extern void count_units(const training *t, group_fit *fits, int count);

#endif							/* FASTCLUST_TRAIN_UNITS_H */

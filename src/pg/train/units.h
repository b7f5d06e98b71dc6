/* units.h - counts of the rows of a relation in units */
#ifndef FASTCLUST_TRAIN_UNITS_H
#define FASTCLUST_TRAIN_UNITS_H

#include "pg/train/sample.h"
#include "pg/train/scan_result.h"

/* Returns true if rows are counted in parts: they have units or weights. */
static inline bool
has_parts(const train_source *source)
{
	return source->unit != NULL || source->weight != NULL;
}

/*
 * Runs a query of bucket_scan_text or, if rows are counted in parts, of
 * unit_scan_text, with hashed groups.
 */
extern void scan_sums(const training *t, const scan_request *request, const char *query,
					  int flags);

/*
 * Returns the sums in a row of its result; all zero if it has none. Counts in
 * parts have units.
 */
extern scan_result read_sums(const training *t, const scan_request *request, uint64 row);

/*
 * Replaces the counts of each group by counts with units, from a scan of the
 * rows.
 */
extern void count_units(const training *t, group_fit *fits, int count);

#endif							/* FASTCLUST_TRAIN_UNITS_H */

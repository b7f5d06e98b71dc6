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
 * Runs a query of unit_scan_text, with hashed groups.
 */
extern void scan_units(const training *t, const scan_request *request, const char *query,
					   int flags);

/*
 * Reads a row of its result: the sums of all its rows, in which counts have
 * units.
 */
extern void read_units(const training *t, const scan_request *request, uint64 row,
					   scan_result *result);

/*
 * Replaces the counts of each group by counts with units, from a scan of the
 * rows.
 */
extern void count_units(const training *t, group_fit *fits, int count);

#endif							/* FASTCLUST_TRAIN_UNITS_H */

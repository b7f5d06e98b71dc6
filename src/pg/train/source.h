/*
 * source.h - the rows of a relation as queries read them, and how many there
 * are
 */
#ifndef FASTCLUST_TRAIN_SOURCE_H
#define FASTCLUST_TRAIN_SOURCE_H

#include "lib/stringinfo.h"

#include "pg/train/relation.h"

/* A sample is an eighth of the rows of eight times as many blocks. */
#define BLOCKS_TIMES	8

extern void find_group_type(train_source *source);

/* The expression of a row that gives its group. */
extern char *group_key(const train_source *source);
extern void
			append_rows_from(StringInfo query, const train_source *source, double wanted,
							 double estimate, int64 seed, const char *leaf);

/*
 * The query of a scan of plan $1: a row (group, packed state) for every group,
 * or one.
 */
extern char *scan_text(const train_source *source, double wanted,
					   double estimate, int64 seed);

/*
 * The same of a row (value as text, packed state) for each value of a column,
 * or for NULL of all rows.  A scan of a share or a sample is keyed.
 */
extern char *bucket_scan_text(const train_source *source, const char *column, bool keyed);

extern int	scan_flags(const train_source *source);

/*
 * How many rows there are; the second by the option `sample`, by which rows
 * may be distinguished by their values.
 */
extern double estimated_rows(const train_source *source);
extern double rows_to_sample(train_source *source, row_sampling sample);

/*
 * The text of a row as operators take it, of parameters $1 center, $2 scale
 * and $3 map.
 */
extern char *row_text(const train_source *source, bool scaled, bool mapped);

#endif							/* FASTCLUST_TRAIN_SOURCE_H */

/*
 * source.h - queries that read the rows of a relation, and the number of rows
 */
#ifndef FASTCLUST_TRAIN_SOURCE_H
#define FASTCLUST_TRAIN_SOURCE_H

#include "lib/stringinfo.h"

#include "pg/train/relation.h"

/*
 * A sample of blocks reads BLOCKS_FACTOR times as many blocks as it needs, and
 * takes 1 / BLOCKS_FACTOR of their rows. With a larger factor, the sample has
 * rows of more blocks, and reading takes longer. A guess.
 */
#define BLOCKS_FACTOR	8

/*
 * Groups rows by the values of an integer column: hashing integers is faster
 * than hashing their texts, and gives the same groups.
 */
extern void group_integers_by_value(train_source *source);

/* Returns the expression by which rows are grouped. */
extern char *group_key(const train_source *source);

/* Rows that a query reads: about `wanted` of the rows of a relation. */
typedef struct row_choice
{
	double		wanted;
	double		estimate;		/* estimated number of rows of the relation */
	int64		seed;
} row_choice;

static const row_choice all_rows = {.wanted = INFINITY};

/*
 * Returns FROM and WHERE for chosen rows of the relation or, if leaf is not
 * NULL, of one leaf.
 */
extern char *rows_from(const train_source *source, row_choice rows, const char *leaf);

/*
 * Returns a query that selects `columns` of chosen rows of the relation or, if
 * there are leaves, of each leaf. group: expressions after GROUP BY, or NULL.
 */
extern char *select_rows(const train_source *source, const char *columns, const char *group,
						 row_choice rows);

/*
 * Returns the query of a scan with plan $1. Its rows are (group, packed
 * state): one row for each group, or a single row if there are no groups.
 */
extern char *scan_text(const train_source *source, row_choice rows);

/*
 * Returns the query of a scan with plan $1. Its rows are (value as text,
 * packed state): one row for each value of a column, or a single row if column
 * is NULL. keyed: pass the key of each row, which a scan with a share or a
 * sample needs.
 */
extern char *bucket_scan_text(const train_source *source, const char *column, bool keyed);

/*
 * Returns the number of rows to read for a sample of `wanted` rows: all of
 * them if rows have weights, because a few rows may have most of the weight.
 */
static inline double
rows_to_read(const train_source *source, double wanted)
{
	return source->weight != NULL ? INFINITY : wanted;
}

/*
 * Returns the query of a scan with plan $1, for rows that have weights or
 * belong to units, such as customers (option unit). A hash divides the units
 * into FC_DRIFT_PARTS parts (core/drift/units.h). The rows of the result are
 * (value as text, packed state, array of the packed states of the parts,
 * sizes): one row for each value of a column, or a single row if column is
 * NULL.
 *
 * sizes: number of units, sum of the weights, sum of the squared weights of
 * units, sum of the squared weights of rows. A row without a unit counts as a
 * unit of its own. Without option unit, the number of units is 0.
 */
extern char *unit_scan_text(const train_source *source, const char *column);

/*
 * Returns the query of a scan with plan $1 of chosen rows, which are divided
 * into two or three sets. All rows of a unit are in the same set. Rows of the
 * result are (number of the set from 0, packed state), ordered by the number.
 * tenths: tenths of all units in each set, two or three numbers.
 */
extern char *unit_sets_text(const train_source *source, const int *tenths, row_choice rows);

extern int	scan_flags(const train_source *source);

/*
 * estimated_rows returns the planner's estimate of the number of rows.
 * rows_to_sample returns the exact number if `exact` is true, with weights, or
 * with option sample "hash"; else the estimate. Option sample "hash" also
 * makes the source identify rows by their values.
 */
extern double estimated_rows(const train_source *source);

/*
 * Sets total_weight, max_weight, weight_factor and count_factor of the source,
 * and returns the number of rows. A sketch takes weights up to FC_MAX_WEIGHT
 * in steps of FC_MIN_WEIGHT. The counts for encoder_agg are 1 if all weights
 * are equal; they equal the weights if these are whole numbers and their sum
 * is not too large.
 */
extern double measure_weights(train_source *source);
extern double rows_to_sample(train_source *source, row_sampling sample, bool exact);

/*
 * Returns an SQL expression that converts a row to the input of the operators;
 * its parameters are $1 center, $2 scale and $3 map. op: SQL expression of an
 * operator, or NULL. If op is given and source->observed is true, the
 * coordinates of the nearest centroid of op replace NULLs.
 */
extern char *row_text(const train_source *source, bool scaled, bool mapped, const char *op);

#endif							/* FASTCLUST_TRAIN_SOURCE_H */

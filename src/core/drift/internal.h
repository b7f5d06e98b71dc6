/* internal.h - counts of both sides as lists of two-by-two tables, and the strongest of them */
#ifndef FC_DRIFT_INTERNAL_H
#define FC_DRIFT_INTERNAL_H

#include "drift/test.h"

/* A count of one column, or of a pair of bits, on both sides. */
typedef struct fc_table
{
	size_t		column;
	size_t		other;			/* of a pair, else column */
	double		count[2];
	double		key;			/* minus fc_two_counts_deviance; log p of the exact test, once fc_test_tables has run */
} fc_table;

/* The tables of least key, least first. */
typedef struct fc_tables
{
	fc_table   *table;			/* room */
	size_t		count;
	size_t		room;
} fc_tables;

static inline bool
fc_has_counts(const fc_drift_sides *sides)
{
	return sides->counts[0] != NULL && sides->counts[1] != NULL;
}

/* T1 and T2. */
double		fc_column_tests(const fc_drift_spec *spec);
double		fc_pair_tests(const fc_drift_spec *spec);

/* How many families there are; waves: whether these are one. */
int			fc_families(const fc_drift_sides *sides, bool waves);
bool		fc_has_waves(const fc_drift_sides *sides);

/* Of column j the table of greatest deviance. */
fc_table	fc_strongest_of_column(const fc_drift_sides *sides, size_t j);

/* The tables of greatest deviance, one a column; and two a pair at most, of columns that have not moved (d; NULL: of all).  FC_EFORMAT. */
void		fc_search_columns(const fc_drift_sides *sides, fc_tables *tables);
fc_status	fc_search_pairs(const fc_drift_sides *sides, const bool *moved, fc_arena *arena, fc_tables *tables);

/* Exact tests of all tables, which are then in the order of p. */
void		fc_test_tables(const fc_drift_sides *sides, fc_tables *tables);

/* Put a table among those of least key, as there is room. */
void		fc_keep_least(const fc_table *table, fc_tables *tables);

/* Rows of a side. */
static inline double
fc_rows_of_side(const fc_drift_sides *sides, int side)
{
	return (double) sides->counts[side]->rows;
}

#endif							/* FC_DRIFT_INTERNAL_H */

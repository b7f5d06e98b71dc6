/*
 * contingency.h - counts of pairs (a, b) of labels, in flat bytes, and the
 * agreement of two labellings computed from them. A label is a number, or the
 * hash of a value.
 *
 * The table is a hash table with open addressing. The number of its cells is a
 * power of two, and an empty cell has count 0.
 */
#ifndef FC_OPERATOR_CONTINGENCY_H
#define FC_OPERATOR_CONTINGENCY_H

#include "base/fc.h"

typedef struct fc_cell
{
	int64_t		a;
	int64_t		b;
	int64_t		count;
} fc_cell;

typedef struct fc_contingency
{
	uint32_t	container;		/* varlena length word, set by the caller */
	uint32_t	used;			/* number of cells with a count */
	uint64_t	capacity;		/* number of cells: a power of two, greater
								 * than `used` */
} fc_contingency;

static inline fc_cell *
fc_contingency_cells(const fc_contingency *table)
{
	return (fc_cell *) (table + 1);
}

static inline size_t
fc_contingency_size(size_t capacity)
{
	return sizeof(fc_contingency) + capacity * sizeof(fc_cell);
}

/* Initialises an empty table of fc_contingency_size(capacity) bytes. */
void		fc_contingency_init(size_t capacity, fc_contingency *table);

/*
 * Adds `count` to the cell of labels (a, b). The caller keeps the table at
 * most 3/4 full. Returns FC_EOVERFLOW if the cell would exceed FC_MAX_ROWS.
 */
fc_status	fc_contingency_add(fc_contingency *table, int64_t a, int64_t b, int64_t count);

/*
 * Adds the counts of source to target, which must have room. Returns
 * FC_EOVERFLOW if a cell would exceed FC_MAX_ROWS.
 */
fc_status	fc_contingency_merge(fc_contingency *target, const fc_contingency *source);

/* Lists the used cells, sorted by (a, b); cells has space for table->used. */
void		fc_contingency_list(const fc_contingency *table, fc_arena *arena,
								fc_cell *cells);

/*
 * Each function sets *score to the agreement of two labellings, given n
 * distinct cells with positive counts. Two labellings with one cluster each
 * have the score 1. Returns FC_EOVERFLOW if the counts add up to more than
 * FC_MAX_ROWS.
 */
fc_status	fc_adjusted_rand(const fc_cell *cells, size_t n, fc_arena *arena,
							 double *score);
fc_status	fc_normalized_mutual_information(const fc_cell *cells, size_t n,
											 fc_arena *arena, double *score);

#endif							/* FC_OPERATOR_CONTINGENCY_H */

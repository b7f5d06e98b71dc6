/*
 * contingency.h - counts of pairs (a, b) of labels, in flat bytes, and the
 * agreement of two labellings by them.
 *
 * Open addressing over a power of two of cells; an empty cell has count 0.
 */
#ifndef FC_OPERATOR_CONTINGENCY_H
#define FC_OPERATOR_CONTINGENCY_H

#include "base/fc.h"

typedef struct fc_cell
{
	int32_t		a;
	int32_t		b;
	int64_t		count;
} fc_cell;

typedef struct fc_contingency
{
	uint32_t	container;
	uint16_t	version;		/* FC_STEP_VERSION */
	uint8_t		kind;			/* FC_STEP_CONTINGENCY */
	uint8_t		padding;		/* 0 */
	uint32_t	used;
	uint32_t	capacity;		/* a power of two, more than used */
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

/* An empty table of fc_contingency_size(capacity) bytes. */
void		fc_contingency_init(size_t capacity, fc_contingency *table);

/*
 * Add to a table that stays at most 3/4 full. FC_EOVERFLOW: more than
 * FC_MAX_ROWS in one cell.
 */
fc_status
			fc_contingency_add(fc_contingency *table, int32_t a, int32_t b, int64_t count);

/* target, with room for them, takes in the pairs of source.  FC_EOVERFLOW. */
fc_status
			fc_contingency_merge(fc_contingency *target, const fc_contingency *source);

/* The used cells, sorted by (a, b), into cells (used of them). */
void		fc_contingency_list(const fc_contingency *table, fc_arena *arena,
								fc_cell *cells);
fc_status	fc_contingency_check(const void *bytes, size_t size);

/*
 * cells are distinct, with positive counts. Both follow the usual conventions
 * for degenerate tables: two labellings of one cluster each agree fully (1).
 */
fc_status	fc_adjusted_rand(const fc_cell *cells, size_t n, fc_arena *arena,
							 double *score);
fc_status	fc_normalized_mutual_information(const fc_cell *cells, size_t n,
											 fc_arena *arena, double *score);

#endif							/* FC_OPERATOR_CONTINGENCY_H */

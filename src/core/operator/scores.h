/*
 * scores.h - agreement of two labellings, from their contingency table.
 */
#ifndef FC_OPERATOR_SCORES_H
#define FC_OPERATOR_SCORES_H

#include "base/fc.h"

typedef struct fc_cell
{
	int32_t		a;
	int32_t		b;
	int64_t		count;
} fc_cell;


/*
 * cells are distinct, with positive counts.  Both follow the usual conventions for
 * degenerate tables: two labellings of one cluster each agree fully (1).
 */
fc_status	fc_adjusted_rand(const fc_cell *cells, size_t n, fc_arena *arena, double *score);
fc_status	fc_normalized_mutual_information(const fc_cell *cells, size_t n, fc_arena *arena,
											 double *score);

#endif							/* FC_OPERATOR_SCORES_H */

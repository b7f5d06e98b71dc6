/*
 * fuzz_operator_value.h - valid operators for the fuzzers of operators and of
 * aggregate states
 */
#ifndef FUZZ_OPERATOR_VALUE_H
#define FUZZ_OPERATOR_VALUE_H

#include "../unit/operators.h"

#define CLUSTERS 4			/* clusters of each operator */

/*
 * Writes an operator and returns its size, or 0 if it does not fit.  It is one
 * dense factor or the product of a dense and a sparse factor, with or without
 * an offset, and with or without exact centroids for re-ranking.
 */
static size_t
write_operator(uint8_t *bytes, size_t capacity, unsigned int seed)
{
	static const double numbers[4] = {0.25, 0.5, 0, 1};
	static const float dense[12] = {1, 0, 2, 0, 1, 0, -1, 0.5f, 3, 0, 0, 1};
	static const float diagonal[3] = {1, -2, 0.5f};
	static const uint32_t column[3] = {0, 1, 2};
	static const uint32_t row_start[4] = {0, 1, 2, 3};
	float		half_norms[2][CLUSTERS];
	float		kept[2][CLUSTERS];
	fc_scratch	scratch;
	fc_operator plain = {
		.k = CLUSTERS, .d = 3, .offset = (seed & 1) ? numbers : NULL, .weights = numbers, .factors = 1,
		.factor = {{.rows = CLUSTERS, .columns = 3, .nonzeros = 12, .values = dense}}
	};
	fc_operator op = plain;

	if (seed & 2)
	{
		op.factors = 2;
		op.factor[1] = (fc_factor) {.rows = 3,.columns = 3,.nonzeros = 3,.values = diagonal,.row_start = row_start,.column = column};
	}
	scratch = unit_scratch(fc_operator_scratch(&op) + fc_operator_scratch(&plain));
	fc_operator_measure(&plain, scratch, half_norms[0]);
	fc_operator_measure(&op, scratch, half_norms[1]);
	if ((seed & 6) == 6)
		fc_operator_attach_exact(&op, &plain, (seed & 8) ? FC_RERANK_EXACT : 2, scratch, kept[0], kept[1]);
	if (fc_operator_size(&op) > capacity)
		return 0;
	fc_operator_write(&op, (fc_operator_header *) bytes);
	return fc_operator_size(&op);
}

#endif							/* FUZZ_OPERATOR_VALUE_H */

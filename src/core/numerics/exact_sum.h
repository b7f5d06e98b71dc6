/*
 * exact_sum.h - sums of doubles and of products without rounding, so that their order does not matter.
 *
 * A sum is an integer of base 2^32 whose digits carry only now and then (Kulisch's accumulator): adding a double touches
 * three digits.  A value is rounded once, when it is read.
 */
#ifndef FC_NUMERICS_EXACT_SUM_H
#define FC_NUMERICS_EXACT_SUM_H

#include "base/fc.h"

#define FC_EXACT_DIGITS		70

typedef struct fc_exact_sum
{
	int64_t		digit[FC_EXACT_DIGITS]; /* digit i counts 2^(32 i - 1088) */
	int64_t		pending;		/* additions since the last carry */
} fc_exact_sum;

/* Add x, finite.  Room for 2^40 additions. */
void		fc_exact_add(fc_exact_sum *sum, double x);

/* Add x y, exactly where |x y| is from 1e-290 to 1e300, or 0. */
void		fc_exact_add_product(fc_exact_sum *sum, double x, double y);

/* Add another sum. */
void		fc_exact_merge(fc_exact_sum *sum, const fc_exact_sum *other);

/* The sum to within an ulp: the same bits for the same numbers in any order. */
double		fc_exact_value(const fc_exact_sum *sum);

/* squares, the sum of x^2 over n numbers x of this sum, becomes the sum of (x - center)^2. */
void		fc_exact_center(fc_exact_sum *squares, const fc_exact_sum *sum, int64_t n, double center);

#endif							/* FC_NUMERICS_EXACT_SUM_H */

/* loops.h - the inner loops of counting */
#ifndef FC_DRIFT_LOOPS_H
#define FC_DRIFT_LOOPS_H

#include "base/fc.h"

#define FC_DRIFT_TILE	16

/* out = (float) (x - origin), d numbers on any byte; origin may be NULL.  False when one is not finite. */
bool		fc_drift_take_doubles(const double *x, const double *origin, size_t d, float *out);
bool		fc_drift_take_floats(const float *x, const double *origin, size_t d, float *out);

/* place (tiles of 16) = how many of a column's `count` thresholds are below x. */
void		fc_drift_places(const float *x, const float *threshold, size_t count, size_t tiles, int32_t *place);

/* words |= mask where x <= lower or x > upper; n is a multiple of 16. */
void		fc_drift_set_bits(const float *x, const float *lower, const float *upper, size_t n, uint32_t mask, uint32_t *words);

/* both[j] += bits that first and low[j] have in common, and second and high[j]. */
void		fc_drift_count_both(uint32_t first, uint32_t second, const uint32_t *low, const uint32_t *high, size_t n, uint32_t *both);

#endif							/* FC_DRIFT_LOOPS_H */

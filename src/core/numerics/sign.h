/*
 * sign.h - which entry decides the sign of a vector that is known but for its sign.
 *
 * The largest in magnitude does, and is made positive.  Entries that are equal but for rounding (of symmetric
 * data) would leave the choice to the processor, so a later entry takes over only when it is larger by a thousandth.
 */
#ifndef FC_NUMERICS_SIGN_H
#define FC_NUMERICS_SIGN_H

#include <math.h>
#include <stdbool.h>

/* Does value decide, when before decided of the entries so far? */
static inline bool
fc_decides_sign(double value, double before)
{
	return fabs(value) > 1.001 * fabs(before);
}

#endif							/* FC_NUMERICS_SIGN_H */

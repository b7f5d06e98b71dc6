/*
 * lanes.h - types of vectors of FC_VECTOR_BYTES for the inner loops
 * (*_simd.c), and comparisons of lanes without branches.
 */
#ifndef FC_BASE_LANES_H
#define FC_BASE_LANES_H

#include "base/simd.h"

typedef float vfloat
			__attribute__((vector_size(FC_VECTOR_BYTES), aligned(4), may_alias));
typedef float vfloat4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float vhalf
			__attribute__((vector_size(FC_VECTOR_BYTES / 2), aligned(4), may_alias));
typedef double vdouble
			__attribute__((vector_size(FC_VECTOR_BYTES), aligned(8), may_alias));
typedef int32_t vint
			__attribute__((vector_size(FC_VECTOR_BYTES), aligned(4), may_alias));

#define VECTOR_LANES	(FC_VECTOR_BYTES / 4)	/* number of floats in a
												 * vector */
#define DOUBLES		(FC_VECTOR_BYTES / 8)	/* number of doubles in a vector */
#define QUAD		(4 / DOUBLES)	/* number of vectors that hold four
									 * doubles */
#define INLINE		static inline __attribute__((always_inline))
#define choose(mask, a, b)	(((mask) & (a)) | (~(mask) & (b)))

/*
 * Compares, in each lane, a new score with the two lowest scores so far, *low
 * and *next, and updates them. `place` is the number of the new score, and
 * *argument the number of the lowest one. Of equal scores, the first stays the
 * lowest.
 */
INLINE void
enter(vfloat score, vint place, vfloat *low, vfloat *next, vint *argument)
{
	vint		better = score < *low;
	vfloat		loser = (vfloat) choose(better, (vint) *low, (vint) score);
	vint		closer = loser < *next;

	*low = (vfloat) choose(better, (vint) score, (vint) *low);
	*argument = choose(better, place, *argument);
	*next = (vfloat) choose(closer, (vint) loser, (vint) *next);
}

#endif							/* FC_BASE_LANES_H */

/*
 * pieces.h - copying, clearing and checking large arrays, an interrupt check a piece.
 */
#ifndef FC_BASE_PIECES_H
#define FC_BASE_PIECES_H

#include "base/fc.h"

#define FC_PIECE	((size_t) 1 << 20)	/* bytes: under 2 ms even when every page is new */

void		fc_copy_pieces(void *to, const void *from, size_t bytes);
void		fc_clear_pieces(void *to, size_t bytes);

/* FC_EVALUE when one of n values is NaN or infinite. */
fc_status	fc_finite_pieces(const double *x, size_t n);
fc_status	fc_finite_float_pieces(const float *x, size_t n);

/* Are the bytes from `end_of_data` to `end` zero? */
static inline bool
fc_zero_padding(const void *end_of_data, const void *end)
{
	for (const char *p = end_of_data; p < (const char *) end; p++)
		if (*p != 0)
			return false;
	return true;
}

#endif							/* FC_BASE_PIECES_H */

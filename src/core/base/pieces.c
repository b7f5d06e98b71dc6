/* pieces.c - large arrays in pieces; see pieces.h */
#include "base/pieces.h"

#include <string.h>

static inline size_t
piece_of(size_t left)
{
	return left < FC_PIECE ? left : FC_PIECE;
}

void
fc_copy_pieces(void *to, const void *from, size_t bytes)
{
	for (size_t done = 0; done < bytes; done += FC_PIECE)
	{
		fc_check();
		memcpy((char *) to + done, (const char *) from + done, piece_of(bytes - done));
	}
}

void
fc_clear_pieces(void *to, size_t bytes)
{
	for (size_t done = 0; done < bytes; done += FC_PIECE)
	{
		fc_check();
		memset((char *) to + done, 0, piece_of(bytes - done));
	}
}

fc_status
fc_finite_pieces(const double *x, size_t n)
{
	for (size_t done = 0; done < n; done += FC_PIECE / sizeof(double))
	{
		fc_check();
		if (!fc_all_finite(x + done, piece_of((n - done) * sizeof(double)) / sizeof(double)))
			return FC_EVALUE;
	}
	return FC_OK;
}

fc_status
fc_finite_float_pieces(const float *x, size_t n)
{
	for (size_t done = 0; done < n; done += FC_PIECE / sizeof(float))
	{
		fc_check();
		if (!fc_all_finite_float(x + done, piece_of((n - done) * sizeof(float)) / sizeof(float)))
			return FC_EVALUE;
	}
	return FC_OK;
}

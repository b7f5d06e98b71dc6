/*
 * embed.h - the end every method shares: from K ~ E E', E = W T, to coordinates.
 *
 *     E' E = V S^2 V'          S^2: eigenvalues of the approximation
 *     Y = E V                  the r leading columns; Y Y' is the best approximation of rank r of E E'
 */
#ifndef FC_RKHS_EMBED_H
#define FC_RKHS_EMBED_H

#include "base/fc.h"

/* What a method leaves behind; arrays from the caller. */
typedef struct fc_embedding
{
	size_t		rank;
	double	   *eigenvalues;	/* rank, descending, 0 where the approximation has no more */
	float	   *y;				/* n x rank */
	double		relative_error; /* ||K - Y Y'||_F / ||K||_F as estimated, -1 when the method cannot tell */
} fc_embedding;

/* Greatest rank, and greatest number of columns that LAPACK takes whole. */
#define FC_MAX_KERNEL_RANK	502

size_t		fc_kernel_embed_worksize(size_t q);

/*
 * w (n x m, stride ldw), t (m x q), q <= 512, K = scale E E'.  The entry of largest magnitude
 * of each column of Y is positive.
 */
fc_status	fc_kernel_embed(const double *w, size_t n, size_t m, size_t ldw, const double *t, size_t q, double scale,
							fc_arena *arena, fc_embedding *result);

/* t (m x q) = vectors' / sqrt(values) for the q leading pairs above floor x the first; returns how many. */
size_t		fc_inverse_root(const double *values, const double *vectors, size_t count, size_t m, double floor, double *t);

#endif							/* FC_RKHS_EMBED_H */

/*
 * fc_pursuit.h - sparse least squares with a given Gram matrix.
 */
#ifndef FC_PURSUIT_H
#define FC_PURSUIT_H

#include "fc.h"

typedef struct fc_pursuit
{
	const double *gram;			/* n x n */
	size_t		n;
	double	   *root;			/* n: 1 / sqrt(G_ii), 0 for atoms that are next to nothing */
	double	   *rest;			/* n: sizes of the correlations with the residual */
	double	   *cholesky;		/* of the chosen part, rows packed */
	double	   *value[2];		/* coefficients */
	uint32_t   *chosen[2];
} fc_pursuit;

size_t		fc_pursuit_worksize(size_t n);
fc_status	fc_pursuit_start(const double *gram, size_t n, fc_arena *arena, fc_pursuit *pursuit);

/* A line of a sparse matrix: columns rising, values times scale. */
typedef struct fc_line
{
	const uint32_t *column;
	const double *value;
	double		scale;
	size_t		count;
} fc_line;

/*
 * min_s s' G s - 2 s' b with few non-zeros: the best of orthogonal matching pursuit with `entries`
 * of them (as many as the old line has, if more), the least squares on the old support and the old line
 * itself.  Atoms that all but depend on those chosen are passed over: their coefficients would be large and
 * cancel.  At most `room` are written, columns rising; returns how many.  n <= 2^20, at most 512 entries.
 */
size_t		fc_pursuit_line(fc_pursuit *pursuit, const double *b, size_t entries, const fc_line *old,
							size_t room, uint32_t *column, double *value);

/* rest_i = |b - G_I s|_i root_i of the `count` atoms chosen[0], whose own are 0; where it is largest, n when it is 0. */
void		fc_pursuit_correlate(fc_pursuit *pursuit, const double *b, size_t count);
size_t		fc_pursuit_best(const fc_pursuit *pursuit);

#endif							/* FC_PURSUIT_H */

/*
 * omp.h - sparse least squares with a given Gram matrix.
 */
#ifndef FC_NUMERICS_OMP_H
#define FC_NUMERICS_OMP_H

#include "base/fc.h"

typedef struct fc_omp
{
	const double *gram;			/* n x n */
	size_t		n;
	double	   *root;			/* n: 1 / sqrt(G_ii), 0 for atoms that are next to nothing */
	double	   *rest;			/* n: correlations with the residual */
	double	   *left;			/* n: what is left of each atom's square beside those chosen, relative */
	double	   *size;			/* n: |rest| root; 0 for atoms that depend on those chosen */
	double	   *rows;			/* K, n a row */
	double		noise;			/* sizes up to this are rounding */
	double	   *cholesky;		/* of the chosen part, rows packed */
	double	   *value[2];		/* coefficients */
	uint32_t   *chosen[2];
} fc_omp;

size_t		fc_omp_worksize(size_t n);
void		fc_omp_start(const double *gram, size_t n, fc_arena *arena, fc_omp *pursuit);

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
size_t		fc_omp_line(fc_omp *pursuit, const double *b, size_t entries, const fc_line *old,
							size_t room, uint32_t *column, double *value);

/* What is left of the square of an atom that is not yet dependent on the chosen, relative. */
#define FC_DEPENDENT_SHARE	1e-4

/*
 * The search: begin without atoms; extend K, rest, left and size by the count-th atom (from 0), given its row of
 * the Cholesky factor (count + 1); the atom of the largest size, n when all are 0.
 */
void		fc_omp_begin(fc_omp *pursuit, const double *b);
void		fc_omp_extend(fc_omp *pursuit, size_t atom, const double *cholesky, size_t count);
size_t		fc_omp_best(const fc_omp *pursuit);

#endif							/* FC_NUMERICS_OMP_H */

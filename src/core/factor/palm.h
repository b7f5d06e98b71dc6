/*
 * palm.h - palm4MSA: a matrix as a product of sparse factors.
 *
 *     min || W^(1/2) (U - lambda S_1 S_2 .. S_Q) ||_F^2,   S_q in E_q (sparse, unit Frobenius norm)
 *
 * by proximal alternating linearised minimisation: a projected gradient step for one factor
 * after the other, S_Q first (Le Magoarou & Gribonval 2016; Giffon et al. 2019, Alg. 2).
 * With pursuit, the steps for S_1 and S_Q are replaced by better ones.
 * W = diag(weight) is the fixed factor S_0 = diag(sqrt n) of QK-means.
 */
#ifndef FC_FACTOR_PALM_H
#define FC_FACTOR_PALM_H

#include "factor/factors.h"

/* U: k x d, row-major without gaps; weight (k, at least 0) or NULL for all 1. */
typedef struct fc_target
{
	const double *u;
	const double *weight;
	size_t		k;
	size_t		d;
} fc_target;

typedef struct fc_palm_options
{
	int			sweeps;			/* at most; 300 */
	double		tolerance;		/* stop when the objective moves by less, relative; 1e-6 */
	bool		pursuit;		/* solve the lines of the first and last factor by matching pursuit; true */
	bool		warm;			/* the factors are the result of an earlier call, not the usual start */
	uint64_t	seed;			/* of the first vectors of the power iterations */
	/* After each sweep, if given: objective is relative, || U - V ||^2 / || U ||^2 (weighted). */
	void		(*progress) (void *ctx, int sweep, double objective, size_t nonzeros);
	void	   *progress_ctx;
} fc_palm_options;

typedef struct fc_palm_result
{
	double		objective;		/* || W^(1/2) (U - V) ||_F^2 */
	double		relative;		/* the same / || W^(1/2) U ||_F^2; 0 when U is 0 */
	int			sweeps;
	bool		converged;
} fc_palm_result;

fc_palm_options fc_palm_defaults(void);

/*
 * Improve the factors.  The objective does not rise from the second sweep on (warm: the first).  U and weights are finite.
 */
void		fc_palm(const fc_target *target, const fc_palm_options *options,
					fc_arena *arena, fc_factors *factors, fc_palm_result *result);

#endif							/* FC_FACTOR_PALM_H */

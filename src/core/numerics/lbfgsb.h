/*
 * lbfgsb.h - a local minimum of a smooth function between bounds, by L-BFGS-B.
 */
#ifndef FC_NUMERICS_LBFGSB_H
#define FC_NUMERICS_LBFGSB_H

#include "base/fc.h"

typedef struct fc_minimizer
{
	double	   *x;
	double	   *gradient;
	double	   *lower;
	double	   *upper;
	int		   *bound_kind;		/* 1 lower bound only, 2 both */
	double	   *wa;				/* L-BFGS-B's own */
	int		   *iwa;
} fc_minimizer;

/* value and gradient at x */
typedef fc_status (*fc_objective) (void *context, const double *x, double *value, double *gradient);

void		fc_minimizer_take(fc_arena *arena, size_t variables, fc_minimizer *w);

/* w->x to a local minimum between the bounds: until the value falls by less than tolerance, relative, or iterations. */
fc_status	fc_minimize(fc_minimizer *w, size_t variables, fc_objective objective, void *context,
						double tolerance, int iterations, double *value);

#endif							/* FC_NUMERICS_LBFGSB_H */

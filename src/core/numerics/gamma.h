/* gamma.h - the upper tail of gamma laws */
#ifndef FC_NUMERICS_GAMMA_H
#define FC_NUMERICS_GAMMA_H

/* Q(a, x): the upper regularised incomplete gamma function, a > 0, x >= 0; relative error 1e-9 where a < 1e4. */
double		fc_gamma_upper(double a, double x);

#endif							/* FC_NUMERICS_GAMMA_H */

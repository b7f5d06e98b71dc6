/* tails.h - the upper tail of gamma laws, and the exact test of two counts (R. A. Fisher 1935) */
#ifndef FC_NUMERICS_TAILS_H
#define FC_NUMERICS_TAILS_H

/* Q(a, x): the upper regularised incomplete gamma function, a > 0, x >= 0; relative error 1e-9 where a < 1e4. */
double		fc_gamma_upper(double a, double x);

/*
 * The logarithm of the two-sided p of c1 of n1 rows against c2 of n2, 0 <= c <= n <= 2^40: twice the hypergeometric tail of c2,
 * given c1 + c2, that leads away from its mean; 0 (p = 1) at most.  Relative error of p about 1e-16 n log n.
 */
double		fc_hypergeometric_log_p(double c1, double n1, double c2, double n2);

/* The deviance of the two counts over 2: the log-likelihood of two shares over that of one; >= 0 but for rounding. */
double		fc_two_counts_deviance(double c1, double n1, double c2, double n2);

#endif							/* FC_NUMERICS_TAILS_H */

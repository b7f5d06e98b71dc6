/*
 * hypergeometric.c - the exact test of two counts; see hypergeometric.h
 *
 *     P(x) = C(n1, t - x) C(n2, x) / C(n1 + n2, t),   P(x + 1) / P(x) = (t - x) (n2 - x) / ((x + 1) (n1 - t + x + 1))
 *
 * Away from the mean the ratios fall, so that a tail is one term by log-gammas and a sum that converges
 * within some ten deviations.
 */
#include "numerics/hypergeometric.h"

#include <math.h>

#define NEGLIGIBLE	1e-17

static double
log_factorial(double n)
{
	int			sign;

	return lgamma_r(n + 1.0, &sign);
}

static double
log_choose(double n, double k)
{
	return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

double
fc_hypergeometric_log_p(double c1, double n1, double c2, double n2)
{
	double		t = c1 + c2;
	double		term = 1.0;
	double		sum = 1.0;

	if (c2 * (n1 + n2) < t * n2)	/* the lower tail of c2 is the upper one of c1 */
		return fc_hypergeometric_log_p(c2, n2, c1, n1);
	for (double x = c2; x < fmin(t, n2) && term > NEGLIGIBLE * sum; x++)
	{
		term *= (t - x) / (x + 1.0) * ((n2 - x) / (n1 - t + x + 1.0));
		sum += term;
	}
	return fmin(0.0, M_LN2 + log_choose(n1, c1) + log_choose(n2, c2) - log_choose(n1 + n2, t) + log(sum));
}

/* c log(c / n) + (n - c) log(1 - c / n) */
static double
log_likelihood(double c, double n)
{
	return (c > 0 ? c * log(c / n) : 0.0) + (c < n ? (n - c) * log((n - c) / n) : 0.0);
}

double
fc_two_counts_deviance(double c1, double n1, double c2, double n2)
{
	return log_likelihood(c1, n1) + log_likelihood(c2, n2) - log_likelihood(c1 + c2, n1 + n2);
}

/*
 * tails.c - tails of gamma and normal distributions, and the exact test of two
 * counts; see internal.h
 *
 * Given c1 + c2 = t, the hypergeometric probability of c2 = x is
 *     P(x) = C(n1, t - x) C(n2, x) / C(n1 + n2, t),
 *     P(x + 1) / P(x) = (t - x) (n2 - x) / ((x + 1) (n1 - t + x + 1))
 *
 * The ratios decrease away from the mean. A tail is therefore its first term,
 * computed by log-gammas, times a sum of products of ratios that converges
 * within about ten standard deviations.
 */
#include "drift/internal.h"

/* Maximum number of terms in a series, so that it ends. */
#define MAX_TERMS	20000

/*
 * Ratio of a term to the sum at which a series ends. It is below the rounding
 * error of a double.
 */
#define NEGLIGIBLE	1e-17

/*
 * Shape parameter above which the cube root of a gamma variable is taken as
 * normal, with an error of 1e-6. The series would have too many terms there.
 */
#define LARGE_SHAPE	1e5

/* Change of a normal quantile at which Newton's steps end. */
#define QUANTILE_STEP	1e-9

static double
log_gamma(double a)
{
	int			sign;

	return lgamma_r(a, &sign);
}

double
fc_gamma_upper(double a, double x)
{
	double		front;

	if (!(x > 0))
		return 1.0;
	if (a > LARGE_SHAPE)
		return 0.5 * erfc((cbrt(x / a) - 1.0 + 1.0 / (9.0 * a)) * 3.0 *
						  sqrt(a) / M_SQRT2);
	front = exp(a * log(x) - x - log_gamma(a));
	if (x < a + 1.0)
	{							/* series of the lower tail */
		double		term = 1.0 / a;
		double		sum = term;

		for (int n = 1; n < MAX_TERMS && term > NEGLIGIBLE * sum; n++)
		{
			term *= x / (a + n);
			sum += term;
		}
		return fmax(0.0, 1.0 - front * sum);
	}
	{							/* continued fraction, by Lentz's method */
		double		b = x + 1.0 - a;
		double		c = 1e300;
		double		d = 1.0 / b;
		double		h = d;

		for (int n = 1; n < MAX_TERMS; n++)
		{
			double		an = -(double) n * (n - a);
			double		delta;

			b += 2.0;
			d = an * d + b;
			d = 1.0 / (fabs(d) < 1e-300 ? 1e-300 : d);
			c = b + an / c;
			c = fabs(c) < 1e-300 ? 1e-300 : c;
			delta = d * c;
			h *= delta;
			if (fabs(delta - 1.0) < 1e-16)
				break;
		}
		return fmin(1.0, front * h);
	}
}

/* ---- two counts ---- */

static double
log_factorial(double n)
{
	return log_gamma(n + 1.0);
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

	if (c2 * n1 < c1 * n2)		/* c2 is below its mean, and its lower tail is
								 * the upper tail of c1 */
		return fc_hypergeometric_log_p(c2, n2, c1, n1);
	for (double x = c2; x < fmin(t, n2) && term > NEGLIGIBLE * sum; x++)
	{
		term *= (t - x) / (x + 1.0) * ((n2 - x) / (n1 - t + x + 1.0));
		sum += term;
	}
	return fmin(0.0, M_LN2 + log_choose(n1, c1) + log_choose(n2, c2) -
				log_choose(n1 + n2, t) + log(sum));
}

/* Returns c log(c / n) + (n - c) log(1 - c / n). */
static double
log_likelihood(double c, double n)
{
	return (c > 0 ? c * log(c / n) : 0.0) +
		(c < n ? (n - c) * log((n - c) / n) : 0.0);
}

double
fc_two_counts_deviance(double c1, double n1, double c2, double n2)
{
	return log_likelihood(c1, n1) + log_likelihood(c2, n2) -
		log_likelihood(c1 + c2, n1 + n2);
}

double
fc_normal_log_p(double z)
{
	return z < 30.0 ? log(erfc(z / M_SQRT2))
		: -0.5 * z * z - log(z * sqrt(M_PI / 2.0));
}

double
fc_normal_quantile(double p)
{
	/*
	 * -z approaches the quantile of the lower tail from above, because the
	 * distribution function is convex there.
	 */
	double		tail = fmin(p, 1.0 - p);
	double		z = 0;
	double		step;

	do
	{
		step = (0.5 * erfc(z / M_SQRT2) - tail) * sqrt(2.0 * M_PI) * exp(0.5 * z * z);
		z += step;
	} while (step > QUANTILE_STEP);
	return p < 0.5 ? -z : z;
}

double
fc_student_square(double square, double freedom)
{
	double		factor = (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0);

	return isinf(freedom) ? square
		: factor * factor * freedom * log1p(square / freedom);
}

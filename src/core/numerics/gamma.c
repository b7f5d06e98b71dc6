/* gamma.c - the upper tail of gamma laws; see gamma.h */
#include "numerics/gamma.h"

#include <math.h>

#define MOST_TERMS	20000
#define LARGE_SHAPE	1e5			/* beyond, the cube root of a gamma variable is normal to 1e-6 */

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
		return 0.5 * erfc((cbrt(x / a) - 1.0 + 1.0 / (9.0 * a)) * 3.0 * sqrt(a) / M_SQRT2);
	front = exp(a * log(x) - x - log_gamma(a));
	if (x < a + 1.0)
	{							/* series of the lower function */
		double		term = 1.0 / a;
		double		sum = term;

		for (int n = 1; n < MOST_TERMS && term > 1e-17 * sum; n++)
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

		for (int n = 1; n < MOST_TERMS; n++)
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

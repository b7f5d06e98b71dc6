/* facts.c - facts of columns; see facts.h */
#include "encode/facts.h"

#include <math.h>
#include <stdlib.h>

static int
by_value(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

fc_column_facts
fc_facts_of_column(const double *x, size_t n, size_t d, size_t j, double *sorted)
{
	fc_column_facts facts = {0};
	double		mean = 0;
	double		moment[2] = {0};
	double		squares[2] = {0};	/* about the median, of far rows and of all */
	double		below = 0;
	double		median;
	double		far;

	for (size_t r = 0; r < n; r++)
	{
		sorted[r] = x[r * d + j];
		mean += sorted[r] / (double) n;
	}
	qsort(sorted, n, sizeof(double), by_value);
	median = sorted[n / 2];
	far = FC_FAR / 1.349 * (sorted[3 * n / 4] - sorted[n / 4]);
	for (size_t r = 0; r < n; r++)
	{
		double		gap = sorted[r] - mean;
		double		square = (sorted[r] - median) * (sorted[r] - median);

		moment[0] += gap * gap / (double) n;
		moment[1] += gap * gap * gap / (double) n;
		facts.unique += (r == 0 || sorted[r - 1] < sorted[r]) && (r + 1 == n || sorted[r] < sorted[r + 1]);
		squares[1] += square;
		if (far > 0 && square > far * far)
		{
			facts.far += 1;
			squares[0] += square;
			below += sorted[r] < median;
		}
	}
	facts.skew = moment[0] > 0 ? moment[1] / pow(moment[0], 1.5) : 0;
	facts.unique /= (double) n;
	facts.far_squares = facts.far > 0 ? squares[0] / squares[1] : 0;
	facts.far_below = facts.far > 0 ? below / facts.far : 0;
	facts.far /= (double) n;
	return facts;
}

double
fc_correlation(const double *x, size_t n, size_t d, size_t i, size_t j)
{
	double		mean[2] = {0};
	double		sum[3] = {0};

	for (size_t r = 0; r < n; r++)
	{
		mean[0] += x[r * d + i] / (double) n;
		mean[1] += x[r * d + j] / (double) n;
	}
	for (size_t r = 0; r < n; r++)
	{
		double		a = x[r * d + i] - mean[0];
		double		b = x[r * d + j] - mean[1];

		sum[0] += a * a;
		sum[1] += b * b;
		sum[2] += a * b;
	}
	return sum[0] > 0 && sum[1] > 0 ? sum[2] / sqrt(sum[0] * sum[1]) : 0;
}

/* facts.h - facts of a column of numbers that a careful reader would see before clustering it */
#ifndef FC_ENCODE_FACTS_H
#define FC_ENCODE_FACTS_H

#include <stddef.h>

#define FC_FAR	20.0			/* robust deviations, IQR / 1.349, from the median: 0.1 % of a lognormal column of sigma 1 are farther */

typedef struct fc_column_facts
{
	double		skew;			/* third standardised moment; 0 of a constant column */
	double		unique;			/* share of the rows whose value no other row has */
	double		far;			/* share of the rows that are far; 0 where the quartiles are equal */
	double		far_squares;	/* their part of the sum of squares about the median */
	double		far_below;		/* the part of them below the median */
} fc_column_facts;

/* Column j of x (n x d); sorted is room for n. */
fc_column_facts fc_facts_of_column(const double *x, size_t n, size_t d, size_t j, double *sorted);

/* Of columns i and j; 0 where one is constant. */
double		fc_correlation(const double *x, size_t n, size_t d, size_t i, size_t j);

#endif							/* FC_ENCODE_FACTS_H */

/*
 * box.c - the box that centers may move in, and where random starts fall.
 *
 * The box is that of the rows, or mean +- 6 deviations when their bounds are not known.
 * A handful of rows far out would make it so large that noise alone has high peaks in it,
 * and any of them fits better than nothing.  With sample centroids (centroids of a sample) in
 * c_l +- A_l, a dimension whose farthest row lies D_l away is cut to c_l +- 2 A_l when
 *
 *     D_l > 10 A_l,   s_l^2 / D_l^2 < 1 / (5 k)   and   |mean_l - c_l| < s_l / 2
 *
 * s_l^2 <= (share of the far rows) D_l^2, so these rows may be fewer than a fifth of an average
 * cluster: outliers.  A cluster of more rows keeps its place however far it is.  A share w at
 * D_l moves the mean by w D_l, far less than s_l = w^(1/2) D_l; rows that have all moved do not.
 */
#include "decode/internal.h"

#include <math.h>

#define BOX_DEVIATIONS 6.0		/* half a box when its bounds are not known */
#define SAMPLE_CENTROID_MARGIN 4.0	/* sigma, around the sample centroids */
#define FAR_OUT_HALF_WIDTHS 10.0
#define CUT_HALF_WIDTHS 2.0
#define MOVED_DEVIATIONS 0.5	/* deviations */
#define OUTLIER_SHARE 0.2		/* of an average cluster */

/* The interval of the sample centroids along dimension l, in the problem's coordinates. */
static void
sample_centroid_interval(const fc_problem *p, size_t l, double *center, double *half)
{
	double		least = INFINITY;
	double		most = -INFINITY;

	for (size_t i = 0; i < p->sample_centroid_count; i++)
	{
		double		value = (double) p->sample_centroids[i * p->n + l];

		least = value < least ? value : least;	/* gcc 12.2 for ARM fails on fmin and fmax here */
		most = value > most ? value : most;
	}
	*center = 0.5 * (least + most);
	*half = 0.5 * (most - least) + SAMPLE_CENTROID_MARGIN;
}

/* Cut the box of dimension l (in u) if outliers stretch it. */
static void
cut_outliers(fc_decoding *d, size_t l)
{
	const fc_problem *p = d->problem;
	double		center;
	double		half;
	double		farthest;

	sample_centroid_interval(p, l, &center, &half);
	center = (center - p->mean[l]) / d->unit;
	half /= d->unit;
	farthest = fmax(d->upper[l] - center, center - d->lower[l]);
	if (!(farthest > FAR_OUT_HALF_WIDTHS * half) || !(fabs(center) < MOVED_DEVIATIONS * d->stddev[l]) ||
		!(d->stddev[l] * d->stddev[l] < OUTLIER_SHARE / (double) d->k * farthest * farthest))
		return;
	d->lower[l] = fmax(d->lower[l], center - CUT_HALF_WIDTHS * half);
	d->upper[l] = fmin(d->upper[l], center + CUT_HALF_WIDTHS * half);
	d->upper[l] = fmax(d->upper[l], d->lower[l]);
	d->middle[l] = fc_clip(center, d->lower[l], d->upper[l]);
	d->stddev[l] = fmin(d->stddev[l], half);
	d->cut = true;
}

void
fc_set_box(fc_decoding *d)
{
	const fc_problem *p = d->problem;

	for (size_t l = 0; l < d->n; l++)
	{
		double		half = BOX_DEVIATIONS * p->stddev[l];
		double		lower = isfinite(p->lower[l]) ? p->lower[l] - p->mean[l] : -half;
		double		upper = isfinite(p->upper[l]) ? p->upper[l] - p->mean[l] : half;

		d->lower[l] = lower / d->unit;
		d->upper[l] = fmax(upper, lower) / d->unit;
		d->middle[l] = 0.0;
		d->stddev[l] = p->stddev[l] / d->unit;
		if (d->sample_centroids > 0)
			cut_outliers(d, l);
	}
}

/*
 * setup.c - converts a problem to the decoder's own coordinates.
 *
 *     u = (y - mean) / h,   h^2 = n / mean_j |omega_j|^2
 *     z_j exp(-i omega_j . mean)          the moments in these coordinates
 *     J0 = mean_j (1 - |z_j|^2) / rows    the noise floor: the expected cost
 *                                         due to sampling noise alone
 */
#include "decode/internal.h"

/*
 * Minimum of the noise floor J0. Moments are exact to about 3e-7, and this is
 * about the square of that error.
 */
#define SMALLEST_FLOOR	1e-13

/*
 * Distance outside the box of the atoms' centers, in bandwidths, up to which a
 * sample row counts as inside, because sample rows are rounded to floats.
 */
#define BOX_MARGIN	1e-3

/*
 * Minimum ratio of the sketch's density at the sample centroids to the
 * expected density. Below it, the distribution has moved since the sample was
 * taken. A larger ratio discards good centroids, a smaller one starts from
 * outdated ones. A guess.
 */
#define STAYED_DENSITY_SHARE	0.35

/*
 * Variance of a cluster in units of sigma^2: 1 / 1.2^2, because sigma is 1.2
 * standard deviations of a cluster.
 */
#define WITHIN_VARIANCE	0.69

/*
 * Half width of the box of the atoms' centers if the bounds of the rows are
 * unknown, in standard deviations of the rows. A larger one reaches farther
 * clusters, but the starts in the box are sparser. A guess.
 */
#define BOX_DEVIATIONS	6.0

/*
 * Margin around the interval that the sample centroids span in a dimension,
 * in sigmas, within which the rows of their clusters are expected. A guess.
 */
#define SAMPLE_CENTROID_MARGIN	4.0

/*
 * Minimum distance of a bound of the box at which the bound may be due to
 * outliers. The distance is measured from the center of the interval that the
 * sample centroids span, in half widths of this interval (D_l / A_l below). A
 * guess.
 */
#define FAR_OUT_HALF_WIDTHS	10.0

/*
 * Half width of a box that was cut because of outliers, in half widths A_l of
 * the interval of the sample centroids. A guess.
 */
#define CUT_HALF_WIDTHS	2.0

/*
 * Maximum distance between the mean of the rows and the center of the sample
 * centroids at which the box is cut, in standard deviations of the rows. At a
 * greater distance, all rows may have moved. A guess.
 */
#define MOVED_DEVIATIONS	0.5

/*
 * Maximum number of outliers, as a share of the rows of an average cluster.
 * More rows may be a cluster, so the box is then not cut. A guess.
 */
#define OUTLIER_SHARE	0.2

/*
 * Sets the bandwidth h, the frequencies in half-turns per unit of u, and the
 * moments with the mean as origin.
 */
static void
set_frequencies(fc_decoding *d)
{
	const fc_problem *p = d->problem;
	size_t		coordinates = d->m * d->n;
	double		squares = 0.0;

	for (size_t i = 0; i < coordinates; i++)
		squares += (double) p->omega[i] * (double) p->omega[i];
	d->unit = squares > 0.0 ? sqrt((double) coordinates / squares) : 1.0;
	for (size_t j = 0; j < d->m; j++)
	{
		const float *omega = p->omega + j * d->n;
		double		norm = 0.0;
		double		angle = 0.0;

		fc_check();
		for (size_t l = 0; l < d->n; l++)
		{
			double		radians = (double) omega[l] * d->unit;

			d->omega[j * d->n + l] = radians / FC_PI;
			d->omega_float[j * d->n + l] = (float) (radians / FC_PI);
			norm += radians * radians;
			angle += (double) omega[l] * p->mean[l];
		}
		d->half_norm[j] = norm / 2.0;
		d->z_re[j] = p->z_re[j] * cos(angle) + p->z_im[j] * sin(angle);
		d->z_im[j] = p->z_im[j] * cos(angle) - p->z_re[j] * sin(angle);
	}
}

/*
 * Returns true if the point u is in the box or within BOX_MARGIN of it. A
 * sample row outside is an outlier, or is not among the rows of the sketch.
 */
static bool
inside_box(const fc_decoding *d, const double *u)
{
	for (size_t l = 0; l < d->n; l++)
		if (!(u[l] >= d->lower[l] - BOX_MARGIN &&
			  u[l] <= d->upper[l] + BOX_MARGIN))
			return false;
	return true;
}

/*
 * Converts the sample centroids to coordinates u. Does the same with the
 * sample rows that have a positive weight and are in the box, drops the
 * others, and scales the remaining weights to mean 1.
 */
static void
set_rows(fc_decoding *d)
{
	const fc_problem *p = d->problem;
	size_t		given = d->rows;
	double		total = 0.0;

	for (size_t i = 0; i < d->sample_centroids * d->n; i++)
	{
		double		y = (i < d->initial * d->n
						 ? p->initial[i]
						 : (double) p->sample_centroids[i - d->initial * d->n]);

		d->sample_centroid[i] = (y - p->mean[i % d->n]) / d->unit;
	}
	d->rows = 0;
	for (size_t i = 0; i < given; i++)
	{
		double		weight = p->sample_weight != NULL ? p->sample_weight[i] : 1.0;

		fc_check();
		if (!(weight > 0.0))
			continue;
		for (size_t l = 0; l < d->n; l++)
			d->row[d->rows * d->n + l] = ((double) p->sample[i * d->n + l] -
										  p->mean[l]) /
				d->unit;
		if (!inside_box(d, d->row + d->rows * d->n))
			continue;
		d->row_weight[d->rows++] = weight;
		total += weight;
	}
	for (size_t i = 0; i < d->rows; i++)
		d->row_weight[i] *= (double) d->rows / total;
}

/* Returns mean_j exp(-variance |omega_j|^2 / 2). */
static double
mean_envelope(fc_decoding *d, double variance)
{
	double		mean = 0.0;

	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);

		fc_check();
		fc_envelope_double(width, variance, d->half_norm + first,
						   d->shift.envelope);
		for (size_t j = 0; j < width; j++)
			mean += d->shift.envelope[j] / (double) d->m;
	}
	return mean;
}

/*
 * Discards the sample centroids and sample rows if the distribution has moved
 * since the sample was taken.
 *
 * The test is the sum of the sketch's density f_z(c_i) over the first sample
 * centroids c_i, one per cluster. If the distribution has moved, the sum is
 * only noise. Otherwise it is about mean_j exp(-v |omega_j|^2 / 2), where v
 * is the variance within a cluster, or more if clusters overlap.
 */
static void
check_sample_centroids(fc_decoding *d)
{
	size_t		count = (d->sample_centroids - d->initial < d->problem->clusters
						 ? d->sample_centroids - d->initial
						 : d->problem->clusters);
	double	   *rhs = d->select.rhs;
	double		seen = 0.0;

	if (count == 0)
		return;
	fc_gram(d, d->sample_centroid + d->initial * d->n, NULL, count,
			d->select.cosine, d->select.sine, d->select.gram, rhs);
	for (size_t i = 0; i < count; i++)
		seen += rhs[i];
	d->moved = seen <
		STAYED_DENSITY_SHARE *
		mean_envelope(d, WITHIN_VARIANCE / (d->unit * d->unit));
	if (d->moved)
	{
		d->sample_centroids = d->initial;
		d->rows = 0;
	}
}

/*
 * The box bounds the centers of atoms, and random starts are drawn in it.
 *
 * The box is the rows' bounding box, or mean +- 6 deviations if their bounds
 * are unknown. A few distant rows would make it so large that noise alone has
 * high peaks in it, and an atom at such a peak would lower the cost. Each
 * dimension l is therefore checked for outliers:
 *     c_l +- A_l     interval that the sample centroids span, with a margin
 *     D_l            distance from c_l to the farther bound of the box
 *     mean_l, s_l    mean and standard deviation of the rows
 * The box is cut to c_l +- 2 A_l when
 *
 *     D_l > 10 A_l,  s_l^2 / D_l^2 < 1 / (5 k)  and  |mean_l - c_l| < s_l / 2
 *
 * A share w of the rows at distance D_l adds about w D_l^2 to the variance
 * s_l^2. The second condition therefore limits w to a fifth of an average
 * cluster. Fewer rows are outliers; a cluster with more rows remains in the
 * box at any distance. Outliers move the mean by w D_l, far less than s_l =
 * w^(1/2) D_l. The third condition fails if all rows have moved.
 */

/*
 * Computes the center and half width of the interval that the sample
 * centroids span in dimension l, including SAMPLE_CENTROID_MARGIN, in units
 * of sigma.
 */
static void
sample_centroid_interval(const fc_problem *p, size_t l, double *center,
						 double *half)
{
	double		min = INFINITY;
	double		max = -INFINITY;

	for (size_t i = 0; i < p->sample_centroid_count; i++)
	{
		double		value = (double) p->sample_centroids[i * p->n + l];

		min = value < min ? value : min;	/* gcc 12.2 for ARM fails on fmin
											 * and fmax here */
		max = value > max ? value : max;
	}
	*center = 0.5 * (min + max);
	*half = 0.5 * (max - min) + SAMPLE_CENTROID_MARGIN;
}

/*
 * Cuts dimension l of the box (in u), and the distribution of random starts,
 * if outliers stretch the box.
 */
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
	if (!(farthest > FAR_OUT_HALF_WIDTHS * half) ||
		!(fabs(center) < MOVED_DEVIATIONS * d->stddev[l]) ||
		!(d->stddev[l] * d->stddev[l] <
		  OUTLIER_SHARE / (double) d->k * farthest * farthest))
		return;
	d->lower[l] = fmax(d->lower[l], center - CUT_HALF_WIDTHS * half);
	d->upper[l] = fmin(d->upper[l], center + CUT_HALF_WIDTHS * half);
	d->upper[l] = fmax(d->upper[l], d->lower[l]);
	d->middle[l] = fc_clip(center, d->lower[l], d->upper[l]);
	d->stddev[l] = fmin(d->stddev[l], half);
	d->cut = true;
}

static void
set_box(fc_decoding *d)
{
	const fc_problem *p = d->problem;

	for (size_t l = 0; l < d->n; l++)
	{
		double		half = BOX_DEVIATIONS * p->stddev[l];
		double		lower = (isfinite(p->lower[l]) ? p->lower[l] - p->mean[l]
							 : -half);
		double		upper = (isfinite(p->upper[l]) ? p->upper[l] - p->mean[l]
							 : half);

		d->lower[l] = lower / d->unit;
		d->upper[l] = fmax(upper, lower) / d->unit;
		d->middle[l] = 0.0;
		d->stddev[l] = p->stddev[l] / d->unit;
		if (d->sample_centroids > 0)
			cut_outliers(d, l);
	}
}

void
fc_set_up(fc_decoding *d)
{
	double		noise;

	set_frequencies(d);

	/*
	 * Compute the energy, the noise floor and the number of informative
	 * moments.
	 */
	noise = 0.0;
	for (size_t j = 0; j < d->m; j++)
	{
		double		square = d->z_re[j] * d->z_re[j] + d->z_im[j] * d->z_im[j];

		d->energy += square / (double) d->m;
		noise += fmax(1.0 - square, 0.0) / (double) d->m;
		d->informative += square > 4.0 / d->problem->rows;
	}
	d->floor = fmax(noise / d->problem->rows, SMALLEST_FLOOR);
	set_box(d);
	set_rows(d);
	check_sample_centroids(d);
}

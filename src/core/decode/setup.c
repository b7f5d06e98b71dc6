/*
 * setup.c - a problem in the decoder's own coordinates.
 *
 *     u = (y - mean) / h,   h^2 = n / mean_j |omega_j|^2,   z_j exp(-i omega_j . mean)
 *     J0 = mean_j (1 - |z_j|^2) / rows                        the cost that noise alone explains
 */
#include "decode/internal.h"

#include <math.h>

#include "numerics/sincos.h"

#define SMALLEST_FLOOR 1e-13	/* moments are exact to about 3e-7 */
#define BOX_MARGIN 1e-3			/* bandwidths: pilot rows are rounded */
#define STAYED_DENSITY_SHARE 0.35	/* share of the density that sample centroids must still see */
#define WITHIN_VARIANCE 0.69	/* variance of a cluster in sigmas: sigma is 1.2 deviations */

/* h, omega in half-turns per h, and the moments rotated to the mean. */
void
fc_set_frequencies(fc_decoding *d)
{
	const fc_problem *p = d->problem;
	size_t		coordinates = d->m * d->n;
	double		squares = 0.0;

	for (size_t i = 0; i < coordinates; i++)
	{
		if (i % FC_CHECKED_MOMENTS == 0)
			fc_check();
		squares += (double) p->omega[i] * (double) p->omega[i];
	}
	d->unit = squares > 0.0 ? sqrt((double) coordinates / squares) : 1.0;
	for (size_t j = 0; j < d->m; j++)
	{
		const float *omega = p->omega + j * d->n;
		double		norm = 0.0;
		double		angle = 0.0;

		if (j % FC_FREQUENCY_BLOCK == 0)
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

/* Energy, noise floor, number of moments above their noise. */
void
fc_measure_moments(fc_decoding *d)
{
	double		noise = 0.0;

	for (size_t j = 0; j < d->m; j++)
	{
		double		square = d->z_re[j] * d->z_re[j] + d->z_im[j] * d->z_im[j];

		if (j % FC_CHECKED_MOMENTS == 0)
			fc_check();
		d->energy += square / (double) d->m;
		noise += fmax(1.0 - square, 0.0) / (double) d->m;
		d->informative += square > 4.0 / d->problem->rows;
	}
	d->floor = fmax(noise / d->problem->rows, SMALLEST_FLOOR);
}

/* Is a point in the box?  A pilot row outside is none of the sketch's, or an outlier. */
static bool
inside_box(const fc_decoding *d, const double *u)
{
	for (size_t l = 0; l < d->n; l++)
		if (!(u[l] >= d->lower[l] - BOX_MARGIN && u[l] <= d->upper[l] + BOX_MARGIN))
			return false;
	return true;
}

/* Sample centroids, and pilot rows of positive weight in the box, in u; the rows' weights scaled to mean 1. */
void
fc_set_rows(fc_decoding *d)
{
	const fc_problem *p = d->problem;
	size_t		given = d->rows;
	double		total = 0.0;
	size_t		done = 0;

	for (size_t i = 0; i < d->sample_centroids * d->n; i++)
	{
		double		y = i < d->initial * d->n ? p->initial[i] : (double) p->sample_centroids[i - d->initial * d->n];

		d->sample_centroid[i] = (y - p->mean[i % d->n]) / d->unit;
	}
	d->rows = 0;
	for (size_t i = 0; i < given; i++)
	{
		double		weight = p->pilot_weight != NULL ? p->pilot_weight[i] : 1.0;

		fc_check_every(&done, d->n);
		if (!(weight > 0.0))
			continue;
		for (size_t l = 0; l < d->n; l++)
			d->row[d->rows * d->n + l] = ((double) p->pilot[i * d->n + l] - p->mean[l]) / d->unit;
		if (!inside_box(d, d->row + d->rows * d->n))
			continue;
		d->row_weight[d->rows++] = weight;
		total += weight;
	}
	for (size_t i = 0; i < d->rows; i++)
		d->row_weight[i] *= (double) d->rows / total;
}

/* mean_j exp(-v |omega_j|^2 / 2) */
static void
mean_envelope(fc_decoding *d, double variance, double *mean)
{
	*mean = 0.0;
	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);

		fc_check();
		fc_envelope_double(width, variance, d->half_norm + first, d->shift.envelope);
		for (size_t j = 0; j < width; j++)
			*mean += d->shift.envelope[j] / (double) d->m;
	}
}

/*
 * Have the rows moved away from where the sample centroids (those of the sample's k clusters) are?
 * sum_i f_z(c_i) is then noise; of clusters that stayed it is the mean of the envelope of a
 * cluster, more where they overlap.  Sample centroids and pilot rows are of no use then.
 */
fc_status
fc_check_sample_centroids(fc_decoding *d)
{
	size_t		count = d->sample_centroids - d->initial < d->problem->clusters ? d->sample_centroids - d->initial : d->problem->clusters;
	double	   *rhs = d->select.rhs;
	double		seen = 0.0;
	double		expected = 0.0;
	fc_status	status;

	if (count == 0)
		return FC_OK;
	status = fc_gram(d, d->sample_centroid + d->initial * d->n, NULL, count, d->select.cosine, d->select.sine, d->select.gram, rhs);
	if (status == FC_OK)
		mean_envelope(d, WITHIN_VARIANCE / (d->unit * d->unit), &expected);
	for (size_t i = 0; i < count; i++)
		seen += rhs[i];
	d->moved = status == FC_OK && seen < STAYED_DENSITY_SHARE * expected;
	if (d->moved)
	{
		d->sample_centroids = d->initial;
		d->rows = 0;
	}
	return status;
}

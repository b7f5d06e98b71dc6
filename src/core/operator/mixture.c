/*
 * mixture.c - the clusters of an operator as spherical Gaussians; see
 * mixture.h
 */
#include "operator/mixture.h"

#include "base/rng.h"
#include "operator/partial.h"

double
fc_common_square(const double *weights, const double *spreads, size_t k)
{
	double		weight = 0.0;
	double		square = 0.0;

	for (size_t j = 0; j < k; j++)
	{
		weight += weights[j];
		square += weights[j] * spreads[j] * spreads[j];
	}
	return weight > 0.0 ? square / weight : 0.0;
}

double
fc_relative_distance(const fc_operator *op, size_t j, double weight, double spread,
					 double common, double square)
{
	double		root = sqrt(common);
	double		raised = fmax(spread, FC_MIN_SPREAD * root);
	double		scale = ((weight * raised + FC_COMMON_ROWS * root) * raised /
						 (weight + FC_COMMON_ROWS));
	double		rounding = fc_operator_centroid_rounding(op, j);

	if (!(square > rounding * rounding))
		return 0.0;
	return scale > 0.0 ? sqrt(square / ((double) op->d * scale)) : INFINITY;
}

/*
 * Replaces the squared distance of each of the nearest clusters by the weight
 * of the cluster, and all other distances by 0.
 */
static void
weigh_nearest(const fc_operator *op, double *p)
{
	double		min = INFINITY;

	for (size_t j = 0; j < op->k; j++)
		if (op->weights[j] > 0.0)
			min = fmin(min, p[j]);
	for (size_t j = 0; j < op->k; j++)
		p[j] = p[j] <= min ? op->weights[j] : 0.0;
}

/*
 * Replaces squared distances of a row with d observed values by weights times
 * densities, scaled to a maximum of 1.
 */
static void
weigh_densities(const fc_operator *op, const double *spreads, double min,
				size_t d, double *p)
{
	double		max = -INFINITY;

	for (size_t j = 0; j < op->k; j++)
	{
		double		s = fmax(spreads[j], min);

		p[j] = log(op->weights[j]) - (double) d * log(s) -
			p[j] / s / s / 2.0;
		max = fmax(max, p[j]);
	}
	for (size_t j = 0; j < op->k; j++)
		p[j] = max > -INFINITY ? exp(p[j] - max) : 0.0;
}

void
fc_operator_responsibilities(const fc_operator *op, const double *spreads,
							 const double *x, fc_scratch scratch, double *p)
{
	/* minimum standard deviation; 0 if all spreads are 0 */
	double		min = FC_MIN_SPREAD * sqrt(fc_common_square(op->weights, spreads, op->k));
	double		sum = 0.0;
	size_t		observed = fc_partial_observed(x, op->d);

	/* squared distances ||x - c_j||^2 over the observed values */
	for (size_t j = 0; j < op->k; j++)
	{
		fc_check();
		p[j] = observed < op->d
			? fc_partial_distance(op, j, x)
			: fc_operator_distance(op, j, x, scratch);
	}
	if (min > 0.0)
		weigh_densities(op, spreads, min, observed, p);
	else
		weigh_nearest(op, p);
	for (size_t j = 0; j < op->k; j++)
		sum += p[j];
	for (size_t j = 0; j < op->k; j++)
		p[j] = sum > 0.0 ? p[j] / sum : 1.0 / (double) op->k;
}

/* ---- random rows ---- */

/* Returns the first cluster with a cumulative weight above `share`. */
static size_t
cluster_at(const double *shares, size_t k, double share)
{
	size_t		low = 0;
	size_t		high = k - 1;

	while (low < high)
	{
		size_t		middle = low + (high - low) / 2;

		if (shares[middle] > share)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

fc_status
fc_operator_draw(const fc_operator *op, const double *spreads, uint64_t seed,
				 size_t count, fc_scratch scratch, double *shares, double *rows)
{
	fc_rng		rng = fc_rng_start(seed, 0);
	double		total = 0;

	for (size_t j = 0; j < op->k; j++)
		shares[j] = total += op->weights[j];
	if (!(total > 0))
		return FC_EWEIGHT;
	for (size_t i = 0; i < count; i++)
	{
		double	   *row = rows + i * op->d;
		size_t		j = cluster_at(shares, op->k, total * fc_rng_uniform(&rng));

		fc_check();
		fc_operator_row(op, j, scratch, row);
		for (size_t c = 0; c < op->d; c++)
			row[c] += spreads[j] * fc_rng_normal(&rng);
	}
	return FC_OK;
}

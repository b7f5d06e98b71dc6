/* draw.c - rows drawn from the clusters of an operator; see draw.h */
#include "operator/draw.h"

#include "base/rng.h"

/* The first cluster whose weight and that of those before it come to more than `share` of all. */
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
fc_operator_draw(const fc_operator *op, const double *spreads, uint64_t seed, size_t count,
				 fc_scratch scratch, double *shares, double *rows)
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

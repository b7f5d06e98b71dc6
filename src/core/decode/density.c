/*
 * density.c - k-means on points that represent the fitted mixture.
 *
 * The centroids that minimise the SSE are not the centers of the atoms but
 * the k-means solution of the density of the mixture. The density is
 * therefore represented by points around each atom. The points are antithetic
 * pairs c + tau e and c - tau e, where c is the center of the atom and e a
 * normal vector. tau scales them so that their mean and variance equal the
 * mean and variance of the atom. The weight alpha_i of an atom is divided
 * equally among its points. Weighted k-means runs on all points; the centers
 * of the k-atom mixture (skeleton) are one of its starts.
 *
 * Cost: points x k x n per Lloyd step.
 */
#include "decode/internal.h"

#include "base/blas.h"
#include "kmeans/kmeans.h"
#include "numerics/dense.h"
#include "numerics/rows.h"

/*
 * Number of points that represent the mixture. With fewer points, k-means is
 * faster, and its SSE is higher (bench/tuned.py).
 */
#define DENSITY_POINTS	3000

/*
 * Maximum number of sample rows that are reweighted to match the sketch. With
 * more rows, the SSE is lower; time and memory grow with the square of the
 * number. A guess.
 */
#define SAMPLE_ROWS	((size_t) 1000)

/*
 * Minimum number of pairs of points that represent an atom of positive
 * variance. A guess.
 */
#define MIN_PAIRS	4

/*
 * Number of starts of k-means on the points. More starts rarely lower the
 * SSE, but the time grows in proportion. A guess.
 */
#define KMEANS_STARTS	12

/* Relative fall of the SSE below which Lloyd's steps end. A guess. */
#define KMEANS_TOLERANCE	1e-4

/*
 * Factor lambda of the penalty on the squared weights of sample rows, in the
 * problem below. A larger one keeps the weights nearer to 0 and the moments
 * farther from the sketch. Halving or doubling it changes nothing
 * (bench/tuned.py).
 */
#define ROW_PENALTY	1e-4

/*
 * Factor of the penalty on the squared weights of atoms, which only keeps the
 * system regular. A guess.
 */
#define ATOM_PENALTY	1e-9

/*
 * Maximum number of sample rows that are reweighted if two conditions hold:
 * the cost of the atoms is at the noise floor, and the table has more than
 * MIN_TABLE_RATIO * SAMPLE_ROWS rows. A smaller number is faster. A guess.
 */
#define CERTIFIED_ROWS	((size_t) 256)

/*
 * Ratio of the table's rows to SAMPLE_ROWS above which CERTIFIED_ROWS may
 * apply. A larger one uses SAMPLE_ROWS rows for larger tables too, in more
 * time. A guess.
 */
#define MIN_TABLE_RATIO	20.0

/*
 * Distance to the nearest atom beyond which a sample row is an outlier and
 * left out, in root mean square distances sqrt(n variance) of the atom. A
 * guess.
 */
#define FARTHEST_DEVIATIONS	20.0

void
fc_density_take(fc_decoding *d, fc_arena *arena)
{
	fc_points_work *w = &d->points;
	fc_reweight_work *r = &d->reweight;
	size_t		sample = smaller(d->rows, SAMPLE_ROWS);
	size_t		columns = sample == 0 ? 0 : sample + d->atoms;

	w->capacity = DENSITY_POINTS + 2 * (MIN_PAIRS + 1) * d->atoms + sample;
	w->x = FC_TAKE(arena, w->capacity * d->n, float);
	w->weight = FC_TAKE(arena, w->capacity, double);
	w->labels = FC_TAKE(arena, w->capacity, int32_t);
	w->centroids = FC_TAKE(arena, d->k * d->n, double);
	w->shares = FC_TAKE(arena, d->k, double);
	w->spreads = FC_TAKE(arena, d->k, double);
	r->capacity = sample;
	r->row = FC_TAKE(arena, r->capacity, size_t);
	r->center = FC_TAKE(arena, columns * d->n, double);
	r->variance = FC_TAKE(arena, columns, double);
	r->penalty = FC_TAKE(arena, columns, double);
	r->rhs = FC_TAKE(arena, columns, double);
	r->weight = FC_TAKE(arena, columns, double);
	r->gram = FC_TAKE(arena, columns * columns, double);
	r->cosine = FC_TAKE(arena, columns * FC_FREQUENCY_BLOCK, double);
	r->sine = FC_TAKE(arena, columns * FC_FREQUENCY_BLOCK, double);
}

/*
 * Draws `pairs` antithetic pairs of points for one atom. Stores them in
 * points.x from row `first` on: one point of each pair, then the others.
 */
static void
draw_atom(fc_decoding *d, const double *center, double variance, size_t pairs,
		  size_t first)
{
	float	   *x = d->points.x + first * d->n;
	size_t		coordinates = pairs * d->n;
	double		squares = 0.0;
	double		scale;

	for (size_t i = 0; i < coordinates; i++)
	{
		double		e = fc_rng_normal(&d->rng);

		x[i] = (float) e;
		squares += e * e;
	}
	scale = sqrt(variance * (double) coordinates / fmax(squares, 1e-300));
	for (size_t i = 0; i < coordinates; i++)
	{
		double		shift = scale * (double) x[i];

		x[i] = (float) (center[i % d->n] + shift);
		x[coordinates + i] = (float) (center[i % d->n] - shift);
	}
}

/*
 * Fills points.x with points that represent the mixture. Their weights sum to
 * the total weight of the mixture. Returns the number of points.
 */
size_t
fc_density_points(fc_decoding *d, const fc_mixture *mixture)
{
	size_t		filled = 0;
	double		total = fc_weight_sum(mixture->weight, mixture->count);

	for (size_t i = 0; i < mixture->count; i++)
	{
		double		share = mixture->weight[i] / total;
		size_t		pairs = 1;

		if (!(share > 0.0))
			continue;
		if (mixture->variance[i] > 0.0)
			pairs = (size_t) fmax(ceil(share * DENSITY_POINTS / 2.0),
								  MIN_PAIRS);
		draw_atom(d, mixture->center + i * d->n, mixture->variance[i], pairs,
				  filled);
		for (size_t j = 0; j < 2 * pairs; j++)
			d->points.weight[filled + j] = mixture->weight[i] /
				(double) (2 * pairs);
		filled += 2 * pairs;
	}
	return filled;
}

/*
 * Sets spreads[c] to the root mean square deviation, per dimension, of the
 * points of cluster c from its centroid.
 */
static void
measure_spreads(fc_decoding *d, size_t count)
{
	fc_points_work *w = &d->points;

	memset(w->spreads, 0, d->k * sizeof(double));
	for (size_t i = 0; i < count; i++)
	{
		size_t		cluster = (size_t) w->labels[i];

		fc_check();
		w->spreads[cluster] += w->weight[i] *
			fc_row_distance(w->centroids + cluster * d->n,
							NULL, w->x + i * d->n, d->n);
	}
	for (size_t c = 0; c < d->k; c++)
		w->spreads[c] = w->shares[c] > 0.0
			? sqrt(w->spreads[c] /
				   (w->shares[c] * (double) d->n))
			: 0.0;
}

/*
 * Runs weighted k-means on the first `count` points. `initial` is the k x n
 * centroids of one of the starts, or NULL. Stores centroids, shares and
 * spreads in d->points.
 */
void
fc_cluster_points(fc_decoding *d, size_t count, const double *initial,
				  double margin, int iterations)
{
	fc_points_work *w = &d->points;
	fc_rows		rows = {.x = w->x,.weight = w->weight,.n = count,.d = d->n};
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {
		.centroids = w->centroids,
		.weights = w->shares,
		.labels = w->labels
	};

	options.n_init = KMEANS_STARTS;
	options.iterations = iterations;
	options.tolerance = KMEANS_TOLERANCE;
	options.margin = margin;
	options.seed = d->options.seed;
	fc_kmeans(&rows, d->k, initial, &options, d->arena, &result);
	measure_spreads(d, count);
}

/*
 * Sample rows are reweighted so that they match the sketch.
 *
 *     min over p >= 0 of  mean_j | z_j - sum_i p_i A_ij |^2
 *                         + lambda R sum_rows (p_i / w_i)^2
 *
 * i runs over the atoms of the mixture (with penalty ATOM_PENALTY) and over R
 * sample rows of multiplicity w_i (mean 1). A_ij are the moments of atom or
 * row i (atoms.c). This is a non-negative ridge regression. The rows show the
 * shapes of the clusters; the sketch shows the weights of the clusters in the
 * whole table. k-means then works on a sample calibrated to the whole table.
 *
 * Rows farther than FARTHEST_DEVIATIONS deviations from every atom are left
 * out. No other row is near such a row, so its weight would be the value of
 * the field f_r at the row, which is only noise of size sqrt(J0 / (2 m)).
 * Even with weights of this size, a handful of outliers would attract
 * centroids, because their squared distances are large. Heavy tails reach 10
 * to 20 deviations and must be kept, because they contribute to the SSE. With
 * 1 % of the rows at 50 times the spread, limits of 12 to 20 deviations work
 * equally well, and 40 does not.
 *
 * Cost: R^2 m for the Gram matrix, and a few Cholesky factorisations for the
 * columns of positive weight. Survey statistics calls this calibration:
 * Deville, Sarndal 1992.
 */

/*
 * Returns true if the row is within FARTHEST_DEVIATIONS deviations of some
 * atom.
 */
static bool
within_reach(const fc_decoding *d, const fc_mixture *mixture, const double *row)
{
	double		common = fc_mixture_variance(mixture);

	for (size_t i = 0; i < mixture->count; i++)
	{
		const double *center = mixture->center + i * d->n;
		double		reach = (FARTHEST_DEVIATIONS * FARTHEST_DEVIATIONS *
							 (double) d->n * fmax(mixture->variance[i], common));

		if (fc_square_between(row, center, d->n) <= reach)
			return true;
	}
	return false;
}

/*
 * Chooses up to `limit` random sample rows within reach of an atom. Sets up
 * the columns of the least-squares problem: first the atoms, then the chosen
 * rows. Returns the number of columns.
 */
static size_t
lay_out(fc_decoding *d, const fc_mixture *mixture, size_t limit)
{
	fc_reweight_work *w = &d->reweight;
	size_t		atoms = mixture->count;
	size_t		count = 0;

	memcpy(w->center, mixture->center, atoms * d->n * sizeof(double));
	for (size_t i = 0; i < d->rows; i++)
		d->permutation[i] = i;
	for (size_t index = 0;
		 index < d->rows && count < w->capacity && count < limit; index++)
	{
		size_t		chosen = fc_draw_row(d, index);
		const double *row = d->row + chosen * d->n;

		fc_check();
		if (!within_reach(d, mixture, row))
			continue;
		memcpy(w->center + (atoms + count) * d->n, row, d->n * sizeof(double));
		w->row[count++] = chosen;
	}
	for (size_t i = 0; i < atoms + count; i++)
	{
		double		multiplicity = (i < atoms ? 1.0
									: d->row_weight[w->row[i - atoms]]);

		w->variance[i] = i < atoms ? mixture->variance[i] : 0.0;
		w->penalty[i] = i < atoms ? ATOM_PENALTY
			: ROW_PENALTY * (double) count /
			(multiplicity * multiplicity);
	}
	return atoms + count;
}

/*
 * Fits the weights of the atoms and of sample rows to the sketch. Fills
 * d->points with points that represent the atoms at their new weights, then
 * with the sample rows of positive weight. Returns the number of points, or 0
 * if all weights are 0. `certified` means that the cost of the mixture is
 * already at the noise floor, so that few sample rows suffice.
 */
size_t
fc_reweighted_points(fc_decoding *d, const fc_mixture *mixture, bool certified)
{
	fc_reweight_work *w = &d->reweight;
	fc_mixture	reweighted = *mixture;
	bool		many = (d->problem->rows > MIN_TABLE_RATIO * (double) SAMPLE_ROWS);
	size_t		columns = lay_out(d, mixture,
								  certified && many ? CERTIFIED_ROWS : SAMPLE_ROWS);
	size_t		count;

	fc_gram(d, w->center, w->variance, columns, w->cosine, w->sine, w->gram,
			w->rhs);
	for (size_t i = 0; i < columns; i++)
		w->gram[i * columns + i] += w->penalty[i];
	fc_nnls(w->gram, w->rhs, columns, d->arena, w->weight);
	reweighted.weight = w->weight;
	count = fc_density_points(d, &reweighted);
	for (size_t i = mixture->count; i < columns; i++)
	{
		if (!(w->weight[i] > 0.0))
			continue;
		for (size_t l = 0; l < d->n; l++)
			d->points.x[count * d->n + l] = (float) w->center[i * d->n + l];
		d->points.weight[count++] = w->weight[i];
	}
	return count;
}

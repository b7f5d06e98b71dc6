/*
 * spec_of_sample.c - the fields of a spec from a sample of rows: center,
 * projection and scale.
 *
 *     s_w = sqrt(inertia / (n (W - k))),   sigma = 1.2 s_w
 *
 * s_w is the standard deviation within a cluster, per dimension. W is the
 * weight of the rows left after trimming, n the reduced dimension, k =
 * min(clusters, W / 5) but at least 2 if two clusters are requested. inertia
 * is the k-means objective of these rows, projected on their n leading
 * principal axes.
 *
 * If every row equals its centroid (k distinct rows or fewer), s_w = s
 * k^(-1/n), the spacing of k points that fill a volume of standard deviation
 * s. Here s is the standard deviation of the trimmed sample, or of all rows
 * if the former is 0. If both are 0, s_w = 1.
 *
 * Work in float is done on rows scaled by a power of 2 to magnitudes up to 1,
 * so that the result scales with the data from 1e-30 to 1e30. Cost: rows * d
 * (trim) + rows * d * n (axes) + k-means.
 */
#include "sketch/spec_of_sample.h"

#include "kmeans/kmeans.h"
#include "numerics/dense.h"
#include "numerics/principal.h"
#include "numerics/selection.h"

/* Number of rows in one matrix product with the axes. A guess. */
#define TILE_ROWS	64

/*
 * Share of the rows that are inliers, 0 to 1. A larger one lets outliers
 * stretch the scale, a smaller one cuts clusters. A guess.
 */
#define INLIER_FRACTION	0.95

/*
 * Number of starts of k-means on the sample. More starts rarely change the
 * scale; halving or doubling the number changes nothing (bench/tuned.py).
 */
#define KMEANS_STARTS	3

/*
 * Ratio of sigma to the standard deviation of a cluster. A larger one needs
 * fewer moments but blurs close clusters; a smaller one does the reverse.
 * Halving it, and doubling it, raises the SSE by almost 1 %
 * (bench/quality.py, bench/tuned.py).
 */
#define SIGMA_RATIO	1.2

/*
 * Maximum number of sample centroids. With more of them, more clusters are
 * represented, in larger specs. A guess.
 */
#define MAX_SAMPLE_CENTROIDS	768

/*
 * Minimum weight of a sample centroid, in rows. Fewer rows may be outliers. A
 * guess.
 */
#define FEWEST_CLUSTER_ROWS	3.0

/*
 * Number of frequencies per coordinate of a centroid. With more frequencies,
 * the SSE is lower, and sketches are proportionally larger and slower
 * (bench/quality.py, bench/tuned.py).
 */
#define MOMENTS_PER_UNKNOWN	5

/*
 * Minimum number of frequencies, for few clusters in few dimensions. A guess.
 */
#define MIN_FREQUENCIES	128

/*
 * Share of the total squared deviation up to which the inertia is only
 * rounding error.
 */
#define ROUNDING_SHARE	1e-12

typedef struct sample_work
{
	const double *x;
	const double *weight;
	size_t		rows;
	size_t		d;
	size_t		n;
	size_t		clusters;		/* number of requested clusters, at least 1 */
	uint64_t	seed;
	fc_arena   *arena;
	size_t	   *inlier;			/* indices of the rows in use, ascending:
								 * first the inliers, later all rows of
								 * positive weight */
	size_t		count;			/* number of rows in use */
	double	   *inlier_weight;	/* weights of the rows in use, count values */
	/* centred rows times 2^-exponent: count x d, or count x n for k-means */
	float	   *scaled;
	double		total;			/* total weight of the inliers */
	double	   *centroids;		/* centroids of k-means, up to 2 clusters x n */
	double	   *cluster_weight; /* weights of the centroids */
	float	   *tile;			/* one tile of centred rows, TILE_ROWS x d */
} sample_work;

static size_t
reduced_dimensions(size_t d, const fc_spec_options *options)
{
	size_t		wanted = (2 * options->clusters > 16 ? 2 * options->clusters : 16);

	if (options->dimensions > 0)
		wanted = options->dimensions;
	else if (d <= 24)
		wanted = d;
	return wanted < d ? wanted : d;
}

static inline double
weight_of(const sample_work *w, size_t i)
{
	return w->weight == NULL ? 1.0 : w->weight[i];
}

/*
 * Sets center to the mean of the inliers. The mean is updated row by row, so
 * that no sum overflows.
 */
static void
find_center(sample_work *w, double *center)
{
	memset(center, 0, w->d * sizeof(double));
	w->total = 0.0;
	for (size_t i = 0; i < w->count; i++)
	{
		const double *x = w->x + w->inlier[i] * w->d;
		double		share;

		fc_check();
		w->inlier_weight[i] = weight_of(w, w->inlier[i]);
		w->total += w->inlier_weight[i];
		share = w->inlier_weight[i] / w->total;
		for (size_t c = 0; c < w->d; c++)
			center[c] += share * (x[c] - center[c]);
	}
}

/* Returns the exponent of the smallest power of 2 above every magnitude. */
static int
exponent_of(double largest)
{
	int			exponent = 0;

	if (largest > 0.0)
		(void) frexp(largest, &exponent);
	return exponent;
}

/* Returns the largest magnitude of a coordinate relative to the center. */
static double
find_largest(const sample_work *w, const double *center)
{
	double		largest = 0.0;

	for (size_t i = 0; i < w->rows; i++)
	{
		fc_check();
		for (size_t c = 0; c < w->d; c++)
			largest = fmax(largest, fabs(w->x[i * w->d + c] - center[c]));
	}
	return largest;
}

/*
 * Finds the principal axes of sqrt(weight) (x - center) 2^-exponent over the
 * inliers.
 */
static void
find_basis(sample_work *w, const fc_sample_estimates *result)
{
	for (size_t i = 0; i < w->count; i++)
	{
		const double *x = w->x + w->inlier[i] * w->d;
		double		root = sqrt(w->inlier_weight[i]);

		fc_check();
		for (size_t c = 0; c < w->d; c++)
			w->scaled[i * w->d + c] = (float) (root *
											   ldexp(x[c] - result->center[c],
													 -result->exponent));
	}
	fc_principal_axes(w->scaled, w->count, w->d, w->n, w->seed, w->arena,
					  result->basis);
}

/*
 * Computes reduced = basis (x - center) 2^-exponent for every row; the basis
 * is the identity if n = d.
 */
static void
reduce_rows(sample_work *w, const fc_sample_estimates *result)
{
	for (size_t start = 0; start < w->rows; start += TILE_ROWS)
	{
		size_t		rows = (w->rows - start < TILE_ROWS ? w->rows - start
							: TILE_ROWS);
		float	   *out = result->reduced + start * w->n;
		float	   *centred = w->n == w->d ? out : w->tile;

		for (size_t i = 0; i < rows; i++)
			for (size_t c = 0; c < w->d; c++)
				centred[i * w->d + c] = (float)
					ldexp(w->x[(start + i) * w->d + c] - result->center[c],
						  -result->exponent);
		for (size_t a = 0; a < w->n && w->n < w->d; a += TILE_ROWS)
		{
			size_t		axes = w->n - a < TILE_ROWS ? w->n - a : TILE_ROWS;

			fc_check();
			fc_dots(centred, rows, result->basis + a * w->d, axes, w->d, out + a,
					w->n);
		}
		fc_check();
	}
}

/*
 * Sets scaled to the reduced rows in use, times 2^-exponent; returns the
 * exponent.
 */
static int
scale_reduced(sample_work *w, const float *reduced)
{
	float		largest = 0.0f;
	int			exponent;

	for (size_t i = 0; i < w->count; i++)
		for (size_t c = 0; c < w->n; c++)
			largest = fmaxf(largest, fabsf(reduced[w->inlier[i] * w->n + c]));
	exponent = exponent_of((double) largest);
	for (size_t i = 0; i < w->count; i++)
		for (size_t c = 0; c < w->n; c++)
			w->scaled[i * w->n + c] = ldexpf(reduced[w->inlier[i] * w->n + c],
											 -exponent);
	fc_check();
	return exponent;
}

/*
 * Returns the root mean square of the standard deviations of the n reduced
 * dimensions, computed from all rows of the sample if `all` is set, otherwise
 * from the inliers.
 */
static double
deviation(const sample_work *w, const float *reduced, bool all)
{
	size_t		rows = all ? w->rows : w->count;
	double		weight = 0.0;
	double		sum = 0.0;

	for (size_t c = 0; c < w->n; c++)
	{
		double		mean = 0.0;
		double		square = 0.0;

		weight = 0.0;
		for (size_t i = 0; i < rows; i++)	/* Welford 1962, weighted by West
											 * 1979 */
		{
			size_t		row = all ? i : w->inlier[i];
			double		share = weight_of(w, row);
			double		difference = (double) reduced[row * w->n + c] - mean;

			if (share <= 0.0)
				continue;
			weight += share;
			mean += share / weight * difference;
			square += share * difference *
				((double) reduced[row * w->n + c] - mean);
		}
		sum += square;
	}
	return sqrt(sum / (weight * (double) w->n));
}

/*
 * Returns s_w for a sample in which every row equals its centroid: s k^(-1/n),
 * or 1 if all rows are equal (see the top of this file).
 */
static double
spacing(const sample_work *w, const float *reduced)
{
	double		scale = deviation(w, reduced, false);

	if (!(scale > 0.0))
		scale = deviation(w, reduced, true);
	if (!(scale > 0.0))
		return 1.0;
	return scale * pow((double) w->clusters, -1.0 / (double) w->n);
}

static size_t
max_sample_centroids(size_t clusters)
{
	return smaller(3 * larger(clusters, 2), MAX_SAMPLE_CENTROIDS);
}

/*
 * Returns true if a sample centroid is closer to the point than a typical row
 * is to its centroid.
 */
static bool
near_sample_centroid(const fc_sample_estimates *result, const float *point)
{
	double		radius = (result->within_deviation * result->within_deviation *
						  (double) result->n);

	for (size_t a = 0; a < result->sample_centroid_count; a++)
	{
		double		square = 0.0;

		for (size_t c = 0; c < result->n; c++)
		{
			double		difference = ((double) point[c] -
									  (double) result->sample_centroids[a * result->n + c]);

			square += difference * difference;
		}
		if (square < radius)
			return true;
	}
	return false;
}

/*
 * Adds each of the k centroids in w->centroids to the sample centroids, if it
 * represents enough rows and is not near a sample centroid. Coordinates in
 * w->centroids are in units of 2^exponent.
 */
static void
add_sample_centroids(const sample_work *w, fc_sample_estimates *result, size_t k,
					 int exponent)
{
	size_t		limit = max_sample_centroids(w->clusters);

	for (size_t j = 0; j < k && result->sample_centroid_count < limit; j++)
	{
		float	   *point = (result->sample_centroids +
							 result->sample_centroid_count * w->n);

		fc_check();
		if (w->cluster_weight[j] < FEWEST_CLUSTER_ROWS)
			continue;
		for (size_t c = 0; c < w->n; c++)
			point[c] = (float) ldexp(w->centroids[j * w->n + c], exponent);
		if (fc_all_finite_float(point, w->n) &&
			!near_sample_centroid(result, point))
			result->sample_centroid_count++;
	}
}

/*
 * Returns `wanted`, limited to one cluster per five rows; two clusters are
 * always allowed.
 */
static size_t
supported(const sample_work *w, size_t wanted)
{
	double		limit = fmax(floor(w->total / 5.0), 2.0);

	return (double) wanted > limit ? (size_t) limit : wanted;
}

/*
 * Runs k-means on the reduced rows in use, and sets *exponent. The centroids
 * in w->centroids are in units of 2^exponent. Returns the inertia in units of
 * 2^(2 exponent).
 */
static double
cluster_inliers(sample_work *w, const float *reduced, size_t k, int starts,
				int *exponent)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result clusters = {
		.centroids = w->centroids,
		.weights = w->cluster_weight
	};
	fc_rows		rows = {
		.x = w->scaled,
		.weight = w->inlier_weight,
		.n = w->count,
		.d = w->n
	};

	*exponent = scale_reduced(w, reduced);
	options.n_init = starts;
	options.seed = w->seed;
	fc_kmeans(&rows, k, NULL, &options, w->arena, &clusters);
	return clusters.sse;
}

static void
find_within(sample_work *w, fc_sample_estimates *result)
{
	size_t		k = supported(w, w->clusters);
	double		freedom = fmax(w->total - (double) k, 1.0);
	int			exponent;
	double		inertia = cluster_inliers(w, result->reduced, k, KMEANS_STARTS,
										  &exponent);
	double		spread = ldexp(deviation(w, result->reduced, false), -exponent);

	if (inertia > ROUNDING_SHARE * spread * spread * w->total * (double) w->n)
		result->within_deviation = ldexp(sqrt(inertia /
											  ((double) w->n * freedom)),
										 exponent);
	else
		result->within_deviation = spacing(w, result->reduced);
	result->sample_centroid_count = 0;
	add_sample_centroids(w, result, k, exponent);
}

/*
 * Runs k-means on all rows of positive weight, including the trimmed ones, and
 * adds its centroids to the sample centroids (add_sample_centroids). w->inlier
 * then lists all these rows.
 */
static void
find_trimmed_centroids(sample_work *w, fc_sample_estimates *result)
{
	size_t		k = supported(w, 2 * w->clusters);
	int			exponent;

	w->count = 0;
	for (size_t i = 0; i < w->rows; i++)
		if (weight_of(w, i) > 0.0)
		{
			w->inlier_weight[w->count] = weight_of(w, i);
			w->inlier[w->count++] = i;
		}
	(void) cluster_inliers(w, result->reduced, k, 1, &exponent);
	add_sample_centroids(w, result, k, exponent);
}

fc_status
fc_estimate_of_sample(const double *x, const double *weight, size_t rows, size_t d,
					  const fc_spec_options *options, fc_arena *work, fc_arena *found,
					  fc_sample_estimates *result)
{
	sample_work w = {
		.x = x,
		.weight = weight,
		.rows = rows,
		.d = d,
		.n = reduced_dimensions(d, options),
		.clusters = larger(options->clusters, 1),
		.seed = options->seed,
		.arena = work
	};
	fc_mark		used = fc_arena_mark(work);
	double		largest;

	*result = (fc_sample_estimates)
	{
		.n = w.n
	};
	result->center = FC_TAKE(found, d, double);
	result->basis = FC_TAKE(found, w.n * d, float);
	result->reduced = FC_TAKE(found, rows * w.n, float);
	result->sample_centroids = FC_TAKE(found,
									   max_sample_centroids(w.clusters) * w.n,
									   float);
	w.inlier = FC_TAKE(work, rows, size_t);
	w.inlier_weight = FC_TAKE(work, rows, double);
	w.scaled = FC_TAKE(work, rows * d, float);
	w.centroids = FC_TAKE(work, 2 * larger(options->clusters, 2) * w.n, double);
	w.cluster_weight = FC_TAKE(work, 2 * larger(options->clusters, 2), double);
	w.tile = FC_TAKE(work, TILE_ROWS * d, float);
	fc_trim(x, weight, rows, d, INLIER_FRACTION, work, w.inlier, &w.count);
	find_center(&w, result->center);
	largest = find_largest(&w, result->center);
	if (!isfinite(largest))
		return FC_EVALUE;
	result->exponent = exponent_of(largest);
	if (w.n < d)
		find_basis(&w, result);
	reduce_rows(&w, result);
	find_within(&w, result);
	find_trimmed_centroids(&w, result);
	fc_arena_release(work, used);
	result->within_deviation = ldexp(result->within_deviation,
									 result->exponent);
	result->sigma = SIGMA_RATIO * result->within_deviation;
	return isfinite(result->sigma) && result->sigma > 0.0 ? FC_OK : FC_EVALUE;
}

/* ---- the fields of a spec ---- */

/* Converts points from units of 2^exponent to units of sigma. */
static void
divide_by_sigma(float *points, size_t coordinates, int exponent, double sigma)
{
	int			shift;
	double		fraction = frexp(sigma, &shift);

	for (size_t i = 0; i < coordinates; i++)
		points[i] = (float) (ldexp((double) points[i], exponent - shift) /
							 fraction);
}

static void
shift_points(float *points, size_t count, size_t n, const double *by)
{
	for (size_t i = 0; i < count; i++)
		for (size_t c = 0; c < n; c++)
			points[i * n + c] = (float) ((double) points[i * n + c] + by[c]);
}

/*
 * Moves points from coordinates relative to the mean to coordinates relative
 * to 0.
 */
static void
move_to_origin(size_t rows, size_t d, fc_arena *work, fc_sample_estimates *found)
{
	fc_mark		used = fc_arena_mark(work);
	double	   *by = FC_TAKE(work, found->n, double);

	/*
	 * The shift (n values) is basis * center * 2^-exponent, or center *
	 * 2^-exponent without a basis.
	 */
	for (size_t c = 0; c < found->n; c++)
	{
		by[c] = found->n < d ? 0.0 : found->center[c];
		for (size_t i = 0; found->n < d && i < d; i++)
			by[c] += (double) found->basis[c * d + i] * found->center[i];
		by[c] = ldexp(by[c], -found->exponent);
		fc_check();
	}
	shift_points(found->sample_centroids, found->sample_centroid_count,
				 found->n, by);
	shift_points(found->reduced, rows, found->n, by);
	memset(found->center, 0, d * sizeof(double));
	fc_arena_release(work, used);
}

/*
 * Cost of the axes and of k-means, in passes over the sample. A pass takes
 * rows * n * (clusters + d) multiply-adds. Measured (bench/endless.py).
 */
#define SAMPLE_PASSES	8.0

size_t
fc_spec_frequencies(size_t d, const fc_spec_options *options, size_t *reduced)
{
	*reduced = reduced_dimensions(d, options);
	if (options->frequencies > 0)
		return options->frequencies;
	return smaller(larger(MOMENTS_PER_UNKNOWN * options->clusters * *reduced,
						  MIN_FREQUENCIES),
				   FC_MAX_MOMENTS);
}

double
fc_spec_operations(size_t rows, size_t d, const fc_spec_options *options)
{
	size_t		n;

	(void) fc_spec_frequencies(d, options, &n);
	return SAMPLE_PASSES * (double) rows * (double) n *
		(double) (options->clusters + d);
}

static fc_spec_fields
fields_of_sample(size_t rows, size_t d, const fc_spec_options *options,
				 const fc_sample_estimates *found)
{
	size_t		n = found->n;
	size_t		frequencies = fc_spec_frequencies(d, options, &n);

	return (fc_spec_fields)
	{
		.dim = d,
			.reduced = n,
			.clusters = options->clusters,
			.law = options->law,
			.seed = options->seed,
			.frequencies = frequencies,
			.scales = larger(options->scale_count, 1),
			.structured = options->structure == FC_STRUCTURE_AUTO
			? n >= FC_STRUCTURED_CROSSOVER
			: options->structure ==
			FC_STRUCTURE_ON,
			.cosine = options->cosine,
			.center = found->center,
			.basis = n < d ? found->basis : NULL,
			.sample_centroids = found->sample_centroids,
			.sample_centroid_count = found->sample_centroid_count,
			.sample = found->reduced,
			.sample_rows = smaller(rows, options->sample_rows)
	};
}

fc_status
fc_spec_choose(const double *x, const double *weight, size_t rows, size_t d,
			   const fc_spec_options *options, fc_arena *work, fc_arena *found,
			   fc_spec_fields *fields)
{
	double	   *sigmas = FC_TAKE(found, larger(options->scale_count, 1), double);
	fc_sample_estimates result;
	fc_status	status = fc_estimate_of_sample(x, weight, rows, d, options, work, found,
											   &result);

	if (status != FC_OK)
		return status;
	if (options->zero_center)
		move_to_origin(rows, d, work, &result);
	*fields = fields_of_sample(rows, d, options, &result);
	sigmas[0] = options->sigma > 0 ? options->sigma : result.sigma;
	for (size_t i = options->scale_count; i-- > 0;)
		sigmas[i] = sigmas[0] * options->scales[i];
	fields->sigmas = sigmas;
	fields->sample_weight = weight;
	divide_by_sigma(result.sample_centroids,
					result.sample_centroid_count * result.n, result.exponent,
					sigmas[0]);
	divide_by_sigma(result.reduced, rows * result.n, result.exponent,
					sigmas[0]);
	return FC_OK;
}

/* spectral.c - features that show clusters of any shape; see map.h */
#include "rkhs/map.h"

#include "kmeans/kmeans.h"
#include "numerics/assignment.h"
#include "numerics/dense.h"
#include "numerics/principal.h"
#include "rkhs/projection.h"
#include "rkhs/values.h"

/*
 * Number of widths tried: gamma is 1, 2, 4, .. 256 divided by the total
 * variance of the rows. With more widths, narrower kernels are tried, too.
 * Each width takes a search by k-means. A guess.
 */
#define WIDTHS	9

/*
 * Product of gamma and the total variance of the rows for plain features,
 * which are phi(x) of a wide kernel (map.h). With a smaller product, k-means
 * of plain features is closer to k-means of the rows. A guess.
 */
#define PLAIN_WIDTH	0.02

/* Minimum number of coordinates of plain features (map.h). A guess. */
#define PLAIN_RANK	10

/*
 * Lower bound on the degree of a row (map.h), relative to the mean degree. The
 * landmarks do not represent rows of lower degree. A guess.
 */
#define MIN_DEGREE	1e-3

typedef struct spectral_work
{
	const double *x;
	size_t		n;
	size_t		d;
	size_t		k;
	size_t		max;
	size_t		found;			/* number of eigenpairs above the floor, the
								 * dimension of phi */
	uint64_t	seed;
	double	   *matrix;			/* max x max scratch matrix */
	double	   *values;			/* up to `max` eigenvalues of `matrix` */
	double	   *vectors;		/* eigenvectors of `matrix`, up to max x max
								 * values */
	double	   *root;			/* landmarks x found: V L^-1/2 (map.h) */

	/*
	 * n x landmarks values kappa(x_i, u_j) at first; later n x found values
	 * phi / sqrt(deg)
	 */
	double	   *cross;
	double	   *phi;			/* n x found features of the rows */
	double	   *sum;			/* sum of phi over the rows, `max` values
								 * allocated */
	double	   *degree;			/* n values: degree of each row (map.h) */
	double	   *row;			/* k features of the current row */
	float	   *y;				/* n x k features, each row scaled to length 1 */
	double	   *centroids;		/* k x max(k, d) centroids */
	double	   *weights;		/* k cluster weights */
	double	   *mean;			/* d values: mean of each column */
	float	   *z;				/* n x d: x minus its mean, divided by the
								 * root of the total variance */
	int32_t    *label[2];		/* n labels each: [0] of k-means of y, [1] of
								 * k-means of z */
	double	   *counts;			/* k x k contingency table of the two labels */
	int32_t    *number;			/* k values: label of k-means of z that is
								 * paired with each label of k-means of y */
} spectral_work;

/*
 * Multiply-adds of matrix products count as a fifth, because they run five
 * times as fast as other work.
 */
double
fc_spectral_operations(size_t n, size_t d, size_t k, size_t max)
{
	fc_kmeans_options search = fc_kmeans_defaults();
	double		m = (double) max;
	double		width = (fc_kernel_operations(FC_KERNEL_CHOLESKY, n, d, max) +
						 (m * m * (3.0 * (double) n + 20.0 * m) +
						  (double) n * m * (double) d) /
						 5.0);

	if (k > FC_SPECTRAL_CLUSTERS)
		return width;
	return WIDTHS * (width + fc_kmeans_operations(n, k, k, &search)) +
		fc_kmeans_operations(n, d, k, &search);
}

size_t
fc_spectral_rank(size_t k, size_t max)
{
	return smaller(larger(PLAIN_RANK, 3 * k), max);
}

static fc_kernel
rbf(double gamma)
{
	return (fc_kernel)
	{
		.version = FC_KERNEL_VERSION,
			.kind = FC_KERNEL_RBF,
			.gamma = gamma
	};
}

static bool
is_tried(const spectral_work *w)
{
	return w->k > 1 && w->k <= FC_SPECTRAL_CLUSTERS && w->k <= w->max;
}

static void
take_work(fc_arena *arena, spectral_work *w)
{
	size_t		k = is_tried(w) ? w->k : 0;

	w->matrix = FC_TAKE(arena, w->max * w->max, double);
	w->values = FC_TAKE(arena, w->max, double);
	w->vectors = FC_TAKE(arena, w->max * w->max, double);
	w->root = FC_TAKE(arena, w->max * w->max, double);
	w->cross = FC_TAKE(arena, k > 0 ? w->n * w->max : 0, double);
	w->phi = FC_TAKE(arena, k > 0 ? w->n * w->max : 0, double);
	w->sum = FC_TAKE(arena, w->max, double);
	w->degree = FC_TAKE(arena, w->n, double);
	w->row = FC_TAKE(arena, k, double);
	w->y = FC_TAKE(arena, w->n * k, float);
	w->centroids = FC_TAKE(arena, k * larger(k, w->d), double);
	w->weights = FC_TAKE(arena, k, double);
	w->mean = FC_TAKE(arena, w->d, double);
	w->z = FC_TAKE(arena, k > 0 ? w->n * w->d : 0, float);
	for (int i = 0; i < 2; i++)
		w->label[i] = FC_TAKE(arena, k > 0 ? w->n : 0, int32_t);
	w->counts = FC_TAKE(arena, k * k, double);
	w->number = FC_TAKE(arena, k, int32_t);
}

/* ---- Nystrom features ---- */

/*
 * Draws landmarks and computes w->root. If `features` is true, also computes
 * w->phi for all rows.
 */
static void
make_features(spectral_work *w, bool features, fc_arena *arena, fc_spectral *s)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_kernel_input input = {.doubles = w->x,.n = w->n,.d = w->d};
	size_t		pairs;
	fc_kernel_rows rows;
	fc_kernel_rows chosen;
	fc_product	product;

	/*
	 * cannot fail: gamma is relative to the variance, so that no row is too
	 * far
	 */
	(void) fc_kernel_prepare(&s->kernel, &input, true, arena, &rows);
	s->landmarks = fc_pivoted_cholesky_landmarks(&rows, w->max, w->seed, arena,
												 s->landmark);
	if (s->landmarks == 0)
		s->landmark[s->landmarks++] = 0;
	pairs = fc_kernel_map_pairs(s->landmarks, 0);
	fc_kernel_select_rows(&rows, s->landmark, s->landmarks, arena, &chosen);
	fc_kernel_matrix(&chosen, &chosen, w->matrix);
	fc_leading_eigen(w->matrix, s->landmarks, pairs, arena, w->values,
					 w->vectors);
	w->found = fc_inverse_root(w->values, w->vectors, pairs, s->landmarks,
							   FC_PSEUDO_INVERSE_FLOOR, w->root);
	product = (fc_product)
	{
		.m = w->n,
			.n = w->found,
			.k = s->landmarks,
			.alpha = 1.0
	};
	if (features)
	{
		fc_kernel_matrix(&rows, &chosen, w->cross);
		fc_multiply(&product, w->cross, w->root, w->phi);
	}
	fc_arena_release(arena, mark);
}

/* ---- spectral features ---- */

/* Sets vectors (k x found) to the matrix A of map.h. */
static void
find_axes(spectral_work *w, fc_arena *arena)
{
	double		mean = 0.0;

	/* Now cross (n x found) = phi / sqrt(deg). */
	memset(w->sum, 0, w->found * sizeof(double));
	for (size_t i = 0; i < w->n; i++)
		for (size_t c = 0; c < w->found; c++)
			w->sum[c] += w->phi[i * w->found + c];
	for (size_t i = 0; i < w->n; i++)
	{
		fc_matrix_apply(w->sum, 1, w->found, w->phi + i * w->found,
						w->degree + i);
		mean += w->degree[i] / (double) w->n;
	}
	for (size_t i = 0; i < w->n; i++)
		for (size_t c = 0; c < w->found; c++)
			w->cross[i * w->found + c] = w->phi[i * w->found + c] /
				sqrt(fmax(w->degree[i],
						  MIN_DEGREE * mean));
	memset(w->matrix, 0, w->found * w->found * sizeof(double));
	fc_rank_update_transposed(w->found, w->n, w->cross, w->found,
							  w->matrix);
	fc_mirror_lower(w->matrix, w->found);
	fc_leading_eigen(w->matrix, w->found, w->k, arena, w->values, w->vectors);
}

/* Sets y to A phi, scaled to length 1. */
static void
unit_features(spectral_work *w)
{
	for (size_t i = 0; i < w->n; i++)
	{
		double		square = 0.0;

		fc_check();
		fc_matrix_apply(w->vectors, w->k, w->found, w->phi + i * w->found,
						w->row);
		for (size_t c = 0; c < w->k; c++)
			square += w->row[c] * w->row[c];
		for (size_t c = 0; c < w->k; c++)
			w->y[i * w->k + c] = square > 0.0
				? (float) (w->row[c] / sqrt(square))
				: 0.0f;
	}
}

/*
 * Runs k-means on the features. Returns true if they have k clear clusters
 * (map.h).
 */
static bool
judge_features(spectral_work *w, fc_arena *arena, fc_spectral *s)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result found = {
		.centroids = w->centroids,
		.weights = w->weights,
		.labels = w->label[0]
	};
	fc_rows		rows = {.x = w->y,.n = w->n,.d = w->k};
	bool		clear;

	options.seed = w->seed;
	fc_kmeans(&rows, w->k, NULL, &options, arena, &found);
	s->cost = found.sse / (double) w->n;
	clear = s->cost < FC_SPECTRAL_CLEAR;
	for (size_t j = 0; clear && j < w->k; j++)
		clear = w->weights[j] * (double) w->k >=
			FC_SPECTRAL_SHARE * (double) w->n;
	return clear;
}

/*
 * Computes spectral features with the kernel of s. If their clusters are clear
 * (map.h), sets unit, rank, t and cost of *s and returns true.
 */
static bool
try_width(spectral_work *w, fc_arena *arena, fc_spectral *s)
{
	make_features(w, true, arena, s);
	if (w->found < w->k)
		return false;
	find_axes(w, arena);
	unit_features(w);
	if (!judge_features(w, arena, s))
		return false;
	s->unit = true;
	s->rank = w->k;
	for (size_t j = 0; j < w->k; j++)
		fc_matrix_apply(w->root, s->landmarks, w->found,
						w->vectors + j * w->found, s->t + j * s->landmarks);
	return true;
}

static void
take_plain(spectral_work *w, fc_arena *arena, fc_spectral *s)
{
	make_features(w, false, arena, s);
	s->unit = false;
	s->cost = NAN;
	s->rank = smaller(fc_spectral_rank(w->k, w->max), w->found);
	for (size_t j = 0; j < s->rank; j++)
		for (size_t i = 0; i < s->landmarks; i++)
			s->t[j * s->landmarks + i] = w->root[i * w->found + j];
}

/*
 * Returns true if k-means of the rows finds nearly the same clusters as
 * k-means of the features.
 */
static bool
compare_with_kmeans(spectral_work *w, fc_arena *arena)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result found = {
		.centroids = w->centroids,
		.weights = w->weights,
		.labels = w->label[1]
	};
	fc_rows		rows = {.x = w->z,.n = w->n,.d = w->d};
	double		agreed = 0.0;

	options.seed = w->seed;
	fc_kmeans(&rows, w->k, NULL, &options, arena, &found);
	memset(w->counts, 0, w->k * w->k * sizeof(double));
	for (size_t i = 0; i < w->n; i++)
		w->counts[(size_t) w->label[0][i] * w->k + (size_t) w->label[1][i]]++;
	fc_pair_labels(w->counts, w->k, w->k, arena, w->number);
	for (size_t j = 0; j < w->k; j++)
		agreed += w->counts[j * w->k + (size_t) w->number[j]];
	return agreed >= FC_SPECTRAL_AGREED * (double) w->n;
}

/*
 * Computes w->z if widths are tried. Returns the sum of the variances of all
 * dimensions, or 1 if all rows are equal.
 */
static double
total_variance(spectral_work *w)
{
	double		variance = 0.0;

	for (size_t c = 0; c < w->d; c++)
	{
		fc_check();
		w->mean[c] = 0.0;
		for (size_t i = 0; i < w->n; i++)
			w->mean[c] += w->x[i * w->d + c] / (double) w->n;
		for (size_t i = 0; i < w->n; i++)
			variance += (w->x[i * w->d + c] - w->mean[c]) *
				(w->x[i * w->d + c] - w->mean[c]) / (double) w->n;
	}
	variance = variance > 0.0 ? variance : 1.0;
	for (size_t i = 0; is_tried(w) && i < w->n * w->d; i++)
		w->z[i] = (float) ((w->x[i] - w->mean[i % w->d]) / sqrt(variance));
	return variance;
}

void
fc_spectral_choose(const double *x, size_t n, size_t d, size_t k, size_t max,
				   uint64_t seed, fc_arena *arena, fc_spectral *result)
{
	fc_mark		mark = fc_arena_mark(arena);
	spectral_work w = {.x = x,.n = n,.d = d,.k = k,.max = max,.seed = seed};
	double		variance;
	bool		clear = false;

	take_work(arena, &w);
	variance = total_variance(&w);
	for (int i = 0; i < WIDTHS && is_tried(&w) && !clear; i++)
	{
		result->kernel = rbf(ldexp(1.0, i) / variance);
		clear = try_width(&w, arena, result);
	}
	if (!clear || compare_with_kmeans(&w, arena))
	{
		result->kernel = rbf(PLAIN_WIDTH / variance);
		take_plain(&w, arena, result);
	}
	fc_arena_release(arena, mark);
}

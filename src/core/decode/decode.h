/*
 * decode.h - centroids from a sketch alone.
 *
 * A decoder fits a mixture of atoms to the moments of a sketch. An atom is a
 * point or a Gaussian, with a weight; each cluster takes one atom or more. A
 * problem is the input of a decoder. It holds the moments z_j, the means of
 * exp(i omega_j . y) over the rows in reduced coordinates, y = basis (x -
 * center) / scale / sigma. The frequencies omega_j are in radians per unit of
 * y, so lengths below are in units of sigma.
 */
#ifndef FC_DECODE_DECODE_H
#define FC_DECODE_DECODE_H

#include "sketch/layout.h"

/*
 * Maximum number of reduced dimensions in which covariances can be decoded.
 * Each covariance takes an eigenproblem of this size, which cannot be
 * interrupted. A guess.
 */
#define FC_MAX_SHAPED	512

typedef struct fc_problem
{
	size_t		n;				/* number of reduced dimensions */
	size_t		m;				/* number of frequencies */
	const float *omega;			/* frequencies in radians per unit of y, m x n */
	const double *z_re;			/* real parts of the normalised moments, m
								 * values */
	const double *z_im;			/* imaginary parts of the normalised moments,
								 * m values */
	const double *lower;		/* lower corner of the bounding box of the
								 * rows, n values; infinite if unknown */
	const double *upper;		/* upper corner of the bounding box, n values;
								 * infinite if unknown */
	const double *mean;			/* mean of the rows in each reduced dimension,
								 * n values */
	const double *stddev;		/* standard deviation of the rows in each
								 * reduced dimension, n values */
	size_t		clusters;		/* number of clusters that the sketch was made
								 * for; 0: unknown */
	double		rows;			/* effective number of rows, (sum of the
								 * weights)^2 / (sum of the squared weights) */
	const float *sample;		/* sample rows, sample_rows x n, or NULL */
	const double *sample_weight;	/* weights of the sample rows, sample_rows
									 * values, or NULL if all are 1 */
	size_t		sample_rows;	/* number of sample rows */

	/*
	 * centroids of the sample, sample_centroid_count x n, or NULL; decoders
	 * start from them too
	 */
	const float *sample_centroids;
	size_t		sample_centroid_count;	/* number of sample centroids */
	const double *initial;		/* centroids to start from, initial_count x n,
								 * or NULL */
	size_t		initial_count;	/* number of initial centroids, up to k */

	/*
	 * bandwidth of the Gaussian kernel that smooths the density of the sketch
	 * if the frequencies have the law gaussian, in units of sigma; 0 means 1
	 */
	double		bandwidth;
} fc_problem;

typedef enum fc_decoder
{
	FC_DECODE_AUTO,
	FC_DECODE_CLOMPR,
	FC_DECODE_SHIFT,
	FC_DECODE_DISCRETIZED
} fc_decoder;

typedef enum fc_model
{
	FC_MODEL_DIRAC,				/* clusters are points */

	/*
	 * clusters have covariances; only for decoders shift and discretized,
	 * with frequencies of law gaussian
	 */
	FC_MODEL_GAUSSIAN
} fc_model;

typedef enum fc_init
{
	FC_INIT_DEFAULT,			/* sample centroids, then sample rows and
								 * random points; see modes.c */
	FC_INIT_RANGE,				/* points uniform in the bounding box */
	FC_INIT_SAMPLE,				/* sample rows */
	FC_INIT_KMEANSPP			/* sample rows, drawn in proportion to the
								 * squared distance to the nearest atom fitted
								 * so far */
} fc_init;

typedef struct fc_decode_options
{
	/*
	 * number of starting points per round. The default, 0, means 1000 for
	 * shift and discretized. For auto and clompr it means 64, or more if
	 * there are many sample centroids.
	 */
	int			starts;

	/*
	 * maximum number of rounds; 0: 2k. A round of auto tries to exchange one
	 * atom. A round of the other decoders tries one new atom.
	 */
	int			rounds;
	int			replicates;		/* number of independent runs, default 1; the
								 * run with the lowest cost is kept */
	uint64_t	seed;			/* seed of all random numbers; default 0 */
	/* relative fall of the cost below which a stage stops; 0: 1e-8 */
	double		tolerance;
	double		step;			/* fixed mean-shift step, in squared
								 * bandwidths; 0: adaptive */
	bool		polish;			/* true (default): clompr and shift end with a
								 * refinement in which all atoms share a
								 * fitted width */
	fc_model	model;
	fc_init		init;

	/*
	 * true: clompr, shift and discretized run exactly as printed in the
	 * papers that clompr.c and sketch_shift.c cite. Option polish is then
	 * ignored, and FC_INIT_DEFAULT means FC_INIT_RANGE.
	 */
	bool		published;
	/* callback that reports progress, or NULL */
	void		(*progress) (void *context, const char *stage, int step, double cost);
	void	   *progress_context;
} fc_decode_options;

typedef struct fc_decode_result
{
	double	   *centroids;		/* caller's array for k x n reduced centroids */
	double	   *weights;		/* caller's array for k weights, which sum to
								 * 1 */
	double	   *spreads;		/* caller's array for the standard deviation
								 * of each cluster per dimension, k values in
								 * units of sigma */
	double	   *covariances;	/* caller's array for k x n x n covariances
								 * with model gaussian, or NULL */

	/*
	 * cost of a mixture of k atoms, which are Gaussian with auto: mean_j |z_j
	 * - sum_i a_i A_ij|^2, where a_i is the weight of atom i and A_ij its
	 * moment j (atoms.c)
	 */
	double		cost;
	double		relative_residual;	/* sqrt(cost / mean_j |z_j|^2) */
	int			iterations;		/* number of gradient evaluations; a
								 * mean-shift step of all starts counts as one */
	int			atoms;			/* number of atoms of the fitted density */
	size_t		informative;	/* number of moments that stand out from
								 * sampling noise: |z_j|^2 > 4 / rows */
	double		noise;			/* expected cost due to sampling noise alone */

	/*
	 * true if the distribution has moved since the sample was taken; the
	 * decoder then ignored the sample centroids and the sample rows
	 */
	bool		moved;
	bool		outliers;		/* true if a few distant rows dominate the
								 * means and bounds */
} fc_decode_result;

fc_decode_options fc_decode_defaults(void);

/*
 * Returns the approximate number of multiply-adds of decoding k centroids in n
 * dimensions from m frequencies. The actual number depends on the clusters and
 * is within a factor of five.
 */
double		fc_decode_operations(size_t n, size_t m, size_t k, fc_decoder decoder,
								 const fc_decode_options *options);

/*
 * Decodes k centroids. The same problem, options and seed give the same bits.
 * Returns FC_EEMPTY if problem->rows is 0. If k is larger than the sketch can
 * resolve, the result still has k centroids, the surplus ones with small
 * weights.
 */
fc_status	fc_decode(const fc_problem *problem, size_t k, fc_decoder decoder,
					  const fc_decode_options *options,
					  fc_arena *arena, fc_decode_result *result);

/* ---- a problem from a sketch: problem.c ---- */

typedef struct fc_problem_inputs
{
	double		sigma;			/* if this is one of the spec's sigmas, only
								 * the moments of this sigma are decoded; for
								 * other values, see fc_problem_make */
	const fc_spec *sample;		/* the sketch's spec including its sample
								 * rows, or NULL */
	/* centroids to start from in user units, initial_count x dim, or NULL */
	const double *initial;
	size_t		initial_count;
} fc_problem_inputs;

/*
 * Makes the decoding problem of a sketch that has rows, none of them pending
 * (layout.h). If inputs->sigma is one of the spec's sigmas, the problem has
 * only the moments of this sigma. Otherwise it has the moments of all sigmas
 * for auto and clompr, and of the first sigma for the other decoders. The
 * arrays of the problem belong to the arena, the sketch and the sample.
 */
void		fc_problem_make(const fc_sketch_view *sketch, fc_decoder decoder,
							const fc_problem_inputs *inputs, fc_arena *arena,
							fc_problem *problem);

/*
 * Returns the index of the spec's sigma that differs from `sigma` by less than
 * 1e-6, relatively, or spec->scales if there is no such sigma.
 */
uint32_t	fc_scale_of_sigma(const fc_spec *spec, double sigma);

/*
 * Returns the root mean square of problem->stddev, the standard deviations of
 * the rows in each reduced dimension, in units of sigma.
 */
double		fc_problem_deviation(const fc_problem *problem);

/*
 * ---- a decoder's centroids in the user's coordinates: back_project.c ----
 *
 *     centroid    x = center + scale (basis' sigma y + the component of the
 *                 mean orthogonal to the basis)
 *     covariance  C = scale basis' sigma^2 R basis scale
 *
 * R is the covariance in reduced coordinates. A centroid takes d * n
 * multiply-adds. A covariance takes two matrix products, d * n^2 + d^2 * n
 * multiply-adds.
 */
typedef struct fc_back_projection
{
	const fc_spec *spec;

	/*
	 * component of (mean - center) / scale orthogonal to the basis, d values;
	 * NULL without a basis
	 */
	double	   *rest;
	double	   *basis;			/* the product sigma * basis * scale, n x d,
								 * for covariances */
	double	   *product;		/* work space for covariances, n x d */
} fc_back_projection;

/*
 * Prepares *back for fc_back_project_centroid and, if `covariances` is true,
 * for fc_back_project_covariance. If `outliers` is true, a few distant rows
 * dominate the mean, so centroids get no component of the mean.
 */
void		fc_back_project_prepare(const fc_sketch_view *sketch, bool outliers,
									bool covariances, fc_arena *arena,
									fc_back_projection *back);

/* Computes x (d values) from y (n values). */
void		fc_back_project_centroid(const fc_back_projection *back, const double *y,
									 double *x);

/*
 * Computes the symmetric covariance (d x d) from the reduced one (n x n, in
 * units of sigma^2).
 */
void		fc_back_project_covariance(const fc_back_projection *back,
									   const double *reduced, double *covariance);

/*
 * Returns the length of one sigma in user units: spec->sigma times the root
 * mean square of the scales.
 */
double		fc_spread_unit(const fc_spec *spec);

#endif							/* FC_DECODE_DECODE_H */

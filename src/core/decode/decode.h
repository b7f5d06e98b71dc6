/*
 * decode.h - centroids from a sketch alone.
 *
 * A problem is the input of a decoder. It holds the moments z_j, the means of
 * exp(i omega_j . y) over the rows y in reduced coordinates, y = basis' (x -
 * center) / scale / sigma. The frequencies omega_j are drawn for sigma = 1,
 * and every length below is in units of sigma.
 */
#ifndef FC_DECODE_DECODE_H
#define FC_DECODE_DECODE_H

#include "sketch/layout.h"

/*
 * Maximum number of dimensions of a covariance read off a sketch, which takes
 * one eigenproblem that cannot be interrupted. A guess.
 */
#define FC_MAX_SHAPED	512

typedef struct fc_problem
{
	size_t		n;				/* number of reduced dimensions */
	size_t		m;				/* number of frequencies */
	const float *omega;			/* frequencies, m x n, in radians */
	const double *z_re;			/* real parts of the normalised moments, m
								 * values */
	const double *z_im;			/* imaginary parts of the normalised moments,
								 * m values */
	const double *lower;		/* lower corner of the box that holds the
								 * rows, n values; infinite if unknown */
	const double *upper;		/* upper corner of the box, n values */
	const double *mean;			/* mean of the rows, n values */
	const double *stddev;		/* standard deviations of the rows, n values */
	size_t		clusters;		/* number of clusters that the sketch was made
								 * for; 0: unknown */
	double		rows;			/* effective number of rows, W^2 / W2 */
	const float *sample;		/* sample rows, sample_rows x n, or NULL */
	const double *sample_weight;	/* weights of the sample rows, sample_rows
									 * values, or NULL if all are 1 */
	size_t		sample_rows;

	/*
	 * centroids of the sample, sample_centroid_count x n, or NULL; they are
	 * further points to start from
	 */
	const float *sample_centroids;
	size_t		sample_centroid_count;
	const double *initial;		/* centroids to start from, initial_count x n,
								 * or NULL */
	size_t		initial_count;	/* number of initial centroids, up to k */
	double		bandwidth;		/* bandwidth of the kernel of law gaussian, in
								 * reduced coordinates; 0 means 1 */
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
	FC_INIT_DEFAULT,			/* sample centroids, then sample rows, or
								 * points of the box */
	FC_INIT_RANGE,				/* uniform points of the box */
	FC_INIT_SAMPLE,				/* sample rows */
	FC_INIT_KMEANSPP			/* sample rows, preferring rows far from the
								 * present atoms */
} fc_init;

typedef struct fc_decode_options
{
	/*
	 * number of starting points per round; 0: the decoder's default (1000 for
	 * shift and discretized; otherwise 64, or more if there are many sample
	 * centroids)
	 */
	int			starts;
	int			rounds;			/* maximum number of atoms tried (auto: of
								 * improvement rounds); 0: 2k */
	int			replicates;		/* number of independent runs, default 1; the
								 * run with the lowest cost is kept */
	uint64_t	seed;			/* seed of all random numbers; default 0 */
	/* relative fall of the cost below which a stage stops; 0: default */
	double		tolerance;
	double		step;			/* fixed mean-shift step, in squared
								 * bandwidths; 0: adaptive */
	bool		polish;			/* true (default): clompr and shift end with a
								 * refinement in which all atoms share a
								 * fitted width */
	fc_model	model;
	fc_init		init;

	/*
	 * true: clompr, shift and discretized run exactly as their papers print
	 * them (see clompr.c and sketch_shift.c), without polish; init default
	 * means range
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
	double	   *spreads;		/* caller's array for k standard deviations in
								 * units of sigma, each the same for all
								 * dimensions */
	double	   *covariances;	/* caller's array for k x n x n covariances
								 * with model gaussian, or NULL */

	/*
	 * mean_j |z_j - sum_i a_i A_ij|^2 over the k fitted atoms i, where A is
	 * defined in atoms.c (auto: Gaussian atoms)
	 */
	double		cost;
	double		relative_residual;	/* sqrt(cost / mean_j |z_j|^2) */
	int			iterations;		/* number of gradient evaluations of the joint
								 * refinements and shifts */
	int			atoms;			/* number of atoms of the fitted density */
	size_t		informative;	/* number of moments above their sampling
								 * noise */
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
	double		sigma;			/* decode only the scale of this sigma; 0: the
								 * decoder's default scales */
	const fc_spec *sample;		/* the sketch's spec including its sample
								 * rows, or NULL */
	/* centroids to start from in user units, initial_count x dim, or NULL */
	const double *initial;
	size_t		initial_count;
} fc_problem_inputs;

/*
 * Makes the decoding problem of a folded sketch, which must have rows. If
 * inputs->sigma is one of the spec's sigmas, only its scale is fitted.
 * Otherwise auto and clompr fit all scales together, and the other decoders
 * fit only the first scale. The arrays of the problem belong to the arena, the
 * sketch and the sample.
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
 * Returns the root mean square of the rows' standard deviations, in units of
 * sigma.
 */
double		fc_problem_deviation(const fc_problem *problem);

/*
 * ---- a decoder's centroids in the user's coordinates: back_project.c ----
 *
 *     centroid    x = center + scale (basis' sigma y + the component of the
 *                 mean outside the basis)
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
	 * component of the scaled, centred mean outside the basis, d values;
	 * unused without a basis
	 */
	double	   *rest;
	double	   *basis;			/* the product sigma * basis * scale, n x d,
								 * for covariances */
	double	   *product;		/* work space for covariances, n x d */
} fc_back_projection;

/*
 * Prepares the projection. Outliers dominate the mean, so if there are any, no
 * component of the mean is added to centroids.
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

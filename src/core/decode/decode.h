/*
 * decode.h - centroids from a sketch alone.
 *
 * A problem is the input of a decoder: moments z_j = mean of exp(i omega_j .
 * y) over rows y in reduced coordinates, y = basis' (x - center) / scale /
 * sigma, so the radius laws hold with sigma = 1 and every length below is in
 * units of sigma.
 */
#ifndef FC_DECODE_DECODE_H
#define FC_DECODE_DECODE_H

#include "sketch/layout.h"

#define FC_MAX_SHAPED 512		/* dimensions of a covariance read off a
								 * sketch: one eigenproblem */

typedef struct fc_problem
{
	size_t		n;				/* dimensions (reduced) */
	size_t		m;				/* frequencies */
	const float *omega;			/* m x n, radians */
	const double *z_re;			/* m, normalised moments */
	const double *z_im;			/* m */
	const double *lower;		/* n, the box that holds the rows; infinite
								 * when not known */
	const double *upper;		/* n */
	const double *mean;			/* n */
	const double *stddev;		/* n */
	size_t		clusters;		/* the sketch was made for; 0: not known */
	double		rows;			/* effective number of rows, W^2 / W2 */
	const float *pilot;			/* pilot_rows x n sample rows, or NULL */
	const double *pilot_weight; /* pilot_rows, or NULL for all 1 */
	size_t		pilot_rows;
	/* sample_centroid_count x n points to begin from besides, or NULL */
	const float *sample_centroids;
	size_t		sample_centroid_count;
	const double *initial;		/* initial_count x n centroids to start from,
								 * or NULL */
	size_t		initial_count;	/* k at most */
	double		bandwidth;		/* of the kernel of law gaussian, in these
								 * coordinates; 0: 1 */
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
	/* shift, discretized: each with its covariance; law gaussian only */
	FC_MODEL_GAUSSIAN
} fc_model;

typedef enum fc_init
{
	FC_INIT_DEFAULT,			/* sample centroids, then pilot rows, or the
								 * box */
	FC_INIT_RANGE,				/* uniform in the box */
	FC_INIT_SAMPLE,				/* pilot rows */
	FC_INIT_KMEANSPP			/* pilot rows far from the atoms so far */
} fc_init;

typedef struct fc_decode_options
{
	/*
	 * climbs a round; 0: the decoder's default (64 and more with sample
	 * centroids, shift 1000)
	 */
	int			starts;
	int			rounds;			/* atoms tried, or improvement rounds, at
								 * most; 0: 2k */
	int			replicates;		/* independent runs, smallest cost kept; 1 */
	uint64_t	seed;			/* 0 */
	/* relative fall of the cost below which a stage stops; 0: default */
	double		tolerance;
	double		step;			/* fixed mean-shift step, in bandwidths
								 * squared; 0: adaptive */
	bool		polish;			/* clompr: end with atoms as wide as the
								 * clusters; true */
	fc_model	model;
	fc_init		init;
	/* or NULL */
	void		(*progress) (void *context, const char *stage, int step, double cost);
	void	   *progress_context;
} fc_decode_options;

typedef struct fc_decode_result
{
	double	   *centroids;		/* k x n reduced, from the caller */
	double	   *weights;		/* k, sum 1, from the caller */
	double	   *spreads;		/* k, deviation per dimension in sigma units,
								 * from the caller */
	double	   *covariances;	/* model gaussian: k x n x n, from the caller,
								 * or NULL */

	/*
	 * mean_j |z_j - sum_k a_k A_j(c_k)|^2 of the k atoms fitted (auto:
	 * Gaussian)
	 */
	double		cost;
	double		relative_residual;	/* sqrt(cost / mean_j |z_j|^2) */
	int			iterations;		/* gradient evaluations of the joint
								 * refinements and shifts */
	int			atoms;			/* atoms of the fitted density */
	size_t		informative;	/* moments above their sampling noise */
	double		noise;			/* cost that noise alone explains */

	/*
	 * the rows are no longer where the sample centroids are: those and the
	 * pilot were left out
	 */
	bool		moved;
	bool		outliers;		/* a few rows lie so far out that means and
								 * bounds are theirs */
} fc_decode_result;

fc_decode_options fc_decode_defaults(void);

/*
 * About the multiply-adds of decoding k centroids in n dimensions from m
 * frequencies, which depend on the clusters: within a factor of five.
 */
double		fc_decode_operations(size_t n, size_t m, size_t k, fc_decoder decoder,
								 const fc_decode_options *options);

/*
 * Decode k centroids. Same problem, options and seed: same bits. FC_EEMPTY
 * when rows = 0; k larger than the sketch can tell apart still gives k
 * centroids, surplus ones with small weights.
 */
fc_status	fc_decode(const fc_problem *problem, size_t k, fc_decoder decoder,
					  const fc_decode_options *options,
					  fc_arena *arena, fc_decode_result *result);

/* ---- from a sketch to its problem: problem.c ---- */

typedef struct fc_problem_parts
{
	double		sigma;			/* one of the spec's, decoded alone; 0: the
								 * decoder's choice */
	const fc_spec *pilot;		/* the sketch's spec with its pilot rows, or
								 * NULL */
	/* initial_count x dim centroids to start from, in user units, or NULL */
	const double *initial;
	size_t		initial_count;
} fc_problem_parts;

/*
 * The problem of a folded sketch with rows. auto and clompr fit all scales of
 * the spec at once, the others the first, unless parts->sigma names one. The
 * arrays of the problem are in the arena, in the sketch and in the pilot.
 */
void		fc_problem_make(const fc_sketch_view *sketch, fc_decoder decoder,
							const fc_problem_parts *parts, fc_arena *arena,
							fc_problem *problem);

/*
 * Is this one of the spec's sigmas, to 1e-6 relative? Its place, or
 * spec->scales.
 */
uint32_t	fc_scale_of_sigma(const fc_spec *spec, double sigma);

/* Root of the mean variance of the rows, in sigmas. */
double		fc_problem_deviation(const fc_problem *problem);

/*
 * ---- centroids of a decoder in the user's coordinates: back_project.c ----
 *
 *     centroid    x = center + scale (basis' sigma y + the part of the mean
 *                 outside the basis)
 *     covariance  C = scale basis' sigma^2 R basis scale
 *
 * A centroid takes d n multiply-adds, a covariance d n^2 + d^2 n: two
 * products.
 */
typedef struct fc_back_projection
{
	const fc_spec *spec;

	/*
	 * d: the part of the scaled, centred mean outside the basis; unused
	 * without one
	 */
	double	   *rest;
	double	   *basis;			/* n x d: sigma basis scale, for covariances */
	double	   *product;		/* n x d */
} fc_back_projection;

/* outliers: they set the mean, so nothing of it is added to centroids. */
void		fc_back_project_prepare(const fc_sketch_view *sketch, bool outliers,
									bool covariances, fc_arena *arena,
									fc_back_projection *back);

/* x (d) of y (n). */
void		fc_back_project_centroid(const fc_back_projection *back, const double *y,
									 double *x);

/*
 * covariance (d x d), symmetric, of reduced (n x n), which is in units of
 * sigma^2.
 */
void		fc_back_project_covariance(const fc_back_projection *back,
									   const double *reduced, double *covariance);

/* Units of x per sigma: the root mean square of the scales. */
double		fc_spread_unit(const fc_spec *spec);

#endif							/* FC_DECODE_DECODE_H */

/*
 * internal.h - the state and the functions that the stages of the decoder
 * share.
 *
 * Inside the decoder, coordinates are u = (y - mean) / h, where h is the
 * bandwidth of the sketch's kernel, h^2 = n / mean_j |omega_j|^2. In these
 * units a plain mean-shift step has the step factor 1, and the variables of
 * the refinement are of order 1. The moments are rotated to the same origin.
 * Frequencies are in half-turns (radians divided by pi).
 *
 * The files of the decoder share these terms:
 *     residual r   the moments z minus the moments of the mixture
 *     field f_r    f_r(c) = mean_j Re( conj(r_j) exp(i omega_j . c) ), the
 *                  density at the point c that the mixture does not explain.
 *                  Each term is damped by exp(-v |omega_j|^2 / 2) if atoms
 *                  have variance v. A mode of f_r is a place for a new atom.
 *     field f_z    the same with the moments z in place of r
 *     start        a point from which f_r is climbed to a mode
 *     features     cosines and sines of omega_j . c for a center c, damped if
 *                  the atom has a variance
 *     box          the box that contains the centers of all atoms (setup.c)
 *
 * Memory: the fc_*_take function of a stage allocates the scratch space of
 * the stage, once.
 */
#ifndef FC_DECODE_INTERNAL_H
#define FC_DECODE_INTERNAL_H

#include "base/rng.h"
#include "decode/decode.h"

/*
 * Number of frequencies processed in one pass, few enough to keep the
 * features of the atoms in the cache. A guess.
 */
#define FC_FREQUENCY_BLOCK	((size_t) 256)

/* The number pi. */
#define FC_PI	3.14159265358979323846

/*
 * Maximum number of L-BFGS-B iterations of a refinement of all atoms between
 * two stages. More iterations would lower a cost that later stages change. A
 * guess.
 */
#define FC_MID_ITERATIONS	100

/* ---- local minimum of a smooth function within bounds, by L-BFGS-B ---- */

typedef struct fc_minimizer
{
	double	   *x;
	double	   *gradient;
	double	   *lower;
	double	   *upper;
	int		   *bound_kind;		/* 1: lower bound only; 2: both bounds */
	double	   *wa;				/* work space of L-BFGS-B */
	int		   *iwa;			/* integer work space of L-BFGS-B */
} fc_minimizer;

/* Returns the value at x and stores the gradient at x in `gradient`. */
typedef double (*fc_objective) (void *context, const double *x,
								double *gradient);

void		fc_minimizer_take(fc_arena *arena, size_t variables, fc_minimizer *w);

/*
 * Moves w->x to a local minimum within the bounds and returns its value. Stops
 * when the relative fall of the value is below tolerance, or after the given
 * number of iterations.
 */
double		fc_minimize(fc_minimizer *w, size_t variables, fc_objective objective,
						void *context, double tolerance, int iterations);

/* ---- the stages ---- */

/* A Gaussian mixture: sum_i weight_i N(center_i, variance_i I). */
typedef struct fc_mixture
{
	size_t		count;
	double	   *center;			/* count x n coordinates */
	double	   *weight;
	double	   *variance;		/* variance per dimension; 0: a point atom */
} fc_mixture;

typedef struct fc_shift_work
{
	float	   *re;				/* real parts of the coefficients of the field
								 * f_r, m values */
	float	   *im;				/* imaginary parts of the coefficients */
	float	   *center;			/* present points of the active starts,
								 * packed, starts x n; a start is active while
								 * it still moves */
	float	   *gradient;		/* gradients of f_r at the points in `center`,
								 * packed, starts x n */
	float	   *direction;		/* gradient of f_r divided by |f_r|, at the
								 * best point of each start, starts x n */
	float	   *best;			/* best point of each start, starts x n */
	float	   *value;			/* values of f_r at the points in `center`,
								 * `starts` values */
	float	   *best_value;		/* value of f_r at the best points */
	float	   *step;			/* step factor of each start */
	size_t	   *active;			/* indices of the active starts */
	float	   *cosine;			/* features of the points in `center`, starts
								 * x FC_FREQUENCY_BLOCK */
	float	   *sine;
	double	   *envelope;		/* damping of each term of f_r, m values */
	double	   *modes;			/* distinct modes in descending order of f_r,
								 * starts x n */
	size_t	   *order;			/* indices of the starts, in descending order
								 * of f_r */
} fc_shift_work;

typedef struct fc_refine_work
{
	fc_minimizer solver;		/* variables are centers, weights and
								 * variances, each divided by its scale */
	double	   *scale;
	double	   *point;			/* variables in natural units, x times scale */
	double	   *gradient;		/* gradient at `point`, atoms x (n + 2) values
								 * in every width mode */
	double	   *cosine;			/* features of the atoms, atoms x
								 * FC_FREQUENCY_BLOCK */
	double	   *sine;
	double	   *block;			/* work space, REFINE_VECTORS x
								 * FC_FREQUENCY_BLOCK */
} fc_refine_work;

typedef struct fc_select_work
{
	double	   *center;			/* centers of the dictionary, the list of
								 * candidates of a matching pursuit: first the
								 * atoms, then the modes; size x n */
	double	   *variance;
	double	   *gram;			/* Gram matrix of the dictionary, size^2 */
	double	   *rhs;			/* correlations of the dictionary entries with
								 * the moments */
	double	   *sub_gram;		/* Gram matrix of the chosen entries, up to
								 * atoms^2 */
	double	   *sub_rhs;		/* correlations of the chosen entries with the
								 * moments */
	double	   *weight;			/* weights of the chosen entries */
	size_t	   *chosen;			/* indices of the chosen entries */
	bool	   *taken;			/* true for the chosen entries */
	double	   *cosine;			/* features of the dictionary, size x
								 * FC_FREQUENCY_BLOCK */
	double	   *sine;
} fc_select_work;

typedef struct fc_improve_work
{
	fc_mixture	trial;			/* mixture after a tried move */
	double	   *gram;			/* Gram matrix of the mixture, atoms^2 */
	double	   *rhs;			/* correlations of the atoms with the moments */
	double	   *factor;			/* Cholesky factor of the Gram matrix, atoms^2 */
	double	   *inverse;		/* inverse of the Gram matrix, atoms^2 */
	double	   *importance;		/* rise of the cost if the atom is removed,
								 * one per atom */
	double	   *direction;		/* directions of splits, atoms x n */
	double	   *gain;			/* predicted falls of the cost by splits, one
								 * per atom */
	double	   *hessian;		/* Hessians of f_r at the atoms, atoms x n x n */
	double	   *scaled;			/* frequencies, each times its term of f_r at
								 * a point, FC_FREQUENCY_BLOCK x n */
	double	   *eigen_work;
	int		   *eigen_iwork;
	double	   *eigenvalues;	/* n eigenvalues */
} fc_improve_work;

typedef struct fc_points_work
{
	size_t		capacity;
	float	   *x;				/* points on which k-means runs, capacity x n */
	double	   *weight;
	int32_t    *labels;			/* cluster of each point */
	double	   *centroids;		/* k x n coordinates */
	double	   *shares;			/* weights of the clusters, k values */
	double	   *spreads;		/* standard deviations of the clusters, k
								 * values */
} fc_points_work;

typedef struct fc_reweight_work
{
	size_t		capacity;		/* maximum number of sample rows used */
	size_t	   *row;			/* indices of the chosen sample rows */

	/*
	 * centers of the columns of a least-squares problem: the atoms, then the
	 * chosen rows; (rows + atoms) x n
	 */
	double	   *center;
	double	   *variance;		/* variance of each column, 0 for sample rows */
	double	   *penalty;		/* penalty on the squared weight of each
								 * column */
	double	   *rhs;
	double	   *weight;
	double	   *gram;			/* Gram matrix of the columns, (rows +
								 * atoms)^2 */
	double	   *cosine;			/* features of the columns, (rows + atoms) x
								 * FC_FREQUENCY_BLOCK */
	double	   *sine;
} fc_reweight_work;

typedef struct fc_decoding
{
	const fc_problem *problem;
	fc_decode_options options;	/* the caller's options, with defaults filled
								 * in */
	size_t		n;
	size_t		m;
	size_t		k;
	size_t		atoms;			/* capacity of every mixture, in atoms */
	size_t		starts;			/* number of starts per round */
	size_t		widest;			/* number of starts that the work space has
								 * room for */
	size_t		rows;			/* number of usable sample rows */
	size_t		sample_centroids;	/* number of sample centroids, including
									 * the initial ones */
	bool		uniform_starts; /* true: random starts are uniform in the box;
								 * false: they are normally distributed */
	bool		discretized;	/* true: the start with the highest f_r is
								 * used, without climbing */
	size_t		dictionary;		/* capacity of the dictionary of
								 * fc_select_work, in entries */

	/*
	 * number of the caller's initial centroids, which come first among the
	 * sample centroids
	 */
	size_t		initial;
	fc_arena   *arena;
	fc_rng		rng;
	double		unit;			/* bandwidth h in sigmas */
	double		floor;			/* expected cost due to sampling noise alone */
	double		energy;			/* mean_j |z_j|^2 */
	size_t		informative;	/* number of moments with |z_j|^2 > 4 / rows */
	int			evaluations;	/* number of gradient evaluations so far */

	double	   *omega;			/* frequencies in half-turns per unit of u, m
								 * x n */
	float	   *omega_float;
	double	   *half_norm;		/* |omega_j|^2 / 2 in radians^2, m values */
	double	   *z_re;
	double	   *z_im;
	double	   *r_re;			/* residual of the current mixture, m values */
	double	   *r_im;
	double	   *lower;			/* lower corner of the box, n values */
	double	   *upper;
	double	   *middle;			/* mean of normally distributed starts, n
								 * values */
	double	   *stddev;			/* standard deviation of normally distributed
								 * starts */
	bool		moved;			/* true if the distribution has moved since
								 * the sample was taken */
	bool		cut;			/* true if outliers were left out of the box */
	double	   *sample_centroid;	/* sample centroids in u, sample_centroids
									 * x n */
	double	   *row;			/* sample rows in u, rows x n */
	double	   *row_weight;		/* weights of the sample rows, with mean 1 */
	double	   *row_distance;	/* weighted squared distance to the nearest
								 * atom, one per sample row */
	size_t	   *permutation;	/* permutation of the sample rows, which
								 * fc_draw_row shuffles one position at a time */
	double	   *start;			/* points to climb from, starts x n */
	double	   *start_value;

	double	   *envelope;		/* model gaussian: factors exp(-omega_j' R
								 * omega_j / 2) for the covariance R of each
								 * atom, atoms x m; else NULL */
	double	   *covariance;		/* model gaussian: covariances, atoms x n x n;
								 * else NULL */
	double	   *best_covariance;
	fc_mixture	current;		/* mixture that is being fitted */
	fc_mixture	best;			/* best mixture of all replicates */
	fc_mixture	skeleton;		/* mixture of k atoms, whose centers are one
								 * start of the final k-means */
	fc_mixture	best_skeleton;	/* copy of `skeleton` from the replicate with
								 * the lowest cost */
	fc_shift_work shift;
	fc_refine_work refine;
	fc_select_work select;
	fc_improve_work improve;
	fc_points_work points;
	fc_reweight_work reweight;
} fc_decoding;

static inline size_t
fc_block_width(const fc_decoding *d, size_t first)
{
	return smaller(FC_FREQUENCY_BLOCK, d->m - first);
}

static inline void
fc_report_progress(const fc_decoding *d, const char *stage, int step,
				   double cost)
{
	if (d->options.progress != NULL)
		d->options.progress(d->options.progress_context, stage, step, cost);
}

static inline double
fc_clip(double x, double lower, double upper)
{
	return x < lower ? lower : x > upper ? upper : x;
}

/*
 * Converts d->problem to the decoder's coordinates and fills the arrays of
 * *d, which must be allocated; defined in setup.c.
 */
void		fc_set_up(fc_decoding *d);

/* atoms.c */
void		fc_point_features(const fc_decoding *d, const double *center, size_t count,
							  size_t first, size_t width, double *cosine, double *sine);
void		fc_features(const fc_decoding *d, const double *center,
						const double *variance, size_t count, size_t first,
						size_t width, double *cosine, double *sine);
void		fc_gram(fc_decoding *d, const double *center, const double *variance,
					size_t count, double *cosine, double *sine, double *gram, double *rhs);
void		fc_gram_of_mixture(fc_decoding *d, const fc_mixture *mixture);
double		fc_residual(fc_decoding *d, const fc_mixture *mixture);
void		fc_fit_weights(fc_decoding *d, fc_mixture *mixture);
void		fc_mixture_take(const fc_decoding *d, fc_arena *arena, fc_mixture *mixture);
void		fc_mixture_copy(const fc_decoding *d, const fc_mixture *from, fc_mixture *to);
void		fc_mixture_append(const fc_decoding *d, const double *center,
							  fc_mixture *mixture);
void		fc_mixture_remove(const fc_decoding *d, fc_mixture *mixture, size_t atom);
double		fc_mixture_variance(const fc_mixture *mixture);
size_t		fc_lightest(const fc_mixture *mixture);

/*
 * Computes cosine[i] = cos(pi h_i) and sine[i] = sin(pi h_i). The angles h_i,
 * in half-turns, are passed in `cosine`. In half-turns, range reduction is
 * only a rounding.
 *
 * |h| <= 2^21 (float), 2^50 (double); beyond that the results are finite but
 * meaningless. Absolute error: 2e-7 (float), 1e-15 (double).
 */
void		fc_sincos_float(size_t count, float *cosine, float *sine);
void		fc_sincos_double(size_t count, double *cosine, double *sine);

/*
 * Multiplies cosine[i] and sine[i] by exp(-variance * half_norm[i]), with a
 * relative error of 1e-14.
 */
void		fc_damp_double(size_t count, double variance, const double *half_norm,
						   double *cosine, double *sine);

/* Computes y[i] = exp(-variance * half_norm[i]). */
void		fc_envelope_double(size_t count, double variance, const double *half_norm,
							   double *y);

typedef enum fc_width_mode
{
	FC_WIDTH_NONE,				/* point atoms */
	FC_WIDTH_SHARED,			/* one variance shared by all atoms */
	FC_WIDTH_EACH				/* one variance per atom */
} fc_width_mode;

/* modes.c */

/*
 * Returns the index of the sample row at position `index` of a random order.
 * Each call swaps one element of d->permutation into this position, so the
 * caller sets d->permutation to 0, 1, ... and uses ascending positions.
 */
size_t		fc_draw_row(fc_decoding *d, size_t index);
void		fc_draw_starts(fc_decoding *d, const fc_mixture *chosen, size_t count,
						   double *start);
void		fc_shift_take(fc_decoding *d, fc_arena *arena);
size_t		fc_find_modes(fc_decoding *d, const fc_mixture *mixture, size_t limit);

/*
 * Climbs the field f_r by mean shift from all points in d->start, and replaces
 * each by the highest point of its climb. A climb has at most `iterations`
 * steps; it ends when a step is at most `tolerance` bandwidths long. Returns
 * the index of the point with the highest f_r.
 */
size_t		fc_highest_start(fc_decoding *d, int iterations, double tolerance);

/* refine.c */
void		fc_refine_take(fc_decoding *d, fc_arena *arena);
size_t		fc_refine_variables(const fc_decoding *d, fc_width_mode mode, size_t count);
double		fc_refine_evaluate(fc_decoding *d, fc_width_mode mode, size_t count,
							   const double *x, double *gradient);
double		fc_refine(fc_decoding *d, fc_width_mode mode, int iterations,
					  fc_mixture *mixture);

/*
 * Moves a mixture of point atoms to a local minimum of the cost, and returns
 * this minimum.
 */
double		fc_converge(fc_decoding *d, fc_mixture *mixture);

/*
 * Sets the mixture to the first `count` sample centroids, fits their weights
 * and refines it. Returns the cost. The mixture is empty if count is 0.
 */
double		fc_warm_start(fc_decoding *d, fc_width_mode mode, size_t count,
						  fc_mixture *mixture);

/*
 * Runs the last refinement of clompr and sketch-and-shift, with point atoms.
 * If option polish is set and the model is dirac, refines once more with a
 * width that all atoms share. Returns the cost.
 */
double		fc_polish(fc_decoding *d, fc_mixture *mixture);

/* pursuit.c */
void		fc_pursuit_take(fc_decoding *d, fc_arena *arena);
void		fc_forward(fc_decoding *d, size_t target, size_t chunk,
					   fc_mixture *mixture, double *cost);
void		fc_improve(fc_decoding *d, int rounds, fc_mixture *mixture, double *cost);
void		fc_drop_insignificant(fc_decoding *d, double cost, fc_mixture *mixture);

/* density.c */
void		fc_density_take(fc_decoding *d, fc_arena *arena);
size_t		fc_density_points(fc_decoding *d, const fc_mixture *mixture);
size_t		fc_reweighted_points(fc_decoding *d, const fc_mixture *mixture, bool certified);
void		fc_cluster_points(fc_decoding *d, size_t count, const double *initial,
							  double margin, int iterations);

/* Fits the mixture by CL-OMPR (clompr.c) and returns its cost. */
double		fc_clompr(fc_decoding *d, fc_mixture *mixture);

/*
 * Returns -100 f_r(c), and stores the gradient of this value (n values) in
 * `gradient`. It is an fc_objective: `decoding` is an fc_decoding, whose r_re
 * and r_im hold r.
 */
double		fc_evaluate_peak(void *decoding, const double *c, double *gradient);

/*
 * fc_covariance_take allocates the covariances of model gaussian.
 * fc_sketch_shift fits the mixture by sketch-and-shift and returns its cost.
 * Both are defined in sketch_shift.c.
 */
void		fc_covariance_take(fc_decoding *d, fc_arena *arena);
double		fc_sketch_shift(fc_decoding *d, fc_mixture *mixture);

#endif							/* FC_DECODE_INTERNAL_H */

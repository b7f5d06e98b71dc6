/*
 * internal.h - the state and the functions that the stages of the decoder
 * share.
 *
 * Coordinates inside the decoder: u = (y - mean) / h, h^2 = n / mean_j
 * |omega_j|^2, the bandwidth of the sketch's own kernel, so a plain mean-shift
 * step has length factor 1 and the refinement's variables are of order 1. The
 * moments are rotated to the same origin. Frequencies are in half-turns
 * (divided by pi).
 *
 * Memory: every stage lays out its scratch once, through its fc_*_take
 * function.
 */
#ifndef FC_DECODE_INTERNAL_H
#define FC_DECODE_INTERNAL_H

#include "base/rng.h"
#include "decode/decode.h"

#define FC_FREQUENCY_BLOCK ((size_t) 256)	/* frequencies a pass: features of
											 * all atoms stay in cache */
#define FC_PI 3.14159265358979323846
#define FC_MID_ITERATIONS 100	/* of a joint refinement on the way */

/* ---- local minimum of a smooth function between bounds, by L-BFGS-B ---- */

typedef struct fc_minimizer
{
	double	   *x;
	double	   *gradient;
	double	   *lower;
	double	   *upper;
	int		   *bound_kind;		/* 1 lower bound only, 2 both */
	double	   *wa;				/* L-BFGS-B's own */
	int		   *iwa;
} fc_minimizer;

/* The value at x, and the gradient there. */
typedef double (*fc_objective) (void *context, const double *x,
								double *gradient);

void		fc_minimizer_take(fc_arena *arena, size_t variables, fc_minimizer *w);

/*
 * w->x to a local minimum between the bounds, whose value is returned: until
 * it falls by less than tolerance, relative, or iterations.
 */
double		fc_minimize(fc_minimizer *w, size_t variables, fc_objective objective,
						void *context, double tolerance, int iterations);

/* ---- the stages ---- */

/* sum_i weight_i N(center_i, variance_i I) */
typedef struct fc_mixture
{
	size_t		count;
	double	   *center;			/* count x n */
	double	   *weight;
	double	   *variance;		/* per dimension */
} fc_mixture;

typedef struct fc_shift_work
{
	float	   *re;				/* m, coefficients of the field climbed */
	float	   *im;
	float	   *center;			/* starts x n, active points packed */
	float	   *gradient;		/* starts x n, active points packed */
	float	   *direction;		/* starts x n, normalised gradient at the best
								 * point */
	float	   *best;			/* starts x n */
	float	   *value;			/* starts, packed */
	float	   *best_value;
	float	   *step;
	size_t	   *active;
	float	   *cosine;			/* starts x FC_FREQUENCY_BLOCK */
	float	   *sine;
	double	   *envelope;		/* m */
	double	   *modes;			/* starts x n, distinct modes by falling
								 * height */
	size_t	   *order;
} fc_shift_work;

typedef struct fc_refine_work
{
	fc_minimizer solver;		/* of centers, weights, variances, each
								 * divided by its scale */
	double	   *scale;
	double	   *point;			/* x times scale */
	double	   *gradient;		/* at point; room for a variance an atom in
								 * every mode */
	double	   *cosine;			/* atoms x FC_FREQUENCY_BLOCK */
	double	   *sine;
	double	   *block;			/* REFINE_VECTORS x FC_FREQUENCY_BLOCK */
} fc_refine_work;

typedef struct fc_select_work
{
	double	   *center;			/* dictionary x n: atoms, then modes */
	double	   *variance;
	double	   *gram;			/* dictionary^2 */
	double	   *rhs;			/* dictionary */
	double	   *sub_gram;		/* atoms^2 */
	double	   *sub_rhs;		/* atoms */
	double	   *weight;			/* atoms */
	size_t	   *chosen;			/* atoms */
	bool	   *taken;			/* dictionary */
	double	   *cosine;			/* dictionary x FC_FREQUENCY_BLOCK */
	double	   *sine;
} fc_select_work;

typedef struct fc_improve_work
{
	fc_mixture	trial;
	double	   *gram;			/* atoms^2 */
	double	   *rhs;			/* atoms */
	double	   *factor;			/* atoms^2 */
	double	   *inverse;		/* atoms^2 */
	double	   *importance;		/* atoms */
	double	   *direction;		/* atoms x n, splits */
	double	   *gain;			/* atoms */
	double	   *hessian;		/* atoms x n x n */
	double	   *scaled;			/* FC_FREQUENCY_BLOCK x n */
	double	   *eigen_work;
	int		   *eigen_iwork;
	double	   *eigenvalues;	/* n */
} fc_improve_work;

typedef struct fc_points_work
{
	size_t		capacity;
	float	   *x;				/* capacity x n */
	double	   *weight;
	int32_t    *labels;
	double	   *centroids;		/* k x n */
	double	   *shares;			/* k */
	double	   *spreads;		/* k */
} fc_points_work;

typedef struct fc_reweight_work
{
	size_t		capacity;		/* sample rows used at most */
	size_t	   *row;			/* their numbers */
	double	   *center;			/* (rows + atoms) x n */
	double	   *variance;		/* rows + atoms */
	double	   *penalty;
	double	   *rhs;
	double	   *weight;
	double	   *gram;			/* (rows + atoms)^2 */
	double	   *cosine;			/* (rows + atoms) x FC_FREQUENCY_BLOCK */
	double	   *sine;
} fc_reweight_work;

typedef struct fc_decoding
{
	const fc_problem *problem;
	fc_decode_options options;	/* defaults resolved */
	size_t		n;
	size_t		m;
	size_t		k;
	size_t		atoms;			/* capacity of every mixture */
	size_t		starts;
	size_t		widest;			/* starts there is room for */
	size_t		rows;			/* usable pilot rows */
	size_t		sample_centroids;
	bool		uniform_starts; /* in the box; else normal */
	bool		discretized;	/* starts are not climbed from */
	/* of the sample centroids, the first: centroids given to start from */
	size_t		initial;
	fc_arena   *arena;
	fc_rng		rng;
	double		unit;			/* h in units of sigma */
	double		floor;			/* cost that noise alone explains */
	double		energy;			/* mean_j |z_j|^2 */
	size_t		informative;	/* moments above their noise */
	int			evaluations;

	double	   *omega;			/* m x n, half-turns per unit of u */
	float	   *omega_float;
	double	   *half_norm;		/* m, |omega_j|^2 / 2 in radians^2 */
	double	   *z_re;
	double	   *z_im;
	double	   *r_re;			/* residual of the current mixture */
	double	   *r_im;
	double	   *lower;			/* n, the box in u */
	double	   *upper;
	double	   *middle;			/* n, where normal starts fall, and their
								 * deviation */
	double	   *stddev;
	bool		moved;			/* the rows are not where the sample centroids
								 * are */
	bool		cut;			/* outliers were left out of the box */
	double	   *sample_centroid;	/* sample_centroids x n, in u */
	double	   *row;			/* rows x n, the pilot in u */
	double	   *row_weight;		/* rows, mean 1 */
	double	   *row_distance;	/* rows */
	size_t	   *permutation;	/* rows */
	double	   *start;			/* starts x n */
	double	   *start_value;

	double	   *envelope;		/* model gaussian: atoms x m; else NULL */
	double	   *covariance;		/* ... atoms x n x n */
	double	   *best_covariance;
	fc_mixture	current;
	fc_mixture	best;			/* of the replicates */
	fc_mixture	skeleton;		/* the k-atom solution */
	fc_mixture	best_skeleton;
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
 * setup.c: all of the decoding that follows from the problem, once its memory
 * is taken
 */
void		fc_set_up(fc_decoding *d);

/* atoms.c */
void
			fc_point_features(const fc_decoding *d, const double *center, size_t count,
							  size_t first, size_t width, double *cosine, double *sine);
void		fc_features(const fc_decoding *d, const double *center,
						const double *variance, size_t count, size_t first,
						size_t width, double *cosine, double *sine);
void
			fc_gram(fc_decoding *d, const double *center, const double *variance,
					size_t count, double *cosine, double *sine, double *gram, double *rhs);
void		fc_gram_of_mixture(fc_decoding *d, const fc_mixture *mixture);
double		fc_residual(fc_decoding *d, const fc_mixture *mixture);
void		fc_fit_weights(fc_decoding *d, fc_mixture *mixture);
void
			fc_mixture_take(const fc_decoding *d, fc_arena *arena, fc_mixture *mixture);
void
			fc_mixture_copy(const fc_decoding *d, const fc_mixture *from, fc_mixture *to);
void		fc_mixture_append(const fc_decoding *d, const double *center,
							  fc_mixture *mixture);
void		fc_mixture_remove(const fc_decoding *d, fc_mixture *mixture, size_t atom);
double		fc_mixture_variance(const fc_mixture *mixture);
size_t		fc_lightest(const fc_mixture *mixture);

/*
 * Angles of sine and cosine are in half-turns: h stands for the angle pi h, so
 * that frequencies scaled by 1/pi once need no other range reduction than
 * rounding.
 *
 * cosine[i] = cos(pi h_i), sine[i] = sin(pi h_i), where h comes in through
 * cosine. |h| <= 2^21 (float), 2^50 (double); beyond that the results are
 * finite but meaningless. Absolute error: 2e-7 (float), 1e-15 (double).
 */
void		fc_sincos_float(size_t count, float *cosine, float *sine);
void		fc_sincos_double(size_t count, double *cosine, double *sine);

/*
 * cosine[i] and sine[i] times exp(-variance half_norm[i]); relative error
 * 1e-14.
 */
void		fc_damp_double(size_t count, double variance, const double *half_norm,
						   double *cosine, double *sine);

/* y[i] = exp(-variance half_norm[i]) */
void		fc_envelope_double(size_t count, double variance, const double *half_norm,
							   double *y);

typedef enum fc_width_mode
{
	FC_WIDTH_NONE,				/* point atoms */
	FC_WIDTH_SHARED,			/* one variance for all */
	FC_WIDTH_EACH				/* a variance per atom */
} fc_width_mode;

/* modes.c */

/*
 * The number of the turn-th row of a random order that is made as it goes, in
 * d->permutation.
 */
size_t		fc_draw_row(fc_decoding *d, size_t turn);
void		fc_draw_starts(fc_decoding *d, const fc_mixture *chosen, size_t count,
						   double *start);
void		fc_shift_take(fc_decoding *d, fc_arena *arena);
size_t		fc_find_modes(fc_decoding *d, const fc_mixture *mixture, size_t limit);

/* Climb f_r from d->start; the number of the start that comes highest. */
size_t		fc_highest_start(fc_decoding *d, int iterations, double tolerance);

/* refine.c */
void		fc_refine_take(fc_decoding *d, fc_arena *arena);
size_t
			fc_refine_variables(const fc_decoding *d, fc_width_mode mode, size_t count);
double		fc_refine_evaluate(fc_decoding *d, fc_width_mode mode, size_t count,
							   const double *x, double *gradient);
double		fc_refine(fc_decoding *d, fc_width_mode mode, int iterations,
					  fc_mixture *mixture);

/*
 * The first count sample centroids, weighted and refined, or an empty mixture;
 * its cost.
 */
double		fc_warm_start(fc_decoding *d, fc_width_mode mode, size_t count,
						  fc_mixture *mixture);

/*
 * The last refinement of the papers' decoders: atoms as they are; then points,
 * by option polish, with a width that all share.
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
size_t
			fc_reweighted_points(fc_decoding *d, const fc_mixture *mixture, bool certified);
void		fc_cluster_points(fc_decoding *d, size_t count, const double *initial,
							  double margin, int iterations);

/* clompr.c; each returns the cost */
double		fc_clompr(fc_decoding *d, fc_mixture *mixture);

/*
 * -100 f_r and its gradient at one point, an fc_objective; f_r(c) = mean_j
 * Re(r_j exp(-i omega_j . c)), r in d->r_re, d->r_im.
 */
double		fc_evaluate_peak(void *decoding, const double *c, double *gradient);

/* sketch_shift.c; memory for model gaussian only */
void		fc_covariance_take(fc_decoding *d, fc_arena *arena);
double		fc_sketch_shift(fc_decoding *d, fc_mixture *mixture);

#endif							/* FC_DECODE_INTERNAL_H */

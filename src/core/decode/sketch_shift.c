/*
 * sketch_shift.c - sketch-and-shift.
 *
 *     for t = 1 .. T: climb the field f_r (internal.h) from L starts; the
 *                     highest point is added to the centers C;
 *                     alpha = argmin over alpha >= 0 of ||z - alpha' A(C)||;
 *                     r = z - alpha' A(C)
 *     keep the k largest alpha
 *     polish: (C, alpha) <- a local minimum of the cost, with a fitted common
 *             width (refine.c); exchanges of atoms (pursuit.c)
 *
 * A(C) are the moments of the atoms (atoms.c), and T = 2k by default. Atoms
 * are points (model dirac), or Gaussians whose covariance comes from the
 * curvature of the sketch's density at the mode (model gaussian, below). The
 * discretized variant takes the highest of the L starts without climbing.
 *
 * Without polish this is the algorithm of the paper, and starts are uniform
 * in the box. Their number must then grow with box volume / sigma^n, or no
 * start is on the slope of a mode. Only law gaussian works, with a sigma of
 * 1.4 to 2 standard deviations of a cluster. With polish, starts are normally
 * distributed. Any law works, with a sigma of 1 to 4 deviations.
 *
 * Option published is the algorithm as printed: without polish, and with the
 * fixed step of mean shift. A Gaussian atom is a point if its covariance is
 * not positive semidefinite.
 *
 * Cost: L m n per step of the climbs, T times. Belhadji, Gribonval 2024
 * (sketch and shift), section 4.1, algorithm 2.
 */
#include "decode/internal.h"

#include "base/blas.h"
#include "numerics/dense.h"

/*
 * Minimum ratio of the variance of f_z around a mode to the variance s^2 of
 * its kernel. In a principal direction, the former is 1 / lambda, where lambda
 * is an eigenvalue of H (see fc_covariance_take). Noise may reduce the ratio
 * below 1. If it is below this minimum in any direction, the atom is a point.
 * A guess.
 */
#define MIN_VARIANCE_RATIO	0.5

/*
 * SHIFT_ITERATIONS is the maximum number of steps of a climb. SHIFT_TOLERANCE
 * is the length of a step below which a climb ends, in bandwidths sqrt(eta)
 * (modes.c). With more and shorter steps, the climb ends closer to the mode,
 * in more time. Guesses.
 */
#define SHIFT_ITERATIONS	100
#define SHIFT_TOLERANCE	1e-3

/*
 * Allocates the covariances and envelopes of Gaussian atoms (model gaussian).
 * The covariance of an atom comes from the curvature of f = f_z, the density
 * of the sketch, at a mode c.
 *
 *     H = (grad f grad f' - f Hess f) / f^2      at the mode c
 *     Sigma_c = H^-1 - s^2 I                     s the bandwidth of the kernel
 *                                                of f
 *     atom_j = exp(i omega_j . c) exp(-omega_j' Sigma_c omega_j / 2)
 *
 * H is minus the Hessian of log f. Around an isolated Gaussian cluster f is a
 * Gaussian of covariance Sigma_c + s^2 I, whose log has that Hessian. If
 * Sigma_c is negative in some direction by less than s^2 / 2, because of a
 * constant column or noise, the atom has no width in that direction. If it is
 * more negative, or c is not a mode, the atom is a point. Model gaussian
 * needs frequencies of the law `gaussian`, for which f is a density smoothed
 * by a Gaussian kernel.
 *
 * Cost: m n^2 per atom. Belhadji, Gribonval 2024 (sketch and shift), appendix
 * B.
 */
void
fc_covariance_take(fc_decoding *d, fc_arena *arena)
{
	size_t		square = d->n * d->n;

	if (d->options.model != FC_MODEL_GAUSSIAN)
		return;
	d->envelope = FC_TAKE(arena, d->atoms * d->m, double);
	d->covariance = FC_TAKE(arena, d->atoms * square, double);
	d->best_covariance = FC_TAKE(arena, d->atoms * square, double);
}

/*
 * Computes f = f_z, its gradient (n values) and its Hessian (n x n) at c,
 * where z are the moments of the sketch.
 */
static void
local_shape(fc_decoding *d, const double *c, double *f, double *gradient,
			double *hessian)
{
	fc_improve_work *w = &d->improve;
	double		scale = 1.0 / (double) d->m;
	double	   *cosine = d->select.cosine;
	double	   *sine = d->select.sine;
	int			n = (int) d->n;
	fc_product	p = {
		.transpose_a = true,
		.m = d->n,
		.n = d->n,
		.alpha = -scale * FC_PI * FC_PI,
		.beta = 1.0
	};

	*f = 0.0;
	memset(gradient, 0, d->n * sizeof(double));
	memset(hessian, 0, d->n * d->n * sizeof(double));
	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);
		const double *omega = d->omega + first * d->n;

		fc_point_features(d, c, 1, first, width, cosine, sine);
		for (size_t j = 0; j < width; j++)
		{
			double		re = d->z_re[first + j];
			double		im = d->z_im[first + j];
			double		q = cosine[j] * re + sine[j] * im;

			*f += scale * q;
			cosine[j] = cosine[j] * im - sine[j] * re;
			for (size_t l = 0; l < d->n; l++)
				w->scaled[j * d->n + l] = q * omega[j * d->n + l];
		}
		cblas_dgemv(CblasRowMajor, CblasTrans, (int) width, n, scale * FC_PI,
					omega, n, cosine, 1, 1.0, gradient, 1);
		p.k = width;
		fc_multiply(&p, w->scaled, omega, hessian);
	}
}

/*
 * Computes the covariance (n x n) from H, which is destroyed. The covariance
 * is 0 if the atom must be a point (see above).
 */
static void
covariance_of(fc_decoding *d, double *h, double *covariance)
{
	fc_improve_work *w = &d->improve;
	double	   *values = w->eigenvalues;
	double		bandwidth = ((d->problem->bandwidth > 0.0 ? d->problem->bandwidth
							  : 1.0) /
							 d->unit);
	double		min_ratio = d->options.published ? 1.0 : MIN_VARIANCE_RATIO;

	fc_symmetric_eigen(h, d->n, values, w->eigen_work, w->eigen_iwork);
	memset(covariance, 0, d->n * d->n * sizeof(double));
	for (size_t i = 0; i < d->n; i++)
	{
		if (!(values[i] > 0.0) ||
			!(1.0 / values[i] >= min_ratio * bandwidth * bandwidth))
			return;
		values[i] = fmax(1.0 / values[i] - bandwidth * bandwidth, 0.0);
	}
	for (size_t i = 0; i < d->n; i++)
		cblas_dscal((int) d->n, sqrt(values[i]), h + i * d->n, 1);
	fc_rank_update_transposed(d->n, d->n, h, d->n, covariance);
	fc_mirror_lower(covariance, d->n);
}

/*
 * Computes the envelope (m values) of an atom: exp(-omega' Sigma omega / 2),
 * which is 1 for a point.
 */
static void
fill_envelope(fc_decoding *d, const double *covariance, double *envelope)
{
	int			n = (int) d->n;
	fc_product	p = {
		.n = d->n,
		.k = d->n,
		.alpha = 1.0
	};

	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);
		const double *omega = d->omega + first * d->n;

		p.m = width;
		fc_multiply(&p, omega, covariance, d->improve.scaled);
		for (size_t j = 0; j < width; j++)
			envelope[first + j] = exp(-0.5 * FC_PI * FC_PI *
									  cblas_ddot(n,
												 d->improve.scaled + j * d->n,
												 1, omega + j * d->n, 1));
	}
}

/* Sets the covariance of the atom at c, and its envelope. */
static void
set_covariance(fc_decoding *d, const double *c, size_t atom)
{
	double	   *covariance = d->covariance + atom * d->n * d->n;
	double	   *h = d->improve.hessian;
	double	   *gradient = d->improve.direction;
	double		f;

	local_shape(d, c, &f, gradient, h);
	memset(covariance, 0, d->n * d->n * sizeof(double));
	for (size_t i = 0; i < d->n && f > 0.0; i++)
		for (size_t j = 0; j < d->n; j++)
			h[i * d->n + j] = (gradient[i] * gradient[j] -
							   f * h[i * d->n + j]) /
				(f * f);
	if (f > 0.0)
		covariance_of(d, h, covariance);
	fill_envelope(d, covariance, d->envelope + atom * d->m);
}

static void
remove_covariance(const fc_decoding *d, size_t count, size_t atom)
{
	size_t		square = d->n * d->n;
	size_t		after = count - atom - 1;

	if (d->options.model != FC_MODEL_GAUSSIAN)
		return;
	memmove(d->envelope + atom * d->m, d->envelope + (atom + 1) * d->m,
			after * d->m * sizeof(double));
	memmove(d->covariance + atom * square, d->covariance + (atom + 1) * square,
			after * square * sizeof(double));
}

static void
add_highest(fc_decoding *d, fc_mixture *mixture)
{
	double	   *best;

	fc_draw_starts(d, mixture, d->starts, d->start);
	best = d->start + fc_highest_start(d, d->discretized ? 1 : SHIFT_ITERATIONS,
									   SHIFT_TOLERANCE) *
		d->n;
	fc_mixture_append(d, best, mixture);
	if (d->options.model == FC_MODEL_GAUSSIAN)
		set_covariance(d, best, mixture->count - 1);
}

double
fc_sketch_shift(fc_decoding *d, fc_mixture *mixture)
{
	double		cost;

	mixture->count = 0;
	(void) fc_residual(d, mixture); /* sets the residual r in d, from which
									 * add_highest climbs */
	for (int t = 0; t < d->options.rounds; t++)
	{
		add_highest(d, mixture);
		fc_fit_weights(d, mixture);
		fc_report_progress(d, "atoms", t + 1, fc_residual(d, mixture));
	}
	while (mixture->count > d->k)
	{
		size_t		min = fc_lightest(mixture);

		remove_covariance(d, mixture->count, min);
		fc_mixture_remove(d, mixture, min);
	}
	cost = fc_residual(d, mixture);
	if (!d->options.polish || d->discretized)
		return cost;

	/*
	 * Refine centers and weights together, with a common width if the model
	 * is dirac. In this model, then move atoms to clusters that were missed.
	 */
	cost = fc_polish(d, mixture);
	if (d->options.model == FC_MODEL_DIRAC)
		fc_improve(d, d->options.rounds, mixture, &cost);
	return cost;
}

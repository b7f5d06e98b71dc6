/*
 * clompr.c - compressive matching pursuit with replacement (CL-OMPR).
 *
 *     for t = 1 .. 2k, r the residual of the atoms C with weights alpha:
 *       1. c <- a maximum of the field f_r (internal.h) in the box, the
 *          highest that is reached from L starts
 *       2. C <- C + c
 *       3. if |C| > k: alpha = NNLS; the atom of smallest weight leaves
 *       4. alpha = argmin over alpha >= 0 of
 *          J = mean_j |z_j - sum_i alpha_i exp(i omega_j . c_i)|^2
 *       5. (C, alpha) <- a local minimum of J in the box
 *     then step 5 once more, with up to ten times the iterations
 *     polish: step 5 again, with a width that all atoms share
 *
 * The box contains the centers of all atoms (setup.c). Point atoms have norm
 * 1, so steps 3 and 4 solve the same NNLS problem (non-negative least
 * squares). A round after the k-th that does not lower J is undone, so J never
 * rises once there are k atoms. Rounds end early when J reaches the noise
 * floor. A single start climbs by L-BFGS-B, as in the paper. Several starts
 * climb together by mean shift, and then the highest climbs by L-BFGS-B.
 *
 * Option published is the algorithm as printed. L is 1, and every step 5
 * descends to a local minimum. All 2k rounds run, and no round is undone.
 * Nothing follows the last round.
 *
 * Cost of each round: L * m * n for each mean-shift step, and k * m * n for
 * each gradient. Keriven, Tremblay, Traonmilin, Gribonval 2017 (compressive
 * K-means), algorithm 1.
 */
#include "decode/internal.h"

#include "base/blas.h"

/*
 * Maximum number of mean-shift steps of a climb. With more steps, the mode is
 * reached more often, in more time. A guess.
 */
#define CLIMB_ITERATIONS	30

/*
 * Length of a mean-shift step below which a climb ends, in bandwidths
 * sqrt(eta) (modes.c). L-BFGS-B continues from there, so a smaller one only
 * costs time. A guess.
 */
#define CLIMB_TOLERANCE	1e-2

/*
 * Maximum number of L-BFGS-B iterations for a single atom. More iterations
 * would refine atoms that the joint refinement moves anyway. A guess.
 */
#define POLISH_ITERATIONS	100

/*
 * Maximum number of L-BFGS-B iterations of the refinement of all atoms after
 * each new atom. With more iterations, the cost is lower, and the fit takes
 * longer. A guess.
 */
#define JOINT_ITERATIONS	100

/*
 * Factor on f_r for L-BFGS-B, which divides the fall of a value by the value
 * only if the value is above 1. Values of f_r are below 1. A guess.
 */
#define VALUE_SCALE	100.0

double
fc_evaluate_peak(void *decoding, const double *c, double *gradient)
{
	fc_decoding *d = decoding;
	double	   *cosine = d->refine.cosine;
	double	   *sine = d->refine.sine;
	double		scale = VALUE_SCALE / (double) d->m;
	double		value = 0.0;
	int			n = (int) d->n;

	memset(gradient, 0, d->n * sizeof(double));
	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);
		const double *re = d->r_re + first;
		const double *im = d->r_im + first;

		fc_features(d, c, NULL, 1, first, width, cosine, sine);
		for (size_t j = 0; j < width; j++)
		{
			value -= scale * (cosine[j] * re[j] + sine[j] * im[j]);
			cosine[j] = cosine[j] * im[j] - sine[j] * re[j];
		}
		cblas_dgemv(CblasRowMajor, CblasTrans, (int) width, n, -scale * FC_PI,
					d->omega + first * d->n, n, cosine, 1, 1.0, gradient, 1);
		fc_check();
	}
	d->evaluations++;
	return value;
}

/*
 * Moves center to a local maximum of the field f_r (internal.h) in the box
 * that contains the centers of all atoms.
 */
static void
climb(fc_decoding *d, double *center)
{
	fc_minimizer *w = &d->refine.solver;

	for (size_t l = 0; l < d->n; l++)
	{
		w->x[l] = center[l];
		w->lower[l] = d->lower[l];
		w->upper[l] = d->upper[l];
		w->bound_kind[l] = 2;
	}
	(void) fc_minimize(w, d->n, fc_evaluate_peak, d, d->options.tolerance,
					   POLISH_ITERATIONS);
	memcpy(center, w->x, d->n * sizeof(double));
}

/* Steps 1 and 2: finds a new atom and appends it to the mixture. */
static void
find_atom(fc_decoding *d, fc_mixture *mixture)
{
	double	   *best;

	fc_draw_starts(d, mixture, d->starts, d->start);
	best = d->start + (d->starts > 1 ? fc_highest_start(d, CLIMB_ITERATIONS,
														CLIMB_TOLERANCE)
					   : 0) *
		d->n;
	climb(d, best);
	fc_mixture_append(d, best, mixture);
}

/*
 * Runs steps 3 to 5 after find_atom has appended an atom. improve.trial holds
 * the mixture before the atom, for undoing the round. Sets *cost to the cost
 * of the mixture unless the round is undone.
 */
static void
take_atom(fc_decoding *d, fc_mixture *mixture, double *cost)
{
	fc_mixture *before = &d->improve.trial;
	bool		replacing = mixture->count > d->k;
	double		reached;

	fc_fit_weights(d, mixture);
	if (replacing)
	{
		size_t		min = fc_lightest(mixture);

		fc_mixture_remove(d, mixture, min);
		if (min == d->k && !d->options.published)
		{
			fc_mixture_copy(d, before, mixture);
			return;
		}
		fc_fit_weights(d, mixture);
	}
	reached = d->options.published
		? fc_converge(d, mixture)
		: fc_refine(d, FC_WIDTH_NONE, JOINT_ITERATIONS, mixture);
	if (replacing && !(reached < *cost) && !d->options.published)
		fc_mixture_copy(d, before, mixture);
	else
		*cost = reached;
}

double
fc_clompr(fc_decoding *d, fc_mixture *mixture)
{
	double		cost = fc_warm_start(d, FC_WIDTH_NONE, d->initial, mixture);

	for (int t = 0;
		 t < d->options.rounds && (cost > d->floor || d->options.published);
		 t++)
	{
		fc_residual(d, mixture);
		fc_mixture_copy(d, mixture, &d->improve.trial);
		find_atom(d, mixture);
		take_atom(d, mixture, &cost);
		fc_report_progress(d, "atoms", t + 1, cost);
	}
	while (mixture->count < d->k)
	{
		fc_residual(d, mixture);
		find_atom(d, mixture);
	}
	return d->options.published ? cost : fc_polish(d, mixture);
}

/*
 * refine.c - moves all atoms together to fit the moments.
 *
 *     min J = mean_j | z_j - sum_i a_i exp(i omega_j . c_i)
 *                                  exp(-v_i |omega_j|^2 / 2) |^2
 *     over c_i in the box (setup.c), a_i >= 0, v_i >= 0
 *     dJ/da_i = -2 mean_j e_ij (cos_ij r_j' + sin_ij r_j''),   r = r' + i r''
 *     dJ/dv_i =      mean_j a_i e_ij (cos_ij r_j' + sin_ij r_j'') |omega_j|^2
 *     dJ/dc_i = -2 mean_j a_i e_ij (cos_ij r_j'' - sin_ij r_j') omega_j
 *     r the residual, e_ij = exp(-v_i |omega_j|^2 / 2),
 *     cos_ij = cos(omega_j . c_i), sin_ij = sin(omega_j . c_i)
 *
 * Variables are divided by scales that make their curvatures equal. Let e_j =
 * exp(-v |omega_j|^2 / 2) for the mean variance v, and q_p = mean_j e_j^2
 * (|omega_j|^2 / 2)^p. The diagonal of the Gauss-Newton matrix is then q_0
 * for a_i, (2/n) a_i^2 q_1 for a coordinate of c_i and a_i^2 q_2 for v_i
 * (summed over i when shared). The curvature of a center is a_i^2 times the
 * curvature of a weight, so without these scales thirty atoms need ten times
 * the iterations.
 *
 * If all atoms share one variance, e multiplies vectors of length m instead
 * of the features. Features are in double: near the noise floor J is 1e-6 of
 * |z|^2, and float features would stall the line search.
 *
 * Cost: atoms x m x n per evaluation. Keriven, Tremblay, Traonmilin,
 * Gribonval 2017 (compressive K-means), alg. 1 step 5.
 */
#include "decode/internal.h"

#include "base/blas.h"
#include "numerics/dense.h"

/*
 * Factor on J / mean_j |z_j|^2, so that L-BFGS-B minimises percent of |z|^2.
 * L-BFGS-B divides the fall of a value by the value only if the value is above
 * 1; in percent, its tolerances fit.
 */
#define COST_SCALE	100.0

/* Minimum variance of an atom at the start of a refinement. A guess. */
#define MIN_START_VARIANCE	1e-3

/*
 * Minimum weight of an atom in the scales of the variables, relative to the
 * mean weight, so that the scales of light atoms stay finite. A guess.
 */
#define MIN_SCALED_SHARE	0.1

/*
 * Value to which smaller mean curvatures q_p are raised, so that the scales of
 * the variables (see above), which are divided by sqrt(q_p), stay finite.
 */
#define SMALLEST_CURVATURE	1e-12

/*
 * Maximum number of iterations of the last refinement of the papers' decoders,
 * which is meant to converge. A guess.
 */
#define LAST_ITERATIONS	1000

/*
 * Number of correction pairs that L-BFGS-B remembers. With more pairs, fewer
 * iterations are needed; time and memory grow in proportion. A guess.
 */
#define LBFGS_PAIRS	12

/*
 * Largest component of the projected gradient below which a refinement ends.
 * A guess.
 */
#define GRADIENT_TOLERANCE	1e-7

/* Length of the task string of L-BFGS-B. */
#define TASK_LENGTH	60

/* Distance from 1 to the next double. */
#define EPSILON	2.220446049250313e-16

/*
 * ---- L-BFGS-B ----
 *
 * Reverse communication: the library returns to its caller for values, so the
 * interrupt check runs inside every evaluation. Byrd, Lu, Nocedal, Zhu 1995;
 * version 3.0 of their code.
 */

void
fc_minimizer_take(fc_arena *arena, size_t variables, fc_minimizer *w)
{
	size_t		pairs = LBFGS_PAIRS;

	w->x = FC_TAKE(arena, variables, double);
	w->gradient = FC_TAKE(arena, variables, double);
	w->lower = FC_TAKE(arena, variables, double);
	w->upper = FC_TAKE(arena, variables, double);
	w->bound_kind = FC_TAKE(arena, variables, int);
	w->wa = FC_TAKE(arena,
					(2 * pairs + 5) * variables + 11 * pairs * pairs +
					8 * pairs,
					double);
	w->iwa = FC_TAKE(arena, 3 * variables, int);
}

double
fc_minimize(fc_minimizer *w, size_t variables, fc_objective objective,
			void *context, double tolerance, int iterations)
{
	double		value = 0.0;
	double		factr = tolerance / EPSILON;
	double		pgtol = GRADIENT_TOLERANCE;
	int			n = (int) variables;
	int			pairs = LBFGS_PAIRS;
	int			silent = -1;
	char		task[TASK_LENGTH];
	char		csave[TASK_LENGTH];
	int			lsave[4];
	int			isave[44];
	double		dsave[29];

	memset(task, ' ', TASK_LENGTH);
	memcpy(task, "START", strlen("START"));
	memset(csave, ' ', TASK_LENGTH);
	for (;;)
	{
		setulb_(&n, &pairs, w->x, w->lower, w->upper, w->bound_kind, &value,
				w->gradient, &factr, &pgtol, w->wa, w->iwa, task, &silent,
				csave, lsave, isave, dsave, TASK_LENGTH, TASK_LENGTH);
		if (strncmp(task, "FG", 2) == 0)
			value = objective(context, w->x, w->gradient);
		else if (strncmp(task, "NEW_X", 5) != 0 || --iterations <= 0)
			return value;
	}
}

/* ---- the refinement ---- */

/*
 * Vectors of refine.block, FC_FREQUENCY_BLOCK values each: the envelope e,
 * the weighted residual 2/m e r, and the weighted residual times |omega|^2 /
 * 2.
 */
enum
{
	ENVELOPE, RESIDUAL_RE, RESIDUAL_IM, CURVED_RE, CURVED_IM, REFINE_VECTORS
};

size_t
fc_refine_variables(const fc_decoding *d, fc_width_mode mode, size_t count)
{
	size_t		widths = (mode == FC_WIDTH_NONE ? 0
						  : mode == FC_WIDTH_SHARED ? 1
						  : count);

	return count * (d->n + 1) + widths;
}

void
fc_refine_take(fc_decoding *d, fc_arena *arena)
{
	fc_refine_work *w = &d->refine;
	size_t		variables = fc_refine_variables(d, FC_WIDTH_EACH, d->atoms);

	fc_minimizer_take(arena, variables, &w->solver);
	w->scale = FC_TAKE(arena, variables, double);
	w->point = FC_TAKE(arena, variables, double);
	w->gradient = FC_TAKE(arena, variables, double);
	w->cosine = FC_TAKE(arena, d->atoms * FC_FREQUENCY_BLOCK, double);
	w->sine = FC_TAKE(arena, d->atoms * FC_FREQUENCY_BLOCK, double);
	w->block = FC_TAKE(arena, REFINE_VECTORS * FC_FREQUENCY_BLOCK, double);
}

static void
multiply(int rows, int columns, double factor, const double *matrix,
		 const double *vector, double *sum)
{
	cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, columns, factor, matrix,
				columns, vector, 1, 1.0, sum, 1);
}

/*
 * Computes the weighted residual 2/m e_j r_j of one block of frequencies,
 * which the gradient contains, and its product with |omega_j|^2 / 2. Returns
 * the sum of |r_j|^2 over the block.
 */
static double
block_residual(fc_decoding *d, size_t count, const double *weight, size_t first,
			   size_t width)
{
	fc_refine_work *w = &d->refine;
	double	   *envelope = w->block + ENVELOPE * FC_FREQUENCY_BLOCK;
	double	   *re = w->block + RESIDUAL_RE * FC_FREQUENCY_BLOCK;
	double	   *im = w->block + RESIDUAL_IM * FC_FREQUENCY_BLOCK;
	double		scale = 2.0 / (double) d->m;
	double		sum = 0.0;

	cblas_dgemv(CblasRowMajor, CblasTrans, (int) count, (int) width, 1.0,
				w->cosine, (int) width, weight, 1, 0.0, re, 1);
	cblas_dgemv(CblasRowMajor, CblasTrans, (int) count, (int) width, 1.0,
				w->sine, (int) width, weight, 1, 0.0, im, 1);
	for (size_t j = 0; j < width; j++)
	{
		double		r_re = d->z_re[first + j] - envelope[j] * re[j];
		double		r_im = d->z_im[first + j] - envelope[j] * im[j];

		sum += r_re * r_re + r_im * r_im;
		re[j] = scale * envelope[j] * r_re;
		im[j] = scale * envelope[j] * r_im;
		w->block[CURVED_RE * FC_FREQUENCY_BLOCK + j] = re[j] *
			d->half_norm[first + j];
		w->block[CURVED_IM * FC_FREQUENCY_BLOCK + j] = im[j] *
			d->half_norm[first + j];
	}
	return sum;
}

/*
 * Adds the terms of one block to the gradient; call block_residual for the
 * block first.
 */
static void
block_gradient(fc_decoding *d, fc_width_mode mode, size_t count,
			   const double *weight, size_t first, size_t width,
			   double *gradient)
{
	fc_refine_work *w = &d->refine;
	const double *re = w->block + RESIDUAL_RE * FC_FREQUENCY_BLOCK;
	const double *im = w->block + RESIDUAL_IM * FC_FREQUENCY_BLOCK;
	int			rows = (int) count;
	int			columns = (int) width;
	fc_product	p = {
		.m = count,
		.n = d->n,
		.k = width,
		.alpha = -FC_PI,
		.beta = 1.0
	};

	multiply(rows, columns, -1.0, w->cosine, re, gradient + count * d->n);
	multiply(rows, columns, -1.0, w->sine, im, gradient + count * d->n);
	if (mode != FC_WIDTH_NONE)
	{
		multiply(rows, columns, 1.0, w->cosine,
				 w->block + CURVED_RE * FC_FREQUENCY_BLOCK,
				 gradient + count * (d->n + 1));
		multiply(rows, columns, 1.0, w->sine,
				 w->block + CURVED_IM * FC_FREQUENCY_BLOCK,
				 gradient + count * (d->n + 1));
	}
	for (size_t i = 0; i < count; i++)
	{
		double	   *cosine = w->cosine + i * width;
		const double *sine = w->sine + i * width;

		for (size_t j = 0; j < width; j++)
			cosine[j] = weight[i] * (cosine[j] * im[j] - sine[j] * re[j]);
	}
	fc_multiply(&p, w->cosine, d->omega + first * d->n, gradient);
}

/*
 * Returns J at x, which holds all centers, then all weights, then the
 * variances. Stores the gradient at x in `gradient`, which has space for count
 * x (n + 2) values in every mode.
 */
double
fc_refine_evaluate(fc_decoding *d, fc_width_mode mode, size_t count,
				   const double *x, double *gradient)
{
	fc_refine_work *w = &d->refine;
	const double *weight = x + count * d->n;
	const double *variance = weight + count;
	double	   *slope = gradient + count * (d->n + 1);
	double		sum = 0.0;

	memset(gradient, 0, count * (d->n + 2) * sizeof(double));
	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);

		fc_features(d, x, mode == FC_WIDTH_EACH ? variance : NULL, count, first,
					width, w->cosine, w->sine);
		fc_envelope_double(width, mode == FC_WIDTH_SHARED ? variance[0] : 0.0,
						   d->half_norm + first,
						   w->block + ENVELOPE * FC_FREQUENCY_BLOCK);
		sum += block_residual(d, count, weight, first, width);
		block_gradient(d, mode, count, weight, first, width, gradient);
	}
	for (size_t i = 0; i < count; i++)
		slope[i] *= weight[i];
	for (size_t i = 1; mode == FC_WIDTH_SHARED && i < count; i++)
		slope[0] += slope[i];
	d->evaluations++;
	return sum / (double) d->m;
}

/*
 * Computes q_0, q_1, q_2 as defined at the top of this file, bounded away from
 * 0.
 */
static void
curvatures(fc_decoding *d, double variance, double q[3])
{
	double	   *squared = d->shift.envelope;

	memset(q, 0, 3 * sizeof(double));
	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);
		const double *half_norm = d->half_norm + first;

		fc_check();
		fc_envelope_double(width, 2.0 * variance, half_norm, squared);
		for (size_t j = 0; j < width; j++)
		{
			double		weighted = squared[j] * half_norm[j];

			q[0] += squared[j];
			q[1] += weighted;
			q[2] += weighted * half_norm[j];
		}
	}
	for (int p = 0; p < 3; p++)
		q[p] = fmax(q[p] / (double) d->m, SMALLEST_CURVATURE);
}

/*
 * Sets refine.scale to curvature^(-1/2) for each variable. In the curvatures,
 * weights below MIN_SCALED_SHARE of the mean weight are raised to this value.
 */
static void
set_scales(fc_decoding *d, fc_width_mode mode, const fc_mixture *mixture)
{
	double	   *center = d->refine.scale;
	double	   *weight = center + mixture->count * d->n;
	double	   *width = weight + mixture->count;
	double		total = fc_weight_sum(mixture->weight, mixture->count);
	double		squares = 0.0;
	double		q[3];

	curvatures(d, fc_mixture_variance(mixture), q);
	if (!(total > 0.0))
		total = 1.0;
	for (size_t i = 0; i < mixture->count; i++)
	{
		double		share = fmax(mixture->weight[i],
								 MIN_SCALED_SHARE * total / (double) mixture->count);

		squares += share * share;
		for (size_t l = 0; l < d->n; l++)
			center[i * d->n + l] = 1.0 /
				(share * sqrt(2.0 * q[1] / (double) d->n));
		weight[i] = 1.0 / sqrt(q[0]);
		if (mode == FC_WIDTH_EACH)
			width[i] = 1.0 / (share * sqrt(q[2]));
	}
	if (mode == FC_WIDTH_SHARED)
		width[0] = 1.0 / sqrt(squares * q[2]);
}

static void
pack(fc_decoding *d, fc_width_mode mode, const fc_mixture *mixture)
{
	const double *scale = d->refine.scale;
	fc_minimizer *w = &d->refine.solver;
	size_t		centers = mixture->count * d->n;
	size_t		variables = fc_refine_variables(d, mode, mixture->count);

	memcpy(w->x, mixture->center, centers * sizeof(double));
	memcpy(w->x + centers, mixture->weight, mixture->count * sizeof(double));
	for (size_t i = centers + mixture->count; i < variables; i++)
	{
		double		variance = (mode == FC_WIDTH_SHARED
								? fc_mixture_variance(mixture)
								: mixture->variance[i - centers - mixture->count]);

		w->x[i] = fmax(variance, MIN_START_VARIANCE);
	}
	for (size_t i = 0; i < variables; i++)
	{
		w->x[i] /= scale[i];
		w->lower[i] = i < centers ? d->lower[i % d->n] / scale[i] : 0.0;
		w->upper[i] = i < centers ? d->upper[i % d->n] / scale[i] : 0.0;
		w->bound_kind[i] = i < centers ? 2 : 1;
	}
}

static void
unpack(fc_decoding *d, fc_width_mode mode, fc_mixture *mixture)
{
	const double *x = d->refine.point;
	const double *variance = x + mixture->count * (d->n + 1);

	memcpy(mixture->center, x, mixture->count * d->n * sizeof(double));
	memcpy(mixture->weight, x + mixture->count * d->n,
		   mixture->count * sizeof(double));
	for (size_t i = 0; i < mixture->count && mode != FC_WIDTH_NONE; i++)
		mixture->variance[i] = mode == FC_WIDTH_SHARED ? variance[0]
			: variance[i];
}

typedef struct refinement
{
	fc_decoding *d;
	fc_width_mode mode;
	size_t		count;			/* number of atoms */
	size_t		variables;
	double		unit;			/* factor that converts J to the minimised
								 * cost */
} refinement;

/* Sets refine.point to the variables x, converted to natural units. */
static void
unscale(const refinement *r, const double *x)
{
	for (size_t i = 0; i < r->variables; i++)
		r->d->refine.point[i] = x[i] * r->d->refine.scale[i];
}

static double
evaluate_scaled(void *context, const double *x, double *gradient)
{
	const refinement *r = context;
	const double *scale = r->d->refine.scale;
	double		value;

	unscale(r, x);
	value = r->unit * fc_refine_evaluate(r->d, r->mode, r->count,
										 r->d->refine.point,
										 r->d->refine.gradient);
	for (size_t i = 0; i < r->variables; i++)
		gradient[i] = r->unit * scale[i] * r->d->refine.gradient[i];
	return value;
}

/*
 * Moves the mixture towards a local minimum of J, for at most `iterations`
 * iterations. Returns J of the result.
 */
double
fc_refine(fc_decoding *d, fc_width_mode mode, int iterations,
		  fc_mixture *mixture)
{
	refinement	r = {
		d,
		mode,
		mixture->count,
		fc_refine_variables(d, mode, mixture->count),
		COST_SCALE / fmax(d->energy, 1e-30)
	};
	double		value;

	set_scales(d, mode, mixture);
	pack(d, mode, mixture);
	value = fc_minimize(&d->refine.solver, r.variables, evaluate_scaled, &r,
						d->options.tolerance, iterations);
	unscale(&r, d->refine.solver.x);
	unpack(d, mode, mixture);
	return value / r.unit;
}

double
fc_warm_start(fc_decoding *d, fc_width_mode mode, size_t count,
			  fc_mixture *mixture)
{
	mixture->count = count;
	for (size_t i = 0; i < count; i++)
	{
		mixture->variance[i] = 0.0;
		for (size_t l = 0; l < d->n; l++)
			mixture->center[i * d->n + l] = fc_clip(d->sample_centroid[i * d->n + l],
													d->lower[l], d->upper[l]);
	}
	if (count == 0)
		return fc_residual(d, mixture);
	fc_fit_weights(d, mixture);
	return fc_refine(d, mode, FC_MID_ITERATIONS, mixture);
}

double
fc_converge(fc_decoding *d, fc_mixture *mixture)
{
	return fc_refine(d, FC_WIDTH_NONE, LAST_ITERATIONS, mixture);
}

double
fc_polish(fc_decoding *d, fc_mixture *mixture)
{
	double		cost = fc_converge(d, mixture);

	return d->options.polish && d->options.model == FC_MODEL_DIRAC
		? fc_refine(d, FC_WIDTH_SHARED, LAST_ITERATIONS, mixture)
		: cost;
}

/*
 * improve.c - exchange moves that leave a bad local minimum, and pruning.
 *
 *     add:    a mode c of the residual's field;   predicted gain f_r(c)^2 / ||A||^2
 *     split:  atom i into c_i +- tau v, v the top eigenvector of the Hessian
 *             H_i = -mean_j e_j Re(conj(r_j) exp(i omega_j . c_i)) omega_j omega_j'
 *             of f_r at c_i;                      predicted gain lambda^2 / ||(v . omega)^2 e||^2
 *     drop:   the least important atom, alpha_i^2 / (G^-1)_ii being the rise of
 *             the cost without it
 *
 * A round tries the most promising splits in turn, then, if none helps, the
 * highest mode (a mean shift costs as much as a trial): apply, drop one other
 * atom, refine, keep if the cost falls by 1 %.  The number of atoms never changes.
 * Atoms whose importance is below their share of the noise are dropped at the end.
 *
 * Cost of the Hessians: atoms x m x n^2 a round.
 */
#include "decode/internal.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "numerics/dense.h"
#include "numerics/nnls.h"
#include "base/pieces.h"

#define SPLITS_PER_ROUND 2		/* moves of each kind tried a round */
#define ADDS_PER_ROUND 1
#define LEAST_GAIN 0.01
#define HOPELESS_COST_RATIO 1.5	/* a trial this many times worse is not refined further */
#define TRIAL_ITERATIONS 25
#define SIGNIFICANT_NOISE_RATIO 2.0
#define EXPONENTIAL 16			/* multiplications that exp costs, about */
#define ISOLATION_BANDWIDTHS 4.0	/* bandwidths: clusters are about one in radius */

typedef struct move
{
	double		gain;
	bool		split;
	size_t		index;			/* mode or atom */
} move;

void
fc_improve_take(fc_decoding *d, fc_arena *arena)
{
	fc_improve_work *w = &d->improve;
	size_t		square = d->atoms * d->atoms;
	size_t		n = d->n;

	fc_mixture_take(d, arena, &w->trial);
	w->gram = FC_TAKE(arena, square, double);
	w->rhs = FC_TAKE(arena, d->atoms, double);
	w->factor = FC_TAKE(arena, square, double);
	w->inverse = FC_TAKE(arena, square, double);
	w->importance = FC_TAKE(arena, d->atoms, double);
	w->direction = FC_TAKE(arena, d->atoms * n, double);
	w->gain = FC_TAKE(arena, d->atoms, double);
	w->hessian = FC_TAKE(arena, d->atoms * n * n, double);
	w->squared = FC_TAKE(arena, d->atoms * FC_FREQUENCY_BLOCK, double);
	w->scaled = FC_TAKE(arena, FC_FREQUENCY_BLOCK * n, double);
	w->eigenvalues = FC_TAKE(arena, n, double);
	w->eigen_work = FC_TAKE(arena, fc_eigen_work(n), double);
	w->eigen_iwork = FC_TAKE(arena, fc_eigen_integers(n), int);
}

/* importance_i = weight_i^2 / (G^-1)_ii */
static fc_status
weigh_atoms(fc_decoding *d, const fc_mixture *mixture)
{
	fc_improve_work *w = &d->improve;
	size_t		count = mixture->count;
	double		trace = 0.0;
	fc_status	status = FC_OK;

	for (size_t i = 0; i < count; i++)
		trace += w->gram[i * count + i];
	fc_copy_pieces(w->factor, w->gram, count * count * sizeof(double));
	fc_clear_pieces(w->inverse, count * count * sizeof(double));
	if (status != FC_OK)
		return status;
	for (size_t i = 0; i < count; i++)
	{
		w->factor[i * count + i] += 1e-9 * trace / (double) count + 1e-300;
		w->inverse[i * count + i] = 1.0;
	}
	status = fc_solve_positive(w->factor, count, w->inverse, count);
	for (size_t i = 0; i < count; i++)
		w->importance[i] = mixture->weight[i] * mixture->weight[i] / w->inverse[i * count + i];
	return status;
}

static fc_status
gram_of(fc_decoding *d, const fc_mixture *mixture)
{
	return fc_gram(d, mixture->center, mixture->variance, mixture->count,
				   d->select.cosine, d->select.sine, d->improve.gram, d->improve.rhs);
}

/* Weights of the mixture by NNLS on the Gram matrix at hand. */
static fc_status
fit_weights(fc_decoding *d, fc_mixture *mixture)
{
	return fc_nnls(d->improve.gram, mixture->count, d->improve.rhs, mixture->count, NULL,
				   d->arena, mixture->weight);
}

/* Take an atom out of the mixture and out of its Gram matrix. */
static void
remove_atom(fc_decoding *d, fc_mixture *mixture, size_t atom)
{
	fc_improve_work *w = &d->improve;
	size_t		count = mixture->count;
	double	   *out = w->gram;
	size_t		done = 0;

	for (size_t i = 0; i < count; i++)
	{
		fc_check_every(&done, count);
		for (size_t j = 0; j < count; j++)
			if (i != atom && j != atom)
				*out++ = w->gram[i * count + j];
	}
	memmove(w->rhs + atom, w->rhs + atom + 1, (count - atom - 1) * sizeof(double));
	fc_mixture_remove(d, mixture, atom);
}

/* Add one block's share to the Hessian of an atom, whose features there are cosine and sine (width). */
static fc_status
block_hessian(fc_decoding *d, const double *cosine, const double *sine, size_t first, size_t width, double *hessian)
{
	size_t		n = d->n;
	double	   *scaled = d->improve.scaled;
	const double *omega = d->omega + first * n;
	fc_product	p = {.transpose_a = true,.m = n,.n = n,.k = width,.alpha = -FC_PI * FC_PI / (double) d->m,.beta = 1.0,
	.lda = n,.ldb = n,.ldc = n};

	for (size_t j = 0; j < width; j++)
	{
		double		q = cosine[j] * d->r_re[first + j] + sine[j] * d->r_im[first + j];

		for (size_t l = 0; l < n; l++)
			scaled[j * n + l] = q * omega[j * n + l];
	}
	return fc_multiply(&p, scaled, omega, hessian);
}

/* hessian (count x n x n) of f_r at the atoms; r in d->r_re, d->r_im */
static fc_status
hessians(fc_decoding *d, const fc_mixture *mixture)
{
	fc_improve_work *w = &d->improve;
	size_t		square = d->n * d->n;
	fc_status	status = FC_OK;

	fc_clear_pieces(w->hessian, mixture->count * square * sizeof(double));
	for (size_t first = 0; first < d->m && status == FC_OK; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);

		status = fc_features(d, mixture->center, mixture->variance, mixture->count, first, width,
							 d->select.cosine, d->select.sine);
		for (size_t i = 0; i < mixture->count && status == FC_OK; i++)
			status = block_hessian(d, d->select.cosine + i * width, d->select.sine + i * width, first, width,
								   w->hessian + i * square);
	}
	return status;
}

/* mean_j exp(-v |omega_j|^2) (v . omega_j)^4 along a direction v */
static void
split_norm(fc_decoding *d, const double *direction, double variance, double *norm)
{
	size_t		done = 0;

	*norm = 0.0;
	for (size_t j = 0; j < d->m; j++)
	{
		double		projection = FC_PI * cblas_ddot((int) d->n, direction, 1, d->omega + j * d->n, 1);
		double		square = projection * projection;

		fc_check_every(&done, EXPONENTIAL + d->n);
		*norm += exp(-2.0 * variance * d->half_norm[j]) * square * square / (double) d->m;
	}
}

/* gain_i and direction_i of splitting atom i, from its Hessian (destroyed) */
static fc_status
split_gain(fc_decoding *d, size_t atom, double variance)
{
	fc_improve_work *w = &d->improve;
	double	   *hessian = w->hessian + atom * d->n * d->n;
	double	   *top = w->direction + atom * d->n;
	double		norm;
	double		curvature;
	fc_status	status = fc_symmetric_eigen(hessian, d->n, w->eigenvalues, w->eigen_work, w->eigen_iwork);

	w->gain[atom] = 0.0;
	curvature = w->eigenvalues[d->n - 1];
	if (status != FC_OK || !(curvature > 0.0))
		return FC_OK;			/* nothing to gain */
	memcpy(top, hessian + (d->n - 1) * d->n, d->n * sizeof(double));
	split_norm(d, top, variance, &norm);
	w->gain[atom] = curvature * curvature / fmax(norm, 1e-300);
	return status;
}

static void
insert_move(move *moves, size_t *count, size_t capacity, move candidate)
{
	size_t		place = *count;

	while (place > 0 && moves[place - 1].gain < candidate.gain)
	{
		if (place < capacity)
			moves[place] = moves[place - 1];
		place--;
	}
	if (place < capacity)
		moves[place] = candidate;
	if (*count < capacity)
		(*count)++;
}

/* The splits of largest predicted gain, best first; the mixture's residual stays in d->r_re, d->r_im. */
static fc_status
propose_splits(fc_decoding *d, const fc_mixture *mixture, move *moves, size_t *count)
{
	fc_status	status = fc_residual(d, mixture, NULL);

	*count = 0;
	if (status == FC_OK)
		status = hessians(d, mixture);
	for (size_t i = 0; status == FC_OK && i < mixture->count; i++)
	{
		status = split_gain(d, i, mixture->variance[i]);
		if (d->improve.gain[i] > 0.0)
			insert_move(moves, count, SPLITS_PER_ROUND, (move) {d->improve.gain[i], true, i});
	}
	return status;
}

/* The highest modes of the residual left by propose_splits. */
static fc_status
propose_adds(fc_decoding *d, const fc_mixture *mixture, move *moves, size_t *count)
{
	double		variance = fc_mixture_variance(mixture);
	double		eta;
	double		norm;
	fc_status	status = fc_find_modes(d, mixture, ADDS_PER_ROUND, count);

	if (status == FC_OK)
		fc_bandwidth(d, variance, &eta, &norm);
	if (status != FC_OK)
		return status;
	for (size_t i = 0; i < *count; i++)
		moves[i] = (move) {d->shift.height[i] * d->shift.height[i] / norm, false, i};
	return FC_OK;
}

/* trial = mixture with the move applied: one atom more. */
static void
apply_move(fc_decoding *d, const fc_mixture *mixture, const move *m, fc_mixture *trial)
{
	double		variance = fc_mixture_variance(mixture);
	double		step = variance > 0.0 ? sqrt(variance) : 0.5;
	double	   *added = trial->center + mixture->count * d->n;

	fc_mixture_copy(d, mixture, trial);
	trial->count++;
	trial->variance[mixture->count] = m->split ? mixture->variance[m->index] : variance;
	trial->weight[mixture->count] = 0.0;
	if (!m->split)
	{
		memcpy(added, d->shift.modes + m->index * d->n, d->n * sizeof(double));
		return;
	}
	for (size_t l = 0; l < d->n; l++)
	{
		double		shift = step * d->improve.direction[m->index * d->n + l];
		double		center = mixture->center[m->index * d->n + l];

		trial->center[m->index * d->n + l] = fc_clip(center - shift, d->lower[l], d->upper[l]);
		added[l] = fc_clip(center + shift, d->lower[l], d->upper[l]);
	}
	trial->weight[m->index] /= 2.0;
	trial->weight[mixture->count] = trial->weight[m->index];
}

/* Drop the least important atom that the move did not touch. */
static fc_status
drop_one(fc_decoding *d, const move *m, fc_mixture *trial)
{
	size_t		newest = trial->count - 1;
	size_t		least = newest;
	fc_status	status = gram_of(d, trial);

	if (status == FC_OK && !m->split)
		status = fit_weights(d, trial);
	if (status == FC_OK)
		status = weigh_atoms(d, trial);
	if (status != FC_OK)
		return status;
	for (size_t i = 0; i < newest; i++)
		if (!(m->split && i == m->index) &&
			(least == newest || d->improve.importance[i] < d->improve.importance[least]))
			least = i;
	remove_atom(d, trial, least);
	return status == FC_OK ? fit_weights(d, trial) : status;
}

/* Try a move; on success the mixture becomes the trial. */
static fc_status
try_move(fc_decoding *d, const move *m, fc_mixture *mixture, double *cost, bool *accepted)
{
	fc_mixture *trial = &d->improve.trial;
	double		trial_cost;
	fc_status	status;

	apply_move(d, mixture, m, trial);
	status = drop_one(d, m, trial);
	if (status == FC_OK)
		status = fc_refine(d, FC_WIDTH_SHARED, TRIAL_ITERATIONS, trial, &trial_cost);
	if (status == FC_OK && trial_cost > (1.0 - LEAST_GAIN) * *cost && trial_cost < HOPELESS_COST_RATIO * *cost)
		status = fc_refine(d, FC_WIDTH_SHARED, 2 * TRIAL_ITERATIONS, trial, &trial_cost);
	*accepted = status == FC_OK && trial_cost < (1.0 - LEAST_GAIN) * *cost;
	if (*accepted)
	{
		fc_mixture_copy(d, trial, mixture);
		*cost = trial_cost;
	}
	return status;
}

/* The moves in turn, until one helps. */
static fc_status
try_each(fc_decoding *d, const move *moves, size_t count, fc_mixture *mixture, double *cost, bool *accepted)
{
	fc_status	status = FC_OK;

	for (size_t i = 0; status == FC_OK && i < count && !*accepted; i++)
		status = try_move(d, &moves[i], mixture, cost, accepted);
	return status;
}

/* At most rounds exchange moves, until none helps or the cost reaches the noise floor. */
fc_status
fc_improve(fc_decoding *d, int rounds, fc_mixture *mixture, double *cost)
{
	bool		accepted = true;

	for (int round = 0; round < rounds && accepted && *cost > d->floor; round++)
	{
		move		moves[SPLITS_PER_ROUND > ADDS_PER_ROUND ? SPLITS_PER_ROUND : ADDS_PER_ROUND];
		size_t		count;
		fc_status	status = propose_splits(d, mixture, moves, &count);

		accepted = false;
		if (status == FC_OK)
			status = try_each(d, moves, count, mixture, cost, &accepted);
		if (status == FC_OK && !accepted)
			status = propose_adds(d, mixture, moves, &count);
		if (status == FC_OK && !accepted)
			status = try_each(d, moves, count, mixture, cost, &accepted);
		if (status != FC_OK)
			return status;
	}
	return FC_OK;
}

/* Is the atom beyond reach of every heavier one? */
static bool
isolated(const fc_decoding *d, const fc_mixture *mixture, size_t atom)
{
	for (size_t i = 0; i < mixture->count; i++)
		if (i != atom && mixture->weight[i] >= mixture->weight[atom] &&
			fc_squared_distance(mixture->center + i * d->n, mixture->center + atom * d->n, d->n) < ISOLATION_BANDWIDTHS * ISOLATION_BANDWIDTHS)
			return false;
	return true;
}

/* The logarithm of the number of bandwidths that fill the box. */
static double
log_cells(const fc_decoding *d)
{
	double		sum = 0.0;

	for (size_t l = 0; l < d->n; l++)
		sum += log(fmax(d->upper[l] - d->lower[l], 1.0));
	return sum;
}

/*
 * Drop atoms, least important first: those whose importance is below 2 J0 (n + 1) / m, and
 * isolated ones that what the mixture leaves (cost) explains: the highest of C peaks of a
 * random field of that energy has a gain of about cost log(C) / m.
 */
fc_status
fc_drop_insignificant(fc_decoding *d, double cost, fc_mixture *mixture)
{
	double		noise = SIGNIFICANT_NOISE_RATIO * d->floor * (double) (d->n + 1) / (double) d->m;
	double		chance = fmax(noise, SIGNIFICANT_NOISE_RATIO * cost * (1.0 + log_cells(d)) / (double) d->m);
	fc_status	status = gram_of(d, mixture);

	while (status == FC_OK && mixture->count > 1)
	{
		size_t		least = 0;
		double		lowest = INFINITY;

		status = weigh_atoms(d, mixture);
		for (size_t i = 0; i < mixture->count && status == FC_OK; i++)
		{
			double		ratio = d->improve.importance[i] / (isolated(d, mixture, i) ? chance : noise);

			if (ratio < lowest)
			{
				lowest = ratio;
				least = i;
			}
		}
		if (status != FC_OK || lowest >= 1.0)
			break;
		remove_atom(d, mixture, least);
		if (status == FC_OK)
			status = fit_weights(d, mixture);
	}
	return status;
}

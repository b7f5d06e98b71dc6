/*
 * pursuit.c - the stages that add atoms (forward) and exchange them
 * (improve).
 *
 * The forward stage adds several atoms per round:
 *
 *     dictionary D = current atoms + distinct modes of the field f_r
 *     repeat: take argmax_i (b - G alpha)_i / sqrt(G_ii), the score of i,
 *             outside the chosen set S;
 *             alpha_S = argmin over alpha >= 0 of the cost (NNLS on G_SS)
 *     until |S| = limit or the score falls below 0.2 of the first
 *     then all atoms are refined together.
 *
 * G is the Gram matrix of the dictionary, and b are its correlations with the
 * moments (atoms.c). This is orthogonal matching pursuit (Pati, Rezaiifar,
 * Krishnaprasad 1993) on the Gram matrix: after one pass over the frequencies
 * a step costs |D| * |S|. One round usually finds every well separated
 * cluster, where CL-OMPR would spend a mean shift and a refinement on each.
 */
#include "decode/internal.h"

#include "base/blas.h"
#include "numerics/dense.h"

/*
 * Minimum score of a further atom in a round, as a share of the score of its
 * first atom. A smaller one adds more atoms in a round, some of them side
 * lobes (bench/tuned.py).
 */
#define MIN_SCORE_SHARE	0.2

/*
 * Maximum number of L-BFGS-B iterations for all atoms after a pursuit. More
 * iterations would lower a cost that later rounds change. A guess.
 */
#define FORWARD_ITERATIONS	25

/*
 * Maximum number of splits tried in a round of improvement. With more of
 * them, more exchanges are found, but each takes a refinement. A guess.
 */
#define SPLITS_PER_ROUND	2

/*
 * Minimum relative fall of the cost for which an exchange is kept. A smaller
 * one reaches a lower cost in more rounds. A guess.
 */
#define MIN_EXCHANGE_GAIN	0.01

/*
 * Ratio of the cost of a trial (a mixture after a tried move) to the present
 * cost above which the trial is abandoned. A larger one refines more trials
 * that fail. A guess.
 */
#define HOPELESS_COST_RATIO	1.5

/*
 * Maximum number of L-BFGS-B iterations of the refinement of a trial. A trial
 * that has neither succeeded nor been abandoned gets up to twice this number
 * in addition. With more iterations, more exchanges are accepted, in more
 * time (bench/tuned.py).
 */
#define TRIAL_ITERATIONS	25

/*
 * Ratio below which an atom is dropped: its importance (the rise of the cost
 * without it) divided by its share of the noise (fc_drop_insignificant).
 * Halving or doubling it changes nothing (bench/tuned.py).
 */
#define SIGNIFICANT_NOISE_RATIO	2.0

/*
 * Minimum distance of an isolated atom to each atom that is at least as
 * heavy, in bandwidths; clusters have a radius of about 1. Isolated atoms
 * must meet a stricter test (fc_drop_insignificant). A guess.
 */
#define ISOLATION_BANDWIDTHS	4.0

void
fc_pursuit_take(fc_decoding *d, fc_arena *arena)
{
	fc_select_work *w = &d->select;
	fc_improve_work *i = &d->improve;
	size_t		dictionary = d->dictionary;
	size_t		n = d->n;

	w->center = FC_TAKE(arena, dictionary * d->n, double);
	w->variance = FC_TAKE(arena, dictionary, double);
	w->gram = FC_TAKE(arena, dictionary * dictionary, double);
	w->rhs = FC_TAKE(arena, dictionary, double);
	w->sub_gram = FC_TAKE(arena, d->atoms * d->atoms, double);
	w->sub_rhs = FC_TAKE(arena, d->atoms, double);
	w->weight = FC_TAKE(arena, d->atoms, double);
	w->chosen = FC_TAKE(arena, d->atoms, size_t);
	w->taken = FC_TAKE(arena, dictionary, bool);
	w->cosine = FC_TAKE(arena, dictionary * FC_FREQUENCY_BLOCK, double);
	w->sine = FC_TAKE(arena, dictionary * FC_FREQUENCY_BLOCK, double);
	fc_mixture_take(d, arena, &i->trial);
	i->gram = FC_TAKE(arena, d->atoms * d->atoms, double);
	i->rhs = FC_TAKE(arena, d->atoms, double);
	i->factor = FC_TAKE(arena, d->atoms * d->atoms, double);
	i->inverse = FC_TAKE(arena, d->atoms * d->atoms, double);
	i->importance = FC_TAKE(arena, d->atoms, double);
	i->direction = FC_TAKE(arena, d->atoms * n, double);
	i->gain = FC_TAKE(arena, d->atoms, double);
	i->hessian = FC_TAKE(arena, d->atoms * n * n, double);
	i->scaled = FC_TAKE(arena, FC_FREQUENCY_BLOCK * n, double);
	i->eigenvalues = FC_TAKE(arena, n, double);
	i->eigen_work = FC_TAKE(arena, fc_eigen_work(n), double);
	i->eigen_iwork = FC_TAKE(arena, fc_eigen_integers(n), int);
}

/*
 * Fills the dictionary with the mixture's atoms and the modes, all with the
 * given variance. Computes its Gram matrix and its correlations with the
 * moments.
 */
static void
build_dictionary(fc_decoding *d, const fc_mixture *mixture, size_t modes,
				 double variance)
{
	fc_select_work *w = &d->select;
	size_t		size = mixture->count + modes;

	memcpy(w->center, mixture->center, mixture->count * d->n * sizeof(double));
	memcpy(w->center + mixture->count * d->n, d->shift.modes,
		   modes * d->n * sizeof(double));
	for (size_t i = 0; i < size; i++)
		w->variance[i] = variance;
	fc_gram(d, w->center, w->variance, size, w->cosine, w->sine, w->gram,
			w->rhs);
}

/*
 * Returns the dictionary entry with the highest score (see the top of this
 * file) that is not chosen yet, or `size` if all are chosen. Stores the score
 * in *score.
 */
static size_t
best_entry(const fc_select_work *w, size_t size, size_t chosen, double *score)
{
	size_t		best = size;

	*score = -INFINITY;
	for (size_t i = 0; i < size; i++)
	{
		double		correlation = w->rhs[i];

		if (w->taken[i])
			continue;
		for (size_t j = 0; j < chosen; j++)
			correlation -= w->gram[i * size + w->chosen[j]] * w->weight[j];
		correlation /= sqrt(fmax(w->gram[i * size + i], 1e-300));
		if (correlation > *score)
		{
			*score = correlation;
			best = i;
		}
	}
	return best;
}

/* Fits the weights of the chosen entries by NNLS. */
static void
fit_chosen(fc_decoding *d, size_t size, size_t chosen)
{
	fc_select_work *w = &d->select;

	for (size_t i = 0; i < chosen; i++)
	{
		fc_check();
		for (size_t j = 0; j < chosen; j++)
			w->sub_gram[i * chosen + j] = w->gram[w->chosen[i] * size +
												  w->chosen[j]];
		w->sub_rhs[i] = w->rhs[w->chosen[i]];
	}
	fc_nnls(w->sub_gram, w->sub_rhs, chosen, d->arena, w->weight);
}

/*
 * Runs a matching pursuit. The chosen entries are first the atoms of the
 * mixture; the pursuit adds entries until `limit` are chosen or the scores
 * are too low. Returns the number of chosen entries.
 */
static size_t
pursue(fc_decoding *d, const fc_mixture *mixture, size_t size, size_t limit)
{
	fc_select_work *w = &d->select;
	size_t		chosen;
	double		first = -1.0;
	double		score;

	memset(w->taken, 0, size * sizeof(bool));
	for (chosen = 0; chosen < mixture->count; chosen++)
	{
		w->chosen[chosen] = chosen;
		w->taken[chosen] = true;
		w->weight[chosen] = mixture->weight[chosen];
	}
	while (chosen < limit)
	{
		size_t		entry = best_entry(w, size, chosen, &score);

		fc_check();
		if (first < 0.0)
			first = score;
		/* Add at least one atom per round, or the stage would not end. */
		if (entry == size ||
			(score <= MIN_SCORE_SHARE * first && chosen > mixture->count))
			break;
		w->taken[entry] = true;
		w->chosen[chosen++] = entry;
		fit_chosen(d, size, chosen);
	}
	return chosen;
}

/*
 * Runs one round: grows the mixture to at most `limit` atoms and refines it.
 * Returns its cost.
 */
static double
forward_round(fc_decoding *d, size_t limit, fc_mixture *mixture)
{
	fc_select_work *w = &d->select;
	double		variance = fc_mixture_variance(mixture);
	size_t		modes;

	fc_residual(d, mixture);
	modes = fc_find_modes(d, mixture, d->starts);
	if (modes == 0)
	{
		fc_draw_starts(d, mixture, 1, d->shift.modes);
		modes = 1;
	}
	build_dictionary(d, mixture, modes, variance);
	mixture->count = pursue(d, mixture, mixture->count + modes, limit);
	for (size_t i = 0; i < mixture->count; i++)
	{
		memcpy(mixture->center + i * d->n, w->center + w->chosen[i] * d->n,
			   d->n * sizeof(double));
		mixture->weight[i] = w->weight[i];
		mixture->variance[i] = variance;
	}
	return fc_refine(d, FC_WIDTH_SHARED, FORWARD_ITERATIONS, mixture);
}

/*
 * Grows the mixture to `target` atoms, in rounds of up to `chunk` atoms, or
 * until the cost reaches the noise floor. *cost is the cost of the mixture on
 * entry and on exit; its value on entry is ignored if the mixture is empty.
 */
void
fc_forward(fc_decoding *d, size_t target, size_t chunk, fc_mixture *mixture,
		   double *cost)
{
	while (mixture->count < target && (mixture->count == 0 || *cost > d->floor))
		*cost = forward_round(d, smaller(mixture->count + chunk, target),
							  mixture);
}

/*
 * Exchanges of atoms lead out of a bad local minimum; at the end,
 * insignificant atoms are dropped. An exchange adds or splits an atom and
 * drops another:
 *
 *     add:    a new atom at a mode c of the field f_r;
 *             predicted gain f_r(c)^2 / ||A||^2, A the moments of an atom at c
 *     split:  atom i into c_i +- tau v, where v is the top eigenvector and
 *             lambda the top eigenvalue of the Hessian of f_r at c_i
 *             H_i = -mean_j e_j Re(conj(r_j) exp(i omega_j . c_i))
 *                   omega_j omega_j',   e_j = exp(-v_i |omega_j|^2 / 2);
 *             predicted gain lambda^2 / ||(v . omega)^2 e||^2
 *     drop:   the least important atom. The importance of atom i is alpha_i^2 /
 *             (G^-1)_ii, the rise of the cost without it.
 *
 * A gain is a fall of the cost. A round first tries the most promising splits
 * in turn. If no split helps, the round searches for the highest mode and
 * tries to add it. This search comes last because its mean shift is as
 * expensive as a trial. A trial applies the move, drops one other atom and
 * refines; it is kept if the cost falls by 1 %. The number of atoms therefore
 * stays the same. At the end, fc_drop_insignificant drops atoms whose
 * importance is below their share of the noise.
 *
 * Cost of the Hessians: atoms x m x n^2 per round.
 */

typedef struct mixture_move
{
	double		gain;			/* predicted fall of the cost */
	bool		split;			/* true: split an atom; false: add a mode */
	size_t		index;			/* index of the mode or atom */
} mixture_move;

/*
 * Computes importance_i = weight_i^2 / (G^-1)_ii from the Gram matrix G in
 * improve.gram.
 */
static void
weigh_atoms(fc_decoding *d, const fc_mixture *mixture)
{
	fc_improve_work *w = &d->improve;
	size_t		count = mixture->count;
	double		trace = 0.0;

	for (size_t i = 0; i < count; i++)
		trace += w->gram[i * count + i];
	memcpy(w->factor, w->gram, count * count * sizeof(double));
	memset(w->inverse, 0, count * count * sizeof(double));
	for (size_t i = 0; i < count; i++)
	{
		w->factor[i * count + i] += 1e-9 * trace / (double) count + 1e-300;
		w->inverse[i * count + i] = 1.0;
	}
	FC_REQUIRE(fc_solve_positive(w->factor, count, w->inverse, count));
	for (size_t i = 0; i < count; i++)
		w->importance[i] = mixture->weight[i] * mixture->weight[i] /
			w->inverse[i * count + i];
}

/* Removes an atom from the mixture, from improve.gram and from improve.rhs. */
static void
remove_atom(fc_decoding *d, fc_mixture *mixture, size_t atom)
{
	fc_improve_work *w = &d->improve;
	size_t		count = mixture->count;
	double	   *out = w->gram;

	for (size_t i = 0; i < count; i++)
	{
		fc_check();
		for (size_t j = 0; j < count; j++)
			if (i != atom && j != atom)
				*out++ = w->gram[i * count + j];
	}
	memmove(w->rhs + atom, w->rhs + atom + 1,
			(count - atom - 1) * sizeof(double));
	fc_mixture_remove(d, mixture, atom);
}

/*
 * Adds the terms of one block of frequencies to the Hessian of an atom. cosine
 * and sine are the features of the atom in the block (width values).
 */
static void
block_hessian(fc_decoding *d, const double *cosine, const double *sine,
			  size_t first, size_t width, double *hessian)
{
	size_t		n = d->n;
	double	   *scaled = d->improve.scaled;
	const double *omega = d->omega + first * n;
	fc_product	p = {
		.transpose_a = true,
		.m = n,
		.n = n,
		.k = width,
		.alpha = -FC_PI * FC_PI / (double) d->m,
		.beta = 1.0
	};

	for (size_t j = 0; j < width; j++)
	{
		double		q = (cosine[j] * d->r_re[first + j] +
						 sine[j] * d->r_im[first + j]);

		for (size_t l = 0; l < n; l++)
			scaled[j * n + l] = q * omega[j * n + l];
	}
	fc_multiply(&p, scaled, omega, hessian);
}

/*
 * Stores the Hessians (count x n x n) of the field f_r (internal.h) at the
 * atoms in improve.hessian. The residual r is in d->r_re and d->r_im.
 */
static void
hessians(fc_decoding *d, const fc_mixture *mixture)
{
	fc_improve_work *w = &d->improve;
	size_t		square = d->n * d->n;

	memset(w->hessian, 0, mixture->count * square * sizeof(double));
	for (size_t first = 0; first < d->m; first += FC_FREQUENCY_BLOCK)
	{
		size_t		width = fc_block_width(d, first);

		fc_features(d, mixture->center, mixture->variance, mixture->count,
					first, width, d->select.cosine, d->select.sine);
		for (size_t i = 0; i < mixture->count; i++)
			block_hessian(d, d->select.cosine + i * width,
						  d->select.sine + i * width, first, width,
						  w->hessian + i * square);
	}
}

/* Returns mean_j exp(-variance |omega_j|^2) (direction . omega_j)^4. */
static double
split_norm(fc_decoding *d, const double *direction, double variance)
{
	double		norm = 0.0;

	for (size_t j = 0; j < d->m; j++)
	{
		double		projection = (FC_PI * cblas_ddot((int) d->n, direction, 1,
													 d->omega + j * d->n, 1));
		double		square = projection * projection;

		fc_check();
		norm += exp(-2.0 * variance * d->half_norm[j]) * square * square /
			(double) d->m;
	}
	return norm;
}

/*
 * Sets improve.gain to the predicted gain of a split of the atom, and
 * improve.direction to the direction of the split: the direction in which the
 * field f_r (internal.h) has its greatest curvature at the atom. If this
 * curvature is not positive, sets the gain to 0 and leaves the direction
 * unset. The eigensolver overwrites the atom's matrix in improve.hessian.
 */
static void
split_gain(fc_decoding *d, size_t atom, double variance)
{
	fc_improve_work *w = &d->improve;
	double	   *hessian = w->hessian + atom * d->n * d->n;
	double	   *top = w->direction + atom * d->n;
	double		curvature;

	fc_symmetric_eigen(hessian, d->n, w->eigenvalues, w->eigen_work,
					   w->eigen_iwork);
	w->gain[atom] = 0.0;
	curvature = w->eigenvalues[d->n - 1];
	if (!(curvature > 0.0))
		return;					/* no split helps */
	memcpy(top, hessian + (d->n - 1) * d->n, d->n * sizeof(double));
	w->gain[atom] = curvature * curvature /
		fmax(split_norm(d, top, variance), 1e-300);
}

static void
insert_move(mixture_move *moves, size_t *count, mixture_move candidate)
{
	size_t		place = *count;

	while (place > 0 && moves[place - 1].gain < candidate.gain)
	{
		if (place < SPLITS_PER_ROUND)
			moves[place] = moves[place - 1];
		place--;
	}
	if (place < SPLITS_PER_ROUND)
		moves[place] = candidate;
	if (*count < SPLITS_PER_ROUND)
		(*count)++;
}

/*
 * Finds up to SPLITS_PER_ROUND splits with the largest predicted gains.
 * Stores them in `moves`, best first, and returns their number. Stores the
 * residual of the mixture in d->r_re and d->r_im.
 */
static size_t
propose_splits(fc_decoding *d, const fc_mixture *mixture, mixture_move *moves)
{
	size_t		count = 0;

	fc_residual(d, mixture);
	hessians(d, mixture);
	for (size_t i = 0; i < mixture->count; i++)
	{
		mixture_move split = {.split = true,.index = i};

		split_gain(d, i, mixture->variance[i]);
		split.gain = d->improve.gain[i];
		if (split.gain > 0.0)
			insert_move(moves, &count, split);
	}
	return count;
}

/*
 * Sets `trial` to the result of the move, which has one more atom than the
 * mixture.
 */
static void
apply_move(fc_decoding *d, const fc_mixture *mixture, const mixture_move *m,
		   fc_mixture *trial)
{
	double		variance = fc_mixture_variance(mixture);
	double		step = variance > 0.0 ? sqrt(variance) : 0.5;
	double	   *added = trial->center + mixture->count * d->n;

	fc_mixture_copy(d, mixture, trial);
	trial->count++;
	trial->variance[mixture->count] = m->split ? mixture->variance[m->index]
		: variance;
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

		trial->center[m->index * d->n + l] = fc_clip(center - shift,
													 d->lower[l], d->upper[l]);
		added[l] = fc_clip(center + shift, d->lower[l], d->upper[l]);
	}
	trial->weight[m->index] /= 2.0;
	trial->weight[mixture->count] = trial->weight[m->index];
}

/*
 * Drops the least important atom of the trial, except for the atoms that the
 * move added or split. Refits the weights of the remaining atoms.
 */
static void
drop_one(fc_decoding *d, const mixture_move *m, fc_mixture *trial)
{
	size_t		newest = trial->count - 1;
	size_t		min = newest;

	fc_gram_of_mixture(d, trial);
	if (!m->split)
		fc_nnls(d->improve.gram, d->improve.rhs, trial->count, d->arena,
				trial->weight);
	weigh_atoms(d, trial);
	for (size_t i = 0; i < newest; i++)
		if (!(m->split && i == m->index) &&
			(min == newest ||
			 d->improve.importance[i] < d->improve.importance[min]))
			min = i;
	remove_atom(d, trial, min);
	fc_nnls(d->improve.gram, d->improve.rhs, trial->count, d->arena,
			trial->weight);
}

/*
 * Tries a move. If the cost falls by at least MIN_EXCHANGE_GAIN, replaces the
 * mixture by the trial, updates *cost and returns true.
 */
static bool
try_move(fc_decoding *d, const mixture_move *m, fc_mixture *mixture,
		 double *cost)
{
	fc_mixture *trial = &d->improve.trial;
	double		trial_cost;

	apply_move(d, mixture, m, trial);
	drop_one(d, m, trial);
	trial_cost = fc_refine(d, FC_WIDTH_SHARED, TRIAL_ITERATIONS, trial);
	if (trial_cost > (1.0 - MIN_EXCHANGE_GAIN) * *cost &&
		trial_cost < HOPELESS_COST_RATIO * *cost)
		trial_cost = fc_refine(d, FC_WIDTH_SHARED, 2 * TRIAL_ITERATIONS, trial);
	if (!(trial_cost < (1.0 - MIN_EXCHANGE_GAIN) * *cost))
		return false;
	fc_mixture_copy(d, trial, mixture);
	*cost = trial_cost;
	return true;
}

/*
 * Runs up to `rounds` rounds of improvement, until no move helps or the cost
 * reaches the noise floor. Each round makes one exchange.
 */
void
fc_improve(fc_decoding *d, int rounds, fc_mixture *mixture, double *cost)
{
	bool		accepted = true;

	for (int round = 0; round < rounds && accepted && *cost > d->floor; round++)
	{
		const mixture_move add = {.split = false};	/* adds the highest mode,
													 * index 0 */
		mixture_move splits[SPLITS_PER_ROUND];
		size_t		count = propose_splits(d, mixture, splits);

		accepted = false;
		for (size_t i = 0; i < count && !accepted; i++)
			accepted = try_move(d, &splits[i], mixture, cost);
		if (!accepted && fc_find_modes(d, mixture, 1) > 0)
			accepted = try_move(d, &add, mixture, cost);
	}
}

/*
 * Returns true if the atom is at least ISOLATION_BANDWIDTHS away from every
 * other atom of the same or a greater weight.
 */
static bool
isolated(const fc_decoding *d, const fc_mixture *mixture, size_t atom)
{
	for (size_t i = 0; i < mixture->count; i++)
		if (i != atom && mixture->weight[i] >= mixture->weight[atom] &&
			fc_square_between(mixture->center + i * d->n,
							  mixture->center + atom * d->n, d->n) <
			ISOLATION_BANDWIDTHS * ISOLATION_BANDWIDTHS)
			return false;
	return true;
}

/*
 * Returns the logarithm of the number of cells, one bandwidth wide in each
 * dimension, that fill the box of the atoms' centers (d->lower to d->upper).
 */
static double
log_cells(const fc_decoding *d)
{
	double		sum = 0.0;

	for (size_t l = 0; l < d->n; l++)
		sum += log(fmax(d->upper[l] - d->lower[l], 1.0));
	return sum;
}

/*
 * Drops insignificant atoms, one after the other, and refits the weights after
 * each. `cost` is the cost of the mixture. The importance of an atom is the
 * rise of the cost if the atom is removed. An atom is insignificant if its
 * importance is below
 *
 *     SIGNIFICANT_NOISE_RATIO * d->floor * (n + 1) / m
 *
 * d->floor is the cost that noise alone causes, for m frequencies in n
 * dimensions. The importance of an isolated atom must also reach
 * SIGNIFICANT_NOISE_RATIO times the amount by which an atom that fits noise
 * lowers the cost. This amount is about cost * log(C) / m: the residual is
 * treated as a random field of energy `cost`, and the atom as the highest of C
 * independent peaks, one for each cell that log_cells counts.
 */
void
fc_drop_insignificant(fc_decoding *d, double cost, fc_mixture *mixture)
{
	double		noise = (SIGNIFICANT_NOISE_RATIO * d->floor * (double) (d->n + 1) /
						 (double) d->m);
	double		chance = fmax(noise, SIGNIFICANT_NOISE_RATIO * cost *
							  (1.0 + log_cells(d)) / (double) d->m);

	fc_gram_of_mixture(d, mixture);
	while (mixture->count > 1)
	{
		size_t		min = 0;
		double		lowest = INFINITY;

		weigh_atoms(d, mixture);
		for (size_t i = 0; i < mixture->count; i++)
		{
			double		ratio = (d->improve.importance[i] /
								 (isolated(d, mixture, i) ? chance : noise));

			if (ratio < lowest)
			{
				lowest = ratio;
				min = i;
			}
		}
		if (lowest >= 1.0)
			break;
		remove_atom(d, mixture, min);
		fc_nnls(d->improve.gram, d->improve.rhs, mixture->count, d->arena,
				mixture->weight);
	}
}

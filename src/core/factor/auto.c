/* auto.c - factorize with the method chosen by measurement: fc_factorize_auto, factorize.h */
#include <math.h>

#include "base/sizes.h"
#include "factor/agreement.h"
#include "factor/methods.h"

/* ---- candidates ---- */

typedef struct candidate
{
	fc_method	method;
	int			factors;		/* of palm4MSA */
	size_t		budget;
	fc_judgement judgement;
	size_t		values;
	double		cost;
} candidate;

/* Two factors with as many values each, or the short one full: the sparsity of the long one. */
static size_t
balanced_sparsity(size_t k, size_t d, size_t budget)
{
	size_t		inner = smaller(k, d);
	size_t		rest = budget > inner * inner ? budget - inner * inner : 0;

	return larger(1, larger(budget / 2, rest) / (k + d));
}

/* The options that make a candidate. */
static fc_factorize_options
candidate_options(const fc_operator *op, const fc_factorize_options *options, const candidate *c)
{
	fc_factorize_options own = *options;

	own.method = c->method;
	own.factors = c->factors;
	if (options->sparsity == 0 || options->budget > 0.0)
		own.budget = (double) c->budget;
	if (options->sparsity == 0 && c->factors == 2)
		own.sparsity = (int) balanced_sparsity(op->k, op->d, c->budget);
	return own;
}

#define MOST_CANDIDATES	5

/* What is tried at a budget: methods that can keep to it and are worth it at this size. */
static size_t
list_candidates(const fc_operator *op, const fc_factorize_options *options, size_t budget, candidate *list)
{
	size_t		size = op->k * op->d * fc_factorize_factors(op, options);
	int			usual = (int) fc_factorize_factors(op, options);
	candidate	all[MOST_CANDIDATES] = {
		{.method = FC_METHOD_PRUNE}, {.method = FC_METHOD_SVD}, {.method = FC_METHOD_PALM4MSA,.factors = usual},
		{.method = FC_METHOD_HIERARCHICAL,.factors = usual}, {.method = FC_METHOD_PALM4MSA,.factors = 2}
	};
	size_t		count = 0;

	for (size_t i = 0; i < MOST_CANDIDATES; i++)
	{
		fc_factorize_options own;
		bool		possible = i < 4 || (options->factors == 0 && usual != 2);

		all[i].budget = budget;
		own = candidate_options(op, options, &all[i]);
		possible = possible && fc_factorize_least_budget(op, &own) <= budget;
		if (i >= 2 && possible && own.sparsity == 0)
			possible = fc_sparsity_budget(op->k, op->d, (size_t) own.factors, 2) <= budget;
		if (i >= 2 && possible)
			possible = size <= (all[i].method == FC_METHOD_HIERARCHICAL ? FC_AUTO_HIERARCHICAL : FC_AUTO_WORK);
		if (possible)
			list[count++] = all[i];
	}
	return count;
}

/* ---- trials ---- */

static double
cost_of(const fc_operator *op)
{
	double		sum = 0.0;

	for (size_t q = 0; q < op->factors; q++)
		sum += (double) op->factor[q].nonzeros * (op->factor[q].row_start != NULL ? FC_SPARSE_COST : 1.0);
	return sum;
}

/* The product as a codebook: labels are the same, and batches of them cheap. */
static void
flatten(const fc_factorize_work *w, const fc_operator *op, fc_operator *flat)
{
	size_t		cells = op->k * op->d;
	float	   *values = FC_TAKE(w->arena, cells, float);
	float	   *half_norms = FC_TAKE(w->arena, op->k, float);
	fc_operator product = *op;

	fc_operator_expand(&product, w->scratch, values);
	*flat = (fc_operator) {.k = op->k,.d = op->d,.offset = op->offset,.weights = op->weights,.factors = 1};
	flat->factor[0] = (fc_factor) {.rows = op->k,.columns = op->d,.nonzeros = cells,.values = values};
	fc_operator_measure(flat, w->scratch, half_norms);
}

/* The work of a candidate; its options go to *own. */
static fc_factorize_work
candidate_work(const fc_factorize_work *w, const candidate *c, fc_factorize_options *own)
{
	fc_factorize_work result = *w;

	*own = candidate_options(w->op, w->options, c);
	result.options = own;
	result.factors = fc_factorize_factors(w->op, own);
	return result;
}

/* What labels are compared with: made-up rows, or the halves of a sample. */
typedef struct referee
{
	const fc_operator *exact;
	fc_judged_rows sample;		/* rows NULL: none */
} referee;

typedef enum half
{
	CHOOSING, HELD_OUT
} half;

static void
compare_labels(const fc_factorize_work *w, const referee *by, const fc_operator *fast, half part, fc_judgement *judgement)
{
	size_t		chosen_by = by->sample.count / 2;

	if (by->sample.rows != NULL)
	{
		fc_judge(&by->sample, fast, part == CHOOSING ? 0 : chosen_by, part == CHOOSING ? chosen_by : by->sample.count - chosen_by,
						w->arena, judgement);
		return;
	}
	judgement->rows = 0;
	fc_agreement(by->exact, fast, FC_AUTO_POINTS, w->options->palm.seed, w->arena, &judgement->agreement);
}

/* Made and compared on one half of the sample; the product itself is not kept. */
static fc_status
try_candidate(const fc_factorize_work *w, const referee *by, half part, candidate *c)
{
	fc_factorize_options own;
	fc_factorize_work tried = candidate_work(w, c, &own);
	fc_mark		used = fc_arena_mark(w->arena);
	fc_operator out = {0};
	fc_operator flat;
	fc_status	status = fc_factorize_run(&tried, c->method, c->budget, &out);

	if (status == FC_OK)
		flatten(w, &out, &flat);
	if (status == FC_OK)
		compare_labels(w, by, &flat, part, &c->judgement);
	c->cost = cost_of(&out);
	c->values = fc_operator_values(&out);
	fc_arena_release(w->arena, used);
	return status;
}

/* Are distances to the product's rows what the options ask for? */
static bool
close_enough(const fc_factorize_work *w, const candidate *c)
{
	return w->options->sample == NULL || !(w->options->sse_ratio > 0.0) || c->judgement.sse_ratio <= w->options->sse_ratio;
}

static bool
better(const fc_factorize_work *w, const candidate *a, const candidate *b)
{
	if (close_enough(w, a) != close_enough(w, b))
		return close_enough(w, a);
	if (fabs(a->judgement.agreement - b->judgement.agreement) > FC_AUTO_TIE)
		return a->judgement.agreement > b->judgement.agreement;
	return a->cost < b->cost;
}

/* The best at one budget; on a sample, with the judgement of its other half. */
static fc_status
best_within(const fc_factorize_work *w, const referee *by, size_t budget, candidate *best)
{
	candidate	list[MOST_CANDIDATES];
	size_t		count = list_candidates(w->op, w->options, budget, list);
	fc_status	status = FC_OK;

	for (size_t i = 0; i < count && status == FC_OK; i++)
	{
		status = try_candidate(w, by, CHOOSING, &list[i]);
		if (i == 0 || better(w, &list[i], best))
			*best = list[i];
	}
	if (status == FC_OK && by->sample.rows != NULL && best->judgement.agreement >= FC_AUTO_LABELS)
		status = try_candidate(w, by, HELD_OUT, best);
	if (status == FC_OK && w->options->tried != NULL)
	{
		const fc_judgement *j = &best->judgement;
		fc_factorize_trial trial = {best->method, best->values, j->agreement, j->rows, j->sse_ratio, j->lowest};

		w->options->tried(w->options->tried_ctx, &trial);
	}
	return status;
}

/* A sample must promise the share for other rows of its law. */
static bool
keeps_labels(const fc_factorize_work *w, const referee *by, const candidate *c)
{
	return close_enough(w, c) && (by->sample.rows != NULL ? c->judgement.lowest : c->judgement.agreement) >= FC_AUTO_LABELS;
}

static fc_status
search(const fc_factorize_work *w, const referee *by, candidate *best)
{
	size_t		cells = w->op->k * w->op->d;

	if (w->options->budget > 0.0 || w->options->sparsity > 0)
		return best_within(w, by, w->budget, best);
	for (size_t part = 16; part > 1; part /= 2)
	{
		fc_status	status = best_within(w, by, larger(cells / part, 1), best);

		if (status != FC_OK || (keeps_labels(w, by, best) && best->cost < (double) cells))
			return status;
	}
	*best = (candidate) {.method = FC_METHOD_DENSE,.budget = cells,.judgement = {.agreement = 1.0},.cost = (double) cells};
	return FC_OK;
}

fc_status
fc_factorize_auto(const fc_operator *op, const fc_factorize_options *options,
				  fc_arena *arena, fc_operator *out, fc_factorization *from)
{
	fc_factorize_options limited = *options;
	fc_factorize_work w = {.op = op,.options = &limited,.arena = arena};
	fc_factorize_work chosen;
	fc_factorize_options own;
	fc_operator exact = {0};
	referee		by = {.exact = &exact};
	candidate	best = {.method = FC_METHOD_DENSE};
	fc_status	status;

	limited.palm.sweeps = options->palm.sweeps < FC_AUTO_SWEEPS ? options->palm.sweeps : FC_AUTO_SWEEPS;
	w.factors = fc_factorize_factors(op, options);
	w.budget = fc_factorize_budget(op, options);
	status = fc_factorize_prepare(&w);
	if (status == FC_OK)
		status = fc_factorize_run(&w, FC_METHOD_DENSE, 0, &exact);
	if (status == FC_OK && options->sample != NULL)
		fc_judge_rows(&exact, options->sample, options->palm.seed, arena, &by.sample);
	if (status == FC_OK)
		status = search(&w, &by, &best);
	if (status != FC_OK)
		return status;
	chosen = candidate_work(&w, &best, &own);
	status = fc_factorize_run(&chosen, best.method, best.budget, out);
	return status == FC_OK ? fc_factorize_record(&w, best.method, best.judgement.agreement, out, from) : status;
}

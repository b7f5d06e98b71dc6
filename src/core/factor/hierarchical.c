/*
 * hierarchical.c - hierarchical palm4MSA; see internal.h.
 *
 * The work is done on T (rows >= columns, U or its transpose): all = S_1 .. S_i R_i, the
 * residual last, which palm4MSA updates first and which starts at zero.
 */
#include "factor/internal.h"

#include <string.h>


/* ---- constraints ---- */

/* Which factor of the caller's the peeled factor i is. */
static size_t
place_of(const fc_target *target, const fc_factors *factors, size_t i)
{
	return target->d >= target->k ? factors->count - 1 - i : i;
}

static fc_constraint
turned(fc_constraint constraint, bool transpose)
{
	size_t		swap = constraint.per_row;

	if (transpose)
	{
		constraint.per_row = constraint.per_column;
		constraint.per_column = swap;
	}
	return constraint;
}

/* Of R_(i + 1); the last residual is the last factor. */
static fc_constraint
residual_constraint(const fc_target *target, const fc_factors *factors, size_t i)
{
	bool		transpose = target->d >= target->k;
	fc_constraint own = turned(factors->constraint[place_of(target, factors, i + 1)], transpose);
	size_t		budget = larger(target->k, target->d) >> (i + 1);

	if (i + 2 < factors->count)
	{
		own.per_row = larger(own.per_row, budget);
		own.per_column = larger(own.per_column, budget);
	}
	return own;
}

/* ---- peeling ---- */

typedef struct peeling
{
	const fc_target *target;
	const fc_palm_options *options;
	fc_arena   *arena;
	const fc_factors *wanted;
	fc_target	whole;			/* T */
	double	   *residual;		/* dense, inner x inner */
	fc_factors	all;
} peeling;

/* t (d x k) = u' */
static void
transpose(const fc_target *target, double *t)
{
	for (size_t j = 0; j < target->k; j++)
	{
		fc_check();
		for (size_t i = 0; i < target->d; i++)
			t[i * target->k + j] = target->u[j * target->d + i];
	}
}

static void
densify(const fc_sparse *a, double *dense)
{
	memset(dense, 0, a->rows * a->columns * sizeof(double));
	for (size_t r = 0; r < a->rows; r++)
		for (size_t p = a->row_start[r]; p < a->row_start[r + 1]; p++)
			dense[r * a->columns + a->column[p]] = a->value[p];
}

/* Split the residual (i = 0: T) in two, then refine all. */
static void
peel(peeling *p, size_t i, fc_palm_result *result)
{
	fc_target	part = p->whole;
	fc_palm_options options = *p->options;
	fc_constraint constraint[2];
	fc_factors	two;

	if (i > 0)
	{
		const fc_sparse *rest = &p->all.factor[i].plain;

		densify(rest, p->residual);
		part = (fc_target) {p->residual, NULL, rest->rows, rest->columns};
	}
	constraint[0] = turned(p->wanted->constraint[place_of(p->target, p->wanted, i)], p->target->d >= p->target->k);
	constraint[1] = residual_constraint(p->target, p->wanted, i);
	fc_factors_take(p->arena, part.k, part.d, 2, constraint, &two);
	options.warm = false;
	options.pursuit = false;
	options.progress = NULL;
	fc_palm(&part, &options, p->arena, &two, result);
	for (size_t side = 0; side < 2; side++)
	{
		p->all.factor[i + side] = two.factor[side];
		p->all.constraint[i + side] = constraint[side];
	}
	p->all.count = i + 2;
	p->all.lambda = (i == 0 ? 1.0 : p->all.lambda) * two.lambda;
	if (i == 0)
		return;
	options.warm = true;
	fc_palm(&p->whole, &options, p->arena, &p->all, result);
}

/* The factors found, turned back into the caller's. */
static void
hand_over(const peeling *p, fc_factors *factors)
{
	bool		turned = p->target->d >= p->target->k;

	for (size_t i = 0; i < p->all.count; i++)
	{
		fc_sparse_pair *to = &factors->factor[place_of(p->target, factors, i)];

		fc_sparse_copy(turned ? &p->all.factor[i].transposed : &p->all.factor[i].plain, &to->plain);
		fc_sparse_pair_changed(to);
	}
	factors->lambda = p->all.lambda;
}

void
fc_hierarchical(const fc_target *target, const fc_palm_options *options,
				fc_arena *arena, fc_factors *factors, fc_palm_result *result)
{
	size_t		inner = smaller(target->k, target->d);
	fc_mark		used = fc_arena_mark(arena);
	peeling		p = {.target = target,.options = options,.arena = arena,.wanted = factors};
	fc_palm_options last = *options;

	if (factors->count > 1)
	{
		p.whole = (fc_target) {target->u, NULL, target->k, target->d};
		p.residual = FC_TAKE(arena, inner * inner, double);
		if (target->d >= target->k)
		{
			double	   *turned = FC_TAKE(arena, target->k * target->d, double);

			transpose(target, turned);
			p.whole = (fc_target) {turned, NULL, target->d, target->k};
		}
		for (size_t i = 0; i + 1 < factors->count; i++)
			peel(&p, i, result);
		hand_over(&p, factors);
		last.warm = true;
	}
	fc_palm(target, &last, arena, factors, result);
	fc_arena_release(arena, used);
}

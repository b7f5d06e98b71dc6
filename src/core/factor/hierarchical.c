/*
 * hierarchical.c - hierarchical palm4MSA; see internal.h.
 *
 * T is U or U', whichever has at least as many rows as columns; the published
 * algorithm always uses U. After i splits, `all` = S_1 .. S_i R_i approximates
 * T. The residual R_i starts at zero; it is the last factor, so that palm4MSA
 * updates it first.
 */
#include "factor/internal.h"

/*
 * Returns the constraint of R_(i + 1). The last residual is the last factor,
 * with the constraint of this factor; the other residuals keep more entries.
 */
static fc_constraint
residual_constraint(const fc_target *whole, const fc_factors *wanted, size_t i)
{
	fc_constraint own = wanted->constraint[i + 1];

	if (i + 2 < wanted->count)
	{
		own.per_row = larger(own.per_row,
							 larger(whole->k, whole->d) >> (i + 1));
		own.per_column = larger(own.per_column, whole->k >> (i + 1));
	}
	return own;
}

typedef struct peeling
{
	const fc_palm_options *options;
	fc_arena   *arena;
	const fc_factors *wanted;	/* factors of T, the matrix to factor, with
								 * their constraints */
	fc_target	whole;			/* T, the matrix to factor */
	double	   *residual;		/* copy of the residual as a dense matrix,
								 * which has no more values than T */
	fc_factors	all;			/* S_1 .. S_i and the residual R_i */
} peeling;

/* Computes t (d x k) = u'. */
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

/*
 * Splits the residual (T if i = 0) into two factors. If i > 0, then refines
 * all factors.
 */
static void
peel(peeling *p, size_t i, fc_palm_result *result)
{
	fc_target	rest_target = p->whole;
	fc_palm_options options = *p->options;
	fc_constraint constraint[2];
	fc_factors	two;

	if (i > 0)
	{
		const fc_sparse *rest = &p->all.factor[i].plain;

		memset(p->residual, 0, rest->rows * rest->columns * sizeof(double));
		for (size_t r = 0; r < rest->rows; r++)
			for (size_t e = rest->row_start[r]; e < rest->row_start[r + 1]; e++)
				p->residual[r * rest->columns +
							rest->column[e]] = rest->value[e];
		rest_target = (fc_target)
		{
			p->residual, NULL, rest->rows, rest->columns
		};
	}
	constraint[0] = p->wanted->constraint[i];
	constraint[1] = residual_constraint(&p->whole, p->wanted, i);
	fc_factors_take(p->arena, rest_target.k, rest_target.d, 2, constraint, &two);
	options.warm = false;
	options.pursuit = false;
	options.progress = NULL;
	fc_palm(&rest_target, &options, p->arena, &two, result);
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

void
fc_hierarchical(const fc_target *target, const fc_palm_options *options,
				fc_arena *arena, fc_factors *factors, fc_palm_result *result)
{
	size_t		inner = smaller(target->k, target->d);
	fc_mark		used = fc_arena_mark(arena);
	peeling		p = {
		.options = options,
		.arena = arena,
		.wanted = factors,
		.whole = {target->u, NULL, target->k, target->d}
	};
	fc_palm_options last = *options;
	bool		turned = target->d >= target->k && !options->published;

	if (factors->count > 1)
	{
		p.residual = FC_TAKE(arena, inner * (turned ? inner : target->d),
							 double);
		if (turned)
		{
			double	   *u = FC_TAKE(arena, target->k * target->d, double);

			transpose(target, u);
			p.whole = (fc_target)
			{
				u, NULL, target->d, target->k
			};
			fc_factors_transpose(factors);
		}
		for (size_t i = 0; i + 1 < factors->count; i++)
			peel(&p, i, result);
		for (size_t i = 0; i < factors->count; i++)
		{
			fc_sparse_copy(&p.all.factor[i].plain, &factors->factor[i].plain);
			fc_sparse_pair_changed(&factors->factor[i]);
		}
		factors->lambda = p.all.lambda;
		if (turned)
			fc_factors_transpose(factors);
		last.warm = true;
	}
	if (!options->published || factors->count == 1)
		fc_palm(target, &last, arena, factors, result);
	fc_arena_release(arena, used);
}

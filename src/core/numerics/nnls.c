/*
 * nnls.c - non-negative least squares by block principal pivoting.
 *
 *     x_F = G_FF^-1 b_F,  x_rest = 0;   y = G x - b,  y_F = 0
 *
 * F is the set of variables allowed to be positive.  A variable of F with x < 0
 * or one outside with y < 0 is infeasible; all of them change sides at once,
 * which reaches the optimum in a handful of Cholesky factorisations whatever the
 * size (Lawson and Hanson's method moves one variable a step).  When the number
 * of infeasible variables has not fallen for three rounds, only the last of them
 * is moved (Murty's rule), which cannot cycle.
 *
 * Cost: |F|^3 / 3 + count |F| a round.  A ridge of 1e-10 of the mean diagonal
 * makes coinciding columns harmless.
 *
 * Portugal, Judice, Vicente 1994; Kim, Park 2011, SIAM J. Sci. Comput. 33, alg. 1.
 */
#include "numerics/nnls.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "numerics/dense.h"

#define RIDGE 1e-10
#define PATIENCE 3
#define ROUNDS_PER_VARIABLE 5
#define ROUNDS_BASE 50

typedef struct pivoting
{
	const double *gram;
	size_t		stride;
	const double *rhs;
	size_t		count;
	double		ridge;
	double		slack;			/* y above -slack counts as feasible */
	double	   *factor;			/* |F| x |F| */
	double	   *solution;		/* |F| */
	double	   *y;				/* count */
	size_t	   *passive;		/* the members of F */
	bool	   *in_passive;		/* count */
	double	   *x;
} pivoting;

/* x_F = (G_FF + ridge)^-1 b_F, x = 0 elsewhere */
static fc_status
solve_passive(pivoting *p)
{
	size_t		members = 0;
	size_t		done = 0;
	fc_status	status;

	for (size_t i = 0; i < p->count; i++)
		if (p->in_passive[i])
			p->passive[members++] = i;
	for (size_t i = 0; i < members; i++)
	{
		const double *row = p->gram + p->passive[i] * p->stride;

		fc_check_every(&done, members);
		for (size_t j = 0; j < members; j++)
			p->factor[i * members + j] = row[p->passive[j]];
		p->factor[i * members + i] += p->ridge;
		p->solution[i] = p->rhs[p->passive[i]];
	}
	status = fc_solve_positive(p->factor, members, p->solution, 1);
	if (status != FC_OK)
		return status;
	memset(p->x, 0, p->count * sizeof(double));
	for (size_t i = 0; i < members; i++)
		p->x[p->passive[i]] = p->solution[i];
	return FC_OK;
}

static bool
infeasible(const pivoting *p, size_t i)
{
	return p->in_passive[i] ? p->x[i] < 0.0 : p->y[i] < -p->slack;
}

/* y = G x - b, and the number of infeasible variables */
static size_t
count_infeasible(pivoting *p)
{
	size_t		infeasibles = 0;

	memcpy(p->y, p->rhs, p->count * sizeof(double));
	cblas_dgemv(CblasRowMajor, CblasNoTrans, (int) p->count, (int) p->count, 1.0,
				p->gram, (int) p->stride, p->x, 1, -1.0, p->y, 1);
	for (size_t i = 0; i < p->count; i++)
		infeasibles += infeasible(p, i);
	return infeasibles;
}

/* Move every infeasible variable to the other side, or only the last of them. */
static void
exchange(pivoting *p, bool all)
{
	for (size_t i = p->count; i-- > 0;)
	{
		if (!infeasible(p, i))
			continue;
		p->in_passive[i] = !p->in_passive[i];
		if (!all)
			return;
	}
}

static fc_status
pivot(pivoting *p)
{
	size_t		fewest = p->count + 1;
	int			patience = PATIENCE;
	size_t		rounds = ROUNDS_BASE + ROUNDS_PER_VARIABLE * p->count;

	for (size_t round = 0; round < rounds; round++)
	{
		fc_status	status = solve_passive(p);
		size_t		infeasibles;

		if (status != FC_OK)
			return status;
		fc_check();
		infeasibles = count_infeasible(p);
		if (infeasibles == 0)
			break;
		if (infeasibles < fewest)
		{
			fewest = infeasibles;
			patience = PATIENCE;
		}
		else
			patience--;
		exchange(p, patience >= 0);
	}
	/* Only rounding can leave a negative entry here. */
	for (size_t i = 0; i < p->count; i++)
		p->x[i] = fmax(p->x[i], 0.0);
	return FC_OK;
}

fc_status
fc_nnls(const double *gram, size_t stride, const double *rhs, size_t count,
		const bool *start, fc_arena *arena, double *x)
{
	fc_mark		mark = fc_arena_mark(arena);
	pivoting	p = {.gram = gram, .stride = stride, .rhs = rhs, .count = count, .x = x};
	double		trace = 0.0;
	double		largest = 0.0;
	fc_status	status;

	for (size_t i = 0; i < count; i++)
	{
		trace += gram[i * stride + i];
		largest = fmax(largest, fabs(rhs[i]));
	}
	p.ridge = count > 0 ? RIDGE * trace / (double) count + 1e-300 : 0.0;
	p.slack = 1e-12 * largest;
	p.factor = FC_TAKE(arena, count * count, double);
	p.solution = FC_TAKE(arena, count, double);
	p.y = FC_TAKE(arena, count, double);
	p.passive = FC_TAKE(arena, count, size_t);
	p.in_passive = FC_TAKE(arena, count, bool);
	for (size_t i = 0; i < count; i++)
		p.in_passive[i] = start == NULL || start[i];
	status = pivot(&p);
	fc_arena_release(arena, mark);
	return status;
}

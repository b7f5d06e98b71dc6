/*
 * fc_pursuit.c - orthogonal matching pursuit on a Gram matrix (Rubinstein, Zibulevsky, Elad 2008).
 *
 * The Cholesky factor of the chosen part of G grows by a row with each atom; the next atom is
 * the one most correlated with the residual, rest = b - G_I s.  What a support explains is s' b_I.
 */
#include "fc_pursuit.h"

#include <math.h>

#define MOST		512			/* entries of a line */
#define DEPENDENT	1e-10		/* what is left of an atom's square beside those chosen */

size_t
fc_pursuit_worksize(size_t n)
{
	return 2 * n * sizeof(double) + (size_t) MOST * (MOST + 1) / 2 * sizeof(double) +
		2 * MOST * (sizeof(double) + sizeof(uint32_t)) + 7 * 64;
}

fc_status
fc_pursuit_start(const double *gram, size_t n, fc_arena *arena, fc_pursuit *pursuit)
{
	*pursuit = (fc_pursuit) {.gram = gram,.n = n};
	pursuit->root = FC_TAKE(arena, n, double);
	pursuit->rest = FC_TAKE(arena, n, double);
	pursuit->cholesky = FC_TAKE(arena, (size_t) MOST * (MOST + 1) / 2, double);
	for (int i = 0; i < 2; i++)
	{
		pursuit->value[i] = FC_TAKE(arena, MOST, double);
		pursuit->chosen[i] = FC_TAKE(arena, MOST, uint32_t);
		if (pursuit->value[i] == NULL || pursuit->chosen[i] == NULL)
			return FC_ENOMEMORY;
	}
	if (pursuit->root == NULL || pursuit->rest == NULL || pursuit->cholesky == NULL)
		return FC_ENOMEMORY;
	for (size_t i = 0; i < n; i++)
		pursuit->root[i] = gram[i * n + i] > 0.0 ? 1.0 / sqrt(gram[i * n + i]) : 0.0;
	return FC_OK;
}

static inline double *
packed_row(double *cholesky, size_t r)
{
	return cholesky + r * (r + 1) / 2;
}

/* Add atom i to the `count` chosen; false when it depends on them. */
static bool
add_atom(fc_pursuit *p, const uint32_t *chosen, size_t count, size_t i)
{
	double	   *row = packed_row(p->cholesky, count);
	double		square = p->gram[i * p->n + i];
	double		left = square;

	for (size_t r = 0; r < count; r++)
	{
		const double *other = packed_row(p->cholesky, r);
		double		sum = p->gram[i * p->n + chosen[r]];

		for (size_t c = 0; c < r; c++)
			sum -= row[c] * other[c];
		row[r] = sum / other[r];
		left -= row[r] * row[r];
	}
	row[count] = sqrt(fmax(left, 0.0));
	return left > DEPENDENT * square;
}

/* Coefficients of the chosen atoms; returns what they explain. */
static double
solve(fc_pursuit *p, const uint32_t *chosen, size_t count, const double *b, double *value)
{
	double		explained = 0.0;

	for (size_t r = 0; r < count; r++)
	{
		const double *row = packed_row(p->cholesky, r);

		value[r] = b[chosen[r]];
		for (size_t c = 0; c < r; c++)
			value[r] -= row[c] * value[c];
		value[r] /= row[r];
		explained += value[r] * value[r];
	}
	for (size_t r = count; r-- > 0;)
	{
		value[r] /= packed_row(p->cholesky, r)[r];
		for (size_t c = 0; c < r; c++)
			value[c] -= packed_row(p->cholesky, r)[c] * value[r];
	}
	return explained;
}

/* The atom most correlated with the residual; n when there is none. */
static size_t
best_atom(const fc_pursuit *p)
{
	size_t		best = p->n;
	double		most = 0.0;

	for (size_t i = 0; i < p->n; i++)
	{
		double		size = fabs(p->rest[i]) * p->root[i];

		if (size > most)
		{
			most = size;
			best = i;
		}
	}
	return best;
}

static size_t
pursue(fc_pursuit *p, const double *b, size_t entries, double *explained)
{
	uint32_t   *chosen = p->chosen[0];
	double	   *value = p->value[0];
	size_t		count = 0;

	*explained = 0.0;
	for (size_t i = 0; i < p->n; i++)
		p->rest[i] = b[i];
	for (size_t step = 0; step < entries; step++)
	{
		size_t		atom = best_atom(p);

		if (atom == p->n || !add_atom(p, chosen, count, atom))
			break;
		chosen[count++] = (uint32_t) atom;
		*explained = solve(p, chosen, count, b, value);
		for (size_t i = 0; i < p->n && step + 1 < entries; i++)
			p->rest[i] = b[i];
		for (size_t r = 0; r < count && step + 1 < entries; r++)
			for (size_t i = 0; i < p->n; i++)
				p->rest[i] -= value[r] * p->gram[chosen[r] * p->n + i];
		for (size_t r = 0; r < count; r++)
			p->rest[chosen[r]] = 0.0;
	}
	return count;
}

static size_t
refit(fc_pursuit *p, const double *b, const uint32_t *old, size_t olds, double *explained)
{
	size_t		count = 0;

	for (size_t i = 0; i < olds; i++)
		if (p->root[old[i]] > 0.0 && add_atom(p, p->chosen[1], count, old[i]))
			p->chosen[1][count++] = old[i];
	*explained = solve(p, p->chosen[1], count, b, p->value[1]);
	return count;
}

/* Write entries in the order of their columns. */
static void
write_sorted(const uint32_t *chosen, const double *from, size_t count, uint32_t *column, double *value)
{
	for (size_t r = 0; r < count; r++)
	{
		size_t		at = r;

		for (; at > 0 && column[at - 1] > chosen[r]; at--)
		{
			column[at] = column[at - 1];
			value[at] = value[at - 1];
		}
		column[at] = chosen[r];
		value[at] = from[r];
	}
}

size_t
fc_pursuit_line(fc_pursuit *p, const double *b, size_t entries, const uint32_t *old, size_t olds,
				size_t room, uint32_t *column, double *value)
{
	double		explained[2];
	size_t		count[2];
	int			better;

	olds = olds < MOST ? olds : MOST;
	entries = entries > olds ? entries : olds;
	entries = entries < room ? entries : room;
	entries = entries < MOST ? entries : MOST;
	count[0] = pursue(p, b, entries, &explained[0]);
	count[1] = refit(p, b, old, olds < room ? olds : room, &explained[1]);
	better = explained[0] > explained[1] ? 0 : 1;
	write_sorted(p->chosen[better], p->value[better], count[better], column, value);
	return count[better];
}

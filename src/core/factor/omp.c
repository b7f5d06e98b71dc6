/*
 * omp.c - orthogonal matching pursuit on a Gram matrix (Rubinstein,
 * Zibulevsky, Elad 2008).
 *
 * Let G be the Gram matrix of the atoms, b their inner products with the
 * target, I the set of chosen atoms, and s their coefficients. The inner
 * products of the atoms with the residual are rest = b - G_I s. The next atom
 * is the one with the largest |rest_i| / sqrt(G_ii). Let G_II = L L'
 * (Cholesky) and K = L^-1 G_I. Each chosen atom adds a row K_r to K
 * (palm_simd.c):
 *     rest -= z K_r,    left -= K_r^2,
 *     z = rest_i / sqrt(left_i) of the new atom i,
 * where left_i is the squared length of atom i outside the span of the chosen
 * atoms (stored as a fraction of G_ii). The atoms of I reduce the objective by
 * s' b_I.
 */
#include "factor/internal.h"

/*
 * Maximum number of entries that a pursuit chooses for a row or column of a
 * factor. The time is cubic in this number. A guess.
 */
#define MAX_ENTRIES	((size_t) 512)

/*
 * Squared norm of an atom, relative to the largest, at or below which the atom
 * is never chosen. A guess.
 */
#define NEGLIGIBLE_SQUARE	1e-10

void
fc_omp_start(const double *gram, size_t n, fc_arena *arena, fc_omp *pursuit)
{
	double		max = 0.0;

	*pursuit = (fc_omp)
	{
		.gram = gram,.n = n
	};
	pursuit->root = FC_TAKE(arena, n, double);
	pursuit->rest = FC_TAKE(arena, n, double);
	pursuit->left = FC_TAKE(arena, n, double);
	pursuit->size = FC_TAKE(arena, n, double);
	pursuit->rows = FC_TAKE(arena, smaller(n, MAX_ENTRIES) * n, double);
	pursuit->cholesky = FC_TAKE(arena, MAX_ENTRIES * (MAX_ENTRIES + 1) / 2,
								double);
	for (int i = 0; i < 2; i++)
	{
		pursuit->value[i] = FC_TAKE(arena, MAX_ENTRIES, double);
		pursuit->chosen[i] = FC_TAKE(arena, MAX_ENTRIES, uint32_t);
	}
	for (size_t i = 0; i < n; i++)
		max = fmax(max, gram[i * n + i]);
	for (size_t i = 0; i < n; i++)
		pursuit->root[i] = gram[i * n + i] > NEGLIGIBLE_SQUARE * max
			? 1.0 / sqrt(gram[i * n + i])
			: 0.0;
}

static inline double *
packed_row(double *cholesky, size_t r)
{
	return cholesky + r * (r + 1) / 2;
}

/*
 * Adds atom i to the Cholesky factor of the `count` chosen atoms. Returns
 * false if it nearly depends on them.
 */
static bool
add_atom(fc_omp *p, const uint32_t *chosen, size_t count, size_t i)
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
	return left > FC_DEPENDENT_SHARE * square;
}

/*
 * Computes the least-squares coefficients `value` of the `count` chosen atoms,
 * and returns the decrease of the objective by these atoms. b: inner products
 * of the atoms with the target.
 */
static double
solve(fc_omp *p, const uint32_t *chosen, size_t count, const double *b,
	  double *value)
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

static size_t
pursue(fc_omp *p, const double *b, size_t entries, double *explained)
{
	uint32_t   *chosen = p->chosen[0];
	size_t		count = 0;
	size_t		next;

	fc_omp_begin(p, b);
	while (count < entries && (next = fc_omp_best(p)) < p->n)
	{
		double	   *row = packed_row(p->cholesky, count);

		for (size_t r = 0; r < count; r++)
			row[r] = p->rows[r * p->n + next];
		row[count] = sqrt(p->left[next]) / p->root[next];
		chosen[count++] = (uint32_t) next;
		if (count < entries)
			fc_omp_extend(p, next, row, count - 1);
	}
	*explained = solve(p, chosen, count, b, p->value[0]);
	return count;
}

static size_t
refit(fc_omp *p, const double *b, const fc_line *old, size_t capacity,
	  double *explained)
{
	size_t		count = 0;

	for (size_t i = 0; i < old->count && count < capacity; i++)
		if (p->root[old->column[i]] > 0.0 &&
			add_atom(p, p->chosen[1], count, old->column[i]))
			p->chosen[1][count++] = old->column[i];
	*explained = solve(p, p->chosen[1], count, b, p->value[1]);
	return count;
}

/*
 * Returns the decrease of the objective by the old line, compared with a line
 * of zeros, whose objective is 0.
 */
static double
explained_by(const fc_omp *p, const double *b, const fc_line *old)
{
	double		sum = 0.0;

	for (size_t i = 0; i < old->count; i++)
	{
		const double *row = p->gram + old->column[i] * p->n;
		double		inner = 2.0 * b[old->column[i]];

		for (size_t j = 0; j < old->count; j++)
			inner -= row[old->column[j]] * old->scale * old->value[j];
		sum += old->scale * old->value[i] * inner;
	}
	return sum;
}

/* Writes `count` entries to column and value, sorted by column. */
static void
write_sorted(const uint32_t *chosen, const double *from, size_t count,
			 uint32_t *column, double *value)
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
fc_omp_line(fc_omp *p, const double *b, size_t entries, const fc_line *old,
			size_t capacity, uint32_t *column, double *value)
{
	double		explained[2];
	size_t		count[2];
	int			better;

	capacity = smaller(capacity, MAX_ENTRIES);
	entries = larger(entries, old->count);
	count[0] = pursue(p, b, smaller(entries, capacity), &explained[0]);
	count[1] = refit(p, b, old, capacity, &explained[1]);
	better = explained[0] > explained[1] ? 0 : 1;
	if (old->count <= capacity && explained_by(p, b, old) > explained[better])
	{
		for (size_t i = 0; i < old->count; i++)
		{
			column[i] = old->column[i];
			value[i] = old->scale * old->value[i];
		}
		return old->count;
	}
	write_sorted(p->chosen[better], p->value[better], count[better], column,
				 value);
	return count[better];
}

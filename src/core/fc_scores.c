/*
 * fc_scores.c - adjusted Rand index and normalised mutual information.
 *
 *     ARI = (S - E) / ((A + B) / 2 - E),  S = sum_ij C(n_ij, 2), A = sum_i C(a_i, 2),
 *           B = sum_j C(b_j, 2), E = A B / C(n, 2)            (Hubert, Arabie 1985)
 *     NMI = 2 I(a; b) / (H(a) + H(b))                         (arithmetic mean)
 *
 * Pair counts are long double: 1e11 rows make 5e21 pairs.
 */
#include "fc_scores.h"

#include <math.h>
#include <stdlib.h>

typedef struct marginal
{
	int32_t		label;
	int64_t		count;
} marginal;

typedef struct margins
{
	marginal   *a;
	marginal   *b;
	size_t		na;
	size_t		nb;
	int64_t		n;
} margins;

size_t
fc_scores_worksize(size_t cells)
{
	return 2 * cells * sizeof(marginal) + 256;
}

static int
by_label(const void *x, const void *y)
{
	int32_t		p = ((const marginal *) x)->label;
	int32_t		q = ((const marginal *) y)->label;

	return p < q ? -1 : p > q;
}

/* Sort by label and merge; returns the number of labels. */
static size_t
merge(marginal *m, size_t n)
{
	size_t		kept = 0;

	qsort(m, n, sizeof(marginal), by_label);
	for (size_t i = 0; i < n; i++)
		if (kept > 0 && m[kept - 1].label == m[i].label)
			m[kept - 1].count += m[i].count;
		else
			m[kept++] = m[i];
	return kept;
}

static bool
take_margins(const fc_cell *cells, size_t n, fc_arena *arena, margins *out)
{
	out->a = FC_TAKE(arena, n, marginal);
	out->b = FC_TAKE(arena, n, marginal);
	out->n = 0;
	if (out->a == NULL || out->b == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
	{
		out->a[i] = (marginal) {cells[i].a, cells[i].count};
		out->b[i] = (marginal) {cells[i].b, cells[i].count};
		out->n += cells[i].count;
	}
	out->na = merge(out->a, n);
	out->nb = merge(out->b, n);
	return true;
}

static long double
pairs(int64_t n)
{
	return 0.5L * (long double) n * (long double) (n - 1);
}

static long double
marginal_pairs(const marginal *m, size_t n)
{
	long double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += pairs(m[i].count);
	return sum;
}

double
fc_adjusted_rand(const fc_cell *cells, size_t n, fc_arena *arena)
{
	margins		m;
	long double together = 0;
	long double a;
	long double b;
	long double expected;

	if (!take_margins(cells, n, arena, &m))
		return NAN;
	for (size_t i = 0; i < n; i++)
		together += pairs(cells[i].count);
	a = marginal_pairs(m.a, m.na);
	b = marginal_pairs(m.b, m.nb);
	if (a == together && b == together)	/* the same partition, degenerate ones included */
		return 1.0;
	expected = a * b / pairs(m.n);
	return (double) ((together - expected) / ((a + b) / 2 - expected));
}

static long double
entropy(const marginal *m, size_t n, int64_t total)
{
	long double sum = 0;

	for (size_t i = 0; i < n; i++)
	{
		long double p = (long double) m[i].count / (long double) total;

		sum -= p * logl(p);
	}
	return sum;
}

static int64_t
count_of(const marginal *m, size_t n, int32_t label)
{
	marginal	key = {label, 0};
	const marginal *found = bsearch(&key, m, n, sizeof(marginal), by_label);

	return found->count;
}

double
fc_normalized_mutual_information(const fc_cell *cells, size_t n, fc_arena *arena)
{
	margins		m;
	long double information = 0;
	long double ha;
	long double hb;

	if (!take_margins(cells, n, arena, &m))
		return NAN;
	if (m.na == 1 && m.nb == 1)
		return 1.0;
	for (size_t i = 0; i < n; i++)
	{
		long double p = (long double) cells[i].count / (long double) m.n;
		long double independent = (long double) count_of(m.a, m.na, cells[i].a) / (long double) m.n *
			((long double) count_of(m.b, m.nb, cells[i].b) / (long double) m.n);

		information += p * logl(p / independent);
	}
	ha = entropy(m.a, m.na, m.n);
	hb = entropy(m.b, m.nb, m.n);
	return information <= 0 ? 0.0 : (double) (2 * information / (ha + hb));
}

/*
 * contingency.c - counts of pairs of labels; adjusted Rand index and
 * normalised mutual information.
 *
 *     ARI = (S - E) / ((A + B) / 2 - E)                (Hubert, Arabie 1985)
 *           S = sum_ij C(n_ij, 2), A = sum_i C(a_i, 2),
 *           B = sum_j C(b_j, 2), E = A B / C(n, 2)
 *     NMI = 2 (H(a) + H(b) - H(a, b)) / (H(a) + H(b))  (arithmetic mean)
 *
 * n_ij is the number of rows with label i in labelling a and label j in
 * labelling b, a_i = sum_j n_ij, b_j = sum_i n_ij, and n = sum_ij n_ij.
 *
 * Pair counts are long double: 1e11 rows make 5e21 pairs.
 */
#include "operator/contingency.h"

#include "base/rng.h"
#include "base/sort.h"

void
fc_contingency_init(size_t capacity, fc_contingency *table)
{
	memset(table, 0, fc_contingency_size(capacity));
	table->capacity = capacity;
}

fc_status
fc_contingency_add(fc_contingency *table, int64_t a, int64_t b, int64_t count)
{
	fc_cell    *cells = fc_contingency_cells(table);
	int64_t		key[2] = {a, b};
	size_t		mask = table->capacity - 1;
	size_t		at = (size_t) fc_hash_bytes(0, key, sizeof(key)) & mask;

	while (cells[at].count != 0 && (cells[at].a != a || cells[at].b != b))
		at = (at + 1) & mask;
	if (cells[at].count == 0)
	{
		cells[at].a = a;
		cells[at].b = b;
		table->used++;
	}
	if (count > FC_MAX_ROWS - cells[at].count)
		return FC_EOVERFLOW;
	cells[at].count += count;
	return FC_OK;
}

fc_status
fc_contingency_merge(fc_contingency *target, const fc_contingency *source)
{
	const fc_cell *cells = fc_contingency_cells(source);

	for (size_t i = 0; i < source->capacity; i++)
	{
		fc_check();				/* each cell may cost a cache miss */
		if (cells[i].count != 0 &&
			fc_contingency_add(target, cells[i].a, cells[i].b,
							   cells[i].count) != FC_OK)
			return FC_EOVERFLOW;
	}
	return FC_OK;
}

/* Maps a signed label to an unsigned key with the same order. */
static inline uint64_t
label_key(int64_t label)
{
	return (uint64_t) label ^ UINT64_C(1) << 63;
}

void
fc_contingency_list(const fc_contingency *table, fc_arena *arena,
					fc_cell *cells)
{
	const fc_cell *from = fc_contingency_cells(table);
	fc_mark		mark = fc_arena_mark(arena);
	fc_keyed   *items = FC_TAKE(arena, table->used, fc_keyed);
	fc_keyed   *scratch = FC_TAKE(arena, table->used, fc_keyed);
	size_t		n = 0;

	for (size_t i = 0; i < table->capacity; i++)
		if (from[i].count != 0)
			items[n++] = (fc_keyed)
		{
			label_key(from[i].b), i
		};
	fc_sort(items, n, scratch);
	for (size_t i = 0; i < n; i++)
		items[i].key = label_key(from[items[i].value].a);
	fc_sort(items, n, scratch);
	for (size_t i = 0; i < n; i++)
		cells[i] = from[items[i].value];
	fc_arena_release(arena, mark);
}

/* ---- agreement ---- */

/*
 * Labels of both labellings a and b, ascending. The key of an item is a label,
 * and its value is the number of rows with this label.
 */
typedef struct margins
{
	fc_keyed   *a;
	fc_keyed   *b;
	size_t		na;				/* number of labels in a */
	size_t		nb;				/* number of labels in b */
	int64_t		n;				/* number of rows */
} margins;

/*
 * Sorts items by label, and merges items of equal labels into one with the sum
 * of their counts. Sets *labels to the number of different labels, which are
 * the first items of m.
 */
static void
merge(fc_keyed *m, size_t n, fc_keyed *scratch, size_t *labels)
{
	size_t		used = 0;

	fc_sort(m, n, scratch);
	for (size_t i = 0; i < n; i++)
		if (used > 0 && m[used - 1].key == m[i].key)
			m[used - 1].value += m[i].value;
		else
			m[used++] = m[i];
	*labels = used;
}

static fc_status
take_margins(const fc_cell *cells, size_t n, fc_arena *arena, margins *out)
{
	fc_keyed   *scratch = FC_TAKE(arena, n, fc_keyed);

	out->a = FC_TAKE(arena, n, fc_keyed);
	out->b = FC_TAKE(arena, n, fc_keyed);
	out->n = 0;
	for (size_t i = 0; i < n; i++)
	{
		out->a[i] = (fc_keyed)
		{
			label_key(cells[i].a),
				(uint64_t) cells[i].count
		};
		out->b[i] = (fc_keyed)
		{
			label_key(cells[i].b),
				(uint64_t) cells[i].count
		};
		out->n += cells[i].count;
		if (out->n > FC_MAX_ROWS)
			return FC_EOVERFLOW;
	}
	merge(out->a, n, scratch, &out->na);
	merge(out->b, n, scratch, &out->nb);
	return FC_OK;
}

static long double
pairs(int64_t n)
{
	return 0.5L * (long double) n * (long double) (n - 1);
}

static long double
marginal_pairs(const fc_keyed *m, size_t n)
{
	long double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += pairs((int64_t) m[i].value);
	return sum;
}

fc_status
fc_adjusted_rand(const fc_cell *cells, size_t n, fc_arena *arena, double *score)
{
	margins		m;
	long double together = 0;
	long double a;
	long double b;
	long double expected;
	fc_status	status = take_margins(cells, n, arena, &m);

	if (status != FC_OK)
		return status;
	for (size_t i = 0; i < n; i++)
		together += pairs(cells[i].count);
	a = marginal_pairs(m.a, m.na);
	b = marginal_pairs(m.b, m.nb);
	expected = a * b / pairs(m.n);
	if (a == together && b == together) /* equal partitions, including
										 * degenerate ones */
		*score = 1.0;
	else
		*score = (double) ((together - expected) / ((a + b) / 2 - expected));
	return FC_OK;
}

/* Returns the entropy - sum p log p of the counts of labels. */
static long double
entropy_of(const fc_keyed *m, size_t n, int64_t total)
{
	long double sum = 0;

	for (size_t i = 0; i < n; i++)
	{
		long double p = (long double) m[i].value / (long double) total;

		sum -= p * logl(p);
	}
	return sum;
}

fc_status
fc_normalized_mutual_information(const fc_cell *cells, size_t n,
								 fc_arena *arena, double *score)
{
	margins		m;
	long double together = 0;
	long double apart;
	fc_status	status = take_margins(cells, n, arena, &m);

	if (status != FC_OK)
		return status;
	for (size_t i = 0; i < n; i++)
	{
		long double p = (long double) cells[i].count / (long double) m.n;

		together -= p * logl(p);
	}
	apart = entropy_of(m.a, m.na, m.n) + entropy_of(m.b, m.nb, m.n);
	*score = m.na == 1 && m.nb == 1
		? 1.0
		: (double) fmaxl(0.0L, 2 * (apart - together) / apart);
	return FC_OK;
}

/* test_sort.c - sorted, stable, a permutation; interrupt checks come often */
#include "base/sort.h"
#include "unit.h"

static void
test_sorted(size_t n, uint64_t mask)
{
	fc_keyed   *items = unit_alloc(n, sizeof(fc_keyed));
	fc_keyed   *scratch = unit_alloc(n, sizeof(fc_keyed));
	char	   *seen = unit_alloc(n, 1);
	fc_rng		rng = fc_rng_start(n, mask);

	for (size_t i = 0; i < n; i++)
		items[i] = (fc_keyed) {((uint64_t) fc_rng_word(&rng) << 32 | fc_rng_word(&rng)) & mask, i};
	fc_sort(items, n, scratch);
	for (size_t i = 0; i < n; i++)
	{
		CHECK(i == 0 || items[i - 1].key < items[i].key ||
			  (items[i - 1].key == items[i].key && items[i - 1].value < items[i].value), "n %zu: item %zu", n, i);
		seen[items[i].value]++;
	}
	for (size_t i = 0; i < n; i++)
		CHECK(seen[i] == 1, "n %zu: item %zu was lost", n, i);
}

static void
test_labels(void)
{
	static const int32_t labels[] = {INT32_MIN, -7, -1, 0, 1, 900, INT32_MAX};

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
	{
		CHECK(fc_key_label(fc_label_key(labels[i])) == labels[i], "label %d", labels[i]);
		CHECK(i == 0 || fc_label_key(labels[i - 1]) < fc_label_key(labels[i]), "order of %d", labels[i]);
	}
}

/* A check for every pass at least. */
static void
test_checks(void)
{
	size_t		n = 600000;
	fc_keyed   *items = unit_alloc(n, sizeof(fc_keyed));
	fc_keyed   *scratch = unit_alloc(n, sizeof(fc_keyed));

	for (size_t i = 0; i < n; i++)
		items[i].key = (n - i) % 1000;
	fc_interrupt_check = unit_check;
	fc_sort(items, n, scratch);
	fc_interrupt_check = NULL;
	CHECK(unit_checked >= 2, "%ld interrupt checks", unit_checked);
}

/* Rows of `kinds` values, the last of them rare. */
static void
test_distinct(size_t n, size_t kinds)
{
	float	   *rows = unit_alloc(n * 3, sizeof(float));
	fc_keyed   *items = unit_alloc(2 * n, sizeof(fc_keyed));

	for (size_t r = 0; r < n; r++)
		rows[r * 3 + 1] = (float) (r == n - 1 ? kinds - 1 : r % (kinds - 1));
	for (size_t most = 1; most < 2 * kinds; most += 3)
	{
		size_t		distinct;

		fc_count_distinct(rows, n, 3 * sizeof(float), most, items, &distinct);
		CHECK(distinct == (most < kinds ? most : kinds), "%zu of %zu kinds, up to %zu", distinct, kinds, most);
	}
}

int
main(void)
{
	static const size_t sizes[] = {0, 1, 2, 3, 255, 1000, 70000};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		test_sorted(sizes[i], UINT64_MAX);
		test_sorted(sizes[i], 0);
		test_sorted(sizes[i], 0x3f);
		test_sorted(sizes[i], UINT64_C(0xff00000000000300));
	}
	test_labels();
	test_checks();
	test_distinct(1000, 5);
	test_distinct(40, 40);
	return unit_finish();
}

/* fc_contingency.c - counts of pairs of labels; see fc_contingency.h */
#include "fc_contingency.h"

#include <stdlib.h>
#include <string.h>

#include "fc_rng.h"
#include "fc_step.h"

void
fc_contingency_init(size_t capacity, fc_contingency *table)
{
	memset(table, 0, fc_contingency_size(capacity));
	table->version = FC_STEP_VERSION;
	table->kind = FC_STEP_CONTINGENCY;
	table->capacity = (uint32_t) capacity;
}

bool
fc_contingency_has_room(const fc_contingency *table)
{
	return ((size_t) table->used + 1) * 4 <= (size_t) table->capacity * 3;
}

void
fc_contingency_add(fc_contingency *table, int32_t a, int32_t b, int64_t count)
{
	fc_cell    *cells = fc_contingency_cells(table);
	int32_t		key[2] = {a, b};
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
	cells[at].count += count;
}

static int
by_labels(const void *x, const void *y)
{
	const fc_cell *p = x;
	const fc_cell *q = y;

	if (p->a != q->a)
		return p->a < q->a ? -1 : 1;
	return p->b < q->b ? -1 : p->b > q->b;
}

void
fc_contingency_list(const fc_contingency *table, fc_cell *cells)
{
	const fc_cell *from = fc_contingency_cells(table);
	size_t		n = 0;

	for (size_t i = 0; i < table->capacity; i++)
		if (from[i].count != 0)
			cells[n++] = from[i];
	qsort(cells, n, sizeof(fc_cell), by_labels);
}

fc_status
fc_contingency_check(const void *bytes, size_t size)
{
	const fc_contingency *table = bytes;
	const fc_cell *cells;
	size_t		used = 0;

	if (size < sizeof(fc_contingency) || table->version != FC_STEP_VERSION ||
		table->kind != FC_STEP_CONTINGENCY || table->padding != 0 || table->capacity < 4 ||
		(table->capacity & (table->capacity - 1)) != 0 || fc_contingency_size(table->capacity) != size)
		return FC_EFORMAT;
	cells = fc_contingency_cells(table);
	for (size_t i = 0; i < table->capacity; i++)
	{
		if (cells[i].count < 0)
			return FC_EFORMAT;
		used += cells[i].count > 0;
	}
	return used == table->used && used < table->capacity ? FC_OK : FC_EFORMAT;
}

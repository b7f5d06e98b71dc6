/* contingency.c - counts of pairs of labels; see contingency.h */
#include "operator/contingency.h"

#include <string.h>

#include "base/rng.h"
#include "base/sort.h"
#include "operator/step.h"

#define BLOCK ((size_t) 1 << 20)	/* cells between two checks, a few ms */

void
fc_contingency_init(size_t capacity, fc_contingency *table)
{
	fc_cell    *cells = fc_contingency_cells(table);

	for (size_t i = 0; i < capacity; i += BLOCK)
	{
		fc_check();
		memset(cells + i, 0, (capacity - i < BLOCK ? capacity - i : BLOCK) * sizeof(fc_cell));
	}
	memset(table, 0, sizeof(fc_contingency));
	table->version = FC_STEP_VERSION;
	table->kind = FC_STEP_CONTINGENCY;
	table->capacity = (uint32_t) capacity;
}

fc_status
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
		if (i % (BLOCK / 16) == 0)
			fc_check();	/* a cache miss each */
		if (cells[i].count != 0 && fc_contingency_add(target, cells[i].a, cells[i].b, cells[i].count) != FC_OK)
			return FC_EOVERFLOW;
	}
	return FC_OK;
}

void
fc_contingency_list(const fc_contingency *table, fc_arena *arena, fc_cell *cells)
{
	const fc_cell *from = fc_contingency_cells(table);
	fc_mark		mark = fc_arena_mark(arena);
	fc_keyed   *items = FC_TAKE(arena, table->used, fc_keyed);
	fc_keyed   *scratch = FC_TAKE(arena, table->used, fc_keyed);
	size_t		n = 0;

	for (size_t i = 0; i < table->capacity; i++)
	{
		if (i % BLOCK == 0)
			fc_check();
		if (from[i].count != 0)
			items[n++] = (fc_keyed) {fc_label_key(from[i].a) << 32 | fc_label_key(from[i].b), (uint64_t) from[i].count};
	}
	fc_sort(items, n, scratch);
	for (size_t i = 0; i < n; i++)
	{
		if (i % BLOCK == 0)
			fc_check();
		cells[i] = (fc_cell) {fc_key_label(items[i].key >> 32), fc_key_label(items[i].key), (int64_t) items[i].value};
	}
	fc_arena_release(arena, mark);
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
		if (i % BLOCK == 0)
			fc_check();
		if (cells[i].count < 0 || cells[i].count > FC_MAX_ROWS)
			return FC_EFORMAT;
		used += cells[i].count > 0;
	}
	return used == table->used && used < table->capacity ? FC_OK : FC_EFORMAT;
}

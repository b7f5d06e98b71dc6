/*
 * reservoir.c - a sample of rows that does not depend on their order; see
 * reservoir.h
 */
#include "sketch/reservoir.h"

#include "base/rng.h"
#include "base/sort.h"

/*
 * Minimum number of rows R in a reservoir, however many dimensions the rows
 * have. A guess.
 */
#define MIN_RESERVOIR_ROWS	1024

/*
 * Maximum size in bytes of the values of R rows, unless MIN_RESERVOIR_ROWS
 * needs more. A guess.
 */
#define VALUE_BYTES	((size_t) 16 << 20)

fc_reservoir
fc_reservoir_start(size_t d)
{
	size_t		capacity = smaller(FC_RESERVOIR_ROWS,
								   larger(MIN_RESERVOIR_ROWS,
										  VALUE_BYTES / sizeof(double) / d));

	return (fc_reservoir)
	{
		.d = d,.capacity = capacity,.threshold = UINT64_MAX
	};
}

uint64_t
fc_reservoir_hash(const fc_reservoir *reservoir, const double *row)
{
	return fc_hash_bytes(0, row, reservoir->d * sizeof(double));
}

void
fc_reservoir_put(fc_reservoir *reservoir, uint64_t hash, int64_t count,
				 const double *row)
{
	reservoir->entries[reservoir->used] = (fc_reservoir_entry)
	{
		hash, count,
			reservoir->used
	};
	memcpy(reservoir->values + reservoir->used * reservoir->d, row,
		   reservoir->d * sizeof(double));
	reservoir->used++;
}

/*
 * Copies the entries in ascending order of hash and merges entries of equal
 * rows. Returns the number of merged entries.
 */
static size_t
merge_entries(const fc_reservoir *from, const fc_keyed *order,
			  fc_reservoir_entry *entries)
{
	size_t		n = 0;

	for (size_t i = 0; i < from->used; i++)
	{
		const fc_reservoir_entry *entry = &from->entries[order[i].value];

		if (n > 0 && entries[n - 1].hash == entry->hash)
			entries[n - 1].count += entry->count;
		else
			entries[n++] = *entry;
	}
	return n;
}

void
fc_reservoir_compacted(const fc_reservoir *reservoir, fc_arena *arena,
					   fc_reservoir *copy)
{
	size_t		d = reservoir->d;
	fc_keyed   *order;

	*copy = *reservoir;
	copy->entries = FC_TAKE(arena, reservoir->used, fc_reservoir_entry);
	copy->values = FC_TAKE(arena,
						   smaller(reservoir->used, reservoir->capacity) * d,
						   double);
	order = FC_TAKE(arena, 2 * reservoir->used, fc_keyed);
	for (size_t i = 0; i < reservoir->used; i++)
		order[i] = (fc_keyed)
	{
		reservoir->entries[i].hash, i
	};
	fc_sort(order, reservoir->used, order + reservoir->used);
	copy->used = merge_entries(reservoir, order, copy->entries);
	if (copy->used > copy->capacity)
	{
		copy->used = copy->capacity;
		copy->threshold = copy->entries[copy->used - 1].hash;
	}
	for (size_t i = 0; i < copy->used; i++)
	{
		fc_check();
		memcpy(copy->values + i * d,
			   reservoir->values + copy->entries[i].row * d,
			   d * sizeof(double));
		copy->entries[i].row = i;
	}
}

void
fc_reservoir_compact(fc_reservoir *reservoir, fc_arena *arena)
{
	fc_mark		taken = fc_arena_mark(arena);
	fc_reservoir copy;

	fc_reservoir_compacted(reservoir, arena, &copy);
	memcpy(reservoir->values, copy.values, copy.used * copy.d * sizeof(double));
	memcpy(reservoir->entries, copy.entries,
		   copy.used * sizeof(fc_reservoir_entry));
	reservoir->used = copy.used;
	reservoir->threshold = copy.threshold;
	fc_arena_release(arena, taken);
}

/*
 * frequent_items.c - counts of distinct values in bounded memory; see
 * frequent_items.h
 */
#include "encode/frequent_items.h"

#include "base/rng.h"
#include "base/sort.h"

/*
 * Initial number of slots in a hash table, which doubles as it fills. A guess.
 */
#define FIRST_SLOTS	32

/*
 * Initial memory for the texts of a counter, in bytes; it doubles when it is
 * full. A guess.
 */
#define FIRST_TEXT	256

#define ROWS			4		/* number of hashed counters that every text
								 * increments */
#define COLUMNS			(FC_FREQUENT_SKETCH_BYTES / ROWS / sizeof(int64_t))
#define SIGN			(UINT64_C(1) << 63)

/* Maximum number of trailing bits dropped from the keys of numbers, of 64. */
#define MAX_DROPPED	60

/*
 * Returns true if at least a quarter of the slots would be empty after one
 * more value.
 */
static inline bool
has_free_slot(const fc_frequent_items *frequent)
{
	return 4 * (frequent->used + 1) <= 3 * frequent->slots;
}

bool
fc_frequent_has_capacity(const fc_frequent_items *frequent, size_t length)
{
	if (length > FC_FREQUENT_LENGTH)
		return true;
	return has_free_slot(frequent) &&
		frequent->text_used + length <= frequent->text_capacity;
}

bool
fc_frequent_exceeds_limit(const fc_frequent_items *frequent)
{
	return frequent->used >
		(frequent->texts ? FC_FREQUENT_TEXTS : FC_FREQUENT_NUMBERS);
}

/* ---- hashed counters ---- */

static inline int64_t *
counter(const fc_frequent_items *frequent, uint64_t key, size_t row)
{
	uint32_t	first = (uint32_t) key;
	uint32_t	step = (uint32_t) (key >> 32) | 1;

	return frequent->sketch + row * COLUMNS +
		((first + (uint32_t) row * step) >> 8) % COLUMNS;
}

static int64_t
sketched_count(const fc_frequent_items *frequent, uint64_t key)
{
	int64_t		min = INT64_MAX;

	for (size_t row = 0; row < ROWS; row++)
		if (*counter(frequent, key, row) < min)
			min = *counter(frequent, key, row);
	return min;
}

static void
add_to_sketch(fc_frequent_items *frequent, uint64_t key, int64_t count)
{
	for (size_t row = 0; row < ROWS; row++)
		*counter(frequent, key, row) += count;
}

int64_t
fc_frequent_count(const fc_frequent_items *frequent, size_t slot)
{
	return frequent->sketch == NULL
		? frequent->entry[slot].count
		: sketched_count(frequent, frequent->entry[slot].key);
}

bool
fc_frequent_wants_sketch(const fc_frequent_items *frequent)
{
	return frequent->texts && frequent->sketch == NULL && fc_frequent_exceeds_limit(frequent);
}

void
fc_frequent_attach(fc_frequent_items *frequent, int64_t *sketch)
{
	frequent->sketch = sketch;
	for (size_t i = 0; i < frequent->slots; i++)
		if (frequent->entry[i].count > 0)
			add_to_sketch(frequent, frequent->entry[i].key, frequent->entry[i].count);
}

/* ---- slots ---- */

/*
 * Returns the slot of a value, or the empty slot where it belongs; text is
 * NULL for a number.
 */
static fc_frequent_item *
find_slot(const fc_frequent_items *frequent, uint64_t key, const char *text,
		  size_t length)
{
	size_t		i = ((size_t) ((key * UINT64_C(0x9E3779B97F4A7C15)) >> 32) &
					 (frequent->slots - 1));

	for (;; i = (i + 1) & (frequent->slots - 1))
	{
		fc_frequent_item *entry = &frequent->entry[i];

		if (entry->count == 0 ||
			(entry->key == key && entry->length == length &&
			 (length == 0 ||
			  memcmp(frequent->text +entry->start, text, length) == 0)))
			return entry;
	}
}

static void
count_value(fc_frequent_items *frequent, uint64_t key, const char *text,
			size_t length, int64_t count)
{
	fc_frequent_item *entry = find_slot(frequent, key, text, length);

	if (entry->count == 0)
	{
		FC_ASSERT(fc_frequent_has_capacity(frequent, length));
		*entry = (fc_frequent_item)
		{
			key, 0, (uint32_t) frequent->text_used,
				(uint32_t) length
		};
		if (length > 0)
			memcpy(frequent->text +frequent->text_used, text, length);
		frequent->text_used += length;
		frequent->used++;
	}
	entry->count += count;
}

void
fc_frequent_add_number(fc_frequent_items *frequent, double x, int64_t count)
{
	frequent->total += count;
	count_value(frequent, fc_number_key(x) >> frequent->dropped, NULL, 0, count);
}

void
fc_frequent_add_text(fc_frequent_items *frequent, const char *text, size_t length,
					 int64_t count)
{
	uint64_t	key;

	frequent->total += count;
	if (length > FC_FREQUENT_LENGTH)
	{
		frequent->long_texts += count;
		return;
	}
	key = fc_hash_bytes(0, text, length);
	if (frequent->sketch != NULL)
		add_to_sketch(frequent, key, count);
	count_value(frequent, key, text, length, count);
}

/* ---- growth ---- */

static size_t
next_slots(const fc_frequent_items *frequent)
{
	if (frequent->slots == 0)
		return FIRST_SLOTS;
	return has_free_slot(frequent) || fc_frequent_exceeds_limit(frequent)
		? frequent->slots
		: 2 * frequent->slots;
}

static size_t
next_text_capacity(const fc_frequent_items *frequent, size_t length)
{
	size_t		capacity = frequent->text_capacity;

	if (!frequent->texts || frequent->text_used + length <= capacity)
		return capacity;
	return capacity == 0 ? FIRST_TEXT : 2 * capacity;
}

size_t
fc_frequent_next_bytes(const fc_frequent_items *frequent, size_t length)
{
	return next_slots(frequent) * sizeof(fc_frequent_item) +
		next_text_capacity(frequent, length);
}

/*
 * Returns the minimum count with which a text stays listed. It is compared
 * with upper bounds on counts, and at most half of FC_FREQUENT_TEXTS texts
 * reach it.
 */
static int64_t
min_listed_count(const fc_frequent_items *frequent)
{
	int64_t		min = frequent->total / FC_FREQUENT_RARE;
	size_t		stay = frequent->used;

	while (stay > FC_FREQUENT_TEXTS / 2)
	{
		stay = 0;
		for (size_t i = 0; i < frequent->slots; i++)
			stay += frequent->entry[i].count > 0 &&
				fc_frequent_count(frequent, i) >= min;
		if (stay > FC_FREQUENT_TEXTS / 2)
			min = 2 * min + 1;
	}
	return min;
}

void
fc_frequent_move(fc_frequent_items *frequent, size_t length, void *memory)
{
	fc_frequent_items from = *frequent;
	bool		over = fc_frequent_exceeds_limit(frequent);
	unsigned int rounding = (over && !frequent->texts &&
							 frequent->dropped < MAX_DROPPED);
	int64_t		min = over && frequent->texts ? min_listed_count(frequent) : 0;

	frequent->slots = next_slots(&from);
	frequent->text_capacity = next_text_capacity(&from, length);
	frequent->entry = memory;
	frequent->text = (char *) (frequent->entry + frequent->slots);
	frequent->used = frequent->text_used = 0;
	frequent->dropped += rounding;
	memset(frequent->entry, 0, frequent->slots * sizeof(fc_frequent_item));
	for (size_t i = 0; i < from.slots; i++)
	{
		const fc_frequent_item *entry = &from.entry[i];

		if (entry->count > 0 &&
			(!over || !from.texts || fc_frequent_count(&from, i) >= min))
			count_value(frequent, entry->key >> rounding, from.text +entry->start,
						entry->length, entry->count);
	}
}

/* ---- quantiles ---- */

/*
 * Returns the number in the middle of all numbers that round to a key, or 0 if
 * it is not finite.
 */
static double
number_of_key(uint64_t key, unsigned int dropped)
{
	uint64_t	bits = (dropped > 0 ? key << dropped | UINT64_C(1) << (dropped - 1)
						: key);
	double		x;

	bits = bits & SIGN ? bits & ~SIGN : ~bits;
	memcpy(&x, &bits, sizeof(x));
	return isfinite(x) ? x : 0.0;
}

/*
 * Returns the number with this rank among the counted numbers in ascending
 * order; ranks start at 0.
 */
static double
number_of_rank(const fc_frequent_items *frequent, const fc_keyed *items,
			   int64_t rank)
{
	size_t		i = 0;

	while (i + 1 < frequent->used && rank >= (int64_t) items[i].value)
		rank -= (int64_t) items[i++].value;
	return number_of_key(items[i].key, frequent->dropped);
}

void
fc_frequent_quantiles(const fc_frequent_items *frequent, const double *shares,
					  size_t count, fc_arena *arena, double *values)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_keyed   *items = FC_TAKE(arena, frequent->used, fc_keyed);
	fc_keyed   *scratch = FC_TAKE(arena, frequent->used, fc_keyed);
	size_t		n = 0;

	for (size_t i = 0; i < frequent->slots; i++)
		if (frequent->entry[i].count > 0)
			items[n++] = (fc_keyed)
		{
			frequent->entry[i].key,
				(uint64_t) frequent->entry[i].count
		};
	fc_sort(items, n, scratch);
	for (size_t i = 0; i < count; i++)
	{
		double		place = shares[i] * (double) (frequent->total - 1);
		int64_t		rank = (int64_t) place;
		double		below = number_of_rank(frequent, items, rank);
		double		above = number_of_rank(frequent, items, rank + 1);

		values[i] = below + (place - (double) rank) * (above - below);
	}
	fc_arena_release(arena, mark);
}

/* ---- most frequent texts ---- */

/*
 * Returns true if the text of slot a precedes the text of slot b. With
 * by_count, the text with the higher count comes first, and equal counts are
 * ordered by the bytes of the texts. Otherwise texts are ordered by bytes.
 */
static bool
comes_before(const fc_frequent_items *frequent, bool by_count, uint32_t a,
			 uint32_t b)
{
	const fc_frequent_item *left = &frequent->entry[a];
	const fc_frequent_item *right = &frequent->entry[b];
	size_t		shorter = (left->length < right->length ? left->length
						   : right->length);
	int			order = 0;

	if (by_count && fc_frequent_count(frequent, a) != fc_frequent_count(frequent, b))
		return fc_frequent_count(frequent, a) > fc_frequent_count(frequent, b);
	if (shorter > 0)
		order = memcmp(frequent->text +left->start, frequent->text +right->start,
					   shorter);
	return order != 0 ? order < 0 : left->length < right->length;
}

/*
 * Inserts a slot into a list of n slots, sorted by comes_before, and keeps the
 * first `capacity` slots. Returns the new length.
 */
static size_t
insert_slot(const fc_frequent_items *frequent, bool by_count, uint32_t *slots,
			size_t n, size_t capacity, uint32_t slot)
{
	size_t		at = n;

	fc_check();
	if (n == capacity && !comes_before(frequent, by_count, slot, slots[--at]))
		return n;
	for (; at > 0 && comes_before(frequent, by_count, slot, slots[at - 1]); at--)
		slots[at] = slots[at - 1];
	slots[at] = slot;
	return n < capacity ? n + 1 : n;
}

size_t
fc_most_frequent(const fc_frequent_items *frequent, size_t max,
				 uint32_t *chosen)
{
	int64_t		min = (frequent->sketch != NULL ? frequent->total / FC_FREQUENT_CERTAIN
					   : 1);
	size_t		n = 0;

	for (size_t i = 0; max > 0 && i < frequent->slots; i++)
		if (frequent->entry[i].count > 0 && fc_frequent_count(frequent, i) >= min)
			n = insert_slot(frequent, true, chosen, n, max, (uint32_t) i);
	for (size_t i = 0; i < n; i++)
		(void) insert_slot(frequent, false, chosen, i, n, chosen[i]);
	return n;
}

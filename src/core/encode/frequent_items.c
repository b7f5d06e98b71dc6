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

#define ROWS			4		/* number of rows of hashed counters; each
								 * text has a counter in every row */
#define COLUMNS			(FC_FREQUENT_SKETCH_BYTES / ROWS / sizeof(int64_t))
#define SIGN			(UINT64_C(1) << 63)

/*
 * Maximum number of trailing bits dropped from the keys of numbers, which have
 * 64 bits.
 */
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
	return frequent->sketch == NULL || frequent->entry[slot].count == 0
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

/* Returns true if text a precedes text b in the order of bytes. */
static bool
precedes(const char *a, size_t a_length, const char *b, size_t b_length)
{
	size_t		shorter = a_length < b_length ? a_length : b_length;
	int			order = shorter > 0 ? memcmp(a, b, shorter) : 0;

	return order != 0 ? order < 0 : a_length < b_length;
}

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
			(entry->key == key &&
			 (frequent->keyed ||
			  (entry->length == length &&
			   (length == 0 ||
				memcmp(frequent->text +entry->start, text, length) == 0)))))
			return entry;
	}
}

/*
 * Sets the text of an entry. A text that is not longer than the entry's
 * previous text overwrites it. A longer text is appended to the memory of the
 * texts.
 */
static void
keep_text(fc_frequent_items *frequent, fc_frequent_item *entry,
		  const char *text, size_t length)
{
	if (length > entry->length)
	{
		entry->start = (uint32_t) frequent->text_used;
		frequent->text_used += length;
	}
	frequent->text_kept += length - entry->length;
	entry->length = (uint32_t) length;
	if (length > 0)
		memcpy(frequent->text +entry->start, text, length);
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
			.key = key,
				.start = (uint32_t) frequent->text_used
		};
		keep_text(frequent, entry, text, length);
		frequent->used++;
	}
	else if (frequent->keyed &&
			 precedes(text, length, frequent->text +entry->start, entry->length))
		keep_text(frequent, entry, text, length);
	entry->count += count;
}

void
fc_frequent_add_number(fc_frequent_items *frequent, double x, int64_t count)
{
	frequent->total += count;
	count_value(frequent, fc_number_key(x) >> frequent->dropped, NULL, 0, count);
}

/*
 * The key of a value is hashed again, because its bits may be less random than
 * a hash.
 */
void
fc_frequent_add_text(fc_frequent_items *frequent, const uint64_t *key,
					 const char *text, size_t length, int64_t count)
{
	uint64_t	hash = (key != NULL ? fc_hash_bytes(0, key, sizeof(*key))
						: fc_hash_bytes(0, text, length));

	frequent->total += count;
	if (length > FC_FREQUENT_LENGTH)
	{
		frequent->long_texts += count;
		return;
	}
	if (frequent->sketch != NULL)
		add_to_sketch(frequent, hash, count);
	count_value(frequent, hash, text, length, count);
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
	if (capacity > 0 && frequent->text_kept + length <= capacity / 2)
		return capacity;		/* fc_frequent_move drops replaced texts,
								 * which makes enough room */
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
	frequent->used = frequent->text_used = frequent->text_kept = 0;
	frequent->dropped += rounding;
	memset(frequent->entry, 0, frequent->slots * sizeof(fc_frequent_item));
	for (size_t i = 0; i < from.slots; i++)
	{
		const fc_frequent_item *entry = &from.entry[i];

		if (entry->count > 0 && fc_frequent_count(&from, i) >= min)
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

/* Returns true if the text of slot a precedes the text of slot b, by bytes. */
static bool
comes_before(const fc_frequent_items *frequent, uint32_t a, uint32_t b)
{
	const fc_frequent_item *left = &frequent->entry[a];
	const fc_frequent_item *right = &frequent->entry[b];

	return precedes(frequent->text +left->start, left->length,
					frequent->text +right->start, right->length);
}

/*
 * Inserts a slot into a list of n slots, sorted by comes_before, and keeps the
 * first `capacity` slots. Returns the new length.
 */
static size_t
insert_slot(const fc_frequent_items *frequent, uint32_t *slots, size_t n,
			size_t capacity, uint32_t slot)
{
	size_t		at = n;

	fc_check();
	if (n == capacity &&
		(n == 0 || !comes_before(frequent, slot, slots[--at])))
		return n;
	for (; at > 0 && comes_before(frequent, slot, slots[at - 1]); at--)
		slots[at] = slots[at - 1];
	slots[at] = slot;
	return n < capacity ? n + 1 : n;
}

/*
 * Number of texts with a count in a range, and number of rows with such a
 * text.
 */
typedef struct count_range
{
	double		texts;
	double		rows;
} count_range;

static count_range
range_of_counts(const fc_frequent_items *frequent, int64_t low, int64_t high)
{
	count_range range = {0, 0};

	fc_check();
	for (size_t i = 0; i < frequent->slots; i++)
	{
		int64_t		count = fc_frequent_count(frequent, i);

		if (count == 0 || count < low || count > high)
			continue;
		range.texts += 1.0;
		range.rows += (double) count;
	}
	return range;
}

/*
 * Returns the number of texts with a count of x, averaged over the counts from
 * x - sqrt(x) / 2 to x + sqrt(x) / 2.
 */
static double
texts_near(const fc_frequent_items *frequent, int64_t x)
{
	int64_t		width = (int64_t) (0.5 * sqrt((double) x));

	return range_of_counts(frequent, x - width, x + width).texts /
		(double) (2 * width + 1);
}

/*
 * A choice of texts: all texts with counts above `high` and, of the texts with
 * counts from low to high, the first `first` in the order of bytes.
 */
typedef struct text_choice
{
	int64_t		low;
	int64_t		high;
	size_t		first;
} text_choice;

/* Numbers from which the bias of a choice is computed. */
typedef struct choice_ranges
{
	count_range above;			/* texts with counts above high */
	count_range within;			/* texts with counts from low to high */
	double		excess_of_low;	/* expected number of rows that have a chosen
								 * text only by chance (fc_most_frequent), if
								 * all texts with a count of low or more are
								 * chosen */
	double		excess_of_high; /* the same for texts with a count of high or
								 * more */
} choice_ranges;

static choice_ranges
ranges_of_choice(const fc_frequent_items *frequent, const text_choice *choice)
{
	return (choice_ranges)
	{
		range_of_counts(frequent, choice->high + 1, INT64_MAX),
			range_of_counts(frequent, choice->low, choice->high),
			(double) choice->low * texts_near(frequent, choice->low),
			(double) choice->high * texts_near(frequent, choice->high)
	};
}

/*
 * Returns true if a choice of texts is biased: if the expected excess of rows
 * with a chosen text exceeds a standard deviation of their number (see
 * fc_most_frequent). `first` is as in text_choice.
 */
static bool
is_biased(const fc_frequent_items *frequent, const choice_ranges *ranges,
		  size_t first)
{
	double		total = (double) frequent->total;
	double		share = (double) first / ranges->within.texts;
	double		rows = ranges->above.rows + share * ranges->within.rows;
	double		excess = (share * ranges->excess_of_low +
						  (1.0 - share) * ranges->excess_of_high);

	return excess * excess * total > rows * (total - rows);
}

/*
 * Chooses up to `max` texts with a count of `min` or more, as described at
 * fc_most_frequent. There must be more than `max` such texts.
 */
static text_choice
unbiased_choice(const fc_frequent_items *frequent, int64_t min, size_t max)
{
	int64_t		cut = min;		/* count of the max-th most frequent text */

	for (int64_t above = frequent->total + 1; above - cut > 1;)
	{
		int64_t		middle = cut + (above - cut) / 2;

		if (range_of_counts(frequent, middle, INT64_MAX).texts >= (double) max)
			cut = middle;
		else
			above = middle;
	}
	for (double width = 0;; width += sqrt(2.0 * (double) cut))
	{
		text_choice choice = {cut - (int64_t) width, cut + (int64_t) width, 0};
		choice_ranges ranges;

		choice.low = choice.low < min ? min : choice.low;
		ranges = ranges_of_choice(frequent, &choice);
		choice.first = max - (size_t) ranges.above.texts;

		if (!is_biased(frequent, &ranges, choice.first))
			return choice;
		if (choice.low > min)
			continue;
		while (choice.first > 0 && is_biased(frequent, &ranges, choice.first))
			choice.first--;
		if (ranges.above.texts == 0 && choice.first == 0)
			choice.first = 1;
		if (ranges.above.texts == 0 ||
			!is_biased(frequent, &ranges, choice.first))
			return choice;
	}
}

size_t
fc_most_frequent(const fc_frequent_items *frequent, size_t max,
				 uint32_t *chosen)
{
	int64_t		min = (frequent->sketch != NULL ? frequent->total / FC_FREQUENT_CERTAIN
					   : 1);
	text_choice choice = {min, INT64_MAX, max};
	size_t		above = 0;
	size_t		n = 0;

	if (range_of_counts(frequent, min, INT64_MAX).texts > (double) max)
		choice = unbiased_choice(frequent, min, max);
	for (size_t i = 0; i < frequent->slots; i++)
		if (fc_frequent_count(frequent, i) > choice.high)
			chosen[above++] = (uint32_t) i;
	for (size_t i = 0; i < frequent->slots; i++)
		if (frequent->entry[i].count > 0 &&
			fc_frequent_count(frequent, i) >= choice.low &&
			fc_frequent_count(frequent, i) <= choice.high)
			n = insert_slot(frequent, chosen + above, n, choice.first,
							(uint32_t) i);
	n += above;
	for (size_t i = 0; i < n; i++)
		(void) insert_slot(frequent, chosen, i, n, chosen[i]);
	return n;
}

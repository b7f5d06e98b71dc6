/*
 * frequent_items.h - the number of rows with each value of a column, in
 * bounded memory, independent of the order of the rows.
 *
 * Numbers: up to FC_FREQUENT_NUMBERS distinct numbers are counted exactly. If
 * there are more, the numbers are rounded to the largest number of leading
 * bits that keeps the limit; quantiles are then exact to the spacing of
 * rounded numbers. The number of bits depends only on the set of numbers.
 *
 * Texts: up to FC_FREQUENT_TEXTS distinct texts are counted exactly. If there
 * are more, a sketch of hashed counters gives upper bounds of counts (Cormode,
 * Muthukrishnan 2005). A text may be dropped from the list of texts if its
 * bound is below the share 1 / FC_FREQUENT_RARE of the rows so far. A text in
 * at least the share 1 / FC_FREQUENT_CERTAIN of all rows is certainly listed
 * in the end. The list of frequent texts therefore does not depend on the
 * order of the rows. Texts longer than FC_FREQUENT_LENGTH bytes are only
 * counted together.
 *
 * Values with several texts: a counter with `keyed` identifies a value by a
 * key of 64 bits. It keeps the text that sorts first by bytes among the texts
 * of the value. The probability that any two of n values have the same key is
 * n^2 / 2^65. If a value was dropped and is listed again, earlier texts do not
 * count.
 *
 * The caller provides the memory. It moves the counter to a new block before
 * and after an addition if the functions below request it.
 */
#ifndef FC_ENCODE_FREQUENT_ITEMS_H
#define FC_ENCODE_FREQUENT_ITEMS_H

#include "base/fc.h"

/*
 * Maximum number of distinct numbers that are counted exactly. A larger
 * maximum makes quantiles more precise, and each column of a state takes more
 * memory. A guess.
 */
#define FC_FREQUENT_NUMBERS	4096

/*
 * Maximum number of distinct texts that are counted exactly. A larger maximum
 * makes counts of rarer texts exact, and each column of a state takes more
 * memory. A guess.
 */
#define FC_FREQUENT_TEXTS	16384

/*
 * Maximum length in bytes of a text that is counted by its value. For longer
 * texts, only their total number is counted. A guess.
 */
#define FC_FREQUENT_LENGTH	255

/*
 * Inverse of the minimum share of the rows so far at which a text stays
 * listed. A larger value keeps more texts, in more memory. A guess.
 */
#define FC_FREQUENT_RARE	4096

/*
 * Inverse of the minimum share of all rows at which a text is certainly
 * listed. It must be well below FC_FREQUENT_RARE. A guess.
 */
#define FC_FREQUENT_CERTAIN	1000

/*
 * Size in bytes of the sketch, 4 rows of 2^16 counters. More counters make
 * counts of rare texts more precise. A guess.
 */
#define FC_FREQUENT_SKETCH_BYTES	((size_t) 4 << 19)

typedef struct fc_frequent_item
{
	uint64_t	key;			/* leading bits of a number, or hash of a text
								 * or of the key of its value */
	int64_t		count;			/* number of rows with this value; 0: the slot
								 * is empty */
	uint32_t	start;			/* offset of the text */
	uint32_t	length;
} fc_frequent_item;

typedef struct fc_frequent_items
{
	bool		texts;
	bool		keyed;			/* true if values are identified by keys, and
								 * may have several texts */
	unsigned int dropped;		/* number of trailing bits dropped from the
								 * keys of numbers */
	size_t		used;			/* number of used slots */
	size_t		slots;			/* number of slots, a power of two above
								 * `used`; 0: no memory yet */
	size_t		text_used;		/* bytes of text in use, replaced texts
								 * included */
	size_t		text_kept;		/* bytes of text in use, replaced texts
								 * excluded */
	size_t		text_capacity;	/* bytes allocated for texts */
	int64_t		total;			/* number of rows counted, including rows with
								 * long texts */
	int64_t		long_texts;
	fc_frequent_item *entry;
	char	   *text;
	int64_t    *sketch;			/* hashed counters; NULL: all counts are exact */
} fc_frequent_items;

/*
 * Returns true if there is room for one more value, a text of `length` bytes
 * or a number (length 0). If not, the caller must first move the counter to
 * larger memory (fc_frequent_move).
 */
bool		fc_frequent_has_capacity(const fc_frequent_items *frequent, size_t length);

/*
 * Returns true if the last addition exceeded the limit on distinct values. The
 * caller must then move the counter (fc_frequent_move), repeatedly until this
 * returns false.
 */
bool		fc_frequent_exceeds_limit(const fc_frequent_items *frequent);

/*
 * Returns true if the counter needs a sketch before it is moved.
 * fc_frequent_attach gives it a zeroed sketch, which then belongs to the
 * counter.
 */
bool		fc_frequent_wants_sketch(const fc_frequent_items *frequent);
void		fc_frequent_attach(fc_frequent_items *frequent, int64_t *sketch);

/*
 * fc_frequent_next_bytes returns the size in bytes of the memory for the next
 * move, with room for a text of `length` bytes. fc_frequent_move moves the
 * values to this memory. If the values exceed the limit, it drops rare texts
 * or rounds the numbers.
 */
size_t		fc_frequent_next_bytes(const fc_frequent_items *frequent, size_t length);
void		fc_frequent_move(fc_frequent_items *frequent, size_t length, void *memory);

/*
 * Each function adds a value `count` times; there must be room for it. If the
 * counter is `keyed`, `key` is the key of the text's value; else it is NULL.
 */
void		fc_frequent_add_number(fc_frequent_items *frequent, double x, int64_t count);
void		fc_frequent_add_text(fc_frequent_items *frequent, const uint64_t *key,
								 const char *text, size_t length, int64_t count);

/*
 * Computes the quantiles of the numbers for `count` shares (0 to 1),
 * interpolated linearly. At least one number must have been added.
 */
void		fc_frequent_quantiles(const fc_frequent_items *frequent, const double *shares,
								  size_t count, fc_arena *arena, double *values);

/*
 * Returns the number of rows with the text in a slot, 0 for an empty slot; an
 * upper bound if there is a sketch.
 */
int64_t		fc_frequent_count(const fc_frequent_items *frequent, size_t slot);

/*
 * Stores the slots of the most frequent texts, up to `max`, in `chosen`,
 * sorted by the bytes of the texts. Of texts with equal counts, the first in
 * this order are chosen. `chosen` needs room for `used` slots. Returns the
 * number of slots stored.
 *
 * If there are more than `max` texts, the chosen texts are frequent in part by
 * chance: they are less frequent in other rows. For Poisson counts N, the
 * expected excess of the texts with N >= c is
 *     sum E (N - E N) [N >= c] = c sum P(N = c)
 * which is estimated by c times the number of texts with a count of c. The
 * excess must not exceed one standard deviation of the number of rows that
 * have a chosen text.
 *
 * If the excess is larger, the counts from c - t sqrt(2 c) to c + t sqrt(2 c)
 * are taken as equal, where c is the count of the last chosen text. The
 * expected excess is then between the excesses at the two ends of this range.
 * t is the smallest of 1, 2, .. for which the excess is small enough. If the
 * excess is too large even when all texts count as equal, fewer texts are
 * chosen.
 */
size_t		fc_most_frequent(const fc_frequent_items *frequent, size_t max,
							 uint32_t *chosen);

#endif							/* FC_ENCODE_FREQUENT_ITEMS_H */

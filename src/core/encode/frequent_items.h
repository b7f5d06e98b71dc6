/*
 * frequent_items.h - how often each value of a column occurs, in bounded
 * memory, whatever the order of the rows.
 *
 * Numbers: up to FC_FREQUENT_NUMBERS distinct ones are counted exactly. Where
 * there are more, they are rounded to fewer leading bits, the most that leave
 * so few: quantiles are then exact to the spacing of so many places. Bits
 * depend on the set of numbers alone.
 *
 * Texts: up to FC_FREQUENT_TEXTS distinct ones are counted exactly. Where
 * there are more, a sketch of hashed counters gives upper bounds of counts
 * (Cormode, Muthukrishnan 2005), and a text stays listed while its bound is a
 * share 1 / FC_FREQUENT_RARE of the rows so far. A text in a share 1 /
 * FC_FREQUENT_CERTAIN of all rows is listed since its last row at the latest,
 * so that the frequent ones are the same in any order. Texts of more than
 * FC_FREQUENT_LENGTH bytes are only counted.
 *
 * Memory is the caller's, who moves the tally into another block before and
 * after an addition where it says so.
 */
#ifndef FC_ENCODE_FREQUENT_ITEMS_H
#define FC_ENCODE_FREQUENT_ITEMS_H

#include "base/fc.h"

#define FC_FREQUENT_NUMBERS	4096
#define FC_FREQUENT_TEXTS		16384
#define FC_FREQUENT_LENGTH		255
#define FC_FREQUENT_RARE		4096
#define FC_FREQUENT_CERTAIN	1000
#define FC_FREQUENT_SKETCH_BYTES	((size_t) 4 << 19)	/* 4 rows of 2^16
														 * counters */

typedef struct fc_frequent_item
{
	uint64_t	key;			/* the number's leading bits, or the text's
								 * hash */
	int64_t		count;			/* 0: the slot is empty */
	uint32_t	start;			/* of the text */
	uint32_t	length;
} fc_frequent_item;

typedef struct fc_frequent_items
{
	bool		texts;
	unsigned int dropped;		/* numbers: bits that are dropped */
	size_t		used;			/* slots */
	size_t		slots;			/* a power of two, more than are used; 0: no
								 * memory yet */
	size_t		text_used;		/* bytes */
	size_t		text_room;
	int64_t		total;			/* rows, those with long texts included */
	int64_t		long_texts;
	fc_frequent_item *entry;
	char	   *text;
	int64_t    *sketch;			/* NULL: all counts are exact */
} fc_frequent_items;

/*
 * Is there room for a value more, a text of so many bytes? Else it is to be
 * moved first.
 */
bool		fc_frequent_has_room(const fc_frequent_items *tally, size_t length);

/*
 * Are there too many values after an addition? Then it is to be moved until
 * there are not.
 */
bool		fc_frequent_is_over(const fc_frequent_items *tally);

/*
 * Does the tally want a sketch before it is moved? fc_frequent_attach gives
 * it, cleared; it belongs to the tally from then on.
 */
bool		fc_frequent_wants_sketch(const fc_frequent_items *tally);
void		fc_frequent_attach(fc_frequent_items *tally, int64_t *sketch);

/*
 * Bytes of the next block; fc_frequent_move takes the values over into it,
 * fewer of them or rounded where they are too many.
 */
size_t		fc_frequent_next_bytes(const fc_frequent_items *tally, size_t length);
void		fc_frequent_move(fc_frequent_items *tally, size_t length, void *memory);

/* Add a value `count` times.  There is room. */
void		fc_frequent_add_number(fc_frequent_items *tally, double x, int64_t count);
void		fc_frequent_add_text(fc_frequent_items *tally, const char *text,
								 size_t length, int64_t count);

/*
 * values (count): quantiles at shares (count) of the numbers, linear between
 * neighbours. There is a number.
 */
void		fc_frequent_quantiles(const fc_frequent_items *tally, const double *shares,
								  size_t count, fc_arena *arena, double *values);

/* Rows of the text in a slot; at least as many, where there is a sketch. */
int64_t		fc_frequent_count(const fc_frequent_items *tally, size_t slot);

/*
 * The slots of the most frequent texts, `most` at most, in the order of their
 * bytes; ties go to the first in that order. chosen has room for as many as
 * are used; returns how many.
 */
size_t		fc_frequent_frequent(const fc_frequent_items *tally, size_t most,
								 uint32_t *chosen);

#endif							/* FC_ENCODE_FREQUENT_ITEMS_H */

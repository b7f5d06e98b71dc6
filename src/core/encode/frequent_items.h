/*
 * tally.h - how often each value of a column occurs, in bounded memory, whatever the order of the rows.
 *
 * Numbers: up to FC_TALLY_NUMBERS distinct ones are counted exactly.  Where there are more, they are rounded to fewer leading bits,
 * the most that leave so few: quantiles are then exact to the spacing of so many places.  Bits depend on the set of numbers alone.
 *
 * Texts: up to FC_TALLY_TEXTS distinct ones are counted exactly.  Where there are more, a sketch of hashed counters gives upper
 * bounds of counts (Cormode, Muthukrishnan 2005), and a text stays listed while its bound is a share 1 / FC_TALLY_RARE of the
 * rows so far.  A text in a share 1 / FC_TALLY_FREQUENT of all rows is listed since its last row at the latest, so that the
 * frequent ones are the same in any order.  Texts of more than FC_TALLY_LENGTH bytes are only counted.
 *
 * Memory is the caller's, who moves the tally into another block before and after an addition where it says so.
 */
#ifndef FC_ENCODE_TALLY_H
#define FC_ENCODE_TALLY_H

#include "base/fc.h"

#define FC_TALLY_NUMBERS	4096
#define FC_TALLY_TEXTS		16384
#define FC_TALLY_LENGTH		255
#define FC_TALLY_RARE		4096
#define FC_TALLY_FREQUENT	1000
#define FC_TALLY_SKETCH_BYTES	((size_t) 4 << 19)	/* 4 rows of 2^16 counters */

typedef struct fc_tally_entry
{
	uint64_t	key;			/* the number's leading bits, or the text's hash */
	int64_t		count;			/* 0: the slot is empty */
	uint32_t	start;			/* of the text */
	uint32_t	length;
} fc_tally_entry;

typedef struct fc_tally
{
	bool		texts;
	unsigned int dropped;		/* numbers: bits that are dropped */
	size_t		used;			/* slots */
	size_t		slots;			/* a power of two, more than are used; 0: no memory yet */
	size_t		text_used;		/* bytes */
	size_t		text_room;
	int64_t		total;			/* rows, those with long texts included */
	int64_t		long_texts;
	fc_tally_entry *entry;
	char	   *text;
	int64_t    *sketch;			/* NULL: all counts are exact */
} fc_tally;

/* An empty tally without memory. */
fc_tally	fc_tally_start(bool texts);

/* Is there room for a value more, a text of so many bytes?  Else it is to be moved first. */
bool		fc_tally_has_room(const fc_tally *tally, size_t length);

/* Are there too many values after an addition?  Then it is to be moved until there are not. */
bool		fc_tally_is_over(const fc_tally *tally);

/* Does the tally want a sketch before it is moved?  fc_tally_attach gives it, cleared; it belongs to the tally from then on. */
bool		fc_tally_wants_sketch(const fc_tally *tally);
void		fc_tally_attach(fc_tally *tally, int64_t *sketch);

/*
 * Bytes of the next block; fc_tally_move takes the values over into it, fewer of them or rounded where they are too many.
 */
size_t		fc_tally_next_bytes(const fc_tally *tally, size_t length);
void		fc_tally_move(fc_tally *tally, size_t length, void *memory);

/* Add a value `count` times.  There is room. */
void		fc_tally_add_number(fc_tally *tally, double x, int64_t count);
void		fc_tally_add_text(fc_tally *tally, const char *text, size_t length, int64_t count);

/*
 * To put tallies together: a new one, with a sketch where one of them has one, joins each of them before it is given their
 * values, slot by slot, with room for each.
 */
void		fc_tally_join(fc_tally *tally, const fc_tally *other);
void		fc_tally_add_entry(fc_tally *tally, const fc_tally *other, size_t slot);

/*
 * values (count): quantiles at shares (count) of the numbers, linear between neighbours.  FC_EEMPTY without any.
 */
fc_status	fc_tally_quantiles(const fc_tally *tally, const double *shares, size_t count, fc_arena *arena,
							   double *values);

/* Rows of the text in a slot; at least as many, where there is a sketch. */
int64_t		fc_tally_count(const fc_tally *tally, size_t slot);

/*
 * The slots of the most frequent texts, `most` at most, in the order of their bytes; ties go to the first in that order.
 * chosen has room for as many as are used; returns how many.
 */
size_t		fc_tally_frequent(const fc_tally *tally, size_t most, uint32_t *chosen);

#endif							/* FC_ENCODE_TALLY_H */

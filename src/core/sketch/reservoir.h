/*
 * reservoir.h - a sample of rows that does not depend on their order.
 *
 * Bottom-R sampling by a keyed hash of the rows' values (Cohen, Kaplan 2007):
 * a row is in iff its hash is among the R smallest. Equal rows share a hash
 * and are held once, with a count. Up to 2 R entries wait before equal ones
 * are merged and the largest hashes dropped, so a row costs O(d) and a
 * comparison.
 *
 * operator/coreset.h samples rows by their keys instead: there each copy of a
 * row is a row of its own, with an importance. A spec needs distinct rows: few
 * values with many copies would leave a sample of copies no widths.
 */
#ifndef FC_SKETCH_RESERVOIR_H
#define FC_SKETCH_RESERVOIR_H

#include "base/fc.h"

#define FC_RESERVOIR_ROWS	4096	/* R at most; fewer in many dimensions,
									 * for 16 MB of values */

typedef struct fc_reservoir_entry
{
	uint64_t	hash;
	int64_t		count;
	size_t		row;			/* of values */
} fc_reservoir_entry;

typedef struct fc_reservoir
{
	size_t		d;
	size_t		capacity;		/* R */
	size_t		used;			/* entries, 2 R at most */
	uint64_t	threshold;		/* greater hashes are out */
	fc_reservoir_entry *entries;	/* from the caller, who grows it */
	double	   *values;			/* as many x d */
} fc_reservoir;

/* An empty reservoir without memory. */
fc_reservoir fc_reservoir_start(size_t d);

uint64_t	fc_reservoir_hash(const fc_reservoir *reservoir, const double *row);

/* Is a row of this hash still in? */
static inline bool
fc_reservoir_wants(const fc_reservoir *reservoir, uint64_t hash)
{
	return hash <= reservoir->threshold;
}

/* Has it to be compacted before a row more? */
static inline bool
fc_reservoir_is_full(const fc_reservoir *reservoir)
{
	return reservoir->used == 2 * reservoir->capacity;
}

/* Add a row that is wanted; there is memory for it. */
void		fc_reservoir_put(fc_reservoir *reservoir, uint64_t hash, int64_t count,
							 const double *row);

/*
 * copy: in the arena, of at most R entries in the order of their hashes, entry
 * i with row i; the source stays as it is.
 */
void		fc_reservoir_compacted(const fc_reservoir *reservoir, fc_arena *arena,
								   fc_reservoir *copy);

/* The same in place; the arena is work. */
void		fc_reservoir_compact(fc_reservoir *reservoir, fc_arena *arena);

#endif							/* FC_SKETCH_RESERVOIR_H */

/*
 * reservoir.h - a sample of rows that does not depend on their order.
 *
 * Bottom-R sampling by a keyed hash of the rows' values (Cohen, Kaplan 2007):
 * a row is in the sample if and only if its hash is among the R smallest.
 * Equal rows share a hash and are stored once, with a count. Up to 2 R entries
 * are kept before equal ones are merged and the largest hashes dropped, so a
 * row costs O(d) and a comparison.
 *
 * operator/coreset.h, in contrast, samples rows by their keys: each copy of a
 * row is a row of its own, with an importance. The sample of a spec must
 * contain distinct rows: if a table has few values and many copies, all rows
 * of a sample of copies could be equal.
 */
#ifndef FC_SKETCH_RESERVOIR_H
#define FC_SKETCH_RESERVOIR_H

#include "base/fc.h"

/*
 * Maximum number of rows in a reservoir (R); smaller in many dimensions, to
 * limit the values to 16 MB. More rows represent the table better, in larger
 * states. A guess.
 */
#define FC_RESERVOIR_ROWS	4096

typedef struct fc_reservoir_entry
{
	uint64_t	hash;			/* hash of the values of the row */
	int64_t		count;			/* number of copies of the row */
	size_t		row;			/* index of the row in values */
} fc_reservoir_entry;

typedef struct fc_reservoir
{
	size_t		d;
	size_t		capacity;		/* sample size R */
	size_t		used;			/* number of entries, up to 2 R */
	uint64_t	threshold;		/* upper bound on the hashes of the sample */
	fc_reservoir_entry *entries;	/* entries, allocated and grown by the
									 * caller */
	double	   *values;			/* rows of the entries, d values each */
} fc_reservoir;

/* Returns an empty reservoir without memory. */
fc_reservoir fc_reservoir_start(size_t d);

uint64_t	fc_reservoir_hash(const fc_reservoir *reservoir, const double *row);

/* Returns true if a row with this hash may belong to the sample. */
static inline bool
fc_reservoir_wants(const fc_reservoir *reservoir, uint64_t hash)
{
	return hash <= reservoir->threshold;
}

/* Returns true if the reservoir must be compacted before another row. */
static inline bool
fc_reservoir_is_full(const fc_reservoir *reservoir)
{
	return reservoir->used == 2 * reservoir->capacity;
}

/*
 * Adds a row for which fc_reservoir_wants returned true. The caller must have
 * made room for it.
 */
void		fc_reservoir_put(fc_reservoir *reservoir, uint64_t hash, int64_t count,
							 const double *row);

/*
 * Makes a compacted copy in the arena: up to R entries in ascending order of
 * hash. Entry i of the copy belongs to row i of its values. The source does
 * not change.
 */
void		fc_reservoir_compacted(const fc_reservoir *reservoir, fc_arena *arena,
								   fc_reservoir *copy);

/* Compacts a reservoir in place; the arena is work space. */
void		fc_reservoir_compact(fc_reservoir *reservoir, fc_arena *arena);

#endif							/* FC_SKETCH_RESERVOIR_H */

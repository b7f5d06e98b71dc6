/*
 * counts.h - how many rows fall where: the flat, versioned bytes of
 * drift_counts.
 *
 * Linear in the rows and exact. Counts are integers of 32 bits below 2^32
 * rows, of 64 bits from there on (FC_DRIFT_WIDE); the number of rows says
 * which, so that equal counts are equal bytes.
 *
 * Layout (offsets multiples of 8, padding zero):
 *     fc_drift_counts
 *     count cell[dim * FC_DRIFT_CELLS]      rows of a column below its least
 *                                           value, up to each edge, above the
 *                                           last
 *     count both[bits (bits - 1) / 2]       rows with both bits of a pair:
 *                                           (0, 1), (0, 2) .. (1, 2) ..
 * and, only with FC_DRIFT_OPEN (an aggregate state), the bits of rows that
 * wait for their batch:
 *     uint32 words[2 * FC_DRIFT_LANES(bits)]    bit i of a word: of row i
 *                                               (first half of the words), of
 *                                               row 32 + i (second)
 * rows and cells know of waiting rows, pairs learn of them when these are
 * folded.
 */
#ifndef FC_DRIFT_COUNTS_H
#define FC_DRIFT_COUNTS_H

#include "drift/spec.h"

#define FC_DRIFT_OPEN	0x01
#define FC_DRIFT_WIDE	0x02
#define FC_DRIFT_BATCH	64
#define FC_DRIFT_LANES(n)	(((n) + 15) / 16 * 16)	/* arrays of inner loops
													 * are padded to a
													 * multiple of 16 */
#define FC_DRIFT_MOST_NARROW	((int64_t) UINT32_MAX)

typedef struct fc_drift_counts
{
	uint32_t	container;		/* belongs to the code that stores the value;
								 * ignored */
	uint16_t	version;		/* FC_DRIFT_VERSION */
	uint8_t		flags;
	uint8_t		padding;		/* 0 */
	uint64_t	digest[2];		/* of the spec, as the next three */
	uint32_t	dim;
	uint32_t	plain;
	uint32_t	far;
	uint32_t	pending;		/* rows waiting, 0 unless open */
	int64_t		rows;
} fc_drift_counts;

static inline size_t
fc_drift_bits(const fc_drift_counts *counts)
{
	return (size_t) counts->plain + counts->far;
}

static inline size_t
fc_drift_pairs(size_t bits)
{
	return bits > 0 ? bits * (bits - 1) / 2 : 0;
}

/* All counts, cells and pairs. */
static inline size_t
fc_drift_numbers(const fc_drift_counts *counts)
{
	return (size_t) counts->dim * FC_DRIFT_CELLS +
		fc_drift_pairs(fc_drift_bits(counts));
}

static inline uint64_t
fc_drift_number(const fc_drift_counts *counts, size_t i)
{
	return (counts->flags & FC_DRIFT_WIDE)
		? ((const uint64_t *) (counts + 1))[i]
		: ((const uint32_t *) (counts + 1))[i];
}

/* Are they of this spec? */
bool		fc_drift_counts_of_spec(const fc_drift_counts *counts,
									const fc_drift_spec *spec);

/* Bytes with these flags, of a spec or of other counts. */
size_t		fc_drift_size_of_spec(const fc_drift_spec *spec, uint8_t flags);
size_t		fc_drift_counts_size(const fc_drift_counts *counts, uint8_t flags);

/* No rows yet, in fc_drift_size_of_spec(spec, flags) bytes. */
void		fc_drift_counts_init(const fc_drift_spec *spec, uint8_t flags,
								 fc_drift_counts *counts);

/* Fold the waiting rows into the pairs. */
void		fc_drift_fold(fc_drift_counts *counts);

/*
 * A copy with other flags, of fc_drift_counts_size(source, flags) bytes;
 * source is folded. FC_EOVERFLOW: too many rows for 32 bits.
 */
fc_status	fc_drift_convert(const fc_drift_counts *source, uint8_t flags,
							 fc_drift_counts *target);

/* The flag FC_DRIFT_WIDE, where so many rows need it. */
static inline uint8_t
fc_drift_width(int64_t rows)
{
	return rows > FC_DRIFT_MOST_NARROW ? FC_DRIFT_WIDE : 0;
}

/*
 * target += sign * source (1 or -1), both folded, the target wide enough for
 * all rows. FC_EMISMATCH: of different specs; FC_ENEGATIVE: rows that are not
 * in it cannot leave it; FC_EOVERFLOW.
 */
fc_status	fc_drift_combine(fc_drift_counts *target,
							 const fc_drift_counts *source, int sign);

/* Validate size untrusted bytes aligned to 8 as stored (not open) counts. */
fc_status	fc_drift_counts_check(const void *bytes, size_t size);

/* ---- rows ---- */

/*
 * A spec made ready to count by. The fields are of drift/ alone; one caller at
 * a time.
 */
typedef struct fc_drift_prepared
{
	uint64_t	digest[2];
	size_t		dim;
	size_t		plain;
	size_t		bits;
	double	   *origin;			/* dim, or NULL */

	/*
	 * tiles of 16 columns: FC_DRIFT_CELLS - 1 thresholds of each, one after
	 * the other
	 */
	float	   *threshold;
	uint16_t   *column;			/* bits */
	float	   *lower;			/* a bit is set where x <= lower or x > upper;
								 * NaN: not by lower */
	float	   *upper;
	float	   *x;				/* the row at hand */
	float	   *of_bits;		/* its columns with bits */
	int32_t    *place;			/* its cells */
} fc_drift_prepared;

void		fc_drift_prepare(const fc_drift_spec *spec, fc_arena *arena,
							 fc_drift_prepared *prepared);

/*
 * Count one row, of doubles or floats on any byte (the other NULL), by cosine
 * of length 1, in open counts of the spec that was prepared, with room for it
 * in 32 bits unless wide. FC_EVALUE: not finite.
 */
fc_status
			fc_drift_count_row(const fc_drift_prepared *prepared, const double *doubles,
							   const float *floats, fc_drift_counts *counts);

#endif							/* FC_DRIFT_COUNTS_H */

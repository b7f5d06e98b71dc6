/*
 * counts.h - counts of rows per cell and per pair of bits, and of NULLs: the
 * flat, versioned bytes of drift_counts.
 *
 * A row counts as often as its weight, a whole number; the number of rows is
 * then the sum of the weights. Counts are exact, and linear in the rows. They
 * are integers of 32 bits below 2^32 rows, and of 64 bits beyond
 * (FC_DRIFT_WIDE). The number of rows decides the width, so that equal counts
 * have equal bytes.
 *
 * Layout (offsets multiples of 8, padding zero):
 *     fc_drift_counts
 *     count cell[dim * FC_DRIFT_CELLS]      rows in the cells of each column:
 *                                           below its smallest value, up to
 *                                           each edge, above the last edge
 *     count both[bits (bits - 1) / 2]       rows with both bits of a pair:
 *                                           (0, 1), (0, 2) .. (1, 2) ..
 *     count nulls[dim]                      rows with a NULL in a column of the
 *                                           table, at the last dimension of the
 *                                           column; 0 at other dimensions, and
 *                                           without FC_DRIFT_NULLS
 * Stored values with FC_DRIFT_UNITS continue with:
 *     fc_drift_units
 *     float    between[fc_drift_statistics]     variances between units
 *                                           (units.h)
 * Aggregate states have FC_DRIFT_UNPACKED. They continue with the bits of the
 * pending rows, whose pairs are counted in batches:
 *     uint32 words[2 * FC_DRIFT_LANES(bits)]    bit i of a word: row i in the
 *                                               first half of the words, row
 *                                               32 + i in the second
 *     uint32 planes[2 * FC_DRIFT_PLANES]        word 2 p: bit p of the weights
 *                                               of rows 0 to 31, word 2 p + 1:
 *                                               of rows 32 to 63
 *     uint8  zero[FC_DRIFT_LANES(dim)]          index of the cell of 0 in each
 *                                               column
 * The number of rows and the cells include pending rows. Counts of pairs
 * include them once they are folded.
 *
 * The cell of 0 is the cell that contains the value 0. A sparse row is first
 * counted in the cells of its elements. In the columns of its elements, its
 * weight is subtracted from the cell of 0, modulo the width of a count.
 * fc_drift_fold then adds the weight of all sparse rows to the cell of 0 of
 * every column.
 */
#ifndef FC_DRIFT_COUNTS_H
#define FC_DRIFT_COUNTS_H

#include "drift/spec.h"

/* Flag of unpacked counts, which have space for a batch of pending rows. */
#define FC_DRIFT_UNPACKED	0x01

/* Flag of counts of 64 bits. */
#define FC_DRIFT_WIDE	0x02

/* Flag of counts in which NULLs were counted, too. */
#define FC_DRIFT_NULLS	0x04

/*
 * Flag of counts of rows that have weights, or belong to units such as
 * customers (units.h).
 */
#define FC_DRIFT_UNITS	0x08

/*
 * Number of rows per batch. A batch has two 32-bit words for each bit of a
 * row.
 */
#define FC_DRIFT_BATCH	64

/* Number of bits of the weight of a row. */
#define FC_DRIFT_PLANES	12

/* Maximum weight of a row. */
#define FC_DRIFT_MAX_WEIGHT	((1 << FC_DRIFT_PLANES) - 1)

#define FC_DRIFT_LANES(n)	(((n) + 15) / 16 * 16)	/* length of an array for
													 * the inner loops,
													 * rounded up to a
													 * multiple of 16 */

/* Maximum number of rows in counts of 32 bits. */
#define FC_DRIFT_MAX_NARROW	((int64_t) UINT32_MAX)

typedef struct fc_drift_counts
{
	uint32_t	container;		/* used by the code that stores the value;
								 * ignored here */
	uint16_t	version;		/* always FC_DRIFT_VERSION */
	uint8_t		flags;
	uint8_t		padding;		/* always 0 */
	uint64_t	digest[2];		/* digest of the spec; `dim`, `plain` and
								 * `far` are also copied from the spec */
	uint32_t	dim;
	uint32_t	plain;
	uint32_t	far;
	uint32_t	pending;		/* number of pending rows; 0 unless unpacked */
	int64_t		rows;
	uint64_t	sparse;			/* total weight of the sparse rows that are
								 * not yet added to the cells of 0; 0 unless
								 * unpacked */
	uint64_t	reserved[3];	/* always 0 */
} fc_drift_counts;

/*
 * Sizes of the units of the counted rows, and the null distribution of their
 * waves (units.h).
 */
typedef struct fc_drift_units
{
	int64_t		units;			/* number of units; 0 if rows have weights,
								 * and each row is a unit */
	double		rows;			/* number of rows */

	/*
	 * sum over the units of the squared share of the rows, or of the weights,
	 * in a unit; the inverse is the effective number of units
	 */
	double		square;
	double		parts;			/* effective number of parts (units.h) */

	/*
	 * V is the covariance matrix of the mean waves of all rows (waves.h).
	 * wave_excess: estimate of tr V, minus the value that tr V would have if
	 * the rows were independent; it may be negative. wave_square and
	 * wave_cube: estimates of tr V^2 and tr V^3
	 */
	double		wave_excess;
	double		wave_square;
	double		wave_cube;
} fc_drift_units;

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

/*
 * Returns the number of counts of cells and pairs, which precede the counts of
 * NULLs.
 */
static inline size_t
fc_drift_values(const fc_drift_counts *counts)
{
	return (size_t) counts->dim * FC_DRIFT_CELLS +
		fc_drift_pairs(fc_drift_bits(counts));
}

/* Returns the number of counts: cells, pairs and NULLs together. */
static inline size_t
fc_drift_numbers(const fc_drift_counts *counts)
{
	return fc_drift_values(counts) + counts->dim;
}

/*
 * Returns the number of statistics whose variances between units are stored.
 * They are, in this order:
 *     rows in a cell or below, rows with both bits of a pair, and NULLs, each
 *     at the index of its count
 *     rows with exactly one bit of a pair
 *     ranks of the columns
 *     means of the columns
 */
static inline size_t
fc_drift_statistics(const fc_drift_counts *counts)
{
	return fc_drift_numbers(counts) + fc_drift_pairs(fc_drift_bits(counts)) +
		2 * (size_t) counts->dim;
}

/* Returns the units of packed counts; NULL without FC_DRIFT_UNITS. */
fc_drift_units *fc_drift_units_of(const fc_drift_counts *counts);

static inline float *
fc_drift_between(const fc_drift_units *units)
{
	return (float *) (units + 1);
}

static inline uint64_t
fc_drift_number(const fc_drift_counts *counts, size_t i)
{
	return (counts->flags & FC_DRIFT_WIDE)
		? ((const uint64_t *) (counts + 1))[i]
		: ((const uint32_t *) (counts + 1))[i];
}

/* Returns true if the counts belong to this spec. */
bool		fc_drift_counts_of_spec(const fc_drift_counts *counts,
									const fc_drift_spec *spec);

/*
 * Return the size in bytes of counts with these flags, given a spec or other
 * counts.
 */
size_t		fc_drift_size_of_spec(const fc_drift_spec *spec, uint8_t flags);
size_t		fc_drift_counts_size(const fc_drift_counts *counts, uint8_t flags);

/*
 * Initialises counts without rows, in fc_drift_size_of_spec(spec, flags)
 * bytes.
 */
void		fc_drift_counts_init(const fc_drift_spec *spec, uint8_t flags,
								 fc_drift_counts *counts);

/*
 * Adds the pending rows to the counts of pairs, and the zeros of sparse rows
 * to the cells of 0.
 */
void		fc_drift_fold(fc_drift_counts *counts);

static inline bool
fc_drift_is_folded(const fc_drift_counts *counts)
{
	return counts->pending == 0 && counts->sparse == 0;
}

/*
 * Copies counts into fc_drift_counts_size(source, flags) bytes. The copy has
 * these flags, and FC_DRIFT_NULLS if the source has it. The source must be
 * folded. With FC_DRIFT_UNITS, the fc_drift_units and the variances of the
 * copy are 0. Returns FC_EOVERFLOW if there are too many rows for 32 bits.
 */
fc_status	fc_drift_convert(const fc_drift_counts *source, uint8_t flags,
							 fc_drift_counts *target);

/* Returns FC_DRIFT_WIDE if this number of rows requires it, else 0. */
static inline uint8_t
fc_drift_width(int64_t rows)
{
	return rows > FC_DRIFT_MAX_NARROW ? FC_DRIFT_WIDE : 0;
}

/* Returns the flags of these counts in the packed layout. */
static inline uint8_t
fc_drift_packed_flags(const fc_drift_counts *counts)
{
	return fc_drift_width(counts->rows) |
		(counts->flags & (FC_DRIFT_NULLS | FC_DRIFT_UNITS));
}

/*
 * Adds sign * source to target, where `sign` is 1 or -1. Both must be folded.
 * The target must be wide enough for all rows, and without FC_DRIFT_UNITS. Its
 * NULLs are kept only if they were counted in the rows of both. Returns
 * FC_EMISMATCH if the specs differ, FC_ENEGATIVE if the target lacks rows to
 * subtract, FC_EOVERFLOW if the rows exceed the width.
 */
fc_status	fc_drift_combine(fc_drift_counts *target,
							 const fc_drift_counts *source, int sign);

/* Validates `size` untrusted bytes, aligned to 8, as packed counts. */
fc_status	fc_drift_counts_check(const void *bytes, size_t size);

/* ---- rows ---- */

/*
 * A spec prepared for counting; only drift/ accesses the fields. One caller
 * at a time may use it, because it has scratch space.
 */
typedef struct fc_drift_prepared
{
	uint64_t	digest[2];
	size_t		dim;
	size_t		plain;
	size_t		bits;
	double	   *origin;			/* dim coordinates; NULL: no origin */

	/* FC_DRIFT_CELLS - 1 thresholds for each column, in tiles of 16 columns */
	float	   *threshold;
	uint16_t   *column;			/* index of the column of each bit */
	float	   *lower;			/* bounds of each bit, which is set if x <=
								 * lower or x > upper; lower is NaN for a
								 * plain bit */
	float	   *upper;
	float	   *x;				/* scratch space: the current row */
	float	   *of_bits;		/* scratch space: for each bit, the value of
								 * its column in the current row */
	int32_t    *place;			/* scratch space: index of the cell of each
								 * column */
	uint8_t    *zero;			/* index of the cell of 0 of each column */
	float	   *sparse;			/* scratch space: the current sparse row;
								 * between rows, a row of zeros */
} fc_drift_prepared;

void		fc_drift_prepare(const fc_drift_spec *spec, fc_arena *arena,
							 fc_drift_prepared *prepared);

/*
 * Counts one row `weight` times, from 1 to FC_DRIFT_MAX_WEIGHT. The row is
 * given as unaligned doubles or floats; the other pointer is NULL. If the
 * metric is cosine, the row must have length 1. The counts must be unpacked,
 * of the prepared spec, and wide if 32 bits do not suffice. Returns FC_EVALUE
 * if a value is not finite.
 */
fc_status	fc_drift_count_row(const fc_drift_prepared *prepared, const double *doubles,
							   const float *floats, uint32_t weight, fc_drift_counts *counts);

/*
 * Counts a sparse row, with the same result as for the dense row. The time is
 * proportional to the number of elements plus the number of bits.
 */
fc_status	fc_drift_count_sparse_row(const fc_drift_prepared *prepared,
									  const fc_sparse_row *row, uint32_t weight,
									  fc_drift_counts *counts);

/*
 * Counts a NULL `weight` times in the column of the table whose last dimension
 * is j. The counts must have FC_DRIFT_NULLS.
 */
void		fc_drift_count_null(fc_drift_counts *counts, size_t j, uint32_t weight);

#endif							/* FC_DRIFT_COUNTS_H */

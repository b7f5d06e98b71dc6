/*
 * layout.h - the flat, versioned bytes of a sketch, and the sums in them.
 *
 * Linear in the rows and exact: every contribution is an integer, so the same
 * rows give the same bytes in any order, grouping or split.
 *     Z_j    = sum_n b_n phi_j(x_n)       integers in units of 2^-22 (b = 1)
 *     W, W2  = sum b, sum b^2
 *     sum b q, sum b q^2                  of q, the row on the spec's grid
 *                                         (prepared.h)
 * The squares are kept in three parts, so that 128 bits hold them for far
 * rows, too:
 *     q = 2^24 a + b, a = rint(2^-24 q):
 *     sum q^2 = 2^48 high + 2^25 cross + low,
 *     high = sum a^2, cross = sum a b, low = sum b^2
 * Unit weights: W, W2 and these sums count in ones and Z is 64 bits wide. Once
 * a fractional or large weight comes in (FC_SKETCH_WEIGHTED) all of them count
 * in 2^-40 and Z is 128 bits wide; fc_sketch_is_unit reports when they can go
 * back.
 *
 * Layout (offsets multiples of 8, padding zero):
 *     fc_sketch, then the spec's bytes without pilot rows (spec_size)
 *     fc_wide sum[tracked], high[tracked], cross[tracked], low[tracked]
 *     double lower[tracked], upper[tracked]
 *     int64 or fc_wide cosines[moments], sines[moments]
 * and, only with FC_SKETCH_OPEN (an aggregate state), rows that wait for their
 * batch:
 *     double sum, high, cross, low, lower, upper of the waiting rows: row
 *         arrays
 *     int64 weight[capacity]
 *     uint8 present[fc_padded(d)]: how many of the waiting sparse rows have an
 *         element there
 *     fc_rows_raw: rows as they came, double x[capacity * fc_padded(d)], all
 *         their sums taken when folded
 *     other rows: float y[capacity * n + FC_PAD], their sums in those above
 * count, W and W2 learn of waiting rows when these are folded.
 */
#ifndef FC_SKETCH_LAYOUT_H
#define FC_SKETCH_LAYOUT_H

#include "sketch/spec.h"

#define FC_PAD			8		/* row arrays are padded to a multiple of this */
#define FC_RAW_ROW		16		/* doubles: shorter rows wait as they came,
								 * others as reduced coordinates */
#define FC_RAW_BASIS	((size_t) 1 << 16)	/* numbers of a basis: with more,
											 * several rows are projected at
											 * once */

static inline size_t
fc_padded(size_t n)
{
	return (n + FC_PAD - 1) / FC_PAD * FC_PAD;
}

/*
 * Length of a row array: d dimensions, padded, then with a projection the n
 * reduced ones, padded.
 */
static inline size_t
fc_row_length(size_t d, size_t tracked)
{
	return fc_padded(d) + fc_padded(tracked - d);
}

/* Where tracked dimension i stands in a row array. */
static inline size_t
fc_row_place(size_t d, size_t i)
{
	return i < d ? i : fc_padded(d) + i - d;
}

/*
 * Rows wait as they came: short ones, and those of a large basis that is not
 * for sparse rows.
 */
bool		fc_rows_raw(const fc_spec *spec);

/* Bytes of a waiting row: fc_padded(d) doubles, or n floats. */
size_t		fc_waiting_row(const fc_spec *spec);

typedef __int128 fc_wide __attribute__((aligned(8)));

#define FC_SKETCH_VERSION	1
#define FC_SKETCH_SUMS		4	/* sum, high, cross, low */
#define FC_SKETCH_WAITING	(FC_SKETCH_SUMS + 2)	/* ... and lower, upper */
#define FC_SKETCH_WEIGHTED	0x01
#define FC_SKETCH_BOUNDS	0x02	/* lower and upper are known */
#define FC_SKETCH_OPEN		0x04	/* rows wait at the tail */

#define FC_COSINE_BITS	22		/* cosines and sines are integers in units of
								 * 2^-22 */
#define FC_WEIGHT_BITS	40		/* weights are integers in units of 2^-40 */
#define FC_ONE_WEIGHT		((int64_t) 1 << FC_WEIGHT_BITS)
#define FC_MIN_WEIGHT		0x1p-40 /* rounded to the grid of 2^-40: from
									 * 2^-20 on to 5e-7 relative */
#define FC_MAX_WEIGHT		0x1p22

typedef struct fc_sketch
{
	uint32_t	container;		/* belongs to the code that stores the value;
								 * ignored */
	uint16_t	version;
	uint8_t		flags;
	uint8_t		padding;		/* 0 */
	uint32_t	spec_size;
	uint32_t	pending;		/* rows waiting, 0 unless open */
	uint32_t	capacity;		/* rows that may wait, 0 unless open */
	uint32_t	sparse;			/* sparse rows among those that wait, 0 unless
								 * open */
	int64_t		count;
	fc_wide		weight;
	fc_wide		weight2;
} fc_sketch;

static inline fc_spec *
fc_sketch_spec(const fc_sketch *sketch)
{
	return (fc_spec *) (sketch + 1);
}

/*
 * A sketch in memory: its bytes, and where their arrays are. A view is worth
 * nothing after the bytes have moved or changed their flags FC_SKETCH_WEIGHTED
 * or FC_SKETCH_OPEN.
 */
typedef struct fc_sketch_view
{
	fc_sketch  *head;			/* the fixed fields, where the bytes begin */
	const fc_spec *spec;
	/* dimensions whose sums are kept: d, then with a projection n more */
	size_t		tracked;
	size_t		moments;
	fc_wide    *sum;			/* FC_SKETCH_SUMS x tracked; the other three
								 * follow it */
	fc_wide    *high;
	fc_wide    *cross;
	fc_wide    *low;
	double	   *lower;
	double	   *upper;
	int64_t    *z;				/* cosines, then sines; NULL when weighted */
	fc_wide    *wide_z;			/* cosines, then sines; NULL unless weighted */
	size_t		row;			/* doubles of a row array */
	/* FC_SKETCH_WAITING row arrays; NULL unless open, as the next three */
	double	   *waiting;
	int64_t    *pending_weight;
	uint8_t    *present;
	char	   *pending_rows;	/* fc_waiting_row bytes each */
} fc_sketch_view;

/*
 * Resolves every offset of a sketch, whose bytes a const view must not change.
 */
fc_sketch_view fc_sketch_view_of(const fc_sketch *sketch);

/* Bytes of a sketch with these flags (capacity counts when open). */
size_t		fc_sketch_size(const fc_spec *spec, uint8_t flags, size_t capacity);
size_t		fc_sketch_bytes(const fc_sketch *sketch);

/* Write an empty sketch of fc_sketch_size(spec, flags, capacity) bytes. */
void		fc_sketch_init(const fc_spec *spec, uint8_t flags, size_t capacity,
						   fc_sketch *sketch);

/*
 * Copy with other flags (a weighted or open copy): target has fc_sketch_size
 * bytes. FC_EOVERFLOW.
 */
fc_status	fc_sketch_convert(const fc_sketch_view *source, uint8_t flags,
							  size_t capacity, fc_sketch *target);

/* After rows have gone, min and max are not known. */
void		fc_sketch_forget_bounds(const fc_sketch_view *sketch);

/* Can a folded weighted sketch be written with unit weights? */
bool		fc_sketch_is_unit(const fc_sketch_view *sketch);

#endif							/* FC_SKETCH_LAYOUT_H */

/*
 * layout.h - the flat, versioned bytes of a sketch, and the sums in them.
 *
 * A sketch is linear in the rows and exact: every contribution is an integer,
 * so the same rows give the same bytes in any order, grouping or split.
 *     Z_j    = sum_n b_n phi_j(x_n)       b_n the weight of row x_n, phi_j its
 *                                         moment (spec.h); integers in units
 *                                         of 2^-22 if all weights are 1
 *     W, W2  = sum b, sum b^2
 *     sum b q, sum b q^2                  q: the row on the spec's grid
 *                                         (prepared.h)
 * The sum of squares is kept in three terms, so that each fits in 128 bits
 * even for rows far from the center:
 *     q = 2^24 a + b, a = rint(2^-24 q):
 *     sum q^2 = 2^48 high + 2^25 cross + low,
 *     high = sum a^2, cross = sum a b, low = sum b^2
 * If all weights are 1, then W, W2 and the sums of q are in units of 1, and Z
 * is 64 bits wide. After the first row with another weight
 * (FC_SKETCH_WEIGHTED), weights are integers in units of 2^-40. All sums are
 * then 2^40 times as large, and Z is 128 bits wide. fc_sketch_is_unit reports
 * when unit weights suffice again.
 *
 * Layout (offsets multiples of 8, padding zero):
 *     fc_sketch, then the spec's bytes without sample rows (spec_size)
 *     fc_wide sum[tracked], high[tracked], cross[tracked], low[tracked]
 *     double lower[tracked], upper[tracked]
 *     int64 or fc_wide cosines[moments], sines[moments]
 * Only with FC_SKETCH_UNPACKED (an aggregate state), the pending rows follow,
 * which are folded into the sums in batches:
 *     double sum, high, cross, low, lower, upper of the pending rows: six row
 *         arrays (fc_row_length)
 *     int64 weight[capacity]
 *     uint8 present[fc_padded(d)]: number of pending sparse rows with an
 *         element in the dimension
 *     if fc_rows_raw: raw rows, double x[capacity * fc_padded(d)]; their sums
 *         are computed when they are folded
 *     else: float y[capacity * n + FC_PAD]; the sums of these rows are in the
 *         row arrays above
 * count, W and W2 include pending rows only after they are folded.
 */
#ifndef FC_SKETCH_LAYOUT_H
#define FC_SKETCH_LAYOUT_H

#include "sketch/spec.h"

/* Multiple to which the number of values in a row array is padded. */
#define FC_PAD	8

/*
 * Maximum padded length, in doubles, of pending rows that are stored as raw
 * values in a spec without a projection. Longer pending rows are stored as
 * reduced coordinates. A larger maximum takes more memory per pending row,
 * and leaves more of the work to the fold of a batch. A guess.
 */
#define FC_RAW_ROW	16

/*
 * Minimum number of values in a basis for projecting several raw rows
 * together; a smaller basis stays in the cache anyway. A guess.
 */
#define FC_RAW_BASIS	((size_t) 1 << 16)

static inline size_t
fc_padded(size_t n)
{
	return (n + FC_PAD - 1) / FC_PAD * FC_PAD;
}

/*
 * Returns the length of a row array in doubles: d dimensions, then the
 * tracked - d dimensions of the projection, if there is one; both are padded.
 */
static inline size_t
fc_row_length(size_t d, size_t tracked)
{
	return fc_padded(d) + fc_padded(tracked - d);
}

/* Returns the index of tracked dimension i in a row array. */
static inline size_t
fc_row_place(size_t d, size_t i)
{
	return i < d ? i : fc_padded(d) + i - d;
}

/*
 * Returns true if pending rows are stored as raw values: if rows are short, or
 * if the basis is large and the center is not 0.
 */
bool		fc_rows_raw(const fc_spec *spec);

/*
 * Returns the size of a pending row in bytes: fc_padded(d) doubles if raw,
 * else n floats.
 */
size_t		fc_pending_row(const fc_spec *spec);

typedef __int128 fc_wide __attribute__((aligned(8)));

/*
 * The type in which variances are computed. The difference of the mean square
 * and the squared mean cancels about 80 bits, and __float128 has 113. Other
 * compilers use long double, which is not the same everywhere.
 */
#ifdef __SIZEOF_FLOAT128__
typedef __float128 fc_quad;
#else
typedef long double fc_quad;
#endif

#define FC_SKETCH_VERSION	1
#define FC_SKETCH_SUMS		4	/* number of sums per tracked dimension: sum,
								 * high, cross, low */
#define FC_SKETCH_PENDING	(FC_SKETCH_SUMS + 2)	/* number of row arrays of
													 * the pending rows: the
													 * sums, lower, upper */

/* Flag of a sketch with rows of a weight other than 1. */
#define FC_SKETCH_WEIGHTED	0x01

#define FC_SKETCH_BOUNDS	0x02	/* the bounds of the rows (lower and
									 * upper) are known */
#define FC_SKETCH_UNPACKED		0x04	/* pending rows are stored after the
										 * moments */

#define FC_COSINE_BITS	22		/* cosines and sines are integers in units of
								 * 2^-22 */
#define FC_WEIGHT_BITS	40		/* weights are integers in units of 2^-40 */
#define FC_ONE_WEIGHT		((int64_t) 1 << FC_WEIGHT_BITS)
#define FC_MIN_WEIGHT		0x1p-40 /* minimum weight above 0; from 2^-20 up,
									 * rounding to the grid of 2^-40 has a
									 * relative error of at most 5e-7 */

/* Maximum weight. In units of 2^-40, it is an integer below 2^63. */
#define FC_MAX_WEIGHT	0x1p22

typedef struct fc_sketch
{
	uint32_t	container;		/* reserved for the code that stores the
								 * value; ignored */
	uint16_t	version;
	uint8_t		flags;
	uint8_t		padding;		/* always 0 */
	uint32_t	spec_size;		/* size of the spec's bytes */
	uint32_t	pending;		/* number of pending rows; 0 unless unpacked */
	uint32_t	capacity;		/* maximum number of pending rows; 0 unless
								 * unpacked */
	uint32_t	sparse;			/* number of sparse rows among the pending
								 * ones; 0 unless unpacked */
	int64_t		count;			/* number of rows */
	fc_wide		weight;			/* sum of the weights, W */
	fc_wide		weight2;		/* sum of the squared weights, W2 */
} fc_sketch;

static inline fc_spec *
fc_sketch_spec(const fc_sketch *sketch)
{
	return (fc_spec *) (sketch + 1);
}

/*
 * A sketch in memory: its bytes and the addresses of their arrays. A view
 * becomes invalid when the bytes move or when FC_SKETCH_WEIGHTED or
 * FC_SKETCH_UNPACKED changes.
 */
typedef struct fc_sketch_view
{
	fc_sketch  *head;			/* fixed fields, at the start of the bytes */
	const fc_spec *spec;
	/* number of dimensions with sums: d, or d + n with a projection */
	size_t		tracked;
	size_t		moments;		/* number of moments */
	fc_wide    *sum;			/* FC_SKETCH_SUMS x tracked sums: `tracked`
								 * sums of q, then high, cross and low */
	fc_wide    *high;
	fc_wide    *cross;
	fc_wide    *low;
	double	   *lower;
	double	   *upper;
	int64_t    *z;				/* sums of cosines, then of sines, 2 x
								 * moments; NULL if weighted */
	fc_wide    *wide_z;			/* sums of cosines, then of sines, 2 x
								 * moments; NULL unless weighted */
	size_t		row;			/* length of a row array in doubles; 0 unless
								 * unpacked */

	/*
	 * FC_SKETCH_PENDING row arrays of the pending rows. pending,
	 * pending_weight, present and pending_rows are NULL unless unpacked.
	 */
	double	   *pending;
	int64_t    *pending_weight;
	uint8_t    *present;
	char	   *pending_rows;	/* pending rows of fc_pending_row bytes each */
} fc_sketch_view;

/*
 * Returns a view of a sketch. If the view is const, the sketch must not be
 * changed through it.
 */
fc_sketch_view fc_sketch_view_of(const fc_sketch *sketch);

/*
 * fc_sketch_size returns the size in bytes of a sketch with these flags;
 * capacity is used only with FC_SKETCH_UNPACKED. fc_sketch_bytes returns the
 * size of an existing sketch.
 */
size_t		fc_sketch_size(const fc_spec *spec, uint8_t flags, size_t capacity);
size_t		fc_sketch_bytes(const fc_sketch *sketch);

/* Writes an empty sketch of fc_sketch_size(spec, flags, capacity) bytes. */
void		fc_sketch_init(const fc_spec *spec, uint8_t flags, size_t capacity,
						   fc_sketch *sketch);

/*
 * Copies a sketch to `target` (fc_sketch_size bytes), weighted and unpacked
 * as the flags say. Returns FC_EOVERFLOW if a sum no longer fits.
 */
fc_status	fc_sketch_convert(const fc_sketch_view *source, uint8_t flags,
							  size_t capacity, fc_sketch *target);

/* Marks the bounds as unknown, as they are after rows were subtracted. */
void		fc_sketch_forget_bounds(const fc_sketch_view *sketch);

/*
 * Returns true if a folded sketch has unit weights, or if it is weighted but
 * can be converted to unit weights without a loss: every row has weight 1, and
 * all sums fit.
 */
bool		fc_sketch_is_unit(const fc_sketch_view *sketch);

#endif							/* FC_SKETCH_LAYOUT_H */

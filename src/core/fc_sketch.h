/*
 * fc_sketch.h - the flat, versioned bytes of a sketch, and the sums in them.
 *
 * Linear in the rows and exact: every contribution is an integer, so the same rows
 * give the same bytes in any order, grouping or split.
 *     Z_j    = sum_n b_n phi_j(x_n)       integers in units of 2^-22 (b = 1)
 *     W, W2  = sum b, sum b^2
 *     sum b q, sum b q^2                  of q, the row on the plan's grid (fc_plan.h)
 * The squares are kept in three parts, so that 128 bits hold them for far rows, too:
 *     q = 2^24 a + b, a = rint(2^-24 q):  sum q^2 = 2^48 high + 2^25 cross + low,
 *     high = sum a^2, cross = sum a b, low = sum b^2
 * Unit weights: W, W2 and these sums count in ones and Z is 64 bits wide.  Once a
 * fractional or large weight comes in (FC_SKETCH_WEIGHTED) all of them count in
 * 2^-40 and Z is 128 bits wide; fc_sketch_is_unit tells when they can go back.
 *
 * Layout (offsets multiples of 8, padding zero):
 *     fc_sketch, then the spec's bytes without pilot rows (spec_size)
 *     fc_wide sum[tracked], high[tracked], cross[tracked], low[tracked]
 *     double lower[tracked], upper[tracked]
 *     int64 or fc_wide cosines[moments], sines[moments]
 * and, only with FC_SKETCH_OPEN (an aggregate state), rows that wait for the kernel:
 *     double sum, high, cross, low, lower, upper of the waiting rows: row arrays (fc_plan.h)
 *     int64 weight[capacity]
 *     short rows as they came: double x[capacity * fc_padded(d)], all their sums taken when folded
 *     other rows: float y[capacity * n + FC_PAD], their sums in those above
 * count, W and W2 learn of waiting rows when these are folded.
 */
#ifndef FC_SKETCH_H
#define FC_SKETCH_H

#include "fc_plan.h"

typedef __int128 fc_wide __attribute__((aligned(8)));

#define FC_SKETCH_VERSION	1
#define FC_SKETCH_SUMS		4		/* sum, high, cross, low */
#define FC_SKETCH_WAITING	(FC_SKETCH_SUMS + 2)	/* ... and lower, upper */
#define FC_SKETCH_WEIGHTED	0x01
#define FC_SKETCH_BOUNDS	0x02	/* lower and upper are known */
#define FC_SKETCH_OPEN		0x04	/* rows wait at the tail */

#define FC_MAX_ROWS			((int64_t) 1 << 40)
#define FC_MIN_WEIGHT		0x1p-40	/* rounded to the grid of 2^-40: from 2^-20 on to 5e-7 relative */
#define FC_MAX_WEIGHT		0x1p22

typedef struct fc_sketch
{
	uint32_t	container;		/* belongs to whoever stores the value; ignored */
	uint16_t	version;
	uint8_t		flags;
	uint8_t		padding;		/* 0 */
	uint32_t	spec_size;
	uint32_t	pending;		/* rows waiting, 0 unless open */
	uint32_t	capacity;		/* rows that may wait, 0 unless open */
	uint32_t	padding2;		/* 0 */
	int64_t		count;
	fc_wide		weight;
	fc_wide		weight2;
} fc_sketch;

static inline fc_spec *
fc_sketch_spec(const fc_sketch *sketch)
{
	return (fc_spec *) (sketch + 1);
}

static inline size_t
fc_spec_tracked(const fc_spec *spec)
{
	return spec->dim + ((spec->flags & FC_SPEC_PROJECTED) ? (size_t) spec->reduced : 0);
}

/* The arrays of a sketch; the last four only when open. */
typedef struct fc_sketch_parts
{
	size_t		tracked;
	size_t		moments;
	size_t		n;
	fc_wide    *sum;			/* FC_SKETCH_SUMS x tracked, the other three behind it: */
	fc_wide    *high;
	fc_wide    *cross;
	fc_wide    *low;
	double	   *lower;
	double	   *upper;
	int64_t    *z;				/* cosines then sines; NULL when weighted */
	fc_wide    *wide_z;			/* the same when weighted; else NULL */
	size_t		row;			/* length of a row array */
	double	   *waiting;		/* FC_SKETCH_WAITING row arrays */
	int64_t    *pending_weight;
	char	   *pending_rows;	/* of fc_waiting_row bytes */
} fc_sketch_parts;

fc_sketch_parts fc_sketch_open_parts(const fc_sketch *sketch);

/* Numbers of a sketch between two ticks. */
#define FC_SKETCH_BLOCK ((size_t) 1 << 18)

/* The end of the block that begins at `begin`, of `count` numbers. */
static inline size_t
fc_sketch_block_end(size_t begin, size_t count)
{
	return count - begin < FC_SKETCH_BLOCK ? count : begin + FC_SKETCH_BLOCK;
}

/* Bytes of a sketch with these flags (capacity counts when open). */
size_t		fc_sketch_size(const fc_spec *spec, uint8_t flags, size_t capacity);
size_t		fc_sketch_bytes(const fc_sketch *sketch);

/* Write an empty sketch of fc_sketch_size(spec, flags, capacity) bytes. */
fc_status	fc_sketch_init(const fc_spec *spec, uint8_t flags, size_t capacity, const fc_tick *tick, fc_sketch *sketch);

/* Validate size untrusted bytes aligned to 8 as a stored (not open) sketch. */
fc_status	fc_sketch_check(const void *bytes, size_t size, const fc_tick *tick);

/*
 * Add (or, subtract = true, take away) one row to an open sketch.  weight is in
 * units of 2^-40 when the sketch is weighted, else it must be 2^40 (one).  x has
 * plan->d doubles or floats, on any byte.  After an error the sketch is not to be used.
 */
typedef struct fc_row
{
	const double *doubles;		/* one of the two */
	const float *floats;
	int64_t		weight;
} fc_row;

fc_status	fc_sketch_add(const fc_plan *plan, const fc_row *row, fc_sketch *sketch);
fc_status	fc_sketch_subtract_row(const fc_plan *plan, const fc_row *row, fc_sketch *sketch);

/* z += weight x the integers of the row in plan->value, in double; uses plan->angles and ->limbs. */
void		fc_sketch_add_far_phase(const fc_plan *plan, const fc_sketch_parts *parts, int64_t weight);

/* Double to the grid of weights: FC_EWEIGHT outside {0} and [2^-40, 2^22]. */
fc_status	fc_weight_on_grid(double weight, int64_t *grid);
#define FC_ONE_WEIGHT ((int64_t) 1 << 40)

/* Fold the waiting rows into the sums. */
fc_status	fc_sketch_fold(const fc_plan *plan, fc_sketch *sketch);

/* target += sign * source (sign 1 or -1), both folded; a weighted source needs a weighted target. */
fc_status	fc_sketch_combine(fc_sketch *target, const fc_sketch *source, int sign, const fc_tick *tick);

/* Copy with other flags (a weighted or open copy): target has fc_sketch_size bytes.  FC_EOVERFLOW. */
fc_status	fc_sketch_convert(const fc_sketch *source, uint8_t flags, size_t capacity, const fc_tick *tick,
							  fc_sketch *target);

/* After rows have gone, min and max are not known. */
void		fc_sketch_forget_bounds(fc_sketch *sketch);

/* Could rows have made these sums?  |Z| <= W; no rows, no sums.  FC_EFORMAT if not. */
fc_status	fc_sketch_check_sums(const fc_sketch *sketch, const fc_tick *tick);

/* Can a folded weighted sketch be written with unit weights? */
bool		fc_sketch_is_unit(const fc_sketch *sketch);

/* ---- reading (folded sketches) ---- */
double		fc_sketch_total_weight(const fc_sketch *sketch);
double		fc_sketch_weight2(const fc_sketch *sketch);
double		fc_sketch_mean(const fc_sketch *sketch, size_t i);
double		fc_sketch_variance(const fc_sketch *sketch, size_t i);
fc_status	fc_sketch_moments(const fc_sketch *sketch, const fc_tick *tick, double *re, double *im);

/* Re <z_a, z_b>, the mean over the moments; any flags, nothing waiting. */
fc_status	fc_sketch_similarity(const fc_sketch *a, const fc_sketch *b, const fc_tick *tick, double *similarity);

/* The unbiased MMD^2; NaN when a side has fewer than two rows. */
fc_status	fc_sketch_distance(const fc_sketch *a, const fc_sketch *b, const fc_tick *tick, double *distance);

#endif							/* FC_SKETCH_H */

/*
 * isa.h - the inner loops of sketching, compiled once per instruction set.
 *
 * isa_build.c is compiled for x86-64-v4, x86-64-v3 and the baseline; the
 * functions here select the best build that the machine can run. v3 and v4
 * give the same bits.
 */
#ifndef FC_SKETCH_ISA_H
#define FC_SKETCH_ISA_H

#include "sketch/prepared.h"

/* Number of bits in the lower of the two limbs of a weight. */
#define FC_LIMB_BITS	31

/*
 * Limits beyond which a row takes the slow, exact path. q are the grid
 * integers of a row and y its reduced coordinates (prepared.h). A row is
 * called near if all |q| <= FC_NEAR_Q and all |y| <= prepared->near_y. near_y
 * is FC_NEAR_Y, or less if some other sigma is smaller than the first.
 */

/*
 * Maximum distance of a coordinate from the center, in grid steps, at which
 * the sums of a batch are exact in double.
 */
#define FC_NEAR_Q	0x1p47

/*
 * Maximum magnitude of a reduced coordinate, in sigmas, at which angles are
 * accurate in float.
 */
#define FC_NEAR_Y	1024.0

/*
 * Maximum distance of a coordinate from the center, in grid steps, that a
 * sketch can represent.
 */
#define FC_FAR_Q	0x1p78

enum
{
	FC_ROW_NEAR = 0,
	FC_ROW_FAR_MOMENTS = 1,		/* some |q| > FC_NEAR_Q: accumulate moments in
								 * 128 bits */
	FC_ROW_FAR_PHASE = 2,		/* some |y| > near_y: compute angles in double */
	FC_ROW_INVALID = 4			/* some |q| > FC_FAR_Q, or NaN or infinite */
};

typedef struct fc_sketch_isa
{
	/*
	 * Converts one row that is not sparse. Stores its values and grid
	 * integers in the row arrays prepared->value and prepared->q, and its
	 * reduced coordinates in y and, with a basis, in prepared->projected.
	 * fc_padded(n) values of y are written; the values after the n-th are
	 * undefined. Returns FC_ROW_... bits.
	 */
	int			(*prepare) (const fc_prepared *prepared, const fc_row *row, float *y);

	/*
	 * Stores one row as fc_padded(d) doubles. Returns true if the row is
	 * surely near: its values are between prepared->lowest and
	 * prepared->highest and, with a basis, its squared norm is at most
	 * prepared->near_norm2. Otherwise returns false, and raw is undefined.
	 */
	bool		(*store_raw) (const fc_prepared *prepared, const fc_row *row,
							  double *raw);

	/*
	 * Does the work of prepare and track for `rows` rows stored by store_raw:
	 * computes their reduced coordinates (y, n values per row) and adds the
	 * rows to the sums.
	 */
	void		(*take_raw) (const fc_prepared *prepared, const double *raw,
							 size_t rows, float *y, double *sums);

	/*
	 * Does the work of prepare and track for a sparse near row. Returns false
	 * if the row is not near. prepared->zeros_vanish must be true. y and the
	 * sums have the same bits as for the dense row, except for the bounds of
	 * dimensions whose elements are 0. If sums is NULL, only y and, with a
	 * basis, the reduced coordinates in prepared->q and prepared->value are
	 * computed.
	 */
	bool		(*take_sparse) (const fc_prepared *prepared, const fc_sparse_row *x,
								float *y, double *sums);

	/*
	 * Adds the near row in prepared->value and prepared->q to six consecutive
	 * row arrays: sum += q, high += a^2, cross += a b, low += b^2, lower =
	 * min, upper = max. Here q = 2^24 a + b with a = rint(2^-24 q).
	 */
	void		(*track) (const fc_prepared *prepared, double *sums);

	/*
	 * Adds the integer cosines and sines of `rows` rows to z, rows <=
	 * FC_MAX_BATCH. A row with angle h for moment j adds rint(2^22 cos h) to
	 * z[j] and rint(2^22 sin h) to z[moments + j].
	 */
	void		(*accumulate) (const fc_prepared *prepared, const float *y, size_t rows,
							   int64_t *z);

	/*
	 * Multiplies prepared->phases by the lower and the upper limb of the
	 * weight, which is not negative. Adds the products to the first and the
	 * second half of prepared->limbs.
	 */
	void		(*weigh) (const fc_prepared *prepared, int64_t weight);

	/*
	 * Computes rint(2^22 cos(pi h)) and rint(2^22 sin(pi h)) for count angles
	 * h in half-turns, |h| < 2^22.
	 */
	void		(*quantise) (const float *h, size_t count, int32_t *cosine,
							 int32_t *sine);

	/*
	 * Computes v <- H D v in place for p values, where p is a power of 2 and
	 * at least FC_MIN_PADDED. H is the p x p Walsh-Hadamard matrix, not
	 * normalised. D is a diagonal matrix whose diagonal is `signs` (p
	 * values).
	 */
	void		(*transform) (const float *signs, size_t p, float *v);
} fc_sketch_isa;

const fc_sketch_isa *fc_sketch_isa_select(void);

/*
 * Returns the build named "x86-64-v4", "x86-64-v3" or "baseline"; NULL if the
 * machine cannot run it.
 */
const fc_sketch_isa *fc_sketch_isa_named(const char *name);

/*
 * Returns the maximum number of nonzero coordinates of a row that `accumulate`
 * processes alone; it then skips the other coordinates. Rows with more nonzero
 * coordinates are processed in groups, which share the reads of the
 * frequencies. Returns 0 if all rows are processed in groups.
 */
static inline size_t
fc_few_coordinates(size_t n)
{
	return n >= 256 ? n / 8 : 0;
}

/*
 * Returns the size in bytes of prepared->scratch, the work space of
 * accumulate.
 */
size_t		fc_sketch_isa_scratch(const fc_prepared *prepared);

#endif							/* FC_SKETCH_ISA_H */

/*
 * isa.h - the inner loops of sketching, one build per instruction set.
 *
 * isa_build.c is compiled for x86-64-v4, x86-64-v3 and the baseline; the
 * functions here pick the build the machine can run. v3 and v4 give the same
 * bits.
 */
#ifndef FC_SKETCH_ISA_H
#define FC_SKETCH_ISA_H

#include "sketch/prepared.h"

#define FC_LIMB_BITS	31		/* of the lower one of the two parts of a
								 * weight */

/* Beyond these a row takes the slow exact path. */
#define FC_NEAR_Q		0x1p47	/* grid steps from the center: sums of a batch
								 * stay exact in double */
#define FC_NEAR_Y		1024.0	/* sigmas: angles stay exact in float */
#define FC_FAR_Q		0x1p78	/* grid steps that can be represented at all */

enum
{
	FC_ROW_NEAR = 0,
	FC_ROW_FAR_MOMENTS = 1,		/* some |q| > FC_NEAR_Q: accumulate moments in
								 * 128 bits */
	FC_ROW_FAR_PHASE = 2,		/* some |y| > FC_NEAR_Y: project in double */
	FC_ROW_INVALID = 4			/* some |q| > FC_FAR_Q, or NaN or infinite */
};

typedef struct fc_sketch_isa
{
	/*
	 * Bring one row, not a sparse one, into prepared->value and prepared->q,
	 * row arrays, and its reduced coordinates into y (written up to
	 * fc_padded(n), the rest of it garbage), behind a basis into
	 * prepared->projected, too. Returns FC_ROW_... bits.
	 */
	int			(*prepare) (const fc_prepared *prepared, const fc_row *row, float *y);

	/*
	 * Store one row within prepared->lowest and prepared->highest, and behind
	 * a basis of at most prepared->near_norm2, as fc_padded(d) doubles;
	 * false, and garbage there, for other rows.
	 */
	bool		(*store_raw) (const fc_prepared *prepared, const fc_row *row,
							  double *raw);

	/*
	 * The same as prepare and track, for rows stored before: their y, n
	 * apart, and their sums.
	 */
	void		(*take_raw) (const fc_prepared *prepared, const double *raw,
							 size_t rows, float *y, double *sums);

	/*
	 * The same as prepare and track for a sparse near row, where
	 * prepared->zeros_vanish: the same y to the bit and the same sums, but
	 * for the bounds of the dimensions whose elements are 0.  sums NULL: the
	 * near row's y alone, and in prepared->q and ->value the reduced
	 * dimensions.
	 */
	bool		(*take_sparse) (const fc_prepared *prepared, const fc_sparse_row *x,
								float *y, double *sums);

	/*
	 * The sums of the near row in prepared->value and prepared->q, with q =
	 * 2^24 a + b, a = rint(2^-24 q): sum += q, high += a^2, cross += a b, low
	 * += b^2, lower = min, upper = max into six row arrays one after the
	 * other.
	 */
	void		(*track) (const fc_prepared *prepared, double *sums);

	/*
	 * z[j] += sum over rows of rint(2^22 cos), z[moments + j] the sines; rows
	 * <= FC_MAX_BATCH.
	 */
	void		(*accumulate) (const fc_prepared *prepared, const float *y, size_t rows,
							   int64_t *z);

	/*
	 * prepared->limbs += weight times prepared->phases, the two parts of the
	 * weight (at least 0) one after the other.
	 */
	void		(*weigh) (const fc_prepared *prepared, int64_t weight);

	/*
	 * rint(2^22 cos(pi h)) and sin for count angles in half-turns, |h| <
	 * 2^22.
	 */
	void		(*quantise) (const float *h, size_t count, int32_t *cosine,
							 int32_t *sine);
} fc_sketch_isa;

const fc_sketch_isa *fc_sketch_isa_select(void);

/*
 * "x86-64-v4", "x86-64-v3" or "baseline"; NULL when this machine cannot run
 * it.
 */
const fc_sketch_isa *fc_sketch_isa_named(const char *name);

/*
 * Of so many dense coordinates at most these are looked up one by one, where
 * they are all that are not 0; 0: never. A row alone reads the frequencies
 * that two share.
 */
static inline size_t
fc_few_coordinates(size_t n)
{
	return n >= 256 ? n / 8 : 0;
}

/* Bytes of prepared->scratch. */
size_t		fc_sketch_isa_scratch(const fc_prepared *prepared);

#endif							/* FC_SKETCH_ISA_H */

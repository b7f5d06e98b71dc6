/*
 * problem.h - from a sketch to what a decoder sees.
 *
 * The problem's reduced coordinates are y = basis' (x - center) / scale / sigma (spec.h).
 */
#ifndef FC_DECODE_PROBLEM_H
#define FC_DECODE_PROBLEM_H

#include "decode/decode.h"
#include "sketch/layout.h"

typedef struct fc_problem_parts
{
	double		sigma;			/* one of the spec's, decoded alone; 0: the decoder's choice */
	const fc_spec *pilot;		/* the sketch's spec with its pilot rows, or NULL */
	const double *initial;		/* initial_count x dim centroids to start from, in user units, or NULL */
	size_t		initial_count;
} fc_problem_parts;

/* Bytes fc_problem_make takes from its arena at most. */

/*
 * The problem of a folded sketch with rows.  auto and clompr fit all scales of the spec at once, the others the
 * first, unless parts->sigma names one.  What the problem points to lies in the arena, in the sketch and in the pilot.
 */
void		fc_problem_make(const fc_sketch *sketch, fc_decoder decoder, const fc_problem_parts *parts,
							fc_arena *arena, fc_problem *problem);

/* Is this one of the spec's sigmas, to 1e-6 relative?  Its place, or spec->scales. */
uint32_t	fc_scale_of_sigma(const fc_spec *spec, double sigma);

/* Root of the mean variance of the rows, in sigmas. */
double		fc_problem_deviation(const fc_problem *problem);

#endif							/* FC_DECODE_PROBLEM_H */

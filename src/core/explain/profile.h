/*
 * profile.h - what makes a cluster special: its centroid beside the mean of all rows.
 *
 *     difference = (c - m) / s             m, s: mean and deviation of all rows, as rows hold the value
 *     lift = share in the cluster / share of all rows, of a flag
 *     telling = |difference| of a number; sqrt(2 KL) of a flag, KL = q log(q / p) + (1 - q) log((1 - q) / (1 - p))
 * For two normal distributions of one variance KL is difference^2 / 2, so that numbers and flags are measured alike (Kullback 1959).
 */
#ifndef FC_EXPLAIN_PROFILE_H
#define FC_EXPLAIN_PROFILE_H

#include "explain/threshold.h"

typedef struct fc_profile_cell
{
	uint32_t	axis;
	double		value;			/* of the centroid, as people read it; a share is from 0 to 1; 0 where it is that but for the rounding of floats */
	double		overall;
	double		difference;		/* NAN where all rows are alike */
	double		lift;			/* NAN but of a flag that some rows have */
	double		telling;		/* not negative */
} fc_profile_cell;

/* A value as people read it. */
double		fc_own_unit(fc_axis_kind kind, double raw);

/*
 * The d cells of a cluster, most telling first, equal ones by their axis; all arguments are as rows hold values.
 */
void		fc_profile_cluster(const fc_axis_kind *kinds, const double *centroid, const double *mean, const double *deviation, size_t d,
							   fc_arena *arena, fc_profile_cell *cells);

#endif							/* FC_EXPLAIN_PROFILE_H */

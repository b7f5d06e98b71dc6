/*
 * lift.h - what a decoder found, in the user's coordinates.
 *
 *     centroid    x = center + scale (basis' sigma y + what the basis leaves of the mean)
 *     covariance  C = scale basis' sigma^2 R basis scale
 *
 * A centroid takes d n multiply-adds, a covariance d n^2 + d^2 n: two products.
 */
#ifndef FC_DECODE_LIFT_H
#define FC_DECODE_LIFT_H

#include "sketch/layout.h"

typedef struct fc_lift
{
	const fc_spec *spec;
	double	   *rest;			/* d: what the basis leaves of the scaled, centred mean; unused without a basis */
	double	   *basis;			/* n x d: sigma basis scale, for covariances */
	double	   *product;		/* n x d */
} fc_lift;

/* Bytes fc_lift_prepare takes from its arena. */

/* outliers: they set the mean, so nothing of it is added to centroids. */
void		fc_lift_prepare(const fc_sketch *sketch, bool outliers, bool covariances,
							fc_arena *arena, fc_lift *lift);

/* x (d) of y (n). */
void		fc_lift_centroid(const fc_lift *lift, const double *y, double *x);

/* covariance (d x d), symmetric, of reduced (n x n), which is in units of sigma^2. */
fc_status	fc_lift_covariance(const fc_lift *lift, const double *reduced, double *covariance);

/* Units of x per sigma: the root mean square of the scales. */
double		fc_spread_unit(const fc_spec *spec);

#endif							/* FC_DECODE_LIFT_H */

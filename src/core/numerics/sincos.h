/*
 * sincos.h - sine, cosine and exponential of whole arrays.
 *
 * Angles are in half-turns: h stands for the angle pi h, so that frequencies
 * scaled by 1/pi once need no other range reduction than rounding.
 */
#ifndef FC_NUMERICS_SINCOS_H
#define FC_NUMERICS_SINCOS_H

#include "base/fc.h"

/*
 * cosine[i] = cos(pi h_i), sine[i] = sin(pi h_i), where h comes in through cosine.
 * |h| <= 2^21 (float), 2^50 (double); beyond that the results are finite but
 * meaningless.  Absolute error: 2e-7 (float), 1e-15 (double).
 */
void		fc_sincos_float(size_t count, float *cosine, float *sine);
void		fc_sincos_double(size_t count, double *cosine, double *sine);

/* cosine[i] and sine[i] times exp(-variance half_norm[i]); relative error 1e-14. */
void		fc_damp_double(size_t count, double variance, const double *half_norm, double *cosine, double *sine);

/* y[i] = exp(-variance half_norm[i]) */
void		fc_envelope_double(size_t count, double variance, const double *half_norm, double *y);

#endif							/* FC_NUMERICS_SINCOS_H */

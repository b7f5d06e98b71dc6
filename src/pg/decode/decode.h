/* decode.h - one call of a decoder, from the sketch to centroids in the user's coordinates */
#ifndef FASTCLUST_DECODE_H
#define FASTCLUST_DECODE_H

#include "postgres.h"

#include "utils/jsonb.h"

#include "decode/decode.h"
#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "sketch/layout.h"
#include "sketch/spec.h"

typedef struct decode_call
{
	fc_sketch  *sketch;
	fc_spec    *spec;
	int32		k;
	fc_decoder	decoder;
	fc_decode_options options;
	text_or_rows init;			/* option init: how to start, or centroids (rows x dim) */
	double		sigma;			/* option sigma: one of the spec's; 0: the decoder's choice */
	bool		verbose;
	bool		covariances;	/* are wanted: the model is gaussian unless said otherwise */
	const double *rest;			/* dim: what the basis leaves of the mean, NULL without a basis */
	fc_problem	problem;
	fc_decode_result result;
	double		seconds;
	account		memory;
} decode_call;

/* decode_options.c */
extern void read_decoder(decode_call *call, const char *name, Jsonb *options);

/* decode_problem.c */
extern void build_problem(decode_call *call, const fc_spec *pilot);
extern void lift_centroid(const decode_call *call, const double *y, double *x);
extern void lift_covariance(const decode_call *call, const double *reduced, double *covariance);
extern double spread_unit(const fc_spec *spec);
extern void prepare_lift(decode_call *call);

#endif							/* FASTCLUST_DECODE_H */

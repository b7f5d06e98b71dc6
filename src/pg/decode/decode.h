/*
 * decode.h - one call of a decoder, from the sketch to centroids in the user's
 * coordinates
 */
#ifndef FASTCLUST_DECODE_H
#define FASTCLUST_DECODE_H

#include "decode/decode.h"
#include "pg/base/memory.h"
#include "pg/base/options.h"

typedef struct decode_call
{
	fc_sketch_view sketch;
	const fc_spec *spec;
	int32		k;
	fc_decoder	decoder;
	fc_decode_options options;
	text_or_rows init;			/* option init: how to start, or centroids
								 * (rows x dim) */
	double		sigma;			/* option sigma: one of the spec's; 0: the
								 * decoder's choice */
	bool		verbose;
	bool		quiet;			/* no notices of limits */
	bool		covariances;	/* are wanted: the model is gaussian unless
								 * said otherwise */
	fc_problem	problem;
	fc_decode_result result;
	fc_back_projection lift;
	double		seconds;
	memory_account memory;
} decode_call;

/*
 * The k centroids that the decoder auto finds in a packed sketch (k x d), by
 * options and an `init` of centroids, in the rows' own units; their weights
 * and spreads are in call->result.
 */
extern void
			decode_clusters(decode_call *call, fc_sketch *sketch, int32 k, Jsonb *options,
							text_or_rows init, const fc_spec *pilot, double *centroids);

#endif							/* FASTCLUST_DECODE_H */

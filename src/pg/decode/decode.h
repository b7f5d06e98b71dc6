/* decode.h - decodes a sketch into centroids in the coordinates of the rows */
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
	text_or_rows init;			/* option init: name of a method that chooses
								 * the initial centroids, or the initial
								 * centroids themselves (rows x dim) */
	double		sigma;			/* option sigma: one of the sigmas of the
								 * spec, whose frequencies are decoded; 0 lets
								 * the decoder choose */
	bool		verbose;
	bool		quiet;			/* true if notices about limits are suppressed */
	bool		covariances;	/* true if the caller needs covariances: the
								 * default model is then gaussian */
	fc_problem	problem;
	fc_decode_result result;
	fc_back_projection lift;
	double		seconds;
	memory_account memory;
} decode_call;

/*
 * Decodes a packed sketch with decoder auto. Writes k x d centroids in the
 * coordinates of the rows. Also sets k weights and k spreads, the standard
 * deviations of the clusters, in call->result. `init` has the initial
 * centroids, or is empty. `sample` is the spec of the sketch with its sample
 * rows, or NULL.
 */
extern void decode_clusters(decode_call *call, fc_sketch *sketch, int32 k, Jsonb *options,
							text_or_rows init, const fc_spec *sample, double *centroids);

#endif							/* FASTCLUST_DECODE_H */

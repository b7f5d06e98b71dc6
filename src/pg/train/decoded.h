/* decoded.h - versions made from a sketch alone; no row is read */
#ifndef FASTCLUST_TRAIN_DECODED_H
#define FASTCLUST_TRAIN_DECODED_H

#include "pg/train/job.h"

typedef struct decoded_clusters
{
	fc_operator_header *op;		/* centroids and weights; the centroids that
								 * decode_sketch returns are not scaled */
	double	   *spreads;		/* k values: standard deviation of a
								 * coordinate in each cluster */
	double		objective;		/* mean squared distance of the rows */
	int64	   *identities;		/* identities of the clusters, ascending by
								 * number; NULL from decode_sketch */
} decoded_clusters;

/*
 * Decodes k clusters from a sketch. initial: centroids of an additional start,
 * or NULL. forget: ignore the bounds in the sketch, because deleted rows may
 * have set them.
 */
extern decoded_clusters decode_sketch(const training *t, const fc_sketch *sketch,
									  const fc_spec *spec, Size k,
									  const fc_operator_header *initial, bool quiet,
									  bool forget);

/*
 * Returns the options of the next decoded version: the options of the previous
 * version, overridden by the given ones.
 */
extern Jsonb *next_options(const stored_version *before, const train_options *options);

/*
 * Make the next version and return its number. retrain_live makes one group
 * for each group of a live sketch. retrain_from_sketch makes a single group
 * from a sketch of new rows, added to the training sketch unless option
 * replace is true.
 */
extern int32 retrain_live(const locked_model *locked, const stored_version *template, Datum live,
						  const train_options *options);
extern int32 retrain_from_sketch(const locked_model *locked, const stored_version *version,
								 fc_sketch *rows, const train_options *options);

#endif							/* FASTCLUST_TRAIN_DECODED_H */

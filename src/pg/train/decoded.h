/* decoded.h - versions that are made of a sketch alone; no row is read */
#ifndef FASTCLUST_TRAIN_DECODED_H
#define FASTCLUST_TRAIN_DECODED_H

#include "pg/train/job.h"

typedef struct decoded_clusters
{
	fc_operator_header *op;		/* in the rows' own units */
	double	   *spreads;
	double		objective;
} decoded_clusters;

/*
 * initial: where to start from as well, or NULL; forget: bounds, which may be
 * those of rows that are gone.
 */
extern decoded_clusters
			decode_sketch(const training *t, const struct varlena *sketch,
						  const fc_spec *spec, Size k, const fc_operator_header *initial,
						  bool quiet, bool forget);

/*
 * The options of a version that is decoded: those of the one before, but for
 * those that change.
 */
extern Jsonb *next_options(const stored_version *before, const train_options *options);

/*
 * A new version of a live model, of each group that has rows; and one from
 * the sketch of new rows.
 */
extern int32
			retrain_live(const held_model *held, const stored_version *template, Datum live,
						 const train_options *options);
extern int32
			retrain_from_sketch(const held_model *held, const stored_version *version,
								struct varlena *rows, const train_options *options);

#endif							/* FASTCLUST_TRAIN_DECODED_H */

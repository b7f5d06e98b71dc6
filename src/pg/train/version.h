/* version.h - stored versions */
#ifndef FASTCLUST_TRAIN_VERSION_H
#define FASTCLUST_TRAIN_VERSION_H

#include "pg/operator/rows.h"
#include "pg/train/relation.h"
#include "rkhs/map.h"
#include "sketch/layout.h"

/*
 * Group of a stored version. Fields that are NULL in the record are NULL or 0.
 */
typedef struct stored_version
{
	Datum		record;			/* value of type stored_versions */
	char	   *model;
	int32		version;
	char	   *group;
	train_method method;		/* METHOD_NONE if the record has no method */
	char	   *relation;
	Datum		relation_owner; /* value of type role_name; 0: NULL */
	feature_list features;
	bool		is_vector;
	fc_encoder_header *encoder;
	Size		k;
	const train_options *options;
	fc_operator_header *op;
	int64	   *identities;		/* identities of the clusters, ascending by
								 * number */
	fc_kernel_map_header *map;
	fc_spec    *spec;
	fc_sketch  *sketch;
} stored_version;

extern stored_version open_version(Datum record);

/*
 * Returns the scaling of the version for rows of d dimensions, or no scaling.
 */
extern scaling scaling_of_version(const stored_version *version, Size d);

#endif							/* FASTCLUST_TRAIN_VERSION_H */

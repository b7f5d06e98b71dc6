/* version.h - versions that are stored */
#ifndef FASTCLUST_TRAIN_VERSION_H
#define FASTCLUST_TRAIN_VERSION_H

#include "pg/operator/rows.h"
#include "pg/train/relation.h"
#include "sketch/spec.h"

/* A part of a version that is stored; NULL: the record has none. */
typedef struct stored_version
{
	Datum		record;			/* stored_versions */
	char	   *model;
	int32		version;
	char	   *group;
	train_method method;		/* METHOD_NONE: it is not there */
	char	   *relation;
	feature_list features;
	bool		is_vector;
	struct varlena *encoder;
	Size		k;
	const train_options *options;
	fc_operator_header *op;
	struct varlena *map;
	fc_spec    *spec;
	struct varlena *sketch;
} stored_version;

extern stored_version open_version(Datum record);

/* The units of its rows of d numbers. */
extern units units_of_version(const stored_version *version, Size d);

#endif							/* FASTCLUST_TRAIN_VERSION_H */

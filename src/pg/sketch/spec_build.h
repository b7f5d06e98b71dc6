/* spec_build.h - assembling a sketch_spec value from parts already checked */
#ifndef FASTCLUST_SPEC_BUILD_H
#define FASTCLUST_SPEC_BUILD_H

#include "postgres.h"

#include "pg/base/arguments.h"
#include "sketch/spec.h"

/* Measured (bench/sketch): from here on fast-Hadamard frequencies cost less than dense ones. */
#define STRUCTURED_CROSSOVER 50

typedef struct spec_parts
{
	Size		dim;
	Size		reduced;
	Size		frequencies;
	Size		scales;			/* number of sigmas */
	Size		clusters;
	Size		pilot_rows;
	Size		sample_centroid_count;
	fc_law		law;
	bool		structured;
	uint64		seed;
	const double *center;		/* NULL: 0 */
	const double *scale;		/* NULL: 1 */
	const double *sigmas;
	const float *basis;			/* NULL when reduced == dim */
	const float *sample_centroids;	/* sample_centroid_count x reduced */
	const double *pilot_weight;
	const float *pilot;
} spec_parts;

/* A law of the frequencies by its name; another name is an error. */
extern fc_law law_of_name(const char *name);

extern fc_spec *build_spec(const spec_parts *parts);
extern void check_sigmas(const double *sigmas, Size count, Size frequencies);
extern bool structured_by_default(Size reduced);

#endif							/* FASTCLUST_SPEC_BUILD_H */

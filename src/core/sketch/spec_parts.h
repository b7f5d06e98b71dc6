/* spec_parts.h - a spec out of its parts */
#ifndef FC_SKETCH_SPEC_PARTS_H
#define FC_SKETCH_SPEC_PARTS_H

#include "sketch/spec.h"

/* Measured (bench/sketch): from here on fast-Hadamard frequencies cost less than dense ones. */
#define FC_STRUCTURED_CROSSOVER 50

typedef struct fc_spec_parts
{
	size_t		dim;
	size_t		reduced;
	size_t		frequencies;
	size_t		scales;			/* number of sigmas */
	size_t		clusters;
	size_t		pilot_rows;
	size_t		sample_centroid_count;
	fc_law		law;
	bool		structured;
	bool		cosine;			/* rows are brought to length 1 */
	uint64_t	seed;
	const double *center;		/* dim; NULL: 0 */
	const double *scale;		/* dim; NULL: 1 */
	const double *sigmas;		/* scales */
	const float *basis;			/* reduced x dim; NULL when reduced == dim */
	const float *sample_centroids;	/* sample_centroid_count x reduced, in sigmas */
	const double *pilot_weight; /* pilot_rows */
	const float *pilot;			/* pilot_rows x reduced, in sigmas */
} fc_spec_parts;

size_t		fc_spec_parts_size(const fc_spec_parts *parts);

/*
 * The spec into fc_spec_parts_size bytes.  FC_EFORMAT when center, scale and sigma do not go together: sigma times
 * scale must be between 1e-290 and 1e290, and the center within 2^38 of it.
 */
fc_status	fc_spec_build(const fc_spec_parts *parts, fc_spec *spec);

/* The parts of a spec, which they point to. */
fc_spec_parts fc_spec_parts_of(const fc_spec *spec);

/*
 * Parts that measure rows as the given ones measure (x - center) / scale.  center and scale (dim each) become
 * the parts' own: center + scale c and scale s.
 */
void		fc_spec_parts_in_units(fc_spec_parts *parts, double *center, double *scale);

/* omega_j (dim) in user units, of its row in reduced coordinates: phi_j(x) = exp(i omega_j . (x - center)). */
void		fc_spec_user_frequency(const fc_spec *spec, const float *omega, double *row);

#endif							/* FC_SKETCH_SPEC_PARTS_H */

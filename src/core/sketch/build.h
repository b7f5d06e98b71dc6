/* build.h - a spec out of its parts; its parts, from a sample of rows */
#ifndef FC_SKETCH_BUILD_H
#define FC_SKETCH_BUILD_H

#include "sketch/spec.h"

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

/* ---- from a sample ---- */

/* Measured (bench/sketch): from here on fast-Hadamard frequencies cost less than dense ones. */
#define FC_STRUCTURED_CROSSOVER 50

typedef enum fc_structure
{
	FC_STRUCTURE_AUTO,			/* from FC_STRUCTURED_CROSSOVER reduced dimensions on */
	FC_STRUCTURE_ON,
	FC_STRUCTURE_OFF
} fc_structure;

typedef struct fc_spec_options
{
	size_t		clusters;		/* k */
	size_t		frequencies;	/* 0: 5 k n, 128 at least */
	size_t		dimensions;		/* reduced; 0: by the pilot */
	size_t		pilot_rows;		/* stored with the spec, at most */
	double		sigma;			/* 0: by the pilot */
	const double *scales;		/* scale_count sigmas in units of that one, or NULL */
	size_t		scale_count;
	fc_law		law;
	fc_structure structure;
	bool		zero_center;	/* the center is 0, not the mean: zeros of sparse rows add nothing then */
	bool		cosine;			/* the rows given are of length 1 already */
	uint64_t	seed;
} fc_spec_options;

/* Bytes of what fc_spec_choose finds for so many rows, of its work, and of the spec built of that, at most. */
size_t		fc_spec_choose_size(size_t rows, size_t d, const fc_spec_options *options);
size_t		fc_spec_choose_worksize(size_t rows, size_t d, const fc_spec_options *options);
size_t		fc_spec_chosen_size(size_t rows, size_t d, const fc_spec_options *options);

/*
 * The parts of a spec for rows like these (rows x d; weight: multiplicities, also the pilot's).  The parts point
 * into the arena `found` and to weight.
 */
fc_status	fc_spec_choose(const double *x, const double *weight, size_t rows, size_t d, const fc_spec_options *options,
						   fc_arena *work, fc_arena *found, fc_spec_parts *parts);

#endif							/* FC_SKETCH_BUILD_H */

/*
 * spec.h - the parameters of a sketch: the flat, versioned bytes of a
 * sketch_spec.
 *
 *     x' = (x - center) / scale          d dimensions, user units; x / ||x||
 *                                        in place of x with FC_SPEC_COSINE
 *     y  = basis x' / sigma              n dimensions, the reduced coordinates
 *     phi_j(x) = exp(i omega_j . y)      omega_j = R_j u_j, drawn from (law,
 *                                        seed)
 *
 * Layout (offsets are multiples of 8, padding is zero, byte order the
 * machine's):
 *     fc_spec                            the fixed fields
 *     double center[dim]
 *     double scale[dim]                  only with FC_SPEC_SCALED
 *     double sigmas[scales]              sigmas[0] == sigma
 *     float  basis[reduced * dim]        only with FC_SPEC_PROJECTED; rows
 *                                        orthonormal
 *     float  sample_centroids[sample_centroids * reduced]
 *                                        centroids of the sample, in the units
 *                                        of pilot: where a decoder may begin
 *     double pilot_weight[pilot_rows]
 *     float  pilot[pilot_rows * reduced] sample rows, as y: in units of sigma
 * Frequencies are a pure function of these bytes and never stored.  The digest
 * covers everything but the pilot rows: two specs measure the same moments iff
 * their digests (and bytes) agree.
 */
#ifndef FC_SKETCH_SPEC_H
#define FC_SKETCH_SPEC_H

#include "numerics/metric.h"

typedef enum fc_law
{
	FC_LAW_GAUSSIAN = 0,		/* omega ~ N(0, I) */
	FC_LAW_FOLDED_GAUSSIAN = 1, /* R = |N(0,1)| */
	FC_LAW_ADAPTED_RADIUS = 2,	/* p(R) ~ sqrt(R^2 + R^4/4) exp(-R^2/2) */
	FC_LAW_ADAPTED_RADIUS_KMEANS = 3	/* p(R) ~ R exp(-R^2/2) */
} fc_law;
#define FC_LAWS 4

#define FC_SPEC_STRUCTURED	0x01	/* fast-Hadamard frequencies */
#define FC_SPEC_SCALED		0x02	/* per-dimension scale present */
#define FC_SPEC_PROJECTED	0x04	/* basis present, reduced < dim */
#define FC_SPEC_COSINE		0x08	/* rows are brought to length 1 first; not
									 * in bytes of old */

#define FC_SPEC_VERSION		1
#define FC_MAX_MOMENTS		(1 << 22)	/* frequencies x scales */
#define FC_MAX_SCALES		16
#define FC_MAX_RATIO		1e6 /* between two sigmas */
#define FC_MIN_PADDED		32	/* in smaller transforms many rows miss every
								 * coordinate */
#define FC_MAX_PILOT_ROWS	(1 << 16)
#define FC_MAX_SAMPLE_CENTROIDS	1024

typedef struct fc_spec
{
	/* belongs to the code that stores the value (varlena length); ignored */
	uint32_t	container;
	uint16_t	version;		/* FC_SPEC_VERSION */
	uint8_t		law;			/* fc_law */
	uint8_t		flags;			/* FC_SPEC_... */
	uint32_t	dim;			/* d, 1 .. FC_MAX_DIM */
	uint32_t	reduced;		/* n, 1 .. d; == d without a basis */
	uint32_t	frequencies;	/* m >= 1 */
	uint32_t	scales;			/* sigmas sharing the frequencies, 1 ..
								 * FC_MAX_SCALES */
	uint32_t	clusters;		/* the number of clusters the spec was chosen
								 * for, 0 unknown */
	uint32_t	pilot_rows;
	uint32_t	sample_centroids;
	uint32_t	padding;		/* 0 */
	uint64_t	seed;
	double		sigma;			/* > 0, in units of x' */
	uint64_t	digest[2];
} fc_spec;

static inline const double *
fc_spec_center(const fc_spec *spec)
{
	return (const double *) (spec + 1);
}

static inline const double *
fc_spec_scale(const fc_spec *spec)
{
	return (spec->flags & FC_SPEC_SCALED) ? fc_spec_center(spec) + spec->dim
		: NULL;
}

static inline const double *
fc_spec_sigmas(const fc_spec *spec)
{
	return fc_spec_center(spec) +
		spec->dim * (size_t) ((spec->flags & FC_SPEC_SCALED) ? 2 : 1);
}

static inline const float *
fc_spec_basis(const fc_spec *spec)
{
	return (spec->flags & FC_SPEC_PROJECTED)
		? (const float *) (fc_spec_sigmas(spec) + spec->scales)
		: NULL;
}

static inline const float *
fc_spec_sample_centroids(const fc_spec *spec)
{
	size_t		basis = ((spec->flags & FC_SPEC_PROJECTED)
						 ? (size_t) spec->dim * spec->reduced
						 : 0);

	return (const float *) (fc_spec_sigmas(spec) + spec->scales) + basis;
}

static inline fc_metric
fc_spec_metric(const fc_spec *spec)
{
	return (spec->flags & FC_SPEC_COSINE) ? FC_COSINE : FC_EUCLIDEAN;
}

static inline size_t
fc_spec_moments(const fc_spec *spec)
{
	return (size_t) spec->frequencies * spec->scales;
}

/*
 * Bytes without the pilot rows, and with them (from the fixed fields alone).
 */
size_t		fc_spec_core_size(const fc_spec *spec);
size_t		fc_spec_size(const fc_spec *spec);

/*
 * The same spec without its pilot rows, in fc_spec_core_size(spec) bytes: it
 * measures the same moments.
 */
void		fc_spec_without_pilot(const fc_spec *spec, fc_spec *lean);

const double *fc_spec_pilot_weight(const fc_spec *spec);
const float *fc_spec_pilot(const fc_spec *spec);

/* Recompute the digest after the bytes are complete. */
void		fc_spec_seal(fc_spec *spec);

/* Do both measure the same moments?  (digest and bytes, pilot rows aside) */
bool		fc_spec_same(const fc_spec *a, const fc_spec *b);

/*
 * Validate every field of size untrusted bytes aligned to 8: FC_OK or
 * FC_EFORMAT.
 */
fc_status	fc_spec_check(const void *bytes, size_t size);

const char *fc_law_name(fc_law law);

/* About the multiply-adds of a row's contribution to a sketch. */
double		fc_sketch_operations(const fc_spec *spec);

/* The frequencies of the spec, radians per unit of y: omega is m x n. */
void		fc_frequencies(const fc_spec *spec, fc_arena *arena, float *omega);

/*
 * Structured frequencies applied rather than written out: factors[j] (m) times
 * entry j mod p of H D1 H D2 H D3 y is omega_j . y / pi. Either output may be
 * NULL.
 */
void		fc_structured_frequencies(const fc_spec *spec, fc_arena *arena,
									  float *omega, float *factors);

/* The signs of the three diagonals of a block of structured frequencies. */
void		fc_block_signs(const fc_spec *spec, uint32_t block, uint32_t round,
						   size_t padded, float *signs);

/*
 * Size of the transforms of structured frequencies: a power of two, n and
 * FC_MIN_PADDED at least.
 */
static inline size_t
fc_padded_dim(size_t n)
{
	size_t		padded = FC_MIN_PADDED;

	while (padded < n)
		padded *= 2;
	return padded;
}

/* ---- a spec out of its parts ---- */

/*
 * Measured (bench/sketch): from here on fast-Hadamard frequencies cost less
 * than dense ones.
 */
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
	const float *sample_centroids;	/* sample_centroid_count x reduced, in
									 * sigmas */
	const double *pilot_weight; /* pilot_rows */
	const float *pilot;			/* pilot_rows x reduced, in sigmas */
} fc_spec_parts;

size_t		fc_spec_parts_size(const fc_spec_parts *parts);

/*
 * The spec into fc_spec_parts_size bytes. FC_EFORMAT when center, scale and
 * sigma do not fit together: sigma times scale must be between 1e-290 and
 * 1e290, and the center within 2^38 of it.
 */
fc_status	fc_spec_build(const fc_spec_parts *parts, fc_spec *spec);

/* The parts of a spec, which they point to. */
fc_spec_parts fc_spec_parts_of(const fc_spec *spec);

/*
 * Parts that measure rows as the given ones measure (x - center) / scale.
 * center and scale (dim each) become the parts' own: center + scale c and
 * scale s.
 */
void
			fc_spec_parts_in_units(fc_spec_parts *parts, double *center, double *scale);

/* y (reduced) of a row x; centred (dim) is work. */
void		fc_spec_reduce(const fc_spec *spec, const double *x, double *centred,
						   double *y);

#endif							/* FC_SKETCH_SPEC_H */

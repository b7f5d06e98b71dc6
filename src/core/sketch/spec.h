/*
 * spec.h - the parameters of a sketch: the flat, versioned bytes of a
 * sketch_spec.
 *
 *     x' = (x - center) / scale          d dimensions, user units; x / ||x||
 *                                        in place of x with FC_SPEC_COSINE
 *     y  = basis x' / sigma              n dimensions, the reduced coordinates
 *     phi_j(x) = exp(i omega_j . y)      omega_j = R_j u_j, a radius times a
 *                                        direction, drawn from (law, seed); or
 *                                        omega_j is given
 *
 * Layout (offsets are multiples of 8, padding is zero, byte order is the
 * machine's):
 *     fc_spec                            the fixed fields
 *     double center[dim]
 *     double scale[dim]                  only with FC_SPEC_SCALED
 *     double sigmas[scales]              sigmas[0] == sigma
 *     float  basis[reduced * dim]        only with FC_SPEC_PROJECTED; rows
 *                                        orthonormal
 *     float  given[frequencies * reduced]
 *                                        only with FC_SPEC_GIVEN; frequencies
 *                                        in radians per unit of y
 *     float  sample_centroids[sample_centroids * reduced]
 *                                        centroids of the sample, as y, from
 *                                        which a decoder can start
 *     double sample_weight[sample_rows]
 *     float  sample[sample_rows * reduced]
 *                                        sample rows, as y
 * Frequencies are a pure function of these bytes; they are stored only if
 * they were given. The digest covers everything but the sample rows: two
 * specs measure the same moments if and only if their digests (and bytes)
 * agree.
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
#define FC_SPEC_SCALED		0x02	/* one scale per dimension is present */
#define FC_SPEC_PROJECTED	0x04	/* a basis is present, and reduced < dim */
#define FC_SPEC_COSINE		0x08	/* rows are first scaled to length 1;
									 * specs of older releases never have this
									 * flag */
#define FC_SPEC_GIVEN		0x10	/* frequencies are stored, not drawn; the
									 * spec is neither structured nor
									 * projected */

#define FC_SPEC_VERSION		1

/* Maximum of frequencies x scales, a limit of the stored format. */
#define FC_MAX_MOMENTS	(1 << 22)

/* Maximum number of sigmas, a limit of the stored format. */
#define FC_MAX_SCALES	16

/*
 * Maximum ratio of two sigmas. With a larger one, angles for the smallest
 * sigma lose accuracy. A guess.
 */
#define FC_MAX_RATIO	1e6

/*
 * Maximum length of a given frequency, in radians per unit of y. Angles are
 * computed in single precision; with a larger one, they lose digits. A guess.
 */
#define FC_MAX_FREQUENCY	1e3

/*
 * Minimum size of the Hadamard transforms of structured frequencies. With a
 * smaller transform, many frequencies are 0 in all n coordinates. A larger
 * minimum costs time in few dimensions. A guess.
 */
#define FC_MIN_PADDED	32

/* Maximum number of sample rows in a spec, a limit of the stored format. */
#define FC_MAX_SAMPLE_ROWS	(1 << 16)

/*
 * Maximum number of sample centroids in a spec, a limit of the stored format.
 */
#define FC_MAX_SAMPLE_CENTROIDS	1024

typedef struct fc_spec
{
	/* reserved for the code that stores the value (varlena length); ignored */
	uint32_t	container;
	uint16_t	version;		/* FC_SPEC_VERSION */
	uint8_t		law;			/* fc_law */
	uint8_t		flags;			/* FC_SPEC_... */
	uint32_t	dim;			/* number of dimensions d, 1 .. FC_MAX_DIM */
	uint32_t	reduced;		/* number of reduced dimensions n, 1 .. d; d
								 * without a basis */
	uint32_t	frequencies;	/* number of frequencies m, at least 1 */
	uint32_t	scales;			/* number of sigmas that share the
								 * frequencies, 1 .. FC_MAX_SCALES */
	uint32_t	clusters;		/* number of clusters that the spec was chosen
								 * for; 0: unknown */
	uint32_t	sample_rows;	/* number of sample rows */
	uint32_t	sample_centroids;	/* number of sample centroids */
	uint32_t	padding;		/* always 0 */
	uint64_t	seed;			/* seed of the frequencies */
	double		sigma;			/* first sigma, > 0, in units of x' */
	uint64_t	digest[2];		/* hash of all bytes except the sample rows */
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

/* Returns the frequencies that were given, NULL if they are drawn. */
static inline const float *
fc_spec_given(const fc_spec *spec)
{
	return (spec->flags & FC_SPEC_GIVEN)
		? (const float *) (fc_spec_sigmas(spec) + spec->scales)
		: NULL;
}

/*
 * Returns the number of floats before the sample centroids: the basis or the
 * given frequencies.
 */
static inline size_t
fc_spec_matrix(const fc_spec *spec)
{
	return (size_t) spec->reduced *
		((spec->flags & FC_SPEC_PROJECTED) ? spec->dim
		 : (spec->flags & FC_SPEC_GIVEN) ? spec->frequencies
		 : 0);
}

static inline const float *
fc_spec_sample_centroids(const fc_spec *spec)
{
	return (const float *) (fc_spec_sigmas(spec) + spec->scales) +
		fc_spec_matrix(spec);
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
 * fc_spec_core_size returns the size of a spec in bytes without its sample
 * rows, fc_spec_size with them. Both read only the fixed fields.
 */
size_t		fc_spec_core_size(const fc_spec *spec);
size_t		fc_spec_size(const fc_spec *spec);

/*
 * Copies the spec without its sample rows, in fc_spec_core_size(spec) bytes;
 * the copy measures the same moments.
 */
void		fc_spec_without_sample(const fc_spec *spec, fc_spec *lean);

const double *fc_spec_sample_weight(const fc_spec *spec);
const float *fc_spec_sample(const fc_spec *spec);

/* Recomputes the digest after the bytes are complete. */
void		fc_spec_seal(fc_spec *spec);

/*
 * Returns true if both specs measure the same moments. Compares the digests
 * and all bytes except the sample rows.
 */
bool		fc_spec_same(const fc_spec *a, const fc_spec *b);

/*
 * Validates every field of `size` untrusted bytes, aligned to 8; returns FC_OK
 * or FC_EFORMAT.
 */
fc_status	fc_spec_check(const void *bytes, size_t size);

const char *fc_law_name(fc_law law);

/* Returns the approximate number of multiply-adds to add a row to a sketch. */
double		fc_sketch_operations(const fc_spec *spec);

/*
 * Computes the frequencies of the spec, in radians per unit of y; omega is m x
 * n.
 */
void		fc_frequencies(const fc_spec *spec, fc_arena *arena, float *omega);

/*
 * Computes structured frequencies in factored form: omega_j . y / pi is
 * factors[j] times entry j mod p of H D1 H D2 H D3 y (frequency.c). factors
 * has m values. omega (m x n) receives the frequencies themselves. Either
 * output may be NULL.
 */
void		fc_structured_frequencies(const fc_spec *spec, fc_arena *arena,
									  float *omega, float *factors);

/*
 * Computes the signs (1 or -1, `padded` values) on the diagonal of D1, D2 or
 * D3 for one block of structured frequencies. `round` is 0 for D1, 1 for D2
 * and 2 for D3.
 */
void		fc_block_signs(const fc_spec *spec, uint32_t block, uint32_t round,
						   size_t padded, float *signs);

/*
 * Returns the size of the transforms of structured frequencies: the smallest
 * power of two that reaches n and FC_MIN_PADDED.
 */
static inline size_t
fc_padded_dim(size_t n)
{
	size_t		padded = FC_MIN_PADDED;

	while (padded < n)
		padded *= 2;
	return padded;
}

/* ---- a spec from its fields ---- */

/*
 * Minimum number of reduced dimensions for fast-Hadamard frequencies, which
 * cost less than dense ones from there on (bench/kernel.c).
 */
#define FC_STRUCTURED_CROSSOVER	50

typedef struct fc_spec_fields
{
	size_t		dim;
	size_t		reduced;
	size_t		frequencies;
	size_t		scales;			/* number of sigmas */
	size_t		clusters;
	size_t		sample_rows;
	size_t		sample_centroid_count;
	fc_law		law;
	bool		structured;
	bool		cosine;			/* rows are scaled to length 1 */
	uint64_t	seed;
	const double *center;		/* dim values; NULL: all 0 */
	const double *scale;		/* dim values; NULL: all 1 */
	const double *sigmas;		/* `scales` values */
	const float *basis;			/* orthonormal rows, reduced x dim; NULL if
								 * reduced == dim */
	const float *given;			/* frequencies in radians per unit of y,
								 * frequencies x dim; NULL: drawn */
	const float *sample_centroids;	/* points in units of sigma,
									 * sample_centroid_count x reduced */
	const double *sample_weight;	/* sample_rows values */
	const float *sample;		/* rows in units of sigma, sample_rows x
								 * reduced */
} fc_spec_fields;

size_t		fc_spec_fields_size(const fc_spec_fields *fields);

/*
 * Builds the spec in fc_spec_fields_size bytes. Returns FC_EFORMAT if center,
 * scale and sigma are inconsistent: sigma times scale must be between 1e-290
 * and 1e290, and the magnitude of center within 2^38 times this product.
 */
fc_status	fc_spec_build(const fc_spec_fields *fields, fc_spec *spec);

/* Returns the fields of a spec. Their arrays point into the spec. */
fc_spec_fields fc_spec_fields_of(const fc_spec *spec);

/*
 * Changes the fields so that their spec gives rows x the moments that the
 * former spec gave rows (x - center) / scale. Replaces the arrays center and
 * scale (dim values each) by center + scale * c and scale * s, where c and s
 * are the center and scale of the former fields. The fields then point to
 * these arrays.
 */
void		fc_spec_fields_rescale(fc_spec_fields *fields, double *center, double *scale);

/*
 * Computes the reduced coordinates y (spec->reduced values) of a row x;
 * centred (dim values) is work space.
 */
void		fc_spec_reduce(const fc_spec *spec, const double *x, double *centred,
						   double *y);

#endif							/* FC_SKETCH_SPEC_H */

/*
 * spec.c - the bytes of a sketch_spec: sizes, digest, validation, and a spec
 * from its fields; see spec.h
 */
#include "sketch/spec.h"

#include "base/rng.h"

#define ROUND8(size) (((size) + 7) & ~(size_t) 7)

const char *
fc_law_name(fc_law law)
{
	static const char *const names[FC_LAWS] = {
		"gaussian",
		"folded_gaussian",
		"adapted_radius",
		"adapted_radius_kmeans"
	};

	return names[law];
}

/*
 * Measured costs. FLOAT_COST is a multiply-add in float, relative to the
 * multiply-adds that other modules count. SINE_COSINE is a sine with its
 * cosine, in multiply-adds in float.
 */
#define FLOAT_COST		0.25
#define SINE_COSINE	16.0

double
fc_sketch_operations(const fc_spec *spec)
{
	double		n = (double) spec->reduced;
	double		angle = ((spec->flags & FC_SPEC_STRUCTURED)
						 ? 3.0 * log2((double) fc_padded_dim(spec->reduced))
						 : n);
	double		projection = ((spec->flags & FC_SPEC_PROJECTED)
							  ? (double) spec->dim * n
							  : 0.0);

	return FLOAT_COST * (projection +
						 spec->frequencies * (angle + SINE_COSINE * spec->scales));
}

size_t
fc_spec_core_size(const fc_spec *spec)
{
	size_t		doubles = (spec->dim *
						   (size_t) ((spec->flags & FC_SPEC_SCALED) ? 2 : 1) +
						   spec->scales);
	size_t		floats = ((size_t) spec->sample_centroids * spec->reduced +
						  fc_spec_matrix(spec));

	return sizeof(fc_spec) + doubles * sizeof(double) +
		ROUND8(floats * sizeof(float));
}

size_t
fc_spec_size(const fc_spec *spec)
{
	size_t		rows = spec->sample_rows;

	return fc_spec_core_size(spec) + rows * sizeof(double) +
		ROUND8(rows * spec->reduced * sizeof(float));
}

void
fc_spec_without_sample(const fc_spec *spec, fc_spec *lean)
{
	memcpy(lean, spec, fc_spec_core_size(spec));
	lean->container = 0;
	lean->sample_rows = 0;
}

const double *
fc_spec_sample_weight(const fc_spec *spec)
{
	return (const double *) ((const char *) spec + fc_spec_core_size(spec));
}

const float *
fc_spec_sample(const fc_spec *spec)
{
	return (const float *) (fc_spec_sample_weight(spec) + spec->sample_rows);
}

static void
compute_digest(const fc_spec *spec, uint64_t digest[2])
{
	fc_spec		fixed = *spec;
	uint64_t	seeds[2];

	fixed.container = 0;
	fixed.sample_rows = 0;
	fixed.digest[0] = fixed.digest[1] = 0;
	for (uint64_t i = 0; i < 2; i++)
		seeds[i] = fc_hash_bytes(i + 1, &fixed, sizeof(fixed));
	fc_digest(seeds, spec + 1, fc_spec_core_size(spec) - sizeof(fc_spec),
			  digest);
}

void
fc_spec_seal(fc_spec *spec)
{
	compute_digest(spec, spec->digest);
}

bool
fc_spec_same(const fc_spec *a, const fc_spec *b)
{
	size_t		size = fc_spec_core_size(a);

	return a->digest[0] == b->digest[0] && a->digest[1] == b->digest[1] &&
		a->dim == b->dim && a->reduced == b->reduced &&
		a->frequencies == b->frequencies && a->scales == b->scales &&
		a->flags == b->flags && a->law == b->law && a->seed == b->seed &&
		fc_spec_core_size(b) == size &&
		memcmp(a + 1, b + 1, size - sizeof(fc_spec)) == 0;
}

static bool
all_positive(const double *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(values[i] >= 1e-300 && values[i] <= 1e300))
			return false;
	return true;
}

static bool
fixed_fields_valid(const fc_spec *spec)
{
	bool		projected = (spec->flags & FC_SPEC_PROJECTED) != 0;

	return spec->version == FC_SPEC_VERSION && spec->law < FC_LAWS &&
		(spec->flags & ~(FC_SPEC_STRUCTURED | FC_SPEC_SCALED | FC_SPEC_PROJECTED |
						 FC_SPEC_COSINE | FC_SPEC_GIVEN)) == 0 &&
		((spec->flags & FC_SPEC_GIVEN) == 0 ||
		 (spec->flags & (FC_SPEC_STRUCTURED | FC_SPEC_PROJECTED)) == 0) &&
		spec->dim >= 1 && spec->dim <= FC_MAX_DIM && spec->reduced >= 1 &&
		(projected ? spec->reduced < spec->dim
		 : spec->reduced == spec->dim) &&
		spec->scales >= 1 && spec->scales <= FC_MAX_SCALES &&
		spec->frequencies >= 1 && spec->frequencies <= FC_MAX_MOMENTS &&
		fc_spec_moments(spec) <= FC_MAX_MOMENTS &&
		spec->sample_rows <= FC_MAX_SAMPLE_ROWS &&
		spec->sample_centroids <= FC_MAX_SAMPLE_CENTROIDS &&
		spec->padding == 0 && all_positive(&spec->sigma, 1);
}

/*
 * Returns true if all basis rows have squared norm 1 to within 1e-3, so that
 * lengths in reduced coordinates are true lengths.
 */
static bool
basis_valid(const fc_spec *spec)
{
	const float *basis = fc_spec_basis(spec);

	for (size_t r = 0; basis != NULL && r < spec->reduced; r++)
	{
		double		norm = 0;

		fc_check();
		for (size_t i = 0; i < spec->dim; i++)
			norm += (double) basis[r * spec->dim + i] *
				(double) basis[r * spec->dim + i];
		if (!(fabs(norm - 1.0) < 1e-3))
			return false;
	}
	return true;
}

/* Returns true if given frequencies are no longer than FC_MAX_FREQUENCY. */
static bool
given_valid(const fc_spec *spec)
{
	const float *given = fc_spec_given(spec);

	for (size_t j = 0; given != NULL && j < spec->frequencies; j++)
	{
		double		norm2 = 0;

		fc_check();
		for (size_t i = 0; i < spec->dim; i++)
			norm2 += (double) given[j * spec->dim + i] *
				(double) given[j * spec->dim + i];
		if (!(norm2 <= FC_MAX_FREQUENCY * FC_MAX_FREQUENCY))
			return false;
	}
	return true;
}

/*
 * Returns true if the grid of sums can represent all widths and centers
 * (prepared.h), and the ratios of the sigmas are not too large for the angles.
 */
static bool
grid_valid(const fc_spec *spec)
{
	const double *scale = fc_spec_scale(spec);

	for (size_t s = 0; s < spec->scales; s++)
	{
		double		ratio = spec->sigma / fc_spec_sigmas(spec)[s];

		if (!(ratio >= 1 / (1.01 * FC_MAX_RATIO) &&
			  ratio <= 1.01 * FC_MAX_RATIO))
			return false;
	}
	for (size_t i = 0; i < spec->dim; i++)
	{
		double		width = spec->sigma * (scale ? scale[i] : 1.0);

		if (!(width >= 1e-290 && width <= 1e290) ||
			!(fabs(fc_spec_center(spec)[i]) / width <= FC_EXP2(38)))
			return false;
	}
	return true;
}

fc_status
fc_spec_check(const void *bytes, size_t size)
{
	const fc_spec *spec = bytes;
	const double *sigmas;
	uint64_t	digest[2];

	if (size < sizeof(fc_spec) || !fixed_fields_valid(spec) ||
		fc_spec_size(spec) != size)
		return FC_EFORMAT;
	sigmas = fc_spec_sigmas(spec);
	if (!fc_all_finite(fc_spec_center(spec), spec->dim) ||
		((spec->flags & FC_SPEC_SCALED) &&
		 !all_positive(fc_spec_scale(spec), spec->dim)) ||
		!all_positive(sigmas, spec->scales) || sigmas[0] != spec->sigma ||
		!grid_valid(spec) ||
		!fc_zero_padding(fc_spec_sample_centroids(spec) +
						 (size_t) spec->sample_centroids * spec->reduced,
						 fc_spec_sample_weight(spec)) ||
		!fc_zero_padding(fc_spec_sample(spec) +
						 (size_t) spec->sample_rows * spec->reduced,
						 (const char *) bytes + size) ||
		!basis_valid(spec) || !given_valid(spec) ||
		!all_positive(fc_spec_sample_weight(spec), spec->sample_rows) ||
		!fc_all_finite_float(fc_spec_sample(spec),
							 (size_t) spec->sample_rows * spec->reduced) ||
		!fc_all_finite_float(fc_spec_sample_centroids(spec),
							 (size_t) spec->sample_centroids * spec->reduced))
		return FC_EFORMAT;
	compute_digest(spec, digest);
	return digest[0] == spec->digest[0] && digest[1] == spec->digest[1]
		? FC_OK
		: FC_EFORMAT;
}

/* ---- a spec from its fields ---- */

/* Returns the fixed fields, which determine the size of a spec. */
static fc_spec
fixed_fields(const fc_spec_fields *fields)
{
	int			flags = ((fields->structured ? FC_SPEC_STRUCTURED : 0) |
						 (fields->scale ? FC_SPEC_SCALED : 0) |
						 (fields->basis ? FC_SPEC_PROJECTED : 0) |
						 (fields->cosine ? FC_SPEC_COSINE : 0) |
						 (fields->given ? FC_SPEC_GIVEN : 0));

	return (fc_spec)
	{
		.version = FC_SPEC_VERSION,
			.law = (uint8_t) fields->law,
			.flags = (uint8_t) flags,
			.dim = (uint32_t) fields->dim,
			.reduced = (uint32_t) fields->reduced,
			.frequencies = (uint32_t) fields->frequencies,
			.scales = (uint32_t) fields->scales,
			.clusters = (uint32_t) fields->clusters,
			.sample_rows = (uint32_t) fields->sample_rows,
			.sample_centroids = (uint32_t)
			fields->sample_centroid_count,
			.seed = fields->seed,
			.sigma = fields->sigmas ? fields->sigmas[0] : 0
	};
}

size_t
fc_spec_fields_size(const fc_spec_fields *fields)
{
	fc_spec		fixed = fixed_fields(fields);

	return fc_spec_size(&fixed);
}

/*
 * Fills an array of a spec under construction, unless `from` is NULL because
 * the spec has no such array.
 */
static void
fill(const void *array, const void *from, size_t bytes)
{
	if (from != NULL)
		memcpy((void *) (uintptr_t) array, from, bytes);
}

fc_status
fc_spec_build(const fc_spec_fields *fields, fc_spec *spec)
{
	size_t		size = fc_spec_fields_size(fields);
	size_t		n = fields->reduced;

	memset(spec, 0, size);
	*spec = fixed_fields(fields);
	for (size_t i = 0; fields->center != NULL && i < fields->dim; i++)
		/* -0 becomes 0 */
		((double *) (uintptr_t) fc_spec_center(spec))[i] = fields->center[i] +
			0.0;
	fill(fc_spec_scale(spec), fields->scale, fields->dim * sizeof(double));
	fill(fc_spec_sigmas(spec), fields->sigmas, fields->scales * sizeof(double));
	fill(fc_spec_basis(spec), fields->basis, fields->dim * n * sizeof(float));
	fill(fc_spec_given(spec), fields->given,
		 fields->frequencies * n * sizeof(float));
	fill(fc_spec_sample_centroids(spec), fields->sample_centroids,
		 fields->sample_centroid_count * n * sizeof(float));
	fill(fc_spec_sample_weight(spec), fields->sample_weight,
		 fields->sample_rows * sizeof(double));
	fill(fc_spec_sample(spec), fields->sample,
		 fields->sample_rows * n * sizeof(float));
	fc_spec_seal(spec);
	return fc_spec_check(spec, size);
}

fc_spec_fields
fc_spec_fields_of(const fc_spec *spec)
{
	return (fc_spec_fields)
	{
		.dim = spec->dim,
			.reduced = spec->reduced,
			.frequencies = spec->frequencies,
			.scales = spec->scales,
			.clusters = spec->clusters,
			.sample_rows = spec->sample_rows,
			.sample_centroid_count = spec->sample_centroids,
			.law = (fc_law) spec->law,
			.structured = (spec->flags & FC_SPEC_STRUCTURED) !=
			0,
			.cosine = (spec->flags & FC_SPEC_COSINE) != 0,
			.seed = spec->seed,
			.center = fc_spec_center(spec),
			.scale = fc_spec_scale(spec),
			.sigmas = fc_spec_sigmas(spec),
			.basis = fc_spec_basis(spec),
			.given = fc_spec_given(spec),
			.sample_centroids = fc_spec_sample_centroids(spec),
			.sample_weight = fc_spec_sample_weight(spec),
			.sample = fc_spec_sample(spec)
	};
}

void
fc_spec_fields_rescale(fc_spec_fields *fields, double *center, double *scale)
{
	for (size_t i = 0; i < fields->dim; i++)
	{
		center[i] += scale[i] * fields->center[i];
		scale[i] *= fields->scale != NULL ? fields->scale[i] : 1.0;
	}
	fields->center = center;
	fields->scale = scale;
}

void
fc_spec_reduce(const fc_spec *spec, const double *x, double *centred, double *y)
{
	const double *center = fc_spec_center(spec);
	const double *scale = fc_spec_scale(spec);
	const float *basis = fc_spec_basis(spec);

	for (size_t i = 0; i < spec->dim; i++)
		centred[i] = (x[i] - center[i]) / (scale ? scale[i] : 1.0) /
			spec->sigma;
	for (size_t r = 0; r < spec->reduced; r++)
	{
		fc_check();
		y[r] = basis ? 0 : centred[r];
		for (size_t i = 0; basis != NULL && i < spec->dim; i++)
			y[r] += (double) basis[r * spec->dim + i] * centred[i];
	}
}

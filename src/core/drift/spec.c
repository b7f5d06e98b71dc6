/* spec.c - the bytes of a drift_spec: size, digest, validation; see spec.h */
#include "drift/spec.h"

#include "base/rng.h"

size_t
fc_drift_spec_size(const fc_drift_spec *spec)
{
	size_t		d = spec->dim;
	size_t		bytes = (((spec->flags & FC_DRIFT_ORIGIN) ? d * sizeof(double) : 0) +
						 d * (FC_DRIFT_EDGES + 1) * sizeof(float) +
						 fc_drift_spec_bits(spec) * sizeof(uint16_t) + 4 * d);

	return sizeof(fc_drift_spec) + (bytes + 7) / 8 * 8;
}

static void
compute_digest(const fc_drift_spec *spec, uint64_t digest[2])
{
	fc_drift_spec fixed = *spec;
	uint64_t	seeds[2];

	fixed.container = 0;
	fixed.digest[0] = fixed.digest[1] = 0;
	for (uint64_t i = 0; i < 2; i++)
		seeds[i] = fc_hash_bytes(i + 1, &fixed, sizeof(fixed));
	fc_digest(seeds, spec + 1, fc_drift_spec_size(spec) - sizeof(fc_drift_spec),
			  digest);
}

void
fc_drift_spec_seal(fc_drift_spec *spec)
{
	compute_digest(spec, spec->digest);
}

static bool
fixed_fields_valid(const fc_drift_spec *spec)
{
	return spec->version == FC_DRIFT_VERSION &&
		(spec->metric == FC_EUCLIDEAN || spec->metric == FC_COSINE) &&
		(spec->flags & ~FC_DRIFT_ORIGIN) == 0 && spec->dim >= 1 &&
		spec->dim <= FC_MAX_DIM && spec->plain <= FC_DRIFT_PLAIN &&
		spec->plain <= spec->dim && spec->far <= FC_DRIFT_FAR &&
		spec->far <= spec->dim && spec->padding == 0 &&
		spec->reserved[0] == 0 && spec->reserved[1] == 0;
}

/*
 * Returns true if column j is valid. Its edges must be finite and ascend, from
 * its smallest value or above, and unused edges must be infinite. The indices
 * in `third` must be below the number of edges.
 */
static bool
column_valid(const fc_drift_spec *spec, size_t j)
{
	const float *edge = fc_drift_edges(spec) + j * FC_DRIFT_EDGES;
	const uint8_t *third = fc_drift_thirds(spec) + 3 * j;
	size_t		count = fc_drift_edge_counts(spec)[j];

	if (count < 1 || count > FC_DRIFT_EDGES ||
		!isfinite(fc_drift_minima(spec)[j]) ||
		!(fc_drift_minima(spec)[j] <= edge[0]))
		return false;
	for (size_t k = 0; k < FC_DRIFT_EDGES; k++)
		if (k < count
			? !isfinite(edge[k]) || (k > 0 && !(edge[k - 1] < edge[k]))
			: edge[k] != INFINITY)
			return false;
	return third[FC_DRIFT_MIDDLE] < count && third[FC_DRIFT_UPPER] < count &&
		third[FC_DRIFT_LOWER] <= third[FC_DRIFT_UPPER];
}

static bool
bits_valid(const uint16_t *column, size_t count, size_t d)
{
	for (size_t b = 0; b < count; b++)
		if (column[b] >= d || (b > 0 && column[b - 1] >= column[b]))
			return false;
	return true;
}

fc_status
fc_drift_spec_check(const void *bytes, size_t size)
{
	const fc_drift_spec *spec = bytes;
	const uint16_t *column;
	uint64_t	digest[2];

	if (size < sizeof(fc_drift_spec) || !fixed_fields_valid(spec) ||
		fc_drift_spec_size(spec) != size)
		return FC_EFORMAT;
	if (fc_drift_origin(spec) != NULL &&
		!fc_all_finite(fc_drift_origin(spec), spec->dim))
		return FC_EFORMAT;
	for (size_t j = 0; j < spec->dim; j++)
	{
		fc_check();
		if (!column_valid(spec, j))
			return FC_EFORMAT;
	}
	column = fc_drift_bit_columns(spec);
	if (!bits_valid(column, spec->plain, spec->dim) ||
		!bits_valid(column + spec->plain, spec->far, spec->dim) ||
		!fc_zero_padding(fc_drift_thirds(spec) + 3 * (size_t) spec->dim,
						 (const char *) bytes + size))
		return FC_EFORMAT;
	compute_digest(spec, digest);
	return digest[0] == spec->digest[0] && digest[1] == spec->digest[1]
		? FC_OK
		: FC_EFORMAT;
}

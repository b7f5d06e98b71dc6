/*
 * spec.h - which counts drift compares: the flat, versioned bytes of a
 * drift_spec.
 *
 * A function of a sample of the training rows (drift_spec_of_sample.h). Values
 * are compared as floats from an origin, (float) (x - origin), as the sample
 * keeps them: a row of doubles and the same row of floats give the same
 * counts. Of a column
 *     up to FC_DRIFT_EDGES edges e     rows with x <= e are counted,
 *     the least value of the sample    and those with x < least.
 * A bit of a row is a column above its middle edge (plain bits), or outside
 * its two outer ones (far bits). Rows in which both of two bits are set are
 * counted: pairs.
 *
 * Layout (offsets multiples of 8, padding zero, byte order the machine's):
 *     fc_drift_spec
 *     double   origin[dim]            only with FC_DRIFT_ORIGIN
 *     float    edge[dim * FC_DRIFT_EDGES]   rising, infinite behind the last
 *                                           one
 *     float    least[dim]
 *     uint16   column[plain + far]    the column of each bit; rising among the
 *                                     plain ones and among the far ones
 *     uint8    count[dim]             edges of a column, at least 1
 *     uint8    third[3 * dim]         of a column the numbers of the middle
 *                                     edge, the lower and the upper outer one
 */
#ifndef FC_DRIFT_SPEC_H
#define FC_DRIFT_SPEC_H

#include "numerics/metric.h"

#define FC_DRIFT_EDGES		13
#define FC_DRIFT_QUANTILES	11	/* edges of a column of many values, at least
								 * where they do not repeat */
#define FC_DRIFT_CELLS		(FC_DRIFT_EDGES + 2)	/* below the least value,
													 * up to each edge, above
													 * the last */
#define FC_DRIFT_VERSION	1
#define FC_DRIFT_ORIGIN		0x01
#define FC_DRIFT_PLAIN		512 /* columns with a plain bit at most */
#define FC_DRIFT_FAR		128 /* far bits are where the columns are no more
								 * than this */
#define FC_DRIFT_MOST_BYTES	((size_t) 1 << 20)	/* of counts of 32 bits with
												 * pairs: beyond, fewer
												 * columns have bits */

enum
{
	FC_DRIFT_MIDDLE,
	FC_DRIFT_LOWER,
	FC_DRIFT_UPPER
};

typedef struct fc_drift_spec
{
	uint32_t	container;		/* belongs to the code that stores the value;
								 * ignored */
	uint16_t	version;
	/* fc_metric: euclidean, or cosine: rows are brought to length 1 first */
	uint8_t		metric;
	uint8_t		flags;
	uint64_t	digest[2];		/* of all but this and the container */
	uint32_t	dim;
	uint32_t	plain;
	uint32_t	far;
	uint32_t	padding;		/* 0 */
	uint64_t	seed;
} fc_drift_spec;

static inline size_t
fc_drift_spec_bits(const fc_drift_spec *spec)
{
	return (size_t) spec->plain + spec->far;
}

static inline const double *
fc_drift_origin(const fc_drift_spec *spec)
{
	return (spec->flags & FC_DRIFT_ORIGIN) ? (const double *) (spec + 1) : NULL;
}

static inline const float *
fc_drift_edges(const fc_drift_spec *spec)
{
	return (const float *) ((const double *) (spec + 1) +
							((spec->flags & FC_DRIFT_ORIGIN) ? spec->dim : 0));
}

static inline const float *
fc_drift_least(const fc_drift_spec *spec)
{
	return fc_drift_edges(spec) + (size_t) spec->dim * FC_DRIFT_EDGES;
}

static inline const uint16_t *
fc_drift_bit_columns(const fc_drift_spec *spec)
{
	return (const uint16_t *) (fc_drift_least(spec) + spec->dim);
}

static inline const uint8_t *
fc_drift_edge_counts(const fc_drift_spec *spec)
{
	return (const uint8_t *) (fc_drift_bit_columns(spec) +
							  fc_drift_spec_bits(spec));
}

static inline const uint8_t *
fc_drift_thirds(const fc_drift_spec *spec)
{
	return fc_drift_edge_counts(spec) + spec->dim;
}

/* Bytes, from the fixed fields alone. */
size_t		fc_drift_spec_size(const fc_drift_spec *spec);

/* Recompute the digest after the bytes are complete. */
void		fc_drift_spec_seal(fc_drift_spec *spec);

/* Validate size untrusted bytes aligned to 8: FC_OK or FC_EFORMAT. */
fc_status	fc_drift_spec_check(const void *bytes, size_t size);

#endif							/* FC_DRIFT_SPEC_H */

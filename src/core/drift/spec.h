/*
 * spec.h - what is counted to detect drift: the flat, versioned bytes of a
 * drift_spec.
 *
 * A drift_spec is computed from a sample of the training rows
 * (drift_spec_of_sample.h). Values are compared as floats relative to an
 * origin, (float) (x - origin), because the sample stores them in this way. A
 * row of doubles therefore has the same counts as the same row of floats. For
 * each column, two kinds of counts are kept:
 *     rows with x <= e       for each of up to FC_DRIFT_EDGES edges e
 *     rows with x < least    where `least` is the smallest sample value
 * Each row has bits. A plain bit is set if the value of a column is above the
 * middle edge of the column, which is the edge nearest its median. A far bit
 * is set if the value is at or below the lower outer edge, or above the upper
 * outer edge. The outer edges are the edges nearest the quartiles. For every
 * pair of bits, the rows with both bits set are counted.
 *
 * Layout (offsets multiples of 8, padding zero, native byte order):
 *     fc_drift_spec
 *     double   origin[dim]            only with FC_DRIFT_ORIGIN
 *     float    edge[dim * FC_DRIFT_EDGES]   rising, infinite after the last
 *                                           edge
 *     float    least[dim]
 *     uint16   column[plain + far]    index of the column of each plain bit,
 *                                     rising, and of each far bit, rising
 *     uint8    count[dim]             number of edges of a column, 1 or more
 *     uint8    third[3 * dim]         for each column, the indices of its
 *                                     middle, lower outer and upper outer edge
 */
#ifndef FC_DRIFT_SPEC_H
#define FC_DRIFT_SPEC_H

#include "numerics/metric.h"

/*
 * Maximum number of edges of a column. More edges detect smaller changes of a
 * distribution, but weaken each test and enlarge the counts. A guess.
 */
#define FC_DRIFT_EDGES	13

/*
 * Number of quantiles that are edges of a column with many values. Quantiles
 * that coincide are one edge.
 */
#define FC_DRIFT_QUANTILES	11

/*
 * Number of cells of a column: one below its smallest sample value, one up to
 * each edge, and one above the last edge.
 */
#define FC_DRIFT_CELLS	(FC_DRIFT_EDGES + 2)

#define FC_DRIFT_VERSION	1

/* Flag of a spec that has an origin, which is subtracted from rows. */
#define FC_DRIFT_ORIGIN	0x01

/*
 * Maximum number of columns with a plain bit. More columns detect changes of
 * more pairs, but memory and time grow with their square. A guess.
 */
#define FC_DRIFT_PLAIN	512

/*
 * Maximum number of columns of a spec that has far bits. A spec with more
 * columns has none: with a second bit for each column, there are four times as
 * many pairs of bits to count. A guess.
 */
#define FC_DRIFT_FAR	128

/*
 * Maximum size in bytes of the 32-bit counts of a spec, pairs included. If the
 * counts would be larger, fewer columns get a plain bit. A higher limit allows
 * more pairs, in larger stored values. A guess.
 */
#define FC_DRIFT_MAX_BYTES	((size_t) 1 << 20)

enum
{
	FC_DRIFT_MIDDLE,
	FC_DRIFT_LOWER,
	FC_DRIFT_UPPER
};

typedef struct fc_drift_spec
{
	uint32_t	container;		/* used by the code that stores the value;
								 * ignored here */
	uint16_t	version;

	/*
	 * fc_metric: euclidean, or cosine, for which rows are first scaled to
	 * length 1
	 */
	uint8_t		metric;
	uint8_t		flags;
	uint64_t	digest[2];		/* hash of all bytes except `container` and
								 * `digest` */
	uint32_t	dim;
	uint32_t	plain;			/* number of plain bits */
	uint32_t	far;			/* number of far bits */
	uint32_t	padding;		/* always 0 */
	uint64_t	seed;
	uint64_t	reserved[2];	/* always 0 */
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
fc_drift_minima(const fc_drift_spec *spec)
{
	return fc_drift_edges(spec) + (size_t) spec->dim * FC_DRIFT_EDGES;
}

static inline const uint16_t *
fc_drift_bit_columns(const fc_drift_spec *spec)
{
	return (const uint16_t *) (fc_drift_minima(spec) + spec->dim);
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

/* Returns the size of a spec in bytes, computed from its fixed fields. */
size_t		fc_drift_spec_size(const fc_drift_spec *spec);

/* Recomputes the digest after the bytes are complete. */
void		fc_drift_spec_seal(fc_drift_spec *spec);

/*
 * Validates `size` untrusted bytes, aligned to 8. Returns FC_OK or FC_EFORMAT.
 */
fc_status	fc_drift_spec_check(const void *bytes, size_t size);

#endif							/* FC_DRIFT_SPEC_H */

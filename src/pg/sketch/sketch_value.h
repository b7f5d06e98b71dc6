/* sketch_value.h - the types sketch_spec and sketch */
#ifndef FASTCLUST_SKETCH_VALUE_H
#define FASTCLUST_SKETCH_VALUE_H

#include "pg/base/collect.h"
#include "pg/base/values.h"
#include "sketch/prepared.h"

/* Reads the digest of a sketch_spec without detoasting all of it. */
extern void spec_digest_of_datum(Datum datum, uint64 digest[2]);

#define SPEC_ARG(n)		((fc_spec *) aligned_value(PG_GETARG_DATUM(n)))
#define SKETCH_ARG(n)	((fc_sketch *) aligned_value(PG_GETARG_DATUM(n)))

/*
 * Creates a sketch without rows in the current context, with flags of layout.h
 * and space for `capacity` pending rows.
 */
extern fc_sketch *empty_sketch(const fc_spec *spec, uint8 flags, Size capacity);

/*
 * Returns the sketch in the unpacked layout, with space for pending rows: the
 * sketch itself if it is unpacked, else a copy. If `sketch` is NULL, returns
 * an empty sketch of the spec.
 */
extern fc_sketch *sketch_unpack(fc_sketch *sketch, const fc_spec *spec);

/*
 * Returns the sketch in the packed layout, in which it is stored: the sketch
 * itself if it is packed, else a copy. Pending rows are added to the sums of
 * the copy.
 */
extern fc_sketch *sketch_pack(const fc_sketch *sketch);

/* Returns a copy of the sketch in the current context. */
extern fc_sketch *sketch_copy(const fc_sketch *sketch);

/*
 * Returns the sketch in the layout for weighted rows: the sketch itself if it
 * has this layout, else a copy.
 */
extern fc_sketch *sketch_weighted(fc_sketch *sketch);

/* Marks the minimum and maximum of each column as unknown. */
extern void sketch_forget_bounds(fc_sketch *sketch);

/* Copies a spec without its sample into the current context. */
extern fc_spec *spec_without_sample(const fc_spec *spec);

/*
 * Computes target += sign * source, where source is packed. Returns the
 * target, or a copy of it in the layout for weighted rows if the source has
 * weights. Raises an error if the specs differ.
 */
extern fc_sketch *sketch_combined(fc_sketch *target, const fc_sketch *source, int sign);

/*
 * Computes target += weight * source. The weight is in units of 2^-40, and
 * source is packed. Raises an error if the rows of source have weights. A NULL
 * target stands for an empty sketch. Returns the target, or a copy of it in
 * the layout for weighted rows.
 */
extern fc_sketch *sketch_combined_weighted(fc_sketch *target, const fc_sketch *source,
										   int64 weight);

/*
 * Raises the error for a row that could not be sketched. The message shows the
 * element that caused it.
 */
extern void report_row(fc_status status, const double *doubles,
					   const float *floats, size_t d) __attribute__((noreturn));

/*
 * Returns the law with this name, the distribution from which frequencies are
 * drawn. Raises an error for an unknown name.
 */
extern fc_law law_of_name(const char *name);

/*
 * Builds a spec from checked fields. Raises an error if center, scale and sigma
 * do not fit together.
 */
extern fc_spec *build_spec(const fc_spec_fields *fields);

/* Functions for states of sketch_spec_agg. */
extern const state_kind spec_state_kind;

/*
 * Returns what sketch_spec_agg would return for n rows of d numbers with these
 * options.
 */
extern fc_spec *spec_of_rows(const double *x, Size n, Size d, int32 clusters, Jsonb *options);

/*
 * Returns the spec prepared for sketching, from a cache of this process. The
 * result stays valid until prepared_generation changes.
 */
extern const fc_prepared *prepared_of_spec(const fc_spec *spec);
extern uint64 prepared_generation;

/*
 * Returns true if `prepared` was made from this spec. Compares the digest, and
 * all fields that sizes depend on, so that a digest collision cannot overrun a
 * buffer.
 */
static inline bool
prepared_serves(const fc_prepared *prepared, const fc_spec *spec)
{
	const fc_spec *own = prepared->spec;

	return ((own->digest[0] ^ spec->digest[0]) |
			(own->digest[1] ^ spec->digest[1])) == 0 &&
		((own->dim ^ spec->dim) | (own->reduced ^ spec->reduced) |
		 (own->frequencies ^ spec->frequencies) |
		 (own->scales ^ spec->scales) |
		 (own->sample_centroids ^ spec->sample_centroids) |
		 (own->flags ^ spec->flags)) == 0;
}

#endif							/* FASTCLUST_SKETCH_VALUE_H */

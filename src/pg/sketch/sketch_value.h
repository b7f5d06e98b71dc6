/* sketch_value.h - the types sketch_spec and sketch */
#ifndef FASTCLUST_SKETCH_VALUE_H
#define FASTCLUST_SKETCH_VALUE_H

#include "pg/base/collect.h"
#include "pg/base/values.h"
#include "sketch/prepared.h"

/* The digest of a sketch_spec, without detoasting it whole. */
extern void spec_digest_of_datum(Datum datum, uint64 digest[2]);

#define SPEC_ARG(n)		((fc_spec *) aligned_value(PG_GETARG_DATUM(n)))
#define SKETCH_ARG(n)	((fc_sketch *) aligned_value(PG_GETARG_DATUM(n)))

/*
 * Returns a sketch with room for waiting rows: itself, or a copy; NULL gives
 * an empty one of the spec.
 */
extern fc_sketch *sketch_unpack(fc_sketch *sketch, const fc_spec *spec);

/*
 * Returns the sketch as it is stored, folded and canonical: itself, or a copy.
 */
extern fc_sketch *sketch_pack(const fc_sketch *sketch);

/* Returns a copy in the current context. */
extern fc_sketch *sketch_copy(const fc_sketch *sketch);

/* Returns a sketch that takes weighted rows: itself, or a copy. */
extern fc_sketch *sketch_weighted(fc_sketch *sketch);

/* Makes the minimum and maximum of each column unknown. */
extern void sketch_forget_bounds(fc_sketch *sketch);

/* A copy of a spec without its sample, in the current context. */
extern fc_spec *spec_without_pilot(const fc_spec *spec);

/*
 * target += sign * a packed source: the target, or a weighted copy of it. An
 * error if their specs differ.
 */
extern fc_sketch *sketch_combined(fc_sketch *target, const fc_sketch *source, int sign);

/*
 * target += the rows of a packed source without weights, each of this weight,
 * in units of 2^-40. NULL stands for an empty target.
 */
extern fc_sketch *sketch_combined_weighted(fc_sketch *target, const fc_sketch *source,
										   int64 weight);

/*
 * The error of a row that could not be sketched, with the element that caused
 * it.
 */
extern void report_row(fc_status status, const double *doubles,
					   const float *floats, size_t d) __attribute__((noreturn));

/*
 * The value of parts already checked; center, scale and sigma that do not go
 * together are an error.
 */
extern fc_spec *build_spec(const fc_spec_parts *parts);

/* Of the states of sketch_spec_agg. */
extern const state_kind spec_state_kind;

/* That of sketch_spec_agg over n rows of d numbers, with its options. */
extern fc_spec *spec_of_rows(const double *x, Size n, Size d, int32 clusters, Jsonb *options);

/* A spec prepared once per process; valid while prepared_generation stays. */
extern const fc_prepared *prepared_of_spec(const fc_spec *spec);
extern uint64 prepared_generation;

/*
 * Was it prepared from this spec, by its digest? And all that sizes depend on,
 * so that no mistake can overrun.
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

/* prepared_cache.h - specs prepared once per process */
#ifndef FASTCLUST_PREPARED_CACHE_H
#define FASTCLUST_PREPARED_CACHE_H

#include "postgres.h"

#include "sketch/prepared.h"
#include "sketch/spec.h"

/* A spec prepared once per process; valid while prepared_generation stays. */
extern const fc_prepared *prepared_of_spec(const fc_spec *spec);
extern uint64 prepared_generation;

/* Was it prepared from this spec, by its digest?  And all that sizes depend on, so that no mistake can overrun. */
static inline bool
prepared_serves(const fc_prepared *prepared, const fc_spec *spec)
{
	const fc_spec *own = prepared->spec;

	return ((own->digest[0] ^ spec->digest[0]) | (own->digest[1] ^ spec->digest[1])) == 0 &&
		((own->dim ^ spec->dim) | (own->reduced ^ spec->reduced) | (own->frequencies ^ spec->frequencies) |
		 (own->scales ^ spec->scales) | (own->sample_centroids ^ spec->sample_centroids) | (own->flags ^ spec->flags)) == 0;
}

#endif							/* FASTCLUST_PREPARED_CACHE_H */

/* spec_build.h - a sketch_spec value from its parts */
#ifndef FASTCLUST_SPEC_BUILD_H
#define FASTCLUST_SPEC_BUILD_H

#include "postgres.h"

#include "utils/jsonb.h"

#include "sketch/spec_parts.h"
#include "sketch/spec.h"

/* A law of the frequencies by its name; another name is an error. */
extern fc_law law_of_name(const char *name);

/* The value of parts already checked; center, scale and sigma that do not go together are an error. */
extern fc_spec *build_spec(const fc_spec_parts *parts);

/* Is the metric of this option, as metric_of_options takes it, cosine?  One that no sketch can have is an error. */
extern bool sketches_cosine(const char *metric);

/* That of sketch_spec_agg over n rows of d numbers, with its options. */
extern fc_spec *spec_of_rows(const double *x, Size n, Size d, int32 clusters, Jsonb *options);

extern void check_sigmas(const double *sigmas, Size count, Size frequencies);

#endif							/* FASTCLUST_SPEC_BUILD_H */

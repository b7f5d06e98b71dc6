/* spec_fn.c - sketch_spec(): a spec from its parameters */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "pg/base/arguments.h"
#include "pg/base/compat.h"
#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "pg/base/vectors.h"
#include "pg/sketch/sketch_value.h"
#include "sketch/spec.h"

fc_law
law_of_name(const char *name)
{
	choice		laws[FC_LAWS];

	for (int law = 0; law < FC_LAWS; law++)
		laws[law] = (choice) {fc_law_name((fc_law) law), law};
	return (fc_law) choice_of_name("law", name, laws, FC_LAWS);
}

bool
sketches_cosine(const char *metric)
{
	fc_metric	of_options = metric_of_options(metric);

	check_metric_has_means(of_options);
	return of_options == FC_COSINE;
}

void
check_sigmas(const double *sigmas, Size count, Size frequencies)
{
	check_count("the number of sigmas", (int64) count, 1, FC_MAX_SCALES);
	for (Size i = 0; i < count; i++)
		if (!(sigmas[i] / sigmas[0] >= 1 / FC_MAX_RATIO && sigmas[i] / sigmas[0] <= FC_MAX_RATIO))
			REJECT(INVALID_PARAMETER_VALUE, errmsg("sigma %g is too far from the first, %g", sigmas[i], sigmas[0]),
				   errdetail("They may differ by a factor of %g.", FC_MAX_RATIO));
	check_count("frequencies times sigmas", (int64) (frequencies * count), 1, FC_MAX_MOMENTS);
}

fc_spec *
build_spec(const fc_spec_parts *parts)
{
	Size		size = fc_spec_parts_size(parts);
	fc_spec    *spec;
	fc_status	status;

	check_budget(size, "a sketch_spec");
	spec = palloc_extended(size, MCXT_ALLOC_HUGE);
	status = fc_spec_build(parts, spec);
	SET_VARSIZE(spec, size);
	if (status != FC_OK)
		REJECT(NUMERIC_VALUE_OUT_OF_RANGE, errmsg("center, scale and sigma do not fit together"),
			   errdetail("sigma times scale must be between 1e-290 and 1e290, and the center within 2^38 of it."));
	return spec;
}

SQL_FUNCTION(fastclust_sketch_spec_make)
{
	static const char *const names[] = {"dim", "frequencies", "sigma", "law", "seed"};
	fc_spec_parts parts = {0};
	double		sigma;
	float_list	sigmas = {0};
	bool		structured;
	char	   *metric = NULL;
	const option known[] = {
		{"structured", OPTION_BOOL, &structured, 0, 0},
		{"metric", OPTION_TEXT, &metric, 0, 0},
		{"sigmas", OPTION_FLOATS, &sigmas, 1e-300, 1e300}
	};

	for (int i = 0; i < 5; i++)
		require_argument(fcinfo, i, names[i]);
	require_argument(fcinfo, 7, "options");
	check_count("dim", PG_GETARG_INT32(0), 1, FC_MAX_DIM);
	check_count("frequencies", PG_GETARG_INT32(1), 1, FC_MAX_MOMENTS);
	parts.dim = parts.reduced = (Size) PG_GETARG_INT32(0);
	parts.frequencies = (Size) PG_GETARG_INT32(1);
	sigma = PG_GETARG_FLOAT8(2);
	check_positive("sigma", sigma);
	parts.law = law_of_name(text_to_cstring(PG_GETARG_TEXT_PP(3)));
	parts.seed = (uint64) PG_GETARG_INT64(4);
	parts.center = numbers_argument(fcinfo, 5, parts.dim, "center");
	parts.scale = scales_argument(fcinfo, 6, parts.dim);
	structured = parts.dim >= FC_STRUCTURED_CROSSOVER;
	read_options(PG_GETARG_JSONB_P(7), known, lengthof(known));
	parts.structured = structured;
	parts.cosine = sketches_cosine(metric);
	parts.sigmas = sigmas.count > 0 ? sigmas.values : &sigma;
	parts.scales = sigmas.count > 0 ? (Size) sigmas.count : 1;
	check_sigmas(parts.sigmas, parts.scales, parts.frequencies);
	PG_RETURN_POINTER(build_spec(&parts));
}

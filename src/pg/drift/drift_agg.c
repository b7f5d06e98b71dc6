/*
 * drift_agg.c - drift_counts_agg and merge_drift_counts_agg, whose state is a
 * drift_counts.
 *
 * A state is an unpacked drift_counts: a flat varlena that is changed in
 * place. Its tail holds the bits of up to a batch of pending rows, which are
 * not counted yet. Only a transition or combine function may change a state,
 * and only the state in its argument 0. The final, output and send functions
 * return a packed copy.
 */
#include "postgres.h"

#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "pg/drift/drift_value.h"
#include "pg/operator/operator_cache.h"

/*
 * cached_view finds a value by its field `digest`. A drift_spec must have this
 * field at the same offset as an operator.
 */
StaticAssertDecl(offsetof(fc_drift_spec, digest) ==
				 offsetof(fc_operator_header, digest),
				 "cached_view");

static void
keep_nothing(const void *bytes, void *view)
{
}

/*
 * Transition function. Takes (state, x, spec). Counts the row x. A NULL row
 * changes nothing.
 */
PG_FUNCTION_INFO_V1(fastclust_drift_counts_accum);
Datum
fastclust_drift_counts_accum(PG_FUNCTION_ARGS)
{
	const void *bytes;
	const fc_drift_spec *spec;
	fc_drift_counts *state;
	vector_reader *reader;
	vector		v;

	if (AggCheckCallContext(fcinfo, NULL) == 0)
		aggregate_context(fcinfo);	/* raises the error for a call outside of
									 * an aggregate */
	if (unlikely(PG_ARGISNULL(2)))
		require_argument(fcinfo, 2, "spec");
	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	(void) cached_view(fcinfo, 2, 1, keep_nothing, &bytes);
	spec = bytes;
	reader = cached_reader(fcinfo);
	reader->anywhere = spec->metric == FC_EUCLIDEAN;
	v = read_vector_argument(fcinfo, reader, 1, "x");
	check_vector_dim(&v, spec->dim, "the drift_spec");
	if (spec->metric == FC_COSINE)
	{
		v.doubles = metric_row(FC_COSINE, &v,
							   cached_doubles(fcinfo, spec->dim));
		v.floats = NULL;
		if (v.doubles == NULL)
			return unchanged_state(fcinfo);
	}
	state = PG_ARGISNULL(0) ? new_drift_counts(spec, 0)
		: (fc_drift_counts *) PG_GETARG_POINTER(0);
	/* packed or short-header counts are copied */
	if (unlikely(!VARATT_IS_4B_U(state) || !(state->flags & FC_DRIFT_UNPACKED)))
		state = drift_counts_unpack(DRIFT_COUNTS_ARG(0));
	if (unlikely(!fc_drift_counts_of_spec(state, spec)))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("spec must be the same for all rows of drift_counts"));
	PG_RETURN_POINTER(drift_counts_add_row(drift_prepared_of_spec(spec),
										   v.doubles, v.floats, 1, state));
}

/*
 * Combine function of drift_counts_agg; transition and combine function of
 * merge_drift_counts_agg.
 */
PG_FUNCTION_INFO_V1(fastclust_drift_counts_combine);
Datum
fastclust_drift_counts_combine(PG_FUNCTION_ARGS)
{
	const fc_drift_counts *counts;

	aggregate_context(fcinfo);
	if (PG_ARGISNULL(1))
		return unchanged_state(fcinfo);
	if (PG_ARGISNULL(0))
		/* the executor copies the result */
		PG_RETURN_POINTER(drift_counts_pack(DRIFT_COUNTS_ARG(1)));
	counts = drift_counts_pack(DRIFT_COUNTS_ARG(1));
	PG_RETURN_POINTER(drift_counts_combined(DRIFT_COUNTS_ARG(0), counts, 1));
}

/*
 * Returns NULL if no row was counted, for example because the metric is cosine
 * and all rows are zero.
 */
PG_FUNCTION_INFO_V1(fastclust_drift_counts_final);
Datum
fastclust_drift_counts_final(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0) || DRIFT_COUNTS_ARG(0)->rows == 0)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(drift_counts_pack(DRIFT_COUNTS_ARG(0)));
}

/*
 * Takes (counts, added, removed). Returns counts + added - removed, where NULL
 * stands for no rows. Returns NULL if no rows are left.
 */
PG_FUNCTION_INFO_V1(fastclust_changed_drift_counts);
Datum
fastclust_changed_drift_counts(PG_FUNCTION_ARGS)
{
	fc_drift_counts *sum = NULL;

	for (int n = 0; n < 3; n++)
	{
		fc_drift_counts *counts = (PG_ARGISNULL(n) ? NULL
								   : drift_counts_pack(DRIFT_COUNTS_ARG(n)));

		if (counts == NULL || counts->rows == 0)
			continue;
		if (sum != NULL)
			sum = drift_counts_combined(sum, counts, n < 2 ? 1 : -1);
		else if (n < 2)
			sum = copied_value(counts);
		else
			reject_negative_counts();
	}
	if (sum == NULL || sum->rows == 0)
		PG_RETURN_NULL();
	PG_RETURN_POINTER(drift_counts_pack(sum));
}

/*
 * version_fits.c - checks that the columns of a stored model version are
 * consistent, so that every reader can use it
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/array.h"

#include "operator/step.h"
#include "pg/drift/drift_value.h"
#include "pg/encode/encode.h"
#include "pg/operator/operator_value.h"
#include "pg/sketch/sketch_value.h"
#include "rkhs/map.h"

/* Maximum number of levels above the clusters in `paths`. */
#define MAX_PARENT_LEVELS	7

enum
{
	ARGUMENT_OPERATOR,
	ARGUMENT_MAP,
	ARGUMENT_CENTER,
	ARGUMENT_SCALE,
	ARGUMENT_SPREADS,
	ARGUMENT_QUANTILES,
	ARGUMENT_MOMENTS,
	ARGUMENT_SPEC,
	ARGUMENT_SKETCH,
	ARGUMENT_ENCODER,
	ARGUMENT_DRIFT_SPEC,
	ARGUMENT_COUNTS,
	ARGUMENT_MICRO,
	ARGUMENT_SPLITS,
	ARGUMENT_PATHS
};

static void
check_same_dimension(Size found, Size expected, const char *what)
{
	if (found != expected)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("%s has %zu dimensions, but rows of the operator have %zu",
					   what, found, expected));
}

/*
 * Returns the dimension of the rows: the input dimension of the map if there
 * is one, else the dimension of the operator.
 */
static Size
row_dimension(FunctionCallInfo fcinfo, const fc_operator *op)
{
	fc_kernel_map map;

	if (PG_ARGISNULL(ARGUMENT_MAP))
		return op->d;
	fc_kernel_map_view((fc_kernel_map_header *)
					   PG_DETOAST_DATUM(PG_GETARG_DATUM(ARGUMENT_MAP)),
					   &map);
	check_same_dimension(map.rank, op->d, "the map's feature space");
	return map.op.d;
}

/*
 * Checks drift_spec and drift_counts. The counts may belong to a drift_spec
 * that is stored in another group of the version.
 */
static void
check_drift(FunctionCallInfo fcinfo, Size d)
{
	const fc_drift_spec *spec = (PG_ARGISNULL(ARGUMENT_DRIFT_SPEC)
								 ? NULL
								 : DRIFT_SPEC_ARG(ARGUMENT_DRIFT_SPEC));
	const fc_drift_counts *counts = (PG_ARGISNULL(ARGUMENT_COUNTS)
									 ? NULL
									 : DRIFT_COUNTS_ARG(ARGUMENT_COUNTS));

	if (spec != NULL)
		check_same_dimension(spec->dim, d, "drift_spec");
	if (counts != NULL)
		check_same_dimension(counts->dim, d, "drift_counts");
	if (spec != NULL && counts != NULL &&
		!fc_drift_counts_of_spec(counts, spec))
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("drift_counts were not made with the drift_spec"));
}

/*
 * Checks that micro-clusters have as many clusters as the operator, and that
 * the k - 1 splits join all clusters into a tree. A split joins two nodes,
 * each a cluster or an earlier split. No node is joined twice.
 */
static void
check_regions(FunctionCallInfo fcinfo, const fc_operator *op)
{
	fc_operator micro;
	double	   *splits;
	bool	   *joined;

	if (!PG_ARGISNULL(ARGUMENT_MICRO))
	{
		fc_operator_view(OPERATOR_ARG(ARGUMENT_MICRO), &micro);
		check_same_dimension(micro.d, op->d, "micro_clusters");
		if (micro.regions.clusters != op->k)
			ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
					errmsg("micro_clusters belong to %zu clusters, but the operator has %zu",
						   micro.regions.clusters, op->k));
	}
	splits = numbers_argument(fcinfo, ARGUMENT_SPLITS, 4 * (op->k - 1),
							  "splits");
	joined = palloc0(2 * op->k * sizeof(bool));
	for (Size i = 0; splits != NULL && i + 1 < op->k; i++)
	{
		for (int side = 0; side < 2; side++)
		{
			double		node = splits[4 * i + (Size) side];

			if (!(node >= 0 && node < (double) (op->k + i) &&
				  node == floor(node)) ||
				joined[(Size) node])
				ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
						errmsg("splits element %zu is %g, not a node that split %zu can join",
							   4 * i + (Size) side + 1, node, i + 1));
			joined[(Size) node] = true;
		}
		if (!(splits[4 * i + 2] >= 0 && splits[4 * i + 3] >= 0 &&
			  splits[4 * i + 3] <= FC_STEP_MAX_WEIGHT))
			ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
					errmsg("split %zu has radius %g and %g rows, out of range",
						   i + 1, splits[4 * i + 2], splits[4 * i + 3]));
	}
	pfree(joined);
}

/* ---- levels ---- */

static void
reject_path(Size cluster, int level, const char *problem)
{
	ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
			errmsg("level %d of path %zu %s", level + 1, cluster + 1, problem),
			errdetail("Nodes of a level are numbered from 0, and each belongs to one node of the level above."));
}

/*
 * Checks one level of k paths: nodes are numbered from 0 without gaps, and
 * each node belongs to one node of the level above. Sets parent[node] to the
 * latter; `parent` has space for k values.
 */
static void
check_level(const int32 *paths, Size k, int levels, int level, int32 *parent)
{
	Size		nodes = 0;
	Size		met = 0;

	memset(parent, -1, k * sizeof(int32));
	for (Size j = 0; j < k; j++)
	{
		const int32 *node = paths + j * (Size) levels + level;
		int32		above = level > 0 ? node[-1] : 0;

		if (*node < 0 || (Size) *node >= k)
			reject_path(j, level, psprintf("is %d, out of range", *node));
		if (parent[*node] < 0)
			met++;
		else if (parent[*node] != above)
			reject_path(j, level,
						psprintf("is %d, which belongs to both %d and %d of the level above", *node,
								 parent[*node], above));
		parent[*node] = above;
		nodes = Max(nodes, (Size) *node + 1);
	}
	if (met < nodes)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("level %d has %zu nodes, but numbers up to %zu", level + 1,
					   met, nodes - 1),
				errdetail("Nodes of a level are numbered from 0 without gaps."));
}

static void
check_paths(ArrayType *array, int32 k)
{
	int			levels = ARR_NDIM(array) == 2 ? ARR_DIMS(array)[1] : 0;
	int32	   *parent;

	if (levels < 1 || levels > MAX_PARENT_LEVELS || ARR_HASNULL(array) ||
		ARR_DIMS(array)[0] != k || ARR_LBOUND(array)[0] != 1 ||
		ARR_LBOUND(array)[1] != 1)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("paths must be an array of %d times 1 to %d integers", k,
					   MAX_PARENT_LEVELS));
	parent = palloc((Size) k * sizeof(int32));
	for (int level = 0; level < levels; level++)
	{
		CHECK_FOR_INTERRUPTS();
		check_level((const int32 *) ARR_DATA_PTR(array), (Size) k, levels,
					level, parent);
	}
}

/* ---- all columns ---- */

/*
 * Takes (operator, map, center, scale, spreads, distance_quantiles,
 * null_moments, spec, training_sketch, encoder, drift_spec, drift_counts,
 * micro_clusters, splits, paths). Returns true if these columns of a version
 * are consistent, else raises an error. Returns NULL without an operator.
 */
PG_FUNCTION_INFO_V1(fastclust_version_fits);
Datum
fastclust_version_fits(PG_FUNCTION_ARGS)
{
	fc_operator op;
	Size		d;

	if (PG_ARGISNULL(ARGUMENT_OPERATOR))
		PG_RETURN_NULL();
	fc_operator_view(OPERATOR_ARG(ARGUMENT_OPERATOR), &op);
	d = row_dimension(fcinfo, &op);
	(void) numbers_argument(fcinfo, ARGUMENT_CENTER, d, "center");
	(void) scales_argument(fcinfo, ARGUMENT_SCALE, d);
	if (PG_ARGISNULL(ARGUMENT_CENTER) != PG_ARGISNULL(ARGUMENT_SCALE))
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("center and scale must be given together"));
	check_not_negative("spreads",
					   numbers_argument(fcinfo, ARGUMENT_SPREADS, op.k,
										"spreads"),
					   op.k);
	if (!PG_ARGISNULL(ARGUMENT_QUANTILES))
	{
		vector_reader reader = {CurrentMemoryContext, NULL, 0};
		vector		quantiles = read_vector(&reader,
											PG_GETARG_DATUM(ARGUMENT_QUANTILES),
											"distance_quantiles");

		check_count("the number of distance_quantiles", quantiles.d, 2,
					FC_MAX_DIM);

		/* The values must not be negative and must not decrease. */
		for (int i = 0; i < quantiles.d; i++)
			if (!(quantiles.doubles[i] >=
				  (i > 0 ? quantiles.doubles[i - 1] : 0.0)))
				ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
						errmsg("distance_quantiles element %d is %g, less than %g",
							   i + 1, quantiles.doubles[i],
							   i > 0 ? quantiles.doubles[i - 1] : 0.0),
						errdetail("Quantiles of distances must be 0 or more and must not decrease."));
	}
	check_not_negative("null_moments",
					   numbers_argument(fcinfo, ARGUMENT_MOMENTS, 2,
										"null_moments"),
					   2);
	if (!PG_ARGISNULL(ARGUMENT_SPEC))
		check_same_dimension(SPEC_ARG(ARGUMENT_SPEC)->dim, d, "spec");
	if (!PG_ARGISNULL(ARGUMENT_SKETCH))
		check_same_dimension(fc_sketch_spec(SKETCH_ARG(ARGUMENT_SKETCH))->dim,
							 d, "training_sketch");
	if (!PG_ARGISNULL(ARGUMENT_ENCODER))
		check_same_dimension(ENCODER_ARG(ARGUMENT_ENCODER)->dim, d, "encoder");
	check_drift(fcinfo, d);
	check_regions(fcinfo, &op);
	if (!PG_ARGISNULL(ARGUMENT_PATHS))
		check_paths(PG_GETARG_ARRAYTYPE_P(ARGUMENT_PATHS), (int32) op.k);
	PG_RETURN_BOOL(true);
}

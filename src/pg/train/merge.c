/*
 * merge.c - merge_clusters: makes a version in which chosen clusters are
 * merged into one
 *
 * The merged cluster has the weighted mean of the chosen clusters, and the
 * number of the largest of them. It has the name of the largest or, if that
 * has no name, of the largest named one. The other clusters keep their
 * centroids, numbers and names, so that the operator has gaps among its
 * numbers (core/operator/operator.h).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "pg/base/options.h"
#include "pg/operator/operator_value.h"
#include "pg/train/checks.h"
#include "pg/train/job.h"
#include "pg/train/options.h"
#include "pg/train/query.h"
#include "pg/train/version.h"

/*
 * Clusters of a version and their names, indexed by the row of the operator.
 */
typedef struct cluster_list
{
	const locked_model *locked;
	const stored_version *version;
	fc_operator op;
	const char **name;			/* k names as model_clusters shows them */
	char	  **given;			/* k names set by name_cluster; NULL if the
								 * shown name is only suggested */
	bool	   *chosen;			/* k flags: true for a cluster to merge */
} cluster_list;

static cluster_list
list_clusters(const locked_model *locked, const stored_version *version)
{
	query_argument argument = {"stored_versions", version->record};
	cluster_list list = {.locked = locked,.version = version};

	open_operator(version->op, &list.op);
	list.name = palloc(list.op.k * sizeof(char *));
	list.given = palloc0(list.op.k * sizeof(char *));
	list.chosen = palloc0(list.op.k * sizeof(bool));
	for (Size j = 0; j < list.op.k; j++)
		list.name[j] = "";
	run_query("SELECT n.name, g.name FROM version_names($1) n"
			  "  LEFT JOIN given_names($1) g USING (cluster) ORDER BY n.cluster",
			  1, &argument, 0);
	for (uint64 j = 0; j < Min(SPI_processed, list.op.k); j++)
	{
		bool		null;
		Datum		value = query_value(j, 1, &null);

		if (!null)
			list.name[j] = TextDatumGetCString(value);
		value = query_value(j, 2, &null);
		if (!null)
			list.given[j] = TextDatumGetCString(value);
	}
	end_query();
	return list;
}

/* Returns the row of the cluster with this number, or -1. */
static int64
row_of_number(const cluster_list *list, int64 number)
{
	for (Size j = 0; j < list->op.k; j++)
		if (fc_operator_number(&list->op, j) == number)
			return (int64) j;
	return -1;
}

static void
reject_number(const cluster_list *list, const char *number)
{
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("cluster is %s, out of range", number),
			errdetail("Model \"%s\" has clusters %s.", list->locked->model,
					  listed_numbers(&list->op)));
}

/*
 * Returns the row of the cluster with this name, or -1 if there is none.
 * Raises an error if several clusters have the name. Appends the numbers of
 * all clusters with the name to `bearers`.
 */
static int64
row_of_name(const cluster_list *list, const char *name, StringInfo bearers)
{
	int64		row = -1;
	int			count = 0;

	for (Size j = 0; j < list->op.k; j++)
		if (strcmp(list->name[j], name) == 0)
		{
			appendStringInfo(bearers, "%s%d", count++ > 0 ? ", " : "",
							 fc_operator_number(&list->op, j));
			row = (int64) j;
		}
	if (count > 1)
		ereport(ERROR, errcode(ERRCODE_AMBIGUOUS_PARAMETER),
				errmsg("%d clusters of model \"%s\" have the name \"%s\"",
					   count, list->locked->model, name),
				errhint("Use their numbers, which are %s.", bearers->data));
	return row;
}

/*
 * Chooses a cluster to merge by its name, or by its number written as text.
 * Raises an error for a number that is also the name of another cluster.
 */
static void
choose_by_text(cluster_list *list, const char *given)
{
	bool		digits = (given[0] != '\0' &&
						  strspn(given, "0123456789") == strlen(given));
	int64		numbered = (digits && strlen(given) < 10
							? row_of_number(list, strtol(given, NULL, 10))
							: -1);
	StringInfoData bearers;
	int64		row;

	initStringInfo(&bearers);
	row = row_of_name(list, given, &bearers);
	if (row >= 0 && numbered >= 0 && row != numbered)
		ereport(ERROR, errcode(ERRCODE_AMBIGUOUS_PARAMETER),
				errmsg("\"%s\" is the number of one cluster of model \"%s\" and the name of another, %s",
					   given, list->locked->model, bearers.data),
				errhint("Use integers, which can only be numbers: ARRAY[%s, %s].",
						given, bearers.data));
	row = row >= 0 ? row : numbered;
	if (row < 0 &&
		(digits || (given[0] == '-' && given[1] != '\0' &&
					strspn(given + 1, "0123456789") == strlen(given + 1))))
		reject_number(list, given);
	if (row < 0)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_OBJECT),
				errmsg("model \"%s\" has no cluster \"%s\"", list->locked->model,
					   given),
				errhint("%s", name_hint(given, (int) strlen(given), list->name,
										(int) list->op.k, "Names are")));
	list->chosen[row] = true;
}

/*
 * Chooses the clusters to merge from an array of integers or of texts. Returns
 * the number of distinct clusters.
 */
static int
choose_clusters(cluster_list *list, ArrayType *array)
{
	Oid			type = getBaseType(ARR_ELEMTYPE(array));
	bool		texts = (type == TEXTOID || type == VARCHAROID || type == NAMEOID);
	Oid			output;
	bool		is_varlena;
	int16		length;
	bool		by_value;
	char		align;
	Datum	   *elements;
	bool	   *nulls;
	int			count;
	int			chosen = 0;

	if (!texts && type != INT2OID && type != INT4OID && type != INT8OID)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
				errmsg("clusters must be integers or texts, not %s",
					   format_type_be(ARR_ELEMTYPE(array))),
				errhint("Use numbers or names, as in ARRAY[0, 2] or '{Students,Others}'."));
	getTypeOutputInfo(type, &output, &is_varlena);
	get_typlenbyvalalign(type, &length, &by_value, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align,
					  &elements, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		char	   *given = (nulls[i] ? "NULL"
							 : OidOutputFunctionCall(output, elements[i]));
		int64		row;

		if (texts && !nulls[i])
		{
			choose_by_text(list, given);
			continue;
		}
		row = nulls[i] ? -1 : row_of_number(list, strtoll(given, NULL, 10));
		if (row < 0)
			reject_number(list, given);
		list->chosen[row] = true;
	}
	for (Size j = 0; j < list->op.k; j++)
		chosen += list->chosen[j];
	return chosen;
}

/*
 * Returns the row of the largest chosen cluster, the first one if several are
 * equally large. named: consider only clusters that a user has named. Returns
 * -1 if there is no such cluster.
 */
static int64
largest_chosen(const cluster_list *list, bool named)
{
	int64		largest = -1;

	for (Size j = 0; j < list->op.k; j++)
		if (list->chosen[j] && (!named || list->given[j] != NULL) &&
			(largest < 0 || list->op.weights[j] > list->op.weights[largest]))
			largest = (int64) j;
	return largest;
}

/* Returns true if cluster j remains: it is not chosen, or is in row `kept`. */
static inline bool
is_left(const cluster_list *list, Size j, int64 kept)
{
	return !list->chosen[j] || (int64) j == kept;
}

/*
 * Returns the paths of the remaining clusters, `found` in number, or 0 if the
 * version has no paths. Tree nodes without a cluster are removed, and the
 * other nodes of their level renumbered.
 */
static Datum
merged_paths(const cluster_list *list, int64 kept, Size found)
{
	bool		null;
	Datum		stored = GetAttributeByName(DatumGetHeapTupleHeader(list->version->record),
											"paths", &null);
	ArrayType  *array = null ? NULL : DatumGetArrayTypePCopy(stored);
	Size		levels = array == NULL ? 0 : (Size) ARR_DIMS(array)[1];
	const int32 *paths = (array == NULL ? NULL
						  : (const int32 *) ARR_DATA_PTR(array));
	Datum	   *left = palloc(Max(1, found * levels) * sizeof(Datum));

	if (array == NULL)
		return (Datum) 0;
	for (Size level = 0; level < levels; level++)
	{
		/* before[i]: number of remaining nodes with a number below i */
		int32	   *before = palloc0((list->op.k + 1) * sizeof(int32));
		Size		row = 0;

		for (Size j = 0; j < list->op.k; j++)
			if (is_left(list, j, kept))
				before[paths[j * levels + level] + 1] = 1;
		for (Size j = 0; j < list->op.k; j++)
			before[j + 1] += before[j];
		for (Size j = 0; j < list->op.k; j++)
			if (is_left(list, j, kept))
				left[row++ * levels + level] = Int32GetDatum(before[paths[j * levels + level]]);
	}
	return make_int4_rows(left, (int) found, (int) levels);
}

/*
 * Returns the row of the cluster whose name the merged cluster has: the largest
 * one, or if it has no name, the largest of the named ones.
 */
static int64
continued_cluster(const cluster_list *list, int64 kept)
{
	int64		named = largest_chosen(list, true);

	return named < 0 || list->given[kept] != NULL ? kept : named;
}

/*
 * Sets the clusters of the new version. The merged cluster takes the number of
 * the cluster in row `kept`, the largest chosen one; all others keep their
 * numbers.
 */
static void
merge_chosen(training *t, const cluster_list *list, int64 kept)
{
	int64	   *identities = palloc(list->op.k * sizeof(int64));
	int32	   *place = palloc(list->op.k * sizeof(int32));
	int32	   *numbers = palloc(list->op.k * sizeof(int32));
	Size		found = 0;

	for (Size j = 0; j < list->op.k; j++)
		if (is_left(list, j, kept))
		{
			numbers[found] = fc_operator_number(&list->op, j);
			identities[found] = list->version->identities[(int64) j == kept
														  ? (Size) continued_cluster(list, kept)
														  : j];
			place[j] = (int32) found++;
		}
	for (Size j = 0; j < list->op.k; j++)
		if (list->chosen[j])
			place[j] = place[kept];
	t->imported = rescaled_operator(joined_clusters(list->version->op, place,
													found),
									scaling_of_version(list->version,
													   list->version->op->d),
									no_scaling);
	t->numbers = numbers;
	t->identities = identities;
	t->paths = merged_paths(list, kept, found);
	t->k = found;
	t->note = "merged clusters";
}

/*
 * Removes the merged clusters from option "pinned", because their centroids
 * move. The other clusters remain pinned.
 */
static void
release_merged(training *t, const cluster_list *list)
{
	Datum	   *merged = palloc(list->op.k * sizeof(Datum));
	int			count = 0;
	query_argument arguments[2] = {
		{"jsonb", JsonbPGetDatum(t->stored)},
		{"_int4"}
	};
	Datum		left;

	if (t->options->pinned.count == 0)
		return;
	for (Size j = 0; j < list->op.k; j++)
		if (list->chosen[j])
			merged[count++] = Int32GetDatum(fc_operator_number(&list->op, j));
	arguments[1].value = PointerGetDatum(construct_array(merged, count, INT4OID,
														 sizeof(int32), true,
														 TYPALIGN_INT));
	left = query_datum("SELECT ($1 - 'pinned')"
					   " || COALESCE((SELECT jsonb_build_object('pinned', jsonb_agg(e ORDER BY e))"
					   "  FROM jsonb_array_elements($1 -> 'pinned') e"
					   " WHERE e::text::numeric <> ALL ($2::numeric[]) HAVING count(*) > 0), '{}')",
					   2, arguments, 0, NULL);
	t->stored = DatumGetJsonbP(left);
}

/*
 * Raises a NOTICE if the merged cluster takes its name from another cluster
 * than the largest.
 */
static void
report_name(const training *t, const cluster_list *list, int64 kept)
{
	int64		named = continued_cluster(list, kept);
	int32		number = fc_operator_number(&list->op, (Size) kept);

	if (named == kept || t->options->quiet)
		return;
	ereport(NOTICE,
			errmsg("cluster %d of model \"%s\" takes the name \"%s\" of cluster %d",
				   number, t->model, list->given[named],
				   fc_operator_number(&list->op, (Size) named)),
			errdetail("The named cluster had %.0f rows; the larger one had %.0f rows and no name.",
					  list->op.weights[named], list->op.weights[kept]),
			errhint("To change the name, use name_cluster."));
}

/*
 * Warns if the centroid of a chosen cluster is nearer to another cluster than
 * to the merged one, whose centroid is between the chosen ones.
 */
static void
warn_divided(const training *t, const cluster_list *list, int64 kept)
{
	const fc_operator_header *joined = rescaled_operator(t->imported, no_scaling,
														 scaling_of_version(list->version,
																			list->version->op->d));
	const fc_weighted_rows *centroids = rows_of_operator(list->version->op);
	fc_fit		labelled = labelled_rows(joined, centroids);
	int32		number = fc_operator_number(&list->op, (Size) kept);

	for (Size j = 0; j < list->op.k; j++)
	{
		int32		merged = fc_operator_number(&list->op, j);
		int32		nearest = t->numbers[labelled.labels[j]];

		if (list->chosen[j] && nearest != number)
			ereport(WARNING,
					errmsg("rows of cluster %d of model \"%s\" are now nearer to cluster %d than to the joined cluster %d",
						   merged, t->model, nearest, number),
					errdetail("The joined cluster is at the weighted mean of the merged ones."),
					errhint("Return to version %d with use_version, and merge neighbours, which cluster_tree shows, or give clusters the same name with name_cluster.",
							list->version->version));
	}
}

/*
 * Makes a version in which the given clusters are replaced by their weighted
 * mean; returns its number.
 */
static int32
merge_clusters(FunctionCallInfo fcinfo, ArrayType *clusters)
{
	locked_model locked = lock_model(fcinfo, true, false);
	train_options *options = options_of_text("{}");
	stored_version version = largest_group(&locked, true);
	cluster_list list;
	training   *t;
	int64		kept;
	int32		made;

	if (version.options->group_by != NULL)
		ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
				errmsg("model \"%s\" has one model per group", locked.model),
				errdetail("Clusters can be merged in a model without groups."),
				errhint("Retrain with a smaller k, or train a model of one group with the option where."));
	if (version.method == METHOD_DENSITY)
		reject_with_method(version.method,
						   "cannot merge clusters, because they are not defined by their means",
						   "Retrain with a larger min_cluster_rows; cluster_tree shows which clusters join first.");
	if (version.map != NULL)
		reject_with_method(version.method,
						   "cannot merge clusters, because they are clusters of kernel features",
						   "Retrain with a smaller k.");
	list = list_clusters(&locked, &version);
	if (choose_clusters(&list, clusters) < 2)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("clusters must name two clusters or more"));
	kept = largest_chosen(&list, false);
	options->method = METHOD_KMEANS;
	t = begin_retraining(&locked, &version, options);
	merge_chosen(t, &list, kept);
	release_merged(t, &list);
	made = run_training(fcinfo, t);
	report_name(t, &list, kept);
	warn_divided(t, &list, kept);
	return made;
}

/*
 * Takes (model, clusters), where clusters is an array of numbers or of names.
 * Returns the number of the new version.
 */
PG_FUNCTION_INFO_V1(fastclust_merge_clusters);
Datum
fastclust_merge_clusters(PG_FUNCTION_ARGS)
{
	int32		made;
	int			level;

	SPI_connect();
	level = fix_settings(FIX_SCAN);
	require_argument(fcinfo, 1, "clusters");
	made = merge_clusters(fcinfo, PG_GETARG_ARRAYTYPE_P(1));
	AtEOXact_GUC(true, level);
	SPI_finish();
	return Int32GetDatum(made);
}

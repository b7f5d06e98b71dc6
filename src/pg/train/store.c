/*
 * store.c - numbers and measures the groups of a version, and writes them to
 * its tables
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "pg/drift/drift_value.h"
#include "pg/encode/encode.h"
#include "pg/kmeans/collection.h"
#include "pg/model/model.h"
#include "pg/operator/operator_value.h"
#include "pg/train/density.h"
#include "pg/train/options.h"
#include "pg/train/query.h"
#include "pg/train/relation.h"
#include "pg/train/sample.h"
#include "pg/train/serving.h"
#include "pg/train/store.h"

/*
 * Number of groups that one statement writes. The planner copies their array;
 * smaller arrays need more statements. A guess.
 */
#define GROUPS_PER_STATEMENT	100

/*
 * Approximate size in bytes of the groups not yet written and of the operators
 * measured for them, above which the groups are written. A guess.
 */
#define MAX_PENDING_BYTES	((Size) 16 << 20)

/*
 * Number of rows from which the null distribution of sketches is estimated, as
 * in decoded.c. A guess.
 */
#define NULL_LAW_ROWS	512

/*
 * Number of rows of a group from which its null distribution is estimated. Its
 * standard deviation then has a standard error of 7 %. A guess.
 */
#define NULL_LAW_GROUP_ROWS	32

/* ---- results ---- */

typedef struct group_result
{
	fit_profile profile;
	double		churn;			/* share of rows whose label changed; NAN if
								 * there is no previous version */
	Datum		paths;
	bool		no_paths;
} group_result;

/*
 * Minimum share of its rows that a cluster must keep to keep its name. With a
 * larger share, names of clusters that moved would be lost. A guess.
 */
#define MIN_KEPT_SHARE	0.1

/*
 * Returns the numbers of clusters that have mostly other rows than before:
 * less than a tenth of their rows had the same number.
 */
static Bitmapset *
moved_numbers(const two_labellings *labels)
{
	double	   *rows = palloc0(labels->a.k * sizeof(double));
	double	   *kept = palloc0(labels->a.k * sizeof(double));
	Bitmapset  *moved = NULL;

	for (Size i = 0; i < labels->a.n; i++)
		if (labels->a.labels[i] >= 0)
		{
			rows[labels->a.labels[i]] += labels->a.weights[i];
			kept[labels->a.labels[i]] += labels->a.labels[i] ==
				labels->b.labels[i]
				? labels->a.weights[i]
				: 0.0;
		}
	for (Size j = 0; j < labels->a.k; j++)
		if (rows[j] > 0 && kept[j] < MIN_KEPT_SHARE * rows[j])
			moved = bms_add_member(moved, (int) j);
	return moved;
}

/*
 * Returns the names of the clusters with these numbers, such as '1,
 * "Students"; 4, "Others"'. Returns NULL if they have no names.
 */
static char *
listed_names(const training *t, const char *group, const Bitmapset *numbers)
{
	Datum	   *elements = palloc((Size) Max(1, bms_num_members(numbers)) *
								  sizeof(Datum));
	query_argument arguments[] = {
		{"int8", Int64GetDatum(t->model_id)},
		text_argument(group),
		{"_int4"},
		{"_name", PointerGetDatum(array_of_names(t->source.features, t->source.feature_count))}
	};
	int			count = 0;
	Datum		names;
	bool		none;

	for (int number = -1; (number = bms_next_member(numbers, number)) >= 0;)
		elements[count++] = Int32GetDatum(number);
	if (count == 0)
		return NULL;
	arguments[2].value = PointerGetDatum(construct_array(elements, count,
														 INT4OID, sizeof(int32),
														 true, TYPALIGN_INT));
	names = query_datum("SELECT string_agg(format('%s, \"%s\"', cluster, name), '; ' ORDER BY"
						" cluster) FROM readable_names"
						" WHERE model_id = $1 AND group_value = $2 AND cluster = ANY ($3) AND"
						" features = $4",
						4, arguments, 0, &none);
	return none ? NULL : TextDatumGetCString(names);
}

/*
 * Warns about named clusters that have other rows than before. Density
 * clusters are numbered from 0 without gaps, so they cannot avoid the numbers
 * of named clusters.
 */
static void
warn_moved_names(const training *t, const char *group,
				 const two_labellings *labels)
{
	char	   *names = listed_names(t, group, moved_numbers(labels));

	if (names != NULL)
		ereport(WARNING,
				errmsg("named clusters of model \"%s\" have other rows than before: %s",
					   t->model, names),
				errdetail("Fewer than a tenth of their rows were in the same cluster in the previous version."),
				errhint("Rename the clusters with name_cluster; NULL removes a name."));
}

/*
 * Warns about named clusters of the old operator whose numbers the new
 * operator does not have, so that their names are not shown any more.
 */
static void
warn_lost_names(const training *t, const char *group,
				const fc_operator_header *old, const fc_operator_header *new)
{
	char	   *names = listed_names(t, group,
									 bms_difference(numbers_of_clusters(old),
													numbers_of_clusters(new)));

	if (names != NULL)
		ereport(WARNING,
				errmsg("named clusters of model \"%s\" are gone: %s", t->model,
					   names),
				errdetail("No cluster of version %d continues one of them, and no other cluster gets their numbers.",
						  t->version),
				errhint("To remove a name, call name_cluster with the number and NULL."));
}

/* Returns the numbers of clusters whose centroids are fixed by the options. */
static Bitmapset *
pinned_numbers(const training *t, const fc_operator_header *op)
{
	const float_list *list = &t->options->pinned;
	Bitmapset  *pinned = NULL;

	if (t->frozen)
		return numbers_of_clusters(op);
	for (int i = 0; i < list->count; i++)
		pinned = bms_add_member(pinned, (int) rint(list->values[i]));
	return pinned;
}

/*
 * Renumbers each cluster that has the number of a named cluster but other
 * rows, so that it does not take that name. Returns the numbers of all
 * clusters, or NULL if no number changes.
 */
static int32 *
numbers_avoiding_names(const training *t, const group_fit *fit,
					   const two_labellings *labels)
{
	Bitmapset  *named = named_numbers(t, fit->group);
	Bitmapset  *moved = bms_int_members(moved_numbers(labels), named);
	fc_operator op;
	int32	   *numbers;

	moved = bms_del_members(moved, pinned_numbers(t, fit->op));
	if (bms_is_empty(moved))
		return NULL;
	open_operator(fit->op, &op);
	numbers = palloc(op.k * sizeof(int32));
	for (Size j = 0; j < op.k; j++)
	{
		numbers[j] = fc_operator_number(&op, j);
		if (bms_is_member(numbers[j], moved))
			numbers[j] = -1;
	}
	number_new_clusters(numbers, op.k, named);
	return numbers;
}

/*
 * Gives clusters the numbers of the old ones that they continue. They are
 * matched by distance in the old scaling, or by labels if the kernel maps
 * differ or a cluster has several centroids. Sets *churn to the share of rows
 * whose label changed.
 */
static void
continue_numbers(const training *t, group_fit *fit,
				 const fc_weighted_rows *rows, const serving_group *old,
				 double *churn)
{
	const fc_weighted_rows *old_rows = rows_with_map(old->map,
													 rescaled_rows(fit->rows,
																   t->scaling,
																   old->scaling));
	bool		compared = (t->map == NULL && old->map == NULL &&
							(old->op->flags & FC_OPERATOR_REGIONS) == 0);
	two_labellings labels;

	if (fit->micro == NULL && t->numbers != NULL)
		fit->op = renumbered(fit->op, t->numbers);
	else if (fit->micro == NULL)
		fit->op = with_numbers_of(old->op, old_rows, fit->op, rows,
								  compared ? rescaled_operator(fit->op, t->scaling,
															   old->scaling)
								  : NULL,
								  named_numbers(t, fit->group));
	else
	{
		labels = label_twice(fit->micro, rows, old->op, old_rows);
		number_regions(fit, rows_by_labels(counted_labels(&labels), labels.b.k,
										   labels.a.k));
	}
	labels = label_twice(fit->micro != NULL ? fit->micro : fit->op, rows,
						 old->op, old_rows);
	if (fit->micro != NULL)
		warn_moved_names(t, fit->group, &labels);
	else if (t->numbers == NULL)	/* merge_clusters moves names itself */
	{
		int32	   *numbers = numbers_avoiding_names(t, fit, &labels);

		if (numbers != NULL)
		{
			fit->op = renumbered(fit->op, numbers);
			labels = label_twice(fit->op, rows, old->op, old_rows);
		}
		warn_lost_names(t, fit->group, old->op, fit->op);
	}
	*churn = changed_labels(&labels);
}

/*
 * Groups nodes under parents by k-means, weighted by their rows. Parents are
 * numbered in the order of their lowest child. Returns the number of parents.
 */
static Size
find_parents(const fc_operator_header *nodes, Size max, int64 seed,
			 int32 *parents)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_operator above;
	fc_operator below;
	fc_scratch	scratch;
	double	   *x;
	int32	   *number;
	Size		found = 0;

	options.seed = (uint64) seed;
	open_operator(kmeans_of_rows(rows_of_operator(nodes), max, &options, NULL, 0), &above);
	open_operator(nodes, &below);
	scratch = make_scratch(fc_operator_scratch(&above));
	x = rescaled_centroids(&below, NULL, NULL);
	number = palloc(above.k * sizeof(int32));
	memset(number, -1, above.k * sizeof(int32));
	for (Size j = 0; j < below.k; j++)
	{
		Size		label = fc_operator_assign(&above, x + j * below.d, scratch);

		if (number[label] < 0)
			number[label] = (int32) found++;
		parents[j] = number[label];
	}
	return found;
}

/*
 * Returns the number of nodes on level `count`: the product of the levels down
 * to it, but at most `max`.
 */
static Size
nodes_of_level(const float_list *levels, int count, Size max)
{
	double		nodes = 1;

	for (int i = 0; i < count; i++)
		nodes *= levels->values[i];
	return (Size) Min(nodes, (double) max);
}

/*
 * Returns a k x (levels - 1) array: for each cluster the numbers of the nodes
 * above it, from the top level down. Sets *null to true if there are no levels
 * above the clusters. Option levels gives the number of nodes on each level,
 * but there may be fewer if clusters have been merged.
 */
Datum
level_paths(const training *t, const fc_operator_header *op, bool *null)
{
	const float_list *levels = &t->options->levels;
	int			above = levels->count - 1;
	const fc_operator_header *nodes = op;
	Datum	   *paths = alloc_large((Size) Max(1, above) * op->k * sizeof(Datum));
	int32	   *parents = palloc(op->k * sizeof(int32));
	int32	   *node = palloc(op->k * sizeof(int32));

	*null = above < 1;
	for (Size j = 0; j < op->k; j++)
		node[j] = (int32) j;
	for (int level = above; level > 0; level--)
	{
		Size		found = find_parents(nodes,
										 nodes_of_level(levels, level, nodes->k),
										 t->options->seed, parents);

		for (Size j = 0; j < op->k; j++)
		{
			node[j] = parents[node[j]];
			paths[j * (Size) above + (Size) level - 1] = Int32GetDatum(node[j]);
		}
		nodes = joined_clusters(nodes, parents, found);
	}
	return *null ? (Datum) 0 : make_int4_rows(paths, (int) op->k, above);
}

/*
 * Numbers and measures a group. If the serving version does not have the
 * group, its clusters are numbered like the nearest ones of other_group,
 * unless that is NULL.
 */
static group_result
measure_group(const training *t, group_fit *fit,
			  const fc_operator_header *other_group)
{
	const fc_weighted_rows *rows = rows_with_map(t->map, fit->rows);
	serving_group old = serving_of(t, fit->group);
	group_result result = {.churn = NAN};
	double		places[DISTANCE_QUANTILES];

	if (old.op != NULL)
		continue_numbers(t, fit, rows, &old, &result.churn);
	else if (other_group != NULL && fit->micro != NULL)
		number_regions(fit, rows_by_distance(other_group, fit->op));
	else if (other_group != NULL)
		fit->op = renumbered(fit->op,
							 numbers_by_distance(other_group, fit->op,
												 named_numbers(t,
															   fit->group)));
	quantile_places(places);
	result.profile = fit->micro != NULL
		? profile_of_regions(fit, places, DISTANCE_QUANTILES)
		: profile_of_fit(fit->op, rows, places,
						 DISTANCE_QUANTILES);

	/*
	 * weights from the sample, if no scan has counted the rows, or if it has
	 * all rows: a scan counts them before it moves the centroids
	 */
	if ((isnan(fit->objective) || (int64) rows->n == fit->n) && fit->micro == NULL)
		fit->op = with_weights(fit->op, result.profile.weights);
	if (t->paths != 0)
		result.paths = t->paths;
	else
		result.paths = level_paths(t, fit->op, &result.no_paths);
	return result;
}

/* ---- the row of a group ---- */

/*
 * Sets the moments of the null distribution of drift. They are estimated from
 * the uniform sample, which is not scaled, or for a group from some of its
 * weighted rows.
 */
static void
set_null_moments(record_builder *row, const training *t,
				 const fc_weighted_rows *sample, const group_fit *fit)
{
	double		moments[2];
	bool		known = (t->source.group_by == NULL
						 ? null_moments_of_rows(sample, t->spec, NULL_LAW_ROWS,
												moments)
						 : null_moments_of_rows(rescaled_rows(fit->rows, t->scaling,
															  no_scaling),
												t->spec, NULL_LAW_GROUP_ROWS, moments));

	if (known)
		set_numbers(row, "null_moments", moments, 2);
}

static Datum
version_row(const training *t, const fc_weighted_rows *sample,
			const group_fit *fit, const group_result *result, bool first)
{
	record_builder row = begin_record("stored_versions", (Datum) 0);

	set_column(&row, "model_id", Int64GetDatum(t->model_id));
	set_column(&row, "version", Int32GetDatum(t->version));
	set_text(&row, "group_value", fit->group);
	set_text(&row, "method", train_method_name(t->method));
	set_text(&row, "note", t->note);
	set_text(&row, "relation", t->source.relation);
	set_column(&row, "features",
			   PointerGetDatum(array_of_names(t->source.features,
											  t->source.feature_count)));
	set_column(&row, "vector", BoolGetDatum(t->source.is_vector));
	set_value(&row, "encoder", t->source.encoder);
	set_column(&row, "k",
			   Int32GetDatum((int32) (fit->micro != NULL ? fit->op->k
									  : t->k)));
	set_column(&row, "options", JsonbPGetDatum(t->stored));
	set_value(&row, "operator", fit->op);
	set_value(&row, "micro_clusters", fit->micro);
	set_numbers(&row, "splits", fit->splits, 4 * (fit->op->k - 1));
	set_numbers(&row, "center", t->scaling.center, t->dim);
	set_numbers(&row, "scale", t->scaling.scale, t->dim);
	set_value(&row, "map", t->map);
	set_value(&row, "spec", t->spec);
	set_value(&row, "training_sketch", fit->sketch);
	set_value(&row, "drift_spec", first ? t->drift_spec : NULL);
	set_value(&row, "drift_counts", fit->counts);
	set_null_moments(&row, t, sample, fit);
	set_numbers(&row, "spreads", result->profile.spreads, fit->op->k);
	set_numbers(&row, "distance_quantiles", result->profile.quantiles,
				DISTANCE_QUANTILES);
	set_column(&row, "n", Int64GetDatum(fit->n));
	if (!t->source.cosine && t->source.encoder != NULL && fit->nulls >= 0)
		set_column(&row, "imputed", Int64GetDatum(fit->nulls));
	set_number(&row, "objective", fit->objective);
	set_number(&row, "objective_error",
			   fit->measured ? 0 : result->profile.error);
	set_number(&row, "label_churn", result->churn);
	if (!result->no_paths)
		set_column(&row, "paths", result->paths);
	set_number(&row, "recall", t->recall);
	if (t->source.group_by != NULL)
		set_value(&row, "group_type", names_of_group_type(&t->source.grouping));
	set_column(&row, "started_at", TimestampTzGetDatum(t->begun));
	return end_record(&row);
}

void
write_groups(Datum *records, int count)
{
	ArrayType  *array = construct_array(records, count,
										type_of_name("stored_versions"), -1,
										false, TYPALIGN_DOUBLE);
	query_argument argument = {"_stored_versions", PointerGetDatum(array)};

	run_query("SELECT write_groups($1)", 1, &argument, 0);
	pfree(array);
}

/* ---- all groups ---- */

/*
 * Measures the largest group and returns its operator, from which the other
 * groups take their numbers. If several groups are the largest, the first by
 * name is taken. Returns NULL if groups are not aligned.
 */
static const fc_operator_header *
aligned_operator(const training *t, group_fit *fits, int count)
{
	group_fit  *largest = &fits[0];

	if (count < 2 || !t->options->align)
		return NULL;
	for (int i = 1; i < count; i++)
		if (fits[i].n > largest->n ||
			(fits[i].n == largest->n &&
			 strcmp(fits[i].group, largest->group) < 0))
			largest = &fits[i];
	(void) measure_group(t, largest, NULL);
	return largest->op;
}

/*
 * Measures and writes all groups. Returns the mean squared distance of all
 * rows.
 */
double
store_groups(training *t, const fc_weighted_rows *sample, group_fit *fits,
			 int count)
{
	const fc_operator_header *aligned = aligned_operator(t, fits, count);
	Datum		records[GROUPS_PER_STATEMENT];
	int			pending = 0;
	double		total = 0;
	double		n = 0;
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext,
											   "fastclust groups",
											   ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);

	for (int i = 0; i < count; i++)
	{
		group_result result = measure_group(t, &fits[i], aligned);

		CHECK_FOR_INTERRUPTS();
		fits[i].measured = !isnan(fits[i].objective);
		if (!fits[i].measured)
			fits[i].objective = result.profile.mean;
		total += fits[i].objective * (double) fits[i].n;
		n += (double) fits[i].n;
		records[pending++] = version_row(t, sample, &fits[i], &result, i == 0);
		if (pending == GROUPS_PER_STATEMENT || i + 1 == count ||
			MemoryContextMemAllocated(work, true) > MAX_PENDING_BYTES)
		{
			write_groups(records, pending);
			pending = 0;
			MemoryContextReset(work);
		}
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(work);
	return total / n;
}

/*
 * store.c - numbers the clusters of each group, computes their sizes, spreads
 * and distances, and writes the groups of a version to its tables
 */
#include "postgres.h"

#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "pg/base/arguments.h"
#include "pg/drift/drift_value.h"
#include "pg/encode/encode.h"
#include "pg/kmeans/collection.h"
#include "pg/model/model.h"
#include "pg/operator/operator_value.h"
#include "pg/train/density.h"
#include "pg/train/lloyd.h"
#include "pg/train/options.h"
#include "pg/train/query.h"
#include "pg/train/relation.h"
#include "pg/train/sample.h"
#include "pg/train/serving.h"
#include "pg/train/store.h"

/*
 * Number of groups that one statement writes. The planner copies the array of
 * these groups, so larger arrays take more memory; smaller ones need more
 * statements. A guess.
 */
#define GROUPS_PER_STATEMENT	100

/*
 * Approximate size in bytes of the groups that are not written yet, including
 * their operators, above which they are written. A guess.
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
	int64	   *identities;		/* identity of each cluster, by ascending
								 * number */
	Datum		paths;			/* tree nodes above each cluster, as
								 * level_paths returns them; 0: no levels */
	double	   *counts;			/* number of rows of each cluster, if rows
								 * have weights; else NULL */
} group_result;

/*
 * Returns the indexes of the old clusters that are frozen or pinned, and sets
 * *count to their number. These clusters keep their centroids, and are the
 * first clusters of the new version.
 */
static int32 *
fixed_clusters(const training *t, const fc_operator_header *old, Size *count)
{
	const float_list *list = &t->options->pinned;
	Size		k;
	int32	   *numbers = cluster_numbers_of(old, &k);
	int32	   *fixed = palloc(k * sizeof(int32));

	*count = 0;
	for (Size i = 0; i < k; i++)
	{
		bool		is_fixed = t->frozen;

		for (int p = 0; p < list->count; p++)
			is_fixed = is_fixed || list->values[p] == numbers[i];
		if (is_fixed)
			fixed[(*count)++] = (int32) i;
	}
	return fixed;
}

/*
 * Sets the numbers of the clusters of a group. If `numbers` is NULL, the
 * numbers stay as they are.
 */
static void
set_cluster_numbers(group_fit *fit, int32 *numbers)
{
	if (fit->micro != NULL)
		number_regions(fit, numbers);
	else
		fit->op = renumbered(fit->op, numbers);
}

/*
 * Gives clusters the numbers and the identities of the old ones that they
 * continue, and sets result->churn to the share of rows whose label changed.
 * rows: the sample as the new operator takes it.
 */
static void
continue_clusters(const training *t, group_fit *fit, const fc_weighted_rows *rows,
				  const serving_group *old, group_result *result)
{
	const fc_weighted_rows *old_rows = rows_with_map(old->map,
													 rescaled_rows(fit->rows,
																   t->scaling,
																   old->scaling));
	bool		regions = (old->op->flags & FC_OPERATOR_REGIONS) != 0;
	bool		compared = (t->map == NULL && old->map == NULL && fit->micro == NULL &&
							!regions);
	two_labellings labels = label_twice(fit->micro != NULL ? fit->micro
										: plain_operator(fit->op), rows,
										regions ? old->op : plain_operator(old->op),
										old_rows);
	Size		k = fit->op->k;
	Size		k_old;
	Size		fixed_count = 0;
	int32	   *before = cluster_numbers_of(old->op, &k_old);
	int32	   *fixed = fixed_clusters(t, old->op, &fixed_count);
	int32	   *numbers = (int32 *) t->numbers;
	int32	   *row = NULL;

	if (numbers == NULL)
	{
		row = continued_rows(&labels, old->op,
							 compared
							 ? rescaled_operator(fit->op, t->scaling, old->scaling)
							 : NULL,
							 fixed, fixed_count);
		numbers = continued_numbers(old->op, row, k, fixed_count);
	}
	set_cluster_numbers(fit, numbers);
	if (numbers == NULL)
		numbers = cluster_numbers_of(fit->op, &k);
	result->churn = changed_labels(&labels, numbers, before);
	result->identities = t->identities != NULL ? (int64 *) t->identities
		: continued_identities(t, numbers, k, row, old->identities);
}

/*
 * Groups nodes under up to `max` parents by k-means, weighted by their rows.
 * Sets parents[j] to the number of the parent of node j. Parents are numbered
 * in the order of their lowest child. Returns the number of parents.
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
 * Returns the number of nodes on level `count`, counted from 1 at the top: the
 * product of the first `count` levels, but at most `max`.
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
 * Returns a k x (levels - 1) array with the numbers of the nodes above each
 * cluster, from the top level down. Returns 0 if there are no levels above the
 * clusters. Option levels gives the number of nodes on each level, but there
 * may be fewer if clusters have been merged.
 */
Datum
level_paths(const training *t, const fc_operator_header *op)
{
	const float_list *levels = &t->options->levels;
	int			above = levels->count - 1;
	const fc_operator_header *nodes = op;
	Datum	   *paths = alloc_large((Size) Max(1, above) * op->k * sizeof(Datum));
	int32	   *parents = palloc(op->k * sizeof(int32));
	int32	   *node = palloc(op->k * sizeof(int32));

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
	return above < 1 ? (Datum) 0 : make_int4_rows(paths, (int) op->k, above);
}

/*
 * Returns the number of rows of each cluster (k values): the weight of the
 * cluster divided by the mean weight of its rows in the sample. Without noise,
 * the numbers add up to all rows, except for rounding.
 */
static double *
count_clusters(const group_fit *fit)
{
	const fc_operator_header *plain = plain_operator(fit->micro != NULL ? fit->micro
													 : fit->op);
	fc_fit		labelled = labelled_rows(plain, fit->rows);
	double	   *counts = palloc0(fit->op->k * sizeof(double));
	double	   *weights = palloc0(fit->op->k * sizeof(double));
	double		total = 0;
	fc_operator micro;
	fc_operator op;

	if (fit->micro != NULL)
		open_operator(fit->micro, &micro);
	open_operator(fit->op, &op);
	for (Size i = 0; i < labelled.n; i++)
	{
		Size		label = (Size) labelled.labels[i];
		int32		j = (fit->micro != NULL
						 ? fc_operator_label(&micro, label, labelled.squares[i])
						 : (int32) label);

		if (j < 0)
			continue;
		counts[j] += fit->rows->counts[i];
		weights[j] += labelled.weights[i];
	}
	for (Size j = 0; j < op.k; j++)
	{
		if (weights[j] > 0)
			counts[j] *= op.weights[j] / weights[j];
		total += counts[j];
	}
	for (Size j = 0; j < op.k; j++)
		counts[j] = rint(fit->micro != NULL ? counts[j]
						 : counts[j] * (double) fit->n / total);
	return counts;
}

/*
 * Numbers the clusters of a group, and computes their sizes, spreads and
 * distances from the sample. If the serving version does not have the group,
 * its clusters get the numbers of the nearest clusters of other_group, unless
 * that is NULL.
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
		continue_clusters(t, fit, rows, &old, &result);
	else
	{
		Size		k;
		int32	   *numbers = (other_group == NULL ? NULL
							   : continued_numbers(other_group,
												   rows_by_distance(other_group, fit->op, false),
												   fit->op->k, 0));

		set_cluster_numbers(fit, numbers);
		numbers = cluster_numbers_of(fit->op, &k);
		result.identities = continued_identities(t, numbers, k, NULL, NULL);
	}
	quantile_places(places);
	result.profile = fit->micro != NULL
		? profile_of_regions(fit, places, DISTANCE_QUANTILES)
		: profile_of_fit(fit->op, rows, places,
						 DISTANCE_QUANTILES);

	/*
	 * Take the weights of the clusters from the sample if no scan has counted
	 * the rows. Also take them if the sample contains all rows, because a
	 * scan counts the rows before it moves the centroids.
	 */
	if ((isnan(fit->objective) || (int64) rows->n == fit->n) && fit->micro == NULL)
		fit->op = with_weights(fit->op, result.profile.weights);
	if (fit->rows->counts != NULL && fit->micro == NULL)
		fit->op = with_weights_times(fit->op, fit->weight / weight_of_operator(fit->op));
	if (fit->rows->counts != NULL)
		result.counts = count_clusters(fit);
	result.paths = t->paths != 0 ? t->paths : level_paths(t, fit->op);
	return result;
}

/* ---- the row of a group ---- */

/*
 * Sets the moments of the null distribution of drift, if they can be
 * estimated. Without groups, they are estimated from the uniform sample, which
 * is not scaled; for a group, from some of its weighted rows.
 */
static void
set_null_moments(record_builder *row, const training *t,
				 const fc_weighted_rows *sample, const group_fit *fit)
{
	double		moments[2];
	bool		grouped = t->source.group_by != NULL;

	if (grouped)
		sample = rescaled_rows(fit->rows, t->scaling, no_scaling);
	if (null_moments_of_rows(sample, t->spec, grouped ? NULL_LAW_GROUP_ROWS : NULL_LAW_ROWS,
							 moments))
		set_numbers(row, "null_moments", moments, 2);
}

record_builder
begin_version(const training *t, const char *group, Datum other)
{
	record_builder row = begin_record("stored_versions", other);

	set_column(&row, "model_id", Int64GetDatum(t->model_id));
	set_column(&row, "version", Int32GetDatum(t->version));
	set_text(&row, "group_value", group);
	set_text(&row, "method", train_method_name(t->method));
	set_text(&row, "note", t->note);
	set_column(&row, "options", JsonbPGetDatum(t->stored));
	set_column(&row, "started_at", TimestampTzGetDatum(t->begun));
	return row;
}

static Datum
version_row(const training *t, const fc_weighted_rows *sample,
			const group_fit *fit, const group_result *result, bool first)
{
	record_builder row = begin_version(t, fit->group, (Datum) 0);

	set_text(&row, "relation", t->source.relation);
	set_value(&row, "relation_owner", DatumGetPointer(t->source.owner));
	set_column(&row, "features",
			   PointerGetDatum(array_of_names(t->source.features,
											  t->source.feature_count)));
	set_column(&row, "vector", BoolGetDatum(t->source.is_vector));
	set_value(&row, "encoder", t->source.encoder);
	set_column(&row, "k",
			   Int32GetDatum((int32) (fit->micro != NULL ? fit->op->k
									  : t->k)));
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
	set_numbers(&row, "cluster_rows", result->counts, fit->op->k);
	set_numbers(&row, "distance_quantiles", result->profile.quantiles,
				DISTANCE_QUANTILES);
	set_column(&row, "n", Int64GetDatum(fit->n));
	if (!t->source.cosine && t->source.encoder != NULL && fit->nulls >= 0)
		set_column(&row, "imputed", Int64GetDatum(fit->nulls));
	set_number(&row, "objective", fit->objective);
	set_number(&row, "objective_error",
			   fit->measured ? 0 : result->profile.error);
	set_number(&row, "label_churn", result->churn);
	set_column(&row, "identities", identity_array(result->identities, fit->op->k));
	set_value(&row, "paths", DatumGetPointer(result->paths));
	set_number(&row, "recall", t->recall);
	if (t->source.group_by != NULL)
		set_value(&row, "group_type", names_of_group_type(&t->source.grouping));
	return end_record(&row);
}

void
write_groups(Datum *records, int count)
{
	ArrayType  *array = construct_array(records, count,
										type_of_name("stored_versions"), -1,
										false, TYPALIGN_DOUBLE);
	query_argument argument = {"_stored_versions", PointerGetDatum(array)};
	int			nest = NewGUCNestLevel();
	char		memory[32];

	/* unnest keeps all records in work_mem, or else in a file */
	snprintf(memory, sizeof(memory), "%zukB",
			 Max((Size) work_mem, 2 * VARSIZE(array) / 1024));
	set_in_level("work_mem", memory);
	run_query("SELECT write_groups($1)", 1, &argument, 0);
	AtEOXact_GUC(false, nest);
	pfree(array);
}

/* ---- all groups ---- */

/*
 * Measures the largest group with measure_group and returns its operator, from
 * which the other groups take their cluster numbers. If several groups are the
 * largest, the first by name is taken. Returns NULL if there is only one
 * group, or if option align is false.
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
 * Measures all groups with measure_group and writes them. Returns the mean
 * squared distance of all rows.
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
		total += fits[i].objective * fits[i].weight;
		n += fits[i].weight;
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

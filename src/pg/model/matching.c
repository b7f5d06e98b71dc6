/*
 * matching.c - matches the clusters of two operators by their rows or by the
 * distance of their centroids, and numbers clusters
 *
 * core/numerics/assignment.c assigns new clusters to old ones.
 */
#include "postgres.h"

#include "nodes/bitmapset.h"

#include "numerics/assignment.h"
#include "numerics/rows.h"
#include "operator/codebook.h"
#include "pg/base/memory.h"
#include "pg/model/model.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/rows.h"

/* ---- matching ---- */

/*
 * Returns true if `bytes`, the memory for matching k clusters with the old
 * ones, is within the memory budget. Otherwise raises a NOTICE, not an error:
 * clusters with new numbers are better than a failed training.
 */
static bool
can_match(Size bytes, Size k)
{
	if (bytes / 1024 < (Size) fastclust_memory_budget)
		return true;
	ereport(NOTICE, errmsg("clusters get new numbers"),
			errdetail("Matching %zu clusters with the old ones needs %zu MB, more than fastclust.memory_budget allows.",
					  k, bytes / 1024 / 1024 + 1));
	return false;
}

int32 *
rows_by_distance(const fc_operator_header *old_header,
				 const fc_operator_header *new_header, bool near)
{
	fc_operator old;
	double	   *x;
	double	   *y;
	fc_operator new;
	fc_arena	arena;
	int32	   *number;

	open_operator(old_header, &old);
	open_operator(new_header, &new);
	if (old.d != new.d ||
		!can_match(fc_pair_clusters_worksize(old.k, new.k) +
				   (old.k + new.k) * old.d * sizeof(double) +
				   Max(fc_operator_scratch(&old),
					   fc_operator_scratch(&new)) *
				   sizeof(float),
				   new.k))
		return NULL;
	number = palloc(new.k * sizeof(int32));
	arena = make_arena("matching the clusters");
	x = rescaled_centroids(&old, NULL, NULL);
	y = rescaled_centroids(&new, NULL, NULL);
	fc_pair_clusters(x, old.k, y, new.k, old.d, &arena, number);
	if (near)
		fc_part_far_pairs(x, old.k, y, new.k, old.d, number);
	release_arena(&arena);
	return number;
}

/*
 * Minimum Jaccard index of a new cluster and the old one that it continues:
 * the number of rows in both clusters, divided by the number of rows in at
 * least one of them. With a larger minimum, clusters that moved, or were split
 * into many, would lose their names. With a smaller one, fragments and
 * clusters of other rows would get names. A guess.
 */
#define MIN_SHARED	0.2

/*
 * Maximum share of a rival: a second old cluster that shares rows with a new
 * cluster, and that no cluster continues. If the rival has more than this
 * fraction of the rows that the new cluster shares with its partner, the new
 * cluster continues neither. The sample would otherwise decide by chance which
 * of the two is continued, and the next version could split off the other.
 * With a smaller fraction, a cluster joined from two keeps the name of the
 * larger one more rarely. A guess.
 */
#define RIVAL_SHARE	0.8

/*
 * Weight that is added to pairs of near clusters, as a fraction of the weight
 * of all rows, so that pairs which share no rows are matched, too. A larger
 * one outweighs shared rows. A guess.
 */
#define NEAR_PAIR_WEIGHT	1e-9

/*
 * Returns the contingency table of the labels (new x old), or NULL if it is
 * too large. NEAR_PAIR_WEIGHT is added to pairs of near clusters: j and
 * near[j], where `near` may be NULL. The first `fixed_count` new clusters are
 * paired only with the old clusters `fixed`, which are paired with no others.
 */
static double *
weighted_pairs(const two_labellings *labels, const int32 *near,
			   const int32 *fixed, Size fixed_count)
{
	Size		k_new = labels->a.k;
	Size		k_old = labels->b.k;
	double	   *counts = counted_labels(labels);
	double		total = 1e-300 + fc_weight_sum(labels->a.weights, labels->a.n);

	for (Size j = 0; counts != NULL && near != NULL && j < k_new; j++)
		if (near[j] >= 0)
			counts[j * k_old + (Size) near[j]] += NEAR_PAIR_WEIGHT * total;
	for (Size p = 0; counts != NULL && p < fixed_count; p++)
	{
		memset(counts + p * k_old, 0, k_old * sizeof(double));
		for (Size j = 0; j < k_new; j++)
			counts[j * k_old + (Size) fixed[p]] = j == p ? total : 0;
	}
	return counts;
}

/*
 * Returns true if centroid j of `new` is at most half as far from centroid i of
 * `old` as from centroid `rival`; false if `new` is NULL.
 */
static bool
is_much_nearer(const fc_operator_header *old_header, const fc_operator_header *new_header,
			   Size j, Size i, Size rival)
{
	fc_operator old;
	fc_operator new;
	fc_scratch	scratch;
	double	   *x;

	if (new_header == NULL)
		return false;
	open_operator(old_header, &old);
	open_operator(new_header, &new);
	scratch = make_scratch(Max(fc_operator_scratch(&old), fc_operator_scratch(&new)));
	x = palloc(3 * old.d * sizeof(double));
	fc_operator_row(&new, j, scratch, x);
	fc_operator_row(&old, i, scratch, x + old.d);
	fc_operator_row(&old, rival, scratch, x + 2 * old.d);
	return 4 * fc_square_between(x, x + old.d, old.d) <=
		fc_square_between(x, x + 2 * old.d, old.d);
}

/*
 * Parts weak pairs: sets row[j] to -1 if new cluster j and its old cluster
 * share too few rows (MIN_SHARED). Also sets it to -1 if the new cluster
 * shares nearly as many rows with another old cluster, which no cluster
 * continues (RIVAL_SHARE), and is not much nearer to its partner.
 */
static void
part_weak_pairs(const double *counts, const fc_operator_header *old, Size k_old,
				const fc_operator_header *moved, Size k_new, int32 *row)
{
	bool	   *paired = palloc0(k_old * sizeof(bool));
	double	   *rows = palloc0(k_old * sizeof(double));

	for (Size j = 0; j < k_new; j++)
	{
		if (row[j] >= 0)
			paired[row[j]] = true;
		for (Size i = 0; i < k_old; i++)
			rows[i] += counts[j * k_old + i];
	}
	for (Size j = 0; j < k_new; j++)
	{
		const double *shared = counts + j * k_old;
		double		all = 0;
		Size		rival = k_old;

		for (Size i = 0; i < k_old; i++)
		{
			all += shared[i];
			if (!paired[i] && (rival == k_old || shared[i] > shared[rival]))
				rival = i;
		}
		if (row[j] >= 0 &&
			(shared[row[j]] <= MIN_SHARED * (all + rows[row[j]] - shared[row[j]]) ||
			 (rival < k_old && shared[rival] > RIVAL_SHARE * shared[row[j]] &&
			  !is_much_nearer(old, moved, j, (Size) row[j], rival))))
			row[j] = -1;
	}
	pfree(paired);
	pfree(rows);
}

int32 *
continued_rows(const two_labellings *labels, const fc_operator_header *old,
			   const fc_operator_header *moved, const int32 *fixed, Size fixed_count)
{
	Size		k_new = labels->a.k;
	Size		k_old = labels->b.k;
	int32	   *row = NULL;
	double	   *counts;
	fc_arena	arena;

	if (moved != NULL && (moved->k != k_new || old->k != k_old || moved->d != old->d))
		moved = NULL;
	if (moved != NULL)
		row = rows_by_distance(old, moved, true);
	if (row != NULL && Min(k_old, k_new) > FC_MAX_EXACT_PAIRS)
		return row;
	counts = weighted_pairs(labels, row, fixed, fixed_count);
	if (counts == NULL || !can_match(2 * k_old * k_new * sizeof(double), k_new))
		return row;
	row = palloc(k_new * sizeof(int32));
	arena = make_arena("matching the clusters");
	fc_pair_labels(counts, k_old, k_new, &arena, row);
	release_arena(&arena);
	part_weak_pairs(counts, old, k_old, moved, k_new, row);
	pfree(counts);
	return row;
}

/* ---- numbers of clusters ---- */

int32 *
cluster_numbers_of(const fc_operator_header *header, Size *count)
{
	fc_operator op;
	int32	   *numbers;

	open_operator(header, &op);
	*count = op.regions.clusters > 0 ? op.regions.clusters : op.k;
	numbers = palloc(*count * sizeof(int32));
	for (Size j = 0; j < *count; j++)
		numbers[j] = op.regions.clusters > 0 ? (int32) j : fc_operator_number(&op, j);
	return numbers;
}

/* Replaces the negative elements of number[k] by the lowest unused numbers. */
static void
number_new_clusters(int32 *number, Size k)
{
	Bitmapset  *taken = NULL;
	int32		next = 0;

	for (Size j = 0; j < k; j++)
		if (number[j] >= 0)
			taken = bms_add_member(taken, number[j]);
	for (Size j = 0; j < k; j++)
	{
		if (number[j] >= 0)
			continue;
		while (bms_is_member(next, taken))
			next++;
		number[j] = next++;
	}
}

int32 *
continued_numbers(const fc_operator_header *old, const int32 *row, Size k,
				  Size fixed_count)
{
	Size		k_old;
	int32	   *before = cluster_numbers_of(old, &k_old);
	int32	   *number;

	if (row == NULL)
		return NULL;
	number = palloc(k * sizeof(int32));
	for (Size j = 0; j < k; j++)
	{
		number[j] = row[j] < 0 ? -1 : before[row[j]];
		if (j >= fixed_count && k < k_old && number[j] >= (int32) k)
			number[j] = -1;
	}
	number_new_clusters(number, k);
	return number;
}

int32 *
places_of_numbers(const int32 *numbers, Size k)
{
	fc_arena	arena = make_arena("numbering the clusters");
	int32	   *place = palloc(k * sizeof(int32));

	check_status(fc_places_of_numbers(numbers, k, &arena, place));
	release_arena(&arena);
	return place;
}

fc_operator_header *
renumbered(const fc_operator_header *header, const int32 *numbers)
{
	memory_account memory = {"the operator"};
	fc_operator op;
	fc_operator result;
	fc_operator_header *stored;
	fc_arena	arena;
	fc_status	status;

	if (numbers == NULL)
		return (fc_operator_header *) header;
	open_operator(header, &op);
	charge_memory(&memory, fc_operator_size(&op));
	arena = charged_arena(&memory);
	status = fc_operator_renumber(&op, numbers, &arena, &result);
	if (status == FC_EFORMAT)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("numbers must contain %zu different integers from 0 to %d",
					   op.k, FC_MAX_NUMBERS - 1));
	check_status(status);
	stored = store_operator(&result);
	release_arena(&arena);
	return stored;
}

/* ---- changed labels ---- */

/*
 * Takes (old operator, rows in its coordinates, new operator, rows in its
 * coordinates, new operator in the coordinates of the old one or NULL).
 * Returns the share of the weight of the rows whose labels differ after the
 * new clusters are matched with the old ones. Returns NULL if another argument
 * is NULL.
 */
PG_FUNCTION_INFO_V1(fastclust_labels_changed);
Datum
fastclust_labels_changed(PG_FUNCTION_ARGS)
{
	const fc_weighted_rows *old_rows;
	const fc_weighted_rows *rows;
	const fc_operator_header *old;
	const fc_operator_header *new;
	two_labellings labels;
	int32	   *before;
	int32	   *numbers;
	Size		k;

	for (int i = 0; i < 4; i++)
		if (PG_ARGISNULL(i))
			PG_RETURN_NULL();
	old_rows = rows_of_operator(OPERATOR_ARG(1));
	rows = rows_of_operator(OPERATOR_ARG(3));
	check_count("the number of rows", (int64) old_rows->n, (int64) rows->n, (int64) rows->n);
	old = OPERATOR_ARG(0);
	new = plain_operator(OPERATOR_ARG(2));
	labels = label_twice(new, rows, old->flags & FC_OPERATOR_REGIONS ? old
						 : plain_operator(old), old_rows);
	numbers = continued_numbers(old,
								continued_rows(&labels, old,
											   PG_ARGISNULL(4) ? NULL : OPERATOR_ARG(4),
											   NULL, 0),
								labels.a.k, 0);
	before = cluster_numbers_of(old, &k);
	PG_RETURN_FLOAT8(changed_labels(&labels,
									numbers != NULL ? numbers
									: cluster_numbers_of(new, &k), before));
}

/*
 * model_tools.c - functions for the SQL code that trains, monitors and
 * retrains models: roles, hashes of ctid, scaled rows, the fit of a model to a
 * sketch, numbers of clusters, locks.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/bitmapset.h"
#include "nodes/primnodes.h"
#include "storage/itemptr.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "base/rng.h"
#include "numerics/assignment.h"
#include "operator/codebook.h"
#include "pg/base/memory.h"
#include "pg/encode/encode.h"
#include "pg/encode/group_value.h"
#include "pg/model/model.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/rows.h"
#include "pg/sketch/sketch_value.h"
#include "sketch/sketch.h"

/* ---- rights ---- */

/*
 * Takes (roles). Returns true if the current user has the rights of one of the
 * roles. Role 0 stands for everyone, NULL for nobody.
 */
PG_FUNCTION_INFO_V1(fastclust_has_a_role);
Datum
fastclust_has_a_role(PG_FUNCTION_ARGS)
{
	Datum	   *roles;
	bool	   *nulls;
	int			count;
	bool		found = false;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), OIDOID, sizeof(Oid), true,
					  TYPALIGN_INT, &roles, &nulls, &count);
	for (int i = 0; i < count && !found; i++)
		found = !nulls[i] &&
			(!OidIsValid(DatumGetObjectId(roles[i])) ||
			 has_privs_of_role(GetUserId(), DatumGetObjectId(roles[i])));
	PG_RETURN_BOOL(found);
}

/* ---- rows and groups of a table ---- */

/* Takes (ctid). Returns a hash of the block and offset of a row. */
PG_FUNCTION_INFO_V1(fastclust_place_key);
Datum
fastclust_place_key(PG_FUNCTION_ARGS)
{
	ItemPointer tid = (ItemPointer) PG_GETARG_POINTER(0);
	uint32		place[2] = {
		ItemPointerGetBlockNumberNoCheck(tid),
		ItemPointerGetOffsetNumberNoCheck(tid)
	};

	PG_RETURN_INT64((int64) fc_hash_bytes(0, place, sizeof(place)));
}

/* Takes (value). Returns the value as the text of a group. */
PG_FUNCTION_INFO_V1(fastclust_group_text);
Datum
fastclust_group_text(PG_FUNCTION_ARGS)
{
	value_reader *reader = fcinfo->flinfo->fn_extra;

	if (reader == NULL)
	{
		reader = fcinfo->flinfo
			->fn_extra = MemoryContextAllocZero(fcinfo->flinfo
												->fn_mcxt,
												sizeof(value_reader));
		make_value_reader(get_fn_expr_argtype(fcinfo->flinfo, 0), "group_value",
						  true, fcinfo->flinfo->fn_mcxt, reader);
	}
	PG_RETURN_TEXT_P((text *) value_as_text(reader, PG_GETARG_DATUM(0)));
}

/* Returns a finder of values of argument 1 among the groups in argument 0. */
static group_finder *
finder_of_groups(FunctionCallInfo fcinfo)
{
	Oid			given = get_fn_expr_argtype(fcinfo->flinfo, 1);
	group_type	type = group_type_of(given, PG_GET_COLLATION());
	group_finder *finder;

	if (!OidIsValid(type.type))
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
				errmsg("groups of type %s are compared as texts", format_type_be(given)),
				errhint("Pass the text of the value."));
	type.strict = false;		/* places are needed, so values are compared */
	finder = make_group_finder(&type, given, NULL, fcinfo->flinfo->fn_mcxt);
	set_groups(finder, PG_GETARG_ARRAYTYPE_P(0));
	return finder;
}

/*
 * Takes (groups, value). Returns the place of the group that equals the value,
 * from 1; NULL if there is none. The groups must be constants of the query.
 */
PG_FUNCTION_INFO_V1(fastclust_group_place);
Datum
fastclust_group_place(PG_FUNCTION_ARGS)
{
	int			place;

	if (fcinfo->flinfo->fn_extra == NULL)
		fcinfo->flinfo->fn_extra = finder_of_groups(fcinfo);
	place = place_of_group(fcinfo->flinfo->fn_extra, PG_GETARG_DATUM(1));
	if (place < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT32(place + 1);
}

/*
 * Takes (model, version, value). Returns the text of the group that equals the
 * value; the text of the value itself if there is no such group, or if the
 * model has no groups. A NULL version is the current one.
 */
PG_FUNCTION_INFO_V1(fastclust_group_of);
Datum
fastclust_group_of(PG_FUNCTION_ARGS)
{
	model_call_state *call = model_call_state_of(fcinfo);
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 2);

	if (PG_ARGISNULL(0) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	call->version = PG_ARGISNULL(1) ? CURRENT_VERSION : PG_GETARG_INT32(1);
	PG_RETURN_TEXT_P((text *) group_of_value(call, model_of_all_groups(fcinfo, call),
											 type, PG_GETARG_DATUM(2), true));
}

/* ---- scaled rows ---- */

/* State of a call site: the reader of vectors, and center and scale. */
typedef struct scaling_call_state
{
	vector_reader vectors;
	bool		fixed;			/* true if center and scale are constants of
								 * the query */
	int			d;
	const double *center;		/* d values, or NULL if rows are not scaled */
	const double *scale;
} scaling_call_state;

/*
 * Returns true if an argument is a constant. A parameter is not: it may change
 * when PL/pgSQL evaluates an expression again.
 */
static bool
is_constant(FunctionCallInfo fcinfo, int argument)
{
	Node	   *call = fcinfo->flinfo->fn_expr;

	return call != NULL && IsA(call, FuncExpr) &&
		IsA(list_nth(((FuncExpr *) call)->args, argument), Const);
}

/*
 * Returns the state of a call site whose arguments 0 and 1 are center and
 * scale.
 */
static scaling_call_state *
scaling_call_state_of(FunctionCallInfo fcinfo)
{
	scaling_call_state *call = fcinfo->flinfo->fn_extra;

	if (call != NULL)
		return call;
	call = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(scaling_call_state));
	call->vectors.context = fcinfo->flinfo->fn_mcxt;
	call->fixed = is_constant(fcinfo, 0) && is_constant(fcinfo, 1);
	fcinfo->flinfo->fn_extra = call;
	return call;
}

/*
 * Reads center and scale for rows of d values into the call state. Constants
 * are read only once.
 */
static void
find_scaling(FunctionCallInfo fcinfo, int d, scaling_call_state *call)
{
	MemoryContext old;

	if (call->fixed && call->d == d)
		return;
	old = MemoryContextSwitchTo(call->fixed ? fcinfo->flinfo->fn_mcxt
								: CurrentMemoryContext);
	call->d = d;
	call->center = numbers_argument(fcinfo, 0, (Size) d, "center");
	call->scale = numbers_argument(fcinfo, 1, (Size) d, "scale");
	MemoryContextSwitchTo(old);
}

/*
 * Takes (center, scale, x). Returns (x - center) / scale, or x if center or
 * scale is NULL.
 */
PG_FUNCTION_INFO_V1(fastclust_scaled_vector);
Datum
fastclust_scaled_vector(PG_FUNCTION_ARGS)
{
	scaling_call_state *call = scaling_call_state_of(fcinfo);
	vector		v;
	double	   *x;
	Datum		row;

	if (PG_ARGISNULL(2))
		PG_RETURN_NULL();
	v = read_vector_argument(fcinfo, &call->vectors, 2, "x");
	if (call->fixed && call->d > 0)
		check_vector_dim(&v, (size_t) call->d, "the first row");
	find_scaling(fcinfo, v.d, call);
	row = empty_float8_array(v.d, &x);
	if (v.floats != NULL)
		fc_widen(v.floats, (Size) v.d, x);
	else
		memcpy(x, v.doubles, (Size) v.d * sizeof(double));
	for (int i = 0; i < call->d && call->center != NULL && call->scale != NULL;
		 i++)
		x[i] = (x[i] - call->center[i]) / call->scale[i];
	return row;
}

/* ---- fit to a sketch, and matching of clusters ---- */

/*
 * Takes (sketch, operator, center, scale, spreads). Returns the relative
 * distance of the sketch from the mixture that the model describes. Returns
 * NULL if the sketch, operator or spreads are NULL, or if the sketch is empty.
 */
PG_FUNCTION_INFO_V1(fastclust_fit_residual);
Datum
fastclust_fit_residual(PG_FUNCTION_ARGS)
{
	fc_sketch_view sketch;
	fc_operator op;
	fc_arena	arena;
	memory_account memory = {"the fit of a model"};
	double	   *centroids;
	double	   *spreads;
	double		residual;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(4))
		PG_RETURN_NULL();
	sketch = fc_sketch_view_of(sketch_pack(SKETCH_ARG(0)));
	if (sketch.head->weight <= 0)
		PG_RETURN_NULL();
	open_operator(OPERATOR_ARG(1), &op);
	if (op.d != sketch.spec->dim)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("the operator has %zu dimensions, but the sketch has %u",
					   op.d, sketch.spec->dim));
	spreads = read_float8_array(PG_GETARG_DATUM(4), (int) op.k, "spreads");
	centroids = rescaled_centroids(&op,
								   numbers_argument(fcinfo, 2, op.d, "center"),
								   numbers_argument(fcinfo, 3, op.d, "scale"));
	charge_memory(&memory, op.k * op.d * sizeof(double));
	arena = charged_arena(&memory);
	check_status(fc_fit_residual(&sketch, centroids, op.weights, spreads, op.k,
								 &arena, &residual));
	PG_RETURN_FLOAT8(residual);
}

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

/*
 * Minimum share of the rows of an old and a new cluster that both have, if the
 * new one continues the old one. With a larger share, clusters that moved, or
 * were split in many, would lose their names; with a smaller one, fragments and
 * clusters of other rows would get them. A guess.
 */
#define MIN_SHARED	0.2

/*
 * Share of the rows of a pair at which another old cluster, which no cluster
 * continues, is an equal partner. Which of the two is continued would then be
 * an accident of the sample, and the next version could split off the other.
 * With a smaller share, a cluster joined from two keeps the name of the larger
 * one more rarely. A guess.
 */
#define RIVAL_SHARE	0.8

/*
 * Weight that is added to pairs of near clusters, as a fraction of all rows, so
 * that pairs which share no rows are matched, too. A larger one outweighs
 * shared rows. A guess.
 */
#define NEAR_PAIR_WEIGHT	1e-9

/*
 * Returns the contingency table of the labels (new x old), or NULL if it is too
 * large. Pairs of near clusters (j and near[j]; near may be NULL) get
 * NEAR_PAIR_WEIGHT. The fixed old clusters are paired with the first new ones,
 * and with no others.
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
 * Parts a pair of clusters if it shares too few rows, or if another old cluster
 * without a partner shares nearly as many and is not much farther away.
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

/* ---- numbering ---- */

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

/*
 * Takes (old operator, rows in its coordinates, new operator, rows in its
 * coordinates, new operator in the coordinates of the old one or NULL).
 * Returns the share of the weight of the rows whose labels differ after the
 * new clusters are matched with the old ones.
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

/*
 * Takes (key, live, wait). Locks the key of a model or of a live sketch until
 * the end of the transaction; returns false if another session has it and wait
 * is false. Unlike an advisory lock, no other code can take this lock.
 */
PG_FUNCTION_INFO_V1(fastclust_lock_name);
Datum
fastclust_lock_name(PG_FUNCTION_ARGS)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, fcinfo->flinfo->fn_oid,
					   (uint32) PG_GETARG_INT32(0), (uint16) PG_GETARG_BOOL(1));
	PG_RETURN_BOOL(LockAcquire(&tag, ExclusiveLock, false,
							   !PG_GETARG_BOOL(2)) != LOCKACQUIRE_NOT_AVAIL);
}

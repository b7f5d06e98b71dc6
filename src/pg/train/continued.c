/*
 * continued.c - matches the clusters of a stored version with the clusters of
 * another version, which they continue
 *
 * If both versions have the same coordinates, a training matches its clusters
 * with the serving ones before it writes them (store.c). The functions of this
 * file match clusters of versions that are already stored: by the labels of
 * some rows if the versions have different columns, and by their centroids for
 * use_version.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "lib/stringinfo.h"
#include "utils/array.h"

#include "pg/encode/encode.h"
#include "pg/model/model.h"
#include "pg/operator/operator_value.h"
#include "pg/train/continued.h"
#include "pg/train/options.h"
#include "pg/train/query.h"
#include "pg/train/sample.h"
#include "pg/train/source.h"
#include "pg/train/version.h"

static int
by_number(const void *a, const void *b)
{
	int32		x = *(const int32 *) a;
	int32		y = *(const int32 *) b;

	return (x > y) - (x < y);
}

/* Returns true if centroids of both versions have the same coordinates. */
static bool
comparable_versions(const stored_version *a, const stored_version *b)
{
	bool		same = (a->op != NULL && b->op != NULL && a->map == NULL && b->map == NULL &&
						a->op->d == b->op->d && a->options->metric == b->options->metric &&
						a->features.count == b->features.count &&
						same_dimensions(a->encoder,
										b->encoder));

	for (int i = 0; same && i < a->features.count; i++)
		same = strcmp(a->features.names[i], b->features.names[i]) == 0;
	return same;
}

/*
 * Matches clusters by their centroids. Returns, for each cluster of `after`,
 * the index of the cluster of `before` that it continues, or -1 if it
 * continues none. Returns NULL if the coordinates of the versions differ.
 */
static int32 *
rows_by_centroids(const stored_version *before, const stored_version *after)
{
	Size		d = after->op->d;

	if (!comparable_versions(before, after))
		return NULL;
	return rows_by_distance(before->op,
							rescaled_operator(after->op, scaling_of_version(after, d),
											  scaling_of_version(before, d)),
							true);
}

/* Returns the index of a number in an ascending list, or -1. */
static int32
place_of_number(const int32 *numbers, Size k, int32 number)
{
	const int32 *found = bsearch(&number, numbers, k, sizeof(int32), by_number);

	return found == NULL ? -1 : (int32) (found - numbers);
}

/* Raises an error unless the array has `count` elements, none of them NULL. */
static void
check_elements(ArrayType *array, int count)
{
	if (array_contains_nulls(array) || ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) != count)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("lists of labels must have equally many elements, none of them NULL"));
}

/*
 * Matches clusters by the labels that both versions give to the same rows.
 * rows[i] is the number of rows that have the label old_labels[i] by `before`
 * and new_labels[i] by `after`. The coordinates of the versions may differ.
 * Returns an array like rows_by_centroids.
 */
static int32 *
rows_by_list(const stored_version *before, const stored_version *after,
			 ArrayType *old_labels, ArrayType *new_labels, ArrayType *rows)
{
	int			count = ArrayGetNItems(ARR_NDIM(old_labels), ARR_DIMS(old_labels));
	Size		k_old;
	Size		k_new;
	const int32 *old = cluster_numbers_of(before->op, &k_old);
	const int32 *new = cluster_numbers_of(after->op, &k_new);
	int32	   *labels = palloc(2 * (Size) Max(1, count) * sizeof(int32));
	const double *weights = (double *) ARR_DATA_PTR(rows);
	two_labellings both = {
		{(Size) count, k_new, weights, labels},
		{(Size) count, k_old, weights, labels + count}
	};

	check_elements(old_labels, count);
	check_elements(new_labels, count);
	check_elements(rows, count);
	check_not_negative("rows", weights, (Size) count);
	for (int i = 0; i < count; i++)
	{
		labels[i] = place_of_number(new, k_new, ((int32 *) ARR_DATA_PTR(new_labels))[i]);
		labels[count + i] = place_of_number(old, k_old, ((int32 *) ARR_DATA_PTR(old_labels))[i]);
	}
	return continued_rows(&both, before->op, NULL, NULL, 0);
}

/*
 * Takes (before, after, a, b, rows). `before` and `after` are the same group
 * of two versions. a, b and rows are the arguments old_labels, new_labels and
 * rows of rows_by_list. If one of them is NULL, clusters are matched by their
 * centroids.
 *
 * Returns an array with an identity for each cluster of `after`, by ascending
 * number: the identity of the cluster of `before` that it continues, or NULL
 * if it continues none. Returns NULL if the versions cannot be compared.
 */
PG_FUNCTION_INFO_V1(fastclust_continued_identities);
Datum
fastclust_continued_identities(PG_FUNCTION_ARGS)
{
	stored_version before;
	stored_version after;
	int32	   *row;
	Datum	   *elements;
	bool	   *nulls;
	int			lower = 1;
	int			k;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	before = open_version(PG_GETARG_DATUM(0));
	after = open_version(PG_GETARG_DATUM(1));
	if (before.identities == NULL || after.op == NULL ||
		((before.op->flags | after.op->flags) & FC_OPERATOR_REGIONS))
		PG_RETURN_NULL();		/* not a stored version: every stored one has
								 * identities, and an operator without regions */
	if (PG_ARGISNULL(2) || PG_ARGISNULL(3) || PG_ARGISNULL(4))
		row = rows_by_centroids(&before, &after);
	else
		row = rows_by_list(&before, &after, PG_GETARG_ARRAYTYPE_P(2),
						   PG_GETARG_ARRAYTYPE_P(3), PG_GETARG_ARRAYTYPE_P(4));
	if (row == NULL)
		PG_RETURN_NULL();
	k = (int) after.op->k;
	elements = palloc((Size) k * sizeof(Datum));
	nulls = palloc((Size) k * sizeof(bool));
	for (int j = 0; j < k; j++)
	{
		nulls[j] = row[j] < 0;
		elements[j] = nulls[j] ? (Datum) 0 : Int64GetDatum(before.identities[row[j]]);
	}
	PG_RETURN_ARRAYTYPE_P(construct_md_array(elements, nulls, 1, &k, &lower, INT8OID,
											 sizeof(int64), FLOAT8PASSBYVAL,
											 TYPALIGN_DOUBLE));
}

/*
 * Number of rows by which the clusters of versions with different coordinates
 * are matched: at least MATCHED_ROWS in total, and MATCHED_ROWS_PER_CLUSTER
 * for each cluster of each group. With more rows, small clusters are matched
 * more surely, but the time grows in proportion. Guesses.
 */
#define MATCHED_ROWS	20000.0
#define MATCHED_ROWS_PER_CLUSTER	200.0

void
continue_by_rows(const training *t)
{
	double		wanted = Max(MATCHED_ROWS,
							 MATCHED_ROWS_PER_CLUSTER * t->groups * (double) t->k);
	query_argument arguments[4] = {
		{"int8", Int64GetDatum(t->model_id)},
		{"int4", Int32GetDatum(t->version)},
		{"regclass", ObjectIdGetDatum(t->source.id)}
	};

	if (t->serving_count == 0 || t->serving[0].op != NULL)
		return;
	arguments[3] = text_argument(rows_from(&t->source, some_rows(t, wanted), NULL));
	run_query("SELECT continue_by_rows($1, $2, $3, $4)", lengthof(arguments), arguments, 0);
}

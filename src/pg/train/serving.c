/*
 * serving.c - reads the groups of the serving version and the names of its
 * clusters, and makes the next version the serving one
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/bitmapset.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "pg/encode/encode.h"
#include "pg/operator/operator_value.h"
#include "pg/train/query.h"
#include "pg/train/relation.h"
#include "pg/train/serving.h"
#include "rkhs/map.h"

/*
 * Default of option keep, the number of old versions that are kept. With more
 * of them, older ones can be restored, but they take disk space. A guess.
 */
#define DEFAULT_VERSIONS_KEPT	5

/* ---- groups ---- */

int
by_group(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

static double *
float_values(Datum array)
{
	return (double *) ARR_DATA_PTR(DatumGetArrayTypePCopy(array));
}

/*
 * Returns the dimension of the rows that a group labels, before any kernel
 * map.
 */
static Size
row_length(const serving_group *found)
{
	fc_kernel_map map;

	if (found->map == NULL)
		return found->op->d;
	fc_kernel_map_view((const fc_kernel_map_header *) found->map, &map);
	return map.op.d;
}

/*
 * Makes the finder of the serving groups if equal values may have different
 * texts, and if the grouping column had the same type before.
 */
static void
find_equal_groups(training *t, ArrayType *names)
{
	Datum	   *groups = palloc(Max(1, t->serving_count) * sizeof(Datum));
	group_type	before = group_type_of_names(names);

	if (!has_loose_groups(&t->source) || !same_group_type(&before, &t->source.grouping))
		return;
	for (int i = 0; i < t->serving_count; i++)
		groups[i] = CStringGetTextDatum(t->serving[i].group);
	t->serving_finder = make_group_finder(&t->source.grouping, TEXTOID,
										  t->source.group_by, CurrentMemoryContext);
	set_groups(t->serving_finder,
			   construct_array(groups, t->serving_count, TEXTOID, -1, false, TYPALIGN_INT));
}

void
read_serving(training *t)
{
	ArrayType  *names = NULL;
	query_argument arguments[] = {
		{"int8", Int64GetDatum(t->model_id)},
		text_argument(t->source.group_by),
		{"_name", PointerGetDatum(array_of_names(t->source.features, t->source.feature_count))}
	};

	run_query("SELECT v.group_value, COALESCE(v.micro_clusters, v.operator), v.center,"
			  " v.scale, v.map, v.options ->> 'metric' = 'cosine', v.encoder, v.group_type"
			  "  FROM readable_models m JOIN readable_versions v ON v.version = m.version"
			  " WHERE m.id = $1 AND v.model_id = $1 AND m.group_by IS NOT DISTINCT FROM"
			  " $2::name AND v.features = $3 ORDER BY v.group_value COLLATE \"C\"",
			  lengthof(arguments), arguments, 0);
	t->serving_count = (int) SPI_processed;
	t->serving = palloc0(Max(1, t->serving_count) * sizeof(serving_group));
	for (int i = 0; i < t->serving_count; i++)
	{
		serving_group *found = &t->serving[i];
		Datum		value[8];
		bool		null[8];

		for (int j = 0; j < lengthof(value); j++)
			value[j] = query_value((uint64) i, j + 1, &null[j]);
		found->group = TextDatumGetCString(value[0]);
		found->op = (fc_operator_header *) PG_DETOAST_DATUM_COPY(value[1]);
		found->scaling.center = null[2] ? NULL : float_values(value[2]);
		found->scaling.scale = null[3] ? NULL : float_values(value[3]);
		found->map = null[4]
			? NULL
			: (struct varlena *) PG_DETOAST_DATUM_COPY(value[4]);
		found->cosine = !null[5] && DatumGetBool(value[5]);
		if (row_length(found) != t->dim ||
			!same_dimensions(null[6] ? NULL : aligned_value(value[6]),
							 (fc_encoder_header *) t->source.encoder))
			found->op = NULL;
		if (!null[7])
			names = DatumGetArrayTypePCopy(value[7]);
	}
	find_equal_groups(t, names);
}

char *
group_as_served(const training *t, char *group)
{
	const text *served = (t->serving_finder == NULL ? NULL
						  : text_of_group(t->serving_finder,
										  CStringGetTextDatum(group)));

	return served != NULL ? text_to_cstring(served) : group;
}

serving_group
serving_of(const training *t, const char *group)
{
	serving_group *found = (t->serving_count == 0
							? NULL
							: bsearch(&group, t->serving,
									  (Size) t->serving_count,
									  sizeof(serving_group), by_group));
	serving_group none = {0};

	return found != NULL ? *found : none;
}

/* ---- names ---- */

void
read_named_clusters(training *t)
{
	query_argument arguments[] = {
		{"int8", Int64GetDatum(t->model_id)},
		{"int4", Int32GetDatum(FC_MAX_NUMBERS)}
	};

	run_query("SELECT group_value, cluster FROM readable_names WHERE model_id = $1 AND cluster < $2"
			  " ORDER BY group_value COLLATE \"C\"",
			  2, arguments, 0);
	t->named_count = (int) SPI_processed;
	t->named = palloc(Max(1, t->named_count) * sizeof(named_cluster));
	for (int i = 0; i < t->named_count; i++)
	{
		bool		null;

		t->named[i].group = TextDatumGetCString(query_value((uint64) i, 1,
															&null));
		t->named[i].cluster = DatumGetInt32(query_value((uint64) i, 2, &null));
	}
	end_query();
}

/*
 * Returns the index of the first named cluster of a group, or if there is
 * none, the index at which it would be inserted.
 */
static int
first_name(const training *t, const char *group)
{
	int			low = 0;
	int			high = t->named_count;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (strcmp(t->named[middle].group, group) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

Bitmapset *
named_numbers(const training *t, const char *group)
{
	Bitmapset  *named = NULL;

	for (int i = first_name(t, group);
		 i < t->named_count && strcmp(t->named[i].group, group) == 0; i++)
		named = bms_add_member(named, t->named[i].cluster);
	return named;
}

/* ---- versions ---- */

/*
 * The next number follows the highest stored one, even if an older version
 * serves.
 */
int32
next_version(int64 model_id)
{
	query_argument id = {"int8", Int64GetDatum(model_id)};

	return DatumGetInt32(query_datum("SELECT COALESCE(max(v.version), 0) + 1 FROM"
									 " readable_versions v"
									 " WHERE v.model_id = $1",
									 1, &id, 0, NULL));
}

void
start_serving(const training *t)
{
	query_argument arguments[] = {
		{"int8", Int64GetDatum(t->model_id)},
		{"int4", Int32GetDatum(t->version)},
		{"int4", Int32GetDatum((int32) given_or(t->options->keep, DEFAULT_VERSIONS_KEPT))}
	};

	run_query("SELECT serve_version($1, $2, $3), update_labels($1)",
			  lengthof(arguments), arguments, 0);
}

/*
 * serving.c - reads the groups of the serving version, gives new clusters their
 * identities, and makes the next version the serving one
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "pg/encode/encode.h"
#include "pg/model/model.h"
#include "pg/operator/operator_value.h"
#include "pg/train/options.h"
#include "pg/train/query.h"
#include "pg/train/relation.h"
#include "pg/train/serving.h"
#include "rkhs/map.h"

/*
 * Default of option keep, the number of old versions that are kept. With a
 * larger number, older versions can be restored, but they take disk space. A
 * guess.
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
	fc_kernel_map_view(found->map, &map);
	return map.op.d;
}

/*
 * Makes t->serving_finder if equal values may have different texts, and if the
 * grouping column had the same type in the serving version.
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
			  " v.scale, v.map, v.options ->> 'metric' = 'cosine', v.encoder, v.group_type,"
			  " v.identities, v.features = $3"
			  "  FROM readable_models m JOIN readable_versions v ON v.version = m.version"
			  " WHERE m.id = $1 AND v.model_id = $1 AND m.group_by IS NOT DISTINCT FROM"
			  " $2::name ORDER BY v.group_value COLLATE \"C\"",
			  lengthof(arguments), arguments, 0);
	t->serving_count = (int) SPI_processed;
	t->serving = palloc0(Max(1, t->serving_count) * sizeof(serving_group));
	for (int i = 0; i < t->serving_count; i++)
	{
		serving_group *found = &t->serving[i];
		Datum		value[10];
		bool		null[10];

		for (int j = 0; j < lengthof(value); j++)
			value[j] = query_value((uint64) i, j + 1, &null[j]);
		found->group = TextDatumGetCString(value[0]);
		found->op = (fc_operator_header *) PG_DETOAST_DATUM_COPY(value[1]);
		found->scaling.center = null[2] ? NULL : float_values(value[2]);
		found->scaling.scale = null[3] ? NULL : float_values(value[3]);
		found->map = copied_value(DatumGetPointer(value[4]));
		found->cosine = !null[5] && DatumGetBool(value[5]);
		found->identities = (int64 *) ARR_DATA_PTR(DatumGetArrayTypePCopy(value[8]));
		if (!DatumGetBool(value[9]) || row_length(found) != t->dim ||
			!same_dimensions(null[6] ? NULL : aligned_value(value[6]),
							 t->source.encoder))
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

/* ---- identities ---- */

int64 *
continued_identities(const training *t, const int32 *numbers, Size k,
					 const int32 *row, const int64 *before)
{
	int64	   *identities = palloc(k * sizeof(int64));
	int32	   *place = places_of_numbers(numbers, k);

	for (Size j = 0; j < k; j++)
		identities[place[j]] = row != NULL && row[j] >= 0
			? before[row[j]]
			: ((int64) t->version << 32) + numbers[j];
	return identities;
}

Datum
identity_array(const int64 *identities, Size k)
{
	Datum	   *elements = palloc(k * sizeof(Datum));

	for (Size j = 0; j < k; j++)
		elements[j] = Int64GetDatum(identities[j]);
	return PointerGetDatum(construct_array(elements, (int) k, INT8OID, sizeof(int64),
										   FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
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

	/* no warning after merge_clusters, which removes clusters on purpose */
	if (t->identities == NULL && t->options->activate)
		run_query("SELECT warn_lost_names($1, $2)", 2, arguments, 0);
	run_query("SELECT serve_version($1, $2, $3), update_labels($1)",
			  lengthof(arguments), arguments, 0);
}

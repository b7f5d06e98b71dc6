/*
 * version.c - stored versions, and the rows of a relation as a version reads
 * them
 *
 * A version arrives as a composite value of stored_versions: from a query of a
 * training, or as the argument of a function that SQL calls to explain, score
 * or watch a model. It contains all that is needed to read its rows: the
 * features, the encoder, the condition and the metric.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "utils/builtins.h"

#include "pg/base/memory.h"
#include "pg/operator/operator_value.h"
#include "pg/sketch/sketch_value.h"
#include "pg/train/columns.h"
#include "pg/train/options.h"
#include "pg/train/query.h"
#include "pg/train/relation.h"
#include "pg/train/sample.h"
#include "pg/train/scan.h"
#include "pg/train/scan_result.h"
#include "pg/train/source.h"
#include "pg/train/units.h"
#include "pg/train/version.h"

/*
 * Minimum number of rows in a sketch of a share of the rows. If the share has
 * fewer rows, all rows are sketched. With a smaller minimum, the test of drift
 * would be weaker. A guess.
 */
#define MIN_SHARE_ROWS	65536

/* ---- a group of a version ---- */

/* Returns a field of the record, or 0 if it is NULL. */
static Datum
field(const stored_version *version, const char *name)
{
	bool		null;
	Datum		value = GetAttributeByName(DatumGetHeapTupleHeader(version->record),
										   name, &null);

	return null ? (Datum) 0 : value;
}

static void *
field_value(const stored_version *version, const char *name)
{
	Datum		value = field(version, name);

	return value == 0 ? NULL : aligned_value(value);
}

static char *
field_text(const stored_version *version, const char *name)
{
	Datum		value = field(version, name);

	return value == 0 ? NULL : TextDatumGetCString(value);
}

static int64 *
read_identities(Datum value, Size k)
{
	ArrayType  *array = DatumGetArrayTypePCopy(value);

	if (array_contains_nulls(array) ||
		(Size) ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) != k)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("identities must have %zu elements, none of them NULL", k));
	return (int64 *) ARR_DATA_PTR(array);
}

/*
 * Reads a version from its record. A caller may have made the record, so most
 * fields may be NULL.
 */
stored_version
open_version(Datum record)
{
	stored_version version = {.record = record};
	Datum		features = field(&version, "features");
	Datum		options = field(&version, "options");
	char	   *method = field_text(&version, "method");
	Datum		identities;

	version.model = field_text(&version, "model");
	version.version = DatumGetInt32(field(&version, "version"));
	version.group = field_text(&version, "group_value");
	version.method = method == NULL ? METHOD_NONE : train_method_of(method);
	version.relation = field_text(&version, "relation");
	version.relation_owner = field(&version, "relation_owner");
	version.features = read_features(features == 0
									 ? NULL
									 : DatumGetArrayTypeP(features));
	version.is_vector = DatumGetBool(field(&version, "vector"));
	version.encoder = field_value(&version, "encoder");
	version.k = (Size) DatumGetInt32(field(&version, "k"));
	version.options = options == 0 ? options_of_text("{}") :
		read_train_options(DatumGetJsonbP(options), FOR_TRAIN);
	version.op = field_value(&version, "operator");
	identities = field(&version, "identities");
	if (identities != 0 && version.op != NULL)
		version.identities = read_identities(identities, version.op->k);
	version.map = field_value(&version, "map");
	version.spec = field_value(&version, "spec");
	version.sketch = field_value(&version, "training_sketch");
	if (version.is_vector == (version.encoder != NULL))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("a version of columns has an encoder, and one of vectors has none"));
	return version;
}

scaling
scaling_of_version(const stored_version *version, Size d)
{
	Datum		center = field(version, "center");
	Datum		scale = field(version, "scale");
	scaling		found = {0};

	if (center == 0 || scale == 0)
		return found;
	found.center = read_float8_array(center, (int) d, "center");
	found.scale = read_float8_array(scale, (int) d, "scale");
	for (Size i = 0; i < d; i++)
		check_positive("scale element", found.scale[i]);
	return found;
}

/* ---- rows as a version reads them ---- */

/*
 * Sets *source to read the relation with the columns, options and encoder of
 * the version.
 */
static void
open_version_source(train_source *source, const stored_version *version,
					Oid relation, char *group_by)
{
	Datum		names = field(version, "group_type");
	group_type	type = group_type_of_names(names == 0 ? NULL : DatumGetArrayTypeP(names));

	open_source(source, relation, &version->features, version->is_vector,
				group_by);
	if (group_by != NULL && version->model != NULL &&
		!same_group_type(&type, &source->grouping))
		name_groups_of(source, version->model, version->version);
	add_options(source, version->options);
	if (version->encoder != NULL)
		use_encoder(source, version->encoder);
	source->takes_where = false;
	source->observed = version->encoder != NULL && version->method == METHOD_KMEANS;
}

/* Returns the condition that a row is of the version's group. */
static char *
group_condition(const train_source *source, const stored_version *version)
{
	char	   *group = quote_literal_cstr(version->group != NULL ? version->group : "");

	return has_loose_groups(source)
		? psprintf("%s IS NOT NULL",
				   group_place_text(source, psprintf("ARRAY[%s]", group)))
		: psprintf("%s = %s", source->group_value, group);
}

/*
 * Opens a relation as the version reads it, and restricts it to the group of
 * the version if group_by is not NULL.
 */
static void
open_group_source(train_source *source, const stored_version *version,
				  Oid relation, char *group_by)
{
	open_version_source(source, version, relation, group_by);
	if (group_by != NULL)
		source->filter = psprintf("%s AND %s", source->filter,
								  group_condition(source, version));
}

/*
 * Returns the version in argument 0. Raises an error if it is NULL, or if the
 * relation in argument 1 is NULL.
 */
static stored_version
version_argument(FunctionCallInfo fcinfo)
{
	require_argument(fcinfo, 0, "version");
	require_argument(fcinfo, 1, "relation");
	return open_version(PG_GETARG_DATUM(0));
}

static char *
name_argument(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? NULL
		: pstrdup(NameStr(*PG_GETARG_NAME(argument)));
}

/*
 * Rows of a sample as read_filled needs them. `filled` has the same rows as
 * `rows`, but scaled and with missing values filled. row and filled_row are
 * space for one row of each, d values.
 */
typedef struct filled_rows
{
	const fc_weighted_rows *rows;
	const fc_weighted_rows *filled;
	scaling		scaled;
	double	   *row;
	double	   *filled_row;
} filled_rows;

static const double *
read_filled(void *place, size_t i)
{
	const filled_rows *f = place;

	fc_weighted_row(f->rows, i, f->row);
	if (!fc_is_partial(f->rows, i))
		return f->row;
	fc_weighted_row(f->filled, i, f->filled_row);
	for (Size c = 0; c < f->rows->d; c++)
		if (fc_is_missing(f->rows, i, c))
			f->row[c] = (f->scaled.center != NULL ? f->scaled.center[c] : 0) +
				(f->scaled.scale != NULL ? f->scaled.scale[c] : 1) * f->filled_row[c];
	return f->row;
}

/*
 * Returns the unscaled rows with missing values replaced by the coordinates of
 * the nearest centroids of the version, so that the rows have the labels of
 * predict. Returns `rows` if no value is missing.
 */
static const fc_weighted_rows *
filled_sample(const stored_version *version, const fc_weighted_rows *rows)
{
	filled_rows f = {
		.rows = rows,
		.scaled = scaling_of_version(version, rows->d)
	};
	fc_centroid_source source = {
		.k = rows->n,
		.d = rows->d,
		.row = read_filled,
		.place = &f
	};

	if (rows->missing == NULL || version->op == NULL)
		return rows;
	f.filled = rows_filled_by(version->op, rescaled_rows(rows, no_scaling, f.scaled));
	f.row = palloc(2 * rows->d * sizeof(double));
	f.filled_row = f.row + rows->d;
	check_budget(codebook_bytes(rows->n, rows->d), "a sample");
	return rows_of_operator(make_codebook_of(rows->metric, &source, rows->weights));
}

/* Returns argument 3, a number of wanted rows, which may be infinite. */
static double
wanted_argument(FunctionCallInfo fcinfo)
{
	double		wanted = PG_GETARG_FLOAT8(3);

	if (!(wanted > 0))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("wanted must be greater than 0, not %g", wanted));
	return wanted;
}

/*
 * Takes (version, relation, group_by, wanted, even). Returns (sample, filled),
 * two operators whose centroids are unscaled sampled rows. About `wanted` rows
 * are sampled: rows of the version's group, or of the whole relation if
 * group_by is NULL.
 *
 * sample: a uniform sample in which the means of columns replace NULLs. If
 * `even` is true, all rows have equal weights. filled: the same rows, but the
 * coordinates of the nearest centroid replace NULLs (filled_sample); NULL if
 * no NULL is to be replaced.
 */
PG_FUNCTION_INFO_V1(fastclust_version_sample);
Datum
fastclust_version_sample(PG_FUNCTION_ARGS)
{
	stored_version version = version_argument(fcinfo);
	training	t = {.method = METHOD_KMEANS,.options = version.options};
	double		wanted = wanted_argument(fcinfo);
	static const int rules_tenths[] = {6, 2, 2};	/* tenths in the sets of
													 * fc_split_rows */
	const fc_weighted_rows *sample;
	const fc_weighted_rows *filled;
	Datum		values[2];
	bool		nulls[2] = {false};

	SPI_connect();
	open_group_source(&t.source, &version, PG_GETARG_OID(1),
					  name_argument(fcinfo, 2));
	t.estimate = rows_to_sample(&t.source, version.options->sample, false);
	if (t.source.unit != NULL)
		sample = sample_of_units(&t, &t.source, dimension_of(&t), rules_tenths,
								 wanted);
	else
		sample = uniform_sample(&t, wanted);
	filled = filled_sample(&version, sample);
	nulls[1] = filled == sample;
	if (PG_GETARG_BOOL(4) && t.source.unit == NULL)
	{
		sample = even_rows(sample, (uint64) version.options->seed);
		filled = even_rows(filled, (uint64) version.options->seed);
	}
	values[0] = SPI_datumTransfer(PointerGetDatum(operator_of_rows(sample)), false, -1);
	values[1] = SPI_datumTransfer(PointerGetDatum(operator_of_rows(filled)), false, -1);
	SPI_finish();
	return row_result(fcinfo, values, nulls);
}

/*
 * Takes (version, rows). Converts unscaled rows to the input of the version's
 * operator: applies the version's scaling, then its kernel map. Skips the
 * scaling or the map if the record has none.
 */
PG_FUNCTION_INFO_V1(fastclust_rows_of_version);
Datum
fastclust_rows_of_version(PG_FUNCTION_ARGS)
{
	stored_version version = {.record = PG_GETARG_DATUM(0)};
	const fc_weighted_rows *rows = rows_of_operator(OPERATOR_ARG(1));

	rows = rescaled_rows(rows, no_scaling, scaling_of_version(&version, rows->d));
	rows = rows_with_map(field_value(&version, "map"), rows);
	PG_RETURN_POINTER(operator_of_rows(rows));
}

/*
 * Takes (version, relation, group_by, wanted). Returns SQL fragments (x, rows,
 * observed, weight) for a query on the group.
 *
 * x: expression that converts row t to the input of the operator; its
 * parameters are $1 center, $2 scale, $3 map and $4 operator. rows: the FROM
 * and WHERE clauses for about `wanted` rows, or for all rows if `wanted` is
 * infinite. observed: the same as x, but with NaN for missing values. weight:
 * the weight of the row; NULL without weights.
 */
PG_FUNCTION_INFO_V1(fastclust_version_query);
Datum
fastclust_version_query(PG_FUNCTION_ARGS)
{
	stored_version version = version_argument(fcinfo);
	bool		scaled = field(&version, "center") != 0;
	train_source source;
	row_choice	rows = {wanted_argument(fcinfo)};
	const char *texts[4];
	Datum		values[4];
	bool		nulls[4] = {false};

	SPI_connect();
	open_group_source(&source, &version, PG_GETARG_OID(1),
					  name_argument(fcinfo, 2));
	if (!isinf(rows.wanted))
		rows.estimate = rows_to_sample(&source, version.options->sample, false);
	rows.seed = version.options->seed;
	texts[0] = row_text(&source, scaled, version.map != NULL, "$4");
	texts[1] = rows_from(&source, rows, NULL);
	texts[2] = row_text(&source, scaled, version.map != NULL, "NULL::fastop");
	texts[3] = source.weight != NULL ? source.weight : "";
	nulls[3] = source.weight == NULL;
	for (int i = 0; i < lengthof(texts); i++)
		values[i] = SPI_datumTransfer(CStringGetTextDatum(texts[i]), false, -1);
	SPI_finish();
	return row_result(fcinfo, values, nulls);
}

/* ---- sketches of the present rows ---- */

/*
 * Puts a row (value, sketch, counts, rows) for each value of the column into
 * the result set. Stops and returns false if a value has fewer than `min`
 * rows.
 */
static bool
put_sketches(FunctionCallInfo fcinfo, const training *t, const stored_version *version,
			 const scan_request *request, const char *column, int64 min)
{
	bool		units = has_parts(&t->source);
	const char *columns = units ? "state, parts, sizes" : "state";
	bool		enough = true;
	char	   *query = units ? unit_scan_text(&t->source, column)
	: bucket_scan_text(&t->source, column, request->share > 1);

	if (column != NULL && has_loose_groups(&t->source))
		query = psprintf("SELECT fastclust_internal.group_of(%s, %d, b.value), %s"
						 " FROM (%s) b(value, %s)",
						 quote_literal_cstr(version->model), version->version, columns, query,
						 columns);
	scan_sums(t, request, query, QUERY_STABLE);

	/*
	 * unit_scan_text has no result for no rows; without a column, a row is
	 * put even then
	 */
	for (uint64 row = 0; row < Max(SPI_processed, column == NULL) && enough; row++)
	{
		scan_result result = {0};
		Datum		values[4] = {0};
		bool		nulls[4] = {row >= SPI_processed};

		if (row < SPI_processed)
		{
			values[0] = query_value(row, 1, &nulls[0]);
			result = read_sums(t, request, row);
		}
		values[1] = PointerGetDatum(result.sketch);
		values[2] = PointerGetDatum(result.counts);
		values[3] = Int64GetDatum(result.n);
		nulls[1] = result.sketch == NULL;
		nulls[2] = result.counts == NULL;
		enough = result.n >= min;
		if (enough)
			put_row(fcinfo, values, nulls);
	}
	return enough;
}

/*
 * Takes (version, relation, column). Returns a row (value, sketch, counts,
 * rows) for each value of the column, from one scan of the relation as the
 * version reads it. Without a column it returns one row, whose sketch contains
 * only a share of the rows, at most about 262144; `rows` counts all of them.
 */
PG_FUNCTION_INFO_V1(fastclust_sketch_rows);
Datum
fastclust_sketch_rows(PG_FUNCTION_ARGS)
{
	stored_version version;
	char	   *column;
	char	   *group_by;
	training	t = {
		.method = METHOD_KMEANS,
		.options = options_of_text("{}"),
		.groups = 1
	};
	scan_request request = {.share = 1};
	query_argument record = {"stored_versions"};
	bool		null;

	fastclust_begin_rows(fcinfo);
	version = version_argument(fcinfo);
	if (version.sketch == NULL)
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				errmsg("training_sketch of the version must not be NULL"));
	column = name_argument(fcinfo, 2);
	SPI_connect();
	group_by = version.options->group_by;
	open_version_source(&t.source, &version, PG_GETARG_OID(1),
						column != NULL && group_by != NULL &&
						strcmp(column, group_by) == 0
						? column
						: NULL);
	if (column != NULL)
		(void) column_type(t.source.id, column);
	request.spec = spec_without_sample(fc_sketch_spec(version.sketch));
	record.value = version.record;
	request.drift_spec = (fc_drift_spec *)
		DatumGetPointer(query_datum("SELECT drift_spec_of($1)", 1, &record,
									QUERY_STABLE, &null));
	if (t.source.weight != NULL)
		t.estimate = measure_weights(&t.source);
	if (column == NULL)
	{
		if (t.source.weight == NULL)
			t.estimate = estimated_rows(&t.source);
		request.share = sketched_share(&t, 1);
	}
	if (!put_sketches(fcinfo, &t, &version, &request, column,
					  request.share > 1 ? request.share * (int64) MIN_SHARE_ROWS
					  : 0))
	{
		request.share = 1;		/* the planner's estimate was far too high:
								 * sketch all rows */
		(void) put_sketches(fcinfo, &t, &version, &request, column, 0);
	}
	SPI_finish();
	return (Datum) 0;
}

/*
 * read_row.c - encodes rows given as records or as listed columns; see
 * encode.h
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "parser/parse_coerce.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "numerics/rows.h"
#include "pg/encode/category.h"
#include "pg/encode/encode.h"

/* ---- the encoder ---- */

json_path
path_of_feature(const char *column, const char *path)
{
	json_path	result = {.text = path};

	if (path == NULL)
		result.label = psprintf("column \"%s\"", column);
	else
	{
		result.length = strlen(path);
		result.label = psprintf("column \"%s\" -> %s", column, path);
	}
	return result;
}

prepared_encoder *
prepare_encoder(const fc_encoder_header *header, MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	prepared_encoder *encoder = palloc0(sizeof(prepared_encoder));
	fc_encoder *view = &encoder->view;

	encoder->context = context;
	fc_encoder_view(header, view);
	fc_encoder_prepare(view, palloc(fc_encoder_prepared_size(view)));
	encoder->names = palloc(view->columns * sizeof(char *));
	encoder->plain = palloc(view->columns * sizeof(int));
	encoder->paths = palloc(view->features * sizeof(json_path));
	encoder->cells = palloc0(view->features * sizeof(fc_feature_cell));
	encoder->zones = palloc0(view->features * sizeof(pg_tz *));
	encoder->fill = view->fill;
	encoder->imputes = true;
	for (Size i = 0; i < view->columns; i++)
		encoder->names[i] = encoder_text(view, view->column[i].name);
	for (Size i = 0; i < view->features; i++)
	{
		const fc_encoder_feature *feature = &view->feature[i];
		bool		path = feature->path.length > 0;

		encoder->paths[i] = path_of_feature(encoder->names[feature->column],
											path ? encoder_text(view, feature->path) : NULL);
		encoder->plain[feature->column] = (feature->kind == FC_FEATURE_NUMBER && !path &&
										   !feature->log && !feature->missing &&
										   feature->cycle == FC_CYCLE_NONE
										   ? (int) feature->first
										   : -1);
		if (feature->nulls != FC_NULLS_IMPUTE)
			encoder->imputes = false;
		if (feature->type.length == 0)
			continue;
		if (feature->kind == FC_FEATURE_TIMESTAMP)
			encoder->zones[i] = named_zone(encoder_text(view, feature->type),
										   encoder->paths[i].label);
		else if (encoder->finders == NULL)
			encoder->finders = palloc0(view->features * sizeof(category_finder));
	}
	MemoryContextSwitchTo(old);
	return encoder;
}

void
keep_missing(prepared_encoder *encoder)
{
	const fc_encoder *view = &encoder->view;
	Size		bytes = view->dim * sizeof(double);
	double	   *fill = memcpy(MemoryContextAlloc(encoder->context, bytes),
							  encoder->fill, bytes);

	for (Size i = 0; i < view->features; i++)
	{
		const fc_encoder_feature *feature = &view->feature[i];

		if (feature->kind == FC_FEATURE_CATEGORY && feature->missing)
			continue;
		for (Size j = 0; j < fc_feature_values(feature); j++)
			fill[feature->first + j] = NAN;
	}
	encoder->view.fill = fill;
}

/*
 * Returns the name of an SQL type whose values a feature accepts, for a hint.
 */
static const char *
sql_type_of(const fc_encoder_feature *feature)
{
	if (feature->path.length > 0)
		return "jsonb";
	switch (feature->kind)
	{
		case FC_FEATURE_NUMBER:
			return "numeric";
		case FC_FEATURE_CATEGORY:
			return "text";
		case FC_FEATURE_VECTOR:
			return "real[]";
		default:
			return feature_kind_name(feature->kind);
	}
}

/*
 * Returns the name of a type that a feature accepts and to which a function
 * casts values of another type, or NULL. Of intervals, it is not known whether
 * they were times of day: the cast from a timestamp gives a time, and the text
 * of a time of day is an interval, too.
 */
static const char *
sql_cast_of(const fc_encoder_feature *feature, Oid type)
{
	static const struct
	{
		fc_feature_kind kind;
		Oid			type;
		const char *name;
	}			casts[] = {
		{FC_FEATURE_NUMBER, NUMERICOID, "numeric"},
		{FC_FEATURE_NUMBER, INT4OID, "integer"},
		{FC_FEATURE_BOOLEAN, BOOLOID, "boolean"},
		{FC_FEATURE_DATE, DATEOID, "date"},
		{FC_FEATURE_TIMESTAMP, TIMESTAMPOID, "timestamp"},
		{FC_FEATURE_INTERVAL, TIMEOID, "time"}
	};
	Oid			function;

	if (feature->path.length > 0)
		return NULL;
	for (Size i = 0; i < lengthof(casts); i++)
		if ((fc_feature_kind) feature->kind == casts[i].kind &&
			find_coercion_pathway(casts[i].type, type, COERCION_EXPLICIT, &function) ==
			COERCION_PATH_FUNC)
			return casts[i].name;
	return NULL;
}

/* Raises an error unless a column is of the kind that the encoder learned. */
static void
check_kind(const prepared_encoder *encoder, Size column,
		   const value_reader *reader)
{
	const fc_encoder_feature
			   *feature = (&encoder->view
						   .feature[encoder->view.column[column].first_feature]);
	bool		paths = feature->path.length > 0;
	const char *name = quote_identifier(encoder->names[column]);
	const char *cast;

	if (feature->cycle != FC_CYCLE_NONE && feature->type.length == 0 &&
		reader->source == SOURCE_TIMESTAMPTZ)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
				errmsg("column \"%s\" is of type %s, but the encoder learned it without a time zone",
					   encoder->names[column], format_type_be(reader->type)),
				errhint("Use %s AT TIME ZONE 'UTC', or the time zone of the learned rows.",
						name));
	if (paths ? reader->source == SOURCE_JSONB
		: reader->kind == (fc_feature_kind) feature->kind)
		return;
	cast = reader->kind == FC_FEATURE_CATEGORY || feature->kind == FC_FEATURE_CATEGORY
		? sql_type_of(feature)
		: sql_cast_of(feature, reader->type);
	ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			errmsg("column \"%s\" is of type %s, but the encoder learned it as a %s",
				   encoder->names[column], format_type_be(reader->type),
				   paths ? "jsonb"
				   : feature->kind == FC_FEATURE_INTERVAL ? "time of day or an interval"
				   : feature_kind_name(feature->kind)),
			cast == NULL ? 0
			: errhint("Convert it in a view or a subquery: (%s)::%s AS %s.", name, cast, name));
}

/* ---- cells into coordinates ---- */

static void
check_width(const prepared_encoder *encoder, Size i)
{
	const fc_encoder_feature *feature = &encoder->view.feature[i];

	if (encoder->cells[i].length != fc_feature_values(feature))
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("%s has %u dimensions, but the encoder was learned with %u",
					   encoder->paths[i].label, encoder->cells[i].length,
					   (uint32) fc_feature_values(feature)));
}

/*
 * Replaces the text of a cell by the text of the category that equals it, if
 * there is one.
 */
static void
name_category(prepared_encoder *encoder, Size i)
{
	const fc_encoder *view = &encoder->view;
	const fc_encoder_feature *feature = &view->feature[i];
	fc_feature_cell *cell = &encoder->cells[i];
	uint32		place;

	if (feature->type.length == 0)
		return;
	place = find_category(encoder, i, cell->text, cell->length);
	if (place < feature->categories)
	{
		fc_encoder_text category = fc_category(view, feature, place)->text;

		cell->text = view->text +category.start;
		cell->length = category.length;
	}
}

/* Reads the value of a column into the cells of its features. */
static void
read_column(prepared_encoder *encoder, Size column, value_reader *reader,
			Datum value, bool null)
{
	const fc_encoder_column *features = &encoder->view.column[column];
	Size		first = features->first_feature;
	const Jsonb *jsonb;

	if (null)
	{
		for (Size i = first; i < first + features->features; i++)
			encoder->cells[i].kind = FC_CELL_NULL;
		return;
	}
	if (likely(reader->source != SOURCE_JSONB))
	{
		read_value(reader, value, &encoder->cells[first]);
		if (reader->kind == FC_FEATURE_VECTOR)
			check_width(encoder, first);
		if (encoder->view.feature[first].cycle != FC_CYCLE_NONE)
			make_cyclic(reader, (fc_cycle) encoder->view.feature[first].cycle,
						encoder->zones[first], &encoder->cells[first]);
		else if (encoder->finders != NULL)
			name_category(encoder, first);
		return;
	}
	jsonb = DatumGetJsonbP(value);
	for (Size i = first; i < first + features->features; i++)
	{
		fc_feature_cell *cell = &encoder->cells[i];
		fc_feature_kind kind = (fc_feature_kind) encoder->view.feature[i].kind;

		if (read_json(jsonb, &encoder->paths[i], kind == FC_FEATURE_CATEGORY,
					  cell) != kind &&
			kind != FC_FEATURE_CATEGORY)
			cell->kind = FC_CELL_NULL;
	}
}

/* Computes the raw coordinates of the features of a column. */
static inline void
encode_column(prepared_encoder *encoder, Size column, value_reader *reader,
			  Datum value, bool null, double *x)
{
	const fc_encoder_column *features = &encoder->view.column[column];
	fc_feature_cell *cell = &encoder->cells[features->first_feature];
	int			plain = encoder->plain[column];

	if (likely(plain >= 0 && !null && read_plain_number(reader, value, cell)))
	{
		x[plain] = cell->number;
		return;
	}
	if (null && plain >= 0)
	{
		cell->kind = FC_CELL_NULL;
		x[plain] = encoder->view.fill[plain];
		return;
	}
	read_column(encoder, column, reader, value, null);
	fc_encode(&encoder->view, features->first_feature, features->features,
			  encoder->cells, x);
}

/*
 * Returns false if a NULL causes the row to be skipped. Raises an error for a
 * NULL in a feature with the option "nulls": "error".
 */
static bool
check_nulls(const prepared_encoder *encoder)
{
	for (Size i = 0; i < encoder->view.features; i++)
	{
		if (encoder->cells[i].kind != FC_CELL_NULL ||
			encoder->view.feature[i].nulls == FC_NULLS_IMPUTE)
			continue;
		if (encoder->view.feature[i].nulls == FC_NULLS_SKIP)
			return false;
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				errmsg("%s is NULL", encoder->paths[i].label),
				errdetail("The encoder was learned with option \"nulls\": \"error\" for this column."));
	}
	return true;
}

void
reject_far(const prepared_encoder *encoder, const double *x, const double *raw)
{
	const fc_encoder *view = &encoder->view;

	for (Size i = 0; i < view->features; i++)
		if (!fc_all_finite(x + view->feature[i].first, view->feature[i].width))
		{
			/*
			 * Value that the message shows: the raw coordinate with its
			 * logarithm undone, or the number in the current row's cell. It
			 * is infinite if the cell has no number.
			 */
			double		number = (raw != NULL ? raw[view->feature[i].first]
								  : encoder->cells[i].kind == FC_CELL_NUMBER
								  ? encoder->cells[i].number
								  : (double) INFINITY);

			if (raw != NULL && view->feature[i].log)
				number = copysign(expm1(fabs(number)), number);
			ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					errmsg("%s is %g, too far outside the sample that the encoder was learned from",
						   encoder->paths[i].label, number));
		}
}

/*
 * Scales the encoded row x if `scaled` is true. Returns false if a NULL causes
 * the row to be skipped.
 */
static bool
finish_row(const prepared_encoder *encoder, bool scaled, double *x)
{
	if (!encoder->imputes && !check_nulls(encoder))
		return false;
	if (!scaled)
		return true;
	fc_rescale_rows(x, 1, encoder->view.dim, encoder->view.center,
					encoder->view.scale, x);
	if (unlikely(!fc_all_finite(x, encoder->view.dim)))
		reject_far(encoder, x, NULL);
	return true;
}

/* ---- records ---- */

/*
 * Raises an error for a column that the row does not have. If `type` is not
 * NULL, the hint proposes to add the column as a NULL of this SQL type.
 */
static void
reject_missing(TupleDesc desc, const char *name, const char *type)
{
	const char **names = palloc((Size) Max(desc->natts, 1) * sizeof(char *));
	int			count = 0;

	for (int i = 0; i < desc->natts; i++)
		if (!TupleDescAttr(desc, i)->attisdropped)
			names[count++] = NameStr(TupleDescAttr(desc, i)->attname);
	ereport(ERROR, errcode(ERRCODE_UNDEFINED_COLUMN),
			errmsg("the row has no column \"%s\"", name),
			count == 0 ? errhint("The row has no columns.")
			: strcmp(names[0], "f1") == 0
			? errhint("ROW(...) does not name its columns%s: pass rows of a table, or name all columns, as in (SELECT ... AS %s) t.",
					  OidIsValid(get_extension_oid("citus", true))
					  ? ", and Citus loses the names of a view's columns" : "",
					  quote_identifier(name))
			: errhint("%s%s", name_hint(name, (int) strlen(name), names, count,
										"Its columns are"),
					  type == NULL ? ""
					  : psprintf(" If its value is unknown, add NULL::%s AS %s.", type,
								 quote_identifier(name))));
}

static int
find_column(TupleDesc desc, const char *name, const char *type)
{
	int			found = -1;

	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attisdropped ||
			strcmp(NameStr(TupleDescAttr(desc, i)->attname), name) != 0)
			continue;
		if (found >= 0)
			ereport(ERROR, errcode(ERRCODE_AMBIGUOUS_COLUMN),
					errmsg("the row has more than one column \"%s\"", name),
					errhint("Rename the other columns, or leave them out."));
		found = i;
	}
	if (found < 0)
		reject_missing(desc, name, type);
	return found;
}

/*
 * Compares the definition of the type as well as its OID, because a call site
 * may outlive ALTER TABLE, as an expression in PL/pgSQL does.
 */
bool
has_row_type(const record_reader *record, HeapTupleHeader row)
{
	return record->shape != 0 &&
		record->type == HeapTupleHeaderGetTypeId(row) &&
		record->typmod == HeapTupleHeaderGetTypMod(row) &&
		record->shape ==
		assign_record_type_identifier(record->type, record->typmod);
}

void
find_columns(record_reader *record, HeapTupleHeader row,
			 const char *const *names, const char *const *types, Size count, bool as_text)
{
	MemoryContext old;

	record->shape = 0;			/* stays 0 after an error, so that the next
								 * row looks up the columns again */
	MemoryContextReset(record->context);
	old = MemoryContextSwitchTo(record->context);
	record->desc = lookup_rowtype_tupdesc_copy(HeapTupleHeaderGetTypeId(row),
											   HeapTupleHeaderGetTypMod(row));
	record->attribute = palloc(count * sizeof(int));
	record->readers = palloc(count * sizeof(value_reader));
	record->values = palloc((Size) Max(record->desc->natts, 1) * sizeof(Datum));
	record->nulls = palloc((Size) Max(record->desc->natts, 1) * sizeof(bool));
	for (Size i = 0; i < count; i++)
	{
		record->attribute[i] = find_column(record->desc, names[i],
										   types == NULL ? NULL : types[i]);
		make_value_reader(TupleDescAttr(record->desc, record->attribute[i])->atttypid,
						  names[i], as_text, record->context,
						  &record->readers[i]);
	}
	MemoryContextSwitchTo(old);
	record->typmod = HeapTupleHeaderGetTypMod(row);
	record->type = HeapTupleHeaderGetTypeId(row);
	record->shape = assign_record_type_identifier(record->type, record->typmod);
}

void
read_record(record_reader *record, HeapTupleHeader row)
{
	HeapTupleData tuple = {
		.t_len = HeapTupleHeaderGetDatumLength(row),
		.t_data = row
	};

	ItemPointerSetInvalid(&tuple.t_self);
	heap_deform_tuple(&tuple, record->desc, record->values, record->nulls);
}

/*
 * Finds the columns and checks their kinds. Sets the shape last: if an error
 * is caught, the next row of this type must look up the columns again.
 */
static void
find_encoded_columns(const prepared_encoder *encoder, record_reader *record,
					 HeapTupleHeader row)
{
	const fc_encoder *view = &encoder->view;
	const char **types = palloc(view->columns * sizeof(char *));
	uint64		shape;

	for (Size i = 0; i < view->columns; i++)
		types[i] = sql_type_of(&view->feature[view->column[i].first_feature]);
	find_columns(record, row, encoder->names, types, view->columns, false);
	pfree(types);
	shape = record->shape;
	record->shape = 0;
	for (Size i = 0; i < encoder->view.columns; i++)
		check_kind(encoder, i, &record->readers[i]);
	record->shape = shape;
}

bool
encode_record(prepared_encoder *encoder, record_reader *record,
			  HeapTupleHeader row, bool scaled, double *x)
{
	if (unlikely(!has_row_type(record, row)))
		find_encoded_columns(encoder, record, row);
	read_record(record, row);
	for (Size i = 0; i < encoder->view.columns; i++)
		encode_column(encoder, i, &record->readers[i],
					  record->values[record->attribute[i]],
					  record->nulls[record->attribute[i]], x);
	return finish_row(encoder, scaled, x);
}

bool
encode_numbers(prepared_encoder *encoder, const double *values,
			   const bool *nulls, double *x)
{
	for (Size i = 0; i < encoder->view.features; i++)
	{
		int			plain = encoder->plain[encoder->view.feature[i].column];

		encoder->cells[i].kind = nulls[i] ? FC_CELL_NULL : FC_CELL_NUMBER;
		encoder->cells[i].number = values[i];
		if (plain >= 0)
			x[plain] = nulls[i] ? encoder->view.fill[plain] : values[i];
		else
			fc_encode(&encoder->view, i, 1, encoder->cells, x);
	}
	return finish_row(encoder, false, x);
}

/* ---- listed columns ---- */

static void
reject_count(const prepared_encoder *encoder, int given)
{
	StringInfoData names;

	initStringInfo(&names);
	for (Size i = 0; i < encoder->view.columns; i++)
		appendStringInfo(&names, "%s%s", i > 0 ? ", " : "", encoder->names[i]);
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg_plural("%d column is given, but the encoder has %zu",
						  "%d columns are given, but the encoder has %zu",
						  (unsigned long) given, given, encoder->view.columns),
			errdetail("The columns of the encoder are, in this order, %s.", names.data));
}

static void
make_listed_readers(FunctionCallInfo fcinfo, int first, prepared_encoder *encoder)
{
	Size		columns = encoder->view.columns;
	value_reader *readers;

	if (get_fn_expr_variadic(fcinfo->flinfo))
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
				errmsg("columns must be given one by one, not as a VARIADIC array"));
	if ((Size) (PG_NARGS() - first) != columns)
		reject_count(encoder, PG_NARGS() - first);
	readers = MemoryContextAlloc(encoder->context, columns * sizeof(value_reader));
	for (Size i = 0; i < columns; i++)
	{
		make_value_reader(get_fn_expr_argtype(fcinfo->flinfo, first + (int) i),
						  encoder->names[i], false, encoder->context, &readers[i]);
		check_kind(encoder, i, &readers[i]);
	}
	encoder->listed = readers;
}

bool
encode_arguments(FunctionCallInfo fcinfo, prepared_encoder *encoder, int first,
				 bool scaled, double *x)
{
	const NullableDatum *columns = fcinfo->args + first;

	if (unlikely(encoder->listed == NULL))
		make_listed_readers(fcinfo, first, encoder);
	for (Size i = 0; i < encoder->view.columns; i++)
		encode_column(encoder, i, &encoder->listed[i], columns[i].value,
					  columns[i].isnull, x);
	return finish_row(encoder, scaled, x);
}

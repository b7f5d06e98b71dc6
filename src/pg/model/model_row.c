/*
 * model_row.c - converts a row in a function's arguments to the coordinates of
 * a model's operator; see model.h
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "encode/encoder.h"
#include "numerics/rows.h"
#include "operator/operator.h"
#include "operator/partial.h"
#include "pg/base/arguments.h"
#include "pg/base/memory.h"
#include "pg/base/vectors.h"
#include "pg/encode/encode.h"
#include "pg/model/model.h"
#include "rkhs/map.h"

/* Maximum number of columns of the example row in a hint. A guess. */
#define MAX_CONSTANTS	8

/* ---- buffers ---- */

/*
 * Makes the buffers of the call state large enough for a model. call->row has
 * d doubles for the row, d for its columns and, with a map, `rank` for the
 * row's kernel features. call->scratch has scratch space of the operator or,
 * with a map, the features as floats followed by scratch space of the map.
 */
static void
reserve(FunctionCallInfo fcinfo, model_call_state *call, const served_model *model)
{
	Size		doubles = 2 * model->d;
	Size		floats = fc_operator_scratch(&model->view);

	if (model->observed)
		floats = Max(floats, fc_partial_scratch(&model->view));
	if (model->map_header != NULL)
	{
		doubles += model->map.rank;
		floats = Max(floats,
					 model->map.rank + fc_kernel_map_scratch(&model->map));
	}
	call->row = grown(fcinfo->flinfo->fn_mcxt, call->row, &call->row_doubles,
					  doubles, sizeof(double));
	call->scratch.floats = grown(fcinfo->flinfo->fn_mcxt, call->scratch.floats,
								 &call->scratch.count, floats, sizeof(float));
	call->ready = model;
}

/* ---- coordinates ---- */

/*
 * Returns the kernel features phi(x) as doubles. Raises an error if they
 * overflow.
 */
static const double *
features_of(const model_call_state *call, const served_model *model, const double *x)
{
	const fc_kernel_map *map = &model->map;
	double	   *features = call->row + 2 * model->d;
	float	   *y = call->scratch.floats;
	fc_scratch	behind = {y + map->rank, call->scratch.count - map->rank};

	fc_kernel_map_features(map, x, behind, y);
	if (!fc_all_finite_float(y, map->rank))
		ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				errmsg("kernel values of the row are out of range"),
				errhint("Scale the data down."));
	for (Size i = 0; i < map->rank; i++)
		features[i] = (double) y[i];
	return features;
}

/*
 * Returns the row in the operator's coordinates. If the model has a center,
 * the row is scaled: (x - center) / scale. After that it is replaced by its
 * kernel features if the model has a map, or scaled to length 1 if the metric
 * is cosine. Returns NULL if the metric is cosine and the row is zero.
 */
static const double *
transformed(const model_call_state *call, const served_model *model, const vector *v)
{
	double	   *buffer = call->row;
	const double *x = vector_doubles(v, buffer);
	vector		moved = {buffer, NULL, v->d};

	if (model->center == NULL)
		check_single_precision(v);
	else
	{
		check_finite(v);
		for (int i = 0; i < v->d; i++)
			buffer[i] = (x[i] - model->center[i]) / model->scale[i];
		check_single_precision(&moved);
		x = buffer;
	}
	if (model->map_header != NULL)
		return features_of(call, model, x);
	if (model->view.metric != FC_COSINE)
		return x;
	return fc_unit_row(x, (size_t) v->d, buffer) ? buffer : NULL;
}

/*
 * Reads an encoded row, in which NaN marks missing values, into *row: scales
 * it, finds its nearest centroid, and replaces the missing values by
 * coordinates of the centroid. Returns false if no value is observed.
 */
static bool
read_partial_row(const model_call_state *call, const vector *v, model_row *row)
{
	const served_model *model = row->model;
	double	   *filled = call->row;
	double	   *partial = call->row + model->d;
	vector		moved = {filled, NULL, v->d};
	Size		observed = fc_partial_observed(v->doubles, model->d);

	if (observed == 0)
		return false;
	if (model->center != NULL)
		fc_rescale_rows(v->doubles, 1, model->d, model->center, model->scale, partial);
	for (Size i = 0; i < model->d; i++)
		filled[i] = isnan(partial[i]) ? 0 : partial[i];
	check_single_precision(&moved);
	row->nearest = fc_partial_assign(&model->view, partial, row->scratch);
	row->labelled = true;
	memcpy(filled, partial, model->d * sizeof(double));
	fc_partial_fill(&model->view, row->nearest, filled);
	row->x = filled;
	row->partial = partial;
	row->factor = (double) model->d / (double) observed;
	return true;
}

/* ---- values in a list ---- */

static vector
list_argument(FunctionCallInfo fcinfo, model_call_state *call,
			  const served_model *model, int argument)
{
	double	   *joined = call->row + model->d;
	vector		v = {joined, NULL, 0};

	if (ARR_NDIM(PG_GETARG_ARRAYTYPE_P(argument + 2)) > 0)
		v = read_vector(&call->reader, PG_GETARG_DATUM(argument + 2), "x");
	if ((Size) v.d + 2 == model->values)
	{
		joined[0] = PG_GETARG_FLOAT8(argument);
		joined[1] = PG_GETARG_FLOAT8(argument + 1);
		memcpy(joined + 2, v.doubles, (Size) v.d * sizeof(double));
		v.doubles = joined;
	}
	v.d += 2;
	return v;
}

/*
 * Encodes listed values without NULLs in place, from the last value to the
 * first. The coordinates of value i begin at index i or later, so they
 * overwrite no value that is still to be encoded.
 */
static vector
encoded_values(const model_call_state *call, const served_model *model, vector v)
{
	const fc_encoder *encoder;
	double	   *raw = call->row + model->d;

	if (!model->encodes_numbers)
		return v;
	encoder = &model->encoder->view;
	memmove(raw, vector_doubles(&v, call->row), model->values * sizeof(double));
	for (Size i = encoder->features; i-- > 0;)
	{
		const fc_encoder_feature *feature = &encoder->feature[i];

		fc_encode_number(feature, raw[i], raw + feature->first);
		if (feature->missing)
			raw[feature->first + feature->width - 1] = 0.0;
	}
	return (vector)
	{
		raw, NULL, (int) model->d
	};
}

/*
 * Returns SQL text for a hint, a list with a constant for each column of the
 * model. Returns NULL if there are too many columns, or if no constant suits
 * one of them.
 */
static char *
row_of_constants(const prepared_encoder *prepared)
{
	static const char *const constants[] = {
		[FC_FEATURE_NUMBER] = "1",
		[FC_FEATURE_BOOLEAN] = "true",
		[FC_FEATURE_DATE] = "current_date",
		[FC_FEATURE_TIMESTAMP] = "now()",
		[FC_FEATURE_INTERVAL] = "interval '1 hour'",
		[FC_FEATURE_CATEGORY] = "'some value'"
	};
	const fc_encoder *encoder = &prepared->view;
	StringInfoData row;

	initStringInfo(&row);
	for (Size i = 0; i < encoder->features; i++)
	{
		const fc_encoder_feature *feature = &encoder->feature[i];

		if (i == MAX_CONSTANTS ||
			(Size) feature->kind >= lengthof(constants) ||
			feature->path.length > 0)
			return NULL;
		appendStringInfo(&row, "%s%s AS %s", i > 0 ? ", " : "",
						 feature->kind == FC_FEATURE_TIMESTAMP && feature->cycle != FC_CYCLE_NONE &&
						 feature->type.length == 0
						 ? "localtimestamp"
						 : constants[feature->kind],
						 quote_identifier(prepared->names[feature->column]));
	}
	return row.data;
}

static void
reject_list(const served_model *model, Size feature)
{
	char	   *name = quote_literal_cstr(text_to_cstring(model->name));
	char	   *row = (model->group_by == NULL ? row_of_constants(model->encoder)
					   : NULL);

	ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
			errmsg("model \"%s\" takes rows, not lists of numbers",
				   text_to_cstring(model->name)),
			errdetail("Its %s is not a number.", model->encoder->paths[feature].label),
			row == NULL
			? errhint("Pass the whole row, by the name of the table: SELECT predict(%s, t)"
					  " FROM some_table t.",
					  name)
			: errhint("Pass the whole row, by the name of the table: SELECT predict(%s, t)"
					  " FROM some_table t."
					  " To predict from values, make a row of them: (SELECT %s) t.",
					  name, row));
}

static void
require_numbers(const served_model *model)
{
	const fc_encoder *encoder = &model->encoder->view;

	for (Size i = 0; i < encoder->features; i++)
		if (encoder->feature[i].kind != FC_FEATURE_NUMBER)
			reject_list(model, i);
}

/* ---- records ---- */

static record_reader *
new_record(FunctionCallInfo fcinfo)
{
	record_reader *record = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt,
												   sizeof(record_reader));

	record->context = AllocSetContextCreate(fcinfo->flinfo->fn_mcxt,
											"fastclust columns",
											ALLOCSET_SMALL_SIZES);
	return record;
}

/*
 * Returns the call site's reader of records. It reads the columns of one model
 * at a time, and looks them up again for another model.
 */
static record_reader *
record_of(FunctionCallInfo fcinfo, model_call_state *call, const served_model *model)
{
	if (call->record == NULL)
		call->record = new_record(fcinfo);
	if (call->record_model != model)
		call->record->shape = 0;
	call->record_model = model;
	return call->record;
}

/* Makes the reader of a text column read the texts as vectors. */
static void
read_texts_as_vectors(value_reader *reader)
{
	vector_form form = form_of_type(reader->type);

	if (form != VECTOR_TEXT && form != VECTOR_LITERAL)
		return;
	reader->source = SOURCE_ARRAY;
	reader->kind = FC_FEATURE_VECTOR;
	reader->vectors.form = form;
}

/* Reads the vector column of a record. Returns false if it is NULL. */
static bool
vector_of_record(record_reader *record, const served_model *model,
				 HeapTupleHeader row, vector *v)
{
	const char *name = model->vector_column;
	fc_feature_cell cell;

	if (!has_row_type(record, row))
	{
		find_columns(record, row, &name, NULL, 1, false);
		read_texts_as_vectors(&record->readers[0]);
	}
	read_record(record, row);
	if (record->nulls[record->attribute[0]])
		return false;
	if (record->readers[0].kind != FC_FEATURE_VECTOR)
		ereport(ERROR, errcode(ERRCODE_DATATYPE_MISMATCH),
				errmsg("column \"%s\" of the row is not a vector", name));
	read_value(&record->readers[0], record->values[record->attribute[0]],
			   &cell);
	*v = (vector)
	{
		cell.kind == FC_CELL_DOUBLES ? cell.doubles : NULL,
			cell.kind == FC_CELL_FLOATS ? cell.floats : NULL,
			(int) cell.length
	};
	return true;
}

static bool
record_argument(FunctionCallInfo fcinfo, model_call_state *call,
				const served_model *model, int argument, vector *v)
{
	HeapTupleHeader row = PG_GETARG_HEAPTUPLEHEADER(argument);
	record_reader *record = record_of(fcinfo, call, model);
	double	   *raw = call->row + model->d;

	*v = (vector)
	{
		raw, NULL, (int) model->d
	};
	return encode_record(model->encoder, record, row, false, raw);
}

/* ---- rows of any form ---- */

/* Raises an error unless there are as many values as the model takes. */
static void
check_length(const vector *v, const served_model *model, row_form form)
{
	if ((Size) v->d == model->values)
		return;
	if (form != ROW_LIST && form != ROW_COLUMNS)
		check_vector_dim(v, model->values, "the model");
	ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
			errmsg_plural("%d value is given, but model \"%s\" takes %zu",
						  "%d values are given, but model \"%s\" takes %zu", v->d,
						  v->d, text_to_cstring(model->name), model->values),
			errhint("Pass the columns in the order of the training, or a whole row of the table."));
}

/* Returns true if there is a NULL among the listed values. */
static bool
has_null(FunctionCallInfo fcinfo, const model_call_state *call, int argument,
		 row_form form)
{
	int			listed = (form == ROW_LIST ? 2
						  : form == ROW_COLUMNS ? call->columns->d
						  : 0);

	for (int i = 0; i < listed; i++)
		if (PG_ARGISNULL(argument + i))
			return true;
	return form == ROW_LIST &&
		array_contains_nulls(PG_GETARG_ARRAYTYPE_P(argument + 2));
}

/*
 * Encodes listed values, some of which are NULL, in the same way as the
 * columns of a whole row. Returns false if the rows of the model are vectors,
 * or if a NULL causes the row to be skipped.
 */
static bool
values_with_nulls(FunctionCallInfo fcinfo, model_call_state *call,
				  const served_model *model, int argument, row_form form,
				  vector *v)
{
	int			first = form == ROW_LIST ? 2 : call->columns->d;
	int			more = 0;
	Datum	   *elements;
	bool	   *element_nulls;
	bool	   *nulls;
	double	   *values = call->row;

	if (model->encoder == NULL)
		return false;
	if (form == ROW_LIST)
		deconstruct_array(PG_GETARG_ARRAYTYPE_P(argument + 2), FLOAT8OID,
						  sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
						  &elements, &element_nulls, &more);
	*v = (vector)
	{
		call->row + model->d, NULL, first + more
	};
	check_length(v, model, form);
	if (form == ROW_COLUMNS)
		(void) read_columns(fcinfo, call->columns, values);
	nulls = palloc((Size) v->d * sizeof(bool));
	for (int i = 0; i < v->d; i++)
	{
		nulls[i] = i < first ? PG_ARGISNULL(argument + i)
			: element_nulls[i - first];
		if (form == ROW_LIST)
			values[i] = nulls[i]
				? 0.0
				: DatumGetFloat8(i < first
								 ? PG_GETARG_DATUM(argument + i)
								 : elements[i - first]);
	}
	if (model->observed)
	{
		vector		given = {values, NULL, v->d};	/* 0 for a NULL */

		check_finite(&given);
	}
	v->d = (int) model->d;
	return encode_numbers(model->encoder, values, nulls, call->row + model->d);
}

/*
 * Reads the row of a call. Sets *encoded if the encoder wrote the row, in
 * which NaN then marks missing values. Returns false in the cases in which
 * read_model_row does.
 */
static bool
vector_argument(FunctionCallInfo fcinfo, model_call_state *call,
				const served_model *model, int argument, row_form form,
				vector *v, bool *encoded)
{
	*encoded = form == ROW_RECORD && model->encoder != NULL;
	if (*encoded)
		return record_argument(fcinfo, call, model, argument, v);
	if (model->encoder != NULL && !model->takes_numbers)
		require_numbers(model);
	*encoded = has_null(fcinfo, call, argument, form);
	if (*encoded)
		return values_with_nulls(fcinfo, call, model, argument, form, v);
	if (form == ROW_RECORD)
	{
		if (!vector_of_record(record_of(fcinfo, call, model), model,
							  PG_GETARG_HEAPTUPLEHEADER(argument), v))
			return false;
	}
	else if (form == ROW_LIST)
		*v = list_argument(fcinfo, call, model, argument);
	else if (form == ROW_COLUMNS)
	{
		*v = (vector)
		{
			call->row + model->d, NULL, call->columns->d
		};
		if ((Size) v->d == model->values)
			(void) read_columns(fcinfo, call->columns, call->row + model->d);
	}
	else
		*v = read_vector(&call->reader, PG_GETARG_DATUM(argument), "x");
	check_length(v, model, form);
	*v = encoded_values(call, model, *v);
	return true;
}

/* Looks up the types of the columns that a call lists. */
static pg_noinline void
find_column_types(FunctionCallInfo fcinfo, model_call_state *call, int argument,
				  int count)
{
	column_reader *reader = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt,
											   sizeof(column_reader));

	make_column_reader(fcinfo, argument, count, reader);
	call->columns = reader;
}

/*
 * Reads the group of a record from the given column: sets *value and its type.
 * Returns false if the value is NULL.
 */
static bool
group_of_record(FunctionCallInfo fcinfo, model_call_state *call, const char *column,
				HeapTupleHeader row, Oid *type, Datum *value)
{
	record_reader *record;
	int			attribute;

	if (call->group == NULL)
		call->group = new_record(fcinfo);
	record = call->group;
	if (!has_row_type(record, row) || strcmp(call->group_column, column) != 0)
	{
		find_columns(record, row, &column, NULL, 1, true);
		call->group_column = MemoryContextStrdup(record->context, column);
	}
	read_record(record, row);
	attribute = record->attribute[0];
	*type = TupleDescAttr(record->desc, attribute)->atttypid;
	*value = record->values[attribute];
	return !record->nulls[attribute];
}

/*
 * Returns the model in argument 0, for the group in argument `group` or in the
 * grouping column of a whole row. Returns NULL if the group is NULL or does
 * not exist.
 */
static const served_model *
model_of_row(FunctionCallInfo fcinfo, model_call_state *call, int group, int argument,
			 row_form form)
{
	bool		given = group >= 0 && !PG_ARGISNULL(group);
	served_model *base;
	Oid			type;
	Datum		value;
	const text *name;

	base = model_of_all_groups(fcinfo, call);
	if (given && base->group_by == NULL)
		ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
				errmsg("model \"%s\" has no groups", text_to_cstring(base->name)),
				errhint("Leave out group_value. Pass the columns of a table as one row: predict(model, table)."));
	if (base->group_by == NULL)
		return base;
	if (given)
	{
		type = get_fn_expr_argtype(fcinfo->flinfo, group);
		value = PG_GETARG_DATUM(group);
		if (!OidIsValid(type))
			type = TEXTOID;
	}
	else if (form == ROW_RECORD)
	{
		if (!group_of_record(fcinfo, call, base->group_by,
							 PG_GETARG_HEAPTUPLEHEADER(argument), &type, &value))
			return NULL;
	}
	else if (group < 0 || !is_given(fcinfo, group))
		ereport(ERROR, errcode(ERRCODE_WRONG_OBJECT_TYPE),
				errmsg("model \"%s\" has one model per group",
					   text_to_cstring(base->name)),
				errhint("Pass the whole row, whose column \"%s\" is the group, or a vector and the argument group_value.",
						base->group_by));
	else
		return NULL;
	name = group_of_value(call, base, type, value, false);
	return name != NULL ? served_group_of(fcinfo, call, base, name) : NULL;
}

/*
 * Finds the nearest centroid of a sparsevec by the transpose of the centroids,
 * and sets the row's coordinates. Returns SPARSE_UNKNOWN if the argument is no
 * sparsevec, or if the transpose does not determine the label. The argument
 * must then be read as a dense row.
 */
static sparse_outcome
sparse_argument(FunctionCallInfo fcinfo, model_call_state *call, int argument,
				model_row *row)
{
	sparse_outcome outcome;

	if (call->reader.form != VECTOR_SPARSE)
		return SPARSE_UNKNOWN;
	outcome = label_sparse_row(&call->sparse, &call->reader,
							   PG_GETARG_DATUM(argument), &row->model->view,
							   columns_of_model(call), &row->nearest);
	row->labelled = outcome == SPARSE_KNOWN;
	if (row->labelled)
		row->x = dense_sparse_row(&call->sparse, call->reader.context,
								  row->model->d);
	return outcome;
}

const double *
vector_in_model(FunctionCallInfo fcinfo, model_call_state *call,
				const served_model *model, Datum x)
{
	vector		v = read_vector(&call->reader, x, "x");

	if (call->ready != model)
		reserve(fcinfo, call, model);
	check_length(&v, model, ROW_VECTOR);
	return transformed(call, model, &v);
}

static int32
version_argument(FunctionCallInfo fcinfo, int argument)
{
	return PG_ARGISNULL(argument) ? NULL_VERSION : PG_GETARG_INT32(argument);
}

bool
read_model_row(FunctionCallInfo fcinfo, int group, int version, int argument,
			   row_form form, model_row *row)
{
	model_call_state *call;
	int			columns = form == ROW_COLUMNS ? PG_NARGS() - argument : 1;
	sparse_outcome outcome;
	vector		v;
	bool		encoded;

	if (form == ROW_LIST && PG_ARGISNULL(argument + 2))
		return false;
	call = model_call_state_of(fcinfo);
	if (form == ROW_GIVEN)
	{
		if (!call->reader.formed)
			call->reader.form = form_of_argument(fcinfo, argument, true);
		call->reader.formed = true;
		form = call->reader.form == VECTOR_ROW ? ROW_RECORD
			: call->reader.form == VECTOR_NUMBER ? ROW_COLUMNS
			: ROW_VECTOR;
	}
	call->version = version >= 0 ? version_argument(fcinfo, version)
		: CURRENT_VERSION;
	if (form == ROW_COLUMNS && unlikely(call->columns == NULL))
		find_column_types(fcinfo, call, argument, columns);
	row->model = model_of_row(fcinfo, call, group, argument, form);
	if (row->model == NULL || row->model->header == NULL)
		return false;
	if (call->ready != row->model)
		reserve(fcinfo, call, row->model);
	row->scratch = call->scratch;
	row->labelled = false;
	row->partial = NULL;
	row->factor = 1;
	outcome = form == ROW_VECTOR ? sparse_argument(fcinfo, call, argument, row)
		: SPARSE_UNKNOWN;
	if (outcome != SPARSE_UNKNOWN)
		return outcome == SPARSE_KNOWN;
	if (!vector_argument(fcinfo, call, row->model, argument, form, &v, &encoded))
		return false;
	if (encoded && row->model->observed && !fc_all_finite(v.doubles, row->model->d))
		return read_partial_row(call, &v, row);
	row->x = transformed(call, row->model, &v);
	return row->x != NULL;
}

/*
 * query.c - queries of a training, whose arguments are passed without a copy
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "funcapi.h"
#include "nodes/params.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "pg/base/arguments.h"
#include "pg/base/vectors.h"
#include "pg/train/query.h"

/* ---- queries ---- */

/*
 * Looks the type up on the search path, which the SQL functions set to the
 * schemas of the extension and pg_catalog.
 */
Oid
type_of_name(const char *name)
{
	Oid			type = TypenameGetTypid(name);

	if (!OidIsValid(type))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("type %s is not found", name));
	return type;
}

void
end_query(void)
{
	SPI_freetuptable(SPI_tuptable);
	SPI_tuptable = NULL;
}

query_argument
text_argument(const char *value)
{
	return (query_argument)
	{
		"text",
			value == NULL ? (Datum) 0
			: CStringGetTextDatum(value),
			value == NULL
	};
}

/*
 * Adds a hint to the error that a schema does not exist: another server that
 * has some of the rows may lack the extension.
 */
static void
hint_other_node(void *unused)
{
	if (geterrcode() == ERRCODE_UNDEFINED_SCHEMA)
		errhint("If that is a schema of fastclust, another server that stores rows lacks the extension. Run CREATE EXTENSION fastclust there; on the coordinator of Citus, CREATE EXTENSION IF NOT EXISTS fastclust creates it on all nodes.");
}

void
run_query(const char *text, int count, const query_argument *arguments,
		  int flags)
{
	/* Citus does not accept an empty parameter list */
	ParamListInfo parameters = count > 0 ? makeParamList(count) : NULL;
	Oid		   *types = palloc(Max(1, count) * sizeof(Oid));
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = hint_other_node
	};
	SPIPlanPtr	plan;

	for (int i = 0; i < count; i++)
	{
		types[i] = type_of_name(arguments[i].type);
		parameters->params[i] = (ParamExternData)
		{
			.value = arguments[i].value,
				.isnull = arguments[i].null,
				.pflags = flags & QUERY_CONSTANTS
				? PARAM_FLAG_CONST
				: 0,
				.ptype = types[i]
		};
	}
	end_query();
	error_context_stack = &callback;
	plan = SPI_prepare_cursor(text, count, types,
							  CURSOR_OPT_CUSTOM_PLAN |
							  (flags & QUERY_PARALLEL
							   ? CURSOR_OPT_PARALLEL_OK
							   : 0));
	if (SPI_execute_plan_with_paramlist(plan, parameters,
										(flags & QUERY_STABLE) != 0,
										0) != SPI_OK_SELECT)
		elog(ERROR, "cannot run \"%s\"", text);
	SPI_freeplan(plan);
	error_context_stack = callback.previous;
}

Datum
query_value(uint64 row, int column, bool *null)
{
	return SPI_getbinval(SPI_tuptable->vals[row], SPI_tuptable->tupdesc, column,
						 null);
}

Datum
query_datum(const char *text, int count, const query_argument *arguments,
			int flags, bool *null)
{
	bool		is_null = true;
	Datum		value = (Datum) 0;
	int16		length;
	bool		by_value;

	run_query(text, count, arguments, flags);
	if (SPI_processed > 0)
		value = query_value(0, 1, &is_null);
	if (!is_null)
	{
		get_typlenbyval(SPI_gettypeid(SPI_tuptable->tupdesc, 1), &length,
						&by_value);
		value = length == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(value))
			: datumCopy(value, by_value, length);
	}
	end_query();
	if (null != NULL)
		*null = is_null;
	return is_null ? (Datum) 0 : value;
}

record_builder
begin_record(const char *type, Datum other)
{
	record_builder row = {lookup_rowtype_tupdesc(type_of_name(type), -1)};

	row.values = palloc0(row.desc->natts * sizeof(Datum));
	row.nulls = palloc(row.desc->natts * sizeof(bool));
	memset(row.nulls, true, row.desc->natts * sizeof(bool));
	if (other != 0)
	{
		HeapTupleHeader header = DatumGetHeapTupleHeader(other);
		HeapTupleData tuple = {
			.t_len = HeapTupleHeaderGetDatumLength(header),
			.t_data = header
		};

		heap_deform_tuple(&tuple, row.desc, row.values, row.nulls);
	}
	return row;
}

static int
column_of(const record_builder *row, const char *name)
{
	for (int i = 0; i < row->desc->natts; i++)
		if (strcmp(NameStr(TupleDescAttr(row->desc, i)->attname), name) == 0)
			return i;
	elog(ERROR, "a record has no column \"%s\"", name);
}

void
set_column(record_builder *row, const char *name, Datum value)
{
	int			i = column_of(row, name);

	row->values[i] = value;
	row->nulls[i] = false;
}

void
set_value(record_builder *row, const char *name, const void *value)
{
	set_column(row, name, PointerGetDatum(value));
	row->nulls[column_of(row, name)] = value == NULL;
}

void
set_text(record_builder *row, const char *name, const char *value)
{
	set_value(row, name, value == NULL ? NULL : cstring_to_text(value));
}

void
set_number(record_builder *row, const char *name, double value)
{
	set_column(row, name, Float8GetDatum(value));
	row->nulls[column_of(row, name)] = isnan(value);
}

void
set_numbers(record_builder *row, const char *name, const double *values,
			Size count)
{
	set_value(row, name,
			  values == NULL
			  ? NULL
			  : DatumGetPointer(make_float8_array(values, (int) count)));
}

Datum
end_record(record_builder *row)
{
	Datum		record = HeapTupleGetDatum(heap_form_tuple(row->desc, row->values,
														   row->nulls));

	ReleaseTupleDesc(row->desc);
	return record;
}

/* columns.c - numbers of a row given as columns; see the header */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"

#include "pg/base/columns.h"

static bool
find_kind(Oid type, column_kind *kind)
{
	switch (getBaseType(type))
	{
		case INT2OID:
			*kind = COLUMN_INT2;
			return true;
		case INT4OID:
			*kind = COLUMN_INT4;
			return true;
		case INT8OID:
			*kind = COLUMN_INT8;
			return true;
		case FLOAT4OID:
			*kind = COLUMN_FLOAT4;
			return true;
		case FLOAT8OID:
			*kind = COLUMN_FLOAT8;
			return true;
		case NUMERICOID:
			*kind = COLUMN_NUMERIC;
			return true;
		default:
			return false;
	}
}

bool
is_column_type(Oid type)
{
	column_kind kind;

	return find_kind(type, &kind);
}

void
make_column_reader(FunctionCallInfo fcinfo, int first, int count, column_reader *reader)
{
	if (get_fn_expr_variadic(fcinfo->flinfo))
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("columns must be given one by one, not as a VARIADIC array")));
	reader->first = first;
	reader->d = count;
	for (int i = 0; i < reader->d; i++)
	{
		Oid			type = get_fn_expr_argtype(fcinfo->flinfo, first + i);

		if (!find_kind(type, &reader->kind[i]))
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("column %d is of type %s, not a number", i + 1, format_type_be(type)),
					 errhint("Columns are smallint, integer, bigint, real, double precision or numeric; cast others.")));
	}
}

static inline double
number_of(Datum value, column_kind kind)
{
	switch (kind)
	{
		case COLUMN_INT2:
			return (double) DatumGetInt16(value);
		case COLUMN_INT4:
			return (double) DatumGetInt32(value);
		case COLUMN_INT8:
			return (double) DatumGetInt64(value);
		case COLUMN_FLOAT4:
			return (double) DatumGetFloat4(value);
		case COLUMN_NUMERIC:
			return DatumGetFloat8(DirectFunctionCall1(numeric_float8, value));
		case COLUMN_FLOAT8:
			break;
	}
	return DatumGetFloat8(value);
}

bool
read_columns(FunctionCallInfo fcinfo, const column_reader *reader, double *x)
{
	const NullableDatum *columns = fcinfo->args + reader->first;

	for (int i = 0; i < reader->d; i++)
	{
		if (columns[i].isnull)
			return false;
		x[i] = number_of(columns[i].value, reader->kind[i]);
	}
	return true;
}

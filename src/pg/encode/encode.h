/*
 * encode.h - rows of any columns into numbers, by an encoder: shared by the
 * files of the glue, models included
 */
#ifndef FASTCLUST_ENCODE_H
#define FASTCLUST_ENCODE_H

#include "access/htup_details.h"
#include "access/tupdesc.h"

#include "encode/encoder.h"
#include "pg/base/options.h"
#include "pg/base/values.h"

#define ENCODER_ARG(n)	((const fc_encoder_header *) aligned_value(PG_GETARG_DATUM(n)))

/* A piece of its text: a name, a path, a category. */
static inline char *
encoder_text(const fc_encoder *view, uint32 start, uint32 length)
{
	return pnstrdup(view->text +start, length);
}

/* ---- read_value.c: the values of one column ---- */

typedef enum value_source
{
	SOURCE_INT2,
	SOURCE_INT4,
	SOURCE_INT8,
	SOURCE_FLOAT4,
	SOURCE_FLOAT8,
	SOURCE_NUMERIC,
	SOURCE_BOOL,
	SOURCE_DATE,
	SOURCE_TIMESTAMP,			/* with or without time zone */
	SOURCE_TIME,
	SOURCE_INTERVAL,
	SOURCE_TEXT,
	SOURCE_BPCHAR,
	SOURCE_NAME,
	SOURCE_LITERAL,				/* a string of unknown type */
	SOURCE_ENUM,
	SOURCE_ARRAY,
	SOURCE_JSONB,
	SOURCE_NUMBER_BY_CAST,
	SOURCE_ARRAY_BY_CAST,
	SOURCE_TEXT_BY_CAST,
	SOURCE_TEXT_BY_OUTPUT
} value_source;

typedef struct enum_label
{
	Oid			value;
	uint32		length;
	char	   *text;
} enum_label;

typedef struct value_reader
{
	value_source source;
	fc_feature_kind kind;		/* of the column; FC_FEATURE_ANY for jsonb */
	Oid			type;
	const char *label;			/* column "name", for errors */
	MemoryContext context;
	FmgrInfo	cast;			/* SOURCE_.._BY_CAST, or the output function */
	vector_reader vectors;
	enum_label *labels;			/* SOURCE_ENUM: those met last */
	bool		settings;		/* SOURCE_TEXT_BY_OUTPUT: text_has_settings */
	bool		date;			/* of these DateStyle alone */
} value_reader;

/*
 * The error of a type that no feature can be made of. As text: of every type,
 * for value_as_text.
 */
extern void make_value_reader(Oid type, const char *name, bool as_text,
							  MemoryContext context, value_reader *reader);

/* Is its text written as settings of the session say, such as DateStyle? */
extern bool text_has_settings(Oid type);

/* The value as a cast to text gives it, in each session the same. */
extern const text *value_as_text(value_reader *reader, Datum value);

/*
 * A number that lies in the Datum, if it is one and finite, as in most
 * columns.
 */
static inline bool
read_plain_number(const value_reader *reader, Datum value,
				  fc_feature_cell *cell)
{
	switch (reader->source)
	{
		case SOURCE_INT2:
			cell->number = (double) DatumGetInt16(value);
			break;
		case SOURCE_INT4:
			cell->number = (double) DatumGetInt32(value);
			break;
		case SOURCE_INT8:
			cell->number = (double) DatumGetInt64(value);
			break;
		case SOURCE_FLOAT4:
			cell->number = (double) DatumGetFloat4(value);
			break;
		case SOURCE_FLOAT8:
			cell->number = DatumGetFloat8(value);
			break;
		default:
			return false;
	}
	cell->kind = FC_CELL_NUMBER;
	return isfinite(cell->number);
}

/* Not jsonb.  The cell is valid as long as the value. */
extern void
			read_value(value_reader *reader, Datum value, fc_feature_cell *cell);

/*
 * A path as a feature of a jsonb column has it: keys with dots between them.
 */
typedef struct json_path
{
	const char *text;
	Size		length;
	const char *label;			/* column "name" -> path */
} json_path;

/* The path of a feature, and its label; path NULL: the column itself. */
extern json_path path_of_feature(const char *column, const char *path);

/*
 * The kind of the value at a path: FC_FEATURE_NUMBER or FC_FEATURE_BOOLEAN
 * with a number cell, FC_FEATURE_CATEGORY with a text cell; as_text: all with
 * a text cell. FC_FEATURE_ANY with a NULL cell for nothing, null, a list or an
 * object.
 */
extern fc_feature_kind read_json(const Jsonb *jsonb, const json_path *path,
								 bool as_text, fc_feature_cell *cell);

/* ---- read_row.c: rows as records, or as listed columns ---- */

/* An encoder that is ready for rows. */
typedef struct prepared_encoder
{
	fc_encoder	view;
	const char **names;			/* of the columns */

	/*
	 * of the features; the label of those that are columns is that of the
	 * column
	 */
	json_path  *paths;
	fc_feature_cell *cells;		/* of the row at hand */
	/* of each column: its dimension, where that is the number itself; else -1 */
	int		   *plain;
	bool		imputes;		/* all NULLs */
} prepared_encoder;

/* The bytes must stay where they are. */
extern prepared_encoder *prepare_encoder(const fc_encoder_header *header, MemoryContext context);

/*
 * How records of one row type are read: by names, columns the encoder does not
 * have are ignored.
 */
typedef struct record_reader
{
	MemoryContext context;
	uint64		shape;			/* of the row type as it is now
								 * (utils/typcache.h); 0: none yet */
	Oid			type;
	int32		typmod;
	TupleDesc	desc;
	int		   *attribute;		/* of each column, from 0 */
	value_reader *readers;		/* of each column */
	Datum	   *values;			/* of the row at hand, as the row type has
								 * them */
	bool	   *nulls;
} record_reader;

/* Is the row of the type whose columns were found, unchanged since? */
extern bool has_row_type(const record_reader *record, HeapTupleHeader row);

/*
 * Columns by their names in a row type, to be read as features or as text: an
 * error that names the one that is not there.
 */
extern void find_columns(record_reader *record, HeapTupleHeader row,
						 const char *const *names, Size count, bool as_text);

/* Its values and NULLs, in the record. */
extern void read_record(record_reader *record, HeapTupleHeader row);

/*
 * x (dim): the coordinates of a record, in units or raw. False: a column is
 * NULL whose NULLs are to be skipped. `record` is cleared but for its context
 * before the first row, and belongs to one encoder.
 */
/*
 * The row of a list of numbers, a feature each, some of which are NULL; false
 * as in encode_record.
 */
extern bool encode_numbers(prepared_encoder *encoder, const double *values,
						   const bool *nulls, double *x);

extern bool encode_record(prepared_encoder *encoder, record_reader *record,
						  HeapTupleHeader row, bool scaled, double *x);

/*
 * The error of a row in units that are not all finite; raw: its raw
 * coordinates, NULL for the row at hand.
 */
extern void
			reject_far(const prepared_encoder *encoder, const double *x, const double *raw);

/*
 * The same of arguments from `first` on, of VARIADIC "any", one for each
 * column in the encoder's order.
 */
typedef struct listed_reader
{
	int			first;
	value_reader *readers;
} listed_reader;

extern void make_listed_reader(FunctionCallInfo fcinfo, int first,
							   const prepared_encoder *encoder,
							   MemoryContext context, listed_reader *listed);
extern bool encode_listed(FunctionCallInfo fcinfo, prepared_encoder *encoder,
						  listed_reader *listed, bool scaled, double *x);

/* ---- encoder_value.c ---- */

/*
 * The dimensions of the old encoder with the centers and scales that the other
 * learned; `learned` where old is NULL or not alike.
 */
extern const fc_encoder_header *renewed_encoder(const fc_encoder_header *learned,
												const fc_encoder_header *old);

/* ---- encoder_options.c ---- */

typedef struct feature_options
{
	const char *name;			/* of the column */
	const char *path;			/* NULL: the column itself */
	bool		log;
	bool		log_by_name;	/* log or robust was asked for this column */
	bool		robust_by_name;
	fc_scaling	scaling;
	fc_nulls	nulls;
	double		weight;
} feature_options;

typedef struct encoder_options
{
	Size		features;
	feature_options *feature;	/* those of one column next to each other */
	int			most_categories;
} encoder_options;

#define FC_NULLS_POLICIES	3

extern const named_value null_policies[FC_NULLS_POLICIES];

/* The options for the columns; palloced. */
extern encoder_options
			read_encoder_options(const char *const *names, int count, Jsonb *options);

extern const char *feature_kind_name(int kind);

/* column, or column -> path */
/*
 * Names of all dimensions; are those of two encoders, which may be NULL, the
 * same?
 */
extern ArrayType *dimension_names(const fc_encoder_header *encoder);
extern bool
			same_dimensions(const fc_encoder_header *a, const fc_encoder_header *b);

extern char *column_of_feature(const fc_encoder *encoder, const fc_encoder_feature *feature);
extern char *feature_name(const fc_encoder *encoder, const fc_encoder_feature *feature);

#endif							/* FASTCLUST_ENCODE_H */

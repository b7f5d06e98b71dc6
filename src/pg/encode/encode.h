/* encode.h - encodes rows, whose columns may have any type, as numbers */
#ifndef FASTCLUST_ENCODE_H
#define FASTCLUST_ENCODE_H

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "pgtime.h"

#include "encode/encoder.h"
#include "pg/base/options.h"
#include "pg/base/values.h"

#define ENCODER_ARG(n)	((const fc_encoder_header *) aligned_value(PG_GETARG_DATUM(n)))

/*
 * Returns part of the encoder's text as a C string: a name, a path or a
 * category.
 */
static inline char *
encoder_text(const fc_encoder *view, fc_encoder_text text)
{
	return pnstrdup(view->text +text.start, text.length);
}

static inline char *
category_text(const fc_encoder *view, const fc_encoder_feature *feature, Size place)
{
	return encoder_text(view, fc_category(view, feature, place)->text);
}

static inline bool
same_bytes(const void *a, const void *b)
{
	return VARSIZE(a) == VARSIZE(b) && memcmp(a, b, VARSIZE(a)) == 0;
}

/* Returns the feature to which a dimension belongs; dimensions count from 1. */
static inline const fc_encoder_feature *
feature_of_dimension(const fc_encoder *view, Size dimension)
{
	const fc_encoder_feature *feature = view->feature;

	while (feature->first + feature->width < dimension)
		feature++;
	return feature;
}

/*
 * Opens the encoder in argument 0. Returns the feature to which the dimension
 * in argument 1 belongs; dimensions count from 1.
 */
static inline const fc_encoder_feature *
feature_argument(FunctionCallInfo fcinfo, fc_encoder *view)
{
	fc_encoder_view(ENCODER_ARG(0), view);
	check_count("dimension", PG_GETARG_INT32(1), 1, (int64) view->dim);
	return feature_of_dimension(view, (Size) PG_GETARG_INT32(1));
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
	SOURCE_TIMESTAMP,
	SOURCE_TIMESTAMPTZ,
	SOURCE_TIME,
	SOURCE_TIMETZ,				/* time of day in the time zone of the value */
	SOURCE_INTERVAL,
	SOURCE_TEXT,
	SOURCE_BPCHAR,
	SOURCE_NAME,
	SOURCE_LITERAL,				/* a literal, of type unknown */
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
	fc_feature_kind kind;		/* kind of the column; FC_FEATURE_ANY for
								 * jsonb */
	Oid			type;
	const char *label;			/* text for messages, of the form: column
								 * "name" */
	MemoryContext context;
	FmgrInfo	cast;			/* cast function of sources SOURCE_.._BY_CAST,
								 * or output function of the type */
	vector_reader vectors;
	enum_label *labels;			/* SOURCE_ENUM: cache of labels */
	int			settings;		/* SOURCE_TEXT_BY_OUTPUT: kinds of settings
								 * that affect the text, as flags for
								 * fix_settings */
	bool		date;			/* true if DateStyle is the only setting that
								 * affects the text */
} value_reader;

/*
 * Makes a reader for values of a type. Raises an error if the type cannot be a
 * feature. If as_text is true, the reader is for value_as_text, and every type
 * can be read.
 */
extern void make_value_reader(Oid type, const char *name, bool as_text,
							  MemoryContext context, value_reader *reader);

/*
 * Returns true if the text of the type depends on settings of the session,
 * such as DateStyle.
 */
extern bool text_has_settings(Oid type);

/*
 * Returns the value cast to text. Settings that affect the text are fixed
 * during the cast, so that the text is the same in all sessions.
 */
extern const text *value_as_text(value_reader *reader, Datum value);

/*
 * Reads a finite smallint, integer, bigint, real or double precision. Most
 * columns have one of these types. Returns false for any other value.
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

/*
 * Reads a value of any type but jsonb. The cell may point into the value or
 * into the reader; it is valid until the value is freed or the reader reads
 * another value.
 */
extern void read_value(value_reader *reader, Datum value, fc_feature_cell *cell);

/* A path into a jsonb column: keys with dots between them. */
typedef struct json_path
{
	const char *text;
	Size		length;
	const char *label;			/* text for messages, of the form: column
								 * "name" -> path */
} json_path;

/*
 * Returns the path of a feature with its label; a NULL path means the column
 * itself.
 */
extern json_path path_of_feature(const char *column, const char *path);

/*
 * Reads the value at a path. Returns FC_FEATURE_NUMBER or FC_FEATURE_BOOLEAN
 * with a number cell, or FC_FEATURE_CATEGORY with a text cell; as_text makes
 * all of them text cells. Returns FC_FEATURE_ANY with a NULL cell for a
 * missing value, null, a list or an object.
 */
extern fc_feature_kind read_json(const Jsonb *jsonb, const json_path *path,
								 bool as_text, fc_feature_cell *cell);

/* ---- cycle.c: values of cyclic columns ---- */

/*
 * Returns the time zone of a name. Raises an error if there is no such zone.
 * The message names the column, unless `column` is NULL.
 */
extern pg_tz *named_zone(const char *name, const char *column);

/*
 * Returns the name of a time zone. Raises an error if AT TIME ZONE takes the
 * name for an abbreviation with another offset: CET, for example, means UTC+1
 * even in summer.
 */
extern const char *name_of_zone(pg_tz *zone);

/*
 * Returns the period of a daily, weekly or yearly cycle: in days for a yearly
 * cycle and for a weekly cycle of dates, otherwise in seconds.
 */
extern double period_of_cycle(fc_cycle cycle, fc_feature_kind kind);

/*
 * Replaces a date or time in a cell by its value in the cycle (fc_cycle).
 * Timestamps with time zone are converted to `zone`, the time zone of the
 * encoder.
 */
extern void make_cyclic(const value_reader *reader, fc_cycle cycle, pg_tz *zone,
						fc_feature_cell *cell);

/* Kind of cyclic column, which determines how its values are shown. */
typedef struct cyclic_kind
{
	const char *name;
	fc_cycle	cycle;
	bool		date;			/* true if values are whole days of a week */
} cyclic_kind;

#define FC_CYCLIC_KINDS	5

extern const cyclic_kind cyclic_kinds[FC_CYCLIC_KINDS];
extern const cyclic_kind *cyclic_kind_of(const fc_encoder_feature *feature);

/*
 * Formats a time of day, given in seconds, as HH:MM. Appends the seconds and
 * their fraction if they are not 0. If `with_seconds` is true, appends the
 * seconds even if they are 0.
 */
extern char *text_of_time(double seconds, bool with_seconds);

/*
 * Returns a value as text, such as 23:10, Tuesday 09:30 or 3 January. If
 * `literal` is true, returns an SQL literal for a condition on the column
 * (condition.c). Rounds the value to the minute or the day, unless `exact` is
 * true.
 */
extern char *text_of_cyclic_value(const cyclic_kind *kind, double x, bool exact, bool literal);

/*
 * Returns the value of a cyclic column that has the direction of `mean`, the
 * mean of the column's two coordinates. Returns NaN if `mean` is too short to
 * have a meaningful direction (MIN_MEAN_LENGTH).
 */
extern double cyclic_mean(const fc_encoder_feature *feature, const double mean[2]);

/* ---- read_row.c: rows as records, or as listed columns ---- */

/*
 * Finds the category that equals a given value, although their texts differ
 * (category.c).
 */
typedef struct category_finder
{
	bool		made;			/* true after make_finder, which is called for
								 * the first text that differs from the texts
								 * of all categories */
	struct group_finder *finder;	/* NULL if categories are compared by
									 * their texts */
} category_finder;

/* An encoder with the data that encoding rows requires. */
typedef struct prepared_encoder
{
	MemoryContext context;		/* owns everything in this struct */
	fc_encoder	view;
	const char **names;			/* names of the columns */

	/*
	 * paths of the features, each with a label; a feature without a path has
	 * the label of its column
	 */
	json_path  *paths;
	fc_feature_cell *cells;		/* cells of the current row, one per feature */
	category_finder *finders;	/* one per feature; NULL if the categories of
								 * all features are found by their texts */

	pg_tz	  **zones;			/* time zone of each feature; NULL if the
								 * encoder stores none for it */

	/*
	 * dimension of each column whose numbers are copied unchanged; -1 for
	 * other columns
	 */
	int		   *plain;
	bool		imputes;		/* true if NULLs of all features are imputed */
	const double *fill;			/* stored coordinates that replace a NULL (dim
								 * values); keep_missing does not change them */
	value_reader *listed;		/* readers of rows given as argument lists;
								 * NULL before the first such row */
} prepared_encoder;

/*
 * Prepares an encoder in a context. The header must not move while the result
 * is in use.
 */
extern prepared_encoder *prepare_encoder(const fc_encoder_header *header, MemoryContext context);

/*
 * Makes the encoder write NaN as the coordinates of a NULL. Indicators of NULL
 * are still 0 or 1, and a category column with an indicator is encoded as
 * before.
 */
extern void keep_missing(prepared_encoder *encoder);

/*
 * Reader of records of one row type. Columns are found by name, and other
 * columns of the row are ignored.
 */
typedef struct record_reader
{
	MemoryContext context;
	uint64		shape;			/* identifier of the row type's definition
								 * that was read last (utils/typcache.h); 0
								 * before the first one */
	Oid			type;
	int32		typmod;
	TupleDesc	desc;
	int		   *attribute;		/* index of each column in the row, from 0 */
	value_reader *readers;		/* reader of each column */
	Datum	   *values;			/* values of the current row, in the row
								 * type's order */
	bool	   *nulls;
} record_reader;

/*
 * Returns true if find_columns was called for the type of this row, and the
 * definition of the type has not changed since.
 */
extern bool has_row_type(const record_reader *record, HeapTupleHeader row);

/*
 * Finds columns by their names in a row type, and makes their readers, for
 * features or, if `as_text` is true, for texts. Raises an error that names a
 * missing column. `types` has the SQL types of columns whose values may be
 * unknown, for the hint; or it is NULL.
 */
extern void find_columns(record_reader *record, HeapTupleHeader row,
						 const char *const *names, const char *const *types, Size count,
						 bool as_text);

/* Reads the values and NULLs of a row into the record. */
extern void read_record(record_reader *record, HeapTupleHeader row);

/*
 * Encodes one number per feature as raw coordinates x (dim values); nulls[i]
 * marks a NULL. Returns false if a NULL causes the row to be skipped.
 */
extern bool encode_numbers(prepared_encoder *encoder, const double *values,
						   const bool *nulls, double *x);

/*
 * Encodes a record as coordinates x (dim values), scaled or raw. Returns false
 * if a NULL in a column causes the row to be skipped. Each encoder needs a
 * `record` of its own. Before the first row, all its fields except the context
 * are zero.
 */
extern bool encode_record(prepared_encoder *encoder, record_reader *record,
						  HeapTupleHeader row, bool scaled, double *x);

/*
 * Raises an error if the scaled coordinates x of a row are not all finite. The
 * message shows the value of the column, computed from the raw coordinates
 * `raw`. If `raw` is NULL, the message shows the value in the cells of the row
 * read last.
 */
extern void reject_far(const prepared_encoder *encoder, const double *x, const double *raw);

/*
 * Encodes a row whose columns are arguments (VARIADIC "any") in the encoder's
 * order, from index `first` on. The arguments must have the same types in all
 * calls. Returns false if a NULL causes the row to be skipped.
 */
extern bool encode_arguments(FunctionCallInfo fcinfo, prepared_encoder *encoder,
							 int first, bool scaled, double *x);

/* An encoder that a call site keeps from row to row. */
typedef struct kept_encoder
{
	MemoryContext context;		/* context of everything that belongs to the
								 * encoder */
	uint64		digest[2];
	Oid			user;			/* role whose right to call the casts of
								 * columns was checked */
	prepared_encoder *encoder;	/* NULL before the first row */
	record_reader record;
} kept_encoder;

/*
 * Prepares the encoder and returns true. If the last row had the same encoder
 * and the same user, does nothing and returns false.
 */
extern bool keep_encoder(kept_encoder *kept, const fc_encoder_header *header);

/* ---- renew.c ---- */

/*
 * Returns a copy of `old` with the centers and scales of `learned`. Returns
 * `learned` itself if `old` is NULL, or if the two encoders are not alike
 * (fc_encoder_is_alike).
 */
extern const fc_encoder_header *renewed_encoder(const fc_encoder_header *learned,
												const fc_encoder_header *old);

/* ---- encoder_options.c ---- */

typedef enum transform_kind
{
	TRANSFORM_STANDARD,
	TRANSFORM_ROBUST,
	TRANSFORM_LOG,
	TRANSFORM_NONE,
	TRANSFORM_CYCLIC
} transform_kind;

typedef struct feature_options
{
	int			column;			/* index of the column */
	const char *name;			/* name of the column */
	const char *path;			/* path into the column; NULL if it is the
								 * column itself */
	transform_kind transform;
	bool		by_name;		/* true if the transform was set for this
								 * column by name, false if it was set for all
								 * columns */
	fc_cycle	cycle;			/* FC_CYCLE_NONE if the type of the column
								 * determines the cycle */
	double		period;			/* period, for FC_CYCLE_PERIOD only */
	fc_scaling	scaling;
	fc_nulls	nulls;
	double		weight;
} feature_options;

typedef struct encoder_options
{
	Size		features;
	feature_options *feature;	/* options of the features; features of a
								 * column are adjacent */
	int			max_categories;
	char	   *zone;			/* name of the time zone of cyclic columns;
								 * NULL for the session's time zone */
} encoder_options;

#define FC_NULLS_POLICIES	3

extern const named_value null_policies[FC_NULLS_POLICIES];

/* Returns the options of all features of the columns, in palloc'd memory. */
extern encoder_options read_encoder_options(const char *const *names, int count, Jsonb *options);

extern const char *feature_kind_name(int kind);

/*
 * dimension_names returns the names of all dimensions as text[].
 * same_dimensions returns true if the dimensions of two encoders have the same
 * names, or if both encoders are NULL.
 */
extern ArrayType *dimension_names(const fc_encoder_header *encoder);
extern bool same_dimensions(const fc_encoder_header *a, const fc_encoder_header *b);

extern char *column_of_feature(const fc_encoder *encoder, const fc_encoder_feature *feature);

/* Returns the name of a feature: column, or column -> path. */
extern char *feature_name(const fc_encoder *encoder, const fc_encoder_feature *feature);

#endif							/* FASTCLUST_ENCODE_H */

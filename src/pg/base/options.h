/* options.h - reads options that are given as a jsonb object */
#ifndef FASTCLUST_OPTIONS_H
#define FASTCLUST_OPTIONS_H

#include "utils/jsonb.h"

#include "numerics/metric.h"
#include "pg/base/vectors.h"

typedef enum option_kind
{
	OPTION_INT,
	OPTION_WHOLE,				/* a whole number, stored as a double in which
								 * NAN can mean that the option was not given */
	OPTION_FLOAT,
	OPTION_SEED,
	OPTION_BOOL,
	OPTION_TEXT,
	OPTION_FLOATS,
	OPTION_NAMES,				/* a name or a list of names; checked but not
								 * stored */
	OPTION_COUNT_OR_EXACT,		/* an integer of 0 or more, or "exact", stored
								 * as OPTION_EXACT */
	OPTION_TEXT_OR_ROWS,		/* a string, or a list of lists of numbers */
	OPTION_TEXT_OR_OBJECT,		/* a string, or a JSON object that another
								 * function reads */
	OPTION_BOOL_OR_OBJECT,		/* true, false or a JSON object that another
								 * function reads */
	OPTION_OBJECT				/* a JSON object that another function reads */
} option_kind;

/* Value of an option of kind OPTION_COUNT_OR_EXACT that is "exact". */
#define OPTION_EXACT	UINT32_MAX

typedef struct option
{
	const char *name;
	option_kind kind;
	void	   *value;			/* address of an int, double, uint64, bool,
								 * uint32, char *, float_list or text_or_rows;
								 * NULL if the option is only checked */
	double		lower;			/* allowed range of a number, inclusive */
	double		upper;

	/* default as text (may be NULL) and description, for put_option_help */
	const char *initial;
	const char *meaning;
} option;

typedef struct float_list
{
	int			count;
	double	   *values;
} float_list;

typedef struct text_or_rows
{
	char	   *text;			/* NULL if the option is absent or a list of
								 * rows */
	double	   *values;			/* rows x columns */
	int			rows;
	int			columns;
} text_or_rows;

/* A name in SQL and its value in C. */
typedef struct named_value
{
	const char *name;
	int			value;
} named_value;

/*
 * Returns the value of a name. If the name is unknown, raises an error that
 * lists the choices. The error begins with `what`, such as "law" or "option
 * \"init\":".
 */
extern int	choice_of_name(const char *what, const char *name,
						   const named_value *choices, int count);

/* Returns the name of a value, or "unknown". */
extern const char *name_of_choice(int value, const named_value *choices, int count);

/*
 * Returns a hint about an unknown name: the most similar name, if one is
 * similar, then `what` and the list of all names.
 */
extern char *name_hint(const char *given, int length, const char *const *names,
					   int count, const char *what);

/*
 * Returns an example of the options of train as a quoted SQL literal, for a
 * hint: '{"encoder": {<option>: {<column>: <value>}}}'. `value` is JSON text.
 */
extern char *column_option(const char *option, const char *column, const char *value);

/*
 * Returns the option "where" as a quoted SQL literal, for a hint. Its value is
 * `condition` or, if `given` is not NULL, both conditions joined by AND.
 */
extern char *where_option(const char *given, const char *condition);

/*
 * Appends a remark to a literal of column_option, for hints that both train
 * and encoder_agg raise. The remark is that encoder_agg takes only the value
 * of "encoder".
 */
extern char *options_for_both(const char *literal);

/* Returns the value of a key of a JSON object, or NULL. */
extern JsonbValue *value_of_key(const Jsonb *options, const char *name);

/*
 * Reads a jsonb object into the variables to which the known options point.
 * Raises an error for an option that is not in the list, has another type or
 * is out of range.
 */
extern void read_options(Jsonb *options, const option *known, int count);

/*
 * Adds a row of option_help to fcinfo's result set: (option, type, range,
 * default, meaning). `within` is the name of the object that contains the
 * option, or NULL.
 */
extern void put_option_help(FunctionCallInfo fcinfo, const option *known,
							const char *within);

/*
 * Returns the metric with this name, the value of the option "metric"; NULL
 * means Euclidean. Raises an error that lists the metrics if the name is
 * unknown.
 */
extern fc_metric metric_of_options(const char *name);

/*
 * Returns the metric with this name, for a clustering; NULL means Euclidean.
 * Raises an error if the name is unknown, or if clusters have no means in the
 * metric. The error lists only metrics with means.
 */
extern fc_metric metric_with_means(const char *name);

/*
 * Returns the metric that options of a clustering name, or the Euclidean metric if they
 * name no metric or `options` is NULL. Ignores all other options, which the
 * caller must check.
 */
extern fc_metric metric_among_options(const Jsonb *options);

/*
 * Returns the row as d doubles, which for the cosine metric are scaled to
 * length 1. The result is the row itself if it needs no conversion, else
 * `scratch`. Returns NULL for a zero vector if the metric is cosine; callers
 * skip such rows.
 */
extern const double *metric_row(fc_metric metric, const vector *v, double *scratch);

/*
 * Raises an error for the metric inner_product, in which clusters have no
 * means. An operator with that metric can only assign rows.
 */
extern void check_metric_has_means(fc_metric metric);

#endif							/* FASTCLUST_OPTIONS_H */

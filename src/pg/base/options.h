/* options.h - jsonb options */
#ifndef FASTCLUST_OPTIONS_H
#define FASTCLUST_OPTIONS_H

#include "utils/jsonb.h"

#include "numerics/metric.h"
#include "pg/base/vectors.h"

typedef enum option_kind
{
	OPTION_INT,
	OPTION_WHOLE,				/* a whole number stored as a double, which
								 * may be NAN initially */
	OPTION_FLOAT,
	OPTION_SEED,
	OPTION_BOOL,
	OPTION_TEXT,
	OPTION_FLOATS,
	OPTION_NAMES,				/* a name or a list of names, which are only
								 * checked */
	OPTION_COUNT_OR_EXACT,		/* a count from 0 on, or "exact", stored as
								 * OPTION_EXACT */
	OPTION_TEXT_OR_ROWS,		/* a string, or a list of lists of numbers */
	OPTION_TEXT_OR_OBJECT,		/* a string, or a JSON object that another
								 * function reads */
	OPTION_BOOL_OR_OBJECT,		/* true, false or a JSON object that another
								 * function reads */
	OPTION_OBJECT				/* a JSON object that another function reads */
} option_kind;

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

	/* default and a description, if a function lists its options; else NULL */
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
	char	   *text;			/* NULL if rows were given, or nothing */
	double	   *values;			/* rows x columns */
	int			rows;
	int			columns;
} text_or_rows;

/* A name and its value. */
typedef struct named_value
{
	const char *name;
	int			value;
} named_value;

/*
 * Returns the value of a name. Raises an error that lists the choices if the
 * name is unknown; `what` begins it: "law", or "option \"init\":".
 */
extern int	choice_of_name(const char *what, const char *name,
						   const named_value *choices, int count);

/* Returns the name of a value, or "unknown". */
extern const char *name_of_choice(int value, const named_value *choices, int count);

/*
 * Returns a hint: the name that is most similar to the given one, if any is
 * similar, then all names after the text `what`.
 */
extern char *name_hint(const char *given, int length, const char *const *names,
					   int count, const char *what);

/*
 * Returns options of train as an SQL literal for a hint, in which an option of
 * the encoder has the JSON `value` for one column.
 */
extern char *column_option(const char *option, const char *column, const char *value);

/*
 * Returns such a literal with a remark about encoder_agg, for hints that both
 * give: the options of encoder_agg are the object inside of "encoder".
 */
extern char *options_for_both(const char *literal);

/* Returns the value of a key of a JSON object, or NULL. */
extern JsonbValue *value_of_key(const Jsonb *options, const char *name);

/*
 * Reads a jsonb object. Raises an error for an option that is not in the list,
 * has another type or is out of range.
 */
extern void read_options(Jsonb *options, const option *known, int count);

/*
 * Adds a row of option_help to fcinfo's rows: (option, type, range, default,
 * meaning). `within` is the name of the object that contains the option, or
 * NULL.
 */
extern void put_option_help(FunctionCallInfo fcinfo, const option *known,
							const char *within);

/*
 * Returns the metric named by the option "metric"; NULL means Euclidean.
 * Raises an error that lists the metrics for another name.
 */
extern fc_metric metric_of_options(const char *name);

/*
 * Returns the metric from options that the caller checks otherwise; NULL means
 * that no options were given.
 */
extern fc_metric metric_among_options(const Jsonb *options);

/*
 * Returns the row as a metric needs it: itself, converted into room (d
 * doubles), or scaled there to length 1. Returns NULL if it has no direction,
 * in which case it is skipped.
 */
extern const double *metric_row(fc_metric metric, const vector *v, double *room);

/* Raises an error for a metric that can only assign rows. */
extern void check_metric_has_means(fc_metric metric);

#endif							/* FASTCLUST_OPTIONS_H */

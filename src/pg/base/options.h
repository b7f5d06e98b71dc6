/* options.h - jsonb options */
#ifndef FASTCLUST_OPTIONS_H
#define FASTCLUST_OPTIONS_H

#include "utils/jsonb.h"

#include "numerics/metric.h"
#include "pg/base/vectors.h"

typedef enum option_kind
{
	OPTION_INT,
	OPTION_WHOLE,				/* a whole number as a double, which may be
								 * NAN before */
	OPTION_FLOAT,
	OPTION_SEED,
	OPTION_BOOL,
	OPTION_TEXT,
	OPTION_FLOATS,
	OPTION_NAMES,				/* a name or a list of names, which are only
								 * checked */
	OPTION_COUNT_OR_EXACT,		/* a count from 0 on, or "exact", which is
								 * OPTION_EXACT */
	OPTION_TEXT_OR_ROWS,		/* a string, or a list of lists of numbers */
	OPTION_TEXT_OR_OBJECT,		/* a string, or a JSON object for another
								 * function to read */
	OPTION_BOOL_OR_OBJECT,		/* true, false or a JSON object for another
								 * function to read */
	OPTION_OBJECT				/* a JSON object, for another function to read */
} option_kind;

#define OPTION_EXACT	UINT32_MAX

typedef struct option
{
	const char *name;
	option_kind kind;
	void	   *value;			/* address of an int, double, uint64, bool,
								 * uint32, char *, float_list or text_or_rows;
								 * NULL: it is only checked */
	double		lower;			/* allowed range of a number */
	double		upper;

	/*
	 * the default and a sentence for people, where a function lists its
	 * options; else NULL
	 */
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
	char	   *text;			/* NULL when there are rows, or nothing */
	double	   *values;			/* rows x columns */
	int			rows;
	int			columns;
} text_or_rows;

/* A word and its value. */
typedef struct named_value
{
	const char *name;
	int			value;
} named_value;

/*
 * The value of a word; another word is an error that lists the choices. what:
 * "law", or "option \"init\":".
 */
extern int	choice_of_name(const char *what, const char *name,
						   const named_value *choices, int count);

/* The word of a value, or "unknown". */
extern const char *name_of_choice(int value, const named_value *choices, int count);

/*
 * For a hint: of the names the one that is almost the given, if there is one,
 * then all of them behind `what`.
 */
extern char *name_hint(const char *given, int length, const char *const *names,
					   int count, const char *what);

/*
 * Returns options of train, as a literal of SQL for a hint, in which an option
 * of the encoder has the JSON `value` for one column.
 */
extern char *column_option(const char *option, const char *column, const char *value);

/*
 * Returns such a literal with a word on encoder_agg, for hints that both give:
 * the options of encoder_agg are the object inside of "encoder".
 */
extern char *options_for_both(const char *literal);

/* The value of a key of a JSON object, or NULL. */
extern JsonbValue *value_of_key(const Jsonb *options, const char *name);

/*
 * Read a jsonb object; an option that is not in the list, of another type or
 * out of range is an error.
 */
extern void read_options(Jsonb *options, const option *known, int count);

/*
 * A row of option_help into fcinfo's rows: (option, type, range, default,
 * meaning). within: the object that holds it, or NULL.
 */
extern void put_option_help(FunctionCallInfo fcinfo, const option *known,
							const char *within);

/*
 * The metric of the option "metric" by its name; NULL, where it is not given,
 * is the Euclidean metric. Another name is an error that lists them.
 */
extern fc_metric metric_of_options(const char *name);

/*
 * The same of options that hold others as well, which the caller checks; NULL:
 * none were given.
 */
extern fc_metric metric_among_options(const Jsonb *options);

/*
 * The row as a metric takes it: itself, converted into room (d doubles), or of
 * length 1 there. NULL where it has no direction, so that there is no row.
 */
extern const double *metric_row(fc_metric metric, const vector *v, double *room);

/* An error where a row can only be assigned by this metric. */
extern void check_metric_has_means(fc_metric metric);

#endif							/* FASTCLUST_OPTIONS_H */

/*
 * plot_fn.c - helpers of plot: text that is cut or padded to a width on the
 * terminal, and bars.
 *
 * If the encoding of the database is not UTF8, bars consist of "#", and no
 * character is wider than one column.
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "pg/base/arguments.h"

/* Maximum width of a plot, in characters. */
#define MAX_WIDTH	1000

static bool
is_utf8(void)
{
	return GetDatabaseEncoding() == PG_UTF8;
}

static int
width_argument(FunctionCallInfo fcinfo, int n)
{
	check_count("width", PG_GETARG_INT32(n), 1, MAX_WIDTH);
	return PG_GETARG_INT32(n);
}

static void
append_times(StringInfo line, const char *value, int times)
{
	for (int i = 0; i < times; i++)
		appendStringInfoString(line, value);
}

/* ---- text ---- */

/*
 * Returns true for characters that change the direction of a text or break its
 * lines. pg_dsplen of some server versions counts them as visible.
 */
static bool
changes_direction(const char *character)
{
	pg_wchar	code;

	if (GetDatabaseEncoding() != PG_UTF8)
		return false;
	code = utf8_to_unicode((const unsigned char *) character);
	return code == 0x61c || code == 0x200e || code == 0x200f ||
		(code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/*
 * Returns the number of terminal columns that the character takes; 0 for a
 * control character, which is left out.
 */
static int
columns_of(const char *character)
{
	return changes_direction(character) ? 0 : Max(0, pg_dsplen(character));
}

/*
 * Appends the characters that fit into `max` terminal columns. Returns the
 * number of columns used.
 */
static int
append_fitting(StringInfo line, const char *value, int max)
{
	int			used = 0;

	while (*value != '\0' && used + columns_of(value) <= max)
	{
		int			length = pg_mblen(value);

		if (columns_of(value) > 0)
			appendBinaryStringInfo(line, value, length);
		used += columns_of(value);
		value += length;
	}
	return used;
}

static int
columns_of_text(const char *value)
{
	int			used = 0;

	for (; *value != '\0'; value += pg_mblen(value))
		used += columns_of(value);
	return used;
}

/*
 * Takes (value, width, right). Returns the value padded to exactly `width`
 * columns; a longer text is cut and ends with an ellipsis.
 */
PG_FUNCTION_INFO_V1(fastclust_fit_text);
Datum
fastclust_fit_text(PG_FUNCTION_ARGS)
{
	const char *value = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int			width = width_argument(fcinfo, 1);
	int			columns = columns_of_text(value);
	int			used;
	StringInfoData line;

	initStringInfo(&line);
	if (PG_GETARG_BOOL(2))
		append_times(&line, " ", width - columns);
	used = append_fitting(&line, value, columns > width ? width - 1 : width);
	if (columns > width)
		appendStringInfoString(&line, is_utf8() ? "\xe2\x80\xa6" : "~");
	if (!PG_GETARG_BOOL(2) || columns > width)
		append_times(&line, " ", width - used - (columns > width ? 1 : 0));
	PG_RETURN_TEXT_P(cstring_to_text_with_len(line.data, line.len));
}

/* ---- bars ---- */

/*
 * Appends a bar whose length is `eighths` eighths of a column. Returns the
 * number of columns used.
 */
static int
append_blocks(StringInfo line, int eighths)
{
	if (!is_utf8())
	{
		append_times(line, "#", (eighths + 4) / 8);
		return (eighths + 4) / 8;
	}
	append_times(line, "\xe2\x96\x88", eighths / 8);
	if (eighths % 8 > 0)
		appendStringInfo(line, "\xe2\x96%c", (char) (0x90 - eighths % 8));
	return (eighths + 7) / 8;
}

/*
 * Appends x, from -1 to 1, as a bar to the left or to the right of an axis,
 * with `width` columns on either side.
 */
static void
append_two_sides(StringInfo line, double x, int width)
{
	int			halves = x < 0 ? (int) round(-2.0 * width * x) : 0;
	int			used = 0;

	append_times(line, " ", width - (halves + 1) / 2);
	if (halves % 2 > 0)
		appendStringInfoString(line, is_utf8() ? "\xe2\x96\x90" : "#");
	append_times(line, is_utf8() ? "\xe2\x96\x88" : "#", halves / 2);
	appendStringInfoString(line, is_utf8() ? "\xe2\x94\x82" : "|");
	if (x > 0)
		used = append_blocks(line, (int) round(8.0 * width * x));
	append_times(line, " ", width - used);
}

/*
 * Takes (x, width, two_sided). Returns x, from 0 to 1, as a bar up to `width`
 * columns long; if two_sided, x is from -1 to 1.
 */
PG_FUNCTION_INFO_V1(fastclust_bar);
Datum
fastclust_bar(PG_FUNCTION_ARGS)
{
	double		x = fmin(1.0, PG_GETARG_FLOAT8(0));
	int			width = width_argument(fcinfo, 1);
	StringInfoData line;

	initStringInfo(&line);
	if (PG_GETARG_BOOL(2))
		append_two_sides(&line, fmax(-1.0, x), width);
	else
		(void) append_blocks(&line, (int) round(8.0 * width * fmax(0.0, x)));
	PG_RETURN_TEXT_P(cstring_to_text_with_len(line.data, line.len));
}

/*
 * texts.c - finds columns of texts that are numbers, dates or times, and
 * categories that differ only in their spelling
 *
 * A table that was read from CSV often has texts in all columns. As
 * categories, 12 and 13 are as different as 12 and 90, so that the column
 * should be cast.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pg/encode/encode.h"
#include "pg/train/columns.h"
#include "pg/train/query.h"
#include "pg/train/sample.h"
#include "pg/train/source.h"
#include "pg/train/texts.h"

/*
 * Maximum number of rows whose texts are read. With more rows, a text that is
 * no number is found more often, but every training takes longer. A guess.
 */
#define MAX_TEXT_ROWS	2000

/*
 * Maximum length of a number or a time in characters. A column with a longer
 * text is none of them; its texts may be documents of many kilobytes, which a
 * regular expression would read in full. A guess.
 */
#define MAX_TEXT_LENGTH	100

/*
 * Number of texts that reject most forms before all texts are compared with
 * the others. A comparison takes about 15 us. A guess.
 */
#define FIRST_TEXTS		50

/*
 * Minimum number of distinct texts that can be read as numbers, dates or times
 * for a column to be reported. A column of two values need not be cast,
 * because its only pair of different values has one distance, as text or as
 * number.
 */
#define MIN_DISTINCT	3

/*
 * Maximum number of texts of a column that stand for a missing value, such as
 * n/a and NULL. A guess.
 */
#define MAX_EXCEPTIONS	2

/*
 * The day 0000-00-00 of other databases, and durations such as 75:30, do not
 * fit, because their casts fail.
 */
#define TEXT_OF_DAY		"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
#define TEXT_OF_TIME	"([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?"
#define DAY_OF_MONTH	"(0?[1-9]|[12][0-9]|3[01])"
#define NAME_OF_MONTH \
	"(Jan(uary)?|Feb(ruary)?|Mar(ch)?|Apr(il)?|May|June?|July?|Aug(ust)?" \
	"|Sep(t(ember)?)?|Oct(ober)?|Nov(ember)?|Dec(ember)?)"
#define NAMED_DAY \
	NAME_OF_MONTH " " DAY_OF_MONTH ",?|" DAY_OF_MONTH "[- ]" NAME_OF_MONTH

/* Numbers with a decimal point, and with a decimal comma. */
#define POINT_NUMBER	"(0|[1-9][0-9]{0,2}(,[0-9]{3})*|[1-9][0-9]*)([.][0-9]+)?"
#define COMMA_NUMBER	"(0|[1-9][0-9]{0,2}([.][0-9]{3})*|[1-9][0-9]*)(,[0-9]+)?"

/*
 * Units: a sign, where every character beyond ASCII counts, or the code of a
 * currency. Other letters could belong to identifiers, such as v12.
 */
#define UNIT \
	"([$%]|[^\\u0001-\\u007f]|EUR|USD|GBP|CHF|JPY|CNY|INR|BRL|CAD|AUD|SEK|NOK|DKK|PLN|CZK)"

/* A number with its unit, where the sign stays next to the digits. */
#define WITH_UNIT(number) \
	"^([-+]?" UNIT number "|" UNIT " ?[-+]?" number "|[-+]?" number " ?" UNIT ")$"

/*
 * A form of texts: a name of the values, a regular expression, and SQL that
 * converts the texts, with %s in the place of the column. The first form that
 * fits is used, so the most special forms come first. A form fits if all texts
 * match, or all but MAX_EXCEPTIONS without a digit above 0, such as n/a or
 * 0000-00-00. If the form has a unit, all texts must have the same one, and %s
 * is the text without it. Texts with leading zeros, such as 01069, fit no
 * form, because they are identifiers.
 */
typedef struct text_form
{
	const char *what;
	const char *pattern;
	const char *expression;
	bool		unit;
} text_form;
static const text_form forms[] = {
	{"dates", "^(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])$", "(%s)::date"},
	{"numbers", "^[-+]?((0|[1-9][0-9]*)([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?$",
	"(%s)::numeric"},
	{"numbers", "^[-+]?" POINT_NUMBER "$", "replace(%s, ',', '')::numeric"},
	{"numbers", "^[-+]?(0|[1-9][0-9]*)(,[0-9]{1,2})?$", "replace(%s, ',', '.')::numeric"},
	{"numbers", "^[-+]?" COMMA_NUMBER "$", "replace(replace(%s, '.', ''), ',', '.')::numeric"},
	{"numbers", WITH_UNIT(POINT_NUMBER), "replace(%s, ',', '')::numeric", true},
	{"numbers", WITH_UNIT(COMMA_NUMBER), "replace(replace(%s, '.', ''), ',', '.')::numeric", true},
	{"dates", "^" TEXT_OF_DAY "$", "(%s)::date"},
	{"dates", "^" DAY_OF_MONTH "[.](0?[1-9]|1[0-2])[.][0-9]{4}$", "to_date(%s, 'DD.MM.YYYY')"},
	{"dates", "(?i)^(" NAMED_DAY ")[- ][0-9]{4}$", "(%s)::date"},
	{"times", "^" TEXT_OF_DAY "([ T]" TEXT_OF_TIME ")?$", "(%s)::timestamp"},
	{"times", "^" TEXT_OF_DAY "([ T]" TEXT_OF_TIME " ?(Z|UTC|[-+][0-9]{2}(:?[0-9]{2})?)?)?$",
	"(%s)::timestamptz"},
	{"times", "^" TEXT_OF_TIME "$", "(%s)::time"},
	{"times", "(?i)^(0?[1-9]|1[0-2]):[0-5][0-9](:[0-5][0-9])? ?[AP]M$", "(%s)::time"}
};

/*
 * Returns false if more categories of a column than MAX_EXCEPTIONS have no
 * digit, so that the texts cannot be numbers or times, and no query is needed.
 */
static bool
may_be_values(const fc_encoder *encoder, const fc_encoder_feature *feature)
{
	int			others = 0;

	for (Size i = 0; i < feature->categories; i++)
		others += strpbrk(category_text(encoder, feature, i), "0123456789") == NULL;
	return others <= MAX_EXCEPTIONS;
}

/* Returns true if the feature is a column of texts. */
static bool
is_text(const training *t, const fc_encoder *encoder, const fc_encoder_feature *feature)
{
	Oid			type;

	if (feature->kind != FC_FEATURE_CATEGORY || feature->path.length > 0)
		return false;
	type = getBaseType(column_type(t->source.id, column_of_feature(encoder, feature)));
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID;
}

/*
 * Returns the query for the form of the texts of a column. Its result is NULL
 * if no form fits, else an array: the index of the form, the unit or NULL, and
 * the exceptions.
 */
static char *
query_of_form(const training *t, const char *name)
{
	StringInfoData query;

	initStringInfo(&query);
	/* regular expressions need a deterministic collation */
	appendStringInfo(&query, "WITH texts AS MATERIALIZED (SELECT DISTINCT left(t.%s::text, %d) COLLATE \"C\" AS v %s)"
					 " SELECT ARRAY[q.i::text, min(q.unit) FILTER (WHERE q.fits)]"
					 " || array_agg(q.v ORDER BY q.v) FILTER (WHERE NOT q.fits)"
					 " FROM (SELECT f.i, v, btrim(v) ~ f.p AS fits, CASE WHEN f.unit"
					 " THEN regexp_replace(v, '[-+0-9., ]', '', 'g') END AS unit FROM (VALUES ",
					 name, MAX_TEXT_LENGTH + 1,
					 rows_from(&t->source, some_rows(t, MAX_TEXT_ROWS), NULL));
	for (int i = 0; i < lengthof(forms); i++)
		appendStringInfo(&query, "%s(%d, %s, %s)", i > 0 ? ", " : "", i,
						 quote_literal_cstr(forms[i].pattern), forms[i].unit ? "true" : "false");
	appendStringInfo(&query, ") f(i, p, unit), texts WHERE v IS NOT NULL AND (SELECT count(*) FROM"
					 " (SELECT v FROM texts WHERE v IS NOT NULL LIMIT %d) s WHERE btrim(s.v) !~ f.p) <= %d)"
					 " q GROUP BY q.i"
					 " HAVING max(length(q.v)) <= %d"
					 " AND count(*) FILTER (WHERE NOT q.fits) <= %d"
					 " AND count(*) FILTER (WHERE NOT q.fits AND q.v ~ '[1-9]') = 0"
					 " AND count(DISTINCT q.unit) FILTER (WHERE q.fits) <= 1"
					 " AND count(DISTINCT btrim(q.v)) FILTER (WHERE q.fits)"
					 " >= %d * greatest(1, count(*) FILTER (WHERE NOT q.fits))"
					 " ORDER BY q.i LIMIT 1",
					 FIRST_TEXTS, MAX_EXCEPTIONS, MAX_TEXT_LENGTH, MAX_EXCEPTIONS,
					 MIN_DISTINCT);
	return query.data;
}

bool
read_text_values(const training *t, const fc_encoder *encoder,
				 const fc_encoder_feature *feature, text_values *values)
{
	const char *value;
	const char *expression;
	const char *place;
	bool		null;
	Datum		found;
	Datum	   *element;
	bool	   *nulls;
	int			count;
	int			form;

	if (!is_text(t, encoder, feature) || !may_be_values(encoder, feature))
		return false;
	value = quote_identifier(column_of_feature(encoder, feature));
	found = query_datum(query_of_form(t, value), 0, NULL, 0, &null);
	if (null)
		return false;
	deconstruct_array(DatumGetArrayTypeP(found), TEXTOID, -1, false, TYPALIGN_INT,
					  &element, &nulls, &count);
	form = pg_strtoint32(TextDatumGetCString(element[0]));
	values->what = forms[form].what;
	expression = forms[form].expression;
	place = strstr(expression, "%s");
	for (int i = 2; i < count; i++)
		value = psprintf("NULLIF(%s, %s)", value,
						 quote_literal_cstr(TextDatumGetCString(element[i])));
	if (!nulls[1])
		value = psprintf("replace(%s, %s, '')", value,
						 quote_literal_cstr(TextDatumGetCString(element[1])));
	values->expression = psprintf("%.*s%s%s", (int) (place - expression), expression, value,
								  place + 2);
	return true;
}

/* Raises a NOTICE if categories of a column differ only in case or spaces. */
static void
notice_spellings(const fc_encoder *encoder, const fc_encoder_feature *feature)
{
	char	   *name = column_of_feature(encoder, feature);
	Datum	   *texts = palloc((feature->categories + 1) * sizeof(Datum));
	query_argument argument = {"_text"};
	bool		null;
	Datum		alike;

	for (Size i = 0; i < feature->categories; i++)
		texts[i] = CStringGetTextDatum(category_text(encoder, feature, i));
	argument.value = PointerGetDatum(construct_array(texts, (int) feature->categories, TEXTOID,
													 -1, false, TYPALIGN_INT));
	alike = query_datum("SELECT string_agg(format('\"%s\"', c), ', ' ORDER BY c COLLATE \"C\")"
						" FROM unnest($1) c GROUP BY lower(btrim(c)) HAVING count(*) > 1"
						" ORDER BY min(c COLLATE \"C\") LIMIT 1",
						1, &argument, 0, &null);
	if (!null)
		ereport(NOTICE,
				errmsg("categories of column \"%s\" differ only in case or in spaces: %s",
					   name, TextDatumGetCString(alike)),
				errhint("If they mean the same, cluster a view with lower(btrim(%s)) AS %s.",
						quote_identifier(name), quote_identifier(name)));
}

void
notice_texts(const training *t, const fc_encoder *encoder, const fc_encoder_feature *feature)
{
	char	   *name = column_of_feature(encoder, feature);
	text_values values;

	if (!is_text(t, encoder, feature))
		return;
	if (read_text_values(t, encoder, feature, &values))
		ereport(NOTICE,
				errmsg("the texts of column \"%s\" are %s, but count as categories: any two of them are equally far apart",
					   name, values.what),
				errhint("If their differences matter, cluster a view with %s AS %s.",
						values.expression, quote_identifier(name)));
	else
		notice_spellings(encoder, feature);
}

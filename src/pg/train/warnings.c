/*
 * warnings.c - warnings about columns before the first training of a model,
 * computed from the uniform sample
 *
 * Each warning names the column and the remedy. Identifiers and times that
 * only grow are recognised by the catalog, or by the physical order of the
 * rows.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "encode/learn.h"
#include "pg/encode/encode.h"
#include "pg/operator/operator_value.h"
#include "pg/train/columns.h"
#include "pg/train/query.h"
#include "pg/train/sample.h"
#include "pg/train/source.h"
#include "pg/train/warnings.h"

/*
 * Maximum number of rows from which warnings are computed. With more rows,
 * warnings are more certain, but delay every training. A guess.
 */
#define MAX_CHECKED_ROWS	2000

/* Minimum number of rows for any warning. A guess. */
#define MIN_CHECKED_ROWS	50

/*
 * Maximum number of numeric columns that are compared with each other. The
 * time grows with the square of their number. A guess.
 */
#define MAX_COMPARED_COLUMNS	64

/*
 * Share of NULLs in a column above which a warning is raised, 0 to 1. With
 * smaller limits in this file, there would be warnings about more harmless
 * columns; with larger ones, about fewer columns that decide the clusters. A
 * guess.
 */
#define MAX_NULL_SHARE	0.5

/*
 * Absolute correlation of two columns above which they count as near copies. A
 * guess.
 */
#define MAX_CORRELATION	0.99

/* Absolute skew above which a warning is raised. A guess. */
#define MAX_SKEW	10

/*
 * Maximum length of an interval without months, 2^63 microseconds, in seconds.
 */
#define MAX_INTERVAL_SECONDS	9e12

/*
 * Maximum skew after taking the logarithm for which the logarithm is
 * suggested. A guess.
 */
#define MAX_LOG_SKEW	3

/*
 * Limits for a warning about far rows. MIN_FAR and MAX_FAR: minimum and
 * maximum share of the rows that are far. MIN_FAR_SQUARES: minimum share of
 * these rows in the sum of squares. Guesses.
 */
#define MIN_FAR	0.005
#define MAX_FAR	0.2
#define MIN_FAR_SQUARES	0.9

/*
 * Minimum of two measures of a column whose values grow: the share of the
 * steps from row to row in which the value does not decrease, and the rank
 * correlation of the values with the positions of the rows. A guess.
 */
#define MIN_ORDER	0.98

/*
 * Returns true if values grow from row to row in the physical order of the
 * table. Values that start again every hundred rows grow in 99 of 100 steps,
 * so the ranks of the values must also be correlated with the positions of the
 * rows.
 */
static bool
grows(const training *t, const char *column)
{
	bool		null;
	Datum		result;

	if (!t->source.heap || t->source.leaf_count > 0 || t->source.sharded)
		return false;
	result = query_datum(psprintf("SELECT avg((q.v >= q.before)::integer) > %g"
								  " AND corr(q.row, q.rank) > %g AND count(DISTINCT q.v) > %d"
								  " FROM (SELECT r.v, lag(r.v) OVER w AS before,"
								  " row_number() OVER w AS row, rank() OVER (ORDER BY r.v) AS rank"
								  " FROM (SELECT %s AS v, t.ctid AS place %s) r"
								  " WHERE r.v IS NOT NULL WINDOW w AS (ORDER BY r.place)) q",
								  MIN_ORDER, MIN_ORDER, MIN_CHECKED_ROWS / 2, row_column(column),
								  rows_from(&t->source, some_rows(t, MAX_CHECKED_ROWS), NULL)),
						 0, NULL, 0, &null);
	return !null && DatumGetBool(result);
}

/*
 * Returns true if a column of integers identifies rows: it has a unique index,
 * or its sampled values are unique and grow from row to row. Returns false for
 * other types. warn_useless_columns recognises texts and uuids that identify
 * rows by their many values.
 */
static bool
is_identifier(const training *t, const char *column,
			  const fc_column_facts *facts)
{
	Oid			type = getBaseType(column_type(t->source.id, column));
	query_argument arguments[] = {
		{"oid", ObjectIdGetDatum(t->source.id)},
		{"int2", Int16GetDatum(get_attnum(t->source.id, column))}
	};

	if (type != INT2OID && type != INT4OID && type != INT8OID)
		return false;
	return DatumGetBool(query_datum("SELECT EXISTS (SELECT FROM pg_index i WHERE i.indrelid ="
									" $1 AND i.indisunique AND i.indnkeyatts = 1 AND i.indkey[0] = $2 AND i.indpred IS NULL)",
									lengthof(arguments), arguments, 0, NULL)) ||
		(facts->unique == 1 && grows(t, column));
}

/* Returns the smallest or the largest sampled value of a column as text. */
static char *
end_value(const training *t, const char *column, bool greatest)
{
	bool		null;
	char	   *leaf = t->source.leaf_count > 0 ? leaf_name(t->source.leaves[0]) : NULL;
	Datum		value = query_datum(psprintf("SELECT %s(%s)::text %s",
											 greatest ? "max" : "min", row_column(column),
											 rows_from(&t->source,
													   some_rows(t, MAX_CHECKED_ROWS), leaf)),
									0, NULL, 0, &null);

	return null ? "" : TextDatumGetCString(value);
}

/*
 * Returns true if the sampled values of a column of type time are near both
 * ends of the day.
 */
static bool
is_around_midnight(const training *t, const char *column)
{
	bool		null;
	char	   *value = row_column(column);
	Datum		result = query_datum(psprintf("SELECT min(%s) < '03:00' AND max(%s) > '21:00' %s",
											  value, value,
											  rows_from(&t->source, some_rows(t, MAX_CHECKED_ROWS),
														NULL)),
									 0, NULL, 0, &null);

	return !null && DatumGetBool(result);
}

/*
 * Returns the rows of which a warning counts a share. With option row_weight,
 * a sample has more of the rows of large weight.
 */
static const char *
counted_rows(const training *t)
{
	return t->source.weight == NULL ? "rows" : "sampled rows";
}

/*
 * Warns about a sentinel that stands for a missing value, such as a date
 * 9999-12-31 or a number -999. Returns true if there is one. share: shares of
 * the rows that have the smallest and the largest value, 0 if that value is no
 * sentinel.
 */
static bool
warn_sentinels(const training *t, const char *column, const double share[2])
{
	for (int end = 0; end < 2; end++)
		if (share[end] > 0)
		{
			char	   *value = end_value(t, column, end > 0);

			ereport(WARNING,
					errmsg("column \"%s\" is %s in %.1f %% of the %s, far from all other values",
						   column, value, 100 * share[end], counted_rows(t)),
					t->source.weight == NULL ? 0
					: errdetail("Rows of large weight are sampled more often."),
					errhint("If it means that there is no value, cluster a view with NULLIF(%s, '%s') AS %s.",
							quote_identifier(column), value, quote_identifier(column)));
		}
	return share[0] > 0 || share[1] > 0;
}

/*
 * Returns a number, date, time or interval of an encoder as an SQL constant.
 */
static char *
constant_of(fc_feature_kind kind, double x)
{
	query_argument argument = {"float8", Float8GetDatum(x)};

	if (kind == FC_FEATURE_NUMBER)
		return TextDatumGetCString(query_datum("SELECT trim_scale(round($1::numeric,"
											   " greatest(0, 2 - floor(log(greatest(abs($1), 1e-30)))::integer)))::text",
											   1, &argument, 0, NULL));
	argument.value = Float8GetDatum(floor(kind == FC_FEATURE_TIMESTAMP
										  ? x / SECS_PER_DAY
										  : x));
	return quote_literal_cstr(TextDatumGetCString(query_datum(kind == FC_FEATURE_INTERVAL
															  ? "SELECT (interval '1 second' *"
															  " $1)::text"
															  : "SELECT (date '2000-01-01' +"
															  " $1::integer)::text",
															  1, &argument, 0, NULL)));
}

/*
 * Returns options as an SQL literal. Their condition leaves out the extreme
 * values on the side of the skew, which are beyond facts->fence. A given
 * option "where" remains a part of the condition.
 */
static char *
where_within_fence(const training *t, const fc_encoder_feature *feature,
				   const char *column, const fc_column_facts *facts)
{
	bool		low = facts->skew < 0;
	const char *name = quote_identifier(column);
	char	   *bound = constant_of(feature->kind, facts->fence[low ? 0 : 1]);
	char	   *within = (feature->nulls_seen > 0
						  ? psprintf("(%s %s %s) IS NOT TRUE", name,
									 low ? "<" : ">", bound)
						  : psprintf("%s %s %s", name, low ? ">=" : "<=", bound));

	return where_option(t->options->where, within);
}

/*
 * Warns about a skewed column. The hint suggests the logarithm if the skew is
 * positive and the logarithm removes it. Dates have no logarithm, and the
 * logarithm does not help for values far from 0. In these cases the hint is a
 * condition that leaves out rows with extreme values, if there are any.
 */
static void
warn_skew(const training *t, const fc_encoder_feature *feature,
		  const char *name, const char *column, const fc_column_facts *facts)
{
	bool		has_log = (feature->kind == FC_FEATURE_NUMBER ||
						   feature->kind == FC_FEATURE_INTERVAL);
	bool		by_log = has_log && facts->skew > 0 && fabs(facts->log_skew) <= MAX_LOG_SKEW;
	double		fence = facts->fence[facts->skew > 0];
	bool		by_fence = (column != NULL && facts->beyond[facts->skew > 0] > 0 &&
							(feature->kind != FC_FEATURE_INTERVAL ||
							 fabs(fence) < MAX_INTERVAL_SECONDS));

	ereport(WARNING,
			errmsg("column \"%s\" has skew %.0f: a few extreme values form separate clusters",
				   name, facts->skew),
			by_log && column == NULL
			? errhint("Perhaps its logarithm is more informative.")
			: by_log ? errhint("Perhaps its logarithm is more informative: %s.",
							   column_option("transform", column, "\"log\""))
			: by_fence
			? errhint("If these values are meaningless, leave out their rows: %s.",
					  where_within_fence(t, feature, column, facts))
			: errhint("Leave out the column, or leave out rows with option \"where\"."));
}

/*
 * Raises the first warning that applies to a column. Returns false if no
 * warning applies.
 */
static bool
warn_column(const training *t, const fc_encoder_feature *feature,
			const char *name, const char *column, const fc_column_facts *facts,
			uint64 rows)
{
	Oid			type = (column == NULL
						? InvalidOid
						: getBaseType(column_type(t->source.id, column)));
	bool		is_time = (type == DATEOID || type == TIMESTAMPOID ||
						   type == TIMESTAMPTZOID);
	double		nulls = (double) feature->nulls_seen / (double) rows;

	if (column != NULL && is_identifier(t, column, facts))
		ereport(WARNING,
				errmsg("column \"%s\" is an identifier: each row has a different value",
					   name),
				errhint("Leave out the column: the distance between two identifiers has no meaning."));
	else if (nulls > MAX_NULL_SHARE && nulls < 1 && feature->kind != FC_FEATURE_CATEGORY &&
			 feature->nulls != FC_NULLS_SKIP &&
			 !(t->source.observed && feature->missing))
		ereport(WARNING,
				t->source.observed
				? errmsg("column \"%s\" is NULL in %.0f %% of the %s: it does not count for their clusters",
						 name, 100 * nulls, counted_rows(t))
				: errmsg("column \"%s\" is NULL in %.0f %% of the %s: the imputed values decide its clusters",
						 name, 100 * nulls, counted_rows(t)),
				errhint("Leave out the column, or make a column that is true where it is NULL."));
	else if (column != NULL && warn_sentinels(t, column, facts->sentinel))
		return true;
	else if (is_time && feature->cycle == FC_CYCLE_NONE && grows(t, column))
		ereport(WARNING,
				errmsg("column \"%s\" only grows: later rows are outside the range of the training",
					   name),
				errhint("Leave out the column, or use its part that goes round, such as the %s: %s.",
						type == DATEOID ? "day of the week" : "time of day",
						column_option("cyclic", column,
									  type == DATEOID ? "\"week\"" : "\"day\"")));
	else if (type == TIMEOID && feature->cycle == FC_CYCLE_NONE && is_around_midnight(t, column))
		ereport(NOTICE,
				errmsg("column \"%s\" has times before and after midnight, which count as far apart",
					   name),
				errhint("To let the day go round, use %s.",
						column_option("transform", column, "\"cyclic\"")));
	else if (!feature->log && fabs(facts->skew) > MAX_SKEW)
		warn_skew(t, feature, name, column, facts);
	else if (facts->far >= MIN_FAR && facts->far <= MAX_FAR &&
			 facts->far_squares > MIN_FAR_SQUARES && t->options->trim == 0)
		ereport(WARNING,
				errmsg("%.1f %% of the %s are far out in column \"%s\": they attract centroids",
					   100 * facts->far, counted_rows(t), name),
				errhint("Use option '{\"trim\": %.2g}' to keep them out of the centroids, or leave them out with option \"where\".",
						ceil(110 * facts->far) / 100));
	else
		return false;
	return true;
}

/*
 * Warns about each column that nearly repeats an earlier one. The caller
 * leaves out columns that already have a warning.
 */
static void
warn_copies(const double *x, Size n, Size d, const Size *dimension,
			char *const *name, int count)
{
	for (int j = 1; j < count; j++)
		for (int i = 0; i < j; i++)
		{
			double		r = fc_correlation(x, n, d, dimension[i], dimension[j]);

			if (fabs(r) <= MAX_CORRELATION)
				continue;
			ereport(WARNING,
					errmsg("columns \"%s\" and \"%s\" are near copies: their correlation is %.3f",
						   name[i], name[j], r),
					errhint("Leave out one of them, because the shared information counts twice."));
			break;
		}
}

void
warn_columns(const training *t, const fc_weighted_rows *sample)
{
	const fc_weighted_rows *rows;
	fc_encoder	encoder;
	double	   *x;
	double	   *sorted;
	Size		dimension[MAX_COMPARED_COLUMNS];
	char	   *name[MAX_COMPARED_COLUMNS];
	int			count = 0;

	if (t->again || t->source.encoder == NULL || sample->n < MIN_CHECKED_ROWS)
		return;
	rows = first_rows(sample, MAX_CHECKED_ROWS);
	x = numbers_of_rows(rows);
	sorted = palloc(rows->n * sizeof(double));
	fc_encoder_view(t->source.encoder, &encoder);
	for (Size i = 0; i < encoder.features; i++)
	{
		const fc_encoder_feature *feature = &encoder.feature[i];
		bool		is_number = (feature->cycle == FC_CYCLE_NONE &&
								 (feature->kind == FC_FEATURE_NUMBER ||
								  feature->kind == FC_FEATURE_DATE ||
								  feature->kind == FC_FEATURE_TIMESTAMP ||
								  feature->kind == FC_FEATURE_INTERVAL));
		char	   *shown = feature_name(&encoder, feature);
		fc_column_facts facts = {0};

		CHECK_FOR_INTERRUPTS();
		if (is_number)
			facts = fc_facts_of_column(x, rows->n, rows->d, feature->first,
									   feature->nulls_seen > 0
									   ? (float)
									   encoder.fill[feature->first]
									   : NAN,
									   sorted);
		if (feature->kind == FC_FEATURE_VECTOR ||
			warn_column(t, feature, shown,
						feature->path.length == 0 ? shown : NULL, &facts,
						encoder.rows) ||
			!is_number || count == MAX_COMPARED_COLUMNS)
			continue;
		dimension[count] = feature->first;
		name[count++] = shown;
	}
	warn_copies(x, rows->n, rows->d, dimension, name, count);
}

/*
 * checks.c - errors that several steps of a training raise; the number of
 * clusters and the window of recent rows of a retrain
 */
#include "postgres.h"

#include "utils/jsonb.h"

#include "pg/train/checks.h"
#include "pg/train/options.h"
#include "pg/train/query.h"

/* Minimum and maximum number of levels in a tree of clusters. */
#define MIN_LEVELS	2
#define MAX_LEVELS	8

char *
source_condition_text(const training *t)
{
	const char *condition = t->source.condition;
	Jsonb	   *since = t->options->since_json;

	return psprintf("%s%s%s%s",
					condition == NULL ? "" : " where ",
					condition == NULL ? "" : condition,
					since == NULL ? "" : " in the window ",
					since == NULL ? "" : JsonbToCString(NULL, &since->root, VARSIZE(since)));
}

void
reject_no_rows(const training *t)
{
	if (OidIsValid(t->source.id) &&
		!DatumGetBool(query_datum(psprintf("SELECT EXISTS (SELECT FROM %s)",
										   t->source.relation),
								  0, NULL, 0, NULL)))
		ereport(ERROR, errcode(ERRCODE_NO_DATA_FOUND),
				errmsg("%s is empty", t->source.relation));
	ereport(ERROR, errcode(ERRCODE_NO_DATA_FOUND),
			errmsg("%s has no rows with all features%s%s", t->source.relation,
				   t->source.cosine ? " and a length above 0" : "",
				   source_condition_text(t)),
			t->source.weight == NULL ? 0 : errdetail("Rows of weight 0 are left out."));
}

void
check_k_of_count(const training *t, int64 n)
{
	if ((int64) t->k > n)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("k is %zu, but %s has %s%s", t->k, t->source.relation,
					   n == 1 ? "one row"
					   : psprintf("%lld rows", (long long) n),
					   source_condition_text(t)),
				errhint("Lower k: each cluster needs a row."));
}

void
reject_with_method(train_method method, const char *problem, const char *hint)
{
	ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			errmsg("method \"%s\" %s", train_method_name(method), problem),
			errhint("%s", hint));
}

/* ---- the number of clusters ---- */

/* Returns the levels as a JSON array. */
static char *
levels_text(const float_list *levels)
{
	StringInfoData text;

	initStringInfo(&text);
	for (int i = 0; i < levels->count; i++)
		appendStringInfo(&text, "%s%.15g", i > 0 ? ", " : "[",
						 levels->values[i]);
	appendStringInfoString(&text, levels->count > 0 ? "]" : "[]");
	return text.data;
}

int64
clusters_of_levels(const train_options *options, int64 k)
{
	const float_list *levels = &options->levels;
	double		product = 1;

	if (levels->values == NULL)
		return k;
	if (levels->count < MIN_LEVELS || levels->count > MAX_LEVELS)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("levels are %s, out of range", levels_text(levels)),
				errdetail("There may be %d to %d levels.", MIN_LEVELS,
						  MAX_LEVELS));
	for (int i = 0; i < levels->count; i++)
	{
		if (levels->values[i] != trunc(levels->values[i]))
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("a level is %.15g, not a whole number",
						   levels->values[i]));
		product *= levels->values[i];
	}
	if (product > FC_MAX_CLUSTERS)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("levels %s make %.0f clusters, out of range",
					   levels_text(levels), product),
				errdetail("There may be at most %d clusters.", FC_MAX_CLUSTERS));
	if (k != 0 && (double) k != product)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("k is %lld, but levels %s make %.0f clusters",
					   (long long) k, levels_text(levels), product),
				errhint("Leave out k, or give levels whose product is k."));
	return (int64) product;
}

int64
clusters_of_retraining(const stored_version *version,
					   const train_options *options,
					   const train_options *settings)
{
	train_method method = (options->method != METHOD_NONE ? options->method
						   : version->method);
	bool		levels = options->levels.values != NULL;
	int64		k = ((int64) given_or(options->k, levels || method == METHOD_DENSITY
									  ? 0
									  : (double) version->k));

	return !levels && k == (int64) version->k ? k
		: clusters_of_levels(settings, k);
}

Jsonb *
since_of_retraining(const stored_version *version,
					const train_options *options)
{
	return options->since_given ? options->since_json
		: version->options->since_json;
}

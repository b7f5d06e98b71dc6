/* checks.c - errors that several steps of a training raise, and the number of clusters that its options ask for */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"

#include "pg/model/training_options.h"
#include "pg/train/train.h"

#define LEAST_LEVELS	2
#define MOST_LEVELS		8

void
reject_no_rows(const training *t)
{
	char	   *condition = text_option(t->options, "where");

	if (OidIsValid(t->source.id) && !DatumGetBool(query_datum(psprintf("SELECT EXISTS (SELECT FROM %s)", t->source.relation), 0, NULL, 0, NULL)))
		ereport(ERROR, errcode(ERRCODE_NO_DATA_FOUND), errmsg("%s is empty", t->source.relation));
	ereport(ERROR, errcode(ERRCODE_NO_DATA_FOUND),
			errmsg("%s has no rows with all features%s%s%s", t->source.relation, t->source.cosine ? " and a direction" : "",
				   condition == NULL ? "" : " where ", condition == NULL ? "" : condition));
}

void
check_k_of_count(const training *t, int64 n)
{
	if ((int64) t->k > n)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("k is %zu, but %s has %s", t->k, t->source.relation, n == 1 ? "one row" : psprintf("%lld rows", (long long) n)),
				errhint("Lower k: each cluster needs a row."));
}

void
reject_with_method(const char *method, const char *problem, const char *hint)
{
	ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("method \"%s\" %s", method, problem), errhint("%s", hint));
}

/* Does the option factors name a method of factorize? */
bool
has_factor_method(const Jsonb *options)
{
	Jsonb	   *factors = object_option(options, "factors");

	return factors != NULL && has_option(factors, "method");
}

/* ---- the number of clusters ---- */

int64
clusters_of_levels(const Jsonb *options, int64 k)
{
	Jsonb	   *levels = object_option(options, "levels");
	double		product = 1;
	int			count = levels == NULL ? 0 : (int) JB_ROOT_COUNT(levels);

	if (!has_option(options, "levels"))
		return k;
	if (count < LEAST_LEVELS || count > MOST_LEVELS)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("levels are %s, out of range", levels == NULL ? "none" : JsonbToCString(NULL, &levels->root, 0)),
				errdetail("There may be %d to %d levels.", LEAST_LEVELS, MOST_LEVELS));
	for (int i = 0; i < count; i++)
	{
		JsonbValue *value = getIthJsonbValueFromContainer(&levels->root, (uint32) i);
		double		level = DatumGetFloat8(DirectFunctionCall1(numeric_float8, NumericGetDatum(value->val.numeric)));

		if (level != trunc(level))
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("a level is %s, not a whole number", DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value->val.numeric)))));
		product *= level;
	}
	if (product > FC_MAX_CLUSTERS)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("levels %s make %.0f clusters, out of range", JsonbToCString(NULL, &levels->root, 0), product),
				errdetail("There may be %d clusters.", FC_MAX_CLUSTERS));
	if (k != 0 && (double) k != product)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("k is %lld, but levels %s make %.0f clusters", (long long) k, JsonbToCString(NULL, &levels->root, 0), product),
				errhint("Leave out k, or give levels whose product is k."));
	return (int64) product;
}

int64
clusters_of_retraining(const stored_version *version, Jsonb *options, Jsonb *settings)
{
	char	   *method = text_option(options, "method");
	bool		levels = object_option(options, "levels") != NULL;
	bool		any = levels || strcmp(method != NULL ? method : version->method, "density") == 0;
	int64		k = (int64) number_option(options, "k", any ? 0 : (double) version->k);

	if (!levels && k == (int64) version->k)
		return k;
	check_training_options(settings, "train");	/* levels were stored long ago */
	return clusters_of_levels(settings, k);
}

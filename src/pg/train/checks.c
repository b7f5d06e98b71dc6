/* checks.c - what a training cannot do, and the errors that say so */
#include "postgres.h"

#include "utils/builtins.h"

#include "pg/train/train.h"

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

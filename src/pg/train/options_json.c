/* options_json.c - makes jsonb objects of options; see options_json.h */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "pg/train/options_json.h"

Jsonb *
without_key(Jsonb *json, const char *name)
{
	return DatumGetJsonbP(DirectFunctionCall2(jsonb_delete,
											  JsonbPGetDatum(json),
											  CStringGetTextDatum(name)));
}

Jsonb *
without_nulls(Jsonb *json)
{
	return DatumGetJsonbP(DirectFunctionCall1(jsonb_strip_nulls,
											  JsonbPGetDatum(json)));
}

Jsonb *
json_of_text(const char *text)
{
	return DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(text)));
}

Jsonb *
joined(Jsonb *a, Jsonb *b)
{
	return DatumGetJsonbP(DirectFunctionCall2(jsonb_concat, JsonbPGetDatum(a),
											  JsonbPGetDatum(b)));
}

/*
 * encoder_value.c - the type encoder, and functions that show the contents of
 * an encoder: describe, feature_names and internal functions
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/json.h"

#include "catalog/pg_type.h"
#include "pg/base/memory.h"
#include "pg/encode/encode.h"

/* ---- the type ---- */

static bool
is_valid_text(const fc_encoder *view, fc_encoder_text text)
{
	return pg_verifymbstr(view->text +text.start, (int) text.length, true);
}

/*
 * Checks an encoder, including that its texts are valid in the encoding of the
 * database.
 */
static fc_status
check_encoder(const void *bytes, size_t size)
{
	fc_status	status = fc_encoder_check(bytes, size);
	fc_encoder	view;

	if (status != FC_OK)
		return status;
	fc_encoder_view(bytes, &view);
	for (Size i = 0; i < view.columns; i++)
		if (view.column[i].name.length >= NAMEDATALEN ||
			!is_valid_text(&view, view.column[i].name))
			return FC_EFORMAT;
	for (Size i = 0; i < view.features; i++)
		if (!is_valid_text(&view, view.feature[i].path) ||
			!is_valid_text(&view, view.feature[i].type) ||
			!is_valid_text(&view, view.feature[i].collation))
			return FC_EFORMAT;
	for (Size i = 0; i < view.categories; i++)
		if (!is_valid_text(&view, view.category[i].text))
			return FC_EFORMAT;
	return FC_OK;
}

static const value_type encoder_type = {"encoder", check_encoder, "model_encoder"};

PG_FUNCTION_INFO_V1(fastclust_encoder_in);
Datum
fastclust_encoder_in(PG_FUNCTION_ARGS)
{
	return value_in(fcinfo, &encoder_type);
}

PG_FUNCTION_INFO_V1(fastclust_encoder_recv);
Datum
fastclust_encoder_recv(PG_FUNCTION_ARGS)
{
	return value_recv(fcinfo, &encoder_type);
}

/* ---- names of constants ---- */

static const named_value kinds[] = {
	{"number", FC_FEATURE_NUMBER},
	{"boolean", FC_FEATURE_BOOLEAN},
	{"date", FC_FEATURE_DATE},
	{"timestamp", FC_FEATURE_TIMESTAMP},
	{"interval", FC_FEATURE_INTERVAL},
	{"category", FC_FEATURE_CATEGORY},
	{"vector", FC_FEATURE_VECTOR},
	{"jsonb", FC_FEATURE_ANY}
};
static const named_value scalings[] = {
	{"standard", FC_SCALING_STANDARD},
	{"robust", FC_SCALING_ROBUST},
	{"none", FC_SCALING_NONE}
};

const char *
feature_kind_name(int kind)
{
	return name_of_choice(kind, kinds, lengthof(kinds));
}

/* ---- names ---- */

char *
column_of_feature(const fc_encoder *view, const fc_encoder_feature *feature)
{
	return encoder_text(view, view->column[feature->column].name);
}

char *
feature_name(const fc_encoder *view, const fc_encoder_feature *feature)
{
	char	   *name = column_of_feature(view, feature);

	return feature->path.length == 0
		? name
		: psprintf("%s -> %s", name,
				   encoder_text(view, feature->path));
}

/*
 * Returns the name of the category of a dimension. A category is quoted if its
 * name is empty, "other" or "missing", or begins with a quote, so that it
 * cannot be taken for the dimensions other and missing.
 */
static char *
category_name(const fc_encoder *view, const fc_encoder_feature *feature,
			  uint32 place)
{
	char	   *name;

	if (place >= feature->categories)
		return pstrdup(place == feature->categories && feature->other
					   ? "other"
					   : "missing");
	name = category_text(view, feature, place);
	if (name[0] == '\0' || name[0] == '"' || strcmp(name, "other") == 0 ||
		strcmp(name, "missing") == 0)
		return psprintf("\"%s\"", name);
	return name;
}

/*
 * Returns true if the dimension is an indicator of NULL in a column that is
 * not a category.
 */
static bool
is_indicator(const fc_encoder_feature *feature, uint32 place)
{
	return feature->kind != FC_FEATURE_CATEGORY &&
		place == fc_feature_values(feature);
}

/*
 * Returns the name of a dimension, such as: age, country = DE, x[3],
 * cos(hour), age is NULL.
 */
static char *
dimension_name(const fc_encoder *view, const fc_encoder_feature *feature,
			   uint32 place)
{
	char	   *name = feature_name(view, feature);

	if (feature->missing && place == fc_feature_values(feature))
		return psprintf("%s is NULL", name);
	if (feature->cycle != FC_CYCLE_NONE)
		return psprintf("%s(%s)", place == 0 ? "cos" : "sin", name);
	if (feature->kind == FC_FEATURE_CATEGORY)
		return psprintf("%s = %s", name, category_name(view, feature, place));
	return feature->kind == FC_FEATURE_VECTOR
		? psprintf("%s[%u]", name, place + 1)
		: name;
}

/* ---- lists ---- */

ArrayType *
dimension_names(const fc_encoder_header *encoder)
{
	fc_encoder	view;
	Datum	   *names;
	Size		n = 0;

	fc_encoder_view(encoder, &view);
	names = palloc(view.dim * sizeof(Datum));
	for (Size i = 0; i < view.features; i++)
		for (uint32 j = 0; j < view.feature[i].width; j++)
			names[n++] = CStringGetTextDatum(dimension_name(&view,
															&view.feature[i],
															j));
	return make_text_array(names, n);
}

PG_FUNCTION_INFO_V1(fastclust_feature_names);
Datum
fastclust_feature_names(PG_FUNCTION_ARGS)
{
	PG_RETURN_POINTER(dimension_names(ENCODER_ARG(0)));
}

bool
same_dimensions(const fc_encoder_header *a, const fc_encoder_header *b)
{
	return a == NULL || b == NULL ? a == b
		: same_bytes(dimension_names(a), dimension_names(b));
}

/*
 * Takes (encoder). Returns the names of the columns that the encoder reads, in
 * the encoder's order.
 */
PG_FUNCTION_INFO_V1(fastclust_encoder_columns);
Datum
fastclust_encoder_columns(PG_FUNCTION_ARGS)
{
	fc_encoder	view;
	Datum	   *names;

	fc_encoder_view(ENCODER_ARG(0), &view);
	names = palloc(view.columns * sizeof(Datum));
	for (Size i = 0; i < view.columns; i++)
		names[i] = DirectFunctionCall1(namein,
									   CStringGetDatum(encoder_text(&view, view.column[i].name)));
	PG_RETURN_POINTER(construct_array(names, (int) view.columns, NAMEOID,
									  NAMEDATALEN, false, TYPALIGN_CHAR));
}

/*
 * Takes (encoder). Returns rows (dimension, feature, kind, category,
 * transform, center, scale, label, nulls), with dimensions from 1. nulls is
 * the dimension of the feature's indicator of NULL. It is NULL for a category,
 * and for a feature without an indicator.
 */
PG_FUNCTION_INFO_V1(fastclust_encoder_features);
Datum
fastclust_encoder_features(PG_FUNCTION_ARGS)
{
	fc_encoder	view;
	bool		scaled;

	fastclust_begin_rows(fcinfo);
	fc_encoder_view(ENCODER_ARG(0), &view);
	scaled = fc_encoder_is_scaled(&view);
	for (Size i = 0; i < view.features; i++)
		for (uint32 j = 0; j < view.feature[i].width; j++)
		{
			const fc_encoder_feature *feature = &view.feature[i];
			bool		category = feature->kind == FC_FEATURE_CATEGORY;
			bool		indicator = is_indicator(feature, j);
			bool		cyclic = feature->cycle != FC_CYCLE_NONE && !indicator;
			int			kind = indicator ? FC_FEATURE_BOOLEAN : feature->kind;
			char	   *name = (category || cyclic ? feature_name(&view, feature)
								: dimension_name(&view, feature, j));
			Size		place = feature->first + j;
			Datum		values[9] = {
				Int32GetDatum((int32) (place + 1)),
				CStringGetTextDatum(name),
				CStringGetTextDatum(cyclic ? cyclic_kind_of(feature)->name
									: feature_kind_name(kind)),
				category ? CStringGetTextDatum(category_name(&view, feature, j)) : (Datum) 0,
				CStringGetTextDatum(cyclic ? (j == 0 ? "cosine" : "sine")
									: feature->log && !indicator ? "log" : "none"),
				scaled ? Float8GetDatum(view.center[place]) : (Datum) 0,
				scaled ? Float8GetDatum(view.scale[place]) : (Datum) 0,
				CStringGetTextDatum(cyclic ? name : dimension_name(&view, feature, j)),
				Int32GetDatum((int32) (feature->first + feature->width))
			};
			bool		isnull[9] = {
				false,
				false,
				false,
				!category,
				false,
				!scaled,
				!scaled,
				false,
				category || !feature->missing
			};

			put_row(fcinfo, values, isnull);
		}
	return (Datum) 0;
}

/*
 * Takes (encoder, dimension from 1). Returns a name for the NULLs of the
 * feature that has the dimension, such as: age is NULL.
 */
PG_FUNCTION_INFO_V1(fastclust_null_name);
Datum
fastclust_null_name(PG_FUNCTION_ARGS)
{
	fc_encoder	view;
	const fc_encoder_feature *feature = feature_argument(fcinfo, &view);

	PG_RETURN_TEXT_P(cstring_to_text(psprintf("%s is NULL", feature_name(&view, feature))));
}

/*
 * Takes (feature, d, center, scale). Returns an encoder of one column of
 * vectors with d dimensions. Returns NULL if feature or d is NULL.
 */
PG_FUNCTION_INFO_V1(fastclust_encoder_of_vector);
Datum
fastclust_encoder_of_vector(PG_FUNCTION_ARGS)
{
	const char *name;
	Size		d;
	Size		size;
	double	   *center;
	double	   *scale;
	fc_encoder_header *header;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	name = NameStr(*PG_GETARG_NAME(0));
	check_count("d", PG_GETARG_INT32(1), 1, FC_MAX_DIM);
	d = (Size) PG_GETARG_INT32(1);
	center = numbers_argument(fcinfo, 2, d, "center");
	scale = scales_argument(fcinfo, 3, d);
	size = fc_encoder_size(1, 1, d, 0, strlen(name));
	check_budget(size, "an encoder");
	header = palloc(size);
	fc_encoder_of_vector(name, d, center, scale, header);
	SET_VARSIZE(header, size);
	PG_RETURN_POINTER(header);
}

/* ---- describe ---- */

/* Appends a member whose value is a text, unless the text is empty. */
static void
append_text(StringInfo json, const char *name, const fc_encoder *view, fc_encoder_text text)
{
	if (text.length == 0)
		return;
	appendStringInfo(json, ", \"%s\": ", name);
	escape_json(json, encoder_text(view, text));
}

/*
 * Appends the categories with their row counts in the sample, in the order of
 * the dimensions.
 */
static void
append_categories(StringInfo json, const fc_encoder *view,
				  const fc_encoder_feature *feature)
{
	appendStringInfoString(json, ", \"categories\": {");
	for (uint32 j = 0; j < feature->categories; j++)
	{
		appendStringInfoString(json, j > 0 ? ", " : "");
		escape_json(json, category_text(view, feature, j));
		appendStringInfo(json, ": %lld", (long long) fc_category(view, feature, j)->count);
	}
	appendStringInfo(json, "}, \"other\": %s",
					 feature->other ? "true" : "false");
	append_text(json, "type", view, feature->type);
	append_text(json, "collation", view, feature->collation);
}

static void
append_feature(StringInfo json, const fc_encoder *view,
			   const fc_encoder_feature *feature)
{
	const double *center = view->center + feature->first;

	appendStringInfoString(json, "{\"feature\": ");
	escape_json(json, feature_name(view, feature));
	appendStringInfo(json,
					 ", \"kind\": \"%s\", \"dimensions\": %u, \"transform\": \"%s\", \"log\": %s, \"weight\": %.15g, \"nulls\": \"%s\", \"null_rows\": %lld",
					 feature_kind_name(feature->kind), feature->width,
					 name_of_choice(feature->scaling, scalings, lengthof(scalings)),
					 feature->log ? "true" : "false", feature->weight,
					 name_of_choice(feature->nulls, null_policies, FC_NULLS_POLICIES),
					 (long long) feature->nulls_seen);
	if (feature->kind == FC_FEATURE_CATEGORY)
		append_categories(json, view, feature);
	else if (feature->cycle != FC_CYCLE_NONE)
	{
		appendStringInfo(json, ", \"cycle\": \"%s\", \"period\": %.17g",
						 cyclic_kind_of(feature)->name, feature->period);
		append_text(json, "zone", view, feature->type);
	}
	else if (feature->kind != FC_FEATURE_VECTOR)
		appendStringInfo(json, ", \"center\": %.17g, \"imputed\": %.17g",
						 *center, view->fill[feature->first]);
	appendStringInfo(json, ", \"missing\": %s, \"scale\": %.17g}",
					 feature->missing ? "true" : "false",
					 view->scale[feature->first]);
}

PG_FUNCTION_INFO_V1(fastclust_encoder_describe);
Datum
fastclust_encoder_describe(PG_FUNCTION_ARGS)
{
	const fc_encoder_header *header = ENCODER_ARG(0);
	fc_encoder	view;
	StringInfoData json;

	fc_encoder_view(header, &view);
	initStringInfo(&json);
	appendStringInfo(&json,
					 "{\"dim\": %zu, \"columns\": %zu, \"rows\": %lld, \"skipped\": %lld, \"bytes\": %zu, \"features\": [",
					 view.dim, view.columns, (long long) view.rows, (long long) view.skipped,
					 (Size) VARSIZE(header));
	for (Size i = 0; i < view.features; i++)
	{
		appendStringInfoString(&json, i > 0 ? ", " : "");
		append_feature(&json, &view, &view.feature[i]);
	}
	appendStringInfoString(&json, "]}");
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(json.data));
}

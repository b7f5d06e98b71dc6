/*
 * category.c - categories by the equality of a column's type; see category.h
 *
 * A type is strict if equal values always have the same text. Its categories
 * are texts. Values of a type that is not strict, such as citext, are counted
 * by their hash, and the encoder stores the name of the type. A value is
 * looked up by its text. If no category has this text, the text is read as a
 * value of the stored type and compared with all categories (group_value.h).
 *
 * All users find the same category, because group_type_of does not depend on
 * the user. Live sketches require this: a row may be added by one user and
 * subtracted by another.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "pg/encode/category.h"

/* Seed of the hash function; any number serves. */
#define KEY_SEED	1

static Datum
text_datum(const fc_encoder *view, fc_encoder_text text)
{
	return PointerGetDatum(cstring_to_text_with_len(view->text +text.start,
													(int) text.length));
}

/* ---- types ---- */

group_type
category_type(Oid type, Oid collation)
{
	group_type	none = {InvalidOid};
	group_type	found = group_type_of(type, collation);
	TypeCacheEntry *entry;
	Oid			left;
	Oid			right;

	if (!OidIsValid(found.type) || found.strict)
		return none;
	entry = lookup_type_cache(found.type, TYPECACHE_EQ_OPR |
							  TYPECACHE_HASH_EXTENDED_PROC);
	op_input_types(entry->eq_opr, &left, &right);
	if (left != found.type)
		return category_type(left, collation);
	return OidIsValid(entry->hash_extended_proc) ? found : none;
}

group_type
type_of_feature(const fc_encoder *view, const fc_encoder_feature *feature)
{
	Datum		names[2] = {
		text_datum(view, feature->type),
		text_datum(view, feature->collation)
	};
	group_type	found = {InvalidOid};

	if (feature->type.length > 0)
		found = group_type_of_names(make_text_array(names, feature->collation.length > 0 ? 2 : 1));
	return OidIsValid(found.type)
		? category_type(found.type, found.collation)
		: found;
}

/* ---- keys ---- */

category_key
make_category_key(Oid type, Oid collation, MemoryContext context)
{
	category_key key = {.collation = collation};
	group_type	found = category_type(type, collation);
	MemoryContext old;
	Datum	   *names;
	int			count;

	if (!OidIsValid(found.type))
		return key;
	fmgr_info_cxt(lookup_type_cache(found.type, TYPECACHE_HASH_EXTENDED_PROC)->hash_extended_proc,
				  &key.hash, context);
	old = MemoryContextSwitchTo(context);
	names = read_text_array(names_of_group_type(&found), &count);
	key.type = TextDatumGetCString(names[0]);
	if (count > 1)
		key.name_of_collation = TextDatumGetCString(names[1]);
	MemoryContextSwitchTo(old);
	return key;
}

uint64
key_of_category(category_key *key, Datum value)
{
	return DatumGetUInt64(FunctionCall2Coll(&key->hash, key->collation, value,
											Int64GetDatum(KEY_SEED)));
}

/* ---- finding a category ---- */

static ArrayType *
texts_of_categories(const fc_encoder *view, const fc_encoder_feature *feature)
{
	Datum	   *texts = palloc(Max(1, feature->categories) * sizeof(Datum));

	for (uint32 j = 0; j < feature->categories; j++)
		texts[j] = text_datum(view, fc_category(view, feature, j)->text);
	return make_text_array(texts, feature->categories);
}

/*
 * Makes finder->finder, which reads a text as a value of the column's type and
 * finds the category of feature i that is equal to it by the equality of that
 * type. finder->finder stays NULL if the type does not exist in this database,
 * or if the categories are compared as texts. Called at most once for a
 * feature of a prepared encoder.
 */
static void
make_finder(prepared_encoder *encoder, Size i, category_finder *finder)
{
	const fc_encoder *view = &encoder->view;
	const fc_encoder_feature *feature = &view->feature[i];
	group_type	type = type_of_feature(view, feature);

	if (OidIsValid(type.type))
		finder->finder = make_category_finder(&type,
											  encoder->names[feature->column],
											  texts_of_categories(view, feature),
											  encoder->context);
	finder->made = true;
}

uint32
find_category(prepared_encoder *encoder, Size i, const char *text, Size length)
{
	const fc_encoder_feature *feature = &encoder->view.feature[i];
	uint32		place = fc_find_category(&encoder->view, i, text, length);
	category_finder *finder;
	int			equal;

	if (place < feature->categories || feature->type.length == 0)
		return place;
	finder = &encoder->finders[i];
	if (unlikely(!finder->made))
		make_finder(encoder, i, finder);
	if (finder->finder == NULL)
		return place;
	equal = place_of_group(finder->finder,
						   PointerGetDatum(cstring_to_text_with_len(text, (int) length)));
	return equal >= 0 ? (uint32) equal : place;
}

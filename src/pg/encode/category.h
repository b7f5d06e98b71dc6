/*
 * category.h - groups the values of a column into categories by the equality
 * of the column's type
 */
#ifndef FASTCLUST_CATEGORY_H
#define FASTCLUST_CATEGORY_H

#include "pg/encode/group_value.h"

/*
 * Returns the type whose equality decides which values of a column are one
 * category. For a varchar column the result is text, because varchar has the
 * equality of text.
 *
 * The field `type` of the result is InvalidOid if categories are compared by
 * their texts. This is the case if equal values always have the same text, or
 * if the type has no extended hash function, or no equality that group_type_of
 * allows.
 */
extern group_type category_type(Oid type, Oid collation);

/*
 * Returns the type that the encoder stores for a feature, whose equality
 * compares the categories. The field `type` of the result is InvalidOid if
 * categories are compared by their texts, or if the stored type does not exist
 * in this database.
 */
extern group_type type_of_feature(const fc_encoder *view, const fc_encoder_feature *feature);

/*
 * Data for computing keys of a column's values. Equal values have equal keys.
 */
typedef struct category_key
{
	FmgrInfo	hash;			/* extended hash function of the type */
	Oid			collation;
	const char *type;			/* name of the type that the encoder stores;
								 * NULL if values are compared by their texts
								 * and have no keys */
	const char *name_of_collation;	/* NULL if the type has no collation */
} category_key;

/*
 * make_category_key prepares the keys of a column, and allocates in `context`.
 * key_of_category returns the key of a value; key->type must not be NULL.
 */
extern category_key make_category_key(Oid type, Oid collation, MemoryContext context);
extern uint64 key_of_category(category_key *key, Datum value);

/*
 * Returns the index of the category of feature i that equals a text, or the
 * number of the feature's categories if no category does.
 */
extern uint32 find_category(prepared_encoder *encoder, Size i, const char *text, Size length);

#endif							/* FASTCLUST_CATEGORY_H */

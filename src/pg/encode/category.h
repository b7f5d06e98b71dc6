/*
 * category.h - the equality of a column's type decides which of its values are
 * one category
 */
#ifndef FASTCLUST_CATEGORY_H
#define FASTCLUST_CATEGORY_H

#include "pg/encode/group_value.h"

/*
 * Returns the type whose equality compares the values of a column, or an
 * invalid one if texts are compared: if equal values always have the same
 * text, or if the type has no extended hash function or no equality that
 * group_type_of allows. The type is another one for varchar, which
 * has the equality of text.
 */
extern group_type category_type(Oid type, Oid collation);

/* Returns the type that an encoder stores for a feature. */
extern group_type type_of_feature(const fc_encoder *view, const fc_encoder_feature *feature);

/* Keys of the values of a column: equal values have equal keys. */
typedef struct category_key
{
	FmgrInfo	hash;			/* extended hash function of the type */
	Oid			collation;
	const char *type;			/* names that the encoder stores, as in
								 * fc_encoder_feature; NULL: texts are
								 * compared */
	const char *name_of_collation;	/* NULL: the type has no collation */
} category_key;

/* Returns the keys of a column, in the context. */
extern category_key make_category_key(Oid type, Oid collation, MemoryContext context);
extern uint64 key_of_category(category_key *key, Datum value);

/*
 * Returns the index of the category of feature i that equals a text, or the
 * number of its categories.
 */
extern uint32 find_category(prepared_encoder *encoder, Size i, const char *text, Size length);

#endif							/* FASTCLUST_CATEGORY_H */

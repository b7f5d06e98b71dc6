/*
 * group_value.h - values of a grouping column: their texts, and which of them
 * are one group; category.c finds categories in the same way
 */
#ifndef FASTCLUST_GROUP_VALUE_H
#define FASTCLUST_GROUP_VALUE_H

#include "utils/array.h"

#include "pg/encode/encode.h"

/* Type of a grouping column. */
typedef struct group_type
{
	Oid			type;			/* base type; InvalidOid: texts are compared */
	Oid			collation;
	bool		strict;			/* true if equal values always have the same
								 * text */
} group_type;

/*
 * Decides how values of a column are compared: by the equality of its type if
 * that is a base type of PostgreSQL or of an extension, or consists of such
 * values; otherwise as texts.
 */
extern group_type group_type_of(Oid type, Oid collation);

/* Are values of both types compared in the same way? */
extern bool same_group_type(const group_type *a, const group_type *b);

/*
 * Convert the type to the names that a version stores, and back: {type} or, if
 * equal values may have different texts, {type, collation}, with their schemas.
 * Texts are compared if a name no longer exists, or if `names` is NULL.
 */
extern ArrayType *names_of_group_type(const group_type *type);
extern group_type group_type_of_names(ArrayType *names);

/* Finds the group that a value of any type names. */
typedef struct group_finder group_finder;

/*
 * Makes a finder, in a child of the context, of values of type `given` among
 * the groups of a column. Raises an error if values of the type can neither be
 * compared with the column nor converted to its type.
 *
 * column: name of the column for error messages, or NULL.
 */
extern group_finder *make_group_finder(const group_type *type, Oid given,
									   const char *column, MemoryContext context);

/*
 * Makes a finder, in a child of the context, of texts among the categories of
 * a column, an array of text without NULLs.
 */
extern group_finder *make_category_finder(const group_type *type, const char *column,
										  ArrayType *categories, MemoryContext context);

/* Is the finder made for values of this type? */
extern bool finds_type(const group_finder *finder, Oid given);

/* Does the finder need the groups, because it compares values? */
extern bool needs_groups(const group_finder *finder);

/* Sets the texts of the groups, an array of text without NULLs. */
extern void set_groups(group_finder *finder, ArrayType *groups);

/* Returns the index of the group that equals the value, or -1. */
extern int	place_of_group(group_finder *finder, Datum value);

/*
 * Returns the text of the group that equals the value; NULL if there is none.
 * A finder that needs no groups returns the text that the group would have.
 */
extern const text *text_of_group(group_finder *finder, Datum value);

/* Returns the text of the value as it was given. */
extern const text *text_as_given(group_finder *finder, Datum value);

#endif							/* FASTCLUST_GROUP_VALUE_H */

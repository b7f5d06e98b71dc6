/*
 * group_value.h - values of a grouping column: their texts, and the decision
 * which values are one group; category.c decides about categories in the same
 * way
 */
#ifndef FASTCLUST_GROUP_VALUE_H
#define FASTCLUST_GROUP_VALUE_H

#include "utils/array.h"

#include "pg/encode/encode.h"

/* Type of a grouping column. */
typedef struct group_type
{
	Oid			type;			/* base type of the column; InvalidOid if
								 * values are compared by their texts */
	Oid			collation;
	bool		strict;			/* true if equal values always have the same
								 * text */
} group_type;

/*
 * Decides how the values of a column are compared. If the type is a base type
 * of PostgreSQL or of an extension, or consists of values of such types,
 * values are compared by the equality of the type. Otherwise their texts are
 * compared.
 */
extern group_type group_type_of(Oid type, Oid collation);

/* Are values of both types compared in the same way? */
extern bool same_group_type(const group_type *a, const group_type *b);

/*
 * names_of_group_type returns the names that a version of a model stores, with
 * their schemas: {type}, or {type, collation} if equal values may have
 * different texts and the type has a collation. It returns NULL if texts are
 * compared. group_type_of_names converts the names back. Texts are compared if
 * a name no longer exists, or if `names` is NULL.
 */
extern ArrayType *names_of_group_type(const group_type *type);
extern group_type group_type_of_names(ArrayType *names);

/* Finder of the group that equals a value of any type. */
typedef struct group_finder group_finder;

/*
 * Makes a finder that looks up values of type `given` among the groups of a
 * column, in a child of `context`. Raises an error if values of type `given`
 * can neither be compared with the column nor converted to its type.
 *
 * column: name of the column for error messages, or NULL.
 */
extern group_finder *make_group_finder(const group_type *type, Oid given,
									   const char *column, MemoryContext context);

/*
 * Makes a finder that looks up texts among the categories of a column, in a
 * child of `context`. `categories` is an array of text without NULLs.
 */
extern group_finder *make_category_finder(const group_type *type, const char *column,
										  ArrayType *categories, MemoryContext context);

/* Is the finder made for values of this type? */
extern bool finds_type(const group_finder *finder, Oid given);

/*
 * Does the finder compare values, so that it needs set_groups before a lookup?
 */
extern bool needs_groups(const group_finder *finder);

/* Sets the texts of the groups, an array of text without NULLs. */
extern void set_groups(group_finder *finder, ArrayType *groups);

/*
 * Returns the index of the group that equals the value, or -1. A finder that
 * needs no groups always returns -1.
 */
extern int	place_of_group(group_finder *finder, Datum value);

/*
 * Returns the text of the group that equals the value; NULL if there is none.
 * If needs_groups(finder) is false, groups are compared by their texts: then
 * returns the text of the value, whether or not such a group exists.
 */
extern const text *text_of_group(group_finder *finder, Datum value);

/* Returns the text of the value as it was given. */
extern const text *text_as_given(group_finder *finder, Datum value);

#endif							/* FASTCLUST_GROUP_VALUE_H */

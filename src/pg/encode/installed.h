/*
 * installed.h - types and functions whose code no user can change
 *
 * An object is installed if it is part of PostgreSQL, or if it is a member of
 * an extension and belongs to a superuser. Objects that the script of an
 * extension made belong to a superuser. The owner of a trusted extension can
 * add other objects to it, but they belong to that owner.
 */
#ifndef FASTCLUST_INSTALLED_H
#define FASTCLUST_INSTALLED_H

#include "postgres_ext.h"

/*
 * Returns the innermost element type of an array, range or multirange type;
 * returns any other type itself. Returns InvalidOid in two cases: the result
 * would be a composite type, an enum or a domain; or the result, or a range
 * type around it, is not installed (see above).
 */
extern Oid	installed_base(Oid type);

/*
 * Is a text always read as the same value of the type? True for base types of
 * PostgreSQL and of extensions whose input function is immutable. True for
 * dates, times and intervals, because the settings that affect them are fixed.
 * True for arrays, ranges and multiranges of such types. False for regclass,
 * for example, whose texts are names of objects.
 */
extern bool reads_same_value(Oid type);

extern bool is_installed_function(Oid function);

#endif							/* FASTCLUST_INSTALLED_H */

/*
 * installed.h - types and functions whose code no user can change
 *
 * An installed object is part of PostgreSQL, or it is a member of an extension
 * and belongs to a superuser, as the script of the extension made it. The owner
 * of a trusted extension can add objects to it, but these belong to that role.
 */
#ifndef FASTCLUST_INSTALLED_H
#define FASTCLUST_INSTALLED_H

#include "postgres_ext.h"

/*
 * Returns the base type that a value of the type consists of: the type itself,
 * or the innermost one of arrays, ranges and multiranges. Returns InvalidOid
 * if it consists of composite types, enums, domains or ranges of users.
 */
extern Oid	installed_base(Oid type);

/*
 * Is a text always read as the same value of the type? True for base types of
 * PostgreSQL and of extensions whose input function is immutable, for dates and
 * times, whose settings are fixed, and for arrays, ranges and multiranges of
 * these. False for regclass, for example, whose texts are names of objects.
 */
extern bool reads_same_value(Oid type);

extern bool is_installed_function(Oid function);

#endif							/* FASTCLUST_INSTALLED_H */

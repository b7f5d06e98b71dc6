/* columns.h - columns of a relation, read from the catalog */
#ifndef FASTCLUST_TRAIN_COLUMNS_H
#define FASTCLUST_TRAIN_COLUMNS_H

#include "pg/encode/group_value.h"

/*
 * Returns the columns of a relation in their order, without dropped ones, and
 * sets *count to their number.
 */
extern struct FormData_pg_attribute *relation_columns(Oid relation, int *count);

/* Returns the name of a relation as regclass displays it. */
extern char *shown_relation(Oid relation);

/*
 * column_type returns the OID of a column's type. column_group_type returns
 * the properties of a grouping column's type. Both raise an error if the
 * column does not exist.
 */
extern Oid	column_type(Oid relation, const char *name);
extern group_type column_group_type(Oid relation, const char *name);

/* Returns a column of row t as an SQL expression. */
extern char *row_column(const char *name);

#endif							/* FASTCLUST_TRAIN_COLUMNS_H */

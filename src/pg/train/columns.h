/* columns.h - columns of a relation as the catalog has them */
#ifndef FASTCLUST_TRAIN_COLUMNS_H
#define FASTCLUST_TRAIN_COLUMNS_H

/*
 * Returns the columns of a relation in their order, without those that were
 * dropped.
 */
extern struct FormData_pg_attribute *relation_columns(Oid relation, int *count);

/* Returns the name of a relation as regclass shows it. */
extern char *shown_relation(Oid relation);

/* Returns the type of a column; an error if it does not exist. */
extern Oid	column_type(Oid relation, const char *name);

#endif							/* FASTCLUST_TRAIN_COLUMNS_H */

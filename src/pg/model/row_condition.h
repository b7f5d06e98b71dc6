/* row_condition.h - a condition on the rows of a relation */
#ifndef FASTCLUST_ROW_CONDITION_H
#define FASTCLUST_ROW_CONDITION_H

#include "utils/array.h"

/*
 * Returns the condition as SQL text in which every name is resolved and rows
 * have the alias t. If `columns` is not NULL, sets *columns to the names of
 * the columns that the condition reads. Raises an error for an expression that
 * is not allowed as a condition.
 */
extern char *resolved_condition(Oid relation, const char *condition, ArrayType **columns);

#endif							/* FASTCLUST_ROW_CONDITION_H */

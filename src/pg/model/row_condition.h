/* row_condition.h - a condition on the rows of a relation */
#ifndef FASTCLUST_ROW_CONDITION_H
#define FASTCLUST_ROW_CONDITION_H

#include "utils/array.h"

/*
 * Returns a condition on rows with the alias t in which every name is
 * resolved, and the columns that it reads (NULL if they are not needed).
 * Raises an error for an expression that is not allowed as a condition.
 */
extern char *resolved_condition(Oid relation, const char *condition, ArrayType **columns);

#endif							/* FASTCLUST_ROW_CONDITION_H */

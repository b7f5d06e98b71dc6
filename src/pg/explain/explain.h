/* explain.h - shared by the functions that explain clusters */
#ifndef FASTCLUST_EXPLAIN_H
#define FASTCLUST_EXPLAIN_H

#include "postgres.h"

#include "explain/explain.h"

/* Kinds of d dimensions, an integer array. */
extern fc_axis_kind *read_axis_kinds(Datum datum, Size d);

#endif							/* FASTCLUST_EXPLAIN_H */

/* rows.h - set-returning functions materialise their rows */
#ifndef FASTCLUST_ROWS_H
#define FASTCLUST_ROWS_H

#include "postgres.h"

#include "fmgr.h"

/* Prepare fcinfo's result set as a tuplestore; works alike on 13 to 18. */
extern void fastclust_begin_rows(FunctionCallInfo fcinfo);

#endif							/* FASTCLUST_ROWS_H */

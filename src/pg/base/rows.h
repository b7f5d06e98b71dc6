/* rows.h - rows that functions return: one, or a set, which is materialised */
#ifndef FASTCLUST_ROWS_H
#define FASTCLUST_ROWS_H

#include "postgres.h"

#include "fmgr.h"

/* Prepare fcinfo's result set as a tuplestore; works alike on 13 to 18. */
extern void fastclust_begin_rows(FunctionCallInfo fcinfo);

/* A row of that set, and a result that is one row.  nulls NULL: there is none. */
extern void put_row(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls);
extern Datum row_result(FunctionCallInfo fcinfo, const Datum *values, const bool *nulls);

#endif							/* FASTCLUST_ROWS_H */

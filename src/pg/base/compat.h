/* compat.h - every difference between PostgreSQL 13 and 18, in one place */
#ifndef FASTCLUST_COMPAT_H
#define FASTCLUST_COMPAT_H

#if PG_VERSION_NUM < 130000
#error "fastclust needs PostgreSQL 13 or later"
#endif

/* VARSIZE and its like were in postgres.h. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* pg_proc_aclcheck became one of many. */
#if PG_VERSION_NUM >= 160000
#define pg_proc_aclcheck(function, role, mode) object_aclcheck(ProcedureRelationId, function, role, mode)
#endif

/* Intervals became infinite in 17. */
#if PG_VERSION_NUM < 170000
#define INTERVAL_NOT_FINITE(interval) ((void) (interval), false)
#endif

#endif							/* FASTCLUST_COMPAT_H */

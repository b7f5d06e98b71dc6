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

#endif							/* FASTCLUST_COMPAT_H */

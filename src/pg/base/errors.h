/* errors.h - PostgreSQL errors for status codes of the core */
#ifndef FASTCLUST_ERRORS_H
#define FASTCLUST_ERRORS_H

#include "base/fc.h"

extern void report_status(fc_status status) __attribute__((noreturn));

static inline void
check_status(fc_status status)
{
	if (unlikely(status != FC_OK))
		report_status(status);
}

#endif							/* FASTCLUST_ERRORS_H */

/*
 * threshold.h - a number between two values of a feature, as short as people write it.
 */
#ifndef FC_EXPLAIN_THRESHOLD_H
#define FC_EXPLAIN_THRESHOLD_H

#include "base/fc.h"

typedef enum fc_axis_kind
{
	FC_AXIS_NUMBER = 0,
	FC_AXIS_LOG,				/* rows hold sign(x) log(1 + |x|), people read x */
	FC_AXIS_DAYS,				/* whole days */
	FC_AXIS_SECONDS,			/* from midnight */
	FC_AXIS_FLAG				/* 0 and 1 */
} fc_axis_kind;

typedef struct fc_threshold
{
	double		raw;			/* as rows hold it: low <= raw < high */
	double		shown;			/* as people read it */
} fc_threshold;

/* low < high are finite, as rows hold them. */
fc_threshold fc_short_threshold(fc_axis_kind kind, double low, double high);

#endif							/* FC_EXPLAIN_THRESHOLD_H */

/* progress.h - what a long step says while it works, and the trainings that run */
#ifndef FASTCLUST_PROGRESS_H
#define FASTCLUST_PROGRESS_H

#include "postgres.h"

#include "datatype/timestamp.h"

extern int	fastclust_progress_interval;	/* ms between two reports, 0: none; GUC fastclust.progress_interval */

/*
 * The step of a training that began then begins.  The name stands in notices, NULL: no notices.  About so many rows will be scanned, 0: none.
 */
extern void announce_step(const char *name, int64 model_id, const char *model, const char *step, double rows_about, TimestampTz begun);
extern void end_step(void);

#define PROGRESS_ROWS	1024

/* Called often while work goes on: a NOTICE when the step that was announced last has taken an interval more. */
extern void report_progress(void);

/* PROGRESS_ROWS rows more are done: the same, and training_progress shows them. */
extern void report_rows(void);

/* The same from a function that is called for each row. */
static inline void
report_progress_of_rows(void)
{
	static uint32 rows = 0;

	if (++rows % PROGRESS_ROWS == 0)
		report_rows();
}

/* At load: asks for shared memory where that must be done then. */
extern void prepare_board(void);

#endif							/* FASTCLUST_PROGRESS_H */

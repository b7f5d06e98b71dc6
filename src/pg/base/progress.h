/*
 * progress.h - estimated durations, notices of progress, and the list of
 * running trainings
 */
#ifndef FASTCLUST_PROGRESS_H
#define FASTCLUST_PROGRESS_H

#include "datatype/timestamp.h"

extern int	fastclust_progress_interval;	/* time between two reports in ms,
											 * 0 for no reports; GUC
											 * fastclust.progress_interval */
extern double fastclust_time_budget;	/* maximum estimated time of a step in
										 * s, 0 for no maximum; GUC
										 * fastclust.time_budget */

/*
 * Announces a step of a training that began at `begun`. Notices begin with
 * `name`; if it is NULL, there are no notices. rows_about is the estimated
 * number of rows that the step scans, or 0 if it scans no rows.
 */
extern void announce_step(const char *name, int64 model_id, const char *model,
						  const char *step, double rows_about, TimestampTz begun);
extern void end_step(void);

/*
 * Announces work of about `operations` multiply-adds. Raises an error if the
 * estimated time exceeds fastclust.time_budget. Otherwise raises a NOTICE if
 * the estimated time exceeds a few seconds; training_progress then shows the
 * estimated end. There is no NOTICE if `quiet` is true, or if the current step
 * was announced without a name.
 *
 * The message begins with `subject`, which includes the verb: "kmeans_agg of
 * 10 rows takes". `hint` names options that reduce the work, or a better
 * method. If `hint` is NULL, the time is not limited.
 */
extern void announce_work(const char *subject, double operations, bool quiet,
						  const char *hint);

/*
 * Number of rows after which a process adds them to the shared counter. With a
 * smaller number, progress is shown sooner, but processes take the counter's
 * cache line from each other more often. A guess.
 */
#define PROGRESS_ROWS	1024

/*
 * Raises a NOTICE about the step announced last if fastclust.progress_interval
 * has passed since the previous NOTICE. Called often during work.
 */
extern void report_progress(void);

/*
 * Adds PROGRESS_ROWS to the number of rows that training_progress shows, and
 * reports progress.
 */
extern void report_rows(void);

/* Counts one row; called for each row of a scan. */
static inline void
report_progress_of_rows(void)
{
	static uint32 rows = 0;

	if (++rows % PROGRESS_ROWS == 0)
		report_rows();
}

/*
 * Requests shared memory for the list of running trainings, on servers that
 * require the request while the module is preloaded.
 */
extern void prepare_board(void);

#endif							/* FASTCLUST_PROGRESS_H */

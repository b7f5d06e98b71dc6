/*
 * progress.h - how long a step will take, how far it is, and the trainings
 * that run
 */
#ifndef FASTCLUST_PROGRESS_H
#define FASTCLUST_PROGRESS_H

#include "datatype/timestamp.h"

extern int	fastclust_progress_interval;	/* ms between two reports, 0:
											 * none; GUC
											 * fastclust.progress_interval */
extern double fastclust_time_budget;	/* s, 0: none; GUC
										 * fastclust.time_budget */

/*
 * The step of a training that began then begins. The name stands in notices,
 * NULL: no notices. About so many rows will be scanned, 0: none.
 */
extern void
			announce_step(const char *name, int64 model_id, const char *model,
						  const char *step, double rows_about, TimestampTz begun);
extern void end_step(void);

/*
 * A piece of work of about so many multiply-adds begins: an error where they
 * take more than fastclust.time_budget, else a NOTICE where they take more
 * than some seconds, and training_progress shows the time left. The message
 * begins with `subject`, which has its verb: "kmeans_agg of 10 rows takes";
 * `hint` names the options that lower the work, or a better method; NULL:
 * there is none, and it may take as long as it takes. `quiet`: no NOTICE, as
 * in a step that is quiet.
 */
extern void announce_work(const char *subject, double operations, bool quiet,
						  const char *hint);

#define PROGRESS_ROWS	1024

/*
 * Called often while work goes on: a NOTICE when the step that was announced
 * last has taken an interval more.
 */
extern void report_progress(void);

/*
 * PROGRESS_ROWS rows more are done: the same, and training_progress shows
 * them.
 */
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

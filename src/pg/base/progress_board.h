/*
 * progress_board.h - trainings that run, for other sessions to see.
 *
 * The board is in shared memory: a named segment on servers that have those (17 and later), else what the module
 * asked for when it was in shared_preload_libraries.  Without either nothing is posted, and rows are counted in this process alone.
 */
#ifndef FASTCLUST_PROGRESS_BOARD_H
#define FASTCLUST_PROGRESS_BOARD_H

#include "postgres.h"

#include "datatype/timestamp.h"

#define BOARD_NAME	256
#define BOARD_STEP	64

/* A training and its step. */
typedef struct board_entry
{
	int			pid;			/* 0: nobody's */
	Oid			role;
	Oid			database;
	int64		model_id;
	char		model[BOARD_NAME];
	char		step[BOARD_STEP];	/* empty: between two steps */
	double		rows_about;		/* of the scan that the step is; 0: it is none */
	TimestampTz begun;			/* the training */
	TimestampTz step_begun;
} board_entry;

/* At load: ask for shared memory where that must be done then. */
extern void prepare_board(void);

/* Post this process' training with a new step, of which no row is done; it is taken down with its (sub)transaction. */
extern void post_on_board(const board_entry *entry);

/* The step has ended. */
extern void end_step_on_board(void);

/* Rows of this process' step or, in a parallel worker, of its leader's. */
extern void count_on_board(uint64 rows);

/* Rows of this process' step so far; *all: those of parallel workers are among them. */
extern uint64 rows_on_board(bool *all);

#endif							/* FASTCLUST_PROGRESS_BOARD_H */

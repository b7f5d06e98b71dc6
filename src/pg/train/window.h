/* window.h - windows of recent rows of a table */
#ifndef FASTCLUST_TRAIN_WINDOW_H
#define FASTCLUST_TRAIN_WINDOW_H

#include "pg/train/options.h"

/*
 * Returns a window as a condition on the rows t of a relation; `rows` is the
 * name of that relation.
 */
extern char *window_condition(Oid relation, const char *rows, const row_window *since);

#endif							/* FASTCLUST_TRAIN_WINDOW_H */

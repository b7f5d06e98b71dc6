/* window.h - windows of recent rows of a table */
#ifndef FASTCLUST_TRAIN_WINDOW_H
#define FASTCLUST_TRAIN_WINDOW_H

#include "pg/train/options.h"

/*
 * Returns the SQL condition that a row t of the relation is in the window.
 * rows: name of the relation in FROM.
 */
extern char *window_condition(Oid relation, const char *rows, const row_window *since);

#endif							/* FASTCLUST_TRAIN_WINDOW_H */

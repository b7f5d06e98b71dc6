/* model_row.h - a row as a function's arguments give it, in the coordinates of a model's operator */
#ifndef FASTCLUST_MODEL_ROW_H
#define FASTCLUST_MODEL_ROW_H

#include "postgres.h"

#include "fmgr.h"

#include "base/fc.h"
#include "pg/model/model.h"

/* How a row is given. */
typedef enum row_form
{
	ROW_GIVEN,					/* as the type of the argument says: one of the last three */
	ROW_LIST,					/* two numbers and a perhaps empty array of those behind them */
	ROW_COLUMNS,				/* numbers of any type: all arguments, VARIADIC "any", or a single one */
	ROW_VECTOR,
	ROW_RECORD					/* a whole row, of which the model's columns are taken by their names */
} row_form;

typedef struct model_row
{
	const served_model *model;
	const double *x;			/* in the operator's coordinates */
	bool		labelled;		/* a sparse row, whose cluster is known */
	size_t		cluster;
	fc_scratch	scratch;
} model_row;

/*
 * The row that begins in `argument`, and the model in argument 0, of the group in argument `group` (-1: none), or of that in a whole row's
 * own column.  False where there is no answer: a group that is NULL or has no model; a NULL among listed columns; a NULL of a record in a column whose NULLs are to be skipped;
 * a zero vector, where the metric is cosine.
 */
extern bool read_model_row(FunctionCallInfo fcinfo, int group, int argument, row_form form, model_row *row);

/* The cluster of the row by the model's operator. */
extern size_t cluster_of_row(const model_row *row);

#endif							/* FASTCLUST_MODEL_ROW_H */

/*
 * columns.h - labels of sparse rows, by the columns of a codebook.
 *
 *     score_j = ||v_j||^2 / 2 + v_j . o - sum over the row's elements of x_i v_ji,      in double
 *
 * Cost: k multiply-adds an element, and no pass over d.  The error of a score is below that of a distance in double, so that
 * a lowest score that stands clear of both is the label of fc_operator_assign; others have to be compared there.
 */
#ifndef FC_OPERATOR_COLUMNS_H
#define FC_OPERATOR_COLUMNS_H

#include "operator/operator.h"

typedef struct fc_columns
{
	size_t		k;
	size_t		d;
	const float *values;		/* d x k */
	const double *constants;	/* k: what a row 0 has; 0 for inner products */
	double		reach;			/* max ||v_j|| + ||o|| */
} fc_columns;

/* Bytes that fc_columns_make takes from its arena; 0 where labels do not come from one dense codebook alone. */
size_t		fc_columns_worksize(const fc_operator *op);

void		fc_columns_make(const fc_operator *op, fc_arena *arena, fc_columns *columns);

/* The scores (k) of a row as the operator's metric takes it; returns what bounds the error of one and that of half a distance together. */
double		fc_columns_score(const fc_columns *columns, const fc_sparse_row *x, double *scores);

/* The label of a row as the operator's metric takes it; false, and no label, where others are too near.  scores: k. */
bool		fc_columns_assign(const fc_columns *columns, const fc_sparse_row *x, double *scores, size_t *label);

#endif							/* FC_OPERATOR_COLUMNS_H */

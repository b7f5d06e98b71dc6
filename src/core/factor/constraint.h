/*
 * constraint.h - the sets sparse factors are held to, and the projection on them.
 *
 * Every set also asks for unit Frobenius norm (a separate lambda carries the scale).
 */
#ifndef FC_FACTOR_CONSTRAINT_H
#define FC_FACTOR_CONSTRAINT_H

#include "factor/sparse.h"

typedef enum fc_constraint_kind
{
	FC_LINES,					/* the union of the largest of every row and of every column ("splincol") */
	FC_TOTAL,					/* the largest of all */
	FC_SUPPORT					/* the support the factor has */
} fc_constraint_kind;

typedef struct fc_constraint
{
	fc_constraint_kind kind;
	size_t		per_row;		/* FC_LINES: at least this many of a row, of a column */
	size_t		per_column;
	size_t		total;			/* FC_TOTAL */
} fc_constraint;

/* Entries a matrix within the set can have; for FC_SUPPORT those it has now. */
size_t		fc_constraint_capacity(const fc_constraint *constraint, size_t rows, size_t columns, size_t nonzeros);

/* Bytes fc_constraint_project takes. */
size_t		fc_constraint_worksize(size_t rows, size_t columns);

/*
 * a = the entries of dense (rows x columns of a) that the constraint keeps, scaled to unit norm;
 * the norm before scaling is returned in *norm.  Of equal magnitudes the lowest column of a row,
 * the lowest row of a column, the lowest place of all is kept.  Zeros are not stored.
 */
void		fc_constraint_project(const fc_constraint *constraint, const double *dense,
								  fc_arena *arena, fc_sparse *a, double *norm);

/* The same on the support a has. */
double		fc_support_project(const double *dense, fc_sparse *a);

#endif							/* FC_FACTOR_CONSTRAINT_H */

/*
 * internal.h - the state of palm4MSA, shared by its files.
 */
#ifndef FC_FACTOR_INTERNAL_H
#define FC_FACTOR_INTERNAL_H

#include "factor/palm.h"

typedef struct fc_item
{
	double		value;
	size_t		column;
} fc_item;

/* A sparse matrix, shortest rows first, so that one loop of constant length follows another. */
typedef struct fc_schedule
{
	size_t		rows;
	uint32_t   *row;
	uint32_t   *length;			/* in that order */
	fc_item    *item;			/* in that order */
} fc_schedule;

typedef struct fc_palm_work
{
	const fc_target *target;
	fc_factors *factors;
	fc_arena   *arena;
	size_t		k;
	size_t		d;
	size_t		panel;			/* numbers of a panel of y, h, product */
	double		square;			/* ||W^(1/2) U||^2 */
	double		margin;
	double	   *step;			/* D, where lists of the largest do not do */
	double	   *stepped;		/* D on the support of S_q, in the order of its transpose */
	fc_largest	largest;
	double	   *y;				/* U R' transposed, inner x k; what goes before the factors on the right */
	double	   *h;				/* R R', inner x inner */
	double	   *product;		/* S_q h, or S_q y */
	double	   *tile[2];		/* longest side x FC_TILE_COLUMNS */
	double	   *vector[2];		/* longest side */
	uint32_t   *scratch;		/* longest side + 2 */
	fc_schedule schedule[2][FC_MAX_FACTORS];	/* of the factors and of their transposes */
	const fc_palm_options *options;
	double	   *left[FC_MAX_FACTORS];	/* power iteration: rows of S_q */
	double	   *right[FC_MAX_FACTORS];	/* columns of S_q */
	bool		power_warm;
	fc_sparse	saved[FC_MAX_FACTORS];	/* the factors before this sweep */
	double		saved_lambda;
} fc_palm_work;

/* ---- passes, in tiles: columns (lines) first .. first + count, count <= FC_TILE_COLUMNS ---- */

/* The schedule of a; scratch: columns + 2. */
void		fc_palm_schedule(const fc_sparse *a, uint32_t *scratch, fc_schedule *s);

/* Columns of D = S_q - lambda / c L' W (lambda L S_q H - Y) to w->stepped and the lists or w->step; adds to <S_q, D>. */
void		fc_palm_step(fc_palm_work *w, size_t q, double c, size_t first, size_t count, double *along);

/* product = S_q y; product = S_q h, all of it before h = S_q product'. */
void		fc_palm_multiply_y(fc_palm_work *w, size_t q, size_t first, size_t count);
void		fc_palm_multiply_h(fc_palm_work *w, size_t q, size_t first);
void		fc_palm_grow_h(fc_palm_work *w, size_t q, size_t first, size_t count);

/* Columns of the n x n Gram matrix of an end, row-major; its right sides, n a line. */
void		fc_palm_gram(fc_palm_work *w, size_t q, size_t n, size_t first, size_t count, double *gram);
void		fc_palm_right_sides(fc_palm_work *w, size_t q, size_t n, size_t first, size_t count, double *side);

/* Columns of S_0 .. S_(Q - 1): where they are, k x FC_TILE_COLUMNS. */
const double *fc_palm_product_columns(fc_palm_work *w, size_t first, size_t count);

/* ---- between passes ---- */

/* Bring the transpose and the schedules of factor q up to date with the factor. */
void		fc_palm_changed(fc_palm_work *w, size_t q);

#endif							/* FC_FACTOR_INTERNAL_H */

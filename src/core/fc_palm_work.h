/*
 * fc_palm_work.h - the state of palm4MSA, shared by its files.
 */
#ifndef FC_PALM_WORK_H
#define FC_PALM_WORK_H

#include "fc_palm.h"

typedef struct fc_palm_work
{
	const fc_target *target;
	const fc_tick *tick;
	fc_factors *factors;
	fc_arena   *arena;
	size_t		k;
	size_t		d;
	size_t		inner;			/* widest vector between two factors */
	double		square;			/* ||W^(1/2) U||^2 */
	double		margin;
	double	   *step;			/* D */
	double	   *y;				/* k x inner */
	double	   *h;				/* inner x inner, of the factors right of q */
	double	   *next_h;
	double	   *tile[2];		/* longest side x FC_TILE */
	double	   *vector[2];		/* longest side */
	const fc_palm_options *options;
	double	   *left[FC_MAX_FACTORS];	/* power iteration: rows of S_q */
	double	   *right[FC_MAX_FACTORS];	/* columns of S_q */
	bool		power_warm;
	fc_sparse	saved[FC_MAX_FACTORS];	/* the factors before this sweep */
	double		saved_lambda;
} fc_palm_work;

/* The tile in w->tile[0] times S_(from - 1) .. S_0, or times S_from' .. S_(to - 1)' in turn. */
void		fc_palm_up(fc_palm_work *w, size_t from);
void		fc_palm_down(fc_palm_work *w, size_t from, size_t to);

/* Rows 0 .. k - 1 of the tile times their weights. */
void		fc_palm_weigh(const fc_palm_work *w, double *tile);

/* ||W^(1/2) S_1 .. S_(q - 1)||_2^2 or ||S_(q + 1) .. S_Q||_2^2 from the vector of the last estimate; vectors to start from. */
double		fc_palm_squared_norm(fc_palm_work *w, size_t q, bool of_left);
void		fc_palm_start_vectors(fc_palm_work *w, uint64_t seed);

/* Is factor q solved line by line (fc_palm_ends.c)? */
bool		fc_palm_pursued(const fc_palm_work *w, size_t q);

/* Bytes for it, and the update: the first or last factor, its lines chosen by matching pursuit. */
size_t		fc_palm_ends_worksize(const fc_factors *factors);
fc_status	fc_palm_pursue_end(fc_palm_work *w, size_t q);

#endif							/* FC_PALM_WORK_H */

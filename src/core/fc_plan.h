/*
 * fc_plan.h - a spec made ready for its kernel: frequencies drawn, grids chosen.
 *
 * Built once per spec and process; the sketch functions only read it, but for
 * the scratch fields, which one caller at a time may use.
 *
 * The grid of tracked dimension i is u_i = 2^e_i, 2^-24 of the spec's scale there,
 * so a value is the integer q = rint(x / u_i) - shift_i and sums of q are exact.
 * Tracked dimensions are the d of the rows and, with a projection, the n reduced
 * ones behind them.
 */
#ifndef FC_PLAN_H
#define FC_PLAN_H

#include "fc_spec.h"

#define FC_GRID_BITS	24
#define FC_TILE			32		/* frequencies are padded to a multiple of this */
#define FC_MAX_BATCH	64		/* rows that wait for the kernel at most */
#define FC_BATCH_BYTES	262144	/* ... and their bytes */

typedef struct fc_plan
{
	const fc_spec *spec;
	size_t		d;
	size_t		n;
	size_t		m;				/* frequencies */
	size_t		scales;
	size_t		moments;		/* m x scales */
	size_t		tracked;		/* d, or d + n when projected */
	size_t		padded;			/* structured: p, the power of two >= n; else m rounded up to FC_TILE */
	size_t		batch;			/* rows a kernel call likes to get */
	double	   *inverse_unit;	/* tracked: 1 / u_i */
	double	   *shift;			/* tracked: the spec's center on the grid */
	double	   *inverse_scale;	/* d: 1 / scale (and / sigma when not projected) */
	double	   *basis;			/* d x n, basis' / sigma; NULL when not projected */
	float	   *ratios;			/* scales: sigma / sigmas[s] */
	float	   *omega;			/* dense: m / FC_TILE blocks of n x FC_TILE half-turns; NULL when structured */
	float	   *signs;			/* structured: blocks x 3 x p */
	float	   *factors;		/* structured: m */
	double	   *row_scratch;	/* 2 x tracked + n + moments: one row being brought in */
	int64_t    *limbs;			/* FC_LIMBS x 2 x moments: weighted sums of a batch; see fc_sketch.c */
	void	   *scratch;		/* fc_kernel_scratch bytes */
} fc_plan;

/* Grid of tracked dimension i: 1 / u_i and the center in steps. */
void		fc_plan_grid(const fc_spec *spec, size_t i, double *inverse_unit, double *shift);

/* Bytes fc_plan_build takes from its arena at most. */
size_t		fc_plan_size(const fc_spec *spec);

/* spec must be valid and outlive the plan. */
fc_status	fc_plan_build(const fc_spec *spec, const fc_tick *tick, fc_arena *arena, fc_plan *plan);

#endif							/* FC_PLAN_H */

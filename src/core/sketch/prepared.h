/*
 * prepared.h - a spec made ready to run: frequencies drawn, grids chosen.
 *
 * Built once per spec and process; the sketch functions only read it, but for
 * the scratch fields, which one caller at a time may use.
 *
 * The grid of tracked dimension i is u_i = 2^e_i, 2^-40 of the spec's scale
 * there, so a value is the integer q = rint(x / u_i) - shift_i and sums of q
 * and of q^2 are exact: deviations are right for columns a millionth of sigma
 * wide, too. Tracked dimensions are the d of the rows and, with a projection,
 * the n reduced ones behind them.
 */
#ifndef FC_SKETCH_PREPARED_H
#define FC_SKETCH_PREPARED_H

#include "sketch/layout.h"

#define FC_GRID_BITS	40
#define FC_SPLIT_BITS	24		/* q = 2^24 a + b for its square */
#define FC_FREQUENCY_TILE			32	/* frequencies are padded to a
										 * multiple of this */
#define FC_MAX_BATCH	64		/* rows that wait for their batch at most */
#define FC_BASIS_TILE	64		/* columns of a basis that lie together */
#define FC_PROJECTED_ROWS	32	/* raw rows that are projected together at
								 * most: a tile of the basis is read once for
								 * them */
#define FC_BATCH_WORK	5e8		/* ... multiply-adds a batch, about 20 ms: a
								 * cancel is not noticed within */
#define FC_BATCH_BYTES	262144	/* ... and their bytes */

/* A row of d elements on any byte, or a sparse one. */
typedef struct fc_row
{
	const double *doubles;		/* one of the four */
	const float *floats;
	const void *halves;			/* of half precision */
	const fc_sparse_row *sparse;
	int64_t		weight;
} fc_row;

typedef struct fc_prepared
{
	const fc_spec *spec;
	size_t		d;
	size_t		n;
	size_t		m;				/* frequencies */
	size_t		scales;
	size_t		moments;		/* m x scales */
	size_t		tracked;		/* d, or d + n when projected */
	size_t		row;			/* fc_row_length(d, tracked) */

	/*
	 * structured: p, the power of two >= n; else m rounded up to
	 * FC_FREQUENCY_TILE
	 */
	size_t		padded;
	size_t		batch;			/* rows a call of accumulate likes to get */
	bool		raw_rows;		/* rows wait as they came */

	/*
	 * the center is 0, and no row is raw: zeros of a row add nothing to any
	 * sum
	 */
	bool		zeros_vanish;
	size_t		waiting_row;	/* bytes of one */

	/*
	 * Row arrays are padded with zeros to a multiple of FC_PAD, the d first
	 * dimensions apart.
	 */
	double	   *inverse_unit;	/* 1 / u_i */
	double	   *shift;			/* the spec's center on the grid */
	double	   *center;			/* of the d dimensions */
	/* of the d dimensions: 1 / scale (and / sigma when not projected) */
	double	   *inverse_scale;
	double	   *lowest;			/* raw rows: values from lowest to highest are
								 * near for certain */
	double	   *highest;

	/*
	 * basis' / sigma in tiles: d x FC_BASIS_TILE columns, of the last d x the
	 * rest of fc_padded(n); NULL when not projected
	 */
	double	   *basis;

	/*
	 * raw rows behind a basis: all reduced coordinates are near for certain
	 * up to this ||centered||^2
	 */
	double		near_norm2;
	float	   *ratios;			/* scales: sigma / sigmas[s] */
	double		near_y;			/* beyond, a row's angles are computed in
								 * double */

	/*
	 * dense: m / FC_FREQUENCY_TILE blocks of n x FC_FREQUENCY_TILE
	 * half-turns; NULL when structured
	 */
	float	   *omega;
	float	   *signs;			/* structured: blocks x 3 x p */
	float	   *factors;		/* structured: m */
	double	   *value;			/* one row being brought in: its values ... */
	double	   *q;				/* ... their grid integers ... */

	/*
	 * ... (x - center) / scale (fc_padded(d); FC_PROJECTED_ROWS times where
	 * rows are raw); NULL when not projected ...
	 */
	double	   *centered;

	/*
	 * ... and times the basis: fc_padded(n) as often; NULL when not projected
	 * ...
	 */
	double	   *projected;
	double	   *angles;			/* of a row whose phases are far: see sketch.c */
	const struct fc_sketch_isa *isa;
	int64_t    *limbs;			/* 2 x 2 x moments: weighted sums of a batch;
								 * see sketch.c */
	int64_t    *phases;			/* 2 x moments: the integers of one row */
	double	   *dense;			/* d: a sparse row written out */

	/*
	 * reduced coordinates: of a batch of raw rows, else of one row; FC_PAD
	 * more to write into
	 */
	float	   *y;
	void	   *scratch;		/* fc_sketch_isa_scratch bytes */
} fc_prepared;

/* Columns of the tile that begins at column c. */
static inline size_t
fc_basis_tile(const fc_prepared *prepared, size_t c)
{
	size_t		left = fc_padded(prepared->n) - c;

	return left < FC_BASIS_TILE ? left : FC_BASIS_TILE;
}

/* Grid of tracked dimension i: 1 / u_i and the center in steps. */
void		fc_spec_grid(const fc_spec *spec, size_t i, double *inverse_unit,
						 double *shift);

/* Bytes fc_spec_prepare takes from its arena at most. */
size_t		fc_prepared_size(const fc_spec *spec);

/* spec must be valid; it must outlive *prepared. */
void
			fc_spec_prepare(const fc_spec *spec, fc_arena *arena, fc_prepared *prepared);

#endif							/* FC_SKETCH_PREPARED_H */

/*
 * prepared.h - a spec prepared for adding rows: its frequencies are drawn and
 * its grids chosen.
 *
 * A prepared spec is built once per spec and process. The sketch functions
 * only read it, except for the work space, which one caller at a time may
 * use.
 *
 * The grid of tracked dimension i has steps of u_i = 2^e_i, about 2^-40 of
 * the spec's scale in that dimension. A value is represented by the integer q
 * = rint(x / u_i) - shift_i, so that sums of q and of q^2 are exact. Standard
 * deviations are therefore accurate even in columns whose spread is a
 * millionth of sigma. Tracked dimensions are the d of the rows and, with a
 * projection, the n reduced ones after them.
 */
#ifndef FC_SKETCH_PREPARED_H
#define FC_SKETCH_PREPARED_H

#include "sketch/layout.h"

/*
 * Number of binary digits of the grid: its steps are about 2^-40 of the
 * scale.
 */
#define FC_GRID_BITS	40

/*
 * Number of bits of b in the split q = 2^24 a + b, by which the sum of squares
 * is kept in three terms (layout.h).
 */
#define FC_SPLIT_BITS	24

/*
 * Multiple to which the number of frequencies is padded, so that the angles
 * of a tile fill whole vectors.
 */
#define FC_FREQUENCY_TILE	32

/*
 * Maximum number of pending rows. A larger batch shares each read of a
 * frequency among more rows, but makes states larger. A guess.
 */
#define FC_MAX_BATCH	64

/* Number of columns of a basis that are stored together. A guess. */
#define FC_BASIS_TILE	64

/*
 * Maximum number of raw rows that are projected together, which share one read
 * of a tile of the basis. A guess.
 */
#define FC_PROJECTED_ROWS	32

/*
 * Maximum number of multiply-adds of a batch. They take about 20 ms, during
 * which a cancel is not noticed. A guess.
 */
#define FC_BATCH_WORK	5e8

/*
 * Maximum size in bytes of a batch's rows; a batch has at least 16 rows unless
 * FC_BATCH_WORK forbids it. A larger one makes the states of groups larger, a
 * smaller one makes batches slower. A guess.
 */
#define FC_BATCH_BYTES	262144

/*
 * A row of d elements at any alignment, or a sparse one; exactly one of the
 * four pointers is set.
 */
typedef struct fc_row
{
	const double *doubles;		/* d doubles, or NULL */
	const float *floats;		/* d floats, or NULL */
	const void *halves;			/* d numbers of half precision, or NULL */
	const fc_sparse_row *sparse;	/* a sparse row, or NULL */
	int64_t		weight;			/* weight in units of 2^-40 */
} fc_row;

typedef struct fc_prepared
{
	const fc_spec *spec;
	size_t		d;				/* number of dimensions of a row */
	size_t		n;				/* number of reduced dimensions */
	size_t		m;				/* number of frequencies */
	size_t		scales;			/* number of sigmas */
	size_t		moments;		/* number of moments, m x scales */
	size_t		tracked;		/* number of tracked dimensions: d, or d + n
								 * if projected */
	size_t		row;			/* length of a row array, fc_row_length(d,
								 * tracked) */

	/*
	 * structured: p, the size of the transforms (fc_padded_dim); dense: m
	 * rounded up to a multiple of FC_FREQUENCY_TILE
	 */
	size_t		padded;
	size_t		batch;			/* preferred number of rows in a call of
								 * accumulate */
	bool		raw_rows;		/* pending rows are stored as raw values */

	/*
	 * true if the center is 0 and pending rows are not raw, so that zeros of
	 * a row add nothing to any sum
	 */
	bool		zeros_vanish;
	size_t		pending_row;	/* size of a pending row in bytes */

	/*
	 * Row arrays are padded with zeros to a multiple of FC_PAD, separately
	 * for the first d dimensions and the rest.
	 */
	double	   *inverse_unit;	/* row array of 1 / u_i */
	double	   *shift;			/* row array of the spec's center on the grid */
	double	   *center;			/* center of the d dimensions */
	/* 1 / scale of the d dimensions, also divided by sigma if not projected */
	double	   *inverse_scale;
	double	   *lowest;			/* row array: smallest values that are known
								 * to be near (isa.h), for tests of raw rows */
	double	   *highest;		/* row array: greatest values that are known
								 * to be near */

	/*
	 * transposed basis / sigma in tiles of d x FC_BASIS_TILE; the last tile
	 * has the remaining columns of fc_padded(n). NULL if not projected.
	 */
	double	   *basis;

	/*
	 * maximum squared distance of a raw row from the center at which all its
	 * reduced coordinates are certain to meet the limits of a near row
	 * (isa.h); set only with a basis
	 */
	double		near_norm2;
	float	   *ratios;			/* sigma / sigmas[s] for each sigma s,
								 * `scales` values */
	double		near_y;			/* magnitude of y beyond which a row's angles
								 * are computed in double */

	/*
	 * dense: frequencies in half-turns, m / FC_FREQUENCY_TILE (rounded up)
	 * tiles of n x FC_FREQUENCY_TILE; NULL if structured
	 */
	float	   *omega;
	float	   *signs;			/* structured: signs of the diagonals, blocks
								 * x 3 x p */
	float	   *factors;		/* structured: factors of the frequencies
								 * (fc_structured_frequencies), blocks x p */
	double	   *value;			/* work space of one row: row array of its
								 * values */
	double	   *q;				/* work space of one row: row array of its
								 * grid integers */

	/*
	 * work space: (x - center) / scale, fc_padded(d) values for each of
	 * FC_PROJECTED_ROWS rows if rows are raw, otherwise for one row; NULL if
	 * not projected
	 */
	double	   *centered;

	/*
	 * work space: product of the rows in `centered` and the basis,
	 * fc_padded(n) values for each of FC_PROJECTED_ROWS rows if rows are raw,
	 * otherwise for one row; NULL if not projected
	 */
	double	   *projected;
	double	   *angles;			/* work space of a row whose angles are
								 * computed in double: y, a transform, and the
								 * angles (sketch.c) */
	const struct fc_sketch_isa *isa;
	int64_t    *limbs;			/* work space: weighted sums of a batch, 2
								 * limbs x 2 x moments (sketch.c) */
	int64_t    *phases;			/* work space: integer cosines and sines of
								 * one row, 2 x moments */
	double	   *dense;			/* work space: a sparse row with its zeros, d
								 * values */

	/*
	 * work space: reduced coordinates of a batch of rows if rows are raw,
	 * otherwise of one row; FC_PAD floats longer than needed
	 */
	float	   *y;
	void	   *scratch;		/* work space of fc_sketch_isa_scratch bytes */
} fc_prepared;

/* Returns the number of columns of the basis tile that begins at column c. */
static inline size_t
fc_basis_tile(const fc_prepared *prepared, size_t c)
{
	size_t		left = fc_padded(prepared->n) - c;

	return left < FC_BASIS_TILE ? left : FC_BASIS_TILE;
}

/*
 * Computes the grid of tracked dimension i: 1 / u_i, and the center in grid
 * steps.
 */
void		fc_spec_grid(const fc_spec *spec, size_t i, double *inverse_unit,
						 double *shift);

/*
 * Returns an upper bound on the number of bytes that fc_spec_prepare takes
 * from its arena.
 */
size_t		fc_prepared_size(const fc_spec *spec);

/* Prepares a valid spec, which must outlive *prepared. */
void		fc_spec_prepare(const fc_spec *spec, fc_arena *arena, fc_prepared *prepared);

#endif							/* FC_SKETCH_PREPARED_H */

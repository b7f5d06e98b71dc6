/*
 * palm.h - palm4MSA: a matrix as a product of sparse factors.
 *
 *     min || W^(1/2) (U - lambda S_1 S_2 .. S_Q) ||_F^2,   S_q in E_q (sparse, unit Frobenius norm)
 *
 * by proximal alternating linearised minimisation: a projected gradient step
 * for one factor after the other, S_Q first (Le Magoarou & Gribonval 2016;
 * Giffon et al. 2019, Alg. 2). With pursuit, the steps for S_1 and S_Q are
 * replaced by better ones. W = diag(weight) is the fixed factor S_0 =
 * diag(sqrt n) of QK-means.
 */
#ifndef FC_FACTOR_PALM_H
#define FC_FACTOR_PALM_H

#include "operator/operator.h"

/* ---- sparse matrices (sparse.c) ---- */

/*
 * Sparse matrices in double, for training factors.
 *
 * Compressed rows that change their support in place (capacity is fixed),
 * products with tiles of FC_TILE_COLUMNS columns that stay in cache, and
 * products with single vectors. A tile is rows x FC_TILE_COLUMNS without gaps;
 * columns that do not exist are zero.
 */
#define FC_TILE_COLUMNS		32

typedef struct fc_sparse
{
	size_t		rows;
	size_t		columns;
	size_t		nonzeros;
	size_t		capacity;		/* entries there is room for */
	uint32_t   *row_start;		/* rows + 1 */
	uint32_t   *column;			/* rising within a row */
	double	   *value;
} fc_sparse;

/* A matrix and its transpose, kept together. */
typedef struct fc_sparse_pair
{
	fc_sparse	plain;
	fc_sparse	transposed;
} fc_sparse_pair;

/* An empty (zero) matrix, pair. */
void		fc_sparse_take(fc_arena *arena, size_t rows, size_t columns,
						   size_t capacity, fc_sparse *a);
void		fc_sparse_pair_take(fc_arena *arena, size_t rows, size_t columns,
								size_t capacity, fc_sparse_pair *a);

/* to = from; same shape, capacity enough. */
void		fc_sparse_copy(const fc_sparse *from, fc_sparse *to);

/* to = from'; shape swapped, capacity enough. */
void		fc_sparse_transpose(const fc_sparse *from, fc_sparse *to);

/* Bring the transpose of a pair up to date. */
void		fc_sparse_pair_changed(fc_sparse_pair *a);

/* Ones on the diagonal; capacity at least min(rows, columns). */
void		fc_sparse_identity(fc_sparse *a);

/* a *= scale; Frobenius norm. */
void		fc_sparse_scale(fc_sparse *a, double scale);
double		fc_sparse_norm(const fc_sparse *a);

/* y (rows) = a x. */
void		fc_sparse_vector(const fc_sparse *a, const double *x, double *y);

/* ---- tiles ---- */

/*
 * tile (rows x FC_TILE_COLUMNS) = columns first .. first + count of a matrix
 * of that many rows, stride apart.
 */
void		fc_tile_columns(const double *matrix, size_t stride, size_t rows,
							size_t first, size_t count, double *tile);

/*
 * tile (columns x FC_TILE_COLUMNS) = the transpose of rows first .. first +
 * count.
 */
void		fc_tile_rows(const double *matrix, size_t stride, size_t columns,
						 size_t first, size_t count, double *tile);

/* The same two backwards: tile to matrix; rows begin at the first. */
void		fc_tile_to_columns(const double *tile, size_t rows, size_t first,
							   size_t count, double *matrix, size_t stride);
void		fc_tile_to_rows(const double *tile, size_t columns, size_t count,
							double *matrix, size_t stride);

/* ---- the set that factors are held to (constraint.c) ---- */

/*
 * The set sparse factors are held to, and the projection on it: the union of
 * the largest entries of every row and of every column ("splincol"), at unit
 * Frobenius norm (a separate lambda carries the scale).
 */
typedef struct fc_constraint
{
	size_t		per_row;		/* at least this many of a row, of a column */
	size_t		per_column;
} fc_constraint;

/* Entries a matrix within the set can have. */
size_t		fc_constraint_capacity(const fc_constraint *constraint, size_t rows,
								   size_t columns);

/*
 * a = the entries of dense (rows x columns of a) that the constraint keeps; of
 * all, the `total` largest. Of equal magnitudes the lowest column of a row,
 * the lowest row of a column, the lowest place of all is kept. Zeros are not
 * stored.
 */
void		fc_constraint_project(const fc_constraint *constraint, const double *dense,
								  fc_arena *arena, fc_sparse *a);
void		fc_largest_of_all(const double *dense, size_t total, fc_arena *arena,
							  fc_sparse *a);

/*
 * ---- the same of a matrix that is seen once and not stored ----
 *
 * Tile by tile: columns first .. in all rows.
 */

#define FC_SHORT_LIST	16		/* entries of a list kept by insertion */

typedef struct fc_entry
{
	double		value;
	uint32_t	place;
} fc_entry;

typedef struct fc_largest
{
	size_t		per_row;		/* 0: not in use */
	size_t		per_column;
	fc_entry   *in_row;			/* rows x per_row, falling; values of 0 where
								 * there is none */
	fc_entry   *in_column;		/* columns x per_column */
	double	   *least;			/* rows: the size of the last entry */
	fc_entry   *bucket;			/* columns x per_column */
	uint32_t   *start;			/* rows + 1 */
} fc_largest;

/*
 * Room for matrices of at most so many rows and columns, with lists of
 * FC_SHORT_LIST.
 */
void		fc_largest_take(fc_arena *arena, size_t rows, size_t columns,
							fc_largest *lists);

/* Before the first tile of a matrix. */
void		fc_largest_start(fc_largest *lists, size_t rows, size_t columns,
							 size_t per_row, size_t per_column);

/*
 * Columns first .. first + count (at most FC_TILE_COLUMNS), in rising order: a
 * tile of `rows` rows (palm_simd.c).
 */
void		fc_largest_offer(const fc_largest *lists, const double *tile, size_t rows,
							 size_t first, size_t count);

/*
 * The union of the lists, after the last tile; a has the shape of the matrix
 * and room for all.
 */
void		fc_largest_gather(const fc_largest *lists, fc_sparse *a);

/* ---- the factors (factors.c) ---- */

/*
 * Lambda S_1 S_2 .. S_Q in training: sparse factors in double, each with its
 * transpose and the set it is held to.
 */
/*
 * lambda S_1 .. S_count, S_q held to constraint[q]. Factor 0 has k rows, the
 * last d columns.
 */
typedef struct fc_factors
{
	size_t		count;
	double		lambda;
	fc_sparse_pair factor[FC_MAX_FACTORS];
	fc_constraint constraint[FC_MAX_FACTORS];
} fc_factors;

/*
 * Sizes of factor q of `count` factors of a k x d product with min(k, d)
 * between them.
 */
size_t		fc_factor_rows(size_t k, size_t d, size_t q);
size_t		fc_factor_columns(size_t k, size_t d, size_t count, size_t q);

/*
 * The number of factors by default: log2(min(k, d)), at least 1 and at most
 * FC_MAX_FACTORS.
 */
size_t		fc_factor_count(size_t k, size_t d);

/*
 * Room for factors with these constraints and shapes; then the usual start:
 * S_count zero, the others rectangular identities, lambda 1.
 */
void		fc_factors_take(fc_arena *arena, size_t k, size_t d, size_t count,
							const fc_constraint *constraint, fc_factors *factors);
void		fc_factors_start(fc_factors *factors);

/*
 * Where S_1 has more rows than columns, its ones in the rows where `length`
 * (k, at least 0; spent) is largest instead of the first: the product starts
 * from these rows of U, and must not find them all zero (the corners of images
 * are).
 */
void		fc_factors_start_rows(fc_factors *factors, double *length);
size_t		fc_factors_nonzeros(const fc_factors *factors);

/* (S_1 .. S_Q)' = S_Q' .. S_1', each held to its set as before. */
void		fc_factors_transpose(fc_factors *factors);

/*
 * Values that factors held to lines of `sparsity` hold at most; the greatest
 * sparsity within a budget, at least 1.
 */
size_t		fc_sparsity_budget(size_t k, size_t d, size_t count, size_t sparsity);
size_t		fc_sparsity_within(size_t k, size_t d, size_t count, size_t budget);

/*
 * Constraints for `count` factors: every line keeps `sparsity` (0: 3), or as
 * many as a budget of values (0: none) allows. Given both, the factor with the
 * longest side keeps to the sparsity and the others share the rest.
 */
#define FC_DEFAULT_SPARSITY	3
void		fc_line_constraints(size_t k, size_t d, size_t count, size_t sparsity,
								double budget, fc_constraint *constraint);

/* The longest vector on the way through the product. */
size_t		fc_factors_longest(const fc_factors *factors);

/* ---- palm4MSA (palm.c) ---- */

/*
 * U: k x d, row-major without gaps; weight (k, at least 0) or NULL for all 1.
 */
typedef struct fc_target
{
	const double *u;
	const double *weight;
	size_t		k;
	size_t		d;
} fc_target;

typedef struct fc_palm_options
{
	int			sweeps;			/* at most; 300 */
	double		tolerance;		/* stop when the objective moves by less,
								 * relative; 1e-6 */
	/* solve the lines of the first and last factor by matching pursuit; true */
	bool		pursuit;
	/* the factors are the result of an earlier call, not the usual start */
	bool		warm;
	uint64_t	seed;			/* of the first vectors of the power
								 * iterations */

	/*
	 * After each sweep, if given: objective is relative, || U - V ||^2 / || U
	 * ||^2 (weighted).
	 */
	void		(*progress) (void *ctx, int sweep, double objective, size_t nonzeros);
	void	   *progress_ctx;
} fc_palm_options;

typedef struct fc_palm_result
{
	double		objective;		/* || W^(1/2) (U - V) ||_F^2 */
	double		relative;		/* the same / || W^(1/2) U ||_F^2; 0 when U is
								 * 0 */
	int			sweeps;
	bool		converged;
} fc_palm_result;

fc_palm_options fc_palm_defaults(void);

/*
 * Improve the factors. The objective does not rise from the second sweep on
 * (warm: the first). U and weights are finite.
 */
void		fc_palm(const fc_target *target, const fc_palm_options *options,
					fc_arena *arena, fc_factors *factors, fc_palm_result *result);

#endif							/* FC_FACTOR_PALM_H */

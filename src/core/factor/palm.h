/*
 * palm.h - palm4MSA: a matrix as a product of sparse factors.
 *
 *     min || W^(1/2) (U - lambda S_1 S_2 .. S_Q) ||_F^2,
 *     S_q in E_q (sparse, unit Frobenius norm)
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
 * Compressed rows that change their support in place (with fixed capacity),
 * products with tiles of FC_TILE_COLUMNS columns that stay in cache, and
 * products with single vectors. A tile is rows x FC_TILE_COLUMNS without gaps;
 * unused columns are zero.
 */
#define FC_TILE_COLUMNS		32

typedef struct fc_sparse
{
	size_t		rows;
	size_t		columns;
	size_t		nonzeros;
	size_t		capacity;		/* room for entries */
	uint32_t   *row_start;		/* rows + 1 */
	uint32_t   *column;			/* ascending within a row */
	double	   *value;
} fc_sparse;

/* A matrix together with its transpose. */
typedef struct fc_sparse_pair
{
	fc_sparse	plain;
	fc_sparse	transposed;
} fc_sparse_pair;

/* Allocate an empty (zero) matrix, or a pair. */
void		fc_sparse_take(fc_arena *arena, size_t rows, size_t columns,
						   size_t capacity, fc_sparse *a);
void		fc_sparse_pair_take(fc_arena *arena, size_t rows, size_t columns,
								size_t capacity, fc_sparse_pair *a);

/* Copies a matrix; to has the same shape and enough capacity. */
void		fc_sparse_copy(const fc_sparse *from, fc_sparse *to);

/* Computes to = from'; to has the transposed shape and enough capacity. */
void		fc_sparse_transpose(const fc_sparse *from, fc_sparse *to);

/* Recomputes the transpose of a pair after a change. */
void		fc_sparse_pair_changed(fc_sparse_pair *a);

/*
 * Sets ones on the diagonal and zeros elsewhere; capacity is min(rows,
 * columns) or more.
 */
void		fc_sparse_identity(fc_sparse *a);

/*
 * fc_sparse_scale computes a *= scale; fc_sparse_norm returns the Frobenius
 * norm.
 */
void		fc_sparse_scale(fc_sparse *a, double scale);
double		fc_sparse_norm(const fc_sparse *a);

/* Computes y (rows) = a x. */
void		fc_sparse_vector(const fc_sparse *a, const double *x, double *y);

/* ---- tiles ---- */

/*
 * Copies columns first .. first + count - 1 of a matrix to a tile (rows x
 * FC_TILE_COLUMNS); rows of the matrix are stride apart.
 */
void		fc_tile_columns(const double *matrix, size_t stride, size_t rows,
							size_t first, size_t count, double *tile);

/*
 * Copies the transpose of rows first .. first + count - 1 to a tile (columns x
 * FC_TILE_COLUMNS).
 */
void		fc_tile_rows(const double *matrix, size_t stride, size_t columns,
						 size_t first, size_t count, double *tile);

/*
 * Copy a tile back to columns of a matrix, or its transpose back to the first
 * rows.
 */
void		fc_tile_to_columns(const double *tile, size_t rows, size_t first,
							   size_t count, double *matrix, size_t stride);
void		fc_tile_to_rows(const double *tile, size_t columns, size_t count,
							double *matrix, size_t stride);

/* ---- constraints on factors (constraint.c) ---- */

/*
 * The constraint on a sparse factor: the union of the largest entries of every
 * row and of every column ("splincol"), at unit Frobenius norm (a separate
 * lambda carries the scale).
 */
typedef struct fc_constraint
{
	size_t		per_row;		/* largest entries that each row keeps; each
								 * column keeps per_column */
	size_t		per_column;
} fc_constraint;

/* Returns the maximum number of entries of a constrained matrix. */
size_t		fc_constraint_capacity(const fc_constraint *constraint, size_t rows,
								   size_t columns);

/*
 * Project a dense matrix (rows x columns of a) onto the entries that the
 * constraint keeps, or onto the `total` largest of all. Ties go to the lowest
 * column of a row, the lowest row of a column, the lowest place of all. Zeros
 * are not stored.
 */
void		fc_constraint_project(const fc_constraint *constraint, const double *dense,
								  fc_arena *arena, fc_sparse *a);
void		fc_largest_of_all(const double *dense, size_t total, fc_arena *arena,
							  fc_sparse *a);

/*
 * ---- the projection of a matrix that is not stored ----
 *
 * The matrix passes once, tile by tile: columns first .. in all rows.
 */

#define FC_SHORT_LIST	16		/* maximum entries of a list sorted by
								 * insertion */

typedef struct fc_entry
{
	double		value;
	uint32_t	place;
} fc_entry;

typedef struct fc_largest
{
	size_t		per_row;		/* list length per row, 1 .. FC_SHORT_LIST; 0:
								 * lists are not in use */
	size_t		per_column;
	fc_entry   *in_row;			/* rows x per_row, descending in magnitude;
								 * unused entries are 0 */
	fc_entry   *in_column;		/* columns x per_column, likewise */
	double	   *min;			/* rows: magnitude of the last entry in each
								 * row's list */
	fc_entry   *bucket;			/* columns x per_column: the entries of the
								 * columns' lists, by row */
	uint32_t   *start;			/* rows + 1: start of each row in bucket */
} fc_largest;

/*
 * Allocates lists of FC_SHORT_LIST entries for matrices up to rows x columns.
 */
void		fc_largest_take(fc_arena *arena, size_t rows, size_t columns,
							fc_largest *lists);

/* Clears the lists before the first tile of a matrix. */
void		fc_largest_start(fc_largest *lists, size_t rows, size_t columns,
							 size_t per_row, size_t per_column);

/*
 * Adds a tile of `rows` rows to the lists: columns first .. first + count - 1,
 * count <= FC_TILE_COLUMNS, in ascending order (palm_simd.c).
 */
void		fc_largest_offer(const fc_largest *lists, const double *tile, size_t rows,
							 size_t first, size_t count);

/*
 * Collects the union of the lists after the last tile; a has the shape of the
 * matrix and enough capacity.
 */
void		fc_largest_gather(const fc_largest *lists, fc_sparse *a);

/* ---- the factors (factors.c) ---- */

/*
 * A product lambda S_1 .. S_count in training: sparse factors in double, each
 * with its transpose; constraint[q] limits S_q. Factor 0 has k rows, the last
 * one d columns.
 */
typedef struct fc_factors
{
	size_t		count;
	double		lambda;
	fc_sparse_pair factor[FC_MAX_FACTORS];
	fc_constraint constraint[FC_MAX_FACTORS];
} fc_factors;

/*
 * Return the size of factor q of `count` factors of a k x d product with
 * min(k, d) between them.
 */
size_t		fc_factor_rows(size_t k, size_t d, size_t q);
size_t		fc_factor_columns(size_t k, size_t d, size_t count, size_t q);

/*
 * Returns the default number of factors: log2(min(k, d)), but 1 or more and no
 * more than FC_MAX_FACTORS.
 */
size_t		fc_factor_count(size_t k, size_t d);

/*
 * fc_factors_take allocates factors with these constraints and shapes, and
 * starts them. fc_factors_start sets the usual start: S_count zero, the others
 * rectangular identities, lambda 1.
 */
void		fc_factors_take(fc_arena *arena, size_t k, size_t d, size_t count,
							const fc_constraint *constraint, fc_factors *factors);
void		fc_factors_start(fc_factors *factors);

/*
 * Moves the ones of S_1, if it has more rows than columns, from its first rows
 * to the rows with the largest `length` (k, not negative; overwritten): the
 * product starts from these rows of U, which must not all be zero (the corners
 * of images are).
 */
void		fc_factors_start_rows(fc_factors *factors, double *length);
size_t		fc_factors_nonzeros(const fc_factors *factors);

/*
 * Transposes the product: (S_1 .. S_Q)' = S_Q' .. S_1', constraints likewise.
 */
void		fc_factors_transpose(fc_factors *factors);

/*
 * fc_sparsity_budget returns the maximum number of values in factors with
 * `sparsity` entries per line; fc_sparsity_within returns the greatest
 * sparsity within a budget, 1 or more.
 */
size_t		fc_sparsity_budget(size_t k, size_t d, size_t count, size_t sparsity);
size_t		fc_sparsity_within(size_t k, size_t d, size_t count, size_t budget);

/*
 * Sets constraints for `count` factors: every line keeps `sparsity` (0: 3)
 * entries, or as many as a budget of values (0: unlimited) allows. Given both,
 * the factor with the longest side keeps the sparsity and the others share the
 * rest.
 */
#define FC_DEFAULT_SPARSITY	3
void		fc_line_constraints(size_t k, size_t d, size_t count, size_t sparsity,
								double budget, fc_constraint *constraint);

/* Returns the length of the longest vector on the way through the product. */
size_t		fc_factors_longest(const fc_factors *factors);

/* ---- palm4MSA (palm.c) ---- */

/*
 * The matrix U to factor, k x d, row-major without gaps; weight (k, not
 * negative), or NULL if all are 1.
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
	int			sweeps;			/* maximum number of sweeps; 300 */
	double		tolerance;		/* minimum relative decrease of the objective
								 * per sweep; 1e-6 */

	/*
	 * solves the lines of the first and last factor by matching pursuit; true
	 */
	bool		pursuit;

	/*
	 * continues from the factors of an earlier call instead of the usual
	 * start
	 */
	bool		warm;
	uint64_t	seed;			/* seed of the power iterations' first vectors */

	/*
	 * called after each sweep, or NULL; objective is relative, || U - V ||^2
	 * / || U ||^2 (weighted)
	 */
	void		(*progress) (void *ctx, int sweep, double objective, size_t nonzeros);
	void	   *progress_ctx;
} fc_palm_options;

typedef struct fc_palm_result
{
	double		objective;		/* || W^(1/2) (U - V) ||_F^2 */
	double		relative;		/* objective / || W^(1/2) U ||_F^2; 0 if U is
								 * 0 */
	int			sweeps;
	bool		converged;
} fc_palm_result;

fc_palm_options fc_palm_defaults(void);

/*
 * Improves the factors. The objective does not rise from the second sweep on
 * (warm: the first). U and weights are finite.
 */
void		fc_palm(const fc_target *target, const fc_palm_options *options,
					fc_arena *arena, fc_factors *factors, fc_palm_result *result);

#endif							/* FC_FACTOR_PALM_H */

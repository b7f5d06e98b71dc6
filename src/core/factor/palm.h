/*
 * palm.h - palm4MSA: a matrix as a product of sparse factors.
 *
 *     min || W^(1/2) (U - lambda S_1 S_2 .. S_Q) ||_F^2,
 *     S_q in E_q (sparse, unit Frobenius norm)
 *
 * U is k x d, and W is the diagonal matrix of the weights of its k rows. The
 * method is proximal alternating linearised minimisation: a projected gradient
 * step for one factor after the other, S_Q first (Le Magoarou & Gribonval
 * 2016; Giffon et al. 2019, Alg. 2). With options->pursuit, matching pursuit
 * replaces the steps for S_1 and S_Q and lowers the objective more. In
 * QK-means, the weights are the sizes of the clusters, and W^(1/2) is the
 * fixed factor S_0 of Giffon et al.
 */
#ifndef FC_FACTOR_PALM_H
#define FC_FACTOR_PALM_H

#include "operator/operator.h"

/* ---- sparse matrices (sparse.c) ---- */

/*
 * Sparse matrices of doubles, for factors in training.
 *
 * The rows are compressed (CSR), and the support changes in place up to a
 * fixed capacity. A matrix can be multiplied by a vector or by a tile. A tile
 * holds FC_TILE_COLUMNS columns, so that it stays in cache; it is stored as
 * rows x FC_TILE_COLUMNS without gaps, and unused columns are zero.
 */
#define FC_TILE_COLUMNS		32

typedef struct fc_sparse
{
	size_t		rows;
	size_t		columns;
	size_t		nonzeros;
	size_t		capacity;		/* number of entries allocated */
	uint32_t   *row_start;		/* rows + 1 values: index of each row's first
								 * entry in `column` and `value` */
	uint32_t   *column;			/* column of each entry, ascending within a
								 * row */
	double	   *value;
} fc_sparse;

/* A matrix together with its transpose. */
typedef struct fc_sparse_pair
{
	fc_sparse	plain;
	fc_sparse	transposed;
} fc_sparse_pair;

/* Allocate a zero matrix, or a zero matrix and its transpose. */
void		fc_sparse_take(fc_arena *arena, size_t rows, size_t columns,
						   size_t capacity, fc_sparse *a);
void		fc_sparse_pair_take(fc_arena *arena, size_t rows, size_t columns,
								size_t capacity, fc_sparse_pair *a);

/* Copies a matrix. *to must have the same shape and enough capacity. */
void		fc_sparse_copy(const fc_sparse *from, fc_sparse *to);

/*
 * Stores the transpose of *from in *to, which must have the transposed shape
 * and enough capacity.
 */
void		fc_sparse_transpose(const fc_sparse *from, fc_sparse *to);

/* Recomputes the transpose of a pair after a change. */
void		fc_sparse_pair_changed(fc_sparse_pair *a);

/*
 * Sets a to ones on the diagonal and zeros elsewhere. Its capacity must be at
 * least min(rows, columns).
 */
void		fc_sparse_identity(fc_sparse *a);

/*
 * fc_sparse_scale computes a *= scale; fc_sparse_norm returns the Frobenius
 * norm.
 */
void		fc_sparse_scale(fc_sparse *a, double scale);
double		fc_sparse_norm(const fc_sparse *a);

/* Computes y = a x; y has a->rows values. */
void		fc_sparse_vector(const fc_sparse *a, const double *x, double *y);

/* ---- tiles ---- */

/*
 * Copies columns first .. first + count - 1 of a matrix to a tile (rows x
 * FC_TILE_COLUMNS). `stride` is the row stride of the matrix.
 */
void		fc_tile_columns(const double *matrix, size_t stride, size_t rows,
							size_t first, size_t count, double *tile);

/*
 * Copies the transpose of rows first .. first + count - 1 of a matrix to a
 * tile (columns x FC_TILE_COLUMNS).
 */
void		fc_tile_rows(const double *matrix, size_t stride, size_t columns,
						 size_t first, size_t count, double *tile);

/*
 * fc_tile_to_columns copies a tile to columns first .. first + count - 1 of a
 * matrix; fc_tile_to_rows copies the transpose of a tile to the first `count`
 * rows of a matrix.
 */
void		fc_tile_to_columns(const double *tile, size_t rows, size_t first,
							   size_t count, double *matrix, size_t stride);
void		fc_tile_to_rows(const double *tile, size_t columns, size_t count,
							double *matrix, size_t stride);

/* ---- constraints on factors (constraint.c) ---- */

/*
 * The constraint on a sparse factor ("splincol"): only the largest entries of
 * every row and of every column are kept, and the Frobenius norm is 1. The
 * scale of the product is in lambda of fc_factors.
 */
typedef struct fc_constraint
{
	size_t		per_row;		/* number of largest entries that each row
								 * keeps; each column keeps per_column */
	size_t		per_column;
} fc_constraint;

/* Returns the maximum number of entries of a constrained matrix. */
size_t		fc_constraint_capacity(const fc_constraint *constraint, size_t rows,
								   size_t columns);

/*
 * fc_constraint_project sets the sparse matrix a to the entries of `dense`
 * that the constraint keeps: the largest of every row and the largest of every
 * column. fc_largest_of_all sets it to the `total` largest entries of the
 * whole matrix. Both matrices have the same shape. Ties go to the lowest
 * column in a row, the lowest row in a column, and the lowest index in the
 * whole matrix. Zeros are not stored.
 */
void		fc_constraint_project(const fc_constraint *constraint, const double *dense,
								  fc_arena *arena, fc_sparse *a);
void		fc_largest_of_all(const double *dense, size_t total, fc_arena *arena,
							  fc_sparse *a);

/*
 * ---- the projection of a matrix that is not stored ----
 *
 * The matrix is computed once, tile by tile, and lists keep the largest
 * entries of every row and column. A tile holds all rows of up to
 * FC_TILE_COLUMNS columns.
 */

/*
 * Maximum number of entries of a list sorted by insertion, in quadratic time.
 * A guess.
 */
#define FC_SHORT_LIST	16

typedef struct fc_entry
{
	double		value;
	uint32_t	place;			/* column of an entry of a row's list, row of
								 * an entry of a column's list */
} fc_entry;

typedef struct fc_largest
{
	size_t		per_row;		/* list length per row, 1 .. FC_SHORT_LIST; 0
								 * if lists are not used */
	size_t		per_column;
	fc_entry   *in_row;			/* rows x per_row: largest entries of each
								 * row, descending in magnitude; unused
								 * entries are 0 */
	fc_entry   *in_column;		/* columns x per_column: largest entries of
								 * each column, likewise */
	double	   *min;			/* one value per row: magnitude of the last
								 * entry in its list */
	fc_entry   *bucket;			/* columns x per_column: entries of the
								 * columns' lists, sorted by row */
	uint32_t   *start;			/* rows + 1 values: start of each row in
								 * bucket */
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
 * Offers a tile to the lists: all `rows` rows of columns first .. first +
 * count - 1, count <= FC_TILE_COLUMNS. Tiles must be offered in ascending
 * order of columns. Defined in palm_simd.c.
 */
void		fc_largest_offer(const fc_largest *lists, const double *tile, size_t rows,
							 size_t first, size_t count);

/*
 * Stores the union of the lists in a, after the last tile. a must have the
 * shape of the matrix and enough capacity.
 */
void		fc_largest_gather(const fc_largest *lists, fc_sparse *a);

/* ---- the factors (factors.c) ---- */

/*
 * A product lambda S_1 .. S_count in training: sparse factors in double, each
 * with its transpose. factor[q] is S_(q + 1), and constraint[q] limits it. The
 * first factor has k rows, the last one d columns.
 */
typedef struct fc_factors
{
	size_t		count;
	double		lambda;
	fc_sparse_pair factor[FC_MAX_FACTORS];
	fc_constraint constraint[FC_MAX_FACTORS];
} fc_factors;

/*
 * Return the number of rows or columns of factor q in a k x d product of
 * `count` factors. All inner dimensions are min(k, d).
 */
size_t		fc_factor_rows(size_t k, size_t d, size_t q);
size_t		fc_factor_columns(size_t k, size_t d, size_t count, size_t q);

/*
 * Returns the default number of factors: log2(min(k, d)), at least 1 and at
 * most FC_MAX_FACTORS.
 */
size_t		fc_factor_count(size_t k, size_t d);

/*
 * fc_factors_take allocates the factors of a k x d product with `count`
 * constraints, and calls fc_factors_start. fc_factors_start sets the initial
 * values: S_count is zero, the other factors are rectangular identities, and
 * lambda is 1.
 */
void		fc_factors_take(fc_arena *arena, size_t k, size_t d, size_t count,
							const fc_constraint *constraint, fc_factors *factors);
void		fc_factors_start(fc_factors *factors);

/*
 * Moves the ones of S_1 from its first rows to the rows with the largest
 * `length`, if S_1 has more rows than columns. `length` has the squared
 * weighted norms of the k rows of U; it is overwritten. The first rows of U
 * may all be zero: if U is transposed, they can be the pixels in a corner of
 * images.
 */
void		fc_factors_start_rows(fc_factors *factors, double *length);
size_t		fc_factors_nonzeros(const fc_factors *factors);

/*
 * Transposes the product, (S_1 .. S_Q)' = S_Q' .. S_1', and its constraints.
 */
void		fc_factors_transpose(fc_factors *factors);

/*
 * fc_sparsity_budget returns the maximum number of values in `count` factors
 * that keep `sparsity` entries per row and per column. fc_sparsity_within
 * returns the greatest sparsity, 1 or more, whose number of values does not
 * exceed the budget.
 */
size_t		fc_sparsity_budget(size_t k, size_t d, size_t count, size_t sparsity);
size_t		fc_sparsity_within(size_t k, size_t d, size_t count, size_t budget);

/*
 * Default number of entries per row and per column of a factor. With more
 * entries, the product is closer to the centroids and has more values
 * (bench/factors.py).
 */
#define FC_DEFAULT_SPARSITY	3

/*
 * Sets the constraints of `count` factors. Every row and every column keeps
 * `sparsity` entries. If sparsity is 0, each keeps as many as the budget
 * allows, or FC_DEFAULT_SPARSITY if there is no budget either. The budget is a
 * number of values; 0 means unlimited. If both are given, the factor with the
 * longest side keeps the sparsity and the others share the rest of the budget.
 */
void		fc_line_constraints(size_t k, size_t d, size_t count, size_t sparsity,
								double budget, fc_constraint *constraint);

/*
 * Sets the constraints of Giffon et al., with which their published numbers of
 * values agree. In a square factor, every row and every column keeps s =
 * `sparsity` entries. In the rectangular factor (shorter side a, longer side
 * b), every row or column of length a keeps s entries, and every row or column
 * of length b keeps s b / a. The last factor, which is the last residual of
 * the hierarchical algorithm, has s = max(sparsity, min(k, d) / 2^(count -
 * 1)).
 */
void		fc_published_constraints(size_t k, size_t d, size_t count,
									 size_t sparsity, fc_constraint *constraint);

/*
 * Returns the length of the longest vector that occurs when a vector is
 * multiplied by the factors one after the other.
 */
size_t		fc_factors_longest(const fc_factors *factors);

/* ---- palm4MSA (palm.c) ---- */

/*
 * The matrix U to factor, k x d, row-major without gaps. `weight` has the
 * weights of the k rows, not negative; NULL means weights of 1.
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
	int			sweeps;			/* maximum number of sweeps; default 300 */
	double		tolerance;		/* minimum relative decrease of the objective
								 * per sweep; default 1e-6 */

	/*
	 * true (the default): solve for the rows of the first factor and the
	 * columns of the last one by matching pursuit
	 */
	bool		pursuit;

	/*
	 * true: run Alg. 2 of Giffon et al. as printed: no pursuit, S_1 starts as
	 * the identity in its first rows, and a sweep that raises the objective
	 * is kept
	 */
	bool		published;

	/*
	 * true: the factors hold the values of an earlier call, from which
	 * fc_palm continues; false: they hold the values of fc_factors_start
	 */
	bool		warm;
	uint64_t	seed;			/* seed of the power iterations' first vectors */

	/*
	 * called after each sweep, or NULL; objective is the relative objective
	 * (fc_palm_result)
	 */
	void		(*progress) (void *ctx, int sweep, double objective, size_t nonzeros);
	void	   *progress_ctx;
} fc_palm_options;

typedef struct fc_palm_result
{
	double		objective;		/* || W^(1/2) (U - V) ||_F^2, where V is the
								 * product */
	double		relative;		/* objective / || W^(1/2) U ||_F^2; 0 if U is
								 * 0 */
	int			sweeps;
	bool		converged;
} fc_palm_result;

fc_palm_options fc_palm_defaults(void);

/*
 * Improves the factors in sweeps. The objective does not rise from the second
 * sweep on, nor in the first one if options->warm is set. If
 * options->published is set, it may rise in any sweep. U and the weights must
 * be finite. Sets *result.
 */
void		fc_palm(const fc_target *target, const fc_palm_options *options,
					fc_arena *arena, fc_factors *factors, fc_palm_result *result);

#endif							/* FC_FACTOR_PALM_H */

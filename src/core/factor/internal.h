/*
 * internal.h - the state of palm4MSA and of its matching pursuit, and the
 * other factorisations: palm4MSA from the hierarchical start, butterflies,
 * truncated SVD, pruning.
 */
#ifndef FC_FACTOR_INTERNAL_H
#define FC_FACTOR_INTERNAL_H

#include "factor/palm.h"

/*
 * Measured cost of a sweep with dense residuals (hierarchical.c), in units of
 * k d min(k, d) multiply-adds.
 */
#define DENSE_SWEEP	8.0

/* ---- sparse least squares with a given Gram matrix ---- */

typedef struct fc_omp
{
	const double *gram;			/* n x n Gram matrix of the atoms */
	size_t		n;
	double	   *root;			/* n values: 1 / sqrt(gram_ii); 0 for atoms of
								 * negligible length */
	double	   *rest;			/* n values: inner products of the atoms with
								 * the residual */

	/*
	 * n values: fraction, 0 .. 1, of each atom's squared norm that is outside
	 * the span of the chosen atoms
	 */
	double	   *left;
	double	   *size;			/* n values: |rest_i| * root_i, by which the
								 * next atom is chosen; 0 for atoms that
								 * nearly depend on the chosen ones */
	double	   *rows;			/* matrix K of omp.c: a row of n values for
								 * each chosen atom */
	double		noise;			/* threshold of rounding errors: elements of
								 * `size` up to it are set to 0 */
	double	   *cholesky;		/* Cholesky factor of the chosen atoms' Gram
								 * matrix, packed by rows */
	double	   *value[2];		/* coefficients: [0] of the pursuit, [1] of
								 * least squares on the old support */
	uint32_t   *chosen[2];		/* indices of the atoms that value[0] and
								 * value[1] belong to */
} fc_omp;

void		fc_omp_start(const double *gram, size_t n, fc_arena *arena, fc_omp *pursuit);

/*
 * A line (row or column) of a sparse matrix: indices in ascending order, and
 * values to be multiplied by scale.
 */
typedef struct fc_line
{
	const uint32_t *column;
	const double *value;
	double		scale;
	size_t		count;
} fc_line;

/*
 * Minimises s' G s - 2 s' b over sparse lines s of a factor, where G is the
 * Gram matrix of the atoms and b are their inner products with the target. The
 * result is the best of three lines: the line of orthogonal matching pursuit
 * with `entries` entries (more if the old line has more), the least-squares
 * solution on the entries of the old line, and the old line itself. Atoms that
 * nearly depend on the chosen ones are skipped, because their coefficients
 * would be large and cancel. Writes up to `capacity` entries, sorted by
 * column, and returns their number. n must be at most 2^20; a line has at most
 * 512 entries.
 */
size_t		fc_omp_line(fc_omp *pursuit, const double *b, size_t entries,
						const fc_line *old, size_t capacity, uint32_t *column, double *value);

/*
 * Fraction of an atom's squared norm outside the span of the chosen atoms at
 * or below which the atom counts as dependent. A smaller one admits atoms
 * whose coefficients cancel. A guess.
 */
#define FC_DEPENDENT_SHARE	1e-4

/*
 * Steps of the pursuit. fc_omp_begin starts without chosen atoms.
 * fc_omp_extend updates K (pursuit->rows), rest, left and size after `atom`
 * was chosen; `count` is the number of atoms chosen before it, and cholesky is
 * the atom's row of the Cholesky factor (count + 1 values). fc_omp_best
 * returns the index of the atom with the largest size, or n if all sizes are
 * 0.
 */
void		fc_omp_begin(fc_omp *pursuit, const double *b);
void		fc_omp_extend(fc_omp *pursuit, size_t atom, const double *cholesky,
						  size_t count);
size_t		fc_omp_best(const fc_omp *pursuit);

/* ---- palm4MSA ---- */

typedef struct fc_palm_work
{
	const fc_target *target;
	fc_factors *factors;
	fc_arena   *arena;
	size_t		k;
	size_t		d;
	/* number of values in one panel (see palm_simd.c) of y, h or product */
	size_t		panel;
	double		square;			/* ||W^(1/2) U||^2 */
	double		margin;			/* factor on the Lipschitz constant, 1 or more */
	double	   *step;			/* dense matrix D, the gradient step of
								 * palm.c; used if the constraint keeps too
								 * many entries for lists */
	double	   *stepped;		/* values of D at the nonzeros of S_q, in the
								 * order of the transpose of S_q */
	fc_largest	largest;

	/*
	 * transpose of U R', inner x k, where R is the product of the factors to
	 * the right of S_q
	 */
	double	   *y;
	double	   *h;				/* R R', inner x inner */
	double	   *product;		/* S_q h or S_q y */
	double	   *tile[2];		/* two buffers for tiles, each with as many
								 * rows as the longest side of the factors */
	double	   *vector[2];		/* two buffers for vectors as long as the
								 * longest side of the factors */
	const fc_palm_options *options;
	double	   *left[FC_MAX_FACTORS];	/* vector of the power iteration for
										 * the factors left of S_q, one value
										 * per row of S_q */
	double	   *right[FC_MAX_FACTORS];	/* vector of the power iteration for
										 * the factors right of S_q, one value
										 * per column of S_q */
	bool		power_warm;		/* true after the first sweep: power
								 * iterations continue from left and right */
	fc_sparse	saved[FC_MAX_FACTORS];	/* factors before the current sweep */
	double		saved_lambda;
} fc_palm_work;

/*
 * ---- passes over tiles ----
 *
 * Each function handles columns (or lines) first .. first + count - 1, where
 * count <= FC_TILE_COLUMNS.
 */

/*
 * Computes columns of D = S_q - (lambda / c) * L' W (lambda L S_q H - Y),
 * where L, H and Y are as in palm.c. Offers them to the lists of w->largest,
 * or stores them in w->step if lists are not used. Also stores their values on
 * the support of S_q in w->stepped, and adds their contribution to <S_q, D> to
 * *along.
 */
void		fc_palm_step(fc_palm_work *w, size_t q, double c, size_t first,
						 size_t count, double *along);

/*
 * fc_palm_multiply_y computes columns of S_q y, and fc_palm_multiply_h
 * computes columns of S_q h; both store them in w->product. fc_palm_grow_h
 * replaces columns of h by columns of S_q h S_q', when w->product has all
 * columns of S_q h.
 */
void		fc_palm_multiply_y(fc_palm_work *w, size_t q, size_t first, size_t count);
void		fc_palm_multiply_h(fc_palm_work *w, size_t q, size_t first);
void		fc_palm_grow_h(fc_palm_work *w, size_t q, size_t first, size_t count);

/*
 * Compute the least-squares problems of the rows of the first factor, or of
 * the columns of the last one. fc_palm_gram computes columns of their n x n
 * Gram matrix (row-major). fc_palm_right_sides computes their right-hand
 * sides, n values each.
 */
void		fc_palm_gram(fc_palm_work *w, size_t q, size_t n, size_t first,
						 size_t count, double *gram);
void		fc_palm_right_sides(fc_palm_work *w, size_t q, size_t n, size_t first,
								size_t count, double *side);

/*
 * Computes columns first .. first + count - 1 of the product of all factors.
 * Returns their tile, k x FC_TILE_COLUMNS.
 */
const double *fc_palm_product_columns(fc_palm_work *w, size_t first, size_t count);

/* ---- other factorisations ---- */

/*
 * Computes factors one after the other (Le Magoarou & Gribonval 2016; Giffon
 * et al. 2019, supplement E). U is split into S_1 R_1, then R_1 into S_2 R_2,
 * and so on. Each split is a palm4MSA of two factors; a palm4MSA of all
 * factors so far follows. The residual R_i starts at zero and keeps max(s,
 * max(k, d) / 2^i) entries of every row and column, where s is the sparsity of
 * the next factor. The first factor must have the longer side, so U' is
 * factored if d >= k. In the end, palm4MSA refines all factors once more; only
 * this step uses the weights.
 *
 * With options->published, U itself is factored, R_i keeps max(s, k / 2^i)
 * entries of every column, and the last refinement is left out.
 *
 * factors: allocated by fc_factors_take; their entries are overwritten.
 */
void		fc_hierarchical(const fc_target *target, const fc_palm_options *options,
							fc_arena *arena, fc_factors *factors, fc_palm_result *result);

/*
 * Computes factors with fixed butterfly supports by rank-1 approximations
 * (Zheng, Riccietti & Gribonval 2021-24). U = S_1 M, where S_1 combines row i
 * with row i + k/2, and M is block-diagonal over two halves of the columns.
 * Each block is split in turn, until blocks are two rows high. A split
 * replaces pieces of two rows by their best approximation of rank 1, which has
 * a closed form. All splits take 2 k d log2 k operations. The factors have
 * about 2 nonzeros per row. The fit depends on the order of clusters and
 * columns. If k > d, U' is factored. *factors receives log2(min(k, d))
 * factors, rounded up; vectors between them have at most 2 min(k, d) values.
 */
void		fc_butterfly(const fc_target *target, fc_arena *arena, fc_factors *factors);

/*
 * Computes left (k x rank) and right (rank x d, orthonormal rows), whose
 * product is the best approximation of U of that rank in the weighted norm.
 * The singular vectors of W^(1/2) U are exact to 1e-6. rank <= d; ranks above
 * min(k, d) gain nothing. Sets *relative to
 *     || W^(1/2) (U - left right) || / || W^(1/2) U ||
 */
void		fc_lowrank(const fc_target *target, size_t rank, uint64_t seed,
					   fc_arena *arena, float *left, float *right, double *relative);

/*
 * Returns the maximum rank, 1 .. min(k, d), with no more than `budget` values
 * in left and right together; 1 if even rank 1 has more.
 */
size_t		fc_rank_within(size_t k, size_t d, size_t budget);

/*
 * Returns the relative error of a truncated SVD of the target that stores at
 * most `values` values, for comparison with other factors. If the values do
 * not suffice for rank 1, returns 1, unless the error of an SVD of rank 1 is
 * zero; then returns 0.
 */
double		fc_equal_svd(const fc_target *target, size_t values, uint64_t seed,
						 fc_arena *arena);

/*
 * Sets *factors to one factor (k x d) that has the `budget` entries of U with
 * the largest sqrt(weight) * |u|, and zeros elsewhere.
 */
void		fc_prune(const fc_target *target, size_t budget, fc_arena *arena,
					 fc_factors *factors);

#endif							/* FC_FACTOR_INTERNAL_H */

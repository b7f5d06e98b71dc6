/*
 * internal.h - the state of palm4MSA and of its matching pursuit; the other
 * ways to fewer parameters: palm4MSA from the hierarchical start, butterflies,
 * truncated SVD, pruning.
 */
#ifndef FC_FACTOR_INTERNAL_H
#define FC_FACTOR_INTERNAL_H

#include "factor/palm.h"

/* ---- sparse least squares with a given Gram matrix ---- */

typedef struct fc_omp
{
	const double *gram;			/* n x n */
	size_t		n;
	double	   *root;			/* n: 1 / sqrt(G_ii), 0 for atoms that are
								 * next to nothing */
	double	   *rest;			/* n: correlations with the residual */
	/* n: the part of each atom's square outside the span of those chosen */
	double	   *left;
	double	   *size;			/* n: |rest| root; 0 for atoms that depend on
								 * those chosen */
	double	   *rows;			/* K, n a row */
	double		noise;			/* sizes up to this are rounding */
	double	   *cholesky;		/* of the chosen part, rows packed */
	double	   *value[2];		/* coefficients */
	uint32_t   *chosen[2];
} fc_omp;

void
			fc_omp_start(const double *gram, size_t n, fc_arena *arena, fc_omp *pursuit);

/* A line of a sparse matrix: columns rising, values times scale. */
typedef struct fc_line
{
	const uint32_t *column;
	const double *value;
	double		scale;
	size_t		count;
} fc_line;

/*
 * min_s s' G s - 2 s' b with few non-zeros: the best of orthogonal matching
 * pursuit with `entries` of them (as many as the old line has, if more), the
 * least squares on the old support and the old line itself. Atoms that all but
 * depend on those chosen are passed over: their coefficients would be large
 * and cancel. At most `room` are written, columns rising; returns how many. n
 * <= 2^20, at most 512 entries.
 */
size_t
			fc_omp_line(fc_omp *pursuit, const double *b, size_t entries,
						const fc_line *old, size_t room, uint32_t *column, double *value);

/*
 * An atom depends on the chosen ones when less than this part of its square is
 * outside their span.
 */
#define FC_DEPENDENT_SHARE	1e-4

/*
 * The search: begin without atoms; extend K, rest, left and size by the
 * count-th atom (from 0), given its row of the Cholesky factor (count + 1);
 * the atom of the largest size, n when all are 0.
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
	size_t		panel;			/* numbers of a panel of y, h, product */
	double		square;			/* ||W^(1/2) U||^2 */
	double		margin;
	double	   *step;			/* D, where lists of the largest do not do */
	double	   *stepped;		/* D on the support of S_q, in the order of
								 * its transpose */
	fc_largest	largest;
	/* U R' transposed, inner x k; the product before the factors on the right */
	double	   *y;
	double	   *h;				/* R R', inner x inner */
	double	   *product;		/* S_q h, or S_q y */
	double	   *tile[2];		/* longest side x FC_TILE_COLUMNS */
	double	   *vector[2];		/* longest side */
	const fc_palm_options *options;
	double	   *left[FC_MAX_FACTORS];	/* power iteration: rows of S_q */
	double	   *right[FC_MAX_FACTORS];	/* columns of S_q */
	bool		power_warm;
	fc_sparse	saved[FC_MAX_FACTORS];	/* the factors before this sweep */
	double		saved_lambda;
} fc_palm_work;

/*
 * ---- passes, in tiles ----
 *
 * Columns (lines) first .. first + count, count <= FC_TILE_COLUMNS.
 */

/*
 * Columns of D = S_q - lambda / c L' W (lambda L S_q H - Y) to w->stepped and
 * the lists or w->step; adds to <S_q, D>.
 */
void		fc_palm_step(fc_palm_work *w, size_t q, double c, size_t first,
						 size_t count, double *along);

/* product = S_q y; product = S_q h, all of it before h = S_q product'. */
void		fc_palm_multiply_y(fc_palm_work *w, size_t q, size_t first, size_t count);
void		fc_palm_multiply_h(fc_palm_work *w, size_t q, size_t first);
void		fc_palm_grow_h(fc_palm_work *w, size_t q, size_t first, size_t count);

/*
 * Columns of the n x n Gram matrix of an end, row-major; its right sides, n a
 * line.
 */
void		fc_palm_gram(fc_palm_work *w, size_t q, size_t n, size_t first,
						 size_t count, double *gram);
void		fc_palm_right_sides(fc_palm_work *w, size_t q, size_t n, size_t first,
								size_t count, double *side);

/* Columns of S_0 .. S_(Q - 1): where they are, k x FC_TILE_COLUMNS. */
const double *fc_palm_product_columns(fc_palm_work *w, size_t first, size_t count);

/* ---- the other ways to fewer parameters ---- */

/*
 * Factors found one after the other (Le Magoarou & Gribonval 2016; Giffon et
 * al. 2019, supplement E). U = S_1 R_1, R_1 = S_2 R_2, ..: each split is a
 * palm4MSA of two factors whose residual R_i starts at zero and keeps max(s,
 * max(k, d) / 2^i) entries of every row and column, followed by palm4MSA of
 * all factors found so far. The chain is peeled from the longer side, so for d
 * >= k the work is done on U'. Weights count only in the last refinement.
 *
 * factors: taken (fc_factors_take); their entries are overwritten.
 */
void
			fc_hierarchical(const fc_target *target, const fc_palm_options *options,
							fc_arena *arena, fc_factors *factors, fc_palm_result *result);

/*
 * Fixed butterfly supports, by rank-1 approximations (Zheng, Riccietti &
 * Gribonval 2021-24). U = S_1 M, S_1 pairing row i with row i + k/2, M
 * block-diagonal over two halves of the columns; then each block in turn,
 * until blocks are two rows high. Every inner index owns a 2-row piece of U,
 * whose best rank-1 approximation is known in closed form: no iteration, 2 k d
 * log2 k operations. About 2 non-zeros a row; the fit depends on the order of
 * clusters and columns. For k > d the work is done on U'. factors gets
 * log2(min(k, d)) factors, rounded up; between them vectors are no longer than
 * 2 min(k, d).
 */
void
			fc_butterfly(const fc_target *target, fc_arena *arena, fc_factors *factors);

/*
 * U = left right, left k x rank, right rank x d with orthonormal rows: the
 * best of that rank in the weighted norm (singular vectors of W^(1/2) U to
 * 1e-6). *relative is || W^(1/2) (U - left right) || / || W^(1/2) U ||. rank
 * <= d; ranks above min(k, d) gain nothing.
 */
void		fc_lowrank(const fc_target *target, size_t rank, uint64_t seed,
					   fc_arena *arena, float *left, float *right, double *relative);

/*
 * The rank whose left and right together hold at most `budget` values; at
 * least 1.
 */
size_t		fc_rank_within(size_t k, size_t d, size_t budget);

/*
 * The relative error of the truncated SVD of the target with as many values,
 * for comparison with other factors. 1 when they do not suffice for one rank,
 * unless that leaves nothing.
 */
double		fc_equal_svd(const fc_target *target, size_t values, uint64_t seed,
						 fc_arena *arena);

/*
 * One factor (k x d): the `budget` entries of U largest by sqrt(weight) |u|.
 */
void		fc_prune(const fc_target *target, size_t budget, fc_arena *arena,
					 fc_factors *factors);

#endif							/* FC_FACTOR_INTERNAL_H */

/*
 * dense.h - dense linear algebra and non-negative least squares, an interrupt
 * check before each call of BLAS and LAPACK.
 *
 * A call cannot be interrupted. Products, sums of squares and positive systems
 * are cut into calls below 0.4 s on one core; eigenproblems are one call each,
 * whose callers bound their size. Matrices are row-major; ld... is the
 * distance between rows. Where LAPACK fails, fc_numeric_failure is called.
 */
#ifndef FC_NUMERICS_DENSE_H
#define FC_NUMERICS_DENSE_H

#include "base/fc.h"

/*
 * C (m x n) = alpha op(A) op(B) + beta C; op is the transpose where requested.
 * B and C have no gaps.
 */
typedef struct fc_product
{
	bool		transpose_a;
	bool		transpose_b;
	size_t		m;
	size_t		n;
	size_t		k;
	double		alpha;
	double		beta;
	size_t		lda;			/* from row to row of A as it lies; 0: no gaps */
} fc_product;

void
			fc_multiply(const fc_product *p, const double *a, const double *b, double *c);
void		fc_multiply_float(const fc_product *p, const float *a, const float *b,
							  float *c);

/*
 * dots[r * stride + j] = a_r . b_j, a rows x d, b count x d: one product of
 * BLAS.
 */
void		fc_dots(const float *a, size_t rows, const float *b, size_t count, size_t d,
					float *dots, size_t stride);

/*
 * The lower triangle of C (n x n without gaps) += alpha A A', A n x k without
 * gaps; transposed: += A' A, A k x n, lda apart.
 */
void
			fc_rank_update(size_t n, size_t k, double alpha, const double *a, double *c);
void		fc_rank_update_transposed(size_t n, size_t k, const double *a,
									  size_t lda, double *c);

/* The upper triangle of C (n x n) := its lower one. */
void		fc_mirror_lower(double *c, size_t n);

/*
 * Solve A X = B for a symmetric positive definite A (n x n); X' (columns x n)
 * replaces B'. A is destroyed. False where A is not that.
 */
bool		fc_solve_positive(double *a, size_t n, double *b, size_t columns);

/* Doubles and ints of work for fc_symmetric_eigen of order n. */
size_t		fc_eigen_work(size_t n);
size_t		fc_eigen_integers(size_t n);

/*
 * All eigenvalues, ascending, of a symmetric matrix (n x n); its row i becomes
 * the eigenvector of the i-th. LAPACK's dsyevd: divide and conquer, 0.03 s of
 * order 512 and 0.2 s of 1000.
 */
void		fc_symmetric_eigen(double *a, size_t n, double *values, double *work,
							   int *integers);

/*
 * Non-negative least squares on the normal equations:
 *     min over x >= 0 of  x' G x / 2 - b' x,   G symmetric positive definite
 * gram is count x count, rhs is count.
 * The optimum satisfies x >= 0, G x - b >= 0, x'(G x - b) = 0 to rounding.
 * It fails when G is not positive definite even with a small ridge.
 */
void		fc_nnls(const double *gram, const double *rhs, size_t count,
					fc_arena *arena, double *x);

#endif							/* FC_NUMERICS_DENSE_H */

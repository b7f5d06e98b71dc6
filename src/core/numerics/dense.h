/*
 * dense.h - dense linear algebra and non-negative least squares, with an
 * interrupt check before each call of BLAS and LAPACK, except in fc_dots.
 *
 * A call of BLAS or LAPACK cannot be interrupted. Products, rank updates and
 * positive definite systems are cut into calls below 0.4 s on one core. An
 * eigenproblem is one call, whose size the caller bounds. Matrices are
 * row-major; lda is a row stride. If LAPACK fails, fc_numeric_failure is
 * called.
 */
#ifndef FC_NUMERICS_DENSE_H
#define FC_NUMERICS_DENSE_H

#include "base/fc.h"

/*
 * A product C (m x n) = alpha op(A) op(B) + beta C; op(A) is the transpose of
 * A if transpose_a is set, else A itself. The rows of B and C have no gaps.
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
	size_t		lda;			/* row stride of A as stored; 0: no gaps */
} fc_product;

void		fc_multiply(const fc_product *p, const double *a, const double *b, double *c);
void		fc_multiply_float(const fc_product *p, const float *a, const float *b,
							  float *c);

/*
 * Computes dots[r * stride + j] = a_r . b_j by one call of BLAS, without an
 * interrupt check; a is rows x d, b is count x d.
 */
void		fc_dots(const float *a, size_t rows, const float *b, size_t count, size_t d,
					float *dots, size_t stride);

/*
 * fc_rank_update adds alpha A A' to the lower triangle of C (n x n without
 * gaps); A is n x k without gaps. fc_rank_update_transposed adds A' A, where A
 * is k x n with row stride lda.
 */
void		fc_rank_update(size_t n, size_t k, double alpha, const double *a, double *c);
void		fc_rank_update_transposed(size_t n, size_t k, const double *a,
									  size_t lda, double *c);

/* Copies the lower triangle of C (n x n) to the upper one. */
void		fc_mirror_lower(double *c, size_t n);

/*
 * Solves A X = B for a symmetric positive definite A (n x n). b holds B'
 * (columns x n) and receives X'; A is destroyed. Returns false if A is not
 * positive definite.
 */
bool		fc_solve_positive(double *a, size_t n, double *b, size_t columns);

/*
 * Return the number of doubles and the number of ints of scratch space that
 * fc_symmetric_eigen needs for order n.
 */
size_t		fc_eigen_work(size_t n);
size_t		fc_eigen_integers(size_t n);

/*
 * Computes all eigenvalues of a symmetric matrix (n x n) in ascending order;
 * row i of the matrix becomes the eigenvector of values[i]. Uses LAPACK's
 * dsyevd, divide and conquer: 0.03 s for order 512 and 0.2 s for 1000.
 */
void		fc_symmetric_eigen(double *a, size_t n, double *values, double *work,
							   int *integers);

/*
 * Solves non-negative least squares on the normal equations:
 *     min over x >= 0 of  x' G x / 2 - b' x,   G symmetric positive definite
 * gram (count x count) is G, and rhs (count) is b. The optimum satisfies x >=
 * 0, G x - b >= 0 and x'(G x - b) = 0, up to rounding. Calls
 * fc_numeric_failure when G is not positive definite even with a small ridge.
 */
void		fc_nnls(const double *gram, const double *rhs, size_t count,
					fc_arena *arena, double *x);

#endif							/* FC_NUMERICS_DENSE_H */

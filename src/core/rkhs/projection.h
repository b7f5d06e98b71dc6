/*
 * projection.h - coordinates whose dot products approximate a kernel matrix:
 * in one pass, by Nystrom, by pivoted Cholesky, exactly.
 *
 * All methods end in K ~ E E', E = W T:
 *     E' E = V S^2 V'          S^2: eigenvalues of the approximation
 *     Y = E V                  the r leading columns; Y Y' is the best
 *                              approximation of rank r of E E'
 *
 * One pass is algorithm 1 of Pourkamali-Anaraki and Becker, A randomized
 * approach to efficient kernel clustering (2016), steps 1 to 6: W = K Omega in
 * one pass over K, Omega = D H R; then K ~ Q B Q' with Q an orthonormal basis
 * of the range of W and B (Q' Omega) = Q' W. With Q from the QR decomposition
 * (all r' columns; step 3 of the paper leaves the choice) Q B Q' = W (Omega'
 * W)^+ W', the Nystrom form of Tropp, Yurtsever, Udell, Cevher (2017): the
 * eigenproblem of Omega' W (r' x r') gives the same matrix without Q, is
 * symmetric and semidefinite by construction, and stays stable where Q' Omega
 * is nearly singular.
 *
 * Randomly pivoted Cholesky is algorithm 2.1 of Chen, Epperly, Tropp, Webber
 * (2025): the next pivot is drawn with probability proportional to the
 * diagonal of the residual of K,
 *     f = (K(:, s) - F F(s, :)') / sqrt(residual_s),   residual -= f^2.
 * (m + 1) n kernel values, m^2 n multiplications, 8 n m bytes.
 */
#ifndef FC_RKHS_PROJECTION_H
#define FC_RKHS_PROJECTION_H

#include "rkhs/kernel.h"

/* The result of a method; arrays from the caller. */
typedef struct fc_embedding
{
	size_t		rank;
	double	   *eigenvalues;	/* rank, descending, 0 where the approximation
								 * has no more */
	float	   *y;				/* n x rank */

	/*
	 * ||K - Y Y'||_F / ||K||_F as estimated, -1 when the method gives no
	 * estimate
	 */
	double		relative_error;
} fc_embedding;

typedef enum fc_kernel_method
{
	FC_KERNEL_ONE_PASS = 1,
	FC_KERNEL_NYSTROEM = 2,
	FC_KERNEL_CHOLESKY = 3,
	FC_KERNEL_EXACT = 4
} fc_kernel_method;

/*
 * About the multiply-adds of a method with so many columns or pivots; exact:
 * of the rank.
 */
double		fc_kernel_operations(fc_kernel_method method, size_t n, size_t d,
								 size_t columns);

/* Greatest rank, and greatest number of columns that LAPACK takes whole. */
#define FC_MAX_KERNEL_RANK	502

/*
 * w (n x m, stride ldw), t (m x q), q <= 512, K = scale E E'. The entry of
 * largest magnitude of each column of Y is positive.
 */
void		fc_kernel_embed(const double *w, size_t n, size_t m, size_t ldw,
							const double *t, size_t q, double scale, fc_arena *arena,
							fc_embedding *result);

/*
 * t (m x q) = vectors' / sqrt(values) for the q leading pairs above floor x
 * the first; returns how many.
 */
size_t		fc_inverse_root(const double *values, const double *vectors,
							size_t count, size_t m, double floor, double *t);

/* ---- one pass ---- */

/*
 * `count` distinct numbers below n <= 2^63, ascending, uniform without
 * replacement (Floyd); count^2 work at most.
 */
void		fc_choose_distinct(uint64_t seed, size_t n, size_t count, size_t *chosen);

/*
 * Rows first .. first + rows of Omega = D H R, entries +-1 (the factor n'^-1/2
 * left out):
 *     sign_i (-1)^popcount(i & column_s),  s = 0 .. count - 1
 * followed by `probes` <= 31 columns of independent random signs. Out: rows x
 * (count + probes).
 */
void		fc_sign_columns(uint64_t seed, const size_t *columns, size_t count,
							size_t probes, size_t first, size_t rows, int8_t *out);

/* rank + oversampling at most. */
#define FC_MAX_KERNEL_COLUMNS	500

/*
 * Columns r' of D H R for n rows: rank + oversampling, the order of H at most.
 */
size_t		fc_kernel_projection_columns(size_t n, size_t rank, size_t oversampling);

/*
 * Columns of independent random signs that come with r': 4, and as many as
 * fill the last eight. Held out they tell the error of the projection from the
 * others; then they join Omega. (The products work by eights, so most of them
 * cost nothing; and with r' = 7 the mean error on data whose eigenvalues r and
 * r + 1 are close falls from 3.5 to 0.1 % above the exact one's.)
 */
size_t		fc_kernel_projection_probes(size_t columns);

/*
 * Coordinates of n rows (in the order of their ids: that order ties a row to
 * its sign). Memory: 9 bytes a row and column (r' and probes) beside the
 * prepared rows; K is never stored. Interrupt checks: one a pair of blocks of
 * K, then few.
 */
void		fc_kernel_project(const fc_kernel_rows *rows, size_t oversampling,
							  uint64_t seed, fc_arena *arena, fc_embedding *result);

/* ---- Nystrom from uniform columns, pivoted Cholesky, eigenvalues ---- */

/*
 * Relative floor of a pseudo-inverse by eigendecomposition, values in double.
 */
#define FC_PSEUDO_INVERSE_FLOOR	1e-12

/*
 * Nystrom (Williams, Seeger 2001): C = m columns of K chosen uniformly without
 * replacement, M their m rows, K ~ C M_r^+ C' with M_r the best approximation
 * of rank r of M. C is stored (8 n m bytes). More columns than rows are all of
 * them. With m > 512 M's eigenvectors are iterated.
 */
void		fc_nystroem_project(const fc_kernel_rows *rows, size_t columns,
								uint64_t seed, fc_arena *arena, fc_embedding *result);

/*
 * K ~ U_r L_r U_r' from K itself, stored (8 n^2 bytes): for n up to a few
 * thousand.
 */
void		fc_kernel_eigen_project(const fc_kernel_rows *rows, fc_arena *arena,
									fc_embedding *result);

/*
 * out (left->n x right->n) = K / scale between exact rows prepared together.
 */
void		fc_kernel_matrix(const fc_kernel_rows *left, const fc_kernel_rows *right,
							 double *out);

/*
 * Numbers of at most m pivots, in the order drawn; returns how many: fewer
 * when K is used up.
 */
size_t
			fc_pivoted_cholesky_landmarks(const fc_kernel_rows *rows, size_t m,
										  uint64_t seed, fc_arena *arena, size_t *pivots);

/* K ~ F F', reduced to its best approximation of rank r. */
void
			fc_pivoted_cholesky_project(const fc_kernel_rows *rows, size_t m, uint64_t seed,
										fc_arena *arena, fc_embedding *result);

/* ---- bytes ---- */

/*
 * The stored value.  Layout (byte order the machine's, padding zero):
 *     fc_kernel_projection_header
 *     double  eigenvalues[rank]		descending, >= 0
 *     int64   ids[n]					ascending
 *     float   y[n * rank] row by row; zeros up to a multiple of 8 bytes
 * All but the container is a function of the rows, the arguments and the
 * processor: equal runs give equal bytes.
 */
#define FC_KERNEL_PROJECTION_VERSION	1

typedef struct fc_kernel_projection_header
{
	uint32_t	container;		/* belongs to the code that stores the value;
								 * ignored */
	uint16_t	version;
	uint8_t		method;
	uint8_t		padding;		/* 0 */
	fc_kernel	kernel;
	uint64_t	seed;
	uint64_t	n;
	uint32_t	d;
	uint32_t	rank;
	uint32_t	columns;		/* of Omega, of K, or pivots; 0 when exact */
	uint32_t	oversampling;	/* requested; one pass only */
	double		relative_error; /* -1: not known */
	uint64_t	workspace;		/* bytes it took to make */
} fc_kernel_projection_header;

/* SIZE_MAX when they do not fit. */
size_t		fc_kernel_projection_size(size_t n, size_t rank);

double	   *fc_kernel_projection_eigenvalues(const fc_kernel_projection_header *header);
int64_t    *fc_kernel_projection_ids(const fc_kernel_projection_header *header);
float	   *fc_kernel_projection_rows(const fc_kernel_projection_header *header);

/* Validate size untrusted bytes aligned to 8: FC_OK or FC_EFORMAT. */
fc_status	fc_kernel_projection_check(const void *bytes, size_t size);

#endif							/* FC_RKHS_PROJECTION_H */

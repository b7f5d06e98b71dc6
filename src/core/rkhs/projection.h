/*
 * projection.h - coordinates whose dot products approximate a kernel matrix:
 * in one pass, by Nystrom, by pivoted Cholesky, or exactly.
 *
 * All methods compute E = W T from n x m and m x q matrices W and T such that
 * K ~ E E', and then reduce it to rank r:
 *     E' E = V S^2 V'          S^2: eigenvalues of the approximation
 *     Y = E V                  the r leading columns; Y Y' is the best
 *                              approximation of rank r of E E'
 *
 * One pass is algorithm 1 of Pourkamali-Anaraki and Becker, A randomized
 * approach to efficient kernel clustering (2016), steps 1 to 6. It computes W
 * = K Omega in one pass over K, where Omega = D H R: D has random signs on the
 * diagonal, H is a Hadamard matrix, and R chooses r' columns. Then K ~ Q B Q',
 * where Q is an orthonormal basis of the range of W and B (Q' Omega) = Q' W.
 * Step 3 of the paper leaves the choice of Q open. If Q has all r' columns of
 * the QR decomposition of W, then Q B Q' = W (Omega' W)^+ W', the Nystrom form
 * of Tropp, Yurtsever, Udell, Cevher (2017). The eigenproblem of Omega' W (r'
 * x r') gives this matrix without Q. It is symmetric and semidefinite by
 * construction, and remains stable if Q' Omega is nearly singular.
 *
 * Randomly pivoted Cholesky is algorithm 2.1 of Chen, Epperly, Tropp, Webber
 * (2025). The next pivot s is drawn with probability proportional to the
 * diagonal of the residual K - F F', where F has the columns f computed so
 * far:
 *     f = (K(:, s) - F F(s, :)') / sqrt(residual_s),   residual -= f^2.
 * With m pivots, it costs (m + 1) n kernel values, m^2 n multiplications and 8
 * n m bytes.
 */
#ifndef FC_RKHS_PROJECTION_H
#define FC_RKHS_PROJECTION_H

#include "rkhs/kernel.h"

/* Result of a method; the caller allocates the arrays. */
typedef struct fc_embedding
{
	size_t		rank;
	double	   *eigenvalues;	/* `rank` eigenvalues, descending; 0 beyond
								 * the rank of the approximation */
	float	   *y;				/* n x rank coordinates of the rows */

	/*
	 * estimate of ||K - Y Y'||_F / ||K||_F; -1 if the method has no estimate
	 */
	double		relative_error;
	double		error_deviation;	/* standard deviation of relative_error; 0
									 * if the method estimates none */
} fc_embedding;

typedef enum fc_kernel_method
{
	FC_KERNEL_ONE_PASS = 1,
	FC_KERNEL_NYSTROEM = 2,
	FC_KERNEL_CHOLESKY = 3,
	FC_KERNEL_EXACT = 4
} fc_kernel_method;

/*
 * Returns the approximate number of multiply-adds of a method with `columns`
 * columns or pivots; for the exact method `columns` is the rank.
 */
double		fc_kernel_operations(fc_kernel_method method, size_t n, size_t d,
								 size_t columns);

/*
 * Maximum rank: FC_EIGEN_WHOLE - FC_EIGEN_SPARE, the maximum number of
 * eigenpairs that fc_leading_eigen can compute by iteration.
 */
#define FC_MAX_KERNEL_RANK	502

/*
 * Computes Y and its eigenvalues from E = W T, where K ~ scale E E'. w is n x
 * m with rows ldw values apart; t is m x q, q <= 512. The entry of largest
 * magnitude in each column of Y is positive. Returns the sum of the squares of
 * the eigenvalues of E E' that the result leaves out.
 */
double		fc_kernel_embed(const double *w, size_t n, size_t m, size_t ldw,
							const double *t, size_t q, double scale, fc_arena *arena,
							fc_embedding *result);

/*
 * Sets t (m x q) = vectors' / sqrt(values) for the q leading eigenpairs whose
 * eigenvalue exceeds floor times the first one. Returns q.
 */
size_t		fc_inverse_root(const double *values, const double *vectors,
							size_t count, size_t m, double floor, double *t);

/* ---- one pass ---- */

/*
 * Draws `count` distinct integers below n <= 2^63, uniformly without
 * replacement (Floyd), in O(count^2) operations. Stores them in ascending
 * order.
 */
void		fc_choose_distinct(uint64_t seed, size_t n, size_t count, size_t *chosen);

/*
 * Sets out (rows x (count + probes)) to rows first .. first + rows - 1 of
 * Omega = D H R, with entries +-1 (the factor n'^-1/2 is omitted, where n' is
 * the order of H):
 *     sign_i (-1)^popcount(i & column_s),  s = 0 .. count - 1
 * followed by `probes` <= 31 columns of independent random signs.
 */
void		fc_sign_columns(uint64_t seed, const size_t *columns, size_t count,
							size_t probes, size_t first, size_t rows, int8_t *out);

/*
 * Maximum of rank + oversampling. With this limit, the columns of Omega and
 * the probes do not exceed FC_EIGEN_WHOLE.
 */
#define FC_MAX_KERNEL_COLUMNS	500

/*
 * Returns r', the number of columns of D H R for n rows: rank + oversampling,
 * limited to the order of H.
 */
size_t		fc_kernel_projection_columns(size_t n, size_t rank, size_t oversampling);

/*
 * Returns the number of probes, the columns of independent random signs that
 * Omega has in addition to the r' columns. It is 0 if `published` is set, else
 * the smallest number from 4 on that makes the total a multiple of eight.
 * Products work on groups of eight, so that the additional columns cost
 * nothing. With r' = 7, on data whose eigenvalues r and r + 1 are close, the
 * mean error drops from 3.5 to 0.1 % above the exact error.
 */
size_t		fc_kernel_projection_probes(size_t columns, bool published);

/* Sizes of one pass over a kernel matrix of n rows. */
typedef struct fc_kernel_pass
{
	size_t		n;
	size_t		columns;		/* r', the number of columns of D H R */
	size_t		probes;			/* number of columns of independent random
								 * signs */
	size_t		c;				/* columns + probes */
	size_t		kept;			/* number of entries kept of each row, if the
								 * matrix arrives row by row */
	uint64_t	seed;
} fc_kernel_pass;

fc_kernel_pass fc_kernel_pass_of(size_t n, size_t rank, size_t oversampling,
								 bool published, uint64_t seed);

/* Fills omega (n x c): the columns of D H R, then the probes. */
void		fc_kernel_draw(const fc_kernel_pass *pass, int8_t *omega);

/*
 * Computes coordinates of n rows, which must be in the order of their ids,
 * because a row's index determines its sign. Memory: 9 bytes per row and
 * column (r' and probes), plus the prepared rows; K is never stored.
 * Interrupts are checked once per block of K. The error is exact up to 4096
 * rows, and estimated from 16 pairs per row beyond.
 */
void		fc_kernel_project(const fc_kernel_rows *rows, const fc_kernel_pass *pass,
							  fc_arena *arena, fc_embedding *result);

/*
 * Range that ||K||_F of a kernel matrix that arrives row by row must be in,
 * because kept entries and embeddings are in single precision.
 */
#define FC_MATRIX_SMALLEST	1e-30
#define FC_MATRIX_GREATEST	1e37

/*
 * Returns the size, in doubles, of the record of a row of a kernel matrix;
 * one_pass.c describes the record.
 */
size_t		fc_kernel_record(const fc_kernel_pass *pass);

/*
 * Computes the record of row i of a kernel matrix from its n values; signs is
 * scratch space for FC_KERNEL_BLOCK * c doubles.
 */
void		fc_kernel_read_row(const fc_kernel_pass *pass, const int8_t *omega,
							   size_t i, const double *row, double *signs,
							   double *record);

/*
 * Computes coordinates from the records of all n rows. Sets *asymmetry to an
 * estimate of ||K - K'|| / ||K||, which is 0 for a single column of Omega.
 * Returns FC_EFAR if ||K|| is out of range.
 */
fc_status	fc_kernel_project_records(const fc_kernel_pass *pass, const int8_t *omega,
									  double *records, fc_arena *arena,
									  fc_embedding *result, double *asymmetry);

/* ---- Nystrom from uniform columns, pivoted Cholesky, eigenvalues ---- */

/*
 * Relative floor of the eigenvalues in a pseudo-inverse in double precision. A
 * larger one drops more eigenvectors, a smaller one amplifies rounding errors.
 * A guess.
 */
#define FC_PSEUDO_INVERSE_FLOOR	1e-12

/*
 * Computes the Nystrom approximation K ~ C M_r^+ C' (Williams, Seeger 2001). C
 * has m columns of K, chosen uniformly without replacement; M has the m rows
 * of C with the same indices; M_r is the best approximation of rank r of M. m
 * is `columns`, limited to the number of rows. C is stored (8 n m bytes). For
 * m > 512 the eigenvectors of M are computed iteratively.
 */
void		fc_nystroem_project(const fc_kernel_rows *rows, size_t columns,
								uint64_t seed, fc_arena *arena, fc_embedding *result);

/*
 * Computes K ~ U_r L_r U_r' from the r leading eigenpairs of K. K is stored (8
 * n^2 bytes), so n should be at most a few thousand.
 */
void		fc_kernel_eigen_project(const fc_kernel_rows *rows, fc_arena *arena,
									fc_embedding *result);

/*
 * Sets out (left->n x right->n) to K / scale for the rows of `left` and
 * `right`, which are in double precision and were prepared together.
 */
void		fc_kernel_matrix(const fc_kernel_rows *left, const fc_kernel_rows *right,
							 double *out);

/*
 * Stores the row indices of up to m pivots, in the order drawn. Returns their
 * number, which is less than m if K is exhausted.
 */
size_t		fc_pivoted_cholesky_landmarks(const fc_kernel_rows *rows, size_t m,
										  uint64_t seed, fc_arena *arena, size_t *pivots);

/*
 * Computes K ~ F F' from up to m pivots, reduced to the best approximation of
 * rank r.
 */
void		fc_pivoted_cholesky_project(const fc_kernel_rows *rows, size_t m, uint64_t seed,
										fc_arena *arena, fc_embedding *result);

/* ---- bytes ---- */

/*
 * Layout of a serialized projection (native byte order, padding zero):
 *     fc_kernel_projection_header
 *     double  eigenvalues[rank]  descending, >= 0
 *     int64   ids[n]     ascending
 *     float   y[n * rank] row by row; zeros up to a multiple of 8 bytes
 * All fields except the container depend only on the rows, the arguments and
 * the processor: equal runs give equal bytes.
 */
#define FC_KERNEL_PROJECTION_VERSION	1

typedef struct fc_kernel_projection_header
{
	uint32_t	container;		/* used by the code that stores the value;
								 * ignored here */
	uint16_t	version;
	uint8_t		method;
	uint8_t		probes;			/* number of probes in Omega, besides its r'
								 * columns; 0 unless one pass */
	fc_kernel	kernel;
	uint64_t	seed;
	uint64_t	n;
	uint32_t	d;
	uint32_t	rank;
	uint32_t	columns;		/* number of columns of Omega or of K, or of
								 * pivots; 0 for the exact method */
	uint32_t	oversampling;	/* requested oversampling; 0 unless one pass */
	double		relative_error; /* estimated relative error; -1: unknown */
	double		error_deviation;	/* standard deviation of the estimate */
	uint64_t	workspace;		/* bytes of memory used by the computation */
} fc_kernel_projection_header;

/* Returns the size of a projection in bytes, or SIZE_MAX on overflow. */
size_t		fc_kernel_projection_size(size_t n, size_t rank);

double	   *fc_kernel_projection_eigenvalues(const fc_kernel_projection_header *header);
int64_t    *fc_kernel_projection_ids(const fc_kernel_projection_header *header);
float	   *fc_kernel_projection_rows(const fc_kernel_projection_header *header);

/*
 * Validates `size` untrusted bytes, aligned to 8. Returns FC_OK or FC_EFORMAT.
 */
fc_status	fc_kernel_projection_check(const void *bytes, size_t size);

#endif							/* FC_RKHS_PROJECTION_H */

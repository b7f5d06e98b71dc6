/*
 * blas.h - declarations of every foreign numerical routine that the core
 * calls.
 *
 * The module and the unit tests look these routines up at run time, so that a
 * backend loads OpenBLAS only when it first decodes or clusters.
 * src/pg/base/blas_stubs.c has the same list. The declarations follow the
 * standards, so that the build needs no headers of these libraries.
 */
#ifndef FC_BASE_BLAS_H
#define FC_BASE_BLAS_H

#include <stddef.h>

/* CBLAS (www.netlib.org/blas/blast-forum/cblas.tgz), with 32-bit integers. */
enum CBLAS_ORDER
{
	CblasRowMajor = 101,
	CblasColMajor = 102
};

enum CBLAS_TRANSPOSE
{
	CblasNoTrans = 111,
	CblasTrans = 112
};

enum CBLAS_UPLO
{
	CblasUpper = 121,
	CblasLower = 122
};

enum CBLAS_DIAG
{
	CblasNonUnit = 131,
	CblasUnit = 132
};

enum CBLAS_SIDE
{
	CblasLeft = 141,
	CblasRight = 142
};

extern void cblas_sgemm(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE ta,
						enum CBLAS_TRANSPOSE tb, int m, int n, int k,
						float alpha, const float *a, int lda, const float *b,
						int ldb, float beta, float *c, int ldc);
extern void cblas_dgemm(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE ta,
						enum CBLAS_TRANSPOSE tb, int m, int n, int k,
						double alpha, const double *a, int lda, const double *b,
						int ldb, double beta, double *c, int ldc);
extern void cblas_sgemv(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE trans, int m, int n,
						float alpha, const float *a, int lda, const float *x, int incx,
						float beta, float *y, int incy);
extern void cblas_dgemv(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE trans, int m, int n,
						double alpha, const double *a, int lda, const double *x, int incx,
						double beta, double *y, int incy);
extern void cblas_dsyrk(enum CBLAS_ORDER order, enum CBLAS_UPLO uplo,
						enum CBLAS_TRANSPOSE trans, int n, int k, double alpha,
						const double *a, int lda, double beta, double *c, int ldc);
extern void cblas_dtrsm(enum CBLAS_ORDER order, enum CBLAS_SIDE side, enum CBLAS_UPLO uplo,
						enum CBLAS_TRANSPOSE trans, enum CBLAS_DIAG diag, int m, int n,
						double alpha, const double *a, int lda, double *b, int ldb);
extern void cblas_dscal(int n, double alpha, double *x, int incx);
extern double cblas_dnrm2(int n, const double *x, int incx);
extern double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);

/* LAPACK: Cholesky factorisation and solution, symmetric eigenproblem. */
extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
extern void dpotrs_(const char *uplo, const int *n, const int *nrhs, const double *a,
					const int *lda, double *b, const int *ldb, int *info);
extern void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a,
					const int *lda, double *w, double *work, const int *lwork,
					int *iwork, const int *liwork, int *info);

/*
 * L-BFGS-B 3.0 (Zhu, Byrd, Lu, Nocedal; Morales, Nocedal 2011), reverse
 * communication.
 */
extern void setulb_(const int *n, const int *m, double *x, const double *lower,
					const double *upper, const int *nbd, double *f, double *g,
					const double *factr, const double *pgtol, double *wa, int *iwa,
					char *task, const int *iprint, char *csave, int *lsave, int *isave,
					double *dsave, size_t task_length, size_t csave_length);

#endif							/* FC_BASE_BLAS_H */

/*
 * blas_stubs.c - the external routines of the core (base/blas.h), forwarded to
 * libraries that are opened when needed.
 *
 * The stubs have the names that the core calls, and are local to the module
 * (see Makefile: exported symbols).
 */
#include "base/blas.h"

#include "pg/base/blas_library.h"

/*
 * Defines one of the core's external functions. Its first call looks up the
 * routine in the library; all calls are forwarded to the routine.
 */
#define FORWARD(routine, result, name, parameters, arguments) \
result \
name parameters \
{ \
	static result (*function) parameters = NULL; \
\
	if (function == NULL) \
		*(void **) &function = routine(#name); \
	return function arguments; \
} \
extern int	no_such_variable

FORWARD(openblas_routine, void, cblas_sgemm,
		(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE ta,
		 enum CBLAS_TRANSPOSE tb, int m, int n, int k, float alpha,
		 const float *a, int lda, const float *b, int ldb, float beta, float *c,
		 int ldc),
		(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));
FORWARD(openblas_routine, void, cblas_dgemm,
		(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE ta,
		 enum CBLAS_TRANSPOSE tb, int m, int n, int k, double alpha,
		 const double *a, int lda, const double *b, int ldb, double beta,
		 double *c, int ldc),
		(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));
FORWARD(openblas_routine, void, cblas_sgemv,
		(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE trans, int m, int n,
		 float alpha, const float *a, int lda, const float *x, int incx,
		 float beta, float *y, int incy),
		(order, trans, m, n, alpha, a, lda, x, incx, beta, y, incy));
FORWARD(openblas_routine, void, cblas_dgemv,
		(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE trans, int m, int n,
		 double alpha, const double *a, int lda, const double *x, int incx,
		 double beta, double *y, int incy),
		(order, trans, m, n, alpha, a, lda, x, incx, beta, y, incy));
FORWARD(openblas_routine, void, cblas_dsyrk,
		(enum CBLAS_ORDER order, enum CBLAS_UPLO uplo,
		 enum CBLAS_TRANSPOSE trans, int n, int k, double alpha,
		 const double *a, int lda, double beta, double *c, int ldc),
		(order, uplo, trans, n, k, alpha, a, lda, beta, c, ldc));
FORWARD(openblas_routine, void, cblas_dtrsm,
		(enum CBLAS_ORDER order, enum CBLAS_SIDE side, enum CBLAS_UPLO uplo,
		 enum CBLAS_TRANSPOSE trans, enum CBLAS_DIAG diag, int m, int n,
		 double alpha, const double *a, int lda, double *b, int ldb),
		(order, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb));
FORWARD(openblas_routine, void, cblas_dscal,
		(int n, double alpha, double *x, int incx),
		(n, alpha, x, incx));
FORWARD(openblas_routine, double, cblas_dnrm2,
		(int n, const double *x, int incx),
		(n, x, incx));
FORWARD(openblas_routine, double, cblas_ddot,
		(int n, const double *x, int incx, const double *y, int incy),
		(n, x, incx, y, incy));
FORWARD(openblas_routine, void, dpotrf_,
		(const char *uplo, const int *n, double *a, const int *lda, int *info),
		(uplo, n, a, lda, info));
FORWARD(openblas_routine, void, dpotrs_,
		(const char *uplo, const int *n, const int *nrhs, const double *a,
		 const int *lda, double *b, const int *ldb, int *info),
		(uplo, n, nrhs, a, lda, b, ldb, info));
FORWARD(openblas_routine, void, dsyevd_,
		(const char *jobz, const char *uplo, const int *n, double *a,
		 const int *lda, double *w, double *work, const int *lwork, int *iwork,
		 const int *liwork, int *info),
		(jobz, uplo, n, a, lda, w, work, lwork, iwork, liwork, info));
FORWARD(lbfgsb_routine, void, setulb_,
		(const int *n, const int *m, double *x, const double *lower,
		 const double *upper, const int *nbd, double *f, double *g,
		 const double *factr, const double *pgtol, double *wa, int *iwa,
		 char *task, const int *iprint, char *csave, int *lsave, int *isave,
		 double *dsave, size_t task_length, size_t csave_length),
		(n, m, x, lower, upper, nbd, f, g, factr, pgtol, wa, iwa, task, iprint,
		 csave, lsave, isave, dsave, task_length, csave_length));

/*
 * blas_stubs.c - OpenBLAS and L-BFGS-B, loaded at the first call that needs them.
 *
 * A backend that only sketches or assigns never pays for loading them (7 ms).
 * OpenBLAS must not start threads inside a server process, and the threaded build
 * starts one when it is merely loaded, so OPENBLAS_NUM_THREADS=1 is set around
 * the load; the serial build is tried first.
 *
 * These functions have the names the core calls (fc_blas.h) and are local to the
 * module (see Makefile: exported symbols).
 */
#include "fastclust.h"

#include <dlfcn.h>

#include "fc_blas.h"

#ifndef FC_OPENBLAS_DIR
#define FC_OPENBLAS_DIR ""
#endif

static void *
open_first(const char *const *names, const char *what)
{
	char	   *threads = getenv("OPENBLAS_NUM_THREADS");
	char	   *saved = threads ? pstrdup(threads) : NULL;
	void	   *handle = NULL;

	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	for (int i = 0; names[i] != NULL && handle == NULL; i++)
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (saved != NULL)
		setenv("OPENBLAS_NUM_THREADS", saved, 1);
	else
		unsetenv("OPENBLAS_NUM_THREADS");
	if (handle == NULL)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not load %s: %s", what, dlerror()),
				 errhint("Install it, on Debian with: apt-get install libopenblas0-serial liblbfgsb0.")));
	return handle;
}

static void *
symbol(void *handle, const char *name)
{
	void	   *address = dlsym(handle, name);

	if (address == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("the loaded BLAS library has no %s", name),
				 errhint("Install libopenblas0-serial.")));
	return address;
}

static void *
blas(const char *name)
{
	static void *handle = NULL;
	static const char *const names[] = {
		FC_OPENBLAS_DIR "/libopenblas.so.0", "libopenblas.so.0", "libopenblas.so", NULL
	};

	if (handle == NULL)
		handle = open_first(names, "OpenBLAS");
	return symbol(handle, name);
}

static void *
lbfgsb(const char *name)
{
	static void *handle = NULL;
	static const char *const names[] = {"liblbfgsb.so.0", "liblbfgsb.so.3", "liblbfgsb.so", NULL};

	if (handle == NULL)
		handle = open_first(names, "L-BFGS-B");
	return symbol(handle, name);
}

/* A function of the core's list: found at its first call, forwarded ever after. */
#define FORWARD(library, result, name, parameters, arguments) \
result \
name parameters \
{ \
	static result (*function) parameters = NULL; \
\
	if (function == NULL) \
		*(void **) &function = library(#name); \
	return function arguments; \
} \
extern int	no_such_variable

FORWARD(blas, void, cblas_sgemm,
		(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE ta, enum CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k,
		 float alpha, const float *a, blasint lda, const float *b, blasint ldb, float beta, float *c, blasint ldc),
		(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));
FORWARD(blas, void, cblas_dgemm,
		(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE ta, enum CBLAS_TRANSPOSE tb, blasint m, blasint n, blasint k,
		 double alpha, const double *a, blasint lda, const double *b, blasint ldb, double beta, double *c, blasint ldc),
		(order, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc));
FORWARD(blas, void, cblas_sgemv,
		(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE trans, blasint m, blasint n, float alpha,
		 const float *a, blasint lda, const float *x, blasint incx, float beta, float *y, blasint incy),
		(order, trans, m, n, alpha, a, lda, x, incx, beta, y, incy));
FORWARD(blas, void, cblas_dgemv,
		(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE trans, blasint m, blasint n, double alpha,
		 const double *a, blasint lda, const double *x, blasint incx, double beta, double *y, blasint incy),
		(order, trans, m, n, alpha, a, lda, x, incx, beta, y, incy));
FORWARD(blas, void, cblas_dsyrk,
		(enum CBLAS_ORDER order, enum CBLAS_UPLO uplo, enum CBLAS_TRANSPOSE trans, blasint n, blasint k, double alpha,
		 const double *a, blasint lda, double beta, double *c, blasint ldc),
		(order, uplo, trans, n, k, alpha, a, lda, beta, c, ldc));
FORWARD(blas, void, cblas_ssyrk,
		(enum CBLAS_ORDER order, enum CBLAS_UPLO uplo, enum CBLAS_TRANSPOSE trans, blasint n, blasint k, float alpha,
		 const float *a, blasint lda, float beta, float *c, blasint ldc),
		(order, uplo, trans, n, k, alpha, a, lda, beta, c, ldc));
FORWARD(blas, void, cblas_dtrsm,
		(enum CBLAS_ORDER order, enum CBLAS_SIDE side, enum CBLAS_UPLO uplo, enum CBLAS_TRANSPOSE trans,
		 enum CBLAS_DIAG diag, blasint m, blasint n, double alpha, const double *a, blasint lda, double *b, blasint ldb),
		(order, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb));
FORWARD(blas, void, cblas_dscal,
		(blasint n, double alpha, double *x, blasint incx),
		(n, alpha, x, incx));
FORWARD(blas, double, cblas_dnrm2,
		(blasint n, const double *x, blasint incx),
		(n, x, incx));
FORWARD(blas, float, cblas_sdot,
		(blasint n, const float *x, blasint incx, const float *y, blasint incy),
		(n, x, incx, y, incy));
FORWARD(blas, double, cblas_ddot,
		(blasint n, const double *x, blasint incx, const double *y, blasint incy),
		(n, x, incx, y, incy));
FORWARD(blas, void, dpotrf_,
		(const char *uplo, const int *n, double *a, const int *lda, int *info),
		(uplo, n, a, lda, info));
FORWARD(blas, void, dpotrs_,
		(const char *uplo, const int *n, const int *nrhs, const double *a, const int *lda,
		 double *b, const int *ldb, int *info),
		(uplo, n, nrhs, a, lda, b, ldb, info));
FORWARD(blas, void, dsytrd_,
		(const char *uplo, const int *n, double *a, const int *lda, double *d, double *e, double *tau,
		 double *work, const int *lwork, int *info),
		(uplo, n, a, lda, d, e, tau, work, lwork, info));
FORWARD(blas, void, dstedc_,
		(const char *compz, const int *n, double *d, double *e, double *z, const int *ldz,
		 double *work, const int *lwork, int *iwork, const int *liwork, int *info),
		(compz, n, d, e, z, ldz, work, lwork, iwork, liwork, info));
FORWARD(blas, void, dormtr_,
		(const char *side, const char *uplo, const char *trans, const int *m, const int *n, double *a, const int *lda,
		 const double *tau, double *c, const int *ldc, double *work, const int *lwork, int *info),
		(side, uplo, trans, m, n, a, lda, tau, c, ldc, work, lwork, info));
FORWARD(blas, void, dormqr_,
		(const char *side, const char *trans, const int *m, const int *n, const int *k, double *a, const int *lda,
		 const double *tau, double *c, const int *ldc, double *work, const int *lwork, int *info),
		(side, trans, m, n, k, a, lda, tau, c, ldc, work, lwork, info));
FORWARD(blas, void, dgeqrf_,
		(const int *m, const int *n, double *a, const int *lda, double *tau,
		 double *work, const int *lwork, int *info),
		(m, n, a, lda, tau, work, lwork, info));
FORWARD(blas, void, dorgqr_,
		(const int *m, const int *n, const int *k, double *a, const int *lda, const double *tau,
		 double *work, const int *lwork, int *info),
		(m, n, k, a, lda, tau, work, lwork, info));
FORWARD(lbfgsb, void, setulb_,
		(const int *n, const int *m, double *x, const double *lower, const double *upper,
		 const int *nbd, double *f, double *g, const double *factr, const double *pgtol,
		 double *wa, int *iwa, char *task, const int *iprint, char *csave, int *lsave,
		 int *isave, double *dsave, size_t task_length, size_t csave_length),
		(n, m, x, lower, upper, nbd, f, g, factr, pgtol, wa, iwa, task, iprint, csave, lsave,
		 isave, dsave, task_length, csave_length));

/*
 * fc_blas.h - every foreign numerical routine the core calls, and nothing more.
 *
 * The server module resolves these through lazy stubs (src/pg/blas_stubs.c keeps
 * the same list), so that a backend loads OpenBLAS only when it first decodes or
 * clusters; unit tests link OpenBLAS directly.
 */
#ifndef FC_BLAS_H
#define FC_BLAS_H

#include <cblas.h>

/* LAPACK: Cholesky factorisation and solve, symmetric eigenproblem, QR. */
extern void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
extern void dpotrs_(const char *uplo, const int *n, const int *nrhs, const double *a, const int *lda,
					double *b, const int *ldb, int *info);
extern void dsytrd_(const char *uplo, const int *n, double *a, const int *lda, double *d, double *e, double *tau,
					double *work, const int *lwork, int *info);
extern void dstedc_(const char *compz, const int *n, double *d, double *e, double *z, const int *ldz,
					double *work, const int *lwork, int *iwork, const int *liwork, int *info);
extern void dormtr_(const char *side, const char *uplo, const char *trans, const int *m, const int *n, double *a,
					const int *lda, const double *tau, double *c, const int *ldc, double *work, const int *lwork, int *info);
extern void dormqr_(const char *side, const char *trans, const int *m, const int *n, const int *k, double *a,
					const int *lda, const double *tau, double *c, const int *ldc, double *work, const int *lwork, int *info);
extern void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau,
					double *work, const int *lwork, int *info);
extern void dorgqr_(const int *m, const int *n, const int *k, double *a, const int *lda, const double *tau,
					double *work, const int *lwork, int *info);

/* L-BFGS-B 3.0 (Zhu, Byrd, Lu, Nocedal; Morales, Nocedal 2011), reverse communication. */
extern void setulb_(const int *n, const int *m, double *x, const double *lower, const double *upper,
					const int *nbd, double *f, double *g, const double *factr, const double *pgtol,
					double *wa, int *iwa, char *task, const int *iprint, char *csave, int *lsave,
					int *isave, double *dsave, size_t task_length, size_t csave_length);

#endif							/* FC_BLAS_H */

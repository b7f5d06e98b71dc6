/*
 * blas_library.h - OpenBLAS and L-BFGS-B, found and opened at the first call
 * that needs them.
 *
 * Knows no server, so that the unit tests call the same routines of the same
 * libraries as the module.
 */
#ifndef FC_BLAS_LIBRARY_H
#define FC_BLAS_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

typedef struct blas_failure
{
	const char *library;		/* "OpenBLAS" or "L-BFGS-B" */
	const char *package;		/* of Debian, that brings it */
	/* there is none; else there is one that does not load, or lacks a routine */
	bool		missing;
	char		reason[1024];	/* the dynamic linker's words */
	char		openblas[PATH_MAX]; /* file of the OpenBLAS that is loaded, ""
									 * before */
} blas_failure;

/*
 * The address of a routine; opens its library first. Does not return when
 * there is none.
 */
extern void *openblas_routine(const char *name);
extern void *lbfgsb_routine(const char *name);

/*
 * The program says how it fails: by an error in the module (errors.c), the end
 * of a test.
 */
extern void
			report_blas_failure(const blas_failure *failure) __attribute__((noreturn));

#endif							/* FC_BLAS_LIBRARY_H */

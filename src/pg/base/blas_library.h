/*
 * blas_library.h - OpenBLAS and L-BFGS-B, found and opened at the first call
 * that needs them.
 *
 * This file does not depend on the server, so that the unit tests call the
 * same routines of the same libraries as the module.
 */
#ifndef FC_BLAS_LIBRARY_H
#define FC_BLAS_LIBRARY_H

#include <limits.h>
#include <stdbool.h>

typedef struct blas_failure
{
	const char *library;		/* "OpenBLAS" or "L-BFGS-B" */
	const char *package;		/* name of the Debian package that contains it */

	/*
	 * true if no library was found; false if one does not load or lacks a
	 * routine
	 */
	bool		missing;
	char		reason[1024];	/* message of the dynamic linker */
	char		openblas[PATH_MAX]; /* path of the loaded OpenBLAS, "" if none
									 * is loaded yet */
} blas_failure;

/*
 * Return the address of a routine of OpenBLAS or L-BFGS-B, and open the
 * library at the first call. If there is no such routine, they call
 * report_blas_failure, which does not return.
 */
extern void *openblas_routine(const char *name);
extern void *lbfgsb_routine(const char *name);

/*
 * Reports a failure and does not return. Each program defines this function:
 * in the module it raises an error (errors.c), in a test it ends the program.
 */
extern void report_blas_failure(const blas_failure *failure) __attribute__((noreturn));

#endif							/* FC_BLAS_LIBRARY_H */

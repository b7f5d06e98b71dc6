/*
 * blas_failure.c - reports a library that does not load, OpenBLAS or L-BFGS-B,
 * and ends the test program with status 2
 */
#include <stdio.h>
#include <stdlib.h>

#include "pg/base/blas_library.h"

void
report_blas_failure(const blas_failure *failure)
{
	fprintf(stderr, "could not load %s: %s\n", failure->library, failure->reason);
	exit(2);
}

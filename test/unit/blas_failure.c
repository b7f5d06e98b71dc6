/* blas_failure.c - a program without a server ends when OpenBLAS or L-BFGS-B does not load */
#include <stdio.h>
#include <stdlib.h>

#include "pg/base/blas_library.h"

void
report_blas_failure(const blas_failure *failure)
{
	fprintf(stderr, "could not load %s: %s\n", failure->library, failure->reason);
	exit(2);
}

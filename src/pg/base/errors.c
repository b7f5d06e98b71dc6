/* errors.c - the one map from fc_status, and from libraries that do not load, to SQLSTATE, message, detail and hint */
#include "postgres.h"

#include "pg/base/blas_library.h"
#include "pg/base/errors.h"
#include "sketch/layout.h"

void
report_status(fc_status status, const fc_arena *arena)
{
	switch (status)
	{
		case FC_OK:
		case FC_INTERRUPTED:
			break;
		case FC_ENOMEMORY:
			elog(ERROR, "workspace of %zu bytes is too small, %zu wanted",
				 arena ? arena->size : (Size) 0, arena ? arena->wanted : (Size) 0);
			break;
		case FC_EVALUE:
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("vector holds NaN or infinity")));
			break;
		case FC_EFAR:
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("vector is too far outside the scale of the sketch_spec")));
			break;
		case FC_EWEIGHT:
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("weight is out of range"),
					 errdetail("A weight is 0 or between %g and %g.", FC_MIN_WEIGHT, FC_MAX_WEIGHT),
					 errhint("Multiply all weights by the same constant; results do not depend on it.")));
			break;
		case FC_EOVERFLOW:
			ereport(ERROR,
					(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					 errmsg("sums of the sketch would overflow"),
					 errdetail("A sketch holds up to %lld rows, and rows far outside its scale count for many.",
							   (long long) FC_MAX_ROWS)));
			break;
		case FC_ENEGATIVE:
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("cannot subtract a sketch that holds more than the other"),
					 errdetail("The difference would have a negative row count or weight.")));
			break;
		case FC_EMISMATCH:
			ereport(ERROR,
					(errcode(ERRCODE_DATA_EXCEPTION),
					 errmsg("sketches belong to different specs")));
			break;
		case FC_EFORMAT:
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("stored value is damaged")));
			break;
		case FC_EEMPTY:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("there are no rows with positive weight")));
			break;
		case FC_ENUMERIC:
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR), errmsg("a matrix factorisation failed")));
			break;
	}
	elog(ERROR, "unexpected status %d", (int) status);
}

void
report_blas_failure(const blas_failure *failure)
{
	bool		beside = failure->openblas[0] != '\0';

	if (failure->missing)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FILE),
				 errmsg("could not load %s: %s", failure->library, failure->reason),
				 errhint("Install %s, on Debian with: apt-get install %s.", failure->library, failure->package)));
	ereport(ERROR,
			(errcode(ERRCODE_SYSTEM_ERROR),
			 errmsg("could not load %s: %s", failure->library, failure->reason),
			 beside ? errdetail("The OpenBLAS of this session is \"%s\".", failure->openblas) : 0,
			 errhint("%s is installed, but what it needs is missing or does not fit. Install it again, on Debian with: "
					 "apt-get install --reinstall %s. Then connect again.", failure->library, failure->package)));
}

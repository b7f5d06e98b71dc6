/*
 * errors.c - SQLSTATE, message, detail and hint for each fc_status, and for a
 * library that cannot be loaded
 */
#include "postgres.h"

#include "pg/base/blas_library.h"
#include "pg/base/errors.h"
#include "sketch/layout.h"

typedef struct status_error
{
	int			sqlstate;		/* 0 for an internal error, which the user
								 * cannot have caused */
	const char *message;
	const char *detail;			/* may be NULL */
	const char *hint;			/* may be NULL */
} status_error;

/*
 * The details below contain the values of FC_MAX_ROWS, FC_MIN_WEIGHT and
 * FC_MAX_WEIGHT as text.
 */
_Static_assert(FC_MAX_ROWS == INT64CONST(1099511627776), "details name this");

static const status_error errors[] = {
	[FC_EVALUE] = {ERRCODE_DATA_EXCEPTION, "vector contains NaN or infinity"},
	[FC_EFAR] = {
		ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
		"vector is too far outside the scale of the sketch_spec"
	},
	[FC_EWEIGHT] = {
		ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "weight is out of range",
		"A weight must be 0 or between 9.09495e-13 and 4.1943e+06.",
		"Multiply all weights by the same constant; results do not depend on it."
	},
	[FC_EOVERFLOW] = {
		ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "sums would overflow",
		"A sketch or an aggregate takes up to 1099511627776 rows; a sketch takes fewer if rows are far outside the scale of its sketch_spec."
	},
	[FC_ENEGATIVE] = {
		ERRCODE_DATA_EXCEPTION, "cannot subtract a larger sketch from a smaller one",
		"The difference would have a negative row count or weight."
	},
	[FC_EMISMATCH] = {ERRCODE_DATA_EXCEPTION, "sketches were made with different specs"},
	[FC_EFORMAT] = {ERRCODE_DATA_CORRUPTED, "stored value is damaged"},
	[FC_EEMPTY] = {ERRCODE_INVALID_PARAMETER_VALUE, "there are no rows with positive weight"},
	[FC_ENUMERIC] = {
		ERRCODE_FLOATING_POINT_EXCEPTION, "a matrix factorisation failed", NULL,
		"Scale the data so that values are not far from 1."
	}
};

void
report_status(fc_status status)
{
	const status_error *error = ((Size) status < lengthof(errors)
								 ? &errors[status]
								 : &errors[FC_OK]);

	Assert(FC_MIN_WEIGHT == FC_EXP2_MINUS(40) && FC_MAX_WEIGHT == FC_EXP2(22));
	if (error->sqlstate == 0)
		elog(ERROR, "unexpected status %d", (int) status);
	ereport(ERROR, errcode(error->sqlstate), errmsg("%s", error->message),
			error->detail != NULL ? errdetail("%s", error->detail) : 0,
			error->hint != NULL ? errhint("%s", error->hint) : 0);
}

void
report_blas_failure(const blas_failure *failure)
{
	bool		beside = failure->openblas[0] != '\0';

	if (failure->missing)
		ereport(ERROR, errcode(ERRCODE_UNDEFINED_FILE),
				errmsg("could not load %s: %s", failure->library,
					   failure->reason),
				errhint("Install %s, on Debian with: apt-get install %s.",
						failure->library, failure->package));
	ereport(ERROR, errcode(ERRCODE_SYSTEM_ERROR),
			errmsg("could not load %s: %s", failure->library, failure->reason),
			beside ? errdetail("This session has loaded OpenBLAS from \"%s\".",
							   failure->openblas)
			: 0,
			errhint("%s is installed, but one of its dependencies is missing or incompatible. Reinstall it, on Debian with: "
					"apt-get install --reinstall %s. Then reconnect.",
					failure->library, failure->package));
}

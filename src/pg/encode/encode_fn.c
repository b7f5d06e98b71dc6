/*
 * encode_fn.c - encode_row: rows into coordinates.
 *
 * A call site keeps the last encoder, prepared, and the readers of the rows'
 * columns. The encoder is recognised by its digest, a TOASTed one by its
 * pointer. A change of the user looks up the columns again, because casts of
 * columns may be code of another role, and PL/pgSQL keeps call sites until the
 * transaction ends.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "pg/encode/encode.h"

typedef struct encoder_site
{
	MemoryContext context;		/* owns everything that belongs to the encoder */
	uint64		digest[2];
	char		pointer[TOAST_POINTER_SIZE];	/* TOAST pointer of the
												 * encoder, valid if
												 * by_pointer */
	bool		by_pointer;
	Oid			user;			/* role whose rights to casts were checked */
	prepared_encoder *encoder;	/* NULL before the first encoder */
	record_reader record;
	listed_reader listed;		/* readers is NULL before the first listed row */
	double	   *x;				/* coordinates of the current row, dim values */
} encoder_site;

/* ---- the encoder of a call site ---- */

static void
keep_encoder(encoder_site *site, const fc_encoder_header *header)
{
	fc_encoder_header *copy;

	if (site->encoder != NULL &&
		memcmp(header->digest, site->digest, sizeof(site->digest)) == 0)
		return;
	site->encoder = NULL;
	site->by_pointer = false;
	MemoryContextReset(site->context);
	copy = memcpy(MemoryContextAlloc(site->context, VARSIZE(header)), header,
				  VARSIZE(header));
	site->record = (record_reader)
	{
		.context = AllocSetContextCreate(site->context, "fastclust columns",
										 ALLOCSET_SMALL_SIZES)
	};
	site->listed.readers = NULL;
	site->x = MemoryContextAlloc(site->context, header->dim * sizeof(double));
	memcpy(site->digest, header->digest, sizeof(site->digest));
	site->encoder = prepare_encoder(copy, site->context);
}

/* Returns the state of a call site for the encoder in argument 0. */
static encoder_site *
site_of(FunctionCallInfo fcinfo)
{
	encoder_site *site = fcinfo->flinfo->fn_extra;
	struct varlena *stored = (struct varlena *) DatumGetPointer(PG_GETARG_DATUM(0));

	if (site == NULL)
	{
		site = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt,
									  sizeof(encoder_site));
		site->context = AllocSetContextCreate(fcinfo->flinfo->fn_mcxt,
											  "fastclust encoder",
											  ALLOCSET_SMALL_SIZES);
		fcinfo->flinfo->fn_extra = site;
	}
	if (unlikely(site->user != GetUserId()))
	{
		site->encoder = NULL;
		site->by_pointer = false;
		site->user = GetUserId();
	}
	if (VARATT_IS_4B_U(stored))
	{
		keep_encoder(site, (const fc_encoder_header *) stored);
		return site;
	}
	if (VARATT_IS_EXTERNAL_ONDISK(stored) && site->by_pointer &&
		memcmp(stored, site->pointer, TOAST_POINTER_SIZE) == 0)
		return site;
	site->by_pointer = false;
	keep_encoder(site, (const fc_encoder_header *) detoast_attr(stored));
	if (VARATT_IS_EXTERNAL_ONDISK(stored))
	{
		memcpy(site->pointer, stored, TOAST_POINTER_SIZE);
		site->by_pointer = true;
	}
	return site;
}

/* ---- real[] ---- */

static void
reject_large(const prepared_encoder *encoder, Size dimension, double x)
{
	Size		i = encoder->view.features - 1;
	const char *name;

	while (encoder->view.feature[i].first > dimension)
		i--;
	name = encoder->names[encoder->view.feature[i].column];
	ereport(ERROR, errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			errmsg("%s is encoded as %g, out of range for real",
				   encoder->paths[i].label, x),
			encoder->view.feature[i].kind != FC_FEATURE_NUMBER
			? errhint("Divide it by a constant.")
			: errhint("Train with its logarithm: %s.",
					  options_for_both(column_option("transform", name,
													 "\"log\""))));
}

static Datum
single_precision(const prepared_encoder *encoder, const double *x)
{
	Size		d = encoder->view.dim;
	float	   *to;
	Datum		array = empty_float4_array((int) d, &to);

	for (Size i = 0; i < d; i++)
	{
		to[i] = (float) x[i];
		if (unlikely(!isfinite(to[i])))
			reject_large(encoder, i, x[i]);
	}
	return array;
}

/*
 * (encoder, row record, scaled): returns the coordinates, or NULL if the row
 * is skipped.
 */
PG_FUNCTION_INFO_V1(fastclust_encode_row);
Datum
fastclust_encode_row(PG_FUNCTION_ARGS)
{
	encoder_site *site = site_of(fcinfo);

	if (!encode_record(site->encoder, &site->record,
					   PG_GETARG_HEAPTUPLEHEADER(1), PG_GETARG_BOOL(2),
					   site->x))
		PG_RETURN_NULL();
	return single_precision(site->encoder, site->x);
}

/* ---- double precision[], for the scans of train ---- */

/*
 * (encoder, scaled, row record): returns the coordinates, or NULL if the row
 * is skipped.
 */
PG_FUNCTION_INFO_V1(fastclust_encode_record);
Datum
fastclust_encode_record(PG_FUNCTION_ARGS)
{
	encoder_site *site = site_of(fcinfo);
	double	   *x;
	Datum		array = empty_float8_array((int) site->encoder->view.dim, &x);

	if (!encode_record(site->encoder, &site->record,
					   PG_GETARG_HEAPTUPLEHEADER(2), PG_GETARG_BOOL(1), x))
		PG_RETURN_NULL();
	return array;
}

/*
 * (encoder, scaled, VARIADIC columns): returns the coordinates, or NULL if the
 * row is skipped.
 */
PG_FUNCTION_INFO_V1(fastclust_encode_listed);
Datum
fastclust_encode_listed(PG_FUNCTION_ARGS)
{
	encoder_site *site;
	double	   *x;
	Datum		array;

	if (PG_ARGISNULL(0) || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	site = site_of(fcinfo);
	array = empty_float8_array((int) site->encoder->view.dim, &x);
	if (site->listed.readers == NULL)
		make_listed_reader(fcinfo, 2, site->encoder, site->context,
						   &site->listed);
	if (!encode_listed(fcinfo, site->encoder, &site->listed, PG_GETARG_BOOL(1),
					   x))
		PG_RETURN_NULL();
	return array;
}

/* missing_fn.c - indicators of NULL: an encoder with some, which of them tell rows apart, and rows without the others */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"

#include "encode/encoder.h"
#include "kmeans/missing.h"
#include "operator/operator.h"
#include "pg/base/arguments.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/encode/encode.h"
#include "pg/operator/operator_value.h"

#define MIN_COMPLETE	400

/* flag (features): those that are listed, from 1 on; returns how many. */
static Size
read_flags(ArrayType *list, const fc_encoder *encoder, bool *flag)
{
	Datum	   *numbers;
	bool	   *nulls;
	int			count;
	Size		flags = 0;

	deconstruct_array(list, INT4OID, sizeof(int32), true, TYPALIGN_INT, &numbers, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		int32		number = nulls[i] ? 0 : DatumGetInt32(numbers[i]);
		const fc_encoder_feature *feature;

		check_count("a feature", number, 1, (int64) encoder->features);
		feature = &encoder->feature[number - 1];
		if (feature->kind == FC_FEATURE_CATEGORY || feature->missing)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("feature %d is a %s, whose NULLs have a dimension", number, feature_kind_name(feature->kind))));
		flags += !flag[number - 1];
		flag[number - 1] = true;
	}
	return flags;
}

/* (encoder, features integer[]): with an indicator of NULL for these features. */
SQL_FUNCTION(fastclust_flagged_encoder)
{
	const fc_encoder_header *header = ENCODER_ARG(0);
	fc_encoder	view;
	fc_encoder_header *flagged;
	bool	   *flag;
	Size		flags;
	Size		size;

	fc_encoder_view(header, &view);
	flag = palloc0(view.features * sizeof(bool));
	flags = read_flags(PG_GETARG_ARRAYTYPE_P(1), &view, flag);
	check_count("the dimension", (int64) (view.dim + flags), 1, FC_MAX_DIM);
	size = VARSIZE(header) + fc_encoder_flags_size(flags);
	check_budget(size, "an encoder");
	flagged = palloc(size);
	fc_encoder_flag_nulls(header, VARSIZE(header), flag, flagged);
	SET_VARSIZE(flagged, size);
	Assert(fc_encoder_check(flagged, size) == FC_OK);
	PG_RETURN_POINTER(flagged);
}

/* The centroids of op, which are rows by the encoder, the features with an indicator, and how many these are. */
static float *
read_rows(const fc_encoder *encoder, fc_operator *op, account *memory, fc_missing_column **columns, int32 **numbers, Size *count)
{
	fc_missing_column *column = *columns = palloc(encoder->features * sizeof(fc_missing_column));
	int32	   *number = *numbers = palloc(encoder->features * sizeof(int32));

	check_count("the dimension of the rows", (int64) op->d, (int64) encoder->dim, (int64) encoder->dim);
	*count = 0;
	for (Size i = 0; i < encoder->features; i++)
	{
		const fc_encoder_feature *feature = &encoder->feature[i];
		Size		values = fc_feature_values(feature);

		if (feature->kind == FC_FEATURE_CATEGORY || !feature->missing)
			continue;
		column[*count] = (fc_missing_column) {feature->first, values, feature->first + values};
		number[(*count)++] = (int32) i + 1;
	}
	hold(memory, op->k * op->d * sizeof(float));
	return expanded_rows(op);
}

/* (encoder, rows fastop, seed): the features with an indicator that tells something, by rows in units and in random order. */
SQL_FUNCTION(fastclust_informative_nulls)
{
	account		memory = {"informative_nulls"};
	fc_encoder	encoder;
	fc_operator op;
	fc_arena	arena;
	fc_missing_column *column;
	int32	   *number;
	bool	   *informative;
	Datum	   *found;
	Size		count;
	int			n = 0;
	float	   *x;

	fc_encoder_view(ENCODER_ARG(0), &encoder);
	open_operator(OPERATOR_ARG(1), &op);
	x = read_rows(&encoder, &op, &memory, &column, &number, &count);
	informative = palloc0(count * sizeof(bool));
	found = palloc(count * sizeof(Datum));
	arena = hold_arena(&memory);
	fc_missing_informative(x, op.k, op.d, column, count, encoder.features, (uint64) PG_GETARG_INT64(2), &arena, informative);
	release_arena(&arena);
	for (Size i = 0; i < count; i++)
		if (informative[i])
			found[n++] = Int32GetDatum(number[i]);
	PG_RETURN_POINTER(construct_array(found, n, INT4OID, sizeof(int32), true, TYPALIGN_INT));
}

/* Row x by encoder `from`, whose features may have indicators that those of `to` have not, in the units of `to`. */
static void
write_row(const fc_encoder *from, const fc_encoder *to, const float *x, double *y)
{
	for (Size i = 0; i < to->features; i++)
		for (Size j = 0; j < to->feature[i].width; j++)
		{
			Size		there = from->feature[i].first + j;
			Size		here = to->feature[i].first + j;

			y[here] = (x[there] * from->scale[there] + from->center[there] - to->center[here]) / to->scale[here];
		}
}

/* Has the row all cells of the columns that are not kept? */
static bool
is_complete(const float *x, const fc_missing_column *column, Size count, const bool *kept)
{
	for (Size c = 0; c < count; c++)
		if (!kept[c] && x[column[c].indicator] > 0.0f)
			return false;
	return true;
}

/*
 * (flagged encoder, encoder, rows fastop by the first): rows by the second as they may be without NULLs, but for its indicators.  Where a
 * tenth of the rows is complete, and MIN_COMPLETE are, these alone: cells of donors blur the clusters of few columns.
 */
SQL_FUNCTION(fastclust_imputed_rows)
{
	account		memory = {"imputed_rows"};
	fc_encoder	flagged;
	fc_encoder	encoder;
	fc_operator op;
	fc_arena	arena;
	fc_missing_column *column;
	int32	   *number;
	bool	   *kept;
	Size		count;
	float	   *x;
	float	   *imputed;
	double	   *rows;
	double	   *weights;
	Size		complete = 0;
	Size		n = 0;
	bool		few;

	fc_encoder_view(ENCODER_ARG(0), &flagged);
	fc_encoder_view(ENCODER_ARG(1), &encoder);
	open_operator(OPERATOR_ARG(2), &op);
	x = read_rows(&flagged, &op, &memory, &column, &number, &count);
	kept = palloc(flagged.features * sizeof(bool));
	for (Size c = 0; c < count; c++)
		kept[c] = encoder.feature[number[c] - 1].missing;
	hold(&memory, op.k * (op.d * sizeof(float) + (encoder.dim + 1) * sizeof(double)));
	imputed = palloc_extended(op.k * op.d * sizeof(float), MCXT_ALLOC_HUGE);
	rows = palloc_extended(op.k * encoder.dim * sizeof(double), MCXT_ALLOC_HUGE);
	weights = palloc_extended(op.k * sizeof(double), MCXT_ALLOC_HUGE);
	arena = hold_arena(&memory);
	fc_missing_impute(x, op.k, op.d, column, count, kept, imputed, &arena);
	release_arena(&arena);
	for (Size i = 0; i < op.k; i++)
		complete += is_complete(x + i * op.d, column, count, kept);
	few = complete < MIN_COMPLETE || complete < op.k / 10;
	for (Size i = 0; i < op.k; i++)
		if (few || is_complete(x + i * op.d, column, count, kept))
		{
			write_row(&flagged, &encoder, imputed + i * op.d, rows + n * encoder.dim);
			weights[n++] = op.weights[i];
		}
	PG_RETURN_POINTER(make_codebook(rows, weights, n, encoder.dim));
}

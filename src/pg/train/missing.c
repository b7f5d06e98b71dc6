/* missing.c - indicators of NULL: an encoder with some, which of them tell rows apart, and rows without the others */
#include "postgres.h"

#include "encode/encoder.h"
#include "kmeans/missing.h"
#include "operator/operator.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/encode/encode.h"
#include "pg/operator/operator_value.h"
#include "pg/train/train.h"

#define MIN_COMPLETE	400

fc_encoder_header *
flagged_encoder(const fc_encoder_header *header, const bool *flag)
{
	fc_encoder	view;
	fc_encoder_header *flagged;
	Size		flags = 0;
	Size		size;

	fc_encoder_view(header, &view);
	for (Size i = 0; i < view.features; i++)
		flags += flag[i];
	size = VARSIZE(header) + fc_encoder_flags_size(flags);
	check_budget(size, "an encoder");
	flagged = palloc(size);
	fc_encoder_flag_nulls(header, VARSIZE(header), flag, flagged);
	SET_VARSIZE(flagged, size);
	Assert(fc_encoder_check(flagged, size) == FC_OK);
	return flagged;
}

/* The centroids of op, which are rows by the encoder, the features with an indicator, and how many these are. */
static float *
read_rows(const fc_encoder *encoder, fc_operator *op, account *memory, fc_missing_column **columns, Size **numbers, Size *count)
{
	fc_missing_column *column = *columns = palloc(encoder->features * sizeof(fc_missing_column));
	Size	   *number = *numbers = palloc(encoder->features * sizeof(Size));

	*count = 0;
	for (Size i = 0; i < encoder->features; i++)
	{
		const fc_encoder_feature *feature = &encoder->feature[i];
		Size		values = fc_feature_values(feature);

		if (feature->kind == FC_FEATURE_CATEGORY || !feature->missing)
			continue;
		column[*count] = (fc_missing_column) {feature->first, values, feature->first + values};
		number[(*count)++] = i;
	}
	hold(memory, op->k * op->d * sizeof(float));
	return expanded_rows(op);
}

bool *
informative_nulls(const fc_encoder_header *flagged, const fc_operator_header *rows, int64 seed)
{
	account		memory = {"the NULLs of a sample"};
	fc_encoder	encoder;
	fc_operator op;
	fc_arena	arena;
	fc_missing_column *column;
	Size	   *number;
	Size		count;
	bool	   *informative;
	bool	   *found;
	float	   *x;

	fc_encoder_view(flagged, &encoder);
	open_operator(rows, &op);
	x = read_rows(&encoder, &op, &memory, &column, &number, &count);
	informative = palloc0(count * sizeof(bool));
	found = palloc0(encoder.features * sizeof(bool));
	arena = hold_arena(&memory);
	check_status(fc_missing_informative(x, op.k, op.d, column, count, encoder.features, (uint64) seed, &arena, informative));
	release_arena(&arena);
	for (Size i = 0; i < count; i++)
		found[number[i]] = informative[i];
	return found;
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

/* Where a tenth of the rows is complete, and MIN_COMPLETE are, these alone: cells of donors blur the clusters of few columns. */
fc_operator_header *
imputed_rows(const fc_encoder_header *from, const fc_encoder_header *to, const fc_operator_header *sample)
{
	account		memory = {"rows without NULLs"};
	fc_encoder	flagged;
	fc_encoder	encoder;
	fc_operator op;
	fc_arena	arena;
	fc_missing_column *column;
	Size	   *number;
	bool	   *kept;
	Size		count;
	float	   *x;
	float	   *imputed;
	double	   *rows;
	double	   *weights;
	Size		complete = 0;
	Size		n = 0;
	bool		few;

	fc_encoder_view(from, &flagged);
	fc_encoder_view(to, &encoder);
	open_operator(sample, &op);
	x = read_rows(&flagged, &op, &memory, &column, &number, &count);
	kept = palloc(flagged.features * sizeof(bool));
	for (Size c = 0; c < count; c++)
		kept[c] = encoder.feature[number[c]].missing;
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
	return make_codebook(rows, weights, n, encoder.dim);
}

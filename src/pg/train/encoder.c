/*
 * encoder.c - learns the encoder of a training from a sample, with indicator
 * dimensions for informative NULLs; warnings about columns
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "kmeans/evidence.h"
#include "kmeans/missing.h"
#include "pg/base/memory.h"
#include "pg/base/progress.h"
#include "pg/encode/encode.h"
#include "pg/operator/operator_value.h"
#include "pg/train/checks.h"
#include "pg/train/columns.h"
#include "pg/train/encoder.h"
#include "pg/train/options.h"
#include "pg/train/options_json.h"
#include "pg/train/query.h"
#include "pg/train/relation.h"
#include "pg/train/sample.h"
#include "pg/train/source.h"
#include "pg/train/texts.h"

/*
 * Number of values in a sample with NULL indicators, which has 1,000 to 8,000
 * rows. With more values, the choice of indicators is more certain and takes
 * more time. A guess.
 */
#define SAMPLED_NUMBERS	4e6

/*
 * Minimum number of complete rows needed to leave out incomplete ones. A
 * guess.
 */
#define MIN_COMPLETE_ROWS	400

/*
 * Maximum number of columns in a call of num_nulls: a function takes up to 100
 * arguments.
 */
#define MAX_ARGUMENTS	98

/*
 * Share of rows in category "other" above which a warning is raised. A guess.
 */
#define MAX_OTHER_SHARE	0.9

/*
 * Maximum number of distinct values for a number column, such as a flag or a
 * rating, to count as a category in a density. With a larger number, a column
 * of few distinct measurements counts as a rating. A guess.
 */
#define FEW_VALUES	10

/*
 * Minimum mean number of rows per distinct value for a number column to count
 * as a category. A guess.
 */
#define ROWS_OF_FEW_VALUES	20

/*
 * Minimum number of distinct values that one column must have for columns of
 * few values to count as categories. In a table without such a column, the few
 * values determine the clusters. A guess.
 */
#define MANY_VALUES	100

static fc_encoder
encoder_of_source(const train_source *source)
{
	fc_encoder	encoder;

	fc_encoder_view((const fc_encoder_header *) source->encoder, &encoder);
	return encoder;
}

/* ---- NULLs of the sample ---- */

static double
null_share(const fc_encoder *encoder, Size i)
{
	return (double) encoder->feature[i].nulls_seen / (double) encoder->rows;
}

/*
 * Returns true if the mean replaces NULLs of feature i: NULLs are imputed, the
 * feature is not a category, and some of the rows, but not all, are NULL.
 */
static bool
is_imputed(const fc_encoder *encoder, Size i)
{
	const fc_encoder_feature *feature = &encoder->feature[i];

	return feature->nulls_seen > 0 && feature->nulls_seen < encoder->rows &&
		feature->nulls == FC_NULLS_IMPUTE &&
		feature->kind != FC_FEATURE_CATEGORY;
}

/* ---- indicators of NULL (core/kmeans/missing.h) ---- */

/*
 * Returns the encoder with a NULL indicator added to each flagged feature. A
 * flagged feature must not be a category, nor have an indicator already.
 * Returns NULL if there would be too many dimensions.
 */
static fc_encoder_header *
flagged_encoder(const fc_encoder_header *header, const bool *flag)
{
	fc_encoder	view;
	fc_encoder_header *flagged;
	Size		flags = 0;
	Size		size;

	fc_encoder_view(header, &view);
	for (Size i = 0; i < view.features; i++)
		flags += flag[i];
	if (view.dim + flags > FC_MAX_DIM)
		return NULL;
	size = VARSIZE(header) + fc_encoder_flags_size(flags);
	check_budget(size, "an encoder");
	flagged = palloc(size);
	fc_encoder_flag_nulls(header, VARSIZE(header), flag, flagged);
	SET_VARSIZE(flagged, size);
	Assert(fc_encoder_check(flagged, size) == FC_OK);
	return flagged;
}

/* Encoded rows with indicators of NULL. */
typedef struct indicated_rows
{
	float	   *values;			/* n x d values, a copy of the rows */
	Size		count;			/* number of features with an indicator,
								 * categories excluded */
	fc_missing_column *column;	/* dimensions of each feature with an
								 * indicator */
	Size	   *number;			/* index of each feature with an indicator */
} indicated_rows;

static indicated_rows
read_rows(const fc_encoder *encoder, const fc_weighted_rows *rows, memory_account *memory)
{
	Size		bytes = rows->n * rows->d * sizeof(float);
	indicated_rows read = {
		.column = palloc(encoder->features * sizeof(fc_missing_column)),
		.number = palloc(encoder->features * sizeof(Size))
	};

	for (Size i = 0; i < encoder->features; i++)
	{
		const fc_encoder_feature *feature = &encoder->feature[i];
		Size		values = fc_feature_values(feature);

		if (feature->kind == FC_FEATURE_CATEGORY || !feature->missing)
			continue;
		read.column[read.count] = (fc_missing_column)
		{
			feature->first, values,
				feature->first + values
		};
		read.number[read.count++] = i;
	}
	charge_memory(memory, bytes);
	read.values = memcpy(alloc_large(bytes), rows->values, bytes);
	return read;
}

/*
 * Returns one flag per feature, true if its NULLs are informative: they depend
 * on the other values of the row (core/kmeans/missing.h). The rows must be
 * scaled and in random order.
 */
static bool *
informative_nulls(const fc_encoder_header *flagged,
				  const fc_weighted_rows *rows, int64 seed)
{
	memory_account memory = {"counting the NULLs of a sample"};
	fc_encoder	encoder;
	fc_arena	arena;
	indicated_rows read;
	bool	   *informative;
	bool	   *found;

	fc_encoder_view(flagged, &encoder);
	read = read_rows(&encoder, rows, &memory);
	informative = palloc0(read.count * sizeof(bool));
	found = palloc0(encoder.features * sizeof(bool));
	arena = charged_arena(&memory);
	fc_missing_informative(read.values, rows->n, rows->d, read.column, read.count,
						   encoder.features, (uint64) seed, &arena, informative);
	release_arena(&arena);
	for (Size i = 0; i < read.count; i++)
		found[read.number[i]] = informative[i];
	return found;
}

/*
 * Converts row x, encoded and scaled by the encoder `from`, to row y of the
 * encoder `to`. Both encoders have the same features, but `to` may have fewer
 * indicators.
 */
static void
write_row(const fc_encoder *from, const fc_encoder *to, const float *x,
		  double *y)
{
	for (Size i = 0; i < to->features; i++)
		for (Size j = 0; j < to->feature[i].width; j++)
		{
			Size		there = from->feature[i].first + j;
			Size		here = to->feature[i].first + j;

			y[here] = (x[there] * from->scale[there] + from->center[there] -
					   to->center[here]) /
				to->scale[here];
		}
}

/*
 * Returns true if each NULL of row x is in a column whose indicator is kept.
 * kept: one flag for each column that has an indicator.
 */
static bool
is_complete(const float *x, const indicated_rows *read, const bool *kept)
{
	for (Size c = 0; c < read->count; c++)
		if (!kept[c] && x[read->column[c].indicator] > 0.0f)
			return false;
	return true;
}

/*
 * Converts rows of encoder `from`, which has an indicator for each column with
 * NULLs, to rows of encoder `to`, and imputes their NULLs. If a tenth of the
 * rows, and at least MIN_COMPLETE_ROWS, are complete, only these are returned,
 * because imputed values blur clusters if there are few columns.
 */
static const fc_weighted_rows *
imputed_rows(const fc_encoder_header *from, const fc_encoder_header *to,
			 const fc_weighted_rows *sample)
{
	memory_account memory = {"selecting the rows without NULLs"};
	fc_encoder	flagged;
	fc_encoder	encoder;
	Size		d = sample->d;
	fc_arena	arena;
	indicated_rows read;
	bool	   *kept;
	float	   *imputed;
	double	   *rows;
	double	   *weights;
	Size		complete = 0;
	Size		n = 0;
	bool		few;

	fc_encoder_view(from, &flagged);
	fc_encoder_view(to, &encoder);
	read = read_rows(&flagged, sample, &memory);
	kept = palloc(flagged.features * sizeof(bool));
	for (Size c = 0; c < read.count; c++)
		kept[c] = encoder.feature[read.number[c]].missing;
	announce_work(psprintf("imputing NULLs of %zu rows takes", sample->n),
				  fc_missing_impute_operations(sample->n, d), false,
				  "Lower option sample_rows");
	charge_memory(&memory,
				  sample->n * (d * sizeof(float) + (encoder.dim + 1) * sizeof(double)));
	imputed = alloc_large(sample->n * d * sizeof(float));
	rows = alloc_large(sample->n * encoder.dim * sizeof(double));
	weights = alloc_large(sample->n * sizeof(double));
	arena = charged_arena(&memory);
	fc_missing_impute(read.values, sample->n, d, read.column, read.count, kept, imputed, &arena);
	release_arena(&arena);
	for (Size i = 0; i < sample->n; i++)
		complete += is_complete(read.values + i * d, &read, kept);
	few = complete < MIN_COMPLETE_ROWS || complete < sample->n / 10;
	for (Size i = 0; i < sample->n; i++)
		if (few || is_complete(read.values + i * d, &read, kept))
		{
			write_row(&flagged, &encoder, imputed + i * d,
					  rows + n * encoder.dim);
			weights[n++] = sample->weights[i];
		}
	return rows_of_operator(make_codebook(rows, weights, n, encoder.dim));
}

/* Returns a scaled sample of rows, encoded with indicators. */
static const fc_weighted_rows *
flagged_rows(const training *t, const fc_encoder_header *flagged)
{
	train_source source = t->source;
	double		wanted = Min(8000, Max(1000, SAMPLED_NUMBERS / flagged->dim));

	use_encoder(&source, flagged);
	return rescaled_rows(source.unit != NULL
						 ? sample_of_units(t, &source, flagged->dim, unit_halves, wanted)
						 : sample_of_source(t, &source, flagged->dim, wanted),
						 no_scaling, encoder_scaling(&source));
}

static void
report_indicators(const training *t, const fc_encoder *encoder,
				  const bool *found)
{
	StringInfoData names;
	int			count = 0;

	initStringInfo(&names);
	for (Size i = 0; i < encoder->features; i++)
		if (found[i])
			appendStringInfo(&names, "%s\"%s\"", count++ > 0 ? ", " : "",
							 feature_name(encoder, &encoder->feature[i]));
	if (count > 0 && t->model_id != 0 && !t->options->quiet)
		ereport(NOTICE,
				errmsg("NULLs of %s distinguish groups of rows: %s", names.data,
					   count == 1 ? "they have a dimension of their own"
					   : "they have dimensions of their own"),
				errhint("To train without such dimensions, use the option nulls: '{\"encoder\": {\"nulls\": \"impute\"}}'."));
}

/*
 * Returns the encoder with a NULL indicator, a dimension of its own, for each
 * feature with imputed NULLs that are informative (core/kmeans/missing.h).
 * Features that option nulls names are excepted. Returns `learned` if no
 * feature qualifies for a test, or if the dimensions would be too many.
 */
static fc_encoder_header *
with_indicators(const training *t, fc_encoder_header *learned)
{
	fc_encoder	encoder;
	bool	   *flag;
	bool	   *found;
	fc_encoder_header *flagged;

	fc_encoder_view(learned, &encoder);
	flag = palloc0(encoder.features * sizeof(bool));
	for (Size i = 0; i < encoder.features; i++)
		flag[i] = is_imputed(&encoder, i) &&
			!names_feature(t->options, "nulls", feature_name(&encoder, &encoder.feature[i]));
	flagged = flagged_encoder(learned, flag);
	if (flagged == NULL || flagged->dim == learned->dim)
		return learned;
	found = informative_nulls(flagged, flagged_rows(t, flagged),
							  t->options->seed);
	report_indicators(t, &encoder, found);
	return flagged_encoder(learned, found);
}

/* ---- columns without weight in a density ---- */

/* Returns the number of distinct values in a column of the sample. */
static Size
distinct_values(const fc_weighted_rows *sample, Size column, double *sorted)
{
	Size		count = sample->n > 0;

	for (Size i = 0; i < sample->n; i++)
		sorted[i] = (double) sample->values[i * sample->d + column];
	qsort(sorted, sample->n, sizeof(double), ascending);
	for (Size i = 1; i < sample->n; i++)
		count += sorted[i] > sorted[i - 1];
	return count;
}

static bool
is_plain_number(const fc_encoder_feature *feature)
{
	return feature->kind == FC_FEATURE_NUMBER && feature->cycle == FC_CYCLE_NONE;
}

/*
 * Flags number columns of few values, such as ratings and flags stored as
 * integers, if another number column of the table has many values. The few
 * values are categories for a density, because no row lies between two of
 * them.
 */
static void
flag_few_values(const training *t, const fc_encoder_header *learned,
				const fc_encoder *encoder, bool *flag)
{
	const fc_weighted_rows *sample;
	double	   *sorted;
	bool		many = false;
	Size		numbers = 0;

	for (Size i = 0; i < encoder->features; i++)
		numbers += is_plain_number(&encoder->feature[i]);
	if (numbers < 2)
		return;
	sample = flagged_rows(t, learned);
	sorted = palloc(sample->n * sizeof(double));
	for (Size i = 0; i < encoder->features; i++)
	{
		const fc_encoder_feature *feature = &encoder->feature[i];
		Size		count;

		if (!is_plain_number(feature))
			continue;
		count = distinct_values(sample, feature->first, sorted);
		many = many || count > MANY_VALUES || 2 * count > sample->n;
		flag[i] = count <= FEW_VALUES && ROWS_OF_FEW_VALUES * count <= sample->n;
	}
	for (Size i = 0; i < encoder->features; i++)
		flag[i] = flag[i] && many;
}

/*
 * Called for method density: gives categories and number columns of few values
 * the minimum weight, unless option weight names them. With their usual
 * weight, each category would be a dense region, although a gap between two
 * categories is no evidence for two clusters: no row can lie between them. If
 * all columns are categories, they keep their weights.
 */
static void
mute_categories(const training *t, fc_encoder_header *learned)
{
	fc_encoder	encoder;
	bool	   *flag;
	StringInfoData names;
	const char *example = NULL; /* name of a column that gets the minimum
								 * weight, an example for the hint */
	Size		muted = 0;

	initStringInfo(&names);
	fc_encoder_view(learned, &encoder);
	flag = palloc0(encoder.features * sizeof(bool));
	flag_few_values(t, learned, &encoder, flag);
	for (Size i = 0; i < encoder.features; i++)
	{
		const fc_encoder_feature *feature = &encoder.feature[i];
		char	   *name = feature_name(&encoder, feature);

		flag[i] = (flag[i] || feature->kind == FC_FEATURE_CATEGORY ||
				   feature->kind == FC_FEATURE_BOOLEAN) &&
			!names_feature(t->options, "weight", name);
		if (!flag[i])
			continue;
		appendStringInfo(&names, "%s\"%s\"", muted++ > 0 ? ", " : "", name);
		example = column_of_feature(&encoder, feature);
	}
	if (muted == encoder.features)
		ereport(WARNING,
				errmsg("all columns of model \"%s\" are categories: method density finds few clusters, because no row lies between two categories",
					   t->model),
				errhint("Use method kmeans."));
	if (muted == 0 || muted == encoder.features)
		return;
	fc_encoder_mute(learned, VARSIZE(learned), flag);
	if (t->model_id != 0 && !t->options->quiet)
		ereport(NOTICE,
				errmsg("categories and numbers of few values do not count in the density of rows: clusters do not depend on %s",
					   names.data),
				errhint("To make each value a separate region, give the column a weight: %s.",
						column_option("weight", example, "1")));
}

bool *
null_dimensions(const train_source *source)
{
	fc_encoder	encoder;
	bool	   *found;

	if (source->encoder == NULL)
		return NULL;
	encoder = encoder_of_source(source);
	found = palloc0(encoder.dim * sizeof(bool));
	for (Size i = 0; i < encoder.features; i++)
	{
		const fc_encoder_feature *feature = &encoder.feature[i];

		if (feature->missing && feature->kind != FC_FEATURE_CATEGORY)
			found[feature->first + feature->width - 1] = true;
	}
	return found;
}

const char *
features_of_few_values(const training *t, const fc_weighted_rows *rows)
{
	StringInfoData names;
	fc_encoder	encoder;
	int			count = 0;

	if (t->source.encoder == NULL)
		return NULL;
	initStringInfo(&names);
	encoder = encoder_of_source(&t->source);
	for (Size i = 0; i < encoder.features; i++)
	{
		const fc_encoder_feature *feature = &encoder.feature[i];
		float		values[FC_FEW_VALUES];

		if (feature->kind == FC_FEATURE_CATEGORY || feature->kind == FC_FEATURE_BOOLEAN ||
			(feature->kind == FC_FEATURE_NUMBER &&
			 fc_few_values(rows->values, rows->n, rows->d, feature->first, values) > 0))
			appendStringInfo(&names, "%s%s", count++ > 0 ? ", " : "",
							 feature_name(&encoder, feature));
	}
	return count > 0 && count < encoder.features ? names.data : NULL;
}

const fc_weighted_rows *
rows_without_nulls(const training *t, const fc_weighted_rows *sample)
{
	const fc_encoder_header *header = ((const fc_encoder_header *)
									   t->source.encoder);
	fc_encoder	encoder = {0};
	fc_encoder_header *flagged;
	bool	   *flag;
	bool		gaps = false;

	if (header != NULL)
		fc_encoder_view(header, &encoder);
	flag = palloc0(encoder.features * sizeof(bool));
	for (Size i = 0; i < encoder.features; i++)
	{
		gaps = gaps || is_imputed(&encoder, i);
		flag[i] = is_imputed(&encoder, i) && !encoder.feature[i].missing;
	}
	flagged = gaps ? flagged_encoder(header, flag) : NULL;
	return flagged == NULL ? rescaled_rows(sample, no_scaling, t->scaling)
		: imputed_rows(flagged, header, flagged_rows(t, flagged));
}

/*
 * Returns the SQL condition that a row has no NULL in an imputed column.
 * Imputed rows pull centroids to places between clusters, so clusters are also
 * searched in complete rows. Returns NULL, so that samples take all rows, if
 * no column is imputed, if there are too few complete rows, or with groups.
 */
static char *
complete_rows(const training *t)
{
	const train_source *source = &t->source;
	fc_encoder	encoder = encoder_of_source(source);
	StringInfoData gaps;
	char	   *query;
	int64		complete;

	initStringInfo(&gaps);
	for (Size i = 0; i < encoder.features; i++)
	{
		const fc_encoder_feature *feature = &encoder.feature[i];

		if (feature->nulls_seen > 0 && feature->nulls == FC_NULLS_IMPUTE &&
			!feature->missing && feature->path.length == 0)
			appendStringInfo(&gaps, "%st.%s", gaps.len > 0 ? ", " : "",
							 quote_identifier(feature_name(&encoder, feature)));
	}
	if (gaps.len == 0 || source->group_by != NULL ||
		source->feature_count > MAX_ARGUMENTS || t->model_id == 0)
		return NULL;
	query = psprintf("SELECT count(*) FILTER (WHERE num_nulls(%s) = 0) %s", gaps.data,
					 rows_from(source, some_rows(t, 8 * wanted_rows(t)), NULL));
	complete = DatumGetInt64(query_datum(query, 0, NULL, scan_flags(source), NULL));
	return (double) complete >= Max(MIN_COMPLETE_ROWS, 20.0 * t->k)
		? psprintf("num_nulls(%s) = 0", gaps.data)
		: NULL;
}

/* ---- learning ---- */

/*
 * Returns the options of encoder_agg. A retrain keeps the time zone of cyclic
 * columns, unless the options have another one.
 */
static Jsonb *
settings_of_encoder(const training *t, const fc_encoder_header *before)
{
	Jsonb	   *settings = encoder_settings(t->options, before != NULL);
	fc_encoder	view = {0};

	if (before != NULL)
		fc_encoder_view(before, &view);
	for (Size i = 0; i < view.features; i++)
	{
		const fc_encoder_feature *feature = &view.feature[i];

		if (feature->kind == FC_FEATURE_TIMESTAMP && feature->type.length > 0 &&
			names_feature(t->options, "cyclic", feature_name(&view, feature)))
			return joined(with_text_option(json_of_text("{}"), "zone",
										   encoder_text(&view, feature->type)),
						  settings);
	}
	return settings;
}

/*
 * Learns the encoder from the rows of a FROM clause; returns NULL if there are
 * no rows. An existing encoder keeps its time zone and, unless the columns
 * have changed, its dimensions. To find its categories again, more categories
 * than it has are requested from encoder_agg. Rows of a weight below
 * min_weight count as if they had this weight.
 */
static fc_encoder_header *
encoder_of_rows(const training *t, const char *rows, double min_weight)
{
	ArrayType  *names = array_of_names(t->source.features,
									   t->source.feature_count);
	fc_encoder_header *before = (fc_encoder_header *) t->source.encoder;
	Jsonb	   *settings = settings_of_encoder(t, before);
	query_argument arguments[] = {
		{"_name", PointerGetDatum(names)},
		{"jsonb", JsonbPGetDatum(settings)}
	};
	bool		null;
	Datum		learned;

	learned = query_datum(t->source.weight == NULL
						  ? psprintf("SELECT encoder_agg(t.*, $1::text[], $2) %s", rows)
						  : psprintf("SELECT encoder_counts_agg(t.*, $1::text[], $2,"
									 " (greatest(%s, %.17g) * %.17g)::bigint) %s",
									 t->source.weight, min_weight, t->source.count_factor,
									 rows),
						  lengthof(arguments), arguments,
						  scan_flags(&t->source), &null);
	return null ? NULL
		: (fc_encoder_header *) renewed_encoder(aligned_value(learned),
												before);
}

void
learn_encoder(training *t)
{
	const train_source *source = &t->source;
	double		wanted = wanted_rows(t);
	double		min_weight = 0;
	const char *picked;
	const char *every;
	fc_encoder_header *learned;

	if (source->is_vector)
		return;
	picked = rows_from(source, some_rows(t, rows_to_read(source, wanted)), NULL);
	every = rows_from(source, all_rows, NULL);
	if (source->weight != NULL && t->estimate > 3 * wanted)
	{
		/* draw each row with a probability in proportion to its weight */
		min_weight = source->total_weight / wanted;
		picked = psprintf("%s AND %s >> 40 & 16777215 < %s * %.17g", picked, row_key(source),
						  source->weight, 16777216.0 / min_weight);
	}
	learned = encoder_of_rows(t, picked, min_weight);
	if (learned == NULL && strcmp(picked, every) != 0)
		learned = encoder_of_rows(t, every, 0);
	if (learned == NULL)
		reject_no_rows(t);
	if (!same_dimensions(learned, (fc_encoder_header *) source->encoder))
	{
		if (source->encoder != NULL)
			ereport(WARNING,
					errmsg("the columns of model \"%s\" have changed and are encoded again",
						   t->model),
					errdetail("There were %u dimensions, now there are %u.",
							  ((const fc_encoder_header *) source->encoder)->dim,
							  learned->dim));
		learned = with_indicators(t, learned);
	}
	if (t->method == METHOD_DENSITY)
		mute_categories(t, learned);
	use_encoder(&t->source, learned);
	t->source.observed = t->method == METHOD_KMEANS && !t->source.cosine;
	t->source.complete = complete_rows(t);
}

/* ---- warnings ---- */

/*
 * Warns about columns that do not distinguish rows because they are NULL, have
 * a single value, or have too many or too long values. In a first training,
 * notices report categories that are numbers or times, and categories that
 * differ only in case or spaces.
 */
void
warn_useless_columns(const training *t, const fc_weighted_rows *sample,
					 const char *of_sample)
{
	fc_encoder	encoder = encoder_of_source(&t->source);
	double	   *mean = palloc(t->dim * sizeof(double));
	double	   *deviation = palloc(t->dim * sizeof(double));

	fc_weighted_moments(sample, mean, deviation);
	for (Size i = 0; i < encoder.features; i++)
	{
		const fc_encoder_feature *feature = &encoder.feature[i];
		double		other = (feature->kind == FC_FEATURE_CATEGORY && feature->other
							 ? mean[feature->first + feature->categories]
							 : 0);
		char	   *name = feature_name(&encoder, feature);
		double		widest = 0;
		text_values values;

		for (Size j = 0; j < feature->width; j++)
			widest = Max(widest, deviation[feature->first + j]);
		if (feature->kind != FC_FEATURE_CATEGORY && feature->missing)
			continue;
		if (null_share(&encoder, i) == 1)
			ereport(WARNING,
					errmsg("column \"%s\" is NULL in every row%s: leave it out",
						   name, of_sample));
		else if (other > MAX_OTHER_SHARE)
			ereport(WARNING,
					errmsg("column \"%s\" has too many or too long values to distinguish rows: %.0f %% of the rows count as \"other\"",
						   name, floor(100 * other)),
					!read_text_values(t, &encoder, feature, &values)
					? errhint("Leave out names and identifiers. Of longer texts, make embeddings or tf-idf vectors.")
					: errhint("If its texts are %s, cluster a view with %s AS %s; leave out identifiers.",
							  values.what, values.expression, quote_identifier(name)));
		else if (widest == 0)
			ereport(WARNING,
					errmsg("column \"%s\" is %sthe same in every row%s: it does not distinguish rows",
						   name, feature->nulls_seen > 0 ? "NULL or " : "",
						   of_sample));
		else if (!t->again && !t->options->quiet)
			notice_texts(t, &encoder, feature);
	}
}

/* Returns the shares of NULLs as "a 12.5 %, b 3.0 %", the largest first. */
static char *
shares_of_nulls(const fc_encoder *encoder)
{
	StringInfoData shares;
	bool	   *listed = palloc0(encoder->features * sizeof(bool));

	initStringInfo(&shares);
	for (;;)
	{
		int			max = -1;

		for (Size i = 0; i < encoder->features; i++)
			if (!listed[i] &&
				encoder->feature[i].nulls_seen >
				(max < 0 ? 0 : encoder->feature[max].nulls_seen))
				max = (int) i;
		if (max < 0)
			return shares.data;
		listed[max] = true;
		appendStringInfo(&shares, "%s%s %.1f %%", shares.len > 0 ? ", " : "",
						 feature_name(encoder, &encoder->feature[max]),
						 100 * null_share(encoder, (Size) max));
	}
}

/*
 * Reports that rows with a NULL were left out or imputed, and that zero
 * vectors were skipped.
 */
void
report_nulls(const training *t, int64 imputed, int64 n)
{
	fc_encoder	encoder;
	StringInfoData skipped;

	if (t->options->quiet)
		return;
	if (imputed > 0 && t->source.cosine)
		ereport(NOTICE,
				errmsg("%lld of %lld rows are zero vectors, which have no direction and are skipped",
					   (long long) imputed, (long long) (n + imputed)));
	if (t->source.encoder == NULL)
		return;
	encoder = encoder_of_source(&t->source);
	if (imputed > 0)
		ereport(NOTICE,
				t->source.observed
				? errmsg("%lld of %lld rows have a NULL, which does not count in their distances, or counts as \"missing\"",
						 (long long) imputed, (long long) n)
				: errmsg("%lld of %lld rows have a NULL, which counts as the mean of its column or as \"missing\"",
						 (long long) imputed, (long long) n),
				errdetail("Shares of NULL in a sample: %s.", shares_of_nulls(&encoder)),
				errhint("To leave out such rows, use the option nulls: '{\"encoder\": {\"nulls\": \"skip\"}}'."));
	initStringInfo(&skipped);
	for (Size i = 0; i < encoder.features; i++)
		if (encoder.feature[i].nulls_seen > 0 &&
			encoder.feature[i].nulls == FC_NULLS_SKIP)
			appendStringInfo(&skipped, "%s\"%s\"", skipped.len > 0 ? ", " : "",
							 feature_name(&encoder, &encoder.feature[i]));
	if (skipped.len > 0)
		ereport(NOTICE,
				errmsg("rows with a NULL in %s are left out: %lld rows remain, and about %.0f %% of the rows are left out",
					   skipped.data, (long long) n,
					   100 * (double) encoder.skipped / (double) encoder.rows),
				errdetail("Shares of NULL in a sample: %s.", shares_of_nulls(&encoder)));
}

const char *
column_of_other_texts(const training *t, const fc_weighted_rows *sample)
{
	fc_encoder	encoder;
	double	   *mean = palloc(t->dim * sizeof(double));
	double	   *deviation = palloc(t->dim * sizeof(double));

	if (t->source.encoder == NULL)
		return NULL;
	encoder = encoder_of_source(&t->source);
	fc_weighted_moments(sample, mean, deviation);
	for (Size i = 0; i < encoder.features; i++)
	{
		const fc_encoder_feature *feature = &encoder.feature[i];

		if (feature->kind == FC_FEATURE_CATEGORY && feature->other &&
			mean[feature->first + feature->categories] > 0.5)
			return feature_name(&encoder, feature);
	}
	return NULL;
}

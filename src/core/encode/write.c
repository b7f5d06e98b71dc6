/* write.c - the value of an encoder that was learned; see learn.h */
#include "encode/learn.h"

#include <math.h>
#include <string.h>

#define NORMAL_QUARTILES	1.3489795003921634	/* between those of the normal law of deviation 1 */
#define LEAST_SCALE			1e-150	/* less is rounding */

/* A value that is being written. */
typedef struct writer
{
	const fc_sample *sample;
	fc_arena   *arena;
	fc_encoder_column *column;	/* the next */
	fc_encoder_feature *feature;
	fc_encoder_category *category;
	double	   *center;			/* of the feature */
	double	   *scale;
	double	   *fill;
	char	   *text;
	size_t		text_used;
	size_t		columns;
	size_t		features;
	size_t		dim;
	size_t		categories;
} writer;

static uint32_t
write_text(writer *w, const char *text, size_t length)
{
	size_t		start = w->text_used;

	if (length > 0)
		memcpy(w->text + start, text, length);
	w->text_used += length;
	return (uint32_t) start;
}

/* All dimensions of the feature by one scale. */
static void
set_scale(writer *w, size_t width, double scale, double weight)
{
	for (size_t j = 0; j < width; j++)
		w->scale[j] = (scale > LEAST_SCALE ? scale : 1.0) / weight;
}

/* Means into center, deviations into scale, 0 without rows; the root of the sum of the variances. */
static double
moments(writer *w, const fc_learner *learner, size_t width)
{
	int64_t		n = learner->numbers + learner->booleans;
	double		total = 0.0;

	for (size_t j = 0; n > 0 && j < width; j++)
	{
		fc_exact_sum squares = learner->squares[j];
		double		variance;

		w->center[j] = fc_exact_value(&learner->sums[j]) / (double) n;
		fc_exact_center(&squares, &learner->sums[j], n, w->center[j]);
		variance = fmax(fc_exact_value(&squares) / (double) n, 0.0);
		w->scale[j] = sqrt(variance);
		total += variance;
	}
	return sqrt(total);
}

/* Numbers and vectors. */
static fc_status
write_numbers(writer *w, const fc_learner *learner, const fc_feature_choice *choice)
{
	static const double quartiles[3] = {0.25, 0.5, 0.75};
	double		found[3];
	double		scale = moments(w, learner, choice->width);

	if (choice->scaling == FC_SCALING_ROBUST && learner->values.total > 0)
	{
		fc_status	status = fc_tally_quantiles(&learner->values, quartiles, 3, w->arena, found);

		if (status != FC_OK)
			return status;
		w->center[0] = found[1];
		if (found[2] > found[0])
			scale = (found[2] - found[0]) / NORMAL_QUARTILES;
	}
	memcpy(w->fill, w->center, choice->width * sizeof(double));
	if (choice->scaling == FC_SCALING_NONE)
	{
		memset(w->center, 0, choice->width * sizeof(double));
		scale = 1.0;
	}
	if (choice->each)
		for (size_t j = 0; j < choice->width; j++)
			w->scale[j] = (w->scale[j] > LEAST_SCALE ? w->scale[j] : 1.0) / learner->weight;
	else
		set_scale(w, choice->width, scale, learner->weight);
	return FC_OK;
}

/* Shares of the categories, of others and of NULL; p (1 - p) together. */
static void
write_categories(writer *w, const fc_learner *learner, const fc_feature_choice *choice)
{
	const fc_tally *tally = &learner->categories;
	int64_t		rows = tally->total + (choice->missing ? learner->nulls_seen : 0);
	int64_t		others = tally->total;
	double		scale;
	double	   *share = w->center;

	for (size_t j = 0; j < choice->categories; j++)
	{
		const fc_tally_entry *entry = &tally->entry[choice->slots[j]];
		int64_t		count = fc_tally_count(tally, choice->slots[j]);

		w->category[j] = (fc_encoder_category) {write_text(w, tally->text + entry->start, entry->length), entry->length, count};
		others -= count < others ? count : others;
		*share++ = (double) count / (double) rows;
	}
	if (choice->other)
		*share++ = (double) others / (double) rows;
	if (choice->missing)
	{
		*share = (double) learner->nulls_seen / (double) rows;
		w->fill[share - w->center] = 1.0;
	}
	scale = fc_category_scale(w->center, choice->width);
	if (choice->scaling == FC_SCALING_NONE)
		memset(w->center, 0, choice->width * sizeof(double));
	set_scale(w, choice->width, choice->scaling == FC_SCALING_NONE ? 1.0 : scale, learner->weight);
}

static fc_status
write_feature(writer *w, size_t i, const fc_feature_choice *choice)
{
	const fc_learner *learner = &w->sample->learners[i];
	const fc_feature_name *name = &w->sample->names[i];
	fc_encoder_feature *feature = &w->feature[i];
	fc_status	status = FC_OK;

	*feature = (fc_encoder_feature) {.column = feature->column,.path_start = feature->path_start,.path_length = (uint32_t) name->path_length,
		.first = (uint32_t) w->dim,.width = (uint32_t) choice->width,.first_category = (uint32_t) w->categories,
		.categories = (uint32_t) choice->categories,.kind = (uint8_t) choice->kind,
		.log = learner->log && (choice->kind == FC_FEATURE_NUMBER || choice->kind == FC_FEATURE_INTERVAL),
		.scaling = (uint8_t) choice->scaling,.nulls = (uint8_t) learner->nulls,.other = choice->other,.missing = choice->missing,
		.weight = learner->weight,.nulls_seen = learner->nulls_seen};
	if (choice->kind == FC_FEATURE_CATEGORY)
		write_categories(w, learner, choice);
	else
		status = write_numbers(w, learner, choice);
	w->center += choice->width;
	w->scale += choice->width;
	w->fill += choice->width;
	w->category += choice->categories;
	w->dim += choice->width;
	w->categories += choice->categories;
	return status;
}

/* Names of columns, then paths. */
static void
write_names(writer *w)
{
	const fc_feature_name *names = w->sample->names;

	for (size_t i = 0; i < w->sample->features; i++)
	{
		if (i == 0 || names[i].name_length != names[i - 1].name_length ||
			memcmp(names[i].name, names[i - 1].name, names[i].name_length) != 0)
			w->column[w->columns++] = (fc_encoder_column) {write_text(w, names[i].name, names[i].name_length),
				(uint32_t) names[i].name_length, (uint32_t) i, 0};
		w->column[w->columns - 1].features++;
		w->feature[i].column = (uint32_t) (w->columns - 1);
	}
	for (size_t i = 0; i < w->sample->features; i++)
		w->feature[i].path_start = write_text(w, names[i].path, names[i].path_length);
}

fc_status
fc_encoder_write(const fc_sample *sample, const fc_encoder_choice *choice, fc_arena *arena,
				 fc_encoder_header *header)
{
	writer		w = {.sample = sample,.arena = arena};
	fc_status	status = FC_OK;

	memset(header, 0, choice->size);
	header->version = FC_ENCODER_VERSION;
	header->rows = sample->rows;
	header->skipped = sample->skipped;
	header->columns = (uint32_t) choice->columns;
	header->features = (uint32_t) sample->features;
	header->dim = (uint32_t) choice->dim;
	header->categories = (uint32_t) choice->categories;
	header->text_bytes = (uint32_t) choice->text_bytes;
	w.column = (fc_encoder_column *) (header + 1);
	w.feature = (fc_encoder_feature *) (w.column + choice->columns);
	w.center = (double *) (w.feature + sample->features);
	w.scale = w.center + choice->dim;
	w.fill = w.scale + choice->dim;
	w.category = (fc_encoder_category *) (w.fill + choice->dim);
	w.text = (char *) (w.category + choice->categories);
	write_names(&w);
	for (size_t i = 0; i < sample->features && status == FC_OK; i++)
		status = write_feature(&w, i, &choice->feature[i]);
	if (status == FC_OK)
		fc_encoder_digest(header, choice->size, header->digest);
	return status;
}

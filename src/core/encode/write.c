/* write.c - writes a learned encoder; see learn.h */
#include "encode/learn.h"

/* Interquartile range of the standard normal distribution. */
#define NORMAL_QUARTILES	1.3489795003921634

/*
 * Standard deviation up to which a feature counts as constant, because the
 * deviation is rounding error.
 */
#define MIN_SCALE	1e-150

/*
 * State of an encoder that is being written; pointers advance with each
 * feature.
 */
typedef struct encoder_writer
{
	const fc_sample *sample;
	fc_arena   *arena;
	fc_encoder_column *column;	/* next column to write */
	fc_encoder_feature *feature;
	fc_encoder_category *category;
	double	   *center;			/* center of the current feature */
	double	   *scale;
	double	   *fill;
	char	   *text;
	size_t		text_used;
	size_t		columns;
} encoder_writer;

static fc_encoder_text
write_text(encoder_writer *w, const char *text, size_t length)
{
	fc_encoder_text piece = {(uint32_t) w->text_used, (uint32_t) length};

	if (length > 0)
		memcpy(w->text +piece.start, text, length);
	w->text_used += length;
	return piece;
}

static fc_encoder_text
write_name(encoder_writer *w, const char *name)
{
	return write_text(w, name, fc_name_length(name));
}

/*
 * Sets all `width` scales of a feature to the same scale, divided by its
 * weight. A scale up to MIN_SCALE is replaced by 1 before the division.
 */
static void
set_scale(double *scales, size_t width, double scale, double weight)
{
	for (size_t j = 0; j < width; j++)
		scales[j] = (scale > MIN_SCALE ? scale : 1.0) / weight;
}

/*
 * Sets center to the means and scale to the standard deviations of the
 * feature's values, if there are any. Returns the square root of the sum of
 * the variances, or 0.
 */
static double
moments(encoder_writer *w, const fc_learner *learner, size_t width)
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

/*
 * Writes center, scale and fill (the value that replaces a NULL) of each
 * dimension of a number, a cyclic feature or a vector. each: true if every
 * dimension has a scale of its own; false if all dimensions have one scale.
 */
static void
write_numbers(encoder_writer *w, const fc_learner *learner,
			  const fc_encoder_feature *feature, bool each)
{
	static const double quartiles[3] = {0.25, 0.5, 0.75};
	double		found[3];
	double		scale = moments(w, learner, feature->width);

	if (feature->scaling == FC_SCALING_ROBUST && learner->values.total > 0)
	{
		fc_frequent_quantiles(&learner->values, quartiles, 3, w->arena, found);
		w->center[0] = found[1];
		if (found[2] > found[0])
			scale = (found[2] - found[0]) / NORMAL_QUARTILES;
	}
	memcpy(w->fill, w->center, feature->width * sizeof(double));
	if (feature->scaling == FC_SCALING_NONE)
	{
		memset(w->center, 0, feature->width * sizeof(double));
		scale = 1.0;
	}
	for (size_t j = 0; j < feature->width; j++)
		set_scale(&w->scale[j], 1, each ? w->scale[j] : scale, learner->weight);
}

/*
 * Writes the categories of a feature. Sets center to shares of the rows: the
 * share in each category, the share with other values, and the share with
 * NULL. Sets scale and fill, too.
 */
static void
write_categories(encoder_writer *w, const fc_learner *learner,
				 const fc_encoder_feature *feature, const uint32_t *slots)
{
	const fc_frequent_items *frequent = &learner->categories;
	int64_t		rows = (frequent->total + (feature->missing ? learner->nulls_seen : 0));
	int64_t		others = frequent->total;
	double		scale;
	double	   *share = w->center;

	for (size_t j = 0; j < feature->categories; j++)
	{
		const fc_frequent_item *entry = &frequent->entry[slots[j]];
		int64_t		count = fc_frequent_count(frequent, slots[j]);

		w->category[j] = (fc_encoder_category)
		{
			write_text(w, frequent->text +entry->start, entry->length), count
		};
		others -= count < others ? count : others;
		*share++ = (double) count / (double) rows;
	}
	if (feature->other)
		*share++ = (double) others / (double) rows;
	if (feature->missing)
	{
		*share = (double) learner->nulls_seen / (double) rows;
		w->fill[share - w->center] = 1.0;
	}
	scale = fc_category_scale(w->center, feature->width);
	if (feature->scaling == FC_SCALING_NONE)
	{
		memset(w->center, 0, feature->width * sizeof(double));
		scale = 1.0;
	}
	set_scale(w->scale, feature->width, scale, learner->weight);
}

static void
write_feature(encoder_writer *w, size_t i, const fc_feature_choice *choice)
{
	const fc_learner *learner = &w->sample->learners[i];
	const fc_encoder_feature *feature = &choice->stored;

	if (feature->kind == FC_FEATURE_CATEGORY)
		write_categories(w, learner, feature, choice->slots);
	else
		write_numbers(w, learner, feature, choice->each);
	w->center += feature->width;
	w->scale += feature->width;
	w->fill += feature->width;
	w->category += feature->categories;
}

/* Writes the names of the columns, then the paths, then the types. */
static void
write_names(encoder_writer *w)
{
	const fc_feature_name *names = w->sample->names;

	for (size_t i = 0; i < w->sample->features; i++)
	{
		if (fc_starts_column(names, i))
			w->column[w->columns++] = (fc_encoder_column)
		{
			write_name(w, names[i].name), (uint32_t) i, 0
		};
		w->column[w->columns - 1].features++;
		w->feature[i].column = (uint32_t) (w->columns - 1);
	}
	for (size_t i = 0; i < w->sample->features; i++)
		w->feature[i].path = write_name(w, names[i].path);
	for (size_t i = 0; i < w->sample->features; i++)
	{
		w->feature[i].type = write_name(w, names[i].type);
		w->feature[i].collation = write_name(w, names[i].collation);
	}
}

void
fc_encoder_write(const fc_sample *sample, const fc_encoder_choice *choice,
				 fc_arena *arena, fc_encoder_header *header)
{
	encoder_writer w = {.sample = sample,.arena = arena};
	fc_encoder	view;

	memset(header, 0, choice->size);
	header->version = FC_ENCODER_VERSION;
	header->rows = sample->rows;
	header->skipped = sample->skipped;
	header->columns = (uint32_t) choice->columns;
	header->features = (uint32_t) sample->features;
	header->dim = (uint32_t) choice->dim;
	header->categories = (uint32_t) choice->categories;
	header->text_bytes = (uint32_t) choice->text_bytes;
	fc_encoder_view(header, &view);
	w.column = (fc_encoder_column *) view.column;
	w.feature = (fc_encoder_feature *) view.feature;
	w.center = (double *) view.center;
	w.scale = (double *) view.scale;
	w.fill = (double *) view.fill;
	w.category = (fc_encoder_category *) view.category;
	w.text = (char *) view.text;
	for (size_t i = 0; i < sample->features; i++)
		w.feature[i] = choice->feature[i].stored;
	write_names(&w);
	for (size_t i = 0; i < sample->features; i++)
		write_feature(&w, i, &choice->feature[i]);
	fc_encoder_digest(header, choice->size, header->digest);
}

void
fc_encoder_of_vector(const char *name, size_t d, const double *center,
					 const double *scale, fc_encoder_header *header)
{
	fc_learner	learner = fc_learner_start(FC_FEATURE_VECTOR, false, FC_SCALING_NONE,
										   FC_NULLS_SKIP, 1.0, 0);
	fc_feature_name names = {.name = name};
	fc_sample	sample = {&learner, &names, 1, 0, 0};
	fc_feature_choice feature = {
		.stored = {
			.kind = FC_FEATURE_VECTOR,
			.width = (uint32_t) d,
			.scaling = scale == NULL ? FC_SCALING_NONE : FC_SCALING_STANDARD,
			.nulls = FC_NULLS_SKIP,
			.weight = 1.0
		}
	};
	fc_encoder_choice choice = {
		.feature = &feature,
		.columns = 1,
		.dim = d,
		.text_bytes = strlen(name),
		.size = fc_encoder_size(1, 1, d, 0, strlen(name))
	};
	fc_encoder	view;

	fc_encoder_write(&sample, &choice, NULL, header);
	fc_encoder_view(header, &view);
	for (size_t i = 0; i < d; i++)
	{
		if (center != NULL)
			((double *) view.center)[i] = ((double *) view.fill)[i] = center[i];
		if (scale != NULL)
			((double *) view.scale)[i] = scale[i];
	}
	fc_encoder_digest(header, choice.size, header->digest);
}

static bool
same_text(const fc_encoder *a, fc_encoder_text x, const fc_encoder *b, fc_encoder_text y)
{
	return x.length == y.length &&
		memcmp(a->text +x.start, b->text +y.start, x.length) == 0;
}

static bool
same_feature(const fc_encoder *old, const fc_encoder_feature *a,
			 const fc_encoder *new, const fc_encoder_feature *b)
{
	return same_text(old, old->column[a->column].name, new, new->column[b->column].name) &&
		same_text(old, a->path, new, b->path) &&
		same_text(old, a->type, new, b->type) &&
		same_text(old, a->collation, new, b->collation) &&
		a->kind == b->kind && a->log == b->log && a->cycle == b->cycle &&
		a->period == b->period &&
		(a->kind == FC_FEATURE_CATEGORY ||
		 fc_feature_values(a) == fc_feature_values(b));
}

bool
fc_encoder_is_alike(const fc_encoder *old, const fc_encoder *new)
{
	if (old->features != new->features)
		return false;
	for (size_t i = 0; i < old->features; i++)
		if (!same_feature(old, &old->feature[i], new, &new->feature[i]))
			return false;
	return true;
}

/*
 * Replaces the counts and shares of the old categories by the counts and
 * shares in the new sample, and sets one scale for all categories
 * (fc_category_scale). `equal` is as in fc_encoder_renew, from the first
 * category of the feature on.
 */
static void
renew_categories(const fc_encoder_feature *feature, const fc_encoder *new,
				 const fc_encoder_feature *learned, const uint32_t *equal,
				 fc_encoder_category *category, double *center, double *scale)
{
	int64_t		texts = (new->rows - new->skipped -
						 (learned->nulls == FC_NULLS_SKIP ? 0
						  : learned->nulls_seen));
	double		rows = fmax((double) (texts +
									  (feature->missing ? learned->nulls_seen : 0)),
							1.0);
	int64_t		others = texts;
	double		common;
	double	   *share = center;

	for (uint32_t j = 0; j < feature->categories; j++)
	{
		category[j].count = (equal[j] < learned->categories
							 ? fc_category(new, learned, equal[j])->count
							 : 0);
		others -= category[j].count;
		*share++ = (double) category[j].count / rows;
	}
	if (feature->other)
		*share++ = (double) others / rows;
	if (feature->missing)
		*share++ = (double) learned->nulls_seen / rows;
	common = fc_category_scale(center, feature->width);
	if (learned->scaling == FC_SCALING_NONE)
	{
		memset(center, 0, feature->width * sizeof(double));
		common = 1.0;
	}
	for (uint32_t j = 0; j < feature->width; j++)
		scale[j] = (common > 0.0 ? common : 1.0) / learned->weight;
}

/* Copies the first `count` centers, scales and fill values of a feature. */
static void
copy_numbers(const fc_encoder *from, const fc_encoder_feature *source,
			 const fc_encoder *to, const fc_encoder_feature *target, size_t count)
{
	memcpy((double *) to->center + target->first, from->center + source->first,
		   count * sizeof(double));
	memcpy((double *) to->scale + target->first, from->scale + source->first,
		   count * sizeof(double));
	memcpy((double *) to->fill + target->first, from->fill + source->first,
		   count * sizeof(double));
}

/*
 * Sets center, scale and fill of a feature's indicator of NULL. Multiplies the
 * scale of the values by sqrt(1 - p) for a share p of NULLs, so that it refers
 * to all rows. An indicator that does not vary has the scale 1.
 */
static void
indicate_nulls(const fc_encoder *encoder, const fc_encoder_feature *feature)
{
	double		nulls = (feature->nulls == FC_NULLS_IMPUTE
						 ? (double) feature->nulls_seen
						 : 0.0);
	double		share = (nulls /
						 fmax((double) (encoder->rows - encoder->skipped), 1.0));
	bool		scaled = (feature->scaling != FC_SCALING_NONE && share > 0.0 &&
						  share < 1.0);
	double	   *center = (double *) encoder->center + feature->first;
	double	   *scale = (double *) encoder->scale + feature->first;
	double	   *fill = (double *) encoder->fill + feature->first;
	size_t		values = fc_feature_values(feature);

	for (size_t j = 0; j < values && scaled; j++)
		scale[j] *= sqrt(1.0 - share);
	scale[values] = (scaled ? sqrt(share * (1.0 - share)) : 1.0) / feature->weight;
	center[values] = feature->scaling != FC_SCALING_NONE ? share : 0.0;
	fill[values] = 1.0;
}

size_t
fc_encoder_flags_size(size_t flags)
{
	return 3 * flags * sizeof(double);
}

void
fc_encoder_flag_nulls(const fc_encoder_header *header, size_t size,
					  const bool *flag, fc_encoder_header *flagged)
{
	size_t		flags = 0;
	fc_encoder	from;
	fc_encoder	to;

	fc_encoder_view(header, &from);
	for (size_t i = 0; i < from.features; i++)
		flags += flag[i];
	*flagged = *header;
	flagged->dim += (uint32_t) flags;
	fc_encoder_view(flagged, &to);
	memcpy((void *) to.column, from.column,
		   (size_t) ((const char *) from.center - (const char *) from.column));
	memcpy((void *) to.category, from.category,
		   (size_t) ((const char *) header + size -
					 (const char *) from.category));
	flags = 0;
	for (size_t i = 0; i < from.features; i++)
	{
		fc_encoder_feature *feature = (fc_encoder_feature *) &to.feature[i];

		feature->first += (uint32_t) flags;
		copy_numbers(&from, &from.feature[i], &to, feature, feature->width);
		if (!flag[i])
			continue;
		feature->missing = 1;
		feature->width++;
		flags++;
		indicate_nulls(&to, feature);
	}
	fc_encoder_digest(flagged, size + fc_encoder_flags_size(flags),
					  flagged->digest);
}

void
fc_encoder_mute(fc_encoder_header *header, size_t size, const bool *flag)
{
	fc_encoder	encoder;

	fc_encoder_view(header, &encoder);
	for (size_t i = 0; i < encoder.features; i++)
	{
		fc_encoder_feature *feature = ((fc_encoder_feature *) &encoder.feature[i]);

		if (!flag[i])
			continue;
		for (size_t j = 0; j < feature->width; j++)
			((double *) encoder.scale)[feature->first + j] *= feature->weight /
				FC_MIN_COLUMN_WEIGHT;
		feature->weight = FC_MIN_COLUMN_WEIGHT;
	}
	fc_encoder_digest(header, size, header->digest);
}

void
fc_encoder_renew(const fc_encoder_header *old_header, size_t size,
				 const fc_encoder_header *new_header, const uint32_t *equal,
				 fc_encoder_header *renewed)
{
	fc_encoder	new;
	fc_encoder	to;

	memcpy(renewed, old_header, size);
	fc_encoder_view(new_header, &new);
	fc_encoder_view(renewed, &to);
	renewed->rows = new.rows;
	renewed->skipped = new.skipped;
	for (size_t i = 0; i < to.features; i++)
	{
		fc_encoder_feature *feature = (fc_encoder_feature *) &to.feature[i];
		const fc_encoder_feature *learned = &new.feature[i];

		feature->scaling = learned->scaling;
		feature->nulls = learned->nulls;
		feature->weight = learned->weight;
		feature->nulls_seen = learned->nulls_seen;
		feature->turns = learned->turns;
		feature->lowest = learned->lowest;
		if (feature->kind == FC_FEATURE_CATEGORY)
			renew_categories(feature, &new, learned,
							 equal + feature->first_category,
							 (fc_encoder_category *) fc_category(&to, feature, 0),
							 (double *) to.center + feature->first,
							 (double *) to.scale + feature->first);
		else
		{
			copy_numbers(&new, learned, &to, feature, fc_feature_values(feature));
			if (feature->missing && !learned->missing)
				indicate_nulls(&to, feature);
		}
	}
	fc_encoder_digest(renewed, size, renewed->digest);
}

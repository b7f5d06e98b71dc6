/* write.c - writes a learned encoder; see learn.h */
#include "encode/learn.h"

/* Interquartile range of the standard normal distribution. */
#define NORMAL_QUARTILES	1.3489795003921634

/* Standard deviation below which it is taken for rounding error. */
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
	size_t		dim;
	size_t		categories;
} encoder_writer;

static uint32_t
write_text(encoder_writer *w, const char *text, size_t length)
{
	size_t		start = w->text_used;

	if (length > 0)
		memcpy(w->text +start, text, length);
	w->text_used += length;
	return (uint32_t) start;
}

/*
 * Sets the same scale for all dimensions of the feature, divided by its
 * weight.
 */
static void
set_scale(encoder_writer *w, size_t width, double scale, double weight)
{
	for (size_t j = 0; j < width; j++)
		w->scale[j] = (scale > MIN_SCALE ? scale : 1.0) / weight;
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

/* Writes center, scale and fill of a number, a cyclic feature or a vector. */
static void
write_numbers(encoder_writer *w, const fc_learner *learner,
			  const fc_feature_choice *choice)
{
	static const double quartiles[3] = {0.25, 0.5, 0.75};
	double		found[3];
	double		scale = moments(w, learner, choice->width);

	if (choice->scaling == FC_SCALING_ROBUST && learner->values.total > 0)
	{
		fc_frequent_quantiles(&learner->values, quartiles, 3, w->arena, found);
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
			w->scale[j] = (w->scale[j] > MIN_SCALE ? w->scale[j] : 1.0) /
				learner->weight;
	else
		set_scale(w, choice->width, scale, learner->weight);
}

/*
 * Writes the categories, and sets center to the shares of the categories, of
 * other values and of NULL.
 */
static void
write_categories(encoder_writer *w, const fc_learner *learner,
				 const fc_feature_choice *choice)
{
	const fc_frequent_items *frequent = &learner->categories;
	int64_t		rows = (frequent->total + (choice->missing ? learner->nulls_seen : 0));
	int64_t		others = frequent->total;
	double		scale;
	double	   *share = w->center;

	for (size_t j = 0; j < choice->categories; j++)
	{
		const fc_frequent_item *entry = &frequent->entry[choice->slots[j]];
		int64_t		count = fc_frequent_count(frequent, choice->slots[j]);

		w->category[j] = (fc_encoder_category)
		{
			write_text(w,
					   frequent->text +
					   entry->start,
					   entry->length),
				entry->length, count
		};
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
	set_scale(w, choice->width,
			  choice->scaling == FC_SCALING_NONE ? 1.0 : scale,
			  learner->weight);
}

/*
 * Sets the cycle of a feature. Its values are shown from 0 on, or as they are
 * in the sample if they are within another period.
 */
static void
write_cycle(fc_encoder_feature *feature, const fc_learner *learner)
{
	feature->cycle = (uint8_t) learner->cycle;
	feature->period = learner->period;
	if (learner->cycle != FC_CYCLE_PERIOD ||
		(learner->least >= 0.0 && learner->greatest < learner->period))
		return;
	feature->turns = learner->greatest - learner->least >= learner->period;
	feature->lowest = feature->turns ? 0.0 : learner->least;
}

static void
write_feature(encoder_writer *w, size_t i, const fc_feature_choice *choice)
{
	const fc_learner *learner = &w->sample->learners[i];
	const fc_feature_name *name = &w->sample->names[i];
	fc_encoder_feature *feature = &w->feature[i];

	*feature = (fc_encoder_feature)
	{
		.column = feature->column,
			.path_start = feature->path_start,
			.path_length = (uint32_t) name->path_length,
			.type_start = feature->type_start,
			.type_length = (uint32_t) name->type_length,
			.collation_start = feature->collation_start,
			.collation_length = (uint32_t) name->collation_length,
			.first = (uint32_t) w->dim,
			.width = (uint32_t) choice->width,
			.first_category = (uint32_t) w->categories,
			.categories = (uint32_t) choice->categories,
			.kind = (uint8_t) choice->kind,
			.log = learner->log &&
			(choice->kind == FC_FEATURE_NUMBER ||
			 choice->kind ==
			 FC_FEATURE_INTERVAL),
			.scaling = (uint8_t) choice->scaling,
			.nulls = (uint8_t) learner->nulls,
			.other = choice->other,
			.missing = choice->missing,
			.weight = learner->weight,
			.nulls_seen = learner->nulls_seen
	};
	if (choice->cycle != FC_CYCLE_NONE)
		write_cycle(feature, learner);
	if (choice->kind == FC_FEATURE_CATEGORY)
		write_categories(w, learner, choice);
	else
		write_numbers(w, learner, choice);
	w->center += choice->width;
	w->scale += choice->width;
	w->fill += choice->width;
	w->category += choice->categories;
	w->dim += choice->width;
	w->categories += choice->categories;
}

/* Writes the names of the columns, then the paths, then the types. */
static void
write_names(encoder_writer *w)
{
	const fc_feature_name *names = w->sample->names;

	for (size_t i = 0; i < w->sample->features; i++)
	{
		if (i == 0 || names[i].name_length != names[i - 1].name_length ||
			memcmp(names[i].name, names[i - 1].name, names[i].name_length) != 0)
			w->column[w->columns++] = (fc_encoder_column)
		{
			write_text(w, names[i].name,
					   names[i].name_length),
				(uint32_t) names[i].name_length,
				(uint32_t) i, 0
		};
		w->column[w->columns - 1].features++;
		w->feature[i].column = (uint32_t) (w->columns - 1);
	}
	for (size_t i = 0; i < w->sample->features; i++)
		w->feature[i].path_start = write_text(w, names[i].path,
											  names[i].path_length);
	for (size_t i = 0; i < w->sample->features; i++)
	{
		w->feature[i].type_start = write_text(w, names[i].type,
											  names[i].type_length);
		w->feature[i].collation_start = write_text(w, names[i].collation,
												   names[i].collation_length);
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
	write_names(&w);
	for (size_t i = 0; i < sample->features; i++)
		write_feature(&w, i, &choice->feature[i]);
	fc_encoder_digest(header, choice->size, header->digest);
}

void
fc_encoder_of_vector(const char *name, size_t length, size_t d,
					 const double *center, const double *scale,
					 fc_encoder_header *header)
{
	size_t		size = fc_encoder_size(1, 1, d, 0, length);
	fc_encoder	view;

	memset(header, 0, size);
	header->version = FC_ENCODER_VERSION;
	header->columns = header->features = 1;
	header->dim = (uint32_t) d;
	header->text_bytes = (uint32_t) length;
	fc_encoder_view(header, &view);
	*(fc_encoder_column *) view.column = (fc_encoder_column)
	{
		0,
			(uint32_t) length,
			0, 1
	};
	*(fc_encoder_feature *) view
		.feature = (fc_encoder_feature)
	{
		.path_start = (uint32_t) length,
			.type_start = (uint32_t) length,
			.collation_start = (uint32_t) length,
			.width = (uint32_t) d,
			.kind = FC_FEATURE_VECTOR,
			.scaling = scale == NULL
			? FC_SCALING_NONE
			: FC_SCALING_STANDARD,
			.nulls = FC_NULLS_SKIP,
			.weight = 1.0
	};
	for (size_t i = 0; i < d; i++)
	{
		((double *) view.center)[i] = center == NULL ? 0.0 : center[i];
		((double *) view.scale)[i] = scale == NULL ? 1.0 : scale[i];
		((double *) view.fill)[i] = view.center[i];
	}
	memcpy((char *) view.text, name, length);
	fc_encoder_digest(header, size, header->digest);
}

static bool
same_text(const fc_encoder *a, uint32_t a_start, uint32_t a_length,
		  const fc_encoder *b, uint32_t b_start, uint32_t b_length)
{
	return a_length == b_length &&
		memcmp(a->text +a_start, b->text +b_start, a_length) == 0;
}

static bool
same_feature(const fc_encoder *old, const fc_encoder_feature *a,
			 const fc_encoder *new, const fc_encoder_feature *b)
{
	const fc_encoder_column *x = &old->column[a->column];
	const fc_encoder_column *y = &new->column[b->column];

	return same_text(old, x->name_start, x->name_length, new, y->name_start,
					 y->name_length) &&
		same_text(old, a->path_start, a->path_length, new, b->path_start,
				  b->path_length) &&
		same_text(old, a->type_start, a->type_length, new, b->type_start,
				  b->type_length) &&
		same_text(old, a->collation_start, a->collation_length, new,
				  b->collation_start, b->collation_length) &&
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
 * (fc_category_scale). `equal` has the new category of each old one.
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
							 ? new->category[learned->first_category +
											 equal[j]].count
							 : 0);
		others -= category[j].count;
		*share++ = (double) category[j].count / rows;
	}
	if (feature->other)
		*share++ = (double) others / rows;
	if (feature->missing)
		*share++ = (double) learned->nulls_seen / rows;
	common = fc_category_scale(center, feature->width);
	for (uint32_t j = 0; j < feature->width; j++)
	{
		if (learned->scaling == FC_SCALING_NONE)
			center[j] = 0.0;
		scale[j] = (learned->scaling != FC_SCALING_NONE && common > 0.0 ? common
					: 1.0) /
			learned->weight;
	}
}

/*
 * Sets center, scale and fill of the indicator. Multiplies the scale of the
 * values by sqrt(1 - p) for a share p of NULLs, so that it refers to all rows.
 * An indicator that does not vary has the scale 1.
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
	double	   *scale = (double *) encoder->scale + feature->first;
	size_t		values = fc_feature_values(feature);

	for (size_t j = 0; j < values && scaled; j++)
		scale[j] *= sqrt(1.0 - share);
	scale[values] = (scaled ? sqrt(share * (1.0 - share)) : 1.0) /
		feature->weight;
	((double *)
	 encoder->center)[feature->first + values] = feature->scaling !=
		FC_SCALING_NONE
		? share
		: 0.0;
	((double *) encoder->fill)[feature->first + values] = 1.0;
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
		size_t		bytes = feature->width * sizeof(double);

		feature->first += (uint32_t) flags;
		memcpy((double *) to.center + feature->first,
			   from.center + from.feature[i].first, bytes);
		memcpy((double *) to.scale + feature->first,
			   from.scale + from.feature[i].first, bytes);
		memcpy((double *) to.fill + feature->first,
			   from.fill + from.feature[i].first, bytes);
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
	fc_encoder	old;
	fc_encoder	new;
	fc_encoder	to;

	memcpy(renewed, old_header, size);
	fc_encoder_view(old_header, &old);
	fc_encoder_view(new_header, &new);
	fc_encoder_view(renewed, &to);
	renewed->rows = new.rows;
	renewed->skipped = new.skipped;
	for (size_t i = 0; i < old.features; i++)
	{
		fc_encoder_feature *feature = (fc_encoder_feature *) &to.feature[i];
		const fc_encoder_feature *learned = &new.feature[i];
		double	   *center = (double *) to.center + feature->first;
		double	   *scale = (double *) to.scale + feature->first;

		feature->scaling = learned->scaling;
		feature->nulls = learned->nulls;
		feature->weight = learned->weight;
		feature->nulls_seen = learned->nulls_seen;
		feature->turns = learned->turns;
		feature->lowest = learned->lowest;
		if (feature->kind == FC_FEATURE_CATEGORY)
			renew_categories(feature, &new, learned,
							 equal + feature->first_category,
							 (fc_encoder_category *) to.category +
							 feature->first_category,
							 center, scale);
		else
		{
			size_t		bytes = fc_feature_values(feature) * sizeof(double);

			memcpy(center, new.center + learned->first, bytes);
			memcpy(scale, new.scale + learned->first, bytes);
			memcpy((double *) to.fill + feature->first,
				   new.fill + learned->first, bytes);
			if (feature->missing && !learned->missing)
				indicate_nulls(&to, feature);
		}
	}
	fc_encoder_digest(renewed, size, renewed->digest);
}

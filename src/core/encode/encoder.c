/*
 * encoder.c - the stored encoder: its bytes, its view, and the encoding of
 * rows; see encoder.h
 */
#include "encode/encoder.h"

#include "base/rng.h"

/* ---- bytes ---- */

static inline size_t
padded(size_t text_bytes)
{
	return (text_bytes + 7) / 8 * 8;
}

size_t
fc_encoder_size(size_t columns, size_t features, size_t dim, size_t categories,
				size_t text_bytes)
{
	return sizeof(fc_encoder_header) + columns * sizeof(fc_encoder_column) +
		features * sizeof(fc_encoder_feature) + 3 * dim * sizeof(double) +
		categories * sizeof(fc_encoder_category) + padded(text_bytes);
}

void
fc_encoder_digest(const fc_encoder_header *header, size_t size,
				  uint64_t digest[2])
{
	static const uint64_t seeds[] = {1, 2};

	fc_digest(seeds, &header->rows, size - offsetof(fc_encoder_header, rows),
			  digest);
}

void
fc_encoder_view(const fc_encoder_header *header, fc_encoder *encoder)
{
	encoder->columns = header->columns;
	encoder->features = header->features;
	encoder->dim = header->dim;
	encoder->categories = header->categories;
	encoder->rows = header->rows;
	encoder->skipped = header->skipped;
	encoder->column = (const fc_encoder_column *) (header + 1);
	encoder->feature = (const fc_encoder_feature *) (encoder->column +
													 encoder->columns);
	encoder->center = (const double *) (encoder->feature + encoder->features);
	encoder->scale = encoder->center + encoder->dim;
	encoder->fill = encoder->scale + encoder->dim;
	encoder->category = (const fc_encoder_category *) (encoder->fill +
													   encoder->dim);
	encoder->text = (const char *) (encoder->category + encoder->categories);
	encoder->slots_of = NULL;
	encoder->slot = NULL;
}

double
fc_category_scale(const double *share, size_t width)
{
	double		variance = 0.0;
	double		squares = 0.0;

	for (size_t i = 0; i < width; i++)
	{
		variance += share[i] * (1.0 - share[i]);
		squares += share[i] * share[i];
	}
	return squares > 0.0 ? sqrt(variance /
								fmax(1.0, sqrt(fmax(1.0 / squares - 1.0, 0.0))))
		: 0.0;
}

bool
fc_encoder_is_scaled(const fc_encoder *encoder)
{
	for (size_t i = 0; i < encoder->dim; i++)
		if (encoder->center[i] != 0.0 || encoder->scale[i] != 1.0)
			return true;
	return false;
}

/* ---- categories ---- */

/* Minimum number of slots in the hash table of a feature's categories. */
#define MIN_SLOTS	4

/*
 * Returns the number of slots in a feature's hash table: a power of two and at
 * least twice the number of categories, or 0 if the feature is not
 * categorical.
 */
static size_t
slots_for(const fc_encoder_feature *feature)
{
	size_t		slots = MIN_SLOTS;

	if (feature->kind != FC_FEATURE_CATEGORY)
		return 0;
	while (slots < 2 * (size_t) feature->categories)
		slots *= 2;
	return slots;
}

size_t
fc_encoder_prepared_size(const fc_encoder *encoder)
{
	size_t		slots = 0;

	for (size_t i = 0; i < encoder->features; i++)
		slots += slots_for(&encoder->feature[i]);
	return encoder->features * sizeof(fc_category_slots) +
		slots * sizeof(uint32_t);
}

void
fc_encoder_prepare(fc_encoder *encoder, void *memory)
{
	fc_category_slots *slots_of = memory;
	uint32_t   *slot = (uint32_t *) (slots_of + encoder->features);
	uint32_t	first = 0;

	memset(memory, 0, fc_encoder_prepared_size(encoder));
	for (size_t i = 0; i < encoder->features; i++)
	{
		const fc_encoder_feature *feature = &encoder->feature[i];
		uint32_t	slots = (uint32_t) slots_for(feature);

		slots_of[i] = (fc_category_slots)
		{
			first, slots > 0 ? slots - 1 : 0
		};
		for (uint32_t j = 0; j < feature->categories; j++)
		{
			fc_encoder_text category = fc_category(encoder, feature, j)->text;
			uint32_t	at = (uint32_t) fc_hash_bytes(0, encoder->text +category.start,
													  category.length);

			while (slot[first + (at & (slots - 1))] != 0)
				at++;
			slot[first + (at & (slots - 1))] = j + 1;
		}
		first += slots;
	}
	encoder->slots_of = slots_of;
	encoder->slot = slot;
}

uint32_t
fc_find_category(const fc_encoder *encoder, size_t i, const char *text,
				 size_t length)
{
	const fc_encoder_feature *feature = &encoder->feature[i];
	const uint32_t *slot = encoder->slot + encoder->slots_of[i].first;
	uint32_t	mask = encoder->slots_of[i].mask;

	for (uint32_t at = (uint32_t) fc_hash_bytes(0, text, length);; at++)
	{
		uint32_t	found = slot[at & mask];
		fc_encoder_text category;

		if (found == 0)
			return feature->categories;
		category = fc_category(encoder, feature, found - 1)->text;
		if (category.length == length &&
			memcmp(encoder->text +category.start, text, length) == 0)
			return found - 1;
	}
}

/* ---- rows ---- */

double
fc_signed_log(double x)
{
	return copysign(log1p(fabs(x)), x);
}

double
fc_in_period(double x, double period)
{
	double		rest = fmod(x, period);

	if (rest < 0.0)
		rest += period;
	return rest < period ? rest : 0.0;
}

void
fc_angle(double x, double period, double to[2])
{
	double		angle = 2.0 * M_PI * (fc_in_period(x, period) / period);

	to[0] = cos(angle);
	to[1] = sin(angle);
}

/*
 * Distance from the end of a period, in periods, up to which a value counts as
 * the start of the period, because of rounding.
 */
#define ANGLE_ERROR	1e-6

double
fc_value_of_angle(const fc_encoder_feature *feature, const double mean[2])
{
	double		period = feature->period;
	double		x = fc_in_period(atan2(mean[1], mean[0]) / (2.0 * M_PI) * period -
								 feature->lowest, period);

	return feature->lowest + (x < (1.0 - ANGLE_ERROR) * period ? x : 0.0);
}

void
fc_encode_number(const fc_encoder_feature *feature, double x, double *to)
{
	if (feature->cycle != FC_CYCLE_NONE)
		fc_angle(x, feature->period, to);
	else
		*to = feature->log ? fc_signed_log(x) : x;
}

static void
encode_text(const fc_encoder *encoder, size_t i, const fc_feature_cell *cell,
			double *raw)
{
	const fc_encoder_feature *feature = &encoder->feature[i];
	uint32_t	place = fc_find_category(encoder, i, cell->text, cell->length);

	memset(raw, 0, feature->width * sizeof(double));
	if (place < feature->categories || feature->other)
		raw[place] = 1.0;
}

void
fc_encode(const fc_encoder *encoder, size_t first, size_t count,
		  const fc_feature_cell *cells, double *raw)
{
	for (size_t i = first; i < first + count; i++)
	{
		const fc_encoder_feature *feature = &encoder->feature[i];
		const fc_feature_cell *cell = &cells[i];
		double	   *to = raw + feature->first;

		switch (cell->kind)
		{
			case FC_CELL_NUMBER:
				fc_encode_number(feature, cell->number, to);
				break;
			case FC_CELL_TEXT:
				encode_text(encoder, i, cell, to);
				break;
			case FC_CELL_FLOATS:
				fc_widen(cell->floats, fc_feature_values(feature), to);
				break;
			case FC_CELL_DOUBLES:
				memcpy(to, cell->doubles,
					   fc_feature_values(feature) * sizeof(double));
				break;
			case FC_CELL_NULL:
				memcpy(to, encoder->fill + feature->first,
					   feature->width * sizeof(double));
				continue;
		}
		if (feature->missing)
			to[feature->width - 1] = 0.0;
	}
}

/*
 * Progress of a validation. The last four fields count the elements of the
 * shared arrays that belong to the columns and features checked so far.
 */
typedef struct walk
{
	const fc_encoder *encoder;
	size_t		text_bytes;		/* total size of the text in bytes */
	size_t text;				/* bytes of text read so far */
	size_t		features;
	size_t		dim;
	size_t		categories;
} walk;

static bool
sizes_fit(const fc_encoder_header *header, size_t size)
{
	return header->version == FC_ENCODER_VERSION && header->padding == 0 &&
		header->padding2 == 0 && header->columns >= 1 &&
		header->columns <= header->features &&
		header->features <= FC_MAX_FEATURES &&
		header->dim >= header->features && header->dim <= FC_MAX_DIM &&
		header->categories <= header->dim &&
		header->text_bytes <= FC_MAX_ENCODED_TEXT && header->rows >= 0 &&
		header->rows <= FC_MAX_ROWS && header->skipped >= 0 &&
		header->skipped <= header->rows &&
		size == fc_encoder_size(header->columns, header->features,
								header->dim, header->categories,
								header->text_bytes);
}

/*
 * Checks the next piece of text. Returns false if it does not start where the
 * previous piece ended, is too long, or contains a byte 0.
 */
static bool
takes_text(walk *at, fc_encoder_text text)
{
	if (text.start != at->text ||text.length > at->text_bytes - at->text ||
		memchr(at->encoder->text +text.start, 0, text.length) != NULL)
		return false;
	at->text +=text.length;
	return true;
}

static int
compare_texts(const walk *at, fc_encoder_text a, fc_encoder_text b)
{
	int			order = memcmp(at->encoder->text +a.start, at->encoder->text +b.start,
							   smaller(a.length, b.length));

	return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

static bool
columns_fit(walk *at)
{
	const fc_encoder *encoder = at->encoder;

	for (size_t i = 0; i < encoder->columns; i++)
	{
		const fc_encoder_column *column = &encoder->column[i];

		if (column->name.length == 0 || !takes_text(at, column->name) ||
			column->first_feature != at->features || column->features < 1 ||
			column->features > encoder->features - at->features)
			return false;
		at->features += column->features;
		fc_check();
		for (size_t j = 0; j < i; j++)
			if (compare_texts(at, encoder->column[j].name, column->name) == 0)
				return false;
	}
	return at->features == encoder->features;
}

/*
 * Returns true if the path of a feature is allowed for its kind, and differs
 * from all earlier paths of its column.
 */
static bool
path_fits(walk *at, const fc_encoder_feature *feature, size_t first,
		  size_t number)
{
	const fc_encoder_feature *other = at->encoder->feature + first;

	if (feature->path.length > 0
		? feature->kind > FC_FEATURE_BOOLEAN &&
		feature->kind != FC_FEATURE_CATEGORY
		: at->encoder->column[feature->column].features != 1)
		return false;
	if (!takes_text(at, feature->path))
		return false;
	for (; other < at->encoder->feature + number; other++)
		if (compare_texts(at, other->path, feature->path) == 0)
			return false;
	return true;
}

bool
fc_has_log(fc_feature_kind kind)
{
	return kind == FC_FEATURE_NUMBER || kind == FC_FEATURE_INTERVAL;
}

bool
fc_has_cycle(fc_feature_kind kind, fc_cycle cycle)
{
	static const uint8_t cycles[FC_FEATURE_ANY] = {
		[FC_FEATURE_NUMBER] = 1 << FC_CYCLE_PERIOD,
		[FC_FEATURE_DATE] = 1 << FC_CYCLE_WEEK | 1 << FC_CYCLE_YEAR,
		[FC_FEATURE_TIMESTAMP] = 1 << FC_CYCLE_DAY | 1 << FC_CYCLE_WEEK |
		1 << FC_CYCLE_YEAR,
		[FC_FEATURE_INTERVAL] = 1 << FC_CYCLE_PERIOD | 1 << FC_CYCLE_DAY
	};

	return kind < FC_FEATURE_ANY && cycle <= FC_CYCLE_YEAR &&
		(cycles[kind] >> cycle & 1) != 0;
}

/*
 * Returns true if the fields cycle, period, lowest and turns of a feature are
 * valid together. Without a cycle, the other three must be 0. With a cycle, the
 * kind of the feature must allow it, log must be 0, and the period must be
 * positive and finite. Only a period given by the user allows values of lowest
 * and turns other than 0.
 */
static bool
cycle_fits(const fc_encoder_feature *feature)
{
	if (feature->cycle == FC_CYCLE_NONE)
		return feature->period == 0.0 && feature->lowest == 0.0 && !feature->turns;
	return fc_has_cycle((fc_feature_kind) feature->kind, (fc_cycle) feature->cycle) &&
		!feature->log &&
		feature->period > 0.0 && isfinite(feature->period) &&
		isfinite(feature->lowest) && feature->turns <= 1 &&
		(feature->cycle == FC_CYCLE_PERIOD || (feature->lowest == 0.0 && !feature->turns));
}

static bool
settings_fit(const fc_encoder *encoder, const fc_encoder_feature *feature)
{
	return feature->kind < FC_FEATURE_ANY && feature->log <= 1 &&
		feature->scaling < FC_SCALING_DEFAULT &&
		feature->nulls <= FC_NULLS_ERROR && feature->other <= 1 &&
		feature->missing <= 1 &&
		(!feature->log || fc_has_log((fc_feature_kind) feature->kind)) && cycle_fits(feature) &&
		fc_zero_padding((const char *) feature->padding,
						(const char *) &feature->period) &&
		feature->weight >= FC_MIN_COLUMN_WEIGHT &&
		feature->weight <= FC_MAX_COLUMN_WEIGHT && feature->nulls_seen >= 0 &&
		feature->nulls_seen <= encoder->rows;
}

/*
 * Returns true if the dimensions of a feature start where the dimensions of
 * the previous feature ended, and their number fits the kind of the feature.
 */
static bool
dimensions_fit(walk *at, const fc_encoder_feature *feature)
{
	size_t		values = (feature->kind == FC_FEATURE_CATEGORY
						  ? (size_t) feature->categories + feature->other
						  : feature->kind == FC_FEATURE_VECTOR
						  ? larger(fc_feature_values(feature), 1)
						  : (size_t) 1 + (feature->cycle != FC_CYCLE_NONE));

	if (feature->first != at->dim || feature->width < 1 ||
		feature->width != values + feature->missing ||
		feature->width > at->encoder->dim - at->dim ||
		feature->first_category != at->categories ||
		feature->categories > at->encoder->categories - at->categories ||
		(feature->kind != FC_FEATURE_CATEGORY &&
		 (feature->categories != 0 || feature->other)))
		return false;
	at->dim += feature->width;
	at->categories += feature->categories;
	return true;
}

static bool
features_fit(walk *at)
{
	const fc_encoder *encoder = at->encoder;
	size_t		number = 0;

	for (size_t c = 0; c < encoder->columns; c++)
		for (size_t last = number + encoder->column[c].features; number < last;
			 number++)
		{
			const fc_encoder_feature *feature = &encoder->feature[number];

			fc_check();
			if (feature->column != c || !settings_fit(encoder, feature) ||
				!dimensions_fit(at, feature) ||
				!path_fits(at, feature, encoder->column[c].first_feature,
						   number))
				return false;
		}
	return at->dim == encoder->dim && at->categories == encoder->categories;
}

/*
 * Returns true if the names of types and collations are valid. Only a category
 * that is not a jsonb path has a type, and only a type has a collation. A
 * cyclic timestamp may have the name of a time zone in place of a type.
 */
static bool
types_fit(walk *at)
{
	for (size_t i = 0; i < at->encoder->features; i++)
	{
		const fc_encoder_feature *feature = &at->encoder->feature[i];
		bool		typed = feature->type.length > 0;
		bool		zoned = (feature->kind == FC_FEATURE_TIMESTAMP &&
							 feature->cycle != FC_CYCLE_NONE);

		if ((typed && !zoned &&
			 (feature->kind != FC_FEATURE_CATEGORY || feature->path.length > 0)) ||
			((!typed || zoned) && feature->collation.length > 0) ||
			!takes_text(at, feature->type) || !takes_text(at, feature->collation))
			return false;
	}
	return true;
}

static bool
categories_fit(walk *at)
{
	const fc_encoder *encoder = at->encoder;

	for (size_t i = 0; i < encoder->features; i++)
		for (size_t j = 0; j < encoder->feature[i].categories; j++)
		{
			const fc_encoder_category *category = fc_category(encoder, &encoder->feature[i], j);

			if (category->count < 0 || category->count > encoder->rows ||
				!takes_text(at, category->text) ||
				(j > 0 && compare_texts(at, category[-1].text, category->text) >= 0))
				return false;
		}
	return at->text == at->text_bytes;
}

static bool
numbers_fit(const fc_encoder *encoder)
{
	if (!fc_all_finite(encoder->center, 3 * encoder->dim))
		return false;
	for (size_t i = 0; i < encoder->dim; i++)
		if (!(encoder->scale[i] > 0.0))
			return false;
	return true;
}

fc_status
fc_encoder_check(const void *bytes, size_t size)
{
	const fc_encoder_header *header = bytes;
	uint64_t	digest[2];
	fc_encoder	encoder;
	walk		at = {.encoder = &encoder};

	if (size < sizeof(fc_encoder_header) || !sizes_fit(header, size))
		return FC_EFORMAT;
	fc_encoder_digest(header, size, digest);
	if (digest[0] != header->digest[0] || digest[1] != header->digest[1])
		return FC_EFORMAT;
	fc_encoder_view(header, &encoder);
	at.text_bytes = header->text_bytes;
	if (!fc_zero_padding(encoder.text +at.text_bytes,
						 (const char *) bytes + size))
		return FC_EFORMAT;
	if (!columns_fit(&at) || !features_fit(&at) || !types_fit(&at) ||
		!categories_fit(&at) || !numbers_fit(&encoder))
		return FC_EFORMAT;
	return FC_OK;
}

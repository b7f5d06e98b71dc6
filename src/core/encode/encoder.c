/* encoder.c - the stored encoder: bytes, view, rows into numbers; see the header */
#include "encode/encoder.h"

#include <math.h>
#include <string.h>

#include "base/pieces.h"
#include "base/rng.h"

/* ---- bytes ---- */

static inline size_t
padded(size_t text_bytes)
{
	return (text_bytes + 7) / 8 * 8;
}

size_t
fc_encoder_size(size_t columns, size_t features, size_t dim, size_t categories, size_t text_bytes)
{
	return sizeof(fc_encoder_header) + columns * sizeof(fc_encoder_column) + features * sizeof(fc_encoder_feature) +
		3 * dim * sizeof(double) + categories * sizeof(fc_encoder_category) + padded(text_bytes);
}

void
fc_encoder_digest(const fc_encoder_header *header, size_t size, uint64_t digest[2])
{
	fc_digest((const uint64_t[]) {1, 2}, &header->rows, size - offsetof(fc_encoder_header, rows), digest);
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
	encoder->feature = (const fc_encoder_feature *) (encoder->column + encoder->columns);
	encoder->center = (const double *) (encoder->feature + encoder->features);
	encoder->scale = encoder->center + encoder->dim;
	encoder->fill = encoder->scale + encoder->dim;
	encoder->category = (const fc_encoder_category *) (encoder->fill + encoder->dim);
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
	return squares > 0.0 ? sqrt(variance / fmax(1.0, sqrt(fmax(1.0 / squares - 1.0, 0.0)))) : 0.0;
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

#define LEAST_SLOTS 4

/* A power of two, at least twice as many as there are categories. */
static size_t
slots_for(const fc_encoder_feature *feature)
{
	size_t		slots = LEAST_SLOTS;

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
	return encoder->features * sizeof(fc_category_slots) + slots * sizeof(uint32_t);
}

static inline uint32_t
hash_text(const char *text, size_t length)
{
	return (uint32_t) fc_hash_bytes(0, text, length);
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

		slots_of[i] = (fc_category_slots) {first, slots > 0 ? slots - 1 : 0};
		for (uint32_t j = 0; j < feature->categories; j++)
		{
			const fc_encoder_category *category = &encoder->category[feature->first_category + j];
			uint32_t	at = hash_text(encoder->text + category->start, category->length);

			while (slot[first + (at & (slots - 1))] != 0)
				at++;
			slot[first + (at & (slots - 1))] = j + 1;
		}
		first += slots;
	}
	encoder->slots_of = slots_of;
	encoder->slot = slot;
}

/* The number of a text among the feature's categories, or how many these are. */
static uint32_t
find_category(const fc_encoder *encoder, size_t i, const char *text, size_t length)
{
	const fc_encoder_feature *feature = &encoder->feature[i];
	const uint32_t *slot = encoder->slot + encoder->slots_of[i].first;
	uint32_t	mask = encoder->slots_of[i].mask;

	for (uint32_t at = hash_text(text, length);; at++)
	{
		uint32_t	found = slot[at & mask];
		const fc_encoder_category *category;

		if (found == 0)
			return feature->categories;
		category = &encoder->category[feature->first_category + found - 1];
		if (category->length == length && memcmp(encoder->text + category->start, text, length) == 0)
			return found - 1;
	}
}

/* ---- rows ---- */

double
fc_signed_log(double x)
{
	return copysign(log1p(fabs(x)), x);
}

static void
encode_text(const fc_encoder *encoder, size_t i, const fc_feature_cell *cell, double *raw)
{
	const fc_encoder_feature *feature = &encoder->feature[i];
	uint32_t	place = find_category(encoder, i, cell->text, cell->length);

	memset(raw, 0, feature->width * sizeof(double));
	if (place < feature->categories || feature->other)
		raw[place] = 1.0;
}

void
fc_encode(const fc_encoder *encoder, const fc_feature_cell *cells, double *raw)
{
	for (size_t i = 0; i < encoder->features; i++)
	{
		const fc_encoder_feature *feature = &encoder->feature[i];
		const fc_feature_cell *cell = &cells[i];
		double	   *to = raw + feature->first;

		switch (cell->kind)
		{
			case FC_CELL_NUMBER:
				*to = feature->log ? fc_signed_log(cell->number) : cell->number;
				break;
			case FC_CELL_TEXT:
				encode_text(encoder, i, cell, to);
				break;
			case FC_CELL_FLOATS:
				fc_widen(cell->floats, fc_feature_values(feature), to);
				break;
			case FC_CELL_DOUBLES:
				memcpy(to, cell->doubles, fc_feature_values(feature) * sizeof(double));
				break;
			case FC_CELL_NULL:
				memcpy(to, encoder->fill + feature->first, feature->width * sizeof(double));
				continue;
		}
		if (feature->missing)
			to[feature->width - 1] = 0.0;
	}
}

void
fc_encoder_into_units(const fc_encoder *encoder, double *x)
{
	for (size_t i = 0; i < encoder->dim; i++)
		x[i] = (x[i] - encoder->center[i]) / encoder->scale[i];
}

/* fuzz_encoder.c - fuzzes the check and the readers of encoders */
#include "fuzz.h"
#include "encode/encoder.h"
#include "numerics/rows.h"

#define COLUMNS		4

static const char words[] = "agecountrypropspointa.bctxyDEFRx";

/*
 * Writes an encoder of a column of numbers, a column of categories with a type
 * and a collation, a jsonb column with a path of numbers and a path of
 * categories and, if bit 0 of the seed is set, a column of vectors.
 */
static size_t
make_value(uint8_t *bytes, size_t capacity, unsigned int seed)
{
	size_t		vector = seed & 1;
	size_t		columns = 3 + vector;
	size_t		features = 4 + vector;
	uint8_t		other = (uint8_t) (seed >> 1 & 1);
	uint8_t		missing = (uint8_t) (seed >> 2 & 1);
	size_t		width = 1 + (seed >> 3 & 3);	/* elements of the vector */
	size_t		dim = 5u + other + missing + (vector ? width : 0);
	size_t		text = 15 + (vector ? 5 : 0);	/* bytes of the column names */
	size_t		size = fc_encoder_size(columns, features, dim, 3, text + 4 + 3 + 5);
	fc_encoder_header *header = (fc_encoder_header *) bytes;
	fc_encoder_column *column = (fc_encoder_column *) (header + 1);
	fc_encoder_feature *feature = (fc_encoder_feature *) (column + columns);
	double	   *numbers = (double *) (feature + features);
	fc_encoder_category *category = (fc_encoder_category *) (numbers + 3 * dim);
	static const uint32_t starts[COLUMNS] = {0, 3, 10, 15};
	static const uint32_t lengths[COLUMNS] = {3, 7, 5, 5};
	static const uint32_t first[COLUMNS] = {0, 1, 2, 4};

	if (capacity < 4096)
		return 0;
	memset(bytes, 0, size);
	*header = (fc_encoder_header) {.version = FC_ENCODER_VERSION,.rows = 10,.skipped = seed >> 5 & 1,.columns = (uint32_t) columns,
		.features = (uint32_t) features,.dim = (uint32_t) dim,.categories = 3,.text_bytes = (uint32_t) text + 12};
	for (size_t i = 0; i < columns; i++)
		column[i] = (fc_encoder_column) {{starts[i], lengths[i]}, first[i], i == 2 ? 2 : 1};
	feature[0] = (fc_encoder_feature) {.kind = (uint8_t) (seed >> 6) % 5,.width = 1,.weight = 1};
	feature[1] = (fc_encoder_feature) {.column = 1,.kind = FC_FEATURE_CATEGORY,.first = 1,.width = 2u + other + missing,.categories = 2,
		.other = other,.missing = missing,.type.length = 1,.collation.length = 2,.weight = 2,.nulls_seen = 3};
	feature[2] = (fc_encoder_feature) {.column = 2,.first = feature[1].first + feature[1].width,.width = 1,.first_category = 2,
		.path.length = 3,.log = 1,.weight = 1};
	feature[3] = (fc_encoder_feature) {.column = 2,.first = feature[2].first + 1,.width = 1,.first_category = 2,.categories = 1,
		.kind = FC_FEATURE_CATEGORY,.path.length = 1,.nulls = (uint8_t) (seed >> 8) % 3,.weight = 1};
	if (vector)
		feature[4] = (fc_encoder_feature) {.column = 3,.first = feature[3].first + 1,.width = (uint32_t) width,.first_category = 3,
			.kind = FC_FEATURE_VECTOR,.scaling = FC_SCALING_NONE,.weight = 1};
	for (size_t i = 0; i < features; i++)
	{
		feature[i].path.start = (uint32_t) text + (i < 3 ? 0 : i == 3 ? 3 : 4);
		feature[i].type.start = (uint32_t) text + (i < 2 ? 4 : 7);
		feature[i].collation.start = (uint32_t) text + (i < 1 ? 4 : i < 2 ? 5 : 7);
	}
	for (size_t i = 0; i < 3 * dim; i++)
		numbers[i] = 1 + (double) i;
	category[0] = (fc_encoder_category) {{(uint32_t) text + 7, 2}, 4};
	category[1] = (fc_encoder_category) {{(uint32_t) text + 9, 2}, 3};
	category[2] = (fc_encoder_category) {{(uint32_t) text + 11, 1}, 10};
	memcpy(category + 3, words, text);
	memcpy((char *) (category + 3) + text, words + 20, 12);
	fc_encoder_digest(header, size, header->digest);
	return size;
}

static void
reseal(uint8_t *bytes, size_t size)
{
	fc_encoder_header *header = (fc_encoder_header *) bytes;

	if (size >= sizeof(fc_encoder_header))
		fc_encoder_digest(header, size, header->digest);
}

static fc_status
check(const void *bytes, size_t size)
{
	return fc_encoder_check(bytes, size);
}

static void
use(const void *bytes, size_t size)
{
	static const char *const texts[] = {"DE", "x", "", "something else"};
	fc_encoder	encoder;
	void	   *memory;
	fc_feature_cell *cells;
	double	   *numbers;
	double	   *x;

	(void) size;
	fc_encoder_view(bytes, &encoder);
	memory = unit_uncleared(fc_encoder_prepared_size(&encoder));
	cells = unit_uncleared(encoder.features * sizeof(fc_feature_cell));
	numbers = unit_uncleared(encoder.dim * sizeof(double));
	x = unit_uncleared(encoder.dim * sizeof(double));
	fc_encoder_prepare(&encoder, memory);
	for (size_t i = 0; i < encoder.dim; i++)
		numbers[i] = (double) i;
	for (int row = 0; row < 5; row++)
	{
		for (size_t i = 0; i < encoder.features; i++)
		{
			bool		category = encoder.feature[i].kind == FC_FEATURE_CATEGORY;

			cells[i] = (fc_feature_cell) {.kind = row == 4 ? FC_CELL_NULL : category ? FC_CELL_TEXT :
				encoder.feature[i].kind == FC_FEATURE_VECTOR ? FC_CELL_DOUBLES : FC_CELL_NUMBER,.number = row};
			if (cells[i].kind == FC_CELL_TEXT)
				cells[i].text = texts[row];
			if (cells[i].kind == FC_CELL_TEXT)
				cells[i].length = (uint32_t) strlen(texts[row]);
			if (cells[i].kind == FC_CELL_DOUBLES)
				cells[i].doubles = numbers;
		}
		fc_encode(&encoder, 0, encoder.features, cells, x);
		fc_rescale_rows(x, 1, encoder.dim, encoder.center, encoder.scale, x);
		fuzz_sink += x[encoder.dim - 1];
	}
}

/*
 * test_encode.c - exact sums are correctly rounded and frequent items are
 * found in any order. Encoders have unit variance to 1e-12, map unknown values
 * as promised, do not depend on the order of rows, and refuse damaged bytes.
 */
#include "encode/encoder.h"
#include "encode/frequent_items.h"
#include "encode/learn.h"
#include "numerics/rows.h"
#include "unit.h"

/* ---- exact sums ---- */

#define NUMBERS 5000

/*
 * Sums are the same to the bit in any order, agree with long double to 1e-15,
 * and are exact when large terms cancel.
 */
static void
test_exact_sum(void)
{
	static double x[NUMBERS];
	static const double hard[] = {1e100, 3.0, -1e100, 1e-300, -3.0, 2.5};
	fc_rng		rng = fc_rng_start(5, 0);
	fc_exact_sum up = {{0}, 0};
	fc_exact_sum down = {{0}, 0};
	fc_exact_sum few = {{0}, 0};
	long double sum = 0;

	for (size_t i = 0; i < NUMBERS; i++)
		x[i] = fc_rng_normal(&rng) * ldexp(1.0, (int) (i % 120) - 60);
	for (size_t i = 0; i < NUMBERS; i++)
	{
		fc_exact_add(&up, x[i]);
		fc_exact_add(&down, x[NUMBERS - 1 - i]);
		sum += (long double) x[i];
	}
	CHECK(fc_exact_value(&up) == fc_exact_value(&down), "the order of the rows changes the result");
	CHECK(fabs(fc_exact_value(&up) - (double) sum) <= 1e-15 * fabs((double) sum), "%.17g, not %.17g", fc_exact_value(&up), (double) sum);
	for (size_t i = 0; i < sizeof(hard) / sizeof(hard[0]); i++)
		fc_exact_add(&few, hard[i]);
	CHECK(fc_exact_value(&few) == 2.5, "%.17g", fc_exact_value(&few));
	fc_exact_add(&few, -5.0);
	CHECK(fc_exact_value(&few) == -2.5, "%.17g", fc_exact_value(&few));
	fc_exact_add(&few, 2.5);
	fc_exact_add(&few, -1e-300);
	CHECK(fc_exact_value(&few) == 0.0, "%.17g", fc_exact_value(&few));
}

/*
 * The variance around a mean 1e9 times larger, of either sign, is exact to
 * 1e-6. Sums of squares in double would lose it.
 */
static void
test_centered_squares(void)
{
	for (int sign = -1; sign <= 1; sign += 2)
	{
		fc_exact_sum sum = {{0}, 0};
		fc_exact_sum squares = {{0}, 0};
		double		mean;

		for (int i = -500; i <= 500; i++)
		{
			double		x = sign * 1e9 + 1e-3 * i;

			fc_exact_add(&sum, x);
			fc_exact_add_product(&squares, x, x);
		}
		mean = fc_exact_value(&sum) / 1001;
		fc_exact_center(&squares, &sum, 1001, mean);
		CHECK(fabs(fc_exact_value(&squares) / (1e-6 * 83583500.0) - 1.0) < 1e-6, "%.17g", fc_exact_value(&squares));
	}
}

/* ---- tallies ---- */

static void
move(fc_frequent_items *frequent, size_t length)
{
	if (fc_frequent_wants_sketch(frequent))
		fc_frequent_attach(frequent, unit_alloc(FC_FREQUENT_SKETCH_BYTES, 1));
	fc_frequent_move(frequent, length, unit_alloc(fc_frequent_next_bytes(frequent, length), 1));
}

static void
give_capacity(fc_frequent_items *frequent, size_t length)
{
	while (!fc_frequent_has_capacity(frequent, length))
		move(frequent, length);
}

static void
grow_frequent(fc_frequent_items *frequent)
{
	while (fc_frequent_exceeds_limit(frequent))
		move(frequent, 0);
}

static void
count_number(fc_frequent_items *frequent, double x)
{
	give_capacity(frequent, 0);
	fc_frequent_add_number(frequent, x, 1);
	grow_frequent(frequent);
}

static void
count_text(fc_frequent_items *frequent, const char *text)
{
	give_capacity(frequent, strlen(text));
	fc_frequent_add_text(frequent, NULL, text, strlen(text), 1);
	grow_frequent(frequent);
}

static void
quartiles_of(const fc_frequent_items *frequent, double quartiles[3])
{
	static const double shares[3] = {0.25, 0.5, 0.75};

	fc_frequent_quantiles(frequent, shares, 3, unit_work(), quartiles);
}

/*
 * Quartiles of few distinct numbers are exact, of type 7. Quartiles of many
 * numbers are accurate to 0.02 and do not depend on the order.
 */
static void
test_quantiles(void)
{
	static const double few[] = {5, -1, 5, 2, 100, 2, -0.0, 0.0};
	static const double normal[3] = {-0.6744897501960817, 0, 0.6744897501960817};
	fc_frequent_items	frequent = {.texts = false};
	fc_frequent_items	back = {.texts = false};
	double		quartiles[3];
	double		others[3];
	size_t		n = 100000;
	double	   *x = unit_alloc(n, sizeof(double));
	fc_rng		rng = fc_rng_start(6, 0);

	for (size_t i = 0; i < 8; i++)
		count_number(&frequent, few[i]);
	CHECK(frequent.used == 5, "%zu distinct", frequent.used);
	quartiles_of(&frequent, quartiles);
	CHECK(quartiles[0] == 0 && quartiles[1] == 2 && quartiles[2] == 5, "%g %g %g", quartiles[0], quartiles[1], quartiles[2]);
	frequent = (fc_frequent_items) {.texts = false};
	for (size_t i = 0; i < n; i++)
		x[i] = fc_rng_normal(&rng);
	for (size_t i = 0; i < n; i++)
	{
		count_number(&frequent, x[i]);
		count_number(&back, x[n - 1 - i]);
	}
	quartiles_of(&frequent, quartiles);
	quartiles_of(&back, others);
	CHECK(memcmp(quartiles, others, sizeof(others)) == 0, "the order of the rows changes the result");
	for (int i = 0; i < 3; i++)
		CHECK(fabs(quartiles[i] - normal[i]) < 0.02, "quartile %d is %g", i, quartiles[i]);
	CHECK(frequent.used <= FC_FREQUENT_NUMBERS && frequent.total == (int64_t) n, "%zu used", frequent.used);
}

#define MANY_TEXTS	60000

static void
write_planted_text(size_t i, char *text)
{
	if (i % 10 == 3)
		strcpy(text, "frequent");
	else if (i % 25 == 1)
		strcpy(text, "less");
	else
		snprintf(text, 32, "rare %zu", i);
}

/*
 * Two frequent texts among too many to list are found in any order, and their
 * counts are accurate to 30 rows.
 */
static void
test_many_texts(void)
{
	fc_frequent_items	frequent[2] = {{.texts = true}, {.texts = true}};
	uint32_t   *chosen = unit_alloc(FC_FREQUENT_TEXTS + 1, sizeof(uint32_t));
	char		text[32];
	int64_t		counts[2][2];

	for (size_t i = 0; i < MANY_TEXTS; i++)
	{
		write_planted_text(i, text);
		count_text(&frequent[0], text);
		write_planted_text(MANY_TEXTS - 1 - i, text);
		count_text(&frequent[1], text);
	}
	for (int t = 0; t < 2; t++)
	{
		CHECK(frequent[t].sketch != NULL && frequent[t].total == MANY_TEXTS, "there is no sketch, or rows are missing");
		CHECK(fc_most_frequent(&frequent[t], 32, chosen) == 2, "the frequent texts are not two");
		for (int j = 0; j < 2; j++)
			counts[t][j] = fc_frequent_count(&frequent[t], chosen[j]);
		CHECK(frequent[t].entry[chosen[0]].length == 8 && memcmp(frequent[t].text + frequent[t].entry[chosen[0]].start, "frequent", 8) == 0,
			  "the most frequent text is wrong");
	}
	CHECK(counts[0][0] == counts[1][0] && counts[0][1] == counts[1][1], "the order of the rows changes the result");
	CHECK(counts[0][0] >= 6000 && counts[0][0] <= 6030 && counts[0][1] >= 2400 && counts[0][1] <= 2430, "%lld and %lld rows",
		  (long long) counts[0][0], (long long) counts[0][1]);
}

/*
 * Frequent texts come in descending order of count, ties in the order of their
 * bytes; long texts are only counted.
 */
static void
test_frequent_texts(void)
{
	static const char *const texts[] = {"b", "a", "", "c", "b", "d", "ab"};
	fc_frequent_items	frequent = {.texts = true};
	uint32_t	chosen[8];
	char		long_text[FC_FREQUENT_LENGTH + 2];
	size_t		n;

	for (size_t i = 0; i < 7 * 100; i++)
		count_text(&frequent, texts[i % 7]);
	memset(long_text, 'x', sizeof(long_text));
	long_text[FC_FREQUENT_LENGTH + 1] = 0;
	count_text(&frequent, long_text);
	n = fc_most_frequent(&frequent, 3, chosen);
	CHECK(n == 3 && frequent.total == 701 && frequent.long_texts == 1, "%zu chosen", n);
	CHECK(frequent.entry[chosen[0]].length == 0 && frequent.text[frequent.entry[chosen[1]].start] == 'a' &&
		  frequent.entry[chosen[1]].length == 1 && frequent.text[frequent.entry[chosen[2]].start] == 'b', "the frequent texts are wrong");
}

/*
 * Counts text number i of a key: a word in one of 64 spellings, of which some
 * are longer.
 */
static void
count_keyed(fc_frequent_items *frequent, size_t i)
{
	uint64_t	key = i % 10 < 3 ? 1 : i % 25 == 4 ? 2 : 1000 + i;
	char		text[64];

	snprintf(text, sizeof(text), "%c%0*zu of %d", "dcba"[i / 30 % 4], 1 + (int) (i / 7 % 16), i % 3, (int) key);
	give_capacity(frequent, strlen(text));
	fc_frequent_add_text(frequent, &key, text, strlen(text), 1);
	grow_frequent(frequent);
}

/*
 * Texts of one key are one value, shown as the first of them by bytes. Texts
 * that were replaced leave the memory.
 */
static void
test_keyed_values(void)
{
	static const char *const spellings[] = {"b", "aZ", "aaa", "aa", "b", "c", ""};
	fc_frequent_items	frequent[2] = {{.texts = true,.keyed = true}, {.texts = true,.keyed = true}};
	fc_frequent_items	few = {.texts = true,.keyed = true};
	uint32_t   *chosen = unit_alloc(FC_FREQUENT_TEXTS + 1, sizeof(uint32_t));

	for (size_t i = 0; i < MANY_TEXTS; i++)
	{
		count_keyed(&frequent[0], i);
		count_keyed(&frequent[1], MANY_TEXTS - 1 - i);
	}
	for (int t = 0; t < 2; t++)
	{
		CHECK(fc_most_frequent(&frequent[t], 32, chosen) == 2, "the frequent values are not two");
		for (int j = 0; j < 2; j++)
		{
			const fc_frequent_item *entry = &frequent[t].entry[chosen[j]];
			const char *least = j == 0 ? "a0 of 1" : "a0 of 2";

			CHECK(entry->length == strlen(least) && memcmp(frequent[t].text + entry->start, least, entry->length) == 0, "value %d is shown as %.*s", j, (int) entry->length, frequent[t].text + entry->start);
		}
		CHECK(frequent[t].sketch != NULL && fc_frequent_count(&frequent[t], chosen[0]) >= 18000 && fc_frequent_count(&frequent[t], chosen[0]) <= 18030, "%lld rows", (long long) fc_frequent_count(&frequent[t], chosen[0]));
	}
	for (size_t i = 0; i < 7; i++)
	{
		give_capacity(&few, strlen(spellings[i]));
		fc_frequent_add_text(&few, &(uint64_t) {9}, spellings[i], strlen(spellings[i]), 1);
	}
	CHECK(few.used == 1 && few.text_kept == 0 && few.text_used > 0, "%zu of %zu bytes are kept", few.text_kept, few.text_used);
	for (size_t i = 0; i < 100000; i++)
	{
		char		text[64];

		snprintf(text, sizeof(text), "%06zu%.*s", 100000 - i, (int) (i % 8), "--------");
		give_capacity(&few, strlen(text));
		fc_frequent_add_text(&few, &(uint64_t) {1 + i % 2}, text, strlen(text), 1);
	}
	CHECK(few.used == 3 && few.text_capacity <= 512, "%zu bytes for three texts", few.text_capacity);
}

/*
 * Of many texts with one frequency, the chosen ones are not frequent by
 * chance: their rows are about as many as expected. If chance decides about
 * every text that was seen, few are chosen.
 */
static void
test_even_texts(void)
{
	static const struct
	{
		uint64_t	texts;
		size_t		rows;
		size_t		min,
					max;
	}			laws[] = {{33, 5000, 32, 32}, {200, 5000, 32, 32}, {1000, 10000, 32, 32}, {3000, 1000, 1, 3}};
	uint32_t	chosen[3000];

	for (size_t t = 0; t < 4; t++)
	{
		fc_frequent_items	frequent = {.texts = true};
		fc_rng		rng = fc_rng_start(t, 1);
		char		text[32];
		double		rows = 0;
		double		expected;
		size_t		n;

		for (size_t i = 0; i < laws[t].rows; i++)
		{
			snprintf(text, sizeof(text), "text %d", (int) fc_rng_below(&rng, laws[t].texts));
			count_text(&frequent, text);
		}
		n = fc_most_frequent(&frequent, 32, chosen);
		for (size_t j = 0; j < n; j++)
			rows += (double) fc_frequent_count(&frequent, chosen[j]);
		expected = (double) n * (double) laws[t].rows / (double) laws[t].texts;
		CHECK(n >= laws[t].min && n <= laws[t].max, "%zu of %d texts are chosen", n, (int) laws[t].texts);
		CHECK(n < 32 || fabs(rows - expected) < 3 * sqrt(expected), "%.0f rows of %d texts, not %.0f", rows, (int) laws[t].texts, expected);
	}
}

/* ---- encoders ---- */

#define ROWS	1200
#define WIDTH	3
#define FEATURES	6

enum
{
	AGE,
	MONEY,
	COUNTRY,
	FLAG,
	POINT,
	PATH
};

static const char *const countries[] = {"DE", "FR", "IT", "US", "ZZ", "other"};

/*
 * Makes row i: an age that may be NULL, money with a long tail, a country, a
 * flag, a vector, and a number or text at a path.
 */
static void
make_row(size_t i, fc_feature_cell cells[FEATURES], double point[WIDTH])
{
	fc_rng		rng = fc_rng_start(7, i);
	size_t		country = fc_rng_below(&rng, 12);

	cells[AGE] = (fc_feature_cell) {.kind = i % 9 == 0 ? FC_CELL_NULL : FC_CELL_NUMBER,.number = 40 + 12 * fc_rng_normal(&rng)};
	cells[MONEY] = (fc_feature_cell) {.kind = FC_CELL_NUMBER,.number = exp(3 * fc_rng_normal(&rng)) - 1};
	cells[COUNTRY] = (fc_feature_cell) {.kind = i % 50 == 0 ? FC_CELL_NULL : FC_CELL_TEXT,.text = countries[country < 6 ? country : 0]};
	cells[COUNTRY].length = (uint32_t) strlen(countries[country < 6 ? country : 0]);
	cells[FLAG] = (fc_feature_cell) {.kind = FC_CELL_NUMBER,.number = (double) (i % 3 == 0)};
	for (int j = 0; j < WIDTH; j++)
		point[j] = (j + 1) * fc_rng_normal(&rng) + 100 * j;
	cells[POINT] = (fc_feature_cell) {.kind = FC_CELL_DOUBLES,.length = WIDTH,.doubles = point};
	cells[PATH] = (fc_feature_cell) {.kind = FC_CELL_TEXT,.length = 1,.text = i % 2 == 0 ? "1" : "x"};
}

static void
start_learners(fc_learner learners[FEATURES], fc_nulls nulls)
{
	static const fc_feature_kind kinds[FEATURES] = {FC_FEATURE_NUMBER, FC_FEATURE_NUMBER, FC_FEATURE_CATEGORY, FC_FEATURE_BOOLEAN,
	FC_FEATURE_VECTOR, FC_FEATURE_ANY};

	for (int i = 0; i < FEATURES; i++)
	{
		size_t		width = i == POINT ? WIDTH : 1;

		learners[i] = (fc_learner) {.kind = kinds[i],.count = 1,.scaling = FC_SCALING_DEFAULT,.nulls = nulls,.weight = 1.0,.max_categories = 4,
			.width = width,.sums = unit_alloc(width, sizeof(fc_exact_sum)),.squares = unit_alloc(width, sizeof(fc_exact_sum)),
			.values = {.texts = false},.categories = {.texts = true,.keyed = i == COUNTRY}};
	}
	learners[MONEY].log = true;
}

static void
learn_cell(fc_learner *learner, size_t row, const fc_feature_cell *cell)
{
	give_capacity(&learner->values, 0);
	give_capacity(&learner->categories, cell->kind == FC_CELL_TEXT ? cell->length : 0);
	if (cell->kind == FC_CELL_NULL)
		learner->nulls_seen++;
	else if (learner->kind == FC_FEATURE_ANY)
		fc_learn_any(learner, row % 2 == 0 ? FC_FEATURE_NUMBER : FC_FEATURE_CATEGORY, 1, cell->text, cell->length);
	else if (cell->kind == FC_CELL_TEXT && learner->categories.keyed)
		fc_learn_text(learner, &(uint64_t) {fc_hash_bytes(3, cell->text, cell->length)}, cell->text, cell->length);
	else if (cell->kind == FC_CELL_TEXT)
		fc_learn_text(learner, NULL, cell->text, cell->length);
	else if (cell->kind == FC_CELL_NUMBER)
		fc_learn_number(learner, cell->number);
	else
		fc_learn_vector(learner, cell);
	grow_frequent(&learner->values);
	grow_frequent(&learner->categories);
}

static void
learn_rows(fc_learner learners[FEATURES], bool backwards)
{
	fc_feature_cell cells[FEATURES];
	double		point[WIDTH];

	for (size_t i = 0; i < ROWS; i++)
	{
		size_t		row = backwards ? ROWS - 1 - i : i;

		make_row(row, cells, point);
		for (int j = 0; j < FEATURES; j++)
			learn_cell(&learners[j], row, &cells[j]);
	}
}

static fc_encoder_header *
encoder_of(const fc_learner learners[FEATURES], size_t *size)
{
	static const fc_feature_name names[FEATURES] = {{.name = "age"}, {.name = "money"},
	{.name = "country",.type = "public.citext",.collation = "c"},
	{.name = "flag"}, {.name = "point"}, {.name = "props",.path = "a.b"}};
	fc_sample	sample = {learners, names, FEATURES, ROWS, 0};
	fc_arena	choose = unit_arena();
	fc_encoder_choice choice;
	fc_encoder_header *header;
	size_t		bad;

	CHECK(fc_encoder_choose(&sample, &choose, &choice, &bad) == FC_OK, "the encoder cannot be chosen");
	header = unit_alloc(choice.size, 1);
	fc_encoder_write(&sample, &choice, unit_work(), header);
	CHECK(fc_encoder_check(header, choice.size) == FC_OK, "the encoder is not valid");
	*size = choice.size;
	return header;
}

static fc_encoder_header *
learned(bool backwards, size_t *size)
{
	fc_learner	learners[FEATURES];

	start_learners(learners, FC_NULLS_IMPUTE);
	learners[AGE].scaling = FC_SCALING_ROBUST;
	learn_rows(learners, backwards);
	return encoder_of(learners, size);
}

static fc_encoder
prepared(const fc_encoder_header *header)
{
	fc_encoder	encoder;

	fc_encoder_view(header, &encoder);
	fc_encoder_prepare(&encoder, unit_alloc(fc_encoder_prepared_size(&encoder), 1));
	return encoder;
}

/* Learning the rows backwards gives the same encoder, to the bit. */
static void
test_order_of_rows(void)
{
	size_t		size[2];
	fc_encoder_header *header[2] = {learned(false, &size[0]), learned(true, &size[1])};

	CHECK(size[0] == size[1] && memcmp(header[0], header[1], size[0]) == 0, "the order of the rows changes the result");
}

/* Returns the variance that all dimensions of a feature have together. */
static double
wanted_variance(const fc_encoder *encoder, const fc_encoder_feature *feature)
{
	double		squares = 0.0;

	for (uint32_t j = 0; feature->kind == FC_FEATURE_CATEGORY && j < feature->width; j++)
		squares += encoder->center[feature->first + j] * encoder->center[feature->first + j];
	return squares > 0.0 ? fmax(1.0, sqrt(1.0 / squares - 1.0)) : 1.0;
}

/*
 * The encoded rows of the sample have mean 0 in each dimension and the wanted
 * variance in each feature, to 1e-12, except robust and imputed columns.
 */
static void
test_units(void)
{
	size_t		size;
	fc_encoder_header *header = learned(false, &size);
	fc_encoder	encoder = prepared(header);
	double		mean[FC_MAX_FEATURES] = {0};
	double		variance[FEATURES] = {0};
	fc_feature_cell cells[FEATURES];
	double		point[WIDTH];
	double	   *x = unit_alloc(encoder.dim, sizeof(double));

	for (size_t i = 0; i < ROWS; i++)
	{
		make_row(i, cells, point);
		fc_encode(&encoder, 0, encoder.features, cells, x);
		fc_rescale_rows(x, 1, encoder.dim, encoder.center, encoder.scale, x);
		for (size_t f = 0; f < FEATURES; f++)
			for (uint32_t j = encoder.feature[f].first; j < encoder.feature[f].first + encoder.feature[f].width; j++)
			{
				mean[j] += x[j] / ROWS;
				variance[f] += x[j] * x[j] / ROWS;
			}
	}
	for (size_t f = 0; f < FEATURES; f++)
	{
		double		wanted = wanted_variance(&encoder, &encoder.feature[f]);

		CHECK(fabs(variance[f] - wanted) < (f == AGE ? 0.2 : 1e-12), "feature %zu has variance %.15g", f, variance[f]);
		for (uint32_t j = encoder.feature[f].first; f != AGE && j < encoder.feature[f].first + encoder.feature[f].width; j++)
			CHECK(fabs(mean[j]) < 1e-12, "dimension %u has mean %g", j, mean[j]);
	}
}

/*
 * Values that the sample did not contain: an unknown text becomes `other`,
 * even if the sample has no others, and a NULL is imputed.
 */
static void
test_unknown_values(void)
{
	size_t		size;
	fc_encoder_header *header = learned(false, &size);
	fc_encoder	encoder = prepared(header);
	fc_feature_cell cells[FEATURES];
	double		point[WIDTH];
	double	   *x = unit_alloc(encoder.dim, sizeof(double));
	const fc_encoder_feature *country = &encoder.feature[COUNTRY];
	const fc_encoder_feature *path = &encoder.feature[PATH];

	CHECK(country->categories == 4 && country->other == 1 && country->missing == 1 && country->width == 6, "%u dimensions", country->width);
	CHECK(path->kind == FC_FEATURE_CATEGORY && path->categories == 2 && path->width == 3, "%u dimensions at the path", path->width);
	make_row(1, cells, point);
	cells[COUNTRY].text = cells[PATH].text = "never seen";
	cells[COUNTRY].length = cells[PATH].length = 10;
	fc_encode(&encoder, 0, encoder.features, cells, x);
	for (uint32_t j = 0; j < country->width; j++)
		CHECK(x[country->first + j] == (j == 4), "dimension %u of the country is %g", j, x[country->first + j]);
	CHECK(x[path->first] == 0 && x[path->first + 1] == 0 && x[path->first + 2] == 1, "an unknown text at the path is encoded wrongly");
	CHECK(encoder.center[path->first + 2] == 0 && encoder.scale[path->first + 2] == encoder.scale[path->first], "the unit of other texts is wrong");
	CHECK(x[encoder.feature[MONEY].first] == fc_signed_log(cells[MONEY].number), "money is not a logarithm");
	for (int f = 0; f < FEATURES; f++)
		cells[f].kind = FC_CELL_NULL;
	fc_encode(&encoder, 0, encoder.features, cells, x);
	CHECK(memcmp(x, encoder.fill, encoder.dim * sizeof(double)) == 0, "NULLs are not imputed");
	CHECK(x[country->first + 5] == 1, "a NULL country is not encoded as missing");
	CHECK(fabs(x[encoder.feature[AGE].first] - 40) < 2 && fabs(x[encoder.feature[POINT].first + 2] - 200) < 1, "imputed values are far from the middle");
}

/*
 * Indicators of NULLs for the age, which has some, and for the flag and the
 * point, which have no NULLs: indicators have unit variance, and all other
 * dimensions keep their bits.
 */
static void
test_indicators(void)
{
	static const bool flag[FEATURES] = {[AGE] = true,[FLAG] = true,[POINT] = true};
	static const bool none[FEATURES] = {false};
	size_t		size;
	fc_encoder_header *header = learned(false, &size);
	size_t		flagged_size = size + fc_encoder_flags_size(3);
	fc_encoder_header *flagged = unit_alloc(flagged_size, 1);
	fc_encoder_header *renewed = unit_alloc(flagged_size, 1);
	fc_encoder	plain;
	fc_encoder	encoder;
	fc_encoder	again;
	uint32_t	equal[16];
	double	   *x[2];
	double		mean = 0.0;
	double		square = 0.0;
	fc_feature_cell cells[FEATURES];
	double		point[WIDTH];

	fc_encoder_flag_nulls(header, size, none, renewed);
	CHECK(memcmp(renewed, header, size) == 0, "an encoder without flags changes");
	fc_encoder_flag_nulls(header, size, flag, flagged);
	CHECK(fc_encoder_check(flagged, flagged_size) == FC_OK, "an encoder with flags is refused");
	plain = prepared(header);
	encoder = prepared(flagged);
	CHECK(encoder.dim == plain.dim + 3 && encoder.feature[AGE].width == 2 && encoder.feature[POINT].width == WIDTH + 1, "%zu dimensions", encoder.dim);
	x[0] = unit_alloc(plain.dim, sizeof(double));
	x[1] = unit_alloc(encoder.dim, sizeof(double));
	for (size_t i = 0; i < ROWS; i++)
	{
		make_row(i, cells, point);
		fc_encode(&plain, 0, plain.features, cells, x[0]);
		fc_encode(&encoder, 0, encoder.features, cells, x[1]);
		for (int f = 0; f < FEATURES; f++)
		{
			size_t		values = plain.feature[f].width;

			CHECK(memcmp(x[0] + plain.feature[f].first, x[1] + encoder.feature[f].first, values * sizeof(double)) == 0, "the values of feature %d change", f);
			CHECK(!flag[f] || x[1][encoder.feature[f].first + values] == (cells[f].kind == FC_CELL_NULL), "the indicator of feature %d is wrong", f);
		}
		fc_rescale_rows(x[1], 1, encoder.dim, encoder.center, encoder.scale, x[1]);
		mean += x[1][1] / ROWS;
		square += x[1][1] * x[1][1] / ROWS;
	}
	CHECK(fabs(mean) < 1e-12 && fabs(square - 1.0) < 1e-12, "mean %g, square %.15g", mean, square);
	CHECK(encoder.scale[encoder.feature[FLAG].first + 1] == 1.0, "the indicator of a column without NULLs has another scale");
	CHECK(fabs(encoder.scale[0] / plain.scale[0] - sqrt(8.0 / 9.0)) < 1e-3, "the scale of the age is %g", encoder.scale[0] / plain.scale[0]);
	CHECK(fc_encoder_is_alike(&encoder, &plain), "encoders with and without flags are not alike");
	for (size_t f = 0; f < FEATURES; f++)
		for (uint32_t j = 0; j < encoder.feature[f].categories; j++)
		{
			fc_encoder_text category = fc_category(&encoder, &encoder.feature[f], j)->text;

			equal[encoder.feature[f].first_category + j] = fc_find_category(&plain, f, encoder.text + category.start, category.length);
		}
	fc_encoder_renew(flagged, flagged_size, header, equal, renewed);
	CHECK(memcmp(renewed, flagged, flagged_size) == 0, "renewing changes the encoder");
	equal[0] = 1;
	equal[1] = plain.feature[COUNTRY].categories;
	fc_encoder_renew(flagged, flagged_size, header, equal, renewed);
	fc_encoder_view(renewed, &again);
	CHECK(again.category[0].count == plain.category[1].count && again.category[1].count == 0, "categories are not renewed by the equal ones");
	CHECK(fc_encoder_check(renewed, flagged_size) == FC_OK, "a renewed encoder is refused");
	((fc_encoder_feature *) &again.feature[COUNTRY])->collation.length = 0;
	CHECK(!fc_encoder_is_alike(&again, &plain), "encoders with other types of categories are alike");
	((fc_encoder_feature *) &encoder.feature[COUNTRY])->missing = 0;
	fc_encoder_digest(flagged, flagged_size, flagged->digest);
	CHECK(fc_encoder_check(flagged, flagged_size) == FC_EFORMAT, "a missing dimension is accepted");
}

/*
 * A single vector column stays unchanged, or has each element standardised if
 * that is requested.
 */
static void
test_single_vector(void)
{
	static const fc_feature_name name = {.name = "x"};
	fc_learner	learners[FEATURES];

	start_learners(learners, FC_NULLS_IMPUTE);
	learn_rows(learners, false);
	for (int standard = 0; standard < 2; standard++)
	{
		fc_sample	sample = {&learners[POINT], &name, 1, ROWS, 0};
		fc_arena	arena = unit_arena();
		fc_encoder_choice choice;
		fc_encoder_header *header;
		fc_encoder	view;
		size_t		bad;

		learners[POINT].scaling = standard ? FC_SCALING_STANDARD : FC_SCALING_DEFAULT;
		CHECK(fc_encoder_choose(&sample, &arena, &choice, &bad) == FC_OK, "the encoder cannot be chosen");
		header = unit_alloc(choice.size, 1);
		fc_encoder_write(&sample, &choice, &arena, header);
		fc_encoder_view(header, &view);
		CHECK(fc_encoder_is_scaled(&view) == (standard == 1), "scaled: %d", standard);
		CHECK(!standard || (fabs(view.scale[2] - 3) < 0.2 && fabs(view.scale[0] - 1) < 0.1), "scales %g %g", view.scale[0], view.scale[2]);
	}
}

/* A row that counts three times is learned as three rows, to the bit. */
static void
test_counts(void)
{
	fc_encoder_header *header[2];
	size_t		size[2];

	for (int counted = 0; counted < 2; counted++)
	{
		fc_learner	learners[FEATURES];
		fc_feature_cell cells[FEATURES];
		double		point[WIDTH];

		start_learners(learners, FC_NULLS_IMPUTE);
		for (size_t row = 0; row < ROWS / 2; row++)
		{
			make_row(row, cells, point);
			for (int j = 0; j < FEATURES; j++)
			{
				int			times = 1 + (int) (row % 3);

				learners[j].count = counted ? times : 1;
				for (int i = 0; i < (counted ? 1 : times); i++)
					if (!counted || cells[j].kind != FC_CELL_NULL)
						learn_cell(&learners[j], row, &cells[j]);
					else
						learners[j].nulls_seen += times;
			}
		}
		header[counted] = encoder_of(learners, &size[counted]);
	}
	CHECK(size[0] == size[1] && memcmp(header[0], header[1], size[0]) == 0, "counts and repeated rows give other encoders");
}

/*
 * Constant columns, columns of NULLs and a single category have scale 1,
 * divided by the weight.
 */
static void
test_constants(void)
{
	fc_learner	learners[FEATURES];
	fc_encoder_header *header;
	fc_encoder	view;
	size_t		size;

	start_learners(learners, FC_NULLS_IMPUTE);
	learners[AGE].nulls_seen = learners[PATH].nulls_seen = ROWS;
	learners[MONEY].weight = 4.0;
	for (int i = 0; i < ROWS; i++)
	{
		fc_feature_cell cell = {.kind = FC_CELL_TEXT,.length = 2,.text = "DE"};
		double		point[WIDTH] = {0.1, 0.2, 0.3};

		learn_cell(&learners[COUNTRY], 0, &cell);
		fc_learn_number(&learners[MONEY], 0.1);
		fc_learn_number(&learners[FLAG], 1);
		fc_learn_vector(&learners[POINT], &(fc_feature_cell) {.kind = FC_CELL_DOUBLES,.doubles = point});
	}
	header = encoder_of(learners, &size);
	fc_encoder_view(header, &view);
	CHECK(view.dim == 10, "%zu dimensions", view.dim);
	for (size_t i = 0; i < view.dim; i++)
		CHECK(view.scale[i] == (i == 1 ? 0.25 : 1.0), "scale %zu is %.17g", i, view.scale[i]);
	CHECK(view.center[view.feature[AGE].first] == 0 && view.center[view.feature[COUNTRY].first] == 1, "the centers of constant columns are wrong");
}

/*
 * Every changed bit is refused by the digest. With a new digest, damaged
 * fields are refused or harmless.
 */
static void
check_damage(const fc_encoder_header *header, size_t size)
{
	uint8_t    *bytes = unit_alloc(size, 1);
	fc_encoder_header *damaged = (fc_encoder_header *) bytes;
	size_t		found = 0;

	for (size_t bit = 32; bit < 8 * size; bit++)
	{
		memcpy(bytes, header, size);
		bytes[bit / 8] = (uint8_t) (bytes[bit / 8] ^ 1 << bit % 8);
		CHECK(fc_encoder_check(bytes, size) == FC_EFORMAT, "a changed bit %zu is accepted", bit);
		fc_encoder_digest(damaged, size, damaged->digest);
		if (fc_encoder_check(bytes, size) == FC_OK)
		{
			fc_encoder	encoder = prepared(damaged);
			fc_feature_cell cells[FEATURES] = {{.kind = FC_CELL_NULL}};
			double	   *x = unit_alloc(damaged->dim, sizeof(double));

			fc_encode(&encoder, 0, encoder.features, cells, x);
		}
		else
			found++;
	}
	CHECK(found > 2 * size, "only %zu of %zu bits are checked", found, 8 * size);
	for (size_t less = 1; less < size; less += 7)
		CHECK(fc_encoder_check(header, size - less) == FC_EFORMAT, "%zu missing bytes are accepted", less);
}

static void
test_damage(void)
{
	size_t		size;
	fc_encoder_header *header = learned(false, &size);

	check_damage(header, size);
}

/* ---- cyclic columns ---- */

/*
 * Hours from 19 to 27, and days of a week of a time zone: both coordinates
 * together have variance 1 and mean 0, values a period apart are equal, and the
 * mean direction is within a period from the least value of the sample.
 */
static void
test_cyclic(void)
{
	static const fc_feature_name names[2] = {{.name = "hour"}, {.name = "at",.type = "Europe/Berlin"}};
	fc_learner	learners[2];
	fc_sample	sample = {learners, names, 2, 1000, 0};
	fc_arena	arena = unit_arena();
	fc_encoder_choice choice;
	fc_encoder_header *header;
	fc_encoder	encoder;
	fc_feature_cell cells[2] = {{.kind = FC_CELL_NUMBER}, {.kind = FC_CELL_NUMBER}};
	double		x[4];
	double		sum[4] = {0};
	double		squares[2] = {0};
	size_t		bad;

	for (int f = 0; f < 2; f++)
	{
		learners[f] = fc_learner_start(f == 0 ? FC_FEATURE_NUMBER : FC_FEATURE_TIMESTAMP, false, FC_SCALING_STANDARD, FC_NULLS_IMPUTE, 1.0 + f, 8);
		learners[f].cycle = f == 0 ? FC_CYCLE_PERIOD : FC_CYCLE_WEEK;
		learners[f].period = f == 0 ? 24.0 : 7.0;
		learners[f].sums = unit_alloc(2, sizeof(fc_exact_sum));
		learners[f].squares = unit_alloc(2, sizeof(fc_exact_sum));
		for (int i = 0; i < 1000; i++)
			fc_learn_number(&learners[f], f == 0 ? 19.0 + i % 9 : i % 3 * 3);
	}
	CHECK(fc_encoder_choose(&sample, &arena, &choice, &bad) == FC_OK, "the encoder cannot be chosen");
	header = unit_alloc(choice.size, 1);
	fc_encoder_write(&sample, &choice, unit_work(), header);
	CHECK(fc_encoder_check(header, choice.size) == FC_OK, "the encoder is not valid");
	check_damage(header, choice.size);
	encoder = prepared(header);
	CHECK(encoder.dim == 4 && encoder.feature[0].lowest == 19.0 && !encoder.feature[0].turns && encoder.feature[1].lowest == 0.0, "%zu dimensions", encoder.dim);
	for (int i = 0; i < 1000; i++)
	{
		cells[0].number = 19.0 + i % 9 + 24.0 * (i % 5 - 2);
		cells[1].number = i % 3 * 3 + 7.0 * (i % 4);
		fc_encode(&encoder, 0, 2, cells, x);
		fc_rescale_rows(x, 1, 4, encoder.center, encoder.scale, x);
		for (int j = 0; j < 4; j++)
		{
			sum[j] += x[j] / 1000;
			squares[j / 2] += x[j] * x[j] / 1000;
		}
	}
	for (int j = 0; j < 4; j++)
		CHECK(fabs(sum[j]) < 1e-9, "mean %d is %g", j, sum[j]);
	CHECK(fabs(squares[0] - 1.0) < 1e-9 && fabs(squares[1] - 4.0) < 1e-9, "variances %.12g %.12g", squares[0], squares[1]);
	CHECK(fabs(fc_value_of_angle(&encoder.feature[0], encoder.fill) - 23.0) < 0.01, "the mean hour is %g", fc_value_of_angle(&encoder.feature[0], encoder.fill));
	fc_angle(43.0 - 1e-7, 24.0, x);
	CHECK(fc_value_of_angle(&encoder.feature[0], x) == 19.0, "hour 43 is %.9g", fc_value_of_angle(&encoder.feature[0], x));
	CHECK(fc_in_period(-1e-30, 24.0) == 0.0 && fc_in_period(-1.0, 24.0) == 23.0, "-1 is %g", fc_in_period(-1.0, 24.0));
	((fc_encoder_feature *) encoder.feature)->cycle = FC_CYCLE_WEEK;
	fc_encoder_digest(header, choice.size, header->digest);
	CHECK(fc_encoder_check(header, choice.size) == FC_EFORMAT, "the week of a number is accepted");
}

int
main(void)
{
	test_exact_sum();
	test_centered_squares();
	test_quantiles();
	test_many_texts();
	test_frequent_texts();
	test_keyed_values();
	test_even_texts();
	test_order_of_rows();
	test_units();
	test_unknown_values();
	test_indicators();
	test_single_vector();
	test_counts();
	test_constants();
	test_damage();
	test_cyclic();
	return unit_finish();
}

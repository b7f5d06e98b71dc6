/*
 * learn.c - sums and counts of a feature's values, and the choice of its
 * encoding; see learn.h and write.c
 */
#include "encode/learn.h"

#include <stdlib.h>

/* ---- exact sums of doubles ---- */

/* Number of bits of a digit of an exact sum (learn.h). */
#define BITS	32

/* Digit 0 of an exact sum counts multiples of 2^-OFFSET. */
#define OFFSET	1088u

/* Mask of the low BITS bits. */
#define MASK	UINT64_C(0xFFFFFFFF)

/*
 * Maximum number of additions between two propagations of carries, so that no
 * digit overflows its 64 bits.
 */
#define MAX_PENDING	((int64_t) 1 << 29)

/*
 * Propagates carries, so that all digits but the last are from 0 to 2^32 - 1.
 */
static void
carry_digits(fc_exact_sum *sum)
{
	for (size_t i = 0; i + 1 < FC_EXACT_DIGITS; i++)
	{
		int64_t		carry = sum->digit[i] >> BITS;

		sum->digit[i] &= (int64_t) MASK;
		sum->digit[i + 1] += carry;
	}
	sum->pending = 0;
}

void
fc_exact_add(fc_exact_sum *sum, double x)
{
	uint64_t	bits;
	uint64_t	mantissa;
	uint64_t	above;
	unsigned int place;
	int64_t    *digit;

	memcpy(&bits, &x, sizeof(bits));
	mantissa = bits & ((UINT64_C(1) << 52) - 1);
	place = (unsigned int) (bits >> 52 & 0x7FF);
	if (place > 0)
		mantissa |= UINT64_C(1) << 52;
	place += OFFSET - 1075 + (place == 0 ? 1 : 0);	/* x = mantissa * 2^(place
													 * - OFFSET) from here on */
	digit = sum->digit + place / BITS;
	above = mantissa >> (BITS - place % BITS);	/* shifts by 1 to 32 bits */
	mantissa = mantissa << (place % BITS) & MASK;
	if (bits >> 63)
	{
		digit[0] -= (int64_t) mantissa;
		digit[1] -= (int64_t) (above & MASK);
		digit[2] -= (int64_t) (above >> BITS);
	}
	else
	{
		digit[0] += (int64_t) mantissa;
		digit[1] += (int64_t) (above & MASK);
		digit[2] += (int64_t) (above >> BITS);
	}
	if (++sum->pending == MAX_PENDING)
		carry_digits(sum);
}

void
fc_exact_add_product(fc_exact_sum *sum, double x, double y)
{
	double		product = x * y;

	fc_exact_add(sum, product);
	fc_exact_add(sum, fma(x, y, -product));
}

static double
digit_value(const fc_exact_sum *sum, size_t i)
{
	return ldexp((double) sum->digit[i], BITS * (int) i - (int) OFFSET);
}

/*
 * Sets *carried to the absolute value of a sum, in digits from 0 to 2^32 - 1.
 * Returns true if the sum is negative.
 */
static bool
magnitude(const fc_exact_sum *sum, fc_exact_sum *carried)
{
	bool		negative;

	*carried = *sum;
	carry_digits(carried);
	negative = carried->digit[FC_EXACT_DIGITS - 1] < 0;
	if (negative)
	{
		for (size_t i = 0; i < FC_EXACT_DIGITS; i++)
			carried->digit[i] = -carried->digit[i];
		carry_digits(carried);
	}
	return negative;
}

double
fc_exact_value(const fc_exact_sum *sum)
{
	fc_exact_sum carried;
	double		value = 0.0;
	bool		negative = magnitude(sum, &carried);
	size_t		first = FC_EXACT_DIGITS - 1;

	while (first > 0 && carried.digit[first] == 0)
		first--;
	for (size_t i = first < 3 ? 0 : first - 3; i <= first; i++)
		value += digit_value(&carried, i);
	return negative ? -value : value;
}

void
fc_exact_center(fc_exact_sum *squares, const fc_exact_sum *sum, int64_t n,
				double center)
{
	fc_exact_sum carried;
	double		high = center * center;
	double		factor = (magnitude(sum, &carried) ? 2.0 * center : -2.0 * center);

	for (size_t i = 0; i < FC_EXACT_DIGITS; i++)
		if (carried.digit[i] != 0)
			fc_exact_add_product(squares, factor, digit_value(&carried, i));
	fc_exact_add_product(squares, (double) n, high);
	fc_exact_add_product(squares, (double) n, fma(center, center, -high));
}

/* ---- values ---- */

static inline void
add_element(fc_learner *learner, size_t i, double x)
{
	double		count = (double) learner->count;
	double		square = x * x;

	if (learner->count == 1)
	{
		fc_exact_add(&learner->sums[i], x);
		fc_exact_add_product(&learner->squares[i], x, x);
		return;
	}
	fc_exact_add_product(&learner->sums[i], count, x);
	fc_exact_add_product(&learner->squares[i], count, square);
	fc_exact_add_product(&learner->squares[i], count, fma(x, x, -square));
}

static inline void
add_number(fc_learner *learner, double x)
{
	add_element(learner, 0, x);
	if (learner->scaling == FC_SCALING_ROBUST)
		fc_frequent_add_number(&learner->values, x, learner->count);
}

void
fc_learn_number(fc_learner *learner, double x)
{
	double		angle[2];

	learner->numbers += learner->count;
	if (learner->cycle == FC_CYCLE_NONE)
	{
		add_number(learner, learner->log ? fc_signed_log(x) : x);
		return;
	}
	fc_angle(x, learner->period, angle);
	add_element(learner, 0, angle[0]);
	add_element(learner, 1, angle[1]);
	learner->least = fmin(learner->least, x);
	learner->greatest = fmax(learner->greatest, x);
}

void
fc_learn_vector(fc_learner *learner, const fc_feature_cell *cell)
{
	learner->numbers += learner->count;
	for (size_t i = 0; i < learner->width; i++)
		add_element(learner, i,
					cell->kind == FC_CELL_FLOATS ? (double) cell->floats[i]
					: cell->doubles[i]);
}

void
fc_learn_text(fc_learner *learner, const uint64_t *key, const char *text, size_t length)
{
	learner->texts += learner->count;
	fc_frequent_add_text(&learner->categories, key, text, length, learner->count);
}

void
fc_learn_any(fc_learner *learner, fc_feature_kind kind, double x,
			 const char *text, size_t length)
{
	fc_frequent_add_text(&learner->categories, NULL, text, length, learner->count);
	if (kind == FC_FEATURE_CATEGORY)
		learner->texts += learner->count;
	else if (kind == FC_FEATURE_NUMBER)
		fc_learn_number(learner, x);
	else
	{
		learner->booleans += learner->count;
		add_number(learner, x);
	}
}

/* ---- the choice ---- */

/*
 * Returns the kind of a feature. A jsonb path is a number if all its values
 * are numbers, a boolean if all are booleans, else a category.
 */
static fc_feature_kind
kind_of(const fc_learner *learner)
{
	if (learner->kind != FC_FEATURE_ANY)
		return learner->kind;
	if (learner->texts > 0 || (learner->numbers > 0) == (learner->booleans > 0))
		return FC_FEATURE_CATEGORY;
	return learner->numbers > 0 ? FC_FEATURE_NUMBER : FC_FEATURE_BOOLEAN;
}

static void
choose_categories(const fc_learner *learner, fc_arena *arena,
				  fc_feature_choice *choice)
{
	const fc_frequent_items *frequent = &learner->categories;
	fc_encoder_feature *feature = &choice->stored;

	choice->slots = FC_TAKE(arena, frequent->used, uint32_t);
	feature->categories = (uint32_t) fc_most_frequent(frequent, learner->max_categories,
													  choice->slots);
	feature->other = 1;			/* receives values that are not in the sample */
	feature->missing = learner->nulls_seen > 0 &&
		learner->nulls == FC_NULLS_IMPUTE;
	feature->width = feature->categories + feature->other + feature->missing;
}

/*
 * Sets the cycle of a feature, its two dimensions, and the period in which its
 * values are shown. If the sample spans less than one period, but is not in
 * [0, period), this period begins at the smallest value of the sample.
 * Otherwise it begins at 0.
 */
static void
set_cycle(fc_encoder_feature *feature, const fc_learner *learner)
{
	feature->width = 2;
	feature->cycle = (uint8_t) learner->cycle;
	feature->period = learner->period;
	if (learner->cycle != FC_CYCLE_PERIOD ||
		(learner->least >= 0.0 && learner->greatest < learner->period))
		return;
	feature->turns = learner->greatest - learner->least >= learner->period;
	feature->lowest = feature->turns ? 0.0 : learner->least;
}

static void
choose_feature(const fc_learner *learner, bool alone, fc_arena *arena,
			   fc_feature_choice *choice)
{
	fc_feature_kind kind = kind_of(learner);
	bool		is_vector = kind == FC_FEATURE_VECTOR;
	bool		plain = alone && is_vector && learner->scaling == FC_SCALING_DEFAULT;
	fc_encoder_feature *feature = &choice->stored;

	*feature = (fc_encoder_feature)
	{
		.width = is_vector ? (uint32_t) learner->width : 1,
			.kind = (uint8_t) kind,
			.log = learner->log && fc_has_log(kind),
			.scaling = plain ? FC_SCALING_NONE : FC_SCALING_STANDARD,
			.nulls = (uint8_t) learner->nulls,
			.weight = learner->weight,
			.nulls_seen = learner->nulls_seen
	};
	if (learner->scaling == FC_SCALING_NONE ||
		(learner->scaling == FC_SCALING_ROBUST && !is_vector && kind != FC_FEATURE_CATEGORY))
		feature->scaling = (uint8_t) learner->scaling;
	choice->each = alone && is_vector && learner->scaling == FC_SCALING_STANDARD;
	if (kind == FC_FEATURE_CATEGORY)
		choose_categories(learner, arena, choice);
	if (fc_has_cycle(kind, learner->cycle))
		set_cycle(feature, learner);
}

fc_status
fc_encoder_choose(const fc_sample *sample, fc_arena *arena,
				  fc_encoder_choice *choice, size_t *bad)
{
	*choice = (fc_encoder_choice)
	{
		.feature = FC_TAKE(arena, sample->features, fc_feature_choice)
	};
	for (size_t i = 0; i < sample->features; i++)
	{
		fc_encoder_feature *feature = &choice->feature[i].stored;
		const fc_feature_name *name = &sample->names[i];
		const fc_frequent_item *texts = sample->learners[i].categories.entry;

		choose_feature(&sample->learners[i], sample->features == 1, arena,
					   &choice->feature[i]);
		feature->first = (uint32_t) choice->dim;
		feature->first_category = (uint32_t) choice->categories;
		*bad = i;
		if (feature->width == 0)
			return FC_EEMPTY;
		if (fc_starts_column(sample->names, i))
		{
			choice->columns++;
			choice->text_bytes += strlen(name->name);
		}
		choice->dim += feature->width;
		choice->categories += feature->categories;
		choice->text_bytes += fc_name_length(name->path) + fc_name_length(name->type) +
			fc_name_length(name->collation);
		for (size_t j = 0; j < feature->categories; j++)
			choice->text_bytes += texts[choice->feature[i].slots[j]].length;
	}
	choice->size = fc_encoder_size(choice->columns, sample->features,
								   choice->dim, choice->categories,
								   choice->text_bytes);
	return FC_OK;
}

/* ---- statistics of a column ---- */

static int
by_value(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return (x > y) - (x < y);
}

/*
 * Looks for sentinels at both ends of n sorted values. Sets share[0] to the
 * share of the rows with the smallest value if this value is a sentinel, and
 * share[1] likewise for the largest value. Values between -1 and 1, such as
 * flags and shares, never count as sentinels.
 */
static void
find_sentinels(const double *sorted, size_t n, double share[2])
{
	size_t		low = 0;		/* number of rows at the smallest value */
	size_t		high = 0;
	size_t		others = 1;
	size_t		min = larger(FC_SENTINEL_ROWS,
							 (size_t) (FC_SENTINEL_SHARE * (double) n));

	while (low < n && sorted[low] == sorted[0])
		low++;
	while (high < n - low && sorted[n - 1 - high] == sorted[n - 1])
		high++;
	for (size_t r = low + 1; r + high < n; r++)
		others += sorted[r] > sorted[r - 1];
	if (others < FC_SENTINEL_OTHERS)
		return;
	if (fabs(sorted[0]) > 1.0 && low >= min &&
		sorted[low] - sorted[0] > sorted[n - 1 - high] - sorted[low])
		share[0] = (double) low / (double) n;
	if (fabs(sorted[n - 1]) > 1.0 && high >= min &&
		sorted[n - 1] - sorted[n - 1 - high] >
		sorted[n - 1 - high] - sorted[low])
		share[1] = (double) high / (double) n;
}

/* Returns the third standardised moment of n values; 0 if all are equal. */
static double
skew_of(const double *x, size_t n)
{
	double		mean = 0;
	double		moment[2] = {0};

	for (size_t r = 0; r < n; r++)
		mean += (x[r] - x[0]) / (double) n;
	for (size_t r = 0; r < n; r++)
	{
		double		gap = x[r] - x[0] - mean;

		moment[0] += gap * gap / (double) n;
		moment[1] += gap * gap * gap / (double) n;
	}
	return moment[0] > 0 ? moment[1] / pow(moment[0], 1.5) : 0;
}

fc_column_facts
fc_facts_of_column(const double *x, size_t n, size_t d, size_t j, double filled,
				   double *sorted)
{
	fc_column_facts facts = {0};
	double		squares[2] = {0};	/* sums of squares around the median: [0]
									 * far rows, [1] all rows */
	double		median;
	double		far;
	size_t		rows = n;

	n = 0;
	for (size_t r = 0; r < rows; r++)
		if (x[r * d + j] != filled)
			sorted[n++] = x[r * d + j];
	if (n == 0)
		return facts;
	qsort(sorted, n, sizeof(double), by_value);
	median = sorted[n / 2];
	far = FC_FAR / 1.349 * (sorted[3 * n / 4] - sorted[n / 4]);
	for (size_t r = 0; r < n; r++)
	{
		double		square = (sorted[r] - median) * (sorted[r] - median);

		facts.unique += (r == 0 || sorted[r - 1] < sorted[r]) &&
			(r + 1 == n || sorted[r] < sorted[r + 1]);
		squares[1] += square;
		if (far > 0 && square > far * far)
		{
			facts.beyond[sorted[r] > median] += 1 / (double) n;
			squares[0] += square;
		}
	}
	facts.fence[0] = median - far;
	facts.fence[1] = median + far;
	facts.unique /= (double) n;
	facts.far = facts.beyond[0] + facts.beyond[1];
	facts.far_squares = facts.far > 0 ? squares[0] / squares[1] : 0;
	find_sentinels(sorted, n, facts.sentinel);
	facts.skew = skew_of(sorted, n);
	for (size_t r = 0; r < n; r++)
		sorted[r] = fc_signed_log(sorted[r]);
	facts.log_skew = skew_of(sorted, n);
	return facts;
}

double
fc_correlation(const double *x, size_t n, size_t d, size_t i, size_t j)
{
	double		mean[2] = {0};
	double		sum[3] = {0};

	/*
	 * Differences from the first row are exactly 0 in a constant column;
	 * differences from a rounded mean are not.
	 */
	for (size_t r = 0; r < n; r++)
	{
		mean[0] += (x[r * d + i] - x[i]) / (double) n;
		mean[1] += (x[r * d + j] - x[j]) / (double) n;
	}
	for (size_t r = 0; r < n; r++)
	{
		double		a = x[r * d + i] - x[i] - mean[0];
		double		b = x[r * d + j] - x[j] - mean[1];

		sum[0] += a * a;
		sum[1] += b * b;
		sum[2] += a * b;
	}
	return sum[0] > 0 && sum[1] > 0 ? sum[2] / sqrt(sum[0] * sum[1]) : 0;
}

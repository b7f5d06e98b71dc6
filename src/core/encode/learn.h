/*
 * learn.h - learns an encoder from a sample of rows, independent of their
 * order.
 *
 * A learner counts the values of one feature. The center and the scale of its
 * dimensions are computed from these counts:
 *     numbers     mean and standard deviation over all rows, from exact sums
 *                 that are rounded once. With robust scaling, the median and
 *                 (q3 - q1) / 1.349, which is the standard deviation of a
 *                 normal distribution. The quartiles are exact up to
 *                 FC_FREQUENT_NUMBERS distinct values.
 *     categories  the share p of the rows in each dimension, including `other`
 *                 and `missing`; one scale for all dimensions
 *                 (fc_category_scale). The categories are the most frequent
 *                 texts or values.
 *     cyclic      the means of cosine and sine; one scale for both, the root of
 *                 the sum of their variances. The column then counts as much as
 *                 a standardised number.
 *     vectors     the mean of each element; one scale for all elements, the
 *                 root of the sum of their variances. For a single column with
 *                 scaling standard, the scale of each element is its own
 *                 standard deviation.
 * Every scale is divided by the weight. A feature that does not vary has the
 * scale 1 before the division.
 */
#ifndef FC_ENCODE_LEARN_H
#define FC_ENCODE_LEARN_H

#include "encode/encoder.h"
#include "encode/frequent_items.h"

/* ---- exact sums ---- */

/*
 * Exact sums of doubles and of products, which do not depend on the order of
 * the additions.
 *
 * A sum is an integer of base 2^32 whose digits are carried only
 * occasionally (Kulisch's accumulator): adding a double touches three
 * digits. A value is rounded once, when it is read.
 */

/* Number of digits of an exact sum; they cover the bits 2^-1088 to 2^1151. */
#define FC_EXACT_DIGITS		70

typedef struct fc_exact_sum
{
	int64_t		digit[FC_EXACT_DIGITS]; /* digit i counts multiples of 2^(32 i
										 * - 1088) */
	int64_t		pending;		/* number of additions since carries were last
								 * propagated */
} fc_exact_sum;

/* Adds x, which must be finite; a sum takes up to 2^40 additions. */
void		fc_exact_add(fc_exact_sum *sum, double x);

/* Adds x * y. The product is exact if |x * y| is 0 or from 1e-290 to 1e300. */
void		fc_exact_add_product(fc_exact_sum *sum, double x, double y);

/*
 * Returns the sum, rounded to within an ulp. The result has the same bits for
 * the same numbers in any order.
 */
double		fc_exact_value(const fc_exact_sum *sum);

/*
 * Converts *squares from the sum of x^2 to the sum of (x - center)^2. `sum` is
 * the sum of the same n numbers x.
 */
void		fc_exact_center(fc_exact_sum *squares, const fc_exact_sum *sum, int64_t n,
							double center);

/* ---- learners ---- */

/*
 * Maximum magnitude of a number, or of an element of a vector. A number with a
 * logarithm is limited after the logarithm is taken. The square of this
 * maximum is finite in single precision.
 */
#define FC_LARGEST_NUMBER	0x1p63

typedef struct fc_learner
{
	fc_feature_kind kind;
	bool		log;
	fc_cycle	cycle;			/* applies to numbers, dates, times and
								 * intervals */
	double		period;
	double		least;			/* smallest value of a cyclic feature;
								 * infinite before the first value */
	double		greatest;		/* largest value of a cyclic feature;
								 * -infinity before the first value */
	fc_scaling	scaling;
	fc_nulls	nulls;
	double		weight;
	uint32_t	max_categories;
	int64_t		count;			/* number of times that the next value is
								 * added */
	int64_t		numbers;		/* number of rows with a number or a vector */
	int64_t		booleans;
	int64_t		texts;
	int64_t		nulls_seen;
	size_t		width;			/* number of elements of a vector; 0: no
								 * vector seen */
	fc_exact_sum *sums;			/* array of sums: one per element of a vector,
								 * two for a cyclic feature, one for numbers;
								 * zeroed by the caller */
	fc_exact_sum *squares;		/* sums of squares, one for each element of
								 * `sums` */
	fc_frequent_items values;	/* counts of distinct numbers, for robust
								 * scaling */

	/*
	 * counts of the texts or values of a category. For FC_FEATURE_ANY, counts
	 * of the texts of all values.
	 */
	fc_frequent_items categories;
} fc_learner;

static inline fc_learner
fc_learner_start(fc_feature_kind kind, bool log, fc_scaling scaling,
				 fc_nulls nulls, double weight, uint32_t max_categories)
{
	return (fc_learner)
	{
		.kind = kind,
			.log = log,
			.scaling = scaling,
			.nulls = nulls,
			.weight = weight,
			.max_categories = max_categories,
			.least = INFINITY,
			.greatest = -INFINITY,
			.count = 1,
			.values =
		{
			.texts = false
		},
			.categories =
		{
			.texts = true
		}
	};
}

/*
 * Each function adds one value, learner->count times. Before the next value,
 * the caller must provide memory for the counters of frequent items if they
 * request it (frequent_items.h).
 */
void		fc_learn_number(fc_learner *learner, double x);
void		fc_learn_vector(fc_learner *learner, const fc_feature_cell *cell);

/*
 * Adds a text. If categories have keys (frequent_items.h), `key` is the key of
 * the value; else it is NULL.
 */
void		fc_learn_text(fc_learner *learner, const uint64_t *key, const char *text,
						  size_t length);

/*
 * Adds a value to a learner of kind FC_FEATURE_ANY. `kind` is the kind of the
 * value. The text is always counted, because the feature may become a
 * category. If the value is a number or a boolean (0 or 1), x is counted, too.
 */
void		fc_learn_any(fc_learner *learner, fc_feature_kind kind, double x,
						 const char *text, size_t length);

/* ---- the encoder ---- */

typedef struct fc_feature_name
{
	const char *name;			/* name of the column */
	const char *path;			/* path into a jsonb column; NULL: the column
								 * itself */

	/*
	 * name of the type of the categories if they have keys, or of the time
	 * zone of a cyclic feature; NULL: no name
	 */
	const char *type;
	const char *collation;		/* name of the collation of the type; NULL: no
								 * collation */
} fc_feature_name;

typedef struct fc_sample
{
	const fc_learner *learners; /* one learner per feature */
	const fc_feature_name *names;	/* names of the features; features of one
									 * column are adjacent */
	size_t		features;
	int64_t		rows;			/* number of rows in the sample, skipped ones
								 * included */
	int64_t		skipped;
} fc_sample;

/* Returns true if a feature is the first one of its column. */
static inline bool
fc_starts_column(const fc_feature_name *names, size_t i)
{
	return i == 0 || strcmp(names[i].name, names[i - 1].name) != 0;
}

/* Returns the length of a name, which may be NULL. */
static inline size_t
fc_name_length(const char *name)
{
	return name == NULL ? 0 : strlen(name);
}

/* Chosen encoding of a feature. */
typedef struct fc_feature_choice
{
	fc_encoder_feature stored;	/* feature to be stored, without its column
								 * and texts */
	bool		each;			/* true if each element of a vector has its
								 * own scale */
	uint32_t   *slots;			/* slots of the chosen categories in the
								 * learner's counter */
} fc_feature_choice;

typedef struct fc_encoder_choice
{
	fc_feature_choice *feature;
	size_t		columns;
	size_t		dim;
	size_t		categories;
	size_t		text_bytes;
	size_t		size;			/* size of the encoder in bytes */
} fc_encoder_choice;

/*
 * Chooses the encoding of each feature, allocated in the arena. Returns
 * FC_EEMPTY, and the index of the feature in *bad, if a vector column holds
 * only NULLs.
 */
fc_status	fc_encoder_choose(const fc_sample *sample, fc_arena *arena,
							  fc_encoder_choice *choice, size_t *bad);

/*
 * Writes the encoder into choice->size bytes; choice->dim may be up
 * to FC_MAX_ENCODED.
 */
void		fc_encoder_write(const fc_sample *sample, const fc_encoder_choice *choice,
							 fc_arena *arena, fc_encoder_header *header);

/* ---- statistics of a numeric column, to check before clustering ---- */

/*
 * Minimum share of the rows with a sentinel. A sentinel, such as -999, is a
 * value that is farther from the other values than these are from each other.
 * With a smaller share, outliers raise the warning. A guess.
 */
#define FC_SENTINEL_SHARE	0.001

/* Minimum number of rows with a sentinel. A guess. */
#define FC_SENTINEL_ROWS	3

/*
 * Minimum number of other distinct values in a column with a sentinel, because
 * columns of few values, such as flags, have gaps, too. A guess.
 */
#define FC_SENTINEL_OTHERS	16

/*
 * Distance from the median, in robust standard deviations (IQR / 1.349),
 * beyond which a value is far. In a lognormal column with sigma 1, 0.1 % of
 * the values are far. A smaller distance warns of ordinary skewed columns. A
 * guess.
 */
#define FC_FAR	20.0

typedef struct fc_column_facts
{
	double		skew;			/* third standardised moment; 0 for a constant
								 * column */
	double		log_skew;		/* third standardised moment of fc_signed_log
								 * of the values */

	/*
	 * bounds of the values that are not far; both equal the median if the
	 * quartiles are equal
	 */
	double		fence[2];
	double		beyond[2];		/* [0] share of the rows that are far below
								 * the median, [1] far above */
	double		unique;			/* share of the rows whose value occurs only
								 * once */
	/* share of the rows that are far; 0 if the quartiles are equal */
	double		far;
	double		far_squares;	/* share of the sum of squares around the
								 * median that the far rows contribute */

	/*
	 * [0] share of the rows with the smallest value, [1] with the largest; 0:
	 * the value is not a sentinel
	 */
	double		sentinel[2];
} fc_column_facts;

/*
 * Returns the statistics of column j of x (n x d), without rows that have
 * the value `filled`. `sorted` is scratch space for n values.
 */
fc_column_facts fc_facts_of_column(const double *x, size_t n, size_t d,
								   size_t j, double filled, double *sorted);

/* Returns the correlation of columns i and j, or 0 if one is constant. */
double		fc_correlation(const double *x, size_t n, size_t d, size_t i, size_t j);

#endif							/* FC_ENCODE_LEARN_H */

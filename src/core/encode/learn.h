/*
 * learn.h - an encoder from a sample of rows, the same whatever their order.
 *
 * A learner counts the values of one feature:
 *     numbers     the mean and the deviation over all rows, exact until they
 *                 are rounded once; robust ones the median and the quartiles
 *                 ((q3 - q1) / 1.349, the deviation of a normal law), exact up
 *                 to FC_FREQUENT_NUMBERS distinct ones
 *     categories  the most frequent texts; p, the shares of all dimensions,
 *                 `other` and `missing` included; one scale
 *                 (fc_category_scale)
 *     vectors     the mean of each element; one scale, the root of the sum of
 *                 the elements' variances, or for a single column that is to
 *                 be standard each element's deviation
 * A scale is divided by the weight. A feature that does not vary has the scale
 * 1 before that.
 */
#ifndef FC_ENCODE_LEARN_H
#define FC_ENCODE_LEARN_H

#include "encode/encoder.h"
#include "encode/frequent_items.h"

/* ---- exact sums ---- */

/*
 * Sums of doubles and of products without rounding, so that their order does
 * not matter.
 *
 * A sum is an integer of base 2^32 whose digits carry only now and then
 * (Kulisch's accumulator): adding a double touches three digits. A value is
 * rounded once, when it is read.
 */
#define FC_EXACT_DIGITS		70

typedef struct fc_exact_sum
{
	int64_t		digit[FC_EXACT_DIGITS]; /* digit i counts 2^(32 i - 1088) */
	int64_t		pending;		/* additions since the last carry */
} fc_exact_sum;

/* Add x, finite.  Room for 2^40 additions. */
void		fc_exact_add(fc_exact_sum *sum, double x);

/* Add x y, exactly where |x y| is from 1e-290 to 1e300, or 0. */
void		fc_exact_add_product(fc_exact_sum *sum, double x, double y);

/*
 * The sum to within an ulp: the same bits for the same numbers in any order.
 */
double		fc_exact_value(const fc_exact_sum *sum);

/*
 * squares, the sum of x^2 over n numbers x of this sum, becomes the sum of (x
 * - center)^2.
 */
void		fc_exact_center(fc_exact_sum *squares, const fc_exact_sum *sum, int64_t n,
							double center);

/* ---- learners ---- */

#define FC_LARGEST_NUMBER	0x1p63	/* after log; as of every vector, whose
									 * squares in single precision stay finite */

typedef struct fc_learner
{
	fc_feature_kind kind;
	bool		log;
	fc_scaling	scaling;
	fc_nulls	nulls;
	double		weight;
	uint32_t	most_categories;
	int64_t		numbers;		/* rows, vectors included */
	int64_t		booleans;
	int64_t		texts;
	int64_t		nulls_seen;
	size_t		width;			/* elements of a vector, 0: none seen */
	fc_exact_sum *sums;			/* width of a vector, 1 of numbers; from the
								 * caller, cleared */
	fc_exact_sum *squares;		/* as many */
	fc_frequent_items values;	/* robust numbers */
	fc_frequent_items categories;	/* texts; of FC_FEATURE_ANY all values as
									 * texts */
} fc_learner;

static inline fc_learner
fc_learner_start(fc_feature_kind kind, bool log, fc_scaling scaling,
				 fc_nulls nulls, double weight, uint32_t most_categories)
{
	return (fc_learner)
	{
		.kind = kind,
			.log = log,
			.scaling = scaling,
			.nulls = nulls,
			.weight = weight,
			.most_categories = most_categories,
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
 * The caller gives the tallies memory (fc_frequent_items) before the next
 * value.
 */
void		fc_learn_number(fc_learner *learner, double x);
void		fc_learn_vector(fc_learner *learner, const fc_feature_cell *cell);
void		fc_learn_text(fc_learner *learner, const char *text, size_t length);

/* Of FC_FEATURE_ANY: as both.  x is 0 or 1 for a boolean. */
void		fc_learn_any(fc_learner *learner, fc_feature_kind kind, double x,
						 const char *text, size_t length);

/* ---- the encoder ---- */

typedef struct fc_feature_name
{
	const char *name;			/* of the column */
	size_t		name_length;
	const char *path;			/* NULL: none */
	size_t		path_length;
} fc_feature_name;

typedef struct fc_sample
{
	const fc_learner *learners; /* one a feature */
	const fc_feature_name *names;	/* those of one column next to each other */
	size_t		features;
	int64_t		rows;			/* those skipped included */
	int64_t		skipped;
} fc_sample;

/* How a feature is encoded. */
typedef struct fc_feature_choice
{
	fc_feature_kind kind;
	size_t		width;
	size_t		categories;
	bool		other;
	bool		missing;
	fc_scaling	scaling;
	bool		each;			/* element of a vector has a scale of its own */
	uint32_t   *slots;			/* of the learner's categories */
} fc_feature_choice;

typedef struct fc_encoder_choice
{
	fc_feature_choice *feature;
	size_t		columns;
	size_t		dim;
	size_t		categories;
	size_t		text_bytes;
	size_t		size;			/* of the value */
} fc_encoder_choice;

/*
 * The choice is in the arena. FC_EEMPTY: a vector column, of number *bad,
 * holds NULLs only.
 */
fc_status	fc_encoder_choose(const fc_sample *sample, fc_arena *arena,
							  fc_encoder_choice *choice, size_t *bad);

/* The value, choice->size bytes with up to FC_MAX_ENCODED dimensions. */
void		fc_encoder_write(const fc_sample *sample, const fc_encoder_choice *choice,
							 fc_arena *arena, fc_encoder_header *header);

/* ---- facts of a column of numbers, to see before clustering it ---- */

#define FC_SENTINEL_SHARE	0.005	/* of the rows, all of one value, that is
									 * farther from the others than these are
									 * from each other */
#define FC_SENTINEL_ROWS	3
#define FC_SENTINEL_OTHERS	16	/* different values at least, for flags and
								 * marks have gaps */
#define FC_FAR	20.0			/* robust deviations, IQR / 1.349, from the
								 * median: 0.1 % of a lognormal column of
								 * sigma 1 are farther */

typedef struct fc_column_facts
{
	double		skew;			/* third standardised moment; 0 of a constant
								 * column */
	double		log_skew;		/* the same of fc_signed_log of the values */

	/*
	 * bounds of the values that are not far; both the median where the
	 * quartiles are equal
	 */
	double		fence[2];
	double		beyond[2];		/* share of the rows that are far, below and
								 * above */
	double		unique;			/* share of the rows whose value no other row
								 * has */
	/* share of the rows that are far; 0 where the quartiles are equal */
	double		far;
	double		far_squares;	/* their part of the sum of squares about the
								 * median */

	/*
	 * share of the rows at such a value, the least and the greatest; 0: it is
	 * none
	 */
	double		sentinel[2];
} fc_column_facts;

/*
 * Column j of x (n x d), without the rows of value `filled`; sorted is room
 * for n.
 */
fc_column_facts fc_facts_of_column(const double *x, size_t n, size_t d,
								   size_t j, double filled, double *sorted);

/* Of columns i and j; 0 where one is constant. */
double		fc_correlation(const double *x, size_t n, size_t d, size_t i, size_t j);

#endif							/* FC_ENCODE_LEARN_H */

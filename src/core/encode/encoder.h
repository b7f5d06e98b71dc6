/*
 * encoder.h - a serialized encoder, which converts the column values of a row
 * to numbers.
 *
 * Each feature, a column or a path into a jsonb column, has one or more
 * dimensions. The raw coordinates of a value depend on the kind of the
 * feature:
 *     number      x, or sign(x) log(1 + |x|) with `log`
 *     cyclic      cosine and sine of the angle 2 pi x / period, so that the end
 *                 of a period is near its start
 *     vector      the elements of the vector
 *     category    1 at the category of the value, 0 at the other categories of
 *                 the feature. A category missing from the sample becomes
 *                 `other`, or all zeros if there is no such dimension.
 * A NULL has the raw coordinates `fill`. A feature with `missing` has a last
 * dimension that indicates NULL: 1 for a NULL, and 0 otherwise. Scaled
 * coordinates are (raw - center) / scale.
 *
 * A category is stored as its text. In some types, equal values may have
 * several texts. A feature of such a type stores the name of the type, and
 * categories are found by the equality of the type. The core compares only
 * texts. Its caller finds the category that equals a value, and passes the
 * text of the category.
 *
 * Layout of the value (native byte order, padding and reserved fields zero):
 *     fc_encoder_header, fc_encoder_column[columns],
 *     fc_encoder_feature[features],
 *     double center[dim], scale[dim], fill[dim],
 *     fc_encoder_category[categories],
 *     the text: names of columns, paths, names of types and collations, and
 *     categories, without separators or terminators, padded with 0 to a
 *     multiple of 8 bytes
 */
#ifndef FC_ENCODE_ENCODER_H
#define FC_ENCODE_ENCODER_H

#include "base/fc.h"

#define FC_ENCODER_VERSION		1

/* Maximum number of features of an encoder, a limit of the stored format. */
#define FC_MAX_FEATURES	4096

/* Maximum size in bytes of an encoder's text, a limit of the stored format. */
#define FC_MAX_ENCODED_TEXT	((size_t) 1 << 26)

/*
 * Range of the weight of a column. Within it, squares of scaled coordinates
 * neither vanish nor overflow in float.
 */
#define FC_MIN_COLUMN_WEIGHT	1e-6
#define FC_MAX_COLUMN_WEIGHT	1e6

typedef enum fc_feature_kind
{
	FC_FEATURE_NUMBER,
	FC_FEATURE_BOOLEAN,			/* 0 or 1 */
	FC_FEATURE_DATE,			/* days since 2000-01-01 */
	FC_FEATURE_TIMESTAMP,		/* seconds since 2000-01-01 */
	FC_FEATURE_INTERVAL,		/* seconds */
	FC_FEATURE_CATEGORY,
	FC_FEATURE_VECTOR,

	/*
	 * kind of a jsonb path during learning; becomes a number, a boolean or a
	 * category
	 */
	FC_FEATURE_ANY
} fc_feature_kind;

/* Cycle of a cyclic feature, with the unit of its values. */
typedef enum fc_cycle
{
	FC_CYCLE_NONE,
	FC_CYCLE_PERIOD,			/* period given by the user; values are
								 * numbers, or intervals in seconds */
	FC_CYCLE_DAY,				/* seconds since midnight */
	FC_CYCLE_WEEK,				/* days since Monday for a date; else seconds
								 * since midnight of Monday */
	FC_CYCLE_YEAR				/* days since 1 January in a year of 366 days */
} fc_cycle;

typedef enum fc_scaling
{
	FC_SCALING_STANDARD,		/* mean and standard deviation */
	FC_SCALING_ROBUST,			/* median and quartiles */
	FC_SCALING_NONE,
	FC_SCALING_DEFAULT			/* used during learning; becomes
								 * FC_SCALING_NONE for a single vector, else
								 * FC_SCALING_STANDARD */
} fc_scaling;

typedef enum fc_nulls
{
	FC_NULLS_IMPUTE,
	FC_NULLS_SKIP,				/* skip rows with a NULL */
	FC_NULLS_ERROR
} fc_nulls;

typedef struct fc_encoder_header
{
	uint32_t	container;		/* used by the code that stores the value;
								 * ignored here */
	uint16_t	version;
	uint16_t	padding;		/* always 0 */
	uint64_t	digest[2];		/* hash of all bytes after `digest` */
	int64_t		rows;			/* number of rows in the sample */
	int64_t		skipped;		/* number of rows of the sample skipped
								 * because of a NULL */
	uint32_t	columns;
	uint32_t	features;
	uint32_t	dim;
	uint32_t	categories;
	uint32_t	text_bytes;
	uint32_t	padding2;		/* always 0 */
} fc_encoder_header;

/* A piece of the encoder's text. */
typedef struct fc_encoder_text
{
	uint32_t	start;			/* offset in the text */
	uint32_t	length;			/* length in bytes */
} fc_encoder_text;

typedef struct fc_encoder_column
{
	fc_encoder_text name;
	uint32_t	first_feature;
	uint32_t	features;		/* number of features; 1 unless they are jsonb
								 * paths */
} fc_encoder_column;

typedef struct fc_encoder_feature
{
	uint32_t	column;
	fc_encoder_text path;		/* length 0: the feature is the column itself */
	uint32_t	first;			/* index of its first dimension */

	/*
	 * number of dimensions: the elements of the value, or the categories and
	 * `other`, plus 1 with `missing`
	 */
	uint32_t	width;
	uint32_t	first_category;
	uint32_t	categories;

	/*
	 * Name of a type or of a time zone. Categories are found by the equality
	 * of this type; length 0: by their texts. Values of a cyclic timestamp
	 * are in this time zone; length 0: it has no time zone.
	 */
	fc_encoder_text type;
	fc_encoder_text collation;	/* length 0: the type has no collation */
	uint8_t		kind;
	uint8_t		log;
	uint8_t		scaling;
	uint8_t		nulls;
	uint8_t		other;			/* 1: a categorical feature has one more
								 * dimension, for unknown values */
	uint8_t		missing;		/* 1: the last dimension indicates NULL */
	uint8_t		cycle;			/* fc_cycle */
	uint8_t		turns;			/* 1: the values of the sample span one period
								 * or more */
	uint8_t		padding[4];		/* always 0 */
	double		period;			/* 0: the feature is not cyclic */
	double		lowest;			/* values of a cyclic feature are shown from
								 * lowest to lowest + period; 0 with `turns` */
	double		weight;
	int64_t		nulls_seen;		/* number of rows of the sample with a NULL */
} fc_encoder_feature;

typedef struct fc_encoder_category
{
	fc_encoder_text text;
	int64_t		count;			/* number of rows of the sample in the
								 * category */
} fc_encoder_category;

typedef struct fc_category_slots
{
	uint32_t	first;			/* index of the first slot of the feature's
								 * hash table */
	uint32_t	mask;
} fc_category_slots;

typedef struct fc_encoder
{
	size_t		columns;
	size_t		features;
	size_t		dim;
	size_t		categories;
	int64_t		rows;
	int64_t		skipped;
	const fc_encoder_column *column;
	const fc_encoder_feature *feature;
	const double *center;		/* center, scale and fill have dim values each */
	const double *scale;
	const double *fill;
	const fc_encoder_category *category;
	const char *text;
	const fc_category_slots *slots_of;	/* hash table of each feature; NULL
										 * before fc_encoder_prepare */
	const uint32_t *slot;		/* hash slots: index of a category in its
								 * feature, plus 1; 0: empty */
} fc_encoder;

/*
 * fc_has_log returns true if a feature of this kind can have a logarithm.
 * fc_has_cycle returns true if it can have this cycle.
 */
bool		fc_has_log(fc_feature_kind kind);
bool		fc_has_cycle(fc_feature_kind kind, fc_cycle cycle);

/*
 * Returns the number of dimensions of a feature without its indicator of
 * NULL.
 */
static inline size_t
fc_feature_values(const fc_encoder_feature *feature)
{
	return feature->width - feature->missing;
}

/* Returns category number `place` of a feature, from 0. */
static inline const fc_encoder_category *
fc_category(const fc_encoder *encoder, const fc_encoder_feature *feature, size_t place)
{
	return &encoder->category[feature->first_category + place];
}

/*
 * Returns the size in bytes of an encoder with these numbers of columns,
 * features, dimensions, categories and bytes of text.
 */
size_t		fc_encoder_size(size_t columns, size_t features, size_t dim,
							size_t categories, size_t text_bytes);

/*
 * Computes the digest of an encoder of `size` bytes. A writer stores it when
 * all other bytes are set.
 */
void		fc_encoder_digest(const fc_encoder_header *header, size_t size,
							  uint64_t digest[2]);

void		fc_encoder_view(const fc_encoder_header *header, fc_encoder *encoder);
fc_status	fc_encoder_check(const void *bytes, size_t size);

/*
 * fc_encoder_prepare builds the hash tables of the categories in `memory`. The
 * memory must have fc_encoder_prepared_size bytes, be aligned to 8, and be
 * valid as long as the view.
 */
size_t		fc_encoder_prepared_size(const fc_encoder *encoder);
void		fc_encoder_prepare(fc_encoder *encoder, void *memory);

/*
 * Returns the scale of a category column; `share` has the share p of the rows
 * in each of its `width` dimensions. The scale makes the sum of the variances
 * p (1 - p) equal to max(1, sqrt(1 / sum p^2 - 1)). A column of two categories
 * thus weighs as much as a number. A column of many frequent categories weighs
 * more, but less than if each category were a number. Returns 0 if nothing
 * varies.
 */
double		fc_category_scale(const double *share, size_t width);

/*
 * Returns the index of a text among the categories of feature i, or the number
 * of its categories if it is not one of them. The encoder must be prepared.
 */
uint32_t	fc_find_category(const fc_encoder *encoder, size_t i, const char *text,
							 size_t length);

/*
 * Returns true if any dimension has a center other than 0 or a scale other
 * than 1.
 */
bool		fc_encoder_is_scaled(const fc_encoder *encoder);

/* ---- encoders made from given numbers ---- */

/*
 * Writes the encoder of a single column of vectors. center and scale each have
 * d values, or are NULL for centers of 0 or scales of 1. The result takes
 * fc_encoder_size(1, 1, d, 0, strlen(name)) bytes.
 */
void		fc_encoder_of_vector(const char *name, size_t d, const double *center,
								 const double *scale, fc_encoder_header *header);

/*
 * Returns true if both encoders have the same features, encoded in the same
 * way, with categories of the same type. Their categories may differ.
 */
bool		fc_encoder_is_alike(const fc_encoder *old, const fc_encoder *new);

/*
 * Writes an encoder with the dimensions of the old encoder, and the centers,
 * scales and counts of the new one. The two must be alike
 * (fc_encoder_is_alike). The old encoder and `renewed` have `size` bytes.
 * equal[i] is the index of old category i among the new categories of its
 * feature. If the old category is not among them, equal[i] is the number of
 * these new categories.
 */
void		fc_encoder_renew(const fc_encoder_header *old_header, size_t size,
							 const fc_encoder_header *new_header,
							 const uint32_t *equal, fc_encoder_header *renewed);

/*
 * Sets the weight of flagged features to the minimum, in place. `flag` has one
 * element per feature; the encoder has `size` bytes.
 */
void		fc_encoder_mute(fc_encoder_header *header, size_t size, const bool *flag);

/*
 * Writes the encoder with an indicator of NULL added to the flagged features,
 * which must be numbers or vectors without an indicator. The indicator is
 * weighted as a boolean column, with standard deviation sqrt(p (1 - p)) for a
 * share p of NULLs. The standard deviation of the values is multiplied by
 * sqrt(1 - p), so that it refers to all rows, imputed ones included. The old
 * value has `size` bytes. `flagged` has as many bytes plus
 * fc_encoder_flags_size(number of flagged features).
 */
size_t		fc_encoder_flags_size(size_t flags);
void		fc_encoder_flag_nulls(const fc_encoder_header *header, size_t size,
								  const bool *flag, fc_encoder_header *flagged);

/* ---- rows ---- */

typedef enum fc_cell_kind
{
	FC_CELL_NULL,
	FC_CELL_NUMBER,
	FC_CELL_TEXT,
	FC_CELL_FLOATS,
	FC_CELL_DOUBLES
} fc_cell_kind;

/*
 * Value of a feature. A number or element must be finite. The kind of the cell
 * must fit the kind of the feature. A vector must have
 * fc_feature_values(feature) elements.
 */
typedef struct fc_feature_cell
{
	fc_cell_kind kind;
	uint32_t	length;			/* length in bytes of a text, or number of
								 * elements of a vector */
	union
	{
		double		number;
		const char *text;
		const float *floats;
		const double *doubles;
	};
} fc_feature_cell;

/* Returns sign(x) log(1 + |x|). */
double		fc_signed_log(double x);

/*
 * Returns the value in [0, period) that differs from x by a multiple of the
 * period.
 */
double		fc_in_period(double x, double period);

/* Writes the cosine and the sine of 2 pi x / period to `to`. */
void		fc_angle(double x, double period, double to[2]);

/*
 * Returns the value in [lowest, lowest + period) of a cyclic feature whose
 * cosine and sine are in the direction of `mean`.
 */
double		fc_value_of_angle(const fc_encoder_feature *feature,
							  const double mean[2]);

/*
 * Writes the raw coordinates of a number to `to`, without its indicator of
 * NULL.
 */
void		fc_encode_number(const fc_encoder_feature *feature, double x,
							 double *to);

/*
 * Encodes `count` features of a row, from feature `first` on, into `raw`.
 * `raw` has dim values, and `cells` has a cell for each feature of the
 * encoder. The encoder must be prepared.
 */
void		fc_encode(const fc_encoder *encoder, size_t first, size_t count,
					  const fc_feature_cell *cells, double *raw);

#endif							/* FC_ENCODE_ENCODER_H */

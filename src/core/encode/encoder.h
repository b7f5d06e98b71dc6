/*
 * encoder.h - how the values of a row's columns become numbers, as a stored
 * value.
 *
 * Each feature, a column or a path into a jsonb column, has one dimension or
 * more. Raw coordinates are a number (its sign(x) log(1 + |x|) with `log`),
 * the elements of a vector, or 1 at a category and 0 at the others of the
 * column. What a sample did not hold is `other`, or all zeros where there is
 * no such dimension. A NULL has the raw coordinates `fill`. Its indicator, the
 * last dimension of a feature with `missing`, is 1 at a NULL, else 0. Units
 * are (raw - center) / scale.
 *
 * Layout of the value (byte order the machine's, padding zero):
 *     fc_encoder_header, fc_encoder_column[columns],
 *     fc_encoder_feature[features],
 *     double center[dim], scale[dim], fill[dim],
 *     fc_encoder_category[categories],
 *     the text: names, paths, categories, one behind the other, without an
 *     end; 0 up to 8 bytes
 */
#ifndef FC_ENCODE_ENCODER_H
#define FC_ENCODE_ENCODER_H

#include "base/fc.h"

#define FC_ENCODER_VERSION		1
#define FC_MAX_FEATURES			4096
#define FC_MAX_ENCODED_TEXT		((size_t) 1 << 26)	/* bytes */
#define FC_LEAST_WEIGHT			1e-6
#define FC_GREATEST_WEIGHT		1e6

typedef enum fc_feature_kind
{
	FC_FEATURE_NUMBER,
	FC_FEATURE_BOOLEAN,			/* 0 or 1 */
	FC_FEATURE_DATE,			/* days since 2000-01-01 */
	FC_FEATURE_TIMESTAMP,		/* seconds since then */
	FC_FEATURE_INTERVAL,		/* seconds */
	FC_FEATURE_CATEGORY,
	FC_FEATURE_VECTOR,

	/*
	 * of a jsonb path that is being learned: a number, a boolean or a
	 * category
	 */
	FC_FEATURE_ANY
} fc_feature_kind;

typedef enum fc_scaling
{
	FC_SCALING_STANDARD,		/* mean and deviation */
	FC_SCALING_ROBUST,			/* median and quartiles */
	FC_SCALING_NONE,
	FC_SCALING_DEFAULT			/* being learned: none for a single vector,
								 * else standard */
} fc_scaling;

typedef enum fc_nulls
{
	FC_NULLS_IMPUTE,
	FC_NULLS_SKIP,				/* the row */
	FC_NULLS_ERROR
} fc_nulls;

typedef struct fc_encoder_header
{
	uint32_t	container;		/* belongs to the code that stores the value;
								 * ignored */
	uint16_t	version;
	uint16_t	padding;		/* 0 */
	uint64_t	digest[2];		/* of everything behind */
	int64_t		rows;			/* of the sample */
	int64_t		skipped;		/* of these, for a NULL */
	uint32_t	columns;
	uint32_t	features;
	uint32_t	dim;
	uint32_t	categories;
	uint32_t	text_bytes;
	uint32_t	padding2;		/* 0 */
} fc_encoder_header;

typedef struct fc_encoder_column
{
	uint32_t	name_start;		/* in the text */
	uint32_t	name_length;
	uint32_t	first_feature;
	uint32_t	features;		/* 1 unless they are paths */
} fc_encoder_column;

typedef struct fc_encoder_feature
{
	uint32_t	column;
	uint32_t	path_start;
	uint32_t	path_length;	/* 0: the column itself */
	uint32_t	first;			/* dimension */
	/* dimensions: the categories and `other`, or the values; `missing` */
	uint32_t	width;
	uint32_t	first_category;
	uint32_t	categories;
	uint8_t		kind;
	uint8_t		log;
	uint8_t		scaling;
	uint8_t		nulls;
	uint8_t		other;			/* a category has a dimension for others */
	uint8_t		missing;		/* the last dimension is for NULL */
	uint8_t		padding[6];		/* 0 */
	double		weight;
	int64_t		nulls_seen;		/* rows of the sample */
} fc_encoder_feature;

typedef struct fc_encoder_category
{
	uint32_t	start;			/* in the text */
	uint32_t	length;
	int64_t		count;			/* rows of the sample */
} fc_encoder_category;

typedef struct fc_category_slots
{
	uint32_t	first;			/* of the feature's slots */
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
	const double *center;		/* dim each */
	const double *scale;
	const double *fill;
	const fc_encoder_category *category;
	const char *text;
	const fc_category_slots *slots_of;	/* of each feature; NULL before
										 * fc_encoder_prepare */
	const uint32_t *slot;		/* a category of the feature + 1, or 0 */
} fc_encoder;

/* Dimensions of the values, without the one for NULL. */
static inline size_t
fc_feature_values(const fc_encoder_feature *feature)
{
	return feature->width - feature->missing;
}

/* Bytes of a value with so many parts. */
size_t		fc_encoder_size(size_t columns, size_t features, size_t dim,
							size_t categories, size_t text_bytes);

/* The digest of a value; a writer sets it last. */
void		fc_encoder_digest(const fc_encoder_header *header, size_t size,
							  uint64_t digest[2]);

void		fc_encoder_view(const fc_encoder_header *header, fc_encoder *encoder);
fc_status	fc_encoder_check(const void *bytes, size_t size);

/*
 * The hash tables of the categories, in so many bytes of memory aligned to 8;
 * they belong to the view.
 */
size_t		fc_encoder_prepared_size(const fc_encoder *encoder);
void		fc_encoder_prepare(fc_encoder *encoder, void *memory);

/*
 * The scale of a category column whose dimensions have these shares p (width)
 * of the rows: the variances p (1 - p) of all of them together become max(1,
 * sqrt(1 / sum p^2 - 1)). A column of two categories weighs as much as a
 * number, one of many frequent categories more, but less than they would as
 * numbers of their own. 0 where nothing varies.
 */
double		fc_category_scale(const double *share, size_t width);

/* Is a dimension's center not 0, or its scale not 1? */
bool		fc_encoder_is_scaled(const fc_encoder *encoder);

/* ---- encoders made of others' numbers ---- */

/*
 * Of one column of vectors: center and scale (d), or both NULL. The value has
 * fc_encoder_size(1, 1, d, 0, length) bytes.
 */
void		fc_encoder_of_vector(const char *name, size_t length, size_t d,
								 const double *center, const double *scale,
								 fc_encoder_header *header);

/*
 * Have both the same features, made in the same way? Categories may differ.
 */
bool		fc_encoder_is_alike(const fc_encoder *old, const fc_encoder *new);

/*
 * renewed (size, that of the old value): the dimensions of the old encoder
 * with the centers, scales and counts of one that is alike.
 */
void		fc_encoder_renew(const fc_encoder_header *old_header, size_t size,
							 const fc_encoder_header *new_header,
							 fc_encoder_header *renewed);

/*
 * Features that are flagged get the least weight, in place (header of `size`
 * bytes).
 */
void		fc_encoder_mute(fc_encoder_header *header, size_t size, const bool *flag);

/*
 * The encoder with an indicator of NULL for the features that are flagged,
 * which are no categories and have none: weighted as a boolean column, 1
 * deviation being sqrt(p (1 - p)) of a share p of NULLs. The deviation of a
 * value is then that over all rows, the imputed included: sqrt(1 - p) times
 * that of the values. flagged (size of the old value + what
 * fc_encoder_flags_size adds).
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
 * The value of a feature, of the cell kind that belongs to the feature's:
 * finite, of the vector's width.
 */
typedef struct fc_feature_cell
{
	fc_cell_kind kind;
	uint32_t	length;			/* bytes of a text, elements of a vector */
	union
	{
		double		number;
		const char *text;
		const float *floats;
		const double *doubles;
	};
} fc_feature_cell;

/* sign(x) log(1 + |x|) */
double		fc_signed_log(double x);

/*
 * raw (dim): the raw coordinates of `count` features of a row from `first` on;
 * cells (features) are the row's; the encoder is prepared.
 */
void		fc_encode(const fc_encoder *encoder, size_t first, size_t count,
					  const fc_feature_cell *cells, double *raw);

#endif							/* FC_ENCODE_ENCODER_H */

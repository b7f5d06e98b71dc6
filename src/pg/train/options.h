/*
 * options.h - the options of train, retrain, choose_k, write_labels and
 * keep_sketch, read once from jsonb as the table in options.c describes.
 *
 * The rest of pg/train reads the fields of train_options instead of jsonb.
 */
#ifndef FASTCLUST_TRAIN_OPTIONS_H
#define FASTCLUST_TRAIN_OPTIONS_H

#include "utils/jsonb.h"

#include "kmeans/kmeans.h"
#include "numerics/metric.h"
#include "pg/base/options.h"

/*
 * Functions that accept an option, and modes of these functions that accept
 * fewer options.
 */
typedef enum option_user
{
	FOR_TRAIN = 1,
	FOR_RETRAIN = 2,
	FOR_CHOOSE_K = 4,
	FOR_WRITE_LABELS = 8,
	FOR_KEEP_SKETCH = 16,
	FOR_SKETCH = 32,			/* retrain with the argument sketch */
	FOR_IMPORT = 64,			/* import_model */
	FOR_HALF_LIFE = 128,		/* model in which the weights of rows decrease
								 * with age */
	FOR_LIVE = 256				/* retrain from a live sketch, without a scan */
} option_user;

/* Training methods, each a bit in the table of options. */
typedef enum train_method
{
	METHOD_NONE = 0,
	METHOD_AUTO = 1,
	METHOD_COMPRESSIVE = 2,
	METHOD_KMEANS = 4,
	METHOD_QKMEANS = 8,
	METHOD_KERNEL = 16,
	METHOD_DENSITY = 32
} train_method;

typedef enum row_sampling
{
	SAMPLE_AUTO,
	SAMPLE_HASH
} row_sampling;

typedef enum live_choice
{
	LIVE_AS_BEFORE,
	LIVE_OFF,
	LIVE_ON
} live_choice;

/* Window of recent rows of a table (window.c). */
typedef struct row_window
{
	char	   *column;
	char	   *interval;
	char	   *partition;
	char	   *where;
	struct row_window *except;	/* window whose rows are left out, or NULL */
} row_window;

typedef struct live_options
{
	live_choice follow;
	bool		timed;			/* true if option "live" is an object, with
								 * buckets of time */
	char	   *half_life;
} live_options;

typedef struct factor_options
{
	char	   *method;			/* method of factorize; NULL: QK-means */
	Jsonb	   *settings;		/* options of the method */
} factor_options;

/*
 * Options of a call. If an option is not given, a number is NAN, and a text or
 * a list is NULL.
 */
typedef struct train_options
{
	Jsonb	   *json;			/* all options as they were given */

	/* options of the rows */
	char	   *relation;
	char	   *group_by;
	char	   *unit;
	char	   *where;
	char	   *row_weight;
	bool		since_given;	/* true if option "since" is given, also as
								 * null, which removes an earlier window */
	row_window *since;
	Jsonb	   *since_json;		/* option "since" as given; drift tests read
								 * it in SQL */
	bool		standardize;
	Jsonb	   *encoder;		/* options of encoder_agg, or NULL */
	double		categories;		/* option of the encoder: maximum number of
								 * categories of a column that have their own
								 * dimension */
	fc_metric	metric;
	double		trim;
	row_sampling sample;
	double		sample_rows;

	/* options of the clusters */
	double		k;
	train_method method;
	bool		replace;
	bool		frozen;
	int64		seed;
	fc_kmeans_effort effort;
	double		iterations;
	double		tolerance;
	float_list	levels;
	float_list	pinned;
	double balance;
	bool		align;
	double		probes;
	double		frequencies;
	char	   *kernel;
	double		landmarks;
	double		rank;
	factor_options factors;
	double		min_cluster_rows;
	double		noise;
	double		scale;
	double		micro_clusters;

	/* options of the new version */
	live_options live;
	bool		fresh;
	double		keep;
	bool		activate;
	bool		nowait;
	bool		quiet;

	/* options of write_labels */
	bool		name;
	bool		distance;
} train_options;

/* Returns `given`, or `missing` if `given` is NAN. */
static inline double
given_or(double given, double missing)
{
	return isnan(given) ? missing : given;
}

/* Returns the tolerance of Lloyd's algorithm, a relative gain per scan. */
static inline double
tolerance_of(const train_options *options)
{
	return given_or(options->tolerance, 1e-3);
}

/*
 * Reads and checks options. Raises an error for an option that the function
 * does not have, and for a wrong value.
 */
extern train_options *read_train_options(Jsonb *json, option_user function);

/* Reads the options of train from a text. */
extern train_options *options_of_text(const char *text);

/*
 * Returns the name of the first given option that `user`, a mode of a
 * function, does not accept, or NULL. In a retrain null counts as given,
 * because it removes an option of the previous version.
 */
extern const char *unknown_option(const train_options *options, option_user user);

/*
 * Warns about given options that have no effect with the method and the
 * options in force.
 */
extern void warn_ineffective_options(train_method method, const train_options *given,
									 const train_options *all);

/*
 * Returns the options of encoder_agg. again: request more categories, so that
 * the categories of the existing encoder are found among them.
 */
extern Jsonb *encoder_settings(const train_options *options, bool again);

/*
 * Returns true if a and b differ in an encoder option that determines the
 * dimensions: the maximum number of categories, or the paths.
 */
extern bool other_dimensions(const train_options *a, const train_options *b);

/* Returns the options of qkmeans as jsonb, for read_qkmeans_options. */
extern Jsonb *product_settings(const train_options *options);

/*
 * Returns true if an option of the encoder (nulls, weight) is set for all
 * features, or names the feature, its column or a path above it.
 */
extern bool names_feature(const train_options *options, const char *option,
						  const char *feature);

/*
 * Returns the options as a version stores them, without nulls and nowait.
 * condition: condition with resolved names, which replaces option "where", or
 * NULL.
 */
extern Jsonb *options_to_store(const train_options *options, const char *condition);

/* Returns the options with one more option, which is a text. */
extern Jsonb *with_text_option(Jsonb *json, const char *name, const char *text);

/*
 * Returns the method with this name. Raises an error if the name is unknown.
 */
extern train_method train_method_of(const char *name);
extern const char *train_method_name(train_method method);

#endif							/* FASTCLUST_TRAIN_OPTIONS_H */

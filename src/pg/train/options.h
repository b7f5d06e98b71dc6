/*
 * options.h - the options of train, retrain, choose_k, write_labels and
 * keep_sketch, read once from jsonb by the table of options.c.
 *
 * All else in pg/train reads the fields of train_options and no jsonb.
 */
#ifndef FASTCLUST_TRAIN_OPTIONS_H
#define FASTCLUST_TRAIN_OPTIONS_H

#include "utils/jsonb.h"

#include "kmeans/kmeans.h"
#include "numerics/metric.h"
#include "pg/base/options.h"

/* Who knows an option: functions, and the ways of some that know fewer. */
typedef enum option_user
{
	FOR_TRAIN = 1,
	FOR_RETRAIN = 2,
	FOR_CHOOSE_K = 4,
	FOR_WRITE_LABELS = 8,
	FOR_KEEP_SKETCH = 16,
	FOR_SKETCH = 32,			/* retrain with the argument sketch */
	FOR_IMPORT = 64,			/* import_model */
	FOR_HALF_LIFE = 128,		/* a model whose rows count less with age */
	FOR_LIVE = 256				/* retrain from a live sketch, without a scan */
} option_user;

/* Each is a bit in the table of options. */
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

/* The rows of a table that are recent (window.c). */
typedef struct row_window
{
	char	   *column;
	char	   *interval;
	char	   *partition;
	char	   *where;
	struct row_window *except;	/* NULL: none */
} row_window;

typedef struct live_options
{
	live_choice follow;
	bool		timed;			/* it is an object, with buckets of time */
	char	   *half_life;
} live_options;

typedef struct factor_options
{
	char	   *method;			/* of factorize; NULL: QK-means */
	Jsonb	   *settings;		/* of this method */
} factor_options;

/*
 * A number is NAN, and a text or a list NULL, where the option is not given.
 */
typedef struct train_options
{
	Jsonb	   *json;			/* all of them as they were given */

	/* rows */
	char	   *relation;
	char	   *group_by;
	char	   *where;
	bool		since_given;	/* also where it is null, which takes back an
								 * earlier window */
	row_window *since;
	Jsonb	   *since_json;		/* which drift reads in SQL */
	bool		standardize;
	Jsonb	   *encoder;		/* options of encoder_agg; NULL: none */
	double		categories;		/* of these */
	fc_metric	metric;
	double		trim;
	row_sampling sample;
	double		sample_rows;

	/* clusters */
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

	/* versions */
	live_options live;
	bool		fresh;
	double		keep;
	bool		activate;
	bool		nowait;
	bool		quiet;

	/* labels */
	bool		name;
	bool		distance;
} train_options;

/* The number that was given, or else another one. */
static inline double
given_or(double given, double missing)
{
	return isnan(given) ? missing : given;
}

/* The tolerance of Lloyd's algorithm. */
static inline double
tolerance_of(const train_options *options)
{
	return given_or(options->tolerance, 1e-3);
}

/*
 * Reads options; one that the function does not know, or with a wrong value,
 * is an error.
 */
extern train_options *read_train_options(Jsonb *json, option_user function);

/* Reads the options of a text, which are those of train. */
extern train_options *options_of_text(const char *text);

/*
 * Returns the first option given that a way of a function does not know, or
 * NULL. In a retrain null is given, too: it takes back an option of the
 * version before.
 */
extern const char *unknown_option(const train_options *options, option_user way);

/*
 * Warns about options given that have no effect with the method and all other
 * options.
 */
extern void warn_idle_options(train_method method, const train_options *given,
							  const train_options *all);

/*
 * Returns the options of encoder_agg.  Where an encoder was there before, its
 * categories should be found again among more.
 */
extern Jsonb *encoder_settings(const train_options *options, bool again);

/* Would an encoder have other dimensions by these options? */
extern bool other_dimensions(const train_options *a, const train_options *b);

/* Returns the options of qkmeans. */
extern Jsonb *product_settings(const train_options *options);

/*
 * Does an option of the encoder (nulls, weight) name the feature, its column
 * or a path above?
 */
extern bool names_feature(const train_options *options, const char *option,
						  const char *feature);

/*
 * Options as a version stores them: without nulls and nowait, the condition
 * resolved.
 */
extern Jsonb *options_to_store(const train_options *options, const char *condition);

/* The same with one option more, which is a text. */
extern Jsonb *with_text_option(Jsonb *json, const char *name, const char *text);

/* Returns the method of a name; another name is an error. */
extern train_method train_method_of(const char *name);
extern const char *train_method_name(train_method method);

#endif							/* FASTCLUST_TRAIN_OPTIONS_H */

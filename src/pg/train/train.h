/*
 * train.h - a training: its model, the source of its rows, and the steps that make a version of them.
 *
 *     encoder of columns      from some rows                     encoder.c
 *     sample, units, specs    from some rows                     sample.c
 *     one scan                sketch, counts of drift, weighted sample and Lloyd's sums, of every group     scan.c
 *     operator                in memory, of every group          fit.c
 *     Lloyd's algorithm       scans, where they still gain       lloyd.c
 *     numbers, distances      in memory; the version is written  store.c
 *
 * All of it runs in the caller's transaction and with his rights.  Samples are weighted rows kept as the centroids of an operator (rows.h).
 */
#ifndef FASTCLUST_TRAIN_H
#define FASTCLUST_TRAIN_H

#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/array.h"
#include "utils/jsonb.h"

#include "drift/spec.h"
#include "encode/encoder.h"
#include "kmeans/choose.h"
#include "operator/coreset.h"
#include "pg/operator/rows.h"
#include "pg/train/options.h"
#include "sketch/spec.h"

/* The rows of a relation as a training reads them; texts are of the alias t. */
typedef struct train_source
{
	Oid			id;
	char	   *relation;		/* qualified and quoted */
	char	  **features;
	int			feature_count;
	bool		vector;			/* features is one column of vectors */
	bool		cast;			/* which a cast makes of the column */
	bool		array;			/* of arrays */
	bool		sparse;			/* given as a sparsevec */
	char	   *group_by;		/* NULL: no groups */
	char	   *integer;		/* the type of groups that are integers, as which they are grouped; NULL: by their texts */
	bool		planned;		/* groups are scanned by plans of their own, $3 of the values $2, and others by $1: group_plan */
	struct varlena *encoder;	/* NULL of vectors, and until it is learned */
	char	   *raw;			/* the row as an array, in its own units; NULL until an encoder is there */
	char	   *encoded;		/* the same in units; NULL without an encoder */
	char	   *complete;		/* NULL: samples take all rows */
	char	   *group_value;	/* '' without groups */
	char	   *condition;		/* the option where, every name resolved; NULL: none */
	char	   *filter;			/* rows without NULL */
	bool		heap;			/* rows have places in blocks, which distinguish them; else their values do */
	char	  **leaves;			/* tables to aggregate one by one */
	int			leaf_count;		/* 0: the relation as it is */
	bool		sharded;		/* its rows lie on shards of Citus */
	bool		cosine;			/* rows are read as vectors of length 1 */
	bool		stable;			/* all queries see the rows that the calling query sees */
} train_source;

/* The parts of the serving version for a group; operator NULL: none. */
typedef struct serving_part
{
	char	   *group;
	fc_operator_header *op;
	units		units;
	struct varlena *map;
	bool		cosine;
} serving_part;

/* Operators in units that the scan measures and moves, of all rows or of a group. */
typedef struct candidates
{
	char	   *group;
	int			count;
	fc_operator_header *op[2];
	const fc_operator_header *sample;	/* rows in units that the first was found in */
	double		n;				/* rows of the group, about */
	double		objective;		/* its mean squared distance there, and its error */
	double		error;
} candidates;

/* A training, with the results of its steps so far. */
/* A cluster that somebody named. */
typedef struct named_cluster
{
	char	   *group;			/* '' without groups */
	int32		cluster;
} named_cluster;

typedef struct training
{
	int64		model_id;		/* 0: a sample alone is requested */
	char	   *model;
	int32		version;
	train_source source;
	Size		k;				/* 0: to be chosen */
	train_method method;
	char	   *note;
	const train_options *options;
	Jsonb	   *stored;			/* which the version stores */
	bool		frozen;			/* the clusters that serve keep their centroids */
	double		estimate;		/* of the number of rows */
	bool		again;			/* a retrain, whose columns were warned of */
	TimestampTz begun;
	/* made */
	Size		dim;			/* of a row */
	double		groups;			/* about */
	units		units;			/* of a row */
	struct varlena *map;		/* the features that operators take in place of rows; NULL: none */
	fc_operator_header *start;	/* in units: where k-means goes on from as well; NULL: none */
	const fc_operator_header *imported; /* in the rows' own units: the clusters, which no step moves; NULL: they are learned */
	const int32 *numbers;		/* of these, ascending; NULL: those of the clusters that they continue */
	Datum		paths;			/* and the numbers above each, as a version stores them; 0: by the option levels */
	fc_spec    *spec;
	bool		decodable;		/* the sketch, which takes all rows then */
	fc_drift_spec *drift_spec;
	serving_part *serving;		/* of the version before, by group */
	int			serving_count;
	named_cluster *named;		/* names in all groups, ordered by group */
	int			named_count;
	candidates *found;			/* by group */
	int			found_count;
	double		recall;			/* NAN: not measured */
	fc_operator_header *micro;	/* in units: the micro-clusters of method density without groups; else NULL */
} training;

/* ---- queries (query.c): SPI is connected ---- */

typedef struct query_argument
{
	const char *type;
	Datum		value;
	bool		null;
} query_argument;

#define QUERY_PARALLEL	0x01
#define QUERY_STABLE	0x04	/* in the snapshot of the calling query */
#define QUERY_CONSTANTS	0x02	/* arguments become constants of the plan, which servers behind Citus or postgres_fdw need; else they stay where they are */

/* A type of ours or of pg_catalog. */
extern Oid	type_of_name(const char *name);

/* NULL is NULL. */
extern query_argument text_argument(const char *value);

extern void run_query(const char *text, int count, const query_argument *arguments, int flags);
extern void end_query(void);	/* forgets the result, as the next query does */
extern Datum query_value(uint64 row, int column, bool *null);		/* of the result, in place */

/* The value of a query of one row and one column, in the current context; NULL is 0, with *null set where that is given. */
extern Datum query_datum(const char *text, int count, const query_argument *arguments, int flags, bool *null);

/* A composite value of a type of ours, column by column; those that are not set are NULL, or as they are in another record of the type. */
typedef struct record_builder
{
	TupleDesc	desc;
	Datum	   *values;
	bool	   *nulls;
} record_builder;

extern record_builder begin_record(const char *type, Datum other);		/* other 0: none */
extern void set_column(record_builder *row, const char *name, Datum value);
extern void set_value(record_builder *row, const char *name, const void *value);	/* NULL is NULL, as below */
extern void set_text(record_builder *row, const char *name, const char *value);
extern void set_number(record_builder *row, const char *name, double value);		/* NAN: NULL */
extern void set_numbers(record_builder *row, const char *name, const double *values, Size count);
extern Datum end_record(record_builder *row);

/* ---- steps: notices, training_progress, training_log (log.c) ---- */

extern TimestampTz begin_step(const training *t, const char *step);
extern void log_step(const training *t, const char *step, TimestampTz begun, double objective, const char *note);	/* NAN, NULL: none */

/* ---- checks.c ---- */

/* The error that no row has all features. */
extern void reject_no_rows(const training *t) __attribute__((noreturn));

/* The error that a method cannot do something. */
extern void reject_with_method(train_method method, const char *problem, const char *hint) __attribute__((noreturn));

/* Raises an error if there are fewer than k rows. */
extern void check_k_of_count(const training *t, int64 n);

/* ---- relation.c: SPI is connected ---- */

typedef struct feature_list
{
	char	  **names;
	int			count;
} feature_list;

/* The columns of a list; one that is NULL, empty or of more than one dimension is an error. */
extern feature_list read_features(ArrayType *array);

/* A list that is given as text: '{a,b}', or 'a', which may be a column of vectors. */
extern ArrayType *columns_of_text(Oid relation, const char *given, bool *vector);
extern ArrayType *array_of_names(char *const *names, int count);
extern bool is_among(const char *name, const char *const *names, int count);

/* ---- columns.c ---- */

/* Returns the columns of a relation in their order, without those that were dropped. */
extern struct FormData_pg_attribute *relation_columns(Oid relation, int *count);

/* Returns the name of a relation as regclass shows it. */
extern char *shown_relation(Oid relation);

/* Returns the type of a column; an error if it does not exist. */
extern Oid	column_type(Oid relation, const char *name);

/* All rows, or only those that the options let through, as the metric there takes them. */
extern void open_source(train_source *source, Oid relation, const feature_list *features, bool vector, char *group_by);
extern void add_options(train_source *source, const train_options *options);

/* Columns are read by the encoder from now on. */
extern void use_encoder(train_source *source, const fc_encoder_header *encoder);

/* The expression that distinguishes equal rows. */
extern const char *row_key(const train_source *source);

/* Names as columns of an alias: "t.a, t.b". */
extern char *listed(const char *alias, char *const *names, int count);

/* Are all features numbers, so that predict takes them as a list of values? */
extern bool has_numbers(const train_source *source);

extern bool has_citus(void);

/* May shards be sent aggregates that are called "sum"? */
extern bool sums_on_shards(const train_source *source);

/* ---- window.c ---- */

/* A window as a condition on the rows t of a relation, whose name is given too. */
extern char *window_condition(Oid relation, const char *rows, const row_window *since);

/* ---- warnings.c ---- */

extern void warn_columns(const training *t, const fc_operator_header *sample);

/* ---- source.c ---- */

#define BLOCKS_TIMES	8		/* a sample is an eighth of the rows of eight times as many blocks */

extern void find_group_type(train_source *source);
extern char *group_text(const train_source *source, const char *value);	/* a value of the column of groups as text; relation.c */
extern char *group_key(const train_source *source);	/* the expression of a row that gives its group */
extern void append_rows_from(StringInfo query, const train_source *source, double wanted, double estimate, int64 seed, const char *leaf);

/* The query of a scan of plan $1: a row (group, packed state) for every group, or one. */
extern char *scan_text(const train_source *source, double wanted, double estimate, int64 seed);
/* The same of a row (value as text, packed state) for each value of a column, or for NULL of all rows.  A scan of a share or a sample is keyed. */
extern char *bucket_scan_text(const train_source *source, const char *column, bool keyed);

extern int	scan_flags(const train_source *source);

/* How many rows there are; the second by the option `sample`, by which rows may be distinguished by their values. */
extern double estimated_rows(const train_source *source);
extern double rows_to_sample(train_source *source, row_sampling sample);

/* The text of a row as operators take it, of parameters $1 center, $2 scale and $3 map. */
extern char *row_text(const train_source *source, bool scaled, bool mapped);

/* The results that a scan shall find of the rows in units; zeros and NULLs: not these. */
typedef struct scan_request
{
	units		units;
	struct varlena *map;
	const fc_spec *spec;
	const fc_drift_spec *drift_spec;
	int			share;			/* 0: all */
	double		size;			/* of the weighted sample */
	const double *center;
	double		variance;		/* 0: a uniform sample */
	double		rank_limit;
	int			operators;
	const fc_operator_header *op[2];
} scan_request;

/* Tells how long a scan of all rows takes. */
extern void announce_scan(const training *t, const scan_request *request, int flags);

/* The plan of scan_agg. */
extern Datum plan_of_scan(const training *t, const train_source *source, const scan_request *request);

/* ---- encoder.c ---- */

/* Learns the encoder of columns from some rows; one that was there keeps its dimensions. */
extern void learn_encoder(training *t);

/* The sample in units; of columns with NULLs rows without those that no dimension is for. */
extern fc_operator_header *rows_without_nulls(const training *t, const fc_operator_header *sample);

/* The dimensions that tell NULLs of numbers, which were seen to distinguish rows; NULL: the rows are vectors. */
extern bool *null_dimensions(const train_source *source);

extern void warn_useless_columns(const training *t, const fc_operator_header *sample, const char *of_sample);
extern void report_nulls(const training *t, int64 imputed, int64 n);

/* ---- sample.c ---- */

/*
 * Bytes of the budget for each number of a sample: 16 where it is drawn (doubles, copied once), then 4, beside the uniform sample and the work space of
 * k-means.  Few clusters gain little from more rows, so half of the budget is enough for them.  The samples of groups are searched one by one.
 */
#define BYTES_OF_SAMPLE	49
#define BYTES_OF_MANY	24		/* clusters */
#define BYTES_OF_GROUPS	16
#define BYTES_SENT		56		/* where workers send theirs to the leader, which keeps these until all have come */

/* Rows that fit into the memory budget beside the bytes held, `size` at most. */
extern Size rows_in_budget(double size, Size held, Size of_number, Size dimension);

/* scan_flags of a scan for a sample of so many rows: without workers where the budget has no room for theirs. */
extern int	sampling_flags(const training *t, double rows, Size held, Size dim);

/* How many rows a training wants in its uniform sample; one in random order, in the rows' own units. */
extern double wanted_rows(const training *t);

/* Rows of a sample, so many for each cluster as are usual, or fewer where the method is kmeans and the option effort is fast. */
extern double rows_of_clusters(const training *t, double usual);
extern fc_operator_header *uniform_sample(training *t, double wanted);	/* 0: as the options say */

/* Some rows of a source of so many dimensions. */
extern fc_operator_header *sample_of_source(const training *t, const train_source *source, Size dim, double wanted);
extern units encoder_units(const train_source *source);

/* Every `step`-th of some rows, so many at most. */
extern fc_operator_header *some_rows(const fc_operator_header *rows, Size step, Size most);

/* Their features by a map; NULL: as they are. */
extern fc_operator_header *rows_with_map(const struct varlena *map, const fc_operator_header *rows);

/* Compares two doubles, for qsort. */
extern int	ascending(const void *a, const void *b);

/* The parameters of row_text: three arguments. */
extern void set_units(const training *t, query_argument *arguments);

/* ---- parts: groups, or the only one ---- */

typedef struct train_part
{
	char	   *group;			/* "" without groups */
	int64		n;				/* rows */
	int64		nulls;			/* of these with a NULL; -1: not counted */
	fc_operator_header *rows;	/* the weighted sample, in units */
	fc_operator_header *op;
	double		objective;		/* mean squared distance of all rows to op; NAN: not measured */
	bool		settled;		/* no scan is to move it */
	struct varlena *sketch;
	struct varlena *counts;
	bool		measured;		/* the objective is that of all rows */
	candidates	found;			/* that the scan measured: their sums of squares, and where Lloyd's step moves them with what it gains */
	fc_operator_header *next[2];
	double		sse[2];
	double		gain[2];
	fc_operator_header *micro;	/* of method density: the micro-clusters that label rows, where op has the means of clusters; else NULL */
	double	   *spreads;		/* of op then */
	double	   *splits;			/* of its tree, 4 (k - 1): left, right, radius, rows; NULL: none */
	double	   *squares;		/* of the micro-clusters, the mean squared distance of rows to their mean; NULL: the sample tells */
} train_part;


/* ---- serving.c ---- */

/* Compares structs that begin with the name of their group, for qsort and bsearch. */
extern int	by_group(const void *a, const void *b);

/* Reads the parts of the version that serves into the training. */
extern void read_serving(training *t);

/* Returns the part of a group; its operator is NULL if there is none. */
extern serving_part serving_of(const training *t, const char *group);

/* Reads the clusters of the model that have names into the training. */
extern void read_named_clusters(training *t);

/*
 * Returns the numbers of a group that have names.  A new cluster takes none of
 * them: it would bear the name of a cluster that is no more.
 */
extern Bitmapset *named_numbers(const training *t, const char *group);

/* Returns the number of the next version, whichever version serves. */
extern int32 next_version(int64 model_id);

/* Makes the version of the training serve, and updates the labels that follow the model. */
extern void start_serving(const training *t);

/* ---- scan.c ---- */

/* How many groups there are about: those of so many rows; 1 without groups. */
extern double estimated_groups(const training *t, Size wanted);

/* The share of rows that enter sketch and counts: one of so many. */
extern int	sketched_share(const training *t, double groups);

/* Settings of a query that hashes groups, without workers where they are sparse, until AtEOXact_GUC of the level it returns. */
extern int	enter_grouping(const training *t, bool sparse);
extern train_part *scan_parts(training *t, const fc_operator_header *sample, int *parts);

/* Uniform samples of groups, `wanted` rows each at most and about `rows` in all, in random order and the rows' own units. */
typedef struct group_sample
{
	char	   *group;
	fc_operator_header *rows;
	int64		n;				/* rows that were read of it */
} group_sample;

extern group_sample *sample_groups(const training *t, double wanted, double rows, int *count);

/* ---- fit.c ---- */

/* K-means of rows by a search, which takes so many numbers of wide ones. */
extern fc_operator_header *searched_clusters(const training *t, const fc_operator_header *rows, Size k, double most_numbers);

#define SEARCHED_NUMBERS	1e6
#define SHARED_NUMBERS		1e5		/* two searches share the time of one */

/* The clusters of a group that serve, in units, where k of them can be compared; else NULL. */
extern fc_operator_header *old_clusters(const training *t, const char *group, Size k);

extern void fit_part(const training *t, train_part *part);

/* Announces all groups before the first, or refuses them. */
extern void announce_groups(const training *t, const train_part *parts, int count);

/* ---- density.c: the method density, which no other calls ---- */

/* The error of a training that the method cannot do; k as it was requested, 0: not. */
extern void check_density(const training *t, int64 k);

extern Size micro_clusters(const training *t);

/* A live sketch of each micro-cluster is within the budget. */
extern void check_live_size(const training *t);

/* The operators of parts have the micro-clusters; afterwards the means of clusters. */
extern void find_regions(training *t, const fc_operator_header *sample, train_part *parts, int count);

/* Clusters get these numbers, completed to a permutation; NULL: they keep theirs. */
extern void number_regions(train_part *part, int32 *numbers);
extern fit_profile profile_of_regions(const train_part *part, const double *places, Size count);

/* ---- product.c ---- */

/* Returns how many numbers an operator holds. */
extern Size stored_values(const fc_operator_header *header);


/* The centroids of a part as a product of sparse factors that QK-means learns. */
extern void learn_product(const training *t, train_part *part, const fc_operator_header *rows, Size k);

/* ---- lloyd.c ---- */

extern void lloyd_scans(training *t, train_part *parts, int count, int steps);
extern void balance_clusters(training *t, train_part *part);

/* One scan of an operator over all rows without groups. */
typedef struct lloyd_sums
{
	fc_operator_header *next;
	double		sse;
	int64		n;
} lloyd_sums;

/* Can workers hold the sums of a scan, and send them? */
extern bool sums_are_shared(const fc_operator_header *op);

extern lloyd_sums lloyd_scan(const training *t, const fc_operator_header *op);

/* ---- version.c ---- */

/* A part of a version that is stored; NULL: the record has none. */
typedef struct stored_version
{
	Datum		record;			/* stored_versions */
	char	   *model;
	int32		version;
	char	   *group;
	train_method method;		/* METHOD_NONE: it is not there */
	char	   *relation;
	feature_list features;
	bool		vector;
	struct varlena *encoder;
	Size		k;
	const train_options *options;
	fc_operator_header *op;
	struct varlena *map;
	fc_spec    *spec;
	struct varlena *sketch;
} stored_version;

extern stored_version open_version(Datum record);

/* The units of its rows of d numbers. */
extern units units_of_version(const stored_version *version, Size d);

/* ---- spec.c ---- */

/* Does a live sketch follow the rows of the model, that the caller may read? */
extern bool is_followed(const training *t);
extern void choose_specs(training *t, const fc_operator_header *sample);
extern void choose_map(training *t, const fc_operator_header *sample);

/* ---- checks.c: the number of clusters ---- */

/* The number of clusters: with levels their product, so that k (0: NULL) may be left out. */
extern int64 clusters_of_levels(const train_options *options, int64 k);

/*
 * Returns the number of clusters of a retrain with these options, which make
 * the settings.  Without k it is that of the version, whatever its levels
 * make, because clusters may have been merged.  A new k and levels must agree.
 */
extern int64 clusters_of_retraining(const stored_version *version, const train_options *options, const train_options *settings);

/* ---- job.c ---- */

/* A model that is held until the end of the transaction. */
typedef struct held_model
{
	Datum		record;			/* stored_models */
	int64		id;
	char	   *model;
	int32		version;		/* the current one; 0: none */
} held_model;

/* The model of the call's first argument; one that is not there is made, or an error. */
extern held_model hold_model(FunctionCallInfo fcinfo, bool wait, bool make);

/* Of the current version the part of most clusters; groups: else a model of groups is an error. */
extern stored_version largest_part(const held_model *held, bool groups);

extern void warn_foreign_code(Oid relation, const feature_list *features, const train_options *options);

/* The job of the next version of a model, checked; then its version, which serves unless it was not to be activated. */
extern training *begin_training(const held_model *held, const train_source *source, int64 k, train_method method, const train_options *options);

/* The job of the next version: the settings of the one that serves, but for those that the options change (command.c). */
extern training *begin_retraining(const held_model *held, const stored_version *version, const train_options *options);
extern int32 run_training(FunctionCallInfo fcinfo, training *t);

/* ---- decoded.c: versions that are made of a sketch alone; no row is read ---- */

typedef struct decoded_clusters
{
	fc_operator_header *op;		/* in the rows' own units */
	double	   *spreads;
	double		objective;
} decoded_clusters;

/* initial: where to start from as well, or NULL; forget: bounds, which may be those of rows that are gone. */
extern decoded_clusters decode_sketch(const training *t, const struct varlena *sketch, const fc_spec *spec, Size k, const fc_operator_header *initial, bool quiet, bool forget);

/* The options of a version that is decoded: those of the one before, but for those that change. */
extern Jsonb *next_options(const stored_version *before, const train_options *options);

/* A new version of a live model, of each group that has rows; and one from the sketch of new rows. */
extern int32 retrain_live(const held_model *held, const stored_version *template, Datum live, const train_options *options);
extern int32 retrain_from_sketch(const held_model *held, const stored_version *version, struct varlena *rows, const train_options *options);

/* ---- train.c ---- */

/* The version of a training, written but not served yet. */
extern void train_rows(training *t);

/* Evidence for numbers of clusters up to k, from a sample. */
extern fc_choice *try_clusters(training *t);
extern const char *verdict_of(const fc_choice *choice);

/* Why the number is not clear; NULL: it is. */
extern const char *reason_of(const fc_choice *choice);

/* ---- store.c ---- */

extern void write_parts(Datum *records, int count);

extern Datum level_paths(const training *t, const fc_operator_header *op, bool *null);

extern double store_parts(training *t, const fc_operator_header *sample, train_part *parts, int count);

#define SCAN_STEPS	2			/* operators at most */

/* Of an operator of the plan. */
typedef struct scan_step
{
	fc_operator_header *next;	/* the means of the clusters; where nobody came, the centroid stays */
	int64		n;
	double		sse;
	int64	   *counts;			/* k */
} scan_step;

typedef struct scan_result
{
	int64		n;				/* rows taken, whatever the share */
	int64		nulls;			/* of these with a NULL cell; by cosine those that were not taken, for they have no direction */
	struct varlena *sketch;		/* these three are NULL where there is none, or no row entered */
	struct varlena *counts;
	fc_coreset *sample;
	int			steps;
	scan_step	step[SCAN_STEPS];
} scan_result;

extern void read_scan(Datum packed, scan_result *result);

#endif							/* FASTCLUST_TRAIN_H */

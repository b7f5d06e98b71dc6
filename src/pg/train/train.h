/*
 * train.h - a training: what it is about, where its rows come from, and the steps that make a version of them.
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

#include "postgres.h"

#include "datatype/timestamp.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/jsonb.h"

#include "drift/spec.h"
#include "operator/bytes.h"
#include "operator/coreset.h"
#include "pg/operator/rows.h"
#include "sketch/spec.h"

/* The rows of a relation as a training reads them (row_source of sql/models/rows.sql says the same); texts are of the alias t. */
typedef struct train_source
{
	Datum		record;			/* the row_source */
	char	   *relation;
	char	  **features;
	int			feature_count;
	bool		vector;			/* features is one column of vectors */
	char	   *group_by;		/* NULL: no groups */
	char	   *integer;		/* the type of groups that are integers, as which they are grouped; NULL: by their texts */
	bool		planned;		/* groups are scanned by plans of their own, $3 of the values $2, and others by $1 */
	struct varlena *encoder;	/* NULL of vectors */
	char	   *raw;
	char	   *complete;		/* NULL: samples take all rows */
	char	   *group_value;
	char	   *filter;
	bool		heap;
	char	   *key;
	bool		sparse;
	char	  **leaves;			/* tables to aggregate one by one */
	int			leaf_count;		/* 0: the relation as it is */
	bool		sharded;
	bool		cosine;
} train_source;

/* What the serving version has for a group; operator NULL: nothing. */
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
	Size		rows;			/* of the uniform sample that the first was found in; its mean squared distance there, and its error */
	double		objective;
	double		error;
} candidates;

/* A job and what its steps have made. */
typedef struct training
{
	Datum		job;			/* the training_job; `k` and `note` may be other ones */
	int64		model_id;		/* 0: a sample alone is asked for */
	char	   *model;
	int32		version;
	train_source source;
	Size		k;				/* 0: to be chosen */
	char	   *method;
	char	   *note;
	Jsonb	   *options;
	int64		seed;
	double		estimate;		/* of the number of rows */
	double		wanted;			/* rows of a uniform sample; 0: as the options say */
	TimestampTz begun;
	/* made */
	Size		dim;			/* of a row */
	double		groups;			/* about */
	units		units;			/* of a row */
	struct varlena *map;		/* the features that operators take in place of rows; NULL: none */
	fc_operator_header *start;	/* in units: where k-means goes on from as well; NULL: none */
	fc_spec    *spec;
	bool		decodable;		/* the sketch, which takes all rows then */
	fc_drift_spec *drift_spec;
	serving_part *serving;		/* of the version before, by group */
	int			serving_count;
	candidates *found;			/* by group */
	int			found_count;
	double		recall;			/* NAN: not measured */
} training;

extern training *open_training(Datum job);

/* ---- options, which were checked ---- */

extern bool has_option(const Jsonb *options, const char *name);
extern double number_option(const Jsonb *options, const char *name, double missing);
extern bool flag_option(const Jsonb *options, const char *name, bool missing);
extern char *text_option(const Jsonb *options, const char *name);
extern Jsonb *object_option(const Jsonb *options, const char *name);		/* NULL: there is none */

/* ---- queries (query.c): SPI is connected ---- */

typedef struct query_argument
{
	const char *type;
	Datum		value;
	bool		null;
} query_argument;

#define QUERY_PARALLEL	0x01
#define QUERY_CONSTANTS	0x02	/* arguments become constants of the plan, which servers behind Citus or postgres_fdw need; else they stay where they are */

/* A type of ours or of pg_catalog. */
extern Oid	type_of_name(const char *name);

extern void run_query(const char *text, int count, const query_argument *arguments, int flags);
extern Datum query_value(uint64 row, int column, bool *null);		/* of the result, where it lies */

/* The value of a query of one row and one column, in the current context; NULL is 0, with *null set where that is given. */
extern Datum query_datum(const char *text, int count, const query_argument *arguments, int flags, bool *null);

/* A composite value of a type of ours. */
extern Datum make_record(const char *type, Datum *values, bool *nulls);

/* ---- steps: notices, training_progress, training_log (steps.c) ---- */

extern TimestampTz begin_step(const training *t, const char *step);
extern void log_step(const training *t, const char *step, TimestampTz begun, double objective, const char *note);	/* NAN, NULL: none */
extern void reject_no_rows(const training *t) __attribute__((noreturn));

/* ---- source.c ---- */

#define BLOCKS_TIMES	8		/* a sample is an eighth of the rows of eight times as many blocks */

extern void open_source(Datum record, train_source *source);
extern void find_group_type(train_source *source);
extern void append_rows_from(StringInfo query, const train_source *source, double wanted, double estimate, int64 seed, const char *leaf);

/* The query of a scan of plan $1: a row (group, packed state) for every group, or one. */
extern char *scan_text(const train_source *source, double wanted, double estimate, int64 seed);
/* May shards be sent aggregates that are called "sum"? */
extern bool sums_on_shards(const train_source *source);

extern int	scan_flags(const train_source *source);

/* What a scan is to find of the rows in units; zeros and NULLs: not that. */
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
extern Datum scan_plan(const training *t, const scan_request *request);

/* ---- encoder.c ---- */

/* Learns the encoder of columns from some rows; one that was there keeps its dimensions. */
extern void learn_encoder(training *t);

/* The sample in units; of columns with NULLs rows without those that no dimension is for. */
extern fc_operator_header *rows_without_nulls(const training *t, const fc_operator_header *sample);

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
extern int	sampling_flags(const training *t, double rows, Size held);

/* How many rows a training wants in its uniform sample; one in random order, in the rows' own units. */
extern double wanted_rows(const training *t);
extern fc_operator_header *uniform_sample(training *t);
extern units encoder_units(const train_source *source);

/* Every `step`-th of some rows, so many at most. */
extern fc_operator_header *some_rows(const fc_operator_header *rows, Size step, Size most);

/* Their features by a map; NULL: as they are. */
extern fc_operator_header *rows_with_map(const struct varlena *map, const fc_operator_header *rows);

/* A row_units, and the text of a row as operators take it, by the row_units $1. */
extern Datum units_record(const training *t);
extern char *row_text(const training *t);

/* ---- parts: groups, or the only one ---- */

typedef struct train_part
{
	char	   *group;			/* "" without groups */
	int64		n;				/* rows */
	int64		nulls;			/* of these with a NULL */
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
} train_part;

extern void read_serving(training *t);
extern serving_part serving_of(const training *t, const char *group);

/* ---- scan.c ---- */

/* How many groups there are about: those of so many rows; 1 without groups. */
extern double estimated_groups(const training *t, Size wanted);

/* The share of rows that enter sketch and counts: one of so many. */
extern int	sketched_share(const training *t, double groups);
extern train_part *scan_parts(training *t, const fc_operator_header *sample, int *parts);

/* Uniform samples of groups, `wanted` rows each at most, in random order and the rows' own units. */
typedef struct group_sample
{
	char	   *group;
	fc_operator_header *rows;
} group_sample;

extern group_sample *sample_groups(const training *t, double wanted, int *count);

/* ---- fit.c ---- */

/* K-means of rows by a search, which takes so many numbers of wide ones. */
extern fc_operator_header *searched_clusters(const training *t, const fc_operator_header *rows, double most_numbers);

#define SEARCHED_NUMBERS	1e6
#define SHARED_NUMBERS		1e5		/* two searches share the time of one */

/* The clusters of a group that serve, in units, where k of them can be compared; else NULL. */
extern fc_operator_header *old_clusters(const training *t, const char *group, Size k);

extern bool has_factor_method(const training *t);
extern void fit_part(training *t, train_part *part);

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

/* ---- store.c ---- */

extern double store_parts(training *t, const fc_operator_header *sample, train_part *parts, int count);

#endif							/* FASTCLUST_TRAIN_H */

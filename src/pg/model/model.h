/*
 * model.h - a stored model as rows meet it: read once per query and call site
 */
#ifndef FASTCLUST_MODEL_H
#define FASTCLUST_MODEL_H

#include "nodes/bitmapset.h"

#include "numerics/weighted_rows.h"
#include "pg/operator/operator_cache.h"
#include "rkhs/map.h"

/*
 * One model, or one group of a model; operator is NULL for a group without
 * one.
 */
typedef struct served_model
{
	MemoryContext context;
	text	   *name;
	text	   *group;			/* empty unless asked for a group */
	int32		version;		/* the number requested, or one of these below */
	char	   *group_by;		/* the column of the groups, NULL without
								 * groups */
	Size		bytes;
	fc_operator_header *header;
	fc_operator view;
	Size		asked;			/* how often */
	/* of the view, for sparse rows; NULL where there are none, or not yet */
	fc_columns *columns;
	fc_kernel_map_header *map_header;	/* NULL: the operator takes rows, not
										 * their features */
	fc_kernel_map map;
	Size		d;				/* of the rows */
	double	   *center;			/* d, or NULL: rows are used as they are */
	double	   *scale;
	double	   *quantiles;		/* of training distances at 1 - (1 - i /
								 * (count - 1))^2 */
	int			quantile_count;
	double		contamination;	/* the share of the rows that anomaly takes
								 * for anomalies */
	double	   *spreads;		/* k deviations per dimension, or NULL */
	Datum	   *names;			/* of its clusters; NULL until they are
								 * requested */
	int			name_count;

	/*
	 * k x levels: the numbers above each cluster, from the top; NULL without
	 * levels
	 */
	int32	   *paths;
	int			levels;			/* above the clusters */
	struct prepared_encoder *encoder;	/* of its columns; NULL: rows are
										 * vectors */
	bool		takes_numbers;	/* each column is a number */

	/*
	 * takes the logarithm of one of these at least, or has an indicator of
	 * its NULLs
	 */
	bool		encodes_numbers;
	Size		values;			/* numbers in a list of values: the columns,
								 * or d */
	char	   *vector_column;	/* by which a record gives a vector; NULL with
								 * an encoder */
} served_model;

/*
 * Versions are positive. Citus writes defaults into its queries: only a value
 * tells one from a NULL that was given.
 */
#define CURRENT_VERSION	-1		/* the default of the SQL */
#define NULL_VERSION	PG_INT32_MIN

/* Models hold for one user, in one snapshot and epoch (model_cache.c). */
typedef struct model_validity
{
	uint64		epoch;
	Oid			user;
	TransactionId xmin;
	TransactionId xmax;
	uint32		xcnt;
	int32		subxcnt;
	CommandId	curcid;
} model_validity;

/* The state that a call site keeps from row to row. */
typedef struct model_site
{
	MemoryContext context;		/* of the models */
	served_model *last;
	const served_model *ready;	/* the buffers below are large enough for it */
	struct models_hash *models; /* by name, group and version */
	Size		bytes;
	int32		version;		/* of the row */
	model_validity valid;
	vector_reader reader;
	sparse_site sparse;
	struct column_reader *columns;	/* where the row is given so; NULL until
									 * then */
	struct record_reader *record;	/* where it is a record */
	const served_model *record_model;	/* whose columns the record is read
										 * for */
	struct record_reader *group;	/* of the record's group, in the column of
									 * that name */
	char	   *group_column;
	struct value_reader *group_reader;	/* of a group that is given, but not
										 * as text */
	fc_scratch	scratch;		/* of the operator; of the map behind its
								 * features */
	double	   *row;
	Size		row_doubles;
} model_site;

/* The validity of a model that is read now. */
extern model_validity model_validity_now(void);

/*
 * Does a model that was read under this validity hold now? Zeros never hold.
 * Evaluated for every row.
 */
extern bool model_validity_holds(const model_validity *valid);

extern model_site *model_site_of(FunctionCallInfo fcinfo);

/*
 * The site's version of the model in argument 0, of a group, or NULL for none.
 */
extern const served_model *served_model_of(FunctionCallInfo fcinfo,
										   model_site *site, const text *group);

/*
 * The columns of the model that served_model_of gave last, where its rows are
 * those of its operator; else NULL.
 */
extern const fc_columns *columns_of_model(model_site *site);

/* The shown name of a cluster of the model that served_model_of gave last. */
extern text *shown_name_of(model_site *site, int32 cluster);

/* ---- a row of arguments in the coordinates of a model's operator ---- */

/* How a row is given. */
typedef enum row_form
{
	ROW_GIVEN,					/* as the type of the argument says: one of
								 * the last three */
	ROW_LIST,					/* two numbers and a perhaps empty array of
								 * those behind them */
	/* numbers of any type: all arguments, VARIADIC "any", or a single one */
	ROW_COLUMNS,
	ROW_VECTOR,
	/* a whole row, of which the model's columns are taken by their names */
	ROW_RECORD
} row_form;

typedef struct model_row
{
	const served_model *model;
	const double *x;			/* in the operator's coordinates */
	bool		labelled;		/* a sparse row, whose nearest centroid is
								 * known */
	size_t		nearest;
	fc_scratch	scratch;
} model_row;

/*
 * The row that begins in `argument`, and the model in argument 0, of the group
 * in argument `group` (-1: none), or of that in a whole row's own column, and
 * of the version in argument `version` (-1: the current one). False where
 * there is no answer: a group that is NULL or has no model; a NULL among
 * listed values of a model of vectors; one in a column whose NULLs are to be
 * skipped; a zero vector, where the metric is cosine.
 */
extern bool read_model_row(FunctionCallInfo fcinfo, int group, int version,
						   int argument, row_form form, model_row *row);

/*
 * A vector, of the form in the site's reader, in the coordinates of the
 * model's operator, in the site; NULL: it has no direction.
 */
extern const double *vector_in_model(FunctionCallInfo fcinfo, model_site *site,
									 const served_model *model, Datum x);

/*
 * For each cluster of `new` the number that it gets: of the cluster of `old`
 * that it continues by distance, or the lowest that no other has and that is
 * not reserved. NULL where they cannot be compared.
 */
extern int32 *numbers_by_distance(const fc_operator_header *old,
								  const fc_operator_header *new, const Bitmapset *reserved);

/*
 * The row of old that each row of new continues, or -1: by distance, or by the
 * weight of rows of new and old label (k_new x k_old). NULL where they cannot
 * be compared.
 */
extern int32 *rows_by_distance(const fc_operator_header *old, const fc_operator_header *new);
extern int32 *rows_by_labels(const double *counts, Size k_old, Size k_new);

/* The numbers that an operator labels rows with. */
extern Bitmapset *numbers_of_clusters(const fc_operator_header *op);

/*
 * Negative ones of k numbers become the lowest that are neither another's nor
 * reserved.
 */
extern void
			number_new_clusters(int32 *number, Size k, const Bitmapset *reserved);

/*
 * For each number how many others are below it: the row of a renumbered
 * operator.
 */
extern int32 *places_of_numbers(const int32 *numbers, Size k);

/*
 * The new operator with the numbers of the old one for the clusters that
 * continue its own: by distance, where the new one is also given in the units
 * of the old (moved; else NULL), or by the labels of rows that each has in its
 * own space.
 */
extern fc_operator_header *with_numbers_of(const fc_operator_header *old,
										   const fc_weighted_rows *old_rows,
										   const fc_operator_header *new,
										   const fc_weighted_rows *new_rows,
										   const fc_operator_header *moved,
										   const Bitmapset *reserved);

/*
 * The cluster of row j becomes number numbers[j], and rows are in the order of
 * numbers; NULL: op as it is.
 */
extern fc_operator_header *renumbered(const fc_operator_header *op, const int32 *numbers);

#endif							/* FASTCLUST_MODEL_H */

/*
 * model.h - stored models applied to rows; each call site reads a model once
 * per query
 */
#ifndef FASTCLUST_MODEL_H
#define FASTCLUST_MODEL_H

#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"

#include "numerics/weighted_rows.h"
#include "pg/operator/operator_cache.h"
#include "pg/operator/rows.h"
#include "rkhs/map.h"

/*
 * A model, or one group of a model; header is NULL if the group does not
 * exist.
 */
typedef struct served_model
{
	MemoryContext context;
	text	   *name;
	text	   *group;			/* requested group; empty if no group was
								 * requested */
	int32		version;		/* requested version, or CURRENT_VERSION or
								 * NULL_VERSION */
	char	   *group_by;		/* name of the column with the group; NULL
								 * without groups */
	struct group_type *grouping;	/* type of the column group_by; NULL until
									 * it is needed */
	List	   *finders;		/* group_finders, one per type of the values
								 * that name groups */
	Size		bytes;
	fc_operator_header *header;
	fc_operator view;			/* view of `header` */
	Size		uses;			/* number of calls that used the model */

	/*
	 * transpose of the centroids, for sparse rows; NULL until it is made
	 */
	fc_columns *columns;
	fc_kernel_map_header *map_header;	/* kernel feature map; NULL if the
										 * operator takes the rows themselves */
	fc_kernel_map map;			/* view of map_header */
	Size		d;				/* dimension of the rows */
	double	   *center;			/* d values, like `scale`; NULL if rows are
								 * not scaled */
	double	   *scale;

	/*
	 * quantiles of the relative distances of the training rows or, for a
	 * model of regions, of their outlier scores. With q = i / (quantile_count
	 * - 1), element i is for the probability 1 - (1 - q)^2.
	 */
	double	   *quantiles;
	int			quantile_count;
	double		contamination;	/* share of the rows, 0 to 1, that anomaly()
								 * flags by default */
	double	   *spreads;		/* standard deviation per dimension of each of
								 * the k clusters, or NULL */
	double		common_square;	/* mean of the squares of `spreads`, weighted
								 * by the weights of the clusters */
	Datum	   *names;			/* names of the clusters, name_count elements
								 * indexed by cluster number; NULL until they
								 * are needed */
	int			name_count;

	/*
	 * k x levels: for each cluster, the numbers of the nodes above it in the
	 * tree, from the top; NULL without levels
	 */
	int32	   *paths;
	int			levels;			/* number of levels above the clusters */
	struct prepared_encoder *encoder;	/* encoder of the model's columns;
										 * NULL if rows are vectors */
	bool		observed;		/* true if rows with NULLs are compared with
								 * centroids over their other columns
								 * (operator/partial.h) */
	bool		takes_numbers;	/* true if each column is a number */

	/*
	 * true if a column is encoded as its logarithm or as a cycle, or has an
	 * indicator of NULLs
	 */
	bool		encodes_numbers;
	Size		values;			/* number of values of a row that is given as
								 * a list: the number of columns if each is a
								 * number, else d */
	char	   *vector_column;	/* name of the column of a record that holds
								 * the vector, "" if unknown; NULL with an
								 * encoder */
} served_model;

/*
 * Special values of the argument "version"; versions are positive. The default
 * is a value of its own because Citus writes defaults into its queries: if it
 * were NULL, it could not be distinguished from a NULL that the caller gave.
 */
#define CURRENT_VERSION	-1		/* default in the SQL declarations */
#define NULL_VERSION	PG_INT32_MIN

/*
 * Conditions under which cached models are valid: one user, snapshot and epoch
 * (model_cache.c). They are compared as bytes, so the struct has no padding.
 */
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

/* State that a call site keeps from row to row. */
typedef struct model_call_state
{
	MemoryContext context;		/* owns the models */
	served_model *last;			/* model of the last call; NULL if there is
								 * none */
	served_model *base;			/* model with groups that was last read
								 * without a group; NULL if there is none */
	const served_model *ready;	/* model that the buffers below are large
								 * enough for */
	struct models_hash *models; /* models by name, group and version */
	Size		bytes;			/* memory of the models */
	int32		version;		/* version requested for the current row */
	model_validity valid;		/* conditions under which `models` are valid */
	vector_reader reader;
	sparse_scratch sparse;
	struct column_reader *columns;	/* reader of a row given as a list of
									 * columns; NULL before the first such row */
	struct record_reader *record;	/* reader of a row given as a record; NULL
									 * before the first such row */
	const served_model *record_model;	/* model whose columns `record` reads */
	struct record_reader *group;	/* reader of a record's group, in the
									 * column group_column */
	char	   *group_column;
	fc_scratch	scratch;		/* scratch space of the operator; with a map,
								 * the row's features followed by scratch
								 * space of the map */
	double	   *row;			/* buffers for a row, row_doubles values in
								 * total */
	Size		row_doubles;
} model_call_state;

/* Returns the validity of a model that is read now. */
extern model_validity model_validity_now(void);

/*
 * Returns true if a model that was read under this validity is still valid.
 * Returns false if the validity is all zero. Called for every row.
 */
extern bool model_validity_holds(const model_validity *valid);

extern model_call_state *model_call_state_of(FunctionCallInfo fcinfo);

/*
 * Returns the model that argument 0 names, in version call->version, for the
 * given group. If the group is NULL, returns the model read without a group.
 */
extern const served_model *served_model_of(FunctionCallInfo fcinfo,
										   model_call_state *call, const text *group);

/*
 * Returns the model that argument 0 names, read without a group. The result is
 * the argument `base` of group_of_value and served_group_of.
 */
extern served_model *model_of_all_groups(FunctionCallInfo fcinfo, model_call_state *call);

/*
 * Returns the model of a group of the model that model_of_all_groups returned
 * for the current row.
 */
extern const served_model *served_group_of(FunctionCallInfo fcinfo, model_call_state *call,
										   const served_model *base, const text *group);

/*
 * Returns the text of the group of the model `base` that equals a value of the
 * given type. If there is no such group, returns NULL or, if or_given is true,
 * the text of the value.
 */
extern const text *group_of_value(model_call_state *call, served_model *base, Oid type,
								  Datum value, bool or_given);

/*
 * Returns the transpose of the centroids of the model that served_model_of
 * returned last. Returns NULL if rows must be transformed before the operator
 * takes them, or if columns_of returns NULL.
 */
extern const fc_columns *columns_of_model(model_call_state *call);

/*
 * Returns the displayed name of a cluster of the model that served_model_of
 * returned last.
 */
extern text *shown_name_of(model_call_state *call, int32 cluster);

/* ---- a row of arguments in the coordinates of a model's operator ---- */

/* Forms in which a row may be given. */
typedef enum row_form
{
	ROW_GIVEN,					/* ROW_COLUMNS, ROW_VECTOR or ROW_RECORD, by
								 * the argument type */
	ROW_LIST,					/* two numbers, then an array of the remaining
								 * numbers (may be empty) */
	ROW_COLUMNS,				/* numbers of any type, one per argument
								 * (VARIADIC "any") */
	ROW_VECTOR,					/* one argument: a vector or an array */
	/* a whole row, from which the model's columns are taken by name */
	ROW_RECORD
} row_form;

typedef struct model_row
{
	const served_model *model;
	const double *x;			/* row in the operator's coordinates; missing
								 * values are replaced by the coordinates of
								 * the nearest centroid */
	bool		labelled;		/* true if `nearest` is set: for a sparse row
								 * and for a row with missing values */
	size_t		nearest;		/* index of the nearest centroid */

	/*
	 * the row with NaN for missing values, or NULL if none is missing
	 */
	const double *partial;
	double		factor;			/* factor of squared distances: d, divided by
								 * the number of observed values */
	fc_scratch	scratch;
} model_row;

/*
 * Reads the row that begins in argument `argument`, and the model in argument
 * 0. The group is in argument `group`; if `group` is -1 or the argument is
 * NULL, it is in a column of a whole row. The version is in argument
 * `version`, or is the current one if `version` is -1. Returns false if the
 * function that was called must return NULL for the row:
 *     the group is NULL, or the model does not have it;
 *     a listed value is NULL, and the rows of the model are vectors;
 *     the vector column of a whole row is NULL;
 *     a column is NULL whose NULLs cause a row to be skipped;
 *     all values are NULL, and the model compares only values that are not;
 *     the metric is cosine, and the vector is zero.
 */
extern bool read_model_row(FunctionCallInfo fcinfo, int group, int version,
						   int argument, row_form form, model_row *row);

/*
 * Converts a vector x, whose form is call->reader.form, to the coordinates of
 * the model's operator. The result is in the buffer of the call state. Returns
 * NULL if the metric is cosine and the vector is zero.
 */
extern const double *vector_in_model(FunctionCallInfo fcinfo, model_call_state *call,
									 const served_model *model, Datum x);

/*
 * Both functions match new clusters with old ones. They return, for each new
 * cluster, the index of the old cluster that it continues, or -1. No index
 * occurs twice. They return NULL if the operators cannot be compared, or if
 * matching would exceed the memory budget.
 *
 * rows_by_distance matches clusters by the distance of their centroids. If
 * `near` is true, it drops a pair if another new cluster is nearer to the old
 * cluster, and another old cluster is nearer to the new one.
 *
 * continued_rows matches clusters by the rows that they share. `labels` has
 * two labels of each row, the indices of its clusters in the new operator and
 * in the old one. `moved` is the new operator in the coordinates of the old
 * one. Its centroids match clusters that share no rows. `moved` is
 * ignored if it is NULL or does not have the clusters of `labels`. The first
 * `fixed_count` new clusters are known to continue the old clusters fixed[j].
 */
extern int32 *rows_by_distance(const fc_operator_header *old, const fc_operator_header *new,
							   bool near);
extern int32 *continued_rows(const two_labellings *labels, const fc_operator_header *old,
							 const fc_operator_header *moved,
							 const int32 *fixed, Size fixed_count);

/*
 * Returns the numbers of the clusters of an operator, which are the labels of
 * rows, in ascending order. Sets *count to the number of clusters.
 */
extern int32 *cluster_numbers_of(const fc_operator_header *op, Size *count);

/*
 * Returns the numbers of k new clusters. Cluster j gets the number of the old
 * cluster with index row[j], or the lowest free number if row[j] is -1. If
 * there are fewer clusters than before, old numbers >= k are replaced by free
 * numbers, too, except for the first `fixed_count` clusters. Returns NULL if
 * `row` is NULL.
 */
extern int32 *continued_numbers(const fc_operator_header *old, const int32 *row,
								Size k, Size fixed_count);

/*
 * Returns the rank of each of k different cluster numbers, from 0. The rank is
 * the index of the cluster in a renumbered operator.
 */
extern int32 *places_of_numbers(const int32 *numbers, Size k);

/*
 * Returns a copy of op in which cluster j has number numbers[j], with clusters
 * sorted by number. Returns op itself if numbers is NULL.
 */
extern fc_operator_header *renumbered(const fc_operator_header *op, const int32 *numbers);

#endif							/* FASTCLUST_MODEL_H */

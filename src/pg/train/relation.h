/*
 * relation.h - a relation and its columns as SQL texts; callers have
 * connected SPI
 */
#ifndef FASTCLUST_TRAIN_RELATION_H
#define FASTCLUST_TRAIN_RELATION_H

#include "utils/array.h"

#include "encode/encoder.h"
#include "pg/encode/group_value.h"
#include "pg/train/options.h"

/*
 * Rows of a relation as a training reads them; the SQL texts are expressions
 * of the alias t.
 */
typedef struct train_source
{
	Oid			id;
	char	   *relation;		/* qualified and quoted name when the source
								 * was opened, for messages and versions */
	Datum		owner;			/* owner of the relation, of type role_name; 0
								 * for an SQL NULL */
	char	  **features;
	int			feature_count;
	bool		is_vector;		/* true if the only feature is a column of
								 * vectors */
	bool		cast;			/* true if the column needs a cast to real[] */
	bool		array;			/* true if the vector's type is an array */
	bool		takes_where;	/* true if the call has option where, and the
								 * option can read the vector's type, because
								 * it is built in */
	bool		sparse;			/* true if the vector's type is sparsevec */
	char	   *group_by;		/* grouping column; NULL without groups */
	char	   *unit;			/* column of option unit: rows with equal
								 * values of it belong to one unit and are not
								 * independent; NULL: all rows are independent */
	group_type	grouping;		/* type of the grouping column */
	const char *model;			/* model in whose groups the values of the
								 * grouping column are looked up, used if the
								 * column had another type in the model; NULL:
								 * the text of a value is its group */
	int32		version;		/* version of `model` */
	bool		by_value;		/* true: rows are grouped by the values of the
								 * grouping column, not by their texts */
	bool
				planned;		/* true: the groups in array $2 are scanned
								 * with the plans in array $3 (group_plan),
								 * other rows with the plan $1; false: all
								 * rows with the plan $1 */
	fc_encoder_header *encoder; /* encoder of columns; NULL until it is
								 * learned, and for vectors */
	char	   *raw;			/* the row as an unscaled array; NULL until
								 * there is an encoder */
	char	   *encoded;		/* the row as a scaled array; NULL without an
								 * encoder */
	bool		observed;		/* true: the distance of a row from a centroid
								 * counts only columns that are not NULL;
								 * false: fill values replace NULLs */
	char	   *complete;		/* condition that a sampled row has no NULL in
								 * an imputed column; NULL: samples take all
								 * rows */
	char	   *weight;			/* weight of the row, double precision; NULL:
								 * each row has the weight 1 */
	double		total_weight;	/* sum of the weights; number of rows without
								 * weights */
	double		max_weight;
	double		weight_factor;	/* factor that brings weights into the limited
								 * range of sketches */
	double		count_factor;	/* factor that turns weights into the whole
								 * counts of encoder_agg */
	char	   *group_value;	/* the group as text; '' without groups */
	char	   *condition;		/* option "where" with every name resolved, or
								 * NULL */
	char	   *filter;			/* condition on all rows that are read: vector
								 * and group are not NULL, and the conditions
								 * of the options are true */
	bool		heap;			/* true if rows are identified by their ctids,
								 * false if by hashes of their values */
	Oid		   *leaves;			/* leaf tables, to be aggregated one by one */
	int			leaf_count;		/* number of leaves; 0: the relation is read
								 * as a whole */
	bool		sharded;		/* true if rows are on shards of Citus */
	bool		cosine;			/* true if rows are read as vectors of length
								 * 1 */
	bool		stable;			/* true if all queries use the snapshot of the
								 * calling query */
} train_source;

typedef struct feature_list
{
	char	  **names;
	int			count;
} feature_list;

/*
 * Returns the columns in an array of names. Raises an error if the array is
 * NULL, empty or multidimensional.
 */
extern feature_list read_features(ArrayType *array);

/*
 * Returns the columns named by a text: '{a,b}', or 'a'. Sets *vector to true
 * if it names a single column of vectors.
 */
extern ArrayType *columns_of_text(Oid relation, const char *given, bool *vector);
extern ArrayType *array_of_names(char *const *names, int count);
extern bool is_among(const char *name, const char *const *names, int count);

/*
 * Returns the present name of a relation, qualified and quoted, for FROM. A
 * lock on a relation does not prevent a rename of its schema, so each query
 * must get the name again.
 */
extern char *present_name(Oid relation);

/*
 * Returns the present name of a leaf table for FROM, with ONLY unless the
 * table is foreign. Children of a plain table are leaves themselves, so they
 * must not be read with their parent.
 */
extern char *leaf_name(Oid leaf);

/*
 * open_source initializes a source with all rows of a relation; add_options
 * restricts it to the rows that the options select, and sets the metric.
 */
extern void open_source(train_source *source, Oid relation, const feature_list *features,
						bool vector, char *group_by);
extern void add_options(train_source *source, const train_options *options);

/* Makes the source encode its columns by the encoder from now on. */
extern void use_encoder(train_source *source, const fc_encoder_header *encoder);

/*
 * observed_row returns the SQL call that encodes the row with alias `row`. The
 * coordinates of the nearest centroid of op, an SQL expression, replace NULLs.
 * observed_cells returns the columns of row t that this call reads.
 */
extern char *observed_row(const train_source *source, const char *op, const char *row);
extern char *observed_cells(const train_source *source);

/*
 * Returns the expression that identifies a row: its ctid, or a hash of its
 * values.
 */
extern const char *row_key(const train_source *source);

/* Returns names as columns of an alias: "t.a, t.b". */
extern char *listed(const char *alias, char *const *names, int count);

/*
 * Returns true if all features are numbers, so that predict takes them as a
 * list of values.
 */
extern bool has_numbers(const train_source *source);

extern bool has_citus(void);

/*
 * Returns true if the rows are on shards of Citus, and the extension's
 * aggregates named "sum" can be pushed down to them safely.
 */
extern bool sums_on_shards(const train_source *source);

/*
 * Returns an SQL expression for the group, as text, of `value`, a value of the
 * grouping column.
 */
extern char *group_text(const train_source *source, const char *value);

/*
 * Returns true if equal values of the grouping column may have different
 * texts.
 */
extern bool has_loose_groups(const train_source *source);

/*
 * Returns an SQL expression for the position of the row's group, from 1, in
 * the array expression `groups`; it is NULL if the group is not in the array.
 */
extern char *group_place_text(const train_source *source, const char *groups);

/*
 * Makes the source look up the values of the grouping column among the groups
 * of a version. Used if the column had another type in that version.
 */
extern void name_groups_of(train_source *source, const char *model, int32 version);

#endif							/* FASTCLUST_TRAIN_RELATION_H */

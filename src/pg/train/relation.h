/*
 * relation.h - relations and their columns as texts of SQL; SPI is connected
 */
#ifndef FASTCLUST_TRAIN_RELATION_H
#define FASTCLUST_TRAIN_RELATION_H

#include "utils/array.h"

#include "encode/encoder.h"
#include "pg/train/options.h"

/*
 * The rows of a relation as a training reads them; texts are of the alias t.
 */
typedef struct train_source
{
	Oid			id;
	char	   *relation;		/* qualified and quoted */
	char	  **features;
	int			feature_count;
	bool		is_vector;		/* features is one column of vectors */
	bool		cast;			/* which a cast makes of the column */
	bool		array;			/* of arrays */
	bool		sparse;			/* given as a sparsevec */
	char	   *group_by;		/* NULL: no groups */
	char	   *integer;		/* the type of groups that are integers, as
								 * which they are grouped; NULL: by their
								 * texts */
	bool
				planned;		/* groups are scanned by plans of their own,
								 * $3 of the values $2, and others by $1:
								 * group_plan */
	struct varlena *encoder;	/* NULL of vectors, and until it is learned */
	char	   *raw;			/* the row as an array, in its own units; NULL
								 * until there is an encoder */
	char	   *encoded;		/* the same in units; NULL without an encoder */
	char	   *complete;		/* NULL: samples take all rows */
	char	   *group_value;	/* '' without groups */
	char	   *condition;		/* the option where, every name resolved;
								 * NULL: none */
	char	   *filter;			/* rows without NULL */
	bool		heap;			/* rows have places in blocks, which
								 * distinguish them; else their values do */
	char	  **leaves;			/* tables to aggregate one by one */
	int			leaf_count;		/* 0: the relation as it is */
	bool		sharded;		/* its rows lie on shards of Citus */
	bool		cosine;			/* rows are read as vectors of length 1 */
	bool		stable;			/* all queries see the rows that the calling
								 * query sees */
} train_source;

typedef struct feature_list
{
	char	  **names;
	int			count;
} feature_list;

/*
 * The columns of a list; one that is NULL, empty or of more than one dimension
 * is an error.
 */
extern feature_list read_features(ArrayType *array);

/*
 * A list that is given as text: '{a,b}', or 'a', which may be a column of
 * vectors.
 */
extern ArrayType *columns_of_text(Oid relation, const char *given, bool *vector);
extern ArrayType *array_of_names(char *const *names, int count);
extern bool is_among(const char *name, const char *const *names, int count);

/*
 * All rows, or only those that the options let through, as the metric there
 * takes them.
 */
extern void
			open_source(train_source *source, Oid relation, const feature_list *features,
						bool vector, char *group_by);
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

/* Returns a value of the column of groups as text. */
extern char *group_text(const train_source *source, const char *value);

#endif							/* FASTCLUST_TRAIN_RELATION_H */

/*
 * fastclust.h - what every file of the glue shares.
 *
 * The glue reads arguments, checks them once, calls one core function and builds
 * the result; it holds no mathematics.
 */
#ifndef FASTCLUST_H
#define FASTCLUST_H

#include "postgres.h"

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/jsonb.h"

#include "compat.h"
#include "base/fc.h"
#include "operator/bytes.h"
#include "base/pieces.h"
#include "sketch/prepared.h"
#include "sketch/sketch.h"

/* ---- module.c ---- */
extern int	fastclust_memory_budget;	/* kB; GUC fastclust.memory_budget */

extern void check_budget(Size bytes, const char *what);

/* An arena of `bytes` in the current context, within the budget; `what` names it in the error. */
extern fc_arena make_arena(Size bytes, const char *what);

/* What one call holds of the budget, for calls that take memory step by step. */
typedef struct account
{
	const char *what;			/* named in the error */
	Size		held;			/* bytes */
} account;

/* Bytes to be held from now on: an error when all together are more than the budget. */
extern void hold(account *account, Size bytes);

/* An arena that is held; and its end. */
extern fc_arena hold_arena(account *account, Size bytes);
extern void release_arena(account *account, fc_arena *arena);

/* Scratch of so many floats in the current context; pfree(scratch.floats). */
extern fc_scratch make_scratch(Size floats);

/* A tick that lets the server cancel. */
extern const fc_tick server_tick;

/* A view of a stored operator whose long work on a row lets the server cancel. */
static inline void
open_operator(const fc_operator_header *header, fc_operator *op)
{
	fc_operator_view(header, op);
	op->tick = &server_tick;
}

/* memcpy of anything long. */
static inline void
copy_bytes(void *to, const void *from, Size bytes)
{
	(void) fc_copy_pieces(to, from, bytes, &server_tick);
}

/* palloc0 of anything long. */
extern void *allocate_cleared(Size bytes);

/* ---- errors.c ---- */
extern void report_status(fc_status status, const fc_arena *arena) __attribute__((noreturn));

static inline void
check_status(fc_status status, const fc_arena *arena)
{
	if (unlikely(status != FC_OK))
		report_status(status, arena);
}

extern void report_row(fc_status status, const double *doubles, const float *floats, size_t d) __attribute__((noreturn));

/* ---- arguments.c ---- */
extern MemoryContext aggregate_context(FunctionCallInfo fcinfo);
extern void require_argument(FunctionCallInfo fcinfo, int argument, const char *name);
extern double weight_argument(FunctionCallInfo fcinfo, int argument);

/* The aggregate that a support function works for, for error messages. */
extern const char *aggregate_name(FunctionCallInfo fcinfo);

/* ---- vectors.c ---- */

/* One vector argument: d floats or doubles, aligned, valid until the arrays behind it go. */
typedef struct vector
{
	const double *doubles;		/* one of the two is not NULL */
	const float *floats;
	int			d;
} vector;

/*
 * Read a one-dimensional array of real, double precision, integer or numeric
 * without NULLs.  Packed arrays are read in place where alignment allows, else
 * copied to `buffer` (FC_MAX_DIM doubles at most, grown in `context`).
 */
typedef struct vector_reader
{
	MemoryContext context;		/* where the buffer lives */
	void	   *buffer;
	Size		buffer_size;
	bool		anywhere;		/* the caller reads elements on any byte: no copy */
} vector_reader;

/* The fields of a one-dimensional array behind its length word, packed or not. */
typedef struct array_front
{
	int32		ndim;
	int32		dataoffset;
	Oid			elemtype;
	int32		dim;
	int32		lower_bound;
} array_front;

static inline int32
int32_at(const char *bytes)
{
	int32		value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* The elements, on any byte, of an array of one dimension without NULLs as it lies there; NULL for others. */
static inline const char *
plain_elements(Datum datum, Oid *type, int *d)
{
	const struct varlena *packed = (const struct varlena *) DatumGetPointer(datum);
	const char *front = VARDATA_ANY(packed);

	if (VARATT_IS_EXTERNAL(packed) || VARATT_IS_COMPRESSED(packed) || VARSIZE_ANY_EXHDR(packed) < sizeof(array_front) ||
		int32_at(front + offsetof(array_front, ndim)) != 1 || int32_at(front + offsetof(array_front, dataoffset)) != 0)
		return NULL;
	*type = (Oid) int32_at(front + offsetof(array_front, elemtype));
	*d = int32_at(front + offsetof(array_front, dim));
	return front + sizeof(array_front);
}

extern vector read_vector(vector_reader *reader, Datum datum, const char *argument);

extern void check_vector_dim(const vector *v, size_t expected, const char *of_what);
extern const double *vector_doubles(const vector *v, double *buffer);
extern void check_finite(const vector *v);
extern void check_single_precision(const vector *v);
extern Datum make_float8_array(const double *values, int count);
extern Datum make_float4_array(const float *values, int count);
extern Datum make_int4_array(const int32 *values, int count);
extern Datum make_int8_array(const int64 *values, int count);
extern double *read_float8_array(Datum datum, int expected, const char *argument);

/* ---- options.c ---- */
typedef enum option_kind
{
	OPTION_INT,
	OPTION_FLOAT,
	OPTION_SEED,
	OPTION_BOOL,
	OPTION_TEXT,
	OPTION_FLOATS,
	OPTION_RERANK,				/* a count from 0 on, or "exact" */
	OPTION_TEXT_OR_ROWS			/* a string, or a list of lists of numbers */
} option_kind;

typedef struct option
{
	const char *name;
	option_kind kind;
	void	   *value;			/* int *, double *, uint64 *, bool *, char **, float_list * or text_or_rows * */
	double		lower;			/* allowed range of a number */
	double		upper;
} option;

typedef struct float_list
{
	int			count;
	double	   *values;
} float_list;

typedef struct text_or_rows
{
	char	   *text;			/* NULL when there are rows, or nothing */
	double	   *values;			/* rows x columns */
	int			rows;
	int			columns;
} text_or_rows;

/* A word and what it stands for. */
typedef struct choice
{
	const char *name;
	int			value;
} choice;

/* The value of a word; another word is an error that lists the choices.  what: "law", or "option \"init\":". */
extern int	choice_of_name(const char *what, const char *name, const choice *choices, int count);

/* Read a jsonb object; an option that is not in the list is an error that lists them. */
extern void read_options(Jsonb *options, const option *known, int count);

/* ---- values.c ---- */
extern fc_spec *spec_of_datum(Datum datum);
extern fc_sketch *sketch_of_datum(Datum datum);
extern fc_operator_header *operator_of_datum(Datum datum);

/* Digest of a flat value whose fc_spec or fc_operator_header comes first, without detoasting it whole. */
extern void spec_digest_of_datum(Datum datum, uint64 digest[2]);

#define SPEC_ARG(n)		spec_of_datum(PG_GETARG_DATUM(n))
#define SKETCH_ARG(n)	sketch_of_datum(PG_GETARG_DATUM(n))
#define OPERATOR_ARG(n) operator_of_datum(PG_GETARG_DATUM(n))

/* ---- prepared_cache.c ---- */

/* A spec prepared once per process; valid while prepared_generation stays. */
extern const fc_prepared *prepared_of_spec(const fc_spec *spec);
extern uint64 prepared_generation;

/* Was it prepared from this spec, by its digest?  And all that sizes depend on, so that no mistake can overrun. */
static inline bool
prepared_serves(const fc_prepared *prepared, const fc_spec *spec)
{
	const fc_spec *own = prepared->spec;

	return ((own->digest[0] ^ spec->digest[0]) | (own->digest[1] ^ spec->digest[1])) == 0 &&
		((own->dim ^ spec->dim) | (own->reduced ^ spec->reduced) | (own->frequencies ^ spec->frequencies) |
		 (own->scales ^ spec->scales) | (own->sample_centroids ^ spec->sample_centroids) | (own->flags ^ spec->flags)) == 0;
}

/* ---- sketch_agg.c ---- */

/* A stored sketch (folded, canonical) out of any sketch, in the current context. */
extern fc_sketch *sketch_closed(const fc_sketch *sketch);

/* ---- rows.c ---- */
extern void fastclust_begin_rows(FunctionCallInfo fcinfo);

/* ---- spec_fn.c ---- */
extern fc_law law_of_name(const char *name);

/* ---- operator_fn.c ---- */

/* op with the centroids of source kept beside it (fc_operator_attach_exact); rerank 0 keeps none. */
extern void keep_centroids(fc_operator *op, const fc_operator *source, uint32 rerank);

/* Build a stored operator of one dense factor from k x d centroids. */
/* Centroids as large as `most` (absolute, from the offset) that floats would lose are an error. */
extern void check_centroid_size(double most);
extern fc_operator_header *make_codebook(const double *centroids, const double *weights, size_t k, size_t d);

/* What make_codebook takes at its peak, its result and a copy of that in a row included. */
extern Size codebook_bytes(Size k, Size d);

/* ---- factorize_fn.c ---- */

/* The stored form of an operator whose parts are all given. */
extern fc_operator_header *store_operator(const fc_operator *op);

/* An option `budget` (0: none) below the least that `what` can keep to, for k x d centroids, is an error. */
extern void check_least_budget(double budget, size_t least, const char *what, size_t k, size_t d,
							   const char *hint);

/* Name of a method of factorisation; append its record to an object of describe(). */
extern const char *method_name(uint32 method);
extern void describe_factorization(StringInfo json, const fc_operator *op);

/* ---- operator_cache.c ---- */

/* An operator argument, detoasted once per call site, and buffers that live as long. */
extern const fc_operator *cached_operator(FunctionCallInfo fcinfo, int argument, const fc_operator_header **header);

/*
 * The same for any value with its digest where fc_operator_header has it; make_view writes into the
 * view_size bytes that are returned, zero at first, once per value.  One argument a call site.
 */
extern const void *cached_view(FunctionCallInfo fcinfo, int argument, Size view_size,
							   void (*make_view) (const void *bytes, void *view), const void **bytes);

/* The same with the rows of a product ready for many distances, where the budget allows. */
extern const fc_operator *cached_expanded_operator(FunctionCallInfo fcinfo, int argument, const fc_operator_header **header);
extern fc_scratch cached_scratch(FunctionCallInfo fcinfo, Size floats);

/* Bytes that the call site keeps by the functions above, but for a scratch. */
extern Size cached_bytes(FunctionCallInfo fcinfo);
extern vector_reader *cached_reader(FunctionCallInfo fcinfo);
extern double *cached_doubles(FunctionCallInfo fcinfo, Size count);

#endif							/* FASTCLUST_H */

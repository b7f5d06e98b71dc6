/*
 * step.h - sums over rows assigned to an operator: a Lloyd step, the SSE,
 * scores.
 *
 *     lloyd        for each cluster, the number of rows, sum w and sum w x;
 *                  for all rows, the SSE: the sum of w ||x - c_j||^2, where
 *                  c_j is the nearest centroid of x
 *     sse          only the SSE
 *     silhouette   sum of a score of each row, w (b - a) / max(a, b), where
 *                  a and b are the distances to the two nearest centroids
 *     davies       sum w ||x - c_j|| of each cluster
 *
 * The state is flat bytes that contain the operator, so that any process can
 * assign the pending rows: the rows that are buffered until a batch is full.
 * Sums are double-double (Knuth's two-sum). The order of the rows changes a
 * sum by less than 1e-15 of its value. The documentation promises 1e-12.
 *
 * Layout (offsets multiples of 8):
 *     fc_step, the operator's bytes, int64 counts[k], pair weights[k],
 *     pair sums[k * width]       width: d for lloyd, 1 for davies, else 0
 *     double x[capacity * d], double w[capacity]    pending rows and weights
 */
#ifndef FC_OPERATOR_STEP_H
#define FC_OPERATOR_STEP_H

#include "operator/bytes.h"

/*
 * Kinds of aggregate states. The numbers are stored, so that a new kind gets
 * the next free number. If it is a step, it also gets a row of `kinds` in
 * step.c.
 */
enum
{
	FC_STEP_LLOYD = 1,
	FC_STEP_SSE = 2,
	FC_STEP_SILHOUETTE = 3,
	FC_STEP_DAVIES_BOULDIN = 4,
	FC_STEP_CORESET = 6,		/* fc_coreset, which has its own layout after
								 * the common first fields */
	FC_STEP_SCAN = 7			/* several states in one value, which the
								 * caller lays out */
};

/*
 * fc_step_is_kind returns true if states of this kind are an fc_step.
 * fc_step_sums_scores returns true if a state of this kind has the sum of the
 * scores of its rows.
 */
bool		fc_step_is_kind(int kind);
bool		fc_step_sums_scores(int kind);

#define FC_STEP_VERSION 1

/*
 * Maximum weight of a row, and maximum magnitude of a sum in a stored state.
 * Coordinates are below 2^63, so sums of FC_MAX_ROWS rows of this weight stay
 * below 1e270. A stored state may hold larger sums, but not so large that
 * further rows could make them infinite.
 */
#define FC_STEP_MAX_WEIGHT	1e200
#define FC_STEP_MAX_SUM		1e290

typedef struct fc_pair
{
	double		high;
	double		low;
} fc_pair;

/* Computes p += x, exact except for the rounding of the low part. */
static inline void
fc_pair_add(fc_pair *p, double x)
{
	double		sum = p->high + x;
	double		back = sum - p->high;

	p->low += (p->high - (sum - back)) + (x - back);
	p->high = sum;
}

typedef struct fc_step
{
	uint32_t	container;		/* varlena length word, set by the caller */
	uint16_t	version;
	uint8_t		kind;
	uint8_t		padding;		/* always 0 */
	uint32_t	pending;		/* number of pending rows */
	uint32_t	capacity;		/* maximum number of pending rows */
	uint64_t	operator_size;	/* size of the operator in bytes */
	int64_t		count;			/* number of rows, without pending rows */
	fc_pair		total;			/* SSE, or the sum of scores */
	fc_pair		weight;			/* sum of weights; must follow total */
} fc_step;

typedef struct fc_step_view
{
	const fc_operator_header *header;
	size_t		width;			/* number of sums per cluster */
	int64_t    *counts;
	fc_pair    *weights;
	fc_pair    *sums;
	double	   *x;
	double	   *w;
} fc_step_view;

fc_step_view fc_step_view_of(const fc_step *step);

/*
 * Returns the number of pending rows that are assigned in one batch, 1 to 256:
 * 1 for small operators, otherwise as many as the limits on memory and work
 * allow.
 */
size_t		fc_step_capacity(const fc_operator *op);

size_t		fc_step_size(int kind, const fc_operator_header *header,
						 size_t operator_size, size_t capacity);
void		fc_step_init(int kind, const fc_operator_header *header,
						 size_t operator_size, size_t capacity, fc_step *step);
fc_status	fc_step_check(const void *bytes, size_t size);

/*
 * fc_step_add adds one row (d doubles), and assigns the pending rows once the
 * batch is full; fc_step_fold assigns them at any time. op is a view of the
 * state's operator with any prepared forms (sliced factors, expanded rows), or
 * NULL for a new view. scratch has fc_step_scratch floats for the capacity of
 * the state.
 */
size_t		fc_step_scratch(const fc_operator *op, size_t capacity);
void		fc_step_add(fc_step *step, const fc_operator *op, const double *x,
						double weight, fc_scratch scratch);
void		fc_step_fold(fc_step *step, const fc_operator *op, fc_scratch scratch);

/*
 * Assigns the pending rows, then adds a row to the given cluster. elements
 * lists the non-zeros of x; NULL: x is not sparse. squared is the squared
 * distance to the centroid, or NaN to compute it. With NaN, the sums equal the
 * sums of fc_step_add to the bit. The kind of the state must not sum scores.
 */
void		fc_step_add_labelled(fc_step *step, const fc_operator *op, size_t cluster,
								 const double *x, const fc_sparse_row *elements,
								 double squared, double weight, fc_scratch scratch);

/*
 * Assigns rows (n x d) and adds them to a lloyd state, which must have no
 * pending rows. weights has n values; NULL: all weights are 1. scratch has
 * fc_step_rows_scratch floats.
 */
size_t		fc_step_rows_scratch(const fc_operator *op, size_t n);
void		fc_step_add_rows(fc_step *step, const fc_operator *op, const double *x,
							 const double *weights, size_t n, fc_scratch scratch);

/*
 * Adds source to target, pending rows included. Returns FC_EMISMATCH if the
 * kind or the operator differs, FC_EOVERFLOW if a sum or count becomes too
 * large. Scratch: fc_step_scratch floats for target.
 */
fc_status	fc_step_combine(fc_step *target, const fc_step *source, fc_scratch scratch);

/*
 * Results of a state, pending rows included; the caller provides the arrays.
 */
typedef struct fc_step_result
{
	int64_t		count;
	double		total;			/* SSE, or the sum of scores */
	int64_t    *counts;			/* k: number of rows per cluster */
	double	   *weights;		/* k: sum of weights per cluster */
	double	   *sums;			/* k x d for lloyd, k for davies, otherwise
								 * unused */
} fc_step_result;

/*
 * Computes the results and leaves the state unchanged. Scratch:
 * fc_step_scratch floats for its capacity.
 */
void		fc_step_finish(const fc_step *step, fc_scratch scratch, fc_step_result *result);

static inline double
fc_pair_value(fc_pair p)
{
	return p.high + p.low;
}

/*
 * Divides the sums (k x d) by the weights; sums of clusters without weight are
 * unchanged.
 */
void		fc_step_means(size_t k, size_t d, const double *weights, double *sums);

/*
 * Replaces result->sums of a lloyd state by the next centroids, the means of
 * the clusters. For the metric cosine, they are normalised to length 1. A
 * cluster without rows keeps its centroid. scratch has fc_operator_scratch
 * floats.
 */
void		fc_step_centroids(const fc_operator *op, const fc_step_result *result,
							  fc_scratch scratch);

/*
 * Returns the Davies-Bouldin index from the weights and sums of a finished
 * state. centroids is scratch space for k x d values; scratch has
 * fc_operator_scratch floats.
 */
double		fc_step_davies_bouldin(const fc_operator *op, const fc_step_result *result,
								   double *centroids, fc_scratch scratch);

#endif							/* FC_OPERATOR_STEP_H */

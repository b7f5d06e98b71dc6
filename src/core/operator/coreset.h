/*
 * coreset.h - a weighted sample of rows that approximates the k-means cost of
 * any centroids, in flat bytes.
 *
 * Row x has the importance q(x) = 1/2 + ||x - c||^2 / (2 v), where c is the
 * center and v is about the mean of ||x - c||^2. The rank of the row is u /
 * q(x). u is a hash of the row and its key, uniform in (0, 1]. The sample
 * consists of the `size` rows of lowest rank. Let r be the lowest rank of the
 * other rows. Each row of the sample represents w(x) = 1 / min(1, q(x) r)
 * rows, and for any function f
 *     E sum_sample w(x) f(x) = sum_rows f(x)
 * If v = 0, all rows have the same importance. If there are no more than
 * `size` rows, all are taken with weight 1.
 *
 * Ranks may be limited: rows with a rank at the limit or above are then not
 * taken. If at most `size` rows have a rank below the limit, r is the limit.
 *
 * The sample depends on the rows and keys alone, not on their order, so states
 * may be merged. All samples of a training, uniform or not, are made in this
 * way.
 *
 * A missing coordinate is NaN, and counts as c in the importance. A row of
 * weight w has the rank u / (q(x) w) and represents w / min(1, q(x) w r) rows.
 * Rows without keys are distinguished by their values alone: equal rows are
 * taken together or not at all.
 *
 * Bachem, Lucic, Krause (2018), lightweight coresets; Duffield, Lund, Thorup
 * (2007), priority sampling.
 *
 * Layout: fc_coreset, double center[dim], double rank[capacity], the rows,
 * uint32 heap[capacity]. The heap has the indices of rows (slots), with the
 * greatest rank at the root. dim is d or, if rows have weights, d + 1: the
 * last value of a row is its weight, and the last value of the center is not
 * used. A row is double x[dim] or, while the rows are sparse, double
 * value[elements] and uint32 index[elements], where elements of value +0 are
 * unused.
 */
#ifndef FC_OPERATOR_CORESET_H
#define FC_OPERATOR_CORESET_H

#include "numerics/metric.h"
#include "operator/step.h"

typedef struct fc_coreset
{
	uint32_t	container;		/* varlena length word, set by the caller */
	uint16_t	version;		/* layout version, FC_STEP_VERSION */
	uint8_t		kind;			/* kind of state, FC_STEP_CORESET */
	uint8_t		metric;			/* fc_metric; cosine rows have length 1 */
	uint32_t	dim;			/* number of stored values of a row */
	uint32_t	size;			/* maximum number of rows in the sample, below
								 * 2^31 */
	uint32_t	used;			/* number of rows stored, 0 .. size + 1; the
								 * row beyond the sample has the rank r */
	uint32_t	capacity;		/* number of rows that can be stored, even */
	uint64_t	seed;
	int64_t		count;			/* number of rows offered to the sample */
	double		variance;		/* v, the mean squared distance to the center;
								 * 0: uniform sample */
	double		limit;			/* upper limit of ranks, exclusive, above 0;
								 * INFINITY: no limit */
	uint32_t	weighted;		/* 1 if rows have weights, else 0 */
	uint32_t	elements;		/* maximum number of elements of a sparse row,
								 * even; 0: rows have dim values */
	fc_pair		weight;			/* sum of the weights offered; 0 unless
								 * weighted */
} fc_coreset;

/* Returns d, the number of coordinates of a row. */
static inline size_t
fc_coreset_coordinates(const fc_coreset *state)
{
	return state->dim - state->weighted;
}

/*
 * Returns the size in bytes of a state for up to `capacity` rows, an even
 * number. Rows have `dim` values, or up to `elements` elements if that is not
 * 0. Returns SIZE_MAX if the size overflows.
 */
size_t		fc_coreset_bytes(size_t dim, size_t elements, size_t capacity);

/*
 * Initialises an empty state whose rows are not sparse. center (dim values)
 * may be NULL if variance is 0. If `weighted` is true, the last value of a row
 * is its weight.
 */
void		fc_coreset_init(size_t dim, size_t size, size_t capacity, uint64_t seed,
							const double *center, double variance, double limit,
							fc_metric metric, bool weighted, fc_coreset *state);

/*
 * Returns the importance q(x) of a row (see the top of this file); 1 if
 * variance <= 0. The row has no missing coordinates.
 */
double		fc_coreset_importance(const double *x, const double *center,
								  double variance, size_t d);

/*
 * Sets *limit to the rank below which the fraction `share` of all rows is
 * expected, 0 < share < 1. importances and weights, n values each, are from a
 * sample of these rows.
 */
void		fc_coreset_limit(const double *importances, const double *weights,
							 size_t n, double share, double *limit);

/*
 * fc_coreset_hash replaces each of the n keys in hashes by a hash of the key
 * and of the first two of the d values of its row. The values distinguish rows
 * with the same key, which are rare. fc_coreset_ranks computes from these
 * hashes the ranks of n rows with d values, finite or missing. The ranks are
 * for weight 1. The caller divides the rank of a row by its weight.
 */
void		fc_coreset_hash(uint64_t seed, const double *x, size_t n, size_t d,
							uint64_t *hashes);
void		fc_coreset_ranks(const fc_coreset *state, const uint64_t *hashes,
							 const double *x, size_t n, double *ranks);

/*
 * fc_coreset_sparse_rank returns the rank of a sparse row of weight 1 without
 * missing values. It differs from the result of fc_coreset_ranks only by
 * rounding. center_square is the result of fc_coreset_center_square, ||c||^2,
 * which the caller computes once for many rows.
 */
double		fc_coreset_center_square(const fc_coreset *state);
double		fc_coreset_sparse_rank(const fc_coreset *state, uint64_t hash,
								   const fc_sparse_row *row, double center_square);

/*
 * fc_coreset_takes returns true if a row of this rank would be taken, and
 * fc_coreset_is_full if the state has no space for it. fc_coreset_elements
 * returns the value that `elements` must have to store row x: 0 if rows must
 * have dim values. If the state is full or has another value, the caller
 * copies it to a new state by fc_coreset_move.
 */
bool		fc_coreset_takes(const fc_coreset *state, double rank);
bool		fc_coreset_is_full(const fc_coreset *state);
size_t		fc_coreset_elements(const fc_coreset *state, const double *x);
void		fc_coreset_move(const fc_coreset *from, size_t elements, size_t capacity,
							fc_coreset *to);

/*
 * Adds a row of the given rank and of dim values to the state. The state must
 * have enough `elements`, and a free slot unless the row replaces the row of
 * greatest rank of a full sample.
 */
void		fc_coreset_take(fc_coreset *state, double rank, const double *x);

/*
 * fc_coreset_sparse_elements and fc_coreset_take_sparse do for a sparse row
 * with ascending indices what fc_coreset_elements and fc_coreset_take do for
 * x. The rows of the state must have no weights.
 */
size_t		fc_coreset_sparse_elements(const fc_coreset *state, const fc_sparse_row *row);
void		fc_coreset_take_sparse(fc_coreset *state, double rank, const fc_sparse_row *row);

/*
 * Returns true if two states can be merged: equal metric, dim, size, seed,
 * center, variance, limit and weighted.
 */
bool		fc_coreset_agree(const fc_coreset *a, const fc_coreset *b);

/* Returns the number of rows in the sample. */
size_t		fc_coreset_rows(const fc_coreset *state);

static inline const double *
fc_coreset_row_ranks(const fc_coreset *state)
{
	return (const double *) (state + 1) + state->dim;
}

/*
 * Returns the address of the dim values of the row in a slot. If rows are
 * sparse, the values are written to `row`, and the address is `row`. Otherwise
 * they are in the state.
 */
const double *fc_coreset_row(const fc_coreset *state, size_t slot, double *row);

/*
 * Sets *index and *value to the elements of the row in a slot, in ascending
 * order of index. The rows of the state must be sparse. Returns the number of
 * elements. All other values are +0.
 */
size_t		fc_coreset_row_elements(const fc_coreset *state, size_t slot,
									const uint32_t **index, const double **value);

/*
 * Lists the sample in ascending order of rank: the slots of its
 * fc_coreset_rows rows, and their weights.
 */
void		fc_coreset_sample(const fc_coreset *state, fc_arena *arena,
							  uint32_t *slots, double *weights);

fc_status	fc_coreset_check(const void *bytes, size_t size);

#endif							/* FC_OPERATOR_CORESET_H */

/*
 * coreset.h - a weighted sample of rows that keeps every k-means cost, in flat
 * bytes.
 *
 * Row x is of importance q(x) = 1/2 + ||x - c||^2 / (2 v), v about the mean of
 * ||x - c||^2, and gets the rank u / q(x), u uniform in (0, 1] by a hash of a
 * key and of the row. The sample is the rows of the `size` least ranks; with
 * the next rank r a row of it stands for w(x) = 1 / min(1, q(x) r) rows, and
 * for any function f
 *     E sum_sample w(x) f(x) = sum_rows f(x)
 * v = 0: all rows are of the same importance. No more rows than `size`: all of
 * them, of weight 1. Ranks may be limited: rows of the limit and above are not
 * taken, and where those below are no more than `size`, the limit is r. The
 * sample depends on the rows and keys alone, not on their order: states may be
 * merged. Every sample of train is one of these, uniform or not. Rows without
 * keys are distinguished by their values alone: copies come all or not at all.
 *
 * Bachem, Lucic, Krause 2018 (lightweight coresets); Duffield, Lund, Thorup
 * 2007 (priority sampling).
 *
 * Layout: fc_coreset, double center[d], double rank[capacity], double
 * x[capacity * d], uint32 heap[capacity], the greatest rank at the root.
 */
#ifndef FC_OPERATOR_CORESET_H
#define FC_OPERATOR_CORESET_H

#include "numerics/metric.h"

typedef struct fc_coreset
{
	uint32_t	container;
	uint16_t	version;		/* FC_STEP_VERSION */
	uint8_t		kind;			/* FC_STEP_CORESET */
	uint8_t		metric;			/* fc_metric; of cosine rows are of length 1 */
	uint32_t	dim;
	uint32_t	size;			/* rows wanted, below 2^31 */
	uint32_t	used;			/* size + 1 at most: one more than wanted,
								 * which gives r */
	uint32_t	capacity;		/* even */
	uint64_t	seed;
	int64_t		count;			/* rows offered */
	double		variance;		/* v */
	double		limit;			/* above 0; INFINITY: none */
} fc_coreset;

/*
 * Bytes of a state with room for so many rows, an even number; SIZE_MAX when
 * there can be none.
 */
size_t		fc_coreset_bytes(size_t d, size_t capacity);

/* An empty state; center (d) may be NULL where variance is 0. */
void		fc_coreset_init(size_t d, size_t size, size_t capacity, uint64_t seed,
							const double *center, double variance, double limit,
							fc_metric metric, fc_coreset *state);

/* q(x); v not above 0: 1. */
double		fc_coreset_importance(const double *x, const double *center,
								  double variance, size_t d);

/*
 * The limit of ranks below which a share in (0, 1) of rows like these, of such
 * importances and weights (n), is expected.
 */
void		fc_coreset_limit(const double *importances, const double *weights,
							 size_t n, double share, double *limit);

/*
 * The ranks of n rows (d finite values) by their hashes: of keys that two rows
 * hardly ever share, and of the first values of rows, which tell those two
 * apart. hashes (n) hold the keys at first.
 */
void		fc_coreset_hash(uint64_t seed, const double *x, size_t n, size_t d,
							uint64_t *hashes);
void		fc_coreset_ranks(const fc_coreset *state, const uint64_t *hashes,
							 const double *x, size_t n, double *ranks);

/*
 * Would a row of this rank be taken? Needs it more room? Then the caller moves
 * the state into a larger one.
 */
bool		fc_coreset_takes(const fc_coreset *state, double rank);
bool		fc_coreset_is_full(const fc_coreset *state);
void		fc_coreset_move(const fc_coreset *from, size_t capacity, fc_coreset *to);

/* Take a row of this rank, where there is room. */
void		fc_coreset_take(fc_coreset *state, double rank, const double *x);

/* Can two states be merged: of the same shape, seed, importance and limit? */
bool		fc_coreset_agree(const fc_coreset *a, const fc_coreset *b);

/* Rows that are in the sample. */
size_t		fc_coreset_rows(const fc_coreset *state);

static inline const double *
fc_coreset_row_ranks(const fc_coreset *state)
{
	return (const double *) (state + 1) + state->dim;
}

static inline const double *
fc_coreset_row(const fc_coreset *state, size_t slot)
{
	return fc_coreset_row_ranks(state) + state->capacity + slot * state->dim;
}

/*
 * The sample in the order of its ranks: where its fc_coreset_rows rows lie in
 * the state, and their weights.
 */
void		fc_coreset_sample(const fc_coreset *state, fc_arena *arena,
							  const double **rows, double *weights);

fc_status	fc_coreset_check(const void *bytes, size_t size);

#endif							/* FC_OPERATOR_CORESET_H */

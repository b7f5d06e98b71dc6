/* coreset.c - a weighted sample of rows in a heap by rank; see coreset.h */
#include "operator/coreset.h"

#include "base/rng.h"
#include "base/simd.h"
#include "base/sort.h"
#include "operator/step.h"

/*
 * Number of partial sums of a squared distance. It is fixed, so that the
 * result does not depend on the length of the machine's vector registers.
 */
#define LANES	4

typedef double four_doubles
			__attribute__((vector_size(LANES * sizeof(double)), aligned(8), may_alias));

/*
 * Minimum number of values of a row that may be stored as a list of its
 * elements, the values other than +0. A guess.
 */
#define MIN_SPARSE_VALUES	256

/*
 * Inverse of the maximum share of elements among the values of a row that is
 * stored as a list of its elements. With a larger share, lists save less
 * memory and take more time. A guess.
 */
#define MAX_SPARSE_SHARE	8

/* Returns the number of doubles that a stored row occupies. */
static inline size_t
row_doubles(size_t dim, size_t elements)
{
	return elements > 0 ? elements + elements / 2 : dim;
}

size_t
fc_coreset_bytes(size_t dim, size_t elements, size_t capacity)
{
	size_t		row = (row_doubles(dim, elements) + 1) * sizeof(double) + sizeof(uint32_t);

	if (capacity > (SIZE_MAX / 4) / row)
		return SIZE_MAX;
	return sizeof(fc_coreset) + dim * sizeof(double) + capacity * row;
}

static inline double *
center_of(fc_coreset *state)
{
	return (double *) (state + 1);
}

static inline const double *
center_in(const fc_coreset *state)
{
	return (const double *) (state + 1);
}

static inline double *
ranks_of(fc_coreset *state)
{
	return center_of(state) + state->dim;
}

/*
 * Returns the address of the values of a stored row, or of the values of its
 * elements if rows are sparse.
 */
static inline double *
row_of(fc_coreset *state, size_t slot)
{
	return ranks_of(state) + state->capacity +
		slot * row_doubles(state->dim, state->elements);
}

static inline const double *
row_in(const fc_coreset *state, size_t slot)
{
	return fc_coreset_row_ranks(state) + state->capacity +
		slot * row_doubles(state->dim, state->elements);
}

static inline uint32_t *
heap_of(fc_coreset *state)
{
	return (uint32_t *) row_of(state, state->capacity);
}

static inline const uint32_t *
heap_in(const fc_coreset *state)
{
	return (const uint32_t *) row_in(state, state->capacity);
}

/*
 * Returns true if x must be stored as an element of a sparse row. This is the
 * case for all values except +0.
 */
static inline bool
is_element(double x)
{
	uint64_t	bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits != 0;
}

const double *
fc_coreset_row(const fc_coreset *state, size_t slot, double *row)
{
	const double *value = row_in(state, slot);
	const uint32_t *index = (const uint32_t *) (value + state->elements);

	if (state->elements == 0)
		return value;
	memset(row, 0, state->dim * sizeof(double));
	for (size_t e = 0; e < state->elements; e++)
		if (is_element(value[e]))
			row[index[e]] = value[e];
	return row;
}

size_t
fc_coreset_row_elements(const fc_coreset *state, size_t slot,
						const uint32_t **index, const double **value)
{
	size_t		count = state->elements;

	*value = row_in(state, slot);
	*index = (const uint32_t *) (*value + state->elements);
	while (count > 0 && !is_element((*value)[count - 1]))
		count--;
	return count;
}

/* Stores the values x in a slot. */
static void
write_row(fc_coreset *state, size_t slot, const double *x)
{
	double	   *value = row_of(state, slot);
	uint32_t   *index = (uint32_t *) (value + state->elements);
	size_t		e = 0;

	if (state->elements == 0)
	{
		memcpy(value, x, state->dim * sizeof(double));
		return;
	}
	memset(value, 0, row_doubles(state->dim, state->elements) * sizeof(double));
	for (size_t i = 0; i < state->dim; i++)
		if (is_element(x[i]))
		{
			FC_ASSERT(e < state->elements);
			index[e] = (uint32_t) i;
			value[e++] = x[i];
		}
}

/* Stores a sparse row in a slot. */
static void
write_sparse_row(fc_coreset *state, size_t slot, const fc_sparse_row *row)
{
	double	   *value = row_of(state, slot);
	uint32_t   *index = (uint32_t *) (value + state->elements);
	size_t		e = 0;

	memset(value, 0, row_doubles(state->dim, state->elements) * sizeof(double));
	for (size_t p = 0; p < row->count; p++)
		if (state->elements == 0)
			value[row->indices[p]] = row->values[p];
		else if (is_element(row->values[p]))
		{
			FC_ASSERT(e < state->elements);
			index[e] = row->indices[p];
			value[e++] = row->values[p];
		}
}

void
fc_coreset_init(size_t dim, size_t size, size_t capacity, uint64_t seed,
				const double *center, double variance, double limit,
				fc_metric metric, bool weighted, fc_coreset *state)
{
	memset(state, 0, sizeof(fc_coreset) + dim * sizeof(double));
	state->version = FC_STEP_VERSION;
	state->kind = FC_STEP_CORESET;
	state->metric = (uint8_t) metric;
	state->dim = (uint32_t) dim;
	state->size = (uint32_t) size;
	state->capacity = (uint32_t) capacity;
	state->seed = seed;
	state->variance = variance;
	state->limit = limit;
	state->weighted = weighted ? 1 : 0;
	if (center != NULL)
		memcpy(center_of(state), center, dim * sizeof(double));
}

/*
 * Returns ||x - center||^2, in four lanes so that all processors sum in the
 * same order.
 */
static inline __attribute__((always_inline))
double
square_of(const double *x, const double *center, size_t d)
{
	four_doubles square = {0.0};
	double		rest = 0.0;
	size_t		i = 0;

	for (; i + LANES <= d; i += LANES)
	{
		four_doubles gap = (*(const four_doubles *) (x + i) -
							*(const four_doubles *) (center + i));

		square += gap * gap;
	}
	for (; i < d; i++)
		rest += (x[i] - center[i]) * (x[i] - center[i]);
	return ((square[0] + square[2]) + (square[1] + square[3])) + rest;
}

/*
 * Returns the importance of row x, q(x) = 1/2 + ||x - center||^2 * scale, or 1
 * if scale is 0. In the notation of coreset.h, scale is 1 / (2 v).
 */
static inline __attribute__((always_inline))
double
importance(const double *x, const double *center, double scale, size_t d)
{
	return scale > 0.0 ? 0.5 + square_of(x, center, d) * scale : 1.0;
}

/*
 * Returns the importance q(x) of a row that may have missing coordinates, which
 * are NaN and count as equal to the center.
 */
static double
partial_importance(const double *x, const double *center, double scale, size_t d)
{
	double		whole = importance(x, center, scale, d);
	double		square = 0.0;

	if (!isnan(whole))
		return whole;
	for (size_t i = 0; i < d; i++)
		square += isnan(x[i]) ? 0.0 : (x[i] - center[i]) * (x[i] - center[i]);
	return 0.5 + square * scale;
}

static inline double
scale_of(double variance)
{
	return variance > 0.0 ? 0.5 / variance : 0.0;
}

FC_CLONES double
fc_coreset_importance(const double *x, const double *center, double variance,
					  size_t d)
{
	return importance(x, center, scale_of(variance), d);
}

/*
 * Solves sum w min(1, q L) = share * sum w for the limit L. The left side is
 * concave in L, so Newton's steps from below stay below the solution. They end
 * when the set of rows with q L >= 1 no longer changes.
 */
void
fc_coreset_limit(const double *importances, const double *weights, size_t n,
				 double share, double *limit)
{
	size_t		whole = SIZE_MAX;
	size_t		before;

	*limit = 0.0;
	do
	{
		double		total = 0.0;
		double		of_whole = 0.0;
		double		slope = 0.0;

		fc_check();
		before = whole;
		whole = 0;
		for (size_t i = 0; i < n; i++)
		{
			bool		comes = importances[i] * *limit >= 1.0;

			total += weights[i];
			of_whole += comes ? weights[i] : 0.0;
			slope += comes ? 0.0 : weights[i] * importances[i];
			whole += comes;
		}
		if (slope > 0.0)
			*limit = fmax(*limit, (share * total - of_whole) / slope);
	} while (whole != before);
}

static inline double
uniform(uint64_t hash)
{
	return (double) ((hash >> 11) + 1) * FC_EXP2_MINUS(53);
}

void
fc_coreset_hash(uint64_t seed, const double *x, size_t n, size_t d,
				uint64_t *hashes)
{
	for (size_t r = 0; r < n; r++)
	{
		uint64_t	first;
		uint64_t	second;

		memcpy(&first, x + r * d, sizeof(first));
		memcpy(&second, x + r * d + (d > 1), sizeof(second));
		hashes[r] = fc_hash_words(seed, hashes[r], first, second);
	}
}

FC_CLONES void
fc_coreset_ranks(const fc_coreset *state, const uint64_t *hashes,
				 const double *x, size_t n, double *ranks)
{
	const double *center = center_in(state);
	const double scale = scale_of(state->variance);
	const size_t d = fc_coreset_coordinates(state);

	for (size_t r = 0; r < n; r++)
	{
		double		q = importance(x + r * d, center, scale, d);

		ranks[r] = uniform(hashes[r]) /
			(isnan(q) ? partial_importance(x + r * d, center, scale, d) : q);
	}
}

double
fc_coreset_center_square(const fc_coreset *state)
{
	const double *center = center_in(state);
	double		square = 0.0;

	for (size_t i = 0; i < state->dim; i++)
		square += center[i] * center[i];
	return square;
}

double
fc_coreset_sparse_rank(const fc_coreset *state, uint64_t hash, const fc_sparse_row *row,
					   double center_square)
{
	const double *center = center_in(state);
	const double scale = scale_of(state->variance);
	double		square = center_square;

	for (size_t p = 0; p < row->count; p++)
		square += row->values[p] * (row->values[p] - 2.0 * center[row->indices[p]]);
	return uniform(hash) / (scale > 0.0 ? 0.5 + fmax(square, 0.0) * scale : 1.0);
}

bool
fc_coreset_takes(const fc_coreset *state, double rank)
{
	return rank < state->limit &&
		(state->used <= state->size ||
		 rank < fc_coreset_row_ranks(state)[heap_in(state)[0]]);
}

bool
fc_coreset_is_full(const fc_coreset *state)
{
	return state->used <= state->size && state->used == state->capacity;
}

/*
 * Returns the value that state->elements must have to store a sparse row of
 * `count` elements. Returns 0 if this would save too little memory, so that
 * rows must be stored as dim values.
 */
static size_t
elements_for(const fc_coreset *state, size_t count)
{
	size_t		most = state->dim >= MIN_SPARSE_VALUES ? state->dim / MAX_SPARSE_SHARE : 0;

	if (count > state->elements)
		count = larger(count, 2 * (size_t) state->elements);
	count = larger(count + count % 2, larger(state->elements, 2));
	return count <= most ? count : 0;
}

/* Returns true if a state can only store rows of dim values. */
static inline bool
is_dense(const fc_coreset *state)
{
	return state->dim < MIN_SPARSE_VALUES || (state->elements == 0 && state->used > 0);
}

size_t
fc_coreset_elements(const fc_coreset *state, const double *x)
{
	size_t		count = 0;

	if (is_dense(state))
		return 0;
	for (size_t i = 0; i < state->dim; i++)
		count += is_element(x[i]);
	return elements_for(state, count);
}

size_t
fc_coreset_sparse_elements(const fc_coreset *state, const fc_sparse_row *row)
{
	return is_dense(state) ? 0 : elements_for(state, row->count);
}

/* Copies the rows to a state with another value of `elements`. */
static void
copy_rows(const fc_coreset *from, fc_coreset *to)
{
	for (size_t slot = 0; slot < from->used; slot++)
	{
		const double *source = row_in(from, slot);
		double	   *target = row_of(to, slot);

		if (from->elements == 0)
			write_row(to, slot, source);
		else if (to->elements == 0)
			(void) fc_coreset_row(from, slot, target);
		else
		{
			FC_ASSERT(from->elements <= to->elements);
			memset(target, 0, row_doubles(to->dim, to->elements) * sizeof(double));
			memcpy(target, source, from->elements * sizeof(double));
			memcpy(target + to->elements, source + from->elements,
				   from->elements * sizeof(uint32_t));
		}
	}
}

void
fc_coreset_move(const fc_coreset *from, size_t elements, size_t capacity, fc_coreset *to)
{
	fc_coreset_init(from->dim, from->size, capacity, from->seed,
					center_in(from), from->variance, from->limit,
					(fc_metric) from->metric, from->weighted == 1, to);
	to->elements = (uint32_t) elements;
	to->count = from->count;
	to->weight = from->weight;
	to->used = from->used;
	memcpy(ranks_of(to), fc_coreset_row_ranks(from),
		   from->used * sizeof(double));
	if (from->elements == to->elements)
		memcpy(row_of(to, 0), row_in(from, 0),
			   from->used * row_doubles(from->dim, elements) * sizeof(double));
	else
		copy_rows(from, to);
	memcpy(heap_of(to), heap_in(from), from->used * sizeof(uint32_t));
	if (capacity == (size_t) from->used + 1)	/* an unused slot is zeroed:
												 * stored bytes must not be
												 * uninitialised */
	{
		ranks_of(to)[from->used] = 0.0;
		memset(row_of(to, from->used), 0, row_doubles(from->dim, elements) * sizeof(double));
		heap_of(to)[from->used] = 0;
	}
}

/* Puts `slot` into the heap, at place `at` or nearer to the root. */
static void
sift_up(fc_coreset *state, size_t at, uint32_t slot)
{
	const double *rank = ranks_of(state);
	uint32_t   *heap = heap_of(state);

	while (at > 0 && rank[heap[(at - 1) / 2]] < rank[slot])
	{
		heap[at] = heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	heap[at] = slot;
}

/* Puts `slot` into the heap, at the root or below. */
static void
sift_down(fc_coreset *state, uint32_t slot)
{
	const double *rank = ranks_of(state);
	uint32_t   *heap = heap_of(state);
	size_t		at = 0;

	for (size_t child = 1; child < state->used; child = 2 * at + 1)
	{
		if (child + 1 < state->used &&
			rank[heap[child + 1]] > rank[heap[child]])
			child++;
		if (rank[heap[child]] <= rank[slot])
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = slot;
}

/*
 * Returns the slot in which a row of this rank is to be stored. place_slot
 * then puts the slot into the heap.
 */
static uint32_t
slot_for(fc_coreset *state, double rank)
{
	uint32_t	slot = state->used > state->size ? heap_of(state)[0] : state->used;

	FC_ASSERT(slot < state->capacity);
	ranks_of(state)[slot] = rank;
	return slot;
}

static void
place_slot(fc_coreset *state, uint32_t slot)
{
	if (state->used > state->size)
		sift_down(state, slot);
	else
		sift_up(state, state->used++, slot);
}

void
fc_coreset_take(fc_coreset *state, double rank, const double *x)
{
	uint32_t	slot = slot_for(state, rank);

	write_row(state, slot, x);
	place_slot(state, slot);
}

void
fc_coreset_take_sparse(fc_coreset *state, double rank, const fc_sparse_row *row)
{
	uint32_t	slot = slot_for(state, rank);

	write_sparse_row(state, slot, row);
	place_slot(state, slot);
}

bool
fc_coreset_agree(const fc_coreset *a, const fc_coreset *b)
{
	return a->metric == b->metric && a->dim == b->dim && a->size == b->size &&
		a->seed == b->seed && a->variance == b->variance &&
		a->limit == b->limit && a->weighted == b->weighted &&
		memcmp(a + 1, b + 1, a->dim * sizeof(double)) == 0;
}

size_t
fc_coreset_rows(const fc_coreset *state)
{
	return state->used > state->size ? state->size : state->used;
}

void
fc_coreset_sample(const fc_coreset *state, fc_arena *arena, uint32_t *slots,
				  double *weights)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_keyed   *items = FC_TAKE(arena, state->used, fc_keyed);
	fc_keyed   *scratch = FC_TAKE(arena, state->used, fc_keyed);
	const double *rank = fc_coreset_row_ranks(state);
	double	   *buffer = FC_TAKE(arena, state->dim, double);
	size_t		d = fc_coreset_coordinates(state);
	double		next = (state->used > state->size ? rank[heap_in(state)[0]]
						: state->used == state->count ? INFINITY
						: state->limit);

	for (size_t slot = 0; slot < state->used; slot++)
		items[slot] = (fc_keyed)
	{
		fc_number_key(rank[slot]), slot
	};
	fc_sort(items, state->used, scratch);
	for (size_t i = 0; i < fc_coreset_rows(state); i++)
	{
		const double *row = fc_coreset_row(state, items[i].value, buffer);

		fc_check();
		slots[i] = (uint32_t) items[i].value;
		weights[i] = state->weighted ? row[d] : 1.0;
		weights[i] /= fmin(1.0,
						   partial_importance(row, center_in(state),
											  scale_of(state->variance), d) *
						   weights[i] * next);
	}
	fc_arena_release(arena, mark);
}

/*
 * Checks that the heap holds valid slots, and no parent has a smaller rank
 * than its children. The sum of the slots must be the sum of 0 .. used - 1. A
 * repeated slot that this test does not find could displace a row of the
 * sample, but would do no other harm.
 */
static bool
is_heap(const fc_coreset *state)
{
	const double *rank = fc_coreset_row_ranks(state);
	const uint32_t *heap = heap_in(state);
	uint64_t	sum = 0;

	for (size_t at = 0; at < state->used; at++)
	{
		if (heap[at] >= state->used ||
			!(rank[at] > 0.0 && rank[at] < state->limit) ||
			(rank[at] > 2.0 && !state->weighted) ||
			(at > 0 && rank[heap[(at - 1) / 2]] < rank[heap[at]]))
			return false;
		sum += heap[at];
	}
	return sum ==
		(uint64_t) state->used * (state->used - (state->used > 0)) / 2;
}

/* Returns true if each of n values is NaN or of moderate size. */
static bool
all_moderate_or_missing(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isnan(x[i]) && !fc_all_moderate(x + i, 1))
			return false;
	return true;
}

/* Checks the values of a stored row. */
static bool
row_valid(const fc_coreset *state, size_t slot)
{
	const double *value = row_in(state, slot);
	const uint32_t *index = (const uint32_t *) (value + state->elements);
	size_t		d = fc_coreset_coordinates(state);
	double		weight = state->weighted && state->elements == 0 ? value[d] : 0.0;

	for (size_t e = 0; e < state->elements; e++)
	{
		if (index[e] >= state->dim)
			return false;
		if (index[e] == d)
			weight = value[e];
		else if (!all_moderate_or_missing(value + e, 1))
			return false;
	}
	return (state->elements > 0 || all_moderate_or_missing(value, d)) &&
		(!state->weighted || (weight > 0.0 && isfinite(weight)));
}

fc_status
fc_coreset_check(const void *bytes, size_t size)
{
	const fc_coreset *state = bytes;

	if (size < sizeof(fc_coreset) || state->version != FC_STEP_VERSION ||
		state->kind != FC_STEP_CORESET || state->metric > FC_COSINE ||
		state->dim == 0 || state->size == 0 ||
		state->size >= UINT32_C(1) << 31 || state->capacity % 2 != 0 ||
		state->used > state->capacity || state->used > state->size + 1 ||
		state->count < (int64_t) state->used || state->count > FC_MAX_ROWS ||
		!isfinite(state->variance) || state->variance < 0.0 ||
		!(state->limit > 0.0) || state->weighted > 1 ||
		state->elements % 2 != 0 || state->elements > state->dim / MAX_SPARSE_SHARE ||
		state->dim == state->weighted || !isfinite(state->weight.high) ||
		!isfinite(state->weight.low) ||
		fc_coreset_bytes(state->dim, state->elements, state->capacity) != size)
		return FC_EFORMAT;
	if (!fc_all_finite((const double *) (state + 1), state->dim) ||
		!is_heap(state))
		return FC_EFORMAT;
	for (size_t slot = 0; slot < state->used; slot++)
	{
		fc_check();
		if (!row_valid(state, slot))
			return FC_EFORMAT;
	}
	return FC_OK;
}

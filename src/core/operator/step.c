/* step.c - sums over rows assigned to an operator; see step.h */
#include "operator/step.h"

#include "base/simd.h"
#include "operator/codebook.h"
#include "operator/fit.h"

static double
silhouette(const fc_operator *op, const double *x, fc_scratch scratch)
{
	int32_t		clusters[2];
	double		squared[2];
	double		a;
	double		b;

	if (op->k < 2)
		return 0;
	fc_operator_nearest(op, x, 2, scratch, clusters, squared);
	a = sqrt(squared[0]);
	b = sqrt(squared[1]);
	return b > 0 ? (b - a) / b : 0;
}

/*
 * Properties of the kinds of steps. sums_rows: the state has d sums per
 * cluster. sums_distances: the state has one sum per cluster. score: function
 * that scores a row, if the state sums a score of each row; else NULL.
 */
static const struct
{
	bool		is_step;
	bool		sums_rows;
	bool		sums_distances;
	double		(*score) (const fc_operator *op, const double *x, fc_scratch scratch);
}			kinds[] = {
	[FC_STEP_LLOYD] = {.is_step = true,.sums_rows = true},
	[FC_STEP_SSE] = {.is_step = true},
	[FC_STEP_SILHOUETTE] = {.is_step = true,.score = silhouette},
	[FC_STEP_DAVIES_BOULDIN] = {.is_step = true,.sums_distances = true},
};

bool
fc_step_is_kind(int kind)
{
	return kind >= 0 && (size_t) kind < sizeof(kinds) / sizeof(kinds[0]) &&
		kinds[kind].is_step;
}

bool
fc_step_sums_scores(int kind)
{
	return kinds[kind].score != NULL;
}

static size_t
width_of(int kind, size_t d)
{
	return kinds[kind].sums_rows ? d : kinds[kind].sums_distances ? 1 : 0;
}

/*
 * Maximum size in bytes of the pending rows of a batch, for a codebook. A
 * larger batch makes better use of BLAS, but makes the state larger. A guess.
 */
#define BATCH_BYTES	1048576

/*
 * Maximum size in bytes of the pending rows of a batch, for a product of
 * factors. A product multiplies rows fast only while they are in the cache. A
 * guess.
 */
#define NEAR_BYTES	262144

/*
 * Number of rows that a product of factors multiplies in one block; a batch
 * consists of whole blocks if possible.
 */
#define FACTOR_BLOCK_ROWS	32

/*
 * Maximum number of rows in a batch; a larger matrix product is no faster. A
 * guess.
 */
#define MAX_BATCH_ROWS	256

/*
 * Maximum number of multiply-adds of a batch. They take about 50 ms, during
 * which a cancel is not noticed. A guess.
 */
#define BATCH_WORK	500000000

size_t
fc_step_capacity(const fc_operator *op)
{
	size_t		k = op->k;
	size_t		d = op->d;
	size_t		rows;

	if (k * d < 1024)
		return 1;
	rows = (op->factors > 1 ? NEAR_BYTES : BATCH_BYTES) / (8 * d);
	if (op->factors > 1)
		rows = rows < FACTOR_BLOCK_ROWS ? FACTOR_BLOCK_ROWS
			: rows / FACTOR_BLOCK_ROWS * FACTOR_BLOCK_ROWS;
	rows = rows < 8 ? 8 : rows > MAX_BATCH_ROWS ? MAX_BATCH_ROWS : rows;
	return rows * k * d <= BATCH_WORK ? rows
		: k * d < BATCH_WORK ? BATCH_WORK / (k * d)
		: 1;
}

size_t
fc_step_size(int kind, const fc_operator_header *header, size_t operator_size,
			 size_t capacity)
{
	size_t		k = header->k;
	size_t		d = header->d;

	return sizeof(fc_step) + operator_size +
		k * (sizeof(int64_t) + sizeof(fc_pair)) +
		k * width_of(kind, d) * sizeof(fc_pair) +
		capacity * (d + 1) * sizeof(double);
}

fc_step_view
fc_step_view_of(const fc_step *step)
{
	fc_step_view view;
	size_t		k;

	view.header = (const fc_operator_header *) (step + 1);
	k = view.header->k;
	view.width = width_of(step->kind, view.header->d);
	view.counts = (int64_t *) ((char *) (step + 1) + step->operator_size);
	view.weights = (fc_pair *) (view.counts + k);
	view.sums = view.weights + k;
	view.x = (double *) (view.sums + k * view.width);
	view.w = view.x + (size_t) step->capacity * view.header->d;
	return view;
}

void
fc_step_init(int kind, const fc_operator_header *header, size_t operator_size,
			 size_t capacity, fc_step *step)
{
	memset(step, 0, fc_step_size(kind, header, operator_size, capacity));
	memcpy(step + 1, header, operator_size);
	step->version = FC_STEP_VERSION;
	step->kind = (uint8_t) kind;
	step->capacity = (uint32_t) capacity;
	step->operator_size = operator_size;
	((fc_operator_header *) (step + 1))->container = 0;
}

/* Computes p += weight * x for d pairs. */
FC_CLONES
static void
add_row(fc_pair *restrict p, const double *restrict x, double weight, size_t d)
{
	for (size_t i = 0; i < d; i++)
		fc_pair_add(p + i, weight * x[i]);
}

static inline void
add_pair(fc_pair *p, fc_pair q)
{
	fc_pair_add(p, q.high);
	fc_pair_add(p, q.low);
}

/*
 * Adds one row to the sums of its cluster. `squared` is its squared distance
 * to the centroid. `elements` lists its non-zeros; NULL: all values of x are
 * added.
 */
static void
account(fc_step *step, const fc_step_view *view, const fc_operator *op,
		size_t cluster, const double *x, const fc_sparse_row *elements,
		double squared, double weight)
{
	step->count++;
	fc_pair_add(&step->weight, weight);
	fc_pair_add(&step->total, weight * squared);
	view->counts[cluster]++;
	fc_pair_add(&view->weights[cluster], weight);
	if (step->kind == FC_STEP_DAVIES_BOULDIN)
		fc_pair_add(&view->sums[cluster], weight * sqrt(squared));
	/* zeros are left out: adding 0 would not change a sum */
	for (size_t e = 0;
		 step->kind == FC_STEP_LLOYD && elements != NULL && e < elements->count;
		 e++)
		fc_pair_add(&view->sums[cluster * op->d + elements->indices[e]],
					weight * x[elements->indices[e]]);
	if (step->kind == FC_STEP_LLOYD && elements == NULL)
		add_row(view->sums + cluster * op->d, x, weight, op->d);
}

/* Adds one row to the sums of its cluster. */
static void
account_dense(fc_step *step, const fc_step_view *view, const fc_operator *op,
			  size_t cluster, const double *x, double weight, fc_scratch scratch)
{
	account(step, view, op, cluster, x, NULL, fc_operator_distance(op, cluster, x, scratch),
			weight);
}

/*
 * Scratch space: the labels of the pending rows, and then the scratch space of
 * the operator, with the same alignment.
 */
typedef struct step_work
{
	int32_t    *labels;
	fc_scratch	scratch;
} step_work;

static inline size_t
label_floats(size_t capacity)
{
	return (capacity + 15) / 16 * 16;
}

size_t
fc_step_scratch(const fc_operator *op, size_t capacity)
{
	return label_floats(capacity) + fc_operator_batch_scratch(op, capacity);
}

/*
 * Labels the pending rows. Returns the labels and the rest of the scratch
 * space.
 */
static step_work
label_pending(const fc_step *step, const fc_step_view *view,
			  const fc_operator *op, fc_scratch scratch)
{
	size_t		floats = label_floats(step->capacity);
	step_work	w = {.labels = (int32_t *) scratch.floats};

	FC_ASSERT(scratch.count >= fc_step_scratch(op, step->capacity));
	w.scratch = (fc_scratch)
	{
		scratch.floats + floats, scratch.count - floats
	};
	fc_operator_assign_batch(op, view->x, step->pending, w.scratch, w.labels);
	return w;
}

static const fc_operator *
view_of(const fc_step_view *view, const fc_operator *op, fc_operator *own)
{
	if (op != NULL)
		return op;
	fc_operator_view(view->header, own);
	return own;
}

static bool
is_bounded(fc_pair p)
{
	return fabs(p.high) <= FC_STEP_MAX_SUM && fabs(p.low) <= FC_STEP_MAX_SUM;
}

static bool
counts_valid(const fc_step *step)
{
	fc_step_view view = fc_step_view_of(step);

	for (size_t j = 0; j < view.header->k; j++)
		if (view.counts[j] < 0 || view.counts[j] > step->count)
			return false;
	return step->count >= 0;
}

/*
 * Checks that counts, weights, sums and pending rows of a state are within
 * their limits. Returns FC_OK or FC_EFORMAT.
 */
static fc_status
check_sums(const fc_step *step)
{
	fc_step_view view = fc_step_view_of(step);
	size_t		k = view.header->k;

	if (!counts_valid(step))
		return FC_EFORMAT;
	for (size_t r = 0; r < step->pending; r++)
		if (!(view.w[r] >= 0.0 && view.w[r] <= FC_STEP_MAX_WEIGHT))
			return FC_EFORMAT;
	if (!is_bounded(step->total) || !is_bounded(step->weight) ||
		!fc_all_moderate(view.x, step->pending * view.header->d))
		return FC_EFORMAT;
	/* the sums follow the weights in memory, and are checked with them */
	for (size_t i = 0; i < k * (1 + view.width); i++)
	{
		if (!is_bounded(view.weights[i]))
			return FC_EFORMAT;
	}
	return FC_OK;
}

/*
 * Returns true if the batch of pending rows is not full; a full batch is
 * assigned immediately.
 */
static bool
has_capacity(const fc_step *step)
{
	return step->pending == 0 || step->pending < step->capacity;
}

/*
 * Checks a state after its sums have changed, for assertions. Sums may be
 * infinite, because the centroids of a stored operator may have any finite
 * values.
 */
static bool
is_sound(const fc_step *step)
{
	return has_capacity(step) && counts_valid(step);
}

void
fc_step_fold(fc_step *step, const fc_operator *op, fc_scratch scratch)
{
	fc_step_view view = fc_step_view_of(step);
	fc_operator own;
	step_work	pending;

	if (step->pending == 0)
		return;
	op = view_of(&view, op, &own);
	pending = label_pending(step, &view, op, scratch);
	for (size_t r = 0; r < step->pending; r++)
		account_dense(step, &view, op, (size_t) pending.labels[r],
					  view.x + r * op->d, view.w[r], pending.scratch);
	step->pending = 0;
	FC_ASSERT(is_sound(step));
}

void
fc_step_add(fc_step *step, const fc_operator *op, const double *x,
			double weight, fc_scratch scratch)
{
	fc_step_view view = fc_step_view_of(step);
	size_t		d = view.header->d;
	fc_operator own;

	if (kinds[step->kind].score != NULL || step->capacity <= 1)
	{
		op = view_of(&view, op, &own);
		FC_ASSERT(scratch.count >= fc_step_scratch(op, step->capacity));
		if (kinds[step->kind].score != NULL)
		{
			step->count++;
			fc_pair_add(&step->weight, weight);
			fc_pair_add(&step->total, weight * kinds[step->kind].score(op, x, scratch));
		}
		else
			account_dense(step, &view, op, fc_operator_assign(op, x, scratch), x,
						  weight, scratch);
		return;
	}
	memcpy(view.x + step->pending * d, x, d * sizeof(double));
	view.w[step->pending++] = weight;
	if (step->pending == step->capacity)
		fc_step_fold(step, op, scratch);
}

/* Assigns the pending rows first, because they come before this row. */
void
fc_step_add_labelled(fc_step *step, const fc_operator *op, size_t cluster,
					 const double *x, const fc_sparse_row *elements,
					 double squared, double weight, fc_scratch scratch)
{
	fc_step_view view = fc_step_view_of(step);

	FC_ASSERT(!fc_step_sums_scores(step->kind) &&
			  scratch.count >= fc_step_scratch(op, step->capacity));
	fc_step_fold(step, op, scratch);
	if (isnan(squared))
		squared = fc_operator_distance(op, cluster, x, scratch);
	account(step, &view, op, cluster, x, elements, squared, weight);
}

fc_status
fc_step_combine(fc_step *target, const fc_step *source, fc_scratch scratch)
{
	fc_step_view to = fc_step_view_of(target);
	fc_step_view from = fc_step_view_of(source);
	size_t		k = to.header->k;
	fc_operator op;

	fc_operator_view(to.header, &op);
	FC_ASSERT(scratch.count >= fc_step_scratch(&op, target->capacity));
	if (target->kind != source->kind ||
		memcmp(to.header->digest, from.header->digest,
			   sizeof(to.header->digest)) != 0)
		return FC_EMISMATCH;
	if (source->count > FC_MAX_ROWS - target->count)
		return FC_EOVERFLOW;
	target->count += source->count;
	add_pair(&target->total, source->total);
	add_pair(&target->weight, source->weight);
	for (size_t j = 0; j < k; j++)
	{
		to.counts[j] += from.counts[j];
		add_pair(&to.weights[j], from.weights[j]);
	}
	for (size_t i = 0; i < k * to.width; i++)
		add_pair(&to.sums[i], from.sums[i]);
	if (check_sums(target) != FC_OK)
		return FC_EOVERFLOW;
	for (size_t r = 0; r < source->pending; r++)
		fc_step_add(target, &op, from.x + r * op.d, from.w[r], scratch);
	FC_ASSERT(is_sound(target));
	return FC_OK;
}

/* ---- many rows together ---- */

/* Scratch: rows grouped by cluster, and the sum of one cluster. */
typedef struct rows_work
{
	double	   *sum;			/* d: sum of the current cluster's rows */
	int32_t    *labels;			/* n: cluster of each row */
	int32_t    *order;			/* n: rows sorted by cluster */
	int32_t    *end;			/* k: end of each cluster in `order` */
	fc_scratch	scratch;
} rows_work;

static inline size_t
rows_floats(const fc_operator *op, size_t n)
{
	return (2 * op->d + 2 * n + op->k + 15) / 16 * 16;
}

size_t
fc_step_rows_scratch(const fc_operator *op, size_t n)
{
	return rows_floats(op, n) + fc_operator_batch_scratch(op, n);
}

static rows_work
open_rows_work(const fc_operator *op, size_t n, fc_scratch scratch)
{
	size_t		floats = rows_floats(op, n);
	rows_work	w = {.sum = (double *) scratch.floats};

	FC_ASSERT(scratch.count >= fc_step_rows_scratch(op, n) &&
			  (uintptr_t) scratch.floats % sizeof(double) == 0);
	w.labels = (int32_t *) (w.sum + op->d);
	w.order = w.labels + n;
	w.end = w.order + n;
	w.scratch = (fc_scratch)
	{
		scratch.floats + floats, scratch.count - floats
	};
	return w;
}

/* Sorts the rows by label into w->order; cluster j ends before end[j]. */
static void
order_rows(const rows_work *w, size_t k, size_t n)
{
	int32_t		begin = 0;

	memset(w->end, 0, k * sizeof(int32_t));
	for (size_t r = 0; r < n; r++)
		w->end[w->labels[r]]++;
	for (size_t j = 0; j < k; j++)
	{
		int32_t		count = w->end[j];

		w->end[j] = begin;
		begin += count;
	}
	for (size_t r = 0; r < n; r++)
		w->order[w->end[w->labels[r]]++] = (int32_t) r;
}

/*
 * Sets w->sum to the sum of `count` rows of cluster j, whose indices are in
 * `rows`. Returns the sum of their squared distances to the centroid.
 */
FC_CLONES
static double
sum_rows(const fc_operator *op, size_t j, const double *x, const int32_t *rows,
		 size_t count, const rows_work *w)
{
	double	   *restrict sum = w->sum;
	double		squares = 0.0;

	memset(sum, 0, op->d * sizeof(double));
	for (size_t r = 0; r < count; r++)
	{
		const double *restrict row = x + (size_t) rows[r] * op->d;

		squares += fc_operator_distance(op, j, row, w->scratch);
		for (size_t i = 0; i < op->d; i++)
			sum[i] += row[i];
	}
	return squares;
}

/*
 * Sums rows of weight 1 in plain doubles, cluster by cluster, and then adds
 * these sums to the pairs. This is faster than adding each row to the pairs.
 */
void
fc_step_add_rows(fc_step *step, const fc_operator *op, const double *x,
				 const double *weights, size_t n, fc_scratch scratch)
{
	fc_step_view view = fc_step_view_of(step);
	rows_work	w = open_rows_work(op, n, scratch);
	double		total = 0.0;

	FC_ASSERT(step->kind == FC_STEP_LLOYD && step->pending == 0);
	fc_operator_assign_batch(op, x, n, w.scratch, w.labels);
	if (weights != NULL)
	{
		for (size_t r = 0; r < n; r++)
			account_dense(step, &view, op, (size_t) w.labels[r], x + r * op->d,
						  weights[r], w.scratch);
		return;
	}
	order_rows(&w, op->k, n);
	for (size_t at = 0, end; at < n; at = end)
	{
		size_t		j = (size_t) w.labels[w.order[at]];

		end = (size_t) w.end[j];
		total += sum_rows(op, j, x, w.order + at, end - at, &w);
		add_row(view.sums + j * op->d, w.sum, 1.0, op->d);
		fc_pair_add(&view.weights[j], (double) (end - at));
		view.counts[j] += (int64_t) (end - at);
	}
	step->count += (int64_t) n;
	fc_pair_add(&step->weight, (double) n);
	fc_pair_add(&step->total, total);
	FC_ASSERT(is_sound(step));
}

/* ---- results ---- */

/* Returns sum number i of cluster j, including its pending rows. */
static double
finish_sum(const fc_step *step, const fc_step_view *view,
		   const fc_operator *op, size_t j, size_t i, const step_work *pending)
{
	fc_pair		sum = view->sums[j * view->width + i];

	for (size_t r = 0; r < step->pending; r++)
		if ((size_t) pending->labels[r] == j)
		{
			const double *x = view->x + r * op->d;

			fc_pair_add(&sum, view->w[r] *
						(step->kind == FC_STEP_LLOYD
						 ? x[i]
						 : sqrt(fc_operator_distance(op, j, x,
													 pending->scratch))));
		}
	return fc_pair_value(sum);
}

void
fc_step_finish(const fc_step *step, fc_scratch scratch, fc_step_result *result)
{
	fc_step_view view = fc_step_view_of(step);
	fc_pair		total = step->total;
	fc_operator op;
	step_work	pending;

	fc_operator_view(view.header, &op);
	pending = label_pending(step, &view, &op, scratch);
	result->count = step->count + (int64_t) step->pending;
	for (size_t r = 0; r < step->pending; r++)
		fc_pair_add(&total,
					view.w[r] * fc_operator_distance(&op, (size_t) pending.labels[r],
													 view.x + r * op.d,
													 pending.scratch));
	result->total = fc_pair_value(total);
	for (size_t j = 0; j < op.k; j++)
	{
		fc_pair		weight = view.weights[j];

		fc_check();
		result->counts[j] = view.counts[j];
		for (size_t r = 0; r < step->pending; r++)
			if ((size_t) pending.labels[r] == j)
			{
				result->counts[j]++;
				fc_pair_add(&weight, view.w[r]);
			}
		result->weights[j] = fc_pair_value(weight);
		for (size_t i = 0; i < view.width; i++)
			result->sums[j * view.width + i] = result->counts[j] == view.counts[j]
				? fc_pair_value(view.sums[j * view.width + i])
				: finish_sum(step, &view, &op, j, i, &pending);
	}
}

fc_status
fc_step_check(const void *bytes, size_t size)
{
	const fc_step *step = bytes;
	const fc_operator_header *header;
	fc_status	status;

	if (size < sizeof(fc_step) + sizeof(fc_operator_header) ||
		step->version != FC_STEP_VERSION || !fc_step_is_kind(step->kind) ||
		step->padding != 0 || !has_capacity(step) || step->count < 0 ||
		step->count > FC_MAX_ROWS || step->operator_size % 8 != 0 ||
		step->operator_size > size - sizeof(fc_step))
		return FC_EFORMAT;
	header = (const fc_operator_header *) (step + 1);
	if (step->operator_size < sizeof(fc_operator_header) ||
		step->capacity > MAX_BATCH_ROWS ||
		fc_step_size(step->kind, header, step->operator_size, step->capacity) !=
		size)
		return FC_EFORMAT;
	status = fc_operator_check(header, step->operator_size);
	return status == FC_OK ? check_sums(step) : status;
}

void
fc_step_means(size_t k, size_t d, const double *weights, double *sums)
{
	for (size_t j = 0; j < k; j++)
	{
		fc_check();
		for (size_t i = 0; weights[j] > 0 && i < d; i++)
			sums[j * d + i] /= weights[j];
	}
}

void
fc_step_centroids(const fc_operator *op, const fc_step_result *result,
				  fc_scratch scratch)
{
	fc_step_means(op->k, op->d, result->weights, result->sums);
	for (size_t j = 0; j < op->k; j++)
	{
		double	   *mean = result->sums + j * op->d;

		fc_check();
		if (result->weights[j] > 0 &&
			(op->metric != FC_COSINE || fc_unit_row(mean, op->d, mean)))
			continue;
		fc_operator_row(op, j, scratch, mean);	/* the cluster has no rows, or
												 * its mean has no direction */
		if (op->metric == FC_COSINE)
			(void) fc_unit_row(mean, op->d, mean);
	}
}

double
fc_step_davies_bouldin(const fc_operator *op, const fc_step_result *result,
					   double *centroids, fc_scratch scratch)
{
	fc_operator_centroids(op, NULL, NULL, scratch, centroids);
	return fc_davies_bouldin(centroids, op->k, op->d, result->weights,
							 result->sums, NULL);
}

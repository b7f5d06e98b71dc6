/*
 * test_step.c - sums over assigned rows agree with long double to 1e-12 for
 * any batches and combinations; contingency tables count exactly; damaged
 * bytes are refused
 */
#include "operator/contingency.h"
#include "operator/operator.h"
#include "operator/step.h"
#include "unit.h"

#define K 12
#define D 103				/* no multiple of the SIMD lanes of the sums */
#define ROWS 500

static fc_operator_header *
make_operator(const double *offset)
{
	fc_rng		rng = fc_rng_start(4, 0);
	static float values[K * D];
	static float half_norms[K];
	static double weights[K];
	fc_operator op = {.k = K, .d = D, .offset = offset, .half_norms = half_norms, .weights = weights, .factors = 1};
	fc_operator_header *header;
	fc_scratch	scratch;

	for (int i = 0; i < K * D; i++)
		values[i] = (float) (3 * fc_rng_normal(&rng));
	op.factor[0] = (fc_factor) {.rows = K,.columns = D,.nonzeros = K * D,.values = values};
	scratch = unit_scratch(fc_operator_scratch(&op));
	fc_operator_measure(&op, scratch, half_norms);
	header = unit_uncleared(fc_operator_size(&op));
	fc_operator_write(&op, header);
	CHECK(fc_operator_check(header, fc_operator_size(&op)) == FC_OK, "the bytes of the operator are refused");
	return header;
}

/* Returns a state with the rows from .. to - 1, some of them still pending. */
static fc_step *
run(int kind, const fc_operator_header *header, const double *x, const double *w, size_t from, size_t to, size_t capacity)
{
	fc_operator op;
	fc_step    *step;
	fc_scratch	scratch;
	size_t		size;

	fc_operator_view(header, &op);
	size = fc_operator_size(&op);
	step = unit_uncleared(fc_step_size(kind, header, size, capacity));
	fc_step_init(kind, header, size, capacity, step);
	scratch = unit_scratch(fc_step_scratch(&op, capacity));
	for (size_t r = from; r < to; r++)
		fc_step_add(step, NULL, x + r * D, w[r], scratch);
	CHECK(step->pending == (capacity > 1 ? (to - from) % capacity : 0), "%u rows wait", step->pending);
	CHECK(fc_step_check(step, fc_step_size(kind, header, size, capacity)) == FC_OK, "bytes of kind %d", kind);
	return step;
}

static double
relative(double a, double b)
{
	return fabs(a - b) / fmax(fabs(b), 1e-300);
}

/* Returns the row of a codebook nearest to x, computed in long double. */
static size_t
nearest_row(const fc_operator *op, const double *x, long double *min)
{
	size_t		best = 0;

	*min = INFINITY;
	for (size_t j = 0; j < K; j++)
	{
		long double squared = 0;

		for (size_t i = 0; i < D; i++)
		{
			long double delta = (long double) x[i] - (op->offset ? op->offset[i] : 0) - op->factor[0].values[j * D + i];

			squared += delta * delta;
		}
		if (squared < *min)
		{
			*min = squared;
			best = j;
		}
	}
	return best;
}

/* Checks counts, and SSE and sums to 1e-12, with pending rows included. */
static void
check_lloyd(const fc_step *step, long double sse, const long double *sum, const int64_t *count, int number)
{
	int64_t		counts[K];
	double		weights[K];
	double		sums[K * D];
	fc_step_result result = {.counts = counts,.weights = weights,.sums = sums};
	fc_operator op;
	fc_scratch	scratch;
	uint32_t	pending = step->pending;

	fc_operator_view(fc_step_view_of(step).header, &op);
	scratch = unit_scratch(fc_step_scratch(&op, step->capacity));
	fc_step_finish(step, scratch, &result);
	CHECK(result.count == ROWS && step->pending == pending, "count");
	CHECK(relative(result.total, (double) sse) < 1e-12, "run %d: SSE off by %g", number, relative(result.total, (double) sse));
	for (size_t j = 0; j < K; j++)
		CHECK(counts[j] == count[j], "run %d cluster %zu", number, j);
	for (size_t i = 0; i < K * D; i++)
		CHECK(relative(sums[i], (double) sum[i]) < 1e-12, "run %d: sum %zu of cluster %zu", number, i % D, i / D);
}

/* Assigns the pending rows of the state. */
static void
fold(fc_step *step)
{
	fc_operator op;
	fc_scratch	scratch;

	fc_operator_view(fc_step_view_of(step).header, &op);
	scratch = unit_scratch(fc_step_scratch(&op, step->capacity));
	fc_step_fold(step, NULL, scratch);
	CHECK(step->pending == 0, "rows are still pending");
}

static void
combine(fc_step *target, const fc_step *source)
{
	fc_operator op;
	fc_scratch	scratch;

	fc_operator_view(fc_step_view_of(target).header, &op);
	scratch = unit_scratch(fc_step_scratch(&op, target->capacity));
	CHECK(fc_step_combine(target, source, scratch) == FC_OK, "combine");
}

/*
 * Bytes with more pending rows than there is room for, a negative weight or
 * count, or a value that is not finite or too large are refused.
 */
static void
check_spoiled(fc_step *step, size_t size)
{
	fc_step_view fields = fc_step_view_of(step);
	double		bad[] = {NAN, INFINITY, -INFINITY, 1e300};
	uint32_t	pending = step->pending;

	CHECK(fc_step_check(step, size) == FC_OK && pending > 0, "the bytes are refused");
	step->pending = step->capacity;
	CHECK(fc_step_check(step, size) == FC_EFORMAT, "a state without room for a row is accepted");
	step->pending = pending;
	for (int i = 0; i < 4; i++)
	{
		double	   *places[] = {fields.x, fields.w, &fields.sums[3].high, &fields.weights[2].low, &step->total.high, &step->weight.low};

		for (int p = 0; p < 6; p++)
		{
			double		good = *places[p];

			*places[p] = bad[i];
			CHECK(fc_step_check(step, size) == FC_EFORMAT, "%g in place %d is accepted", bad[i], p);
			*places[p] = good;
		}
	}
	fields.w[0] = -fields.w[0];
	CHECK(fc_step_check(step, size) == FC_EFORMAT, "a negative weight is accepted");
	fields.w[0] = -fields.w[0];
	fields.counts[0] -= step->count + 1;
	CHECK(fc_step_check(step, size) == FC_EFORMAT, "a negative count is accepted");
	fields.counts[0] += step->count + 1;
	CHECK(fc_step_check(step, size) == FC_OK, "restored bytes are refused");
}

/*
 * Two states with the maximum of rows or of a sum are readable, but adding
 * them is refused.
 */
static void
check_full(const fc_step *step, size_t size)
{
	fc_operator op;
	fc_scratch	scratch;
	fc_step    *full = unit_uncleared(size);
	fc_step    *target = unit_uncleared(size);

	fc_operator_view(fc_step_view_of(step).header, &op);
	scratch = unit_scratch(fc_step_scratch(&op, step->capacity));
	for (int which = 0; which < 3; which++)
	{
		memcpy(full, step, size);
		if (which == 0)
			full->count = FC_MAX_ROWS;
		else
			*(which == 1 ? &full->total : &fc_step_view_of(full).sums[3]) = (fc_pair) {FC_STEP_MAX_SUM, 0};
		memcpy(target, full, size);
		CHECK(fc_step_check(full, size) == FC_OK, "full state %d is refused", which);
		CHECK(fc_step_combine(target, full, scratch) == FC_EOVERFLOW, "full states %d are added", which);
	}
	memcpy(target, step, size);
	target->count = FC_MAX_ROWS + 1;
	CHECK(fc_step_check(target, size) == FC_EFORMAT, "too many rows are accepted");
}

/*
 * Single rows, batches, and two halves combined agree with loops in long
 * double, to 1e-12.
 */
static void
test_lloyd(const double *offset)
{
	fc_operator_header *header = make_operator(offset);
	fc_rng		rng = fc_rng_start(5, 0);
	double	   *x = unit_uncleared(ROWS * D * sizeof(double));
	double	   *w = unit_uncleared(ROWS * sizeof(double));
	long double sse = 0;
	long double sum[K * D] = {0};
	int64_t		count[K] = {0};
	fc_operator op;
	fc_step    *runs[3];
	fc_step    *half;

	fc_operator_view(header, &op);
	for (size_t r = 0; r < ROWS; r++)
	{
		long double min;
		size_t		best;

		w[r] = 0.5 + fc_rng_uniform(&rng);
		for (size_t i = 0; i < D; i++)
			x[r * D + i] = (offset ? offset[i] : 0) + (double) op.factor[0].values[r % K * D + i] + fc_rng_normal(&rng);
		best = nearest_row(&op, x + r * D, &min);
		sse += w[r] * min;
		for (size_t i = 0; i < D; i++)
			sum[best * D + i] += w[r] * (long double) x[r * D + i];
		count[best]++;
	}
	runs[0] = run(FC_STEP_LLOYD, header, x, w, 0, ROWS, 1);
	runs[1] = run(FC_STEP_LLOYD, header, x, w, 0, ROWS, 64);
	runs[2] = run(FC_STEP_LLOYD, header, x, w, 0, ROWS / 2, 17);
	half = run(FC_STEP_LLOYD, header, x, w, ROWS / 2, ROWS, 5);
	combine(runs[2], half);
	check_spoiled(runs[1], fc_step_size(FC_STEP_LLOYD, header, fc_operator_size(&op), 64));
	check_full(runs[1], fc_step_size(FC_STEP_LLOYD, header, fc_operator_size(&op), 64));
	for (int i = 0; i < 3; i++)
	{
		check_lloyd(runs[i], sse, sum, count, i);
		fold(runs[i]);
		check_lloyd(runs[i], sse, sum, count, i);
	}
}

/*
 * Two points at distance 1 from each center, with centers 10 apart, have known
 * scores.
 */
static void
test_scores(void)
{
	float		values[2] = {0, 10};
	float		half_norms[2];
	double		weights[2] = {0, 0};
	fc_operator op = {.k = 2, .d = 1, .weights = weights, .factors = 1,
	.factor[0] = {.rows = 2,.columns = 1,.nonzeros = 2,.values = values}};
	fc_operator_header *header = unit_uncleared(fc_operator_size(&op));
	double		x[4] = {-1, 1, 9, 11};
	size_t		size = fc_operator_size(&op);
	fc_scratch	scratch = unit_scratch(fc_step_scratch(&op, 1));
	double		centroids[2];
	double		index = 0.0;
	double		sums[2];
	double		cluster_weights[2];
	int64_t		counts[2];
	fc_step_result result = {.counts = counts,.weights = cluster_weights,.sums = sums};

	fc_operator_measure(&op, scratch, half_norms);
	fc_operator_write(&op, header);
	for (int kind = FC_STEP_LLOYD; kind <= FC_STEP_DAVIES_BOULDIN; kind++)
	{
		fc_step    *step = unit_uncleared(fc_step_size(kind, header, size, 1));

		fc_step_init(kind, header, size, 1, step);
		for (int r = 0; r < 4; r++)
			fc_step_add(step, NULL, x + r, 1, scratch);
		if (kind == FC_STEP_SILHOUETTE)	/* (11-1)/11 and (9-1)/9, twice each */
			CHECK(fabs(fc_pair_value(step->total) - 2 * (10.0 / 11 + 8.0 / 9)) < 1e-12, "the silhouette is wrong");
		else
			CHECK(fc_pair_value(step->total) == 4, "SSE %g", fc_pair_value(step->total));
		fc_step_finish(step, scratch, &result);
		if (kind == FC_STEP_DAVIES_BOULDIN)
		{
			index = fc_step_davies_bouldin(&op, &result, centroids, scratch);
			CHECK(fabs(index - 0.2) < 1e-12, "the Davies-Bouldin index is wrong");
		}
	}
}

/* Counts of pairs of labels are exact, and overflow is refused. */
static void
test_contingency(void)
{
	fc_contingency *table = unit_uncleared(fc_contingency_size(64));
	fc_cell		cells[40];

	fc_contingency_init(64, table);
	for (int i = 0; i < 1000; i++)
		fc_contingency_add(table, i % 5 - 2, (i % 8 - 4) * (INT64_C(1) << 61), 1);
	CHECK(table->used == 40, "used %u", table->used);
	fc_contingency_list(table, unit_work(), cells);
	for (int i = 0; i < 40; i++)
		CHECK(cells[i].a == i / 8 - 2 && cells[i].b == (i % 8 - 4) * (INT64_C(1) << 61) && cells[i].count == 25, "cell %d", i);
	CHECK(fc_contingency_add(table, 0, 0, FC_MAX_ROWS) == FC_EOVERFLOW, "too many rows of a cell are accepted");
	CHECK(fc_contingency_merge(table, table) == FC_OK, "a table cannot be merged with itself");
}

/* ---- sparse rows ---- */

#define ELEMENTS 5

/*
 * Returns a row of up to ELEMENTS nonzero numbers, two of them neighbours and
 * the last in the tail of the sums.
 */
static fc_sparse_row
sparse_row(size_t r, uint32_t *indices, double *values, double *x)
{
	const uint32_t places[ELEMENTS] = {(uint32_t) (r % 7), 8, 9, 20 + (uint32_t) (r % 50), D - 1 - (uint32_t) (r % 3)};
	fc_sparse_row row = {indices, values, r % 11 == 0 ? 0 : ELEMENTS};

	memset(x, 0, D * sizeof(double));
	for (size_t p = 0; p < row.count; p++)
	{
		indices[p] = places[p];
		values[p] = x[places[p]] = (double) (float) sin((double) (r * ELEMENTS + p)) * 9;
	}
	return row;
}

/*
 * Nearest clusters by the operator's columns equal those of
 * fc_operator_nearest.
 */
static void
check_nearest(const fc_operator *op, const fc_columns *columns, const fc_sparse_row *row, const double *x, fc_scratch scratch)
{
	double		scores[K];
	int32_t		clusters[2][K];
	double		distances[2][K];
	double		bound = fc_columns_score(columns, row, scores);

	for (size_t count = 1; count <= K; count += 5)
	{
		fc_operator_nearest(op, x, count, scratch, clusters[0], distances[0]);
		fc_operator_nearest_scored(op, x, scores, bound, count, scratch, clusters[1], distances[1]);
		for (size_t i = 0; i < count; i++)
			CHECK(clusters[0][i] == clusters[1][i] && distances[0][i] == distances[1][i], "neighbour %zu of %zu", i, count);
	}
	for (size_t j = 0; j < K; j++)
	{
		double		squared = fc_operator_distance(op, j, x, scratch);
		double		scored = fc_columns_distance(op, row, scores, j);

		CHECK(isnan(scored)
			  ? op->offset != NULL || squared <= 2e-3 * fc_sum_of_squares(x, D)
			  : fabs(scored - squared) <= 1e-9 * squared, "distance %g is %g by its score", squared, scored);
	}
}

/*
 * A row with a known cluster, given by its elements, adds the same to the sums
 * as the dense row, to the bit.
 */
static void
test_sparse_rows(const double *offset, int kind)
{
	fc_operator_header *header = make_operator(offset);
	fc_operator op;
	fc_columns	columns;
	fc_scratch	scratch;
	fc_step    *steps[2];
	fc_step_view fields[2];
	double		x[D];
	double		none[1] = {0};

	fc_operator_view(header, &op);
	fc_columns_make(&op, unit_work(), &columns);
	for (int s = 0; s < 2; s++)
		steps[s] = run(kind, header, x, none, 0, 0, 16);
	scratch = unit_scratch(fc_step_scratch(&op, 16));
	for (size_t r = 0; r < ROWS; r++)
	{
		uint32_t	indices[ELEMENTS];
		double		values[ELEMENTS];
		fc_sparse_row row = sparse_row(r, indices, values, x);
		double		weight = 0.3 + (double) (r % 4);

		check_nearest(&op, &columns, &row, x, scratch);
		fc_step_add(steps[0], &op, x, weight, scratch);
		if (r % 40 < 21)
			fc_step_add(steps[1], &op, x, weight, scratch);
		else
			fc_step_add_labelled(steps[1], &op, fc_operator_assign(&op, x, scratch), x, &row, NAN, weight, scratch);
	}
	for (int s = 0; s < 2; s++)
	{
		fc_step_fold(steps[s], &op, scratch);
		fields[s] = fc_step_view_of(steps[s]);
	}
	CHECK(memcmp(&steps[0]->total, &steps[1]->total, 2 * sizeof(fc_pair)) == 0 && steps[0]->count == ROWS, "kind %d: other totals", kind);
	CHECK(memcmp(fields[0].counts, fields[1].counts, (size_t) ((char *) fields[0].x - (char *) fields[0].counts)) == 0, "kind %d: other sums", kind);
}

/*
 * Rows added as a batch have the labels of single rows, and equal sums to
 * 1e-13.
 */
static void
test_rows(const double *offset, bool weighted)
{
	static double x[ROWS * D];
	static double w[ROWS];
	fc_operator_header *header = make_operator(offset);
	fc_rng		rng = fc_rng_start(9, 0);
	fc_operator op;
	fc_scratch	scratch;
	fc_step    *step;
	int64_t		counts[2][K];
	double		weights[2][K];
	double		sums[2][K * D];
	fc_step_result result[2];

	for (int i = 0; i < ROWS * D; i++)
		x[i] = 3 * fc_rng_normal(&rng) + (offset != NULL ? offset[i % D] : 0.0);
	for (int r = 0; r < ROWS; r++)
		w[r] = weighted ? 0.5 * (1 + r % 5) : 1.0;
	fc_operator_view(header, &op);
	scratch = unit_scratch(fc_step_rows_scratch(&op, 70));
	step = run(FC_STEP_LLOYD, header, x, w, 0, 0, 1);
	for (size_t begin = 0, rows = 1; begin < ROWS; begin += rows, rows = 1 + (rows + 16) % 70)
		fc_step_add_rows(step, &op, x + begin * D, weighted ? w + begin : NULL, begin + rows < ROWS ? rows : ROWS - begin, scratch);
	for (int s = 0; s < 2; s++)
	{
		fc_step    *of = s == 0 ? step : run(FC_STEP_LLOYD, header, x, w, 0, ROWS, 1);

		result[s] = (fc_step_result) {.counts = counts[s],.weights = weights[s],.sums = sums[s]};
		fc_step_finish(of, scratch, &result[s]);
	}
	CHECK(result[0].count == ROWS && memcmp(counts[0], counts[1], sizeof(counts[0])) == 0 && memcmp(weights[0], weights[1], sizeof(weights[0])) == 0, "counts");
	CHECK(relative(result[0].total, result[1].total) < 1e-13, "SSE off by %g", relative(result[0].total, result[1].total));
	for (int i = 0; i < K * D; i++)
		CHECK(fabs(sums[0][i] - sums[1][i]) < 1e-13 * (fabs(sums[1][i]) + ROWS), "sum %d of cluster %d", i % D, i / D);
}

int
main(void)
{
	double		offset[D];

	for (int i = 0; i < D; i++)
		offset[i] = 1e5 + i;
	test_lloyd(NULL);
	test_lloyd(offset);
	test_rows(NULL, false);
	test_rows(NULL, true);
	test_rows(offset, false);
	test_rows(offset, true);
	test_scores();
	for (int kind = FC_STEP_LLOYD; kind <= FC_STEP_DAVIES_BOULDIN; kind++)
		if (kind != FC_STEP_SILHOUETTE)
		{
			test_sparse_rows(NULL, kind);
			test_sparse_rows(offset, kind);
		}
	test_contingency();
	return unit_finish();
}

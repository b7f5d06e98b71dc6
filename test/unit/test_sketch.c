/*
 * test_sketch.c - a sketch is exact: any order, grouping, batch or instruction set
 * gives the same bytes; and it is right: against double arithmetic.
 */
#include "fc_sketch_kernel.h"
#include "specs.h"

#define ROWS 300

static const spec_wish wishes[] = {
	{.dim = 1, .frequencies = 5, .law = FC_LAW_GAUSSIAN, .sigma = 1},
	{.dim = 3, .frequencies = 40, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 0.7, .scaled = true},
	{.dim = 10, .frequencies = 129, .law = FC_LAW_ADAPTED_RADIUS, .sigma = 2, .scales = 3},
	{.dim = 37, .frequencies = 100, .law = FC_LAW_FOLDED_GAUSSIAN, .sigma = 1, .structured = true},
	{.dim = 20, .frequencies = 70, .law = FC_LAW_GAUSSIAN, .sigma = 1, .structured = true, .scales = 2},
	{.dim = 60, .reduced = 8, .frequencies = 64, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 1.5},
	{.dim = 700, .frequencies = 33, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 5}
};

static void
add_rows(const fc_plan *plan, fc_sketch *sketch, const double *x, size_t from, size_t to, size_t step)
{
	for (size_t r = from; r < to; r += step)
	{
		fc_row		row = {.doubles = x + r * plan->d, .weight = FC_ONE_WEIGHT};
		fc_status	status = fc_sketch_add(plan, &row, sketch);

		CHECK(status == FC_OK, "row %zu: status %d", r, (int) status);
	}
}

static fc_sketch *
sketch_of(const fc_plan *plan, const double *x, size_t from, size_t to, size_t step, size_t capacity)
{
	fc_sketch  *sketch = new_sketch(plan->spec, FC_SKETCH_OPEN, capacity);

	add_rows(plan, sketch, x, from, to, step);
	return close_sketch(plan, sketch);
}

static void
test_exact(const fc_plan *plan, const double *x)
{
	fc_sketch  *whole = sketch_of(plan, x, 0, ROWS, 1, plan->batch);
	fc_sketch  *single = sketch_of(plan, x, 0, ROWS, 1, 1);
	fc_sketch  *odd = sketch_of(plan, x, 1, ROWS, 2, 7);
	fc_sketch  *even = sketch_of(plan, x, 0, ROWS, 2, 16);
	fc_sketch  *sum = malloc(fc_sketch_bytes(odd));
	fc_sketch  *backward = new_sketch(plan->spec, FC_SKETCH_OPEN, plan->batch);

	for (size_t r = ROWS; r-- > 0;)
		add_rows(plan, backward, x, r, r + 1, 1);
	backward = close_sketch(plan, backward);
	memcpy(sum, odd, fc_sketch_bytes(odd));
	CHECK(fc_sketch_combine(sum, even, 1) == FC_OK, "combine");
	CHECK(same_sketch(whole, single), "batches of one differ");
	CHECK(same_sketch(whole, backward), "order matters");
	CHECK(same_sketch(whole, sum), "grouping matters");
	CHECK(fc_sketch_check(whole, fc_sketch_bytes(whole)) == FC_OK, "not valid");
	CHECK(fc_sketch_combine(sum, even, -1) == FC_OK, "subtract");
	for (size_t i = 0; i < plan->tracked; i++)
	{
		CHECK(fc_sketch_mean(sum, i) == fc_sketch_mean(odd, i), "mean %zu after a + b - b", i);
		CHECK(fc_sketch_variance(sum, i) == fc_sketch_variance(odd, i), "variance %zu after a + b - b", i);
	}
	free(whole), free(single), free(odd), free(even), free(sum), free(backward);
}

/* Rows out one by one, near and far, leave exactly the rest. */
static void
test_subtract_rows(const fc_plan *plan, const double *x)
{
	fc_sketch  *kept = sketch_of(plan, x, 0, 100, 1, plan->batch);
	fc_sketch  *open = new_sketch(plan->spec, FC_SKETCH_OPEN, plan->batch);
	fc_sketch  *closed;

	add_rows(plan, open, x, 0, ROWS, 1);
	for (size_t r = 100; r < ROWS; r++)
	{
		fc_row		row = {.doubles = x + r * plan->d, .weight = FC_ONE_WEIGHT};

		CHECK(fc_sketch_subtract_row(plan, &row, open) == FC_OK, "subtract row %zu", r);
	}
	closed = close_sketch(plan, open);
	fc_sketch_forget_bounds(kept);
	CHECK(same_sketch(kept, closed), "subtracting rows is not exact");
	free(kept), free(closed);
}

/* Moments, means and deviations against sums in double. */
static void
test_right(const fc_plan *plan, const double *x)
{
	const fc_spec *spec = plan->spec;
	fc_sketch  *sketch = sketch_of(plan, x, 0, ROWS, 1, plan->batch);
	size_t		moments = plan->moments;
	double	   *re = malloc(2 * moments * sizeof(double));
	double	   *im = re + moments;
	float	   *omega = malloc(plan->m * plan->n * sizeof(float));
	double	   *y = malloc((ROWS * plan->n + FC_PAD) * sizeof(double));
	fc_arena	work = unit_arena(fc_frequency_worksize(spec) + 256);
	double		worst = 0;

	CHECK(fc_frequencies(spec, &work, NULL, omega) == FC_OK, "frequencies");
	fc_sketch_moments(sketch, re, im);
	for (size_t r = 0; r < ROWS; r++)
	{
		memcpy(plan->value, x + r * plan->d, plan->d * sizeof(double));
		plan->kernel->reduce(plan, y + r * plan->n);
	}
	for (size_t j = 0; j < moments; j++)
	{
		double		c = 0;
		double		s = 0;

		for (size_t r = 0; r < ROWS; r++)
		{
			double		angle = 0;

			for (size_t i = 0; i < plan->n; i++)
				angle += (double) omega[j % plan->m * plan->n + i] * y[r * plan->n + i];
			angle *= spec->sigma / fc_spec_sigmas(spec)[j / plan->m];
			c += cos(angle) / ROWS;
			s += sin(angle) / ROWS;
		}
		worst = fmax(worst, fmax(fabs(c - re[j]), fabs(s - im[j])));
	}
	CHECK(worst < 1e-6, "d %zu m %zu: moments differ from double by %g", plan->d, plan->m, worst);
	for (size_t i = 0; i < plan->d; i++)
	{
		double		mean = 0;
		double		variance = 0;

		for (size_t r = 0; r < ROWS; r++)
			mean += x[r * plan->d + i] / ROWS;
		for (size_t r = 0; r < ROWS; r++)
			variance += (x[r * plan->d + i] - mean) * (x[r * plan->d + i] - mean) / ROWS;
		CHECK(fabs(fc_sketch_mean(sketch, i) - mean) < 1e-6 * spec->sigma, "mean %zu", i);
		CHECK(fabs(fc_sketch_variance(sketch, i) / variance - 1) < 1e-5, "variance %zu", i);
	}
	free(sketch), free(re), free(omega), free(y), free(work.base);
}

static void
test_instruction_sets(const fc_plan *plan, const double *x)
{
	const fc_kernel *v3 = fc_kernel_named("x86-64-v3");
	const fc_kernel *v4 = fc_kernel_named("x86-64-v4");
	const fc_kernel *base = fc_kernel_named("baseline");
	float	   *y = malloc(50 * plan->n * sizeof(float));
	int64_t    *z = calloc(6 * plan->moments, sizeof(int64_t));
	double		worst = 0;

	for (size_t i = 0; i < 50 * plan->n; i++)
		y[i] = (float) x[i];
	base->accumulate(plan, y, 50, z);
	if (v3 != NULL)
		v3->accumulate(plan, y, 50, z + 2 * plan->moments);
	if (v4 != NULL)
		v4->accumulate(plan, y, 50, z + 4 * plan->moments);
	for (size_t j = 0; v3 != NULL && j < 2 * plan->moments; j++)
	{
		worst = fmax(worst, fabs((double) (z[j] - z[2 * plan->moments + j])) / 50 * 0x1p-22);
		CHECK(v4 == NULL || z[2 * plan->moments + j] == z[4 * plan->moments + j], "v3 and v4 differ at %zu", j);
	}
	CHECK(worst < 1e-6, "baseline differs by %g", worst);
	free(y), free(z);
}

/* Weight 3 is the row three times; all weights 1 is no weights; sums of fractions are exact. */
static void
test_weights(const fc_plan *plan, const double *x)
{
	fc_sketch  *thrice = new_sketch(plan->spec, FC_SKETCH_OPEN, plan->batch);
	fc_sketch  *weighted = new_sketch(plan->spec, FC_SKETCH_OPEN | FC_SKETCH_WEIGHTED, plan->batch);
	fc_sketch  *one = new_sketch(plan->spec, FC_SKETCH_OPEN | FC_SKETCH_WEIGHTED, 3);
	fc_sketch  *plain = sketch_of(plan, x, 0, 40, 1, plan->batch);
	double	   *re = malloc(4 * plan->moments * sizeof(double));
	int64_t		grid;

	for (size_t r = 0; r < 40; r++)
	{
		fc_row		row = {.doubles = x + r * plan->d, .weight = FC_ONE_WEIGHT};
		fc_row		heavy = {.doubles = row.doubles, .weight = r % 2 ? 3 * FC_ONE_WEIGHT : FC_ONE_WEIGHT};

		for (int i = 0; i < (r % 2 ? 3 : 1); i++)
			CHECK(fc_sketch_add(plan, &row, thrice) == FC_OK, "add");
		CHECK(fc_sketch_add(plan, &heavy, weighted) == FC_OK, "add");
		CHECK(fc_sketch_add(plan, &row, one) == FC_OK, "add");
	}
	thrice = close_sketch(plan, thrice);
	weighted = close_sketch(plan, weighted);
	one = close_sketch(plan, one);
	CHECK(same_sketch(plain, one), "weight 1 is not no weight");
	CHECK(weighted->count == 40 && fc_sketch_total_weight(weighted) == 80, "counts");
	fc_sketch_moments(thrice, re, re + plan->moments);
	fc_sketch_moments(weighted, re + 2 * plan->moments, re + 3 * plan->moments);
	for (size_t j = 0; j < 2 * plan->moments; j++)
		CHECK(re[j] == re[2 * plan->moments + j], "moment %zu", j);
	for (size_t i = 0; i < plan->tracked; i++)
		CHECK(fabs(fc_sketch_mean(thrice, i) - fc_sketch_mean(weighted, i)) < 1e-12 * (1 + fabs(fc_sketch_mean(thrice, i))),
			  "mean %zu", i);
	CHECK(fc_weight_on_grid(0, &grid) == FC_OK && grid == 0, "weight 0");
	CHECK(fc_weight_on_grid(1e-12, &grid) == FC_OK && grid == 1 && fc_weight_on_grid(1e-6, &grid) == FC_OK && grid == 1099512, "small weights");
	CHECK(fc_weight_on_grid(9e-13, &grid) == FC_EWEIGHT && fc_weight_on_grid(1e9, &grid) == FC_EWEIGHT, "range");
	free(thrice), free(weighted), free(one), free(plain), free(re);
}

static void
test_far_values(const fc_plan *plan)
{
	double	   *x = calloc(4 * plan->d, sizeof(double));
	fc_sketch  *sketch = new_sketch(plan->spec, FC_SKETCH_OPEN, 5);
	fc_row		row = {.doubles = x + 3 * plan->d, .weight = FC_ONE_WEIGHT};
	fc_sketch  *swapped = new_sketch(plan->spec, FC_SKETCH_OPEN, 1);

	x[0] = 1e6 * plan->spec->sigma;
	x[plan->d] = -1e5 * plan->spec->sigma;
	x[2 * plan->d] = 3e9 * plan->spec->sigma;
	add_rows(plan, sketch, x, 0, 3, 1);
	for (size_t r = 3; r-- > 0;)
		add_rows(plan, swapped, x, r, r + 1, 1);
	sketch = close_sketch(plan, sketch);
	swapped = close_sketch(plan, swapped);
	CHECK(same_sketch(sketch, swapped), "far rows depend on order");
	CHECK(fabs(fc_sketch_mean(sketch, 0) / ((3e9 + 9e5) * plan->spec->sigma / 3) - 1) < 1e-9, "far mean");
	free(sketch);
	sketch = new_sketch(plan->spec, FC_SKETCH_OPEN, 5);
	x[3 * plan->d] = 1e13 * plan->spec->sigma;
	CHECK(fc_sketch_add(plan, &row, sketch) == FC_EFAR, "too far");
	x[3 * plan->d] = NAN;
	CHECK(fc_sketch_add(plan, &row, sketch) == FC_EVALUE, "NaN");
	x[3 * plan->d] = INFINITY;
	CHECK(fc_sketch_add(plan, &row, sketch) == FC_EVALUE, "infinity");
	free(sketch), free(swapped), free(x);
}

static void
test_distance(const fc_plan *plan, const double *x)
{
	fc_sketch  *a = sketch_of(plan, x, 0, 150, 1, plan->batch);
	fc_sketch  *b = sketch_of(plan, x, 150, 300, 1, plan->batch);
	fc_sketch  *one = sketch_of(plan, x, 0, 1, 1, 1);

	CHECK(fabs(fc_sketch_distance(a, b)) < 0.05, "same distribution: %g", fc_sketch_distance(a, b));
	CHECK(fabs(fc_sketch_similarity(one, one) - 1) < 1e-6, "|phi|^2 = %g", fc_sketch_similarity(one, one));
	CHECK(isnan(fc_sketch_distance(a, one)), "one row has no unbiased distance");
	CHECK(fc_sketch_combine(one, a, -1) == FC_ENEGATIVE, "negative count");
	free(a), free(b), free(one);
}

/* Any changed byte of the fixed fields, and any cut, is refused or harmless. */
static void
test_damage(const fc_plan *plan, const double *x)
{
	fc_sketch  *sketch = sketch_of(plan, x, 0, 50, 1, plan->batch);
	size_t		size = fc_sketch_bytes(sketch);
	char	   *copy = malloc(size);
	int			refused = 0;

	for (size_t i = 4; i < sizeof(fc_sketch) + sketch->spec_size; i++)
	{
		memcpy(copy, sketch, size);
		copy[i] ^= 0x41;
		refused += fc_sketch_check(copy, size) == FC_EFORMAT;
	}
	CHECK(refused > (int) (sizeof(fc_sketch) + sketch->spec_size) - 4 - 48, "only %d refused", refused);
	for (size_t cut = 0; cut < size; cut += size / 50 + 1)
	{
		memcpy(copy, sketch, size);
		CHECK(fc_sketch_check(copy, cut) == FC_EFORMAT, "cut at %zu", cut);
	}
	free(copy), free(sketch);
}


static void
test_cancel(const fc_spec *spec)
{
	for (long calls = 0;; calls++)
	{
		unit_stopper stopper = {0, calls};
		fc_tick		tick = {unit_stop, &stopper};
		fc_arena	arena = unit_arena(fc_plan_size(spec) + 64);
		fc_plan		plan;
		fc_status	status = fc_plan_build(spec, &tick, &arena, &plan);

		free(arena.base);
		CHECK(status == FC_OK || status == FC_INTERRUPTED, "status %d", (int) status);
		if (status == FC_OK)
			break;
	}
}

int
main(void)
{
	for (size_t w = 0; w < sizeof(wishes) / sizeof(wishes[0]); w++)
	{
		fc_spec    *spec = make_spec(wishes[w]);
		planned		made = make_plan(spec);
		double	   *x = normal_rows(ROWS, spec->dim, 2, w);

		CHECK(fc_spec_check(spec, fc_spec_size(spec)) == FC_OK, "spec %zu", w);
		test_exact(&made.plan, x);
		test_subtract_rows(&made.plan, x);
		test_right(&made.plan, x);
		test_instruction_sets(&made.plan, x);
		test_weights(&made.plan, x);
		test_far_values(&made.plan);
		test_distance(&made.plan, x);
		test_damage(&made.plan, x);
		test_cancel(spec);
		free(x), free(made.arena.base), free(spec);
	}
	return unit_finish();
}

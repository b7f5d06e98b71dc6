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
	CHECK(fc_sketch_combine(sum, even, 1, NULL) == FC_OK, "combine");
	CHECK(same_sketch(whole, single), "batches of one differ");
	CHECK(same_sketch(whole, backward), "order matters");
	CHECK(same_sketch(whole, sum), "grouping matters");
	CHECK(fc_sketch_check(whole, fc_sketch_bytes(whole), NULL) == FC_OK, "not valid");
	CHECK(fc_sketch_combine(sum, even, -1, NULL) == FC_OK, "subtract");
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
	fc_sketch_moments(sketch, NULL, re, im);
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
	fc_sketch_moments(thrice, NULL, re, re + plan->moments);
	fc_sketch_moments(weighted, NULL, re + 2 * plan->moments, re + 3 * plan->moments);
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
	double	   *x = calloc(5 * plan->d, sizeof(double));
	fc_sketch  *sketch = new_sketch(plan->spec, FC_SKETCH_OPEN, 5);
	fc_row		row = {.doubles = x + 4 * plan->d, .weight = FC_ONE_WEIGHT};
	fc_sketch  *swapped = new_sketch(plan->spec, FC_SKETCH_OPEN, 1);

	x[0] = 1e6 * plan->spec->sigma;
	x[plan->d] = -1e5 * plan->spec->sigma;
	x[2 * plan->d] = 3e9 * plan->spec->sigma;
	x[3 * plan->d] = 500 * plan->spec->sigma;
	add_rows(plan, sketch, x, 0, 4, 1);
	for (size_t r = 4; r-- > 0;)
		add_rows(plan, swapped, x, r, r + 1, 1);
	sketch = close_sketch(plan, sketch);
	swapped = close_sketch(plan, swapped);
	CHECK(same_sketch(sketch, swapped), "far rows depend on order");
	CHECK(fabs(fc_sketch_mean(sketch, 0) / ((3e9 + 9e5 + 500) * plan->spec->sigma / 4) - 1) < 1e-9, "far mean");
	free(sketch);
	sketch = new_sketch(plan->spec, FC_SKETCH_OPEN, 5);
	x[4 * plan->d] = 1e13 * plan->spec->sigma;
	CHECK(fc_sketch_add(plan, &row, sketch) == FC_EFAR, "too far");
	x[4 * plan->d] = NAN;
	CHECK(fc_sketch_add(plan, &row, sketch) == FC_EVALUE, "NaN");
	x[4 * plan->d] = INFINITY;
	CHECK(fc_sketch_add(plan, &row, sketch) == FC_EVALUE, "infinity");
	free(sketch), free(swapped), free(x);
}

static void
test_distance(const fc_plan *plan, const double *x)
{
	fc_sketch  *a = sketch_of(plan, x, 0, 150, 1, plan->batch);
	fc_sketch  *b = sketch_of(plan, x, 150, 300, 1, plan->batch);
	fc_sketch  *one = sketch_of(plan, x, 0, 1, 1, 1);

	CHECK(fabs(distance_of(a, b)) < 0.05, "same distribution: %g", distance_of(a, b));
	CHECK(fabs(similarity_of(one, one) - 1) < 1e-6, "|phi|^2 = %g", similarity_of(one, one));
	CHECK(isnan(distance_of(a, one)), "one row has no unbiased distance");
	CHECK(fc_sketch_combine(one, a, -1, NULL) == FC_ENEGATIVE, "negative count");
	free(a), free(b), free(one);
}

/* Whatever reads all moments asks first, and then every block. */
static void
test_ticks(const fc_plan *plan, const double *x)
{
	fc_sketch  *a = sketch_of(plan, x, 0, 150, 1, plan->batch);
	fc_sketch  *b = sketch_of(plan, x, 150, 300, 1, plan->batch);
	fc_sketch  *copy = malloc(fc_sketch_bytes(a));
	double	   *z = malloc(2 * plan->moments * sizeof(double));
	double		value;

	for (long stop = 0; stop < 3; stop++)
	{
		unit_stopper stopper = {0, stop};
		fc_tick		tick = {unit_stop, &stopper};

		CHECK(fc_sketch_distance(a, b, &tick, &value) == FC_INTERRUPTED && stopper.calls == stop + 1, "distance %ld", stop);
		stopper = (unit_stopper) {stop, stop};
		CHECK(fc_sketch_similarity(a, b, &tick, &value) == FC_INTERRUPTED, "similarity");
		stopper.calls = stop;
		CHECK(fc_sketch_moments(a, &tick, z, z + plan->moments) == FC_INTERRUPTED, "moments");
		stopper.calls = stop;
		CHECK(fc_sketch_convert(a, 0, 0, &tick, copy) == FC_INTERRUPTED, "convert");
		memcpy(copy, a, fc_sketch_bytes(a));
		stopper.calls = stop;
		CHECK(fc_sketch_combine(copy, b, 1, &tick) == FC_INTERRUPTED, "combine");
	}
	free(a), free(b), free(copy), free(z);
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
		refused += fc_sketch_check(copy, size, NULL) == FC_EFORMAT;
	}
	CHECK(refused > (int) (sizeof(fc_sketch) + sketch->spec_size) - 4 - 48, "only %d refused", refused);
	for (size_t cut = 0; cut < size; cut += size / 50 + 1)
	{
		memcpy(copy, sketch, size);
		CHECK(fc_sketch_check(copy, cut, NULL) == FC_EFORMAT, "cut at %zu", cut);
	}
	free(copy), free(sketch);
}


/*
 * The sums of a near row do not depend on the build, on the bytes the row stands on, nor on
 * whether it is taken at once or in two steps; a far one is left alone.
 */
static void
test_taking(const fc_plan *plan, const double *x)
{
	static const char *const names[] = {"baseline", "x86-64-v3", "x86-64-v4"};
	size_t		doubles = FC_SKETCH_WAITING * plan->row;
	double	   *sums = unit_alloc(4 * doubles, sizeof(double));
	float	   *y = unit_alloc(fc_padded(plan->n), sizeof(float));
	float	   *single = unit_alloc(plan->d + 1, sizeof(float));
	double	   *same = unit_alloc(plan->d, sizeof(double));
	double	   *far = unit_alloc(plan->d, sizeof(double));

	for (size_t i = 0; i < plan->d; i++)
		same[i] = (double) (float) x[i];
	for (int k = 0; k < 3; k++)
	{
		const fc_kernel *kernel = fc_kernel_named(names[k]);

		if (kernel == NULL || (k == 0 && plan->basis != NULL))
			continue;
		memset(sums, 0, 3 * doubles * sizeof(double));
		for (size_t i = 0; i < plan->d; i++)
			memcpy((char *) single + 1 + i * sizeof(float), &(float) {(float) x[i]}, sizeof(float));
		CHECK(kernel->prepare(plan, same, y) == FC_ROW_NEAR, "near");
		kernel->track(plan, sums);
		CHECK(kernel->take(plan, same, y, sums + doubles), "take");
		CHECK(kernel->take_float(plan, (const float *) ((const char *) single + 1), y, sums + 2 * doubles), "take");
		CHECK(memcmp(sums, sums + doubles, doubles * sizeof(double)) == 0, "%s: at once", names[k]);
		CHECK(memcmp(sums, sums + 2 * doubles, doubles * sizeof(double)) == 0, "%s: floats", names[k]);
		if (k == (plan->basis != NULL))
			memcpy(sums + 3 * doubles, sums, doubles * sizeof(double));
		CHECK(memcmp(sums, sums + 3 * doubles, doubles * sizeof(double)) == 0, "%s: other sums", names[k]);
		memcpy(far, x, plan->d * sizeof(double));
		far[plan->d - 1] = k == 0 ? NAN : k == 1 ? INFINITY : -1e9 * plan->spec->sigma * (double) plan->d;
		CHECK(!kernel->take(plan, far, y, sums), "%s: a far row", names[k]);
		CHECK(memcmp(sums, sums + doubles, doubles * sizeof(double)) == 0, "%s: something done", names[k]);
	}
	free(sums), free(y), free(single), free(same), free(far);
}

/*
 * Short rows that were kept give the sums and coordinates of rows taken one by one, in every build,
 * from floats on any byte, too; rows that are not near for certain are left alone.
 */
static void
test_keeping(const fc_plan *plan, const double *x)
{
	static const char *const names[] = {"baseline", "x86-64-v3", "x86-64-v4"};
	enum
	{
		COUNT = 7
	};
	size_t		doubles = FC_SKETCH_WAITING * plan->row;
	double	   *sums = unit_alloc(2 * doubles, sizeof(double));
	double	   *kept = unit_alloc((COUNT + 1) * plan->row, sizeof(double));
	char	   *single = unit_alloc(plan->d * sizeof(float) + 1, 1);
	float	   *y = unit_alloc(2 * (COUNT * plan->n + FC_PAD), sizeof(float));
	float	   *wanted = y + COUNT * plan->n + FC_PAD;

	for (int k = 0; k < 3; k++)
	{
		const fc_kernel *kernel = fc_kernel_named(names[k]);

		if (kernel == NULL)
			continue;
		memset(sums, 0, 2 * doubles * sizeof(double));
		for (size_t r = 0; r < COUNT; r++)
		{
			double	   *row = kept + COUNT * plan->row;

			for (size_t i = 0; i < plan->d; i++)
			{
				float		value = (float) x[r * plan->d + i];

				memcpy(single + 1 + i * sizeof(float), &value, sizeof(float));
				row[i] = (double) value;
			}
			CHECK(kernel->prepare(plan, row, wanted + r * plan->n) == FC_ROW_NEAR, "near");
			kernel->track(plan, sums);
			CHECK(r % 2 ? kernel->keep(plan, row, kept + r * plan->row)
				  : kernel->keep_float(plan, (const float *) (single + 1), kept + r * plan->row), "keep");
		}
		kernel->take_kept(plan, kept, COUNT, y, sums + doubles);
		CHECK(memcmp(sums, sums + doubles, doubles * sizeof(double)) == 0, "%s: other sums", names[k]);
		CHECK(memcmp(y, wanted, COUNT * plan->n * sizeof(float)) == 0, "%s: other coordinates", names[k]);
		for (int bad = 0; bad < 4; bad++)
		{
			const double far[] = {NAN, INFINITY, -INFINITY, -1100 * plan->spec->sigma * (2 + (double) plan->d)};

			memcpy(kept, x, plan->d * sizeof(double));
			kept[plan->d - 1] = far[bad];
			CHECK(!kernel->keep(plan, kept, kept + plan->row), "%s: kept %g", names[k], far[bad]);
		}
	}
	free(sums), free(kept), free(single), free(y);
}

/* Far phases with near moments, more of them than a batch holds: sums are exact in any order. */
static void
test_fine_scale(void)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = 20, .frequencies = 8, .scales = 2, .law = FC_LAW_GAUSSIAN, .sigma = 1});
	double	   *x = normal_rows(ROWS, 20, 60, 3);
	planned		made;
	fc_sketch  *whole;
	fc_sketch  *single;

	((double *) fc_spec_sigmas(spec))[1] = 1e-3;
	(void) fc_spec_seal(spec, NULL);
	made = make_plan(spec);
	for (size_t i = 0; i < ROWS * 20; i++)
		x[i] = 127 - 1e-9 * fabs(x[i]);
	whole = sketch_of(&made.plan, x, 0, ROWS, 1, made.plan.batch);
	single = new_sketch(spec, FC_SKETCH_OPEN, made.plan.batch);
	for (size_t r = ROWS; r-- > 0;)
	{
		add_rows(&made.plan, single, x, r, r + 1, 1);
		CHECK(fc_sketch_fold(&made.plan, single) == FC_OK, "fold");
	}
	single = close_sketch(&made.plan, single);
	CHECK(same_sketch(whole, single), "many far phases: not exact");
	free(whole), free(single), free(x), free(made.arena.base), free(spec);
}

/* n, mean and deviation of column i of x (n x d) in long double. */
static double
deviation_of(const double *x, size_t n, size_t d, size_t i)
{
	long double mean = 0;
	long double square = 0;

	for (size_t r = 0; r < n; r++)
		mean += (long double) x[r * d + i] / n;
	for (size_t r = 0; r < n; r++)
		square += (x[r * d + i] - mean) * (x[r * d + i] - mean) / n;
	return (double) sqrtl(square);
}

/* Columns from a millionth of sigma to 500 sigmas wide, centred or far off: deviations to 1e-6. */
static void
test_deviations(void)
{
	static const double widths[] = {1, 1e-5, 1e-6, 1e-6, 500, 1e-3};
	static const double offsets[] = {0, 0, 0, 3, 0, 700};
	enum
	{
		D = sizeof(widths) / sizeof(widths[0])
	};
	fc_spec    *spec = make_spec((spec_wish) {.dim = D, .frequencies = 8, .law = FC_LAW_GAUSSIAN, .sigma = 1});
	planned		made = make_plan(spec);
	double	   *x = normal_rows(ROWS, D, 1, 5);
	fc_sketch  *plain;
	fc_sketch  *twice = new_sketch(spec, FC_SKETCH_OPEN | FC_SKETCH_WEIGHTED, made.plan.batch);

	for (size_t r = 0; r < ROWS * D; r++)
		x[r] = x[r] * widths[r % D] + offsets[r % D];
	plain = sketch_of(&made.plan, x, 0, ROWS, 1, made.plan.batch);
	for (size_t r = 0; r < ROWS; r++)
	{
		fc_row		row = {.doubles = x + r * D, .weight = 2 * FC_ONE_WEIGHT};

		CHECK(fc_sketch_add(&made.plan, &row, twice) == FC_OK, "add");
	}
	twice = close_sketch(&made.plan, twice);
	for (size_t i = 0; i < D; i++)
	{
		double		wanted = deviation_of(x, ROWS, D, i);

		CHECK(fabs(sqrt(fc_sketch_variance(plain, i)) / wanted - 1) < 1e-6, "column %zu: %.9g, not %.9g", i,
			  sqrt(fc_sketch_variance(plain, i)), wanted);
		CHECK(fc_sketch_variance(plain, i) == fc_sketch_variance(twice, i), "column %zu: weighted", i);
	}
	free(plain), free(twice), free(x), free(made.arena.base), free(spec);
}

/* 1e11 rows and more, as far out as 1000 sigmas with weights of 1, overflow nothing; a wrap would be told. */
static void
test_many_rows(uint8_t weighted)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = 2, .frequencies = 3, .law = FC_LAW_GAUSSIAN, .sigma = 1});
	planned		made = make_plan(spec);
	double		x[2] = {1e-6, -400};
	fc_row		row = {.doubles = x, .weight = FC_ONE_WEIGHT};
	fc_sketch  *open = new_sketch(spec, (uint8_t) (FC_SKETCH_OPEN | weighted), 2);
	fc_sketch  *sum = malloc(fc_sketch_size(spec, weighted, 0));
	fc_sketch  *same = malloc(fc_sketch_size(spec, weighted, 0));
	double		variance[2];
	int			doublings = 0;
	fc_status	status;

	CHECK(fc_sketch_add(&made.plan, &row, open) == FC_OK, "add");
	x[0] = -1e-6;
	x[1] = 400;
	CHECK(fc_sketch_add(&made.plan, &row, open) == FC_OK && open->pending == 0, "add");
	fc_sketch_convert(open, weighted, 0, NULL, sum);
	variance[0] = fc_sketch_variance(sum, 0);
	variance[1] = fc_sketch_variance(sum, 1);
	CHECK(fabs(variance[0] / 1e-12 - 1) < 2e-6 && fabs(variance[1] / 160000 - 1) < 1e-12, "variances %g %g", variance[0], variance[1]);
	do
	{
		memcpy(same, sum, fc_sketch_bytes(sum));
		CHECK(fc_sketch_variance(sum, 0) == variance[0] && fc_sketch_variance(sum, 1) == variance[1],
			  "2^%d rows: variances %g %g", doublings + 1, fc_sketch_variance(sum, 0), fc_sketch_variance(sum, 1));
		status = fc_sketch_combine(sum, same, 1, NULL);
	} while (status == FC_OK && ++doublings < 60);
	CHECK(status == FC_EOVERFLOW, "status %d", (int) status);
	CHECK(doublings >= 36, "overflow at 2^%d rows", doublings + 2);
	free(open), free(sum), free(same), free(made.arena.base), free(spec);
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

		CHECK(fc_spec_check(spec, fc_spec_size(spec), NULL) == FC_OK, "spec %zu", w);
		test_exact(&made.plan, x);
		test_subtract_rows(&made.plan, x);
		test_right(&made.plan, x);
		test_instruction_sets(&made.plan, x);
		if (made.plan.kept)
			test_keeping(&made.plan, x);
		else
			test_taking(&made.plan, x);
		test_weights(&made.plan, x);
		test_far_values(&made.plan);
		test_distance(&made.plan, x);
		test_ticks(&made.plan, x);
		test_damage(&made.plan, x);
		test_cancel(spec);
		free(x), free(made.arena.base), free(spec);
	}
	test_deviations();
	test_fine_scale();
	test_many_rows(0);
	test_many_rows(FC_SKETCH_WEIGHTED);
	return unit_finish();
}

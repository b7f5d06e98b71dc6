/*
 * test_sketch.c - a sketch is exact: order, grouping, batches and instruction
 * sets do not change its bytes. Its moments agree with double arithmetic to
 * 1e-6.
 */
#include "sketch/isa.h"
#include "specs.h"

#define ROWS 300

static const spec_wish wishes[] = {
	{.dim = 1, .frequencies = 5, .law = FC_LAW_GAUSSIAN, .sigma = 1},
	{.dim = 3, .frequencies = 40, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 0.7, .scaled = true},
	{.dim = 10, .frequencies = 129, .law = FC_LAW_ADAPTED_RADIUS, .sigma = 2, .scales = 3},
	{.dim = 37, .frequencies = 100, .law = FC_LAW_FOLDED_GAUSSIAN, .sigma = 1, .structured = true},
	{.dim = 20, .frequencies = 70, .law = FC_LAW_GAUSSIAN, .sigma = 1, .structured = true, .scales = 2},
	{.dim = 60, .reduced = 8, .frequencies = 64, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 1.5},
	{.dim = 700, .frequencies = 33, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 5},
	/*
	 * rows stored raw, with a basis: certainly near in the first spec, near by
	 * their coordinates in the second
	 */
	{.dim = 320, .reduced = 208, .frequencies = 40, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 1, .structured = true},
	{.dim = 321, .reduced = 205, .frequencies = 10, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 0.2}
};

static void
add_rows(const fc_prepared *prepared, fc_sketch *sketch, const double *x, size_t from, size_t to, size_t step)
{
	for (size_t r = from; r < to; r += step)
	{
		fc_row		row = {.doubles = x + r * prepared->d, .weight = FC_ONE_WEIGHT};
		fc_status	status = fc_sketch_add(prepared, &row, VIEW(sketch));

		CHECK(status == FC_OK, "row %zu: status %d", r, (int) status);
	}
}

static fc_sketch *
sketch_of(const fc_prepared *prepared, const double *x, size_t from, size_t to, size_t step, size_t capacity)
{
	fc_sketch  *sketch = new_sketch(prepared->spec, FC_SKETCH_UNPACKED, capacity);

	add_rows(prepared, sketch, x, from, to, step);
	return close_sketch(prepared, sketch);
}

/* A row is refused without a sketch exactly if a sketch refuses it. */
static void
test_check_row(const fc_prepared *prepared, const double *x)
{
	static const double values[] = {0, 1e6, 1e30, 1e300, INFINITY, -INFINITY, NAN};
	double	   *row = unit_uncleared(prepared->d * sizeof(double));
	float	   *floats = unit_uncleared(prepared->d * sizeof(float));

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
	{
		fc_sketch  *sketch = new_sketch(prepared->spec, FC_SKETCH_UNPACKED, prepared->batch);
		fc_sketch  *single = new_sketch(prepared->spec, FC_SKETCH_UNPACKED, prepared->batch);
		fc_row		of_doubles = {.doubles = row, .weight = FC_ONE_WEIGHT};
		fc_row		of_floats = {.floats = floats, .weight = FC_ONE_WEIGHT};

		memcpy(row, x, prepared->d * sizeof(double));
		row[prepared->d - 1] = values[i];
		for (size_t j = 0; j < prepared->d; j++)
			floats[j] = (float) (fabs(row[j]) < 1e38 ? row[j] : copysign(INFINITY, row[j]));
		CHECK(fc_sketch_check_row(prepared, &of_doubles) == fc_sketch_add(prepared, &of_doubles, VIEW(sketch)), "a double of %g", values[i]);
		CHECK(fc_sketch_check_row(prepared, &of_floats) == fc_sketch_add(prepared, &of_floats, VIEW(single)), "a float of %g", values[i]);
	}
}

/*
 * Batches, order and grouping of the rows do not change the bytes; a part that
 * is subtracted leaves the other.
 */
static void
test_exact(const fc_prepared *prepared, const double *x)
{
	fc_sketch  *whole = sketch_of(prepared, x, 0, ROWS, 1, prepared->batch);
	fc_sketch  *single = sketch_of(prepared, x, 0, ROWS, 1, 1);
	fc_sketch  *odd = sketch_of(prepared, x, 1, ROWS, 2, 7);
	fc_sketch  *even = sketch_of(prepared, x, 0, ROWS, 2, 16);
	fc_sketch  *sum = unit_uncleared(fc_sketch_bytes(odd));
	fc_sketch  *backward = new_sketch(prepared->spec, FC_SKETCH_UNPACKED, prepared->batch);

	for (size_t r = ROWS; r-- > 0;)
		add_rows(prepared, backward, x, r, r + 1, 1);
	backward = close_sketch(prepared, backward);
	memcpy(sum, odd, fc_sketch_bytes(odd));
	CHECK(fc_sketch_combine(VIEW(sum), VIEW(even), 1) == FC_OK, "combine");
	CHECK(same_sketch(whole, single), "batches of one row give other bytes");
	CHECK(same_sketch(whole, backward), "the order of the rows changes the bytes");
	CHECK(same_sketch(whole, sum), "the grouping of the rows changes the bytes");
	CHECK(fc_sketch_check(whole, fc_sketch_bytes(whole)) == FC_OK, "the bytes are refused");
	CHECK(fc_sketch_combine(VIEW(sum), VIEW(even), -1) == FC_OK, "subtract");
	for (size_t i = 0; i < prepared->tracked; i++)
	{
		CHECK(fc_sketch_mean(VIEW(sum), i) == fc_sketch_mean(VIEW(odd), i), "mean %zu after a + b - b", i);
		CHECK(fc_sketch_variance(VIEW(sum), i) == fc_sketch_variance(VIEW(odd), i), "variance %zu after a + b - b", i);
	}
}

/*
 * A sketch with a weight equals the sketch of its rows with this weight; so do
 * sums of such sketches.
 */
static void
test_combine_weighted(const fc_prepared *prepared, const double *x)
{
	static const int64_t weights[] = {FC_ONE_WEIGHT / 2, FC_ONE_WEIGHT / 3, 1, 5 * FC_ONE_WEIGHT};
	fc_sketch  *rows = new_sketch(prepared->spec, FC_SKETCH_UNPACKED | FC_SKETCH_WEIGHTED, prepared->batch);
	fc_sketch  *sum = new_sketch(prepared->spec, FC_SKETCH_WEIGHTED, 0);
	size_t		count = sizeof(weights) / sizeof(weights[0]);

	for (size_t i = 0; i < count; i++)
	{
		fc_sketch  *part = sketch_of(prepared, x, i, ROWS, count, prepared->batch);

		for (size_t r = i; r < ROWS; r += count)
		{
			fc_row		row = {.doubles = x + r * prepared->d, .weight = weights[i]};

			CHECK(fc_sketch_add(prepared, &row, VIEW(rows)) == FC_OK, "row %zu", r);
		}
		CHECK(fc_sketch_combine_weighted(VIEW(sum), VIEW(part), weights[i]) == FC_OK, "weight %zu", i);
	}
	rows = close_sketch(prepared, rows);
	CHECK(same_sketch(rows, sum), "weights of sketches and of rows differ");
}

/* Subtracting rows one by one, near and far, leaves exactly the others. */
static void
test_subtract_rows(const fc_prepared *prepared, const double *x)
{
	fc_sketch  *kept = sketch_of(prepared, x, 0, 100, 1, prepared->batch);
	fc_sketch  *open = new_sketch(prepared->spec, FC_SKETCH_UNPACKED, prepared->batch);
	fc_sketch  *closed;

	add_rows(prepared, open, x, 0, ROWS, 1);
	for (size_t r = 100; r < ROWS; r++)
	{
		fc_row		row = {.doubles = x + r * prepared->d, .weight = FC_ONE_WEIGHT};

		CHECK(fc_sketch_subtract_row(prepared, &row, VIEW(open)) == FC_OK, "subtract row %zu", r);
	}
	closed = close_sketch(prepared, open);
	fc_sketch_forget_bounds(VIEW(kept));
	CHECK(same_sketch(kept, closed), "subtracting rows is not exact");
}

/* Computes the reduced coordinates y (n) of x in double. */
static void
reduce(const fc_prepared *prepared, const double *x, double *y)
{
	(void) prepared->isa->prepare(prepared, &(fc_row) {.doubles = x}, prepared->y);
	for (size_t r = 0; r < prepared->n; r++)
		y[r] = prepared->basis != NULL ? prepared->projected[r] : (x[r] - prepared->center[r]) * prepared->inverse_scale[r];
}

/*
 * Moments, means and deviations agree with sums in double, to 1e-6 and 1e-5.
 */
static void
test_right(const fc_prepared *prepared, const double *x)
{
	const fc_spec *spec = prepared->spec;
	fc_sketch  *sketch = sketch_of(prepared, x, 0, ROWS, 1, prepared->batch);
	size_t		moments = prepared->moments;
	double	   *re = unit_uncleared(2 * moments * sizeof(double));
	double	   *im = re + moments;
	float	   *omega = unit_uncleared(prepared->m * prepared->n * sizeof(float));
	double	   *y = unit_uncleared((ROWS * prepared->n + FC_PAD) * sizeof(double));
	double		worst = 0;

	fc_frequencies(spec, unit_work(), omega);
	fc_sketch_moments(VIEW(sketch), re, im);
	for (size_t r = 0; r < ROWS; r++)
		reduce(prepared, x + r * prepared->d, y + r * prepared->n);
	for (size_t j = 0; j < moments; j++)
	{
		double		c = 0;
		double		s = 0;

		for (size_t r = 0; r < ROWS; r++)
		{
			double		angle = 0;

			for (size_t i = 0; i < prepared->n; i++)
				angle += (double) omega[j % prepared->m * prepared->n + i] * y[r * prepared->n + i];
			angle *= spec->sigma / fc_spec_sigmas(spec)[j / prepared->m];
			c += cos(angle) / ROWS;
			s += sin(angle) / ROWS;
		}
		worst = fmax(worst, fmax(fabs(c - re[j]), fabs(s - im[j])));
	}
	CHECK(worst < 1e-6, "d %zu m %zu: moments differ from double by %g", prepared->d, prepared->m, worst);
	for (size_t i = 0; i < prepared->d; i++)
	{
		double		mean = 0;
		double		variance = 0;

		for (size_t r = 0; r < ROWS; r++)
			mean += x[r * prepared->d + i] / ROWS;
		for (size_t r = 0; r < ROWS; r++)
			variance += (x[r * prepared->d + i] - mean) * (x[r * prepared->d + i] - mean) / ROWS;
		CHECK(fabs(fc_sketch_mean(VIEW(sketch), i) - mean) < 1e-6 * spec->sigma, "mean %zu", i);
		CHECK(fabs(fc_sketch_variance(VIEW(sketch), i) / variance - 1) < 1e-5, "variance %zu", i);
	}
}

/* The builds v3 and v4 agree to the bit, the baseline to 1e-6. */
static void
test_instruction_sets(const fc_prepared *prepared, const double *x)
{
	const fc_sketch_isa *v3 = fc_sketch_isa_named("x86-64-v3");
	const fc_sketch_isa *v4 = fc_sketch_isa_named("x86-64-v4");
	const fc_sketch_isa *base = fc_sketch_isa_named("baseline");
	float	   *y = unit_uncleared(50 * prepared->n * sizeof(float));
	int64_t    *z = unit_alloc(6 * prepared->moments, sizeof(int64_t));
	double		worst = 0;

	for (size_t i = 0; i < 50 * prepared->n; i++)
		y[i] = (float) x[i];
	base->accumulate(prepared, y, 50, z);
	if (v3 != NULL)
		v3->accumulate(prepared, y, 50, z + 2 * prepared->moments);
	if (v4 != NULL)
		v4->accumulate(prepared, y, 50, z + 4 * prepared->moments);
	for (size_t j = 0; v3 != NULL && j < 2 * prepared->moments; j++)
	{
		worst = fmax(worst, fabs((double) (z[j] - z[2 * prepared->moments + j])) / 50 * 0x1p-22);
		CHECK(v4 == NULL || z[2 * prepared->moments + j] == z[4 * prepared->moments + j], "v3 and v4 differ at %zu", j);
	}
	CHECK(worst < 1e-6, "baseline differs by %g", worst);
}

/*
 * A row of weight 3 counts as three rows; weights of 1 equal no weights; sums
 * of fractions are exact; weights out of range are refused.
 */
static void
test_weights(const fc_prepared *prepared, const double *x)
{
	fc_sketch  *thrice = new_sketch(prepared->spec, FC_SKETCH_UNPACKED, prepared->batch);
	fc_sketch  *weighted = new_sketch(prepared->spec, FC_SKETCH_UNPACKED | FC_SKETCH_WEIGHTED, prepared->batch);
	fc_sketch  *one = new_sketch(prepared->spec, FC_SKETCH_UNPACKED | FC_SKETCH_WEIGHTED, 3);
	fc_sketch  *plain = sketch_of(prepared, x, 0, 40, 1, prepared->batch);
	double	   *re = unit_uncleared(4 * prepared->moments * sizeof(double));
	int64_t		grid;

	for (size_t r = 0; r < 40; r++)
	{
		fc_row		row = {.doubles = x + r * prepared->d, .weight = FC_ONE_WEIGHT};
		fc_row		heavy = {.doubles = row.doubles, .weight = r % 2 ? 3 * FC_ONE_WEIGHT : FC_ONE_WEIGHT};

		for (int i = 0; i < (r % 2 ? 3 : 1); i++)
			CHECK(fc_sketch_add(prepared, &row, VIEW(thrice)) == FC_OK, "add");
		CHECK(fc_sketch_add(prepared, &heavy, VIEW(weighted)) == FC_OK, "add");
		CHECK(fc_sketch_add(prepared, &row, VIEW(one)) == FC_OK, "add");
	}
	thrice = close_sketch(prepared, thrice);
	weighted = close_sketch(prepared, weighted);
	one = close_sketch(prepared, one);
	CHECK(same_sketch(plain, one), "weights of 1 differ from no weights");
	CHECK(weighted->count == 40 && fc_sketch_total_weight(VIEW(weighted)) == 80, "counts");
	fc_sketch_moments(VIEW(thrice), re, re + prepared->moments);
	fc_sketch_moments(VIEW(weighted), re + 2 * prepared->moments, re + 3 * prepared->moments);
	for (size_t j = 0; j < 2 * prepared->moments; j++)
		CHECK(re[j] == re[2 * prepared->moments + j], "moment %zu", j);
	for (size_t i = 0; i < prepared->tracked; i++)
		CHECK(fabs(fc_sketch_mean(VIEW(thrice), i) - fc_sketch_mean(VIEW(weighted), i)) < 1e-12 * (1 + fabs(fc_sketch_mean(VIEW(thrice), i))), "mean %zu", i);
	CHECK(fc_weight_on_grid(0, &grid) == FC_OK && grid == 0, "weight 0");
	CHECK(fc_weight_on_grid(1e-12, &grid) == FC_OK && grid == 1 && fc_weight_on_grid(1e-6, &grid) == FC_OK && grid == 1099512, "small weights");
	CHECK(fc_weight_on_grid(9e-13, &grid) == FC_EWEIGHT && fc_weight_on_grid(1e9, &grid) == FC_EWEIGHT, "range");
}

/*
 * Far rows are summed exactly in any order; rows too far away and values that
 * are not finite are refused.
 */
static void
test_far_values(const fc_prepared *prepared)
{
	double	   *x = unit_alloc(5 * prepared->d, sizeof(double));
	fc_sketch  *sketch = new_sketch(prepared->spec, FC_SKETCH_UNPACKED, 5);
	fc_row		row = {.doubles = x + 4 * prepared->d, .weight = FC_ONE_WEIGHT};
	fc_sketch  *swapped = new_sketch(prepared->spec, FC_SKETCH_UNPACKED, 1);

	x[0] = 1e6 * prepared->spec->sigma;
	x[prepared->d] = -1e5 * prepared->spec->sigma;
	x[2 * prepared->d] = 3e9 * prepared->spec->sigma;
	x[3 * prepared->d] = 500 * prepared->spec->sigma;
	add_rows(prepared, sketch, x, 0, 4, 1);
	for (size_t r = 4; r-- > 0;)
		add_rows(prepared, swapped, x, r, r + 1, 1);
	sketch = close_sketch(prepared, sketch);
	swapped = close_sketch(prepared, swapped);
	CHECK(same_sketch(sketch, swapped), "the order of far rows changes the bytes");
	CHECK(fabs(fc_sketch_mean(VIEW(sketch), 0) / ((3e9 + 9e5 + 500) * prepared->spec->sigma / 4) - 1) < 1e-9, "the mean of far rows is wrong");
	sketch = new_sketch(prepared->spec, FC_SKETCH_UNPACKED, 5);
	x[4 * prepared->d] = 1e13 * prepared->spec->sigma;
	CHECK(fc_sketch_add(prepared, &row, VIEW(sketch)) == FC_EFAR, "a row too far away is accepted");
	x[4 * prepared->d] = NAN;
	CHECK(fc_sketch_add(prepared, &row, VIEW(sketch)) == FC_EVALUE, "NaN");
	x[4 * prepared->d] = INFINITY;
	CHECK(fc_sketch_add(prepared, &row, VIEW(sketch)) == FC_EVALUE, "infinity");
}

/*
 * Sketches of the same law are close, a sketch is similar to itself, and one
 * row has no unbiased distance.
 */
static void
test_distance(const fc_prepared *prepared, const double *x)
{
	fc_sketch  *a = sketch_of(prepared, x, 0, 150, 1, prepared->batch);
	fc_sketch  *b = sketch_of(prepared, x, 150, 300, 1, prepared->batch);
	fc_sketch  *one = sketch_of(prepared, x, 0, 1, 1, 1);

	CHECK(fabs(fc_sketch_distance(VIEW(a), VIEW(b))) < 0.05, "same distribution: %g", fc_sketch_distance(VIEW(a), VIEW(b)));
	CHECK(fabs(fc_sketch_similarity(VIEW(one), VIEW(one)) - 1) < 1e-6, "|phi|^2 = %g", fc_sketch_similarity(VIEW(one), VIEW(one)));
	CHECK(isnan(fc_sketch_distance(VIEW(a), VIEW(one))), "one row has an unbiased distance");
	CHECK(fc_sketch_combine(VIEW(one), VIEW(a), -1) == FC_ENEGATIVE, "a negative count is accepted");
}

/*
 * Changed bytes of the fixed fields are refused, except for a few harmless
 * ones, and so is any shorter length.
 */
static void
test_damage(const fc_prepared *prepared, const double *x)
{
	fc_sketch  *sketch = sketch_of(prepared, x, 0, 50, 1, prepared->batch);
	size_t		size = fc_sketch_bytes(sketch);
	char	   *copy = unit_uncleared(size);
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
}

/*
 * The sums of a near row do not depend on the build, on its alignment, or on
 * whether it comes as floats or doubles; a far row is not added.
 */
static void
test_taking(const fc_prepared *prepared, const double *x)
{
	static const char *const names[] = {"baseline", "x86-64-v3", "x86-64-v4"};
	size_t		doubles = FC_SKETCH_PENDING * prepared->row;
	double	   *sums = unit_alloc(3 * doubles, sizeof(double));
	float	   *y = unit_alloc(fc_padded(prepared->n), sizeof(float));
	char	   *single = unit_alloc(prepared->d * sizeof(float) + 1, 1);
	double	   *same = unit_alloc(prepared->d, sizeof(double));
	const fc_row doubles_row = {.doubles = same};
	const fc_row floats_row = {.floats = (const float *) (single + 1)};

	for (int k = 0; k < 3; k++)
	{
		const fc_sketch_isa *isa = fc_sketch_isa_named(names[k]);

		if (isa == NULL || (k == 0 && prepared->basis != NULL))
			continue;
		memset(sums, 0, 2 * doubles * sizeof(double));
		for (size_t i = 0; i < prepared->d; i++)
		{
			same[i] = (double) (float) x[i];
			memcpy(single + 1 + i * sizeof(float), &(float) {(float) x[i]}, sizeof(float));
		}
		CHECK(isa->prepare(prepared, &doubles_row, y) == FC_ROW_NEAR, "near");
		isa->track(prepared, sums);
		CHECK(isa->prepare(prepared, &floats_row, y) == FC_ROW_NEAR, "near floats");
		isa->track(prepared, sums + doubles);
		CHECK(memcmp(sums, sums + doubles, doubles * sizeof(double)) == 0, "%s: floats", names[k]);
		if (k == (prepared->basis != NULL))
			memcpy(sums + 2 * doubles, sums, doubles * sizeof(double));
		CHECK(memcmp(sums, sums + 2 * doubles, doubles * sizeof(double)) == 0, "%s: other sums", names[k]);
		same[prepared->d - 1] = k == 0 ? NAN : k == 1 ? INFINITY : -1e9 * prepared->spec->sigma * (double) prepared->d;
		CHECK(isa->prepare(prepared, &doubles_row, y) != FC_ROW_NEAR, "%s: a far row", names[k]);
	}
}

/*
 * Rows stored raw give the sums and coordinates of rows taken one by one, in
 * every build, and from floats at any address. Rows that are not certainly
 * near are refused.
 */
static void
test_raw_rows(const fc_prepared *prepared, const double *x)
{
	static const char *const names[] = {"baseline", "x86-64-v3", "x86-64-v4"};
	enum {COUNT = FC_PROJECTED_ROWS + 7};
	size_t		doubles = FC_SKETCH_PENDING * prepared->row;
	size_t		length = fc_padded(prepared->d);
	bool		certain = prepared->spec->sigma >= 0.5;
	double	   *sums = unit_alloc(2 * doubles, sizeof(double));
	double	   *raw = unit_alloc((COUNT + 1) * length, sizeof(double));
	char	   *single = unit_alloc(prepared->d * sizeof(float) + 1, 1);
	float	   *y = unit_alloc(2 * (COUNT * prepared->n + FC_PAD), sizeof(float));
	float	   *wanted = y + COUNT * prepared->n + FC_PAD;

	for (int k = 0; k < 3; k++)
	{
		const fc_sketch_isa *isa = fc_sketch_isa_named(names[k]);

		if (isa == NULL)
			continue;
		memset(sums, 0, 2 * doubles * sizeof(double));
		for (size_t r = 0; r < COUNT; r++)
		{
			double	   *row = raw + COUNT * length;
			const fc_row doubles_row = {.doubles = row};
			const fc_row floats_row = {.floats = (const float *) (single + 1)};

			for (size_t i = 0; i < prepared->d; i++)
			{
				float		value = (float) x[r * prepared->d + i];

				memcpy(single + 1 + i * sizeof(float), &value, sizeof(float));
				row[i] = (double) value;
			}
			CHECK(isa->prepare(prepared, &doubles_row, wanted + r * prepared->n) == FC_ROW_NEAR, "near");
			isa->track(prepared, sums);
			CHECK(isa->store_raw(prepared, r % 2 ? &doubles_row : &floats_row, raw + r * length) == certain, "store");
		}
		isa->take_raw(prepared, raw, COUNT, y, sums + doubles);
		CHECK(memcmp(sums, sums + doubles, doubles * sizeof(double)) == 0, "%s: other sums", names[k]);
		CHECK(memcmp(y, wanted, COUNT * prepared->n * sizeof(float)) == 0, "%s: other coordinates", names[k]);
		for (int bad = 0; bad < 4; bad++)
		{
			const double far[] = {NAN, INFINITY, -INFINITY, -1100 * prepared->spec->sigma * (2 + (double) prepared->d)};

			memcpy(raw, x, prepared->d * sizeof(double));
			raw[prepared->d - 1] = far[bad];
			CHECK(!isa->store_raw(prepared, &(fc_row) {.doubles = raw}, raw + length), "%s: stored %g", names[k], far[bad]);
		}
	}
}

/*
 * Far phases with near moments, more than a batch holds: sums are exact in any
 * order.
 */
static void
test_fine_scale(void)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = 20, .frequencies = 8, .scales = 2, .law = FC_LAW_GAUSSIAN, .sigma = 1});
	double	   *x = unit_normals(ROWS * 20, 0.0, 60, 3);
	ready		made;
	fc_sketch  *whole;
	fc_sketch  *single;

	((double *) fc_spec_sigmas(spec))[1] = 1e-3;
	fc_spec_seal(spec);
	made = make_ready(spec);
	for (size_t i = 0; i < ROWS * 20; i++)
		x[i] = 127 - 1e-9 * fabs(x[i]);
	whole = sketch_of(&made.prepared, x, 0, ROWS, 1, made.prepared.batch);
	single = new_sketch(spec, FC_SKETCH_UNPACKED, made.prepared.batch);
	for (size_t r = ROWS; r-- > 0;)
	{
		add_rows(&made.prepared, single, x, r, r + 1, 1);
		CHECK(fc_sketch_fold(&made.prepared, VIEW(single)) == FC_OK, "fold");
	}
	single = close_sketch(&made.prepared, single);
	CHECK(same_sketch(whole, single), "many far phases are not summed exactly");
}

/* Returns the deviation of column i of x (n x d), computed in long double. */
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

/*
 * Columns from a millionth of sigma to 500 sigmas wide, centred or far away,
 * have exact deviations, to 1e-6.
 */
static void
test_deviations(void)
{
	static const double widths[] = {1, 1e-5, 1e-6, 1e-6, 500, 1e-3};
	static const double offsets[] = {0, 0, 0, 3, 0, 700};
	enum {D = sizeof(widths) / sizeof(widths[0])};
	fc_spec    *spec = make_spec((spec_wish) {.dim = D, .frequencies = 8, .law = FC_LAW_GAUSSIAN, .sigma = 1});
	ready		made = make_ready(spec);
	double	   *x = unit_normals(ROWS * D, 0.0, 1, 5);
	fc_sketch  *plain;
	fc_sketch  *twice = new_sketch(spec, FC_SKETCH_UNPACKED | FC_SKETCH_WEIGHTED, made.prepared.batch);

	for (size_t r = 0; r < ROWS * D; r++)
		x[r] = x[r] * widths[r % D] + offsets[r % D];
	plain = sketch_of(&made.prepared, x, 0, ROWS, 1, made.prepared.batch);
	for (size_t r = 0; r < ROWS; r++)
	{
		fc_row		row = {.doubles = x + r * D, .weight = 2 * FC_ONE_WEIGHT};

		CHECK(fc_sketch_add(&made.prepared, &row, VIEW(twice)) == FC_OK, "add");
	}
	twice = close_sketch(&made.prepared, twice);
	for (size_t i = 0; i < D; i++)
	{
		double		wanted = deviation_of(x, ROWS, D, i);

		CHECK(fabs(sqrt(fc_sketch_variance(VIEW(plain), i)) / wanted - 1) < 1e-6, "column %zu: %.9g, not %.9g", i,
			  sqrt(fc_sketch_variance(VIEW(plain), i)), wanted);
		CHECK(fc_sketch_variance(VIEW(plain), i) == fc_sketch_variance(VIEW(twice), i), "column %zu: weighted", i);
	}
}

/*
 * 2^37 rows up to 400 sigmas away, with weights or without, cause no overflow;
 * an overflow is reported.
 */
static void
test_many_rows(uint8_t weighted)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = 2, .frequencies = 3, .law = FC_LAW_GAUSSIAN, .sigma = 1});
	ready		made = make_ready(spec);
	double		x[2] = {1e-6, -400};
	fc_row		row = {.doubles = x, .weight = FC_ONE_WEIGHT};
	fc_sketch  *open = new_sketch(spec, (uint8_t) (FC_SKETCH_UNPACKED | weighted), 2);
	fc_sketch  *sum = unit_uncleared(fc_sketch_size(spec, weighted, 0));
	fc_sketch  *same = unit_uncleared(fc_sketch_size(spec, weighted, 0));
	double		variance[2];
	int			doublings = 0;
	fc_status	status;

	CHECK(fc_sketch_add(&made.prepared, &row, VIEW(open)) == FC_OK, "add");
	x[0] = -1e-6;
	x[1] = 400;
	CHECK(fc_sketch_add(&made.prepared, &row, VIEW(open)) == FC_OK && open->pending == 0, "add");
	CHECK(fc_sketch_fold(&made.prepared, VIEW(open)) == FC_OK, "fold");
	fc_sketch_convert(VIEW(open), weighted, 0, sum);
	variance[0] = fc_sketch_variance(VIEW(sum), 0);
	variance[1] = fc_sketch_variance(VIEW(sum), 1);
	CHECK(fabs(variance[0] / 1e-12 - 1) < 2e-6 && fabs(variance[1] / 160000 - 1) < 1e-12, "variances %g %g", variance[0], variance[1]);
	do
	{
		memcpy(same, sum, fc_sketch_bytes(sum));
		CHECK(fc_sketch_variance(VIEW(sum), 0) == variance[0] && fc_sketch_variance(VIEW(sum), 1) == variance[1],
			  "2^%d rows: variances %g %g", doublings + 1, fc_sketch_variance(VIEW(sum), 0), fc_sketch_variance(VIEW(sum), 1));
		status = fc_sketch_combine(VIEW(sum), VIEW(same), 1);
	} while (status == FC_OK && ++doublings < 60);
	CHECK(status == FC_EOVERFLOW, "status %d", (int) status);
	CHECK(doublings >= 36, "overflow at 2^%d rows", doublings + 2);
}

int
main(void)
{
	for (size_t w = 0; w < sizeof(wishes) / sizeof(wishes[0]); w++)
	{
		fc_spec    *spec = make_spec(wishes[w]);
		ready		made = make_ready(spec);
		double	   *x = unit_normals(ROWS * spec->dim, 0.0, 2, w);

		CHECK(fc_spec_check(spec, fc_spec_size(spec)) == FC_OK, "spec %zu", w);
		test_exact(&made.prepared, x);
		test_combine_weighted(&made.prepared, x);
		test_check_row(&made.prepared, x);
		test_subtract_rows(&made.prepared, x);
		test_right(&made.prepared, x);
		test_instruction_sets(&made.prepared, x);
		if (made.prepared.raw_rows)
			test_raw_rows(&made.prepared, x);
		else
			test_taking(&made.prepared, x);
		test_weights(&made.prepared, x);
		test_far_values(&made.prepared);
		test_distance(&made.prepared, x);
		if (fc_spec_size(spec) < 100000)		/* checks all bytes of every damaged copy */
			test_damage(&made.prepared, x);
	}
	test_deviations();
	test_fine_scale();
	test_many_rows(0);
	test_many_rows(FC_SKETCH_WEIGHTED);
	return unit_finish();
}

/*
 * test_operator.c - rows, scores, distances and labels of operators agree with
 * plain loops in double, to 1e-5; single rows and batches have equal labels;
 * damaged bytes are refused
 */
#include "operators.h"
#include "random_operator.h"

typedef struct case_operator
{
	fc_operator op;
	double	   *product;		/* k x d product of the factors, in double */
	double	   *offset;
	float	   *half_norms;
	double	   *weights;
	fc_scratch	scratch;
	fc_arena	arena;			/* memory of the sliced factors */
} case_operator;

/*
 * Makes a factor with about a third of the entries, and with some empty rows.
 */
static fc_factor
sparse_factor(size_t rows, size_t columns, fc_rng *rng)
{
	float	   *values = unit_alloc(rows * columns, sizeof(float));
	uint32_t   *row_start = unit_alloc(rows + 1, sizeof(uint32_t));
	uint32_t   *column = unit_alloc(rows * columns, sizeof(uint32_t));
	uint32_t	used = 0;

	for (size_t r = 0; r < rows; r++)
	{
		for (size_t j = 0; j < columns; j++)
			if (fc_rng_uniform(rng) < 0.33 && r % 7 != 3)
			{
				values[used] = (float) fc_rng_normal(rng);
				column[used++] = (uint32_t) j;
			}
		row_start[r + 1] = used;
	}
	return (fc_factor) {.rows = rows,.columns = columns,.nonzeros = used,.values = values,
	.row_start = row_start,.column = column};
}

/*
 * Makes an operator; shape has a "d" for each dense factor and an "s" for each
 * sparse one. Inner dimensions grow a little so that widths differ.
 */
static case_operator
make_case(size_t k, size_t d, const char *shape, bool offset, uint64_t seed)
{
	case_operator c = {0};
	fc_rng		rng = fc_rng_start(seed, 1);
	size_t		factors = strlen(shape);

	c.op.k = k;
	c.op.d = d;
	c.op.factors = factors;
	for (size_t f = 0; f < factors; f++)
	{
		size_t		rows = f == 0 ? k : d + 3 + f - 1;
		size_t		columns = f + 1 == factors ? d : d + 3 + f;

		c.op.factor[f] = shape[f] == 'd' ? make_factor(rows, columns, DENSE, &rng) : sparse_factor(rows, columns, &rng);
	}
	if (offset)
	{
		c.offset = unit_alloc(d, sizeof(double));
		for (size_t i = 0; i < d; i++)
			c.offset[i] = 100.0 * fc_rng_normal(&rng);
		c.op.offset = c.offset;
	}
	c.scratch = unit_scratch(fc_operator_scratch(&c.op));
	c.half_norms = unit_alloc(k, sizeof(float));
	c.weights = unit_alloc(k, sizeof(double));
	c.op.weights = c.weights;
	c.product = multiply_out(&c.op);
	fc_operator_measure(&c.op, c.scratch, c.half_norms);
	return c;
}

static void
random_row(const case_operator *c, fc_rng *rng, double *x)
{
	for (size_t i = 0; i < c->op.d; i++)
		x[i] = fc_rng_normal(rng) + (c->offset != NULL ? c->offset[i] : 0.0);
}

static double
exact_distance(const case_operator *c, size_t j, const double *x)
{
	double		sum = 0.0;

	for (size_t i = 0; i < c->op.d; i++)
	{
		double		difference = x[i] - (c->product[j * c->op.d + i] + (c->offset != NULL ? c->offset[i] : 0.0));

		sum += difference * difference;
	}
	return sum;
}

/*
 * Rows, half norms and projections agree with the explicit product, to 1e-5.
 */
static void
check_product(const case_operator *c, const char *shape)
{
	const fc_operator *op = &c->op;
	fc_rng		rng = fc_rng_start(99, 0);
	double	   *row = unit_alloc(op->d, sizeof(double));
	float	   *x = unit_alloc(op->d, sizeof(float));
	float	   *y = unit_alloc(op->k, sizeof(float));
	float	   *again = unit_alloc(op->k, sizeof(float));
	double		length = 0.0;

	for (size_t i = 0; i < op->d; i++)
	{
		x[i] = (float) fc_rng_normal(&rng);
		length += (double) x[i] * (double) x[i];
	}
	fc_operator_project(op, x, c->scratch, y);
	fc_operator_project(op, x, c->scratch, again);
	CHECK(memcmp(y, again, op->k * sizeof(float)) == 0, "a second projection has other bits");
	for (size_t j = 0; j < op->k; j++)
	{
		double		dot = 0.0;
		double		norm = 0.0;
		double		worst = 0.0;

		fc_operator_row(op, j, c->scratch, row);
		for (size_t i = 0; i < op->d; i++)
		{
			double		v = c->product[j * op->d + i];

			dot += v * (double) x[i];
			norm += v * v;
			worst = fmax(worst, fabs(row[i] - v - (c->offset != NULL ? c->offset[i] : 0.0)));
		}
		CHECK(fabs((double) y[j] - dot) <= 1e-5 * (sqrt(norm * length) + 1e-30), "%s: project %zu: %g, exact %g", shape, j, (double) y[j], dot);
		CHECK(fabs((double) c->half_norms[j] - 0.5 * norm) <= 1e-5 * (norm + 1e-30), "%s: half norm %zu", shape, j);
		CHECK(worst <= 1e-5 * (sqrt(norm) + 1e-30) + 1e-12, "%s: row %zu off by %g", shape, j, worst);
	}
}

/* assign, distance and nearest agree with sorted exact distances, to 1e-5. */
static void
check_nearest(const case_operator *c, const char *shape)
{
	const fc_operator *op = &c->op;
	fc_rng		rng = fc_rng_start(5, 0);
	double	   *x = unit_alloc(op->d, sizeof(double));
	int32_t    *clusters = unit_alloc(op->k, sizeof(int32_t));
	double	   *distances = unit_alloc(op->k, sizeof(double));
	size_t		counts[] = {1, 3, op->k};

	for (int trial = 0; trial < 30; trial++)
	{
		size_t		best = 0;
		double		second = INFINITY;
		size_t		label;

		random_row(c, &rng, x);
		for (size_t j = 1; j < op->k; j++)
			if (exact_distance(c, j, x) < exact_distance(c, best, x))
				best = j;
		for (size_t j = 0; j < op->k; j++)
			if (j != best)
				second = fmin(second, exact_distance(c, j, x));
		label = fc_operator_assign(op, x, c->scratch);
		CHECK(label == best || second - exact_distance(c, best, x) <= 1e-5 * second, "%s: assigned %zu, nearest is %zu", shape, label, best);
		for (int q = 0; q < 3; q++)
		{
			size_t		count = counts[q] < op->k ? counts[q] : op->k;

			fc_operator_nearest(op, x, count, c->scratch, clusters, distances);
			CHECK(fabs(distances[0] - exact_distance(c, best, x)) <= 1e-5 * second + 1e-9, "%s: first of %zu", shape, count);
			for (size_t i = 0; i < count; i++)
			{
				CHECK(clusters[i] >= 0 && (size_t) clusters[i] < op->k, "%s: cluster %d", shape, clusters[i]);
				CHECK(distances[i] == fc_operator_distance(op, (size_t) clusters[i], x, c->scratch), "%s: distance %zu", shape, i);
				CHECK(fabs(distances[i] - exact_distance(c, (size_t) clusters[i], x)) <= 1e-5 * distances[i] + 1e-9, "%s: exact", shape);
				CHECK(i == 0 || distances[i] > distances[i - 1] ||
					  (distances[i] == distances[i - 1] && clusters[i] > clusters[i - 1]), "%s: order at %zu", shape, i);
			}
			for (size_t j = 0; j < op->k; j++)
			{
				bool		listed = false;

				for (size_t i = 0; i < count; i++)
					listed = listed || (size_t) clusters[i] == j;
				CHECK(listed || fc_operator_distance(op, j, x, c->scratch) >= distances[count - 1], "%s: %zu left out", shape, j);
			}
		}
	}
}

/*
 * V (a x) = a V x exactly for powers of 2, and <V x, y> = <x, V^T y> to 1e-5
 * by explicit sums.
 */
static void
check_identities(const case_operator *c)
{
	const fc_operator *op = &c->op;
	fc_rng		rng = fc_rng_start(17, 0);
	float	   *x = unit_alloc(op->d, sizeof(float));
	float	   *y = unit_alloc(op->k, sizeof(float));
	float	   *z = unit_alloc(op->k, sizeof(float));
	double		left = 0.0;
	double		right = 0.0;
	double		size = 0.0;

	for (size_t i = 0; i < op->d; i++)
		x[i] = (float) fc_rng_normal(&rng);
	fc_operator_project(op, x, c->scratch, y);
	for (size_t j = 0; j < op->k; j++)
	{
		double		u = fc_rng_normal(&rng);

		left += u * (double) y[j];
		for (size_t i = 0; i < op->d; i++)
		{
			right += u * c->product[j * op->d + i] * (double) x[i];
			size += fabs(u * c->product[j * op->d + i] * (double) x[i]);
		}
	}
	CHECK(fabs(left - right) <= 1e-5 * size + 1e-30, "adjoint: %g, %g", left, right);
	for (size_t i = 0; i < op->d; i++)
		x[i] *= 8.0f;
	fc_operator_project(op, x, c->scratch, z);
	for (size_t j = 0; j < op->k; j++)
		CHECK(z[j] == 8.0f * y[j], "linear at %zu", j);
}

/*
 * Operators of all shapes and sizes pass the checks of products, neighbours
 * and identities.
 */
static void
test_shapes(void)
{
	static const char *const shapes[] = {"d", "s", "ds", "sd", "sss", "dsd", "sdds"};
	static const size_t sizes[][2] = {{1, 1}, {1, 5}, {7, 1}, {3, 2}, {9, 15}, {10, 16}, {13, 17}, {40, 31}, {20, 100}};

	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
		for (size_t q = 0; q < sizeof(sizes) / sizeof(sizes[0]); q++)
		{
			case_operator c = make_case(sizes[q][0], sizes[q][1], shapes[s], (s + q) % 2 == 0, 31 * s + q);

			check_product(&c, shapes[s]);
			check_nearest(&c, shapes[s]);
			check_identities(&c);
		}
}

/* Makes some centroids equal and others almost equal to their neighbours. */
static void
make_ties(case_operator *c, fc_rng *rng)
{
	size_t		d = c->op.d;
	float	   *values = (float *) c->op.factor[0].values;

	for (size_t j = 1; j < c->op.k; j++)
	{
		if (j % 5 == 1)
			memcpy(values + j * d, values + (j - 1) * d, d * sizeof(float));
		if (j % 5 == 3)
			for (size_t i = 0; i < d; i++)
				values[j * d + i] = values[(j - 1) * d + i] + 1e-6f * (float) fc_rng_normal(rng);
	}
	fc_operator_measure(&c->op, c->scratch, c->half_norms);
}

/*
 * Single rows and batches have the labels of the nearest centroids; a third of
 * the rows are midpoints.
 */
static void
check_batch(const case_operator *c, size_t n, const char *what)
{
	const fc_operator *op = &c->op;
	fc_rng		rng = fc_rng_start(23, n);
	double	   *x = unit_alloc(n * op->d, sizeof(double));

	for (size_t i = 0; i < n; i++)
	{
		size_t		a = fc_rng_below(&rng, op->k);
		size_t		b = fc_rng_below(&rng, op->k);

		random_row(c, &rng, x + i * op->d);
		if (i % 3 == 0)			/* the midpoint of two centroids */
			for (size_t q = 0; q < op->d; q++)
				x[i * op->d + q] = (c->offset != NULL ? c->offset[q] : 0.0) +
					0.5 * ((double) op->factor[0].values[a * op->d + q] + (double) op->factor[0].values[b * op->d + q]);
	}
	check_labels(op, c->scratch, x, n, what);
}

/*
 * Labels of batches are right for sizes around a block, with and without ties.
 */
static void
test_batches(void)
{
	static const size_t sizes[][3] = {{30, 20, 5000}, {300, 33, 3000}, {700, 5, 3000}, {1, 1, 10}, {2, 64, 257}, {257, 3, 255}};
	case_operator c;

	for (size_t q = 0; q < sizeof(sizes) / sizeof(sizes[0]); q++)
		for (int ties = 0; ties < 2; ties++)
		{
			fc_rng		rng = fc_rng_start(q, 3);

			c = make_case(sizes[q][0], sizes[q][1], "d", q % 2 == 0, q);
			if (ties)
				make_ties(&c, &rng);
			check_batch(&c, sizes[q][2], ties ? "ties" : "random");
		}
	c = make_case(40, 30, "dsd", true, 77);
	check_batch(&c, 500, "product");
}

/* Among equal centroids the lowest number wins, in assign and in nearest. */
static void
test_equal(void)
{
	case_operator c = make_case(50, 20, "d", true, 1);
	fc_rng		rng = fc_rng_start(2, 2);
	double		x[20];
	int32_t		clusters[50];
	double		distances[50];

	for (size_t j = 1; j < 50; j++)
		memcpy((float *) c.op.factor[0].values + j * 20, c.op.factor[0].values, 20 * sizeof(float));
	fc_operator_measure(&c.op, c.scratch, c.half_norms);
	random_row(&c, &rng, x);
	CHECK(fc_operator_assign(&c.op, x, c.scratch) == 0, "the lowest of equal centroids does not win");
	fc_operator_nearest(&c.op, x, 10, c.scratch, clusters, distances);
	for (int i = 0; i < 10; i++)
		CHECK(clusters[i] == i, "nearest of equals: %d at %d", clusters[i], i);
}

/* ---- operators made to mislead rounded scores ---- */

/*
 * Rows at the product's rows, between two of them, close to them and far away
 * have the labels of the nearest centroids.
 */
static void
check_around(case_operator *c, const char *what)
{
	const fc_operator *op = &c->op;
	fc_rng		rng = fc_rng_start(41, 7);
	size_t		n = 6 * op->k;
	double	   *x = unit_alloc(n * op->d, sizeof(double));
	double	   *other = unit_alloc(op->d, sizeof(double));

	for (size_t i = 0; i < n; i++)
	{
		double	   *row = x + i * op->d;
		size_t		j = i % op->k;

		fc_operator_row(op, fc_rng_below(&rng, op->k), c->scratch, other);
		fc_operator_row(op, j, c->scratch, row);
		for (size_t q = 0; q < op->d; q++)
			row[q] = i / op->k % 3 == 0 ? row[q] : i / op->k % 3 == 1 ? 0.5 * (row[q] + other[q]) : i / op->k == 2
				? row[q] + 1e-7 * (other[q] - row[q]) : row[q] + 1e9 * (other[q] - row[q]);
	}
	check_labels(&c->op, c->scratch, x, n, what);
}

/*
 * Fills the first factor with a cloud of this scale and spread around a common
 * place; outlier: the last row is at the origin.
 */
static void
shape_rows(case_operator *c, double scale, double spread, bool outlier, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 5);
	float	   *values = (float *) c->op.factor[0].values;
	size_t		columns = c->op.factor[0].columns;

	for (size_t j = 0; j < c->op.k; j++)
		for (size_t i = 0; i < columns; i++)
			values[j * columns + i] = (float) (scale * ((outlier && j + 1 == c->op.k ? 0.0 : 1.0 + (double) (i % 3)) + spread * fc_rng_normal(&rng)));
	fc_operator_measure(&c->op, c->scratch, c->half_norms);
}

/* Labels are right for scales and spreads at which rounded scores mislead. */
static void
test_adversarial(void)
{
	static const double scales[] = {1.0, 1e4, 1e-22, 1e-30, 1e16, 1e18, 1e-40};
	static const double spreads[] = {1.0, 1e-2, 1e-4, 1e-6, 0.0};
	static const size_t sizes[][2] = {{4, 2}, {30, 1}, {20, 17}, {90, 33}};
	char		what[100];

	for (size_t q = 0; q < sizeof(sizes) / sizeof(sizes[0]); q++)
		for (size_t a = 0; a < sizeof(scales) / sizeof(scales[0]); a++)
			for (size_t b = 0; b < sizeof(spreads) / sizeof(spreads[0]); b++)
			{
				case_operator c = make_case(sizes[q][0], sizes[q][1], (a + b) % 3 == 2 && scales[a] < 1e10 ? "ds" : "d", false, 3 * a + b);

				shape_rows(&c, scales[a], spreads[b], b % 2 == 0, a);
				snprintf(what, sizeof(what), "k %zu d %zu scale %g spread %g", sizes[q][0], sizes[q][1], scales[a], spreads[b]);
				check_around(&c, what);
			}
}

/*
 * Labels are right if partial products of the factors underflow or overflow
 * floats and the product does not.
 */
static void
test_unbalanced_factors(void)
{
	for (int up = 0; up < 2; up++)
	{
		case_operator c = make_case(25, 12, "sdd", up != 0, 8);
		float		scale = up ? 1e25f : 1e-25f;

		for (int f = 1; f < 3; f++)
		{
			float	   *values = (float *) c.op.factor[f].values;

			for (size_t i = 0; i < c.op.factor[f].nonzeros; i++)
				values[i] *= f == 1 ? 1.0f / scale : scale;
		}
		fc_operator_measure(&c.op, c.scratch, c.half_norms);
		check_around(&c, up ? "partial products overflow" : "partial products underflow");
	}
}

/* ---- slices, blocks and expanded rows ---- */

/*
 * Slicing changes only the order of sums: projections, labels and nearest rows
 * stay right.
 */
static void
test_plans(void)
{
	static const char *const shapes[] = {"s", "ss", "sss", "sdss", "dss", "ssd"};
	static const size_t sizes[][2] = {{1, 1}, {15, 16}, {16, 15}, {33, 50}, {70, 20}, {17, 60}};

	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
		for (size_t q = 0; q < sizeof(sizes) / sizeof(sizes[0]); q++)
		{
			case_operator c = make_case(sizes[q][0], sizes[q][1], shapes[s], (s + q) % 2 == 0, 7 * s + q);

			c.arena = unit_arena();
			fc_operator_slice(&c.op, &c.arena);
			CHECK(c.op.sell != NULL, "%s has sparse factors", shapes[s]);
			check_product(&c, shapes[s]);
			check_nearest(&c, shapes[s]);
			check_identities(&c);
			check_around(&c, shapes[s]);
		}
	{
		case_operator c = make_case(5, 6, "dd", false, 1);

		fc_operator_slice(&c.op, &c.arena);
		CHECK(c.op.sell == NULL, "dense factors are sliced");
	}
}

/*
 * Batches of sizes around a block have the labels of single rows, for all
 * kinds of products.
 */
static void
test_blocks(void)
{
	static const char *const shapes[] = {"s", "ss", "sdss", "dd", "dss"};
	static const size_t counts[] = {1, 7, 8, 9, 63, 64, 65, 72, 130};

	for (size_t s = 0; s < 5; s++)
	{
		case_operator c = make_case(29, 21, shapes[s], s % 2 == 0, s);
		fc_rng		rng = fc_rng_start(s, 3);
		double	   *x = unit_alloc(130 * 21, sizeof(double));

		for (size_t i = 0; i < 130; i++)
			random_row(&c, &rng, x + i * 21);
		for (size_t n = 0; n < sizeof(counts) / sizeof(counts[0]); n++)
			check_labels(&c.op, c.scratch, x, counts[n], shapes[s]);
	}
}

/* Expanded rows equal the rows of the product to the bit. */
static void
test_expanded(void)
{
	case_operator c = make_case(23, 14, "sds", true, 3);
	float	   *rows = unit_alloc(23 * 14, sizeof(float));
	double		apart[14];
	double		together[14];
	size_t		wrong = 0;

	fc_operator_expand(&c.op, c.scratch, rows);
	for (size_t j = 0; j < 23; j++)
	{
		c.op.rows = NULL;
		fc_operator_row(&c.op, j, c.scratch, apart);
		c.op.rows = rows;
		fc_operator_row(&c.op, j, c.scratch, together);
		wrong += memcmp(apart, together, sizeof(apart)) != 0;
	}
	CHECK(wrong == 0, "%zu rows differ", wrong);
	check_around(&c, "expanded");
}

/* ---- exact centroids ---- */

/* Attaches exact centroids to c: the rows of its product plus noise. */
static case_operator
keep_beside(case_operator *c, double noise, bool offset, uint32_t rerank, uint64_t seed)
{
	case_operator source = make_case(c->op.k, c->op.d, "d", offset, seed);
	float	   *values = (float *) source.op.factor[0].values;
	double	   *row = unit_alloc(c->op.d, sizeof(double));
	fc_rng		rng = fc_rng_start(seed, 9);

	for (size_t j = 0; j < c->op.k; j++)
	{
		fc_operator_row(&c->op, j, c->scratch, row);
		for (size_t i = 0; i < c->op.d; i++)
			values[j * c->op.d + i] = (float) (row[i] - (offset ? source.offset[i] : 0.0) + noise * fc_rng_normal(&rng));
	}
	fc_operator_measure(&source.op, source.scratch, source.half_norms);
	fc_operator_attach_exact(&c->op, &source.op, rerank, c->scratch, unit_alloc(c->op.k, sizeof(float)), unit_alloc(c->op.k, sizeof(float)));
	c->scratch = unit_scratch(fc_operator_scratch(&c->op));
	return source;
}

/*
 * Exact re-ranking gives the labels and nearest clusters of the codebook,
 * whatever the product.
 */
static void
check_exact(const case_operator *c, const case_operator *source, const double *x, size_t n, const char *what)
{
	size_t		count = c->op.k < 7 ? c->op.k : 7;
	int32_t		clusters[2][7];
	double		distances[2][7];
	size_t		wrong = 0;

	for (size_t i = 0; i < n; i++)
	{
		fc_operator_nearest(&c->op, x + i * c->op.d, count, c->scratch, clusters[0], distances[0]);
		fc_operator_nearest(&source->op, x + i * c->op.d, count, source->scratch, clusters[1], distances[1]);
		wrong += fc_operator_assign(&c->op, x + i * c->op.d, c->scratch) != (size_t) clusters[1][0] ||
			memcmp(clusters[0], clusters[1], count * sizeof(int32_t)) != 0 ||
			memcmp(distances[0], distances[1], count * sizeof(double)) != 0;
	}
	CHECK(wrong == 0, "%s: %zu of %zu rows ranked otherwise than by the codebook", what, wrong, n);
	check_labels(&c->op, c->scratch, x, n, what);
}

/*
 * Returns the exact centroid nearest to x among the t rows of the product
 * nearest to x.
 */
static size_t
nearest_of_few(case_operator *c, const double *x, size_t t)
{
	fc_exact_centroids exact = c->op.exact;
	int32_t    *clusters = unit_alloc(t, sizeof(int32_t));
	double	   *distances = unit_alloc(t, sizeof(double));
	double		best = INFINITY;
	size_t		label = SIZE_MAX;

	c->op.exact.values = NULL;
	fc_operator_nearest(&c->op, x, t, c->scratch, clusters, distances);
	c->op.exact = exact;
	for (size_t i = 0; i < t; i++)
	{
		double		distance = fc_operator_distance(&c->op, (size_t) clusters[i], x, c->scratch);

		if (distance < best || (distance <= best && (size_t) clusters[i] < label))
		{
			best = distance;
			label = (size_t) clusters[i];
		}
	}
	return label;
}

/*
 * Re-ranking t candidates gives the nearest exact centroid among them, for
 * single rows and batches.
 */
static void
check_few(case_operator *c, const double *x, size_t n, size_t t, const char *what)
{
	int32_t    *labels = unit_alloc(n, sizeof(int32_t));
	fc_scratch	scratch = unit_scratch(fc_operator_batch_scratch(&c->op, n));
	size_t		wrong = 0;

	fc_operator_assign_batch(&c->op, x, n, scratch, labels);
	for (size_t i = 0; i < n; i++)
	{
		size_t		expected = nearest_of_few(c, x + i * c->op.d, t);
		int32_t		first;
		double		distance;

		fc_operator_nearest(&c->op, x + i * c->op.d, 1, c->scratch, &first, &distance);
		wrong += fc_operator_assign(&c->op, x + i * c->op.d, c->scratch) != expected ||
			(size_t) labels[i] != expected || (size_t) first != expected;
	}
	CHECK(wrong == 0, "%s: the best of %zu wrong in %zu of %zu", what, t, wrong, n);
}

/*
 * Labels with exact centroids are right for any noise and any number of
 * candidates.
 */
static void
test_exact_centroids(void)
{
	static const double noises[] = {0.0, 1e-6, 0.1, 1.0, 30.0};
	static const char *const shapes[] = {"d", "ds", "sss"};

	for (size_t s = 0; s < 3; s++)
		for (size_t q = 0; q < 5; q++)
			for (uint32_t rerank = 1; rerank < 6; rerank += 2)
			{
				size_t		k = q == 2 ? 2 * rerank : 60;
				case_operator c = make_case(k, 13, shapes[s], q % 2 == 0, q);
				case_operator source = keep_beside(&c, noises[q], q > 1, rerank == 5 ? FC_RERANK_EXACT : rerank, s);
				fc_rng		rng = fc_rng_start(q, s);
				double	   *x = unit_alloc(200 * 13, sizeof(double));
				char		what[60];

				snprintf(what, sizeof(what), "%s noise %g", shapes[s], noises[q]);
				for (size_t i = 0; i < 200; i++)
				{
					random_row(&source, &rng, x + i * 13);
					if (i % 4 == 0)
						fc_operator_row(&c.op, i % k, c.scratch, x + i * 13);
				}
				if (rerank == 5)
					check_exact(&c, &source, x, 200, what);
				else
					check_few(&c, x, 200, rerank, what);
			}
}

/* ---- bytes ---- */

/*
 * Bytes are refused unless padding is zero and half norms and bounds match the
 * factors.
 */
static void
test_bytes(void)
{
	static const char *const shapes[] = {"d", "ds", "sds"};

	for (size_t s = 0; s < 3; s++)
	{
		case_operator c = make_case(7, 5, shapes[s], s == 1, s);
		size_t		size = fc_operator_size(&c.op);
		fc_operator_header *header = unit_alloc(size, 1);
		fc_operator view;
		double		bounds[4];

		fc_operator_write(&c.op, header);
		CHECK(check_operator(header, size) == FC_OK, "%s: bytes are refused", shapes[s]);
		fc_operator_view(header, &view);
		for (size_t j = 0; j < 8; j++)	/* the eighth is padding */
		{
			float	   *half = (float *) view.half_norms + j;
			float		old = *half;

			*half = old * 1.01f + 1.0f;
			reseal_operator(header, size);
			CHECK(check_operator(header, size) == FC_EFORMAT, "%s: half norm %zu", shapes[s], j);
			*half = old;
		}
		memcpy(bounds, &header->max_row_norm, sizeof(bounds));
		for (size_t b = 0; b < 4; b++)
		{
			(&header->max_row_norm)[b] *= 0.5;
			reseal_operator(header, size);
			CHECK(check_operator(header, size) == FC_EFORMAT, "%s: bound %zu", shapes[s], b);
			memcpy(&header->max_row_norm, bounds, sizeof(bounds));
		}
		reseal_operator(header, size);
		CHECK(check_operator(header, size) == FC_OK, "%s: restored bytes are refused", shapes[s]);
	}
}

/* Exact centroids and sparse columns survive storing. */
static void
test_exact_bytes(void)
{
	for (int offset = 0; offset < 2; offset++)
	{
		case_operator c = make_case(11, 9, "ss", offset == 0, 5);
		case_operator source = keep_beside(&c, 0.1, offset != 0, offset ? FC_RERANK_EXACT : 3, 6);
		size_t		size = fc_operator_size(&c.op);
		fc_operator_header *header = unit_alloc(size, 1);
		fc_operator view;

		fc_operator_write(&c.op, header);
		CHECK(check_operator(header, size) == FC_OK, "kept, offset %d", offset);
		fc_operator_view(header, &view);
		CHECK(view.exact.rerank == c.op.exact.rerank && (view.exact.offset != NULL) == (offset != 0), "the fields of exact centroids change");
		CHECK(memcmp(view.exact.values, source.op.factor[0].values, 99 * sizeof(float)) == 0, "the exact centroids change");
		CHECK(view.factor[0].column == NULL && view.factor[0].short_column != NULL, "columns are not stored as short ones");
		for (size_t f = 0; f < 2; f++)
			for (size_t p = 0; p < view.factor[f].nonzeros; p++)
				CHECK(fc_factor_column(&view.factor[f], p) == c.op.factor[f].column[p], "column %zu", p);
		for (size_t j = 0; j < 11; j++)
		{
			float	   *residual = (float *) view.exact.residual + j;
			float		old = *residual;

			*residual *= 0.5f;
			reseal_operator(header, size);
			CHECK(check_operator(header, size) == FC_EFORMAT, "residual %zu too small", j);
			*residual = old;
		}
		header->rerank = 0;
		reseal_operator(header, size);
		CHECK(check_operator(header, size) == FC_EFORMAT, "exact centroids without re-ranking are accepted");
	}
}

/*
 * Regions survive storing, a row belongs to a centroid's cluster if it is
 * within reach, and numbers out of range are refused.
 */
static void
test_regions(void)
{
	double		centroids[] = {0.0, 0.0, 1.0, 0.0, 5.0, 5.0};
	double		weights[] = {1.0, 2.0, 3.0};
	int32_t		cluster[] = {1, 0, -1};
	int32_t		peak_cluster[] = {1, 0, 0};
	float		radius[] = {0.5f, 0.25f, 4.0f};
	float		reach[] = {0.5f, 0.5f, 0.0f};
	float		peak[] = {0.5f, 0.25f, 0.25f};
	codebook	c = make_codebook(centroids, weights, 3, 2);
	size_t		size;
	fc_operator_header *header;
	fc_operator view;

	c.op.regions = (fc_regions) {2, cluster, peak_cluster, radius, reach, peak};
	size = fc_operator_size(&c.op);
	header = unit_alloc(size, 1);
	fc_operator_write(&c.op, header);
	CHECK(check_operator(header, size) == FC_OK && check_operator(header, size - 8) == FC_EFORMAT, "bytes");
	fc_operator_view(header, &view);
	CHECK(fc_operator_labels(&view) == 2 && memcmp(view.regions.cluster, cluster, sizeof(cluster)) == 0 && memcmp(view.regions.peak, peak, sizeof(peak)) == 0, "regions");
	CHECK(fc_operator_label(&view, 0, 0.25) == 1 && fc_operator_label(&view, 0, 0.26) == -1 && fc_operator_label(&view, 2, 0.0) == -1, "labels");
	CHECK(fc_operator_outlier(&view, 0, 0.01) == 0.0 && fabs(fc_operator_outlier(&view, 2, 0.0) - 0.9375) < 1e-6, "outlier scores are wrong");
	for (int bad = 0; bad < 4; bad++)
	{
		int32_t    *number = (int32_t *) (bad < 2 ? view.regions.cluster : view.regions.peak_cluster);
		int32_t		old = *number;

		*number = bad == 0 ? 2 : bad == 1 ? -2 : bad == 2 ? -1 : 2;
		reseal_operator(header, size);
		CHECK(check_operator(header, size) == FC_EFORMAT, "cluster %d", *number);
		*number = old;
	}
	((float *) view.regions.reach)[1] = NAN;
	reseal_operator(header, size);
	CHECK(check_operator(header, size) == FC_EFORMAT, "a reach of NaN is accepted");
}

/*
 * Numbers with a gap survive storing and are the labels. Numbers that do not
 * ascend, are out of range or have no gap are refused.
 */
static void
test_numbers(void)
{
	double		centroids[] = {0.0, 0.0, 1.0, 0.0, 5.0, 5.0};
	double		weights[] = {1.0, 2.0, 3.0};
	int32_t		number[] = {0, 2, 7};
	const int32_t bad[][3] = {{0, 1, 2}, {2, 2, 7}, {-1, 2, 7}, {0, 7, 2}, {0, 2, FC_MAX_NUMBERS}};
	codebook	c = make_codebook(centroids, weights, 3, 2);
	int32_t    *stored;
	size_t		size;
	fc_operator_header *header;
	fc_operator view;

	c.op.number = number;
	size = fc_operator_size(&c.op);
	header = unit_alloc(size, 1);
	fc_operator_write(&c.op, header);
	CHECK(check_operator(header, size) == FC_OK && check_operator(header, size - 8) == FC_EFORMAT, "bytes");
	fc_operator_view(header, &view);
	CHECK(fc_operator_labels(&view) == 8, "%zu labels", fc_operator_labels(&view));
	for (size_t j = 0; j < 3; j++)
		CHECK(fc_operator_label(&view, j, 0.0) == number[j], "row %zu has label %d", j, (int) fc_operator_label(&view, j, 0.0));
	stored = (int32_t *) view.number;
	for (size_t b = 0; b < sizeof(bad) / sizeof(bad[0]); b++)
	{
		memcpy(stored, bad[b], sizeof(bad[b]));
		reseal_operator(header, size);
		CHECK(check_operator(header, size) == FC_EFORMAT, "numbers %d, %d, %d", (int) bad[b][0], (int) bad[b][1], (int) bad[b][2]);
	}
	memcpy(stored, number, sizeof(number));
	header->flags |= FC_OPERATOR_REGIONS;
	reseal_operator(header, size);
	CHECK(check_operator(header, size) == FC_EFORMAT, "numbers together with regions are accepted");
}

/*
 * Equal rows are a cluster whose ball has radius 0. They belong to it and are
 * no outliers, wherever they are and however their centroid was rounded. A row
 * a thousandth of the deviation away belongs to no cluster and is an outlier.
 */
static void
test_equal_rows(fc_metric metric, size_t d, double origin, bool single, bool standardised)
{
	enum { piles = 7 };
	double	   *x = unit_alloc(piles * d, sizeof(double));
	double	   *mean = unit_alloc(piles * d, sizeof(double));
	double	   *other = unit_alloc(d, sizeof(double));
	double		weights[piles];
	int32_t		cluster[piles];
	float		zero[piles] = {0};
	fc_rng		rng = fc_rng_start(11, d);
	codebook	c;
	fc_scratch	scratch;
	double		worst = 0.0;

	for (size_t j = 0; j < piles; j++)
	{
		weights[j] = 1000.0;
		cluster[j] = (int32_t) j;
		for (size_t i = 0; i < d; i++)
		{
			double		value = origin + 3.0 * fc_rng_normal(&rng);

			x[j * d + i] = single ? (double) (float) value : value;
			if (standardised)
				x[j * d + i] = (x[j * d + i] - origin - 0.1) / 2.9;
		}
		if (metric == FC_COSINE)
		{
			double		length = sqrt(fc_sum_of_squares(x + j * d, d));

			for (size_t i = 0; i < d; i++)
				x[j * d + i] /= length;
		}
		for (size_t i = 0; i < d; i++)	/* mean of a thousand equal rows */
			for (int n = 1; n <= 1000; n++)
				mean[j * d + i] += (x[j * d + i] - mean[j * d + i]) / n;
	}
	c = make_codebook(mean, weights, piles, d);
	c.op.metric = metric;
	c.op.regions = (fc_regions) {piles, cluster, cluster, zero, zero, zero};
	scratch = unit_scratch(fc_operator_scratch(&c.op));
	for (size_t j = 0; j < piles; j++)
	{
		size_t		nearest = fc_operator_assign(&c.op, x + j * d, scratch);
		double		squared = fc_operator_distance(&c.op, nearest, x + j * d, scratch);
		double		score = fc_operator_outlier(&c.op, nearest, squared);

		worst = fmax(worst, sqrt(squared));
		CHECK(nearest == j && fc_operator_label(&c.op, nearest, squared) == (int32_t) j && !(score > 0.0),
			  "pile %zu in %zu dimensions about %g: label %d, score %g, distance %g", j, d, origin,
			  (int) fc_operator_label(&c.op, nearest, squared), score, sqrt(squared));
		for (size_t i = 0; i < d; i++)
			other[i] = x[j * d + i] + (metric == FC_COSINE ? 1e-4 : 3e-3) * (i % 2 == 0 ? 1.0 : -1.0);
		nearest = fc_operator_assign(&c.op, other, scratch);
		squared = fc_operator_distance(&c.op, nearest, other, scratch);
		CHECK(fc_operator_label(&c.op, nearest, squared) == -1 && fc_operator_outlier(&c.op, nearest, squared) > 0.5,
			  "beside pile %zu in %zu dimensions about %g: label %d, score %g", j, d, origin,
			  (int) fc_operator_label(&c.op, nearest, squared), fc_operator_outlier(&c.op, nearest, squared));
	}
	printf("equal rows, d %zu, about %g, %s, %s%s: up to %.1e from their centroid, score 0\n", d, origin, single ? "float" : "double",
		   standardised ? "standardised" : "as they are", metric == FC_COSINE ? ", cosine" : "", worst);
}

/*
 * Equal rows keep their cluster in several dimensions, at several distances
 * from the origin, as floats or doubles, standardised or not.
 */
static void
test_piles(void)
{
	const size_t dims[] = {1, 2, 10, 300};
	const double origins[] = {0.0, 1e3, 1e6, 1e9};

	for (size_t i = 0; i < 4; i++)
	{
		for (size_t o = 0; o < 4; o++)
			for (int form = 0; form < 4; form++)
				if (origins[o] < 1e4 || form % 2 == 0)	/* floats far away are too coarse */
					test_equal_rows(FC_EUCLIDEAN, dims[i], origins[o], form % 2 == 1, form / 2 == 1);
		if (dims[i] > 2)
			test_equal_rows(FC_COSINE, dims[i], 0.0, i % 2 == 0, false);
	}
}

/* Rows that are measured later are the bytes of a codebook measured at once. */
static void
test_measured_later(double origin)
{
	enum
	{
		COUNT = 20,
		WIDTH = 7
	};
	double		x[COUNT * WIDTH];
	double		weights[COUNT];
	fc_arena	arena = unit_arena();
	size_t		bound = fc_codebook_size(COUNT, WIDTH);
	fc_operator_header *headers[2];
	fc_centroid_source source = {.k = COUNT,.d = WIDTH,.x = x};
	size_t		size = 0;

	for (size_t i = 0; i < COUNT * WIDTH; i++)
		x[i] = origin + sin((double) i);
	for (size_t j = 0; j < COUNT; j++)
		weights[j] = 1.0 + (double) j;
	for (int later = 0; later < 2; later++)
	{
		double		max;

		headers[later] = (fc_operator_header *) FC_TAKE(&arena, bound, char);
		size = (later ? fc_codebook_write_rows : fc_codebook_write) (FC_EUCLIDEAN, &source, weights, &arena, headers[later], &max);
	}
	CHECK(fc_codebook_is_measured(headers[0]) && !fc_codebook_is_measured(headers[1]), "origin %g: measured at the wrong time", origin);
	CHECK(fc_operator_check_written(headers[1], size) == FC_OK, "origin %g: unmeasured rows are refused", origin);
	fc_codebook_measure(&arena, headers[1]);
	CHECK(memcmp(headers[0], headers[1], size) == 0, "origin %g: other bytes", origin);
}

int
main(void)
{
	test_regions();
	test_numbers();
	test_piles();
	test_adversarial();
	test_unbalanced_factors();
	test_plans();
	test_blocks();
	test_expanded();
	test_exact_centroids();
	test_bytes();
	test_exact_bytes();
	test_shapes();
	test_batches();
	test_equal();
	test_measured_later(0.0);
	test_measured_later(1e6);
	return unit_finish();
}

/*
 * kernel.c - benchmark of the core: ns per row of sketching and of assignment,
 * in a single thread.
 *
 *     kernel sketch D M       loop with libm, fused kernel, fc_sketch_add,
 *                             structured frequencies, FMA peak
 *     kernel product K D S    product of log2(min(K, D)) sparse factors, with
 *                             S random entries per row and column: single
 *                             rows and batches, compared with sgemv and sgemm
 *     kernel assign K D       single rows by the core and by sgemv, batches of
 *                             256 by the core and by sgemm
 *
 * Prints a line "name value" for each, the minimum CPU time of interleaved
 * rounds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/blas.h"
#include "base/rng.h"
#include "operator/operator.h"
#include "sketch/isa.h"
#include "sketch/sketch.h"

#include "program.h"

#define ROUNDS 7

static fc_spec *
plain_spec(uint32_t d, uint32_t m, bool structured)
{
	fc_spec    *spec = calloc(1, sizeof(fc_spec) + (d + 1) * sizeof(double));

	spec->version = FC_SPEC_VERSION;
	spec->law = FC_LAW_ADAPTED_RADIUS_KMEANS;
	spec->flags = structured ? FC_SPEC_STRUCTURED : 0;
	spec->dim = spec->reduced = d;
	spec->frequencies = m;
	spec->scales = 1;
	spec->sigma = 1;
	((double *) fc_spec_sigmas(spec))[0] = 1;
	fc_spec_seal(spec);
	return spec;
}

static float *
normal_floats(size_t count)
{
	fc_rng		rng = fc_rng_start(1, 1);
	float	   *x = malloc(count * sizeof(float));

	for (size_t i = 0; i < count; i++)
		x[i] = (float) fc_rng_normal(&rng);
	return x;
}

/*
 * Sketches rows as a first version would: angles, sines and cosines of libm,
 * in double, row by row.
 */
static void
libm_rows(const float *omega, const float *x, size_t rows, size_t d, size_t m, double *z)
{
	for (size_t r = 0; r < rows; r++)
		for (size_t j = 0; j < m; j++)
		{
			double		angle = 0;

			for (size_t i = 0; i < d; i++)
				angle += (double) omega[j * d + i] * (double) x[r * d + i];
			z[j] += cos(angle);
			z[m + j] += sin(angle);
		}
}

static void
keep_smallest(double *min, double start, size_t rows)
{
	double		ns = (cpu_seconds() - start) * 1e9 / (double) rows;

	if (*min == 0 || ns < *min)
		*min = ns;
}

typedef struct sketcher
{
	fc_prepared	prepared;
	fc_sketch  *sketch;
} sketcher;

static sketcher
make_sketcher(uint32_t d, uint32_t m, bool structured)
{
	sketcher	made;
	fc_spec    *spec = plain_spec(d, m, structured);
	fc_arena	arena = heap_arena();

	fc_spec_prepare(spec, &arena, &made.prepared);
	made.sketch = malloc(fc_sketch_size(spec, FC_SKETCH_UNPACKED, made.prepared.batch));
	fc_sketch_init(spec, FC_SKETCH_UNPACKED, made.prepared.batch, made.sketch);
	return made;
}

static void
add_all(sketcher *s, const float *x, size_t rows, size_t d)
{
	fc_sketch_view view = fc_sketch_view_of(s->sketch);

	for (size_t r = 0; r < rows; r++)
	{
		fc_row		row = {.floats = x + r % 1024 * d, .weight = FC_ONE_WEIGHT};

		fc_sketch_add(&s->prepared, &row, &view);
	}
	fc_sketch_fold(&s->prepared, &view);
}

/*
 * Returns the GFLOP/s of ten independent chains of multiply-adds on 256-bit
 * vectors.
 */
static double
fma_peak(void)
{
	typedef float vec __attribute__((vector_size(32)));
	const int	steps = 4000000;
	double		best = 0;

	for (int round = 0; round < ROUNDS; round++)
	{
		vec			x = (vec) {0} + 0.999f;
		/* equal chains would be merged */
		vec			a = x, b = x + 1, c = x + 2, d = x + 3, e = x + 4, f = x + 5, g = x + 6, h = x + 7, i = x + 8, j = x + 9;
		double		start = cpu_seconds();
		volatile float sink;

		for (int step = 0; step < steps; step++)
		{
			a = a * x + x;
			b = b * x + x;
			c = c * x + x;
			d = d * x + x;
			e = e * x + x;
			f = f * x + x;
			g = g * x + x;
			h = h * x + x;
			i = i * x + x;
			j = j * x + x;
		}
		sink = (a + b + c + d + e + f + g + h + i + j)[0];
		(void) sink;
		best = fmax(best, 2.0 * 10 * 8 * steps / (cpu_seconds() - start) * 1e-9);
	}
	return best;
}

static void
bench_sketch(uint32_t d, uint32_t m)
{
	sketcher	dense = make_sketcher(d, m, false);
	sketcher	structured = make_sketcher(d, m, true);
	float	   *x = normal_floats(1024 * (size_t) d);
	float	   *omega = normal_floats((size_t) m * d);
	double	   *z = calloc(2 * m, sizeof(double));
	int64_t    *sums = calloc(2 * m, sizeof(int64_t));
	size_t		rows = (size_t) fmax(2048, 4e8 / ((double) m * (d + 20)));
	size_t		few = (size_t) fmax(4, 1e7 / ((double) m * (d + 40)));
	size_t		batches = rows / dense.prepared.batch;
	double		libm = 0;
	double		kernel = 0;
	double		add = 0;
	double		fast = 0;

	for (int round = 0; round < ROUNDS; round++)
	{
		double		start = cpu_seconds();

		libm_rows(omega, x, few < 1024 ? few : 1024, d, m, z);
		keep_smallest(&libm, start, few < 1024 ? few : 1024);
		start = cpu_seconds();
		for (size_t b = 0; b < batches; b++)
			fc_sketch_isa_select()->accumulate(&dense.prepared, x, dense.prepared.batch, sums);
		keep_smallest(&kernel, start, batches * dense.prepared.batch);
		start = cpu_seconds();
		add_all(&dense, x, rows, d);
		keep_smallest(&add, start, rows);
		start = cpu_seconds();
		add_all(&structured, x, rows, d);
		keep_smallest(&fast, start, rows);
	}
	printf("libm %.1f\nkernel %.1f\nadd %.1f\nstructured %.1f\n", libm, kernel, add, fast);
	printf("gflops %.1f\npeak %.1f\n", 2.0 * d * m / kernel, fma_peak());
}

static fc_scratch
take_scratch(size_t floats)
{
	return (fc_scratch) {malloc(floats * sizeof(float)), floats};
}

static void
bench_assign(size_t k, size_t d)
{
	enum
	{
		BATCH = 256
	};
	float	   *v = normal_floats(k * d);
	double	   *x = malloc(BATCH * d * sizeof(double));
	float	   *xf = normal_floats(BATCH * d);
	float	   *y = malloc(BATCH * k * sizeof(float));
	double	   *ones = calloc(k, sizeof(double));
	float	   *half_norms = malloc(k * sizeof(float));
	int32_t    *labels = malloc(BATCH * sizeof(int32_t));
	fc_operator op = {.k = k, .d = d, .half_norms = half_norms, .weights = ones, .factors = 1};
	fc_scratch	scratch;
	size_t		repeats = (size_t) fmax(1, 2e7 / (double) (k * d * BATCH) + 1);
	double		single = 0;
	double		gemv = 0;
	double		batch = 0;
	double		gemm = 0;

	op.factor[0] = (fc_factor) {.rows = k,.columns = d,.nonzeros = k * d,.values = v};
	scratch = take_scratch(fc_operator_batch_scratch(&op, BATCH));
	fc_operator_measure(&op, scratch, half_norms);
	for (size_t i = 0; i < BATCH * d; i++)
		x[i] = (double) xf[i];
	for (int round = 0; round < ROUNDS; round++)
	{
		double		start = cpu_seconds();

		for (size_t r = 0; r < repeats * BATCH; r++)
			labels[r % BATCH] = (int32_t) fc_operator_assign(&op, x + r % BATCH * d, scratch);
		keep_smallest(&single, start, repeats * BATCH);
		start = cpu_seconds();
		for (size_t r = 0; r < repeats * BATCH; r++)
			cblas_sgemv(CblasRowMajor, CblasNoTrans, (int) k, (int) d, 1, v, (int) d, xf + r % BATCH * d, 1, 0, y, 1);
		keep_smallest(&gemv, start, repeats * BATCH);
		start = cpu_seconds();
		for (size_t r = 0; r < repeats; r++)
			fc_operator_assign_batch(&op, x, BATCH, scratch, labels);
		keep_smallest(&batch, start, repeats * BATCH);
		start = cpu_seconds();
		for (size_t r = 0; r < repeats; r++)
			cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, BATCH, (int) k, (int) d, 1, xf, (int) d, v, (int) d, 0, y, (int) k);
		keep_smallest(&gemm, start, repeats * BATCH);
	}
	printf("single %.1f\nsgemv %.1f\nbatch %.1f\nsgemm %.1f\n", single, gemv, batch, gemm);
}

/*
 * Makes a factor whose support is the union of `entries` random matchings of
 * rows and columns; the shorter side is repeated.
 */
static fc_factor
random_factor(size_t rows, size_t columns, size_t entries, fc_rng *rng)
{
	bool	   *support = calloc(rows * columns, sizeof(bool));
	size_t		longest = rows > columns ? rows : columns;
	size_t	   *match = malloc(longest * sizeof(size_t));
	uint32_t   *row_start = calloc(rows + 1, sizeof(uint32_t));
	uint16_t   *column = malloc(rows * columns * sizeof(uint16_t));
	float	   *values = malloc(rows * columns * sizeof(float));
	uint32_t	used = 0;

	for (size_t t = 0; t < entries; t++)
	{
		for (size_t i = 0; i < longest; i++)
			match[i] = i;
		for (size_t i = longest; i-- > 1;)
		{
			size_t		other = fc_rng_below(rng, i + 1);
			size_t		swap = match[i];

			match[i] = match[other];
			match[other] = swap;
		}
		for (size_t i = 0; i < longest; i++)
			support[i % rows * columns + match[i] % columns] = true;
	}
	for (size_t r = 0; r < rows; r++)
	{
		for (size_t c = 0; c < columns; c++)
			if (support[r * columns + c])
			{
				column[used] = (uint16_t) c;
				values[used++] = (float) fc_rng_normal(rng) / sqrtf((float) entries);
			}
		row_start[r + 1] = used;
	}
	free(support);
	free(match);
	return (fc_factor) {.rows = rows,.columns = columns,.nonzeros = used,.values = values,
	.row_start = row_start,.short_column = column};
}

/*
 * Scales the head so that all rows of the product have the same length, as
 * centroids do.
 */
static void
level_rows(fc_factor *head, const float *half_norms)
{
	float	   *values = (float *) head->values;

	for (size_t r = 0; r < head->rows; r++)
		for (size_t p = head->row_start[r]; p < head->row_start[r + 1]; p++)
			values[p] /= half_norms[r] > 0.0f ? sqrtf(2.0f * half_norms[r]) : 1.0f;
}

/* Times sgemv and sgemm of a dense k x d matrix with the given rows. */
static void
bench_blas(const float *x, size_t k, size_t d, size_t n, size_t repeats, double *gemv, double *gemm)
{
	float	   *v = normal_floats(k * d);
	float	   *y = malloc(n * k * sizeof(float));
	double		start = cpu_seconds();

	for (size_t r = 0; r < repeats * n; r++)
		cblas_sgemv(CblasRowMajor, CblasNoTrans, (int) k, (int) d, 1, v, (int) d, x + r % n * d, 1, 0, y, 1);
	keep_smallest(gemv, start, repeats * n);
	start = cpu_seconds();
	for (size_t r = 0; r < repeats; r++)
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) n, (int) k, (int) d, 1, x, (int) d, v, (int) d, 0, y, (int) k);
	keep_smallest(gemm, start, repeats * n);
	free(v);
	free(y);
}

static void
bench_product(size_t k, size_t d, size_t entries)
{
	enum
	{
		BATCH = 256
	};
	size_t		inner = k < d ? k : d;
	float	   *xf = normal_floats(BATCH * d);
	double	   *x = malloc(BATCH * d * sizeof(double));
	int32_t    *labels = malloc(BATCH * sizeof(int32_t));
	fc_operator op = {.k = k, .d = d, .factors = (size_t) fmax(1, round(log2((double) inner)))};
	fc_rng		rng = fc_rng_start(k, d);
	size_t		repeats = (size_t) (1e7 / (double) (k * d * BATCH) + 1);
	size_t		nonzeros = 0;
	fc_arena	arena = heap_arena();
	fc_scratch	scratch;
	double		single = 0;
	double		batch = 0;
	double		gemv = 0;
	double		gemm = 0;

	for (size_t f = 0; f < op.factors; f++)
	{
		op.factor[f] = random_factor(f == 0 ? k : inner, f + 1 == op.factors ? d : inner, entries, &rng);
		nonzeros += op.factor[f].nonzeros;
	}
	scratch = take_scratch(fc_operator_batch_scratch(&op, BATCH));
	fc_operator_measure(&op, scratch, malloc(k * sizeof(float)));
	level_rows(&op.factor[0], op.half_norms);
	fc_operator_measure(&op, scratch, (float *) op.half_norms);
	fc_operator_slice(&op, &arena);
	for (size_t i = 0; i < BATCH * d; i++)
		x[i] = (double) xf[i];
	for (int round = 0; round < ROUNDS; round++)
	{
		double		start = cpu_seconds();

		for (size_t r = 0; r < 4 * repeats * BATCH; r++)
			labels[r % BATCH] = (int32_t) fc_operator_assign(&op, x + r % BATCH * d, scratch);
		keep_smallest(&single, start, 4 * repeats * BATCH);
		start = cpu_seconds();
		for (size_t r = 0; r < 4 * repeats; r++)
			fc_operator_assign_batch(&op, x, BATCH, scratch, labels);
		keep_smallest(&batch, start, 4 * repeats * BATCH);
		bench_blas(xf, k, d, BATCH, repeats, &gemv, &gemm);
	}
	printf("single %.1f\nsgemv %.1f\nbatch %.1f\nsgemm %.1f\nnonzeros %zu\n", single, gemv, batch, gemm, nonzeros);
}

int
main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "sketch") == 0)
		bench_sketch((uint32_t) atoi(argv[2]), (uint32_t) atoi(argv[3]));
	else if (argc == 4 && strcmp(argv[1], "assign") == 0)
		bench_assign((size_t) atoi(argv[2]), (size_t) atoi(argv[3]));
	else if (argc == 5 && strcmp(argv[1], "product") == 0)
		bench_product((size_t) atoi(argv[2]), (size_t) atoi(argv[3]), (size_t) atoi(argv[4]));
	else
		return fprintf(stderr, "usage: kernel sketch D M | kernel assign K D | kernel product K D S\n"), 2;
	return 0;
}

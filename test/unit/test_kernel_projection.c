/*
 * test_kernel_projection.c - the one-pass projection and its baselines agree
 * with the paper's algorithm to 1e-5 and reach the paper's errors; their
 * estimated errors are close to the true ones
 */
#include "base/blas.h"
#include "kernels.h"
#include "kmeans/kmeans.h"
#include "numerics/principal.h"
#include "rkhs/projection.h"

typedef enum method
{
	ONE_PASS, NYSTROEM, CHOLESKY, EXACT
} method;

static bool published;			/* option of ONE_PASS */

static fc_status
call(method how, const fc_kernel *kernel, const fc_kernel_input *input, size_t columns, uint64_t seed, fc_arena *arena, fc_embedding *result)
{
	fc_mark		used = fc_arena_mark(arena);
	fc_kernel_rows rows;
	fc_status	status = fc_kernel_prepare(kernel, input, how != ONE_PASS, arena, &rows);

	if (status == FC_OK && how == ONE_PASS)
	{
		fc_kernel_pass pass = fc_kernel_pass_of(rows.n, result->rank, columns, published, seed);

		fc_kernel_project(&rows, &pass, arena, result);
	}
	else if (status == FC_OK && how == NYSTROEM)
		fc_nystroem_project(&rows, columns, seed, arena, result);
	else if (status == FC_OK && how == CHOLESKY)
		fc_pivoted_cholesky_project(&rows, columns, seed, arena, result);
	else if (status == FC_OK)
		fc_kernel_eigen_project(&rows, arena, result);
	fc_arena_release(arena, used);
	return status;
}

/* Embeds n rows by a method. columns: the oversampling of ONE_PASS. */
static fc_embedding
embed(method how, const fc_kernel *kernel, const double *x, size_t n, size_t d, size_t rank, size_t columns, uint64_t seed)
{
	fc_embedding e = new_embedding(n, rank);
	fc_kernel_input input = {.doubles = x,.n = n,.d = d};
	fc_arena	arena = unit_arena();
	fc_status	status = call(how, kernel, &input, columns, seed, &arena, &e);

	CHECK(status == FC_OK, "method %d, n %zu, rank %zu, columns %zu: status %d", (int) how, n, rank, columns, (int) status);
	CHECK(arena.allocated == 0, "arena not released");
	return e;
}

/*
 * Returns the share of rows whose 2-means cluster is the parity of their
 * number, or its opposite.
 */
static double
accuracy(size_t n, size_t d, const float *y)
{
	fc_rows		view = {.x = y,.n = n,.d = d};
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_kmeans_result result = {0};
	size_t		same = 0;
	double		centroids[64];
	double		weights[2];

	options.n_init = 10;
	result.centroids = centroids;
	result.weights = weights;
	result.labels = unit_alloc(n, sizeof(int32_t));
	fc_kmeans(&view, 2, NULL, &options, unit_work(), &result);
	for (size_t i = 0; i < n; i++)
		same += result.labels[i] == (int32_t) (i % 2);
	return fmax((double) same, (double) (n - same)) / (double) n;
}

/*
 * The paper's Table 1 on smaller samples: the best 2-means of the exact
 * embedding is the true split, the one-pass projection is as good, and Nystrom
 * with 20 columns is not.
 */
static void
test_disc_and_ring(void)
{
	size_t		n = 1000;
	double		sums[4] = {0};	/* errors of exact, one-pass and nystrom 20; accuracy of one-pass */
	int			seeds = 4;

	for (uint64_t seed = 0; seed < (uint64_t) seeds; seed++)
	{
		double	   *x = disc_and_ring(n, seed);
		double	   *k = kernel_matrix(&square_kernel, x, n, 2);
		float	   *plain = unit_alloc(2 * n, sizeof(float));
		fc_embedding exact = embed(EXACT, &square_kernel, x, n, 2, 2, 0, 0);
		fc_embedding one_pass = embed(ONE_PASS, &square_kernel, x, n, 2, 2, 10, seed);
		fc_embedding nystroem = embed(NYSTROEM, &square_kernel, x, n, 2, 2, 20, seed);

		for (size_t i = 0; i < 2 * n; i++)
			plain[i] = (float) x[i];
		CHECK(accuracy(n, 2, exact.y) >= 0.99, "exact: accuracy %g", accuracy(n, 2, exact.y));
		CHECK(accuracy(n, 2, plain) < 0.8, "without a kernel: %g", accuracy(n, 2, plain));
		CHECK(fabs(exact.relative_error - relative_error_of(k, n, &exact)) < 1e-5, "exact says %g, is %g",
			  exact.relative_error, relative_error_of(k, n, &exact));
		CHECK(fabs(one_pass.relative_error - relative_error_of(k, n, &one_pass)) < 0.01, "one pass says %g, is %g",
			  one_pass.relative_error, relative_error_of(k, n, &one_pass));
		sums[0] += relative_error_of(k, n, &exact) / seeds;
		sums[1] += relative_error_of(k, n, &one_pass) / seeds;
		sums[2] += relative_error_of(k, n, &nystroem) / seeds;
		sums[3] += accuracy(n, 2, one_pass.y) / seeds;
	}
	CHECK(sums[0] > 0.37 && sums[0] < 0.42, "exact error %g", sums[0]);
	CHECK(sums[1] < sums[0] + 0.001, "one-pass error %g, exact %g", sums[1], sums[0]);
	CHECK(sums[2] > sums[0] + 0.01, "nystrom error %g, exact %g", sums[2], sums[0]);
	CHECK(sums[3] >= 0.99, "one-pass accuracy %g", sums[3]);
}

/*
 * Unit rows in 19 dimensions around seven directions, with r' = 7: the mean
 * error is within 2 % of the exact one and below that of Nystrom with 50
 * columns.
 */
static void
test_close_eigenvalues(void)
{
	size_t		n = 700;
	int			seeds = 10;
	double	   *x = unit_normals(n * 19, 0.0, 1.0, 77);
	double	   *directions = unit_normals(7 * 19, 0.7, 1.0, 78);
	double	   *k;
	fc_embedding exact;
	double		best;
	double		one_pass = 0.0;
	double		nystroem = 0.0;

	for (size_t i = 0; i < n; i++)
	{
		double		length = 0.0;

		for (size_t c = 0; c < 19; c++)
		{
			x[i * 19 + c] = 0.3 * x[i * 19 + c] + directions[i % 7 * 19 + c];
			length += x[i * 19 + c] * x[i * 19 + c];
		}
		for (size_t c = 0; c < 19; c++)
			x[i * 19 + c] /= sqrt(length);
	}
	k = kernel_matrix(&square_kernel, x, n, 19);
	exact = embed(EXACT, &square_kernel, x, n, 19, 2, 0, 0);
	best = relative_error_of(k, n, &exact);
	for (uint64_t seed = 0; seed < (uint64_t) seeds; seed++)
	{
		fc_embedding ours = embed(ONE_PASS, &square_kernel, x, n, 19, 2, 5, seed);
		fc_embedding theirs = embed(NYSTROEM, &square_kernel, x, n, 19, 2, 50, seed);

		one_pass += relative_error_of(k, n, &ours) / seeds;
		nystroem += relative_error_of(k, n, &theirs) / seeds;
	}
	CHECK(one_pass < 1.02 * best, "one pass %g, exact %g", one_pass, best);
	CHECK(one_pass < nystroem, "one pass %g, nystrom %g", one_pass, nystroem);
}

/* ---- algorithm 1 as the paper writes it ---- */

/*
 * Computes an orthonormal basis q (n x c) of the columns of w by modified
 * Gram-Schmidt, twice.
 */
static void
gram_schmidt(const double *w, size_t n, size_t c, double *q)
{
	memcpy(q, w, n * c * sizeof(double));
	for (size_t s = 0; s < c; s++)
		for (int pass = 0; pass < 2; pass++)
		{
			for (size_t t = 0; t < s; t++)
			{
				double		dot = cblas_ddot((int) n, q + s, (int) c, q + t, (int) c);

				for (size_t i = 0; i < n; i++)
					q[i * c + s] -= dot * q[i * c + t];
			}
			cblas_dscal((int) n, 1.0 / cblas_dnrm2((int) n, q + s, (int) c), q + s, (int) c);
		}
}

/*
 * Replaces b (c x c) by a^-1 b, by Gauss-Jordan with row pivots; overwrites a.
 */
static void
solve(double *a, size_t c, double *b)
{
	for (size_t s = 0; s < c; s++)
	{
		size_t		pivot = s;

		for (size_t r = s + 1; r < c; r++)
			if (fabs(a[r * c + s]) > fabs(a[pivot * c + s]))
				pivot = r;
		for (size_t j = 0; j < c; j++)
		{
			double		swap = a[s * c + j];

			a[s * c + j] = a[pivot * c + j];
			a[pivot * c + j] = swap;
			swap = b[s * c + j];
			b[s * c + j] = b[pivot * c + j];
			b[pivot * c + j] = swap;
		}
		for (size_t r = 0; r < c; r++)
			for (size_t j = 0; j < c && r != s; j++)
			{
				if (j > s)
					a[r * c + j] -= a[r * c + s] / a[s * c + s] * a[s * c + j];
				b[r * c + j] -= a[r * c + s] / a[s * c + s] * b[s * c + j];
			}
		for (size_t j = 0; j < c; j++)
			b[s * c + j] /= a[s * c + s];
		for (size_t j = s + 1; j < c; j++)
			a[s * c + j] /= a[s * c + s];
	}
}

/* out (c x c) = left' right, both n x c */
static void
cross(const double *left, const double *right, size_t n, size_t c, double *out)
{
	cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int) c, (int) c, (int) n, 1.0, left, (int) c, right, (int) c, 0.0, out, (int) c);
}

#define ALL 24					/* columns of the sketch: 16 and 8 probes */

/* Computes b (ALL x ALL) with B (Q' Omega) = Q' W, made symmetric. */
static void
small_matrix(const double *q, const double *omega, const double *w, size_t n, double *b)
{
	double		left[ALL * ALL];
	double		right[ALL * ALL];
	double		transposed[2][ALL * ALL];

	cross(q, omega, n, ALL, left);
	cross(q, w, n, ALL, right);
	for (size_t i = 0; i < ALL; i++)	/* B L = R <=> L' B' = R' */
		for (size_t j = 0; j < ALL; j++)
		{
			transposed[0][j * ALL + i] = left[i * ALL + j];
			transposed[1][j * ALL + i] = right[i * ALL + j];
		}
	solve(transposed[0], ALL, transposed[1]);
	for (size_t i = 0; i < ALL; i++)
		for (size_t j = 0; j < ALL; j++)
			b[i * ALL + j] = (transposed[1][i * ALL + j] + transposed[1][j * ALL + i]) / 2.0;
}

/*
 * Computes Q (QR), B, its `rank` leading eigenpairs and K^ = Q V S V' Q' as in
 * the paper: K^ equals Y Y' of the projection, to 1e-5.
 */
static void
test_algorithm_1(void)
{
	size_t		n = 200;
	size_t		rank = 6;
	double	   *x = unit_normals(n * 3, 0.0, 1.0, 4);
	const fc_kernel *kernel = &test_kernels[4];
	double	   *k = kernel_matrix(kernel, x, n, 3);
	fc_embedding e = embed(ONE_PASS, kernel, x, n, 3, rank, 10, 11);
	int8_t	   *signs = unit_alloc(n * ALL, sizeof(int8_t));
	double	   *omega = unit_alloc(n * ALL, sizeof(double));
	double	   *w = unit_alloc(n * ALL, sizeof(double));
	double	   *q = unit_alloc(n * ALL, sizeof(double));
	double		b[ALL * ALL];
	double		values[ALL];
	double		vectors[ALL * ALL];
	size_t		columns[16];
	double		scale = 0.0;
	double		worst = 0.0;

	CHECK(fc_kernel_projection_probes(16, false) == ALL - 16, "%zu probes", fc_kernel_projection_probes(16, false));
	fc_choose_distinct(11, 256, 16, columns);
	fc_sign_columns(11, columns, 16, ALL - 16, 0, n, signs);
	for (size_t i = 0; i < n * ALL; i++)
		omega[i] = (double) signs[i] / 16.0;
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int) n, ALL, (int) n, 1.0, k, (int) n, omega, ALL, 0.0, w, ALL);
	gram_schmidt(w, n, ALL, q);
	small_matrix(q, omega, w, n, b);
	fc_leading_eigen(b, ALL, rank, unit_work(), values, vectors);
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) n, (int) rank, ALL, 1.0, q, ALL, vectors, ALL, 0.0, w, (int) rank);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
		{
			double		value = 0.0;

			for (size_t s = 0; s < rank; s++)
				value += values[s] * w[i * rank + s] * w[j * rank + s] - (double) e.y[i * rank + s] * (double) e.y[j * rank + s];
			worst = fmax(worst, fabs(value));
			scale = fmax(scale, k[i * n + j]);
		}
	CHECK(worst < 1e-5 * scale, "differs by %g of %g", worst, scale);
	for (size_t s = 0; s < rank; s++)
		CHECK(fabs(values[s] - e.eigenvalues[s]) < 1e-5 * values[0], "eigenvalue %zu: %g, not %g", s, e.eigenvalues[s], values[s]);
}

/* ---- properties of all methods ---- */

/*
 * Columns of Y are orthogonal and their squared lengths are the eigenvalues,
 * in descending order; the largest entry of a column is positive.
 */
static void
test_coordinates(method how, const fc_kernel *kernel)
{
	size_t		n = 300;
	size_t		rank = 6;
	double	   *x = unit_normals(n * 4, 0.2, 1.0, 8);
	fc_embedding e = embed(how, kernel, x, n, 4, rank, 30, 1);

	for (size_t r = 0; r < rank; r++)
	{
		float		deciding = 0.0f;

		for (size_t s = 0; s <= r; s++)
		{
			double		dot = 0.0;

			for (size_t i = 0; i < n; i++)
				dot += (double) e.y[i * rank + r] * (double) e.y[i * rank + s];
			CHECK(fabs(dot - (r == s ? e.eigenvalues[r] : 0.0)) < 1e-5 * e.eigenvalues[0],
				  "method %d: <%zu, %zu> = %g, eigenvalue %g", (int) how, r, s, dot, e.eigenvalues[r]);
		}
		CHECK(r == 0 || e.eigenvalues[r] <= e.eigenvalues[r - 1], "eigenvalue %zu", r);
		for (size_t i = 0; i < n; i++)
			if (fc_decides_sign(e.y[i * rank + r], deciding))
				deciding = e.y[i * rank + r];
		CHECK(deciding >= 0.0f, "column %zu has its sign from %g", r, (double) deciding);
	}
}

/*
 * <x, y>^2 in the plane has rank 3: every method finds it, and no further
 * eigenvalue, in single precision.
 */
static void
test_low_rank(void)
{
	size_t		n = 400;
	double	   *x = unit_normals(n * 2, 0.0, 1.0, 2);
	double	   *k = kernel_matrix(&square_kernel, x, n, 2);

	for (method how = ONE_PASS; how <= EXACT; how++)
	{
		fc_embedding e = embed(how, &square_kernel, x, n, 2, 5, 12, 3);

		CHECK(relative_error_of(k, n, &e) < 1e-5, "method %d: error %g", (int) how, relative_error_of(k, n, &e));
		CHECK(e.relative_error < 1e-3, "method %d says %g", (int) how, e.relative_error);
		CHECK(e.eigenvalues[3] < 1e-5 * e.eigenvalues[0], "method %d: a fourth eigenvalue %g", (int) how, e.eigenvalues[3]);
	}
}

/* Up to 4096 rows the error is exact, with and without probes. */
static void
test_exact_error(void)
{
	size_t		n = 500;
	double	   *x = unit_normals(n * 3, 0.0, 1.0, 6);
	const fc_kernel *kernel = &test_kernels[6];
	double	   *k = kernel_matrix(kernel, x, n, 3);

	for (size_t rank = 1; rank <= 64; rank *= 2)
	{
		fc_embedding e;
		double		truth;

		published = rank % 2 == 0 && rank % 8 != 0;
		e = embed(ONE_PASS, kernel, x, n, 3, rank, 10, rank);
		truth = relative_error_of(k, n, &e);
		CHECK(fabs(e.relative_error - truth) < 1e-5 * truth + 1e-6 && e.error_deviation <= 1.001e-6 * truth, "rank %zu: says %g, is %g", rank,
			  e.relative_error, truth);
	}
	published = false;
}

/*
 * Beyond 4096 rows, the mean of 20 estimates is within 0.5 % of the truth, the
 * deviation is right within a factor of 1.5, and no estimate is more than two
 * deviations below the error of the exact decomposition.
 */
static void
test_sampled_error(const fc_kernel *kernel, size_t rank)
{
	size_t		n = 4100;
	int			seeds = 20;
	double	   *x = unit_normals(n * 3, 0.0, 1.0, 6);
	double	   *k = kernel_matrix(kernel, x, n, 3);
	double		best = embed(EXACT, kernel, x, n, 3, rank, 0, 0).relative_error;
	double		mean = 0.0;
	double		square = 0.0;
	double		stated = 0.0;

	for (uint64_t seed = 0; seed < (uint64_t) seeds; seed++)
	{
		fc_embedding e = embed(ONE_PASS, kernel, x, n, 3, rank, 10, seed);
		double		truth = relative_error_of(k, n, &e);
		double		difference = (e.relative_error - truth) / truth;

		CHECK(e.relative_error >= best - 2.0 * e.error_deviation, "says %g +- %g, is at least %g", e.relative_error,
			  e.error_deviation, best);
		mean += difference / seeds;
		square += difference * difference / seeds;
		stated += e.error_deviation / truth * (e.error_deviation / truth) / seeds;
	}
	CHECK(fabs(mean) < 0.005, "rank %zu: mean difference %g of the error", rank, mean);
	CHECK(square < 2.25 * stated && stated < 2.25 * square, "rank %zu: deviation %g, stated %g", rank, sqrt(square), sqrt(stated));
}

/* Returns the records of a kernel matrix (n x n) for one pass. */
static double *
records_of(const fc_kernel_pass *pass, const double *k, int8_t *omega)
{
	size_t		size = fc_kernel_record(pass);
	double	   *records = unit_alloc(pass->n * size, sizeof(double));
	double	   *signs = unit_alloc(FC_KERNEL_BLOCK * pass->c, sizeof(double));

	fc_kernel_draw(pass, omega);
	for (size_t i = pass->n; i-- > 0;)
		fc_kernel_read_row(pass, omega, i, k + i * pass->n, signs, records + i * size);
	return records;
}

/*
 * A matrix that arrives row by row has the coordinates of its rows, to 1e-6 of
 * the largest, and an error within four deviations of the truth; an asymmetry
 * is noticed.
 */
static void
test_records(size_t n, bool as_published)
{
	const fc_kernel *kernel = &test_kernels[6];
	double	   *x = unit_normals(n * 3, 0.0, 1.0, 21);
	double	   *k = kernel_matrix(kernel, x, n, 3);
	fc_kernel_pass pass = fc_kernel_pass_of(n, 4, 10, as_published, 9);
	int8_t	   *omega = unit_alloc(n * pass.c, 1);
	fc_embedding e = new_embedding(n, 4);
	fc_embedding of_rows;
	fc_arena	arena = unit_arena();
	double		truth;
	double		asymmetry;
	double		worst = 0.0;

	published = as_published;
	of_rows = embed(ONE_PASS, kernel, x, n, 3, 4, 10, 9);
	published = false;
	CHECK(pass.probes == (as_published ? 0 : 10) && pass.columns == 14, "%zu probes", pass.probes);
	CHECK(fc_kernel_project_records(&pass, omega, records_of(&pass, k, omega), &arena, &e, &asymmetry) == FC_OK && asymmetry < 1e-12,
		  "asymmetry %g", asymmetry);
	truth = relative_error_of(k, n, &e);
	for (size_t i = 0; i < n * 4; i++)
		worst = fmax(worst, fabs((double) e.y[i] - (double) of_rows.y[i]));
	/*
	 * Kernel values of rows are computed in single precision: the coordinates
	 * differ by up to 1e-6 with the matrix products of one processor and by
	 * 1.6e-6 with those of another.
	 */
	CHECK(worst < 4e-6, "coordinates differ by %g", worst);
	CHECK(fabs(e.relative_error - truth) <= 4.0 * e.error_deviation + 1e-6 && (e.error_deviation > 1e-5) == (n > 362),
		  "%zu rows: says %g +- %g, is %g", n, e.relative_error, e.error_deviation, truth);
	k[1] += 0.1;
	CHECK(fc_kernel_project_records(&pass, omega, records_of(&pass, k, omega), &arena, &e, &asymmetry) == FC_OK && asymmetry > 1e-4,
		  "asymmetry %g", asymmetry);
	k[0] = 1e38;
	CHECK(fc_kernel_project_records(&pass, omega, records_of(&pass, k, omega), &arena, &e, &asymmetry) == FC_EFAR, "too large");
	memset(k, 0, n * n * sizeof(double));
	CHECK(fc_kernel_project_records(&pass, omega, records_of(&pass, k, omega), &arena, &e, &asymmetry) == FC_OK &&
		  e.eigenvalues[0] == 0.0 && e.relative_error == 0.0, "a zero matrix has eigenvalue %g", e.eigenvalues[0]);
	CHECK(arena.allocated == 0, "arena not released");
}

/*
 * Eigenpairs of a matrix above the size that LAPACK decomposes whole are
 * iterated, with residuals below 1e-4; below it they are consistent.
 */
static void
test_iterated_eigen(void)
{
	size_t		n = 700;
	double	   *x = unit_normals(n * 3, 0.0, 1.0, 12);
	double	   *k = kernel_matrix(&test_kernels[6], x, n, 3);
	double	   *copy = unit_alloc(n * n, sizeof(double));
	double		values[8];
	double	   *vectors = unit_alloc(8 * n, sizeof(double));
	fc_arena	arena = unit_arena();
	double		trace = 0.0;

	memcpy(copy, k, n * n * sizeof(double));
	fc_leading_eigen(copy, n, 8, &arena, values, vectors);
	for (size_t j = 0; j < 8; j++)
	{
		double		worst = 0.0;

		trace += values[j];
		for (size_t i = 0; i < n; i++)
			worst = fmax(worst, fabs(cblas_ddot((int) n, k + i * n, 1, vectors + j * n, 1) - values[j] * vectors[j * n + i]));
		CHECK(worst < 1e-4 * values[0], "residual %g of pair %zu", worst, j);
		CHECK(fabs(cblas_dnrm2((int) n, vectors + j * n, 1) - 1.0) < 1e-12, "length of %zu", j);
	}
	CHECK(trace < (double) n, "eigenvalues beyond the trace");
	n = FC_EIGEN_WHOLE;			/* whole: a principal submatrix has smaller eigenvalues */
	for (size_t i = 0; i < n; i++)
		memcpy(copy + i * n, k + i * 700, n * sizeof(double));
	trace = values[0];
	fc_leading_eigen(copy, n, 1, &arena, values, vectors);
	CHECK(values[0] <= trace && values[0] > 0.6 * trace, "interlacing: %g, whole %g", trace, values[0]);
}

/* The order of the rows does not matter if `order` restores it, to the bit. */
static void
test_order_of_rows(void)
{
	size_t		n = 300;
	double	   *x = unit_normals(n * 3, 0.0, 1.0, 14);
	double	   *shuffled = unit_alloc(3 * n, sizeof(double));
	size_t	   *order = unit_alloc(n, sizeof(size_t));
	fc_kernel_input input = {.doubles = shuffled,.order = order,.n = n,.d = 3};

	for (size_t i = 0; i < n; i++)
	{
		order[i] = i * 7 % n;
		memcpy(shuffled + order[i] * 3, x + i * 3, 3 * sizeof(double));
	}
	for (method how = ONE_PASS; how <= EXACT; how++)
	{
		fc_embedding straight = embed(how, &test_kernels[6], x, n, 3, 4, 20, 5);
		fc_embedding e = new_embedding(n, 4);

		CHECK(call(how, &test_kernels[6], &input, 20, 5, unit_work(), &e) == FC_OK, "the embedding fails");
		CHECK(memcmp(e.y, straight.y, n * 4 * sizeof(float)) == 0, "method %d depends on the order", (int) how);
	}
}

/* Equal rows have a single eigenvalue, and zero rows finite coordinates. */
static void
test_degenerate(void)
{
	double		x[12] = {1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2};
	double		zero[12] = {0};

	for (method how = ONE_PASS; how <= EXACT; how++)
		for (size_t n = 1; n <= 6; n += 5)
			for (size_t i = 0; i < TEST_KERNELS; i++)
			{
				const fc_kernel *kernel = &test_kernels[i];
				double		value = kernel_of_rows(kernel, x, x, 2);
				fc_embedding e = embed(how, kernel, x, n, 2, 9, 10, 1);

				CHECK(fabs(e.eigenvalues[0] - (double) n * value) < 1e-5 * (double) n * value && e.eigenvalues[1] <= 1e-6 * e.eigenvalues[0],
					  "method %d, %zu equal rows: %g, %g", (int) how, n, e.eigenvalues[0], e.eigenvalues[1]);
				CHECK(fabs((double) e.y[0] - sqrt(value)) < 1e-5 * sqrt(value), "y = %g, not %g", (double) e.y[0], sqrt(value));
				e = embed(how, kernel, zero, n, 2, 2, 10, 1);
				CHECK(isfinite(e.y[0]) && isfinite(e.eigenvalues[0]), "method %d: zero rows", (int) how);
			}
}

int
main(void)
{
	test_disc_and_ring();
	test_close_eigenvalues();
	test_algorithm_1();
	for (method how = ONE_PASS; how <= EXACT; how++)
	{
		for (size_t i = 0; i < TEST_KERNELS; i++)
			test_coordinates(how, &test_kernels[i]);
	}
	test_low_rank();
	test_exact_error();
	test_sampled_error(&test_kernels[6], 3);
	test_sampled_error(&test_kernels[4], 2);
	for (size_t n = 300; n <= 900; n += 600)
	{
		test_records(n, false);
		test_records(n, true);
	}
	test_iterated_eigen();
	test_order_of_rows();
	test_degenerate();
	return unit_finish();
}

/*
 * test_kernel_map.c - Nystrom features of an operator's landmarks reproduce
 * the kernel to 1e-3 or better; damaged bytes of maps and projections are
 * refused
 */
#include "kernels.h"
#include "rkhs/map.h"
#include "rkhs/projection.h"

#define K	24
#define D	5

typedef struct fixture
{
	double		offset[D];
	double		weights[K];
	float		half_norms[K];
	float		dense[K * D];
	float		left[K * 4];
	float		right[4 * D];
	uint32_t	left_start[K + 1];
	uint32_t	left_column[K * 4];
	fc_operator op;
	fc_operator_header *bytes;
	size_t		size;
	fc_kernel_map_header *header;
	size_t		map_size;
	size_t		found;			/* rank of the landmarks */
	fc_kernel_map map;
	fc_scratch	scratch;
} fixture;

typedef enum shape
{
	CODEBOOK,
	DENSE,						/* two dense factors of inner dimension 4 */
	SPARSE						/* the same with a sparse first factor */
} shape;

/* Makes an operator of K landmarks around an offset, which may be 0. */
static void
make_operator(fixture *f, shape factored, double offset)
{
	fc_rng		rng = fc_rng_start(17, 0);
	fc_scratch	scratch;

	memset(f, 0, sizeof(*f));
	for (size_t i = 0; i < K * D; i++)
		f->dense[i] = (float) fc_rng_normal(&rng);
	for (size_t i = 0; i < K * 4; i++)
		f->left[i] = (float) fc_rng_normal(&rng);
	for (size_t i = 0; i < 4 * D; i++)
		f->right[i] = (float) fc_rng_normal(&rng);
	for (size_t i = 0; i < D; i++)
		f->offset[i] = offset;
	f->op = (fc_operator) {.k = K,.d = D,.offset = offset != 0.0 ? f->offset : NULL,.half_norms = f->half_norms,
		.weights = f->weights,.factors = factored ? 2 : 1,.factor = {{.rows = K,.columns = D,.nonzeros = K * D,.values = f->dense}}};
	for (uint32_t i = 0; i <= K; i++)
		f->left_start[i] = 4 * i;
	for (uint32_t i = 0; i < K * 4; i++)
		f->left_column[i] = i % 4;
	if (factored)
	{
		f->op.factor[0] = (fc_factor) {.rows = K,.columns = 4,.nonzeros = K * 4,.values = f->left};
		f->op.factor[1] = (fc_factor) {.rows = 4,.columns = D,.nonzeros = 4 * D,.values = f->right};
	}
	if (factored == SPARSE)
	{
		f->op.factor[0].row_start = f->left_start;
		f->op.factor[0].column = f->left_column;
	}
	scratch = unit_scratch(fc_operator_scratch(&f->op));
	fc_operator_measure(&f->op, scratch, f->half_norms);
	f->size = fc_operator_size(&f->op);
	f->bytes = unit_alloc(f->size, 1);
	fc_operator_write(&f->op, f->bytes);
}

static void
make_map(fixture *f, const fc_kernel *kernel, size_t rank)
{
	size_t		pairs = fc_kernel_map_pairs(K, rank);
	double	   *norms = unit_alloc(K, sizeof(double));
	double	   *t = unit_alloc(pairs * K, sizeof(double));
	fc_status	status = fc_kernel_map_solve(&f->op, kernel, rank, unit_work(), norms, t, &f->found);

	CHECK(status == FC_OK, "status %d", (int) status);
	pairs = rank == 0 ? f->found : pairs;
	f->map_size = fc_kernel_map_size(K, pairs, f->size);
	f->header = unit_alloc(f->map_size, 1);
	fc_kernel_map_write(kernel, pairs, false, norms, t, f->bytes, f->size, f->header);
	CHECK(fc_kernel_map_check(f->header, f->map_size) == FC_OK, "a new map is not valid");
	fc_kernel_map_view(f->header, &f->map);
	f->scratch = unit_scratch(fc_kernel_map_scratch(&f->map));
}

static double
dot(const float *a, const float *b, size_t n)
{
	double		sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += (double) a[i] * (double) b[i];
	return sum;
}

/*
 * phi(u_i).phi(x) = kappa(u_i, x): at full rank, the features of a landmark
 * and of any row have the kernel as their product, prepared or not.
 */
static void
test_landmarks(const fc_kernel *kernel, shape factored, bool prepared, double offset, double tolerance)
{
	fc_arena	arena = unit_arena();
	fixture		f;
	float		of_landmark[K];
	float		of_row[K];
	double		landmark[D];
	double	   *rows = unit_normals(10 * D, offset, 1.0, 3);
	double		worst = 0.0;
	double		largest = 0.0;

	make_operator(&f, factored, offset);
	make_map(&f, kernel, 0);
	if (prepared)
	{
		fc_kernel_map_prepare(&f.map, &arena);
		CHECK((arena.allocated > 0) == (factored == SPARSE || (factored == DENSE && kernel->kind == FC_KERNEL_RBF)), "%zu bytes prepared", arena.allocated);
	}
	CHECK(f.found >= 1 && f.found <= K && f.map.rank == f.found, "rank %zu", f.found);
	for (size_t j = 0; j < K; j++)
	{
		fc_operator_row(&f.op, j, f.scratch, landmark);
		fc_kernel_map_features(&f.map, landmark, f.scratch, of_landmark);
		for (size_t i = 0; i < 10; i++)
		{
			double		exact = kernel_of_rows(kernel, landmark, rows + i * D, D);

			fc_kernel_map_features(&f.map, rows + i * D, f.scratch, of_row);
			worst = fmax(worst, fabs(dot(of_landmark, of_row, f.map.rank) - exact));
			largest = fmax(largest, fabs(exact));
		}
	}
	CHECK(worst < tolerance * largest, "kernel %d, degree %d, shape %d%s, offset %g: %g of %g, rank %zu", kernel->kind, kernel->degree,
		  (int) factored, prepared ? ", prepared" : "", offset, worst, largest, f.found);
}

/* Rows far beyond the landmarks keep their products with them. */
static void
test_far_rows(bool factored)
{
	fixture		f;
	double		landmark[D];
	double		x[D] = {1e14, -2e14, 0, 3e13, 1e14};
	float		y[2][K];

	make_operator(&f, factored ? DENSE : CODEBOOK, 2.0);
	make_map(&f, &test_kernels[0], 0);
	fc_kernel_map_features(&f.map, x, f.scratch, y[0]);
	for (size_t j = 0; j < K; j++)
	{
		double		exact;

		fc_operator_row(&f.op, j, f.scratch, landmark);
		exact = kernel_of_rows(&test_kernels[0], landmark, x, D);
		fc_kernel_map_features(&f.map, landmark, f.scratch, y[1]);
		CHECK(fabs(dot(y[0], y[1], f.map.rank) - exact) < 1e10, "landmark %zu: %g, exactly %g", j, dot(y[0], y[1], f.map.rank), exact);
	}
}

/*
 * rbf with sparse factors, prepared or not: a row far from all landmarks has
 * zero features. A row whose products exceed floats has features that are not
 * finite, and so equal no landmark's.
 */
static void
test_far_rbf(bool prepared)
{
	static const fc_kernel rbf = {.version = FC_KERNEL_VERSION,.kind = FC_KERNEL_RBF,.gamma = 0.5};
	fixture		f;
	double		x[D] = {1e4, -1e4, 0, 1e4, 0};
	float		y[K];

	make_operator(&f, SPARSE, 0.0);
	make_map(&f, &rbf, 0);
	if (prepared)
		fc_kernel_map_prepare(&f.map, unit_work());
	fc_kernel_map_features(&f.map, x, f.scratch, y);
	for (size_t j = 0; j < f.map.rank; j++)
		CHECK(y[j] == 0.0f, "far row, prepared %d: coordinate %zu is %g", prepared, j, (double) y[j]);
	for (size_t i = 0; i < D; i++)
		x[i] = 1e38;
	fc_kernel_map_features(&f.map, x, f.scratch, y);
	CHECK(!fc_all_finite_float(y, f.map.rank), "products overflow, prepared %d: %g", prepared, (double) y[0]);
}

/* Features of a smaller rank are the first coordinates of a larger one. */
static void
test_rank(void)
{
	fixture		f;
	size_t		ranks[2] = {3, K + 5};
	double		x[D] = {0.1, -1, 2, 0, 0.5};
	float		y[2][K];

	make_operator(&f, CODEBOOK, 0.0);
	for (int i = 0; i < 2; i++)
	{
		make_map(&f, &test_kernels[6], ranks[i]);
		fc_kernel_map_features(&f.map, x, f.scratch, y[i]);
		CHECK(f.map.rank == (i == 0 ? 3 : K), "rank %zu of %zu", f.map.rank, ranks[i]);
	}
	for (int j = 0; j < 3; j++)
		CHECK(y[0][j] == y[1][j] && y[0][j] != 0.0f, "coordinate %d: %g, %g", j, (double) y[0][j], (double) y[1][j]);
}

/* A map of unit features gives the plain features scaled to length 1. */
static void
test_unit(shape factored)
{
	fixture		f;
	fc_kernel_map unit;
	double	   *x = unit_normals(20 * D, 0.3, 1.0, 9);

	make_operator(&f, factored, 0.0);
	make_map(&f, &test_kernels[6], 4);
	f.header->unit = 1;
	fc_kernel_map_view(f.header, &unit);
	for (size_t r = 0; r < 20; r++)
	{
		float		y[4];
		float		z[4];
		double		square = 0.0;

		fc_kernel_map_features(&f.map, x + r * D, f.scratch, y);
		fc_kernel_map_features(&unit, x + r * D, f.scratch, z);
		for (size_t c = 0; c < 4; c++)
			square += (double) y[c] * (double) y[c];
		for (size_t c = 0; c < 4; c++)
			CHECK(fabs((double) z[c] - (double) y[c] / sqrt(square)) < 1e-6, "row %zu: %g of %g", r, (double) z[c], (double) y[c]);
	}
}

/* Any changed byte after the length word, and any other length, is refused. */
static void
test_map_bytes(void)
{
	fixture		f;

	make_operator(&f, DENSE, 1.0);
	make_map(&f, &test_kernels[3], 4);
	for (size_t at = 4; at < f.map_size; at++)
	{
		((uint8_t *) f.header)[at] ^= 0x41;
		CHECK(fc_kernel_map_check(f.header, f.map_size) == FC_EFORMAT, "byte %zu of %zu", at, f.map_size);
		((uint8_t *) f.header)[at] ^= 0x41;
	}
	for (size_t length = 0; length < f.map_size; length += 8)
		CHECK(fc_kernel_map_check(f.header, length) == FC_EFORMAT, "length %zu of %zu", length, f.map_size);
	CHECK(fc_kernel_map_check(f.header, f.map_size) == FC_OK, "restored bytes are refused");
}

/* Every invalid field of a stored projection is refused. */
static void
test_projection_bytes(void)
{
	size_t		n = 5;
	size_t		size = fc_kernel_projection_size(n, 3);
	fc_kernel_projection_header *header = unit_alloc(size, 1);

	*header = (fc_kernel_projection_header) {.version = FC_KERNEL_PROJECTION_VERSION,.method = FC_KERNEL_ONE_PASS,
		.kernel = square_kernel,.n = n,.d = 2,.rank = 3,.columns = 8,.oversampling = 5,.relative_error = 0.5};
	for (size_t i = 0; i < n; i++)
		fc_kernel_projection_ids(header)[i] = (int64_t) i - 2;
	for (size_t j = 0; j < 3; j++)
		fc_kernel_projection_eigenvalues(header)[j] = 3.0 - (double) j;
	CHECK(size % 8 == 0 && fc_kernel_projection_check(header, size) == FC_OK, "a new projection is not valid");
#define SPOILED(place, bad) \
	do { \
		__typeof__(place) good = place; \
		place = bad; \
		CHECK(fc_kernel_projection_check(header, size) == FC_EFORMAT, "accepted: " #place " = " #bad); \
		place = good; \
	} while (0)
	SPOILED(header->version, 2);
	SPOILED(header->method, 0);
	SPOILED(header->method, 5);
	SPOILED(header->method, FC_KERNEL_EXACT);
	SPOILED(header->error_deviation, -1.0);
	SPOILED(header->error_deviation, NAN);
	SPOILED(header->kernel.degree, 0);
	SPOILED(header->n, 6);
	SPOILED(header->n, UINT64_MAX / 8);
	SPOILED(header->rank, 4);
	SPOILED(header->d, 0);
	SPOILED(header->relative_error, -0.5);
	SPOILED(header->relative_error, INFINITY);
	SPOILED(fc_kernel_projection_eigenvalues(header)[1], 4.0);
	SPOILED(fc_kernel_projection_eigenvalues(header)[2], -1.0);
	SPOILED(fc_kernel_projection_ids(header)[3], 0);
	SPOILED(fc_kernel_projection_rows(header)[14], NAN);
	SPOILED(fc_kernel_projection_rows(header)[15], 1.0f);
	CHECK(fc_kernel_projection_check(header, size - 8) == FC_EFORMAT, "bytes that are too short are accepted");
	CHECK(fc_kernel_projection_check(header, size) == FC_OK, "restored bytes are refused");
	CHECK(fc_kernel_projection_size(SIZE_MAX / 8, 100) == SIZE_MAX, "the size does not overflow to SIZE_MAX");
}

int
main(void)
{
	for (size_t i = 0; i < TEST_KERNELS; i++)
	{
		for (int prepared = 0; prepared < 2; prepared++)
		{
			test_landmarks(&test_kernels[i], CODEBOOK, prepared, 0.0, 1e-4);
			test_landmarks(&test_kernels[i], CODEBOOK, prepared, 3.0, 1e-4);
			test_landmarks(&test_kernels[i], DENSE, prepared, 0.0, 1e-3);
			test_landmarks(&test_kernels[i], SPARSE, prepared, 3.0, 1e-3);
		}
	}
	test_landmarks(&test_kernels[6], CODEBOOK, false, 1e4, 1e-4);
	test_far_rows(false);
	test_far_rows(true);
	test_far_rbf(false);
	test_far_rbf(true);
	test_rank();
	test_unit(CODEBOOK);
	test_unit(DENSE);
	test_map_bytes();
	test_projection_bytes();
	return unit_finish();
}

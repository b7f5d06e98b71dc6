/*
 * projection.c - W = K Omega, and what follows from it; see the header.
 *
 * Omega' W (r' x r') = V L V';  E = W V L^-1/2 over L_j > 1e-10 L_1 (W comes from single-precision
 * blocks: its noise, relative to the first eigenvalue of K, is about 1e-8);  Y from E by fc_kernel_embed.
 *
 * Error.  First Y comes from the r' columns alone, and probes z (the other columns) measure E = K - Y Y': each
 * has two unbiased estimates of ||E||^2,
 *     ||E z||^2      and      ||K||^2 - ||Y Y'||^2 - 2 (Y Y' z).(E z)
 * where ||K||^2 is summed in the pass and ||Y Y'||^2 is the sum of the squared eigenvalues.  The second hardly
 * varies when Y spans leading eigenvectors, the first is better for small errors: that of less variance is taken.
 * Then Y comes from all columns.  It is better than what was measured, and since W (Omega' W)^+ W' <= K
 *     ||K - Y Y'||^2 <= ||K||^2 - ||Y Y'||^2
 * holds for it: the lower of the two is reported.
 */
#include "rkhs/projection.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "base/sizes.h"
#include "numerics/leading_eigen.h"
#include "rkhs/columns.h"

#define EIGENVALUE_FLOOR	1e-10
#define TILE	256
#define LEAST_PROBES	4
#define MOST_PROBES		11
#define CANCELLED_SHARE	1e-5	/* of ||K||^2: less is rounding */

typedef struct projection_work
{
	size_t		columns;
	size_t		probes;
	size_t		c;				/* columns + probes */
	size_t	   *column;			/* columns */
	int8_t	   *omega;			/* n x c */
	double	   *w;				/* n x c */
	double	   *inner;			/* c x c */
	double	   *values;			/* c */
	double	   *vectors;		/* c x c */
	double	   *t;				/* c x c */
	double	   *signs;			/* TILE x c */
	double	   *y;				/* TILE x rank */
	double	   *along;			/* rank x probes: Y' Z */
	double	   *image;			/* TILE x probes: Y Y' Z */
} projection_work;

size_t
fc_kernel_projection_columns(size_t n, size_t rank, size_t oversampling)
{
	size_t		order = 1;

	while (order < n)
		order *= 2;
	return rank + oversampling < order ? rank + oversampling : order;
}

size_t
fc_kernel_projection_probes(size_t columns)
{
	return LEAST_PROBES + (8 - (columns + LEAST_PROBES) % 8) % 8;
}

static void
take_work(fc_arena *arena, size_t n, size_t rank, size_t oversampling, projection_work *k)
{
	size_t		columns = fc_kernel_projection_columns(n, rank, oversampling);

	k->columns = columns;
	k->probes = fc_kernel_projection_probes(columns);
	k->c = columns + k->probes;
	k->column = FC_TAKE(arena, columns, size_t);
	k->omega = FC_TAKE(arena, n * k->c, int8_t);
	k->w = FC_TAKE(arena, n * k->c, double);
	k->inner = FC_TAKE(arena, k->c * k->c, double);
	k->values = FC_TAKE(arena, k->c, double);
	k->vectors = FC_TAKE(arena, k->c * k->c, double);
	k->t = FC_TAKE(arena, k->c * k->c, double);
	k->signs = FC_TAKE(arena, TILE * k->c, double);
	k->y = FC_TAKE(arena, TILE * rank, double);
	k->along = FC_TAKE(arena, rank * k->probes, double);
	k->image = FC_TAKE(arena, TILE * k->probes, double);
}

size_t
fc_kernel_projection_worksize(const fc_kernel *kernel, size_t n, size_t d, size_t rank, size_t oversampling)
{
	fc_arena	measure = fc_arena_measure();
	projection_work k;

	take_work(&measure, n, rank, oversampling, &k);
	fc_arena_reserve(&measure, fc_kernel_rows_size(kernel, n, d, false));
	fc_arena_reserve(&measure, larger(fc_kernel_embed_worksize(k.c), fc_leading_eigen_worksize(k.c, k.c)));
	fc_arena_reserve(&measure, fc_kernel_multiply_worksize(k.c));
	return fc_arena_measured(&measure);
}

static inline size_t
tile_of(size_t n, size_t start)
{
	return n - start < TILE ? n - start : TILE;
}

static void
draw_omega(size_t n, uint64_t seed, projection_work *k)
{
	size_t		order = 1;

	while (order < n)
		order *= 2;
	fc_choose_distinct(seed, order, k->columns, k->column);
	for (size_t start = 0; start < n; start += TILE)
	{
		fc_check();
		fc_sign_columns(seed, k->column, k->columns, k->probes, start, tile_of(n, start), k->omega + start * k->c);
	}
}

/* Columns first .. of a tile of Omega, as doubles without gaps. */
static void
read_signs(const projection_work *k, size_t start, size_t rows, size_t first, size_t count)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t s = 0; s < count; s++)
			k->signs[i * count + s] = (double) k->omega[(start + i) * k->c + first + s];
}

/* inner = the symmetric part of Omega' W, first `count` columns of both */
static void
inner_matrix(size_t n, size_t count, projection_work *k)
{
	int			columns = (int) count;

	memset(k->inner, 0, count * count * sizeof(double));
	for (size_t start = 0; start < n; start += TILE)
	{
		size_t		rows = tile_of(n, start);

		fc_check();
		read_signs(k, start, rows, 0, count);
		cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, columns, columns, (int) rows, 1.0, k->signs, columns,
					k->w + start * k->c, (int) k->c, 1.0, k->inner, columns);
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
		{
			double		mean = (k->inner[i * count + j] + k->inner[j * count + i]) / 2.0;

			k->inner[i * count + j] = k->inner[j * count + i] = mean;
		}
}

/* Y from the first `count` columns. */
static fc_status
coordinates(size_t n, size_t count, double scale, fc_arena *arena, projection_work *k, fc_embedding *result)
{
	fc_status	status;
	size_t		found;

	inner_matrix(n, count, k);
	status = fc_leading_eigen(k->inner, count, count, arena, k->values, k->vectors);
	if (status != FC_OK)
		return status;
	found = fc_inverse_root(k->values, k->vectors, count, count, EIGENVALUE_FLOOR, k->t);
	return fc_kernel_embed(k->w, n, count, k->c, k->t, found, scale, arena, result);
}

/* ---- how good it is ---- */

static void
read_coordinates(const projection_work *k, const fc_embedding *result, size_t start, size_t rows, double scale)
{
	for (size_t i = 0; i < rows * result->rank; i++)
		k->y[i] = (double) result->y[start * result->rank + i] / sqrt(scale);
}

/* Y' Z */
static void
project_probes(size_t n, double scale, const fc_embedding *result, projection_work *k)
{
	int			rank = (int) result->rank;
	int			probes = (int) k->probes;

	memset(k->along, 0, result->rank * k->probes * sizeof(double));
	for (size_t start = 0; start < n; start += TILE)
	{
		size_t		rows = tile_of(n, start);

		fc_check();
		read_signs(k, start, rows, k->columns, k->probes);
		read_coordinates(k, result, start, rows, scale);
		cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, rank, probes, (int) rows, 1.0, k->y, rank,
					k->signs, probes, 1.0, k->along, probes);
	}
}

/* By probe: (Y Y' z).(E z) and ||E z||^2 */
static void
compare_probes(size_t n, double scale, const fc_embedding *result, const projection_work *k,
			   double *cross, double *left)
{
	int			rank = (int) result->rank;
	int			probes = (int) k->probes;

	memset(cross, 0, k->probes * sizeof(double));
	memset(left, 0, k->probes * sizeof(double));
	for (size_t start = 0; start < n; start += TILE)
	{
		size_t		rows = tile_of(n, start);

		fc_check();
		read_coordinates(k, result, start, rows, scale);
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int) rows, probes, rank, 1.0, k->y, rank,
					k->along, probes, 0.0, k->image, probes);
		for (size_t i = 0; i < rows; i++)
			for (size_t s = 0; s < k->probes; s++)
			{
				double		image = k->image[i * k->probes + s];
				double		error = k->w[(start + i) * k->c + k->columns + s] - image;

				cross[s] += image * error;
				left[s] += error * error;
			}
	}
}

static double
mean_of(const double *values, size_t count, double *variance)
{
	double		mean = 0.0;

	for (size_t i = 0; i < count; i++)
		mean += values[i] / (double) count;
	*variance = 0.0;
	for (size_t i = 0; i < count; i++)
		*variance += (values[i] - mean) * (values[i] - mean) / (double) (count - 1);
	return mean;
}

/* ||Y Y'||_F^2 / scale^2 */
static double
explained_square(const fc_embedding *result, double scale)
{
	double		sum = 0.0;

	for (size_t j = 0; j < result->rank; j++)
		sum += result->eigenvalues[j] / scale * (result->eigenvalues[j] / scale);
	return sum;
}

static void
estimate_error(size_t n, double scale, double square, projection_work *k, fc_embedding *result)
{
	double		cross[MOST_PROBES];
	double		left[MOST_PROBES];
	double		variance[2];
	double		rest;
	double		direct;

	project_probes(n, scale, result, k);
	compare_probes(n, scale, result, k, cross, left);
	rest = square - explained_square(result, scale) - 2.0 * mean_of(cross, k->probes, &variance[0]);
	direct = mean_of(left, k->probes, &variance[1]);
	if (4.0 * variance[0] > variance[1] || rest < CANCELLED_SHARE * square)
		rest = direct;
	result->relative_error = square > 0.0 ? sqrt(rest / square) : 0.0;
}

fc_status
fc_kernel_project(const fc_kernel *kernel, const fc_kernel_input *input, size_t oversampling, uint64_t seed,
				  fc_arena *arena, fc_embedding *result)
{
	fc_mark		used = fc_arena_mark(arena);
	size_t		n = input->n;
	double		square = 0.0;
	fc_kernel_rows rows;
	projection_work k;
	fc_status	status = fc_kernel_prepare(kernel, input, false, arena, &rows);

	if (status == FC_OK)
		take_work(arena, n, result->rank, oversampling, &k);
	if (status == FC_OK)
		draw_omega(n, seed, &k);
	if (status == FC_OK)
		fc_kernel_multiply(&rows, k.omega, k.c, arena, k.w, &square);
	if (status == FC_OK)
		status = coordinates(n, k.columns, rows.scale, arena, &k, result);
	if (status == FC_OK)
		estimate_error(n, rows.scale, square, &k, result);
	if (status == FC_OK)
		status = coordinates(n, k.c, rows.scale, arena, &k, result);
	if (status == FC_OK && square > 0.0)
	{
		double		bound = 1.0 - explained_square(result, rows.scale) / square;

		if (bound > CANCELLED_SHARE && sqrt(bound) < result->relative_error)
			result->relative_error = sqrt(bound);
	}
	fc_arena_release(arena, used);
	return status;
}

/*
 * principal.c - leading eigenvectors of a symmetric matrix A; leading principal axes: eigenvectors of A' A.
 *
 * Symmetric A: whole by divide and conquer up to order 512, else subspace iteration
 *     Z = Q A,  H = Z Q' = S' T S  (Rayleigh-Ritz),  Q <- orth(S Z)
 * from r + 10 random rows Q (Halko, Martinsson, Tropp 2011, algorithm 4.4; Saad 2011, chapter 5).
 *
 * Principal axes: three ways, by size (A is rows x d):
 *     d <= 512:     eigenvectors of A' A                                  rows d^2 + 9 d^3
 *     rows <= 512:  A A' = U S^2 U', axes S^-1 U' A                      rows^2 d + 9 rows^3
 *     else:         subspace iteration Y <- orth(Y A' A) from p = n + 10 random axes, then
 *                   the eigenvectors of Y A' A Y' (Rayleigh-Ritz)        8 x 4 rows d p
 * The last is cut in tiles with a check each.  When p > 512 the Ritz step is left out: the
 * iterates, orthonormalised in order, approach the axes in order themselves.
 *
 * Products are in float, orthonormalisation in double: block Gram-Schmidt, every
 * projection done twice (Giraud, Langou, Rozloznik 2005), dependent axes replaced.
 * Halko, Martinsson, Tropp 2011, algorithm 4.4.
 */
#include "numerics/principal.h"

#include <string.h>

#include "base/blas.h"
#include "base/rng.h"
#include "base/sizes.h"
#include "numerics/dense.h"

#define TILE		256
#define MAX_ROUNDS	100
#define LEAST_GAIN	1e-8
#define TOLERANCE	1e-9
#define TILE_ROWS	256
#define TILE_AXES	64
#define ORTHO_AXES	16
#define OVERSAMPLE	10
#define ITERATIONS	8
#define DEPENDENT_RESIDUE	1e-5	/* length of a dependent axis after projection, in float products */

/* ---- a symmetric matrix ---- */

typedef struct leading_eigen_work
{
	const double *a;
	size_t		n;
	size_t		r;
	size_t		p;				/* axes carried */
	double	   *q;				/* p x n */
	double	   *z;				/* p x n */
	double	   *turned;			/* p x TILE */
	double	   *h;				/* p x p */
	double	   *theta;			/* order of the eigenproblem */
	double	   *lapack;			/* work of fc_symmetric_eigen */
	int		   *integers;
	double	   *reflect;		/* work of fc_orthonormalise */
} leading_eigen_work;

static void
take_leading(fc_arena *arena, size_t n, size_t r, leading_eigen_work *w)
{
	bool		whole = n <= FC_EIGEN_WHOLE;
	size_t		order;

	w->n = n;
	w->r = r;
	w->p = whole ? 0 : r + FC_EIGEN_SPARE;
	order = whole ? n : w->p;
	w->q = FC_TAKE(arena, w->p * n, double);
	w->z = FC_TAKE(arena, w->p * n, double);
	w->turned = FC_TAKE(arena, w->p * TILE, double);
	w->h = FC_TAKE(arena, w->p * w->p, double);
	w->theta = FC_TAKE(arena, order, double);
	w->lapack = FC_TAKE(arena, fc_eigen_work(order), double);
	w->integers = FC_TAKE(arena, fc_eigen_integers(order), int);
	w->reflect = FC_TAKE(arena, whole ? 0 : fc_orthonormal_work(w->p), double);
}

/* q = the rows of `from`, orthonormal. */
static void
orthonormal_rows(leading_eigen_work *w, const double *from)
{
	memcpy(w->q, from, w->p * w->n * sizeof(double));
	fc_orthonormalise(w->q, w->p, w->n, w->reflect);
}

/* rows (q or z) := S rows: turned to the Ritz vectors, greatest value last; a tile of columns at a time. */
static void
turn(leading_eigen_work *w, double *rows)
{
	int			n = (int) w->n;
	int			p = (int) w->p;

	for (size_t start = 0; start < w->n; start += TILE)
	{
		int			columns = (int) smaller(TILE, w->n - start);

		fc_check();
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p, columns, p, 1.0, w->h, p, rows + start, n,
					0.0, w->turned, TILE);
		for (size_t j = 0; j < w->p; j++)
			memcpy(rows + j * w->n + start, w->turned + j * TILE, (size_t) columns * sizeof(double));
	}
}

/* Largest residual of the r leading Ritz pairs; q and z hold both turned. */
static double
residual(const leading_eigen_work *w)
{
	double		worst = 0.0;

	for (size_t j = w->p - w->r; j < w->p; j++)
	{
		double		sum = 0.0;

		for (size_t i = 0; i < w->n; i++)
		{
			double		error = w->z[j * w->n + i] - w->theta[j] * w->q[j * w->n + i];

			sum += error * error;
		}
		worst = fmax(worst, sqrt(sum));
	}
	return worst;
}

static double
explained(const leading_eigen_work *w)
{
	double		sum = 0.0;

	for (size_t j = w->p - w->r; j < w->p; j++)
		sum += w->theta[j] * w->theta[j];
	return sum;
}

/* One round: Ritz vectors in q, their images z = q A in z; A is symmetric. */
static void
ritz(leading_eigen_work *w)
{
	fc_product	images = {.transpose_b = true,.m = w->p,.n = w->n,.k = w->n,.alpha = 1.0,.lda = w->n,.ldb = w->n,.ldc = w->n};
	fc_product	inner = {.transpose_b = true,.m = w->p,.n = w->p,.k = w->n,.alpha = 1.0,.lda = w->n,.ldb = w->n,.ldc = w->p};

	fc_multiply(&images, w->q, w->a, w->z);
	fc_multiply(&inner, w->z, w->q, w->h);
	fc_symmetric_eigen(w->h, w->p, w->theta, w->lapack, w->integers);
	turn(w, w->q);
	turn(w, w->z);
}

static void
iterate(leading_eigen_work *w)
{
	fc_rng		rng = fc_rng_start(0, 0);
	double		before = 0.0;

	for (size_t i = 0; i < w->p * w->n; i++)
		w->z[i] = fc_rng_normal(&rng);
	orthonormal_rows(w, w->z);
	for (int round = 0; round < MAX_ROUNDS; round++)
	{
		double		now;

		ritz(w);
		if (residual(w) <= TOLERANCE * fabs(w->theta[w->p - 1]))
			break;
		now = explained(w);
		if (now - before <= LEAST_GAIN * now)
			break;
		before = now;
		if (round < MAX_ROUNDS - 1)
			orthonormal_rows(w, w->z);
	}
}

void
fc_leading_eigen(double *a, size_t n, size_t r, fc_arena *arena,
				 double *values, double *vectors)
{
	leading_eigen_work w = {0};
	fc_mark		used = fc_arena_mark(arena);
	bool		whole = n <= FC_EIGEN_WHOLE;
	size_t		last;

	take_leading(arena, n, r, &w);
	last = (whole ? n : w.p) - 1;
	w.a = a;
	if (whole)
		fc_symmetric_eigen(a, n, w.theta, w.lapack, w.integers);
	else
		iterate(&w);
	for (size_t j = 0; j < r; j++)
	{
		values[j] = w.theta[last - j];
		memcpy(vectors + j * n, (whole ? a : w.q) + (last - j) * n, n * sizeof(double));
	}
	fc_arena_release(arena, used);
}

/* ---- principal axes ---- */

typedef struct principal_work
{
	const float *x;
	size_t		rows;
	size_t		d;
	size_t		n;				/* axes wanted */
	size_t		p;				/* axes carried: n, or n + OVERSAMPLE when iterating */
	size_t		order;			/* of the eigenproblem; 0 when there is none */
	double	   *axis;			/* p x d */
	float	   *rounded;		/* p x d */
	float	   *image;			/* p x d: axes times A' A; or order x order */
	float	   *tile;			/* TILE_ROWS x TILE_AXES */
	double	   *matrix;			/* order x order */
	double	   *value;			/* order */
	double	   *lapack;			/* work of fc_symmetric_eigen */
	int		   *integers;
	double	   *coefficient;	/* TILE_AXES x p */
} principal_work;

static void
take_work(fc_arena *arena, size_t rows, size_t d, size_t n, principal_work *w)
{
	bool		whole = smaller(rows, d) <= FC_EIGEN_WHOLE;
	size_t		image;

	w->p = whole ? n : smaller(n + OVERSAMPLE, d);
	w->order = whole ? (d <= FC_EIGEN_WHOLE ? d : rows) : w->p <= FC_EIGEN_WHOLE ? w->p : 0;
	image = w->p * d > w->order * w->order ? w->p * d : w->order * w->order;
	w->axis = FC_TAKE(arena, w->p * d, double);
	w->rounded = FC_TAKE(arena, w->p * d, float);
	w->image = FC_TAKE(arena, image, float);
	w->tile = FC_TAKE(arena, TILE_ROWS * TILE_AXES, float);
	w->matrix = FC_TAKE(arena, w->order * w->order, double);
	w->value = FC_TAKE(arena, w->order, double);
	w->lapack = FC_TAKE(arena, fc_eigen_work(w->order), double);
	w->integers = FC_TAKE(arena, fc_eigen_integers(w->order), int);
	w->coefficient = FC_TAKE(arena, TILE_AXES * w->p, double);
}

static size_t
size_of_work(size_t rows, size_t d, size_t n)
{
	fc_arena	measure = fc_arena_measure();
	principal_work w;

	take_work(&measure, rows, d, n, &w);
	return fc_arena_measured(&measure);
}

/* Fewer rows may need more, when they fall to the eigenproblem of 512. */
size_t
fc_principal_worksize(size_t rows, size_t d, size_t n)
{
	size_t		all = size_of_work(rows, d, n);
	size_t		whole = size_of_work(smaller(rows, FC_EIGEN_WHOLE), d, n);

	return all > whole ? all : whole;
}

/* ---- orthonormal rows ---- */

/* Rows a .. a + count of axis lose their components along rows from .. a. */
static void
project_out(principal_work *w, size_t from, size_t a, size_t count)
{
	const double *against = w->axis + from * w->d;
	double	   *row = w->axis + a * w->d;
	int			width = (int) (a - from);
	int			d = (int) w->d;

	if (a == from)
		return;
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) count, width, d, 1.0,
				row, d, against, d, 0.0, w->coefficient, width);
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int) count, d, width, -1.0,
				w->coefficient, width, against, d, 1.0, row, d);
}

static double
normalise(double *row, size_t d)
{
	double		length = cblas_dnrm2((int) d, row, 1);

	if (length > 0.0)
		cblas_dscal((int) d, 1.0 / length, row, 1);
	return length;
}

/* Row a, once a unit vector and now free of rows 0 .. from, joins the orthonormal ones. */
static void
join_row(principal_work *w, size_t from, size_t a, size_t *unused)
{
	double	   *row = w->axis + a * w->d;
	double		left;

	project_out(w, from, a, 1);
	left = normalise(row, w->d);
	while (!(left > DEPENDENT_RESIDUE))	/* try the next coordinate vector; d > a, so one will do */
	{
		memset(row, 0, w->d * sizeof(double));
		row[(*unused)++ % w->d] = 1.0;
		from = 0;
		project_out(w, from, a, 1);
		left = normalise(row, w->d);
	}
	project_out(w, from, a, 1);
	(void) normalise(row, w->d);
}

static void
orthonormalise(principal_work *w)
{
	size_t		unused = 0;

	for (size_t start = 0; start < w->p; start += ORTHO_AXES)
	{
		size_t		count = smaller(ORTHO_AXES, w->p - start);

		fc_check();
		for (size_t a = start; a < start + count; a++)
			(void) normalise(w->axis + a * w->d, w->d);
		project_out(w, 0, start, count);
		project_out(w, 0, start, count);
		fc_check();
		for (size_t a = start; a < start + count; a++)
			join_row(w, start, a, &unused);
	}
}

/* ---- products, in tiles ---- */

/* c (m x n, stride ldc) = or += op(a) op(b), in float. */
static void
multiply(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const float *a, size_t lda,
		 const float *b, size_t ldb, bool add, float *c, size_t ldc)
{
	cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans,
				(int) m, (int) n, (int) k, 1.0f, a, (int) lda, b, (int) ldb, add ? 1.0f : 0.0f, c, (int) ldc);
}

/* image = rounded A' A, one pass over the rows. */
static void
apply_covariance(principal_work *w)
{
	for (size_t i = 0; i < w->p * w->d; i++)
		w->rounded[i] = (float) w->axis[i];
	for (size_t start = 0; start < w->rows; start += TILE_ROWS)
	{
		size_t		rows = smaller(TILE_ROWS, w->rows - start);
		const float *x = w->x + start * w->d;

		for (size_t a = 0; a < w->p; a += TILE_AXES)
		{
			size_t		axes = smaller(TILE_AXES, w->p - a);

			fc_check();
			multiply(false, true, rows, axes, w->d, x, w->d, w->rounded + a * w->d, w->d, false, w->tile, TILE_AXES);
			multiply(true, false, axes, w->d, rows, w->tile, TILE_AXES, x, w->d, start > 0, w->image + a * w->d, w->d);
		}
	}
}

/* matrix = A' A (d x d) or A A' (rows x rows), summed in float in image. */
static void
square_rows(principal_work *w)
{
	bool		covariance = w->d <= FC_EIGEN_WHOLE;
	size_t		step = covariance ? TILE_ROWS : TILE_AXES;

	for (size_t start = 0; start < w->rows; start += step)
	{
		size_t		rows = smaller(step, w->rows - start);
		const float *x = w->x + start * w->d;

		fc_check();
		if (covariance)
			multiply(true, false, w->d, w->d, rows, x, w->d, x, w->d, start > 0, w->image, w->d);
		else
			multiply(false, true, rows, w->rows, w->d, x, w->d, w->x, w->d, false, w->image + start * w->rows, w->rows);
	}
	for (size_t i = 0; i < w->order * w->order; i++)
		w->matrix[i] = (double) w->image[i];
}

/* axis_a = u_a B for the leading eigenvectors u_a and the rows of b (order x d); zero beyond. */
static void
combine(principal_work *w, const float *b, float *out)
{
	size_t		axes = smaller(w->p, w->order);

	memset(w->axis, 0, w->p * w->d * sizeof(double));
	for (size_t a = 0; a < axes; a += TILE_AXES)
	{
		size_t		count = smaller(TILE_AXES, axes - a);

		fc_check();
		for (size_t r = 0; r < count; r++)
			for (size_t i = 0; i < w->order; i++)
				((float *) w->lapack)[r * w->order + i] = (float) w->matrix[(w->order - 1 - a - r) * w->order + i];
		multiply(false, false, count, w->d, w->order, (const float *) w->lapack, w->order, b, w->d, false, out, w->d);
		for (size_t i = 0; i < count * w->d; i++)
			w->axis[a * w->d + i] = (double) out[i];
	}
}

/* ---- the three ways ---- */

static void
axes_whole(principal_work *w)
{
	square_rows(w);
	fc_symmetric_eigen(w->matrix, w->order, w->value, w->lapack, w->integers);
	if (w->d > FC_EIGEN_WHOLE)
		combine(w, w->x, w->rounded);
	for (size_t a = 0; w->d <= FC_EIGEN_WHOLE && a < w->p; a++)
		memcpy(w->axis + a * w->d, w->matrix + (w->order - 1 - a) * w->d, w->d * sizeof(double));
}

/* Eigenvectors within the span of the axes: of the p x p matrix Y A' A Y'. */
static void
rotate_to_ritz(principal_work *w)
{
	apply_covariance(w);
	for (size_t a = 0; a < w->p; a++)
	{
		fc_check();
		for (size_t b = 0; b < w->p; b++)
			w->matrix[a * w->p + b] = (double) cblas_sdot((int) w->d, w->image + a * w->d, 1, w->rounded + b * w->d, 1);
	}
	fc_symmetric_eigen(w->matrix, w->order, w->value, w->lapack, w->integers);
	combine(w, w->rounded, w->image);
}

static void
axes_by_iteration(principal_work *w, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 0);

	for (size_t i = 0; i < w->p * w->d; i++)
		w->axis[i] = fc_rng_normal(&rng);
	orthonormalise(w);
	for (int iteration = 0; iteration < ITERATIONS; iteration++)
	{
		apply_covariance(w);
		for (size_t i = 0; i < w->p * w->d; i++)
			w->axis[i] = (double) w->image[i];
		orthonormalise(w);
	}
	if (w->order > 0)
		rotate_to_ritz(w);
}

/* An axis and its opposite are one. */
static void
round_with_sign(const double *axis, size_t d, float *out)
{
	double		deciding = axis[0];
	double		sign;

	for (size_t c = 1; c < d; c++)
		if (fc_decides_sign(axis[c], deciding))
			deciding = axis[c];
	sign = deciding < 0.0 ? -1.0 : 1.0;
	for (size_t c = 0; c < d; c++)
		out[c] = (float) (sign * axis[c]);
}

void
fc_principal_axes(const float *x, size_t rows, size_t d, size_t n, uint64_t seed,
				  fc_arena *arena, float *basis)
{
	principal_work w = {.x = x,.rows = rows,.d = d,.n = n};
	fc_mark		used = fc_arena_mark(arena);

	take_work(arena, rows, d, n, &w);
	if (smaller(rows, d) <= FC_EIGEN_WHOLE)
		axes_whole(&w);
	else
		axes_by_iteration(&w, seed);
	orthonormalise(&w);
	for (size_t a = 0; a < n; a++)
		round_with_sign(w.axis + a * d, d, basis + a * d);
	fc_arena_release(arena, used);
}

void
fc_center_rows(float *x, size_t n, size_t d)
{
	for (size_t c = 0; c < d; c++)
	{
		double		mean = 0;

		fc_check();
		for (size_t i = 0; i < n; i++)
			mean += (double) x[i * d + c] / (double) n;
		for (size_t i = 0; i < n; i++)
			x[i * d + c] = (float) ((double) x[i * d + c] - mean);
	}
}

/*
 * dense.c - dense linear algebra in pieces; see dense.h
 *
 * Factorisations go panel by panel as in LAPACK's blocked algorithms (dpotrf, dgeqrf, dorgqr).
 * LAPACK counts by columns: a row-major matrix is its transpose there.
 */
#include "numerics/dense.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "base/sizes.h"

#define TILE_ROWS	256			/* of a product */
#define PANEL		128			/* columns of a factorisation */
#define MIRRORED	32			/* rows and columns of a tile that stays in the cache */
#define WHOLE		1024		/* a Cholesky factorisation of this order is one call */
#define REFLECTORS	32			/* of a panel */
#define CHUNK		128			/* columns that a panel's reflectors are applied to at once */
#define LEAST_NORM	0x1p-460	/* squares stay within the range of doubles */
#define LARGEST_NORM 0x1p460

/* ---- products ---- */

/* Rows and columns of C a call makes. */
static void
tile_of(const fc_product *p, size_t *rows, size_t *columns)
{
	*rows = larger(1, p->m);
	*columns = larger(1, p->n);
	if ((double) p->m * (double) p->n * (double) p->k <= (double) FC_DENSE_WORK)
		return;
	*rows = smaller(p->m, TILE_ROWS);
	*columns = smaller(p->n, larger(1, FC_DENSE_WORK / (*rows * p->k)));
	if (*columns < 16)
		*rows = smaller(*rows, larger(1, FC_DENSE_WORK / (*columns * p->k)));
}

/* Offsets of the piece at (row, column) in A, B and C. */
#define A_AT(p, row)		((p)->transpose_a ? (row) : (row) * (p)->lda)
#define B_AT(p, column)		((p)->transpose_b ? (column) * (p)->ldb : (column))
#define C_AT(p, row, column) ((row) * (p)->ldc + (column))
#define TRANSPOSED(flag)	((flag) ? CblasTrans : CblasNoTrans)

#define MULTIPLY(name, type, gemm) \
fc_status \
name(const fc_product *p, const type *a, const type *b, type *c) \
{ \
	size_t		rows; \
	size_t		columns; \
\
	tile_of(p, &rows, &columns); \
	for (size_t row = 0; row < p->m; row += rows) \
		for (size_t column = 0; column < p->n; column += columns) \
		{ \
			fc_check(); \
			gemm(CblasRowMajor, TRANSPOSED(p->transpose_a), TRANSPOSED(p->transpose_b), \
				 (int) smaller(rows, p->m - row), (int) smaller(columns, p->n - column), (int) p->k, \
				 (type) p->alpha, a + A_AT(p, row), (int) p->lda, b + B_AT(p, column), (int) p->ldb, \
				 (type) p->beta, c + C_AT(p, row, column), (int) p->ldc); \
		} \
	return FC_OK; \
} \
extern int	no_such_variable

MULTIPLY(fc_multiply, double, cblas_dgemm);
MULTIPLY(fc_multiply_float, float, cblas_sgemm);

/* The lower triangle of C += alpha op(A) op(A)', a panel of its rows at a time. */
static fc_status
rank_update(bool transposed, size_t n, size_t k, double alpha, const double *a, size_t lda, double *c)
{
	bool		whole = (double) n * (double) n * (double) k <= 2.0 * (double) FC_DENSE_WORK;
	size_t		step = whole ? n : PANEL;

	for (size_t row = 0; row < n; row += step)
	{
		size_t		rows = smaller(step, n - row);
		const double *own = transposed ? a + row : a + row * lda;
		fc_product	left = {.transpose_a = transposed,.transpose_b = !transposed,.m = rows,.n = row,.k = k,
		.alpha = alpha,.beta = 1.0,.lda = lda,.ldb = lda,.ldc = n};
		fc_status	status = fc_multiply(&left, own, a, c + row * n);

		if (status != FC_OK)
			return status;
		fc_check();
		cblas_dsyrk(CblasRowMajor, CblasLower, TRANSPOSED(transposed), (int) rows, (int) k, alpha, own, (int) lda,
					1.0, c + row * n + row, (int) n);
	}
	return FC_OK;
}

fc_status
fc_rank_update(size_t n, size_t k, double alpha, const double *a, double *c)
{
	return rank_update(false, n, k, alpha, a, k, c);
}

fc_status
fc_rank_update_transposed(size_t n, size_t k, double alpha, const double *a, size_t lda, double *c)
{
	return rank_update(true, n, k, alpha, a, lda, c);
}

void
fc_mirror_lower(double *c, size_t n)
{
	size_t		done = 0;

	for (size_t row = 0; row < n; row += MIRRORED)
		for (size_t column = 0; column <= row; column += MIRRORED)
		{
			fc_check_every(&done, 4 * MIRRORED * MIRRORED);
			for (size_t i = row; i < n && i < row + MIRRORED; i++)
				for (size_t j = column; j < i && j < column + MIRRORED; j++)
					c[j * n + i] = c[i * n + j];
		}
}

/* ---- positive definite systems ---- */

/* What the panel at `start` leaves of the matrix behind it: A22 - U12' U12, the upper triangle row by row. */
static fc_status
subtract_panel(double *a, size_t n, size_t start, size_t panel)
{
	for (size_t row = start + panel; row < n; row += PANEL)
	{
		size_t		rows = smaller(PANEL, n - row);
		fc_product	p = {.transpose_a = true,.m = rows,.n = n - row,.k = panel,.alpha = -1.0,.beta = 1.0,
		.lda = n,.ldb = n,.ldc = n};
		fc_status	status = fc_multiply(&p, a + start * n + row, a + start * n + row, a + row * n + row);

		if (status != FC_OK)
			return status;
	}
	return FC_OK;
}

/* A = U' U, U in the upper triangle. */
static fc_status
factorise(double *a, size_t n)
{
	size_t		step = n <= WHOLE ? n : PANEL;
	int			order = (int) n;

	for (size_t start = 0; start < n; start += step)
	{
		size_t		panel = smaller(step, n - start);
		size_t		behind = n - start - panel;
		int			columns = (int) panel;
		int			info;
		fc_status	status;

		fc_check();
		dpotrf_("L", &columns, a + start * n + start, &order, &info);
		if (info != 0)
			return FC_ENUMERIC;
		if (behind == 0)
			break;
		cblas_dtrsm(CblasRowMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, columns, (int) behind, 1.0,
					a + start * n + start, order, a + start * n + start + panel, order);
		status = subtract_panel(a, n, start, panel);
		if (status != FC_OK)
			return status;
	}
	return FC_OK;
}

fc_status
fc_solve_positive(double *a, size_t n, double *b, size_t columns)
{
	size_t		step = larger(1, FC_DENSE_WORK / larger(1, n * n));
	int			order = (int) n;
	fc_status	status;

	if (n == 0 || columns == 0)
		return FC_OK;
	status = factorise(a, n);
	for (size_t column = 0; column < columns && status == FC_OK; column += step)
	{
		int			some = (int) smaller(step, columns - column);
		int			info;

		fc_check();
		dpotrs_("L", &order, &some, a, &order, b + column * n, &order, &info);
		status = info == 0 ? FC_OK : FC_ENUMERIC;
	}
	return status;
}

/* ---- orthonormal rows ---- */

/* Behind the factors of the reflectors, room for what LAPACK wants (its T matrix takes 65 x 64). */
#define REFLECT_WORK ((size_t) 65 * 64 + CHUNK * 64)

size_t
fc_orthonormal_work(size_t rows)
{
	return rows + REFLECT_WORK;
}

typedef struct reflecting
{
	double	   *q;
	size_t		rows;
	size_t		n;
	double	   *tau;			/* rows */
	double	   *work;			/* REFLECT_WORK */
} reflecting;

/* Apply the reflectors of the panel at `first`, transposed or not, to the rows from `from` on. */
static fc_status
reflect(const reflecting *r, size_t first, size_t panel, size_t from, bool transpose)
{
	int			length = (int) (r->n - first);
	int			count = (int) panel;
	int			n = (int) r->n;
	int			room = (int) REFLECT_WORK;

	for (size_t row = from; row < r->rows; row += CHUNK)
	{
		int			rows = (int) smaller(CHUNK, r->rows - row);
		int			info;

		fc_check();
		dormqr_("L", transpose ? "T" : "N", &length, &rows, &count, r->q + first * r->n + first, &n, r->tau + first,
				r->q + row * r->n + first, &n, r->work, &room, &info);
		if (info != 0)
			return FC_ENUMERIC;
	}
	return FC_OK;
}

/* Reflectors of each panel, each applied to the rows behind it. */
static fc_status
make_reflectors(const reflecting *r)
{
	int			n = (int) r->n;
	int			room = (int) REFLECT_WORK;

	for (size_t first = 0; first < r->rows; first += REFLECTORS)
	{
		size_t		panel = smaller(REFLECTORS, r->rows - first);
		int			length = (int) (r->n - first);
		int			count = (int) panel;
		int			info;
		fc_status	status;

		fc_check();
		dgeqrf_(&length, &count, r->q + first * r->n + first, &n, r->tau + first, r->work, &room, &info);
		if (info != 0)
			return FC_ENUMERIC;
		status = reflect(r, first, panel, first + panel, true);
		if (status != FC_OK)
			return status;
	}
	return FC_OK;
}

/* The reflectors of a panel become its rows of the basis; the rows behind it are there. */
static fc_status
make_basis(const reflecting *r, size_t first, size_t panel)
{
	int			length = (int) (r->n - first);
	int			count = (int) panel;
	int			n = (int) r->n;
	int			room = (int) REFLECT_WORK;
	int			info;
	fc_status	status;

	for (size_t row = first + panel; row < r->rows; row++)
		memset(r->q + row * r->n + first, 0, panel * sizeof(double));
	status = reflect(r, first, panel, first + panel, false);
	if (status != FC_OK)
		return status;
	dorgqr_(&length, &count, &count, r->q + first * r->n + first, &n, r->tau + first, r->work, &room, &info);
	for (size_t row = first; row < first + panel; row++)
		memset(r->q + row * r->n, 0, first * sizeof(double));
	return info == 0 ? FC_OK : FC_ENUMERIC;
}

fc_status
fc_orthonormalise(double *q, size_t rows, size_t n, double *work)
{
	reflecting	r = {q, rows, n, work, work + rows};
	fc_status	status = make_reflectors(&r);
	size_t		panels = (rows + REFLECTORS - 1) / REFLECTORS;

	for (size_t panel = panels; panel-- > 0 && status == FC_OK;)
		status = make_basis(&r, panel * REFLECTORS, smaller(REFLECTORS, rows - panel * REFLECTORS));
	return status;
}

/* ---- eigenproblems ---- */

/* Doubles that dstedc asks for, and that dsytrd and dormtr like to have. */
static size_t
eigen_room(size_t n)
{
	return larger(1 + 4 * n + n * n, n > REFLECTORS ? 64 * n + 65 * 64 : 32 * n);
}

/* Off-diagonal and factors of reflectors, the tridiagonal matrix's vectors, and room for LAPACK. */
size_t
fc_eigen_work(size_t n)
{
	return 2 * n + n * n + eigen_room(n);
}

size_t
fc_eigen_integers(size_t n)
{
	return 3 + 5 * n;
}

/* The power of 2 that brings a matrix of extreme magnitudes near 1; 0 for all others. */
static int
exponent_of(const double *a, size_t n)
{
	double		most = 0.0;
	int			exponent = 0;

	for (size_t i = 0; i < n * n; i++)
		most = fmax(most, fabs(a[i]));
	if (most > 0.0 && (most < LEAST_NORM || most > LARGEST_NORM) && isfinite(most))
		(void) frexp(most, &exponent);
	return exponent;
}

fc_status
fc_symmetric_eigen(double *a, size_t n, double *values, double *work, int *integers)
{
	double	   *off_diagonal = work;
	double	   *tau = off_diagonal + n;
	double	   *vectors = tau + n;
	double	   *room = vectors + n * n;
	int			order = (int) n;
	int			length = (int) eigen_room(n);
	int			integer_count = (int) fc_eigen_integers(n);
	int			exponent = exponent_of(a, n);
	int			info;

	for (size_t i = 0; exponent != 0 && i < n * n; i++)
		a[i] = ldexp(a[i], -exponent);
	fc_check();
	dsytrd_("U", &order, a, &order, values, off_diagonal, tau, room, &length, &info);
	if (info == 0)
		fc_check();
	if (info == 0)
		dstedc_("I", &order, values, off_diagonal, vectors, &order, room, &length, integers, &integer_count, &info);
	if (info == 0)
		fc_check();
	if (info == 0)
		dormtr_("L", "U", "N", &order, &order, a, &order, tau, vectors, &order, room, &length, &info);
	memcpy(a, vectors, n * n * sizeof(double));
	for (size_t i = 0; exponent != 0 && i < n; i++)
		values[i] = ldexp(values[i], exponent);
	return info == 0 ? FC_OK : FC_ENUMERIC;
}

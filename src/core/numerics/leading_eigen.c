/*
 * leading_eigen.c - whole by divide and conquer up to order 512, else subspace iteration.
 *
 *     Z = Q A,  H = Z Q' = S' T S  (Rayleigh-Ritz),  Q <- orth(S Z)
 * from r + 10 random rows Q, in pieces with a check each (dense.h)
 * (Halko, Martinsson, Tropp 2011, algorithm 4.4; Saad 2011, chapter 5).
 */
#include "numerics/leading_eigen.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "numerics/dense.h"
#include "base/pieces.h"
#include "base/rng.h"
#include "base/sizes.h"

#define TILE		256
#define MAX_ROUNDS	100
#define LEAST_GAIN	1e-8
#define TOLERANCE	1e-9

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
	double	   *lapack;			/* what fc_symmetric_eigen takes */
	int		   *integers;
	double	   *reflect;		/* what fc_orthonormalise takes */
} leading_eigen_work;

static void
take_work(fc_arena *arena, size_t n, size_t r, leading_eigen_work *w)
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

size_t
fc_leading_eigen_worksize(size_t n, size_t r)
{
	fc_arena	measure = fc_arena_measure();
	leading_eigen_work w;

	take_work(&measure, n, r, &w);
	return fc_arena_measured(&measure);
}

/* z = q A; A is symmetric. */
static fc_status
apply(leading_eigen_work *w)
{
	fc_product	p = {.transpose_b = true,.m = w->p,.n = w->n,.k = w->n,.alpha = 1.0,
	.lda = w->n,.ldb = w->n,.ldc = w->n};

	return fc_multiply(&p, w->q, w->a, w->z);
}

/* q = the rows of `from`, orthonormal. */
static fc_status
orthonormalise(leading_eigen_work *w, const double *from)
{
	fc_copy_pieces(w->q, from, w->p * w->n * sizeof(double));
	return fc_orthonormalise(w->q, w->p, w->n, w->reflect);
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

/* One round: Ritz vectors in q, their images in z. */
static fc_status
ritz(leading_eigen_work *w)
{
	fc_product	p = {.transpose_b = true,.m = w->p,.n = w->p,.k = w->n,.alpha = 1.0,
	.lda = w->n,.ldb = w->n,.ldc = w->p};
	fc_status	status = apply(w);

	if (status == FC_OK)
		status = fc_multiply(&p, w->z, w->q, w->h);
	if (status == FC_OK)
		status = fc_symmetric_eigen(w->h, w->p, w->theta, w->lapack, w->integers);
	if (status == FC_OK)
		turn(w, w->q);
	if (status == FC_OK)
		turn(w, w->z);
	return status;
}

static fc_status
iterate(leading_eigen_work *w)
{
	fc_rng		rng = fc_rng_start(0, 0);
	double		before = 0.0;
	fc_status	status;

	for (size_t i = 0; i < w->p * w->n; i++)
	{
		if (i % 65536 == 0)
			fc_check();
		w->z[i] = fc_rng_normal(&rng);
	}
	status = orthonormalise(w, w->z);
	for (int round = 0; round < MAX_ROUNDS && status == FC_OK; round++)
	{
		double		now;

		status = ritz(w);
		if (status != FC_OK || residual(w) <= TOLERANCE * fabs(w->theta[w->p - 1]))
			break;
		now = explained(w);
		if (now - before <= LEAST_GAIN * now)
			break;
		before = now;
		if (round < MAX_ROUNDS - 1)
			status = orthonormalise(w, w->z);
	}
	return status;
}

fc_status
fc_leading_eigen(double *a, size_t n, size_t r, fc_arena *arena,
				 double *values, double *vectors)
{
	leading_eigen_work w = {0};
	fc_mark		used = fc_arena_mark(arena);
	bool		whole = n <= FC_EIGEN_WHOLE;
	fc_status	status;
	size_t		last;

	take_work(arena, n, r, &w);
	last = (whole ? n : w.p) - 1;
	w.a = a;
	status = whole ? fc_symmetric_eigen(a, n, w.theta, w.lapack, w.integers) : iterate(&w);
	for (size_t j = 0; j < r && status == FC_OK; j++)
	{
		values[j] = w.theta[last - j];
		memcpy(vectors + j * n, (whole ? a : w.q) + (last - j) * n, n * sizeof(double));
	}
	fc_arena_release(arena, used);
	return status;
}

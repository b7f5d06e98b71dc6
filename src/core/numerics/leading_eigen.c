/*
 * leading_eigen.c - whole by divide and conquer (dsyevd) up to order 512, else subspace iteration.
 *
 *     Z = Q A,  H = Z Q' = S' T S  (Rayleigh-Ritz),  Q <- orth(S Z)
 * from r + 10 random rows Q; each product with A is cut in tiles with a tick each
 * (Halko, Martinsson, Tropp 2011, algorithm 4.4; Saad 2011, chapter 5).
 */
#include "numerics/leading_eigen.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
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
	const fc_tick *tick;
	double	   *q;				/* p x n */
	double	   *z;				/* p x n */
	double	   *turned;			/* p x TILE */
	double	   *h;				/* p x p */
	double	   *theta;			/* order of the eigenproblem */
	double	   *lapack;			/* 1 + 6 order + 2 order^2, at least 64 p */
	int		   *integers;		/* 3 + 5 order */
	double	   *tau;			/* p */
} leading_eigen_work;

static fc_status
take_work(fc_arena *arena, size_t n, size_t r, leading_eigen_work *w)
{
	bool		whole = n <= FC_EIGEN_WHOLE;
	size_t		order;
	size_t		length;

	w->n = n;
	w->r = r;
	w->p = whole ? 0 : r + FC_EIGEN_SPARE;
	order = whole ? n : w->p;
	length = 1 + 6 * order + 2 * order * order;
	w->q = FC_TAKE(arena, w->p * n, double);
	w->z = FC_TAKE(arena, w->p * n, double);
	w->turned = FC_TAKE(arena, w->p * TILE, double);
	w->h = FC_TAKE(arena, w->p * w->p, double);
	w->theta = FC_TAKE(arena, order, double);
	w->lapack = FC_TAKE(arena, length + 64 * w->p, double);
	w->integers = FC_TAKE(arena, 3 + 5 * order, int);
	w->tau = FC_TAKE(arena, w->p, double);
	return fc_arena_status(arena);
}

size_t
fc_leading_eigen_worksize(size_t n, size_t r)
{
	fc_arena	measure = fc_arena_measure();
	leading_eigen_work w;

	(void) take_work(&measure, n, r, &w);
	return fc_arena_measured(&measure);
}

/* Row i of the symmetric matrix becomes the eigenvector of the i-th smallest value in theta. */
static fc_status
solve_whole(leading_eigen_work *w, double *matrix, size_t order)
{
	int			n = (int) order;
	int			length = (int) (1 + 6 * order + 2 * order * order);
	int			integers = (int) (3 + 5 * order);
	int			info;

	if (fc_ticked(w->tick))
		return FC_INTERRUPTED;
	dsyevd_("V", "U", &n, matrix, &n, w->theta, w->lapack, &length, w->integers, &integers, &info);
	return info == 0 ? FC_OK : FC_ENUMERIC;
}

/* z = q A, a tile of A's columns at a time. */
static fc_status
apply(leading_eigen_work *w)
{
	int			n = (int) w->n;

	for (size_t start = 0; start < w->n; start += TILE)
	{
		size_t		columns = smaller(TILE, w->n - start);

		if (fc_ticked(w->tick))
			return FC_INTERRUPTED;
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) w->p, (int) columns, n, 1.0, w->q, n,
					w->a + start * w->n, n, 0.0, w->z + start, n);
	}
	return FC_OK;
}

/* q = the rows of `from`, orthonormal, by Householder QR (rows of length n are LAPACK's columns). */
static fc_status
orthonormalise(leading_eigen_work *w, const double *from)
{
	int			n = (int) w->n;
	int			p = (int) w->p;
	int			length = (int) (64 * w->p);
	int			info;

	memcpy(w->q, from, w->p * w->n * sizeof(double));
	if (fc_ticked(w->tick))
		return FC_INTERRUPTED;
	dgeqrf_(&n, &p, w->q, &n, w->tau, w->lapack, &length, &info);
	if (info == 0)
		dorgqr_(&n, &p, &p, w->q, &n, w->tau, w->lapack, &length, &info);
	return info == 0 ? FC_OK : FC_ENUMERIC;
}

/* rows (q or z) := S rows: turned to the Ritz vectors, greatest value last; a tile of columns at a time. */
static fc_status
turn(leading_eigen_work *w, double *rows)
{
	int			n = (int) w->n;
	int			p = (int) w->p;

	for (size_t start = 0; start < w->n; start += TILE)
	{
		int			columns = (int) smaller(TILE, w->n - start);

		if (fc_ticked(w->tick))
			return FC_INTERRUPTED;
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p, columns, p, 1.0, w->h, p, rows + start, n,
					0.0, w->turned, TILE);
		for (size_t j = 0; j < w->p; j++)
			memcpy(rows + j * w->n + start, w->turned + j * TILE, (size_t) columns * sizeof(double));
	}
	return FC_OK;
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
	int			n = (int) w->n;
	int			p = (int) w->p;
	fc_status	status = apply(w);

	if (status != FC_OK)
		return status;
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, p, p, n, 1.0, w->z, n, w->q, n, 0.0, w->h, p);
	status = solve_whole(w, w->h, w->p);
	if (status != FC_OK)
		return status;
	status = turn(w, w->q);
	return status == FC_OK ? turn(w, w->z) : status;
}

static fc_status
iterate(leading_eigen_work *w)
{
	fc_rng		rng = fc_rng_start(0, 0);
	double		before = 0.0;
	fc_status	status;

	for (size_t i = 0; i < w->p * w->n; i++)
	{
		if (i % 65536 == 0 && fc_ticked(w->tick))
			return FC_INTERRUPTED;
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
fc_leading_eigen(double *a, size_t n, size_t r, const fc_tick *tick, fc_arena *arena,
				 double *values, double *vectors)
{
	leading_eigen_work w = {0};
	size_t		used = arena->used;
	bool		whole = n <= FC_EIGEN_WHOLE;
	fc_status	status = take_work(arena, n, r, &w);
	size_t		last = (whole ? n : w.p) - 1;

	w.a = a;
	w.tick = tick;
	if (status == FC_OK)
		status = whole ? solve_whole(&w, a, n) : iterate(&w);
	for (size_t j = 0; j < r && status == FC_OK; j++)
	{
		values[j] = w.theta[last - j];
		memcpy(vectors + j * n, (whole ? a : w.q) + (last - j) * n, n * sizeof(double));
	}
	arena->used = used;
	return status;
}

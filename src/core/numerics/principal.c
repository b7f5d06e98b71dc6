/*
 * principal.c - leading eigenvectors of a symmetric matrix A (order x order);
 * leading principal axes, which are the eigenvectors of A' A for a data matrix
 * A (rows x d).
 *
 * The size decides the method. Costs in multiply-adds are at the end of the
 * line.
 *     order <= 512:     all eigenvectors by divide and conquer
 *     d <= 512:         all eigenvectors of A' A           rows d^2 + 9 d^3
 *     rows <= 512:      A A' = U D^2 U', axes D^-1 U' A    rows^2 d + 9 rows^3
 *     else:             subspace iteration from r + 10 random rows Q:
 *                           Z = Q A (Q A' A for a data matrix),
 *                           H = Z Q' = V' T V (Rayleigh-Ritz; the rows of V
 *                           are the eigenvectors of H), Q <- orth(V Z)
 * (Halko, Martinsson, Tropp 2011, algorithm 4.4; Saad 2011, chapter 5). When Q
 * has more than 512 rows, the Ritz step is left out. The iterates are then
 * orthonormalised in order, and so converge to the axes in order.
 *
 * For principal axes, products with A are computed in float, except inner
 * products of sparse rows, which are summed in double. Everything else is in
 * double. Rows are orthonormalised by block Gram-Schmidt (Giraud, Langou,
 * Rozloznik 2005). Every projection is done twice, and dependent rows are
 * replaced.
 */
#include "numerics/principal.h"

#include "base/blas.h"
#include "base/rng.h"
#include "numerics/dense.h"

/* Number of rows of x, or columns of Q, in one matrix product. A guess. */
#define TILE	256

/* Number of axes in one matrix product with a tile of rows. A guess. */
#define TILE_AXES	64

/*
 * Inner products of rows are computed from their nonzero elements alone if at
 * most 1 / SPARSE_SHARE of all elements are nonzero. If a tenth are nonzero, a
 * product of dense matrices is as fast. A guess.
 */
#define SPARSE_SHARE	16

/* Number of elements that are skipped together if all are 0. A guess. */
#define ZEROS	64

/* Number of axes that are orthogonalised together. A guess. */
#define ORTHO_AXES	16

/* Maximum number of rounds, so that the iteration ends. A guess. */
#define MAX_ROUNDS	100

/*
 * Number of rounds of the iteration for principal axes, which computes
 * products in float. With more rounds, the result is closer to the leading
 * axes; each round costs rows * d * axes multiply-adds. A guess.
 */
#define AXES_ROUNDS	9

/*
 * Relative rise of the explained variance below which the iteration stops. A
 * guess.
 */
#define MIN_EXPLAINED_GAIN	1e-8

/*
 * Largest residual, relative to the greatest eigenvalue, at which the
 * iteration stops. A guess.
 */
#define TOLERANCE	1e-9

/*
 * A unit row counts as dependent on other rows if its component orthogonal to
 * them is at most this long. The value exceeds the rounding of products in
 * float.
 */
#define DEPENDENT_RESIDUE	1e-5

/* ---- work ---- */

typedef struct eigen_work
{
	double	   *values;			/* eigenvalues, ascending */
	double	   *lapack;			/* scratch space of fc_symmetric_eigen, as is
								 * `integers` */
	int		   *integers;
} eigen_work;

static eigen_work
take_eigen(fc_arena *arena, size_t order)
{
	return (eigen_work)
	{
		FC_TAKE(arena, order, double),
			FC_TAKE(arena, fc_eigen_work(order), double),
			FC_TAKE(arena, fc_eigen_integers(order), int)
	};
}

/* State of a subspace iteration. */
typedef struct subspace
{
	size_t		p;				/* number of rows of q, at least r */
	size_t		n;				/* order of a, or number of columns of x */
	size_t		r;				/* number of requested vectors */
	double	   *q;				/* p x n: orthonormal rows that span the
								 * subspace */
	double	   *z;				/* p x n: images of the rows of q */
	double	   *rotated;		/* p x TILE: a tile of rotated columns */
	double	   *coefficient;	/* ORTHO_AXES x p: inner products of rows */
	double	   *h;				/* p x p: H, then its eigenvectors; NULL: no
								 * Ritz step */
	eigen_work	eigen;
	const double *a;			/* n x n matrix A; NULL: A is x */
	const float *x;				/* rows x n data matrix A; NULL: A is a */
	size_t		rows;
	float	   *rounded;		/* p x n: q in float */
	float	   *image;			/* p x n: images in float */
	float	   *tile;			/* TILE x TILE_AXES: products of a tile of
								 * rows with a tile of axes */
} subspace;

static subspace
take_subspace(fc_arena *arena, const double *a, const float *x, size_t rows,
			  size_t n, size_t r)
{
	size_t		p = smaller(r + FC_EIGEN_SPARE, n);
	bool		ritz = p <= FC_EIGEN_WHOLE;

	return (subspace)
	{
		.p = p,
			.n = n,
			.r = r,
			.a = a,
			.x = x,
			.rows = rows,
			.q = FC_TAKE(arena, p * n, double),
			.z = FC_TAKE(arena, p * n, double),
			.rotated = FC_TAKE(arena, p * TILE, double),
			.coefficient = FC_TAKE(arena, ORTHO_AXES * p, double),
			.h = ritz ? FC_TAKE(arena, p * p, double) : NULL,
			.eigen = take_eigen(arena, ritz ? p : 0),
			.rounded = FC_TAKE(arena, x != NULL ? p * n : 0, float),
			.image = FC_TAKE(arena, x != NULL ? p * n : 0, float),
			.tile = FC_TAKE(arena, TILE * TILE_AXES, float)
	};
}

/* ---- orthonormal rows ---- */

/* Makes rows a .. a + count - 1 of s->q orthogonal to rows from .. a - 1. */
static void
project_out(subspace *s, size_t from, size_t a, size_t count)
{
	const double *against = s->q + from * s->n;
	double	   *row = s->q + a * s->n;
	int			width = (int) (a - from);
	int			n = (int) s->n;

	if (a == from)
		return;
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) count, width, n,
				1.0, row, n, against, n, 0.0, s->coefficient, width);
	cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int) count, n,
				width, -1.0, s->coefficient, width, against, n, 1.0, row, n);
}

static double
normalise(double *row, size_t n)
{
	double		length = cblas_dnrm2((int) n, row, 1);

	if (length > 0.0)
		cblas_dscal((int) n, 1.0 / length, row, 1);
	return length;
}

/*
 * Makes row a orthonormal to rows 0 .. a - 1. The row was a unit vector before
 * project_out removed its components along rows 0 .. from - 1. A dependent row
 * is replaced by the next coordinate vectors (*unused) until one is
 * independent.
 */
static void
join_row(subspace *s, size_t from, size_t a, size_t *unused)
{
	double	   *row = s->q + a * s->n;

	project_out(s, from, a, 1);
	/* try the next coordinate vector; as n > a, one of them is independent */
	while (!(normalise(row, s->n) > DEPENDENT_RESIDUE))
	{
		memset(row, 0, s->n * sizeof(double));
		row[(*unused)++ % s->n] = 1.0;
		from = 0;
		project_out(s, from, a, 1);
	}
	project_out(s, from, a, 1);
	(void) normalise(row, s->n);
}

static void
orthonormalise(subspace *s)
{
	size_t		unused = 0;

	for (size_t start = 0; start < s->p; start += ORTHO_AXES)
	{
		size_t		count = smaller(ORTHO_AXES, s->p - start);

		fc_check();
		for (size_t a = start; a < start + count; a++)
			(void) normalise(s->q + a * s->n, s->n);
		project_out(s, 0, start, count);
		project_out(s, 0, start, count);
		fc_check();
		for (size_t a = start; a < start + count; a++)
			join_row(s, start, a, &unused);
	}
}

/* ---- products, in tiles ---- */

/*
 * Computes c = op(a) op(b), or adds the product to c if `add` is set, in
 * float; c is m x n with row stride ldc.
 */
static void
multiply(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k,
		 const float *a, size_t lda, const float *b, size_t ldb, bool add,
		 float *c, size_t ldc)
{
	cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
				transpose_b ? CblasTrans : CblasNoTrans, (int) m, (int) n,
				(int) k, 1.0f, a, (int) lda, b, (int) ldb, add ? 1.0f : 0.0f, c,
				(int) ldc);
}

/* Computes z = q A' A in one pass over the rows of A. */
static void
apply_covariance(subspace *s)
{
	fc_narrow(s->q, s->p * s->n, s->rounded);
	for (size_t start = 0; start < s->rows; start += TILE)
	{
		size_t		rows = smaller(TILE, s->rows - start);
		const float *x = s->x + start * s->n;

		for (size_t a = 0; a < s->p; a += TILE_AXES)
		{
			size_t		axes = smaller(TILE_AXES, s->p - a);

			fc_check();
			multiply(false, true, rows, axes, s->n, x, s->n,
					 s->rounded + a * s->n, s->n, false, s->tile, TILE_AXES);
			multiply(true, false, axes, s->n, rows, s->tile, TILE_AXES, x, s->n,
					 start > 0, s->image + a * s->n, s->n);
		}
	}
	fc_widen(s->image, s->p * s->n, s->z);
}

/*
 * Replaces `rows` (q or z) by S rows, where the rows of S are the eigenvectors
 * in s->h, the greatest eigenvalue first. Works on a tile of columns at a
 * time.
 */
static void
rotate(subspace *s, double *rows)
{
	int			n = (int) s->n;
	int			p = (int) s->p;

	for (size_t start = 0; start < s->n; start += TILE)
	{
		int			columns = (int) smaller(TILE, s->n - start);

		fc_check();
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, p, columns, p,
					1.0, s->h, p, rows + start, n, 0.0, s->rotated, TILE);
		for (size_t j = 0; j < s->p; j++)	/* reverse order: greatest value
											 * first */
			memcpy(rows + (s->p - 1 - j) * s->n + start, s->rotated + j * TILE,
				   (size_t) columns * sizeof(double));
	}
}

/*
 * Returns the largest residual of the r leading Ritz pairs; q and z must have
 * been rotated.
 */
static double
residual(const subspace *s)
{
	double		worst = 0.0;

	for (size_t j = 0; j < s->r; j++)
	{
		double		sum = 0.0;

		for (size_t i = 0; i < s->n; i++)
		{
			double		error = (s->z[j * s->n + i] -
								 s->eigen.values[s->p - 1 - j] * s->q[j * s->n + i]);

			sum += error * error;
		}
		worst = fmax(worst, sqrt(sum));
	}
	return worst;
}

/*
 * Returns the sum of the squares of the r leading eigenvalues. It is the part
 * of the squared Frobenius norm of the iterated matrix that they explain. This
 * matrix is A or, for a data matrix A, A' A.
 */
static double
explained(const subspace *s)
{
	double		sum = 0.0;

	for (size_t j = 0; j < s->r; j++)
		sum += s->eigen.values[s->p - 1 - j] * s->eigen.values[s->p - 1 - j];
	return sum;
}

/*
 * Computes z, the images of the rows of q. With a Ritz step, also rotates q
 * and z to the Ritz vectors, the greatest eigenvalue first.
 */
static void
take_images(subspace *s)
{
	fc_product	images = {
		.transpose_b = true,
		.m = s->p,
		.n = s->n,
		.k = s->n,
		.alpha = 1.0
	};
	fc_product	inner = {
		.transpose_b = true,
		.m = s->p,
		.n = s->p,
		.k = s->n,
		.alpha = 1.0
	};

	if (s->a != NULL)
		fc_multiply(&images, s->q, s->a, s->z);
	else
		apply_covariance(s);
	if (s->h == NULL)
		return;
	fc_multiply(&inner, s->z, s->q, s->h);
	fc_symmetric_eigen(s->h, s->p, s->eigen.values, s->eigen.lapack,
					   s->eigen.integers);
	rotate(s, s->q);
	rotate(s, s->z);
}

/*
 * Runs up to `rounds` rounds of subspace iteration from random directions. The
 * first r rows of s->q are then approximately the r leading eigenvectors.
 */
static void
iterate(subspace *s, int rounds, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 0);
	double		before = 0.0;

	for (size_t i = 0; i < s->p * s->n; i++)
		s->q[i] = fc_rng_normal(&rng);
	orthonormalise(s);
	for (int round = 0; round < rounds; round++)
	{
		double		now;

		take_images(s);
		now = s->h != NULL ? explained(s) : INFINITY;
		if (round == rounds - 1 ||
			(s->h != NULL &&
			 (residual(s) <= TOLERANCE * fabs(s->eigen.values[s->p - 1]) ||
			  now - before <= MIN_EXPLAINED_GAIN * now)))
			break;
		before = now;
		memcpy(s->q, s->z, s->p * s->n * sizeof(double));
		orthonormalise(s);
	}
}

void
fc_leading_eigen(double *a, size_t n, size_t r, fc_arena *arena,
				 double *values, double *vectors)
{
	fc_mark		used = fc_arena_mark(arena);
	bool		whole = n <= FC_EIGEN_WHOLE;
	subspace	s = {0};

	if (whole)
	{
		s.eigen = take_eigen(arena, n);
		fc_symmetric_eigen(a, n, s.eigen.values, s.eigen.lapack,
						   s.eigen.integers);
	}
	else
	{
		s = take_subspace(arena, a, NULL, 0, n, r);
		iterate(&s, MAX_ROUNDS, 0);
	}
	for (size_t j = 0; j < r; j++)
	{
		values[j] = s.eigen.values[(whole ? n : s.p) - 1 - j];
		memcpy(vectors + j * n, whole ? a + (n - 1 - j) * n : s.q + j * n,
			   n * sizeof(double));
	}
	fc_arena_release(arena, used);
}

/* ---- principal axes ---- */

/*
 * Computes matrix = A' A (d x d), summed in float. sums (d x d) is work space.
 */
static void
covariance_of_rows(const subspace *s, float *sums, double *matrix)
{
	for (size_t start = 0; start < s->rows; start += TILE)
	{
		size_t		rows = smaller(TILE, s->rows - start);
		const float *x = s->x + start * s->n;

		fc_check();
		multiply(true, false, s->n, s->n, rows, x, s->n, x, s->n, start > 0,
				 sums, s->n);
	}
	fc_widen(sums, s->n * s->n, matrix);
}

/*
 * Computes the elements j <= i of matrix = A A' (rows x rows), which are the
 * ones that fc_symmetric_eigen reads. They are summed in float; sums (rows x
 * rows) is work space.
 */
static void
products_of_rows(const subspace *s, float *sums, double *matrix)
{
	for (size_t start = 0; start < s->rows; start += TILE_AXES)
	{
		size_t		rows = smaller(TILE_AXES, s->rows - start);

		fc_check();
		multiply(false, true, rows, start + rows, s->n, s->x + start * s->n,
				 s->n, s->x, s->n, false, sums + start * s->rows, s->rows);
		for (size_t i = start; i < start + rows; i++)
			fc_widen(sums + i * s->rows, start + rows, matrix + i * s->rows);
	}
}

/* Returns true if `count` floats are all 0 or -0. */
static inline bool
all_zero(const float *x, size_t count)
{
	uint32_t	bits = 0;

	for (size_t c = 0; c < count; c++)
	{
		uint32_t	value;

		memcpy(&value, x + c, sizeof(value));
		bits |= value << 1;
	}
	return bits == 0;
}

/*
 * Lists the indices and values of the nonzero elements of a row of n floats,
 * and returns their number. column and value need space for one element more
 * than that.
 */
static size_t
list_elements(const float *x, size_t n, uint32_t *column, float *value)
{
	size_t		count = 0;

	for (size_t start = 0; start < n; start += ZEROS)
	{
		size_t		end = smaller(start + ZEROS, n);

		if (all_zero(x + start, end - start))
			continue;
		for (size_t c = start; c < end; c++)
		{
			column[count] = (uint32_t) c;
			value[count] = x[c];
			count += x[c] != 0.0f;
		}
	}
	return count;
}

/*
 * Computes the same elements as products_of_rows, from the nonzero elements of
 * the rows and with sums in double. Returns false, without computing them, if
 * more than 1 / SPARSE_SHARE of the elements are nonzero.
 */
static bool
products_of_sparse_rows(const subspace *s, fc_arena *arena, double *matrix)
{
	size_t		most = s->rows * s->n / SPARSE_SHARE;
	fc_mark		mark = fc_arena_mark(arena);
	uint32_t   *column = FC_TAKE(arena, most + s->n + 1, uint32_t);
	float	   *value = FC_TAKE(arena, most + s->n + 1, float);
	size_t	   *end = FC_TAKE(arena, s->rows + 1, size_t);
	size_t		listed = 0;

	for (end[0] = 0; listed < s->rows && end[listed] <= most; listed++)
	{
		fc_check();
		end[listed + 1] = end[listed] + list_elements(s->x + listed * s->n, s->n,
													  column + end[listed],
													  value + end[listed]);
	}
	for (size_t i = 0; i < s->rows && listed == s->rows; i++)
	{
		const float *x = s->x + i * s->n;

		fc_check();
		for (size_t j = 0; j <= i; j++)
		{
			double		sum = 0.0;

			for (size_t e = end[j]; e < end[j + 1]; e++)
				sum += (double) value[e] * (double) x[column[e]];
			matrix[i * s->rows + j] = sum;
		}
	}
	fc_arena_release(arena, mark);
	return listed == s->rows;
}

/*
 * Computes q_a = u_a A for the leading eigenvectors u_a of A A', which are the
 * last rows of matrix (rows x rows). If A has fewer rows than q, the other
 * rows of q are zero.
 */
static void
combine(subspace *s, const double *matrix, float *vectors)
{
	size_t		axes = smaller(s->p, s->rows);

	memset(s->q, 0, s->p * s->n * sizeof(double));
	for (size_t a = 0; a < axes; a++)
		for (size_t i = 0; i < s->rows; i++)
			vectors[a * s->rows + i] = (float)
				matrix[(s->rows - 1 - a) * s->rows + i];
	for (size_t a = 0; a < axes; a += TILE_AXES)
	{
		size_t		count = smaller(TILE_AXES, axes - a);

		fc_check();
		multiply(false, false, count, s->n, s->rows, vectors + a * s->rows,
				 s->rows, s->x, s->n, false, s->rounded + a * s->n, s->n);
	}
	fc_widen(s->rounded, axes * s->n, s->q);
}

/*
 * Sets the rows of s->q to the leading principal axes, not yet normalised.
 * Computes all eigenvectors of A' A if d <= FC_EIGEN_WHOLE, otherwise of A A'.
 */
static void
axes_whole(subspace *s, fc_arena *arena)
{
	bool		covariance = s->n <= FC_EIGEN_WHOLE;
	size_t		order = covariance ? s->n : s->rows;
	float	   *sums = FC_TAKE(arena, order * order, float);
	double	   *matrix = FC_TAKE(arena, order * order, double);
	eigen_work	eigen = take_eigen(arena, order);

	if (covariance)
		covariance_of_rows(s, sums, matrix);
	else if (!products_of_sparse_rows(s, arena, matrix))
		products_of_rows(s, sums, matrix);
	fc_symmetric_eigen(matrix, order, eigen.values, eigen.lapack,
					   eigen.integers);
	if (!covariance)
		combine(s, matrix, sums);
	for (size_t a = 0; covariance && a < s->p; a++)
		memcpy(s->q + a * s->n, matrix + (order - 1 - a) * s->n,
			   s->n * sizeof(double));
}

/*
 * Rounds an axis to float with a defined sign, because the negative of an axis
 * is the same axis.
 */
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
fc_principal_axes(const float *x, size_t rows, size_t d, size_t n,
				  uint64_t seed, fc_arena *arena, float *basis)
{
	fc_mark		used = fc_arena_mark(arena);
	subspace	s = take_subspace(arena, NULL, x, rows, d, n);

	if (smaller(rows, d) <= FC_EIGEN_WHOLE)
	{
		s.p = n;
		axes_whole(&s, arena);
	}
	else
		iterate(&s, AXES_ROUNDS, seed);
	orthonormalise(&s);
	for (size_t a = 0; a < n; a++)
		round_with_sign(s.q + a * d, d, basis + a * d);
	fc_arena_release(arena, used);
}

/*
 * Returns the memory of the iteration plus the memory of the direct methods,
 * which is an upper bound on either.
 */
size_t
fc_principal_worksize(size_t rows, size_t d, size_t n)
{
	size_t		order = smaller(FC_EIGEN_WHOLE, larger(rows, d));

	return (n + FC_EIGEN_SPARE) * d * (2 * sizeof(double) + 2 * sizeof(float)) +
		(n + 2 * FC_EIGEN_SPARE) * (n + TILE) * 4 * sizeof(double) +
		4 * order * order * sizeof(double) +
		(rows * d / SPARSE_SHARE + d + rows) * 8 + 65536;
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

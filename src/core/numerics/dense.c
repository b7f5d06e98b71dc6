/*
 * dense.c - dense linear algebra by BLAS and LAPACK; see dense.h
 *
 * LAPACK is column-major: it reads a row-major matrix as its transpose.
 */
#include "numerics/dense.h"

#include "base/blas.h"

/*
 * Maximum number of multiply-adds of one BLAS call, which cannot be
 * interrupted and takes about 0.2 s. A larger maximum delays a cancel; a
 * smaller one wastes the speed of BLAS.
 */
#define LONGEST_WORK	((size_t) 1 << 32)

/* Number of rows of a large product that one BLAS call computes. A guess. */
#define TILE_ROWS	256

/*
 * Side of the square tiles in which a matrix is mirrored; a tile fits in the
 * cache. A guess.
 */
#define MIRRORED	32

/*
 * Maximum order of a matrix whose Cholesky factorisation is one LAPACK call.
 * The call takes 0.25 s at this order and cannot be interrupted. Larger
 * matrices are factorised panel by panel, which is slower.
 */
#define WHOLE	3072

/*
 * Number of rows that one call factorises if the order exceeds WHOLE. The
 * update of the remaining rows takes 0.3 s at order 10000. A larger number is
 * faster, but delays a cancel.
 */
#define PANEL	128

/*
 * Number of columns that LAPACK processes together, which sets the size of its
 * work space.
 */
#define BLOCKED	64

/* ---- products ---- */

/* Sets the number of rows and columns of C that one call computes. */
static void
tile_of(const fc_product *p, size_t *rows, size_t *columns)
{
	bool		whole = ((double) p->m * (double) p->n * (double) p->k <=
						 (double) LONGEST_WORK);

	*rows = larger(1, whole ? p->m : smaller(p->m, TILE_ROWS));
	*columns = larger(1, whole ? p->n : LONGEST_WORK / (*rows * p->k));
}

/*
 * A_STRIDE is the row stride of A; A_AT and B_AT are the offsets in A and B
 * for the tile of C at (row, column); TRANSPOSED is the flag of a transpose
 * for BLAS.
 */
#define A_STRIDE(p)			((p)->lda > 0 ? (p)->lda : (p)->transpose_a ? (p)->m : (p)->k)
#define A_AT(p, row)		((p)->transpose_a ? (row) : (row) * A_STRIDE(p))
#define B_AT(p, column)		((p)->transpose_b ? (column) * (p)->k : (column))
#define TRANSPOSED(flag)	((flag) ? CblasTrans : CblasNoTrans)

#define MULTIPLY(name, type, gemm) \
void \
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
				 (int) smaller(rows, p->m - row), (int) smaller(columns, p->n - column), \
				 (int) p->k, (type) p->alpha, a + A_AT(p, row), (int) A_STRIDE(p), \
				 b + B_AT(p, column), (int) (p->transpose_b ? p->k : p->n), \
				 (type) p->beta, c + row * p->n + column, (int) p->n); \
		} \
} \
extern int	no_such_variable

MULTIPLY(fc_multiply, double, cblas_dgemm);
MULTIPLY(fc_multiply_float, float, cblas_sgemm);

void
fc_dots(const float *a, size_t rows, const float *b, size_t count, size_t d,
		float *dots, size_t stride)
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) rows, (int) count,
				(int) d, 1.0f, a, (int) d, b, (int) d, 0.0f, dots, (int) stride);
}

/*
 * Adds alpha A A', or alpha A' A if `transposed`, to the lower triangle of C.
 * Each BLAS call takes a block of columns (rows if `transposed`) of A, so that
 * no call exceeds LONGEST_WORK.
 */
static void
rank_update(bool transposed, size_t n, size_t k, double alpha, const double *a,
			size_t lda, double *c)
{
	size_t		step = larger(1, LONGEST_WORK / larger(1, n * n));

	for (size_t first = 0; first < k; first += step)
	{
		fc_check();
		cblas_dsyrk(CblasRowMajor, CblasLower, TRANSPOSED(transposed), (int) n,
					(int) smaller(step, k - first), alpha,
					a + first * (transposed ? lda : 1), (int) lda, 1.0, c,
					(int) n);
	}
}

void
fc_rank_update(size_t n, size_t k, double alpha, const double *a, double *c)
{
	rank_update(false, n, k, alpha, a, k, c);
}

void
fc_rank_update_transposed(size_t n, size_t k, const double *a, size_t lda,
						  double *c)
{
	rank_update(true, n, k, 1.0, a, lda, c);
}

void
fc_mirror_lower(double *c, size_t n)
{
	for (size_t row = 0; row < n; row += MIRRORED)
		for (size_t column = 0; column <= row; column += MIRRORED)
		{
			fc_check();
			for (size_t i = row; i < n && i < row + MIRRORED; i++)
				for (size_t j = column; j < i && j < column + MIRRORED; j++)
					c[j * n + i] = c[i * n + j];
		}
}

/* ---- positive definite systems ---- */

/*
 * Factorises A = U' U, with U in the upper triangle, in one call or panel by
 * panel. Returns false if A is not positive definite.
 */
static bool
factorise(double *a, size_t n)
{
	size_t		step = n <= WHOLE ? n : PANEL;
	int			order = (int) n;

	for (size_t start = 0; start < n; start += step)
	{
		int			panel = (int) smaller(step, n - start);
		int			behind = (int) n - (int) start - panel;
		double	   *corner = a + start * n + start;
		double	   *beside = corner + panel;
		int			info;

		fc_check();
		dpotrf_("L", &panel, corner, &order, &info);
		if (info != 0)
			return false;
		cblas_dtrsm(CblasRowMajor, CblasLeft, CblasUpper, CblasTrans,
					CblasNonUnit, panel, behind, 1.0, corner, order, beside,
					order);
		cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, behind, panel, -1.0,
					beside, order, 1.0, beside + (size_t) panel * n, order);
	}
	return true;
}

bool
fc_solve_positive(double *a, size_t n, double *b, size_t columns)
{
	size_t		step = larger(1, LONGEST_WORK / larger(1, n * n));
	int			order = (int) n;

	if (n == 0)
		return true;
	if (!factorise(a, n))
		return false;
	for (size_t column = 0; column < columns; column += step)
	{
		int			some = (int) smaller(step, columns - column);
		int			info;

		fc_check();
		dpotrs_("L", &order, &some, a, &order, b + column * n, &order, &info);
	}
	return true;
}

/* ---- eigenproblems ---- */

size_t
fc_eigen_work(size_t n)
{
	return 1 + (6 + BLOCKED) * n + 2 * n * n;
}

size_t
fc_eigen_integers(size_t n)
{
	return 3 + 5 * n;
}

void
fc_symmetric_eigen(double *a, size_t n, double *values, double *work,
				   int *integers)
{
	int			order = (int) n;
	int			length = (int) fc_eigen_work(n);
	int			integer_count = (int) fc_eigen_integers(n);
	int			info;

	fc_check();
	dsyevd_("V", "U", &order, a, &order, values, work, &length, integers,
			&integer_count, &info);
	FC_REQUIRE(info == 0);
}

/* ---- non-negative least squares ---- */

/*
 * Non-negative least squares by block principal pivoting.
 *
 *     x_F = G_FF^-1 b_F,  x_rest = 0;   y = G x - b,  y_F = 0
 *
 * F is the set of variables allowed to be positive. A variable of F with x <
 * 0, or a variable outside F with y < 0, is infeasible. All infeasible
 * variables enter or leave F together. This reaches the optimum in a handful
 * of Cholesky factorisations for any size (Lawson and Hanson's method moves
 * one variable per step). When the number of infeasible variables has not
 * fallen for three rounds, only the last of them is moved (Murty's rule),
 * which cannot cycle.
 *
 * Cost per round: |F|^3 / 3 + count^2. A ridge of 1e-10 times the mean of the
 * diagonal keeps G_FF positive definite if columns coincide.
 *
 * Portugal, Judice, Vicente 1994; Kim, Park 2011, SIAM J. Sci. Comput. 33,
 * alg. 1.
 */

/*
 * Ridge, as a share of the mean diagonal. A larger one changes the solution
 * more; with a smaller one, G_FF is singular if columns coincide. A guess.
 */
#define RIDGE	1e-10

/*
 * Number of rounds without a decrease of the number of infeasible variables
 * after which variables are moved one at a time. Kim and Park 2011 use three.
 */
#define PATIENCE	3

/*
 * Maximum number of rounds: ROUNDS_BASE, plus ROUNDS_PER_VARIABLE for each
 * variable. Rounds reach it only because of rounding errors. A guess.
 */
#define ROUNDS_PER_VARIABLE	5
#define ROUNDS_BASE	50

typedef struct pivoting
{
	const double *gram;
	const double *rhs;
	size_t		count;
	double		ridge;
	double		slack;			/* y above -slack counts as feasible */
	double	   *factor;			/* |F| x |F|: G_FF, then its Cholesky factor */
	double	   *solution;		/* |F| values: b_F, then x_F */
	double	   *y;				/* `count` values: G x - b */
	size_t	   *passive;		/* `count` entries: the members of F,
								 * ascending */
	bool	   *in_passive;		/* `count` flags: true for members of F */
	double	   *x;
} pivoting;

/* Computes x_F = (G_FF + ridge)^-1 b_F, and x = 0 elsewhere. */
static void
solve_passive(pivoting *p)
{
	size_t		members = 0;

	for (size_t i = 0; i < p->count; i++)
		if (p->in_passive[i])
			p->passive[members++] = i;
	for (size_t i = 0; i < members; i++)
	{
		const double *row = p->gram + p->passive[i] * p->count;

		fc_check();
		for (size_t j = 0; j < members; j++)
			p->factor[i * members + j] = row[p->passive[j]];
		p->factor[i * members + i] += p->ridge;
		p->solution[i] = p->rhs[p->passive[i]];
	}
	FC_REQUIRE(fc_solve_positive(p->factor, members, p->solution, 1));
	memset(p->x, 0, p->count * sizeof(double));
	for (size_t i = 0; i < members; i++)
		p->x[p->passive[i]] = p->solution[i];
}

static bool
infeasible(const pivoting *p, size_t i)
{
	return p->in_passive[i] ? p->x[i] < 0.0 : p->y[i] < -p->slack;
}

/* Computes y = G x - b and returns the number of infeasible variables. */
static size_t
count_infeasible(pivoting *p)
{
	size_t		infeasibles = 0;

	memcpy(p->y, p->rhs, p->count * sizeof(double));
	cblas_dgemv(CblasRowMajor, CblasNoTrans, (int) p->count, (int) p->count,
				1.0, p->gram, (int) p->count, p->x, 1, -1.0, p->y, 1);
	for (size_t i = 0; i < p->count; i++)
		infeasibles += infeasible(p, i);
	return infeasibles;
}

/*
 * Moves every infeasible variable into or out of F. If `all` is false, moves
 * only the last one.
 */
static void
exchange(pivoting *p, bool all)
{
	for (size_t i = p->count; i-- > 0;)
	{
		if (!infeasible(p, i))
			continue;
		p->in_passive[i] = !p->in_passive[i];
		if (!all)
			return;
	}
}

static void
pivot(pivoting *p)
{
	size_t		fewest = p->count + 1;
	int			patience = PATIENCE;
	size_t		rounds = ROUNDS_BASE + ROUNDS_PER_VARIABLE * p->count;

	for (size_t round = 0; round < rounds; round++)
	{
		size_t		infeasibles;

		solve_passive(p);
		fc_check();
		infeasibles = count_infeasible(p);
		if (infeasibles == 0)
			break;
		if (infeasibles < fewest)
		{
			fewest = infeasibles;
			patience = PATIENCE;
		}
		else
			patience--;
		exchange(p, patience >= 0);
	}
	/* Negative values can only be rounding errors here. */
	for (size_t i = 0; i < p->count; i++)
		p->x[i] = fmax(p->x[i], 0.0);
}

void
fc_nnls(const double *gram, const double *rhs, size_t count, fc_arena *arena,
		double *x)
{
	fc_mark		mark = fc_arena_mark(arena);
	pivoting	p = {.gram = gram,.rhs = rhs,.count = count,.x = x};
	double		trace = 0.0;
	double		largest = 0.0;

	for (size_t i = 0; i < count; i++)
	{
		trace += gram[i * count + i];
		largest = fmax(largest, fabs(rhs[i]));
	}
	p.ridge = count > 0 ? RIDGE * trace / (double) count + 1e-300 : 0.0;
	p.slack = 1e-12 * largest;
	p.factor = FC_TAKE(arena, count * count, double);
	p.solution = FC_TAKE(arena, count, double);
	p.y = FC_TAKE(arena, count, double);
	p.passive = FC_TAKE(arena, count, size_t);
	p.in_passive = FC_TAKE(arena, count, bool);
	for (size_t i = 0; i < count; i++)
		p.in_passive[i] = true;
	pivot(&p);
	fc_arena_release(arena, mark);
}

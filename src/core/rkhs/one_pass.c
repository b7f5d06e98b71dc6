/*
 * one_pass.c - coordinates of a kernel matrix in one pass; see projection.h.
 *
 * Omega (projection.h) has c columns with entries +-1:
 *     W = K Omega                 n x c
 *     Omega' W = V L V'           c x c, its eigendecomposition
 *     E = W V L^-1/2              K ~ E E'; fc_kernel_embed computes Y from E
 * Eigenpairs with L_j <= 1e-10 L_1 are dropped: W comes from single-precision
 * blocks, so that its noise is about 1e-8 of the first eigenvalue of K.
 *
 * K is computed from prepared rows (fc_kernel_project), or its rows arrive one
 * at a time. fc_kernel_read_row then condenses each row of K into a record:
 *     double w[c]            row of W
 *     double                 sum of the squares of the row
 *     double                 diagonal value
 *     float entry[kept]      values of the row in random columns, from which the
 *                            error is estimated
 */
#include "rkhs/projection.h"

#include "base/blas.h"
#include "base/rng.h"
#include "numerics/dense.h"
#include "numerics/principal.h"
#include "rkhs/internal.h"

/*
 * Relative floor of the eigenvalues of Omega' K Omega. K comes from products
 * in float, whose noise is about 1e-8 of its first eigenvalue.
 */
#define EIGENVALUE_FLOOR	1e-10

/* Number of rows per tile, between two interrupt checks. A guess. */
#define TILE	256

/*
 * Minimum number of probes, the columns of Omega with independent random
 * signs. Each probe costs n^2 multiply-adds. A guess.
 */
#define MIN_PROBES	4

/*
 * KEPT_ENTRIES: total number of entries of a kernel matrix that are kept to
 * estimate the error, if it arrives row by row. MIN_KEPT: minimum number per
 * row. With more entries, the error is more exact, and the records are larger.
 * Guesses.
 */
#define KEPT_ENTRIES	131072
#define MIN_KEPT		4

/* Number of the random stream that chooses the columns of H in Omega. */
#define STREAM_CHOICE	1

/* Number of the random stream that draws the signs in Omega. */
#define STREAM_SIGNS	2

/* First random stream of the kept entries; row i uses STREAM_KEPT + i. */
#define STREAM_KEPT		(UINT64_C(1) << 32)

/* ---- seeded choices among rows and columns ---- */

/*
 * Inserts a value into sorted[0 .. count). Returns false if it is there
 * already.
 */
static bool
insert_sorted(size_t *sorted, size_t count, size_t value)
{
	size_t		low = 0;
	size_t		high = count;

	while (low < high)
	{
		size_t		middle = low + (high - low) / 2;

		if (sorted[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < count && sorted[low] == value)
		return false;
	memmove(sorted + low + 1, sorted + low, (count - low) * sizeof(size_t));
	sorted[low] = value;
	return true;
}

void
fc_choose_distinct(uint64_t seed, size_t n, size_t count, size_t *chosen)
{
	fc_rng		rng = fc_rng_start(seed, STREAM_CHOICE);

	for (size_t taken = 0; taken < count; taken++)
	{
		size_t		limit = n - count + taken;
		size_t		draw = fc_rng_below(&rng, limit + 1);

		if (!insert_sorted(chosen, taken, draw))
			(void) insert_sorted(chosen, taken, limit);
	}
}

void
fc_sign_columns(uint64_t seed, const size_t *columns, size_t count,
				size_t probes, size_t first, size_t rows, int8_t *out)
{
	for (size_t r = 0; r < rows; r++)
	{
		size_t		i = first + r;
		uint64_t	group = (uint64_t) i / 4;
		uint32_t	counter[4] = {
			(uint32_t) group,
			(uint32_t) (group >> 32),
			0,
			STREAM_SIGNS
		};
		uint32_t	block[4];
		uint32_t	word;

		fc_philox(seed, counter, block);
		word = block[i % 4];
		for (size_t s = 0; s < count; s++)
			*out++ = ((unsigned int) __builtin_popcountll(i & columns[s]) ^
					  word) & 1
				? -1
				: 1;
		for (size_t s = 1; s <= probes; s++)
			*out++ = (word >> s) & 1 ? -1 : 1;
	}
}

/* ---- Omega ---- */

size_t
fc_kernel_projection_columns(size_t n, size_t rank, size_t oversampling)
{
	size_t		order = 1;

	while (order < n)
		order *= 2;
	return rank + oversampling < order ? rank + oversampling : order;
}

size_t
fc_kernel_projection_probes(size_t columns, bool published)
{
	return published ? 0 : MIN_PROBES + (8 - (columns + MIN_PROBES) % 8) % 8;
}

fc_kernel_pass
fc_kernel_pass_of(size_t n, size_t rank, size_t oversampling, bool published,
				  uint64_t seed)
{
	size_t		columns = fc_kernel_projection_columns(n, rank, oversampling);
	size_t		probes = fc_kernel_projection_probes(columns, published);

	return (fc_kernel_pass)
	{
		.n = n,.columns = columns,.probes = probes,.c = columns + probes,
			.kept = smaller(n, larger(KEPT_ENTRIES / n, MIN_KEPT)),
			.seed = seed
	};
}

void
fc_kernel_draw(const fc_kernel_pass *pass, int8_t *omega)
{
	size_t		column[FC_MAX_KERNEL_COLUMNS];
	size_t		order = 1;

	while (order < pass->n)
		order *= 2;
	fc_choose_distinct(pass->seed, order, pass->columns, column);
	for (size_t start = 0; start < pass->n; start += TILE)
	{
		fc_check();
		fc_sign_columns(pass->seed, column, pass->columns, pass->probes, start,
						smaller(TILE, pass->n - start),
						omega + start * pass->c);
	}
}

/* ---- coordinates ---- */

typedef struct projection_work
{
	double	   *inner;			/* c x c: Omega' W */
	double	   *values;			/* c eigenvalues of inner */
	double	   *vectors;		/* c x c eigenvectors of inner */
	double	   *t;				/* c x c inverse square root of inner */
	double	   *signs;			/* TILE x c signs as doubles */
} projection_work;

static projection_work
take_work(size_t c, fc_arena *arena)
{
	return (projection_work)
	{
		.inner = FC_TAKE_ZEROED(arena, c * c, double),
			.values = FC_TAKE(arena, c, double),
			.vectors = FC_TAKE(arena, c * c, double),
			.t = FC_TAKE(arena, c * c, double),
			.signs = FC_TAKE(arena, TILE * c, double)
	};
}

static void
widen_signs(const int8_t *signs, size_t count, double *out)
{
	for (size_t i = 0; i < count; i++)
		out[i] = (double) signs[i];
}

/*
 * Sets inner to the symmetric part of Omega' W. Returns the mean squared
 * difference of an entry of Omega' W and its mirror image, which estimates ||K
 * - K'||^2 / scale^2; 0 if c is 1.
 */
static double
inner_matrix(const fc_kernel_pass *pass, const int8_t *omega, const double *w,
			 size_t ldw, projection_work *k)
{
	size_t		c = pass->c;
	double		rest = 0.0;

	for (size_t start = 0; start < pass->n; start += TILE)
	{
		size_t		rows = smaller(TILE, pass->n - start);

		fc_check();
		widen_signs(omega + start * c, rows * c, k->signs);
		cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int) c, (int) c,
					(int) rows, 1.0, k->signs, (int) c, w + start * ldw,
					(int) ldw, 1.0, k->inner, (int) c);
	}
	for (size_t i = 0; i < c; i++)
		for (size_t j = 0; j < i; j++)
		{
			double		mean = ((k->inner[i * c + j] + k->inner[j * c + i]) /
								2.0);
			double		difference = k->inner[i * c + j] - k->inner[j * c + i];

			rest += difference * difference;
			k->inner[i * c + j] = k->inner[j * c + i] = mean;
		}
	return c > 1 ? rest / (double) (c * (c - 1) / 2) : 0.0;
}

/*
 * Computes Y and its eigenvalues from W = K Omega / scale, whose rows are ldw
 * values apart. Sets *bounds to the bounds on the error and the asymmetry of
 * K. square: ||K / scale||^2.
 */
static void
coordinates(const fc_kernel_pass *pass, const int8_t *omega, const double *w,
			size_t ldw, double scale, double square, fc_arena *arena,
			fc_embedding *result, error_bounds *bounds)
{
	fc_mark		used = fc_arena_mark(arena);
	size_t		c = pass->c;
	projection_work k = take_work(c, arena);
	double		rest;
	size_t		found;

	bounds->asymmetry = inner_matrix(pass, omega, w, ldw, &k);
	fc_leading_eigen(k.inner, c, c, arena, k.values, k.vectors);
	found = fc_inverse_root(k.values, k.vectors, c, c, EIGENVALUE_FLOOR, k.t);
	rest = fc_kernel_embed(w, pass->n, c, ldw, k.t, found, scale, arena, result);
	fc_bound_error(result, scale, rest, square, bounds);
	fc_arena_release(arena, used);
}

void
fc_kernel_project(const fc_kernel_rows *rows, const fc_kernel_pass *pass,
				  fc_arena *arena, fc_embedding *result)
{
	fc_mark		used = fc_arena_mark(arena);
	int8_t	   *omega = FC_TAKE(arena, pass->n * pass->c, int8_t);
	double	   *w = FC_TAKE(arena, pass->n * pass->c, double);
	double		square;
	error_bounds bounds;

	fc_kernel_draw(pass, omega);
	fc_kernel_multiply(rows, omega, pass->c, arena, w, &square);
	coordinates(pass, omega, w, pass->c, rows->scale, square, arena, result,
				&bounds);
	fc_arena_release(arena, used);	/* the error needs neither Omega nor W */
	fc_measure_error(rows, pass->seed, square, &bounds, arena, result);
}

/* ---- a kernel matrix that arrives row by row ---- */

size_t
fc_kernel_record(const fc_kernel_pass *pass)
{
	return pass->c + 2 + (pass->kept + 1) / 2;
}

static float *
entries_of(const fc_kernel_pass *pass, double *record)
{
	return (float *) (record + pass->c + 2);
}

/*
 * Returns the column of kept entry t of a row: t if all entries are kept, else
 * a random column.
 */
static size_t
next_kept(const fc_kernel_pass *pass, size_t t, fc_rng *rng)
{
	return pass->kept == pass->n ? t : fc_rng_below(rng, pass->n);
}

void
fc_kernel_read_row(const fc_kernel_pass *pass, const int8_t *omega, size_t i,
				   const double *row, double *signs, double *record)
{
	fc_rng		rng = fc_rng_start(pass->seed, STREAM_KEPT + i);
	float	   *entry = entries_of(pass, record);
	size_t		c = pass->c;
	double		square = 0.0;

	memset(record, 0, fc_kernel_record(pass) * sizeof(double));
	for (size_t start = 0; start < pass->n; start += FC_KERNEL_BLOCK)
	{
		size_t		count = smaller(FC_KERNEL_BLOCK, pass->n - start);

		widen_signs(omega + start * c, count * c, signs);
		cblas_dgemv(CblasRowMajor, CblasTrans, (int) count, (int) c, 1.0, signs,
					(int) c, row + start, 1, 1.0, record, 1);
	}
	for (size_t j = 0; j < pass->n; j++)
		square += row[j] * row[j];
	record[c] = square;
	record[c + 1] = row[i];
	for (size_t t = 0; t < pass->kept; t++)
		entry[t] = (float) row[next_kept(pass, t, &rng)];
}

/*
 * Adds an estimate of the sum of squared errors of row i to sum->total, from
 * the diagonal value and the kept entries, and its variance to sum->variance.
 */
static void
add_kept(const fc_kernel_pass *pass, size_t i, double *record,
		 const fc_embedding *result, error_sum *sum)
{
	fc_rng		rng = fc_rng_start(pass->seed, STREAM_KEPT + i);
	const float *entry = entries_of(pass, record);
	const float *y = result->y;
	double		diagonal = (record[pass->c + 1] -
							fc_coordinates_dot(y + i * result->rank,
											   y + i * result->rank,
											   result->rank));
	fc_mean		mean = {0};

	sum->total += diagonal * diagonal;
	for (size_t t = 0; t < pass->kept; t++)
	{
		size_t		j = next_kept(pass, t, &rng);
		double		error = ((double) entry[t] -
							 fc_coordinates_dot(y + i * result->rank,
												y + j * result->rank,
												result->rank));

		fc_mean_add(&mean, j == i ? 0.0 : error * error * (double) pass->n);
	}
	sum->total += mean.mean;
	if (pass->kept < pass->n)
		sum->variance += fc_mean_variance(&mean);
}

fc_status
fc_kernel_project_records(const fc_kernel_pass *pass, const int8_t *omega,
						  double *records, fc_arena *arena,
						  fc_embedding *result, double *asymmetry)
{
	size_t		size = fc_kernel_record(pass);
	double		square = 0.0;
	error_sum	sum = {0};
	error_bounds bounds;

	for (size_t i = 0; i < pass->n; i++)
		square += records[i * size + pass->c];
	if (square != 0.0 &&
		!(square >= FC_MATRIX_SMALLEST * FC_MATRIX_SMALLEST &&
		  square <= FC_MATRIX_GREATEST * FC_MATRIX_GREATEST))
		return FC_EFAR;
	coordinates(pass, omega, records, size, 1.0, square, arena, result, &bounds);
	*asymmetry = square > 0.0 ? sqrt(bounds.asymmetry / square) : 0.0;
	for (size_t i = 0; i < pass->n; i++)
	{
		fc_check();
		add_kept(pass, i, records + i * size, result, &sum);
	}
	fc_report_error(&sum, square, &bounds, result);
	return FC_OK;
}

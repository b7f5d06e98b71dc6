/*
 * projection_error.c - the error ||K - Y Y'||_F / ||K||_F of a projection.
 *
 * Up to 4096 rows, all pairs of rows are compared. With more rows, the whole
 * diagonal is compared and, in each row i, SAMPLES columns j that are drawn
 * with probability p_j. The estimate is the diagonal's sum of squares plus
 *     sum over i, j != i of (K_ij - y_i.y_j)^2 / (SAMPLES p_j),
 *     p_j = 1 / (2 n) + d_j / (2 sum of d),   d_j = K_jj - ||y_j||^2.
 * The sum is unbiased for any p. K - Y Y' is semidefinite, so no entry exceeds
 * sqrt(d_i d_j), and columns with large entries have a large p_j. The variance
 * of the sum is estimated from the samples of each row.
 *
 * Bounds on the error follow from the approximation K^ = W (Omega' W)^+ W' <=
 * K. Y Y' is its leading part, and no eigenvalue of K^ exceeds the same
 * eigenvalue of K. So
 *     sum over j > rank of lambda_j(K^)^2 <= ||K - Y Y'||^2
 *                                         <= ||K||^2 - ||Y Y'||^2.
 * An estimate outside the bounds is moved to the nearer bound. Its standard
 * deviation is reported as at most half the distance between the bounds.
 */
#include "base/rng.h"
#include "numerics/dense.h"
#include "numerics/rows.h"
#include "rkhs/internal.h"

#define BLOCK	FC_KERNEL_BLOCK

/*
 * Maximum number of rows for a comparison of all pairs. The comparison takes
 * as long as the pass over K that computes the projection (one_pass.c). A
 * guess.
 */
#define EXACT_ROWS	4096

/*
 * Number of columns compared in each row if there are more than EXACT_ROWS
 * rows. The standard deviation of the estimate falls with the square root of
 * this number; each column costs n (d + rank) multiply-adds. A guess.
 */
#define SAMPLES	16

/*
 * Share of ||K||^2 below which the upper bound is not used: it is a difference
 * of sums with a relative error of 1e-7. A guess.
 */
#define CANCELLED_SHARE	1e-3

/*
 * Factor by which the reported standard deviation is raised: in rows with rare
 * large errors, the samples underestimate it. A guess.
 */
#define DEVIATION_FACTOR	1.1

/* Relative rounding error of a sum over pairs in single precision. */
#define ROUNDING	1e-6

/*
 * First random stream of the columns compared; row i uses STREAM_SAMPLES + i.
 */
#define STREAM_SAMPLES	(UINT64_C(2) << 32)

double
fc_coordinates_dot(const float *x, const float *y, size_t rank)
{
	double		sum = 0.0;

	for (size_t j = 0; j < rank; j++)
		sum += (double) x[j] * (double) y[j];
	return sum;
}

/* ---- all pairs ---- */

/* Copies rows of Y, divided by the square root of rows->scale. */
static void
scaled_rows(const fc_embedding *result, size_t start, size_t rows, double root,
			float *out)
{
	const float *y = result->y + start * result->rank;

	for (size_t i = 0; i < rows * result->rank; i++)
		out[i] = (float) ((double) y[i] / root);
}

static double
sum_of_all(const fc_kernel_rows *rows, const fc_embedding *result,
		   fc_arena *arena)
{
	fc_mark		used = fc_arena_mark(arena);
	float	   *block = FC_TAKE(arena, BLOCK * BLOCK, float);
	float	   *product = FC_TAKE(arena, BLOCK * BLOCK, float);
	double	   *scratch = FC_TAKE(arena, BLOCK * BLOCK, double);
	float	   *y_a = FC_TAKE(arena, BLOCK * result->rank, float);
	float	   *y_b = FC_TAKE(arena, BLOCK * result->rank, float);
	double		root = sqrt(rows->scale);
	double		sum = 0.0;

	for (size_t a = 0; a < rows->n; a += BLOCK)
	{
		size_t		na = smaller(BLOCK, rows->n - a);

		scaled_rows(result, a, na, root, y_a);
		for (size_t b = 0; b <= a; b += BLOCK)
		{
			size_t		nb = smaller(BLOCK, rows->n - b);

			fc_check();
			(void) fc_kernel_block(rows, a, na, b, nb, scratch, block);
			scaled_rows(result, b, nb, root, y_b);
			fc_dots(y_a, na, y_b, nb, result->rank, product, nb);
			sum += (a == b ? 1.0 : 2.0) * fc_row_gap(block, product, na * nb);
		}
	}
	fc_arena_release(arena, used);
	return sum;
}

/* ---- sampled pairs ---- */

/*
 * Table to draw a column j with probability p_j (see above). One half of the
 * draws are uniform over all columns, the other half are uniform over the
 * entries of `slot`.
 */
typedef struct column_law
{
	size_t		n;
	uint32_t   *slot;			/* n entries: column j occurs count[j] times */
	uint32_t   *count;			/* n values: number of entries of `slot` that
								 * are column j, about n d_j / sum of d, where
								 * d_j is the error of entry j of the diagonal */
} column_law;

/* Returns (K_ij - y_i.y_j) / scale. */
static double
error_of(const fc_kernel_rows *rows, const fc_embedding *result, size_t i,
		 size_t j)
{
	const float *y = result->y;
	double		value = (i == j ? fc_kernel_diagonal(rows, i)
						 : fc_kernel_pair(rows, i, j));

	return value - fc_coordinates_dot(y + i * result->rank,
									  y + j * result->rank, result->rank) /
		rows->scale;
}

/*
 * Computes the probabilities of the columns, and adds the squared errors of
 * the diagonal to sum->total.
 */
static column_law
column_law_of(const fc_kernel_rows *rows, const fc_embedding *result,
			  fc_arena *arena, error_sum *sum)
{
	size_t		n = rows->n;
	column_law	law = {
		.n = n,
		.slot = FC_TAKE(arena, n, uint32_t),
		.count = FC_TAKE_ZEROED(arena, n, uint32_t)
	};
	fc_mark		used = fc_arena_mark(arena);
	double	   *d = FC_TAKE(arena, n, double);
	double		whole = 0.0;
	double		seen = 0.0;
	size_t		filled = 0;

	for (size_t j = 0; j < n; j++)
	{
		double		error = error_of(rows, result, j, j);

		sum->total += error * error;
		d[j] = fabs(error);
		whole += d[j];
	}
	for (size_t j = 0; j < n; j++)
	{
		seen += d[j];
		while (filled < n && ((double) filled + 0.5) * whole <
			   seen * (double) n)
		{
			law.slot[filled++] = (uint32_t) j;
			law.count[j]++;
		}
	}
	for (; filled < n; filled++)	/* slots remain if all errors d[j] are 0,
									 * or because of rounding errors */
	{
		law.slot[filled] = (uint32_t) filled;
		law.count[filled]++;
	}
	fc_arena_release(arena, used);
	return law;
}

static void
add_samples(const fc_kernel_rows *rows, const fc_embedding *result,
			const column_law *law, uint64_t seed, size_t i, error_sum *sum)
{
	fc_rng		rng = fc_rng_start(seed, STREAM_SAMPLES + i);
	fc_mean		mean = {0};

	for (size_t t = 0; t < SAMPLES; t++)
	{
		size_t		at = fc_rng_below(&rng, 2 * law->n);
		size_t		j = at < law->n ? at : law->slot[at - law->n];
		double		error = j == i ? 0.0 : error_of(rows, result, i, j);

		fc_mean_add(&mean, error * error * 2.0 * (double) law->n /
					(1.0 + (double) law->count[j]));
	}
	sum->total += mean.mean;
	sum->variance += fc_mean_variance(&mean);
}

/* ---- the reported error ---- */

void
fc_bound_error(const fc_embedding *result, double scale, double rest,
			   double square, error_bounds *bounds)
{
	double		explained = 0.0;

	for (size_t j = 0; j < result->rank; j++)
		explained += result->eigenvalues[j] / scale *
			(result->eigenvalues[j] / scale);
	bounds->upper = square > 0.0 ? fmax(1.0 - explained / square, 0.0) : 0.0;
	bounds->lower = square > 0.0 ? fmin(rest / square, bounds->upper) : 0.0;
}

void
fc_report_error(const error_sum *sum, double square,
				const error_bounds *bounds, fc_embedding *result)
{
	double		share = square > 0.0 ? sum->total / square : 0.0;
	double		deviation = 0.0;

	if (sum->variance > 0.0)
	{
		bool		bounded = bounds->upper > CANCELLED_SHARE;

		if (bounded)
			share = fmax(bounds->lower, fmin(share, bounds->upper));
		deviation = (DEVIATION_FACTOR * sqrt(sum->variance) / square /
					 (2.0 * sqrt(share)));
		if (bounded)
			deviation = fmin(deviation, (sqrt(bounds->upper) -
										 sqrt(bounds->lower)) / 2.0);
	}
	result->relative_error = sqrt(share);
	result->error_deviation = fmax(deviation, ROUNDING * result->relative_error);
}

void
fc_measure_error(const fc_kernel_rows *rows, uint64_t seed, double square,
				 const error_bounds *bounds, fc_arena *arena,
				 fc_embedding *result)
{
	fc_mark		used = fc_arena_mark(arena);
	error_sum	sum = {0};

	if (rows->n <= EXACT_ROWS)
		sum.total = sum_of_all(rows, result, arena);
	else
	{
		column_law	law = column_law_of(rows, result, arena, &sum);

		for (size_t i = 0; i < rows->n; i++)
		{
			fc_check();
			add_samples(rows, result, &law, seed, i, &sum);
		}
	}
	fc_report_error(&sum, square, bounds, result);
	fc_arena_release(arena, used);
}

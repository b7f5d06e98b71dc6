/*
 * projection.c - coordinates of a kernel matrix: the method of one pass, the
 * final step that all methods share, and the stored bytes; see projection.h.
 *
 * One pass: W = K Omega.  Omega' W (r' x r') = V L V'; E = W V L^-1/2.
 * Eigenpairs with L_j <= 1e-10 L_1 are dropped: W comes from single-precision
 * blocks, so that its noise is about 1e-8 of the first eigenvalue of K.
 * fc_kernel_embed computes Y from E.
 *
 * Error. First Y is computed from the r' columns alone, and the other columns,
 * the probes z, measure the error matrix Delta = K - Y Y'. Each probe has two
 * unbiased estimates of ||Delta||^2,
 *     ||Delta z||^2   and      ||K||^2 - ||Y Y'||^2 - 2 (Y Y' z).(Delta z)
 * where ||K||^2 is summed in the pass and ||Y Y'||^2 is the sum of the squared
 * eigenvalues. The second estimate hardly varies if Y spans leading
 * eigenvectors, the first is better for small errors. The estimate with the
 * smaller variance is used. Then Y is computed from all columns. This Y is
 * better than the measured one, and since W (Omega' W)^+ W' <= K, it has
 *     ||K - Y Y'||^2 <= ||K||^2 - ||Y Y'||^2
 * The reported error is the smaller of the estimate and this bound.
 */
#include "rkhs/projection.h"

#include "base/blas.h"
#include "base/rng.h"
#include "numerics/dense.h"
#include "numerics/principal.h"

/*
 * Relative floor of the eigenvalues of Omega' K Omega. K comes from products
 * in float, whose noise is about 1e-8 of its first eigenvalue.
 */
#define EIGENVALUE_FLOOR	1e-10

/* Number of rows per tile, between two interrupt checks. A guess. */
#define TILE	256

/*
 * Minimum and maximum number of columns that measure the error before they
 * join Omega. With more columns, the error is measured more exactly; each
 * costs n^2 multiply-adds. A guess.
 */
#define MIN_PROBES	4
#define MAX_PROBES	11

/*
 * Share of ||K||^2 below which a squared error, computed as a difference, is
 * only rounding error.
 */
#define CANCELLED_SHARE	1e-5

/* Random stream of the columns of Omega. */
#define STREAM_CHOICE	1

/* Random stream of signs. */
#define STREAM_SIGNS	2

/* ---- cost (measured) ---- */

double
fc_kernel_operations(fc_kernel_method method, size_t n, size_t d,
					 size_t columns)
{
	double		rows = (double) n;
	double		read = rows * (double) columns * (double) (columns + d);

	switch (method)
	{
		case FC_KERNEL_ONE_PASS:
			return 0.15 * rows * rows * (double) (d + columns);
		case FC_KERNEL_NYSTROEM:
			return read;
		case FC_KERNEL_CHOLESKY:
			return 2.7 * read;
		case FC_KERNEL_EXACT:
			return rows * rows * (100.0 + (double) d + 2.0 * (double) columns);
	}
	return 0.0;
}

/* ---- coordinates, from a factor of the kernel matrix ---- */

size_t
fc_inverse_root(const double *values, const double *vectors, size_t count,
				size_t m, double floor, double *t)
{
	size_t		found = 0;

	while (found < count && values[found] > 0.0 &&
		   values[found] > floor * values[0])
		found++;
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < found; j++)
			t[i * found + j] = vectors[j * m + i] / sqrt(values[j]);
	return found;
}

typedef struct embed_work
{
	double	   *gram;			/* q x q Gram matrix E' E */
	double	   *tile;			/* TILE x q rows of E */
	double	   *values;			/* q eigenvalues of the Gram matrix */
	double	   *vectors;		/* q x q eigenvectors of the Gram matrix */
	double	   *deciding;		/* q values: for each column, the entry of
								 * largest magnitude so far; the sign of the
								 * column makes it positive */
} embed_work;

/*
 * Multiplies up to TILE rows of w, from row `start` on, by t. Returns the
 * number of rows.
 */
static size_t
make_tile(const double *w, size_t start, size_t n, size_t m, size_t ldw,
		  const double *t, size_t q, double *tile)
{
	fc_product	p = {
		.m = smaller(TILE, n - start),
		.n = q,
		.k = m,
		.alpha = 1.0,
		.lda = ldw
	};

	fc_multiply(&p, w + start * ldw, t, tile);
	return p.m;
}

/*
 * Computes y = root * E V row by row. Records in k->deciding the entry of each
 * column that decides its sign.
 */
static void
write_coordinates(const double *w, size_t n, size_t m, size_t ldw,
				  const double *t, size_t q, size_t found, double root,
				  embed_work *k, fc_embedding *result)
{
	memset(k->deciding, 0, q * sizeof(double));
	for (size_t start = 0; start < n; start += TILE)
	{
		size_t		rows = make_tile(w, start, n, m, ldw, t, q, k->tile);

		fc_check();
		for (size_t i = 0; i < rows; i++)
		{
			float	   *y = result->y + (start + i) * result->rank;

			memset(y, 0, result->rank * sizeof(float));
			for (size_t j = 0; j < found; j++)
			{
				double		value = (root * cblas_ddot((int) q, k->tile + i * q, 1,
													   k->vectors + j * q, 1));

				y[j] = (float) value;
				if (fc_decides_sign(value, k->deciding[j]))
					k->deciding[j] = value;
			}
		}
	}
}

void
fc_kernel_embed(const double *w, size_t n, size_t m, size_t ldw,
				const double *t, size_t q, double scale, fc_arena *arena,
				fc_embedding *result)
{
	fc_mark		used = fc_arena_mark(arena);
	size_t		found = 0;
	embed_work	k;

	memset(result->eigenvalues, 0, result->rank * sizeof(double));
	if (q == 0)					/* K is 0, or has no positive eigenvalue */
	{
		memset(result->y, 0, n * result->rank * sizeof(float));
		return;
	}
	k.gram = FC_TAKE_ZEROED(arena, q * q, double);
	k.tile = FC_TAKE(arena, TILE * q, double);
	k.values = FC_TAKE(arena, q, double);
	k.vectors = FC_TAKE(arena, q * q, double);
	k.deciding = FC_TAKE(arena, q, double);
	for (size_t start = 0; start < n; start += TILE)
	{
		size_t		rows = make_tile(w, start, n, m, ldw, t, q, k.tile);

		fc_rank_update_transposed(q, rows, k.tile, q, k.gram);
	}
	fc_mirror_lower(k.gram, q);
	fc_leading_eigen(k.gram, q, q, arena, k.values, k.vectors);
	for (; found < q && found < result->rank &&
		 k.values[found] > 1e-14 * k.values[0];
		 found++)
		result->eigenvalues[found] = scale * k.values[found];
	write_coordinates(w, n, m, ldw, t, q, found, sqrt(scale), &k, result);
	for (size_t i = 0; i < n; i++)
	{
		fc_check();
		for (size_t j = 0; j < found; j++)
			if (k.deciding[j] < 0.0)
				result->y[i * result->rank + j] = -result->y[i * result->rank + j];
	}
	fc_arena_release(arena, used);
}

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

/* ---- one pass ---- */

typedef struct projection_work
{
	size_t		columns;
	size_t		probes;
	size_t		c;				/* columns + probes */
	size_t	   *column;			/* indices of the chosen columns of H */
	int8_t	   *omega;			/* n x c signs */
	double	   *w;				/* n x c: W = K Omega */
	double	   *inner;			/* c x c: Omega' W */
	double	   *values;			/* c eigenvalues of inner */
	double	   *vectors;		/* c x c eigenvectors of inner */
	double	   *t;				/* c x c inverse root of inner */
	double	   *signs;			/* TILE x c signs as doubles */
	double	   *y;				/* TILE x rank coordinates */
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
	return MIN_PROBES + (8 - (columns + MIN_PROBES) % 8) % 8;
}

static void
take_work(fc_arena *arena, size_t n, size_t rank, size_t oversampling,
		  projection_work *k)
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

/*
 * Converts `count` columns of a tile of Omega, from column `first` on, to
 * doubles without gaps.
 */
static void
read_signs(const projection_work *k, size_t start, size_t rows, size_t first,
		   size_t count)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t s = 0; s < count; s++)
			k->signs[i * count + s] = (double) k->omega[(start + i) * k->c +
														first + s];
}

/*
 * Sets inner to the symmetric part of Omega' W, from the first `count`
 * columns of both.
 */
static void
inner_matrix(size_t n, size_t count, projection_work *k)
{
	int			columns = (int) count;

	memset(k->inner, 0, count * count * sizeof(double));
	for (size_t start = 0; start < n; start += TILE)
	{
		size_t		rows = smaller(TILE, n - start);

		fc_check();
		read_signs(k, start, rows, 0, count);
		cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, columns, columns,
					(int) rows, 1.0, k->signs, columns, k->w + start * k->c,
					(int) k->c, 1.0, k->inner, columns);
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
		{
			double		mean = ((k->inner[i * count + j] + k->inner[j * count + i]) /
								2.0);

			k->inner[i * count + j] = k->inner[j * count + i] = mean;
		}
}

/* Computes Y from the first `count` columns of W. */
static void
coordinates(size_t n, size_t count, double scale, fc_arena *arena,
			projection_work *k, fc_embedding *result)
{
	size_t		found;

	inner_matrix(n, count, k);
	fc_leading_eigen(k->inner, count, count, arena, k->values, k->vectors);
	found = fc_inverse_root(k->values, k->vectors, count, count,
							EIGENVALUE_FLOOR, k->t);
	fc_kernel_embed(k->w, n, count, k->c, k->t, found, scale, arena, result);
}

/* ---- the error ---- */

static void
read_coordinates(const projection_work *k, const fc_embedding *result,
				 size_t start, size_t rows, double scale)
{
	for (size_t i = 0; i < rows * result->rank; i++)
		k->y[i] = (double) result->y[start * result->rank + i] / sqrt(scale);
}

/* Computes along = Y' Z, where the columns of Z are the probes. */
static void
project_probes(size_t n, double scale, const fc_embedding *result,
			   projection_work *k)
{
	int			rank = (int) result->rank;
	int			probes = (int) k->probes;

	memset(k->along, 0, result->rank * k->probes * sizeof(double));
	for (size_t start = 0; start < n; start += TILE)
	{
		size_t		rows = smaller(TILE, n - start);

		fc_check();
		read_signs(k, start, rows, k->columns, k->probes);
		read_coordinates(k, result, start, rows, scale);
		cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, rank, probes,
					(int) rows, 1.0, k->y, rank, k->signs, probes, 1.0,
					k->along, probes);
	}
}

/*
 * Computes cross = (Y Y' z).(Delta z) and left = ||Delta z||^2 for each probe
 * z, where Delta = K - Y Y'.
 */
static void
compare_probes(size_t n, double scale, const fc_embedding *result,
			   const projection_work *k, double *cross, double *left)
{
	int			rank = (int) result->rank;
	int			probes = (int) k->probes;

	memset(cross, 0, k->probes * sizeof(double));
	memset(left, 0, k->probes * sizeof(double));
	for (size_t start = 0; start < n; start += TILE)
	{
		size_t		rows = smaller(TILE, n - start);

		fc_check();
		read_coordinates(k, result, start, rows, scale);
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int) rows,
					probes, rank, 1.0, k->y, rank, k->along, probes, 0.0,
					k->image, probes);
		for (size_t i = 0; i < rows; i++)
			for (size_t s = 0; s < k->probes; s++)
			{
				double		image = k->image[i * k->probes + s];
				double		error = (k->w[(start + i) * k->c + k->columns + s] -
									 image);

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
		*variance += (values[i] - mean) * (values[i] - mean) /
			(double) (count - 1);
	return mean;
}

/* Returns ||Y Y'||_F^2 / scale^2. */
static double
explained_square(const fc_embedding *result, double scale)
{
	double		sum = 0.0;

	for (size_t j = 0; j < result->rank; j++)
		sum += result->eigenvalues[j] / scale *
			(result->eigenvalues[j] / scale);
	return sum;
}

static void
estimate_error(size_t n, double scale, double square, projection_work *k,
			   fc_embedding *result)
{
	double		cross[MAX_PROBES];
	double		left[MAX_PROBES];
	double		variance[2];
	double		rest;
	double		direct;

	project_probes(n, scale, result, k);
	compare_probes(n, scale, result, k, cross, left);
	rest = square - explained_square(result, scale) -
		2.0 * mean_of(cross, k->probes, &variance[0]);
	direct = mean_of(left, k->probes, &variance[1]);
	if (4.0 * variance[0] > variance[1] || rest < CANCELLED_SHARE * square)
		rest = direct;
	result->relative_error = square > 0.0 ? sqrt(rest / square) : 0.0;
}

void
fc_kernel_project(const fc_kernel_rows *rows, size_t oversampling,
				  uint64_t seed, fc_arena *arena, fc_embedding *result)
{
	fc_mark		used = fc_arena_mark(arena);
	size_t		n = rows->n;
	double		square = 0.0;
	double		bound;
	projection_work k;
	size_t		order = 1;

	take_work(arena, n, result->rank, oversampling, &k);
	while (order < n)
		order *= 2;
	fc_choose_distinct(seed, order, k.columns, k.column);
	for (size_t start = 0; start < n; start += TILE)
	{
		fc_check();
		fc_sign_columns(seed, k.column, k.columns, k.probes, start,
						smaller(TILE, n - start), k.omega + start * k.c);
	}
	fc_kernel_multiply(rows, k.omega, k.c, arena, k.w, &square);
	coordinates(n, k.columns, rows->scale, arena, &k, result);
	estimate_error(n, rows->scale, square, &k, result);
	coordinates(n, k.c, rows->scale, arena, &k, result);
	bound = square > 0.0 ? 1.0 - explained_square(result, rows->scale) / square
		: 0.0;
	if (bound > CANCELLED_SHARE && sqrt(bound) < result->relative_error)
		result->relative_error = sqrt(bound);
	fc_arena_release(arena, used);
}

/* ---- bytes ---- */

size_t
fc_kernel_projection_size(size_t n, size_t rank)
{
	size_t		row = sizeof(int64_t) + rank * sizeof(float);
	size_t		rows;
	size_t		size;

	if (__builtin_mul_overflow(n, row, &rows) ||
		__builtin_add_overflow(rows,
							   sizeof(fc_kernel_projection_header) +
							   rank * sizeof(double) + 7,
							   &size))
		return SIZE_MAX;
	return size & ~(size_t) 7;
}

double *
fc_kernel_projection_eigenvalues(const fc_kernel_projection_header *header)
{
	return (double *) (header + 1);
}

int64_t *
fc_kernel_projection_ids(const fc_kernel_projection_header *header)
{
	return (int64_t *) (fc_kernel_projection_eigenvalues(header) +
						header->rank);
}

float *
fc_kernel_projection_rows(const fc_kernel_projection_header *header)
{
	return (float *) (fc_kernel_projection_ids(header) + header->n);
}

static bool
header_valid(const fc_kernel_projection_header *header)
{
	return header->version == FC_KERNEL_PROJECTION_VERSION &&
		header->padding == 0 && header->method >= FC_KERNEL_ONE_PASS &&
		header->method <= FC_KERNEL_EXACT &&
		fc_kernel_check(&header->kernel) == FC_OK && header->n >= 1 &&
		header->d >= 1 && header->rank >= 1 &&
		header->rank <= FC_MAX_KERNEL_RANK &&
		(header->oversampling == 0 ||
		 header->method == FC_KERNEL_ONE_PASS) &&
		(header->relative_error == -1.0 || header->relative_error >= 0.0) &&
		isfinite(header->relative_error);
}

fc_status
fc_kernel_projection_check(const void *bytes, size_t size)
{
	const fc_kernel_projection_header *header = bytes;
	const double *eigenvalues;
	const int64_t *ids;
	const float *y;

	if (size < sizeof(fc_kernel_projection_header) || !header_valid(header) ||
		size != fc_kernel_projection_size(header->n, header->rank))
		return FC_EFORMAT;
	eigenvalues = fc_kernel_projection_eigenvalues(header);
	ids = fc_kernel_projection_ids(header);
	y = fc_kernel_projection_rows(header);
	for (size_t j = 0; j < header->rank; j++)
		if (!(eigenvalues[j] >= 0.0 && isfinite(eigenvalues[j])) ||
			(j > 0 && eigenvalues[j] > eigenvalues[j - 1]))
			return FC_EFORMAT;
	for (size_t i = 1; i < header->n; i++)
		if (ids[i] <= ids[i - 1])
			return FC_EFORMAT;
	return fc_zero_padding(y + header->n * header->rank,
						   (const char *) bytes + size) &&
		fc_all_finite_float(y, header->n * header->rank)
		? FC_OK
		: FC_EFORMAT;
}

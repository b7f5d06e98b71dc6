/* kernel.c - kernels, prepared rows, and blocks of values; see kernel.h */
#include "rkhs/kernel.h"

#include "base/blas.h"
#include "numerics/dense.h"
#include "numerics/rows.h"
#include "rkhs/values.h"

#define BLOCK		FC_KERNEL_BLOCK

/*
 * Value of ||x'||^2 above which rows are stored as doubles, because rounding
 * to float would change an exponent by more than 1e-4. With a larger one, more
 * rows are stored as floats, which is faster and less exact.
 */
#define FLOAT_SQUARE_LIMIT	512.0

fc_status
fc_kernel_check(const fc_kernel *kernel)
{
	bool		polynomial = kernel->kind == FC_KERNEL_POLYNOMIAL;
	bool		scaled = polynomial || kernel->kind == FC_KERNEL_RBF;

	if (kernel->version != FC_KERNEL_VERSION || kernel->padding != 0 ||
		kernel->kind < FC_KERNEL_LINEAR ||
		kernel->kind > FC_KERNEL_PRECOMPUTED)
		return FC_EFORMAT;
	if (polynomial ? kernel->degree < 1 || kernel->degree > FC_MAX_DEGREE
		: kernel->degree != 0)
		return FC_EFORMAT;
	if (scaled ? !(kernel->gamma > 0.0 && isfinite(kernel->gamma))
		: kernel->gamma != 0.0 || signbit(kernel->gamma))
		return FC_EFORMAT;
	if (polynomial ? !(kernel->coef0 >= 0.0 && isfinite(kernel->coef0))
		: kernel->coef0 != 0.0)
		return FC_EFORMAT;
	return signbit(kernel->coef0) ? FC_EFORMAT : FC_OK;
}

static double
power(double base, int degree)
{
	double		result = 1.0;

	for (; degree > 0; degree >>= 1)
	{
		if (degree & 1)
			result *= base;
		base *= base;
	}
	return result;
}

double
fc_kernel_value(const fc_kernel *kernel, double dot, double square_x,
				double square_y, double distance)
{
	switch ((fc_kernel_kind) kernel->kind)
	{
		case FC_KERNEL_LINEAR:
			return dot;
		case FC_KERNEL_COSINE:
			return square_x > 0.0 && square_y > 0.0
				? dot / (sqrt(square_x) * sqrt(square_y))
				: 0.0;
		case FC_KERNEL_POLYNOMIAL:
			return power(kernel->gamma * dot + kernel->coef0, kernel->degree);
		case FC_KERNEL_RBF:
			/* The comparison keeps a NaN, unlike fmax. */
			return exp(-kernel->gamma * (distance < 0.0 ? 0.0 : distance));
		case FC_KERNEL_PRECOMPUTED:
			return 0.0;
	}
	return 0.0;
}

/* ---- preparation ---- */

static inline double
input_value(const fc_kernel_input *input, size_t row, size_t column)
{
	size_t		at = ((input->order != NULL ? input->order[row] : row) * input->d +
					  column);

	return input->floats != NULL ? (double) input->floats[at]
		: input->doubles[at];
}

/* Returns ||row - mean||, computed without overflow. */
static double
row_length(const fc_kernel_input *input, size_t row, const double *mean)
{
	double		largest = 0.0;
	double		sum = 0.0;

	for (size_t c = 0; c < input->d; c++)
	{
		double		deviation = fabs(input_value(input, row, c) - mean[c]);

		/* gcc 12.2 for ARM fails on fmax here */
		largest = deviation > largest ? deviation : largest;
	}
	if (!(largest > 0.0) || isinf(largest))
		return largest;
	for (size_t c = 0; c < input->d; c++)
	{
		double		value = (input_value(input, row, c) - mean[c]) / largest;

		sum += value * value;
	}
	return largest * sqrt(sum);
}

static void
mean_of(const fc_kernel_input *input, double *mean)
{
	for (size_t i = 0; i < input->n; i++)
	{
		fc_check();
		for (size_t c = 0; c < input->d; c++)
			mean[c] += input_value(input, i, c) / (double) input->n;
	}
}

static double
longest_row(const fc_kernel_input *input, const double *mean)
{
	double		longest = 0.0;

	for (size_t i = 0; i < input->n; i++)
	{
		fc_check();
		longest = fmax(longest, row_length(input, i, mean));
	}
	return longest;
}

/*
 * Sets *factor, by which x is multiplied to give x' (kernel.h), and the
 * degree, coef0 and scale of *rows. Returns FC_EFAR if kernel values would be
 * out of range.
 */
static fc_status
choose_scale(const fc_kernel *kernel, double longest, fc_kernel_rows *rows,
			 double *factor)
{
	double		greatest;
	double		root;

	rows->degree = kernel->kind == FC_KERNEL_POLYNOMIAL ? kernel->degree
		: kernel->kind == FC_KERNEL_RBF ? 0
		: 1;
	rows->coef0 = 0.0;
	rows->scale = 1.0;
	*factor = kernel->kind == FC_KERNEL_RBF ? sqrt(2.0) * sqrt(kernel->gamma)
		: 1.0;
	if (kernel->kind == FC_KERNEL_RBF)
		return *factor * longest < 1e150 ? FC_OK : FC_EFAR;
	if (kernel->kind == FC_KERNEL_COSINE)
		return FC_OK;
	root = kernel->kind == FC_KERNEL_LINEAR
		? longest * longest
		: kernel->gamma * longest * longest + kernel->coef0;
	greatest = power(root, rows->degree);
	if (!(greatest > 0.0) && longest == 0.0)
		return FC_OK;
	if (!(greatest >= FC_KERNEL_SMALLEST && greatest <= FC_KERNEL_GREATEST))
		return FC_EFAR;
	rows->scale = greatest;
	rows->coef0 = kernel->coef0 / root;
	*factor = sqrt(kernel->kind == FC_KERNEL_LINEAR ? 1.0 / root
				   : kernel->gamma / root);
	return FC_OK;
}

static void
write_rows(const fc_kernel *kernel, const fc_kernel_input *input,
		   const double *mean, double factor, fc_kernel_rows *rows)
{
	for (size_t i = 0; i < input->n; i++)
	{
		double		length = (kernel->kind == FC_KERNEL_COSINE
							  ? row_length(input, i, mean)
							  : 1.0);
		double		square = 0.0;

		fc_check();
		for (size_t c = 0; c < input->d; c++)
		{
			double		value = (length > 0.0
								 ? (input_value(input, i, c) - mean[c]) /
								 length * factor
								 : 0.0);

			if (rows->exact != NULL)
				rows->exact[i * input->d + c] = value;
			else
				value = (double) (rows->x[i * input->d + c] = (float) value);
			square += value * value;
		}
		if (rows->half != NULL)
			rows->half[i] = square / 2.0;
	}
}

fc_status
fc_kernel_prepare(const fc_kernel *kernel, const fc_kernel_input *input,
				  bool exact, fc_arena *arena, fc_kernel_rows *rows)
{
	bool		rbf = kernel->kind == FC_KERNEL_RBF;
	double	   *mean = FC_TAKE(arena, input->d, double);
	double		longest = 1.0;
	double		factor;
	fc_status	status;

	*rows = (fc_kernel_rows)
	{
		.n = input->n,.d = input->d
	};
	memset(mean, 0, input->d * sizeof(double));
	if (rbf)
		mean_of(input, mean);
	if (kernel->kind != FC_KERNEL_COSINE)
		longest = longest_row(input, mean);
	status = choose_scale(kernel, longest, rows, &factor);
	if (status != FC_OK)
		return status;
	if (rbf)
		rows->half = FC_TAKE(arena, input->n, double);
	if (exact ||
		(rbf && factor * longest * factor * longest > FLOAT_SQUARE_LIMIT))
		rows->exact = FC_TAKE(arena, input->n * input->d, double);
	else
		rows->x = FC_TAKE(arena, input->n * input->d, float);
	write_rows(kernel, input, mean, factor, rows);
	return FC_OK;
}

void
fc_kernel_select_rows(const fc_kernel_rows *rows, const size_t *chosen,
					  size_t count, fc_arena *arena, fc_kernel_rows *selected)
{
	*selected = *rows;
	selected->n = count;
	selected->x = NULL;
	selected->exact = FC_TAKE(arena, count * rows->d, double);
	selected->half = rows->half != NULL ? FC_TAKE(arena, count, double) : NULL;
	for (size_t j = 0; j < count; j++)
	{
		fc_check();
		memcpy(selected->exact + j * rows->d, rows->exact + chosen[j] * rows->d,
			   rows->d * sizeof(double));
		if (rows->half != NULL)
			selected->half[j] = rows->half[chosen[j]];
	}
}

/* ---- values ---- */

void
fc_kernel_block_exact(const fc_kernel_rows *left, size_t a, size_t na,
					  const fc_kernel_rows *right, size_t b, size_t nb,
					  double *out, size_t ldo)
{
	int			d = (int) left->d;

	if (nb == 1 && ldo == 1)	/* dgemm would copy the whole left matrix */
		fc_matrix_apply(left->exact + a * left->d, na, left->d,
						right->exact + b * left->d, out);
	else
		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) na, (int) nb,
					d, 1.0, left->exact + a * left->d, d,
					right->exact + b * left->d, d, 0.0, out, (int) ldo);
	for (size_t i = 0; i < na; i++)
		for (size_t j = 0; j < nb; j++)
		{
			double	   *value = &out[i * ldo + j];

			*value = left->degree > 0
				? power(*value + left->coef0, left->degree)
				: exp(fmin(*value -
						   (left->half != NULL ? left->half[a + i]
							: 0.0) -
						   (right->half != NULL
							? right->half[b + j]
							: 0.0),
						   0.0));
		}
}

/* Returns <x'_i, x'_j>. */
static double
pair_dot(const fc_kernel_rows *rows, size_t i, size_t j)
{
	size_t		d = rows->d;
	double		sum = 0.0;

	if (rows->exact != NULL)
		for (size_t c = 0; c < d; c++)
			sum += rows->exact[i * d + c] * rows->exact[j * d + c];
	else
		for (size_t c = 0; c < d; c++)
			sum += (double) rows->x[i * d + c] * (double) rows->x[j * d + c];
	return sum;
}

double
fc_kernel_pair(const fc_kernel_rows *rows, size_t i, size_t j)
{
	double		dot = pair_dot(rows, i, j);

	return rows->degree > 0
		? power(dot + rows->coef0, rows->degree)
		: exp(fmin(dot - rows->half[i] - rows->half[j], 0.0));
}

double
fc_kernel_diagonal(const fc_kernel_rows *rows, size_t i)
{
	return rows->degree > 0 ? fc_kernel_pair(rows, i, i) : 1.0;
}

/*
 * Computes a block in double precision and rounds its values afterwards,
 * because large exponents of rbf data with a wide range need double precision.
 * Returns the sum of the squared values.
 */
static double
wide_block(const fc_kernel_rows *rows, size_t a, size_t na, size_t b, size_t nb,
		   double *scratch, float *out)
{
	double		sum = 0.0;

	fc_kernel_block_exact(rows, a, na, rows, b, nb, scratch, nb);
	for (size_t i = 0; i < na * nb; i++)
	{
		out[i] = (float) scratch[i];
		sum += scratch[i] * scratch[i];
	}
	return sum;
}

double
fc_kernel_block(const fc_kernel_rows *rows, size_t a, size_t na, size_t b,
				size_t nb, double *scratch, float *out)
{
	float		right[BLOCK];
	double		sum = 0.0;

	if (rows->x == NULL)
		return wide_block(rows, a, na, b, nb, scratch, out);
	fc_dots(rows->x + a * rows->d, na, rows->x + b * rows->d, nb, rows->d, out,
			nb);
	if (rows->degree > 0)
		return fc_power_values(out, na * nb, rows->degree, (float) rows->coef0);
	for (size_t j = 0; j < nb; j++)
		right[j] = (float) rows->half[b + j];
	for (size_t i = 0; i < na; i++)
		sum += fc_exponential_values(out + i * nb, nb,
									 (float) rows->half[a + i], right);
	return sum;
}

/* ---- K times a matrix ---- */

/*
 * Adds block * o to w, or block' * o if `transpose`. The block has `rows` x
 * `columns` values, o has c columns; `product` is scratch space.
 */
static void
add_product(const float *block, bool transpose, size_t rows, size_t columns,
			const float *o, size_t c, float *product, double *w)
{
	size_t		out = transpose ? columns : rows;
	size_t		in = transpose ? rows : columns;

	cblas_sgemm(CblasRowMajor, transpose ? CblasTrans : CblasNoTrans,
				CblasNoTrans, (int) out, (int) c, (int) in, 1.0f, block,
				(int) columns, o, (int) c, 0.0f, product, (int) c);
	fc_axpy(1.0, product, out * c, w);
}

/* Converts up to BLOCK rows of o (n x c), from row `start` on, to floats. */
static void
read_block(const int8_t *o, size_t n, size_t start, size_t c, float *out)
{
	for (size_t i = 0; i < smaller(BLOCK, n - start) * c; i++)
		out[i] = (float) o[start * c + i];
}

void
fc_kernel_multiply(const fc_kernel_rows *rows, const int8_t *o, size_t c,
				   fc_arena *arena, double *w, double *square)
{
	fc_mark		used = fc_arena_mark(arena);
	float	   *block = FC_TAKE(arena, BLOCK * BLOCK, float);
	double	   *scratch = FC_TAKE(arena, BLOCK * BLOCK, double);
	float	   *product = FC_TAKE(arena, BLOCK * c, float);
	float	   *o_a = FC_TAKE(arena, BLOCK * c, float);
	float	   *o_b = FC_TAKE(arena, BLOCK * c, float);

	*square = 0.0;
	for (size_t a = 0; a < rows->n; a += BLOCK)
	{
		memset(w + a * c, 0, smaller(BLOCK, rows->n - a) * c * sizeof(double));
		read_block(o, rows->n, a, c, o_a);
		for (size_t b = 0; b <= a; b += BLOCK)
		{
			size_t		na = smaller(BLOCK, rows->n - a);
			size_t		nb = smaller(BLOCK, rows->n - b);

			fc_check();
			*square += (a == b ? 1.0 : 2.0) *
				fc_kernel_block(rows, a, na, b, nb, scratch, block);
			read_block(o, rows->n, b, c, o_b);
			add_product(block, false, na, nb, o_b, c, product, w + a * c);
			if (a != b)
				add_product(block, true, na, nb, o_a, c, product, w + b * c);
		}
	}
	fc_arena_release(arena, used);
}

/*
 * kernel.h - positive semidefinite kernels kappa(x, y) and blocks of their
 * values.
 *
 *     linear        <x, y>
 *     cosine        <x, y> / (||x|| ||y||), 0 if x or y is 0
 *     polynomial    (gamma <x, y> + coef0)^degree
 *     rbf           exp(-gamma ||x - y||^2)
 *     precomputed   no function of rows: the caller passes the matrix row by row
 *
 * Rows are prepared once, so that a value is one of two expressions of a plain
 * dot product:
 *     (<x', y'> + c')^degree <= 1   or
 *     exp(<x', y'> - ||x'||^2 / 2 - ||y'||^2 / 2)
 * where x' and c' include gamma, the greatest kappa(x, x) and, for rbf, the
 * mean of the rows. Blocks contain kappa / scale, which never overflows.
 */
#ifndef FC_RKHS_KERNEL_H
#define FC_RKHS_KERNEL_H

#include "base/fc.h"

#define FC_KERNEL_VERSION	1

/* Maximum degree of a polynomial. A guess. */
#define FC_MAX_DEGREE	32

typedef enum fc_kernel_kind
{
	FC_KERNEL_LINEAR = 1,
	FC_KERNEL_COSINE = 2,
	FC_KERNEL_POLYNOMIAL = 3,
	FC_KERNEL_RBF = 4,
	FC_KERNEL_PRECOMPUTED = 5
} fc_kernel_kind;

/*
 * A serialized kernel. Fields that a kind does not use are 0, so that equal
 * kernels have equal bytes.
 */
typedef struct fc_kernel
{
	uint8_t		version;
	uint8_t		kind;
	uint16_t	padding;		/* always 0 */
	int32_t		degree;			/* degree of a polynomial, 1 .. FC_MAX_DEGREE */
	double		gamma;			/* factor of a polynomial or rbf kernel, > 0 */
	double		coef0;			/* constant of a polynomial kernel, >= 0 */
} fc_kernel;

/* Validates a kernel. Returns FC_OK or FC_EFORMAT. */
fc_status	fc_kernel_check(const fc_kernel *kernel);

/*
 * Returns kappa of two rows, given <x, y>, ||x||^2, ||y||^2 and ||x - y||^2;
 * 0 for a precomputed kernel.
 */
double		fc_kernel_value(const fc_kernel *kernel, double dot, double square_x,
							double square_y, double distance);

/*
 * Input rows: n x d floats or doubles. Row i is stored at index order[i], or
 * at i if order is NULL.
 */
typedef struct fc_kernel_input
{
	const float *floats;		/* n x d values; one of floats and doubles is
								 * NULL */
	const double *doubles;
	const size_t *order;
	size_t		n;
	size_t		d;
} fc_kernel_input;

typedef struct fc_kernel_rows
{
	size_t		n;
	size_t		d;
	int			degree;			/* degree of the polynomial expression; 0: the
								 * exponential expression is used */
	double		coef0;
	double		scale;			/* factor of block values, kappa = scale *
								 * value */
	float	   *x;				/* n x d rows in single precision; NULL: exact
								 * is used */
	double	   *exact;			/* n x d rows in double precision; NULL: x is
								 * used */
	double	   *half;			/* n values of ||x'||^2 / 2; NULL unless rbf */
} fc_kernel_rows;

/*
 * Range that the greatest kappa(x, x) of the rows must be in, because
 * embeddings are in single precision.
 */
#define FC_KERNEL_SMALLEST		1e-70
#define FC_KERNEL_GREATEST	1e70

/*
 * Stores prepared rows in the arena: as doubles if `exact` is true or if
 * rounding to float would change an rbf exponent by more than 1e-4, else as
 * floats. Returns FC_EFAR if the greatest kappa(x, x) is outside
 * FC_KERNEL_SMALLEST .. FC_KERNEL_GREATEST, or if rows of an rbf kernel are too
 * far from their mean.
 */
fc_status	fc_kernel_prepare(const fc_kernel *kernel, const fc_kernel_input *input,
							  bool exact, fc_arena *arena, fc_kernel_rows *rows);

/*
 * Copies `count` prepared exact rows to the arena, for the right side of
 * fc_kernel_block_exact.
 */
void		fc_kernel_select_rows(const fc_kernel_rows *rows, const size_t *chosen,
								  size_t count, fc_arena *arena, fc_kernel_rows *selected);

/*
 * Maximum number of rows per side of a block of the kernel matrix in
 * fc_kernel_multiply and fc_kernel_block. Larger blocks make better use of
 * BLAS, but exceed the cache (bench/kernel_product.c).
 */
#define FC_KERNEL_BLOCK	128

/*
 * Sets out (na x nb, without gaps) to kappa / scale of rows a .. a + na - 1
 * and rows b .. b + nb - 1; na and nb are at most FC_KERNEL_BLOCK. `scratch`
 * has space for na * nb doubles. Returns the sum of the squared values.
 */
double		fc_kernel_block(const fc_kernel_rows *rows, size_t a, size_t na,
							size_t b, size_t nb, double *scratch, float *out);

/*
 * Sets out (na x nb doubles, rows ldo values apart) to kappa / scale of rows a
 * .. a + na - 1 of `left` and rows b .. b + nb - 1 of `right`, all in double
 * precision.
 */
void		fc_kernel_block_exact(const fc_kernel_rows *left, size_t a, size_t na,
								  const fc_kernel_rows *right, size_t b, size_t nb,
								  double *out, size_t ldo);

/* Returns kappa(x_i, x_j) / scale, computed in double precision. */
double		fc_kernel_pair(const fc_kernel_rows *rows, size_t i, size_t j);

/* Returns kappa(x_i, x_i) / scale. */
double		fc_kernel_diagonal(const fc_kernel_rows *rows, size_t i);

/*
 * Sets w (n x c) = K o / scale for o (n x c, small integers), and *square =
 * ||K / scale||_F^2. K is computed in square blocks, and each block is used on
 * both sides of the diagonal. Interrupts are checked once per block. Blocks
 * and their products are float, sums double.
 */
void		fc_kernel_multiply(const fc_kernel_rows *rows, const int8_t *o, size_t c,
							   fc_arena *arena, double *w, double *square);

#endif							/* FC_RKHS_KERNEL_H */

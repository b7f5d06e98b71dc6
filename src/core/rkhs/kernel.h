/*
 * kernel.h - positive semidefinite kernels and their values in blocks.
 *
 *     linear        <x, y>
 *     cosine        <x, y> / (||x|| ||y||), 0 where a row is 0
 *     polynomial    (gamma <x, y> + coef0)^degree
 *     rbf           exp(-gamma ||x - y||^2)
 *
 * Rows are prepared once so that a value is one of two expressions of a plain
 * dot product:
 *     (<x', y'> + c')^degree <= 1   or
 *     exp(<x', y'> - ||x'||^2 / 2 - ||y'||^2 / 2)
 * where gamma, the greatest kappa(x, x) and, for rbf, the mean of the rows
 * went into x' and c'. Blocks hold kappa / scale, which never overflows.
 */
#ifndef FC_RKHS_KERNEL_H
#define FC_RKHS_KERNEL_H

#include "base/fc.h"

#define FC_KERNEL_VERSION	1
#define FC_MAX_DEGREE		32

typedef enum fc_kernel_kind
{
	FC_KERNEL_LINEAR = 1,
	FC_KERNEL_COSINE = 2,
	FC_KERNEL_POLYNOMIAL = 3,
	FC_KERNEL_RBF = 4
} fc_kernel_kind;

/*
 * A stored value: fields a kind does not use are 0, so equal kernels are equal
 * bytes.
 */
typedef struct fc_kernel
{
	uint8_t		version;
	uint8_t		kind;
	uint16_t	padding;		/* 0 */
	int32_t		degree;			/* polynomial: 1 .. FC_MAX_DEGREE */
	double		gamma;			/* polynomial, rbf: > 0 */
	double		coef0;			/* polynomial: >= 0 */
} fc_kernel;

/* FC_OK or FC_EFORMAT. */
fc_status	fc_kernel_check(const fc_kernel *kernel);

/* kappa of two rows from <x, y>, ||x||^2, ||y||^2 and ||x - y||^2. */
double		fc_kernel_value(const fc_kernel *kernel, double dot, double square_x,
							double square_y, double distance);

/*
 * Rows as the caller has them: n x d floats or doubles, row i at place
 * order[i] (NULL: i).
 */
typedef struct fc_kernel_input
{
	const float *floats;		/* one of the two is not NULL */
	const double *doubles;
	const size_t *order;
	size_t		n;
	size_t		d;
} fc_kernel_input;

typedef struct fc_kernel_rows
{
	size_t		n;
	size_t		d;
	int			degree;			/* 0: the exponential */
	double		coef0;
	double		scale;			/* kappa = scale x value of a block */
	float	   *x;				/* n x d, or NULL */
	double	   *exact;			/* n x d, or NULL */
	double	   *half;			/* n: ||x'||^2 / 2; NULL unless rbf */
} fc_kernel_rows;

/*
 * Prepare rows, in the arena. exact = false keeps floats, unless an rbf
 * exponent would lose more than 1e-4 to their rounding. FC_EFAR when the
 * greatest kappa(x, x) is outside of FC_KERNEL_LEAST .. FC_KERNEL_GREATEST
 * (embeddings are single precision).
 */
#define FC_KERNEL_LEAST		1e-70
#define FC_KERNEL_GREATEST	1e70
fc_status
			fc_kernel_prepare(const fc_kernel *kernel, const fc_kernel_input *input,
							  bool exact, fc_arena *arena, fc_kernel_rows *rows);

/*
 * Copies of `count` prepared exact rows, in the arena: points that
 * blocks_exact takes on its right.
 */
void
			fc_kernel_select_rows(const fc_kernel_rows *rows, const size_t *chosen,
								  size_t count, fc_arena *arena, fc_kernel_rows *selected);

/* Rows a side of a block of fc_kernel_multiply and fc_kernel_block. */
#define FC_KERNEL_BLOCK		128

/*
 * out (na x nb, no gaps) = kappa / scale of rows a .. and b .., both at most
 * FC_KERNEL_BLOCK; returns sum of squares.
 */
double		fc_kernel_block(const fc_kernel_rows *rows, size_t a, size_t na,
							size_t b, size_t nb, double *room, float *out);

/*
 * The same in double between two sets of exact rows: out has nb columns of
 * stride ldo.
 */
void		fc_kernel_block_exact(const fc_kernel_rows *left, size_t a, size_t na,
								  const fc_kernel_rows *right, size_t b, size_t nb,
								  double *out, size_t ldo);

/* kappa(x_i, x_i) / scale. */
double		fc_kernel_diagonal(const fc_kernel_rows *rows, size_t i);

/*
 * w (n x c) = K o / scale for o (n x c, small integers), K in square blocks,
 * each pair of blocks made once and used for both of its sides; *square = ||K
 * / scale||_F^2. A check a pair. Blocks and their products are float, sums
 * double.
 */
void		fc_kernel_multiply(const fc_kernel_rows *rows, const int8_t *o, size_t c,
							   fc_arena *arena, double *w, double *square);

#endif							/* FC_RKHS_KERNEL_H */

/*
 * values_simd.c - the elementwise part of kernel blocks; see values.h
 *
 * exp(t) = 2^i exp(f), i = round(t / ln 2), f = t - i ln 2, |f| <= ln(2) / 2:
 * exp(f) is a Taylor polynomial of degree 6 (relative error below 2e-7), and
 * 2^i is written into the exponent bits.
 */
#include "rkhs/values.h"

#include "base/lanes.h"

#define EIGHT	(8 / VECTOR_LANES)	/* number of vectors that hold eight
									 * floats */
#define GROUP	4				/* number of rows processed together: they
								 * share each load of x, and their independent
								 * sums let additions overlap */

/* Sets *value = (*value + coef0)^degree and adds its square to squares. */
INLINE void
vector_power(vfloat *value, int degree, float coef0, vfloat *squares)
{
	vfloat		base = *value + coef0;
	vfloat		result = (vfloat) {0} +1.0f;

	for (; degree > 0; degree >>= 1)
	{
		if (degree & 1)
			result *= base;
		base *= base;
	}
	*value = result;
	*squares += result * result;
}

INLINE double
sum_of(const vfloat lanes[EIGHT])
{
	double		sum = 0.0;

	for (int i = 0; i < 8; i++)
		sum += (double) FC_LANE(lanes, VECTOR_LANES, i);
	return sum;
}

/* Body of fc_power_values, inlined with a constant degree of 1, 2 or 3. */
INLINE double
power_values(float *values, size_t count, int degree, float coef0)
{
	vfloat		squares[2 * EIGHT] = {{0}};
	double		sum = 0.0;
	size_t		i = 0;

	for (; i + 16 <= count; i += 16)
		for (size_t v = 0; v < 2 * EIGHT; v++)
			vector_power((vfloat *) (values + i + v * VECTOR_LANES), degree,
						 coef0, &squares[v]);
	for (; i < count; i++)
	{
		vfloat		one = (vfloat) {0} +values[i];
		vfloat		square = {0};

		vector_power(&one, degree, coef0, &square);
		values[i] = one[0];
		sum += (double) values[i] * (double) values[i];
	}
	return sum + sum_of(squares) + sum_of(squares + EIGHT);
}

FC_CLONES
double
fc_power_values(float *values, size_t count, int degree, float coef0)
{
	switch (degree)
	{
		case 1:
			return power_values(values, count, 1, coef0);
		case 2:
			return power_values(values, count, 2, coef0);
		case 3:
			return power_values(values, count, 3, coef0);
		default:
			return power_values(values, count, degree, coef0);
	}
}

#define MAGIC	12582912.0f		/* 1.5 x 2^23; adding it leaves the nearest
								 * integer in the low bits */

/* Sets *value = exp(*value), with *value clamped to -87 .. 0. */
INLINE void
vector_exponential(vfloat *value)
{
	vfloat		t = *value;
	vint		low = t < -87.0f;
	vint		high = t > 0.0f;
	vfloat		lowest = (vfloat) {0} -87.0f;
	vfloat		turns;
	vfloat		f;
	vfloat		p;

	t = (vfloat) (~(low | high) & (vint) t) + (vfloat) (low & (vint) lowest);
	turns = t * 1.44269504f + MAGIC;
	f = turns - MAGIC;

	/*
	 * f holds i here. ln 2 is split into the difference of two numbers, the
	 * first of which has few bits, so that its product with i is exact.
	 */
	f = (t - f * 0.693359375f) + f * 2.12194440e-4f;
	p = f * (1.0f / 720.0f) + 1.0f / 120.0f;
	p = p * f + 1.0f / 24.0f;
	p = p * f + 1.0f / 6.0f;
	p = p * f + 0.5f;
	p = p * f + 1.0f;
	p = p * f + 1.0f;
	*value = (vfloat) ((vint) p + ((vint) turns << 23));
}

FC_CLONES
double
fc_exponential_values(float *values, size_t count, float left,
					  const float *right)
{
	vfloat		squares[EIGHT] = {{0}};
	double		sum = 0.0;
	size_t		i = 0;

	for (; i + 8 <= count; i += 8)
		for (size_t v = 0; v < EIGHT; v++)
		{
			vfloat	   *at = (vfloat *) (values + i + v * VECTOR_LANES);

			*at -= *(const vfloat *) (right + i + v * VECTOR_LANES) + left;
			vector_exponential(at);
			squares[v] += *at * *at;
		}
	for (; i < count; i++)
	{
		vfloat		one = (vfloat) {0} +(values[i] - (right[i] + left));

		vector_exponential(&one);
		values[i] = one[0];
		sum += (double) values[i] * (double) values[i];
	}
	return sum + sum_of(squares);
}

/* Returns the sum of four lanes. */
INLINE double
fold(const vdouble sums[QUAD])
{
	return (FC_LANE(sums, DOUBLES, 0) + FC_LANE(sums, DOUBLES, 2)) +
		(FC_LANE(sums, DOUBLES, 1) + FC_LANE(sums, DOUBLES, 3));
}

/*
 * Sets out to the squared distances of `rows` <= GROUP rows of v from x, or to
 * their inner products with x if `dot` is set. The offset, unless NULL, is
 * added to the rows of v.
 */
INLINE void
compare_rows(const double *x, const double *offset, const float *v, size_t rows,
			 size_t d, bool dot, double *out)
{
	vdouble		sums[GROUP][QUAD] = {{{0}}};
	size_t		whole = d / 4 * 4;

	for (size_t i = 0; i < whole; i += 4)
		for (size_t q = 0; q < QUAD; q++)
		{
			size_t		at = i + q * DOUBLES;
			vdouble		piece = *(const vdouble *) (x + at);

			for (size_t r = 0; r < rows; r++)
			{
				vdouble		row = FC_WIDEN(vdouble,
										   *(const vhalf *) (v + r * d + at));

				if (offset != NULL)
					row += *(const vdouble *) (offset + at);
				if (!dot)
					row = piece - row;
				sums[r][q] += row * (dot ? piece : row);
			}
		}
	for (size_t r = 0; r < rows; r++)
	{
		out[r] = 0.0;
		for (size_t i = whole; i < d; i++)
		{
			double		row = ((double) v[r * d + i] +
							   (offset != NULL ? offset[i] : 0.0));

			out[r] += dot ? x[i] * row : (x[i] - row) * (x[i] - row);
		}
		out[r] += fold(sums[r]);
	}
}

INLINE void
compare_all(const double *x, const double *offset, const float *v, size_t k,
			size_t d, bool dot, double *out)
{
	size_t		j = 0;

	for (; j + GROUP <= k; j += GROUP)
		compare_rows(x, offset, v + j * d, GROUP, d, dot, out + j);
	for (; j < k; j++)
		compare_rows(x, offset, v + j * d, 1, d, dot, out + j);
}

FC_CLONES
void
fc_row_distances(const double *x, const double *offset, const float *v,
				 size_t k, size_t d, double *distances)
{
	compare_all(x, offset, v, k, d, false, distances);
}

FC_CLONES
void
fc_row_dots(const double *x, const float *v, size_t k, size_t d, double *dots)
{
	compare_all(x, NULL, v, k, d, true, dots);
}

/* Computes the next `rows` <= GROUP elements of y. */
INLINE void
apply_rows(const double *matrix, size_t rows, size_t columns, const double *x,
		   double *y)
{
	vdouble		sums[GROUP][QUAD] = {{{0}}};
	size_t		whole = columns / 4 * 4;

	for (size_t i = 0; i < whole; i += 4)
		for (size_t q = 0; q < QUAD; q++)
		{
			size_t		at = i + q * DOUBLES;
			vdouble		piece = *(const vdouble *) (x + at);

			for (size_t r = 0; r < rows; r++)
				sums[r][q] += *(const vdouble *) (matrix + r * columns + at) *
					piece;
		}
	for (size_t r = 0; r < rows; r++)
	{
		y[r] = fold(sums[r]);
		for (size_t i = whole; i < columns; i++)
			y[r] += matrix[r * columns + i] * x[i];
	}
}

FC_CLONES
void
fc_matrix_apply(const double *matrix, size_t rows, size_t columns,
				const double *x, double *y)
{
	size_t		j = 0;

	for (; j + GROUP <= rows; j += GROUP)
		apply_rows(matrix + j * columns, GROUP, columns, x, y + j);
	for (; j < rows; j++)
		apply_rows(matrix + j * columns, 1, columns, x, y + j);
}

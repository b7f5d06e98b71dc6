/*
 * rows_simd.c - the inner loops over rows; see rows.h
 *
 * Each vector that is loaded from x is multiplied by four rows of the matrix.
 * The last d mod 16 coordinates of a row are handled by loading the row's last
 * 16 coordinates and multiplying them by a copy of x in which the coordinates
 * counted before are zero. No loop runs over single coordinates. Each function
 * is built for several instruction sets; all versions with fused multiply-add
 * give the same bits, independent of the vector length.
 */
#include "numerics/rows.h"

#include "base/lanes.h"

/* Number of partial sums of a dot product. */
#define LANES	16

#define SUM_VECTORS		(LANES / VECTOR_LANES)

/*
 * Number of rows of the matrix that are multiplied together and share each
 * read of the vector. A guess.
 */
#define GROUP_ROWS	4

typedef struct sum_lanes
{
	vfloat vector[SUM_VECTORS];
} sum_lanes;

/* Returns the sum of 16 lanes, adding one half to the other at each step. */
INLINE float
fold(sum_lanes sum)
{
	vfloat		eight[SUM_VECTORS / 2];
	vfloat4		four;

	for (int i = 0; i < SUM_VECTORS / 2; i++)
		eight[i] = sum.vector[i] + sum.vector[i + SUM_VECTORS / 2];
	four = *(const vfloat4 *) eight + *((const vfloat4 *) eight + 1);
	return (four[0] + four[2]) + (four[1] + four[3]);
}

/* Lane i of four doubles. */
#define lane_of(sums, i)	FC_LANE(sums, DOUBLES, i)

INLINE double
fold_double(const vdouble sum[QUAD])
{
	return (lane_of(sum, 0) + lane_of(sum, 2)) +
		(lane_of(sum, 1) + lane_of(sum, 3));
}

/* Returns the sum of sixteen lanes, four by four. */
INLINE double
fold_sixteen(const vdouble sums[4 * QUAD])
{
	vdouble		four[QUAD];

	for (int q = 0; q < QUAD; q++)
		four[q] = (sums[q] + sums[QUAD + q]) +
			(sums[2 * QUAD + q] + sums[3 * QUAD + q]);
	return fold_double(four);
}

#define widened(x)	FC_WIDEN(vdouble, *(const vhalf *) (x))

INLINE sum_lanes
multiply_add(sum_lanes sum, const float *a, const float *x)
{
	for (int i = 0; i < LANES; i += VECTOR_LANES)
		sum.vector[i / VECTOR_LANES] += *(const vfloat *) (a + i) *
			*(const vfloat *) (x + i);
	return sum;
}

/*
 * Computes the dot products of x with `rows` <= GROUP_ROWS rows of a. d is at
 * least 16. tail holds the last 16 values of x; values that belong to a whole
 * block of 16 are replaced by zeros.
 */
INLINE void
dot_rows(const float *a, size_t rows, size_t d, const float *x,
		 const float *tail, float *y)
{
	sum_lanes	sum[GROUP_ROWS] = {{{{0}}}};
	size_t		whole = d / LANES * LANES;

	for (size_t i = 0; i < whole; i += LANES)
		for (size_t r = 0; r < rows; r++)
			sum[r] = multiply_add(sum[r], a + r * d + i, x + i);
	if (whole < d)
		for (size_t r = 0; r < rows; r++)
			sum[r] = multiply_add(sum[r], a + r * d + d - LANES, tail);
	for (size_t r = 0; r < rows; r++)
		y[r] = fold(sum[r]);
}

/*
 * Computes dot products for d < 16 by full-width loads. A load reads past the
 * end of its row, where the padding of x is 0. The last rows are copied first,
 * so that no load passes the end of a.
 */
INLINE void
short_rows(const float *a, size_t rows, size_t d, const float *x, float *y)
{
	float		padded[LANES] = {0};
	float		copy[LANES] = {0};
	sum_lanes	none = {{{0}}};
	size_t		r = 0;

	memcpy(padded, x, d * sizeof(float));
	for (; r < rows && r * d + LANES <= rows * d; r++)
		y[r] = fold(multiply_add(none, a + r * d, padded));
	for (; r < rows; r++)
	{
		memcpy(copy, a + r * d, d * sizeof(float));
		y[r] = fold(multiply_add(none, copy, padded));
	}
}

FC_CLONES
void
fc_dense_apply(const float *a, size_t rows, size_t columns, const float *x,
			   float *y)
{
	float		tail[LANES] = {0};
	size_t		r = 0;

	if (columns < LANES)
	{
		short_rows(a, rows, columns, x, y);
		return;
	}
	for (size_t lane = LANES - columns % LANES; lane <LANES; lane ++)
		tail[lane] = x[columns - LANES + lane];
	for (; r + GROUP_ROWS <= rows; r += GROUP_ROWS)
		dot_rows(a + r * columns, GROUP_ROWS, columns, x, tail, y + r);
	for (; r < rows; r++)
		dot_rows(a + r * columns, 1, columns, x, tail, y + r);
}

FC_CLONES
void
fc_rescale_rows(const double *x, size_t n, size_t d, const double *center,
				const double *scale, double *out)
{
	for (size_t r = 0; r < n; r++, x += d, out += d)
		for (size_t i = 0; i < d; i++)
			out[i] = (x[i] - center[i]) / scale[i];
}

FC_CLONES
void
fc_axpy(double scale, const float *x, size_t n, double *y)
{
	for (size_t i = 0; i < n; i++)
		y[i] += scale * (double) x[i];
}

FC_CLONES
float
fc_float_square(const float *x, size_t n)
{
	sum_lanes	sum = {{{0}}};
	size_t		i = 0;
	float		rest = 0.0f;

	for (; i + LANES <= n; i += LANES)
		sum = multiply_add(sum, x + i, x + i);
	for (; i < n; i++)
		rest += x[i] * x[i];
	return rest + fold(sum);
}

FC_CLONES
double
fc_row_gap(const float *x, const float *y, size_t d)
{
	vdouble		sums[QUAD] = {{0}};
	double		sum = 0.0;
	size_t		i = 0;

	for (; i + 4 <= d; i += 4)
		for (size_t q = 0; q < QUAD; q++)
		{
			vdouble		value = widened(x + i + q * DOUBLES);

			if (y != NULL)
				value -= widened(y + i + q * DOUBLES);
			sums[q] += value * value;
		}
	for (; i < d; i++)
	{
		double		value = (double) x[i] - (y != NULL ? (double) y[i] : 0.0);

		sum += value * value;
	}
	for (int lane = 0; lane <4; lane ++)
		sum += lane_of(sums, lane);
	return sum;
}

/* Writes one vector of x - offset to out, and adds its squares to *sum. */
INLINE void
shift_vector(const double *x, const double *offset, float *out, vdouble *sum)
{
	vdouble		value = *(const vdouble *) x;

	if (offset != NULL)
		value -= *(const vdouble *) offset;
	*(vhalf *) out = FC_NARROW(vhalf, value);
	*sum += value * value;
}

INLINE double
shift(const double *x, const double *offset, size_t d, float *out)
{
	vdouble		sums[4 * QUAD] = {{0}};
	double		sum = 0.0;
	size_t		i = 0;

	for (; i + 16 <= d; i += 16)
		for (size_t q = 0; q < 4 * QUAD; q++)
			shift_vector(x + i + DOUBLES * q,
						 offset != NULL ? offset + i + DOUBLES * q : NULL,
						 out + i + DOUBLES * q, &sums[q]);
	for (; i < d; i++)
	{
		double		value = x[i] - (offset != NULL ? offset[i] : 0.0);

		out[i] = (float) value;
		sum += value * value;
	}
	return sum + fold_sixteen(sums);
}

FC_CLONES
double
fc_known_gap(const float *x, const float *known_x, const float *y,
			 const float *known_y, size_t d, double *shared)
{
	vdouble		sums[QUAD] = {{0}};
	vdouble		both[QUAD] = {{0}};
	double		sum = 0.0;
	size_t		i = 0;

	*shared = 0.0;
	for (; i + 4 <= d; i += 4)
		for (size_t q = 0; q < QUAD; q++)
		{
			size_t		at = i + q * DOUBLES;
			vdouble		known = widened(known_x + at) * widened(known_y + at);
			vdouble		value = (widened(x + at) - widened(y + at)) * known;

			both[q] += known;
			sums[q] += value * value;
		}
	for (; i < d; i++)
	{
		double		known = (double) known_x[i] * (double) known_y[i];
		double		value = ((double) x[i] - (double) y[i]) * known;

		*shared += known;
		sum += value * value;
	}
	*shared += fold_double(both);
	return sum + fold_double(sums);
}

FC_CLONES
double
fc_shift_row(const double *x, const double *offset, size_t d, float *out)
{
	return offset != NULL ? shift(x, offset, d, out) : shift(x, NULL, d, out);
}

/* Adds the squares of one vector of differences x - offset - v to *sum. */
INLINE void
add_squares(const double *x, const double *offset, const float *v, vdouble *sum)
{
	vdouble		row = widened(v);
	vdouble		difference;

	if (offset != NULL)
		row += *(const vdouble *) offset;
	difference = *(const vdouble *) x - row;
	*sum += difference * difference;
}

FC_CLONES
double
fc_row_distance(const double *x, const double *offset, const float *v, size_t d)
{
	vdouble		sums[4 * QUAD] = {{0}};
	double		sum = 0.0;
	size_t		i = 0;

	for (; i + 16 <= d; i += 16)
		for (size_t q = 0; q < 4 * QUAD; q++)
			add_squares(x + i + DOUBLES * q,
						offset != NULL ? offset + i + DOUBLES * q : NULL,
						v + i + DOUBLES * q, &sums[q]);
	for (; i < d; i++)
	{
		double		row = (double) v[i] + (offset != NULL ? offset[i] : 0.0);

		sum += (x[i] - row) * (x[i] - row);
	}
	return sum + fold_sixteen(sums);
}

FC_CLONES
double
fc_row_product(const double *x, const float *v, size_t d)
{
	vdouble		sum[QUAD] = {{0}};
	double		tail = 0.0;
	size_t		i = 0;

	for (; i + 4 <= d; i += 4)
		for (size_t q = 0; q < QUAD; q++)
			sum[q] += *(const vdouble *) (x + i + q * DOUBLES) *
				widened(v + i + q * DOUBLES);
	for (; i < d; i++)
		tail += x[i] * (double) v[i];
	return fold_double(sum) + tail;
}

FC_CLONES
static double
scaled_gap(const double *x, const double *y, size_t d, double scale)
{
	vdouble		sums[QUAD] = {{0}};
	double		sum = 0.0;
	size_t		i = 0;

	for (; i + 4 <= d; i += 4)
		for (size_t q = 0; q < QUAD; q++)
		{
			vdouble		difference = ((*(const vdouble *) (x + i + q * DOUBLES) -
									   *(const vdouble *) (y + i + q * DOUBLES)) *
									  scale);

			sums[q] += difference * difference;
		}
	for (; i < d; i++)
		sum += (x[i] - y[i]) * scale * ((x[i] - y[i]) * scale);
	return sum + fold_double(sums);
}

double
fc_length_between(const double *x, const double *y, size_t d)
{
	double		square = scaled_gap(x, y, d, 1.0);

	if (square > FC_EXP2_MINUS(900) && square < INFINITY)
		return sqrt(square);
	if (square < INFINITY)
		return sqrt(scaled_gap(x, y, d, FC_EXP2(500))) * FC_EXP2_MINUS(500);
	return sqrt(scaled_gap(x, y, d, FC_EXP2_MINUS(540))) * FC_EXP2(540);
}

/*
 * ---- the lowest of many scores ----
 *
 * Each lane keeps its own lowest score, second lowest score and label; lanes
 * are compared at the end.
 */

/*
 * Updates the two lowest scores, and the label of the lowest, with one more
 * score; ignores NaN.
 */
INLINE void
enter_one(float score, int32_t place, float *lowest, float *second,
		  int32_t *label)
{
	const float higher = *lowest > score ? *lowest : score;

	*second = higher < *second ? higher : *second;
	*label = score < *lowest ? place : *label;
	*lowest = score < *lowest ? score : *lowest;
}

FC_CLONES
void
fc_two_lowest(const float *dots, const float *half_norms, size_t count,
			  size_t first, float *lowest, float *second, int32_t *label)
{
	vfloat		low = (vfloat) {0} +INFINITY;
	vfloat		next = low;
	vint		argument = (vint) {0};
	vint		place = FC_LANE_NUMBERS;
	size_t		j = 0;

	place += (int32_t) first;
	for (; j + VECTOR_LANES <= count; j += VECTOR_LANES, place += VECTOR_LANES)
		enter(*(const vfloat *) (half_norms + j) - *(const vfloat *) (dots + j),
			  place, &low, &next, &argument);
	for (size_t lane = 0; j > 0 && lane <VECTOR_LANES; lane ++)
	{
		enter_one(low[lane], argument[lane], lowest, second, label);
		*second = next[lane] < *second ? next[lane] : *second;
	}
	for (; j < count; j++)
		enter_one(half_norms[j] - dots[j], (int32_t) (first + j), lowest,
				  second, label);
}

/* ---- the two lowest scores of one row among points in packs (rows.h) ---- */

#define VECTORS	(FC_PACKED / LANES)

typedef float vwide
			__attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t vwide_int
			__attribute__((vector_size(LANES * 4), aligned(4), may_alias));

#define choose_wide(mask, a, b)	((vwide) choose(mask, (vwide_int) (a), (vwide_int) (b)))

/*
 * Merges the two lowest scores and the label of another lane into each lane.
 * Argument i is the index of the lane that is merged into lane i.
 */
#define FOLD(...) \
do { \
	vwide		other = FC_SHUFFLE(vwide_int, low, low, __VA_ARGS__); \
	vwide		behind = FC_SHUFFLE(vwide_int, next, next, __VA_ARGS__); \
	vwide_int		there = FC_SHUFFLE(vwide_int, label, label, __VA_ARGS__); \
	vwide_int		lower = other < low; \
	vwide		loser = choose_wide(lower, low, other); \
	low = choose_wide(lower, other, low); \
	next = choose_wide(behind < next, behind, next); \
	next = choose_wide(loser < next, loser, next); \
	label = (lower & there) | (~lower & label); \
} while (0)

size_t
fc_packs_floats(size_t k, size_t d)
{
	return (k + FC_PACKED - 1) / FC_PACKED * FC_PACKED * (d + 1);
}

void
fc_packs_build(const float *values, const float *half_norms, size_t k, size_t d,
			   float *packs)
{
	for (size_t first = 0; first < k; first += FC_PACKED)
		for (size_t c = 0; c <= d; c++)
			for (size_t lane = 0; lane <FC_PACKED; lane ++)
			{
				size_t		j = first + lane;

				*packs++ = j >= k ? (c < d ? 0.0f : INFINITY)
					: c < d ? values[j * d + c]
					: half_norms[j];
			}
}

/* The two lowest scores so far in each lane, and the index of the lowest. */
typedef struct lowest_lanes
{
	vwide		low;
	vwide		next;
	vwide_int	label;
} lowest_lanes;

INLINE lowest_lanes
no_lanes(void)
{
	lowest_lanes lanes = {{0}, {0}, {0}};

	lanes.low += INFINITY;
	lanes.next += INFINITY;
	return lanes;
}

/* Returns the indices of points first .. first + LANES - 1. */
INLINE vwide_int
lane_numbers(size_t first)
{
	const vwide_int numbers = {
		0,
		1,
		2,
		3,
		4,
		5,
		6,
		7,
		8,
		9,
		10,
		11,
		12,
		13,
		14,
		15
	};

	return numbers + (int32_t) first;
}

/*
 * Updates the two lowest scores of each lane with the scores of points first
 * .. first + LANES - 1.
 */
INLINE void
enter_lanes(lowest_lanes *lanes, vwide score, size_t first)
{
	vwide_int	lower = score < lanes->low;
	vwide		other = choose_wide(lower, lanes->low, score);
	vwide_int	here = lane_numbers(first);

	lanes->low = choose_wide(lower, score, lanes->low);
	lanes->next = choose_wide(other < lanes->next, other, lanes->next);
	lanes->label = (lower & here) | (~lower & lanes->label);
}

/* Sets the two lowest scores of all lanes; returns the index of the lowest. */
INLINE int32_t
fold_lanes(const lowest_lanes *lanes, float *lowest, float *second)
{
	vwide		low = lanes->low;
	vwide		next = lanes->next;
	vwide_int	label = lanes->label;

	FOLD(8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
	FOLD(4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3);
	FOLD(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1);
	FOLD(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0);
	*lowest = low[0];
	*second = next[0];
	return label[0];
}

FC_CLONES
int32_t
fc_packs_lowest(const float *packs, size_t k, size_t d, const float *x,
				float *lowest, float *second)
{
	lowest_lanes lanes = no_lanes();

	for (size_t first = 0; first < k; first += FC_PACKED)
	{
		vwide		dot[VECTORS] = {{0}};

		for (size_t c = 0; c < d; c++, packs += FC_PACKED)
			for (int v = 0; v < VECTORS; v++)
				dot[v] += x[c] * *(const vwide *) (packs + v * LANES);
		for (int v = 0; v < VECTORS; v++)
			enter_lanes(&lanes, *(const vwide *) (packs + v * LANES) - dot[v],
						first + (size_t) v * LANES);
		packs += FC_PACKED;
	}
	return fold_lanes(&lanes, lowest, second);
}

/* ---- rows with missing coordinates ---- */

/* Returns the sum of (x - v)^2 over the coordinates of x that are not NaN. */
INLINE float
partial_gap(const float *v, size_t d, const float *x)
{
	vwide		sum = {0};
	float		all = 0.0f;
	size_t		i = 0;

	for (; i + LANES <= d; i += LANES)
	{
		vwide		own = *(const vwide *) (x + i);
		vwide		gap = own - *(const vwide *) (v + i);

		gap = (vwide) ((vwide_int) gap & (own == own));
		sum += gap * gap;
	}
	for (; i < d; i++)
		all += x[i] == x[i] ? (x[i] - v[i]) * (x[i] - v[i]) : 0.0f;
	for (int lane = 0; lane <LANES; lane ++)
		all += sum[lane];
	return all;
}

FC_CLONES
void
fc_partial_gaps(const float *values, size_t k, size_t d, const float *x,
				float *squared)
{
	for (size_t j = 0; j < k; j++)
		squared[j] = partial_gap(values + j * d, d, x);
}

FC_CLONES
int32_t
fc_packs_nearest(const float *packs, size_t k, size_t d, const float *x,
				 const uint32_t *observed, size_t count, float *lowest,
				 float *second)
{
	lowest_lanes lanes = no_lanes();
	const vwide none = lanes.low;

	for (size_t first = 0; first < k; first += FC_PACKED)
	{
		vwide		sum[VECTORS] = {{0}};

		for (size_t i = 0; i < count; i++)
			for (int v = 0; v < VECTORS; v++)
			{
				vwide		gap = (x[i] - *(const vwide *) (packs + observed[i] * FC_PACKED +
															v * LANES));

				sum[v] += gap * gap;
			}
		for (int v = 0; v < VECTORS; v++)
		{
			size_t		start = first + (size_t) v * LANES;
			vwide_int	unused = lane_numbers(start) >= (int32_t) k;

			enter_lanes(&lanes, choose_wide(unused, none, sum[v]), start);
		}
		packs += (d + 1) * FC_PACKED;
	}
	return fold_lanes(&lanes, lowest, second);
}

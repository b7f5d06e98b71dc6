/*
 * pruning.c - bounds that leave few centroids to measure; see pruning.h
 *
 * Along axes A (lead x d, rows nearly orthonormal, || A A' - I || <= delta)
 * let z = fl(A y) = A y + e and r = y - A' z. Then
 *
 *     y . v = z . A v + r . v,
 *     | r . v | <= ||A r|| ||A v|| + ||r|| ||v - A' A v||,
 *     ||A r|| <= ||e|| + delta ||z||,
 *     ||r||^2 <= ||y||^2 - ||z||^2 + 2 ||z|| ||e|| + delta ||z||^2,
 *
 * Here, ||e|| <= gamma_d sqrt(lead) (1 + delta) ||y||, for any order of
 * summation (Higham 2002, section 3.1). A v and ||v - A' A v|| are computed in
 * double once per centroid. Comparisons of bounds leave a slack for the
 * rounding errors of floats in the bounds, and of distances.
 */
#include "numerics/pruning.h"

#include "numerics/dense.h"
#include "numerics/principal.h"
#include "numerics/rows.h"

/*
 * Maximum number of centroids whose dot products with a block of rows are
 * computed together. A guess.
 */
#define BLOCK	1024

/*
 * Maximum number of centroids whose lower bounds for a row are computed
 * together. A guess.
 */
#define PASS	256

/* Unit roundoff of a float. */
#define FLOAT_UNIT	0x1p-24

/*
 * Minimum and maximum number of leading axes. With more axes, bounds are
 * tighter and cost more per centroid (bench/pruning.c).
 */
#define MIN_LEAD	32
#define MAX_LEAD	128

/*
 * Maximum number of centroids that determine the principal axes. With more
 * centroids, the axes are better, and preparation takes longer. A guess.
 */
#define AXES_CENTROIDS	256

/* Maximum number of centroids that are rounded to bytes together. A guess. */
#define CODED	((size_t) 256)

/*
 * Maximum share of the centroids' squared lengths that the leading axes may
 * leave out. With a larger remainder, bounds from these axes are too loose
 * (bench/pruning.c).
 */
#define MAX_REST	0.1

/*
 * The costs below choose the fastest method for a block of rows; a wrong cost
 * only wastes time. They are relative to a multiply-add of sgemm. BYTE_WORK is
 * the cost of a multiply-add of bytes (bench/pruning.c).
 */
#define BYTE_WORK	0.25

/*
 * Cost of the bounds of a centroid. Halving or doubling it changes nothing
 * (bench/tuned.py).
 */
#define BOUND_WORK	12.0

/* Cost of the score of a centroid after sgemm (bench/pruning.c). */
#define SCORE_WORK	4.0

/* Cost of coding a coordinate into bytes (bench/pruning.c). */
#define CODE_WORK	16.0

/* Cost of a coordinate of a distance in double (bench/pruning.c). */
#define DISTANCE_WORK	10.0

/*
 * Cost factor of the leading-axes method, whose candidate lists are longer.
 * Halving or doubling it changes nothing (bench/tuned.py).
 */
#define LIST_WORK	1.3

/*
 * Weight of the newest block of rows in the means that a record keeps, 0 to 1.
 * With a larger weight, the means follow changes of the rows faster, but vary
 * more by chance. A guess.
 */
#define NEWEST_WEIGHT	0.125

/*
 * Factor by which the record of a method shrinks with each block of rows that
 * another method handles, so that the method is tried again. With a smaller
 * factor, slower methods are tried more often. A guess.
 */
#define UNUSED_FACTOR	0.998

/* ---- centers, axes and codes ---- */

static size_t
lead_of(size_t d)
{
	size_t		lead = d / 6 / 4 * 4;

	return lead < MIN_LEAD ? MIN_LEAD : lead > MAX_LEAD ? MAX_LEAD : lead;
}

typedef struct pruning_arrays
{
	double	   *center;
	float	   *axes;
} pruning_arrays;

static void
take_pruning_arrays(fc_arena *arena, size_t k, size_t d, pruning_arrays *arrays,
					fc_pruning *pruning)
{
	arrays->center = FC_TAKE(arena, d, double);
	arrays->axes = FC_TAKE(arena, lead_of(d) * d, float);
	fc_codes_take(arena, k, lead_of(d), &pruning->codes[FC_PRUNING_LEADING]);
	if (fc_codes_are_fast())
		fc_codes_take(arena, k, d, &pruning->codes[FC_PRUNING_WHOLE]);
}

typedef struct build_work
{
	float	   *some;			/* AXES_CENTROIDS x d: centroids that
								 * determine the axes */
	double	   *v;				/* CODED x d: centroids minus the center */
	double	   *square;			/* CODED values: squared lengths of the rows
								 * of v */
	double	   *u;				/* CODED x lead: coordinates of v along the
								 * axes */
	double	   *axes;			/* lead x d: axes in double */
} build_work;

static void
take_work(fc_arena *arena, size_t k, size_t d, build_work *w)
{
	w->some = FC_TAKE(arena, smaller(k, AXES_CENTROIDS) * d, float);
	w->v = FC_TAKE(arena, CODED * d, double);
	w->square = FC_TAKE(arena, CODED, double);
	w->u = FC_TAKE(arena, CODED * lead_of(d), double);
	w->axes = FC_TAKE(arena, lead_of(d) * d, double);
}

size_t
fc_pruning_worksize(size_t k, size_t d)
{
	fc_arena	measure = fc_arena_measure();
	pruning_arrays arrays;
	fc_pruning pruning = {0};
	build_work	w;

	take_pruning_arrays(&measure, k, d, &arrays, &pruning);
	take_work(&measure, k, d, &w);
	fc_arena_reserve(&measure, fc_principal_worksize(smaller(k, AXES_CENTROIDS),
													 d, lead_of(d)));
	return sizeof(fc_pruning) + fc_arena_measured(&measure);
}

static void
find_center(const float *values, const double *offset, size_t k, size_t d,
			double *center)
{
	memset(center, 0, d * sizeof(double));
	for (size_t j = 0; j < k; j++)
	{
		fc_check();
		for (size_t i = 0; i < d; i++)
			center[i] += (double) values[j * d + i];
	}
	for (size_t i = 0; i < d; i++)
		center[i] = center[i] / (double) k + (offset != NULL ? offset[i] : 0.0);
}

/* Computes v, centroid j minus the center; returns ||v||^2. */
static double
about_center(const fc_pruning *pruning, const float *values, const double *offset,
			 size_t j, double *v)
{
	double		square = 0.0;

	for (size_t i = 0; i < pruning->d; i++)
	{
		v[i] = (double) values[j * pruning->d + i] +
			((offset != NULL ? offset[i] : 0.0) - pruning->center[i]);
		square += v[i] * v[i];
	}
	return square;
}

/*
 * Sets pruning->max to the length of the longest v. Returns false if it is out
 * of range.
 */
static bool
find_longest(const float *values, const double *offset, const build_work *w,
			 fc_pruning *pruning)
{
	double		square = 0.0;

	for (size_t j = 0; j < pruning->k; j++)
	{
		fc_check();
		square = fmax(square, about_center(pruning, values, offset, j, w->v));
	}
	pruning   ->max = sqrt(square) * (1.0 + 1e-9);
	return pruning->max < FC_PRUNING_MAX_LENGTH &&
	pruning   ->max > 1.0 / FC_PRUNING_MAX_LENGTH;
}

/*
 * Computes the principal axes of up to AXES_CENTROIDS centroids, taken at
 * regular intervals.
 */
static void
find_axes(const float *values, const double *offset, fc_arena *arena,
		  const build_work *w, float *axes, fc_pruning *pruning)
{
	size_t		some = smaller(pruning->k, AXES_CENTROIDS);

	for (size_t s = 0; s < some; s++)
	{
		(void) about_center(pruning, values, offset, s * pruning->k / some, w->v);
		for (size_t i = 0; i < pruning->d; i++)
			w->some[s * pruning->d + i] = (float) (w->v[i] / pruning->max);
	}
	fc_principal_axes(w->some, some, pruning->d, pruning->lead, 0, arena, axes);
}

static double
dot(const float *a, const float *b, size_t n)
{
	double		sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += (double) a[i] * (double) b[i];
	return sum;
}

/*
 * Sets pruning->defect to the Frobenius norm of A A' - I, an upper bound on
 * its spectral norm. Returns false if the axes are not orthonormal.
 */
static bool
measure_defect(fc_pruning *pruning)
{
	double		squares = 0.0;

	for (size_t a = 0; a < pruning->lead; a++)
		for (size_t b = 0; b <= a; b++)
		{
			double		gap = (dot(pruning->axes + a * pruning->d,
								   pruning->axes + b * pruning->d, pruning->d) -
							   (a == b ? 1.0 : 0.0));

			fc_check();
			squares += (a == b ? 1.0 : 2.0) * gap * gap;
		}
	pruning   ->defect = sqrt(squares) * (1.0 + 1e-6) + 1e-12;
	return pruning->defect < 1e-3;
}

/*
 * Rounds the centroids to bytes, block by block: all their coordinates if
 * these are used, and the coordinates along the axes if there are axes.
 */
static void
code_centroids(const float *values, const double *offset, const build_work *w,
			   fc_pruning *pruning)
{
	size_t		lead = pruning->lead;
	size_t		d = pruning->d;
	fc_product	leading = {.transpose_b = true,.n = lead,.k = d,.alpha = 1.0};

	fc_widen(pruning->axes, lead * d, w->axes);
	for (size_t first = 0; first < pruning->k; first += CODED)
	{
		size_t		count = smaller(CODED, pruning->k - first);

		fc_check();
		for (size_t j = 0; j < count; j++)
			w->square[j] = about_center(pruning, values, offset, first + j,
										w->v + j * d);
		for (size_t j = 0; j < count && pruning->codes[FC_PRUNING_WHOLE].k > 0;
			 j++)
			fc_codes_set(&pruning->codes[FC_PRUNING_WHOLE], first + j,
						 w->v + j * d, d, 0.5 * w->square[j], 0.0,
						 pruning->max);
		if (lead == 0)
			continue;
		leading.m = count;
		fc_multiply(&leading, w->v, w->axes, w->u);
		for (size_t j = 0; j < count; j++)
			fc_codes_set(&pruning->codes[FC_PRUNING_LEADING], first + j,
						 w->u + j * lead, lead, 0.5 * w->square[j],
						 fc_pruning_left_out(pruning, w->square[j],
											 fc_sum_of_squares(w->u + j * lead,
															   lead),
											 1e-10 * w->square[j]),
						 pruning->max);
	}
}

static void
leave_axes(fc_pruning *pruning)
{
	pruning   ->lead = 0;
	pruning   ->codes[FC_PRUNING_LEADING].k = 0;
}

/*
 * Drops the axes if they leave out more than the fraction MAX_REST of the
 * centroids' squared lengths. Returns false if the axes are not orthonormal.
 */
static bool
judge_axes(const build_work *w, fc_pruning *pruning)
{
	size_t		some = smaller(pruning->k, AXES_CENTROIDS);
	double		all = 0.0;
	double		along = 0.0;

	for (size_t s = 0; s < some; s++)
	{
		fc_check();
		fc_dense_apply(pruning->axes, pruning->lead, pruning->d,
					   w->some + s * pruning->d, (float *) w->u);
		all += fc_row_square(w->some + s * pruning->d, pruning->d);
		along += fc_row_square((float *) w->u, pruning->lead);
	}
	if (all - along <= MAX_REST * all)
		return measure_defect(pruning);
	leave_axes(pruning);
	return true;
}

bool
fc_pruning_build(const float *values, const double *offset, size_t k, size_t d,
				 bool axes, fc_arena *arena, fc_pruning *pruning)
{
	pruning_arrays arrays;
	build_work	w;
	fc_mark		used;
	bool		built;

	FC_ASSERT(fc_pruning_suits(k, d));
	*pruning = (fc_pruning)
	{
		.k = k,.d = d,.lead = lead_of(d)
	};
	take_pruning_arrays(arena, k, d, &arrays, pruning);
	used = fc_arena_mark(arena);
	take_work(arena, k, d, &w);
	pruning   ->center = arrays.center;
	pruning   ->axes = arrays.axes;

	find_center(values, offset, k, d, arrays.center);
	if (!axes)
		leave_axes(pruning);
	built = find_longest(values, offset, &w, pruning);
	if (built && axes)
	{
		find_axes(values, offset, arena, &w, arrays.axes, pruning);
		built = judge_axes(&w, pruning);
	}
	if (built)
		code_centroids(values, offset, &w, pruning);
	fc_arena_release(arena, used);
	return built;
}

/* ---- the choice of the method ---- */

/*
 * Returns the maximum number of candidates per row. Measuring more candidates
 * would cost as much as a matrix product.
 */
static size_t
max_candidates(size_t k)
{
	size_t		max = k / 16;

	return max < 64 ? 64 : max > 4096 ? 4096 : max;
}

/*
 * Returns the cost per row of computing all scores, in multiply-adds of sgemm.
 */
static double
product_cost(const fc_pruning *pruning)
{
	return (double) pruning->k * ((double) pruning->d + SCORE_WORK);
}

/*
 * Returns the cost per row of computing the bounds, in multiply-adds of sgemm.
 */
static double
bounds_cost(const fc_pruning *pruning, int path)
{
	const fc_codes *codes = &pruning->codes[path];
	double		d = (double) pruning->d;
	double		axes = (path == FC_PRUNING_LEADING ? (double) pruning->lead * d : 0.0);

	return (double) pruning->k * ((codes->bytes != NULL ? BYTE_WORK : 1.0) *
								  (double) codes->width +
								  BOUND_WORK) +
				CODE_WORK * d + axes;
}

/*
 * Returns the mean cost per row of measuring the candidates that a method
 * leaves. given_up is the cost of a row that the method cannot label.
 */
static double
left_cost(const fc_pruning *pruning, const fc_pruning_record *record,
		  double given_up)
{
	return record->measured * DISTANCE_WORK * (double) pruning->d +
				record->given_up * given_up;
}

static double
cost_of(const fc_pruning *pruning, int path)
{
	if (path == FC_PRUNING_NONE)
		return product_cost(pruning);
	if (path == FC_PRUNING_LEADING)
		return LIST_WORK *
			(bounds_cost(pruning, path) +
			 left_cost(pruning, &pruning->record[path], product_cost(pruning)));
	return bounds_cost(pruning, path) +
		left_cost(pruning, &pruning->record[path], product_cost(pruning));
}

int
fc_pruning_choose(fc_pruning *pruning)
{
	int			best = FC_PRUNING_NONE;

	for (int path = FC_PRUNING_LEADING; path <= FC_PRUNING_WHOLE; path++)
		if (pruning->codes[path].k > 0 &&
			cost_of(pruning, path) < cost_of(pruning, best))
			best = path;
	for (int path = FC_PRUNING_LEADING; path <= FC_PRUNING_WHOLE; path++)
		if (path != best)
		{
			pruning   ->record[path].measured *= UNUSED_FACTOR;
			pruning   ->record[path].given_up *= UNUSED_FACTOR;
		}
	return best;
}

static void
keep_record(fc_pruning_record *record, size_t rows, double measured,
			double given_up)
{
	double		share = (rows < FC_PRUNING_ROWS / 4
						 ? NEWEST_WEIGHT * (double) rows / (FC_PRUNING_ROWS / 4)
						 : NEWEST_WEIGHT);

	if (record->measured == 0.0 && record->given_up == 0.0)
		share = 1.0;
	record->measured += share * (measured / (double) rows - record->measured);
	record->given_up += share * (given_up / (double) rows - record->given_up);
}

/* ---- rows ---- */

/* A row, its bounds, and the number of its candidates. */
typedef struct pruned_row
{
	fc_coded_row coded;
	size_t		number;			/* index of the row among the caller's rows */
	double		square;			/* ||y||^2 */
	double		slack;			/* bound on the rounding error of a score */
	float		upper;			/* lowest upper bound so far */
	bool		lost;			/* true if too many candidates are left, or if
								 * the row cannot be bounded */
	uint32_t	left;			/* number of candidates */
} pruned_row;

typedef struct pruning_work
{
	pruned_row *row;			/* n entries: bounds and candidates of each
								 * row */
	float	   *y;				/* n x d: rows minus the center */
	float	   *z;				/* n x lead: coordinates of the rows along the
								 * axes */
	uint8_t    *bytes;			/* n x width: rows in bytes */
	float	   *floats;			/* n x width: the bytes as floats, if vectors
								 * are floats */
	int32_t    *dots;			/* n x BLOCK dot products of rows with
								 * centroids */
	float	   *lower;			/* PASS values: lower bounds of centroids */
	uint32_t   *place;			/* n x max_candidates: indices of the
								 * candidates */
	float	   *bound;			/* n x max_candidates: lower bounds of the
								 * candidates */
	size_t		max;			/* maximum number of candidates per row */
} pruning_work;

static size_t
block_of(const fc_pruning *pruning)
{
	return smaller(BLOCK, pruning->codes[FC_PRUNING_LEADING].capacity);
}

static void
take_rows(fc_arena *arena, const fc_pruning *pruning, size_t n, pruning_work *w)
{
	size_t		width = larger(pruning->codes[FC_PRUNING_LEADING].width,
							   pruning->codes[FC_PRUNING_WHOLE].width);

	w->max = max_candidates(pruning->k);
	w->row = FC_TAKE(arena, n, pruned_row);
	w->y = FC_TAKE(arena, n * pruning->d, float);
	w->z = FC_TAKE(arena, n * pruning->lead, float);
	w->bytes = FC_TAKE(arena, n * width, uint8_t);
	w->floats = FC_TAKE(arena, fc_codes_are_fast() ? 0 : n * width, float);
	w->dots = FC_TAKE(arena, n * block_of(pruning), int32_t);
	w->lower = FC_TAKE(arena, PASS, float);
	w->place = FC_TAKE(arena, n * w->max, uint32_t);
	w->bound = FC_TAKE(arena, n * w->max, float);
}

size_t
fc_pruning_scratch(const fc_pruning *pruning, size_t n)
{
	fc_arena	measure = fc_arena_measure();
	pruning_work w;

	take_rows(&measure, pruning, smaller(n, FC_PRUNING_ROWS), &w);
	return fc_arena_measured(&measure) / sizeof(float) + 1;
}

/* Returns true if the row is close enough to the center for bounds. */
static bool
is_near(const pruned_row *row)
{
	return row->square < FC_PRUNING_MAX_LENGTH * FC_PRUNING_MAX_LENGTH;
}

/*
 * Subtracts the center from the rows, and empties their lists of candidates.
 */
static void
center_rows(const fc_pruning *pruning, const fc_pruned_rows *rows, size_t n,
			const pruning_work *w)
{
	for (size_t r = 0; r < n; r++)
	{
		float	   *y = w->y + r * pruning->d;
		pruned_row *row = &w->row[r];
		double		far;

		if (rows->x != NULL)
			row->square = fc_shift_row(rows->x + r * pruning->d, pruning->center,
									   pruning->d, y);
		else
		{
			for (size_t i = 0; i < pruning->d; i++)
				y[i] = (float) ((double) rows->x_float[r * pruning->d + i] -
								pruning->center[i]);
			row->square = fc_row_square(y, pruning->d);
		}
		far = sqrt(row->square) + pruning->max;
		row->slack = FC_EXP2_MINUS(19) * pruning->max * far +
					((double) pruning->d + 16.0) *FC_EXP2_MINUS(52) * far *
					far;

		row->number = r;
		row->upper = INFINITY;
		row->left = 0;
		row->lost = !is_near(row);
	}
}

static void
code_whole(const fc_pruning *pruning, size_t n, const pruning_work *w)
{
	const fc_codes *codes = &pruning->codes[FC_PRUNING_WHOLE];

	for (size_t r = 0; r < n; r++)
	{
		double		length = sqrt(w->row[r].square);

		w->row[r].coded = fc_codes_of_row(codes, w->y + r * pruning->d,
										  pruning->d, length,
										  w->bytes + r * codes->width);
		w->row[r].coded.error += (float) (4.0 * FLOAT_UNIT * length);
	}
}

/*
 * Projects rows onto the axes, rounds the coordinates to bytes, and bounds the
 * length of the component orthogonal to the axes.
 */
static void
code_leading(const fc_pruning *pruning, size_t n, const pruning_work *w)
{
	const fc_codes *codes = &pruning->codes[FC_PRUNING_LEADING];
	double		terms = ((double) pruning->d + 8.0) *FLOAT_UNIT;
	double		projection = (terms / (1.0 - terms) * sqrt((double) pruning->lead) *
							  (1.0 + pruning->defect));

	if (n == 1)
		fc_dense_apply(pruning->axes, pruning->lead, pruning->d, w->y, w->z);
	else
		fc_dots(w->y, n, pruning->axes, pruning->lead, pruning->d, w->z, pruning->lead);
	for (size_t r = 0; r < n; r++)
	{
		pruned_row *row = &w->row[r];
		double		length = sqrt(row->square);
		double		square = fc_row_square(w->z + r * pruning->lead, pruning->lead);
		double		lead = sqrt(square);
		double		error = projection * length;
		double		rest = fc_pruning_left_out(pruning, row->square, square,
											   2.0 * lead * error);

		row->coded = fc_codes_of_row(codes, w->z + r * pruning->lead,
									 pruning->lead, lead,
									 w->bytes + r * codes->width);
		row->coded.error += (float) ((error + pruning->defect * lead) *1.001 +
									 4.0 * FLOAT_UNIT * length);
		row->coded.rest = (float) (rest * (1.0 + FC_EXP2_MINUS(18)) +
								   4.0 * FLOAT_UNIT * length);
	}
}

/*
 * Drops the candidates whose lower bound is above `limit` from a row's list.
 * `place` and `bound` are the indices and lower bounds of the candidates.
 */
static void
shorten_list(pruned_row *row, uint32_t *place, float *bound, float limit)
{
	uint32_t	left = 0;

	for (uint32_t i = 0; i < row->left; i++)
		if (bound[i] <= limit)
		{
			place[left] = place[i];
			bound[left++] = bound[i];
		}
	row->left = left;
}

/*
 * Appends to the list of row r the centroids among first .. first + count - 1
 * that may be nearest; dots are the dot products of the row with them.
 */
static void
prune_row(const fc_codes *codes, size_t first, size_t count, size_t r,
		  const int32_t *dots, const pruning_work *w)
{
	pruned_row *row = &w->row[r];
	uint32_t   *place = w->place + r * w->max;
	float	   *bound = w->bound + r * w->max;
	size_t		capacity;
	size_t		found;
	float		limit;
	float		lowest;

	if (row->lost)
		return;
	row->upper = fminf(row->upper,
					   fc_codes_bound(codes, &row->coded, first, count, dots,
									  w->lower, &lowest));
	limit = (float) (((double) row->upper + 2.0 * row->slack) +
					 FC_EXP2_MINUS(22) * fabs((double) row->upper));
	if (lowest > limit)
		return;
	capacity = w->max - row->left;
	found = fc_codes_within(w->lower, count, limit, capacity, place + row->left);
	if (found > capacity)
	{
		shorten_list(row, place, bound, limit);
		capacity = w->max - row->left;
		found = fc_codes_within(w->lower, count, limit, capacity,
								place + row->left);
	}
	row->lost = found > capacity;
	for (size_t i = row->left; i < row->left + found && !row->lost; i++)
	{
		bound[i] = w->lower[place[i]];
		place[i] += (uint32_t) first;
	}
	row->left += row->lost ? 0 : (uint32_t) found;
}

/*
 * Returns the nearest candidate of row r. The candidate with the lowest bound
 * is measured first. Adds the number of distances measured to *measured.
 */
static int32_t
nearest_left(const fc_pruned_rows *rows, size_t r, const pruning_work *w,
			 double *measured)
{
	const pruned_row *row = &w->row[r];
	const uint32_t *place = w->place + r * w->max;
	const float *bound = w->bound + r * w->max;
	size_t		likely = 0;
	double		best;
	size_t		label;

	for (size_t i = 1; i < row->left; i++)
		if (bound[i] < bound[likely])
			likely = i;
	label = place[likely];
	if (row->left == 1)
		return (int32_t) label;
	best = rows->distance(rows->context, row->number, label);
	*measured += 1.0;
	for (size_t i = 0; i < row->left; i++)
	{
		double		distance;

		if (i == likely || row->square * (1.0 - 4.0 * FLOAT_UNIT) +
			2.0 * ((double) bound[i] - row->slack) >
			best)
			continue;
		distance = rows->distance(rows->context, row->number, place[i]);
		*measured += 1.0;
		if (distance < best || (distance == best && place[i] < label))
		{
			best = distance;
			label = place[i];
		}
	}
	return (int32_t) label;
}

/*
 * Labels each row with the nearest candidate in its list, and updates the
 * record of the method. A row without candidates, or whose `lost` is set, gets
 * the label -1.
 */
static void
measure_left(fc_pruning_record *record, const fc_pruned_rows *rows, size_t n,
			 const pruning_work *w, int32_t *labels)
{
	double		measured = 0.0;
	double		lost = 0.0;

	for (size_t r = 0; r < n; r++)
	{
		int32_t    *label = &labels[w->row[r].number];

		*label = -1;
		if (w->row[r].left > 0 && !w->row[r].lost)
			*label = nearest_left(rows, r, w, &measured);
		else
			lost += 1.0;
		fc_check();
	}
	keep_record(record, n, measured, lost);
}

/* Lists the candidates of n rows by the bounds of the method `path`. */
static void
prune_rows(const fc_pruning *pruning, int path, size_t n, const pruning_work *w)
{
	const fc_codes *codes = &pruning->codes[path];
	size_t		block = block_of(pruning);

	if (path == FC_PRUNING_LEADING)
		code_leading(pruning, n, w);
	else
		code_whole(pruning, n, w);
	for (size_t first = 0; first < codes->capacity; first += block)
	{
		size_t		count = smaller(block, codes->capacity - first);

		fc_check();
		fc_codes_multiply(codes, w->bytes, n, first, count, w->floats, w->dots);
		for (size_t r = 0; r < n; r++)
			for (size_t part = 0; part < count; part += PASS)
				prune_row(codes, first + part, smaller(PASS, count - part), r,
						  w->dots + r * count + part, w);
	}
}

void
fc_pruning_assign(fc_pruning *pruning, int path, const fc_pruned_rows *rows, size_t n,
				  fc_scratch scratch, int32_t *labels)
{
	fc_arena	arena = {
		.next = (char *) scratch.floats,
		.end = (char *) (scratch.floats + scratch.count)
	};
	pruning_work w;

	FC_ASSERT(n <= FC_PRUNING_ROWS &&
			  scratch.count >= fc_pruning_scratch(pruning, n) &&
			  (path == FC_PRUNING_LEADING || path == FC_PRUNING_WHOLE));
	take_rows(&arena, pruning, n, &w);
	center_rows(pruning, rows, n, &w);
	prune_rows(pruning, path, n, &w);
	measure_left(&pruning->record[path], rows, n, &w, labels);
}

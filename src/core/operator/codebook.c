/*
 * codebook.c - operators made from centroids, and centroids from operators;
 * see codebook.h
 */
#include "operator/codebook.h"

#include "numerics/principal.h"
#include "numerics/rows.h"

/*
 * Ratio of the squared length of the centroids' mean to their mean squared
 * distance from it, above which the mean becomes the offset. Scores are then
 * precise by at least three more bits. An offset costs d subtractions per row.
 * A guess.
 */
#define OFFSET_RATIO	64.0

static fc_operator
codebook_view(size_t k, size_t d, const double *offset, const double *weights,
			  const float *values)
{
	fc_operator op = {
		.k = k,
		.d = d,
		.offset = offset,
		.weights = weights,
		.factors = 1
	};

	op.factor[0] = (fc_factor)
	{
		.rows = k,
			.columns = d,
			.nonzeros = k * d,
			.values = values
	};
	return op;
}

size_t
fc_codebook_size(size_t k, size_t d)
{
	double		somewhere = 0;
	fc_operator op = codebook_view(k, d, &somewhere, NULL, NULL);

	return fc_operator_size(&op);
}

static inline const double *
row_of(const fc_centroid_source *rows, size_t j)
{
	return rows->row != NULL ? rows->row(rows->place, j)
		: rows->x + j * rows->d;
}

/*
 * Computes the mean of sparse centroids, and their mean squared distance from
 * it.
 */
static void
find_sparse_mean(const fc_centroid_source *centroids, double *mean,
				 double *spread)
{
	double		k = (double) centroids->k;

	for (size_t j = 0; j < centroids->k; j++)
	{
		const uint32_t *index;
		const double *value;
		size_t		count = centroids->elements(centroids->place, j, &index,
												&value);

		for (size_t e = 0; e < count; e++)
		{
			mean[index[e]] += value[e] / k;
			*spread += value[e] * value[e] / k;
		}
	}
	*spread = fmax(*spread - fc_sum_of_squares(mean, centroids->d), 0.0);
}

/*
 * Sets mean to the mean of the centroids. Returns true if it should become the
 * offset (OFFSET_RATIO).
 */
static bool
find_mean(const fc_centroid_source *centroids, double *mean)
{
	bool		sparse = centroids->elements != NULL;
	size_t		k = centroids->k;
	size_t		d = centroids->d;
	double		spread = 0;

	memset(mean, 0, d * sizeof(double));
	if (sparse)
		find_sparse_mean(centroids, mean, &spread);
	for (size_t j = 0; j < k && !sparse; j++)
	{
		const double *row = row_of(centroids, j);

		fc_check();
		for (size_t i = 0; i < d; i++)
			mean[i] += row[i] / (double) k;
	}
	for (size_t j = 0; j < k && !sparse; j++)
	{
		double		length = fc_length_between(row_of(centroids, j), mean, d);

		fc_check();
		spread += length * length / (double) k;
	}
	return fc_sum_of_squares(mean, d) > OFFSET_RATIO * spread;
}

/*
 * Sets values (k x d) to sparse centroids, rounded to floats. Returns the
 * greatest absolute value before rounding.
 */
static double
round_sparse_centroids(const fc_centroid_source *centroids, float *values)
{
	double		max = 0;

	for (size_t j = 0; j < centroids->k; j++)
	{
		float	   *row = values + j * centroids->d;
		const uint32_t *index;
		const double *value;
		size_t		count = centroids->elements(centroids->place, j, &index,
												&value);

		fc_check();
		memset(row, 0, centroids->d * sizeof(float));
		for (size_t e = 0; e < count; e++)
		{
			max = fc_greater(fabs(value[e]), max);
			row[index[e]] = (float) value[e];
		}
	}
	return max;
}

/*
 * Sets values (k x d) to the centroids minus the offset, rounded to floats.
 * Returns the greatest absolute value before rounding.
 */
static double
round_centroids(const fc_centroid_source *centroids, const double *offset,
				float *values)
{
	size_t		d = centroids->d;
	double		max = 0;

	for (size_t j = 0; j < centroids->k; j++)
	{
		const double *row = row_of(centroids, j);

		fc_check();
		for (size_t i = 0; i < d; i++)
		{
			double		value = row[i] - (offset ? offset[i] : 0.0);

			max = fc_greater(fabs(value), max);
			values[j * d + i] = (float) value;
		}
	}
	return max;
}

/*
 * Writes the centroids, as floats, into the bytes at header. Returns a view of
 * the operator, whose rounding is not measured. The offset of the view, if
 * there is one, is in the arena. Sets *max as fc_codebook_write does.
 */
static fc_operator
place_centroids(fc_metric metric, const fc_centroid_source *centroids,
				const double *weights, fc_arena *arena, fc_operator_header *header,
				double *max)
{
	double	   *mean = FC_TAKE(arena, centroids->d, double);
	bool		far = metric != FC_INNER_PRODUCT && find_mean(centroids, mean);
	fc_operator op = codebook_view(centroids->k, centroids->d,
								   far ? mean : NULL, weights, NULL);
	float	   *values = fc_operator_place(&op, header);

	op.metric = metric;
	op.factor[0].values = values;
	*max = centroids->elements != NULL && !far
		? round_sparse_centroids(centroids, values)
		: round_centroids(centroids, op.offset, values);
	return op;
}

/* Measures the rounding of a codebook, and writes the codebook to header. */
static void
write_measured(fc_operator *op, fc_arena *arena, fc_operator_header *header)
{
	fc_operator_measure(op, fc_take_scratch(arena, fc_operator_scratch(op)),
						FC_TAKE(arena, op->k, float));
	fc_operator_write(op, header);
}

size_t
fc_codebook_write(fc_metric metric, const fc_centroid_source *centroids,
				  const double *weights, fc_arena *arena,
				  fc_operator_header *header, double *max)
{
	fc_operator op = place_centroids(metric, centroids, weights, arena, header, max);

	write_measured(&op, arena, header);
	return fc_operator_size(&op);
}

size_t
fc_codebook_write_rows(fc_metric metric, const fc_centroid_source *rows,
					   const double *weights, fc_arena *arena,
					   fc_operator_header *header, double *max)
{
	fc_operator op = place_centroids(metric, rows, weights, arena, header, max);
	float	   *half_norms = FC_TAKE(arena, op.k, float);

	memset(half_norms, 0, op.k * sizeof(float));
	op.half_norms = half_norms;
	fc_operator_write_unmeasured(&op, header);
	return fc_operator_size(&op);
}

void
fc_codebook_measure(fc_arena *arena, fc_operator_header *header)
{
	double	   *weights = FC_TAKE(arena, header->k, double);
	double	   *offset = FC_TAKE(arena, header->d, double);
	fc_operator op;

	fc_operator_view(header, &op);
	memcpy(weights, op.weights, op.k * sizeof(double));
	op.weights = weights;
	if (op.offset != NULL)
		op.offset = memcpy(offset, op.offset, op.d * sizeof(double));
	write_measured(&op, arena, header);
}

/* ---- exact centroids of a product ---- */

void
fc_operator_keep_exact(fc_operator *op, const fc_operator *source,
					   uint32_t rerank, fc_arena *arena)
{
	fc_scratch	scratch = fc_take_scratch(arena,
										  larger(fc_operator_scratch(op),
												 fc_operator_scratch(source)));
	size_t		cells = source->k * source->d;
	fc_operator book = *source; /* the centroids that source represents */

	book.factor[0] = (fc_factor)
	{
		.rows = book.k,
			.columns = book.d,
			.nonzeros = cells,
			.values = source->exact.values
	};
	if (source->exact.values != NULL)
		book.offset = source->exact.offset;
	else if (fc_operator_is_codebook(source))
		book.factor[0].values = source->factor[0].values;
	else
	{
		float	   *rows = FC_TAKE(arena, cells, float);
		fc_operator product = *source;

		fc_operator_expand(&product, scratch, rows);
		book.factor[0].values = rows;
	}
	book.factors = 1;
	fc_operator_attach_exact(op, &book, rerank, scratch,
							 FC_TAKE(arena, op->k, float),
							 FC_TAKE(arena, op->k, float));
}

/* ---- centroids in other units ---- */

void
fc_operator_centroids(const fc_operator *op, const double *center,
					  const double *scale, fc_scratch scratch,
					  double *centroids)
{
	for (size_t j = 0; j < op->k; j++)
	{
		double	   *row = centroids + j * op->d;

		fc_check();
		fc_operator_row(op, j, scratch, row);
		for (size_t i = 0; i < op->d; i++)
			row[i] = (center ? center[i] : 0.0) +
				(scale ? scale[i] : 1.0) * row[i];
	}
}

/* ---- another order of the clusters ---- */

fc_status
fc_places_of_numbers(const int32_t *numbers, size_t k, fc_arena *arena,
					 int32_t *place)
{
	fc_mark		mark = fc_arena_mark(arena);
	int32_t		max = 0;
	int32_t    *before;			/* before[i]: how many of the given cluster
								 * numbers are less than i */
	fc_status	status = FC_OK;

	for (size_t j = 0; j < k; j++)
	{
		if (numbers[j] < 0 || numbers[j] >= FC_MAX_NUMBERS)
			return FC_EFORMAT;
		max = numbers[j] > max ? numbers[j] : max;
	}
	before = FC_TAKE(arena, (size_t) max + 2, int32_t);
	memset(before, 0, ((size_t) max + 2) * sizeof(int32_t));
	for (size_t j = 0; j < k; j++)
		if (++before[numbers[j] + 1] > 1)
			status = FC_EFORMAT;
	for (int32_t i = 0; i < max; i++)
		before[i + 1] += before[i];
	for (size_t j = 0; j < k; j++)
		place[j] = before[numbers[j]];
	fc_arena_release(arena, mark);
	return status;
}

/*
 * Returns k rows of `columns` floats: row j of values becomes row place[j].
 */
static const float *
reordered(const float *values, size_t k, size_t columns, const int32_t *place,
		  fc_arena *arena)
{
	float	   *result = FC_TAKE(arena, k * columns, float);

	for (size_t j = 0; j < k; j++)
	{
		fc_check();
		memcpy(result + (size_t) place[j] * columns, values + j * columns,
			   columns * sizeof(float));
	}
	return result;
}

static void
reorder_sparse(const fc_factor *factor, const int32_t *place, fc_arena *arena,
			   fc_factor *result)
{
	uint32_t   *start = FC_TAKE(arena, factor->rows + 1, uint32_t);
	uint32_t   *column = FC_TAKE(arena, factor->nonzeros, uint32_t);
	float	   *values = FC_TAKE(arena, factor->nonzeros, float);

	start[0] = 0;
	for (size_t j = 0; j < factor->rows; j++)
		start[place[j] + 1] = factor->row_start[j + 1] - factor->row_start[j];
	for (size_t j = 0; j < factor->rows; j++)
		start[j + 1] += start[j];
	for (size_t j = 0; j < factor->rows; j++)
	{
		size_t		count = factor->row_start[j + 1] - factor->row_start[j];
		size_t		to = start[place[j]];

		fc_check();
		memcpy(values + to, factor->values + factor->row_start[j],
			   count * sizeof(float));
		for (size_t p = 0; p < count; p++)
			column[to + p] = (uint32_t) fc_factor_column(factor,
														 factor->row_start[j] +
														 p);
	}
	result->values = values;
	result->row_start = start;
	result->column = column;
	result->short_column = NULL;
}

fc_status
fc_operator_renumber(const fc_operator *source, const int32_t *numbers,
					 fc_arena *arena, fc_operator *op)
{
	size_t		k = source->k;
	int32_t    *place = FC_TAKE(arena, k, int32_t);
	int32_t    *number = FC_TAKE(arena, k, int32_t);
	const fc_factor *first = &source->factor[0];	/* the factor with one row
													 * per cluster */
	double	   *weights = FC_TAKE(arena, k, double);

	if (fc_places_of_numbers(numbers, k, arena, place) != FC_OK)
		return FC_EFORMAT;
	*op = *source;
	op->regions = (fc_regions)
	{
		0
	};
	for (size_t j = 0; j < k; j++)
	{
		weights[place[j]] = source->weights[j];
		number[place[j]] = numbers[j];
	}
	op->number = number[k - 1] >= (int32_t) k ? number : NULL;
	op->weights = weights;
	op->half_norms = reordered(source->half_norms, k, 1, place, arena);
	if (first->row_start != NULL)
		reorder_sparse(first, place, arena, &op->factor[0]);
	else
		op->factor[0].values = reordered(first->values, k, first->columns,
										 place, arena);
	if (source->exact.values == NULL)
		return FC_OK;
	op->exact.values = reordered(source->exact.values, k, source->d, place,
								 arena);
	op->exact.half_norms = reordered(source->exact.half_norms, k, 1, place,
									 arena);
	op->exact.residual = reordered(source->exact.residual, k, 1, place, arena);
	return FC_OK;
}

/* ---- centroids on a plane ---- */

typedef struct plane_work
{
	size_t		axes;			/* number of axes: 2, or 1 in one dimension */
	double	   *mean;			/* d: m, the weighted mean of the centroids */
	double	   *share;			/* k: weight of each centroid divided by the
								 * sum of the weights */
	double	   *place;			/* k x d: c_j - m, divided by its greatest
								 * absolute coordinate over all j */
	float	   *points;			/* k x d: sqrt(w_j / W) times place */
	float	   *axis;			/* axes x d: principal axes */
} plane_work;

/*
 * Subtracts the mean from the centroids and divides them by their greatest
 * absolute coordinate, so that squares neither vanish nor overflow. Returns
 * this coordinate, or 0 if all centroids are equal.
 */
static double
fill_points(const fc_operator *op, plane_work *w)
{
	double		largest = 0.0;

	memset(w->mean, 0, op->d * sizeof(double));
	for (size_t i = 0; i < op->k * op->d; i++)
	{
		w->mean[i % op->d] += w->share[i / op->d] * w->place[i];
	}
	for (size_t i = 0; i < op->k * op->d; i++)
	{
		w->place[i] -= w->mean[i % op->d];
		largest = fmax(largest, fabs(w->place[i]));
	}
	for (size_t i = 0; i < op->k * op->d && largest > 0.0; i++)
	{
		w->place[i] /= largest;
		w->points[i] = (float) (sqrt(w->share[i / op->d]) * w->place[i]);
	}
	return largest;
}

/*
 * Sets places (k x 2) to the positions p_j (fc_operator_plane), and shown to
 * the share of each axis in the squared distances. Both must be zeroed.
 * `largest` is the result of fill_points.
 */
static void
project_cloud(const fc_operator *op, double largest, const plane_work *w,
			  double *places, double shown[2])
{
	double		all = 0.0;

	for (size_t j = 0; j < op->k; j++)
	{
		fc_check();
		for (size_t i = 0; i < op->d; i++)
		{
			double		x = w->place[j * op->d + i];

			all += w->share[j] * x * x;
			for (size_t a = 0; a < w->axes; a++)
				places[2 * j + a] += x * (double) w->axis[a * op->d + i];
		}
		for (size_t a = 0; a < 2; a++)
		{
			shown[a] += w->share[j] * places[2 * j + a] * places[2 * j + a];
			places[2 * j + a] *= largest;
		}
	}
	for (size_t a = 0; a < 2; a++)
		shown[a] = fmin(1.0, shown[a] / all);
}

void
fc_operator_plane(const fc_operator *op, fc_arena *arena, double *places,
				  double shown[2])
{
	fc_mark		mark = fc_arena_mark(arena);
	double		largest;
	plane_work	w;
	double		total = fc_weight_sum(op->weights, op->k);

	w.axes = op->d < 2 ? op->d : 2;
	w.mean = FC_TAKE(arena, op->d, double);
	w.share = FC_TAKE(arena, op->k, double);
	w.place = FC_TAKE(arena, op->k * op->d, double);
	w.points = FC_TAKE(arena, op->k * op->d, float);
	w.axis = FC_TAKE(arena, w.axes * op->d, float);
	fc_operator_centroids(op, NULL, NULL,
						  fc_take_scratch(arena, fc_operator_scratch(op)),
						  w.place);
	memset(places, 0, 2 * op->k * sizeof(double));
	shown[0] = shown[1] = 0.0;
	for (size_t j = 0; j < op->k; j++)
		w.share[j] = total > 0.0 && isfinite(total) ? op->weights[j] / total
			: 1.0 / (double) op->k;
	largest = fill_points(op, &w);
	if (largest > 0.0)
	{
		fc_principal_axes(w.points, op->k, op->d, w.axes, 0, arena, w.axis);
		project_cloud(op, largest, &w, places, shown);
	}
	fc_arena_release(arena, mark);
}

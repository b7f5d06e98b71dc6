/*
 * read.c - reads a folded sketch (moments, means, distances) and validates
 * untrusted bytes.
 *
 *     mean_i     = (shift_i + sum_i / W) u_i
 *     variance_i = (square_i / W - (sum_i / W)^2) u_i^2,
 *                  square_i = 2^48 high_i + 2^25 cross_i + low_i
 *     MMD^2(a,b) = (W^2 |z|^2 - W2) / (W^2 - W2) for a, plus the same for b,
 *                  - 2 Re <z_a, z_b>
 *
 * layout.h defines the sums, and prepared.h the grid with steps u_i. MMD is
 * the maximum mean discrepancy. |.|^2 and <.,.> are means over the moments;
 * the estimate is unbiased.
 */
#include "sketch/sketch.h"

#include "sketch/isa.h"

static double
weight_unit(const fc_sketch_view *sketch)
{
	return sketch->wide_z != NULL ? FC_EXP2_MINUS(40) : 1.0;
}

double
fc_sketch_total_weight(const fc_sketch_view *sketch)
{
	return (double) sketch->head->weight * weight_unit(sketch);
}

double
fc_sketch_weight2(const fc_sketch_view *sketch)
{
	return (double) sketch->head->weight2 * weight_unit(sketch);
}

double
fc_sketch_mean(const fc_sketch_view *sketch, size_t i)
{
	fc_quad		mean = (fc_quad) sketch->sum[i] / (fc_quad) sketch->head->weight;
	double		inverse_unit;
	double		shift;

	fc_spec_grid(sketch->spec, i, &inverse_unit, &shift);
	return (double) ((mean + (fc_quad) shift) / (fc_quad) inverse_unit);
}

double
fc_sketch_variance(const fc_sketch_view *sketch, size_t i)
{
	fc_quad		weight = (fc_quad) sketch->head->weight;
	fc_quad		mean = (fc_quad) sketch->sum[i] / weight;
	fc_quad		square = (((fc_quad) sketch->high[i] * FC_EXP2(48) +
						   (fc_quad) sketch->cross[i] * FC_EXP2(25) +
						   (fc_quad) sketch->low[i]) /
						  weight);
	double		inverse_unit;
	double		shift;

	fc_spec_grid(sketch->spec, i, &inverse_unit, &shift);
	square = (square - mean * mean) / inverse_unit / inverse_unit;
	return square > 0 ? (double) square : 0.0;
}

/*
 * Returns element j of the 2 * moments sums: the sums of cosines, then of
 * sines.
 */
static inline double
component(const fc_sketch_view *sketch, size_t j)
{
	return sketch->z != NULL ? (double) sketch->z[j]
		: (double) sketch->wide_z[j];
}

/*
 * Returns the factor by which a sum of cosines or sines is multiplied to give
 * a moment.
 */
static double
component_unit(const fc_sketch_view *sketch)
{
	return FC_EXP2_MINUS(22) / (double) sketch->head->weight;
}

void
fc_sketch_moments(const fc_sketch_view *sketch, double *re, double *im)
{
	double		unit = component_unit(sketch);

	for (size_t j = 0; j < sketch->moments; j++)
	{
		re[j] = unit * component(sketch, j);
		im[j] = unit * component(sketch, sketch->moments + j);
	}
}

double
fc_sketch_similarity(const fc_sketch_view *a, const fc_sketch_view *b)
{
	double		unit_a = component_unit(a);
	double		unit_b = component_unit(b);
	double		sum = 0;

	for (size_t j = 0; j < 2 * a->moments; j++)
		sum += unit_a * component(a, j) * (unit_b * component(b, j));
	return sum / (double) a->moments;
}

/*
 * Returns the unbiased estimate of the mean similarity of two different rows,
 * NaN for fewer than two rows.
 */
static double
self_similarity(const fc_sketch_view *sketch)
{
	double		w = fc_sketch_total_weight(sketch);
	double		w2 = fc_sketch_weight2(sketch);

	return w * w > w2 ? (w * w * fc_sketch_similarity(sketch, sketch) - w2) /
		(w * w - w2)
		: NAN;
}

double
fc_sketch_distance(const fc_sketch_view *a, const fc_sketch_view *b)
{
	double		own = self_similarity(a) + self_similarity(b);

	return own - 2.0 * fc_sketch_similarity(a, b);
}

/* ---- untrusted bytes ---- */

static bool
bounds_valid(const fc_sketch_view *sketch)
{
	for (size_t i = 0; i < sketch->tracked; i++)
	{
		double		lower = sketch->lower[i];
		double		upper = sketch->upper[i];

		if (!(sketch->head->flags & FC_SKETCH_BOUNDS) ? lower != 0 || upper != 0
			: sketch->head->count == 0 ? lower != INFINITY || upper != -INFINITY
			: !isfinite(lower) || !isfinite(upper) || lower > upper)
			return false;
	}
	return true;
}

/*
 * Returns true if the magnitude of a sum of cosines or sines exceeds the
 * limit. Aggregates over moving windows call the function for every row, so
 * its loops have no branches.
 */
static bool
is_beyond(const fc_sketch_view *sketch, fc_wide limit)
{
	size_t		count = 2 * sketch->moments;
	uint64_t	max = (uint64_t) limit;
	bool		beyond = false;

	if (sketch->z == NULL)
		for (size_t j = 0; j < count; j++)
			beyond |= sketch->wide_z[j] > limit || sketch->wide_z[j] < -limit;
	else if (limit <= INT64_MAX)
		for (size_t j = 0; j < count; j++)
			beyond |= (uint64_t) sketch->z[j] + max > 2 * max;
	return beyond;
}

fc_status
fc_sketch_check_sums(const fc_sketch_view *sketch)
{
	const fc_sketch *head = sketch->head;
	fc_wide		limit;
	fc_wide		sums = head->weight | head->weight2;

	if (head->weight < 0 || head->weight2 < 0)
		return FC_EFORMAT;
	limit = head->weight << FC_COSINE_BITS;
	limit += limit >> 20;		/* a rounded cosine may exceed 1 by an ulp */
	for (size_t i = 0; i < FC_SKETCH_SUMS * sketch->tracked; i++)
		sums |= sketch->sum[i];
	if (head->count == 0 && sums != 0)
		return FC_EFORMAT;
	for (size_t i = 0; i < sketch->tracked; i++)
		if (sketch->high[i] < 0 || sketch->low[i] < 0)
			return FC_EFORMAT;
	return is_beyond(sketch, limit) ? FC_EFORMAT : FC_OK;
}

bool
fc_sketch_is_sound(const fc_sketch_view *sketch)
{
	const fc_sketch *head = sketch->head;
	bool		open = sketch->pending != NULL;

	return head->version == FC_SKETCH_VERSION &&
		head->pending <= head->capacity && (open || head->capacity == 0) &&
		head->count >= 0 && head->count <= FC_MAX_ROWS &&
		(open || bounds_valid(sketch)) &&	/* bounds of far rows are not
											 * folded yet */
		fc_sketch_check_sums(sketch) == FC_OK;
}

static bool
fixed_fields_valid(const fc_sketch *sketch)
{
	bool		weighted = (sketch->flags & FC_SKETCH_WEIGHTED) != 0;

	return sketch->version == FC_SKETCH_VERSION &&
		(sketch->flags & ~(FC_SKETCH_WEIGHTED | FC_SKETCH_BOUNDS)) == 0 &&
		sketch->padding == 0 && sketch->sparse == 0 &&
		sketch->pending == 0 && sketch->capacity == 0 &&
		sketch->count >= 0 && sketch->count <= FC_MAX_ROWS &&
		sketch->weight >= 0 && sketch->weight2 >= 0 &&
	/* the maximum weight is 2^22, or 2^62 in units of 2^-40 */
		(weighted ? sketch->weight <= ((fc_wide) sketch->count << 62)
		 : sketch->weight == sketch->count && sketch->weight2 == sketch->count);
}

fc_status
fc_sketch_check(const void *bytes, size_t size)
{
	const fc_sketch *sketch = bytes;
	const fc_spec *spec;
	fc_sketch_view view;
	fc_status	status;

	if (size < sizeof(fc_sketch) + sizeof(fc_spec) ||
		!fixed_fields_valid(sketch) ||
		sketch->spec_size > size - sizeof(fc_sketch))
		return FC_EFORMAT;
	spec = fc_sketch_spec(sketch);
	status = fc_spec_check(spec, sketch->spec_size);
	if (status != FC_OK)
		return status;
	if (spec->sample_rows != 0 || spec->container != 0 ||
		fc_sketch_bytes(sketch) != size)
		return FC_EFORMAT;
	view = fc_sketch_view_of(sketch);
	if (!bounds_valid(&view))
		return FC_EFORMAT;
	status = fc_sketch_check_sums(&view);
	if (status == FC_OK && view.wide_z != NULL && fc_sketch_is_unit(&view))
		status = FC_EFORMAT;
	return status;
}

/*
 * Subtracts the moments of a Gaussian N(y, spread^2 I), times weight, from re
 * and im, which hold the moments of one sigma. The frequencies of this sigma
 * are ratio * omega.
 */
static void
take_away(const fc_spec *spec, const float *omega, double ratio,
		  const double *y, double weight, double spread, double *re, double *im)
{
	size_t		n = spec->reduced;

	for (size_t j = 0; j < spec->frequencies; j++)
	{
		double		angle = 0;
		double		norm = 0;
		double		damped;

		fc_check();
		for (size_t r = 0; r < n; r++)
		{
			double		w = ratio * (double) omega[j * n + r];

			angle += w * y[r];
			norm += w * w;
		}
		damped = weight * exp(-0.5 * norm * spread * spread);
		re[j] -= damped * cos(angle);
		im[j] -= damped * sin(angle);
	}
}

fc_status
fc_fit_residual(const fc_sketch_view *sketch, const double *centroids,
				const double *weights, const double *spreads, size_t k,
				fc_arena *arena, double *residual)
{
	const fc_spec *spec = sketch->spec;
	size_t		moments = fc_spec_moments(spec);
	double	   *re = FC_TAKE(arena, 2 * moments, double);
	double	   *im = re + moments;
	double	   *centred = FC_TAKE(arena, spec->dim, double);
	double	   *y = FC_TAKE(arena, spec->reduced, double);
	float	   *omega = FC_TAKE(arena, (size_t) spec->frequencies * spec->reduced,
								float);
	double		norm;
	double		total = fc_weight_sum(weights, k);

	if (sketch->head->weight <= 0)
		return FC_EEMPTY;
	fc_frequencies(spec, arena, omega);
	fc_sketch_moments(sketch, re, im);
	norm = fc_sum_of_squares(re, 2 * moments);
	for (size_t j = 0; j < k; j++)
	{
		fc_spec_reduce(spec, centroids + j * spec->dim, centred, y);
		for (size_t s = 0; s < spec->scales; s++)
			take_away(spec, omega, spec->sigma / fc_spec_sigmas(spec)[s], y,
					  total > 0 ? weights[j] / total : 1.0 / (double) k,
					  spreads[j] / spec->sigma, re + s * spec->frequencies,
					  im + s * spec->frequencies);
	}
	*residual = norm > 0 ? sqrt(fc_sum_of_squares(re, 2 * moments) / norm)
		: 0.0;
	return FC_OK;
}

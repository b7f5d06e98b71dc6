/* sketch.c - adds and subtracts rows, and combines sketches; see sketch.h */
#include "sketch/sketch.h"

#include "base/simd.h"
#include "sketch/isa.h"

/*
 * ---- phases of a row that needs angles in double ----
 *
 * The phases of a row are the integer cosines and sines that it adds to the
 * sums z. The angles h = omega . y / pi are summed in double and reduced to
 * [-1, 1] half-turns before isa->quantise.
 */

/*
 * Computes the angles h of one row for the first sigma (m values), in double,
 * in half-turns, not reduced. transform is work space.
 */
static void
far_angles(const fc_prepared *prepared, const double *y, double *transform,
		   double *h)
{
	size_t		n = prepared->n;
	size_t		p = prepared->padded;

	for (size_t j = 0; prepared->omega != NULL && j < prepared->m; j++)
	{
		const float *tile = (prepared->omega +
							 j / FC_FREQUENCY_TILE * FC_FREQUENCY_TILE * n +
							 j % FC_FREQUENCY_TILE);

		h[j] = 0;
		for (size_t i = 0; i < n; i++)
			h[j] += y[i] * (double) tile[i * FC_FREQUENCY_TILE];
	}
	for (size_t start = 0; prepared->omega == NULL && start < prepared->m;
		 start += p)
	{
		for (size_t i = 0; i < p; i++)
			transform[i] = i < n ? y[i] : 0.0;
		for (int round = 2; round >= 0; round--)
		{
			const float *signs = (prepared->signs + 3 * start +
								  (size_t) round * p);

			for (size_t i = 0; i < p; i++)
				transform[i] *= (double) signs[i];
			for (size_t half = 1; half < p; half *= 2)
				for (size_t i = 0; i < p; i++)
					if ((i & half) == 0)
					{
						double		a = transform[i];

						transform[i] = a + transform[i + half];
						transform[i + half] = a - transform[i + half];
					}
		}
		for (size_t j = 0; j < p && start + j < prepared->m; j++)
			h[start + j] = transform[j] * (double) prepared->factors[start + j];
	}
}

/*
 * Adds weight * prepared->phases, the integer cosines and sines of one row, to
 * the sums z.
 */
static void
add_phases(const fc_prepared *prepared, const fc_sketch_view *sketch,
		   int64_t weight)
{
	for (size_t j = 0; j < 2 * sketch->moments; j++)
		if (sketch->z != NULL)
			sketch->z[j] += weight * prepared->phases[j];
		else
			sketch->wide_z[j] += (fc_wide) weight * prepared->phases[j];
}

/*
 * Sets prepared->phases to the integer cosines and sines of the row in
 * prepared->value, with angles in double; prepared->limbs is work space.
 */
static void
find_far_phases(const fc_prepared *prepared)
{
	double	   *y = (prepared->basis != NULL ? prepared->projected
					 : prepared->angles);
	double	   *transform = prepared->angles + fc_padded(prepared->n);
	double	   *h = transform + prepared->padded;
	int32_t    *cosine = (int32_t *) prepared->limbs;
	int32_t    *sine = cosine + prepared->m;
	float	   *reduced = (float *) (sine + prepared->m);

	for (size_t i = 0; prepared->basis == NULL && i < prepared->n; i++)
		y[i] = (prepared->value[i] - prepared->center[i]) *
			prepared->inverse_scale[i];
	far_angles(prepared, y, transform, h);
	for (size_t s = 0; s < prepared->scales; s++)
	{
		for (size_t j = 0; j < prepared->m; j++)
		{
			double		angle = h[j] * (double) prepared->ratios[s];

			reduced[j] = (float) (angle - 2.0 * rint(0.5 * angle));
		}
		prepared->isa->quantise(reduced, prepared->m, cosine, sine);
		for (size_t j = 0; j < prepared->m; j++)
		{
			prepared->phases[s * prepared->m + j] = cosine[j];
			prepared->phases[prepared->moments + s * prepared->m + j] = sine[j];
		}
	}
}

static void
find_phases(const fc_prepared *prepared, const float *y)
{
	memset(prepared->phases, 0, 2 * prepared->moments * sizeof(int64_t));
	prepared->isa->accumulate(prepared, y, 1, prepared->phases);
}

/*
 * Sets prepared->phases to the integer cosines and sines of a prepared row. y
 * are the reduced coordinates of the row, and `found` its FC_ROW_... bits.
 */
static void
set_row_phases(const fc_prepared *prepared, int found, const float *y)
{
	if (found & FC_ROW_FAR_PHASE)
		find_far_phases(prepared);
	else
		find_phases(prepared, y);
}

/* ---- rows ---- */

fc_status
fc_weight_on_grid(double weight, int64_t *grid)
{
	if (weight == 0)
		*grid = 0;
	else if (weight >= FC_MIN_WEIGHT && weight <= FC_MAX_WEIGHT)
		*grid = (int64_t) rint(weight * FC_EXP2(40));
	else
		return FC_EWEIGHT;
	return FC_OK;
}

/* Computes *to += factor * from; returns true if it overflows. */
static bool
add_multiple(fc_wide *to, fc_wide factor, fc_wide from)
{
	__int128	term;

	return __builtin_mul_overflow((__int128) factor, (__int128) from, &term) ||
		__builtin_add_overflow(*to, term, to);
}

/*
 * Adds weight times q, a^2, a b and b^2 (layout.h) to the 128-bit sums of
 * tracked dimension i. Returns true if a sum overflows.
 */
static bool
add_wide_moment(const fc_sketch_view *sketch, size_t i, double q,
				fc_wide weight)
{
	double		rounded = rint(ldexp(q, -FC_SPLIT_BITS));
	fc_wide		a = (fc_wide) rounded;
	fc_wide		b = (fc_wide) (q - ldexp(rounded, FC_SPLIT_BITS));
	bool		overflow = add_multiple(&sketch->sum[i], weight, (fc_wide) q);

	overflow |= add_multiple(&sketch->high[i], weight, a * a);
	overflow |= add_multiple(&sketch->cross[i], weight, a * b);
	return overflow | add_multiple(&sketch->low[i], weight, b * b);
}

/*
 * Calls add_wide_moment for the tracked dimensions of the prepared row from
 * `first` on. Returns false if a sum overflows.
 */
static bool
add_wide_moments(const fc_prepared *prepared, const fc_sketch_view *sketch,
				 size_t first, fc_wide weight)
{
	bool		overflow = false;

	for (size_t i = first; i < sketch->tracked; i++)
		overflow |= add_wide_moment(sketch, i,
									prepared->q[fc_row_place(prepared->d, i)],
									weight);
	return !overflow;
}

/* Returns the squared weight in units of 2^-40, rounded. */
static fc_wide
weight_squared(int64_t weight)
{
	return ((fc_wide) weight * weight +
			((fc_wide) 1 << (FC_WEIGHT_BITS - 1))) >>
		FC_WEIGHT_BITS;
}

static bool
add_weight(const fc_sketch_view *sketch, int64_t weight, int sign)
{
	fc_sketch  *head = sketch->head;

	head->count += sign;
	if (sketch->z != NULL)
	{
		head->weight += sign;
		head->weight2 += sign;
	}
	else
	{
		head->weight += sign * (fc_wide) weight;
		head->weight2 += sign * weight_squared(weight);
	}
	return head->count >= 0 && head->count <= FC_MAX_ROWS;
}

/*
 * Extends the bounds of the pending rows to include the values of the
 * prepared row, from index `first` of its row array on.
 */
static void
widen_bounds(const fc_prepared *prepared, const fc_sketch_view *sketch,
			 size_t first)
{
	double	   *lower = sketch->pending + FC_SKETCH_SUMS * sketch->row;
	double	   *upper = lower + sketch->row;

	for (size_t i = first; i < sketch->row; i++)
	{
		lower[i] = fmin(lower[i], prepared->value[i]);
		upper[i] = fmax(upper[i], prepared->value[i]);
	}
}

static fc_status
project_row(const fc_prepared *prepared, const fc_row *row, float *y, int *found)
{
	*found = prepared->isa->prepare(prepared, row, y);
	if (!(*found & FC_ROW_INVALID))
		return FC_OK;
	for (size_t i = 0; i < prepared->d; i++)
		if (!isfinite(prepared->value[i]))
			return FC_EVALUE;
	return FC_EFAR;
}

fc_status
fc_sketch_check_row(const fc_prepared *prepared, const fc_row *row)
{
	int			found;

	return project_row(prepared, row, prepared->y, &found);
}

fc_status
fc_sketch_row_phases(const fc_prepared *prepared, const fc_row *row)
{
	int			found;
	fc_status	status = project_row(prepared, row, prepared->y, &found);

	if (status == FC_OK)
		set_row_phases(prepared, found, prepared->y);
	return status;
}

static void
fold_phases(const fc_prepared *prepared, const fc_sketch_view *sketch,
			const float *y, size_t rows)
{
	size_t		twice = 2 * prepared->moments;
	const int64_t *limbs = prepared->limbs;

	if (sketch->z != NULL)
	{
		prepared->isa->accumulate(prepared, y, rows, sketch->z);
		return;
	}
	memset(prepared->limbs, 0, 2 * twice * sizeof(int64_t));
	for (size_t r = 0; r < rows; r++)
	{
		find_phases(prepared, y + r * prepared->n);
		prepared->isa->weigh(prepared, sketch->pending_weight[r]);
	}
	for (size_t j = 0; j < twice; j++)
		sketch->wide_z[j] += limbs[j] + (fc_wide) limbs[twice + j] *
			((fc_wide) 1 << FC_LIMB_BITS);
}

/*
 * Adds the prepared row, if `fit` is true, to the pending sums, which are
 * doubles. Otherwise adds the row times weight to the 128-bit sums, and
 * extends the pending bounds. Returns false if a sum overflows.
 */
static bool
add_moments(const fc_prepared *prepared, const fc_sketch_view *sketch, bool fit,
			fc_wide weight)
{
	if (fit)
	{
		prepared->isa->track(prepared, sketch->pending);
		return true;
	}
	widen_bounds(prepared, sketch, 0);
	return add_wide_moments(prepared, sketch, 0, weight);
}

/* Returns the address for the next pending row. */
static inline void *
next_place(const fc_prepared *prepared, const fc_sketch_view *sketch)
{
	return sketch->pending_rows + sketch->head->pending * prepared->pending_row;
}

/*
 * Adds a row that defer_row did not accept. Sets *is_pending to true if the
 * row has become the next pending row.
 */
static fc_status
add_slowly(const fc_prepared *prepared, const fc_row *row,
		   const fc_sketch_view *sketch, bool *is_pending)
{
	fc_wide		wide = sketch->wide_z != NULL ? row->weight : 1;
	void	   *place = next_place(prepared, sketch);
	float	   *y = prepared->raw_rows ? prepared->y : place;
	int			found;
	fc_status	status = project_row(prepared, row, y, &found);
	bool		fit;

	if (status != FC_OK)
		return status;
	if (prepared->raw_rows && found == FC_ROW_NEAR) /* near after all: the
													 * test in defer_row is
													 * conservative */
	{
		memcpy(place, prepared->value, prepared->pending_row);
		*is_pending = true;
		return FC_OK;
	}
	*is_pending = !prepared->raw_rows && !(found & FC_ROW_FAR_PHASE);
	fit = *is_pending && row->weight == FC_ONE_WEIGHT &&
		!(found & FC_ROW_FAR_MOMENTS);
	if (!add_moments(prepared, sketch, fit, wide))
		return FC_EOVERFLOW;
	if (!*is_pending)
	{
		set_row_phases(prepared, found, y);
		add_phases(prepared, sketch, (int64_t) wide);
	}
	return *is_pending || add_weight(sketch, row->weight, 1) ? FC_OK : FC_EOVERFLOW;
}

/*
 * Stores a near row (isa.h) at `place` as the next pending row and returns
 * true. Returns false for other rows and, unless rows are stored raw, for
 * rows of a weight other than 1.
 */
static inline bool
defer_row(const fc_prepared *prepared, const fc_row *row, void *place,
		  double *sums)
{
	if (prepared->raw_rows)
		return prepared->isa->store_raw(prepared, row, place);
	if (row->weight != FC_ONE_WEIGHT ||
		prepared->isa->prepare(prepared, row, place) != FC_ROW_NEAR)
		return false;
	prepared->isa->track(prepared, sums);
	return true;
}

/* ---- sparse rows ---- */

/* Returns a sparse row with its zeros filled in. */
static fc_row
dense_row(const fc_prepared *prepared, const fc_row *row)
{
	memset(prepared->dense, 0, prepared->d * sizeof(double));
	for (size_t p = 0; p < row->sparse->count; p++)
		prepared->dense[row->sparse->indices[p]] = row->sparse->values[p];
	return (fc_row)
	{
		.doubles = prepared->dense,.weight = row->weight
	};
}

/*
 * Adds a weighted sparse row, which take_sparse has reduced, to the 128-bit
 * sums. Returns false if a sum overflows.
 */
static bool
add_weighted_sparse(const fc_prepared *prepared, const fc_sketch_view *sketch,
					const fc_row *row)
{
	double	   *lower = sketch->pending + FC_SKETCH_SUMS * sketch->row;
	double	   *upper = lower + sketch->row;
	bool		overflow = false;

	for (size_t p = 0; p < row->sparse->count; p++)
	{
		size_t		i = row->sparse->indices[p];
		double		value = row->sparse->values[p] + 0.0;

		overflow |= add_wide_moment(sketch, i,
									rint(value * prepared->inverse_unit[i]),
									row->weight);
		lower[i] = fmin(lower[i], value);
		upper[i] = fmax(upper[i], value);
	}
	widen_bounds(prepared, sketch, fc_padded(prepared->d));
	return add_wide_moments(prepared, sketch, prepared->d, row->weight) &&
		!overflow;
}

/*
 * Stores a sparse row as the next pending row and returns true if it is near
 * and its zeros add nothing to the sums. Counts its elements per dimension,
 * so that the bounds can include its zeros later. Sets *fit to false if a sum
 * overflows.
 */
static bool
defer_sparse_row(const fc_prepared *prepared, const fc_row *row,
				 const fc_sketch_view *sketch, bool *fit)
{
	bool		unit = row->weight == FC_ONE_WEIGHT;

	if (!prepared->zeros_vanish ||
		!prepared->isa->take_sparse(prepared, row->sparse,
									next_place(prepared, sketch),
									unit ? sketch->pending : NULL))
		return false;
	*fit = unit || add_weighted_sparse(prepared, sketch, row);
	for (size_t p = 0; p < row->sparse->count; p++)
		sketch->present[row->sparse->indices[p]]++;
	sketch->head->sparse++;
	return true;
}

/*
 * Extends the bounds of the pending rows to include the zeros of the sparse
 * rows among them.
 */
static void
add_zero_row(const fc_sketch_view *sketch)
{
	double	   *lower = sketch->pending + FC_SKETCH_SUMS * sketch->row;
	double	   *upper = lower + sketch->row;

	for (size_t i = 0; sketch->head->sparse > 0 && i < sketch->spec->dim; i++)
	{
		bool		zero = sketch->present[i] < sketch->head->sparse;

		lower[i] = zero && lower[i] > 0.0 ? 0.0 : lower[i];
		upper[i] = zero && upper[i] < 0.0 ? 0.0 : upper[i];
	}
}

/* ---- rows ---- */

static fc_status
wait(const fc_prepared *prepared, int64_t weight, const fc_sketch_view *sketch)
{
	fc_sketch  *head = sketch->head;

	sketch->pending_weight[head->pending++] = weight;
	return head->pending == head->capacity ? fc_sketch_fold(prepared, sketch)
		: FC_OK;
}

static fc_status
add_sparse(const fc_prepared *prepared, const fc_row *row,
		   const fc_sketch_view *sketch)
{
	bool		fit = true;
	fc_row		dense;

	if (defer_sparse_row(prepared, row, sketch, &fit))
		return fit ? wait(prepared, row->weight, sketch) : FC_EOVERFLOW;
	dense = dense_row(prepared, row);
	return fc_sketch_add(prepared, &dense, sketch);
}

fc_status
fc_sketch_add(const fc_prepared *prepared, const fc_row *row,
			  const fc_sketch_view *sketch)
{
	bool		is_pending;
	fc_status	status;

	if (row->sparse != NULL)
		return add_sparse(prepared, row, sketch);
	is_pending = defer_row(prepared, row, next_place(prepared, sketch),
						   sketch->pending);
	status = is_pending ? FC_OK : add_slowly(prepared, row, sketch, &is_pending);
	return is_pending ? wait(prepared, row->weight, sketch) : status;
}

fc_status
fc_sketch_subtract_row(const fc_prepared *prepared, const fc_row *row,
					   const fc_sketch_view *sketch)
{
	fc_row		dense = row->sparse != NULL ? dense_row(prepared, row) : *row;
	fc_wide		wide = sketch->wide_z != NULL ? row->weight : 1;
	float	   *y = (prepared->raw_rows ? prepared->y
					 : (float *) sketch->pending_rows);
	fc_status	status = fc_sketch_fold(prepared, sketch);
	int			found;

	if (status == FC_OK)
		status = project_row(prepared, &dense, y, &found);
	if (status != FC_OK)
		return status;
	if (!add_weight(sketch, row->weight, -1))
		return FC_ENEGATIVE;
	fc_sketch_forget_bounds(sketch);
	if (!add_wide_moments(prepared, sketch, 0, -wide))
		return FC_EOVERFLOW;
	set_row_phases(prepared, found, y);
	add_phases(prepared, sketch, (int64_t) -wide);
	/* FC_EFORMAT means that the row was never added */
	return fc_sketch_check_sums(sketch) == FC_OK ? FC_OK : FC_ENEGATIVE;
}

/*
 * Computes the reduced coordinates of the pending raw rows, and adds the rows
 * to the sums. Returns false if a sum overflows.
 */
static bool
take_raw_rows(const fc_prepared *prepared, const fc_sketch_view *sketch)
{
	const double *rows = (const double *) sketch->pending_rows;
	size_t		pending = sketch->head->pending;
	bool		fit = true;

	if (sketch->z != NULL)
		prepared->isa->take_raw(prepared, rows, pending, prepared->y,
								sketch->pending);
	else
		for (size_t r = 0; r < pending; r++)
		{
			int64_t		weight = sketch->pending_weight[r];
			fc_row		row = {.doubles = rows + r * fc_padded(prepared->d)};

			prepared->isa->prepare(prepared, &row,
								   prepared->y + r * prepared->n);
			fit &= add_moments(prepared, sketch, weight == FC_ONE_WEIGHT,
							   weight);
		}
	return fit;
}

static bool
count_pending(const fc_sketch_view *sketch)
{
	fc_sketch  *head = sketch->head;
	bool		fit = true;

	if (sketch->wide_z != NULL)
		for (size_t r = 0; r < head->pending; r++)
			fit &= add_weight(sketch, sketch->pending_weight[r], 1);
	else
	{
		head->count += head->pending;
		head->weight += head->pending;
		head->weight2 += head->pending;
	}
	return fit && head->count <= FC_MAX_ROWS;
}

/*
 * Adds the pending sums of tracked dimension i to the sums of the sketch, and
 * sets them to 0. Returns false if a sum overflows.
 */
static inline bool
fold_dimension(const fc_sketch_view *sketch, size_t i)
{
	fc_wide		unit = sketch->wide_z != NULL ? FC_ONE_WEIGHT : 1;
	double	   *pending = sketch->pending + fc_row_place(sketch->spec->dim, i);
	bool		overflow = false;

	for (size_t which = 0; which < FC_SKETCH_SUMS; which++)
	{
		fc_wide    *sum = &sketch->sum[which * sketch->tracked + i];

		overflow |= __builtin_add_overflow(*sum,
										   unit * (int64_t) pending[which * sketch->row],
										   sum);
		pending[which * sketch->row] = 0.0;
	}
	return !overflow;
}

/*
 * Extends the bounds of the sketch to the pending bounds. The pending bounds
 * are kept, because including them again changes nothing.
 */
static void
fold_bounds(const fc_sketch_view *sketch)
{
	const double *lower = sketch->pending + FC_SKETCH_SUMS * sketch->row;
	const double *upper = lower + sketch->row;

	for (size_t i = 0; i < sketch->tracked; i++)
	{
		size_t		at = fc_row_place(sketch->spec->dim, i);

		sketch->lower[i] = FC_LESSER(lower[at], sketch->lower[i]);
		sketch->upper[i] = FC_GREATER(upper[at], sketch->upper[i]);
	}
}

/* Number of dimensions whose sums are prefetched together. A guess. */
#define FOLDED	256

/*
 * Calls fold_dimension for the dimensions from `start` on, at most FOLDED, in
 * which a pending sparse row has an element. The sums of all of them are
 * prefetched first, because a read from memory takes longer than an addition.
 * Returns false if a sum overflows.
 */
static bool
fold_present(const fc_sketch_view *sketch, size_t start)
{
	size_t		end = smaller(start + FOLDED, sketch->spec->dim);
	size_t		list[FOLDED];
	size_t		count = 0;
	bool		fit = true;

	for (size_t i = start; i < end; i++)
	{
		list[count] = i;
		count += sketch->present[i] > 0;
	}
	for (size_t p = 0; p < count; p++)
		for (size_t which = 0; which < FC_SKETCH_SUMS; which++)
			__builtin_prefetch(&sketch->sum[which * sketch->tracked + list[p]], 1);
	for (size_t p = 0; p < count; p++)
		fit &= fold_dimension(sketch, list[p]);
	return fit;
}

/*
 * Adds the pending sums and bounds to the sketch. Returns false if a sum
 * overflows. If all pending rows are sparse, dimensions without an element
 * have pending sums of 0.
 */
static bool
fold_sums(const fc_sketch_view *sketch)
{
	size_t		d = sketch->spec->dim;
	bool		sparse = sketch->head->sparse == sketch->head->pending;
	bool		fit = true;

	for (size_t i = 0; i < d && sparse; i += FOLDED)
		fit &= fold_present(sketch, i);
	for (size_t i = sparse ? d : 0; i < sketch->tracked; i++)
		fit &= fold_dimension(sketch, i);
	if (sketch->head->flags & FC_SKETCH_BOUNDS)
		fold_bounds(sketch);
	if (sketch->head->sparse > 0)
		memset(sketch->present, 0, d);
	sketch->head->sparse = 0;
	return fit;
}

fc_status
fc_sketch_fold(const fc_prepared *prepared, const fc_sketch_view *sketch)
{
	const float *y = (prepared->raw_rows
					  ? prepared->y
					  : (const float *) sketch->pending_rows);
	size_t		pending = sketch->head->pending;
	bool		fit = true;

	if (sketch->pending == NULL)
		return FC_OK;
	if (prepared->raw_rows && pending > 0)
		fit &= take_raw_rows(prepared, sketch);
	add_zero_row(sketch);
	fit &= fold_sums(sketch);
	fit &= count_pending(sketch);
	if (pending > 0)
		fold_phases(prepared, sketch, y, pending);
	sketch->head->pending = 0;
	FC_ASSERT(!fit || fc_sketch_is_sound(sketch));
	if (fit)
		return FC_OK;
	return FC_EOVERFLOW;
}

/* ---- sketches ---- */

static fc_status
combine_moments(const fc_sketch_view *to, const fc_sketch_view *from,
				fc_wide factor)
{
	bool		overflow = false;

	for (size_t i = 0; i < FC_SKETCH_SUMS * to->tracked; i++)
		overflow |= add_multiple(&to->sum[i], factor, from->sum[i]);
	for (size_t j = 0; j < 2 * to->moments; j++)
		if (to->z != NULL)
			to->z[j] += (int64_t) factor * from->z[j];
		else
			to->wide_z[j] += factor *
				(from->z != NULL ? from->z[j] : from->wide_z[j]);
	return overflow ? FC_EOVERFLOW : FC_OK;
}

static void
combine_bounds(const fc_sketch_view *target, const fc_sketch_view *source)
{
	if (!(target->head->flags & source->head->flags & FC_SKETCH_BOUNDS))
	{
		fc_sketch_forget_bounds(target);
		return;
	}
	for (size_t i = 0; i < target->tracked; i++)
	{
		target->lower[i] = fmin(target->lower[i], source->lower[i]);
		target->upper[i] = fmax(target->upper[i], source->upper[i]);
	}
}

fc_status
fc_sketch_combine(const fc_sketch_view *target, const fc_sketch_view *source,
				  int sign)
{
	fc_sketch  *to = target->head;
	const fc_sketch *from = source->head;
	bool		widen = target->wide_z != NULL && source->z != NULL;
	fc_wide		factor = sign * (widen ? (fc_wide) FC_ONE_WEIGHT : 1);
	bool		overflow;
	fc_status	status;

	if (!fc_spec_same(target->spec, source->spec))
		return FC_EMISMATCH;
	to->count += sign * from->count;
	to->weight += factor * from->weight;
	overflow = add_multiple(&to->weight2, factor, from->weight2);
	if (to->count < 0 || to->weight < 0 || to->weight2 < 0)
		return overflow ? FC_EOVERFLOW : FC_ENEGATIVE;
	if (overflow || to->count > FC_MAX_ROWS)
		return FC_EOVERFLOW;
	status = combine_moments(target, source, factor);
	if (status != FC_OK)
		return status;
	if (sign < 0)
		fc_sketch_forget_bounds(target);
	else
		combine_bounds(target, source);
	status = sign < 0 ? fc_sketch_check_sums(target) : FC_OK;
	FC_ASSERT(status != FC_OK || fc_sketch_is_sound(target));
	return status == FC_EFORMAT ? FC_ENEGATIVE : status;
}

fc_status
fc_sketch_combine_weighted(const fc_sketch_view *target,
						   const fc_sketch_view *source, int64_t weight)
{
	fc_sketch  *to = target->head;
	int64_t		rows = source->head->count;
	fc_status	status;

	FC_ASSERT(target->wide_z != NULL && source->z != NULL);
	if (!fc_spec_same(target->spec, source->spec))
		return FC_EMISMATCH;
	to->count += rows;
	to->weight += (fc_wide) weight * rows;
	if (add_multiple(&to->weight2, weight_squared(weight), rows) ||
		to->count > FC_MAX_ROWS)
		return FC_EOVERFLOW;
	status = combine_moments(target, source, weight);
	if (status != FC_OK)
		return status;
	combine_bounds(target, source);
	FC_ASSERT(fc_sketch_is_sound(target));
	return FC_OK;
}

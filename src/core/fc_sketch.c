/* fc_sketch.c - layout, rows in, rows out; see fc_sketch.h */
#include "fc_sketch.h"

#include <math.h>
#include <string.h>

#include "fc_pieces.h"
#include "fc_sketch_kernel.h"

/* ---- layout ---- */

static size_t
moment_size(uint8_t flags)
{
	return (flags & FC_SKETCH_WEIGHTED) ? sizeof(fc_wide) : sizeof(int64_t);
}

static size_t
closed_size(const fc_spec *spec, uint8_t flags)
{
	return sizeof(fc_sketch) + fc_spec_core_size(spec) +
		fc_spec_tracked(spec) * (FC_SKETCH_SUMS * sizeof(fc_wide) + 2 * sizeof(double)) +
		fc_spec_moments(spec) * 2 * moment_size(flags);
}

size_t
fc_sketch_size(const fc_spec *spec, uint8_t flags, size_t capacity)
{
	size_t		size = closed_size(spec, flags);

	if (flags & FC_SKETCH_OPEN)
		size += FC_SKETCH_WAITING * fc_row_length(spec->dim, fc_spec_tracked(spec)) * sizeof(double) + capacity * sizeof(int64_t) +
			(capacity * fc_waiting_row(spec) + FC_PAD * sizeof(float) + 7) / 8 * 8;
	return size;
}

size_t
fc_sketch_bytes(const fc_sketch *sketch)
{
	return fc_sketch_size(fc_sketch_spec(sketch), sketch->flags, sketch->capacity);
}

fc_sketch_parts
fc_sketch_open_parts(const fc_sketch *sketch)
{
	const fc_spec *spec = fc_sketch_spec(sketch);
	fc_sketch_parts parts = {0};
	char	   *z;

	parts.tracked = fc_spec_tracked(spec);
	parts.moments = fc_spec_moments(spec);
	parts.n = spec->reduced;
	parts.sum = (fc_wide *) ((char *) spec + sketch->spec_size);
	parts.high = parts.sum + parts.tracked;
	parts.cross = parts.high + parts.tracked;
	parts.low = parts.cross + parts.tracked;
	parts.lower = (double *) (parts.low + parts.tracked);
	parts.upper = parts.lower + parts.tracked;
	z = (char *) (parts.upper + parts.tracked);
	if (sketch->flags & FC_SKETCH_WEIGHTED)
		parts.wide_z = (fc_wide *) z;
	else
		parts.z = (int64_t *) z;
	if (sketch->flags & FC_SKETCH_OPEN)
	{
		parts.row = fc_row_length(spec->dim, parts.tracked);
		parts.waiting = (double *) (z + 2 * parts.moments * moment_size(sketch->flags));
		parts.pending_weight = (int64_t *) (parts.waiting + FC_SKETCH_WAITING * parts.row);
		parts.pending_rows = (char *) (parts.pending_weight + sketch->capacity);
	}
	return parts;
}

/* No bounds of waiting rows. */
static void
clear_waiting_bounds(const fc_sketch_parts *parts)
{
	if (parts->waiting == NULL)
		return;
	for (size_t i = FC_SKETCH_SUMS * parts->row; i < (FC_SKETCH_SUMS + 1) * parts->row; i++)
	{
		parts->waiting[i] = INFINITY;
		parts->waiting[parts->row + i] = -INFINITY;
	}
}

/* An empty sketch but for its moments, which are not written. */
static void
init_front(const fc_spec *spec, uint8_t flags, size_t capacity, fc_sketch *sketch)
{
	size_t		closed = closed_size(spec, flags);
	fc_sketch_parts parts;
	fc_spec    *own;

	memset(sketch, 0, closed - fc_spec_moments(spec) * 2 * moment_size(flags));
	memset((char *) sketch + closed, 0, fc_sketch_size(spec, flags, capacity) - closed);
	sketch->version = FC_SKETCH_VERSION;
	sketch->flags = flags | FC_SKETCH_BOUNDS;
	sketch->spec_size = (uint32_t) fc_spec_core_size(spec);
	sketch->capacity = (uint32_t) capacity;
	own = fc_sketch_spec(sketch);
	memcpy(own, spec, sketch->spec_size);
	own->container = 0;
	own->pilot_rows = 0;
	parts = fc_sketch_open_parts(sketch);
	for (size_t i = 0; i < parts.tracked; i++)
	{
		parts.lower[i] = INFINITY;
		parts.upper[i] = -INFINITY;
	}
	clear_waiting_bounds(&parts);
}

fc_status
fc_sketch_init(const fc_spec *spec, uint8_t flags, size_t capacity, const fc_tick *tick, fc_sketch *sketch)
{
	size_t		moments = fc_spec_moments(spec) * 2 * moment_size(flags);

	init_front(spec, flags, capacity, sketch);
	return fc_clear_pieces((char *) sketch + closed_size(spec, flags) - moments, moments, tick);
}

static void
forget_bounds(fc_sketch *sketch, const fc_sketch_parts *parts)
{
	sketch->flags &= (uint8_t) ~FC_SKETCH_BOUNDS;
	memset(parts->lower, 0, 2 * parts->tracked * sizeof(double));
}

/* The moments of a copy, times up and 2^-down. */
static fc_status
copy_moments(const fc_sketch_parts *from, fc_wide up, int down, const fc_tick *tick, const fc_sketch_parts *to)
{
	size_t		count = 2 * to->moments;

	for (size_t begin = 0, end; begin < count; begin = end)
	{
		end = fc_sketch_block_end(begin, count);
		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		for (size_t j = begin; j < end; j++)
		{
			fc_wide		value = from->z != NULL ? from->z[j] : from->wide_z[j];

			if (to->z != NULL)
				to->z[j] = (int64_t) (value >> down);
			else
				to->wide_z[j] = value * up;
		}
	}
	return FC_OK;
}

fc_status
fc_sketch_convert(const fc_sketch *source, uint8_t flags, size_t capacity, const fc_tick *tick, fc_sketch *target)
{
	bool		widen = (flags & FC_SKETCH_WEIGHTED) && !(source->flags & FC_SKETCH_WEIGHTED);
	bool		narrow = !(flags & FC_SKETCH_WEIGHTED) && (source->flags & FC_SKETCH_WEIGHTED);
	fc_wide		up = widen ? FC_ONE_WEIGHT : 1;
	int			down = narrow ? FC_WEIGHT_BITS : 0;
	fc_sketch_parts from = fc_sketch_open_parts(source);
	fc_sketch_parts to;
	bool		overflow = false;

	init_front(fc_sketch_spec(source), flags & (FC_SKETCH_WEIGHTED | FC_SKETCH_OPEN), capacity, target);
	target->count = source->count;
	target->weight = (source->weight * up) >> down;
	target->weight2 = (source->weight2 * up) >> down;
	to = fc_sketch_open_parts(target);
	for (size_t i = 0; i < FC_SKETCH_SUMS * to.tracked; i++)
	{
		__int128	sum;

		overflow |= __builtin_mul_overflow((__int128) from.sum[i], (__int128) up, &sum);
		to.sum[i] = sum >> down;
	}
	if (source->flags & FC_SKETCH_BOUNDS)
		memcpy(to.lower, from.lower, 2 * to.tracked * sizeof(double));
	else
		forget_bounds(target, &to);
	if (copy_moments(&from, up, down, tick, &to) != FC_OK)
		return FC_INTERRUPTED;
	if ((source->flags & FC_SKETCH_OPEN) && (flags & FC_SKETCH_OPEN))
	{
		target->pending = source->pending;
		memcpy(to.waiting, from.waiting, FC_SKETCH_WAITING * to.row * sizeof(double));
		memcpy(to.pending_weight, from.pending_weight, source->pending * sizeof(int64_t));
		memcpy(to.pending_rows, from.pending_rows, source->pending * fc_waiting_row(fc_sketch_spec(source)));
	}
	return overflow ? FC_EOVERFLOW : FC_OK;
}

bool
fc_sketch_is_unit(const fc_sketch *sketch)
{
	const fc_wide mask = FC_ONE_WEIGHT - 1;
	fc_sketch_parts parts = fc_sketch_open_parts(sketch);
	fc_wide		low = (sketch->weight | sketch->weight2) & mask;

	if (!(sketch->flags & FC_SKETCH_WEIGHTED))
		return true;
	if (sketch->weight != (fc_wide) sketch->count << FC_WEIGHT_BITS || sketch->weight2 != sketch->weight)
		return false;			/* sum w = sum w^2 = n only when every weight is 1 */
	for (size_t i = 0; i < FC_SKETCH_SUMS * parts.tracked; i++)
		low |= parts.sum[i] & mask;
	for (size_t j = 0; j < 2 * parts.moments && low == 0; j++)
	{
		fc_wide		value = parts.wide_z[j] >> FC_WEIGHT_BITS;

		low |= (parts.wide_z[j] & mask) | (value != (int64_t) value);
	}
	return low == 0;
}

void
fc_sketch_forget_bounds(fc_sketch *sketch)
{
	fc_sketch_parts parts = fc_sketch_open_parts(sketch);

	forget_bounds(sketch, &parts);
}

/* ---- rows ---- */

fc_status
fc_weight_on_grid(double weight, int64_t *grid)
{
	if (weight == 0)
		*grid = 0;
	else if (weight >= FC_MIN_WEIGHT && weight <= FC_MAX_WEIGHT)
		*grid = (int64_t) rint(weight * 0x1p40);
	else
		return FC_EWEIGHT;
	return FC_OK;
}

/* *to += factor * from; true when that overflows */
static bool
add_multiple(fc_wide *to, fc_wide factor, fc_wide from)
{
	__int128	term;

	return __builtin_mul_overflow((__int128) factor, (__int128) from, &term) ||
		__builtin_add_overflow(*to, term, to);
}

/* The sums of the plan's row times weight, in 128 bits. */
static bool
add_wide_moments(const fc_plan *plan, const fc_sketch_parts *parts, fc_wide weight)
{
	bool		overflow = false;

	for (size_t i = 0; i < parts->tracked; i++)
	{
		double		q = plan->q[fc_row_place(plan->d, i)];
		double		rounded = rint(ldexp(q, -FC_SPLIT_BITS));
		fc_wide		a = (fc_wide) rounded;
		fc_wide		b = (fc_wide) (q - ldexp(rounded, FC_SPLIT_BITS));

		overflow |= add_multiple(&parts->sum[i], weight, (fc_wide) q);
		overflow |= add_multiple(&parts->high[i], weight, a * a);
		overflow |= add_multiple(&parts->cross[i], weight, a * b);
		overflow |= add_multiple(&parts->low[i], weight, b * b);
	}
	return !overflow;
}

static bool
add_weight(fc_sketch *sketch, int64_t weight, int sign)
{
	sketch->count += sign;
	if (!(sketch->flags & FC_SKETCH_WEIGHTED))
	{
		sketch->weight += sign;
		sketch->weight2 += sign;
	}
	else
	{
		sketch->weight += sign * (fc_wide) weight;
		sketch->weight2 += sign * (((fc_wide) weight * weight + ((fc_wide) 1 << 39)) >> FC_WEIGHT_BITS);
	}
	return sketch->count >= 0 && sketch->count <= FC_MAX_ROWS;
}

/* The bounds of the waiting rows take in the plan's row. */
static void
widen_bounds(const fc_plan *plan, const fc_sketch_parts *parts)
{
	double	   *lower = parts->waiting + FC_SKETCH_SUMS * parts->row;
	double	   *upper = lower + parts->row;

	for (size_t i = 0; i < parts->row; i++)
	{
		lower[i] = fmin(lower[i], plan->value[i]);
		upper[i] = fmax(upper[i], plan->value[i]);
	}
}

static fc_status
bring_in(const fc_plan *plan, const fc_row *row, float *y, int *found)
{
	*found = row->floats != NULL ? plan->kernel->prepare_float(plan, row->floats, y)
		: plan->kernel->prepare(plan, row->doubles, y);
	if (!(*found & FC_ROW_INVALID))
		return FC_OK;
	for (size_t i = 0; i < plan->d; i++)
		if (!isfinite(plan->value[i]))
			return FC_EVALUE;
	return FC_EFAR;
}

static fc_status
fold_phases(const fc_plan *plan, const fc_sketch_parts *parts, const float *y, const int64_t *weights, size_t rows)
{
	size_t		twice = 2 * plan->moments;
	const int64_t *limbs = plan->limbs;

	if (parts->z != NULL)
	{
		plan->kernel->accumulate(plan, y, rows, parts->z);
		return FC_OK;
	}
	if (fc_clear_pieces(plan->limbs, FC_LIMBS * twice * sizeof(int64_t), plan->tick) != FC_OK)
		return FC_INTERRUPTED;
	for (size_t r = 0, some; r < rows; r += some)
	{
		some = rows - r < plan->weighted_batch ? rows - r : plan->weighted_batch;
		if (fc_ticked(plan->tick))
			return FC_INTERRUPTED;
		plan->kernel->accumulate_weighted(plan, y + r * plan->n, some, weights + r, plan->limbs);
	}
	for (size_t begin = 0, end; begin < twice; begin = end)
	{
		end = fc_sketch_block_end(begin, twice);
		if (fc_ticked(plan->tick))
			return FC_INTERRUPTED;
		for (size_t j = begin; j < end; j++)
			parts->wide_z[j] += limbs[j] + (fc_wide) limbs[twice + j] * ((fc_wide) 1 << FC_LIMB_BITS) +
				(fc_wide) limbs[2 * twice + j] * ((fc_wide) 1 << (2 * FC_LIMB_BITS));
	}
	return FC_OK;
}

/* The moments of the plan's row: among the waiting ones where they fit, else in 128 bits. */
static bool
add_moments(const fc_plan *plan, const fc_sketch_parts *parts, bool fit, fc_wide weight)
{
	if (fit)
	{
		plan->kernel->track(plan, parts->waiting);
		return true;
	}
	widen_bounds(plan, parts);
	return add_wide_moments(plan, parts, weight);
}

/* A row that kernel->keep or ->take left; *waits when its phases can wait for a batch. */
static fc_status
add_slowly(const fc_plan *plan, const fc_row *row, fc_sketch *sketch, bool *waits)
{
	fc_sketch_parts parts = fc_sketch_open_parts(sketch);
	fc_wide		wide = (sketch->flags & FC_SKETCH_WEIGHTED) ? row->weight : 1;
	float	   *y = plan->kept ? plan->y : (float *) (parts.pending_rows + sketch->pending * plan->waiting_row);
	int			found;
	fc_status	status = bring_in(plan, row, y, &found);

	if (status != FC_OK)
		return status;
	*waits = !plan->kept && !(found & FC_ROW_FAR_PHASE);
	if (!add_moments(plan, &parts, *waits && row->weight == FC_ONE_WEIGHT && !(found & FC_ROW_FAR_MOMENTS), wide))
		return FC_EOVERFLOW;
	if (found & FC_ROW_FAR_PHASE)
		fc_sketch_add_far_phase(plan, &parts, (int64_t) wide);
	else if (plan->kept)
		status = fold_phases(plan, &parts, y, &row->weight, 1);
	if (status != FC_OK)
		return status;
	return *waits || add_weight(sketch, row->weight, 1) ? FC_OK : FC_EOVERFLOW;
}

/* Put the row at the tail if it is near. */
static inline bool
let_wait(const fc_plan *plan, const fc_row *row, void *place, double *sums)
{
	if (plan->kept)
		return row->floats != NULL ? plan->kernel->keep_float(plan, row->floats, place)
			: plan->kernel->keep(plan, row->doubles, place);
	return row->weight == FC_ONE_WEIGHT &&
		(row->floats != NULL ? plan->kernel->take_float(plan, row->floats, place, sums)
		 : plan->kernel->take(plan, row->doubles, place, sums));
}

fc_status
fc_sketch_add(const fc_plan *plan, const fc_row *row, fc_sketch *sketch)
{
	double	   *sums = (double *) ((char *) sketch + plan->waiting_at[(sketch->flags & FC_SKETCH_WEIGHTED) != 0]);
	int64_t    *weights = (int64_t *) (sums + FC_SKETCH_WAITING * plan->row);
	char	   *rows = (char *) (weights + sketch->capacity);
	bool		waits = let_wait(plan, row, rows + sketch->pending * plan->waiting_row, sums);
	fc_status	status = waits ? FC_OK : add_slowly(plan, row, sketch, &waits);

	if (!waits)
		return status;
	weights[sketch->pending++] = row->weight;
	return sketch->pending == sketch->capacity ? fc_sketch_fold(plan, sketch) : FC_OK;
}

/* z <- -z: subtracting is adding between two changes of sign. */
static fc_status
negate(const fc_sketch_parts *parts, const fc_tick *tick)
{
	size_t		count = 2 * parts->moments;

	for (size_t begin = 0, end; begin < count; begin = end)
	{
		end = fc_sketch_block_end(begin, count);
		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		for (size_t j = begin; j < end; j++)
			if (parts->z != NULL)
				parts->z[j] = -parts->z[j];
			else
				parts->wide_z[j] = -parts->wide_z[j];
	}
	return FC_OK;
}

fc_status
fc_sketch_subtract_row(const fc_plan *plan, const fc_row *row, fc_sketch *sketch)
{
	fc_sketch_parts parts = fc_sketch_open_parts(sketch);
	fc_wide		wide = (sketch->flags & FC_SKETCH_WEIGHTED) ? row->weight : 1;
	float	   *y = plan->kept ? plan->y : (float *) parts.pending_rows;
	fc_status	status = fc_sketch_fold(plan, sketch);
	int			found;

	if (status == FC_OK)
		status = bring_in(plan, row, y, &found);
	if (status != FC_OK)
		return status;
	if (!add_weight(sketch, row->weight, -1))
		return FC_ENEGATIVE;
	forget_bounds(sketch, &parts);
	if (!add_wide_moments(plan, &parts, -wide))
		return FC_EOVERFLOW;
	if (found & FC_ROW_FAR_PHASE)
		fc_sketch_add_far_phase(plan, &parts, (int64_t) -wide);
	else
	{
		status = negate(&parts, plan->tick);
		if (status == FC_OK)
			status = fold_phases(plan, &parts, y, &row->weight, 1);
		if (status == FC_OK)
			status = negate(&parts, plan->tick);
	}
	return status;
}

/* Moments and reduced coordinates of kept rows. */
static bool
take_kept_rows(const fc_plan *plan, const fc_sketch *sketch, const fc_sketch_parts *parts)
{
	const double *rows = (const double *) parts->pending_rows;
	bool		fit = true;

	if (!(sketch->flags & FC_SKETCH_WEIGHTED))
		plan->kernel->take_kept(plan, rows, sketch->pending, plan->y, parts->waiting);
	else
		for (size_t r = 0; r < sketch->pending; r++)
		{
			int64_t		weight = parts->pending_weight[r];

			plan->kernel->prepare(plan, rows + r * plan->row, plan->y + r * plan->n);
			fit &= add_moments(plan, parts, weight == FC_ONE_WEIGHT, weight);
		}
	return fit;
}

static bool
count_waiting(fc_sketch *sketch, const int64_t *weights)
{
	bool		fit = true;

	if (sketch->flags & FC_SKETCH_WEIGHTED)
		for (size_t r = 0; r < sketch->pending; r++)
			fit &= add_weight(sketch, weights[r], 1);
	else
	{
		sketch->count += sketch->pending;
		sketch->weight += sketch->pending;
		sketch->weight2 += sketch->pending;
	}
	return fit && sketch->count <= FC_MAX_ROWS;
}

/* Waiting sums into the sketch's. */
static bool
fold_sums(fc_sketch *sketch, const fc_sketch_parts *parts)
{
	fc_wide		unit = (sketch->flags & FC_SKETCH_WEIGHTED) ? FC_ONE_WEIGHT : 1;
	bool		overflow = false;

	for (size_t i = 0; i < parts->tracked; i++)
	{
		const double *waiting = parts->waiting + fc_row_place(fc_sketch_spec(sketch)->dim, i);

		for (size_t which = 0; which < FC_SKETCH_SUMS; which++)
		{
			fc_wide    *sum = &parts->sum[which * parts->tracked + i];

			overflow |= __builtin_add_overflow(*sum, unit * (int64_t) waiting[which * parts->row], sum);
		}
		if (sketch->flags & FC_SKETCH_BOUNDS)
		{
			parts->lower[i] = fmin(parts->lower[i], waiting[FC_SKETCH_SUMS * parts->row]);
			parts->upper[i] = fmax(parts->upper[i], waiting[(FC_SKETCH_SUMS + 1) * parts->row]);
		}
	}
	/* The waiting bounds stay: taken in again they change nothing. */
	memset(parts->waiting, 0, FC_SKETCH_SUMS * parts->row * sizeof(double));
	return !overflow;
}

fc_status
fc_sketch_fold(const fc_plan *plan, fc_sketch *sketch)
{
	fc_sketch_parts parts = fc_sketch_open_parts(sketch);
	const float *y = plan->kept ? plan->y : (const float *) parts.pending_rows;
	bool		fit = true;
	fc_status	status = FC_OK;

	if (!(sketch->flags & FC_SKETCH_OPEN))
		return FC_OK;
	if (plan->kept && sketch->pending > 0)
		fit &= take_kept_rows(plan, sketch, &parts);
	fit &= fold_sums(sketch, &parts);
	fit &= count_waiting(sketch, parts.pending_weight);
	if (sketch->pending > 0)
		status = fold_phases(plan, &parts, y, parts.pending_weight, sketch->pending);
	sketch->pending = 0;
	return fit ? status : FC_EOVERFLOW;
}

/* ---- sketches ---- */

static fc_status
combine_moments(const fc_sketch_parts *to, const fc_sketch_parts *from, fc_wide factor, const fc_tick *tick)
{
	size_t		count = 2 * to->moments;
	bool		overflow = false;

	for (size_t i = 0; i < FC_SKETCH_SUMS * to->tracked; i++)
		overflow |= add_multiple(&to->sum[i], factor, from->sum[i]);
	for (size_t begin = 0, end; begin < count; begin = end)
	{
		end = fc_sketch_block_end(begin, count);
		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		for (size_t j = begin; j < end; j++)
			if (to->z != NULL)
				to->z[j] += (int64_t) factor * from->z[j];
			else
				to->wide_z[j] += factor * (from->z != NULL ? from->z[j] : from->wide_z[j]);
	}
	return overflow ? FC_EOVERFLOW : FC_OK;
}

fc_status
fc_sketch_combine(fc_sketch *target, const fc_sketch *source, int sign, const fc_tick *tick)
{
	fc_sketch_parts to = fc_sketch_open_parts(target);
	fc_sketch_parts from = fc_sketch_open_parts(source);
	bool		widen = (target->flags & FC_SKETCH_WEIGHTED) && !(source->flags & FC_SKETCH_WEIGHTED);
	fc_wide		factor = sign * (widen ? (fc_wide) FC_ONE_WEIGHT : 1);
	bool		overflow;
	fc_status	status;

	if (!fc_spec_same(fc_sketch_spec(target), fc_sketch_spec(source)))
		return FC_EMISMATCH;
	target->count += sign * source->count;
	target->weight += factor * source->weight;
	overflow = add_multiple(&target->weight2, factor, source->weight2);
	if (target->count < 0 || target->weight < 0 || target->weight2 < 0)
		return overflow ? FC_EOVERFLOW : FC_ENEGATIVE;
	if (overflow || target->count > FC_MAX_ROWS)
		return FC_EOVERFLOW;
	status = combine_moments(&to, &from, factor, tick);
	if (status != FC_OK)
		return status;
	if (sign < 0 || !(target->flags & source->flags & FC_SKETCH_BOUNDS))
		forget_bounds(target, &to);
	else
		for (size_t i = 0; i < to.tracked; i++)
		{
			to.lower[i] = fmin(to.lower[i], from.lower[i]);
			to.upper[i] = fmax(to.upper[i], from.upper[i]);
		}
	status = sign < 0 ? fc_sketch_check_sums(target, tick) : FC_OK;
	return status == FC_EFORMAT ? FC_ENEGATIVE : status;
}

/* layout.c - the bytes of a sketch: sizes, places, empty ones, copies with other flags; see layout.h */
#include "sketch/layout.h"

/* Zeros of sparse rows add nothing where the center is 0: such rows are worth reducing one by one. */
static bool
centered_at_zero(const fc_spec *spec)
{
	const double *center = fc_spec_center(spec);

	for (size_t i = 0; i < spec->dim; i++)
		if (center[i] != 0.0)
			return false;
	return true;
}

bool
fc_rows_raw(const fc_spec *spec)
{
	if (!(spec->flags & FC_SPEC_PROJECTED))
		return fc_padded(spec->dim) <= FC_RAW_ROW;
	return (size_t) spec->dim * spec->reduced >= FC_RAW_BASIS && !centered_at_zero(spec);
}

/* Bytes of a waiting row: fc_padded(d) doubles, or n floats. */
size_t
fc_waiting_row(const fc_spec *spec)
{
	return fc_rows_raw(spec) ? fc_padded(spec->dim) * sizeof(double) : spec->reduced * sizeof(float);
}

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

static size_t
waiting_rows_size(const fc_spec *spec, size_t capacity)
{
	return (capacity * fc_waiting_row(spec) + FC_PAD * sizeof(float) + 7) / 8 * 8;
}

size_t
fc_sketch_size(const fc_spec *spec, uint8_t flags, size_t capacity)
{
	size_t		size = closed_size(spec, flags);

	if (flags & FC_SKETCH_OPEN)
		size += FC_SKETCH_WAITING * fc_row_length(spec->dim, fc_spec_tracked(spec)) * sizeof(double) + capacity * sizeof(int64_t) +
			waiting_rows_size(spec, capacity) + (fc_rows_raw(spec) ? 0 : fc_padded(spec->dim));
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
		if (!fc_rows_raw(spec))
			parts.present = (uint8_t *) parts.pending_rows + waiting_rows_size(spec, sketch->capacity);
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

	memset(sketch, 0, closed - fc_spec_moments(spec) * 2 * moment_size(flags));
	memset((char *) sketch + closed, 0, fc_sketch_size(spec, flags, capacity) - closed);
	sketch->version = FC_SKETCH_VERSION;
	sketch->flags = flags | FC_SKETCH_BOUNDS;
	sketch->spec_size = (uint32_t) fc_spec_core_size(spec);
	sketch->capacity = (uint32_t) capacity;
	fc_spec_without_pilot(spec, fc_sketch_spec(sketch));
	parts = fc_sketch_open_parts(sketch);
	for (size_t i = 0; i < parts.tracked; i++)
	{
		parts.lower[i] = INFINITY;
		parts.upper[i] = -INFINITY;
	}
	clear_waiting_bounds(&parts);
}

void
fc_sketch_init(const fc_spec *spec, uint8_t flags, size_t capacity, fc_sketch *sketch)
{
	size_t		moments = fc_spec_moments(spec) * 2 * moment_size(flags);

	init_front(spec, flags, capacity, sketch);
	memset((char *) sketch + closed_size(spec, flags) - moments, 0, moments);
}

static void
forget_bounds(fc_sketch *sketch, const fc_sketch_parts *parts)
{
	sketch->flags &= (uint8_t) ~FC_SKETCH_BOUNDS;
	memset(parts->lower, 0, 2 * parts->tracked * sizeof(double));
}

/* The moments of a copy, times up and 2^-down. */
static void
copy_moments(const fc_sketch_parts *from, fc_wide up, int down, const fc_sketch_parts *to)
{
	for (size_t j = 0; j < 2 * to->moments; j++)
	{
		fc_wide		value = from->z != NULL ? from->z[j] : from->wide_z[j];

		if (to->z != NULL)
			to->z[j] = (int64_t) (value >> down);
		else
			to->wide_z[j] = value * up;
	}
}

fc_status
fc_sketch_convert(const fc_sketch *source, uint8_t flags, size_t capacity, fc_sketch *target)
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
	copy_moments(&from, up, down, &to);
	if ((source->flags & FC_SKETCH_OPEN) && (flags & FC_SKETCH_OPEN))
	{
		target->pending = source->pending;
		target->sparse = source->sparse;
		memcpy(to.waiting, from.waiting, FC_SKETCH_WAITING * to.row * sizeof(double));
		memcpy(to.pending_weight, from.pending_weight, source->pending * sizeof(int64_t));
		memcpy(to.pending_rows, from.pending_rows, source->pending * fc_waiting_row(fc_sketch_spec(source)));
		if (to.present != NULL)
			memcpy(to.present, from.present, fc_sketch_spec(source)->dim);
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

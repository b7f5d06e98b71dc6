/*
 * layout.c - the bytes of a sketch: sizes, offsets, empty sketches, and
 * copies that are weighted or unpacked differently; see layout.h
 */
#include "sketch/layout.h"

/*
 * Returns true if the center is 0. Zeros of sparse rows then add nothing to
 * the sums, so it is faster to reduce sparse rows one by one than to store
 * them raw.
 */
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
	return (size_t) spec->dim * spec->reduced >= FC_RAW_BASIS &&
		!centered_at_zero(spec);
}

size_t
fc_pending_row(const fc_spec *spec)
{
	return fc_rows_raw(spec) ? fc_padded(spec->dim) * sizeof(double)
		: spec->reduced * sizeof(float);
}

static size_t
tracked_dimensions(const fc_spec *spec)
{
	return spec->dim +
		((spec->flags & FC_SPEC_PROJECTED) ? (size_t) spec->reduced : 0);
}

static size_t
moments_size(const fc_spec *spec, uint8_t flags)
{
	return 2 * fc_spec_moments(spec) *
		((flags & FC_SKETCH_WEIGHTED) ? sizeof(fc_wide) : sizeof(int64_t));
}

/* Returns the number of bytes before the moments. */
static size_t
front_size(const fc_spec *spec)
{
	return sizeof(fc_sketch) + fc_spec_core_size(spec) +
		tracked_dimensions(spec) *
		(FC_SKETCH_SUMS * sizeof(fc_wide) + 2 * sizeof(double));
}

size_t
fc_sketch_size(const fc_spec *spec, uint8_t flags, size_t capacity)
{
	size_t		row = fc_row_length(spec->dim, tracked_dimensions(spec));
	size_t		size = front_size(spec) + moments_size(spec, flags);

	if (flags & FC_SKETCH_UNPACKED)
		size += FC_SKETCH_PENDING * row * sizeof(double) +
			capacity * sizeof(int64_t) + fc_padded(spec->dim) +
			(capacity * fc_pending_row(spec) + FC_PAD * sizeof(float) + 7) /
			8 * 8;
	return size;
}

size_t
fc_sketch_bytes(const fc_sketch *sketch)
{
	return fc_sketch_size(fc_sketch_spec(sketch), sketch->flags,
						  sketch->capacity);
}

fc_sketch_view
fc_sketch_view_of(const fc_sketch *sketch)
{
	fc_spec    *spec = fc_sketch_spec(sketch);
	fc_sketch_view view = {
		.head = (fc_sketch *) (uintptr_t) sketch,
		.spec = spec
	};
	char	   *z;

	view.tracked = tracked_dimensions(spec);
	view.moments = fc_spec_moments(spec);
	view.sum = (fc_wide *) ((char *) spec + sketch->spec_size);
	view.high = view.sum + view.tracked;
	view.cross = view.high + view.tracked;
	view.low = view.cross + view.tracked;
	view.lower = (double *) (view.low + view.tracked);
	view.upper = view.lower + view.tracked;
	z = (char *) (view.upper + view.tracked);
	if (sketch->flags & FC_SKETCH_WEIGHTED)
		view.wide_z = (fc_wide *) z;
	else
		view.z = (int64_t *) z;
	if (sketch->flags & FC_SKETCH_UNPACKED)
	{
		view.row = fc_row_length(spec->dim, view.tracked);
		view.pending = (double *) (z + moments_size(spec, sketch->flags));
		view.pending_weight = (int64_t *) (view.pending +
										   FC_SKETCH_PENDING * view.row);
		view.present = (uint8_t *) (view.pending_weight + sketch->capacity);
		view.pending_rows = (char *) view.present + fc_padded(spec->dim);
	}
	return view;
}

/*
 * Writes an empty sketch except for its moments, which are left as they are.
 */
static fc_sketch_view
init_front(const fc_spec *spec, uint8_t flags, size_t capacity,
		   fc_sketch *sketch)
{
	size_t		front = front_size(spec);
	size_t		closed = front + moments_size(spec, flags);
	fc_sketch_view view;

	memset(sketch, 0, front);
	memset((char *) sketch + closed, 0,
		   fc_sketch_size(spec, flags, capacity) - closed);
	sketch->version = FC_SKETCH_VERSION;
	sketch->flags = flags | FC_SKETCH_BOUNDS;
	sketch->spec_size = (uint32_t) fc_spec_core_size(spec);
	sketch->capacity = (uint32_t) capacity;
	fc_spec_without_sample(spec, fc_sketch_spec(sketch));
	view = fc_sketch_view_of(sketch);
	for (size_t i = 0; i < view.tracked; i++)
	{
		view.lower[i] = INFINITY;
		view.upper[i] = -INFINITY;
	}
	for (size_t i = FC_SKETCH_SUMS * view.row;
		 i < (FC_SKETCH_SUMS + 1) * view.row; i++)
	{
		view.pending[i] = INFINITY;
		view.pending[view.row + i] = -INFINITY;
	}
	return view;
}

void
fc_sketch_init(const fc_spec *spec, uint8_t flags, size_t capacity,
			   fc_sketch *sketch)
{
	(void) init_front(spec, flags, capacity, sketch);
	memset((char *) sketch + front_size(spec), 0, moments_size(spec, flags));
}

/*
 * Copies the moments. Multiplies them by `up` if the target is weighted, by
 * 2^-down if it is not.
 */
static void
copy_moments(const fc_sketch_view *from, fc_wide up, int down,
			 const fc_sketch_view *to)
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

static void
copy_pending_rows(const fc_sketch_view *from, const fc_sketch_view *to)
{
	size_t		pending = from->head->pending;

	to->head->pending = from->head->pending;
	to->head->sparse = from->head->sparse;
	memcpy(to->pending, from->pending,
		   FC_SKETCH_PENDING * to->row * sizeof(double));
	memcpy(to->pending_weight, from->pending_weight, pending * sizeof(int64_t));
	memcpy(to->present, from->present, from->spec->dim);
	memcpy(to->pending_rows, from->pending_rows,
		   pending * fc_pending_row(from->spec));
}

fc_status
fc_sketch_convert(const fc_sketch_view *from, uint8_t flags, size_t capacity,
				  fc_sketch *target)
{
	const fc_sketch *source = from->head;
	bool		widen = (flags & FC_SKETCH_WEIGHTED) && from->z != NULL;
	bool		narrow = !(flags & FC_SKETCH_WEIGHTED) && from->z == NULL;
	fc_wide		up = widen ? FC_ONE_WEIGHT : 1;
	int			down = narrow ? FC_WEIGHT_BITS : 0;
	fc_sketch_view to = init_front(from->spec,
								   flags &
								   (FC_SKETCH_WEIGHTED | FC_SKETCH_UNPACKED),
								   capacity, target);
	bool		overflow = false;

	target->count = source->count;
	target->weight = (source->weight * up) >> down;
	target->weight2 = (source->weight2 * up) >> down;
	for (size_t i = 0; i < FC_SKETCH_SUMS * to.tracked; i++)
	{
		__int128	sum;

		overflow |= __builtin_mul_overflow((__int128) from->sum[i],
										   (__int128) up, &sum);
		to.sum[i] = sum >> down;
	}
	if (source->flags & FC_SKETCH_BOUNDS)
		memcpy(to.lower, from->lower, 2 * to.tracked * sizeof(double));
	else
		fc_sketch_forget_bounds(&to);
	copy_moments(from, up, down, &to);
	if (from->pending != NULL && to.pending != NULL)
		copy_pending_rows(from, &to);
	return overflow ? FC_EOVERFLOW : FC_OK;
}

bool
fc_sketch_is_unit(const fc_sketch_view *sketch)
{
	const fc_wide mask = FC_ONE_WEIGHT - 1;
	const fc_sketch *head = sketch->head;
	fc_wide		low = (head->weight | head->weight2) & mask;

	if (sketch->z != NULL)
		return true;
	if (head->weight != (fc_wide) head->count << FC_WEIGHT_BITS ||
		head->weight2 != head->weight)
		return false;			/* unit weights imply sum w = sum w^2 = n */
	for (size_t i = 0; i < FC_SKETCH_SUMS * sketch->tracked; i++)
		low |= sketch->sum[i] & mask;
	for (size_t j = 0; j < 2 * sketch->moments && low == 0; j++)
	{
		fc_wide		value = sketch->wide_z[j] >> FC_WEIGHT_BITS;

		low |= (sketch->wide_z[j] & mask) | (value != (int64_t) value);
	}
	return low == 0;
}

void
fc_sketch_forget_bounds(const fc_sketch_view *sketch)
{
	sketch->head->flags &= (uint8_t) ~FC_SKETCH_BOUNDS;
	memset(sketch->lower, 0, 2 * sketch->tracked * sizeof(double));
}

/* counts.c - counts of rows, and sums of counts; see counts.h */
#include "drift/counts.h"

#include <float.h>

#include "drift/internal.h"

#define THRESHOLDS	(FC_DRIFT_CELLS - 1)

/* ---- the bytes ---- */

bool
fc_drift_counts_of_spec(const fc_drift_counts *counts,
						const fc_drift_spec *spec)
{
	return counts->digest[0] == spec->digest[0] &&
		counts->digest[1] == spec->digest[1] && counts->dim == spec->dim &&
		counts->plain == spec->plain && counts->far == spec->far;
}

static fc_drift_counts
fixed_fields(const fc_drift_spec *spec, uint8_t flags)
{
	return (fc_drift_counts)
	{
		.version = FC_DRIFT_VERSION,
			.flags = flags,
			.digest =
		{
			spec->digest[0], spec->digest[1]
		},
			.dim = spec->dim,
			.plain = spec->plain,
			.far = spec->far
	};
}

/*
 * Returns the size in bytes of the counts alone, without the header and the
 * bits of pending rows.
 */
static size_t
numbers_size(const fc_drift_counts *counts, uint8_t flags)
{
	return (fc_drift_numbers(counts) * ((flags & FC_DRIFT_WIDE)
										? sizeof(uint64_t)
										: sizeof(uint32_t)) +
			7) /
		8 * 8;
}

size_t
fc_drift_counts_size(const fc_drift_counts *counts, uint8_t flags)
{
	size_t		words = ((flags & FC_DRIFT_UNPACKED)
						 ? 2 * (FC_DRIFT_LANES(fc_drift_bits(counts)) + FC_DRIFT_PLANES) +
						 FC_DRIFT_LANES(counts->dim) / sizeof(uint32_t)
						 : 0);
	size_t		units = ((flags & FC_DRIFT_UNITS)
						 ? sizeof(fc_drift_units) +
						 (fc_drift_statistics(counts) + 1) / 2 * 2 * sizeof(float)
						 : 0);

	return sizeof(fc_drift_counts) + numbers_size(counts, flags) + units +
		words * sizeof(uint32_t);
}

fc_drift_units *
fc_drift_units_of(const fc_drift_counts *counts)
{
	return (counts->flags & FC_DRIFT_UNITS)
		? (fc_drift_units *) ((char *) (counts + 1) + numbers_size(counts, counts->flags))
		: NULL;
}

size_t
fc_drift_size_of_spec(const fc_drift_spec *spec, uint8_t flags)
{
	fc_drift_counts fixed = fixed_fields(spec, flags);

	return fc_drift_counts_size(&fixed, flags);
}

void
fc_drift_counts_init(const fc_drift_spec *spec, uint8_t flags,
					 fc_drift_counts *counts)
{
	memset(counts, 0, fc_drift_size_of_spec(spec, flags));
	*counts = fixed_fields(spec, flags);
}

static inline void
set_number(fc_drift_counts *counts, size_t i, uint64_t number)
{
	if (counts->flags & FC_DRIFT_WIDE)
		((uint64_t *) (counts + 1))[i] = number;
	else
		((uint32_t *) (counts + 1))[i] = (uint32_t) number;
}

static inline uint32_t *
words_of(fc_drift_counts *counts)
{
	return (uint32_t *) ((char *) (counts + 1) +
						 numbers_size(counts, counts->flags));
}

/*
 * Returns the indices of the cells of 0 (counts.h), one per column. They are
 * stored after the bits of the pending rows.
 */
static inline uint8_t *
zero_cells(fc_drift_counts *counts)
{
	return (uint8_t *) (words_of(counts) +
						2 * (FC_DRIFT_LANES(fc_drift_bits(counts)) + FC_DRIFT_PLANES));
}

fc_status
fc_drift_convert(const fc_drift_counts *source, uint8_t flags,
				 fc_drift_counts *target)
{
	size_t		numbers = fc_drift_numbers(source);

	FC_ASSERT(fc_drift_is_folded(source) &&
			  !((flags & FC_DRIFT_UNITS) && (flags & FC_DRIFT_UNPACKED)));
	if (!(flags & FC_DRIFT_WIDE) && source->rows > FC_DRIFT_MAX_NARROW)
		return FC_EOVERFLOW;
	memset(target, 0, fc_drift_counts_size(source, flags));
	*target = *source;
	target->container = 0;
	target->flags = flags | (source->flags & FC_DRIFT_NULLS);
	if (((flags ^ source->flags) & FC_DRIFT_WIDE) == 0)
	{
		memcpy(target + 1, source + 1, numbers_size(source, flags));
		return FC_OK;
	}
	for (size_t i = 0; i < numbers; i++)
		set_number(target, i, fc_drift_number(source, i));
	return FC_OK;
}

/*
 * Checks that the cells of every column add up to the number of rows, and that
 * no count exceeds this number. Counts of NULLs must be 0 without
 * FC_DRIFT_NULLS. Returns FC_OK or FC_EFORMAT.
 */
static fc_status
check_numbers(const fc_drift_counts *counts)
{
	size_t		numbers = fc_drift_numbers(counts);
	size_t		cells = (size_t) counts->dim * FC_DRIFT_CELLS;
	uint64_t	rows = (uint64_t) counts->rows;
	uint64_t	sum = 0;

	for (size_t i = 0; i < numbers; i++)
	{
		if (fc_drift_number(counts, i) > rows ||
			(i >= fc_drift_values(counts) && fc_drift_number(counts, i) > 0 &&
			 !(counts->flags & FC_DRIFT_NULLS)))
			return FC_EFORMAT;
		if (i >= cells)
			continue;
		sum += fc_drift_number(counts, i);
		if ((i + 1) % FC_DRIFT_CELLS == 0)
		{
			if (sum != rows)
				return FC_EFORMAT;
			sum = 0;
		}
	}
	return FC_OK;
}

/*
 * Returns true if there are no units, or if they are valid. All numbers must
 * be finite and, except wave_excess, not negative. Sizes of units must be
 * above 0.
 */
static bool
units_valid(const fc_drift_counts *counts)
{
	const fc_drift_units *units = fc_drift_units_of(counts);
	size_t		statistics = fc_drift_statistics(counts);

	if (units == NULL)
		return true;
	if (units->units < 0 || !(units->rows > 0 && units->square > 0 && units->parts > 0 &&
							  units->wave_square >= 0 && units->wave_cube >= 0) ||
		!fc_all_finite(&units->rows, 6))
		return false;
	for (size_t i = 0; i < statistics; i++)
		if (!(fc_drift_between(units)[i] >= 0 && fc_drift_between(units)[i] <= FLT_MAX))
			return false;
	return statistics % 2 == 0 || fc_drift_between(units)[statistics] == 0;
}

fc_status
fc_drift_counts_check(const void *bytes, size_t size)
{
	const fc_drift_counts *counts = bytes;
	size_t		used;

	if (size < sizeof(fc_drift_counts) || counts->version != FC_DRIFT_VERSION ||
		counts->padding != 0 || !fc_drift_is_folded(counts) || counts->dim < 1 ||
		counts->dim > FC_MAX_DIM || counts->plain > FC_DRIFT_PLAIN ||
		counts->plain > counts->dim || counts->far > FC_DRIFT_FAR ||
		counts->far > counts->dim || counts->rows < 0 ||
		counts->rows > FC_MAX_ROWS ||
		counts->flags != fc_drift_packed_flags(counts) ||
		!fc_zero_padding((const char *) counts->reserved,
						 (const char *) (counts + 1)) ||
		fc_drift_counts_size(counts, counts->flags) != size)
		return FC_EFORMAT;
	used = fc_drift_numbers(counts) *
		((counts->flags & FC_DRIFT_WIDE) ? sizeof(uint64_t) : sizeof(uint32_t));
	if (!fc_zero_padding((const char *) (counts + 1) + used,
						 (const char *) (counts + 1) + numbers_size(counts, counts->flags)) ||
		!units_valid(counts))
		return FC_EFORMAT;
	return check_numbers(counts);
}

/* ---- sums ---- */

static inline void
add_number(fc_drift_counts *counts, size_t i, uint64_t number)
{
	if (counts->flags & FC_DRIFT_WIDE)
		((uint64_t *) (counts + 1))[i] += number;
	else
		((uint32_t *) (counts + 1))[i] += (uint32_t) number;
}

/*
 * Adds the pending rows to the counts of the pairs of bit b and each later
 * bit, which start at index `begin`. Only rows whose weight has bit `plane`
 * are added, 2^plane times each. `low` has the bits of pending rows 0 to 31,
 * `high` of rows 32 to 63.
 */
static void
fold_pairs(fc_drift_counts *counts, size_t b, size_t begin, const uint32_t *low,
		   const uint32_t *high, size_t plane)
{
	size_t		bits = fc_drift_bits(counts);
	size_t		others = bits - b - 1;
	const uint32_t *planes = low + 2 * FC_DRIFT_LANES(bits) + 2 * plane;
	uint32_t	first = low[b] & planes[0];
	uint32_t	second = high[b] & planes[1];
	uint32_t	sums[FC_DRIFT_PLAIN + FC_DRIFT_FAR];

	if (!(counts->flags & FC_DRIFT_WIDE) && plane == 0)
	{
		fc_drift_count_both(first, second, low + b + 1, high + b + 1, others,
							(uint32_t *) (counts + 1) + begin);
		return;
	}
	memset(sums, 0, others * sizeof(uint32_t));
	fc_drift_count_both(first, second, low + b + 1, high + b + 1, others, sums);
	for (size_t j = 0; j < others; j++)
		add_number(counts, begin + j, (uint64_t) sums[j] << plane);
}

void
fc_drift_fold(fc_drift_counts *counts)
{
	size_t		bits = fc_drift_bits(counts);
	size_t		words = 2 * FC_DRIFT_LANES(bits);
	uint32_t   *low;

	for (size_t j = 0; counts->sparse > 0 && j < counts->dim; j++)
		add_number(counts, j * FC_DRIFT_CELLS + zero_cells(counts)[j], counts->sparse);
	counts->sparse = 0;
	if (counts->pending == 0)
		return;
	low = words_of(counts);
	for (size_t plane = 0; plane < FC_DRIFT_PLANES; plane++)
	{
		size_t		begin = (size_t) counts->dim * FC_DRIFT_CELLS;
		const uint32_t *rows = low + words + 2 * plane;

		for (size_t b = 0; b + 1 < bits && (rows[0] | rows[1]) != 0; begin += bits - ++b)
			fold_pairs(counts, b, begin, low, low + words / 2, plane);
	}
	memset(low, 0, (words + 2 * FC_DRIFT_PLANES) * sizeof(uint32_t));
	counts->pending = 0;
}

/*
 * Sets FC_DRIFT_NULLS of the target before the source is added. A target
 * without rows takes the flag from the source, or keeps its own. A target with
 * rows loses the flag if the source has rows without the flag. Sets the NULLs
 * of a target without the flag to 0.
 */
static void
combine_knowledge(fc_drift_counts *target, const fc_drift_counts *source)
{
	if (source->rows > 0 && !(source->flags & FC_DRIFT_NULLS))
		target->flags &= (uint8_t) ~FC_DRIFT_NULLS;
	else if (target->rows == 0)
		target->flags |= source->flags & FC_DRIFT_NULLS;
	if (!(target->flags & FC_DRIFT_NULLS))
		for (size_t j = 0; j < target->dim; j++)
			set_number(target, fc_drift_values(target) + j, 0);
}

fc_status
fc_drift_combine(fc_drift_counts *target, const fc_drift_counts *source,
				 int sign)
{
	size_t		numbers;
	int64_t		rows = target->rows + sign * source->rows;

	FC_ASSERT(fc_drift_is_folded(target) && fc_drift_is_folded(source) &&
			  !(target->flags & FC_DRIFT_UNITS));
	if (target->digest[0] != source->digest[0] ||
		target->digest[1] != source->digest[1] || target->dim != source->dim ||
		target->plain != source->plain || target->far != source->far)
		return FC_EMISMATCH;
	if (rows < 0)
		return FC_ENEGATIVE;
	if (rows > FC_MAX_ROWS ||
		(!(target->flags & FC_DRIFT_WIDE) && fc_drift_width(rows)))
		return FC_EOVERFLOW;
	combine_knowledge(target, source);
	numbers = (target->flags & FC_DRIFT_NULLS) ? fc_drift_numbers(target)
		: fc_drift_values(target);
	for (size_t i = 0; i < numbers; i++)
	{
		uint64_t	number = fc_drift_number(source, i);

		if (sign < 0 && number > fc_drift_number(target, i))
			return FC_ENEGATIVE;
		add_number(target, i, sign < 0 ? -number : number);
	}
	target->rows = rows;
	return FC_OK;
}

/* ---- rows ---- */

/*
 * Returns threshold k of column j; threshold 0 is just below the smallest
 * value.
 */
static float
threshold_of(const fc_drift_spec *spec, size_t j, size_t k)
{
	return k == 0 ? nextafterf(fc_drift_minima(spec)[j], -INFINITY)
		: fc_drift_edges(spec)[j * FC_DRIFT_EDGES + k - 1];
}

/* Returns the number of thresholds of column j below x. */
static inline uint8_t
cell_of(const fc_drift_prepared *prepared, size_t j, float x)
{
	const float *threshold = (prepared->threshold +
							  j / FC_DRIFT_TILE * THRESHOLDS * FC_DRIFT_TILE +
							  j % FC_DRIFT_TILE);
	int			below = 0;

	for (size_t k = 0; k < THRESHOLDS; k++)
		below += x > threshold[k * FC_DRIFT_TILE];
	return (uint8_t) below;
}

/*
 * Returns the number of thresholds of column j below an element x of a sparse
 * row. The thresholds ascend. If x is not below the value 0 of the column, all
 * thresholds below 0 are therefore below x, and only the others are compared
 * with x.
 */
static inline uint8_t
cell_of_element(const fc_drift_prepared *prepared, size_t j, float x)
{
	const float *threshold = (prepared->threshold +
							  j / FC_DRIFT_TILE * THRESHOLDS * FC_DRIFT_TILE +
							  j % FC_DRIFT_TILE);
	size_t		below = x >= prepared->sparse[j] ? prepared->zero[j] : 0;

	while (below < THRESHOLDS && x > threshold[below * FC_DRIFT_TILE])
		below++;
	return (uint8_t) below;
}

/* Returns value x of column j relative to the origin. */
static inline float
from_origin(const fc_drift_prepared *prepared, size_t j, double x)
{
	return (float) (prepared->origin != NULL ? x - prepared->origin[j] : x);
}

void
fc_drift_prepare(const fc_drift_spec *spec, fc_arena *arena,
				 fc_drift_prepared *prepared)
{
	size_t		d = spec->dim;
	size_t		bits = fc_drift_spec_bits(spec);
	size_t		lanes = FC_DRIFT_LANES(bits);
	size_t		columns = FC_DRIFT_LANES(d);

	*prepared = (fc_drift_prepared)
	{
		.dim = d,
			.plain = spec->plain,
			.bits = bits
	};
	prepared->origin = fc_drift_origin(spec) != NULL ? FC_TAKE(arena, d, double)
		: NULL;
	prepared->threshold = FC_TAKE(arena, columns * THRESHOLDS, float);
	prepared->column = FC_TAKE(arena, lanes, uint16_t);
	prepared->lower = FC_TAKE(arena, lanes, float);
	prepared->upper = FC_TAKE(arena, lanes, float);
	prepared->x = FC_TAKE(arena, columns, float);
	prepared->of_bits = FC_TAKE(arena, lanes, float);
	prepared->place = FC_TAKE(arena, columns, int32_t);
	prepared->zero = FC_TAKE(arena, columns, uint8_t);
	prepared->sparse = FC_TAKE(arena, columns, float);
	memcpy(prepared->digest, spec->digest, sizeof(spec->digest));
	if (prepared->origin != NULL)
		memcpy(prepared->origin, fc_drift_origin(spec), d * sizeof(double));
	for (size_t j = 0; j < FC_DRIFT_LANES(d); j++)
	{
		prepared->x[j] = 0.0f;
		for (size_t k = 0; k < THRESHOLDS; k++)
			prepared->threshold[(j / FC_DRIFT_TILE * THRESHOLDS + k) *
								FC_DRIFT_TILE +
								j % FC_DRIFT_TILE] = j < d ? threshold_of(spec,
																		  j, k)
				: INFINITY;
	}
	for (size_t j = 0; j < d; j++)
	{
		prepared->sparse[j] = from_origin(prepared, j, 0.0);
		prepared->zero[j] = cell_of(prepared, j, prepared->sparse[j]);
	}
	for (size_t b = 0; b < FC_DRIFT_LANES(prepared->bits); b++)
	{
		bool		real = b < prepared->bits;
		size_t		j = real ? fc_drift_bit_columns(spec)[b] : 0;
		const uint8_t *third = fc_drift_thirds(spec) + 3 * j;
		const float *edge = fc_drift_edges(spec) + j * FC_DRIFT_EDGES;
		bool		far = b >= prepared->plain;

		prepared->column[b] = (uint16_t) j;
		prepared->of_bits[b] = 0.0f;
		prepared->lower[b] = real && far ? edge[third[FC_DRIFT_LOWER]] : NAN;
		prepared->upper[b] = real ? edge[third[far ? FC_DRIFT_UPPER
											   : FC_DRIFT_MIDDLE]]
			: INFINITY;
	}
}

/*
 * Adds the weight to the number of rows, and the bits of the row to the
 * pending rows. x has the values of the row relative to the origin.
 */
static void
count_bits(const fc_drift_prepared *prepared, const float *x, uint32_t weight,
		   fc_drift_counts *counts)
{
	size_t		d = prepared->dim;
	size_t		lanes = FC_DRIFT_LANES(prepared->bits);
	uint32_t   *words = words_of(counts);
	uint32_t   *planes = words + 2 * lanes + (counts->pending < 32 ? 0 : 1);

	counts->rows += weight;
	if (prepared->bits < 2)
		return;
	for (size_t b = prepared->plain == d ? d : 0; b < prepared->bits; b++)
		prepared->of_bits[b] = x[prepared->column[b]];
	if (prepared->plain == d)
		memcpy(prepared->of_bits, x, d * sizeof(float));
	fc_drift_set_bits(prepared->of_bits, prepared->lower, prepared->upper, lanes,
					  UINT32_C(1) << counts->pending % 32,
					  words + (counts->pending < 32 ? 0 : lanes));
	for (size_t plane = 0; weight >> plane != 0; plane++)
		planes[2 * plane] |= (weight >> plane & 1) << counts->pending % 32;
	if (++counts->pending == FC_DRIFT_BATCH)
		fc_drift_fold(counts);
}

fc_status
fc_drift_count_row(const fc_drift_prepared *prepared, const double *doubles,
				   const float *floats, uint32_t weight, fc_drift_counts *counts)
{
	size_t		d = prepared->dim;
	uint32_t   *cells = (uint32_t *) (counts + 1);

	FC_ASSERT(counts->flags & FC_DRIFT_UNPACKED);
	if (!(floats != NULL
		  ? fc_drift_take_floats(floats, prepared->origin, d, prepared->x)
		  : fc_drift_take_doubles(doubles, prepared->origin, d,
								  prepared->x)))
		return FC_EVALUE;
	fc_drift_places(prepared->x, prepared->threshold, THRESHOLDS,
					FC_DRIFT_LANES(d) / FC_DRIFT_TILE, prepared->place);
	if (counts->flags & FC_DRIFT_WIDE)
		for (size_t j = 0; j < d; j++)
			add_number(counts, j * FC_DRIFT_CELLS + (size_t) prepared->place[j],
					   weight);
	else
		for (size_t j = 0; j < d; j++)
			cells[j * FC_DRIFT_CELLS + (size_t) prepared->place[j]] += weight;
	count_bits(prepared, prepared->x, weight, counts);
	return FC_OK;
}

fc_status
fc_drift_count_sparse_row(const fc_drift_prepared *prepared,
						  const fc_sparse_row *row, uint32_t weight,
						  fc_drift_counts *counts)
{
	FC_ASSERT(counts->flags & FC_DRIFT_UNPACKED);
	if (!fc_all_finite(row->values, row->count))
		return FC_EVALUE;
	if (counts->sparse == 0)
		memcpy(zero_cells(counts), prepared->zero, prepared->dim);
	counts->sparse += weight;
	for (size_t e = 0; e < row->count; e++)
	{
		size_t		j = row->indices[e];
		float		x = from_origin(prepared, j, row->values[e]);

		add_number(counts, j * FC_DRIFT_CELLS + cell_of_element(prepared, j, x),
				   weight);
		prepared->sparse[j] = x;
		add_number(counts, j * FC_DRIFT_CELLS + prepared->zero[j], -(uint64_t) weight);
	}
	count_bits(prepared, prepared->sparse, weight, counts);
	for (size_t e = 0; e < row->count; e++)
		prepared->sparse[row->indices[e]] = from_origin(prepared, row->indices[e], 0.0);
	return FC_OK;
}

void
fc_drift_count_null(fc_drift_counts *counts, size_t j, uint32_t weight)
{
	FC_ASSERT(counts->flags & FC_DRIFT_NULLS);
	add_number(counts, fc_drift_values(counts) + j, weight);
}

/*
 * fc_operator_plan.c - arrange sparse factors in slices; see fc_operator_plan.h
 *
 * The rows of a factor may come in any order when the factor applied next is sliced as
 * well: its columns are renumbered to match.  Cost: the non-zeros, and their sorting by
 * length in linear time.
 */
#include "fc_operator_plan.h"

#include <string.h>

#define COLUMN_BITS 16

static inline bool
is_sliced(const fc_factor *factor)
{
	return factor->row_start != NULL && factor->columns <= (size_t) 1 << COLUMN_BITS;
}

static inline size_t
slices_of(const fc_factor *factor)
{
	return (factor->rows + FC_SLICE - 1) / FC_SLICE;
}

static inline size_t
length_of(const fc_factor *factor, size_t row)
{
	return factor->row_start[row + 1] - factor->row_start[row];
}

/* May the rows of factor f come in another order? */
static bool
may_sort(const fc_operator *op, size_t f)
{
	return f > 0 && is_sliced(&op->factor[f]) && is_sliced(&op->factor[f - 1]);
}

/* order[i] = the row at place i, longest first; count is columns + 1 of scratch. */
static void
sort_rows(const fc_factor *factor, uint32_t *count, uint32_t *order)
{
	uint32_t	place = 0;

	memset(count, 0, (factor->columns + 1) * sizeof(uint32_t));
	for (size_t r = 0; r < factor->rows; r++)
		count[length_of(factor, r)]++;
	for (size_t length = factor->columns + 1; length-- > 0;)
	{
		uint32_t	rows = count[length];

		count[length] = place;
		place += rows;
	}
	for (size_t r = 0; r < factor->rows; r++)
		order[count[length_of(factor, r)]++] = (uint32_t) r;
}

/* Entries of a slice: FC_SLICE times its longest row. */
static size_t
longest_of(const fc_factor *factor, const uint32_t *order, size_t slice)
{
	size_t		most = 0;

	for (size_t i = slice * FC_SLICE; i < factor->rows && i < (slice + 1) * FC_SLICE; i++)
		most = length_of(factor, order[i]) > most ? length_of(factor, order[i]) : most;
	return most;
}

/* Fill the entries of one slice; place renumbers the columns. */
static void
fill_slice(const fc_factor *factor, const uint32_t *order, const uint32_t *place, size_t slice,
		   size_t length, float *values, uint64_t *columns)
{
	for (size_t lane = 0; lane < FC_SLICE && slice * FC_SLICE + lane < factor->rows; lane++)
	{
		size_t		row = order[slice * FC_SLICE + lane];

		for (size_t t = 0; t < length && t < length_of(factor, row); t++)
		{
			size_t		entry = factor->row_start[row] + t;
			uint64_t	column = place[fc_factor_column(factor, entry)];

			values[t * FC_SLICE + lane] = factor->values[entry];
			columns[(t * FC_SLICE + lane) / 4] |= column << lane % 4 * COLUMN_BITS;
		}
	}
}

typedef struct orders
{
	uint32_t   *order;			/* of the factor at hand */
	uint32_t   *place;			/* of the factor applied before it: where its rows are now */
	uint32_t   *count;
} orders;

static void
identity(uint32_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t) i;
}

/* One factor; returns the place behind it. */
static char *
slice_factor(const fc_operator *op, size_t f, orders *o, fc_sliced *out, char *at)
{
	const fc_factor *factor = &op->factor[f];
	uint32_t   *start = (uint32_t *) at;
	size_t		entries = 0;
	float	   *values;
	uint64_t   *columns;

	if (may_sort(op, f))
		sort_rows(factor, o->count, o->order);
	else
		identity(o->order, factor->rows);
	for (size_t s = 0; s < slices_of(factor); s++)
	{
		start[s] = (uint32_t) entries;
		entries += longest_of(factor, o->order, s);
	}
	start[slices_of(factor)] = (uint32_t) entries;
	columns = (uint64_t *) (at + (slices_of(factor) + 2) / 2 * 8);
	values = (float *) (columns + entries * FC_SLICE / 4);
	memset(columns, 0, entries * FC_SLICE * (sizeof(uint16_t) + sizeof(float)));
	for (size_t s = 0; s < slices_of(factor); s++)
		fill_slice(factor, o->order, o->place, s, start[s + 1] - start[s],
				   values + start[s] * FC_SLICE, columns + start[s] * FC_SLICE / 4);
	*out = (fc_sliced) {factor->rows, start, values, columns};
	for (size_t i = 0; i < factor->rows; i++)
		o->place[o->order[i]] = (uint32_t) i;
	return (char *) (values + entries * FC_SLICE);
}

/* No slice is longer than its longest row: rows sorted or not, a bound by the row lengths in their order. */
static size_t
factor_bound(const fc_operator *op, size_t f)
{
	const fc_factor *factor = &op->factor[f];
	size_t		entries = 0;
	size_t		most = 0;

	for (size_t s = 0; s < slices_of(factor); s++)
	{
		size_t		longest = 0;

		for (size_t r = s * FC_SLICE; r < factor->rows && r < (s + 1) * FC_SLICE; r++)
			longest = length_of(factor, r) > longest ? length_of(factor, r) : longest;
		entries += longest;
		most = longest > most ? longest : most;
	}
	if (may_sort(op, f))
		entries = factor->nonzeros / FC_SLICE + most + 1 > entries ? factor->nonzeros / FC_SLICE + most + 1 : entries;
	return (slices_of(factor) + 2) / 2 * 8 + entries * FC_SLICE * (sizeof(uint16_t) + sizeof(float));
}

/* uint32 places of the orders, each. */
static size_t
order_length(const fc_operator *op)
{
	size_t		most = op->k;

	for (size_t f = 0; f < op->factors; f++)
		most = op->factor[f].columns > most ? op->factor[f].columns : most;
	return (most + 2) / 2 * 2;
}

size_t
fc_operator_plan_size(const fc_operator *op)
{
	size_t		size = sizeof(struct fc_operator_plan) + 3 * order_length(op) * sizeof(uint32_t);
	bool		any = false;

	for (size_t f = 0; f < op->factors; f++)
		if (is_sliced(&op->factor[f]))
		{
			size += factor_bound(op, f);
			any = true;
		}
	return any ? size : 0;
}

void
fc_operator_plan_build(fc_operator *op, void *memory)
{
	fc_operator_plan *plan = memory;
	size_t		length = order_length(op);
	uint32_t   *words = (uint32_t *) (plan + 1);
	orders		o = {words, words + length, words + 2 * length};
	char	   *at = (char *) (words + 3 * length);

	identity(o.place, op->d);
	for (size_t f = op->factors; f-- > 0;)
	{
		plan->factor[f] = (fc_sliced) {0};
		if (is_sliced(&op->factor[f]))
			at = slice_factor(op, f, &o, &plan->factor[f], at);
		else
			identity(o.place, op->factor[f].rows);
	}
	op->plan = plan;
}

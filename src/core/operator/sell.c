/*
 * sell.c - arrange sparse factors in slices; see internal.h
 *
 * Lanes of a slice should be of one length.  So rows far longer than the mean are cut: their first piece
 * stands for the row, the others follow all rows as lanes of their own and are added at the end.  And
 * rows come longest first.  The factor applied next has its columns renumbered to that; behind the
 * first factor, or before one that is not sliced, results are put in order.
 * Cost: the non-zeros, and sorting by length in linear time.
 */
#include "operator/internal.h"

#include <string.h>

#define COLUMN_BITS 16
#define LEAST_PIECE	16			/* entries */
#define MEANS_A_PIECE 2			/* at least: then fewer than half as many pieces are added as there are rows */

static inline bool
is_sliced(const fc_factor *factor)
{
	return factor->row_start != NULL && factor->columns <= (size_t) 1 << COLUMN_BITS;
}

static inline size_t
slices_of(size_t lanes)
{
	return (lanes + FC_SLICE - 1) / FC_SLICE;
}

static inline size_t
length_of(const fc_factor *factor, size_t row)
{
	return factor->row_start[row + 1] - factor->row_start[row];
}

/* Entries of the longest piece of a row. */
static inline size_t
piece_of(const fc_factor *factor)
{
	size_t		piece = (MEANS_A_PIECE * factor->nonzeros + factor->rows - 1) / factor->rows;

	return piece > LEAST_PIECE ? piece : LEAST_PIECE;
}

static inline size_t
first_piece(const fc_factor *factor, size_t row)
{
	size_t		length = length_of(factor, row);
	size_t		piece = piece_of(factor);

	return length < piece ? length : piece;
}

/* Pieces behind the first ones. */
static size_t
added_pieces(const fc_factor *factor)
{
	size_t		piece = piece_of(factor);
	size_t		pieces = 0;

	for (size_t r = 0; r < factor->rows; r++)
		pieces += length_of(factor, r) > piece ? (length_of(factor, r) - 1) / piece : 0;
	return pieces;
}

/* Does the factor applied after f take its input in any order? */
static bool
renumbers(const fc_operator *op, size_t f)
{
	return f > 0 && is_sliced(&op->factor[f - 1]);
}

/* Steps of all slices whose lanes are the rows as they come. */
static size_t
unsorted_steps(const fc_factor *factor)
{
	size_t		steps = 0;

	for (size_t first = 0; first < factor->rows; first += FC_SLICE)
	{
		size_t		most = 0;

		for (size_t r = first; r < factor->rows && r < first + FC_SLICE; r++)
			most = first_piece(factor, r) > most ? first_piece(factor, r) : most;
		steps += most;
	}
	return steps;
}

/* At most so many when they come longest first. */
static size_t
sorted_steps(const fc_factor *factor)
{
	size_t		entries = 0;

	for (size_t r = 0; r < factor->rows; r++)
		entries += first_piece(factor, r);
	return entries / FC_SLICE + piece_of(factor) + 1;
}

/* Sorting is free where the next factor renumbers; else it must save more than putting results in order costs. */
static bool
is_sorted(const fc_operator *op, size_t f)
{
	return renumbers(op, f) || 4 * sorted_steps(&op->factor[f]) < 3 * unsorted_steps(&op->factor[f]);
}

/* A row, or a piece of one. */
typedef struct lane
{
	uint32_t	row;
	uint32_t	first;			/* entry */
	uint32_t	length;
} lane;

typedef struct arrangement
{
	lane	   *lanes;			/* of the factor at hand */
	uint32_t   *place;			/* of the factor applied before it: where its rows are now */
	uint32_t   *count;
} arrangement;

/* lanes[i] = the row at place i, longest first. */
static void
sort_rows(const fc_factor *factor, uint32_t *count, lane *lanes)
{
	uint32_t	place = 0;

	memset(count, 0, (piece_of(factor) + 1) * sizeof(uint32_t));
	for (size_t r = 0; r < factor->rows; r++)
		count[first_piece(factor, r)]++;
	for (size_t length = piece_of(factor) + 1; length-- > 0;)
	{
		uint32_t	rows = count[length];

		count[length] = place;
		place += rows;
	}
	for (size_t r = 0; r < factor->rows; r++)
		lanes[count[first_piece(factor, r)]++].row = (uint32_t) r;
}

/* All lanes of a factor; returns how many. */
static size_t
arrange(const fc_operator *op, size_t f, arrangement *a)
{
	const fc_factor *factor = &op->factor[f];
	size_t		piece = piece_of(factor);
	size_t		lanes = factor->rows;

	for (size_t r = 0; r < factor->rows; r++)
		a->lanes[r].row = (uint32_t) r;
	if (is_sorted(op, f))
		sort_rows(factor, a->count, a->lanes);
	for (size_t i = 0; i < factor->rows; i++)
	{
		size_t		row = a->lanes[i].row;

		a->lanes[i].first = factor->row_start[row];
		a->lanes[i].length = (uint32_t) first_piece(factor, row);
		for (size_t from = piece; from < length_of(factor, row); from += piece)
		{
			size_t		left = length_of(factor, row) - from;

			a->lanes[lanes++] = (lane) {(uint32_t) i, factor->row_start[row] + (uint32_t) from, (uint32_t) (left < piece ? left : piece)};
		}
	}
	return lanes;
}

/* Steps of a slice: its longest lane. */
static size_t
steps_of(const lane *lanes, size_t count, size_t slice)
{
	size_t		most = 0;

	for (size_t i = slice * FC_SLICE; i < count && i < (slice + 1) * FC_SLICE; i++)
		most = lanes[i].length > most ? lanes[i].length : most;
	return most;
}

/* Fill the entries of one slice; place renumbers the columns. */
static void
fill_slice(const fc_factor *factor, const arrangement *a, size_t count, size_t slice, float *values, uint64_t *columns)
{
	for (size_t at = 0; at < FC_SLICE && slice * FC_SLICE + at < count; at++)
	{
		const lane *source = &a->lanes[slice * FC_SLICE + at];

		for (size_t t = 0; t < source->length; t++)
		{
			uint64_t	column = a->place[fc_factor_column(factor, source->first + t)];

			values[t * FC_SLICE + at] = factor->values[source->first + t];
			columns[(t * FC_SLICE + at) / 4] |= column << at % 4 * COLUMN_BITS;
		}
	}
}

static void
identity(uint32_t *place, size_t n)
{
	for (size_t i = 0; i < n; i++)
		place[i] = (uint32_t) i;
}

static inline char *
round8(char *at)
{
	return (char *) (((uintptr_t) at + 7) & ~(uintptr_t) 7);
}

/* Where results go: pieces to their rows, and rows in order unless the next factor renumbers. */
static char *
put_targets(const fc_operator *op, size_t f, arrangement *a, size_t lanes, fc_sell *out, char *at)
{
	size_t		rows = op->factor[f].rows;
	uint32_t   *target = (uint32_t *) at;

	out->added = lanes - rows;
	out->target = target;
	for (size_t i = rows; i < lanes; i++)
		*target++ = a->lanes[i].row;
	out->order = NULL;
	if (renumbers(op, f))
	{
		for (size_t i = 0; i < rows; i++)
			a->place[a->lanes[i].row] = (uint32_t) i;
		return (char *) target;
	}
	if (out->added > 0 || is_sorted(op, f))
	{
		out->order = target;
		for (size_t i = 0; i < rows; i++)
			*target++ = a->lanes[i].row;
	}
	identity(a->place, rows);
	return (char *) target;
}

/* One factor; returns the place behind it. */
static char *
slice_factor(const fc_operator *op, size_t f, arrangement *a, fc_sell *out, char *at)
{
	const fc_factor *factor = &op->factor[f];
	size_t		lanes = arrange(op, f, a);
	size_t		slices = slices_of(lanes);
	uint32_t   *start = (uint32_t *) at;
	size_t		steps = 0;
	float	   *values;
	uint64_t   *columns;

	for (size_t s = 0; s < slices; s++)
	{
		start[s] = (uint32_t) steps;
		steps += steps_of(a->lanes, lanes, s);
	}
	start[slices] = (uint32_t) steps;
	columns = (uint64_t *) round8((char *) (start + slices + 1));
	values = (float *) (columns + steps * FC_SLICE / 4);
	memset(columns, 0, steps * FC_SLICE * (sizeof(uint16_t) + sizeof(float)));
	for (size_t s = 0; s < slices; s++)
	{
		fc_check();
		fill_slice(factor, a, lanes, s, values + (size_t) start[s] * FC_SLICE, columns + (size_t) start[s] * FC_SLICE / 4);
	}
	*out = (fc_sell) {.rows = factor->rows,.start = start,.values = values,.columns = columns};
	return round8(put_targets(op, f, a, lanes, out, (char *) (values + steps * FC_SLICE)));
}

static size_t
factor_bound(const fc_operator *op, size_t f)
{
	const fc_factor *factor = &op->factor[f];
	size_t		added = added_pieces(factor);
	size_t		steps = is_sorted(op, f) ? sorted_steps(factor) : unsorted_steps(factor);
	size_t		bound = steps + (added / FC_SLICE + 2) * piece_of(factor);

	return (slices_of(factor->rows + added) + 1 + added + factor->rows) * sizeof(uint32_t) +
		bound * FC_SLICE * (sizeof(uint16_t) + sizeof(float)) + 2 * 8;
}

/* The most rows or columns of any factor; and the most lanes, or the length of a piece, in *lanes. */
static size_t
order_length(const fc_operator *op, size_t *lanes)
{
	size_t		most = op->k > op->d ? op->k : op->d;

	*lanes = 0;
	for (size_t f = 0; f < op->factors; f++)
	{
		const fc_factor *factor = &op->factor[f];
		size_t		needed = 0;

		most = factor->columns > most ? factor->columns : most;
		if (is_sliced(factor))
			needed = factor->rows + added_pieces(factor) + piece_of(factor);
		*lanes = needed > *lanes ? needed : *lanes;
	}
	return (most + 1) / 2 * 2;
}

size_t
fc_operator_sell_size(const fc_operator *op)
{
	size_t		lanes;
	size_t		length = order_length(op, &lanes);
	size_t		size = sizeof(struct fc_operator_sell) + length * sizeof(uint32_t) + lanes * (sizeof(lane) + sizeof(uint32_t)) + 8 * 4;
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
fc_operator_sell_build(fc_operator *op, void *memory)
{
	fc_operator_sell *sell = memory;
	size_t		lanes;
	size_t		length = order_length(op, &lanes);
	arrangement a = {.place = (uint32_t *) (sell + 1)};
	char	   *at;

	a.count = a.place + length;
	a.lanes = (lane *) (a.count + lanes + 1);
	at = round8((char *) (a.lanes + lanes));
	identity(a.place, op->d);
	for (size_t f = op->factors; f-- > 0;)
	{
		sell->factor[f] = (fc_sell) {0};
		if (is_sliced(&op->factor[f]))
			at = slice_factor(op, f, &a, &sell->factor[f], at);
		else
			identity(a.place, op->factor[f].rows);
	}
	op->sell = sell;
}

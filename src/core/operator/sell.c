/*
 * sell.c - arranges sparse factors in slices; see internal.h
 *
 * Lanes of a slice should have equal lengths. So rows far longer than the mean
 * are cut: the first piece takes the place of the row. The other pieces follow
 * all rows as additional lanes, and their sums are added to the row at the
 * end. Rows are sorted, longest first, and the columns of the factor applied
 * next are renumbered accordingly. The result of a factor is put back in the
 * original order if the factor is the first one, or if the factor applied next
 * is not sliced. Cost: linear in the number of non-zeros and rows.
 */
#include "operator/internal.h"

/* Number of bits of a column index in a packed entry. */
#define COLUMN_BITS	16

/*
 * Minimum number of entries in a full piece of a long row. Shorter pieces
 * balance the lanes, but add lanes. A guess.
 */
#define MIN_PIECE	16

/*
 * Minimum number of entries in a full piece, as a multiple of the mean number
 * of entries per row. With 2, splitting long rows adds fewer pieces than half
 * the number of rows. A guess.
 */
#define MEANS_A_PIECE	2

static inline bool
is_sliced(const fc_factor *factor)
{
	return factor->row_start != NULL && factor->columns <= (size_t) 1
		<< COLUMN_BITS;
}

static inline size_t
length_of(const fc_factor *factor, size_t row)
{
	return factor->row_start[row + 1] - factor->row_start[row];
}

/* Returns the maximum number of entries of a piece. */
static inline size_t
piece_of(const fc_factor *factor)
{
	size_t		piece = ((MEANS_A_PIECE * factor->nonzeros + factor->rows - 1) /
						 factor->rows);

	return piece > MIN_PIECE ? piece : MIN_PIECE;
}

static inline size_t
first_piece(const fc_factor *factor, size_t row)
{
	size_t		length = length_of(factor, row);
	size_t		piece = piece_of(factor);

	return length < piece ? length : piece;
}

/* Returns the number of pieces besides the first piece of each row. */
static size_t
added_pieces(const fc_factor *factor)
{
	size_t		piece = piece_of(factor);
	size_t		pieces = 0;

	for (size_t r = 0; r < factor->rows; r++)
		pieces += length_of(factor, r) > piece
			? (length_of(factor, r) - 1) / piece
			: 0;
	return pieces;
}

/*
 * Returns true if the factor applied after factor f, factor f - 1, is sliced.
 * Its columns can then be renumbered, so that its input can have any order.
 */
static bool
renumbers(const fc_operator *op, size_t f)
{
	return f > 0 && is_sliced(&op->factor[f - 1]);
}

/* A row of a factor, or a piece of a long row. */
typedef struct lane
{
	uint32_t	row;			/* index of the row; for a further piece of a
								 * long row, index of the lane with the first
								 * piece */
	uint32_t	first;			/* index of the lane's first entry in the
								 * factor */
	uint32_t	length;
} lane;

typedef struct arrangement
{
	lane	   *lanes;			/* lanes of the current factor */
	size_t		count;
	uint32_t   *place;			/* new position of each row of the factor
								 * applied before */
	fc_arena   *arena;
} arrangement;

/*
 * Sets the field `row` of the lanes to the rows of the factor, longest first.
 */
static void
sort_rows(const fc_factor *factor, fc_arena *arena, lane *lanes)
{
	fc_mark		mark = fc_arena_mark(arena);
	uint32_t   *count = FC_TAKE_ZEROED(arena, piece_of(factor) + 1, uint32_t);
	uint32_t	place = 0;

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
	fc_arena_release(arena, mark);
}

/*
 * Sets a->lanes and a->count: a lane for each row of the factor, longest
 * first, and then a lane for each further piece.
 */
static void
arrange(const fc_factor *factor, arrangement *a)
{
	size_t		piece = piece_of(factor);

	a->lanes = FC_TAKE(a->arena, factor->rows + added_pieces(factor), lane);
	a->count = factor->rows;
	sort_rows(factor, a->arena, a->lanes);
	for (size_t i = 0; i < factor->rows; i++)
	{
		size_t		row = a->lanes[i].row;

		a->lanes[i].first = factor->row_start[row];
		a->lanes[i].length = (uint32_t) first_piece(factor, row);
		for (size_t from = piece; from < length_of(factor, row); from += piece)
			a->lanes[a->count++] = (lane)
		{
			(uint32_t) i,
				factor->row_start[row] +
				(uint32_t) from,
				(uint32_t) smaller(length_of(factor,
											 row) -
								   from,
								   piece)
		};
	}
}

/* Fills the entries of one slice; a->place renumbers the columns. */
static void
fill_slice(const fc_factor *factor, const arrangement *a, size_t slice,
		   float *values, uint64_t *columns)
{
	for (size_t at = 0; at < FC_SLICE && slice * FC_SLICE + at < a->count; at++)
	{
		const lane *source = &a->lanes[slice * FC_SLICE + at];

		for (size_t t = 0; t < source->length; t++)
		{
			uint64_t	column = (a->place[fc_factor_column(factor,
															source->first + t)]);

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

/*
 * Sets out->target, the lanes to which further pieces are added, and
 * out->order, the rows of the lanes. out->order is NULL if the lanes are in
 * the order of the rows, or if the factor applied next renumbers its columns.
 * Sets a->place for the factor applied next.
 */
static void
set_targets(const fc_operator *op, size_t f, const arrangement *a, fc_sell *out)
{
	size_t		rows = op->factor[f].rows;

	/* destination of each lane: rows, then added pieces */
	uint32_t   *target = FC_TAKE(a->arena, a->count, uint32_t);
	bool		in_order = a->count == rows;

	for (size_t i = 0; i < a->count; i++)
	{
		target[i] = a->lanes[i].row;
		in_order = in_order && target[i] == i;
	}
	out->added = a->count - rows;
	out->target = target + rows;
	out->order = in_order || renumbers(op, f) ? NULL : target;
	for (size_t i = 0; i < rows; i++)
		a->place[renumbers(op, f) ? target[i] : i] = (uint32_t) i;
}

static void
slice_factor(const fc_operator *op, size_t f, arrangement *a, fc_sell *out)
{
	const fc_factor *factor = &op->factor[f];
	size_t		steps = 0;
	size_t		slices;
	uint32_t   *start;
	float	   *values;
	uint64_t   *columns;

	arrange(factor, a);
	slices = (a->count + FC_SLICE - 1) / FC_SLICE;
	start = FC_TAKE(a->arena, slices + 1, uint32_t);
	for (size_t s = 0; s < slices; s++)
	{
		size_t		longest = 0;	/* length of the longest lane */

		start[s] = (uint32_t) steps;
		for (size_t i = s * FC_SLICE; i < a->count && i < (s + 1) * FC_SLICE;
			 i++)
			longest = larger(longest, a->lanes[i].length);
		steps += longest;
	}
	start[slices] = (uint32_t) steps;
	columns = FC_TAKE_ZEROED(a->arena, steps * FC_SLICE / 4, uint64_t);
	values = FC_TAKE_ZEROED(a->arena, steps * FC_SLICE, float);
	for (size_t s = 0; s < slices; s++)
	{
		fc_check();
		fill_slice(factor, a, s, values + (size_t) start[s] * FC_SLICE,
				   columns + (size_t) start[s] * FC_SLICE / 4);
	}
	*out = (fc_sell)
	{
		.rows = factor->rows,
			.start = start,
			.values = values,
			.columns = columns
	};
	set_targets(op, f, a, out);
}

void
fc_operator_slice(fc_operator *op, fc_arena *arena)
{
	arrangement a = {.arena = arena};
	fc_operator_sell *sell;
	bool		any = false;

	for (size_t f = 0; f < op->factors; f++)
		any = any || is_sliced(&op->factor[f]);
	if (!any)
		return;
	sell = FC_TAKE(arena, 1, fc_operator_sell);
	a.place = FC_TAKE(arena, larger(op->k, fc_operator_widest(op)), uint32_t);
	identity(a.place, op->d);
	for (size_t f = op->factors; f-- > 0;)
	{
		sell->factor[f] = (fc_sell)
		{
			0
		};
		if (is_sliced(&op->factor[f]))
			slice_factor(op, f, &a, &sell->factor[f]);
		else
			identity(a.place, op->factor[f].rows);
	}
	op->sell = sell;
}

/* largest.c - the largest entries of rows and columns; see largest.h */
#include "factor/largest.h"

#include <string.h>

#define ROWS	((size_t) 1 << 16)	/* gathered between two checks */

size_t
fc_largest_worksize(size_t rows, size_t columns, size_t per_line)
{
	return (rows + 2 * columns) * per_line * sizeof(fc_entry) + rows * sizeof(double) +
		(rows + 1) * sizeof(uint32_t) + 5 * 64;
}

void
fc_largest_take(fc_arena *arena, size_t rows, size_t columns, size_t per_line, fc_largest *lists)
{
	*lists = (fc_largest) {0};
	lists->in_row = FC_TAKE(arena, rows * per_line, fc_entry);
	lists->in_column = FC_TAKE(arena, columns * per_line, fc_entry);
	lists->bucket = FC_TAKE(arena, columns * per_line, fc_entry);
	lists->least = FC_TAKE(arena, rows, double);
	lists->start = FC_TAKE(arena, rows + 1, uint32_t);
}

void
fc_largest_start(fc_largest *lists, size_t rows, size_t columns, size_t per_row, size_t per_column)
{
	lists->per_row = per_row;
	lists->per_column = per_column;
	memset(lists->in_row, 0, rows * per_row * sizeof(fc_entry));
	memset(lists->in_column, 0, columns * per_column * sizeof(fc_entry));
	memset(lists->least, 0, rows * sizeof(double));
}

/* The entries of the columns' lists by row; columns rise within a row. */
static void
turn_columns(const fc_largest *lists, size_t rows, size_t columns)
{
	uint32_t   *start = lists->start;

	memset(start, 0, (rows + 1) * sizeof(uint32_t));
	for (size_t p = 0; p < columns * lists->per_column; p++)
		start[lists->in_column[p].place + 1] += lists->in_column[p].value != 0.0;
	for (size_t r = 0; r < rows; r++)
		start[r + 1] += start[r];
	for (size_t p = 0; p < columns * lists->per_column; p++)
		if (lists->in_column[p].value != 0.0)
			lists->bucket[start[lists->in_column[p].place]++] =
				(fc_entry) {lists->in_column[p].value, (uint32_t) (p / lists->per_column)};
	memmove(start + 1, start, rows * sizeof(uint32_t));
	start[0] = 0;
}

/* A row's own list in the order of its columns; how many there are. */
static size_t
sort_row(const fc_entry *list, size_t room, fc_entry *sorted)
{
	size_t		count = 0;

	for (; count < room && list[count].value != 0.0; count++)
	{
		size_t		at = count;

		for (; at > 0 && sorted[at - 1].place > list[count].place; at--)
			sorted[at] = sorted[at - 1];
		sorted[at] = list[count];
	}
	return count;
}

void
fc_largest_gather(const fc_largest *lists, fc_sparse *a)
{
	size_t		count = 0;

	fc_check();
	turn_columns(lists, a->rows, a->columns);
	for (size_t r = 0; r < a->rows; r++)
	{
		fc_entry	own[FC_SHORT_LIST];
		size_t		owns = sort_row(lists->in_row + r * lists->per_row, lists->per_row, own);
		size_t		i = 0;
		size_t		p = lists->start[r];

		if (r % ROWS == 0)
			fc_check();
		a->row_start[r] = (uint32_t) count;
		while (i < owns || p < lists->start[r + 1])
		{
			bool		mine = p == lists->start[r + 1] || (i < owns && own[i].place <= lists->bucket[p].place);
			const fc_entry *next = mine ? &own[i] : &lists->bucket[p];

			p += !mine || (p < lists->start[r + 1] && lists->bucket[p].place == next->place);
			i += mine;
			a->column[count] = next->place;
			a->value[count++] = next->value;
		}
	}
	a->row_start[a->rows] = (uint32_t) count;
	a->nonzeros = count;
}

/*
 * constraint.c - projection onto sets of sparse matrices; see palm.h.
 *
 * The entries of a row or column are sorted by a stable sort, which decides
 * ties. Short lists are sorted by insertion.
 */
#include "factor/palm.h"

#include "base/sort.h"

size_t
fc_constraint_capacity(const fc_constraint *constraint, size_t rows,
					   size_t columns)
{
	return smaller(rows * smaller(constraint->per_row, columns) +
				   columns * smaller(constraint->per_column, rows),
				   rows * columns);
}

/* ---- marks ---- */

/*
 * Sets mark to 1 for the `count` largest magnitudes of a row or column of n
 * values, except zeros. Both values and marks are `stride` apart. items:
 * scratch space for 2 n entries.
 */
static void
mark_line(const double *line, size_t n, size_t stride, size_t count,
		  fc_keyed *items, unsigned char *mark)
{
	for (size_t i = 0; i < n; i++)
		items[i] = (fc_keyed)
	{
		~fc_number_key(fabs(line[i * stride])), i
	};
	fc_sort(items, n, items + n);
	for (size_t i = 0;
		 i < smaller(count, n) && line[items[i].value * stride] != 0.0; i++)
		mark[items[i].value * stride] = 1;
}

/* ---- the marked entries as compressed rows ---- */

static void
gather_marked(const double *dense, const unsigned char *mark, fc_sparse *a)
{
	size_t		count = 0;

	for (size_t r = 0; r < a->rows; r++)
	{
		const unsigned char *row = mark + r * a->columns;

		fc_check();
		a->row_start[r] = (uint32_t) count;
		for (size_t c = 0; c < a->columns; c++)
			if (row[c])
			{
				a->column[count] = (uint32_t) c;
				a->value[count++] = dense[r * a->columns + c];
			}
	}
	a->row_start[a->rows] = (uint32_t) count;
	a->nonzeros = count;
}

void
fc_constraint_project(const fc_constraint *constraint, const double *dense,
					  fc_arena *arena, fc_sparse *a)
{
	fc_mark		used = fc_arena_mark(arena);
	unsigned char *mark = FC_TAKE_ZEROED(arena, a->rows * a->columns,
										 unsigned char);
	fc_keyed   *items = FC_TAKE(arena, 2 * larger(a->rows, a->columns), fc_keyed);

	for (size_t r = 0; r < a->rows; r++)
	{
		fc_check();
		mark_line(dense + r * a->columns, a->columns, 1, constraint->per_row,
				  items, mark + r * a->columns);
	}
	for (size_t c = 0; c < a->columns; c++)
	{
		fc_check();
		mark_line(dense + c, a->rows, a->columns, constraint->per_column, items,
				  mark + c);
	}
	gather_marked(dense, mark, a);
	fc_arena_release(arena, used);
}

void
fc_largest_of_all(const double *dense, size_t total, fc_arena *arena,
				  fc_sparse *a)
{
	fc_mark		used = fc_arena_mark(arena);
	size_t		cells = a->rows * a->columns;
	unsigned char *mark = FC_TAKE_ZEROED(arena, cells, unsigned char);

	mark_line(dense, cells, 1, total, FC_TAKE(arena, 2 * cells, fc_keyed),
			  mark);
	gather_marked(dense, mark, a);
	fc_arena_release(arena, used);
}

/* ---- lists of the largest ---- */

void
fc_largest_take(fc_arena *arena, size_t rows, size_t columns, fc_largest *lists)
{
	*lists = (fc_largest)
	{
		0
	};
	lists->in_row = FC_TAKE(arena, rows * FC_SHORT_LIST, fc_entry);
	lists->in_column = FC_TAKE(arena, columns * FC_SHORT_LIST, fc_entry);
	lists->bucket = FC_TAKE(arena, columns * FC_SHORT_LIST, fc_entry);
	lists->min = FC_TAKE(arena, rows, double);
	lists->start = FC_TAKE(arena, rows + 1, uint32_t);
}

void
fc_largest_start(fc_largest *lists, size_t rows, size_t columns, size_t per_row,
				 size_t per_column)
{
	lists->per_row = per_row;
	lists->per_column = per_column;
	memset(lists->in_row, 0, rows * per_row * sizeof(fc_entry));
	memset(lists->in_column, 0, columns * per_column * sizeof(fc_entry));
	memset(lists->min, 0, rows * sizeof(double));
}

/*
 * Copies the entries of all columns' lists to lists->bucket, sorted by row
 * and, within a row, by column.
 */
static void
transpose_columns(const fc_largest *lists, size_t rows, size_t columns)
{
	uint32_t   *start = lists->start;

	memset(start, 0, (rows + 1) * sizeof(uint32_t));
	for (size_t p = 0; p < columns * lists->per_column; p++)
		start[lists->in_column[p].place + 1] += lists->in_column[p].value !=
			0.0;
	for (size_t r = 0; r < rows; r++)
		start[r + 1] += start[r];
	for (size_t p = 0; p < columns * lists->per_column; p++)
	{
		const fc_entry *listed = &lists->in_column[p];
		fc_entry   *entry;

		if (listed->value == 0.0)
			continue;
		entry = &lists->bucket[start[listed->place]++];
		entry->value = listed->value;
		entry->place = (uint32_t) (p / lists->per_column);
	}
	memmove(start + 1, start, rows * sizeof(uint32_t));
	start[0] = 0;
}

/*
 * Copies a row's own list to `sorted`, sorted by column. Returns the number of
 * its entries.
 */
static size_t
sort_row(const fc_entry *list, size_t capacity, fc_entry *sorted)
{
	size_t		count = 0;

	for (; count < capacity && list[count].value != 0.0; count++)
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
	transpose_columns(lists, a->rows, a->columns);
	for (size_t r = 0; r < a->rows; r++)
	{
		fc_entry	own[FC_SHORT_LIST];
		size_t		owns = sort_row(lists->in_row + r * lists->per_row,
									lists->per_row, own);
		size_t		i = 0;
		size_t		p = lists->start[r];

		fc_check();
		a->row_start[r] = (uint32_t) count;
		while (i < owns || p < lists->start[r + 1])
		{
			bool		mine = (p == lists->start[r + 1] ||
								(i < owns && own[i].place <= lists->bucket[p].place));
			const fc_entry *next = mine ? &own[i] : &lists->bucket[p];

			p += !mine || (p < lists->start[r + 1] &&
						   lists->bucket[p].place == next->place);
			i += mine;
			a->column[count] = next->place;
			a->value[count++] = next->value;
		}
	}
	a->row_start[a->rows] = (uint32_t) count;
	a->nonzeros = count;
}

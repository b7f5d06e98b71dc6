/*
 * constraint.c - projection on sets of sparse matrices; see the header.
 *
 * The threshold of a line is selected (Hoare), ties are taken from the front.
 */
#include "factor/constraint.h"

#include <math.h>
#include <string.h>

#include "base/pieces.h"

#define CHECKED_LINES	128
#define CHECKED_CELLS	100000

size_t
fc_constraint_capacity(const fc_constraint *constraint, size_t rows, size_t columns, size_t nonzeros)
{
	size_t		cells = rows * columns;
	size_t		wanted = nonzeros;

	if (constraint->kind == FC_TOTAL)
		wanted = constraint->total;
	if (constraint->kind == FC_LINES)
		wanted = rows * (constraint->per_row < columns ? constraint->per_row : columns) +
			columns * (constraint->per_column < rows ? constraint->per_column : rows);
	return wanted < cells ? wanted : cells;
}

size_t
fc_constraint_worksize(size_t rows, size_t columns)
{
	size_t		cells = rows * columns;

	return cells + cells * sizeof(double) + 2 * 64;
}

/* ---- marks ---- */

/* The count-th largest of n values (count >= 1), which are put in another order. */
static double
select_largest(double *v, size_t n, size_t count)
{
	size_t		low = 0;
	size_t		high = n - 1;
	size_t		target = count - 1;

	while (low < high)
	{
		double		pivot = v[low + (high - low) / 2];
		size_t		i = low;
		size_t		j = high;

		if (high - low > CHECKED_CELLS)
			fc_check();
		for (;;)
		{
			while (v[i] > pivot)
				i++;
			while (v[j] < pivot)
				j--;
			if (i >= j)
				break;
			double		swap = v[i];

			v[i++] = v[j];
			v[j--] = swap;
		}
		if (target <= j)
			high = j;
		else
			low = j + 1;
	}
	return v[target];
}

/* Mark the count largest of n values, stride apart. */
static void
mark_line(const double *line, size_t n, size_t stride, size_t count,
		  double *copy, unsigned char *mark)
{
	double		threshold = 0.0;
	size_t		ties = 0;

	if (count < n)
	{
		for (size_t i = 0; i < n; i++)
		{
			if (i % CHECKED_CELLS == CHECKED_CELLS - 1)
				fc_check();
			copy[i] = fabs(line[i * stride]);
		}
		threshold = select_largest(copy, n, count);
		ties = count;
		for (size_t i = 0; i < n; i++)
		{
			if (i % CHECKED_CELLS == CHECKED_CELLS - 1)
				fc_check();
			ties -= fabs(line[i * stride]) > threshold;
		}
	}
	for (size_t i = 0; i < n; i++)
	{
		double		size = fabs(line[i * stride]);

		if (i % CHECKED_CELLS == CHECKED_CELLS - 1)
			fc_check();
		if (size > threshold || (size > 0.0 && size == threshold && ties > 0))
		{
			mark[i * stride] = 1;
			ties -= size == threshold && ties > 0;
		}
	}
}

static void
mark_entries(const fc_constraint *constraint, const double *dense, size_t rows, size_t columns,
			 fc_arena *arena, unsigned char *mark)
{
	size_t		cells = rows * columns;
	double	   *copy;

	copy = FC_TAKE(arena, cells, double);
	if (constraint->kind == FC_TOTAL)
	{
		mark_line(dense, cells, 1, constraint->total, copy, mark);
		return;
	}
	for (size_t r = 0; r < rows; r++)
	{
		if (r % CHECKED_LINES == 0)
			fc_check();
		mark_line(dense + r * columns, columns, 1, constraint->per_row, copy, mark + r * columns);
	}
	for (size_t c = 0; c < columns; c++)
	{
		if (c % CHECKED_LINES == 0)
			fc_check();
		mark_line(dense + c, rows, columns, constraint->per_column, copy, mark + c);
	}
}

/* ---- the marked entries as compressed rows ---- */

static void
gather_marked(const double *dense, const unsigned char *mark, fc_sparse *a)
{
	size_t		count = 0;
	size_t		done = 0;

	for (size_t r = 0; r < a->rows; r++)
	{
		const unsigned char *row = mark + r * a->columns;

		fc_check_every(&done, a->columns);
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

static double
normalise(fc_sparse *a)
{
	double		norm = fc_sparse_norm(a);

	if (norm > 0.0)
		fc_sparse_scale(a, 1.0 / norm);
	return norm;
}

double
fc_support_project(const double *dense, fc_sparse *a)
{
	for (size_t r = 0; r < a->rows; r++)
		for (size_t p = a->row_start[r]; p < a->row_start[r + 1]; p++)
			a->value[p] = dense[r * a->columns + a->column[p]];
	return normalise(a);
}

void
fc_constraint_project(const fc_constraint *constraint, const double *dense,
					  fc_arena *arena, fc_sparse *a, double *norm)
{
	fc_mark		used = fc_arena_mark(arena);
	unsigned char *mark;

	if (constraint->kind == FC_SUPPORT)
	{
		*norm = fc_support_project(dense, a);
		return;
	}
	mark = FC_TAKE(arena, a->rows * a->columns, unsigned char);
	fc_clear_pieces(mark, a->rows * a->columns);
	mark_entries(constraint, dense, a->rows, a->columns, arena, mark);
	gather_marked(dense, mark, a);
	*norm = normalise(a);
	fc_arena_release(arena, used);
}

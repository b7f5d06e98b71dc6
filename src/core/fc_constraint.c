/*
 * fc_constraint.c - projection on sets of sparse matrices; see the header.
 *
 * Few entries per line are found in one pass that keeps each row's and each column's list of
 * the largest so far; many by selecting the threshold (Hoare) and taking ties from the front.
 */
#include "fc_constraint.h"

#include <math.h>
#include <string.h>

#define FEW			16			/* entries of a list kept by insertion */
#define TICK_LINES	128
#define TICK_CELLS	100000

typedef struct entry
{
	double		size;
	uint32_t	place;
} entry;

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

	return cells + cells * sizeof(double) + (rows + columns) * FEW * sizeof(entry) + columns * sizeof(double) + 5 * 64;
}

/* ---- few entries a line ---- */

/* Put an entry in a list of `room` in falling order; later ones of equal size come behind. */
static double
keep(entry *list, size_t room, double size, size_t place)
{
	size_t		at = room - 1;

	for (; at > 0 && list[at - 1].size < size; at--)
		list[at] = list[at - 1];
	list[at].size = size;
	list[at].place = (uint32_t) place;
	return list[room - 1].size;
}

/* The largest of row r, and its entries offered to the columns. */
static void
scan_row(const double *row, size_t r, size_t columns, size_t per_row, entry *in_row,
		 size_t per_column, entry *in_column, double *threshold)
{
	double		least = 0.0;

	memset(in_row, 0, per_row * sizeof(entry));
	for (size_t c = 0; c < columns; c++)
	{
		double		size = fabs(row[c]);

		if (size > least)
			least = keep(in_row, per_row, size, c);
		if (size > threshold[c])
			threshold[c] = keep(in_column + c * per_column, per_column, size, r);
	}
}

static fc_status
mark_few(const fc_constraint *constraint, const double *dense, size_t rows, size_t columns,
		 const fc_tick *tick, fc_arena *arena, unsigned char *mark)
{
	size_t		per_row = constraint->per_row;
	size_t		per_column = constraint->per_column;
	entry	   *in_row = FC_TAKE(arena, per_row, entry);
	entry	   *in_column = FC_TAKE(arena, columns * per_column, entry);
	double	   *threshold = FC_TAKE(arena, columns, double);

	if (in_row == NULL || in_column == NULL || threshold == NULL)
		return FC_ENOMEMORY;
	memset(in_column, 0, columns * per_column * sizeof(entry));
	memset(threshold, 0, columns * sizeof(double));
	for (size_t r = 0; r < rows; r++)
	{
		if (r % TICK_LINES == 0 && fc_ticked(tick))
			return FC_INTERRUPTED;
		scan_row(dense + r * columns, r, columns, per_row, in_row, per_column, in_column, threshold);
		for (size_t i = 0; i < per_row && in_row[i].size > 0.0; i++)
			mark[r * columns + in_row[i].place] = 1;
	}
	for (size_t c = 0; c < columns; c++)
		for (size_t i = 0; i < per_column && in_column[c * per_column + i].size > 0.0; i++)
			mark[(size_t) in_column[c * per_column + i].place * columns + c] = 1;
	return FC_OK;
}

/* ---- many ---- */

/* The count-th largest of n values (count >= 1), which are put in another order; NaN when ticked to stop. */
static double
select_largest(double *v, size_t n, size_t count, const fc_tick *tick)
{
	size_t		low = 0;
	size_t		high = n - 1;
	size_t		target = count - 1;

	while (low < high)
	{
		double		pivot = v[low + (high - low) / 2];
		size_t		i = low;
		size_t		j = high;

		if (high - low > TICK_CELLS && fc_ticked(tick))
			return NAN;
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
static fc_status
mark_line(const double *line, size_t n, size_t stride, size_t count, const fc_tick *tick,
		  double *copy, unsigned char *mark)
{
	double		threshold = 0.0;
	size_t		ties = 0;

	if (count < n)
	{
		for (size_t i = 0; i < n; i++)
			copy[i] = fabs(line[i * stride]);
		threshold = select_largest(copy, n, count, tick);
		if (isnan(threshold))
			return FC_INTERRUPTED;
		ties = count;
		for (size_t i = 0; i < n; i++)
			ties -= fabs(line[i * stride]) > threshold;
	}
	for (size_t i = 0; i < n; i++)
	{
		double		size = fabs(line[i * stride]);

		if (size > threshold || (size > 0.0 && size == threshold && ties > 0))
		{
			mark[i * stride] = 1;
			ties -= size == threshold && ties > 0;
		}
	}
	return FC_OK;
}

static fc_status
mark_entries(const fc_constraint *constraint, const double *dense, size_t rows, size_t columns,
			 const fc_tick *tick, fc_arena *arena, unsigned char *mark)
{
	size_t		cells = rows * columns;
	fc_status	status = FC_OK;
	double	   *copy;

	if (constraint->kind == FC_LINES && constraint->per_row <= FEW && constraint->per_column <= FEW)
		return mark_few(constraint, dense, rows, columns, tick, arena, mark);
	copy = FC_TAKE(arena, cells, double);
	if (copy == NULL)
		return FC_ENOMEMORY;
	if (constraint->kind == FC_TOTAL)
		return mark_line(dense, cells, 1, constraint->total, tick, copy, mark);
	for (size_t r = 0; r < rows && status == FC_OK; r++)
	{
		if (r % TICK_LINES == 0 && fc_ticked(tick))
			return FC_INTERRUPTED;
		status = mark_line(dense + r * columns, columns, 1, constraint->per_row, tick, copy, mark + r * columns);
	}
	for (size_t c = 0; c < columns && status == FC_OK; c++)
	{
		if (c % TICK_LINES == 0 && fc_ticked(tick))
			return FC_INTERRUPTED;
		status = mark_line(dense + c, rows, columns, constraint->per_column, tick, copy, mark + c);
	}
	return status;
}

/* ---- the marked entries as compressed rows ---- */

static void
gather_marked(const double *dense, const unsigned char *mark, fc_sparse *a)
{
	size_t		count = 0;

	for (size_t r = 0; r < a->rows; r++)
	{
		const unsigned char *row = mark + r * a->columns;

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

fc_status
fc_constraint_project(const fc_constraint *constraint, const double *dense, const fc_tick *tick,
					  fc_arena *arena, fc_sparse *a, double *norm)
{
	size_t		used = arena->used;
	unsigned char *mark;
	fc_status	status;

	if (constraint->kind == FC_SUPPORT)
	{
		*norm = fc_support_project(dense, a);
		return FC_OK;
	}
	mark = FC_TAKE(arena, a->rows * a->columns, unsigned char);
	if (mark == NULL)
		return FC_ENOMEMORY;
	memset(mark, 0, a->rows * a->columns);
	status = mark_entries(constraint, dense, a->rows, a->columns, tick, arena, mark);
	if (status == FC_OK)
	{
		gather_marked(dense, mark, a);
		*norm = normalise(a);
	}
	arena->used = used;
	return status;
}

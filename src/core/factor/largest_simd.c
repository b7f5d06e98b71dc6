/*
 * largest_simd.c - a tile's entries to the lists of the largest.  Few enter: a row of the tile
 * is compared with the least of its lists at once, and looked at one by one only if some does.
 */
#include "factor/largest.h"

#include <math.h>

#include "base/simd.h"

/* Put an entry in a list in falling order; later ones of equal size come behind.  Returns the size of the last. */
static inline double
keep(fc_entry *list, size_t room, double value, size_t place)
{
	size_t		at = room - 1;
	double		size = fabs(value);

	for (; at > 0 && fabs(list[at - 1].value) < size; at--)
		list[at] = list[at - 1];
	list[at] = (fc_entry) {value, (uint32_t) place};
	return fabs(list[room - 1].value);
}

FC_CLONES
void
fc_largest_offer(const fc_largest *lists, const double *tile, size_t rows, size_t first, size_t count)
{
	double		least[FC_TILE_COLUMNS] = {0};	/* of the columns */

	for (size_t r = 0; r < rows; r++)
	{
		const double *row = tile + r * FC_TILE_COLUMNS;
		double		in_row = lists->least[r];
		int			any = 0;

		for (size_t i = 0; i < FC_TILE_COLUMNS; i++)
			any |= (row[i] > least[i]) | (row[i] < -least[i]) | (row[i] > in_row) | (row[i] < -in_row);
		for (size_t i = 0; any && i < count; i++)
		{
			double		size = fabs(row[i]);

			if (size > in_row)
				in_row = keep(lists->in_row + r * lists->per_row, lists->per_row, row[i], first + i);
			if (size > least[i])
				least[i] = keep(lists->in_column + (first + i) * lists->per_column, lists->per_column, row[i], r);
		}
		lists->least[r] = in_row;
	}
}

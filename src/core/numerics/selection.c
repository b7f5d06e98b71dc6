/* selection.c - numbers parted about a place of their order; see selection.h */
#include "numerics/selection.h"

#include <math.h>

#define SWAP	8				/* multiplications that a comparison costs, about */

static inline float
value_of(fc_coordinate c, uint32_t row)
{
	return c.x[row * c.d];
}

static inline void
swap(uint32_t *a, uint32_t *b)
{
	uint32_t	t = *a;

	*a = *b;
	*b = t;
}

static float
median_of_three(float a, float b, float c)
{
	return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}

void
fc_part_rows(fc_coordinate c, uint32_t *order, size_t first, size_t last, size_t place, size_t *done)
{
	while (last - first > 1)
	{
		float		pivot = median_of_three(value_of(c, order[first]), value_of(c, order[first + (last - first) / 2]), value_of(c, order[last - 1]));
		size_t		low = first;
		size_t		middle = first;
		size_t		high = last;

		while (middle < high)	/* less | equal | unseen | greater */
		{
			float		value = value_of(c, order[middle]);

			fc_check_every(done, SWAP);
			if (value < pivot)
				swap(&order[low++], &order[middle++]);
			else if (value > pivot)
				swap(&order[middle], &order[--high]);
			else
				middle++;
		}
		if (place < low)
			last = low;
		else if (place < high)
			break;
		else
			first = high;
	}
}

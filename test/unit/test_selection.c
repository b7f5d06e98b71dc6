/* test_selection.c - rows parted about a place of their order: the property itself, in any order and with ties */
#include "numerics/selection.h"
#include "unit.h"

#define D	3

static float
shaped(int shape, size_t i, size_t n, fc_rng *rng)
{
	switch (shape)
	{
		case 0:
			return (float) i;
		case 1:
			return (float) (n - i);
		case 2:
			return (float) (i < n / 2 ? i : n - i);	/* a hump */
		case 3:
			return 1.0f;
		case 4:
			return (float) fc_rng_below(rng, 5);
		default:
			return (float) fc_rng_normal(rng);
	}
}

/* The rows of order are those of before, and `place` parts them. */
static void
check_parted(const float *x, const uint32_t *order, size_t n, size_t place, int shape)
{
	char	   *seen = unit_alloc(n, 1);
	bool		parted = true;

	for (size_t i = 0; i < n; i++)
	{
		CHECK(order[i] < n && !seen[order[i]]++, "shape %d: row %u", shape, order[i]);
		for (size_t low = 0; low < place && i >= place && n <= 300; low++)
			parted = parted && x[order[low] * D] <= x[order[i] * D];
	}
	CHECK(parted, "shape %d n %zu place %zu", shape, n, place);
}

static void
test_shape(int shape, size_t n, size_t place)
{
	fc_rng		rng = fc_rng_start(7, n + place);
	float	   *x = unit_alloc(n * D, sizeof(float));
	uint32_t   *order = unit_alloc(n, sizeof(uint32_t));

	for (size_t i = 0; i < n; i++)
	{
		x[i * D] = shaped(shape, i, n, &rng);
		order[i] = (uint32_t) i;
	}
	unit_checked = 0;
	fc_interrupt_check = unit_check;
	fc_part_rows((fc_coordinate) {x, D}, order, 0, n, place);
	fc_interrupt_check = NULL;
	check_parted(x, order, n, place, shape);
	CHECK(unit_checked <= 100, "shape %d n %zu place %zu: %ld interrupt checks", shape, n, place, unit_checked);
}

int
main(void)
{
	for (int shape = 0; shape < 6; shape++)
	{
		static const size_t sizes[] = {1, 2, 3, 7, 300};

		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
			for (size_t place = 0; place < sizes[s]; place += 1 + sizes[s] / 5)
				test_shape(shape, sizes[s], place);
		test_shape(shape, 400000, 100);
		test_shape(shape, 400000, 200000);
	}
	return unit_finish();
}

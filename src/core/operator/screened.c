/* screened.c - labels of a codebook of many rows, by bounds of most scores (numerics/screen.h) */
#include "numerics/screen.h"

#include <math.h>

#include "numerics/kdtree.h"
#include "numerics/rows.h"
#include "operator/internal.h"

#define MOST_PACKED		((size_t) 1 << 18)	/* numbers, which stay in the second cache */
#define LEAST_SQUARE	1e-30	/* squares below lose digits in float */

static bool
is_boxed(const fc_operator *op)
{
	return fc_operator_is_plain(op) && op->metric != FC_INNER_PRODUCT && fc_boxes_suit(op->k, op->d);
}

static size_t
boxes_size(const fc_operator *op)
{
	fc_arena	measure = fc_arena_measure();
	fc_boxes	boxes;

	(void) FC_TAKE(&measure, 1, fc_boxes);
	fc_boxes_take(&measure, op->k, op->d, &boxes);
	return fc_arena_measured(&measure);
}

size_t
fc_operator_screen_size(const fc_operator *op)
{
	if (is_boxed(op))
		return boxes_size(op);
	return fc_operator_is_plain(op) && op->metric != FC_INNER_PRODUCT && fc_screen_suits(op->k, op->d) ? sizeof(fc_screen) + 64 + fc_screen_size(op->k, op->d) : 0;
}

size_t
fc_operator_screen_worksize(const fc_operator *op)
{
	if (is_boxed(op))
		return boxes_size(op);
	return fc_operator_screen_size(op) > 0 ? sizeof(fc_screen) + 64 + fc_screen_worksize(op->k, op->d) : 0;
}

void
fc_operator_screen(fc_operator *op, fc_arena *arena)
{
	fc_screen  *screen;

	op->screen = NULL;
	op->boxes = NULL;
	if (is_boxed(op))
	{
		fc_boxes   *boxes = FC_TAKE(arena, 1, fc_boxes);

		fc_boxes_take(arena, op->k, op->d, boxes);
		fc_boxes_build(boxes, op->factor[0].values);
		op->boxes = boxes;
		return;
	}
	screen = FC_TAKE(arena, 1, fc_screen);
	if (fc_screen_build(op->factor[0].values, op->offset, op->k, op->d, true, arena, screen))
		op->screen = screen;
}

/* ---- one row at a time ---- */

size_t
fc_operator_packed_floats(const fc_operator *op)
{
	return fc_operator_is_plain(op) && !is_boxed(op) && op->k * op->d <= MOST_PACKED ? fc_packs_floats(op->k, op->d) : 0;
}

void
fc_operator_pack(fc_operator *op, float *memory)
{
	fc_packs_build(op->factor[0].values, op->half_norms, op->k, op->d, memory);
	op->packs = memory;
}

/* ---- many ---- */

typedef struct measured_rows
{
	const fc_operator *op;
	const double *x;
} measured_rows;

static double
distance_of(const void *context, size_t row, size_t j)
{
	const measured_rows *rows = context;

	return fc_row_distance(rows->x + row * rows->op->d, rows->op->offset, rows->op->factor[0].values + j * rows->op->d, rows->op->d);
}

size_t
fc_operator_screened_scratch(const fc_operator *op, size_t n)
{
	return op->screen != NULL ? fc_screen_scratch(op->screen, n) : 0;
}

/*
 * The nearest centroid, or -1 where rounding might change which it is.  A square in float is within a share of (d + 4) 2^-23, and
 * the row, rounded, within 2^-23 of its length.
 */
static int32_t
label_in_boxes(const fc_operator *op, const double *x)
{
	float		shifted[FC_BOXES_DIMENSIONS];
	float		squared[2];
	double		moved = 0x1p-23 * sqrt(fc_shift_row(x, op->offset, op->d, shifted));
	double		share = ((double) op->d + 4.0) * 0x1p-23;
	float		margin = (float) (64.0 * moved * moved + 8.0 * LEAST_SQUARE);
	size_t		label = fc_boxes_nearest_two(op->boxes, shifted, margin, squared);
	bool		sure = (double) squared[1] > LEAST_SQUARE && isfinite(squared[1]) &&
		sqrt((double) squared[1] * (1.0 - share)) - moved > sqrt((double) squared[0] * (1.0 + share) + LEAST_SQUARE) + moved;

	return sure ? (int32_t) label : -1;
}

void
fc_operator_assign_screened(const fc_operator *op, const double *x, size_t n, fc_scratch scratch, int32_t *labels)
{
	int			way = op->screen != NULL ? fc_screen_choose(op->screen) : FC_SCREEN_NONE;
	measured_rows measured = {op, x};
	fc_screened rows = {.x = x,.distance = distance_of,.context = &measured};

	size_t		done = 0;

	for (size_t r = 0; r < n; r++)
	{
		labels[r] = op->boxes != NULL ? label_in_boxes(op, x + r * op->d) : -1;
		if (op->boxes != NULL)
			fc_check_every(&done, op->k / 8 * op->d);
	}
	if (way != FC_SCREEN_NONE)
		fc_screen_assign(op->screen, way, &rows, n, scratch, labels);
}

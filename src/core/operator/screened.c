/* screened.c - labels of a codebook of many rows, by bounds of most scores (numerics/screen.h) */
#include "numerics/screen.h"

#include "numerics/rows.h"
#include "operator/internal.h"

size_t
fc_operator_screen_size(const fc_operator *op)
{
	return fc_operator_is_plain(op) && op->metric != FC_INNER_PRODUCT && fc_screen_suits(op->k, op->d) ? sizeof(fc_screen) + 64 + fc_screen_size(op->k, op->d) : 0;
}

size_t
fc_operator_screen_worksize(const fc_operator *op)
{
	return fc_operator_screen_size(op) > 0 ? sizeof(fc_screen) + 64 + fc_screen_worksize(op->k, op->d) : 0;
}

fc_status
fc_operator_screen(fc_operator *op, const fc_tick *tick, fc_arena *arena)
{
	fc_screen  *screen = FC_TAKE(arena, 1, fc_screen);
	fc_status	status;

	op->screen = NULL;
	if (screen == NULL)
		return FC_ENOMEMORY;
	status = fc_screen_build(op->factor[0].values, op->offset, op->k, op->d, true, tick, arena, screen);
	if (status == FC_OK)
		op->screen = screen;
	return status == FC_EFAR || status == FC_ENUMERIC ? FC_OK : status;
}

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

void
fc_operator_assign_screened(const fc_operator *op, const double *x, size_t n, fc_scratch scratch, int32_t *labels)
{
	int			way = op->screen != NULL ? fc_screen_choose(op->screen) : FC_SCREEN_NONE;
	measured_rows measured = {op, x};
	fc_screened rows = {.x = x,.distance = distance_of,.context = &measured};

	for (size_t r = 0; r < n; r++)
		labels[r] = -1;
	if (way != FC_SCREEN_NONE)
		(void) fc_screen_assign(op->screen, way, &rows, n, op->tick, scratch, labels);
}

/*
 * lbfgsb.c - box-constrained minimisation by L-BFGS-B.
 *
 * Reverse communication: the library asks for values, so the interrupt check runs inside every
 * evaluation.  Byrd, Lu, Nocedal, Zhu 1995; version 3.0 of their code.
 */
#include "decode/internal.h"

#include <string.h>

#include "base/blas.h"

#define MEMORY 12				/* pairs L-BFGS-B remembers */
#define GRADIENT_TOLERANCE 1e-7
#define TASK_LENGTH 60
#define EPSILON 2.220446049250313e-16

void
fc_minimizer_take(fc_arena *arena, size_t variables, fc_minimizer *w)
{
	size_t		pairs = MEMORY;

	w->x = FC_TAKE(arena, variables, double);
	w->gradient = FC_TAKE(arena, variables, double);
	w->lower = FC_TAKE(arena, variables, double);
	w->upper = FC_TAKE(arena, variables, double);
	w->bound_kind = FC_TAKE(arena, variables, int);
	w->wa = FC_TAKE(arena, (2 * pairs + 5) * variables + 11 * pairs * pairs + 8 * pairs, double);
	w->iwa = FC_TAKE(arena, 3 * variables, int);
}

static void
set_task(char *task, const char *word)
{
	memset(task, ' ', TASK_LENGTH);
	memcpy(task, word, strlen(word));
}

double
fc_minimize(fc_minimizer *w, size_t variables, fc_objective objective, void *context,
			double tolerance, int iterations)
{
	double		value = 0.0;
	double		factr = tolerance / EPSILON;
	double		pgtol = GRADIENT_TOLERANCE;
	int			n = (int) variables;
	int			pairs = MEMORY;
	int			silent = -1;
	char		task[TASK_LENGTH];
	char		csave[TASK_LENGTH];
	int			lsave[4];
	int			isave[44];
	double		dsave[29];

	set_task(task, "START");
	memset(csave, ' ', TASK_LENGTH);
	for (;;)
	{
		setulb_(&n, &pairs, w->x, w->lower, w->upper, w->bound_kind, &value, w->gradient, &factr, &pgtol,
				w->wa, w->iwa, task, &silent, csave, lsave, isave, dsave, TASK_LENGTH, TASK_LENGTH);
		if (strncmp(task, "FG", 2) == 0)
			value = objective(context, w->x, w->gradient);
		else if (strncmp(task, "NEW_X", 5) != 0 || --iterations <= 0)
			return value;
	}
}

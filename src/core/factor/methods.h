/*
 * methods.h - one method of factorize at one budget: what fc_factorize runs once, and auto for every candidate.
 */
#ifndef FC_FACTOR_METHODS_H
#define FC_FACTOR_METHODS_H

#include "factor/factorize.h"

typedef struct fc_factorize_work
{
	const fc_operator *op;
	const fc_factorize_options *options;
	fc_arena   *arena;
	fc_target	target;
	double	   *offset;			/* d */
	fc_scratch	scratch;
	size_t		factors;
	size_t		budget;
} fc_factorize_work;

/* Q, and the values all factors may hold, by the options. */
size_t		fc_factorize_factors(const fc_operator *op, const fc_factorize_options *options);
size_t		fc_factorize_budget(const fc_operator *op, const fc_factorize_options *options);

/* Bytes of one method at one budget, without what all share; and of auto. */

/* Floats of the scratch for op and for what it is factored into. */
size_t		fc_factorize_scratch(const fc_operator *op, const fc_factorize_options *options);

/* Target, offset and scratch of w; op, options and arena are set. */
fc_status	fc_factorize_prepare(fc_factorize_work *w);
fc_status	fc_factorize_run(const fc_factorize_work *w, fc_method method, size_t budget, fc_operator *out);
fc_status	fc_factorize_record(const fc_factorize_work *w, fc_method method, double agreement, fc_operator *out, fc_factorization *from);

#endif							/* FC_FACTOR_METHODS_H */

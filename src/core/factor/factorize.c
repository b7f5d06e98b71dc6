/* factorize.c - an operator's centroids as a product with fewer parameters; see the header */
#include "factor/factorize.h"

#include "factor/lowrank.h"
#include "factor/methods.h"

fc_factorize_options
fc_factorize_defaults(void)
{
	fc_factorize_options options = {.centered = true,.palm = fc_palm_defaults()};

	options.palm.sweeps = 100;
	return options;
}

fc_status
fc_factorize(const fc_operator *op, const fc_factorize_options *options,
			 fc_arena *arena, fc_operator *out, fc_factorization *from)
{
	fc_factorize_work w = {.op = op,.options = options,.arena = arena};
	fc_status	status;

	if (options->method == FC_METHOD_AUTO)
		return fc_factorize_auto(op, options, arena, out, from);
	w.factors = fc_factorize_factors(op, options);
	w.budget = fc_factorize_budget(op, options);
	status = fc_factorize_prepare(&w);
	if (status == FC_OK)
		status = fc_factorize_run(&w, options->method, w.budget, out);
	return status == FC_OK ? fc_factorize_record(&w, options->method, -1.0, out, from) : status;
}

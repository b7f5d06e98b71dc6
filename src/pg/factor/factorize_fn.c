/*
 * factorize_fn.c - factorize: approximates an operator's centroids by a
 * product of matrices with fewer parameters
 */
#include "postgres.h"

#include "utils/builtins.h"

#include "pg/base/options.h"
#include "pg/base/progress.h"
#include "pg/factor/qkmeans_call.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/rows.h"

static void
notice_sweep(void *ctx, int sweep, double objective, size_t nonzeros)
{
	ereport(NOTICE, errmsg("sweep %d: relative error %.6f, %zu non-zeros",
						   sweep, sqrt(objective), nonzeros));
}

/* ---- options ---- */

_Static_assert(FC_RERANK_EXACT == OPTION_EXACT,
			   "option rerank is read as a count or \"exact\"");

#define BIT(method)	(1 << (method))
#define ITERATED	(BIT(FC_METHOD_PALM4MSA) | BIT(FC_METHOD_HIERARCHICAL) | BIT(FC_METHOD_AUTO))
#define SIZED		(ITERATED | BIT(FC_METHOD_SVD) | BIT(FC_METHOD_PRUNE))

/* options that only some methods use */
static const struct
{
	const char *name;
	int			methods;
}			users[] = {
	{"factors", ITERATED},
	{"sparsity", ITERATED},
	{"budget", SIZED},
	{"iterations", ITERATED},
	{"tolerance", ITERATED},
	{"pursuit", ITERATED},
	{"published", BIT(FC_METHOD_PALM4MSA) | BIT(FC_METHOD_HIERARCHICAL)},
	{"sse_ratio", BIT(FC_METHOD_AUTO)}
};

bool
is_published(const Jsonb *options)
{
	const JsonbValue *value = (options == NULL ? NULL
							   : value_of_key(options, "published"));

	return value != NULL && value->type == jbvBool && value->val.boolean;
}

/* Raises an error for an option that the method does not use. */
static void
check_used(Jsonb *json, fc_method method)
{
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < lengthof(users); i++)
		if (users[i].methods & BIT(method))
			appendStringInfo(&list, "%s, ", users[i].name);
	for (int i = 0; i < lengthof(users); i++)
	{
		const JsonbValue *value = value_of_key(json, users[i].name);

		if (value != NULL && value->type != jbvNull &&
			!(users[i].methods & BIT(method)))
			ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("method \"%s\" does not use option \"%s\"",
						   method_name(method), users[i].name),
					errhint("Its options are %scentered, rerank, seed, verbose.",
							list.data));
	}
	pfree(list.data);
}

void
check_min_budget(double budget, size_t min, const char *what, size_t k,
				 size_t d, const char *hint)
{
	if (budget > 0 && budget < (double) min)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"budget\" is %g, too small for %s", budget, what),
				errdetail("With %zu centroids in %zu dimensions and these options, at least %zu values are needed.",
						  k, d, min),
				errhint("%s", hint));
}

/*
 * Reads and checks the options. `requested` is the method in the call,
 * `method` the one that runs.
 */
static fc_factorize_options
factorize_options(Jsonb *json, fc_method requested, fc_method method,
				  const fc_operator *op, uint32 *rerank, bool *verbose)
{
	fc_factorize_options options = (is_published(json) ? fc_factorize_published()
									: fc_factorize_defaults());
	const option known[] = {
		{"factors", OPTION_INT, &options.factors, 1, FC_MAX_FACTORS},
		{"sparsity", OPTION_INT, &options.sparsity, 1, FC_MAX_CLUSTERS},
		{"budget", OPTION_FLOAT, &options.budget, 1, 1e12},
		{"centered", OPTION_BOOL, &options.centered, 0, 0},
		{"iterations", OPTION_INT, &options.palm.sweeps, 1, 100000},
		{"tolerance", OPTION_FLOAT, &options.palm.tolerance, 0, 1},
		{"pursuit", OPTION_BOOL, &options.palm.pursuit, 0, 0},
		{"published", OPTION_BOOL, &options.palm.published, 0, 0},
		{"sse_ratio", OPTION_FLOAT, &options.sse_ratio, 1, 1e300},
		{"seed", OPTION_SEED, &options.palm.seed, 0, 0},
		{"rerank", OPTION_COUNT_OR_EXACT, rerank, 0, (double) op->k},
		{"verbose", OPTION_BOOL, verbose, 0, 0}
	};

	read_options(json, known, lengthof(known));
	check_used(json, requested);
	options.method = method;
	options.sparsity = Min(options.sparsity, (int) Max(op->k, op->d));
	check_min_budget(options.budget, fc_factorize_min_budget(op, &options),
					 psprintf("method \"%s\"", method_name(method)), op->k, op->d,
					 method == FC_METHOD_SVD
					 ? "Raise budget, or use method prune, which fits any budget."
					 : "Raise budget, use fewer factors or a lower sparsity, or use method prune, which fits any budget.");
	if (*verbose)
		options.palm.progress = notice_sweep;
	return options;
}

/*
 * Raises an error if the method does not use a sample, or if the rows of the
 * sample have another dimension than op.
 */
static void
check_sample(fc_method method, const fc_operator *op,
			 const fc_weighted_rows *sample)
{
	if (method != FC_METHOD_AUTO)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("method \"%s\" does not use a sample",
					   method_name(method)),
				errhint("Leave out the sample, or use method auto, which compares the labels of its rows."));
	if (sample->d != op->d)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("rows of the sample have %zu dimensions, but op has %zu",
					   sample->d, op->d));
}

/* ---- results ---- */

/* Relative error above which a notice is raised. A guess. */
#define LARGE_ERROR	0.5

/* Relative error above which an SVD is suggested. A guess. */
#define NOTICEABLE_ERROR	0.05

/*
 * Ratio of the error of an SVD to the error of the product, below which an SVD
 * is suggested. A guess.
 */
#define CLOSER_ERROR_RATIO	0.8

/*
 * Raises a notice if the product is far from the centroids, or if an SVD of
 * equal size is clearly closer to them.
 */
static void
report_error(const fc_factorization *from, const fc_operator *op)
{
	bool		svd = (from->svd_error < CLOSER_ERROR_RATIO * from->relative_error &&
					   from->relative_error > NOTICEABLE_ERROR);

	if (from->agreement >= FC_AUTO_LABELS ||
		!(svd || from->relative_error > LARGE_ERROR))
		return;
	ereport(NOTICE,
			errmsg("the product of method \"%s\" is far from the centroids: its relative error is %.3f",
				   method_name(from->method), from->relative_error),
			from->method == FC_METHOD_SVD
			? 0
			: errdetail("The relative error of a singular value decomposition with as many values, %zu, is %.3f.",
						fc_operator_values(op), from->svd_error),
			svd ? errhint("Use method svd with this budget, or auto.")
			: op->factors > 2
			? errhint("With as many values, two factors are closer to the centroids than more factors: set option factors to 2 and raise sparsity or budget, or use method auto.")
			: errhint("Raise budget or sparsity, keep labels exact with the option rerank, or compare the labels, which may stay the same if clusters are far apart."));
}

/* ---- the choice of auto ---- */

typedef struct trial_rows
{
	int			count;
	fc_factorize_trial closest; /* trial with the largest share of unchanged
								 * labels */
	fc_factorize_trial last;
	double		sse_ratio;		/* option sse_ratio; 0: no limit of the SSE */
	bool		verbose;
} trial_rows;

static void
keep_trial(void *ctx, const fc_factorize_trial *trial)
{
	trial_rows *kept = ctx;

	kept->last = *trial;
	if (kept->count++ == 0 || trial->agreement > kept->closest.agreement)
		kept->closest = *trial;
	if (kept->verbose)
		ereport(NOTICE,
				errmsg("method %s, %zu values: %.2f %% of the labels stay",
					   method_name(trial->method), trial->values,
					   100 * trial->agreement));
}

static int
measured_on(const fc_factorize_trial *trial)
{
	return errdetail("Method %s with %zu values keeps %.1f %% of the labels of %zu sample rows, and at least %.1f %% of all labels. "
					 "The sum of squared distances is %.2f times as large.",
					 method_name(trial->method), trial->values, 100 * trial->agreement,
					 trial->rows, 100 * trial->lowest, trial->sse_ratio);
}

/*
 * Raises a notice if method auto found no product that keeps enough labels.
 * The operator then stays dense, or is a product that changes more labels.
 * Returns true if a notice was raised.
 */
static bool
report_choice(const fc_factorization *from, const trial_rows *kept)
{
	if (kept->count == 0 ||
		(from->method != FC_METHOD_DENSE && from->agreement >= FC_AUTO_LABELS))
		return false;
	if (from->method == FC_METHOD_DENSE)
		ereport(NOTICE,
				errmsg("no product was found that keeps %g %% of the labels%s; the centroids are stored as they are",
					   100 * FC_AUTO_LABELS,
					   kept->sse_ratio > 0 ? " and the distances" : ""),
				measured_on(&kept->closest),
				kept->closest.lowest < FC_AUTO_LABELS &&
				kept->closest.agreement >= FC_AUTO_LABELS
				? errhint("Pass a larger sample, or set option budget for a smaller operator.")
				: errhint("Set option budget for a smaller operator."));
	else
		ereport(NOTICE,
				errmsg("the product changes more than %g %% of the labels",
					   100 * (1 - FC_AUTO_LABELS)),
				measured_on(&kept->last),
				errhint("Raise budget, or leave out this option."));
	return true;
}

fc_operator_header *
factorized_operator(const fc_operator_header *centroids, const char *name,
					Jsonb *settings, const fc_weighted_rows *rows)
{
	fc_operator op;
	fc_operator out = {0};
	trial_rows	kept = {0};
	fc_factorization from;
	fc_factorize_options options;
	uint32		rerank = 0;
	fc_operator_header *header;
	fc_arena	arena;
	fc_method	requested = method_of_name(name);
	fc_method	method = (requested == FC_METHOD_AUTO && rows == NULL
						  ? FC_METHOD_PALM4MSA
						  : requested);

	open_operator(centroids, &op);
	check_metric_has_means(op.metric);
	options = factorize_options(settings, requested, method, &op, &rerank,
								&kept.verbose);
	if (rows != NULL)
	{
		check_sample(method, &op, rows);
		options.sample = rows;
	}
	kept.sse_ratio = options.sse_ratio;
	options.tried = keep_trial;
	options.tried_ctx = &kept;
	if (method != requested)
		ereport(NOTICE,
				errmsg("method auto uses palm4msa, because factorize was called without a sample"),
				errhint("Pass a few thousand rows as sample: factorize(op, sample => (SELECT"
						" fastop_agg(x) FROM ...))."));
	announce_work(psprintf("factorize of %zu centroids in %zu dimensions takes",
						   op.k, op.d),
				  fc_factorize_operations(&op, &options), false,
				  "Lower option iterations, or use method svd or palm4msa");
	arena = make_arena("factorize");
	fc_factorize(&op, &options, &arena, &out, &from);
	if (rerank != FC_RERANK_EXACT && !report_choice(&from, &kept))
		report_error(&from, &out);
	attach_exact_centroids(&out, &op, rerank);
	out.metric = op.metric;
	out.number = op.number;
	header = store_operator(&out);
	release_arena(&arena);
	return header;
}

/*
 * Takes (fastop, method, options, sample) and returns the factorized operator.
 */
PG_FUNCTION_INFO_V1(fastclust_factorize);
Datum
fastclust_factorize(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0) || PG_ARGISNULL(1) || PG_ARGISNULL(2))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(factorized_operator(OPERATOR_ARG(0),
										  text_to_cstring(PG_GETARG_TEXT_PP(1)),
										  PG_GETARG_JSONB_P(2),
										  PG_ARGISNULL(3) ? NULL
										  : rows_of_operator(OPERATOR_ARG(3))));
}

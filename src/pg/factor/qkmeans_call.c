/*
 * qkmeans_call.c - options, start and log of QK-means; qkmeans_agg, which uses
 * the state of kmeans_agg. QK-means over a table is in pg/train/product.c.
 */
#include "postgres.h"

#include "pg/base/options.h"
#include "pg/base/progress.h"
#include "pg/factor/qkmeans_call.h"
#include "pg/operator/operator_value.h"

/*
 * Ratio of the objective to the objective of the start, above which a notice
 * is raised. A guess.
 */
#define FAR_OBJECTIVE_RATIO	1.5

/* Reads option init: a name, or k centroids. */
static void
read_init(const text_or_rows *init, qkmeans_call *call)
{
	if (init->values != NULL && init->rows != call->k)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("init has %d centroids, but k is %d", init->rows,
					   call->k));
	if (init->values == NULL && strcmp(init->text, "uniform") != 0 &&
		strcmp(init->text, "k-means++") != 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("init \"%s\" is not known", init->text),
				errhint("Valid values are k-means++, uniform, or a list of k centroids."));
	call->centroids = init->values;
	call->dimensions = init->columns;
	call->init = init->values != NULL ? FC_START_GIVEN
		: strcmp(init->text, "uniform") == 0 ? FC_START_UNIFORM
		: FC_START_KMEANS;
}

void
read_qkmeans_options(Jsonb *json, int32 k, qkmeans_call *call)
{
	static const named_value starts[] = {
		{"auto", FC_METHOD_AUTO},
		{"palm4msa", FC_METHOD_PALM4MSA},
		{"hierarchical", FC_METHOD_HIERARCHICAL}
	};
	bool		published = is_published(json);
	text_or_rows init = {published ? "uniform" : "k-means++", NULL, 0, 0};
	char	   *start = published ? "hierarchical" : "auto";
	const option known[] = {
		{"factors", OPTION_INT, &call->options.factors, 1, FC_MAX_FACTORS},
		{"sparsity", OPTION_INT, &call->options.sparsity, 1, FC_MAX_CLUSTERS},
		{"budget", OPTION_FLOAT, &call->options.budget, 1, 1e12},
		{"iterations", OPTION_INT, &call->options.iterations, 0, 100000},
		{"sweeps", OPTION_INT, &call->options.palm.sweeps, 1, 100000},
		{"tolerance", OPTION_FLOAT, &call->options.tolerance, 0, 1},
		{"init", OPTION_TEXT_OR_ROWS, &init, -FC_EXP2(63), FC_EXP2(63)},
		{"start", OPTION_TEXT, &start, 0, 0},
		{"centered", OPTION_BOOL, &call->centered, 0, 0},
		{"published", OPTION_BOOL, &published, 0, 0},
		{"seed", OPTION_SEED, &call->seed, 0, 0},
		{"verbose", OPTION_BOOL, &call->verbose, 0, 0}
	};

	check_count("k", k, 1, FC_MAX_CLUSTERS);
	call->k = k;
	call->options = published ? fc_qkmeans_published() : fc_qkmeans_defaults();
	call->centered = !published;
	if (json != NULL)
		read_options(json, known, lengthof(known));
	read_init(&init, call);
	call->options.start = (fc_method) choice_of_name("start", start, starts,
													 lengthof(starts));
	call->options.palm.seed = call->seed;
	call->memory.what = "qkmeans";
}

/* ---- rows in memory ---- */

static void
scan_collection(void *ctx, const fc_operator *op, double *sse, double *weights,
				double *means)
{
	const collection *rows = ctx;
	fc_arena	arena = charged_arena(rows->account);

	check_operator_status(fc_scan_rows(op, rows->x, rows->n, &arena, sse,
									   weights, means));
	release_arena(&arena);
}

static void
farthest_collected(void *ctx, const fc_operator *op, size_t count,
				   double *found_rows, size_t *found)
{
	const collection *rows = ctx;
	fc_arena	arena = charged_arena(rows->account);

	check_operator_status(fc_farthest_rows(op, rows->x, rows->n, count, &arena,
										   found_rows, found));
	release_arena(&arena);
}

fc_row_source
collected_rows(const collection *rows)
{
	return (fc_row_source)
	{
		.ctx = (void *) rows,.scan = scan_collection,.farthest = farthest_collected
	};
}

/* ---- start ---- */

/*
 * Returns k x d start centroids. Sets offset (d values) to the mean of the
 * sample. Sets *measured to the rows with which the quality of operators is
 * measured.
 */
static double *
make_start(qkmeans_call *call, const collection *sample, double *offset,
		   collection *measured)
{
	Size		k = (Size) call->k;
	Size		d = (Size) sample->d;
	fc_start_options options = {call->init, call->centroids, call->seed};
	fc_ordering ordering = {.mean = offset};
	double	   *start;
	fc_arena	arena;

	if (call->init == FC_START_GIVEN && call->dimensions != sample->d)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("centroids of init have %d dimensions, but rows have %d",
					   call->dimensions, sample->d));
	*measured = (collection)
	{
		.d = sample->d,.k = call->k,.account = &call->memory
	};
	measured->n = fc_measured_rows(sample->n, k);
	charge_memory(&call->memory,
				  k * d * sizeof(double) + collection_bytes(measured, measured->n));
	resize_collection(measured, measured->n);
	start = alloc_large(k * d * sizeof(double));
	arena = charged_arena(&call->memory);
	check_ordered(fc_qkmeans_start(sample->x, sample->n, d, k, &options, &arena,
								   &ordering, start, measured->x),
				  &ordering);
	release_arena(&arena);
	return start;
}

/* ---- log ---- */

static double
seconds_since(instr_time before)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, before);
	return INSTR_TIME_GET_DOUBLE(now);
}

void
put_qkmeans_entry(const qkmeans_call *call)
{
	const fc_qkmeans_step *step = &call->entry.step;
	Datum		values[7] = {
		Int32GetDatum(step->iteration),
		Float8GetDatum(step->objective),
		Float8GetDatum(step->wcss),
		Int64GetDatum((int64) step->nonzeros),
		Int32GetDatum((int32) step->empty),
		Float8GetDatum(call->entry.seconds),
		PointerGetDatum(call->entry.op)
	};

	put_row(call->rows, values, NULL);
}

/*
 * Puts the log entry of the previous scan into the result set. Then stores
 * `op`, the operator of the present scan, in the entry, so that only one
 * operator of the log is in memory. The operator is stored without its
 * fc_factorization. product.c replaces the last operator by the result of the
 * run, which has an fc_factorization.
 */
static void
store_step(qkmeans_call *call, const fc_operator *op)
{
	fc_operator stored = *op;

	stored.factorization = NULL;
	if (!call->centered)
		stored.offset = NULL;
	if (call->entry.op == NULL)
		charge_memory(&call->memory, fc_operator_size(&stored));
	else
	{
		put_qkmeans_entry(call);
		pfree(call->entry.op);
	}
	call->entry.op = store_operator(&stored);
}

static void
log_step(void *ctx, const fc_qkmeans_step *step, const fc_operator *op)
{
	qkmeans_call *call = ctx;
	qkmeans_entry *entry = &call->entry;

	if (call->rows != NULL)
		store_step(call, op);
	entry->step = *step;
	entry->seconds = seconds_since(call->last);
	INSTR_TIME_SET_CURRENT(call->last);
	if (call->verbose)
		ereport(NOTICE,
				errmsg("iteration %d: objective %g, %zu non-zeros, %zu empty clusters, %.3f s",
					   step->iteration, step->objective, step->nonzeros, step->empty,
					   entry->seconds));
}

/* ---- sparsity ---- */

static void
keep_trial(void *ctx, const fc_trial *trial)
{
	qkmeans_call *call = ctx;

	call->trials++;
	if (call->same_labels.factors == 0 &&
		trial->wcss <= FC_SAME_LABELS_SSE_RATIO)
		call->same_labels = *trial;
	if (call->verbose)
		ereport(NOTICE,
				errmsg("sparsity %d: %zu non-zeros, on a sample %.3f times the initial objective, %.3f with the means of the labels",
					   trial->sparsity, trial->nonzeros, trial->objective,
					   trial->wcss));
}

/*
 * Reports that the centroids are stored without factorization, although
 * products were tried.
 */
static void
report_dense(const qkmeans_call *call, Size values)
{
	const fc_trial *same = &call->same_labels;

	ereport(NOTICE,
			errmsg("no product of fewer than %zu values is close to the centroids, which are stored as they are",
				   values),
			same->factors > 0
			? errdetail("With sparsity %d and %d factors (%zu values), the labels are as good, but the sum of squared distances of a sample is %.2f times as large.",
						same->sparsity, same->factors, same->nonzeros,
						same->objective)
			: 0,
			errhint("Set sparsity or budget for a smaller operator; in train, option \"factors\" has them: {\"factors\": {\"sparsity\": 6}}."));
}

/*
 * Chooses the sparsity if the call specifies neither sparsity nor budget.
 * Returns the arena that contains options.warm_factors. The caller releases it
 * when the factors are no longer needed.
 */
static fc_arena
choose_sparsity(qkmeans_call *call, const double *start, const double *offset,
				Size d, const fc_row_source *measured, const fc_measure *dense)
{
	Size		k = (Size) call->k;
	fc_trials	trials = {
		dense,
		(Size) fastclust_memory_budget * 1024 - 1 - call->memory.charged,
		keep_trial,
		call
	};
	fc_arena	arena = {0};

	if (call->options.sparsity > 0 || call->options.budget > 0)
		return arena;
	arena = charged_arena(&call->memory);
	fc_qkmeans_choose(start, offset, k, d, measured, &trials, &arena,
					  &call->options);
	if (call->trials > 0 && call->options.factors == 1 &&
		call->options.sparsity == (int) Max(k, d))
		report_dense(call, k * d);
	if (arena.allocated + fc_qkmeans_worksize(k, d, &call->options) >
		trials.max_bytes)
		call->options.warm_factors = NULL;
	if (call->options.warm_factors == NULL)
		release_arena(&arena);
	return arena;
}

static void
report_factors(const fc_operator *op, const fc_factorization *from,
			   double ratio, double ratio_of_means)
{
	if (ratio > FAR_OBJECTIVE_RATIO)
		ereport(NOTICE,
				errmsg("the factors approximate the centroids poorly: on a sample, the sum of squared distances is %.2f times as large as with the initial centroids",
					   ratio),
				errdetail("With the means of the labels it is %.2f times as large. The factors have %zu values, the centroids %zu.",
						  ratio_of_means, fc_operator_values(op), op->k * op->d),
				from->svd_error < from->relative_error
				? errhint("Use factorize with method svd on centroids of kmeans_agg: with as many values, its relative error is %.3f, against %.3f of these factors.",
						  from->svd_error, from->relative_error)
				: errhint("Raise sparsity or budget, use 2 factors, or use factorize with option rerank on centroids of kmeans_agg."));
}

/*
 * Raises a notice if the operator is much worse than the centroids it started
 * from.
 */
static void
report_quality(qkmeans_call *call, const fc_operator *op,
			   const fc_factorization *from, const fc_row_source *measured,
			   const fc_measure *dense)
{
	const fc_qkmeans_step *last = &call->entry.step;
	fc_measure	measure;
	fc_arena	arena = charged_arena(&call->memory);
	double		ratio_of_means;

	fc_measure_operator(op, measured, &arena, &measure);
	release_arena(&arena);
	ratio_of_means = fc_measure_ratio(measure.wcss, dense->wcss,
									  dense->scatter);
	if (last->objective > FC_CLOSE_SSE_RATIO * last->wcss)
		report_factors(op, from,
					   fc_measure_ratio(measure.objective, dense->objective,
										dense->scatter),
					   ratio_of_means);
	else if (ratio_of_means > FAR_OBJECTIVE_RATIO)	/* the factors approximate
													 * the means of their
													 * clusters, but these
													 * clusters differ from
													 * the clusters of the
													 * start */
		ereport(NOTICE,
				errmsg("the centroids moved away from the initial ones: on a sample, the sum of squared distances is now %.2f times as large",
					   ratio_of_means),
				errdetail("Rows outside the sample, such as outliers, moved them."),
				errhint("Compare the result with kmeans_agg by sse_agg, try other seeds, or exclude outliers with a view."));
}

/* Raises a notice if clusters are empty, or collapsed to one row. */
static void
report_small(const fc_operator *op)
{
	fc_small_clusters small = fc_count_small(op->weights, op->k);

	if (small.empty > 0 || small.collapsed)
		ereport(NOTICE,
				errmsg("clusters without rows: %zu of %zu, with one row: %zu",
					   small.empty, op->k, small.single),
				errdetail("The largest cluster has %.1f %% of the rows.",
						  100.0 * small.largest),
				errhint("Lower k, raise sparsity, or try another seed."));
}

/* ---- the run ---- */

/*
 * Returns the number of sampled rows on which splits of large clusters are
 * tried; 0 if the memory budget has no room for a split.
 */
static Size
sample_that_fits(const qkmeans_call *call, const collection *measured)
{
	Size		k = (Size) call->k;
	Size		d = (Size) measured->d;
	Size		bytes = (call->memory.charged +
						 fc_qkmeans_worksize(k, d, &call->options) +
						 fc_split_worksize(measured->n, k, d));

	return bytes < (Size) fastclust_memory_budget * 1024 ? measured->n : 0;
}

fc_operator_header *
run_qkmeans(qkmeans_call *call, const collection *sample,
			const fc_row_source *source, Size n)
{
	Size		d = (Size) sample->d;
	double	   *offset = palloc(d * sizeof(double));
	double	   *start;
	fc_operator out = {0};
	fc_factorization from;
	fc_operator_header *header;
	fc_arena	arena;
	collection	measured;
	fc_row_source rows;
	fc_row_source scanned;
	fc_measure	dense;
	fc_arena	warm_factors;
	fc_kmeans_options search = fc_kmeans_defaults();

	INSTR_TIME_SET_CURRENT(call->last);
	call->options.sparsity = Min(call->options.sparsity,
								 (int) Max((Size) call->k, d));
	check_min_budget(call->options.budget,
					 fc_min_budget((Size) call->k, d,
								   fc_qkmeans_factors((Size) call->k, d, &call->options),
								   (Size) call->options.sparsity),
					 "qkmeans", (Size) call->k, d,
					 "Raise budget, or use fewer factors or a lower sparsity.");
	charge_memory(&call->memory, collection_bytes(sample, sample->capacity));
	check_budget(call->memory.charged +
				 fc_qkmeans_worksize((Size) call->k, d, &call->options) +
				 (Size) call->k * d * sizeof(double) +
				 collection_bytes(sample,
								  fc_measured_rows(sample->n,
												   (Size) call->k)),
				 call->memory.what);
	announce_work(psprintf("%s of %zu rows takes", call->memory.what, n),
				  fc_kmeans_operations(sample->n, d, (Size) call->k, &search) +
				  fc_qkmeans_operations(n, (Size) call->k, d, &call->options),
				  false,
				  "Lower k or option iterations, or use kmeans_agg and factorize with method svd");
	if (call->verbose)
		ereport(NOTICE,
				errmsg("a sample of %zu rows of %zu dimensions", sample->n, d));
	start = make_start(call, sample, offset, &measured);
	if (!call->centered)
		memset(offset, 0, d * sizeof(double));
	check_centroid_size(fc_greatest_magnitude(start, offset, (Size) call->k,
											  d));
	rows = collected_rows(&measured);
	arena = charged_arena(&call->memory);
	fc_measure_start(start, offset, (Size) call->k, d, &rows, &arena, &dense);
	release_arena(&arena);
	if (call->verbose)
		ereport(NOTICE,
				errmsg("initial centroids: objective %g on %zu rows of the sample, %.3f s",
					   dense.objective, measured.n, seconds_since(call->last)));
	warm_factors = choose_sparsity(call, start, offset, d, &rows, &dense);
	call->options.log = log_step;
	call->options.log_ctx = call;
	arena = charged_arena(&call->memory);
	scanned = *source;
	scanned.sample = measured.x;
	scanned.sample_rows = sample_that_fits(call, &measured);
	fc_qkmeans(start, offset, (Size) call->k, d, &scanned, &call->options,
			   &arena, &out, &from);
	out.offset = call->centered ? offset : NULL;
	charge_memory(&call->memory, fc_operator_size(&out));
	header = store_operator(&out);
	report_quality(call, &out, &from, &rows, &dense);
	report_small(&out);
	release_arena(&warm_factors);
	release_arena(&arena);
	pfree(start);
	pfree(measured.x);
	return header;
}

PG_FUNCTION_INFO_V1(fastclust_qkmeans_final);
Datum
fastclust_qkmeans_final(PG_FUNCTION_ARGS)
{
	collection	rows;
	qkmeans_call call = {0};
	fc_row_source source;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	rows = *(const collection *) PG_GETARG_POINTER(0);
	rows.account = &call.memory;
	read_qkmeans_options(rows.options, rows.k, &call);
	call.memory.what = "qkmeans_agg";
	check_enough_rows((Size) rows.k, rows.n);
	source = collected_rows(&rows);
	PG_RETURN_POINTER(run_qkmeans(&call, &rows, &source, rows.n));
}

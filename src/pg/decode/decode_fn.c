/*
 * decode_fn.c - decode and decode_covariances, which return the centroids and
 * covariances of a sketch; names and options of decoders
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "pg/base/progress.h"
#include "pg/decode/decode.h"
#include "pg/sketch/sketch_value.h"

static const named_value decoders[] = {
	{"auto", FC_DECODE_AUTO},
	{"clompr", FC_DECODE_CLOMPR},
	{"shift", FC_DECODE_SHIFT},
	{"discretized", FC_DECODE_DISCRETIZED}
};
static const named_value models[] = {
	{"dirac", FC_MODEL_DIRAC},
	{"gaussian", FC_MODEL_GAUSSIAN}
};
static const named_value inits[] = {
	{"default", FC_INIT_DEFAULT},
	{"range", FC_INIT_RANGE},
	{"sample", FC_INIT_SAMPLE},
	{"kmeans++", FC_INIT_KMEANSPP}
};

static void
notice_progress(void *context, const char *stage, int step, double cost)
{
	ereport(NOTICE, errmsg("decode: %s %d, cost %.6g", stage, step, cost));
}

/*
 * Checks the requirements of model gaussian. It computes covariances from a
 * density estimate, which requires Gaussian frequencies.
 */
static void
check_model(const decode_call *call)
{
	if (call->options.model != FC_MODEL_GAUSSIAN)
		return;
	if (call->decoder != FC_DECODE_SHIFT &&
		call->decoder != FC_DECODE_DISCRETIZED)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("model \"gaussian\" is for the decoders shift and discretized"),
				errhint("Use one of them, or decoder auto, which fits Gaussian atoms without this option."));
	if (call->spec->law != FC_LAW_GAUSSIAN)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("model \"gaussian\" needs frequencies of law gaussian, not %s",
					   fc_law_name((fc_law) call->spec->law)),
				errhint("Make the spec with law gaussian."));
	if (call->spec->reduced > FC_MAX_SHAPED)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("model \"gaussian\" does not support %u dimensions",
					   call->spec->reduced),
				errdetail("The maximum is %d.", FC_MAX_SHAPED));
}

static void
check_published(const decode_call *call)
{
	if (!call->options.published)
		return;
	if (call->decoder == FC_DECODE_AUTO)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"published\" is not for decoder auto"),
				errhint("Use clompr, shift or discretized, which are decoders of papers."));
	if (call->init.rows > 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"published\" excludes a list of centroids as \"init\""),
				errhint("Use \"range\", \"sample\" or \"kmeans++\"."));
}

static void
check_init(const decode_call *call)
{
	const text_or_rows *init = &call->init;

	if (init->rows > call->k)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"init\" has %d centroids, but k is %d",
					   init->rows, call->k));
	if (init->rows > 0 && (uint32) init->columns != call->spec->dim)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("option \"init\" has centroids of %d dimensions, but the sketch has %u",
					   init->columns, call->spec->dim));
}

static void
check_sigma(const decode_call *call)
{
	const double *sigmas = fc_spec_sigmas(call->spec);
	StringInfoData list;

	if (call->sigma <= 0 ||
		fc_scale_of_sigma(call->spec, call->sigma) < call->spec->scales)
		return;
	initStringInfo(&list);
	for (uint32 s = 0; s < call->spec->scales; s++)
		appendStringInfo(&list, "%s%g", s > 0 ? ", " : "", sigmas[s]);
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("the sketch has no sigma %g", call->sigma),
			errhint("Its sigmas: %s.", list.data));
}

/*
 * Reads the decoder and the options of a call, and checks them against the
 * sketch of the call.
 */
static void
read_decoder(decode_call *call, const char *name, Jsonb *json)
{
	fc_decode_options *options = &call->options;
	char	   *model = call->covariances ? "gaussian" : "dirac";
	const option known[] = {
		{"starts", OPTION_INT, &options->starts, 1, 100000},
		{"rounds", OPTION_INT, &options->rounds, 1, 100000},
		{"replicates", OPTION_INT, &options->replicates, 1, 1000},
		{"seed", OPTION_SEED, &options->seed, 0, 0},
		{"tolerance", OPTION_FLOAT, &options->tolerance, 1e-12, 1},
		{"step", OPTION_FLOAT, &options->step, 1e-6, 100},
		{"polish", OPTION_BOOL, &options->polish, 0, 0},
		{"published", OPTION_BOOL, &options->published, 0, 0},
		{"model", OPTION_TEXT, &model, 0, 0},
		{"init", OPTION_TEXT_OR_ROWS, &call->init, -1e300, 1e300},
		{"sigma", OPTION_FLOAT, &call->sigma, 1e-300, 1e300},
		{"verbose", OPTION_BOOL, &call->verbose, 0, 0},
		{"quiet", OPTION_BOOL, &call->quiet, 0, 0}
	};

	*options = fc_decode_defaults();
	call->decoder = (fc_decoder) choice_of_name("decoder", name, decoders,
												lengthof(decoders));
	read_options(json, known, lengthof(known));
	options->model = (fc_model) choice_of_name("option \"model\":", model,
											   models, lengthof(models));
	if (call->init.text !=NULL)
		options->init = (fc_init) choice_of_name("option \"init\":",
												 call->init.text, inits,
												 lengthof(inits));
	if (call->verbose)
		options->progress = notice_progress;
	check_model(call);
	check_published(call);
	check_init(call);
	check_sigma(call);
}

/*
 * Number of clusters above which a notice says that decoded centroids are a
 * few percent worse than centroids of k-means. With a lower limit, the notice
 * would be raised where the difference is small (bench/decoders.py limits).
 */
#define MAX_DECODED_CLUSTERS	50

/*
 * Relative residual above which a notice is raised. With a smaller one, the
 * notice would also be raised for clusters that are not Gaussian
 * (bench/decoders.py limits).
 */
#define POOR_RESIDUAL	0.3

/*
 * Standard deviation of the rows, in units of sigma, below which a notice is
 * raised; a spec from a sample gives 0.8 or more. A guess.
 */
#define NARROW_SIGMAS	0.6

/*
 * Ratio of the largest to the smallest standard deviation of the columns above
 * which the notice about a poor fit has the hint to scale the columns. A guess.
 */
#define UNEQUAL_DEVIATIONS	100.0

static void
read_arguments(FunctionCallInfo fcinfo, decode_call *call)
{
	static const char *const names[] = {"sketch", "k", "decoder", "options"};

	for (int i = 1; i < 4; i++)
		require_argument(fcinfo, i, names[i]);
	call->sketch = fc_sketch_view_of(sketch_pack(SKETCH_ARG(0)));
	call->spec = call->sketch.spec;
	call->k = PG_GETARG_INT32(1);
	check_count("k", call->k, 1, FC_MAX_CLUSTERS);
	read_decoder(call, text_to_cstring(PG_GETARG_TEXT_PP(2)),
				 PG_GETARG_JSONB_P(3));
}

static void
check_rows(const decode_call *call)
{
	if (call->sketch.head->weight <= 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("cannot decode a sketch without rows"));
	if (call->k > call->sketch.head->count)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg_plural("k is %d, but the sketch holds only %lld row",
							  "k is %d, but the sketch holds only %lld rows",
							  call->sketch.head->count, call->k,
							  (long long) call->sketch.head->count));
}

/*
 * Checks the argument sample, which must be NULL or the spec of the sketch. It
 * must have sample rows if option init starts from them.
 */
static void
check_decode_sample(const decode_call *call, const fc_spec *sample)
{
	fc_init		init = call->options.init;

	if (sample != NULL && !fc_spec_same(sample, call->spec))
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("sample is not the sketch_spec the sketch was made with"),
				errhint("Pass the spec that sketch_agg got, or leave out sample."));
	if ((init == FC_INIT_SAMPLE || init == FC_INIT_KMEANSPP) &&
		(sample == NULL || sample->sample_rows == 0))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"init\": \"%s\" starts from sample rows, but there are none",
					   call->init.text),
				errhint("Pass a spec made by sketch_spec_agg, which keeps sample rows, as the argument sample."));
}

static void
run(decode_call *call, const fc_spec *sample)
{
	fc_problem_inputs inputs = {
		call->sigma,
		sample,
		call->init.values,
		(Size) call->init.rows
	};
	fc_arena	arena;
	Size		k = (Size) call->k;
	Size		n = call->spec->reduced;

	check_rows(call);
	check_decode_sample(call, sample);
	call->memory.what = "decode";
	charge_memory(&call->memory,
				  k * (n + 2) * sizeof(double) +
				  (call->covariances ? k * n * n * sizeof(double) : 0));
	arena = charged_arena(&call->memory);
	fc_problem_make(&call->sketch, call->decoder, &inputs, &arena,
					&call->problem);
	announce_work(psprintf("decoding %zu clusters from %zu frequencies in %zu dimensions takes",
						   k, call->problem.m, n),
				  fc_decode_operations(n, call->problem.m, k, call->decoder,
									   &call->options),
				  call->quiet, "Lower k, or make the spec with fewer frequencies");
	arena = charged_arena(&call->memory);
	call->result.centroids = alloc_large(k * n * sizeof(double));
	call->result.weights = alloc_large(k * sizeof(double));
	call->result.spreads = alloc_large(k * sizeof(double));
	if (call->covariances)
		call->result.covariances = alloc_large(k * n * n * sizeof(double));
	check_status(fc_decode(&call->problem, k, call->decoder, &call->options,
						   &arena, &call->result));
	release_arena(&arena);
	arena = charged_arena(&call->memory);
	fc_back_project_prepare(&call->sketch, call->result.outliers,
							call->covariances, &arena, &call->lift);
}

/*
 * Raises a notice if the decoder is discretized, or shift without polish, and
 * the frequencies are not Gaussian. These decoders climb a function that is a
 * density estimate only for Gaussian frequencies.
 */
static void
warn_of_law(const decode_call *call)
{
	bool		plain_shift = (call->decoder == FC_DECODE_SHIFT &&
							   !call->options.polish);

	if (call->quiet || call->spec->law == FC_LAW_GAUSSIAN ||
		!(plain_shift || call->decoder == FC_DECODE_DISCRETIZED))
		return;
	ereport(NOTICE,
			errmsg("the sketch has frequencies of law %s, but %s works best with law gaussian",
				   fc_law_name((fc_law) call->spec->law),
				   plain_shift ? "shift without polish" : "discretized"),
			plain_shift
			? errhint("Leave option \"polish\" true, or make the spec with law gaussian.")
			: errhint("Decode with shift, clompr or auto, or make the spec with law gaussian."));
}

/*
 * Returns true if the decoder fits the widths of its atoms to the clusters.
 * Only then does a large residual of the sketch show a poor fit.
 */
static bool
fits_widths(const decode_call *call)
{
	return call->decoder == FC_DECODE_AUTO ||
		(call->decoder != FC_DECODE_DISCRETIZED && call->options.polish &&
		 call->options.model == FC_MODEL_DIRAC);
}

/*
 * Returns the ratio of the largest to the smallest standard deviation of the
 * rows in the coordinates of the spec. Ignores columns with a single value;
 * returns 1 if no column varies.
 */
static double
ratio_of_deviations(const fc_problem *problem)
{
	double		smallest = INFINITY;
	double		largest = 0;

	for (size_t i = 0; i < problem->n; i++)
		if (problem->stddev[i] > 0)
		{
			smallest = Min(smallest, problem->stddev[i]);
			largest = Max(largest, problem->stddev[i]);
		}
	return largest > 0 ? largest / smallest : 1;
}

/*
 * Raises a notice with a hint if the sketch cannot give good centroids: if the
 * rows have moved, too few moments exceed the noise, the rows vary too little,
 * or the fit is poor. Raises another notice if k exceeds MAX_DECODED_CLUSTERS.
 * Raises none if call->quiet is set, or if the decoder does not fit the widths
 * of its atoms.
 */
static void
warn_of_limits(const decode_call *call)
{
	const fc_decode_result *result = &call->result;
	Size		unknowns = (Size) call->k * (call->spec->reduced + 1);

	if (call->quiet || !fits_widths(call))
		return;
	if (result->moved)
		ereport(NOTICE,
				errmsg("the rows have moved away from where the sample of the spec had its clusters"),
				errhint("Make a new spec from a sample of these rows."));
	else if (result->informative < unknowns)
		ereport(NOTICE,
				errmsg("%zu of %zu moments rise above the noise of the rows, too few for %d clusters in %u dimensions",
					   result->informative, call->problem.m, call->k,
					   call->spec->reduced),
				errhint("Make a spec for %d clusters from a sample of these rows.",
						call->k));
	else if (call->k > 1 &&
			 fc_problem_deviation(&call->problem) < NARROW_SIGMAS)
		ereport(NOTICE,
				errmsg("the rows vary by only %.2g sigma: the sketch can hardly separate clusters",
					   fc_problem_deviation(&call->problem)),
				errhint("Make a new spec from a sample of these rows."));
	else if (result->relative_residual > POOR_RESIDUAL &&
			 result->cost > 4 * result->noise &&
			 (uint32) call->k >= call->spec->clusters)
		ereport(NOTICE,
				errmsg("the centroids explain the sketch poorly: %.0f %% of it remains unexplained",
					   100 * result->relative_residual),
				ratio_of_deviations(&call->problem) > UNEQUAL_DEVIATIONS
				? errhint("The standard deviations of the columns differ by a factor of %.2g. Make the spec and the sketches of scaled columns, as encode_row returns them by default.",
						  ratio_of_deviations(&call->problem))
				: call->spec->sample_centroids > 0
				? errhint("Make a new spec from a sample of these rows, or increase k.")
				: errhint("Make the spec with sketch_spec_agg from a sample of these rows."));
	if (call->k > MAX_DECODED_CLUSTERS)
		ereport(NOTICE,
				errmsg("with %d clusters, centroids decoded from a sketch are a few percent worse than centroids of k-means",
					   call->k),
				errhint("Improve them with scans of lloyd_step_agg."));
}

static void
read_centroid(const decode_call *call, int32 j, double *x)
{
	fc_back_project_centroid(&call->lift,
							 call->result.centroids +
							 (Size) j * call->spec->reduced,
							 x);
	if (fc_spec_metric(call->spec) == FC_COSINE)

		/*
		 * The mean of unit vectors is shorter than 1 and must be scaled to
		 * length 1. A zero mean has no direction and stays 0.
		 */
		(void) fc_unit_row(x, call->spec->dim, x);
}

void
decode_clusters(decode_call *call, fc_sketch *sketch, int32 k, Jsonb *options,
				text_or_rows init, const fc_spec *sample, double *centroids)
{
	call->sketch = fc_sketch_view_of(sketch);
	call->spec = call->sketch.spec;
	call->k = k;
	read_decoder(call, "auto", options);
	call->init = init;
	run(call, sample);
	warn_of_limits(call);
	for (int32 j = 0; j < k; j++)
	{
		read_centroid(call, j, centroids + (Size) j * call->spec->dim);
		call->result.spreads[j] *= fc_spread_unit(call->spec);
	}
}

PG_FUNCTION_INFO_V1(fastclust_decode);
Datum
fastclust_decode(PG_FUNCTION_ARGS)
{
	decode_call call = {0};
	double	   *x;

	fastclust_begin_rows(fcinfo);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	read_arguments(fcinfo, &call);
	run(&call, PG_ARGISNULL(4) ? NULL : SPEC_ARG(4));
	warn_of_law(&call);
	warn_of_limits(&call);
	x = palloc(call.spec->dim * sizeof(double));
	for (int32 j = 0; j < call.k; j++)
	{
		Datum		values[7];

		read_centroid(&call, j, x);
		values[0] = Int32GetDatum(j);
		values[1] = make_float8_array(x, (int) call.spec->dim);
		values[2] = Float8GetDatum(call.result.weights[j]);
		values[3] = Float8GetDatum(call.result.spreads[j] *
								   fc_spread_unit(call.spec));
		values[4] = Float8GetDatum(call.result.cost);
		values[5] = Float8GetDatum(call.result.relative_residual);
		values[6] = Int32GetDatum(call.result.iterations);
		put_row(fcinfo, values, NULL);
	}
	return (Datum) 0;
}

static Datum
make_matrix(const double *values, int rows, int columns)
{
	Size		count = (Size) rows * (Size) columns;
	Datum	   *elements = alloc_large(count * sizeof(Datum));
	int			sizes[2] = {rows, columns};
	int			starts[2] = {1, 1};
	Datum		matrix;

	for (Size i = 0; i < count; i++)
		elements[i] = Float8GetDatum(values[i]);
	matrix = PointerGetDatum(construct_md_array(elements, NULL, 2, sizes,
												starts, FLOAT8OID,
												sizeof(float8), FLOAT8PASSBYVAL,
												TYPALIGN_DOUBLE));
	pfree(elements);
	return matrix;
}

/*
 * Returns the covariance matrix of each cluster, which requires model
 * gaussian.
 */
PG_FUNCTION_INFO_V1(fastclust_decode_covariances);
Datum
fastclust_decode_covariances(PG_FUNCTION_ARGS)
{
	decode_call call = {0};
	Size		square;
	double	   *covariance;

	fastclust_begin_rows(fcinfo);
	if (PG_ARGISNULL(0))
		return (Datum) 0;
	call.covariances = true;
	read_arguments(fcinfo, &call);
	run(&call, PG_ARGISNULL(4) ? NULL : SPEC_ARG(4));
	square = (Size) call.spec->dim * call.spec->dim;
	if (call.options.model != FC_MODEL_GAUSSIAN)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("only model \"gaussian\" fits covariances"),
				errhint("Decode with decoder shift and option model gaussian."));
	call.memory.what = "a covariance matrix";
	charge_memory(&call.memory, square * (sizeof(double) + 2 * sizeof(Datum)));
	covariance = alloc_large(square * sizeof(double));
	for (int32 j = 0; j < call.k; j++)
	{
		Datum		values[2] = {Int32GetDatum(j)};

		fc_back_project_covariance(&call.lift,
								   call.result.covariances +
								   (Size) j * call.spec->reduced *
								   call.spec->reduced,
								   covariance);
		values[1] = make_matrix(covariance, (int) call.spec->dim,
								(int) call.spec->dim);
		put_row(fcinfo, values, NULL);
		pfree(DatumGetPointer(values[1]));
	}
	return (Datum) 0;
}

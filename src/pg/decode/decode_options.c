/* decode_options.c - decoders by name, and their options */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/jsonb.h"

#include "decode/decode.h"
#include "pg/base/errors.h"
#include "pg/base/options.h"
#include "pg/decode/decode.h"
#include "sketch/spec.h"

static const choice decoders[] = {
	{"auto", FC_DECODE_AUTO}, {"clompr", FC_DECODE_CLOMPR}, {"shift", FC_DECODE_SHIFT}, {"discretized", FC_DECODE_DISCRETIZED}
};
static const choice models[] = {{"dirac", FC_MODEL_DIRAC}, {"gaussian", FC_MODEL_GAUSSIAN}};
static const choice inits[] = {
	{"default", FC_INIT_DEFAULT}, {"range", FC_INIT_RANGE}, {"sample", FC_INIT_SAMPLE}, {"kmeans++", FC_INIT_KMEANSPP}
};

static void
notice_progress(void *context, const char *stage, int step, double cost)
{
	ereport(NOTICE, (errmsg("decode: %s %d, cost %.6g", stage, step, cost)));
}

/* The Gaussian model reads covariances off a field that only Gaussian frequencies make. */
static void
check_model(const decode_call *call)
{
	if (call->options.model != FC_MODEL_GAUSSIAN)
		return;
	if (call->decoder != FC_DECODE_SHIFT && call->decoder != FC_DECODE_DISCRETIZED)
		REJECT(INVALID_PARAMETER_VALUE, errmsg("model \"gaussian\" is for the decoders shift and discretized"),
			   errhint("auto fits Gaussian atoms by itself."));
	if (call->spec->law != FC_LAW_GAUSSIAN)
		REJECT(INVALID_PARAMETER_VALUE, errmsg("model \"gaussian\" needs frequencies of law gaussian, not %s",
											   fc_law_name((fc_law) call->spec->law)),
			   errhint("Make the spec with law gaussian."));
	if (call->spec->reduced > FC_MAX_SHAPED)
		REJECT(INVALID_PARAMETER_VALUE, errmsg("model \"gaussian\" in %u dimensions", call->spec->reduced),
			   errdetail("It takes at most %d.", FC_MAX_SHAPED));
}

static void
check_init(const decode_call *call)
{
	const text_or_rows *init = &call->init;

	if (init->rows > call->k)
		REJECT(INVALID_PARAMETER_VALUE, errmsg("option \"init\" has %d centroids, but k is %d", init->rows, call->k));
	if (init->rows > 0 && (uint32) init->columns != call->spec->dim)
		REJECT(DATA_EXCEPTION, errmsg("option \"init\" has centroids of %d dimensions, but the sketch has %u",
									  init->columns, call->spec->dim));
}

static void
check_sigma(const decode_call *call)
{
	const double *sigmas = fc_spec_sigmas(call->spec);
	StringInfoData list;

	if (call->sigma <= 0 || fc_scale_of_sigma(call->spec, call->sigma) < call->spec->scales)
		return;
	initStringInfo(&list);
	for (uint32 s = 0; s < call->spec->scales; s++)
		appendStringInfo(&list, "%s%g", s > 0 ? ", " : "", sigmas[s]);
	REJECT(INVALID_PARAMETER_VALUE, errmsg("the sketch has no sigma %g", call->sigma),
		   errhint("It has %s.", list.data));
}

void
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
		{"model", OPTION_TEXT, &model, 0, 0},
		{"init", OPTION_TEXT_OR_ROWS, &call->init, -1e300, 1e300},
		{"sigma", OPTION_FLOAT, &call->sigma, 1e-300, 1e300},
		{"verbose", OPTION_BOOL, &call->verbose, 0, 0},
		{"quiet", OPTION_BOOL, &call->quiet, 0, 0}
	};

	*options = fc_decode_defaults();
	call->decoder = (fc_decoder) choice_of_name("decoder", name, decoders, lengthof(decoders));
	read_options(json, known, lengthof(known));
	options->model = (fc_model) choice_of_name("option \"model\":", model, models, lengthof(models));
	if (call->init.text != NULL)
		options->init = (fc_init) choice_of_name("option \"init\":", call->init.text, inits, lengthof(inits));
	if (call->verbose)
		options->progress = notice_progress;
	check_model(call);
	check_init(call);
	check_sigma(call);
}

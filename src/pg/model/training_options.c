/* training_options.c - the options of train, retrain, retrain_with_sketch and choose_k: names, types, ranges */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"

#include "base/fc.h"
#include "pg/base/arguments.h"
#include "pg/base/metric.h"
#include "pg/base/options.h"

enum
{
	TRAIN = 1,
	RETRAIN = 2,
	WITH_SKETCH = 4,
	CHOOSE_K = 8
};

static const choice functions[] = {
	{"train", TRAIN},
	{"retrain", RETRAIN},
	{"retrain_with_sketch", WITH_SKETCH},
	{"choose_k", CHOOSE_K}
};

/* An option, and which functions know it.  SQL reads the values, whose defaults depend on the rows. */
typedef struct training_option
{
	option		option;
	int			functions;
} training_option;

static const training_option training_options[] = {
	{{"group_by", OPTION_TEXT, NULL, 0, 0}, TRAIN | RETRAIN},
	{{"where", OPTION_TEXT, NULL, 0, 0}, TRAIN | RETRAIN | CHOOSE_K},
	{{"seed", OPTION_SEED, NULL, 0, 0}, TRAIN | RETRAIN | CHOOSE_K},
	{{"sample_rows", OPTION_INT, NULL, 100, 1e9}, TRAIN | RETRAIN | CHOOSE_K},
	{{"sample", OPTION_TEXT, NULL, 0, 0}, TRAIN | RETRAIN | CHOOSE_K},
	{{"trim", OPTION_FLOAT, NULL, 0, 0.5}, TRAIN | RETRAIN | CHOOSE_K},
	{{"polish", OPTION_INT, NULL, 0, 1000}, TRAIN | RETRAIN},
	{{"iterations", OPTION_INT, NULL, 0, 1000}, TRAIN | RETRAIN},
	{{"tolerance", OPTION_FLOAT, NULL, 0, 1}, TRAIN | RETRAIN},
	{{"frequencies", OPTION_INT, NULL, 1, 4194304}, TRAIN | RETRAIN},
	{{"standardize", OPTION_BOOL, NULL, 0, 0}, TRAIN | RETRAIN | CHOOSE_K},
	{{"transform", OPTION_TEXT_OR_OBJECT, NULL, 0, 0}, TRAIN | RETRAIN | CHOOSE_K},
	{{"weight", OPTION_OBJECT, NULL, 0, 0}, TRAIN | RETRAIN | CHOOSE_K},
	{{"nulls", OPTION_TEXT_OR_OBJECT, NULL, 0, 0}, TRAIN | RETRAIN | CHOOSE_K},
	{{"categories", OPTION_INT, NULL, 1, FC_MAX_ENCODED}, TRAIN | RETRAIN | CHOOSE_K},
	{{"paths", OPTION_OBJECT, NULL, 0, 0}, TRAIN | RETRAIN | CHOOSE_K},
	{{"kernel", OPTION_TEXT, NULL, 0, 0}, TRAIN | RETRAIN},
	{{"landmarks", OPTION_INT, NULL, 1, 10000}, TRAIN | RETRAIN},
	{{"rank", OPTION_INT, NULL, 1, 502}, TRAIN | RETRAIN},
	{{"factorize", OPTION_TEXT, NULL, 0, 0}, TRAIN | RETRAIN},
	{{"factorize_options", OPTION_OBJECT, NULL, 0, 0}, TRAIN | RETRAIN},
	{{"align", OPTION_BOOL, NULL, 0, 0}, TRAIN | RETRAIN},
	{{"contamination", OPTION_FLOAT, NULL, 1e-9, 0.999}, TRAIN | RETRAIN},
	{{"metric", OPTION_TEXT, NULL, 0, 0}, TRAIN | RETRAIN | CHOOSE_K},
	{{"spherical", OPTION_BOOL, NULL, 0, 0}, TRAIN | RETRAIN | CHOOSE_K},
	{{"levels", OPTION_FLOATS, NULL, 1, FC_MAX_CLUSTERS}, TRAIN | RETRAIN},
	{{"probes", OPTION_INT, NULL, 1, FC_MAX_CLUSTERS}, TRAIN | RETRAIN},
	{{"balance", OPTION_FLOAT, NULL, 1, 1e6}, TRAIN | RETRAIN},
	{{"frozen", OPTION_BOOL, NULL, 0, 0}, RETRAIN},
	{{"live", OPTION_BOOL, NULL, 0, 0}, TRAIN | RETRAIN | CHOOSE_K},
	{{"bucket", OPTION_TEXT, NULL, 0, 0}, TRAIN | RETRAIN},
	{{"bucket_width", OPTION_TEXT, NULL, 0, 0}, TRAIN | RETRAIN},
	{{"half_life", OPTION_TEXT, NULL, 0, 0}, TRAIN | RETRAIN},
	{{"fresh", OPTION_BOOL, NULL, 0, 0}, TRAIN | RETRAIN | WITH_SKETCH},
	{{"keep", OPTION_INT, NULL, 0, 1e6}, TRAIN | RETRAIN | WITH_SKETCH},
	{{"nowait", OPTION_BOOL, NULL, 0, 0}, TRAIN | RETRAIN | WITH_SKETCH},
	{{"quiet", OPTION_BOOL, NULL, 0, 0}, TRAIN | RETRAIN | WITH_SKETCH},
	{{"k", OPTION_INT, NULL, 1, FC_MAX_CLUSTERS}, RETRAIN | WITH_SKETCH},
	{{"method", OPTION_TEXT, NULL, 0, 0}, RETRAIN},
	{{"relation", OPTION_TEXT, NULL, 0, 0}, RETRAIN},
	{{"replace", OPTION_BOOL, NULL, 0, 0}, WITH_SKETCH}
};

/* One that only another function knows. */
static void
reject_elsewhere(Jsonb *options, const training_option *known, int function, const char *name)
{
	JsonbValue	key = {.type = jbvString,.val.string = {(int) strlen(known->option.name), (char *) known->option.name}};

	if ((known->functions & function) || !JB_ROOT_IS_OBJECT(options) || findJsonbValueFromContainer(&options->root, JB_FOBJECT, &key) == NULL)
		return;
	for (int i = 0; i < lengthof(functions); i++)
		if (known->functions & functions[i].value)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("option \"%s\" is not one of %s", known->option.name, name),
					 errhint("It is one of %s.", functions[i].name)));
}

/* (options, function): an error where the function does not know one of them, or it is out of range. */
PG_FUNCTION_INFO_V1(fastclust_check_training_options);
Datum
fastclust_check_training_options(PG_FUNCTION_ARGS)
{
	option		known[lengthof(training_options)];
	int			count = 0;
	int			function;
	char	   *name;

	require_argument(fcinfo, 0, "options");
	require_argument(fcinfo, 1, "function");
	name = text_to_cstring(PG_GETARG_TEXT_PP(1));
	function = choice_of_name("function", name, functions, lengthof(functions));
	for (int i = 0; i < lengthof(training_options); i++)
	{
		reject_elsewhere(PG_GETARG_JSONB_P(0), &training_options[i], function, name);
		if (training_options[i].functions & function)
			known[count++] = training_options[i].option;
	}
	read_options(PG_GETARG_JSONB_P(0), known, count);
	PG_RETURN_VOID();
}

/* (metric, spherical): the metric that a training is of, of its options; one without means is an error. */
PG_FUNCTION_INFO_V1(fastclust_training_metric);
Datum
fastclust_training_metric(PG_FUNCTION_ARGS)
{
	char	   *name = PG_ARGISNULL(0) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(0));
	fc_metric	metric = metric_of_options(name, !PG_ARGISNULL(1) && PG_GETARG_BOOL(1));

	check_metric_has_means(metric);
	PG_RETURN_TEXT_P(cstring_to_text(fc_metric_name(metric)));
}

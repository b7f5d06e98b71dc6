/*
 * spec.c - choices made from the sample before the scan: the specs of the
 * sketch and of the drift counts, and the kernel map
 *
 * A sketch that will be decoded needs frequencies that fit the clusters of the
 * sample, and keeps some sample rows for the decoder. A sketch that is only
 * compared needs a few hundred frequencies in all dimensions. Groups share one
 * spec.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "decode/decode.h"
#include "pg/base/progress.h"
#include "pg/drift/drift_value.h"
#include "pg/operator/operator_value.h"
#include "pg/rkhs/kernel.h"
#include "pg/sketch/sketch_value.h"
#include "pg/train/density.h"
#include "pg/train/log.h"
#include "pg/train/query.h"
#include "pg/train/relation.h"
#include "pg/train/sample.h"
#include "pg/train/scan.h"
#include "pg/train/spec.h"
#include "sketch/spec.h"
#include "sketch/spec_of_sample.h"

/*
 * Default number of frequencies if the method is not compressive, so that the
 * sketch serves only the test of drift. With more frequencies, smaller changes
 * are found, but scans are slower. A guess.
 */
#define DEFAULT_FREQUENCIES	400

/*
 * Maximum number of clusters, and of rows, from which the spec is chosen if
 * the method is not compressive. The width of these clusters stands for the
 * width of all clusters. Larger numbers take longer. Guesses.
 */
#define MAX_SPEC_CLUSTERS	256
#define MAX_SPEC_ROWS	8192

/*
 * Maximum number of groups whose specs are computed: the largest groups in the
 * sample. The median of their specs is used for all groups. More groups take
 * longer. A guess.
 */
#define LARGEST_GROUPS	16

/*
 * Minimum number of rows from which the width of a kernel is chosen. Twice the
 * number of landmarks is used instead if that is more. More rows take longer.
 * A guess.
 */
#define MIN_MAP_ROWS	3000

extern Datum fastclust_nystroem(PG_FUNCTION_ARGS);
extern Datum fastclust_rbf_kernel(PG_FUNCTION_ARGS);
extern Datum fastclust_kernel_in(PG_FUNCTION_ARGS);

/* ---- the spec of a sketch that is decoded ---- */

static double *
copied(const double *values, Size d)
{
	return memcpy(palloc(d * sizeof(double)), values, d * sizeof(double));
}

/*
 * Converts a spec for scaled rows to a spec for unscaled rows. shared: drop
 * the sample rows and centroids in the spec, because groups share it.
 */
static fc_spec *
for_raw_rows(const training *t, const fc_spec *spec, bool shared)
{
	fc_spec_fields fields = fc_spec_fields_of(spec);

	if (t->scaling.center != NULL)
		/* overwrites its arguments, so copies are passed */
		fc_spec_fields_rescale(&fields, copied(t->scaling.center, t->dim),
							   copied(t->scaling.scale, t->dim));
	if (shared)
		fields.sample_rows = fields.sample_centroid_count = 0;
	return build_spec(&fields);
}

/* Returns options for sketch_spec_agg, as jsonb. */
static Datum
spec_settings(const training *t)
{
	StringInfoData settings;

	initStringInfo(&settings);
	appendStringInfo(&settings, "{\"seed\": " INT64_FORMAT, t->options->seed);
	if (t->source.cosine)
		appendStringInfoString(&settings, ", \"metric\": \"cosine\"");
	if (t->source.sparse)
		appendStringInfoString(&settings, ", \"center\": \"zero\"");
	if (!isnan(t->options->frequencies) || t->method != METHOD_COMPRESSIVE)
		appendStringInfo(&settings, ", \"frequencies\": %.0f",
						 given_or(t->options->frequencies, DEFAULT_FREQUENCIES));
	appendStringInfoChar(&settings, '}');
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(settings.data));
}

static int
by_sigma(const void *a, const void *b)
{
	const fc_spec *x = *(fc_spec *const *) a;
	const fc_spec *y = *(fc_spec *const *) b;

	return x->sigma < y->sigma ? -1 : x->sigma > y->sigma;
}

static int
largest_first(const void *a, const void *b)
{
	const group_sample *x = a;
	const group_sample *y = b;

	return x->rows->n > y->rows->n ? -1
		: x->rows->n < y->rows->n ? 1
		: strcmp(x->group, y->group);
}

/* Chooses a spec for scaled rows from an unscaled sample. */
static fc_spec *
spec_of_sample(const training *t, const fc_weighted_rows *sample,
			   Size clusters)
{
	const fc_weighted_rows *rows = rescaled_rows(even_rows(sample, (uint64) t->options->seed),
												 no_scaling, t->scaling);

	return spec_of_rows(numbers_of_rows(rows), rows->n, rows->d, (int32) clusters,
						DatumGetJsonbP(spec_settings(t)));
}

/*
 * Computes specs for the largest groups of the sample, and returns the one
 * with the median cluster width. Returns NULL if that spec projects rows to
 * fewer dimensions, or if the largest group has no more than k rows.
 */
static fc_spec *
spec_of_groups(const training *t, double wanted)
{
	int			count;
	int			found = 0;
	group_sample *samples = sample_groups(t, wanted, wanted, &count);
	fc_spec    *specs[LARGEST_GROUPS];

	qsort(samples, (Size) count, sizeof(group_sample), largest_first);
	for (int i = 0;
		 i < count && i < LARGEST_GROUPS && samples[i].rows->n > t->k; i++)
		specs[found++] = spec_of_sample(t, samples[i].rows, t->k);
	qsort(specs, (Size) found, sizeof(fc_spec *), by_sigma);
	return found > 0 && specs[found / 2]->reduced == specs[found / 2]->dim
		? for_raw_rows(t, specs[found / 2], true)
		: NULL;
}

static fc_spec *
decoded_spec(const training *t, const fc_weighted_rows *sample)
{
	bool		many = t->k > MAX_SPEC_CLUSTERS && t->method != METHOD_COMPRESSIVE;
	query_argument arguments[] = {
		{"regclass", ObjectIdGetDatum(t->source.id)},
		{"_name", PointerGetDatum(array_of_names(t->source.features, t->source.feature_count))},
		{"jsonb", JsonbPGetDatum(t->stored)}
	};
	fc_spec    *spec = NULL;

	/*
	 * Take the spec of a live sketch that is ready and counts the same rows,
	 * if such a live sketch exists.
	 */
	if (t->options->live.follow != LIVE_AS_BEFORE)
		spec = (fc_spec *) DatumGetPointer(query_datum("SELECT l.spec FROM live_of_rows($1,"
													   " $2, true, $3, true) l",
													   lengthof(arguments), arguments, 0, NULL));
	if (spec == NULL && t->source.group_by != NULL)
		spec = spec_of_groups(t, sample->n);
	if (spec != NULL)
		return spec;
	spec = spec_of_sample(t, many ? first_rows(sample, MAX_SPEC_ROWS) : sample,
						  many ? MAX_SPEC_CLUSTERS : t->k);
	return for_raw_rows(t, spec, t->source.group_by != NULL);
}

bool
is_followed(const training *t)
{
	query_argument id = {"int8", Int64GetDatum(t->model_id)};

	return DatumGetBool(query_datum("SELECT (model_live($1)).id IS NOT NULL", 1,
									&id, 0, NULL));
}

bool
stays_live(const training *t)
{
	live_choice follow = t->options->live.follow;

	return follow == LIVE_ON || (follow == LIVE_AS_BEFORE && is_followed(t));
}

/*
 * Announces how long decoding will take, before the sketch is computed. Raises
 * an error if that exceeds the time budget.
 */
static void
announce_decoding(const training *t)
{
	double		frequencies = given_or(t->options->frequencies, 0);
	fc_spec_options spec = {
		.clusters = t->k,
		.frequencies = (Size) frequencies
	};
	fc_decode_options decode = fc_decode_defaults();
	Size		n;
	Size		m = fc_spec_frequencies(t->dim, &spec, &n);

	announce_work(psprintf("decoding %zu clusters from %zu frequencies in %zu dimensions%s takes",
						   t->k, m, n,
						   t->groups > 1 ? psprintf(" for %.0f groups", t->groups) : ""),
				  t->groups * fc_decode_operations(n, m, t->k, FC_DECODE_AUTO, &decode),
				  false, "Lower k or option frequencies, or use method kmeans");
}

/*
 * Chooses the specs of the sketch and of the drift counts from the sample.
 * Only a sketch that will be decoded needs many frequencies, which may be
 * restricted to leading axes of the sample. Drift tests use frequencies in all
 * dimensions.
 */
void
choose_specs(training *t, const fc_weighted_rows *sample)
{
	TimestampTz begun = begin_step(t, "spec");

	if (t->method == METHOD_COMPRESSIVE)
		announce_decoding(t);
	t->drift_spec = drift_spec_of_rows(sample, t->options->seed);
	t->decodable = t->method == METHOD_COMPRESSIVE ||
		(t->method != METHOD_DENSITY && stays_live(t));
	t->spec = t->decodable ? decoded_spec(t, sample) :
		wave_spec_of_rows(sample, t->source.sparse, t->options->seed);
	if (t->method == METHOD_DENSITY && stays_live(t))
		check_live_size(t);
	log_step(t, "spec", begun, NAN,
			 psprintf("%u frequencies%s", t->spec->frequencies,
					  t->source.group_by != NULL ? " for all groups" : ""));
}

/* ---- kernel: the features of a map ---- */

/*
 * Returns the kernel of option "kernel", or by default an rbf kernel with
 * gamma = 1 / (variance of the rows).
 */
static fc_kernel *
kernel_of_rows(const training *t, const fc_weighted_rows *rows)
{
	char	   *kernel = t->options->kernel;
	double	   *mean = palloc(t->dim * sizeof(double));
	double	   *deviation = palloc(t->dim * sizeof(double));
	double		variance = 0;

	if (kernel != NULL)
	{
		fc_kernel  *given = ((fc_kernel *)
							 DatumGetPointer(DirectFunctionCall1(fastclust_kernel_in,
																 CStringGetDatum(kernel))));

		reject_precomputed(given, "train");
		return given;
	}
	fc_weighted_moments(rows, mean, deviation);
	for (Size i = 0; i < t->dim; i++)
		variance += deviation[i] * deviation[i];
	return (fc_kernel *)
		DatumGetPointer(DirectFunctionCall1(fastclust_rbf_kernel,
											Float8GetDatum(1 / (variance > 0
																? variance
																: 1))));
}

/*
 * Chooses the landmarks from the sample, and the kernel map. Options kernel
 * and rank select plain Nystrom features; without them, the width of the
 * kernel is chosen on some rows of the sample (core/rkhs/map.h).
 */
void
choose_map(training *t, const fc_weighted_rows *sample)
{
	TimestampTz begun;
	double		wanted = given_or(t->options->landmarks,
								  Min(500, Max(200, 10 * (double) t->k)));
	const fc_weighted_rows *rows;
	fc_kernel_map map;

	if (t->method != METHOD_KERNEL)
		return;
	begun = begin_step(t, "map");
	rows = rescaled_rows(sample, no_scaling, t->scaling);
	if (t->options->kernel == NULL && isnan(t->options->rank))
	{
		Size		some = (Size) Max(MIN_MAP_ROWS, 2 * wanted);

		t->map = spectral_map(first_rows(rows, some), t->k,
							  (Size) wanted,
							  t->options->seed);
	}
	else
	{
		kernel_rows candidates = {
			.kernel = *kernel_of_rows(t, rows),
			.rank = (int32) wanted,
			.seed = (uint64) t->options->seed,
			.width = sizeof(double),
			.n = rows->n,
			.d = (int32) rows->d,
			.x = (char *) numbers_of_rows(rows)
		};
		fc_codebook *landmarks;
		double		rank;

		landmarks = landmarks_of(&candidates);
		rank = Min(landmarks->k,
				   given_or(t->options->rank, Max(10, 3 * (double) t->k)));

		t->map = (fc_kernel_map_header *)
			DatumGetPointer(DirectFunctionCall3(fastclust_nystroem,
												PointerGetDatum(landmarks),
												PointerGetDatum(&candidates.kernel),
												Int32GetDatum((int32) rank)));
	}
	fc_kernel_map_view(t->map, &map);
	log_step(t, "map", begun, NAN,
			 psprintf("%zu landmarks, kernel %s", map.op.k,
					  kernel_text(&map.kernel)));
}

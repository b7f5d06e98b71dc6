/*
 * decoded.c - versions made from a sketch alone: from a live sketch, or from
 * the training sketch and a sketch of new rows.
 *
 * No row is read, and the table need not exist any more. Each group starts
 * from the same group of the serving version and keeps its scaling, its spec,
 * its distance quantiles and the null distribution of its drift test. decode
 * computes the centroids, weights and spreads. store.c writes the groups, like
 * the groups of a training.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/timestamp.h"

#include "pg/decode/decode.h"
#include "pg/drift/drift_value.h"
#include "pg/model/model.h"
#include "pg/operator/operator_value.h"
#include "pg/sketch/sketch_value.h"
#include "pg/train/checks.h"
#include "pg/train/decoded.h"
#include "pg/train/density.h"
#include "pg/train/log.h"
#include "pg/train/options.h"
#include "pg/train/query.h"
#include "pg/train/serving.h"
#include "pg/train/store.h"
#include "pg/train/version.h"
#include "sketch/sketch.h"

/*
 * Number of rows that are drawn from the clusters of a version with option
 * fresh: DRAWN_NUMBERS divided by the number of coordinates, but at least
 * MIN_DRAWN and at most MAX_DRAWN. With more rows, the quantiles of the
 * distances are more exact and take more time. Guesses.
 */
#define MIN_DRAWN	512
#define MAX_DRAWN	8192
#define DRAWN_NUMBERS	4000000

/*
 * Number of rows from which the null distribution of the sketch is estimated.
 * With more rows, it is more exact. Each pair of rows costs one multiply-add
 * per frequency of the sketch. A guess.
 */
#define NULL_LAW_ROWS	512

/* ---- decode ---- */

static fc_sketch *
packed_sketch(Datum value)
{
	return sketch_pack(aligned_value(value));
}

decoded_clusters
decode_sketch(const training *t, const fc_sketch *sketch,
			  const fc_spec *spec, Size k, const fc_operator_header *initial,
			  bool quiet, bool forget)
{
	char	   *settings = psprintf("{\"seed\": " INT64_FORMAT ", \"quiet\": %s}",
									t->options->seed, quiet ? "true" : "false");
	Jsonb	   *options = DatumGetJsonbP(DirectFunctionCall1(jsonb_in, CStringGetDatum(settings)));
	Size		d = fc_sketch_spec(sketch)->dim;
	decode_call call = {0};
	text_or_rows init = {0};
	double	   *centroids = alloc_large(k * d * sizeof(double));
	decoded_clusters found = {0};
	double		total = 0;
	fc_operator op;

	if (initial != NULL && initial->k <= k)
	{
		open_operator(initial, &op);
		init = (text_or_rows)
		{
			.values = rescaled_centroids(&op, NULL, NULL),
				.rows = (int) op.k,
				.columns = (int) op.d
		};
	}
	if (forget)
	{
		fc_sketch  *copy = copied_value(sketch);

		sketch_forget_bounds(copy);
		sketch = copy;
	}
	decode_clusters(&call, sketch_pack(sketch), (int32) k, options, init, spec,
					centroids);
	found.op = make_codebook_for(t->source.cosine ? FC_COSINE : FC_EUCLIDEAN,
								 centroids, call.result.weights, k, d);
	found.spreads = call.result.spreads;
	for (Size j = 0; j < k; j++)
	{
		found.objective += call.result.weights[j] * found.spreads[j] *
			found.spreads[j];
		total += call.result.weights[j];
	}
	found.objective *= (double) d / total;
	return found;
}

/* ---- a group ---- */

/*
 * Returns the root mean square of the scales, or 1 without scaling. Spreads of
 * unscaled clusters are divided by it. Each spread is an average over all
 * dimensions, so the scale of a single dimension would not fit it.
 */
static double
mean_scale(scaling scaling, Size d)
{
	double		sum = 0;

	if (scaling.scale == NULL)
		return 1;
	for (Size i = 0; i < d; i++)
		sum += scaling.scale[i] * scaling.scale[i];

	return sqrt(sum / (double) d);
}

/*
 * Decodes the clusters of a sketch and scales them. Suppresses the notices of
 * decode, because they suggest another spec. If `fresh` is true, uses the
 * scaling of the old version, but not its centroids, the sample rows in its
 * spec, or the bounds in the sketch.
 */
static decoded_clusters
decode_group(const training *t, Size k, const char *group,
			 const fc_sketch *sketch, const stored_version *old,
			 scaling row_scaling, bool fresh)
{
	Size		d = fc_sketch_spec(sketch)->dim;
	double		unit = mean_scale(row_scaling, d);
	fc_operator_header *initial = (fresh || old->op == NULL
								   ? NULL
								   : rescaled_operator(old->op, row_scaling,
													   no_scaling));
	decoded_clusters found = decode_sketch(t, sketch,
										   fresh ? spec_without_sample(old->spec)
										   : old->spec,
										   k, initial, true, fresh);
	double	   *spreads;
	int32	   *row = NULL;
	int32	   *numbers = NULL;
	int32	   *place;

	found.op = rescaled_operator(found.op, no_scaling, row_scaling);
	found.objective /= unit * unit;
	k = found.op->k;
	if (old->op != NULL)
	{
		row = rows_by_distance(old->op, found.op, true);
		numbers = continued_numbers(old->op, row, k, 0);
	}
	if (numbers == NULL)
		numbers = cluster_numbers_of(found.op, &k);
	spreads = palloc(k * sizeof(double));
	place = places_of_numbers(numbers, k);
	for (Size j = 0; j < k; j++)
		spreads[place[j]] = found.spreads[j] / unit;
	found.op = renumbered(found.op, numbers);
	found.spreads = spreads;
	found.identities = continued_identities(t, numbers, k, row, old->identities);
	return found;
}

/*
 * Sets the spec, the distance quantiles and the null moments of a version with
 * option fresh. The spec is the old one without its sample rows. The
 * quantiles, and the moments of the null distribution of drift, are computed
 * from rows drawn from the new clusters.
 */
static void
set_drawn(record_builder *row, const training *t, const decoded_clusters *found,
		  const stored_version *old, scaling row_scaling)
{
	Size		count = Max(MIN_DRAWN,
							Min(MAX_DRAWN, DRAWN_NUMBERS / found->op->d));
	const fc_weighted_rows *drawn = rows_drawn_from(found->op, found->spreads,
													count, t->options->seed);
	double		places[DISTANCE_QUANTILES];
	double		moments[2];

	quantile_places(places);
	set_value(row, "spec", spec_without_sample(old->spec));
	set_numbers(row, "distance_quantiles",
				profile_of_fit(found->op, drawn, places, DISTANCE_QUANTILES).quantiles,
				DISTANCE_QUANTILES);
	set_numbers(row, "null_moments",
				null_moments_of_rows(rescaled_rows(drawn, row_scaling,
												   no_scaling),
									 old->spec, NULL_LAW_ROWS, moments)
				? moments
				: NULL,
				2);
}

static Datum
decoded_group(const training *t, Size k, const char *group,
			  const fc_sketch *sketch, const void *counts, const void *drift_spec,
			  const stored_version *old)
{
	TimestampTz begun = begin_step(t, "decode");
	bool		fresh = t->options->fresh;
	scaling		row_scaling = scaling_of_version(old,
												 fc_sketch_spec(sketch)->dim);
	decoded_clusters found = decode_group(t, k, group, sketch, old,
										  row_scaling, fresh);
	record_builder row = begin_version(t, group, old->record);
	static const char *const unknown[] = {
		"map",
		"imputed",
		"objective_error",
		"label_churn",
		"recall"
	};

	log_step(t, "decode", begun, found.objective, t->note);
	set_column(&row, "k", Int32GetDatum((int32) k));
	set_value(&row, "operator", found.op);
	set_value(&row, "training_sketch", sketch);
	set_value(&row, "drift_spec", drift_spec);
	set_value(&row, "drift_counts", counts);
	set_column(&row, "n", Int64GetDatum(sketch->count));
	set_numbers(&row, "spreads", found.spreads, found.op->k);
	set_column(&row, "identities", identity_array(found.identities, found.op->k));
	set_number(&row, "objective", found.objective);
	set_value(&row, "paths", DatumGetPointer(level_paths(t, found.op)));
	for (int i = 0; i < lengthof(unknown); i++)
		set_value(&row, unknown[i], NULL);
	if (fresh)
		set_drawn(&row, t, &found, old, row_scaling);
	return end_record(&row);
}

/* ---- versions ---- */

/*
 * Raises an error if the version lacks its operator, method, relation, sketch
 * or spec, which happens only in an edited dump.
 */
static void
check_sketched(const stored_version *version)
{
	if (version->op == NULL || version->method == METHOD_NONE ||
		version->relation == NULL || version->sketch == NULL ||
		version->spec == NULL)
		ereport(ERROR, errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				errmsg("version %d of model \"%s\" has no training sketch",
					   version->version, version->model),
				errhint("Retrain the model on rows."));
}

Jsonb *
next_options(const stored_version *before, const train_options *options)
{
	query_argument settings[] = {
		{"jsonb", JsonbPGetDatum(before->options->json)},
		{"jsonb", JsonbPGetDatum(options->json)}
	};

	return DatumGetJsonbP(query_datum("SELECT jsonb_strip_nulls($1 || $2)"
									  " - '{nowait,k,replace}'::text[]",
									  2, settings, 0, NULL));
}

/*
 * Starts a training that makes a version without reading a relation. The steps
 * are logged like the steps of a training on rows.
 */
static training *
begin_decoded(const locked_model *locked, const stored_version *version,
			  const train_options *options, int64 rows)
{
	training   *t = palloc0(sizeof(training));

	t->source = (train_source)
	{
		.relation = version->relation,
			.owner = version->relation_owner,
			.features = version->features.names,
			.feature_count = version->features.count,
			.is_vector = version->is_vector,
			.encoder = version->encoder
	};
	t->source.cosine = version->options->metric == FC_COSINE;
	t->model_id = locked->id;
	t->model = locked->model;
	t->version = next_version(locked->id);
	t->stored = next_options(version, options);
	t->options = read_train_options(t->stored, FOR_TRAIN);
	t->begun = GetCurrentTimestamp();
	t->method = version->method;
	t->note = psprintf("from a sketch of %lld rows", (long long) rows);
	return t;
}

/*
 * Returns the scaled means of t->k sketches as centroids. Adds to squares[j]
 * (k values) the mean squared distance of the scaled rows of sketch j from
 * their mean.
 */
static fc_operator_header *
rescaled_micro(const training *t, fc_sketch *const *sketches, double *squares)
{
	double	   *n = palloc(t->k * sizeof(double));
	double	   *mean = palloc(t->k * t->dim * sizeof(double));

	for (Size j = 0; j < t->k; j++)
	{
		fc_sketch_view sketch = fc_sketch_view_of(sketches[j]);

		n[j] = (double) sketches[j]->count;
		for (Size i = 0; i < t->dim; i++)
		{
			double		scale = t->scaling.scale == NULL ? 1 : t->scaling.scale[i];
			double		deviation = (sqrt(fc_sketch_variance(&sketch, i)) / scale);

			mean[j * t->dim + i] = (fc_sketch_mean(&sketch, i) -
									(t->scaling.center == NULL
									 ? 0
									 : t->scaling.center[i])) /
				scale;
			squares[j] += deviation * deviation;
		}
	}
	return make_codebook(mean, n, t->k, t->dim);
}

/*
 * Makes the next version of a model of method density. The live sketch has
 * integer sums for each micro-cluster, which are bitwise equal to the sums of
 * a scan. The distance quantiles and the null distribution of drift come from
 * rows drawn from the micro-clusters.
 */
static int32
retrain_live_density(const locked_model *locked, const stored_version *before,
					 Datum live, const train_options *options)
{
	query_argument argument = {"kept_sketches", live};
	SPITupleTable *table;
	fc_sketch **sketches;
	fc_sketch  *sketch = NULL;
	uint64		count;
	Datum		value;
	bool		null;
	training   *t;
	group_fit	fit = {.group = "",.nulls = -1};
	double	   *spreads;

	run_query("SELECT c.s, c.counts FROM model_groups(($1).name, NULL, true) c ORDER BY"
			  " c.group_value::integer",
			  1, &argument, 0);
	table = SPI_tuptable;
	count = SPI_processed;
	SPI_tuptable = NULL;
	sketches = palloc(Max(1, count) * sizeof(fc_sketch *));
	for (uint64 j = 0; j < count; j++)
	{
		value = SPI_getbinval(table->vals[j], table->tupdesc, 1, &null);
		sketches[j] = packed_sketch(value);
		sketch = j == 0 ? sketch_copy(sketches[j]) : sketch_combined(sketch, sketches[j], 1);
		value = SPI_getbinval(table->vals[j], table->tupdesc, 2, &null);
		if (!null)
			fit.counts = fit.counts == NULL ? copied_value(DatumGetPointer(value))
				: drift_counts_combined(fit.counts, aligned_value(value), 1);
	}
	t = begin_decoded(locked, before, options,
					  sketch == NULL ? 0 : sketch->count);
	if (sketch == NULL)
		reject_no_rows(t);
	fit.sketch = sketch;
	value = GetAttributeByName(DatumGetHeapTupleHeader(live), "drift_spec",
							   &null);
	t->dim = fc_sketch_spec(sketch)->dim;
	t->scaling = scaling_of_version(before, t->dim);
	t->spec = before->spec;
	t->drift_spec = null ? NULL : (fc_drift_spec *) aligned_value(value);
	t->recall = NAN;
	t->estimate = (double) sketch->count;
	fit.n = sketch->count;
	fit.weight = (double) sketch->count;
	t->k = (Size) count;
	fit.squares = palloc0(t->k * sizeof(double));
	fit.op = rescaled_micro(t, sketches, fit.squares);
	spreads = palloc(t->k * sizeof(double));
	for (Size j = 0; j < t->k; j++)
		spreads[j] = sqrt(fit.squares[j] / (double) t->dim);
	fit.rows = rows_drawn_from(fit.op, spreads, MAX_DRAWN, t->options->seed);
	read_serving(t);
	find_regions(t, NULL, &fit, 1);
	(void) store_groups(t, rescaled_rows(fit.rows, t->scaling, no_scaling), &fit,
						1);
	start_serving(t);
	SPI_freetuptable(table);
	return t->version;
}

/*
 * Makes the next version of a model of any method except density by decoding
 * the sketch of each group.
 */
static int32
retrain_live_decoded(const locked_model *locked, const stored_version *template,
					 Datum live, const train_options *options)
{
	query_argument arguments[] = {
		{"kept_sketches", live},
		{"int8", Int64GetDatum(locked->id)},
		{"int4", Int32GetDatum(locked->version)},
		{"jsonb"},
		text_argument(template->model)
	};
	int64		k;
	int64		rows = 0;
	training   *t;
	SPITupleTable *table;
	uint64		count;
	Datum	   *records;
	Jsonb	   *since = since_of_retraining(template, options);

	arguments[3].value = JsonbPGetDatum(since);
	arguments[3].null = since == NULL;
	run_query("SELECT c.group_value, c.s, c.counts, ($1).group_by,"
			  " ($1).drift_spec, CASE WHEN v.model_id IS NOT NULL THEN ROW(v.*)::stored_versions END"
			  "  FROM (SELECT COALESCE(group_of($5, $3, g.group_value), '') AS group_value, g.s,"
			  " g.counts FROM model_groups(($1).name, $4) g) c LEFT JOIN readable_versions v ON"
			  " v.model_id = $2 AND v.version = $3 AND v.group_value = c.group_value"
			  " ORDER BY c.group_value COLLATE \"C\"",
			  lengthof(arguments), arguments, 0);
	table = SPI_tuptable;
	count = SPI_processed;
	SPI_tuptable = NULL;
	records = palloc(Max(1, count) * sizeof(Datum));
	for (uint64 i = 0; i < count; i++)
	{
		bool		null;

		rows += packed_sketch(SPI_getbinval(table->vals[i], table->tupdesc, 2,
											&null))->count;
	}
	t = begin_decoded(locked, template, options, rows);
	k = clusters_of_retraining(template, options, t->options);
	t->k = (Size) k;
	if (count == 0)
		reject_no_rows(t);
	for (uint64 i = 0; i < count; i++)
	{
		Datum		value[6];
		bool		null[6];
		fc_sketch  *sketch;
		stored_version old = *template;

		for (int j = 0; j < 6; j++)
			value[j] = SPI_getbinval(table->vals[i], table->tupdesc, j + 1,
									 &null[j]);
		sketch = packed_sketch(value[1]);
		if (!null[3])
			t->source.group_by = NameStr(*DatumGetName(value[3]));
		else
			check_k_of_count(t, sketch->count);
		if (!null[5])
		{
			old = open_version(value[5]);
			check_sketched(&old);
		}
		else
			old.op = NULL;
		records[i] = decoded_group(t, (Size) Min(k, sketch->count),
								   TextDatumGetCString(value[0]),
								   sketch,
								   null[2] ? NULL : aligned_value(value[2]),
								   i > 0 || null[4] ? NULL
								   : aligned_value(value[4]),
								   &old);
	}
	write_groups(records, (int) count);
	start_serving(t);
	SPI_freetuptable(table);
	return t->version;
}

int32
retrain_live(const locked_model *locked, const stored_version *template, Datum live,
			 const train_options *options)
{
	check_sketched(template);
	if (template->method == METHOD_DENSITY)
		return retrain_live_density(locked, template, live, options);
	return retrain_live_decoded(locked, template, live, options);
}

int32
retrain_from_sketch(const locked_model *locked, const stored_version *version,
					fc_sketch *rows, const train_options *options)
{
	const char *other = unknown_option(options, FOR_SKETCH);
	training   *t;
	Datum		record;

	if (other != NULL)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"%s\" applies to rows, but a sketch is given", other),
				errhint("With a sketch, options are k, replace, fresh, keep, activate, nowait, quiet."));
	check_sketched(version);
	if ((version->method & (METHOD_KERNEL | METHOD_QKMEANS | METHOD_DENSITY)) ||
		version->spec->law == FC_LAW_GAUSSIAN)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("method \"%s\" of model \"%s\" needs rows",
					   train_method_name(version->method), locked->model),
				errhint("Use retrain without a sketch; a model of method \"compressive\" keeps one to retrain with."));
	if (!fc_spec_same(fc_sketch_spec(rows),
					  fc_sketch_spec(version->sketch)))
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("the sketch was not made with the sketch_spec of model \"%s\"",
					   locked->model),
				errhint("Use sketch_agg(x, (SELECT model_spec(model)))."));
	t = begin_decoded(locked, version, options,
					  rows->count);
	t->k = (Size) clusters_of_retraining(version, options, t->options);
	if (!options->replace)
		rows = sketch_pack(sketch_combined(sketch_copy(version->sketch), rows, 1));
	record = decoded_group(t, t->k, "", rows, NULL, NULL, version);
	write_groups(&record, 1);
	start_serving(t);
	return t->version;
}

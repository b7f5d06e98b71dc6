/*
 * train.c - runs the steps of a training, from a job to a written version, and
 * logs them; train.h lists the steps
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "pg/base/progress.h"
#include "pg/drift/drift_value.h"
#include "pg/encode/encode.h"
#include "pg/kmeans/collection.h"
#include "pg/operator/operator_value.h"
#include "pg/train/checks.h"
#include "pg/train/continued.h"
#include "pg/train/density.h"
#include "pg/train/encoder.h"
#include "pg/train/fit.h"
#include "pg/train/lloyd.h"
#include "pg/train/log.h"
#include "pg/train/query.h"
#include "pg/train/sample.h"
#include "pg/train/scan.h"
#include "pg/train/serving.h"
#include "pg/train/source.h"
#include "pg/train/spec.h"
#include "pg/train/store.h"
#include "pg/train/train.h"
#include "pg/train/units.h"
#include "pg/train/warnings.h"

/*
 * Default of option iterations: maximum number of scans that move the clusters
 * found in a sample. Each further scan lowers the SSE. A guess.
 */
#define DEFAULT_SCANS	10

/* Number of groups above which a notice is raised. A guess. */
#define MAX_UNWARNED_GROUPS	10000

/*
 * Maximum number of clusters for which candidates are searched: centroids
 * found in a sample, which the scan of all rows measures and moves. For more
 * clusters, the uniform sample has too few rows. A guess.
 */
#define MAX_CANDIDATE_CLUSTERS	256

/*
 * Maximum number of groups for which candidates, centroids found in a sample,
 * are searched. A guess.
 */
#define MAX_CANDIDATE_GROUPS	64

/*
 * Minimum number of rows per group in the samples in which candidates, the
 * centroids that the scan measures and moves, are searched. A guess.
 */
#define MIN_GROUP_SAMPLE	3000

/*
 * Number of rows per group in the samples in which candidates are searched, in
 * units of k / tolerance. A Lloyd step reduces the SSE by about the share k /
 * rows, which is then 2/3 of the tolerance. With fewer rows, another scan
 * would follow; more rows take longer. A guess.
 */
#define TOLERANCE_ROWS	1.5

/*
 * Maximum number of rows on which the recall of a search is measured. With
 * more rows, the recall is more exact, and takes more time
 * (bench/index_health.py).
 */
#define MAX_RECALL_ROWS	6000

/*
 * Number of rows from which k is chosen: the larger of EVIDENCE_ROWS and
 * EVIDENCE_NUMBERS / d. In this ratio d is at most EVIDENCE_AXES, because
 * wider rows are projected onto that number of axes. With more rows, more
 * clusters are found, but the time grows in proportion (bench/number.py).
 */
#define EVIDENCE_ROWS	4000.0
#define EVIDENCE_NUMBERS	8e5
#define EVIDENCE_AXES	64

/*
 * Maximum number of clusters if the training chooses k. A larger maximum takes
 * longer and hardly changes the choice (bench/number.py).
 */
#define DEFAULT_MAX_K	50

/* ---- scaling of rows ---- */

/*
 * Returns the scaling of the encoder or, with option standardize, the means
 * and standard deviations of the sample. A dimension that is constant in the
 * sample has scale 1.
 */
static scaling
standard_scaling(const training *t, const fc_weighted_rows *sample)
{
	double	   *mean;
	double	   *deviation;

	if (t->source.encoder != NULL)
		return encoder_scaling(&t->source);
	if (!t->options->standardize)
		return no_scaling;
	mean = palloc(t->dim * sizeof(double));
	deviation = palloc(t->dim * sizeof(double));
	fc_weighted_moments(sample, mean, deviation);
	for (Size i = 0; i < t->dim; i++)
		if (!(deviation[i] > 0))
			deviation[i] = 1;
	return (scaling)
	{
		mean, deviation
	};
}

/* ---- checks of the sample ---- */

/* Returns true if the sample contains all rows. */
static bool
is_whole(const training *t, const fc_weighted_rows *sample)
{
	double		wanted = wanted_rows(t);

	return sample->n < wanted &&
		(t->estimate <= 3 * wanted || sample->n < wanted / 4);
}

/*
 * Returns true if it follows from the sample that groups have fewer than two
 * rows on average: each sampled row has a group of its own, and the sample is
 * large enough. In groups of two, a sample of n of N rows has about n^2 / 2N
 * pairs. A sample without a pair is unlikely if that number is 3 or more.
 */
static bool
all_rows_differ(const training *t, const fc_weighted_rows *sample, double groups)
{
	double		n = (double) sample->n;

	return groups >= n && t->estimate < n * n / 6;
}

/*
 * Raises an error if groups have fewer than two rows on average, and a NOTICE
 * if there are very many groups.
 */
static void
check_groups(const training *t, const fc_weighted_rows *sample, double groups)
{
	if (groups >= 10 && groups > sample->n / 2.0 && is_whole(t, sample))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"group_by\": column \"%s\" has %.0f values in %zu rows",
					   t->source.group_by, groups, sample->n),
				errdetail("Groups of one or two rows have no clusters."),
				errhint("Group by a column that many rows share."));
	if (groups >= 10 && all_rows_differ(t, sample, groups))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"group_by\": column \"%s\" has another value in each of %zu sampled rows",
					   t->source.group_by, sample->n),
				errdetail("Groups of one or two rows have no clusters."),
				errhint("Group by a column that many rows share."));
	if (groups > MAX_UNWARNED_GROUPS && !t->options->quiet)
		ereport(NOTICE,
				errmsg("option \"group_by\": column \"%s\" has %.0f values in a sample of %zu rows",
					   t->source.group_by, groups, sample->n),
				errdetail("Each gets its own clusters and sketch."),
				errhint("If these are more than expected, cancel, and group by a column of fewer values."));
}

/*
 * Raises an error if a training without groups has fewer distinct rows than k.
 * This is only checked if the sample contains all rows.
 */
static void
check_clusters(const training *t, const fc_weighted_rows *sample)
{
	const char *texts;
	Size		different;

	if (!is_whole(t, sample))
		return;
	check_k_of_count(t, sample->n);
	if (t->k <= 1)
		return;
	different = distinct_rows(sample, t->k);
	if (different >= t->k)
		return;
	texts = column_of_other_texts(t, sample);
	ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			errmsg("k is %zu, but %s has only %s%s", t->k,
				   t->source.relation,
				   different == 1 ? "one distinct row"
				   : psprintf("%zu distinct rows", different),
				   source_condition_text(t)),
			errdetail("All other rows are equal to one of these in every column that is clustered."),
			texts == NULL
			? errhint("Lower k, or add a column in which more rows differ.")
			: errhint("Most values of column \"%s\" are rare or long, and count as one category, \"other\". To cluster texts by their meaning, cluster a column of their embeddings or tf-idf vectors.",
					  texts));
}

static void
check_sample(const training *t, const fc_weighted_rows *sample)
{
	if (t->source.group_by != NULL)
		check_groups(t, sample, t->groups);
	else
		check_clusters(t, sample);
	if (t->source.encoder != NULL)
		warn_useless_columns(t, sample,
							 is_whole(t, sample) ? "" : " of a sample");
	warn_columns(t, sample);
}

/* Raises an error if imported centroids and rows have different dimensions. */
static void
check_imported(const training *t)
{
	query_argument names = {"_text"};
	Datum		shown;
	char	   *listed = NULL;

	if (t->imported == NULL || t->imported->d == t->dim)
		return;
	if (t->source.encoder != NULL)
	{
		names.value = PointerGetDatum(dimension_names(t->source.encoder));
		shown = query_datum("SELECT array_to_string($1[:20], ', ')", 1, &names,
							0, NULL);
		listed = TextDatumGetCString(shown);
	}
	ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
			errmsg("centroids have %zu coordinates, but rows of %s have %zu",
				   (Size) t->imported->d, t->source.relation, t->dim),
			listed == NULL
			? 0
			: errhint("The coordinates are %s, in the units of the columns.", listed));
}

/* ---- k from the sample ---- */

/*
 * Returns the first count / 2 rows of each half of the rows, or all rows if
 * there are no more than `count`.
 */
static const fc_weighted_rows *
rows_of_halves(const fc_weighted_rows *rows, Size count)
{
	bool	   *chosen = palloc(rows->n * sizeof(bool));

	if (rows->n <= count)
		return rows;
	for (Size i = 0; i < rows->n; i++)
		chosen[i] = (i < rows->n / 2 ? i : i - rows->n / 2) < count / 2;
	return rows_of_operator(chosen_rows(rows, chosen));
}

/*
 * Returns the evidence for each number of clusters up to `max`, from a limited
 * number of rows. If rows have units, draws another sample, in which all rows
 * of a unit are in one half. If no number is clear, sets t->few_valued.
 */
static fc_choice *
tried_clusters(training *t, const fc_weighted_rows *sample, Size max)
{
	fc_choice  *choice;
	bool		units = t->source.unit != NULL;
	Size		count = (Size) Max(EVIDENCE_ROWS,
								   EVIDENCE_NUMBERS / Min(t->dim, EVIDENCE_AXES));
	const fc_weighted_rows *rows = rows_without_nulls(t, !units ? sample
													  : sample_of_units(t, &t->source, t->dim,
																		unit_halves,
																		(double) count));

	rows = units ? rows_of_halves(rows, count)
		: first_rows(even_rows(rows, (uint64) t->options->seed), count);

	choice = choose_clusters(rows, units, max, t->options->seed, t->options->trim,
							 null_dimensions(&t->source));
	if (choice->verdict == FC_K_UNCLEAR)
		t->few_valued = features_of_few_values(t, rows);
	return choice;
}

const char *
verdict_of(const fc_choice *choice)
{
	return choice->verdict == FC_K_CLEAR ? "clear"
		: choice->verdict == FC_K_LIMIT ? "at the limit"
		: "no clear k";
}

const char *
reason_of(const training *t, const fc_choice *choice)
{
	const fc_tried *chosen = &choice->tried[choice->chosen];
	const fc_tried *last = &choice->tried[choice->count - 1];

	if (choice->verdict == FC_K_CLEAR)
		return NULL;
	if (choice->verdict == FC_K_LIMIT)
		return psprintf("clusters are separate up to the largest number tried, %zu",
						last->k);
	if (choice->hidden > 0)
		return psprintf("%zu of %zu clusters contain%s smaller ones", choice->hidden,
						chosen->k, choice->hidden == 1 ? "s" : "");
	if (choice->rival > 0)
		return psprintf("%zu clusters are as stable", choice->rival);
	if (chosen->evidence.cost <= FC_NO_SPREAD * choice->tried[0].evidence.cost)
		return "the rows of each cluster are equal";
	if (last->k == 1)
		return "there are too few rows to try more than one cluster";
	if (chosen->stability >= (choice->few ? FC_FEW_STABILITY : FC_CLEAR_STABILITY))
		return choice->few && !choice->apart
			? psprintf("%zu clusters are stable, but not well separated", chosen->k)
			: psprintf("%zu clusters are stable, but so are others", chosen->k);
	return psprintf("no number of clusters up to %zu is both stable and well separated%s",
					last->k,
					t->few_valued == NULL ? ""
					: psprintf("; columns of few values (%s) can hide gaps in the other columns",
							   t->few_valued));
}

/* Chooses k from the sample, and logs the verdict and its reason. */
static void
choose_k(training *t, const fc_weighted_rows *sample)
{
	TimestampTz begun = begin_step(t, "number of clusters");
	const fc_choice *choice = tried_clusters(t, sample, DEFAULT_MAX_K);
	const fc_tried *chosen = &choice->tried[choice->chosen];
	const char *reason = reason_of(t, choice);

	t->k = chosen->k;
	log_step(t, "number of clusters", begun, NAN,
			 psprintf("%zu: %s, %s", t->k, verdict_of(choice),
					  reason != NULL
					  ? reason
					  : psprintf("stability %.2f", chosen->stability)));
	t->note = psprintf("%s%sk: %s", t->note != NULL ? t->note : "",
					   t->note != NULL ? "; " : "", verdict_of(choice));
	if (choice->verdict != FC_K_CLEAR && !t->again)
		ereport(WARNING,
				errmsg("the number of clusters of model \"%s\" is not clear: k is %zu", t->model,
					   t->k),
				errdetail("%s: %s.", verdict_of(choice), reason),
				errhint("choose_k shows the evidence for each number; pass k to choose another one."));
}

fc_choice *
try_clusters(training *t)
{
	const fc_weighted_rows *sample;

	learn_encoder(t);
	sample = uniform_sample(t, 0);
	if (t->source.encoder != NULL)
		warn_useless_columns(t, sample,
							 is_whole(t, sample) ? "" : " of a sample");
	warn_columns(t, sample);
	t->scaling = standard_scaling(t, sample);
	return tried_clusters(t, sample, t->k);
}

/* ---- candidates: operators that the scan measures and moves ---- */

/*
 * Returns true if candidates should be found in a sample of `rows` rows:
 * k-means of the sample takes less time than the scan, which then improves the
 * candidates by one step.
 */
static bool
should_scan_candidates(const training *t, double rows)
{
	return t->method == METHOD_KMEANS && t->k <= MAX_CANDIDATE_CLUSTERS &&
		!t->frozen && t->imported == NULL &&
		t->options->pinned.count == 0 && t->options->trim == 0 &&
		given_or(t->options->iterations, DEFAULT_SCANS) > 0 &&
		t->estimate > 3.0 * rows;
}

/*
 * Returns up to two candidates: `first`, which was found in these scaled rows,
 * and the serving clusters, if they can be compared. Returns no candidates if
 * the sums of the scan would be too large for parallel workers.
 */
static candidates
candidates_of(const training *t, char *group, const fc_weighted_rows *rows,
			  fc_operator_header *first)
{
	candidates	found = {.group = group,.sample = rows};
	fit_profile profile;

	if (!sums_are_shared(first))
		return found;
	profile = profile_of_fit(first, rows, NULL, 0);
	found.objective = profile.mean;
	found.error = profile.error;
	found.heavy_tail = t->start == NULL && has_heavy_tail(rows);
	found.op[found.count++] = first;
	found.op[found.count] = old_clusters(t, group, t->k);
	found.count += found.op[found.count] != NULL;
	return found;
}

/*
 * Finds the candidates of a training without groups: clusters of the sample,
 * and the serving ones. If NULLs are imputed, the sample has complete rows
 * only. In that case its clusters also become a start of k-means (t->start),
 * for the methods that use one.
 */
static void
find_candidates(training *t, const fc_weighted_rows *sample)
{
	const fc_weighted_rows *rows;
	fc_operator_header *first;
	TimestampTz begun;
	bool		scanned = (t->source.group_by == NULL &&
						   should_scan_candidates(t, sample->n));

	if (t->imported != NULL || (t->source.complete == NULL && !scanned))
		return;
	begun = begin_step(t, "sample k-means");
	rows = rows_with_map(t->map, rescaled_rows(sample, no_scaling, t->scaling));
	if (t->source.complete != NULL &&
		(t->method == METHOD_KMEANS || t->options->factors.method != NULL))
		t->start = searched_clusters(t, rows, t->k, SHARED_NUMBERS);
	if (!scanned || distinct_rows(rows, t->k) < t->k)
		return;
	t->found = palloc(sizeof(candidates));
	first = t->start != NULL
		? t->start
		: searched_clusters(t, rows, t->k, SEARCHED_NUMBERS);
	*t->found = candidates_of(t, "", rows, first);
	t->found_count = t->found->count > 0;
	if (t->found_count > 0)
		log_step(t, "sample k-means", begun, NAN, psprintf("%zu rows", rows->n));
}

/*
 * Finds the candidates of each group, if there are few groups.
 *
 * A step of Lloyd's algorithm reduces the sum of squares by about the share k
 * / n if the centroids were found in n rows. The samples are so large that
 * this is less than the tolerance, and no further scan follows. With option
 * sample "hash" groups have no candidates, because samples of blocks depend on
 * where rows are stored.
 */
static void
find_group_candidates(training *t)
{
	double		wanted = Max(MIN_GROUP_SAMPLE, TOLERANCE_ROWS * (double) t->k /
							 tolerance_of(t->options));
	double		rows = wanted * t->groups;
	double		read = 0;
	group_sample *samples;
	TimestampTz begun;
	int			count;

	if (t->groups > MAX_CANDIDATE_GROUPS || t->source.leaf_count > 0 ||
		t->source.sharded || t->options->sample == SAMPLE_HASH ||
		rows > (double) rows_in_budget(rows, 0, GROUP_SAMPLE_BYTES, t->dim) ||
		!should_scan_candidates(t, rows))
		return;
	begun = begin_step(t, "sample k-means");
	samples = sample_groups(t, wanted, rows, &count);
	t->found = palloc(Max(1, count) * sizeof(candidates));
	rows = 0;
	for (int i = 0; i < count; i++)
		read += (double) samples[i].n;
	for (int i = 0; i < count; i++)
	{
		const fc_weighted_rows *x = rescaled_rows(samples[i].rows, no_scaling,
												  t->scaling);

		rows += (double) x->n;
		if (distinct_rows(x, t->k) < t->k)
			continue;
		t->found[t->found_count] = candidates_of(t, samples[i].group, x,
												 searched_clusters(t, x, t->k,
																   SHARED_NUMBERS));
		t->found[t->found_count].n = t->estimate * (double) samples[i].n / read;
		t->found_count += t->found[t->found_count].count > 0;
	}
	qsort(t->found, (Size) t->found_count, sizeof(candidates), by_group);
	log_step(t, "sample k-means", begun, NAN,
			 psprintf("%.0f rows, %d groups", rows, t->found_count));
}

/* ---- fits ---- */

static const char *
fit_name(const training *t)
{
	return t->imported != NULL ? "import"
		: t->method == METHOD_COMPRESSIVE ? "decode"
		: t->method == METHOD_QKMEANS ? "QK-means"
		: "k-means";
}

static void
log_fits(const training *t, TimestampTz begun, const group_fit *fits,
		 int count)
{
	int64		n = 0;
	int64		nulls = 0;
	double		sampled = 0;

	for (int i = 0; i < count; i++)
	{
		n += fits[i].n;
		nulls += fits[i].nulls;
		sampled += fits[i].rows->n;
	}
	log_step(t, fit_name(t), begun, NAN,
			 psprintf("%lld rows%s%s", (long long) n,
					  (double) n > sampled
					  ? psprintf(", a sample of %.0f", sampled)
					  : "",
					  t->source.group_by != NULL
					  ? psprintf(", %d groups", count)
					  : ""));
	report_nulls(t, nulls, n);
}

static void
fit_groups(training *t, group_fit *fits, int count)
{
	TimestampTz begun = begin_step(t, fit_name(t));
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext,
											   "fastclust group",
											   ALLOCSET_DEFAULT_SIZES);

	announce_groups(t, fits, count);
	for (int i = 0; i < count; i++)
	{
		MemoryContext old = MemoryContextSwitchTo(work);

		fit_group(t, &fits[i]);
		MemoryContextSwitchTo(old);
		fits[i].op = memcpy(alloc_large_in(old, VARSIZE(fits[i].op)),
							fits[i].op, VARSIZE(fits[i].op));
		MemoryContextReset(work);
	}
	MemoryContextDelete(work);
	log_fits(t, begun, fits, count);
}

/*
 * Returns the maximum number of Lloyd scans after the fit. By default it is 0
 * if the weighted sample contains all rows.
 */
static int
planned_scans(const training *t, const group_fit *fits, int count)
{
	bool		whole = true;

	for (int i = 0; i < count; i++)
		whole = whole && fits[i].rows->n == fits[i].n;
	if (t->method == METHOD_QKMEANS)
		return 0;
	if (t->method == METHOD_DENSITY)
		return whole ? 0 : 1;
	if (t->method == METHOD_COMPRESSIVE)
		return (int) given_or(t->options->iterations,
							  t->source.group_by != NULL);
	return (int) given_or(t->options->iterations, whole ? 0 : DEFAULT_SCANS);
}

/* ---- option effort "thorough" ---- */

/*
 * Returns true if k-means first runs with effort balanced, and then searches
 * again with effort thorough. The result is thus never worse than with effort
 * balanced.
 */
static bool
searches_again(const training *t)
{
	return t->options->effort == FC_THOROUGH && t->method == METHOD_KMEANS &&
		!t->frozen && t->imported == NULL && t->options->pinned.count == 0;
}

/*
 * Searches the weighted samples again, with the effort of the options, and
 * scans all rows as often as after the first search. Each group keeps the
 * better of both results.
 */
static void
fit_again(training *t, group_fit *fits, int count, int scans)
{
	TimestampTz begun = begin_step(t, "thorough k-means");
	group_fit  *others = palloc_extended(count * sizeof(group_fit), MCXT_ALLOC_HUGE);

	t->effort = t->options->effort;
	announce_groups(t, fits, count);
	for (int i = 0; i < count; i++)
		others[i] = search_again(t, &fits[i]);
	log_step(t, "thorough k-means", begun, NAN, NULL);
	lloyd_scans(t, others, count, scans);
	for (int i = 0; i < count; i++)
		if (is_better(t, &others[i], &fits[i]))
			fits[i] = others[i];
}

/* ---- recall of a search, option "probes" ---- */

static void
measure_recall(training *t, const fc_weighted_rows *sample,
			   const group_fit *fit)
{
	const fc_weighted_rows *rows = rescaled_rows(first_rows(sample, MAX_RECALL_ROWS),
												 no_scaling, t->scaling);

	rows = rows_with_map(t->map, rows);

	if (rows->n > 1)
	{
		int64		probes = (int64) Min(t->options->probes, fit->op->k);

		t->recall = recall_of_search(fit->op, rows, (double) fit->n, probes).recall;
	}
}

/* ---- the steps in their order ---- */

void
train_rows(training *t)
{
	const fc_weighted_rows *sample;
	group_fit  *fits;
	int			count;
	int			scans;
	TimestampTz begun;

	if (searches_again(t))
		t->effort = FC_BALANCED;
	group_integers_by_value(&t->source);
	learn_encoder(t);
	begin_step(t, "sample");
	sample = uniform_sample(t, 0);
	t->groups = estimated_groups(t, sample->n);
	check_imported(t);
	check_sample(t, sample);
	t->scaling = standard_scaling(t, sample);
	if (t->method == METHOD_DENSITY)
		t->k = micro_clusters(t);
	else if (t->k == 0)
		choose_k(t, sample);
	choose_specs(t, sample);
	choose_map(t, sample);
	if (t->version > 1)
		read_serving(t);
	if (t->source.group_by == NULL || t->source.complete != NULL)
		find_candidates(t, sample);
	else
		find_group_candidates(t);
	begun = begin_step(t, "sketch");
	fits = scan_fits(t, sample, &count);
	count_units(t, fits, count);
	log_step(t, "sketch", begun, NAN, NULL);
	fit_groups(t, fits, count);
	scans = planned_scans(t, fits, count);
	lloyd_scans(t, fits, count, scans);
	if (searches_again(t))
		fit_again(t, fits, count, scans);
	if (t->method == METHOD_DENSITY)
		find_regions(t, sample, fits, count);
	if (!isnan(t->options->balance))
		balance_clusters(t, &fits[0]);
	begun = GetCurrentTimestamp();
	if (!isnan(t->options->probes) && t->source.group_by == NULL)
		measure_recall(t, sample, &fits[0]);
	log_step(t, "profile", begun, store_groups(t, sample, fits, count), NULL);
	continue_by_rows(t);
}

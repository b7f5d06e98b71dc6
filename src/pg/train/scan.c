/*
 * scan.c - the one scan of a training, which computes for every group a
 * weighted sample, a sketch, drift counts, and a Lloyd step of each candidate
 * operator (struct candidates)
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "pg/base/arguments.h"
#include "pg/base/progress.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/sums.h"
#include "pg/sketch/sketch_value.h"
#include "pg/train/checks.h"
#include "pg/train/query.h"
#include "pg/train/sample.h"
#include "pg/train/scan.h"
#include "pg/train/scan_result.h"
#include "pg/train/serving.h"
#include "pg/train/source.h"
#include "pg/train/units.h"
#include "rkhs/map.h"

/*
 * Number of rows in the weighted sample, on which k-means runs in memory.
 * MIN_SAMPLE_ROWS and SAMPLE_ROWS_PER_CLUSTER apply without groups.
 * MIN_GROUP_SAMPLE_ROWS and GROUP_ROWS_PER_CLUSTER apply to each group. With
 * more rows, the following scans begin with a lower SSE; the sample takes more
 * time and memory. Guesses.
 */
#define MIN_SAMPLE_ROWS	30000
#define SAMPLE_ROWS_PER_CLUSTER	200
#define MIN_GROUP_SAMPLE_ROWS	3000
#define GROUP_ROWS_PER_CLUSTER	100

/*
 * Maximum number of rows in all samples together, before it is multiplied by
 * the factors below. A guess.
 */
#define MAX_SAMPLE_ROWS	1e6

/*
 * Factors for the maximum number of rows: LARGE_K_FACTOR for more than LARGE_K
 * clusters, SMALL_K_FACTOR otherwise. k-means copies the sample, and many
 * clusters are improved more by scans than by a larger sample. Guesses.
 */
#define LARGE_K	256
#define LARGE_K_FACTOR	0.8
#define SMALL_K_FACTOR	2.0

/*
 * Maximum number of rows in the sketch and the drift counts. More rows take
 * longer and hardly improve the test of drift, because a shift by 0.01
 * standard deviations is already 5 standard errors. A guess.
 */
#define MAX_SKETCHED_ROWS	262144.0

/*
 * Maximum mean number of rows per group in the sketch and the drift counts, if
 * that allows more rows than MAX_SKETCHED_ROWS. A guess.
 */
#define MAX_SKETCHED_GROUP_ROWS	32768.0

/*
 * Mean number of rows per group below which a scan has no parallel workers.
 * Each worker sends a sketch of every group, which would then take longer than
 * the scan without workers. A guess.
 */
#define MIN_PARALLEL_GROUP_ROWS	400

int
sketched_share(const training *t, double groups)
{
	double		max = Max(MAX_SKETCHED_ROWS, MAX_SKETCHED_GROUP_ROWS * groups);
	int			share = 1;

	if (t->decodable)
		return 1;
	while (share < 1 << 20 && t->estimate > max * share)
		share *= 2;
	return share;
}

static double
sample_size(const training *t, const fc_weighted_rows *sample, double groups)
{
	Size		of_number;
	double		total = (given_or(t->options->sample_rows,
								  groups > 1
								  ? Max(MIN_GROUP_SAMPLE_ROWS,
										rows_of_clusters(t, GROUP_ROWS_PER_CLUSTER))
								  : Max(MIN_SAMPLE_ROWS,
										rows_of_clusters(t,
														 SAMPLE_ROWS_PER_CLUSTER))) *
						 groups);

	total = (t->k > LARGE_K ? LARGE_K_FACTOR : SMALL_K_FACTOR) *
		Min(total, MAX_SAMPLE_ROWS);
	of_number = groups > 1 ? GROUP_SAMPLE_BYTES
		: t->k > LARGE_K ? LARGE_K_SAMPLE_BYTES
		: SAMPLE_BYTES;
	return ceil((double) rows_in_budget(total, bytes_of_rows(sample), of_number,
										t->dim) /
				groups);
}

/*
 * Returns an upper limit on the ranks of sampled rows, or 0 for no limit. The
 * sample takes the rows of lowest rank (core/operator/coreset.h). Rows above
 * the limit are not examined, and workers, shards or servers do not send them
 * to the process that merges the samples. The limit is estimated from the
 * uniform sample. It admits 10 % more rows than wanted, plus an allowance for
 * random variation.
 *
 * With option sample "hash", the sample must be the same wherever the rows are
 * stored, so the limit is not estimated. Ranks are up to twice as large as the
 * ranks of the same rows in a uniform sample, so a limit for twice the rows is
 * enough.
 */
static double
rank_limit(const training *t, const fc_weighted_rows *rows,
		   const scan_request *request, double n)
{
	bool		keyed = t->options->sample == SAMPLE_HASH;
	double		size = request->size;
	double		share = ((keyed ? 2 * size + 10 * sqrt(size) + 50
						  : 1.1 * size + 3 * sqrt(size) + 25) /
						 Max(1, n));

	if (t->source.complete != NULL || t->source.weight != NULL || share >= 1)
		return 0;
	return keyed ? share
		: limit_of_ranks(rows, request->center, request->variance,
						 share);
}

/*
 * Requests the weighted sample: sets its size, its rank limit, and the center
 * and variance that define the importance of scaled rows. The sample is
 * uniform for method qkmeans, which needs rows without weights; for method
 * density, which needs the density of the rows; and with option trim, which
 * ignores the farthest rows.
 */
static void
request_sample(const training *t, const fc_weighted_rows *sample,
			   double groups, scan_request *request)
{
	double	   *mean = palloc(t->dim * sizeof(double));
	double	   *deviation = palloc(t->dim * sizeof(double));
	const fc_weighted_rows *rows = rescaled_rows(sample, no_scaling, t->scaling);

	fc_weighted_moments(rows, mean, deviation);
	request->center = mean;
	for (Size i = 0; i < t->dim && t->method != METHOD_QKMEANS &&
		 t->method != METHOD_DENSITY && t->options->trim == 0;
		 i++)
		request->variance += deviation[i] * deviation[i];
	request->size = sample_size(t, sample, groups);
	request->rank_limit = t->source.group_by != NULL
		? 0
		: rank_limit(t, rows, request, t->estimate);
	if (rows != sample)
		pfree(centroids_of_rows(rows));
}

double
estimated_groups(const training *t, Size wanted)
{
	int64		groups;
	const char *key;

	if (t->source.group_by == NULL)
		return 1;
	key = group_key(&t->source);

	/*
	 * The sample may have somewhat more or fewer rows than wanted, or be the
	 * whole table. If two of its rows share a group, the result is less than
	 * `wanted`, even if there are more groups.
	 */
	groups = DatumGetInt64(query_datum(psprintf("SELECT CASE WHEN q.groups = q.rows AND 2 * q.rows > %zu"
												" THEN %zu ELSE least(q.groups, %zu) END"
												" FROM (SELECT count(DISTINCT %s) AS groups, count(*) AS rows %s) q",
												wanted, wanted, wanted - 1, key,
												rows_from(&t->source,
														  some_rows(t, (double) wanted), NULL)),
									   0, NULL, QUERY_PARALLEL | QUERY_CONSTANTS, NULL));
	return (double) Max(1, groups);
}

void
set_hashing(void)
{
	char		memory[32];

	snprintf(memory, sizeof(memory), "%dkB",
			 Max(65536, fastclust_memory_budget / 4));
	set_in_level("work_mem", memory);
	set_in_level("enable_sort", "off");
}

int
enter_grouping(const training *t, bool sparse)
{
	int			nest = NewGUCNestLevel();

	if (t->source.group_by == NULL)
		return nest;
	set_hashing();
	if (sparse)
		set_in_level("max_parallel_workers_per_gather", "0");
	return nest;
}

static void
set_locally(const char *setting)
{
	if (SPI_execute(psprintf("SET LOCAL %s", setting), false, 0) !=
		SPI_OK_UTILITY)
		elog(ERROR, "SET LOCAL %s failed", setting);
}

/*
 * Makes shards group by hashing with the coordinator's work_mem, as
 * enter_grouping does on one node. If `hashing` is false, resets the settings
 * of the shards to their defaults. Citus propagates SET LOCAL to the shards
 * for the rest of the transaction; on the coordinator the end of
 * enter_grouping's nest level restores the settings.
 */
static void
hash_on_shards(const training *t, bool hashing)
{
	char	   *passed_on;
	char	   *memory;

	if (!t->source.sharded || t->source.group_by == NULL)
		return;
	passed_on = GetConfigOptionByName("citus.propagate_set_commands", NULL,
									  false);
	set_config_option("citus.propagate_set_commands", "local", PGC_USERSET,
					  PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
	set_locally(hashing ? "enable_sort = off" : "enable_sort TO DEFAULT");
	memory = quote_literal_cstr(GetConfigOptionByName("work_mem", NULL, false));
	set_locally(hashing ? psprintf("work_mem = %s", memory)
				: "work_mem TO DEFAULT");
	set_config_option("citus.propagate_set_commands", passed_on, PGC_USERSET,
					  PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);
}

/* Returns the texts of the groups that have candidates. */
static ArrayType *
groups_of_candidates(const training *t)
{
	Datum	   *groups = palloc(t->found_count * sizeof(Datum));

	for (int i = 0; i < t->found_count; i++)
		groups[i] = CStringGetTextDatum(t->found[i].group);
	return construct_array(groups, t->found_count, TEXTOID, -1, false,
						   TYPALIGN_INT);
}

/*
 * Returns the candidates of a group. If equal values have different texts, the
 * group is looked up by value, because the sample may have given it another
 * text than the scan.
 */
static const candidates *
candidates_of_group(const training *t, const char *group)
{
	group_finder *finder;
	int			place;

	if (!has_loose_groups(&t->source))
		return bsearch(&group, t->found, (Size) t->found_count,
					   sizeof(candidates), by_group);
	finder = make_group_finder(&t->source.grouping, TEXTOID, t->source.group_by,
							   CurrentMemoryContext);
	set_groups(finder, groups_of_candidates(t));
	place = place_of_group(finder, CStringGetTextDatum(group));
	return place >= 0 ? &t->found[place] : NULL;
}

/* Stores in `fit` the results of the scan for each candidate of its group. */
static void
take_steps(const training *t, group_fit *fit, const scan_result *result)
{
	if (result->steps > 0)
		fit->found = *candidates_of_group(t, fit->group);
	for (int i = 0; i < result->steps; i++)
	{
		double		sse = result->step[i].sse;

		fit->next[i] = result->step[i].next;
		fit->sse[i] = sse;
		fit->gain[i] = gain_of_step(fit->found.op[i], fit->next[i]) *
			(t->source.cosine
			 ? Max(0, 1 - sse / (2 * fit->weight))
			 : 1);
	}
}

/*
 * Maximum length of a group's text in bytes. A primary key contains a model, a
 * version and a group, and btree limits it to 2704 bytes.
 */
#define MAX_GROUP_BYTES	2600

#define SHOWN_GROUP_BYTES	40	/* bytes of a group's text that an error shows */

static void
check_group_length(const training *t, const text *group)
{
	int			length = (int) VARSIZE_ANY_EXHDR(group);

	if (length > MAX_GROUP_BYTES)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("the text of group \"%.*s...\" of column \"%s\" has %d bytes",
					   pg_mbcliplen(VARDATA_ANY(group), length, SHOWN_GROUP_BYTES),
					   VARDATA_ANY(group), t->source.group_by, length),
				errdetail("It can have up to %d bytes.", MAX_GROUP_BYTES),
				errhint("Train on a view that groups by md5(%s::text).",
						quote_identifier(t->source.group_by)));
}

/*
 * Reads the sums of a group from its packed state. Returns false if the group
 * has no rows.
 */
static bool
read_group(const training *t, uint64 row, group_fit *fit)
{
	memory_account memory = {"a sample"};
	scan_result result;
	bool		null;
	Datum		group = query_value(row, 1, &null);

	if (null)
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				errmsg("the cast of column \"%s\" returns NULL for a value that is not NULL",
					   t->source.group_by));
	check_group_length(t, DatumGetTextPP(group));
	fit->group = group_as_served(t, TextDatumGetCString(group));
	read_scan(query_value(row, 2, &null), &result);
	if (result.n == 0)
		return false;
	fit->n = result.n;
	fit->weight = result.weight;
	fit->nulls = result.nulls;
	fit->rows = fc_coreset_rows(result.sample) > 0
		? rows_of_coreset(result.sample, fill_of_source(&t->source, t->scaling), &memory)
		: NULL;
	fit->sketch = copied_value(result.sketch);
	fit->counts = copied_value(result.counts);
	fit->objective = NAN;
	take_steps(t, fit, &result);
	return true;
}

static void
set_operators(scan_request *request, const candidates *found)
{
	request->operators = found != NULL ? found->count : 0;
	for (int i = 0; i < request->operators; i++)
		request->op[i] = found->op[i];
}

/*
 * Sets arguments $2, the groups with candidates, and $3, their plans. limited:
 * the plans limit the ranks of sampled rows. Afterwards *request describes the
 * scan of the other groups, which have no candidates.
 */
static void
plan_groups(const training *t, scan_request *request, bool limited,
			query_argument *arguments)
{
	Datum	   *plans = palloc(t->found_count * sizeof(Datum));

	for (int i = 0; i < t->found_count; i++)
	{
		request->rank_limit = limited ? rank_limit(t, t->found[i].sample,
												   request, t->found[i].n)
			: 0;
		set_operators(request, &t->found[i]);
		plans[i] = plan_of_scan(t, &t->source, request);
	}
	request->rank_limit = 0;
	set_operators(request, NULL);
	arguments[1] = (query_argument)
	{
		"_text", PointerGetDatum(groups_of_candidates(t))
	};
	arguments[2] = (query_argument)
	{
		"_scan_plan",
			PointerGetDatum(construct_array(plans, t->found_count,
											type_of_name("scan_plan"), -1, false,
											TYPALIGN_DOUBLE))
	};
}

/*
 * Cost of reading a number, in multiply-adds, for estimates of the time
 * (bench/endless.py).
 */
#define READ_COST	4.0

/*
 * Cost of a multiply-add in single precision, relative to double precision
 * (bench/endless.py).
 */
#define FLOAT_COST	0.25

void
announce_scan(const training *t, const scan_request *request, int flags)
{
	double		row = READ_COST * (double) t->dim;
	fc_kernel_map map;

	if (request->spec != NULL)
		row += fc_sketch_operations(request->spec) / Max(1, request->share);
	for (int i = 0; i < request->operators; i++)
		row += FLOAT_COST * request->op[i]->k * request->op[i]->d;
	if (request->map != NULL)
	{
		fc_kernel_map_view(request->map, &map);
		row += fc_kernel_features_operations(&map);
	}
	announce_work(psprintf("a scan of %.0f rows takes", t->estimate),
				  row * t->estimate /
				  (flags & QUERY_PARALLEL
				   ? 1 + max_parallel_workers_per_gather
				   : 1),
				  false,
				  t->decodable
				  ? "Lower option frequencies, or use method kmeans"
				  : NULL);
}

/*
 * Runs the scan and returns its groups. limited: the plans limit the ranks of
 * sampled rows. Returns NULL if that limit was too low: a group has far fewer
 * rows than estimated, so that its sample is too small.
 */
static group_fit *
run_scan(const training *t, const fc_weighted_rows *sample,
		 scan_request *request, bool limited, int *count)
{
	train_source source = t->source;
	query_argument arguments[3];
	int			flags = sampling_flags(t, request->size, bytes_of_rows(sample), t->dim);
	group_fit  *fits;
	uint64		rows;

	announce_scan(t, request, flags);
	source.planned = source.group_by != NULL && t->found_count > 0;
	if (source.planned)
		plan_groups(t, request, limited, arguments);
	else if (!limited)
		request->rank_limit = 0;
	arguments[0] = (query_argument)
	{
		"scan_plan",
			plan_of_scan(t, &t->source, request)
	};
	run_row_query(t, scan_text(&source, all_rows),
				  source.planned ? 3 : 1, arguments, flags);
	rows = SPI_processed;
	fits = palloc_extended(Max(1, rows) * sizeof(group_fit),
						   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	*count = 0;
	for (uint64 row = 0; row < rows; row++)
	{
		bool		null;

		CHECK_FOR_INTERRUPTS();
		(void) query_value(row, 2, &null);
		if (!null && read_group(t, row, &fits[*count]))
			(*count)++;
		heap_freetuple(SPI_tuptable->vals[row]);	/* freed here, because the
													 * states of many groups
													 * take much memory */
	}
	end_query();
	for (int i = 0; limited && i < *count; i++)
		if (fits[i].rows == NULL ||
			fits[i].rows->n < Min((double) fits[i].n, request->size) / 2)
			return NULL;
	return fits;
}

group_fit *
scan_fits(training *t, const fc_weighted_rows *sample, int *count)
{
	scan_request request = {
		.scaling = t->scaling,
		.map = t->map,
		.spec = spec_without_sample(t->spec),

		/*
		 * count_units computes the drift counts of rows that have weights or
		 * belong to units
		 */
		.drift_spec = has_parts(&t->source) ? NULL : t->drift_spec
	};
	int			nest = enter_grouping(t, t->estimate < MIN_PARALLEL_GROUP_ROWS * t->groups);
	group_fit  *fits;

	request.share = sketched_share(t, t->groups);
	if (t->source.group_by == NULL && t->found_count > 0)
		set_operators(&request, t->found);
	request_sample(t, sample, t->groups, &request);
	hash_on_shards(t, true);
	fits = run_scan(t, sample, &request, true, count);
	if (fits == NULL)
		fits = run_scan(t, sample, &request, false, count);
	hash_on_shards(t, false);
	AtEOXact_GUC(false, nest);
	if (*count == 0)
		reject_no_rows(t);
	return fits;
}

/*
 * Samples each group in proportion to its number of rows. If the scan would
 * read more than half of the blocks and take every eighth row of them, it
 * takes all rows of an eighth of the blocks instead, which costs less.
 */
group_sample *
sample_groups(const training *t, double wanted, double rows, int *count)
{
	scan_request request = {.size = wanted};
	query_argument plan = {"scan_plan", plan_of_scan(t, &t->source, &request)};
	double		read = (t->estimate < 2 * BLOCKS_FACTOR * rows
						? Max(rows, t->estimate / BLOCKS_FACTOR + 1)
						: rows);
	int			nest = enter_grouping(t, false);
	group_sample *samples;
	memory_account memory = {"sampling the groups"};

	run_row_query(t, scan_text(&t->source, some_rows(t, read)), 1,
				  &plan, scan_flags(&t->source));
	AtEOXact_GUC(false, nest);
	samples = palloc(Max(1, SPI_processed) * sizeof(group_sample));
	*count = 0;
	for (uint64 row = 0; row < SPI_processed; row++)
	{
		bool		null;
		int64		n;
		Datum		group = query_value(row, 1, &null);
		const fc_weighted_rows *sample = read_sample(&t->source, row, &memory, &n);

		if (!null && sample != NULL)
			samples[(*count)++] = (group_sample)
		{
			group_as_served(t, TextDatumGetCString(group)), sample, n
		};
	}
	end_query();
	return samples;
}

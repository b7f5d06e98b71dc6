/*
 * lloyd.c - scans of Lloyd's algorithm after the first scan, and scans that
 * count rows for balanced clusters
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "operator/step.h"
#include "pg/kmeans/collection.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/sums.h"
#include "pg/train/checks.h"
#include "pg/train/columns.h"
#include "pg/train/lloyd.h"
#include "pg/train/log.h"
#include "pg/train/query.h"
#include "pg/train/relation.h"
#include "pg/train/sample.h"
#include "pg/train/scan.h"
#include "pg/train/scan_result.h"
#include "pg/train/serving.h"
#include "pg/train/source.h"

/*
 * Number of states in memory in addition to one per worker: the leader's own,
 * the sum, and the first received state as a tuple.
 */
#define LEADER_STATES	3

/*
 * Memory that operators take during a scan, in units of k x d floats: the
 * operator of the training, its pruning bounds, and the final result.
 */
#define OPERATORS_IN_MEMORY	6

/*
 * Maximum number of groups for which a foreign table computes one aggregate
 * per group. For more groups, the rows are read one by one. A guess.
 */
#define MAX_FOREIGN_GROUPS	100

/*
 * Maximum number of scans that balance the clusters of a table. With more
 * scans, the size of the largest cluster comes closer to the maximum that
 * option balance sets. A guess.
 */
#define BALANCE_SCANS	10

/* ---- one scan ---- */

/* Returns the size of a scan's sums in bytes. */
static Size
state_size(const fc_operator_header *header)
{
	fc_operator op;

	open_operator(header, &op);
	return fc_step_size(FC_STEP_LLOYD, header, fc_operator_size(&op),
						fc_step_capacity(&op));
}

/*
 * Returns true if the states of the leader, the states that workers have
 * queued for it, and the operators fit into the memory budget. Each process
 * has one state.
 */
static bool
workers_fit(const fc_operator_header *op)
{
	return (LEADER_STATES + (Size) max_parallel_workers_per_gather) *
		(state_size(op) / 1024) +
		OPERATORS_IN_MEMORY * ((Size) op->k * op->d * sizeof(float) / 1024) <=
		(Size) fastclust_memory_budget;
}

bool
sums_are_shared(const fc_operator_header *op)
{
	return state_size(op) / 1024 < (Size) fastclust_largest_state &&
		workers_fit(op);
}

double
weight_of_operator(const fc_operator_header *header)
{
	fc_operator op;

	open_operator(header, &op);
	return fc_weight_sum(op.weights, op.k);
}

/*
 * Runs a scan in one process, for sums that are too large to be sent as a
 * value.
 */
static lloyd_sums
large_scan(const training *t, const fc_operator_header *op)
{
	query_argument arguments[] = {
		{0},
		{0},
		{0},
		{"fastop", PointerGetDatum(op)}
	};
	lloyd_sums	sums;
	bool		null;

	set_scaling(t, arguments);
	run_query(psprintf("SELECT (s).next, (s).sse FROM"
					   " (SELECT lloyd_large_agg($4, %s, %s) AS s %s) q",
					   row_text(&t->source, t->scaling.center != NULL, t->map != NULL, "$4"),
					   t->source.weight != NULL ? t->source.weight : "1",
					   rows_from(&t->source, all_rows, NULL)),
			  4, arguments, 0);
	(void) query_value(0, 1, &null);
	if (null)
		reject_no_rows(t);
	sums.next = (fc_operator_header *)
		PG_DETOAST_DATUM_COPY(query_value(0, 1, &null));
	sums.sse = DatumGetFloat8(query_value(0, 2, &null));
	sums.weight = weight_of_operator(sums.next);
	return sums;
}

lloyd_sums
lloyd_scan(const training *t, const fc_operator_header *op)
{
	scan_request request = {
		.scaling = t->scaling,
		.map = t->map,
		.operators = 1,
		.op = {op}
	};
	query_argument plan = {"scan_plan"};
	int			flags = scan_flags(&t->source);
	scan_result result;
	bool		null = true;

	if (state_size(op) / 1024 >= (Size) fastclust_largest_state)
		return large_scan(t, op);
	if (!workers_fit(op))
		flags &= ~QUERY_PARALLEL;
	announce_scan(t, &request, flags);
	plan.value = plan_of_scan(t, &t->source, &request);
	run_row_query(t, bucket_scan_text(&t->source, NULL, false), 1, &plan, flags);
	if (SPI_processed > 0)
		(void) query_value(0, 2, &null);
	if (null)
		reject_no_rows(t);
	read_scan(query_value(0, 2, &null), &result);
	if (result.n == 0)
		reject_no_rows(t);
	return (lloyd_sums)
	{
		result.step[0].next, result.step[0].sse,
			weight_of_operator(result.step[0].next)
	};
}

/* ---- Lloyd's sums of groups, each with its own operator ---- */

/*
 * Returns true if a foreign server can compare the grouping column with
 * elements of an array. This needs no check if equal values have equal texts.
 * Otherwise the type must have an operator = in pg_catalog and an array type:
 * it must be built in, and not an array itself.
 */
static bool
is_plain_type(const train_source *source)
{
	Oid			type = getBaseType(column_type(source->id, source->group_by));

	return !has_loose_groups(source) ||
		(type < FirstNormalObjectId && !OidIsValid(get_element_type(type)));
}

/*
 * Returns a query with one row (index, state) for each group that has rows;
 * the index is the position of the group in $4, from 1. partial: true if rows
 * with NULLs are compared over their other columns.
 */
static char *
groups_text(const training *t, Size groups, bool partial)
{
	const train_source *source = &t->source;
	const char *x = row_text(source, t->scaling.center != NULL, t->map != NULL, NULL);
	const char *weight = source->weight != NULL ? psprintf(", %s", source->weight) : "";
	StringInfoData sums;
	StringInfoData names;
	char	   *type;

	if (source->leaf_count == 0 || groups > MAX_FOREIGN_GROUPS || !is_plain_type(source))
		return psprintf("SELECT g.i, %s(g.op, %s%s) FROM (SELECT %s AS \"its group\", %s%s%s%s %s) r"
						" JOIN unnest($4, $5) WITH ORDINALITY g(value, op, i)"
						" ON r.\"its group\" = g.%s GROUP BY g.i",
						sums_on_shards(source) && source->weight == NULL
						? "fastclust_internal.sum"
						: "lloyd_sums_agg",
						partial ? observed_row(source, "g.op", "r") : "r.x",
						source->weight != NULL ? ", r.\"its weight\"" : "",
						has_loose_groups(source)
						? group_place_text(source, "$4")
						: source->group_value,
						partial ? observed_cells(source) : x, partial ? "" : " AS x", weight,
						source->weight != NULL ? " AS \"its weight\"" : "",
						rows_from(source, all_rows, NULL),
						has_loose_groups(source) ? "i" : "value");

	/*
	 * postgres_fdw pushes down neither a join with an array nor an array of
	 * operators
	 */
	type = format_type_be(column_type(source->id, source->group_by));
	initStringInfo(&sums);
	initStringInfo(&names);
	for (Size i = 1; i <= groups; i++)
	{
		appendStringInfo(&sums,
						 "%slloyd_sums_agg(($5)[%zu], %s%s) FILTER (WHERE %s ="
						 " ($4::text[]::%s[])[%zu]) AS s%zu",
						 i > 1 ? ", " : "", i,
						 partial ? observed_row(source, psprintf("($5)[%zu]", i), "t") : x,
						 weight, row_column(source->group_by), type, i, i);
		appendStringInfo(&names, "%sl.s%zu", i > 1 ? ", " : "", i);
	}
	return psprintf("SELECT u.i, fastclust_internal.sum(u.s) FROM (%s) l,"
					" unnest(ARRAY[%s]) WITH ORDINALITY u(s, i) WHERE u.s IS NOT NULL GROUP BY u.i",
					select_rows(source, sums.data, NULL, all_rows), names.data);
}

/*
 * Sets sums[i] to the sums of group fits[active[i]]. If the group no longer
 * has rows, sums[i].next is NULL.
 */
static void
scan_groups(const training *t, group_fit *fits, const int *active, int count,
			lloyd_sums *sums)
{
	Datum	   *groups = palloc(count * sizeof(Datum));
	Datum	   *operators = palloc(count * sizeof(Datum));
	query_argument arguments[] = {{0}, {0}, {0}, {"_text"}, {"_fastop"}};
	int			nest = enter_grouping(t, false);
	bool		partial = false;
	bool		null;

	for (int i = 0; i < count; i++)
	{
		partial = partial || (t->source.observed && fits[active[i]].nulls > 0);
		groups[i] = CStringGetTextDatum(fits[active[i]].group);
		operators[i] = PointerGetDatum(fits[active[i]].op);
		sums[i].next = NULL;
	}
	set_scaling(t, arguments);
	arguments[3].value = PointerGetDatum(construct_array(groups, count, TEXTOID,
														 -1, false,
														 TYPALIGN_INT));
	arguments[4].value = PointerGetDatum(construct_array(operators, count,
														 type_of_name("fastop"),
														 -1, false,
														 TYPALIGN_DOUBLE));
	set_in_level("enable_nestloop", "off");
	run_query(groups_text(t, (Size) count, partial), lengthof(arguments), arguments,
			  QUERY_PARALLEL | QUERY_CONSTANTS);
	AtEOXact_GUC(false, nest);
	for (uint64 row = 0; row < SPI_processed; row++)
	{
		int64		i = DatumGetInt64(query_value(row, 1, &null)) - 1;
		Datum		state = query_value(row, 2, &null);
		fc_step_result result;

		if (null)
			continue;
		sums[i].next = finish_lloyd(state_of_datum(state, FC_STEP_LLOYD),
									&result);
		sums[i].sse = result.total;
		sums[i].weight = fc_weight_sum(result.weights, sums[i].next->k);
	}
}

/* ---- scans ---- */

/*
 * Maximum gain of a Lloyd step that take_step leaves out after convergence, as
 * a share of the sum of squares. With a larger share, the stored sizes of
 * clusters are exact in more models, but the clusters are worse by up to that
 * share. A guess.
 */
#define MAX_UNTAKEN_GAIN	0.001

void
take_step(const training *t, group_fit *fit, fc_operator_header *op,
		  fc_operator_header *next, double sse, double gain, double weight)
{
	bool		untaken;

	fit->converged = fit->converged || gain <= tolerance_of(t->options) * sse;
	untaken = fit->converged && gain <= MAX_UNTAKEN_GAIN * sse;
	fit->op = untaken ? with_weights_of(op, next) : next;
	fit->objective = Max(0, untaken ? sse : sse - gain) / weight;
}

/*
 * Returns a copy of the operator `next` in which the clusters of the serving
 * version, which come first, have their centroids from fit->op.
 */
static fc_operator_header *
frozen_centroids(const training *t, const group_fit *fit,
				 const fc_operator_header *next)
{
	serving_group old = serving_of(t, fit->group);
	fc_operator before;
	fc_operator after;
	double	   *kept;
	double	   *moved;

	open_operator(fit->op, &before);
	open_operator(next, &after);
	kept = rescaled_centroids(&before, NULL, NULL);
	moved = rescaled_centroids(&after, NULL, NULL);
	memcpy(moved, kept, Min(old.op->k, before.k) * before.d * sizeof(double));
	return make_codebook_for(after.metric, moved, after.weights, after.k,
							 after.d);
}

/*
 * Moves the centroids of a group to the means that a scan computed, unless they
 * have converged. Returns true if another scan is worthwhile.
 */
static bool
move_group(const training *t, group_fit *fit, lloyd_sums *sums)
{
	double		gain = 0;

	if (t->frozen)
		sums->next = frozen_centroids(t, fit, sums->next);
	if (!fit->converged)
		gain = gain_of_step(fit->op, sums->next);
	if (t->source.cosine)		/* the factor is a lower bound on the mean of
								 * ||m_j||, see gain_of_step */
		gain *= Max(0, 1 - sums->sse / (2 * sums->weight));
	take_step(t, fit, fit->op, sums->next, sums->sse, gain, sums->weight);
	return !fit->converged;
}

/*
 * Scans all rows up to `steps` times, and moves the operators of groups that
 * have not converged. Ends when no group gains more than the tolerance. An
 * operator that has already converged is only measured, once, unless its
 * objective is known.
 */
void
lloyd_scans(training *t, group_fit *fits, int count, int steps)
{
	int		   *active = palloc(count * sizeof(int));
	lloyd_sums *sums = palloc(count * sizeof(lloyd_sums));
	int			left = 0;

	for (int i = 0; i < count; i++)
		if (!fits[i].converged || isnan(fits[i].objective))
			active[left++] = i;
	for (int step = 1; step <= steps && left > 0; step++)
	{
		char	   *name = psprintf("scan %d", step);
		TimestampTz begun = begin_step(t, name);
		int			moved = left;
		double		sse = 0;
		double		weight = 0;

		if (t->source.group_by == NULL)
			sums[0] = lloyd_scan(t, fits[0].op);
		else
			scan_groups(t, fits, active, left, sums);
		left = 0;
		for (int i = 0; i < moved; i++)
		{
			if (sums[i].next == NULL)
				continue;
			sse += sums[i].sse;
			weight += sums[i].weight;
			if (move_group(t, &fits[active[i]], &sums[i]))
				active[left++] = active[i];
		}
		log_step(t, name, begun, sse / weight,
				 t->source.group_by != NULL ? psprintf("%d groups", moved)
				 : NULL);
	}
}

/*
 * ---- balance ----
 *
 * Limits the number of rows of each cluster to a multiple of the mean number.
 */

static double
largest_share(const fc_operator_header *header)
{
	fc_operator op;
	double		max = 0;
	double		total = 0;

	open_operator(header, &op);
	for (Size j = 0; j < op.k; j++)
	{
		max = Max(max, op.weights[j]);
		total += op.weights[j];
	}
	return max * (double) op.k / total;
}

/*
 * Limits the size of clusters to option balance times the mean. Each round
 * moves the centroids until the clusters are balanced in the sample, and
 * counts all rows by a scan. If a cluster is still too large, the next round
 * has a tighter limit in the sample. The result is the most balanced operator
 * of all rounds.
 */
void
balance_clusters(training *t, group_fit *fit)
{
	double		limit = given_or(t->options->balance, 1);
	double		target = limit;
	double		min = INFINITY;
	double		mean = 0;
	fc_operator_header *candidate = fit->op;
	fc_operator_header *tried;

	for (Size i = 0; i < fit->rows->n; i++)
		mean += fit->rows->weights[i] / (double) fit->op->k;
	for (int round = 1; round <= BALANCE_SCANS; round++)
	{
		char	   *name = psprintf("balance scan %d", round);
		TimestampTz begun = begin_step(t, name);
		lloyd_sums	sums = lloyd_scan(t, candidate);
		double		times = largest_share(sums.next);

		log_step(t, name, begun, sums.sse / sums.weight,
				 psprintf("largest cluster %.2f times the mean", times));
		if (times < min)
		{
			min = times;
			fit->op = with_weights_of(candidate, sums.next);
			fit->objective = sums.sse / sums.weight;
		}
		if (times <= limit)
			break;
		target = round == 1
			? limit
			: Max(1, 0.98 * target * Min(1, sqrt(limit / times)));
		tried = candidate;
		candidate = even_clusters(rows_filled_by(tried, fit->rows), tried,
								  target * mean);
		if (memcmp(candidate->digest, tried->digest, sizeof(tried->digest)) ==
			0)
			break;
	}
	if (min > limit)
		ereport(WARNING,
				errmsg("the largest cluster of model \"%s\" has %.2f times the mean number of rows, not %g",
					   t->model, min, limit),
				errhint("Increase option balance, or k; equal rows always stay in one cluster."));
}

/*
 * fit.c - fits the operator of a group by the method of the training, from the
 * weighted sample, the sketch and the measurements of the scan
 *
 * A new solution replaces the serving clusters only if it reduces the mean
 * squared distance by more than MIN_RETRAIN_GAIN and by more than the standard
 * error of the reduction.
 */
#include "postgres.h"

#include "utils/timestamp.h"

#include "pg/base/progress.h"
#include "pg/factor/qkmeans_call.h"
#include "pg/operator/operator_value.h"
#include "pg/train/checks.h"
#include "pg/train/decoded.h"
#include "pg/train/fit.h"
#include "pg/train/lloyd.h"
#include "pg/train/log.h"
#include "pg/train/product.h"
#include "pg/train/sample.h"
#include "pg/train/serving.h"

/*
 * Minimum number of rows in a search: MIN_SEARCHED_ROWS in total, and
 * SEARCHED_ROWS_PER_CLUSTER for each cluster. With more rows, better clusters
 * are found, but the time grows in proportion. k-means on all rows follows the
 * search. Guesses.
 */
#define MIN_SEARCHED_ROWS	10000
#define SEARCHED_ROWS_PER_CLUSTER	100

/*
 * Budget for k-means of all groups together, in multiply-adds. Groups share it
 * in proportion to their rows. A larger budget lowers the SSE of groups, and
 * takes proportionally longer. A guess.
 */
#define GROUPS_WORK	3e9

/*
 * Minimum budget for k-means of a group, in multiply-adds; enough for about
 * 100 starts on 30 rows. A guess.
 */
#define MIN_WORK	2e5

/*
 * Factor by which option effort "thorough" raises the budget for k-means of a
 * group. It equals the factor for searches that choose their budget
 * (core/kmeans/kmeans.c).
 */
#define THOROUGH_FACTOR	4.0

/*
 * Minimum budget for k-means of a group, as a number of Lloyd steps. A guess.
 */
#define MIN_STEPS	100.0

/*
 * Missing values are filled at most MAX_FILLINGS times, each time followed by
 * FILLING_STEPS of Lloyd's steps. Filling ends when the sum of squares falls
 * by less than the share FILLING_TOLERANCE. Filled values equal the centroid
 * and hold it back: a step moves it only by the share of observed values. More
 * steps therefore matter only for columns that are mostly NULL. Guesses.
 */
#define MAX_FILLINGS	20
#define FILLING_STEPS	3
#define FILLING_TOLERANCE	1e-4

/*
 * Relative gain by which new clusters must be better than the serving ones.
 * With a smaller value, clusters would move by chance from training to
 * training. A guess.
 */
#define MIN_RETRAIN_GAIN	0.01

/*
 * Limit of sample_suffices for the relative amount by which the mean squared
 * distance of all rows exceeds the mean squared distance of the n sampled
 * rows. The unit is k / n. About 2 units are expected if clusters are well
 * separated, 6 if they overlap. With a larger limit, sample_suffices would not
 * detect that the sample lacks far rows. A guess.
 */
#define MAX_OVERFIT	10

/*
 * sample_suffices adds ADDED_ERRORS standard errors of the mean squared
 * distance of the sample to its limit. A standard error counts as at most
 * MAX_ERROR times that mean squared distance. With larger values, fewer
 * trainings search twice, and more of them lack far rows. Guesses.
 */
#define ADDED_ERRORS	3
#define MAX_ERROR	0.01

/*
 * Number of Lloyd steps for micro-clusters, which need to be compact, not
 * optimal (bench/density.py).
 */
#define MICRO_STEPS	12

/*
 * Share of the rows that comparisons with decoded clusters leave out. These
 * are the farthest rows, because a decoder ignores outliers. A guess.
 */
#define FARTHEST_SHARE	0.05

/* ---- k-means ---- */

/*
 * Returns the options of a search. In a training with groups, a group has its
 * share of GROUPS_WORK, but at least MIN_WORK multiply-adds, and at least
 * MIN_STEPS Lloyd steps.
 */
static fc_kmeans_options
search_options(const training *t, const fc_weighted_rows *rows, Size k)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	double		n = rows->n;
	double		steps = MIN_STEPS * n * (double) k * rows->d;

	options.seed = (uint64) t->options->seed;
	options.effort = t->effort;
	if (t->method == METHOD_DENSITY)
		options.iterations = MICRO_STEPS;
	if (t->source.group_by == NULL)
		return options;
	options.budget = Max(Max(MIN_WORK, steps), GROUPS_WORK * n / Max(n, t->estimate));
	if (options.budget == steps && options.effort == FC_BALANCED)
		options.effort = FC_BRIEF;
	if (options.effort == FC_THOROUGH)
		options.budget *= THOROUGH_FACTOR;
	return options;
}

/*
 * Alternates between filling the missing values of rows with the coordinates
 * of their nearest centroids, and a few of Lloyd's steps on the filled rows.
 * Stops when the steps hardly reduce the sum of squares any more.
 */
static fc_codebook *
refilled_clusters(const training *t, const fc_weighted_rows *rows,
				  fc_kmeans_options options, fc_codebook *found)
{
	double		enough = FILLING_TOLERANCE * profile_of_fit(found, rows, NULL, 0).mean *
	fc_weight_sum(rows->weights, rows->n);
	double		gain = INFINITY;

	options.n_init = 0;
	options.iterations = FILLING_STEPS;
	for (int round = 0; round < MAX_FILLINGS && gain > enough; round++)
	{
		const fc_weighted_rows *filled = rows_filled_by(found, rows);
		fc_codebook *moved = kmeans_of_rows(filled, found->k, &options, found,
											t->options->trim);

		gain = gain_of_step(found, moved);
		pfree(centroids_of_rows(filled));
		pfree(found);
		found = moved;
	}
	return found;
}

/*
 * Runs k-means for k clusters or, if a start is given, for as many clusters as
 * the start has. If `search` is false, only continues from the start.
 */
static fc_codebook *
fit_rows_of(const training *t, const fc_weighted_rows *rows, Size k,
			const fc_codebook *start, bool search)
{
	fc_kmeans_options options = search_options(t, rows, k);
	fc_codebook *found;

	if (!search)
		options.n_init = 0;
	found = kmeans_of_rows(start != NULL ? rows_filled_by(start, rows) : rows,
						   start != NULL ? start->k : k, &options, start,
						   t->options->trim);
	return rows->missing != NULL ? refilled_clusters(t, rows, options, found) : found;
}

/*
 * Searches in a subset, and continues from the result on all rows. The subset
 * is every step-th row or, if the rows have a heavy tail, a sample by
 * importance. If there are too few rows for a subset, searches in all of them.
 */
fc_codebook *
searched_clusters(const training *t, const fc_weighted_rows *rows, Size k,
				  double max_numbers)
{
	double		count = Max(Max(MIN_SEARCHED_ROWS, SEARCHED_ROWS_PER_CLUSTER * (double) k),
							max_numbers / rows->d);
	Size		step = (Size) (rows->n / count);
	fc_codebook *some;
	fc_operator_header *found;

	if (step < 2)
		return fit_rows_of(t, rows, k, NULL, true);
	some = t->options->trim == 0 && has_heavy_tail(rows)
		? important_rows(rows, count, (uint64) t->options->seed)
		: every_nth_row(rows, step, rows->n);
	found = fit_rows_of(t, rows_of_operator(some), k, NULL, true);
	pfree(some);
	return fit_rows_of(t, rows, k, found, false);
}

/*
 * Returns true if operator a fits the rows as well as b. The mean squared
 * distance of a may exceed that of b by the fraction `slack` or, if `noise` is
 * true, by the standard error of the difference, whichever is larger.
 */
static bool
as_good(const training *t, const fc_operator_header *a,
		const fc_operator_header *b, const fc_weighted_rows *rows,
		double slack, bool noise)
{
	fc_comparison c = compare_fits(a, b, rows, t->options->trim);

	return c.mean_a <= c.mean_b + Max(slack * c.mean_b, noise ? c.error : 0.0);
}

/*
 * Returns the index of the candidate that has the smallest sum of squares
 * after its Lloyd step, or -1 if there are no candidates.
 */
static int
best_candidate(const group_fit *fit)
{
	int			best = -1;

	for (int i = 0; i < fit->found.count; i++)
		if (best < 0 ||
			fit->sse[i] - fit->gain[i] < fit->sse[best] - fit->gain[best])
			best = i;
	return best;
}

/*
 * Sets the operator of the group to the old clusters, and marks it as
 * converged, so that no scan moves it. If a scan measured the old clusters,
 * takes their weights and their mean squared distance from the scan.
 */
static void
take_old(group_fit *fit, const fc_operator_header *old)
{
	fit->op = (fc_operator_header *) old;
	fit->objective = NAN;
	fit->converged = true;
	for (int i = 0; i < fit->found.count; i++)
		if (memcmp(fit->found.op[i]->digest, old->digest,
				   sizeof(old->digest)) == 0)
		{
			fit->op = with_weights_of(old, fit->next[i]);
			fit->objective = fit->sse[i] / fit->weight;
			return;
		}
}

/*
 * Returns true if clusters found in the uniform sample of n rows fit all rows
 * as well as that sample. The mean squared distance of all rows is expected to
 * exceed that of the sample by the fraction 2 k / n if clusters are well
 * separated, or 6 k / n if they overlap. In 2 k / n, one half is due to the
 * fit to the sample, the other to the inaccuracy of the centroids. The mean of
 * the sample also has a standard error.
 *
 * A larger difference means that the sample lacks influential far rows, which
 * the weighted sample contains. If the rows have a heavy tail, the sample may
 * lack some even without a difference.
 */
static bool
sample_suffices(const training *t, const group_fit *fit, Size k)
{
	const candidates *found = &fit->found;
	double		all;

	if (found->count == 0 || t->start != NULL || found->heavy_tail)
		return false;
	all = fit->sse[0] / fit->weight;
	return all <= found->objective * (1 + MAX_OVERFIT * (double) k /
									  (double) found->sample->n) +
		ADDED_ERRORS * Min(found->error, MAX_ERROR * found->objective);
}

/* Sets the group's operator to candidate i, which the scan has measured. */
static void
take_candidate(const training *t, group_fit *fit, int i)
{
	take_step(t, fit, fit->found.op[i], fit->next[i], fit->sse[i], fit->gain[i],
			  fit->weight);
}

/*
 * Runs k-means on the weighted sample. The result is the best of three: a
 * search, Lloyd's steps from the start, and Lloyd's steps from the best
 * candidate of the scan. A candidate that has converged is taken without these
 * steps. If option trim is set, the farthest rows are ignored, and no scan
 * moves the centroids, because it would include these rows.
 */
static void
fit_sample(const training *t, group_fit *fit, const fc_weighted_rows *rows,
		   Size k)
{
	int			best = best_candidate(fit);
	fc_operator_header *continued;

	fit->op = searched_clusters(t, rows, k,
								t->start == NULL ? SEARCHED_NUMBERS
								: SHARED_NUMBERS);
	fit->converged = t->options->trim > 0;
	if (t->start != NULL && t->start->d == fit->op->d &&
		t->start->k == fit->op->k)
	{
		continued = fit_rows_of(t, rows, k, t->start, false);
		if (as_good(t, continued, fit->op, rows, 0, false))
			fit->op = continued;
	}
	if (best < 0)
		return;
	continued = fit_rows_of(t, rows, k, fit->next[best], false);
	if (!as_good(t, continued, fit->op, rows, 0, false))
		return;
	take_candidate(t, fit, best);
	if (!fit->converged)
		fit->op = continued;
}

/*
 * Keeps the serving clusters unless the new ones are better by more than
 * MIN_RETRAIN_GAIN and by more than the standard error of the difference. If
 * the new ones are better, k-means also continues from the serving clusters.
 * The clusters continued in this way are preferred to the new ones if they are
 * as good.
 */
static void
keep_old(const training *t, group_fit *fit, const fc_weighted_rows *rows,
		 const fc_operator_header *old)
{
	fc_operator_header *continued;

	if (as_good(t, old, fit->op, rows, MIN_RETRAIN_GAIN, true))
	{
		take_old(fit, old);
		return;
	}
	continued = fit_rows_of(t, rows, old->k, old, false);
	if (!as_good(t, continued, fit->op, rows, MIN_RETRAIN_GAIN, true))
		return;
	fit->op = continued;
	fit->objective = NAN;
	fit->converged = t->options->trim > 0;
}

static void
fit_kmeans(const training *t, group_fit *fit, const fc_weighted_rows *rows,
		   const fc_operator_header *old, Size k)
{
	if (!sample_suffices(t, fit, k))
		fit_sample(t, fit, rows, k);
	else
	{
		take_candidate(t, fit, best_candidate(fit));
		if (!fit->converged)
			fit->op = fit_rows_of(t, rows, k, fit->op, false);
	}
	if (old != NULL)
		keep_old(t, fit, rows, old);
}

group_fit
search_again(const training *t, const group_fit *fit)
{
	group_fit	other = *fit;

	other.found.count = 0;
	other.objective = NAN;
	fit_kmeans(t, &other, rows_with_map(t->map, fit->rows),
			   old_clusters(t, fit->group, fit->op->k), fit->op->k);
	return other;
}

bool
is_better(const training *t, const group_fit *other, const group_fit *fit)
{
	if (!isnan(other->objective) && !isnan(fit->objective))
		return other->objective < (1 - tolerance_of(t->options)) * fit->objective;
	return !as_good(t, fit->op, other->op, rows_with_map(t->map, fit->rows), 0, false);
}

/*
 * ---- frozen ----
 *
 * The serving clusters keep their centroids, and more clusters are learned
 * around them.
 */

/*
 * Number of rows from which new clusters are learned next to frozen or pinned
 * ones: NEW_CLUSTERS_SHARE of all rows or, if that is more, NEW_CLUSTER_ROWS
 * for each new cluster. With more rows, new clusters overlap the old ones.
 * Guesses.
 */
#define NEW_CLUSTERS_SHARE	0.25
#define NEW_CLUSTER_ROWS	50

/*
 * Returns the rows that are farthest from the old clusters, as many as suffice
 * to learn `more` clusters. The rows keep their order.
 */
static const fc_weighted_rows *
farthest_rows(const fc_operator_header *op, const fc_weighted_rows *rows,
			  Size more)
{
	fc_fit		labelled = labelled_rows(op, rows);
	Size		count = Min(labelled.n,
							Max(NEW_CLUSTER_ROWS * more,
								(Size) (NEW_CLUSTERS_SHARE * (double) labelled.n)));
	double	   *sorted = alloc_large(labelled.n * sizeof(double));
	bool	   *chosen = alloc_large(labelled.n * sizeof(bool));
	double		min;

	memcpy(sorted, labelled.squares, labelled.n * sizeof(double));
	qsort(sorted, labelled.n, sizeof(double), ascending);
	min = sorted[labelled.n - count];
	for (Size i = 0; i < labelled.n; i++)
		count -= chosen[i] = labelled.squares[i] > min;
	/* Among equally far rows at the limit, the first are chosen. */
	for (Size i = 0; i < labelled.n && count > 0; i++)
		if (labelled.squares[i] == min)
			count -= chosen[i] = true;
	return rows_of_operator(chosen_rows(rows, chosen));
}

/* Returns the clusters of an operator, followed by more clusters. */
static fc_codebook *
appended(const fc_operator_header *op, const fc_operator_header *more)
{
	const fc_weighted_rows *parts[] = {rows_of_operator(op), rows_of_operator(more)};
	const Size	counts[] = {op->k, more->k};

	return centroids_of_rows(joined_rows(parts, counts, lengthof(parts)));
}

/*
 * Returns the serving clusters in the coordinates of the training. Raises an
 * error that names the option `how` if there are none.
 */
static fc_operator_header *
clusters_to_keep(const training *t, const group_fit *fit,
				 const fc_weighted_rows *rows, const char *how)
{
	serving_group old = serving_of(t, fit->group);
	fc_operator_header *op = (old.op != NULL
							  ? plain_operator(rescaled_operator(old.op,
																 old.scaling,
																 t->scaling))
							  : NULL);

	if (op == NULL || op->d != rows->d)
		ereport(ERROR, errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				errmsg("model \"%s\" has no clusters that can be %s%s",
					   t->model, how,
					   fit->group[0] == '\0'
					   ? ""
					   : psprintf(" for group \"%s\"", fit->group)),
				errhint("Retrain without the option %s.", how));
	return op;
}

static void
fit_frozen(const training *t, group_fit *fit, const fc_weighted_rows *rows,
		   Size k)
{
	Size		more;

	fit->op = clusters_to_keep(t, fit, rows, "frozen");
	fit->converged = fit->op->k >= k;
	if (fit->converged)
		return;
	more = k - fit->op->k;
	fit->op = appended(fit->op,
					   fit_rows_of(t, farthest_rows(fit->op, rows, more),
								   more, NULL, true));
}

/*
 * ---- pinned ----
 *
 * Pinned clusters keep their centroids, and the others are learned from the
 * rows that are not nearest to a pinned one.
 */

/*
 * Maximum number of rounds with pinned clusters. Each round learns the other
 * clusters by k-means from the rows that are not nearest to a pinned one. With
 * more rounds, more rows have their final cluster. A guess.
 */
#define PINNED_ROUNDS	5

/*
 * Returns the rows whose labels are from `first` to `end` - 1; NULL if there
 * are none.
 */
static const fc_weighted_rows *
rows_with_labels(const fc_weighted_rows *rows, fc_fit labelled, Size first, Size end)
{
	bool	   *chosen = alloc_large(rows->n * sizeof(bool));
	fc_codebook *found;

	for (Size i = 0; i < rows->n; i++)
		chosen[i] = (Size) labelled.labels[i] >= first && (Size) labelled.labels[i] < end;
	found = chosen_rows(rows, chosen);
	return found != NULL ? rows_of_operator(found) : NULL;
}

/*
 * Returns the rows whose nearest cluster is not pinned; NULL if there are
 * none. The first `pins` clusters of op are pinned.
 */
static const fc_weighted_rows *
rows_of_others(const fc_operator_header *op, const fc_weighted_rows *rows,
			   Size pins)
{
	return rows_with_labels(rows, labelled_rows(op, rows), pins, op->k);
}

/*
 * Returns the old clusters plus one: splits the cluster with the largest sum
 * of squares in two, and continues k-means from all clusters. Returns NULL if
 * the cluster to split has fewer than two distinct rows.
 */
static fc_operator_header *
with_worst_split(const training *t, const fc_weighted_rows *rows,
				 const fc_operator_header *old)
{
	fc_fit		labelled = labelled_rows(old, rows);
	double	   *squares = palloc0(old->k * sizeof(double));
	bool	   *chosen = palloc(old->k * sizeof(bool));
	Size		worst = 0;
	const fc_weighted_rows *parted;
	fc_codebook *others;
	fc_codebook *halves;

	for (Size i = 0; i < labelled.n; i++)
		squares[labelled.labels[i]] += labelled.weights[i] * labelled.squares[i];
	for (Size j = 1; j < old->k; j++)
		worst = squares[j] > squares[worst] ? j : worst;
	parted = rows_with_labels(rows, labelled, worst, worst + 1);
	if (parted == NULL || distinct_rows(parted, 2) < 2)
		return NULL;
	halves = fit_rows_of(t, parted, 2, NULL, true);
	for (Size j = 0; j < old->k; j++)
		chosen[j] = j != worst;
	others = chosen_rows(rows_of_operator(old), chosen);
	return fit_rows_of(t, rows, old->k + 1,
					   others != NULL ? appended(others, halves) : halves,
					   false);
}

static void
fit_pinned(const training *t, group_fit *fit, const fc_weighted_rows *rows,
		   const fc_operator_header *old, Size k)
{
	const float_list *list = &t->options->pinned;
	serving_group serving = serving_of(t, fit->group);
	bool	   *pinned = palloc0(old->k * sizeof(bool));
	Size		free;
	double		last = 0;
	fc_operator numbered;
	fc_codebook *pins;
	fc_codebook *kept;
	const fc_weighted_rows *others;

	open_operator(serving.op, &numbered);
	for (int i = 0; i < list->count; i++)
	{
		for (Size j = 0; j < old->k; j++)
			pinned[j] = pinned[j] ||
				fc_operator_number(&numbered, j) == list->values[i];
		last = Max(last, list->values[i]);
	}
	pins = chosen_rows(rows_of_operator(old), pinned);
	fit->converged = true;
	if (pins == NULL || pins->k >= k || (k < old->k && last >= (double) k))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("k is %zu, but %u clusters of model \"%s\" are pinned, up to number %.0f",
					   k, pins == NULL ? 0 : pins->k, t->model, last),
				errhint("Release one with pin_cluster and pinned => false."));
	for (Size j = 0; j < old->k; j++)
		pinned[j] = !pinned[j];
	free = k - pins->k;
	kept = chosen_rows(rows_of_operator(old), pinned);
	fit->op = appended(pins,
					   kept != NULL
					   ? kept
					   : fit_rows_of(t, farthest_rows(pins, rows, free),
									 free, NULL, true));
	for (int round = 0; round < PINNED_ROUNDS; round++)
	{
		others = rows_of_others(fit->op, rows, pins->k);
		if (others == NULL || distinct_rows(others, free) < free)
			break;
		fit->op = appended(pins, fit_rows_of(t, others, free, NULL, true));
	}
}

/* ---- compressive ---- */

/*
 * Decodes the clusters from the sketch alone. Groups share a spec, which may
 * not suit each of them. For groups, the decoder therefore starts from the old
 * clusters or, if there are none, from k-means on the sample of the group.
 * These initial clusters are kept if they fit the sample better than the
 * decoded ones. Old clusters are kept unless the decoded ones are better by
 * more than MIN_RETRAIN_GAIN.
 */
static void
fit_compressive(const training *t, group_fit *fit,
				const fc_weighted_rows *rows, const fc_operator_header *old,
				Size k)
{
	const fc_operator_header *initial = old;

	if (initial == NULL && t->source.group_by != NULL)
		initial = fit_rows_of(t, rows, k, NULL, true);
	fit->op = decode_sketch(t, fit->sketch, t->spec, k,
							initial == NULL
							? NULL
							: rescaled_operator(initial, t->scaling, no_scaling),
							t->options->quiet, false).op;
	fit->op = rescaled_operator(fit->op, no_scaling, t->scaling);
	if (t->source.group_by != NULL)
	{
		fc_comparison c = compare_fits(initial, fit->op, rows, FARTHEST_SHARE);

		if (c.mean_a < c.mean_b)
			fit->op = (fc_operator_header *) initial;
	}
	if (old != NULL)
	{
		fc_comparison c = compare_fits(old, fit->op, rows, FARTHEST_SHARE);

		fit->converged = c.mean_a <= c.mean_b * (1 + MIN_RETRAIN_GAIN);
		if (fit->converged)
			fit->op = (fc_operator_header *) old;
	}
}

/* ---- QK-means ---- */

/*
 * Returns the centroids as a product of factors, computed by the method in
 * option factors.
 */
static fc_operator_header *
factorized(const training *t, const fc_operator_header *op,
		   const fc_weighted_rows *rows)
{
	const factor_options *factors = &t->options->factors;

	return factorized_operator(op, factors->method, factors->settings,
							   strcmp(factors->method, "auto") == 0 ? rows
							   : NULL);
}

/*
 * Alternates between labelling rows by the product and factorizing the cluster
 * means, like QK-means, but with any method of factorize. The result is the
 * product with the smallest sum of squares.
 */
static void
alternate_factorized(const training *t, group_fit *fit,
					 const fc_weighted_rows *rows)
{
	double		tolerance = tolerance_of(t->options);
	int			max = (int) given_or(t->options->iterations, 3);
	double		best = INFINITY;
	fc_operator_header *candidate = factorized(t, fit->op, rows);

	for (int i = 0; i <= max; i++)
	{
		TimestampTz begun = begin_step(t, psprintf("factored scan %d", i));
		lloyd_sums	sums = lloyd_scan(t, candidate);
		double		objective = sums.sse / sums.weight;

		log_step(t, psprintf("factored scan %d", i), begun, objective,
				 psprintf("%lld non-zeros",
						  (long long) stored_values(candidate)));
		if (objective >= best)
			break;
		fit->op = candidate;
		if (best - objective < tolerance * objective)
			break;
		best = objective;
		candidate = factorized(t, sums.next, rows);
	}
}

/* ---- micro-clusters ---- */

/*
 * Runs a few steps of Lloyd's algorithm from random rows, so that there are
 * more micro-clusters where there are more rows. If k-means minimized the sum
 * of squares, there would be fewer and heavier micro-clusters in dense places.
 * If there are too few distinct rows, each of them becomes a micro-cluster.
 */
static void
fit_micro(const training *t, group_fit *fit, const fc_weighted_rows *rows,
		  const fc_operator_header *old, Size k)
{
	fit->op = k < t->k ? fit_rows_of(t, rows, k, NULL, true) :
		fit_rows_of(t, rows, k, every_nth_row(rows, 1, k), false);
	if (old != NULL)
		keep_old(t, fit, rows, old);
}

/* ---- any method ---- */

/*
 * Returns the number of clusters that the rows allow: k, or the number of
 * distinct rows if that is smaller, so that no cluster is empty.
 */
static Size
possible_clusters(const training *t, const fc_weighted_rows *rows)
{
	Size		distinct = distinct_rows(rows, t->k);

	if (distinct < t->k && t->source.group_by == NULL &&
		t->method != METHOD_DENSITY)
		ereport(WARNING,
				errmsg("k is %zu, but a sample of %zu rows of %s has %s%s", t->k,
					   rows->n, t->source.relation,
					   distinct == 1 ? "one distinct row"
					   : psprintf("%zu distinct rows", distinct),
					   source_condition_text(t)),
				errdetail("Model \"%s\" gets one cluster for each distinct row.",
						  t->model),
				distinct < rows->n
				? errhint("Lower k, or add a column in which more rows differ.")
				: sample_is_cut(t)
				? errhint("Lower k, or increase fastclust.memory_budget, which limits the sample.")
				: errhint("Lower k, or raise option sample_rows."));
	return distinct;
}

fc_operator_header *
old_clusters(const training *t, const char *group, Size k)
{
	serving_group old = serving_of(t, group);

	if (old.op == NULL || t->options->fresh || old.map != NULL ||
		t->map != NULL || old.op->k != k || old.cosine != t->source.cosine)
		return NULL;
	return plain_operator(rescaled_operator(old.op, old.scaling, t->scaling));
}

void
announce_groups(const training *t, const group_fit *fits, int count)
{
	double		operations = 0;

	for (int i = 0; i < count && t->method == METHOD_KMEANS; i++)
	{
		fc_kmeans_options options = search_options(t, fits[i].rows, t->k);

		if (!sample_suffices(t, &fits[i], t->k))
			operations += fc_kmeans_operations(fits[i].rows->n,
											   fits[i].rows->d, t->k,
											   &options);
	}
	if (count > 1)
		announce_work(psprintf("k-means of %d groups takes", count), operations, false,
					  "Lower k or option sample_rows, or group by a column of fewer values");
}

void
fit_group(const training *t, group_fit *fit)
{
	const fc_weighted_rows *rows = rows_with_map(t->map, fit->rows);
	Size		k;
	fc_operator_header *old;

	if (t->imported != NULL)
	{
		fit->op = rescaled_operator(t->imported, no_scaling, t->scaling);
		fit->op = with_weights(fit->op,
							   profile_of_fit(fit->op, rows, NULL, 0).weights);
		fit->converged = true;
		return;
	}
	k = possible_clusters(t, rows);
	if (k < t->k)
		fit->found.count = 0;
	old = old_clusters(t, fit->group, k);
	if (old == NULL && k > 1 &&
		(old = old_clusters(t, fit->group, k - 1)) != NULL)
		old = with_worst_split(t, rows, old);
	if (t->frozen)
		fit_frozen(t, fit, rows, k);
	else if (t->options->pinned.count > 0)
		fit_pinned(t, fit, rows, clusters_to_keep(t, fit, rows, "pinned"), k);
	else if (t->method == METHOD_COMPRESSIVE)
		fit_compressive(t, fit, rows, old, k);
	else if (t->method == METHOD_DENSITY)
		fit_micro(t, fit, rows, old, k);
	else if (t->method == METHOD_QKMEANS && t->options->factors.method == NULL)
		learn_product(t, fit, rows, k);
	else
	{
		fit_kmeans(t, fit, rows, old, k);
		if (t->method == METHOD_QKMEANS)
			alternate_factorized(t, fit, rows);
	}
}

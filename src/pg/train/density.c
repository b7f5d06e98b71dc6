/*
 * density.c - method density: clusters of any shape, and noise, computed from
 * micro-clusters. k-means finds the micro-clusters, and a scan counts their
 * rows.
 *
 * A micro-cluster represents its rows (core/density/density.h) by their
 * number, their mean, and their mean squared distance from the mean. The
 * squared distance is measured on the weighted sample; for a live model it is
 * taken from the sketch of the micro-cluster. The result has two operators:
 * the micro-clusters with their regions (core/operator/operator.h), which
 * label rows, and the means of the clusters, which describe them.
 */
#include "postgres.h"

#include <float.h>

#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "density/density.h"
#include "drift/counts.h"
#include "numerics/assignment.h"
#include "operator/contingency.h"
#include "pg/base/progress.h"
#include "pg/kmeans/collection.h"
#include "pg/model/model.h"
#include "pg/operator/operator_value.h"
#include "pg/train/checks.h"
#include "pg/train/density.h"
#include "pg/train/log.h"
#include "pg/train/sample.h"
#include "sketch/layout.h"

/*
 * Default of option min_cluster_rows, as a share of the rows. With a smaller
 * share, there are more micro-clusters, and smaller clusters are found
 * (bench/density.py).
 */
#define SHARE_OF_CLUSTER	0.01

/*
 * Lower limit, in rows, of the default of min_cluster_rows. A cluster of fewer
 * rows can be due to chance. A guess.
 */
#define MIN_CLUSTER_ROWS	10.0

/*
 * Number of micro-clusters per min_cluster_rows rows. Density is measured in
 * balls that contain about min_cluster_rows / 3 rows, in about seven
 * micro-clusters. A larger number finds narrower gaps, but the time grows with
 * its square (bench/density.py).
 */
#define GRAIN	20.0

/*
 * Maximum number of micro-clusters. With more of them, narrower gaps are found
 * in large tables, but the time grows with their square. A guess.
 */
#define MAX_MICRO_CLUSTERS	20000.0

/*
 * Maximum number of coordinates of all micro-clusters together, such as 2,730
 * micro-clusters in 384 dimensions, for which predict takes 50 us. With more
 * coordinates, clusters of fewer rows are found, but the time of predict grows
 * in proportion, and that of train with the square. A guess.
 */
#define MAX_MICRO_COORDINATES	1048576.0

/*
 * Default of option noise, from 0 (lax) to 2 (strict). If there is much noise,
 * a larger value recognises more of it. In many dimensions, a larger value
 * also makes rows of clusters noise (bench/density.py).
 */
#define NOISE	0.5

/*
 * Number of micro-clusters below which compare_halved compares nothing and
 * warn_equal_distances raises no warning. A guess.
 */
#define MIN_COMPARED	200

/*
 * Number of Lloyd steps that merge micro-clusters into half as many. The
 * results need to be compact, not optimal. A guess.
 */
#define HALVING_STEPS	4

/*
 * Time for each pair of micro-clusters, in multiply-adds for announce_work:
 * WORK_OF_DISTANCE for each dimension, plus WORK_OF_PAIR. Measured with 2,000
 * to 20,000 micro-clusters in 2 to 384 dimensions.
 */
#define WORK_OF_DISTANCE	1.6
#define WORK_OF_PAIR	45

/*
 * Adjusted Rand index between the labels with all micro-clusters and with half
 * as many, below which clusters are called unstable; for a single cluster in
 * both, the share of rows with equal labels. With a larger limit,
 * clusters are also called unstable if only small ones differ. A guess.
 */
#define MIN_HALVED_AGREEMENT	0.8

/*
 * Limit of a ratio, above which a warning says that rows are nearly equally
 * distant. The ratio is the median radius of the balls that contain
 * min_cluster_rows / 3 rows, divided by the typical distance between two rows.
 * A smaller limit would also warn about tables whose clusters are found. A
 * guess.
 */
#define NEARLY_EQUAL	0.65

/*
 * Relative margin that is added to distances because centroids are rounded to
 * floats.
 */
#define DISTANCE_SLACK	1e-6

/* ---- options ---- */

void
check_density(const training *t, int64 k)
{
	const char *other = (t->options->levels.values != NULL ? "levels"
						 : !isnan(t->options->probes) ? "probes"
						 : NULL);

	if (t->method != METHOD_DENSITY)
		return;
	if (other != NULL)
		reject_with_method(t->method, psprintf("has no option \"%s\"", other),
						   "cluster_tree shows the tree of its clusters.");
	if (k != 0)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("k is %lld, but method \"density\" finds the number of clusters",
					   (long long) k),
				errhint("Leave out k; the option min_cluster_rows sets the smallest size of a cluster."));
	if (t->options->scale == 0 || (t->source.cosine && t->options->scale > 2))
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("option \"scale\" is %g, out of range", t->options->scale),
				t->source.cosine ? errdetail("It must be a cosine distance above 0, up to 2.")
				: errdetail("It must be a distance above 0."));
}

/*
 * Returns the weight that counts as one row in a density: the mean weight of
 * the rows, but at most 1. If it were always 1, rows of small weights would be
 * too few for clusters.
 */
static double
weight_of_row(const training *t)
{
	return t->source.weight != NULL
		? Min(1, t->source.total_weight / t->estimate)
		: 1;
}

/* Returns option min_cluster_rows or its default for n rows. */
static double
min_cluster_rows(const training *t, double n)
{
	return Min(n, given_or(t->options->min_cluster_rows / weight_of_row(t),
						   Max(MIN_CLUSTER_ROWS, ceil(SHARE_OF_CLUSTER * n))));
}

Size
micro_clusters(const training *t)
{
	double		groups = Max(1, t->groups);
	double		rows = (t->source.weight != NULL
						? t->source.total_weight / weight_of_row(t)
						: t->estimate);
	double		n = Max(1, rows / groups);

	return (Size) given_or(t->options->micro_clusters,
						   Max(1,
							   Min(Min(MAX_MICRO_CLUSTERS,
									   MAX_MICRO_COORDINATES / (double) t->dim),
								   ceil(GRAIN * n / min_cluster_rows(t, n)))));
}

void
check_live_size(const training *t)
{
	Size		sketch = fc_sketch_size(t->spec, 0, 0);

	/* follow_model leaves out counts that are larger than the sketch */
	Size		bytes = (t->k *
						 (sketch +
						  Min(sketch, fc_drift_size_of_spec(t->drift_spec, 0))));

	if (bytes / 1024 > (Size) fastclust_memory_budget)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("live model \"%s\" needs %zu MB for %zu micro-clusters",
					   t->model, bytes / 1024 / 1024 + 1, t->k),
				errdetail("fastclust.memory_budget is %d MB.",
						  fastclust_memory_budget / 1024),
				errhint("Lower option micro_clusters, or raise the budget."));
}

/* ---- micro-clusters ---- */

typedef struct micro_cluster_set
{
	fc_micro_clusters b;		/* the arrays n, mean and square, as functions
								 * of the core take them */
	double	   *n;				/* m values: number of rows of each
								 * micro-cluster */
	double	   *x;				/* m x d means of the micro-clusters */
	double	   *mean;			/* m x d: means of the micro-clusters minus
								 * the mean of all rows */
	double	   *square;			/* m values: mean squared distance of the rows
								 * of a micro-cluster from their mean */
	double		rows;			/* number of all rows */
	double		variance;		/* mean squared distance of all rows from
								 * their mean */
} micro_cluster_set;

/*
 * Updates the mean of some rows (d values) when `added` rows with mean x are
 * added to them. n is the number of rows afterwards.
 */
static void
add_to_mean(double *mean, const double *x, Size d, double added, double n)
{
	for (Size c = 0; c < d; c++)
		mean[c] += (x[c] - mean[c]) * added / n;
}

/*
 * Returns the mean squared distance of rows from `center`. x: the mean of the
 * rows. square: their mean squared distance from x.
 */
static double
square_about(const double *center, const double *x, Size d, double square)
{
	for (Size c = 0; c < d; c++)
		square += (x[c] - center[c]) * (x[c] - center[c]);
	return square;
}

/*
 * Computes the number of all rows, their variance, and the centered means of
 * the micro-clusters, and sets set->b. Centering reduces the rounding errors
 * of the differences that are later computed between means.
 */
static void
center_micro_clusters(micro_cluster_set *set, Size m, Size d)
{
	double	   *origin = palloc0(d * sizeof(double));

	set->rows = set->variance = 0;
	for (Size a = 0; a < m; a++)
	{
		set->rows += set->n[a];
		add_to_mean(origin, set->x + a * d, d, set->n[a], set->rows);
	}
	for (Size a = 0; a < m; a++)
	{
		double		square = set->square[a];

		for (Size c = 0; c < d; c++)
		{
			set->mean[a * d + c] = set->x[a * d + c] - origin[c];
			square += set->mean[a * d + c] * set->mean[a * d + c];
		}
		set->variance += square * set->n[a] / set->rows;
	}
	set->b = (fc_micro_clusters)
	{
		m, d, set->n, set->mean, set->square
	};
	pfree(origin);
}

static micro_cluster_set
take_micro_clusters(fc_arena *arena, Size m, Size d)
{
	return (micro_cluster_set)
	{
		.n = FC_TAKE(arena, m, double),
			.x = FC_TAKE(arena, m * d, double),
			.mean = FC_TAKE(arena, m * d, double),
			.square = FC_TAKE(arena, m, double)
	};
}

/*
 * Returns the micro-clusters of a group that have rows. row: the weight that
 * counts as one row. complete: sampled rows without imputed values, or NULL.
 * If given, only these rows are counted, and a factor makes the counts add up
 * to all rows. Imputed values would form a ridge of high density at the mean
 * of their column.
 */
static micro_cluster_set
micro_clusters_of_fit(const group_fit *fit, double row,
					  const fc_weighted_rows *complete, fc_arena *arena)
{
	fit_profile profile = {0};
	double		scale = 1;
	micro_cluster_set set = take_micro_clusters(arena, fit->op->k, fit->op->d);
	fc_operator op;
	double	   *x;
	Size		m = 0;

	if (fit->squares == NULL)
		profile = profile_of_fit(fit->op,
								 complete != NULL ? complete : fit->rows, NULL,
								 0);
	if (complete != NULL)
		scale = fit->weight / fc_weight_sum(complete->weights, complete->n);
	open_operator(fit->op, &op);
	x = rescaled_centroids(&op, NULL, NULL);
	for (Size j = 0; j < op.k; j++)
	{
		/*
		 * number of rows of the micro-cluster, estimated from the sample if
		 * no scan has counted them
		 */
		double		n = (complete != NULL || isnan(fit->objective)
						 ? scale * profile.weights[j]
						 : op.weights[j]);

		if (!(n > 0))
			continue;
		set.n[m] = n / row;
		set.square[m] = fit->squares != NULL ? fit->squares[j]
			: profile.weights[j] > 0
			? profile.spreads[j] * profile.spreads[j] *
			(double) op.d
			: 0;
		/* rows that are equal up to rounding have no extent */
		if (sqrt(set.square[m]) <= fc_operator_centroid_rounding(&op, j))
			set.square[m] = 0;
		memcpy(set.x + m * op.d, x + j * op.d, op.d * sizeof(double));
		m++;
	}
	pfree(x);
	center_micro_clusters(&set, m, op.d);
	return set;
}

/*
 * Sets, for each of m clusters, the number n of rows, their mean x (d values),
 * and the mean squared distance `square` of the rows from x. cluster[a]: the
 * cluster of micro-cluster a, or -1. mean: the means of the micro-clusters, d
 * values each.
 */
static void
join_micro_clusters(const micro_cluster_set *set, const double *mean, const int32 *cluster,
					Size m, double *n, double *x, double *square)
{
	Size		d = set->b.d;

	memset(n, 0, m * sizeof(double));
	memset(x, 0, m * d * sizeof(double));
	memset(square, 0, m * sizeof(double));
	for (Size a = 0; a < set->b.m; a++)
		if (cluster[a] >= 0)
		{
			Size		j = (Size) cluster[a];

			n[j] += set->n[a];
			add_to_mean(x + j * d, mean + a * d, d, set->n[a], n[j]);
		}
	for (Size a = 0; a < set->b.m; a++)
		if (cluster[a] >= 0)
		{
			Size		j = (Size) cluster[a];

			square[j] += square_about(x + j * d, mean + a * d, d, set->square[a]) *
				set->n[a] / n[j];
		}
}

/* ---- comparison with half as many micro-clusters ---- */

/*
 * Merges the micro-clusters by k-means into at most half as many larger ones,
 * and returns the larger ones. Sets number[a] (m values) to the index of the
 * larger micro-cluster that contains a.
 */
static micro_cluster_set
halved_micro_clusters(const training *t, const micro_cluster_set *set, fc_arena *arena,
					  int32 *number)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	const fc_weighted_rows *all = rows_of_operator(make_codebook(set->mean, set->n,
																 set->b.m,
																 set->b.d));
	micro_cluster_set half = take_micro_clusters(arena, set->b.m / 2, set->b.d);
	fc_operator_header *found;
	fc_fit		labelled;
	Size		m = 0;
	int32	   *place;

	options.seed = (uint64) t->options->seed;
	options.n_init = 1;
	options.iterations = HALVING_STEPS;
	found = kmeans_of_rows(all, set->b.m / 2, &options, NULL, 0);
	labelled = labelled_rows(found, all);
	place = palloc(found->k * sizeof(int32));
	memset(place, -1, found->k * sizeof(int32));
	for (Size a = 0; a < set->b.m; a++)
	{
		Size		j = (Size) labelled.labels[a];

		if (place[j] < 0)
			place[j] = (int32) m++;
		number[a] = place[j];
	}
	join_micro_clusters(set, set->mean, number, m, half.n, half.x, half.square);
	center_micro_clusters(&half, m, set->b.d);
	return half;
}

/*
 * Returns the adjusted Rand index of two labellings of the micro-clusters,
 * weighted by their rows; noise counts as a label.
 */
static double
agreement(const micro_cluster_set *set, const int32 *a, const int32 *b,
		  fc_arena *arena)
{
	Size		capacity = 2;
	fc_contingency *table;
	fc_cell    *cells;
	double		score;

	while (capacity < 2 * set->b.m)
		capacity *= 2;
	table = palloc(fc_contingency_size(capacity));
	fc_contingency_init(capacity, table);
	for (Size i = 0; i < set->b.m; i++)
		check_status(fc_contingency_add(table, a[i], b[i],
										Max(1, (int64) rint(set->n[i]))));
	cells = palloc(table->used * sizeof(fc_cell));
	fc_contingency_list(table, arena, cells);
	check_status(fc_adjusted_rand(cells, table->used, arena, &score));
	return score;
}

/*
 * Returns the share of rows whose micro-clusters have equal labels. A single
 * cluster in both labellings would have an adjusted Rand index near 0 if its
 * few rows of noise differ.
 */
static double
equal_share(const micro_cluster_set *set, const int32 *a, const int32 *b)
{
	double		equal = 0.0;
	double		all = 0.0;

	for (Size i = 0; i < set->b.m; i++)
	{
		equal += a[i] == b[i] ? set->n[i] : 0.0;
		all += set->n[i];
	}
	return equal / all;
}

/*
 * Finds the clusters again from half as many micro-clusters. Returns a note if
 * the clusters differ, else NULL. Also returns NULL, without a comparison, if
 * there are groups or fewer than MIN_COMPARED micro-clusters.
 */
static char *
compare_halved(const training *t, const micro_cluster_set *set,
			   const fc_density_options *options, const fc_density *found,
			   fc_arena *arena)
{
	int32	   *number;
	int32	   *label;
	micro_cluster_set half;
	fc_density	other;
	double		score;

	if (set->b.m < MIN_COMPARED || t->source.group_by != NULL)
		return NULL;
	number = FC_TAKE(arena, set->b.m, int32);
	label = FC_TAKE(arena, set->b.m, int32);
	half = halved_micro_clusters(t, set, arena, number);
	fc_density_clusters(&half.b, options, arena, &other);
	for (Size a = 0; a < set->b.m; a++)
		label[a] = other.label[number[a]];
	score = found->k == 1 && other.k == 1 ? equal_share(set, found->label, label)
		: agreement(set, found->label, label, arena);
	if (score >= MIN_HALVED_AGREEMENT)
		return NULL;
	if (!t->options->quiet)
		ereport(NOTICE,
				errmsg("the clusters of model \"%s\" depend on the number of micro-clusters: %zu clusters with %zu, %zu%s with %zu",
					   t->model, found->k, set->b.m, other.k,
					   found->k == other.k ? " others" : "", half.b.m),
				errdetail("The %s of the two clusterings is %.2f.",
						  found->k == 1 && other.k == 1
						  ? "agreement"
						  : "adjusted Rand index",
						  score),
				errhint("Raise option micro_clusters until the clusters stay the same, or min_cluster_rows for fewer and larger clusters."));
	if (found->k == other.k)
		return psprintf("unstable: %s %.2f with half as many micro-clusters",
						found->k == 1 ? "agreement" : "adjusted Rand index", score);
	return psprintf("unstable: %zu cluster%s with half as many micro-clusters", other.k,
					other.k == 1 ? "" : "s");
}

/* ---- regions ---- */

/*
 * Regions of a group (core/operator/operator.h): clusters that consist of
 * micro-clusters. Each array has one value for each micro-cluster of the set,
 * from which find_at_scale has removed the micro-clusters that are not dense.
 */
typedef struct found_regions
{
	Size		clusters;		/* number of clusters */
	int32	   *cluster;		/* cluster of the micro-cluster; -1: noise */
	int32	   *peak_cluster;	/* cluster of the micro-cluster or, if it is
								 * noise, the cluster to which it would belong */
	double	   *radius;			/* radius of the ball that measures the
								 * density around the micro-cluster */
	double	   *reach;			/* distance from a row to the micro-cluster
								 * beyond which the row is noise */
	double	   *peak;			/* smallest radius in the cluster peak_cluster */
	char	   *note;			/* note that clusters are unstable; NULL: they
								 * are stable, or not compared */
} found_regions;

static float
shown_float(double x)
{
	return (float) Min(x, FLT_MAX);
}

/*
 * Returns the operator that labels rows: the centroids of the micro-clusters,
 * with their regions. The operator rounds the centroids, so the distances
 * beyond which rows are noise (found->reach) are slightly enlarged.
 */
static fc_operator_header *
micro_operator(const training *t, const micro_cluster_set *set,
			   const found_regions *found)
{
	Size		m = set->b.m;
	fc_metric	metric = t->source.cosine ? FC_COSINE : FC_EUCLIDEAN;
	int32	   *cluster = palloc(2 * m * sizeof(int32));
	float	   *numbers = palloc(3 * m * sizeof(float));
	double		slack = DISTANCE_SLACK * sqrt(set->variance);
	fc_operator op;

	open_operator(make_codebook_for(metric,
									unit_centroids(metric, set->x, m, set->b.d),
									set->n, m, set->b.d),
				  &op);
	for (Size a = 0; a < m; a++)
	{
		cluster[a] = found->cluster[a];
		cluster[m + a] = found->peak_cluster[a];
		numbers[a] = shown_float(found->radius[a]);
		numbers[m + a] = shown_float((1 + DISTANCE_SLACK) * found->reach[a] + slack);
		numbers[2 * m + a] = shown_float(found->peak[a]);
	}
	op.regions = (fc_regions)
	{
		found->clusters, cluster, cluster + m,
			numbers, numbers + m, numbers + 2 * m
	};
	return store_operator(&op);
}

/*
 * Corrects n, the number of rows in the micro-clusters of each cluster, to the
 * number of rows that get the label of the cluster, because they are not
 * farther away than the reach. A sample gives the share of such rows. total:
 * number of rows of the table if option scale is given, else 0. With option
 * scale, a row near a dense micro-cluster belongs to the cluster of that
 * micro-cluster, even if it was in another one in k-means, which is not dense.
 */
static void
count_rows_in_reach(const fc_operator_header *micro, const fc_weighted_rows *rows,
					double total, double *n, Size k)
{
	fc_fit		labelled = labelled_rows(plain_operator(micro), rows);
	double	   *nearest = palloc0(k * sizeof(double));
	double	   *within = palloc0(k * sizeof(double));
	double		sampled = 0;
	fc_operator op;

	open_operator(micro, &op);
	for (Size i = 0; i < labelled.n; i++)
	{
		Size		a = (Size) labelled.labels[i];
		int32		cluster = op.regions.cluster[a];

		if (cluster < 0)
			continue;
		sampled += labelled.weights[i];
		nearest[cluster] += labelled.weights[i];
		if (fc_operator_label(&op, a, labelled.squares[i]) >= 0)
			within[cluster] += labelled.weights[i];
	}
	for (Size j = 0; j < k; j++)
		if (total > 0)
			n[j] = within[j] * total / sampled;
		else if (nearest[j] > 0)
			n[j] *= within[j] / nearest[j];
}

/*
 * Sets the operators of the group: op to the means of the clusters, without
 * noise, and micro to the micro-clusters, which label rows. Sets the spreads
 * of the group to the standard deviations of its clusters per dimension.
 * Returns the number of rows that are in a cluster. rows, total: arguments of
 * count_rows_in_reach. If rows is NULL, a cluster has the rows of its
 * micro-clusters.
 */
static double
describe_clusters(const training *t, group_fit *fit, const micro_cluster_set *set,
				  const found_regions *found, const fc_weighted_rows *rows,
				  double total)
{
	double		clustered = 0;
	Size		k = found->clusters;
	Size		d = set->b.d;
	fc_metric	metric = t->source.cosine ? FC_COSINE : FC_EUCLIDEAN;
	double	   *x = palloc(k * d * sizeof(double));
	double	   *n = palloc(k * sizeof(double));
	double	   *spreads = palloc(k * sizeof(double));

	join_micro_clusters(set, set->x, found->cluster, k, n, x, spreads);
	for (Size j = 0; j < k; j++)
		spreads[j] = sqrt(spreads[j] / (double) d);
	fit->micro = micro_operator(t, set, found);
	if (rows != NULL)
		count_rows_in_reach(fit->micro, rows, total, n, k);
	fit->op = make_codebook_for(metric, unit_centroids(metric, x, k, d), n, k,
								d);
	fit->spreads = spreads;
	for (Size j = 0; j < k; j++)
		clustered += n[j];
	return clustered;
}

/*
 * Warns if all rows have nearly the same distance from each other. This is
 * common in many dimensions, where a ball that contains few rows has almost
 * the same radius as a ball that contains many.
 */
static void
warn_equal_distances(const training *t, const micro_cluster_set *set,
					 const double *radius, fc_arena *arena)
{
	double	   *sorted = FC_TAKE(arena, set->b.m, double);
	double		ratio;

	memcpy(sorted, radius, set->b.m * sizeof(double));
	qsort(sorted, set->b.m, sizeof(double), ascending);
	ratio = sorted[set->b.m / 2] / sqrt(2 * set->variance);
	if (set->b.m >= MIN_COMPARED && ratio > NEARLY_EQUAL)
		ereport(WARNING,
				errmsg("rows of model \"%s\" are at nearly equal distances, so density separates few of them",
					   t->model),
				errdetail("In %zu dimensions, the distance to the farthest of the nearest min_cluster_rows / 3 rows is %.0f %% of the distance between two rows.",
						  set->b.d, 100 * ratio),
				errhint("Train on fewer columns or on leading principal components, or use method kmeans."));
}

/*
 * Returns the number of copies of a row, averaged over all rows; 1 if all rows
 * differ. A live model has no sample, so only rows in micro-clusters without
 * extent count as copies.
 */
static double
copies_of_fit(const group_fit *fit, const micro_cluster_set *set, fc_arena *arena)
{
	double		light = 0;
	double		squares = 0;

	if (fit->rows != NULL)
		return fc_density_copies(fit->rows->values, fit->rows->weights, fit->rows->counts,
								 fit->rows->n, fit->rows->d, arena);
	for (Size a = 0; a < set->b.m; a++)
		if (set->n[a] < FC_HEAVY_PLACE * set->rows)
		{
			light += set->n[a];
			squares += set->n[a] * (set->square[a] > 0 ? 1 : set->n[a]);
		}
	return light > 0 ? Max(1, squares / light) : 1;
}

/*
 * Returns the leaves of the condensed tree as regions, and stores the splits
 * of the tree in the group.
 */
static found_regions
find_leaves(const training *t, group_fit *fit, const micro_cluster_set *set,
			fc_arena *arena)
{
	fc_density_options options = {
		min_cluster_rows(t, set->rows),
		given_or(t->options->noise, NOISE),
		copies_of_fit(fit, set, arena) / weight_of_row(t)
	};
	Size		m = set->b.m;
	fc_density	tree;
	found_regions found;

	fc_density_clusters(&set->b, &options, arena, &tree);
	warn_equal_distances(t, set, tree.radius, arena);
	found = (found_regions)
	{
		tree.k,
			tree.label,
			tree.peak_cluster,
			tree.radius,
			FC_TAKE(arena, m, double),
			FC_TAKE(arena, m, double),
			compare_halved(t, set, &options, &tree, arena)
	};
	for (Size a = 0; a < m; a++)
	{
		const fc_density_cluster *peak_cluster = &tree.cluster[tree.peak_cluster[a]];

		found.reach[a] = tree.label[a] >= 0 ? tree.cluster[tree.label[a]].reach
			: 0;
		found.peak[a] = tree.radius[peak_cluster->peak];
	}
	if (tree.k > 1)
		fit->splits = palloc((tree.k - 1) * 4 * sizeof(double));
	for (Size i = 0; i + 1 < tree.k; i++)
	{
		double		split[4] = {
			tree.split[i].left,
			tree.split[i].right,
			t->source.cosine ? tree.split[i].radius * tree.split[i].radius / 2
			: tree.split[i].radius,
			tree.split[i].rows
		};

		memcpy(fit->splits + 4 * i, split, sizeof(split));
	}
	return found;
}

/*
 * Finds the regions at the density that option scale gives, and removes the
 * micro-clusters that are not dense from the set. A row then belongs to the
 * nearest dense micro-cluster, or is noise.
 */
static found_regions
find_at_scale(const training *t, const group_fit *fit, micro_cluster_set *set,
			  fc_arena *arena)
{
	/* unit vectors at cosine distance s are at distance sqrt(2 s) */
	double		scale = t->source.cosine ? sqrt(2 * t->options->scale) : t->options->scale;
	double		min_rows = min_cluster_rows(t, set->rows);
	Size		d = set->b.d;
	found_regions found = {
		0,
		FC_TAKE(arena, set->b.m, int32),
		NULL,
		FC_TAKE(arena, set->b.m, double),
		FC_TAKE(arena, set->b.m, double),
		FC_TAKE(arena, set->b.m, double)
	};
	double	   *peak;
	Size		m = 0;

	found.clusters = fc_density_at_scale(&set->b, min_rows, scale, arena,
										 found.cluster, found.radius);
	if (found.clusters == 0)
		ereport(ERROR, errcode(ERRCODE_NO_DATA_FOUND),
				errmsg("no row has %.0f rows within distance %g%s", min_rows,
					   t->options->scale,
					   fit->group[0] == '\0'
					   ? ""
					   : psprintf(", of group \"%s\"", fit->group)),
				errhint("Raise option scale, which is a distance as predict_distance returns it, or lower min_cluster_rows."));
	peak = FC_TAKE(arena, found.clusters, double);
	for (Size c = 0; c < found.clusters; c++)
		peak[c] = INFINITY;
	for (Size a = 0; a < set->b.m; a++)
	{
		if (found.cluster[a] < 0)
			continue;
		found.cluster[m] = found.cluster[a];
		found.radius[m] = found.radius[a];
		found.reach[m] = scale;
		peak[found.cluster[m]] = Min(peak[found.cluster[m]], found.radius[m]);
		set->n[m] = set->n[a];
		set->square[m] = set->square[a];
		memmove(set->x + m * d, set->x + a * d, d * sizeof(double));
		m++;
	}
	for (Size a = 0; a < m; a++)
		found.peak[a] = peak[found.cluster[a]];
	found.peak_cluster = found.cluster;
	set->b.m = m;
	return found;
}

/*
 * Warns if a micro-cluster of a live model has too many rows. Only a training
 * on rows moves micro-clusters; a retrain from the live sketch keeps them,
 * even if new rows are elsewhere.
 */
static void
warn_outgrown(const training *t, const micro_cluster_set *set)
{
	double		min = Max(min_cluster_rows(t, set->rows),
						  GRAIN * set->rows / (double) set->b.m);

	for (Size a = 0; a < set->b.m; a++)
		if (set->n[a] > min && set->square[a] > 0)
		{
			ereport(WARNING,
					errmsg("micro-clusters of live model \"%s\" no longer fit its rows: one has %.0f rows, more than min_cluster_rows",
						   t->model, set->n[a]),
					errhint("To find new micro-clusters in the rows, use retrain(%s, '{\"micro_clusters\": %zu}').",
							quote_literal_cstr(t->model), micro_clusters(t)));
			return;
		}
}

/*
 * Announces how long it takes to find the clusters of all groups. The
 * distances of all pairs of micro-clusters are computed twice and sorted. The
 * comparison with half as many micro-clusters takes a quarter of that time in
 * addition.
 */
static void
announce_density(const training *t, const group_fit *fits, int count)
{
	double		operations = 0;

	for (int i = 0; i < count; i++)
		operations += 1.25 * (double) fits[i].op->k * (double) fits[i].op->k *
			(WORK_OF_DISTANCE * (double) fits[i].op->d + WORK_OF_PAIR);
	announce_work("finding the clusters takes", operations, t->options->quiet,
				  "Lower option micro_clusters, or raise min_cluster_rows");
}

static double
find_group_regions(training *t, group_fit *fit, const fc_weighted_rows *complete)
{
	fc_arena	arena = make_arena("density");
	double		row = weight_of_row(t);
	micro_cluster_set set = micro_clusters_of_fit(fit, row, complete, &arena);
	bool		at_scale = !isnan(t->options->scale);
	const fc_weighted_rows *counted = NULL;
	found_regions found;
	double		clustered;

	if (fit->squares != NULL)
		warn_outgrown(t, &set);
	else if (t->source.group_by == NULL)
		t->micro = fit->op;
	found = at_scale ? find_at_scale(t, fit, &set, &arena) : find_leaves(t, fit, &set, &arena);

	/*
	 * A live model with option scale keeps the counts of its micro-clusters,
	 * which are exact.
	 */
	if (!at_scale || fit->squares == NULL)
		counted = complete != NULL ? complete : fit->rows;
	clustered = row * describe_clusters(t, fit, &set, &found, counted, at_scale ? set.rows : 0);
	if (row != 1)
	{
		fit->op = with_weights_times(fit->op, row);
		fit->micro = with_weights_times(fit->micro, row);
		for (Size i = 0; fit->splits != NULL && i + 1 < fit->op->k; i++)
			fit->splits[4 * i + 3] *= row;
	}
	if (found.note != NULL)
		t->note = t->note != NULL ? psprintf("%s, %s", found.note, t->note) : found.note;
	fit->objective = NAN;
	release_arena(&arena);
	return clustered;
}

void
find_regions(training *t, const fc_weighted_rows *sample, group_fit *fits,
			 int count)
{
	const fc_weighted_rows *complete = (sample != NULL &&
										t->source.complete != NULL
										? rescaled_rows(sample, no_scaling,
														t->scaling)
										: NULL);
	TimestampTz begun = begin_step(t, "density");
	double		clustered = 0;
	double		n = 0;
	Size		clusters = 0;
	char	   *note;

	announce_density(t, fits, count);
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		clustered += find_group_regions(t, &fits[i], complete);
		n += fits[i].weight;
		clusters += fits[i].op->k;
	}
	note = psprintf("%zu cluster%s, %.1f %% noise", clusters,
					clusters == 1 ? "" : "s", 100 * Max(0, 1 - clustered / n));
	log_step(t, "density", begun, NAN, note);
	t->note = t->source.group_by != NULL ? NULL
		: t->note != NULL ? psprintf("%s, %s", note, t->note)
		: note;
}

/* ---- numbers ---- */

void
number_regions(group_fit *fit, int32 *numbers)
{
	Size		k = fit->op->k;
	double	   *spreads;
	fc_operator op;
	fc_arena	arena;
	int32	   *cluster;

	if (numbers == NULL)
		return;
	spreads = palloc(k * sizeof(double));
	arena = make_arena("numbering the clusters");
	fc_complete_numbers(numbers, k, &arena);
	release_arena(&arena);
	open_operator(fit->micro, &op);
	cluster = palloc(2 * op.k * sizeof(int32));
	for (Size a = 0; a < op.k; a++)
	{
		cluster[a] = op.regions.cluster[a] < 0 ? -1
			: numbers[op.regions.cluster[a]];
		cluster[op.k + a] = numbers[op.regions.peak_cluster[a]];
	}
	for (Size j = 0; j < k; j++)
		spreads[numbers[j]] = fit->spreads[j];
	for (Size i = 0; fit->splits != NULL && i + 1 < k; i++)
		for (int side = 0; side < 2; side++)
			if (fit->splits[4 * i + (Size) side] < (double) k)
				fit->splits[4 * i + (Size) side] = numbers
					[(Size) fit->splits[4 * i + (Size) side]];
	op.regions.cluster = cluster;
	op.regions.peak_cluster = cluster + op.k;
	fit->micro = store_operator(&op);
	fit->op = renumbered(fit->op, numbers);
	fit->spreads = spreads;
}

/*
 * Returns the profile of a group with regions. The quantiles are of outlier
 * scores instead of distances; `mean` and `error` are NAN. places: `count`
 * probabilities of the quantiles.
 */
fit_profile
profile_of_regions(const group_fit *fit, const double *places, Size count)
{
	fc_fit		labelled = labelled_rows(plain_operator(fit->micro), fit->rows);
	double	   *squares = alloc_large(labelled.n * sizeof(double));
	fit_profile profile = {
		.mean = NAN,
		.error = NAN,
		.quantiles = palloc(count * sizeof(double)),
		.spreads = fit->spreads
	};
	fc_arena	arena = make_arena("the profile of a fit");
	fc_operator op;

	open_operator(fit->micro, &op);
	for (Size i = 0; i < labelled.n; i++)
	{
		double		score = fc_operator_outlier(&op, (Size) labelled.labels[i],
												labelled.squares[i]);

		squares[i] = score * score;
	}
	labelled.squares = squares;
	fc_fit_quantiles(&labelled, places, count, &arena, profile.quantiles);
	release_arena(&arena);
	return profile;
}

/* fit.c - how well an operator fits weighted rows; see fit.h */
#include "operator/fit.h"

#include "base/blas.h"
#include "base/sort.h"
#include "numerics/rows.h"
#include "operator/codebook.h"
#include "operator/partial.h"

size_t
fc_fit_scratch(const fc_operator *op)
{
	return larger(fc_operator_batch_scratch(op, FC_FIT_BATCH), fc_partial_scratch(op));
}

/*
 * Reads row i into `row`. Missing values become the coordinates of the nearest
 * centroid, or fill values if fc_partial_suits is false.
 */
static void
read_row(const fc_operator *op, const fc_weighted_rows *rows, size_t i,
		 fc_scratch scratch, double *row)
{
	if (rows->missing != NULL && fc_partial_suits(op) &&
		fc_weighted_partial_row(rows, i, row))
		fc_partial_fill(op, fc_partial_assign(op, row, scratch), row);
	else
		fc_weighted_row(rows, i, row);
}

void
fc_fit_rows(const fc_operator *op, const fc_weighted_rows *rows, fc_scratch scratch,
			double *batch, int32_t *labels, double *squares)
{
	for (size_t first = 0; first < rows->n; first += FC_FIT_BATCH)
	{
		size_t		count = (rows->n - first < FC_FIT_BATCH ? rows->n - first
							 : FC_FIT_BATCH);

		fc_check();
		for (size_t i = 0; i < count; i++)
			read_row(op, rows, first + i, scratch, batch + i * op->d);
		fc_operator_assign_batch(op, batch, count, scratch, labels + first);
		for (size_t i = 0; i < count; i++)
		{
			fc_check();
			squares[first + i] = fc_operator_distance(op,
													  (size_t)
													  labels[first + i],
													  batch + i * op->d,
													  scratch);
			labels[first + i] = fc_operator_label(op,
												  (size_t) labels[first + i],
												  squares[first + i]);
		}
	}
}

void
fc_fit_means(const fc_fit *fit, double *mean, double *error,
			 double *cluster_means, double *cluster_weights)
{
	double		weight = fc_weight_sum(fit->weights, fit->n);
	double		square = 0.0;

	*mean = 0.0;
	for (size_t i = 0; i < fit->n; i++)
		*mean += fit->weights[i] * fit->squares[i] / weight;
	for (size_t i = 0; i < fit->n; i++)
	{
		double		own = fit->counts != NULL ? fit->weights[i] / fit->counts[i] : 1.0;

		square += fit->weights[i] * (fit->weights[i] - own) *
			(fit->squares[i] - *mean) * (fit->squares[i] - *mean);
	}
	*error = sqrt(fmax(square, 0.0)) / weight;
	memset(cluster_means, 0, fit->k * sizeof(double));
	memset(cluster_weights, 0, fit->k * sizeof(double));
	for (size_t i = 0; i < fit->n; i++)
	{
		cluster_means[fit->labels[i]] += fit->weights[i] * fc_fit_square(fit, i);
		cluster_weights[fit->labels[i]] += fit->weights[i];
	}
	for (size_t j = 0; j < fit->k; j++)
		cluster_means[j] = cluster_weights[j] > 0.0
			? cluster_means[j] / cluster_weights[j]
			: *mean;
}

/* ---- rows in the order of their distances ---- */

/* Returns the rows sorted by squared distance, ascending. */
static fc_keyed *
sort_rows(const fc_fit *fit, fc_arena *arena)
{
	fc_keyed   *items = FC_TAKE(arena, fit->n, fc_keyed);
	fc_keyed   *scratch = FC_TAKE(arena, fit->n, fc_keyed);

	for (size_t i = 0; i < fit->n; i++)
		items[i] = (fc_keyed)
	{
		fc_number_key(fc_fit_square(fit, i)), i
	};
	fc_sort(items, fit->n, scratch);
	return items;
}

void
fc_fit_quantiles(const fc_fit *fit, const double *places, size_t count,
				 fc_arena *arena, double *quantiles)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_keyed   *sorted = sort_rows(fit, arena);
	double		total = fc_weight_sum(fit->weights, fit->n);
	double		one = fmin(1.0, total / (double) fit->n);	/* weight of a single
															 * row, 1 or less */
	double		last = total - one;
	double		below = 0.0;	/* weight of the rows before row i */
	double		place_before = 0.0;
	double		before = 0.0;	/* distance of the previous row */
	size_t		q = 0;

	for (size_t i = 0; i < fit->n && q < count; i++)
	{
		double		weight = fit->weights[sorted[i].value];
		double		place = below + (weight - one) / 2.0;
		double		distance = sqrt(fc_fit_square(fit, sorted[i].value));

		for (; q < count && (places[q] * last <= place || i + 1 == fit->n); q++)
		{
			double		share = (place > place_before
								 ? (places[q] * last - place_before) /
								 (place - place_before)
								 : 1.0);

			quantiles[q] = i == 0 ? distance
				: before + fmin(1.0, fmax(0.0, share)) *
				(distance - before);
		}
		below += weight;
		place_before = place;
		before = distance;
	}
	fc_arena_release(arena, mark);
}

/*
 * Returns the weighted mean of the squared distances. The farthest rows, with
 * the fraction `trim` of the weight, are left out.
 */
static double
trimmed_mean(const fc_fit *fit, double trim, fc_arena *arena)
{
	fc_mark		mark = fc_arena_mark(arena);
	double		left = fc_weight_sum(fit->weights, fit->n) * (1.0 - trim);
	double		sum = 0.0;
	double		weight = 0.0;
	fc_keyed   *sorted = sort_rows(fit, arena);

	for (size_t i = 0; i < fit->n && weight < left; i++)
	{
		double		own = fmin(fit->weights[sorted[i].value], left - weight);

		weight += own;
		sum += own * fit->squares[sorted[i].value];
	}
	fc_arena_release(arena, mark);
	return weight > 0.0 ? sum / weight : 0.0;
}

void
fc_fit_compare(const fc_fit *a, const fc_fit *b, double trim, fc_arena *arena,
			   fc_comparison *result)
{
	double		weight = fc_weight_sum(a->weights, a->n);
	double		difference = 0.0;
	double		square = 0.0;

	result->mean_a = trimmed_mean(a, trim, arena);
	result->mean_b = trimmed_mean(b, trim, arena);
	result->changed = 0.0;
	for (size_t i = 0; i < a->n; i++)
	{
		difference += a->weights[i] * (a->squares[i] - b->squares[i]) / weight;
		if (a->labels[i] != b->labels[i])
			result->changed += a->weights[i] / weight;
	}
	for (size_t i = 0; i < a->n; i++)
	{
		double		own = a->squares[i] - b->squares[i] - difference;

		square += a->weights[i] * a->weights[i] * own * own;
	}
	result->error = sqrt(square) / weight;
}

/* ---- Davies-Bouldin ---- */

double
fc_davies_bouldin(const double *centroids, size_t k, size_t d,
				  const double *weights, const double *sums, double *worst)
{
	size_t		used = 0;
	double		total = 0.0;

	for (size_t i = 0; i < k; i++)
	{
		double		max = 0.0;

		if (!(weights[i] > 0.0))
			continue;
		for (size_t j = 0; j < k; j++)
		{
			fc_check();
			if (j != i && weights[j] > 0.0)
				max = fmax(max,
						   (sums[i] / weights[i] + sums[j] / weights[j]) /
						   sqrt(fc_square_between(centroids + i * d,
												  centroids + j * d, d)));
		}
		used++;
		total += max;
		if (worst != NULL)
			worst[i] = max;
	}
	return used > 0 ? total / (double) used : 0.0;
}

/* ---- sums over rows ---- */

typedef struct quality_sums
{
	double	   *weights;		/* k values, as in the next six fields: sums
								 * of w, the weight of a row */
	double	   *rows;			/* numbers of rows of the clusters */
	double	   *distances;		/* sums of w a, where a is the distance to the
								 * nearest centroid */
	double	   *squares;		/* sums of w a^2 */
	double	   *silhouettes;	/* sums of w times the silhouette */
	double	   *totals;			/* sums of w ||x - m||^2 */
	double	   *worst;			/* Davies-Bouldin index of each cluster */
	double	   *mean;			/* d: m, the mean of all rows */
	double	   *row;			/* d: current row */
	double	   *centroids;		/* k x d: centroids of the operator */
} quality_sums;

static void
take_sums(size_t k, size_t d, fc_arena *arena, quality_sums *sums)
{
	double	  **arrays[] = {
		&sums->weights,
		&sums->rows,
		&sums->distances,
		&sums->squares,
		&sums->silhouettes,
		&sums->totals,
		&sums->worst
	};

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		*arrays[i] = FC_TAKE(arena, k, double);
	sums->mean = FC_TAKE(arena, d, double);
	sums->row = FC_TAKE(arena, d, double);
	sums->centroids = FC_TAKE(arena, k * d, double);
}

/* Adds the row in sums->row with weight w to the sums. */
static void
add_row(const fc_operator *op, double w, fc_scratch scratch, quality_sums *sums)
{
	int32_t		clusters[2];
	double		squares[2] = {0.0, 0.0};
	size_t		j;

	fc_operator_nearest(op, sums->row, op->k < 2 ? 1 : 2, scratch, clusters,
						squares);
	j = (size_t) clusters[0];
	sums->weights[j] += w;
	sums->rows[j]++;
	sums->distances[j] += w * sqrt(squares[0]);
	sums->squares[j] += w * squares[0];
	sums->totals[j] += w * fc_square_between(sums->row, sums->mean, op->d);
	if (squares[1] > 0.0)
		sums->silhouettes[j] += w * (1.0 - sqrt(squares[0] / squares[1]));
}

static void
add_rows(const fc_operator *op, const fc_weighted_rows *rows, fc_scratch scratch,
		 quality_sums *sums)
{
	memset(sums->weights, 0, op->k * sizeof(double));
	memset(sums->rows, 0, op->k * sizeof(double));
	memset(sums->distances, 0, op->k * sizeof(double));
	memset(sums->squares, 0, op->k * sizeof(double));
	memset(sums->silhouettes, 0, op->k * sizeof(double));
	memset(sums->totals, 0, op->k * sizeof(double));
	for (size_t i = 0; i < rows->n; i++)
	{
		fc_check();
		fc_weighted_row(rows, i, sums->row);
		if (rows->weights[i] > 0.0)
			add_row(op, rows->weights[i], scratch, sums);
	}
}

/* ---- qualities ---- */

static fc_quality
quality_of(double weight, double silhouettes, double squares, double totals,
		   size_t k, size_t d)
{
	fc_quality	q = {weight, NAN, NAN, NAN, NAN};

	if (weight > 0.0)
	{
		q.silhouette = k > 1 ? silhouettes / weight : NAN;
		q.spread = sqrt(squares / weight / (double) d);
	}
	if (totals > 0.0)
		q.explained = 1.0 - squares / totals;
	return q;
}

static void
finish(const fc_operator *op, quality_sums *sums, fc_quality *clusters,
	   fc_quality *all)
{
	double		weight = 0.0;
	double		silhouettes = 0.0;
	double		squares = 0.0;
	double		totals = 0.0;
	double		index;
	size_t		used = 0;

	index = fc_davies_bouldin(sums->centroids, op->k, op->d, sums->weights,
							  sums->distances, sums->worst);
	for (size_t j = 0; j < op->k; j++)
	{
		if (sums->rows[j] <= 1.0 && sums->weights[j] <= 1.0)
			sums->silhouettes[j] = 0.0;
		weight += sums->weights[j];
		silhouettes += sums->silhouettes[j];
		squares += sums->squares[j];
		totals += sums->totals[j];
		used += sums->weights[j] > 0.0;
	}
	for (size_t j = 0; j < op->k; j++)
	{
		clusters[j] = quality_of(sums->weights[j], sums->silhouettes[j],
								 sums->squares[j], sums->totals[j], op->k,
								 op->d);
		if (used > 1 && sums->weights[j] > 0.0)
			clusters[j].davies_bouldin = sums->worst[j];
	}
	*all = quality_of(weight, silhouettes, squares, totals, op->k, op->d);
	if (used > 1)
		all->davies_bouldin = index;
}

void
fc_quality_measure(const fc_operator *op, const fc_weighted_rows *rows,
				   fc_scratch scratch, fc_arena *arena, fc_quality *clusters,
				   fc_quality *all)
{
	fc_mark		mark = fc_arena_mark(arena);
	quality_sums sums;
	double		weight;

	take_sums(op->k, op->d, arena, &sums);
	weight = 0.0;
	memset(sums.mean, 0, rows->d * sizeof(double));
	for (size_t i = 0; i < rows->n; i++)
	{
		fc_check();
		fc_weighted_row(rows, i, sums.row);
		weight += rows->weights[i];
		for (size_t t = 0; t < rows->d && rows->weights[i] > 0.0; t++)
			sums.mean[t] += (sums.row[t] - sums.mean[t]) * rows->weights[i] /
				weight;
	}
	add_rows(op, rows, scratch, &sums);
	fc_operator_centroids(op, NULL, NULL, scratch, sums.centroids);
	finish(op, &sums, clusters, all);
	fc_arena_release(arena, mark);
}

/* ---- a search through buckets ---- */

/*
 * Number of queries, and number of rows (TILE), in one matrix product. Larger
 * products are faster, up to the size of the cache. Guesses.
 */
#define QUERIES	((size_t) 32)
#define TILE	((size_t) 1024)

typedef struct recall_work
{
	size_t		wanted;			/* number of neighbours to find, rounded up */
	const float *x;				/* rows x d: rows minus their offset */
	float	   *half_norm;		/* half the squared length of each row */
	float	   *dots;			/* QUERIES x TILE dot products */
	float	   *score;			/* QUERIES x wanted: lowest scores half_norm -
								 * row . query, ascending */
	int32_t    *nearest;		/* QUERIES x wanted: rows of the lowest
								 * scores, -1 if missing */
	int32_t    *probed;			/* probes: nearest buckets of the current
								 * query */
	double	   *distance;		/* probes: squared distances of the query to
								 * the centroids in probed */
	bool	   *visited;		/* k: true for the buckets that the current
								 * query reads */
	double	   *batch;			/* FC_FIT_BATCH x d: rows in double */
	fc_scratch	scratch;
} recall_work;

/*
 * Computes the bucket of each row, and the number of rows and the sum of
 * squared distances of each bucket.
 */
static void
fill_buckets(const fc_operator *op, const fc_weighted_rows *rows, fc_arena *arena,
			 recall_work *w, fc_search_result *result)
{
	fc_mark		mark = fc_arena_mark(arena);
	double	   *squares = FC_TAKE(arena, rows->n, double);
	fc_operator buckets = *op;

	buckets.regions = (fc_regions)
	{
		0
	};
	buckets.number = NULL;
	fc_fit_rows(&buckets, rows, w->scratch, w->batch, result->label, squares);
	memset(w->visited, 0, op->k * sizeof(bool));
	memset(result->count, 0, op->k * sizeof(double));
	memset(result->square, 0, op->k * sizeof(double));
	for (size_t r = 0; r < rows->n; r++)
	{
		result->count[result->label[r]]++;
		result->square[result->label[r]] += squares[r];
	}
	fc_arena_release(arena, mark);
}

/*
 * Inserts a row into the list of nearest rows of a query, if its score is
 * below the highest score in the list.
 */
static void
offer(const recall_work *w, size_t query, float score, int32_t row)
{
	float	   *scores = w->score + query * w->wanted;
	int32_t    *nearest = w->nearest + query * w->wanted;
	size_t		place = w->wanted - 1;

	if (!(score < scores[place]))
		return;
	for (; place > 0 && score < scores[place - 1]; place--)
	{
		scores[place] = scores[place - 1];
		nearest[place] = nearest[place - 1];
	}
	scores[place] = score;
	nearest[place] = row;
}

/*
 * Finds the nearest rows of `queries` queries, which are the rows from `first`
 * on.
 */
static void
find_nearest(size_t d, size_t n, size_t first, size_t queries, recall_work *w)
{
	for (size_t i = 0; i < queries * w->wanted; i++)
	{
		w->score[i] = INFINITY;
		w->nearest[i] = -1;
	}
	for (size_t r = 0; r < n; r += TILE)
	{
		size_t		rows = n - r < TILE ? n - r : TILE;

		fc_check();
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) queries,
					(int) rows, (int) d, 1.0f, w->x + first * d, (int) d,
					w->x + r * d, (int) d, 0.0f, w->dots, (int) TILE);
		for (size_t q = 0; q < queries; q++)
			for (size_t j = 0; j < rows; j++)
				if (r + j != first + q)
					offer(w, q, w->half_norm[r + j] - w->dots[q * TILE + j],
						  (int32_t) (r + j));
	}
}

/*
 * Returns the recall of one query; adds the number of rows that it reads to
 * *read.
 */
static double
recall_of(const fc_operator *op, const fc_weighted_rows *rows,
		  const fc_search *search, size_t row, size_t query,
		  const fc_search_result *result, recall_work *w, double *read)
{
	double		found = 0;

	fc_weighted_row(rows, row, w->batch);
	fc_operator_nearest(op, w->batch, search->probes, w->scratch, w->probed,
						w->distance);
	for (size_t p = 0; p < search->probes; p++)
	{
		w->visited[w->probed[p]] = true;
		*read += result->count[w->probed[p]];
	}
	for (size_t i = 0; i < w->wanted; i++)
		if (w->nearest[query * w->wanted + i] >= 0 &&
			w->visited[result->label[w->nearest[query * w->wanted + i]]])
			found += fmin(1.0, search->neighbours - (double) i);
	for (size_t p = 0; p < search->probes; p++)
		w->visited[w->probed[p]] = false;
	return found / search->neighbours;
}

void
fc_search_recall(const fc_operator *op, const fc_weighted_rows *rows,
				 const fc_search *search, fc_arena *arena,
				 fc_search_result *result)
{
	fc_mark		used = fc_arena_mark(arena);
	recall_work w;
	double		read = 0;
	double		found = 0;

	w.wanted = (size_t) ceil(search->neighbours);
	w.x = rows->values;
	w.half_norm = FC_TAKE(arena, rows->n, float);
	w.dots = FC_TAKE(arena, QUERIES * TILE, float);
	w.score = FC_TAKE(arena, QUERIES * w.wanted, float);
	w.nearest = FC_TAKE(arena, QUERIES * w.wanted, int32_t);
	w.probed = FC_TAKE(arena, search->probes, int32_t);
	w.distance = FC_TAKE(arena, search->probes, double);
	w.visited = FC_TAKE(arena, op->k, bool);
	w.batch = FC_TAKE(arena, FC_FIT_BATCH * op->d, double);
	w.scratch = fc_take_scratch(arena, fc_fit_scratch(op));
	for (size_t r = 0; r < rows->n; r++)
		w.half_norm[r] = (float) (0.5 *
								  fc_row_square(w.x + r * rows->d, rows->d));
	fill_buckets(op, rows, arena, &w, result);
	for (size_t first = 0; first < search->queries; first += QUERIES)
	{
		size_t		queries = smaller(QUERIES, search->queries - first);

		find_nearest(rows->d, rows->n, first, queries, &w);
		for (size_t q = 0; q < queries; q++)
		{
			fc_check();
			found += recall_of(op, rows, search, first + q, q, result, &w,
							   &read);
		}
	}
	result->recall = found / (double) search->queries;
	result->read = read / (double) search->queries / (double) rows->n;
	fc_arena_release(arena, used);
}

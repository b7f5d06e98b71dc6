/* recall.c - the recall of a search through buckets, against all distances; see fit.h */
#include "operator/fit.h"

#include <math.h>

#include "base/blas.h"

#define QUERIES	((size_t) 32)	/* of one matrix product */
#define TILE	((size_t) 1024)	/* its rows */
#define LABELLED ((size_t) 256)	/* rows labelled at once */

typedef struct recall_work
{
	size_t		wanted;			/* neighbours, rounded up */
	double	   *mean;			/* d */
	float	   *x;				/* rows x d: around the mean */
	float	   *half_norm;		/* rows */
	float	   *dots;			/* QUERIES x TILE */
	float	   *score;			/* QUERIES x wanted: the least half_norm - x . q, ascending */
	int32_t    *nearest;		/* QUERIES x wanted */
	int32_t    *probed;			/* probes */
	double	   *distance;		/* probes */
	bool	   *visited;		/* k */
	fc_scratch	scratch;
} recall_work;

static void
label_rows(const fc_operator *op, const fc_search *search, recall_work *w, fc_search_result *result)
{
	for (size_t j = 0; j < op->k; j++)
	{
		result->count[j] = result->square[j] = 0;
		w->visited[j] = false;
	}
	for (size_t r = 0; r < search->rows; r += LABELLED)
	{
		fc_check();
		fc_operator_assign_batch(op, search->x + r * op->d, search->rows - r < LABELLED ? search->rows - r : LABELLED, w->scratch,
								 result->label + r);
	}
	for (size_t r = 0; r < search->rows; r++)
	{
		size_t		j = (size_t) result->label[r];

		fc_check();
		result->count[j]++;
		result->square[j] += fc_operator_distance(op, j, search->x + r * op->d, w->scratch);
	}
}

/* Rows around their mean, where products lose least. */
static void
centre_rows(size_t d, const fc_search *search, recall_work *w)
{
	for (size_t i = 0; i < d; i++)
		w->mean[i] = 0;
	for (int pass = 0; pass < 2; pass++)
		for (size_t r = 0; r < search->rows; r++)
		{
			const double *x = search->x + r * d;
			double		square = 0;

			fc_check();
			for (size_t i = 0; i < d; i++)
				if (pass == 0)
					w->mean[i] += x[i] / (double) search->rows;
				else
				{
					w->x[r * d + i] = (float) (x[i] - w->mean[i]);
					square += (double) w->x[r * d + i] * w->x[r * d + i];
				}
			if (pass > 0)
				w->half_norm[r] = (float) (0.5 * square);
		}
}

/* Keep row among the nearest of a query where it belongs. */
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

/* The nearest rows of `queries` rows from `first` on. */
static void
find_nearest(size_t d, const fc_search *search, size_t first, size_t queries, recall_work *w)
{
	for (size_t i = 0; i < queries * w->wanted; i++)
	{
		w->score[i] = INFINITY;
		w->nearest[i] = -1;
	}
	for (size_t r = 0; r < search->rows; r += TILE)
	{
		size_t		rows = search->rows - r < TILE ? search->rows - r : TILE;

		fc_check();
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) queries, (int) rows, (int) d, 1.0f, w->x + first * d, (int) d,
					w->x + r * d, (int) d, 0.0f, w->dots, (int) TILE);
		for (size_t q = 0; q < queries; q++)
			for (size_t j = 0; j < rows; j++)
				if (r + j != first + q)
					offer(w, q, w->half_norm[r + j] - w->dots[q * TILE + j], (int32_t) (r + j));
	}
}

/* The recall of one query, and the rows it reads. */
static double
recall_of(const fc_operator *op, const fc_search *search, size_t row, size_t query, const fc_search_result *result,
		  recall_work *w, double *read)
{
	double		found = 0;

	fc_operator_nearest(op, search->x + row * op->d, search->probes, w->scratch, w->probed, w->distance);
	for (size_t p = 0; p < search->probes; p++)
	{
		w->visited[w->probed[p]] = true;
		*read += result->count[w->probed[p]];
	}
	for (size_t i = 0; i < w->wanted; i++)
		if (w->nearest[query * w->wanted + i] >= 0 && w->visited[result->label[w->nearest[query * w->wanted + i]]])
			found += fmin(1.0, search->neighbours - (double) i);
	for (size_t p = 0; p < search->probes; p++)
		w->visited[w->probed[p]] = false;
	return found / search->neighbours;
}

void
fc_search_recall(const fc_operator *op, const fc_search *search, fc_arena *arena, fc_search_result *result)
{
	fc_mark		used = fc_arena_mark(arena);
	recall_work w;
	double		read = 0;
	double		found = 0;

	w.wanted = (size_t) ceil(search->neighbours);
	w.mean = FC_TAKE(arena, op->d, double);
	w.x = FC_TAKE(arena, search->rows * op->d, float);
	w.half_norm = FC_TAKE(arena, search->rows, float);
	w.dots = FC_TAKE(arena, QUERIES * TILE, float);
	w.score = FC_TAKE(arena, QUERIES * w.wanted, float);
	w.nearest = FC_TAKE(arena, QUERIES * w.wanted, int32_t);
	w.probed = FC_TAKE(arena, search->probes, int32_t);
	w.distance = FC_TAKE(arena, search->probes, double);
	w.visited = FC_TAKE(arena, op->k, bool);
	w.scratch = fc_take_scratch(arena, fc_operator_batch_scratch(op, LABELLED));
	label_rows(op, search, &w, result);
	centre_rows(op->d, search, &w);
	for (size_t first = 0; first < search->queries; first += QUERIES)
	{
		size_t		queries = search->queries - first < QUERIES ? search->queries - first : QUERIES;

		find_nearest(op->d, search, first, queries, &w);
		for (size_t q = 0; q < queries; q++)
		{
			fc_check();
			found += recall_of(op, search, first + q, q, result, &w, &read);
		}
	}
	result->recall = found / (double) search->queries;
	result->read = read / (double) search->queries / (double) search->rows;
	fc_arena_release(arena, used);
}

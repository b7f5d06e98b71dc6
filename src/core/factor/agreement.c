/* agreement.c - labels of two operators compared; see the header */
#include "factor/agreement.h"

#include <math.h>

#include "base/rng.h"
#include "base/sizes.h"

#define BATCH	64
#define NOISE_RATIO	0.25
#define NEIGHBOURS	4			/* the nearest of so many others */
#define RANDOM		16			/* multiplications that a random number costs, about */
#define CONFIDENCE_SIGMAS	1.645	/* one-sided 95 % */

typedef struct agreement_work
{
	const fc_operator *exact;
	const fc_operator *fast;
	fc_rng		rng;
	double	   *cumulated;		/* k: weights up to and with each cluster */
	double	   *x;				/* BATCH x d */
	double	   *row;			/* d */
	fc_scratch	scratch;
	int32_t    *label[2];		/* BATCH */
} agreement_work;

static size_t
scratch_floats(const fc_operator *exact, const fc_operator *fast)
{
	size_t		a = fc_operator_batch_scratch(exact, BATCH);
	size_t		b = fc_operator_batch_scratch(fast, BATCH);

	return a > b ? a : b;
}

static void
take_work(fc_arena *arena, agreement_work *w)
{
	w->cumulated = FC_TAKE(arena, w->exact->k, double);
	w->x = FC_TAKE(arena, BATCH * w->exact->d, double);
	w->row = FC_TAKE(arena, w->exact->d, double);
	w->scratch = fc_take_scratch(arena, scratch_floats(w->exact, w->fast));
	w->label[0] = FC_TAKE(arena, BATCH, int32_t);
	w->label[1] = FC_TAKE(arena, BATCH, int32_t);
}

/* Weights that sum to 0 count as equal. */
static void
cumulate(agreement_work *w)
{
	double		sum = 0.0;

	for (size_t j = 0; j < w->exact->k; j++)
		w->cumulated[j] = sum += w->exact->weights[j];
	for (size_t j = 0; j < w->exact->k && !(sum > 0.0); j++)
		w->cumulated[j] = (double) (j + 1);
}

static size_t
draw_cluster(agreement_work *w)
{
	size_t		low = 0;
	size_t		high = w->exact->k - 1;
	double		u = fc_rng_uniform(&w->rng) * w->cumulated[high];

	while (low < high)
	{
		size_t		middle = low + (high - low) / 2;

		if (w->cumulated[middle] > u)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void
draw_row(agreement_work *w, double *x)
{
	size_t		d = w->exact->d;
	size_t		j = draw_cluster(w);
	double		t = 0.5 * sqrt(fc_rng_uniform(&w->rng));
	double		square = INFINITY;
	size_t		nearest = j;

	fc_operator_row(w->exact, j, w->scratch, x);
	for (int trial = 0; trial < NEIGHBOURS; trial++)
	{
		size_t		i = (j + 1 + fc_rng_below(&w->rng, w->exact->k - 1)) % w->exact->k;
		double		distance = fc_operator_distance(w->exact, i, x, w->scratch);

		nearest = distance < square ? i : nearest;
		square = fmin(distance, square);
	}
	fc_operator_row(w->exact, nearest, w->scratch, w->row);
	for (size_t c = 0; c < d; c++)
		x[c] += t * (w->row[c] - x[c]) + NOISE_RATIO * sqrt(square / (double) d) * fc_rng_normal(&w->rng);
}

void
fc_agreement(const fc_operator *exact, const fc_operator *fast, size_t points, uint64_t seed,
			 fc_arena *arena, double *agreement)
{
	agreement_work w = {.exact = exact,.fast = fast,.rng = fc_rng_start(seed, 1)};
	fc_mark		used = fc_arena_mark(arena);
	size_t		same = 0;
	size_t		done = 0;

	take_work(arena, &w);
	*agreement = 1.0;
	if (exact->k == 1)
		return;
	cumulate(&w);
	for (size_t first = 0; first < points; first += BATCH)
	{
		size_t		count = points - first < BATCH ? points - first : BATCH;

		fc_check();
		for (size_t r = 0; r < count; r++)
		{
			fc_check_every(&done, (NEIGHBOURS + RANDOM) * exact->d);
			draw_row(&w, w.x + r * exact->d);
		}
		fc_operator_assign_batch(exact, w.x, count, w.scratch, w.label[0]);
		fc_check();
		fc_operator_assign_batch(fast, w.x, count, w.scratch, w.label[1]);
		for (size_t r = 0; r < count; r++)
			same += w.label[0][r] == w.label[1][r];
	}
	*agreement = (double) same / (double) points;
	fc_arena_release(arena, used);
}

/* ---- rows of a sample ---- */

typedef struct judge_work
{
	double	   *x;				/* BATCH x d */
	int32_t    *labels;			/* BATCH */
	fc_scratch	scratch;
} judge_work;

static void
take_judge(fc_arena *arena, const fc_operator *op, const fc_operator *rows, judge_work *w)
{
	w->x = FC_TAKE(arena, BATCH * op->d, double);
	w->labels = FC_TAKE(arena, BATCH, int32_t);
	w->scratch = fc_take_scratch(arena, larger(fc_operator_scratch(rows), fc_operator_batch_scratch(op, BATCH)));
}

/* Labels of `count` judged rows, from `first` on. */
static void
label_batch(const fc_judged_rows *judged, const fc_operator *op, size_t first, size_t count, judge_work *w)
{
	size_t		done = 0;

	for (size_t r = 0; r < count; r++)
	{
		fc_check_every(&done, op->d);
		fc_operator_row(judged->rows, judged->row[first + r], w->scratch, w->x + r * op->d);
	}
	fc_check();
	fc_operator_assign_batch(op, w->x, count, w->scratch, w->labels);
}

/* The first `count` of a random order (Fisher & Yates). */
static void
draw_rows(fc_judged_rows *judged, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 2);
	size_t		n = judged->rows->k;

	for (size_t i = 0; i < n; i++)
		judged->row[i] = (uint32_t) i;
	for (size_t i = 0; i < judged->count; i++)
	{
		size_t		other = i + fc_rng_below(&rng, n - i);
		uint32_t	row = judged->row[other];

		judged->row[other] = judged->row[i];
		judged->row[i] = row;
	}
	fc_check();
}

void
fc_judge_rows(const fc_operator *exact, const fc_operator *rows, uint64_t seed, fc_arena *arena,
			  fc_judged_rows *judged)
{
	judge_work	w;
	fc_mark		used;

	*judged = (fc_judged_rows) {.rows = rows,.count = smaller(rows->k, FC_JUDGED_ROWS)};
	judged->row = FC_TAKE(arena, rows->k, uint32_t);
	judged->labels = FC_TAKE(arena, judged->count, int32_t);
	judged->squares = FC_TAKE(arena, judged->count, double);
	used = fc_arena_mark(arena);
	take_judge(arena, exact, rows, &w);
	draw_rows(judged, seed);
	for (size_t i = 0; i < judged->count; i += BATCH)
	{
		size_t		count = smaller(BATCH, judged->count - i);

		label_batch(judged, exact, i, count, &w);
		for (size_t r = 0; r < count; r++)
		{
			judged->labels[i + r] = w.labels[r];
			judged->squares[i + r] = fc_operator_distance(exact, (size_t) w.labels[r], w.x + r * exact->d, w.scratch);
		}
	}
	fc_arena_release(arena, used);
}

static double
lowest_share(double share, double n)
{
	double		z2 = CONFIDENCE_SIGMAS * CONFIDENCE_SIGMAS;

	return (share + z2 / (2.0 * n) - CONFIDENCE_SIGMAS * sqrt(share * (1.0 - share) / n + z2 / (4.0 * n * n))) / (1.0 + z2 / n);
}

void
fc_judge(const fc_judged_rows *judged, const fc_operator *fast, size_t first, size_t count,
		 fc_arena *arena, fc_judgement *judgement)
{
	fc_mark		used = fc_arena_mark(arena);
	double		weight = 0.0;
	double		squares = 0.0;
	double		same = 0.0;
	double		sse = 0.0;
	double		exact_sse = 0.0;
	judge_work	w;

	take_judge(arena, fast, judged->rows, &w);
	*judgement = (fc_judgement) {.rows = count};
	for (size_t i = first; i < first + count; i += BATCH)
	{
		size_t		some = smaller(BATCH, first + count - i);

		label_batch(judged, fast, i, some, &w);
		for (size_t r = 0; r < some; r++)
		{
			double		own = judged->rows->weights[judged->row[i + r]];

			sse += own * fc_operator_distance(fast, (size_t) w.labels[r], w.x + r * fast->d, w.scratch);
			exact_sse += own * judged->squares[i + r];
			weight += own;
			squares += own * own;
			same += w.labels[r] == judged->labels[i + r] ? own : 0.0;
		}
	}
	fc_arena_release(arena, used);
	if (!(weight > 0.0))
		return;
	judgement->agreement = fmin(same / weight, 1.0);
	judgement->sse_ratio = exact_sse > 0.0 ? sse / exact_sse : sse > 0.0 ? INFINITY : 1.0;
	judgement->lowest = lowest_share(judgement->agreement, weight * weight / squares);
}

/* choose.c - the number of clusters; see choose.h */
#include "kmeans/choose.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kmeans/ordered.h"
#include "numerics/selection.h"

#define LEAST_AGREEMENT 0.5
#define SMALL_GAP		8		/* all numbers of such a gap may be tried */

typedef struct k_search
{
	const fc_rows *rows;
	const fc_kmeans_options *options;
	fc_arena   *arena;
	double		lost;			/* of the mean square, by axes left out */
	fc_choice  *choice;
} k_search;

size_t
fc_choose_k_most(size_t n, size_t max_k)
{
	return larger(1, smaller(smaller(n / FC_CHOOSE_ROWS, FC_EVIDENCE_CLUSTERS), max_k));
}

#define STEPS_OF_ALL	150.0	/* measured: Lloyd steps with max_k clusters that take as long as all searches */

double
fc_choose_k_operations(size_t n, size_t d, size_t max_k)
{
	size_t		most = fc_choose_k_most(n, max_k);

	return STEPS_OF_ALL * (double) n * (double) most * (double) fc_axes_for(d, most);
}

/* The rows but those farthest from their median. */
static void
trim_rows(fc_rows *rows, double trim, fc_arena *arena)
{
	float	   *kept = FC_TAKE(arena, rows->n * rows->d, float);
	size_t	   *inside = FC_TAKE(arena, rows->n, size_t);
	fc_mark		mark = fc_arena_mark(arena);
	double	   *x = FC_TAKE(arena, rows->n * rows->d, double);
	size_t		count;

	fc_widen(rows->x, rows->n * rows->d, x);
	fc_trim(x, rows->weight, rows->n, rows->d, 1.0 - trim, arena, inside, &count);
	for (size_t i = 0; i < count; i++)
		memcpy(kept + i * rows->d, rows->x + inside[i] * rows->d, rows->d * sizeof(float));
	fc_arena_release(arena, mark);
	*rows = (fc_rows) {.x = kept,.n = count,.d = rows->d};
}

/* The evidence of k, put in its place unless it is there. */
static void
try_k(k_search *s, size_t k)
{
	fc_choice  *choice = s->choice;
	fc_mark		mark = fc_arena_mark(s->arena);
	size_t		place = 0;
	fc_tried	tried = {.k = k};

	while (place < choice->count && choice->tried[place].k < k)
		place++;
	if ((place < choice->count && choice->tried[place].k == k) || choice->count == FC_TRIED_MAX)
		return;
	fc_kmeans_evidence(s->rows, k, s->options, s->arena, &tried.evidence);
	fc_arena_release(s->arena, mark);
	tried.evidence.cost += s->lost;
	tried.stability = k > 1 ? tried.evidence.agreement * tried.evidence.found / (double) k : NAN;
	memmove(choice->tried + place + 1, choice->tried + place, (choice->count - place) * sizeof(fc_tried));
	choice->tried[place] = tried;
	choice->count++;
}

/* Where a number is too great, and not by chance: between it and the one tried before, around its separated clusters: was one tried? */
static bool
try_between(k_search *s, size_t place)
{
	const fc_tried *greater = &s->choice->tried[place];
	size_t		low = s->choice->tried[place - 1].k;
	size_t		around = (size_t) fmin(greater->evidence.separated + 0.5, (double) (greater->k - 1));

	if (greater->evidence.found >= (double) greater->k - 0.5 || greater->evidence.agreement < LEAST_AGREEMENT)
		return false;
	for (size_t k = around < 2 ? 1 : around - 1; k <= around + 1; k++)
		if (k > low && k < greater->k)
		{
			try_k(s, k);
			return true;
		}
	if (greater->k - low <= 1 || greater->k - low > SMALL_GAP || 2.0 * greater->evidence.separated <= (double) greater->k)
		return false;
	try_k(s, greater->k - 1);
	return true;
}

static void
refine(k_search *s)
{
	bool		found = true;

	while (found)
	{
		size_t		count = s->choice->count;

		found = false;
		for (size_t place = count; !found && place-- > 1;)
			found = try_between(s, place);
		found = found && s->choice->count > count;
	}
}

static void
measure_gains(fc_choice *choice)
{
	for (size_t i = 0; i < choice->count; i++)
	{
		const fc_tried *before = &choice->tried[i == 0 ? 0 : i - 1];
		fc_tried   *here = &choice->tried[i];
		double		left = before->evidence.cost > 0.0 ? here->evidence.cost / before->evidence.cost : 1.0;

		here->gain = i == 0 ? NAN : 1.0 - pow(left, 1.0 / (double) (here->k - before->k));
	}
}

/* The point farthest below the line through the first and the last. */
static size_t
elbow(const fc_choice *choice)
{
	const fc_tried *first = &choice->tried[0];
	const fc_tried *last = &choice->tried[choice->count - 1];
	double		height = first->evidence.cost - last->evidence.cost;
	double		most = -INFINITY;
	size_t		best = 0;

	for (size_t i = 0; i < choice->count; i++)
	{
		double		along = last->k > first->k ? (double) (choice->tried[i].k - first->k) / (double) (last->k - first->k) : 0.0;
		double		down = height > 0.0 ? (first->evidence.cost - choice->tried[i].evidence.cost) / height : 0.0;

		if (down - along > most)
		{
			most = down - along;
			best = i;
		}
	}
	return best;
}

/* Does its last cluster gain more than one too many does? */
static bool
last_gains(const fc_choice *choice, size_t i)
{
	return i == 0 || i + 1 == choice->count || choice->tried[i - 1].k + 1 < choice->tried[i].k ||
		choice->tried[i].gain >= FC_CLEAR_GAIN * choice->tried[i + 1].gain;
}

static void
choose(fc_choice *choice)
{
	double		most = -INFINITY;

	choice->clear = false;
	choice->chosen = elbow(choice);
	for (size_t i = 0; i < choice->count; i++)
	{
		double		balance = 2.0 * choice->tried[i].evidence.found - (double) choice->tried[i].k;

		if (choice->tried[i].stability >= FC_CLEAR_STABILITY && balance > most && last_gains(choice, i))
		{
			most = balance;
			choice->chosen = i;
			choice->clear = true;
		}
	}
}

static void
try_all(k_search *s, size_t most)
{
	fc_choice  *choice = s->choice;
	size_t		count;

	for (size_t k = 1; k < most; k = smaller(most, k + 1 + k / 5))
		try_k(s, k);
	try_k(s, most);
	refine(s);
	do
	{
		count = choice->count;
		measure_gains(choice);
		choose(choice);
		if (choice->clear)
			try_k(s, choice->tried[choice->chosen].k - 1);
	} while (choice->count > count);
}

void
fc_choose_k(const fc_rows *rows, size_t max_k, double trim, const fc_kmeans_options *options, fc_arena *arena,
			fc_choice *choice)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_rows		kept = *rows;
	fc_kmeans_options search = *options;
	fc_sphere	centered;
	k_search	s = {&kept, &search, arena, 0.0, choice};
	size_t		axes;

	*choice = (fc_choice) {.count = 0};
	if (trim > 0.0)
		trim_rows(&kept, trim, arena);
	axes = fc_axes_for(kept.d, fc_choose_k_most(rows->n, max_k));
	if (kept.n >= 2 && axes < kept.d)
	{
		float	   *y = FC_TAKE(arena, kept.n * axes, float);

		search.budget *= (double) axes / (double) kept.d;
		fc_rows_on_axes(&kept, axes, options->sphere, arena, y, &s.lost);
		if (options->sphere != NULL)
			centered = (fc_sphere) {NULL, options->sphere->radius};
		search.sphere = options->sphere != NULL ? &centered : NULL;
		kept = (fc_rows) {.x = y,.weight = kept.weight,.n = kept.n,.d = axes};
	}
	if (kept.n < 2)
		choice->tried[choice->count++] = (fc_tried) {.k = 1,.gain = NAN,.stability = NAN};
	else
		try_all(&s, fc_choose_k_most(kept.n, max_k));
	fc_arena_release(arena, mark);
}

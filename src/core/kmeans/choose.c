/* choose.c - the choice of the number of clusters; see choose.h */
#include "kmeans/choose.h"

#include "kmeans/internal.h"
#include "kmeans/ordered.h"
#include "numerics/selection.h"

/*
 * Minimum agreement (evidence.h), 0 to 1, for a further number of clusters to
 * be tried where the logarithm of the cost bends. One of the two numbers next
 * to the bend must reach it. With a smaller one, more numbers are tried, which
 * takes longer (bench/number.py).
 */
#define MIN_AGREEMENT	0.5

/*
 * Maximum number of further numbers of clusters that are tried where the
 * logarithm of the cost bends. Each takes a search (bench/number.py).
 */
#define MAX_KINKS	8

/*
 * Minimum bend of the logarithm of the cost at which a further number is
 * tried. The bend is the gain before it minus FC_CLEAR_GAIN times the gain
 * after it. A smaller one tries more numbers (bench/number.py).
 */
#define MIN_KINK	5e-4

/*
 * Minimum budget of a search, in multiply-adds. A larger one lowers the cost
 * for small tables, but is wasted where clusters are clear (bench/number.py).
 */
#define MIN_SEARCH_WORK	1e7

/*
 * Maximum number of rounds of breathing k-means (split_merge.c) per search.
 * More rounds lower the cost and take longer (bench/number.py).
 */
#define SEARCH_ROUNDS	10

/*
 * Minimum fraction of far-apart clusters in a level, among its clusters that
 * contain several of the finest clusters (choose.h). A smaller one finds
 * levels by chance (bench/number.py).
 */
#define LEVEL_SHARE	0.8

/*
 * Minimum agreement (evidence.h) of a rival. A smaller one makes more choices
 * unclear (bench/number.py).
 */
#define RIVAL_AGREEMENT	0.95

/*
 * Minimum gain of a rival, relative to the gain of the chosen number. A
 * smaller one makes more choices unclear (bench/number.py).
 */
#define RIVAL_GAIN	0.5

/*
 * More clusters than the greatest number tried are likely if at least this
 * fraction of its clusters is separated. A smaller one gives the verdict "at
 * the limit" more often (bench/number.py).
 */
#define LIMIT_SHARE	0.8

/*
 * Minimum fraction of the clusters of a rival that are found. Clusters of few
 * rows have valleys between them by chance, so a smaller one makes more
 * choices unclear (bench/number.py).
 */
#define RIVAL_FOUND	0.5

typedef struct k_search
{
	fc_halves	halves;
	fc_kmeans_options options;
	fc_sphere	centered;		/* sphere of the projected rows;
								 * options.sphere points to it once rows are
								 * projected */
	fc_arena   *arena;
	double		lost;			/* mean squared length of the rows' components
								 * outside the principal axes */
	fc_choice  *choice;
	fc_half_centroids found[FC_TRIED_MAX];	/* centroids of both halves for
											 * each number tried */
	size_t		fine;			/* index in tried of the finest stable number;
								 * 0: no number is stable */
} k_search;

/*
 * Returns the greatest number to try: at most max_k and FC_EVIDENCE_CLUSTERS,
 * with FC_CHOOSE_ROWS rows or more per cluster, but at least 1.
 */
static size_t
max_clusters(size_t n, size_t max_k)
{
	return larger(1, smaller(smaller(n / FC_CHOOSE_ROWS, FC_EVIDENCE_CLUSTERS),
							 max_k));
}

/*
 * Costs for estimates of the time, in multiply-adds. The first four are the
 * costs of trying a number k: per row; per row and cluster; and per row,
 * cluster and dimension, with packs and with BLAS. COST_OF_AXES is the cost of
 * the principal axes of wide rows, divided by n * d * min(n, d). With lower
 * ones, a call takes longer than estimated. Measured with 10,000 and 20,000
 * rows in 2 to 300 dimensions and 10 to 200 clusters.
 */
#define COST_OF_ROW	900.0
#define COST_OF_CLUSTER	95.0
#define COST_OF_DIMENSION	8.6
#define COST_OF_WIDE_DIMENSION	14.4
#define COST_OF_AXES	0.4

/*
 * Returns the next number of clusters to try after k. refine() later adds
 * numbers where the cost bends.
 */
static size_t
next_k(size_t k)
{
	return k + 1 + k / 5;
}

double
fc_choose_k_operations(size_t n, size_t d, size_t max_k)
{
	size_t		max = max_clusters(n, max_k);
	bool		on_axes = d >= FC_AXES_WIDE;
	size_t		axes = on_axes ? FC_CHOOSE_AXES : d;
	double		dimension = (axes > FC_PACK_DIMENSIONS ? COST_OF_WIDE_DIMENSION
							 : COST_OF_DIMENSION);
	double		operations = (on_axes ? COST_OF_AXES * (double) d * (double) smaller(n, d) : 0.0);

	for (size_t k = 1; k <= max; k = k < max ? smaller(next_k(k), max) : max + 1)
		operations += COST_OF_ROW +
			(double) k * (COST_OF_CLUSTER + dimension * (double) axes);
	return (double) n * operations;
}

/*
 * Replaces *rows by a copy without weights. The copy leaves out the rows that
 * are farthest from the median, with the fraction `trim` of the weight.
 */
static void
trim_rows(fc_rows *rows, double trim, fc_arena *arena)
{
	float	   *kept = FC_TAKE(arena, rows->n * rows->d, float);
	size_t	   *inside = FC_TAKE(arena, rows->n, size_t);
	fc_mark		mark = fc_arena_mark(arena);
	double	   *x = FC_TAKE(arena, rows->n * rows->d, double);
	size_t		count;

	fc_widen(rows->x, rows->n * rows->d, x);
	fc_trim(x, rows->weight, rows->n, rows->d, 1.0 - trim, arena, inside,
			&count);
	for (size_t i = 0; i < count; i++)
		memcpy(kept + i * rows->d, rows->x + inside[i] * rows->d,
			   rows->d * sizeof(float));
	fc_arena_release(arena, mark);
	*rows = (fc_rows)
	{
		.x = kept,.n = count,.d = rows->d
	};
}

/*
 * Computes the evidence for k clusters and inserts it into choice->tried, by
 * ascending k. Does nothing if k was tried before.
 */
static void
try_k(k_search *s, size_t k)
{
	fc_choice  *choice = s->choice;
	const fc_halves *halves = &s->halves;
	size_t		place = 0;
	fc_tried	tried = {.k = k};
	fc_half_centroids found = {.k = k};
	fc_mark		mark;

	while (place < choice->count && choice->tried[place].k < k)
		place++;
	if (k < 1 || (place < choice->count && choice->tried[place].k == k) ||
		choice->count == FC_TRIED_MAX)
		return;
	for (int side = 0; side < 2; side++)
		found.of[side] = FC_TAKE(s->arena, k * halves->d, double);
	mark = fc_arena_mark(s->arena);
	s->options.budget = MIN_SEARCH_WORK +
		FC_CHOOSE_PASSES * (double) halves->n * (double) k * (double) halves->d;
	fc_kmeans_evidence(halves, place > 0 ? &s->found[place - 1] : NULL,
					   &s->options, s->arena, &found, &tried.evidence);
	fc_arena_release(s->arena, mark);
	tried.evidence.cost += s->lost;
	tried.stability = k > 1 ? tried.evidence.agreement * tried.evidence.found /
		(double) k
		: NAN;
	memmove(choice->tried + place + 1, choice->tried + place,
			(choice->count - place) * sizeof(fc_tried));
	memmove(s->found + place + 1, s->found + place,
			(choice->count - place) * sizeof(fc_half_centroids));
	choice->tried[place] = tried;
	s->found[place] = found;
	choice->count++;
}

static void
measure_gains(fc_choice *choice)
{
	for (size_t i = 0; i < choice->count; i++)
	{
		const fc_tried *before = &choice->tried[i == 0 ? 0 : i - 1];
		fc_tried   *here = &choice->tried[i];
		double		left = (before->evidence.cost > 0.0
							? here->evidence.cost / before->evidence.cost
							: 1.0);

		here->gain = i == 0 ? NAN
			: 1.0 - pow(left,
						1.0 / (double) (here->k - before->k));
	}
}

/*
 * Returns the number of clusters at which the logarithm of the cost bends
 * most. It lies in a gap between two numbers tried, where two lines intersect
 * that continue the cost before and after the gap. Returns 0 if there is no
 * clear bend.
 */
static size_t
kink(const fc_choice *choice)
{
	double		max = MIN_KINK;
	size_t		found = 0;

	for (size_t i = 2; i + 1 < choice->count; i++)
	{
		const fc_tried *low = &choice->tried[i - 1];
		const fc_tried *high = &choice->tried[i];
		double		gap = (double) (high->k - low->k);
		double		before = low->gain;
		double		after = fmax(choice->tried[i + 1].gain, 0.0);

		if (gap < 2.0 || before - FC_CLEAR_GAIN * after <= max ||
			fmax(low->evidence.agreement, high->evidence.agreement) <
			MIN_AGREEMENT)
			continue;
		max = before - FC_CLEAR_GAIN * after;
		found = low->k + (size_t) fmin(fmax(gap * (high->gain - after) /
											(before - after) +
											0.5,
											1.0),
									   gap - 1.0);
	}
	return found;
}

static void
refine(k_search *s)
{
	fc_choice  *choice = s->choice;
	size_t		k;

	measure_gains(choice);
	for (int i = 0; i < MAX_KINKS && (k = kink(choice)) > 0; i++)
	{
		try_k(s, k);
		measure_gains(choice);
	}
}

/*
 * Returns true if k = tried[i].k clusters describe the rows better than k - 1,
 * or if this is not known. One of these conditions suffices:
 *     the gain of k is FC_CLEAR_GAIN times the gain of the next number tried;
 *     a search for k clusters found all k (evidence.found), and a search for
 *     k + 1 clusters has at most k separated ones (evidence.separated);
 *     k - 1 was not tried, or no number above k was.
 */
static bool
last_gains(const fc_choice *choice, size_t i)
{
	const fc_tried *tried = &choice->tried[i];
	double		k = (double) tried->k;

	if (i + 1 == choice->count || tried[-1].k + 1 < tried->k ||
		tried->gain >= FC_CLEAR_GAIN * tried[1].gain)
		return true;
	return tried[1].k == tried->k + 1 && tried->evidence.found > k - 0.5 &&
		tried[1].evidence.separated < k + 0.5;
}

/*
 * Returns true if tried[i] is stable. Clusters without spread are repeated
 * values, and do not count as stable.
 */
static bool
is_stable(const fc_choice *choice, size_t i)
{
	return choice->tried[i].stability >= FC_CLEAR_STABILITY &&
		choice->tried[i].evidence.cost >
		FC_NO_SPREAD * choice->tried[0].evidence.cost &&
		last_gains(choice, i);
}

/* ---- levels ---- */

/*
 * Lengths of the edges of a coarse cluster in the minimum spanning tree of the
 * fine centroids.
 */
typedef struct cluster_edges
{
	double		within;			/* longest edge within the cluster; 0 if there
								 * is none there */
	double		between;		/* shortest edge to another cluster; INFINITY
								 * if there is no such edge */
} cluster_edges;

/*
 * Builds the minimum spanning tree of the fine centroids (Prim). Computes for
 * each coarse cluster the longest edge between fine centroids in it, and the
 * shortest edge to a fine centroid of another coarse cluster. group: coarse
 * cluster of each fine centroid.
 */
static void
measure_tree(const double *fine, size_t k, size_t d, const size_t *group,
			 fc_arena *arena, cluster_edges *edges)
{
	double	   *near = FC_TAKE(arena, k, double);
	size_t	   *from = FC_TAKE(arena, k, size_t);
	size_t		added = 0;

	for (size_t j = 0; j < k; j++)
		near[j] = INFINITY;
	for (size_t count = 1; count < k; count++)
	{
		size_t		next = k;

		near[added] = -1.0;
		for (size_t j = 0; j < k; j++)
		{
			double		gap;

			fc_check();
			if (near[j] < 0.0)
				continue;
			gap = sqrt(fc_square_between(fine + added * d, fine + j * d, d));
			if (gap < near[j])
			{
				near[j] = gap;
				from[j] = added;
			}
			next = next == k || near[j] < near[next] ? j : next;
		}
		added = next;
		if (group[added] == group[from[added]])
			edges[group[added]].within = fmax(edges[group[added]].within,
											  near[added]);
		else
		{
			edges[group[added]].between = fmin(edges[group[added]].between,
											   near[added]);
			edges[group[from[added]]]
				.between = fmin(edges[group[from[added]]].between, near[added]);
		}
	}
}

/*
 * Sets *parted to the number of clusters of tried[coarse] that contain several
 * clusters of tried[fine]. Sets *apart to the number of such clusters that are
 * far apart: their distance to other coarse clusters is at least FC_LEVEL_GAP
 * times the distance between the fine clusters in them.
 */
static void
count_parted(const k_search *s, size_t coarse, size_t fine, size_t *parted,
			 size_t *apart)
{
	const fc_half_centroids *of = &s->found[coarse];
	const fc_half_centroids *in = &s->found[fine];
	fc_mark		mark = fc_arena_mark(s->arena);
	size_t		d = s->halves.d;
	size_t	   *group = FC_TAKE(s->arena, in->k, size_t);
	cluster_edges *edges = FC_TAKE(s->arena, of->k, cluster_edges);

	*parted = *apart = 0;
	for (size_t g = 0; g < of->k; g++)
		edges[g] = (cluster_edges)
	{
		0.0, INFINITY
	};
	for (size_t j = 0; j < in->k; j++)
	{
		group[j] = 0;
		for (size_t g = 1; g < of->k; g++)
			if (fc_square_between(in->of[0] + j * d, of->of[0] + g * d, d) <
				fc_square_between(in->of[0] + j * d, of->of[0] + group[j] * d,
								  d))
				group[j] = g;
	}
	measure_tree(in->of[0], in->k, d, group, s->arena, edges);
	for (size_t g = 0; g < of->k; g++)
		if (edges[g].within > 0.0)
		{
			(*parted)++;
			*apart += edges[g].between >= FC_LEVEL_GAP * edges[g].within;
		}
	fc_arena_release(s->arena, mark);
}

/*
 * Returns true if more than half of the coarse clusters contain several fine
 * ones, and at least LEVEL_SHARE of these are far apart (count_parted).
 */
static bool
is_level(const k_search *s, size_t coarse, size_t fine)
{
	size_t		parted;
	size_t		apart;

	count_parted(s, coarse, fine, &parted, &apart);
	return 2 * parted > s->found[coarse].k &&
		(double) apart >= LEVEL_SHARE * (double) parted;
}

/*
 * Returns true if some coarse clusters contain several fine ones, and all of
 * these coarse clusters are far apart (count_parted).
 */
static bool
is_within(const k_search *s, size_t coarse, size_t fine)
{
	size_t		parted;
	size_t		apart;

	count_parted(s, coarse, fine, &parted, &apart);
	return parted > 0 && apart == parted;
}

/* ---- choice of the number of clusters ---- */

/*
 * Returns the index in tried of the number to choose if no number is stable:
 * the one with the greatest product of agreement and log(cost(1) / cost(k)) /
 * log(k), or 0 if no product is positive.
 */
static size_t
best_unstable(const fc_choice *choice)
{
	double		whole = choice->tried[0].evidence.cost;
	double		max = 0.0;
	size_t		best = 0;

	for (size_t i = 1; i < choice->count; i++)
	{
		const fc_tried *tried = &choice->tried[i];
		double		useful = (tried->evidence.agreement *
							  log(whole /
								  fmax(tried->evidence.cost, FC_NO_SPREAD * whole)) /
							  log((double) tried->k));

		if (useful > max)
		{
			max = useful;
			best = i;
		}
	}
	return best;
}

/*
 * Returns true if the data probably have more clusters than the greatest
 * number tried: nearly all clusters are well separated at this number, and the
 * cost falls faster than it would for a single cluster.
 */
static bool
is_cut_off(const k_search *s)
{
	const fc_tried *last = &s->choice->tried[s->choice->count - 1];
	double		k = (double) last->k;

	return last->evidence.separated >= LIMIT_SHARE * k &&
		k * last->gain >= fmin(0.75, 4.0 / (double) s->halves.d);
}

/*
 * Sets the verdict, the chosen number and the second number (choose.h). The
 * finest number is the greatest number tried if more clusters are likely.
 * Otherwise, it is the stable number with the greatest surplus of clusters
 * found over clusters not found. If there are levels, the smallest one is
 * chosen, and the next greater level or the finest number becomes the second
 * number.
 */
static void
choose(k_search *s)
{
	fc_choice  *choice = s->choice;
	size_t		last = choice->count - 1;
	size_t		fine = 0;
	double		max = -INFINITY;

	for (size_t i = 1; i <= last; i++)
	{
		double		surplus = (2.0 * choice->tried[i].evidence.found -
							   (double) choice->tried[i].k);

		if (is_stable(choice, i) && surplus > max)
		{
			max = surplus;
			fine = i;
		}
	}
	if (is_cut_off(s))
		fine = last;
	choice->verdict = fine == 0 ? FC_K_UNCLEAR
		: fine == last ? FC_K_LIMIT
		: FC_K_CLEAR;
	choice->chosen = fine == 0 ? best_unstable(choice) : fine;
	choice->second = 0;
	s->fine = fine;
	for (size_t i = fine; i-- > 1;)
		if (is_stable(choice, i) && is_level(s, i, fine))
		{
			choice->second = choice->verdict == FC_K_LIMIT
				? 0
				: choice->tried[choice->chosen].k;
			choice->chosen = i;
			choice->verdict = FC_K_CLEAR;
		}
}

/*
 * Returns true if `fine` has a lower cost than would result from dividing each
 * cluster of `coarse` into m parts, where m is the ratio of their numbers of
 * clusters. Dividing evenly filled lines lowers the cost to 1 / m^2 of the
 * cost of `coarse`; dividing clusters of more dimensions lowers it less.
 */
static bool
bends_cost(const fc_tried *coarse, const fc_tried *fine)
{
	double		parts = (double) fine->k / (double) coarse->k;

	return fine->evidence.cost * parts * parts < coarse->evidence.cost;
}

/*
 * Returns the smallest rival of the chosen number of clusters, or 0 if there
 * is no rival. A rival is a greater number of clusters that may be the better
 * choice, for one of two reasons:
 *
 *     more of its clusters are found (separated and reproduced, evidence.h)
 *
 *     both halves of the rows give the same clusters, and the cost falls
 *     steeply up to this number and slowly after it
 *
 * The second reason does not count along one axis, where k-means divides both
 * halves into nearly the same parts, even without clusters. A number that only
 * divides the chosen clusters is no rival if the chosen clusters are far
 * apart. A chosen level, a stable number below the finest one (choose.h), has
 * no rivals, because every number that divides its clusters would qualify.
 */
static size_t
rival_of(const k_search *s)
{
	const fc_choice *choice = s->choice;
	const fc_tried *chosen = &choice->tried[choice->chosen];
	bool		line = s->halves.d == 1;

	if (choice->chosen != s->fine)
		return 0;
	for (size_t i = choice->chosen + 1; i < choice->count; i++)
	{
		const fc_tried *tried = &choice->tried[i];
		double		min_found = fmax((double) chosen->k + 1.0,
									 RIVAL_FOUND * (double) tried->k);
		bool		bends = (!line && i + 1 < choice->count &&
							 tried->evidence.agreement >= RIVAL_AGREEMENT &&
							 tried->gain >= RIVAL_GAIN * chosen->gain &&
							 tried->gain >= FC_CLEAR_GAIN * tried[1].gain &&
							 bends_cost(chosen, tried));

		if ((tried->evidence.found >= min_found || bends) &&
			!is_within(s, choice->chosen, i))
			return tried->k;
	}
	return 0;
}

/*
 * Tries numbers up to `max` and chooses one. The neighbours of the chosen
 * number are tried, too, to judge its stability. The choice is clear if its
 * clusters hide no others and it has no rival.
 */
static void
try_all(k_search *s, size_t max)
{
	fc_choice  *choice = s->choice;
	size_t		count;

	for (size_t k = 1; k < max; k = next_k(k))
		try_k(s, k);
	try_k(s, max);
	refine(s);
	do
	{
		size_t		k;

		count = choice->count;
		measure_gains(choice);
		choose(s);
		k = choice->tried[choice->chosen].k;
		if (choice->verdict == FC_K_UNCLEAR)
			break;
		try_k(s, k - 1);
		if (k < max)
			try_k(s, k + 1);
		if (choice->second > 0)
			try_k(s, choice->second - 1);
		if (choice->second > 0 && choice->second < max)
			try_k(s, choice->second + 1);
	} while (choice->count > count);
	if (choice->verdict != FC_K_CLEAR)
		return;
	fc_count_hidden(&s->halves, s->found[choice->chosen].of[0],
					s->found[choice->chosen].k, s->arena, &choice->hidden);
	choice->rival = rival_of(s);
	if (choice->hidden > 0 || choice->rival > 0)
		choice->verdict = FC_K_UNCLEAR;
}

/*
 * Returns true if more than FC_REPEATED_SHARE of the coordinates have few,
 * repeated values, such as a flag or a category. Gaps between these values are
 * no evidence for clusters, but make silhouettes large. A small share of such
 * coordinates is allowed, because it occurs by chance among many columns of
 * numbers with few digits.
 */
static bool
has_repeated_values(const fc_rows *rows)
{
	float		values[FC_FEW_VALUES];
	size_t		found = 0;

	for (size_t c = 0; c < rows->d; c++)
	{
		size_t		count = fc_few_values(rows->x, rows->n, rows->d, c, values);

		found += count > 1 && 2 * count < rows->n;
	}
	return (double) found > FC_REPEATED_SHARE * (double) rows->d;
}

/*
 * Replaces *rows by their projections onto the leading principal axes if they
 * are wide. Projects the sphere of the metric cosine as well.
 */
static void
project_wide_rows(k_search *s, fc_rows *rows)
{
	float	   *y;

	if (rows->d < FC_AXES_WIDE)
		return;
	y = FC_TAKE(s->arena, rows->n * FC_CHOOSE_AXES, float);
	fc_rows_on_axes(rows, FC_CHOOSE_AXES, s->options.sphere, s->arena, y,
					&s->lost);
	if (s->options.sphere != NULL)
	{
		s->centered.radius = s->options.sphere->radius;
		s->options.sphere = &s->centered;
	}
	*rows = (fc_rows)
	{
		.x = y,
			.weight = rows->weight,
			.n = rows->n,
			.d = FC_CHOOSE_AXES
	};
}

/*
 * Sets *s->choice by the rule for few rows if `few_rows` is true, else by the
 * evidence of two halves of the rows. If the rule for few rows gives no clear
 * number of clusters, and the rows have more than one dimension, the halves
 * are also evaluated. Their choice then replaces that of the rule if it is
 * clear, or if more numbers of clusters were tried on the halves.
 */
static void
choose_by_rules(k_search *s, const fc_rows *rows, bool halved, size_t max_k, bool few_rows,
				const bool *apart)
{
	fc_choice  *choice = s->choice;
	fc_choice	few = {.count = 0};

	if (few_rows)
		fc_choose_of_few(rows, max_k, &s->options, s->arena, &few);

	/*
	 * Do not try halves of few rows on a line: their density has valleys by
	 * chance.
	 */
	if (few.count == 0 || (few.verdict == FC_K_UNCLEAR && rows->d > 1))
	{
		s->halves = fc_halves_deal(rows, halved, apart, s->options.seed, s->arena);
		try_all(s, max_clusters(rows->n, max_k));
	}
	if (few.verdict != FC_K_UNCLEAR ||
		(choice->verdict != FC_K_CLEAR && few.count > 0 && few.count >= choice->count))
		*choice = few;
	measure_gains(choice);
}

void
fc_choose_k(const fc_rows *rows, bool halved, size_t max_k, double trim, const bool *apart,
			const fc_kmeans_options *options, fc_arena *arena,
			fc_choice *choice)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_rows		kept = *rows;
	bool		few_rows;
	k_search	s = {.options = *options,.arena = arena,.choice = choice};

	*choice = (fc_choice)
	{
		.count = 0
	};
	s.options.n_init = 1;
	s.options.rounds = SEARCH_ROUNDS;
	s.options.iterations = 20;
	s.options.tolerance = 1e-3;
	if (trim > 0.0)
		trim_rows(&kept, trim, arena);
	if (kept.n < 2)
	{
		choice->tried[choice->count++] = (fc_tried)
		{
			.k = 1,
				.gain = NAN,
				.stability = NAN
		};
	}
	else
	{
		few_rows = kept.n < FC_FEW_ROWS && !has_repeated_values(&kept);
		project_wide_rows(&s, &kept);
		choose_by_rules(&s, &kept, halved, max_k, few_rows,
						kept.d == rows->d ? apart : NULL);
	}
	fc_arena_release(arena, mark);
}

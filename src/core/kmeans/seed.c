/*
 * seed.c - first centroids: greedy k-means++, and a hierarchy of k-means for many clusters.
 *
 * k-means++: centroid j + 1 is the best of 2 + log k rows drawn with probability w_i D_i^2, where
 * D_i is the distance to the nearest centroid so far; best lowers sum_i w_i D_i^2 most.
 * Small d measures ||x - c||^2 directly, large d by ||x||^2 + ||c||^2 - 2 x . c unless
 * that cancels.
 * Cost: n k d (3 + log k) multiply-adds.  Where a tree makes Lloyd's steps cheap, n is a part of the rows, drawn at random: from its
 * seeds the steps reach the same SSE.
 *
 * Hierarchy: the rows of a node are clustered into some branches, and each branch gets a number of leaves in proportion to its SSE, a
 * cluster a leaf.  With b branches a node costs n d b multiply-adds a step, a level n d b, where all k at once cost n d k.
 *
 * Arthur, Vassilvitskii 2007, section 5 (greedy variant).
 */
#include "kmeans/internal.h"

#include <math.h>
#include <string.h>

#include "base/blas.h"
#include "numerics/rows.h"

#define MAX_DRAWS		64		/* candidates a centroid; 2 + log k stays below */
#define PART_ROWS		8		/* a cluster, at least, */
#define PART_SHARE		16		/* and of all rows, */
#define PART_DRAWS		2		/* candidates a centroid then */
#define CANCELLED_SHARE	1e-3f	/* below this share of ||x||^2 + ||c||^2 a distance is measured directly */

#define MOST_BRANCHES	64		/* of a node */
#define STEPS			8		/* Lloyd steps of a node, */
#define TOLERANCE		3e-3	/* fewer when they gain less; */
#define FEW_STEPS		2		/* and so many with all its rows, after those with some: */
#define FEW_ROWS		100		/* a branch */

/* ---- k-means++ ---- */

typedef struct seeding
{
	fc_kmeans_work *w;			/* near: squared distances to the nearest seed */
	fc_rng	   *rng;
	size_t		draws;			/* candidates a centroid */
	double		total;			/* sum of w near */
	double	   *potential;		/* one a block: sum of w near */
	float	   *candidate;		/* draws x d */
	float	   *distance;		/* draws x n: squared distances to the candidates; of packs draws x FC_TILE_ROWS */
} seeding;

static seeding
take_seeding(fc_kmeans_work *w, fc_rng *rng)
{
	seeding		s = {.w = w,.rng = rng,.draws = 2 + (size_t) log((double) (w->k + fc_kmeans_breath(w->k)))};

	s.potential = FC_TAKE(w->arena, w->rows.n / FC_TILE_ROWS + 1, double);
	s.candidate = FC_TAKE(w->arena, s.draws * w->rows.d, float);
	s.distance = FC_TAKE(w->arena, s.draws * (w->rows.packs != NULL ? FC_TILE_ROWS : w->rows.n), float);
	return s;
}

/* out[q * stride + r] = squared distance of row start + r to candidate q. */
static void
candidate_distances(fc_kmeans_work *w, size_t start, size_t rows, const float *candidates, size_t count, float *out, size_t stride)
{
	size_t		d = w->rows.d;

	w->compared += count * rows;
	w->visited += count * rows / 4;
	fc_check_every(&w->done, count * rows * d / 8);
	if (w->rows.packs == NULL)
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) count, (int) rows, (int) d,
					1.0f, candidates, (int) d, w->rows.x + start * d, (int) d, 0.0f, w->tile, FC_TILE_ROWS);
	for (size_t q = 0; q < count; q++)
	{
		const float *c = candidates + q * d;
		float		norm;

		for (size_t i = 0; w->rows.packs != NULL && i < rows; i += FC_PACK)
			fc_kmeans_pack_distance(w->rows.packs + (start + i) * d, d, c, out + q * stride + i);
		if (w->rows.packs != NULL)
			continue;
		norm = (float) fc_row_square(c, d);
		for (size_t r = 0; r < rows; r++)
		{
			float		both = w->rows.norm[start + r] + norm;
			float		square = both - 2.0f * w->tile[q * FC_TILE_ROWS + r];

			if (square < CANCELLED_SHARE * both)
				square = (float) fc_row_gap(w->rows.x + (start + r) * d, c, d);
			out[q * stride + r] = square;
		}
	}
}

static double
block_potential(const fc_kmeans_work *w, size_t start, const float *distance, bool update)
{
	return fc_kmeans_potential(distance, w->near + start, w->rows.weight == NULL ? NULL : w->rows.weight + start, fc_kmeans_block(w, start), update);
}

/* The candidate that leaves the lowest potential. */
static size_t
best_candidate(seeding *s, size_t count)
{
	fc_kmeans_work *w = s->w;
	double		total[MAX_DRAWS] = {0.0};
	size_t		best = 0;

	for (size_t start = 0; start < w->rows.n; start += FC_TILE_ROWS)
	{
		float	   *out = w->rows.packs != NULL ? s->distance : s->distance + start;
		size_t		stride = w->rows.packs != NULL ? FC_TILE_ROWS : w->rows.n;

		candidate_distances(w, start, fc_kmeans_block(w, start), s->candidate, count, out, stride);
		for (size_t q = 0; q < count; q++)
			total[q] += block_potential(w, start, out + q * stride, false);
	}
	for (size_t q = 1; q < count; q++)
		if (total[q] < total[best])
			best = q;
	return best;
}

/* near takes the squared distances to candidate q, where these are less; with none the potential of near as it is. */
static void
keep_candidate(seeding *s, const size_t *q)
{
	fc_kmeans_work *w = s->w;

	s->total = 0.0;
	for (size_t start = 0; start < w->rows.n; start += FC_TILE_ROWS)
	{
		const float *measured = w->near + start;

		if (q != NULL && w->rows.packs != NULL)	/* cheaper to measure again than to store */
			candidate_distances(w, start, fc_kmeans_block(w, start), s->candidate + *q * w->rows.d, 1, s->distance, FC_TILE_ROWS);
		if (q != NULL)
			measured = w->rows.packs != NULL ? s->distance : s->distance + *q * w->rows.n + start;
		s->total += s->potential[start / FC_TILE_ROWS] = block_potential(w, start, measured, true);
	}
}

/* Forget all seeds: every row is at the same distance, so that rows are drawn by weight. */
static void
level_potential(seeding *s, float distance)
{
	for (size_t i = 0; i < s->w->rows.n; i++)
		s->w->near[i] = distance;
	keep_candidate(s, NULL);
}

/* A row with probability w_i near_i / total: first its block, then the row; the last with mass, if rounding overshoots. */
static const float *
draw_row(const seeding *s)
{
	const fc_kmeans_work *w = s->w;
	double		rest = fc_rng_uniform(s->rng) * s->total;
	size_t		start = 0;
	size_t		chosen;

	for (size_t b = 0; b < w->rows.n; b += FC_TILE_ROWS)
	{
		double		mass = s->potential[b / FC_TILE_ROWS];

		if (mass <= 0.0)
			continue;
		start = b;
		if (rest < mass)
			break;
		rest -= mass;
	}
	chosen = start;
	for (size_t i = start; i < start + fc_kmeans_block(w, start); i++)
	{
		double		mass = fc_kmeans_weight(w, i) * (double) w->near[i];

		if (mass <= 0.0)
			continue;
		chosen = i;
		if (rest < mass)
			break;
		rest -= mass;
	}
	return w->rows.x + chosen * w->rows.d;
}

/* Draw candidates for centroid j and keep the best. */
static void
seed_one(seeding *s, size_t j)
{
	size_t		d = s->w->rows.d;
	size_t		draws = j == 0 ? 1 : s->draws;
	size_t		best;

	if (!(s->total > 0.0))		/* every row is a seed already: repeat some */
		level_potential(s, 1.0f);
	for (size_t q = 0; q < draws; q++)
		memcpy(s->candidate + q * d, draw_row(s), d * sizeof(float));
	for (size_t i = 0; j == 0 && i < s->w->rows.n; i++)
		s->w->near[i] = INFINITY;
	best = best_candidate(s, draws);
	keep_candidate(s, &best);
	fc_widen(s->candidate + best * d, d, s->w->centroid + j * d);
}

/* One row of each of `most` equal shares of the weight, in their order. */
static fc_kmeans_rows
draw_part(const fc_kmeans_work *w, fc_rng *rng, size_t most)
{
	size_t		d = w->rows.d;
	float	   *x = FC_TAKE(w->arena, most * d, float);
	double		share = w->rows.total / (double) most;
	double		next = share * fc_rng_uniform(rng);
	double		passed = 0.0;
	size_t		taken = 0;

	for (size_t i = 0; i < w->rows.n; i++)
		for (passed += fc_kmeans_weight(w, i); taken < most && next < passed; next = share * ((double) taken + fc_rng_uniform(rng)))
			memcpy(x + taken++ * d, w->rows.x + i * d, d * sizeof(float));
	return (fc_kmeans_rows) {.x = x,.n = taken,.d = d};
}

void
fc_kmeans_seed(fc_kmeans_work *w, fc_rng *rng)
{
	fc_mark		mark = fc_arena_mark(w->arena);
	size_t		part = larger(PART_ROWS * w->k, w->rows.n / PART_SHARE);
	fc_kmeans_work some = *w;
	seeding		s;

	if (w->rows.order != NULL && part < w->rows.n)
	{
		some.rows = draw_part(w, rng, part);
		fc_kmeans_measure_rows(&some);
	}
	s = take_seeding(&some, rng);
	if (some.rows.n < w->rows.n)
		s.draws = PART_DRAWS;
	level_potential(&s, 1.0f);
	for (size_t j = 0; j < w->k; j++)
		seed_one(&s, j);
	w->compared = some.compared;
	fc_arena_release(w->arena, mark);
}

void
fc_kmeans_add(fc_kmeans_work *w, fc_rng *rng, size_t count)
{
	fc_mark		mark = fc_arena_mark(w->arena);
	seeding		s = take_seeding(w, rng);

	keep_candidate(&s, NULL);
	for (size_t j = 0; j < count; j++)
		seed_one(&s, w->k++);
	fc_arena_release(w->arena, mark);
}

/* ---- the hierarchy ---- */

/* Branches of a node: all its clusters, or as many at each of its levels. */
static size_t
branches_of(size_t k)
{
	double		levels = ceil(log((double) k) / log(MOST_BRANCHES) - 1e-9);

	return k <= MOST_BRANCHES ? k : smaller(MOST_BRANCHES, (size_t) ceil(pow((double) k, 1.0 / levels)));
}

/* The branches of a node. */
typedef struct branches
{
	size_t		branches;
	size_t		count[MOST_BRANCHES];	/* rows */
	double		sse[MOST_BRANCHES];
	size_t		leaves[MOST_BRANCHES];
} branches;

/* Each branch with rows gets a leaf, then those that have the most SSE a leaf get more, up to k; none more than it has rows. */
static void
share_leaves(branches *b, size_t k)
{
	size_t		given = 0;

	for (size_t j = 0; j < b->branches; j++)
		given += b->leaves[j] = b->count[j] > 0;
	for (; given < k; given++)
	{
		size_t		best = b->branches;

		for (size_t j = 0; j < b->branches; j++)
			if (b->leaves[j] < b->count[j] && (best == b->branches ||
											   b->sse[j] * (double) (b->leaves[best] + 1) > b->sse[best] * (double) (b->leaves[j] + 1)))
				best = j;
		b->leaves[best]++;
	}
}

/* Clusters a node's first rows, which are any, and goes on with all of them: a seed looks at every row. */
static void
cluster_node(const fc_rows *rows, size_t count, uint64_t seed, fc_kmeans_method *cluster, fc_arena *arena, double *centroids, int32_t *labels)
{
	fc_mark		mark = fc_arena_mark(arena);
	fc_rows		some = *rows;
	fc_kmeans_options options = {.n_init = 1,.iterations = STEPS,.tolerance = TOLERANCE,.seed = seed};
	fc_kmeans_result result = {.centroids = centroids,.weights = FC_TAKE(arena, count, double),.labels = labels};
	double	   *begun = FC_TAKE(arena, count * rows->d, double);

	some.n = smaller(rows->n, FEW_ROWS * count);
	cluster(&some, count, NULL, &options, arena, &result);
	if (some.n < rows->n)
	{
		memcpy(begun, centroids, count * rows->d * sizeof(double));
		options.n_init = 0;
		options.iterations = FEW_STEPS;
		cluster(rows, count, begun, &options, arena, &result);
	}
	fc_arena_release(arena, mark);
}

static void seed_branches(const fc_rows *rows, size_t k, uint64_t seed, fc_kmeans_method *cluster, fc_arena *arena, double *centroids);

/* Centroids of rows of positive weight. */
static void
seed_node(const fc_rows *rows, size_t k, uint64_t seed, fc_kmeans_method *cluster, fc_arena *arena, double *centroids)
{
	for (size_t j = 0; j < k && rows->n <= k; j++)
		fc_widen(rows->x + j % rows->n * rows->d, rows->d, centroids + j * rows->d);
	if (rows->n > k && k <= MOST_BRANCHES)
		cluster_node(rows, k, seed, cluster, arena, centroids, NULL);
	else if (rows->n > k)
		seed_branches(rows, k, seed, cluster, arena, centroids);
}

/* The rows of each branch gathered, and its leaves. */
static void
seed_branches(const fc_rows *rows, size_t k, uint64_t seed, fc_kmeans_method *cluster, fc_arena *arena, double *centroids)
{
	fc_mark		mark = fc_arena_mark(arena);
	size_t		d = rows->d;
	branches	b = {.branches = branches_of(k)};
	size_t		next[MOST_BRANCHES] = {0};
	size_t		done = 0;
	double	   *centroid = FC_TAKE(arena, b.branches * d, double);
	int32_t    *label = FC_TAKE(arena, rows->n, int32_t);
	float	   *x = FC_TAKE(arena, rows->n * d, float);
	double	   *weight = FC_TAKE(arena, rows->n, double);

	cluster_node(rows, b.branches, seed, cluster, arena, centroid, label);
	for (size_t r = 0; r < rows->n; r++)
	{
		fc_check_every(&done, d);
		b.count[label[r]]++;
		b.sse[label[r]] += rows->weight[r] * fc_kmeans_distance(rows->x + r * d, centroid + (size_t) label[r] * d, d);
	}
	share_leaves(&b, k);
	for (size_t j = 1; j < b.branches; j++)
		next[j] = next[j - 1] + b.count[j - 1];
	for (size_t r = 0; r < rows->n; r++)
	{
		size_t		place = next[label[r]]++;

		fc_check_every(&done, d);
		memcpy(x + place * d, rows->x + r * d, d * sizeof(float));
		weight[place] = rows->weight[r];
	}
	for (size_t j = 0; j < b.branches; j++)
	{
		size_t		first = next[j] - b.count[j];
		fc_rows		branch = {.x = x + first * d,.weight = weight + first,.n = b.count[j],.d = d};

		if (branch.n > 0)
			seed_node(&branch, b.leaves[j], seed + first + 1, cluster, arena, centroids);
		centroids += b.leaves[j] * d;
	}
	fc_arena_release(arena, mark);
}

void
fc_hierarchical_seed(const fc_rows *rows, size_t k, uint64_t seed, fc_kmeans_method *cluster, fc_arena *arena, double *centroids)
{
	fc_mark		mark = fc_arena_mark(arena);
	float	   *x = FC_TAKE(arena, rows->n * rows->d, float);
	double	   *weight = FC_TAKE(arena, rows->n, double);
	fc_rows		some = {.x = x,.weight = weight,.d = rows->d};
	size_t		done = 0;

	for (size_t r = 0; r < rows->n; r++)
	{
		double		own = rows->weight == NULL ? 1.0 : rows->weight[r];

		fc_check_every(&done, rows->d);
		if (!(own > 0.0))
			continue;
		memcpy(x + some.n * rows->d, rows->x + r * rows->d, rows->d * sizeof(float));
		weight[some.n++] = own;
	}
	seed_node(&some, k, seed, cluster, arena, centroids);
	fc_arena_release(arena, mark);
}

/*
 * test_density.c - radii and the spanning tree agree with their definitions,
 * to 1e-12. Clusters of planted shapes are found and noise is left out; even
 * rows and lattices are not split.
 */
#include "density/internal.h"
#include "unit.h"

#define ROUNDS	4				/* rounds of Lloyd's algorithm that make the micro-clusters */
#define MAX_D	3

/*
 * Rows, micro-clusters around the nearest of m centroids, and the
 * micro-cluster of each row.
 */
typedef struct problem
{
	size_t		rows;
	size_t		d;
	double	   *x;
	fc_micro_clusters	b;
	double	   *n;
	double	   *mean;
	double	   *square;
	size_t	   *micro_cluster;
} problem;

static problem
new_problem(size_t rows, size_t d, size_t m)
{
	problem		p = {rows, d, unit_alloc(rows * d, sizeof(double)), {m, d, NULL, NULL, NULL}, unit_alloc(m, sizeof(double)),
	unit_alloc(m * d, sizeof(double)), unit_alloc(m, sizeof(double)), unit_alloc(rows, sizeof(size_t))};

	p.b.n = p.n;
	p.b.mean = p.mean;
	p.b.square = p.square;
	return p;
}

static size_t
nearest(const problem *p, const double *x)
{
	size_t		best = 0;

	for (size_t a = 1; a < p->b.m; a++)
		if (unit_square(x, p->mean + a * p->d, p->d) < unit_square(x, p->mean + best * p->d, p->d))
			best = a;
	return best;
}

/*
 * Makes the micro-clusters, starting at the first m rows, and drops empty
 * ones.
 */
static void
make_micro_clusters(problem *p)
{
	size_t		d = p->d;
	size_t		m = p->b.m;
	double	   *sum = unit_alloc(m * d, sizeof(double));

	memcpy(p->mean, p->x, m * d * sizeof(double));
	for (int round = 0; round < ROUNDS; round++)
	{
		memset(p->n, 0, m * sizeof(double));
		memset(sum, 0, m * d * sizeof(double));
		for (size_t i = 0; i < p->rows; i++)
		{
			size_t		a = p->micro_cluster[i] = nearest(p, p->x + i * d);

			p->n[a] += 1.0;
			for (size_t c = 0; c < d; c++)
				sum[a * d + c] += p->x[i * d + c];
		}
		for (size_t a = 0; a < m; a++)
			for (size_t c = 0; c < d && p->n[a] > 0.0; c++)
				p->mean[a * d + c] = sum[a * d + c] / p->n[a];
	}
	p->b.m = 0;
	for (size_t a = 0; a < m; a++)
	{
		size_t		to = p->b.m;

		if (p->n[a] == 0.0)
			continue;
		p->n[to] = p->n[a];
		memmove(p->mean + to * d, p->mean + a * d, d * sizeof(double));
		p->square[to] = 0.0;
		for (size_t i = 0; i < p->rows; i++)
			if (p->micro_cluster[i] == a)
			{
				p->square[to] += unit_square(p->x + i * d, p->mean + to * d, d) / p->n[to];
				p->micro_cluster[i] = to;
			}
		p->b.m++;
	}
}

/* ---- definitions ---- */

static double
brute_radius(const fc_micro_clusters *b, size_t a, double mass)
{
	double	  (*near)[2] = unit_alloc(b->m, sizeof(*near));
	double		x[2] = {0.0, 0.0};
	double		y[2] = {0.0, 0.0};
	double		before = 0.0;

	for (size_t i = 0; i < b->m; i++)
	{
		near[i][0] = unit_square(b->mean + a * b->d, b->mean + i * b->d, b->d) + b->square[i];
		near[i][1] = b->n[i];
	}
	qsort(near, b->m, sizeof(*near), unit_compare);
	for (size_t i = 0; i < b->m && (i == 0 || x[1] < mass); i++)
	{
		x[0] = x[1];
		y[0] = y[1];
		x[1] = before + near[i][1] / 2.0;
		y[1] = near[i][0];
		before += near[i][1];
	}
	return mass >= x[1] ? y[1] : y[0] + (mass - x[0]) / (x[1] - x[0]) * (y[1] - y[0]);
}

/*
 * Radii that contain a given mass agree with a sorted list of all
 * micro-clusters, to 1e-12.
 */
static void
test_radii(size_t rows, size_t d, size_t m)
{
	problem		p = new_problem(rows, d, m);
	fc_arena	arena = unit_arena();
	double	   *mass;
	double	   *found;

	p.x = unit_normals(p.rows * p.d, 0.0, 1.0, 7);
	make_micro_clusters(&p);
	mass = FC_TAKE(&arena, 3 * p.b.m, double);
	found = FC_TAKE(&arena, 3 * p.b.m, double);
	for (size_t i = 0; i < 3 * p.b.m; i++)
		mass[i] = (double) rows * (i < p.b.m ? 0.001 : i < 2 * p.b.m ? 0.4 : 1.0);
	fc_squared_radii(&p.b, mass, 3, &arena, found);
	for (size_t i = 0; i < 3 * p.b.m; i++)
	{
		double		wanted = brute_radius(&p.b, i % p.b.m, mass[i]);

		CHECK(fabs(found[i] - wanted) <= 1e-12 * (1.0 + wanted), "radius %zu: %g, not %g", i, found[i], wanted);
	}
}

/*
 * The spanning tree is minimal: when an edge joins two groups, no pair between
 * them is closer than its reach.
 */
static void
test_tree(size_t m, size_t d)
{
	problem		p = new_problem(m, d, m);
	fc_arena	arena = unit_arena();
	double	   *core = FC_TAKE(&arena, m, double);
	fc_edge    *edges = FC_TAKE(&arena, m, fc_edge);
	fc_disjoint_sets	sets = fc_new_sets(m, &arena);
	size_t		wrong = 0;

	p.x = unit_normals(p.rows * p.d, 0.0, 1.0, 3);
	make_micro_clusters(&p);
	CHECK(p.b.m == m, "%zu bubbles", p.b.m);
	for (size_t a = 0; a < m; a++)
		core[a] = (double) (a % 5) / 10.0;
	fc_spanning_tree(&p.b, core, &arena, edges);
	for (size_t i = 0; i + 1 < m; i++)
	{
		uint32_t	x = fc_set_of(&sets, edges[i].a);
		uint32_t	y = fc_set_of(&sets, edges[i].b);

		CHECK(x != y && (i == 0 || edges[i].reach >= edges[i - 1].reach), "edge %zu is out of order or closes a cycle", i);
		for (size_t a = 0; a < m; a++)
			for (size_t b = 0; b < m; b++)
				if (fc_set_of(&sets, (uint32_t) a) == x && fc_set_of(&sets, (uint32_t) b) == y)
					wrong += fmax(fmax(core[a], core[b]), unit_square(p.mean + a * d, p.mean + b * d, d)) < (1.0 - 1e-12) * edges[i].reach;
		fc_join_sets(&sets, x, y);
	}
	CHECK(wrong == 0, "%zu shorter pairs", wrong);
}

/* ---- clusters ---- */

/*
 * Checks that clusters are leaves of a single tree: later splits have sparser
 * valleys, and no cluster or join is used twice.
 */
static void
check_tree(const fc_density *f, double rows)
{
	bool	   *below = unit_alloc(2 * f->k, sizeof(bool));

	memset(below, 0, 2 * f->k * sizeof(bool));
	for (size_t i = 0; i + 1 < f->k; i++)
	{
		const fc_density_split *s = &f->split[i];

		CHECK(s->left != s->right && s->left >= 0 && s->right >= 0 && (size_t) s->left < f->k + i && (size_t) s->right < f->k + i, "split %zu is out of order or reuses a node", i);
		CHECK(!below[s->left] && !below[s->right] && s->rows <= rows && (i == 0 || s->radius >= s[-1].radius), "split %zu is out of order or reuses a node", i);
		below[s->left] = below[s->right] = true;
	}
	for (size_t c = 1; c < f->k; c++)
		CHECK(f->cluster[c].rows <= f->cluster[c - 1].rows, "cluster %zu is larger than the one before", c);
}

/*
 * Returns the number of rows in the most frequent cluster of their true class;
 * noise counts as wrong.
 */
static double
agreement(const problem *p, const fc_density *f, const int *truth, int kinds)
{
	size_t	   *count = unit_alloc((size_t) kinds * f->k, sizeof(size_t));
	double		right = 0.0;

	memset(count, 0, (size_t) kinds * f->k * sizeof(size_t));
	for (size_t i = 0; i < p->rows; i++)
		if (truth[i] >= 0 && f->label[p->micro_cluster[i]] >= 0)
			count[(size_t) truth[i] * f->k + (size_t) f->label[p->micro_cluster[i]]]++;
	for (int t = 0; t < kinds; t++)
	{
		size_t		max = 0;

		for (size_t c = 0; c < f->k; c++)
			max = count[(size_t) t * f->k + c] > max ? count[(size_t) t * f->k + c] : max;
		right += (double) max;
	}
	return right;
}

static fc_density
clusters_of(problem *p, double share, fc_arena *arena)
{
	fc_density_options options = {share * (double) p->rows, 0.5, 1.0};
	fc_density	f;

	make_micro_clusters(p);
	fc_density_clusters(&p->b, &options, arena, &f);
	check_tree(&f, (double) p->rows);
	return f;
}

/*
 * Concentric rings are found, with a share of the rows uniform over the square
 * as noise: 95 % of the rows are right, 99.9 % without noise.
 */
static void
test_rings(int rings, double noise)
{
	problem		p = new_problem(6000, 2, 600);
	fc_rng		rng = fc_rng_start(11, 0);
	int		   *truth = unit_alloc(p.rows, sizeof(int));
	size_t		all = 0;
	size_t		left_out = 0;
	fc_density	f;

	for (size_t i = 0; i < p.rows; i++)
	{
		int			ring = (int) fc_rng_below(&rng, (size_t) (rings * (rings + 1) / 2));
		double		angle = 2.0 * M_PI * fc_rng_uniform(&rng);

		truth[i] = ring < 1 ? 0 : ring < 3 ? 1 : 2;
		for (int c = 0; c < 2; c++)
			p.x[2 * i + (size_t) c] = (1 + truth[i]) * (c == 0 ? cos(angle) : sin(angle)) + 0.06 * fc_rng_normal(&rng);
		if (fc_rng_uniform(&rng) >= noise)
			continue;
		truth[i] = -1;
		for (int c = 0; c < 2; c++)
			p.x[2 * i + (size_t) c] = 4.0 * (2.0 * fc_rng_uniform(&rng) - 1.0);
	}
	f = clusters_of(&p, 0.02, unit_work());
	for (size_t i = 0; i < p.rows; i++)
	{
		all += truth[i] >= 0;
		left_out += truth[i] < 0 && f.label[p.micro_cluster[i]] < 0;
	}
	CHECK(f.k == (size_t) rings, "%d rings, noise %g: %zu clusters", rings, noise, f.k);
	CHECK(agreement(&p, &f, truth, rings) >= (noise > 0 ? 0.95 : 0.999) * (double) all, "%d rings, noise %g", rings, noise);
	CHECK(noise == 0.0 || 2 * left_out > p.rows - all, "%zu of %zu rows of noise left out", left_out, p.rows - all);
}

/*
 * Round clouds in a row, with noise uniform over a box of twice their width,
 * are one cluster each. No more than 6 % of their rows are left out, and 60 %
 * of the noise or more, even for a single cloud, or if the last cloud is far
 * away.
 */
static void
test_clouds(size_t clouds, size_t d, size_t rows, double noise, double away)
{
	problem		p = new_problem(rows, d, rows < 1000 ? rows : 1000);
	fc_rng		rng = fc_rng_start(17, clouds);
	bool	   *is_noise = unit_alloc(rows, sizeof(bool));
	double		count[2] = {0.0, 0.0};
	double		left_out[2] = {0.0, 0.0};
	fc_density	f;

	for (size_t i = 0; i < rows; i++)
	{
		is_noise[i] = fc_rng_uniform(&rng) < noise;
		for (size_t c = 0; c < d; c++)
			p.x[i * d + c] = is_noise[i] ? 20.0 * fc_rng_uniform(&rng) - 10.0 : fc_rng_normal(&rng) + (c == 0 ? 6.0 * (double) (i % clouds) + (i % clouds + 1 == clouds ? away : 0.0) : 0.0);
	}
	f = clusters_of(&p, rows < 1000 ? 0.05 : 0.01, unit_work());
	for (size_t i = 0; i < rows; i++)
	{
		count[is_noise[i]] += 1.0;
		left_out[is_noise[i]] += f.label[p.micro_cluster[i]] < 0;
	}
	CHECK(f.k == clouds, "%zu clouds of %zu dimensions: %zu clusters", clouds, d, f.k);
	CHECK(left_out[0] <= 0.06 * count[0], "%g of %g rows of %zu clouds left out", left_out[0], count[0], clouds);
	CHECK(noise == 0.0 || left_out[1] >= 0.6 * count[1], "%g of %g rows of noise left out", left_out[1], count[1]);
}

/*
 * Uniform rows are not split and not called noise, whether a cluster has
 * twenty micro-clusters or less than one.
 */
static void
test_even(size_t d, double share)
{
	size_t		splits = 0;
	size_t		left_out = 0;

	for (uint64_t seed = 0; seed < 20; seed++)
	{
		problem		p = new_problem(3000, d, 200);
		fc_rng		rng = fc_rng_start(seed, d);
		fc_density	f;

		for (size_t i = 0; i < p.rows * d; i++)
			p.x[i] = fc_rng_uniform(&rng);
		f = clusters_of(&p, share, unit_work());
		splits += f.k - 1;
		for (size_t a = 0; a < p.b.m; a++)
			left_out += f.label[a] < 0;
	}
	CHECK(splits <= 1, "%zu splits of even rows of %zu dimensions", splits, d);
	CHECK(left_out == 0, "%zu bubbles of even rows of %zu dimensions left out", left_out, d);
}

/*
 * Whole numbers, each a micro-cluster: 80 ages are one cluster, two separate
 * groups are two clusters, and five ratings are one.
 */
static void
test_lattice(size_t values, double gap, size_t wanted)
{
	problem		p = new_problem(8000, 1, gap > 0.0 ? 2 * values : values);
	fc_rng		rng = fc_rng_start(5, 0);
	fc_density	f;

	for (size_t i = 0; i < p.rows; i++)
		p.x[i] = (double) (i < p.b.m ? i % values : fc_rng_below(&rng, values)) + ((i < p.b.m ? i / values : i % 2) == 0 ? 0.0 : gap);
	f = clusters_of(&p, 0.05, unit_work());
	CHECK(f.k == wanted, "%zu values, gap %g: %zu clusters", values, gap, f.k);
}

/*
 * Whole numbers around one or two places, three in ten of them rounded to a
 * multiple of five, are one or two clusters.
 */
static void
test_fives(size_t rows, double gap, double deviation, size_t wanted)
{
	problem		p = new_problem(rows, 1, 90);
	fc_rng		rng = fc_rng_start(13, 0);
	fc_density	f;

	for (size_t i = 0; i < p.rows; i++)
	{
		double		x = 30.0 + (i % 2 == 0 ? 0.0 : gap) + deviation * fc_rng_normal(&rng);

		p.x[i] = i < p.b.m ? (double) i : fmin(fmax(i % 10 < 3 ? 5.0 * rint(x / 5.0) : rint(x), 0.0), 89.0);
	}
	f = clusters_of(&p, 0.01, unit_work());
	CHECK(f.k == wanted, "%zu rows, gap %g, deviation %g: %zu clusters", rows, gap, deviation, f.k);
}

/*
 * Ratings from 1 to 5 in columns of different units: planted segments are
 * clusters, though each rating is a micro-cluster; uniform ratings are one
 * cluster.
 */
static void
test_ratings(size_t segments, size_t d)
{
	static const double center[3][3] = {{1.5, 1.5, 4.5}, {3.0, 4.5, 3.0}, {4.5, 3.0, 1.5}};
	problem		p = new_problem(10000, d, d == 1 ? 5 : d == 2 ? 25 : 125);
	fc_rng		rng = fc_rng_start(7, segments);
	fc_density	f;
	size_t		right = 0;

	for (size_t i = 0; i < d * p.rows; i++)
	{
		/* first rows: one of each combination */
		size_t		rating = i / d / (i % d == 0 ? 1 : i % d == 1 ? 5 : 25) % 5 + 1;

		if (i >= d * p.b.m)
			rating = segments == 1 ? 1 + fc_rng_below(&rng, 5) : (size_t) fmin(fmax(rint(center[i / d % 3][i % d] + 0.6 * fc_rng_normal(&rng)), 1.0), 5.0);
		p.x[i] = (double) rating * (double) (i % d + 2);
	}
	f = clusters_of(&p, 0.01, unit_work());
	for (size_t i = p.rows - 1000; i < p.rows; i++)
		right += f.label[p.micro_cluster[i]] == f.label[p.micro_cluster[i - 3]];
	CHECK(f.k == segments, "ratings of %zu segments: %zu clusters", segments, f.k);
	CHECK(right >= 800, "%zu of 1000 ratings have the label of another of their segment", right);
}

/*
 * Makes a problem of rows that are equal at `places` places, each repeated
 * `copies` times. Clusters are squares of side 1 or, if there are as many of
 * them as places, the places themselves; their lower corners are 3 apart.
 */
static void
test_places(size_t clusters, size_t places, size_t copies)
{
	problem		p = new_problem(places * copies, 2, places);
	fc_arena	arena = unit_arena();
	fc_rng		rng = fc_rng_start(19, places);
	int		   *truth = unit_alloc(p.rows, sizeof(int));
	float	   *x = unit_alloc(2 * p.rows, sizeof(float));
	double	   *weight = unit_alloc(p.rows, sizeof(double));
	fc_density_options options = {0.01 * (double) p.rows, 0.5, 1.0};
	double		wanted = clusters == places ? 1.0 : (double) copies;
	fc_density	f;

	for (size_t i = 0; i < places; i++)
	{
		p.x[2 * i] = 3.0 * (double) (i % clusters % 2) + fc_rng_uniform(&rng);
		p.x[2 * i + 1] = 3.0 * (double) (i % clusters / 2) + fc_rng_uniform(&rng);
	}
	for (size_t i = 0; i < p.rows; i++)
	{
		truth[i] = (int) (i % places % clusters);
		weight[i] = 1.0;
		for (size_t c = 0; c < 2; c++)
		{
			p.x[2 * i + c] = p.x[2 * (i % places) + c];
			x[2 * i + c] = (float) p.x[2 * i + c];
		}
	}
	options.copies = fc_density_copies(x, weight, NULL, p.rows, 2, &arena);
	CHECK(options.copies == wanted, "%g copies, not %g", options.copies, wanted);
	make_micro_clusters(&p);
	fc_density_clusters(&p.b, &options, &arena, &f);
	check_tree(&f, (double) p.rows);
	CHECK(f.k == clusters, "%zu places of %zu rows in %zu clusters: %zu clusters", places, copies, clusters, f.k);
	CHECK(agreement(&p, &f, truth, (int) clusters) >= 0.98 * (double) p.rows, "%zu places of %zu rows", places, copies);
}

/*
 * A sample of every fourth row, each of which represents four, gives the mean
 * number of copies of all rows to within 10 %, without the heaviest place.
 */
static void
test_copies(void)
{
	size_t		rows = 40000;
	size_t		n = 0;
	fc_arena	arena = unit_arena();
	fc_rng		rng = fc_rng_start(23, 0);
	float	   *x = unit_alloc(rows, sizeof(float));
	double	   *weight = unit_alloc(rows, sizeof(double));
	double		copies;

	for (size_t i = 0; i < rows; i++)
		if (fc_rng_below(&rng, 4) == 0)
		{
			x[n] = i % 10 == 0 ? 0.0f : (float) (i % 900 + 1);
			weight[n++] = 4.0;
		}
	copies = fc_density_copies(x, weight, NULL, n, 1, &arena);
	CHECK(fabs(copies / 44.4 - 1.0) < 0.1, "%g copies, not 44.4", copies);
}

/* One to three micro-clusters are one cluster with finite radii. */
static void
test_few(void)
{
	for (size_t m = 1; m <= 3; m++)
	{
		problem		p = new_problem(m, 2, m);
		fc_density	f;

		for (size_t i = 0; i < 2 * m; i++)
			p.x[i] = m == 3 ? 1.0 : (double) i;		/* three equal rows */
		f = clusters_of(&p, 1.0, unit_work());
		CHECK(f.k == 1 && f.label[0] == 0 && f.peak_cluster[0] == 0, "%zu bubbles: %zu clusters", m, f.k);
		CHECK(isfinite(f.cluster[0].reach) && isfinite(f.radius[0]), "%zu bubbles: reach %g", m, f.cluster[0].reach);
	}
}

/*
 * Two squares, one unit apart, with a few rows between them, are two clusters
 * at scale 0.3 and one at scale 1.5.
 */
static void
test_scale(void)
{
	problem		p = new_problem(2020, 2, 300);
	fc_arena	arena = unit_arena();
	fc_rng		rng = fc_rng_start(9, 0);
	int32_t    *label = FC_TAKE(&arena, 300, int32_t);
	double	   *radius = FC_TAKE(&arena, 300, double);

	for (size_t i = 0; i < p.rows; i++)
	{
		p.x[2 * i] = fc_rng_uniform(&rng) + (i < 2000 ? 2.0 * (double) (i % 2) : 1.0);
		p.x[2 * i + 1] = fc_rng_uniform(&rng);
	}
	make_micro_clusters(&p);
	CHECK(fc_density_at_scale(&p.b, 20.0, 0.3, &arena, label, radius) == 2, "two squares are not two clusters at scale 0.3");
	for (size_t i = 0; i < 2000; i++)
		CHECK(label[p.micro_cluster[i]] == label[p.micro_cluster[i % 2]], "row %zu has another label than its square", i);
	CHECK(fc_density_at_scale(&p.b, 1.0, 1.5, &arena, label, radius) == 1, "two squares are not one cluster at scale 1.5");
	CHECK(fc_density_at_scale(&p.b, 3000.0, 0.3, &arena, label, radius) == 0 && label[0] == -1, "clusters are found where nothing is dense");
}

/*
 * Two clouds in 100 dimensions are 40 apart, and have micro-clusters as wide as
 * the clouds. At scale 18 they are two clusters, although 40 is less than the
 * scale and the radii 12 of two micro-clusters.
 */
static void
test_scale_of_wide(void)
{
	fc_arena	arena = unit_arena();
	problem		p = new_problem(0, 100, 40);
	int32_t		label[40];
	double		radius[40];
	fc_rng		rng = fc_rng_start(12, 0);

	for (size_t a = 0; a < 40; a++)
	{
		p.n[a] = a < 4 ? 400.0 : 20.0;
		p.square[a] = a < 4 ? 144.0 : 64.0;
		for (size_t c = 0; c < 100; c++)
			p.mean[100 * a + c] = (c == 0 && a % 2 == 1 ? 40.0 : 0.0) + 0.3 * fc_rng_normal(&rng);
	}
	CHECK(fc_density_at_scale(&p.b, 50.0, 18.0, &arena, label, radius) == 2, "two clouds are not two clusters at scale 18");
	for (size_t a = 2; a < 40; a++)
		CHECK(label[a] == label[a % 2], "micro-cluster %zu has another label than its cloud", a);
	CHECK(fc_density_at_scale(&p.b, 50.0, 45.0, &arena, label, radius) == 1, "two clouds are not one cluster at scale 45");
}

int
main(void)
{
	test_radii(2000, 2, 200);
	test_radii(500, MAX_D, 500);
	test_tree(60, 2);
	test_tree(40, MAX_D);
	test_rings(3, 0.0);
	test_rings(2, 0.1);
	test_clouds(1, 2, 10000, 0.2, 0.0);
	test_clouds(1, 4, 10000, 0.0, 0.0);
	test_clouds(2, 2, 10000, 0.1, 0.0);
	test_clouds(2, 6, 240, 0.0, 0.0);
	test_clouds(3, 2, 20000, 0.2, 60.0);
	for (size_t d = 1; d <= MAX_D; d++)
	{
		test_even(d, 0.1);
		test_even(d, 0.003);
	}
	test_lattice(80, 0.0, 1);
	test_lattice(40, 200.0, 2);
	test_lattice(5, 0.0, 1);
	test_lattice(5, 20.0, 2);
	test_fives(20000, 0.0, 10.0, 1);
	test_fives(2000, 0.0, 10.0, 1);
	test_fives(20000, 30.0, 5.0, 2);
	test_fives(20000, 20.0, 4.0, 2);
	for (size_t d = 1; d <= MAX_D; d++)
		test_ratings(1, d);
	test_ratings(3, 3);
	test_places(2, 2, 500);
	test_places(4, 4, 1000);
	test_places(5, 5, 1000);
	test_places(3, 60, 100);
	test_places(3, 240, 50);
	test_places(4, 800, 30);
	test_places(1, 500, 20);
	test_copies();
	test_few();
	test_scale();
	test_scale_of_wide();
	return unit_finish();
}

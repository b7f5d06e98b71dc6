/*
 * test_decoders.c - the decoders of the papers recover planted clusters to
 * fractions of their deviation. All decoders share warm starts, sample
 * centroids, outliers and covariances, and their cost never rises.
 */
#include "decode/internal.h"
#include "planted.h"

static const fc_decoder papers[] = {FC_DECODE_CLOMPR, FC_DECODE_SHIFT, FC_DECODE_DISCRETIZED};

static fc_decode_options
options_of(int starts, fc_init init)
{
	fc_decode_options options = fc_decode_defaults();

	options.starts = starts;
	options.init = init;
	return options;
}

/*
 * clompr with default options finds six separated clusters to 0.02; with one
 * start and no polishing, to one width.
 */
static void
test_clompr(void)
{
	for (uint64_t seed = 0; seed < 4; seed++)
	{
		planted		p = plant(6, 4, 240, 0.8, 6.0, 1e6, 300, seed);
		fc_decode_options options = options_of(0, FC_INIT_DEFAULT);
		answer		a = solve(&p, 6, FC_DECODE_CLOMPR, &options);
		answer		paper;

		check_valid(&p, 6, &a, "clompr");
		CHECK(worst_miss(&p, 6, &a) < 0.02, "seed %d: off by %g", (int) seed, worst_miss(&p, 6, &a));
		options = options_of(1, FC_INIT_SAMPLE);
		options.polish = false;
		paper = solve(&p, 6, FC_DECODE_CLOMPR, &options);
		check_valid(&p, 6, &paper, "clompr as in the paper");
		CHECK(worst_miss(&p, 6, &paper) < 0.8, "seed %d, one start: off by %g", (int) seed, worst_miss(&p, 6, &paper));
	}
}

/*
 * With option published, every decoder finds three separated clusters as
 * points; discretized moves no point, and misses by more.
 */
static void
test_published(void)
{
	for (uint64_t seed = 2; seed < 4; seed++)
	{
		planted		p = plant_law(true, 3, 3, 400, 0.6, 5.0, 1e6, 0, seed);

		for (size_t i = 0; i < sizeof papers / sizeof papers[0]; i++)
		{
			fc_decode_options options = options_of(0, FC_INIT_DEFAULT);
			double		tolerance = papers[i] == FC_DECODE_DISCRETIZED ? 2.0 : 0.5;
			answer		a;

			options.published = true;
			options.replicates = papers[i] == FC_DECODE_CLOMPR ? 5 : 1;
			a = solve(&p, 3, papers[i], &options);
			check_valid(&p, 3, &a, "published");
			CHECK(worst_miss(&p, 3, &a) < tolerance, "seed %d, decoder %d: off by %g", (int) seed, papers[i], worst_miss(&p, 3, &a));
			for (size_t c = 0; c < 3; c++)
				CHECK(a.result.spreads[c] == 0.0, "decoder %d: spread %g", papers[i], a.result.spreads[c]);
		}
	}
}

/*
 * Polished sketch-and-shift finds neighbouring clusters (7 deviations apart on
 * average) and their deviation to a tenth of it, for frequency scales of 1 to
 * 4 deviations and both laws. The paper's version gives no width and misses by
 * more at both ends.
 */
static void
test_shift_window(void)
{
	static const double scales[] = {1.0, 1.5, 2.5, 4.0};

	for (int gaussian = 0; gaussian <= 1; gaussian++)
		for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++)
			for (uint64_t seed = 0; seed < 2; seed++)
			{
				double		width = 1.0 / scales[i];
				planted		p = plant_law(gaussian, 6, 6, 400, width, 2.0 * width, 1e6, 0, seed);
				fc_decode_options options = options_of(100, FC_INIT_DEFAULT);
				answer		a = solve(&p, 6, FC_DECODE_SHIFT, &options);

				check_valid(&p, 6, &a, "window");
				CHECK(worst_miss(&p, 6, &a) < 0.1 * width, "law %d, scale %g, seed %d: off by %g deviations", gaussian, scales[i],
					  (int) seed, worst_miss(&p, 6, &a) / width);
				for (size_t c = 0; c < 6; c++)
					CHECK(fabs(a.result.spreads[c] - width) < 0.1 * width, "law %d, scale %g: spread %g of %g", gaussian, scales[i],
						  a.result.spreads[c], width);
			}
}

/*
 * Sketch-and-shift without polishing is the paper's version: starts uniform in
 * the box give points without width.
 */
static void
test_shift_of_the_paper(void)
{
	planted		p = plant_law(true, 3, 4, 400, 0.6, 5.0, 1e6, 0, 3);
	fc_decode_options options = options_of(300, FC_INIT_DEFAULT);
	answer		a;

	options.polish = false;
	a = solve(&p, 3, FC_DECODE_SHIFT, &options);
	check_valid(&p, 3, &a, "paper");
	CHECK(worst_miss(&p, 3, &a) < 0.22 * 0.6, "off by %g", worst_miss(&p, 3, &a));
	for (size_t c = 0; c < 3; c++)
		CHECK(a.result.spreads[c] == 0.0, "spread %g", a.result.spreads[c]);
}

typedef struct descent
{
	double		last;
	int			steps;
	bool		rose;
} descent;

static void
watch(void *context, const char *stage, int step, double cost)
{
	descent    *d = context;

	(void) stage;
	(void) step;
	d->rose |= d->steps > 0 && cost > d->last * (1.0 + 1e-9) + 1e-15;
	d->last = cost;
	d->steps++;
}

/* The cost never rises from one step to the next, for all decoders. */
static void
test_monotone_cost(void)
{
	static const fc_decoder all[] = {FC_DECODE_AUTO, FC_DECODE_CLOMPR, FC_DECODE_SHIFT, FC_DECODE_DISCRETIZED};

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		for (uint64_t seed = 0; seed < 5; seed++)
		{
			planted		p = plant(8, 3, 150, 1.0, 2.5, 1e5, 0, seed);
			descent		d = {0};
			fc_decode_options options = options_of(all[i] >= FC_DECODE_SHIFT ? 50 : 0, FC_INIT_DEFAULT);
			answer		a;

			options.progress = watch;
			options.progress_context = &d;
			a = solve(&p, 8, all[i], &options);
			CHECK(a.status == FC_OK && d.steps >= 3, "decoder %d: %d steps", (int) all[i], d.steps);
			CHECK(!d.rose, "decoder %d, seed %d: the cost rose", (int) all[i], (int) seed);
		}
}

/*
 * The covariance of a single Gaussian is recovered to 0.2 from 4000 moments,
 * and so are the covariances of three separated ones.
 */
static void
test_covariances(void)
{
	for (size_t k = 1; k <= 3; k += 2)
	{
		planted		p = plant_law(true, k, 3, 4000, 0.9, 7.0, 1e6, 0, 11);
		fc_decode_options options = options_of(500, FC_INIT_DEFAULT);
		answer		a;

		options.model = FC_MODEL_GAUSSIAN;
		a = solve(&p, k, FC_DECODE_SHIFT, &options);
		check_valid(&p, k, &a, "gaussian");
		CHECK(worst_miss(&p, k, &a) < 0.1, "off by %g", worst_miss(&p, k, &a));
		for (size_t c = 0; c < k; c++)
		{
			CHECK(fabs(a.result.spreads[c] - 0.9) < 0.1, "spread %g", a.result.spreads[c]);
			for (size_t i = 0; i < 9; i++)
				CHECK(fabs(a.result.covariances[c * 9 + i] - (i % 4 == 0 ? 0.81 : 0.0)) < 0.2,
					  "k %d, covariance %zu: %g", (int) k, i, a.result.covariances[c * 9 + i]);
		}
	}
}

/*
 * The cost of Gaussian atoms for Gaussian clusters is less than a tenth of the
 * cost of points.
 */
static void
test_model_cost(void)
{
	planted		p = plant_law(true, 3, 2, 500, 1.2, 8.0, 1e6, 0, 4);
	fc_decode_options options = options_of(300, FC_INIT_DEFAULT);
	answer		points;
	answer		shaped;

	options.polish = false;
	points = solve(&p, 3, FC_DECODE_SHIFT, &options);
	options.model = FC_MODEL_GAUSSIAN;
	shaped = solve(&p, 3, FC_DECODE_SHIFT, &options);
	CHECK(shaped.result.cost < 0.1 * points.result.cost, "%g against %g", shaped.result.cost, points.result.cost);
}

/*
 * The discretized version never leaves its starts: with sample rows as starts,
 * its centroids are sample rows.
 */
static void
test_discretized(void)
{
	planted		p = plant(3, 2, 300, 0.5, 6.0, 1e6, 40, 2);
	fc_decode_options options = options_of(40, FC_INIT_SAMPLE);
	answer		a = solve(&p, 3, FC_DECODE_DISCRETIZED, &options);

	check_valid(&p, 3, &a, "discretized");
	for (size_t c = 0; c < 3; c++)
	{
		double		nearest = INFINITY;

		for (size_t i = 0; i < 40; i++)
			nearest = fmin(nearest, hypot(a.result.centroids[2 * c] - (double) p.sample[2 * i],
										  a.result.centroids[2 * c + 1] - (double) p.sample[2 * i + 1]));
		CHECK(nearest < 1e-5, "centroid %zu is %g from every row", c, nearest);
	}
	CHECK(worst_miss(&p, 3, &a) < 0.5, "off by %g", worst_miss(&p, 3, &a));
}

/*
 * Every start strategy of every decoder gives a valid result, with and without
 * sample rows.
 */
static void
test_starts(void)
{
	for (size_t i = 0; i < sizeof papers / sizeof papers[0]; i++)
		for (int init = FC_INIT_DEFAULT; init <= FC_INIT_KMEANSPP; init++)
			for (size_t sample = 0; sample <= 30; sample += 15)
			{
				planted		p = plant(4, 2, 120, 0.6, 5.0, 1e5, sample, 3);
				fc_decode_options options = options_of(30, (fc_init) init);
				answer		a = solve(&p, 4, papers[i], &options);

				check_valid(&p, 4, &a, "starts");
			}
}

/*
 * Clusters a thousand deviations apart are found from sample centroids, though
 * random starts cannot find them.
 */
static void
test_sample_centroids(void)
{
	planted		p = plant(6, 8, 300, 0.8, 1000.0, 1e6, 0, 5);
	float		sample_centroids[6 * 8];
	answer		a;

	for (size_t i = 0; i < 48; i++)
		sample_centroids[i] = (float) p.truth[i] + 0.4f;
	p.problem.sample_centroids = sample_centroids;
	p.problem.sample_centroid_count = 6;
	a = solve(&p, 6, FC_DECODE_AUTO, NULL);
	check_valid(&p, 6, &a, "sample_centroids");
	CHECK(worst_miss(&p, 6, &a) < 0.05, "off by %g", worst_miss(&p, 6, &a));
	CHECK(!a.result.outliers, "outliers are reported without any");
}

/*
 * One row in a million is 1e6 deviations away: sample centroids still lead to
 * the other clusters, and the outlier is reported.
 */
static void
test_outlier(void)
{
	planted		p = plant(5, 3, 200, 1.1, 6.0, 1e6, 0, 7);
	float		sample_centroids[5 * 3];
	answer		a;

	for (size_t i = 0; i < 15; i++)
		sample_centroids[i] = (float) p.truth[i];
	p.problem.sample_centroids = sample_centroids;
	p.problem.sample_centroid_count = 5;
	for (size_t l = 0; l < 3; l++)
	{
		p.upper[l] = 1e6;
		p.mean[l] += 1.0;
		p.stddev[l] = 1e3;
	}
	a = solve(&p, 5, FC_DECODE_AUTO, NULL);
	CHECK(a.status == FC_OK && a.result.outliers, "status %d", (int) a.status);
	CHECK(worst_miss(&p, 5, &a) < 0.1, "off by %g", worst_miss(&p, 5, &a));
	for (size_t c = 0; c < 5; c++)
		CHECK(fabs(a.result.weights[c] - 0.2) < 0.01, "weight %g", a.result.weights[c]);
}

/*
 * Initial centroids keep their numbers, whatever the decoder and their
 * movement.
 */
static void
test_numbering(void)
{
	static const fc_decoder warm[] = {FC_DECODE_AUTO, FC_DECODE_CLOMPR, FC_DECODE_SHIFT};

	for (size_t i = 0; i < 3; i++)
		for (uint64_t seed = 0; seed < 3; seed++)
		{
			planted		p = plant(6, 3, 240, 0.8, 8.0, 1e6, 0, seed);
			double		initial[6 * 3];
			answer		a;

			for (size_t c = 0; c < 6; c++)
				for (size_t l = 0; l < 3; l++)
					initial[c * 3 + l] = p.truth[(5 - c) * 3 + l] + 0.7;
			p.problem.initial = initial;
			p.problem.initial_count = 6;
			a = solve(&p, 6, warm[i], NULL);
			check_valid(&p, 6, &a, "warm");
			for (size_t c = 0; c < 6 && worst_miss(&p, 6, &a) < 0.5; c++)
				for (size_t l = 0; l < 3; l++)
					CHECK(fabs(a.result.centroids[c * 3 + l] - p.truth[(5 - c) * 3 + l]) < 0.5, "decoder %d, cluster %zu", (int) warm[i], c);
			CHECK(worst_miss(&p, 6, &a) < 0.5, "decoder %d, seed %d: off by %g", (int) warm[i], (int) seed, worst_miss(&p, 6, &a));
		}
}

int
main(void)
{
	test_clompr();
	test_published();
	test_shift_window();
	test_shift_of_the_paper();
	test_monotone_cost();
	test_covariances();
	test_model_cost();
	test_discretized();
	test_starts();
	test_sample_centroids();
	test_outlier();
	test_numbering();
	return unit_finish();
}

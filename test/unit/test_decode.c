/*
 * test_decode.c - the decoder: gradients agree with differences to 1e-6,
 * planted clusters are recovered to fractions of their deviation, degenerate
 * inputs give valid results, memory is released, and results repeat to the bit
 */
#include "decode/internal.h"
#include "planted.h"

#define PI 3.14159265358979323846

/*
 * Sines, cosines and exponentials are accurate to 2e-15 in double, 2e-7 in
 * float and 1e-13 relative for the envelope.
 */
static void
test_sincos(void)
{
	float		cosine_float[999];
	float		sine_float[999];
	double		cosine[999];
	double		sine[999];
	double		half_norm[999];
	double		envelope[999];

	for (int i = 0; i < 999; i++)
	{
		cosine[i] = (i - 500) * 0.7371;
		cosine_float[i] = (float) cosine[i];
		half_norm[i] = i * 0.71;
	}
	fc_sincos_double(999, cosine, sine);
	fc_sincos_float(999, cosine_float, sine_float);
	fc_envelope_double(999, 0.9, half_norm, envelope);
	for (int i = 0; i < 999; i++)
	{
		double		h = fmod((i - 500) * 0.7371, 2.0);
		double		h_float = fmod((double) (float) ((i - 500) * 0.7371), 2.0);
		double		expected = exp(-0.9 * half_norm[i]);

		CHECK(fabs(cosine[i] - cos(PI * h)) < 2e-15 && fabs(sine[i] - sin(PI * h)) < 2e-15, "double, %d", i);
		CHECK(fabs((double) cosine_float[i] - cos(PI * h_float)) < 2e-7 && fabs((double) sine_float[i] - sin(PI * h_float)) < 2e-7, "float, %d", i);
		CHECK(fabs(envelope[i] - expected) <= 1e-13 * expected, "exp(-%g): %g", 0.9 * half_norm[i], envelope[i]);
	}
	cosine[0] = 0.0;
	half_norm[0] = 1e6;
	fc_envelope_double(1, 1.0, half_norm, envelope);
	CHECK(envelope[0] == 0.0, "exp(-1e6) = %g", envelope[0]);
}

/*
 * Compares a gradient with central differences, to 1e-6 of its largest entry.
 * The objective writes `room` entries.
 */
static void
check_gradient(fc_objective objective, void *context, size_t variables, size_t capacity, double *x, const char *what)
{
	double	   *gradient = unit_alloc(2 * capacity, sizeof(double));
	double	   *other = gradient + capacity;
	double		largest = 0.0;
	(void) objective(context, x, gradient);
	for (size_t i = 0; i < variables; i++)
		largest = fmax(largest, fabs(gradient[i]));
	for (size_t i = 0; i < variables; i++)
	{
		double		kept = x[i];
		double		step = 1e-5;
		double		above;
		double		below;

		x[i] = kept + step;
		above = objective(context, x, other);
		x[i] = kept - step;
		below = objective(context, x, other);
		x[i] = kept;
		CHECK(fabs((above - below) / (2.0 * step) - gradient[i]) < 1e-6 * largest,
			  "%s, variable %zu: %.9g against %.9g", what, i, (above - below) / (2.0 * step), gradient[i]);
	}
}

typedef struct joint
{
	fc_decoding *d;
	fc_width_mode mode;
	size_t		count;
} joint;

static double
joint_cost(void *context, const double *x, double *gradient)
{
	const joint *j = context;

	return fc_refine_evaluate(j->d, j->mode, j->count, x, gradient);
}

/*
 * Returns the height of the residual's density at c, computed by the
 * definition.
 */
static double
height_at(const fc_decoding *d, const double *c)
{
	double		sum = 0.0;

	for (size_t j = 0; j < d->m; j++)
	{
		double		angle = 0.0;

		for (size_t l = 0; l < d->n; l++)
			angle += PI * d->omega[j * d->n + l] * c[l];
		sum += d->r_re[j] * cos(angle) + d->r_im[j] * sin(angle);
	}
	return sum / (double) d->m;
}

/*
 * Value and gradient of the peak that a single atom climbs agree with the
 * definition at random places.
 */
static void
check_peak(fc_decoding *d, fc_rng *rng)
{
	for (int place = 0; place < 5; place++)
	{
		double		c[4];
		double		gradient[4];
		double		value;

		for (size_t l = 0; l < d->n; l++)
			c[l] = 4.0 * fc_rng_uniform(rng) - 2.0;
		check_gradient(fc_evaluate_peak, d, d->n, d->n, c, "peak");
		value = fc_evaluate_peak(d, c, gradient);
		CHECK(fabs(value + 100.0 * height_at(d, c)) < 1e-11, "peak %g, not %g", value, -100.0 * height_at(d, c));
	}
}

/*
 * The gradients of the joint fit, in all three models of widths, and of a
 * single peak agree with differences.
 */
static void
test_gradient(void)
{
	enum {K = 3, N = 4, M = 300};
	fc_rng		rng = fc_rng_start(5, 5);
	fc_decoding d = {.n = N, .m = M, .k = K, .atoms = K + 1};
	fc_arena	arena = unit_arena();
	double		x[K * (N + 2)];
	const char *names[] = {"no widths", "one width", "a width each"};

	d.omega = FC_TAKE(&arena, M * N, double);
	d.half_norm = FC_TAKE(&arena, M, double);
	d.z_re = FC_TAKE(&arena, M, double);
	d.z_im = FC_TAKE(&arena, M, double);
	for (size_t j = 0; j < M; j++)
	{
		d.half_norm[j] = 0.0;
		for (size_t l = 0; l < N; l++)
		{
			d.omega[j * N + l] = fc_rng_normal(&rng) / PI;
			d.half_norm[j] += PI * PI * d.omega[j * N + l] * d.omega[j * N + l] / 2.0;
		}
		d.z_re[j] = fc_rng_uniform(&rng) - 0.5;
		d.z_im[j] = fc_rng_uniform(&rng) - 0.5;
	}
	fc_refine_take(&d, &arena);
	for (size_t i = 0; i < K * (N + 2); i++)
		x[i] = 0.3 + fc_rng_uniform(&rng);
	for (int mode = FC_WIDTH_NONE; mode <= FC_WIDTH_EACH; mode++)
	{
		joint		j = {&d, (fc_width_mode) mode, K};

		check_gradient(joint_cost, &j, fc_refine_variables(&d, j.mode, K), K * (N + 2), x, names[mode]);
	}
	d.r_re = d.z_re;
	d.r_im = d.z_im;
	check_peak(&d, &rng);
}

/*
 * Separated planted clusters are recovered to 0.02, with and without sample
 * rows.
 */
static void
test_recovery(void)
{
	for (uint64_t seed = 0; seed < 4; seed++)
		for (size_t sample = 0; sample <= 300; sample += 300)
		{
			planted		p = plant(6, 4, 240, 0.8, 6.0, 1e6, sample, seed);
			answer		a = solve(&p, 6, FC_DECODE_AUTO, NULL);
			answer		s = solve(&p, 6, FC_DECODE_SHIFT, NULL);

			check_valid(&p, 6, &a, "auto");
			check_valid(&p, 6, &s, "shift");
			CHECK(worst_miss(&p, 6, &a) < 0.02, "auto, seed %d, pilot %zu: off by %g", (int) seed, sample, worst_miss(&p, 6, &a));
			CHECK(worst_miss(&p, 6, &s) < 0.02, "shift, seed %d: off by %g", (int) seed, worst_miss(&p, 6, &s));
			CHECK(a.result.cost < 1e-5, "cost %g", a.result.cost);
			for (size_t c = 0; c < 6; c++)
				CHECK(fabs(a.result.spreads[c] - 0.8) < 0.1, "spread %g", a.result.spreads[c]);
		}
}

/*
 * Twenty clusters less than two widths apart per dimension are recovered in
 * fewer than 1000 evaluations. Variables without scaling take three times as
 * many.
 */
static void
test_many_clusters(void)
{
	planted		p = plant(20, 8, 800, 0.8, 1.3, 3e5, 0, 6);
	answer		a = solve(&p, 20, FC_DECODE_AUTO, NULL);

	check_valid(&p, 20, &a, "many");
	CHECK(worst_miss(&p, 20, &a) < 0.15, "many: off by %g", worst_miss(&p, 20, &a));
	CHECK(a.result.iterations < 1000, "%d evaluations", a.result.iterations);
}

/*
 * The setting of the paper: three clusters, 1000 moments and 1000 starts
 * uniform in the box, no sample rows. A miss of 0.22 widths adds 5 % to a
 * cluster's SSE.
 */
static void
test_shift_from_box(void)
{
	for (uint64_t seed = 0; seed < 3; seed++)
	{
		planted		p = plant(3, 6, 1000, 0.7, 5.0, 1e5, 0, seed);
		fc_decode_options options = fc_decode_defaults();
		answer		s;

		options.starts = 1000;
		options.polish = false;
		s = solve(&p, 3, FC_DECODE_SHIFT, &options);
		check_valid(&p, 3, &s, "shift from the box");
		CHECK(worst_miss(&p, 3, &s) < 0.22 * 0.7, "seed %d: off by %g", (int) seed, worst_miss(&p, 3, &s));
	}
}

/*
 * Clusters 15 widths apart in 60 dimensions, where their kernels merge to one
 * mode, with 1.2 moments per unknown: given sample centroids, all are
 * recovered to 0.1.
 */
static void
test_many_dimensions(void)
{
	for (uint64_t seed = 0; seed < 12; seed++)
	{
		planted		p = plant(5, 60, 360, 0.83, 1.02, 8000.0, 0, seed);
		float	   *sample = unit_alloc(5 * 60, sizeof(float));
		answer		a;

		for (size_t i = 0; i < 5 * 60; i++)
			sample[i] = (float) p.truth[i];
		p.problem.clusters = p.problem.sample_centroid_count = 5;
		p.problem.sample_centroids = sample;
		a = solve(&p, 5, FC_DECODE_AUTO, NULL);
		check_valid(&p, 5, &a, "many dimensions");
		CHECK(worst_miss(&p, 5, &a) < 0.1, "seed %d: off by %g", (int) seed, worst_miss(&p, 5, &a));
	}
}

/*
 * Three of 200 sample rows, a hundred times too far away, attract no centroid.
 */
static void
test_outlying_sample(void)
{
	planted		p = plant(5, 4, 200, 0.8, 6.0, 1e6, 200, 3);
	answer		a;

	for (size_t i = 0; i < 3 * 4; i++)
		p.sample[i] *= 100.0f;
	for (size_t l = 0; l < 4; l++)
	{
		p.lower[l] = -3000.0;
		p.upper[l] = 3000.0;
	}
	a = solve(&p, 5, FC_DECODE_AUTO, NULL);
	check_valid(&p, 5, &a, "outliers");
	CHECK(worst_miss(&p, 5, &a) < 0.05, "off by %g", worst_miss(&p, 5, &a));
}

/*
 * Results are valid for sizes from the smallest up, with k below and above the
 * number of planted clusters.
 */
static void
test_sizes(void)
{
	static const size_t sizes[][5] = {	/* planted, k, n, m, sample rows */
		{1, 1, 1, 1, 0}, {1, 1, 1, 8, 0}, {1, 1, 1, 8, 1}, {2, 5, 1, 8, 3}, {3, 1, 2, 20, 0}, {2, 7, 3, 8, 40},
		{3, 10, 2, 257, 0}, {4, 4, 5, 256, 20}, {4, 2, 5, 100, 1100}, {5, 60, 2, 128, 0}, {12, 60, 3, 300, 64}
	};

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		for (int decoder = FC_DECODE_AUTO; decoder <= FC_DECODE_DISCRETIZED; decoder++)
		{
			const size_t *s = sizes[i];
			planted		p = plant(s[0], s[2], s[3], 0.5, 4.0, 1e4, s[4], i);
			fc_decode_options options = fc_decode_defaults();
			answer		a;

			options.starts = decoder >= FC_DECODE_SHIFT ? 20 : 0;
			a = solve(&p, s[1], (fc_decoder) decoder, &options);
			check_valid(&p, s[1], &a, "size");
		}
}

/*
 * One row, and many equal rows, where |z| = 1 and the box has no volume, are
 * recovered to 1e-6.
 */
static void
test_single_point(void)
{
	for (size_t k = 1; k <= 4; k += 3)
		for (double rows = 1.0; rows <= 1e6; rows *= 1e6)
			for (size_t sample = 0; sample <= 2; sample++)
			{
				planted		p = plant(1, 3, 60, 0.0, 2.0, rows, sample, 8);
				answer		a = solve(&p, k, FC_DECODE_AUTO, NULL);
				answer		s = solve(&p, k, FC_DECODE_SHIFT, NULL);

				check_valid(&p, k, &a, "one point, auto");
				check_valid(&p, k, &s, "one point, shift");
				CHECK(worst_miss(&p, k, &a) < 1e-6, "off by %g", worst_miss(&p, k, &a));
			}
}

/*
 * Moments that no density has still give valid results; no rows give
 * FC_EEMPTY.
 */
static void
test_hostile_moments(void)
{
	planted		p = plant(2, 2, 50, 0.5, 3.0, 10.0, 5, 1);

	for (int round = 0; round < 3; round++)
	{
		answer		a;

		for (size_t j = 0; j < 50; j++)
		{
			p.z_re[j] = round == 0 ? 0.0 : round == 1 ? -1.0 : cos((double) (j * j));
			p.z_im[j] = round == 2 ? sin((double) (j * j)) : 0.0;
		}
		a = solve(&p, 3, FC_DECODE_AUTO, NULL);
		check_valid(&p, 3, &a, "hostile");
		p.problem.sample = round == 0 ? NULL : p.problem.sample;
	}
	p.problem.rows = 0.0;
	{
		answer		a = solve(&p, 3, FC_DECODE_AUTO, NULL);

		CHECK(a.status == FC_EEMPTY, "status %d", (int) a.status);
	}
}

/* The same seed gives the same bits; replicates never increase the cost. */
static void
test_determinism(void)
{
	planted		p = plant(5, 3, 100, 1.0, 2.0, 1e4, 50, 2);
	fc_decode_options options = fc_decode_defaults();
	answer		a = solve(&p, 5, FC_DECODE_AUTO, &options);
	answer		b = solve(&p, 5, FC_DECODE_AUTO, &options);
	answer		c;

	CHECK(memcmp(a.result.centroids, b.result.centroids, 15 * sizeof(double)) == 0, "results differ in their bits");
	CHECK(a.result.cost == b.result.cost && a.result.iterations == b.result.iterations, "statistics differ");
	options.replicates = 3;
	c = solve(&p, 5, FC_DECODE_AUTO, &options);
	CHECK(c.result.cost <= a.result.cost, "cost %g with replicates, %g without", c.result.cost, a.result.cost);
}

int
main(void)
{
	test_sincos();
	test_gradient();
	test_recovery();
	test_many_clusters();
	test_shift_from_box();
	test_many_dimensions();
	test_outlying_sample();
	test_sizes();
	test_single_point();
	test_hostile_moments();
	test_determinism();
	return unit_finish();
}

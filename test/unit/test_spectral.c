/* test_spectral.c - features chosen from rows: clusters that are rings, bars and blobs */
#include "kernels.h"
#include "rkhs/map.h"

#define N		1200
#define MOST	200

typedef struct choice
{
	size_t		landmark[MOST];
	fc_spectral s;
} choice;

static void
choose(const double *x, size_t k, choice *c)
{
	fc_arena	arena = unit_arena();

	c->s = (fc_spectral) {.landmark = c->landmark,.t = unit_alloc(fc_spectral_rank(k, MOST) * MOST, sizeof(double))};
	fc_spectral_choose(x, N, 2, k, MOST, 3, &arena, &c->s);
	CHECK(arena.held == 0, "arena");
}

/* y = t kappa(U, x), of length 1 where asked for. */
static void
features(const choice *c, const double *x, size_t row, double *y)
{
	const fc_spectral *s = &c->s;
	double		square = 0.0;

	for (size_t j = 0; j < s->rank; j++)
	{
		y[j] = 0.0;
		for (size_t i = 0; i < s->landmarks; i++)
			y[j] += s->t[j * s->landmarks + i] * kernel_of_rows(&s->kernel, x + s->landmark[i] * 2, x + row * 2, 2);
		square += y[j] * y[j];
	}
	for (size_t j = 0; j < s->rank && s->unit; j++)
		y[j] /= sqrt(square);
}

/* Rows of cluster r % k: circles about the origin, bars ten times as long as they are apart, or blobs. */
static double *
planted(size_t k, int shape)
{
	fc_rng		rng = fc_rng_start(5, (uint64_t) shape);
	double	   *x = unit_alloc(N * 2, sizeof(double));

	for (size_t r = 0; r < N; r++)
	{
		double		cluster = (double) (r % k);
		double		angle = TWO_PI * fc_rng_uniform(&rng);
		double		radius = 0.2 + cluster + 0.04 * fc_rng_normal(&rng);

		x[r * 2] = shape == 0 ? radius * cos(angle) : shape == 1 ? 10.0 * fc_rng_uniform(&rng) : 8.0 * cos(cluster) + fc_rng_normal(&rng);
		x[r * 2 + 1] = shape == 0 ? radius * sin(angle) : shape == 1 ? cluster + 0.08 * fc_rng_normal(&rng) : 8.0 * sin(cluster) + fc_rng_normal(&rng);
	}
	return x;
}

/* Features of a cluster share a direction, those of two do not. */
static void
test_shapes(size_t k, int shape)
{
	double	   *x = planted(k, shape);
	double		first[8][8];
	double		y[8];
	choice		c;

	choose(x, k, &c);
	CHECK(c.s.unit && c.s.rank == k && c.s.cost < FC_SPECTRAL_CLEAR, "shape %d: cost %g", shape, c.s.cost);
	for (size_t r = 0; r < k; r++)
		features(&c, x, r, first[r]);
	for (size_t r = k; r < N; r++)
	{
		features(&c, x, r, y);
		for (size_t j = 0; j < k; j++)
		{
			double		cosine = 0.0;

			for (size_t i = 0; i < k; i++)
				cosine += first[j][i] * y[i];
			CHECK(r % k == j ? cosine > 0.8 : cosine < 0.5, "shape %d, row %zu: cosine %g with cluster %zu", shape, r, cosine, j);
		}
	}
}

/* Blobs are left to plain features, and so is one cluster, and more than are tried. */
static void
test_plain(size_t k, size_t rank)
{
	double	   *x = planted(k, 2);
	choice		c;

	choose(x, k, &c);
	CHECK(!c.s.unit && isnan(c.s.cost), "k %zu is plain", k);
	CHECK(c.s.rank <= rank && c.s.rank >= 10 && c.s.rank <= c.s.landmarks, "rank %zu", c.s.rank);
	/* inner products of features approximate the kernel */
	for (size_t r = 0; r < N && k == 3; r += 97)
	{
		double		y[MOST];
		double		square = 0.0;

		features(&c, x, r, y);
		for (size_t j = 0; j < c.s.rank; j++)
			square += y[j] * y[j];
		CHECK(fabs(square - 1.0) < 0.05, "row %zu: %g", r, square);
	}
}

static void
test_degenerate(void)
{
	double	   *x = unit_alloc(N * 2, sizeof(double));
	choice		c;

	choose(x, 2, &c);
	CHECK(!c.s.unit && c.s.landmarks == 1 && c.s.rank == 1, "equal rows");
	x = planted(2, 0);
	choose(x, 2, &c);
}

int
main(void)
{
	test_shapes(2, 0);
	test_shapes(3, 0);
	test_shapes(3, 1);
	test_plain(1, 10);
	test_plain(3, 10);
	test_plain(FC_SPECTRAL_CLUSTERS + 1, 153);
	test_degenerate();
	return unit_finish();
}

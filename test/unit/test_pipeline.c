/*
 * test_pipeline.c - rows, spec, sketch, centroids and labels: the whole
 * pipeline without a server.
 *
 * Clusters planted 8 deviations or more apart are recovered: every centroid is
 * within 0.3 deviations per dimension of a planted one, and 99.5 % of the rows
 * have the label of their cluster.
 */
#include "base/sort.h"
#include "decode/decode.h"
#include "operator/bytes.h"
#include "operator/codebook.h"
#include "operators.h"
#include "sketch/reservoir.h"
#include "sketch/spec_of_sample.h"
#include "specs.h"

#define K			5
#define ROWS		6000
#define SEPARATION	8.0			/* distance between centers, in deviations */
#define MISS		0.3			/* maximum error of a centroid, in deviations per dimension */
#define AGREEMENT	0.995		/* minimum share of rows with the label of their cluster */

typedef struct planted_rows
{
	size_t		d;
	double		unit;			/* deviation of a cluster in a dimension */
	double	   *center;			/* K x d */
	double	   *x;				/* ROWS x d */
	int		   *cluster;		/* ROWS cluster numbers */
} planted_rows;

/*
 * Makes rows around centers that differ in the first `active` dimensions, all
 * of them in the first; the origin is far away.
 */
static planted_rows
plant_rows(size_t d, size_t active, double unit, uint64_t seed)
{
	fc_rng		rng = fc_rng_start(seed, 5);
	planted_rows p = {d, unit, unit_alloc(K * d, sizeof(double)), unit_alloc(ROWS * d, sizeof(double)), unit_alloc(ROWS, sizeof(int))};

	for (size_t j = 0; j < K; j++)
		for (size_t i = 0; i < d; i++)
			p.center[j * d + i] = unit * (100.0 + (i == 0 ? (double) j * SEPARATION : i < active && i % K == j ? SEPARATION : 0.0));
	for (size_t r = 0; r < ROWS; r++)
	{
		p.cluster[r] = (int) (r % K);
		for (size_t i = 0; i < d; i++)
			p.x[r * d + i] = p.center[(size_t) p.cluster[r] * d + i] + unit * fc_rng_normal(&rng);
	}
	return p;
}

/* ---- rows to a spec ---- */

typedef struct sample
{
	fc_reservoir reservoir;
	void	   *entries;
	double	   *values;
} sample;

/* Offers all rows to a reservoir in an order: row first + i step. */
static sample
sample_rows(const planted_rows *p, size_t first, size_t step)
{
	sample		s = {fc_reservoir_start(p->d), NULL, NULL};
	size_t		capacity = 2 * s.reservoir.capacity;

	s.reservoir.entries = s.entries = unit_alloc(capacity, sizeof(fc_reservoir_entry));
	s.reservoir.values = s.values = unit_alloc(capacity * p->d, sizeof(double));
	for (size_t i = 0; i < ROWS; i++)
	{
		const double *row = p->x + (first + i * step) % ROWS * p->d;
		uint64_t	hash = fc_reservoir_hash(&s.reservoir, row);

		if (fc_reservoir_is_full(&s.reservoir))
		{
			fc_reservoir_compact(&s.reservoir, unit_work());
			CHECK(s.reservoir.used <= s.reservoir.capacity, "compaction: %zu used", s.reservoir.used);
		}
		if (fc_reservoir_wants(&s.reservoir, hash))
			fc_reservoir_put(&s.reservoir, hash, 1, row);
	}
	return s;
}

/* Returns the spec of a sample, on the heap. */
static fc_spec *
choose_spec(const sample *s, const fc_spec_options *options)
{
	const fc_reservoir *from = &s->reservoir;
	fc_reservoir rows;
	fc_status	status;
	double	   *weight;
	fc_spec_fields fields;
	fc_spec    *spec;

	fc_reservoir_compacted(from, unit_work(), &rows);
	weight = unit_alloc(rows.used, sizeof(double));
	for (size_t i = 0; i < rows.used; i++)
		weight[i] = (double) rows.entries[i].count;
	status = fc_spec_choose(rows.values, weight, rows.used, rows.d, options, unit_work(), unit_work(), &fields);
	CHECK(status == FC_OK, "choice: %d", (int) status);
	spec = unit_alloc(fc_spec_fields_size(&fields), 1);
	status = fc_spec_build(&fields, spec);
	CHECK(status == FC_OK, "build: %d", (int) status);
	return spec;
}

/* ---- a spec to labels ---- */

static fc_sketch *
sketch_rows(const planted_rows *p, const fc_spec *spec)
{
	ready		made = make_ready(spec);
	fc_sketch  *sketch = new_sketch(spec, FC_SKETCH_UNPACKED, made.prepared.batch);

	for (size_t r = 0; r < ROWS; r++)
	{
		fc_row		row = {.doubles = p->x + r * p->d,.weight = FC_ONE_WEIGHT};
		fc_status	status = fc_sketch_add(&made.prepared, &row, VIEW(sketch));

		CHECK(status == FC_OK, "row %zu: %d", r, (int) status);
	}
	sketch = close_sketch(&made.prepared, sketch);
	return sketch;
}

/* Returns the decoded centroids (K x d) in the rows' units. */
static double *
decode_sketch(const fc_sketch *sketch, const fc_spec *with_sample, size_t d)
{
	const fc_spec *spec = fc_sketch_spec(sketch);
	fc_decode_options options = fc_decode_defaults();
	fc_problem_inputs fields = {.sample = with_sample};
	double	   *centroids = unit_alloc(K * d, sizeof(double));
	fc_decode_result result = {.centroids = unit_alloc(K * spec->reduced, sizeof(double)),
		.weights = unit_alloc(K, sizeof(double)),.spreads = unit_alloc(K, sizeof(double))};
	fc_problem	problem;
	fc_back_projection back;
	fc_status	status = FC_OK;

	fc_problem_make(VIEW(sketch), FC_DECODE_AUTO, &fields, unit_work(), &problem);
	CHECK(status == FC_OK, "problem: %d", (int) status);
	status = fc_decode(&problem, K, FC_DECODE_AUTO, &options, unit_work(), &result);
	CHECK(status == FC_OK, "decode: %d", (int) status);
	fc_back_project_prepare(VIEW(sketch), result.outliers, false, unit_work(), &back);
	for (size_t j = 0; status == FC_OK && j < K; j++)
		fc_back_project_centroid(&back, result.centroids + j * spec->reduced, centroids + j * d);
	CHECK(status == FC_OK, "lift: %d", (int) status);
	return centroids;
}

/*
 * Matches each centroid to the nearest planted center, which is within MISS.
 */
static void
match_centroids(const planted_rows *p, const double *centroids, int match[K])
{
	for (size_t j = 0; j < K; j++)
	{
		double		nearest = INFINITY;

		for (size_t t = 0; t < K; t++)
		{
			double		square = unit_square(centroids + j * p->d, p->center + t * p->d, p->d);

			if (square < nearest)
			{
				nearest = square;
				match[j] = (int) t;
			}
		}
		nearest = sqrt(nearest / (double) p->d) / p->unit;
		CHECK(nearest < MISS, "d %zu: centroid %zu is %g deviations per dimension away", p->d, j, nearest);
	}
}

/* Returns the share of rows with the label of their cluster. */
static double
label_rows(const planted_rows *p, const double *centroids, const int match[K])
{
	double		weights[K] = {1, 1, 1, 1, 1};
	fc_operator op;
	fc_scratch	scratch;
	double		max;
	size_t		agree = 0;

	view_codebook(FC_EUCLIDEAN, centroids, weights, K, p->d, unit_work(), &op, &max);
	CHECK(max > 0, "all centroids are equal");
	CHECK(op.offset != NULL && fc_operator_size(&op) <= fc_codebook_size(K, p->d), "the mean is not the offset, though the origin is far");
	scratch = unit_scratch(fc_operator_scratch(&op));
	for (size_t r = 0; r < ROWS; r++)
		agree += match[fc_operator_assign(&op, p->x + r * p->d, scratch)] == p->cluster[r];
	return (double) agree / ROWS;
}

/*
 * Centroids and labels agree with the planted clusters, and the spec is the
 * same to the bit for any order of the rows.
 */
static void
test_pipeline(size_t d, double unit, const fc_spec_options *options)
{
	planted_rows p = plant_rows(d, d < 20 ? d : 20, unit, d);
	sample		forwards = sample_rows(&p, 0, 1);
	sample		strided = sample_rows(&p, 17, 7);
	fc_spec    *spec = choose_spec(&forwards, options);
	fc_spec    *same = choose_spec(&strided, options);
	fc_sketch  *sketch = sketch_rows(&p, spec);
	double	   *centroids = decode_sketch(sketch, spec, d);
	int			match[K] = {0};
	double		agreement;

	CHECK(fc_spec_size(spec) == fc_spec_size(same) && memcmp(spec, same, fc_spec_size(spec)) == 0, "d %zu: the spec depends on the order of the rows", d);
	match_centroids(&p, centroids, match);
	agreement = label_rows(&p, centroids, match);
	CHECK(agreement > AGREEMENT, "d %zu: only %g of the labels are those of the clusters", d, agreement);
}

/* ---- the lift of covariances ---- */

/*
 * C = scale basis' sigma^2 R basis scale, entry by entry, and C is symmetric.
 */
static void
check_covariance(const fc_spec *spec, const double *reduced, const double *covariance)
{
	const double *scale = fc_spec_scale(spec);
	const float *basis = fc_spec_basis(spec);
	size_t		d = spec->dim;
	size_t		n = spec->reduced;

	for (size_t i = 0; i < d; i++)
		for (size_t j = 0; j < d; j++)
		{
			double		sum = 0;
			double		size = 0;

			for (size_t r = 0; r < n; r++)
				for (size_t s = 0; s < n; s++)
				{
					double		left = basis ? (double) basis[r * d + i] : r == i;
					double		right = basis ? (double) basis[s * d + j] : s == j;

					sum += left * reduced[r * n + s] * right;
					size += fabs(left * reduced[r * n + s] * right);
				}
			sum *= spec->sigma * spec->sigma * (scale ? scale[i] * scale[j] : 1.0);
			size *= spec->sigma * spec->sigma * (scale ? scale[i] * scale[j] : 1.0);
			CHECK(fabs(covariance[i * d + j] - sum) <= 1e-14 * (double) n * (double) n * size, "entry %zu, %zu is %g, not %g", i, j, covariance[i * d + j], sum);
			CHECK(covariance[i * d + j] == covariance[j * d + i], "entry %zu, %zu is not symmetric", i, j);
		}
}

/*
 * Rotates the axes of make_spec by one round of Jacobi rotations, to a basis
 * without zeros.
 */
static void
mix_basis(fc_spec *spec)
{
	float	   *basis = (float *) (uintptr_t) fc_spec_basis(spec);
	size_t		d = spec->dim;

	for (size_t i = 0; basis != NULL && i + 1 < d; i++)
		for (size_t r = 0; r < spec->reduced; r++)
		{
			float		a = basis[r * d + i];
			float		b = basis[r * d + i + 1];

			basis[r * d + i] = 0.8f * a - 0.6f * b;
			basis[r * d + i + 1] = 0.6f * a + 0.8f * b;
		}
}

/* Covariances of reduced coordinates are projected back exactly. */
static void
test_covariances(spec_wish wish)
{
	fc_spec    *spec = make_spec(wish);
	size_t		n = spec->reduced;
	double	   *reduced = unit_alloc(n * n, sizeof(double));
	double	   *covariance = unit_alloc((size_t) spec->dim * spec->dim, sizeof(double));
	fc_sketch  *sketch;
	fc_rng		rng = fc_rng_start(3, 3);
	fc_back_projection back;

	mix_basis(spec);
	fc_spec_seal(spec);
	sketch = new_sketch(spec, 0, 0);
	for (size_t r = 0; r < n; r++)
		for (size_t s = 0; s <= r; s++)
			reduced[r * n + s] = reduced[s * n + r] = fc_rng_normal(&rng);
	fc_back_project_prepare(VIEW(sketch), true, true, unit_work(), &back);
	fc_back_project_covariance(&back, reduced, covariance);
	check_covariance(spec, reduced, covariance);
}

/* ---- parts ---- */

/*
 * Initial centroids are projected by the basis; one of several sigmas is
 * decoded alone.
 */
static void
test_problem(void)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = 12,.reduced = 4,.frequencies = 30,.scales = 3,.law = FC_LAW_GAUSSIAN,.sigma = 2,.scaled = true});
	const double *sigmas = fc_spec_sigmas(spec);
	double	   *initial = unit_normals(2 * 12, 0.0, 5.0, 8);
	fc_sketch  *sketch = new_sketch(spec, 0, 0);
	fc_problem_inputs fields = {.sigma = sigmas[2],.initial = initial,.initial_count = 2};
	float	   *omega = unit_alloc(30 * 4, sizeof(float));
	fc_problem	problem;

	fc_problem_make(VIEW(sketch), FC_DECODE_AUTO, &fields, unit_work(), &problem);
	fc_frequencies(spec, NULL, omega);
	CHECK(problem.bandwidth == 3.0, "bandwidth %g", problem.bandwidth);
	for (size_t i = 0; i < 30 * 4; i++)
		CHECK(problem.omega[i] == (float) ((double) omega[i] * (sigmas[0] / sigmas[2])), "frequency %zu", i);
	for (size_t j = 0; j < 2; j++)
		for (size_t r = 0; r < 4; r++)
		{
			double		y = (initial[j * 12 + r] - fc_spec_center(spec)[r]) / fc_spec_scale(spec)[r] / spec->sigma;

			CHECK(fabs(problem.initial[j * 4 + r] - y) <= 1e-12 * (1 + fabs(y)), "initial %zu, %zu", j, r);
		}
	CHECK(fc_scale_of_sigma(spec, 1.5 * sigmas[0]) == spec->scales, "a sigma that the spec lacks is found");
}

/*
 * The parts of a spec build the same spec again; in other units, center and
 * scale change.
 */
static void
test_spec_fields(void)
{
	fc_spec    *spec = make_spec((spec_wish) {.dim = 5,.frequencies = 7,.law = FC_LAW_GAUSSIAN,.sigma = 2,.scaled = true,.scales = 2});
	fc_spec_fields fields = fc_spec_fields_of(spec);
	fc_spec    *again = unit_alloc(fc_spec_fields_size(&fields), 1);
	double		center[5] = {1, 2, 3, 4, 5};
	double		scale[5] = {2, 2, 2, 2, 2};
	double		huge[5] = {1e300, 1e300, 1e300, 1e300, 1e300};

	CHECK(fc_spec_build(&fields, again) == FC_OK && memcmp(spec, again, fc_spec_size(spec)) == 0, "the parts build another spec");
	fc_spec_fields_rescale(&fields, center, scale);
	for (size_t i = 0; i < 5; i++)
	{
		CHECK(fields.center[i] == 1.0 + (double) i + 2.0 * fc_spec_center(spec)[i], "center %zu", i);
		CHECK(fields.scale[i] == 2.0 * fc_spec_scale(spec)[i], "scale %zu", i);
	}
	fields.scale = huge;
	CHECK(fc_spec_build(&fields, again) == FC_EFORMAT, "a scale that does not fit sigma is accepted");
}

int
main(void)
{
	const double scales[2] = {1.0, 2.0};

	test_pipeline(2, 1.0, &(fc_spec_options) {.clusters = K,.sample_rows = 1000,.law = FC_LAW_ADAPTED_RADIUS_KMEANS});
	test_pipeline(8, 1e-6, &(fc_spec_options) {.clusters = K,.sample_rows = 500,.law = FC_LAW_ADAPTED_RADIUS_KMEANS,.seed = 3});
	test_pipeline(40, 1e3, &(fc_spec_options) {.clusters = K,.dimensions = 10,.law = FC_LAW_ADAPTED_RADIUS_KMEANS});
	test_pipeline(8, 1.0, &(fc_spec_options) {.clusters = K,.frequencies = 300,.scales = scales,.scale_count = 2,
		.law = FC_LAW_ADAPTED_RADIUS_KMEANS,.structure = FC_STRUCTURE_ON,.sample_rows = 1000});
	test_covariances((spec_wish) {.dim = 20,.reduced = 6,.frequencies = 4,.law = FC_LAW_GAUSSIAN,.sigma = 1.5,.scaled = true});
	test_covariances((spec_wish) {.dim = 7,.frequencies = 4,.law = FC_LAW_GAUSSIAN,.sigma = 0.25,.scaled = true});
	test_covariances((spec_wish) {.dim = 30,.reduced = 1,.frequencies = 4,.law = FC_LAW_GAUSSIAN,.sigma = 3});
	test_problem();
	test_spec_fields();
	return unit_finish();
}

/*
 * tuned.c - quality and CPU seconds of one part of the core on generated rows,
 * for bench/tuned.py.
 *
 *     tuned GROUP [SEED]
 *
 * GROUP: kmeans, number, decode, drift, density, labels, factors. SEED (1)
 * draws other starts or rows, which shows the random variation of a figure.
 * Prints a line "name value" for each figure: CPU seconds if the name begins
 * with cpu, otherwise a measure of quality, which bench/tuned.py explains.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "decode/decode.h"
#include "density/density.h"
#include "drift/changes.h"
#include "drift/test.h"
#include "factor/qkmeans.h"
#include "kmeans/choose.h"
#include "numerics/pruning.h"
#include "operator/contingency.h"
#include "sketch/spec_of_sample.h"

#include "families.h"
#include "program.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

static void
must(fc_status status)
{
	if (status != FC_OK)
	{
		fprintf(stderr, "tuned: status %d\n", (int) status);
		exit(1);
	}
}

static void *
take(size_t count, size_t size)
{
	void	   *memory = calloc(count, size);

	if (memory == NULL)
		abort();
	return memory;
}

/*
 * Makes n x d rows of groups of deviation 1, about `apart` from the origin;
 * group g has a share in proportion to 1 / (g + 2).
 */
static void
make_mixture(fc_rng *rng, size_t n, size_t d, size_t k, double apart, float *x, int32_t *label)
{
	double	   *center = take(k * d, sizeof(double));
	double		reach = log((double) (k + 2) / 2.0);

	for (size_t i = 0; i < k * d; i++)
		center[i] = apart / sqrt((double) d) * fc_rng_normal(rng);
	for (size_t r = 0; r < n; r++)
	{
		double		place = 2.0 * exp(reach * fc_rng_uniform(rng)) - 2.0;
		size_t		g = smaller((size_t) place, k - 1);

		for (size_t c = 0; c < d; c++)
			x[r * d + c] = (float) (center[g * d + c] + fc_rng_normal(rng));
		if (label != NULL)
			label[r] = (int32_t) g;
	}
	free(center);
}

/* ---- kmeans ---- */

typedef struct row_set
{
	const char *family;
	size_t		n;
	size_t		d;
	size_t		k;
} row_set;

/* Prints the geometric mean of the SSE, relative to a single centroid. */
static void
run_kmeans(uint64_t seed)
{
	static const row_set sets[] = {
		{"groups", 3000, 8, 60}, {"power", 3000, 4, 50}, {"finer", 3000, 3, 5},
		{"uniform", 3000, 2, 30}, {"overlap", 3000, 20, 25}, {"manifold", 2000, 16, 60},
		{"images", 1500, 64, 40}, {"overlap", 3000, 160, 60}, {"power", 4000, 10, 300},
		{"uniform", 6000, 6, 300}, {"manifold", 12000, 3, 600},
		{"finer", 2000, 6, 8}, {"uniform", 400, 4, 12}, {"manifold", 6000, 24, 400}
	};
	enum
	{
		REPEATS = 6
	};
	double		logs = 0.0;
	double		seconds = 0.0;

	for (size_t s = 0; s < REPEATS * COUNT(sets); s++)
	{
		row_set		set = sets[s % COUNT(sets)];
		fc_arena	arena = heap_arena();
		fc_rng		rng = fc_rng_start(7, s);
		float	   *x = take(set.n * set.d, sizeof(float));
		fc_rows		rows = {.x = x,.n = set.n,.d = set.d};
		fc_kmeans_options options = fc_kmeans_defaults();
		fc_kmeans_result result = {
			.centroids = take(set.k * set.d, sizeof(double)),.weights = take(set.k, sizeof(double))
		};
		double		spread = 0.0;
		double		start;

		(void) make_rows(set.family, &rng, set.n, set.d, set.k, x);
		centre(x, set.n, set.d);
		for (size_t i = 0; i < set.n * set.d; i++)
			spread += (double) x[i] * (double) x[i];
		options.seed = seed;
		start = cpu_seconds();
		fc_kmeans(&rows, set.k, NULL, &options, &arena, &result);
		seconds += cpu_seconds() - start;
		logs += log(result.sse / spread);
		free(x), free(result.centroids), free(result.weights);
	}
	printf("sse %.6g\ncpu %.3f\n", exp(logs / (double) (REPEATS * COUNT(sets))), seconds);
}

/* ---- the number of clusters ---- */

/*
 * Prints the share of planted mixtures whose number of clusters is found, the
 * share whose number is called clear, and the share of single clouds that are
 * split.
 */
static void
run_number(uint64_t seed)
{
	static const size_t dims[] = {2, 5, 20};
	static const size_t numbers[] = {3, 7, 15};
	enum
	{
		ROWS = 1500, REPEATS = 8, MAX_CODE = 24
	};
	double		found = 0.0;
	double		clear = 0.0;
	double		planted = 0.0;
	double		split = 0.0;
	double		flat = 0.0;
	double		start = cpu_seconds();

	for (size_t i = 0; i < COUNT(dims); i++)
		for (size_t s = 0; s < REPEATS * (COUNT(numbers) + 1); s++)
		{
			size_t		d = dims[i];
			size_t		which = s % (COUNT(numbers) + 1);	/* the last one is a single cloud */
			double		apart = d == 2 ? 9.0 + (double) numbers[which % COUNT(numbers)] : 7.0;
			fc_arena	arena = heap_arena();
			fc_rng		rng = fc_rng_start(100 * seed + s, i);
			float	   *x = take(ROWS * d, sizeof(float));
			fc_rows		rows = {.x = x,.n = ROWS,.d = d};
			fc_kmeans_options options = fc_kmeans_defaults();
			fc_choice  *choice = take(1, sizeof(fc_choice));

			if (which < COUNT(numbers))
				make_mixture(&rng, ROWS, d, numbers[which], apart, x, NULL);
			else if (s / (COUNT(numbers) + 1) % 2 == 0)
				make_uniform(&rng, ROWS, d, x);
			else
				make_mixture(&rng, ROWS, d, 1, 0.0, x, NULL);
			centre(x, ROWS, d);
			options.seed = seed;
			fc_choose_k(&rows, false, MAX_CODE, 0.0, NULL, &options, &arena, choice);
			if (which < COUNT(numbers))
			{
				planted++;
				found += choice->tried[choice->chosen].k == numbers[which];
				clear += choice->verdict == FC_K_CLEAR;
			}
			else
			{
				flat++;
				split += choice->tried[choice->chosen].k > 1 && choice->verdict != FC_K_UNCLEAR;
			}
			free(x), free(choice);
		}
	printf("found %.4f\nclear %.4f\nsplit %.4f\n", found / planted, clear / planted, split / flat);
	printf("cpu %.3f\n", cpu_seconds() - start);
}

/* ---- decode ---- */

typedef struct sketch_set
{
	const char *family;			/* NULL: a mixture of normal laws */
	size_t		d;
	size_t		k;
	double		apart;			/* mixture: distance of the groups from the origin */
	size_t		sample_rows;
	bool		bare;			/* true: no sample centroids to start from */
} sketch_set;

/* Returns the spec of a sample of the rows, chosen as sketch_spec_agg does. */
static fc_spec *
choose_spec(const double *x, size_t rows, const sketch_set *set, uint64_t seed, fc_arena *arena)
{
	fc_spec_options options = {
		.clusters = set->k,.sample_rows = set->sample_rows,
		.law = FC_LAW_ADAPTED_RADIUS_KMEANS,.seed = seed
	};
	double	   *ones = take(rows, sizeof(double));
	fc_arena	work = heap_arena();
	fc_spec_fields fields;
	fc_spec    *spec;

	for (size_t i = 0; i < rows; i++)
		ones[i] = 1.0;
	must(fc_spec_choose(x, ones, rows, set->d, &options, &work, arena, &fields));
	if (set->bare)
		fields.sample_centroid_count = 0;
	spec = take(fc_spec_fields_size(&fields), 1);
	must(fc_spec_build(&fields, spec));
	fc_arena_release(&work, (fc_mark) {0});
	free(ones);
	return spec;
}

/* Returns a closed sketch of n rows, whose head is allocated on the heap. */
static fc_sketch_view
sketch_rows(const fc_prepared *prepared, const float *x, size_t n, size_t d)
{
	fc_sketch  *bytes = take(fc_sketch_size(prepared->spec, FC_SKETCH_UNPACKED, prepared->batch), 1);
	fc_sketch  *closed = take(fc_sketch_size(prepared->spec, 0, 0), 1);
	fc_sketch_view open;

	fc_sketch_init(prepared->spec, FC_SKETCH_UNPACKED, prepared->batch, bytes);
	open = fc_sketch_view_of(bytes);
	for (size_t r = 0; r < n; r++)
	{
		fc_row		row = {.floats = x + r * d,.weight = FC_ONE_WEIGHT};

		must(fc_sketch_add(prepared, &row, &open));
	}
	must(fc_sketch_fold(prepared, &open));
	must(fc_sketch_convert(&open, 0, 0, closed));
	free(bytes);
	return fc_sketch_view_of(closed);
}

/* Decodes centroids (k x d) from the sketch; returns the relative residual. */
static double
decode_rows(const fc_sketch_view *sketch, const fc_spec *spec, const sketch_set *set, uint64_t seed,
			fc_arena *arena, double *centroids)
{
	fc_problem_inputs fields = {.sample = set->sample_rows > 0 ? spec : NULL};
	fc_decode_options options = fc_decode_defaults();
	fc_back_projection back;
	fc_problem	problem;
	fc_decode_result result = {
		.centroids = take(set->k * set->d, sizeof(double)),.weights = take(set->k, sizeof(double)),
		.spreads = take(set->k, sizeof(double))
	};

	options.seed = seed;
	fc_problem_make(sketch, FC_DECODE_AUTO, &fields, arena, &problem);
	must(fc_decode(&problem, set->k, FC_DECODE_AUTO, &options, arena, &result));
	fc_back_project_prepare(sketch, result.outliers, false, arena, &back);
	for (size_t j = 0; j < set->k; j++)
		fc_back_project_centroid(&back, result.centroids + j * problem.n, centroids + j * set->d);
	free(result.centroids), free(result.weights), free(result.spreads);
	return result.relative_residual;
}

/*
 * Returns the SSE of the rows after `steps` Lloyd steps that start at
 * `initial`; NULL: of k-means with its own starts.
 */
static double
sse_from(const fc_rows *rows, size_t k, const double *initial, int steps)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_arena	arena = heap_arena();
	fc_kmeans_result result = {
		.centroids = take(k * rows->d, sizeof(double)),.weights = take(k, sizeof(double))
	};

	options.iterations = steps;
	if (initial != NULL)
		options.n_init = options.rounds = 0;
	fc_kmeans(rows, k, initial, &options, &arena, &result);
	free(result.centroids), free(result.weights);
	return result.sse;
}

/*
 * Prints the geometric means of the relative residual, and of the SSE of
 * decoded centroids relative to that of k-means.
 */
static void
run_decode(uint64_t seed)
{
	static const sketch_set sets[] = {
		{NULL, 3, 6, 5.0, 400, false}, {NULL, 3, 8, 9.0, 0, true}, {NULL, 8, 12, 7.0, 400, false},
		{NULL, 8, 6, 4.0, 0, true}, {NULL, 16, 10, 8.0, 0, true}, {NULL, 40, 8, 6.0, 400, false},
		{NULL, 2, 20, 12.0, 400, true}, {"manifold", 5, 12, 0.0, 400, false},
		{"manifold", 4, 8, 0.0, 0, true}, {"uniform", 2, 9, 0.0, 0, false},
		{"overlap", 6, 10, 0.0, 0, true}
	};
	enum
	{
		ROWS = 5000, SAMPLE = 1000, REPEATS = 6
	};
	double		logs[2] = {0.0, 0.0};
	double		seconds[2] = {0.0, 0.0};

	for (size_t s = 0; s < REPEATS * COUNT(sets); s++)
	{
		const sketch_set *set = &sets[s % COUNT(sets)];
		size_t		d = set->d;
		fc_rng		rng = fc_rng_start(11, s);
		fc_arena	arena = heap_arena();
		float	   *x = take(ROWS * d, sizeof(float));
		double	   *sample = take(SAMPLE * d, sizeof(double));
		double	   *centroids = take(set->k * d, sizeof(double));
		fc_rows		rows = {.x = x,.n = ROWS,.d = d};
		fc_prepared prepared;
		fc_spec    *spec;
		fc_sketch_view sketch;
		double		start;

		if (set->family == NULL)
			make_mixture(&rng, ROWS, d, set->k, set->apart, x, NULL);
		else
			(void) make_rows(set->family, &rng, ROWS, d, set->k, x);
		centre(x, ROWS, d);
		for (size_t i = 0; i < SAMPLE * d; i++)
			sample[i] = (double) x[i];
		start = cpu_seconds();
		spec = choose_spec(sample, SAMPLE, set, seed, &arena);
		fc_spec_prepare(spec, &arena, &prepared);
		sketch = sketch_rows(&prepared, x, ROWS, d);
		seconds[0] += cpu_seconds() - start;
		start = cpu_seconds();
		logs[0] += log(decode_rows(&sketch, spec, set, seed, &arena, centroids));
		seconds[1] += cpu_seconds() - start;
		logs[1] += log(sse_from(&rows, set->k, centroids, 0) / sse_from(&rows, set->k, NULL, 100));
		fc_arena_release(&arena, (fc_mark) {0});
		free(x), free(sample), free(centroids), free(spec), free(sketch.head);
	}
	printf("residual %.6g\n", exp(logs[0] / (double) (REPEATS * COUNT(sets))));
	printf("sse %.6g\n", exp(logs[1] / (double) (REPEATS * COUNT(sets))));
	printf("cpu_sketch %.3f\ncpu %.3f\n", seconds[0], seconds[1]);
}

/* ---- drift ---- */

enum
{
	DRIFT_COLUMNS = 12
};

/*
 * Makes rows of a mixture with heavy tails and a column with few values.
 * follows: correlation of columns 8 and 10.
 */
static void
make_drift_rows(fc_rng *rng, size_t n, double shift, double all, double follows, float *x)
{
	for (size_t r = 0; r < n; r++)
	{
		float	   *row = x + r * DRIFT_COLUMNS;
		double		center = 3.0 * (double) fc_rng_below(rng, 3);

		for (size_t j = 0; j < DRIFT_COLUMNS; j++)
		{
			double		normal = fc_rng_normal(rng);

			row[j] = (float) (j % 4 == 3 ? exp(1.5 * normal)
							  : (double) (j % 2) * center + normal + all);
		}
		row[0] += (float) shift;
		row[4] = (float) fc_rng_below(rng, 3);
		row[10] = (float) (follows * (double) row[8] +
						   sqrt(1.0 - follows * follows) * fc_rng_normal(rng));
	}
}

/* Data that a training stores for the drift test. */
typedef struct drift_model
{
	fc_arena	arena;
	fc_drift_spec *spec;
	fc_drift_prepared prepared;
	fc_spec    *waves;
	fc_prepared sketching;
	fc_wave_null null;
	fc_drift_counts *counts;
	fc_sketch_view sketch;
} drift_model;

static fc_drift_counts *
count_rows(const drift_model *m, const float *x, size_t n)
{
	fc_drift_counts *open = take(fc_drift_size_of_spec(m->spec, FC_DRIFT_UNPACKED), 1);
	fc_drift_counts *closed;

	fc_drift_counts_init(m->spec, FC_DRIFT_UNPACKED, open);
	for (size_t r = 0; r < n; r++)
		(void) fc_drift_count_row(&m->prepared, NULL, x + r * m->spec->dim, 1, open);
	fc_drift_fold(open);
	closed = take(fc_drift_counts_size(open, 0), 1);
	(void) fc_drift_convert(open, 0, closed);
	free(open);
	return closed;
}

static drift_model
make_drift_model(const float *x, size_t n, uint64_t seed)
{
	fc_weighted_rows sample = {.values = x,.n = n,.d = DRIFT_COLUMNS};
	drift_model m = {.arena = heap_arena()};
	double	   *center = take(2 * DRIFT_COLUMNS, sizeof(double));
	double		sigmas[FC_WAVE_SCALES];
	fc_spec_fields fields;

	m.spec = take(fc_drift_spec_bound(&sample), 1);
	fc_drift_choose(&sample, seed, &m.arena, m.spec);
	fc_drift_prepare(m.spec, &m.arena, &m.prepared);
	fc_wave_spec(&sample, false, seed, &m.arena, center, center + DRIFT_COLUMNS, sigmas, &fields);
	m.waves = take(fc_spec_fields_size(&fields), 1);
	must(fc_spec_build(&fields, m.waves));
	fc_spec_prepare(m.waves, &m.arena, &m.sketching);
	must(fc_wave_null_moments(&sample, 512, &m.sketching, &m.arena, &m.null));
	m.counts = count_rows(&m, x, n);
	m.sketch = sketch_rows(&m.sketching, x, n, DRIFT_COLUMNS);
	free(center);
	return m;
}

static void
free_drift_model(drift_model *m)
{
	fc_arena_release(&m->arena, (fc_mark) {0});
	free(m->spec), free(m->waves), free(m->counts), free(m->sketch.head);
}

/* Returns the p-value of n rows against the model. */
static double
p_of_rows(drift_model *m, const float *x, size_t n)
{
	fc_mark		mark = fc_arena_mark(&m->arena);
	fc_sketch_view sketch = sketch_rows(&m->sketching, x, n, DRIFT_COLUMNS);
	fc_drift_sides sides = {
		.spec = m->spec,
		.counts = {m->counts, count_rows(m, x, n)},
		.sketch = {&m->sketch, &sketch},
		.null = &m->null
	};
	fc_drift_result result;

	fc_drift_test_sides(&sides, 0.01, 0.1, &m->arena, &result);
	fc_arena_release(&m->arena, mark);
	free((void *) sides.counts[1]), free(sketch.head);
	return result.p_value;
}

/*
 * Prints the shares of p-values below 1 and 5 % without a change, and below
 * 1 % with each of three changes.
 */
static void
run_tests(uint64_t seed)
{
	enum
	{
		MODELS = 20, TRIALS = 20, TRAINED = 2000, ROWS = 1000
	};
	static const double changes[][3] = {
		{0.0, 0.0, 0.0}, {0.17, 0.0, 0.0}, {0.0, 0.12, 0.0}, {0.0, 0.0, 0.25}
	};
	double		below[COUNT(changes)][2] = {{0.0}};
	float	   *x = take(TRAINED * DRIFT_COLUMNS, sizeof(float));

	for (size_t i = 0; i < MODELS; i++)
	{
		fc_rng		rng = fc_rng_start(1000 * seed + i, 3);
		drift_model m;

		make_drift_rows(&rng, TRAINED, 0.0, 0.0, 0.0, x);
		m = make_drift_model(x, TRAINED, seed + i);
		for (size_t t = 0; t < TRIALS * COUNT(changes); t++)
		{
			size_t		c = t % COUNT(changes);
			double		p;

			make_drift_rows(&rng, ROWS, changes[c][0], changes[c][1], changes[c][2], x);
			p = p_of_rows(&m, x, ROWS);
			below[c][0] += (p < 0.01) / (double) (MODELS * TRIALS);
			below[c][1] += (p < 0.05) / (double) (MODELS * TRIALS);
		}
		free_drift_model(&m);
	}
	free(x);
	printf("false_1 %.4f\nfalse_5 %.4f\n", below[0][0], below[0][1]);
	printf("power %.4f\n", (below[1][0] + below[2][0] + below[3][0]) / 3.0);
}

/*
 * Prints the alarms in a year of days without a change, the share of changes
 * found within ten days, and their delay.
 */
static void
run_changes(uint64_t seed)
{
	enum
	{
		SERIES = 24, DAYS = 100, CHANGE = 60, ROWS = 200, WITHIN = 10
	};
	float	   *x = take(2000 * DRIFT_COLUMNS, sizeof(float));
	fc_rng		rng = fc_rng_start(seed, 4);
	drift_model m;
	fc_sketch_view days[DAYS];
	fc_change	changes[DAYS];
	double		alarms = 0.0;
	double		found = 0.0;
	double		delay = 0.0;

	make_drift_rows(&rng, 2000, 0.0, 0.0, 0.0, x);
	m = make_drift_model(x, 2000, seed);
	for (size_t s = 0; s < SERIES; s++)
	{
		bool		changed = s % 2 == 1;
		double		waited = WITHIN;
		size_t		count;

		for (size_t t = 0; t < DAYS; t++)
		{
			make_drift_rows(&rng, ROWS, changed && t >= CHANGE ? 0.25 : 0.0, 0.0, 0.0, x);
			days[t] = sketch_rows(&m.sketching, x, ROWS, DRIFT_COLUMNS);
		}
		fc_find_changes(days, DAYS, &m.arena, changes, &count);
		for (size_t i = 0; i < count; i++)
			if (changed && changes[i].found >= CHANGE && changes[i].found < CHANGE + WITHIN)
				waited = fmin(waited, (double) (changes[i].found - CHANGE));
			else
				alarms += changed ? 0.0 : 365.0 / (double) (DAYS * (SERIES / 2));
		found += changed ? (waited < WITHIN) / (double) (SERIES / 2) : 0.0;
		delay += changed ? waited / (double) (SERIES / 2) : 0.0;
		for (size_t t = 0; t < DAYS; t++)
			free(days[t].head);
	}
	free_drift_model(&m);
	free(x);
	printf("alarms %.4f\nchanges %.4f\ndelay %.4f\n", alarms, found, delay);
}

/* Runs both drift benchmarks and prints their CPU seconds. */
static void
run_drift(uint64_t seed)
{
	double		start = cpu_seconds();

	run_tests(seed);
	run_changes(seed);
	printf("cpu %.3f\n", cpu_seconds() - start);
}

/* ---- density ---- */

/*
 * Draws a row of a shape in the plane or in space; returns its planted label.
 */
static int32_t
draw_shape(size_t shape, size_t d, fc_rng *rng, float *x)
{
	static const double spot[5][3] = {{0, 0, 0}, {9, 0, 2}, {4, 8, -7}, {-7, 6, 5}, {-3, -8, -2}};
	size_t		g = fc_rng_below(rng, 5);
	double		t = fc_rng_uniform(rng);
	double		angle;

	switch (shape)
	{
		case 0:					/* two interlocking arcs */
			g %= 2;
			angle = M_PI * t;
			x[0] = (float) (g == 0 ? cos(angle) : 1.0 - cos(angle));
			x[1] = (float) (g == 0 ? sin(angle) : 0.5 - sin(angle));
			for (size_t c = 0; c < d; c++)
				x[c] += (float) (0.1 * fc_rng_normal(rng));
			break;
		case 1:					/* three spirals */
			g %= 3;
			t = 3.0 * M_PI * sqrt(0.04 + 0.96 * t);
			angle = t + (double) g * 2.0 * M_PI / 3.0;
			x[0] = (float) (t * cos(angle) + 0.35 * fc_rng_normal(rng));
			x[1] = (float) (t * sin(angle) + 0.35 * fc_rng_normal(rng));
			break;
		case 2:					/* five groups of different density */
			for (size_t c = 0; c < d; c++)
			{
				double		center = c < 3 ? spot[g][c] : 0.0;

				x[c] = (float) (center + (0.4 + 0.4 * (double) g) * fc_rng_normal(rng));
			}
			break;
		case 3:					/* a single uniform law */
			g = 0;
			for (size_t c = 0; c < d; c++)
				x[c] = (float) fc_rng_uniform(rng);
			break;
		default:				/* a single normal law */
			g = 0;
			for (size_t c = 0; c < d; c++)
				x[c] = (float) fc_rng_normal(rng);
	}
	return (int32_t) g;
}

/*
 * Makes rows of a shape and their labels; a share of the rows is noise,
 * uniform over a box around the shape.
 */
static void
make_shape(size_t shape, size_t n, size_t d, double noise, fc_rng *rng, float *x, int32_t *label)
{
	double		reach = shape == 0 ? 2.0 : shape == 1 ? 12.0 : 14.0;

	for (size_t r = 0; r < n; r++)
	{
		label[r] = draw_shape(shape, d, rng, x + r * d);
		if (fc_rng_uniform(rng) >= noise)
			continue;
		label[r] = -1;
		for (size_t c = 0; c < d; c++)
			x[r * d + c] = (float) (reach * (2.0 * fc_rng_uniform(rng) - 1.0));
	}
}

/*
 * Makes micro-clusters of the rows by k-means with m centroids, and the number
 * of each row's micro-cluster.
 */
static fc_micro_clusters
make_micro_clusters(const fc_rows *rows, size_t m, uint64_t seed, int32_t *label)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_arena	arena = heap_arena();
	fc_kmeans_result result = {
		.centroids = take(m * rows->d, sizeof(double)),.weights = take(m, sizeof(double)),
		.labels = label
	};
	double	   *square = take(m, sizeof(double));
	size_t	   *place = take(m, sizeof(size_t));
	size_t		d = rows->d;
	size_t		used = 0;

	options.n_init = 1;
	options.rounds = 0;
	options.iterations = 10;
	options.seed = seed;
	fc_kmeans(rows, m, NULL, &options, &arena, &result);
	for (size_t a = 0; a < m; a++)
		if (result.weights[a] > 0.0)
		{
			place[a] = used;
			result.weights[used] = result.weights[a];
			memmove(result.centroids + used++ * d, result.centroids + a * d, d * sizeof(double));
		}
	for (size_t r = 0; r < rows->n; r++)
	{
		label[r] = (int32_t) place[label[r]];
		for (size_t c = 0; c < d; c++)
		{
			double		centroid = result.centroids[(size_t) label[r] * d + c];
			double		gap = (double) rows->x[r * d + c] - centroid;

			square[label[r]] += gap * gap / result.weights[label[r]];
		}
	}
	free(place);
	return (fc_micro_clusters) {
		.m = used,.d = d,.n = result.weights,.mean = result.centroids,.square = square
	};
}

/*
 * Returns the adjusted Rand index of two labellings of n rows with fewer than
 * 2^8 labels, including -1.
 */
static double
rand_index(const int32_t *a, const int32_t *b, size_t n)
{
	enum
	{
		CELLS = 1 << 14
	};
	fc_arena	arena = heap_arena();
	fc_contingency *table = take(fc_contingency_size(CELLS), 1);
	fc_cell    *cells = take(CELLS, sizeof(fc_cell));
	double		score;

	fc_contingency_init(CELLS, table);
	for (size_t r = 0; r < n; r++)
		(void) fc_contingency_add(table, a[r], b[r], 1);
	fc_contingency_list(table, &arena, cells);
	(void) fc_adjusted_rand(cells, table->used, &arena, &score);
	fc_arena_release(&arena, (fc_mark) {0});
	free(table), free(cells);
	return score;
}

/*
 * Prints the mean adjusted Rand index, with noise as a label, and the share of
 * single clouds that are split.
 */
static void
run_density(uint64_t seed)
{
	static const struct
	{
		size_t		shape;
		size_t		d;
		double		noise;
	}			sets[] = {
		{0, 2, 0.0}, {0, 2, 0.1}, {1, 2, 0.0}, {1, 2, 0.1}, {2, 2, 0.1}, {2, 3, 0.1}, {2, 3, 0.3},
		{2, 8, 0.1}, {0, 3, 0.0}, {3, 1, 0.0}, {3, 2, 0.0}, {3, 3, 0.0}, {4, 2, 0.0}, {4, 5, 0.0}
	};
	enum
	{
		ROWS = 10000, MICRO_CLUSTERS = 1000, REPEATS = 3
	};
	int32_t    *planted = take(ROWS, sizeof(int32_t));
	int32_t    *label = take(ROWS, sizeof(int32_t));
	float	   *x = take(ROWS * 8, sizeof(float));
	double		index = 0.0;
	double		shapes = 0.0;
	double		split = 0.0;
	double		flat = 0.0;
	double		seconds = 0.0;

	for (size_t s = 0; s < REPEATS * COUNT(sets); s++)
	{
		size_t		set = s % COUNT(sets);
		fc_rng		rng = fc_rng_start(100 * seed + s, 8);
		fc_rows		rows = {.x = x,.n = ROWS,.d = sets[set].d};
		fc_density_options options = {.min_rows = 0.01 * ROWS,.noise = 0.5};
		fc_arena	arena = heap_arena();
		fc_micro_clusters	b;
		fc_density	found;
		double		start;

		make_shape(sets[set].shape, ROWS, rows.d, sets[set].noise, &rng, x, planted);
		b = make_micro_clusters(&rows, MICRO_CLUSTERS, seed, label);
		start = cpu_seconds();
		fc_density_clusters(&b, &options, &arena, &found);
		seconds += cpu_seconds() - start;
		for (size_t r = 0; r < ROWS; r++)
			label[r] = found.label[label[r]];
		if (sets[set].shape < 3)
		{
			shapes++;
			index += rand_index(planted, label, ROWS);
		}
		else
		{
			flat++;
			split += found.k > 1;
		}
		fc_arena_release(&arena, (fc_mark) {0});
		free((void *) b.n), free((void *) b.mean), free((void *) b.square);
	}
	free(planted), free(label), free(x);
	printf("index %.4f\nsplit %.4f\ncpu %.3f\n", index / shapes, split / flat, seconds);
}

/* ---- labels ---- */

typedef struct codebook
{
	fc_operator op;
	float	   *values;
	float	   *half_norms;
	double	   *weights;
} codebook;

/*
 * Makes a codebook of the given values (k x d), which it keeps, with weights
 * of 1.
 */
static codebook
make_codebook(size_t k, size_t d, float *values)
{
	codebook	c = {
		.values = values,.half_norms = take(k, sizeof(float)),.weights = take(k, sizeof(double))
	};
	fc_scratch	scratch;

	for (size_t j = 0; j < k; j++)
		c.weights[j] = 1.0;
	c.op = (fc_operator) {
		.k = k,.d = d,.weights = c.weights,.half_norms = c.half_norms,.factors = 1
	};
	c.op.factor[0] = (fc_factor) {.rows = k,.columns = d,.nonzeros = k * d,.values = c.values};
	scratch.count = fc_operator_scratch(&c.op);
	scratch.floats = take(scratch.count, sizeof(float));
	fc_operator_measure(&c.op, scratch, c.half_norms);
	free(scratch.floats);
	return c;
}

/*
 * Returns the CPU seconds to label n rows in batches or one by one, the
 * minimum of three rounds.
 */
static double
time_labels(const fc_operator *op, const double *x, size_t n, size_t batch, int32_t *labels)
{
	fc_scratch	scratch = {.count = fc_operator_batch_scratch(op, batch)};
	double		min = INFINITY;

	scratch.count = larger(scratch.count, fc_operator_scratch(op));
	scratch.floats = take(scratch.count, sizeof(float));
	for (int round = 0; round < 3; round++)
	{
		double		start = cpu_seconds();

		for (size_t r = 0; r < n; r += batch)
			if (batch == 1)
				labels[r] = (int32_t) fc_operator_assign(op, x + r * op->d, scratch);
			else
				fc_operator_assign_batch(op, x + r * op->d, smaller(batch, n - r), scratch,
										 labels + r);
		min = fmin(min, cpu_seconds() - start);
	}
	free(scratch.floats);
	return min;
}

/*
 * Makes rows of a mixture in double, and a codebook of k further rows with
 * noise of a tenth.
 */
static codebook
make_label_set(size_t k, size_t d, size_t n, double apart, uint64_t seed, double *x)
{
	fc_rng		rng = fc_rng_start(seed, k + d);
	float	   *rows = take((n + k) * d, sizeof(float));
	float	   *values = take(k * d, sizeof(float));

	make_mixture(&rng, n + k, d, k / 4, apart, rows, NULL);
	for (size_t i = 0; i < n * d; i++)
		x[i] = (double) rows[i];
	for (size_t i = 0; i < k * d; i++)
		values[i] = rows[n * d + i] + (float) (0.1 * fc_rng_normal(&rng));
	free(rows);
	return make_codebook(k, d, values);
}

/* Returns the seconds to label rows with a codebook as two sparse factors. */
static double
time_product(uint64_t seed)
{
	enum
	{
		ROWS = 200000, K = 512, D = 64
	};
	double	   *x = take((size_t) ROWS * D, sizeof(double));
	int32_t    *labels = take(ROWS, sizeof(int32_t));
	codebook	c = make_label_set(K, D, ROWS, 12.0, seed, x);
	fc_factorize_options options = fc_factorize_defaults();
	fc_arena	arena = heap_arena();
	fc_operator op = {0};
	fc_factorization from;
	double		seconds;

	options.method = FC_METHOD_PALM4MSA;
	options.palm.sweeps = 10;
	fc_factorize(&c.op, &options, &arena, &op, &from);
	fc_operator_slice(&op, &arena);
	seconds = time_labels(&op, x, ROWS, FC_PRUNING_ROWS, labels);
	fc_arena_release(&arena, (fc_mark) {0});
	free(x), free(labels), free(c.values), free(c.half_norms), free(c.weights);
	return seconds;
}

/*
 * Prints the geometric mean of the seconds to label rows: with pruning bounds
 * in many dimensions, with a tree or packs in few, and with two sparse
 * factors. For the bounds, also prints the share of rows left to a matrix
 * product, and the distances measured per row.
 */
static void
run_labels(uint64_t seed)
{
	static const row_set sets[] = {
		{"far", 30000, 128, 1024}, {"near", 30000, 96, 512}, {"least", 60000, 64, 256},
		{"thin", 40000, 40, 512}, {"few", 60000, 80, 160}, {"boxes", 50000, 6, 16384},
		{"packs", 30000, 6, 6000}
	};
	double		given_up = 0.0;
	double		measured = 0.0;
	double		logs = 0.0;
	double		sum = 0.0;		/* checksum of the labels */

	for (size_t s = 0; s < COUNT(sets); s++)
	{
		const row_set *set = &sets[s];
		double	   *x = take(set->n * set->d, sizeof(double));
		int32_t    *labels = take(set->n, sizeof(int32_t));
		codebook	c = make_label_set(set->k, set->d, set->n, s == 0 ? 40.0 : 6.0, seed, x);
		fc_arena	arena = heap_arena();
		double		start = cpu_seconds();
		double		seconds;

		if (fc_operator_prune_worksize(&c.op) > 0)
			fc_operator_prune(&c.op, &arena);
		seconds = cpu_seconds() - start + time_labels(&c.op, x, set->n, FC_PRUNING_ROWS, labels);
		logs += log(seconds);
		if (c.op.pruning != NULL)
		{
			int			path = FC_PRUNING_WHOLE;

			if (!(c.op.pruning->record[path].measured > 0.0))
				path = FC_PRUNING_LEADING;
			given_up += c.op.pruning->record[path].given_up;
			measured += c.op.pruning->record[path].measured;
		}
		for (size_t r = 0; r < set->n; r++)
			sum = fmod(3.0 * sum + labels[r], 999983.0);
		fc_arena_release(&arena, (fc_mark) {0});
		free(x), free(labels), free(c.values), free(c.half_norms), free(c.weights);
	}
	logs += log(time_product(seed));
	printf("cpu %.5f\n", exp(logs / (double) (COUNT(sets) + 1)));
	printf("given_up %.4f\nmeasured %.2f\nlabels %.0f\n", given_up, measured, sum);
}

/* ---- factors ---- */

/* Rows in memory for QK-means. */
typedef struct table
{
	size_t		n;
	size_t		d;
	double	   *x;
	double	   *distance;		/* n */
	int32_t    *label;			/* n */
} table;

static double
label_table(table *t, const fc_operator *op)
{
	fc_scratch	scratch = {
		.count = larger(fc_operator_batch_scratch(op, t->n), fc_operator_scratch(op))
	};
	double		sse = 0.0;

	scratch.floats = take(scratch.count, sizeof(float));
	fc_operator_assign_batch(op, t->x, t->n, scratch, t->label);
	for (size_t r = 0; r < t->n; r++)
		sse += t->distance[r] =
			fc_operator_distance(op, (size_t) t->label[r], t->x + r * t->d, scratch);
	free(scratch.floats);
	return sse;
}

static void
scan_table(void *context, const fc_operator *op, double *sse, double *weights, double *means)
{
	table	   *t = context;

	*sse = label_table(t, op);
	memset(weights, 0, op->k * sizeof(double));
	memset(means, 0, op->k * op->d * sizeof(double));
	for (size_t r = 0; r < t->n; r++)
	{
		weights[t->label[r]]++;
		for (size_t i = 0; i < t->d; i++)
			means[(size_t) t->label[r] * t->d + i] += t->x[r * t->d + i];
	}
	for (size_t j = 0; j < op->k; j++)
		for (size_t i = 0; i < t->d && weights[j] > 0.0; i++)
			means[j * t->d + i] /= weights[j];
}

static void
farthest_of_table(void *context, const fc_operator *op, size_t count, double *rows, size_t *found)
{
	table	   *t = context;

	(void) label_table(t, op);
	for (*found = 0; *found < count && *found < t->n; ++*found)
	{
		size_t		max = 0;

		for (size_t r = 1; r < t->n; r++)
			max = t->distance[r] > t->distance[max] ? r : max;
		memcpy(rows + *found * t->d, t->x + max * t->d, t->d * sizeof(double));
		t->distance[max] = -1.0;
	}
}

/*
 * Result of a factorisation: the logarithm of its values relative to k d, the
 * logarithm of its SSE relative to the dense one (or the agreement), CPU
 * seconds.
 */
typedef struct product
{
	double		values;
	double		error;
	double		seconds;
} product;

/* Makes rows of a family and k centroids. */
static table
make_table(const row_set *set, uint64_t seed, double **centroids)
{
	fc_rng		rng = fc_rng_start(seed, set->d);
	float	   *x = take(set->n * set->d, sizeof(float));
	table		t = {
		.n = set->n,.d = set->d,.x = take(set->n * set->d, sizeof(double)),
		.distance = take(set->n, sizeof(double)),.label = take(set->n, sizeof(int32_t))
	};
	fc_rows		rows = {.x = x,.n = set->n,.d = set->d};
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_arena	arena = heap_arena();
	fc_kmeans_result result = {.weights = take(set->k, sizeof(double))};

	*centroids = result.centroids = take(set->k * set->d, sizeof(double));
	(void) make_rows(set->family, &rng, set->n, set->d, set->k, x);
	centre(x, set->n, set->d);
	options.n_init = 1;
	options.rounds = 0;
	fc_kmeans(&rows, set->k, NULL, &options, &arena, &result);
	for (size_t i = 0; i < set->n * set->d; i++)
		t.x[i] = (double) x[i];
	free(x), free(result.weights);
	return t;
}

static product
train_factors(table *t, const double *centroids, size_t k)
{
	fc_row_source source = {.ctx = t,.scan = scan_table,.farthest = farthest_of_table};
	fc_qkmeans_options options = fc_qkmeans_defaults();
	fc_arena	arena = heap_arena();
	double	   *offset = take(t->d, sizeof(double));
	fc_measure	dense;
	fc_trials	trials = {.dense = &dense,.max_bytes = (size_t) 1 << 30};
	fc_operator op = {0};
	fc_factorization from;
	product		p;
	double		start = cpu_seconds();

	fc_measure_start(centroids, offset, k, t->d, &source, &arena, &dense);
	fc_qkmeans_choose(centroids, offset, k, t->d, &source, &trials, &arena, &options);
	fc_qkmeans(centroids, offset, k, t->d, &source, &options, &arena, &op, &from);
	p.seconds = cpu_seconds() - start;
	p.values = log((double) fc_operator_values(&op) / (double) (k * t->d));
	p.error = log(label_table(t, &op) / dense.objective);
	fc_arena_release(&arena, (fc_mark) {0});
	free(offset);
	return p;
}

static product
factorize_codebook(const table *t, const double *centroids, size_t k)
{
	float	   *values = take(k * t->d, sizeof(float));
	float	   *rows = take(t->n * t->d, sizeof(float));
	codebook	book;
	codebook	sample;
	fc_weighted_rows sampled;
	fc_factorize_options options = fc_factorize_defaults();
	fc_arena	arena = heap_arena();
	fc_operator op = {0};
	fc_factorization from;
	product		p;
	double		start;

	for (size_t i = 0; i < k * t->d; i++)
		values[i] = (float) centroids[i];
	for (size_t i = 0; i < t->n * t->d; i++)
		rows[i] = (float) t->x[i];
	book = make_codebook(k, t->d, values);
	sample = make_codebook(t->n, t->d, rows);
	options.method = FC_METHOD_AUTO;
	sampled = (fc_weighted_rows) {.n = t->n,.d = t->d,.values = rows,.weights = sample.weights};
	options.sample = &sampled;
	start = cpu_seconds();
	fc_factorize(&book.op, &options, &arena, &op, &from);
	p.seconds = cpu_seconds() - start;
	p.values = log((double) fc_operator_values(&op) / (double) (k * t->d));
	p.error = from.agreement >= 0.0 ? from.agreement : 1.0;
	fc_arena_release(&arena, (fc_mark) {0});
	free(values), free(book.half_norms), free(book.weights);
	free(rows), free(sample.half_norms), free(sample.weights);
	return p;
}

/*
 * Prints figures of products: for products trained on the rows, the geometric
 * means of their values relative to k d and of their SSE relative to dense
 * centroids; for products chosen afterwards, their values and the share of
 * unchanged labels.
 */
static void
run_factors(uint64_t seed)
{
	static const row_set sets[] = {
		{"manifold", 1500, 48, 40}, {"images", 1500, 64, 64}, {"groups", 1200, 32, 48},
		{"overlap", 1200, 24, 32}
	};
	enum
	{
		REPEATS = 5
	};
	product		sum[2] = {{0}};

	for (size_t s = 0; s < REPEATS * COUNT(sets); s++)
	{
		const row_set *set = &sets[s % COUNT(sets)];
		double	   *centroids;
		table		t = make_table(set, 100 * seed + s, &centroids);

		for (int chosen = 0; chosen < 2; chosen++)
		{
			product		p = chosen ? factorize_codebook(&t, centroids, set->k)
				: train_factors(&t, centroids, set->k);

			sum[chosen].values += p.values / (double) (REPEATS * COUNT(sets));
			sum[chosen].error += p.error / (double) (REPEATS * COUNT(sets));
			sum[chosen].seconds += p.seconds;
		}
		free(t.x), free(t.distance), free(t.label), free(centroids);
	}
	printf("values %.4f\nsse %.4f\n", exp(sum[0].values), exp(sum[0].error));
	printf("values_auto %.4f\nagreement %.4f\n", exp(sum[1].values), sum[1].error);
	printf("cpu %.3f\ncpu_auto %.3f\n", sum[0].seconds, sum[1].seconds);
}

int
main(int argc, char **argv)
{
	static const struct
	{
		const char *name;
		void		(*run) (uint64_t seed);
	}			groups[] = {
		{"kmeans", run_kmeans}, {"number", run_number}, {"decode", run_decode},
		{"drift", run_drift}, {"density", run_density}, {"labels", run_labels},
		{"factors", run_factors}
	};

	for (size_t i = 0; argc > 1 && i < COUNT(groups); i++)
		if (strcmp(groups[i].name, argv[1]) == 0)
		{
			groups[i].run(argc > 2 ? strtoul(argv[2], NULL, 10) : 1);
			return 0;
		}
	fprintf(stderr, "tuned GROUP [SEED]\n");
	return 1;
}

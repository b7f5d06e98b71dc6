/*
 * pruning.c - benchmark of the labels of many centroids in many dimensions:
 * pruning bounds against the matrix product of all scores.
 *
 *     screen K D N LAW
 *
 * LAW: separate, spectrum, overlap (mixtures of K Gaussians with power-law
 * sizes), or noise (uniform). Centroids are the means of N rows after two
 * Lloyd steps that start at K rows. Prints lines "name value": CPU seconds to
 * make the bounds, ns per row of both methods, and the number of rows whose
 * label is not the nearest centroid in double.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/blas.h"
#include "base/rng.h"
#include "numerics/pruning.h"
#include "operator/operator.h"

#include "program.h"

#define BATCH	240
#define ROUNDS	2

typedef struct law
{
	const char *name;
	double		noise;			/* deviation around a center, whose coordinates have deviation 1 */
	double		decay;			/* exponent: dimension i is scaled by (i + 1)^-decay */
} law;

static const law laws[] = {{"separate", 0.5, 0.0}, {"spectrum", 0.7, 0.5}, {"overlap", 2.0, 0.0}, {"noise", 0.0, 0.0}};

/*
 * Makes rows of a mixture; component j has a share in proportion to
 * 1 / (j + 10).
 */
static double *
make_rows(const law *l, size_t k, size_t d, size_t n)
{
	fc_rng		rng = fc_rng_start(1, 1);
	float	   *center = malloc(k * d * sizeof(float));
	double	   *x = malloc(n * d * sizeof(double));
	double		reach = log((double) (k + 10) / 10.0);

	for (size_t i = 0; i < k * d; i++)
		center[i] = (float) fc_rng_normal(&rng);
	for (size_t r = 0; r < n; r++)
	{
		size_t		j = (size_t) fmin(10.0 * exp(reach * fc_rng_uniform(&rng)) - 10.0, (double) (k - 1));

		for (size_t i = 0; i < d; i++)
		{
			double		unit = pow((double) (i + 1), -l->decay);

			x[r * d + i] = l->noise > 0.0 ? unit * ((double) center[j * d + i] + l->noise * fc_rng_normal(&rng)) : fc_rng_uniform(&rng);
			x[r * d + i] = (double) (float) x[r * d + i];
		}
	}
	free(center);
	return x;
}

typedef struct run
{
	fc_operator op;
	fc_pruning  *pruning;
	size_t		n;
	const double *x;
	int32_t    *labels;			/* n */
	fc_scratch	scratch;
	double		made;			/* CPU seconds to make the bounds */
} run;

static void
assign(run *r, bool pruned)
{
	r->op.pruning = pruned ? r->pruning : NULL;
	for (size_t start = 0; start < r->n; start += BATCH)
		fc_operator_assign_batch(&r->op, r->x + start * r->op.d, r->n - start < BATCH ? r->n - start : BATCH, r->scratch, r->labels + start);
}

/* Makes an operator of the values and its pruning bounds. */
static void
prepare(run *r, size_t k, size_t d, const float *values)
{
	double		start;
	fc_arena	arena;

	r->op = (fc_operator) {.k = k,.d = d,.weights = calloc(k, sizeof(double)),.half_norms = malloc(k * sizeof(float)),.factors = 1};
	r->op.factor[0] = (fc_factor) {.rows = k,.columns = d,.nonzeros = k * d,.values = values};
	r->scratch.count = fc_operator_batch_scratch(&r->op, BATCH);
	r->scratch.floats = malloc(r->scratch.count * sizeof(float));
	fc_operator_measure(&r->op, r->scratch, (float *) r->op.half_norms);
	arena = heap_arena();
	start = cpu_seconds();
	fc_operator_prune(&r->op, &arena);
	if (r->op.pruning == NULL)
		exit(1);
	r->made = cpu_seconds() - start;
	r->pruning = r->op.pruning;
	free(r->scratch.floats);
	r->scratch.count = fc_operator_batch_scratch(&r->op, BATCH);
	r->scratch.floats = malloc(r->scratch.count * sizeof(float));
}

/* Sets values to the means of the rows with each label. */
static void
step(const run *r, float *values)
{
	size_t		k = r->op.k;
	size_t		d = r->op.d;
	double	   *sum = calloc(k * d, sizeof(double));
	size_t	   *count = calloc(k, sizeof(size_t));

	for (size_t i = 0; i < r->n; i++)
	{
		count[r->labels[i]]++;
		for (size_t c = 0; c < d; c++)
			sum[(size_t) r->labels[i] * d + c] += r->x[i * d + c];
	}
	for (size_t j = 0; j < k; j++)
		for (size_t c = 0; c < d && count[j] > 0; c++)
			values[j * d + c] = (float) (sum[j * d + c] / (double) count[j]);
	free(sum);
	free(count);
}

/*
 * Returns the number of rows whose label is not the nearest centroid, found by
 * a matrix product in double.
 */
static size_t
count_wrong(const run *r)
{
	size_t		k = r->op.k;
	size_t		d = r->op.d;
	double	   *c = malloc(k * d * sizeof(double));
	double	   *half = calloc(k, sizeof(double));
	double	   *dots = malloc(BATCH * k * sizeof(double));
	size_t		wrong = 0;

	for (size_t i = 0; i < k * d; i++)
	{
		c[i] = (double) r->op.factor[0].values[i];
		half[i / d] += 0.5 * c[i] * c[i];
	}
	for (size_t start = 0; start < r->n; start += BATCH)
	{
		size_t		rows = r->n - start < BATCH ? r->n - start : BATCH;

		cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int) rows, (int) k, (int) d, 1.0, r->x + start * d, (int) d, c, (int) d, 0.0, dots, (int) k);
		for (size_t i = 0; i < rows; i++)
		{
			size_t		best = 0;

			for (size_t j = 1; j < k; j++)
				if (half[j] - dots[i * k + j] < half[best] - dots[i * k + best])
					best = j;
			wrong += best != (size_t) r->labels[start + i];
		}
	}
	free(c);
	free(half);
	free(dots);
	return wrong;
}

int
main(int argc, char **argv)
{
	size_t		k = argc == 5 ? strtoul(argv[1], NULL, 10) : 0;
	size_t		d = argc == 5 ? strtoul(argv[2], NULL, 10) : 0;
	run			r = {.n = argc == 5 ? strtoul(argv[3], NULL, 10) : 0};
	const law  *l = laws;
	float	   *values;
	double		best[2] = {0};
	double		start;

	while (argc == 5 && l < laws + 3 && strcmp(l->name, argv[4]) != 0)
		l++;
	if (argc != 5 || r.n < k || !fc_pruning_suits(k, d))
	{
		fprintf(stderr, "screen K D N LAW, K from %d, D from %d, N from K\n", FC_PRUNING_CLUSTERS, FC_PRUNING_DIMENSIONS);
		return 1;
	}
	r.x = make_rows(l, k, d, r.n);
	r.labels = malloc(r.n * sizeof(int32_t));
	values = malloc(k * d * sizeof(float));
	for (size_t j = 0; j < k; j++)
		for (size_t c = 0; c < d; c++)
			values[j * d + c] = (float) r.x[j * (r.n / k) * d + c];
	for (int i = 0; i < 2; i++)
	{
		prepare(&r, k, d, values);
		assign(&r, true);
		step(&r, values);
	}
	prepare(&r, k, d, values);
	for (int round = 0; round < ROUNDS; round++)
		for (int pruned = 0; pruned < 2; pruned++)
		{
			start = cpu_seconds();
			assign(&r, pruned);
			best[pruned] = round == 0 ? cpu_seconds() - start : fmin(best[pruned], cpu_seconds() - start);
		}
	printf("made %.3f\nsgemm %.0f\nscreened %.0f\nratio %.2f\n", r.made, best[0] * 1e9 / (double) r.n, best[1] * 1e9 / (double) r.n, best[0] / (best[1] + r.made));
	printf("leading_measured %.1f\nleading_given_up %.3f\nwhole_measured %.1f\nwhole_given_up %.3f\n", r.pruning->record[0].measured,
		   r.pruning->record[0].given_up, r.pruning->record[1].measured, r.pruning->record[1].given_up);
	printf("wrong %zu\n", count_wrong(&r));
	return 0;
}

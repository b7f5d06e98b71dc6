/*
 * test_worksize.c - every function that takes an arena: exactly its worksize is enough, wherever the arena
 * begins, and in a smaller one it says so or does without.
 */
#include <math.h>

#include "factor/agreement.h"
#include "factor/butterfly.h"
#include "factor/constraint.h"
#include "operator/contingency.h"
#include "factor/factorize.h"
#include "factor/hierarchical.h"
#include "rkhs/map.h"
#include "rkhs/projection.h"
#include "kmeans/kmeans.h"
#include "factor/largest.h"
#include "numerics/leading_eigen.h"
#include "factor/lowrank.h"
#include "numerics/assignment.h"
#include "numerics/nnls.h"
#include "rkhs/nystroem.h"
#include "factor/palm.h"
#include "sketch/pilot.h"
#include "rkhs/pivoted_cholesky.h"
#include "numerics/principal.h"
#include "numerics/omp.h"
#include "numerics/trim.h"
#include "kernels.h"
#include "random_operator.h"

/* A k x d matrix and what is made of it. */
typedef struct subject
{
	size_t		k;
	size_t		d;
	size_t		r;				/* 1 .. min(k, d) */
	size_t		count;			/* of factors */
	uint64_t	seed;
	double	   *x;				/* k x d */
	float	   *floats;			/* the same */
	double	   *square;			/* k x k, positive definite */
	fc_kernel	kernel;
	random_operator made;		/* k x d */
	random_operator dense;		/* one dense factor */
	fc_constraint lines[FC_MAX_FACTORS];
	fc_arena	factors_arena;
	fc_factors	factors;
	fc_target	target;
	fc_palm_options options;
	fc_contingency *table;
	double	   *out;			/* 2 max(k, d)^2 + 8 k d doubles of any type */
	fc_embedding embedding;
} subject;

typedef struct use
{
	const char *name;
	size_t		(*size) (const subject *s);
	fc_status	(*call) (subject *s, fc_arena *arena);
} use;

/* ---- factors ---- */

static size_t
sparse_size(const subject *s)
{
	return fc_sparse_worksize(s->k, s->d, s->r) + fc_sparse_pair_worksize(s->k, s->d, s->r);
}

static fc_status
take_sparse(subject *s, fc_arena *arena)
{
	fc_sparse	a;
	fc_sparse_pair b;

	return fc_sparse_take(arena, s->k, s->d, s->r, &a) == FC_OK ? fc_sparse_pair_take(arena, s->k, s->d, s->r, &b) : FC_ENOMEMORY;
}

static size_t
factors_size(const subject *s)
{
	return fc_factors_worksize(s->k, s->d, s->count, s->lines);
}

static fc_status
take_factors(subject *s, fc_arena *arena)
{
	fc_factors	factors;
	fc_status	status = fc_factors_take(arena, s->k, s->d, s->count, s->lines, &factors);

	if (status == FC_OK)
		status = fc_factors_start(&factors);
	return status;
}

static size_t
constraint_size(const subject *s)
{
	return fc_constraint_worksize(s->k, s->d);
}

static fc_status
project_lines(subject *s, fc_arena *arena)
{
	const fc_constraint kinds[] = {{.kind = FC_LINES,.per_row = 1,.per_column = 2}, {.kind = FC_TOTAL,.total = s->k * s->d / 2 + 1}};
	fc_status	status = FC_OK;

	for (int i = 0; i < 2 && status == FC_OK; i++)
	{
		size_t		capacity = fc_constraint_capacity(&kinds[i], s->k, s->d, 0);
		fc_arena	own = unit_arena(fc_sparse_worksize(s->k, s->d, capacity));
		fc_sparse	a;
		double		norm;

		CHECK(fc_sparse_take(&own, s->k, s->d, capacity, &a) == FC_OK, "a sparse matrix");
		status = fc_constraint_project(&kinds[i], s->x, arena, &a, &norm);
		unit_arena_free(&own);
	}
	return status;
}

static size_t
largest_size(const subject *s)
{
	return fc_largest_worksize(s->k, s->d, 2);
}

static fc_status
take_largest(subject *s, fc_arena *arena)
{
	fc_largest	lists;
	fc_status	status = fc_largest_take(arena, s->k, s->d, 2, &lists);

	if (status == FC_OK)
		fc_largest_start(&lists, s->k, s->d, 2, 2);
	return status;
}

static size_t
pursuit_size(const subject *s)
{
	return fc_omp_worksize(s->k);
}

static fc_status
pursue(subject *s, fc_arena *arena)
{
	fc_omp	pursuit;
	fc_status	status = fc_omp_start(s->square, s->k, arena, &pursuit);
	uint32_t   *column = unit_alloc(s->k, sizeof(uint32_t));
	fc_line		none = {.scale = 1.0};

	if (status == FC_OK)
		(void) fc_omp_line(&pursuit, s->square, s->k < 5 ? s->k : 5, &none, s->k, column, s->out);
	free(column);
	return status;
}

static size_t
product_size(const subject *s)
{
	return fc_product_worksize(&s->factors);
}

static fc_status
multiply(subject *s, fc_arena *arena)
{
	return fc_product(&s->factors, arena, s->out);
}

static size_t
stored_size(const subject *s)
{
	return fc_stored_worksize(&s->factors);
}

static fc_status
store(subject *s, fc_arena *arena)
{
	fc_operator out = {.k = s->k,.d = s->d};

	return fc_store_factors(&s->factors, arena, &out);
}

static size_t
palm_size(const subject *s)
{
	return fc_palm_worksize(&s->factors);
}

static fc_status
palm(subject *s, fc_arena *arena)
{
	fc_palm_result result;

	CHECK(fc_factors_start(&s->factors) == FC_OK, "factors to start from");
	return fc_palm(&s->target, &s->options, arena, &s->factors, &result);
}

static size_t
hierarchical_size(const subject *s)
{
	return fc_hierarchical_worksize(&s->target, &s->factors);
}

static fc_status
hierarchical(subject *s, fc_arena *arena)
{
	fc_palm_result result;

	CHECK(fc_factors_start(&s->factors) == FC_OK, "factors to start from");
	return fc_hierarchical(&s->target, &s->options, arena, &s->factors, &result);
}

static size_t
butterfly_size(const subject *s)
{
	return fc_butterfly_worksize(s->k, s->d);
}

static fc_status
butterfly(subject *s, fc_arena *arena)
{
	fc_factors	factors;

	return fc_butterfly(&s->target, arena, &factors);
}

static size_t
lowrank_size(const subject *s)
{
	return fc_lowrank_worksize(s->k, s->d, s->r);
}

static fc_status
lowrank(subject *s, fc_arena *arena)
{
	float	   *left = (float *) s->out;

	return fc_lowrank(&s->target, s->r, 1, arena, left, left + s->k * s->r, s->out + s->k * s->r + s->r * s->d);
}

static size_t
svd_size(const subject *s)
{
	return fc_equal_svd_worksize(s->k, s->d);
}

static fc_status
equal_svd(subject *s, fc_arena *arena)
{
	return fc_equal_svd(&s->target, s->r * (s->k + s->d), 1, arena, s->out);
}

static size_t
prune_size(const subject *s)
{
	return fc_prune_worksize(s->k, s->d, s->k * s->d / 3 + 1);
}

static fc_status
prune(subject *s, fc_arena *arena)
{
	fc_sparse_pair a;

	return fc_prune(&s->target, s->k * s->d / 3 + 1, arena, &a);
}

static fc_factorize_options
factorize_options(const subject *s)
{
	static const fc_method methods[] = {FC_METHOD_PALM4MSA, FC_METHOD_HIERARCHICAL, FC_METHOD_BUTTERFLY, FC_METHOD_SVD,
	FC_METHOD_PRUNE, FC_METHOD_AUTO};
	fc_factorize_options options = fc_factorize_defaults();

	options.method = methods[s->seed % 6];
	options.palm.sweeps = 3;
	options.budget = options.method == FC_METHOD_PRUNE || options.method == FC_METHOD_SVD ? (double) (s->r * (s->k + s->d)) : 0.0;
	options.sample = s->k % 2 == 0 ? &s->dense.op : NULL;
	return options;
}

static size_t
factorize_size(const subject *s)
{
	fc_factorize_options options = factorize_options(s);

	return fc_factorize_worksize(&s->dense.op, &options);
}

static fc_status
factorize(subject *s, fc_arena *arena)
{
	fc_factorize_options options = factorize_options(s);
	fc_operator out = {.weights = s->dense.op.weights};
	fc_factorization from;

	return (options.method == FC_METHOD_AUTO ? fc_factorize_auto : fc_factorize) (&s->dense.op, &options, arena, &out, &from);
}

static size_t
agreement_size(const subject *s)
{
	return fc_agreement_worksize(&s->dense.op, &s->made.op);
}

static fc_status
agree(subject *s, fc_arena *arena)
{
	return fc_agreement(&s->dense.op, &s->made.op, 100, 1, arena, s->out);
}

/* ---- rows ---- */

static size_t
kmeans_size(const subject *s)
{
	return fc_kmeans_worksize(s->k, s->d, s->r);
}

static fc_status
kmeans(subject *s, fc_arena *arena)
{
	fc_kmeans_options options = fc_kmeans_defaults();
	fc_rows		rows = {.x = s->floats,.n = s->k,.d = s->d};
	fc_kmeans_result result = {.centroids = s->out,.weights = s->out + s->r * s->d};

	return fc_kmeans(&rows, s->r, NULL, &options, arena, &result);
}

static size_t
trim_size(const subject *s)
{
	return fc_trim_worksize(s->k, s->d);
}

static fc_status
trim(subject *s, fc_arena *arena)
{
	size_t	   *kept = unit_alloc(s->k, sizeof(size_t));
	size_t		count;
	fc_status	status = fc_trim(s->x, NULL, s->k, s->d, 0.95, arena, kept, &count);

	free(kept);
	return status;
}

static size_t
principal_size(const subject *s)
{
	return fc_principal_worksize(s->k, s->d, s->r);
}

static fc_status
principal(subject *s, fc_arena *arena)
{
	return fc_principal_axes(s->floats, s->k, s->d, s->r, 1, arena, (float *) s->out);
}

static fc_pilot_options
pilot_options(const subject *s)
{
	return (fc_pilot_options) {.clusters = s->r,.dimensions = s->r};
}

static size_t
pilot_size(const subject *s)
{
	fc_pilot_options options = pilot_options(s);

	return fc_pilot_worksize(s->k, s->d, &options);
}

static fc_status
pilot(subject *s, fc_arena *arena)
{
	fc_pilot_options options = pilot_options(s);
	size_t		n = fc_pilot_dimensions(s->d, &options);
	fc_pilot_result result = {.center = s->out,.basis = unit_alloc(n * s->d, sizeof(float)),
	.reduced = unit_alloc(s->k * n, sizeof(float)),.sample_centroids = unit_alloc(fc_pilot_sample_centroid_limit(&options) * n, sizeof(float))};
	fc_status	status = fc_pilot(s->x, NULL, s->k, s->d, &options, arena, &result);

	free(result.basis);
	free(result.reduced);
	free(result.sample_centroids);
	return status;
}

static size_t
nnls_size(const subject *s)
{
	return fc_nnls_worksize(s->k);
}

static fc_status
nnls(subject *s, fc_arena *arena)
{
	return fc_nnls(s->square, s->k, s->square, s->k, NULL, arena, s->out);
}

static size_t
matching_size(const subject *s)
{
	return fc_assignment_worksize(s->k, s->d);
}

static fc_status
match(subject *s, fc_arena *arena)
{
	return fc_assignment(s->x, s->k, s->d, arena, (int32_t *) s->out);
}

static size_t
clusters_size(const subject *s)
{
	return fc_match_clusters_worksize(s->r, s->k, s->d);
}

static fc_status
match_clusters(subject *s, fc_arena *arena)
{
	return fc_match_clusters(s->x, s->r, s->x, s->k, s->d, arena, (int32_t *) s->out);
}

static fc_status
match_labels(subject *s, fc_arena *arena)
{
	return fc_match_labels(s->square, s->r, s->k, arena, (int32_t *) s->out);
}

static size_t
eigen_size(const subject *s)
{
	return fc_leading_eigen_worksize(s->k, s->r);
}

static fc_status
eigen(subject *s, fc_arena *arena)
{
	double	   *copy = s->out + s->k + s->k * s->k;

	memcpy(copy, s->square, s->k * s->k * sizeof(double));
	return fc_leading_eigen(copy, s->k, s->r, arena, s->out, s->out + s->k);
}

static size_t
list_size(const subject *s)
{
	return fc_contingency_list_worksize(s->table->used);
}

static fc_status
list(subject *s, fc_arena *arena)
{
	fc_cell    *cells = unit_alloc(s->table->used, sizeof(fc_cell));
	fc_status	status = fc_contingency_list(s->table, arena, cells);

	free(cells);
	return status;
}

/* ---- kernels ---- */

static size_t
one_pass_size(const subject *s)
{
	return fc_kernel_projection_worksize(&s->kernel, s->k, s->d, s->r, 3);
}

static fc_status
one_pass(subject *s, fc_arena *arena)
{
	fc_kernel_input input = {.doubles = s->x,.n = s->k,.d = s->d};

	return fc_kernel_project(&s->kernel, &input, 3, 1, arena, &s->embedding);
}

static size_t
nystroem_size(const subject *s)
{
	return fc_nystroem_worksize(&s->kernel, s->k, s->d, s->r, s->r + 1);
}

static fc_status
nystroem(subject *s, fc_arena *arena)
{
	fc_kernel_input input = {.floats = s->floats,.n = s->k,.d = s->d};

	return fc_nystroem_project(&s->kernel, &input, s->r + 1, 1, arena, &s->embedding);
}

static size_t
exact_size(const subject *s)
{
	return fc_kernel_eigen_worksize(&s->kernel, s->k, s->d, s->r);
}

static fc_status
exact(subject *s, fc_arena *arena)
{
	fc_kernel_input input = {.doubles = s->x,.n = s->k,.d = s->d};

	return fc_kernel_eigen_project(&s->kernel, &input, arena, &s->embedding);
}

static size_t
landmarks_size(const subject *s)
{
	return fc_pivoted_cholesky_worksize(&s->kernel, s->k, s->d, s->r);
}

static fc_status
landmarks(subject *s, fc_arena *arena)
{
	fc_kernel_input input = {.doubles = s->x,.n = s->k,.d = s->d};
	size_t	   *pivots = unit_alloc(s->r, sizeof(size_t));
	size_t		found;
	fc_status	status = fc_pivoted_cholesky_landmarks(&s->kernel, &input, s->r, 1, arena, pivots, &found);

	free(pivots);
	return status;
}

static size_t
cholesky_size(const subject *s)
{
	return fc_pivoted_cholesky_project_worksize(&s->kernel, s->k, s->d, s->r, s->r + 1);
}

static fc_status
cholesky(subject *s, fc_arena *arena)
{
	fc_kernel_input input = {.doubles = s->x,.n = s->k,.d = s->d};

	return fc_pivoted_cholesky_project(&s->kernel, &input, s->r + 1, 1, arena, &s->embedding);
}

static size_t
embed_size(const subject *s)
{
	return fc_kernel_embed_worksize(s->r);
}

static fc_status
embed(subject *s, fc_arena *arena)
{
	return fc_kernel_embed(s->x, s->k, s->d, s->d, s->x, s->r, 1.0, arena, &s->embedding);
}

static size_t
map_size(const subject *s)
{
	return fc_kernel_map_worksize(&s->made.op, &s->kernel, s->r);
}

static fc_status
solve_map(subject *s, fc_arena *arena)
{
	double	   *t = s->out + s->k;
	size_t		kept;

	return fc_kernel_map_solve(&s->made.op, &s->kernel, s->r, arena, s->out, t, &kept);
}

static const use uses[] = {
	{"sparse matrices", sparse_size, take_sparse},
	{"factors", factors_size, take_factors},
	{"constraints", constraint_size, project_lines},
	{"largest entries", largest_size, take_largest},
	{"matching pursuit", pursuit_size, pursue},
	{"product", product_size, multiply},
	{"stored factors", stored_size, store},
	{"palm4MSA", palm_size, palm},
	{"hierarchical", hierarchical_size, hierarchical},
	{"butterfly", butterfly_size, butterfly},
	{"low rank", lowrank_size, lowrank},
	{"equal SVD", svd_size, equal_svd},
	{"prune", prune_size, prune},
	{"factorize", factorize_size, factorize},
	{"agreement", agreement_size, agree},
	{"k-means", kmeans_size, kmeans},
	{"trim", trim_size, trim},
	{"principal axes", principal_size, principal},
	{"pilot", pilot_size, pilot},
	{"NNLS", nnls_size, nnls},
	{"matching", matching_size, match},
	{"clusters matched", clusters_size, match_clusters},
	{"labels matched", clusters_size, match_labels},
	{"leading eigenpairs", eigen_size, eigen},
	{"contingency list", list_size, list},
	{"one-pass projection", one_pass_size, one_pass},
	{"Nystroem projection", nystroem_size, nystroem},
	{"exact projection", exact_size, exact},
	{"landmarks", landmarks_size, landmarks},
	{"Cholesky projection", cholesky_size, cholesky},
	{"embedding", embed_size, embed},
	{"kernel map", map_size, solve_map},
};

/* ---- the subjects ---- */

/* x x' + I, of k x d rows. */
static double *
definite(const double *x, size_t k, size_t d)
{
	double	   *square = unit_alloc(k * k, sizeof(double));

	for (size_t i = 0; i < k; i++)
		for (size_t j = 0; j < k; j++)
		{
			square[i * k + j] = i == j;
			for (size_t c = 0; c < d; c++)
				square[i * k + j] += x[i * d + c] * x[j * d + c];
		}
	return square;
}

static fc_contingency *
make_table(size_t pairs)
{
	size_t		capacity = 4;
	fc_contingency *table;

	while (capacity <= 2 * pairs)
		capacity *= 2;
	table = unit_alloc(fc_contingency_size(capacity), 1);
	(void) fc_contingency_init(capacity, table);
	for (size_t i = 0; i < pairs; i++)
		fc_contingency_add(table, (int32_t) (i % 5), (int32_t) i, 1);
	return table;
}

static void
make_operators(subject *s, fc_rng *rng)
{
	static const pattern dense[] = {DENSE};
	pattern		kinds[MOST_FACTORS];

	for (size_t f = 0; f < MOST_FACTORS; f++)
		kinds[f] = (pattern) fc_rng_below(rng, PATTERNS);
	s->made = make_operator(s->k, s->d, 1 + fc_rng_below(rng, 20), kinds, 1 + fc_rng_below(rng, MOST_FACTORS), s->seed);
	s->dense = make_operator(s->k, s->d, 1, dense, 1, s->seed);
	s->dense.op.weights = own(&s->dense, s->k, sizeof(double));
}

/* k and d: 0 for small ones by the seed. */
static subject
make_subject(size_t k, size_t d, uint64_t seed)
{
	static const size_t sizes[] = {1, 2, 3, 5, 8, 13, 16, 33, 60};
	fc_rng		rng = fc_rng_start(seed, 31);
	subject		s = {.k = k > 0 ? k : sizes[fc_rng_below(&rng, 9)],.d = d > 0 ? d : sizes[fc_rng_below(&rng, 9)],.seed = seed};
	size_t		least = s.k < s.d ? s.k : s.d;
	size_t		most = s.k + s.d;

	s.r = 1 + fc_rng_below(&rng, least);
	s.count = 1 + fc_rng_below(&rng, 4);
	s.kernel = test_kernels[seed % TEST_KERNELS];
	s.x = random_rows(s.k, s.d, seed % 3 == 0 ? 5.0 : 0.0, seed);
	s.floats = unit_alloc(s.k * s.d, sizeof(float));
	for (size_t i = 0; i < s.k * s.d; i++)
		s.floats[i] = (float) s.x[i];
	s.square = definite(s.x, s.k, s.d);
	s.out = unit_alloc(8 * most * most + 64, sizeof(double));
	s.embedding = (fc_embedding) {.rank = s.r,.eigenvalues = unit_alloc(s.r, sizeof(double)),.y = unit_alloc(s.k * s.r, sizeof(float))};
	s.target = (fc_target) {.u = s.x,.k = s.k,.d = s.d};
	s.options = fc_palm_defaults();
	s.options.sweeps = 3;
	s.table = make_table(s.k);
	fc_line_constraints(s.k, s.d, s.count, 1 + fc_rng_below(&rng, 3), 0.0, s.lines);
	s.factors_arena = unit_arena(fc_factors_worksize(s.k, s.d, s.count, s.lines));
	CHECK(fc_factors_take(&s.factors_arena, s.k, s.d, s.count, s.lines, &s.factors) == FC_OK, "factors");
	CHECK(fc_factors_start(&s.factors) == FC_OK, "factors to start from");
	make_operators(&s, &rng);
	return s;
}

static void
free_subject(subject *s)
{
	free(s->x);
	free(s->floats);
	free(s->square);
	free(s->out);
	free(s->embedding.eigenvalues);
	free(s->embedding.y);
	free(s->table);
	unit_arena_free(&s->factors_arena);
	free_operator(&s->made);
	free_operator(&s->dense);
}

/* ---- the tests ---- */

static fc_status
run(subject *s, const use *u, size_t size)
{
	fc_arena	arena = unit_arena(size);
	fc_status	status = u->call(s, &arena);

	CHECK(arena.used <= size, "%s: %zu of %zu bytes used", u->name, arena.used, size);
	unit_arena_free(&arena);
	return status;
}

static void
test_subject(size_t k, size_t d, int trials, uint64_t seed)
{
	subject		s = make_subject(k, d, seed);
	fc_rng		rng = fc_rng_start(seed, 32);

	for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++)
	{
		size_t		size = uses[i].size(&s);
		fc_status	status = run(&s, &uses[i], size);

		CHECK(status == FC_OK, "seed %zu, %s of %zu x %zu, rank %zu, %zu factors in %zu bytes: status %d",
			  (size_t) seed, uses[i].name, s.k, s.d, s.r, s.count, size, (int) status);
		for (int trial = 0; trial < trials && size > 0; trial++)
		{
			size_t		less = trial == 0 ? 0 : trial == 1 ? size - 1 : fc_rng_below(&rng, size);

			status = run(&s, &uses[i], less);
			CHECK(status == FC_OK || status == FC_ENOMEMORY, "seed %zu, %s in %zu of %zu bytes: status %d",
				  (size_t) seed, uses[i].name, less, size, (int) status);
		}
	}
	free_subject(&s);
}

int
main(void)
{
	for (uint64_t seed = 0; seed < 60; seed++)
		test_subject(0, 0, 12, seed);
	test_subject(530, 6, 1, 60);	/* beyond what LAPACK takes whole */
	test_subject(6, 530, 1, 61);
	return unit_finish();
}

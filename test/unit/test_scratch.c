/*
 * test_scratch.c - every function that takes scratch is called with exactly
 * the floats that its size function returns. Sanitizers detect the use of
 * more, and one float fewer ends the process at an assertion.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "factor/factorize.h"
#include "operator/step.h"
#include "random_operator.h"
#include "rkhs/map.h"

#define MAX_ROWS	257

/* Operator, rows and space for the calls. */
typedef struct subject
{
	random_operator made;
	fc_operator *op;
	size_t		n;				/* number of rows, or the capacity of a step */
	double	   *x;				/* MAX_ROWS x d */
	double	   *u;				/* k x d: rows of the product */
	float	   *floats;			/* k x d, followed by max(k, d) */
	double	   *doubles;		/* k x d */
	double	   *sums;			/* k x d */
	double	   *centroids;		/* k x d */
	int64_t    *counts;			/* k */
	int32_t    *labels;			/* max(k, MAX_ROWS) */
	fc_operator_header *header;
	fc_kernel_map map;
	double		sum;			/* sum of results, so that they are not optimised away */
} subject;

/* ---- the calls ---- */

typedef struct use
{
	const char *name;
	size_t		(*floats) (const subject *s);
	void		(*call) (subject *s, fc_scratch scratch);
	bool		many;			/* true if the size depends on the number of rows */
} use;

static size_t
of_operator(const subject *s)
{
	return fc_operator_scratch(s->op);
}

static size_t
of_batch(const subject *s)
{
	return fc_operator_batch_scratch(s->op, s->n);
}

static size_t
of_step(const subject *s)
{
	return fc_step_scratch(s->op, s->n);
}

static size_t
of_map(const subject *s)
{
	return fc_kernel_map_scratch(&s->map);
}

static void
project(subject *s, fc_scratch scratch)
{
	float	   *x = s->floats + s->op->k * s->op->d;

	for (size_t c = 0; c < s->op->d; c++)
		x[c] = (float) s->x[c];
	fc_operator_project(s->op, x, scratch, s->floats);
}

static void
assign(subject *s, fc_scratch scratch)
{
	for (size_t r = 0; r < 12; r++)
		s->sum += (double) fc_operator_assign(s->op, s->x + r * s->op->d, scratch);
}

static void
nearest(subject *s, fc_scratch scratch)
{
	for (size_t count = 1; count <= s->op->k; count += 1 + s->op->k / 3)
		for (size_t r = 0; r < 3; r++)
			fc_operator_nearest(s->op, s->x + r * s->op->d, count, scratch, s->labels, s->doubles);
}

static void
expand(subject *s, fc_scratch scratch)
{
	fc_operator own = *s->op;

	fc_operator_expand(&own, scratch, s->floats);
}

static void
half_norms(subject *s, fc_scratch scratch)
{
	fc_operator own = *s->op;

	fc_operator_measure(&own, scratch, s->floats);
}

static void
verify(subject *s, fc_scratch scratch)
{
	CHECK(fc_operator_verify(s->op, scratch) == FC_OK, "an operator fails its own checks");
}

static void
keep_dense(subject *s, fc_scratch scratch)
{
	fc_operator own = *s->op;
	fc_operator codebook = {.k = own.k,.d = own.d,.factors = 1,
	.factor = {{.rows = own.k,.columns = own.d,.nonzeros = own.k * own.d,.values = s->floats}}};
	float	   *arrays = unit_alloc(2 * own.k, sizeof(float));

	memset(s->floats, 0, own.k * own.d * sizeof(float));
	fc_operator_attach_exact(&own, &codebook, 1, scratch, arrays, arrays + own.k);
}

static void
row(subject *s, fc_scratch scratch)
{
	fc_operator_row(s->op, s->op->k - 1, scratch, s->doubles);
}

static void
distance(subject *s, fc_scratch scratch)
{
	s->sum += fc_operator_distance(s->op, s->op->k - 1, s->x, scratch);
}

static void
assign_batch(subject *s, fc_scratch scratch)
{
	fc_operator_assign_batch(s->op, s->x, s->n, scratch, s->labels);
}

static void
relative_error(subject *s, fc_scratch scratch)
{
	fc_target	target = {.u = s->u,.k = s->op->k,.d = s->op->d};

	(void) fc_relative_error(&target, s->op, scratch);
}

/*
 * Adds rows one by one, so that a few are pending at the end. op: NULL, or a
 * view with faster forms.
 */
static fc_step *
run_step(subject *s, int kind, const fc_operator *op, fc_scratch scratch)
{
	size_t		size = fc_operator_size(s->op);
	fc_step    *step = unit_alloc(fc_step_size(kind, s->header, size, s->n), 1);

	fc_step_init(kind, s->header, size, s->n, step);
	for (size_t r = 0; r < s->n + 1 && r < MAX_ROWS; r++)
		fc_step_add(step, op, s->x + r * s->op->d, 1.0, scratch);
	return step;
}

static void
lloyd(subject *s, fc_scratch scratch)
{
	run_step(s, FC_STEP_LLOYD, NULL, scratch);
}

static void
planned_sse(subject *s, fc_scratch scratch)
{
	run_step(s, FC_STEP_SSE, s->op, scratch);
}

static void
silhouette(subject *s, fc_scratch scratch)
{
	run_step(s, FC_STEP_SILHOUETTE, s->op, scratch);
}

/*
 * Folds a state with as many pending rows as its capacity, as bytes from
 * outside may have them.
 */
static void
pending(subject *s, fc_scratch scratch)
{
	size_t		size = fc_operator_size(s->op);
	fc_step    *step = unit_alloc(fc_step_size(FC_STEP_LLOYD, s->header, size, s->n), 1);
	fc_step_view fields;

	fc_step_init(FC_STEP_LLOYD, s->header, size, s->n, step);
	fields = fc_step_view_of(step);
	memcpy(fields.x, s->x, s->n * s->op->d * sizeof(double));
	step->pending = (uint32_t) s->n;
	fc_step_fold(step, NULL, scratch);
	CHECK(step->count == (int64_t) s->n && step->pending == 0, "%zu rows folded", s->n);
}

/*
 * Returns the result of a state, pending rows included; allocates the scratch
 * if none is given.
 */
static fc_step_result
finish_step(subject *s, const fc_step *step, fc_scratch scratch)
{
	fc_step_result result = {.counts = s->counts,.weights = s->doubles,.sums = s->sums};
	fc_scratch	own = scratch.floats == NULL ? unit_scratch(fc_step_scratch(s->op, s->n)) : scratch;

	fc_step_finish(step, own, &result);
	return result;
}

static void
finish(subject *s, fc_scratch scratch)
{
	fc_step    *step = run_step(s, FC_STEP_LLOYD, NULL, unit_scratch(fc_step_scratch(s->op, s->n)));

	s->sum += finish_step(s, step, scratch).total;
}

static void
combine(subject *s, fc_scratch scratch)
{
	fc_scratch	own = unit_scratch(fc_step_scratch(s->op, s->n));
	fc_step    *target = run_step(s, FC_STEP_SSE, NULL, own);
	fc_step    *source = run_step(s, FC_STEP_SSE, NULL, own);

	if (s->n > 1)
		fc_step_add(source, NULL, s->x, 1.0, own);
	CHECK(fc_step_combine(target, source, scratch) == FC_OK, "states cannot be combined");
}

static void
davies_bouldin(subject *s, fc_scratch scratch)
{
	fc_step    *step = run_step(s, FC_STEP_DAVIES_BOULDIN, NULL, unit_scratch(fc_step_scratch(s->op, s->n)));
	fc_step_result result;
	double		index = 0.0;

	result = finish_step(s, step, (fc_scratch) {NULL, 0});
	index = fc_step_davies_bouldin(s->op, &result, s->centroids, scratch);
	s->sum += index;
}

static void
features(subject *s, fc_scratch scratch)
{
	static const fc_kernel kernels[] = {
		{.version = FC_KERNEL_VERSION,.kind = FC_KERNEL_RBF,.gamma = 0.5},
		{.version = FC_KERNEL_VERSION,.kind = FC_KERNEL_COSINE},
		{.version = FC_KERNEL_VERSION,.kind = FC_KERNEL_POLYNOMIAL,.degree = 2,.gamma = 1.0}
	};

	for (int i = 0; i < 3; i++)
	{
		fc_kernel_map map = s->map;

		map.kernel = kernels[i];
		fc_kernel_map_features(&map, s->x, scratch, s->floats);
		map.op.sell = NULL;
		fc_kernel_map_prepare(&map, unit_work());
		fc_kernel_map_features(&map, s->x, scratch, s->floats);
	}
}

static const use uses[] = {
	{"project", of_operator, project, false},
	{"assign", of_operator, assign, false},
	{"nearest", of_operator, nearest, false},
	{"expand", of_operator, expand, false},
	{"half_norms", of_operator, half_norms, false},
	{"verify", of_operator, verify, false},
	{"keep_dense", of_operator, keep_dense, false},
	{"row", of_operator, row, false},
	{"distance", of_operator, distance, false},
	{"relative_error", of_operator, relative_error, false},
	{"davies_bouldin", of_operator, davies_bouldin, true},
	{"features", of_map, features, false},
	{"assign_batch", of_batch, assign_batch, true},
	{"lloyd", of_step, lloyd, true},
	{"planned_sse", of_step, planned_sse, true},
	{"silhouette", of_step, silhouette, true},
	{"waiting", of_step, pending, true},
	{"finish", of_step, finish, true},
	{"combine", of_step, combine, true},
};

/* ---- the subjects ---- */

/*
 * Makes rows between two rows of the product, some moved slightly, a few far
 * away.
 */
static void
make_rows(subject *s, fc_rng *rng)
{
	size_t		d = s->op->d;

	for (size_t r = 0; r < MAX_ROWS; r++)
	{
		const double *a = s->u + fc_rng_below(rng, s->op->k) * d;
		const double *b = s->u + fc_rng_below(rng, s->op->k) * d;
		double		size = r % 11 == 10 ? 1e17 : 1.0 + 1e-7 * (double) (r % 2);

		for (size_t c = 0; c < d; c++)
			s->x[r * d + c] = size * 0.5 * (a[c] + b[c]) + (s->op->offset != NULL ? s->op->offset[c] : 0.0);
	}
}

/* Attaches the rows of the product plus noise as exact centroids. */
static void
keep(subject *s, uint32_t rerank, fc_rng *rng)
{
	size_t		k = s->op->k;
	size_t		d = s->op->d;
	float	   *rows = unit_alloc(k * d, sizeof(float));
	fc_operator codebook = {.k = k,.d = d,.factors = 1,.offset = s->op->offset,.factor = {{.rows = k,.columns = d,.nonzeros = k * d,.values = rows}}};

	for (size_t i = 0; i < k * d; i++)
		rows[i] = (float) (s->u[i] + 0.1 * fc_rng_normal(rng));
	fc_operator_attach_exact(s->op, &codebook, rerank, unit_scratch(fc_operator_scratch(s->op)), unit_alloc(k, sizeof(float)), unit_alloc(k, sizeof(float)));
}

static void
make_map(subject *s, size_t rank)
{
	s->map = (fc_kernel_map) {.rank = rank,.op = *s->op};
	s->map.norms = unit_alloc(s->op->k, sizeof(double));
	s->map.t = unit_alloc(rank * s->op->k, sizeof(double));
}

static void
make_subject(subject *s, uint64_t seed)
{
	static const size_t sizes[] = {1, 2, 3, 7, 8, 9, 16, 17, 31, 40, 64, 97, 300};
	fc_rng		rng = fc_rng_start(seed, 21);
	size_t		k = sizes[fc_rng_below(&rng, 13)];
	size_t		d = sizes[fc_rng_below(&rng, 13)];
	bool		codebook = seed % 4 == 1;
	size_t		factors = codebook ? 1 : 1 + fc_rng_below(&rng, MAX_FACTORS);
	pattern		kinds[MAX_FACTORS];
	double	   *offset;

	for (size_t f = 0; f < MAX_FACTORS; f++)
		kinds[f] = codebook ? DENSE : (pattern) fc_rng_below(&rng, PATTERNS);
	s->made = make_operator(k, d, 1 + fc_rng_below(&rng, seed % 2 == 0 ? 20 : k + d), kinds, factors, seed);
	s->op = &s->made.op;
	s->u = s->made.product;
	s->op->weights = unit_alloc(k, sizeof(double));
	if (seed % 3 == 0)
	{
		offset = unit_alloc(d, sizeof(double));
		offset[0] = 3.0;
		s->op->offset = offset;
		fc_operator_measure(s->op, s->made.scratch, unit_alloc(k, sizeof(float)));
	}
	if (seed % 5 > 1)
		keep(s, seed % 5 == 2 ? FC_RERANK_EXACT : 1 + (uint32_t) fc_rng_below(&rng, k), &rng);
	s->header = unit_alloc(fc_operator_size(s->op), 1);
	fc_operator_write(s->op, s->header);
	if (seed % 2 == 0)
		slice_operator(&s->made);
	s->x = unit_alloc(MAX_ROWS * d, sizeof(double));
	s->floats = unit_alloc(k * d + k + d, sizeof(float));
	s->doubles = unit_alloc(k * d, sizeof(double));
	s->sums = unit_alloc(k * d, sizeof(double));
	s->centroids = unit_alloc(k * d, sizeof(double));
	s->counts = unit_alloc(k, sizeof(int64_t));
	s->labels = unit_alloc(k + MAX_ROWS, sizeof(int32_t));
	make_rows(s, &rng);
	make_map(s, 1 + fc_rng_below(&rng, k));
}

/* ---- the tests ---- */

/*
 * Returns true if the call ends a process in which it gets one float less than
 * it needs.
 */
static bool
stops_short(subject *s, const use *u)
{
	fc_scratch	scratch = unit_scratch(u->floats(s));
	pid_t		child;
	int			status = 0;

	fflush(stdout);
	child = fork();
	if (child == 0)
	{
		scratch.count--;
		fclose(stderr);
		u->call(s, scratch);
		_exit(0);
	}
	return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status);
}

/* All calls run with exactly their scratch, and stop with one float less. */
static void
test_shape(uint64_t seed)
{
	static const size_t counts[] = {1, 2, 7, 8, 9, 31, 32, 33, 40, 64, 255, 256, 257};
	subject		s = {0};

	make_subject(&s, seed);
	for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++)
		for (size_t n = 0; n < (uses[i].many ? sizeof(counts) / sizeof(counts[0]) : 1); n++)
		{
			fc_scratch	scratch;

			s.n = counts[n];
			scratch = unit_scratch(uses[i].floats(&s));
			uses[i].call(&s, scratch);
			unit_checks++;
			if (seed < 6 && n < 2)
				CHECK(stops_short(&s, &uses[i]), "seed %zu, %s of %zu rows: no assertion", (size_t) seed, uses[i].name, s.n);
		}
}

/*
 * The bound of fc_operator_scratch_bound holds for any operator whose vectors
 * between factors have k + d elements or fewer.
 */
static void
test_bound(void)
{
	for (uint64_t seed = 0; seed < 400; seed++)
	{
		fc_rng		rng = fc_rng_start(seed, 22);
		size_t		k = 1 + fc_rng_below(&rng, seed % 2 == 0 ? 5 : 2000);
		size_t		d = 1 + fc_rng_below(&rng, seed % 3 == 0 ? 5 : 2000);
		fc_operator op = {.k = k,.d = d,.factors = 1 + fc_rng_below(&rng, FC_MAX_FACTORS)};
		uint32_t	starts[1] = {0};

		for (size_t f = 0; f < op.factors; f++)
			op.factor[f] = (fc_factor) {.rows = f == 0 ? k : op.factor[f - 1].columns,
			.columns = f + 1 == op.factors ? d : seed % 5 == 0 ? k + d : 1 + fc_rng_below(&rng, k + d),.row_start = starts};
		CHECK(fc_operator_scratch(&op) <= fc_operator_scratch_bound(k, d, op.factors),
			  "k %zu, d %zu, %zu factors: %zu floats, bound %zu", k, d, op.factors, fc_operator_scratch(&op),
			  fc_operator_scratch_bound(k, d, op.factors));
	}
}

int
main(void)
{
	for (uint64_t seed = 0; seed < 40; seed++)
	{
		test_shape(seed);
		unit_free();
	}
	test_bound();
	return unit_finish();
}

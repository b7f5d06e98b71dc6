/* map.c - Nystrom features from the landmarks of an operator; see map.h */
#include "rkhs/map.h"

#include "base/rng.h"
#include "numerics/principal.h"
#include "numerics/rows.h"
#include "rkhs/projection.h"
#include "rkhs/values.h"

/*
 * Eigenvalues of factored landmarks below this fraction of the first one are
 * dropped, because the kernel is computed in float.
 */
#define FACTORED_FLOOR	1e-8

/*
 * Kernel values with an exponent below minus this number are set to 0, because
 * fc_exponential_values returns exp(-87) for them.
 */
#define LARGEST_EXPONENT	87.0f

double
fc_kernel_features_operations(const fc_kernel_map *map)
{
	return (double) map->op.k * (double) (map->op.d + map->rank);
}

size_t
fc_kernel_map_pairs(size_t k, size_t rank)
{
	size_t		max = (k <= FC_EIGEN_WHOLE || k <= FC_MAX_KERNEL_RANK
					   ? k
					   : FC_MAX_KERNEL_RANK);

	return rank == 0 || rank > max ? max : rank;
}

/* ---- construction ---- */

fc_status
fc_kernel_map_solve(const fc_operator *op, const fc_kernel *kernel, size_t rank,
					fc_arena *arena, double *norms, double *t, size_t *found)
{
	fc_mark		used = fc_arena_mark(arena);
	double		floor = (fc_operator_is_codebook(op) ? FC_PSEUDO_INVERSE_FLOOR
						 : FACTORED_FLOOR);
	fc_kernel_input input = {.n = op->k,.d = op->d};
	size_t		pairs = fc_kernel_map_pairs(op->k, rank);
	fc_scratch	scratch = fc_take_scratch(arena, fc_operator_scratch(op));
	double	   *landmarks = FC_TAKE(arena, op->k * op->d, double);
	double	   *matrix = FC_TAKE(arena, op->k * op->k, double);
	double	   *values = FC_TAKE(arena, pairs, double);
	double	   *vectors = FC_TAKE(arena, pairs * op->k, double);
	fc_kernel_rows rows;
	fc_status	status;

	for (size_t j = 0; j < op->k; j++)
	{
		double	   *row = landmarks + j * op->d;

		fc_check();
		fc_operator_row(op, j, scratch, row);
		norms[j] = 0.0;
		for (size_t c = 0; c < op->d; c++)
			norms[j] += row[c] * row[c];
	}
	input.doubles = landmarks;
	status = fc_kernel_prepare(kernel, &input, true, arena, &rows);
	if (status != FC_OK)
		return status;
	fc_kernel_matrix(&rows, &rows, matrix);
	fc_leading_eigen(matrix, op->k, pairs, arena, values, vectors);
	*found = 0;
	for (size_t j = 0; j < pairs; j++)
	{
		bool		above = values[j] > 0.0 && values[j] > floor * values[0];

		*found += above;
		for (size_t i = 0; i < op->k; i++)
			t[j * op->k + i] = above ? vectors[j * op->k + i] /
				sqrt(values[j] * rows.scale)
				: 0.0;
	}
	fc_arena_release(arena, used);
	return FC_OK;
}

/* ---- the stored value ---- */

size_t
fc_kernel_map_size(size_t k, size_t rank, size_t operator_size)
{
	return sizeof(fc_kernel_map_header) + (k + rank * k) * sizeof(double) +
		operator_size;
}

static void
compute_digest(const fc_kernel_map_header *header, size_t size,
			   uint64_t digest[2])
{
	static const uint64_t seeds[] = {1, 2};

	fc_digest(seeds, &header->kernel,
			  size - offsetof(fc_kernel_map_header, kernel), digest);
}

void
fc_kernel_map_write(const fc_kernel *kernel, size_t rank, bool unit,
					const double *norms, const double *t,
					const fc_operator_header *op, size_t operator_size,
					fc_kernel_map_header *header)
{
	size_t		k = op->k;
	double	   *at = (double *) (header + 1);

	memset(header, 0, sizeof(fc_kernel_map_header));
	header->version = FC_KERNEL_MAP_VERSION;
	header->kernel = *kernel;
	header->k = op->k;
	header->d = op->d;
	header->rank = (uint32_t) rank;
	header->unit = unit;
	header->operator_size = operator_size;
	memcpy(at, norms, k * sizeof(double));
	memcpy(at + k, t, rank * k * sizeof(double));
	memcpy(at + k + rank * k, op, operator_size);
	((fc_operator_header *) (at + k + rank * k))->container = 0;
	compute_digest(header, fc_kernel_map_size(k, rank, operator_size),
				   header->digest);
}

static const fc_operator_header *
operator_of(const fc_kernel_map_header *header)
{
	size_t		k = header->k;

	return (const fc_operator_header *) ((const double *) (header + 1) + k +
										 header->rank * k);
}

void
fc_kernel_map_view(const fc_kernel_map_header *header, fc_kernel_map *map)
{
	map->kernel = header->kernel;
	map->rank = header->rank;
	map->unit = header->unit == 1;
	map->norms = (const double *) (header + 1);
	map->t = map->norms + header->k;
	map->single = NULL;
	fc_operator_view(operator_of(header), &map->op);
}

fc_status
fc_kernel_map_check(const void *bytes, size_t size)
{
	const fc_kernel_map_header *header = bytes;
	const double *norms = (const double *) (header + 1);
	uint64_t	digest[2];

	if (size < sizeof(fc_kernel_map_header) ||
		header->version != FC_KERNEL_MAP_VERSION || header->padding != 0 ||
		header->unit > 1 || fc_kernel_check(&header->kernel) != FC_OK ||
		header->kernel.kind == FC_KERNEL_PRECOMPUTED || header->k < 1 ||
		header->k > FC_MAX_CLUSTERS || header->rank < 1 ||
		header->rank > header->k || header->operator_size > size ||
		header->operator_size < sizeof(fc_operator_header) ||
		size !=
		fc_kernel_map_size(header->k, header->rank, header->operator_size))
		return FC_EFORMAT;
	compute_digest(header, size, digest);
	if (digest[0] != header->digest[0] || digest[1] != header->digest[1])
		return FC_EFORMAT;
	if (!fc_all_finite(norms, header->k + (size_t) header->rank * header->k))
		return FC_EFORMAT;
	for (size_t j = 0; j < header->k; j++)
		if (norms[j] < 0.0)
			return FC_EFORMAT;
	if (operator_of(header)->container != 0 ||
		operator_of(header)->k != header->k ||
		operator_of(header)->d != header->d)
		return FC_EFORMAT;
	return fc_operator_check(operator_of(header), header->operator_size);
}

/* ---- preparation shared by rows ---- */

void
fc_kernel_map_prepare(fc_kernel_map *map, fc_arena *arena)
{
	float	   *single = NULL;

	fc_operator_slice(&map->op, arena);
	if (map->kernel.kind == FC_KERNEL_RBF && !fc_operator_is_codebook(&map->op))
	{
		single = FC_TAKE(arena, map->rank * map->op.k, float);
		fc_narrow(map->t, map->rank * map->op.k, single);
	}
	map->single = single;
}

/* ---- rows ---- */

/* Sets dots (k values) to <x, u_j> for each landmark u_j. */
static void
landmark_dots(const fc_operator *op, const double *x, fc_scratch scratch,
			  double *dots)
{
	double		along = 0.0;

	for (size_t c = 0; c < op->d && op->offset != NULL; c++)
		along += x[c] * op->offset[c];
	if (fc_operator_is_codebook(op))
	{
		fc_row_dots(x, op->factor[0].values, op->k, op->d, dots);
		for (size_t j = 0; j < op->k; j++)
			dots[j] += along;
		return;
	}
	fc_narrow(x, op->d, scratch.floats);
	fc_operator_project(op, scratch.floats, scratch, scratch.floats + op->d);
	for (size_t j = 0; j < op->k; j++)
		dots[j] = along + (double) scratch.floats[op->d + j];
}

/*
 * Computes the products of x - offset with the landmarks (without their
 * offset). Stores them in the scratch space after the d floats of x - offset.
 * Returns ||x - offset||^2.
 */
static double
shifted_dots(const fc_operator *op, const double *x, fc_scratch scratch)
{
	double		square = fc_shift_row(x, op->offset, op->d, scratch.floats);

	fc_operator_project(op, scratch.floats, scratch, scratch.floats + op->d);
	return square;
}

/*
 * Returns ||x - u||^2, given square = ||x - o||^2, half_norm = ||u - o||^2 / 2
 * and dot = <x - o, u - o>, where o is the offset. Returns NaN if dot
 * overflowed, because 0 would look like a row equal to u.
 */
static inline double
distance_from(double square, float half_norm, float dot)
{
	return isfinite(dot)
		? fmax(square + 2.0 * ((double) half_norm - (double) dot), 0.0)
		: (double) NAN;
}

/* Sets distances (k values) to ||x - u_j||^2 for each landmark u_j. */
static void
landmark_distances(const fc_operator *op, const double *x, fc_scratch scratch,
				   double *distances)
{
	double		square;

	if (fc_operator_is_codebook(op))
	{
		fc_row_distances(x, op->offset, op->factor[0].values, op->k, op->d,
						 distances);
		return;
	}
	square = shifted_dots(op, x, scratch);
	for (size_t j = 0; j < op->k; j++)
		distances[j] = distance_from(square, op->half_norms[j],
									 scratch.floats[op->d + j]);
}

/*
 * Computes the rbf features of a row for a factored operator, using
 * map->single. `floats` is scratch space for 2 k floats.
 */
static void
single_features(const fc_kernel_map *map, const double *x, fc_scratch scratch,
				float *floats, float *y)
{
	const fc_operator *op = &map->op;
	float	   *exponents = floats;
	float	   *values = floats + op->k;
	double		square = shifted_dots(op, x, scratch);

	memset(values, 0, op->k * sizeof(float));
	for (size_t j = 0; j < op->k; j++)
		exponents[j] = (float) (map->kernel.gamma *
								distance_from(square, op->half_norms[j],
											  scratch.floats[op->d + j]));
	(void) fc_exponential_values(values, op->k, 0.0f, exponents);
	for (size_t j = 0; j < op->k; j++)
		values[j] = exponents[j] > LARGEST_EXPONENT ? 0.0f : values[j];
	fc_dense_apply(map->single, map->rank, op->k, values, y);
}

/*
 * Returns the size of the scratch space in floats: the operator's own scratch
 * space, plus k + rank aligned doubles. The space of the doubles also serves
 * as 2 k floats.
 */
size_t
fc_kernel_map_scratch(const fc_kernel_map *map)
{
	return fc_operator_scratch(&map->op) + 2 * (map->op.k + map->rank) + 1;
}

void
fc_kernel_map_features(const fc_kernel_map *map, const double *x,
					   fc_scratch scratch, float *y)
{
	double	   *values = ((double *) (((uintptr_t) (scratch.floats +
													fc_operator_scratch(&map->op)) +
									   7) &
									  ~(uintptr_t) 7));
	double	   *out = values + map->op.k;
	double		square;
	double		length;

	FC_ASSERT(scratch.count >= fc_kernel_map_scratch(map));
	if (map->single != NULL && !map->unit)
	{
		single_features(map, x, scratch, (float *) values, y);
		return;
	}
	square = map->kernel.kind == FC_KERNEL_COSINE
		? fc_sum_of_squares(x, map->op.d)
		: 0.0;
	if (map->kernel.kind == FC_KERNEL_RBF)
		landmark_distances(&map->op, x, scratch, values);
	else
		landmark_dots(&map->op, x, scratch, values);
	for (size_t j = 0; j < map->op.k; j++)
		values[j] = fc_kernel_value(&map->kernel, values[j], square,
									map->norms[j], values[j]);
	fc_matrix_apply(map->t, map->rank, map->op.k, values, out);
	length = map->unit ? sqrt(fc_sum_of_squares(out, map->rank)) : 1.0;
	for (size_t j = 0; j < map->rank; j++)
		y[j] = (float) (length > 0.0 ? out[j] / length : out[j]);
}

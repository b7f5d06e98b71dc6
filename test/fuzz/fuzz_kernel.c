/*
 * fuzz_kernel.c - fuzzes the checks and the readers of kernel_map and
 * kernel_projection
 */
#include "fuzz.h"
#include "../unit/operators.h"
#include "rkhs/map.h"
#include "rkhs/projection.h"

static const fc_kernel kernels[4] = {
	{FC_KERNEL_VERSION, FC_KERNEL_LINEAR, 0, 0, 0, 0},
	{FC_KERNEL_VERSION, FC_KERNEL_COSINE, 0, 0, 0, 0},
	{FC_KERNEL_VERSION, FC_KERNEL_POLYNOMIAL, 0, 3, 0.5, 1},
	{FC_KERNEL_VERSION, FC_KERNEL_RBF, 0, 0, 2, 0}
};

/*
 * Writes a map with two landmarks, stored as a dense matrix or as two factors.
 */
static size_t
make_map(uint8_t *bytes, unsigned int seed)
{
	static const double weights[2] = {1, 0.5};
	static const float dense[4] = {1, 0, 2, -1};
	static const float unit[4] = {1, 0, 0, 1};
	static const double norms[2] = {1, 5};
	static const double t[4] = {1, 0.5, -2, 0};
	double		capacity[64];
	fc_scratch	scratch;
	float		half_norms[2];
	fc_operator op = {.k = 2,.d = 2,.half_norms = half_norms,.weights = weights,.factors = (seed & 1) ? 2 : 1,
		.factor = {{.rows = 2,.columns = 2,.nonzeros = 4,.values = dense}, {.rows = 2,.columns = 2,.nonzeros = 4,.values = unit}}};
	size_t		rank = 1 + (seed >> 1 & 1);

	scratch = unit_scratch(fc_operator_scratch(&op));
	fc_operator_measure(&op, scratch, half_norms);
	fc_operator_write(&op, (fc_operator_header *) capacity);
	fc_kernel_map_write(&kernels[seed >> 2 & 3], rank, false, norms, t, (const fc_operator_header *) capacity, fc_operator_size(&op),
						(fc_kernel_map_header *) bytes);
	return fc_kernel_map_size(2, rank, fc_operator_size(&op));
}

static size_t
make_projection(uint8_t *bytes, unsigned int seed)
{
	size_t		n = 1 + (seed & 3);
	size_t		rank = 1 + (seed >> 2 & 1);
	size_t		size = fc_kernel_projection_size(n, rank);
	fc_kernel_projection_header *header = (fc_kernel_projection_header *) bytes;

	memset(bytes, 0, size);
	*header = (fc_kernel_projection_header) {.version = FC_KERNEL_PROJECTION_VERSION,
		.method = (uint8_t) (1 + (seed >> 3 & 3)),.kernel = kernels[seed & 3],.n = n,.d = 2,.rank = (uint32_t) rank,.relative_error = -1};
	for (size_t i = 0; i < n; i++)
		fc_kernel_projection_ids(header)[i] = (int64_t) i;
	return size;
}

static size_t
make_value(uint8_t *bytes, size_t capacity, unsigned int seed)
{
	if (capacity < 1024)
		return 0;
	return (seed & 1) ? make_map(bytes, seed >> 1) : make_projection(bytes, seed >> 1);
}

/* Recomputes the digests of the map and of the operator in it. */
static void
reseal(uint8_t *bytes, size_t size)
{
	fc_kernel_map_header *header = (fc_kernel_map_header *) bytes;
	size_t		front = offsetof(fc_kernel_map_header, kernel);
	size_t		inner;

	if (size < sizeof(fc_kernel_map_header) || fc_kernel_projection_check(bytes, size) == FC_OK)
		return;
	inner = header->operator_size;
	if (inner <= size - sizeof(fc_kernel_map_header) && inner % 8 == 0 && size % 8 == 0)
		reseal_operator((fc_operator_header *) (bytes + size - inner), inner);
	for (uint64_t i = 0; i < 2; i++)
		header->digest[i] = fc_hash_bytes(i + 1, bytes + front, size - front);
}

static fc_status
check(const void *bytes, size_t size)
{
	return fc_kernel_map_check(bytes, size) == FC_OK ? FC_OK : fc_kernel_projection_check(bytes, size);
}

static void
use_map(const fc_kernel_map_header *header)
{
	fc_kernel_map map;
	double	   *x;
	fc_scratch	scratch;
	float	   *y;

	fc_kernel_map_view(header, &map);
	if (map.op.k > 4096 || map.op.d > 4096)
		return;
	x = unit_uncleared(map.op.d * sizeof(double));
	scratch = unit_scratch(fc_kernel_map_scratch(&map));
	y = unit_uncleared(map.rank * sizeof(float));
	for (size_t c = 0; c < map.op.d; c++)
		x[c] = (double) c - 1;
	fc_kernel_map_features(&map, x, scratch, y);
	fuzz_sink += (double) y[map.rank - 1];
	fc_kernel_map_prepare(&map, unit_work());
	fc_kernel_map_features(&map, x, scratch, y);
	fuzz_sink += (double) y[map.rank - 1];
}

static void
use(const void *bytes, size_t size)
{
	const fc_kernel_projection_header *projection = bytes;

	if (fc_kernel_map_check(bytes, size) == FC_OK)
	{
		use_map(bytes);
		return;
	}
	fuzz_sink += fc_kernel_projection_eigenvalues(projection)[projection->rank - 1];
	fuzz_sink += (double) fc_kernel_projection_ids(projection)[projection->n - 1];
	fuzz_sink += (double) fc_kernel_projection_rows(projection)[projection->n * projection->rank - 1];
}

/*
 * test_digest.c - sketches of fixed inputs have fixed digests, equal to the
 * bit.
 *
 * A stored sketch is merged with sketches of later releases, so the bytes of
 * the same rows must never change. The builds for x86-64-v3, v4 and ARM
 * produce these bits; the x86-64 baseline has no fused multiply-add and
 * promises only 1e-6.
 */
#include "sketch/isa.h"
#include "specs.h"

#define ROWS 150

/*
 * Name of the portable build, if the machine's baseline has fused
 * multiply-add.
 */
#ifdef __aarch64__
#define FUSED_BASE "baseline"
#else
#define FUSED_BASE "x86-64-v3"
#endif

typedef struct fixed_input
{
	spec_wish	wish;
	bool		weighted;		/* true: weights 0, 1/8, .. 3; false: weight 1 */
	bool		floats;			/* true if rows are floats */
	bool		far;			/* true if every 16th row is 2^20 times farther away */
	size_t		subtracted;		/* number of rows, the first ones, that are subtracted again */
	uint64_t	frequencies;	/* digest of the frequencies, which depends on libm */
	uint64_t	sketch;			/* digest of the sketch */
} fixed_input;

static const fixed_input inputs[] = {
	{.wish = {.dim = 1, .frequencies = 5, .law = FC_LAW_GAUSSIAN, .sigma = 1, .seed = 1},
	.frequencies = UINT64_C(0x9c0e2e77d80737b2), .sketch = UINT64_C(0x894ee7f2674d6c5c)},
	{.wish = {.dim = 2, .frequencies = 33, .law = FC_LAW_FOLDED_GAUSSIAN, .sigma = 0.25, .scales = 16, .seed = 2},
	.frequencies = UINT64_C(0x6e15640322f8134e), .sketch = UINT64_C(0x02794b9926fe31a1)},
	{.wish = {.dim = 3, .frequencies = 40, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 0.7, .scaled = true},
	.weighted = true, .frequencies = UINT64_C(0x4b4632d71dfdac69), .sketch = UINT64_C(0x5d35dcc7e5e13979)},
	{.wish = {.dim = 10, .frequencies = 129, .law = FC_LAW_ADAPTED_RADIUS, .sigma = 2, .scales = 3, .seed = 4},
	.floats = true, .subtracted = 20, .frequencies = UINT64_C(0xbd55c22ab927797b), .sketch = UINT64_C(0xf1bc16630fa505ce)},
	{.wish = {.dim = 17, .frequencies = 500, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 1e-3, .seed = 5},
	.far = true, .frequencies = UINT64_C(0xd7f1a77f707bd710), .sketch = UINT64_C(0x38ec7eee2fa5d727)},
	{.wish = {.dim = 20, .frequencies = 70, .law = FC_LAW_GAUSSIAN, .sigma = 1, .structured = true, .scales = 2},
	.weighted = true, .subtracted = 7, .frequencies = UINT64_C(0xa0dde7068ae2eae5), .sketch = UINT64_C(0xe43725c22fa36337)},
	{.wish = {.dim = 37, .frequencies = 100, .law = FC_LAW_FOLDED_GAUSSIAN, .sigma = 1, .structured = true, .seed = 7},
	.far = true, .floats = true, .frequencies = UINT64_C(0x03267044345cc091), .sketch = UINT64_C(0x5f119fa9073f5a02)},
	{.wish = {.dim = 60, .reduced = 8, .frequencies = 64, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 1.5, .seed = 8},
	.floats = true, .frequencies = UINT64_C(0xa2824c392fd80591), .sketch = UINT64_C(0x70fd53429b2fb91c)},
	{.wish = {.dim = 100, .reduced = 20, .frequencies = 90, .law = FC_LAW_ADAPTED_RADIUS, .sigma = 3, .scales = 2,
	.structured = true, .scaled = true, .seed = 9},
	.weighted = true, .far = true, .subtracted = 50, .frequencies = UINT64_C(0x79d4a792ff51c193), .sketch = UINT64_C(0x7fa7cb355db41aba)},
	{.wish = {.dim = 700, .frequencies = 33, .law = FC_LAW_ADAPTED_RADIUS_KMEANS, .sigma = 5, .seed = 10},
	.weighted = true, .floats = true, .frequencies = UINT64_C(0x7fda6525905f2972), .sketch = UINT64_C(0x2ac01d61d8a8655a)}
};

#define WRITTEN (sizeof(inputs) / sizeof(inputs[0]))

/* Digests of the frequencies and of the sketch for the inputs of input_of. */
static const uint64_t digests[][2] = {
#include "digests.h"
};

#define INPUTS (WRITTEN + sizeof(digests) / sizeof(digests[0]))

static fixed_input
input_of(size_t number)
{
	static const uint32_t dims[] = {1, 2, 5, 12, 16, 24, 33, 64, 129, 300};
	static const double sigmas[] = {1e-6, 0.01, 1, 30, 1e5};
	static const fc_law laws[] = {FC_LAW_GAUSSIAN, FC_LAW_FOLDED_GAUSSIAN, FC_LAW_ADAPTED_RADIUS, FC_LAW_ADAPTED_RADIUS_KMEANS};
	size_t		i = number - WRITTEN;
	uint32_t	dim = dims[i % 10];
	uint32_t	reduced = dim >= 24 && i % 8 < 4 ? dim / 2 : 0;
	fixed_input input = {.weighted = i % 3 == 1,.floats = i % 2 == 1,.far = i % 7 == 3,.subtracted = i % 5 * 9,
	.frequencies = digests[i][0],.sketch = digests[i][1]};

	input.wish = (spec_wish) {.dim = dim,.frequencies = 16 + 7 * (uint32_t) i,.law = laws[i / 10 % 4],.sigma = sigmas[i % 5],
	.scales = i % 4 == 2 ? 3 : 0,.seed = (uint64_t) number,.structured = (reduced ? reduced : dim) >= 16 && i % 6 < 2,
	.reduced = reduced,.scaled = i % 4 == 1};
	return input;
}

/* Returns the 64-bit FNV-1a digest. */
static uint64_t
digest_of(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t	digest = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		digest = (digest ^ at[i]) * UINT64_C(0x100000001b3);
	return digest;
}

/*
 * Makes values from -sigma to 7 sigma from integers alone, so that no library
 * rounds them.
 */
static float *
fixed_rows(const fixed_input *input)
{
	float	   *x = unit_alloc(ROWS * input->wish.dim, sizeof(float));
	uint64_t	state = 12345;

	for (size_t i = 0; i < ROWS * (size_t) input->wish.dim; i++)
	{
		double		far = input->far && i / input->wish.dim % 16 == 5 ? 0x1p20 : 1;

		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		x[i] = (float) (input->wish.sigma * ((double) (state >> 48) / 8192 - 1) * far);
	}
	return x;
}

static int64_t
weight_of(const fixed_input *input, size_t row)
{
	int64_t		weight = FC_ONE_WEIGHT;

	if (input->weighted)
		CHECK(fc_weight_on_grid((double) (row % 25) / 8, &weight) == FC_OK, "the weight of row %zu is refused", row);
	return weight;
}

static void
add_fixed_row(const fixed_input *input, const fc_prepared *prepared, const float *x, size_t r, bool subtract, fc_sketch *sketch)
{
	double		doubles[1024];
	fc_row		row = {.weight = weight_of(input, r)};
	fc_status	status;

	for (size_t i = 0; i < prepared->d; i++)
		doubles[i] = x[r * prepared->d + i];
	if (input->floats)
		row.floats = x + r * prepared->d;
	else
		row.doubles = doubles;
	status = subtract ? fc_sketch_subtract_row(prepared, &row, VIEW(sketch)) : fc_sketch_add(prepared, &row, VIEW(sketch));
	CHECK(status == FC_OK, "row %zu: status %d", r, (int) status);
}

static uint64_t
sketch_digest(const fixed_input *input, const fc_prepared *prepared, const float *x)
{
	uint8_t		flags = (uint8_t) (FC_SKETCH_UNPACKED | (input->weighted ? FC_SKETCH_WEIGHTED : 0));
	fc_sketch  *sketch = new_sketch(prepared->spec, flags, prepared->batch);

	for (size_t r = 0; r < ROWS; r++)
		add_fixed_row(input, prepared, x, r, false, sketch);
	for (size_t r = 0; r < input->subtracted; r++)
		add_fixed_row(input, prepared, x, r, true, sketch);
	sketch = close_sketch(prepared, sketch);
	return digest_of(sketch, fc_sketch_bytes(sketch));
}

static uint64_t
frequency_digest(const fc_spec *spec)
{
	size_t		bytes = (size_t) spec->frequencies * spec->reduced * sizeof(float);
	float	   *omega = unit_alloc(bytes, 1);

	fc_frequencies(spec, unit_work(), omega);
	return digest_of(omega, bytes);
}

/*
 * Frequencies and sketches of an input have the expected digests in every
 * build that the machine can run.
 */
static void
test_input(size_t number)
{
	static const char *const builds[] = {"x86-64-v4", "x86-64-v3", FUSED_BASE};
	fixed_input made_input = number < WRITTEN ? inputs[number] : input_of(number);
	const fixed_input *input = &made_input;
	fc_spec    *spec = make_spec(input->wish);
	ready		made = make_ready(spec);
	float	   *x = fixed_rows(input);
	uint64_t	frequencies = frequency_digest(spec);

	for (size_t b = 0; b < sizeof(builds) / sizeof(builds[0]); b++)
	{
		uint64_t	sketch;

		made.prepared.isa = fc_sketch_isa_named(builds[b]);
		if (made.prepared.isa == NULL)
			continue;
		sketch = sketch_digest(input, &made.prepared, x);
		CHECK(frequencies == input->frequencies, "input %zu: frequencies have digest 0x%016llx", number, (unsigned long long) frequencies);
		CHECK(sketch == input->sketch, "input %zu, %s: sketch has digest 0x%016llx", number, builds[b], (unsigned long long) sketch);
	}
}

int
main(void)
{
	for (size_t number = 0; number < INPUTS; number++)
		test_input(number);
	return unit_finish();
}

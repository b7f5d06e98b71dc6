/*
 * frequency.c - the frequencies of a spec: omega_j = R_j u_j, drawn from
 * (law, seed), or given.
 *
 * Every draw is a Philox block keyed by the seed with counter (frequency,
 * dimension / 2, attempt, purpose), so any frequency can be redrawn alone.
 *
 * The direction u_j is a normalised Gaussian vector. If frequencies are
 * structured, it is row j of H D1 H D2 H D3 / p^(3/2) instead, cut to n
 * coordinates and normalised. H is the p x p Walsh-Hadamard matrix, and D1,
 * D2 and D3 are diagonal matrices of random signs, which differ between
 * blocks of p frequencies (Le, Sarlos, Smola 2013; Chatalic, Gribonval,
 * Keriven 2018).
 *
 * The laws of the radius R_j are from Keriven, Tremblay, Traonmilin,
 * Gribonval 2017 (compressive K-means), section 3.3, and Keriven et al. 2016.
 * adapted_radius is sampled exactly: with E = R^2/4, p(E) ~ sqrt(1 + E)
 * exp(-2E), so E is drawn from Exp(3/2) and accepted with probability sqrt(1
 * + E) exp(-E/2) (about 91 %).
 */
#include "sketch/isa.h"

#include "base/rng.h"
#include "base/simd.h"

#define PI 3.14159265358979323846

enum
{
	DRAW_DIRECTION = 0,
	DRAW_RADIUS = 1,
	DRAW_SIGNS = 2,
	DRAW_LENGTH = 3
};

static void
draw(const fc_spec *spec, uint32_t a, uint32_t b, uint32_t c, uint32_t purpose,
	 uint32_t block[4])
{
	uint32_t	counter[4] = {a, b, c, purpose};

	fc_philox(spec->seed, counter, block);
}

/*
 * Draws g (n values), the standard normal vector of frequency j; returns |g|.
 */
static double
draw_direction(const fc_spec *spec, uint32_t j, float *g)
{
	double		norm = 0;

	for (uint32_t i = 0; i < spec->reduced; i += 2)
	{
		uint32_t	block[4];
		double		pair[2];

		draw(spec, j, i / 2, 0, DRAW_DIRECTION, block);
		fc_normal_pair(block, pair);
		for (uint32_t s = 0; s < 2 && i + s < spec->reduced; s++)
		{
			norm += pair[s] * pair[s];
			g[i + s] = (float) pair[s];
		}
	}
	return sqrt(norm);
}

static double
adapted_radius(const fc_spec *spec, uint32_t j)
{
	for (uint32_t attempt = 0;; attempt++)
	{
		uint32_t	block[4];
		double		energy;

		draw(spec, j, 0, attempt, DRAW_RADIUS, block);
		energy = -log(fc_uniform_of(block[0], block[1])) / 1.5;
		if (fc_uniform_of(block[2], block[3]) <=
			sqrt(1.0 + energy) * exp(-0.5 * energy))
			return 2.0 * sqrt(energy);
	}
}

/*
 * Number of uniform variates that are drawn together, by vector instructions.
 * A guess.
 */
#define DRAWN	256

/*
 * Draws the variates u of normal_length for frequency j and its pairs of
 * coordinates first .. first + DRAWN - 1.
 */
FC_CLONES static void
draw_lengths(uint64_t seed, uint32_t j, uint32_t first, double *u)
{
	for (uint32_t i = 0; i < DRAWN; i++)
	{
		uint32_t	counter[4] = {j, first + i, 0, DRAW_LENGTH};
		uint32_t	block[4];

		fc_philox(seed, counter, block);
		u[i] = fc_uniform_of(block[0], block[1]);
	}
}

/*
 * Draws the length of a standard normal vector of n values, for frequency j.
 * By the formula of fc_normal_pair, the squared length of a pair of values is
 * -2 log u. The variates u are multiplied as long as the product does not
 * underflow, so that few logarithms are needed.
 */
static double
normal_length(const fc_spec *spec, uint32_t j)
{
	double		square = 0;
	double		product = 1.0;
	double		u[DRAWN];

	for (uint32_t i = 0; i < spec->reduced / 2; i++)
	{
		if (i % DRAWN == 0)
			draw_lengths(spec->seed, j, i, u);
		product *= u[i % DRAWN];
		if (product < FC_EXP2_MINUS(900))
		{
			square -= 2.0 * log(product);
			product = 1.0;
		}
	}
	if (spec->reduced % 2 == 1)
	{
		uint32_t	block[4];
		double		pair[2];

		draw(spec, j, spec->reduced / 2, 0, DRAW_LENGTH, block);
		fc_normal_pair(block, pair);
		square += pair[0] * pair[0];
	}
	return sqrt(square - 2.0 * log(product));
}

/* Returns the radius of frequency j. */
static double
radius_of(const fc_spec *spec, uint32_t j)
{
	uint32_t	block[4];
	double		pair[2];

	switch ((fc_law) spec->law)
	{
		case FC_LAW_GAUSSIAN:
			return normal_length(spec, j);
		case FC_LAW_ADAPTED_RADIUS:
			return adapted_radius(spec, j);
		case FC_LAW_FOLDED_GAUSSIAN:
			draw(spec, j, 0, 0, DRAW_RADIUS, block);
			fc_normal_pair(block, pair);
			return fabs(pair[0]);
		case FC_LAW_ADAPTED_RADIUS_KMEANS:
			break;
	}
	draw(spec, j, 0, 0, DRAW_RADIUS, block);
	return sqrt(-2.0 * log(fc_uniform_of(block[0], block[1])));
}

void
fc_block_signs(const fc_spec *spec, uint32_t block, uint32_t round,
			   size_t padded, float *signs)
{
	uint32_t	word[4] = {0, 0, 0, 0};

	for (size_t i = 0; i < padded; i++)
	{
		if (i % 128 == 0)
			draw(spec, block, (uint32_t) (i / 128), round, DRAW_SIGNS, word);
		signs[i] = (word[i / 32 % 4] >> (i % 32) & 1) ? -1.0f : 1.0f;
	}
}

static void
dense_frequency(const fc_spec *spec, uint32_t j, float *omega)
{
	double		norm = draw_direction(spec, j, omega);
	double		factor;

	if (spec->law == FC_LAW_GAUSSIAN)
		return;
	factor = radius_of(spec, j) / (norm > 0 ? norm : 1.0);
	for (uint32_t i = 0; i < spec->reduced; i++)
		omega[i] = (float) (factor * (double) omega[i]);
}

/* Computes row j of H, p = 2^q entries of 1 and -1. */
static void
hadamard_row(size_t j, size_t p, float *v)
{
	v[0] = 1.0f;
	for (size_t half = 1; half < p; half *= 2)
		for (size_t i = 0; i < half; i++)
			v[half + i] = (j & half) != 0 ? -v[i] : v[i];
}

/*
 * Computes row j of H D1 H D2 H D3 (p entries), not normalised, where signs
 * holds the three diagonals. The row is D3 H D2 H D1 H e_j, because each
 * factor is symmetric, and H e_j is a row of H. It therefore costs two
 * transforms.
 */
static void
structured_row(const fc_sketch_isa *isa, const float *signs, size_t j, size_t p,
			   float *v)
{
	hadamard_row(j, p, v);
	isa->transform(signs, p, v);
	isa->transform(signs + p, p, v);
	for (size_t i = 0; i < p; i++)
		v[i] *= signs[2 * p + i];
}

/*
 * Draws the structured frequencies in order. Frequency j is factor * v, where
 * v is a row of H D1 H D2 H D3 cut to n coordinates, and factor gives it the
 * length R_j.
 */
void
fc_structured_frequencies(const fc_spec *spec, fc_arena *arena, float *omega,
						  float *factors)
{
	size_t		n = spec->reduced;
	size_t		p = fc_padded_dim(n);
	const fc_sketch_isa *isa = fc_sketch_isa_select();
	fc_mark		mark = fc_arena_mark(arena);
	float	   *signs = FC_TAKE(arena, 3 * p, float);
	float	   *v = FC_TAKE(arena, p, float);

	for (uint32_t j = 0; j < spec->frequencies; j++)
	{
		double		norm = 0;
		double		factor;

		fc_check();
		if (j % p == 0)
			for (uint32_t round = 0; round < 3; round++)
				fc_block_signs(spec, (uint32_t) (j / p), round, p,
							   signs + round * p);
		structured_row(isa, signs, j % p, p, v);
		for (size_t i = 0; i < n; i++)
			norm += (double) v[i] * (double) v[i];
		factor = norm > 0 ? radius_of(spec, j) / sqrt(norm) : 0;
		if (factors != NULL)
			factors[j] = (float) (factor / PI);
		for (size_t i = 0; omega != NULL && i < n; i++)
			omega[j * n + i] = (float) (factor * (double) v[i]);
	}
	fc_arena_release(arena, mark);
}

void
fc_frequencies(const fc_spec *spec, fc_arena *arena, float *omega)
{
	if (fc_spec_given(spec) != NULL)
	{
		memcpy(omega, fc_spec_given(spec),
			   (size_t) spec->frequencies * spec->reduced * sizeof(float));
		return;
	}
	if (spec->flags & FC_SPEC_STRUCTURED)
	{
		fc_structured_frequencies(spec, arena, omega, NULL);
		return;
	}
	for (uint32_t j = 0; j < spec->frequencies; j++)
	{
		fc_check();
		dense_frequency(spec, j, omega + (size_t) j * spec->reduced);
	}
}

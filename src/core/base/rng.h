/*
 * rng.h - counter-based random numbers.
 *
 * Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011): a block of four 32-bit
 * words is a pure function of a 64-bit key and a 128-bit counter, so that any
 * block can be computed without the others. Code that needs a sequence of
 * numbers uses a stream (fc_rng), which increments the counter. Integers are
 * the same on every machine; normal variates depend on log, cos and sin of the
 * C library.
 */
#ifndef FC_BASE_RNG_H
#define FC_BASE_RNG_H

#include "base/fc.h"

/*
 * Constants of Philox4x32-10: multipliers, Weyl increments of the key, and
 * number of rounds.
 */
#define PHILOX_M0	UINT32_C(0xD2511F53)
#define PHILOX_M1	UINT32_C(0xCD9E8D57)
#define PHILOX_W0	UINT32_C(0x9E3779B9)
#define PHILOX_W1	UINT32_C(0xBB67AE85)
#define PHILOX_ROUNDS	10

static inline void
fc_philox(uint64_t key, const uint32_t counter[4], uint32_t block[4])
{
	uint32_t	k0 = (uint32_t) key;
	uint32_t	k1 = (uint32_t) (key >> 32);
	uint32_t	c0 = counter[0];
	uint32_t	c1 = counter[1];
	uint32_t	c2 = counter[2];
	uint32_t	c3 = counter[3];

#pragma GCC unroll 10			/* lets gcc vectorise loops of its callers */
	for (int round = 0; round < PHILOX_ROUNDS; round++)
	{
		uint64_t	p0 = (uint64_t) PHILOX_M0 * c0;
		uint64_t	p1 = (uint64_t) PHILOX_M1 * c2;

		c0 = (uint32_t) (p1 >> 32) ^ c1 ^ k0;
		c1 = (uint32_t) p1;
		c2 = (uint32_t) (p0 >> 32) ^ c3 ^ k1;
		c3 = (uint32_t) p0;
		k0 += PHILOX_W0;
		k1 += PHILOX_W1;
	}
	block[0] = c0;
	block[1] = c1;
	block[2] = c2;
	block[3] = c3;
}

uint64_t	fc_hash_bytes(uint64_t seed, const void *bytes, size_t size);

/*
 * Returns a keyed hash of three words, in half the time that fc_hash_bytes
 * takes.
 */
uint64_t	fc_hash_words(uint64_t seed, uint64_t a, uint64_t b, uint64_t c);

/* Computes two keyed hashes of the same bytes in one pass. */
void		fc_digest(const uint64_t seeds[2], const void *bytes, size_t size,
					  uint64_t digest[2]);

typedef struct fc_rng
{
	uint64_t	key;
	uint64_t	position;		/* number of blocks drawn so far */
	uint64_t	stream;			/* number of the stream; streams with the same
								 * key are independent */
	uint32_t	block[4];
	int			left;			/* number of unused words of the block, 0 to 4 */
	bool		has_normal;
	double		normal;			/* second normal variate of the last pair, if
								 * has_normal */
} fc_rng;

fc_rng		fc_rng_start(uint64_t seed, uint64_t stream);
uint32_t	fc_rng_word(fc_rng *rng);
double		fc_rng_uniform(fc_rng *rng);	/* uniform in (0, 1), a multiple
											 * of 2^-53 */
double		fc_rng_normal(fc_rng *rng);
size_t		fc_rng_below(fc_rng *rng, size_t limit);	/* uniform integer in
														 * [0, limit) */

/* Returns a uniform variate in (0, 1), made of 52 bits of two random words. */
static inline double
fc_uniform_of(uint32_t high, uint32_t low)
{
	uint64_t	bits = ((uint64_t) high << 32 | low) >> 12;

	return ((double) (int64_t) bits + 0.5) * FC_EXP2_MINUS(52);
}

/*
 * Computes two standard normal variates from four random 32-bit words
 * (Box-Muller on 52-bit uniforms).
 */
void		fc_normal_pair(const uint32_t block[4], double pair[2]);

#endif							/* FC_BASE_RNG_H */

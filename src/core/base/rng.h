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

void		fc_philox(uint64_t key, const uint32_t counter[4], uint32_t block[4]);
uint64_t	fc_hash_bytes(uint64_t seed, const void *bytes, size_t size);

/* Returns the keyed hash of three words, in half the time of fc_hash_bytes. */
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

/*
 * Computes two standard normal variates from four random 32-bit words
 * (Box-Muller on 52-bit uniforms).
 */
void		fc_normal_pair(const uint32_t block[4], double pair[2]);
double		fc_uniform_of(uint32_t high, uint32_t low);

#endif							/* FC_BASE_RNG_H */

/* rng.c - Philox4x32-10 and the distributions built on it; see rng.h */
#include "base/rng.h"

static inline uint64_t
mix(uint64_t a, uint64_t b)
{
	unsigned	__int128 product = (unsigned __int128) a * b;

	return (uint64_t) product ^ (uint64_t) (product >> 64);
}

/*
 * Functions of a keyed hash similar to wyhash. Each step XORs 8 bytes into
 * the hash, multiplies it by a constant, and XORs the two halves of the
 * 128-bit product.
 */
static inline uint64_t
begin_hash(uint64_t seed, size_t size)
{
	return mix(seed ^ UINT64_C(0xA0761D6478BD642F),
			   (uint64_t) size ^ UINT64_C(0xE7037ED1A0B428DB));
}

static inline uint64_t
add_word(uint64_t hash, const unsigned char *at)
{
	uint64_t	word;

	memcpy(&word, at, 8);
	return mix(hash ^ word, UINT64_C(0x8EBC6AF09C88C6E3));
}

/* Adds the remaining bytes, fewer than 8, to the hash and finishes it. */
static inline uint64_t
end_hash(uint64_t hash, const unsigned char *at, size_t bytes)
{
	uint64_t	last = 0;

	memcpy(&last, at, bytes);
	hash = mix(hash ^ last, UINT64_C(0x589965CC75374CC3));
	return mix(hash, UINT64_C(0x1D8E4E27C47D124F));
}

uint64_t
fc_hash_bytes(uint64_t seed, const void *bytes, size_t size)
{
	const unsigned char *p = bytes;
	uint64_t	hash = begin_hash(seed, size);

	for (size_t i = 0; i < size / 8; i++)
		hash = add_word(hash, p + 8 * i);
	return end_hash(hash, p + size / 8 * 8, size % 8);
}

uint64_t
fc_hash_words(uint64_t seed, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t	hash = mix(a ^ seed ^ UINT64_C(0xA0761D6478BD642F),
						   b ^ UINT64_C(0xE7037ED1A0B428DB));

	hash = mix(hash ^ UINT64_C(0x8EBC6AF09C88C6E3),
			   c ^ UINT64_C(0x589965CC75374CC3));
	return mix(hash ^ seed, UINT64_C(0x1D8E4E27C47D124F));
}

/*
 * Computes two hashes in hardly more time than one. A step of a hash waits
 * for the product of the previous step, but the processor overlaps the steps
 * of the two hashes.
 */
void
fc_digest(const uint64_t seeds[2], const void *bytes, size_t size,
		  uint64_t digest[2])
{
	const unsigned char *p = bytes;
	size_t		words = size / 8;
	uint64_t	a = begin_hash(seeds[0], size);
	uint64_t	b = begin_hash(seeds[1], size);

	for (size_t i = 0; i < words; i++)
	{
		a = add_word(a, p + 8 * i);
		b = add_word(b, p + 8 * i);
	}
	digest[0] = end_hash(a, p + 8 * words, size % 8);
	digest[1] = end_hash(b, p + 8 * words, size % 8);
}

fc_rng
fc_rng_start(uint64_t seed, uint64_t stream)
{
	fc_rng		rng = {.key = seed,.stream = stream};

	return rng;
}

uint32_t
fc_rng_word(fc_rng *rng)
{
	if (rng->left == 0)
	{
		uint32_t	counter[4] = {
			(uint32_t) rng->position,
			(uint32_t) (rng->position >> 32),
			(uint32_t) rng->stream,
			(uint32_t) (rng->stream >> 32)
		};

		fc_philox(rng->key, counter, rng->block);
		rng->position++;
		rng->left = 4;
	}
	return rng->block[4 - rng->left--];
}

double
fc_rng_uniform(fc_rng *rng)
{
	uint32_t	high = fc_rng_word(rng);

	return fc_uniform_of(high, fc_rng_word(rng));
}

void
fc_normal_pair(const uint32_t block[4], double pair[2])
{
	double		radius = sqrt(-2.0 * log(fc_uniform_of(block[0], block[1])));
	double		angle = (6.283185307179586476925 *
						 fc_uniform_of(block[2], block[3]));

	pair[0] = radius * cos(angle);
	pair[1] = radius * sin(angle);
}

double
fc_rng_normal(fc_rng *rng)
{
	uint32_t	block[4];
	double		pair[2];

	if (rng->has_normal)
	{
		rng->has_normal = false;
		return rng->normal;
	}
	for (int i = 0; i < 4; i++)
		block[i] = fc_rng_word(rng);
	fc_normal_pair(block, pair);
	rng->normal = pair[1];
	rng->has_normal = true;
	return pair[0];
}

size_t
fc_rng_below(fc_rng *rng, size_t limit)
{
	size_t		index = (size_t) (fc_rng_uniform(rng) * (double) limit);

	return index < limit ? index : limit - 1;
}

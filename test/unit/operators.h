/*
 * operators.h - helpers of the unit tests: operators of one dense factor on
 * the heap, and checks of the bytes of any operator
 */
#ifndef OPERATORS_H
#define OPERATORS_H

#include "operator/bytes.h"
#include "operator/codebook.h"
#include "unit.h"

typedef struct codebook
{
	fc_operator op;				/* uses the caller's weights */
	fc_arena	arena;
} codebook;

/*
 * Makes op a view of an operator with one dense factor, whose bytes are in the
 * arena.
 */
static inline void
view_codebook(fc_metric metric, const double *centroids, const double *weights, size_t k, size_t d, fc_arena *arena, fc_operator *op, double *max)
{
	fc_centroid_source source = {.k = k,.d = d,.x = centroids};
	fc_operator_header *header = (fc_operator_header *) FC_TAKE(arena, fc_codebook_size(k, d), char);

	fc_codebook_write(metric, &source, weights, arena, header, max);
	fc_operator_view(header, op);
}

/* Returns a Euclidean operator with k x d centroids as its only factor. */
static inline codebook
make_codebook(const double *centroids, const double *weights, size_t k, size_t d)
{
	codebook	c = {.arena = unit_arena()};
	double		max;

	view_codebook(FC_EUCLIDEAN, centroids, weights, k, d, &c.arena, &c.op, &max);
	return c;
}

/* Runs all checks of untrusted bytes. */
static inline fc_status
check_operator(const fc_operator_header *header, size_t size)
{
	fc_operator op;
	fc_status	status = fc_operator_check(header, size);

	if (status != FC_OK)
		return status;
	fc_operator_view(header, &op);
	return fc_operator_verify(&op, unit_scratch(fc_operator_scratch(&op)));
}

/* Computes the digests of changed bytes as fc_operator_write does. */
static inline void
reseal_operator(fc_operator_header *header, size_t size)
{
	size_t		front = offsetof(fc_operator_header, k);

	if (size < sizeof(fc_operator_header))
		return;
	for (uint64_t i = 0; i < 2; i++)
		header->digest[i] = fc_hash_bytes((i + 1) ^ (uint64_t) header->flags << 8, (char *) header + front, size - front);
}

#endif							/* OPERATORS_H */

/* operators.h - operators of one dense factor on the heap, and the bytes of any, for unit tests */
#ifndef OPERATORS_H
#define OPERATORS_H

#include "operator/bytes.h"
#include "operator/codebook.h"
#include "unit.h"

typedef struct codebook
{
	fc_operator op;				/* refers to the weights of the caller */
	fc_arena	arena;
} codebook;

/* A view of the operator of one dense factor, whose bytes lie in the arena. */
static inline void
view_codebook(fc_metric metric, const double *centroids, const double *weights, size_t k, size_t d, fc_arena *arena, fc_operator *op, double *most)
{
	fc_centroid_source source = {.k = k,.d = d,.x = centroids};
	fc_operator_header *header = (fc_operator_header *) FC_TAKE(arena, fc_codebook_size(k, d), char);

	fc_codebook_write(metric, &source, weights, arena, header, most);
	fc_operator_view(header, op);
}

/* Of k x d centroids. */
static inline codebook
make_codebook(const double *centroids, const double *weights, size_t k, size_t d)
{
	codebook	c = {.arena = unit_arena()};
	double		most;

	view_codebook(FC_EUCLIDEAN, centroids, weights, k, d, &c.arena, &c.op, &most);
	return c;
}

/* All that is checked of untrusted bytes. */
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

/* What fc_operator_write does once the bytes have been changed. */
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

/* kmeans_problem.h - rows to cluster and space for the result of k-means */
#ifndef KMEANS_PROBLEM_H
#define KMEANS_PROBLEM_H

#include "kmeans/kmeans.h"
#include "unit.h"

typedef struct problem
{
	fc_rows		rows;
	float	   *x;
	double	   *weight;			/* n weights, all 1; unused until rows.weight points here */
	double	   *centre;			/* k x d centers around which a test places the rows */
	size_t		k;
	fc_kmeans_result result;
} problem;

static inline problem
make_problem(size_t n, size_t d, size_t k)
{
	problem		p = {.k = k};

	p.x = unit_alloc(n * d, sizeof(float));
	p.weight = unit_alloc(n, sizeof(double));
	for (size_t i = 0; i < n; i++)
		p.weight[i] = 1.0;
	p.centre = unit_alloc(k * d, sizeof(double));
	p.rows = (fc_rows) {.x = p.x,.weight = NULL,.n = n,.d = d};
	p.result.centroids = unit_alloc(k * d, sizeof(double));
	p.result.weights = unit_alloc(k, sizeof(double));
	p.result.labels = unit_alloc(n, sizeof(int32_t));
	return p;
}

static inline void
solve(problem *p, const double *initial, const fc_kmeans_options *options)
{
	fc_arena	arena = unit_arena();

	fc_kmeans(&p->rows, p->k, initial, options, &arena, &p->result);
	CHECK(arena.allocated == 0, "%zu bytes of the arena are still held", arena.allocated);
}

#endif							/* KMEANS_PROBLEM_H */

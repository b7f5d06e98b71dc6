/* fc_pursuit_kernel.c - the search of matching pursuit; see fc_pursuit.h */
#include "fc_pursuit.h"

#include "fc_clones.h"

#define BLOCK	64
#define LANES	8

FC_CLONES
void
fc_pursuit_correlate(fc_pursuit *p, const double *b, size_t count)
{
	for (size_t first = 0; first < p->n; first += BLOCK)
	{
		size_t		width = p->n - first < BLOCK ? p->n - first : BLOCK;
		double		rest[BLOCK];

		for (size_t i = 0; i < width; i++)
			rest[i] = b[first + i];
		for (size_t r = 0; r < count; r++)
		{
			const double *row = p->gram + p->chosen[0][r] * p->n + first;
			double		value = p->value[0][r];

			for (size_t i = 0; i < width; i++)
				rest[i] -= value * row[i];
		}
		for (size_t i = 0; i < width; i++)
			p->rest[first + i] = (rest[i] < 0.0 ? -rest[i] : rest[i]) * p->root[first + i];
	}
	for (size_t r = 0; r < count; r++)
		p->rest[p->chosen[0][r]] = 0.0;
}

FC_CLONES
size_t
fc_pursuit_best(const fc_pursuit *p)
{
	double		best = 0.0;
	size_t		at = p->n;

	for (size_t first = 0; first < p->n; first += BLOCK)
	{
		size_t		width = p->n - first < BLOCK ? p->n - first : BLOCK;
		const double *rest = p->rest + first;
		double		most[LANES] = {0};
		double		top = 0.0;

		for (size_t i = 0; i + LANES <= width; i += LANES)
			for (size_t l = 0; l < LANES; l++)
				most[l] = rest[i + l] > most[l] ? rest[i + l] : most[l];
		for (size_t i = width / LANES * LANES; i < width; i++)
			top = rest[i] > top ? rest[i] : top;
		for (size_t l = 0; l < LANES; l++)
			top = most[l] > top ? most[l] : top;
		if (!(top > best))
			continue;
		best = top;
		for (at = first; p->rest[at] != top;)
			at++;
	}
	return at;
}

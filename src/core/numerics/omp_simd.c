/* omp_simd.c - the search of matching pursuit; see omp.h */
#include "numerics/omp.h"

#include <math.h>

#include "base/simd.h"

#define BLOCK	64
#define LANES	8
#define CORRELATION_NOISE	1e-12	/* of a correlation, relative to the first atom's */

FC_CLONES
void
fc_omp_begin(fc_omp *p, const double *b)
{
	size_t		best;

	for (size_t i = 0; i < p->n; i++)
	{
		p->rest[i] = b[i];
		p->left[i] = 1.0;
		p->size[i] = fabs(b[i]) * p->root[i];
	}
	best = fc_omp_best(p);
	p->noise = best < p->n ? CORRELATION_NOISE * p->size[best] : 0.0;
}

FC_CLONES
void
fc_omp_extend(fc_omp *p, size_t atom, const double *cholesky, size_t count)
{
	double		scale = 1.0 / cholesky[count];
	double		z = p->rest[atom] * scale;
	double		noise = p->noise;

	for (size_t first = 0; first < p->n; first += BLOCK)
	{
		size_t		width = p->n - first < BLOCK ? p->n - first : BLOCK;
		const double *gram = p->gram + atom * p->n + first;
		const double *root = p->root + first;
		double	   *rest = p->rest + first;
		double	   *left = p->left + first;
		double	   *size = p->size + first;
		double		row[BLOCK];

		for (size_t i = 0; i < width; i++)
			row[i] = gram[i];
		for (size_t r = 0; r < count; r++)
		{
			const double *other = p->rows + r * p->n + first;

			for (size_t i = 0; i < width; i++)
				row[i] -= cholesky[r] * other[i];
		}
		for (size_t i = 0; i < width; i++)
		{
			double		k = row[i] * scale;

			p->rows[count * p->n + first + i] = k;
			rest[i] -= z * k;
			left[i] -= k * root[i] * k * root[i];
			size[i] = fabs(rest[i]) * root[i];
			size[i] = left[i] > FC_DEPENDENT_SHARE && size[i] > noise ? size[i] : 0.0;
		}
	}
	p->size[atom] = 0.0;
	p->left[atom] = 0.0;
}

FC_CLONES
size_t
fc_omp_best(const fc_omp *p)
{
	double		best = 0.0;
	size_t		at = p->n;

	for (size_t first = 0; first < p->n; first += BLOCK)
	{
		size_t		width = p->n - first < BLOCK ? p->n - first : BLOCK;
		const double *size = p->size + first;
		double		most[LANES] = {0};
		double		top = 0.0;
		size_t		i = 0;

		for (; FC_GREATER_NEEDS_LANES && i + LANES <= width; i += LANES)
			for (size_t l = 0; l < LANES; l++)
				most[l] = FC_GREATER(size[i + l], most[l]);
		for (; i < width; i++)
			top = FC_GREATER(size[i], top);
		for (size_t l = 0; l < LANES; l++)
			top = FC_GREATER(most[l], top);
		if (!(top > best))
			continue;
		best = top;
		for (at = first; p->size[at] != top;)
			at++;
	}
	return at;
}

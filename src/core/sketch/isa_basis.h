/*
 * isa_basis.h - a row times the basis of a projection.
 *
 *     y_c = sum over the terms of t_i basis_ic, in the order of the terms
 *
 * Each column is one chain of fused multiply-adds, whatever the length of a vector, so that a row's bits are the same on each.
 * The sums of up to BASIS_VECTORS vectors of columns stay in registers: so many chains keep two units of latency 4 busy.
 *
 * A part of isa_build.c, as isa_rows.h.
 */
#ifndef FC_SKETCH_ISA_BASIS_H
#define FC_SKETCH_ISA_BASIS_H

#define BASIS_VECTORS 8

typedef struct basis_terms
{
	const double *t;			/* count */
	const uint32_t *indices;	/* count: their dimensions; NULL: 0 .. count-1 */
	size_t		count;
} basis_terms;

INLINE void
project_columns(basis_terms terms, const double *basis, size_t n, int vectors, double *y)
{
	vdouble		sum[BASIS_VECTORS];

	for (int v = 0; v < vectors; v++)
		sum[v] = (vdouble) {0};
	for (size_t p = 0; p < terms.count; p++)
	{
		const double *row = basis + (terms.indices != NULL ? terms.indices[p] : p) * n;

		for (int v = 0; v < vectors; v++)
			sum[v] = sum[v] + terms.t[p] * *(const vdouble *) (row + v * DOUBLES);
	}
	for (int v = 0; v < vectors; v++)
		*(vdouble *) (y + v * DOUBLES) = sum[v];
}

/* Constant numbers of vectors, so that the sums have registers. */
INLINE void
project_vectors(basis_terms terms, const double *basis, size_t n, size_t vectors, double *y)
{
	switch (vectors)
	{
		case 1:
			project_columns(terms, basis, n, 1, y);
			break;
		case 2:
			project_columns(terms, basis, n, 2, y);
			break;
		case 3:
			project_columns(terms, basis, n, 3, y);
			break;
		case 4:
			project_columns(terms, basis, n, 4, y);
			break;
		case 5:
			project_columns(terms, basis, n, 5, y);
			break;
		case 6:
			project_columns(terms, basis, n, 6, y);
			break;
		case 7:
			project_columns(terms, basis, n, 7, y);
			break;
		default:
			project_columns(terms, basis, n, BASIS_VECTORS, y);
			break;
	}
}

/* y (fc_padded(n)) = t basis */
static void
apply_basis(const fc_prepared *prepared, basis_terms terms, double *y)
{
	size_t		n = fc_padded(prepared->n);
	size_t		left = n / DOUBLES;

	for (size_t some; left > 0; left -= some)
	{
		size_t		r = n - left * DOUBLES;

		some = left < BASIS_VECTORS ? left : BASIS_VECTORS;
		if (terms.indices == NULL)
			project_vectors(terms, prepared->basis + r, n, some, y + r);
		else
			project_vectors(terms, prepared->basis + r, n, some, y + r);
	}
}

#endif							/* FC_SKETCH_ISA_BASIS_H */

/*
 * isa_sparse.h - bringing in a row of which only the elements that are not 0 are given.
 *
 * Where the center is 0 an element 0 has the grid integer 0 and the coordinate 0, and adds exactly 0 to every sum, that of a
 * coordinate behind a basis too: left out, the others are summed in the same order by the same operations, to the same bits.
 * (A sum that rounds to -0 may become +0: no angle, no grid integer tells them apart.)
 *
 * A part of isa_build.c, as isa_rows.h.
 */
#ifndef FC_SKETCH_ISA_SPARSE_H
#define FC_SKETCH_ISA_SPARSE_H

/* Element p of the row; -0 and 0 are one value. */
INLINE double
sparse_value(const fc_sparse_row *x, size_t p)
{
	return x->values[p] + 0.0;
}

/* q as grid_of has it, for a shift of 0. */
INLINE double
sparse_grid(const fc_prepared *prepared, size_t i, double value)
{
	return rint(value * prepared->inverse_unit[i]);
}

/* y (fc_padded(n)) as reduce has it. */
static void
apply_basis_sparse(const fc_prepared *prepared, const fc_sparse_row *x, double *y)
{
	for (size_t p = 0; p < x->count; p++)
		prepared->centered[p] = sparse_value(x, p) * prepared->inverse_scale[x->indices[p]];
	apply_basis(prepared, (basis_terms) {prepared->centered, x->indices, x->count}, y);
}

/* Are all elements near?  Without a basis y is written. */
INLINE bool
reduce_sparse(const fc_prepared *prepared, const fc_sparse_row *x, float *y)
{
	bool		near = true;

	if (prepared->basis == NULL)
		memset(y, 0, prepared->n * sizeof(float));
	for (size_t p = 0; p < x->count; p++)
	{
		size_t		i = x->indices[p];
		double		value = sparse_value(x, p);

		near &= fabs(sparse_grid(prepared, i, value)) <= FC_NEAR_Q;
		if (prepared->basis == NULL)
		{
			double		reduced = value * prepared->inverse_scale[i];

			near &= fabs(reduced) <= prepared->near_y;
			y[i] = (float) reduced;
		}
	}
	return near;
}

/* What track_vector does, for one element. */
INLINE void
track_element(double *sums, size_t row, size_t i, double q, double value)
{
	double		a = rint(q * 0x1p-24);
	double		b = q - a * 0x1p24;

	sums[i] += q;
	sums[row + i] += a * a;
	sums[2 * row + i] += a * b;
	sums[3 * row + i] += b * b;
	if (value < sums[4 * row + i])
		sums[4 * row + i] = value;
	if (value > sums[5 * row + i])
		sums[5 * row + i] = value;
}

static bool
take_sparse(const fc_prepared *prepared, const fc_sparse_row *x, float *y, double *sums)
{
	size_t		row = prepared->row;
	row_excess	excess = {0};

	if (!reduce_sparse(prepared, x, y))
		return false;
	if (prepared->basis != NULL)
	{
		apply_basis_sparse(prepared, x, prepared->projected);
		bring_reduced(prepared, prepared->projected, y, &excess);
		if (row_flags(&excess) != FC_ROW_NEAR)
			return false;
	}
	if (sums == NULL)
		return true;
	for (size_t p = 0; p < x->count; p++)
		track_element(sums, row, x->indices[p], sparse_grid(prepared, x->indices[p], sparse_value(x, p)), sparse_value(x, p));
	for (size_t i = fc_padded(prepared->d); i < row; i += DOUBLES)
		track_vector(sums, row, i, *(const vdouble *) (prepared->q + i), *(const vdouble *) (prepared->value + i));
	return true;
}

#endif							/* FC_SKETCH_ISA_SPARSE_H */

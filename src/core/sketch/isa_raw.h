/*
 * isa_raw.h - converts batches of rows to grid integers and reduced
 * coordinates (isa_rows.h). The rows wait in the sketch as raw values
 * (layout.h). Also converts single sparse rows.
 *
 * For short rows, the sums of a column stay in registers over the batch. With
 * a large basis, each tile of the basis is read once for several rows. The
 * results have the same bits as the results of isa_rows.h.
 *
 * Included by isa_build.c, like isa_rows.h.
 */
#ifndef FC_SKETCH_ISA_RAW_H
#define FC_SKETCH_ISA_RAW_H

#define RAW_VECTORS	(FC_RAW_ROW / DOUBLES)	/* maximum number of vectors of a
											 * short raw row */

/*
 * Stores a raw row of a spec with a basis. Returns false if the row may not
 * be near (isa.h).
 */
static bool
store_long_row(const fc_prepared *prepared, row_elements x, double *raw)
{
	vdouble		norm2 = {0};
	vlong		out = {0};
	double		sum = 0;

	for (size_t i = 0; i < fc_padded(prepared->d); i += DOUBLES)
	{
		vdouble		value = load_row(x, i, prepared->d);
		vdouble		t = center_vector(prepared, i, value);

		out |= beyond(value, *(const vdouble *) (prepared->lowest + i),
					  *(const vdouble *) (prepared->highest + i));
		norm2 += t * t;
		*(vdouble *) (raw + i) = value;
	}
	for (int v = 0; v < DOUBLES; v++)
		sum += norm2[v];
	return !any_out(out) && sum <= prepared->near_norm2;
}

INLINE bool
store_raw_row(const fc_prepared *prepared, row_elements x, double *raw)
{
	if (prepared->basis != NULL)
		return store_long_row(prepared, x, raw);
	size_t		d = prepared->d;
	size_t		row = prepared->row;
	vlong		out = {0};

	for (size_t v = 0; v < RAW_VECTORS && v * DOUBLES < row; v++)
	{
		size_t		i = v * DOUBLES;
		vdouble		value = load_row(x, i, d);

		out |= beyond(value, *(const vdouble *) (prepared->lowest + i),
					  *(const vdouble *) (prepared->highest + i));
		*(vdouble *) (raw + i) = value;
	}
	return !any_out(out);
}

static bool
store_raw(const fc_prepared *prepared, const fc_row *row, double *raw)
{
	if (row->floats != NULL)
		return store_raw_row(prepared, FLOATS_OF(row->floats), raw);
	if (row->halves != NULL)
		return store_raw_row(prepared, HALVES_OF(row->halves), raw);
	return store_raw_row(prepared, DOUBLES_OF(row->doubles), raw);
}

/*
 * Adds columns i .. i + DOUBLES - 1 of all rows to their sums, which stay in
 * registers. Without a basis, also writes the reduced coordinates of these
 * columns.
 */
INLINE void
take_columns(const fc_prepared *prepared, const double *raw, size_t rows,
			 size_t i, bool basis, float *y, double *sums)
{
	size_t		row = prepared->row;
	size_t		length = fc_padded(prepared->d);
	size_t		n = prepared->n;
	const vdouble center = *(const vdouble *) (prepared->center + i);
	const vdouble inverse_scale = (*(const vdouble *) (prepared->inverse_scale +
													   i));
	const vdouble inverse_unit = (*(const vdouble *) (prepared->inverse_unit +
													  i));
	const vdouble shift = *(const vdouble *) (prepared->shift + i);
	vdouble		sum = {0};
	vdouble		high = {0};
	vdouble		cross = {0};
	vdouble		low = {0};
	vdouble		lower = *(const vdouble *) (sums + 4 * row + i);
	vdouble		upper = *(const vdouble *) (sums + 5 * row + i);

	for (size_t r = 0; r < rows; r++)
	{
		vdouble		value = *(const vdouble *) (raw + r * length + i);
		vdouble		q = round_vector(value * inverse_unit) - shift;
		vdouble		a = round_vector(q * FC_EXP2_MINUS(24));
		vdouble		b = q - a * FC_EXP2(24);

		sum += q;
		high += a * a;
		cross += a * b;
		low += b * b;
		lower = smaller_of(value, lower);
		upper = larger_of(value, upper);
		if (!basis)
			*(vhalf *) (y + r * n +
						i) = FC_NARROW(vhalf, (value - center) * inverse_scale);
	}
	*(vdouble *) (sums + i) += sum;
	*(vdouble *) (sums + row + i) += high;
	*(vdouble *) (sums + 2 * row + i) += cross;
	*(vdouble *) (sums + 3 * row + i) += low;
	*(vdouble *) (sums + 4 * row + i) = lower;
	*(vdouble *) (sums + 5 * row + i) = upper;
}

/*
 * Computes the reduced coordinates of up to FC_PROJECTED_ROWS rows, and adds
 * them to the sums of the reduced dimensions.
 */
static void
take_reduced(const fc_prepared *prepared, const double *raw, size_t rows,
			 float *y, double *sums)
{
	size_t		d = fc_padded(prepared->d);
	row_excess	excess = {0};

	for (size_t r = 0; r < rows; r++)
		for (size_t i = 0; i < d; i += DOUBLES)
			*(vdouble *) (prepared->centered + r * d +
						  i) = center_vector(prepared, i,
											 *(const vdouble *) (raw + r * d +
																 i));
	apply_basis_rows(prepared, rows);
	for (size_t r = 0; r < rows; r++)
	{
		project_reduced(prepared,
						prepared->projected + r * fc_padded(prepared->n),
						y + r * prepared->n, &excess);
		for (size_t i = d; i < prepared->row; i += DOUBLES)
			track_vector(sums, prepared->row, i,
						 *(const vdouble *) (prepared->q + i),
						 *(const vdouble *) (prepared->value + i));
	}
}

/*
 * Converts raw rows as described in isa.h. Without a basis, processes the last
 * columns first: the vector of the last columns may reach beyond the end of a
 * row of y, into the first columns of the next row, which are written later.
 */
static void
take_raw(const fc_prepared *prepared, const double *raw, size_t rows, float *y,
		 double *sums)
{
	size_t		d = fc_padded(prepared->d);
	size_t		some;

	if (prepared->basis == NULL)
	{
		for (size_t i = d; i > 0; i -= DOUBLES)
			take_columns(prepared, raw, rows, i - DOUBLES, false, y, sums);
		return;
	}
	for (size_t i = 0; i < d; i += DOUBLES)
		take_columns(prepared, raw, rows, i, true, NULL, sums);
	for (size_t r = 0; r < rows; r += some)
	{
		some = rows - r < FC_PROJECTED_ROWS ? rows - r : FC_PROJECTED_ROWS;
		take_reduced(prepared, raw + r * d, some, y + r * prepared->n, sums);
	}
}

/*
 * Sparse rows are converted from their nonzero elements alone.
 *
 * If the center is 0, an element 0 has the grid integer 0 and the coordinate
 * 0, and adds exactly 0 to every sum, including the sums of reduced
 * coordinates. The other elements are added in the same order by the same
 * operations, so that the results have the same bits as for a dense row. (A
 * sum that rounds to -0 may become +0, but no angle and no grid integer
 * changes.)
 */
/* Returns element p of the row; -0 becomes 0. */
INLINE double
sparse_value(const fc_sparse_row *x, size_t p)
{
	return x->values[p] + 0.0;
}

/*
 * Returns the grid integer of `value` in dimension i, as grid_of does for a
 * shift of 0.
 */
INLINE double
sparse_grid(const fc_prepared *prepared, size_t i, double value)
{
	return rint(value * prepared->inverse_unit[i]);
}

/*
 * Returns true if the row is near (isa.h), apart from reduced coordinates with
 * a basis: no grid integer exceeds FC_NEAR_Q and, without a basis, no reduced
 * coordinate exceeds near_y. Without a basis, also writes the row as n reduced
 * coordinates to y.
 */
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

/*
 * Adds element i of a row, with grid integer q, to the sums. track_vector does
 * the same for a vector of elements.
 */
INLINE void
track_element(double *sums, size_t row, size_t i, double q, double value)
{
	double		a = rint(q * FC_EXP2_MINUS(24));
	double		b = q - a * FC_EXP2(24);

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
take_sparse(const fc_prepared *prepared, const fc_sparse_row *x, float *y,
			double *sums)
{
	size_t		row = prepared->row;
	row_excess	excess = {0};

	if (!reduce_sparse(prepared, x, y))
		return false;
	if (prepared->basis != NULL)
	{
		basis_terms terms = {prepared->centered, x->indices, x->count};

		for (size_t p = 0; p < x->count; p++)
			prepared->centered[p] = sparse_value(x, p) *
				prepared->inverse_scale[x->indices[p]];
		apply_basis(prepared, terms, prepared->projected);
		project_reduced(prepared, prepared->projected, y, &excess);
		if (row_flags(&excess) != FC_ROW_NEAR)
			return false;
	}
	if (sums == NULL)
		return true;
	for (size_t p = 0; p < x->count; p++)
		track_element(sums, row, x->indices[p],
					  sparse_grid(prepared, x->indices[p], sparse_value(x, p)),
					  sparse_value(x, p));
	for (size_t i = fc_padded(prepared->d); i < row; i += DOUBLES)
		track_vector(sums, row, i, *(const vdouble *) (prepared->q + i),
					 *(const vdouble *) (prepared->value + i));
	return true;
}

#endif							/* FC_SKETCH_ISA_RAW_H */

/*
 * isa_basis.h - a row times the basis of a projection.
 *
 *     y_c = sum over the terms of t_i basis_ic, in the order of the terms
 *
 * Each column is one chain of fused multiply-adds, whatever the length of a vector, so that a row's bits are the same on each.
 * The sums of up to BASIS_VECTORS vectors of columns stay in registers: so many chains keep two units of latency 4 busy.
 * Of several rows those of BASIS_ROWS x BLOCK_VECTORS do, and a tile of so many columns is read from the cache once for each BASIS_ROWS.
 *
 * A part of isa_build.c, as isa_rows.h.
 */
#ifndef FC_SKETCH_ISA_BASIS_H
#define FC_SKETCH_ISA_BASIS_H

#define BASIS_VECTORS 8
#define BASIS_ROWS 4
#if FC_ISA == 4 || defined(__aarch64__)
#define BLOCK_VECTORS 4
#else							/* 16 registers */
#define BLOCK_VECTORS 2
#endif

typedef struct basis_terms
{
	const double *t;			/* count */
	const uint32_t *indices;	/* count: their dimensions; NULL: 0 .. count-1 */
	size_t		count;
} basis_terms;

INLINE void
project_columns(basis_terms terms, const double *tile, size_t width, int vectors, double *y)
{
	vdouble		sum[BASIS_VECTORS];

	for (int v = 0; v < vectors; v++)
		sum[v] = (vdouble) {0};
	for (size_t p = 0; p < terms.count; p++)
	{
		const double *row = tile + (terms.indices != NULL ? terms.indices[p] : p) * width;

		for (int v = 0; v < vectors; v++)
			sum[v] = sum[v] + terms.t[p] * *(const vdouble *) (row + v * DOUBLES);
	}
	for (int v = 0; v < vectors; v++)
		*(vdouble *) (y + v * DOUBLES) = sum[v];
}

/* Constant numbers of vectors, so that the sums have registers. */
INLINE void
project_vectors(basis_terms terms, const double *tile, size_t width, size_t vectors, double *y)
{
	switch (vectors)
	{
		case 1:
			project_columns(terms, tile, width, 1, y);
			break;
		case 2:
			project_columns(terms, tile, width, 2, y);
			break;
		case 3:
			project_columns(terms, tile, width, 3, y);
			break;
		case 4:
			project_columns(terms, tile, width, 4, y);
			break;
		case 5:
			project_columns(terms, tile, width, 5, y);
			break;
		case 6:
			project_columns(terms, tile, width, 6, y);
			break;
		case 7:
			project_columns(terms, tile, width, 7, y);
			break;
		default:
			project_columns(terms, tile, width, BASIS_VECTORS, y);
			break;
	}
}

/* y (fc_padded(n)) = t basis */
static void
apply_basis(const fc_prepared *prepared, basis_terms terms, double *y)
{
	size_t		width;
	size_t		some;

	for (size_t c = 0; c < fc_padded(prepared->n); c += width)
	{
		const double *tile = prepared->basis + c * prepared->d;

		width = fc_basis_tile(prepared, c);
		for (size_t v = 0; v < width / DOUBLES; v += some)
		{
			some = width / DOUBLES - v < BASIS_VECTORS ? width / DOUBLES - v : BASIS_VECTORS;
			if (terms.indices == NULL)
				project_vectors(terms, tile + v * DOUBLES, width, some, y + c + v * DOUBLES);
			else
				project_vectors(terms, tile + v * DOUBLES, width, some, y + c + v * DOUBLES);
		}
	}
}

/* y (BASIS_ROWS rows of length n) = t (BASIS_ROWS rows of length stride) times `vectors` vectors of a tile's columns */
INLINE void
project_block(const double *t, size_t d, size_t stride, const double *tile, size_t width, size_t vectors, double *y, size_t n)
{
	vdouble		sum[BASIS_ROWS][BLOCK_VECTORS];

	for (size_t r = 0; r < BASIS_ROWS; r++)
		for (size_t v = 0; v < vectors; v++)
			sum[r][v] = (vdouble) {0};
	for (size_t i = 0; i < d; i++)
		for (size_t v = 0; v < vectors; v++)
		{
			vdouble		b = *(const vdouble *) (tile + i * width + v * DOUBLES);

			for (size_t r = 0; r < BASIS_ROWS; r++)
				sum[r][v] = sum[r][v] + t[r * stride + i] * b;
		}
	for (size_t r = 0; r < BASIS_ROWS; r++)
		for (size_t v = 0; v < vectors; v++)
			*(vdouble *) (y + r * n + v * DOUBLES) = sum[r][v];
}

/* One tile's columns of `rows` rows, a multiple of BASIS_ROWS. */
static void
apply_tile(const fc_prepared *prepared, size_t c, size_t rows)
{
	const double *tile = prepared->basis + c * prepared->d;
	size_t		width = fc_basis_tile(prepared, c);
	size_t		d = fc_padded(prepared->d);
	size_t		n = fc_padded(prepared->n);
	size_t		some;

	for (size_t v = 0; v < width; v += some * DOUBLES)
	{
		some = width - v < BLOCK_VECTORS * DOUBLES ? 1 : BLOCK_VECTORS;
		for (size_t r = 0; r < rows; r += BASIS_ROWS)
		{
			const double *t = prepared->centered + r * d;
			double	   *y = prepared->projected + r * n + c + v;

			if (some == BLOCK_VECTORS)	/* constant numbers, as above */
				project_block(t, prepared->d, d, tile + v, width, BLOCK_VECTORS, y, n);
			else
				project_block(t, prepared->d, d, tile + v, width, 1, y, n);
		}
	}
}

/* projected (rows x fc_padded(n)) = centered (rows x fc_padded(d)) basis, each row to the same bits as by apply_basis */
static void
apply_basis_rows(const fc_prepared *prepared, size_t rows)
{
	size_t		d = fc_padded(prepared->d);
	size_t		n = fc_padded(prepared->n);
	size_t		whole = rows / BASIS_ROWS * BASIS_ROWS;

	for (size_t c = 0; c < n; c += FC_BASIS_TILE)
		apply_tile(prepared, c, whole);
	for (size_t r = whole; r < rows; r++)
		apply_basis(prepared, (basis_terms) {prepared->centered + r * d, NULL, prepared->d}, prepared->projected + r * n);
}

#endif							/* FC_SKETCH_ISA_BASIS_H */

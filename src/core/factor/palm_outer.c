/*
 * palm_outer.c - the first and the last factor of palm4MSA, solved line by line.
 *
 * With everything else fixed, the columns of S_Q (R = I) are separate problems with one Gram matrix,
 *     min_s || W^(1/2) (u - L s) ||^2 = .. - 2 s' b + s' G s,    G = L' W L, b = L' W u,
 * and so are the rows of S_1 (L = I), with G = R R', b = R u.  Each line takes the better of
 * orthogonal matching pursuit (numerics/omp.h) and its old support solved anew, so that the objective
 * does not rise; where a gradient step only drifts to another support, this finds it at once.
 */
#include "factor/internal.h"

#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "numerics/omp.h"

#define MOST_ENTRIES	64		/* of a line */

/* ---- sizes ---- */

/* Lines are columns of the last factor, rows of the first. */
static void
line_shape(const fc_factors *factors, size_t q, size_t *lines, size_t *length)
{
	const fc_sparse *s = &factors->factor[q].plain;
	bool		last = q + 1 == factors->count;

	*lines = last ? s->columns : s->rows;
	*length = last ? s->rows : s->columns;
}

/* Entries a line may have: its own and its share of what the other direction may add. */
static size_t
entries_of(const fc_factors *factors, size_t q)
{
	const fc_constraint *constraint = &factors->constraint[q];
	bool		last = q + 1 == factors->count;
	size_t		own = last ? constraint->per_column : constraint->per_row;
	size_t		other = last ? constraint->per_row : constraint->per_column;
	size_t		lines;
	size_t		length;

	line_shape(factors, q, &lines, &length);
	return smaller(length, own + other * length / lines);
}

bool
fc_palm_pursued(const fc_palm_work *w, size_t q)
{
	return w->options->pursuit && w->factors->count > 1 && (q == 0 || q + 1 == w->factors->count) &&
		w->factors->constraint[q].kind == FC_LINES && entries_of(w->factors, q) <= MOST_ENTRIES;
}

size_t
fc_palm_ends_worksize(const fc_factors *factors)
{
	size_t		size = 0;

	for (size_t q = 0; factors->count > 1 && q < factors->count; q += factors->count - 1)
	{
		size_t		lines;
		size_t		length;

		line_shape(factors, q, &lines, &length);
		size = larger(size, (length * length + length * FC_TILE_COLUMNS) * sizeof(double) + fc_omp_worksize(length) +
					  fc_sparse_worksize(lines, length, factors->factor[q].plain.capacity) + 4 * 64);
	}
	return size;
}

/* ---- problems ---- */

static void
make_gram(fc_palm_work *w, size_t q, size_t n, double *gram)
{
	for (size_t first = 0; first < n; first += FC_TILE_COLUMNS)
	{
		fc_check();
		fc_palm_gram(w, q, n, first, smaller(FC_TILE_COLUMNS, n - first), gram);
	}
}

/* Lines of `out` from those of `old`, as rows of compressed rows. */
static void
solve_lines(fc_palm_work *w, size_t q, const double *gram, const fc_sparse *old, fc_sparse *out)
{
	fc_omp		pursuit;
	size_t		entries = entries_of(w->factors, q);
	double	   *side = FC_TAKE(w->arena, FC_TILE_COLUMNS * old->columns, double);

	fc_omp_start(gram, old->columns, w->arena, &pursuit);
	out->nonzeros = 0;
	for (size_t first = 0; first < old->rows; first += FC_TILE_COLUMNS)
	{
		size_t		count = smaller(FC_TILE_COLUMNS, old->rows - first);

		fc_palm_right_sides(w, q, old->columns, first, count, side);
		for (size_t i = 0; i < count; i++)
		{
			size_t		start = old->row_start[first + i];
			fc_line		line = {old->column + start, old->value + start, w->factors->lambda,
			old->row_start[first + i + 1] - start};

			if (i % 8 == 0)
				fc_check();
			out->row_start[first + i] = (uint32_t) out->nonzeros;
			out->nonzeros += fc_omp_line(&pursuit, side + i * old->columns, entries, &line,
											 out->capacity - out->nonzeros, out->column + out->nonzeros, out->value + out->nonzeros);
		}
	}
	out->row_start[old->rows] = (uint32_t) out->nonzeros;
}

void
fc_palm_pursue_end(fc_palm_work *w, size_t q)
{
	fc_sparse_pair *s = &w->factors->factor[q];
	fc_sparse  *old = q == 0 ? &s->plain : &s->transposed;
	fc_mark		used = fc_arena_mark(w->arena);
	size_t		n = old->columns;
	double	   *gram = FC_TAKE(w->arena, n * n, double);
	fc_sparse	out;
	double		norm;

	fc_sparse_take(w->arena, old->rows, n, old->capacity, &out);
	make_gram(w, q, n, gram);
	solve_lines(w, q, gram, old, &out);
	norm = fc_sparse_norm(&out);
	if (norm > 0.0)
	{
		fc_sparse_scale(&out, 1.0 / norm);
		w->factors->lambda = norm;
		fc_sparse_copy(&out, old);
		if (q > 0)
			fc_sparse_transpose(old, &s->plain);
		fc_palm_changed(w, q);
	}
	fc_arena_release(w->arena, used);
}

/*
 * factors.c - a product of sparse factors in training: shapes, memory, initial
 * values, budgets; see palm.h
 */
#include "factor/palm.h"

/* ---- shapes ---- */

size_t
fc_factor_rows(size_t k, size_t d, size_t q)
{
	return q == 0 ? k : smaller(k, d);
}

size_t
fc_factor_columns(size_t k, size_t d, size_t count, size_t q)
{
	return q + 1 == count ? d : smaller(k, d);
}

size_t
fc_factor_count(size_t k, size_t d)
{
	size_t		side = smaller(k, d);
	size_t		count = 0;

	for (; side > 1 && count < FC_MAX_FACTORS; side /= 2)
		count++;
	return larger(count, 1);
}

void
fc_factors_take(fc_arena *arena, size_t k, size_t d, size_t count,
				const fc_constraint *constraint, fc_factors *factors)
{
	factors->count = count;
	for (size_t q = 0; q < count; q++)
	{
		size_t		rows = fc_factor_rows(k, d, q);
		size_t		columns = fc_factor_columns(k, d, count, q);

		/*
		 * space for the entries that the constraint keeps, and for the
		 * identity with which factors start
		 */
		fc_sparse_pair_take(arena, rows, columns,
							larger(fc_constraint_capacity(&constraint[q], rows,
														  columns),
								   smaller(rows, columns)),
							&factors->factor[q]);
		factors->constraint[q] = constraint[q];
	}
	fc_factors_start(factors);
}

void
fc_factors_start(fc_factors *factors)
{
	fc_sparse  *last = &factors->factor[factors->count - 1].plain;

	factors->lambda = 1.0;
	last->nonzeros = 0;
	memset(last->row_start, 0, (last->rows + 1) * sizeof(uint32_t));
	for (size_t q = 0; q < factors->count; q++)
	{
		if (q + 1 < factors->count)
			fc_sparse_identity(&factors->factor[q].plain);
		fc_sparse_pair_changed(&factors->factor[q]);
	}
}

static size_t
longest_of(const double *length, size_t n)
{
	size_t		best = 0;

	for (size_t r = 1; r < n; r++)
		if (length[r] > length[best])
			best = r;
	return best;
}

void
fc_factors_start_rows(fc_factors *factors, double *length)
{
	fc_sparse  *first = &factors->factor[0].plain;
	uint32_t	used = 0;

	if (factors->count == 1 || first->rows <= first->columns)
		return;
	for (size_t i = 0; i < first->columns; i++)
	{
		fc_check();
		length[longest_of(length, first->rows)] = -1.0;
	}
	for (size_t r = 0; r < first->rows; r++)
	{
		first->row_start[r] = used;
		if (length[r] < 0.0)
		{
			first->column[used] = used;
			first->value[used++] = 1.0;
		}
	}
	first->row_start[first->rows] = used;
	first->nonzeros = used;
	fc_sparse_pair_changed(&factors->factor[0]);
}

size_t
fc_factors_nonzeros(const fc_factors *factors)
{
	size_t		sum = 0;

	for (size_t q = 0; q < factors->count; q++)
		sum += factors->factor[q].plain.nonzeros;
	return sum;
}

void
fc_factors_transpose(fc_factors *factors)
{
	fc_factors	from = *factors;

	for (size_t q = 0; q < from.count; q++)
	{
		const fc_sparse_pair *pair = &from.factor[from.count - 1 - q];
		const fc_constraint *constraint = &from.constraint[from.count - 1 - q];

		factors->factor[q] = (fc_sparse_pair)
		{
			pair->transposed, pair->plain
		};
		factors->constraint[q] = (fc_constraint)
		{
			constraint->per_column,
				constraint->per_row
		};
	}
}

/* ---- budgets ---- */

static size_t
longest_factor(size_t k, size_t d, size_t count)
{
	return d >= k ? count - 1 : 0;
}

/*
 * Returns the maximum number of values in `count` factors, with sparsity `own`
 * on the factor with the longest side and `sparsity` on the others.
 */
static size_t
mixed_budget(size_t k, size_t d, size_t count, size_t own, size_t sparsity)
{
	size_t		sum = 0;

	for (size_t q = 0; q < count; q++)
	{
		size_t		max = q == longest_factor(k, d, count) ? own : sparsity;
		fc_constraint constraint = {max, max};

		sum += fc_constraint_capacity(&constraint, fc_factor_rows(k, d, q),
									  fc_factor_columns(k, d, count, q));
	}
	return sum;
}

size_t
fc_sparsity_budget(size_t k, size_t d, size_t count, size_t sparsity)
{
	return mixed_budget(k, d, count, sparsity, sparsity);
}

size_t
fc_sparsity_within(size_t k, size_t d, size_t count, size_t budget)
{
	size_t		max = larger(k, d);
	size_t		sparsity = 1;

	while (sparsity < max &&
		   fc_sparsity_budget(k, d, count, sparsity + 1) <= budget)
		sparsity++;
	return sparsity;
}

void
fc_line_constraints(size_t k, size_t d, size_t count, size_t sparsity,
					double budget, fc_constraint *constraint)
{
	size_t		values = (budget < (double) k * (double) d ? (size_t) budget
						  : k * d);
	size_t		own = sparsity > 0 ? sparsity : FC_DEFAULT_SPARSITY;
	size_t		others = own;

	if (budget > 0.0 && sparsity == 0)
		own = others = fc_sparsity_within(k, d, count, values);
	else if (budget > 0.0)
		for (others = 1; others < smaller(k, d) &&
			 mixed_budget(k, d, count, own, others + 1) <= values;)
			others++;
	for (size_t q = 0; q < count; q++)
	{
		size_t		s = q == longest_factor(k, d, count) ? own : others;

		constraint[q] = (fc_constraint)
		{
			s, s
		};
	}
}

void
fc_published_constraints(size_t k, size_t d, size_t count, size_t sparsity,
						 fc_constraint *constraint)
{
	for (size_t q = 0; q < count; q++)
	{
		size_t		rows = fc_factor_rows(k, d, q);
		size_t		columns = fc_factor_columns(k, d, count, q);
		double		kept = (double) sparsity;

		if (q + 1 == count)
			kept = fmax(kept, ldexp((double) smaller(k, d), 1 - (int) count));
		kept *= (double) larger(rows, columns);
		constraint[q] = (fc_constraint)
		{
			(size_t) (kept / (double) rows), (size_t) (kept / (double) columns)
		};
	}
}

size_t
fc_factors_longest(const fc_factors *factors)
{
	size_t		side = factors->factor[0].plain.rows;

	for (size_t q = 0; q < factors->count; q++)
		side = larger(side, factors->factor[q].plain.columns);
	return side;
}

/* sparse_row.c - labels of sparsevecs by the columns of an operator; see sparse_row.h */
#include "postgres.h"

#include "utils/memutils.h"

#include "numerics/metric.h"
#include "pg/base/errors.h"
#include "pg/base/memory.h"
#include "pg/operator/sparse_row.h"

fc_columns *
make_columns(const fc_operator *op, MemoryContext context, Size limit, Size *bytes)
{
	Size		size = fc_columns_worksize(op);
	MemoryContext old;
	fc_arena	arena;
	fc_columns *columns;

	*bytes = 0;
	if (size == 0 || size > limit)
		return NULL;
	old = MemoryContextSwitchTo(context);
	arena = make_arena("the columns of the operator");
	columns = palloc(sizeof(fc_columns));
	fc_columns_make(op, &arena, columns);
	MemoryContextSwitchTo(old);
	*bytes = arena.held + sizeof(fc_columns);
	return columns;
}

static void *
renewed(MemoryContext context, void *old, Size bytes)
{
	if (old != NULL)
		pfree(old);
	return MemoryContextAllocHuge(context, bytes);
}

static void
reserve(sparse_site *site, MemoryContext context, Size elements, Size k)
{
	if (site->room < elements || site->values == NULL)
	{
		site->room = 0;
		elements += elements / 2 + 1;
		site->indices = renewed(context, site->indices, elements * sizeof(uint32));
		site->values = renewed(context, site->values, elements * sizeof(double));
		site->room = elements;
	}
	if (site->k < k)
	{
		site->k = 0;
		site->scores = renewed(context, site->scores, k * sizeof(double));
		site->k = k;
	}
}

/* The row as the metric takes it, in the site. */
static sparse_outcome
take_row(sparse_site *site, vector_reader *reader, Datum datum, const fc_operator *op, const fc_columns *columns)
{
	pgvector_value value;
	Size		count;

	if (columns == NULL)
		return SPARSE_UNKNOWN;
	value = read_pgvector_in_place(reader, datum, "x");
	count = (Size) value.nonzeros;
	if ((size_t) value.d != op->d || count > op->d / 4 || !fc_all_moderate_float((const float *) value.elements, count))
		return SPARSE_UNKNOWN;
	reserve(site, reader->context, count, op->k);
	memcpy(site->indices, value.indices, count * sizeof(uint32));
	fc_widen((const float *) value.elements, count, site->values);
	site->row = (fc_sparse_row) {site->indices, site->values, count};
	return op->metric == FC_COSINE && !fc_unit_sparse_row(site->indices, count, site->values) ? SPARSE_NONE : SPARSE_KNOWN;
}

sparse_outcome
score_sparse_row(sparse_site *site, vector_reader *reader, Datum datum, const fc_operator *op, const fc_columns *columns)
{
	sparse_outcome outcome = take_row(site, reader, datum, op, columns);

	if (outcome == SPARSE_KNOWN)
		site->bound = fc_columns_score(columns, &site->row, site->scores);
	return outcome;
}

sparse_outcome
label_sparse_row(sparse_site *site, vector_reader *reader, Datum datum, const fc_operator *op, const fc_columns *columns, size_t *label)
{
	sparse_outcome outcome = take_row(site, reader, datum, op, columns);

	if (outcome == SPARSE_KNOWN && !fc_columns_assign(columns, &site->row, site->scores, label))
		return SPARSE_UNKNOWN;
	return outcome;
}

/* Zeros of d. */
static void
clear_dense(sparse_site *site, MemoryContext context, Size d)
{
	if (site->d != d)
	{
		site->d = site->written = 0;
		site->dense = renewed(context, site->dense, d * sizeof(double));
		site->places = renewed(context, site->places, d / 4 * sizeof(uint32));
		memset(site->dense, 0, d * sizeof(double));
		site->d = d;
	}
	for (Size p = 0; p < site->written; p++)
		site->dense[site->places[p]] = 0.0;
}

const double *
dense_sparse_row(sparse_site *site, MemoryContext context, Size d)
{
	clear_dense(site, context, d);
	for (Size p = 0; p < site->row.count; p++)
		site->dense[site->indices[p]] = site->values[p];
	memcpy(site->places, site->indices, site->row.count * sizeof(uint32));
	site->written = site->row.count;
	return site->dense;
}

Size
sparse_bytes(const sparse_site *site)
{
	return (site->d + site->room + site->k) * sizeof(double) + (site->d / 4 + site->room) * sizeof(uint32);
}

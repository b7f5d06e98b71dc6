/*
 * kernel_agg.c - the final functions of kernel_projection_agg and
 * landmarks_agg.
 *
 * Rows are sorted first, by their ids or by a hash of their values, so that
 * neither the order of the scan nor the number of workers changes a bit of the
 * result. The core computes the projection or the landmarks.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "base/sort.h"
#include "pg/base/memory.h"
#include "pg/base/progress.h"
#include "pg/operator/operator_value.h"
#include "pg/rkhs/kernel.h"

/* ---- projections ---- */

static fc_kernel_input
input_of(const kernel_rows *rows, const size_t *order)
{
	fc_kernel_input input = {.order = order,.n = rows->n,.d = (Size) rows->d};

	if (rows->width == sizeof(float))
		input.floats = (const float *) rows->x;
	else
		input.doubles = (const double *) rows->x;
	return input;
}

/*
 * Returns the row indexes of n sorted items. The array overwrites the items,
 * for which 2 n elements were allocated, and is then shrunk.
 */
static size_t *
places_of(fc_keyed *items, Size n)
{
	size_t	   *order = (size_t *) items;

	for (Size i = 0; i < n; i++)	/* order[i] overwrites no item that is
									 * still to be read */
		order[i] = (size_t) items[i].value;
	return repalloc_huge(order, n * sizeof(size_t));
}

/* Returns the indexes of the rows sorted by id; a duplicate id is an error. */
static size_t *
order_of_ids(const kernel_rows *rows)
{
	fc_keyed   *items = alloc_large(2 * rows->n * sizeof(fc_keyed));
	size_t	   *order;

	for (Size i = 0; i < rows->n; i++)
		items[i] = (fc_keyed)
	{
		(uint64) rows->ids[i] ^ UINT64CONST(1) << 63, i
	};
	fc_sort(items, rows->n, items + rows->n);
	order = places_of(items, rows->n);
	for (Size i = 1; i < rows->n; i++)
		if (rows->ids[order[i]] == rows->ids[order[i - 1]])
			ereport(ERROR, errcode(ERRCODE_CARDINALITY_VIOLATION),
					errmsg("id %lld occurs more than once",
						   (long long) rows->ids[order[i]]),
					errdetail("Each row must have its own id, because the order of ids determines the random signs of rows."));
	return order;
}

/*
 * Allocates a projection and fills in everything except the coordinates,
 * eigenvalues, error and workspace. Without an order, ids are 1 to n.
 */
static fc_kernel_projection_header *
new_projection(const kernel_rows *rows, const size_t *order)
{
	Size		rank = (Size) rows->rank;
	Size		size = fc_kernel_projection_size(rows->n, rank);
	fc_kernel_projection_header *header;
	int64	   *ids;

	if (size > (Size) MaxAllocSize)
		ereport(ERROR, errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				errmsg("the kernel_projection of %zu rows would take %zu MB, but a value has at most 1024 MB",
					   rows->n, size >> 20),
				errhint("Use a smaller rank, or project a sample and label the other rows with kernel_features."));
	header = palloc_extended(size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	SET_VARSIZE(header, size);
	header->version = FC_KERNEL_PROJECTION_VERSION;
	header->method = rows->method;
	header->kernel = rows->kernel;
	header->seed = rows->seed;
	header->n = rows->n;
	header->d = (uint32) rows->d;
	header->rank = (uint32) rank;
	if (rows->method == FC_KERNEL_ONE_PASS)
	{
		fc_kernel_pass pass = pass_of(rows, rows->n);

		header->oversampling = (uint32) rows->oversampling;
		header->columns = (uint32) pass.columns;
		header->probes = (uint8) pass.probes;
	}
	else if (rows->method != FC_KERNEL_EXACT)
		header->columns = (uint32) Min((Size) rows->columns, rows->n);
	ids = fc_kernel_projection_ids(header);
	for (Size i = 0; i < rows->n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		ids[i] = order == NULL ? (int64) i + 1 : rows->ids[order[i]];
	}
	return header;
}

static void
project(const kernel_rows *rows, const size_t *order, fc_arena *arena,
		fc_embedding *result)
{
	fc_kernel_input input = input_of(rows, order);
	fc_kernel_pass pass = pass_of(rows, rows->n);
	fc_kernel_rows prepared;

	check_kernel_status(fc_kernel_prepare(&rows->kernel, &input,
										  rows->method != FC_KERNEL_ONE_PASS,
										  arena, &prepared),
						&rows->kernel);
	if (rows->method == FC_KERNEL_ONE_PASS)
		fc_kernel_project(&prepared, &pass, arena, result);
	else if (rows->method == FC_KERNEL_NYSTROEM)
		fc_nystroem_project(&prepared, (Size) rows->columns, rows->seed, arena,
							result);
	else if (rows->method == FC_KERNEL_CHOLESKY)
		fc_pivoted_cholesky_project(&prepared, (Size) rows->columns, rows->seed,
									arena, result);
	else
		fc_kernel_eigen_project(&prepared, arena, result);
}

/* ---- projections of a kernel matrix ---- */

/*
 * Sorts the records of the rows of a kernel matrix by id, in place. A record
 * is what fc_kernel_read_row computes from a row. A missing or duplicate id is
 * an error.
 */
static void
order_records(const kernel_rows *rows)
{
	Size		n = (Size) rows->d;
	fc_kernel_pass pass = pass_of(rows, n);
	Size		record = fc_kernel_record(&pass);
	bool	   *found = palloc0(n * sizeof(bool));
	double	   *moved = palloc(record * sizeof(double));
	double	   *x = (double *) rows->x;

	for (Size i = 0; i < rows->n; i++)
	{
		if (found[rows->ids[i] - 1])
			ereport(ERROR, errcode(ERRCODE_CARDINALITY_VIOLATION),
					errmsg("id %lld occurs more than once",
						   (long long) rows->ids[i]),
					errdetail("Each row of a kernel matrix must be passed once."));
		found[rows->ids[i] - 1] = true;
	}
	for (Size i = 0; i < n; i++)
		if (!found[i])
			ereport(ERROR, errcode(ERRCODE_CARDINALITY_VIOLATION),
					errmsg("the kernel matrix has %zu columns, but row %zu is missing",
						   n, i + 1));
	for (Size i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		while (rows->ids[i] != (int64) i + 1)
		{
			Size		to = (Size) rows->ids[i] - 1;

			memcpy(moved, x + to * record, record * sizeof(double));
			memcpy(x + to * record, x + i * record, record * sizeof(double));
			memcpy(x + i * record, moved, record * sizeof(double));
			rows->ids[i] = rows->ids[to];
			rows->ids[to] = (int64) to + 1;
		}
	}
	pfree(found);
	pfree(moved);
}

/*
 * Maximum of ||K - K'|| / ||K|| that is accepted as rounding. Sums in another
 * order differ by about 1e-7 in single precision.
 */
#define MAX_ASYMMETRY	1e-6

static void
project_matrix(const kernel_rows *rows, fc_arena *arena, fc_embedding *result)
{
	fc_kernel_pass pass = pass_of(rows, (Size) rows->d);
	const int8_t *omega = rows->omega;
	double		asymmetry;

	if (omega == NULL)			/* the rows come from workers, which do not
								 * pass on Omega */
	{
		int8_t	   *drawn = FC_TAKE(arena, pass.n * pass.c, int8_t);

		fc_kernel_draw(&pass, drawn);
		omega = drawn;
	}
	check_kernel_status(fc_kernel_project_records(&pass, omega,
												  (double *) rows->x, arena,
												  result, &asymmetry),
						&rows->kernel);
	if (asymmetry > MAX_ASYMMETRY)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("the kernel matrix is not symmetric"),
				errdetail("The norm of K - K' is about %.2g of the norm of K, and rounding explains up to %g.",
						  asymmetry, MAX_ASYMMETRY),
				errhint("Value j of row i and value i of row j must be equal."));
}

/* ---- the final function ---- */

/*
 * Announces the work of a projection of rows. For a kernel matrix, the work
 * was done as its rows arrived.
 */
static void
announce_projection(const kernel_rows *rows,
					const fc_kernel_projection_header *header)
{
	if (!is_precomputed(&rows->kernel))
		announce_work(psprintf("kernel_projection_agg of %zu rows takes", rows->n),
					  fc_kernel_operations(rows->method, rows->n, (Size) rows->d,
										   header->columns > 0 ? header->columns
										   : header->rank),
					  false, "Lower rank, or use method nystroem");
}

PG_FUNCTION_INFO_V1(fastclust_kernel_projection_final);
Datum
fastclust_kernel_projection_final(PG_FUNCTION_ARGS)
{
	const kernel_rows *rows;
	fc_kernel_projection_header *header;
	fc_embedding result;
	fc_arena	arena;
	size_t	   *order = NULL;
	Size		need;

	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	rows = (const kernel_rows *) PG_GETARG_POINTER(0);
	need = is_precomputed(&rows->kernel) ? kernel_whole_size(rows, rows->n)
		: kernel_worksize(rows, rows->n);
	check_budget(kernel_whole_size(rows, rows->n),
				 psprintf("kernel_projection_agg of %zu rows", rows->n));
	if (is_precomputed(&rows->kernel))
		order_records(rows);
	else
		order = order_of_ids(rows);
	header = new_projection(rows, order);
	announce_projection(rows, header);
	arena = make_arena(kernel_aggregate_name(rows));
	result.rank = header->rank;
	result.eigenvalues = fc_kernel_projection_eigenvalues(header);
	result.y = fc_kernel_projection_rows(header);
	if (is_precomputed(&rows->kernel))
		project_matrix(rows, &arena, &result);
	else
		project(rows, order, &arena, &result);
	header->relative_error = result.relative_error;
	header->error_deviation = result.error_deviation;
	header->workspace = need;
	release_arena(&arena);
	if (order != NULL)
		pfree(order);
	Assert(fc_kernel_projection_check(header, VARSIZE(header)) == FC_OK);
	PG_RETURN_POINTER(header);
}

/* ---- landmarks ---- */

fc_codebook *
landmarks_of(const kernel_rows *rows)
{
	fc_kernel_input input;
	fc_kernel_rows prepared;
	fc_arena	arena;
	fc_keyed   *items;
	size_t	   *pivots;
	size_t		found;
	double	   *centroids;
	double	   *weights;
	Size		d = (Size) rows->d;

	announce_work(psprintf("landmarks_agg of %zu rows takes", rows->n),
				  fc_kernel_operations(FC_KERNEL_CHOLESKY, rows->n, d,
									   Min((Size) rows->rank, rows->n)),
				  false, "Lower k");
	arena = make_arena(kernel_aggregate_name(rows));
	items = alloc_large(2 * rows->n * sizeof(fc_keyed));
	fc_sort_rows(rows->x, rows->n, d * (Size) rows->width, items);

	/*
	 * sorted by a hash of the values, so that the scan's order does not
	 * matter
	 */
	input = input_of(rows, places_of(items, rows->n));
	pivots = palloc_extended(Min((Size) rows->rank, rows->n) * sizeof(size_t),
							 MCXT_ALLOC_HUGE);
	pivots[0] = 0;
	check_kernel_status(fc_kernel_prepare(&rows->kernel, &input, true, &arena,
										  &prepared),
						&rows->kernel);
	found = fc_pivoted_cholesky_landmarks(&prepared, (Size) rows->rank,
										  rows->seed, &arena, pivots);
	release_arena(&arena);
	found = Max(found, 1);		/* one landmark must exist: the first row if
								 * all rows are 0 */
	centroids = alloc_large(found * d * sizeof(double));
	weights = alloc_large(found * sizeof(double));
	for (size_t j = 0; j < found; j++)
	{
		size_t		place = input.order[pivots[j]];

		CHECK_FOR_INTERRUPTS();
		weights[j] = 1.0;
		if (input.floats != NULL)
			fc_widen(input.floats + place * d, d, centroids + j * d);
		else
			memcpy(centroids + j * d, input.doubles + place * d,
				   d * sizeof(double));
	}
	return make_codebook(centroids, weights, found, d);
}

PG_FUNCTION_INFO_V1(fastclust_landmarks_final);
Datum
fastclust_landmarks_final(PG_FUNCTION_ARGS)
{
	(void) aggregate_context(fcinfo);
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_POINTER(landmarks_of((const kernel_rows *) PG_GETARG_POINTER(0)));
}

/*
 * kernel_rows.c - collects the rows of kernel_projection_agg and
 * landmarks_agg, with parallel workers. A kernel matrix is never in memory:
 * only the products of its rows with a random matrix Omega are kept
 * (fc_kernel_read_row).
 *
 * The state is `internal` with serial functions, so it is not pushed down to
 * shards. Rows are kept in the precision of the input, 4 or 8 bytes per
 * element. The memory that the final function needs is checked against
 * fastclust.memory_budget whenever the collection grows, so that a table that
 * is too large fails early.
 */
#include "postgres.h"

#include "libpq/pqformat.h"
#include "utils/memutils.h"

#include "numerics/principal.h"
#include "pg/base/arguments.h"
#include "pg/base/memory.h"
#include "pg/base/options.h"
#include "pg/rkhs/kernel.h"

static Size
row_size(const kernel_rows *rows)
{
	fc_kernel_pass pass;

	if (!is_precomputed(&rows->kernel))
		return (Size) rows->d * (Size) rows->width;
	pass = pass_of(rows, (Size) rows->d);
	return fc_kernel_record(&pass) * sizeof(double);
}

const char *
kernel_aggregate_name(const kernel_rows *rows)
{
	return rows->has_ids ? "kernel_projection_agg" : "landmarks_agg";
}

/*
 * Estimates the memory in bytes of the final function for n rows. It holds the
 * prepared rows, the sorted indexes, the columns of the kernel matrix that are
 * read, the eigenproblem of a matrix with as many columns, and the result.
 * Method one_pass also takes one byte for each element of Omega.
 */
Size
kernel_worksize(const kernel_rows *rows, Size n)
{
	bool		precomputed = is_precomputed(&rows->kernel);
	bool		exact = rows->has_ids && rows->method == FC_KERNEL_EXACT;
	bool		one_pass = rows->has_ids && rows->method == FC_KERNEL_ONE_PASS;
	Size		columns = (exact ? n
						   : one_pass ? pass_of(rows, Max(n, 1)).c
						   : Min((Size) (rows->has_ids ? rows->columns
										 : rows->rank),
								 n));
	double		row = (precomputed
					   ? (double) columns
					   : (double) (rows->d + 1) * sizeof(double) +
					   (exact ? 0.0 : (double) columns * (one_pass ? 9 : 8)) +
					   2 * sizeof(size_t));
	double		eigen = (rows->has_ids
						 ? 8.0 * (double) columns *
						 (double) (columns +
								   2 * Min(columns, FC_EIGEN_WHOLE))
						 : 0.0);
	Size		value = (rows->has_ids
						 ? fc_kernel_projection_size(n, (Size) rows->rank)
						 : 0);

	return (Size) Min((double) n * row + eigen + (double) value,
					  (double) (SIZE_MAX / 4));
}

Size
kernel_whole_size(const kernel_rows *rows, Size n)
{
	return n * (row_size(rows) + sizeof(int64)) + kernel_worksize(rows, n);
}

static Size
whole_size(const void *collection, Size n)
{
	return kernel_whole_size(collection, n);
}

static void
set_capacity(kernel_rows *rows, Size capacity)
{
	rows->x = rows->x ? repalloc_huge(rows->x, capacity * row_size(rows))
		: alloc_large(capacity * row_size(rows));
	if (rows->has_ids)
		rows->ids = rows->ids ? repalloc_huge(rows->ids, capacity * sizeof(int64))
			: alloc_large(capacity * sizeof(int64));
	rows->capacity = capacity;
}

/* Makes room for n rows when states of workers are combined. */
static void
joined_capacity(kernel_rows *rows, Size n)
{
	check_budget(n * (row_size(rows) + sizeof(int64)),
				 kernel_aggregate_name(rows));
	if (n > rows->capacity)
		set_capacity(rows, n);
}

/* ---- transition ---- */

/* Maximum number of columns of the kernel matrix that a caller may request. */
#define MAX_KERNEL_COLUMNS	(1 << 20)

/*
 * Number of columns of the kernel matrix that are read by default; the rank if
 * it is larger. With more columns, the projection is closer to the kernel
 * matrix; each costs n d multiply-adds (bench/kernel_clustering.py).
 */
#define DEFAULT_COLUMNS	100

/* Raises an error for an option that the method does not use. */
static void
check_used(const kernel_rows *rows, const char *name, bool given, bool used)
{
	if (given && !used)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("method \"%s\" does not use option \"%s\"",
					   kernel_method_name(rows->method), name));
}

static void
read_projection_options(kernel_rows *rows)
{
	bool		sampled;
	char	   *method = "one_pass";
	const option known[] = {
		{"method", OPTION_TEXT, &method, 0, 0},
		{"oversampling", OPTION_INT, &rows->oversampling, 0, FC_MAX_KERNEL_COLUMNS},
		{"columns", OPTION_INT, &rows->columns, 1, MAX_KERNEL_COLUMNS},
		{"published", OPTION_BOOL, &rows->published, 0, 0},
		{"seed", OPTION_SEED, &rows->seed, 0, 0}
	};

	rows->oversampling = -1;
	if (rows->options != NULL)
		read_options(rows->options, known, lengthof(known));
	rows->method = kernel_method_of_name(method);
	sampled = rows->method == FC_KERNEL_NYSTROEM ||
		rows->method == FC_KERNEL_CHOLESKY;
	check_used(rows, "oversampling", rows->oversampling >= 0,
			   rows->method == FC_KERNEL_ONE_PASS);
	check_used(rows, "columns", rows->columns > 0, sampled);
	check_used(rows, "published", rows->published,
			   rows->method == FC_KERNEL_ONE_PASS);
	if (is_precomputed(&rows->kernel) && rows->method != FC_KERNEL_ONE_PASS)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("method \"%s\" cannot use the kernel \"precomputed\"",
					   kernel_method_name(rows->method)),
				errdetail("The rows of a kernel matrix are read once and not kept."),
				errhint("Use method one_pass."));
	check_count("rank", rows->rank, 1,
				rows->method == FC_KERNEL_ONE_PASS ? FC_MAX_KERNEL_COLUMNS
				: FC_MAX_KERNEL_RANK);
	if (rows->oversampling < 0)
		rows->oversampling = 10;
	if (rows->columns == 0)
		rows->columns = Max(DEFAULT_COLUMNS, rows->rank);
	if (sampled && rows->rank > rows->columns)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg_plural("rank is %d, but there is only %d column",
							  "rank is %d, but there are only %d columns",
							  rows->columns, rows->rank, rows->columns),
				errdetail("The rank of an approximation is at most the number of columns it reads."));
	if (rows->method == FC_KERNEL_ONE_PASS)
		check_count("rank + oversampling",
					(int64) rows->rank + rows->oversampling, 1,
					FC_MAX_KERNEL_COLUMNS);
}

/*
 * Returns an empty state with the parameters in the arguments after the row:
 * kernel, rank or k, and options if there are any.
 */
static kernel_rows
parameters(FunctionCallInfo fcinfo, bool has_ids)
{
	int			at = has_ids ? 3 : 2;
	kernel_rows rows = {.has_ids = has_ids};
	const option known[] = {{"seed", OPTION_SEED, &rows.seed, 0, 0}};

	require_argument(fcinfo, at, "kernel");
	require_argument(fcinfo, at + 1, has_ids ? "rank" : "k");
	rows.kernel = *(const fc_kernel *) PG_GETARG_POINTER(at);
	rows.rank = PG_GETARG_INT32(at + 1);
	if (PG_NARGS() > at + 2)
	{
		require_argument(fcinfo, at + 2, "options");
		rows.options = PG_GETARG_JSONB_P_COPY(at + 2);
	}
	if (has_ids)
		read_projection_options(&rows);
	else
	{
		reject_precomputed(&rows.kernel, "landmarks_agg");
		check_count("k", rows.rank, 1, FC_MAX_CLUSTERS);
		if (rows.options != NULL)
			read_options(rows.options, known, lengthof(known));
	}
	return rows;
}

/*
 * Raises an error if kernel, rank or options differ from their values at the
 * first row.
 */
static void
check_same(FunctionCallInfo fcinfo, const kernel_rows *rows)
{
	int			at = rows->has_ids ? 3 : 2;
	const char *varies = NULL;

	if (PG_ARGISNULL(at) ||
		memcmp(&rows->kernel, PG_GETARG_POINTER(at), sizeof(fc_kernel)) != 0)
		varies = "kernel";
	else if (PG_ARGISNULL(at + 1) || rows->rank != PG_GETARG_INT32(at + 1))
		varies = rows->has_ids ? "rank" : "k";
	else if (rows->options != NULL &&
			 (PG_ARGISNULL(at + 2) ||
			  compareJsonbContainers(&rows->options->root,
									 &PG_GETARG_JSONB_P(at + 2)->root) != 0))
		varies = "options";
	if (varies != NULL)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("%s must be the same for all rows", varies));
}

/* Draws Omega before the first row of a kernel matrix of d rows. */
static void
begin_matrix(kernel_rows *rows)
{
	fc_kernel_pass pass = pass_of(rows, (Size) rows->d);

	check_budget(kernel_whole_size(rows, pass.n),
				 psprintf("kernel_projection_agg of a matrix of %zu rows", pass.n));
	rows->omega = alloc_large(pass.n * pass.c);
	rows->row = alloc_large(pass.n * sizeof(double));
	rows->signs = alloc_large(FC_KERNEL_BLOCK * pass.c * sizeof(double));
	fc_kernel_draw(&pass, rows->omega);
}

/*
 * Appends the products of row `id` of a kernel matrix with Omega to the
 * collected rows.
 */
static void
add_matrix_row(kernel_rows *rows, int64 id, const vector *v)
{
	fc_kernel_pass pass = pass_of(rows, (Size) rows->d);
	const double *row = vector_doubles(v, rows->row);

	if (id < 1 || id > (int64) rows->d)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("id is %lld, out of range", (long long) id),
				errdetail("Row id of a kernel matrix has the kernel values of row id with rows 1 to %d, so ids are from 1 to %d.",
						  rows->d, rows->d));
	if (row[id - 1] < 0)
		ereport(ERROR, errcode(ERRCODE_DATA_EXCEPTION),
				errmsg("the kernel matrix is not positive semidefinite"),
				errdetail("Value %lld of row %lld is %g, but the kernel value of a row with itself is at least 0.",
						  (long long) id, (long long) id, row[id - 1]));
	fc_kernel_read_row(&pass, rows->omega, (Size) id - 1, row, rows->signs,
					   (double *) (rows->x + rows->n * row_size(rows)));
}

static Datum
accumulate(FunctionCallInfo fcinfo, bool has_ids)
{
	MemoryContext context = aggregate_context(fcinfo);
	MemoryContext old;
	kernel_rows *rows = internal_state(fcinfo);
	int			at = has_ids ? 2 : 1;
	kernel_rows given;
	vector		v;

	old = MemoryContextSwitchTo(context);
	if (rows == NULL)
		given = parameters(fcinfo, has_ids);
	else
		check_same(fcinfo, rows);
	MemoryContextSwitchTo(old);
	if (has_ids)
		require_argument(fcinfo, 1, "id");
	if (PG_ARGISNULL(at) && has_ids &&
		is_precomputed((const fc_kernel *) PG_GETARG_POINTER(3)))
		ereport(ERROR, errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				errmsg("row %lld of the kernel matrix must not be NULL",
					   (long long) PG_GETARG_INT64(1)));
	if (PG_ARGISNULL(at))
		return unchanged_state(fcinfo);
	v = row_argument(fcinfo, at);
	MemoryContextSwitchTo(context);
	if (rows == NULL)
	{
		rows = palloc(sizeof(kernel_rows));
		*rows = given;
		rows->kind = &kernel_state_kind;
		rows->d = v.d;
		rows->width = v.floats != NULL ? sizeof(float) : sizeof(double);
		if (is_precomputed(&rows->kernel))
			begin_matrix(rows);
	}
	check_vector_dim(&v, (size_t) rows->d, "the first row");
	if (rows->n == rows->capacity)
	{
		row_need	need = {
			whole_size,
			rows,
			kernel_aggregate_name(rows),
			", or take a sample, and use nystroem and kernel_features for the other rows"
		};

		set_capacity(rows, grown_capacity(rows->capacity, rows->n + 1, &need));
	}
	MemoryContextSwitchTo(old);
	if (is_precomputed(&rows->kernel))
		add_matrix_row(rows, PG_GETARG_INT64(1), &v);
	else
		memcpy(rows->x + rows->n * row_size(rows),
			   v.floats != NULL ? (const void *) v.floats : v.doubles,
			   row_size(rows));
	if (has_ids)
		rows->ids[rows->n] = PG_GETARG_INT64(1);
	rows->n++;
	PG_RETURN_POINTER(rows);
}

PG_FUNCTION_INFO_V1(fastclust_kernel_projection_accum);
Datum
fastclust_kernel_projection_accum(PG_FUNCTION_ARGS)
{
	return accumulate(fcinfo, true);
}

PG_FUNCTION_INFO_V1(fastclust_landmarks_accum);
Datum
fastclust_landmarks_accum(PG_FUNCTION_ARGS)
{
	return accumulate(fcinfo, false);
}

/* ---- between workers ---- */

static void *
combine(FunctionCallInfo fcinfo, void *left_state, void *right_state)
{
	kernel_rows *left = left_state;
	const kernel_rows *right = right_state;

	if (left == NULL)
	{
		left = palloc(sizeof(kernel_rows));
		*left = *right;
		left->n = left->capacity = 0;
		left->ids = NULL;
		left->x = NULL;
		left->omega = NULL;
	}
	check_same_dim(left->d, right->d);
	if (memcmp(&left->kernel, &right->kernel, sizeof(fc_kernel)) != 0 ||
		left->method != right->method || left->rank != right->rank ||
		left->oversampling != right->oversampling ||
		left->columns != right->columns ||
		left->published != right->published || left->seed != right->seed ||
		left->width != right->width)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg("kernel and parameters must be the same for all rows"));
	joined_capacity(left, left->n + right->n);
	memcpy(left->x + left->n * row_size(left), right->x,
		   right->n * row_size(left));
	if (left->has_ids)
		memcpy(left->ids + left->n, right->ids, right->n * sizeof(int64));
	left->n += right->n;
	return left;
}

static void
serialize(FunctionCallInfo fcinfo, void *state, StringInfo message)
{
	const kernel_rows *rows = state;

	check_state_size(rows->n * (row_size(rows) +
								(rows->has_ids ? sizeof(int64) : 0)) +
					 sizeof(kernel_rows) + 64);
	pq_sendbytes(message, (const char *) rows, sizeof(kernel_rows));
	if (rows->has_ids)
		pq_sendbytes(message, (const char *) rows->ids,
					 (int) (rows->n * sizeof(int64)));
	pq_sendbytes(message, (const char *) rows->x,
				 (int) (rows->n * row_size(rows)));
}

static void *
deserialize(FunctionCallInfo fcinfo, StringInfo message)
{
	kernel_rows *rows = palloc(sizeof(kernel_rows));
	Size		n;

	pq_copymsgbytes(message, (char *) rows, sizeof(kernel_rows));
	rows->kind = &kernel_state_kind;
	n = rows->n;
	rows->n = rows->capacity = 0;
	rows->ids = NULL;
	rows->x = NULL;
	rows->omega = NULL;
	rows->options = NULL;
	joined_capacity(rows, n);
	if (rows->has_ids)
		pq_copymsgbytes(message, (char *) rows->ids, (int) (n * sizeof(int64)));
	pq_copymsgbytes(message, (char *) rows->x, (int) (n * row_size(rows)));
	rows->n = n;
	return rows;
}

const state_kind kernel_state_kind = {combine, serialize, deserialize};

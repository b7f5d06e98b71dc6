/*
 * sample.c - the uniform sample of a training, from which the scaling, the
 * frequencies and the landmarks are chosen
 *
 * Rows are sampled by hashes of their ctids, or of their values if they have
 * no ctids, so that samples depend neither on the order of rows nor on workers
 * (core/operator/coreset.h).
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "base/rng.h"
#include "numerics/rows.h"
#include "operator/coreset.h"
#include "pg/base/progress.h"
#include "pg/kmeans/collection.h"
#include "pg/operator/operator_value.h"
#include "pg/operator/sums.h"
#include "pg/rkhs/kernel.h"
#include "pg/train/checks.h"
#include "pg/train/query.h"
#include "pg/train/sample.h"
#include "pg/train/scan_result.h"
#include "pg/train/source.h"

/* Memory that a row takes in addition to its values, in bytes. */
#define ROW_OVERHEAD_BYTES	64

/* Maximum number of rows of the uniform sample. A guess. */
#define MAX_SAMPLE_ROWS	1e6

/*
 * Minimum number of rows of the uniform sample: MIN_SAMPLE_ROWS in total, and
 * ROWS_PER_CLUSTER for each cluster. With more rows, the scaling and the
 * candidates are more precise, but the search takes longer. Guesses.
 */
#define MIN_SAMPLE_ROWS	20000.0
#define ROWS_PER_CLUSTER	50

/*
 * Factor by which more rows are drawn if only complete rows are kept. With a
 * smaller factor, it happens more often that a second scan has to read all
 * rows. A guess.
 */
#define ROWS_PER_COMPLETE_ROW	8

/*
 * Share of the wanted rows below which a sample is drawn again, from all rows.
 * With a larger share, more trainings read the relation twice. A guess.
 */
#define MIN_SAMPLE_SHARE	0.25

/* Sampled rows per micro-cluster, enough to estimate its extent. A guess. */
#define ROWS_PER_MICRO_CLUSTER	50

/*
 * Sampled rows per cluster with effort fast. A larger sample would improve the
 * clusters less than scans of all rows do. A guess.
 */
#define FAST_ROWS_PER_CLUSTER	20.0

/*
 * Coefficient of variation of the squared distances of rows from their mean
 * above which rows have a heavy tail; normally distributed rows have sqrt(2 /
 * d). With a larger limit, samples lack the few rows that determine the SSE;
 * with a smaller one, more trainings search twice (bench/defaults.py).
 */
#define HEAVY_TAIL	1.5

/*
 * Minimum number of rows in a tenth of a sample that sample_of_units divides
 * into sets. Samples with fewer rows, such as samples of very few units,
 * ignore the units. A guess.
 */
#define MIN_ROWS_PER_TENTH	10.0

#define UNIT_SETS	3			/* maximum number of sets in sample_of_units */

Size
rows_in_budget(double size, Size used, Size of_number, Size dimension)
{
	double		free = 1024.0 * fastclust_memory_budget - (double) used;

	return (Size) Max(100.0,
					  Min(size, free / ((double) (of_number * dimension) +
										ROW_OVERHEAD_BYTES)));
}

int
sampling_flags(const training *t, double rows, Size used, Size dim)
{
	int			flags = scan_flags(&t->source);

	rows = Min(rows, t->estimate);
	if (t->source.group_by != NULL ||
		rows <= (double) rows_in_budget(rows, used, SENT_BYTES, dim))
		return flags;
	return flags & ~QUERY_PARALLEL;
}

double
rows_of_clusters(const training *t, double usual)
{
	bool		fast = (t->method == METHOD_KMEANS && t->options->effort == FC_FAST);

	if (fast || t->method == METHOD_DENSITY)
		usual = Min(usual, fast ? FAST_ROWS_PER_CLUSTER : ROWS_PER_MICRO_CLUSTER);
	return usual * (double) t->k;
}

/*
 * Returns the number of rows that the uniform sample would have without a
 * memory budget.
 */
static double
unlimited_rows(const training *t)
{
	return Min(MAX_SAMPLE_ROWS, given_or(t->options->sample_rows,
										 Max(MIN_SAMPLE_ROWS,
											 rows_of_clusters(t, ROWS_PER_CLUSTER))));
}

double
wanted_rows(const training *t)
{
	return (double) rows_in_budget(unlimited_rows(t), 0, SAMPLE_BYTES, t->dim);
}

bool
sample_is_cut(const training *t)
{
	return wanted_rows(t) < Min(unlimited_rows(t), t->estimate);
}

/* ---- the plan of a scan ---- */

static query_argument
numbers_argument_of(const double *values, Size d)
{
	return (query_argument)
	{
		"_float8",
			values == NULL ? (Datum) 0
			: make_float8_array(values, (int) d),
			values == NULL
	};
}

void
set_scaling(const training *t, query_argument *arguments)
{
	arguments[0] = numbers_argument_of(t->scaling.center, t->dim);
	arguments[1] = numbers_argument_of(t->scaling.scale, t->dim);
	arguments[2] = (query_argument)
	{
		"kernel_map", PointerGetDatum(t->map),
			t->map == NULL
	};
}

Datum
plan_of_scan(const training *t, const train_source *source,
			 const scan_request *request)
{
	record_builder plan = begin_record("scan_plan", (Datum) 0);
	bool		observed = source->observed && (request->size > 0 || request->operators > 0);
	Datum		operators[SCAN_STEPS];

	set_value(&plan, "encoder", source->encoder);
	set_text(&plan, "metric", source->cosine ? "cosine" : observed ? "observed" : NULL);
	set_numbers(&plan, "center", request->scaling.center, t->dim);
	set_numbers(&plan, "scale", request->scaling.scale, t->dim);
	set_value(&plan, "map", request->map);
	set_value(&plan, "spec", request->spec);
	set_value(&plan, "drift_spec", request->drift_spec);
	set_column(&plan, "share", Int32GetDatum(Max(1, request->share)));
	if (request->size > 0)
		set_column(&plan, "size",
				   Int32GetDatum((int32) Min(request->size, FC_MAX_CLUSTERS)));
	set_numbers(&plan, "sample_center",
				request->variance > 0 ? request->center : NULL, t->dim);
	set_number(&plan, "sample_variance",
			   request->variance > 0 ? request->variance : NAN);
	set_column(&plan, "seed", Int64GetDatum(t->options->seed));
	set_number(&plan, "rank_limit",
			   request->rank_limit > 0 ? request->rank_limit : NAN);
	set_number(&plan, "weight_factor",
			   source->weight != NULL ? source->weight_factor : NAN);
	for (int i = 0; i < request->operators; i++)
		operators[i] = PointerGetDatum(request->op[i]);
	if (request->operators > 0)
		set_value(&plan, "operators",
				  construct_array(operators, request->operators,
								  type_of_name("fastop"), -1, false,
								  TYPALIGN_DOUBLE));
	return end_record(&plan);
}

/* ---- rows ---- */

/* Rows that are chosen by their indexes. */
typedef struct indexed_rows
{
	const fc_weighted_rows *rows;
	const int32 *index;
	double	   *row;
}			indexed_rows;

static const double *
indexed_row(void *place, size_t i)
{
	const		indexed_rows *indexed = place;

	fc_weighted_row(indexed->rows, (Size) indexed->index[i], indexed->row);
	return indexed->row;
}

/* Returns the rows at `count` indexes as centroids with the given weights. */
static fc_codebook *
rows_at(const fc_weighted_rows *rows, const int32 *index, Size count, const double *weights)
{
	indexed_rows indexed = {rows, index, palloc(rows->d * sizeof(double))};
	fc_centroid_source source = {
		.k = count,
		.d = rows->d,
		.row = indexed_row,
		.place = &indexed
	};

	return make_codebook_of(rows->metric, &source, weights);
}

/*
 * Returns `count` indexes of rows for even_rows, in random order. Imagine the
 * weights as consecutive intervals that fill a line of length `total`, and
 * points on the line at distances total / count, from a random offset on. The
 * index of a row occurs once for each point in the interval of the row.
 */
static int32 *
even_indexes(const fc_weighted_rows *rows, double total, Size count, uint64 seed)
{
	int32	   *index = alloc_large(count * sizeof(int32));
	fc_rng		rng = fc_rng_start(seed, 0);
	double		offset = fc_rng_uniform(&rng);
	double		sum = 0;
	Size		n = 0;

	for (Size i = 0; i < rows->n; i++)
		for (sum += rows->weights[i];
			 n < count && (i + 1 == rows->n || ((double) n + offset) * total < sum * count);
			 n++)
		{
			Size		place = (Size) fc_rng_below(&rng, n + 1);

			index[n] = index[place];
			index[place] = (int32) i;
		}
	return index;
}

const fc_weighted_rows *
even_rows(const fc_weighted_rows *rows, uint64 seed)
{
	double		total = fc_weight_sum(rows->weights, rows->n);
	bool		equal = true;
	bool		whole = total < Max(rows->n, MIN_SAMPLE_ROWS);
	Size		count;
	double	   *weights;

	for (Size i = 0; i < rows->n; i++)
	{
		equal = equal && rows->weights[i] == rows->weights[0];
		whole = whole && rows->weights[i] == rint(rows->weights[i]);
	}
	if (equal)
		return rows;
	count = whole ? (Size) total : rows->n;
	weights = alloc_large(count * sizeof(double));
	for (Size i = 0; i < count; i++)
		weights[i] = 1;
	return rows_of_operator(rows_at(rows, even_indexes(rows, total, count, seed), count,
									weights));
}

fc_codebook *
every_nth_row(const fc_weighted_rows *rows, Size step, Size max)
{
	Size		count = Min((rows->n + step - 1) / step, max);
	int32	   *index = alloc_large(count * sizeof(int32));
	double	   *weights = alloc_large(count * sizeof(double));
	fc_codebook *result;

	for (Size i = 0; i < count; i++)
	{
		index[i] = (int32) (i * step);
		weights[i] = rows->weights[i * step];
	}
	result = rows_at(rows, index, count, weights);
	pfree(weights);
	pfree(index);
	return result;
}

/*
 * Returns the importance of each row (core/operator/coreset.h), computed with
 * the mean and the variance of these rows. The importances therefore have the
 * mean 1, and half the coefficient of variation of the squared distances.
 */
static double *
relative_importances(const fc_weighted_rows *rows)
{
	double	   *mean = palloc(rows->d * sizeof(double));
	double	   *deviation = palloc(rows->d * sizeof(double));
	double		variance = 0;

	fc_weighted_moments(rows, mean, deviation);
	for (Size i = 0; i < rows->d; i++)
		variance += deviation[i] * deviation[i];
	return importances_of_rows(rows, mean, variance);
}

bool
has_heavy_tail(const fc_weighted_rows *rows)
{
	double	   *importances = relative_importances(rows);
	double		squares = 0;

	for (Size i = 0; i < rows->n; i++)
		squares += rows->weights[i] * (importances[i] - 1) * (importances[i] - 1);
	pfree(importances);
	return 2 * sqrt(squares / fc_weight_sum(rows->weights, rows->n)) > HEAVY_TAIL;
}

fc_codebook *
important_rows(const fc_weighted_rows *rows, double count, uint64 seed)
{
	double	   *scores = relative_importances(rows);
	double	   *weights = alloc_large(rows->n * sizeof(double));
	bool	   *chosen = alloc_large(rows->n * sizeof(bool));
	fc_rng		rng = fc_rng_start(seed, 0);
	double		place = fc_rng_uniform(&rng);
	double		limit;
	Size		n = 0;

	for (Size i = 0; i < rows->n; i++)
	{
		scores[i] *= rows->weights[i];
		weights[i] = 1;
	}
	fc_coreset_limit(scores, weights, rows->n, count / (double) rows->n, &limit);
	for (Size i = 0; i < rows->n; i++)
	{
		double		share = Min(1, scores[i] * limit);

		place += share;
		chosen[i] = place >= 1;
		if (!chosen[i])
			continue;
		place -= 1;
		weights[n++] = rows->weights[i] / share;
	}
	return with_weights(chosen_rows(rows, chosen), weights);
}

const fc_weighted_rows *
first_rows(const fc_weighted_rows *rows, Size max)
{
	return rows_of_operator(every_nth_row(rows, 1, max));
}

const fc_weighted_rows *
rows_with_map(const fc_kernel_map_header *header, const fc_weighted_rows *rows)
{
	memory_account memory = {"computing the features of a sample"};
	fc_kernel_map map;
	double	   *x;
	float	   *y;
	double	   *features;
	fc_scratch	scratch;
	fc_operator_header *result;

	if (header == NULL)
		return rows;
	fc_kernel_map_view(header, &map);
	announce_work(psprintf("the features of %zu rows take", rows->n),
				  (double) rows->n * fc_kernel_features_operations(&map), false,
				  "Lower option landmarks or rank");
	charge_memory(&memory, rows->n * (rows->d + map.rank) * sizeof(double) +
				  codebook_bytes(rows->n, map.rank));
	x = numbers_of_rows(rows);
	y = palloc(map.rank * sizeof(float));
	scratch = make_scratch(fc_kernel_map_scratch(&map));
	features = alloc_large(rows->n * map.rank * sizeof(double));
	for (Size r = 0; r < rows->n; r++)
	{
		vector		row = {.d = (int) rows->d,.doubles = x + r * rows->d};

		CHECK_FOR_INTERRUPTS();
		check_vector_dim(&row, map.op.d, "the kernel_map");
		check_single_precision(&row);
		fc_kernel_map_features(&map, row.doubles, scratch, y);
		if (!fc_all_finite_float(y, map.rank))
			check_kernel_status(FC_EFAR, &map.kernel);
		for (Size i = 0; i < map.rank; i++)
			features[r * map.rank + i] = y[i];
	}
	result = make_codebook(features, rows->weights, rows->n, map.rank);
	pfree(x);
	pfree(features);
	pfree(scratch.floats);
	return rows_of_operator(result);
}

scaling
encoder_scaling(const train_source *source)
{
	fc_encoder	view;
	scaling		scaled;

	fc_encoder_view(source->encoder, &view);
	scaled.center = view.center;
	scaled.scale = view.scale;
	return fc_encoder_is_scaled(&view) ? scaled : no_scaling;
}

const double *
fill_of_source(const train_source *source, scaling scaled)
{
	fc_encoder	view;
	double	   *fill;

	if (!source->observed)
		return NULL;
	fc_encoder_view(source->encoder, &view);
	if (scaled.center == NULL)
		return view.fill;
	fill = palloc(view.dim * sizeof(double));
	fc_rescale_rows(view.fill, 1, view.dim, scaled.center, scaled.scale, fill);
	return fill;
}

/* ---- queries of rows ---- */

/*
 * Returns an SQL condition on a column of vectors that is true for vectors
 * without a defect, or NULL if an error message is about no defect. The last
 * word of a message about an element is "infinite", "NaN" or "NULL"; another
 * message has the number of dimensions of the first row at its end.
 */
static char *
condition_without(const char *message, const char *column)
{
	const char *name = quote_identifier(column);
	const char *first = strstr(message, ", but the first row has ");
	const char *defect = strstr(message, " is ");

	if (first != NULL && strncmp(message, "vector has ", strlen("vector has ")) == 0)
		return psprintf("cardinality(%s) = %s", name, strrchr(first, ' ') + 1);
	if (defect == NULL || strncmp(message, "vector element ", strlen("vector element ")) != 0)
		return NULL;
	defect += strlen(" is ");
	if (strcmp(defect, "infinite") == 0)
		return psprintf("NOT '{Infinity,-Infinity}' && %s", name);
	return psprintf("array_position(%s, %s) IS NULL", name,
					strcmp(defect, "NaN") == 0 ? "'NaN'" : "NULL");
}

/*
 * Adds a hint to an error about a vector: a condition that leaves out such
 * rows. The error may come from a parallel worker, which does
 * not know the name of the column.
 */
static void
hint_bad_vector(void *training_of_scan)
{
	const training *t = training_of_scan;
	const train_source *source = &t->source;
	MemoryContext old;
	const char *condition;

	if (!source->array || (geterrcode() != ERRCODE_NULL_VALUE_NOT_ALLOWED &&
						   geterrcode() != ERRCODE_DATA_EXCEPTION))
		return;
	old = MemoryContextSwitchTo(CurTransactionContext);
	condition = condition_without(CopyErrorData()->message, source->features[0]);
	if (condition != NULL && source->takes_where)
		errhint("Leave out such rows of column \"%s\": options => %s.", source->features[0],
				where_option(t->options->where, condition));
	else if (condition != NULL)
		errhint("Leave out such rows of column \"%s\": pass a view with WHERE %s.",
				source->features[0], condition);
	MemoryContextSwitchTo(old);
}

void
run_row_query(const training *t, const char *text, int count, const query_argument *arguments,
			  int flags)
{
	ErrorContextCallback callback = {
		.previous = error_context_stack,
		.callback = hint_bad_vector,
		.arg = (void *) t
	};

	error_context_stack = &callback;
	run_query(text, count, arguments, flags);
	error_context_stack = callback.previous;
}

/* ---- the sample ---- */

Size
dimension_of(const training *t)
{
	bool		null = true;
	Datum		d = (Datum) 0;

	if (t->source.encoder != NULL)
		return t->source.encoder->dim;
	run_row_query(t, psprintf("SELECT cardinality(scaled_vector(NULL, NULL, %s)) %s LIMIT 1",
							  t->source.raw, rows_from(&t->source, all_rows, NULL)),
				  0, NULL, 0);
	if (SPI_processed > 0)
		d = query_value(0, 1, &null);
	end_query();
	if (null)
		reject_no_rows(t);
	return (Size) DatumGetInt32(d);
}

const fc_weighted_rows *
read_sample(const train_source *source, uint64 row, memory_account *memory, int64 *n)
{
	scan_result result;
	bool		null;
	Datum		packed = query_value(row, 2, &null);

	if (null)
		return NULL;
	read_scan(packed, &result);
	*n = result.n;
	return result.n > 0
		? rows_of_coreset(result.sample, fill_of_source(source, no_scaling), memory)
		: NULL;
}

/*
 * Runs the scan in `text`. Sets samples[i] to the sample in row i of its
 * result; NULL if the row has no sample.
 */
static void
draw_samples(const training *t, const train_source *source, Size dim, const char *text,
			 double size, const fc_weighted_rows **samples)
{
	scan_request request = {.size = size};
	query_argument plan = {"scan_plan", plan_of_scan(t, source, &request)};
	memory_account memory = {"a sample"};
	int64		n;

	run_row_query(t, text, 1, &plan, sampling_flags(t, size, 0, dim));
	for (uint64 row = 0; row < SPI_processed; row++)
		samples[row] = read_sample(source, row, &memory, &n);
	end_query();
}

/*
 * Returns `wanted`, reduced to the number of rows that a sample may have in
 * the memory budget.
 */
static double
drawn_size(double wanted, Size dim)
{
	return (double) rows_in_budget(Min(wanted, MAX_SAMPLE_ROWS), 0, SAMPLE_BYTES, dim);
}

const fc_weighted_rows *
sample_of_source(const training *t, const train_source *given, Size dim,
				 double wanted)
{
	train_source source = *given;
	double		size = drawn_size(wanted, dim);
	const char *picked;
	const char *every;
	const fc_weighted_rows *rows = NULL;

	if (source.complete != NULL)
		source.filter = psprintf("%s AND %s", source.filter, source.complete);
	source.group_by = NULL;
	wanted = rows_to_read(&source,
						  (source.complete == NULL ? 1 : ROWS_PER_COMPLETE_ROW) * size);
	picked = scan_text(&source, some_rows(t, wanted));
	every = scan_text(&source, all_rows);
	draw_samples(t, given, dim, picked, size, &rows);

	/*
	 * Draw from all rows if there are far fewer rows than outdated statistics
	 * of the planner indicate.
	 */
	if (strcmp(picked, every) != 0 && (rows == NULL || rows->n < MIN_SAMPLE_SHARE * size))
		draw_samples(t, given, dim, every, size, &rows);
	if (rows == NULL)
		reject_no_rows(t);
	return rows;
}

const fc_weighted_rows *
uniform_sample(training *t, double wanted)
{
	t->dim = dimension_of(t);
	if (wanted == 0 && !isnan(t->options->sample_rows) && sample_is_cut(t) &&
		!t->options->quiet)
		ereport(NOTICE,
				errmsg("option \"sample_rows\": fastclust.memory_budget cuts %.0f rows to %.0f",
					   t->options->sample_rows, wanted_rows(t)),
				errhint("Increase fastclust.memory_budget, which is %d MB.",
						fastclust_memory_budget / 1024));
	return sample_of_source(t, &t->source, t->dim,
							wanted > 0 ? wanted : wanted_rows(t));
}

/* ---- samples in sets of units ---- */

const int	unit_halves[2] = {5, 5};

const fc_weighted_rows *
joined_rows(const fc_weighted_rows *const *sets, const Size *taken, int count)
{
	Size		d = sets[0]->d;
	Size		words = fc_missing_words(d);
	Size		n = 0;
	Size		r = 0;
	bool		partial = false;
	double	   *x;
	double	   *weights;
	uint64	   *missing;
	fc_weighted_rows *joined;

	for (int set = 0; set < count; set++)
	{
		n += taken[set];
		partial = partial || sets[set]->missing != NULL;
	}
	x = alloc_large(n * d * sizeof(double));
	weights = alloc_large(n * sizeof(double));
	missing = MemoryContextAllocExtended(CurrentMemoryContext, n * words * sizeof(uint64),
										 MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (int set = 0; set < count; r += taken[set++])
	{
		double	   *values = numbers_of_rows(sets[set]);

		memcpy(x + r * d, values, taken[set] * d * sizeof(double));
		pfree(values);
		memcpy(weights + r, sets[set]->weights, taken[set] * sizeof(double));
		if (sets[set]->missing != NULL)
			memcpy(missing + r * words, sets[set]->missing, taken[set] * words * sizeof(uint64));
	}
	joined = rows_of_operator(make_codebook_for(sets[0]->metric, x, weights, n, d));
	if (partial)
		joined->missing = missing;
	return joined;
}

const fc_weighted_rows *
sample_of_units(const training *t, const train_source *source, Size dim, const int *tenths,
				double wanted)
{
	const fc_weighted_rows *sets[UNIT_SETS] = {NULL};
	Size		taken[UNIT_SETS];
	double		size = drawn_size(wanted, dim);
	double		n = floor(size / 10);
	int			count = tenths[0] + tenths[1] < 10 ? 3 : 2;

	draw_samples(t, source, dim, unit_sets_text(source, tenths, some_rows(t, size)), size, sets);
	for (int set = 0; set < count; set++)
	{
		if (sets[set] == NULL)
			return sample_of_source(t, source, dim, wanted);
		sets[set] = even_rows(sets[set], (uint64) t->options->seed);
		n = Min(n, floor(sets[set]->n / tenths[set]));
	}
	if (n < MIN_ROWS_PER_TENTH)
		return sample_of_source(t, source, dim, wanted);
	for (int set = 0; set < count; set++)
		taken[set] = (Size) n * (Size) tenths[set];
	return joined_rows(sets, taken, count);
}

int
ascending(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

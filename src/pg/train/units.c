/*
 * units.c - drift counts of rows that have weights, or belong to units such as
 * customers, which option unit gives (core/drift/units.h)
 *
 * A query divides the rows into parts by a hash of their units. Its result has
 * a packed state for each part, and the sizes of the units.
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "pg/base/memory.h"
#include "pg/base/vectors.h"
#include "pg/drift/drift_value.h"
#include "pg/sketch/sketch_value.h"
#include "pg/train/query.h"
#include "pg/train/scan.h"
#include "pg/train/serving.h"
#include "pg/train/source.h"
#include "pg/train/units.h"

#define SQUARE_BITS	40			/* number of significant bits to which
								 * fc_drift_parts.square is rounded */

/* Columns of the query of a scan (bucket_scan_text, unit_scan_text). */
enum
{
	COLUMN_VALUE = 1,
	COLUMN_STATE,
	COLUMN_PARTS,
	COLUMN_SIZES
};

/* Elements of COLUMN_SIZES, as unit_scan_text describes them. */
enum
{
	SIZE_UNITS,
	SIZE_WEIGHT,
	SIZE_SQUARES,
	SIZE_OWN_SQUARES,
	SIZES
};

void
scan_sums(const training *t, const scan_request *request, const char *query, int flags)
{
	train_source source = t->source;
	query_argument plan = {"scan_plan"};
	int			nest = NewGUCNestLevel();

	if (has_parts(&source))
	{
		check_budget(2 * FC_DRIFT_PARTS * (Size) t->groups *
					 (fc_drift_size_of_spec(request->drift_spec, 0) +
					  fc_sketch_size(request->spec, 0, 0)),
					 "the counts of units");
		set_hashing();

		/*
		 * scale weights down to at most 1, and further if sums over many rows
		 * could overflow
		 */
		source.weight_factor = Min(1, 0.5 * FC_MAX_ROWS / FC_DRIFT_MAX_WEIGHT /
								   Max(1, t->estimate)) / source.max_weight;
	}
	plan.value = plan_of_scan(t, &source, request);
	run_row_query(t, query, 1, &plan, scan_flags(&source) | flags);
	AtEOXact_GUC(false, nest);
}

/*
 * Returns both sides of a drift test with the same sums on each side. Sets
 * *view to a view of the sketch.
 */
static fc_drift_sides
twice(const scan_request *request, const fc_drift_fill *fill, const scan_result *sums,
	  fc_sketch_view *view)
{
	const fc_drift_counts *counts = sums->counts;

	*view = fc_sketch_view_of(sums->sketch);
	return (fc_drift_sides)
	{
		.spec = request->drift_spec,
			.fill = fill,
			.counts =
		{
			counts, counts
		},
			.sketch =
		{
			view, view
		}
	};
}

/*
 * Replaces the drift counts of all rows in *result by counts that include the
 * variances between units. row: row of the result of scan_sums.
 */
static void
add_units(const training *t, const scan_request *request, uint64 row, scan_result *result)
{
	const fc_drift_fill *fill = (t->source.encoder == NULL ? NULL
								 : fill_of_encoder(t->source.encoder, request->drift_spec));
	fc_sketch_view all;
	fc_sketch_view sketch[FC_DRIFT_PARTS];
	fc_drift_sides part[FC_DRIFT_PARTS];
	fc_drift_parts parts = {.all = twice(request, fill, result, &all),.part = part};
	bool		null;
	ArrayType  *array = DatumGetArrayTypeP(query_value(row, COLUMN_PARTS, &null));
	double	   *size = read_float8_array(query_value(row, COLUMN_SIZES, &null), SIZES, "sizes");
	Datum	   *state;
	int			count;
	int			exponent;

	deconstruct_array(array, ARR_ELEMTYPE(array), -1, false, TYPALIGN_DOUBLE, &state, NULL,
					  &count);
	for (int i = 0; i < count; i++)
	{
		scan_result sums;

		read_scan(state[i], &sums);
		if (sums.counts == NULL)
			continue;
		part[parts.count] = twice(request, fill, &sums, &sketch[parts.count]);
		parts.count++;
	}
	parts.rows = (double) all.head->count;
	parts.units = (int64) size[SIZE_UNITS];

	/*
	 * If a row is counted with probability 1 / share, the squared weights of
	 * units grow by share - 1 times the squared weights of rows. The sum is
	 * rounded, because sums of weights depend on the order of the rows.
	 */
	parts.square = frexp((size[SIZE_SQUARES] +
						  size[SIZE_OWN_SQUARES] * (Max(1, request->share) - 1)) /
						 (size[SIZE_WEIGHT] * size[SIZE_WEIGHT]),
						 &exponent);
	parts.square = ldexp(rint(ldexp(parts.square, SQUARE_BITS)), exponent - SQUARE_BITS);
	result->counts = counts_with_units(&parts);
}

scan_result
read_sums(const training *t, const scan_request *request, uint64 row)
{
	scan_result result = {0};
	bool		null;
	Datum		state = query_value(row, COLUMN_STATE, &null);

	if (!null)
		read_scan(state, &result);
	if (has_parts(&t->source) && result.counts != NULL)
		add_units(t, request, row, &result);
	return result;
}

void
count_units(const training *t, group_fit *fits, int count)
{
	scan_request request = {
		.spec = spec_without_sample(t->spec),
		.drift_spec = t->drift_spec,
		.share = sketched_share(t, t->groups)
	};

	if (!has_parts(&t->source) || t->drift_spec == NULL)
		return;
	scan_sums(t, &request, unit_scan_text(&t->source, t->source.group_by), 0);
	for (uint64 row = 0; row < SPI_processed; row++)
	{
		bool		null;
		Datum		value = query_value(row, COLUMN_VALUE, &null);
		char	   *group = null ? "" : group_as_served(t, TextDatumGetCString(value));
		scan_result result = read_sums(t, &request, row);

		for (int i = 0; i < count; i++)
			if (strcmp(fits[i].group, group) == 0 && result.counts != NULL)
				fits[i].counts = result.counts;
	}
	end_query();
}

/*
 * units.c - counts of the rows of a relation in units (core/drift/units.h)
 *
 * A query groups the rows by a hash of their units. Its result has a packed
 * state for each part, which are added up here, and the sizes of the units.
 */
#include "postgres.h"

#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "pg/base/memory.h"
#include "pg/drift/drift_value.h"
#include "pg/sketch/sketch_value.h"
#include "pg/train/query.h"
#include "pg/train/scan.h"
#include "pg/train/serving.h"
#include "pg/train/source.h"
#include "pg/train/units.h"

/* Columns of the query (unit_scan_text). */
enum
{
	COLUMN_VALUE = 1,
	COLUMN_STATES,
	COLUMN_PARTS,
	COLUMN_UNITS,
	COLUMN_ROWS,
	COLUMN_SQUARES
};

void
scan_units(const training *t, const scan_request *request, const char *query, int flags)
{
	query_argument plan = {"scan_plan", plan_of_scan(t, &t->source, request)};
	Size		state = (fc_drift_size_of_spec(request->drift_spec, 0) +
						 fc_sketch_size(request->spec, 0, 0));
	int			nest = NewGUCNestLevel();

	check_budget(2 * FC_DRIFT_PARTS * (Size) t->groups * state, "the counts of units");
	set_hashing();
	run_query(query, 1, &plan, scan_flags(&t->source) | flags);
	AtEOXact_GUC(false, nest);
}

/* Adds the results of a state to other results; NULL stands for no rows. */
static void
add_result(scan_result *sum, const scan_result *result)
{
	sum->n += result->n;
	sum->nulls += result->nulls;
	if (sum->counts == NULL)
	{
		sum->counts = PG_DETOAST_DATUM_COPY(PointerGetDatum(result->counts));
		sum->sketch = PG_DETOAST_DATUM_COPY(PointerGetDatum(result->sketch));
		return;
	}
	sum->counts = (struct varlena *)
		drift_counts_combined((fc_drift_counts *) sum->counts,
							  (fc_drift_counts *) result->counts, 1);
	sum->sketch = (struct varlena *)
		sketch_combined((fc_sketch *) sum->sketch, (fc_sketch *) result->sketch, 1);
}

/*
 * Adds up the packed states of parts. Returns their number, and sets part[i] to
 * the sums of each part that has counted rows.
 */
static Size
add_parts(uint64 row, scan_result *part, scan_result *sum)
{
	bool		null;
	ArrayType  *states = DatumGetArrayTypeP(query_value(row, COLUMN_STATES, &null));
	ArrayType  *numbers = DatumGetArrayTypeP(query_value(row, COLUMN_PARTS, &null));
	const int32 *number = (const int32 *) ARR_DATA_PTR(numbers);
	Size		place[FC_DRIFT_PARTS] = {0};
	Size		parts = 0;
	Datum	   *state;
	bool	   *nulls;
	int			count;

	deconstruct_array(states, ARR_ELEMTYPE(states), -1, false, TYPALIGN_DOUBLE, &state,
					  &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		scan_result result;
		Size	   *at = &place[number[i]];

		if (nulls[i])
			continue;
		read_scan(state[i], &result);
		if (result.counts == NULL)
		{
			sum->n += result.n;
			sum->nulls += result.nulls;
			continue;
		}
		add_result(sum, &result);
		if (*at == 0)
			*at = ++parts;
		add_result(&part[*at - 1], &result);
	}
	return parts;
}

void
read_units(const training *t, const scan_request *request, uint64 row, scan_result *result)
{
	scan_result part[FC_DRIFT_PARTS] = {{0}};
	const fc_drift_counts *counts[FC_DRIFT_PARTS];
	fc_sketch_view sketch[FC_DRIFT_PARTS];
	fc_sketch_view all;
	fc_drift_parts parts = {
		.spec = request->drift_spec,
		.counts = counts,
		.sketch = sketch,
		.all_sketch = &all
	};
	bool		none;
	double		rows = DatumGetFloat8(query_value(row, COLUMN_ROWS, &none));
	double		squares = DatumGetFloat8(query_value(row, COLUMN_SQUARES, &none));
	double		share = Max(1, request->share);

	*result = (scan_result)
	{
		0
	};
	parts.count = add_parts(row, part, result);
	if (parts.count == 0)
		return;
	for (Size p = 0; p < parts.count; p++)
	{
		counts[p] = drift_counts_pack((fc_drift_counts *) part[p].counts);
		sketch[p] = fc_sketch_view_of(sketch_pack((fc_sketch *) part[p].sketch));
	}
	result->counts = (struct varlena *) drift_counts_pack((fc_drift_counts *) result->counts);
	result->sketch = (struct varlena *) sketch_pack((fc_sketch *) result->sketch);
	all = fc_sketch_view_of((fc_sketch *) result->sketch);
	if (t->source.encoder != NULL)
		parts.fill = fill_of_encoder((const fc_encoder_header *) t->source.encoder,
									 request->drift_spec);
	parts.all = (const fc_drift_counts *) result->counts;
	parts.units = DatumGetInt64(query_value(row, COLUMN_UNITS, &none));
	parts.rows = (double) parts.all->rows;

	/* of the rows of a unit, a share is counted, which is random */
	parts.square = (squares / rows + share - 1) / rows;
	result->counts = (struct varlena *) counts_with_units(&parts);
}

void
count_units(const training *t, group_fit *fits, int count)
{
	scan_request request = {
		.spec = spec_without_sample(t->spec),
		.drift_spec = t->drift_spec,
		.share = sketched_share(t, t->groups)
	};

	if (t->source.unit == NULL || t->drift_spec == NULL)
		return;
	scan_units(t, &request, unit_scan_text(&t->source, t->source.group_by), 0);
	for (uint64 row = 0; row < SPI_processed; row++)
	{
		bool		null;
		Datum		value = query_value(row, COLUMN_VALUE, &null);
		char	   *group = group_as_served(t, TextDatumGetCString(value));
		scan_result result;

		read_units(t, &request, row, &result);
		for (int i = 0; i < count; i++)
			if (strcmp(fits[i].group, group) == 0 && result.counts != NULL)
				fits[i].counts = result.counts;
	}
	end_query();
}

/* test.c - one p, one effect, one verdict; see test.h */
#include "drift/test.h"

#include <math.h>

#include "drift/internal.h"

#define TESTED		12			/* tables of a family that get an exact test */
#define MOST_HIDDEN_OF_WAVES	1.0	/* deviations */

enum
{
	COLUMNS,
	PAIRS,
	WAVES,
	FAMILIES
};

typedef struct family
{
	double		p;				/* NaN: the family is not there */
	double		effect;
} family;

/* sqrt(pi / 2): of a normal column, that move its median split by a deviation of the split. */
#define DEVIATIONS	1.2533141373155003

static double
harmonic(const fc_drift_sides *sides)
{
	return 1.0 / fc_rows_of_side(sides, 0) + 1.0 / fc_rows_of_side(sides, 1);
}

static double
effect_of_table(const fc_drift_sides *sides, const fc_table *table, double tests)
{
	double		n1 = fc_rows_of_side(sides, 0);
	double		n2 = fc_rows_of_side(sides, 1);
	double		share = (table->count[0] + table->count[1]) / (n1 + n2);
	double		gap = table->count[1] / n2 - table->count[0] / n1;
	double		square = gap * gap / fmax(share * (1.0 - share), 1e-30) - 2.0 * harmonic(sides) * log(fmax(tests, 2.0));

	return DEVIATIONS * sqrt(fmax(square, 0.0));
}

/* The least p of the strongest tables, times the tests. */
static void
test_family(const fc_drift_sides *sides, double tests, fc_tables *tables, family *result)
{
	fc_test_tables(sides, tables);
	result->p = fmin(1.0, tests * exp(tables->table[0].key));
	result->effect = effect_of_table(sides, &tables->table[0], tests);
}

static fc_status
test_counts(const fc_drift_sides *sides, fc_arena *arena, family *families)
{
	fc_table	strongest[TESTED];
	fc_tables	tables = {strongest, 0, TESTED};
	fc_status	status = FC_OK;

	fc_search_columns(sides, &tables);
	test_family(sides, fc_column_tests(sides->spec), &tables, &families[COLUMNS]);
	if (status != FC_OK || fc_pair_tests(sides->spec) == 0)
		return status;
	tables.count = 0;
	status = fc_search_pairs(sides, NULL, arena, &tables);
	if (status == FC_OK)
		test_family(sides, fc_pair_tests(sides->spec), &tables, &families[PAIRS]);
	return status;
}

/* Where no counts are, the waves' own. */
static double
hidden_change(const fc_drift_sides *sides, double families, double threshold, const fc_wave_test *waves)
{
	if (!fc_has_counts(sides))
		return waves->hidden;
	return DEVIATIONS * sqrt(2.0 * harmonic(sides) * log(2.0 * families * fmax(fc_column_tests(sides->spec), 2.0) / threshold));
}

static fc_verdict
verdict_of(const fc_drift_result *result, double threshold, double min_effect)
{
	if (isnan(result->p_value))
		return FC_VERDICT_TOO_FEW;
	if (result->p_value < threshold)
		return result->effect < min_effect ? FC_VERDICT_SLIGHT : FC_VERDICT_DRIFTED;
	return result->hidden > FC_DRIFT_MOST_HIDDEN ? FC_VERDICT_TOO_FEW : FC_VERDICT_NONE;
}

/* What the families say together. */
static void
join_families(const fc_drift_sides *sides, const family *families, double threshold, const fc_wave_test *waves, fc_drift_result *result)
{
	double		count = fc_families(sides, !isnan(families[WAVES].p));

	for (int f = 0; f < FAMILIES; f++)
	{
		double		p = fmin(1.0, count * families[f].p);

		result->family[f] = families[f].p;
		if (isnan(families[f].p))
			continue;
		result->p_value = fmin(result->p_value, p);	/* NaN gives way */
		result->effect = fmax(result->effect, p < threshold ? families[f].effect : 0.0);
	}
	result->hidden = hidden_change(sides, count, threshold, waves);
}

fc_status
fc_drift_test_sides(const fc_drift_sides *sides, double threshold, double min_effect, fc_arena *arena,
					fc_drift_result *result)
{
	family		families[FAMILIES] = {{NAN, 0}, {NAN, 0}, {NAN, 0}};
	fc_wave_test waves = {NAN, NAN, NAN, NAN, NAN, 0};
	fc_status	status = FC_OK;

	*result = (fc_drift_result) {NAN, NAN, NAN, NAN, NAN, {NAN, NAN, NAN}, FC_VERDICT_TOO_FEW};
	if (fc_has_waves(sides) && sides->null != NULL)
		fc_wave_compare(sides->sketch[0], sides->sketch[1], sides->null, arena, &waves);
	result->mmd2 = waves.mmd2;
	result->null_sd = waves.null_sd;
	if (waves.rows >= FC_DRIFT_LEAST_ROWS)
		families[WAVES] = (family) {waves.hidden <= MOST_HIDDEN_OF_WAVES ? waves.p_value : 1.0, waves.size};
	if (status == FC_OK && fc_has_counts(sides) && fmin(fc_rows_of_side(sides, 0), fc_rows_of_side(sides, 1)) >= FC_DRIFT_LEAST_ROWS)
		status = test_counts(sides, arena, families);
	if (status != FC_OK)
		return status;
	if (!isnan(families[COLUMNS].p) || !isnan(families[WAVES].p))
		join_families(sides, families, threshold, &waves, result);
	result->verdict = verdict_of(result, threshold, min_effect);
	return FC_OK;
}

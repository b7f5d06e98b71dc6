/*
 * fc_drift_effect.c - how large a change between two sketches is, in units people know, and where
 *
 * The size of a change is the largest of
 *     (1) |mean'_i - mean_i| / s_i over the columns i, s_i the deviation of column i in training;
 *     (2) t, the shift in deviations that would change the sketch as much;
 *     (3) r, the share of rows that, had they gone elsewhere, would change it as much.
 * (1) is exact and sees means alone.  (2) and (3) see whatever the MMD sees: widths, shares,
 * shapes.  With a_j = |z_j|^2 of the training rows, freed of their own noise as in the MMD,
 *     shift by h:           MMD^2 = 2/m sum_j a_j (1 - cos(omega_j . h))
 *     share r elsewhere:    MMD^2 = r^2 2/m sum_j a_j
 * For (2) h is random, N(0, t^2 S^2 / D), S = diag(s) in units of y: a shift along columns as
 * they vary, D = (sum s^2)^2 / sum s^4 the number of columns that count, so that |h| is t times
 * their deviation.  That averages the cosine:
 *     M(t) = 2/m sum_j a_j (1 - exp(-q_j t^2 / 2)),   q_j = omega_j' S^2 omega_j / D.
 * M is concave and rises in t^2: Newton's method from 0 rises to the root.  Above half of its
 * limit the law of h matters more than t, and (2) stops there.  A shift of one column by 0.05 to 1
 * deviation gives a size of 0.9 to 1.6 times that.  Rows in clusters much narrower than the columns
 * give more by (3): there a small shift takes all rows where no row was.
 *
 * Time: d n + m n for the q_j, m exponentials for each of some ten steps of Newton's method.
 *
 * With a basis S^2 becomes its diagonal in the reduced coordinates, which is exact when the
 * columns vary alike, as standardised ones do (the rows of the basis are orthonormal).
 */
#include "sketch/drift.h"

#include <math.h>

#define MOST_STEPS		100
#define MOST_OF_LIMIT	0.5
#define LEAST_DEVIATION	1e-6	/* of a column, as a part of the typical one; below it is constant */
#define CHANCE			3.0		/* so many deviations chance may hide */

/* ---- columns ---- */

/* Units of x' over sigma in which column i is measured. */
static double
column_unit(const fc_spec *spec, size_t i)
{
	const double *scale = fc_spec_scale(spec);

	return spec->sigma * (scale != NULL ? scale[i] : 1.0);
}

/* The variance of column i in these units. */
static double
column_variance(const fc_sketch *sketch, size_t i)
{
	double		unit = column_unit(fc_sketch_spec(sketch), i);

	return fc_sketch_variance(sketch, i) / unit / unit;
}

/* sum s^2 and sum s^4 over the columns. */
typedef struct deviations
{
	double		square;
	double		fourth;
} deviations;

static fc_status
sum_deviations(const fc_sketch *training, const fc_tick *tick, deviations *sums)
{
	*sums = (deviations) {0, 0};
	for (size_t i = 0; i < fc_sketch_spec(training)->dim; i++)
	{
		double		square = column_variance(training, i);

		if (i % 1024 == 0 && fc_ticked(tick))
			return FC_INTERRUPTED;
		sums->square += square;
		sums->fourth += square * square;
	}
	return FC_OK;
}

/* The deviation of a column that counts: the root mean square, weighted by the squares; sigma when all are constant. */
static double
typical_deviation(const deviations *sums)
{
	double		typical = sums->square > 0 ? sqrt(sums->fourth / sums->square) : 0.0;

	return typical > 0 ? typical : 1.0;
}

/* The change of column i; typical is typical_deviation(). */
static fc_column_change
column_change(const fc_sketch *training, const fc_sketch *rows, double typical, size_t i)
{
	double		constant = LEAST_DEVIATION * typical * column_unit(fc_sketch_spec(training), i);
	double		before = sqrt(fc_sketch_variance(training, i));
	double		after = sqrt(fc_sketch_variance(rows, i));
	double		moved = fc_sketch_mean(rows, i) - fc_sketch_mean(training, i);
	fc_column_change change = {i, 0, 0};

	change.shift = moved / (before > constant ? before : constant / LEAST_DEVIATION);
	change.spread = before > constant ? after / before : after > constant ? INFINITY : 1.0;
	return change;
}

/* (1) */
static fc_status
largest_shift(const fc_sketch *training, const fc_sketch *rows, const fc_tick *tick, double *shift)
{
	deviations	sums;
	fc_status	status = sum_deviations(training, tick, &sums);

	*shift = 0;
	for (size_t i = 0; i < fc_sketch_spec(training)->dim && status == FC_OK; i++)
	{
		if (i % 1024 == 0 && fc_ticked(tick))
			return FC_INTERRUPTED;
		*shift = fmax(*shift, fabs(column_change(training, rows, typical_deviation(&sums), i).shift));
	}
	return status;
}

/* How much a change matters beside others: its shift, or the ratio of its deviations. */
static double
weight_of(const fc_column_change *change)
{
	return fmax(fabs(change->shift), fabs(log(change->spread)));
}

fc_status
fc_drift_columns(const fc_sketch *training, const fc_sketch *rows, size_t most, const fc_tick *tick,
				 fc_column_change *changes, size_t *count)
{
	deviations	sums;
	fc_status	status;

	*count = 0;
	if (training->weight <= 0 || rows->weight <= 0)
		return FC_OK;
	status = sum_deviations(training, tick, &sums);
	for (size_t i = 0; i < fc_sketch_spec(training)->dim && status == FC_OK; i++)
	{
		fc_column_change change = column_change(training, rows, typical_deviation(&sums), i);
		size_t		place = *count;

		if (i % 1024 == 0 && fc_ticked(tick))
			return FC_INTERRUPTED;
		if (place == most && !(weight_of(&change) > weight_of(&changes[most - 1])))
			continue;
		place -= place == most;
		for (; place > 0 && weight_of(&change) > weight_of(&changes[place - 1]); place--)
			changes[place] = changes[place - 1];
		changes[place] = change;
		*count += *count < most;
	}
	return status;
}

/* ---- the shift that changes a sketch as much ---- */

/* M(t) as a and q (moments each), and its limit. */
typedef struct shift_curve
{
	size_t		moments;
	double	   *a;				/* 2/m |z_j|^2 */
	double	   *q;
	double		limit;			/* sum of a */
} shift_curve;

/* a_j of the training rows.  z is work of the same size as a. */
static fc_status
self_products(const fc_sketch *training, const fc_tick *tick, double *z, shift_curve *curve)
{
	double		w = fc_sketch_total_weight(training);
	double		w2 = fc_sketch_weight2(training);
	fc_status	status = fc_sketch_moments(training, tick, curve->a, z);

	curve->limit = 0;
	for (size_t j = 0; j < curve->moments && status == FC_OK; j++)
	{
		double		square = curve->a[j] * curve->a[j] + z[j] * z[j];

		curve->a[j] = 2.0 * fmax(0.0, w * w > w2 ? (w * w * square - w2) / (w * w - w2) : square) / (double) curve->moments;
		curve->limit += curve->a[j];
	}
	return status;
}

/* The diagonal of S^2 / D in the reduced coordinates (n). */
static fc_status
shift_variances(const fc_sketch *training, const fc_tick *tick, double *variance)
{
	const fc_spec *spec = fc_sketch_spec(training);
	const float *basis = fc_spec_basis(spec);
	deviations	sums;
	double		factor;
	fc_status	status = sum_deviations(training, tick, &sums);

	factor = sums.square > 0 ? sums.fourth / (sums.square * sums.square) : 0.0;
	for (size_t r = 0; r < spec->reduced; r++)
		variance[r] = basis == NULL ? factor * column_variance(training, r) : 0.0;
	for (size_t i = 0; basis != NULL && i < spec->dim && status == FC_OK; i++)
	{
		double		square = factor * column_variance(training, i);

		if (fc_ticked(tick))
			return FC_INTERRUPTED;
		for (size_t r = 0; r < spec->reduced; r++)
			variance[r] += square * (double) basis[r * spec->dim + i] * (double) basis[r * spec->dim + i];
	}
	return status;
}

size_t
fc_drift_effect_worksize(const fc_spec *spec)
{
	return (3 * fc_spec_moments(spec) + spec->reduced) * sizeof(double) +
		(size_t) spec->frequencies * spec->reduced * sizeof(float) + fc_frequency_worksize(spec) + 8 * 64;
}

/* q_j for every scale of the spec. */
static fc_status
decay_rates(const fc_spec *spec, const float *omega, const double *variance, const fc_tick *tick, double *q)
{
	size_t		n = spec->reduced;

	for (size_t j = 0; j < spec->frequencies; j++)
	{
		double		rate = 0;

		if (j % 64 == 0 && fc_ticked(tick))
			return FC_INTERRUPTED;
		for (size_t r = 0; r < n; r++)
			rate += variance[r] * (double) omega[j * n + r] * (double) omega[j * n + r];
		for (size_t s = 0; s < spec->scales; s++)
		{
			double		ratio = spec->sigma / fc_spec_sigmas(spec)[s];

			q[s * spec->frequencies + j] = rate * ratio * ratio;
		}
	}
	return FC_OK;
}

static fc_status
find_curve(const fc_sketch *training, const fc_tick *tick, fc_arena *arena, shift_curve *curve)
{
	const fc_spec *spec = fc_sketch_spec(training);
	double	   *variance = FC_TAKE(arena, spec->reduced, double);
	float	   *omega = FC_TAKE(arena, (size_t) spec->frequencies * spec->reduced, float);
	double	   *z;
	fc_status	status;

	curve->moments = fc_spec_moments(spec);
	curve->a = FC_TAKE(arena, curve->moments, double);
	curve->q = FC_TAKE(arena, curve->moments, double);
	z = FC_TAKE(arena, curve->moments, double);
	if (variance == NULL || omega == NULL || curve->a == NULL || curve->q == NULL || z == NULL)
		return FC_ENOMEMORY;
	status = self_products(training, tick, z, curve);
	if (status == FC_OK)
		status = shift_variances(training, tick, variance);
	if (status == FC_OK)
		status = fc_frequencies(spec, arena, tick, omega);
	return status == FC_OK ? decay_rates(spec, omega, variance, tick, curve->q) : status;
}

/* The larger of (2) and (3) for this mmd2. */
static fc_status
equivalent_change(const shift_curve *curve, double mmd2, const fc_tick *tick, double *change)
{
	double		wanted = fmin(mmd2, MOST_OF_LIMIT * curve->limit);
	double		square = 0;		/* t^2 */

	*change = 0;
	if (!(mmd2 > 0))
		return FC_OK;
	for (int step = 0; step < MOST_STEPS; step++)
	{
		double		rest = wanted;
		double		slope = 0;

		for (size_t j = 0; j < curve->moments; j++)
		{
			double		decay = exp(-0.5 * curve->q[j] * square);

			if (j % 65536 == 0 && fc_ticked(tick))
				return FC_INTERRUPTED;
			rest -= curve->a[j] * (1.0 - decay);
			slope += 0.5 * curve->a[j] * curve->q[j] * decay;
		}
		if (!(slope > 0) || !(rest > 1e-6 * wanted))
			break;
		square += rest / slope;
	}
	*change = fmax(sqrt(square), curve->limit > 0 ? sqrt(fmin(1.0, mmd2 / curve->limit)) : 1.0);
	return FC_OK;
}

fc_status
fc_drift_effect(const fc_sketch *training, const fc_sketch *rows, const fc_drift *drift, const fc_tick *tick,
				fc_arena *arena, fc_effect *effect)
{
	size_t		used = arena->used;
	shift_curve curve;
	double		shift;
	fc_status	status;

	*effect = (fc_effect) {NAN, NAN};
	if (isnan(drift->mmd2))
		return FC_OK;
	status = find_curve(training, tick, arena, &curve);
	if (status == FC_OK)
		status = equivalent_change(&curve, drift->mmd2, tick, &effect->size);
	if (status == FC_OK)
		status = equivalent_change(&curve, CHANCE * drift->null_sd, tick, &effect->hidden);
	if (status == FC_OK)
		status = largest_shift(training, rows, tick, &shift);
	if (status == FC_OK)
		effect->size = fmax(effect->size, shift);
	arena->used = used;
	return status;
}

fc_verdict
fc_drift_verdict(const fc_drift *drift, const fc_effect *effect, double threshold, double min_effect)
{
	if (isnan(drift->p_value) || drift->rows < FC_LEAST_ROWS)
		return FC_VERDICT_TOO_FEW;
	if (drift->p_value < threshold)
		return effect->size < min_effect ? FC_VERDICT_SLIGHT : FC_VERDICT_DRIFTED;
	return effect->hidden > FC_MOST_HIDDEN ? FC_VERDICT_TOO_FEW : FC_VERDICT_NONE;
}

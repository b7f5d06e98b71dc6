/*
 * drift_spec_of_sample.c - chooses from a sample of the training rows what
 * drift tests compare: the edges at which the distribution of each column is
 * counted, the bits whose pairs are counted, and the moments of the rows, the
 * waves; see drift_spec_of_sample.h
 */
#include "drift/drift_spec_of_sample.h"

#include "base/rng.h"
#include "base/sort.h"
#include "drift/counts.h"

/*
 * Shares of the sample at or below the edges of a column with many values.
 * More edges detect smaller changes of a distribution, but weaken each test
 * (bench/drift.py).
 */
static const double quantiles[] = {
	.001,
	.01,
	.05,
	.2,
	.35,
	.5,
	.65,
	.8,
	.95,
	.99,
	.999
};

/*
 * Wanted shares of the sample at or below the middle and the outer edges of a
 * column. The edges whose shares are nearest are chosen.
 */
static const double thirds[] = {
	[FC_DRIFT_MIDDLE] = .5,
	[FC_DRIFT_LOWER] = .25,
	[FC_DRIFT_UPPER] = .75
};

/*
 * Minimum number of edges of a column with a far bit; a column of fewer values
 * has no tails. A guess.
 */
#define MIN_FAR_EDGES	4

/* Interquartile range of a standard normal variable. */
#define NORMAL_IQR	1.349

/*
 * Maximum distance from the median to a sample value, in units of the column's
 * scale. Sketches accept rows up to 2^38 of these units.
 */
#define MAX_SPREAD	0x1p28

/*
 * Maximum distance from 0 to the center, in units of sigma * scale. A
 * sketch_spec accepts up to 2^38 of these units.
 */
#define MAX_OFFSET	0x1p36

/* Minimum scale of a column. The inverse is still finite. */
#define MIN_SCALE	1e-280

/*
 * Weight of the pool in the scale of a column with interquartile range 0, in
 * values (drift_spec_of_sample.h). A column with this number of values other
 * than the median takes half of log scale from its own values, and half from
 * the pool. A smaller weight raises false alarms, because each column fits its
 * own values better than other rows do. A larger one hides changes
 * (bench/drift.py).
 */
#define POOLED_VALUES	100.0

/*
 * Kernel widths (sigmas) of a wave_spec, relative to sqrt(d), because distances
 * between rows grow like sqrt(d). Columns are scaled to a standard deviation of
 * about 1. Narrow kernels detect changes within clusters, wide ones a shift of
 * all rows (bench/drift.py, bench/tuned.py).
 */
static const double wave_lengths[FC_WAVE_SCALES] = {0.4, 1.0};

/* ---- one column, sorted ---- */

typedef struct column_work
{
	fc_keyed   *items;			/* 2 n items; the second half is scratch space */
	float	   *value;			/* n values */
} column_work;

static void
take_work(fc_arena *arena, size_t n, column_work *work)
{
	work->items = FC_TAKE(arena, 2 * n, fc_keyed);
	work->value = FC_TAKE(arena, n, float);
}

static size_t
looked_at(const fc_weighted_rows *sample)
{
	return smaller(sample->n, FC_DRIFT_SAMPLE);
}

/* Sorts the first `count` numbers of work->value in place. */
static void
sort_values(const column_work *work, size_t count)
{
	size_t		sorted = 0;
	size_t		negative = 0;

	/* zeros, which are most values of sparse rows, are not sorted */
	for (size_t i = 0; i < count; i++)
	{
		float		value = work->value[i];

		if (value == 0.0f)
			continue;
		negative += value < 0.0f;
		work->items[sorted] = (fc_keyed)
		{
			fc_number_key((double) value), 0
		};
		memcpy(&work->items[sorted++].value, &value, sizeof(float));
	}
	fc_sort(work->items, sorted, work->items + sorted);
	memset(work->value + negative, 0, (count - sorted) * sizeof(float));
	for (size_t i = 0; i < sorted; i++)
		memcpy(&work->value[i < negative ? i : count - sorted + i], &work->items[i].value,
			   sizeof(float));
}

/* Copies column j of the sample into work->value, sorted. */
static void
sort_column(const fc_weighted_rows *sample, size_t j, const column_work *work)
{
	size_t		n = looked_at(sample);

	for (size_t i = 0; i < n; i++)
		work->value[i] = sample->values[i * sample->d + j];
	fc_check();
	sort_values(work, n);
}

/* Returns how many of n sorted values are <= x. */
static size_t
values_up_to(const float *value, size_t n, float x)
{
	size_t		low = 0;

	for (size_t high = n; low < high;)
	{
		size_t		middle = (low + high) / 2;

		if (value[middle] <= x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns how many of n sorted values are < x. */
static size_t
values_below(const float *value, size_t n, float x)
{
	return values_up_to(value, n, nextafterf(x, -INFINITY));
}

/* ---- edges ---- */

/*
 * Inserts x into `count` rising edges unless it is there already. Returns
 * the new number of edges.
 */
static size_t
insert_edge(float *edge, size_t count, float x)
{
	size_t		place = values_up_to(edge, count, x);

	if (place > 0 && edge[place - 1] == x)
		return count;
	memmove(edge + place + 1, edge + place, (count - place) * sizeof(float));
	edge[place] = x;
	return count + 1;
}

/*
 * Sets edge to the distinct values of n sorted values. Returns their number,
 * or 0 if they exceed FC_DRIFT_EDGES.
 */
static size_t
few_values(const float *value, size_t n, float *edge)
{
	size_t		count = 0;

	for (size_t i = 0; i < n; i++)
	{
		if (i > 0 && value[i] == value[i - 1])
			continue;
		if (count == FC_DRIFT_EDGES)
			return 0;
		edge[count++] = value[i];
	}
	return count;
}

/*
 * Returns the number of sample rows equal to x, or 0 if this is at most n /
 * FC_DRIFT_QUANTILES.
 */
static size_t
atom_mass(const float *value, size_t n, float x)
{
	size_t		mass = values_up_to(value, n, x) - values_below(value, n, x);

	return mass * FC_DRIFT_QUANTILES > n ? mass : 0;
}

/*
 * An atom is an edge whose value occurs in many sample rows. Adds, for the
 * heaviest atoms, the next smaller value as an edge while there is room.
 * Returns the new number of edges.
 */
static size_t
add_below_atoms(const float *value, size_t n, float *edge, size_t count)
{
	float		atom[FC_DRIFT_QUANTILES];
	size_t		atoms = count;
	size_t		capacity = FC_DRIFT_EDGES - count;

	memcpy(atom, edge, count * sizeof(float));
	for (; capacity > 0; capacity--)
	{
		size_t		best = 0;
		size_t		first;

		for (size_t k = 1; k < atoms; k++)
			if (atom_mass(value, n, atom[k]) > atom_mass(value, n, atom[best]))
				best = k;
		if (atoms == 0 || atom_mass(value, n, atom[best]) == 0)
			break;
		first = values_below(value, n, atom[best]);
		if (first > 0)
			count = insert_edge(edge, count, value[first - 1]);
		atom[best] = atom[--atoms];
	}
	return count;
}

static size_t
choose_edges(const float *value, size_t n, float *edge)
{
	size_t		count = few_values(value, n, edge);

	if (count > 0)
		return count;
	for (size_t q = 0; q < FC_DRIFT_QUANTILES; q++)
	{
		double		place = ceil(quantiles[q] * (double) n) - 1.0;

		count = insert_edge(edge, count,
							value[place > 0 ? smaller((size_t) place, n - 1)
								  : 0]);
	}
	return add_below_atoms(value, n, edge, count);
}

/*
 * Returns the index of the edge whose share of sample values at or below it is
 * nearest to `wanted`.
 */
static uint8_t
nearest_edge(const float *value, size_t n, const float *edge, size_t count,
			 double wanted)
{
	size_t		best = 0;
	double		min = INFINITY;

	for (size_t k = 0; k < count; k++)
	{
		double		gap = fabs((double) values_up_to(value, n, edge[k]) /
							   (double) n -
							   wanted);

		if (gap < min)
		{
			min = gap;
			best = k;
		}
	}
	return (uint8_t) best;
}

/* ---- bits ---- */

/*
 * Returns the number of columns that get a plain bit, which is set if the
 * value is above the middle edge of the column (spec.h). It is limited so that
 * the counts of all pairs of plain bits, with the other counts, take at most
 * FC_DRIFT_MAX_BYTES.
 */
static size_t
plain_bits(size_t d)
{
	size_t		others = d * (FC_DRIFT_CELLS + 1) * sizeof(uint32_t);
	size_t		max = (others < FC_DRIFT_MAX_BYTES
					   ? (size_t) sqrt(2.0 *
									   (double) (FC_DRIFT_MAX_BYTES - others) /
									   sizeof(uint32_t))
					   : 0);

	return smaller(smaller(d, FC_DRIFT_PLAIN), max);
}

/* ---- the spec ---- */

static fc_drift_spec
first_fields(const fc_weighted_rows *sample, uint64_t seed)
{
	return (fc_drift_spec)
	{
		.version = FC_DRIFT_VERSION,
			.metric = (uint8_t) sample->metric,
			.flags = sample->offset != NULL ? FC_DRIFT_ORIGIN
			: 0,
			.dim = (uint32_t) sample->d,
			.plain = (uint32_t) plain_bits(sample->d),
			.seed = seed
	};
}

size_t
fc_drift_spec_bound(const fc_weighted_rows *sample)
{
	fc_drift_spec fixed = first_fields(sample, 0);

	fixed.far = FC_DRIFT_FAR;
	return fc_drift_spec_size(&fixed);
}

/*
 * Edge counts and thirds of the columns. Their position in the spec depends on
 * the number of far bits. They are therefore written to the spec once this
 * number is known.
 */
typedef struct column_notes
{
	uint8_t    *count;			/* number of edges of each column, d values */
	uint8_t    *third;			/* indices of edges, three per column, as in
								 * spec.h */
} column_notes;

/* Chooses the edges, smallest value and thirds of column j. */
static void
choose_column(const column_work *work, size_t n, size_t j,
			  const fc_drift_spec *spec, const column_notes *notes)
{
	float	   *edge = ((float *) (uintptr_t) fc_drift_edges(spec) +
						j * FC_DRIFT_EDGES);

	notes->count[j] = (uint8_t) choose_edges(work->value, n, edge);
	for (size_t k = notes->count[j]; k < FC_DRIFT_EDGES; k++)
		edge[k] = INFINITY;
	((float *) (uintptr_t) fc_drift_minima(spec))[j] = work->value[0];
	for (int which = 0; which < 3; which++)
		notes->third[3 * j + (size_t) which] = nearest_edge(work->value, n,
															edge,
															notes->count[j],
															thirds[which]);
}

void
fc_drift_choose(const fc_weighted_rows *sample, uint64_t seed, fc_arena *arena,
				fc_drift_spec *spec)
{
	column_work work;
	column_notes notes;
	uint16_t   *column;
	fc_rng		rng;

	notes.count = FC_TAKE(arena, sample->d, uint8_t);
	notes.third = FC_TAKE(arena, 3 * sample->d, uint8_t);
	take_work(arena, looked_at(sample), &work);
	memset(spec, 0, fc_drift_spec_bound(sample));
	*spec = first_fields(sample, seed);
	if (sample->offset != NULL)
		memcpy((double *) (uintptr_t) fc_drift_origin(spec), sample->offset,
			   sample->d * sizeof(double));
	for (size_t j = 0; j < sample->d; j++)
	{
		sort_column(sample, j, &work);
		choose_column(&work, looked_at(sample), j, spec, &notes);
	}

	/*
	 * The layout has the columns of all bits first, then the edge counts and
	 * thirds of the columns.
	 */
	column = (uint16_t *) (uintptr_t) fc_drift_bit_columns(spec);

	/*
	 * Draw spec->plain of dim columns at random, in rising order: column i is
	 * drawn with probability (columns still to draw) / (columns left).
	 */
	rng = fc_rng_start(spec->seed, 0);
	for (size_t i = 0, taken = 0; taken < spec->plain; i++)
		if (fc_rng_below(&rng, spec->dim - i) < spec->plain - taken)
			column[taken++] = (uint16_t) i;
	for (size_t j = 0; spec->dim <= FC_DRIFT_FAR && j < spec->dim; j++)
		if (notes.count[j] >= MIN_FAR_EDGES &&
			notes.third[3 * j + FC_DRIFT_LOWER] <
			notes.third[3 * j + FC_DRIFT_UPPER])
			column[spec->plain + spec->far++] = (uint16_t) j;
	memcpy((uint8_t *) (uintptr_t) fc_drift_edge_counts(spec), notes.count,
		   spec->dim);
	memcpy((uint8_t *) (uintptr_t) fc_drift_thirds(spec), notes.third,
		   3 * (size_t) spec->dim);
	fc_drift_spec_seal(spec);
}

/* ---- waves ---- */

/*
 * Scale of a column. `own` is measured on the values of the column, and pool
 * is the common scale of many columns. The final scale has the logarithm
 *     trust * log own + (1 - trust) * log pool
 */
typedef struct column_scale
{
	double		own;
	double		trust;

	/*
	 * lower bound of the scale, which keeps extreme values of the sample
	 * within the range of a sketch
	 */
	double		min;
} column_scale;

/*
 * Sets `own` to the median distance from x of the n values that differ from x,
 * or to 1 if there are none. Sets `trust` to n / (n + POOLED_VALUES). If n is
 * 2 or more and all distances are equal, as in a column of zeros and ones, the
 * scale is exact, and `trust` is 1. Overwrites work->value.
 */
static void
measure_others(const column_work *work, size_t n, float x,
			   column_scale *scale)
{
	size_t		count = 0;

	for (size_t i = 0; i < n; i++)
		if (work->value[i] != x)
			work->value[count++] = fabsf(work->value[i] - x);
	sort_values(work, count);
	scale->own = count == 0 ? 1.0
		: 0.5 * ((double) work->value[(count - 1) / 2] +
				 (double) work->value[count / 2]);
	scale->trust = count > 1 && work->value[0] == work->value[count - 1]
		? 1.0
		: (double) count / ((double) count + POOLED_VALUES);
}

/* Computes the center of a sorted column, and measures its scale. */
static void
measure_column(const column_work *work, size_t n, double origin,
			   bool zero_center, double sigma, double *center,
			   column_scale *scale)
{
	float		median = work->value[(n - 1) / 2];
	double		range = ((double) work->value[3 * n / 4] -
						 (double) work->value[n / 4]);
	double		farthest = fmax((double) work->value[n - 1] - (double) median,
								(double) median - (double) work->value[0]);

	*center = zero_center ? 0.0 : origin + (double) median;
	scale->min = fmax(farthest / MAX_SPREAD,
					  fmax(fabs(*center) / MAX_OFFSET / sigma, MIN_SCALE));
	if (zero_center)			/* distances are then from 0 instead of the
								 * median */
		scale->min = fmax(scale->min,
						  (fabs(origin + (double) median) + farthest) / MAX_SPREAD);
	scale->own = range / NORMAL_IQR;
	scale->trust = 1.0;
	if (!(range > 0))
		measure_others(work, n, median, scale);
}

/*
 * Returns the logarithm of the common scale of the columns with a trust below
 * 1, or 0 if there are none.
 */
static double
pooled_scale(const column_scale *scales, size_t d)
{
	double		total = 0;
	double		trust = 0;

	for (size_t j = 0; j < d; j++)
		if (scales[j].trust < 1.0)
		{
			total += scales[j].trust * log(fmax(scales[j].own, MIN_SCALE));
			trust += scales[j].trust;
		}
	return trust > 0 ? total / trust : 0.0;
}

void
fc_wave_spec(const fc_weighted_rows *sample, bool zero_center, uint64_t seed,
			 fc_arena *arena, double *center, double *scale,
			 double sigmas[FC_WAVE_SCALES], fc_spec_fields *fields)
{
	column_work work;
	column_scale *scales = FC_TAKE(arena, sample->d, column_scale);
	double		pool;

	take_work(arena, looked_at(sample), &work);
	for (size_t s = 0; s < FC_WAVE_SCALES; s++)
		sigmas[s] = wave_lengths[s] * sqrt((double) sample->d);
	for (size_t j = 0; j < sample->d; j++)
	{
		sort_column(sample, j, &work);
		measure_column(&work, looked_at(sample),
					   sample->offset != NULL ? sample->offset[j] : 0.0,
					   zero_center, sigmas[0], &center[j], &scales[j]);
	}
	pool = pooled_scale(scales, sample->d);
	for (size_t j = 0; j < sample->d; j++)
	{
		const column_scale *of = &scales[j];

		scale[j] = fmax(of->min,
						of->trust < 1.0
						? exp(of->trust * log(fmax(of->own, MIN_SCALE)) +
							  (1.0 - of->trust) * pool)
						: of->own);
	}
	*fields = (fc_spec_fields)
	{
		.dim = sample->d,
			.reduced = sample->d,
			.frequencies = FC_WAVES,
			.scales = FC_WAVE_SCALES,
			.law = FC_LAW_GAUSSIAN,
			.structured = sample->d >= FC_STRUCTURED_CROSSOVER,
			.cosine = sample->metric == FC_COSINE,
			.seed = seed,
			.center = center,
			.scale = scale,
			.sigmas = sigmas
	};
}

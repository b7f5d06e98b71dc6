/*
 * test.h - have rows changed since training, by how much, and in which
 * columns?
 *
 * Four families of sums, each blind where another sees:
 *     columns   exact two-sided p of each count below an edge; p1 = T1 min p,
 *               T1 = edges + columns. Edges are training rows, yet Fisher's
 *               tail is never below the true (negative hypergeometric) one.
 *     pairs     the same of "both bits" and of "one of the two alone";
 *               p2 = T2 min p, T2 = 2 pairs
 *     waves     the MMD^2 of the sketches (waves.h); p3 = 1 where chance could
 *               hide a shift by a whole deviation, as with many columns
 *               without a variance: the waves of the training rows cancel
 *               then, and no shift explains a difference
 *     means     of the columns in which most training rows are between two
 *               edges, such as a group's, whose edges are those of all groups;
 *               p4 = T4 min min(1, 6 / z^4), z the difference of means over
 *               sqrt(v c), v the variance of both sides together: Markov's
 *               bound of the fourth moment where the kurtosis is up to three
 *               times the rows of a side. Times sqrt(4 n / (n1 + n2)) where n,
 *               the fewer rows, are below a quarter, z of a single value that
 *               is far above all others is below 2
 * p = min(1, F min p_f) over the F families that are there. The effect is the
 * largest of the families with F p_f below the threshold, else 0: in counts,
 * with q the share of both sides and c = 1/n1 + 1/n2,
 *     sqrt(pi / 2) sqrt(max(0, (p2 - p1)^2 / (q (1 - q)) - 2 c log T)):
 * the deviations by which a normal column must move for its median split to
 * change as much, freed of what the largest of T counts shows by chance.
 */
#ifndef FC_DRIFT_TEST_H
#define FC_DRIFT_TEST_H

#include "drift/counts.h"
#include "drift/waves.h"

typedef struct fc_drift_sides
{
	const fc_drift_spec *spec;	/* of the counts */
	/* of the training rows and of the others, folded; NULL: no such families */
	const fc_drift_counts *counts[2];
	const fc_sketch_view *sketch[2];	/* the same; NULL, or of a spec with a
										 * basis: no such family */
	const fc_wave_null *null;	/* NULL: the same */
} fc_drift_sides;

typedef enum fc_verdict
{
	FC_VERDICT_TOO_FEW,			/* fewer than FC_DRIFT_LEAST_ROWS rows, or no
								 * family; or the p-value is not below the
								 * threshold, but hidden is above
								 * FC_DRIFT_MOST_HIDDEN */
	FC_VERDICT_NONE,			/* the p-value is not below the threshold */
	FC_VERDICT_SLIGHT,			/* it is, but the effect is below min_effect */
	FC_VERDICT_DRIFTED			/* it is, and the effect is not */
} fc_verdict;

#define FC_DRIFT_LEAST_ROWS		10
#define FC_DRIFT_MOST_HIDDEN	0.5

typedef struct fc_drift_result
{
	double		mmd2;			/* of the waves, NaN without them */
	double		null_sd;
	double		p_value;		/* NaN where there is no test */
	double		effect;			/* the same; 0 where the p-value is not below
								 * the threshold */
	/* the shift of a column that chance could hide, in its deviations */
	double		hidden;
	/* p_f of columns, pairs, waves and means; NaN of those that are not there */
	double family[4];
	fc_verdict	verdict;
} fc_drift_result;

/* Values that come together are of one spec. */
void		fc_drift_test_sides(const fc_drift_sides *sides, double threshold,
								double min_effect, fc_arena *arena,
								fc_drift_result *result);

/* A column that moved, or two whose joint law did. */
typedef struct fc_drift_move
{
	size_t		column;
	size_t		other;			/* of a pair; else the same column */
	double		log_p;			/* of F T p, p of its strongest count */
	double
				shift;			/* of the column's mean, in deviations of the
								 * training rows, or where these are 0 in its
								 * own units; NaN without sketches, and of
								 * pairs */

	/*
	 * its deviation over that of the training rows; 1 when both are 0,
	 * infinite when one was
	 */
	double		spread;
} fc_drift_move;

/*
 * The `most` (>= 1) columns with F T1 p below the threshold, least p first;
 * then, as there is room, pairs by F T2 p, of columns that are not among all
 * those.
 */
void		fc_drift_moved(const fc_drift_sides *sides, double threshold, size_t most,
						   fc_arena *arena, fc_drift_move *moves, size_t *count);

#endif							/* FC_DRIFT_TEST_H */

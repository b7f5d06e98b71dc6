/*
 * agreement.h - how often two operators give a row the same label: a made-up row, or one of a sample.
 */
#ifndef FC_FACTOR_AGREEMENT_H
#define FC_FACTOR_AGREEMENT_H

#include "operator/operator.h"

/*
 * The share of `points` made-up rows that `fast` labels as `exact` does (both k x d):
 *     x = c_j + t (c_i - c_j) + e,   j drawn by weight, i the nearest of four others, t in (0, 1/2) with density 8 t,
 *     e normal with expected length |c_i - c_j| / 4.
 * The first half of a segment towards another centroid is where a cluster's rows lie; near its end they are hard.
 * Clusters that overlap have more rows there than this, and agree less.
 */
void		fc_agreement(const fc_operator *exact, const fc_operator *fast, size_t points, uint64_t seed,
						 fc_arena *arena, double *agreement);

/* Rows of a sample (the centroids of `rows`, by weight), at most FC_JUDGED_ROWS, in random order, labelled by the exact operator once. */
#define FC_JUDGED_ROWS	((size_t) 8000)

typedef struct fc_judged_rows
{
	const fc_operator *rows;
	size_t		count;
	uint32_t   *row;			/* rows->k, of which the first `count` */
	int32_t    *labels;			/* count */
	double	   *squares;		/* count, squared distances to their centroids */
} fc_judged_rows;

void		fc_judge_rows(const fc_operator *exact, const fc_operator *rows, uint64_t seed, fc_arena *arena,
						  fc_judged_rows *judged);

/*
 * The share of the weight of `count` of them, from `first` on, that `fast` labels alike.  lowest: what it is among rows
 * of the same law with a confidence of 95 % (Wilson 1927, one-sided, by the effective number (sum w)^2 / sum w^2 of rows).
 */
typedef struct fc_judgement
{
	double		agreement;
	double		lowest;
	double		sse_ratio;		/* sum of squares to the rows of `fast` / to those of the exact operator; 1 when both are 0 */
	size_t		rows;
} fc_judgement;

void		fc_judge(const fc_judged_rows *judged, const fc_operator *fast, size_t first, size_t count,
					 fc_arena *arena, fc_judgement *judgement);

#endif							/* FC_FACTOR_AGREEMENT_H */

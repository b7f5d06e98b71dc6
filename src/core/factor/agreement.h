/*
 * agreement.h - how often two operators give a row the same label, without rows.
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
size_t		fc_agreement_worksize(const fc_operator *exact, const fc_operator *fast);
fc_status	fc_agreement(const fc_operator *exact, const fc_operator *fast, size_t points, uint64_t seed,
						 const fc_tick *tick, fc_arena *arena, double *agreement);

#endif							/* FC_FACTOR_AGREEMENT_H */

/*
 * continued.h - finds, for each cluster of a new stored version, the cluster
 * of the serving version that it continues, and whose identity it takes over
 */
#ifndef FASTCLUST_TRAIN_CONTINUED_H
#define FASTCLUST_TRAIN_CONTINUED_H

#include "pg/train/training.h"

/*
 * Matches the clusters of the written version with the serving ones, if the
 * coordinates of the two versions differ. A cluster that continues a serving
 * one gets the identity of that one. Clusters are matched by the labels that
 * both versions give to some rows of the relation.
 */
extern void continue_by_rows(const training *t);

#endif							/* FASTCLUST_TRAIN_CONTINUED_H */

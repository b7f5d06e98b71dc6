/* continued.h - stored versions whose clusters continue another version */
#ifndef FASTCLUST_TRAIN_CONTINUED_H
#define FASTCLUST_TRAIN_CONTINUED_H

#include "pg/train/training.h"

/*
 * Gives the clusters of the written version the identities of the serving ones
 * that they continue, if the two versions have other coordinates. Clusters are
 * matched by the labels that both versions give to some rows of the relation.
 */
extern void continue_by_rows(const training *t);

#endif							/* FASTCLUST_TRAIN_CONTINUED_H */

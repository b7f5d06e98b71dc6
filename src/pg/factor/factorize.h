/* factorize.h - what factorize and qkmeans share */
#ifndef FASTCLUST_FACTORIZE_H
#define FASTCLUST_FACTORIZE_H

#include "postgres.h"

/* An option `budget` (0: none) below the least that `what` can keep to, for k x d centroids, is an error. */
extern void check_least_budget(double budget, size_t least, const char *what, size_t k, size_t d, const char *hint);

#endif							/* FASTCLUST_FACTORIZE_H */

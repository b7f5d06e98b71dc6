/*
 * even.h - centroids moved until no cluster has more weight than is wanted.
 *
 * A cluster that has more is split in two across its first axis, at the median where the means of the pieces would not part it about
 * evenly.  The second centroid comes from two clusters near each other that have together what one may have: those that cost least are
 * joined.  Rows then go to their nearest centroids, and the next round takes what is too large still.  Where all are even, Lloyd's
 * steps go on as long as they stay so.
 *
 * Cost of a round: that of a Lloyd step, k^2 d, and 16 d for each row of a cluster that is split.
 */
#ifndef FC_KMEANS_EVEN_H
#define FC_KMEANS_EVEN_H

#include "kmeans/kmeans.h"

typedef struct fc_kmeans_work fc_kmeans_work;

void		fc_kmeans_even_take(fc_arena *arena, fc_kmeans_work *w);

/* From w->centroid to the most even centroids that rounds came to, the least SSE of those that have no cluster of more than `most`. */
fc_status	fc_kmeans_even(fc_kmeans_work *w, double most);

#endif							/* FC_KMEANS_EVEN_H */

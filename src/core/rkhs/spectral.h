/*
 * spectral.h - features of an rbf kernel that show k clusters of any shape; its width is chosen from rows.
 *
 *     phi(x) = L^-1/2 V' kappa(U, x)                  Nystrom features on landmarks U, K ~ Phi Phi'
 *     deg_i  = phi(x_i) . sum_j phi(x_j)              the sum of row i of Phi Phi'
 *     A      = the k leading eigenvectors of Phi' diag(1 / deg) Phi
 *     y(x)   = A phi(x) / ||A phi(x)||                rows of one connected cluster share a direction
 *
 * Ng, Jordan, Weiss (2001), On spectral clustering, sections 2 and 4: spectral clustering, and the choice of the width by the
 * distortion of k-means; Fowlkes, Belongie, Chung, Malik (2004): by way of Nystrom.  A row that comes later has features too,
 * since its degree cancels in y.
 *
 * Widths from the deviation of the rows down to a sixteenth of it are tried; the widest is taken by which clusters are clear: the
 * mean square of y from the centroids is below FC_SPECTRAL_CLEAR (rows at random have about 1 - 1/k), and no cluster is a handful
 * of outliers.  Where none is, or k-means of the rows finds the same clusters, features are plain, phi(x) of a kernel seven times as
 * wide as the rows: about k-means.
 *
 * Cost of a width: m^2 (3 n + 20 m) multiply-adds for n rows and m landmarks, and a search of k-means on n rows in k dimensions.
 */
#ifndef FC_RKHS_SPECTRAL_H
#define FC_RKHS_SPECTRAL_H

#include "rkhs/kernel.h"

#define FC_SPECTRAL_CLUSTERS	50	/* of more, features are plain */
#define FC_SPECTRAL_CLEAR		0.01
#define FC_SPECTRAL_SHARE		0.25	/* the smallest cluster has at least this part of n / k rows */
#define FC_SPECTRAL_AGREED		0.95	/* share of rows that k-means puts where these features do: they are not needed */

typedef struct fc_spectral
{
	fc_kernel	kernel;
	bool		unit;			/* y(x), else phi(x) */
	size_t		rank;			/* coordinates: k, or min(max(10, 3 k), landmarks) of plain ones at most */
	size_t		landmarks;
	size_t	   *landmark;		/* most: places of rows; from the caller */
	double	   *t;				/* fc_spectral_rank(k, most) x most, rank x landmarks of it used, without gaps; from the caller */
	double		cost;			/* the mean square of y from its centroids; NAN: plain */
} fc_spectral;

/* The greatest rank, with `most` landmarks at most. */
size_t		fc_spectral_rank(size_t k, size_t most);

/* x: n x d.  FC_EFAR as fc_kernel_prepare. */
fc_status	fc_spectral_choose(const double *x, size_t n, size_t d, size_t k, size_t most, uint64_t seed,
							   fc_arena *arena, fc_spectral *result);

#endif							/* FC_RKHS_SPECTRAL_H */

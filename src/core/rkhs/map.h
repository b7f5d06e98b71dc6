/*
 * map.h - Nystrom features of any row from the landmarks of an operator, as a
 * stored value.
 *
 *     M = kappa(U, U),  M = V L V',
 *     phi(x) = L_r^-1/2 V_r' kappa(U, x)      (r coordinates)
 * so that phi(x).phi(y) is the Nystrom approximation of kappa(x, y): exact
 * where x or y is a landmark and r is full. U: the k rows of the operator's
 * product plus its offset.
 *
 * kappa(U, x) needs U x (rbf: the distances, from V (x - offset)), which goes
 * through the operator's factors, and norms. A plain codebook is compared in
 * double and M^+ has the floor 1e-12 L_1; factors work in single precision,
 * whose rounding a small eigenvalue would blow up, and the floor is 1e-8 L_1.
 * For the same reason nothing is lost where the values of rbf (at most 1) and
 * L_r^-1/2 V_r' are single precision behind factors.
 *
 * Layout of the value (byte order the machine's, padding zero):
 *     fc_kernel_map_header, double norms[k] (||u_j||^2), double t[rank * k],
 *     the operator's bytes
 */
#ifndef FC_RKHS_MAP_H
#define FC_RKHS_MAP_H

#include "operator/bytes.h"
#include "rkhs/kernel.h"

#define FC_KERNEL_MAP_VERSION	1

typedef struct fc_kernel_map_header
{
	uint32_t	container;		/* belongs to the code that stores the value;
								 * ignored */
	uint16_t	version;
	uint16_t	padding;		/* 0 */
	uint64_t	digest[2];		/* of everything behind */
	fc_kernel	kernel;
	uint32_t	k;
	uint32_t	d;
	uint32_t	rank;
	uint32_t	unit;			/* 1: features have length 1; else 0 */
	uint64_t	operator_size;
} fc_kernel_map_header;

typedef struct fc_kernel_map
{
	fc_kernel	kernel;
	size_t		rank;
	bool		unit;			/* features have length 1, but for zero */
	const double *norms;		/* k */
	const double *t;			/* rank x k */

	/*
	 * the same rounded, or NULL: by fc_kernel_map_prepare, for rbf behind
	 * factors
	 */
	const float *single;
	fc_operator op;
} fc_kernel_map;

/*
 * Eigenpairs that `rank` (0: all, FC_MAX_KERNEL_RANK at most when k > 512)
 * asks for.
 */
size_t		fc_kernel_map_pairs(size_t k, size_t rank);

/* About the multiply-adds of the features of a row. */
double		fc_kernel_features_operations(const fc_kernel_map *map);

/*
 * norms (k), t (pairs x k) and *found: how many eigenvalues stand above the
 * floor, their rows of t first, the others 0. FC_EFAR as fc_kernel_prepare.
 */
fc_status
			fc_kernel_map_solve(const fc_operator *op, const fc_kernel *kernel, size_t rank,
								fc_arena *arena, double *norms, double *t, size_t *found);

size_t		fc_kernel_map_size(size_t k, size_t rank, size_t operator_size);
void		fc_kernel_map_write(const fc_kernel *kernel, size_t rank, bool unit,
								const double *norms, const double *t,
								const fc_operator_header *op, size_t operator_size,
								fc_kernel_map_header *header);
void		fc_kernel_map_view(const fc_kernel_map_header *header, fc_kernel_map *map);
fc_status	fc_kernel_map_check(const void *bytes, size_t size);

/*
 * Preparation that many rows share, in the arena: sparse factors rearranged
 * (fc_operator_slice), t in single precision.
 */
void		fc_kernel_map_prepare(fc_kernel_map *map, fc_arena *arena);

/*
 * y (rank) = phi(x), x of d doubles of magnitude below 2^63; scratch:
 * fc_kernel_map_scratch floats. Not finite where products with the landmarks
 * are not.
 */
size_t		fc_kernel_map_scratch(const fc_kernel_map *map);
void		fc_kernel_map_features(const fc_kernel_map *map, const double *x,
								   fc_scratch scratch, float *y);

/* ---- spectral features (spectral.c) ---- */

/*
 * Features of an rbf kernel that show k clusters of any shape; its width is
 * chosen from rows.
 *
 *     phi(x) = L^-1/2 V' kappa(U, x)        Nystrom features on landmarks U,
 *                                           K ~ Phi Phi'
 *     deg_i  = phi(x_i) . sum_j phi(x_j)    the sum of row i of Phi Phi'
 *     A      = the k leading eigenvectors of Phi' diag(1 / deg) Phi
 *     y(x)   = A phi(x) / ||A phi(x)||      rows of one connected cluster
 *                                           share a direction
 *
 * Ng, Jordan, Weiss (2001), On spectral clustering, sections 2 and 4: spectral
 * clustering, and the choice of the width by the distortion of k-means;
 * Fowlkes, Belongie, Chung, Malik (2004): by way of Nystrom. A row that comes
 * later has features too, since its degree cancels in y.
 *
 * Widths from the deviation of the rows down to a sixteenth of it are tried;
 * the widest is taken by which clusters are clear: the mean square of y from
 * the centroids is below FC_SPECTRAL_CLEAR (rows at random have about 1 -
 * 1/k), and no cluster is a handful of outliers. Where none is, or k-means of
 * the rows finds the same clusters, features are plain, phi(x) of a kernel
 * seven times as wide as the rows: about k-means.
 *
 * Cost of a width: m^2 (3 n + 20 m) multiply-adds for n rows and m landmarks,
 * and a search of k-means on n rows in k dimensions.
 */
#define FC_SPECTRAL_CLUSTERS	50	/* of more, features are plain */
#define FC_SPECTRAL_CLEAR		0.01
#define FC_SPECTRAL_SHARE		0.25	/* the smallest cluster has at least
										 * this part of n / k rows */
#define FC_SPECTRAL_AGREED		0.95	/* share of rows that k-means puts
										 * where these features do: they are
										 * not needed */

typedef struct fc_spectral
{
	fc_kernel	kernel;
	bool		unit;			/* y(x), else phi(x) */
	/* coordinates: k, or min(max(10, 3 k), landmarks) of plain ones at most */
	size_t		rank;
	size_t		landmarks;
	size_t	   *landmark;		/* most: places of rows; from the caller */

	/*
	 * fc_spectral_rank(k, most) x most, rank x landmarks of it used, without
	 * gaps; from the caller
	 */
	double	   *t;
	double		cost;			/* the mean square of y from its centroids;
								 * NAN: plain */
} fc_spectral;

/* About the multiply-adds of fc_spectral_choose. */
double		fc_spectral_operations(size_t n, size_t d, size_t k, size_t most);

/* The greatest rank, with `most` landmarks at most. */
size_t		fc_spectral_rank(size_t k, size_t most);

/* x: n x d, of magnitudes below 2^63. */
void
			fc_spectral_choose(const double *x, size_t n, size_t d, size_t k, size_t most,
							   uint64_t seed, fc_arena *arena, fc_spectral *result);

#endif							/* FC_RKHS_MAP_H */

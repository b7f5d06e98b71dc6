/*
 * map.h - a serialized map from any row to its Nystrom features, with the
 * centroids of an operator as landmarks.
 *
 *     M = kappa(U, U),  M = V L V',
 *     phi(x) = L_r^-1/2 V_r' kappa(U, x)      (r coordinates)
 * so that phi(x).phi(y) is the Nystrom approximation of kappa(x, y): exact if
 * x or y is a landmark and all eigenpairs are used. U consists of the k rows
 * of the operator's product plus its offset.
 *
 * kappa(U, x) follows from U x and norms. For rbf, it follows from the
 * distances of x to the landmarks, which need the products of x - offset with
 * the landmarks minus the offset. These products are computed through the
 * operator's factors. For a plain codebook they are in double precision, and
 * eigenvalues below 1e-12 L_1 are dropped. Several factors work in single
 * precision. A small eigenvalue would magnify their rounding errors, so
 * eigenvalues below 1e-8 L_1 are dropped. With that floor, the values of rbf
 * (at most 1) and L_r^-1/2 V_r' of a factored operator can be in single
 * precision, too, without loss of accuracy.
 *
 * Layout of the value (native byte order, padding zero):
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
	uint32_t	container;		/* used by the code that stores the value;
								 * ignored here */
	uint16_t	version;
	uint16_t	padding;		/* always 0 */
	uint64_t	digest[2];		/* hash of all bytes after it */
	fc_kernel	kernel;
	uint32_t	k;
	uint32_t	d;
	uint32_t	rank;
	uint32_t	unit;			/* 1: features have length 1; 0: they are not
								 * scaled */
	uint64_t	operator_size;
} fc_kernel_map_header;

typedef struct fc_kernel_map
{
	fc_kernel	kernel;
	size_t		rank;
	bool		unit;			/* true if nonzero features have length 1 */
	const double *norms;		/* k squared norms of the landmarks */
	const double *t;			/* rank x k matrix L_r^-1/2 V_r' */

	/*
	 * t in single precision, set by fc_kernel_map_prepare for the rbf kernel
	 * of a factored operator; otherwise NULL
	 */
	const float *single;
	fc_operator op;
} fc_kernel_map;

/*
 * Returns the number of eigenpairs to compute for a rank; rank 0 stands for
 * all pairs, or for FC_MAX_KERNEL_RANK if k > 512.
 */
size_t		fc_kernel_map_pairs(size_t k, size_t rank);

/*
 * Returns the approximate number of multiply-adds for the features of a row.
 */
double		fc_kernel_features_operations(const fc_kernel_map *map);

/*
 * Computes norms (k) and t (pairs x k), and sets *found to the number of
 * eigenvalues above the floor. The rows of t for these eigenvalues come first;
 * the other rows are 0. Returns FC_EFAR if fc_kernel_prepare does.
 */
fc_status	fc_kernel_map_solve(const fc_operator *op, const fc_kernel *kernel, size_t rank,
								fc_arena *arena, double *norms, double *t, size_t *found);

size_t		fc_kernel_map_size(size_t k, size_t rank, size_t operator_size);
void		fc_kernel_map_write(const fc_kernel *kernel, size_t rank, bool unit,
								const double *norms, const double *t,
								const fc_operator_header *op, size_t operator_size,
								fc_kernel_map_header *header);
void		fc_kernel_map_view(const fc_kernel_map_header *header, fc_kernel_map *map);
fc_status	fc_kernel_map_check(const void *bytes, size_t size);

/*
 * Computes data that all rows share, in the arena: rearranged sparse factors
 * (fc_operator_slice), and map->single.
 */
void		fc_kernel_map_prepare(fc_kernel_map *map, fc_arena *arena);

/*
 * fc_kernel_map_features computes y (rank values) = phi(x) for x of d doubles
 * of magnitude below 2^63. The scratch space must have fc_kernel_map_scratch
 * floats. y is not finite if products with the landmarks are not.
 */
size_t		fc_kernel_map_scratch(const fc_kernel_map *map);
void		fc_kernel_map_features(const fc_kernel_map *map, const double *x,
								   fc_scratch scratch, float *y);

/* ---- spectral features (spectral.c) ---- */

/*
 * Features that separate k clusters of any shape, from an rbf kernel whose
 * width is chosen by trials on sample rows.
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
 * Fowlkes, Belongie, Chung, Malik (2004): computation by the Nystrom method.
 * New rows have features as well, because their degree cancels in y.
 *
 * Widths from the standard deviation of the rows (all dimensions together)
 * down to a sixteenth of it are tried, and the widest one with clear clusters
 * is used. Clusters are clear if the mean squared distance of y from the
 * centroids is below FC_SPECTRAL_CLEAR (about 1 - 1/k for random rows) and the
 * smallest cluster has at least FC_SPECTRAL_SHARE n / k rows. If no width has
 * clear clusters, or if k-means of the rows finds nearly the same clusters
 * (FC_SPECTRAL_AGREED), features are plain: phi(x) of a kernel seven times as
 * wide as the standard deviation of the rows. K-means of plain features finds
 * about the same clusters as k-means of the rows.
 *
 * Cost per width: m^2 (3 n + 20 m) multiply-adds for n rows and m landmarks,
 * and a search of k-means on n rows in k dimensions.
 */

/*
 * Maximum k for spectral features; beyond it features are plain, because
 * searches for many widths would take long. A guess.
 */
#define FC_SPECTRAL_CLUSTERS	50

/*
 * Mean squared distance of y from the centroids below which clusters are
 * clear. With a larger one, spectral features are also used if they separate
 * the clusters poorly. A guess.
 */
#define FC_SPECTRAL_CLEAR	0.01

/*
 * Minimum number of rows in the smallest cluster, as a share of n / k. A
 * smaller one accepts clusters of outliers. A guess.
 */
#define FC_SPECTRAL_SHARE	0.25

/*
 * Minimum agreement of k-means of the rows with k-means of the spectral
 * features, as a share of the rows, at which plain features are used instead.
 * Plain features are phi(x) of a wide kernel (see above). A guess.
 */
#define FC_SPECTRAL_AGREED	0.95

typedef struct fc_spectral
{
	fc_kernel	kernel;
	bool		unit;			/* true: features are y(x); false: phi(x) */

	/*
	 * number of coordinates: k; for plain features up to min(max(10, 3 k),
	 * landmarks)
	 */
	size_t		rank;
	size_t		landmarks;
	size_t	   *landmark;		/* row indices of the landmarks; `max`
								 * entries, allocated by the caller */

	/*
	 * rank x landmarks matrix without gaps that turns kappa(U, x) into
	 * features; the caller allocates fc_spectral_rank(k, max) x max values
	 */
	double	   *t;
	double		cost;			/* mean squared distance of y from the nearest
								 * centroid of k-means; NAN for plain features */
} fc_spectral;

/* Returns the approximate number of multiply-adds of fc_spectral_choose. */
double		fc_spectral_operations(size_t n, size_t d, size_t k, size_t max);

/*
 * Returns the maximum rank of fc_spectral_choose with up to `max` landmarks.
 */
size_t		fc_spectral_rank(size_t k, size_t max);

/*
 * Chooses the kernel and up to `max` landmarks for x (n x d), whose values
 * have magnitudes below 2^63.
 */
void		fc_spectral_choose(const double *x, size_t n, size_t d, size_t k, size_t max,
							   uint64_t seed, fc_arena *arena, fc_spectral *result);

#endif							/* FC_RKHS_MAP_H */

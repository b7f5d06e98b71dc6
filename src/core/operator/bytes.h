/*
 * bytes.h - the flat, versioned bytes of a stored operator.
 *
 * Layout (offsets are multiples of 8, padding is zero, in the machine's byte
 * order):
 *     fc_operator_header
 *     double weights[k]
 *     double offset[d]                       only with FC_OPERATOR_OFFSET
 *     double exact offset[d]                 only with
 *                                            FC_OPERATOR_EXACT_OFFSET
 *     fc_factorization                       only with
 *                                            FC_OPERATOR_FACTORIZATION
 *     fc_factor_header factor[factors]       F_1 with k rows .. F_Q with d
 *                                            columns
 *     float  half_norms[k]
 *     per factor, dense: float values[rows * columns]
 *                sparse: float values[nonzeros], uint32 row_start[rows + 1],
 *                        column[nonzeros] of uint16 if columns <= 65536,
 *                        else of uint32
 *     float  residual[k], exact half_norms[k], exact values[k * d]
 *                                            only with FC_OPERATOR_EXACT
 *     int32  number[k]                       only with FC_OPERATOR_NUMBERS,
 *                                            never with FC_OPERATOR_REGIONS
 *     uint64 clusters, int32 cluster[k], peak_cluster[k], float radius[k],
 *         reach[k], peak[k]  only with FC_OPERATOR_REGIONS
 * The digest covers the flags, and all bytes after the digest. Equal digests
 * mean equal operators.
 */
#ifndef FC_OPERATOR_BYTES_H
#define FC_OPERATOR_BYTES_H

#include "operator/operator.h"

#define FC_OPERATOR_VERSION	2

/* Flag of an operator whose centroids are stored relative to an offset. */
#define FC_OPERATOR_OFFSET	0x01

/* Flag of a product that has exact centroids for re-ranking. */
#define FC_OPERATOR_EXACT	0x02

/*
 * Flag of exact centroids that are stored relative to an offset; valid only
 * together with FC_OPERATOR_EXACT.
 */
#define FC_OPERATOR_EXACT_OFFSET	0x04

/*
 * Flag of an operator that stores cluster numbers. They are stored only if
 * they are not 0 .. k - 1.
 */
#define FC_OPERATOR_NUMBERS	0x08

/* Flag of an operator that stores an fc_factorization. */
#define FC_OPERATOR_FACTORIZATION	0x10

/*
 * Flag of the metric cosine. The metric is euclidean if neither this flag nor
 * FC_OPERATOR_INNER_PRODUCT is set.
 */
#define FC_OPERATOR_COSINE	0x20

/* Flag of the metric inner_product; half norms are 0. */
#define FC_OPERATOR_INNER_PRODUCT	0x40

/* Flag of an operator with regions (fc_regions). */
#define FC_OPERATOR_REGIONS	0x80

typedef struct fc_operator_header
{
	uint32_t	container;		/* varlena length word, set by the caller;
								 * ignored here */
	uint16_t	version;
	uint8_t		flags;
	uint8_t		padding;		/* always 0 */
	uint64_t	digest[2];
	uint32_t	k;
	uint32_t	d;
	uint32_t	factors;		/* 1 .. FC_MAX_FACTORS */
	uint32_t	rerank;			/* 1 .. k or FC_RERANK_EXACT; 0 without
								 * FC_OPERATOR_EXACT */
	double		max_row_norm;	/* first of four rounding bounds of
								 * fc_operator, up to max_growth */
	double		error_relative;
	double		error_absolute;
	double		max_growth;
	double		exact_max_row_norm; /* first of four fields of
									 * fc_exact_centroids, up to
									 * residual_leakage; 0 without
									 * FC_OPERATOR_EXACT */
	double		exact_offset_length;
	double		orthogonality_defect;
	double		residual_leakage;
} fc_operator_header;

/* A stored operator with one dense factor: the centroids themselves. */
typedef fc_operator_header fc_codebook;

enum
{
	FC_FACTOR_DENSE = 0,
	FC_FACTOR_SPARSE = 1
};

typedef struct fc_factor_header
{
	uint32_t	kind;
	uint32_t	rows;
	uint32_t	columns;
	uint32_t	padding;		/* always 0 */
	uint64_t	nonzeros;		/* rows x columns for a dense factor */
	double		error;			/* rounding bound, `error` of fc_factor */
} fc_factor_header;

/*
 * Returns the size in bytes of the stored form of op. Reads the shapes of the
 * factors, but not their values.
 */
size_t		fc_operator_size(const fc_operator *op);

/*
 * Returns the address of the first factor's values inside the bytes, so that a
 * caller can compute them in place and pass them to fc_operator_write.
 */
float	   *fc_operator_place(const fc_operator *op, fc_operator_header *header);

/*
 * Writes op as fc_operator_size bytes, digest included. All arrays must be
 * set, and fc_operator_measure must have been called.
 */
void		fc_operator_write(const fc_operator *op, fc_operator_header *header);

/*
 * Writes op as fc_operator_write does, but with a digest of 0.
 * fc_operator_measure need not have been called.
 */
void		fc_operator_write_unmeasured(const fc_operator *op, fc_operator_header *header);

/* Makes op a view into valid bytes. */
void		fc_operator_view(const fc_operator_header *header, fc_operator *op);

/*
 * Validates `size` untrusted bytes, aligned to 8. fc_operator_verify then
 * checks that the half norms and the rounding bounds agree with the factors.
 * Returns FC_OK or FC_EFORMAT.
 */
fc_status	fc_operator_check(const void *bytes, size_t size);

/*
 * Validates bytes that come from fc_operator_write. Performs all checks of
 * fc_operator_check except the check of the digest.
 */
fc_status	fc_operator_check_written(const fc_operator_header *header, size_t size);

#endif							/* FC_OPERATOR_BYTES_H */

/*
 * fc_operator_build.c - what is stored beside the factors: half the squared norms of the rows.
 *
 * ||v_j||^2 / 2 from row j of the product, squared and summed in double, rounded once.
 */
#include "fc_operator.h"

#include "fc_kmeans_kernel.h"
#include "fc_operator_kernel.h"

void
fc_operator_half_norms(const fc_operator *op, float *scratch, float *half_norms)
{
	for (size_t j = 0; j < op->k; j++)
		half_norms[j] = (float) (0.5 * fc_kmeans_square(fc_operator_product_row(op, j, scratch), op->d));
}

/* kdtree_simd.c - the inner loops of a tree of boxes; see kdtree.h */
#include "numerics/kdtree.h"

#include "base/simd.h"

FC_CLONES
float
fc_boxes_leaf_distances(const float *pack, size_t d, const float *x, float *squared)
{
	float		sum[FC_BOXES_LEAF] = {0.0f};
	float		least[FC_BOXES_LANES];

	for (size_t c = 0; c < d; c++)
		for (size_t r = 0; r < FC_BOXES_LEAF; r++)
		{
			float		gap = pack[c * FC_BOXES_LEAF + r] - x[c];

			sum[r] += gap * gap;
		}
	for (size_t lane = 0; lane < FC_BOXES_LANES; lane++)
		least[lane] = sum[lane];
	for (size_t r = 0; r < FC_BOXES_LEAF; r += FC_BOXES_LANES)
		for (size_t lane = 0; lane < FC_BOXES_LANES; lane++)
		{
			squared[r + lane] = sum[r + lane];
			least[lane] = sum[r + lane] < least[lane] ? sum[r + lane] : least[lane];
		}
	for (size_t lane = 1; lane < FC_BOXES_LANES; lane++)
		least[0] = least[lane] < least[0] ? least[lane] : least[0];
	return least[0];
}

/* max(low - x, x - high, 0)^2, summed in FC_BOXES_LANES lanes; not NaN: bounds may be infinite, x is not. */
FC_CLONES
void
fc_boxes_distances(const float *const box[2], size_t width, const float *x, float squared[2])
{
	for (int b = 0; b < 2; b++)
	{
		const float *low = box[b];
		const float *high = box[b] + width;
		float		sum[FC_BOXES_LANES] = {0.0f};
		float		all = 0.0f;

		for (size_t first = 0; first < width; first += FC_BOXES_LANES)
			for (size_t lane = 0; lane < FC_BOXES_LANES; lane++)
			{
				float		below = low[first + lane] - x[first + lane];
				float		above = x[first + lane] - high[first + lane];
				float		outside = below > above ? below : above;

				outside = outside > 0.0f ? outside : 0.0f;
				sum[lane] += outside * outside;
			}
		for (size_t lane = 0; lane < FC_BOXES_LANES; lane++)
			all += sum[lane];
		squared[b] = all;
	}
}

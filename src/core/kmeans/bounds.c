/* bounds.c - rows that stay with their centroid without a search; see bounds.h */
#include "kmeans/bounds.h"

#include <math.h>
#include <string.h>

#include "kmeans/internal.h"
#include "numerics/rows.h"

#define FAST_SHARE		8		/* this part of the centroids may be fast */
#define HALVINGS		40		/* of the longest way, to find the bound of theirs */
#define MORE			(1.0f + 0x1p-16f)	/* beyond the rounding of a distance in float */
#define LESS			(1.0f - 0x1p-16f)

void
fc_kmeans_bounds_take(fc_arena *arena, size_t n, size_t d, size_t k, fc_bounds *bounds)
{
	bounds->other = FC_TAKE(arena, n, float);
	bounds->seen = FC_TAKE(arena, k * d, float);
	bounds->moved = FC_TAKE(arena, k, float);
	fc_boxes_take(arena, k, d, &bounds->fast);
}

static size_t
count_above(const float *values, size_t n, float limit)
{
	size_t		count = 0;

	for (size_t i = 0; i < n; i++)
		count += values[i] > limit;
	return count;
}

/* The ways of all centroids, and the boxes of the fast ones. */
static fc_status
follow_centroids(fc_kmeans_work *w)
{
	fc_bounds  *b = &w->bounds;
	size_t		fast = 0;

	b->way = 0.0f;
	for (size_t j = 0; j < w->k; j++)
	{
		fc_check_every(&w->done, w->d + HALVINGS);
		b->moved[j] = MORE * (float) sqrt(fc_row_gap(w->rounded + j * w->d, b->seen + j * w->d, w->d));
		b->way = fmaxf(b->way, b->moved[j]);
	}
	for (int i = 0; i < HALVINGS && count_above(b->moved, w->k, 0.5f * b->way) <= w->k / FAST_SHARE; i++)
		b->way *= 0.5f;
	for (size_t j = 0; j < w->k; j++)
		if (b->moved[j] > b->way)
			b->fast.order[fast++] = (uint32_t) j;
	return fc_boxes_build_chosen(&b->fast, w->rounded, fast);
}

/* Is the row's centroid still the nearest, for all that is known?  *squared: the distance to it. */
static bool
stays(fc_kmeans_work *w, size_t i, const float *x, float *squared)
{
	fc_bounds  *b = &w->bounds;
	size_t		label = (size_t) w->label[i];
	float		other = LESS * (b->other[i] - b->way);
	float		own;

	w->compared++;
	*squared = (float) fc_row_gap(x, w->rounded + label * w->d, w->d);
	own = MORE * sqrtf(*squared);
	if (!(own < other))
		return false;
	other = LESS * sqrtf(fc_boxes_least(&b->fast, x, label, other * other, &w->compared));
	b->other[i] = other;
	return own < other;
}

static void
search(fc_kmeans_work *w, size_t i, const float *x, float *squared)
{
	float		two[2];

	w->label[i] = (int32_t) fc_boxes_nearest_two(&w->boxes, x, 0.0f, two, &w->compared);
	w->bounds.other[i] = LESS * sqrtf(two[1]);
	*squared = two[0];
}

fc_status
fc_kmeans_assign_in_boxes(fc_kmeans_work *w)
{
	fc_bounds  *b = &w->bounds;
	fc_status	status = fc_boxes_build(&w->boxes, w->rounded);

	if (status == FC_OK && b->known)
		status = follow_centroids(w);
	for (size_t i = 0; i < w->n && status == FC_OK; i++)
	{
		float		buffer[FC_PACK_DIMENSIONS];
		const float *x = fc_kmeans_row(w, i, buffer);
		uint64_t	before = w->compared;
		float		squared;

		if (!b->known || !stays(w, i, x, &squared))
			search(w, i, x, &squared);
		w->near[i] = w->careful ? squared : 0.5f * (squared - w->norm[i]);
		fc_check_every(&w->done, (w->compared - before) * w->d);
	}
	memcpy(b->seen, w->rounded, w->k * w->d * sizeof(float));
	b->known = status == FC_OK;
	return status;
}

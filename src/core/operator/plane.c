/* plane.c - the centroids of an operator on a plane; see plane.h */
#include "operator/plane.h"

#include <math.h>
#include <string.h>

#include "numerics/principal.h"

typedef struct plane_work
{
	size_t		axes;			/* 2, or 1 in one dimension */
	double	   *mean;			/* d */
	double	   *row;			/* d */
	double	   *share;			/* k: w_j / W */
	float	   *cloud;			/* k x d: sqrt(w_j / W) (c_j - m) / largest */
	float	   *axis;			/* axes x d */
	fc_scratch	scratch;
} plane_work;

static void
take_work(fc_arena *arena, const fc_operator *op, plane_work *w)
{
	w->axes = op->d < 2 ? op->d : 2;
	w->mean = FC_TAKE(arena, op->d, double);
	w->row = FC_TAKE(arena, op->d, double);
	w->share = FC_TAKE(arena, op->k, double);
	w->cloud = FC_TAKE(arena, op->k * op->d, float);
	w->axis = FC_TAKE(arena, w->axes * op->d, float);
	w->scratch = fc_take_scratch(arena, fc_operator_scratch(op));
}

static void
find_shares(const fc_operator *op, double *share)
{
	double		total = 0.0;

	for (size_t j = 0; j < op->k; j++)
		total += op->weights[j];
	for (size_t j = 0; j < op->k; j++)
		share[j] = total > 0.0 && isfinite(total) ? op->weights[j] / total : 1.0 / (double) op->k;
}

/* The mean, and the largest coordinate of a centroid around it: 0 where all centroids are one point. */
static void
find_mean(const fc_operator *op, plane_work *w, double *largest)
{
	size_t		done = 0;

	memset(w->mean, 0, op->d * sizeof(double));
	*largest = 0.0;
	for (int pass = 0; pass < 2; pass++)
		for (size_t j = 0; j < op->k; j++)
		{
			fc_check_every(&done, op->d);
			fc_operator_row(op, j, w->scratch, w->row);
			for (size_t i = 0; i < op->d; i++)
				if (pass == 0)
					w->mean[i] += w->share[j] * w->row[i];
				else
					*largest = fmax(*largest, fabs(w->row[i] - w->mean[i]));
		}
}

/* Centroids around the mean in units of the largest coordinate, so that squares neither vanish nor overflow. */
static void
fill_cloud(const fc_operator *op, double largest, plane_work *w)
{
	size_t		done = 0;

	for (size_t j = 0; j < op->k; j++)
	{
		fc_check_every(&done, op->d);
		fc_operator_row(op, j, w->scratch, w->row);
		for (size_t i = 0; i < op->d; i++)
			w->cloud[j * op->d + i] = (float) (sqrt(w->share[j]) * ((w->row[i] - w->mean[i]) / largest));
	}
}

/* p_j, and of each axis its share of the squares. */
static fc_status
project(const fc_operator *op, double largest, plane_work *w, double *places, double shown[2])
{
	double		all = 0.0;
	size_t		done = 0;

	for (size_t j = 0; j < op->k; j++)
	{
		fc_check_every(&done, 4 * op->d);
		fc_operator_row(op, j, w->scratch, w->row);
		for (size_t i = 0; i < op->d; i++)
		{
			double		x = (w->row[i] - w->mean[i]) / largest;

			all += w->share[j] * x * x;
			for (size_t a = 0; a < w->axes; a++)
				places[2 * j + a] += x * (double) w->axis[a * op->d + i];
		}
		for (size_t a = 0; a < 2; a++)
		{
			shown[a] += w->share[j] * places[2 * j + a] * places[2 * j + a];
			places[2 * j + a] *= largest;
		}
	}
	for (size_t a = 0; a < 2; a++)
		shown[a] = fmin(1.0, shown[a] / all);
	return FC_OK;
}

fc_status
fc_operator_plane(const fc_operator *op, fc_arena *arena, double *places, double shown[2])
{
	fc_mark		mark = fc_arena_mark(arena);
	double		largest = 0.0;
	plane_work	w;
	fc_status	status = FC_OK;

	take_work(arena, op, &w);
	memset(places, 0, 2 * op->k * sizeof(double));
	shown[0] = shown[1] = 0.0;
	find_shares(op, w.share);
	find_mean(op, &w, &largest);
	if (status == FC_OK && largest > 0.0)
	{
		fill_cloud(op, largest, &w);
		if (status == FC_OK)
			status = fc_principal_axes(w.cloud, op->k, op->d, w.axes, 0, arena, w.axis);
		if (status == FC_OK)
			status = project(op, largest, &w, places, shown);
	}
	fc_arena_release(arena, mark);
	return status;
}

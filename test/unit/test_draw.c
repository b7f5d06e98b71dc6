/* test_draw.c - rows drawn from clusters: their shares, means and spreads; the same from the same seed */
#include "operator/codebook.h"
#include "operator/mixture.h"
#include "operators.h"

#define K 4
#define D 3
#define ROWS 20000

static const double centroids[K * D] = {0, 0, 0, 100, 0, 0, 0, 100, 0, 100, 100, 100};
static const double weights[K] = {5, 0, 3, 2};
static const double spreads[K] = {1, 2, 0, 4};

static fc_status
draw(uint64_t seed, const double *w, double *rows)
{
	fc_operator op;
	double		most;
	double		shares[K];
	float	   *room;

	view_codebook(FC_EUCLIDEAN, centroids, w, K, D, unit_work(), &op, &most);
	room = unit_uncleared(fc_operator_scratch(&op) * sizeof(float));
	return fc_operator_draw(&op, spreads, seed, ROWS, (fc_scratch) {room, fc_operator_scratch(&op)}, shares, rows);
}

/* The cluster whose centroid is within 50 in each dimension. */
static size_t
nearest(const double *row)
{
	for (size_t j = 0; j < K; j++)
		if (fabs(row[0] - centroids[j * D]) < 50 && fabs(row[1] - centroids[j * D + 1]) < 50 && fabs(row[2] - centroids[j * D + 2]) < 50)
			return j;
	return K;
}

int
main(void)
{
	double	   *rows = unit_uncleared(ROWS * D * sizeof(double));
	double	   *again = unit_uncleared(ROWS * D * sizeof(double));
	double		count[K + 1] = {0};
	double		sum[K + 1] = {0};
	double		squares[K + 1] = {0};

	CHECK(draw(7, weights, rows) == FC_OK, "draw");
	CHECK(draw(7, weights, again) == FC_OK && memcmp(rows, again, ROWS * D * sizeof(double)) == 0, "the seed does not say all");
	CHECK(draw(8, weights, again) == FC_OK && memcmp(rows, again, ROWS * D * sizeof(double)) != 0, "the seed says nothing");
	CHECK(draw(7, (double[K]) {0}, again) == FC_EWEIGHT, "no weight");
	for (size_t i = 0; i < ROWS; i++)
	{
		size_t		j = nearest(rows + i * D);

		count[j]++;
		for (size_t c = 0; c < D; c++)
		{
			double		x = j < K ? rows[i * D + c] - centroids[j * D + c] : 0;

			sum[j] += x;
			squares[j] += x * x;
		}
	}
	CHECK(count[K] == 0 && count[1] == 0, "%g rows of no cluster, %g of one without weight", count[K], count[1]);
	for (size_t j = 0; j < K; j++)
	{
		double		n = D * fmax(count[j], 1);

		CHECK(fabs(count[j] - ROWS * weights[j] / 10) < 5 * sqrt(ROWS * 0.25), "%g rows of cluster %zu", count[j], j);
		CHECK(fabs(sum[j] / n) <= 5 * spreads[j] / sqrt(n), "mean of cluster %zu: %g", j, sum[j] / n);
		CHECK(count[j] == 0 || fabs(sqrt(squares[j] / n) - spreads[j]) <= 5 * spreads[j] / sqrt(n), "spread of cluster %zu: %g", j, sqrt(squares[j] / n));
	}
	return unit_finish();
}

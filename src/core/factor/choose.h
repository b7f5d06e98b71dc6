/*
 * choose.h - how many values the factors of QK-means may hold, chosen by trial on a sample.
 *
 * Random centroids are no product of few sparse factors, smooth or repeated ones are; nothing but
 * trying tells.  So the start is factored at rising sparsities and each product is compared, on the
 * sample, with the start as it is.
 */
#ifndef FC_FACTOR_CHOOSE_H
#define FC_FACTOR_CHOOSE_H

#include "factor/qkmeans.h"

/* An operator over the rows of a sample. */
typedef struct fc_measure
{
	double		objective;		/* SSE to the operator's rows */
	double		wcss;			/* SSE to the means of its labels */
	double		scatter;		/* SSE to the mean of all rows */
} fc_measure;

fc_status	fc_measure_operator(const fc_operator *op, const fc_row_source *sample,
								fc_arena *arena, fc_measure *measure);

/* The same for k x d centroids as they are; as many bytes again. */
fc_status	fc_measure_start(const double *start, const double *offset, size_t k, size_t d, const fc_row_source *sample,
							 fc_arena *arena, fc_measure *measure);

/* a / b, where what is below 1e-6 of the scatter counts as that: clusters without spread have no ratio. */
double		fc_measure_ratio(double a, double b, double scatter);

typedef struct fc_trial
{
	int			factors;
	int			sparsity;
	size_t		nonzeros;
	double		objective;		/* of the factored start / of the start */
	double		wcss;			/* the same of the means of the labels */
} fc_trial;

typedef struct fc_trials
{
	const fc_measure *dense;	/* of the start */
	size_t		most_bytes;		/* for a trial and for what follows */
	void		(*tried) (void *ctx, const fc_trial *trial);	/* or NULL */
	void	   *tried_ctx;
} fc_trials;

#define FC_CLOSE_SSE_RATIO	1.1	/* a product this close to the start ends the search */
#define FC_NEAR_SSE_RATIO	1.5	/* what will do for FC_LARGE_CENTROIDS centroids, whose rows take long to label */
#define FC_SAME_LABELS_SSE_RATIO	1.02	/* SSE to the means of labels that are as good */
#define FC_LARGE_CENTROIDS	((size_t) 1 << 16)	/* k d */
#define FC_TRIAL_WORK	((double) (1 << 29))	/* multiplications of a sweep: sparsity^2 min(k, d) (k + d) */

/*
 * Sets factors, sparsity and budget of *options, given with sparsity and budget 0.  Two factors
 * (measured: at equal values closer than more of them) unless options->factors says how many; sparsity s
 * = 2, 3, 4, 6, 9, 13 .. on the longest factor and as many values for the other one, while the product has fewer
 * than k d values and a sweep fewer than FC_TRIAL_WORK multiplications.  Taken is the first that is within
 * FC_CLOSE_SSE_RATIO of the start's SSE on the sample.  When none is: of FC_LARGE_CENTROIDS centroids the closest, if within FC_NEAR_SSE_RATIO, or else
 * the sparsest whose labels are as good (FC_SAME_LABELS_SSE_RATIO); failing these, one factor of all k d values.
 * With options->factors given every factor has sparsity s, and the closest of all is the last resort.
 * options->log is not called.  options->warm_factors is the product that ended the search, in the arena, or NULL.
 */
fc_status	fc_qkmeans_choose(const double *start, const double *offset, size_t k, size_t d, const fc_row_source *sample,
							  const fc_trials *trials, fc_arena *arena, fc_qkmeans_options *options);

#endif							/* FC_FACTOR_CHOOSE_H */

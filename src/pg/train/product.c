/*
 * product.c - QK-means by scans of a table (L. Giffon et al. 2021): the method
 * qkmeans of a training, and qkmeans_log. Memory holds no more than a sample
 * of the rows.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "factor/sample.h"
#include "pg/factor/qkmeans_call.h"
#include "pg/operator/operator_value.h"
#include "pg/train/lloyd.h"
#include "pg/train/log.h"
#include "pg/train/options.h"
#include "pg/train/product.h"
#include "pg/train/query.h"
#include "pg/train/relation.h"
#include "pg/train/sample.h"
#include "pg/train/source.h"

Size
stored_values(const fc_operator_header *header)
{
	fc_operator op;

	open_operator(header, &op);
	return fc_operator_values(&op);
}

/*
 * Row source of fc_qkmeans that scans the table. Each scan is a step in the
 * log of the model.
 */
typedef struct product_scans
{
	const training *t;
	fc_row_source sample;
	int			count;
} product_scans;

static void
scan_for_product(void *ctx, const fc_operator *op, double *sse, double *weights,
				 double *means)
{
	product_scans *scans = ctx;
	bool		logged = scans->t->model_id != 0;
	fc_operator_header *header = store_operator(op);
	char	   *name = psprintf("factored scan %d", scans->count++);
	TimestampTz begun = logged ? begin_step(scans->t, name) : 0;
	lloyd_sums	sums = lloyd_scan(scans->t, header);
	fc_operator next;

	if (logged)
		log_step(scans->t, name, begun, sums.sse / sums.weight,
				 psprintf("%zu non-zeros", fc_operator_values(op)));
	open_operator(sums.next, &next);
	*sse = sums.sse;
	memcpy(weights, next.weights, next.k * sizeof(double));
	fc_operator_centroids(&next, NULL, NULL,
						  make_scratch(fc_operator_scratch(&next)), means);
	pfree(header);
}

/*
 * Finds the rows of the sample that are farthest from op. A search among all
 * rows would cost another scan.
 */
static void
farthest_of_sample(void *ctx, const fc_operator *op, size_t count, double *rows,
				   size_t *found)
{
	const product_scans *scans = ctx;

	scans->sample.farthest(scans->sample.ctx, op, count, rows, found);
}

/*
 * Returns the product of factors that QK-means learns: from scans of all n
 * rows if `scanned` is true, else from the sample.
 */
static fc_operator_header *
product_of_rows(const training *t, qkmeans_call *call,
				const fc_weighted_rows *rows, bool scanned, Size n)
{
	product_scans scans = {t};
	fc_row_source scanning = {
		.ctx = &scans,.scan = scan_for_product,.farthest = farthest_of_sample
	};
	collection	sample = {
		.d = (int32) rows->d,
		.k = call->k,
		.n = rows->n,
		.capacity = rows->n,
		.x = numbers_of_rows(rows),
		.account = &call->memory
	};

	scans.sample = collected_rows(&sample);
	return run_qkmeans(call, &sample, scanned ? &scanning : &scans.sample, n);
}

/*
 * Learns the product from scans of the table if its rows are vectors that are
 * neither scaled nor normalised, else from the sample.
 */
void
learn_product(const training *t, group_fit *fit,
			  const fc_weighted_rows *rows, Size k)
{
	bool		scanned = (t->source.is_vector && !t->source.cosine &&
						   t->scaling.center == NULL);
	TimestampTz begun = GetCurrentTimestamp();
	qkmeans_call call = {0};

	read_qkmeans_options(product_settings(t->options), (int32) k, &call);
	if (scanned)
		rows = first_rows(rows, Max(FC_MIN_SAMPLE, FC_SAMPLE_PER_K * k));
	fit->op = with_metric(product_of_rows(t, &call, rows, scanned,
										  scanned ? (Size) fit->n : rows->n),
						  t->source.cosine ? FC_COSINE : FC_EUCLIDEAN);
	if (!scanned)
		log_step(t, "QK-means", begun, NAN,
				 psprintf("on the sample, %zu non-zeros",
						  stored_values(fit->op)));
}

/*
 * Takes (relation, features, k, options). Runs QK-means by scans that all see
 * the same rows, and returns its log.
 */
PG_FUNCTION_INFO_V1(fastclust_qkmeans_log);
Datum
fastclust_qkmeans_log(PG_FUNCTION_ARGS)
{
	qkmeans_call call = {.rows = fcinfo};
	training	t = {.method = METHOD_QKMEANS,.groups = 1};
	feature_list features = {palloc(sizeof(char *)), 1};
	train_options *options;
	double		wanted;
	const fc_weighted_rows *rows;

	require_argument(fcinfo, 0, "relation");
	require_argument(fcinfo, 1, "features");
	require_argument(fcinfo, 2, "k");
	require_argument(fcinfo, 3, "options");
	fastclust_begin_rows(fcinfo);
	read_qkmeans_options(PG_GETARG_JSONB_P(3), PG_GETARG_INT32(2), &call);
	SPI_connect();
	features.names[0] = NameStr(*PG_GETARG_NAME(1));
	t.k = (Size) call.k;
	options = options_of_text("{\"quiet\": true}");
	options->seed = (int64) (call.seed & PG_INT64_MAX);
	t.options = options;
	open_source(&t.source, PG_GETARG_OID(0), &features, true, NULL);
	t.source.stable = true;
	t.estimate = rows_to_sample(&t.source, SAMPLE_AUTO, true);
	wanted = Max(FC_MIN_SAMPLE, FC_SAMPLE_PER_K * (double) t.k);
	rows = uniform_sample(&t, wanted);
	if (rows->n < t.k)			/* If the budget made the sample smaller than
								 * k, raise an error about memory. */
		check_budget((Size) Min(wanted, t.estimate) * t.dim * SAMPLE_BYTES,
					 "the sample of qkmeans_log");
	if (rows->n < t.k)
		ereport(ERROR, errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				errmsg_plural("k is %d, but %s has only %zu row",
							  "k is %d, but %s has only %zu rows", rows->n,
							  call.k, t.source.relation, rows->n));
	call.entry.op = product_of_rows(&t, &call, rows, true,
									(Size) Max(t.estimate, rows->n));
	put_qkmeans_entry(&call);
	SPI_finish();
	return (Datum) 0;
}

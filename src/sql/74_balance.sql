
-- train with the option balance: no cluster has more than so many times the mean number of rows

CREATE FUNCTION fastclust_internal.check_balance(job training_job) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF job.options ? 'balance' AND (job.method <> 'kmeans' OR (job.source).group_by IS NOT NULL OR number_option(job.options, 'trim', 0) > 0) THEN
        RAISE feature_not_supported USING MESSAGE = format('option "balance" is not for %s',
                CASE WHEN job.method <> 'kmeans' THEN format('method "%s"', job.method) WHEN (job.source).group_by IS NOT NULL THEN 'groups' ELSE 'option "trim"' END),
            HINT = 'It takes the method auto or kmeans, of one group, with all rows.';
    END IF;
END
$$;

-- Clusters of more than `most` rows, by their counts, become several: centroids of the smallest others move there.  The rows of the sample
-- tell where; the numbers of the others stay.
CREATE FUNCTION fastclust_internal.split_large(op fastop, counts double precision[], most double precision, space_rows fastop, metric text, seed bigint) RETURNS fastop
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH c AS MATERIALIZED (SELECT o.cluster, o.centroid, counts[o.cluster + 1] AS n FROM centroids(op) o),
         r AS MATERIALIZED (SELECT q.* FROM (SELECT assign(op, s.centroid) AS label, s.* FROM centroids(space_rows) s) q WHERE counts[q.label + 1] > most),
         large AS (SELECT c.cluster, c.n, least(ceil(c.n / (0.9 * most)), count(*))::integer AS pieces FROM c JOIN r ON r.label = c.cluster GROUP BY 1, 2),
         piece AS MATERIALIZED (
             SELECT l.cluster, l.n, p.cluster AS number, p.centroid
               FROM large l, LATERAL (SELECT cluster_centroids(with_metric(fastop_agg(r.centroid, r.weight ORDER BY r.cluster), metric), l.pieces,
                                                               jsonb_build_object('seed', seed), NULL, 0) AS op FROM r WHERE r.label = l.cluster) k, centroids(k.op) p),
         donor AS (SELECT c.cluster, row_number() OVER (ORDER BY c.n, c.cluster) AS i FROM c WHERE c.n <= most),
         extra AS (SELECT p.centroid, row_number() OVER (ORDER BY p.n DESC, p.cluster, p.number) AS i FROM piece p WHERE p.number > 0),
         moved AS (SELECT d.cluster, e.centroid FROM donor d JOIN extra e USING (i) UNION ALL SELECT p.cluster, p.centroid FROM piece p WHERE p.number = 0)
    SELECT with_metric(fastop_agg(COALESCE(m.centroid, c.centroid), c.n ORDER BY c.cluster), metric) FROM c LEFT JOIN moved m USING (cluster)
$$;

-- Scans that count, each followed by splits, until the largest cluster is as small as was asked for, ten at most: the most even operator seen, its
-- mean squared distance, and how many times the mean its largest cluster is, all counted on the rows themselves.
CREATE FUNCTION fastclust_internal.balance_clusters(job training_job, units row_units, space_rows fastop, INOUT op fastop, INOUT objective double precision)
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    asked float8 := number_option(job.options, 'balance', NULL);
    candidate fastop := op;
    metric text := COALESCE((job.source).metric, 'euclidean');
    scan record;
    counts float8[];
    times float8;
    least_times float8 := 'infinity';
    begun timestamptz;
BEGIN
    FOR round IN 1 .. 10 LOOP
        begun := begin_step(job, format('balance scan %s', round));
        scan := lloyd_scan(job, units, '{""}', ARRAY[candidate]);
        counts := (SELECT array_agg(c.weight ORDER BY c.cluster) FROM centroids(scan.next[1]) c);
        times := (SELECT max(c) / avg(c) FROM unnest(counts) c);
        PERFORM log_step(job, format('balance scan %s', round), begun, scan.sse[1] / scan.n[1], format('largest cluster %s times the mean', round(times::numeric, 2)));
        IF times < least_times THEN
            least_times := times;
            op := candidate;
            objective := scan.sse[1] / scan.n[1];
        END IF;
        EXIT WHEN times <= asked;
        candidate := split_large(candidate, counts, asked * scan.n[1] / job.k, space_rows, metric, job.seed + round);
    END LOOP;
    IF least_times > asked THEN
        RAISE WARNING USING MESSAGE = format('the largest cluster of model "%s" has %s times the mean number of rows, not %s', job.model, round(least_times::numeric, 2), asked),
            HINT = 'Ask for less balance, or for more clusters; equal rows are never parted.';
    END IF;
END
$$;

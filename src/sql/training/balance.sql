
-- train with the option balance: no cluster has more than so many times the mean number of rows

-- Centroids are moved by the rows of the sample; a scan counts all rows, and where the sample told too little, the next limit there is
-- tighter.  Ten scans at most: the most even operator seen, its mean squared distance, and how many times the mean its largest cluster is.
CREATE FUNCTION fastclust_internal.balance_clusters(job training_job, units row_units, space_rows fastop, INOUT op fastop, INOUT objective double precision)
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    asked float8 := number_option(job.options, 'balance', NULL);
    mean float8 := (SELECT sum(c.weight) / clusters(op) FROM centroids(space_rows) c);
    target float8 := asked;
    candidate fastop := op;
    tried fastop;
    scan record;
    times float8;
    least_times float8 := 'infinity';
    begun timestamptz;
BEGIN
    FOR round IN 1 .. 10 LOOP
        begun := begin_step(job, format('balance scan %s', round));
        scan := lloyd_scan(job, units, '{""}', ARRAY[candidate]);
        times := (SELECT max(c.weight) / avg(c.weight) FROM centroids(scan.next[1]) c);
        PERFORM log_step(job, format('balance scan %s', round), begun, scan.sse[1] / scan.n[1], format('largest cluster %s times the mean', round(times::numeric, 2)));
        IF times < least_times THEN
            least_times := times;
            op := candidate;
            objective := scan.sse[1] / scan.n[1];
        END IF;
        EXIT WHEN times <= asked;
        target := CASE WHEN round = 1 THEN asked ELSE greatest(1, 0.98 * target * least(1, sqrt(asked / times))) END;
        tried := candidate;
        candidate := even_centroids(space_rows, tried, target * mean);
        EXIT WHEN candidate = tried;
    END LOOP;
    IF least_times > asked THEN
        RAISE WARNING USING MESSAGE = format('the largest cluster of model "%s" has %s times the mean number of rows, not %s', job.model, round(least_times::numeric, 2), asked),
            HINT = 'Ask for less balance, or for more clusters; equal rows are never parted.';
    END IF;
END
$$;

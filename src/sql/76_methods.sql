
-- methods of train that need more than sketches and scans

-- The features of a kernel: landmarks chosen from the sample; without the option kernel an rbf as wide as the rows.
CREATE FUNCTION with_map(job training_job) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, pg_temp AS $$
DECLARE
    kernel kernel := (job.options ->> 'kernel')::kernel;
    variance float8;
    landmarks fastop;
    wanted integer := number_option(job.options, 'landmarks', least(500, greatest(100, 10 * job.k)), 1, 10000);
    begun timestamptz := clock_timestamp();
BEGIN
    IF kernel IS NULL THEN
        EXECUTE format('SELECT sum(q.variance) FROM (SELECT var_pop(u.x) AS variance
                          FROM %s, unnest((%s)::float8[]) WITH ORDINALITY u(x, i) WHERE %s GROUP BY u.i) q',
                       job.sample, job.input, job.filter) INTO variance USING job.center, job.scale;
        kernel := rbf_kernel(1 / COALESCE(NULLIF(variance, 0), 1));
    END IF;
    EXECUTE format('SELECT landmarks_agg(%s, $3, $4, $5) FROM %s WHERE %s', job.input, job.sample, job.filter)
        INTO landmarks USING job.center, job.scale, kernel, wanted, number_option(job.options, 'seed', 0, -1e15, 1e15)::bigint;
    IF landmarks IS NULL THEN
        RAISE no_data_found USING MESSAGE = format('%s has no rows with all features', job.relation);
    END IF;
    job.map := nystroem(landmarks, kernel, least(clusters(landmarks), number_option(job.options, 'rank', job.k, 1, 502)::integer));
    job.note := COALESCE(job.note || '; ', '') || format('kernel %s', kernel);
    PERFORM log_step(job, 'map', begun, NULL, format('%s landmarks, kernel %s', clusters(landmarks), kernel));
    RETURN with_features(job);
END
$$;

-- Centroids as a product, by the options of factorize.
CREATE FUNCTION factorized(job training_job, op fastop) RETURNS fastop
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, pg_temp AS $$
    SELECT factorize(op, COALESCE(job.options ->> 'factorize', 'auto'), COALESCE(job.options -> 'factorize_options', '{}'))
$$;

-- QuicK-means (L. Giffon et al. 2021): rows are assigned with the product, means of its clusters are factorized anew.
-- The product with the least sum of squares seen is the result.
CREATE FUNCTION train_qkmeans(job training_job) RETURNS training_result
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, pg_temp AS $$
DECLARE
    settings jsonb := job.options;
    tolerance float8 := number_option(settings, 'tolerance', 1e-3, 0, 1);
    result training_result;
    op fastop;
    step record;
    best float8 := 'infinity';
    begun timestamptz;
BEGIN
    job.options := settings || '{"iterations": 0}';
    result := train_kmeans(job);
    job.options := settings;
    op := factorized(job, result.operator);
    FOR i IN 0 .. number_option(settings, 'iterations', 3, 0, 1000)::integer LOOP
        begun := clock_timestamp();
        EXECUTE format('SELECT (q.s).next, (q.s).sse / (q.s).n AS objective
                          FROM (SELECT lloyd_step_agg($4, %s) AS s FROM %s WHERE %s) q', job.space, job.source, job.filter)
            INTO step USING job.center, job.scale, job.map, op;
        PERFORM log_step(job, format('factored scan %s', i), begun, step.objective, format('%s non-zeros', nonzeros(op)));
        EXIT WHEN step.objective >= best;
        result.operator := op;
        EXIT WHEN best - step.objective < tolerance * step.objective;
        best := step.objective;
        op := factorized(job, step.next);
    END LOOP;
    RETURN result;
END
$$;


-- methods of train: which, and those that need more than sketches and scans

-- The method that "auto" stands for, and why.
CREATE FUNCTION fastclust_internal.with_method(job training_job) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    dimension integer;
BEGIN
    IF job.method NOT IN ('auto', 'compressive', 'kmeans', 'qkmeans', 'kernel') THEN
        RAISE invalid_parameter_value USING MESSAGE = format('method "%s" is not known', job.method),
            HINT = 'Methods are auto, compressive, kmeans, qkmeans, kernel.';
    ELSIF job.group_by IS NOT NULL AND job.method IN ('qkmeans', 'kernel') THEN
        RAISE feature_not_supported USING MESSAGE = format('method "%s" does not train groups', job.method),
            HINT = 'Methods for groups are auto, compressive, kmeans.';
    ELSIF job.method <> 'auto' THEN
        RETURN job;
    END IF;
    EXECUTE format('SELECT cardinality(%s) FROM %s WHERE %s LIMIT 1', job.raw, job.source, job.filter) INTO dimension;
    IF job.group_by IS NOT NULL AND job.estimate * dimension < 1e7 THEN
        job.method := 'kmeans';
        job.note := format('kmeans: about %s rows of all groups fit in memory', job.estimate);
    ELSIF job.group_by IS NULL AND job.k::float8 * dimension >= 65536 THEN
        job.method := 'qkmeans';
        job.note := format('qkmeans: %s clusters in %s dimensions are cheaper to assign as a product', job.k, dimension);
    ELSIF job.whole AND job.estimate * dimension < 1e7 THEN
        job.method := 'kmeans';
        job.note := format('kmeans: about %s rows fit in memory', job.estimate);
    ELSIF job.k > 64 THEN
        job.method := 'kmeans';
        job.note := format('kmeans: with %s clusters scans are better than a sketch', job.k);
    ELSE
        job.method := 'compressive';
        job.note := format('compressive: one scan of about %s rows, %s clusters', job.estimate, job.k);
    END IF;
    IF NOT flag_option(job.options, 'quiet', false) THEN
        RAISE NOTICE '%', format('model "%s": method %s', job.model, job.note);
    END IF;
    RETURN job;
END
$$;

-- The features of a kernel: landmarks chosen from the sample; without the option kernel an rbf as wide as the rows.
CREATE FUNCTION fastclust_internal.with_map(job training_job) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
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
CREATE FUNCTION fastclust_internal.factorized(job training_job, op fastop) RETURNS fastop
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT factorize(op, job.options ->> 'factorize', COALESCE(job.options -> 'factorize_options', '{}'))
$$;

-- Rows are assigned with the product, means of its clusters are factorized anew, as in QK-means but with any method of
-- factorize.  The product with the least sum of squares seen is the result.
CREATE FUNCTION fastclust_internal.alternate_factorized(job training_job, op fastop) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    tolerance float8 := number_option(job.options, 'tolerance', 1e-3, 0, 1);
    candidate fastop := factorized(job, op);
    step record;
    best float8 := 'infinity';
    begun timestamptz;
BEGIN
    FOR i IN 0 .. number_option(job.options, 'iterations', 3, 0, 1000)::integer LOOP
        begun := clock_timestamp();
        step := lloyd_scan(job, candidate);
        PERFORM log_step(job, format('factored scan %s', i), begun, step.objective, format('%s non-zeros', nonzeros(candidate)));
        EXIT WHEN step.objective >= best;
        op := candidate;
        EXIT WHEN best - step.objective < tolerance * step.objective;
        best := step.objective;
        candidate := factorized(job, step.next);
    END LOOP;
    RETURN op;
END
$$;

-- QK-means with the rows in the loop: by scans of the table where the rows are vectors as they stand, else on the sample.
CREATE FUNCTION fastclust_internal.learn_product(job training_job) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    settings jsonb := jsonb_strip_nulls(jsonb_build_object('iterations', job.options -> 'iterations', 'tolerance', job.options -> 'tolerance',
                          'seed', number_option(job.options, 'seed', 0, -1e15, 1e15)::bigint)) || COALESCE(job.options -> 'factorize_options', '{}');
    op fastop;
    step record;
    begun timestamptz := clock_timestamp();
BEGIN
    IF job.center IS NULL AND job.raw NOT LIKE '%::real[]' THEN
        FOR step IN SELECT * FROM qkmeans_log(job.relation::regclass, job.features[1], job.k, settings) LOOP
            op := COALESCE(step.op, op);
            PERFORM log_step(job, format('factored scan %s', step.iteration), clock_timestamp() - step.seconds * interval '1 s', NULL,
                             format('%s non-zeros, %s empty', step.nonzeros, step.empty));
        END LOOP;
        RETURN op;
    END IF;
    EXECUTE format('SELECT qkmeans_agg(%s, $4, $5) FROM %s WHERE %s', job.space, job.sample, job.filter)
        INTO op USING job.center, job.scale, job.map, job.k, settings;
    PERFORM log_step(job, 'QK-means', begun, NULL, format('on the sample, %s non-zeros', nonzeros(op)));
    RETURN op;
END
$$;

-- L. Giffon et al. 2021
CREATE FUNCTION fastclust_internal.train_qkmeans(job training_job) RETURNS training_result
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    result training_result;
BEGIN
    IF job.options ? 'factorize' THEN
        result.operator := alternate_factorized(job, sample_kmeans(job));
    ELSE
        result.operator := learn_product(job);
    END IF;
    IF result.operator IS NULL THEN
        RAISE no_data_found USING MESSAGE = format('%s has no rows with all features', job.relation);
    END IF;
    result.spec := training_spec(job);
    RETURN training_sketch(job, result);
END
$$;


-- methods of train: from the weighted sample and the sketch of a part to its operator

-- A method that there is, and that trains groups where there are some.
CREATE FUNCTION fastclust_internal.check_method(method text, group_by name) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    methods text[] := '{auto,compressive,kmeans,qkmeans,kernel}';
BEGIN
    IF method ~ '^[[:space:]]*[{]' THEN
        RAISE invalid_parameter_value USING MESSAGE = format('method is %s, which looks like options', method),
            HINT = format('Name the argument: options => %L.', method);
    ELSIF method <> ALL (methods) THEN
        RAISE invalid_parameter_value USING MESSAGE = format('method "%s" is not known', method), HINT = name_hint(method, methods, 'Methods are');
    ELSIF group_by IS NOT NULL AND method IN ('qkmeans', 'kernel') THEN
        RAISE feature_not_supported USING MESSAGE = format('method "%s" does not train groups', method),
            HINT = 'Methods for groups are auto, compressive, kmeans.';
    END IF;
END
$$;

-- ---- kernel: the features of a map ----

-- The rule is in core/rkhs/spectral.h.
CREATE FUNCTION fastclust_internal.spectral_map(rows fastop, k integer, landmarks integer, seed bigint) RETURNS kernel_map
    AS 'MODULE_PATHNAME', 'fastclust_spectral_map' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000000;

-- Landmarks chosen from the sample.  The options kernel and rank ask for plain features, of an rbf as wide as the rows where no kernel is given;
-- without them some rows choose the width.
CREATE FUNCTION fastclust_internal.with_map(job training_job, units row_units, sample fastop) RETURNS row_units
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    rows_in_units fastop := operator_in_units(sample, NULL, NULL, units.center, units.scale);
    kernel kernel := (job.options ->> 'kernel')::kernel;
    wanted integer := number_option(job.options, 'landmarks', least(500, greatest(200, 10 * job.k)));
    landmarks fastop;
    begun timestamptz := clock_timestamp();
BEGIN
    IF NOT job.options ?| '{kernel,rank}' THEN
        units.map := (SELECT spectral_map(fastop_agg(c.centroid, c.weight ORDER BY c.cluster), job.k, wanted, job.seed)
                        FROM centroids(rows_in_units) c WHERE c.cluster < greatest(3000, 2 * wanted));
        PERFORM log_step(job, 'map', begun, NULL, format('%s landmarks, kernel %s', describe(units.map) ->> 'landmarks', describe(units.map) ->> 'kernel'));
        RETURN units;
    END IF;
    kernel := COALESCE(kernel, rbf_kernel(1 / COALESCE((SELECT NULLIF(sum(d * d), 0) FROM centroid_moments(rows_in_units) m, unnest(m.deviation) d), 1)));
    landmarks := (SELECT landmarks_agg(c.centroid, kernel, wanted, jsonb_build_object('seed', job.seed)) FROM centroids(rows_in_units) c);
    units.map := nystroem(landmarks, kernel, least(clusters(landmarks), number_option(job.options, 'rank', greatest(10, 3 * job.k))::integer));
    PERFORM log_step(job, 'map', begun, NULL, format('%s landmarks, kernel %s', clusters(landmarks), kernel));
    RETURN units;
END
$$;

-- ---- k-means ----

-- How k-means searches: groups share, by their rows, what would be a good search of each of thirty.
CREATE FUNCTION fastclust_internal.search_settings(job training_job, n integer, d integer) RETURNS jsonb
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object('seed', job.seed,
               'work', CASE WHEN (job.source).group_by IS NOT NULL THEN greatest(2e6, 100.0 * n * job.k * d, 3e9 * n / greatest(n, job.estimate)) END))
$$;

-- Of wide rows a search takes fewer, so many numbers of them and a hundred rows a cluster at least: every so many of the sample, which is
-- ordered by rank.
CREATE FUNCTION fastclust_internal.searched_rows(space_rows fastop, k integer, numbers double precision) RETURNS fastop
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    every integer := clusters(space_rows) / greatest(10000, 100 * k, numbers / dim(space_rows))::integer;
BEGIN
    RETURN CASE WHEN every < 2 THEN space_rows
                ELSE (SELECT with_metric(fastop_agg(c.centroid, c.weight ORDER BY c.cluster), metric_of(space_rows)) FROM centroids(space_rows) c WHERE c.cluster % every = 0) END;
END
$$;

-- K-means of the weighted sample, the better of what is found in it and what goes on from the job's start.  A new solution must beat the old centroids by more than noise, 1 % or the error of the comparison:
-- else those stay, frozen, or k-means goes on from them.  With the option trim the rows farthest out count nowhere, and no scan moves what
-- was found without them.
CREATE FUNCTION fastclust_internal.fit_kmeans(job training_job, old fastop, space_rows fastop, k integer, OUT op fastop, OUT frozen boolean)
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    settings jsonb := search_settings(job, clusters(space_rows), dim(space_rows));
    trimmed float8 := number_option(job.options, 'trim', 0);
    some_rows fastop := searched_rows(space_rows, k, CASE WHEN job.start IS NULL THEN 1e6 ELSE 1e5 END);     -- two searches share the time of one
    continued fastop;
    scores record;
BEGIN
    op := cluster_centroids(some_rows, k, settings, NULL, trimmed);
    IF clusters(some_rows) < clusters(space_rows) THEN
        op := cluster_centroids(space_rows, k, settings || '{"n_init": 0}', op, trimmed);
    END IF;
    some_rows := NULL;
    frozen := trimmed > 0;
    IF job.start IS NOT NULL AND dim(job.start) = dim(op) THEN
        continued := cluster_centroids(space_rows, k, settings || '{"n_init": 0}', job.start, trimmed);
        scores := fit_comparison(continued, op, space_rows, trimmed);
        op := CASE WHEN scores.mean_a < scores.mean_b THEN continued ELSE op END;
    END IF;
    IF dim(old) = dim(op) THEN
        scores := fit_comparison(old, op, space_rows, trimmed);
        IF scores.mean_a <= scores.mean_b + greatest(0.01 * scores.mean_b, scores.error) THEN
            op := old;
            frozen := true;
            RETURN;
        END IF;
        continued := cluster_centroids(space_rows, k, settings || '{"n_init": 0}', old, trimmed);
        scores := fit_comparison(continued, op, space_rows, trimmed);
        IF scores.mean_a <= scores.mean_b + greatest(0.01 * scores.mean_b, scores.error) THEN
            op := continued;
        END IF;
    END IF;
END
$$;

-- ---- compressive ----

-- Options of decode: the seed, where to start from as well, and whether notices are left out.
CREATE FUNCTION fastclust_internal.decode_settings(seed bigint, initial fastop, k integer, quiet boolean) RETURNS jsonb
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT jsonb_build_object('seed', seed, 'quiet', quiet)
        || COALESCE((SELECT jsonb_build_object('init', jsonb_agg(c.centroid ORDER BY c.cluster))
                       FROM centroids(initial) c WHERE clusters(initial) <= k), '{}')
$$;

-- The sketch alone tells.  A group's sketch is of a spec for all groups, which may not suit it: the k-means of its sample is a start, and stays where the
-- sketch has no better.  Outliers do not decide: the 5 % of the rows that are farthest are left out.
CREATE FUNCTION fastclust_internal.fit_compressive(job training_job, units row_units, spec sketch_spec, old fastop, sketch sketch,
        space_rows fastop, k integer, OUT op fastop, OUT frozen boolean)
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    initial fastop := CASE WHEN old IS NOT NULL THEN old
                           WHEN (job.source).group_by IS NOT NULL THEN cluster_centroids(space_rows, k, search_settings(job, clusters(space_rows), dim(space_rows))) END;
    scores record;
BEGIN
    op := (SELECT with_metric(fastop_agg(c.centroid, c.weight ORDER BY c.cluster), COALESCE((job.source).metric, 'euclidean'))
             FROM decode(sketch, k, 'auto', decode_settings(job.seed, operator_in_units(initial, units.center, units.scale, NULL, NULL), k,
                                                     flag_option(job.options, 'quiet', false)), spec) c);
    op := operator_in_units(op, NULL, NULL, units.center, units.scale);
    frozen := false;
    IF (job.source).group_by IS NOT NULL THEN
        scores := fit_comparison(initial, op, space_rows, 0.05);
        op := CASE WHEN scores.mean_a < scores.mean_b THEN initial ELSE op END;
    END IF;
    IF dim(old) = dim(op) THEN
        scores := fit_comparison(old, op, space_rows, 0.05);
        IF scores.mean_a <= scores.mean_b * 1.01 THEN
            op := old;
            frozen := true;
        END IF;
    END IF;
END
$$;

-- ---- QK-means ----

-- Centroids as a product, by the option factors; auto judges by the training rows, and by their distances too.
CREATE FUNCTION fastclust_internal.factorized(job training_job, op fastop, space_rows fastop) RETURNS fastop
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE method WHEN 'auto' THEN factorize(op, method, '{"sse_ratio": 1.1}' || settings, space_rows) ELSE factorize(op, method, settings) END
      FROM (SELECT job.options -> 'factors' ->> 'method' AS method, (job.options -> 'factors') - 'method' AS settings) o
$$;

-- Rows are assigned with the product, means of its clusters are factorized anew, as in QK-means but with any method of
-- factorize.  The product with the least sum of squares seen is the result.
CREATE FUNCTION fastclust_internal.alternate_factorized(job training_job, units row_units, op fastop, space_rows fastop) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    tolerance float8 := number_option(job.options, 'tolerance', 1e-3);
    candidate fastop := factorized(job, op, space_rows);
    scan record;
    objective float8;
    best float8 := 'infinity';
    begun timestamptz;
BEGIN
    FOR i IN 0 .. number_option(job.options, 'iterations', 3)::integer LOOP
        begun := clock_timestamp();
        scan := lloyd_scan(job, units, '{""}', ARRAY[candidate]);
        objective := scan.sse[1] / scan.n[1];
        PERFORM log_step(job, format('factored scan %s', i), begun, objective, format('%s non-zeros', nonzeros(candidate)));
        EXIT WHEN objective >= best;
        op := candidate;
        EXIT WHEN best - objective < tolerance * objective;
        best := objective;
        candidate := factorized(job, scan.next[1], space_rows);
    END LOOP;
    RETURN op;
END
$$;

-- With the rows in the loop: by scans of the table where the rows are vectors as they stand, else on the sample.
CREATE FUNCTION fastclust_internal.learn_product(job training_job, units row_units, space_rows fastop) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    settings jsonb := jsonb_strip_nulls(jsonb_build_object('iterations', job.options -> 'iterations', 'tolerance', job.options -> 'tolerance',
                          'seed', job.seed)) || COALESCE(job.options -> 'factors', '{}');
    op fastop;
    step record;
    begun timestamptz := clock_timestamp();
BEGIN
    IF (job.source).vector AND (job.source).metric IS NULL AND units.center IS NULL AND (job.source).raw NOT LIKE '%::real[]' THEN
        FOR step IN SELECT * FROM qkmeans_log((job.source).relation::regclass, (job.source).features[1], job.k, settings) LOOP
            op := step.op;
            PERFORM log_step(job, format('factored scan %s', step.iteration), clock_timestamp() - step.seconds * interval '1 s', NULL,
                             format('%s non-zeros, %s empty', step.nonzeros, step.empty));
        END LOOP;
        RETURN op;
    END IF;
    op := (SELECT with_metric(qkmeans_agg(c.centroid, job.k, settings), COALESCE((job.source).metric, 'euclidean')) FROM centroids(space_rows) c);
    PERFORM log_step(job, 'QK-means', begun, NULL, format('on the sample, %s non-zeros', nonzeros(op)));
    RETURN op;
END
$$;

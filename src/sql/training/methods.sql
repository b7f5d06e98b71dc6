
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

-- The rule is in core/rkhs/map.h.
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

-- ---- compressive ----

-- Options of decode: the seed, where to start from as well, and whether notices are left out.
CREATE FUNCTION fastclust_internal.decode_settings(seed bigint, initial fastop, k integer, quiet boolean) RETURNS jsonb
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT jsonb_build_object('seed', seed, 'quiet', quiet)
        || COALESCE((SELECT jsonb_build_object('init', jsonb_agg(c.centroid ORDER BY c.cluster))
                       FROM centroids(initial) c WHERE clusters(initial) <= k), '{}')
$$;

-- ---- QK-means ----

-- Centroids as a product, by the option factors; auto judges by the training rows, and by their distances too.
CREATE FUNCTION fastclust_internal.factorized(op fastop, space_rows fastop, options jsonb) RETURNS fastop
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE method WHEN 'auto' THEN factorize(op, method, '{"sse_ratio": 1.1}' || settings, space_rows) ELSE factorize(op, method, settings) END
      FROM (SELECT options -> 'factors' ->> 'method' AS method, (options -> 'factors') - 'method' AS settings) o
$$;

CREATE FUNCTION fastclust_internal.product_settings(options jsonb, seed bigint) RETURNS jsonb
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object('iterations', options -> 'iterations', 'tolerance', options -> 'tolerance', 'seed', seed)) || COALESCE(options -> 'factors', '{}')
$$;

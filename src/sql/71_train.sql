
-- train: from a table to a new version of a model
-- All of it runs in the caller's transaction: until it commits the old version serves, and a failure leaves no trace.

-- internal: what one training is about
CREATE TYPE fastclust_internal.training_job AS (
    model_id bigint, model text, version integer, relation text, features name[], vector boolean, group_by name, k integer,
    method text, note text, options jsonb, started_at timestamptz,
    source text,                -- FROM item of all rows, alias t
    sample text,                -- FROM item of some of them; the same when whole
    whole boolean,
    estimate double precision,  -- planner's number of rows
    place text,                 -- expression of type tid that tells the rows' places
    raw text,                   -- the row as an array, in its own units
    input text,                 -- in units of (x - $1) / $2
    space text,                 -- what the operator takes: that, or its features by the map $3
    filter text,                -- rows without NULL
    center double precision[], scale double precision[], map kernel_map,
    old_operator fastop, old_center double precision[], old_scale double precision[], old_map kernel_map,
    same_features boolean);      -- as the version that serves

-- internal: what it makes
CREATE TYPE fastclust_internal.training_result AS (
    operator fastop, map kernel_map, spec sketch_spec, sketch sketch, null_moments double precision[], n bigint,
    objective double precision, spreads double precision[], quantiles double precision[]);

-- Six digits for people to read, of any number: a cast to real fails on what is too small or too large for it.
CREATE FUNCTION fastclust_internal.short_number(x double precision) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET extra_float_digits = -9 AS $$
    SELECT x::text
$$;

-- A step done: a row of training_log and, unless the option quiet is set, a notice.
CREATE FUNCTION fastclust_internal.log_step(job training_job, step text, begun timestamptz, objective double precision, note text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    seconds float8 := extract(epoch FROM clock_timestamp() - begun);
BEGIN
    PERFORM write_step(job.model_id, job.version, step, objective, seconds, note);
    IF NOT flag_option(job.options, 'quiet', false) THEN
        RAISE NOTICE '%', format('model "%s" version %s: %s%s%s (%s s)', job.model, job.version, step,
            CASE WHEN note IS NULL THEN '' ELSE ', ' || note END,
            CASE WHEN objective IS NULL THEN '' ELSE format(', mean squared distance %s', short_number(objective)) END,
            round(seconds::numeric, 2));
    END IF;
END
$$;

-- The type of a column, or the error that it is not there.
CREATE FUNCTION fastclust_internal.feature_type(relation regclass, feature name) RETURNS regtype
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_type regtype;
BEGIN
    SELECT atttypid INTO found_type FROM pg_attribute
     WHERE attrelid = relation AND attname = feature AND attnum > 0 AND NOT attisdropped;
    IF NOT FOUND THEN
        RAISE undefined_column USING MESSAGE = format('column "%s" of %s does not exist', feature, relation);
    END IF;
    RETURN found_type;
END
$$;

-- The row in an operator's coordinates, from parameters p, p + 1, p + 2: center, scale, map.
CREATE FUNCTION fastclust_internal.space_expression(raw text, scaled boolean, mapped boolean, p integer) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT format(CASE WHEN mapped THEN 'kernel_features($%s, %s)' ELSE '%2$s' END, p + 2,
                  CASE WHEN scaled THEN format('standardize((%s)::float8[], $%s, $%s)', raw, p, p + 1) ELSE raw END)
$$;

-- A column that no cast makes a vector or a number, and what would be right.
CREATE FUNCTION fastclust_internal.check_feature(relation regclass, feature name, feature_is regtype, vector boolean) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    category "char" := (SELECT t.typcategory FROM pg_type t WHERE t.oid = feature_is);
BEGIN
    IF category = ANY ((CASE WHEN vector THEN '{N,B,D,T,E,C,R}' ELSE '{A,B,D,T,E,C,R}' END)::"char"[]) THEN
        RAISE datatype_mismatch USING
            MESSAGE = format('column "%s" of %s is of type %s, not a %s', feature, relation, feature_is, CASE WHEN vector THEN 'vector' ELSE 'number' END),
            HINT = CASE WHEN vector AND category = 'N' THEN format('Columns of numbers are given as a list: ARRAY[%L].', feature)
                        WHEN category = 'A' THEN format('A column of vectors is given by its name alone: %L.', feature)
                        ELSE 'Train on a view that makes numbers of it.' END;
    END IF;
END
$$;

-- Expressions of the features: columns by name only, quoted.
CREATE FUNCTION fastclust_internal.with_features(job training_job) RETURNS training_job
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    relation regclass := job.relation::regclass;
    feature name;
    feature_is regtype;
    items text[] := '{}';
BEGIN
    IF COALESCE(cardinality(job.features), 0) = 0 OR array_position(job.features, NULL) IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = 'features must name at least one column, and no NULL';
    END IF;
    IF job.vector THEN
        feature_is := feature_type(relation, job.features[1]);
        PERFORM check_feature(relation, job.features[1], feature_is, true);
        job.raw := format('t.%I%s', job.features[1],
            CASE WHEN feature_is IN ('real[]', 'float8[]', 'int[]', 'numeric[]') THEN '' ELSE '::real[]' END);
        job.filter := format('t.%I IS NOT NULL', job.features[1]);
    ELSE
        FOREACH feature IN ARRAY job.features LOOP
            PERFORM check_feature(relation, feature, feature_type(relation, feature), false);
            items := items || format('t.%I::float8', feature);
        END LOOP;
        job.raw := format('ARRAY[%s]', array_to_string(items, ', '));
        SELECT string_agg(format('t.%I IS NOT NULL', f), ' AND ') INTO job.filter FROM unnest(job.features) f;
    END IF;
    IF job.group_by IS NOT NULL THEN
        PERFORM feature_type(relation, job.group_by);
        job.filter := job.filter || format(' AND t.%I IS NOT NULL', job.group_by);
    END IF;
    job.input := space_expression(job.raw, job.center IS NOT NULL, false, 1);
    job.space := space_expression(job.raw, job.center IS NOT NULL, job.map IS NOT NULL, 1);
    RETURN job;
END
$$;

-- Where rows come from, how many there are about, and a sample of them.
CREATE FUNCTION fastclust_internal.with_source(job training_job) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    kind "char" := (SELECT relkind FROM pg_class WHERE oid = job.relation::regclass);
    wanted float8 := number_option(job.options, 'sample_rows', greatest(20000, 50 * job.k), 100, 1e9);
    seed bigint := number_option(job.options, 'seed', 0, -1e15, 1e15);
    stored boolean := kind IN ('r', 'm', 'p');
    plan jsonb;
BEGIN
    IF kind NOT IN ('r', 'm', 'p', 'v', 'f') THEN
        RAISE wrong_object_type USING MESSAGE = format('%s is not a table or view', job.relation);
    END IF;
    job.source := format('%s t', job.relation::regclass);
    EXECUTE format('EXPLAIN (FORMAT JSON) SELECT FROM %s', job.source) INTO plan;
    job.estimate := (plan -> 0 -> 'Plan' ->> 'Plan Rows')::float8;
    job.whole := job.estimate <= 3 * wanted;
    job.sample := job.source;
    IF NOT job.whole AND stored THEN
        job.sample := format('%s t TABLESAMPLE SYSTEM (%s) REPEATABLE (%s)', job.relation::regclass,
            least(100, 100 * wanted / job.estimate), seed);
    ELSIF NOT job.whole THEN
        job.sample := format('(SELECT * FROM (SELECT *, row_number() OVER () AS "row of %s" FROM %s) q
                                WHERE hashint8extended("row of %1$s", %3$s) & 1048575 < %4$s) t',
            'fastclust', job.relation::regclass, seed, ceil(1048576 * wanted / job.estimate));
    END IF;
    -- without places (views, foreign tables) rows are counted through
    job.place := CASE WHEN stored THEN 't.ctid' ELSE 'format(''(%s,1)'', row_number() OVER ())::tid' END;
    RETURN job;
END
$$;

-- A sample with fewer rows than clusters (the statistics are old, or its blocks are empty) gives way to all rows.
CREATE FUNCTION fastclust_internal.with_enough(job training_job) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    found_rows bigint;
BEGIN
    IF NOT job.whole THEN
        EXECUTE format('SELECT count(*) FROM (SELECT FROM %s WHERE %s LIMIT $1) q', job.sample, job.filter)
            INTO found_rows USING job.k + 1;
        IF found_rows <= job.k THEN
            job.sample := job.source;
            job.whole := true;
        END IF;
    END IF;
    RETURN job;
END
$$;

-- Means and deviations of the sample; a column that never changes keeps its unit.
CREATE FUNCTION fastclust_internal.with_scale(job training_job) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF flag_option(job.options, 'standardize', NOT job.vector) THEN
        EXECUTE format(
            'SELECT array_agg(q.mean ORDER BY q.i), array_agg(CASE WHEN q.deviation > 0 THEN q.deviation ELSE 1 END ORDER BY q.i)
               FROM (SELECT u.i, avg(u.x) AS mean, stddev_pop(u.x) AS deviation
                       FROM %s, unnest((%s)::float8[]) WITH ORDINALITY u(x, i) WHERE %s GROUP BY u.i) q',
            job.sample, job.raw, job.filter) INTO job.center, job.scale;
        IF job.center IS NULL THEN
            RAISE no_data_found USING MESSAGE = format('%s has no rows with all features', job.relation);
        END IF;
    END IF;
    RETURN with_features(job);
END
$$;

-- What the sketch measures, chosen from the sample; only decoding needs many frequencies.
CREATE FUNCTION fastclust_internal.training_spec(job training_job) RETURNS sketch_spec
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    wanted jsonb := jsonb_build_object('seed', number_option(job.options, 'seed', 0, -1e15, 1e15)::bigint);
    spec sketch_spec;
    begun timestamptz := clock_timestamp();
BEGIN
    IF job.options ? 'frequencies' THEN
        wanted := wanted || jsonb_build_object('frequencies', job.options -> 'frequencies');
    ELSIF job.method <> 'compressive' AND job.k > 20 THEN
        wanted := wanted || '{"frequencies": 1000}';
    END IF;
    EXECUTE format('SELECT sketch_spec_agg(%s, $4, $5) FROM %s WHERE %s', job.input, job.sample, job.filter)
        INTO spec USING job.center, job.scale, job.map, job.k, wanted;
    IF spec IS NULL THEN
        RAISE no_data_found USING MESSAGE = format('%s has no rows with all features', job.relation);
    END IF;
    IF job.center IS NOT NULL OR job.group_by IS NOT NULL THEN
        spec := spec_in_units(spec, job.center, job.scale, job.group_by IS NOT NULL);
    END IF;
    PERFORM log_step(job, 'spec', begun, NULL, format('%s frequencies', describe(spec) ->> 'frequencies'));
    RETURN spec;
END
$$;

-- format(form, i) for the bits 0 .. bits - 1.
CREATE FUNCTION fastclust_internal.part_columns(bits integer, form text, separator text DEFAULT ', ') RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(string_agg(format(form, i), separator), '') FROM generate_series(0, bits - 1) i
$$;

-- One scan: the sketch of all rows, and of parts of them, from whose differences the null law of drift comes.
CREATE FUNCTION fastclust_internal.training_sketch(job training_job, result training_result) RETURNS training_result
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    size float8 := 16 * (describe(result.spec) ->> 'frequencies')::float8 + (describe(result.spec) ->> 'bytes')::float8;
    bits integer := greatest(3, least(6, floor(log(2, (1e8 / size)::numeric))));
    begun timestamptz := clock_timestamp();
BEGIN
    EXECUTE format(
        'SELECT merge_agg(q.s), null_moments(array_agg(q.s ORDER BY %5$s))
           FROM (SELECT %1$s, sketch_agg(r.x, $4) AS s
                   FROM (SELECT %2$s AS place, %3$s AS x FROM %4$s WHERE %6$s) r GROUP BY %7$s) q',
        part_columns(bits, 'row_bit(r.place, %1$s) AS part%1$s'), job.place, job.raw, job.source,
        part_columns(bits, 'q.part%1$s'), job.filter, part_columns(bits, 'row_bit(r.place, %1$s)'))
        INTO result.sketch, result.null_moments USING job.center, job.scale, job.map, result.spec;
    result.n := row_count(result.sketch);
    IF COALESCE(result.n, 0) = 0 THEN
        RAISE no_data_found USING MESSAGE = format('%s has no rows with all features', job.relation);
    END IF;
    PERFORM log_step(job, 'sketch', begun, NULL, format('%s rows', result.n));
    RETURN result;
END
$$;

-- One Lloyd scan: the next operator and the mean squared distance to this one.
CREATE FUNCTION fastclust_internal.lloyd_scan(job training_job, op fastop, OUT next fastop, OUT objective double precision)
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    EXECUTE format('SELECT (q.s).next, (q.s).sse / (q.s).n FROM (SELECT lloyd_step_agg($4, %s) AS s FROM %s WHERE %s) q',
                   job.space, job.source, job.filter)
        INTO next, objective USING job.center, job.scale, job.map, op;
END
$$;

-- At most so many, until the gain is below the tolerance.
CREATE FUNCTION fastclust_internal.lloyd_scans(job training_job, op fastop, steps integer) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    tolerance float8 := number_option(job.options, 'tolerance', 1e-3, 0, 1);
    step record;
    before float8;
    begun timestamptz;
BEGIN
    FOR i IN 1 .. steps LOOP
        begun := clock_timestamp();
        step := lloyd_scan(job, op);
        EXIT WHEN step.next IS NULL;
        op := step.next;
        PERFORM log_step(job, format('scan %s', i), begun, step.objective, NULL);
        EXIT WHEN before - step.objective < tolerance * before;
        before := step.objective;
    END LOOP;
    RETURN op;
END
$$;

-- Centroids of `op` moved from one set of units to another.
CREATE FUNCTION fastclust_internal.operator_in_units(op fastop, center double precision[], scale double precision[],
        new_center double precision[], new_scale double precision[]) RETURNS fastop
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT fastop_agg((SELECT array_agg(((u.x * COALESCE(u.s, 1) + COALESCE(u.m, 0)) - COALESCE(u.mm, 0)) / COALESCE(u.ss, 1) ORDER BY u.i)
                         FROM unnest(c.centroid, center, scale, new_center, new_scale) WITH ORDINALITY u(x, m, s, mm, ss, i)),
                      c.weight ORDER BY c.cluster)
      FROM centroids(op) c
$$;

-- Old centroids after one step on the sample, when they explain it better than the new ones.
CREATE FUNCTION fastclust_internal.warmest(job training_job, op fastop) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    old fastop;
    score record;
    begun timestamptz := clock_timestamp();
BEGIN
    IF job.old_operator IS NULL OR job.map IS NOT NULL OR job.old_map IS NOT NULL OR dim(job.old_operator) <> dim(op) OR clusters(job.old_operator) <> clusters(op) THEN
        RETURN op;
    END IF;
    old := operator_in_units(job.old_operator, job.old_center, job.old_scale, job.center, job.scale);
    EXECUTE format('SELECT (lloyd_step_agg($4, %s)).next FROM %s WHERE %s', job.space, job.sample, job.filter)
        INTO old USING job.center, job.scale, job.map, old;
    EXECUTE format('SELECT sse_agg($4, %1$s) / count(*) AS old, sse_agg($5, %1$s) / count(*) AS new FROM %2$s WHERE %3$s',
                   job.space, job.sample, job.filter)
        INTO score USING job.center, job.scale, job.map, old, op;
    PERFORM log_step(job, 'warm start', begun, least(score.old, score.new),
                     CASE WHEN score.old < score.new THEN 'from the old centroids' ELSE 'new centroids are better' END);
    RETURN CASE WHEN score.old < score.new THEN old ELSE op END;
END
$$;

-- Options of decode: the seed, and the old centroids to start from as well.
CREATE FUNCTION fastclust_internal.decode_settings(job training_job, spec sketch_spec) RETURNS jsonb
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT jsonb_build_object('seed', number_option(job.options, 'seed', 0, -1e15, 1e15)::bigint)
        || CASE WHEN job.old_map IS NULL AND clusters(job.old_operator) <= job.k AND dim(job.old_operator) = (describe(spec) ->> 'dim')::integer
                THEN jsonb_build_object('init', q.centroids) ELSE '{}' END
      FROM (SELECT jsonb_agg(c.centroid ORDER BY c.cluster) AS centroids
              FROM centroids(operator_in_units(job.old_operator, job.old_center, job.old_scale, NULL, NULL)) c) q
$$;

CREATE FUNCTION fastclust_internal.train_compressive(job training_job) RETURNS training_result
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    result training_result;
    begun timestamptz;
BEGIN
    result.spec := training_spec(job);
    result := training_sketch(job, result);
    begun := clock_timestamp();
    SELECT fastop_agg(c.centroid, c.weight ORDER BY c.cluster) INTO result.operator
      FROM decode(result.sketch, job.k, 'auto', decode_settings(job, result.spec), result.spec) c;
    IF job.center IS NOT NULL THEN
        result.operator := operator_in_units(result.operator, NULL, NULL, job.center, job.scale);
    END IF;
    PERFORM log_step(job, 'decode', begun, NULL, format('%s clusters', job.k));
    result.operator := warmest(job, result.operator);
    result.operator := lloyd_scans(job, result.operator, number_option(job.options, 'polish', 0, 0, 1000)::integer);
    RETURN result;
END
$$;

-- K-means of the sample, or the old centroids where they are better.
CREATE FUNCTION fastclust_internal.sample_kmeans(job training_job) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    op fastop;
    begun timestamptz := clock_timestamp();
BEGIN
    EXECUTE format('SELECT kmeans_agg(%s, $4, $5) FROM %s WHERE %s', job.space, job.sample, job.filter)
        INTO op USING job.center, job.scale, job.map, job.k,
            jsonb_build_object('seed', number_option(job.options, 'seed', 0, -1e15, 1e15)::bigint);
    IF op IS NULL THEN
        RAISE no_data_found USING MESSAGE = format('%s has no rows with all features', job.relation);
    END IF;
    PERFORM log_step(job, 'k-means', begun, NULL, CASE WHEN job.whole THEN 'on all rows' ELSE 'on the sample' END);
    RETURN warmest(job, op);
END
$$;

CREATE FUNCTION fastclust_internal.train_kmeans(job training_job) RETURNS training_result
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    result training_result;
BEGIN
    result.operator := lloyd_scans(job, sample_kmeans(job),
        number_option(job.options, 'iterations', CASE WHEN job.whole THEN 0 ELSE 10 END, 0, 1000)::integer);
    result.spec := training_spec(job);
    RETURN training_sketch(job, result);
END
$$;

-- Distances on the sample: their quantiles, the objective, and the spread of each cluster.
CREATE FUNCTION fastclust_internal.training_profile(job training_job, result training_result) RETURNS training_result
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    places float8[] := (SELECT array_agg(1 - (1 - i / 200.0) ^ 2 ORDER BY i) FROM generate_series(0, 200) i);
    begun timestamptz := clock_timestamp();
BEGIN
    EXECUTE format(
        'WITH r AS MATERIALIZED (SELECT assign($4, %1$s) AS cluster, assign_distance($4, %1$s) AS distance FROM %2$s WHERE %3$s)
         SELECT q.quantiles, q.objective, s.spreads
           FROM (SELECT percentile_cont($5) WITHIN GROUP (ORDER BY distance) AS quantiles, avg(distance * distance) AS objective
                   FROM r) q,
                LATERAL (SELECT array_agg(sqrt(COALESCE(p.mean, q.objective) / $6) ORDER BY c) AS spreads
                           FROM generate_series(0, $7 - 1) c
                           LEFT JOIN (SELECT cluster, avg(distance * distance) AS mean FROM r GROUP BY 1) p ON p.cluster = c) s',
        job.space, job.sample, job.filter)
        INTO result.quantiles, result.objective, result.spreads
        USING job.center, job.scale, job.map, result.operator, places, dim(result.operator), clusters(result.operator);
    PERFORM log_step(job, 'profile', begun, result.objective, NULL);
    RETURN result;
END
$$;

-- Numbers for the new clusters by the labels that old and new give to the sample: centroids in different features
-- cannot be compared.
CREATE FUNCTION fastclust_internal.numbers_by_labels(job training_job, op fastop) RETURNS integer[]
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    counts float8[];
BEGIN
    EXECUTE format(
        'SELECT array_agg(COALESCE(c.n, 0)::float8 ORDER BY new.label, old.label)
           FROM generate_series(0, clusters($7) - 1) new(label) CROSS JOIN generate_series(0, clusters($8) - 1) old(label)
           LEFT JOIN (SELECT assign($7, %s) AS new, assign($8, %s) AS old, count(*) AS n FROM %s WHERE %s GROUP BY 1, 2) c
             ON c.new = new.label AND c.old = old.label',
        job.space, space_expression(job.raw, job.old_center IS NOT NULL, job.old_map IS NOT NULL, 4), job.sample, job.filter)
        INTO counts USING job.center, job.scale, job.map, job.old_center, job.old_scale, job.old_map, op, job.old_operator;
    RETURN match_labels(counts, clusters(job.old_operator));
END
$$;

-- New clusters that continue old ones take their numbers.
CREATE FUNCTION fastclust_internal.keep_numbers(job training_job, op fastop) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    numbers integer[];
BEGIN
    IF job.old_operator IS NULL THEN
        RETURN op;
    ELSIF job.map IS NULL AND job.old_map IS NULL THEN
        numbers := match_clusters(job.old_operator, job.old_center, job.old_scale, op, job.center, job.scale);
    ELSIF job.same_features THEN
        numbers := numbers_by_labels(job, op);
    END IF;
    RETURN CASE WHEN numbers IS NULL THEN op ELSE renumber(op, numbers) END;
END
$$;

CREATE FUNCTION fastclust_internal.store_version(job training_job, group_value text, result training_result) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    v model_versions;
BEGIN
    v.model_id := job.model_id;
    v.version := job.version;
    v.group_value := store_version.group_value;
    v.method := job.method;
    v.note := job.note;
    v.relation := job.relation;
    v.features := job.features;
    v.vector := job.vector;
    v.k := job.k;
    v.options := job.options;
    v.operator := result.operator;
    v.center := job.center;
    v.scale := job.scale;
    v.map := result.map;
    v.spec := result.spec;
    v.training_sketch := result.sketch;
    v.null_moments := result.null_moments;
    v.spreads := result.spreads;
    v.distance_quantiles := result.quantiles;
    v.n := result.n;
    v.objective := result.objective;
    v.started_at := job.started_at;
    PERFORM write_version(v);
END
$$;

-- The version serves; versions beyond the option keep (5) before it go.
CREATE FUNCTION fastclust_internal.serve_version(job training_job) RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT serve_version(job.model_id, job.version, job.group_by, number_option(job.options, 'keep', 5, 0, 1e6)::integer)
$$;

CREATE FUNCTION fastclust_internal.run_training(job training_job) RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    result training_result;
BEGIN
    job := with_scale(with_enough(with_features(with_source(job))));
    job := with_method(job);
    IF job.group_by IS NOT NULL THEN
        PERFORM train_groups(job);
    ELSE
        IF job.method = 'kernel' THEN
            job := with_map(job);
        END IF;
        result := CASE job.method WHEN 'compressive' THEN train_compressive(job) WHEN 'qkmeans' THEN train_qkmeans(job)
                                  ELSE train_kmeans(job) END;
        result.map := job.map;
        result.operator := keep_numbers(job, result.operator);
        PERFORM store_version(job, '', training_profile(job, result));
    END IF;
    PERFORM serve_version(job);
    RETURN job.version;
END
$$;

-- The next version of a model that is held, and what the one that serves looks like.
CREATE FUNCTION fastclust_internal.next_version(held models, options jsonb) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    job training_job;
BEGIN
    job.model_id := held.id;
    job.model := held.model;
    job.options := options;
    job.started_at := clock_timestamp();
    SELECT COALESCE(max(v.version), 0) + 1 INTO job.version FROM model_versions v WHERE v.model_id = held.id;
    SELECT v.operator, v.center, v.scale, v.map, v.features
      INTO job.old_operator, job.old_center, job.old_scale, job.old_map, job.features
      FROM model_versions v WHERE v.model_id = held.id AND v.version = held.version AND held.group_by IS NULL;
    RETURN job;
END
$$;

-- The options of train and retrain, each within its range whether the method uses it or not.
CREATE FUNCTION fastclust_internal.check_training_options(options jsonb, more text[] DEFAULT '{}') RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    PERFORM check_options(options, '{group_by,seed,sample_rows,polish,iterations,tolerance,frequencies,standardize,kernel,landmarks,rank,factorize,
                                    factorize_options,keep,nowait,quiet}'::text[] || more);
    PERFORM whole_option(options, o.name, 0, o.lowest, o.highest)
       FROM (VALUES ('seed', -1e15, 1e15), ('sample_rows', 100, 1e9), ('polish', 0, 1000), ('iterations', 0, 1000),
                    ('frequencies', 1, 4194304), ('landmarks', 1, 10000),
                    ('rank', 1, 502), ('keep', 0, 1e6), ('k', 1, 1048576)) o(name, lowest, highest);
    PERFORM number_option(options, 'tolerance', 0, 0, 1);
    PERFORM flag_option(options, o, false) FROM unnest('{standardize,nowait,quiet}'::text[]) o;
    PERFORM text_option(options, o) FROM unnest('{group_by,kernel,factorize,method,relation}'::text[]) o;
END
$$;

-- What a superuser trains on today he is not asked about at night.
CREATE FUNCTION fastclust_internal.warn_of_foreign_code(relation regclass, options jsonb) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    problem text := CASE WHEN (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user) THEN foreign_code_problem(relation) END;
BEGIN
    IF problem IS NOT NULL AND NOT flag_option(options, 'quiet', false) THEN
        RAISE NOTICE USING MESSAGE = format('%s, whose code a scan may run with the rights of a superuser', problem),
            HINT = format('Train as the owner of the table, or name it at each retrain: ''{"relation": %s}''.', to_json(relation::text));
    END IF;
END
$$;

CREATE FUNCTION fastclust_internal.train_model(model_name text, relation regclass, features name[], vector boolean, k integer, method text, options jsonb)
    RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    job training_job;
BEGIN
    PERFORM check_training_options(options);
    IF k NOT BETWEEN 1 AND 1048576 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('k is %s, out of range', k),
            DETAIL = 'It may be from 1 to 1048576.';
    ELSIF k IS NULL OR relation IS NULL OR method IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('%s must not be NULL',
            CASE WHEN k IS NULL THEN 'k' WHEN relation IS NULL THEN 'relation' ELSE 'method' END);
    END IF;
    PERFORM warn_of_foreign_code(relation, options);
    job := next_version(claim_model(model_name, NOT flag_option(options, 'nowait', false)), options - 'nowait');
    job.relation := relation::text;
    job.same_features := features = job.features;
    job.features := features;
    job.vector := vector;
    job.k := k;
    job.method := method;
    job.group_by := text_option(options, 'group_by');
    RETURN run_training(job);
END
$$;

CREATE FUNCTION train(model text, relation regclass, features name, k integer, method text DEFAULT 'auto', options jsonb DEFAULT '{}')
    RETURNS integer
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT train_model(model, relation, ARRAY[features], true, k, method, options)
$$;
COMMENT ON FUNCTION train(text, regclass, name, integer, text, jsonb)
    IS 'train a model on a column of vectors; returns the new version, which predict uses from the commit on';
CREATE FUNCTION train(model text, relation regclass, features name[], k integer, method text DEFAULT 'auto', options jsonb DEFAULT '{}')
    RETURNS integer
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT train_model(model, relation, features, false, k, method, options)
$$;
COMMENT ON FUNCTION train(text, regclass, name[], integer, text, jsonb)
    IS 'train a model on columns of numbers, which are standardised unless the options say otherwise';

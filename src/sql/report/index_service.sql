
-- Index service: centroids for an index that is built elsewhere, and a test for stale indexes

CREATE FUNCTION fastclust.index_centroids(model text, OUT id integer, OUT parent integer,
        OUT vector real[])
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 1000 SET search_path FROM CURRENT AS $$
DECLARE
    version stored_versions := explained_version(readable_model($1), NULL);
BEGIN
    PERFORM check_has_features(version);
    IF version.method = 'density' THEN
        RAISE feature_not_supported USING
            MESSAGE = format(
                          'index_centroids needs clusters around centroids, but clusters of model "%s" may have any shape',
                          $1),
            HINT = 'Train a model of method kmeans, whose centroids an index can use.';
    END IF;
    IF version.paths IS NULL THEN
        RETURN QUERY
            SELECT l.node, NULL::integer, l.centroid::real[] FROM version_levels(version) l
             ORDER BY 1;
        RETURN;
    END IF;
    RETURN QUERY
        WITH nodes AS MATERIALIZED (
                 SELECT l.*, row_number() OVER (ORDER BY l.level, l.node)::integer AS number
                   FROM version_levels(version) l)
        SELECT 0, NULL::integer, means(version.training_sketch)::real[]
        UNION ALL
        SELECT n.number, COALESCE(p.number, 0), n.centroid::real[]
          FROM nodes n LEFT JOIN nodes p ON p.level = n.level - 1 AND p.node = n.parent
         ORDER BY 1;
END
$$;
COMMENT ON FUNCTION fastclust.index_centroids IS
    'Returns the centroids in the form that VectorChord''s external build needs: a flat list '
    'without parents, or for a model with levels a tree with one root.';

-- ---- index_health ----

-- Returns the values that index_health compares: the sketch of the rows from which the index was
-- built, and the sketch of the present rows. Also returns the drift counts of both sets of rows if
-- the model has them. null_moments are the moments of the null distribution of the difference
-- between the sketches, from the model or from a sample of the present rows.
CREATE FUNCTION fastclust_internal.sketches_to_compare(relation regclass, "column" name,
        version stored_versions, INOUT at_build sketch, INOUT present sketch,
        OUT null_moments double precision[], OUT spec drift_spec, OUT trained drift_counts,
        OUT counts drift_counts, OUT n bigint)
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    of_model boolean := version.operator IS NOT NULL
                        AND (at_build IS NULL OR spec(version.training_sketch) = spec(at_build));
    live kept_sketches := CASE WHEN of_model THEN live_of_version(version) END;
BEGIN
    IF at_build IS NULL THEN
        at_build := version.training_sketch;
        trained := version.drift_counts;
        spec := version.drift_spec;
    END IF;
    IF NOT spec(present) = spec(at_build) THEN
        RAISE data_exception USING MESSAGE = 'present was not made with the sketch_spec of at_build',
            HINT = 'Make both with sketch_agg and the same spec, such as model_spec(model).';
    END IF;
    IF NOT of_model THEN
        version := NULL;
        version.features := ARRAY["column"];
        version.vector := true;
        version.options := '{}';
        version.training_sketch := at_build;
    END IF;
    IF present IS NULL AND live.id IS NOT NULL AND live.half_life IS NULL THEN
        SELECT r.* INTO present, counts FROM model_rows(live) r;
    ELSIF present IS NULL THEN
        SELECT r.s, r.counts, r.n INTO present, counts, n
          FROM sketch_rows(version, relation, NULL) r;
    END IF;
    n := COALESCE(n, row_count(present), 0);
    IF has_all_dimensions(spec(at_build)) THEN
        null_moments := COALESCE(
                            version.null_moments,
                            CASE WHEN row_count(present) > 0
                                     THEN sample_null_moments(
                                              (rows_sampled(version, relation, NULL, 5000)).sample,
                                              spec(at_build)) END);
    ELSIF trained IS NULL OR counts IS NULL AND present IS NOT NULL THEN
        RAISE feature_not_supported USING
            MESSAGE = 'sketches projected on axes of a sample do not show whether rows have changed',
            HINT = 'Leave at_build and present out, or make them with the model_spec of a model of method "kmeans".';
    END IF;
END
$$;

CREATE FUNCTION fastclust_internal.read_index_health(relation regclass, "column" name,
        at_build sketch, present sketch, probes integer, OUT model text, OUT rows_at_build bigint,
        OUT rows_now bigint, OUT mmd2 double precision, OUT p_value double precision,
        OUT effect double precision, OUT worn_share double precision,
        OUT recall_at_build double precision, OUT recall_now double precision,
        OUT recall_loss double precision, OUT read_share double precision, OUT verdict text,
        OUT statement text)
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    version stored_versions;
    relation_name text;
    compared record;
    measured record;
BEGIN
    IF $1 IS NULL OR $2 IS NULL THEN
        RAISE null_value_not_allowed USING
            MESSAGE = format('%s must not be NULL',
                             CASE WHEN $1 IS NULL THEN 'relation' ELSE 'column' END);
    ELSIF $5 < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('probes is %s, out of range', $5),
            DETAIL = 'It must be a number of buckets, 1 or more.';
    END IF;
    relation_name := (row_expressions($1, ARRAY[$2], true, NULL, NULL)).relation_name;
    -- Choose the version whose clusters represent the buckets of an index on the column: first a
    -- model of the caller or of the table's owner, then a version whose training measured the
    -- recall, then the latest. Leave out models of roles that may not read the column: such a model
    -- only claims that it was trained on the column.
    SELECT v.* INTO version
      FROM readable_models m
      JOIN readable_versions v ON v.model_id = m.id AND v.version = m.version,
           (SELECT r.oid AS caller, c.relowner FROM pg_roles r, pg_class c
             WHERE r.rolname = current_user AND c.oid = $1) o
     WHERE m.group_by IS NULL
       AND v.vector
       AND v.features = ARRAY[$2]
       AND v.relation = relation_name
       AND has_column_privilege(m.owner_id, $1, $2, 'SELECT')
     ORDER BY m.owner_id IN (o.caller, o.relowner) DESC, is_member(o.caller, m.owner_id) DESC,
              v.recall IS NULL, v.trained_at DESC, v.model_id DESC LIMIT 1;
    IF version.operator IS NOT NULL THEN
        PERFORM scanned_relation(readable_model(version.model), version, $1, NULL);
    ELSIF $3 IS NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('no model was trained on column "%s" of %s, and at_build is NULL', $2,
                             $1),
            HINT = 'Pass the sketch of the rows from which the index was built as at_build, or train a model on the column.';
    END IF;
    compared := sketches_to_compare($1, $2, version, $3, $4);
    model := version.model;
    rows_at_build := row_count(compared.at_build);
    rows_now := compared.n;
    SELECT t.mmd2, t.p_value, t.effect, t.verdict INTO mmd2, p_value, effect, verdict
      FROM drift_test(compared.spec,
                      CASE WHEN compared.counts IS NOT NULL THEN compared.trained END,
                      CASE WHEN compared.trained IS NOT NULL THEN compared.counts END,
                      compared.at_build, compared.present, compared.null_moments, 0.01, 0.1) t;
    verdict := COALESCE(verdict, 'too few rows');
    IF version.operator IS NOT NULL AND rows_now > 1 THEN
        measured := bucket_recall(
                        version.operator,
                        rows_of_version(version, (rows_sampled(version, $1, NULL, 6000)).sample), rows_now,
                        least(COALESCE($5, (version.options ->> 'probes')::float8::integer,
                                       ceil(sqrt(clusters(version.operator)) / 2)::integer),
                              clusters(version.operator)));
        -- Share of the sampled rows in buckets that no longer fit. Such a bucket has more than
        -- twice its expected rows, or more than 1.5 times its mean squared distance, and the excess
        -- is larger than three standard deviations of chance.
        worn_share :=
            (SELECT COALESCE(sum(b.count) FILTER (
                                 WHERE b.count > 2 * b.expected + 3 * sqrt(2 * b.expected) + 3
                                 OR b.square > (1.5 + 3 / sqrt(b.count)) * b.count * b.variance),
                             0) / sum(b.count)
               FROM (SELECT u.count, u.square, dim(version.operator) * u.spread ^ 2 AS variance,
                            (SELECT sum(n) FROM unnest(measured.counts) n) * c.weight / (
                                SELECT sum(w.weight) FROM centroids(version.operator) w) AS expected
                       FROM unnest(measured.counts, measured.squares,
                                   version.spreads) WITH ORDINALITY u(count, square, spread, i)
                       JOIN centroids(version.operator) WITH ORDINALITY
                                c(cluster, centroid, weight, i) USING (i)
                      WHERE u.count > 0) b);
        recall_now := measured.recall;
        read_share := measured.read_share;
        recall_at_build := CASE WHEN $5 IS NULL OR $5 = (version.options ->> 'probes')::float8
                                    THEN version.recall END;
        recall_loss := recall_at_build - recall_now;
    END IF;
    -- One statement per line, because REINDEX CONCURRENTLY cannot share a transaction: a retrain if
    -- the caller may retrain the model, and a REINDEX of each index that keeps lists of rows by
    -- centroid. The column may be part of an expression of the index.
    statement := CASE WHEN verdict = 'drifted' THEN NULLIF(concat_ws(E'\n',
        (SELECT format('SELECT %I.retrain(%L);', 'fastclust', m.model)
           FROM own_models m
          WHERE m.model = version.model),
        (SELECT string_agg(format('REINDEX INDEX CONCURRENTLY %I.%I;', n.nspname, c.relname),
                           E'\n' ORDER BY n.nspname, c.relname)
           FROM pg_index i
           JOIN pg_class c ON c.oid = i.indexrelid
           JOIN pg_namespace n ON n.oid = c.relnamespace
           JOIN pg_am a ON a.oid = c.relam
          WHERE i.indrelid = $1 AND a.amname IN ('ivfflat', 'vchordrq')
            AND EXISTS (SELECT FROM pg_depend d
                          JOIN pg_attribute t
                               ON t.attrelid = d.refobjid AND t.attnum = d.refobjsubid
                         WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                           AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1
                           AND t.attname = $2))), '') END;
END
$$;
CREATE FUNCTION fastclust.index_health(relation regclass, "column" name,
        at_build sketch DEFAULT NULL, present sketch DEFAULT NULL, probes integer DEFAULT NULL,
        OUT model text, OUT rows_at_build bigint, OUT rows_now bigint, OUT mmd2 double precision,
        OUT p_value double precision, OUT effect double precision, OUT worn_share double precision,
        OUT recall_at_build double precision, OUT recall_now double precision,
        OUT recall_loss double precision, OUT read_share double precision, OUT verdict text,
        OUT statement text)
    AS 'MODULE_PATHNAME', 'fastclust_with_sketch' LANGUAGE C;
COMMENT ON FUNCTION fastclust.index_health IS
    'Tests whether an index of buckets on a column is stale: compares the sketch of its build '
    'with the present rows, measures the recall on a sample, and returns the statements to run.';


-- drift: are rows still what a model was trained on?

-- The version that serves; for a model with groups that of one group.
CREATE FUNCTION fastclust_internal.serving_version(held models, group_value text DEFAULT '') RETURNS model_versions
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    version model_versions;
BEGIN
    IF held.group_by IS NOT NULL AND group_value = '' THEN
        RAISE wrong_object_type USING MESSAGE = format('model "%s" has one model per group', held.model),
            HINT = 'Use drift_groups and retrain.';
    END IF;
    SELECT v.* INTO version FROM model_versions v
     WHERE v.model_id = held.id AND v.version = held.version AND v.group_value = serving_version.group_value;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" has no version that serves', held.model);
    END IF;
    RETURN version;
END
$$;

-- The five columns that changed most, largest first; elements of a vector are numbered.
CREATE FUNCTION fastclust_internal.drifted_columns(version model_versions, s sketch) RETURNS column_drift[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT ARRAY(SELECT ROW(COALESCE(names[c.dimension], format('%s[%s]', version.features[1], c.dimension)), c.shift, c.spread)::column_drift
                   FROM feature_names(version.encoder) names, changed_columns(version.training_sketch, s, 5) c)
$$;

CREATE FUNCTION fastclust_internal.version_drift(version model_versions, s sketch, threshold double precision DEFAULT 0.01, min_effect double precision DEFAULT 0.1,
        OUT mmd2 double precision, OUT null_sd double precision, OUT p_value double precision, OUT fit_residual double precision,
        OUT n bigint, OUT effect double precision, OUT verdict text, OUT columns column_drift[])
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT t.mmd2, t.null_sd, t.p_value,
           CASE WHEN version.map IS NULL THEN fit_residual(s, version.operator, version.center, version.scale, version.spreads) END,
           COALESCE(row_count(s), 0), t.effect, COALESCE(t.verdict, 'too few rows'), drifted_columns(version, s)
      FROM (SELECT) one LEFT JOIN LATERAL drift_test(version.training_sketch, s, version.null_moments, threshold, min_effect) t ON true
$$;

-- Sketches of a relation's rows with a version's spec, by an expression of the row (text), in one scan.
CREATE FUNCTION fastclust_internal.sketch_rows(version model_versions, relation regclass, bucket name, OUT value text, OUT s sketch) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    source row_source := source_of_version(version, relation, NULL);
BEGIN
    IF bucket IS NOT NULL THEN
        PERFORM feature_type(relation, bucket);
    END IF;
    RETURN QUERY EXECUTE CASE WHEN source.leaves IS NULL
        THEN format('SELECT %s, %s(%s, $1) %s%s', CASE WHEN bucket IS NULL THEN 'NULL::text' ELSE format('t.%I::text', bucket) END,
                    aggregate_over(source, 'sketch_agg'), source.raw, rows_from(source), CASE WHEN bucket IS NULL THEN '' ELSE format(' GROUP BY t.%1$I ORDER BY t.%1$I', bucket) END)
        ELSE format('SELECT q.value::text, merge_agg(q.s) FROM (%s) q%s',
                    of_leaves(source, format('%s AS value, sketch_agg(%s, $1) AS s', CASE WHEN bucket IS NULL THEN 'NULL::text' ELSE format('t.%I', bucket) END, source.raw),
                              'infinity', 0, 0, CASE WHEN bucket IS NULL THEN '' ELSE 'GROUP BY 1' END),
                    CASE WHEN bucket IS NULL THEN ' GROUP BY 1' ELSE ' GROUP BY q.value ORDER BY q.value' END) END
        USING spec(version.training_sketch);
END
$$;

--@door
CREATE FUNCTION drift(model text, relation regclass DEFAULT NULL, OUT mmd2 double precision, OUT null_sd double precision,
        OUT p_value double precision, OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns column_drift[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := readable_model($1);
    version model_versions := serving_version(held);
BEGIN
    SELECT d.* INTO mmd2, null_sd, p_value, fit_residual, n, effect, verdict, columns
      FROM version_drift(version, rows_of_model(held, version, $2)) d;
END
$$;
COMMENT ON FUNCTION drift(text, regclass)
    IS 'compares the rows of a table with the training rows of a model';

--@door
CREATE FUNCTION drift_of_sketch(model text, s sketch, OUT mmd2 double precision, OUT null_sd double precision,
        OUT p_value double precision, OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns column_drift[])
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT d.* FROM version_drift(serving_version(readable_model(model)), s) d
$$;
COMMENT ON FUNCTION drift_of_sketch(text, sketch) IS 'compares a sketch made with model_spec(model) with the training rows of the model';

--@door
CREATE FUNCTION drift_by(model text, relation regclass, bucket name, OUT value text, OUT mmd2 double precision,
        OUT null_sd double precision, OUT p_value double precision, OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns column_drift[])
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := readable_model($1);
    version model_versions := serving_version(held);
BEGIN
    IF $2 IS NULL OR $3 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('%s must not be NULL', CASE WHEN $2 IS NULL THEN 'relation' ELSE 'bucket' END);
    END IF;
    RETURN QUERY SELECT r.value, d.*
      FROM sketch_rows(version, scanned_relation(held, version, $2, NULL), $3) r, version_drift(version, r.s) d;
END
$$;
COMMENT ON FUNCTION drift_by(text, regclass, name) IS 'drift for each value of a column, in one scan';

--@door
CREATE FUNCTION drift_groups(model text, relation regclass DEFAULT NULL, OUT group_value text, OUT mmd2 double precision,
        OUT null_sd double precision, OUT p_value double precision, OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns column_drift[])
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := readable_model($1);
    version model_versions;
    live live_sketches;
BEGIN
    SELECT v.* INTO version FROM model_versions v WHERE v.model_id = held.id AND v.version = held.version LIMIT 1;
    IF held.group_by IS NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('model "%s" has no groups', held.model), HINT = 'Use drift.';
    END IF;
    live := CASE WHEN $2 IS NULL THEN live_of_version(version) END;
    IF live.id IS NOT NULL THEN
        RETURN QUERY SELECT c.group_value, d.*
          FROM model_groups(live) c
          JOIN model_versions v ON v.model_id = held.id AND v.version = held.version AND v.group_value = c.group_value,
               version_drift(v, c.s) d;
        RETURN;
    END IF;
    RETURN QUERY SELECT r.value, d.*
      FROM sketch_rows(version, scanned_relation(held, version, $2, held.group_by), held.group_by) r
      JOIN model_versions v ON v.model_id = held.id AND v.version = held.version AND v.group_value = r.value,
           version_drift(v, r.s) d;
END
$$;
COMMENT ON FUNCTION drift_groups(text, regclass) IS 'drift for each group of a model with groups';

--@door
CREATE FUNCTION model_spec(model text) RETURNS sketch_spec
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT spec(v.training_sketch)
      FROM readable_model(model) m JOIN model_versions v ON v.model_id = m.id AND v.version = m.version LIMIT 1
$$;
COMMENT ON FUNCTION model_spec(text) IS 'the spec of a model, to sketch other rows with';

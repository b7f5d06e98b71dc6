
-- drift: have the rows of a model changed since its training?

-- The version that serves; with groups, the part of most clusters, or an error where these are
-- not taken.
CREATE FUNCTION fastclust_internal.largest_part(held stored_models, groups boolean DEFAULT true)
    RETURNS stored_versions
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    version stored_versions;
BEGIN
    IF held.group_by IS NOT NULL AND groups IS NOT TRUE THEN
        RAISE wrong_object_type USING
            MESSAGE = format('model "%s" has one model per group', held.model),
            HINT = 'drift(model, by => ''group'') compares each group, and retrain trains them.';
    END IF;
    SELECT v.* INTO version
      FROM readable_versions v
     WHERE v.model_id = held.id AND v.version = held.version
     ORDER BY v.k DESC, v.group_value LIMIT 1;
    IF NOT FOUND THEN
        RAISE undefined_object USING
            MESSAGE = format('model "%s" has no current version', held.model),
            HINT = version_hint(held.model);
    END IF;
    version.options := version.options - 'activate';     -- for its own time only
    RETURN version;
END
$$;

-- Do the waves of a spec run in all dimensions, not along axes of a sample?  Such axes fit the
-- training rows better than any later ones.
CREATE FUNCTION fastclust_internal.has_all_dimensions(spec sketch_spec) RETURNS boolean
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT d ->> 'reduced_dim' = d ->> 'dim' FROM describe(spec) d
$$;

-- Of a dimension for all values without one of their own: those that are more frequent than all
-- of these together were in training, with their shares.
CREATE FUNCTION fastclust_internal.new_values(version stored_versions, relation regclass,
        dimension integer)
    RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off AS $$
DECLARE
    column_name text := (SELECT f.feature FROM encoder_features(version.encoder) f
                          WHERE f.dimension = $3
                            AND f.kind = 'category'
                            AND f.category = 'other'
                            AND f.feature = ANY (version.features));
    found jsonb;
BEGIN
    IF column_name IS NOT NULL THEN
        EXECUTE format($query$
            SELECT jsonb_object_agg(v.value, round(v.share, 4))
              FROM (SELECT q.*
                      FROM (SELECT t.%I::text AS value,
                                   count(*) / sum(count(*)) OVER () AS share %s GROUP BY 1) q
                     WHERE q.share > $1 AND q.value <> ALL ($2)
                     ORDER BY q.share DESC, q.value LIMIT 5) v $query$,
            column_name, (version_query(version, relation, NULL)).rows)
            INTO found
            USING (means(version.training_sketch))[dimension]::numeric,
                  ARRAY(SELECT f.category FROM encoder_features(version.encoder) f
                         WHERE f.feature = column_name);
    END IF;
    RETURN found;
END
$$;

-- The statistics of a version and of other rows that drift compares, `counted` ones of which a
-- share may be sketched: the counts, where both were counted, and the sketches, where their
-- waves run in all dimensions.  Values never seen are told of rows that were scanned.
CREATE FUNCTION fastclust_internal.version_drift(version stored_versions, s sketch,
        counts drift_counts, threshold double precision DEFAULT 0.01,
        min_effect double precision DEFAULT 0.1, counted bigint DEFAULT NULL,
        scanned regclass DEFAULT NULL, OUT mmd2 double precision, OUT null_sd double precision,
        OUT p_value double precision, OUT fit_residual double precision, OUT n bigint,
        OUT effect double precision, OUT verdict text, OUT columns jsonb)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    spec drift_spec := drift_spec_of(version);
BEGIN
    IF version.drift_counts IS NULL AND NOT has_all_dimensions(spec(version.training_sketch)) THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format(
                          'version %s of model "%s" was made from a sketch of axes of its sample, and has no counts to compare',
                          version.version, version.model),
            HINT = 'Retrain the model on rows.';
    END IF;
    n := COALESCE(counted, row_count(s), 0);
    SELECT t.mmd2, t.null_sd, t.p_value, t.effect, t.verdict
      INTO mmd2, null_sd, p_value, effect, verdict
      FROM drift_test(spec, CASE WHEN counts IS NOT NULL THEN version.drift_counts END,
                      CASE WHEN version.drift_counts IS NOT NULL THEN counts END,
                      version.training_sketch, s, version.null_moments, threshold, min_effect) t;
    verdict := COALESCE(verdict, 'too few rows');
    fit_residual := CASE WHEN version.map IS NULL AND describe(version.spec) ->> 'law' <> 'gaussian'
                             THEN fit_residual(s, version.operator, version.center, version.scale,
                                               version.spreads) END;
    -- the columns and the pairs of columns that changed beyond chance, the surest first, at
    -- most five
    columns := (SELECT COALESCE(
                           jsonb_agg(CASE WHEN c.other IS NULL
                                              THEN jsonb_strip_nulls(
                                                       jsonb_build_object(
                                                           'name', x.name, 'shift', c.shift,
                                                           'spread', c.spread, 'p', x.p,
                                                           'new_values',
                                                           CASE WHEN scanned IS NOT NULL
                                                                     AND c.shift > 0
                                                                    THEN new_values(
                                                                             version, scanned,
                                                                             c.dimension) END))
                                          ELSE jsonb_build_object(
                                                   'name', concat_ws(', ', x.name, x.other),
                                                   'names', jsonb_build_array(x.name, x.other), 'p',
                                                   x.p) END ORDER BY c.other IS NOT NULL,
                                     c.place),
                           '[]')
                  FROM moved_columns(spec, version.drift_counts, counts, version.training_sketch, s,
                                     threshold, 5) WITH ORDINALITY c(
                           dimension, other, p_value, shift, spread, place),
                       feature_names(version.encoder) names,
                       LATERAL (
                           SELECT COALESCE(
                                      names[c.dimension],
                                      format('%s[%s]', version.features[1], c.dimension)) AS name,
                                  COALESCE(names[c.other],
                                           format('%s[%s]', version.features[1], c.other)) AS other,
                                  trim_scale(round(c.p_value::numeric, 12)) AS p) x);
END
$$;

-- Sketches and counts of a relation's rows as a version takes them, for each value of a column
-- or all, in one scan: of 260,000 rows at most, where they are not told by a column; n: of how
-- many.
CREATE FUNCTION fastclust_internal.sketch_rows(version stored_versions, relation regclass,
        bucket name, OUT value text, OUT s sketch, OUT counts drift_counts, OUT n bigint)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_sketch_rows' LANGUAGE C STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off;

-- A version as a window compares its rows: with those of the baseline in place of the training
-- rows, where the window has one.
CREATE FUNCTION fastclust_internal.version_since(version stored_versions, relation regclass,
        since jsonb)
    RETURNS stored_versions
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    recent jsonb;
BEGIN
    IF since IS NOT NULL THEN
        PERFORM check_training_options(jsonb_build_object('since', since), 'retrain');
    END IF;
    recent := since - 'baseline';
    IF since ? 'baseline' THEN
        version.drift_spec := drift_spec_of(version);
        version.options := version.options
                           || jsonb_build_object(
                                  'since',
                                  since -> 'baseline' || jsonb_build_object('except', recent));
        SELECT r.s, r.counts INTO version.training_sketch, version.drift_counts
          FROM sketch_rows(version, relation, NULL) r;
        IF version.training_sketch IS NULL THEN
            RAISE no_data_found USING MESSAGE = format('%s has no rows in the baseline', relation),
                DETAIL = 'The baseline consists of the rows of its window that are not recent.';
        END IF;
    END IF;
    version.options := version.options || COALESCE(jsonb_build_object('since', recent), '{}');
    RETURN version;
END
$$;

-- The rows of each value of a column, or all: of now where the model is live and has them, else
-- by a scan, of the relation that `scanned` is then.
CREATE FUNCTION fastclust_internal.compared_rows(held stored_models, version stored_versions,
        relation regclass, by name, since jsonb, OUT value text, OUT s sketch,
        OUT counts drift_counts, OUT n bigint, OUT compared stored_versions, OUT scanned regclass)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := CASE WHEN relation IS NULL AND by IS NOT DISTINCT FROM held.group_by
                                   THEN live_of_version(version, since) END;
    named regclass;
BEGIN
    IF live.id IS NULL THEN
        named := scanned_relation(held, version, relation, by);
        version := version_since(version, named, since);
        RETURN QUERY
            SELECT r.*, version, CASE WHEN by IS NULL THEN named END
              FROM sketch_rows(version, named, by) r;
    ELSIF by IS NULL THEN
        RETURN QUERY
            SELECT NULL::text, r.*, row_count(r.s), version, NULL::regclass
              FROM model_rows(live, since) r;
    ELSE
        RETURN QUERY
            SELECT g.*, row_count(g.s), version, NULL::regclass
              FROM model_groups(live.name, since) g;
    END IF;
END
$$;

CREATE FUNCTION fastclust_internal.read_drift(model text, relation regclass, sketch sketch,
        by name, version integer, since jsonb, OUT value text, OUT mmd2 double precision,
        OUT null_sd double precision, OUT p_value double precision,
        OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns jsonb)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 1 SET search_path FROM CURRENT AS $$
DECLARE
    held stored_models := CASE WHEN $5 = -1 THEN readable_model($1)
                               ELSE at_version(readable_model($1), $5) END;
    by_group boolean := held.group_by IS NOT NULL AND $4 IN (held.group_by, 'group');
    part stored_versions := largest_part(held, by_group);
    recent jsonb := COALESCE($6, part.options -> 'since');
BEGIN
    IF $3 IS NOT NULL AND ($2 IS NOT NULL OR $4 IS NOT NULL OR $6 IS NOT NULL) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('sketch and %s are given, drift takes one of them',
                             CASE WHEN $2 IS NOT NULL THEN 'relation'
                                  WHEN $4 IS NOT NULL THEN 'by'
                                  ELSE 'since' END);
    ELSIF by_group AND recent ? 'baseline' THEN
        RAISE feature_not_supported USING
            MESSAGE = 'each group is compared with its training rows, not with a baseline',
            HINT = 'Leave the key baseline out of since.';
    ELSIF $3 IS NOT NULL AND NOT has_all_dimensions(spec(part.training_sketch)) THEN
        RAISE feature_not_supported USING
            MESSAGE = format('a sketch alone does not show drift of model "%s"', $1),
            DETAIL = 'Its waves run along axes of the training sample, which fit other rows less.',
            HINT = 'Use drift(model, relation), which counts the rows.';
    ELSIF $3 IS NOT NULL THEN
        RETURN QUERY SELECT NULL::text, d.* FROM version_drift(part, $3, NULL) d;
    ELSIF by_group THEN
        RETURN QUERY
            SELECT COALESCE(r.value, v.group_value), d.mmd2, d.null_sd, d.p_value, d.fit_residual,
                   d.n, d.effect,
                   CASE WHEN v.group_value IS NULL THEN 'new group'
                        WHEN d.n = 0 THEN 'gone'
                        ELSE d.verdict END,
                   d.columns
              FROM (SELECT c.* FROM compared_rows(held, part, $2, held.group_by, recent) c
                     WHERE c.value IS NOT NULL) r
              FULL JOIN (SELECT ROW(m.*)::stored_versions AS part, m.group_value
                           FROM readable_versions m
                          WHERE m.model_id = held.id AND m.version = held.version) v
                        ON v.group_value = r.value,
                   LATERAL version_drift(
                       v.part, r.s, CASE WHEN v.group_value IS NOT NULL THEN r.counts END,
                       counted => r.n) d;
    ELSE
        RETURN QUERY
            SELECT r.value, d.*
              FROM compared_rows(held, part, $2, $4, recent) r,
                   version_drift(r.compared, r.s, r.counts, counted => r.n, scanned => r.scanned) d;
    END IF;
END
$$;
CREATE FUNCTION fastclust.drift(model text, relation regclass DEFAULT NULL,
        sketch sketch DEFAULT NULL, by name DEFAULT NULL, version integer DEFAULT -1,
        since jsonb DEFAULT NULL, OUT value text, OUT mmd2 double precision,
        OUT null_sd double precision, OUT p_value double precision,
        OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns jsonb)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_with_sketch' LANGUAGE C STABLE ROWS 1;
COMMENT ON FUNCTION fastclust.drift IS
    'compares rows of a table, or the recent ones, or a sketch made with model_spec(model), with the training rows of a model; by a column, or by group: a row for each value';

CREATE FUNCTION fastclust_internal.read_model_spec(model text) RETURNS sketch_spec
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    RETURN spec((largest_part(readable_model(model))).training_sketch);
END
$$;
CREATE FUNCTION fastclust.model_spec(model text) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.model_spec IS 'the spec of a model, to sketch other rows with';

-- It has no search_path of its own: the query is the caller's.
CREATE FUNCTION fastclust.change_points(query text, OUT changed_at timestamptz,
        OUT found_at timestamptz, OUT p_value double precision, OUT effect double precision,
        OUT dimension integer, OUT shift double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_change_points' LANGUAGE C STABLE ROWS 10;
COMMENT ON FUNCTION fastclust.change_points IS
    'when rows changed, from dated sketches that a query returns, such as one a day; reads no row';

-- A role has the rights of roles it is a member of, and checks the models that are its own:
-- others may hold theirs.  A model that cannot be checked does not keep the others from it.
CREATE FUNCTION fastclust.check_drift(INOUT model text DEFAULT NULL, OUT version integer,
        OUT verdict text, OUT effect double precision, OUT p_value double precision, OUT n bigint,
        OUT columns jsonb, OUT problem text)
    RETURNS SETOF record
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    one bigint := CASE WHEN model IS NOT NULL THEN (held_model(model, true)).id END;
    held stored_models;
    found drift_checks;
BEGIN
    PERFORM reject_read_only('drift cannot be logged');
    FOR held IN
        SELECT m.*
          FROM own_models m JOIN pg_roles r ON r.rolname = current_user
         WHERE CASE WHEN one IS NOT NULL THEN m.id = one
                    ELSE m.version IS NOT NULL AND m.owner_id = r.oid END
         ORDER BY m.model
    LOOP
        model := held.model;
        version := held.version;
        problem := NULL;
        BEGIN
            SELECT held.id, held.version, v.relation, sum(d.n) OVER (), d.mmd2, d.null_sd,
                   d.p_value, d.fit_residual, d.effect,
                   CASE WHEN d.verdict IN ('new group', 'gone') THEN 'slight' ELSE d.verdict END,
                   d.columns, 0.01, 0.1
              INTO found.model_id, found.version, found.relation, found.n, found.mmd2,
                   found.null_sd, found.p_value, found.fit_residual, found.effect, found.verdict,
                   found.columns, found.threshold, found.min_effect
              FROM largest_part(held) v,
                   drift(held.model, by => CASE WHEN held.group_by IS NOT NULL THEN 'group' END) d
             ORDER BY array_position('{drifted,new group,gone,slight,none}', d.verdict),
                      d.effect DESC NULLS LAST LIMIT 1;
            found.id := write_drift(found);
            IF found.verdict = 'drifted' THEN
                -- anybody may listen: the number tells only those who may read drift_log
                PERFORM pg_notify('fastclust_drift', found.id::text);
            END IF;
            SELECT found.verdict, found.effect, found.p_value, found.n, found.columns
              INTO verdict, effect, p_value, n, columns;
        EXCEPTION WHEN OTHERS THEN
            IF one IS NOT NULL THEN
                RAISE;
            END IF;
            SELECT 'failed', SQLERRM INTO verdict, problem, effect, p_value, n, columns;
            RAISE WARNING USING
                MESSAGE = format('model "%s" cannot be checked: %s', model, problem);
        END;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION fastclust.check_drift IS
    'drift of a model, or of each model that the caller owns: one row per model, logged in drift_log, with a notification on channel fastclust_drift if it drifted; retrains nothing';

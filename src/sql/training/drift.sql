
-- Drift: tests whether the rows of a model have changed since its training

-- Returns the current version of a model. For a model with groups, returns the group with the most
-- clusters, or raises an error if `groups` is false.
CREATE FUNCTION fastclust_internal.largest_group(stored stored_models, groups boolean DEFAULT true)
    RETURNS stored_versions
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    version stored_versions;
BEGIN
    IF stored.group_by IS NOT NULL AND groups IS NOT TRUE THEN
        RAISE wrong_object_type USING
            MESSAGE = format('model "%s" has one model per group', stored.model),
            HINT = 'To compare each group, use drift(model, by => ''group''); to train the groups again, use retrain.';
    END IF;
    SELECT v.* INTO version
      FROM readable_versions v
     WHERE v.model_id = stored.id AND v.version = stored.version
     ORDER BY v.k DESC, v.group_value LIMIT 1;
    IF NOT FOUND THEN
        RAISE undefined_object USING
            MESSAGE = format('model "%s" has no current version', stored.model),
            HINT = version_hint(stored.model);
    END IF;
    version.options := version.options - 'activate';     -- applies to that version alone
    RETURN version;
END
$$;

-- Returns true if the frequencies of the spec have all dimensions. Otherwise the spec projects rows
-- onto axes of a sample, which fit the training rows better than any later rows.
CREATE FUNCTION fastclust_internal.has_all_dimensions(spec sketch_spec) RETURNS boolean
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT d ->> 'reduced_dim' = d ->> 'dim' FROM describe(spec) d
$$;

-- Returns the new values of a category column as an object of values and their shares. A value is
-- new if it has no dimension of its own, and is more frequent now than the whole category "other"
-- was in training. Returns up to five values, most frequent first. Returns NULL if there are none,
-- or if the dimension is not the category "other" of a column.
--
-- For a model with groups, `by` is the grouping column, and only the rows of the version's group
-- are counted. For a model without groups, `by` may be NULL or any column; in the latter case, only
-- the rows are counted in which the column has the given value.
CREATE FUNCTION fastclust_internal.new_values(version stored_versions, relation regclass,
        dimension integer, by name, value text)
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
    -- Do equal values of the column have several texts?
    typed boolean := EXISTS (
                         SELECT FROM jsonb_array_elements(
                                         describe(version.encoder) -> 'features') d(feature)
                          WHERE d.feature ->> 'feature' = column_name AND d.feature ? 'type');
    rows text;
    found jsonb;
BEGIN
    IF column_name IS NOT NULL THEN
        rows := (version_query(version, relation,
                               CASE WHEN version.group_value <> '' THEN by END)).rows;
        IF by IS NOT NULL AND version.group_value = '' THEN
            rows := format('FROM (SELECT t.* %s) t WHERE t.%I::text IS NOT DISTINCT FROM $3', rows,
                           by);
        END IF;
        EXECUTE format($query$
            SELECT jsonb_object_agg(v.value, round(v.share, 4))
              FROM (SELECT q.*
                      FROM (SELECT min(t.%1$I::text COLLATE "C") COLLATE "default" AS value,
                                   count(*) / sum(count(*)) OVER () AS share
                            %2$s GROUP BY t.%1$I%3$s) q
                     WHERE q.share > $1 AND q.value IS NOT NULL
                       AND category_of($2, %1$L, q.value) IS NULL
                     ORDER BY q.share DESC, q.value LIMIT 5) v $query$,
            column_name, rows, CASE WHEN NOT typed THEN '::text' END)
            INTO found
            USING (means(version.training_sketch))[dimension]::numeric, version.encoder, value;
    END IF;
    RETURN found;
END
$$;

-- Extends the result column `columns` of drift, and returns it: for each category "other" that
-- became more frequent, adds the new values of the column.
CREATE FUNCTION fastclust_internal.with_new_values(version stored_versions, relation regclass,
        columns jsonb, by name, value text)
    RETURNS jsonb
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT COALESCE(jsonb_agg(c.entry || COALESCE(added.entry, '{}') ORDER BY c.place), '[]')
      FROM feature_names(version.encoder) names,
           jsonb_array_elements(columns) WITH ORDINALITY c(entry, place)
      LEFT JOIN LATERAL (
               SELECT jsonb_build_object('new_values', v) AS entry
                 FROM new_values(version, relation, array_position(names, c.entry ->> 'name'), by,
                                 value) v
                WHERE (c.entry ->> 'shift')::double precision > 0 AND v IS NOT NULL) added ON true
$$;

-- Returns an object for the result column `columns` of drift, which shows how a column changed from
-- the training rows (before) to the new rows (after). The numbers are shares of NULLs if the name
-- is one such as "age is NULL" and the kind is category. Otherwise they are the means of a cyclic
-- column, and the kind is the one that encoder_features returns.
CREATE FUNCTION fastclust_internal.change_entry(name text, kind text, before double precision,
        after double precision, p numeric)
    RETURNS jsonb
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT jsonb_strip_nulls(
               jsonb_build_object('name', name, 'shown',
                                  format('%s: %s -> %s', name, shown_value(before, kind, false),
                                         shown_value(after, kind, false)),
                                  'before', round(NULLIF(before, 'NaN')::numeric, 4),
                                  'after', round(NULLIF(after, 'NaN')::numeric, 4), 'p', p))
$$;

-- Returns the hint to retrain the model of a version on rows. The call in the hint names the
-- relation, because a live model would otherwise be retrained from its live sketch.
CREATE FUNCTION fastclust_internal.hint_to_read_rows(version stored_versions) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT concat('Retrain the model on rows: retrain',
                  format('(%L, %L)', version.model,
                         jsonb_build_object('relation', version.relation)), '.')
$$;

-- Compares a version with other rows by the statistics that both have: drift counts, and sketches
-- if their frequencies have all dimensions (has_all_dimensions). counted is the number of the other
-- rows, which may be larger than the number of rows in the sketch.
CREATE FUNCTION fastclust_internal.version_drift(version stored_versions, s sketch,
        counts drift_counts, threshold double precision DEFAULT 0.01,
        min_effect double precision DEFAULT 0.1, counted bigint DEFAULT NULL,
        OUT mmd2 double precision, OUT null_sd double precision, OUT p_value double precision,
        OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns jsonb, OUT units bigint[])
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    spec drift_spec := drift_spec_of(version);
    problem text;
BEGIN
    problem := CASE WHEN version.drift_counts IS NULL
                         AND NOT has_all_dimensions(spec(version.training_sketch))
                        THEN ' projected on axes of its sample, and has no drift_counts to compare'
                    WHEN version.options ? 'unit' AND unit_count(version.drift_counts) IS NULL
                        THEN ', which does not tell the units of its rows' END;
    IF problem IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('version %s of model "%s" was made from a sketch%s', version.version,
                             version.model, problem),
            HINT = hint_to_read_rows(version);
    END IF;
    n := COALESCE(counted, row_count(s), 0);
    units := array_remove(ARRAY[unit_count(version.drift_counts), unit_count(counts)], NULL);
    units := CASE WHEN cardinality(units) = 2 THEN units END;
    SELECT t.mmd2, t.null_sd, t.p_value, t.effect, t.verdict
      INTO mmd2, null_sd, p_value, effect, verdict
      FROM drift_test(spec, CASE WHEN counts IS NOT NULL THEN version.drift_counts END,
                      CASE WHEN version.drift_counts IS NOT NULL THEN counts END,
                      version.training_sketch, s, version.null_moments, threshold, min_effect,
                      version.encoder) t;
    verdict := COALESCE(verdict, 'too few rows');
    fit_residual := CASE WHEN version.map IS NULL AND describe(version.spec) ->> 'law' <> 'gaussian'
                             THEN fit_residual(s, version.operator, version.center, version.scale,
                                               version.spreads) END;
    -- up to five columns and pairs of columns that changed significantly, smallest p-value first;
    -- after a change that only waves show, the columns with the smallest p-values
    columns := (SELECT COALESCE(jsonb_agg(e.entry ORDER BY e.other IS NOT NULL, e.place), '[]')
                  FROM (SELECT DISTINCT ON (x.name, x.other, c.before IS NULL) x.other, c.place,
                               CASE WHEN c.before IS NOT NULL
                                        THEN change_entry(x.nulls, 'category', c.before, c.after, x.p)
                                    WHEN x.other IS NOT NULL
                                        THEN jsonb_build_object(
                                                 'name', concat_ws(', ', x.name, x.other),
                                                 'names', jsonb_build_array(x.name, x.other), 'p',
                                                 x.p)
                                    WHEN x.after IS NOT NULL
                                        THEN change_entry(x.name, x.kind, x.before, x.after, x.p)
                                    ELSE jsonb_strip_nulls(
                                             jsonb_build_object('name', x.name, 'shift', c.shift,
                                                                'spread', c.spread, 'p', x.p)) END
                                   AS entry
                          FROM moved_columns(spec, version.drift_counts, counts,
                                             version.training_sketch, s, threshold, 5,
                                             COALESCE(p_value < threshold, false), version.encoder)
                                   WITH ORDINALITY c(dimension, other, p_value, shift, spread,
                                                     before, after, place),
                               (SELECT array_agg(f.label ORDER BY f.dimension) AS labels,
                                       array_agg(f.kind ORDER BY f.dimension) AS kinds
                                  FROM encoder_features(version.encoder) f) f,
                               LATERAL (
                                   SELECT COALESCE(f.labels[c.dimension],
                                                   format('%s[%s]', version.features[1],
                                                          c.dimension)) AS name,
                                          COALESCE(NULLIF(f.labels[c.other], f.labels[c.dimension]),
                                                   CASE WHEN version.encoder IS NULL AND c.other IS NOT NULL
                                                            THEN format('%s[%s]',
                                                                        version.features[1],
                                                                        c.other) END) AS other,
                                          f.kinds[c.dimension] AS kind,
                                          null_name(version.encoder, c.dimension) AS nulls,
                                          cyclic_mean(version.encoder, c.dimension,
                                                      means(version.training_sketch)) AS before,
                                          cyclic_mean(version.encoder, c.dimension, means(s))
                                              AS after,
                                          trim_scale(round(c.p_value::numeric, 12)) AS p) x
                         ORDER BY x.name, x.other, c.before IS NULL, c.place) e);
END
$$;

-- Returns sketches and drift counts of a relation's rows, made by the specs of a version in one
-- scan. If a column is given, returns one result row for each of its values; if it is NULL, one for
-- all rows. n is the number of rows. The sketch of all rows is made from a sample of about 260,000
-- rows or fewer.
CREATE FUNCTION fastclust_internal.sketch_rows(version stored_versions, relation regclass,
        bucket name, OUT value text, OUT s sketch, OUT counts drift_counts, OUT n bigint)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_sketch_rows' LANGUAGE C STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off;

-- Returns the version with option "since" set to `since` without the key "baseline". The caller
-- compares the version with the rows of this window. If `since` has a baseline, the sketch and the
-- counts of the rows in the baseline replace the sketch and the counts of the training rows. If
-- `since` is NULL, option "since" is set to null, and all rows are compared.
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
                DETAIL = 'The baseline consists of the rows of the window "baseline" that are not recent.';
        END IF;
    END IF;
    version.options := version.options || COALESCE(jsonb_build_object('since', recent), '{}');
    RETURN version;
END
$$;

-- Raises a NOTICE if NULLs in the columns of a model cannot be compared. Its detail is that
-- `source`, such as 'The new rows are in a live sketch', does not count NULLs. If `source` is NULL,
-- the detail is that the version was made from a sketch, which does not count NULLs.
CREATE FUNCTION fastclust_internal.report_uncounted_nulls(version stored_versions, source text)
    RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    counted boolean := COALESCE(counts_nulls(version.drift_counts), false);
BEGIN
    IF version.encoder IS NOT NULL AND NOT (counted AND source IS NULL) THEN
        RAISE NOTICE USING
            MESSAGE = format('the share of NULLs in the columns of model "%s" is not compared',
                             version.model),
            DETAIL = COALESCE(source, format('Version %s was made from a sketch', version.version))
                     || ', which does not count NULLs.',
            HINT = concat_ws(' ', CASE WHEN NOT counted THEN hint_to_read_rows(version) END,
                             CASE WHEN source IS NOT NULL
                                      THEN CASE WHEN NOT counted THEN 'Then use' ELSE 'Use' END
                                           || ' drift(model, relation), which reads the rows.' END);
    END IF;
END
$$;

-- Returns the sketches and counts of the rows to compare: a result row for each value of column
-- `by`, or one for all rows if `by` is NULL. If the model's live sketch counts these rows, they are
-- read from it, and `scanned` is NULL. Otherwise they are read by a scan of the relation `scanned`.
CREATE FUNCTION fastclust_internal.compared_rows(stored stored_models, version stored_versions,
        relation regclass, by name, since jsonb, OUT value text, OUT s sketch,
        OUT counts drift_counts, OUT n bigint, OUT compared stored_versions, OUT scanned regclass)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := CASE WHEN relation IS NULL AND by IS NOT DISTINCT FROM stored.group_by
                                   THEN live_of_version(version, since) END;
    named regclass;
BEGIN
    IF live.id IS NULL THEN
        named := scanned_relation(stored, version, relation, by);
        version := version_since(version, named, since);
        PERFORM report_uncounted_nulls(version, NULL);
        RETURN QUERY
            SELECT r.*, version, named
              FROM sketch_rows(version, named, by) r;
        RETURN;
    END IF;
    PERFORM report_uncounted_nulls(version, 'The new rows are in a live sketch');
    IF by IS NULL THEN
        RETURN QUERY
            SELECT NULL::text, r.*, row_count(r.s), version, NULL::regclass
              FROM model_rows(live, since) r;
    ELSE
        RETURN QUERY
            SELECT group_of(stored.model, stored.version, g.group_value), g.s, g.counts,
                   row_count(g.s), version, NULL::regclass
              FROM model_groups(live.name, since) g;
    END IF;
END
$$;

-- Returns the result of compared_rows for each group of the rows and each group of the model. For a
-- group that only the rows have, `compared` and `counts` are NULL. For a group that only the model
-- has, all columns are NULL except `value` and `compared`.
CREATE FUNCTION fastclust_internal.compared_groups(stored stored_models,
        group_version stored_versions, relation regclass, since jsonb, OUT value text, OUT s sketch,
        OUT counts drift_counts, OUT n bigint, OUT compared stored_versions, OUT scanned regclass)
    RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT COALESCE(r.value, v.group_value), r.s,
           CASE WHEN v.group_value IS NOT NULL THEN r.counts END, r.n, v.group_version, r.scanned
      FROM (SELECT c.* FROM compared_rows(stored, group_version, relation, stored.group_by, since) c
             WHERE c.value IS NOT NULL) r
      FULL JOIN (SELECT ROW(m.*)::stored_versions AS group_version, m.group_value
                   FROM readable_versions m
                  WHERE m.model_id = stored.id AND m.version = stored.version) v
                ON v.group_value = r.value
$$;

-- Returns the drift of rows of a table or of a live sketch, as read_drift. If the query stood in
-- read_drift, each error in it would have the whole query as its context.
CREATE FUNCTION fastclust_internal.drift_of_rows(stored stored_models,
        group_version stored_versions, relation regclass, by name, by_group boolean, since jsonb,
        OUT value text, OUT mmd2 double precision, OUT null_sd double precision,
        OUT p_value double precision, OUT fit_residual double precision, OUT n bigint,
        OUT effect double precision, OUT verdict text, OUT columns jsonb, OUT units bigint[])
    RETURNS SETOF record
    LANGUAGE sql STABLE ROWS 1 SET search_path FROM CURRENT AS $$
    -- New values take a scan for each value of `by`, so only the ten largest effects have them.
    SELECT r.value, d.mmd2, d.null_sd, d.p_value, d.fit_residual, d.n, d.effect,
           CASE WHEN by_group AND (r.compared).group_value IS NULL THEN 'new group'
                WHEN by_group AND d.n = 0 THEN 'gone'
                ELSE d.verdict END,
           CASE WHEN r.scanned IS NOT NULL AND d.columns <> '[]'
                     AND row_number() OVER (ORDER BY d.effect DESC NULLS LAST) <= 10
                    THEN with_new_values(r.compared, r.scanned, d.columns,
                                         CASE WHEN by_group THEN stored.group_by ELSE by END,
                                         r.value)
                ELSE d.columns END,
           d.units
      FROM (SELECT c.*, row_number() OVER () AS place
              FROM compared_groups(stored, group_version, relation, since) c
             WHERE by_group
             UNION ALL
            SELECT c.*, row_number() OVER ()
              FROM compared_rows(stored, group_version, relation, by, since) c
             WHERE NOT by_group) r,
           LATERAL version_drift(r.compared, r.s, r.counts, counted => r.n) d
     ORDER BY r.place
$$;

CREATE FUNCTION fastclust_internal.read_drift(model text, relation regclass, sketch sketch,
        by name, version integer, since jsonb, OUT value text, OUT mmd2 double precision,
        OUT null_sd double precision, OUT p_value double precision,
        OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns jsonb, OUT units bigint[])
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 1 SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := CASE WHEN $5 = -1 THEN readable_model($1)
                               ELSE at_version(readable_model($1), $5) END;
    by_group boolean := stored.group_by IS NOT NULL AND $4 IN (stored.group_by, 'group');
    group_version stored_versions := largest_group(stored, by_group);
    recent jsonb := COALESCE($6, group_version.options -> 'since');
BEGIN
    IF $3 IS NOT NULL AND ($2 IS NOT NULL OR $4 IS NOT NULL OR $6 IS NOT NULL) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('sketch and %s exclude each other',
                             CASE WHEN $2 IS NOT NULL THEN 'relation'
                                  WHEN $4 IS NOT NULL THEN 'by'
                                  ELSE 'since' END);
    ELSIF by_group AND recent ? 'baseline' THEN
        RAISE feature_not_supported USING
            MESSAGE = 'each group is compared with its training rows, not with a baseline',
            HINT = 'Remove the key baseline from since.';
    ELSIF $3 IS NOT NULL AND group_version.options ? 'unit' THEN
        RAISE feature_not_supported USING
            MESSAGE = format(
                          'a sketch does not tell the units of its rows, which option "unit" of model "%s" needs',
                          $1),
            HINT = 'Use drift(model, relation), which reads the units.';
    ELSIF $3 IS NOT NULL AND NOT has_all_dimensions(spec(group_version.training_sketch)) THEN
        RAISE feature_not_supported USING
            MESSAGE = format('a sketch alone does not show drift of model "%s"', $1),
            DETAIL = 'The sketch is projected on axes of the training sample, which fit other rows less well.',
            HINT = 'Use drift(model, relation), which counts the rows.';
    ELSIF $3 IS NOT NULL THEN
        PERFORM report_uncounted_nulls(group_version, 'The new rows are in a sketch');
        RETURN QUERY SELECT NULL::text, d.* FROM version_drift(group_version, $3, NULL) d;
    ELSE
        RETURN QUERY
            SELECT d.* FROM drift_of_rows(stored, group_version, $2, $4, by_group, recent) d;
    END IF;
END
$$;
CREATE FUNCTION fastclust.drift(model text, relation regclass DEFAULT NULL,
        sketch sketch DEFAULT NULL, by name DEFAULT NULL, version integer DEFAULT -1,
        since jsonb DEFAULT NULL, OUT value text, OUT mmd2 double precision,
        OUT null_sd double precision, OUT p_value double precision,
        OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns jsonb, OUT units bigint[])
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_with_sketch' LANGUAGE C STABLE ROWS 1;
COMMENT ON FUNCTION fastclust.drift IS
    'Compares rows with the training rows of a model: rows of a table, the recent ones, or a '
    'sketch made with model_spec(model). Returns one row, or one for each value of the column or '
    'group in `by`.';

CREATE FUNCTION fastclust_internal.read_model_spec(model text) RETURNS sketch_spec
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    RETURN spec((largest_group(readable_model(model))).training_sketch);
END
$$;
CREATE FUNCTION fastclust.model_spec(model text) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.model_spec IS
    'Returns the spec of a model, with which other rows can be sketched for drift.';

-- The function sets no search_path, because it runs the caller's query.
CREATE FUNCTION fastclust.change_points(query text, OUT changed_at timestamptz,
        OUT found_at timestamptz, OUT p_value double precision, OUT effect double precision,
        OUT dimension integer, OUT shift double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_change_points' LANGUAGE C STABLE ROWS 10;
COMMENT ON FUNCTION fastclust.change_points IS
    'Returns the times when rows changed, found in dated sketches that a query returns, for '
    'example one a day. Reads no row.';

-- If no model is named, checks only the models that the current user owns. Models of roles of which
-- the user is a member are left out: their owners may check them. An error in the check of one
-- model does not stop the check of the others.
CREATE FUNCTION fastclust.check_drift(INOUT model text DEFAULT NULL, OUT version integer,
        OUT group_value text, OUT verdict text, OUT effect double precision,
        OUT p_value double precision, OUT n bigint, OUT columns jsonb, OUT problem text)
    RETURNS SETOF record
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    one bigint := CASE WHEN model IS NOT NULL THEN (locked_model(model, true)).id END;
    stored stored_models;
    found drift_checks;
    reason text;    -- DETAIL and HINT of an error
    hint text;
BEGIN
    PERFORM reject_read_only('drift cannot be logged');
    FOR stored IN
        SELECT m.*
          FROM own_models m JOIN pg_roles r ON r.rolname = current_user
         WHERE CASE WHEN one IS NOT NULL THEN m.id = one
                    ELSE m.version IS NOT NULL AND m.owner_id = r.oid END
         ORDER BY m.model
    LOOP
        model := stored.model;
        version := stored.version;
        problem := NULL;
        BEGIN
            SELECT stored.id, stored.version, v.relation, sum(d.n) OVER (), d.mmd2, d.null_sd,
                   d.p_value, d.fit_residual, d.effect,
                   CASE WHEN d.verdict IN ('new group', 'gone') THEN 'slight' ELSE d.verdict END,
                   d.columns, 0.01, 0.1, d.value
              INTO found.model_id, found.version, found.relation, found.n, found.mmd2,
                   found.null_sd, found.p_value, found.fit_residual, found.effect, found.verdict,
                   found.columns, found.threshold, found.min_effect, found.group_value
              FROM largest_group(stored) v,
                   drift(stored.model, by => CASE WHEN stored.group_by IS NOT NULL THEN 'group' END) d
             ORDER BY array_position('{drifted,new group,gone,slight,none}', d.verdict),
                      d.effect DESC NULLS LAST LIMIT 1;
            found.id := write_drift(found);
            IF found.verdict = 'drifted' THEN
                -- Any role may receive the notification. The id is useful only to roles that may
                -- read drift_log.
                PERFORM pg_notify('fastclust_drift', found.id::text);
            END IF;
            SELECT found.group_value, found.verdict, found.effect, found.p_value, found.n,
                   found.columns
              INTO group_value, verdict, effect, p_value, n, columns;
        EXCEPTION WHEN OTHERS THEN
            IF one IS NOT NULL THEN
                RAISE;
            END IF;
            GET STACKED DIAGNOSTICS reason = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
            reason := concat_ws(' ', NULLIF(reason, ''), NULLIF(hint, ''));
            SELECT 'failed', concat_ws('. ', SQLERRM, NULLIF(reason, ''))
              INTO verdict, problem, group_value, effect, p_value, n, columns;
            IF reason = '' THEN
                RAISE WARNING USING
                    MESSAGE = format('model "%s" cannot be checked: %s', model, SQLERRM);
            ELSE
                RAISE WARNING USING
                    MESSAGE = format('model "%s" cannot be checked: %s', model, SQLERRM),
                    DETAIL = reason;
            END IF;
        END;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION fastclust.check_drift IS
    'Tests a model, or each model that the caller owns, for drift. Returns one row per model, '
    'logs it in drift_log, and sends a notification on channel fastclust_drift if the model '
    'drifted. Does not retrain.';

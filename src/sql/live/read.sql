
-- Live sketches: reading the current sketch

-- Returns the reason why a live sketch no longer matches its table. Returns NULL if it does match,
-- or if the caller may not read it. enable_seqscan = off forces the use of the index on
-- live_deltas: the statistics of the table may describe the rows of other live sketches.
CREATE FUNCTION fastclust_internal.sketch_problem(name text) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_owner.sketch_problem(name text, caller oid) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path FROM CURRENT SET enable_seqscan = off AS $$
DECLARE
    live kept_sketches := (SELECT l FROM kept_sketches l
                            WHERE l.name = $1 AND may_read_live(caller, l));
BEGIN
    RETURN CASE WHEN live.id IS NULL THEN NULL
                WHEN NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = live.relation)
                    THEN 'the table was dropped'
                WHEN live_pending(live.id)
                    THEN 'changes of this transaction are counted at the end of the statement or of the transaction'
                ELSE (SELECT p.problem
                        FROM live_tables(live.relation) t JOIN pg_class c ON c.oid = t.id
                        LEFT JOIN live_leaves v ON v.live_id = live.id AND v.leaf = c.oid,
                             LATERAL (
                                 SELECT CASE WHEN c.relkind <> 'r'
                                                 THEN format('table %s is foreign', c.oid::regclass)
                                             WHEN v.leaf IS NULL
                                                 THEN format('table %s is not counted',
                                                             c.oid::regclass)
                                             WHEN c.relpersistence <> 'p'
                                                 THEN format(
                                                          'table %s is not logged', c.oid::regclass)
                                             ELSE COALESCE(
                                                      column_problem(v),
                                                      trigger_problem(live.id, c.oid),
                                                      (SELECT d.lost
                                                         FROM live_deltas d
                                                        WHERE d.live_id = live.id
                                                          AND d.leaf = c.oid
                                                          AND d.lost IS NOT NULL
                                                        LIMIT 1)) END) p(problem)
                       WHERE t.is_leaf AND p.problem IS NOT NULL
                       ORDER BY t.id LIMIT 1) END;
END
$$;

-- Raises an error if a table was truncated, rewritten, attached or detached after the snapshot was
-- taken. Such changes ignore snapshots, so a scan would see other rows than the sketch counts.
CREATE FUNCTION fastclust_internal.check_live_snapshot(live kept_sketches) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    tables oid[] := ARRAY(SELECT t.id FROM live_tables(live.relation) t ORDER BY t.id);
    changed regclass := COALESCE((SELECT c.oid
                                    FROM pg_class c
                                   WHERE c.oid = ANY (tables)
                                     AND pg_relation_filenode(c.oid) <> c.relfilenode
                                   ORDER BY 1 LIMIT 1),
                                 (SELECT COALESCE(a.id, b.id)
                                    FROM unnest(tables) a(id)
                                    FULL JOIN unnest(scanned_tables(live.relation)) b(id) USING (id)
                                   WHERE a.id IS NULL OR b.id IS NULL
                                   ORDER BY 1 LIMIT 1));
BEGIN
    IF changed IS NOT NULL THEN
        RAISE serialization_failure USING
            MESSAGE = format('live sketch "%s" cannot be read under this snapshot', live.name),
            DETAIL = format(
                         'Table %s was truncated, rewritten, attached or detached after the snapshot was taken.',
                         changed),
            HINT = 'Read the live sketch in a new transaction.';
    END IF;
END
$$;

-- Returns the sums of added rows and of removed rows, by group and bucket. They are not subtracted,
-- because a live sketch that has missed changes may have more removed rows than added ones. Only
-- the owner of the table may call the function: `removed` also describes rows that were deleted
-- before another role was allowed to read the table.
CREATE FUNCTION fastclust_internal.live_totals(name text, OUT group_value text,
        OUT bucket timestamptz, OUT added sketch, OUT removed sketch,
        OUT added_counts drift_counts, OUT removed_counts drift_counts)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE ROWS 100;
CREATE FUNCTION fastclust_owner.live_totals(name text, caller oid, OUT group_value text,
        OUT bucket timestamptz, OUT added sketch, OUT removed sketch,
        OUT added_counts drift_counts, OUT removed_counts drift_counts)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := owned_live(name, caller);
BEGIN
    PERFORM check_live_snapshot(live);
    RETURN QUERY
        SELECT p.*
          FROM live_sums(live.id,
                         ARRAY(SELECT t.id FROM live_tables(live.relation) t WHERE t.is_leaf)) p;
END
$$;

-- Returns the text of the group that `given` names. Returns NULL if equal values of the column may
-- have several texts. Also returns NULL if the column is missing; live_groups then raises an error
-- that explains more.
CREATE FUNCTION fastclust_internal.strict_group(live kept_sketches, given text) RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN missing_column(live) IS NOT NULL THEN NULL
                WHEN least_groups(live.relation, live.group_by, '{}') IS NULL
                    THEN named_group(live.relation, live.group_by, '{}', given) END
$$;

-- Returns the current sketches, one for each stored text of a group and each bucket. If equal
-- values have several texts, live_groups merges their sketches.
CREATE FUNCTION fastclust_internal.live_texts(live kept_sketches) RETURNS SETOF live_group
    LANGUAGE sql STABLE ROWS 100 SET search_path FROM CURRENT AS $$
    SELECT q.*
      FROM (SELECT p.group_value, p.bucket, live_difference(p.added, p.removed) AS s,
                   changed_drift_counts(NULL, p.added_counts, p.removed_counts)
              FROM live_sums(live.id,
                             ARRAY(SELECT t.id FROM live_tables(live.relation) t
                                    WHERE t.is_leaf)) p) q
     WHERE q.s IS NOT NULL
$$;

-- Returns the current sketches of the groups and buckets that have rows. Raises an error if the
-- live sketch does not match the table.
CREATE FUNCTION fastclust_owner.live_groups(name text, caller oid) RETURNS SETOF live_group
    LANGUAGE plpgsql STABLE ROWS 100 SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := readable_live(name, caller);
    problem text := sketch_problem(name, caller);
BEGIN
    IF problem IS NULL AND live.counting THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('live sketch "%s" is not counted yet', name),
            HINT = 'Count its rows with rebuild_sketch; other sessions can write at the same time.';
    END IF;
    PERFORM check_live_snapshot(live);
    IF problem IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('live sketch "%s" no longer matches its table', name),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.',
            HINT = CASE WHEN missing_column(live) IS NULL
                            THEN 'Recount the live sketch with rebuild_sketch, or drop it with drop_sketch.'
                        ELSE repair_hint(live) END;
    END IF;
    IF least_groups(live.relation, live.group_by, '{}') IS NULL THEN
        RETURN QUERY SELECT g.* FROM live_texts(live) g;
    ELSE
        RETURN QUERY
            WITH by_text AS MATERIALIZED (SELECT g.* FROM live_texts(live) g),
                 texts AS (SELECT array_agg(DISTINCT g.group_value COLLATE "C"
                                            ORDER BY g.group_value COLLATE "C") AS given
                             FROM by_text g)
            SELECT u.least, g.bucket, merge_agg(g.s), merge_drift_counts_agg(g.counts)
              FROM texts,
                   unnest(texts.given,
                          least_groups(live.relation, live.group_by, texts.given)) u(given, least)
              JOIN by_text g ON g.group_value = u.given
             GROUP BY 1, 2;
    END IF;
END
$$;

-- ---- buckets of time, weighted by 2^(-age / half-life) when they are read ----
--
-- Buckets are stored as unweighted sums of integers, so that rows of any time can be added, changed
-- and removed exactly, and no weight overflows. The newest bucket has weight 1: this is forward
-- decay whose landmark is the newest bucket.

CREATE FUNCTION fastclust_internal.weighted_merge(sketch, sketch, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_weighted_merge' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust_internal.weighted_merge_agg(subtotal sketch, weight double precision) (
    SFUNC = weighted_merge, STYPE = sketch, SSPACE = 16384, FINALFUNC = sketch_final,
    FINALFUNC_MODIFY = READ_ONLY);

-- Returns the weighted sums of the buckets of each group or, if by_group is false, of all groups.
-- one_group and one_bucket select a group and a bucket; NULL selects all.
--
-- Leaves out buckets that begin more than a day in the future; clocks may differ by up to a day.
-- Drift counts have no weights: they include the rows of two half-lives, which are about as many as
-- the sum of all weights.
CREATE FUNCTION fastclust_owner.decayed_groups(name text, half_life interval, one_group text,
        one_bucket timestamptz, by_group boolean, caller oid, OUT group_value text, OUT s sketch,
        OUT counts drift_counts)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := readable_live(name, caller);
    -- Ages are computed by way of the origin of timestamptz, because the difference between the ends
    -- of the calendar overflows.
    origin CONSTANT timestamptz := '2000-01-01 00:00+00';
    wanted text := strict_group(live, one_group);
BEGIN
    IF live.bucket IS NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('live sketch "%s" has no buckets', name),
            HINT = 'Make a live sketch with buckets by the option bucket of keep_sketch.';
    ELSIF (half_life > '0' AND half_life <= '100000000 days') IS NOT TRUE THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('half_life is %s, out of range', COALESCE(half_life::text, 'NULL')),
            DETAIL = 'It must be above 0 and at most 100000000 days.';
    END IF;
    -- The weight is 0 beyond 40 half-lives, because it would be less than the minimum weight.
    RETURN QUERY
        SELECT q.group_key,
               weighted_merge_agg(
                   q.s,
                   CASE WHEN h.half_lives <= 40 THEN power(2.0::float8, -h.half_lives) ELSE 0 END),
               merge_drift_counts_agg(q.counts) FILTER (WHERE a.age <= 2 * half_life)
          FROM (SELECT g.group_key, p.bucket, p.s, p.counts,
                       max(p.bucket) OVER (PARTITION BY g.group_key) AS newest
                  FROM live_groups(decayed_groups.name, caller) p,
                       LATERAL (SELECT CASE WHEN by_group AND live.group_by IS NOT NULL
                                                THEN p.group_value END) g(group_key)
                 WHERE (one_group IS NULL
                        OR p.group_value = COALESCE(wanted,
                                                    named_group(live.relation, live.group_by,
                                                                ARRAY[p.group_value], one_group)))
                   AND (one_bucket IS NULL OR p.bucket = one_bucket)
                   AND isfinite(p.bucket)
                   AND p.bucket <= now() + interval '1 day') q,
               LATERAL (SELECT justify_hours((q.newest - origin) + (origin - q.bucket)) AS age) a,
               LATERAL (SELECT extract(epoch FROM a.age)::float8
                                   / extract(epoch FROM half_life)::float8 AS half_lives) h
         GROUP BY q.group_key;
END
$$;

-- Returns the sketch and the counts of the present rows of each group: one result row if there are
-- no groups, and no result row if the table has no rows. With `since`, includes only the newest
-- buckets. With a half-life, weights rows by the age of their bucket; the newest bucket of each
-- group has weight 1. by_micro: returns one result row for each micro-cluster instead of each
-- group.
CREATE FUNCTION fastclust_internal.model_groups(name text, since jsonb DEFAULT NULL,
        by_micro boolean DEFAULT false, OUT group_value text, OUT s sketch, OUT counts drift_counts)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE ROWS 100;
CREATE FUNCTION fastclust_owner.model_groups(name text, since jsonb, by_micro boolean, caller oid,
        OUT group_value text, OUT s sketch, OUT counts drift_counts)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := readable_live(name, caller);
BEGIN
    IF live.half_life IS NOT NULL AND since IS NULL THEN
        RETURN QUERY
            SELECT d.* FROM decayed_groups(name, live.half_life, NULL, NULL, true, caller) d
             ORDER BY d.group_value COLLATE "C";
    ELSE
        RETURN QUERY
            SELECT g.group_key, merge_agg(p.s), merge_drift_counts_agg(p.counts)
              FROM (SELECT c.*,
                           max(c.bucket) FILTER (
                               WHERE isfinite(c.bucket)
                               AND c.bucket <= now() + interval '1 day') OVER () AS newest
                      FROM live_groups($1, caller) c) p,
                   LATERAL (SELECT CASE WHEN by_micro OR live.group_by IS NOT NULL
                                            THEN p.group_value END) g(group_key)
             WHERE since IS NULL
                OR (p.bucket <= p.newest AND p.bucket > p.newest - span_option(since, 'interval'))
             GROUP BY 1
             ORDER BY g.group_key COLLATE "C";
    END IF;
END
$$;

-- Raises an error for a group or a bucket that the live sketch cannot have. Without this check, it
-- would look like a group or a bucket that has no rows.
CREATE FUNCTION fastclust_internal.check_live_group(live kept_sketches, group_value text,
        bucket timestamptz)
    RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT SET timezone = 'UTC' SET datestyle = iso
    SET intervalstyle = postgres AS $$
DECLARE
    begins timestamptz := bucket_of_time(bucket, live.bucket_width);
BEGIN
    IF group_value IS NOT NULL AND live.group_by IS NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('live sketch "%s" has no groups', live.name);
    ELSIF bucket IS NOT NULL AND live.bucket IS NULL THEN
        RAISE wrong_object_type USING
            MESSAGE = format('live sketch "%s" has no buckets', live.name);
    ELSIF bucket <> begins THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('no bucket of live sketch "%s" begins at %s', live.name, bucket),
            DETAIL = format('The bucket of that time begins at %s and is %s long.', begins,
                            live.bucket_width);
    END IF;
END
$$;

CREATE FUNCTION fastclust_internal.read_current_sketch(name text, group_value text,
        bucket timestamptz, half_life interval)
    RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_owner.read_current_sketch(name text, group_value text,
        bucket timestamptz, half_life interval, caller oid)
    RETURNS sketch
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := readable_live(name, caller);
    wanted text := strict_group(live, group_value);
BEGIN
    PERFORM check_live_group(live, group_value, bucket);
    RETURN CASE WHEN half_life IS NOT NULL
                    THEN (SELECT d.s FROM decayed_groups($1, $4, $2, $3, false, caller) d)
                ELSE (SELECT merge_agg(p.s) FROM live_groups($1, caller) p
                       WHERE ($2 IS NULL
                              OR p.group_value = COALESCE(wanted,
                                                          named_group(live.relation, live.group_by,
                                                                      ARRAY[p.group_value], $2)))
                         AND ($3 IS NULL OR p.bucket = $3)) END;
END
$$;
CREATE FUNCTION fastclust.current_sketch(name text, group_value text DEFAULT NULL,
        bucket timestamptz DEFAULT NULL, half_life interval DEFAULT NULL)
    RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE COST 100;
COMMENT ON FUNCTION fastclust.current_sketch IS
    'Returns the sketch of the present rows, of one group or all and of one bucket or all, '
    'without reading a row. With half_life, a bucket older than the newest one by half_life has '
    'weight 1/2.';

CREATE FUNCTION fastclust.current_sketches(name text, OUT group_value text, OUT bucket timestamptz,
        OUT s sketch)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE ROWS 100;
CREATE FUNCTION fastclust_owner.current_sketches(name text, caller oid, OUT group_value text,
        OUT bucket timestamptz, OUT s sketch)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := readable_live(name, caller);
BEGIN
    RETURN QUERY
        SELECT g.group_key, CASE WHEN live.bucket IS NOT NULL THEN p.bucket END, merge_agg(p.s)
          FROM live_groups($1, caller) p,
               LATERAL (SELECT CASE WHEN live.group_by IS NOT NULL THEN p.group_value END) g(group_key)
         GROUP BY g.group_key, p.bucket
         ORDER BY g.group_key COLLATE "C", p.bucket;
END
$$;
COMMENT ON FUNCTION fastclust.current_sketches IS
    'Returns the present sketches, one for each group and bucket.';

-- Returns the live sketch of a model. Returns NULL if the model has no live sketch, or if the
-- caller may not read it.
CREATE FUNCTION fastclust_internal.model_live(model_id bigint) RETURNS kept_sketches
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_owner.model_live(model_id bigint, caller oid) RETURNS kept_sketches
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
BEGIN
    RETURN (SELECT l FROM kept_sketches l WHERE l.model_id = $1 AND may_read_live(caller, l));
END
$$;

-- Returns the live sketch of the version's model if it can replace a scan of the rows. It must have
-- the features, groups and condition with which the version was trained, and buckets that can
-- select the window `since`. Returns NULL otherwise. If the live sketch no longer matches its
-- table, also raises a WARNING.
CREATE FUNCTION fastclust_internal.live_of_version(version stored_versions,
        since jsonb DEFAULT NULL)
    RETURNS kept_sketches
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := model_live(version.model_id);
    problem text;
BEGIN
    IF live.id IS NULL
       OR NOT is_live_group(version.training_sketch, NULL, live.spec, NULL)
       OR live.micro_options IS DISTINCT FROM (
              CASE WHEN version.method = 'density' THEN jsonb_build_array(
                                                            version.options -> 'micro_clusters',
                                                            version.options ->
                                                                'min_cluster_rows') END)
       OR (live.drift_spec IS NOT NULL
           AND live.drift_spec::text IS DISTINCT FROM drift_spec_of(version)::text)
       OR live.features <> version.features
       OR live.vector <> version.vector
       OR live.encoder::text IS DISTINCT FROM version.encoder::text
       OR live.relation IS DISTINCT FROM COALESCE(
              to_regclass(version.relation),
              (SELECT live.relation
                 FROM readable_models m
                 JOIN readable_versions v ON v.model_id = m.id AND v.version = m.version
                WHERE m.id = version.model_id AND v.relation = version.relation
                LIMIT 1))
       OR live.bucket IS DISTINCT FROM version.options -> 'live' ->> 'bucket'
       OR live.half_life IS DISTINCT FROM span_option(version.options -> 'live', 'half_life')
       OR live.bucket_width <> span_option(version.options -> 'live', 'bucket_width')
       OR live.group_by IS DISTINCT FROM version.options ->> 'group_by'
       OR live.condition IS DISTINCT FROM version.options ->> 'where'
       OR since - 'interval' <> jsonb_build_object('column', live.bucket) THEN
        RETURN NULL;
    END IF;
    problem := sketch_problem(live.name);
    IF problem IS NOT NULL THEN
        RAISE WARNING USING
            MESSAGE = format('live sketch "%s" no longer matches its table: rows are read', live.name),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.',
            HINT = repair_hint(live);
    END IF;
    RETURN CASE WHEN problem IS NULL THEN live END;
END
$$;

-- Returns the relation to scan, and checks the caller's rights to scan the columns that the version
-- names. Raises an error if there is no relation. It is the first of the following that exists:
--     the relation that the caller named;
--     the relation stored in the version;
--     the table of the model's live sketch, if the stored relation was renamed and the current
--     version was trained on it.
CREATE FUNCTION fastclust_internal.scanned_relation(stored stored_models, version stored_versions,
        named regclass, group_by name)
    RETURNS regclass
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    relation regclass := COALESCE(named, to_regclass(version.relation),
                                  (SELECT (model_live(m.id)).relation
                                     FROM readable_models m
                                     JOIN readable_versions v
                                          ON v.model_id = m.id AND v.version = m.version
                                    WHERE m.id = version.model_id AND v.relation = version.relation
                                    LIMIT 1));
    -- columns that options where and since read; since includes its keys except and baseline
    option_columns name[];
    missing name;    -- first feature that the relation does not have
BEGIN
    IF named IS NULL THEN
        relation := locked_relation(relation);
    END IF;
    IF relation IS NULL THEN
        RAISE undefined_table USING
            MESSAGE = format('%s, which model "%s" was trained on, does not exist',
                             version.relation, stored.model),
            HINT = format('To train on another table, use retrain(%L, ''{"relation": "..."}''). To read another one, pass it to drift or score: relation => ''...''.',
                          stored.model);
    END IF;
    WITH RECURSIVE nested(o) AS (SELECT version.options
                                 UNION ALL
                                 SELECT e
                                   FROM nested,
                                        unnest(ARRAY[o -> 'since', o -> 'except', o -> 'baseline']) e
                                  WHERE jsonb_typeof(e) = 'object')
    SELECT array_agg(c.name) INTO option_columns
      FROM (SELECT (o ->> 'column')::name FROM nested
            UNION ALL
            SELECT unnest((row_condition(relation, o ->> 'where')).columns) FROM nested
            UNION ALL
            SELECT a.attname
              FROM nested, pg_partitioned_table p
              JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum > 0
             WHERE o ? 'partition'
               AND p.partrelid = relation
               AND (a.attnum = ANY (p.partattrs) OR 0 = ANY (p.partattrs))) c(name);
    PERFORM check_stored_scan(stored, version, relation,
                              version.features || group_by || option_columns, named IS NOT NULL);
    missing := (SELECT u.feature
                  FROM unnest(version.features) WITH ORDINALITY u(feature, i)
                 WHERE NOT EXISTS (SELECT FROM pg_attribute a
                                    WHERE a.attrelid = relation AND a.attname = u.feature)
                 ORDER BY u.i LIMIT 1);
    IF named IS NULL AND missing IS NOT NULL THEN
        RAISE undefined_column USING
            MESSAGE = format('column "%s" of %s does not exist', missing, relation),
            DETAIL = format('Model "%s" was trained on %s. The table has the columns %s.',
                            stored.model, array_to_string(version.features, ', '),
                            (SELECT string_agg(a.attname, ', ' ORDER BY a.attnum)
                               FROM pg_attribute a
                              WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped)),
            HINT = format('Rename the column back if it was renamed. Or train the model again with columns that the table has: train(%L, %L, features, k).',
                          stored.model, relation::text);
    END IF;
    RETURN relation;
END
$$;

-- Returns the live sketches that count the rows described by the options and that the caller may
-- read. Live sketches of models come first.
--
-- If `ready` is true, returns only live sketches that a new model may take over. The caller owns
-- them, they match their table and belong to no model, and a model of these vectors may use their
-- spec.
CREATE FUNCTION fastclust_internal.live_of_rows(relation regclass, features name[], vector boolean,
        options jsonb, ready boolean DEFAULT false)
    RETURNS SETOF kept_sketches
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE ROWS 1;
CREATE FUNCTION fastclust_owner.live_of_rows(relation regclass, features name[], vector boolean,
        options jsonb, ready boolean, caller oid)
    RETURNS SETOF kept_sketches
    LANGUAGE plpgsql STABLE ROWS 1 SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN QUERY
        SELECT l.*
          FROM kept_sketches l, describe(l.spec) d
         WHERE l.relation = $1
           AND l.features = $2
           AND l.vector = $3
           AND (l.group_by, l.condition, l.bucket, l.half_life,
                l.bucket_width) IS NOT DISTINCT FROM (
                   options ->> 'group_by', options ->> 'where', options -> 'live' ->> 'bucket',
                   span_option(options -> 'live', 'half_life'),
                   live_bucket_width($1, options ->> 'group_by', options -> 'live'))
           AND may_read_live(caller, l)
           AND (NOT ready
                OR (l.model_id IS NULL
                    AND NOT l.counting
                    AND COALESCE(d ->> 'metric', options ->> 'metric') IS NULL
                    AND d ->> 'law' <> 'gaussian'
                    AND d ->> 'reduced_dim' = d ->> 'dim'
                    AND owns_relation(caller, l.relation)
                    AND sketch_problem(l.name, caller) IS NULL))
         ORDER BY l.model_id IS NULL, l.id;
END
$$;

-- Returns the sketch and the drift counts of a live model, for all groups together.
CREATE FUNCTION fastclust_internal.model_rows(live kept_sketches, since jsonb DEFAULT NULL,
        OUT s sketch, OUT counts drift_counts)
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT merge_agg(g.s), merge_drift_counts_agg(g.counts) FROM model_groups(live.name, since) g
$$;


-- Live sketches: checking, repairing and dropping; drop_model

CREATE FUNCTION fastclust_internal.write_check(name text, differences bigint) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.write_check(name text, differences bigint, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE kept_sketches l
       SET checked_at = clock_timestamp(), differences = write_check.differences
     WHERE l.id = (SELECT h.id FROM locked_live(write_check.name, caller) h);
END
$$;

CREATE FUNCTION fastclust.check_sketch(name text, INOUT group_value text DEFAULT NULL,
        INOUT bucket timestamptz DEFAULT NULL, OUT sketched bigint, OUT counted bigint,
        OUT difference text)
    RETURNS SETOF record
    LANGUAGE plpgsql ROWS 10
    SET search_path FROM CURRENT SET datestyle = iso SET intervalstyle = postgres
    SET extra_float_digits = 1 SET timezone = 'UTC' SET standard_conforming_strings = on
    SET array_nulls = on SET lc_monetary = 'C' SET quote_all_identifiers = off
    SET bytea_output = hex AS $$
DECLARE
    live kept_sketches := locked_live(name);
    whole boolean := group_value IS NULL AND bucket IS NULL;
    condition text := concat_ws(' AND ', 'true',
                            CASE WHEN group_value IS NOT NULL
                                     THEN format('group_value = named_group(%s, %L, '
                                                 'ARRAY[group_value], %L)',
                                              live.relation::oid, live.group_by, group_value) END,
                            CASE WHEN bucket IS NOT NULL
                                     THEN format('bucket = %L::timestamptz', bucket) END);
    problem text := COALESCE(sketch_problem(name),
                             CASE WHEN live.counting THEN 'the rows are not counted yet' END);
    differences bigint := CASE WHEN problem IS NULL THEN 0 ELSE 1 END;
BEGIN
    PERFORM check_live_group(live, group_value, bucket);
    IF problem IS NOT NULL THEN
        difference := problem;
        RETURN NEXT;
    END IF;
    IF NOT live.counting
       AND NOT EXISTS (SELECT FROM own_live_leaves v
                        WHERE v.live_id = live.id AND column_problem(v.leaves) IS NOT NULL) THEN
        BEGIN
            PERFORM check_live_scan(live, live.relation);
            -- Compares added with scanned + removed, because added - removed might not be a valid
            -- sketch.
            FOR group_value, bucket, sketched, counted, difference IN
                EXECUTE format($query$
                    SELECT group_value, bucket, n.sketched, n.counted,
                           CASE WHEN n.sketched = n.counted THEN 'values' ELSE 'number of rows' END
                      FROM (SELECT * FROM live_totals($3) WHERE %2$s) k
                      FULL JOIN (SELECT * FROM (%1$s) a WHERE %2$s) q USING (group_value, bucket),
                           LATERAL (SELECT COALESCE(row_count(k.added), 0)
                                           - COALESCE(row_count(k.removed), 0),
                                           COALESCE(row_count(q.s), 0)) n(sketched, counted)
                     WHERE NOT same_rows(k.added, CASE WHEN q.s IS NULL THEN k.removed
                                                       WHEN k.removed IS NULL THEN q.s
                                                       ELSE q.s + k.removed END)
                        OR k.added_counts::text IS DISTINCT FROM
                           changed_drift_counts(q.counts, k.removed_counts, NULL)::text
                     ORDER BY group_value COLLATE "C", bucket $query$,
                    live_scan(live, live.relation, false), condition)
                    USING live.spec, live.drift_spec, name
            LOOP
                group_value := CASE WHEN live.group_by IS NOT NULL
                                         OR live.micro_clusters IS NOT NULL THEN group_value END;
                bucket := CASE WHEN live.bucket IS NOT NULL THEN bucket END;
                differences := differences + 1;
                RETURN NEXT;
            END LOOP;
        EXCEPTION WHEN OTHERS THEN
            -- The problem was returned above. The count can fail because rows that bypassed the
            -- triggers may be impossible to sketch.
            IF problem IS NULL THEN
                RAISE;
            END IF;
            sketched := NULL;
            counted := NULL;
            difference := format('the rows cannot be counted: %s', SQLERRM);
            RETURN NEXT;
        END;
    END IF;
    IF whole THEN
        PERFORM write_check(name, differences);
    END IF;
END
$$;
COMMENT ON FUNCTION fastclust.check_sketch IS
    'Recounts the table, or one group or bucket of it, and returns a row for each difference '
    'from the live sketch.';

CREATE FUNCTION fastclust.rebuild_sketch(name text) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches;
    lost boolean;
BEGIN
    PERFORM check_live_isolation(name);
    live := locked_live(name);
    IF missing_column(live) IS NOT NULL THEN
        RAISE undefined_column USING
            MESSAGE = format('live sketch "%s" cannot be counted', live.name),
            DETAIL = format('Table %s has no column "%s".', live.relation, missing_column(live)),
            HINT = repair_hint(live);
    END IF;
    -- The columns may have other types than at keep_sketch.
    PERFORM check_live_types(live.relation, live.group_by, live.bucket),
            check_live_scan(live, live.relation);
    lost := sketch_problem(name) IS NOT NULL;
    IF lost THEN
        -- Writers have to wait only in this case.
        PERFORM lock_out_writers(live.relation);
    END IF;
    PERFORM check_live_tables(live);
    -- The triggers of leaves that left the tree go on counting until here, because a leaf might
    -- have returned to the tree.
    PERFORM set_live_triggers(live.id, v.leaf, false) FROM own_live_leaves v
     WHERE v.live_id = live.id AND v.leaf NOT IN (SELECT t.id FROM live_tables(live.relation) t);
    PERFORM forget_leaves(name);
    RETURN count_live(live, lost);
END
$$;
COMMENT ON FUNCTION fastclust.rebuild_sketch IS
    'Recounts all rows of a live sketch and restores missing triggers. Returns the number of rows.';

CREATE FUNCTION fastclust.drop_sketch(name text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.drop_sketch(name text, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := locked_live(name, caller);
    -- model that the caller may retrain and whose current version is live, or NULL
    follower text := (SELECT m.model
                        FROM stored_models m
                       WHERE m.id = live.model_id AND is_member(caller, m.owner_id)
                         AND EXISTS (SELECT FROM version_groups v
                                      WHERE v.model_id = m.id AND v.version = m.version
                                        AND flag_option(v.options, 'live')));
BEGIN
    PERFORM forget_live(live.id);
    IF follower IS NOT NULL THEN
        RAISE NOTICE USING
            MESSAGE = format('the next retraining of model "%s" makes its live sketch again', follower),
            HINT = format('To prevent this, use retrain(%L, ''{"live": false}''), or drop the model with drop_model.',
                          follower);
    END IF;
END
$$;
COMMENT ON FUNCTION fastclust.drop_sketch IS
    'Drops a live sketch with its triggers and its counts.';

CREATE FUNCTION fastclust.drop_model(model text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.drop_model(model text, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model, true, false, caller);
BEGIN
    PERFORM end_model_live(stored.id, caller);
    DELETE FROM stored_models m WHERE m.id = stored.id;
END
$$;
COMMENT ON FUNCTION fastclust.drop_model IS 'Drops a model with all its versions.';


-- live sketches: checking, repairing, ending

CREATE FUNCTION fastclust_internal.write_check(name text, differences bigint) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held kept_sketches := held_live(name);
BEGIN
    UPDATE kept_sketches l SET checked_at = clock_timestamp(), differences = write_check.differences WHERE l.id = held.id;
END
$$;

-- The sketches of groups and buckets, whatever the state of the table.
CREATE FUNCTION fastclust_internal.kept_parts(name text) RETURNS SETOF live_part
    LANGUAGE fastclust_owner STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT p.* FROM live_parts((readable_live(name)).id) p;
END
$$;

CREATE FUNCTION check_sketch(name text, INOUT group_value text DEFAULT NULL, INOUT bucket timestamptz DEFAULT NULL,
        OUT sketched bigint, OUT counted bigint, OUT difference text)
    RETURNS SETOF record
    LANGUAGE fastclust ROWS 10 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp
    SET datestyle = iso SET intervalstyle = postgres SET extra_float_digits = 1 SET timezone = 'UTC' AS $$
DECLARE
    live kept_sketches := held_live(name);
    whole boolean := group_value IS NULL AND bucket IS NULL;
    asked text := concat_ws(' AND ', 'true', CASE WHEN group_value IS NOT NULL THEN format('group_value = %L::text', group_value) END,
                            CASE WHEN bucket IS NOT NULL THEN format('bucket = %L::timestamptz', bucket) END);
    problem text := sketch_problem(name);
    differences bigint := CASE WHEN problem IS NULL THEN 0 ELSE 1 END;
BEGIN
    PERFORM check_live_part(live, group_value, bucket);
    IF problem IS NOT NULL THEN
        difference := problem;
        RETURN NEXT;
    END IF;
    IF live_column_problem(live) IS NULL THEN
        PERFORM check_live_scan(live);
        FOR group_value, bucket, sketched, counted, difference IN
            EXECUTE format('SELECT group_value, bucket, COALESCE(row_count(k.s), 0), COALESCE(row_count(q.s), 0),'
                           ' CASE WHEN row_count(k.s) = row_count(q.s) THEN ''values'' ELSE ''number of rows'' END'
                           ' FROM (SELECT * FROM kept_parts($3) WHERE %2$s) k FULL JOIN (SELECT * FROM (%1$s) a WHERE %2$s) q USING (group_value, bucket)'
                           ' WHERE NOT same_rows(k.s, q.s) OR k.counts::text IS DISTINCT FROM q.counts::text ORDER BY group_value COLLATE "C", bucket',
                           live_scan(live, live.relation::text), asked) USING live.spec, live.drift_spec, name LOOP
            group_value := CASE WHEN live.group_by IS NOT NULL THEN group_value END;
            bucket := CASE WHEN live.bucket IS NOT NULL THEN bucket END;
            differences := differences + 1;
            RETURN NEXT;
        END LOOP;
    END IF;
    IF whole THEN
        PERFORM write_check(name, differences);
    END IF;
END
$$;
COMMENT ON FUNCTION check_sketch(text, text, timestamptz)
    IS 'recount the table, or one group or bucket of it, and show where a live sketch differs from it; no row when it does not';

CREATE FUNCTION rebuild_sketch(name text) RETURNS bigint
    LANGUAGE fastclust SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches;
BEGIN
    PERFORM check_live_isolation(name);
    live := held_live(name);
    PERFORM check_live_scan(live);
    IF sketch_problem(name) IS NOT NULL THEN
        -- only then do writers wait
        EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', live.relation);
        PERFORM check_live_parent(live.relation), check_live_tables(live);
        PERFORM drop_live_triggers(live.id, NULL);
        PERFORM make_live_triggers(live.id, t.id) FROM live_tables(live.relation) t(id);
    END IF;
    RETURN count_live(live);
END
$$;
COMMENT ON FUNCTION rebuild_sketch(text) IS 'recount all rows of a live sketch, and make missing triggers again; returns the number of rows';

-- internal: all of a live sketch, whoever asks.
CREATE FUNCTION fastclust_internal.forget_live(live_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    DELETE FROM live_deltas d WHERE d.live_id = $1;
    DELETE FROM live_bases b WHERE b.live_id = $1;
    DELETE FROM kept_sketches l WHERE l.id = $1;
END
$$;
CREATE FUNCTION fastclust_internal.forget_held_live(name text) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    PERFORM forget_live((held_live(name)).id);
END
$$;

CREATE FUNCTION drop_sketch(name text) RETURNS void
    LANGUAGE fastclust SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches := held_live(name);
BEGIN
    PERFORM drop_live_triggers(live.id, NULL);
    PERFORM forget_held_live(name);
END
$$;
COMMENT ON FUNCTION drop_sketch(text) IS 'end a live sketch: its triggers go, and all that it has counted';

-- A dropped table takes its live sketches with it, whoever drops it.  Outside of the event trigger it is an error.
CREATE FUNCTION fastclust_internal.forget_dropped() RETURNS void
    LANGUAGE fastclust SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    PERFORM forget_live(l.id) FROM pg_event_trigger_dropped_objects() o JOIN kept_sketches l ON l.relation::oid = o.objid
      WHERE o.classid = 'pg_class'::regclass AND o.objsubid = 0;
END
$$;
CREATE FUNCTION fastclust_internal.live_dropped() RETURNS event_trigger
    AS 'MODULE_PATHNAME', 'fastclust_live_dropped' LANGUAGE C;
CREATE EVENT TRIGGER fastclust_live_dropped ON sql_drop WHEN TAG IN ('DROP TABLE', 'DROP SCHEMA', 'DROP OWNED', 'DROP EXTENSION')
    EXECUTE FUNCTION live_dropped();
ALTER EVENT TRIGGER fastclust_live_dropped ENABLE ALWAYS;

CREATE FUNCTION drop_model(model text) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := held_model(model, true);
BEGIN
    PERFORM drop_live_triggers(l.id, NULL), forget_live(l.id) FROM kept_sketches l WHERE l.model_id = held.id;
    DELETE FROM stored_models m WHERE m.id = held.id;
END
$$;
COMMENT ON FUNCTION drop_model(text) IS 'remove a model with all its versions';

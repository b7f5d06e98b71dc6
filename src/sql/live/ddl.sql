
-- live sketches and DDL: leaves that come are counted, values that change past the triggers are lost, and tables that are dropped are forgotten

-- Count the leaves that the statement added to tables of the caller's; outside of an event trigger it is an error.
CREATE FUNCTION fastclust_internal.follow_leaves() RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    added record;
    live kept_sketches;
BEGIN
    FOR added IN WITH RECURSIVE above AS (SELECT c.objid AS id FROM pg_event_trigger_ddl_commands() c WHERE c.classid = 'pg_class'::regclass
                                          UNION SELECT i.inhparent FROM pg_inherits i JOIN above ON i.inhrelid = above.id)
                 SELECT l AS live, t.id::regclass AS leaf, t.is_leaf FROM own_live_sketches l, live_tables(l.relation) t
                  WHERE l.relation IN (SELECT above.id FROM above) AND NOT follows(l.id, t.id) ORDER BY l.id, t.id LOOP
        live := added.live;
        BEGIN
            PERFORM check_live_isolation(live.name), check_live_tables(live), check_live_scan(live, added.leaf);
            PERFORM make_live_triggers(live.id, added.leaf);
            PERFORM count_leaf(live, added.leaf) WHERE added.is_leaf;
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING USING MESSAGE = format('live sketch "%s" has lost its table', live.name),
                DETAIL = format('Table %s is not counted: %s.', added.leaf, SQLERRM), HINT = 'rebuild_sketch recounts it.';
        END;
    END LOOP;
END
$$;

-- A statement changed values past the triggers: of a column by its name, of tables, or of columns of an enum whose labels it changed.
CREATE FUNCTION fastclust_internal.lose_leaves(changed text, loss text) RETURNS void
    LANGUAGE fastclust SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    INSERT INTO live_deltas (live_id, leaf, lost)
        SELECT v.live_id, v.leaf, CASE WHEN c.classid = 'pg_type'::regclass THEN format('type %s %s', c.objid::regtype, loss)
                                       WHEN changed IS NULL THEN format('table %s %s', v.leaf, loss) ELSE format('column "%s" of %s %s', changed, v.leaf, loss) END
          FROM pg_event_trigger_ddl_commands() c, live_leaves v
         WHERE CASE c.classid WHEN 'pg_class'::regclass THEN v.leaf IN (SELECT t.id FROM live_tables(c.objid) t) AND (changed IS NULL OR changed = ANY (v.names))
                              WHEN 'pg_type'::regclass THEN EXISTS (SELECT FROM unnest(v.types) u(type) JOIN pg_type t ON t.oid = u.type WHERE c.objid IN (base_type(u.type), t.typelem)) END;
END
$$;
CREATE FUNCTION fastclust_internal.live_altered() RETURNS event_trigger
    AS 'MODULE_PATHNAME', 'fastclust_live_altered' LANGUAGE C;
CREATE EVENT TRIGGER fastclust_live_altered ON ddl_command_end
    WHEN TAG IN ('CREATE TABLE', 'ALTER TABLE', 'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE', 'CREATE SCHEMA', 'ALTER TYPE') EXECUTE FUNCTION live_altered();

-- A dropped table takes its live sketches with it, whoever drops it.  Outside of the event trigger it is an error.
CREATE FUNCTION fastclust_internal.forget_dropped() RETURNS void
    LANGUAGE fastclust SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    PERFORM forget_live(l.id) FROM pg_event_trigger_dropped_objects() o JOIN kept_sketches l ON l.relation = o.objid
      WHERE o.classid = 'pg_class'::regclass AND o.objsubid = 0;
    DELETE FROM live_leaves v USING pg_event_trigger_dropped_objects() o WHERE o.classid = 'pg_class'::regclass AND v.leaf = o.objid AND o.objsubid = 0;
END
$$;
CREATE FUNCTION fastclust_internal.live_dropped() RETURNS event_trigger
    AS 'MODULE_PATHNAME', 'fastclust_live_dropped' LANGUAGE C;
CREATE EVENT TRIGGER fastclust_live_dropped ON sql_drop EXECUTE FUNCTION live_dropped();

-- They run from the first: what a first live sketch enabled would wait for another role's first that is not committed.
ALTER EVENT TRIGGER fastclust_live_altered ENABLE ALWAYS;      -- as the triggers of the tables are
ALTER EVENT TRIGGER fastclust_live_dropped ENABLE ALWAYS;

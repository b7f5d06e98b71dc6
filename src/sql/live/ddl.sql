
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
                  WHERE l.relation IN (SELECT above.id FROM above) AND NOT EXISTS (SELECT FROM own_live_leaves v WHERE v.live_id = l.id AND v.leaf = t.id)
                    AND (t.is_leaf OR NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = t.id AND g.tgname = format('fastclust_live_%s_statement', l.id))) ORDER BY l.id, t.id LOOP
        live := added.live;
        BEGIN
            PERFORM check_live_isolation(live.name), check_live_tables(live), check_live_scan(live, added.leaf);
            PERFORM make_live_triggers(live.id, added.leaf);
            PERFORM count_leaf(live, added.leaf) WHERE added.is_leaf;
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING USING MESSAGE = format('live sketch "%s" has lost its table', live.name),
                DETAIL = format('Table %s is not counted: %s.', added.leaf, SQLERRM), HINT = 'Recount it with rebuild_sketch.';
        END;
    END LOOP;
END
$$;

CREATE FUNCTION fastclust_internal.live_ddl() RETURNS event_trigger
    AS 'MODULE_PATHNAME', 'fastclust_live_ddl' LANGUAGE C;
CREATE EVENT TRIGGER fastclust_live_altered ON ddl_command_end
    WHEN TAG IN ('CREATE TABLE', 'ALTER TABLE', 'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE', 'CREATE SCHEMA', 'ALTER TYPE') EXECUTE FUNCTION live_ddl();
CREATE EVENT TRIGGER fastclust_live_dropped ON sql_drop EXECUTE FUNCTION live_ddl();

-- They run from the first: enabling them with the first live sketch would wait for another role's uncommitted first.
ALTER EVENT TRIGGER fastclust_live_altered ENABLE ALWAYS;      -- as the triggers of the tables are
ALTER EVENT TRIGGER fastclust_live_dropped ENABLE ALWAYS;

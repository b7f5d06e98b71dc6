
-- Live sketches and DDL: commands that add leaves, change values without firing the triggers, or
-- drop tables
--
-- A new leaf is counted. A leaf whose values change without firing its triggers is marked as lost.
-- The live sketches of a dropped table are dropped.
--
-- A role that issues DDL needs no right to the extension. The event triggers return immediately if
-- no live sketch was made since kept_sketches was last vacuumed. They test the size of the table
-- instead of its rows in a snapshot, because uncommitted live sketches count, too. Triggers of a
-- restored live sketch may exist before its row in kept_sketches. CREATE TRIGGER records them in
-- restored_triggers, whose size is tested as well. The event triggers are in PL/pgSQL and call the
-- module only for tables with live sketches, so that other DDL works if the file of the module is
-- missing.
--
-- All DDL of the database pays for the tests before the return. They are single expressions, which
-- PL/pgSQL evaluates without a query. A query would cost about 10 microseconds more (bench/ddl.sql).
--
-- CREATE OR REPLACE, RENAME, ENABLE, DISABLE and DROP change a trigger, and each change is recorded
-- when it happens. A later reader cannot detect it: the trigger may have its old form again,
-- although rows have changed meanwhile. The row in pg_trigger does not show the change after
-- pg_upgrade, which creates all triggers again.

-- Returns the leaves of live sketches that the command concerns. is_altered is true for altered
-- tables and their descendants. has_type is true for tables with columns of an altered type, or of
-- an array, composite or domain that contains it.
CREATE FUNCTION fastclust_owner.concerned_leaves(OUT v live_leaves, OUT is_altered boolean,
        OUT has_type boolean)
    RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH RECURSIVE altered(id) AS (
             SELECT c.objid FROM pg_event_trigger_ddl_commands() c
              WHERE c.classid = 'pg_class'::regclass
             UNION
             SELECT g.tgrelid FROM pg_event_trigger_ddl_commands() c
               JOIN pg_trigger g ON c.classid = 'pg_trigger'::regclass AND g.oid = c.objid
             UNION
             SELECT i.inhrelid FROM altered a JOIN pg_inherits i ON i.inhparent = a.id),
         of_type(id) AS (
             SELECT c.objid FROM pg_event_trigger_ddl_commands() c
              WHERE c.classid = 'pg_type'::regclass
             UNION
             SELECT t.oid FROM of_type a
               JOIN pg_type t
                    ON a.id IN (t.typbasetype, t.typelem)
                       OR EXISTS (SELECT FROM pg_attribute c
                                   WHERE c.attrelid = t.typrelid AND c.atttypid = a.id))
    SELECT v, v.leaf = ANY (ARRAY(SELECT a.id FROM altered a)),
           v.types::oid[] && ARRAY(SELECT a.id FROM of_type a)
      FROM live_leaves v
     WHERE v.leaf = ANY (ARRAY(SELECT a.id FROM altered a))
        OR v.types::oid[] && ARRAY(SELECT a.id FROM of_type a)
$$;

-- Records that a command changed values without firing the triggers: values of a column, of a
-- table, or of columns of an enum whose labels changed. Also records that a command changed the
-- triggers. Drops the live sketches of a dropped table, no matter who drops the table. Reads under
-- the latest snapshot, because DDL of any transaction acts on the present tables.
CREATE FUNCTION fastclust_owner.record_ddl(event text) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET quote_all_identifiers = off SET jit = off AS $$
DECLARE
    -- true if this function sees all rows that others have committed
    is_latest boolean := current_setting('transaction_isolation') LIKE 'read %';
BEGIN
    IF event = 'ddl_command_end' THEN
        PERFORM restore_leaves();
    END IF;
    IF pg_relation_size('kept_sketches') = 0 THEN
        RETURN;
    ELSIF event = 'sql_drop' THEN
        IF is_latest
           AND NOT EXISTS (SELECT FROM pg_event_trigger_dropped_objects() o
                            WHERE (o.classid = 'pg_trigger'::regclass
                                   AND left(o.address_names[3], 15) = 'fastclust_live_')
                               OR (o.classid = 'pg_class'::regclass
                                   AND (o.objid IN (SELECT l.relation FROM kept_sketches l)
                                        OR o.objid IN (SELECT v.leaf FROM live_leaves v)))) THEN
            RETURN;
        END IF;
        PERFORM forget_live(u.id)
          FROM unnest(run_latest($query$
                   SELECT array_agg(l.id)
                     FROM pg_event_trigger_dropped_objects() o
                     JOIN kept_sketches l ON l.relation = o.objid
                    WHERE o.classid = 'pg_class'::regclass AND o.objsubid = 0
                   $query$)::bigint[]) u(id);
        PERFORM run_latest($query$
            DELETE FROM live_leaves v
             USING pg_event_trigger_dropped_objects() o
             WHERE o.classid = 'pg_class'::regclass AND v.leaf = o.objid AND o.objsubid = 0
            $query$);
        PERFORM run_latest($query$
            INSERT INTO live_deltas (live_id, leaf, lost)
            SELECT DISTINCT v.live_id, v.leaf, format('table %s had triggers dropped', v.leaf)
              FROM pg_event_trigger_dropped_objects() o
              JOIN live_leaves v
                   ON v.leaf = to_regclass(format('%I.%I', o.address_names[1], o.address_names[2]))
             WHERE o.classid = 'pg_trigger'::regclass
               AND is_live_trigger(o.address_names[3], v.live_id)
            $query$);
    ELSIF NOT is_latest OR EXISTS (SELECT FROM concerned_leaves()) THEN
        PERFORM run_latest($query$
            INSERT INTO live_deltas (live_id, leaf, lost)
            SELECT (q.v).live_id, (q.v).leaf,
                   CASE WHEN c.classid = 'pg_type'::regclass
                            THEN format('type %s %s', c.objid::regtype, p.loss)
                        WHEN p.column_name IS NULL THEN format('table %s %s', (q.v).leaf, p.loss)
                        ELSE format('column "%s" of %s %s', p.column_name, (q.v).leaf, p.loss) END
              FROM pg_event_trigger_ddl_commands() c,
                   LATERAL (SELECT DISTINCT d.column_name, d.trigger_name, d.loss
                              FROM ddl_changes(c.command) d) p,
                   concerned_leaves() q
             WHERE p.loss IS NOT NULL
               AND CASE c.classid
                        WHEN 'pg_type'::regclass THEN q.has_type
                        ELSE q.is_altered
                             AND (p.column_name IS NULL OR p.column_name = ANY ((q.v).names))
                             AND (p.trigger_name IS NULL
                                  OR is_live_trigger(p.trigger_name, (q.v).live_id)) END
            $query$);
    END IF;
END
$$;

-- Has a row if a trigger of a live sketch was created while kept_sketches was empty, as in a restore.
CREATE TABLE fastclust_internal.restored_triggers (trigger_id oid NOT NULL);

-- Calls record_ddl if there may be live sketches, or triggers of restored ones. A dump creates the
-- triggers before it enables them.
CREATE FUNCTION fastclust_owner.live_ddl() RETURNS event_trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, fastclust_internal, fastclust_owner, pg_temp AS $$
BEGIN
    IF pg_relation_size('kept_sketches') = 0 THEN
        IF TG_TAG = 'CREATE TRIGGER' THEN
            INSERT INTO restored_triggers
            SELECT g.oid
              FROM pg_event_trigger_ddl_commands() c
              JOIN pg_trigger g ON c.classid = 'pg_trigger'::regclass AND g.oid = c.objid
             WHERE g.tgfoid = 'live_change()'::regprocedure
               AND pg_relation_size('restored_triggers') = 0;
            RETURN;
        ELSIF TG_EVENT = 'sql_drop' OR pg_relation_size('restored_triggers') = 0 THEN
            RETURN;
        END IF;
    END IF;
    PERFORM record_ddl(TG_EVENT);
END
$$;

-- Counts the leaves that the command added to tables that the caller owns. A leaf that cannot be
-- counted causes a WARNING. Raises an error outside of an event trigger.
CREATE FUNCTION fastclust_internal.follow_leaves() RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT SET jit = off AS $$
DECLARE
    live_ids bigint[] := ARRAY(
                             WITH RECURSIVE above AS (
                                                SELECT c.objid AS id
                                                  FROM pg_event_trigger_ddl_commands() c
                                                 WHERE c.classid = 'pg_class'::regclass
                                                UNION
                                                SELECT i.inhparent
                                                  FROM pg_inherits i
                                                  JOIN above ON i.inhrelid = above.id)
                             SELECT l.id FROM own_live_sketches l
                              WHERE l.relation IN (SELECT above.id FROM above));
    added record;
    live kept_sketches;
BEGIN
    IF live_ids = '{}' THEN
        RETURN;    -- the query below would call the module
    END IF;
    FOR added IN
        SELECT l AS live, t.id::regclass AS leaf, t.is_leaf
          FROM own_live_sketches l, live_tables(l.relation) t
         WHERE l.id = ANY (live_ids)
           AND EXISTS (SELECT FROM pg_event_trigger_ddl_commands() c, ddl_changes(c.command) p
                        WHERE p.adds)
           AND NOT EXISTS (SELECT FROM own_live_leaves v WHERE v.live_id = l.id AND v.leaf = t.id)
           AND (t.is_leaf
                OR NOT EXISTS (SELECT FROM pg_trigger g
                                WHERE g.tgrelid = t.id
                                  AND g.tgname = format('fastclust_live_%s_statement', l.id)))
         ORDER BY l.id, t.id
    LOOP
        live := added.live;
        BEGIN
            PERFORM check_live_isolation(live.name), check_live_tables(live),
                    check_live_scan(live, added.leaf);
            PERFORM write_leaf(live.id, added.leaf, NULL) WHERE added.is_leaf;
            PERFORM set_live_triggers(live.id, added.leaf, true);
            PERFORM count_leaf(live, added.leaf) WHERE added.is_leaf;
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING USING MESSAGE = format('live sketch "%s" no longer matches its table', live.name),
                DETAIL = format('Table %s is not counted: %s.', added.leaf, SQLERRM),
                HINT = repair_hint(live);
        END;
    END LOOP;
END
$$;

-- Calls follow_leaves if there may be live sketches and the caller may use the extension.
--
-- The first test is a single expression (see the top of this file). It casts the name of
-- kept_sketches from text. A literal of type regclass would be looked up before the right to the
-- schema is tested.
CREATE FUNCTION fastclust_owner.live_added() RETURNS event_trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (CASE WHEN has_schema_privilege(to_regnamespace('fastclust_internal')::oid, 'USAGE')
                 THEN pg_relation_size('fastclust_internal.kept_sketches'::text::regclass) > 0
             ELSE false END) THEN
        IF has_schema_privilege('fastclust', 'USAGE')
           AND has_function_privilege('fastclust_internal.follow_leaves()', 'EXECUTE')
           AND has_table_privilege('fastclust_internal.own_live_sketches', 'SELECT') THEN
            PERFORM fastclust_internal.follow_leaves();
        END IF;
    END IF;
END
$$;

CREATE EVENT TRIGGER fastclust_live_added ON ddl_command_end WHEN TAG IN (
    'CREATE TABLE', 'ALTER TABLE', 'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE',
    'CREATE SCHEMA') EXECUTE FUNCTION live_added();
CREATE EVENT TRIGGER fastclust_live_altered ON ddl_command_end WHEN TAG IN (
    'ALTER TABLE', 'ALTER FOREIGN TABLE', 'ALTER TYPE', 'CREATE TRIGGER',
    'ALTER TRIGGER') EXECUTE FUNCTION live_ddl();
CREATE EVENT TRIGGER fastclust_live_dropped ON sql_drop EXECUTE FUNCTION live_ddl();

-- The event triggers are enabled from the start. If keep_sketch enabled them with the first live
-- sketch of the database, it would have to wait for another role that is making the first one.
ALTER EVENT TRIGGER fastclust_live_added ENABLE ALWAYS;      -- like the triggers of tables
ALTER EVENT TRIGGER fastclust_live_altered ENABLE ALWAYS;
ALTER EVENT TRIGGER fastclust_live_dropped ENABLE ALWAYS;

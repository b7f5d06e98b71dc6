
-- live sketches follow partitions and children: what comes is counted, and what goes is counted down, in the transaction of the DDL
--
-- It is exact because ATTACH and DETACH keep writers out of the partition until their transaction ends.  Where they do not
-- (DETACH CONCURRENTLY), or the rows cannot be counted, the live sketch has lost its table until rebuild_sketch.  DDL never fails by it,
-- and waits for nobody: what it has to say are rows of live_deltas, like any other change.

CREATE FUNCTION fastclust_internal.keeps_writers_out(relation regclass) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_keeps_writers_out' LANGUAGE C STRICT;

-- Tables that are counted and no part any more, or the other way round, of live sketches near the tables of the DDL.  Outside of an event
-- trigger it is an error.  Deltas are read of those near alone: whoever has many must not slow the DDL of others.
CREATE FUNCTION fastclust_internal.changed_parts(OUT live_id bigint, OUT part oid, OUT came boolean) RETURNS SETOF record
    LANGUAGE fastclust_owner ROWS 10 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY
        WITH RECURSIVE told AS (SELECT c.objid AS id FROM pg_event_trigger_ddl_commands() c WHERE c.classid = 'pg_class'::regclass),
        near AS (SELECT told.id FROM told UNION SELECT i.inhparent FROM pg_inherits i JOIN told ON i.inhrelid = told.id),
        above AS (SELECT near.id FROM near UNION SELECT i.inhparent FROM pg_inherits i JOIN above ON i.inhrelid = above.id),
        followed AS (SELECT l AS live FROM kept_sketches l
                      WHERE l.relation IN (SELECT above.id FROM above) OR l.parts::oid[] && ARRAY(SELECT near.id FROM near)
                         OR EXISTS (SELECT FROM near JOIN pg_trigger g ON g.tgrelid = near.id AND g.tgfoid = 'live_change()'::regprocedure
                                     WHERE g.tgname = format('fastclust_live_%s_insert', l.id)))
        SELECT (f.live).id, p.id, p.present
          FROM followed f,
               LATERAL (SELECT COALESCE(t.id, c.id) AS id, t.id IS NOT NULL AS present
                          FROM live_tables((f.live).relation) t(id) FULL JOIN counted_tables(f.live) c(id) ON c.id = t.id
                         WHERE t.id IS NULL OR c.id IS NULL) p;
END
$$;

-- Append what came or went with a table.
CREATE FUNCTION fastclust_internal.write_part(live_id bigint, part oid, came boolean, counted live_part[]) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches;
BEGIN
    SELECT * INTO live FROM kept_sketches l WHERE l.id = $1;
    IF live.id IS NULL OR NOT owns_relation(calling_role(), live.relation) THEN
        RAISE insufficient_privilege USING MESSAGE = 'must be owner of the table of the live sketch';
    END IF;
    IF $3 IS DISTINCT FROM (part IN (SELECT t.id FROM live_tables(live.relation) t(id))) OR $3 = (part IN (SELECT c.id FROM counted_tables(live) c(id))) THEN
        RAISE invalid_parameter_value USING MESSAGE = format('table %s does not %s live sketch "%s"', part::regclass, CASE WHEN $3 THEN 'come to' ELSE 'go from' END, live.name);
    END IF;
    PERFORM check_live_parts(live, counted);
    INSERT INTO live_deltas (live_id, came, went) VALUES (live.id, CASE WHEN $3 THEN part END, CASE WHEN NOT $3 THEN part END);
    INSERT INTO live_deltas (live_id, group_value, bucket, added, removed, added_counts, removed_counts)
        SELECT live.id, p.group_value, p.bucket, CASE WHEN $3 THEN p.s END, CASE WHEN NOT $3 THEN p.s END,
               CASE WHEN $3 THEN p.counts END, CASE WHEN NOT $3 THEN p.counts END FROM unnest(counted) p;
END
$$;

-- A table that comes or goes uncounted, told once; true when it had not been told.  Of one that came the parent counts what is written
-- through it, so that it is not made good by going again.
CREATE FUNCTION fastclust_internal.lose_part(live_id bigint) RETURNS boolean
    LANGUAGE fastclust_owner SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    INSERT INTO live_deltas (live_id, lost)
        SELECT c.live_id, format('table %s %s', c.part::regclass, CASE WHEN c.came THEN 'came, and its rows could not be counted'
                                                                            ELSE 'went, and its rows could not be counted down' END)
          FROM changed_parts() c
         WHERE c.live_id = $1 AND told_loss($1) IS NULL ORDER BY c.came, c.part LIMIT 1;
    RETURN FOUND;
END
$$;

-- Followed tables that the DDL takes away, told once: those that became a part of another, or have such a part, and those that a crash may empty from
-- now on.  Has the caller anything to count?  What a role without a right to these functions brings or takes away is lost.
CREATE FUNCTION fastclust_internal.parts_to_follow(caller oid) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    gone record;
BEGIN
    FOR gone IN WITH RECURSIVE told AS (SELECT c.objid AS id FROM pg_event_trigger_ddl_commands() c WHERE c.classid = 'pg_class'::regclass),
                above AS (SELECT told.id FROM told UNION SELECT i.inhparent FROM pg_inherits i JOIN above ON i.inhrelid = above.id)
                SELECT l.id, l.name, l.relation, format('table %s became a part of %s', p.part, p.parent) AS loss,
                       format('%s is a part of %s now, and a statement on that fires none of its triggers.', p.part, p.parent) AS detail,
                       CASE WHEN p.part = l.relation THEN format('Follow %s.', p.parent) ELSE 'A table is followed with its children where these have no parent besides.' END AS hint
                  FROM kept_sketches l, LATERAL live_parent(l.relation) p
                 WHERE p.parent IS NOT NULL AND (l.relation IN (SELECT above.id FROM above)
                       OR EXISTS (SELECT FROM pg_inherits i JOIN told ON i.inhparent = told.id WHERE i.inhrelid = l.relation))
                UNION ALL
                SELECT l.id, l.name, l.relation, format('table %s became unlogged', c.oid::regclass), format('%s is unlogged now: a crash empties it.', c.oid::regclass),
                       'SET LOGGED and rebuild_sketch follow it again.'
                  FROM told JOIN pg_class c ON c.oid = told.id AND c.relpersistence = 'u' JOIN pg_trigger g ON g.tgrelid = c.oid AND g.tgfoid = 'live_change()'::regprocedure
                  JOIN kept_sketches l ON g.tgname = format('fastclust_live_%s_insert', l.id)
                 WHERE c.oid IN (SELECT t.id FROM live_tables(l.relation) t(id)) ORDER BY 1 LOOP
        CONTINUE WHEN told_loss(gone.id) IS NOT NULL;
        INSERT INTO live_deltas (live_id, lost) VALUES (gone.id, gone.loss);
        IF owns_relation(caller, gone.relation) THEN
            RAISE WARNING USING MESSAGE = format('live sketch "%s" has lost its table', gone.name), DETAIL = gone.detail, HINT = gone.hint;
        END IF;
    END LOOP;
    IF has_schema_privilege(caller, '@extschema@', 'USAGE') AND has_schema_privilege(caller, 'fastclust_internal', 'USAGE') THEN
        RETURN EXISTS (SELECT FROM changed_parts());
    END IF;
    PERFORM lose_part(c.live_id) FROM changed_parts() c;
    RETURN false;
END
$$;

-- Count a table that came, or count it down.
CREATE FUNCTION fastclust_internal.count_part(live kept_sketches, part regclass, came boolean) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp
    SET datestyle = iso SET intervalstyle = postgres SET extra_float_digits = 1 SET timezone = 'UTC' AS $$
DECLARE
    same kept_sketches := live;
    counted live_part[];
BEGIN
    same.relation := part;
    PERFORM check_live_tables(same), check_live_scan(live), check_live_scan(same);
    EXECUTE format('SELECT array_agg(ROW(q.*)::live_part) FROM (%s) q', live_scan(live, 'ONLY ' || part)) INTO counted USING live.spec, live.drift_spec;
    IF came THEN
        PERFORM make_live_triggers(live.id, part);
    ELSE
        PERFORM drop_live_triggers(live.id, part);
    END IF;
    PERFORM write_part(live.id, part, came, counted);
END
$$;

-- Of each live sketch whose parts the DDL changed.  alone: no writer was let in meanwhile.
CREATE FUNCTION fastclust_internal.follow_parts(alone boolean) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    changed record;
    live kept_sketches;
    problem text;
BEGIN
    alone := alone AND current_setting('transaction_isolation') IN ('read committed', 'read uncommitted');     -- or rows of others are not seen
    FOR changed IN SELECT c.live_id, bool_and(c.came OR keeps_writers_out(c.part)) AS countable,
                          array_agg(c.part ORDER BY c.part) AS parts, array_agg(c.came ORDER BY c.part) AS came
                     FROM changed_parts() c WHERE NOT c.came OR keeps_writers_out(c.part) GROUP BY 1 ORDER BY 1 LOOP
        SELECT * INTO live FROM own_live_sketches l WHERE l.id = changed.live_id;
        problem := CASE WHEN live.id IS NULL THEN 'it is of another role'
                        WHEN NOT alone OR NOT changed.countable THEN 'others may write it meanwhile' END;
        IF problem IS NULL THEN
            BEGIN
                PERFORM count_part(live, p.id, p.came) FROM unnest(changed.parts, changed.came) p(id, came);
            EXCEPTION WHEN OTHERS THEN
                problem := SQLERRM;
            END;
        END IF;
        IF problem IS NOT NULL AND lose_part(changed.live_id) AND live.id IS NOT NULL THEN
            RAISE WARNING USING MESSAGE = format('live sketch "%s" has lost its table', live.name),
                DETAIL = format('%s %s: %s.', changed.parts[1]::regclass, CASE WHEN changed.came[1] THEN 'came' ELSE 'went' END, problem),
                HINT = 'rebuild_sketch recounts it.';
        END IF;
    END LOOP;
END
$$;

CREATE FUNCTION fastclust_internal.live_partitions() RETURNS event_trigger
    AS 'MODULE_PATHNAME', 'fastclust_live_partitions' LANGUAGE C;
CREATE EVENT TRIGGER fastclust_live_partitions ON ddl_command_end WHEN TAG IN ('CREATE TABLE', 'ALTER TABLE', 'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE', 'CREATE SCHEMA')
    EXECUTE FUNCTION live_partitions();
ALTER EVENT TRIGGER fastclust_live_partitions ENABLE ALWAYS;      -- as the triggers of the tables are


-- Leaves of live sketches, the tables and partitions that hold rows: their columns and triggers,
-- and the reasons why triggers cannot maintain the counts of a leaf

CREATE FUNCTION fastclust_internal.live_change() RETURNS trigger
    AS 'MODULE_PATHNAME', 'fastclust_live_change' LANGUAGE C;
CREATE FUNCTION fastclust_internal.live_pending(live_id bigint) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_live_pending' LANGUAGE C STRICT PARALLEL RESTRICTED;

-- Describes the first change of a leaf's columns since they were recorded. Returns NULL if they
-- have not changed.
CREATE FUNCTION fastclust_internal.column_problem(v live_leaves) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN a.attisdropped IS NOT FALSE
                    THEN format('column "%s" of %s was dropped', u.name, v.leaf)
                WHEN a.attname <> u.name
                    THEN format('column "%s" of %s was renamed to "%s"', u.name, v.leaf, a.attname)
                ELSE format('column "%s" of %s was of type %s', u.name, v.leaf,
                            format_type(u.type, u.typmod)) END
      FROM ROWS
      FROM (unnest(v.names), unnest(v.columns), unnest(v.types), unnest(v.typmods))
               u(name, number, type, typmod)
      LEFT JOIN pg_attribute a ON a.attrelid = v.leaf AND a.attnum = u.number AND u.number > 0
     WHERE a.attisdropped IS NOT FALSE
        OR a.attname <> u.name
        OR a.atttypid <> u.type
        OR a.atttypmod <> u.typmod
     LIMIT 1
$$;

-- Returns the first column that a live sketch reads and that its table does not have. Returns NULL if
-- the table has all columns, or if it was dropped.
CREATE FUNCTION fastclust_internal.missing_column(live kept_sketches) RETURNS name
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT u.name
      FROM unnest(live.columns) WITH ORDINALITY u(name, i)
     WHERE EXISTS (SELECT FROM pg_class c WHERE c.oid = live.relation)
       AND NOT EXISTS (SELECT FROM pg_attribute a
                        WHERE a.attrelid = live.relation AND a.attname = u.name)
     ORDER BY u.i LIMIT 1
$$;

-- Returns the hint for an error about a live sketch that does not match its table. The hint
-- proposes rebuild_sketch only if the table has all columns that the live sketch reads.
CREATE FUNCTION fastclust_internal.repair_hint(live kept_sketches) RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN missing_column(live) IS NULL THEN 'Recount the live sketch with rebuild_sketch.'
                ELSE format('Rename column "%s" back if it was renamed. ', missing_column(live))
                         || CASE WHEN live.model_id IS NULL
                                     THEN 'Or drop the live sketch with drop_sketch, and make it again with keep_sketch.'
                                 ELSE format('Or train the model again with columns that %s has, and the option {"live": true}.',
                                             live.relation) END END
$$;

-- Returns true if keep_sketch gives this name to a trigger of the live sketch.
CREATE FUNCTION fastclust_internal.is_live_trigger(name text, live_id bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT name IN (format('fastclust_live_%s_rows', live_id),
                    format('fastclust_live_%s_statement', live_id),
                    format('fastclust_live_%s_truncate', live_id))
$$;

-- Describes a change of the triggers that keep_sketch made on a leaf, or returns NULL if they are
-- unchanged.
CREATE FUNCTION fastclust_internal.trigger_problem(live_id bigint, leaf regclass) RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN count(DISTINCT k.name) < 3 THEN format('triggers of %s were dropped', leaf)
                WHEN NOT bool_and(g.tgenabled = 'A' AND g.tgqual IS NULL AND g.tgattr = '')
                    THEN format('triggers of %s were disabled', leaf) END
      FROM pg_trigger g
      JOIN (VALUES ('rows', 29), ('statement', 28), ('truncate', 34)) k(name, events)
           ON g.tgname = format('fastclust_live_%s_%s', live_id, k.name) AND g.tgtype = k.events
     WHERE g.tgrelid = leaf
       AND g.tgfoid = 'live_change()'::regprocedure
       AND g.tgconstraint = 0
       AND encode(g.tgargs, 'escape') = format(E'%s\\000', live_id)
$$;

-- Drops the triggers of a live sketch on a table, and makes them again if `made` is true. Triggers
-- on a table of another role are not dropped. They have no effect, because live_change ignores a
-- table that is not a leaf of the live sketch.
--
-- The row triggers of a leaf see all changes of the leaf, even if a statement changes rows through
-- a parent table. The statement trigger fires only on that parent table, and then writes the
-- changes to live_deltas.
CREATE FUNCTION fastclust_internal.set_live_triggers(live_id bigint, relation regclass,
        made boolean)
    RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF made
       AND relation IS NOT NULL
       AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = relation) THEN
        RAISE undefined_table USING
            MESSAGE = format('relation with OID %s does not exist', relation::oid);
    END IF;
    -- A trigger cloned to a partition is dropped with its parent trigger.
    EXECUTE COALESCE((SELECT string_agg(
                                 format('DROP TRIGGER %I ON %s', g.tgname, relation), ';')
                        FROM pg_trigger g
                       WHERE g.tgrelid = relation
                         AND g.tgfoid = 'live_change()'::regprocedure
                         AND is_live_trigger(g.tgname, live_id)
                         AND g.tgparentid = 0
                         AND owns_relation(role_id(current_user), relation)),
                     'SELECT');
    IF made AND live_id IS NOT NULL AND relation IS NOT NULL THEN
        -- ALWAYS: the triggers also fire if session_replication_role is replica, and for a
        -- subscription.
        EXECUTE (SELECT string_agg(
                            format(
                                'CREATE TRIGGER %2$I %3$s ON %1$s FOR EACH %4$s'
                                ' EXECUTE FUNCTION fastclust_internal.live_change(%5$L);',
                                relation, format('fastclust_live_%s_%s', live_id, k.name), k.event,
                                k.level, live_id),
                            '')
                        || format('ALTER TABLE %s %s', relation,
                                  string_agg(
                                      format('ENABLE ALWAYS TRIGGER %I',
                                             format('fastclust_live_%s_%s', live_id, k.name)),
                                      ', '))
                   FROM (VALUES ('statement', 'AFTER INSERT OR UPDATE OR DELETE', 'STATEMENT'),
                                ('rows', 'AFTER INSERT OR UPDATE OR DELETE', 'ROW'),
                                ('truncate', 'BEFORE TRUNCATE', 'STATEMENT')) k(name, event, level)
                  WHERE k.name = 'statement'
                     OR relation_kind(relation) = 'r');
    END IF;
EXCEPTION WHEN object_in_use THEN
    RAISE object_in_use USING
        MESSAGE = format('%s cannot get triggers while a query of this session reads it', relation),
        HINT = 'Compute values from the table, such as a sketch_spec, in an earlier statement, and close cursors on the table.';
END
$$;


-- live sketches: the triggers of their tables

CREATE FUNCTION fastclust_internal.live_change() RETURNS trigger
    AS 'MODULE_PATHNAME', 'fastclust_live_change' LANGUAGE C;

-- A relation with its partitions and children.
CREATE FUNCTION fastclust_internal.live_tables(relation oid) RETURNS SETOF oid
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE tree(id) AS (SELECT c.oid FROM pg_class c WHERE c.oid = relation
                                UNION SELECT i.inhrelid FROM pg_inherits i, tree WHERE i.inhparent = tree.id)
    SELECT id FROM tree
$$;

-- A statement on a table fires none of the triggers of its partitions and children: one of them alone cannot be followed, nor a table that
-- has a child with other parents.
CREATE FUNCTION fastclust_internal.live_parent(relation oid, OUT part regclass, OUT parent regclass)
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT i.inhrelid, i.inhparent FROM live_tables(relation) t(id) JOIN pg_inherits i ON i.inhrelid = t.id
     WHERE i.inhparent NOT IN (SELECT u.id FROM live_tables(relation) u(id)) ORDER BY i.inhrelid <> relation, i.inhrelid, i.inhparent LIMIT 1
$$;

-- The sums of tables that came and tables that went.
CREATE FUNCTION fastclust_internal.tables_after(tables regclass[], came regclass[], went regclass[]) RETURNS regclass[]
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ARRAY(SELECT p.id FROM (SELECT u.id, 1 AS n FROM unnest(tables || came) u(id) UNION ALL SELECT u.id, -1 FROM unnest(went) u(id)) p
                  GROUP BY 1 HAVING sum(p.n) > 0 ORDER BY 1)
$$;

-- Why a live sketch has lost its table, as its deltas tell; NULL: it has not.  By the index, whatever the planner knows of live_deltas:
-- most of them may be another's.
CREATE FUNCTION fastclust_internal.told_loss(live_id bigint) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp SET enable_seqscan = off AS $$
    SELECT d.lost FROM live_deltas d WHERE d.live_id = $1 AND d.lost IS NOT NULL LIMIT 1
$$;

-- The tables that are counted: those of the bases, and what deltas say of tables, by the index again.
CREATE FUNCTION fastclust_internal.counted_tables(live kept_sketches) RETURNS SETOF oid
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp SET enable_seqscan = off AS $$
    SELECT unnest(tables_after(live.parts, array_agg(d.came) FILTER (WHERE d.came IS NOT NULL), array_agg(d.went) FILTER (WHERE d.went IS NOT NULL)))::oid
      FROM live_deltas d WHERE d.live_id = live.id
$$;

-- What has become of the columns; NULL: they are as they were.
CREATE FUNCTION fastclust_internal.live_column_problem(live kept_sketches) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN c.oid IS NULL THEN 'the table is no more'
                WHEN a.attnum IS NULL THEN format('column "%s" of %s is no more', u.name, live.relation)
                ELSE format('column "%s" of %s was of type %s', u.name, live.relation, u.type) END
      FROM ROWS FROM (unnest(live.columns), unnest(live.types)) u(name, type)
      LEFT JOIN pg_class c ON c.oid = live.relation
      LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = u.name AND a.attnum > 0 AND NOT a.attisdropped
     WHERE a.attnum IS NULL OR format_type(a.atttypid, a.atttypmod) <> u.type LIMIT 1
$$;

-- What stands in the way of following the tables, if anything; NULL: each is counted, and nothing else.
CREATE FUNCTION fastclust_internal.live_problem(live kept_sketches) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    problem text := COALESCE(live_column_problem(live), (SELECT format('table %s is a part of %s', p.part, p.parent) FROM live_parent(live.relation) p WHERE p.parent IS NOT NULL));
BEGIN
    IF problem IS NULL THEN
        WITH part AS (SELECT COALESCE(t.id, u.id) AS id, t.id IS NOT NULL AS present, u.id IS NOT NULL AS counted
                        FROM live_tables(live.relation) t(id) FULL JOIN counted_tables(live) u(id) USING (id)),
        made AS (SELECT g.tgrelid AS id, count(*) AS n, bool_and(g.tgenabled = 'A' AND g.tgqual IS NULL) AS enabled
                   FROM pg_trigger g JOIN part ON part.id = g.tgrelid WHERE g.tgfoid = 'live_change()'::regprocedure AND g.tgname ~ format('^fastclust_live_%s_(insert|update|delete|truncate)$', live.id)
                  GROUP BY 1)
        SELECT CASE WHEN part.present IS NOT TRUE AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = id) THEN format('a part of %s was dropped', live.relation)
                    WHEN part.present IS NOT TRUE THEN format('table %s is no part of %s any more', id::regclass, live.relation)
                    WHEN NOT part.counted THEN format('table %s is a new part of %s', id::regclass, live.relation)
                    WHEN COALESCE(made.n, 0) < 4 THEN format('triggers of %s were dropped', id::regclass)
                    ELSE format('triggers of %s were disabled', id::regclass) END
          INTO problem
          FROM part LEFT JOIN made USING (id)
         WHERE part.present IS NOT TRUE OR NOT part.counted OR made.n IS NULL OR made.n < 4 OR NOT made.enabled ORDER BY 1 LIMIT 1;
    END IF;
    RETURN COALESCE(problem, told_loss(live.id));
END
$$;

-- The triggers of a table, or of all; on a table of another role that is no part any more they are left, and do nothing.
CREATE FUNCTION fastclust_internal.drop_live_triggers(live_id bigint, relation oid) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    made record;
BEGIN
    FOR made IN SELECT g.tgname, g.tgrelid::regclass AS id FROM pg_trigger g
                 WHERE g.tgfoid = 'live_change()'::regprocedure AND g.tgname ~ format('^fastclust_live_%s_', live_id)
                   AND (relation IS NULL OR g.tgrelid = relation)
                   AND owns_relation((SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user), g.tgrelid) LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', made.tgname, made.id);
    END LOOP;
END
$$;

-- A statement on a table fires the triggers of that table alone, whosesoever parts the rows are: each has its own.
CREATE FUNCTION fastclust_internal.make_live_triggers(live_id bigint, relation regclass) RETURNS void
    LANGUAGE plpgsql STRICT SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    kind record;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_class c WHERE c.oid = relation) THEN
        RAISE undefined_table USING MESSAGE = format('relation with OID %s does not exist', relation::oid);
    END IF;
    PERFORM drop_live_triggers(live_id, relation);
    FOR kind IN SELECT * FROM (VALUES ('insert', 'AFTER INSERT', 'REFERENCING NEW TABLE AS new_rows'),
                                      ('update', 'AFTER UPDATE', 'REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows'),
                                      ('delete', 'AFTER DELETE', 'REFERENCING OLD TABLE AS old_rows'),
                                      ('truncate', 'BEFORE TRUNCATE', '')) k(name, event, tables) LOOP
        EXECUTE format('CREATE TRIGGER %I %s ON %s %s FOR EACH STATEMENT EXECUTE FUNCTION fastclust_internal.live_change(%L)',
                       format('fastclust_live_%s_%s', live_id, kind.name), kind.event, relation, kind.tables, live_id);
        -- where session_replication_role is replica, too
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', relation, format('fastclust_live_%s_%s', live_id, kind.name));
    END LOOP;
EXCEPTION WHEN object_in_use THEN
    RAISE object_in_use USING MESSAGE = format('%s cannot get triggers while a query of this session reads it', relation),
        HINT = 'Make what is read of it, such as a sketch_spec, in a statement before; close cursors on it.';
END
$$;

-- Why a part that is truncated cannot be counted down by its owner, if it cannot: he does not see its rows, or code of the table's owner would run as him.
CREATE FUNCTION fastclust_internal.truncation_problem(live_id bigint, part oid) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN p.relrowsecurity AND p.relforcerowsecurity AND NOT (o.rolsuper OR o.rolbypassrls)
                    THEN format('table %s was truncated, rows of which row-level security hides from its owner', p.oid::regclass)
                WHEN NOT has_schema_privilege(o.oid, '@extschema@', 'USAGE') OR NOT has_schema_privilege(o.oid, 'fastclust_internal', 'USAGE')
                    THEN format('table %s was truncated, whose owner may not use fastclust', p.oid::regclass)
                WHEN (o.oid <> r.relowner OR o.rolsuper) AND uses_foreign_code(p.oid, o.rolname)
                    THEN format('table %s was truncated, which uses what belongs to another role', p.oid::regclass)
                WHEN o.oid <> r.relowner OR o.rolsuper THEN format('table %s was truncated: ', p.oid::regclass) || foreign_type_problem(p.oid, l.columns, o.rolname) END
      FROM kept_sketches l JOIN pg_class r ON r.oid = l.relation, pg_class p JOIN pg_roles o ON o.oid = p.relowner
     WHERE l.id = live_id AND p.oid = part
$$;

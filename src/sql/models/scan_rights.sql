
-- Rights of a scan: whose code a scan may run. Trainings and checks of drift test this before they
-- read a table.

-- Raises an error if the caller may not execute any function of this name in schema fastclust.
-- Without this check, a role could do the same work through an internal function.
CREATE FUNCTION fastclust_internal.check_execute(caller oid, function name) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_proc p
                    WHERE p.pronamespace = 'fastclust'::regnamespace
                      AND p.proname = function
                      AND has_function_privilege(caller, p.oid, 'EXECUTE')) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('permission denied for function %s', function);
    END IF;
END
$$;

-- internal: returns true if the role is the current user or a superuser, so that no other role can
-- change its objects.
CREATE FUNCTION fastclust_internal.is_trusted_owner(role oid) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.rolsuper OR r.rolname = current_user FROM pg_roles r
     WHERE r.oid = CASE pg_get_userbyid(role)
                        WHEN 'pg_database_owner' THEN (SELECT d.datdba FROM pg_database d
                                                        WHERE d.datname = current_database())
                        ELSE role END
$$;

-- Describes the code of another role that might run when columns of a relation are read or when the
-- read is planned. Returns NULL if only code of the caller or of superusers can run.
--
-- The query `code` has the objects on which the relation and its children depend: the query of a
-- view, indexes, check constraints, statistics, and the partition keys of the relation and of its
-- ancestors. The owner of the schema matters, too, because it could put another table under the
-- name between two scans.
--
-- The query `cell` has the types of the columns, with their element and base types. A cast runs
-- code of the type's owner, who may also have put the column's name into a stored row.
--
-- A name does not identify a table: after DROP or RENAME, another role may have made a relation of
-- that name. The relation is only scanned if it belongs to the same role as at the training, or if
-- the caller trusts its owner.
--
-- named: true if the caller passed the relation. Then only the columns come from the stored row,
-- which another role may have written.
CREATE FUNCTION fastclust_internal.scan_problem(relation regclass, columns name[],
        named boolean DEFAULT false)
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH RECURSIVE code(class, id) AS (
                       SELECT 'pg_class'::regclass::oid, relation::oid
                       UNION
                       SELECT u.class, u.id
                         FROM code,
                              LATERAL (
                                  SELECT 'pg_class'::regclass::oid, i.inhrelid FROM pg_inherits i
                                   WHERE i.inhparent = code.id
                                  UNION ALL
                                  SELECT d.refclassid, d.refobjid
                                    FROM (SELECT r.tableoid, r.oid
                                            FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid
                                           WHERE c.oid = code.id AND c.relkind = 'v'
                                          UNION ALL
                                          SELECT 'pg_class'::regclass, x.indexrelid FROM pg_index x
                                           WHERE x.indrelid = code.id
                                          UNION ALL
                                          SELECT o.tableoid, o.oid FROM pg_constraint o
                                           WHERE o.conrelid = code.id AND o.contype = 'c'
                                          UNION ALL
                                          SELECT s.tableoid, s.oid FROM pg_statistic_ext s
                                           WHERE s.stxrelid = code.id
                                          UNION ALL
                                          SELECT 'pg_class'::regclass, a.relid
                                            FROM pg_partition_ancestors(code.id) a
                                            JOIN pg_partitioned_table p ON p.partrelid = a.relid)
                                             e(class, id)
                                    JOIN pg_depend d
                                         ON d.classid = e.class
                                            AND d.objid = e.id
                                            AND d.objsubid = 0
                                   WHERE e.class <> 'pg_class'::regclass
                                      OR d.refclassid <> 'pg_class'::regclass) u(class, id)
                        WHERE code.class = 'pg_class'::regclass),
         owned(class, id, owner) AS (SELECT tableoid, oid, relowner FROM pg_class
                                     UNION ALL
                                     SELECT tableoid, oid, proowner FROM pg_proc
                                     UNION ALL
                                     SELECT tableoid, oid, oprowner FROM pg_operator
                                     UNION ALL
                                     SELECT tableoid, oid, typowner FROM pg_type),
         cell(attname, id) AS (
             SELECT a.attname, a.atttypid FROM pg_attribute a
              WHERE a.attrelid = relation AND a.attname = ANY (columns)
             UNION
             SELECT cell.attname, u.id
               FROM cell JOIN pg_type t ON t.oid = cell.id,
                    unnest(ARRAY[t.typbasetype,
                                 CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END]) u(id)
              WHERE u.id <> 0)
    SELECT CASE WHEN NOT named
                     AND NOT EXISTS (SELECT FROM pg_class c
                                      WHERE c.oid = relation AND is_trusted_owner(c.relowner))
                    THEN format('relation %s belongs to another role', relation)
                WHEN NOT named
                     AND EXISTS (SELECT FROM code JOIN owned USING (class, id)
                                  WHERE is_trusted_owner(owned.owner) IS NOT TRUE)
                    THEN format('relation %s uses objects of another role', relation)
                WHEN NOT named
                     AND NOT EXISTS (SELECT
                                       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                                      WHERE c.oid = relation AND is_trusted_owner(n.nspowner))
                    THEN format('the schema of %s belongs to another role', relation)
                ELSE (SELECT format('column "%s" of %s is of a type that is not built in',
                                    cell.attname, relation)
                        FROM cell JOIN pg_type t ON t.oid = cell.id
                       WHERE t.typnamespace <> 'pg_catalog'::regnamespace
                         AND NOT (t.typtype IN ('b', 'd', 'e') AND is_trusted_owner(t.typowner))
                       LIMIT 1) END
$$;

-- Returns a text that describes the owner of a relation if this is not the role `before`. Returns
-- NULL if the owner is the same, or if the caller trusts the owner. The relation must be locked
-- (locked_relation): otherwise the name could belong to another relation when it is read.
CREATE FUNCTION fastclust_internal.owner_problem(relation regclass, before role_name)
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT format('relation %s belongs to %s now, and belonged to %s before', relation,
                  pg_get_userbyid(o.owner), COALESCE(before::text, 'no role'))
      FROM (SELECT relation_owner(relation)) o(owner)
     WHERE o.owner IS DISTINCT FROM role_id(before) AND is_trusted_owner(o.owner) IS NOT TRUE
$$;

-- Raises an error if a scan for a stored model could read a table that the model's owner may not
-- read, or run another role's code. The names in a stored row may lead to such tables or code
-- through a view, a column type or an index predicate that the planner evaluates. For a model of
-- another role, the caller scans only tables that the owner of the model may read in full, whose
-- columns have built-in types, and that run no other role's code.
--
-- named: true if the caller passed the relation. Then only the columns come from the stored row,
-- which another role may have written. A superuser who does not name the relation may scan only a
-- table whose owner is trusted (is_trusted_owner), even for its own model: another owner may have
-- replaced the table by a view.
CREATE FUNCTION fastclust_internal.check_stored_scan(stored stored_models, version stored_versions,
        relation regclass, columns name[], named boolean)
    RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    -- true if the caller itself chose the relation: the model is the caller's, and was trained by
    -- the caller or a superuser
    own boolean := COALESCE(stored.owner_id = role_id(current_user)
                            AND is_trusted_owner(version.trained_by_id),
                            false);
    may_be_owner boolean := EXISTS (SELECT FROM pg_roles r
                                     WHERE r.oid = stored.owner_id AND pg_has_role(r.oid, 'USAGE'));
    read_columns name[] := columns || ARRAY[(version.options ->> 'row_weight')::name,
                                              (version.options ->> 'unit')::name];
    problem text := CASE WHEN NOT own
                              OR (NOT named AND is_superuser(role_id(current_user)))
                             THEN scan_problem(relation, read_columns, named)
                         WHEN NOT named
                             THEN owner_problem(relation, version.relation_owner) END;
    class pg_class;
BEGIN
    IF NOT own AND named IS NOT TRUE THEN
        SELECT * INTO class FROM pg_class c WHERE c.oid = relation;
        problem := CASE WHEN class.relkind NOT IN ('r', 'p', 'm')
                            THEN format('relation %s is not a table', relation)
                        WHEN class.relrowsecurity
                            THEN format('table %s has row-level security', relation)
                        WHEN NOT EXISTS (
                                 SELECT FROM pg_roles r
                                  WHERE r.oid = stored.owner_id
                                    AND has_schema_privilege(r.oid, class.relnamespace, 'USAGE')
                                    AND (has_table_privilege(r.oid, class.oid, 'SELECT')
                                         OR (SELECT bool_and(has_column_privilege(
                                                                 r.oid, class.oid, f, 'SELECT'))
                                               FROM unnest(read_columns) f
                                              WHERE f IS NOT NULL)))
                            THEN format('role %s may not read %s', stored.owner, relation)
                        ELSE problem END;
    END IF;
    IF problem IS NOT NULL THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('rows for model "%s" of %s cannot be read by %s', stored.model,
                             stored.owner, current_user),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.',
            -- SET ROLE to the owner would not protect the caller, because code of the owner can
            -- RESET ROLE.
            HINT = CASE WHEN own
                             OR (NOT may_be_owner AND NOT named
                                 AND is_superuser(role_id(current_user)))
                            THEN format('Name the table if you trust its owner: relation => %L, or for retrain its option: {"relation": %s}.',
                                        relation, to_json(relation::text))
                        WHEN may_be_owner
                            THEN format('Log in as %I: after SET ROLE, code of that role could use your rights.',
                                        stored.owner)
                                 || CASE WHEN named THEN ''
                                         ELSE format(' To read rows without a training, name the table if you trust its owner: relation => %L.',
                                                     relation) END
                        WHEN named
                            THEN 'Name a view of your own that casts the column to a type of PostgreSQL.'
                        ELSE format('Name the table if you trust its owner: relation => %L.', relation) END;
    END IF;
END
$$;


-- Labels: clusters of the rows of a relation, written to a table

-- Inserts the result rows of a query over a relation into the target, and returns their number.
-- `vectors` is NULL, or the same query with vectors in place of clusters. If the target is a table
-- with the same columns, this query is run instead, and the vectors are labelled in batches by the
-- model.
CREATE FUNCTION fastclust_internal.write_rows(model text, target regclass, query text,
        vectors text, model_id bigint, relation regclass)
    RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_write_rows' LANGUAGE C;

-- Returns the columns of the primary key of a relation, or NULL if there is none.
CREATE FUNCTION fastclust_internal.primary_key(relation regclass) RETURNS name[]
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT array_agg(a.attname ORDER BY u.i)
      FROM pg_index x
     CROSS JOIN unnest(x.indkey) WITH ORDINALITY u(attnum, i)
      JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = u.attnum
     WHERE x.indrelid = relation AND x.indisprimary AND u.i <= x.indnkeyatts
$$;

-- Returns the columns that identify the row of a label: the columns in option key, else the primary
-- key.
CREATE FUNCTION fastclust_internal.label_keys(relation regclass, options jsonb) RETURNS name[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    primary_key name[] := primary_key(relation);
    keys name[] := CASE jsonb_typeof(options -> 'key')
                        WHEN 'array'
                            THEN ARRAY(SELECT k FROM jsonb_array_elements_text(options -> 'key') k)
                        WHEN 'string' THEN CASE WHEN options ->> 'key' LIKE '{%'
                                                    THEN (options ->> 'key')::name[]
                                                ELSE ARRAY[options ->> 'key'] END
                        ELSE primary_key END;
    twice name := (SELECT k
                     FROM unnest(keys
                                 || 'cluster'::name
                                 || CASE WHEN flag_option(options, 'name')
                                             THEN 'cluster_name'::name END
                                 || CASE WHEN flag_option(options, 'distance')
                                             THEN 'distance'::name END) k
                    GROUP BY k
                   HAVING count(k) > 1
                    ORDER BY k LIMIT 1);
BEGIN
    IF keys IS NULL THEN
        RAISE undefined_object USING MESSAGE = format('%s has no primary key', relation),
            HINT = CASE WHEN flag_option(options, 'follow')
                             AND relation_kind(relation) NOT IN ('r', 'p')
                            THEN 'Option "follow" needs a primary key, which only a table has: pass the table that the view reads. Or leave out the option, and name columns in the option key: {"key": ["..."]}.'
                        WHEN flag_option(options, 'follow')
                            THEN 'Option "follow" needs a primary key: add one, or leave out the option and name columns in the option key: {"key": ["..."]}.'
                        ELSE 'Name columns that identify rows in the option key: {"key": ["..."]}.' END;
    ELSIF keys = '{}' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'option "key" must name at least one column';
    ELSIF twice IS NOT NULL THEN
        RAISE duplicate_column USING
            MESSAGE = format('column "%s" of the labels is named twice', twice),
            HINT = 'Name other columns in the option "key", or rename the column in a view.';
    ELSIF flag_option(options, 'follow') AND keys IS DISTINCT FROM primary_key THEN
        RAISE feature_not_supported USING
            MESSAGE = format('option "follow" needs the primary key of %s as key', relation),
            HINT = CASE WHEN primary_key IS NULL AND relation_kind(relation) NOT IN ('r', 'p')
                            THEN 'Pass the table that the view reads. Or leave out option "follow", and write the labels again with option "replace".'
                        WHEN primary_key IS NULL
                            THEN 'Add a primary key. Or leave out option "follow", and write the labels again with option "replace".'
                        ELSE 'Leave out option "key". Or leave out option "follow", and write the labels again with option "replace".' END;
    END IF;
    RETURN keys;
END
$$;

-- Returns a query with one result row for each row of the relation: its key, its cluster and, if
-- the options request them, the name of the cluster and the distance. Also returns `vectors`, the
-- same query with vectors in place of clusters, for labelling in batches. `vectors` is NULL if rows
-- cannot be labelled in batches.
CREATE FUNCTION fastclust_internal.label_query(version stored_versions, relation regclass,
        keys name[], options jsonb, OUT query text, OUT vectors text)
    AS 'MODULE_PATHNAME', 'fastclust_label_query' LANGUAGE C STABLE STRICT
    SET search_path FROM CURRENT;

-- ---- label tables that are updated when their model changes ----

CREATE TABLE fastclust_internal.label_tables (
    model_id bigint NOT NULL REFERENCES stored_models ON DELETE CASCADE,
    target text NOT NULL,    -- qualified and quoted, like relation
    target_owner role_name NOT NULL,    -- owner of the target when it was written
    relation text NOT NULL,
    options jsonb NOT NULL,    -- options of write_labels
    followed_by role_name NOT NULL,    -- role that wrote the labels
    followed_by_id oid GENERATED ALWAYS AS (role_id(followed_by)) STORED,
    PRIMARY KEY (model_id, target));
SELECT pg_catalog.pg_extension_config_dump('label_tables', '');
CREATE VIEW fastclust_internal.own_label_tables WITH (security_barrier) AS
    SELECT l.* FROM own_models m JOIN label_tables l ON l.model_id = m.id;
GRANT SELECT ON own_label_tables TO PUBLIC;

-- Records that the label table is updated when the model changes. If options is NULL, deletes the
-- record.
CREATE FUNCTION fastclust_internal.write_follower(model_id bigint, target text, relation text,
        options jsonb)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.write_follower(model_id bigint, target text, relation text,
        options jsonb, caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model_id, NULL, false, caller);
BEGIN
    DELETE FROM label_tables l WHERE l.model_id = stored.id AND l.target = $2;
    IF options IS NOT NULL THEN
        INSERT INTO label_tables (model_id, target, target_owner, relation, options, followed_by)
        VALUES (stored.id, $2, owner_of($2), $3, $4, pg_get_userbyid(caller));
    END IF;
END
$$;

-- Returns the reason why the caller may not update a label table, or NULL if there is none.
CREATE FUNCTION fastclust_internal.label_problem(follower label_tables, target regclass)
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN is_trusted_owner(follower.followed_by_id) IS NOT TRUE
                    THEN format('they were written by role %s', follower.followed_by)
                WHEN is_superuser(role_id(current_user)) THEN scan_problem(target, NULL)
                ELSE owner_problem(target, follower.target_owner) END
$$;

-- Raises a WARNING that a label table could not be updated, with a hint how to update it by hand.
CREATE FUNCTION fastclust_internal.warn_not_updated(message text) RETURNS void
    LANGUAGE plpgsql STRICT SET search_path FROM CURRENT AS $$
BEGIN
    RAISE WARNING USING
        MESSAGE = $1,
        HINT = 'Write the labels again by write_labels with the option "replace"; with "follow": false, they are no longer updated.';
END
$$;

-- Updates the label tables of a model to its current version: updates labels that changed, adds
-- labels of new rows, and removes labels of deleted rows. The function runs with the rights of the
-- caller, so the tables must have been written by the caller or by a superuser. If a table cannot
-- be updated, raises a WARNING. If a table no longer exists, deletes its record and says so in a
-- WARNING.
CREATE FUNCTION fastclust_internal.update_labels(model_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off AS $$
DECLARE
    stored stored_models := (SELECT m FROM own_models m WHERE m.id = model_id);
    follower label_tables;
    version stored_versions;
    target regclass;
    problem text;
    relation regclass;
    keys name[];
BEGIN
    FOR follower IN SELECT l.* FROM own_label_tables l WHERE l.model_id = $1 ORDER BY l.target LOOP
        BEGIN
            target := to_regclass(follower.target);
            IF is_trusted_owner(follower.followed_by_id) THEN
                target := locked_relation(target);
            END IF;
            IF target IS NULL THEN
                PERFORM write_follower($1, follower.target, NULL, NULL);
                RAISE WARNING USING
                    MESSAGE = format('labels in %s are no longer updated: the table does not exist',
                                     follower.target),
                    HINT = 'If it was renamed, write its labels again by write_labels with {"replace": true, "follow": true}.';
                CONTINUE;
            END IF;
            version := largest_group(stored);
            version.relation := follower.relation;
            relation := scanned_relation(stored, version, NULL, stored.group_by);
            problem := label_problem(follower, target);
            IF problem IS NOT NULL THEN
                RAISE insufficient_privilege USING MESSAGE = problem;
            END IF;
            keys := label_keys(relation, follower.options);
            EXECUTE (
                SELECT format($query$
                    WITH changed AS MATERIALIZED (
                             SELECT %1$s, %2$s, f IS NULL AS "is gone", l IS NULL AS "is new"
                               FROM (%3$s) f FULL JOIN %4$s l ON %5$s
                              WHERE %6$s),
                         updated AS (
                             UPDATE %4$s l SET %7$s FROM changed c
                              WHERE NOT c."is gone" AND NOT c."is new" AND %8$s),
                         removed AS (
                             DELETE FROM %4$s l USING changed c WHERE c."is gone" AND %8$s)
                    INSERT INTO %4$s (%9$s) SELECT %9$s FROM changed c WHERE c."is new" $query$,
                    string_agg(format('COALESCE(f.%1$I, l.%1$I) AS %1$I', u.name), ', ')
                        FILTER (WHERE u.is_key),
                    string_agg(format('f.%I', u.name), ', ') FILTER (WHERE NOT u.is_key),
                    (label_query(version, relation, keys, follower.options)).query,
                    target,
                    string_agg(format('f.%1$I = l.%1$I', u.name), ' AND ')
                        FILTER (WHERE u.is_key),
                    string_agg(format('f.%1$I IS DISTINCT FROM l.%1$I', u.name), ' OR '),
                    string_agg(format('%1$I = c.%1$I', u.name), ', ')
                        FILTER (WHERE NOT u.is_key),
                    string_agg(format('l.%1$I = c.%1$I', u.name), ' AND ')
                        FILTER (WHERE u.is_key),
                    string_agg(format('%I', u.name), ', '))
                  FROM (SELECT k AS name, true AS is_key FROM unnest(keys) k
                        UNION ALL
                        SELECT o.name, false
                          FROM (VALUES
                                ('cluster', true),
                                ('cluster_name', flag_option(follower.options, 'name')),
                                ('distance', flag_option(follower.options, 'distance')))
                               o(name, wanted)
                         WHERE o.wanted) u);
        EXCEPTION
            WHEN transaction_rollback THEN
                RAISE;
            WHEN OTHERS THEN
                PERFORM warn_not_updated(
                    format('labels in %s could not be updated to the current version of model "%s": %s',
                           follower.target, stored.model, SQLERRM));
        END;
    END LOOP;
END
$$;

-- Updates the names of clusters in the label tables of a model. If the model has groups, updates
-- all labels instead, because a label table may not show which group a row belongs to. If a table
-- cannot be updated, raises a WARNING.
CREATE FUNCTION fastclust_internal.update_names(model_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := (SELECT m FROM own_models m WHERE m.id = model_id);
    follower label_tables;
    target regclass;
    problem text;
BEGIN
    FOR follower IN
        SELECT l.* FROM own_label_tables l
         WHERE l.model_id = $1 AND flag_option(l.options, 'name')
         ORDER BY l.target
    LOOP
        IF stored.group_by IS NOT NULL THEN
            PERFORM update_labels($1);
            EXIT;
        END IF;
        BEGIN
            target := to_regclass(follower.target);
            IF is_trusted_owner(follower.followed_by_id) THEN
                target := locked_relation(target);
            END IF;
            CONTINUE WHEN target IS NULL;
            problem := label_problem(follower, target);
            IF problem IS NOT NULL THEN
                RAISE insufficient_privilege USING MESSAGE = problem;
            END IF;
            EXECUTE format($query$
                UPDATE %s l SET cluster_name = n.name FROM fastclust.model_clusters n
                 WHERE n.model = $1
                   AND l.cluster = n.cluster
                   AND l.cluster_name IS DISTINCT FROM n.name $query$,
                           target)
                USING stored.model;
        EXCEPTION
            WHEN transaction_rollback THEN
                RAISE;
            WHEN OTHERS THEN
                PERFORM warn_not_updated(
                    format('names in %s could not be updated to those of model "%s": %s',
                           follower.target, stored.model, SQLERRM));
        END;
    END LOOP;
END
$$;

CREATE FUNCTION fastclust.name_cluster(model text, cluster integer, name text,
        group_value text DEFAULT NULL)
    RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM fastclust_internal.name_cluster($1, $2, $3, $4);
    PERFORM update_names((SELECT m.id FROM own_models m WHERE m.model = $1));
END
$$;
COMMENT ON FUNCTION fastclust.name_cluster IS
    'Names a cluster of a model, or of one of its groups. A NULL name removes the name, so that '
    'a suggested one is shown. Names stay with their clusters when the model is retrained.';

CREATE FUNCTION fastclust.use_version(model text, version integer) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    chosen stored_models := at_version(locked_model($1, true), $2);
BEGIN
    PERFORM serve_version(chosen.id, chosen.version, NULL), update_labels(chosen.id);
END
$$;
COMMENT ON FUNCTION fastclust.use_version IS
    'Makes another version current, which predict then uses: an old one, or a candidate.';

-- ---- write_labels ----

-- Returns the options, extended by `name` and `distance`: each is true if an existing target has a
-- column for it that is not part of the key and that the caller may fill. Options that were given
-- keep their values.
CREATE FUNCTION fastclust_internal.options_of_target(target regclass, keys name[], options jsonb)
    RETURNS jsonb
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT COALESCE(jsonb_object_agg(o.option, true), '{}') || options
      FROM (VALUES ('name', 'cluster_name'::name, 'text'::regtype),
                   ('distance', 'distance', 'float8')) o(option, name, type)
      JOIN pg_attribute a
           ON a.attrelid = target
              AND a.attname = o.name
              AND a.atttypid = o.type
              AND a.attgenerated = ''
              AND NOT a.attisdropped
              AND has_column_privilege(target, a.attnum, 'INSERT')
     WHERE o.name <> ALL (keys)
$$;

-- Returns true if the rows of a target must have different keys, and the caller may read the keys.
-- Returns false if labels are appended to a target that has further columns, such as a time,
-- because keys may then repeat.
CREATE FUNCTION fastclust_internal.has_checked_key(target regclass, keys name[], options jsonb)
    RETURNS boolean
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT count(*) FILTER (WHERE a.attname = ANY (keys)
                              AND has_column_privilege(target, a.attnum, 'SELECT'))
               = cardinality(keys)
           AND NOT (flag_option(options, 'append')
                    AND bool_or(a.attname <> ALL (keys || '{cluster,cluster_name,distance}'::name[])))
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE c.oid = target AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
$$;

-- Raises an error if the target has a row with the key of a row of the query. The error names the
-- key that is the first as a text. INTERSECT takes the default equality of the type, such as that
-- of citext, which the operator = on the search_path may not be. A join with LIMIT 1 would also
-- take quadratic time: the planner would expect an early match and choose nested loops, but usually
-- there is no match. Rows whose keys are all NULL are not compared: a unique index allows several.
CREATE FUNCTION fastclust_internal.reject_labelled(target regclass, keys name[], query text)
    RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    found text;
BEGIN
    EXECUTE (
        SELECT format('SELECT min(concat_ws($separator$, $separator$, %s) COLLATE "C") FROM (SELECT %s FROM (%s) f INTERSECT SELECT %s FROM %s l WHERE num_nonnulls(%4$s) > 0) labelled',
                      string_agg(format('COALESCE(left(labelled.%I::text, 100), $null$NULL$null$)',
                                        a.attname), ', ' ORDER BY u.i),
                      string_agg(format('f.%1$I::%2$s%3$s AS %1$I', a.attname,
                                        format_type(a.atttypid, a.atttypmod),
                                        ' COLLATE ' || NULLIF(a.attcollation, 0)::regcollation),
                                 ', ' ORDER BY u.i),
                      query,
                      string_agg(format('l.%I', a.attname), ', ' ORDER BY u.i),
                      target)
          FROM unnest(keys) WITH ORDINALITY u(name, i)
          JOIN pg_attribute a
               ON a.attrelid = target AND a.attname = u.name AND NOT a.attisdropped)
        INTO found;
    IF found IS NOT NULL THEN
        RAISE unique_violation USING
            MESSAGE = format('%s already has a label of the row with key (%s) = (%s)', target,
                             (SELECT string_agg(k, ', ' ORDER BY i)
                                FROM unnest(keys) WITH ORDINALITY u(k, i)),
                             found),
            HINT = 'To write the labels again, use option "replace" in place of "append". To add only new rows, select them with option "where".';
    END IF;
EXCEPTION
    WHEN undefined_function OR cannot_coerce OR feature_not_supported THEN
        NULL;    -- a type without an operator for equality, or a join that Citus does not support
END
$$;

-- Raises an error if two of the n written rows have the same key. For n above 200,000, checks only
-- a random sample of the target's pages, with about 100,000 rows. Otherwise checks all rows of the
-- query, or all rows of the target if the query is NULL.
CREATE FUNCTION fastclust_internal.reject_repeated(target regclass, keys name[], query text,
        n bigint)
    RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    found text;
BEGIN
    EXECUTE (
        SELECT format('SELECT concat_ws($separator$, $separator$, %s) FROM %s GROUP BY %s HAVING count(*) > 1 LIMIT 1',
                      string_agg(format('COALESCE(left(l.%I::text, 100), $null$NULL$null$)', k),
                                 ', ' ORDER BY i),
                      CASE WHEN n > 200000
                               THEN format('%s l TABLESAMPLE system (%s) REPEATABLE (0)', target,
                                           1e7 / n)
                           ELSE COALESCE('(' || query || ') l', target || ' l') END,
                      string_agg(format('l.%I', k), ', '))
          FROM unnest(keys) WITH ORDINALITY u(k, i))
        INTO found;
    IF found IS NOT NULL THEN
        RAISE unique_violation USING
            MESSAGE = format('option "key" names columns that do not identify a row: several rows have (%s) = (%s)',
                             (SELECT string_agg(k, ', ' ORDER BY i)
                                FROM unnest(keys) WITH ORDINALITY u(k, i)),
                             found),
            HINT = 'Name columns that identify a row together: {"key": ["...", "..."]}.';
    END IF;
EXCEPTION
    WHEN undefined_function OR feature_not_supported THEN
        NULL;    -- a type without an operator for equality, or a query that Citus does not support
END
$$;

-- Returns true if the columns `keys` cannot have the same values in two rows of the relation,
-- because they are its primary key or include all columns of a unique index. Rows of inheritance
-- children are not considered.
CREATE FUNCTION fastclust_internal.is_unique_key(relation regclass, keys name[]) RETURNS boolean
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT COALESCE(keys = primary_key(relation), false)
           OR EXISTS (SELECT FROM pg_index x
                       WHERE x.indrelid = relation
                         AND x.indisunique AND x.indisvalid
                         AND x.indpred IS NULL AND x.indexprs IS NULL
                         AND ARRAY(SELECT a.attname
                                     FROM unnest(x.indkey) WITH ORDINALITY u(attnum, i)
                                     JOIN pg_attribute a
                                          ON a.attrelid = relation AND a.attnum = u.attnum
                                    WHERE u.i <= x.indnkeyatts) <@ keys)
$$;

-- Does the work of write_labels, once the name of the target is resolved.
CREATE FUNCTION fastclust_internal.label_rows(model text, relation regclass, target text,
        options jsonb)
    RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off AS $$
DECLARE
    stored stored_models := readable_model(model);
    version stored_versions;
    scanned regclass;
    keys name[];
    texts record;
    existing regclass := to_regclass(target);
    added text;    -- query of the rows that are appended, without names and distances
    written bigint;
BEGIN
    PERFORM reject_read_only('labels cannot be written'),
            check_training_options(options, 'write_labels');
    IF flag_option(options, 'follow') THEN
        -- The lock prevents a new version between these labels and their first update.
        stored := locked_model(model, true);
    END IF;
    version := largest_group(stored);
    scanned := scanned_relation(stored, version, relation, stored.group_by);
    keys := label_keys(scanned, options);
    IF existing IS NOT NULL THEN
        options := options_of_target(existing, keys, options);
    END IF;
    texts := label_query(version, scanned, keys, options);
    -- Create the target, empty it, or append to it.
    IF flag_option(options, 'append')
       AND (flag_option(options, 'replace') OR flag_option(options, 'follow')) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('options "append" and "%s" exclude each other',
                             CASE WHEN flag_option(options, 'replace') THEN 'replace'
                                  ELSE 'follow' END);
    ELSIF flag_option(options, 'follow') AND target LIKE 'pg_temp.%' THEN
        RAISE feature_not_supported USING MESSAGE = 'a temporary table cannot follow a model',
            HINT = 'Use a permanent table as target.';
    ELSIF existing = scanned THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('labels of %s cannot be written into itself', scanned),
            HINT = 'Use another table as target.';
    ELSIF existing IS NULL THEN
        EXECUTE format('CREATE TABLE %s AS %s WITH NO DATA', target, texts.query);
        existing := target;
        -- Replication needs a primary key. A parent of tables may have rows with equal keys.
        IF keys = primary_key(scanned)
           AND NOT (SELECT c.relkind = 'r' AND c.relhassubclass FROM pg_class c
                     WHERE c.oid = scanned) THEN
            EXECUTE format('ALTER TABLE %s ADD PRIMARY KEY (%s)', target,
                           (SELECT string_agg(format('%I', k), ', ' ORDER BY i)
                              FROM unnest(keys) WITH ORDINALITY u(k, i)));
        END IF;
    ELSIF flag_option(options, 'replace') THEN
        EXECUTE format(CASE WHEN EXISTS (SELECT FROM pg_class c
                                          WHERE c.oid = existing
                                            AND (c.relkind NOT IN ('r', 'p') OR c.relhastriggers))
                                THEN 'DELETE FROM %s'
                            ELSE 'TRUNCATE %s' END,
                       target);
    ELSIF NOT flag_option(options, 'append') THEN
        RAISE duplicate_table USING MESSAGE = format('relation %s exists already', target),
            HINT = 'Use option "replace" to empty the table first, or "append" to add rows to it.';
    ELSIF has_checked_key(existing, keys, options) THEN
        added := (label_query(version, scanned, keys,
                              options || '{"name": false, "distance": false}')).query;
        PERFORM reject_labelled(existing, keys, added);
    END IF;
    written := write_rows(stored.model, existing, texts.query, texts.vectors, stored.id, scanned);
    IF written = 0 AND version.options ? 'where' AND NOT options ? 'where' THEN
        RAISE NOTICE USING
            MESSAGE = format('no row of %s meets the condition of model "%s": %s', scanned,
                             stored.model, version.options ->> 'where'),
            HINT = 'Option "where" replaces this condition: {"where": "true"} labels all rows.';
    END IF;
    IF has_checked_key(existing, keys, options) AND NOT is_unique_key(scanned, keys) THEN
        PERFORM reject_repeated(existing, keys, added, written);
    END IF;
    IF options ? 'follow' THEN
        -- The condition is stored with names and dates resolved, because other sessions will read
        -- it.
        PERFORM write_follower(
                    stored.id, format('%s', existing), r.relation_name,
                    CASE WHEN flag_option(options, 'follow')
                             THEN options
                                  || jsonb_strip_nulls(
                                         jsonb_build_object('where', r.condition)) END)
          FROM row_expressions(scanned, version.features, version.vector, NULL, NULL,
                               options ->> 'where') r;
    END IF;
    RETURN written;
END
$$;

CREATE FUNCTION fastclust.write_labels(model text, relation regclass, target text,
        options jsonb DEFAULT '{}')
    RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_write_labels' LANGUAGE C;
COMMENT ON FUNCTION fastclust.write_labels IS
    'Writes the key and the cluster of each row of a relation to a table, which is created if it '
    'does not exist. Returns the number of rows.';

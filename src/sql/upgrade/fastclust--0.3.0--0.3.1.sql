\echo Use "ALTER EXTENSION fastclust UPDATE" to load this file. \quit

-- Updates 0.3.0 to 0.3.1. The fragments in src/sql have the same functions.
SET LOCAL search_path = pg_catalog, fastclust, fastclust_internal, fastclust_owner, pg_temp;

-- Event triggers that cost less where nothing is live; follow_leaves has no argument any more.
DROP FUNCTION fastclust_internal.follow_leaves(bigint[]);
CREATE FUNCTION fastclust_owner.record_ddl(event text) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT SET quote_all_identifiers = off AS $$
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

REVOKE EXECUTE ON FUNCTION fastclust_owner.record_ddl(text) FROM PUBLIC;

CREATE TABLE fastclust_internal.restored_triggers (trigger_id oid NOT NULL);
INSERT INTO restored_triggers SELECT oid FROM pg_trigger WHERE tgfoid = 'live_change()'::regprocedure;

CREATE OR REPLACE FUNCTION fastclust_owner.live_ddl() RETURNS event_trigger
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

CREATE FUNCTION fastclust_internal.follow_leaves() RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
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
                HINT = 'Recount the live sketch with rebuild_sketch.';
        END;
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION fastclust_owner.live_added() RETURNS event_trigger
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

-- Hints that led to a second error.
CREATE OR REPLACE FUNCTION fastclust_internal.scanned_relation(stored stored_models, version stored_versions,
        named regclass, group_by name)
    RETURNS regclass
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    relation regclass := COALESCE(named, to_regclass(version.relation),
                                  (SELECT (model_live(m.id)).relation
                                     FROM readable_models m
                                     JOIN readable_versions v
                                          ON v.model_id = m.id AND v.version = m.version
                                    WHERE m.id = version.model_id AND v.relation = version.relation
                                    LIMIT 1));
    -- columns that options where and since read; since includes its keys except and baseline
    option_columns name[];
BEGIN
    IF named IS NULL THEN
        relation := locked_relation(relation);
    END IF;
    IF relation IS NULL THEN
        RAISE undefined_table USING
            MESSAGE = format('%s, which model "%s" was trained on, does not exist',
                             version.relation, stored.model),
            HINT = format('To train on another table, use retrain(%L, ''{"relation": "..."}''). To read another one, pass it to drift or score: relation => ''...''.',
                          stored.model);
    END IF;
    WITH RECURSIVE nested(o) AS (SELECT version.options
                                 UNION ALL
                                 SELECT e
                                   FROM nested,
                                        unnest(ARRAY[o -> 'since', o -> 'except', o -> 'baseline']) e
                                  WHERE jsonb_typeof(e) = 'object')
    SELECT array_agg(c.name) INTO option_columns
      FROM (SELECT (o ->> 'column')::name FROM nested
            UNION ALL
            SELECT unnest((row_condition(relation, o ->> 'where')).columns) FROM nested
            UNION ALL
            SELECT a.attname
              FROM nested, pg_partitioned_table p
              JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum > 0
             WHERE o ? 'partition'
               AND p.partrelid = relation
               AND (a.attnum = ANY (p.partattrs) OR 0 = ANY (p.partattrs))) c(name);
    PERFORM check_stored_scan(stored, version, relation,
                              version.features || group_by || option_columns, named IS NOT NULL);
    RETURN relation;
END
$$;

CREATE OR REPLACE FUNCTION fastclust_internal.label_keys(relation regclass, options jsonb) RETURNS name[]
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
            HINT = CASE WHEN primary_key IS NULL
                            THEN 'Add a primary key. Or leave out option "follow", and write the labels again with option "replace".'
                        ELSE 'Leave out option "key". Or leave out option "follow", and write the labels again with option "replace".' END;
    END IF;
    RETURN keys;
END
$$;

-- A comment of its body.
CREATE OR REPLACE FUNCTION fastclust_owner.check_restored_row() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    own boolean;
BEGIN
    IF TG_TABLE_NAME = 'stored_models' THEN
        own := pg_has_role(role_id(NEW.owner), 'USAGE');
    ELSIF TG_TABLE_NAME = 'kept_sketches' THEN
        own := EXISTS (SELECT FROM pg_class c
                        WHERE c.oid = NEW.relation AND pg_has_role(c.relowner, 'USAGE'))
               AND (NEW.model_id IS NULL
                    OR EXISTS (SELECT FROM own_models m WHERE m.id = NEW.model_id));
    ELSIF TG_TABLE_NAME = 'label_tables' THEN      -- role followed_by updates the labels
        own := EXISTS (SELECT FROM own_models m WHERE m.id = NEW.model_id)
               AND pg_has_role(role_id(NEW.followed_by), 'USAGE');
    ELSE
        own := EXISTS (SELECT FROM own_models m WHERE m.id = NEW.model_id);
    END IF;
    IF own IS NOT TRUE THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('%s cannot restore rows of %s that belong to other roles',
                             current_user, TG_TABLE_NAME),
            HINT = 'Restore as a superuser, or as a member of the roles that own models.';
    END IF;
    RETURN NEW;
END
$$;

-- Shares of a cluster in earlier versions, by its identity in place of its number.
CREATE OR REPLACE FUNCTION fastclust_internal.shares_by_version(stored stored_models, group_value text,
        OUT cluster integer, OUT shares double precision[])
    RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH kept AS (
             SELECT v.version, v.operator, v.identities
               FROM readable_versions v
              WHERE v.model_id = stored.id AND v.version <= stored.version AND v.group_value = $2
              ORDER BY v.version DESC LIMIT 12),
         cluster_shares AS (
             SELECT k.version, u.identity, c.cluster,
                    c.weight / NULLIF(sum(c.weight) OVER (PARTITION BY k.version), 0) AS share
               FROM kept k,
                    unnest(cluster_numbers(k.operator), k.identities) u(cluster, identity)
               JOIN centroids(k.operator) c USING (cluster))
    SELECT s.cluster, array_agg(p.share ORDER BY k.version)
      FROM cluster_shares s
      CROSS JOIN kept k
      LEFT JOIN cluster_shares p ON p.version = k.version AND p.identity = s.identity
     WHERE s.version = stored.version
     GROUP BY 1
    HAVING (SELECT count(*) FROM kept) > 1
$$;

CREATE OR REPLACE FUNCTION fastclust_internal.report_sizes(stored stored_models, version stored_versions,
        clusters report_cluster[])
    RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    n integer := cardinality(clusters);
    largest float8 := (clusters[1]).share;
    history boolean := EXISTS (SELECT FROM shares_by_version(stored, version.group_value));
    classes text[] := (ARRAY['who hang', 'wide-bar', 'n', 'n', 'n wide', 'n wide', 'wide'])[
                          :CASE WHEN history THEN 7 ELSE 6 END];
    tables text[];
BEGIN
    FOR number IN 1 .. 2 LOOP
        tables[number] :=
            (SELECT html_table(
                        classes,
                        (ARRAY['Cluster', '', 'Rows', 'Share', 'Spread', 'Nearest', 'By version'])[
                            :cardinality(classes)],
                        string_agg(
                            html_row(
                                format('cluster-%s', c.cluster), classes,
                                (ARRAY[
                                     concat(format('<span class="id">%s</span>', c.cluster),
                                            html(c.name)),
                                     html_bar(c.share / NULLIF(largest, 0)),
                                     concat(html_value(c.size, 'count'),
                                            CASE WHEN c.weight IS NOT NULL
                                                     THEN ' of weight '
                                                          || html_value(c.weight, 'number') END),
                                     html_value(c.share, 'category'),
                                     html_value(c.spread, 'number'),
                                     CASE WHEN c.nearest IS NULL THEN '&ndash;'
                                          ELSE format('%s at %s', c.nearest,
                                                      html_value(c.distance, 'number')) END,
                                     (SELECT format(
                                                 '<svg class="spark" viewBox="0 0 72 18" role="img" aria-label="share by version"><title>%1$s</title>'
                                                     '<polygon points="0,17 %2$s 69,17"/><polyline points="%2$s"/><circle cx="%3$s" cy="%4$s" r="2.2"/></svg>',
                                                 string_agg(
                                                     html(shown_value(q.share, 'category', false)),
                                                     ' &rarr; ' ORDER BY q.i),
                                                 string_agg(format('%s,%s', svg(q.x), svg(q.y)),
                                                            ' ' ORDER BY q.i),
                                                 svg((array_agg(q.x ORDER BY q.i DESC))[1]),
                                                 svg((array_agg(q.y ORDER BY q.i DESC))[1]))
                                        FROM (SELECT u.i, u.share,
                                                     69.0 * (u.i - 1)
                                                         / greatest(
                                                         1, cardinality(s.shares) - 1) AS x,
                                                     16 - 14 * COALESCE(
                                                         u.share / NULLIF(
                                                             (SELECT max(s)
                                                                FROM unnest(s.shares) s),
                                                             0),
                                                         0) AS y
                                                FROM unnest(s.shares) WITH ORDINALITY u(share, i)
                                               WHERE u.share IS NOT NULL) q
                                      HAVING count(*) > 1)])[:cardinality(classes)]),
                            E'\n' ORDER BY c.share DESC, c.cluster))
               FROM unnest(CASE number WHEN 1 THEN clusters[:40] ELSE clusters[41:1040] END) c
               LEFT JOIN shares_by_version(stored, version.group_value) s ON s.cluster = c.cluster);
    END LOOP;
    RETURN html_section(
               'sizes', 'Clusters',
               concat(
                   'Training rows in each cluster, the largest first. Spread is the typical distance of a row from its centroid along one dimension',
                   CASE WHEN n > 1
                            THEN '; nearest is the closest other cluster and how far its centroid is' END,
                   '.',
                   CASE WHEN version.cluster_rows IS NOT NULL THEN ' Shares are of the weights.' END),
               concat(
                   tables[1],
                   CASE WHEN n > 40 THEN format(
                                             E'\n<details><summary>%s smaller clusters</summary>\n%s</details>',
                                             least(n, 1040) - 40, tables[2]) END,
                   CASE WHEN n > 1040 THEN format(
                                               E'\n<p class="hint"><code>model_clusters</code> shows %s more.</p>',
                                               html_value(n - 1040, 'count')) END));
END
$$;

-- Labels that are written again keep the columns of their table, and keys identify rows.
CREATE OR REPLACE FUNCTION fastclust_internal.options_of_target(target regclass, keys name[], options jsonb)
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
     WHERE o.name <> ALL (keys)
$$;

CREATE OR REPLACE FUNCTION fastclust_internal.has_checked_key(target regclass, keys name[], options jsonb)
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

CREATE OR REPLACE FUNCTION fastclust_internal.reject_labelled(target regclass, keys name[], query text)
    RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    found text;
BEGIN
    EXECUTE (
        SELECT format('SELECT concat_ws($separator$, $separator$, %s) FROM (%s) f JOIN %s l ON %s LIMIT 1',
                      string_agg(format('left(f.%I::text, 100)', a.attname), ', ' ORDER BY u.i),
                      query, target,
                      string_agg(format('f.%1$I::%2$s = l.%1$I', a.attname,
                                        format_type(a.atttypid, a.atttypmod)),
                                 ' AND '))
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
    WHEN undefined_function OR cannot_coerce THEN
        NULL;    -- a type without an operator for equality
END
$$;

CREATE OR REPLACE FUNCTION fastclust_internal.reject_repeated(target regclass, keys name[], query text,
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
    WHEN undefined_function THEN
        NULL;    -- a type without an operator for equality
END
$$;

CREATE OR REPLACE FUNCTION fastclust_internal.is_unique_key(relation regclass, keys name[]) RETURNS boolean
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

CREATE OR REPLACE FUNCTION fastclust_internal.label_rows(model text, relation regclass, target text,
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

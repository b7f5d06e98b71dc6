\echo Use "ALTER EXTENSION fastclust UPDATE" to load this file. \quit

-- Updates 0.3.0 to 0.3.1. The fragments in src/sql have the same functions.
SET LOCAL search_path = pg_catalog, fastclust, fastclust_internal, fastclust_owner, pg_temp;

-- Event triggers that cost less where nothing is live; follow_leaves has no argument any more.
DROP FUNCTION fastclust_internal.follow_leaves(bigint[]);
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
    missing name;    -- first feature that the relation does not have
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
    missing := (SELECT u.feature
                  FROM unnest(version.features) WITH ORDINALITY u(feature, i)
                 WHERE NOT EXISTS (SELECT FROM pg_attribute a
                                    WHERE a.attrelid = relation AND a.attname = u.feature)
                 ORDER BY u.i LIMIT 1);
    IF named IS NULL AND missing IS NOT NULL THEN
        RAISE undefined_column USING
            MESSAGE = format('column "%s" of %s does not exist', missing, relation),
            DETAIL = format('Model "%s" was trained on %s. The table has the columns %s.',
                            stored.model, array_to_string(version.features, ', '),
                            (SELECT string_agg(a.attname, ', ' ORDER BY a.attnum)
                               FROM pg_attribute a
                              WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped)),
            HINT = format('Rename the column back if it was renamed. Or train the model again with columns that the table has: train(%L, %L, features, k).',
                          stored.model, relation::text);
    END IF;
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
              AND has_column_privilege(target, a.attnum, 'INSERT')
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
    WHEN undefined_function OR feature_not_supported THEN
        NULL;    -- a type without an operator for equality, or a query that Citus does not support
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

-- Words about weights, where shares and sums are not of rows.
CREATE OR REPLACE FUNCTION fastclust_internal.unit_of_shares(clusters report_cluster[]) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN (clusters[1]).weight IS NULL THEN 'rows' ELSE 'weight' END
$$;

CREATE OR REPLACE FUNCTION fastclust_internal.report_map(clusters report_cluster[], profile profile_value[])
    RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT AS $$
DECLARE
    shown_x float8 := (clusters[1]).shown_x;
    shown_y float8 := (clusters[1]).shown_y;
    -- the two features that increase or decrease most along each axis, from left to right and from
    -- bottom to top
    words text[];
BEGIN
    IF cardinality(clusters) < 2 OR shown_x IS NULL THEN
        RETURN NULL;
    END IF;
    words := ARRAY(
                 SELECT (SELECT ' ('
                                || string_agg(
                                       format('%s <code>%s</code>',
                                              CASE WHEN q.s > 0 THEN 'more' ELSE 'less' END,
                                              html(q.feature, 60)),
                                       ', ' ORDER BY abs(q.s) DESC)
                                || ')'
                           FROM (SELECT f.*,
                                        rank() OVER (ORDER BY abs(f.s) DESC, f.feature) AS place,
                                        max(abs(f.s)) OVER () AS largest
                                   FROM (SELECT v.feature,
                                                sum(c.share * v.difference *
                                                        CASE axis
                                                             WHEN 1 THEN c.x
                                                             ELSE c.y END) AS s
                                           FROM unnest(profile) v
                                           JOIN unnest(clusters) c USING (cluster)
                                          GROUP BY v.place, v.feature) f) q
                          WHERE q.place <= 2 AND q.s <> 0 AND abs(q.s) > 0.5 * q.largest)
                   FROM generate_series(1, 2) axis
                  ORDER BY axis);
    RETURN html_section(
               'map', 'Map',
               concat(
                   format('Each circle is a cluster, and its area is the share of the %s. Clusters near each other are similar.',
                          unit_of_shares(clusters)),
                   CASE WHEN cardinality(clusters) > 1000
                            THEN ' Only the thousand largest are shown.' END,
                   (SELECT CASE WHEN bool_or(c.share < s.least AND (c.x NOT BETWEEN s.x0 AND s.x1
                                                                    OR c.y NOT BETWEEN s.y0 AND s.y1))
                                    THEN format(
                                             ' A cluster with less than 1 %% of the %s that is far from the others is at the edge.',
                                             unit_of_shares(clusters)) END
                      FROM unnest(clusters) c,
                           (SELECT least, min(b.x) AS x0, max(b.x) AS x1, min(b.y) AS y0,
                                   max(b.y) AS y1
                              FROM least_shown(clusters) least, unnest(clusters) b
                             WHERE b.share >= least
                             GROUP BY least) s)),
               concat(
                   E'<figure>\n', svg_map(clusters[:1000], 1056, 520, 'wide'), E'\n',
                   svg_map(clusters[:1000], 343, 360, 'narrow'),
                   format(
                       E'\n<figcaption>The two axes along which the clusters differ most. They show %s of the differences between them: '
                           '%s from left to right%s, %s from bottom to top%s.</figcaption>\n</figure>',
                       html_value(shown_x + shown_y, 'category'), html_value(shown_x, 'category'),
                       words[1], html_value(shown_y, 'category'), words[2])));
END
$$;

CREATE OR REPLACE FUNCTION fastclust_internal.report_rules(stored stored_models, group_value text,
        clusters report_cluster[])
    RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    items text;
    fidelity float8;
BEGIN
    SELECT string_agg(format('<li id="rules-%s"><b>%s</b>%s</li>', q.cluster,
                             html(cluster_label(q.cluster, q.name, 200)), q.lines),
                      E'\n' ORDER BY q.share DESC, q.cluster),
           max(q.fidelity) INTO items, fidelity
      FROM (SELECT r.cluster, r.name, c.share, max(r.fidelity) AS fidelity,
                   string_agg(
                       CASE WHEN r.condition IS NULL
                                THEN format('<p class="note">%s.</p>', html(r.rule))
                            ELSE format(
                                     CASE unit_of_shares(clusters)
                                          WHEN 'rows' THEN '<p>if %s</p><p class="note">%s of the rows that meet the condition are in this cluster; %s of the cluster meet it.</p>'
                                          ELSE '<p>if %s</p><p class="note">Rows in this cluster have %s of the weight of the rows that meet the condition; rows that meet it have %s of the weight of the cluster.</p>' END,
                                     html(r.rule), html_value(r.precision, 'category'),
                                     html_value(r.coverage, 'category')) END,
                       '' ORDER BY r.coverage DESC, r.rule) AS lines
              FROM cluster_rules(stored.model, group_value => $2) r
              JOIN unnest(clusters[:40]) c USING (cluster)
             GROUP BY 1, 2, 3) q;
    RETURN html_section(
               'rules', 'Rules',
               concat(
                   'Short conditions that distinguish the clusters, learned on a sample of the table.',
                   CASE WHEN fidelity IS NOT NULL THEN format(
                                                           ' They assign %s of the %s to the same cluster as the model does.',
                                                           html_value(fidelity, 'category'),
                                                           unit_of_shares(clusters)) END),
               format(E'<ul class="rules">\n%s\n</ul>', items));
EXCEPTION WHEN OTHERS THEN
    RETURN html_section('rules', 'Rules',
                        format(
                            'The rules are learned on rows of the table, which cannot be read: %s.',
                            html(SQLERRM)),
                        NULL);
END
$$;

CREATE OR REPLACE FUNCTION fastclust_internal.report_story(stored stored_models, group_value text,
        clusters report_cluster[], profile profile_value[], lines version_line[])
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH named AS (
             SELECT c.cluster, c.share, c.share < 0.01 AS small,
                    format('<b>%s</b>',
                           html(COALESCE(c.name, format('cluster %s', c.cluster)), 200)) AS name,
                    row_number() OVER (ORDER BY c.share DESC, c.cluster) AS i
               FROM unnest(clusters) c),
         feature AS (
             SELECT v.*, row_number() OVER (PARTITION BY v.cluster
                                            ORDER BY abs(v.difference) DESC, v.place) AS i
               FROM unnest(profile) v
              WHERE abs(v.difference) >= 0.5
                AND NOT (SELECT bool_or(r.vector)
                           FROM readable_versions r
                          WHERE r.model_id = stored.id AND r.version = stored.version)),
         before AS (
             SELECT l.* FROM unnest(lines) l ORDER BY l.version DESC OFFSET 1 LIMIT 1),
         moved AS (
             SELECT n.name, s.shares[cardinality(s.shares) - 1] AS old, n.share
               FROM shares_by_version(stored, COALESCE(group_value, '')) s
               JOIN named n USING (cluster)
              WHERE abs(n.share - s.shares[cardinality(s.shares) - 1]) >= 0.01
              ORDER BY abs(n.share - s.shares[cardinality(s.shares) - 1]) DESC, n.cluster LIMIT 1)
    SELECT format(
               E'<p class="story">%s</p>\n',
               concat_ws(
                   ' ',
                   CASE WHEN cardinality(clusters) = 1 THEN 'All rows are in one cluster.'
                        ELSE format('There are %s clusters.',
                                    html_value(cardinality(clusters), 'count')) END,
                   (SELECT string_agg(
                               concat(
                                   format(CASE n.i WHEN 1 THEN 'The largest, %s, has %s of the %s'
                                                   ELSE '%s has %s' END,
                                          n.name, html_value(n.share, 'category'),
                                          unit_of_shares(clusters)),
                                   (SELECT ': '
                                           || string_agg(
                                                  format(CASE WHEN f.kind IN (
                                                                       'category', 'boolean')
                                                                  THEN '%s for %s (all rows: %s)'
                                                              ELSE '%s is %s (all rows: %s)' END,
                                                         html(f.feature, 60),
                                                         html_value(f.value, f.kind),
                                                         html_value(f.overall, f.kind)),
                                                  ', ' ORDER BY f.i)
                                      FROM feature f
                                     WHERE f.cluster = n.cluster AND f.i <= 2),
                                   '.'),
                               ' ' ORDER BY n.i)
                      FROM named n
                     WHERE cardinality(clusters) > 1 AND n.i <= 3 AND (n.i = 1 OR NOT n.small)),
                   (SELECT format(CASE count(*)
                                       WHEN 1 THEN 'One cluster has less than 1 %% of the %2$s.'
                                       ELSE '%1$s clusters have less than 1 %% of the %2$s each.' END,
                                  html_value(count(*), 'count'), unit_of_shares(clusters))
                      FROM named n
                     WHERE n.small AND n.i > 1
                    HAVING count(*) > 0),
                   (SELECT concat(
                               format('Since version %s of %s ', b.version,
                                      CASE WHEN b.trained_at::date = now.trained_at::date
                                               THEN html_time(b.trained_at)
                                           ELSE html_time(b.trained_at, true) END),
                               CASE WHEN now.n = b.n THEN 'the number of rows is the same'
                                    ELSE format(
                                             'there are %s rows %s',
                                             html_value(abs(now.n - b.n), 'count'),
                                             CASE WHEN now.n > b.n THEN 'more'
                                                  ELSE 'fewer' END) END,
                               CASE WHEN now.clusters <> b.clusters
                                        THEN format(' and %s clusters in place of %s',
                                                    html_value(now.clusters, 'count'),
                                                    html_value(b.clusters, 'count')) END,
                               CASE WHEN now.churn IS NOT NULL
                                        THEN format('; %s of the rows are in another cluster',
                                                    html_value(now.churn, 'category')) END,
                               (SELECT format('; the share of %s changed from %s to %s', m.name,
                                              html_value(m.old, 'category'),
                                              html_value(m.share, 'category'))
                                  FROM moved m
                                 WHERE now.clusters = b.clusters),
                               '.')
                      FROM before b,
                           (SELECT l.* FROM unnest(lines) l ORDER BY l.version DESC LIMIT 1) now)))
     WHERE cardinality(clusters) > 0
$$;

CREATE OR REPLACE FUNCTION fastclust_internal.read_plot(model text, group_value text) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := readable_model($1);
    version stored_versions := explained_version(stored, $2);
    k integer := clusters(version.operator);
    max_shown CONSTANT integer := 20;
BEGIN
    -- sizes of the clusters and, if centroids have features, the strongest features of each
    -- cluster, in lines of up to 100 columns
    RETURN concat_ws(
               E'\n',
               rtrim(fit_text(format('%s%s, version %s: %s cluster%s of %s rows of %s', stored.model,
                                     CASE WHEN $2 IS NULL THEN '' ELSE format(' (%s)', $2) END,
                                     version.version, k, CASE WHEN k = 1 THEN '' ELSE 's' END,
                                     shown_value(version.n, 'number', false), version.relation),
                              100, false)),
               '',
               (WITH s AS MATERIALIZED (
                         SELECT z.*, n.name, max(z.share) OVER () AS max_share
                           FROM (SELECT c.cluster,
                                        round(clustered_rows(version) * c.weight / t.total)::bigint
                                            AS size,
                                        c.weight / t.total AS share,
                                        row_number() OVER (
                                            ORDER BY c.weight DESC, c.cluster) AS place
                                   FROM centroids(version.operator) c,
                                        (SELECT NULLIF(sum(w.weight), 0) AS total
                                           FROM centroids(version.operator) w) t) z
                           JOIN version_names(version) n USING (cluster))
                SELECT concat_ws(
                           E'\n',
                           fit_text('cluster', 44, false)
                           || fit_text(CASE WHEN version.cluster_rows IS NULL THEN 'rows'
                                            ELSE 'weight' END, 14, true)
                           || fit_text('share', 8, true),
                           (SELECT string_agg(
                                       fit_text(s.cluster::text, 6, true)
                                       || '  '
                                       || fit_text(s.name, 36, false)
                                       || fit_text(
                                              COALESCE(shown_value(s.size, 'number', false), ''),
                                              14, true)
                                       || fit_text(
                                              COALESCE(shown_value(s.share, 'category', false), ''),
                                              8, true)
                                       || '  '
                                       || COALESCE(
                                              bar(s.share / NULLIF(s.max_share, 0), 32, false), ''),
                                       E'\n' ORDER BY s.place)
                              FROM s
                             WHERE s.place <= max_shown),
                           (SELECT E'\n'
                                   || fit_text('', 38, false)
                                   || fit_text('lower than all', 18, true)
                                   || ' '
                                   || fit_text('higher', 16, false)
                                   || fit_text('in cluster', 13, true)
                                   || fit_text('all rows', 14, true)
                                   || E'\n'
                                   || string_agg(c.lines, E'\n' ORDER BY c.place)
                              FROM (SELECT s.place,
                                           fit_text(s.cluster::text, 6, true)
                                           || '  '
                                           || rtrim(fit_text(s.name, 92, false))
                                           || E'\n'
                                           || string_agg(
                                                  fit_text('', 8, false)
                                                  || fit_text(p.label, 31, false)
                                                  || bar(p.difference / 3, 16, true)
                                                  || ' '
                                                  || fit_text(shown_value(p.value, p.kind, false),
                                                              13, true)
                                                  || ' '
                                                  || fit_text(shown_value(p.overall, p.kind, false),
                                                              13, true),
                                                  E'\n' ORDER BY p.place) AS lines
                                      FROM s JOIN version_profile(version, 5) p USING (cluster)
                                     WHERE s.place <= max_shown
                                       AND p.place <= 5
                                       AND p.value IS NOT NULL
                                       AND (abs(p.difference) >= 0.1 OR p.place = 1)
                                     GROUP BY s.place, s.cluster, s.name) c))),
               CASE WHEN k > max_shown THEN E'\n'
                                       || rtrim(
                                              fit_text(
                                                  format('and %s smaller clusters: see profile(%L)',
                                                         k - max_shown, stored.model),
                                                  100, false)) END);
END
$$;

-- A hint about long names.
CREATE OR REPLACE FUNCTION fastclust_owner.name_cluster(model text, cluster integer, name text,
        group_value text, caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model, true, false, caller);
    version stored_versions := explained_version(stored, group_of($1, -1, group_value));
    bearer bigint := version.identities[array_position(cluster_numbers(version.operator), cluster)];
BEGIN
    IF cluster IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'cluster must not be NULL';
    ELSIF bearer IS NULL THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('cluster is %s, out of range', cluster),
            DETAIL = format('Model "%s" has clusters %s.', stored.model,
                            listed_numbers(version.operator));
    ELSIF char_length(name) NOT BETWEEN 1 AND 200 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('name has %s characters, out of range', char_length(name)),
            DETAIL = 'A name has from 1 to 200 characters.',
            HINT = CASE WHEN name = '' THEN 'NULL removes the name.' ELSE 'Shorten the name.' END;
    ELSIF name ~ control_character() THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format(E'name contains the control character \\x%s',
                             to_hex(ascii(substring(name FROM control_character())))),
            DETAIL = 'A name must be one line of text.';
    END IF;
    DELETE FROM stored_names n
     WHERE n.model_id = stored.id
       AND n.group_value = version.group_value
       AND n.identity = bearer;
    IF name IS NOT NULL THEN
        INSERT INTO stored_names (model_id, group_value, identity, name, named_by)
        VALUES (stored.id, version.group_value, bearer, $3, pg_get_userbyid(caller));
    END IF;
END
$$;
-- Hints where a column of a live sketch or of a model was dropped or renamed.
CREATE FUNCTION fastclust_internal.missing_column(live kept_sketches) RETURNS name
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT u.name
      FROM unnest(live.columns) WITH ORDINALITY u(name, i)
     WHERE EXISTS (SELECT FROM pg_class c WHERE c.oid = live.relation)
       AND NOT EXISTS (SELECT FROM pg_attribute a
                        WHERE a.attrelid = live.relation AND a.attname = u.name)
     ORDER BY u.i LIMIT 1
$$;

CREATE FUNCTION fastclust_internal.repair_hint(live kept_sketches) RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN missing_column(live) IS NULL THEN 'Recount the live sketch with rebuild_sketch.'
                ELSE format('Rename column "%s" back if it was renamed. ', missing_column(live))
                         || CASE WHEN live.model_id IS NULL
                                     THEN 'Or drop the live sketch with drop_sketch, and make it again with keep_sketch.'
                                 ELSE format('Or train the model again with columns that %s has, and the option {"live": true}.',
                                             live.relation) END END
$$;

CREATE OR REPLACE FUNCTION fastclust_internal.strict_group(live kept_sketches, given text) RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN missing_column(live) IS NOT NULL THEN NULL
                WHEN least_groups(live.relation, live.group_by, '{}') IS NULL
                    THEN named_group(live.relation, live.group_by, '{}', given) END
$$;

CREATE OR REPLACE FUNCTION fastclust_owner.live_groups(name text, caller oid) RETURNS SETOF live_group
    LANGUAGE plpgsql STABLE ROWS 100 SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := readable_live(name, caller);
    problem text := sketch_problem(name, caller);
BEGIN
    IF problem IS NULL AND live.counting THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('live sketch "%s" is not counted yet', name),
            HINT = 'Count its rows with rebuild_sketch; other sessions can write at the same time.';
    END IF;
    PERFORM check_live_snapshot(live);
    IF problem IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('live sketch "%s" no longer matches its table', name),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.',
            HINT = CASE WHEN missing_column(live) IS NULL
                            THEN 'Recount the live sketch with rebuild_sketch, or drop it with drop_sketch.'
                        ELSE repair_hint(live) END;
    END IF;
    IF least_groups(live.relation, live.group_by, '{}') IS NULL THEN
        RETURN QUERY SELECT g.* FROM live_texts(live) g;
    ELSE
        RETURN QUERY
            WITH by_text AS MATERIALIZED (SELECT g.* FROM live_texts(live) g),
                 texts AS (SELECT array_agg(DISTINCT g.group_value COLLATE "C"
                                            ORDER BY g.group_value COLLATE "C") AS given
                             FROM by_text g)
            SELECT u.least, g.bucket, merge_agg(g.s), merge_drift_counts_agg(g.counts)
              FROM texts,
                   unnest(texts.given,
                          least_groups(live.relation, live.group_by, texts.given)) u(given, least)
              JOIN by_text g ON g.group_value = u.given
             GROUP BY 1, 2;
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION fastclust_internal.live_of_version(version stored_versions,
        since jsonb DEFAULT NULL)
    RETURNS kept_sketches
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := model_live(version.model_id);
    problem text;
BEGIN
    IF live.id IS NULL
       OR NOT is_live_group(version.training_sketch, NULL, live.spec, NULL)
       OR live.micro_options IS DISTINCT FROM (
              CASE WHEN version.method = 'density' THEN jsonb_build_array(
                                                            version.options -> 'micro_clusters',
                                                            version.options ->
                                                                'min_cluster_rows') END)
       OR (live.drift_spec IS NOT NULL
           AND live.drift_spec::text IS DISTINCT FROM drift_spec_of(version)::text)
       OR live.features <> version.features
       OR live.vector <> version.vector
       OR live.encoder::text IS DISTINCT FROM version.encoder::text
       OR live.relation IS DISTINCT FROM COALESCE(
              to_regclass(version.relation),
              (SELECT live.relation
                 FROM readable_models m
                 JOIN readable_versions v ON v.model_id = m.id AND v.version = m.version
                WHERE m.id = version.model_id AND v.relation = version.relation
                LIMIT 1))
       OR live.bucket IS DISTINCT FROM version.options -> 'live' ->> 'bucket'
       OR live.half_life IS DISTINCT FROM span_option(version.options -> 'live', 'half_life')
       OR live.bucket_width <> span_option(version.options -> 'live', 'bucket_width')
       OR live.group_by IS DISTINCT FROM version.options ->> 'group_by'
       OR live.condition IS DISTINCT FROM version.options ->> 'where'
       OR since - 'interval' <> jsonb_build_object('column', live.bucket) THEN
        RETURN NULL;
    END IF;
    problem := sketch_problem(live.name);
    IF problem IS NOT NULL THEN
        RAISE WARNING USING
            MESSAGE = format('live sketch "%s" no longer matches its table: rows are read', live.name),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.',
            HINT = repair_hint(live);
    END IF;
    RETURN CASE WHEN problem IS NULL THEN live END;
END
$$;

CREATE OR REPLACE FUNCTION fastclust_owner.fold_sketches(name text, caller oid) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT SET lock_timeout = '1s' AS $$
DECLARE
    live kept_sketches;
    folded bigint := 0;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed');
    IF name IS NOT NULL THEN
        live := owned_live(name, caller);
        RETURN fold_live(live.id);
    END IF;
    -- ALTER TYPE locks no table, so it may record a loss while the live sketch is being dropped.
    PERFORM run_latest('DELETE FROM live_deltas d
                         USING (SELECT o.ctid FROM live_deltas o
                                 WHERE NOT EXISTS (SELECT FROM kept_sketches l
                                                    WHERE l.id = o.live_id)
                                   FOR UPDATE SKIP LOCKED) q
                         WHERE d.ctid = q.ctid');
    FOR live IN
        SELECT * FROM kept_sketches l WHERE owns_relation(caller, l.relation) ORDER BY l.id
    LOOP
        -- an error in one live sketch must not prevent the merging of the others
        BEGIN
            folded := folded + fold_live(live.id);
        EXCEPTION
            WHEN lock_not_available THEN
                NULL;    -- an open transaction is writing a count
            WHEN OTHERS THEN
                RAISE WARNING USING
                    MESSAGE = format('live sketch "%s" cannot be folded: %s', live.name, SQLERRM),
                    HINT = repair_hint(live);
        END;
    END LOOP;
    RETURN folded;
END
$$;

CREATE OR REPLACE FUNCTION fastclust_owner.restore_leaf(live kept_sketches, leaf regclass) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM live_deltas d WHERE d.live_id = live.id AND d.leaf = $2;
    PERFORM name_leaf(live, leaf);
    PERFORM count_rows(live.id, leaf, relation_owner(live.relation));
EXCEPTION
    WHEN OTHERS OR assert_failure THEN
        RAISE WARNING USING MESSAGE = format('live sketch "%s" no longer matches its table', live.name),
            DETAIL = format('Table %s is not counted: %s.', leaf, SQLERRM),
            HINT = repair_hint(live);
END
$$;

CREATE OR REPLACE FUNCTION fastclust.rebuild_sketch(name text) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches;
    lost boolean;
BEGIN
    PERFORM check_live_isolation(name);
    live := locked_live(name);
    IF missing_column(live) IS NOT NULL THEN
        RAISE undefined_column USING
            MESSAGE = format('live sketch "%s" cannot be counted', live.name),
            DETAIL = format('Table %s has no column "%s".', live.relation, missing_column(live)),
            HINT = repair_hint(live);
    END IF;
    -- The columns may have other types than at keep_sketch.
    PERFORM check_live_types(live.relation, live.group_by, live.bucket),
            check_live_scan(live, live.relation);
    lost := sketch_problem(name) IS NOT NULL;
    IF lost THEN
        -- Writers have to wait only in this case.
        PERFORM lock_out_writers(live.relation);
    END IF;
    PERFORM check_live_tables(live);
    -- The triggers of leaves that left the tree go on counting until here, because a leaf might
    -- have returned to the tree.
    PERFORM set_live_triggers(live.id, v.leaf, false) FROM own_live_leaves v
     WHERE v.live_id = live.id AND v.leaf NOT IN (SELECT t.id FROM live_tables(live.relation) t);
    PERFORM forget_leaves(name);
    RETURN count_live(live, lost);
END
$$;

-- Hints that a reader of a model can follow.
CREATE OR REPLACE FUNCTION fastclust_internal.check_stored_scan(stored stored_models, version stored_versions,
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

-- The reason why a model cannot be checked.
CREATE OR REPLACE FUNCTION fastclust.check_drift(INOUT model text DEFAULT NULL, OUT version integer,
        OUT group_value text, OUT verdict text, OUT effect double precision,
        OUT p_value double precision, OUT n bigint, OUT columns jsonb, OUT problem text)
    RETURNS SETOF record
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    one bigint := CASE WHEN model IS NOT NULL THEN (locked_model(model, true)).id END;
    stored stored_models;
    found drift_checks;
    reason text;    -- DETAIL and HINT of an error
    hint text;
BEGIN
    PERFORM reject_read_only('drift cannot be logged');
    FOR stored IN
        SELECT m.*
          FROM own_models m JOIN pg_roles r ON r.rolname = current_user
         WHERE CASE WHEN one IS NOT NULL THEN m.id = one
                    ELSE m.version IS NOT NULL AND m.owner_id = r.oid END
         ORDER BY m.model
    LOOP
        model := stored.model;
        version := stored.version;
        problem := NULL;
        BEGIN
            SELECT stored.id, stored.version, v.relation, sum(d.n) OVER (), d.mmd2, d.null_sd,
                   d.p_value, d.fit_residual, d.effect,
                   CASE WHEN d.verdict IN ('new group', 'gone') THEN 'slight' ELSE d.verdict END,
                   d.columns, 0.01, 0.1, d.value
              INTO found.model_id, found.version, found.relation, found.n, found.mmd2,
                   found.null_sd, found.p_value, found.fit_residual, found.effect, found.verdict,
                   found.columns, found.threshold, found.min_effect, found.group_value
              FROM largest_group(stored) v,
                   drift(stored.model, by => CASE WHEN stored.group_by IS NOT NULL THEN 'group' END) d
             ORDER BY array_position('{drifted,new group,gone,slight,none}', d.verdict),
                      d.effect DESC NULLS LAST LIMIT 1;
            found.id := write_drift(found);
            IF found.verdict = 'drifted' THEN
                -- Any role may receive the notification. The id is useful only to roles that may
                -- read drift_log.
                PERFORM pg_notify('fastclust_drift', found.id::text);
            END IF;
            SELECT found.group_value, found.verdict, found.effect, found.p_value, found.n,
                   found.columns
              INTO group_value, verdict, effect, p_value, n, columns;
        EXCEPTION WHEN OTHERS THEN
            IF one IS NOT NULL THEN
                RAISE;
            END IF;
            GET STACKED DIAGNOSTICS reason = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
            reason := concat_ws(' ', NULLIF(reason, ''), NULLIF(hint, ''));
            SELECT 'failed', concat_ws('. ', SQLERRM, NULLIF(reason, ''))
              INTO verdict, problem, group_value, effect, p_value, n, columns;
            IF reason = '' THEN
                RAISE WARNING USING
                    MESSAGE = format('model "%s" cannot be checked: %s', model, SQLERRM);
            ELSE
                RAISE WARNING USING
                    MESSAGE = format('model "%s" cannot be checked: %s', model, SQLERRM),
                    DETAIL = reason;
            END IF;
        END;
        RETURN NEXT;
    END LOOP;
END
$$;

-- A NOTICE that the next retraining makes a live sketch again.
CREATE OR REPLACE FUNCTION fastclust_owner.drop_sketch(name text, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := locked_live(name, caller);
    -- model that the caller may retrain and whose current version is live, or NULL
    follower text := (SELECT m.model
                        FROM stored_models m
                       WHERE m.id = live.model_id AND is_member(caller, m.owner_id)
                         AND EXISTS (SELECT FROM version_groups v
                                      WHERE v.model_id = m.id AND v.version = m.version
                                        AND flag_option(v.options, 'live')));
BEGIN
    PERFORM forget_live(live.id);
    IF follower IS NOT NULL THEN
        RAISE NOTICE USING
            MESSAGE = format('the next retraining of model "%s" makes its live sketch again', follower),
            HINT = format('To prevent this, use retrain(%L, ''{"live": false}''), or drop the model with drop_model.',
                          follower);
    END IF;
END
$$;


-- Rejects a new owner that is no role. Only a restore, which inserts, may store such a name.
CREATE FUNCTION fastclust_owner.check_new_owner() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = role_id(NEW.owner)) THEN
        RAISE undefined_object USING MESSAGE = format('role "%s" does not exist', NEW.owner),
            HINT = format('Model "%s" keeps its owner. Create the role first, or name another one.',
                          NEW.model);
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER new_owner BEFORE UPDATE OF owner ON stored_models
    FOR EACH ROW EXECUTE FUNCTION check_new_owner();
REVOKE EXECUTE ON FUNCTION fastclust_owner.check_new_owner() FROM PUBLIC;

-- Owners that were dropped are marked.
CREATE OR REPLACE VIEW fastclust.models WITH (security_barrier) AS
    SELECT m.model,
           CASE WHEN EXISTS (SELECT FROM pg_roles r WHERE r.oid = m.owner_id)
                     OR right(m.owner::name::text, 10) = ' (dropped)' THEN m.owner::name
                -- the mark takes 10 of the 63 bytes of a name, and characters may have several bytes
                ELSE (left(m.owner::name::text,
                           53 + length(m.owner::name::text) - octet_length(m.owner::name::text))
                      || ' (dropped)')::name END AS owner,
           m.readers::name[] AS readers, m.version,
           (SELECT count(DISTINCT o.version) FROM version_groups o
             WHERE o.model_id = m.id) AS versions,
           v.method, v.relation, v.features, m.group_by,
           CASE WHEN m.group_by IS NOT NULL THEN v.groups END AS groups, v.k, v.dim, v.n,
           v.objective, v.trained_at, v.note
      FROM readable_models m
      CROSS JOIN LATERAL (
                     SELECT min(v.method) AS method, min(v.relation) AS relation,
                            min(v.features::text)::name[] AS features, count(*) AS groups,
                            max(v.k) AS k, max(dim(v.operator)) AS dim,
                            CASE WHEN count(*) > 0 THEN least(greatest(
                                                                  sum(v.n), -9223372036854775808),
                                                              9223372036854775807)::bigint END AS n,
                            sum(v.objective * v.n) FILTER (
                                WHERE v.objective = 0
                                OR abs(v.objective) BETWEEN 1e-280 AND 1e280)
                                / NULLIF(sum(v.n), 0) AS objective,
                            max(v.trained_at) AS trained_at, min(v.note) AS note
                       FROM version_groups v
                      WHERE v.model_id = m.id AND v.version = m.version) v;
COMMENT ON COLUMN models.owner IS
    'role that owns the model; only it and its members may change the model. The mark '
    '"(dropped)": the role no longer exists';
-- Rows that a subscription copies from a publisher. A publication FOR ALL TABLES has the tables of
-- fastclust, so a copied row of kept_sketches arrives, and the subscriber counts its own rows as
-- after a restore. The publisher's sums would be counted twice. They are skipped, except in writes
-- of the subscriber's own triggers, whose depth is above 0.
CREATE FUNCTION fastclust_owner.skip_replicated() RETURNS trigger
    AS 'MODULE_PATHNAME', 'fastclust_skip_replicated' LANGUAGE C;

CREATE FUNCTION fastclust_owner.forget_replicated() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM live_deltas d WHERE d.live_id = OLD.id;
    DELETE FROM live_bases b WHERE b.live_id = OLD.id;
    DELETE FROM live_leaves v WHERE v.live_id = OLD.id;
    RETURN OLD;
END
$$;

CREATE TRIGGER skip_replicated BEFORE INSERT OR UPDATE OR DELETE ON live_leaves FOR EACH ROW WHEN (
    pg_trigger_depth() = 0) EXECUTE FUNCTION skip_replicated();
CREATE TRIGGER skip_replicated BEFORE INSERT OR UPDATE OR DELETE ON live_bases FOR EACH ROW WHEN (
    pg_trigger_depth() = 0) EXECUTE FUNCTION skip_replicated();
CREATE TRIGGER skip_replicated BEFORE INSERT OR UPDATE OR DELETE ON live_deltas FOR EACH ROW WHEN (
    pg_trigger_depth() = 0) EXECUTE FUNCTION skip_replicated();
CREATE TRIGGER forget_replicated BEFORE DELETE ON kept_sketches FOR EACH ROW
    EXECUTE FUNCTION forget_replicated();
ALTER TABLE live_leaves ENABLE REPLICA TRIGGER skip_replicated;
ALTER TABLE live_bases ENABLE REPLICA TRIGGER skip_replicated;
ALTER TABLE live_deltas ENABLE REPLICA TRIGGER skip_replicated;
ALTER TABLE kept_sketches ENABLE REPLICA TRIGGER forget_replicated;

REVOKE EXECUTE ON FUNCTION fastclust_owner.skip_replicated(), fastclust_owner.forget_replicated() FROM PUBLIC;

-- Hints that name the call which reads the rows.
CREATE FUNCTION fastclust_internal.hint_to_read_rows(version stored_versions) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT concat('Retrain the model on rows: retrain',
                  format('(%L, %L)', version.model,
                         jsonb_build_object('relation', version.relation)), '.')
$$;

CREATE OR REPLACE FUNCTION fastclust_internal.version_drift(version stored_versions, s sketch,
        counts drift_counts, threshold double precision DEFAULT 0.01,
        min_effect double precision DEFAULT 0.1, counted bigint DEFAULT NULL,
        OUT mmd2 double precision, OUT null_sd double precision, OUT p_value double precision,
        OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns jsonb, OUT units bigint[])
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    spec drift_spec := drift_spec_of(version);
    problem text;
BEGIN
    problem := CASE WHEN version.drift_counts IS NULL
                         AND NOT has_all_dimensions(spec(version.training_sketch))
                        THEN ' projected on axes of its sample, and has no drift_counts to compare'
                    WHEN version.options ? 'unit' AND unit_count(version.drift_counts) IS NULL
                        THEN ', which does not tell the units of its rows' END;
    IF problem IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('version %s of model "%s" was made from a sketch%s', version.version,
                             version.model, problem),
            HINT = hint_to_read_rows(version);
    END IF;
    n := COALESCE(counted, row_count(s), 0);
    units := array_remove(ARRAY[unit_count(version.drift_counts), unit_count(counts)], NULL);
    units := CASE WHEN cardinality(units) = 2 THEN units END;
    SELECT t.mmd2, t.null_sd, t.p_value, t.effect, t.verdict
      INTO mmd2, null_sd, p_value, effect, verdict
      FROM drift_test(spec, CASE WHEN counts IS NOT NULL THEN version.drift_counts END,
                      CASE WHEN version.drift_counts IS NOT NULL THEN counts END,
                      version.training_sketch, s, version.null_moments, threshold, min_effect,
                      version.encoder) t;
    verdict := COALESCE(verdict, 'too few rows');
    fit_residual := CASE WHEN version.map IS NULL AND describe(version.spec) ->> 'law' <> 'gaussian'
                             THEN fit_residual(s, version.operator, version.center, version.scale,
                                               version.spreads) END;
    -- up to five columns and pairs of columns that changed significantly, smallest p-value first;
    -- after a change that only waves show, the columns with the smallest p-values
    columns := (SELECT COALESCE(jsonb_agg(e.entry ORDER BY e.other IS NOT NULL, e.place), '[]')
                  FROM (SELECT DISTINCT ON (x.name, x.other, c.before IS NULL) x.other, c.place,
                               CASE WHEN c.before IS NOT NULL
                                        THEN change_entry(x.nulls, 'category', c.before, c.after, x.p)
                                    WHEN x.other IS NOT NULL
                                        THEN jsonb_build_object(
                                                 'name', concat_ws(', ', x.name, x.other),
                                                 'names', jsonb_build_array(x.name, x.other), 'p',
                                                 x.p)
                                    WHEN x.after IS NOT NULL
                                        THEN change_entry(x.name, x.kind, x.before, x.after, x.p)
                                    ELSE jsonb_strip_nulls(
                                             jsonb_build_object('name', x.name, 'shift', c.shift,
                                                                'spread', c.spread, 'p', x.p)) END
                                   AS entry
                          FROM moved_columns(spec, version.drift_counts, counts,
                                             version.training_sketch, s, threshold, 5,
                                             COALESCE(p_value < threshold, false), version.encoder)
                                   WITH ORDINALITY c(dimension, other, p_value, shift, spread,
                                                     before, after, place),
                               (SELECT array_agg(f.label ORDER BY f.dimension) AS labels,
                                       array_agg(f.kind ORDER BY f.dimension) AS kinds
                                  FROM encoder_features(version.encoder) f) f,
                               LATERAL (
                                   SELECT COALESCE(f.labels[c.dimension],
                                                   format('%s[%s]', version.features[1],
                                                          c.dimension)) AS name,
                                          COALESCE(NULLIF(f.labels[c.other], f.labels[c.dimension]),
                                                   CASE WHEN version.encoder IS NULL AND c.other IS NOT NULL
                                                            THEN format('%s[%s]',
                                                                        version.features[1],
                                                                        c.other) END) AS other,
                                          f.kinds[c.dimension] AS kind,
                                          null_name(version.encoder, c.dimension) AS nulls,
                                          cyclic_mean(version.encoder, c.dimension,
                                                      means(version.training_sketch)) AS before,
                                          cyclic_mean(version.encoder, c.dimension, means(s))
                                              AS after,
                                          trim_scale(round(c.p_value::numeric, 12)) AS p) x
                         ORDER BY x.name, x.other, c.before IS NULL, c.place) e);
END
$$;

CREATE OR REPLACE FUNCTION fastclust_internal.report_uncounted_nulls(version stored_versions, source text)
    RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    counted boolean := COALESCE(counts_nulls(version.drift_counts), false);
BEGIN
    IF version.encoder IS NOT NULL AND NOT (counted AND source IS NULL) THEN
        RAISE NOTICE USING
            MESSAGE = format('the share of NULLs in the columns of model "%s" is not compared',
                             version.model),
            DETAIL = COALESCE(source, format('Version %s was made from a sketch', version.version))
                     || ', which does not count NULLs.',
            HINT = concat_ws(' ', CASE WHEN NOT counted THEN hint_to_read_rows(version) END,
                             CASE WHEN source IS NOT NULL
                                      THEN CASE WHEN NOT counted THEN 'Then use' ELSE 'Use' END
                                           || ' drift(model, relation), which reads the rows.' END);
    END IF;
END
$$;

-- A WARNING about a label table that no longer exists.
CREATE OR REPLACE FUNCTION fastclust_internal.update_labels(model_id bigint) RETURNS void
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

-- Profiles and names of columns with NULLs, and the words of rules about them.
CREATE FUNCTION fastclust_internal.present_moments(s sketch, counts drift_counts, encoder encoder,
        OUT means double precision[], OUT deviations double precision[])
    AS 'MODULE_PATHNAME', 'fastclust_present_moments' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

CREATE OR REPLACE FUNCTION fastclust_internal.version_profile(version stored_versions, max_features integer,
        "values" boolean DEFAULT false, OUT cluster integer, OUT dimension integer,
        OUT feature text, OUT kind text, OUT category text, OUT label text,
        OUT value double precision, OUT overall double precision, OUT difference double precision,
        OUT lift double precision, OUT place integer, OUT apart double precision, OUT negated text)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 1000 SET search_path FROM CURRENT AS $$
    WITH f AS MATERIALIZED (
             SELECT * FROM labelled_features(version)),
         axes AS (
             SELECT array_agg(f.axis_kind ORDER BY f.dimension) AS kinds,
                    array_agg(COALESCE(f.nulls, 0) ORDER BY f.dimension) AS nulls FROM f)
    SELECT p.cluster, p.dimension, f.feature, f.kind, f.category, f.label, p.value, p.overall,
           p.difference, p.lift, p.place, p.apart, f.negated
      FROM axes,
           present_moments(version.training_sketch, version.drift_counts, version.encoder) m,
           profile_of_centroids(version.operator, version.center, version.scale, m.means,
                                m.deviations, axes.kinds, max_features,
                                CASE WHEN NOT "values" THEN axes.nulls END, version.encoder) p
      JOIN f USING (dimension)
     WHERE version.map IS NULL
$$;

CREATE OR REPLACE FUNCTION fastclust_internal.version_rules(stored stored_models, version stored_versions,
        conditions integer, relation regclass, OUT cluster integer, OUT rule text,
        OUT "precision" double precision, OUT coverage double precision,
        OUT share double precision, OUT fidelity double precision, OUT condition text)
    RETURNS SETOF record
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off AS $$
DECLARE
    dimension integer := cardinality(means(version.training_sketch));
    scanned regclass := scanned_relation(stored, version, relation, stored.group_by);
    drawn record := rows_sampled(version, scanned, stored.group_by,
                                  greatest(least(20000, 1e7 / dimension), 2000,
                                           100.0 * clusters(version.operator)),
                                  true);
    source record := version_query(version, scanned, stored.group_by, 1e6);
    encoder encoder := COALESCE(version.encoder,
                                encoder_of_vector(version.features[1], dimension, NULL, NULL));
    total text := CASE WHEN source.weight IS NULL THEN 'count(*)' ELSE 'sum("fastclust weight")' END;
    rules_found record;
BEGIN
    WITH f AS MATERIALIZED (
             SELECT l.*, l.dimension IS NOT DISTINCT FROM l.nulls AS marks_nulls,
                    max(l.label) FILTER (WHERE l.dimension = l.nulls) OVER (PARTITION BY l.nulls)
                        AS null_label,
                    dense_rank() OVER (ORDER BY CASE WHEN l.kind = 'vector' OR l.nulls IS NULL
                                                         THEN l.feature
                                                     ELSE format('%s', l.nulls) END,
                                       l.nulls) AS number
               FROM labelled_features(version) l),
         r AS MATERIALIZED (
             SELECT q.*, row_number() OVER () AS id
               FROM rules_of_sample(COALESCE(version.micro_clusters, version.operator),
                                    rows_of_version(version,
                                                    COALESCE(drawn.labelled, drawn.sample)),
                                    drawn.sample,
                                    (SELECT array_agg(f.axis_kind ORDER BY f.dimension) FROM f),
                                    (SELECT array_agg(f.number ORDER BY f.dimension)::integer[]
                                       FROM f),
                                    conditions, version.encoder) q),
         merged_conditions AS (
             SELECT r.id, min(u.i) AS place, min(f.dimension) AS dimension,
                    max(f.feature) FILTER (WHERE NOT f.marks_nulls) AS feature,
                    max(f.kind) FILTER (WHERE NOT f.marks_nulls) AS kind,
                    max(u.lower) FILTER (WHERE NOT f.marks_nulls) AS lower,
                    min(u.upper) FILTER (WHERE NOT f.marks_nulls) AS upper,
                    max(f.label) FILTER (WHERE u.lower > '-Infinity') AS is,
                    array_agg(f.category ORDER BY u.i) AS is_not,
                    COALESCE(max(f.negated) FILTER (WHERE NOT f.marks_nulls),
                             max(f.negated)) AS negated,
                    max(f.null_label) AS null_label,
                    bool_or(f.marks_nulls AND u.lower > '-Infinity') AS is_null,
                    feature_condition(
                        encoder, scanned, array_agg(u.dimension ORDER BY u.i),
                        array_agg(u.lower ORDER BY u.i), array_agg(u.upper ORDER BY u.i),
                        array_agg(shown_value(u.lower, f.kind, true) ORDER BY u.i),
                        array_agg(shown_value(u.upper, f.kind, true) ORDER BY u.i)) AS condition
               FROM r,
                    unnest(r.dimensions, r.lower, r.upper) WITH ORDINALITY
                        u(dimension, lower, upper, i)
               JOIN f USING (dimension)
              GROUP BY r.id, f.number),
         words AS (
             SELECT a.id, string_agg(a.condition, ' AND ' ORDER BY a.place) AS condition,
                    string_agg(CASE WHEN a.is_null THEN a.null_label
                                    WHEN a.kind = 'boolean' AND a.condition LIKE '% IS NULL'
                                        THEN null_name(version.encoder, a.dimension)
                                    WHEN a.kind IN ('category', 'boolean') AND a.is IS NOT NULL
                                        THEN a.is
                                    WHEN a.kind IS NULL OR a.kind = 'boolean'
                                         OR a.kind = 'category' AND cardinality(a.is_not) = 1
                                        THEN a.negated
                                    WHEN a.kind = 'category'
                                        THEN format('%s not in (%s)', a.feature,
                                                    array_to_string(
                                                        array_replace(a.is_not, 'missing', 'NULL'),
                                                        ', '))
                                    WHEN a.condition LIKE '% IS NULL)' AND a.null_label IS NOT NULL
                                        THEN format('(%s or %s)', a.range, a.null_label)
                                    ELSE a.range END,
                               ' and ' ORDER BY a.place) AS rule
               FROM (SELECT m.*,
                            COALESCE(arc_in_words(version.encoder, m.dimension, m.lower, m.upper),
                                     CASE WHEN m.upper = 'Infinity'
                                              THEN format('%s > %s', m.feature,
                                                          shown_value(m.lower, m.kind, true))
                                          WHEN m.lower = '-Infinity'
                                              THEN format('%s <= %s', m.feature,
                                                          shown_value(m.upper, m.kind, true))
                                          ELSE format('%s < %s <= %s',
                                                      shown_value(m.lower, m.kind, true), m.feature,
                                                      shown_value(m.upper, m.kind, true)) END)
                                AS range
                       FROM merged_conditions m) a
              GROUP BY 1)
    SELECT array_agg(r.cluster ORDER BY id) AS clusters,
           array_agg(COALESCE(w.rule, 'all rows') ORDER BY id) AS rules,
           max(r.fidelity) AS fidelity,
           array_agg(COALESCE(w.condition, 'true') ORDER BY id) AS conditions,
           array_agg(r.is_short ORDER BY id) AS shorts INTO rules_found
      FROM r LEFT JOIN words w USING (id);
    -- drop a short rule if its precision is below 0.8
    RETURN QUERY EXECUTE format($query$
        WITH q AS MATERIALIZED (
                 SELECT q."fastclust cluster" AS cluster, %s AS n, ARRAY[%s] AS met
                   FROM (SELECT assign($4, %s) AS "fastclust cluster"%s%s %s) q
                  GROUP BY 1),
             r AS (
                 SELECT t.*, sum(q.met[t.id]) AS met, sum(q.n) AS rows,
                        max(q.met[t.id]) FILTER (WHERE q.cluster = t.cluster) AS hit,
                        max(q.n) FILTER (WHERE q.cluster = t.cluster) AS n
                   FROM unnest($5, $6, $7, $8)
                        WITH ORDINALITY t(cluster, rule, condition, short, id)
                  CROSS JOIN q
                  GROUP BY t.id, t.cluster, t.rule, t.condition, t.short)
        SELECT r.cluster, r.rule, r.hit / NULLIF(r.met, 0)::float8, r.hit / r.n::float8,
               (r.met / r.rows)::float8, $9, r.condition
          FROM r
         WHERE NOT r.short OR r.hit >= 0.8 * r.met $query$,
        total,
        (SELECT string_agg(format('COALESCE(%s FILTER (WHERE %s), 0)', total, c.condition), ', '
                           ORDER BY c.i)
           FROM unnest(rules_found.conditions) WITH ORDINALITY c(condition, i)),
        source.x, ', ' || source.weight || ' AS "fastclust weight"', (SELECT string_agg(format(', t.%I', c), '') FROM unnest(version.features) c),
        source.rows)
        USING version.center, version.scale, version.map,
              COALESCE(version.micro_clusters, version.operator),
              rules_found.clusters, rules_found.rules, rules_found.conditions, rules_found.shorts, rules_found.fidelity;
END
$$;

-- Queries of triggers are not compiled.
ALTER FUNCTION fastclust_owner.restored_sketches() SET jit = off;

-- Models that roles make in the place of others.
CREATE FUNCTION fastclust_owner.check_may_make_models(caller oid) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT has_schema_privilege(caller, 'fastclust', 'USAGE')
       OR NOT EXISTS (SELECT FROM pg_proc p
                       WHERE p.pronamespace = 'fastclust'::regnamespace
                         AND p.proname IN ('train', 'import_model')
                         AND has_function_privilege(caller, p.oid, 'EXECUTE')) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('role %s may not make models',
                             (SELECT r.rolname FROM pg_roles r WHERE r.oid = caller)),
            HINT = 'The right to execute the functions train or import_model is needed.';
    END IF;
END
$$;
REVOKE EXECUTE ON FUNCTION fastclust_owner.check_may_make_models(oid) FROM PUBLIC;

CREATE OR REPLACE FUNCTION fastclust_owner.locked_model(model_name text, wait boolean, make boolean, caller oid)
    RETURNS stored_models
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models;
    was_taken boolean := false;
BEGIN
    PERFORM reject_read_only();
    IF make AND COALESCE(model_name, '') = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'model must not be NULL or empty';
    ELSIF model_name IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'model must not be NULL';
    ELSIF make AND NOT EXISTS (SELECT FROM stored_models m WHERE m.model = model_name) THEN
        PERFORM check_may_make_models(caller), claim_name(model_name, wait, caller);
        LOOP
            INSERT INTO stored_models (id, model, owner)
            VALUES (new_id('stored_models', was_taken), model_name, pg_get_userbyid(caller))
            ON CONFLICT DO NOTHING;
            EXIT WHEN FOUND OR EXISTS (SELECT FROM stored_models m WHERE m.model = model_name);
            was_taken := true;
        END LOOP;
    END IF;
    SELECT * INTO stored FROM stored_models m WHERE m.model = model_name;
    IF stored.id IS NOT NULL AND is_member(caller, stored.owner_id) THEN
        BEGIN
            IF wait IS NOT FALSE THEN
                SELECT * INTO stored
                  FROM stored_models m
                 WHERE m.id = stored.id AND m.model = model_name
                   FOR UPDATE;
            ELSE
                SELECT * INTO stored
                  FROM stored_models m
                 WHERE m.id = stored.id AND m.model = model_name
                   FOR UPDATE NOWAIT;
            END IF;
        EXCEPTION WHEN lock_not_available THEN
            IF wait IS NOT FALSE THEN
                RAISE;
            END IF;
            RAISE lock_not_available USING
                MESSAGE = format('model "%s" is being trained by another session', model_name),
                HINT = 'Leave out the option nowait to wait for it.';
        END;
        IF stored.id IS NULL THEN
            RAISE undefined_object USING
                MESSAGE = format('model "%s" was dropped or renamed concurrently', model_name);
        END IF;
        IF make AND stored.owner_id <> caller
           AND NOT (is_superuser(caller) AND is_superuser(stored.owner_id)) THEN
            RAISE insufficient_privilege USING
                MESSAGE = format('model "%s" belongs to %s, who would own what is trained',
                                 model_name, stored.owner),
                HINT = CASE WHEN EXISTS (SELECT FROM pg_roles r WHERE r.oid = stored.owner_id)
                                THEN format('Choose another name. For a new version of this model, use retrain, or log in as %I.',
                                            stored.owner)
                            ELSE format('This role was dropped. Choose another name, or give the model to a role first: UPDATE fastclust_internal.stored_models SET owner = %L WHERE model = %L.',
                                        pg_get_userbyid(caller), model_name) END;
        END IF;
        -- The owner may have changed during the wait.
        IF is_member(caller, stored.owner_id) THEN
            RETURN stored;
        END IF;
    END IF;
    IF stored.id IS NOT NULL AND make THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('model "%s" belongs to another role', model_name),
            HINT = 'Choose another name.';
    ELSIF is_reader(caller, stored) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('model "%s" belongs to %s', model_name, stored.owner),
            HINT = 'Only the owner of a model and members of that role may change it.';
    END IF;
    RAISE undefined_object USING MESSAGE = format('model "%s" does not exist', model_name),
        HINT = (SELECT missing_model_hint(
                           model_name,
                           COALESCE(array_agg(q.model ORDER BY q.model) FILTER (WHERE q.readable), '{}'),
                           bool_or(NOT q.readable))
                  FROM (SELECT m.model, COALESCE(is_member(caller, m.owner_id)
                                                 OR is_reader(caller, m), false) AS readable
                          FROM stored_models m) q);
END
$$;

-- grant_model and revoke_model check the role.
CREATE OR REPLACE FUNCTION fastclust_owner.grant_model(model text, role name, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model, true, false, caller);
BEGIN
    IF role IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'role must not be NULL';
    ELSIF role <> 'public' AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role) THEN
        RAISE undefined_object USING MESSAGE = format('role "%s" does not exist', role),
            HINT = 'The view pg_roles lists all roles. Everyone is "public", in lower case.';
    END IF;
    UPDATE stored_models m SET readers = present_readers(m, role) || role WHERE m.id = stored.id;
END
$$;
CREATE OR REPLACE FUNCTION fastclust_owner.revoke_model(model text, role name, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model, true, false, caller);
BEGIN
    IF role IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'role must not be NULL';
    ELSIF role <> 'public' AND role <> ALL (stored.readers::name[])
          AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role) THEN
        RAISE undefined_object USING MESSAGE = format('role "%s" does not exist', role),
            HINT = 'Column readers of the view models lists the readers. Everyone is "public", in lower case.';
    END IF;
    UPDATE stored_models m SET readers = present_readers(m, role) WHERE m.id = stored.id;
END
$$;

-- Errors of drift and cluster_rules do not have a long query as their context.
CREATE FUNCTION fastclust_internal.drift_of_rows(stored stored_models,
        group_version stored_versions, relation regclass, by name, by_group boolean, since jsonb,
        OUT value text, OUT mmd2 double precision, OUT null_sd double precision,
        OUT p_value double precision, OUT fit_residual double precision, OUT n bigint,
        OUT effect double precision, OUT verdict text, OUT columns jsonb, OUT units bigint[])
    RETURNS SETOF record
    LANGUAGE sql STABLE ROWS 1 SET search_path FROM CURRENT AS $$
    -- New values take a scan for each value of `by`, so only the ten largest effects have them.
    SELECT r.value, d.mmd2, d.null_sd, d.p_value, d.fit_residual, d.n, d.effect,
           CASE WHEN by_group AND (r.compared).group_value IS NULL THEN 'new group'
                WHEN by_group AND d.n = 0 THEN 'gone'
                ELSE d.verdict END,
           CASE WHEN r.scanned IS NOT NULL AND d.columns <> '[]'
                     AND row_number() OVER (ORDER BY d.effect DESC NULLS LAST) <= 10
                    THEN with_new_values(r.compared, r.scanned, d.columns,
                                         CASE WHEN by_group THEN stored.group_by ELSE by END,
                                         r.value)
                ELSE d.columns END,
           d.units
      FROM (SELECT c.*, row_number() OVER () AS place
              FROM compared_groups(stored, group_version, relation, since) c
             WHERE by_group
             UNION ALL
            SELECT c.*, row_number() OVER ()
              FROM compared_rows(stored, group_version, relation, by, since) c
             WHERE NOT by_group) r,
           LATERAL version_drift(r.compared, r.s, r.counts, counted => r.n) d
     ORDER BY r.place
$$;
CREATE OR REPLACE FUNCTION fastclust_internal.read_drift(model text, relation regclass, sketch sketch,
        by name, version integer, since jsonb, OUT value text, OUT mmd2 double precision,
        OUT null_sd double precision, OUT p_value double precision,
        OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns jsonb, OUT units bigint[])
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 1 SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := CASE WHEN $5 = -1 THEN readable_model($1)
                               ELSE at_version(readable_model($1), $5) END;
    by_group boolean := stored.group_by IS NOT NULL AND $4 IN (stored.group_by, 'group');
    group_version stored_versions := largest_group(stored, by_group);
    recent jsonb := COALESCE($6, group_version.options -> 'since');
BEGIN
    IF $3 IS NOT NULL AND ($2 IS NOT NULL OR $4 IS NOT NULL OR $6 IS NOT NULL) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('sketch and %s exclude each other',
                             CASE WHEN $2 IS NOT NULL THEN 'relation'
                                  WHEN $4 IS NOT NULL THEN 'by'
                                  ELSE 'since' END);
    ELSIF by_group AND recent ? 'baseline' THEN
        RAISE feature_not_supported USING
            MESSAGE = 'each group is compared with its training rows, not with a baseline',
            HINT = 'Remove the key baseline from since.';
    ELSIF $3 IS NOT NULL AND group_version.options ? 'unit' THEN
        RAISE feature_not_supported USING
            MESSAGE = format(
                          'a sketch does not tell the units of its rows, which option "unit" of model "%s" needs',
                          $1),
            HINT = 'Use drift(model, relation), which reads the units.';
    ELSIF $3 IS NOT NULL AND NOT has_all_dimensions(spec(group_version.training_sketch)) THEN
        RAISE feature_not_supported USING
            MESSAGE = format('a sketch alone does not show drift of model "%s"', $1),
            DETAIL = 'The sketch is projected on axes of the training sample, which fit other rows less well.',
            HINT = 'Use drift(model, relation), which counts the rows.';
    ELSIF $3 IS NOT NULL THEN
        PERFORM report_uncounted_nulls(group_version, 'The new rows are in a sketch');
        RETURN QUERY SELECT NULL::text, d.* FROM version_drift(group_version, $3, NULL) d;
    ELSE
        RETURN QUERY
            SELECT d.* FROM drift_of_rows(stored, group_version, $2, $4, by_group, recent) d;
    END IF;
END
$$;
CREATE FUNCTION fastclust_internal.named_rules(stored stored_models, version stored_versions,
        conditions integer, relation regclass, OUT cluster integer, OUT name text, OUT rule text,
        OUT "precision" double precision, OUT coverage double precision, OUT rows bigint,
        OUT fidelity double precision, OUT condition text)
    RETURNS SETOF record
    LANGUAGE sql STABLE ROWS 10 SET search_path FROM CURRENT AS $$
    SELECT n.cluster, n.name,
           COALESCE(r.rule,
                    format('no rule with %s distinguishes this cluster',
                           CASE WHEN conditions = 1 THEN 'one column'
                                ELSE format('%s columns or fewer', conditions) END)),
           r.precision, COALESCE(r.coverage, 0),
           COALESCE(round(r.share * CASE WHEN version.cluster_rows IS NULL THEN version.n
                                         ELSE clustered_rows(version) END)::bigint,
                    0), max(r.fidelity) OVER (), r.condition
      FROM version_names(version) n
      LEFT JOIN version_rules(stored, version, conditions, relation) r USING (cluster)
     ORDER BY n.cluster, r.coverage DESC, r.share DESC
$$;
CREATE OR REPLACE FUNCTION fastclust.cluster_rules(model text, conditions integer DEFAULT 4,
        relation regclass DEFAULT NULL, group_value anycompatible DEFAULT NULL,
        OUT cluster integer, OUT name text, OUT rule text, OUT "precision" double precision,
        OUT coverage double precision, OUT rows bigint, OUT fidelity double precision,
        OUT condition text)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 10 SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := readable_model($1);
    version stored_versions := explained_version(stored, group_of($1, -1, $4));
BEGIN
    IF $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'conditions must not be NULL';
    ELSIF $2 NOT BETWEEN 1 AND 10 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('conditions is %s, out of range', $2),
            DETAIL = 'Valid values are from 1 to 10.';
    END IF;
    RETURN QUERY
        SELECT r.* FROM named_rules(stored, version, $2, $3) r;
END
$$;

-- Words of a topic that are shown once, also if several lexemes have one token.
CREATE OR REPLACE FUNCTION fastclust.name_topics(model text, text_column name, words integer DEFAULT 5,
        group_value anycompatible DEFAULT NULL, bigrams boolean DEFAULT false,
        configuration regconfig DEFAULT NULL, OUT cluster integer, OUT name text,
        OUT top_words text[], OUT texts text[])
    RETURNS SETOF record
    LANGUAGE plpgsql ROWS 10
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off SET client_min_messages = warning AS $$
DECLARE
    stored stored_models := readable_model($1);
    version stored_versions := explained_version(stored, group_of($1, -1, $4));
    scanned regclass := scanned_relation(stored, version, NULL, stored.group_by);
    wanted float8 := greatest(20000, 200 * clusters(version.operator));
    source record := version_query(version, scanned, stored.group_by, wanted);
    used regconfig := COALESCE($6, get_current_ts_config());
    type regtype := (SELECT max(a.atttypid) FROM pg_attribute a
                      WHERE a.attrelid = scanned
                        AND a.attname = $2
                        AND a.attnum > 0
                        AND NOT a.attisdropped);
    named integer[] := ARRAY(SELECT g.cluster FROM given_names(version) g);
    found jsonb;
BEGIN
    IF $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'text_column must not be NULL';
    ELSIF type IS NULL OR EXISTS (SELECT FROM pg_type t WHERE t.oid = type AND t.typcategory <> 'S') THEN
        RAISE EXCEPTION USING
            ERRCODE = CASE WHEN type IS NULL THEN 'undefined_column' ELSE 'datatype_mismatch' END,
            MESSAGE = CASE WHEN type IS NULL
                               THEN format('column "%s" of %s does not exist', $2, scanned)
                           ELSE format('column "%s" of %s is of type %s, not text', $2, scanned,
                                       type) END,
            HINT = COALESCE((SELECT format(
                                        'Columns of text are %s.',
                                        string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum))
                               FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
                              WHERE a.attrelid = scanned
                                AND a.attnum > 0
                                AND NOT a.attisdropped
                                AND t.typcategory = 'S'
                             HAVING count(*) > 0),
                            'The table has no columns of text.');
    END IF;
    PERFORM check_stored_scan(stored, version, scanned, version.features || $2, false);
    IF $3 IS NULL OR $3 NOT BETWEEN 1 AND 20 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('words is %s, out of range', COALESCE($3::text, 'NULL')),
            DETAIL = 'Valid values are from 1 to 20.';
    END IF;
    -- version_query samples tables of more than three times the wanted rows
    PERFORM show_step(stored.id, stored.model, 'words',
                      (SELECT CASE WHEN r > 3 * wanted THEN wanted ELSE r END
                         FROM estimated_rows(scanned) r));
    EXECUTE format(
                $query$
        -- LIMIT ALL computes x once, as OFFSET 0 does, but allows workers
        WITH labelled AS MATERIALIZED (
                 SELECT assign($4, x.x) AS cluster, assign_distance($4, x.x) AS distance, x.text,
                        to_tsvector($5, x.text) AS lexemes
                   FROM (SELECT %1$s AS x, %2$s AS text %3$s LIMIT ALL) x),
             typical_words AS MATERIALIZED (
                 SELECT w.*
                   FROM (SELECT typical_words_agg(l.cluster, l.lexemes, $6, $7) AS words
                           FROM labelled l) q, unnest(q.words) w),
             rows AS MATERIALIZED (
                 SELECT *
                   FROM (SELECT l.cluster, l.text, row_number() OVER (
                                    PARTITION BY l.cluster ORDER BY l.distance, l.text) AS place
                           FROM labelled l
                          WHERE l.text IS NOT NULL) r
                  WHERE r.place <= $8),
             tokens AS MATERIALIZED (
                 SELECT p.cluster, lower(p.token) AS token, count(*) AS n
                   FROM (SELECT r.cluster,
                                (ts_parse((SELECT c.cfgparser FROM pg_ts_config c WHERE c.oid = $5),
                                          r.text)).token
                           FROM rows r) p
                  WHERE p.token <> ' '
                  GROUP BY 1, 2),
             forms AS MATERIALIZED (
                 SELECT DISTINCT ON (t.cluster, l.lexeme) t.cluster, l.lexeme, t.token
                   FROM (SELECT d.token, u.lexeme
                           FROM (SELECT DISTINCT token FROM tokens) d,
                                unnest(to_tsvector($5, d.token)) u
                         OFFSET 0) l
                   JOIN tokens t USING (token)
                   JOIN (SELECT DISTINCT w.cluster, unnest(w.lexemes) AS lexeme
                           FROM typical_words w) w USING (cluster, lexeme)
                  ORDER BY 1, 2, t.n DESC, length(t.token), t.token)
        SELECT jsonb_agg(to_jsonb(f) ORDER BY f.cluster)
          FROM (SELECT c.cluster, w.words, n.texts
                  FROM unnest(cluster_numbers($4)) c(cluster)
                  -- a URL is the most frequent token of several lexemes, its path among them
                  LEFT JOIN (SELECT t.cluster, array_agg(t.shown ORDER BY t.place) AS words
                               FROM (SELECT t.cluster, s.shown, min(t.place) AS place
                                       FROM typical_words t,
                                            LATERAL (SELECT string_agg(COALESCE(f.token, l.lexeme), ' ' ORDER BY l.i) AS shown
                                                       FROM unnest(t.lexemes) WITH ORDINALITY l(lexeme, i)
                                                       LEFT JOIN forms f ON f.cluster = t.cluster
                                                                        AND f.lexeme = l.lexeme) s
                                      GROUP BY 1, 2) t
                              GROUP BY 1) w USING (cluster)
                  LEFT JOIN (SELECT r.cluster, array_agg(r.text ORDER BY r.place) AS texts
                               FROM rows r WHERE r.place <= 3 GROUP BY 1) n USING (cluster)) f
        $query$,
                source.x, format('left(t.%I::text, 100000)', $2), source.rows)
        INTO found
        USING version.center, version.scale, version.map, version.operator, used,
              COALESCE($5, false), $3, 50;
    PERFORM show_step(NULL, NULL, NULL, NULL);
    PERFORM fastclust_internal.name_cluster($1, f.cluster,
                                            left(array_to_string(f.words[:3], ', '), 200),
                                            CASE WHEN $4 IS NOT NULL
                                                     THEN version.group_value END)
       FROM jsonb_to_recordset(found) f(cluster integer, words text[])
      WHERE f.words IS NOT NULL
        AND NOT COALESCE(f.cluster = ANY (named), false);
    PERFORM update_names(stored.id);
    RETURN QUERY
    SELECT f.cluster, n.name, f.words, f.texts
      FROM jsonb_to_recordset(found) f(cluster integer, words text[], texts text[])
      LEFT JOIN version_names(version) n USING (cluster)
     ORDER BY 1;
END
$$;

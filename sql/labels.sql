-- write_labels writes the cluster of every row to a table: the label is that of predict, the
-- write is all or nothing, and a table that follows its model changes only where labels change.
CREATE TABLE orders AS
SELECT i AS id, ARRAY[i % 3 * 5 + (i * 7919 % 101) / 101.0, i % 5]::real[] AS x, CASE i % 2 WHEN 0 THEN 'even' ELSE 'odd' END AS kind,
       CASE WHEN i % 11 > 0 THEN i % 7 * 2.0 END AS amount, (ARRAY['web', 'shop', 'phone'])[1 + i % 3] AS channel FROM generate_series(1, 3000) i;
INSERT INTO orders VALUES (3001, NULL, 'odd', NULL, NULL), (3002, '{1,2}', NULL, 3, 'web'), (3003, '{0,0}', 'even', 1, NULL);
ALTER TABLE orders ADD PRIMARY KEY (id);
ANALYZE orders;
SELECT train('vectors', 'orders', 'x', 3, options => '{"quiet": true}'), train('cosine', 'orders', 'x', 3, options => '{"quiet": true, "metric": "cosine"}'),
       train('groups', 'orders', 'x', 2, options => '{"quiet": true, "group_by": "kind"}'), train('columns', 'orders', '{amount,channel}', 3, options => '{"quiet": true}'),
       train('skipped', 'orders', '{amount,channel}', 3, options => '{"quiet": true, "encoder": {"nulls": "skip"}}'),
       train('kernel', 'orders', 'x', 3, 'kernel', '{"quiet": true}'), train('product', 'orders', 'x', 3, 'qkmeans', '{"quiet": true}'),
       train('some', 'orders', '{amount}', 2, options => '{"quiet": true, "where": "kind = ''odd''"}');

-- Each row has the label and the distance of predict; a row without a cluster has NULL.
CREATE FUNCTION written(model text, options jsonb DEFAULT '{"distance": true}') RETURNS bigint LANGUAGE sql AS $$
    SELECT write_labels(model, 'orders', 'labels_of_' || model, options)
$$;
SELECT written('vectors') AS vectors, written('cosine') AS cosine, written('groups') AS groups,
       written('columns') AS columns, written('skipped') AS skipped,
       written('kernel') AS kernel, written('product') AS product, written('some') AS some;
SELECT count(*) AS rows, count(l.cluster) AS labelled, count(*) FILTER (WHERE l.cluster IS DISTINCT
  FROM predict('vectors', t.x) OR l.distance IS DISTINCT FROM predict_distance('vectors', t.x))
      AS not_as_predicted FROM labels_of_vectors l JOIN orders t USING (id);
SELECT count(*) AS rows, count(l.cluster) AS labelled, count(*) FILTER (WHERE l.cluster IS DISTINCT
  FROM predict('cosine', t.x) OR l.distance IS DISTINCT FROM predict_distance('cosine', t.x))
      AS not_as_predicted FROM labels_of_cosine l JOIN orders t USING (id);
SELECT count(*) AS rows, count(l.cluster) AS labelled, count(*) FILTER (WHERE l.cluster IS DISTINCT
  FROM predict('groups', t) OR l.distance IS DISTINCT FROM predict_distance('groups', t))
      AS not_as_predicted FROM labels_of_groups l JOIN orders t USING (id);
SELECT count(*) AS rows, count(l.cluster) AS labelled, count(*) FILTER (WHERE l.cluster IS DISTINCT
  FROM predict('columns', t) OR l.distance IS DISTINCT FROM predict_distance('columns', t))
      AS not_as_predicted FROM labels_of_columns l JOIN orders t USING (id);
SELECT count(*) AS rows, count(l.cluster) AS labelled, count(*) FILTER (WHERE l.cluster IS DISTINCT
  FROM predict('skipped', t) OR l.distance IS DISTINCT FROM predict_distance('skipped', t))
      AS not_as_predicted FROM labels_of_skipped l JOIN orders t USING (id);
SELECT count(*) AS rows, count(l.cluster) AS labelled, count(*) FILTER (WHERE l.cluster IS DISTINCT
  FROM predict('kernel', t.x) OR l.distance IS DISTINCT FROM predict_distance('kernel', t.x))
      AS not_as_predicted FROM labels_of_kernel l JOIN orders t USING (id);
SELECT count(*) AS rows, count(l.cluster) AS labelled, count(*) FILTER (WHERE l.cluster IS DISTINCT
  FROM predict('product', t.x) OR l.distance IS DISTINCT FROM predict_distance('product', t.x))
      AS not_as_predicted FROM labels_of_product l JOIN orders t USING (id);
-- Vectors are labelled in batches if no distances are written, with the same labels.
SELECT m AS model, write_labels(m, 'orders', 'again_' || m) FROM unnest('{vectors,cosine,kernel,product}'::text[]) m;
SELECT 'vectors' AS model, count(*) AS rows, count(l.cluster) AS labelled,
       count(*) FILTER (WHERE l.cluster IS DISTINCT FROM predict('vectors', t.x))
       AS not_as_predicted FROM again_vectors l JOIN orders t USING (id) UNION ALL
SELECT 'cosine', count(*), count(l.cluster), count(*) FILTER (WHERE l.cluster IS DISTINCT
  FROM predict('cosine', t.x)) FROM again_cosine l JOIN orders t USING (id) UNION ALL
SELECT 'kernel', count(*), count(l.cluster), count(*) FILTER (WHERE l.cluster IS DISTINCT
  FROM predict('kernel', t.x)) FROM again_kernel l JOIN orders t USING (id) UNION ALL
SELECT 'product', count(*), count(l.cluster), count(*) FILTER (WHERE l.cluster IS DISTINCT
  FROM predict('product', t.x)) FROM again_product l JOIN orders t USING (id) ORDER BY 1;
-- Parallel workers write the same labels.
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT write_labels('columns', 'orders', 'labels_by_workers', '{"name": true}');
SELECT count(*) AS rows, count(*) FILTER (WHERE w.cluster IS DISTINCT FROM l.cluster)
       AS other_labels FROM labels_by_workers w JOIN labels_of_columns l USING (id);
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;

-- Models of columns with and without NULLs are written right, also where names of tables, columns
-- and models look like format strings.
CREATE TABLE "100 %s" AS SELECT id, amount AS "%s", id % 7 AS b, amount::numeric AS n, channel || '%L' AS c FROM orders WHERE id <= 3000;
SELECT train('%1$s', '"100 %s"', '{%s,b,n}', 3, options => '{"quiet": true}'), train('one', '"100 %s"', '{b}', 2, options => '{"quiet": true}'), train('%I', '"100 %s"', '{b,c}', 2, options => '{"quiet": true}');
SELECT write_labels(m, '"100 %s"', 'of_' || i, '{"key": ["id", "%s"], "name": true, "distance": true, "where": "c LIKE ''%L''"}') FROM unnest('{%1$s,one,%I}'::text[]) WITH ORDINALITY u(m, i);
SELECT count(*) AS rows, count(l.cluster) AS labelled, count(l.cluster_name) AS named,
       count(*) FILTER (WHERE (l.cluster, l.distance) IS DISTINCT
         FROM (predict('%1$s', t), predict_distance('%1$s', t))) AS not_as_predicted
  FROM of_1 l JOIN "100 %s" t USING (id);
SELECT count(*) AS rows, count(*) FILTER (WHERE (l.cluster, l.distance) IS DISTINCT
  FROM (predict('one', t), predict_distance('one', t))) AS not_as_predicted
  FROM of_2 l JOIN "100 %s" t USING (id);
SELECT count(*) AS rows, count(*) FILTER (WHERE (l.cluster, l.distance) IS DISTINCT
  FROM (predict('%I', t), predict_distance('%I', t))) AS not_as_predicted
  FROM of_3 l JOIN "100 %s" t USING (id);

-- The model's condition, or the option where, decides which rows are written.
SELECT count(*) AS rows, min(id) AS first FROM labels_of_some;
SELECT write_labels('some', 'orders', 'some_labels', '{"where": "id > 2990"}'), write_labels('some', 'orders', 'some_labels', '{"where": "id <= 10 AND kind = ''even''", "append": true}'),
       write_labels('some', 'orders', 'some_labels', '{"where": "id = 20", "append": true}');
SET client_min_messages = notice;
CREATE VIEW even AS SELECT * FROM orders WHERE kind = 'even';
SELECT write_labels('some', 'even', 'even_labels', '{"key": "id"}'), write_labels('some', 'even', 'even_labels', '{"key": "id", "replace": true, "where": "true"}');
SET client_min_messages = warning;
DROP TABLE even_labels; DROP VIEW even;
SELECT count(*) AS rows, min(id), max(id) FROM some_labels;

-- Names are written where requested, for groups, too. The key may have several columns, the
-- source may be a view, and train and write_labels may share a statement.
SELECT name_cluster('groups', 0, 'the first', 'odd'), name_cluster('vectors', 1, 'mine');
SELECT written('groups', '{"replace": true, "name": true}');
DROP TABLE labels_of_groups;
SELECT written('groups', '{"name": true, "key": ["kind", "id"]}'), write_labels('vectors', 'orders', 'named', '{"name": true, "distance": true}');
SELECT l.kind, count(*) AS rows, count(l.cluster_name) AS named,
       count(*) FILTER (WHERE c.name IS DISTINCT FROM l.cluster_name) AS other_names,
       count(*) FILTER (WHERE l.cluster_name = 'the first') > 0 AS has_the_first
  FROM labels_of_groups l LEFT JOIN model_clusters c ON c.model = 'groups' AND c.group_value = l.kind AND c.cluster = l.cluster GROUP BY 1 ORDER BY 1;
SELECT string_agg(attname || ' ' || atttypid::regtype, ', ' ORDER BY attnum) AS columns
  FROM pg_attribute WHERE attrelid = 'named'::regclass AND attnum > 0;
CREATE VIEW recent AS SELECT * FROM orders WHERE id > 1500;
SELECT write_labels('vectors', 'recent', 'pg_temp.recent_labels', '{"key": "id"}')
       AS labels_written, count(*) AS rows FROM recent;
SELECT c.relpersistence, (SELECT count(*) AS labels FROM recent_labels)
  FROM pg_class c WHERE c.oid = 'recent_labels'::regclass;
SELECT write_labels('kinds', 'orders', '"Labels of kinds"') FROM train('kinds', 'orders', '{amount}', 4, options => '{"quiet": true}');
SELECT count(DISTINCT cluster) AS clusters FROM "Labels of kinds";

-- Checks, generated columns, partitions, triggers, views and dropped columns of the target table
-- are respected: its rows then come by INSERT.
CREATE TABLE strict (key_of_row int, cluster smallint CHECK (cluster <> 1), id bigint PRIMARY KEY, at int DEFAULT 7, twice int GENERATED ALWAYS AS (cluster * 2) STORED);
\set VERBOSITY terse
SELECT write_labels('vectors', 'orders', 'strict', '{"append": true, "where": "id < 100"}');
\set VERBOSITY default
ALTER TABLE strict DROP CONSTRAINT strict_cluster_check, DROP COLUMN key_of_row;
SELECT write_labels('vectors', 'orders', 'strict', '{"append": true, "where": "id < 100"}');
SELECT write_labels('vectors', 'orders', 'strict', '{"append": true, "where": "id < 200"}');
SELECT write_labels('vectors', 'orders', 'strict', '{"replace": true, "where": "id < 200"}');
SELECT count(*) AS rows, count(*) FILTER (WHERE at = 7 AND twice = cluster * 2)
       AS rows_with_default_and_generated FROM strict WHERE cluster IS NOT NULL;
CREATE TABLE parts (id int, cluster int) PARTITION BY LIST (cluster);
CREATE TABLE part_of_0 PARTITION OF parts FOR VALUES IN (0);
CREATE TABLE part_of_others PARTITION OF parts DEFAULT;
SELECT write_labels('vectors', 'orders', 'parts', '{"append": true}'), write_labels('vectors', 'orders', 'parts', '{"replace": true}');
SELECT count(*) AS rows, (SELECT count(*) FROM part_of_0) - (SELECT count(*)
  FROM labels_of_vectors WHERE cluster = 0) AS rows_missing_in_partition FROM parts;
CREATE TABLE counted (id int, cluster int);
CREATE FUNCTION count_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.cluster := -1; RETURN NEW; END';
CREATE TRIGGER each_row BEFORE INSERT ON counted FOR EACH ROW EXECUTE FUNCTION count_row();
CREATE VIEW window_of_counted AS SELECT * FROM counted;
SELECT write_labels('vectors', 'orders', 'window_of_counted', '{"append": true}'), write_labels('vectors', 'orders', 'window_of_counted', '{"replace": true}');
SELECT cluster, count(*) AS rows FROM counted GROUP BY 1;
CREATE TABLE dropped (id int, more text, cluster int);
ALTER TABLE dropped DROP COLUMN more;
SELECT write_labels('vectors', 'orders', 'dropped', '{"append": true}');
SELECT count(*) AS same_labels
  FROM dropped d JOIN labels_of_vectors l USING (id) WHERE d.cluster IS NOT DISTINCT FROM l.cluster;

-- Keys of 10 kB are written unchanged, and a source without rows gives an empty table.
CREATE TABLE wide AS SELECT repeat(md5(i::text), 20) || i AS id, (SELECT string_agg(md5((i * j)::text), '') FROM generate_series(1, 300) j) AS long, amount, channel FROM orders, LATERAL (SELECT id AS i) o WHERE id <= 1200;
SELECT write_labels('columns', 'wide', 'wide_labels', '{"key": "{id,long}"}');
SELECT count(*) AS rows_with_their_key FROM wide JOIN wide_labels USING (id, long);
SELECT write_labels('columns', 'wide', 'no_labels', '{"key": "id", "where": "false"}');
CREATE TABLE wide_vectors AS SELECT 'key ' || id AS id, (SELECT string_agg(md5((id * j)::text), '') FROM generate_series(1, 300) j) AS long, x FROM orders;
SELECT write_labels('vectors', 'wide_vectors', 'wide_vector_labels', '{"key": "{id,long}"}');
SELECT count(*) AS rows, count(l.cluster) AS labelled, count(*) FILTER (WHERE l.cluster IS DISTINCT
  FROM predict('vectors', t.x)) AS not_as_predicted
  FROM wide_vectors t JOIN wide_vector_labels l USING (id, long);

-- A rollback undoes a write completely, also to a savepoint and of a table created in the
-- transaction.
BEGIN;
SELECT write_labels('vectors', 'orders', 'undone', '{"where": "id <= 1000"}');
SAVEPOINT s;
SELECT write_labels('vectors', 'orders', 'undone', '{"append": true, "where": "id > 1000"}');
ROLLBACK TO s;
SELECT count(*) AS labels FROM undone;
ROLLBACK;
SELECT to_regclass('undone') AS undone_table;

-- The key is the primary key of the table if it is the primary key of the relation, so that the
-- table can be replicated. Indexes are valid after `replace`, and no key is written twice. A parent
-- of tables may have equal keys, and gets no primary key.
SELECT write_labels('vectors', 'orders', 'keyed'), write_labels('vectors', 'orders', 'unkeyed', '{"key": ["id", "kind"]}');
CREATE INDEX ON keyed (cluster);
SELECT write_labels('vectors', 'orders', 'keyed', '{"replace": true}');
SET enable_seqscan = off; SET enable_bitmapscan = off;
SELECT count(*) AS found_by_cluster FROM keyed WHERE cluster >= 0;
SELECT count(*) AS found_by_key FROM orders o WHERE EXISTS (SELECT FROM keyed k WHERE k.id = o.id);
RESET enable_seqscan; RESET enable_bitmapscan;
SELECT conrelid::regclass AS labels, pg_get_constraintdef(oid) AS primary_key FROM pg_constraint
 WHERE conrelid IN ('keyed'::regclass, 'unkeyed'::regclass) AND contype = 'p';
SELECT write_labels('vectors', 'orders', 'keyed', '{"append": true}');
DELETE FROM unkeyed; ALTER TABLE unkeyed ALTER kind SET NOT NULL;
\set VERBOSITY terse
SELECT write_labels('vectors', 'orders', 'unkeyed', '{"key": ["id", "kind"], "replace": true}');
\set VERBOSITY default
CREATE TABLE parent (LIKE orders INCLUDING ALL);
CREATE TABLE child () INHERITS (parent);
INSERT INTO parent SELECT * FROM orders WHERE id <= 20;
INSERT INTO child SELECT * FROM orders WHERE id <= 10;
SELECT write_labels('vectors', 'parent', 'labels_of_parent') AS rows_of_parent_and_child;
DROP TABLE keyed, unkeyed, labels_of_parent, child, parent;

-- A table that is written again keeps its columns filled, unless the options say otherwise.
SELECT write_labels('columns', 'orders', 'refilled', '{"name": true, "distance": true}'), write_labels('columns', 'orders', 'refilled', '{"replace": true}');
SELECT count(*) AS rows, count(cluster_name) = count(cluster) AS has_names, count(distance) = count(cluster) AS has_distances FROM refilled;
SELECT write_labels('columns', 'orders', 'refilled', '{"replace": true, "name": false, "where": "id > 10"}'), write_labels('columns', 'orders', 'refilled', '{"append": true, "where": "id <= 10"}');
SELECT count(*) AS rows, count(cluster_name) AS named, count(distance) = count(cluster) AS has_distances FROM refilled;
-- Columns that the caller may not fill stay empty, as if the options left them out.
CREATE ROLE regress_writer;
GRANT SELECT ON orders TO regress_writer; GRANT SELECT, INSERT (id, cluster, distance) ON refilled TO regress_writer;
SELECT grant_model('columns', 'regress_writer');
DELETE FROM refilled;
SET ROLE regress_writer;
SELECT write_labels('columns', 'orders', 'refilled', '{"append": true, "where": "id <= 10"}');
RESET ROLE;
SELECT count(*) AS rows, count(cluster_name) AS named, count(distance) = count(cluster) AS has_distances FROM refilled;
SELECT revoke_model('columns', 'regress_writer');
REVOKE ALL ON orders FROM regress_writer;
DROP TABLE refilled;
DROP ROLE regress_writer;

-- No row gets a second label, and a key identifies rows. In a table with further columns, such as a
-- time, keys may repeat.
CREATE TABLE keyless AS SELECT id, 'other' AS kind, amount, channel, id % 2 = 0 AS flag FROM orders;
SELECT write_labels('columns', 'keyless', 'twice', '{"key": ["id", "kind"], "where": "id <= 2000"}');
SELECT write_labels('columns', 'keyless', 'twice', '{"key": ["id", "kind"], "append": true}');
SELECT write_labels('columns', 'keyless', 'twice', '{"key": ["id", "kind"], "append": true, "where": "id > 2000"}');
SELECT count(*) AS rows, count(DISTINCT id) AS ids FROM twice;
SELECT write_labels('columns', 'keyless', 'flags', '{"key": "flag", "where": "flag"}');
SELECT write_labels('columns', 'keyless', 'flags', '{"key": ["flag", "kind"], "where": "id = 1 OR id = 3"}');
-- A table made by hand may have another collation than the rows. Its collation decides which keys are equal.
CREATE TABLE codes AS SELECT ('k' || id) COLLATE "C" AS code, amount, channel FROM keyless WHERE id <= 20;
CREATE TABLE code_labels (code text COLLATE "POSIX", cluster int);
SELECT write_labels('columns', 'codes', 'code_labels', '{"key": "code", "append": true, "where": "code < ''k2''"}');
SELECT write_labels('columns', 'codes', 'code_labels', '{"key": "code", "append": true, "where": "code >= ''k2''"}');
SELECT write_labels('columns', 'codes', 'code_labels', '{"key": "code", "append": true, "where": "code >= ''k9''"}');
DROP TABLE codes, code_labels;
-- A unique column may be NULL in several rows, which are not labels of each other.
CREATE TABLE mails AS SELECT id, CASE WHEN id % 3 > 0 THEN 'm' || id END AS mail, amount, channel FROM keyless WHERE id <= 20;
CREATE UNIQUE INDEX ON mails (mail);
SELECT write_labels('columns', 'mails', 'mail_labels', '{"key": "mail", "where": "id <= 9"}');
SELECT write_labels('columns', 'mails', 'mail_labels', '{"key": "mail", "append": true, "where": "id > 9"}');
SELECT write_labels('columns', 'mails', 'mail_labels', '{"key": "mail", "append": true, "where": "id > 19"}');
SELECT write_labels('columns', 'mails', 'pair_labels', '{"key": ["id", "mail"]}');
SELECT write_labels('columns', 'mails', 'pair_labels', '{"key": ["id", "mail"], "append": true, "where": "id = 3"}');
DROP TABLE mails, mail_labels, pair_labels;
-- Appended rows find their labels by the key, and are not compared with each label.
CREATE SEQUENCE compared;
CREATE FUNCTION count_compared(int) RETURNS boolean LANGUAGE sql AS 'SELECT nextval(''public.compared'') > 0';
CREATE DOMAIN counted_key AS int CHECK (count_compared(VALUE));
CREATE TABLE compared_labels (id counted_key, cluster int);
SELECT write_labels('columns', 'keyless', 'compared_labels', '{"key": "id", "append": true, "where": "id <= 2000"}');
SELECT write_labels('columns', 'keyless', 'compared_labels', '{"key": "id", "append": true, "where": "id > 2000"}');
SELECT nextval('compared') < 5 * (SELECT count(*) FROM compared_labels) AS few_compared;
DROP TABLE compared_labels; DROP DOMAIN counted_key; DROP FUNCTION count_compared; DROP SEQUENCE compared;
-- Keys are equal as their type says: citext ignores case.
DO $$
DECLARE
    found text;
BEGIN
    IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'citext') THEN
        CREATE SCHEMA of_citext;
        CREATE EXTENSION citext SCHEMA of_citext;
        CREATE TABLE of_citext.keyed AS SELECT ('k' || id)::of_citext.citext AS id, kind, amount, channel FROM keyless WHERE id <= 300;
        PERFORM write_labels('columns', 'of_citext.keyed', 'of_citext.labels', '{"key": "id"}');
        UPDATE of_citext.keyed SET id = upper(id::text);
        BEGIN
            PERFORM write_labels('columns', 'of_citext.keyed', 'of_citext.labels', '{"key": "id", "append": true}');
        EXCEPTION WHEN unique_violation THEN
            found := SQLERRM;
        END;
        IF found IS NULL THEN RAISE WARNING 'K1 and k1 are two keys'; END IF;
        DROP SCHEMA of_citext CASCADE;
    END IF;
END
$$;
CREATE TABLE history (id int, cluster int, at timestamptz DEFAULT now());
SELECT write_labels('columns', 'keyless', 'history', '{"key": "id", "append": true}') AS first, write_labels('columns', 'keyless', 'history', '{"key": "id", "append": true}') AS second;
CREATE TABLE many AS SELECT i % 250000 AS id, 1 AS amount, 'web' AS channel FROM generate_series(1, 300000) i;
\set VERBOSITY sqlstate
SELECT write_labels('columns', 'many', 'labels_of_many', '{"key": "id"}');
\set VERBOSITY default
DROP TABLE keyless, twice, history, many;

-- A table that follows its model is up to date after retrain, use_version, retrain_if_drifted and
-- train, and only rows whose label changed are written again.
CREATE TABLE visits (id int PRIMARY KEY, x real[]);
INSERT INTO visits SELECT i, ARRAY[i % 4 * 6 + i % 13 / 13.0, i % 5] FROM generate_series(1, 2000) i;
SELECT train('visits', 'visits', 'x', 4, options => '{"quiet": true}');
SELECT write_labels('visits', 'visits', 'visit_labels', '{"follow": true}'), write_labels('visits', 'visits', 'few_labels', '{"follow": true, "name": true, "distance": true, "where": "id <= 500"}');
CREATE TABLE before AS SELECT ctid AS place, id, cluster FROM visit_labels;
CREATE FUNCTION followed() RETURNS TABLE (labels bigint, wrong bigint,
       rewritten_only_if_changed boolean, few bigint, few_wrong bigint) LANGUAGE sql AS $$
    SELECT l.*, f.*
      FROM (SELECT count(*), count(*) FILTER (WHERE l.cluster IS DISTINCT
        FROM predict('visits', t.x)),
                   bool_and((l.ctid = b.place) = (l.cluster IS NOT DISTINCT FROM b.cluster)) FROM visit_labels l JOIN visits t USING (id) LEFT JOIN before b USING (id)) l,
           (SELECT count(*), count(*) FILTER (WHERE (l.cluster, l.distance) IS DISTINCT FROM (predict('visits', t.x), predict_distance('visits', t.x))) FROM few_labels l JOIN visits t USING (id)) f
$$;
SELECT * FROM followed();
INSERT INTO visits SELECT i, '{60, 60}' FROM generate_series(2001, 2100) i;
INSERT INTO visits VALUES (0, NULL);
DELETE FROM visits WHERE id BETWEEN 1 AND 50;
SELECT retrain('visits', '{"quiet": true}');
SELECT * FROM followed();
SELECT use_version('visits', 1);
SELECT (followed()).wrong, (followed()).few_wrong;
SELECT retrain_if_drifted('visits', 0.01, 0.01, '{"quiet": true}') AS version, (followed()).wrong;
SELECT train('visits', 'visits', 'x', 3, options => '{"quiet": true}') AS version;
SELECT wrong, few_wrong FROM followed();
-- A name reaches the followed tables at once, also in a model with groups.
CREATE FUNCTION names_of(model text, labels regclass) RETURNS TABLE (old_names bigint, first_ones boolean) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format('SELECT count(*) FILTER (WHERE l.cluster_name IS DISTINCT FROM predict_name(%L, t)), bool_or(l.cluster_name = ''the first'') FROM %s l JOIN visits t USING (id) WHERE l.cluster IS NOT NULL', model, labels);
END $$;
SELECT name_cluster('visits', (SELECT min(cluster) FROM few_labels), 'the first');
SELECT * FROM names_of('visits', 'few_labels');
SELECT name_cluster('visits', (SELECT min(cluster) FROM few_labels), NULL);
SELECT * FROM names_of('visits', 'few_labels');
ALTER TABLE visits ADD word text;
UPDATE visits SET word = CASE WHEN x[1] < 10 THEN 'near' ELSE 'far' END;
SELECT train('of words', 'visits', 'x', 2, options => '{"quiet": true, "group_by": "word"}'), write_labels('of words', 'visits', 'labels_of_words', '{"follow": true, "name": true}') > 0 AS written;
SELECT name_cluster('of words', 1, 'the first', group_value => 'far');
SELECT * FROM names_of('of words', 'labels_of_words');
ALTER TABLE labels_of_words RENAME cluster_name TO called;
SELECT name_cluster('of words', 1, 'the second', group_value => 'far');
ALTER TABLE few_labels RENAME cluster_name TO called;
SELECT name_cluster('visits', 1, 'the second');
ALTER TABLE few_labels RENAME called TO cluster_name;
SELECT name_cluster('visits', 1, NULL), drop_model('of words');
ALTER TABLE visits DROP word;
DROP TABLE labels_of_words; DROP FUNCTION names_of;
SELECT rename_model('visits', 'visitors'), rename_model('visitors', 'visits');
-- A followed table that was dropped is forgotten. One that cannot follow is named in a warning,
-- and ends following when it is written with follow = false.
DROP TABLE few_labels;
ALTER TABLE visit_labels RENAME cluster TO label;
SELECT use_version('visits', 1);
SELECT target, options FROM fastclust_internal.own_label_tables;
ALTER TABLE visit_labels RENAME label TO cluster;
SELECT write_labels('visits', 'visits', 'visit_labels', '{"replace": true}');
-- A followed table that was renamed is not found: a warning says so once.
ALTER TABLE visit_labels RENAME TO moved_labels;
SELECT use_version('visits', 1);
ALTER TABLE moved_labels RENAME TO visit_labels;
SELECT use_version('visits', 2);
SELECT write_labels('visits', 'visits', 'visit_labels', '{"replace": true, "follow": true}') > 0 AS written;
SELECT use_version('visits', 2);
SELECT count(*) FILTER (WHERE l.cluster IS DISTINCT FROM predict('visits', t.x))
       AS not_as_predicted FROM visit_labels l JOIN visits t USING (id);
ALTER TABLE visits DROP CONSTRAINT visits_pkey;
SELECT use_version('visits', 1);
SELECT write_labels('visits', 'visits', 'visit_labels', '{"replace": true, "follow": false, "key": "id"}');
SELECT use_version('visits', 2);
SELECT count(*) AS followed_tables FROM fastclust_internal.label_tables;
SELECT write_labels('visits', 'visits', 'few_labels', '{"follow": true, "key": "id"}');
SELECT write_labels('vectors', 'orders', 'pg_temp.few_labels', '{"follow": true}');
SELECT write_labels('vectors', 'orders', 'labels_of_vectors', '{"follow": true, "append": true}');

-- Every mistake is an error that says what would be right.
SELECT write_labels('vectors', 'orders', 'labels_of_vectors');
SELECT write_labels('vectors', 'orders', 'labels_of_vectors', '{"append": true, "replace": true}');
SELECT write_labels('vectors', 'orders', 'orders', '{"append": true}');
SELECT write_labels('nothing', 'orders', 'other');
SELECT write_labels(NULL, 'orders', 'other');
SELECT write_labels('vectors', NULL, 'other');
SELECT write_labels('vectors', 'orders', NULL);
SELECT write_labels('vectors', 'orders', 'other', NULL);
SELECT write_labels('vectors', 'recent', 'other');
SELECT write_labels('vectors', 'recent', 'other', '{"follow": true}');
SELECT write_labels('vectors', 'recent', 'other', '{"follow": true, "key": "id"}');
SELECT write_labels('vectors', 'orders', 'other', '{"follow": true, "key": ["x"]}');
SELECT write_labels('vectors', 'orders', 'other', '{"key": []}');
SELECT write_labels('vectors', 'orders', 'other', '{"key": [1]}');
SELECT write_labels('vectors', 'orders', 'other', '{"key": true}');
SELECT write_labels('vectors', 'orders', 'other', '{"key": ["id", "id"]}');
CREATE VIEW of_clusters AS SELECT id AS cluster, id AS distance, x FROM orders;
SELECT write_labels('vectors', 'of_clusters', 'other', '{"key": "cluster"}');
SELECT write_labels('vectors', 'of_clusters', 'other', '{"key": "distance", "distance": true}');
SELECT write_labels('vectors', 'of_clusters', 'pg_temp.other', '{"key": "distance"}');
DROP VIEW of_clusters;
SELECT write_labels('vectors', 'orders', 'other', '{"key": {"id": 1}}');
SELECT write_labels('vectors', 'orders', 'other', '{"key": "idd"}');
SELECT write_labels('vectors', 'orders', 'other', '{"kez": "id"}');
SELECT write_labels('vectors', 'orders', 'other', '{"where": "idd = 1"}');
SELECT write_labels('vectors', 'orders', 'other', '{"fresh": true}');
SELECT train('vectors', 'orders', 'x', 3, options => '{"append": true}');
SELECT write_labels('vectors', 'labels_of_vectors', 'other', '{"key": "id"}');
SELECT write_labels('vectors', 'orders', 'nowhere.other');
SELECT write_labels('vectors', 'orders', '');
SELECT write_labels('vectors', 'orders', 'My Labels');
SELECT write_labels('vectors', 'orders', 'a schema.my labels');
SELECT write_labels('vectors', 'orders', '"labels');
SELECT write_labels('vectors', 'orders', 'some_labels', '{"append": true, "distance": true, "where": "id = 30"}');
CREATE TABLE days (id int, cluster date);
SELECT write_labels('vectors', 'orders', 'days', '{"append": true}');
CREATE MATERIALIZED VIEW stored AS SELECT 1 AS id, 2 AS cluster;
SELECT write_labels('vectors', 'orders', 'stored', '{"append": true}');
BEGIN READ ONLY;
SELECT write_labels('vectors', 'orders', 'other');
ROLLBACK;
SELECT fastclust_internal.write_rows('days', 'days', 'TRUNCATE days', NULL, 1, 'days');
SELECT * FROM option_help('write_labels');

-- A made-up version, which a caller can pass to an internal function, is an error.
SELECT fastclust_internal.label_query(jsonb_populate_record(ROW(v.*)::fastclust_internal.stored_versions, '{"model": null}'), 'orders', '{id}', '{}')
  FROM fastclust_internal.readable_versions v WHERE model = 'vectors' LIMIT 1;

SELECT count(drop_model(model)) AS models_dropped FROM models;
DROP TABLE orders, labels_of_vectors, labels_of_cosine, labels_of_groups, labels_of_columns, labels_of_skipped, labels_of_kernel, labels_of_product, labels_of_some, labels_by_workers,
    "100 %s", of_1, of_2, of_3, some_labels, named, "Labels of kinds", recent_labels, strict, parts, counted, dropped, wide, wide_labels, no_labels, days, visits, visit_labels, before CASCADE;
DROP MATERIALIZED VIEW stored; DROP FUNCTION written, count_row, followed;

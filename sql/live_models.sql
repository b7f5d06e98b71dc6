-- live models: drift and retrain take the live sketch in place of a scan
-- The rows of counts: the eight bytes behind a head of 36.
CREATE OR REPLACE FUNCTION counted_rows(fastclust_internal.drift_counts) RETURNS bigint LANGUAGE sql AS $$
    SELECT sum(get_byte(b, i)::bigint << 8 * (i - 36))::bigint FROM decode(substr($1::text, 3), 'hex') b, generate_series(36, 43) i
$$;
CREATE TABLE orders AS
    SELECT i AS id, 'shop ' || i % 3 AS shop, ARRAY[(i % 4) * 5 + sin(i), (i % 2) * 3 + cos(i)]::real[] AS x, (i % 4) * 5 + sin(i) AS a, (i % 2) * 3 + cos(i) AS b,
           CASE WHEN i % 100 <> 0 THEN 'kind ' || i % 2 END AS kind FROM generate_series(1, 6000) i;
SELECT train('vectors', 'orders', 'x', 4, options => '{"live": true}');
SELECT train('columns', 'orders', ARRAY['a', 'b', 'kind'], 4, options => '{"live": true, "where": "id > 10"}');
SELECT train('shops', 'orders', 'x', 4, 'compressive', '{"live": true, "group_by": "shop"}');
SELECT name, relation, features, row_count(current_sketch(name)), model IS NOT NULL AS of_model FROM live_sketches ORDER BY id;

-- no scan: those of one transaction, which no other process reports
CREATE FUNCTION scans() RETURNS bigint LANGUAGE sql AS $$
    SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relid = 'orders'::regclass
$$;
INSERT INTO orders SELECT i, 'shop 3', ARRAY[i % 3 * 7, i % 5 * 6], i % 5, 6, 'kind 1' FROM generate_series(7000, 9999) i;
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 0;
CREATE TABLE before AS SELECT scans() AS n;
SELECT n, verdict FROM drift('vectors');
SELECT n, verdict FROM drift('columns');
SELECT value, n FROM drift('shops', by => 'group') ORDER BY 1;
SELECT retrain_if_drifted('vectors'), retrain('columns'), retrain('shops', '{"k": 3}');
SELECT model, version, group_value, k, n, note FROM fastclust_internal.stored_versions WHERE version = 2 ORDER BY model, group_value;
SELECT scans() - n AS scans FROM before;
-- a table that is named, and options about rows, are scanned
SELECT n FROM drift('vectors', 'orders');
SELECT retrain('vectors', '{"iterations": 0}');
SELECT scans() > n AS scanned FROM before;
COMMIT;
SELECT count(*) FROM check_sketch('vectors');

-- rows that went leave no trace in a fresh version
CREATE TABLE without AS SELECT * FROM orders WHERE shop <> 'shop 1';
DELETE FROM orders WHERE shop = 'shop 1';
SELECT fold_sketches('vectors') > 0 AS folded;
SELECT fastclust_internal.same_rows(current_sketch('vectors'), (SELECT sketch_agg(x, model_spec('vectors')) FROM without)) AS same;
SELECT retrain('vectors', '{"fresh": true}');
SELECT retrain('vectors', '{"fresh": true, "replace": true}', sketch => (SELECT sketch_agg(x, model_spec('vectors')) FROM without));
SELECT a.operator = b.operator AS same, describe(a.spec) ->> 'sample_rows' AS kept_rows
  FROM fastclust_internal.stored_versions a JOIN fastclust_internal.stored_versions b USING (model) WHERE model = 'vectors' AND a.version = 4 AND b.version = 5;

-- nor in what rows tell of distances and of drift: those of rows drawn from its clusters
SELECT a.distance_quantiles = b.distance_quantiles AND a.null_moments = b.null_moments AS same, a.distance_quantiles <> old.distance_quantiles AS others,
       a.null_moments[1] / old.null_moments[1] BETWEEN 0.5 AND 2 AS as_of_rows
  FROM fastclust_internal.stored_versions a JOIN fastclust_internal.stored_versions b USING (model) JOIN fastclust_internal.stored_versions old USING (model)
 WHERE model = 'vectors' AND a.version = 4 AND b.version = 5 AND old.version = 3;
SELECT n, verdict FROM drift('vectors');
CREATE TABLE clouds AS SELECT i AS id, ARRAY[(i % 3) * 9 + sqrt(-2 * ln((hashint4(i) & 65535) / 65536.0 + 1e-5)) * cos(i), (i % 2) * 7 + sqrt(-2 * ln((hashint4(i) & 65535) / 65536.0 + 1e-5)) * sin(i)]::real[] AS x
  FROM generate_series(1, 20000) i;
SELECT train('clouds', 'clouds', 'x', 6, 'compressive', '{"live": true}'), retrain('clouds', '{"fresh": true}');
SELECT b.null_moments[1] / a.null_moments[1] BETWEEN 0.5 AND 2 AS law, b.distance_quantiles[140] / a.distance_quantiles[140] BETWEEN 0.8 AND 1.25 AS far
  FROM fastclust_internal.stored_versions a JOIN fastclust_internal.stored_versions b USING (model) WHERE model = 'clouds' AND a.version = 1 AND b.version = 2;
SELECT verdict, p_value > 0.01 AS likely FROM drift('clouds');
SELECT drop_model('clouds');
DROP TABLE clouds;

-- the counts of drift follow every change: rows that are few and many, updates, groups and buckets, folded or not; they are those of a scan
CREATE TABLE visits AS
    SELECT i AS id, 'page ' || i % 3 AS page, timestamptz '2026-03-01 12:00+00' + i % 5 * interval '1 day' AS at, i % 7 + sin(i) AS a, (i % 2) * 3 + cos(i) AS b, ARRAY[sin(i), cos(i), 2 + sin(2 * i)]::real[] AS x
      FROM generate_series(1, 4000) i;
SELECT train('visits', 'visits', ARRAY['page', 'a', 'b'], 3, options => '{"live": {"bucket": "at"}}'), train('pages', 'visits', ARRAY['a', 'b'], 3, options => '{"live": true, "group_by": "page"}'),
       train('directions', 'visits', 'x', 3, options => '{"live": true, "metric": "cosine"}');
CREATE FUNCTION counts_of(live text) RETURNS TABLE (group_value text, counts fastclust_internal.drift_counts) LANGUAGE sql AS $$
    SELECT COALESCE(group_value, ''), counts FROM fastclust_internal.model_groups(live)
$$;
CREATE FUNCTION scanned_counts(model_name text, grouped name) RETURNS TABLE (group_value text, counts fastclust_internal.drift_counts) LANGUAGE sql AS $$
    SELECT COALESCE(r.value, ''), r.counts FROM fastclust_internal.stored_models m JOIN fastclust_internal.stored_versions v ON v.model_id = m.id AND v.version = m.version, fastclust_internal.sketch_rows(v, 'visits', grouped) r
     WHERE m.model = model_name AND v.drift_spec IS NOT NULL
$$;
CREATE VIEW compared AS
    SELECT l.name, count(*) AS groups, COALESCE(bool_and(c.kept::text IS NOT DISTINCT FROM c.counted::text), true) AS same, sum(counted_rows(c.kept)) AS n
      FROM live_sketches l, LATERAL (SELECT a.counts AS kept, b.counts AS counted FROM counts_of(l.name) a FULL JOIN scanned_counts(l.name, l.group_by) b USING (group_value)) c
     WHERE l.relation = 'visits'::regclass GROUP BY 1;
SELECT * FROM compared ORDER BY 1;
INSERT INTO visits SELECT i, 'page ' || i % 4, '2026-03-07 12:00+00', i % 5, 7, ARRAY[1, i, 0] FROM generate_series(5001, 6500) i;
INSERT INTO visits VALUES (7001, 'page 9', '2026-03-08 12:00+00', 100, -100, '{-5,2,1}'), (7002, 'page 9', '2026-03-08 12:00+00', 1, 1, '{0,0,0}');
UPDATE visits SET a = a + 1, x[2] = 3 WHERE id % 10 = 0;
UPDATE visits SET page = 'page 0' WHERE id = 7;
DELETE FROM visits WHERE id % 3 = 1;
SELECT * FROM compared ORDER BY 1;
SELECT fold_sketches('visits') > 0 AND fold_sketches('pages') > 0 AS folded;
DELETE FROM visits WHERE page = 'page 2';
SELECT * FROM compared ORDER BY 1;
SELECT count(*) AS differences FROM live_sketches l, check_sketch(l.name) WHERE l.relation = 'visits'::regclass;
SELECT verdict, columns -> 0 ->> 'name' AS name FROM drift('visits');
SELECT retrain('visits'), retrain('pages');
SELECT verdict, effect, columns FROM drift('visits');
SELECT value, verdict, effect FROM drift('pages', by => 'group') ORDER BY 1;
SELECT count(*) AS versions, count(drift_spec) AS specs, count(drift_counts) AS counts FROM fastclust_internal.stored_versions WHERE model = 'pages' AND version = 2;
TRUNCATE visits;
SELECT * FROM compared ORDER BY 1;
SELECT retrain('visits');
INSERT INTO visits VALUES (1, 'page 1', '2026-03-08 12:00+00', 1, 1, '{0,0,0}');
SELECT retrain('visits');
SELECT retrain('visits', '{"k": 1}'), (drift('visits')).verdict;
SELECT count(drop_model(name)) FROM live_sketches WHERE relation = 'visits'::regclass;
DROP VIEW compared; DROP FUNCTION counts_of, scanned_counts; DROP TABLE visits;

-- what has lost its table is told, and rows are read
ALTER TABLE orders DISABLE TRIGGER USER;
SELECT n FROM drift('columns');
ALTER TABLE orders ENABLE TRIGGER USER;
SELECT name, rebuild_sketch(name) FROM live_sketches ORDER BY id;

-- a live sketch that is ready: a model of its rows takes it, with its spec
CREATE TABLE clouds AS SELECT i AS id, ARRAY[(i % 3) * 9 + sin(i), (i % 2) * 7 + cos(i)]::real[] AS x FROM generate_series(1, 3000) i;
SELECT keep_sketch('clouds', 'clouds', 'x', sketch_spec_agg(x, 4), '{"concurrently": true}') FROM (SELECT x FROM clouds) c;
CREATE TABLE of_clouds AS SELECT sketch_spec_agg(x, 4) AS s FROM clouds;
SELECT keep_sketch('clouds', 'clouds', 'x', s, '{"concurrently": true}') FROM of_clouds;
SELECT train('early', 'clouds', 'x', 4, 'compressive', '{"live": true}'), drop_model('early');
SELECT rebuild_sketch('clouds');
SELECT train('clouds of three', 'clouds', 'x', 3, options => '{"live": true, "where": "id > 10"}');
SELECT train('clouds', 'clouds', 'x', 4, 'compressive', '{"live": true}');
SELECT name, model, state FROM live_sketches WHERE relation = 'clouds'::regclass ORDER BY id;
SELECT verdict FROM drift('clouds');
INSERT INTO clouds SELECT i, '{30,30}' FROM generate_series(3001, 4500) i;
SELECT n, verdict FROM drift('clouds');
SELECT retrain('clouds');
SELECT verdict FROM drift('clouds');
SELECT train('early', 'clouds', 'x', 4, options => '{"live": {"concurrently": true}}');
SELECT drop_model('clouds'), drop_model('clouds of three');
SELECT count(*) FROM live_sketches WHERE relation = 'clouds'::regclass;
DROP TABLE clouds, of_clouds;

-- names, ends, rights
SELECT rename_model('vectors', 'points');
SELECT row_count(current_sketch('points'));
SELECT retrain('columns', '{"live": false}');
SELECT drop_model('points');
SELECT name FROM live_sketches;
CREATE ROLE live_analyst; GRANT SELECT ON orders TO live_analyst;
SELECT grant_model('shops', 'live_analyst');
SET ROLE live_analyst;
SELECT train('mine', 'orders', 'x', 4, options => '{"live": true}');
SELECT value, n FROM drift('shops', by => 'group') ORDER BY 1;
RESET ROLE;
SELECT train('decayed', 'orders', 'x', 4, options => '{"live": {"half_life": "1 day"}}');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT train('late', 'orders', 'x', 4, options => '{"live": true}');
ROLLBACK;
SELECT drop_model('shops'), drop_model('columns');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'orders'::regclass;
DROP TABLE orders, without, before; DROP FUNCTION scans; DROP ROLE live_analyst;

-- choose_k of a live sketch: the number of clusters of now, without a scan
CREATE SCHEMA of_live_choice; SET search_path = of_live_choice, public, fastclust;
SELECT setseed(0.5);
CREATE FUNCTION normal() RETURNS float8 LANGUAGE sql VOLATILE AS 'SELECT sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())';
CREATE TABLE orders AS SELECT i AS id, ARRAY[10 * (i % 3) + normal(), 9 * (i % 3 % 2) + normal()]::real[] AS x,
           10.0 * (i % 3) + random() AS a, 5 * (i % 3 % 2) + random() AS b FROM generate_series(1, 6000) i;
SELECT train('vectors', 'orders', 'x', 12, 'compressive', '{"live": true, "quiet": true}');
SELECT train('columns', 'orders', ARRAY['a', 'b'], 12, 'compressive', '{"live": true, "quiet": true, "where": "id > 10"}');
-- scans of one transaction, which no other process reports
CREATE FUNCTION scans() RETURNS bigint LANGUAGE sql AS $$
    SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relid = 'orders'::regclass
$$;
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 0;
CREATE TABLE before AS SELECT scans() AS n;
SELECT k, verdict FROM choose_k('orders', 'x', 12, '{"live": true}') WHERE verdict IS NOT NULL;
SELECT k, verdict FROM choose_k('orders', ARRAY['a', 'b'], 9, '{"live": true, "where": "id > 10"}') WHERE verdict IS NOT NULL;
-- the sketch is of now: two clusters more
INSERT INTO orders SELECT 10000 + i, ARRAY[20 * (i % 2) + normal(), 20 + normal()], 1, 1 FROM generate_series(1, 4000) i;
SELECT k FROM choose_k('orders', 'x', 12, '{"live": true, "seed": 3}') WHERE verdict IS NOT NULL;
SELECT count(*) = count(DISTINCT k) AS once, min(k), max(k), count(verdict), count(stability) AS stabilities, bool_and(cost >= 0) AS costs, count(gain) = count(*) - 1 AS gains
  FROM choose_k('orders', 'x', 12, '{"live": true}');
SELECT scans() - n AS scans FROM before;
-- rows as before, where it is not asked for
SELECT count(stability) > 0 AS stabilities FROM choose_k('orders', 'x', 6, '{"live": false}');
SELECT scans() > n AS scanned FROM before;
COMMIT;
SELECT * FROM choose_k('orders', 'x', 6, '{"live": true, "trim": 0.1}');
SELECT * FROM choose_k('orders', 'x', 6, '{"live": true, "where": "id > 10"}');
SELECT * FROM choose_k('before', 'n', 6, '{"live": true}');
SELECT * FROM choose_k('orders', 'x', 1, '{"live": true}');
TRUNCATE orders;
SELECT * FROM choose_k('orders', 'x', 6, '{"live": true}');
-- a live sketch is there for who may read its columns
CREATE ROLE live_stranger; GRANT USAGE ON SCHEMA of_live_choice TO live_stranger;
SET ROLE live_stranger;
SELECT * FROM choose_k('orders', 'x', 6, '{"live": true}');
RESET ROLE;
SELECT drop_model('vectors'), drop_model('columns');
DROP SCHEMA of_live_choice CASCADE; DROP ROLE live_stranger;

-- a model has one live sketch at most, whoever claims it and whatever becomes of its table
CREATE SCHEMA of_live_claims; SET search_path = of_live_claims, public, fastclust;
CREATE ROLE live_claims_alice; CREATE ROLE live_claims_bob; GRANT ALL ON SCHEMA of_live_claims TO live_claims_alice, live_claims_bob;
SET ROLE live_claims_alice;
CREATE TABLE hers AS SELECT i AS id, ARRAY[i % 7, i % 11]::real[] AS x FROM generate_series(1, 300) i;
CREATE TABLE given AS TABLE hers;
SELECT train('claimed', 'given', 'x', 3, 'compressive', '{"live": true, "quiet": true}');
-- the same model once more, by hand
DO $$
DECLARE
    live fastclust_internal.kept_sketches;
BEGIN
    SELECT * INTO live FROM fastclust_internal.own_live_sketches l WHERE l.name = 'claimed';
    live.name := 'by hand';
    PERFORM fastclust_internal.claim_live(live);
END
$$;
SELECT retrain('claimed', '{"quiet": true}');
RESET ROLE;
-- the table becomes another role's, the model stays hers: it can be retrained, trained without a live sketch, and follow another table
ALTER TABLE given OWNER TO live_claims_bob;
GRANT SELECT ON given TO live_claims_alice;
SET ROLE live_claims_alice;
SELECT retrain('claimed', '{"quiet": true}');
SELECT train('claimed', 'given', 'x', 3, 'compressive', '{"live": true, "quiet": true}');
SELECT train('claimed', 'given', 'x', 3, 'compressive', '{"live": false, "quiet": true}');
SELECT train('claimed', 'hers', 'x', 3, 'compressive', '{"live": true, "quiet": true}');
SELECT retrain('claimed', '{"quiet": true}');
RESET ROLE;
SELECT name LIKE 'claimed%' AS name, relation, model IS NOT NULL AS of_model, row_count(current_sketch(name)) FROM live_sketches ORDER BY id;
-- of a table that she may not even read
SET ROLE live_claims_alice;
CREATE TABLE hidden AS TABLE hers;
SELECT train('claimed', 'hidden', 'x', 3, 'compressive', '{"live": true, "quiet": true}');
RESET ROLE;
ALTER TABLE hidden OWNER TO live_claims_bob;
SET ROLE live_claims_alice;
SELECT train('claimed', 'hers', 'x', 3, 'compressive', '{"live": true, "quiet": true}');
RESET ROLE;
GRANT SELECT ON hidden TO live_claims_alice;
SET ROLE live_claims_alice;
SELECT retrain('claimed', '{"quiet": true}');
SELECT rename_model('claimed', 'renamed');
SELECT retrain('renamed', '{"quiet": true}');
RESET ROLE;
SELECT relation, model IS NOT NULL AS of_model, row_count(current_sketch(name)) FROM live_sketches ORDER BY id;
-- nobody lets go of another's model
SET ROLE live_claims_bob;
SELECT fastclust_internal.end_model_live((SELECT max(model_id) FROM fastclust_internal.own_live_sketches));
SELECT fastclust_internal.end_model_live(9223372036854775807);
SELECT drop_sketch(name) FROM live_sketches;
RESET ROLE;
SELECT drop_model('renamed');
SELECT count(*) FROM live_sketches;
DROP SCHEMA of_live_claims CASCADE; DROP ROLE live_claims_alice, live_claims_bob;

-- scans of a live model of method compressive: a notice when a retraining leaves them out
CREATE SCHEMA of_live_scans; SET search_path = of_live_scans, public, fastclust;
CREATE TABLE orders AS SELECT i AS id, ARRAY[(i % 4) * 5 + sin(i), (i % 2) * 3 + cos(i)]::real[] AS x FROM generate_series(1, 3000) i;
SELECT train('plain', 'orders', 'x', 4, 'compressive', '{"live": true, "quiet": true}');
SELECT train('scanned', 'orders', 'x', 4, 'compressive', '{"live": true, "iterations": 2}');
SELECT train('followed by nothing', 'orders', 'x', 4, 'compressive', '{"iterations": 2}');
INSERT INTO orders SELECT i, ARRAY[i % 3, i % 5] FROM generate_series(4000, 4999) i;
CREATE VIEW live_model AS SELECT v AS version, l AS live, m AS held FROM fastclust_internal.stored_models m JOIN fastclust_internal.stored_versions v ON v.model_id = m.id AND v.version = m.version LEFT JOIN fastclust_internal.kept_sketches l ON l.model_id = m.id;
-- retrain asks this; it has notices with seconds besides
SET client_min_messages = notice;
SELECT (held).model, (fastclust_internal.live_for_retraining(held, version, '{}')).name FROM live_model ORDER BY 1;
SELECT (held).model, (fastclust_internal.live_for_retraining(held, version, '{"quiet": true}')).name FROM live_model ORDER BY 1;
SET client_min_messages = warning;
SELECT retrain('scanned'), retrain('plain', '{"iterations": 1}');
SELECT model, version, n, note FROM fastclust_internal.stored_versions WHERE version > 1 ORDER BY 1, 2;
SELECT drop_model(m.model) FROM models m WHERE m.model IN ('plain', 'scanned', 'followed by nothing');
DROP SCHEMA of_live_scans CASCADE;

-- retrain_if_drifted after DDL: rows are read where the live sketch is lost, and what they train is followed again
CREATE SCHEMA of_live_altered; SET search_path = of_live_altered, public, fastclust;
CREATE TABLE orders AS SELECT i AS id, (i % 4) * 10 + sin(i) AS a, (i % 3) * 7 + cos(i) AS b, 'note ' || i % 5 AS note FROM generate_series(1, 20000) i;
SELECT train('altered', 'orders', ARRAY['a', 'b'], 12, options => '{"live": true, "quiet": true}');
ALTER TABLE orders ADD more integer DEFAULT 1, ALTER note TYPE varchar(20);
SELECT retrain_if_drifted('altered');
ALTER TABLE orders ALTER a TYPE float8 USING a * 2;
SELECT retrain_if_drifted('altered');
SELECT retrain_if_drifted('altered'), row_count(current_sketch('altered')), (SELECT count(*) FROM check_sketch('altered')) AS differ;
ALTER TABLE orders RENAME b TO c;
SELECT retrain_if_drifted('altered');
ALTER TABLE orders RENAME c TO b;
SELECT retrain_if_drifted('altered');
SELECT verdict, n, new_version FROM drift_log WHERE model = 'altered' ORDER BY id;
SELECT drop_model('altered');
DROP SCHEMA of_live_altered CASCADE;

-- a table or a schema that has another name keeps its live models and their labels; only the table of the current version is found so
CREATE SCHEMA of_names; SET search_path = of_names, public, fastclust;
CREATE TABLE orders AS SELECT i AS id, (i % 4) * 10 + sin(i) AS a, (i % 3) * 7 + cos(i) AS b FROM generate_series(1, 3000) i;
ALTER TABLE orders ADD PRIMARY KEY (id);
CREATE TABLE others AS SELECT * FROM orders;
SELECT train('moved', 'others', '{a,b}', 4, options => '{"quiet": true}'), retrain('moved', '{"relation": "orders", "live": true, "quiet": true}'), train('dense', 'orders', '{a,b}', method => 'density', options => '{"live": true, "quiet": true}');
SELECT write_labels('moved', 'orders', 'labels', '{"key": "id", "follow": true}');
ALTER TABLE orders RENAME TO sales;
INSERT INTO sales SELECT i, 90 + sin(i), cos(i) FROM generate_series(3001, 4500) i;
SELECT model, (drift(model)).n FROM models ORDER BY 1;
SELECT retrain('moved', '{"quiet": true}'), retrain('dense', '{"quiet": true, "noise": 1}');
SELECT count(*) FROM labels;
ALTER SCHEMA of_names RENAME TO of_new_names; SET search_path = of_new_names, public, fastclust;
DROP TABLE others;
SELECT n FROM drift('moved', version => 1);
SELECT retrain('moved', '{"k": 5, "iterations": 1, "quiet": true}');
SELECT version, relation, n FROM model_versions WHERE model = 'moved' ORDER BY 1;
SELECT drop_model('moved'), drop_model('dense');
DROP SCHEMA of_new_names CASCADE;

-- a session that keeps an encoder ready for its statements notices that a label of an enum is another by now
CREATE SCHEMA of_moods; SET search_path = of_moods, public, fastclust;
CREATE TYPE mood AS ENUM ('calm', 'merry', 'sad');
CREATE TABLE moods AS SELECT i % 50 AS a, i % 7 AS b, (ARRAY['calm', 'merry', 'sad'])[i % 3 + 1]::mood AS felt FROM generate_series(1, 300) i;
SELECT train('moods', 'moods', ARRAY['a', 'b', 'felt'], 3, options => '{"live": true, "quiet": true}');
DELETE FROM moods WHERE felt = 'sad';
INSERT INTO moods VALUES (1, 2, 'sad');
DELETE FROM moods WHERE felt = 'sad';
ALTER TYPE mood RENAME VALUE 'sad' TO 'bored';
INSERT INTO moods VALUES (1, 2, 'bored');
SELECT count(*) AS rows, count(*) FILTER (WHERE felt = 'bored') AS bored FROM moods;
SELECT * FROM check_sketch('moods');
SELECT drop_model('moods');
DROP SCHEMA of_moods CASCADE;

-- null takes an option back in a retrain: rows are read without the condition that their live
-- sketch has, and a retrain from a sketch has no such option
CREATE SCHEMA of_nothing; SET search_path = of_nothing, public, fastclust;
CREATE TABLE points AS
SELECT i AS id, (i % 3) * 10 + sin(i) AS a, (i % 5) * 10 + cos(i) AS b,
       timestamptz '2026-01-01 UTC' + i * interval '1 hour' AS at
  FROM generate_series(1, 600) i;
SELECT train('points', 'points', '{a,b}', 3, 'compressive',
             '{"live": true, "where": "id > 100", "quiet": true}');
SELECT retrain('points', '{"k": null, "keep": null, "quiet": true}');
SELECT retrain('points',
               '{"relation": null, "method": null, "frozen": null, "replace": null,
                 "quiet": true}');
SELECT retrain('points', '{"where": null}',
               (SELECT sketch_agg(ARRAY[a, b], (SELECT model_spec('points'))) FROM points));
SELECT retrain('points', '{"where": null, "quiet": true}');
SELECT version, n, options FROM model_versions WHERE model = 'points' ORDER BY 1;
SELECT train('windows', 'points', '{a,b}', 3, 'compressive',
             '{"live": {"bucket": "at"}, "since": {"column": "at", "interval": "10 days"},
               "quiet": true}');
SELECT retrain('windows', '{"quiet": true}'), retrain('windows', '{"since": null, "quiet": true}');
SELECT version, n, options -> 'since' AS since, note
  FROM model_versions JOIN training_log USING (model, version)
 WHERE model = 'windows' AND step = 'decode'
 ORDER BY 1;
SELECT retrain('windows', '{"since": {"column": "at", "interval": "9 days"}, "quiet": true}'),
       retrain_if_drifted('windows', 0.001, 0.1, '{"since": null, "quiet": true}');
SELECT n FROM drift_log WHERE model = 'windows';
SELECT train('products', 'points', '{a,b}', 3, 'qkmeans',
             '{"factors": {"method": null, "init": null}, "quiet": true}');
SELECT drop_model('points'), drop_model('windows'), drop_model('products');
DROP SCHEMA of_nothing CASCADE;

-- a session keeps the expressions of a followed table for its next statement, and PL/pgSQL those
-- of a function for its transaction, but no cast of another role runs for the next user
CREATE SCHEMA of_casts; SET search_path = of_casts, public, fastclust;
CREATE ROLE regress_casts; GRANT ALL ON SCHEMA of_casts TO regress_casts;
SET ROLE regress_casts;
CREATE TYPE price AS (amount float8);
CREATE FUNCTION amount_of(price) RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
    RETURN $1.amount;
END
$$;
CREATE CAST (price AS float8) WITH FUNCTION amount_of(price) AS ASSIGNMENT;
CREATE TABLE priced AS SELECT i % 7 AS a, ROW(i % 5)::price AS b FROM generate_series(1, 20) i;
SELECT train('priced', 'priced', '{a,b}', 2, options => '{"live": true, "quiet": true}');
CREATE FUNCTION encoded(p priced) RETURNS real[] LANGUAGE plpgsql AS $$
BEGIN
    RETURN encode_row(model_encoder('priced'), p);
END
$$;
INSERT INTO priced VALUES (1, ROW(2));
RESET ROLE;
INSERT INTO priced VALUES (1, ROW(2));
BEGIN;
SET LOCAL ROLE regress_casts;
SELECT count(encoded(p)) FROM priced p;
RESET ROLE;
SELECT count(encoded(p)) FROM priced p;
ROLLBACK;
SELECT drop_model('priced');
DROP SCHEMA of_casts CASCADE;
DROP ROLE regress_casts;

-- live models: drift and retrain take the live sketch in place of a scan
SET client_min_messages = warning;
CREATE TABLE orders AS
    SELECT i AS id, 'shop ' || i % 3 AS shop, ARRAY[(i % 4) * 5 + sin(i), (i % 2) * 3 + cos(i)]::real[] AS x, (i % 4) * 5 + sin(i) AS a, (i % 2) * 3 + cos(i) AS b,
           CASE WHEN i % 100 <> 0 THEN 'kind ' || i % 2 END AS kind
      FROM generate_series(1, 6000) i;
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
       fastclust_internal.sample_null_moments(fastclust_internal.operator_in_units(
           fastclust_internal.drawn_rows(a.operator, a.spreads, 8192, 0), a.center, a.scale, NULL, NULL), a.spec) = a.null_moments AS drawn
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
    SELECT l.name, count(*) AS groups, COALESCE(bool_and(c.kept::text IS NOT DISTINCT FROM c.counted::text), true) AS same, sum((fastclust_internal.describe_drift_counts(c.kept) ->> 'rows')::bigint) AS n
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
DROP VIEW compared;
DROP FUNCTION counts_of, scanned_counts;
DROP TABLE visits;

-- what has lost its table is told, and rows are read
ALTER TABLE orders DISABLE TRIGGER USER;
SELECT n FROM drift('columns');
ALTER TABLE orders ENABLE TRIGGER USER;
SELECT name, rebuild_sketch(name) FROM live_sketches ORDER BY id;

-- names, ends, rights
SELECT rename_model('vectors', 'points');
SELECT row_count(current_sketch('points'));
SELECT retrain('columns', '{"live": false}');
SELECT drop_model('points');
SELECT name FROM live_sketches;
CREATE ROLE live_analyst;
GRANT SELECT ON orders TO live_analyst;
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
DROP TABLE orders, without, before;
DROP FUNCTION scans;
DROP ROLE live_analyst;

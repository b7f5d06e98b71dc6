-- A live model keeps a live sketch of its table, and drift, retrain and choose_k take the sketch
-- instead of scanning the table. They answer as after a scan; rows that were deleted leave no
-- trace; where the sketch is lost, a warning says so and the rows are read.
CREATE OR REPLACE FUNCTION counted_rows(fastclust_internal.drift_counts) RETURNS bigint LANGUAGE sql AS $$
    SELECT sum(get_byte(b, i)::bigint << 8 * (i - 36))::bigint FROM decode(substr($1::text, 3), 'hex') b, generate_series(36, 43) i
$$;
-- Returns the counts of cells and pairs as bytes. A scan of columns counts NULLs as well, which
-- counts of encoded rows lack.
CREATE OR REPLACE FUNCTION counts_of_values(fastclust_internal.drift_counts) RETURNS bytea LANGUAGE sql AS $$
    SELECT substr(b, 5, 72 + 4 * (15 * h[1] + (h[2] + h[3]) * (h[2] + h[3] - 1) / 2))
      FROM decode(substr($1::text, 3), 'hex') b,
           LATERAL (SELECT array_agg(get_byte(b, i) + 256 * get_byte(b, i + 1) ORDER BY i) FROM generate_series(20, 28, 4) i) q(h)
$$;
CREATE TABLE orders AS
    SELECT i AS id, 'shop ' || i % 3 AS shop, ARRAY[(i % 4) * 5 + sin(i), (i % 2) * 3 + cos(i)]::real[] AS x, (i % 4) * 5 + sin(i) AS a, (i % 2) * 3 + cos(i) AS b,
           CASE WHEN i % 100 <> 0 THEN 'kind ' || i % 2 END AS kind FROM generate_series(1, 6000) i;
SELECT train('vectors', 'orders', 'x', 4, options => '{"live": true}');
SELECT train('columns', 'orders', ARRAY['a', 'b', 'kind'], 4, options => '{"live": true, "where": "id > 10"}');
SELECT train('shops', 'orders', 'x', 4, 'compressive', '{"live": true, "group_by": "shop"}');
SELECT name, relation, features, row_count(current_sketch(name)),
       model IS NOT NULL AS belongs_to_model FROM live_sketches ORDER BY id;

-- drift and retrain of live models scan nothing. scans() counts the scans of this transaction,
-- which no other process can add to.
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
-- A table that is named and options that need rows lead to a scan.
SELECT n FROM drift('vectors', 'orders');
SELECT retrain('vectors', '{"iterations": 0}');
SELECT scans() > n AS has_scanned FROM before;
COMMIT;
SELECT count(*) AS differences FROM check_sketch('vectors');

-- Deleted rows leave no trace in a version trained with the option fresh: it is the version of a
-- sketch that never had them.
CREATE TABLE without AS SELECT * FROM orders WHERE shop <> 'shop 1';
DELETE FROM orders WHERE shop = 'shop 1';
SELECT fold_sketches('vectors') > 0 AS has_folded;
SELECT fastclust_internal.same_rows(current_sketch('vectors'),
       (SELECT sketch_agg(x, model_spec('vectors')) FROM without)) AS exact;
SELECT retrain('vectors', '{"fresh": true}');
SELECT retrain('vectors', '{"fresh": true, "replace": true}', sketch => (SELECT sketch_agg(x, model_spec('vectors')) FROM without));
SELECT a.operator = b.operator AS same_operator, describe(a.spec) ->> 'sample_rows'
       AS sample_rows_in_spec
  FROM fastclust_internal.stored_versions a JOIN fastclust_internal.stored_versions b USING (model) WHERE model = 'vectors' AND a.version = 4 AND b.version = 5;

-- Nor do they in the distances of anomalies and in the null law of drift, which are estimated
-- from rows drawn around the new centroids.
SELECT a.distance_quantiles = b.distance_quantiles AS same_quantiles,
       a.null_moments = b.null_moments AS same_null_law,
       a.distance_quantiles = old.distance_quantiles AS quantiles_of_old_version,
       a.null_moments[1] / old.null_moments[1] BETWEEN 0.5 AND 2 AS null_law_within_factor_2
  FROM fastclust_internal.stored_versions a JOIN fastclust_internal.stored_versions b USING (model) JOIN fastclust_internal.stored_versions old USING (model)
 WHERE model = 'vectors' AND a.version = 4 AND b.version = 5 AND old.version = 3;
SELECT n, verdict FROM drift('vectors');
CREATE TABLE clouds AS SELECT i AS id, ARRAY[(i % 3) * 9 + sqrt(-2 * ln((hashint4(i) & 65535) / 65536.0 + 1e-5)) * cos(i), (i % 2) * 7 + sqrt(-2 * ln((hashint4(i) & 65535) / 65536.0 + 1e-5)) * sin(i)]::real[] AS x
  FROM generate_series(1, 20000) i;
SELECT train('clouds', 'clouds', 'x', 6, 'compressive', '{"live": true}'), retrain('clouds', '{"fresh": true}');
SELECT b.null_moments[1] / a.null_moments[1] BETWEEN 0.5 AND 2 AS null_law_within_factor_2,
       b.distance_quantiles[140] / a.distance_quantiles[140] BETWEEN 0.8 AND 1.25
       AS quantile_within_25_percent
  FROM fastclust_internal.stored_versions a JOIN fastclust_internal.stored_versions b USING (model) WHERE model = 'clouds' AND a.version = 1 AND b.version = 2;
SELECT verdict, p_value > 0.01 AS p_value_above_0_01 FROM drift('clouds');
SELECT drop_model('clouds');
DROP TABLE clouds;

-- The drift counts of a live model follow every change and equal a scan: in small and large
-- statements, updates, groups and buckets, folded or not.
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
    SELECT l.name, count(*) AS groups, COALESCE(bool_and(counts_of_values(c.kept) IS NOT DISTINCT FROM counts_of_values(c.counted)), true) AS same, sum(counted_rows(c.kept)) AS n
      FROM live_sketches l, LATERAL (SELECT a.counts AS kept, b.counts AS counted FROM counts_of(l.name) a FULL JOIN scanned_counts(l.name, l.group_by) b USING (group_value)) c
     WHERE l.relation = 'visits'::regclass GROUP BY 1;
SELECT * FROM compared ORDER BY 1;
INSERT INTO visits SELECT i, 'page ' || i % 4, '2026-03-07 12:00+00', i % 5, 7, ARRAY[1, i, 0] FROM generate_series(5001, 6500) i;
INSERT INTO visits VALUES (7001, 'page 9', '2026-03-08 12:00+00', 100, -100, '{-5,2,1}'), (7002, 'page 9', '2026-03-08 12:00+00', 1, 1, '{0,0,0}');
UPDATE visits SET a = a + 1, x[2] = 3 WHERE id % 10 = 0;
UPDATE visits SET page = 'page 0' WHERE id = 7;
DELETE FROM visits WHERE id % 3 = 1;
SELECT * FROM compared ORDER BY 1;
SELECT fold_sketches('visits') > 0 AS has_folded_visits, fold_sketches('pages') > 0
       AS has_folded_pages;
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
SELECT count(drop_model(name)) AS models_dropped FROM live_sketches
 WHERE relation = 'visits'::regclass;
DROP VIEW compared; DROP FUNCTION counts_of, scanned_counts; DROP TABLE visits;

-- A live sketch that lost changes is reported in a warning, and the rows are read.
ALTER TABLE orders DISABLE TRIGGER USER;
SELECT n FROM drift('columns');
ALTER TABLE orders ENABLE TRIGGER USER;
SELECT name, rebuild_sketch(name) FROM live_sketches ORDER BY id;

-- A live sketch that the user keeps already is taken by a model with the same rows, together with
-- its spec.
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
SELECT count(*) AS live_sketches_left FROM live_sketches WHERE relation = 'clouds'::regclass;
DROP TABLE clouds, of_clouds;

-- A renamed model renames its live sketch, a dropped one drops it, and only the owner of the
-- table may have a live model.
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
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid = 'orders'::regclass;
DROP TABLE orders, without, before; DROP FUNCTION scans; DROP ROLE live_analyst;

-- choose_k with the option live finds the number of clusters of the present rows without a scan.
CREATE SCHEMA of_live_choice; SET search_path = of_live_choice, public, fastclust;
SELECT setseed(0.5);
CREATE FUNCTION normal() RETURNS float8 LANGUAGE sql VOLATILE AS 'SELECT sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())';
CREATE TABLE orders AS SELECT i AS id, ARRAY[10 * (i % 3) + normal(), 9 * (i % 3 % 2) + normal()]::real[] AS x,
           10.0 * (i % 3) + random() AS a, 5 * (i % 3 % 2) + random() AS b FROM generate_series(1, 6000) i;
SELECT train('vectors', 'orders', 'x', 12, 'compressive', '{"live": true, "quiet": true}');
SELECT train('columns', 'orders', ARRAY['a', 'b'], 12, 'compressive', '{"live": true, "quiet": true, "where": "id > 10"}');
-- scans() counts the scans of this transaction, which no other process can add to.
CREATE FUNCTION scans() RETURNS bigint LANGUAGE sql AS $$
    SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relid = 'orders'::regclass
$$;
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 0;
CREATE TABLE before AS SELECT scans() AS n;
SELECT k, verdict FROM choose_k('orders', 'x', 12, '{"live": true}') WHERE verdict IS NOT NULL;
SELECT k, verdict FROM choose_k('orders', ARRAY['a', 'b'], 9, '{"live": true, "where": "id > 10"}') WHERE verdict IS NOT NULL;
-- Two new clusters are found at once, because the sketch follows the table.
INSERT INTO orders SELECT 10000 + i, ARRAY[20 * (i % 2) + normal(), 20 + normal()], 1, 1 FROM generate_series(1, 4000) i;
SELECT k FROM choose_k('orders', 'x', 12, '{"live": true, "seed": 3}') WHERE verdict IS NOT NULL;
SELECT count(*) - count(DISTINCT k) AS repeated, min(k), max(k), count(verdict) AS verdicts,
       count(stability) AS stabilities, bool_and(cost >= 0) AS costs_not_negative,
       count(*) - count(gain) AS rows_without_gain
  FROM choose_k('orders', 'x', 12, '{"live": true}');
SELECT scans() - n AS scans FROM before;
-- choose_k scans the table if the option is not given.
SELECT count(stability) > 0 AS has_stabilities FROM choose_k('orders', 'x', 6, '{"live": false}');
SELECT scans() > n AS has_scanned FROM before;
COMMIT;
SELECT * FROM choose_k('orders', 'x', 6, '{"live": true, "trim": 0.1}');
SELECT * FROM choose_k('orders', 'x', 6, '{"live": true, "where": "id > 10"}');
SELECT * FROM choose_k('before', 'n', 6, '{"live": true}');
SELECT * FROM choose_k('orders', 'x', 1, '{"live": true}');
TRUNCATE orders;
SELECT * FROM choose_k('orders', 'x', 6, '{"live": true}');
-- A user who may not read the columns gets no answer from the live sketch.
CREATE ROLE live_stranger; GRANT USAGE ON SCHEMA of_live_choice TO live_stranger;
SET ROLE live_stranger;
SELECT * FROM choose_k('orders', 'x', 6, '{"live": true}');
RESET ROLE;
SELECT drop_model('vectors'), drop_model('columns');
DROP SCHEMA of_live_choice CASCADE; DROP ROLE live_stranger;

-- A model has at most one live sketch, even if another role claims it or its table is dropped or
-- given away.
CREATE SCHEMA of_live_claims; SET search_path = of_live_claims, public, fastclust;
CREATE ROLE live_claims_alice; CREATE ROLE live_claims_bob; GRANT ALL ON SCHEMA of_live_claims TO live_claims_alice, live_claims_bob;
SET ROLE live_claims_alice;
CREATE TABLE hers AS SELECT i AS id, ARRAY[i % 7, i % 11]::real[] AS x FROM generate_series(1, 300) i;
CREATE TABLE given AS TABLE hers;
SELECT train('claimed', 'given', 'x', 3, 'compressive', '{"live": true, "quiet": true}');
-- A second live sketch claimed by hand does not disturb the first.
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
-- If the table is given to another role, its owner can still retrain the model, train it without
-- a live sketch, and let it follow another table.
ALTER TABLE given OWNER TO live_claims_bob;
GRANT SELECT ON given TO live_claims_alice;
SET ROLE live_claims_alice;
SELECT retrain('claimed', '{"quiet": true}');
SELECT train('claimed', 'given', 'x', 3, 'compressive', '{"live": true, "quiet": true}');
SELECT train('claimed', 'given', 'x', 3, 'compressive', '{"live": false, "quiet": true}');
SELECT train('claimed', 'hers', 'x', 3, 'compressive', '{"live": true, "quiet": true}');
SELECT retrain('claimed', '{"quiet": true}');
RESET ROLE;
SELECT regexp_replace(name, '^claimed.*', 'claimed ...') AS name, relation,
       model IS NOT NULL AS belongs_to_model, row_count(current_sketch(name))
  FROM live_sketches ORDER BY id;
-- The same holds if she may no longer read that table.
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
SELECT relation, model IS NOT NULL AS belongs_to_model, row_count(current_sketch(name))
  FROM live_sketches ORDER BY id;
-- A user cannot end the live sketch of another user's model.
SET ROLE live_claims_bob;
SELECT fastclust_internal.end_model_live((SELECT max(model_id) FROM fastclust_internal.own_live_sketches));
SELECT fastclust_internal.end_model_live(9223372036854775807);
SELECT drop_sketch(name) FROM live_sketches;
RESET ROLE;
SELECT drop_model('renamed');
SELECT count(*) AS live_sketches_left FROM live_sketches;
DROP SCHEMA of_live_claims CASCADE; DROP ROLE live_claims_alice, live_claims_bob;

-- A compressive model trained with scans (the option iterations) is retrained from its live
-- sketch without them, and a notice says so.
CREATE SCHEMA of_live_scans; SET search_path = of_live_scans, public, fastclust;
CREATE TABLE orders AS SELECT i AS id, ARRAY[(i % 4) * 5 + sin(i), (i % 2) * 3 + cos(i)]::real[] AS x FROM generate_series(1, 3000) i;
SELECT train('plain', 'orders', 'x', 4, 'compressive', '{"live": true, "quiet": true}');
SELECT train('scanned', 'orders', 'x', 4, 'compressive', '{"live": true, "iterations": 2}');
SELECT train('followed by nothing', 'orders', 'x', 4, 'compressive', '{"iterations": 2}');
INSERT INTO orders SELECT i, ARRAY[i % 3, i % 5] FROM generate_series(4000, 4999) i;
CREATE VIEW live_model AS SELECT v AS version, l AS live, m AS held FROM fastclust_internal.stored_models m JOIN fastclust_internal.stored_versions v ON v.model_id = m.id AND v.version = m.version LEFT JOIN fastclust_internal.kept_sketches l ON l.model_id = m.id;
-- live_for_retraining is what retrain calls; retrain itself would also print seconds.
SET client_min_messages = notice;
SELECT (held).model, (fastclust_internal.live_for_retraining(held, version, '{}')).name FROM live_model ORDER BY 1;
SELECT (held).model, (fastclust_internal.live_for_retraining(held, version, '{"quiet": true}')).name FROM live_model ORDER BY 1;
SET client_min_messages = warning;
SELECT retrain('scanned'), retrain('plain', '{"iterations": 1}');
SELECT model, version, n, note FROM fastclust_internal.stored_versions WHERE version > 1 ORDER BY 1, 2;
SELECT drop_model(m.model) FROM models m WHERE m.model IN ('plain', 'scanned', 'followed by nothing');
DROP SCHEMA of_live_scans CASCADE;

-- After DDL that changes values, retrain_if_drifted reads the rows with a warning, and the model
-- is followed again afterwards. Harmless DDL changes nothing.
CREATE SCHEMA of_live_altered; SET search_path = of_live_altered, public, fastclust;
CREATE TABLE orders AS SELECT i AS id, (i % 4) * 10 + sin(i) AS a, (i % 3) * 7 + cos(i) AS b, 'note ' || i % 5 AS note FROM generate_series(1, 20000) i;
SELECT train('altered', 'orders', ARRAY['a', 'b'], 12, options => '{"live": true, "quiet": true}');
ALTER TABLE orders ADD more integer DEFAULT 1, ALTER note TYPE varchar(20);
SELECT retrain_if_drifted('altered');
ALTER TABLE orders ALTER a TYPE float8 USING a * 2;
SELECT retrain_if_drifted('altered');
SELECT retrain_if_drifted('altered'), row_count(current_sketch('altered')),
       (SELECT count(*) FROM check_sketch('altered')) AS differences;
ALTER TABLE orders RENAME b TO c;
SELECT retrain_if_drifted('altered');
-- The hints name ways that work: rebuild_sketch fails, and a training with the new name works.
SELECT rebuild_sketch('altered');
SELECT current_sketch('altered');
BEGIN;
SELECT train('altered', 'orders', '{a,c}', 2, 'compressive', '{"live": true, "quiet": true}');
SELECT verdict, row_count(current_sketch('altered')), (SELECT count(*) FROM live_sketches) FROM drift('altered');
ROLLBACK;
BEGIN;
SELECT keep_sketch('of notes', 'orders', '{a,c}', model_spec('altered'), '{"group_by": "note"}');
ALTER TABLE orders RENAME note TO remark;
\set ON_ERROR_ROLLBACK on
SELECT current_sketch('of notes', '1');
SELECT rebuild_sketch('of notes');
ALTER TABLE orders DROP remark;
SELECT current_sketch('of notes');
SELECT drop_sketch('of notes');
ROLLBACK;
\set ON_ERROR_ROLLBACK off
ALTER TABLE orders RENAME c TO b;
SELECT retrain_if_drifted('altered');
SELECT verdict, n, new_version FROM drift_log WHERE model = 'altered' ORDER BY id;
SELECT drop_model('altered');
DROP SCHEMA of_live_altered CASCADE;

-- A renamed table or schema keeps its live models and their label tables. An earlier version
-- trained on a dropped table does not.
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
SELECT count(*) AS labels FROM labels;
ALTER SCHEMA of_names RENAME TO of_new_names; SET search_path = of_new_names, public, fastclust;
DROP TABLE others;
SELECT n FROM drift('moved', version => 1);
SELECT retrain('moved', '{"k": 5, "iterations": 1, "quiet": true}');
SELECT version, relation, n FROM model_versions WHERE model = 'moved' ORDER BY 1;
SELECT drop_model('moved'), drop_model('dense');
DROP SCHEMA of_new_names CASCADE;

-- A session that keeps an encoder between statements notices that a label of an enum was renamed.
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

-- A NULL option takes the option back in a retraining. Without the condition that the live sketch
-- has, the rows are read; a retraining from a sketch has no such option.
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

-- Expressions kept between statements of a session, or by PL/pgSQL within a transaction, never
-- run one role's cast for the next role.
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
SELECT count(encoded(p)) AS encoded FROM priced p;
RESET ROLE;
SELECT count(encoded(p)) AS encoded FROM priced p;
ROLLBACK;
SELECT drop_model('priced');
DROP SCHEMA of_casts CASCADE;
DROP ROLE regress_casts;

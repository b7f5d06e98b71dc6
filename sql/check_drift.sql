-- check_drift checks every model of the caller, logs and notifies each check, and retrains none.
-- A model that cannot be checked is reported and does not stop the others.
CREATE ROLE regress_watcher;
CREATE SCHEMA shop;
GRANT CREATE, USAGE ON SCHEMA shop TO regress_watcher;
SET ROLE regress_watcher;
CREATE TABLE shop.orders AS SELECT 'shop ' || i % 3 AS shop, ARRAY[(i % 4) * 5 + sin(i), (i % 2) * 3 + cos(i)]::real[] AS x FROM generate_series(1, 6000) i;
CREATE TABLE shop.gone AS TABLE shop.orders;
SELECT train('orders', 'shop.orders', 'x', 4), train('shops', 'shop.orders', 'x', 4, options => '{"group_by": "shop"}'), train('gone', 'shop.gone', 'x', 4);
RESET ROLE;
CREATE TABLE shop.others AS TABLE shop.orders;
SELECT train('of another', 'shop.others', 'x', 2);
SET ROLE regress_watcher;
SELECT model, version, group_value, verdict, effect, p_value, n, columns, problem FROM check_drift();
SELECT check_drift('of another');
-- One shop changes and one table is dropped: the first is reported as drifted, the second with
-- its problem.
UPDATE shop.orders SET x[1] = x[1] + 5 WHERE shop = 'shop 1';
DROP TABLE shop.gone;
SET client_min_messages = error;
SELECT model, version, group_value, verdict, effect > 0.3 AS effect_above_0_3, n, columns -> 0 ->> 'name'
       AS name, problem FROM check_drift();
SET client_min_messages = warning;
SELECT model, version, verdict, problem FROM check_drift('orders');
SELECT check_drift('gone');
SELECT check_drift('none');
SELECT model, group_value, verdict, relation, threshold, min_effect, new_version, checked_by FROM drift_log ORDER BY id;
SELECT count(*) AS versions, max(version) AS highest FROM model_versions;
BEGIN READ ONLY;
SELECT check_drift();
COMMIT;
-- A superuser, who has all rights, checks only the models of his own.
RESET ROLE;
SELECT model, verdict FROM check_drift();

-- The option relation is found along search_path, as SQL finds a table.
SET search_path = shop, public, fastclust;
SELECT retrain('of another', '{"relation": "others"}'), retrain_if_drifted('of another', options => '{"relation": "Others"}');
SET search_path = public, fastclust;
SELECT retrain('of another', '{"relation": "others"}');
SHOW search_path;
SELECT relation FROM models WHERE model = 'of another';
CREATE TEMP TABLE others AS SELECT * FROM shop.others LIMIT 500;
SELECT retrain('of another', '{"relation": "others"}');
SELECT n FROM models WHERE model = 'of another';
SELECT count(drop_model(m)) AS models_dropped
  FROM unnest('{orders,shops,gone,of another}'::text[]) m;
DROP TABLE others;
SET client_min_messages = error;
DROP SCHEMA shop CASCADE; DROP ROLE regress_watcher;

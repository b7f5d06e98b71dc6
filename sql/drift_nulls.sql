-- drift tests the share of NULLs of each column, and names the columns whose share changed. It says
-- so if NULLs were not counted.
SET client_min_messages = warning;
CREATE SCHEMA nulls_of_drift;
SET search_path = nulls_of_drift, public, fastclust;
-- A uniform number that depends on the row and a seed, so that every run is the same.
CREATE FUNCTION uniform(i int, seed int) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT (hashint8extended(i, seed) & 1048575) / 1048576.0';
-- n rows with shares of NULLs for a number, a text, a path of a jsonb and an array.
CREATE FUNCTION made(n int, seed int, age float8, kind float8, spent float8, place float8)
    RETURNS TABLE (age float8, kind text, doc jsonb, place float8[], other float8, day int) LANGUAGE sql AS $$
    SELECT CASE WHEN uniform(i, seed) >= $3 THEN 20 + 60 * uniform(i, seed + 1) END,
           CASE WHEN uniform(i, seed + 2) >= $4 THEN (ARRAY['red', 'green', 'blue'])[1 + floor(3 * uniform(i, seed + 3))::int] END,
           jsonb_build_object('spent', CASE WHEN uniform(i, seed + 4) >= $5 THEN uniform(i, seed + 5) END),
           CASE WHEN uniform(i, seed + 6) >= $6 THEN ARRAY[uniform(i, seed + 7), uniform(i, seed + 8)] END,
           uniform(i, seed + 9), i % 3
      FROM generate_series(1, n) i
$$;
CREATE FUNCTION shown(columns jsonb) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(COALESCE(c ->> 'shown', c ->> 'name'), '; ' ORDER BY i) FROM jsonb_array_elements(columns) WITH ORDINALITY q(c, i)
$$;

-- Columns without NULLs get some. Each kind of column is named, with its shares.
CREATE TABLE ages AS SELECT * FROM made(5000, 100, 0, 0, 0, 0);
SELECT train('ages', 'ages', '{age,kind,doc,place,other}', 3, options => '{"quiet": true, "encoder": {"paths": {"doc": ["spent"]}}}');
CREATE TABLE same AS SELECT * FROM made(2000, 200, 0, 0, 0, 0);
CREATE TABLE less_age AS SELECT * FROM made(2000, 200, 0.05, 0, 0, 0);
CREATE TABLE less_kind AS SELECT * FROM made(2000, 200, 0, 0.05, 0, 0);
CREATE TABLE less_spent AS SELECT * FROM made(2000, 200, 0, 0, 0.05, 0);
CREATE TABLE less_place AS SELECT * FROM made(2000, 200, 0, 0, 0, 0.05);
SELECT p_value < 1e-20 AS p_value_below_1e_20, round(effect::numeric, 2) AS effect, verdict, columns FROM drift('ages', 'less_age');
SELECT r.relation, d.p_value < 1e-9 AS p_value_below_1e_9, d.verdict, shown(d.columns) AS columns
  FROM unnest('{same,less_age,less_kind,less_spent,less_place}'::regclass[]) r(relation), drift('ages', r.relation) d;

-- Of columns that have NULLs, one gets more.
CREATE TABLE halves AS SELECT * FROM made(5000, 300, 0.3, 0.3, 0.001, 0.05);
SELECT train('halves', 'halves', '{age,kind,doc,place,other}', 3, options => '{"quiet": true, "encoder": {"paths": {"doc": ["spent"]}}}');
CREATE TABLE same_halves AS SELECT * FROM made(2000, 500, 0.3, 0.3, 0.001, 0.05);
CREATE TABLE more_age AS SELECT * FROM made(2000, 500, 0.36, 0.3, 0.001, 0.05);
CREATE TABLE more_kind AS SELECT * FROM made(2000, 500, 0.3, 0.36, 0.001, 0.05);
SELECT r.relation, d.p_value < 0.01 AS p_value_below_0_01, d.verdict, shown(d.columns) AS columns
  FROM unnest('{same_halves,more_age,more_kind}'::regclass[]) r(relation), drift('halves', r.relation) d;

-- If the NULLs of a column tell a cluster, it has a dimension for them, and is named once.
CREATE TABLE orders AS SELECT CASE WHEN i % 5 > 0 THEN i % 5 + uniform(i, 1) END AS amount, i % 5 + uniform(i, 2) AS visits FROM generate_series(1, 5000) i;
SELECT train('orders', 'orders', '{amount,visits}', 5, options => '{"quiet": true}');
SELECT feature_names(model_encoder('orders'));
CREATE TABLE more_orders AS SELECT CASE WHEN i % 5 > 0 AND i % 7 > 0 THEN i % 5 + uniform(i, 3) END AS amount, i % 5 + uniform(i, 4) AS visits FROM generate_series(1, 3000) i;
SELECT verdict, c ->> 'name' AS name, c - 'name' - 'p' AS change FROM drift('orders', 'more_orders'), jsonb_array_elements(columns) c;

-- With `by`, for groups, and in the log of checks, the report and a retraining NULLs count as well.
CREATE VIEW mixed AS SELECT * FROM same UNION ALL SELECT age, kind, doc, place, other, 3 FROM less_age;
SELECT value, verdict, shown(columns) AS columns FROM drift('ages', 'mixed', by => 'day') ORDER BY 1;
CREATE TABLE grouped AS TABLE ages;
SELECT train('grouped', 'grouped', '{age,other}', 3, options => '{"quiet": true, "group_by": "day"}');
UPDATE grouped SET age = NULL WHERE day = 1 AND other < 0.1;
SELECT value, verdict, shown(columns) AS columns FROM drift('grouped', by => 'group') ORDER BY 1;
SELECT verdict, shown(columns) AS columns FROM check_drift('grouped');
SELECT report('grouped') ~ 'age is NULL&nbsp;<data[^>]*>0&nbsp;%</data>&nbsp;&rarr;&nbsp;<data[^>]*>11&nbsp;%' AS report_has_shares;
TRUNCATE ages;
INSERT INTO ages TABLE less_age;
SELECT retrain_if_drifted('ages', options => '{"quiet": true}');
SELECT verdict, shown(columns) AS columns, new_version FROM drift_log WHERE model = 'ages';

-- A new category beside NULLs: NULL is no new value.
CREATE TABLE kinds AS SELECT i, i % 7 AS b, CASE WHEN i % 10 > 0 THEN 'c' || i % 3 END AS t FROM generate_series(1, 1000) i;
SELECT train('kinds', 'kinds', '{t,b}', 2, options => '{"quiet": true}');
UPDATE kinds SET t = 'new' WHERE i % 4 = 0;
SELECT verdict, columns -> 0 ->> 'name' AS name, columns -> 0 -> 'new_values' AS new_values FROM drift('kinds');
SELECT drop_model('kinds');
-- With `by`, each value of a column and each group has new values of its own rows: a fifth of the
-- rows of shop 1 became violet, so its share is 0.2.
CREATE TABLE sales AS SELECT i, 'shop ' || i % 3 AS shop, (ARRAY['red', 'green', 'blue'])[1 + i * i % 3] AS colour, sin(i) + i % 4 * 5 AS a FROM generate_series(1, 6000) i;
SELECT train('sales', 'sales', '{colour,a}', 3, options => '{"quiet": true}'), train('shops', 'sales', '{colour,a}', 3, options => '{"quiet": true, "group_by": "shop"}');
UPDATE sales SET colour = 'violet' WHERE shop = 'shop 1' AND i % 5 = 0;
SELECT d.value, c -> 'new_values' AS new_values FROM drift('sales', by => 'shop') d, jsonb_array_elements(columns) c WHERE c ? 'new_values';
SELECT d.value, verdict, c -> 'new_values' AS new_values FROM drift('shops', by => 'group') d, jsonb_array_elements(columns) c WHERE c ? 'new_values';
SELECT group_value, verdict FROM check_drift('shops');
SELECT drop_model('sales'), drop_model('shops');
DROP TABLE sales;

-- Neither a sketch nor a live sketch counts NULLs, and a version that was made from a live sketch
-- has no counts of NULLs.
SET client_min_messages = notice;
SELECT verdict FROM drift('orders', sketch => (SELECT sketch_agg(encode_row((SELECT model_encoder('orders')), o, scaled => false), (SELECT model_spec('orders'))) FROM orders o));
CREATE TABLE followed AS SELECT age, other FROM same;
SELECT train('followed', 'followed', '{age,other}', 3, options => '{"quiet": true, "live": true}');
UPDATE followed SET age = NULL WHERE other < 0.1;
SELECT verdict, shown(columns) AS columns FROM drift('followed');
SELECT verdict, shown(columns) AS columns FROM drift('followed', 'followed');
SELECT retrain('followed', '{"quiet": true}');
SELECT verdict, shown(columns) AS columns FROM drift('followed', 'same');
-- The new rows are in a live sketch, too, so that the hint has two steps.
SELECT verdict FROM drift('followed');
-- The call of the hint reads the rows, and the model remains live.
SELECT retrain('followed', '{"relation": "followed", "quiet": true}');
SELECT verdict, shown(columns) AS columns FROM drift('followed', 'same');
SELECT name, state FROM live_sketches WHERE model = 'followed';
SELECT retrain('followed', '{"quiet": true, "live": false}');
SELECT verdict, shown(columns) AS columns FROM drift('followed', 'same');
SET client_min_messages = warning;
SELECT count(drop_model(model)) FROM models WHERE model IN ('ages', 'halves', 'orders', 'grouped', 'followed');
DROP SCHEMA nulls_of_drift CASCADE;

-- A cluster in which a column is mostly NULL says so in rules, profile, plot, names and report, and
-- never shows the value that stands in for a NULL.
SET client_min_messages = warning;
CREATE SCHEMA null_words;
SET search_path = null_words, public, fastclust;
CREATE FUNCTION uniform(i int, seed int) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT (hashint8extended(i, seed) & 1048575) / 1048576.0';
-- Customers without orders, with new and with old ones.
CREATE TABLE customers AS
    SELECT i, k, CASE WHEN k > 0 THEN timestamptz '2026-10-31 00:00+00' - abs(uniform(i, 1) + uniform(i, 2) - 1) * (ARRAY[30, 400])[k] * interval '1 day' END AS last_order,
           (ARRAY[1, 3, 6])[k + 1] + uniform(i, 3) AS orders, CASE WHEN k <> 1 THEN (ARRAY['red', 'blue'])[1 + i % 2] END AS color
      FROM (SELECT i, CASE WHEN uniform(i, 4) < 0.12 THEN 0 WHEN uniform(i, 4) < 0.85 THEN 1 ELSE 2 END AS k FROM generate_series(1, 20000) i) q;
SET timezone = 'UTC';
SELECT train('customers', 'customers', '{last_order,orders}', 3, options => '{"quiet": true}');
SELECT feature_names(model_encoder('customers'));
SELECT cluster, name, rule, precision > 0.99 AS precise, coverage > 0.99 AS covered, condition FROM cluster_rules('customers');
SELECT c.cluster, r.n = c.size AS condition_has_the_rows
  FROM model_clusters c, (SELECT predict('customers', t) AS cluster, count(*) AS n FROM customers t WHERE last_order IS NULL GROUP BY 1) r
 WHERE c.model = 'customers' AND c.cluster = r.cluster;
SELECT cluster, name, feature, CASE WHEN feature <> 'orders' AND (cluster = 1 OR feature LIKE '% is NULL') THEN shown END AS shown FROM profile('customers');
SELECT line FROM regexp_split_to_table(plot('customers'), E'\n') line WHERE line ~ '(1  |last_order is NULL)';
SELECT report('customers') ~ 'title="[^"]*: last_order NULL"' AS cell_says_null;
-- The centroids themselves have all coordinates.
SELECT count(*) AS coordinates FROM model_centroids WHERE model = 'customers';

-- The same of a text, which has a category for NULLs.
SELECT train('colors', 'customers', '{color,orders}', 3, options => '{"quiet": true}');
SELECT cluster, name, rule, condition FROM cluster_rules('colors');
SELECT cluster, feature, shown FROM profile('colors') WHERE feature LIKE 'color%' AND value > 0.4;

-- Numbers, booleans and arrays.
CREATE TABLE visits AS
    SELECT i, CASE WHEN i % 4 > 0 THEN i % 4 * 10 + uniform(i, 5) END AS amount, CASE WHEN i % 4 <> 1 THEN i % 4 = 2 END AS paid,
           CASE WHEN i % 4 <> 2 THEN ARRAY[i % 4 * 5 + uniform(i, 6), uniform(i, 7)] END AS place
      FROM generate_series(1, 4000) i;
SELECT train('visits', 'visits', '{amount,paid,place}', 4, options => '{"quiet": true}');
SELECT feature_names(model_encoder('visits'));
SELECT cluster, name, rule, condition FROM cluster_rules('visits', 1);
SELECT cluster, rule, condition FROM cluster_rules('visits', 4) WHERE rule LIKE '% and %';

-- A range that holds for a NULL says so.
CREATE TABLE halves AS
    SELECT i, CASE WHEN i % 3 = 0 AND i % 4 > 0 THEN NULL ELSE i % 3 * 20 + (i % 3 = 0)::int * 20 + (i % 3 = 1)::int * -20 + uniform(i, 8) END AS amount, (i % 3 = 0)::int * 9 + uniform(i, 9) AS visits
      FROM generate_series(1, 3000) i;
SELECT train('halves', 'halves', '{amount,visits}', 3, options => '{"quiet": true}');
SELECT feature_names(model_encoder('halves'));
SELECT cluster, rule, condition FROM cluster_rules('halves', 1);
SELECT count(drop_model(model)) FROM models WHERE model IN ('customers', 'colors', 'visits', 'halves');
DROP SCHEMA null_words CASCADE;

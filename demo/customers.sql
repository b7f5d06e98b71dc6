-- customers.sql: a table of customers as people have them, from the first look to a retraining.  Needs a scratch database.
\set ON_ERROR_STOP on
\if :{?report}
\else
  \set report customers.html
\endif
\pset footer off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fastclust;
SET search_path = public, fastclust;

\echo
\echo '== The table: numbers, money with a long tail, texts, a flag, a date, and NULLs'
SELECT setseed(0.7) \g /dev/null
CREATE TABLE customers AS
  SELECT id,
         CASE WHEN random() > 0.06 THEN (ARRAY[24, 41, 63, 35])[kind] + round(12 * (random() + random() - 1)) END AS age,
         round(exp((ARRAY[2.5, 4.5, 3.5, 6])[kind] + 1.2 * (random() + random() - 1))::numeric, 2) AS spent,
         1 + floor((ARRAY[3, 12, 5, 30])[kind] * random() ^ 2)::int AS orders,
         CASE WHEN random() < 0.75 THEN (ARRAY['DE', 'FR', 'US', 'DE'])[kind] ELSE (ARRAY['DE', 'FR', 'US', 'CN', 'BR'])[1 + floor(5 * random())::int] END AS country,
         CASE WHEN random() > 0.04 THEN (ARRAY['free', 'pro', 'free', 'team'])[kind] END AS plan,
         random() < (ARRAY[0.1, 0.8, 0.4, 0.9])[kind] AS newsletter,
         date '2021-01-01' + (ARRAY[1200, 500, 100, 700])[kind] + (200 * random())::int AS since
    FROM (SELECT id, width_bucket(random(), '{0,0.3,0.6,0.8}'::float8[]) AS kind FROM generate_series(1, 50000) id OFFSET 0) k;
ANALYZE customers;
SELECT * FROM customers ORDER BY id LIMIT 4;

\echo '== 1. Train on the columns by their names.'
\echo '   SELECT train(''kinds'', ''customers'', ''{age,spent,orders,country,plan,newsletter,since}'', 4, options => ''{"encoder": {"transform": {"spent": "log", "orders": "log"}}}'');'
SELECT train('kinds', 'customers', '{age,spent,orders,country,plan,newsletter,since}'::name[], 4, options => '{"encoder": {"transform": {"spent": "log", "orders": "log"}}, "quiet": true}') AS version;
SELECT method, n AS rows, imputed AS "rows with a NULL" FROM model_versions WHERE model = 'kinds';

\echo '== 2. Ask for the cluster of a row: the whole row, whatever the order of its columns.'
\echo '   SELECT predict(''kinds'', c) FROM customers c;'
SELECT predict('kinds', c) AS cluster, count(*) AS rows, round(avg(spent)) AS spent, round(avg(age)) AS age FROM customers c GROUP BY 1 ORDER BY 1;

\echo '== 3. What are they?  Bars of what each cluster differs in, rules, and the rows in the middle.'
\echo '   SELECT plot(''kinds'');'
\pset format unaligned
\pset tuples_only on
SELECT plot('kinds');
\pset tuples_only off
\pset format aligned
\echo '   SELECT cluster, rule, precision, coverage FROM cluster_rules(''kinds'');'
SELECT cluster, rule, round(precision::numeric, 3) AS precision, round(coverage::numeric, 3) AS coverage FROM cluster_rules('kinds');
\echo '   SELECT cluster, row_data FROM typical_rows(''kinds'', 1);'
SELECT cluster, row_data FROM typical_rows('kinds', 1);

\echo '== 4. Name them.  Names stay with the clusters when the model is trained again.'
SELECT name_cluster('kinds', predict('kinds', (SELECT c FROM customers c ORDER BY spent DESC LIMIT 1)), 'big spenders') \g /dev/null
SELECT DISTINCT cluster, name FROM profile('kinds') ORDER BY cluster;

\echo '== 5. Time goes by: prices rise by a half, and half of the customers of a country leave.'
UPDATE customers SET spent = spent * 1.5;
DELETE FROM customers WHERE country = 'FR' AND id % 2 = 0;
ANALYZE customers;
\echo '   SELECT verdict, effect, p_value, columns FROM drift(''kinds'');'
SELECT verdict, round(effect::numeric, 2) AS effect, p_value < 1e-6 AS "certain", columns -> 0 ->> 'name' AS "most of all" FROM drift('kinds');
\echo '   SELECT retrain_if_drifted(''kinds'');'
SELECT retrain_if_drifted('kinds', options => '{"quiet": true}') AS "new version";
SELECT version, n AS rows, round(churn::numeric, 4) AS "labels that changed" FROM model_versions WHERE model = 'kinds' ORDER BY 1;

\echo '== 6. A page for a colleague.'
\echo '   SELECT report(''kinds'');'
\pset format unaligned
\pset tuples_only on
\o :report
SELECT report('kinds');
\o
\pset tuples_only off
\pset format aligned
\echo '   is in' :report

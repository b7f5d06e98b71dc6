-- rows with imputed numbers are rows of the training: the distances that a model keeps are those of all rows
CREATE SCHEMA of_imputed; SET search_path = of_imputed, public, fastclust;
CREATE TABLE customers AS
    SELECT i AS id, 20 + 60 * (i % 3) + 8 * sin(i) AS spend, CASE WHEN i % 9 > 0 THEN 1 + (i % 3) ^ 2 END AS visits, (ARRAY['DE', 'FR', 'US'])[1 + i % 3] AS country
      FROM generate_series(1, 20000) i;
ANALYZE customers;
SELECT train(method, 'customers', ARRAY['spend', 'visits', 'country'], 3, method, '{"quiet": true}') FROM unnest('{kmeans,compressive,qkmeans}'::text[]) method;
SELECT model, avg(anomaly(model, c, 0.001)::integer) <= 0.002 AS thousandth, avg(anomaly(model, c, 0.05)::integer) BETWEEN 0.045 AND 0.055 AS twentieth,
       avg(anomaly(model, c, 0.3)::integer) BETWEEN 0.29 AND 0.31 AS third FROM customers c, models GROUP BY model ORDER BY model;
SELECT v.model, abs(avg(predict_distance(v.model, c) ^ 2) / v.objective - 1) < 1e-6 AS of_all_rows FROM customers c, model_versions v GROUP BY v.model, v.objective ORDER BY v.model;
-- also by a sample of them
SELECT train('sampled', 'customers', ARRAY['spend', 'visits', 'country'], 3, 'compressive', '{"sample_rows": 5000, "quiet": true}');
SELECT abs(avg(predict_distance('sampled', c) ^ 2) / v.objective - 1) < 0.1 AS near, v.objective_error > 0 AS has_error, avg(anomaly('sampled', c, 0.05)::integer) BETWEEN 0.03 AND 0.07 AS twentieth
  FROM customers c, fastclust_internal.stored_versions v WHERE v.model = 'sampled' GROUP BY v.objective, v.objective_error;
-- a NULL tells a cluster: free customers, who are like some that pay, have no last payment; it has a dimension, which is announced and named
CREATE TABLE payers AS
    SELECT i AS id, kind, 20 + 12 * kind % 24 + 4 * normal AS visits, CASE WHEN kind < 2 THEN 10 + 30 * kind + 3 * normal2 END AS last_payment,
           CASE WHEN hashint8extended(i, 3) % 10 <> 0 THEN 50 + 9 * normal3 END AS age
      FROM (SELECT i, i % 3 AS kind, sqrt(-2 * ln((i * 7919 % 30011 + 0.5) / 30011)) * cos(2 * pi() * (i * 104729 % 30013) / 30013.0) AS normal,
                   sqrt(-2 * ln((i * 15485863 % 30029 + 0.5) / 30029)) * cos(2 * pi() * (i * 32452843 % 30047) / 30047.0) AS normal2,
                   sqrt(-2 * ln((i * 86028121 % 30059 + 0.5) / 30059)) * cos(2 * pi() * (i * 122949823 % 30071) / 30071.0) AS normal3
              FROM generate_series(1::bigint, 30000) i) q;
ANALYZE payers;
SELECT k FROM choose_k('payers', '{visits,last_payment,age}'::name[], 6) WHERE verdict IS NOT NULL;
SELECT train('payers', 'payers', '{visits,last_payment,age}'::name[], 3, options => '{"quiet": true}');
SELECT feature_names(model_encoder('payers'));
CREATE FUNCTION purity(model_name text) RETURNS float8 LANGUAGE sql AS $$
    SELECT sum(most) / sum(n) FROM (SELECT max(n) AS most, sum(n) AS n FROM (SELECT predict(model_name, p) AS label, kind, count(*) AS n FROM payers p GROUP BY 1, 2) q GROUP BY label) r $$;
SELECT purity('payers') > 0.99 AS found;
SELECT count(DISTINCT cluster) AS clusters, min(precision) > 0.9 AS precise FROM cluster_rules('payers');
SELECT feature, round(value::numeric, 2) AS value, shown FROM profile('payers') WHERE feature = 'last_payment is NULL' ORDER BY value;
SELECT count(*) FILTER (WHERE name ~ 'last_payment is NULL') >= 1 AS named FROM model_clusters WHERE model = 'payers';
-- a list of values has none that is NULL; a row may
SELECT count(*) > 0 AS some, bool_and(predict('payers', visits, last_payment, age) = predict('payers', p)) AS same FROM payers p WHERE last_payment IS NOT NULL AND age IS NOT NULL;
SELECT predict('payers', '{1,2}'::float8[]);
-- the option nulls forbids it, for all columns or for one; retrain keeps the dimensions that are there
SELECT train('imputed', 'payers', '{visits,last_payment,age}'::name[], 3, options => '{"encoder": {"nulls": "impute"}, "quiet": true}');
SELECT train('imputed too', 'payers', '{visits,last_payment,age}'::name[], 3, options => '{"encoder": {"nulls": {"last_payment": "impute"}}, "quiet": true}');
SELECT feature_names(model_encoder(m)) FROM unnest('{imputed,"imputed too"}'::text[]) m;
UPDATE payers SET last_payment = 25 WHERE last_payment IS NULL;
SELECT retrain('payers') IS NOT NULL AS retrained;
SELECT f ->> 'null_rows' AS nulls, f ->> 'missing' AS missing, f ->> 'dimensions' AS dimensions FROM describe(model_encoder('payers')) d, jsonb_array_elements(d -> 'features') f WHERE f ->> 'feature' = 'last_payment';
-- NULLs at random tell nothing
UPDATE payers SET last_payment = CASE WHEN hashint8extended(id, 1) % 5 < 2 THEN NULL ELSE last_payment END, visits = CASE WHEN hashint8extended(id, 2) % 5 < 2 THEN NULL ELSE visits END;
SELECT train('random', 'payers', '{visits,last_payment,age}'::name[], 3, options => '{"quiet": true}');
SELECT feature_names(model_encoder('random'));
-- texts that are all different are not the same in every row; a value never seen is another one
CREATE TABLE levels AS SELECT i AS id, 'name ' || i AS name, i % 2 AS x, CASE WHEN i % 2 = 0 THEN 'DE' ELSE 'FR' END AS country FROM generate_series(1, 100000) i;
ANALYZE levels;
SELECT train('levels', 'levels', '{name,x,country}'::name[], 2, options => '{"seed": 1}') IS NOT NULL AS trained;
SELECT encode_row(model_encoder('levels'), l, false) FROM (SELECT 0 AS id, 'new'::text AS name, 0 AS x, 'IT'::text AS country) l;
-- a column of one value and NULLs: these tell something, or they do not
CREATE TABLE flags AS SELECT 10 * (i % 2) + i % 7 AS x, i % 5 AS y, CASE WHEN i % 2 = 0 THEN true END AS told, CASE WHEN hashint8extended(i, 1) % 2 = 0 THEN true END AS idle FROM generate_series(1, 3000) i;
SELECT train('flags', 'flags', '{x,y,told,idle}'::name[], 2, options => '{"seed": 1}') IS NOT NULL AS trained;
SELECT count(drop_model(model)) FROM models;
DROP SCHEMA of_imputed CASCADE;

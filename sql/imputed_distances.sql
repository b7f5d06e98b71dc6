-- Rows with NULLs, whose numbers are imputed, count as rows of the training: anomaly shares and
-- objectives include them. A column whose NULLs distinguish clusters gets a dimension of its own,
-- which is announced, named, and can be forbidden.
CREATE SCHEMA of_imputed; SET search_path = of_imputed, public, fastclust;
CREATE TABLE customers AS
    SELECT i AS id, 20 + 60 * (i % 3) + 8 * sin(i) AS spend, CASE WHEN i % 9 > 0 THEN 1 + (i % 3) ^ 2 END AS visits, (ARRAY['DE', 'FR', 'US'])[1 + i % 3] AS country
      FROM generate_series(1, 20000) i;
ANALYZE customers;
SELECT train(method, 'customers', ARRAY['spend', 'visits', 'country'], 3, method, '{"quiet": true}') FROM unnest('{kmeans,compressive,qkmeans}'::text[]) method;
-- anomaly marks the requested share of all rows, and the objective is the mean squared distance
-- of all rows; with method kmeans the distance over the columns that a row has, which
-- predict_distance scales to all columns.
SELECT model, avg(anomaly(model, c, 0.001)::integer) <= 0.002 AS at_most_0_2_percent,
       avg(anomaly(model, c, 0.05)::integer) BETWEEN 0.045 AND 0.055 AS from_4_5_to_5_5_percent,
       avg(anomaly(model, c, 0.3)::integer) BETWEEN 0.29 AND 0.31 AS from_29_to_31_percent
  FROM customers c, models GROUP BY model ORDER BY model;
SELECT v.model, abs(avg(predict_distance(v.model, c) ^ 2 *
                        CASE WHEN v.model = 'kmeans' AND visits IS NULL THEN 1 - 1.0 / fastclust_internal.dim(model_operator(v.model))
                             ELSE 1 END) / v.objective - 1) < 1e-6
       AS objective_within_1e_6
  FROM customers c, model_versions v GROUP BY v.model,
       v.objective ORDER BY v.model;
-- A model trained on a sample is within 10 % of these, and its objective comes with an error.
SELECT train('sampled', 'customers', ARRAY['spend', 'visits', 'country'], 3, 'compressive', '{"sample_rows": 5000, "quiet": true}');
SELECT abs(avg(predict_distance('sampled', c) ^ 2) / v.objective - 1) < 0.1
       AS objective_within_10_percent, v.objective_error > 0 AS has_error,
       avg(anomaly('sampled', c, 0.05)::integer) BETWEEN 0.03 AND 0.07 AS from_3_to_7_percent
  FROM customers c, fastclust_internal.stored_versions v WHERE v.model = 'sampled' GROUP BY v.objective, v.objective_error;
-- A NULL can identify a cluster: free customers have no last payment but otherwise resemble some
-- who pay. The NULL gets a dimension, which names and rules use.
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
SELECT round(purity('payers')::numeric, 2) AS purity, purity('payers') > 0.99 AS purity_above_0_99;
SELECT count(DISTINCT cluster) AS clusters, min(precision) > 0.9 AS precisions_above_0_9
  FROM cluster_rules('payers');
SELECT feature, round(value::numeric, 2) AS value, shown FROM profile('payers') WHERE feature = 'last_payment is NULL' ORDER BY value;
SELECT count(*) FILTER (WHERE name ~ 'last_payment is NULL') >= 1 AS a_name_has_it
  FROM model_clusters WHERE model = 'payers';
-- A list of columns without NULLs has the label of the whole row; a vector has no place for the
-- NULL and is an error.
SELECT count(*) > 0 AS has_rows,
       count(*) FILTER (WHERE predict('payers', visits, last_payment, age) <> predict('payers', p))
       AS other_labels FROM payers p WHERE last_payment IS NOT NULL AND age IS NOT NULL;
SELECT predict('payers', '{1,2}'::float8[]);
-- The option nulls = impute, for all columns or for one, forbids the dimension. A retraining
-- keeps the dimensions of the version before.
SELECT train('imputed', 'payers', '{visits,last_payment,age}'::name[], 3, options => '{"encoder": {"nulls": "impute"}, "quiet": true}');
SELECT train('imputed too', 'payers', '{visits,last_payment,age}'::name[], 3, options => '{"encoder": {"nulls": {"last_payment": "impute"}}, "quiet": true}');
SELECT feature_names(model_encoder(m)) FROM unnest('{imputed,"imputed too"}'::text[]) m;
UPDATE payers SET last_payment = 25 WHERE last_payment IS NULL;
SELECT retrain('payers') IS NOT NULL AS retrained;
SELECT f ->> 'null_rows' AS nulls, f ->> 'missing' AS missing, f ->> 'dimensions' AS dimensions FROM describe(model_encoder('payers')) d, jsonb_array_elements(d -> 'features') f WHERE f ->> 'feature' = 'last_payment';
-- NULLs at random get no dimension.
UPDATE payers SET last_payment = CASE WHEN hashint8extended(id, 1) % 5 < 2 THEN NULL ELSE last_payment END, visits = CASE WHEN hashint8extended(id, 2) % 5 < 2 THEN NULL ELSE visits END;
SELECT train('random', 'payers', '{visits,last_payment,age}'::name[], 3, options => '{"quiet": true}');
SELECT feature_names(model_encoder('random'));
-- A column of different texts is no constant column, and a value never seen counts as `other`.
CREATE TABLE levels AS SELECT i AS id, 'name ' || i AS name, i % 2 AS x, CASE WHEN i % 2 = 0 THEN 'DE' ELSE 'FR' END AS country FROM generate_series(1, 100000) i;
ANALYZE levels;
SELECT train('levels', 'levels', '{name,x,country}'::name[], 2, options => '{"seed": 1}')
       AS version;
SELECT encode_row(model_encoder('levels'), l, false) FROM (SELECT 0 AS id, 'new'::text AS name, 0 AS x, 'IT'::text AS country) l;
-- A column of one value and NULLs can be trained on, even if its NULLs say nothing about the
-- clusters.
CREATE TABLE flags AS SELECT 10 * (i % 2) + i % 7 AS x, i % 5 AS y, CASE WHEN i % 2 = 0 THEN true END AS told, CASE WHEN hashint8extended(i, 1) % 2 = 0 THEN true END AS idle FROM generate_series(1, 3000) i;
SELECT train('flags', 'flags', '{x,y,told,idle}'::name[], 2, options => '{"seed": 1}') AS version;
SELECT count(drop_model(model)) AS models_dropped FROM models;
DROP SCHEMA of_imputed CASCADE;

-- rows with imputed numbers are rows of the training: the distances that a model keeps are those of all rows
SET client_min_messages = warning;
CREATE SCHEMA of_imputed;
SET search_path = of_imputed, public, fastclust;
CREATE TABLE customers AS
    SELECT i AS id, 20 + 60 * (i % 3) + 8 * sin(i) AS spend, CASE WHEN i % 9 > 0 THEN 1 + (i % 3) ^ 2 END AS visits, (ARRAY['DE', 'FR', 'US'])[1 + i % 3] AS country
      FROM generate_series(1, 20000) i;
ANALYZE customers;
SELECT train(method, 'customers', ARRAY['spend', 'visits', 'country'], 3, method, '{"quiet": true}') FROM unnest('{kmeans,compressive,qkmeans}'::text[]) method;
SELECT model, avg(anomaly(model, c, 0.001)::integer) <= 0.002 AS thousandth, avg(anomaly(model, c, 0.05)::integer) BETWEEN 0.045 AND 0.055 AS twentieth,
       avg(anomaly(model, c, 0.3)::integer) BETWEEN 0.29 AND 0.31 AS third
  FROM customers c, models GROUP BY model ORDER BY model;
SELECT v.model, abs(avg(predict_distance(v.model, c) ^ 2) / v.objective - 1) < 1e-6 AS of_all_rows FROM customers c, model_versions v GROUP BY v.model, v.objective ORDER BY v.model;
-- also by a sample of them
SELECT train('sampled', 'customers', ARRAY['spend', 'visits', 'country'], 3, 'compressive', '{"sample_rows": 5000, "quiet": true}');
SELECT abs(avg(predict_distance('sampled', c) ^ 2) / v.objective - 1) < 0.1 AS near, v.objective_error > 0 AS has_error, avg(anomaly('sampled', c, 0.05)::integer) BETWEEN 0.03 AND 0.07 AS twentieth
  FROM customers c, model_versions v WHERE v.model = 'sampled' GROUP BY v.objective, v.objective_error;
SELECT count(drop_model(model)) FROM models;
DROP SCHEMA of_imputed CASCADE;

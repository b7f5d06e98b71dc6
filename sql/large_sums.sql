-- A training whose sums are larger than a value can be adds them up in one process, and gives the
-- same centroids after as many scans.
CREATE SCHEMA of_large_sums; SET search_path = of_large_sums, public, fastclust;
CREATE TABLE wide_rows AS
  SELECT i AS id, (SELECT array_agg(sin(i % 60 * j) + 0.1 * sin(i * 0.7 * j + j)) FROM generate_series(1, 32) j)::real[] AS v FROM generate_series(1, 3000) i;
ANALYZE wide_rows;
SELECT train('shared', 'wide_rows', 'v', 40, options => '{"seed": 1, "quiet": true, "sample_rows": 1000, "iterations": 3, "tolerance": 0}');
SET fastclust.largest_state = '64kB';
SELECT train('alone', 'wide_rows', 'v', 40, options => '{"seed": 1, "quiet": true, "sample_rows": 1000, "iterations": 3, "tolerance": 0}');
SELECT train('cosines', 'wide_rows', 'v', 40, options => '{"seed": 1, "quiet": true, "sample_rows": 1000, "iterations": 1, "metric": "cosine"}');
SELECT train('columns', 'wide_rows', ARRAY['id'], 5, options => '{"quiet": true, "sample_rows": 1000, "iterations": 2}');
-- Both models have the same centroids and the same number of scans.
SELECT count(DISTINCT a.cluster) AS clusters, max(abs(x - y)) < 1e-6 AS centroids_within_1e_6
  FROM centroids(model_operator('shared')) a JOIN centroids(model_operator('alone')) b USING (cluster), unnest(a.centroid, b.centroid) u(x, y);
SELECT model, count(*) AS scans FROM training_log WHERE step LIKE 'scan%' GROUP BY 1 ORDER BY 1;
-- lloyd_step_agg, which must return the sums, is an error that says so.
\set VERBOSITY terse
SELECT lloyd_step_agg((SELECT model_operator('shared')), v) FROM wide_rows;
RESET fastclust.largest_state;
SELECT count(drop_model(model)) AS dropped FROM models;
DROP SCHEMA of_large_sums CASCADE;

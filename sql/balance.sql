-- clusters of even size
CREATE SCHEMA of_balance; SET search_path = of_balance, public, fastclust;
SELECT setseed(0.25) IS NULL AS seeded;
-- sizes by a power law: twice the mean, where the largest cluster has 12 times the mean else
CREATE TABLE even_places AS SELECT g, array_agg(random() ORDER BY i)::real[] AS center FROM generate_series(1, 256) g, generate_series(1, 8) i GROUP BY g;
CREATE TABLE even_rows AS SELECT (SELECT array_agg(c + 0.1 * random() ORDER BY i) FROM unnest(p.center) WITH ORDINALITY u(c, i))::real[] AS v
  FROM even_places p, generate_series(1, 2 + 2500 / (p.g + 4)) r;
ANALYZE even_rows;
SELECT train('law', 'even_rows', 'v', 256, options => '{"seed": 1, "quiet": true}') AS as_they_are, train('even_law', 'even_rows', 'v', 256, options => '{"seed": 1, "quiet": true, "balance": 2}') AS balanced;
SELECT m.model, max(c.n) <= 2 * avg(c.n) AS even, count(*) AS clusters
  FROM models m, LATERAL (SELECT predict(m.model, v), count(*) AS n FROM even_rows GROUP BY 1) c WHERE m.model LIKE '%law' GROUP BY 1 ORDER BY 1;
SELECT sse_agg((SELECT model_operator('even_law')), v) < 3 * sse_agg((SELECT model_operator('law')), v) AS sse_within_three_times FROM even_rows;
-- by a sample, which tells too little at first: scans of all rows say so
SELECT train('sampled_law', 'even_rows', 'v', 64, options => '{"seed": 1, "quiet": true, "balance": 2, "sample_rows": 4000}');
SELECT max(n) <= 2 * avg(n) AS even FROM (SELECT count(*) AS n FROM even_rows GROUP BY predict('sampled_law', v)) c;
-- on the sphere
SELECT train('cosine_law', 'even_rows', 'v', 64, options => '{"seed": 1, "quiet": true, "balance": 2, "metric": "cosine"}');
SELECT max(n) <= 2 * avg(n) AS even FROM (SELECT count(*) AS n FROM even_rows GROUP BY predict('cosine_law', v)) c;
SELECT count(drop_model(model)) AS dropped FROM models;
DROP SCHEMA of_balance CASCADE;

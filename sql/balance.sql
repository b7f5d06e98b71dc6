-- The option balance 2 limits the largest cluster to twice the mean number of rows, counted by
-- predict. Left alone, rows that follow a power law give 12 times the mean.
CREATE SCHEMA of_balance; SET search_path = of_balance, public, fastclust;
SELECT setseed(0.25);
-- 256 places in eight dimensions; the numbers of their rows follow a power law.
CREATE TABLE even_places AS SELECT g, array_agg(random() ORDER BY i)::real[] AS center FROM generate_series(1, 256) g, generate_series(1, 8) i GROUP BY g;
CREATE TABLE even_rows AS SELECT (SELECT array_agg(c + 0.1 * random() ORDER BY i) FROM unnest(p.center) WITH ORDINALITY u(c, i))::real[] AS v
  FROM even_places p, generate_series(1, 2 + 2500 / (p.g + 4)) r;
ANALYZE even_rows;
SELECT train('law', 'even_rows', 'v', 256, options => '{"seed": 1, "quiet": true}') AS as_they_are, train('even_law', 'even_rows', 'v', 256, options => '{"seed": 1, "quiet": true, "balance": 2}') AS balanced;
SELECT m.model, max(c.n) <= 2 * avg(c.n) AS at_most_twice_the_mean, count(*) AS clusters
  FROM models m, LATERAL (SELECT predict(m.model, v), count(*) AS n FROM even_rows GROUP BY 1) c WHERE m.model LIKE '%law' GROUP BY 1 ORDER BY 1;
SELECT sse_agg((SELECT model_operator('even_law')), v) < 3 * sse_agg((SELECT model_operator('law')),
       v) AS sse_below_three_times FROM even_rows;
-- The limit holds for all rows, too, where clusters are first balanced on a sample.
SELECT train('sampled_law', 'even_rows', 'v', 64, options => '{"seed": 1, "quiet": true, "balance": 2, "sample_rows": 4000}');
SELECT max(n) <= 2 * avg(n) AS at_most_twice_the_mean
  FROM (SELECT count(*) AS n FROM even_rows GROUP BY predict('sampled_law', v)) c;
-- The limit holds with the metric cosine.
SELECT train('cosine_law', 'even_rows', 'v', 64, options => '{"seed": 1, "quiet": true, "balance": 2, "metric": "cosine"}');
SELECT max(n) <= 2 * avg(n) AS at_most_twice_the_mean
  FROM (SELECT count(*) AS n FROM even_rows GROUP BY predict('cosine_law', v)) c;
SELECT count(drop_model(model)) AS dropped FROM models;
DROP SCHEMA of_balance CASCADE;

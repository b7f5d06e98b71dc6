-- Option row_weight: a row of weight w counts as w rows, in every method and in all that is measured.
CREATE SCHEMA of_row_weight; SET search_path = of_row_weight, public, fastclust;
SET client_min_messages = error;
CREATE TABLE weighted AS
SELECT i AS id, (i % 4) * 20 + u.a AS a, (i % 3) * 20 + u.b AS b, i % 5 AS w, 2.5::numeric AS equal,
       (ARRAY['red', 'blue', 'green'])[1 + i % 7 % 3] AS colour, i % 2 AS g,
       CASE WHEN i % 11 > 0 THEN (i % 2) * 9 + u.c END AS c,
       ARRAY[(i % 4) * 20 + u.a, (i % 3) * 20 + u.b]::real[] AS x
  FROM generate_series(1, 3000) i,
       LATERAL (SELECT (i * 2654435761 % 10007) / 1000.7::float8 AS a,
                       (i * 40503::bigint % 1009) / 100.9::float8 AS b,
                       (i * 69069::bigint % 503) / 100.6::float8 AS c) u;
CREATE TABLE repeated AS SELECT t.* FROM weighted t, generate_series(1, t.w);
ANALYZE weighted, repeated;

-- Trained on (x, w) and on x repeated w times, clusters have the same weights; objectives agree
-- within 0.5 %, and the number of rows is that of the table without weights of 0.
CREATE FUNCTION trained_twice(features text, k integer, method text, options jsonb,
        OUT same_weights boolean, OUT same_objective boolean, OUT rows bigint, OUT repeated bigint)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM drop_model(m.model) FROM models m WHERE m.model IN ('w', 'r');
    PERFORM train('w', 'weighted', features, k, method,
                  options || '{"row_weight": "w", "quiet": true}'),
            train('r', 'repeated', features, k, method, options || '{"quiet": true}');
    SELECT x.weights = y.weights, abs(x.objective - y.objective) <= 0.005 * y.objective, x.n, y.n
      INTO same_weights, same_objective, rows, repeated
      FROM (SELECT v.model, sum(v.n) AS n, sum(v.objective * v.n) / sum(v.n) AS objective,
                   (SELECT array_agg(round(c.weight) ORDER BY c.group_value, c.weight)
                      FROM model_clusters c WHERE c.model = v.model) AS weights
              FROM model_versions v GROUP BY 1) x,
           (SELECT v.model, sum(v.n) AS n, sum(v.objective * v.n) / sum(v.n) AS objective,
                   (SELECT array_agg(round(c.weight) ORDER BY c.group_value, c.weight)
                      FROM model_clusters c WHERE c.model = v.model) AS weights
              FROM model_versions v GROUP BY 1) y
     WHERE x.model = 'w' AND y.model = 'r';
END
$$;
SELECT c.*, t.* FROM (VALUES
    ('{a,b}', 12, 'kmeans', '{}'), ('{a,b,colour}', 36, 'kmeans', '{}'), ('x', 12, 'kmeans', '{}'),
    ('{a,b,c}', 12, 'kmeans', '{}'), ('{a,b}', NULL, 'kmeans', '{}'),
    ('{a,b}', 12, 'compressive', '{}'), ('x', 12, 'compressive', '{"seed": 2}'),
    ('{a,b}', 6, 'kmeans', '{"group_by": "g"}'), ('{a,b}', 6, 'compressive', '{"group_by": "g"}'),
    ('x', NULL, 'density', '{}'), ('{a,b}', NULL, 'density', '{"group_by": "g"}'),
    ('x', NULL, 'density', '{"scale": 3, "min_cluster_rows": 20}'),
    ('{a,b}', 12, 'kmeans', '{"where": "id > 900"}'), ('{a,b}', 12, 'kmeans', '{"trim": 0.02}'),
    ('{a,b}', 12, 'kmeans', '{"encoder": {"transform": "robust"}}'))
    c (features, k, method, options), trained_twice(features, k, method, options::jsonb) t;
-- Equal weights change nothing but the weights.
SELECT train('none', 'weighted', '{a,b,c,colour}', 12, options => '{"quiet": true}'),
       train('equal', 'weighted', '{a,b,c,colour}', 12,
             options => '{"row_weight": "equal", "quiet": true}');
SELECT count(*) AS clusters, bool_and(n.size = e.size AND e.weight = 2.5 * e.size) AS same_sizes,
       max(abs(n.share - e.share)) < 1e-12 AS same_shares,
       bool_and(n.centroid = e.centroid) AS same_centroids
  FROM model_clusters n JOIN model_clusters e USING (cluster)
 WHERE n.model = 'none' AND e.model = 'equal';
-- Rows are counted, and so are weights.
SELECT train('w', 'weighted', '{a,b}', 12, options => '{"row_weight": "w", "quiet": true}');
SELECT sum(c.size) AS rows, sum(c.weight) AS weights, sum(c.share) AS shares,
       bool_and(c.size = t.n) AS rows_are_exact, bool_and(c.weight = t.w) AS weights_are_exact
  FROM model_clusters c
  JOIN (SELECT predict('w', a, b) AS cluster, count(*) AS n, sum(w) AS w FROM weighted
         WHERE w > 0 GROUP BY 1) t USING (cluster)
 WHERE model = 'w';
-- A sample of few rows has weights that add up, and clusters that fit.
SELECT train('few', 'weighted', '{a,b}', 12,
             options => '{"row_weight": "w", "sample_rows": 300, "quiet": true}');
SELECT sum(weight) AS weights, max(abs(weight - 500)) < 1 AS equal_clusters,
       max(abs(size - 200)) < 40 AS about_equal_rows FROM model_clusters WHERE model = 'few';

-- What explains clusters counts weights.
SELECT train('r', 'repeated', '{a,b}', 12, options => '{"quiet": true}');
SELECT count(*), max(abs(s.share - t.share)) < 1e-9 AS same_shares,
       max(abs(s.silhouette - t.silhouette)) < 1e-4 AS same_silhouettes,
       max(abs(s.spread - t.spread)) < 1e-4 AS same_spreads,
       max(abs(s.variance_explained - t.variance_explained)) < 1e-4 AS same_variance
  FROM score('w') s, score('r') t
 WHERE s.cluster IS NULL AND t.cluster IS NULL
    OR (SELECT ARRAY[round(c.centroid[1]), round(c.centroid[2])] FROM model_clusters c
         WHERE c.model = 'w' AND c.cluster = s.cluster)
     = (SELECT ARRAY[round(c.centroid[1]), round(c.centroid[2])] FROM model_clusters c
         WHERE c.model = 'r' AND c.cluster = t.cluster);
-- Weights that add up to 1 leave the silhouette as it is.
ALTER TABLE weighted ADD part float8 DEFAULT 1 / 3000.0;
SELECT train('part', 'weighted', '{a,b,c,colour}', 12,
             options => '{"row_weight": "part", "quiet": true}');
SELECT count(*), max(abs(p.silhouette - n.silhouette)) < 1e-4 AS same_silhouettes
  FROM score('part') p JOIN score('none') n ON p.cluster IS NOT DISTINCT FROM n.cluster;
SELECT count(*) > 0 AS has_rules, bool_and(abs(r.precision - t.precision) < 0.01) AS same_precision,
       bool_and(abs(r.rows - t.rows) <= 5) AS same_rows
  FROM (SELECT max(precision) AS precision, rows FROM cluster_rules('w') GROUP BY cluster, rows) r,
       (SELECT max(precision) AS precision, max(rows) AS rows FROM cluster_rules('r')) t;
SELECT max(abs(p.overall - q.overall)) < 1e-6 AS same_means
  FROM profile('w') p JOIN profile('r') q USING (feature);
SELECT abs(sum(w * anomaly('w', t, 0.1)::integer)::float8 / sum(w) - 0.1) < 0.01 AS tenth_is_far
  FROM weighted t;
SELECT c.k, c.verdict IS NOT DISTINCT FROM d.verdict AS same_verdict,
       abs(c.cost - d.cost) < 0.03 * d.cost AS same_cost
  FROM choose_k('weighted', '{a,b}', 12, '{"row_weight": "w"}') c
  JOIN choose_k('repeated', '{a,b}', 12) d USING (k) WHERE k IN (1, 4, 12);
SELECT report('w') LIKE '% of weight %' AS report_shows_weights;

-- kmeans_agg
CREATE FUNCTION same_centers(a fastop, b fastop) RETURNS boolean LANGUAGE sql AS $$
    SELECT bool_and(EXISTS (SELECT FROM centroids(b) d
                             WHERE abs(c.weight - d.weight) < 1e-9
                               AND abs(c.centroid[1] - d.centroid[1]) + abs(c.centroid[2] - d.centroid[2]) < 1e-3))
      FROM centroids(a) c
$$;
SELECT same_centers((SELECT kmeans_agg(x, 12, '{}', w) FROM weighted),
                    (SELECT kmeans_agg(x, 12) FROM repeated)) AS kmeans_agg_weights;
SELECT same_centers((SELECT kmeans_agg(x, 12, '{}', 1) FROM weighted),
                    (SELECT kmeans_agg(x, 12) FROM weighted)) AS weights_of_one, (SELECT kmeans_agg(x, 12, '{}', 0) FROM weighted) IS NULL AS no_weights;
CREATE FUNCTION refused(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    detail text;
BEGIN
    EXECUTE statement;
    RETURN 'accepted';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL;
    RETURN concat_ws(' ', SQLSTATE, SQLERRM, '|' || NULLIF(detail, ''));
END
$$;
SELECT refused(format('SELECT kmeans_agg(x, 2, ''{}'', %L::float8) FROM weighted', w))
  FROM unnest('{-1,NULL,NaN,Infinity,1e101}'::text[]) w;

-- Weights are checked, and the error names the column and the value.
CREATE TABLE odd (a float8, b float8, "my ""weight" float8, note text, money money);
INSERT INTO odd SELECT i % 5, i % 7, 1 + i % 3, 'x', '1' FROM generate_series(1, 100) i;
SELECT refused(format('UPDATE odd SET "my ""weight" = %L WHERE a = 1; %s', w, format(
    'SELECT train(''o'', ''odd'', ''{a,b}'', 3, options => %L)',
    '{"row_weight": "my \"weight", "quiet": true}')))
  FROM unnest('{NULL,-1,NaN,Infinity,-Infinity,1e101,1e-101}'::text[]) w;
SELECT refused(format('SELECT train(''o'', ''odd'', ''{a,b}'', 3, %L, %L)', m, o))
  FROM (VALUES ('kmeans', '{"row_weight": "note"}'), ('kmeans', '{"row_weight": "money"}'),
               ('kmeans', '{"row_weight": "nowhere"}'), ('kmeans', '{"row_weight": 3}'),
               ('kernel', '{"row_weight": "b"}'), ('qkmeans', '{"row_weight": "b"}'),
               ('compressive', '{"row_weight": "b", "live": true}')) q (m, o);
SELECT refused($$SELECT count(*) FROM choose_k('odd', '{a,b}', 5, '{"row_weight": "note"}')$$);
-- A row that the condition excludes may have any weight; one of weight 0 does not exist.
UPDATE odd SET "my ""weight" = NULL WHERE a = 1;
UPDATE odd SET "my ""weight" = 0, b = 1e30 WHERE a = 2;
SELECT train('o', 'odd', '{a,b}', 3,
             options => '{"row_weight": "my \"weight", "where": "a <> 1", "quiet": true}');
SELECT n FROM model_versions WHERE model = 'o';
UPDATE odd SET "my ""weight" = 0;
SELECT refused($$SELECT train('o2', 'odd', '{a,b}', 3, options => '{"row_weight": "my \"weight"}')$$);

-- Weights of the whole range, from 1e-100 to 1e100.
CREATE TABLE wide AS SELECT a, b, x, 1e100::float8 AS large, 1e-100::float8 AS small FROM weighted;
SELECT train(w, 'wide', '{a,b}', method => 'density',
             options => jsonb_build_object('row_weight', w, 'quiet', true))
  FROM unnest('{large,small}'::text[]) w;
SELECT model, sum(size) AS rows, round(ln(sum(weight / 3000)) / ln(10)) AS power
  FROM model_clusters WHERE model IN ('large', 'small') GROUP BY 1 ORDER BY 1;
SELECT w, count(*), bool_and(abs(c.weight / w::float8 - 250) < 1e-6) AS equal
  FROM unnest('{1,1e-100,1e100}'::text[]) w,
       LATERAL (SELECT (centroids(kmeans_agg(x, 12, '{}', w::float8))).* FROM wide) c
 GROUP BY 1 ORDER BY w::float8;

-- The weight among the features, another weight in a retrain, which keeps it otherwise; a view; a
-- partitioned table; five rows.
SELECT train('f', 'weighted', '{a,b,w}', 3, options => '{"row_weight": "w", "quiet": true}');
SELECT retrain('f', '{"quiet": true}'), retrain('f', '{"row_weight": "equal", "quiet": true}'),
       retrain('f', '{"row_weight": null, "quiet": true}');
SELECT version, n, options ->> 'row_weight' AS row_weight FROM model_versions WHERE model = 'f' ORDER BY 1;
SELECT n, sum(weight) AS weight FROM model_clusters JOIN model_versions USING (model, version)
 WHERE model = 'f' GROUP BY 1;
CREATE VIEW seen AS SELECT a, b, w * 1e9 AS w FROM weighted;
CREATE TABLE parted (LIKE weighted) PARTITION BY LIST (g);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES IN (0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
INSERT INTO parted SELECT * FROM weighted;
SELECT train('seen', 'seen', '{a,b}', 12, options => '{"row_weight": "w", "quiet": true}'),
       train('seen sketch', 'seen', '{a,b}', 12, 'compressive',
             '{"row_weight": "w", "quiet": true}'),
       train('parted', 'parted', '{a,b}', 12, options => '{"row_weight": "w", "quiet": true}');
SELECT model, sum(size) AS rows, max(abs(weight / 500 - CASE WHEN model LIKE 'seen%' THEN 1e9 ELSE 1 END)) < 1
           AS same_weights
  FROM model_clusters WHERE model LIKE 'seen%' OR model = 'parted' GROUP BY 1 ORDER BY 1;
CREATE TABLE five AS SELECT i AS id, v AS a, 10 * v AS b, CASE i WHEN 5 THEN 1e-9 ELSE 10 END AS w
  FROM unnest('{0,0.1,10,10.1,1000}'::float8[]) WITH ORDINALITY u (v, i);
SELECT train('five', 'five', '{a,b}', 2,
             options => '{"row_weight": "w", "standardize": false, "quiet": true}');
SELECT array_agg(DISTINCT predict('five', a, b)) = '{0,1}' AS two_clusters,
       count(DISTINCT predict('five', a, b)) FILTER (WHERE id < 3) AS low,
       count(DISTINCT predict('five', a, b)) FILTER (WHERE id > 2) AS high FROM five;
SELECT drop_model(model) FROM models WHERE model IN ('w', 'r', 'none', 'equal', 'few', 'o', 'f', 'seen', 'seen sketch', 'parted', 'five',
       'large', 'small', 'part')
 ORDER BY model;
DROP SCHEMA of_row_weight CASCADE;

-- the metric: cosine on rows is euclidean on rows of length 1
CREATE FUNCTION unit(x double precision[]) RETURNS double precision[] LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(v / norm ORDER BY i) FROM (SELECT v, i, sqrt(sum(v * v) OVER ()) AS norm FROM unnest(x) WITH ORDINALITY u(v, i)) q
$$;
-- rows of any length about four directions in eight dimensions, some the zero vector, in an order that tells nothing
SELECT setseed(0.25);
CREATE TABLE points AS
	SELECT id, id % 4 AS topic, id % 3 AS part, (SELECT array_agg(l.length * ((j = id % 4)::integer + 0.25 * (random() + random() + random() - 1.5)) ORDER BY j)
	                                               FROM generate_series(0, 7) j) AS x
	  FROM generate_series(1, 4000) id, LATERAL (SELECT exp(6 * random() - 3 + 0 * id) AS length) l ORDER BY md5(id::text);
CREATE TABLE units AS SELECT id, topic, part, unit(x) AS x FROM points;
INSERT INTO points SELECT -id, 0, 0, array_fill(0.0::float8, ARRAY[8]) FROM generate_series(1, 10) id;
CREATE TABLE books AS SELECT kmeans_agg(x, 7, '{"metric": "cosine"}') AS cosine FROM points;
ALTER TABLE books ADD plain fastop;
UPDATE books SET plain = (SELECT fastop_agg(centroid, weight ORDER BY cluster) FROM centroids(cosine));

-- ---- operators ----
SELECT describe(cosine) ->> 'metric' AS metric, describe(plain) ->> 'metric' AS no_metric, NOT cosine = plain AS differ, cosine = (SELECT fastop_agg(centroid, weight, '{"metric": "cosine"}' ORDER BY cluster) FROM centroids(plain)) AS same,
       cosine::text::fastop = cosine AS back, (SELECT bool_and(abs(sqrt(sum) - 1) < 1e-6) FROM centroids(cosine) c, LATERAL (SELECT sum(v * v) FROM unnest(c.centroid) v) s) AS on_sphere
  FROM books;
SELECT count(*), bool_and(assign(cosine, p.x) = assign(plain, u.x)) AS labels, bool_and(nearest(cosine, p.x, 3) = nearest(plain, u.x, 3)) AS nearest,
       max(abs(assign_distance(cosine, p.x) - assign_distance(plain, u.x) ^ 2 / 2)) < 1e-12 AS distances,
       bool_and(assign(cosine, p.x) = assign(cosine, (SELECT array_agg(v * 1e-3 ORDER BY i) FROM unnest(p.x) WITH ORDINALITY w(v, i)))) AS scaled,
       bool_and(assign(cosine, p.x) = assign(cosine, p.x::real[])) AS floats FROM points p JOIN units u USING (id), books;
SELECT assign(cosine, x) IS NULL AND assign_distance(cosine, x) IS NULL AND nearest(cosine, x, 2) IS NULL AND project(cosine, x) IS NULL AS nothing
  FROM points, books WHERE id = -1;
-- <=> of pgvector, and the sum of squares as twice the sum of it
SELECT max(abs(assign_distance(cosine, x) - (1 - dot))) < 1e-6 AS one_minus_cosine, abs(2 * sum(assign_distance(cosine, x)) - sse_agg(cosine, x)) < 1e-9 AS twice
  FROM units, books, LATERAL (SELECT sum(v * w) AS dot FROM centroids(cosine) c, unnest(x, c.centroid) u(v, w) WHERE c.cluster = assign(cosine, x)) d;
SELECT abs(sse_agg(cosine, p.x) - (SELECT sse_agg(plain, x) FROM units)) < 1e-6 AS sse,
       abs(simplified_silhouette_agg(cosine, p.x) - (SELECT simplified_silhouette_agg(plain, x) FROM units)) < 1e-12 AS silhouette,
       abs(davies_bouldin_agg(cosine, p.x) - (SELECT davies_bouldin_agg(plain, x) FROM units)) < 1e-12 AS davies_bouldin,
       (lloyd_step_agg(cosine, p.x)).n AS n, adjusted_rand_agg(topic, assign(cosine, p.x)) > 0.5 AS found FROM points p, books GROUP BY cosine, plain;
-- a step of Lloyd: the means of the rows of length 1, brought to length 1; it never makes things worse
SELECT max(abs(v::float8 - w::float8)) < 1e-6 AS next
  FROM books, LATERAL (SELECT (lloyd_step_agg(cosine, x)).next FROM points) a, LATERAL (SELECT (lloyd_step_agg(plain, x)).next FROM units) b,
       centroids(a.next) c JOIN LATERAL centroids(b.next) e USING (cluster), unnest(c.centroid, unit(e.centroid)) u(v, w);
WITH RECURSIVE lloyd(step, op, sse) AS (
	SELECT 0, (SELECT fastop_agg(x, 1, '{"metric": "cosine"}' ORDER BY id) FROM points WHERE id BETWEEN 1 AND 5), 'infinity'::float8
	UNION ALL SELECT step + 1, (s).next, (s).sse FROM lloyd, LATERAL (SELECT lloyd_step_agg(op, x) AS s FROM points) q WHERE step < 6)
SELECT bool_and(sse <= before * (1 + 1e-12)) AS descends FROM (SELECT sse, lag(sse) OVER (ORDER BY step) AS before FROM lloyd) l;
-- factors keep the metric
SELECT describe(f) ->> 'metric' AS metric, avg((assign(f, x) = assign(cosine, x))::integer) > 0.99 AS agree
  FROM (SELECT cosine, factorize(cosine, 'svd', '{"rerank": "exact"}') AS f FROM books) q, points WHERE id > 0 GROUP BY f;
SELECT describe(factorize(cosine, 'svd')) ->> 'metric' AS of_factors FROM books;

-- ---- inner products: labels alone ----
SELECT bool_and(assign(ip, x) = best.cluster) AS greatest, max(abs(assign_distance(ip, x) + best.dot)) < 1e-6 AS negative, bool_and((nearest(ip, x, 2))[1] = assign(ip, x)) AS nearest
  FROM (SELECT fastop_agg((SELECT array_agg(v * (1 + cluster) ORDER BY i) FROM unnest(centroid) WITH ORDINALITY u(v, i)), 1, '{"metric": "inner_product"}' ORDER BY cluster) AS ip
          FROM books, centroids(cosine)) o, units,
       LATERAL (SELECT c.cluster, sum(v * w) AS dot FROM centroids(ip) c, unnest(x, c.centroid) u(v, w) GROUP BY 1 ORDER BY 2 DESC LIMIT 1) best
 WHERE id <= 500;

-- ---- sketches ----
CREATE TABLE specs AS SELECT sketch_spec(8, 60, 0.4, options => '{"metric": "cosine"}') AS cosine, sketch_spec(8, 60, 0.4) AS plain;
SELECT describe(cosine) ->> 'metric' AS metric, NOT cosine = plain AS differ, cosine::text::sketch_spec = cosine AS back FROM specs;
-- bit for bit those of the rows that are of length 1; in any order, split or not
SELECT row_count(a) AS n, moments(a) = moments(b) AS moments, means(a) = means(b) AS means, stddevs(a) = stddevs(b) AS stddevs,
       (SELECT max(abs(v::float8 - w::float8)) < 1e-15 FROM jsonb_array_elements_text(describe(a) -> 'lower_bounds') WITH ORDINALITY v(v, i) JOIN jsonb_array_elements_text(describe(b) -> 'lower_bounds') WITH ORDINALITY w(w, i) USING (i)) AS lower_bounds
  FROM (SELECT sketch_agg(x, cosine) AS a FROM points, specs) p, (SELECT sketch_agg(x, plain) AS b FROM units, specs) u;
SELECT (SELECT sketch_agg(x, cosine) FROM points, specs) = (SELECT sketch_agg(x, cosine) FROM (SELECT x FROM points ORDER BY id) p, specs) AS order_free,
       (SELECT sketch_agg(x, cosine) FROM points, specs) = (SELECT merge_agg(s) FROM (SELECT sketch_agg(x, cosine) AS s FROM points, specs GROUP BY part) q) AS merged,
       (SELECT sketch_agg(x, cosine) FROM points, specs WHERE id < 0) IS NULL AS no_direction;
SELECT bool_and(row_count(s) = least(100, i) - (CASE WHEN i < 100 THEN least(i, 10) ELSE greatest(0, 10 - i + 100) END)) AS frames
  FROM (SELECT row_number() OVER (ORDER BY id) AS i, sketch_agg(x, (SELECT cosine FROM specs)) OVER (ORDER BY id ROWS 99 PRECEDING) AS s FROM points WHERE id < 300) f WHERE i > 10;
SELECT abs(density(a, x) - density(b, unit(x))) < 1e-9 AS density, density(a, array_fill(0.0::float8, ARRAY[8])) IS NULL AS nowhere
  FROM (SELECT sketch_agg(x, cosine) AS a FROM points, specs) p, (SELECT sketch_agg(x, plain) AS b FROM units, specs) u, (SELECT x FROM points WHERE id = 5) q;
SELECT abs((describe(sketch_spec_agg(x, 4, '{"metric": "cosine"}'::jsonb)) ->> 'sigma')::float8 / (describe((SELECT sketch_spec_agg(x, 4) FROM units)) ->> 'sigma')::float8 - 1) < 0.1 AS of_unit_rows,
       sketch_spec_agg(x, 4, '{"metric": "cosine"}'::jsonb) FILTER (WHERE id < 0) IS NULL AS of_none FROM points;
-- decoded centroids are of length 1
SELECT bool_and(abs(sum - 1) < 1e-12) AS on_sphere, (SELECT adjusted_rand_agg(topic, assign(op, x)) > 0.9 FROM points) AS found
  FROM (SELECT fastop_agg(centroid, 1, '{"metric": "cosine"}' ORDER BY cluster) AS op, array_agg(l.sum) AS lengths
          FROM (SELECT sketch_agg(x, spec) AS s, spec FROM points, (SELECT sketch_spec_agg(x, 4, '{"metric": "cosine"}'::jsonb) AS spec FROM points) q GROUP BY spec) k,
               decode(s, 4, sample => spec), LATERAL (SELECT sum(v * v) FROM unnest(centroid) v) l) d, unnest(lengths) sum GROUP BY op;

-- ---- in memory ----
SELECT sse_agg(cosine, x) <= 1.01 * sse_agg(other, x) AS as_good
  FROM points, books, (SELECT fastop_agg(centroid, weight, '{"metric": "cosine"}' ORDER BY cluster) AS other FROM centroids((SELECT kmeans_agg(x, 7) FROM units))) k GROUP BY cosine, other;
SELECT kmeans_agg(x, 7, '{"metric": "cosine"}') = (SELECT cosine FROM books) AS order_free, kmeans_agg(x, 2, '{"metric": "cosine"}') FILTER (WHERE id < 0) IS NULL AS of_none
  FROM (SELECT * FROM points ORDER BY id) p;

-- ---- workers ----
CREATE TABLE serial AS SELECT sketch_agg(x, s.cosine) AS sketch, kmeans_agg(x, 7, '{"metric": "cosine"}') AS book, sse_agg(b.cosine, x) AS sse,
	sketch_spec_agg(x, 4, '{"metric": "cosine"}'::jsonb) AS spec FROM points, specs s, books b GROUP BY s.cosine, b.cosine;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
ALTER TABLE points SET (parallel_workers = 2);
SELECT sketch_agg(x, (SELECT cosine FROM specs)) = (SELECT sketch FROM serial) AS sketch, kmeans_agg(x, 7, '{"metric": "cosine"}') = (SELECT book FROM serial) AS book,
       abs(sse_agg((SELECT cosine FROM books), x) - (SELECT sse FROM serial)) < 1e-9 AS sse,
       sketch_spec_agg(x, 4, '{"metric": "cosine"}'::jsonb) = (SELECT spec FROM serial) AS spec FROM points;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;
-- a table keeps them: bytes come back from text
SELECT sketch::text::sketch = sketch AND book::text::fastop = book AND spec::text::sketch_spec = spec AS kept FROM serial;

-- ---- models ----
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT train('topics', 'points', 'x', 4, options => '{"metric": "cosine", "quiet": true}');
SET client_min_messages = warning;
SELECT adjusted_rand_agg(topic, predict('topics', x)) = 1 AS found, count(*) FILTER (WHERE predict('topics', x) IS NULL) AS no_label,
       max(abs(predict_distance('topics', x) - assign_distance(model_operator('topics'), x))) < 1e-12 AS distance,
       bool_and(predict('topics', x) = assign(model_operator('topics'), x)) AS assigned FROM points;
SELECT anomaly('topics', x) IS NULL AS anomaly, (SELECT count(*) FROM predict_all('topics', x, 2)) AS predicted, (SELECT count(*) FROM predict_probabilities('topics', x)) AS probabilities
  FROM points WHERE id = -1;
SELECT avg(anomaly('topics', x)::integer) BETWEEN 0.005 AND 0.015 AS a_hundredth, bool_and((SELECT cluster FROM predict_all('topics', x, 1)) = predict('topics', x)) AS first FROM points WHERE id > 0;
-- nobody is farther than the radius
SELECT bool_and(predict('topics', x, max_distance => 0.03) IS NOT DISTINCT FROM CASE WHEN predict_distance('topics', x) <= 0.03 THEN predict('topics', x) END) AS within,
       bool_and(predict('topics', p, max_distance => 0.03) IS NOT DISTINCT FROM predict('topics', x, max_distance => 0.03)) AS of_records, count(predict('topics', x, max_distance => 0.03)) BETWEEN 1 AND 3999 AS some,
       bool_and(predict('topics', x, max_distance => NULL) IS NOT DISTINCT FROM predict('topics', x)) AS no_limit FROM points p;
SELECT predict('topics', x, max_distance => -0.1) FROM points WHERE id = 1;
SELECT predict('topics', x, max_distance => 'NaN') FROM points WHERE id = 1;
-- all methods that know it
SELECT train('decoded', 'points', 'x', 4, 'compressive', '{"metric": "cosine"}'), train('factored', 'points', 'x', 4, 'qkmeans', '{"metric": "cosine"}'),
       train('chosen', 'points', 'x', NULL, options => '{"metric": "cosine"}'), train('parts', 'points', 'x', 4, options => '{"metric": "cosine", "group_by": "part"}'),
       train('trimmed', 'points', 'x', 4, options => '{"metric": "cosine", "trim": 0.05}');
SELECT m.model, describe(model_operator(m.model)) ->> 'metric' AS metric, (SELECT adjusted_rand_agg(topic, predict(m.model, x)) > 0.99 FROM points) AS found
  FROM models m WHERE m.group_by IS NULL ORDER BY 1;
SELECT part, adjusted_rand_agg(topic, predict('parts', x, group_value => part::text)) > 0.99 AS found, count(predict('parts', x, group_value => part::text, max_distance => 0.03)) BETWEEN 1 AND 1333 AS within,
       bool_and(predict('parts', p, group_value => part::text, max_distance => 0.03) IS NOT DISTINCT FROM predict('parts', x, group_value => part::text, max_distance => 0.03)) AS of_records
  FROM points p GROUP BY 1 ORDER BY 1;
-- a table that is not sampled whole takes scans, whose objective is that of the operator
SELECT train('scanned', 'points', 'x', 7, options => '{"metric": "cosine", "sample_rows": 200, "tolerance": 0}');
SELECT abs(objective * n / sse - 1) < 0.01 AS objective, n FROM model_versions, (SELECT sse_agg(model_operator('scanned'), x) AS sse FROM points) s WHERE model = 'scanned';
SELECT k, verdict FROM choose_k('points', 'x', options => '{"metric": "cosine"}') WHERE verdict IS NOT NULL;
-- retraining keeps metric and numbers; drift is that of directions
SELECT retrain('topics'), train('by sketch', 'points', 'x', 4, 'compressive', '{"metric": "cosine"}');
SELECT retrain('by sketch', sketch => (SELECT sketch_agg(x, model_spec('by sketch')) FROM points));
SELECT describe(model_operator('topics')) ->> 'metric' AS metric, adjusted_rand_agg(topic, predict('topics', x)) = 1 AS found FROM points;
CREATE VIEW longer AS SELECT (SELECT array_agg(v * 100 ORDER BY i) FROM unnest(x) WITH ORDINALITY u(v, i)) AS x FROM points;
SELECT verdict FROM drift('topics', 'longer');
-- explanations are of rows of length 1
SELECT bool_and(silhouette BETWEEN 0.5 AND 1) AS scored, max(n) FILTER (WHERE cluster IS NULL) AS n FROM score('topics');
SELECT bool_and(abs(distance - predict_distance('topics', ARRAY(SELECT jsonb_array_elements_text(row_data -> 'x')::float8))) < 1e-12) AS typical FROM typical_rows('topics', 3);
SELECT max(abs(value)) <= 1 AS profile FROM profile('topics');
SELECT bool_and(fidelity > 0.95) AS rules FROM cluster_rules('topics');
SELECT length(report('topics')) > 1000 AS report, plot('topics') IS NOT NULL AS plot;

-- ---- what cannot be ----
CREATE TABLE nowhere AS SELECT x FROM points WHERE id < 0;
SELECT train('bad', 'nowhere', 'x', 1, options => '{"metric": "cosine"}');
SELECT train('bad', 'points', 'x', 4, options => '{"metric": "inner_product"}');
SELECT train('bad', 'points', 'x', 4, options => '{"metric": "angle"}');
SELECT train('bad', 'points', 'x', 4, 'kernel', '{"metric": "cosine"}');
SELECT train('bad', 'points', ARRAY['id', 'topic'], 4, options => '{"metric": "cosine"}');
SELECT train('bad', 'points', 'x', 4, options => '{"metric": "cosine", "standardize": true}');
SELECT choose_k('points', 'x', options => '{"metric": "inner_product"}');
SELECT fastop_agg(x, 1, '{"metric": "cosines"}') FROM points;
SELECT fastop_agg(x, 1, '{"metrics": "cosine"}') FROM points;
SELECT fastop_agg(x, 1, NULL) FROM points;
SELECT fastop_agg(x, 1, jsonb_build_object('metric', CASE WHEN id < 9 THEN 'cosine' ELSE 'euclidean' END) ORDER BY id) FROM points WHERE id > 0;
SELECT fastop_agg(x, 1, '{"metric": "cosine"}' ORDER BY id) FROM points WHERE id BETWEEN -1 AND 2;
CREATE VIEW products AS SELECT fastop_agg(centroid, weight, '{"metric": "inner_product"}' ORDER BY cluster) AS op FROM books, centroids(plain);
SELECT factorize(op) FROM products;
SELECT sse_agg(op, x) FROM products, points GROUP BY op;
SELECT lloyd_step_agg(op, x) FROM products, points GROUP BY op;
DROP VIEW products;
SELECT kmeans_agg(x, 2, '{"metric": "inner_product"}') FROM points;
SELECT kmeans_agg(x, 2, '{"metric": 1}') FROM points;
SELECT sketch_spec(2, 10, 1, options => '{"metric": "inner_product"}');
SELECT assign(cosine, ARRAY[1, 2]) FROM books;
SELECT assign(cosine, array_fill('NaN'::float8, ARRAY[8])) FROM books;
SELECT sketch_agg(ARRAY[0, 0, 0, 'NaN', 0, 0, 0, 0]::float8[], cosine) FROM specs;
SELECT sum((assign(cosine, ARRAY[1e-300, 0, 0, 0, 0, 0, 0, 1e-308]) IS NOT NULL)::integer) AS tiny FROM books;
-- bytes of a metric that does not fit, or of none that there is
SELECT overlay(plain::text PLACING '80' FROM 15 FOR 2)::fastop FROM books;

SELECT count(drop_model(model)) FROM models;
DROP VIEW longer; DROP TABLE points, units, books, specs, serial, nowhere; DROP FUNCTION unit;

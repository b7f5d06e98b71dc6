-- The metric cosine gives what Euclidean distance gives on rows scaled to length 1, in every
-- function that takes it; a zero vector has no label.
-- The metric inner_product only assigns rows. Every other use of a metric is an error that names
-- it.
CREATE FUNCTION unit(x double precision[]) RETURNS double precision[] LANGUAGE sql IMMUTABLE AS $$
	SELECT array_agg(v / norm ORDER BY i) FROM (SELECT v, i, sqrt(sum(v * v) OVER ()) AS norm FROM unnest(x) WITH ORDINALITY u(v, i)) q
$$;
-- The rows have any length and lie about four directions in eight dimensions; ten are the zero
-- vector. The order of the table says nothing about the clusters.
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

-- An operator keeps its metric, its centroids have length 1, and its text is read back as the
-- same value.
SELECT describe(cosine) ->> 'metric' AS metric, describe(plain) ->> 'metric' AS metric_of_plain,
       NOT cosine = plain AS differs_from_plain,
       cosine = (SELECT fastop_agg(centroid, weight, '{"metric": "cosine"}' ORDER BY cluster)
                   FROM centroids(plain)) AS same_from_plain_centroids,
       cosine::text::fastop = cosine AS same_from_text,
       (SELECT bool_and(abs(sqrt(sum) - 1) < 1e-6) FROM centroids(cosine) c,
               LATERAL (SELECT sum(v * v) FROM unnest(c.centroid) v) s)
       AS centroid_lengths_within_1e_6_of_1
  FROM books;
-- Labels, nearest clusters and distances depend only on the direction of a row and not on its
-- length or type. The cosine distance is half the squared Euclidean one between rows of length 1.
SELECT count(*) AS rows, count(*) FILTER (WHERE assign(cosine, p.x) = assign(plain, u.x))
       AS same_label,
       count(*) FILTER (WHERE nearest(cosine, p.x, 3) = nearest(plain, u.x, 3)) AS same_nearest,
       max(abs(assign_distance(cosine, p.x) - assign_distance(plain, u.x) ^ 2 / 2)) < 1e-12
       AS distances_within_1e_12,
       count(*) FILTER (WHERE assign(cosine, p.x)
           = assign(cosine, (SELECT array_agg(v * 1e-3 ORDER BY i)
                        FROM unnest(p.x) WITH ORDINALITY w(v, i)))) AS same_when_scaled,
       count(*) FILTER (WHERE assign(cosine, p.x) = assign(cosine, p.x::real[])) AS same_as_real
  FROM points p JOIN units u USING (id), books;
SELECT assign(cosine, x), assign_distance(cosine, x), nearest(cosine, x, 2), project(cosine, x)
  FROM points, books WHERE id = -1;
-- assign_distance is the cosine distance of pgvector's operator <=>, and sse_agg is twice its
-- sum.
SELECT max(abs(assign_distance(cosine, x) - (1 - dot))) < 1e-6
       AS distance_within_1e_6_of_1_minus_cosine,
       abs(2 * sum(assign_distance(cosine, x)) - sse_agg(cosine, x)) < 1e-9
       AS sse_within_1e_9_of_twice_the_sum
  FROM units, books, LATERAL (SELECT sum(v * w) AS dot FROM centroids(cosine) c,
                              unnest(x, c.centroid) u(v, w) WHERE c.cluster = assign(cosine, x)) d;
-- The scores equal the scores of the rows of length 1.
SELECT abs(sse_agg(cosine, p.x) - (SELECT sse_agg(plain, x) FROM units)) < 1e-6
       AS sse_within_1e_6,
       abs(simplified_silhouette_agg(cosine, p.x)
           - (SELECT simplified_silhouette_agg(plain, x) FROM units)) < 1e-12
       AS silhouette_within_1e_12,
       abs(davies_bouldin_agg(cosine, p.x)
           - (SELECT davies_bouldin_agg(plain, x) FROM units)) < 1e-12
       AS davies_bouldin_within_1e_12,
       (lloyd_step_agg(cosine, p.x)).n AS rows_in_step,
       adjusted_rand_agg(topic, assign(cosine, p.x)) > 0.5 AS rand_above_0_5
  FROM points p, books GROUP BY cosine, plain;
-- A Lloyd step returns the means of the rows of length 1, scaled to length 1, and never increases
-- the sum of squares.
SELECT max(abs(v::float8 - w::float8)) < 1e-6 AS next_centroids_within_1e_6
  FROM books, LATERAL (SELECT (lloyd_step_agg(cosine, x)).next FROM points) a, LATERAL (SELECT (lloyd_step_agg(plain, x)).next FROM units) b,
       centroids(a.next) c JOIN LATERAL centroids(b.next) e USING (cluster), unnest(c.centroid, unit(e.centroid)) u(v, w);
WITH RECURSIVE lloyd(step, op, sse) AS (
	SELECT 0, (SELECT fastop_agg(x, 1, '{"metric": "cosine"}' ORDER BY id) FROM points WHERE id BETWEEN 1 AND 5), 'infinity'::float8
	UNION ALL SELECT step + 1, (s).next, (s).sse FROM lloyd, LATERAL (SELECT lloyd_step_agg(op, x) AS s FROM points) q WHERE step < 6)
SELECT count(*) AS steps, bool_and(sse <= before * (1 + 1e-12)) AS sse_never_increases
  FROM (SELECT sse, lag(sse) OVER (ORDER BY step) AS before FROM lloyd) l;
-- A factorised operator keeps the metric.
SELECT describe(f) ->> 'metric' AS metric,
       avg((assign(f, x) = assign(cosine, x))::integer) > 0.99 AS over_99_percent_same_labels
  FROM (SELECT cosine, factorize(cosine, 'svd', '{"rerank": "exact"}') AS f FROM books) q, points WHERE id > 0 GROUP BY f;
SELECT describe(factorize(cosine, 'svd')) ->> 'metric' AS metric FROM books;

-- The metric inner_product gives a row the cluster with the largest inner product, and minus that
-- product as distance.
SELECT bool_and(assign(ip, x) = best.cluster) AS label_has_largest_product,
       max(abs(assign_distance(ip, x) + best.dot)) < 1e-6 AS distance_within_1e_6_of_minus_product,
       bool_and((nearest(ip, x, 2))[1] = assign(ip, x)) AS first_nearest_is_label
  FROM (SELECT fastop_agg((SELECT array_agg(v * (1 + cluster) ORDER BY i) FROM unnest(centroid) WITH ORDINALITY u(v, i)), 1, '{"metric": "inner_product"}' ORDER BY cluster) AS ip
          FROM books, centroids(cosine)) o, units,
       LATERAL (SELECT c.cluster, sum(v * w) AS dot FROM centroids(ip) c, unnest(x, c.centroid) u(v, w) GROUP BY 1 ORDER BY 2 DESC LIMIT 1) best
 WHERE id <= 500;

-- A spec keeps its metric, and its text is read back as the same value.
CREATE TABLE specs AS SELECT sketch_spec(8, 60, 0.4, options => '{"metric": "cosine"}') AS cosine, sketch_spec(8, 60, 0.4) AS plain;
SELECT describe(cosine) ->> 'metric' AS metric, NOT cosine = plain AS differs_from_plain,
       cosine::text::sketch_spec = cosine AS same_from_text FROM specs;
-- A sketch with the metric cosine has the bits of the sketch of the rows scaled to length 1, in
-- any order of the rows and merged from any groups.
SELECT row_count(a) AS n, moments(a) = moments(b) AS same_moments, means(a) = means(b)
       AS same_means,
       stddevs(a) = stddevs(b) AS same_stddevs,
       (SELECT max(abs(v::float8 - w::float8)) < 1e-15
          FROM jsonb_array_elements_text(describe(a) -> 'lower_bounds') WITH ORDINALITY v(v, i)
          JOIN jsonb_array_elements_text(describe(b) -> 'lower_bounds') WITH ORDINALITY w(w, i)
          USING (i)) AS lower_bounds_within_1e_15
  FROM (SELECT sketch_agg(x, cosine) AS a FROM points, specs) p, (SELECT sketch_agg(x, plain) AS b FROM units, specs) u;
SELECT (SELECT sketch_agg(x, cosine) FROM points, specs)
       = (SELECT sketch_agg(x, cosine) FROM (SELECT x FROM points ORDER BY id) p, specs)
       AS same_in_another_order,
       (SELECT sketch_agg(x, cosine) FROM points, specs)
       = (SELECT merge_agg(s) FROM (SELECT sketch_agg(x, cosine) AS s FROM points, specs
                                    GROUP BY part) q) AS same_when_merged,
       (SELECT sketch_agg(x, cosine) FROM points, specs WHERE id < 0) AS sketch_of_zero_vectors;
-- A sliding frame counts its rows except zero vectors.
SELECT count(*) AS frames, count(*) FILTER (WHERE row_count(s) = least(100, i)
           - (CASE WHEN i < 100 THEN least(i, 10) ELSE greatest(0, 10 - i + 100) END))
       AS right_counts
  FROM (SELECT row_number() OVER (ORDER BY id) AS i, sketch_agg(x, (SELECT cosine FROM specs)) OVER (ORDER BY id ROWS 99 PRECEDING) AS s FROM points WHERE id < 300) f WHERE i > 10;
-- density is that of the row of length 1, and NULL for the zero vector. A spec learns its sigma
-- from rows of length 1.
SELECT abs(density(a, x) - density(b, unit(x))) < 1e-9 AS density_within_1e_9,
       density(a, array_fill(0.0::float8, ARRAY[8])) AS density_of_zero_vector
  FROM (SELECT sketch_agg(x, cosine) AS a FROM points, specs) p, (SELECT sketch_agg(x, plain) AS b FROM units, specs) u, (SELECT x FROM points WHERE id = 5) q;
SELECT abs((describe(sketch_spec_agg(x, 4, '{"metric": "cosine"}'::jsonb)) ->> 'sigma')::float8
           / (describe((SELECT sketch_spec_agg(x, 4) FROM units)) ->> 'sigma')::float8 - 1) < 0.1
       AS sigma_within_10_percent,
       sketch_spec_agg(x, 4, '{"metric": "cosine"}'::jsonb) FILTER (WHERE id < 0)
       AS spec_of_zero_vectors FROM points;
-- Decoded centroids have length 1, and their labels are the topics of the rows.
SELECT bool_and(abs(sum - 1) < 1e-12) AS squared_lengths_within_1e_12_of_1,
       (SELECT adjusted_rand_agg(topic, assign(op, x)) > 0.9 FROM points) AS rand_above_0_9
  FROM (SELECT fastop_agg(centroid, 1, '{"metric": "cosine"}' ORDER BY cluster) AS op, array_agg(l.sum) AS lengths
          FROM (SELECT sketch_agg(x, spec) AS s, spec FROM points, (SELECT sketch_spec_agg(x, 4, '{"metric": "cosine"}'::jsonb) AS spec FROM points) q GROUP BY spec) k,
               decode(s, 4, sample => spec), LATERAL (SELECT sum(v * v) FROM unnest(centroid) v) l) d, unnest(lengths) sum GROUP BY op;

-- kmeans_agg with the metric cosine is at most 1 % worse than k-means on the rows of length 1,
-- and its result does not depend on the order of the rows.
SELECT sse_agg(cosine, x) <= 1.01 * sse_agg(other, x) AS sse_within_1_percent
  FROM points, books,
       (SELECT fastop_agg(centroid, weight, '{"metric": "cosine"}' ORDER BY cluster) AS other
          FROM centroids((SELECT kmeans_agg(x, 7) FROM units))) k GROUP BY cosine, other;
SELECT kmeans_agg(x, 7, '{"metric": "cosine"}') = (SELECT cosine FROM books)
       AS same_in_another_order,
       kmeans_agg(x, 2, '{"metric": "cosine"}') FILTER (WHERE id < 0) AS kmeans_of_zero_vectors
  FROM (SELECT * FROM points ORDER BY id) p;

-- A parallel plan gives the bits of a serial one; only the sum of squares may differ in its last
-- digits.
CREATE TABLE serial AS SELECT sketch_agg(x, s.cosine) AS sketch, kmeans_agg(x, 7, '{"metric": "cosine"}') AS book, sse_agg(b.cosine, x) AS sse,
	sketch_spec_agg(x, 4, '{"metric": "cosine"}'::jsonb) AS spec FROM points, specs s, books b GROUP BY s.cosine, b.cosine;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
ALTER TABLE points SET (parallel_workers = 2);
SELECT sketch_agg(x, (SELECT cosine FROM specs)) = (SELECT sketch FROM serial) AS same_sketch,
       kmeans_agg(x, 7, '{"metric": "cosine"}') = (SELECT book FROM serial) AS same_kmeans,
       abs(sse_agg((SELECT cosine FROM books), x) - (SELECT sse FROM serial)) < 1e-9
       AS sse_within_1e_9,
       sketch_spec_agg(x, 4, '{"metric": "cosine"}'::jsonb) = (SELECT spec FROM serial) AS same_spec
  FROM points;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size; RESET max_parallel_workers_per_gather;
-- Values stored in a table are read back from their text unchanged.
SELECT sketch::text::sketch = sketch AS same_sketch, book::text::fastop = book AS same_operator,
       spec::text::sketch_spec = spec AS same_spec FROM serial;

-- A model with the metric cosine finds the topics; a zero vector has neither label nor cluster,
-- and is no anomaly.
SET client_min_messages = notice;
\set VERBOSITY terse
SELECT train('topics', 'points', 'x', 4, options => '{"metric": "cosine", "quiet": true}');
SET client_min_messages = warning;
SELECT adjusted_rand_agg(topic, predict('topics', x)) AS rand,
       count(*) FILTER (WHERE predict('topics', x) IS NULL) AS rows_without_label,
       max(abs(predict_distance('topics', x) - assign_distance(model_operator('topics'), x)))
       < 1e-12
       AS distances_within_1e_12,
       count(*) FILTER (WHERE predict('topics', x) <> assign(model_operator('topics'), x))
       AS other_labels_by_operator FROM points;
SELECT anomaly('topics', x) AS anomaly, (SELECT count(*) FROM predict_all('topics', x, 2))
       AS predicted,
       (SELECT count(*) FROM predict_probabilities('topics', x)) AS probabilities
  FROM points WHERE id = -1;
SELECT round(avg(anomaly('topics', x)::integer), 2) AS share_of_anomalies,
       avg(anomaly('topics', x)::integer) BETWEEN 0.005 AND 0.015 AS between_0_5_and_1_5_percent,
       count(*) FILTER (WHERE (SELECT cluster FROM predict_all('topics', x, 1))
           <> predict('topics', x))
       AS other_labels_by_predict_all FROM points WHERE id > 0;
-- predict labels a row within max_distance of its centroid, and no other row; NULL sets no limit.
SELECT count(*) FILTER (WHERE predict('topics', x, max_distance => 0.03) IS DISTINCT FROM
           CASE WHEN predict_distance('topics', x) <= 0.03 THEN predict('topics', x) END)
       AS wrong_labels,
       count(*) FILTER (WHERE predict('topics', p, max_distance => 0.03) IS DISTINCT FROM
           predict('topics', x, max_distance => 0.03)) AS other_labels_by_record,
       count(predict('topics', x, max_distance => 0.03)) BETWEEN 1 AND 3999 AS some_are_farther,
       count(*) FILTER (WHERE predict('topics', x, max_distance => NULL) IS DISTINCT FROM
           predict('topics', x)) AS other_labels_without_limit FROM points p;
SELECT predict('topics', x, max_distance => -0.1) FROM points WHERE id = 1;
SELECT predict('topics', x, max_distance => 'NaN') FROM points WHERE id = 1;
-- Every method that takes the metric finds the topics with it, also for each group.
SELECT train('decoded', 'points', 'x', 4, 'compressive', '{"metric": "cosine"}'), train('factored', 'points', 'x', 4, 'qkmeans', '{"metric": "cosine"}'),
       train('chosen', 'points', 'x', NULL, options => '{"metric": "cosine"}'), train('parts', 'points', 'x', 4, options => '{"metric": "cosine", "group_by": "part"}'),
       train('trimmed', 'points', 'x', 4, options => '{"metric": "cosine", "trim": 0.05}');
SELECT m.model, describe(model_operator(m.model)) ->> 'metric' AS metric,
       (SELECT round(adjusted_rand_agg(topic, predict(m.model, x))::numeric, 2) FROM points)
       AS rand,
       (SELECT adjusted_rand_agg(topic, predict(m.model, x)) > 0.99 FROM points) AS rand_above_0_99
  FROM models m WHERE m.group_by IS NULL ORDER BY 1;
SELECT part, adjusted_rand_agg(topic, predict('parts', x, group_value => part::text)) > 0.99
       AS rand_above_0_99,
       count(predict('parts', x, group_value => part::text, max_distance => 0.03)) BETWEEN 1
       AND 1333
       AS some_are_farther,
       count(*) FILTER (WHERE predict('parts', p, group_value => part::text, max_distance => 0.03)
           IS DISTINCT FROM predict('parts', x, group_value => part::text, max_distance => 0.03))
       AS other_labels_by_record
  FROM points p GROUP BY 1 ORDER BY 1;
-- A table larger than the sample is scanned, and the objective is that of all its rows.
SELECT train('scanned', 'points', 'x', 7, options => '{"metric": "cosine", "sample_rows": 200, "tolerance": 0}');
SELECT n, abs(objective * n / sse - 1) < 0.01 AS objective_within_1_percent
  FROM model_versions, (SELECT sse_agg(model_operator('scanned'), x) AS sse FROM points) s
 WHERE model = 'scanned';
SELECT k, verdict FROM choose_k('points', 'x', options => '{"metric": "cosine"}') WHERE verdict IS NOT NULL;
-- A retraining keeps the metric and the numbers of the clusters. Rows of another length with the
-- same directions are no drift.
SELECT retrain('topics'), train('by sketch', 'points', 'x', 4, 'compressive', '{"metric": "cosine"}');
SELECT retrain('by sketch', sketch => (SELECT sketch_agg(x, model_spec('by sketch')) FROM points));
SELECT describe(model_operator('topics')) ->> 'metric' AS metric,
       adjusted_rand_agg(topic, predict('topics', x)) AS rand FROM points;
CREATE VIEW longer AS SELECT (SELECT array_agg(v * 100 ORDER BY i) FROM unnest(x) WITH ORDINALITY u(v, i)) AS x FROM points;
SELECT verdict FROM drift('topics', 'longer');
-- Scores, typical rows, profile, rules and report describe the rows of length 1; zero vectors are
-- counted apart.
SELECT bool_and(silhouette BETWEEN 0.5 AND 1) AS silhouettes_from_0_5_to_1,
       max(n) FILTER (WHERE cluster IS NULL) AS n FROM score('topics');
SELECT count(*) AS typical_rows, bool_and(abs(distance - predict_distance('topics',
           ARRAY(SELECT jsonb_array_elements_text(row_data -> 'x')::float8))) < 1e-12)
       AS distances_within_1e_12 FROM typical_rows('topics', 3);
SELECT max(abs(value)) <= 1 AS profile_values_at_most_1 FROM profile('topics');
SELECT round(min(fidelity)::numeric, 1) AS fidelity, bool_and(fidelity > 0.95)
       AS fidelity_above_0_95
  FROM cluster_rules('topics');
SELECT length(report('topics')) > 1000 AS report_over_1000_characters,
       plot('topics') IS NOT NULL AS has_plot;

-- A table of zero vectors, a metric that does not exist, and a use that a metric does not have
-- are errors.
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
-- A vector of almost no length has a direction, and therefore a label.
SELECT count(assign(cosine, ARRAY[1e-300, 0, 0, 0, 0, 0, 0, 1e-308])) AS labels FROM books;
-- The bytes of an operator with an unknown metric are refused.
SELECT overlay(plain::text PLACING '80' FROM 15 FOR 2)::fastop FROM books;

SELECT count(drop_model(model)) AS models_dropped FROM models;
DROP VIEW longer; DROP TABLE points, units, books, specs, serial, nowhere; DROP FUNCTION unit;

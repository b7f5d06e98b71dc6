-- method density: clusters without a number, of any shape, and noise
CREATE SCHEMA of_density; SET search_path = of_density, public, fastclust, fastclust_internal;

-- two rings about one another and a disk in them, with a tenth of the rows evenly over the square
CREATE TABLE rings AS SELECT i AS id, CASE WHEN i % 10 = 0 THEN -1 ELSE i % 3 END AS truth, (ARRAY['red', 'green'])[1 + i / 2 % 2] AS colour,
       CASE WHEN i % 10 = 0 THEN 8 * u - 4 ELSE (i % 3) * 1.5 * cos(2 * pi() * u) + 0.12 * z END AS x,
       CASE WHEN i % 10 = 0 THEN 8 * w - 4 ELSE (i % 3) * 1.5 * sin(2 * pi() * u) + 0.12 * y END AS y
  FROM (SELECT i, r.u[1] AS u, r.u[2] AS w, sqrt(-2 * ln(1 - r.u[3])) * cos(2 * pi() * r.u[4]) AS z, sqrt(-2 * ln(1 - r.u[3])) * sin(2 * pi() * r.u[4]) AS y
          FROM generate_series(1, 12000) i, LATERAL (SELECT array_agg((('x' || substr(md5(i || '/' || j), 1, 8))::bit(32)::bigint / 4294967296.0)::float8 ORDER BY j) AS u
                                                      FROM generate_series(1, 4) j) r) q;
ANALYZE rings;
SELECT train('rings', 'rings', '{x,y}', method => 'density', options => '{"standardize": false}') AS version;
SELECT method, k, objective IS NULL AS no_objective, note ~ '^3 clusters, [0-9.]+ % noise$' AS told FROM models WHERE model = 'rings';
-- noise is NULL; of the clusters' rows at most 5 % are, and of the noise at least a half
CREATE TABLE found AS SELECT id, truth, predict('rings', r) AS cluster FROM rings r;
SELECT adjusted_rand_agg(cluster, truth) > 0.99 AS right, (avg((cluster IS NULL)::int) FILTER (WHERE truth >= 0) <= 0.05) AS kept,
       (avg((cluster IS NULL)::int) FILTER (WHERE truth < 0) >= 0.5) AS left_out FROM found WHERE truth >= 0 OR cluster IS NULL;
-- every way to ask for a label is one answer
SELECT count(*) FILTER (WHERE predict('rings', r.x, r.y) IS DISTINCT FROM f.cluster) AS by_list,
       count(*) FILTER (WHERE predict('rings', ARRAY[r.x, r.y]) IS DISTINCT FROM f.cluster) AS by_vector,
       count(*) FILTER (WHERE assign(model_operator('rings'), ARRAY[r.x, r.y]) IS DISTINCT FROM f.cluster) AS by_operator,
       count(*) FILTER (WHERE (predict_path('rings', r))[1] IS DISTINCT FROM f.cluster) AS by_path
  FROM rings r JOIN found f USING (id) WHERE id % 10 < 2;
SELECT write_labels('rings', 'rings', 'labels', '{"key": ["id"]}');
SELECT count(*) FILTER (WHERE l.cluster IS DISTINCT FROM f.cluster) AS others FROM labels l JOIN found f USING (id);
SELECT sum(size) = (SELECT count(cluster) FROM found) AS sizes, count(*) FROM model_clusters WHERE model = 'rings';
-- the nearest clusters, and never noise; no row is farther away than max_distance
SELECT count(*) AS clusters, min(cluster), max(cluster), bool_and(distance >= 0) FROM rings r, predict_all('rings', r, 10) WHERE id = 10;
SELECT count(predict('rings', r, max_distance => 0)) AS none FROM rings r;
-- membership and outlier score add up to one; noise is farther out than clusters
SELECT bool_and(total BETWEEN 0.999999 AND 1.000001) AS one, avg(score) FILTER (WHERE truth < 0) > 1.5 * avg(score) FILTER (WHERE truth >= 0) AS tells
  FROM (SELECT r.truth, sum(p.probability) AS total, sum(p.probability) FILTER (WHERE p.cluster IS NULL) AS score FROM rings r, predict_probabilities('rings', r) p GROUP BY id, truth) q;
SELECT abs(avg(anomaly('rings', r, 0.05)::int) - 0.05) < 0.01 AS share, avg((truth < 0)::int) FILTER (WHERE anomaly('rings', r, 0.05)) > 0.5 AS noise FROM rings r;
SELECT anomaly('rings', ARRAY[100, 100]) AS far, predict('rings', ARRAY[100, 100]) AS cluster;
-- the condensed tree: each cluster below one split, the top one above all
SELECT count(*) AS nodes, count(*) FILTER (WHERE height = 0) AS leaves, count(*) FILTER (WHERE parent IS NULL) AS tops, max(height) BETWEEN 0.2 AND 1 AS valley FROM cluster_tree('rings');
SELECT cluster, count(*) FROM typical_rows('rings', 3) GROUP BY 1 ORDER BY 1;
SELECT bool_and(f.cluster = t.cluster) AS own FROM typical_rows('rings', 3) t JOIN found f ON f.id = (t.row_data ->> 'id')::int;
SELECT count(DISTINCT cluster) AS clusters, bool_and(precision BETWEEN 0.5 AND 1) AS precise FROM cluster_rules('rings');
SELECT report('rings') ~ 'densest valley' AS tree, report('rings') ~ '3 clusters' AS note;
SELECT (drift('rings')).verdict;

-- retrain: the same rows, the same labels; numbers stay when rows come
SELECT retrain('rings') AS version;
SELECT churn FROM model_versions WHERE model = 'rings' AND version = 2;
INSERT INTO rings SELECT 20000 + id, truth, colour, x, y FROM rings WHERE truth = 0;
SELECT retrain('rings') AS version;
SELECT churn < 0.05 AS few FROM model_versions WHERE model = 'rings' AND version = 3;
SELECT count(*) FILTER (WHERE predict('rings', r) <> f.cluster) < 20 AS same FROM rings r JOIN found f USING (id);
SELECT retrain('rings', '{"method": "kmeans"}') AS version;
SELECT method, k FROM models WHERE model = 'rings';
SELECT retrain('rings', '{"method": "density"}') AS version;
SELECT count(DISTINCT version) AS of_means_alone FROM score('rings', version => 4);
SELECT count(*) FILTER (WHERE predict('rings', r) IS DISTINCT FROM predict('rings', r, version => 3)) < 100 AS as_before FROM rings r;
-- the operator as text and back
SELECT model_operator('rings') = model_operator('rings')::text::fastop AS same_bytes;

-- one density, as DBSCAN: rows within the distance
SELECT train('scale', 'rings', '{x,y}', method => 'density', options => '{"standardize": false, "scale": 0.3, "min_cluster_rows": 80}') AS version;
SELECT adjusted_rand_agg(predict('scale', r), truth) > 0.99 AS right FROM rings r WHERE truth >= 0 AND predict('scale', r) IS NOT NULL;
SELECT k FROM models WHERE model = 'scale';
SELECT train('scale', 'rings', '{x,y}', method => 'density', options => '{"standardize": false, "scale": 0.001}');

-- groups, a condition, columns that are encoded, directions
SELECT train('groups', 'rings', '{x,y}', method => 'density', options => '{"standardize": false, "group_by": "colour", "align": true}') AS version;
SELECT group_value, k FROM model_versions WHERE model = 'groups' ORDER BY 1;
SELECT count(predict('groups', r)) BETWEEN 11000 AND 17000 AS labels FROM rings r;
SELECT train('some', 'rings', '{x,y}', method => 'density', options => '{"where": "truth <> 1"}') AS version, train('encoded', 'rings', '{x,y,colour}', method => 'density') AS other;
SELECT model, k FROM models WHERE model IN ('some', 'encoded') ORDER BY 1;
-- categories have no part in the density of rows unless a weight gives it to them: two colours of chance do not split the three rings; profiles have them
SELECT count(DISTINCT predict('encoded', r)) AS clusters, adjusted_rand_agg(predict('encoded', r), truth) FILTER (WHERE truth >= 0 AND predict('encoded', r) IS NOT NULL) > 0.99 AS right FROM rings r;
SELECT bool_and(abs(value - overall) < 0.05) AS as_all, count(*) AS shares FROM profile('encoded') WHERE feature LIKE 'colour = %';
SELECT retrain('encoded', '{"encoder": {"weight": {"colour": 1}}}') AS version;
SELECT k FROM models WHERE model = 'encoded';
-- of categories alone there is little to find, and no vector or list is a row of them
SELECT train('colours', 'rings', 'colour', method => 'density', options => '{"quiet": true}') AS version;
SELECT count(predict('colours', t)) FROM (SELECT 'red' AS colour) t;
SELECT predict('colours', 'red');
SELECT predict('colours', 3);
CREATE TABLE angles AS SELECT id, ARRAY[cos(a), sin(a)]::real[] AS v FROM (SELECT id, truth * 2 + 0.1 * (id % 7) AS a FROM rings WHERE truth >= 0) q;
SELECT train('angles', 'angles', 'v', method => 'density', options => '{"metric": "cosine"}') AS version;
SELECT k, (SELECT count(DISTINCT predict('angles', v)) FROM angles) AS labels FROM models WHERE model = 'angles';

-- the same bits of rows in another order and eight partitions, though a sample of them makes the micro-clusters
CREATE TABLE many AS SELECT id + 100000 * copy AS id, x + 0.0001 * copy AS x, y - 0.0002 * copy AS y FROM rings, generate_series(0, 9) copy;
CREATE TABLE parts (id int, x float8, y float8) PARTITION BY HASH (id);
SELECT format('CREATE TABLE parts_%s PARTITION OF parts FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i) FROM generate_series(0, 7) i \gexec
INSERT INTO parts SELECT * FROM many ORDER BY md5(id::text);
ANALYZE many, parts;
SELECT train('whole', 'many', '{x,y}', method => 'density', options => '{"sample": "hash", "micro_clusters": 1000}') AS version, train('parts', 'parts', '{x,y}', method => 'density', options => '{"sample": "hash", "micro_clusters": 1000}') AS other;
SELECT model_operator('whole') = model_operator('parts') AS same_bits, k FROM models WHERE model = 'whole';

-- no false split: ages, ratings, counts, a lattice of the plane, equal rows, one row, few rows, one column, NULLs
CREATE TABLE edges AS SELECT i AS id, 20 + (i * 7919) % 80 AS age, 5 AS same, 1 + i % 5 AS rating, i % 60 AS column_, i / 60 % 60 AS row_, CASE WHEN i % 5 > 0 THEN ('x' || substr(md5(i::text), 1, 8))::bit(32)::bigint / 4294967296.0 END AS gaps, i AS number FROM generate_series(1, 4000) i;
SELECT train('age', 'edges', 'age', method => 'density') AS version, train('same', 'edges', 'same', method => 'density') AS equal, train('gaps', 'edges', '{gaps,number}', method => 'density') AS gaps,
       train('one', 'edges', '{age,number}', method => 'density', options => '{"where": "id = 1"}') AS one, train('few', 'edges', '{age,number}', method => 'density', options => '{"where": "id <= 12"}') AS few;
SELECT train('rating', 'edges', 'rating', method => 'density') AS version, train('lattice', 'edges', '{column_,row_}', method => 'density') AS lattice,
       train('pairs', 'edges', '{rating,same}', method => 'density', options => '{"standardize": false}') AS pairs;
SELECT m.model, m.k, (SELECT count(predict(m.model, e)) = m.n FROM edges e WHERE (m.model <> 'one' OR id = 1) AND (m.model <> 'few' OR id <= 12)) AS all_rows
  FROM models m WHERE m.model IN ('age', 'rating', 'lattice', 'pairs', 'same', 'gaps', 'one', 'few') ORDER BY 1;
-- a third of one column is NULL: complete rows alone are dense, and a row with a NULL has the label where it lies
CREATE TABLE holes AS SELECT truth, x, CASE WHEN id % 10 >= 3 THEN y END AS y FROM (SELECT id, id % 3 AS truth, 3 * (id % 3 % 2) + x AS x, 3 * (id % 3 / 2) + y AS y FROM
  (SELECT id, (SELECT sum(('x' || substr(md5(id || 'x' || j), 1, 8))::bit(32)::bigint / 4294967296.0) - 2 FROM generate_series(1, 4) j) AS x,
          (SELECT sum(('x' || substr(md5(id || 'y' || j), 1, 8))::bit(32)::bigint / 4294967296.0) - 2 FROM generate_series(1, 4) j) AS y FROM generate_series(1, 9000) id) u) q;
SELECT train('holes', 'holes', '{x,y}', method => 'density', options => '{"quiet": true}') AS version, train('holes_as_they_are', 'holes', '{x,y}', method => 'density', options => '{"standardize": false, "quiet": true}') AS other;
SELECT model, k, (SELECT adjusted_rand_agg(predict(model, h), truth) > 0.98 FROM holes h WHERE y IS NOT NULL) AS right FROM models WHERE model LIKE 'holes%' ORDER BY 1;
CREATE TABLE nothing (x float8, y float8);
SELECT train('nothing', 'nothing', '{x,y}', method => 'density');

-- errors
SELECT train('bad', 'rings', '{x,y}', 5, 'density');
SELECT train('bad', 'rings', '{x,y}', method => 'density', options => '{"noise": 3}');
SELECT train('bad', 'rings', '{x,y}', method => 'density', options => '{"min_cluster_rows": 0}');
SELECT train('bad', 'rings', '{x,y}', method => 'density', options => '{"scale": 0}');
SELECT train('bad', 'rings', '{x,y}', method => 'density', options => '{"levels": [3, 3]}');
SELECT train('bad', 'rings', '{x,y}', method => 'density', options => '{"balance": 2}');
SELECT retrain('rings', '{"k": 4}');
SELECT retrain('rings', '{"frozen": true}');
SELECT retrain('rings', sketch => sketch_agg(ARRAY[x, y], (SELECT model_spec('rings')))) FROM rings;
SELECT score('rings');
SELECT merge_clusters('rings', '{0,1}');
SELECT index_centroids('rings');
SELECT train('idle', 'rings', '{x,y}', 3, options => '{"noise": 1}') AS version;

-- equal rows are of their cluster and no anomaly, though their centroid is rounded: of 5000 rows about one in a hundred is
SELECT setseed(0.21);
CREATE TABLE idle AS
SELECT i % 5 AS pile, CASE i % 5 WHEN 0 THEN 0 WHEN 1 THEN 17.3 ELSE 5 + sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) END AS a,
       1e6 + CASE i % 5 WHEN 0 THEN 0 WHEN 1 THEN -3.7 ELSE 5 + sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) END AS b
  FROM generate_series(1, 5000) i;
ALTER TABLE idle ADD v float8[]; UPDATE idle SET v = ARRAY[a, b];
SELECT train('idle columns', 'idle', '{a,b}', method => 'density', options => '{"quiet": true}') + train('idle vectors', 'idle', 'v', method => 'density', options => '{"quiet": true, "standardize": false}')
       + train('idle live', 'idle', '{a,b}', method => 'density', options => '{"quiet": true, "live": true}') AS versions;
CREATE VIEW of_idle AS
SELECT m.model, least(pile, 2) AS pile, count(*) AS rows, count(*) FILTER (WHERE m.anomaly) AS anomalies, count(*) FILTER (WHERE m.cluster IS NULL) AS noise, max(m.score) FILTER (WHERE pile < 2) AS score
  FROM idle i, LATERAL (SELECT 'columns' AS model, anomaly('idle columns', i) AS anomaly, predict('idle columns', i) AS cluster,
                               (SELECT probability FROM predict_probabilities('idle columns', i) p WHERE p.cluster IS NULL) AS score
                        UNION ALL SELECT 'vectors', anomaly('idle vectors', v), predict('idle vectors', v),
                               (SELECT probability FROM predict_probabilities('idle vectors', v) p WHERE p.cluster IS NULL)
                        UNION ALL SELECT 'live', anomaly('idle live', i), predict('idle live', i),
                               (SELECT probability FROM predict_probabilities('idle live', i) p WHERE p.cluster IS NULL)) m GROUP BY 1, 2;
SELECT model, pile < 2 AS equal, sum(rows) AS rows, CASE WHEN pile < 2 THEN sum(anomalies)::text ELSE (sum(anomalies) BETWEEN 25 AND 75)::text END AS anomalies,
       CASE WHEN pile < 2 THEN sum(noise) END AS noise, max(score) AS score FROM of_idle GROUP BY 1, 2, pile < 2, pile ORDER BY 1, pile;
SELECT retrain('idle live', '{"quiet": true}') AS version;
SELECT model, sum(anomalies) AS anomalies, sum(noise) AS noise, max(score) AS score FROM of_idle WHERE model = 'live' AND pile < 2 GROUP BY 1;
-- a row beside them is an anomaly
SELECT anomaly('idle columns', ARRAY[a + 0.01, b]) AS anomaly FROM idle WHERE pile = 0 LIMIT 1;

-- the number of micro-clusters is told where clusters hang on it, and nearly equal distances
SET client_min_messages = notice;
CREATE TABLE wide AS SELECT array_agg(sqrt(-2 * ln(1 - u)) * cos(2 * pi() * w) ORDER BY j) AS v
  FROM (SELECT i, j, ('x' || substr(md5(i || ' ' || j), 1, 8))::bit(32)::bigint / 4294967296.0 AS u, ('x' || substr(md5(j || ' ' || i), 1, 8))::bit(32)::bigint / 4294967296.0 AS w
          FROM generate_series(1, 2000) i, generate_series(1, 50) j) q GROUP BY i;
SELECT train('wide', 'wide', 'v', method => 'density', options => '{"quiet": true, "min_cluster_rows": 100}') AS version;
SELECT k FROM models WHERE model = 'wide';
-- splits are a tree
CREATE TABLE three AS SELECT fastop_agg(c) AS op FROM (VALUES ('{0,0}'::real[]), ('{1,0}'), ('{2,0}')) v(c);
SELECT version_fits(op, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{0,1,1,10,2,3,1,20}') FROM three;
SELECT version_fits(op, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{0,1,1,10,0,2,1,20}') FROM three;
SELECT version_fits(op, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{0,1,1,10,3,3,1,20}') FROM three;
SELECT version_fits(op, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{0,1,-1,10,2,3,1,20}') FROM three;
SELECT version_fits(op, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{0,1,1,10,2,3,1,1e300}') FROM three;
SET client_min_messages = warning;
DROP SCHEMA of_density CASCADE;
SELECT drop_model(model) FROM (SELECT model FROM models WHERE method = 'density' OR model = 'idle' ORDER BY 1) q;

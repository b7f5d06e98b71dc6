-- Method density finds clusters of any shape and their number, and leaves noise without a
-- cluster.
-- Labels, paths, tables of labels and the stored operator agree; a retraining keeps labels; even
-- data without structure (ages, ratings, lattices) is never split.
CREATE SCHEMA of_density; SET search_path = of_density, public, fastclust, fastclust_internal;

-- Two rings around each other and a disk within them. A tenth of the rows is spread evenly over
-- the square: noise.
CREATE TABLE rings AS SELECT i AS id, CASE WHEN i % 10 = 0 THEN -1 ELSE i % 3 END AS truth, (ARRAY['red', 'green'])[1 + i / 2 % 2] AS colour,
       CASE WHEN i % 10 = 0 THEN 8 * u - 4 ELSE (i % 3) * 1.5 * cos(2 * pi() * u) + 0.12 * z END AS x,
       CASE WHEN i % 10 = 0 THEN 8 * w - 4 ELSE (i % 3) * 1.5 * sin(2 * pi() * u) + 0.12 * y END AS y
  FROM (SELECT i, r.u[1] AS u, r.u[2] AS w, sqrt(-2 * ln(1 - r.u[3])) * cos(2 * pi() * r.u[4]) AS z, sqrt(-2 * ln(1 - r.u[3])) * sin(2 * pi() * r.u[4]) AS y
          FROM generate_series(1, 12000) i, LATERAL (SELECT array_agg((('x' || substr(md5(i || '/' || j), 1, 8))::bit(32)::bigint / 4294967296.0)::float8 ORDER BY j) AS u
                                                      FROM generate_series(1, 4) j) r) q;
ANALYZE rings;
SELECT train('rings', 'rings', '{x,y}', method => 'density', options => '{"standardize": false}') AS version;
SELECT method, k, objective, note ~ '^3 clusters, [0-9.]+ % noise' AS note_has_clusters_and_noise
  FROM models WHERE model = 'rings';
-- Noise has the label NULL. At most 5 % of the rows of the clusters are taken for noise. Noise
-- within a ring cannot be distinguished from its rows and has their label; the other 40 % of the
-- noise is found.
CREATE TABLE found AS SELECT id, truth, predict('rings', r) AS cluster FROM rings r;
SELECT adjusted_rand_agg(cluster, truth) FILTER (WHERE truth >= 0) > 0.99 AS rand_above_0_99,
       avg((cluster IS NULL)::int) FILTER (WHERE truth >= 0) <= 0.05 AS at_most_5_percent_lost,
       round(avg((cluster IS NULL)::int) FILTER (WHERE truth < 0), 1) AS share_of_noise_found
  FROM found;
-- A row has the same label in every function: no count of other labels is above 0.
SELECT count(*) FILTER (WHERE predict('rings', r.x, r.y) IS DISTINCT FROM f.cluster) AS by_list,
       count(*) FILTER (WHERE predict('rings', ARRAY[r.x, r.y]) IS DISTINCT FROM f.cluster) AS by_vector,
       count(*) FILTER (WHERE assign(model_operator('rings'), ARRAY[r.x, r.y]) IS DISTINCT FROM f.cluster) AS by_operator,
       count(*) FILTER (WHERE (predict_path('rings', r))[1] IS DISTINCT FROM f.cluster) AS by_path
  FROM rings r JOIN found f USING (id) WHERE id % 10 < 2;
SELECT write_labels('rings', 'rings', 'labels', '{"key": ["id"]}');
SELECT count(*) FILTER (WHERE l.cluster IS DISTINCT FROM f.cluster) AS other_labels
  FROM labels l JOIN found f USING (id);
SELECT count(*) AS clusters, sum(size) - (SELECT count(cluster) FROM found) AS rows_too_many
  FROM model_clusters WHERE model = 'rings';
-- predict_all returns the nearest clusters, never noise, and no row has a label beyond
-- max_distance.
SELECT count(*) AS clusters, min(cluster), max(cluster), count(*) FILTER (WHERE distance < 0)
       AS negative_distances FROM rings r, predict_all('rings', r, 10) WHERE id = 10;
SELECT count(predict('rings', r, max_distance => 0)) AS labels_at_distance_0 FROM rings r;
-- The probabilities of a row sum to 1, and the probability of noise is higher for noise than for
-- rows of clusters. anomaly marks the requested share of the rows, mostly noise.
SELECT round(min(total)::numeric, 5) AS least_sum, round(max(total)::numeric, 5) AS largest_sum,
       bool_and(total BETWEEN 0.999999 AND 1.000001) AS sums_within_1e_6_of_1,
       avg(score) FILTER (WHERE truth < 0) > 1.5 * avg(score) FILTER (WHERE truth >= 0)
       AS noise_scores_1_5_times_higher
  FROM (SELECT r.truth, sum(p.probability) AS total, sum(p.probability) FILTER (WHERE p.cluster IS NULL) AS score FROM rings r, predict_probabilities('rings', r) p GROUP BY id, truth) q;
SELECT abs(avg(anomaly('rings', r, 0.05)::int) - 0.05) < 0.01 AS share_within_0_01_of_0_05,
       avg((truth < 0)::int) FILTER (WHERE anomaly('rings', r, 0.05)) > 0.5 AS over_half_is_noise
  FROM rings r;
SELECT anomaly('rings', ARRAY[100, 100]) AS anomaly, predict('rings', ARRAY[100, 100]) AS cluster;
-- The cluster tree has each cluster below one split and one root; typical rows are of their own
-- cluster; rules and report describe the clusters.
SELECT count(*) AS nodes, count(*) FILTER (WHERE height = 0) AS leaves,
       count(*) FILTER (WHERE parent IS NULL) AS roots,
       max(height) BETWEEN 0.2 AND 1 AS root_height_from_0_2_to_1 FROM cluster_tree('rings');
SELECT cluster, count(*) FROM typical_rows('rings', 3) GROUP BY 1 ORDER BY 1;
SELECT count(*) AS typical_rows, count(*) FILTER (WHERE f.cluster = t.cluster) AS of_own_cluster
  FROM typical_rows('rings', 3) t JOIN found f ON f.id = (t.row_data ->> 'id')::int;
SELECT count(DISTINCT cluster) AS clusters, bool_and(precision BETWEEN 0.5 AND 1)
       AS precisions_from_0_5_to_1 FROM cluster_rules('rings');
SELECT substring(report('rings') FROM 'densest valley') AS tree_in_report,
       substring(report('rings') FROM '3 clusters') AS note_in_report;
SELECT (drift('rings')).verdict;

-- A retraining on the same rows gives the same labels. When rows are added, clusters keep their
-- numbers. The method can be changed and changed back.
SELECT retrain('rings') AS version;
SELECT churn FROM model_versions WHERE model = 'rings' AND version = 2;
INSERT INTO rings SELECT 20000 + id, truth, colour, x, y FROM rings WHERE truth = 0;
SELECT retrain('rings') AS version;
SELECT churn < 0.05 AS churn_below_0_05 FROM model_versions WHERE model = 'rings' AND version = 3;
SELECT count(*) FILTER (WHERE predict('rings', r) <> f.cluster) < 20 AS under_20_rows_renumbered
  FROM rings r JOIN found f USING (id);
SELECT retrain('rings', '{"method": "kmeans"}') AS version;
SELECT method, k FROM models WHERE model = 'rings';
SELECT retrain('rings', '{"method": "density"}') AS version;
SELECT count(DISTINCT version) AS versions_with_scores FROM score('rings', version => 4);
SELECT count(*) FILTER (WHERE predict('rings', r) IS DISTINCT
  FROM predict('rings', r, version => 3)) < 100 AS under_100_labels_differ FROM rings r;
-- The operator of a density model is read back from its text as the same value.
SELECT model_operator('rings') = model_operator('rings')::text::fastop AS same_bytes;

-- The option scale fixes one density, as DBSCAN does: a cluster is connected within that
-- distance. A scale at which nothing is dense is an error.
SELECT train('scale', 'rings', '{x,y}', method => 'density', options => '{"standardize": false, "scale": 0.3, "min_cluster_rows": 80}') AS version;
SELECT adjusted_rand_agg(predict('scale', r), truth) > 0.99 AS rand_above_0_99 FROM rings r
 WHERE truth >= 0 AND predict('scale', r) IS NOT NULL;
SELECT k FROM models WHERE model = 'scale';
-- Sizes count the rows that predict labels, also those of sparse micro-clusters near a dense one.
SELECT bool_and(size = n) AS sizes_are_counts
  FROM model_clusters
  JOIN (SELECT predict('scale', r) AS cluster, count(*) AS n FROM rings r GROUP BY 1) labelled
 USING (cluster)
 WHERE model = 'scale';
SELECT train('scale', 'rings', '{x,y}', method => 'density', options => '{"standardize": false, "scale": 0.001}');

-- The method works for groups, with a condition, with encoded columns and with the metric cosine.
SELECT train('groups', 'rings', '{x,y}', method => 'density', options => '{"standardize": false, "group_by": "colour", "align": true}') AS version;
SELECT group_value, k FROM model_versions WHERE model = 'groups' ORDER BY 1;
SELECT count(predict('groups', r)) BETWEEN 11000 AND 17000 AS labels_from_11000_to_17000
  FROM rings r;
SELECT train('some', 'rings', '{x,y}', method => 'density', options => '{"where": "truth <> 1"}') AS version, train('encoded', 'rings', '{x,y,colour}', method => 'density') AS other;
SELECT model, k FROM models WHERE model IN ('some', 'encoded') ORDER BY 1;
-- Categories do not enter the density unless the option weight says so: two random colours do not
-- split the three rings. The profile has them nevertheless.
SELECT count(DISTINCT predict('encoded', r)) AS clusters,
       adjusted_rand_agg(predict('encoded', r),
           truth) FILTER (WHERE truth >= 0 AND predict('encoded', r) IS NOT NULL) > 0.99
       AS rand_above_0_99 FROM rings r;
SELECT count(*) AS shares_in_profile, bool_and(abs(value - overall) < 0.05)
       AS shares_within_0_05_of_overall FROM profile('encoded') WHERE feature LIKE 'colour = %';
SELECT retrain('encoded', '{"encoder": {"weight": {"colour": 1}}}') AS version;
SELECT k FROM models WHERE model = 'encoded';
-- A model of categories alone takes whole rows; a single value or a vector is an error.
SELECT train('colours', 'rings', 'colour', method => 'density', options => '{"quiet": true}') AS version;
SELECT count(predict('colours', t)) AS labels FROM (SELECT 'red' AS colour) t;
SELECT predict('colours', 'red');
SELECT predict('colours', 3);
CREATE TABLE angles AS SELECT id, ARRAY[cos(a), sin(a)]::real[] AS v FROM (SELECT id, truth * 2 + 0.0006 * (id % 1000) AS a FROM rings WHERE truth >= 0) q;
SELECT train('angles', 'angles', 'v', method => 'density', options => '{"metric": "cosine"}') AS version;
SELECT k, (SELECT count(DISTINCT predict('angles', v)) FROM angles) AS labels FROM models WHERE model = 'angles';
-- With the metric cosine, heights of the tree and option scale are cosine distances: a row 0.1 from
-- the end of an arc belongs to it at scale 0.01, and one 0.2 from it does not.
SELECT max(height) BETWEEN 0.5 AND 1 AS cosine_heights FROM cluster_tree('angles');
SELECT train('angles', 'angles', 'v', method => 'density',
             options => '{"metric": "cosine", "scale": 0.01, "min_cluster_rows": 20, "quiet": true}') AS version;
SELECT step, predict('angles', ARRAY[cos(-step), sin(-step)]) IS NOT NULL AS within, round((1 - cos(step))::numeric, 4) AS distance
  FROM unnest(ARRAY[0.1, 0.2]) step;
SELECT train('angles', 'angles', 'v', method => 'density', options => '{"metric": "cosine", "scale": 3}');

-- The model has the same bits for another order of the rows and eight partitions, even where a
-- sample of the rows makes the micro-clusters.
CREATE TABLE many AS SELECT id + 100000 * copy AS id, x + 0.0001 * copy AS x, y - 0.0002 * copy AS y FROM rings, generate_series(0, 9) copy;
CREATE TABLE parts (id int, x float8, y float8) PARTITION BY HASH (id);
SELECT format('CREATE TABLE parts_%s PARTITION OF parts FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i) FROM generate_series(0, 7) i \gexec
INSERT INTO parts SELECT * FROM many ORDER BY md5(id::text);
ANALYZE many, parts;
SELECT train('whole', 'many', '{x,y}', method => 'density', options => '{"sample": "hash", "micro_clusters": 1000}') AS version, train('parts', 'parts', '{x,y}', method => 'density', options => '{"sample": "hash", "micro_clusters": 1000}') AS other;
SELECT model_operator('whole') = model_operator('parts') AS same_bits, k FROM models WHERE model = 'whole';

-- Data without gaps is one cluster that holds every row: ages, ratings, a lattice, equal rows,
-- one row, few rows, a column with NULLs.
CREATE TABLE edges AS SELECT i AS id, 20 + (i * 7919) % 80 AS age, 5 AS same, 1 + i % 5 AS rating, i % 60 AS column_, i / 60 % 60 AS row_, CASE WHEN i % 5 > 0 THEN ('x' || substr(md5(i::text), 1, 8))::bit(32)::bigint / 4294967296.0 END AS gaps, i AS number FROM generate_series(1, 4000) i;
SELECT train('age', 'edges', 'age', method => 'density') AS version, train('same', 'edges', 'same', method => 'density') AS equal, train('gaps', 'edges', '{gaps,number}', method => 'density') AS gaps,
       train('one', 'edges', '{age,number}', method => 'density', options => '{"where": "id = 1"}') AS one, train('few', 'edges', '{age,number}', method => 'density', options => '{"where": "id <= 12"}') AS few;
SELECT train('rating', 'edges', 'rating', method => 'density') AS version, train('lattice', 'edges', '{column_,row_}', method => 'density') AS lattice,
       train('pairs', 'edges', '{rating,same}', method => 'density', options => '{"standardize": false}') AS pairs;
SELECT m.model, m.k, m.n,
       (SELECT count(predict(m.model, e)) FROM edges e
           WHERE (m.model <> 'one' OR id = 1) AND (m.model <> 'few' OR id <= 12)) AS labelled
  FROM models m WHERE m.model IN ('age', 'rating', 'lattice', 'pairs', 'same', 'gaps', 'one', 'few') ORDER BY 1;
-- NULLs in a third of one column do not hide the clusters: only complete rows are used to find
-- them, and a row with a NULL is labelled by its other columns.
CREATE TABLE holes AS SELECT truth, x, CASE WHEN id % 10 >= 3 THEN y END AS y FROM (SELECT id, id % 3 AS truth, 3 * (id % 3 % 2) + x AS x, 3 * (id % 3 / 2) + y AS y FROM
  (SELECT id, (SELECT sum(('x' || substr(md5(id || 'x' || j), 1, 8))::bit(32)::bigint / 4294967296.0) - 2 FROM generate_series(1, 4) j) AS x,
          (SELECT sum(('x' || substr(md5(id || 'y' || j), 1, 8))::bit(32)::bigint / 4294967296.0) - 2 FROM generate_series(1, 4) j) AS y FROM generate_series(1, 9000) id) u) q;
SELECT train('holes', 'holes', '{x,y}', method => 'density', options => '{"quiet": true}') AS version, train('holes_as_they_are', 'holes', '{x,y}', method => 'density', options => '{"standardize": false, "quiet": true}') AS other;
SELECT model, k,
       (SELECT adjusted_rand_agg(predict(model, h), truth) > 0.98 FROM holes h WHERE y IS NOT NULL)
       AS rand_above_0_98 FROM models WHERE model LIKE 'holes%' ORDER BY 1;
CREATE TABLE nothing (x float8, y float8);
SELECT train('nothing', 'nothing', '{x,y}', method => 'density');

-- An option or a function that the method does not have is an error, and so is an option of this
-- method given to another.
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

-- Equal rows belong to their cluster and are no anomalies, although the centroid of a cluster is
-- rounded. Of the 3,000 other rows 25 to 75 are anomalies.
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
SELECT model, pile < 2 AS equal_rows, sum(rows) AS rows,
       CASE WHEN pile < 2 THEN sum(anomalies)::text WHEN sum(anomalies) BETWEEN 25
       AND 75 THEN '25 to 75' ELSE sum(anomalies)::text END AS anomalies,
       CASE WHEN pile < 2 THEN sum(noise) END AS noise, max(score) AS score FROM of_idle GROUP BY 1, 2, pile < 2, pile ORDER BY 1, pile;
SELECT retrain('idle live', '{"quiet": true}') AS version;
SELECT model, sum(anomalies) AS anomalies, sum(noise) AS noise, max(score) AS score FROM of_idle WHERE model = 'live' AND pile < 2 GROUP BY 1;
-- A row 0.01 away from 1,000 equal rows is an anomaly.
SELECT anomaly('idle columns', ARRAY[a + 0.01, b]) AS anomaly FROM idle WHERE pile = 0 LIMIT 1;

-- A notice recommends more micro-clusters where the clusters depend on their number, and warns
-- where all distances are nearly equal.
SET client_min_messages = notice;
CREATE TABLE wide AS SELECT array_agg(sqrt(-2 * ln(1 - u)) * cos(2 * pi() * w) ORDER BY j) AS v
  FROM (SELECT i, j, ('x' || substr(md5(i || ' ' || j), 1, 8))::bit(32)::bigint / 4294967296.0 AS u, ('x' || substr(md5(j || ' ' || i), 1, 8))::bit(32)::bigint / 4294967296.0 AS w
          FROM generate_series(1, 2000) i, generate_series(1, 50) j) q GROUP BY i;
SELECT train('wide', 'wide', 'v', method => 'density', options => '{"quiet": true, "min_cluster_rows": 100}') AS version;
SELECT k FROM models WHERE model = 'wide';
-- Numbers of few values beside other numbers do not count, unless a weight names them.
CREATE TABLE members AS SELECT i % 2 AS truth, i % 2 * 8 + u.u[1] + u.u[2] AS a, u.u[3] + u.u[4] AS b,
       (u.u[5] < 0.5)::integer AS is_member, 1 + floor(5 * u.u[6])::integer AS rating
  FROM generate_series(1, 4000) i, LATERAL (SELECT array_agg(('x' || substr(md5(i || '.' || j), 1, 8))::bit(32)::bigint / 4294967296.0 ORDER BY j) AS u
                                             FROM generate_series(1, 6) j) u;
SELECT train('members', 'members', '{a,b,is_member,rating}', method => 'density', options => '{"quiet": true}') AS version;
SELECT k, (SELECT adjusted_rand_agg(truth, predict('members', m)) > 0.99 FROM members m) AS right_clusters
  FROM models WHERE model = 'members';
SELECT train('members', 'members', '{a,b,is_member}', method => 'density',
             options => '{"quiet": true, "encoder": {"weight": {"is_member": 1}}}') AS version;
SELECT k FROM models WHERE model = 'members';
-- The note says that clusters are unstable, even if the option quiet is set: two strips of width 1
-- with a gap of 0.12 between them.
CREATE TABLE strips AS SELECT a, i % 2 * 1.12 + b AS b
  FROM generate_series(1, 4000) i, LATERAL (SELECT ('x' || substr(md5(i || 'a'), 1, 8))::bit(32)::bigint / 4294967296.0 AS a,
                                                   ('x' || substr(md5(i || 'b'), 1, 8))::bit(32)::bigint / 4294967296.0 AS b) u;
SELECT train('strips', 'strips', '{a,b}', method => 'density',
             options => '{"quiet": true, "micro_clusters": 800}') AS version;
SELECT note FROM models WHERE model = 'strips';
-- If both numbers of clusters are the same, as in these twelve heaps that overlap, the note has the
-- adjusted Rand index of the two clusterings instead.
CREATE TABLE heaps AS
SELECT array_agg(sqrt(-2 * ln(1 - u)) * cos(2 * pi() * w) + 3 * sin(i % 12 * j) ORDER BY j) AS x
  FROM generate_series(1, 3000) i, generate_series(1, 6) j, LATERAL (SELECT (hashint8extended(i, j) & 65535) / 65536.0 AS u, (hashint8extended(i, -j) & 65535) / 65536.0 AS w) r GROUP BY i;
SELECT train('heaps', 'heaps', 'x', method => 'density', options => '{"quiet": true, "micro_clusters": 350, "min_cluster_rows": 30}') AS version;
SELECT note ~ 'unstable' AS unstable, note ~ '^(\d+) clusters, .* unstable: \1 clusters' AS same_number FROM models WHERE model = 'heaps';
-- One cluster in both is stable, though other rows are noise.
CREATE TABLE cloud AS
SELECT array_agg(sqrt(-2 * ln(1 - u)) * cos(2 * pi() * w) ORDER BY j) AS x
  FROM generate_series(1, 4000) i, generate_series(1, 10) j, LATERAL (SELECT (hashint8extended(i, j) & 65535) / 65536.0 AS u, (hashint8extended(i, -j) & 65535) / 65536.0 AS w) r GROUP BY i;
SELECT train('cloud', 'cloud', 'x', method => 'density', options => '{"quiet": true}') AS version;
SELECT regexp_replace(note, '[0-9.]+ %', 'N %') AS note FROM models WHERE model = 'cloud';
-- Rows are counted where a condition or a view makes the planner's estimate wrong: with the
-- condition id % 1 = 0, which all 2000 rows fulfil, the planner expects 10 rows. Each model has about
-- a micro-cluster a row, as one of few rows should.
CREATE TABLE crosses AS SELECT id, x, y FROM (SELECT i AS id, (i % 4) * 3 + u + v - 1 AS x, (i % 4) * 2 + w + z - 1 AS y
  FROM generate_series(1, 2000) i, LATERAL (SELECT (get_byte(m, 0) + 0.5) / 256 AS u, (get_byte(m, 1) + 0.5) / 256 AS v, (get_byte(m, 2) + 0.5) / 256 AS w, (get_byte(m, 3) + 0.5) / 256 AS z
                                              FROM (SELECT decode(md5(i::text), 'hex') AS m) d) r) q;
ALTER TABLE crosses SET (autovacuum_enabled = off);
CREATE VIEW few_crosses AS SELECT * FROM crosses WHERE id % 1 = 0;
SELECT train('crosses', 'crosses', '{x,y}', method => 'density', options => '{"quiet": true}') AS version;
SELECT train('some_crosses', 'crosses', '{x,y}', method => 'density', options => '{"quiet": true, "where": "id % 1 = 0"}') AS version;
SELECT train('few_crosses', 'few_crosses', '{x,y}', method => 'density', options => '{"quiet": true}') AS version;
SELECT v.model, clusters(v.micro_clusters) > 1500 AS over_1500_micro_clusters, m.k, m.note
  FROM fastclust_internal.stored_versions v JOIN models m USING (model) WHERE v.model LIKE '%crosses' ORDER BY v.model;
-- In many dimensions, rows far from their micro-cluster have no label, and do not count in the sizes
-- of clusters. Sizes and labels agree within 1 % of the rows.
SELECT setseed(0.5);
CREATE TABLE centers AS SELECT s, j, (SELECT sum(random()) - 6 FROM generate_series(1, 12 + 0 * s * j)) AS v FROM generate_series(0, 3) s, generate_series(1, 40) j;
CREATE TABLE far_rows AS SELECT i, (SELECT array_agg((i % 7 > 0)::int * v + (CASE WHEN i % 7 = 0 THEN 1.8 ELSE 1.2 END) * (SELECT sum(random()) - 6 FROM generate_series(1, 12 + 0 * i * j)) ORDER BY j)::real[]
                                  FROM centers WHERE s = i % 4) AS x
  FROM generate_series(1, 6000) i;
SELECT train('far_rows', 'far_rows', 'x', method => 'density', options => '{"micro_clusters": 100, "quiet": true}') AS version;
SELECT labelled BETWEEN 5000 AND 5700 AS some_have_no_label, abs(size - labelled) <= 60 AS sizes_agree
  FROM (SELECT sum(size) AS size FROM model_clusters WHERE model = 'far_rows') s, (SELECT count(predict('far_rows', x)) AS labelled FROM far_rows) p;
-- The splits stored with a version must form a tree; others are refused.
CREATE TABLE three AS SELECT fastop_agg(c) AS op FROM (VALUES ('{0,0}'::real[]), ('{1,0}'), ('{2,0}')) v(c);
SELECT version_fits(op, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{0,1,1,10,2,3,1,20}') FROM three;
SELECT version_fits(op, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{0,1,1,10,0,2,1,20}') FROM three;
SELECT version_fits(op, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{0,1,1,10,3,3,1,20}') FROM three;
SELECT version_fits(op, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{0,1,-1,10,2,3,1,20}') FROM three;
SELECT version_fits(op, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{0,1,1,10,2,3,1,1e300}') FROM three;
SET client_min_messages = warning;
DROP SCHEMA of_density CASCADE;
SELECT drop_model(model) FROM (SELECT model FROM models WHERE method = 'density' OR model = 'idle' ORDER BY 1) q;
-- A made-up version whose centroids are micro-clusters continues no other.
CREATE TABLE three AS SELECT i AS id, (i % 3) * 10 + i % 7 / 7.0 AS a, (i % 3) * 10 + i % 11 / 11.0 AS b FROM generate_series(1, 600) i;
SELECT train('three', 'three', '{a,b}', NULL, 'density', '{"quiet": true}');
CREATE TABLE made_up AS SELECT v.* FROM fastclust_internal.stored_versions v JOIN models m USING (model, version) WHERE model = 'three';
UPDATE made_up SET operator = micro_clusters, identities = ARRAY(SELECT i::bigint FROM generate_series(1, clusters(micro_clusters)) i);
SELECT fastclust_internal.continued_identities(v, v, '{0,1}', '{0,1}', '{1,1}') IS NULL AS continues_none FROM (SELECT ROW(m.*)::fastclust_internal.stored_versions AS v FROM made_up m) r;
SELECT drop_model('three');
DROP TABLE three, made_up;

-- A cluster that stays keeps its number, also when a column with large values moves; a name or a
-- pin stays with it and never passes to other rows.
SELECT setseed(0.3);
CREATE TABLE people AS SELECT i AS id, c * 10 + random() AS age, (ARRAY[72000, 63000, 18000, 36000, 37000])[c + 1] + 1000 * random() AS income
  FROM (SELECT i, i % 5 AS c FROM generate_series(1, 5000) i) q;
ANALYZE people;
SELECT train('people', 'people', ARRAY['age', 'income'], 5);
CREATE TABLE first AS SELECT id, predict('people', age, income) AS cluster FROM people;
UPDATE people SET income = income + 9000 WHERE id % 5 < 2;       -- 63 000 are 72 000 now, as others were
SELECT retrain('people');
SELECT label_churn FROM fastclust_internal.stored_versions WHERE model = 'people' AND version = 2;
SELECT count(*) FILTER (WHERE predict('people', age, income) <> cluster) AS renumbered FROM people JOIN first USING (id);
SELECT drop_model('people');
DROP TABLE people, first;

-- The name of a cluster whose rows are gone is not passed on, and a warning says that it is gone.
CREATE TABLE moving AS SELECT i % 3 AS k, ARRAY[i % 3 * 10 + sin(i), i % 3 % 2 * 10 + cos(i)]::real[] AS x FROM generate_series(1, 3000) i;
SELECT train('moving', 'moving', 'x', 3, options => '{"quiet": true}');
SELECT name_cluster('moving', predict('moving', '{20, 0}'::real[]), 'east');
SELECT retrain('moving', '{"quiet": true}');
DELETE FROM moving WHERE k = 2;
INSERT INTO moving SELECT 9, ARRAY[-300 + sin(i), 500 + cos(i)]::real[] FROM generate_series(1, 1000) i;
SELECT retrain('moving', '{"quiet": true}');
SELECT count(*) AS clusters, count(*) FILTER (WHERE name = 'east') AS named, max(cluster) AS new_number FROM model_clusters WHERE model = 'moving';
-- The earlier version still has the name.
SELECT use_version('moving', 2);
SELECT count(*) FILTER (WHERE name = 'east') AS named FROM model_clusters WHERE model = 'moving';
-- A pinned cluster keeps its number and its place even if its rows are gone.
SELECT pin_cluster('moving', predict('moving', '{20, 0}'::real[]));
SELECT retrain('moving', '{"quiet": true}');
SELECT name, round(centroid[1]::numeric) AS x, round(centroid[2]::numeric) AS y FROM model_clusters WHERE model = 'moving' AND name = 'east';
SELECT drop_model('moving');
DROP TABLE moving;

-- Names go with their clusters to other columns, also if a column has the name t.
CREATE TABLE of_t AS SELECT i % 3 AS t, i % 3 * 10 + sin(i) AS a, i % 3 % 2 * 10 + cos(i) AS b FROM generate_series(1, 900) i;
SELECT train('of t', 'of_t', '{a}', 3, options => '{"quiet": true}');
SELECT count(name_cluster('of t', predict('of t', r), 'kind ' || r.t)) AS named FROM (SELECT DISTINCT ON (t) * FROM of_t) r;
SELECT train('of t', 'of_t', '{a,b}', 3, options => '{"quiet": true}');
SELECT count(*) FILTER (WHERE predict_name('of t', r) <> 'kind ' || r.t) AS other_names FROM of_t r;
SELECT drop_model('of t');
DROP TABLE of_t;

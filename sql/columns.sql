-- rows given as columns: every type of numbers, NULLs, units, errors
CREATE SCHEMA of_columns; SET search_path = of_columns, public, fastclust, fastclust_internal;

SELECT scaled_vector('{1,2}', '{2,4}', ARRAY[3, 10]) AS in_units, scaled_vector(NULL, NULL, ARRAY[3, 10]::real[]) AS as_it_is;
-- units that differ from row to row
SELECT scaled_vector(ARRAY[i, 1]::float8[], '{2,4}', ARRAY[3, 9]) AS vector FROM generate_series(1, 3, 2) i;
SELECT scaled_vector('{1}', '{2,4}', ARRAY[3, 10]);
SELECT scaled_vector('{1,2}', '{2,4}', x) FROM (VALUES (ARRAY[1, 2]), (ARRAY[1])) r(x);

-- columns give the model of the same numbers as one column of vectors in units; NULLs of one count as its mean, or leave out the row
CREATE TABLE numbers AS
SELECT (i % 7)::smallint AS a, i % 11 * 100000 AS b, (i % 5 * 1e10)::bigint AS c, (i % 3 + 0.25)::real AS d, sin(i) AS e, CASE WHEN i % 100 > 0 THEN (i % 13)::numeric / 8 END AS f
FROM generate_series(1, 3000) i;
CREATE TABLE vectors AS SELECT ARRAY[a, b, c, d, e, f]::float8[] AS x FROM numbers WHERE f IS NOT NULL;
CREATE TABLE filled AS SELECT ARRAY[a, b, c, d, e, COALESCE(f, (SELECT avg(f) FROM numbers))]::float8[] AS x FROM numbers;
CREATE VIEW places AS SELECT a, b, c, d, e, f FROM numbers;
SELECT train('columns', 'numbers', '{a,b,c,d,e,f}'::name[], 5, options => '{"seed": 3, "quiet": true}'),
       train('vectors', 'vectors', 'x', 5, options => '{"seed": 3, "quiet": true, "standardize": true}'),
       train('filled', 'filled', 'x', 5, options => '{"seed": 3, "quiet": true, "standardize": true}'),
       train('skipped', 'numbers', '{a,b,c,d,e,f}'::name[], 5, options => '{"seed": 3, "quiet": true, "encoder": {"nulls": "skip"}}'),
       train('view', 'places', '{a,b,c,d,e,f}'::name[], 5, options => '{"seed": 3, "quiet": true, "standardize": false}');
SELECT c.model, c.n, c.imputed, v.n, abs(c.objective / v.objective - 1) < 0.01 AS same_objective
  FROM model_versions c JOIN model_versions v ON (c.model, v.model) IN (('columns', 'filled'), ('skipped', 'vectors')) ORDER BY 1;
SELECT n FROM model_versions WHERE model = 'view';

-- predictions of columns are those of vectors, whatever their types; a NULL is treated as in a whole row
SELECT count(*) AS rows, count(predict('columns', a, b, c, d, e, f)) AS not_null FROM numbers;
SELECT count(*) FILTER (WHERE predict('columns', a, b, c, d, e, f) = predict('columns', ARRAY[a, b, c, d, e, f]::float8[])) AS same,
       count(*) FILTER (WHERE predict_distance('columns', a, b, c, d, e, f) = predict_distance('columns', ARRAY[a, b, c, d, e, f]::float8[])) AS same_distance
FROM numbers WHERE f IS NOT NULL;
SELECT predict('columns', 1, 200000, 3e10, '1.25', 0.5, 1) = predict('columns', ARRAY[1, 200000, 3e10, 1.25, 0.5, 1]) AS constants;
SELECT predict('columns', a, b, c) FROM numbers LIMIT 1;
SELECT predict('columns', a, b, VARIADIC ARRAY[c, d, e, f]::float8[]) = predict('columns', a, b, c, d, e, f) AS one_array FROM numbers WHERE f > 1 LIMIT 1;
SELECT predict('columns', 1, 2, VARIADIC NULL) IS NULL AS null_array;
SELECT count(*) FILTER (WHERE predict('columns', n) = predict('columns', a, b, c, d, e, f)) AS same, count(*) FILTER (WHERE predict('columns', n) = predict('columns', a, b, VARIADIC ARRAY[c, d, e, f]::float8[])) AS same_array,
       count(*) FILTER (WHERE predict_distance('columns', n) = predict_distance('columns', a, b, c, d, e, f)) AS same_distance, count(*) FILTER (WHERE predict('skipped', n) IS NOT DISTINCT FROM predict('skipped', a, b, c, d, e, f)) AS same_skipped, count(*)
  FROM numbers n WHERE f IS NULL;
SELECT predict('columns', 1, NULL, 3, 4, NULL, 6) IS NOT NULL AS constants, predict('vectors', 1, NULL) IS NULL AS vectors;
SELECT predict('columns', 1, NULL);
-- a row by the names of its columns: their order does not matter, others are ignored, a NULL is treated as in training
SELECT count(*) FILTER (WHERE predict('columns', n) = predict('columns', a, b, c, d, e, f)) AS same,
       count(*) FILTER (WHERE predict('columns', n) = predict('columns', a, b, c, d, e, COALESCE(f, (SELECT avg(f) FROM numbers)))) AS imputed,
       count(predict('skipped', n)) AS not_skipped FROM numbers n;
SELECT count(*) FILTER (WHERE predict('columns', r) = predict('columns', n)) AS same, count(*) FILTER (WHERE predict_distance('columns', r) = predict_distance('columns', n)) AS same_distance,
       count(*) FILTER (WHERE anomaly('columns', r) = anomaly('columns', n)) AS same_anomaly
  FROM numbers n, LATERAL (SELECT n.f, n.e, n.d, 'other' AS other, n.c, n.b, n.a) r;
SELECT predict('columns', r) FROM (SELECT 1 AS a, 2 AS b, 3 AS c, 4 AS d, 5 AS E_, 6 AS f) r;
SELECT predict('columns', r) FROM (SELECT 1 AS a, 2 AS b, 3 AS c, 4 AS d, 'five'::text AS e, 6 AS f) r;
SELECT predict('columns', NULL::numbers) IS NULL AS null_row;
SELECT count(*) FILTER (WHERE predict('vectors', v) = predict('vectors', v.x)) AS same FROM vectors v;
SELECT predict('vectors', r) FROM (SELECT 1 AS x) r;
SELECT predict('vectors', r) FROM (SELECT ARRAY[1, 2] AS x) r;
SELECT (SELECT cluster FROM predict_all('columns', n, 2) LIMIT 1) = predict('columns', n) AS nearest,
       (SELECT cluster FROM predict_probabilities('columns', n) LIMIT 1) IS NOT NULL AS probable FROM numbers n LIMIT 1;
-- what is applied by hand is the same
SELECT count(*) FILTER (WHERE assign(model_operator('columns'), encode_row(model_encoder('columns'), n)) = predict('columns', n)) >= 2997 AS same FROM numbers n;
SELECT count(*) FILTER (WHERE assign(model_operator('vectors'), encode_row(model_encoder('vectors'), v)) = predict('vectors', x)) >= 2967 AS same FROM vectors v;

-- every array of numbers is a feature, and what is no vector says so
CREATE TABLE types AS
SELECT i AS id, ARRAY[i % 3, i]::bigint[] AS longs, ARRAY[i % 2]::smallint[] AS shorts, jsonb_build_array(i) AS document, point(i, i) AS place, ARRAY[i::text] AS words, ARRAY[i > 1] AS flags
  FROM generate_series(1, 300) i;
ANALYZE types;
SELECT train('types', 'types', '{longs,shorts,id}'::name[], 2, options => '{"quiet": true}');
SELECT feature_names(model_encoder('types'));
SELECT train('types', 'types', 'longs', 2, options => '{"quiet": true}');
SELECT train('types', 'types', 'document', 2);
SELECT train('types', 'types', 'place', 2);
SELECT train('types', 'types', 'words', 2);
SELECT train('types', 'types', 'flags', 2);
-- a row with a column twice, and one without columns
SELECT predict('columns', r) FROM (SELECT n.*, 1 AS a FROM numbers n LIMIT 1) r;
SELECT count(predict('columns', r)) AS another_twice FROM (SELECT n.*, 1 AS id, 2 AS id FROM numbers n LIMIT 1) r;
SELECT predict('columns', ROW());
-- options of another method
SET client_min_messages = warning;
SELECT train('types', 'types', '{id}'::name[], 2, options => '{"kernel": "rbf(1)", "trim": 0.01}');
SELECT train('types', 'types', '{id}'::name[], 2, 'compressive', '{"trim": 0.01, "rank": null, "effort": "fast", "factors": {"method": "auto"}}');
SELECT train('types', 'types', '{id}'::name[], 2, 'compressive', '{"trim": 0}');
SET client_min_messages = notice;
-- versions are listed in their order
SELECT max(train('types', 'types', '{id}'::name[], 1, options => '{"quiet": true, "keep": 3}')) FROM generate_series(6, 11);
SELECT use_version('types', 1);

-- a retrain keeps the categories; a column of another type is told
CREATE TABLE kinds AS SELECT (i % 10)::text AS kind, i * 0.5 AS size FROM generate_series(1, 1000) i;
SELECT train('kinds', 'kinds', '{kind,size}'::name[], 2, options => '{"quiet": true}');
SELECT retrain('kinds', '{"encoder": {"categories": 2}}'), cardinality(feature_names(model_encoder('kinds'))) AS dim;
ALTER TABLE kinds ALTER kind TYPE integer USING kind::integer;
SELECT retrain('kinds');
SELECT feature_names(model_encoder('kinds'));

-- a list of columns is an array of names or text, '{a,b}' or 'a', which may be a column of vectors; a parameter need not be typed
CREATE TABLE listed (a float8 NOT NULL, b float8 NOT NULL, c text, x real[]);
INSERT INTO listed SELECT i % 7, i % 5, 'c' || i % 3, ARRAY[i % 7, i % 3] FROM generate_series(1, 300) i;
PREPARE by_parameter AS SELECT train('listed', 'listed', $1, 3, options => '{"quiet": true, "keep": 20}');
SELECT count(train('listed', 'listed', l, 3, options => '{"quiet": true, "keep": 20}')) FROM (VALUES (1, 'a'), (2, '{a,b}'), (3, '{a,c}'), (4, 'x'), (5, 'c')) v(i, l);
EXECUTE by_parameter('{b,a}');
SELECT train('listed', 'listed', ARRAY['a', 'b'], 3, options => '{"quiet": true, "keep": 20}'), train('listed', 'listed', '{a,c}'::name[], 3, options => '{"quiet": true, "keep": 20}'),
       train('listed', 'listed', name 'a', 3, options => '{"quiet": true, "keep": 20}');
SELECT version, features, encoder IS NULL AS vectors FROM model_versions WHERE model = 'listed' ORDER BY version;
SELECT count(*) > 1 AS tried FROM (VALUES ('a'), ('{a,b}'), ('x')) v(l), choose_k('listed', l, 4) GROUP BY l;
SELECT keep_sketch('listed', 'listed', '{a,b}', sketch_spec(2, 20, 1.0)), keep_sketch('listed a', 'listed', 'a', sketch_spec(1, 20, 1.0)), keep_sketch('listed x', 'listed', 'x', sketch_spec(2, 20, 1.0));
SELECT train('listed', 'listed', '{a,b', 3);
SELECT train('listed', 'listed', '{}', 3);
SELECT train('listed', 'listed', NULL, 3);
SELECT drop_model('listed');

CREATE VIEW labelled AS SELECT predict('columns', a, b, c, d, e, f) AS cluster FROM numbers;
SELECT count(DISTINCT cluster) AS clusters FROM labelled;
SET client_min_messages = warning;
SELECT drop_model(model) FROM models WHERE model IN ('columns', 'vectors', 'filled', 'skipped', 'view', 'types', 'kinds') \g /dev/null
DROP SCHEMA of_columns CASCADE;

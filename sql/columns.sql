-- A row may be given as columns of any number type, as a whole row or as a vector, and each form
-- gives the same model, label and distance.
-- A NULL counts as the mean of its column, or leaves the row out if the encoder says so. A column
-- that is no feature is an error that names it.
CREATE SCHEMA of_columns; SET search_path = of_columns, public, fastclust, fastclust_internal;

-- A vector is scaled by the means and deviations of a model, which may differ from row to row;
-- dimensions that do not fit are errors.
SELECT scaled_vector('{1,2}', '{2,4}', ARRAY[3, 10]) AS in_units, scaled_vector(NULL, NULL, ARRAY[3, 10]::real[]) AS as_it_is;
SELECT scaled_vector(ARRAY[i, 1]::float8[], '{2,4}', ARRAY[3, 9]) AS vector FROM generate_series(1, 3, 2) i;
SELECT scaled_vector('{1}', '{2,4}', ARRAY[3, 10]);
SELECT scaled_vector('{1,2}', '{2,4}', x) FROM (VALUES (ARRAY[1, 2]), (ARRAY[1])) r(x);

-- Columns give the model of the same numbers in one standardised vector. A NULL counts as the
-- mean of its column; with the option nulls = skip its row is left out.
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
SELECT c.model, c.n, c.imputed, v.n AS n_of_vectors, abs(c.objective / v.objective - 1) < 0.01
       AS objectives_within_1_percent
  FROM model_versions c JOIN model_versions v ON (c.model, v.model) IN (('columns', 'filled'), ('skipped', 'vectors')) ORDER BY 1;
SELECT n FROM model_versions WHERE model = 'view';

-- Columns of any number type have the labels of a vector; a NULL is treated as in a whole row.
SELECT count(*) AS rows, count(predict('columns', a, b, c, d, e, f)) AS not_null FROM numbers;
SELECT count(*) AS rows,
       count(*) FILTER (WHERE predict('columns', a, b, c, d, e, f)
           = predict('columns', ARRAY[a, b, c, d, e, f]::float8[])) AS same_label,
       count(*) FILTER (WHERE predict_distance('columns', a, b, c, d, e, f) = predict_distance('columns', ARRAY[a, b, c, d, e, f]::float8[])) AS same_distance
FROM numbers WHERE f IS NOT NULL;
SELECT predict('columns', 1, 200000, 3e10, '1.25', 0.5, 1)
       = predict('columns', ARRAY[1, 200000, 3e10, 1.25, 0.5, 1]) AS same_for_constants;
SELECT predict('columns', a, b, c) FROM numbers LIMIT 1;
SELECT predict('columns', a, b, VARIADIC ARRAY[c, d, e, f]::float8[])
       = predict('columns', a, b, c, d, e, f) AS same_for_variadic FROM numbers WHERE f > 1 LIMIT 1;
SELECT predict('columns', 1, 2, VARIADIC NULL) AS label_of_null_array;
SELECT count(*) AS rows,
       count(*) FILTER (WHERE predict('columns', n) = predict('columns', a, b, c, d, e, f))
       AS same_label,
       count(*) FILTER (WHERE predict('columns', n) = predict('columns', a, b, VARIADIC ARRAY[c, d,
           e, f]::float8[])) AS same_by_array,
       count(*) FILTER (WHERE predict_distance('columns', n)
           = predict_distance('columns', a, b, c, d, e, f)) AS same_distance,
       count(*) FILTER (WHERE predict('skipped', n) IS NOT DISTINCT
           FROM predict('skipped', a, b, c, d, e, f)) AS same_by_skipped
  FROM numbers n WHERE f IS NULL;
SELECT predict('columns', 1, NULL, 3, 4, NULL, 6) IS NOT NULL AS columns_with_null_have_label,
       predict('vectors', 1, NULL) AS label_of_vector_with_null;
SELECT predict('columns', 1, NULL);
-- A whole row is read by the names of its columns: their order does not matter, other columns are
-- ignored, and a NULL is treated as in training.
SELECT count(*) AS rows,
       count(*) FILTER (WHERE predict('columns', n) = predict('columns', a, b, c, d, e, f))
       AS same_label,
       count(*) FILTER (WHERE predict('columns', n)
           = predict('columns', a, b, c, d, e, COALESCE(f, (SELECT avg(f) FROM numbers))))
       AS same_as_with_mean,
       count(predict('skipped', n)) AS labelled_by_skipped FROM numbers n;
SELECT count(*) AS rows, count(*) FILTER (WHERE predict('columns', r) = predict('columns', n))
       AS same_label,
       count(*) FILTER (WHERE predict_distance('columns', r) = predict_distance('columns', n))
       AS same_distance,
       count(*) FILTER (WHERE anomaly('columns', r) = anomaly('columns', n)) AS same_anomaly
  FROM numbers n, LATERAL (SELECT n.f, n.e, n.d, 'other' AS other, n.c, n.b, n.a) r;
SELECT predict('columns', r) FROM (SELECT 1 AS a, 2 AS b, 3 AS c, 4 AS d, 5 AS E_, 6 AS f) r;
SELECT predict('columns', r) FROM (SELECT 1 AS a, 2 AS b, 3 AS c, 4 AS d, 'five'::text AS e, 6 AS f) r;
SELECT predict('columns', NULL::numbers) AS label_of_null_row;
SELECT count(*) AS rows, count(*) FILTER (WHERE predict('vectors', v) = predict('vectors', v.x))
       AS same_label FROM vectors v;
SELECT predict('vectors', r) FROM (SELECT 1 AS x) r;
SELECT predict('vectors', r) FROM (SELECT ARRAY[1, 2] AS x) r;
SELECT (SELECT cluster FROM predict_all('columns', n, 2) LIMIT 1) = predict('columns', n)
       AS first_of_all_is_label,
       (SELECT cluster FROM predict_probabilities('columns', n) LIMIT 1) IS NOT NULL
       AS has_probabilities FROM numbers n LIMIT 1;
-- encode_row and assign give by hand what predict gives, but for rows on a border: 99.9 % of
-- columns, 99.9 % of vectors.
SELECT count(*) AS rows,
       count(*) FILTER (WHERE assign(model_operator('columns'),
           encode_row(model_encoder('columns'), n)) = predict('columns', n)) >= 2997
       AS same_in_2997 FROM numbers n;
SELECT count(*) AS rows,
       count(*) FILTER (WHERE assign(model_operator('vectors'),
           encode_row(model_encoder('vectors'), v)) = predict('vectors', x)) >= 2967
       AS same_in_2967 FROM vectors v;

-- Every array of numbers is a feature; other types are errors that name the column and its type.
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
-- A row that has a column of the model twice is an error, and so is a row without its columns;
-- other columns may be there twice.
SELECT predict('columns', r) FROM (SELECT n.*, 1 AS a FROM numbers n LIMIT 1) r;
SELECT count(predict('columns', r)) AS labels
  FROM (SELECT n.*, 1 AS id, 2 AS id FROM numbers n LIMIT 1) r;
SELECT predict('columns', ROW());
-- An option of another method is a warning that names it.
SET client_min_messages = warning;
SELECT train('types', 'types', '{id}'::name[], 2, options => '{"kernel": "rbf(1)", "trim": 0.01}');
SELECT train('types', 'types', '{id}'::name[], 2, 'compressive', '{"trim": 0.01, "rank": null, "effort": "fast", "factors": {"method": "auto"}}');
SELECT train('types', 'types', '{id}'::name[], 2, 'compressive', '{"trim": 0}');
SET client_min_messages = notice;
-- Versions above 9 are listed in the order of their numbers.
SELECT max(train('types', 'types', '{id}'::name[], 1, options => '{"quiet": true, "keep": 3}')) FROM generate_series(6, 11);
SELECT use_version('types', 1);

-- A retraining keeps the categories of a column. If the type of a column changed, the columns are
-- encoded again, and a warning says so.
CREATE TABLE kinds AS SELECT (i % 10)::text AS kind, i * 0.5 AS size FROM generate_series(1, 1000) i;
SELECT train('kinds', 'kinds', '{kind,size}'::name[], 2, options => '{"quiet": true}');
SELECT retrain('kinds', '{"encoder": {"categories": 2}}'), cardinality(feature_names(model_encoder('kinds'))) AS dim;
ALTER TABLE kinds ALTER kind TYPE integer USING kind::integer;
SELECT retrain('kinds');
SELECT feature_names(model_encoder('kinds'));

-- A list of columns is an array of names or text, the literal '{a,b}', or the name of one column,
-- also in a parameter without a type.
CREATE TABLE listed (a float8 NOT NULL, b float8 NOT NULL, c text, x real[]);
INSERT INTO listed SELECT i % 7, i % 5, 'c' || i % 3, ARRAY[i % 7, i % 3] FROM generate_series(1, 300) i;
PREPARE by_parameter AS SELECT train('listed', 'listed', $1, 3, options => '{"quiet": true, "keep": 20}');
SELECT count(train('listed', 'listed', l, 3, options => '{"quiet": true, "keep": 20}')) AS trained
  FROM (VALUES (1, 'a'), (2, '{a,b}'), (3, '{a,c}'), (4, 'x'), (5, 'c')) v(i, l);
EXECUTE by_parameter('{b,a}');
SELECT train('listed', 'listed', ARRAY['a', 'b'], 3, options => '{"quiet": true, "keep": 20}'), train('listed', 'listed', '{a,c}'::name[], 3, options => '{"quiet": true, "keep": 20}'),
       train('listed', 'listed', name 'a', 3, options => '{"quiet": true, "keep": 20}');
SELECT version, features, encoder IS NULL AS is_vector FROM model_versions
 WHERE model = 'listed' ORDER BY version;
SELECT l AS features, count(*) > 1 AS several_k_tried FROM (VALUES ('a'), ('{a,b}'), ('x')) v(l),
       choose_k('listed', l, 4) GROUP BY l ORDER BY l COLLATE "C";
SELECT keep_sketch('listed', 'listed', '{a,b}', sketch_spec(2, 20, 1.0)), keep_sketch('listed a', 'listed', 'a', sketch_spec(1, 20, 1.0)), keep_sketch('listed x', 'listed', 'x', sketch_spec(2, 20, 1.0));
SELECT train('listed', 'listed', '{a,b', 3);
SELECT train('listed', 'listed', '{}', 3);
SELECT train('listed', 'listed', NULL, 3);
SELECT drop_model('listed');

-- An error about a column of another type has the cast, if there is one.
CREATE TABLE shifts AS SELECT i % 3 > 0 AS late, time '09:00' + i % 90 * interval '1 minute' AS at, date '2026-01-01' + i % 50 AS day, i % 7 AS n FROM generate_series(1, 2000) i;
SELECT train('shifts', 'shifts', '{late,at,day,n}', 3, options => '{"quiet": true}');
SELECT predict('shifts', s) FROM (SELECT 1 AS late, time '09:00' AS at, date '2026-01-05' AS day, 1 AS n) s;
SELECT predict('shifts', s) FROM (SELECT 1.5 AS late, time '09:00' AS at, date '2026-01-05' AS day, 1 AS n) s;
SELECT predict('shifts', s) FROM (SELECT true AS late, timestamp '2026-01-05 09:00' AS at, date '2026-01-05' AS day, 1 AS n) s;
SELECT predict('shifts', s) FROM (SELECT true AS late, '09:00'::text AS at, date '2026-01-05' AS day, 1 AS n) s;
SELECT predict('shifts', s) FROM (SELECT true AS late, time '09:00' AS at, timestamp '2026-01-05 09:00' AS day, 1 AS n) s;
SELECT predict('shifts', s) FROM (SELECT true AS late, time '09:00' AS at, date '2026-01-05' AS day, true AS n) s;
SELECT count(DISTINCT predict('shifts', s)) AS clusters
  FROM (SELECT (i % 2)::boolean AS late, (timestamp '2026-01-05 09:00')::time AS at, (timestamp '2026-01-05 09:00')::date AS day, true::integer AS n FROM generate_series(1, 1) i
        UNION ALL SELECT true, time '09:00', date '2026-01-05', 1) s;
SELECT drop_model('shifts');

CREATE VIEW labelled AS SELECT predict('columns', a, b, c, d, e, f) AS cluster FROM numbers;
SELECT count(DISTINCT cluster) AS clusters FROM labelled;
SET client_min_messages = warning;
SELECT drop_model(model) FROM models WHERE model IN ('columns', 'vectors', 'filled', 'skipped', 'view', 'types', 'kinds') \g /dev/null
DROP SCHEMA of_columns CASCADE;

-- rows given as columns: every type of numbers, NULLs, units, errors
SET client_min_messages = warning;
CREATE SCHEMA of_columns;
SET search_path = of_columns, public, fastclust, fastclust_internal;

SELECT columns_in_units(NULL, NULL, 1::smallint, 2, 3::bigint, 4.5::real, 5.5::float8, 6.5) AS numbers, columns_in_units('{1,2}', '{2,4}', 3, 10::numeric) AS in_units,
       columns_in_units(NULL, NULL, 1, NULL::real) IS NULL AS null_column;
SELECT vector_in_units('{1,2}', '{2,4}', ARRAY[3, 10]) AS in_units, vector_in_units(NULL, NULL, ARRAY[3, 10]::real[]) AS as_it_is;
-- units that differ from row to row
SELECT columns_in_units(ARRAY[i, 1]::float8[], '{2,4}', 3, 9) AS columns, vector_in_units(ARRAY[i, 1]::float8[], '{2,4}', ARRAY[3, 9]) AS vector FROM generate_series(1, 3, 2) i;
-- a domain is a number too
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
SELECT columns_in_units(NULL, NULL, 7::positive, 1);
SELECT columns_in_units('{1,2}', '{2,4}', 3);
SELECT columns_in_units(NULL, NULL, 3, 'four'::text);
SELECT columns_in_units(NULL, NULL, VARIADIC ARRAY[1, 2]);
SELECT vector_in_units('{1,2}', '{2,4}', x) FROM (VALUES (ARRAY[1, 2]), (ARRAY[1])) r(x);

-- columns give the model of the same numbers as one column of vectors in units; a NULL in one leaves out the row
CREATE TABLE numbers AS
SELECT (i % 7)::smallint AS a, i % 11 * 100000 AS b, (i % 5 * 1e10)::bigint AS c, (i % 3 + 0.25)::real AS d, sin(i) AS e, CASE WHEN i % 100 > 0 THEN (i % 13)::numeric / 8 END AS f
FROM generate_series(1, 3000) i;
CREATE TABLE vectors AS SELECT ARRAY[a, b, c, d, e, f]::float8[] AS x FROM numbers WHERE f IS NOT NULL;
CREATE VIEW places AS SELECT a, b, c, d, e, f FROM numbers;
SELECT train('columns', 'numbers', '{a,b,c,d,e,f}'::name[], 5, options => '{"seed": 3, "quiet": true}'),
       train('vectors', 'vectors', 'x', 5, options => '{"seed": 3, "quiet": true, "standardize": true}'),
       train('view', 'places', '{a,b,c,d,e,f}'::name[], 5, options => '{"seed": 3, "quiet": true, "standardize": false}');
SELECT c.n, v.n, abs(c.objective / v.objective - 1) < 0.01 AS same_objective FROM model_versions c, model_versions v WHERE c.model = 'columns' AND v.model = 'vectors';
SELECT n FROM model_versions WHERE model = 'view';

-- predictions of columns are those of vectors, whatever their types; NULL of a NULL column
SELECT count(*) AS rows, count(predict('columns', a, b, c, d, e, f)) AS not_null FROM numbers;
SELECT count(*) FILTER (WHERE predict('columns', a, b, c, d, e, f) = predict('columns', ARRAY[a, b, c, d, e, f]::float8[])) AS same,
       count(*) FILTER (WHERE predict_distance('columns', a, b, c, d, e, f) = predict_distance('columns', ARRAY[a, b, c, d, e, f]::float8[])) AS same_distance
FROM numbers WHERE f IS NOT NULL;
SELECT predict('columns', 1, 200000, 3e10, '1.25', 0.5, 1) = predict('columns', ARRAY[1, 200000, 3e10, 1.25, 0.5, 1]) AS constants;
SELECT predict('columns', a, b, c) FROM numbers LIMIT 1;
SELECT predict('columns', a, VARIADIC ARRAY[b, c, d, e, f]::float8[]) = predict('columns', a, b, c, d, e, f) AS one_array FROM numbers WHERE f > 1 LIMIT 1;
SELECT predict('columns', 1, VARIADIC NULL) IS NULL AS null_array;
CREATE VIEW labelled AS SELECT predict('columns', a, b, c, d, e, f) AS cluster FROM numbers;
SELECT count(DISTINCT cluster) AS clusters FROM labelled;
SET client_min_messages = warning;
SELECT drop_model(model) FROM models WHERE model IN ('columns', 'vectors', 'view') \g /dev/null
DROP SCHEMA of_columns CASCADE;

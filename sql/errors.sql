-- Every bad input is an error of its own, which names the value and the allowed range and has a
-- hint where one helps. A user should never have to guess what was wrong.
\set SHOW_CONTEXT never
CREATE TABLE two AS SELECT ARRAY[i, i + 0.5]::float8[] AS x FROM generate_series(1, 8) i;
CREATE TABLE made AS SELECT sketch_spec(2, 20, 1.0) AS s, sketch_agg(x, sketch_spec(2, 20, 1.0)) AS k, fastop_agg(x ORDER BY x) AS op FROM two;


-- Vectors must be one-dimensional arrays of finite numbers with the right dimensions.
SELECT sketch_agg(x, (SELECT s FROM made)) FROM (VALUES (ARRAY[1, NULL]::float8[])) t (x);
SELECT sketch_agg(x, (SELECT s FROM made)) FROM (VALUES (ARRAY[1, 'NaN']::float8[])) t (x);
SELECT sketch_agg(x, (SELECT s FROM made)) FROM (VALUES (ARRAY['-Infinity', 1]::real[])) t (x);
SELECT sketch_agg(x, (SELECT s FROM made)) FROM (VALUES (ARRAY[[1, 2], [3, 4]]::float8[])) t (x);
SELECT sketch_agg(x, (SELECT s FROM made)) FROM (VALUES ('{}'::float8[])) t (x);
SELECT sketch_agg(x, (SELECT s FROM made)) FROM (VALUES (ARRAY[1, 2, 3])) t (x);
SELECT sketch_agg(x, (SELECT s FROM made)) FROM (VALUES (ARRAY[1e15, 0]::float8[])) t (x);
SELECT assign(op, ARRAY[1, 2, 3]) FROM made;
SELECT assign(op, ARRAY[1, 'NaN']::float8[]) FROM made;
SELECT assign(op, ARRAY['NaN', 1]::numeric[]) FROM made;
SELECT density(k, ARRAY[1]) FROM made;

-- A spec needs a dimension, a number of frequencies, a sigma and a law within their ranges, and
-- known options.
SELECT sketch_spec(0, 20, 1.0);
SELECT sketch_spec(40000, 20, 1.0);
SELECT sketch_spec(2, 0, 1.0);
SELECT sketch_spec(2, 2000000000, 1.0);
SELECT sketch_spec(2, 20, 0);
SELECT sketch_spec(2, 20, 'NaN');
SELECT sketch_spec(2, 20, -1);
SELECT sketch_spec(2, 20, 1.0, 'cauchy');
SELECT sketch_spec(2, 20, NULL);
SELECT sketch_spec(2, 20, 1.0, center => ARRAY[1]);
SELECT sketch_spec(2, 20, 1.0, scale => ARRAY[1, 0]);
SELECT sketch_spec(2, 20, 1.0, options => '{"struktured": true}');
SELECT sketch_spec(2, 20, 1.0, options => '{"structured": 1}');
SELECT sketch_spec(2, 20, 1.0, options => '{"sigmas": [1, -1]}');
SELECT sketch_spec(2, 20, 1.0, options => '[1]');
SELECT sketch_spec_agg(x, 0) FROM two;
SELECT sketch_spec_agg(x, NULL) FROM two;
SELECT sketch_spec_agg(x, 2, '{"frequencies": -5}') FROM two;
SELECT sketch_spec_agg(x, 2, '{"frequency": 10}'::jsonb) FROM two;
SELECT sketch_spec_agg(x, 2, '{"structured": "maybe"}'::jsonb) FROM two;
SELECT sketch_spec_agg(x, (x[1] > 4)::int + 1) FROM two;
SELECT sketch_spec_agg(x, 2) AS spec_of_no_rows FROM two WHERE false;

-- Sketches of one aggregate need one spec and finite weights, and only sketches of the same spec
-- can be combined.
SELECT sketch_agg(x, NULL::sketch_spec) FROM two;
SELECT sketch_agg(x, s) FROM two, (VALUES (sketch_spec(2, 20, 1.0)), (sketch_spec(2, 20, 2.0))) t (s);
SELECT sketch_agg(x, (SELECT s FROM made), NULL) FROM two;
SELECT sketch_agg(x, (SELECT s FROM made), 'NaN') FROM two;
SELECT sketch_agg(x, (SELECT s FROM made), -1) FROM two;
SELECT sketch_agg(x, (SELECT s FROM made), 'Infinity') FROM two;
SELECT sketch_agg(x, (SELECT s FROM made), 1e-30) FROM two;
SELECT sketch_agg(x, (SELECT s FROM made), 1e30) FROM two;
SELECT merge_agg(k) FROM (SELECT sketch_agg(x, sketch_spec(2, 20, 1.0, seed => t.i)) k FROM two, generate_series(1, 2) t (i) GROUP BY t.i) u;
SELECT k + sketch_agg(x, sketch_spec(2, 20, 3.0)) FROM two, made GROUP BY k;
SELECT k - (k + k) FROM made;
SELECT sketch_distance(k, (SELECT sketch_agg(x, sketch_spec(2, 20, 3.0)) FROM two)) FROM made;

-- decode needs a k that fits the sketch, a known decoder, and options of the right type.
SELECT decode(k, 0) FROM made;
SELECT decode(k, -3) FROM made;
SELECT decode(k, 9) FROM made;
SELECT decode(k, NULL) FROM made;
SELECT decode(k, 2, 'magic') FROM made;
SELECT decode(k, 2, options => '{"stars": 3}') FROM made;
SELECT decode(k, 2, options => '{"starts": 0}') FROM made;
SELECT decode(k, 2, options => '{"starts": 1.5}') FROM made;
SELECT decode(k, 2, options => '{"starts": [1]}') FROM made;
SELECT decode(k, 2, options => '{"starts": {"a": 1}}') FROM made;
SELECT decode(k, 2, sample => sketch_spec(2, 20, 5.0)) FROM made;
SELECT decode(k - k, 2) FROM made;
SELECT decode(k, 100) FROM made;
SELECT count(*) AS clusters_of_null_sketch FROM decode(NULL::sketch, 3);

-- Centroids need one dimension, finite values and positive weights, and k may not exceed the
-- number of rows.
SELECT fastop_agg(x) FROM (VALUES (ARRAY[1, 2]), (ARRAY[1, 2, 3])) t (x);
SELECT fastop_agg(x, -1) FROM two;
SELECT fastop_agg(x, NULL) FROM two;
SELECT fastop_agg(x) FROM (VALUES (ARRAY[1e300, 2]), (ARRAY[0, 0])) t (x);
SELECT nearest(op, ARRAY[1, 2], 0) FROM made;
SELECT kmeans_agg(x, 9) FROM two;
SELECT kmeans_agg(x, 0) FROM two;
SELECT kmeans_agg(x, NULL) FROM two;
SELECT kmeans_agg(x, 2, '{"ninit": 3}') FROM two;
SELECT kmeans_agg(x, 2, '{"effort": "much"}') FROM two;
SELECT kmeans_agg(x, 2, NULL) FROM two;

-- Options of train and retrain must be known, of the right type and within their ranges.
SELECT fastclust_internal.check_training_options(
           '{"seed": -9223372036854775808, "tolerance": 0, "group_by": null,
             "factors": {"init": [[1], {"a": {}}]},
                 "quiet": true}', 'train') IS NOT NULL AS accepted;
SELECT fastclust_internal.check_training_options(
           '{"k": 3, "method": "kmeans", "relation": "points"}', 'retrain') IS NOT NULL AS accepted;
SELECT fastclust_internal.check_training_options('{"k": 3}', 'train');
SELECT fastclust_internal.check_training_options(
           '{"encoder": {"nulls": "skip", "weight": {"a": 2}}, "live": {"bucket": "at"}}', 'train')
       IS NOT NULL AS accepted;
SELECT fastclust_internal.check_training_options('{"encoder": {"nuls": "skip"}}', 'train');
SELECT fastclust_internal.check_training_options('{"nulls": "skip"}', 'train');
SELECT fastclust_internal.check_training_options('{"weight": "wt"}', 'train');
SELECT fastclust_internal.check_training_options('{"sample_weight": "wt"}', 'choose_k');
SELECT fastclust_internal.check_training_options('{"weights": {"a": 2}}', 'retrain');
SELECT option, type, range, "default" FROM option_help('retrain') WHERE option IN ('k', 'trim', 'live', 'live.bucket');
SELECT option_help('predict');
SELECT fastclust_internal.check_training_options('{"live": [1]}', 'train');
SELECT fastclust_internal.check_training_options('{"live": {"half_life": 3}}', 'train');
SELECT fastclust_internal.check_training_options('{"toleranse": 0.1}', 'retrain');
SELECT fastclust_internal.check_training_options('{"sample_rows": 99}', 'train');
SELECT fastclust_internal.check_training_options('{"sample_rows": true}', 'train');
SELECT fastclust_internal.check_training_options('{"seed": 1e19}', 'train');
SELECT fastclust_internal.check_training_options('{"seed": 9223372036854775808}', 'train');
SELECT fastclust_internal.check_training_options('{"seed": "one"}', 'train');
SELECT sketch_spec(2, 20, 1, options => '{"sigmas": 1}');
SELECT sketch_spec(2, 20, 1, options => '{"sigmas": [[1], 2]}');
SELECT fastclust_internal.check_training_options('{"factors": [1]}', 'train');
SELECT fastclust_internal.check_training_options('{"factors": "none"}', 'train');
SELECT fastclust_internal.check_training_options('{"kernel": {"rbf": 1}}', 'train');
SELECT fastclust_internal.check_training_options('{"keep": [5]}', 'train');
SELECT fastclust_internal.check_training_options(NULL, 'train');
SELECT fastclust_internal.check_training_options('{}', 'retrane');
SELECT lloyd_step_agg(NULL::fastop, x) FROM two;
SELECT sse_agg(op, x) FROM two, (SELECT op FROM made UNION ALL SELECT fastop_agg(x) FROM two) t;

-- Damaged bytes of a value are refused when they are read.
SELECT 'abc'::sketch;
-- Options in the place of a sketch_spec have the wrong type before keep_sketch is called.
SELECT keep_sketch('misplaced', 'pg_class', 'x', '{"concurrently": true}');
SELECT '\x'::sketch;
SELECT '\x00'::sketch_spec;
SELECT '\xzz'::fastop;
SELECT '\x0'::fastop;
SELECT overlay(s::text placing 'ff' from 40)::sketch_spec FROM made;
SELECT left(k::text, 400)::sketch FROM made;
SELECT overlay(op::text placing 'ffff' from 90)::fastop FROM made;

-- Memory is checked against the budget before it is allocated.
SET fastclust.memory_budget = '2MB';
SELECT row_count(sketch_agg(x, sketch_spec(2, 1000000, 1.0))) FROM two;
-- How many rows fit depends on the workspace of k-means, so the numbers are left out here.
CREATE FUNCTION without_numbers(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RETURN 'no error';
EXCEPTION WHEN program_limit_exceeded THEN
    RETURN regexp_replace(SQLERRM, '[0-9]+', 'N', 'g');
END $$;
SELECT without_numbers('SELECT kmeans_agg(ARRAY[i, 1, 2, 3, 4, 5, 6, 7]::float8[], 2) FROM generate_series(1, 100000) i');
SELECT kmeans_agg(x, 9) FROM (SELECT x FROM two LIMIT 1) one;
RESET fastclust.memory_budget;

-- State functions cannot be called by hand.
SELECT sketch_combine(k, k) FROM made;
DROP TABLE two, made;

-- Centroids that single precision cannot hold are an error.
SELECT fastop_agg(ARRAY[i * 1e-50, 0.0]::float8[]) FROM generate_series(1, 3) i;
SELECT fastop_agg(ARRAY[i * 1e30, 0.0]::float8[]) FROM generate_series(1, 3) i;


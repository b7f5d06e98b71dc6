-- Every function of a vector takes every type of vector (arrays of numbers, domains, text, a row,
-- row_vector) and gives the same answer for each.
-- Any other type is an error that names it, already when the query is planned.
CREATE SCHEMA vector_arguments; SET search_path = vector_arguments, public, fastclust, fastclust_internal;

CREATE DOMAIN place AS integer[] CHECK (cardinality(value) = 2);
CREATE DOMAIN inner_place AS place;
CREATE DOMAIN whole AS integer;
CREATE DOMAIN part AS real CHECK (value < 1000);
CREATE DOMAIN inner_part AS part;
CREATE DOMAIN parts AS inner_part[];
CREATE TABLE points AS SELECT i, ARRAY[i % 3 * 10 + i % 2, i % 5]::real[] AS x, 'g' || i % 2 AS g, i % 7 AS a, i % 3 AS b FROM generate_series(1, 120) i;
SELECT train('points', 'points', 'x', 3, options => '{"quiet": true, "seed": 1}'),
       train('groups', 'points', 'x', 2, options => '{"quiet": true, "seed": 1, "group_by": "g"}'),
       train('columns', 'points', ARRAY['a', 'b'], 3, options => '{"quiet": true, "seed": 1}'),
       train('numbers', 'points', ARRAY['a'], 3, options => '{"quiet": true, "seed": 1}'),
       train('trees', 'points', 'x', NULL, options => '{"quiet": true, "seed": 1, "levels": [2, 2]}');
CREATE TABLE given AS SELECT kmeans_agg(x, 3) AS op, sketch_spec(2, 40, 3) AS spec, sketch_agg(x, sketch_spec(2, 40, 3)) AS sketch,
       nystroem(landmarks_agg(x, rbf_kernel(0.1), 5), rbf_kernel(0.1)) AS map FROM points;

-- Each call below is tried with each type. First listed are the functions of vectors that have no
-- call: none. Scores of two labellings take labels of any type, not vectors.
CREATE TABLE calls (call text, of_model boolean);
INSERT INTO calls SELECT unnest(ARRAY['assign(op, %s)', 'assign_distance(op, %s)', 'nearest(op, %s, 2)', 'project(op, %s)', 'l2_distance(%s, x)', 'l2_distance(x, %s)',
    'density(sketch, %s)', 'kernel_features(map, %s)',
    'fastop_agg(%s ORDER BY i)', 'fastop_agg(%s, i ORDER BY i)', 'fastop_agg(%s, i, ''{"metric": "inner_product"}'' ORDER BY i)', 'kmeans_agg(%s, 2)', 'kmeans_agg(%s, 2, ''{"seed": 2}''::jsonb)', 'qkmeans_agg(%s, 2)', 'qkmeans_agg(%s, 2, ''{"seed": 2}''::jsonb)',
    'sketch_spec_agg(%s, 3)', 'sketch_spec_agg(%s, 3, ''{"frequencies": 40, "seed": 7}'')', 'sketch_spec_agg(%s, 3, ''{"frequencies": 40}''::jsonb)',
    'sketch_agg(%s, (SELECT spec FROM given))', 'sketch_agg(%s, (SELECT spec FROM given), i)', 'sketch_agg(%s, spec) OVER (ORDER BY i ROWS 5 PRECEDING)', 'sketch_agg(%s, spec, 2) OVER (ORDER BY i ROWS 5 PRECEDING)',
    'lloyd_step_agg((SELECT op FROM given), %s)', 'lloyd_step_agg((SELECT op FROM given), %s, i)', 'sse_agg((SELECT op FROM given), %s)', 'simplified_silhouette_agg((SELECT op FROM given), %s)',
    'davies_bouldin_agg((SELECT op FROM given), %s)',
    'kernel_projection_agg(i, %s, rbf_kernel(0.1), 2)', 'kernel_projection_agg(i, %s, rbf_kernel(0.1), 2, ''{"oversampling": 3}'')', 'kernel_projection_agg(i, %s, rbf_kernel(0.1), 2, ''{"oversampling": 3, "seed": 1}'')',
    'kernel_projection_agg(i, %s, rbf_kernel(0.1), 2, ''{"method": "nystroem", "columns": 4}'')', 'kernel_projection_agg(i, %s, rbf_kernel(0.1), 2, ''{"method": "nystroem", "columns": 4, "seed": 1}'')', 'kernel_projection_agg(i, %s, rbf_kernel(0.1), 2, ''{"method": "pivoted_cholesky", "columns": 4}'')',
    'kernel_projection_agg(i, %s, rbf_kernel(0.1), 2, ''{"method": "pivoted_cholesky", "columns": 4, "seed": 1}'')', 'kernel_projection_agg(i, %s, rbf_kernel(0.1), 2, ''{"method": "exact"}'')', 'fastclust_internal.clusters(landmarks_agg(%s, rbf_kernel(0.1), 3))', 'fastclust_internal.clusters(landmarks_agg(%s, rbf_kernel(0.1), 3, ''{"seed": 1}''))']), false;
INSERT INTO calls SELECT unnest(ARRAY['predict(''points'', %s)', 'predict(''points'', %s, max_distance => 2)', 'predict(''groups'', %s, group_value => g)', 'predict(''groups'', %s, group_value => g, max_distance => 2)',
    'predict_distance(''points'', %s)', 'predict_name(''points'', %s)', 'predict_distance(''groups'', %s, group_value => g)', 'anomaly(''points'', %s)', 'anomaly(''points'', %s, 0.1)', 'anomaly(''groups'', %s, group_value => g)',
    'predict_all(''points'', %s, 2)', 'predict_probabilities(''points'', %s)', 'predict_probabilities(''groups'', %s, group_value => g)', 'predict_path(''trees'', %s)', 'predict_path(''groups'', %s, group_value => g)']), true;
SELECT p.oid::regprocedure AS not_called FROM pg_proc p
 WHERE p.pronamespace = 'fastclust'::regnamespace AND p.proargtypes::oid[] && '{"\"any\"",row_vector}'::regtype[]::oid[] AND p.provariadic = 0
   AND p.proname <> ALL ('{adjusted_rand_agg,normalized_mutual_information_agg}')
   AND NOT EXISTS (SELECT FROM calls WHERE call LIKE '%' || p.proname || '(%') ORDER BY 1;

-- answers() returns the answers of a call for a vector as one hash, or the error.
CREATE FUNCTION answers(call text, vector text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    EXECUTE format('SELECT md5(string_agg(q.a::text, '','' ORDER BY q.a::text)) FROM (SELECT %s AS a FROM points p%s) q', format(call, vector),
                   CASE WHEN call ~ '_agg\(' AND call !~ 'OVER' THEN '' ELSE ', given' END) INTO answer;
    RETURN answer;
EXCEPTION WHEN others THEN
    RETURN SQLSTATE || ': ' || SQLERRM;
END
$$;
CREATE TABLE vectors (type text, vector text, like_vector text DEFAULT 'x', of_model boolean DEFAULT false);
INSERT INTO vectors (type, vector) SELECT t, format('x::%s', t) FROM unnest(ARRAY['float8[]', 'integer[]', 'smallint[]', 'bigint[]', 'numeric[]', 'place', 'inner_place', 'whole[]', 'inner_part[]', 'parts', 'row_vector', 'text']) t;
INSERT INTO vectors VALUES ('literal', '''{1,2}''', '''{1,2}''::real[]', false), ('literal in brackets', '''[1, 2]''', '''{1,2}''::real[]', false),
    ('text in brackets', 'format(''[%s]'', array_to_string(x, '',''))', 'x', false),
    ('varchar', 'format('' [ %s ]'', array_to_string(x, '' , ''))::varchar', 'x', false),
    ('row of a literal', '(SELECT r FROM (SELECT ''[1,2]'' AS x) r)', '''{1,2}''::real[]', true),
    ('row of a text', '(SELECT r FROM (SELECT x::text AS x) r)', 'x', true), ('literal of VALUES', '(SELECT v FROM (VALUES (''{1,2}'')) w(v))', '''{1,2}''::real[]', false),
    ('NULL', 'NULL', 'NULL::real[]', false), ('row', 'p', 'x', true), ('row written out', '(SELECT r FROM (SELECT p.x AS x) r)', 'x', true);
SELECT count(*) AS answered FROM calls, LATERAL answers(call, 'x') a WHERE a !~ '^.....: ';
-- A call whose answer for some type differs from its answer for real[] is listed. Only untyped
-- NULLs and literals are: next to two arguments of known type, PostgreSQL finds the aggregate
-- ambiguous.
SELECT call, type, answers(call, vector) AS other_answer FROM calls c JOIN vectors v ON NOT v.of_model OR c.of_model
 WHERE answers(call, vector) IS DISTINCT FROM answers(call, like_vector) ORDER BY 1, 2;

-- A value that is no vector is an error that names its type, also for a query that returns no
-- row.
SELECT type, answers('predict(''points'', %s)', vector) AS of_a_model, answers('assign(op, %s)', vector) AS of_an_operator, answers('sketch_agg(%s, (SELECT spec FROM given))', vector) AS of_an_aggregate
  FROM (VALUES ('timestamp', 'now()'), ('text[]', 'ARRAY[''a'']'), ('row', 'p'), ('number', 'i'), ('boolean', 'true'), ('jsonb', '''[1, 2]''::jsonb'), ('no array', '''one''')) v(type, vector);
SELECT call, count(DISTINCT wrong) AS errors, min(wrong) AS error FROM calls,
       LATERAL (SELECT answers(call, format('%L::date', '2026-01-01')) AS wrong) w
 WHERE wrong <> '42804: a value of type date is not a vector' GROUP BY 1;
SELECT assign(op, now()) FROM given WHERE false;
SELECT predict('points', ARRAY['a']) FROM points WHERE false;
SELECT cluster FROM points, predict_all('points', true, 2) WHERE false;
SELECT sketch_agg(p, spec) FROM points p, given;
\set VERBOSITY terse
SELECT predict('points', '{1,2', max_distance => 1) FROM points WHERE false;
SELECT predict('points', '[1,a]'); SELECT predict('points', '[1,2'); SELECT predict('points', '[[1,2]]'); SELECT predict('points', '[]');
SELECT predict('points', '[1,,2]'); SELECT predict('points', '[1,2]]'); SELECT predict('points', '[0:1]={1,2}'); SELECT predict('points', '[1,NULL]');
SELECT predict('points', '[1,2,3]'); SELECT predict('points', r) FROM (SELECT 'one' AS x) r;
PREPARE untyped AS SELECT predict('points', $1);
\set VERBOSITY default

-- A model of columns takes a list of two or more columns; a single number is the vector of a
-- model of one column. Labels, distances and anomalies equal the answers for the whole row.
SELECT count(*) AS rows,
       count(*) FILTER (WHERE predict('columns', a, b) = predict('columns', ARRAY[a, b]))
       AS same_by_list,
       count(*) FILTER (WHERE predict('columns', a::numeric, b::smallint) = predict('columns', p))
       AS same_by_row,
       count(*) FILTER (WHERE predict('numbers', a) = predict('numbers', ARRAY[a]))
       AS same_by_number,
       count(*) FILTER (WHERE predict_distance('numbers', a::numeric)
           = predict_distance('numbers', p)) AS same_by_numeric,
       count(*) FILTER (WHERE predict('numbers', a, max_distance => 1e9) = predict('numbers', p))
       AS same_within_limit,
       count(*) FILTER (WHERE anomaly('numbers', a, 0.5) = anomaly('numbers', p, 0.5))
       AS same_anomaly FROM points p;
SELECT predict('columns', 1), predict('points', 1);
SELECT predict('numbers', NULL::integer) AS label_of_null, anomaly('numbers', NULL::integer)
       AS anomaly_of_null;
SELECT count(*) AS other_distances FROM points p
 WHERE predict_distance('groups', ARRAY[x[1], x[2]], group_value => g)
       <> predict_distance('groups', x, group_value => g);

-- A group given as NULL has no label; a group that is left out is an error.
PREPARE of_group (text) AS SELECT predict('groups', '{1,2}', group_value => $1) AS predicted;
SET plan_cache_mode = force_generic_plan;
EXECUTE of_group (NULL);
RESET plan_cache_mode;
SELECT predict('groups', '{1,2}', group_value => NULL) AS predicted, predict_distance('groups', '{1,2}', group_value => NULL) AS distance, anomaly('groups', '{1,2}', group_value => NULL) AS anomaly;
SELECT predict('groups', '{1,2}', max_distance => 1);

-- The group of a whole row is found by the name of its column and is the value cast to text, also
-- by a cast of the user's.
CREATE TYPE shop AS (town integer, house integer);
CREATE FUNCTION shop_text(s shop, modifier integer, written boolean) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN format(''%s %s %s'', s.town, modifier, written); END';
CREATE CAST (shop AS text) WITH FUNCTION shop_text(shop, integer, boolean);
CREATE TABLE shops AS SELECT i % 7 AS a, i % 3 AS b, ROW(i % 2, 1)::shop AS town, i % 2 > 0 AS open FROM generate_series(1, 60) i;
SELECT train('by town', 'shops', '{a,b}', 2, options => '{"quiet": true, "group_by": "town"}'), train('by open', 'shops', '{a,b}', 2, options => '{"quiet": true, "group_by": "open"}');
SELECT count(*) AS rows,
       count(*) FILTER (WHERE predict('by town', s)
           = predict('by town', ARRAY[a, b], group_value => town::text)) AS same_label FROM shops s;
SELECT predict('by open', r) FROM (SELECT 1 AS a, 2 AS b, true AS open, false AS open) r;
SELECT predict('by open', r) FROM (SELECT 1 AS a, 2 AS b) r;
-- A value whose cast gives NULL has no group, neither in training nor in predict.
CREATE OR REPLACE FUNCTION shop_text(s shop, modifier integer, written boolean) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN nullif(s.town, 0); END';
SELECT train('by no town', 'shops', '{a,b}', 2, options => '{"quiet": true, "group_by": "town"}');
SELECT count(predict('by town', s)) AS labels FROM shops s;
CREATE OR REPLACE FUNCTION shop_text(s shop, modifier integer, written boolean) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN format(''%s %s %s'', s.town, modifier, written); END';
-- A call may switch between models of different columns in each row without using more memory:
-- less than 200 kB over 60,000 rows.
CREATE TABLE visits AS SELECT s.*, row_number() OVER () AS n FROM shops s, generate_series(1, 1000);
CREATE TABLE used (n bigint, bytes numeric);
CREATE FUNCTION note_use(n bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF n % 20000 = 0 AND to_regclass('pg_backend_memory_contexts') IS NOT NULL THEN -- PostgreSQL 14
        EXECUTE 'INSERT INTO used SELECT $1, sum(used_bytes) FROM pg_backend_memory_contexts' USING n;
    END IF;
    RETURN true;
END
$$;
SELECT count(predict(CASE WHEN n % 2 = 0 THEN 'by town' ELSE 'by open' END, v)) AS labels
  FROM visits v WHERE note_use(n);
SELECT coalesce(max(bytes) - min(bytes) < 200000, true) AS growth_below_200_kb FROM used;

-- Calls work wherever PostgreSQL stores an expression: in an index, a check, a generated column,
-- a partition key, a prepared statement, a view and functions.
SELECT op AS op, spec AS spec FROM given \gset
CREATE FUNCTION plan_has(node text, query text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    EXECUTE 'EXPLAIN (FORMAT json, COSTS OFF) ' || query INTO plan;
    RETURN plan::text ~ node;
END
$$;
CREATE INDEX by_cluster ON points (assign(:'op', x));
SET enable_seqscan = off;
SELECT plan_has('by_cluster',
       format('SELECT count(*) FROM points WHERE assign(%L, x) = assign(%1$L, ''{20,0}'')', :'op'))
       AS plan_has_index;
SELECT count(*) AS rows_of_cluster FROM points WHERE assign(:'op', x) = assign(:'op', '{20,0}');
RESET enable_seqscan;
CREATE TABLE kept (x integer[], v text CHECK (l2_distance(v, '{0,0}') < 100), cluster integer GENERATED ALWAYS AS (assign(:'op', x)) STORED, CHECK (l2_distance(x, '{0,0}') < 100));
INSERT INTO kept VALUES ('{20,1}', '{1,2}');
\set VERBOSITY terse
INSERT INTO kept VALUES ('{200,1}', '{1,2}');
INSERT INTO kept VALUES ('{20,1}', '{100,200}');
\set VERBOSITY default
SELECT cluster = assign(:'op', '{20,1}') AS generated_is_label FROM kept;
-- CREATE TABLE of some minor releases accepts the column, and the first row is rejected.
\set ECHO none
SELECT format('DO $d$ BEGIN CREATE TABLE bad (x timestamptz, c integer GENERATED ALWAYS AS (assign(%L, x)) STORED); INSERT INTO bad VALUES (now()); EXCEPTION WHEN OTHERS THEN RAISE INFO ''%%'', SQLERRM; END $d$', :'op') \gexec
\set ECHO all
CREATE TABLE by_place (x numeric[]) PARTITION BY LIST (assign(:'op', x));
CREATE TABLE first_place PARTITION OF by_place FOR VALUES IN (0);
CREATE TABLE other_places PARTITION OF by_place DEFAULT;
INSERT INTO by_place SELECT x::numeric[] FROM points;
SELECT count(*) AS rows_of_partition, (SELECT count(*) FROM points WHERE assign(:'op', x) = 0)
       AS rows_of_cluster FROM first_place;
PREPARE typed (real[], numeric[]) AS SELECT predict('points', $1) = predict('points', $2)
       AS same_label, sketch_agg($2, spec) = sketch_agg($1, spec) AS same_sketch
           FROM given GROUP BY spec;
SET plan_cache_mode = force_generic_plan;
EXECUTE typed ('{20,1}', '{20,1}');
RESET plan_cache_mode;
CREATE VIEW literals AS SELECT predict('points', '{20,1}') AS a, predict('points', x => '{20,1}', max_distance => 9) AS b, l2_distance(x, '{3,4}') AS c FROM points;
DO $$ BEGIN EXECUTE 'CREATE VIEW again AS ' || pg_get_viewdef('literals'); END $$;
SELECT (SELECT md5(string_agg(l::text, ',')) FROM literals l)
       = (SELECT md5(string_agg(l::text, ',')) FROM again l) AS same_view_after_dump;
CREATE FUNCTION inlined(vector real[]) RETURNS integer LANGUAGE sql STABLE AS 'SELECT predict(''points'', vector)';
CREATE FUNCTION of_variables(vector real[]) RETURNS integer LANGUAGE plpgsql STABLE AS $$ DECLARE v place := vector; BEGIN RETURN predict('points', v); END $$;
SELECT count(*) AS rows, count(*) FILTER (WHERE inlined(x) = predict('points', x))
       AS same_in_sql_function,
       count(*) FILTER (WHERE of_variables(x) = predict('points', x)) AS same_in_plpgsql
  FROM points;

-- Text gives the bits of real[] in parallel aggregation, in windows and in grouping sets.
CREATE TABLE many AS SELECT p.* FROM points p, generate_series(1, 200);
ANALYZE many;
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT plan_has('"Partial Mode": "Partial"',
       format('SELECT sketch_agg(x::text, %L), lloyd_step_agg(%L, x::text) FROM many', :'spec',
           :'op')) AS plan_is_parallel;
SELECT sketch_agg(x::text, :'spec') = sketch_agg(x, :'spec') AS same_sketch,
       sketch_agg(x::text, :'spec', i) = sketch_agg(x, :'spec', i) AS same_weighted_sketch,
       (lloyd_step_agg(:'op', x::text)).next = (lloyd_step_agg(:'op', x)).next AS same_step,
       (lloyd_step_agg(:'op', x::text, i)).sse = (lloyd_step_agg(:'op', x, i)).sse
       AS same_weighted_sse,
       sse_agg(:'op', x::text) = sse_agg(:'op', x) AS same_sse,
       simplified_silhouette_agg(:'op', x::text) = simplified_silhouette_agg(:'op', x)
       AS same_silhouette,
       davies_bouldin_agg(:'op', x::text) = davies_bouldin_agg(:'op', x) AS same_davies_bouldin
  FROM many;
RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
SELECT count(*) AS frames, count(*) FILTER (WHERE a = b AND c = d) AS same_frames FROM (
    SELECT sketch_agg(x::text, spec) OVER w AS a, sketch_agg(x, spec) OVER w AS b, sse_agg(op, x::text) OVER w AS c, sse_agg(op, x) OVER w AS d FROM points, given WINDOW w AS (PARTITION BY g ORDER BY i)) q;
SELECT count(*) AS sets, count(*) FILTER (WHERE a IS NOT DISTINCT FROM b) AS same_sets FROM (
    SELECT sketch_agg(x::text, spec) FILTER (WHERE a > 1) AS a, sketch_agg(x, spec) FILTER (WHERE a > 1) AS b FROM points, given GROUP BY GROUPING SETS ((g, spec), (a, spec), (spec))) q;

-- A call without an expression, here by the code of an index, does not know the type of the
-- vector. It is an error, and no byte is read.
CREATE FUNCTION compared(fastop, fastop) RETURNS boolean LANGUAGE sql AS 'SELECT $1 < $2';
CREATE OPERATOR <<< (LEFTARG = fastop, RIGHTARG = fastop, FUNCTION = compared);
CREATE OPERATOR CLASS direct FOR TYPE fastop USING btree AS OPERATOR 1 <<<, FUNCTION 1 (fastop, fastop) assign(fastop, "any");
CREATE TABLE direct_calls AS SELECT op FROM given, generate_series(1, 2);
CREATE INDEX ON direct_calls (op direct);

-- row_vector is real[] under a name of its own: every array of numbers casts to it, and an array
-- with NULL, two dimensions or no number is an error.
CREATE TABLE sorted AS SELECT x FROM points;
CREATE INDEX by_x ON sorted (x);
SELECT '{0.1,2}'::row_vector AS from_text, ARRAY[0.1, 2]::real[]::row_vector AS from_real, ARRAY[1,
       2]::row_vector AS from_integer, '{}'::real[]::row_vector IS NULL AS empty_is_null;
SELECT ARRAY[1, NULL]::row_vector;
SELECT ARRAY[[1], [2]]::row_vector;
SELECT 'one'::row_vector;
SELECT count(DISTINCT x::row_vector) AS different, row_count(sketch_agg(DISTINCT x, :'spec'))
       AS rows_of_sketch,
       row_count(sketch_agg(DISTINCT x::text, :'spec')) AS rows_of_text_sketch FROM points;
-- The operators of other arrays are untouched: an index on real[] is used, and integer[] =
-- float8[] is still an error.
SELECT plan_has('by_x', 'SELECT * FROM sorted WHERE x = ''{1,1}''::real[]') AS plan_has_index
  FROM (SELECT set_config('enable_seqscan', 'off', true)) s;
\set VERBOSITY terse
SELECT ARRAY[1] = ARRAY[1::float8];
\set VERBOSITY default

SELECT count(drop_model(model)) AS models_dropped FROM models
 WHERE model IN ('points', 'groups', 'columns', 'numbers', 'trees', 'by town', 'by open');
DROP SCHEMA vector_arguments CASCADE;

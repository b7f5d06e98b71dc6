-- A list of features that is NULL, empty, two-dimensional or has a NULL is the same error in each
-- function that takes one.
\set SHOW_CONTEXT never
CREATE SCHEMA of_no_features; SET search_path = of_no_features, public, fastclust;
CREATE TABLE numbers AS SELECT i AS a, i % 7 AS b, ARRAY[i, i % 7]::real[] AS x FROM generate_series(1, 100) i;
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
CREATE FUNCTION error_of(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    state text;
    message text;
BEGIN
    EXECUTE call;
    RETURN 'none';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT;
    RETURN format('%s %s', state, message);
END
$$;
SELECT given, call, error_of(format('SELECT ' || call, given))
  FROM (VALUES ('keep_sketch(''none'', ''numbers'', %s, s) FROM made', 1), ('train(''none'', ''numbers'', %s, 2)', 2), ('* FROM choose_k(''numbers'', %s, 3)', 3)) c(call, i),
       (VALUES ('NULL::name', 1), ('NULL::name[]', 2), ('''{}''::name[]', 3), ('ARRAY[NULL]::name[]', 4), ('ARRAY[''a'', NULL]::name[]', 5), ('ARRAY[ARRAY[''a'', ''b'']]::name[]', 6)) g(given, j)
 ORDER BY j, i;
SELECT count(*) AS live_sketches FROM live_sketches;

-- A made-up version, which a caller can pass to internal functions, is an error and never crashes
-- the server.
CREATE FUNCTION made_up(fields jsonb) RETURNS fastclust_internal.stored_versions LANGUAGE sql AS 'SELECT jsonb_populate_record(NULL::fastclust_internal.stored_versions, fields)';
SELECT error_of(format('SELECT fastclust_internal.rows_sampled(made_up(%L), ''numbers'', NULL, 10)', f))
  FROM unnest(ARRAY['{"vector": true}', '{"features": [], "vector": true}', '{"features": ["a"]}', '{"features": ["a"], "vector": true}', '{"features": ["c"], "vector": true}']) f;
SELECT error_of('SELECT fastclust_internal.sketch_rows(made_up(''{"features": ["x"], "vector": true}''), ''numbers'', NULL)');
SELECT error_of(format('SELECT fastclust_internal.rows_of_version(made_up(%L), fastop_agg(ARRAY[1, 2]::real[]))', u))
  FROM unnest(ARRAY['{"center": [1], "scale": [1]}', '{"center": [1, 1], "scale": [1, 0]}']) u;
-- A version restored without its sketch, by a changed dump, does not stop the server either.
SELECT train('without sketch', 'numbers', 'x', 2, 'compressive', '{"quiet": true}');
UPDATE fastclust_internal.version_groups SET training_sketch = NULL WHERE model_id = (SELECT id FROM fastclust_internal.stored_models WHERE model = 'without sketch');
SELECT error_of('SELECT retrain(''without sketch'', sketch => sketch_agg(x, s)) FROM numbers, made GROUP BY s'), error_of('SELECT retrain_if_drifted(''without sketch'')');
SELECT drop_model('without sketch');
DROP SCHEMA of_no_features CASCADE;

-- An error of any function says what is wrong, and its context has the lines of the user's own
-- code that led to it.
CREATE TABLE points AS SELECT i AS id, i % 2 AS half, ARRAY[i % 5, i / 10]::real[] AS x FROM generate_series(1, 100) i;
SELECT train('kinds', 'points', 'x', 3), train('halves', 'points', 'x', 2, options => '{"group_by": "half"}');

-- One mistake for each function that is more than a single call of C.
SELECT train('bad', 'points', 'x', 0);
SELECT train('bad', 'points', ARRAY['y'], 2);
SELECT choose_k('points', 'x', options => '{"sed": 1}');
SELECT * FROM choose_k('points', ARRAY['y']);
SELECT retrain('kinds', '{"k": 1.5}');
SELECT retrain_if_drifted('kinds', 2);
SELECT drift('none');
SELECT drift('halves');
SELECT * FROM drift('kinds', 'points', by => 'day');
SELECT * FROM drift('kinds', by => 'group');
SELECT drift('none', by => 'group');
SELECT report('none');
SELECT model_spec('none');
SELECT grant_model('kinds', 'nobody here');
SELECT revoke_model('none', 'public');
SELECT rename_model('kinds', 'halves');
SELECT drop_model('none');
SELECT use_version('kinds', 7);
SELECT distribute_models();
SELECT undistribute_models();
SELECT * FROM profile('halves');
SELECT name_cluster('kinds', 3, 'far');
SELECT * FROM cluster_rules('kinds', 0);
SELECT * FROM typical_rows('kinds', 0);
SELECT * FROM score('kinds', group_value => '0');
SELECT plot('none');
SELECT describe('none');
SELECT cluster_tree('none');
SELECT merge_small_clusters(model_operator('kinds'), 2);
SELECT index_centroids('none');
SELECT index_health('points', 'id');
SELECT keep_sketch('bad', 'points', 'x', NULL);
SELECT keep_sketch('bad', 'points', ARRAY['y'], sketch_spec(1, 10, 1.0));
SELECT current_sketch('none');
SELECT * FROM current_sketches('none');
SELECT current_sketch('none', half_life => '1 day');
SELECT fold_sketches('none');
SELECT * FROM check_sketch('none');
SELECT rebuild_sketch('none');
SELECT drop_sketch('none');
SELECT * FROM qkmeans_log('points', 'x', 2, '{"k": 2}');

-- The user's own code keeps its lines in the context, inside a function and in an exception that
-- it catches.
CREATE FUNCTION nightly(name text) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    RETURN retrain(name);
END $$;
SELECT nightly('none');
CREATE FUNCTION caught(name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    context text;
BEGIN
    RETURN nightly(name);
EXCEPTION WHEN undefined_object THEN
    GET STACKED DIAGNOSTICS context = PG_EXCEPTION_CONTEXT;
    RETURN (SELECT string_agg(line, E'\n') FROM regexp_split_to_table(context, E'\n') line WHERE line LIKE '%nightly%' OR line LIKE '%caught%');
END $$;
SELECT caught('none'), predict('kinds', '{0,0}'::real[]) IS NOT NULL AS predict_works;

-- An error in the table that fastclust reads, and one between two rows of a cursor, are reported
-- the same way.
CREATE VIEW broken AS SELECT ARRAY[1 / (id - 50), 0]::real[] AS x FROM points;
SELECT train('broken', 'broken', 'x', 2);
SELECT drift('kinds', 'broken');
BEGIN;
DECLARE one CURSOR FOR SELECT drift('kinds', 'points', by => 'id');
FETCH 1 FROM one;
FETCH 1 FROM one;
ROLLBACK;
-- A missing column leaves the message of drift and cluster_rules in sight: the context is short.
CREATE TABLE pairs AS SELECT i % 4 AS a, i % 3 AS b, timestamptz '2026-01-01' + i * interval '1 hour' AS ordered FROM generate_series(1, 100) i;
SELECT train('pairs', 'pairs', '{a,b}', 3), train('by b', 'pairs', '{a}', 2, options => '{"group_by": "b"}');
CREATE FUNCTION has_short_context(call text, OUT message text, OUT is_short boolean) LANGUAGE plpgsql AS $$
DECLARE
    context text;
BEGIN
    EXECUTE call;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, context = PG_EXCEPTION_CONTEXT;
    is_short := array_length(string_to_array(context, E'\n'), 1) <= 12;
END $$;
SELECT c.* FROM has_short_context($$SELECT * FROM drift('pairs', since => '{"column": "orderd", "interval": "30 days"}')$$) c;
SELECT c.* FROM has_short_context($$SELECT * FROM drift('pairs', by => 'partition')$$) c;
ALTER TABLE pairs DROP COLUMN b;
SELECT c.* FROM has_short_context($$SELECT * FROM drift('pairs')$$) c;
SELECT c.* FROM has_short_context($$SELECT * FROM drift('by b', by => 'group')$$) c;
SELECT c.* FROM has_short_context($$SELECT * FROM drift('pairs', 'pairs')$$) c;
SELECT c.* FROM has_short_context($$SELECT * FROM cluster_rules('pairs')$$) c;
DROP FUNCTION has_short_context; DROP TABLE pairs;
SELECT drop_model('pairs'), drop_model('by b');
DROP VIEW broken; DROP FUNCTION nightly, caught;
SELECT drop_model('kinds'), drop_model('halves');
DROP TABLE points;

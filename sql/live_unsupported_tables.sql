-- what is no table of somebody's own is not followed, whoever asks: not the tables of fastclust, nor catalogs, nor what is no plain table
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE SCHEMA of_live_no_tables;
SET search_path = of_live_no_tables, public, fastclust;
CREATE TABLE made AS SELECT sketch_spec(1, 50, 1.0) AS s;
CREATE TABLE numbers AS SELECT i AS id, i % 7 + 0.5::float8 AS n FROM generate_series(1, 100) i;
SELECT keep_sketch('bases', 'fastclust_internal.live_bases', ARRAY['live_id'], s) FROM made;
SELECT keep_sketch('deltas', 'fastclust_internal.live_deltas', ARRAY['live_id'], s) FROM made;
SELECT keep_sketch('sketches', 'fastclust_internal.kept_sketches', ARRAY['id'], s) FROM made;
SELECT keep_sketch('log', 'fastclust_internal.drift_checks', ARRAY['n'], s) FROM made;
SELECT keep_sketch('catalog', 'pg_class', ARRAY['relpages'], s) FROM made;
SELECT keep_sketch('index', 'fastclust_internal.live_deltas_live_id_idx', ARRAY['live_id'], s) FROM made;
SELECT keep_sketch('sequence', 'fastclust_internal.kept_sketches_id_seq', ARRAY['last_value'], s) FROM made;
CREATE VIEW seen AS TABLE numbers;
CREATE MATERIALIZED VIEW kept AS TABLE numbers;
CREATE TEMP TABLE temporary AS TABLE numbers;
CREATE UNLOGGED TABLE unlogged AS TABLE numbers;
CREATE FOREIGN DATA WRAPPER of_live_no_tables;
CREATE SERVER of_live_no_tables FOREIGN DATA WRAPPER of_live_no_tables;
CREATE FOREIGN TABLE far (id integer, n float8) SERVER of_live_no_tables;
SELECT keep_sketch('view', 'seen', ARRAY['n'], s) FROM made;
SELECT keep_sketch('kept', 'kept', ARRAY['n'], s) FROM made;
SELECT keep_sketch('temporary', 'temporary', ARRAY['n'], s) FROM made;
SELECT keep_sketch('unlogged', 'unlogged', ARRAY['n'], s) FROM made;
SELECT keep_sketch('far', 'far', ARRAY['n'], s) FROM made;
SELECT keep_sketch('none', 0::regclass, ARRAY['n'], s) FROM made;
-- a live training is refused before it reads a row
CREATE FUNCTION scans(relation regclass) RETURNS bigint LANGUAGE sql AS 'SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relid = relation';
BEGIN;
CREATE TEMP TABLE scans_before AS SELECT scans('unlogged') AS n;
DO $$
BEGIN
    PERFORM train('unlogged', 'unlogged', ARRAY['n'], 2, options => '{"live": true}');
EXCEPTION WHEN feature_not_supported THEN
    RAISE WARNING '%', SQLERRM;
END
$$;
SELECT scans('unlogged') - n AS scans FROM scans_before;
COMMIT;
-- a table of fastclust as a child of one that is followed
SELECT keep_sketch('numbers', 'numbers', ARRAY['n'], s) FROM made;
BEGIN;
DROP VIEW seen;
DROP MATERIALIZED VIEW kept;
ALTER TABLE numbers DROP COLUMN id;
ALTER TABLE fastclust_internal.kept_sketches ADD n float8;
ALTER TABLE fastclust_internal.kept_sketches INHERIT numbers;
SELECT current_sketch('numbers');
ROLLBACK;
SELECT row_count(current_sketch('numbers'));
SELECT name FROM live_sketches;
DROP SCHEMA of_live_no_tables CASCADE;
DROP FOREIGN DATA WRAPPER of_live_no_tables CASCADE;

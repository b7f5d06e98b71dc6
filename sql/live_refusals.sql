-- what a live sketch cannot follow, and groups and buckets that cannot be there: errors, never an answer that misses rows
SET client_min_messages = warning;
SET timezone = 'UTC';
CREATE SCHEMA of_live_refusals;
SET search_path = of_live_refusals, public, fastclust;
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
CREATE TABLE log (id integer, shop text, at timestamptz, x double precision[]) PARTITION BY LIST (shop);
CREATE TABLE log_a PARTITION OF log FOR VALUES IN ('a');
CREATE TABLE log_b PARTITION OF log FOR VALUES IN ('b') PARTITION BY RANGE (id);
CREATE TABLE log_b_1 PARTITION OF log_b DEFAULT;
INSERT INTO log SELECT i, (ARRAY['a', 'b'])[1 + i % 2], timestamptz '2026-01-05 12:00' + i * interval '6 hours', ARRAY[i % 7, i % 11] FROM generate_series(1, 400) i;

-- a statement on a table fires none of the triggers of its partitions
SELECT keep_sketch('a', 'log_a', 'x', s) FROM made;
SELECT keep_sketch('b', 'log_b', 'x', s) FROM made;
SELECT train('a', 'log_a', 'x', 3, 'compressive', '{"live": true, "quiet": true}');
CREATE TABLE old (id integer, shop text, at timestamptz, x double precision[]);
CREATE TABLE child () INHERITS (old);
SELECT keep_sketch('child', 'child', 'x', s) FROM made;
DROP TABLE child;

-- a group, or a bucket, where there is none
SELECT keep_sketch('log', 'log', 'x', s), keep_sketch('grouped', 'log', 'x', s, '{"group_by": "shop"}'),
       keep_sketch('days', 'log', 'x', s, '{"bucket": "at", "half_life": "8 days"}') FROM made;
SELECT current_sketch('log', 'a');
SELECT current_sketch('log', NULL, '2026-01-06');
SELECT current_sketch('grouped', 'a', '2026-01-06');
SELECT current_sketch('days', NULL, '2026-01-06 05:00');
SELECT check_sketch('days', NULL, '2026-01-06 05:00');
SELECT current_sketch('days', 'a', half_life => '8 days');
SELECT row_count(current_sketch('grouped', 'a')), current_sketch('grouped', 'none') IS NULL AS none, row_count(current_sketch('days', NULL, '2026-01-06')),
       current_sketch('days', bucket => '-infinity') IS NULL AS nothing;

-- a column twice, an encoder of vectors
SELECT keep_sketch('twice', 'log', ARRAY['id', 'id'], s) FROM made;
SELECT count(*) FROM choose_k('log', ARRAY['id', 'id'], 3);
SELECT keep_sketch('encoded', 'log', 'x', s, '{"encoder": "none"}') FROM made;
DROP SCHEMA of_live_refusals CASCADE;
SELECT count(*) FROM live_sketches;

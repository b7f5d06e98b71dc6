-- half-lives of any length, with rows of any time: the ends of the calendar, infinity, none
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE SCHEMA of_live_far_times;
SET search_path = of_live_far_times, public, fastclust;
SET timezone = 'UTC';
CREATE TABLE events AS SELECT i AS id, timestamptz '2026-01-05 12:00' + i * interval '1 day' AS at, ARRAY[i % 7, i % 11]::real[] AS x FROM generate_series(1, 100) i;
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
SELECT keep_sketch('lately', 'events', 'x', s, '{"bucket": "at", "half_life": "8 days"}'), keep_sketch('slowly', 'events', 'x', s, '{"bucket": "at", "half_life": "100000000 days"}') FROM made;
SELECT keep_sketch('never', 'events', 'x', s, '{"bucket": "at", "half_life": "100000001 days"}') FROM made;
SELECT keep_sketch('never', 'events', 'x', s, '{"bucket": "at", "bucket_width": "200000000 days"}') FROM made;
SELECT keep_sketch('never', 'events', 'x', s, '{"bucket": "at", "bucket_width": "-1 day"}') FROM made;
SELECT keep_sketch('widest', 'events', 'x', s, '{"bucket": "at", "bucket_width": "100000000 days"}') FROM made;
CREATE VIEW weights AS
    SELECT v AS half_life, row_count(s) AS rows, round((describe(s) ->> 'total_weight')::float8::numeric, 6) AS weight
      FROM unnest('{1 microsecond,8 days,100000000 days}'::interval[]) v, current_sketch('lately', half_life => v) s;
SELECT * FROM weights;
INSERT INTO events VALUES (1001, 'infinity', '{1,1}'), (1002, '-infinity', '{1,1}'), (1003, NULL, '{1,1}');
INSERT INTO events VALUES (1004, '294276-12-31 23:00', '{1,1}'), (1005, '4713-01-01 BC', '{1,1}'), (1006, '4714-11-24 00:00:00 BC', '{1,1}');
SELECT * FROM weights;
SELECT row_count(current_sketch('lately')), row_count(current_sketch('lately', bucket => 'infinity')) AS infinite, (SELECT count(*) FROM check_sketch('lately'));
SELECT bucket, row_count(s) FROM current_sketches('widest');
SELECT fold_sketches('lately'), rebuild_sketch('slowly');
SELECT * FROM weights;
DROP SCHEMA of_live_far_times CASCADE;

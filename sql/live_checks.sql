-- check_sketch of one group, of one bucket: exact for those, whatever the others are
SET client_min_messages = warning;
CREATE SCHEMA of_live_checks;
SET search_path = of_live_checks, public, fastclust;
CREATE TABLE visits AS
    SELECT i AS id, 'shop ' || i % 3 AS shop, timestamptz '2026-01-05 12:00+00' + i * interval '6 hours' AS at, ARRAY[i % 7, i % 11 + 0.25]::real[] AS x
      FROM generate_series(1, 200) i;
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
SELECT keep_sketch('visits', 'visits', 'x', s, '{"group_by": "shop", "bucket": "at"}'), keep_sketch('plain', 'visits', 'x', s) FROM made;
SELECT count(*) FROM check_sketch('visits', 'shop 1');
SELECT checked_at FROM live_sketches WHERE name = 'visits';
-- rows past the triggers: of shop 1 on a day, and of a shop that is not sketched
ALTER TABLE visits DISABLE TRIGGER ALL;
INSERT INTO visits VALUES (1000, 'shop 1', '2026-01-07 03:00+00', '{1,1}'), (1001, 'shop 9', '2026-01-08 03:00+00', '{1,1}');
UPDATE visits SET x = '{9,9}' WHERE id = 3;
SELECT fastclust_internal.drop_live_triggers(id, NULL), fastclust_internal.make_live_triggers(id, 'visits') FROM live_sketches ORDER BY id;
SELECT group_value, bucket AT TIME ZONE 'UTC' AS day, sketched, counted, difference FROM check_sketch('visits', 'shop 1');
SELECT group_value, bucket AT TIME ZONE 'UTC' AS day, sketched, counted, difference FROM check_sketch('visits', 'shop 9');
SELECT group_value, bucket AT TIME ZONE 'UTC' AS day, sketched, counted, difference FROM check_sketch('visits', bucket => '2026-01-06 00:00+00');
SELECT count(*) FROM check_sketch('visits', 'shop 2');
SELECT count(*) FROM check_sketch('visits', 'shop 1', '2026-01-09 00:00+00');
SELECT count(*) FROM check_sketch('visits', 'none');
SELECT checked_at FROM live_sketches WHERE name = 'visits';
SELECT group_value, bucket AT TIME ZONE 'UTC' AS day, sketched, counted, difference FROM check_sketch('visits');
SELECT differences FROM live_sketches WHERE name = 'visits';
SELECT * FROM check_sketch('plain', 'shop 1');
SELECT * FROM check_sketch('plain', NULL, now());
SELECT rebuild_sketch('visits'), rebuild_sketch('plain');
SELECT count(*) FROM check_sketch('visits');
DROP SCHEMA of_live_checks CASCADE;

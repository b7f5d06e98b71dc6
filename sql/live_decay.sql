-- A live sketch with a half-life weights its time buckets by 2^(-age / half-life), exactly as
-- sketch_agg with these weights would. Models of such sketches follow recent rows, for any
-- half-life and any times.
SET timezone = 'UTC';
CREATE TABLE made AS SELECT sketch_spec(2, 60, 1.0) AS s;
CREATE TABLE events (id integer PRIMARY KEY, shop text, at timestamptz, x real[]);
INSERT INTO events SELECT i, 'shop ' || i % 2, CASE WHEN i <= 400 THEN timestamptz '2026-03-01 05:00' ELSE timestamptz '2026-03-02 11:00' END,
           CASE WHEN i <= 400 THEN ARRAY[i % 3, 8] ELSE ARRAY[i % 3 + 10, 2] END FROM generate_series(1, 700) i;
SELECT keep_sketch('lately', 'events', 'x', s, '{"bucket": "at", "bucket_width": "1 day", "half_life": "1 day"}'),
       keep_sketch('by shop', 'events', 'x', s, '{"bucket": "at", "bucket_width": "24 hours", "half_life": "24 hours", "group_by": "shop"}'),
       keep_sketch('fast', 'events', 'x', s, '{"bucket": "at", "bucket_width": "1 day", "half_life": "8 hours"}'),
       keep_sketch('fine', 'events', 'x', s, '{"bucket": "at", "half_life": "8 hours"}'), keep_sketch('now', 'events', 'x', s, '{"bucket": "at"}'), keep_sketch('unbucketed', 'events', 'x', s) FROM made;
SELECT name, bucket_width, half_life FROM live_sketches ORDER BY id;

-- Two buckets count with weights 1 and 1/2, and the sketch is exact.
CREATE FUNCTION weighed(as_of timestamptz, half_life float8) RETURNS sketch LANGUAGE sql STABLE AS $$
    SELECT sketch_agg(e.x, (SELECT s FROM made), power(2, -extract(epoch FROM date_trunc('day', as_of) - date_trunc('day', e.at))::float8 / half_life))
      FROM events e WHERE e.at < date_trunc('day', as_of) + interval '1 day'
$$;
SELECT row_count(d), (describe(d) ->> 'total_weight')::float8 AS total_weight,
       (means(d))[2] AS second_mean, describe(d) -> 'lower_bounds' AS lower_bounds,
       fastclust_internal.same_rows(d, weighed('2026-03-02', 86400)) AS exact
  FROM current_sketch('lately', half_life => '1 day') d;
SELECT (describe(current_sketch('lately', half_life => '8 hours')) ->> 'total_weight')::float8
       AS weight_with_eighth, (describe(current_sketch('lately')) ->> 'total_weight')::float8
       AS weight_of_present_rows;
SELECT (describe(current_sketch('by shop', half_life => '24 hours')) ->> 'total_weight')::float8
       AS weight_of_all_shops,
       (describe(current_sketch('by shop', 'shop 1',
               half_life => '24 hours')) ->> 'total_weight')::float8 AS weight_of_one_shop,
       current_sketch('by shop', 'none', half_life => '1 day') AS sketch_of_unknown_shop;
-- The sketch of a single bucket is not weighted.
SELECT current_sketch('lately', bucket => '2026-03-01', half_life => '1 day')
       = current_sketch('lately', bucket => '2026-03-01') AS same_sketch,
       current_sketch('lately', bucket => '2026-02-28', half_life => '1 day')
       AS sketch_of_empty_bucket;

-- Late changes of old rows, and rows that arrive with old times, are counted exactly; buckets
-- older than 40 half-lives are left out.
UPDATE events SET x = '{5,5}' WHERE id % 7 = 0;
DELETE FROM events WHERE id % 5 = 0;
INSERT INTO events SELECT i, 'shop 2', timestamptz '2026-03-02 23:00' - i * interval '9 hours', ARRAY[i, -i] FROM generate_series(1000, 1090) i;
INSERT INTO events SELECT i, 'shop 2', timestamptz '2026-03-02 23:00' - (i - 2000) * interval '9 hours', ARRAY[i % 4, 1] FROM generate_series(2000, 2120) i;
SELECT fold_sketches('lately') > 0 AS has_folded;
SELECT row_count(d), count(*) AS rows_of_40_half_lives,
       fastclust_internal.same_rows(d, sketch_agg(e.x, (SELECT s FROM made), w)) AS exact
  FROM current_sketch('lately', half_life => '1 day') d, (SELECT e.*, power(2, -extract(epoch FROM date '2026-03-02' - date_trunc('day', e.at))::float8 / 86400) AS w FROM events e) e
 WHERE w >= power(2, -40) GROUP BY d;
-- Rows with infinite times, or times in the future, do not change the sketch.
CREATE TABLE before AS SELECT current_sketch('lately', half_life => '1 day') AS d;
INSERT INTO events VALUES (9001, 'shop 1', 'infinity', '{1,1}'), (9002, 'shop 1', '-infinity', '{1,1}'), (9003, 'shop 1', now() + interval '1 year', '{1,1}');
SELECT fastclust_internal.same_rows(d, current_sketch('lately', half_life => '1 day')) AS exact
  FROM before;
DELETE FROM events WHERE id > 9000;
SELECT count(*) AS differences FROM check_sketch('lately');

-- The clusters of a model with a half-life follow the recent rows: old places fade.
TRUNCATE events;
INSERT INTO events SELECT i, 'shop ' || i % 2, timestamptz '2026-03-01' + (i / 1000) * interval '1 day', ARRAY[(i % 2) * 8 + sin(i), (i / 5000) * 8 + cos(i)]
  FROM generate_series(0, 9999) i;
SELECT train('recent', 'events', 'x', 2, options => '{"live": {"bucket": "at", "half_life": "1 day"}}');
SELECT train('shops', 'events', 'x', 2, 'compressive', '{"live": {"bucket": "at", "bucket_width": "1 day", "half_life": "1 day"}, "group_by": "shop"}');
SELECT model, version, group_value, n, round(c.weight::numeric, 2) AS weight, round(c.centroid[1]::numeric) AS x, round(c.centroid[2]::numeric) AS y
  FROM model_versions v, centroids(v.operator) c WHERE model = 'recent' ORDER BY 1, 2, 3, x, y;
SELECT model, version, note, (describe(training_sketch) ->> 'total_weight')::float8 AS total_weight
  FROM fastclust_internal.stored_versions ORDER BY model, version, group_value;
SELECT verdict, n FROM drift('recent');
SELECT value, verdict FROM drift('shops', by => 'group') ORDER BY 1;
SELECT retrain('recent');
SELECT retrain_if_drifted('recent');
INSERT INTO events SELECT i, 'shop ' || i % 2, timestamptz '2026-03-11 09:00', ARRAY[-20, (i % 2) * 8 + sin(i)] FROM generate_series(10000, 12000) i;
SELECT verdict, n FROM drift('recent');
SELECT retrain_if_drifted('recent'), retrain('shops');
SELECT model, version, (describe(training_sketch) ->> 'total_weight')::float8 AS total_weight
  FROM fastclust_internal.stored_versions
 WHERE n > 10000 OR group_value <> '' AND version = 3 ORDER BY model, version,
       group_value;
-- A retraining with another half-life counts the table again.
SELECT retrain('recent', '{"live": {"half_life": "2 days"}}');
SELECT name, half_life FROM live_sketches WHERE model IS NOT NULL ORDER BY name;

-- A half-life without buckets, out of range or in months, and a training that needs scans are
-- errors.
SELECT current_sketch('unbucketed', half_life => '1 day');
SELECT current_sketch('now', half_life => '0');
SELECT current_sketch('now', half_life => '100000001 days');
SELECT current_sketch('none', half_life => '1 day');
SELECT current_sketch(NULL, half_life => '1 day');
SELECT keep_sketch('bad', 'events', 'x', s, '{"half_life": "1 day"}') FROM made;
SELECT keep_sketch('bad', 'events', 'x', s, '{"bucket": "at", "half_life": "some"}') FROM made;
SELECT keep_sketch('bad', 'events', 'x', s, '{"bucket": "at", "half_life": "1 month"}') FROM made;
SELECT keep_sketch('bad', 'events', 'x', s, '{"bucket": "at", "half_life": "0"}') FROM made;
SELECT train('bad', 'events', 'x', 2, options => '{"live": {"half_live": "1 day"}}');
SELECT train('bad', 'events', 'x', 2, options => '{"live": {"half_life": "1 day"}}');
SELECT train('bad', 'events', 'x', 2, options => '{"live": {"bucket": "id", "half_life": "1 day"}}');
SELECT train('bad', 'events', 'x', 2, options => '{"live": {"bucket": "at", "half_life": "1 day"}, "iterations": 2}');
-- A window of rows that all count alike contradicts a half-life.
SELECT train('recent', 'events', 'x', 2, options => '{"live": {"bucket": "at", "half_life": "1 day"}, "since": {"column": "at", "interval": "3 days"}}');
SELECT train('bad', 'events', 'x', 2, 'kernel', '{"live": {"bucket": "at", "half_life": "1 day"}}');
SELECT drop_model('recent'), drop_model('shops');
DROP TABLE events, made, before; DROP FUNCTION weighed;

-- Half-lives from a microsecond to 100,000,000 days work with rows at the ends of the calendar,
-- at infinity and without a time.
CREATE SCHEMA of_live_far_times; SET search_path = of_live_far_times, public, fastclust; SET timezone = 'UTC';
CREATE TABLE events AS SELECT i AS id, timestamptz '2026-01-05 12:00' + i * interval '1 day' AS at, ARRAY[i % 7, i % 11]::real[] AS x FROM generate_series(1, 100) i;
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
SELECT keep_sketch('lately', 'events', 'x', s, '{"bucket": "at", "half_life": "8 days"}'), keep_sketch('slowly', 'events', 'x', s, '{"bucket": "at", "half_life": "100000000 days"}') FROM made;
SELECT keep_sketch('never', 'events', 'x', s, '{"bucket": "at", "half_life": "100000001 days"}') FROM made;
SELECT keep_sketch('never', 'events', 'x', s, '{"bucket": "at", "bucket_width": "200000000 days"}') FROM made;
SELECT keep_sketch('never', 'events', 'x', s, '{"bucket": "at", "bucket_width": "-1 day"}') FROM made;
SELECT keep_sketch('widest', 'events', 'x', s, '{"bucket": "at", "bucket_width": "100000000 days"}') FROM made;
CREATE VIEW weights AS SELECT v AS half_life, row_count(s) AS rows, round((describe(s) ->> 'total_weight')::float8::numeric, 6) AS weight
      FROM unnest('{1 microsecond,8 days,100000000 days}'::interval[]) v, current_sketch('lately', half_life => v) s;
SELECT * FROM weights;
INSERT INTO events VALUES (1001, 'infinity', '{1,1}'), (1002, '-infinity', '{1,1}'), (1003, NULL, '{1,1}');
INSERT INTO events VALUES (1004, '294276-12-31 23:00', '{1,1}'), (1005, '4713-01-01 BC', '{1,1}'), (1006, '4714-11-24 00:00:00 BC', '{1,1}');
SELECT * FROM weights;
SELECT row_count(current_sketch('lately')),
       row_count(current_sketch('lately', bucket => 'infinity')) AS infinite,
       (SELECT count(*) AS differences FROM check_sketch('lately'));
SELECT bucket, row_count(s) FROM current_sketches('widest');
SELECT fold_sketches('lately'), rebuild_sketch('slowly');
SELECT * FROM weights;
DROP SCHEMA of_live_far_times CASCADE;

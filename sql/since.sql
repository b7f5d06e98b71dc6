-- drift compares the newest rows of a growing table (a partition, an interval, a condition) with
-- a baseline, and names values that were never seen.
-- Over the whole table such a change would be diluted and missed.
CREATE TABLE sales (at date, id int, channel text, price float8, items int) PARTITION BY RANGE (at);
DO $$
BEGIN
    FOR m IN 0..13 LOOP    -- the last one is empty
        EXECUTE format('CREATE TABLE sales_%s PARTITION OF sales FOR VALUES FROM (%L) TO (%L)', m, date '2024-01-01' + m * interval '1 month', date '2024-01-01' + (m + 1) * interval '1 month');
    END LOOP;
END
$$;
CREATE TABLE sales_default PARTITION OF sales DEFAULT;
-- Thirteen months follow one law, except that the last has 5 % of a new channel and prices 10 %
-- higher. The model is trained on twelve.
CREATE TABLE orders AS SELECT (date '2024-01-01' + ((i % 13) * interval '1 month' + (i / 13 % 28) * interval '1 day'))::date AS at, i AS id,
       CASE WHEN i % 13 = 12 AND hashint4extended(i, 1) & 1023 < 51 THEN 'video' ELSE (ARRAY['shop', 'web', 'phone'])[1 + (hashint4extended(i, 2) & 65535) % 3] END AS channel,
       (50 + (hashint4extended(i, 3) & 1023) / 20.0) * CASE WHEN i % 13 = 12 THEN 1.1 ELSE 1 END AS price, 1 + (hashint4extended(i, 4) & 3) AS items
  FROM generate_series(0, 51999) i;
INSERT INTO sales SELECT * FROM orders WHERE at < '2025-01-01';
INSERT INTO sales VALUES ('9999-12-31', 0, 'web', 60, 1);    -- a date to come says nothing about which rows are the newest
ANALYZE sales;
SELECT train('m', 'sales', '{channel,price,items}', 4);

INSERT INTO sales SELECT * FROM orders WHERE at >= '2025-01-01';
SELECT recent.effect > whole.effect AS effect_is_larger_for_last_month
  FROM drift('m') whole, drift('m', since => '{"partition": "last"}') recent;
CREATE TABLE windows (since jsonb);
INSERT INTO windows VALUES ('{"partition": "last"}'), ('{"column": "at", "interval": "28 days"}'), ('{"where": "at BETWEEN ''2025-01-01'' AND ''2025-02-01''"}'),
    ('{"column": "at", "interval": "28 days", "baseline": {"column": "at", "interval": "59 days"}}'), ('{"partition": "last", "baseline": {"where": "at < ''2024-04-01''"}}');
SELECT w.since, d.n, d.verdict, d.effect > 0.3 AS effect_above_0_3, c.c ->> 'name' AS name,
       c.c -> 'new_values' ? 'video' AS names_video,
       abs((c.c -> 'new_values' ->> 'video')::float8 - 0.05) < 0.01 AS share_within_0_01_of_0_05
  FROM windows w, drift('m', since => w.since) d, jsonb_array_elements(d.columns) c(c) WHERE c.c ? 'new_values' ORDER BY w.since::text;
-- Months that did not change are not reported, for any window and baseline. The column may be a
-- date, a timestamp or one with a time zone.
SELECT verdict, n FROM drift('m', since => '{"where": "at >= ''2024-12-01'' AND at < ''2025-01-01''", "baseline": {"where": "at < ''2025-01-01''"}}');
CREATE TABLE times AS SELECT at::timestamp AS t, at::timestamptz AS z, channel, price, items FROM sales WHERE at < '9999-01-01';
SET datestyle = 'SQL, DMY';
SELECT n FROM drift('m', 'times', since => '{"column": "t", "interval": "28 days"}') UNION ALL SELECT n FROM drift('m', 'times', since => '{"column": "z", "interval": "3 days"}');
RESET datestyle;
SELECT n, verdict FROM drift('m', 'times', since => '{"where": "price < 0"}');
SELECT value, n > 50 AS over_50_rows
  FROM drift('m', by => 'channel', since => '{"partition": "last"}') ORDER BY value;

-- The option since trains a version on the window, and later checks use the window again.
SELECT retrain_if_drifted('m', options => '{"since": {"partition": "last"}}') AS drifted, retrain_if_drifted('m') AS not_again;
SELECT version, n FROM model_versions WHERE model = 'm' ORDER BY version;
SELECT version, verdict, n, new_version, jsonb_path_exists(columns, '$[*].new_values.video')
       AS names_video FROM drift_log WHERE model = 'm' ORDER BY id;
INSERT INTO sales SELECT '2025-02-03', id, channel, price + 100, items FROM sales_1;
SELECT n, verdict FROM drift('m');
SELECT train('of a window', 'sales', '{price,items}', 2, options => '{"since": {"column": "at", "interval": "1 day"}}');
SELECT n FROM models WHERE model = 'of a window';

-- A live model answers from its buckets, and no row is read.
CREATE TABLE visits AS SELECT timestamptz '2026-01-01 12:00+00' + (i % 40) * interval '1 day' AS at, ARRAY[(i % 4) * 5 + sin(i), (i % 2) * 3 + cos(i)]::real[] AS x FROM generate_series(1, 20000) i;
SELECT train('live', 'visits', 'x', 4, options => '{"live": {"bucket": "at"}}');
INSERT INTO visits SELECT timestamptz '2026-02-10 12:00+00' + (i % 2) * interval '1 day', ARRAY[(i % 4) * 5 + sin(i) + 1, (i % 2) * 3 + cos(i)]::real[] FROM generate_series(1, 1000) i;
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 0;
CREATE TABLE before AS SELECT seq_scan AS n FROM pg_stat_xact_user_tables WHERE relid = 'visits'::regclass;
SELECT n, verdict FROM drift('live');
SELECT n, verdict FROM drift('live', since => '{"column": "at", "interval": "2 days"}');
SELECT retrain_if_drifted('live', options => '{"since": {"column": "at", "interval": "2 days"}}') AS drifted, retrain_if_drifted('live') AS not_again;
SELECT version, n FROM model_versions WHERE model = 'live' ORDER BY version;
SELECT seq_scan - n AS scans FROM pg_stat_xact_user_tables, before WHERE relid = 'visits'::regclass;
COMMIT;
SELECT n FROM drift('live', since => '{"where": "at > ''2026-02-01''"}');

-- Windows that are empty, unknown, contradictory or of the wrong type are errors.
CREATE FUNCTION messages(statement text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN EXECUTE statement; RETURN 'no error'; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM; END $$;
SELECT s, messages(format('SELECT drift(''m'', since => %L)', s)) FROM unnest(ARRAY[
    '{}', '[]', '{"partition": "first"}', '{"column": "price", "interval": "1 day"}', '{"column": "none", "interval": "1 day"}', '{"column": "at", "interval": "-1 day"}',
    '{"column": "at", "interval": "soon"}', '{"column": "at"}', '{"colum": "at"}', '{"where": "now() > at"}', '{"partition": "last", "where": "true"}',
    '{"where": "true", "baseline": {"where": "true"}}', '{"where": "true", "baseline": 3}']) s;
SELECT messages($$SELECT drift('m', 'sales_1', since => '{"partition": "last"}')$$);
SELECT messages($$SELECT drift('m', sketch => (SELECT training_sketch FROM model_versions WHERE model = 'm' AND version = 1), since => '{"partition": "last"}')$$);
-- Errors about the rows of a window name the window.
CREATE TABLE equal (at date, a float8, b float8) PARTITION BY RANGE (at);
CREATE TABLE equal_1 PARTITION OF equal FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE equal_2 PARTITION OF equal FOR VALUES FROM ('2026-02-01') TO ('2026-03-01');
INSERT INTO equal SELECT '2026-01-05', i, sin(i) FROM generate_series(1, 1000) i;
INSERT INTO equal SELECT '2026-02-05', 1, 2 FROM generate_series(1, 100) i;
ANALYZE equal;
SELECT o, messages(format('SELECT train(''equal'', ''equal'', ''{a,b}'', 3, options => %L)', o)) FROM unnest(ARRAY[
    '{"since": {"partition": "last"}}', '{"where": "a = 1 AND b = 2"}', '{"where": "b > 1", "since": {"column": "at", "interval": "3 days"}}',
    '{"where": "b < 1", "since": {"partition": "last"}}', '{"where": "a < 3 AND b < 1"}']) o;
SELECT count(drop_model(m)) AS models_dropped FROM unnest('{m,of a window,live}'::text[]) m;
DROP TABLE sales, equal, orders, windows, times, visits, before; DROP FUNCTION messages;

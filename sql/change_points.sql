-- change_points finds, in a series of dated sketches, the days on which the rows changed, within
-- days and with the column, and raises no alarm where nothing changed.
-- It is online: what it found is not revised by later days.
SET timezone = 'UTC';
CREATE FUNCTION noise(i bigint, s bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT (((hashint8extended(i, 4 * s) & 65535) + (hashint8extended(i, 4 * s + 1) & 65535) + (hashint8extended(i, 4 * s + 2) & 65535)
            + (hashint8extended(i, 4 * s + 3) & 65535)) / 65536.0 - 2) * sqrt(3)';
-- 60 days of 500 rows in ten columns with deviation 1. Column 4 rises by 0.4 on day 35, column 7
-- falls by 0.5 on day 50. The first days have few rows.
CREATE TABLE visits AS
SELECT i / 500 AS day, ARRAY[noise(i, 1), noise(i, 2), noise(i, 3), noise(i, 4) + CASE WHEN i / 500 >= 35 THEN 0.4 ELSE 0 END, noise(i, 5), noise(i, 6),
       noise(i, 7) - CASE WHEN i / 500 >= 50 THEN 0.5 ELSE 0 END, noise(i, 8), noise(i, 9), noise(i, 10)] AS x
  FROM generate_series(0, 29999) i WHERE i >= 2000 OR i % 4 = 0;
SELECT train('visits', 'visits', 'x', 2);
CREATE TABLE daily AS SELECT date '2026-01-01' + day AS at, sketch_agg(x, (SELECT model_spec('visits'))) AS s FROM visits GROUP BY day;
SELECT changed_at::date - '2026-01-01' AS day, found_at - changed_at <= '3 days'
       AS found_within_3_days, p_value < 1e-5 AS p_value_below_1e_5, abs(effect - 0.45) < 0.25
       AS effect_from_0_2_to_0_7, dimension,
       abs(abs(shift) - 0.45) < 0.2 AS shift_from_0_25_to_0_65, shift > 0 AS rises
  FROM change_points('SELECT at, s FROM daily');
-- The same is found without the later days, and nothing before the first change. The order of the
-- rows does not matter, nor do NULL and empty sketches.
SELECT count(*) AS changes FROM change_points('SELECT at, s FROM daily WHERE at < ''2026-02-10''');
SELECT count(*) AS changes FROM change_points('SELECT at, s FROM daily WHERE at < ''2026-02-05''');
SELECT (SELECT array_agg(c) FROM change_points('SELECT at, s FROM daily ORDER BY hashint4(extract(doy FROM at)::integer) -- a comment') c)
     = (SELECT array_agg(c)
       FROM change_points('SELECT at, s FROM daily UNION ALL VALUES (NULL::date, NULL::sketch), (''2026-03-01'', NULL) UNION ALL SELECT ''2026-01-05'', s - s FROM daily') c) AS same_changes;
-- Weekends, on which the rows differ every week, are no changes.
CREATE TABLE weekly AS SELECT at, sketch_agg(ARRAY[noise(at - '2026-01-01' + 100 * i, 1) + CASE WHEN (at - '2026-01-01') % 7 > 4 THEN 0.3 ELSE 0 END, noise(at - '2026-01-01' + 100 * i, 2)], spec) AS s
  FROM sketch_spec(2, 128, 1) spec, daily, generate_series(1, 1000) i GROUP BY at;
SELECT count(*) AS changes FROM change_points('SELECT at, s FROM weekly');
-- A change in one of thirty columns is found although the spec projects them to sixteen axes.
CREATE TABLE wide AS SELECT i / 400 AS day, ARRAY(SELECT CASE WHEN c <= 16 THEN 5 ELSE 1 END * noise(i, c) + CASE WHEN c = 21 AND i >= 10000 THEN 0.45 ELSE 0 END FROM generate_series(1, 30) c) AS x FROM generate_series(0, 11999) i;
SELECT train('wide', 'wide', 'x', 2, 'compressive');
SELECT changed_at::date - '2026-01-01' AS day, found_at - changed_at <= '2 days'
       AS found_within_2_days, dimension, abs(shift - 0.45) < 0.2 AS shift_from_0_25_to_0_65, effect
  FROM change_points('SELECT date ''2026-01-01'' + day, sketch_agg(x, (SELECT model_spec(''wide''))) FROM wide GROUP BY day');
-- Equal days have no change, and fewer days than are needed to judge lead to a notice.
SELECT count(*) AS changes
  FROM change_points('SELECT date ''2026-01-01'' + i, s FROM (SELECT s FROM daily LIMIT 1) d, generate_series(1, 50) i');
SET client_min_messages = notice;
SELECT count(*) AS changes FROM change_points('SELECT at, s FROM daily LIMIT 4');
SET client_min_messages = warning;

-- A query without a date and a sketch, with sketches of two specs, or that is no SELECT is an
-- error.
CREATE FUNCTION messages(statement text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN EXECUTE statement; RETURN 'no error'; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM; END $$;
SELECT s, messages(format('SELECT * FROM change_points(%L)', s)) FROM unnest(ARRAY[NULL, 'SELECT at FROM daily', 'SELECT 1, s FROM daily', 'SELECT at, 1 FROM daily',
    'SELECT at, s FROM daily UNION ALL SELECT at, s FROM weekly', 'DELETE FROM daily RETURNING *', 'SELECT at, s FROM none', '',
    'SELECT now(), NULL::sketch) q(at, s); SELECT q.at, q.s FROM (SELECT now(), 1::int8']) s;
-- The hint shows what the query must return.
SELECT * FROM change_points('daily');
SELECT * FROM change_points('SELECT s, at FROM daily');
\set VERBOSITY terse
SELECT * FROM change_points('SELECT unknown(at), s FROM daily');
\set VERBOSITY default
SELECT drop_model('visits'), drop_model('wide');
DROP TABLE visits, daily, weekly, wide; DROP FUNCTION noise, messages;

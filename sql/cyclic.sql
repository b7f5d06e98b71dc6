-- Columns that go round: hours, weekdays, months and degrees
CREATE SCHEMA of_cyclic; SET search_path = of_cyclic, public, fastclust, fastclust_internal;
SET timezone = 'Europe/Berlin';

-- Calls at three times of day: around 23:10, around 9:30 and around 15:00.
CREATE TABLE calls AS
SELECT i, k, hour, floor(hour)::integer AS full_hour, time '00:00' + hour * interval '1 hour' AS t,
       (time '00:00' + hour * interval '1 hour')::text::timetz AS tz,
       timestamp '2024-01-01' + i % 731 * interval '1 day' + hour * interval '1 hour' AS local,
       (timestamp '2024-01-01' + i % 731 * interval '1 day' + hour * interval '1 hour') AT TIME
           ZONE 'Europe/Berlin' AS at,
       date '2024-01-01' + i % 731 AS day, 1 + (floor(hour)::integer / 2 + 9) % 12 AS month, hour *
           15 AS compass,
       hour * 15 - 180 AS longitude, jsonb_build_object('hour', hour) AS doc
FROM (SELECT i, i % 3 AS k, mod(((ARRAY[23.2, 9.5, 15.0])[1 + i % 3] + (i * 7919 % 1000 - 499.5) /
    250 + 24)::numeric, 24)::float8 AS hour
      FROM generate_series(1, 3000) i) q;
CREATE FUNCTION trained(model text, columns text[], k integer, encoder jsonb, method text DEFAULT
    'kmeans') RETURNS integer
LANGUAGE sql AS $$ SELECT train(model, 'calls', columns::name[], k, method,
    jsonb_build_object('quiet', true, 'encoder', encoder)) $$;

CREATE VIEW models AS
SELECT * FROM fastclust.models WHERE relation::text ~ '^(of_cyclic[.])?(calls|gaps)$';

-- ---- one cluster around midnight ----

SELECT trained('hour', '{hour}', 3, '{"period": {"hour": 24}}'), trained('full hour',
    '{full_hour}', 3, '{"transform": {"full_hour": "cyclic"}, "period": {"full_hour": 24}}'),
       trained('time', '{t}', 3, '{"transform": {"t": "cyclic"}}'), trained('time with zone',
           '{tz}', 3, '{"transform": {"tz": "cyclic"}}'),
       trained('at', '{at}', 3, '{"cyclic": {"at": "day"}}'), trained('local', '{local}', 3,
           '{"cyclic": {"local": "day"}, "transform": {"local": "cyclic"}}'),
       trained('compass', '{compass}', 3, '{"period": {"compass": 360}}'), trained('longitude',
           '{longitude}', 3, '{"period": {"longitude": 360}}'),
       trained('doc', '{doc}', 3, '{"paths": {"doc": ["hour"]}, "period": {"doc": 24}}'),
           trained('month', '{month}', 3, '{"period": {"month": 12}}');
CREATE VIEW labels AS
SELECT m.model, c.k, predict(m.model, c) AS cluster FROM calls c, models m WHERE m.model <> 'month';
SELECT model, count(*) FILTER (WHERE n = rows) AS pure_clusters
FROM (SELECT model, cluster, count(*) AS rows, max(count(*)) OVER (PARTITION BY model, cluster, k)
    AS n FROM labels GROUP BY model, cluster, k) q
WHERE model <> 'full hour' GROUP BY model ORDER BY model;
SELECT predict('hour', ARRAY[23.9]) = predict('hour', ARRAY[0.1]) AS one_night, predict('hour',
    '{-0.1}'::float8[]) = predict('hour', ARRAY[23.9]) AS any_turn,
       predict('hour', ARRAY[9]) <> predict('hour', ARRAY[0]) AS two_times;

-- ---- names, profile, centroids ----

SELECT model, name, feature, shown, CASE WHEN model <> 'doc' THEN round(value::numeric, 1) END AS
    value, round(difference::numeric, 1) AS difference
FROM models m, profile(m.model) WHERE shown ~ '^around (23:|23|348|168|[01]$)' ORDER BY model;
SELECT model, feature, round(value::numeric, 1) AS value FROM model_centroids WHERE model IN ('at',
    'compass') ORDER BY 1, 3;
SELECT feature_names(q.e), d -> 'period' AS period, d ->> 'zone' AS zone, d ->> 'cycle' AS cycle
FROM (SELECT encoder_agg(c, '{at,hour}',
    '{"cyclic": {"at": "week"}, "period": {"hour": 24}, "zone": "Asia/Kolkata"}') AS e FROM calls
    c) q,
jsonb_array_elements(describe(q.e) -> 'features') d;
SELECT trained('round the clock', '{i,k}', 3, '{"period": {"i": 24}, "weight": {"k": 9}}') AS
    version;
SELECT feature, value IS NULL AS no_value, overall IS NULL AS no_overall, shown FROM
    profile('round the clock') WHERE feature = 'i';
SELECT plot('at');
SELECT report('at') ~ 'around&nbsp;23:1[0-9]' AS report_has_times;

-- ---- rules are exact as SQL ----

SELECT trained('week', '{at}', 4, '{"cyclic": {"at": "week"}}'), trained('weekday', '{day}', 3,
    '{"cyclic": {"day": "week"}}'),
       trained('year', '{at}', 4, '{"cyclic": {"at": "year"}}'), trained('date', '{day}', 4,
           '{"cyclic": {"day": "year"}}'),
       trained('turns', '{i}', 3, '{"period": {"i": 24}}'), trained('two', '{hour,k}', 5,
           '{"period": {"hour": 24}, "weight": {"hour": 3}}');
SELECT model, cluster, rule, round(precision::numeric, 3) AS precision, round(coverage::numeric, 3)
    AS coverage, condition
FROM models m, cluster_rules(m.model) WHERE model IN ('full hour', 'time', 'time with zone', 'at',
    'month', 'weekday', 'date', 'longitude', 'turns') ORDER BY 1, rule;
SELECT rule FROM cluster_rules('week') WHERE rule !~
    '^\(?at >= [MTWFS][a-z]+day( [0-2][0-9]:[0-5][0-9])? (and|or) at < [MTWFS][a-z]+day( [0-2][0-9]:[0-5][0-9])?\)?$';
-- Each condition selects the rows with its precision and coverage, whatever the time zone.
CREATE FUNCTION differences() RETURNS TABLE (model text, differences bigint, lowest numeric)
    LANGUAGE plpgsql AS $$
DECLARE
    r record;
    p float8;
    c float8;
BEGIN
    FOR model IN SELECT m.model FROM models m ORDER BY 1 LOOP
        differences := 0;
        lowest := 1;
        FOR r IN SELECT * FROM cluster_rules(model) LOOP
            EXECUTE
                format('SELECT count(*) FILTER (WHERE l = $1 AND (%1$s)) / NULLIF(count(*) FILTER (WHERE %1$s), 0)::float8,
                                   count(*) FILTER (WHERE l = $1 AND (%1$s)) / NULLIF(count(*)
                                       FILTER (WHERE l = $1), 0)::float8
                            FROM (SELECT predict($2, c) AS l, c.* FROM calls c)
                                c', r.condition) INTO p, c USING r.cluster, model;
            differences := differences + (p IS DISTINCT FROM r.precision OR c IS DISTINCT FROM
                r.coverage)::integer;
            lowest := least(lowest, round(p::numeric, 2));
        END LOOP;
        RETURN NEXT;
    END LOOP;
END $$;
SELECT * FROM differences();

-- ---- the same answer in every time zone ----

CREATE TABLE answers AS
SELECT m.model, c.i, predict(m.model, c) AS cluster FROM calls c, models m WHERE m.model IN ('at',
    'week', 'year', 'time with zone', 'date');
CREATE TABLE explained AS SELECT m.model, r.condition, r.precision FROM models m,
    cluster_rules(m.model) r WHERE m.model IN ('at', 'week', 'year', 'date');
CREATE FUNCTION changes() RETURNS TABLE (zone text, labels bigint, rules bigint, drifts bigint)
    LANGUAGE sql AS $$
SELECT current_setting('timezone'), (SELECT count(*) FROM answers a JOIN calls c USING (i) WHERE
    predict(a.model, c) IS DISTINCT FROM a.cluster),
       (SELECT count(*) FROM (SELECT m.model, r.condition, r.precision FROM models m,
           cluster_rules(m.model) r WHERE m.model IN ('at', 'week', 'year', 'date') EXCEPT TABLE
           explained) q),
       (SELECT count(*) FROM unnest('{at,week,year,date}'::text[]) m, drift(m) d WHERE d.verdict <>
           'none')
$$;
SET timezone = 'Asia/Kolkata';
SELECT * FROM changes();
SET timezone = 'America/St_Johns';
SELECT * FROM changes();
SET timezone = 'Pacific/Chatham';
SELECT * FROM changes();
SET timezone = 'UTC';
SELECT * FROM changes();
-- A retrain keeps the time zone, unless another one is requested.
SELECT retrain('at', '{"quiet": true}');
SELECT count(*) FROM answers a JOIN calls c USING (i) WHERE a.model = 'at' AND predict(a.model, c)
    IS DISTINCT FROM a.cluster;
SELECT DISTINCT condition ~ 'Europe/Berlin' AS in_berlin FROM cluster_rules('at');
SELECT retrain('at', '{"quiet": true, "encoder": {"cyclic": {"at": "day"}, "zone": "Asia/Tokyo"}}');
SELECT DISTINCT condition ~ 'Asia/Tokyo' AS in_tokyo FROM cluster_rules('at');
-- It keeps the period, too, until null removes it.
SELECT retrain('hour', '{"quiet": true, "encoder": {"transform": {"hour": "log"}}}');
SELECT retrain('hour',
    '{"quiet": true, "encoder": {"transform": {"hour": "log"}, "period": {"hour": null}}}');
-- Rows without a time zone have the local time of the model.
CREATE TABLE clock AS SELECT at AT TIME ZONE 'Asia/Tokyo' AS at FROM calls;
SELECT condition FROM cluster_rules('at', relation => 'clock') WHERE rule ~ ' or ';
-- CET is a time zone with summer time, but AT TIME ZONE 'CET' has none. Systems without the zone
-- (Debian's tzdata without tzdata-legacy) skip the check.
DO $$
DECLARE
    hint text;
BEGIN
    PERFORM set_config('timezone', z.name, true) FROM pg_timezone_names z WHERE z.name = 'CET';
    IF NOT FOUND THEN
        RETURN;
    END IF;
    PERFORM encoder_agg(c, '{local}', '{"cyclic": {"local": "day"}}') FROM calls c;
    PERFORM encoder_agg(c, '{at}', '{"cyclic": {"at": "day"}}') FROM calls c;
    RAISE 'the time zone CET was accepted';
EXCEPTION WHEN invalid_parameter_value THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
    IF SQLERRM <> 'time zone "CET" is ambiguous' OR hint NOT LIKE '%"zone"%Europe/Paris%' THEN
        RAISE;
    END IF;
END
$$;
SET timezone = 'UTC';
-- 31 March 2024, 01:30 UTC: Berlin's clocks show 3:30.
SELECT encode_row(e, t, false)::float8[] AS at_3_30, round((degrees(2 * pi() * 3.5 / 24))::numeric)
    AS degrees
FROM (SELECT encoder_agg(c, '{at}', '{"cyclic": {"at": "day"}, "zone": "Europe/Berlin"}') AS e FROM
    calls c) q, (SELECT timestamptz '2024-03-31 01:30+00' AS at) t;

-- ---- years of 365 and 366 days ----

SELECT y, encode_row(e, (SELECT d FROM (SELECT make_date(y, 3, 1) AS day) d)) = encode_row(e,
    (SELECT d FROM (SELECT date '2024-03-01' AS day) d)) AS same_march,
       encode_row(e, (SELECT d FROM (SELECT make_date(y, 12, 31) AS day) d)) = encode_row(e,
           (SELECT d FROM (SELECT date '2024-12-31' AS day) d)) AS same_december
FROM (SELECT encoder_agg(c, '{day}', '{"cyclic": {"day": "year"}}') AS e FROM calls c) q,
    unnest('{1900,1999,2000,2023,2096}'::integer[]) y;

-- ---- NULLs, weights, drift, other methods ----

CREATE TABLE gaps AS SELECT i, k, CASE WHEN i % 10 > 0 THEN hour END AS hour, CASE WHEN i % 7 > 0
    THEN at END AS at, (i * 31 % 100) / 10.0 AS noise FROM calls;
SELECT train('gaps', 'gaps', '{hour,noise}', 3, options =>
    '{"quiet": true, "encoder": {"period": {"hour": 24}, "weight": {"hour": 4}}}') AS version,
       train('skipped', 'gaps', '{hour,at}', 3, options =>
           '{"quiet": true, "encoder": {"period": {"hour": 24}, "cyclic": {"at": "day"}, "nulls": "skip"}}') AS skipped;
SELECT count(DISTINCT k) AS times, bool_and(n = rows) AS pure
FROM (SELECT cluster, k, count(*) AS rows, max(count(*)) OVER (PARTITION BY cluster) AS n FROM
    (SELECT predict('gaps', g) AS cluster, k FROM gaps g WHERE hour IS NOT NULL) q GROUP BY 1, 2) q;
SELECT count(*) FILTER (WHERE predict('gaps', g) IS NULL) AS without_label, count(*) FILTER (WHERE
    predict('skipped', g) IS NULL) AS skipped FROM gaps g;
-- A row without any value has no label, so that no condition accepts it.
SELECT train('one column', 'gaps', '{hour}', 3, options =>
    '{"quiet": true, "encoder": {"period": {"hour": 24}}}') AS version;
SELECT round(precision::numeric, 2) AS precision, condition ~ 'NULL' AS accepts_null
FROM cluster_rules('one column');
CREATE TABLE later AS SELECT i, mod((hour + 4)::numeric, 24)::float8 AS hour, at + interval
    '4 hours' AS at, noise FROM gaps;
SELECT verdict, c ->> 'name' AS name, c ->> 'shown' AS shown, c ? 'shift' AS has_shift FROM
    drift('gaps', 'later'), jsonb_array_elements(columns) c;
SELECT verdict, columns FROM drift('gaps', 'gaps');
SELECT trained('density', '{hour,k}', NULL, '{"period": {"hour": 24}}', 'density') AS density,
    trained('kernel', '{hour}', 3, '{"period": {"hour": 24}}', 'kernel') AS kernel,
       trained('compressive', '{hour}', 3, '{"period": {"hour": 24}}', 'compressive') AS
           compressive, trained('qkmeans', '{hour,at}', 3,
           '{"period": {"hour": 24}, "cyclic": {"at": "day"}}', 'qkmeans') AS qkmeans;
SELECT m, count(DISTINCT predict(m, c)) AS clusters FROM
    unnest('{density,kernel,compressive,qkmeans}'::text[]) m, calls c GROUP BY 1 ORDER BY 1;

-- ---- text, binary and bad encoders ----

CREATE TABLE encoders AS SELECT encoder_agg(c, '{at,hour,t,day}',
    '{"cyclic": {"at": "week", "day": "year"}, "period": {"hour": 24}, "transform": {"t": "cyclic"}}') AS e FROM calls c;
SELECT e::text::encoder::text = e::text AS same_text FROM encoders;
SELECT encoder_agg(c, '{hour}', '{"transform": {"hour": "cyclic"}}') FROM calls c;
SELECT encoder_agg(c, '{at}', '{"transform": {"at": "cyclic"}}') FROM calls c;
SELECT encoder_agg(c, '{day}', '{"cyclic": {"day": "day"}}') FROM calls c;
SELECT encoder_agg(c, '{at}', '{"period": {"at": 24}}') FROM calls c;
SELECT encoder_agg(c, '{hour}', '{"cyclic": {"hour": "day"}}') FROM calls c;
SELECT encoder_agg(c, '{name}', '{"transform": {"name": "cyclic"}}') FROM (SELECT 'a' AS name) c;
SELECT encoder_agg(c, '{span}', '{"transform": {"span": "cyclic"}}') FROM (SELECT interval '1 hour'
    AS span) c;
SELECT encoder_agg(c, '{hour}', '{"transform": "cyclic"}') FROM calls c;
SELECT encoder_agg(c, '{hour}', '{"period": {"hour": 0}}') FROM calls c;
SELECT encoder_agg(c, '{hour}', '{"period": {"hour": "day"}}') FROM calls c;
SELECT encoder_agg(c, '{hour}', '{"period": {"hour": 1e400}}') FROM calls c;
SELECT encoder_agg(c, '{hour}', '{"period": {"hour": 24}, "transform": {"hour": "log"}}') FROM
    calls c;
SELECT encoder_agg(c, '{at}', '{"period": {"at": 24}, "cyclic": {"at": "day"}}') FROM calls c;
SELECT encoder_agg(c, '{at}', '{"cyclic": {"at": "month"}}') FROM calls c;
SELECT encoder_agg(c, '{at}', '{"cyclic": {"at": "day"}, "zone": "Mars/Olympus"}') FROM calls c;
SELECT encoder_agg(c, '{hours}', '{"period": {"hours": 24}}') FROM calls c;
SELECT predict('local', c) FROM (SELECT now() AS local) c;
SELECT predict('at', ARRAY[1.0]);
SELECT predict('local', ARRAY[1.0]);
SELECT count(drop_model(model)) FROM models;
DROP SCHEMA of_cyclic CASCADE;

-- anomaly compares the distance of a row with the standard deviation of its cluster: rows beside a
-- tight cluster are found although a wide one has more distant rows, and the share of training rows
-- that it finds is the share asked for, also where many rows are equal.
CREATE SCHEMA of_anomaly; SET search_path = of_anomaly, public, fastclust;
SET client_min_messages = warning;
CREATE TABLE uniform AS SELECT i, ('x' || substr(md5(i || 'a'), 1, 8))::bit(32)::bigint / 4294967296.0 AS u,
       ('x' || substr(md5(i || 'b'), 1, 8))::bit(32)::bigint / 4294967296.0 AS v FROM generate_series(1, 4000) i;
-- A tight cluster, a wide one, and 20 rows 6.7 deviations of the tight one from its center.
CREATE TABLE beside AS
SELECT false AS odd, i % 2 * 20 + (0.3 + i % 2 * 2.7) * sqrt(-2 * ln(u)) * cos(2 * pi() * v) AS x,
       i % 2 * 20 + (0.3 + i % 2 * 2.7) * sqrt(-2 * ln(u)) * sin(2 * pi() * v) AS y FROM uniform
 UNION ALL SELECT true, 2 * cos(0.3 * i), 2 * sin(0.3 * i) FROM generate_series(1, 20) i;
SELECT train('beside', 'beside', '{x,y}', 2, options => '{"quiet": true}');
SELECT odd, count(*) AS rows, avg(anomaly('beside', b)::integer) AS found FROM beside b GROUP BY 1 ORDER BY 1;
-- The area under the curve of the rates, by the shares of pairs in the right order.
CREATE TABLE rates AS
SELECT share, avg(anomaly('beside', b, share)::integer) FILTER (WHERE odd) AS hits,
       avg(anomaly('beside', b, share)::integer) FILTER (WHERE NOT odd) AS false_alarms
  FROM beside b, unnest('{0.001,0.002,0.005,0.01,0.02,0.05,0.1,0.2,0.5}'::float8[]) share GROUP BY 1;
SELECT sum((false_alarms - before) * (hits + hits_before) / 2) + 1 - max(false_alarms) > 0.95 AS area_above_0_95
  FROM (SELECT *, COALESCE(lag(false_alarms) OVER (ORDER BY share), 0) AS before, COALESCE(lag(hits) OVER (ORDER BY share), 0) AS hits_before FROM rates) r;
-- 0 to 60 % of the rows are equal; 1 % of the rows is asked for.
CREATE TABLE shares (equal_rows numeric, k integer, found float8);
DO $$
DECLARE
    equal numeric;
    k integer;
BEGIN
    FOREACH equal IN ARRAY '{0,0.1,0.3,0.6}'::numeric[] LOOP
        FOREACH k IN ARRAY '{1,3,8}'::integer[] LOOP
            CREATE TABLE piled AS SELECT CASE WHEN i % 10 >= 10 * equal THEN i % 5 * 4 + sqrt(-2 * ln(u)) * cos(2 * pi() * v) ELSE 0 END AS a,
                                         CASE WHEN i % 10 >= 10 * equal THEN sqrt(-2 * ln(u)) * sin(2 * pi() * v) ELSE 0 END AS b FROM uniform;
            PERFORM train('piled', 'piled', '{a,b}', k, options => '{"quiet": true}');
            INSERT INTO shares SELECT equal, k, avg(anomaly('piled', p)::integer) FROM piled p;
            PERFORM drop_model('piled');
            DROP TABLE piled;
        END LOOP;
    END LOOP;
END
$$;
SELECT count(*) AS tables, bool_and(found BETWEEN 0.005 AND 0.02) AS found_0_5_to_2_percent FROM shares;
-- Rows that are all equal have no anomaly; every other row is one.
CREATE TABLE same AS SELECT 0.1::float8 AS a, 0.7::float8 AS b FROM generate_series(1, 100);
SELECT train('same', 'same', '{a,b}', 1, options => '{"quiet": true}');
SELECT count(*) FILTER (WHERE anomaly('same', s)) AS anomalies, anomaly('same', ARRAY[0.2, 0.7]) AS other FROM same s;
SELECT drop_model(model) FROM models WHERE model IN ('beside', 'same') \g /dev/null
DROP SCHEMA of_anomaly CASCADE;

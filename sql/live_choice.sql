-- choose_k of a live sketch: the number of clusters of now, without a scan
SET client_min_messages = warning;
CREATE SCHEMA of_live_choice;
SET search_path = of_live_choice, public, fastclust;
SELECT setseed(0.5);
CREATE FUNCTION normal() RETURNS float8 LANGUAGE sql VOLATILE AS 'SELECT sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())';
CREATE TABLE orders AS
    SELECT i AS id, ARRAY[10 * (i % 3) + normal(), 9 * (i % 3 % 2) + normal()]::real[] AS x,
           10.0 * (i % 3) + random() AS a, 5 * (i % 3 % 2) + random() AS b
      FROM generate_series(1, 6000) i;
SELECT train('vectors', 'orders', 'x', 12, 'compressive', '{"live": true, "quiet": true}');
SELECT train('columns', 'orders', ARRAY['a', 'b'], 12, 'compressive', '{"live": true, "quiet": true, "where": "id > 10"}');
-- scans of one transaction, which no other process reports
CREATE FUNCTION scans() RETURNS bigint LANGUAGE sql AS $$
    SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relid = 'orders'::regclass
$$;
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 0;
CREATE TABLE before AS SELECT scans() AS n;
SELECT k, verdict FROM choose_k('orders', 'x', 12, '{"live": true}') WHERE verdict IS NOT NULL;
SELECT k, verdict FROM choose_k('orders', ARRAY['a', 'b'], 9, '{"live": true, "where": "id > 10"}') WHERE verdict IS NOT NULL;
-- the sketch is of now: two clusters more
INSERT INTO orders SELECT 10000 + i, ARRAY[20 * (i % 2) + normal(), 20 + normal()], 1, 1 FROM generate_series(1, 4000) i;
SELECT k FROM choose_k('orders', 'x', 12, '{"live": true, "seed": 3}') WHERE verdict IS NOT NULL;
SELECT count(*) = count(DISTINCT k) AS once, min(k), max(k), count(verdict), count(stability) AS stabilities, bool_and(cost >= 0) AS costs, count(gain) = count(*) - 1 AS gains
  FROM choose_k('orders', 'x', 12, '{"live": true}');
SELECT scans() - n AS scans FROM before;
-- rows as before, where it is not asked for
SELECT count(stability) > 0 AS stabilities FROM choose_k('orders', 'x', 6, '{"live": false}');
SELECT scans() > n AS scanned FROM before;
COMMIT;
SELECT * FROM choose_k('orders', 'x', 6, '{"live": true, "trim": 0.1}');
SELECT * FROM choose_k('orders', 'x', 6, '{"live": true, "where": "id > 10"}');
SELECT * FROM choose_k('before', 'n', 6, '{"live": true}');
SELECT * FROM choose_k('orders', 'x', 1, '{"live": true}');
TRUNCATE orders;
SELECT * FROM choose_k('orders', 'x', 6, '{"live": true}');
-- a live sketch is there for who may read its columns
CREATE ROLE live_stranger;
GRANT USAGE ON SCHEMA of_live_choice TO live_stranger;
SET ROLE live_stranger;
SELECT * FROM choose_k('orders', 'x', 6, '{"live": true}');
RESET ROLE;
SELECT drop_model('vectors'), drop_model('columns');
DROP SCHEMA of_live_choice CASCADE;
DROP ROLE live_stranger;

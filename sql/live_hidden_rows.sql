-- rows that cannot be counted exactly: hidden by row-level security, emptied by a crash, of groups that no index holds
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE SCHEMA of_live_hidden_rows;
CREATE ROLE live_hidden_alice;
GRANT ALL ON SCHEMA of_live_hidden_rows TO live_hidden_alice;
SET ROLE live_hidden_alice;
SET search_path = of_live_hidden_rows, public, fastclust;
CREATE TABLE half AS SELECT i AS id, ARRAY[i % 7, i % 5]::real[] AS x FROM generate_series(1, 100) i;
CREATE TABLE log (id integer, x real[]) PARTITION BY RANGE (id);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (1000);
CREATE TABLE log_2 PARTITION OF log DEFAULT;
INSERT INTO log SELECT i * 10, ARRAY[i % 7, i % 5] FROM generate_series(1, 200) i;
SELECT keep_sketch('half', 'half', 'x', sketch_spec(2, 50, 1.0)), keep_sketch('log', 'log', 'x', sketch_spec(2, 50, 1.0));
CREATE POLICY half ON half USING (id % 2 = 1);
CREATE POLICY half ON log_1 USING (id % 20 = 0);
ALTER TABLE half ENABLE ROW LEVEL SECURITY;
ALTER TABLE log_1 ENABLE ROW LEVEL SECURITY;
SELECT row_count(current_sketch('half')), (SELECT count(*) FROM check_sketch('half')) AS differ, rebuild_sketch('half');
ALTER TABLE half FORCE ROW LEVEL SECURITY;
ALTER TABLE log_1 FORCE ROW LEVEL SECURITY;
SELECT * FROM check_sketch('half');
SELECT rebuild_sketch('half');
INSERT INTO half VALUES (101, '{1,1}');
TRUNCATE log_1;
SELECT current_sketch('log');
ALTER TABLE half NO FORCE ROW LEVEL SECURITY;
SELECT row_count(current_sketch('half')) AS sketched, (SELECT count(*) FROM half), (SELECT count(*) FROM check_sketch('half')) AS differ;
SELECT rebuild_sketch('log');
ALTER TABLE log_1 NO FORCE ROW LEVEL SECURITY;
SELECT rebuild_sketch('log');

-- unlogged
ALTER TABLE half SET UNLOGGED;
INSERT INTO half VALUES (102, '{1,1}');
SELECT current_sketch('half');
SELECT rebuild_sketch('half');
ALTER TABLE half SET LOGGED;
SELECT current_sketch('half');
SELECT rebuild_sketch('half');
ALTER TABLE log_2 SET UNLOGGED;
SELECT current_sketch('log');
ALTER TABLE log_2 SET LOGGED;
SELECT rebuild_sketch('log');

-- long groups
CREATE TABLE shops (shop text, x real[]);
SELECT keep_sketch('shops', 'shops', 'x', sketch_spec(2, 50, 1.0), '{"group_by": "shop"}');
INSERT INTO shops VALUES (repeat('s', 2001), '{1,1}');
INSERT INTO shops VALUES (repeat('s', 2001), NULL);
INSERT INTO shops SELECT string_agg(md5(i::text), ''), '{1,1}' FROM generate_series(1, 62) i;
UPDATE shops SET shop = repeat('é', 1001), x = '{1,1}';
SELECT fold_sketches('shops');
SELECT length(group_value), row_count(s) FROM current_sketches('shops');
CREATE TABLE long_shops AS SELECT repeat('s', 3000) AS shop, '{1,1}'::real[] AS x;
SELECT keep_sketch('long', 'long_shops', 'x', sketch_spec(2, 50, 1.0), '{"group_by": "shop"}');
RESET ROLE;
DROP SCHEMA of_live_hidden_rows CASCADE;
DROP ROLE live_hidden_alice;
SELECT count(*) FROM live_sketches;

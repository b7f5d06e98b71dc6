-- a part that comes uncounted is lost count until rebuild_sketch, though it goes again: the parent has counted what was written through it
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE SCHEMA of_live_uncounted;
SET search_path = of_live_uncounted, public, fastclust;
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
CREATE TABLE log (id integer, shop text, x real[]) PARTITION BY LIST (shop);
CREATE TABLE log_a PARTITION OF log FOR VALUES IN ('a');
INSERT INTO log SELECT i, 'a', ARRAY[i % 7, i % 11] FROM generate_series(1, 100) i;
SELECT keep_sketch('log', 'log', 'x', s) FROM made;
CREATE TABLE log_b (id integer, shop text, x real[]);
INSERT INTO log_b SELECT i, 'b', ARRAY[i % 7, i % 11] FROM generate_series(101, 200) i;

BEGIN ISOLATION LEVEL REPEATABLE READ;
ALTER TABLE log ATTACH PARTITION log_b FOR VALUES IN ('b');
COMMIT;
INSERT INTO log VALUES (1000, 'b', '{1,1}');
UPDATE log SET shop = 'b' WHERE id = 5;
ALTER TABLE log DETACH PARTITION log_b;
SELECT row_count(current_sketch('log'));
SELECT * FROM check_sketch('log');
SELECT rebuild_sketch('log');
SELECT row_count(current_sketch('log')), count(*) FROM log;

-- the same of a partition that is dropped
BEGIN ISOLATION LEVEL REPEATABLE READ;
CREATE TABLE log_c PARTITION OF log FOR VALUES IN ('c');
COMMIT;
INSERT INTO log VALUES (1001, 'c', '{1,1}');
DROP TABLE log_c;
SELECT row_count(current_sketch('log'));
SELECT rebuild_sketch('log');

-- partitions of a new schema, and those of a session that replicates, are counted like others
CREATE SCHEMA of_live_uncounted_too CREATE TABLE log_d PARTITION OF of_live_uncounted.log FOR VALUES IN ('d');
SET session_replication_role = replica;
CREATE TABLE log_e PARTITION OF log FOR VALUES IN ('e');
ALTER TABLE log ATTACH PARTITION log_b FOR VALUES IN ('b');
RESET session_replication_role;
INSERT INTO log SELECT i, (ARRAY['a', 'b', 'd', 'e'])[1 + i % 4], ARRAY[i % 7, i % 11] FROM generate_series(300, 400) i;
DELETE FROM log_e WHERE id > 390;
DELETE FROM of_live_uncounted_too.log_d WHERE id > 390;
SELECT row_count(current_sketch('log')) AS sketched, (SELECT count(*) FROM log), (SELECT count(*) FROM check_sketch('log')) AS differ;

-- foreign partitions cannot be counted
CREATE FOREIGN DATA WRAPPER of_live_uncounted;
CREATE SERVER of_live_uncounted FOREIGN DATA WRAPPER of_live_uncounted;
CREATE FOREIGN TABLE far PARTITION OF log FOR VALUES IN ('f') SERVER of_live_uncounted;
SELECT current_sketch('log');
DROP FOREIGN TABLE far;
SELECT current_sketch('log');
SELECT rebuild_sketch('log');
CREATE FOREIGN TABLE child (x real[]) SERVER of_live_uncounted;
CREATE TABLE plain (x real[]);
INSERT INTO plain VALUES ('{1,2}');
SELECT keep_sketch('plain', 'plain', 'x', s) FROM made;
ALTER FOREIGN TABLE child INHERIT plain;
ALTER FOREIGN TABLE child NO INHERIT plain;
SELECT current_sketch('plain');
SELECT rebuild_sketch('plain');
SET session_replication_role = replica;
DROP TABLE plain;
RESET session_replication_role;
SELECT name FROM live_sketches;
DROP SCHEMA of_live_uncounted, of_live_uncounted_too CASCADE;
DROP FOREIGN DATA WRAPPER of_live_uncounted CASCADE;

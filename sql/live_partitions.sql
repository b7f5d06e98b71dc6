-- live sketches follow partitions and children, in the transaction of the DDL
SET client_min_messages = warning;
CREATE SCHEMA of_live_partitions;
SET search_path = of_live_partitions, public, fastclust;
CREATE TABLE made AS SELECT sketch_spec(2, 40, 1.0) AS s;
CREATE TABLE log (id integer, shop text, x double precision[]) PARTITION BY RANGE (id);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (100);
INSERT INTO log SELECT i, 'shop ' || i % 3, ARRAY[i % 7, sqrt(i)] FROM generate_series(0, 99) i;
SELECT keep_sketch('log', 'log', 'x', s), keep_sketch('shops', 'log', 'x', s, '{"group_by": "shop", "where": "id % 2 = 0"}') FROM made;
CREATE FUNCTION exact() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT fastclust_internal.same_rows(current_sketch('log'), (SELECT sketch_agg(x, (SELECT s FROM made)) FROM log))
       AND fastclust_internal.same_rows(current_sketch('shops', 'shop 1'), (SELECT sketch_agg(x, (SELECT s FROM made)) FROM log WHERE id % 2 = 0 AND shop = 'shop 1'))
$$;
-- a new one, one with rows and columns in another order, and a tree
CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (100) TO (200);
INSERT INTO log SELECT i, 'shop 1', ARRAY[i, 2] FROM generate_series(100, 150) i;
SELECT exact(), row_count(current_sketch('log'));
CREATE TABLE log_3 (x double precision[], gone text, shop text, id integer);
ALTER TABLE log_3 DROP gone;
INSERT INTO log_3 SELECT ARRAY[i, 3], 'shop ' || i % 2, i FROM generate_series(200, 299) i;
ALTER TABLE log ATTACH PARTITION log_3 FOR VALUES FROM (200) TO (300);
SELECT exact(), row_count(current_sketch('log'));
INSERT INTO log_3 (id, x) VALUES (210, '{5,5}');
DELETE FROM log WHERE id % 10 = 0;
CREATE TABLE log_4 (id integer, shop text, x double precision[]) PARTITION BY RANGE (id);
CREATE TABLE log_4_1 PARTITION OF log_4 FOR VALUES FROM (300) TO (350);
CREATE TABLE log_4_2 PARTITION OF log_4 DEFAULT;
INSERT INTO log_4 SELECT i, 'shop 1', ARRAY[i, 4] FROM generate_series(300, 399) i;
ALTER TABLE log ATTACH PARTITION log_4 FOR VALUES FROM (300) TO (400);
UPDATE log SET id = id + 60, x = x || '{}'::float8[] WHERE id BETWEEN 300 AND 310;
SELECT exact(), row_count(current_sketch('log'));
SELECT fold_sketches() > 0 AS folded, exact();
-- they go, one by one and in savepoints
ALTER TABLE log DETACH PARTITION log_3;
INSERT INTO log_3 (id, x) VALUES (1, '{1,1}');
SELECT exact(), row_count(current_sketch('log')), (SELECT count(*) FROM pg_trigger WHERE tgrelid = 'log_3'::regclass) AS triggers;
BEGIN;
ALTER TABLE log_4 DETACH PARTITION log_4_1;
SAVEPOINT one;
ALTER TABLE log DETACH PARTITION log_2;
SELECT exact();
ROLLBACK TO one;
SELECT exact();
ALTER TABLE log_4 ATTACH PARTITION log_4_1 FOR VALUES FROM (300) TO (350);
SELECT exact();
COMMIT;
SELECT exact(), row_count(current_sketch('log')), (SELECT count(*) FROM check_sketch('log')) + (SELECT count(*) FROM check_sketch('shops')) AS differ;
SELECT fastclust_internal.sketch_problem('log') AS problem, fold_sketches() > 0 AS folded, exact(), rebuild_sketch('log') = row_count(current_sketch('log')) AS rebuilt;
-- a tree
BEGIN;
ALTER TABLE log DETACH PARTITION log_4;
SELECT exact(), fastclust_internal.keeps_writers_out('log_4_1'::regclass) AS alone, fastclust_internal.keeps_writers_out('log_1'::regclass) AS there_too;
COMMIT;
-- a transaction of one snapshot does not see all rows
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM made;
\set VERBOSITY terse
ALTER TABLE log DETACH PARTITION log_2;
\set VERBOSITY default
COMMIT;
SELECT current_sketch('log');
SELECT rebuild_sketch('log') > 0 AS rebuilt, rebuild_sketch('shops') > 0 AS too;
SELECT exact();
-- a row that cannot be sketched stops no DDL
INSERT INTO log_2 VALUES (100, 'shop 1', '{1,NaN}');
ALTER TABLE log ATTACH PARTITION log_2 FOR VALUES FROM (100) TO (200);
SELECT current_sketch('log');
ALTER TABLE log DETACH PARTITION log_2;
SELECT current_sketch('log');
SELECT rebuild_sketch('log') > 0 AS rebuilt, rebuild_sketch('shops') > 0 AS too;
SELECT exact();
DROP TABLE log_2, log_3;
-- a dropped one is gone before it can be counted down
CREATE TABLE log_5 PARTITION OF log FOR VALUES FROM (500) TO (600);
DROP TABLE log_5;
SELECT problem FROM live_sketches WHERE name = 'log';
SELECT rebuild_sketch('log') > 0 AS rebuilt, rebuild_sketch('shops') > 0 AS too;
SELECT exact();
-- children
CREATE TABLE log_old (id integer, x double precision[]);
SELECT keep_sketch('old', 'log_old', 'x', (SELECT s FROM made));
CREATE TABLE child (more text) INHERITS (log_old);
INSERT INTO child VALUES (1, '{1,2}', 'more'), (2, '{3,4}', 'more');
SELECT row_count(current_sketch('old'));
ALTER TABLE child NO INHERIT log_old;
SELECT row_count(current_sketch('old'));
ALTER TABLE child INHERIT log_old;
SELECT row_count(current_sketch('old')), (SELECT count(*) FROM check_sketch('old')) AS differ;
CREATE TEMP TABLE passing () INHERITS (log_old);
DROP TABLE passing;
SELECT row_count(current_sketch('old'));
SELECT rebuild_sketch('old');
-- nobody forges it
SELECT fastclust_internal.changed_parts();
SELECT fastclust_internal.lose_part(1);
SELECT fastclust_internal.follow_parts(true);
CREATE ROLE live_stranger;
GRANT USAGE ON SCHEMA of_live_partitions TO live_stranger;
SET ROLE live_stranger;
SELECT fastclust_internal.write_part(l.id, 'child'::regclass, false, '{}') FROM generate_series(1, 3) l(id);
RESET ROLE;
-- tables of another role
GRANT CREATE ON SCHEMA of_live_partitions TO live_stranger;
CREATE TABLE theirs (x double precision[]) PARTITION BY LIST ((x[1]));
CREATE TABLE theirs_1 PARTITION OF theirs DEFAULT;
INSERT INTO theirs VALUES ('{1,2}');
SELECT keep_sketch('theirs', 'theirs', 'x', (SELECT s FROM made));
ALTER TABLE theirs_1 OWNER TO live_stranger;
ALTER TABLE theirs OWNER TO live_stranger;
SET ROLE live_stranger;
ALTER TABLE theirs DETACH PARTITION theirs_1;
SELECT current_sketch('theirs') IS NULL AS empty;
ALTER TABLE theirs ATTACH PARTITION theirs_1 DEFAULT;
SELECT row_count(current_sketch('theirs'));
RESET ROLE;
DROP SCHEMA of_live_partitions CASCADE;
SELECT count(*) FROM live_sketches;
DROP ROLE live_stranger;

-- A live sketch stays exact while its table changes shape: partitions and children that are
-- created, attached, detached or dropped, and DDL that rewrites values.
-- Where the sketch cannot know the rows, it is an error with a reason until it is rebuilt. Tables
-- that cannot be followed are refused.
\set SHOW_CONTEXT never
CREATE SCHEMA of_live_tables; SET search_path = of_live_tables, public, fastclust;
CREATE TABLE made AS SELECT sketch_spec(2, 40, 1.0) AS s;
CREATE TABLE log (id integer, shop text, x double precision[]) PARTITION BY RANGE (id);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (100);
INSERT INTO log SELECT i, 'shop ' || i % 3, ARRAY[i % 7, sqrt(i)] FROM generate_series(0, 99) i;
SELECT keep_sketch('log', 'log', 'x', s), keep_sketch('shops', 'log', 'x', s, '{"group_by": "shop", "where": "id % 2 = 0"}') FROM made;
CREATE FUNCTION exact() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT fastclust_internal.same_rows(current_sketch('log'), (SELECT sketch_agg(x, (SELECT s FROM made)) FROM log))
       AND fastclust_internal.same_rows(current_sketch('shops', 'shop 1'), (SELECT sketch_agg(x, (SELECT s FROM made)) FROM log WHERE id % 2 = 0 AND shop = 'shop 1'))
$$;
-- Partitions that are created or attached are counted with any order of their columns, and so is
-- a partition with partitions of its own.
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
SELECT fold_sketches() AS folded, exact();
-- Partitions that are detached are no longer counted, also within a savepoint that is rolled
-- back.
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
SELECT exact(), row_count(current_sketch('log')),
       (SELECT count(*) FROM check_sketch('log')) + (SELECT count(*) FROM check_sketch('shops'))
       AS differences;
SELECT fastclust_internal.sketch_problem('log') AS problem, fold_sketches() AS folded, exact(),
       rebuild_sketch('log') AS rebuilt, row_count(current_sketch('log'));
-- Detaching a partition with partitions of its own takes all their rows out.
BEGIN;
ALTER TABLE log DETACH PARTITION log_4;
SELECT exact();
COMMIT;
-- A REPEATABLE READ transaction does not see all rows, so a partition attached in it is not
-- counted and the sketch must be rebuilt.
BEGIN ISOLATION LEVEL REPEATABLE READ;
ALTER TABLE log DETACH PARTITION log_2;
ALTER TABLE log ATTACH PARTITION log_2 FOR VALUES FROM (100) TO (200);
CREATE TABLE log_6 PARTITION OF log FOR VALUES FROM (600) TO (700);
COMMIT;
INSERT INTO log VALUES (600, 'shop 1', '{6,6}');
SELECT row_count(current_sketch('log'));
SELECT difference FROM check_sketch('log');
SELECT rebuild_sketch('log') AS rebuilt, rebuild_sketch('shops') AS rebuilt_shops;
SELECT exact();
-- A row that cannot be sketched does not stop DDL, but makes the sketch an error. A partition
-- that was counted can go and come back with other rows.
ALTER TABLE log DETACH PARTITION log_2;
CREATE TABLE bad AS SELECT 500 AS id, 'shop 1' AS shop, '{1,NaN}'::double precision[] AS x;
ALTER TABLE log ATTACH PARTITION bad FOR VALUES FROM (500) TO (600);
SELECT row_count(current_sketch('log'));
ALTER TABLE log DETACH PARTITION bad;
SELECT exact();
DELETE FROM log_2 WHERE id % 2 = 0;
ALTER TABLE log ATTACH PARTITION log_2 FOR VALUES FROM (100) TO (200);
SELECT exact();
DROP TABLE log_2;
SELECT fold_sketches() AS folded;
SELECT count(*) AS bases_of_dropped_tables FROM fastclust_internal.live_bases b
 WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = b.leaf);
SELECT rebuild_sketch('log') AS rebuilt;
SELECT (SELECT count(*) FROM pg_trigger WHERE tgrelid = 'log_3'::regclass) AS triggers;
DROP TABLE log_3;
SELECT exact(), (SELECT problem FROM live_sketches WHERE name = 'log');
-- Partitions created with their schema or in a session that replicates are counted. A foreign
-- partition cannot be, and makes the sketch an error.
CREATE SCHEMA of_live_tables_too CREATE TABLE log_d PARTITION OF of_live_tables.log FOR VALUES FROM (700) TO (800); SET session_replication_role = replica;
CREATE TABLE log_e PARTITION OF log FOR VALUES FROM (800) TO (900);
ALTER TABLE log DETACH PARTITION log_1;
ALTER TABLE log ATTACH PARTITION log_1 FOR VALUES FROM (0) TO (100);
INSERT INTO log SELECT i, 'shop 1', ARRAY[i, 7] FROM generate_series(700, 899) i;
RESET session_replication_role;
DELETE FROM log_e WHERE id > 850;
DELETE FROM of_live_tables_too.log_d WHERE id > 750;
SELECT exact();
CREATE FOREIGN DATA WRAPPER of_live_tables;
CREATE SERVER of_live_tables FOREIGN DATA WRAPPER of_live_tables;
CREATE FOREIGN TABLE far PARTITION OF log FOR VALUES FROM (900) TO (1000) SERVER of_live_tables;
SELECT current_sketch('log');
DROP FOREIGN TABLE far;
SELECT exact();
-- A partition can be followed alone, also one with partitions of its own; a statement on the
-- table above it is counted there, too.
SELECT keep_sketch('leaf', 'log_1', 'x', s), keep_sketch('branch', 'log_4', 'x', s) FROM made;
DELETE FROM log WHERE id IN (1, 311, 320);
SELECT name, (SELECT count(*) FROM check_sketch(name)) AS differences
  FROM live_sketches ORDER BY name;
SELECT drop_sketch('leaf'), drop_sketch('branch');
-- Inheritance children are counted as long as they inherit.
CREATE TABLE log_old (id integer, x double precision[]);
SELECT keep_sketch('old', 'log_old', 'x', (SELECT s FROM made));
CREATE TABLE child (more text) INHERITS (log_old);
INSERT INTO child VALUES (1, '{1,2}', 'more'), (2, '{3,4}', 'more');
SELECT row_count(current_sketch('old'));
ALTER TABLE child NO INHERIT log_old;
SELECT row_count(current_sketch('old'));
ALTER TABLE child INHERIT log_old;
SELECT row_count(current_sketch('old')), (SELECT count(*) FROM check_sketch('old')) AS differences;
CREATE TEMP TABLE passing () INHERITS (log_old);
DROP TABLE passing;
SELECT row_count(current_sketch('old'));
SELECT rebuild_sketch('old');
-- A child of two parents is counted once for each of them, whichever of the three tables a
-- statement names.
CREATE TABLE two (id integer, x double precision[]);
ALTER TABLE child INHERIT two;
SELECT keep_sketch('two', 'two', 'x', s) FROM made;
UPDATE two SET x = '{1,1}' WHERE id = 1;
INSERT INTO child VALUES (3, '{5,5}', 'more');
SELECT name, row_count(current_sketch(name)), (SELECT count(*) FROM check_sketch(name))
       AS differences FROM live_sketches WHERE name IN ('old', 'two') ORDER BY name;
-- A user without rights cannot call the functions that the triggers use.
SELECT fastclust_internal.follow_leaves();
CREATE ROLE live_stranger; GRANT USAGE ON SCHEMA of_live_tables TO live_stranger;
SET ROLE live_stranger;
SELECT fastclust_internal.write_leaf(l.id, 'child', NULL) FROM generate_series(1, 3) l(id);
RESET ROLE;
-- A live sketch follows a table that was given to another role.
GRANT CREATE ON SCHEMA of_live_tables TO live_stranger;
CREATE TABLE theirs (x double precision[]) PARTITION BY LIST ((x[1]));
CREATE TABLE theirs_1 PARTITION OF theirs DEFAULT;
INSERT INTO theirs VALUES ('{1,2}');
SELECT keep_sketch('theirs', 'theirs', 'x', (SELECT s FROM made));
ALTER TABLE theirs_1 OWNER TO live_stranger;
ALTER TABLE theirs OWNER TO live_stranger;
SET ROLE live_stranger;
ALTER TABLE theirs DETACH PARTITION theirs_1;
SELECT current_sketch('theirs') AS sketch_of_no_rows;
ALTER TABLE theirs ATTACH PARTITION theirs_1 DEFAULT;
SELECT row_count(current_sketch('theirs'));
RESET ROLE;

-- DDL that changes values without a trigger, though names and types stay, is noticed: the sketch
-- is an error with the reason, which the function problem_of_ddl returns, until it is rebuilt.
CREATE TYPE colour AS ENUM ('red', 'blue');
CREATE FUNCTION problem_of_ddl() RETURNS TABLE (problem text) LANGUAGE sql AS $$ SELECT problem FROM live_sketches WHERE name = 'ddl' $$;
CREATE TABLE ddl (id integer, a float8, b float8, c colour, d float8, note text);
INSERT INTO ddl SELECT i, i / 100.0, 100 + i / 100.0, 'red', i FROM generate_series(1, 100) i;
SELECT keep_sketch('ddl', 'ddl', ARRAY['a', 'd'], s, '{"where": "c = ''red''"}') FROM made;
ALTER TABLE ddl ALTER note TYPE varchar(10), ALTER b TYPE float8 USING b * 2, ADD e integer DEFAULT 3, ALTER d SET NOT NULL, ALTER a SET STATISTICS 10;
SELECT (means(current_sketch('ddl')))[1] AS mean, problem_of_ddl();
-- Two columns swapped by three renamings
ALTER TABLE ddl RENAME a TO z;
ALTER TABLE ddl RENAME b TO a;
ALTER TABLE ddl RENAME z TO b;
SELECT current_sketch('ddl');
SELECT rebuild_sketch('ddl'), problem_of_ddl();
SELECT (means(current_sketch('ddl')))[1] AS mean, avg(a) FROM ddl;
-- A column rewritten with other values of the same type
ALTER TABLE ddl ALTER a TYPE float8 USING a * 2;
SELECT problem_of_ddl(), rebuild_sketch('ddl'), problem_of_ddl();
-- A new column with the name of a dropped one
ALTER TABLE ddl DROP a;
ALTER TABLE ddl ADD a float8 DEFAULT 7;
SELECT problem_of_ddl(), rebuild_sketch('ddl'), problem_of_ddl();
SELECT (means(current_sketch('ddl')))[1] AS mean;
-- A renamed label of an enum in the condition, and the same label renamed back
ALTER TYPE colour RENAME VALUE 'red' TO 'green';
SELECT problem_of_ddl();
ALTER TYPE colour RENAME VALUE 'green' TO 'red';
SELECT rebuild_sketch('ddl'), problem_of_ddl();
-- Triggers that were disabled
ALTER TABLE ddl DISABLE TRIGGER USER;
INSERT INTO ddl VALUES (200, 1, 'red', 2, 'unseen');
SELECT problem_of_ddl();
ALTER TABLE ddl ENABLE TRIGGER USER;
SELECT problem_of_ddl(), rebuild_sketch('ddl'), problem_of_ddl();
-- A column of a new type; a table dropped, and its live sketch with it
ALTER TABLE ddl ALTER d TYPE numeric;
INSERT INTO ddl (id, a, d, c) VALUES (201, 1, 2, 'red');
SELECT problem_of_ddl(), rebuild_sketch('ddl'), problem_of_ddl();
SELECT count(*) AS differences FROM check_sketch('ddl');
DROP TABLE ddl;
SELECT name FROM live_sketches WHERE name = 'ddl';
-- Dropping a type drops its typed tables and their live sketches.
CREATE TYPE kind AS (a float8, b float8);
CREATE TABLE typed OF kind;
SELECT keep_sketch('typed', 'typed', ARRAY['a', 'b'], s) FROM made;
DROP TYPE kind CASCADE;
SELECT count(*) AS live_sketches_of_dropped_table FROM live_sketches WHERE name = 'typed';

-- Views, temporary, unlogged, foreign and system tables cannot be followed, and the error says
-- so.
CREATE VIEW seen AS TABLE child;
CREATE MATERIALIZED VIEW kept AS TABLE child;
CREATE TEMP TABLE temporary AS SELECT x FROM child;
CREATE UNLOGGED TABLE unlogged AS SELECT x FROM child;
CREATE FOREIGN TABLE far (x float8[]) SERVER of_live_tables;
SELECT keep_sketch('bad', 'seen', 'x', s) FROM made;
SELECT keep_sketch('bad', 'kept', 'x', s) FROM made;
SELECT keep_sketch('bad', 'temporary', 'x', s) FROM made;
SELECT keep_sketch('bad', 'unlogged', 'x', s) FROM made;
SELECT keep_sketch('bad', 'far', 'x', s) FROM made;
SELECT keep_sketch('bad', 0::regclass, 'x', s) FROM made;
SELECT keep_sketch('bad', 'fastclust_internal.live_bases', ARRAY['live_id'], sketch_spec(1, 50, 1.0));
SELECT keep_sketch('bad', 'fastclust_internal.kept_sketches_id_seq', ARRAY['last_value'], sketch_spec(1, 50, 1.0));
SELECT keep_sketch('bad', 'pg_class', ARRAY['relpages'], sketch_spec(1, 50, 1.0));
SELECT train('bad', 'unlogged', 'x', 2, options => '{"live": true}');
DROP SCHEMA of_live_tables, of_live_tables_too CASCADE; DROP FOREIGN DATA WRAPPER of_live_tables CASCADE;
SELECT count(*) AS live_sketches_left FROM live_sketches;
DROP ROLE live_stranger;

-- Rows that cannot be counted exactly are an error: rows that row-level security hides, rows that
-- a crash empties, and groups too long for an index.
-- Row-level security hides nothing from the owner unless it is forced.
CREATE SCHEMA of_live_hidden_rows;
CREATE ROLE live_hidden_alice; GRANT ALL ON SCHEMA of_live_hidden_rows TO live_hidden_alice;
SET ROLE live_hidden_alice; SET search_path = of_live_hidden_rows, public, fastclust;
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
SELECT row_count(current_sketch('half')), (SELECT count(*) FROM check_sketch('half'))
       AS differences, rebuild_sketch('half');
ALTER TABLE half FORCE ROW LEVEL SECURITY;
ALTER TABLE log_1 FORCE ROW LEVEL SECURITY;
SELECT * FROM check_sketch('half');
SELECT rebuild_sketch('half');
INSERT INTO half VALUES (101, '{1,1}');
TRUNCATE log_1;
SELECT row_count(current_sketch('log'));
ALTER TABLE half NO FORCE ROW LEVEL SECURITY;
SELECT row_count(current_sketch('half')) AS sketched, (SELECT count(*) AS rows_in_table FROM half),
       (SELECT count(*) FROM check_sketch('half')) AS differences;
SELECT rebuild_sketch('log');
ALTER TABLE log_1 NO FORCE ROW LEVEL SECURITY;
SELECT rebuild_sketch('log');

-- A column renamed and renamed back costs nothing if no row of it changed meanwhile; a table
-- emptied meanwhile is counted right.
CREATE TABLE named AS SELECT i AS id, i::float8 AS a, i % 3 AS b FROM generate_series(1, 9) i;
SELECT keep_sketch('named', 'named', ARRAY['a', 'b'], sketch_spec(2, 50, 1.0));
ALTER TABLE named RENAME a TO z;
UPDATE named SET id = id + 1;
TRUNCATE named;
ALTER TABLE named RENAME z TO a;
INSERT INTO named VALUES (1, 2, 3);
SELECT row_count(current_sketch('named'));
ALTER TABLE named RENAME a TO z;
INSERT INTO named VALUES (2, 2, 3);
ALTER TABLE named RENAME z TO a;
SELECT row_count(current_sketch('named'));
SELECT drop_sketch('named');

-- A table or partition that becomes unlogged may lose its rows in a crash: the sketch is an error
-- until it is logged again and rebuilt.
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

-- A group name of more than 2,000 bytes is refused with the row that brings it; text that
-- compresses well is no exception.
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
-- A restore counts rows of tables only, even if a superuser calls its function for a view.
SELECT fastclust_owner.count_rows(id, 'information_schema.tables', 10) FROM fastclust_internal.kept_sketches ORDER BY id LIMIT 1;
DROP SCHEMA of_live_hidden_rows CASCADE; DROP ROLE live_hidden_alice;
SELECT count(*) AS live_sketches_left FROM live_sketches;
